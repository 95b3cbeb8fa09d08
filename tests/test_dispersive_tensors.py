"""Tensors along the axes with dispersive components: exact oblique waves, energy, layers, kernels, restart, what is refused."""
import numpy as np
import pytest
from waves_in_media import advanced, internal_amplitudes

import dgarray as dg
from dgarray.physics.dispersion import Dispersion

DEBYE, LORENTZ, DRUDE = 2.0 + dg.Debye(1.0, 0.5), 1.5 + dg.Lorentz(0.8, 5.0, 0.6), 1.0 + dg.Drude(2.0, 0.4)
LAWS = {"TE": dg.Maxwell(2, "TE", eps=(DEBYE, LORENTZ, 7.0), mu=1.0 + dg.Debye(0.5, 0.3)),
        "TM": dg.Maxwell(2, "TM", eps=(7.0, 7.0, LORENTZ), mu=(1.3, DRUDE, 7.0)),
        "rows": dg.Maxwell(2, "TE", eps=((LORENTZ, 0, 0), (0, 3.0, 0), (0, 0, 7.0))),
        "1D": dg.Maxwell(1, eps=(7.0, 7.0, DEBYE), mu=(7.0, LORENTZ, 7.0)),
        "3D": dg.Maxwell(3, eps=(DEBYE, 2.0, LORENTZ), mu=(1.0, DRUDE, 1.0))}


def along(given):
    """The three components of a medium as functions of s."""
    given = given if isinstance(given, tuple) else (given,) * 3
    given = [row[i] if isinstance(row, tuple) else row for i, row in enumerate(given)]
    return [value.at if isinstance(value, Dispersion) else lambda s, value=value: value for value in given]


class Oblique:
    """The wave q exp(i k . x + s t) of Maxwell's equations,  s eps_i E_i = (i k x H)_i,  s mu_i H_i = -(i k x E)_i."""

    def __init__(self, law, k):
        self.law, self.k = law, np.array(k)
        given = law.given
        media = along(given["eps"]) + along(given["mu"])
        K = 1j * np.cross([*k, *(0.0,) * (3 - len(k))], np.eye(3)).T          # K v = i k x v
        curl = np.block([[np.zeros((3, 3)), K], [-K, np.zeros((3, 3))]])
        rows = ["EH".index(v[0]) * 3 + "xyz".index(v[1]) for v in law.variables]

        def matrix(s):
            return (np.diag([s * value(s) for value in media]) - curl)[np.ix_(rows, rows)]
        s, scale = 0.7j * np.linalg.norm(k) - 0.1, 1e-6
        for _ in range(100):          # Newton's method for the determinant
            value = np.linalg.det(matrix(s))
            slope = (np.linalg.det(matrix(s + scale)) - np.linalg.det(matrix(s - scale))) / (2 * scale)
            s -= value / slope
        _, singular, vectors = np.linalg.svd(matrix(s))
        assert singular[-1] < 1e-9 * singular[0] and s.real < 0 < s.imag
        self.s, self.q = s, vectors[-1].conj()

    def exact(self, x, t):
        phase = np.exp(1j * sum(a * b for a, b in zip(self.k, x)) + self.s * t)
        return tuple((amplitude * phase).real for amplitude in self.q)

    def start(self, sim):
        operator, state = sim.operator, sim.project(lambda x: self.exact(x, 0.0))
        for name, of_set in operator.internals.items():
            for row, w in enumerate(internal_amplitudes(operator.operators[of_set].law.internal, self.q, self.s)):
                shapes = sim.project(lambda x, w=w: (self.shape(x, w),) * len(self.law.variables))
                state[name][row] = operator.split(shapes)[of_set][0]
        return state

    def shape(self, x, w):
        return (w * np.exp(1j * sum(a * b for a, b in zip(self.k, x)))).real


def box(dim, n):
    if dim == 1:
        return dg.interval(0, 1, n, periodic=True)
    if dim == 2:
        return dg.rectangle(cells=(n, n), periodic=True, shape="quadrilateral")
    return dg.box(cells=(n, n, n), periodic=True, shape="hexahedron")


