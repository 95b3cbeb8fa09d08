"""A pulse leaves a cube through a perfectly matched layer, 3D Maxwell."""
from dataclasses import replace

import numpy as np

from dgarray import Maxwell, Simulation, pec, pml

from .common import check_numbers, cube, on_cube

WIDTH = 0.35          # of the pulse


def hex_pml(order=3, cells=5, layers=3, shape="hexahedron", until=3.0, mesh=None, start="projection"):
    """A pulse leaves a cube through a perfectly matched layer; what comes back is measured against a cube without end.

    Method: TensorDG on hexahedra, NodalDG on tetrahedra.

    At t = 0, in the cube [-1, 1]^3, E is the curl of (0, 0, w / 2 exp(-r^2 / w^2)), r the distance from (0.1, 0, -0.1) and
    w = 0.35, and H = 0.  Outside of the layer is a conductor.

    cells: hexahedra along a side of the cube, or bricks of six tetrahedra; layers: how many cells as large the layer is deep;
    shape: "hexahedron" or "tetra"; mesh: a file of a box of hexahedra or of tetrahedra around the pulse
    Berenger 1994; Gedney 1996; shift of the frequency: Kuzuoglu & Mittra 1996.
    results: energy in the cube of the difference from the reference run, whose cells go on outside so far that nothing returns,
    in dB of the energy at t = 0, at the snapshot where it is largest (reflected_db); energy in the cube at the end in dB
    (left_db).  The reference run takes most of the time; `reflection` computes both."""
    check_numbers(least=1, whole=True, layers=layers)
    check_numbers(above=0, until=until)
    inner, size = cube(cells, shape, mesh)
    around = int(until / 2 / size) + 2

    def initial(x):
        x, y, z = x[0] - 0.1, x[1], x[2] + 0.1
        g = np.exp(-(x**2 + y**2 + z**2) / WIDTH**2) / WIDTH
        return -y * g, x * g, 0 * g, 0 * g, 0 * g, 0 * g

    def simulation(mesh, **options):
        method = on_cube(inner, order, start)
        return Simulation(mesh, Maxwell(dim=3), method, boundary=pec, initial=initial, **options)

    layered = pml(inner, layers * size, layers)

    def results(dataset):
        times = dataset.time.values
        endless = replace(pml(inner, around * size, around), layers=())
        reference = simulation(endless, ranks=1).run(until=float(times[-1]), every=float(times[1] - times[0]))
        # The cells of the cube keep their numbers, which are below those of new ones.
        same = [np.argsort(each.numbers)[:inner.cell_count] for each in (layered, endless)]
        reflected, left = reflection(dataset, reference, *same)
        return {"reflected_db": float(reflected.max()), "left_db": float(left[-1])}

    return simulation(layered, until=until, every=until / 12, case="hex_pml", results=results)


def reflection(dataset, reference, cells, reference_cells):
    """(reflected, left) in dB of the energy at the start, (snapshot,) each, without the first snapshot: energies of the
    difference of two runs and of the first one, in the same cells (cell,)."""
    def energy(i, other=None):
        fields = np.stack([dataset.dg.values(name, i).T for name in dataset.dg.variables])
        inside = np.zeros_like(fields)
        inside[..., cells] = fields[..., cells]
        if other is not None:
            inside[..., cells] -= np.stack([other.dg.values(name, i).T for name in other.dg.variables])[..., reference_cells]
        return sum(dataset.dg.space.norm(field) ** 2 for field in inside) / 2

    start = energy(0)
    found = [[energy(i, reference), energy(i)] for i in range(1, dataset.sizes["time"])]
    return 10 * np.log10(np.transpose(found) / start)
