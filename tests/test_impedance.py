"""Walls of a surface impedance: reflection beside the formula, the power that they take, limits, and what is refused."""
from dataclasses import replace

import numpy as np
import pytest

import dgarray as dg

PULSE, LATE, EVENTS = 0.4, 1.4, np.random.default_rng(3).uniform(0.05, 0.95, (40, 3))


def shape(s):
    return np.exp(-((s - LATE) / PULSE) ** 2)


ACOUSTICS, TM, TE = dg.Acoustics(2, 1.5, 0.8), dg.Maxwell(2, "TM", 2.0, 0.5), dg.Maxwell(2, "TE", 2.0, 0.5)
BOX = dg.Maxwell(3, eps=2.0, mu=0.5)
NUMPY = {"backend": "numpy", "kernels": "array"}


def impedance_of(law):
    m = law.parameters
    return m["rho"] * m["c"] if "rho" in m else (m["mu"] / m["eps"]) ** 0.5


def waves(law, degrees, in_plane):
    """The wave that comes to the wall x = 1 at this angle, and the mirrored one of the same pressure or E along the wall."""
    a = np.radians(degrees)
    k, back = (np.cos(a), np.sin(a)), (-np.cos(a), np.sin(a))
    if "p" in law.variables:
        amplitudes = 1.0, 1.0
    elif in_plane:
        amplitudes = (-np.sin(a), np.cos(a), 0.0), (np.sin(a), np.cos(a), 0.0)
    else:
        amplitudes = (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)
    k, back = (direction + (0.0,) * (law.dim - 2) for direction in (k, back))
    return [dg.plane_wave(law, direction, amplitude, late) for direction, amplitude, late in zip(
        (k, back), amplitudes, (shape, lambda s: shape(s - 2 * np.cos(a))))]


@pytest.mark.parametrize("degrees", [0, 50])
@pytest.mark.parametrize("share", [0.4, 3.0])
@pytest.mark.parametrize("law, in_plane, method", [
    (ACOUSTICS, False, dg.NodalDG(4)), (ACOUSTICS, False, dg.TensorDG(4)), (TM, False, dg.ModalDG(4)),
    (TE, True, dg.NodalDG(4)),
    pytest.param(BOX, False, dg.TensorDG(4), marks=pytest.mark.thorough),
    pytest.param(BOX, True, dg.TensorDG(4), marks=pytest.mark.thorough)], ids=["sound", "sound, tensor", "TM", "TE", "s", "p"])
def test_reflection(law, in_plane, method, share, degrees):
    """The share of the mirrored wave in the run is that of the formula, within 5e-4."""
    there, back = waves(law, degrees, in_plane)
    Z0, cosine = impedance_of(law), np.cos(np.radians(degrees))
    Z = share * Z0
    exact = (Z - Z0 * cosine) / (Z + Z0 * cosine) if in_plane else (Z * cosine - Z0) / (Z * cosine + Z0)

    def both(x, t):
        return tuple(a + exact * b for a, b in zip(there(x, t), back(x, t)))
    make, tensor = dg.rectangle if law.dim == 2 else dg.box, isinstance(method, dg.TensorDG)
    kinds = ("quadrilateral", "hexahedron") if tensor else ("triangle", "tetra")
    mesh = make(cells=5, shape=kinds[law.dim - 2])
    speed = 0.8 if "p" in law.variables else 1.0
    sim = dg.Simulation(mesh, law, method, {"right": dg.impedance(Z), "default": dg.incident(both)}, lambda x: both(x, 0.0),
                        until=(LATE + 1.5 * cosine + 0.4 * np.sin(np.radians(degrees))) / speed, **NUMPY)
    ds = sim.run()
    x, t = EVENTS[:, :law.dim], sim.report["time"]
    found = np.array([ds.dg.sample(x, time=-1)[name].values.ravel() for name in law.variables])
    there, back = (np.array([np.broadcast_to(c, len(x)) for c in wave(tuple(x.T), t)]) for wave in (there, back))
    scale = np.array([impedance_of(law) if name[0] in "vH" else 1.0 for name in law.variables])[:, None]
    found, there, back = (scale * part for part in (found, there, back))
    measured = np.sum((found - there) * back) / np.sum(back**2)
    assert measured == pytest.approx(exact, abs=5e-4)
    assert np.abs(found - there - exact * back).max() < 3e-3
    assert np.abs(back).max() > 0.3


def noise(law):
    """A rough state: as many modes as elements show."""
    numbers = np.random.default_rng(7).normal(size=(len(law.variables), 4, 4))

    def initial(x):
        return tuple(sum(n[i, j] * np.cos(3 * i * x[0] + j) * np.cos(3 * j * x[1] + i) for i in range(4) for j in range(4))
                     for n in numbers)
    return initial


@pytest.mark.parametrize("flux", [dg.upwind, dg.central], ids=["upwind", "central"])
@pytest.mark.parametrize("law", [ACOUSTICS, TM, TE], ids=["sound", "TM", "TE"])
def test_the_energy_never_grows(law, flux):
    """By `central` inside, only the wall takes energy."""
    for Z in (0.0, 0.3, 8.0, lambda x: 5 * x[0] ** 2):
        sim = dg.Simulation(dg.rectangle(cells=3), law, dg.NodalDG(3), dg.impedance(Z), noise(law), flux=flux, until=0.6,
                            cfl=0.5, record={"energy": dg.VolumeIntegral()}, **NUMPY)
        energy = sim.run().dg.record("energy").energy.values
        assert np.all(np.diff(energy) < 1e-9 * energy[0]), (Z, energy)
        assert energy[-1] < (1.0 if Z == 0.0 else 0.95) * energy[0] + 1e-9


