"""Named faces inside of a mesh: each once, as a row (cell, local face) of the cell out of which its normal points."""
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..support.wording import choose
from .errors import MeshError
from .geometry import area_vectors


def oriented(mesh, rows, corners):
    """The rows (count, 2) of inner faces, each moved to its other cell where the normal would point the other way.

    corners: (count, vertex) point numbers of the faces in the file, by whose order their normals point: to the right of an
    edge, as the right hand says of a face. Where faces of one surface disagree, the majority of those connected decides; in 1D
    all point to the right."""
    vectors = mesh.at_faces(rows, lambda block, own: area_vectors(block.points, block.cells)[tuple(own.T)])
    sign = np.sign(np.sum(vectors * normals(mesh.points[corners]), axis=1))
    if mesh.dim > 1:
        sign = agreed(ring(mesh.points, mesh.face_points(rows), vectors), sign)
    return np.where(sign[:, None] < 0, other_side(mesh.neighbours, rows), rows)


def other_side(neighbours, rows):
    """The faces `rows` (face, 2: cell, local face) as rows of the cells on their other sides."""
    return np.stack([neighbours.cell[tuple(rows.T)], neighbours.face[tuple(rows.T)]], axis=1)


def normals(x):
    """Normals, of any length, of faces with the corners x (face, vertex, dim), in their order around the face."""
    if x.shape[2] == 1:
        return np.ones((len(x), 1))
    edge = x[:, 1] - x[:, 0]
    return np.stack([edge[:, 1], -edge[:, 0]], axis=1) if x.shape[2] == 2 else np.cross(edge, x[:, 2] - x[:, 0])


def ring(points, corners, vectors):
    """The corners (face, vertex) in their order around each face, counterclockwise about its vector."""
    if corners.shape[1] == 4:          # of squares they are in the order of a lattice
        corners = corners[:, [0, 1, 3, 2]]
    turned = np.sum(normals(points[corners]) * vectors, axis=1) < 0
    return np.where(turned[:, None], corners[:, ::-1], corners)


def agreed(corners, sign):
    """Signs (face,) that turn the normals of faces to one side of their surface; `corners` (face, vertex) go around each face.

    Neighbours agree where they go through their common edge in opposite directions. Of the two choices for connected faces
    it is the one nearer to the given signs; these stay where a surface has one side only."""
    count, vertices = corners.shape
    if vertices == 2:
        ends, direction = corners.ravel()[:, None], np.tile([-1, 1], count)
    else:
        ends = np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2)
        direction = np.where(ends[:, 0] < ends[:, 1], 1, -1)
    of_face = np.repeat(np.arange(count), len(ends) // count)
    if vertices > 2:          # a triangle beside quadrilaterals repeats a corner
        ends, direction, of_face = (rows[ends[:, 0] != ends[:, 1]] for rows in (ends, direction, of_face))
    edge = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(edge, kind="stable")
    pairs = np.flatnonzero((np.bincount(edge) == 2)[edge[order]]).reshape(-1, 2)
    first, second = order[pairs].T
    same = direction[first] != direction[second]
    first, second = of_face[first], of_face[second]
    # Each face stands twice, with its normal and with the opposite one.
    a = np.concatenate([first, first + count])
    b = np.concatenate([np.where(same, second, second + count), np.where(same, second + count, second)])
    label = connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(2 * count, 2 * count)), directed=False)[1]
    plus, minus = label[:count], label[count:]
    group = np.minimum(plus, minus)
    found = np.where(plus == minus, sign, np.where(plus == group, 1, -1))
    return found * np.where(np.bincount(group, found * sign) < 0, -1, 1)[group]


def between(mesh, name, regions):
    """Rows (count, 2) of the faces between the cells of two regions, with normals out of the first into the second, or of those
    between one region and all other cells; see `Mesh.with_interfaces`."""
    if name in (*mesh.boundaries, *mesh.regions, *mesh.interfaces):
        raise MeshError(f"{mesh.source} has the name {name!r} already; give another one")
    names = (regions,) if isinstance(regions, str) else tuple(regions) if isinstance(regions, (list, tuple)) else ()
    if len(names) not in (1, 2):
        raise MeshError(f"interface {name!r}: {regions!r} is not allowed; give one region, or two, e.g. ('air', 'glass')")
    try:
        cells = [mesh.regions[choose(f"interface {name!r}: region", region, mesh.regions, " in the mesh; it has")]
                 for region in names]
    except ValueError as error:
        raise MeshError(str(error)) from None
    inside, *beyond = (np.isin(np.arange(len(mesh.cells)), some) for some in cells)
    beyond = beyond or [~inside]
    rows = _between(mesh, inside, *beyond)
    refuse_two_sizes(mesh, name, inside, *beyond)
    if not len(rows):
        empty = [region for region, some in zip(names, cells) if not len(some)]
        if empty:
            raise MeshError(f"interface {name!r}: the region {empty[0]!r} has no cells")
        if len(names) == 1 and inside.all():
            raise MeshError(f"interface {name!r}: the region {names[0]!r} is the whole mesh; no cell lies beyond it")
        other = f"cells of {names[1]!r}" if len(names) > 1 else "others"
        raise MeshError(f"interface {name!r}: no face lies between cells of {names[0]!r} and {other}")
    return rows


def refuse_two_sizes(mesh, name, inside, beyond):
    """Raise MeshError where cells of one side of an interface meet larger ones of the other."""
    large, small = np.repeat(mesh.hanging.large, mesh.hanging.small.shape[1], axis=0), mesh.hanging.small.reshape(-1, 2)
    meet = np.zeros(len(large), bool)
    for one, other in ((inside, beyond), (beyond, inside)):
        meet |= one[large[:, 0]] & ~other[large[:, 0]] & other[small[:, 0]] & ~one[small[:, 0]]
    if meet.any():
        raise MeshError(f"interface {name!r}: {mesh.place(large[meet][0])} meets smaller cells beyond it; refine on both "
                        "sides, or put the interface elsewhere")


def must_be_even(mesh, name):
    """Raise MeshError where faces of an interface meet faces of another size."""
    rows = mesh.interfaces[name]
    uneven = rows[mesh.neighbour_face[tuple(rows.T)] < 0]
    if len(uneven):
        raise MeshError(f"interface {name!r}: {mesh.place(uneven[0])} meets a face of another size; refine on both sides")


def _between(mesh, inside, beyond):
    meet = inside[:, None] & (mesh.neighbour_face >= 0) & beyond[mesh.neighbour_cell]
    return np.argwhere(meet & ~beyond[:, None])


def of_children(mesh, facets):
    """The interfaces of a refined mesh. facets: {name: (corners (face, vertex), the normal of the old face of each)}."""
    found = {}
    for name, (corners, normals_of_old) in facets.items():
        rows = mesh.find_faces(corners)
        away = np.sum(mesh.normals[tuple(rows.T)] * normals_of_old, axis=1) < 0
        found[name] = np.where(away[:, None], other_side(mesh.neighbours, rows), rows)
    return found