@pytest.mark.parametrize("name", LAWS)
def test_an_oblique_wave_converges(name):
    """Coupled by the curl, each component with its own states; the energy with that of the medium falls in every step."""
    law, errors = LAWS[name], []
    wave, order = Oblique(law, (2 * np.pi,) * law.dim), 2 if law.dim == 3 else 3
    for n in (3, 6) if law.dim == 3 else (4, 8):
        method = dg.NodalDG(order) if law.dim == 1 else dg.TensorDG(order)
        sim = dg.Simulation(box(law.dim, n), law, method, until=0.05, backend="numpy", kernels="array")
        end, energies = advanced(sim, wave.start(sim))
        errors.append(np.linalg.norm(sim.operator.error(sim.operator.state(end.q), wave.exact, end.t)))
        assert np.all(np.diff(energies) < 1e-14)
    assert np.log2(errors[0] / errors[1]) > order + 0.5, errors


# Layers, sets, kernels, restart.

SLAB = dg.Maxwell(2, "TE", eps=(DEBYE, 3.0, 1.0), sigma=0.05)


def layered(mesh, law=SLAB, **options):
    """A pulse in the middle of a mesh."""
    def pulse(x):
        return 0 * x[0], 0 * x[0], np.exp(-20 * (x[0] ** 2 + x[1] ** 2))
    return dg.Simulation(mesh, law, dg.TensorDG(3), dg.pec, pulse,
                         **{"until": 4.5, "backend": "numpy", "kernels": "array", "threads": 1, **options})


def square(half, cells):
    return dg.rectangle((-half, -half), (half, half), (cells, cells), shape="quadrilateral")


