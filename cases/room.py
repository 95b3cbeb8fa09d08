"""Sound in a room with a lined ceiling and an open window, 2D acoustics."""
from dataclasses import replace

import numpy as np

from dgarray import Acoustics, BoundaryIntegral, Simulation, TensorDG, VolumeIntegral, current, impedance, pml, rectangle, wall

from .common import case_mesh, check_numbers

DENSITY, SPEED = 1.2, 343.0                     # of air, kg/m^3 and m/s
SIZE, SILL, LINTEL = (6.0, 4.0), 1.5, 2.5       # of the room, and where the window begins and ends in its right wall, in m
LAYER = 1.0                                     # depth of the matched layer in the window, in m
PLACE, VOLUME, WIDTH = (1.5, 1.3), 1e-4, 0.15   # of the source: m, m^2, m
TAU = 4e-4                                      # of its pulse, in s
SILENT = 8 * TAU                                # when the source has ended, to 1e-6
EVERY = 2                                       # steps between samples


def room(order=4, cells=4, liner=1200.0, until=0.05, every=0.002, mesh=None, start="projection"):
    """A clap in a room whose ceiling absorbs a part of the sound and whose window is open, in SI units.

    Method: TensorDG on quadrilaterals.

    rho = 1.2, c = 343.  The source is an inflow V f'(t) g(x) at (1.5, 1.3), f = exp(-((t - 4 tau) / tau)^2), tau = 0.4 ms, g a
    Gaussian 0.15 wide.  The room is 6 by 4, its ceiling has the impedance `liner`, the other walls are rigid; in the window,
    1.5 < y < 2.5 of the right wall, is a perfectly matched layer.

    cells   quadrilaterals to a metre, even
    liner   impedance p / (n . v) of the ceiling, in Pa s/m; that of air is 412
    mesh    a file of quadrilaterals with the boundaries "ceiling" and "window", the window on a side of the box around it
    Pierce 1989, section 3.3 (impedance), 1.11 (energy).
    results: what of the energy after the source has ended is left in the room at the end, what the ceiling has taken and what
    has gone through the window; how much their sum differs from 1 (exact: 0)."""
    check_numbers(least=2, whole=True, cells=cells)
    check_numbers(least=0, liner=liner)
    check_numbers(above=2 * SILENT, until=until)
    inside = case_mesh(mesh, lambda: built_in(cells), 2)
    window = inside.named("window")
    inside.named("ceiling")
    size = float(np.sqrt(inside.measures.mean()))
    layered = pml(inside.with_regions({"room": np.arange(inside.cell_count)}), LAYER, max(1, round(LAYER / size)), "window")
    layered = layered.with_interfaces({"opening": ("room", "pml")})
    law, Z0 = Acoustics(dim=2, density=DENSITY, sound_speed=SPEED, units="SI"), DENSITY * SPEED
    normal = inside.normals[tuple(window[0])]
    end = float(inside.points[inside.face_points(window)].reshape(-1, 2)[0] @ normal)

    def energy(q, x):
        within = np.where(normal[0] * x[0] + normal[1] * x[1] < end, 0.5, 0.0)
        return within * (q[0] ** 2 / (DENSITY * SPEED**2) + DENSITY * (q[1] ** 2 + q[2] ** 2))

    def taken(q, n):
        """The power Z (n . v)^2 with the velocity at the wall, (p + rho c n . v) / (Z + rho c)."""
        return liner * ((q[0] + Z0 * (q[1] * n[0] + q[2] * n[1])) / (liner + Z0)) ** 2

    def through(q, n):
        return q[0] * (q[1] * n[0] + q[2] * n[1])

    def results(dataset):
        left, *lost = (dataset.dg.record(record)[name] for record, name in (
            ("room", "energy"), ("ceiling", "taken"), ("opening", "through")))
        after = left.time.values >= SILENT
        if not after.any():          # the source has not ended
            return {}
        whole = float(left[after][0])
        shares = [float(left[-1]), *(float(power[after].integrate("time")) for power in lost)]
        values = dict(zip(("energy_left", "taken_by_ceiling", "through_window"), (share / whole for share in shares)))
        return values | {"balance_error": abs(1 - sum(values.values()))}

    return Simulation(layered, law, TensorDG(order, start=start), {"ceiling": impedance(liner), "default": wall}, until=until,
                      every=every, source=current(law, PLACE, VOLUME, WIDTH, lambda t: np.exp(-((t / TAU - 4) ** 2))),
                      case="room", results=results,
                      record={"room": VolumeIntegral(energy, EVERY), "ceiling": BoundaryIntegral("ceiling", taken, EVERY),
                              "opening": BoundaryIntegral("opening", through, EVERY)})


def built_in(cells):
    """The room in squares, its top the ceiling, with the window in its right wall."""
    mesh = rectangle((0, 0), SIZE, cells=tuple(round(cells * length) for length in SIZE), shape="quadrilateral")
    right = mesh.boundaries["right"]
    window = (np.abs(mesh.face_centres(right)[:, 1] - (SILL + LINTEL) / 2) < (LINTEL - SILL) / 2)
    names = {"left": mesh.boundaries["left"], "floor": mesh.boundaries["bottom"], "ceiling": mesh.boundaries["top"]}
    return replace(mesh, boundaries=names | {"right": right[~window], "window": right[window]})
