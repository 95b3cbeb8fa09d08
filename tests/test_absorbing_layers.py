"""Perfectly matched layers: exact waves inside them, what they reflect, long runs, round ones, errors."""
from dataclasses import replace

import numpy as np
import pytest

import dgarray as dg

LAWS = {"TM": dg.Maxwell(2), "TE": dg.Maxwell(2, "TE"), "acoustics": dg.Acoustics(2)}
TRIANGLES, QUADS = ("triangle", "quadrilateral")
METHODS = {
    "nodal": (TRIANGLES, dg.NodalDG(2)), "modal": (TRIANGLES, dg.ModalDG(2)),
    "quadrature": (TRIANGLES, dg.NodalDG(2, quadrature=6)), "gauss": (QUADS, dg.TensorDG(2)),
    "lobatto": (QUADS, dg.TensorDG(2, "lobatto")), "mixed": ("mixed", dg.NodalDG(2)),
    "curved nodal": (TRIANGLES, dg.NodalDG(2)), "curved modal": (TRIANGLES, dg.ModalDG(2)),
    "curved tensor": (QUADS, dg.TensorDG(2))}


def run(mesh, law, method, initial, until, boundary=None, **options):
    sim = dg.Simulation(mesh, law, method, boundary, initial, until=until, backend="numpy", **{"kernels": "array", **options})
    return sim, sim.run()


# Along the normal a pulse in a layer without shift is exact: that of the vacuum times exp(-integral of s).

REFLECTION, THICKNESS = 1e-2, 0.5
AMPLITUDES = {"TM": (0, -1, 1), "TE": (0, 1, 1), "acoustics": (1, 1, 0)}


def damped(law, slabs):
    def exact(x, t):
        depth = np.clip((x[0] - 1.0) / THICKNESS, 0.0, 1.0)
        share = depth ** 4 if not slabs else sum(
            ((k + 1) ** 4 - k ** 4) / slabs ** 3 * np.clip(depth - k / slabs, 0.0, 1 / slabs) for k in range(slabs))
        profile = np.exp(-60 * (x[0] - t - 0.6) ** 2 + np.log(REFLECTION) / 2 * share)
        return tuple(amplitude * profile for amplitude in AMPLITUDES[law])
    return exact


def error_in_a_layer(name, law, n, flux, slabs=0):
    """slabs: 0 for a region of cells, whose profile varies inside of them; else the layer is added, in so many slabs."""
    shape, method = METHODS[name]
    mesh = dg.rectangle((0, 0), (1.0 if slabs else 1.5, 0.25), (4 * n if slabs else 6 * n, n), (False, True), shape=shape)
    mesh = mesh if slabs else mesh.with_regions({"layer": lambda x: x[0] > 1})
    if "curved" in name:          # inside of both parts
        def bent(x):
            push = 0.02 * np.sin(4 * np.pi * x[0]) * np.sin(8 * np.pi * x[1])
            return x[0] + push, x[1] + push / 2
        mesh = mesh.mapped(bent, 2)
    options = dict(shift=0, reflection=REFLECTION)
    mesh = (dg.pml(mesh, THICKNESS, slabs * n, boundary="right", **options) if slabs else
            dg.pml(mesh, region="layer", **options))
    exact = damped(law, slabs * n)
    sim, _ = run(mesh, LAWS[law], method, lambda x: exact(x, 0.0), 0.6, dg.absorbing, flux=getattr(dg, flux),
                 exact=exact)
    return sim.report["l2_error"]["total"]


@pytest.mark.parametrize("name, flux", [*((name, "upwind") for name in METHODS), *((name, "central") for name in METHODS
                                                                                    if METHODS[name][0] == TRIANGLES)])
def test_a_pulse_in_a_layer_converges(name, flux):
    law = list(LAWS)[list(METHODS).index(name) % 3]
    coarse, fine = (error_in_a_layer(name, law, n, flux, 2 * (flux == "central")) for n in (3, 6))
    assert np.log2(coarse / fine) > (1.5 if flux == "central" else 2.5), (coarse, fine)


