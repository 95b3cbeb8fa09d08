"""Beams, dipoles and currents: they satisfy the equations, look as they should, and a current radiates a dipole's field."""
from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dgarray as dg
from dgarray.physics.trace import TraceError, trace

WAVELENGTH = 1.0


def cosine(s):
    return np.cos(2 * np.pi * s / WAVELENGTH)


def packet(s):
    return np.sin(2 * np.pi * s / WAVELENGTH) * np.exp(-((s / 1.5) ** 2))


def hump(t):
    return np.exp(-(((t - 2) / 0.8) ** 2))


def slope(f, h):
    """The derivative of f at 0 by central differences of fourth order, for each component."""
    return [(8 * (a - b) - (c - d)) / (12 * h) for a, b, c, d in zip(f(h), f(-h), f(2 * h), f(-2 * h))]


def residual(law, field, x, t, h=2e-3):
    """C q_t + div F at points x, over the largest of its terms."""
    m = namedtuple("m", law.parameters)(**law.parameters)
    total = [c * a for c, a in zip(law.capacity(m), slope(lambda e: field(x, t + e), h))]
    largest = np.max(np.abs(total))
    for axis in range(law.dim):
        n = tuple(float(i == axis) for i in range(law.dim))

        def along(e, axis=axis, n=n):
            return law.flux(field(tuple(c + e * (i == axis) for i, c in enumerate(x)), t), n)
        total = [a + b for a, b in zip(total, slope(along, h))]
    return np.max(np.abs(total)) / largest


BEAMS = [(dg.Maxwell(2), (1.0, 0.0), (0, 0, 2.0)), (dg.Maxwell(2, "TE", eps=2.0, mu=0.5), (0.6, 0.8), (-0.8, 0.6, 0)),
         (dg.Acoustics(2), (0.0, -1.0), 3.0), (dg.Maxwell(3, eps=2.0), (0, 0.6, 0.8), (1.0, 0.8, -0.6)),
         (dg.Acoustics(3, density=2.0, sound_speed=1.5), (0.0, 0.0, 1.0), 1.0)]


@pytest.mark.parametrize("law, direction, amplitude", BEAMS, ids=lambda v: repr(v) if isinstance(v, dg.Law) else "")
@pytest.mark.parametrize("shape", [cosine, packet])
def test_beams_are_solutions(law, direction, amplitude, shape):
    focus = (0.3, -0.2, 0.1)[:law.dim]
    beam = dg.gaussian_beam(law, direction, amplitude, waist=1.2, wavelength=WAVELENGTH, shape=shape, focus=focus)
    x = tuple(np.random.default_rng(1).uniform(-2, 2, (law.dim, 60)))
    assert residual(law, beam, x, 0.3) < 1e-8
    # At the focus the field is amplitude shape(c t).
    speed = law.wave_speed((1.0,) + (0.0,) * (law.dim - 1), namedtuple("m", law.parameters)(**law.parameters))
    main = beam(focus, 0.2)[0 if not law.fields else slice(None)]
    wanted = np.multiply(amplitude, shape(speed * 0.2))
    if law.fields:
        main = [q for name, q in zip(law.variables, main) if name[0] == "E"]
        wanted = [a for a, axis in zip(wanted, "xyz") if "E" + axis in law.variables]
    assert_allclose(main, wanted, atol=1e-12)


@pytest.mark.parametrize("law, direction, amplitude", BEAMS, ids=lambda v: repr(v) if isinstance(v, dg.Law) else "")
def test_beams_are_gaussian(law, direction, amplitude):
    """1 / e at the waist; on the axis 2^(-1/4) in 2D, 2^(-1/2) in 3D at the distance pi waist^2 / wavelength."""
    waist = 2.0
    beam = dg.gaussian_beam(law, direction, amplitude, waist, WAVELENGTH, cosine)
    main = int(np.argmax(np.abs(beam((0.0,) * law.dim, 0.0))))
    across = np.array([-direction[1], direction[0]] if law.dim == 2 else np.cross(direction, (1.0, 0, 0)))
    # Up to a third of the distance at which the beam repeats.
    rho = np.linspace(0, (0.36 * 40, 0.51 * 18)[law.dim - 2] * waist / 3, 9)
    profile = beam(tuple(c * rho for c in across), 0.0)[main] / beam((0.0,) * law.dim, 0.0)[main]
    assert_allclose(profile, np.exp(-((rho / waist) ** 2)), atol=5e-3)
    x, t = tuple(np.array(direction) * np.pi * waist**2 / WAVELENGTH), np.linspace(0, 4, 64, endpoint=False)
    speed = law.wave_speed((1.0,) + (0.0,) * (law.dim - 1), namedtuple("m", law.parameters)(**law.parameters))
    history = np.array([beam(x, time / speed)[main] for time in t]) / beam((0.0,) * law.dim, 0.0)[main]
    assert np.sqrt(2 * np.mean(history**2)) == pytest.approx(2 ** (-(law.dim - 1) / 4), rel=1e-2)


