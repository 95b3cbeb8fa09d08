"""A sine wave on a periodic box."""
import numpy as np

from dgarray import Advection, NodalDG, Simulation, box, interval, rectangle

from .common import case_mesh, check_box, check_numbers, energy_ratio

SIDES = {1: (("left", "right"),), 2: (("left", "right"), ("bottom", "top")),
         3: (("left", "right"), ("front", "back"), ("bottom", "top"))}


def advection_wave(order=4, dim=2, cells=4, speed=1.0, waves=1, until=1.0, mesh=None, start="projection"):
    """The constant velocity a = speed (1, ..., 1) carries a sine wave through the periodic unit box.

    Method: NodalDG on intervals, triangles or tetrahedra.

    u_t + div(a u) = 0,  u = sin(2 pi waves sum_i (x_i - a_i t)):  at t = 1 / speed the wave is back where it started.

    dim: 1, 2 or 3; cells: boxes along a side; mesh: a file of a box with sides left, right, bottom, top, front, back
    Hesthaven & Warburton 2008, chapter 2."""
    check_numbers(least=1, whole=True, waves=waves)
    check_numbers(speed=speed)
    if mesh is None and dim not in (1, 2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 1, 2 or 3")
    if mesh is None:
        build = {1: interval, 2: rectangle, 3: box}[dim]
        mesh = build(cells=cells, periodic=True)
    else:
        mesh = case_mesh(mesh, None)
        mesh = mesh.periodic(*SIDES[mesh.dim]) if mesh.boundaries else mesh
        check_box(mesh)
        lengths = np.ptp(mesh.points, axis=0)
        if not np.allclose(lengths * waves, np.round(lengths * waves), atol=1e-6):
            raise ValueError(f"{mesh.source} has sides of {', '.join(f'{a:g}' for a in lengths)}; with waves={waves} they "
                             f"must be multiples of {1 / waves:.6g}")
    k = 2 * np.pi * waves

    def exact(x, t):
        return (np.sin(k * sum(a - speed * t for a in x)),)

    return Simulation(mesh, Advection((speed,) * mesh.dim), NodalDG(order, start), initial=exact, exact=exact, until=until,
                      case="advection_wave", results=lambda dataset: {"energy_ratio": energy_ratio(dataset)})
