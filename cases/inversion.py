"""Full-waveform inversion: the sound speed of a body from microphones around it, 2D acoustics."""
import numpy as np
import scipy.optimize

from dgarray import Acoustics, NodalDG, Points, Simulation, TensorDG, absorbing, current, design, rectangle

from .common import case_mesh, check_numbers

SHELL, CORE, WATER = 1.4, 0.8, 1.0          # sound speeds
EDGE = 0.1                                  # the body's surface is so thick
RING, REGION = 0.85, 0.66                   # radii: of sources and microphones, and of the region that is searched
SOURCES, MICROPHONES = 4, 24
TAU, WAIT, WIDTH = 0.15, 0.6, 0.1           # duration of a pulse, time between two, and width of a source
SPEEDS = (0.5, 1.7)                         # what an inversion allows
RADIUS = 0.1                                # of its filter


def inversion(order=4, cells=24, until=4.4, every=0.4, mesh=None, start="projection"):
    """The sound of four sources, one after another, through a body whose sound speed is to be found, heard around it.

    Method: NodalDG on triangles.

    c = 1 + 0.4 S(1 - |(x - 0.05) / 0.45, y / 0.33|) - 0.6 S(1 - |x - 0.2, y - 0.02| / 0.17),   S(s) = (1 + tanh(s / 0.1)) / 2:
    an ellipse with a slow core, in the square [-1, 1]^2 with absorbing sides; rho = 1.  Source k = 0 .. 3 is an inflow at the
    angle (2 k + 1) pi / 4 of the circle of radius 0.85, with the volume exp(-((t - 0.6 k) / 0.15 - 3)^2); 24 microphones are on
    that circle.  `invert` finds c from their records on a mesh of squares, with another order.

    Tarantola 1984; Virieux & Operto 2009.
    results: the sum over the microphones of the time integral of p^2."""
    check_numbers(above=0, until=until)
    inside = case_mesh(mesh, lambda: rectangle((-1, -1), (1, 1), cells), 2)

    def results(dataset):
        return {"heard": float((dataset.dg.record("microphones").p ** 2).integrate("time").sum())}

    return problem(inside, NodalDG(order, start), true_speed, until=until, every=every, case="inversion", results=results)


def true_speed(x):
    """The sound speed of the body and around it."""
    shell = step(1 - np.hypot((x[0] - 0.05) / 0.45, x[1] / 0.33))
    core = step(1 - np.hypot(x[0] - 0.2, x[1] - 0.02) / 0.17)
    return WATER + (SHELL - WATER) * shell - (SHELL - CORE) * core


def step(s):
    """0 before the surface of a body, 1 behind."""
    return (1 + np.tanh(s / EDGE)) / 2


def problem(mesh, method, speed, **options):
    """A run with this sound speed."""
    law = Acoustics(dim=2, sound_speed=speed)
    sources = [current(Acoustics(dim=2), place, 1.0, WIDTH, pulse(k)) for k, place in enumerate(around(SOURCES, 0.5))]

    def source(x, t):
        return tuple(map(sum, zip(*(each(x, t) for each in sources))))

    return Simulation(mesh, law, method, absorbing, source=source, **options,
                      record={"microphones": Points(around(MICROPHONES))})


def pulse(k):
    """The volume of source k over time."""
    return lambda t: np.exp(-(((t - WAIT * k) / TAU - 3) ** 2))


def around(count, shift=0.0):
    """So many points on the circle, (point, axis), the first at the angle of `shift` times their distance."""
    angle = 2 * np.pi * (np.arange(count) + shift) / count
    return RING * np.column_stack([np.cos(angle), np.sin(angle)])


def invert(dataset, iterations=40, cells=24, order=2):
    """Find the sound speed from the records of a run of `inversion`, by L-BFGS from that of the water.

    Returns the sound speed in every element, and the misfit before and after each iteration."""
    data = dataset.dg.record("microphones").p

    def misfit(ds):
        p = ds.dg.record("microphones").p
        return ((p - data.interp(time=p.time).values) ** 2).integrate("time").sum()

    mesh = rectangle((-1, -1), (1, 1), cells, shape="quadrilateral")
    mesh = mesh.with_regions({"region": np.flatnonzero(np.hypot(*mesh.centroids.T) < REGION)})
    found = design(problem(mesh, TensorDG(order), WATER), misfit, tuple({"sound_speed": speed} for speed in SPEEDS), "region",
                   RADIUS, until=float(data.time[-1]))
    misfits = [found(found.x0)[0]]
    result = scipy.optimize.minimize(
        found, found.x0, jac=True, method="L-BFGS-B", bounds=found.bounds, options={"maxiter": iterations},
        callback=lambda intermediate_result: misfits.append(intermediate_result.fun))
    return found.media(result.x)["sound_speed"], np.array(misfits)