def test_beams_and_dipoles_become_kernels():
    beam = dg.gaussian_beam(dg.Maxwell(3), (0, 0, 1), (1, 0, 0), 1.0, 1.0, packet)
    point = dg.dipole(dg.Maxwell(3), (0, 0, 0), (0, 0, 1), hump)
    spread = dg.current(dg.Maxwell(3), (0, 0, 0), (0, 0, 1), 0.1, hump)
    for field in (beam, point, spread):
        assert len(trace(field, {"x": 3, "t": None}).outputs) == 6


@pytest.mark.parametrize("count", [None, 61])
def test_a_beam_enters_a_mesh(count):
    """Through a boundary with `incident`: the run is the beam."""
    law = dg.Maxwell(2, "TE")
    beam = dg.gaussian_beam(law, (1.0, 0.0), (0, 1, 0), 0.8, 1.0, lambda s: packet(s - 3), focus=(0.5, 0.0), count=count)
    mesh = dg.rectangle((-1, -1.5), (1, 1.5), cells=(6, 9), shape="quadrilateral")
    ds = dg.Simulation(mesh, law, dg.TensorDG(5), dg.incident(beam), lambda x: beam(x, 0.0), until=3.0, backend="numpy").run()
    assert ds.dg.error(beam)["total"] < 5e-4 * ds.dg.norm("Hz")


@pytest.mark.parametrize("law, moment", [(dg.Maxwell(3, eps=2.0, mu=0.7), (1.0, -0.5, 2.0)),
                                         (dg.Acoustics(3, density=2.0, sound_speed=1.5), 2.0)], ids=["Maxwell", "Acoustics"])
def test_point_sources_are_solutions(law, moment):
    field = dg.dipole(law, (0.1, 0.2, 0.3), moment, hump)
    x = tuple(1 + np.random.default_rng(2).uniform(-0.6, 0.6, (3, 60)))
    assert residual(law, field, x, 2.9) < 1e-8


def test_a_dipole_is_the_one_in_the_frequency_domain():
    """Balanis 2012, section 6.6, of a current I l = i omega p, at one frequency; far away E = Z H x n."""
    eps, mu, omega = 2.0, 0.7, 3.0
    k, Z, p, x = omega * np.sqrt(eps * mu), np.sqrt(mu / eps), np.array([1.0, -0.5, 2.0]), np.array([0.7, 0.9, -0.4])
    field = dg.dipole(dg.Maxwell(3, eps=eps, mu=mu), (0, 0, 0), tuple(p), lambda t: np.cos(omega * t))
    parts = np.array([field(tuple(x), 0.0), field(tuple(x), -np.pi / 2 / omega)])          # Re and Im of q exp(i omega t)
    r = np.linalg.norm(x)
    n, wave, a = x / r, np.exp(-1j * k * r) / (4 * np.pi * r), 1 / (1j * k * r)
    moment = 1j * omega * p
    E = -1j * k * Z * wave * ((1 + a + a**2) * moment - (1 + 3 * a + 3 * a**2) * n * (n @ moment))
    H = 1j * k * (1 + a) * wave * np.cross(moment, n)
    assert_allclose(parts[0] + 1j * parts[1], np.concatenate([E, H]), rtol=1e-12)


# A current in a mesh.

WIDTH, TIME, START = 0.3, 0.5, 2.0


def pulse(t):
    return np.exp(-(((t - START) / TIME) ** 2))


def widened(t):
    """The pulse whose waves are those of `pulse` from a current of that WIDTH: transform times exp(-(k WIDTH / 2)^2), c = 1."""
    longer = np.sqrt(TIME**2 + WIDTH**2)
    return TIME / longer * np.exp(-(((t - START) / longer) ** 2))


