"""Permittivity and permeability as tensors: exact waves, energy, interfaces, layers, kernels, what is refused."""
from types import SimpleNamespace

import numpy as np
import pytest
from anisotropic import exact, matrices, plane_waves, turned

import dgarray as dg
from dgarray.analysis import manufactured
from dgarray.analysis.guide_modes import modes
from dgarray.physics.capacity import over, times

PLANE = turned((1.0, 4.0, 2.0), 0.5)                      # the axes turned in the plane
BIAXIAL, MAGNETIC = turned((1.0, 2.0, 4.0), 0.5, 0.7, 0.3), turned((1.0, 1.5, 2.0), -0.4, 0.2, 0.9)
UNIAXIAL = turned((2.0, 2.0, 4.0), 0.4, 0.9)
ONE = np.eye(3)
LAWS = {"TE": (dg.Maxwell(2, "TE", eps=PLANE, mu=2.0), PLANE, 2 * ONE), "TM": (dg.Maxwell(2, mu=PLANE), ONE, PLANE),
        "TE along axes": (dg.Maxwell(2, "TE", eps=(1.0, 4.0, 2.0)), np.diag((1.0, 4.0, 2.0)), ONE),
        "biaxial": (dg.Maxwell(3, eps=BIAXIAL, mu=MAGNETIC), BIAXIAL, MAGNETIC),
        "uniaxial": (dg.Maxwell(3, eps=UNIAXIAL), UNIAXIAL, ONE)}


def values(law):
    return SimpleNamespace(**law.parameters)


@pytest.mark.parametrize("name", LAWS)
def test_flux_and_speed_are_those_of_the_eigenvectors(name):
    """F* = A (l + r) / 2 - |A| (r - l) / 2 with C^-1 |A| of the eigenvectors of C^-1 A, and the largest eigenvalue."""
    law, eps, mu = LAWS[name]
    random = np.random.default_rng(1)
    for n in random.normal(size=(20, law.dim)):
        A, C = matrices(law, eps, mu, n)
        assert law.wave_speed(tuple(n), values(law)) == pytest.approx(np.linalg.eigvals(np.linalg.solve(C, A)).real.max())
        size = np.linalg.norm(n)
        L = np.linalg.cholesky(C)
        speeds, modes = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, A).T) / size)
        absolute = L @ (modes * np.abs(speeds)) @ modes.T @ L.T
        l, r = random.normal(size=(2, len(A)))
        for alpha in (0.0, 1.0):
            found = law.upwind(tuple(l), tuple(r), tuple(n / size), values(law), values(law), alpha)
            assert np.allclose(found, A @ (l + r) / (2 * size) - alpha * absolute @ (r - l) / 2, rtol=0, atol=1e-12)
        capacity = law.capacity(values(law))
        assert np.allclose(times(capacity, l), C @ l) and np.allclose(over(capacity, l), np.linalg.solve(C, l))
        assert law.energy(l, values(law)) == pytest.approx(l @ C @ l / 2)


def bent(x):
    push = np.sin(2 * np.pi * x[0]) * np.sin(2 * np.pi * x[1])
    return x[0] + 0.03 * push, x[1] - 0.03 * push, *x[2:]


METHODS = {"nodal": ("triangle", dg.NodalDG(2)), "modal": ("triangle", dg.ModalDG(2)),
           "gauss": ("quadrilateral", dg.TensorDG(2)), "quadrature": ("triangle", dg.NodalDG(2, quadrature=6)),
           "split": ("quadrilateral", dg.TensorDG(2, "lobatto", volume_flux=dg.central)), "mixed": ("mixed", dg.NodalDG(2)),
           "curved nodal": ("triangle", dg.NodalDG(2)), "curved tensor": ("quadrilateral", dg.TensorDG(2)),
           "tetrahedra": ("tetra", dg.NodalDG(2)), "hexahedra": ("hexahedron", dg.TensorDG(2)),
           "prisms": ("prism", dg.NodalDG(2))}
SOLID = ("tetra", "hexahedron", "prism")


