"""A mode of a cavity on hexahedra of two sizes and two orders, 3D Maxwell."""
import numpy as np

from dgarray import Maxwell, Simulation, TensorDG, box, pec
from dgarray.support.wording import choose

from .common import case_mesh, check_box, check_numbers, energy_ratio
from .hex_cavity import MAPS
from .maxwell_cavity import cavity_mode

JOINTS, KINDS = ("both", "order", "size"), ("affine", "skewed", "warped", "curved")


def hex_zones(order=2, cells=4, joint="both", kind="affine", nodes="gauss", m=1, n=1, p=1, until=1.0, mesh=None,
              start="interpolation"):
    """The mode of `hex_cavity` in two zones: the core, the middle half of the cavity in each direction, and what is around it.

    Method: TensorDG on hexahedra.

    joint   what differs where they meet. "order": the zone around has order + 1;  "size": the hexahedra of the core have half
            the size;  "both"
    kind    of the hexahedra: "affine", "skewed", "warped" as for `hex_cavity`, or "curved", by maps of degree 2, which
            ask for an order of 3 or more
    nodes   "gauss" or "lobatto"
    order: of the core; cells: hexahedra along a side before the core is refined, a multiple of 4
    mesh: a file of a box of hexahedra with regions "core" and "around", which then is the cavity
    Observed orders are order + 1. Helluy, Strub, Massaro & Roberts 2015, section 3.2; Kopriva 1996 (mortars)."""
    choose("joint", joint, JOINTS)
    choose("kind", kind, KINDS)
    check_numbers(least=4, whole=True, cells=cells)
    if cells % 4:
        raise ValueError(f"cells={cells!r} is not allowed; it must be a multiple of 4, so that the core ends between cells")

    def inside(x):
        return np.max([abs(c - 0.5) for c in x], axis=0) < 0.25

    def generated():
        cubes = box(cells=cells, shape="hexahedron").with_regions({"core": inside, "around": lambda x: ~inside(x)})
        cubes = cubes.mapped(MAPS[kind], 2) if kind == "curved" else cubes
        cubes = cubes if joint == "order" else cubes.refined("core")
        return cubes.mapped(MAPS[kind]) if kind in ("skewed", "warped") else cubes
    mesh = case_mesh(mesh, generated, 3)
    check_box(mesh)
    orders = order if joint == "size" else {"core": order, "around": order + 1}
    w, exact = cavity_mode(mesh, m, n, p)
    return Simulation(mesh, Maxwell(dim=3), TensorDG(orders, nodes=nodes, start=start), boundary=pec,
                      initial=lambda x: exact(x, 0.0), exact=exact, until=until, case="hex_zones",
                      results=lambda dataset: {"frequency": w, "energy_ratio": energy_ratio(dataset)})

