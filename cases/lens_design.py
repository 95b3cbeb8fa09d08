"""A lens that an optimiser made of two media, pixel by pixel: topology optimisation, 2D acoustics."""
import numpy as np
import scipy.optimize

from dgarray import Acoustics, Points, Simulation, TensorDG, absorbing, design, incident, plane_wave, rectangle, wall

from .common import case_mesh, check_numbers

SIZE, FOCUS = (3.4, 2.4), (2.8, 0.0)
FRONT, BACK, PIXEL = 0.4, 1.5, 0.1              # where the lens may begin and end, and the size of its squares
AIR, LENS = {"sound_speed": 1.0}, {"sound_speed": 0.6}
WAVELENGTH, LENGTH = 0.5, 0.45                  # of the pulse
ALONE = LENGTH * np.sqrt(np.pi / 8)             # the time integral of p^2 of the pulse alone
RADIUS, BETAS, ITERATIONS = 0.15, (2, 8, 32), (20, 10, 10)          # of the design
# From the axis upwards, what `designed` finds.
PATTERN = (
    "...........", "........##.", ".#.....###.", "###.######.",
    ".#.........", "...........", "...........", "...........",
    ".......##..", ".......##..", "..##.......", "##......##.",
    "...#######.", ".#####.##..", "###........", "##.....###.",
    ".......##..", "##.........", ".......####", ".....######",
    "...######..", "..##...##..", ".#.........", "#..........")


def lens_design(order=3, cells=20, until=5.5, every=0.25, mesh=None, start="interpolation"):
    """A pulse of sound is focused by a lens that `dgarray.design` made of squares of two media.

    Method: TensorDG on quadrilaterals.

    c = 0.6 in the lens, 1 around it; rho = 1.  The pulse cos(2 pi s / 0.5) exp(-(s / 0.45)^2), s = t - x - 1, comes from the
    left.  Below is the axis of symmetry, above another one, as in a row of lenses at the distance 4.8; the right side is
    absorbing.  `designed` finds the density of the slow medium, in 0.4 < x < 1.5, for which the time integral of p^2 at the
    focus (2.8, 0) is largest, and rounds it to the pattern of the case.

    cells: quadrilaterals to a length of 1, a multiple of 10; mesh: a file of quadrilaterals with the sides "left" and "right"
    Bourdin 2001 (filter); Wang, Lazarov & Sigmund 2011 (projection).
    results: the time integral of p^2 at the focus, over that without a lens (gain)."""
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(above=0, until=until)
    if cells % 10:
        raise ValueError(f"cells={cells!r} is not allowed; it must be a multiple of 10")
    inside = case_mesh(mesh, lambda: box_of_air(cells), 2)
    lens = in_pattern(inside.centroids)
    inside = inside.with_regions({"lens": np.flatnonzero(lens), "air": np.flatnonzero(~lens)})

    def results(dataset):
        return {"gain": float(brightness(dataset)) / ALONE}

    return problem(inside, TensorDG(order, start=start), {"lens": LENS["sound_speed"], "air": AIR["sound_speed"]}, until=until,
                   every=every, case="lens_design", results=results)


def box_of_air(cells):
    """Squares around the axis of the lens."""
    return rectangle((0, 0), SIZE, cells=tuple(round(cells * length) for length in SIZE), shape="quadrilateral")


def in_pattern(x):
    """Whether points (point, axis) are in the lens."""
    column, row = np.floor((x - (FRONT, 0)) / PIXEL).astype(int).T
    slow = np.array([[letter == "#" for letter in line] for line in PATTERN])
    inside = (column >= 0) & (column < slow.shape[1]) & (row >= 0) & (row < slow.shape[0])
    return inside & slow[np.where(inside, row, 0), np.where(inside, column, 0)]


def problem(mesh, method, speed, **options):
    """The run with these sound speeds."""
    law = Acoustics(dim=2, sound_speed=speed)
    wave = plane_wave(Acoustics(dim=2), (1.0, 0.0), 1.0, pulse)
    return Simulation(mesh, law, method, {"left": incident(wave), "right": absorbing, "default": wall},
                      record={"focus": Points([FOCUS], variables=("p",))}, **options)


def pulse(s):
    """The pulse as a function of t - x."""
    return np.cos(2 * np.pi * (s - 1) / WAVELENGTH) * np.exp(-(((s - 1) / LENGTH) ** 2))


def brightness(dataset):
    """The time integral of p^2 at the focus."""
    return (dataset.dg.record("focus").p ** 2).integrate("time").sum()


def designed(cells=10, order=2, until=5.5):
    """Design the lens by L-BFGS, with sharper and sharper projections, and round it.

    Returns the density in each square, 0 in air, and the gain after each iteration."""
    mesh = box_of_air(cells).with_regions({"lens": lambda x: (x[0] > FRONT) & (x[0] < BACK),
                                           "air": lambda x: (x[0] < FRONT) | (x[0] > BACK)})
    middle = (AIR["sound_speed"] + LENS["sound_speed"]) / 2
    sim = problem(mesh, TensorDG(order), {"air": AIR["sound_speed"], "lens": middle}, until=until)
    gains, x = [], None
    for beta, iterations in zip(BETAS, ITERATIONS):
        found = design(sim, lambda ds: -brightness(ds) / ALONE, (AIR, LENS), "lens", RADIUS, beta)
        result = scipy.optimize.minimize(
            found, found.x0 if x is None else x, jac=True, method="L-BFGS-B", bounds=found.bounds,
            options={"maxiter": iterations}, callback=lambda intermediate_result: gains.append(-intermediate_result.fun))
        x = result.x
    return rounded(sim, found.density(x)), np.array(gains)


def rounded(sim, density):
    """The densities as 0 or 1: one after another, the nearest to 1/2 first, becomes what makes the focus brighter."""
    plain, density = design(sim, brightness, (AIR, LENS), "lens"), density.copy()
    between = np.flatnonzero((density > 0.02) & (density < 0.98))
    for i in between[np.argsort(np.abs(density.values[between] - 0.5))]:
        found = []
        for density[i] in (0.0, 1.0):
            found.append(float(brightness(plain.simulation(density).run())))
        density[i] = float(found[1] > found[0])
    return density.round()
