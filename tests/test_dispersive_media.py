"""Dispersive media in discontinuous Galerkin methods: exact damped waves, energy, sets, time steps, restart, errors."""
import numpy as np
import pytest
from waves_in_media import MEDIA, Wave, advanced

import dgarray as dg
from dgarray.physics.auxiliary_variables import Internal

METHODS = {
    "nodal": ("triangle", dg.NodalDG(2)), "modal": ("triangle", dg.ModalDG(2)),
    "quadrature": ("triangle", dg.NodalDG(2, quadrature=6)), "gauss": ("quadrilateral", dg.TensorDG(2)),
    "lobatto": ("quadrilateral", dg.TensorDG(2, "lobatto")),
    "mixed": ("mixed", dg.NodalDG(2)), "curved nodal": ("triangle", dg.NodalDG(2)), "curved modal": ("triangle", dg.ModalDG(2)),
    "curved tensor": ("quadrilateral", dg.TensorDG(2)), "line": ("line", dg.NodalDG(2))}


def bent(x):
    push = np.sin(2 * np.pi * x[0]) * np.sin(2 * np.pi * x[1])
    return x[0] + 0.04 * push, x[1] - 0.03 * push


def mesh_of(name, n):
    shape = METHODS[name][0]
    if shape == "line":
        return dg.interval(0, 1, n, periodic=True)
    mesh = dg.rectangle(cells=(n, n), shape=shape, periodic=True)
    return mesh.mapped(bent, 2) if "curved" in name else mesh


def simulation(name, law, n, until=0.2, **options):
    return dg.Simulation(mesh_of(name, n), law, METHODS[name][1], until=until, backend="numpy",
                         **{"kernels": "array", **options})


def error(name, law, n, **options):
    sim, wave = simulation(name, law, n, **options), Wave(law)
    end, energies = advanced(sim, wave.start(sim))
    return np.linalg.norm(sim.operator.error(sim.operator.state(end.q), wave.exact, end.t)), energies


def law_of(name, **parameters):
    return dg.Maxwell(1, **parameters) if name == "line" else dg.Maxwell(2, **parameters)


@pytest.mark.parametrize("flux", ["upwind", "central"])
@pytest.mark.parametrize("name", METHODS)
def test_a_damped_wave_converges(name, flux):
    """At the order p + 1, with the central flux p; the energy with that of the medium falls in every step."""
    law = law_of(name, eps=MEDIA["lorentz"], mu=1.0 + dg.Debye(0.5, 0.3))
    (coarse, _), (fine, energies) = (error(name, law, n, flux=getattr(dg, flux)) for n in (6, 12))
    assert np.log2(coarse / fine) > (1.6 if flux == "central" else 2.6), (coarse, fine)
    assert np.all(np.diff(energies) < 1e-14)


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("which", ["eps", "mu"])
def test_every_medium(medium, which):
    """TM and TE, each term of a sum with its own states."""
    for polarisation in ("TM", "TE"):
        law = dg.Maxwell(2, polarisation, **{which: MEDIA[medium]})
        (coarse, _), (fine, energies) = (error("gauss", law, n) for n in (4, 8))
        assert np.log2(coarse / fine) > 2.6, (coarse, fine)
        assert np.all(np.diff(energies) < 1e-14) or medium == "poles"          # whose energy has no formula


