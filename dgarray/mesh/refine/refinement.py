"""Which cells of a mesh are split, and the arrays of the mesh that this gives."""
import numpy as np

from ...reference.shapes import NAMED_SHAPES
from ...support.wording import nearest
from .. import periodic
from ..curved import cell_maps, geometry as curved_geometry
from ..elements import Elements
from ..errors import MeshError
from ..memory import check_room
from . import simplices
from .children import children


def split(mesh, where):
    """(arguments of `build`, point numbers of both sides of glued faces, interfaces {name: (point numbers of the faces, the
    normal of the old face of each)}), with the cells `where` split; see `Mesh.refined`."""
    some, only_simplices = chosen(mesh, where), all(shape.simplex for shape in mesh.shapes)
    check_room(f"{mesh.source}, refined,", len(some) + (2 ** mesh.dim - 1) * int(some.sum()), mesh.dim, only_simplices)
    own, other = mesh.glued[:, :2], mesh.glued[:, 2:]
    uneven = np.flatnonzero(some[own[:, 0]] != some[other[:, 0]])
    if len(uneven):
        raise MeshError(f"{mesh.source}: periodic boundaries must be refined on both sides; {mesh.place(own[uneven[0]])} and "
                        f"{mesh.place(other[uneven[0]])} would not match")
    refine = simplices.split if only_simplices else children
    points, found, of_facets = refine(mesh.points, [(block.cell_shape, block.cells[some[first:first + block.cell_count]])
                                                    for block, first in zip(mesh.blocks, mesh.first)])
    count = max(sum(parts.shape[1] for parts, _ in of_block.values()) for of_block in found)
    cells, nodes, parents, child = {}, {}, {}, {}
    for block, of_block, first in zip(mesh.blocks, found, mesh.first):
        which = some[first:first + block.cell_count]
        add(cells, block.cell_type, block.cells[~which])
        add(parents, block.cell_type, first + np.flatnonzero(~which))
        add(child, block.cell_type, np.zeros(np.count_nonzero(~which), int))
        cut, before = None, 0
        if block.order > 1:
            add(nodes, block.cell_type, block.geometry_nodes[~which])
            cut = Elements(block.points, block.cells[which], None, block.geometry_nodes[which])
        for name, (parts, places) in of_block.items():
            if cut is not None:
                shape = NAMED_SHAPES[name]
                own_nodes = curved_geometry.children(cut, places, shape)
                at_corners = own_nodes[:, list(cell_maps.corner_nodes(shape, block.order))]
                points[parts.reshape(-1)] = at_corners.reshape(-1, mesh.dim)
                add(nodes, name, own_nodes)
            add(cells, name, parts.reshape(-1, parts.shape[2]))
            add(parents, name, (first + np.flatnonzero(which)).repeat(parts.shape[1]))
            add(child, name, np.tile(before + np.arange(parts.shape[1]), len(parts)))
            before += parts.shape[1]
    cells, nodes = ({name: np.concatenate(rows) for name, rows in given.items()} for given in (cells, nodes))
    parents, child = (np.concatenate([rows for each in given.values() for rows in each]) for given in (parents, child))

    def facets(rows, corners):
        """The corners of what has become of faces `rows` with these corners."""
        cut = some[rows[:, 0]]
        return np.concatenate([corners[~cut], of_facets(corners[cut]).reshape(-1, corners.shape[1])])

    def normals(rows):
        """The normals of these faces, once for each of what has become of a face."""
        normal, cut = mesh.normals[tuple(rows.T)], some[rows[:, 0]]
        return np.concatenate([normal[~cut], np.repeat(normal[cut], 2 ** (mesh.dim - 1), axis=0)])
    arrays = dict(points=points, cells=cells, source=mesh.source, inherited=mesh.notes, geometry_nodes=nodes or None,
                  numbers=count * mesh.numbers[parents] + child,
                  facets={name: facets(rows, mesh.face_points(rows)) for name, rows in mesh.boundaries.items()},
                  groups={name: np.flatnonzero(np.isin(parents, numbers)) for name, numbers in mesh.regions.items()})
    return arrays, [facets(own, corners) for corners in periodic.sides(mesh)], {
        name: (facets(rows, mesh.face_points(rows)), normals(rows)) for name, rows in mesh.interfaces.items()}


def add(lists, name, rows):
    """Add an array to the list of that name."""
    lists.setdefault(name, []).append(rows)


def chosen(mesh, where):
    """Whether each cell is split, (cell,): all, or those of regions, or of some numbers."""
    some = np.zeros(len(mesh.cells), dtype=bool)
    if where is None:
        return ~some
    if not all(shape.tensor for shape in mesh.shapes):
        raise MeshError(f"{mesh.source}: refined(where) is for quadrilaterals and hexahedra; {mesh.cell_type} cells are all "
                        "refined at once")
    names = [where] if isinstance(where, str) else where
    if isinstance(names, (list, tuple)) and names and all(isinstance(name, str) for name in names):
        for name in names:
            some[region(mesh, name, "refined")] = True
        return some
    numbers = np.asarray(where)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or not numbers.size or not (
            0 <= numbers.min() <= numbers.max() < len(some)):
        raise MeshError(f"refined({where!r}) is not allowed; give names of regions, or numbers of cells from 0 to "
                        f"{len(some) - 1}")
    some[numbers] = True
    return some


def region(mesh, name, taker):
    """Numbers of the cells of a region. Raises MeshError for other names; taker: what asks for a region."""
    if name in mesh.regions:
        return mesh.regions[name]
    kind = "a boundary of" if name in mesh.boundaries else "an interface of" if name in mesh.interfaces else "not in the mesh"
    hint = nearest(name, mesh.regions) if kind == "not in the mesh" else ""
    raise MeshError(f"{name!r} is {kind} {mesh.source}; {taker} takes regions: "
                    f"{', '.join(mesh.regions) or 'there are none'}{hint}")