def with_layer(kind, cells=4):
    """A square of the half width 1 with a layer of new cells around it, or of cells that it has."""
    if kind == "new cells":
        return dg.pml(square(1.0, cells), 1.0, max(1, cells // 2))
    mesh = square(2.0, 2 * cells).with_regions({"layer": lambda x: np.maximum(abs(x[0]), abs(x[1])) > 1})
    return dg.pml(mesh, region="layer")


def test_layers_absorb():
    """Both kinds, against a mesh so large that nothing comes back in time; without a layer the pulse comes back."""
    points = np.random.default_rng(1).uniform(-0.9, 0.9, (50, 2))
    far, wall, *layers = (layered(mesh).run().dg.sample(points, time=-1) for mesh in (
        square(3.0, 12), square(2.0, 8), with_layer("new cells"), with_layer("named cells")))
    returned = np.abs(wall.Hz - far.Hz).max()
    for each in layers:
        for name in SLAB.variables:
            assert np.abs(each[name] - far[name]).max() < 0.01 * returned


@pytest.mark.parametrize("kind", ["plain", "new cells", "named cells"])
def test_no_state_grows(kind):
    """Eigenvalues of the whole operator."""
    mesh = square(1.0, 3) if kind == "plain" else with_layer(kind, 2 if kind == "named cells" else 1)
    law = dg.Maxwell(2, "TE", eps=(DEBYE, LORENTZ, 1.0) if kind == "plain" else (DEBYE, 2.0 + dg.Debye(0.4, 0.2), 1.0))
    A = dg.Simulation(mesh, law, dg.TensorDG(1), dg.pec, backend="numpy", kernels="array", threads=1).linear_operator()
    assert np.linalg.eigvals(A @ np.eye(A.shape[1])).real.max() < 1e-12


def in_halves(kernels="array", **options):
    """Air beside a tensor, both of which go on in the layer."""
    mesh = square(1.0, 4).with_regions({"air": lambda x: x[0] < 0, "crystal": lambda x: x[0] > 0})
    law = dg.Maxwell(2, "TE", eps={"air": 1.0, "crystal": (3.0, DEBYE, 1.0)}, mu={"air": 1.0, "crystal": LORENTZ.high})
    return layered(dg.pml(mesh, 0.5, 1), law, kernels=kernels, until=0.6, **options)


def test_kernels_agree_with_arrays():
    found = [in_halves(kernels).run() for kernels in ("array", "fused")]
    for name in ("Ex", "Ey", "Hz"):
        a, b = (ds[name].values[-1] for ds in found)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * np.abs(a).max())


def test_only_what_is_dispersive_has_states():
    """One state for Ey, none for Ex, beside those of the layer."""
    sim = in_halves()
    names = {each.name: each.problem.law.internal.names for each in sim.operator.sets if each.problem.law.internal is not None}
    assert names["crystal"] == ("Ey_0",)
    assert all(("Ey_0" in of_set) == ("crystal" in name) and "Ex_0" not in of_set for name, of_set in names.items())


def test_a_restart_keeps_them(tmp_path):
    whole = in_halves().run(until=0.3, every=0.1)
    in_halves().run(until=0.2, every=0.1, out=tmp_path / "a.zarr")
    again = in_halves().run(until=0.3, every=0.1, out=tmp_path / "a.zarr", restart=True)
    assert (again.Hz.values == whole.Hz.values).all()
    other = in_halves().replace(law=dg.Maxwell(2, "TE", eps={"air": 1.0, "crystal": (3.0, 2.0 + dg.Debye(1.0, 0.4), 1.0)}))
    with pytest.raises(ValueError, match="cannot be continued, because it differs in the law"):
        other.run(until=0.4, out=tmp_path / "a.zarr", restart=True)


def test_the_law_shows_what_was_given(capsys):
    law = dg.Maxwell(2, "TE", eps={"a": 1.0, "b": (DEBYE, 3.0, 1.0)})
    assert repr(law) == ("Maxwell(dim=2, polarisation='TE', eps={'a': 1.0, 'b': (2.0 + Debye(1.0, 0.5), 3.0, 1.0)}, mu=1.0, "
                         "sigma=0.0)")
    dg.explain(dg.Maxwell(2, "TE", eps=(DEBYE, 3.0, 1.0)))
    text = capsys.readouterr().out
    assert "dEx_0/dt = Ex - 2*Ex_0" in text and "Ey_0" not in text


# What is refused.

def cube(**parameters):
    mesh = dg.pml(dg.box(cells=1, shape="hexahedron"), 0.5, 1)
    return dg.Simulation(mesh, dg.Maxwell(3, **parameters), dg.TensorDG(1), dg.pec, until=0.1, backend="numpy", kernels="array")


@pytest.mark.parametrize("make, message", [
    (lambda: dg.Maxwell(2, "TE", eps=((DEBYE, 0.1, 0), (0.1, 3.0, 0), (0, 0, 3.0))), "a tensor with dispersive components must "
     "lie along the axes: give its diagonal"),
    (lambda: dg.Maxwell(2, "TE", eps=(1 + dg.Poles(-1.0, -0.5), 3.0, 3.0)), "is not passive; where omega is any number"),
    (lambda: dg.Maxwell(2, "TE", eps=(dg.Debye(1.0, 1.0), 3.0, 3.0)), "must be positive: write 1"),
    (lambda: dg.Maxwell(2, "TE", eps=(DEBYE, 3.0, 3.0), sigma=DEBYE), "sigma=.* is not allowed; eps and mu alone may be"),
    (lambda: dg.Acoustics(2, density=DEBYE), "density=.* is not allowed; it depends on frequency, which eps and mu of"),
    (lambda: dg.Maxwell(3, eps=((2, 1j, 0), (-1j, 2, 0), (0, 0, 2))), "a tensor must be real: losses along the axes are"),
    (lambda: layered(with_layer("new cells"), dg.Maxwell(2, "TE", eps=(DRUDE, 3.0, 1.0))).run(),
     r"eps_xx=1.0 \+ Drude\(2.0, 0.4\) goes on in .* is negative at frequencies below 0\.3119; end it"),
    (lambda: cube(eps=(DEBYE, 2.0, 3.0)).run(), "is biaxial or varies with x"),
    (lambda: cube(eps=(DEBYE, 2.0, 2.0 + dg.Debye(1.0, 0.4))).run(), "is biaxial or varies with x"),
    (lambda: layered(dg.pml(square(1.0, 2), 0.5, 1).with_regions({"a": lambda x: x[0] < 0, "b": lambda x: x[0] > 0}),
                     dg.Maxwell(2, "TE", eps={"a": DEBYE, "b": ((3.0, 0.1, 0), (0.1, 3.0, 0), (0, 0, 1.0))})).run(),
     r"give each region a law of its own, \{region: law\}"),
])
def test_what_does_not_do_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_media_along_one_axis_go_on_in_layers_in_3d():
    """Where two quotients of eps and mu are the same at all frequencies."""
    for eps, mu, states in (((DEBYE, 2.0, 2.0), 1.0, {"Ex_0"}), ((DEBYE, 2.0 * DEBYE, 3.0), (1.0, 2.0, 1.0), {"Ex_0", "Ey_0"})):
        for each in cube(eps=eps, mu=mu).operator.sets:
            assert {name for name in each.problem.law.internal.names if name.endswith("_0")} == states