@pytest.mark.thorough
@pytest.mark.parametrize("law", LAWS)
def test_every_law_converges(law):
    coarse, fine = (error_in_a_layer("gauss", law, n, "upwind") for n in (3, 6))
    assert np.log2(coarse / fine) > 2.5


# What comes back: against the same mesh with so many cells outside that nothing can.

def spot(law, width=0.25):
    """A pulse in the middle, of the component that radiates to all sides; in 3D the curl of one along z."""
    def state(x):
        g = np.exp(-sum((c - 0.1 * k) ** 2 for k, c in enumerate(x)) / width ** 2)
        if isinstance(law, dg.Maxwell) and law.dim == 3:
            return -(x[1] - 0.1) / width * g, x[0] / width * g, *(0 * g,) * 4
        first = 2 if isinstance(law, dg.Maxwell) else 0
        return tuple(g if v == first else 0 * g for v in range(len(law.variables)))
    return state


def reflected(inner, law, method, cells, width, until=2.0, shape="box", outer=dg.pec, points=None, boundary=None, far=None):
    """The energy that comes back into the mesh, in dB of that at the start."""
    points = np.random.default_rng(0).uniform(-0.95, 0.95, (600, law.dim)) if points is None else points
    options = dict(shape=shape, boundary=boundary)
    around = far or int(until / 2 / width) + 3
    meshes = [replace(dg.pml(inner, around * width, around, **options), layers=()),
              dg.pml(inner, cells * width, cells, **options)]
    found = []
    for mesh in meshes:
        _, ds = run(mesh, law, method, spot(law), until, outer, kernels="fused")
        last = ds.dg.sample(points).isel(time=-1)
        found.append(np.array([last[v].values for v in law.variables]))
    start = np.array([np.broadcast_to(c, len(points)) for c in spot(law)(tuple(points.T))])
    return 10 * np.log10(np.sum((found[0] - found[1]) ** 2) / np.sum(start ** 2))


def square(shape, n=8):
    return dg.rectangle((-1, -1), (1, 1), (n, n), shape=shape)


@pytest.mark.thorough
@pytest.mark.parametrize("shape, most", [("triangle", -55), ("quadrilateral", -60), ("mixed", -50)])
@pytest.mark.parametrize("law", LAWS)
def test_five_cells_reflect_little(shape, most, law):
    outer = dg.pressure_release if law == "acoustics" else dg.pec
    method = dg.TensorDG(3) if shape == "quadrilateral" else dg.NodalDG(3)
    assert reflected(square(shape), LAWS[law], method, 5, 0.25, outer=outer) < most


@pytest.mark.thorough
def test_in_three_dimensions():
    inner = dg.box((-1, -1, -1), (1, 1, 1), (4, 4, 4), shape="hexahedron")
    assert reflected(inner, dg.Maxwell(3), dg.TensorDG(3), 3, 0.5, until=1.6) < -50


def disc(x):
    u, v = x
    return u * np.sqrt(1 - v * v / 2), v * np.sqrt(1 - u * u / 2)


@pytest.mark.thorough
@pytest.mark.parametrize("law", LAWS)
def test_round_layers(law):
    """Around a disc, whose cells are curved: the stretches along the radius and across it belong together."""
    points = np.random.default_rng(0).uniform(-0.65, 0.65, (400, 2))
    outer = dg.pressure_release if law == "acoustics" else dg.pec
    inner = square("quadrilateral").mapped(disc, 3)
    assert reflected(inner, LAWS[law], dg.TensorDG(3), 4, 0.25, shape="cylinder", outer=outer, points=points) < -70