def test_in_three_dimensions():
    for shape, method in (("tetra", dg.NodalDG(2)), ("hexahedron", dg.TensorDG(2)), ("prism", dg.NodalDG(2)),
                          ("pyramid", dg.NodalDG(2))):
        law, errors = dg.Maxwell(3, eps=MEDIA["sum"]), []
        for n in (3, 6):
            mesh = dg.box((0, 0, 0), (1, 1 / 3, 1 / 3), (n, n // 3, n // 3), periodic=True, shape=shape)
            sim, wave = dg.Simulation(mesh, law, method, until=0.1, backend="numpy", kernels="array"), Wave(law)
            end, _ = advanced(sim, wave.start(sim))
            errors.append(np.linalg.norm(sim.operator.error(sim.operator.state(end.q), wave.exact, end.t)))
        assert np.log2(errors[0] / errors[1]) > 2.4, errors


# The sets of a mesh.

HALVES = {"air": lambda x: x[0] < 0.5, "glass": lambda x: x[0] > 0.5}


def in_halves(method=None, kernels="array", shape="triangle", medium=None, n=4, **options):
    """A pulse that meets a half space of a dispersive medium."""
    mesh = dg.rectangle(cells=(n, n), shape=shape).with_regions(HALVES)
    law = dg.Maxwell(2, eps={"air": 1.0, "glass": medium or MEDIA["sum"]})

    def pulse(x):
        return 0 * x[0], 0 * x[0], np.exp(-40 * (x[0] - 0.4) ** 2)
    return dg.Simulation(mesh, law, method or dg.NodalDG(2), dg.pec, pulse,
                         **{"until": 0.3, "backend": "numpy", "kernels": kernels, **options})


def test_only_the_medium_has_internal_variables():
    sim = in_halves()
    states = sim.project()
    assert set(states) == {"q", "glass internal"} and states["glass internal"].shape == (4, 6, 16)
    assert states["q"].shape == (3, 6, 32) and not states["glass internal"].any()
    ds = sim.run()
    assert ds.Ez.dims == ("time", "element", "node") and ds.sizes["element"] == 32


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", [dg.NodalDG(2), dg.ModalDG(1), dg.TensorDG(2)], ids=["nodal", "modal", "tensor"])
def test_kernels_agree_with_arrays(method, dtype):
    shape = "quadrilateral" if isinstance(method, dg.TensorDG) else "triangle"
    found = [in_halves(method, kernels, shape, dtype=dtype).run() for kernels in ("array", "fused")]
    for name in ("Hx", "Hy", "Ez"):
        a, b = (ds[name].values[-1] for ds in found)
        np.testing.assert_allclose(b, a, rtol=0, atol=(2e-5 if dtype == "float32" else 1e-12) * np.abs(a).max())
    assert np.abs(found[0].Ez.values[-1]).max() > 0.1


@pytest.mark.parametrize("flux", ["upwind", "central"])
@pytest.mark.parametrize("medium", ["drude", "lorentz", "debye"])
def test_energy_never_grows(medium, flux):
    """Of field and medium together, with faces between the two; and it is not all lost."""
    for method, shape in ((dg.NodalDG(2), "triangle"), (dg.TensorDG(2), "quadrilateral"), (dg.NodalDG(2), "mixed")):
        sim = in_halves(method, shape=shape, medium=MEDIA[medium], flux=getattr(dg, flux))
        _, energies = advanced(sim, sim.project())
        assert np.all(np.diff(energies) < 1e-14 * energies[0]) and energies[-1] > 0.1 * energies[0]


@pytest.mark.parametrize("medium", [1 + dg.Drude(400.0, 1.0), 1 + dg.Debye(1.0, 1e-4), 1 + dg.Lorentz(1.0, 900.0, 5.0)])
def test_the_time_step_knows_fast_media(medium):
    """Rates far beyond those of the waves: the default step stays stable, in one part of the mesh as in all."""
    sim = in_halves(medium=medium, n=3)
    assert sim.max_dt(sim.project()) < 0.05
    _, energies = advanced(sim.replace(until=0.02), sim.project())
    assert np.all(np.diff(energies) < 1e-12 * energies[0])


def test_numbers_in_SI_units():
    """Unknowns of the medium have the size of the fields, so that neither time step nor float32 suffers."""
    eps_0, c = 8.8541878188e-12, 299792458.0
    medium = eps_0 * (1 + dg.Drude(3.0 * c, 0.4 * c) + dg.Lorentz(0.8, 5.0 * c, 0.6 * c) + dg.Debye(1.0, 0.5 / c))
    plain = in_halves(medium=1 + dg.Drude(3.0, 0.4) + dg.Lorentz(0.8, 5.0, 0.6) + dg.Debye(1.0, 0.5))
    law = dg.Maxwell(2, eps={"air": eps_0, "glass": medium}, units="SI")
    sim = plain.replace(law=law, until=0.3 / c, dtype="float32")
    steps = [each.max_dt(each.project()) for each in (plain, sim)]
    assert abs(steps[1] * c / steps[0] - 1) < 0.02
    a, b = (each.run().Ez.values[-1] for each in (plain, sim))
    np.testing.assert_allclose(b, a, rtol=0, atol=3e-5 * np.abs(a).max())


def test_a_restart_keeps_them(tmp_path):
    sim = in_halves()
    whole = sim.run(until=0.3, every=0.1)
    sim.run(until=0.2, every=0.1, out=tmp_path / "a.zarr")
    again = in_halves().run(until=0.3, every=0.1, out=tmp_path / "a.zarr", restart=True)
    assert (again.Ez.values == whole.Ez.values).all()


# Errors.

@pytest.mark.parametrize("make, message", [
    (lambda: dg.Maxwell(2, eps=dg.Debye(1.0, 0.1)), "must be positive: write 1 \\+ Debye"),
    (lambda: dg.Maxwell(2, sigma=1 + dg.Debye(1.0, 0.1)), "sigma=.* is not allowed; eps and mu alone may be dispersive"),
    (lambda: dg.Maxwell(2, eps=1 + dg.Poles(-1.0, -0.5)), "is not passive; where omega is any number"),
    (lambda: in_halves().replace(law=dg.Maxwell(2, eps={"air": 1.0, "glas": MEDIA["debye"]})), "'glas'.*glass"),
])
def test_wrong_media(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_law_prints_its_media():
    law = dg.Maxwell(2, eps={"air": 1.0, "glass": 2.0 + dg.Debye(1.0, 0.5)})
    assert "eps={'air': 1.0, 'glass': 2.0 + Debye(1.0, 0.5)}" in repr(law)


@pytest.mark.parametrize("method", [dg.FiniteVolume("muscl"), dg.Hermite(2)])
def test_methods_on_grids_have_none(method):
    grid = dg.Grid((0, 0), (1, 1), (8, 8), periodic=True)
    with pytest.raises(ValueError, match="dispersive"):
        dg.Simulation(grid, dg.Maxwell(2, eps=1 + dg.Debye(1.0, 0.5)), method)


# Internal variables of a law of one's own.

class Relaxing(dg.Acoustics):
    """p_t + div v = -z_t, z_t = (strength p - z) / tau."""

    def __init__(self, dim, strength=0.5, tau=0.2, **options):
        super().__init__(dim)
        self.internal = Internal(("z",), lambda q, w, m: ((m.strength * q[0] - w[0]) / m.tau,),
                                 lambda q, w, m: (-(m.strength * q[0] - w[0]) / m.tau, *(0.0,) * dim),
                                 lambda q, w, m: w[0] ** 2 / (2 * m.strength),
                                 **({"parameters": {"strength": strength, "tau": tau}} | options))


def test_a_law_of_ones_own():
    """A sound wave that relaxes, at its exact complex frequency; energy falls; parameters of its own."""
    k, tau, strength = 2 * np.pi, 0.2, 0.5
    s = np.roots([tau, 1 + strength, k * k * tau, k * k])          # s (1 + strength / (1 + s tau)) s + k^2 = 0
    s = s[np.argmax(s.imag)]

    def exact(x, t):
        wave = np.exp(1j * k * x[0] + s * t)
        return wave.real, (-1j * k / s * wave).real
    errors = []
    for n in (8, 16):
        sim = dg.Simulation(dg.interval(0, 1, n, periodic=True), Relaxing(1), dg.NodalDG(3), initial=lambda x: exact(x, 0.0),
                            until=0.5, exact=exact, backend="numpy", kernels="array")
        arrays = sim.project()
        arrays["straight internal"][0] = sim.project(
            lambda x: ((strength / (1 + s * tau) * np.exp(1j * k * x[0])).real, 0.0))["q"][0]
        end, energies = advanced(sim, arrays)
        errors.append(sim.operator.error(sim.operator.state(end.q), exact, end.t)[0])
        assert np.all(np.diff(energies) < 1e-13)
    assert np.log2(errors[0] / errors[1]) > 3.6


@pytest.mark.parametrize("make, message", [
    (lambda: Internal("z", abs, abs), "names='z' of internal variables is not allowed; give different words in a tuple"),
    (lambda: Internal(("z", "z"), abs, abs), "give different words in a tuple"),
    (lambda: Internal(("z",), 1.0, abs), "rate=1.0 is not allowed; it must be a function of some of q, w, x, t, m"),
    (lambda: Internal(("z",), lambda u: u, abs), "rate of internal variables asks for u; allowed: q, w, x, t, m"),
    (lambda: Internal(("z",), lambda q: q, lambda q: q, lambda t: t), "energy of internal variables asks for t; allowed: q, w"),
    (lambda: Internal(("z",), lambda q: q, lambda q: q, fastest=-1), "fastest=-1 of internal variables is not allowed"),
])
def test_wrong_internal_variables(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_internal_variables_do_not_mix():
    mesh = dg.pml(dg.interval(0, 1, 4), 0.5, 2)
    with pytest.raises(ValueError, match="has internal variables of its own, which do not go together with those of"):
        dg.Simulation(mesh, Relaxing(1), dg.NodalDG(2), dg.absorbing)


def test_a_restart_with_another_medium_is_refused(tmp_path):
    """Laws by region, and internal variables of one's own, are compared."""
    mesh = dg.interval(0, 1, 4).with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})

    def sim(law):
        return dg.Simulation(mesh, law, dg.NodalDG(2), initial=lambda x: (np.sin(x[0]), 0.0), boundary=dg.absorbing, until=0.1,
                             backend="numpy", kernels="array")
    laws = [{"a": dg.Maxwell(1), "b": dg.Maxwell(1, eps=1 + dg.Drude(plasma, 0.1))} for plasma in (2.0, 9.0)]
    for name, (first, second) in {"laws": laws, "own": [Relaxing(1), Relaxing(1, tau=0.7)]}.items():
        out = tmp_path / f"{name}.zarr"
        sim(first).run(out=out)
        with pytest.raises(ValueError, match="cannot be continued, because it differs in the"):
            sim(second).run(until=0.2, out=out, restart=True)


@pytest.mark.parametrize("rate, adds, message", [
    (lambda w: (w[1],), lambda q: (0.0, 0.0), r"rate of internal variables takes a component .*; q has 2, w has 1 \(z\)"),
    (lambda w: (w[0],), lambda q: (q[2], 0.0), "adds of internal variables takes a component that does not exist; q has 2")])
def test_components_that_do_not_exist_are_named(rate, adds, message):
    law = dg.Acoustics(1)
    law.internal = Internal(("z",), rate, adds)
    with pytest.raises(ValueError, match=message):
        dg.Simulation(dg.interval(cells=2), law, dg.NodalDG(1), dg.wall, until=0.1, backend="numpy", kernels="array").run()
