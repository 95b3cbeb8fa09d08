"""Which cells of a mesh are split, and the arrays of the mesh that this gives."""
import numpy as np

from ...support.wording import nearest
from .. import periodic
from ..curved import cell_maps, geometry as curved_geometry
from ..elements import Elements
from ..errors import MeshError
from ..memory import check_room
from . import prisms as refine_prism, pyramids as refine_pyramid, simplices as refine, tensor as refine_tensor


def split(mesh, where):
    """(arguments of `build`, point numbers of both sides of glued faces, interfaces {name: (point numbers of the faces, the
    normal of the old face of each)}), with the cells `where` split; see `Mesh.refined`."""
    shape, parts, some = mesh.cell_shape, 2 ** mesh.dim, chosen(mesh, where)
    check_room(f"{mesh.source}, refined,", len(some) + (parts - 1) * int(some.sum()), mesh.dim, shape.simplex)
    if shape.simplex:
        points, children, of_facets, places = refine.split(mesh.points, mesh.cells)
    elif shape.name in refine_pyramid.PARTS:
        raise MeshError(f"{mesh.source}: refined() gives tetrahedra beside pyramids, but this is a mesh of pyramids alone; "
                        "make it of smaller ones, or of several shapes")
    elif shape.mixed_faces:
        points, children, of_facets, places = refine_prism.split(mesh.points, mesh.cells)
    else:
        points, children, of_facets, places = refine_tensor.split(mesh.points, mesh.cells[some], shape.tensor_order)
    nodes = None
    if mesh.order > 1:
        cut = Elements(mesh.points, mesh.cells[some], None, mesh.geometry_nodes[some])
        nodes = curved_geometry.children(cut, places)
        points[children.reshape(-1)] = nodes[:, list(cell_maps.corner_nodes(shape, mesh.order))].reshape(-1, mesh.dim)
        nodes = np.concatenate([mesh.geometry_nodes[~some], nodes])
    first = np.where(some, (~some).sum() + parts * (np.cumsum(some) - 1), np.cumsum(~some) - 1)

    def family(numbers, first, which):
        """What has become of some cells, in numbers of which a family's begin at `first`; which: the cells that are split."""
        return np.concatenate([first[numbers[~which]], (first[numbers[which]][:, None] + np.arange(parts)).ravel()])

    def facets(corners, cells):
        """The corners of what has become of faces of these cells."""
        return np.concatenate([corners[~some[cells]], of_facets(corners[some[cells]]).reshape(-1, corners.shape[1])])

    def normals(rows):
        """The normals of these faces, once for each of what has become of a face."""
        normal, cut = mesh.normals[tuple(rows.T)], some[rows[:, 0]]
        return np.concatenate([normal[~cut], np.repeat(normal[cut], parts // 2, axis=0)])
    own, other = mesh.glued[:, :2], mesh.glued[:, 2:]
    uneven = np.flatnonzero(some[own[:, 0]] != some[other[:, 0]])
    if len(uneven):
        raise MeshError(f"{mesh.source}: periodic boundaries must be refined on both sides; {mesh.place(own[uneven[0]])} and "
                        f"{mesh.place(other[uneven[0]])} would not match")
    every = np.arange(len(some))
    return dict(points=points, cells=np.concatenate([mesh.cells[~some], children.reshape(-1, children.shape[2])]),
                facets={name: facets(mesh.face_points(rows), rows[:, 0]) for name, rows in mesh.boundaries.items()},
                groups={name: family(cells, first, some[cells]) for name, cells in mesh.regions.items()},
                numbers=family(every, parts * mesh.numbers, some), source=mesh.source, inherited=mesh.notes,
                geometry_nodes=nodes), [
        facets(corners, own[:, 0]) for corners in periodic.sides(mesh)], {
        name: (facets(mesh.face_points(rows), rows[:, 0]), normals(rows))
        for name, rows in mesh.interfaces.items()}


def chosen(mesh, where):
    """Whether each cell is split, (cell,): all, or those of regions, or of some numbers."""
    some = np.zeros(len(mesh.cells), dtype=bool)
    if where is None:
        return ~some
    if not mesh.cell_shape.tensor:
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