@pytest.mark.thorough
@pytest.mark.parametrize("law, moment", [(dg.Maxwell(3), (0.6, 0.0, 0.8)),
                                         pytest.param(dg.Acoustics(3), 1.0, marks=pytest.mark.thorough)],
                         ids=["Maxwell", "Acoustics"])
def test_a_current_in_a_mesh_radiates_as_a_point(law, moment):
    """Near to it, at 1 with a wavelength of about 2, and while nothing has come back from the boundary."""
    mesh = dg.box((-2, -2, -2), (2, 2, 2), cells=9, shape="hexahedron")
    points = np.array([(1.0, 0.0, 0.0), (0.0, 0.9, 0.6), (-0.5, 0.5, 0.9)])
    sim = dg.Simulation(mesh, law, dg.TensorDG(3), dg.absorbing, source=dg.current(law, (0, 0, 0), moment, WIDTH, pulse),
                        record={"points": dg.Points(points)}, backend="numpy")
    found = sim.run(until=3.9).dg.record("points")
    exact = dg.dipole(law, (0, 0, 0), moment, widened)
    wanted = np.array([exact(tuple(points.T), t) for t in found.time.values])
    for name, values in zip(law.variables, np.moveaxis(wanted, 1, 0)):
        assert np.abs(found[name] - values).max() < 1e-2 * np.abs(wanted).max(), name


def line_source(f, r, t):
    """u = 1 / (2 pi) integral of f(t - r cosh a) da of u_tt - laplace u = f delta, for f = 0 before t = -1."""
    a = np.linspace(0, np.arccosh(max((t + 1) / r, 1.0)), 4001)
    return np.trapezoid(f(t - r * np.cosh(a)), a) / (2 * np.pi)


@pytest.mark.thorough
@pytest.mark.parametrize("law, moment", [(dg.Maxwell(2), (0, 0, 1.0)), (dg.Acoustics(2), 1.0)], ids=["Maxwell", "Acoustics"])
def test_a_current_in_2d_radiates_as_a_line(law, moment):
    """Ez_tt - laplace Ez = -J_t, J = f' delta;  p_tt - laplace p = f'' delta."""
    mesh = dg.rectangle((-3, -3), (3, 3), cells=18, shape="quadrilateral")
    points = np.array([(1.0, 0.0), (0.5, -0.6)])
    sim = dg.Simulation(mesh, law, dg.TensorDG(4), dg.absorbing, source=dg.current(law, (0, 0), moment, WIDTH, pulse),
                        record={"points": dg.Points(points)}, backend="numpy")
    found = sim.run(until=4.5).dg.record("points")["Ez" if law.fields else "p"]
    longer = TIME**2 + WIDTH**2

    def second(t):
        return widened(t) * (4 * (t - START) ** 2 / longer**2 - 2 / longer)
    sign = -1 if law.fields else 1
    wanted = [[sign * line_source(second, r, t) for r in np.hypot(*points.T)] for t in found.time.values]
    assert_allclose(found, wanted, atol=1e-3 * np.abs(wanted).max())


# What does not do.