def mesh_of(name, n):
    shape = METHODS[name][0]
    mesh = (dg.box if shape in SOLID else dg.rectangle)(cells=n, shape=shape, periodic=True)
    return mesh.mapped(bent, 2) if "curved" in name else mesh


def wave_error(name, medium, n, which, flux):
    """The error of a plane wave after some time, and the change of the energy and of D and B, over their sizes."""
    law, eps, mu = LAWS[medium]
    k = 2 * np.pi * np.array((1, 1, -1)[:law.dim])
    field = exact(k, *plane_waves(law, eps, mu, k)[which])
    sim = dg.Simulation(mesh_of(name, n), law, METHODS[name][1], None, lambda x: field(x, 0.0), flux=flux, exact=field,
                        until=0.2, backend="numpy", kernels="array", threads=1)
    sim.run()
    totals = sim.report["conserved"]
    energy, moved = totals.pop("energy"), [abs(each["final"] - each["initial"]) for each in totals.values()]
    return sim.report["l2_error"]["total"], energy["final"] / energy["initial"] - 1, max(moved)


CASES = [("nodal", "TE", 0), ("modal", "TM", 0), ("gauss", "TE", 0), ("gauss", "TE along axes", 0), ("quadrature", "TE", 0),
         ("split", "TE", 0), ("mixed", "TM", 0), ("curved nodal", "TE", 0), ("curved tensor", "TM", 0)]
SOLIDS = [("tetrahedra", "biaxial", 1), ("hexahedra", "biaxial", 0), ("hexahedra", "uniaxial", 0), ("hexahedra", "uniaxial", 1),
          ("prisms", "uniaxial", 1)]          # of the uniaxial one 0 is the extraordinary or ordinary wave, whichever is slower


@pytest.mark.parametrize("name, medium, which", CASES)
def test_plane_waves_in_the_plane(name, medium, which):
    """At the order p + 1; the energy falls, and the integrals of D and B stay."""
    (coarse, _, _), (fine, energy, moved) = (wave_error(name, medium, n, which, dg.upwind) for n in (6, 12))
    assert np.log2(coarse / fine) > (2.4 if name == "split" else 2.75), (coarse, fine)
    assert -1e-2 < energy < 0 and moved < 1e-13


@pytest.mark.parametrize("name, medium, which", SOLIDS)
def test_plane_waves_in_space(name, medium, which):
    (coarse, _, _), (fine, energy, moved) = (wave_error(name, medium, n, which, dg.upwind) for n in (3, 6))
    assert np.log2(coarse / fine) > 2.6, (coarse, fine)
    assert -0.1 < energy < 0 and moved < 1e-13