@pytest.mark.thorough
@pytest.mark.parametrize("law", [dg.Maxwell(3), dg.Acoustics(3)], ids=["Maxwell", "acoustics"])
def test_balls(law):
    def ball(x):
        u, v, w = (c * c for c in x)
        return tuple(c * np.sqrt(1 - a / 2 - b / 2 + a * b / 3) for c, a, b in zip(x, (v, u, u), (w, w, v)))
    inner = dg.box((-1, -1, -1), (1, 1, 1), (4, 4, 4), shape="hexahedron").mapped(ball, 2)
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 3))
    outer = dg.pressure_release if isinstance(law, dg.Acoustics) else dg.pec
    assert reflected(inner, law, dg.TensorDG(3), 4, 0.4, until=1.6, shape="sphere", outer=outer, points=points) < -50


@pytest.mark.thorough
def test_a_mode_of_a_guide_leaves():
    """With all its slow waves, of which `absorbing` sends back a tenth of the energy; walls and layer share a name."""
    inner = dg.rectangle((-1, 0), (1, 1), (8, 4), shape="quadrilateral")
    law, method, until = dg.Maxwell(2), dg.TensorDG(3), 4.0

    def mode(x):
        return 0 * x[0], 0 * x[0], np.sin(np.pi * x[1]) * np.exp(-x[0] ** 2 / 0.09)
    points = np.random.default_rng(0).uniform((-1, 0), (1, 1), (300, 2))

    def left(mesh, boundary=dg.pec):
        _, ds = run(mesh, law, method, mode, until, boundary)
        return ds.dg.sample(points).isel(time=-1).Ez.values
    ends = {"boundary": ("left", "right")}
    whole, layer, absorbing = (left(replace(dg.pml(inner, 2.5, 10, **ends), layers=())), left(dg.pml(inner, 1.25, 5, **ends)),
                               left(inner, {"left": dg.absorbing, "right": dg.absorbing, "default": dg.pec}))
    start = np.sum(mode(tuple(points.T))[2] ** 2)
    losses = [10 * np.log10(np.sum((found - whole) ** 2) / start) for found in (layer, absorbing)]
    assert losses[0] < -60 and losses[1] > -15


def grazing(angle, cells, order=4):
    """The reflection of a guide's mode, in dB, whose two plane waves meet the layer at this angle, in degrees, to its face: at
    one frequency, by the operator itself, with the mode launched at an interface."""
    across = np.pi / 0.5
    k, along = across / np.cos(np.radians(angle)), across * np.tan(np.radians(angle))

    def mode(x, t):
        cosine, sine = np.cos(k * t - along * x[0]), np.sin(k * t - along * x[0])
        Ez = np.sin(across * x[1]) * cosine
        return -across / k * np.cos(across * x[1]) * sine, -along / k * Ez, Ez
    mesh = dg.rectangle((0, 0), (0.5, 0.5), cells=(2, 1), shape="quadrilateral").with_regions({"total": lambda x: x[0] > 0.25})
    mesh = dg.pml(mesh.with_interfaces({"port": "total"}), 0.25 * cells, cells, boundary="right")
    mesh = dg.pml(mesh, 1.0, 3, boundary="left", name="behind", reflection=1e-16)
    sim = dg.Simulation(mesh, dg.Maxwell(2), dg.TensorDG(order), {"port": dg.total_field(mode), "default": dg.pec},
                        backend="numpy", kernels="array")
    operator, linear = sim.operator, sim.linear_operator()

    def driven(t):
        return np.concatenate([part.ravel() for part in operator.as_list(operator.host(operator.rhs(operator.zeros(), t)))])
    matrix = np.array([linear.matvec(unit) for unit in np.eye(linear.shape[0])]).T
    q = np.linalg.solve(1j * k * np.eye(len(matrix)) - matrix, driven(0.0) - 1j * driven(np.pi / (2 * k)))
    _, rows, elements = operator.unknowns["q"]
    left = mesh.centroids[np.arange(elements), 0]
    Ez = q[:3 * rows * elements].reshape(3, rows, elements)[2][:, (left > 0) & (left < 0.25)]
    return 20 * np.log10(np.abs(Ez).max())


@pytest.mark.thorough
@pytest.mark.parametrize("angle", [30, 5])
def test_grazing_waves(angle):
    """At small angles to its face a layer reflects R^sin(angle), with the share R along the normal, and little more."""
    found = grazing(angle, 3)
    assert found < max(20 * -12 * np.sin(np.radians(angle)) + 1.5, -45)