@pytest.mark.parametrize("make, message", [
    (lambda: dg.gaussian_beam(dg.Maxwell(1), (1.0,), (0, 0, 1), 1.0, 1.0, cosine), "needs a law in 2D or 3D"),
    (lambda: dg.gaussian_beam(dg.Euler(2), (1.0, 0.0), 1.0, 1.0, 1.0, cosine), "needs a law with variables p and v"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2), (1.0, 1.0), (0, 0, 1), 1.0, 1.0, cosine), "must be a unit vector"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2), (1.0, 0.0), (0, 0, 0), 1.0, 1.0, cosine), "it must be finite, and not 0"),
    (lambda: dg.plane_wave(dg.Maxwell(2), (1, 0), (0, 0, 0), np.sin), r"amplitude=\(0, 0, 0\) is not allowed; it must be"),
    (lambda: dg.plane_wave(dg.Maxwell(2), (1, 0), (0, 0, np.inf), np.sin), "amplitude=.*; it must be finite, and not 0"),
    (lambda: dg.plane_wave(dg.Acoustics(2), (1, 0), np.nan, np.sin), "amplitude=nan is not allowed"),
    (lambda: dg.plane_wave(dg.Maxwell(2), (1, 0), 1.0, np.sin), "amplitude=1.0 has 1 component; of Maxwell it must be"),
    (lambda: dg.plane_wave(dg.Acoustics(2), (1, 0), (1, 0), np.sin), "has 2 components; of Acoustics it must be one number"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2), (1, 0), 1.0, 1.0, 1.0, cosine), "amplitude=1.0 has 1 component; of Maxwell"),
    (lambda: dg.plane_wave(dg.Acoustics(1), "x", 1.0, np.sin), "direction='x' is not allowed; it must be a unit vector with 1"),
    (lambda: dg.plane_wave(dg.Acoustics(1), 1, 1.0, 2.0), "shape=2.0 is not allowed; give a function"),
    (lambda: dg.plane_wave(dg.Maxwell(2), (np.nan, 0), (0, 0, 1), np.sin), r"direction=\(nan, 0\) is not allowed; it must"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2), (1.0, 0.0), (0, 0, 1), 0.0, 1.0, cosine), "waist=0.0 is not allowed"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2), (1.0, 0.0), (0, 0, 1), 0.4, 1.0, cosine), "at least half of the wavelength 1"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2), (1.0, 0.0), (0, 0, 1), 1.0, 1.0, cosine, (0, 0, 0)), "a point with 2 coordinates"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2), (1.0, 0.0), (0, 0, 1), 1.0, 1.0, cosine, count=4), "an odd number from 3"),
    (lambda: dg.gaussian_beam(dg.Maxwell(2, sigma=1.0), (1.0, 0.0), (0, 0, 1), 1.0, 1.0, cosine), "without losses"),
    (lambda: dg.dipole(dg.Maxwell(2), (0, 0), (0, 0, 1), hump), "needs a law in 3D"),
    (lambda: dg.dipole(dg.Maxwell(3), (0, 0), (0, 0, 1), hump), "a point with 3 coordinates"),
    (lambda: dg.dipole(dg.Maxwell(3), (0, 0, 0), 1.0, hump), "moment=1.0 is not allowed; it must be three components"),
    (lambda: dg.dipole(dg.Acoustics(3), (0, 0, 0), (0, 0, 1), hump), "of acoustics it must be a number"),
    (lambda: dg.dipole(dg.Euler(3), (0, 0, 0), 1.0, hump), "needs a law with variables p and v"),
    (lambda: dg.dipole(dg.Maxwell(3, sigma=1.0), (0, 0, 0), (0, 0, 1), hump), "without losses"),
    (lambda: dg.dipole(dg.Maxwell(3, eps={"a": 1.0, "b": 2.0}), (0, 0, 0), (0, 0, 1), hump), "a dipole needs a uniform medium"),
    (lambda: dg.dipole(dg.Maxwell(3), (0, 0, 0), (0, 0, 1), 1.0), "pulse=1.0 is not allowed"),
    (lambda: dg.dipole(dg.Maxwell(3), (0, 0, 0), (0, 0, 1), lambda t: (t, t)), "pulse returns 2 numbers"),
    (lambda: dg.current(dg.Maxwell(2), (0, 0), (1, 0, 1), 0.1, hump), "drives Ex; the law has Hx, Hy, Ez"),
    (lambda: dg.current(dg.Maxwell(2), (0, 0), (0, 0, 1), -0.1, hump), "width=-0.1 is not allowed"),
    (lambda: dg.plane_wave(dg.Maxwell(2, eps=1 + dg.Debye(1.0, 0.5)), (1, 0), (0, 0, 1), np.sin), "medium without dispersion")])
def test_what_is_not_allowed_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_pulses_that_cannot_be_traced_are_named():
    with pytest.raises(TraceError, match="np.sinc|supported"):
        dg.current(dg.Maxwell(2), (0, 0), (0, 0, 1), 0.1, lambda t: np.cosh(t))


def test_beams_in_a_part_of_the_medium_are_checked():
    mesh = dg.rectangle((0, 0), (2, 1), cells=(4, 2)).with_regions({"air": lambda x: x[0] < 1, "glass": lambda x: x[0] > 1})
    law = dg.Maxwell(2, eps={"air": 1.0, "glass": 2.25})
    beam = dg.gaussian_beam(law, (1.0, 0.0), (0, 0, 1), 1.0, 1.0, cosine, medium="air")
    with pytest.raises(ValueError, match="is a wave in a medium with eps=1, but at the faces of its condition"):
        dg.Simulation(mesh, law, dg.NodalDG(2), dg.incident(beam), backend="numpy").run(until=0.1)
