"""A mode of a cavity on hexahedra of several kinds, 3D Maxwell."""
import numpy as np

from dgarray import Maxwell, Simulation, TensorDG, box, central, pec
from dgarray.support.wording import choose

from .common import case_mesh, check_box, energy_ratio
from .maxwell_cavity import cavity_mode

KINDS = "affine", "skewed", "warped", "curved", "perturbed"


def hex_cavity(order=3, cells=4, kind="affine", nodes="gauss", m=1, n=1, p=1, until=1.0, mesh=None, start="interpolation"):
    """Mode TM_mnp of a cubic cavity with conducting walls, as in `maxwell_cavity`, by tensor-product DG on hexahedra.

    Method: TensorDG on hexahedra.

    kind    "affine": cubes;  "skewed": the middle of the cavity moves by (0.2, -0.15, 0.1), and with it the eight parts that
            meet there;  "warped": corners move by 0.08 sin(pi x) sin(pi y) sin(pi z) (1, -1, 1);
            "curved": all points move so, by maps of degree order (order 1: "warped")
            "perturbed": inner corners move at random by up to 0.15 of the cell width, which turns no cell over
    nodes   "gauss", or "lobatto": in split form, because waves grow in the weak form on cells that are no parallelepipeds
    cells: hexahedra along a side; mesh: a file of a box of hexahedra, which then is the cavity
    Observed orders are order + 1, with "lobatto" order to order + 1. Helluy, Strub, Massaro & Roberts 2015, section 3."""
    choose("kind", kind, KINDS)

    def generated():
        cubes = box(cells=cells, shape="hexahedron", perturb=0.15 * (kind == "perturbed"), seed=1)
        if kind == "curved" and order > 1:
            return cubes.mapped(warp, order)
        return cubes.mapped(MAPS[kind]) if kind in MAPS else cubes
    mesh = case_mesh(mesh, generated, 3)
    check_box(mesh)
    w, exact = cavity_mode(mesh, m, n, p)
    split = central if nodes == "lobatto" else None
    return Simulation(mesh, Maxwell(dim=3), TensorDG(order, nodes, start, volume_flux=split), boundary=pec,
                      initial=lambda x: exact(x, 0.0), exact=exact, until=until, case="hex_cavity",
                      results=lambda dataset: {"frequency": w, "energy_ratio": energy_ratio(dataset)})


def warp(x):
    """Places in the unit cube that keep its faces."""
    moved = 0.08 * np.sin(np.pi * x[0]) * np.sin(np.pi * x[1]) * np.sin(np.pi * x[2])
    return x[0] + moved, x[1] - moved, x[2] + moved


def skew(x):
    """Places in the unit cube that keep its faces, by a map that is multilinear in each of eight parts."""
    share = np.prod([1 - abs(2 * c - 1) for c in x], axis=0)
    return x[0] + 0.2 * share, x[1] - 0.15 * share, x[2] + 0.1 * share


MAPS = {"warped": warp, "curved": warp, "skewed": skew}