# Long runs.

@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["triangle", "quadrilateral"])
def test_noise_does_not_grow(shape):
    """All fields random, charges included: 4,000 steps stay bounded."""
    mesh = dg.pml(square(shape, 3), 0.6, 2)
    method = dg.TensorDG(2) if shape == "quadrilateral" else dg.NodalDG(2)
    sim = dg.Simulation(mesh, dg.Maxwell(2), method, dg.pec, backend="numpy", kernels="fused")
    operator, random = sim.operator, np.random.default_rng(1)
    arrays = sim.project()
    arrays["q"] = random.standard_normal(arrays["q"].shape)
    state, sizes, dt = operator.state(arrays), [], sim.max_dt(arrays)
    for step in range(4001):
        if step % 1000 == 0:
            sizes.append(max(np.abs(values).max() for values in operator.host(state).values()))
        state = operator.advance(state, 0.0, dt)
    assert sizes[4] < 1.1 * max(sizes[1:4]) and sizes[4] < 100 * sizes[0]


@pytest.mark.thorough
def test_the_energy_of_a_pulse_leaves():
    mesh, law = dg.pml(square("quadrilateral", 6), 1.0, 3), dg.Maxwell(2)
    sim, _ = run(mesh, law, dg.TensorDG(3), spot(law), 8.0, dg.pec, kernels="fused")
    energy = sim.report["conserved"]["energy"]
    assert energy["final"] < 1e-3 * energy["initial"]


# Sets of the mesh, kernels, media.

def test_internal_variables_live_in_the_layer_alone():
    sim = dg.Simulation(dg.pml(square("quadrilateral", 4), 0.5, 1), dg.Maxwell(2), dg.TensorDG(2), dg.pec, backend="numpy",
                        kernels="array")
    state = sim.project()
    assert {name: values.shape for name, values in state.items()} == {
        "q": (3, 9, 36), "pml internal": (3, 9, 16), "pml edges internal": (4, 9, 4)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["nodal", "modal", "gauss", "mixed", "curved tensor"])
def test_kernels_agree_with_arrays(name, dtype):
    shape, method = METHODS[name]
    mesh = (dg.pml(square(shape, 6).mapped(disc, 2), 0.5, 2, shape="cylinder") if "curved" in name else
            dg.pml(square(shape, 3), 0.5, 2))
    law = dg.Maxwell(2, "TE", eps=2 + dg.Lorentz(0.5, 4.0, 2.0), sigma=0.3)
    points = [(0.2, 0.1), (0.6, -0.4)]
    found = [run(mesh, law, method, spot(law), 1.0, dg.pec, kernels=kernels, dtype=dtype)[1].dg.sample(points)
             for kernels in ("array", "fused")]
    for v in law.variables:
        a, b = (ds[v].values[-1] for ds in found)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-5 if dtype == "float32" else 1e-12)


MEDIA = {"dielectric": {"eps": 2.25}, "far apart": {"eps": {"low": 9.0, "high": 1.0}},
         "far apart, and dispersive": {"eps": {"low": 9.0 + dg.Debye(1e-6, 1.0), "high": 1.0}},
         "conducting": {"sigma": 0.5}, "dispersive": {"eps": 1.5 + dg.Debye(1.0, 0.5)},
         "half of each": {"eps": {"low": 1.0, "high": 2.0 + dg.Lorentz(0.5, 4.0, 2.0)}, "sigma": {"low": 0.0, "high": 0.2}}}


@pytest.mark.thorough
@pytest.mark.parametrize("medium", MEDIA)
def test_media_go_on_in_the_layer(medium):
    """Without a reflection from its face, also where two media meet there."""
    mesh = square("quadrilateral").with_regions({"low": lambda x: x[1] < 0, "high": lambda x: x[1] > 0})
    assert reflected(mesh, dg.Maxwell(2, **MEDIA[medium]), dg.TensorDG(3), 5, 0.25) < -60