HALVES = {"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5}
JUMPS = {"TE": dg.Maxwell(2, "TE", eps={"a": 1.0, "b": PLANE}),
         "TM": dg.Maxwell(2, mu={"a": PLANE, "b": 2.0}, eps={"a": 1.0, "b": 3.0}),
         "3D": dg.Maxwell(3, eps={"a": BIAXIAL, "b": 1.0}, mu={"a": 1.5, "b": MAGNETIC})}
TINY = {"nodal": ("triangle", dg.NodalDG(1)), "gauss": ("quadrilateral", dg.TensorDG(1)),
        "tetrahedra": ("tetra", dg.NodalDG(1)), "hexahedra": ("hexahedron", dg.TensorDG(1))}


def tiny(name, jump, flux):
    shape, method = TINY[name]
    mesh = dg.box(cells=(2, 1, 1), shape=shape) if shape in SOLID else dg.rectangle(cells=2, shape=shape)
    return dg.Simulation(mesh.with_regions(HALVES), JUMPS[jump], method, {"left": dg.pmc, "default": dg.pec}, flux=flux,
                         backend="numpy", kernels="array", threads=1)


@pytest.mark.parametrize("flux", ["upwind", "central"])
@pytest.mark.parametrize("name, jump", [("nodal", "TE"), ("gauss", "TM"), ("gauss", "TE"), ("tetrahedra", "3D"),
                                        ("hexahedra", "3D")])
def test_no_state_grows_where_media_meet(name, jump, flux):
    """All eigenvalues of the operator on a small mesh, with the central flux on the imaginary axis, and of a step of max_dt."""
    sim = tiny(name, jump, getattr(dg, flux))
    linear = sim.linear_operator()
    matrix = np.array([linear.matvec(unit) for unit in np.eye(linear.shape[0])]).T
    eigenvalues = np.linalg.eigvals(matrix)
    size = np.abs(eigenvalues).max()
    assert eigenvalues.real.max() < 1e-7 * size
    assert (np.abs(eigenvalues.real).max() < 1e-6 * size) == (flux == "central")
    state = sim.project()
    step, z = np.zeros(len(eigenvalues), complex), sim.max_dt(state) * eigenvalues
    step = sum(z ** k / np.prod(np.arange(1.0, k + 1)) for k in range(5)) + z ** 5 / 200          # Carpenter & Kennedy 1994
    assert np.abs(step).max() < 1 + 1e-9


def fresnel(law, index, amplitude):
    """A pulse from a vacuum that meets at x = 1/2 a medium with this index of refraction along x: the states of both sides."""
    def pulse(s):
        return np.exp(-150 * s * s)
    reflected, passed = (1 - index) / (1 + index), 2 / (1 + index)

    def field(x, t):
        there, back = pulse(x[0] - 0.25 - t), reflected * pulse(0.75 - x[0] - t)
        beyond = passed * pulse(index * (x[0] - 0.5) + 0.25 - t)
        E, H = np.where(x[0] < 0.5, there + back, beyond), np.where(x[0] < 0.5, there - back, index * beyond)
        return amplitude(E, H, x[0] > 0.5)
    return field


def through(law, field, n, shape, method):
    make = {2: dg.rectangle, 3: dg.box}[law.dim]
    mesh = make((0,) * law.dim, (1,) + (4 / n,) * (law.dim - 1), (n,) + (4,) * (law.dim - 1), (False, True, True)[:law.dim],
                shape=shape).with_regions(HALVES)
    sim = dg.Simulation(mesh, law, method, dg.prescribed(field), lambda x: field(x, 0.0), exact=field, until=0.5,
                        backend="numpy", kernels="array", threads=1)
    sim.run()
    return sim.report["l2_error"]["total"]


@pytest.mark.thorough
@pytest.mark.parametrize("shape, method", [("triangle", dg.NodalDG(2)), ("quadrilateral", dg.TensorDG(2))])
def test_a_pulse_enters_an_anisotropic_half_space(shape, method):
    """Normal incidence, TE: in the medium E has a part along x, as Dx = 0, and the index is sqrt(det eps / eps_xx)."""
    index = np.sqrt(np.linalg.det(PLANE[:2, :2]) / PLANE[0, 0])
    law = dg.Maxwell(2, "TE", eps={"a": 1.0, "b": PLANE})
    field = fresnel(law, index, lambda E, H, inside: (-PLANE[0, 1] / PLANE[0, 0] * E * inside, E, H))
    coarse, fine = (through(law, field, n, shape, method) for n in (16, 32))
    assert np.log2(coarse / fine) > 2.6 and fine < 2e-2 * index, (coarse, fine)


@pytest.mark.thorough
@pytest.mark.parametrize("axis", [1, 2])
def test_a_crystal_has_two_indices(axis):
    """Normal incidence on a biaxial crystal with its axes along the box: E along y feels eps_yy alone, E along z eps_zz."""
    law = dg.Maxwell(3, eps={"a": 1.0, "b": (3.0, 2.25, 4.0)})
    field = fresnel(law, (1.5, 2.0)[axis - 1], lambda E, H, inside: (
        (0 * E, E, 0 * E, 0 * E, 0 * E, H) if axis == 1 else (0 * E, 0 * E, E, 0 * E, -H, 0 * E)))
    coarse, fine = (through(law, field, n, "hexahedron", dg.TensorDG(2)) for n in (8, 16))
    assert np.log2(coarse / fine) > 2.4, (coarse, fine)


@pytest.mark.thorough
def test_what_leaves_along_the_normal_does_not_come_back():
    """`absorbing` knows the impedances of both waves: a pulse of the two polarisations mixed in a biaxial crystal."""
    waves = plane_waves(LAWS["biaxial"][0], BIAXIAL, MAGNETIC, (1, 0, 0))
    law = LAWS["biaxial"][0]

    def start(x):
        return tuple(sum(q[v] for _, q in waves) * np.exp(-((x[0] - 0.5) / 0.12) ** 2) for v in range(6))
    mesh = dg.box((0, 0, 0), (1, 0.1, 0.1), (12, 1, 1), (False, True, True), shape="hexahedron")
    sim = dg.Simulation(mesh, law, dg.TensorDG(4), dg.absorbing, start, until=2.5, backend="numpy", kernels="array",
                        threads=1)
    sim.run()
    energy = sim.report["conserved"]["energy"]
    assert energy["final"] < 1e-6 * energy["initial"]


# Losses, functions of x, sources: manufactured.

@pytest.mark.parametrize("parameters, most", [
    (dict(eps=PLANE, sigma=0.5), 2.7), (dict(eps=(lambda x: 1.5 + 0.4 * np.sin(2 * np.pi * x[0]), 2.0, 1.0)), 2.6)],
    ids=["losses", "function"])
@pytest.mark.parametrize("shape, method", [("triangle", dg.NodalDG(2)), ("quadrilateral", dg.TensorDG(2))])
def test_losses_and_smooth_tensors(shape, method, parameters, most):
    law = dg.Maxwell(2, "TE", **parameters)
    problem = manufactured(law, lambda x, t: (np.sin(3 * x[0] + t), np.cos(2 * x[1] - t), np.sin(2 * x[0] + x[1] + t)))
    errors = []
    for n in (4, 8):
        sim = dg.Simulation(dg.rectangle(cells=n, shape=shape), law, method, until=0.3, backend="numpy", kernels="array",
                            threads=1, **problem.options)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) > most, errors


