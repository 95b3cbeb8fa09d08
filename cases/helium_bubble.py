"""A shock in air runs over a cylinder of helium: two gases, with the velocities that were measured in the laboratory."""
import numpy as np

from dgarray import FiniteVolume, Grid, Points, Simulation, TwoFluid, outflow, wall
from dgarray.support.wording import choose

from .common import behind_shock, check_numbers, flux_named

AIR, HELIUM = (1.4, 287.0), (1.648, 1578.0)          # gamma and gas constant; the helium has 28 % of air in it, by mass
PRESSURE, TEMPERATURE = 101325.0, 293.15
DIAMETER, LENGTH, HEIGHT = 0.05, 0.42, 0.0445         # of the bubble, of half the channel
CENTRE, SHOCK = 0.275, 0.325                          # where the bubble and the shock are at the beginning
ROWS, EVERY = 32, 2                                   # rows in which the bubble is looked for; steps between samples
RAISED = 1.1                                          # of the pressure: where a shock has been
# Seconds after the shock has met the bubble between which edges move at the mean velocities that are reported.
TIMES = {"upstream_initial": (1e-5, 8e-5), "upstream_final": (4e-4, 9e-4), "downstream_initial": (1.4e-4, 2.4e-4),
         "jet": (1.4e-4, 2.4e-4)}


def helium_bubble(cells=64, mach=1.22, scheme="muscl", flux="hllc", limiter="van-leer", variables="auto", until=1e-3):
    """A shock in air runs to the left over a cylinder of helium, through which a jet of air breaks.

    It is Haas and Sturtevant's experiment, in SI units.

    Method: FiniteVolume on a grid.

    TwoFluid in 2D, two ideal gases: air, gamma = 1.4, R = 287 J/kg/K, and helium with 28 % of air in it, gamma = 1.648,
    R = 1578;  101325 Pa and 293.15 K.  Half of the channel, 0 < x < 0.42, 0 < y < 0.0445 (89 mm high); the bubble has a radius
    of 25 mm around (0.275, 0), the shock starts at 0.325.  Walls at y = 0, the plane of symmetry, and at the top, outflow at
    both ends.

    cells: across half the channel, square cells along it; mach: 1.22 in the source
    scheme: first-order or muscl; flux: rusanov, hll or hllc; limiter, variables: as for FiniteVolume
    results: mean velocities to the left, m/s. Of shocks on the axis: incident, refracted (in the helium), transmitted (in the
    air behind). Of the bubble's edges, by half the volume: the upstream one at first (10 to 80 microseconds after the shock
    has met it) and at last (400 to 900), the downstream one (140 to 240), the jet's head on the axis (140 to 240)
    Haas & Sturtevant 1987, J. Fluid Mech. 181; Quirk & Karni 1996, J. Fluid Mech. 318 (gases and channel)."""
    check_numbers(least=2, whole=True, cells=cells)
    check_numbers(above=1, mach=mach)
    choose("scheme", scheme, ("first-order", "muscl"))
    law = TwoFluid(2, fluids={"air": (AIR[0], 0.0), "helium": (HELIUM[0], 0.0)}, units="SI")
    ahead, bubble = (PRESSURE / (R * TEMPERATURE) for _, R in (AIR, HELIUM))
    rho, u, p = behind_shock(AIR[0], mach, ahead, PRESSURE)

    def initial(x):
        air, behind = 1.0 * (np.hypot(x[0] - CENTRE, x[1]) > DIAMETER / 2), x[0] > SHOCK
        w = (np.where(behind, rho, air * ahead + (1 - air) * bubble), np.where(behind, -u, 0.0), 0 * air,
             np.where(behind, p, PRESSURE))
        return law.state(w, air)

    h = HEIGHT / cells
    grid = Grid((0, 0), (round(LENGTH / h) * h, HEIGHT), (round(LENGTH / h), cells))
    x, y = (grid.lower[axis] + h * (np.arange(n) + 0.5) for axis, n in enumerate(grid.cells))
    rows = y[::max(1, cells // ROWS)]
    records = {"axis": Points(np.column_stack([x, 0 * x + y[0]]), EVERY),
               "rows": Points(np.stack(np.meshgrid(x, rows), -1).reshape(-1, 2), 8 * EVERY, ["Gamma", "Pi"])}

    def results(dataset):
        axis, all_rows = (dataset.dg.record(name) for name in records)
        times, later = axis.time.values, all_rows.time.values
        q = tuple(axis[name].values for name in law.variables)
        front = np.array([crossing(x, row - RAISED * PRESSURE) for row in law.pressure(q)])
        back, jet = ends(x, law.share(q))
        _, upstream = ends(x, law.share((0.0,) * 4 + tuple(all_rows[name].values for name in ("Gamma", "Pi"))), len(rows))
        left, right = CENTRE - DIAMETER / 2, CENTRE + DIAMETER / 2
        met = times[np.argmax(front < right)] if (front < right).any() else np.inf
        found = {f"{name}_shock": velocity(times, front, (front > low) & (front < high)) for name, low, high in (
            ("incident", right, SHOCK), ("refracted", left + DIAMETER / 10, right - DIAMETER / 10),
            ("transmitted", left - 2 * DIAMETER, left - DIAMETER / 4))}
        for name, (time, place) in {"upstream_initial": (later, upstream), "upstream_final": (later, upstream),
                                    "downstream_initial": (times, back), "jet": (times, jet)}.items():
            first, last = (met + seconds for seconds in TIMES[name])
            found[name] = velocity(time, place, (time > first) & (time < last)) if until > last else None
        return {name: speed for name, speed in found.items() if speed is not None}

    sides = {"left": outflow, "right": outflow, "bottom": wall, "top": wall}
    method = FiniteVolume(scheme, limiter=limiter, variables=variables)
    return Simulation(grid, law, method, sides, initial, flux=flux_named(flux), until=until, record=records,
                      case="helium_bubble", results=results)


def crossing(x, values):
    """The first place along x at which values become positive, by a straight line between two; nan where they are nowhere."""
    k = int(np.argmax(values > 0))
    if values[k] <= 0 or k == 0:
        return np.nan
    return x[k] - (x[1] - x[0]) * values[k] / (values[k] - values[k - 1])


def ends(x, air, rows=1):
    """The least and the greatest x at which less than half is air in one of the rows, at each time; air: (time, row * x)."""
    light = (0.5 - air).reshape(len(air), rows, len(x)).max(axis=1)
    return (np.array([sign * crossing(sign * along, row) for row, along in ((r[::sign], x[::sign]) for r in light)])
            for sign in (1, -1))


def velocity(times, places, some):
    """The velocity to the left, by a straight line through these places; None where there are less than two."""
    some = some & np.isfinite(places)
    return -float(np.polyfit(times[some], places[some], 1)[0]) if some.sum() > 1 else None