def test_named_cells_are_a_layer():
    """A region of a mesh that has the cells already."""
    law, method, found = dg.Maxwell(2), dg.TensorDG(2), []
    added = dg.pml(square("quadrilateral", 4), 1.0, 2)
    large = dg.rectangle((-2, -2), (2, 2), (8, 8), shape="quadrilateral")
    named = dg.pml(large.with_regions({"pml": lambda x: np.maximum(np.abs(x[0]), np.abs(x[1])) > 1}), region="pml")
    for mesh in (added, named):
        found.append(run(mesh, law, method, spot(law), 2.0, dg.pec)[1].dg.sample([(0.3, 0.4), (1.5, 1.6)]).Ez.values)
    assert np.abs(found[0][-1, 0] - found[1][-1, 0]) < 1e-3 and np.abs(found[0]).max() > 0.05          # one has slabs


def test_a_refined_mesh_has_the_layer(tmp_path):
    """Of half the size, on several orders, restarted."""
    mesh = dg.pml(square("quadrilateral", 3), 1.0, 2).refined()
    sim = dg.Simulation(mesh, dg.Maxwell(2), dg.TensorDG({"pml": 1, "default": 2}), dg.pec, spot(dg.Maxwell(2)), until=0.6,
                        backend="numpy", kernels="array")
    whole = sim.run(every=0.2)
    sim.run(until=0.4, every=0.2, out=tmp_path / "a.zarr")
    again = sim.replace().run(until=0.6, every=0.2, out=tmp_path / "a.zarr", restart=True)
    for zone in ("pml", "default"):
        assert (again[zone].Ez.values == whole[zone].Ez.values).all()


@pytest.mark.thorough
def test_a_metal_in_a_layer_is_refused():
    """Seen: upwind fluxes make corners of a layer in a medium with eps < 0 grow, and layers in one whose waves run backward."""
    for medium in (1 + dg.Drude(3.0, 0.2), 1 + dg.Lorentz(1.0, 3.0, 0.2)):
        with pytest.raises(ValueError, match="goes on in the absorbing layer 'pml', where waves would grow: its real part is"):
            dg.Simulation(dg.pml(square("quadrilateral", 3), 0.5, 1), dg.Maxwell(2, eps=medium), dg.TensorDG(2), dg.pec)
    body = square("quadrilateral", 4).with_regions({"metal": lambda x: np.hypot(*x) < 0.5, "air": lambda x: np.hypot(*x) > 0.5})
    law = dg.Maxwell(2, eps={"metal": 1 + dg.Drude(3.0, 0.2), "air": 1.0})
    sim, _ = run(dg.pml(body, 1.0, 2), law, dg.TensorDG(2), spot(law), 20.0, dg.pec)
    energy = sim.report["conserved"]["energy"]
    assert energy["final"] < 0.1 * energy["initial"]


# Errors.

def test_only_waves_of_linear_laws_have_layers():
    mesh = dg.pml(square("triangle", 3), 0.5, 1)
    with pytest.raises(ValueError, match="perfectly matched layers, as 'pml' of the mesh, are for Maxwell and Acoustics, not"):
        dg.Simulation(mesh, dg.Euler(2), dg.NodalDG(2), dg.wall)


def test_a_medium_that_changes_along_the_depth_reflects_and_is_said():
    """By 20 % over the layer: 1 % of the amplitude comes back."""
    mesh = dg.pml(dg.interval(-1, 1, 4), 0.5, 2)

    def pulse(x):
        return np.exp(-10 * x[0] ** 2), -np.exp(-10 * x[0] ** 2)

    def left(eps):
        ds = dg.Simulation(mesh, dg.Maxwell(1, eps=eps), dg.NodalDG(3), dg.pec, pulse, kernels="array").run(until=2.3)
        return np.abs(ds.Ez[-1]).where(np.abs(ds.x) < 1).max().item()

    def graded(x):
        return 1 + 0.2 * np.clip((np.abs(x[0]) - 1) / 0.5, 0, 1)
    with pytest.warns(UserWarning, match=r"^eps changes along the depth of the absorbing layer 'pml', from 1 where it begins "
                                         r"to 1.15 at \(-?1.38\): waves reflect there; let the function go on"):
        assert 4e-3 < left(graded) < 2e-2
    assert left(lambda x: graded(np.clip(x, -1, 1))) < 1e-3