@pytest.mark.parametrize("method, most", [
    (dg.FiniteVolume("weno"), 4.5), (dg.FiniteVolume("muscl"), 1.6), (dg.Hermite(2), 4.7)], ids=["weno", "muscl", "hermite"])
def test_tensors_along_the_axes_on_grids(method, most):
    law, eps, mu = LAWS["TE along axes"]
    k = 2 * np.pi * np.array((1, 1))
    field, errors = exact(k, *plane_waves(law, eps, mu, k)[0]), []
    for n in (12, 24):
        sim = dg.Simulation(dg.Grid((0, 0), (1, 1), n, periodic=True), law, method, None, lambda x: field(x, 0.0), exact=field,
                            until=0.2, backend="numpy", kernels="array", threads=1)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) > most, errors


# Kernels.

JOINED = {"two orders": ("triangle", dg.NodalDG({"a": 1, "b": 2})), "mixed": ("mixed", dg.NodalDG(2)),
          "modal": ("triangle", dg.ModalDG(2)), "gauss": ("quadrilateral", dg.TensorDG(2)),
          "hexahedra": ("hexahedron", dg.TensorDG(2)), "tetrahedra": ("tetra", dg.NodalDG(2))}


def wavy(law):
    return lambda x: tuple(np.sin(2 * x[0] + 3 * x[1] + v) for v in range(len(law.variables)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", JOINED)
def test_kernels_agree_with_arrays(name, dtype):
    shape, method = JOINED[name]
    solid = shape in SOLID
    mesh = (dg.box if solid else dg.rectangle)(cells=3 if solid else 5, shape=shape).with_regions(
        {"a": lambda x: x[0] < 0.4, "b": lambda x: x[0] > 0.4})
    law, found = JUMPS["3D" if solid else "TE"], []
    for kernels in ("array", "fused"):
        sim = dg.Simulation(mesh, law, method, dg.pec, wavy(law), backend="numpy", kernels=kernels, dtype=dtype, threads=1)
        found.append(sim.run(until=0.05).dg.sample([(0.3, 0.2, 0.6)[:law.dim], (0.7, 0.6, 0.1)[:law.dim]]))
    for v in law.variables:
        np.testing.assert_allclose(found[1][v].values, found[0][v].values, rtol=0, atol=2e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("name", ["two orders", "modal", "gauss"])
def test_kernels_of_the_device_agree(cupy, name):
    shape, method = JOINED[name]
    mesh, law, found = dg.rectangle(cells=4, shape=shape).with_regions(HALVES), JUMPS["TE"], []
    for backend, kernels in (("numpy", "array"), ("cupy", "fused")):
        sim = dg.Simulation(mesh, law, method, dg.pec, wavy(law), backend=backend, kernels=kernels)
        found.append(sim.run(until=0.02).dg.sample([(0.3, 0.2), (0.7, 0.6)]))
    for v in law.variables:
        np.testing.assert_allclose(found[1][v].values, found[0][v].values, rtol=0, atol=1e-11)


def test_one_kernel_for_all_tensors():
    """Components are numbers that come at run time; those that are zero in every region are left out."""
    mesh = dg.rectangle(cells=4)

    def texts(eps):
        return dg.Simulation(mesh, dg.Maxwell(2, "TE", eps=eps), dg.NodalDG(2), dg.pec, backend="numpy").operator.kernel_texts()
    assert texts(PLANE) == texts(turned((3.0, 2.3, 1.0), 1.1))
    assert texts((1.3, 2.3, 1.0)) == texts(np.diag((3.0, 2.4, 7.0))) != texts(PLANE)
    assert texts(1.3) == texts(2.4) != texts((1.3, 2.3, 1.0))


def test_components_along_absent_axes_do_not_count():
    """In 1D, and for the one component across the plane, a tensor is a number."""
    assert dg.Maxwell(1, eps=(2.0, 3.0, 4.0), mu=(5.0, 6.0, 7.0)).parameters == {"eps": 4.0, "mu": 6.0, "sigma": 0.0}
    assert dg.Maxwell(2, eps=PLANE).parameters == {"eps": PLANE[2, 2], "mu": 1.0, "sigma": 0.0}
    law = dg.Maxwell(2, "TE", eps=turned((1.0, 1.0, 1.0), 0.3, 0.5, 0.1))
    assert list(law.parameters) == ["eps_xx", "eps_yy", "mu", "sigma"]          # rounding couples nothing


@pytest.mark.parametrize("law", [LAWS["TE"][0], LAWS["biaxial"][0], JUMPS["TM"], dg.Maxwell(1, eps=[1, 2, 3]),
                                 dg.Maxwell(2, eps={"a": (1, 2, 3), "b": 2.0 + dg.Debye(1.0, 0.5)})])
def test_what_prints_is_the_call(law):
    again = eval(repr(law), {"Maxwell": dg.Maxwell, "Debye": dg.Debye})
    assert repr(again) == repr(law) and again.parameters == law.parameters


# Layers, dispersion, incident waves.

def spot(law, width=0.25):
    return lambda x: tuple(np.exp(-(x[0] ** 2 + x[1] ** 2) / width ** 2) * (v == "Hz") for v in law.variables)


def square(cells, half=1.0, regions=None):
    mesh = dg.rectangle((-half, -half), (half, half), cells, shape="quadrilateral")
    return mesh if regions is None else mesh.with_regions(regions)


CRYSTAL = {"crystal": lambda x: np.maximum(abs(x[0]), abs(x[1])) < 0.5, "air": lambda x: np.maximum(abs(x[0]), abs(x[1])) > 0.5}


@pytest.mark.thorough
@pytest.mark.parametrize("parameters", [dict(eps=(1.0, 2.0, 3.0)), dict(eps=(1.0, 2.0, 3.0), sigma=0.3),
                                        dict(eps={"crystal": PLANE, "air": 1.0}),
                                        dict(eps={"crystal": PLANE, "air": (1.0, 2.0, 1.0)})],
                         ids=["along the axes", "with losses", "turned inside", "both"])
def test_layers_absorb(parameters):
    """Against the same mesh with so many cells outside that nothing can come back, in dB of the start."""
    law, method, found = dg.Maxwell(2, "TE", **parameters), dg.TensorDG(3), []
    points = np.stack(np.meshgrid(*(np.linspace(-0.95, 0.95, 12),) * 2), -1).reshape(-1, 2)
    for mesh in (dg.pml(square(8, 1.0, CRYSTAL), 1.25, 5), square(24, 3.0, CRYSTAL)):
        sim = dg.Simulation(mesh, law, method, dg.pec, spot(law), until=2.5, backend="numpy", kernels="array", threads=1)
        found.append(sim.run().dg.sample(points))
    differ = sum(np.sum((found[0][v].values[-1] - found[1][v].values[-1]) ** 2) for v in law.variables)
    start = np.sum(spot(law)(tuple(points.T))[2] ** 2)
    assert 10 * np.log10(differ / start) < -65


@pytest.mark.thorough
@pytest.mark.parametrize("parameters", [dict(eps=(1.0, 4.0, 1.0)), dict(eps=(1.0, 2.0, 4.0), mu=(0.5, 2.0, 2.0))])
def test_no_state_grows_in_a_layer(parameters):
    """Uniaxial media, the second one with equal quotients eps / mu along x and z."""
    mesh = dg.pml(dg.box(cells=1, shape="hexahedron"), 1.0, 1, boundary=("left", "front"))
    sim = dg.Simulation(mesh, dg.Maxwell(3, **parameters), dg.TensorDG(1), dg.pec, backend="numpy", kernels="array")
    linear = sim.linear_operator()
    matrix = np.array([linear.matvec(unit) for unit in np.eye(linear.shape[0])]).T
    assert np.linalg.eigvals(matrix).real.max() < 1e-9


@pytest.mark.thorough
def test_dispersive_media_beside_tensors():
    """A dispersive region next to a turned tensor: the energy, with that of the medium, falls; the fields move in both."""
    law = dg.Maxwell(2, "TE", eps={"a": PLANE, "b": 2.0 + dg.Lorentz(0.5, 4.0, 0.2)}, mu=1.0)
    mesh, totals = dg.rectangle(cells=6, shape="quadrilateral").with_regions(HALVES), []
    sim = dg.Simulation(mesh, law, dg.TensorDG(2), dg.pec, wavy(law), until=0.4, backend="numpy", threads=1)
    for until in (0.1, 0.2, 0.4):
        sim.run(until=until)
        energy = sim.report["conserved"]["energy"]
        totals.append(energy["final"])
    assert energy["initial"] > totals[0] > totals[1] > totals[2] > 0.5 * energy["initial"]


def test_waves_come_in_from_isotropic_regions():
    """`plane_wave` in the air around a crystal, by the region's name or by a number; in a medium that is one number it is the
    wave of the law with that number."""
    law = dg.Maxwell(3, eps={"crystal": BIAXIAL, "air": 2.25})
    x = tuple(np.random.default_rng(0).uniform(size=(3, 5)))
    plain = dg.plane_wave(dg.Maxwell(3, eps=2.25), (1, 0, 0), (0, 1, 2), np.sin)
    for medium in ("air", {"eps": 2.25}):
        assert np.allclose(dg.plane_wave(law, (1, 0, 0), (0, 1, 2), np.sin, medium)(x, 0.2), plain(x, 0.2))
    assert np.allclose(dg.plane_wave(dg.Maxwell(3, eps=(2.25,) * 3), (1, 0, 0), (0, 1, 2), np.sin)(x, 0.2), plain(x, 0.2))
    with pytest.raises(ValueError, match="a plane wave needs an isotropic medium, but eps is a tensor"):
        dg.plane_wave(law, (1, 0, 0), (0, 1, 2), np.sin, "crystal")
    with pytest.raises(ValueError, match=r"needs a uniform medium, but eps of .* varies; give that of the wave"):
        dg.plane_wave(law, (1, 0, 0), (0, 1, 2), np.sin)
    with pytest.raises(ValueError, match="a dipole needs an isotropic medium"):
        dg.dipole(LAWS["biaxial"][0], (0, 0, 0), (0, 0, 1), lambda t: np.exp(-t * t))


def test_sheets_and_ports_need_numbers():
    """A port may be in an isotropic region beside a crystal."""
    mesh = dg.rectangle(cells=4, shape="quadrilateral").with_regions(HALVES)
    law, mesh = JUMPS["TE"], mesh.with_interfaces({"sheet": ("a", "b")})
    with pytest.raises(ValueError, match="resistive_sheet needs media that are numbers, but those of .* are tensors"):
        dg.Simulation(mesh, law, dg.TensorDG(1), {"sheet": dg.resistive_sheet(1.0), "default": dg.pec}).operator  # noqa: B018
    guide = dg.rectangle((0, 0), (3, 1), (6, 2), shape="quadrilateral").with_regions(
        {"a": lambda x: x[0] < 1, "b": lambda x: abs(x[0] - 1.5) < 0.5, "c": lambda x: x[0] > 2})
    guide = guide.with_regions({"air": lambda x: x[0] < 2, "end": lambda x: x[0] > 2}).with_interfaces({"one": ("a", "b"),
                                                                                                        "two": ("b", "c")})
    beside = dg.Maxwell(2, "TE", eps={"air": 2.0, "end": 2.0})
    same = dg.Maxwell(2, "TE", eps={"air": 2.0, "end": (2.0, 2.0, 3.0)})
    assert modes(guide, same, "one", 1)[0].eps == modes(guide, beside, "one", 1)[0].eps == 2.0
    with pytest.raises(ValueError, match="needs an isotropic medium, but eps is a tensor"):
        modes(guide, dg.Maxwell(2, "TE", eps=PLANE), "one", 1)


@pytest.mark.thorough
def test_a_crystal_of_one_number_scatters_nothing():
    """A wave enters a mesh through `incident` and passes a region whose tensor is that of the air."""
    law = dg.Maxwell(2, "TE", eps={"crystal": ((2.0, 0, 0), (0, 2.0, 0), (0, 0, 5.0)), "air": 2.0})
    wave = dg.plane_wave(law, (0.6, 0.8), (-0.8, 0.6, 0.0), lambda s: np.sin(3 * s), "air")
    sim = dg.Simulation(square(8, 1.0, CRYSTAL), law, dg.TensorDG(4), dg.incident(wave), lambda x: wave(x, 0.0), exact=wave,
                        until=1.0, backend="numpy", threads=1)
    sim.run()
    assert sim.report["l2_error"]["total"] < 1e-4


# What is refused.

WRONG = [
    (dict(eps=((1, 2, 0), (0, 1, 0), (0, 0, 1))), "a tensor must be symmetric"),
    (dict(eps=((1, 2, 0), (2, 1, 0), (0, 0, 1))), "must be positive definite, but its eigenvalues are -1, 1, 3"),
    (dict(mu=(1.0, -2.0, 1.0)), "must be positive"),
    (dict(eps=((1, 2), (2, 9))), "a tensor is three numbers or functions of x, its diagonal, or three rows"),
    (dict(eps=(1.0, 2.0)), "a tensor is three numbers"),
    (dict(eps=np.ones((3, 3, 4))), "a tensor is three numbers"),
    (dict(eps=np.full((3, 3), np.nan)), "must be finite"),
    (dict(eps=(("a", 0, 0), (0, 1, 0), (0, 0, 1))), "a tensor is three numbers"),
    (dict(sigma=(1.0, 2.0, 3.0)), "give a number"),
    (dict(eps=((lambda x: 1.0, 0, 0), (0, 1, 0), (0, 0, 1))), "a tensor is three numbers or functions")]


@pytest.mark.parametrize("parameters, message", WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_what_is_no_tensor_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        dg.Maxwell(3, **parameters)


@pytest.mark.parametrize("make, message", [
    (lambda: dg.Maxwell(2, "TE", eps=BIAXIAL), "component xz=.* couples the field along x to that along z, which this law"),
    (lambda: dg.Maxwell(2, "TM", eps=BIAXIAL), "couples the field along z to that along x"),
    (lambda: dg.Maxwell(2, "TM", mu=BIAXIAL), "couples the field along x to that along z"),
    (lambda: dg.Maxwell(1, mu=PLANE), "couples the field along y to that along x")])
def test_couplings_to_absent_fields_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make, message", [
    (lambda law: dg.Simulation(dg.rectangle(), law, dg.NodalDG(1), dg.pec, flux=dg.rusanov), "rusanov needs a law"),
    (lambda law: dg.Simulation(dg.rectangle(), law, dg.NodalDG(1), dg.pec, flux=dg.hll), "hll needs a law whose variables"),
    (lambda law: dg.Simulation(dg.Grid((0, 0), (1, 1), 8), law, dg.FiniteVolume(), dg.pec), "FiniteVolume needs a law whose"),
    (lambda law: dg.Simulation(dg.Grid((0, 0), (1, 1), 8), law, dg.Hermite(1), dg.pec), "Hermite needs a law whose variables"),
    (lambda law: dg.Simulation(dg.pml(square(2), 1.0, 1), law, dg.TensorDG(1), dg.pec), "diagonal in elements of the absorb"),
    (lambda law: dg.Simulation(dg.rectangle(), dg.Maxwell(2, "TE", eps=PLANE, mu=1.0 + dg.Debye(1.0, 0.5)), dg.NodalDG(1),
                               dg.pec), "off the diagonal in elements of a dispersive medium")],
    ids=["rusanov", "hll", "volumes", "hermite", "layer", "dispersive"])
def test_what_does_not_take_matrices_says_so(make, message):
    with pytest.raises(ValueError, match=message):
        make(LAWS["TE"][0]).operator  # noqa: B018


@pytest.mark.thorough
def test_biaxial_media_end_before_a_layer():
    """Near the optic axes of a biaxial medium waves run backward across the layer: the speed of energy along y has the other
    sign than k_y. Beside a biaxial crystal the layer may be in two media."""
    mesh = dg.box((-1, -1, -1), (1, 1, 1), 4, shape="hexahedron").with_regions({
        "crystal": lambda x: np.max(np.abs(x), axis=0) < 0.5, "air": lambda x: (np.max(np.abs(x), axis=0) > 0.5) & (x[2] > 0),
        "ground": lambda x: (np.max(np.abs(x), axis=0) > 0.5) & (x[2] < 0)})
    law, h = dg.Maxwell(3, eps=(1.0, 2.0, 4.0)), 1e-6
    slow = [[plane_waves(law, np.diag((1, 2, 4)), ONE, (kx, ky, 1))[0][0] for ky in (0.02, 0.02 + h)]
            for kx in np.linspace(0.1, 3, 300)]
    assert min(np.diff(slow)[:, 0]) / h < -0.01
    with pytest.raises(ValueError, match="in the absorbing layer 'pml' is biaxial or varies with x; there two of the"):
        dg.Simulation(dg.pml(mesh, 0.5, 1), law, dg.TensorDG(1), dg.pec).operator  # noqa: B018
    inside = dg.Maxwell(3, eps={"crystal": (1.0, 2.0, 4.0), "air": 1.0, "ground": (2.0, 2.0, 3.0)})
    dg.Simulation(dg.pml(mesh, 0.5, 1), inside, dg.TensorDG(1), dg.pec).operator  # noqa: B018


def test_round_layers_need_numbers():
    disc = square(4).mapped(lambda x: (x[0] * np.sqrt(1 - x[1] ** 2 / 2), x[1] * np.sqrt(1 - x[0] ** 2 / 2)), 2)
    mesh = dg.pml(disc, 0.5, 1, shape="cylinder")
    dg.Simulation(mesh, dg.Maxwell(2, "TE", eps=(2.0, 2.0, 3.0)), dg.TensorDG(2), dg.pec).operator  # noqa: B018
    with pytest.raises(ValueError, match="eps of .* is a tensor in the round absorbing layer 'pml'"):
        dg.Simulation(mesh, dg.Maxwell(2, "TE", eps=(2.0, 3.0, 3.0)), dg.TensorDG(2), dg.pec).operator  # noqa: B018