def test_the_power_that_it_takes():
    """Z |v . n|^2 at the wall is what the energy of a pulse loses."""
    law, Z = dg.Acoustics(2), 0.3

    def taken(q, n):
        return Z * (q[1] * n[0] + q[2] * n[1]) ** 2
    sim = dg.Simulation(dg.rectangle(cells=8, shape="quadrilateral"), law, dg.TensorDG(5), dg.impedance(Z),
                        lambda x: (np.exp(-40 * ((x[0] - 0.5) ** 2 + (x[1] - 0.4) ** 2)), 0.0, 0.0), until=1.0,
                        record={"energy": dg.VolumeIntegral(),
                                "wall": dg.BoundaryIntegral(("left", "right", "bottom", "top"), taken)}, **NUMPY)
    ds = sim.run()
    energy, lost = ds.dg.record("energy").energy.values, ds.dg.record("wall").taken.integrate("time").item()
    assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-3) and lost > 0.1 * energy[0]


@pytest.mark.parametrize("kernels", ["array", "fused"])
@pytest.mark.parametrize("law, limit", [
    (ACOUSTICS, dg.pressure_release), (TM, dg.pec), (TE, dg.pec)], ids=["sound", "TM", "TE"])
def test_limits(law, limit, kernels):
    """0 is `pec` or `pressure_release`, the medium's own impedance `absorbing`, a large one `pmc` or `wall`."""
    hard = dg.wall if "p" in law.variables else dg.pmc
    for Z, condition, tolerance in ((0.0, limit, 1e-12), (impedance_of(law), dg.absorbing, 1e-12), (1e9, hard, 1e-7)):
        runs = [dg.Simulation(dg.rectangle(cells=2), law, dg.ModalDG(3), each, noise(law), dt=0.01, until=0.2, backend="numpy",
                              kernels=kernels).run() for each in (dg.impedance(Z), condition)]
        for name in law.variables:
            a, b = (run.dg.values(name) for run in runs)
            assert np.abs(a - b).max() < tolerance * np.abs(b).max(), (Z, name)


def test_an_impedance_that_varies():
    """A function of x, where it is constant on two parts of a side, is two constants on two boundaries."""
    mesh = dg.rectangle((0, -1), (1, 1), cells=(2, 4), shape="quadrilateral")
    right = mesh.boundaries["right"]
    low = mesh.face_centres(right)[:, 1] < 0
    split = replace(mesh, boundaries=mesh.boundaries | {"right": right[:0], "low": right[low], "high": right[~low]})
    runs = [dg.Simulation(each, ACOUSTICS, dg.TensorDG(3), walls | {"default": dg.wall}, noise(ACOUSTICS), dt=0.005, until=0.3,
                          **NUMPY).run() for each, walls in (
        (mesh, {"right": dg.impedance(lambda x: np.where(x[1] < 0, 0.3, 4.0))}),
        (split, {"low": dg.impedance(0.3), "high": dg.impedance(4.0)}))]
    assert np.allclose(runs[0].p, runs[1].p, rtol=0, atol=1e-12) and not np.allclose(runs[0].p[0], runs[0].p[-1], atol=0.1)


def test_the_scattered_field_of_an_impedance():
    """With the incident wave added it is the total field."""
    field, _ = waves(TM, 30, False)
    results = []
    for wall, others, initial in ((dg.scattered(dg.impedance(0.7), field), dg.absorbing, None),
                                  (dg.impedance(0.7), dg.incident(field), lambda x: field(x, 0.0))):
        sim = dg.Simulation(dg.rectangle(cells=6), TM, dg.NodalDG(4), {"right": wall, "default": others}, initial, until=2.5,
                            **NUMPY)
        sample = sim.run().dg.sample(EVENTS[:, :2], time=-1)
        results.append(np.array([sample[name].values.ravel() for name in TM.variables]))
    incident = np.array([np.broadcast_to(c, len(EVENTS)) for c in field(tuple(EVENTS[:, :2].T), 2.5)])
    assert np.allclose(results[0] + incident, results[1], rtol=0, atol=5e-4) and np.abs(results[0]).max() > 0.1


def test_what_does_not_do_is_named():
    for Z, message in ((np.inf, "impedance.inf. is not allowed; an infinite one is dgarray.wall of acoustics, dgarray.pmc of"),
                       (-1.0, "impedance.-1.0. is not allowed; give a number from 0, or a function of x"),
                       (1j, "it must be real: give a number from 0"),
                       (1 + dg.Debye(1.0, 0.1), "must not depend on frequency, and be real: give a number from 0"),
                       (np.nan, "number from 0"), ("pec", "number from 0"), (True, "number from 0")):
        with pytest.raises(ValueError, match=message):
            dg.impedance(Z)
    for Z, law, message in ((lambda x: x[0] - 0.5, ACOUSTICS, r"the impedance is -0.25 at \(0.25, 1\); it must be at least 0"),
                            (lambda x: 1 / (x[0] - 0.5), ACOUSTICS, "the impedance is .* at"),
                            (1.0, dg.Euler(2), "'impedance' is for linear laws, not Euler"),
                            (1.0, dg.Advection((1.0, 0.0)), "'impedance' needs a law of Maxwell or Acoustics type, not Adv")):
        with pytest.raises(ValueError, match=message):
            dg.Simulation(dg.rectangle(cells=1), law, dg.NodalDG(1), dg.impedance(Z), until=1.0, **NUMPY).run()


MAKERS = dg.impedance, dg.total_field, dg.plane_wave, dg.gaussian_beam, dg.dipole


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_makers_are_no_conditions(maker):
    with pytest.raises(ValueError, match=f"{maker.__name__} is not a condition but makes one; call it: dgarray"):
        dg.Simulation(dg.rectangle(cells=2), TM, dg.NodalDG(1), maker, until=0.1)