def test_media_along_layers_and_beyond_their_faces_are_not_said(recwarn):
    round_one = dg.pml(square("quadrilateral", 4).mapped(disc, 2), 0.5, 2, shape="cylinder")
    sides = dg.pml(square("quadrilateral", 3), 0.5, 1, boundary=("left", "right"))
    for mesh, eps in ((sides, lambda x: 2 + x[1]), (sides, lambda x: np.where(np.abs(x[0]) > 1, 1.0, 2.0)),
                      (round_one, lambda x: 2 + x[1] / np.hypot(*x))):
        dg.Simulation(mesh, dg.Maxwell(2, eps=eps), dg.TensorDG(2), dg.pec, kernels="array").project()
    assert not [each for each in recwarn if "along the depth" in str(each.message)]
    with pytest.warns(UserWarning, match="eps changes along the depth"):
        dg.Simulation(round_one, dg.Maxwell(2, eps=lambda x: np.hypot(*x)), dg.TensorDG(2), dg.pec, kernels="array").project()


def test_layers_where_waves_would_grow_are_refused():
    """Seen: round layers of triangles, and fluxes without dissipation where coefficients vary inside of elements."""
    ring = dg.pml(square("triangle", 6).mapped(disc, 2), 0.5, 2, shape="cylinder")
    with pytest.raises(ValueError, match="the round layer 'pml' has triangles, on which waves in it grow; its cells must be"):
        dg.Simulation(ring, dg.Maxwell(2), dg.NodalDG(2), dg.pec)
    named = dg.pml(square("triangle", 4).with_regions({"outer": lambda x: np.abs(x[0]) > 0.5}), region="outer")
    whole = dg.pml(square("triangle", 3), 0.5, 1, name="outer", split=False)          # where derivatives are divided
    for mesh in (named, whole):
        with pytest.raises(ValueError, match="flux=central has no dissipation, and waves grow with it in the layer 'outer'"):
            dg.Simulation(mesh, dg.Maxwell(2), dg.NodalDG(2), dg.pec, flux=dg.central)


@pytest.mark.thorough
def test_named_cells_of_any_form_are_stable():
    """Triangles across which the layer's profile varies: noise stays bounded."""
    mesh = dg.rectangle((-1, -1), (1, 1), (8, 4), perturb=0.2).with_regions({"outer": lambda x: x[0] > 0.3})
    sim = dg.Simulation(dg.pml(mesh, region="outer"), dg.Maxwell(2), dg.NodalDG(2), dg.pec, backend="numpy", kernels="fused")
    operator, arrays = sim.operator, sim.project()
    arrays["q"] = np.random.default_rng(1).standard_normal(arrays["q"].shape)
    state, dt = operator.state(arrays), sim.max_dt(arrays)
    for _ in range(2000):
        state = operator.advance(state, 0.0, dt)
    assert max(np.abs(values).max() for values in operator.host(state).values()) < 100


@pytest.mark.parametrize("method, name", [(dg.NodalDG(2, limiter="vertex"), "limiter='vertex'"),
                                          (dg.TensorDG(2, "lobatto", volume_flux=dg.central), "volume_flux="),
                                          (dg.NodalDG(2, filter=dg.ExponentialFilter()), "filter=")])
def test_options_that_do_not_go_together(method, name):
    shape = "quadrilateral" if isinstance(method, dg.TensorDG) else "triangle"
    with pytest.raises(ValueError, match=f"{name}.* is not allowed where elements have internal variables, as those of 'p"):
        dg.Simulation(dg.pml(square(shape, 3), 0.5, 1), dg.Maxwell(2), method, dg.pec)
