"""Checks of curved cells: their maps can be inverted, and neighbours have the same geometry on the face that they share."""
import numpy as np

from ...reference import simplex, tensor_cell
from ...reference.faces import corner_weights
from ...reference.shapes import shape_of
from ...support.wording import plural
from ..elements import Elements
from ..errors import MeshError
from ..refine import hanging
from . import cell_maps, geometry as curved_geometry

# Distance, relative to the size of a face, at which two places count as one: coordinates in files often have 7 digits.
TOLERANCE = 1e-6
NAMED = 3          # cells that a message names


def checked(points, cells, nodes, label):
    """A copy of the geometry nodes with the points at the corners; None where all cells are straight to rounding.

    Raises MeshError unless they are finite, and as many for each cell as a map of some order has."""
    shape, nodes = shape_of(points, cells), np.array(nodes, dtype=np.float64)
    if nodes.ndim != 3 or len(nodes) != len(cells) or nodes.shape[2] != shape.dim:
        raise MeshError(f"geometry nodes of the shape {nodes.shape} do not fit {len(cells)} cells in {shape.dim}D; allowed: "
                        "(cell, node, dim)")
    try:
        order = cell_maps.order_of(shape, nodes.shape[1])
    except ValueError as error:
        raise MeshError(str(error)) from None
    bad = np.flatnonzero(~np.isfinite(nodes).all(axis=(1, 2)))
    if len(bad):
        raise MeshError(f"{label(bad[0])} has geometry nodes that are not finite; {plural(len(bad), 'such cell')} in all")
    nodes[:, list(cell_maps.corner_nodes(shape, order))] = points[cells]
    return nodes if cell_maps.are_curved(Elements(points, cells, None, nodes)).any() else None


def orient(points, cells, nodes, label):
    """(cells, geometry nodes, how many cells were turned over): all with det dx/dr > 0 at the points where it is checked.

    Raises MeshError that names the cells, and the place where the determinant is not positive."""
    elements = Elements(points, cells, None, nodes)
    shape, order = elements.cell_shape, cell_maps.map_order(elements)
    r = curved_geometry.check_points(shape, order)
    turned = curved_geometry.measures(elements) < 0
    sign = np.where(turned, -1.0, 1.0)
    bad, least = [], []
    for some in cell_maps.blocks(len(cells), len(r)):
        size = np.abs(nodes[some]).max(axis=(1, 2)) * np.linalg.norm(np.ptp(nodes[some], axis=1), axis=1) ** (shape.dim - 1)
        det = cell_maps.determinant(cell_maps.jacobians(elements, r, some)) * sign[some]
        here = np.flatnonzero((2**shape.dim * det <= 8 * np.finfo(float).eps * size).any(axis=0))
        bad += (some.start + here).tolist()
        least += det[:, here].argmin(axis=0).tolist()
    if bad:
        refuse(elements, label, bad, r[least])
    mirrored = list(shape.mirrored)
    reference = cell_maps.geometry_cell(shape, order).nodes
    cells, nodes = cells.copy(), nodes.copy()
    cells[turned] = cells[turned][:, mirrored]
    nodes[turned] = nodes[turned][:, cell_maps.nearest_nodes(reference, shape.weights(reference) @ shape.corners[mirrored])]
    return cells, nodes, int(turned.sum())


def refuse(mesh, label, cells, r):
    """Raise the MeshError for cells whose det dx/dr is not positive at the reference points r (cell, dim), one for each."""
    places = [cell_maps.positions(mesh, at[None], [cell])[:, 0, 0] for cell, at in zip(cells[:NAMED], r)]
    places = [np.where(np.abs(x) < 1e-12 * np.abs(x).max(), 0, x) for x in places]          # rounding
    names = ", ".join(f"{label(cell)} at ({', '.join(f'{v:.6g}' for v in x)})" for cell, x in zip(cells, places))
    are = "are" if len(cells) > 1 else "is"
    raise MeshError(f"{plural(len(cells), f'curved {mesh.cell_shape.name} cell')} {are} folded or degenerate, where the "
                    f"Jacobian determinant of the map is not positive: {names}{', ...' if len(cells) > NAMED else ''}; take "
                    "smaller cells there, a lower order, or a map that bends them less")


def check_shared(mesh, label):
    """Raise MeshError unless the two cells at each inner face have the same points on it; on periodic faces, the same but for
    one translation of the face."""
    for x, y, cells, others, translated, remedy in (*_alike(mesh), *_of_half_the_size(mesh)):
        gap = y - x
        gap -= np.where(translated, gap.mean(axis=1), 0)[:, None]
        size = np.linalg.norm(np.ptp(x, axis=1), axis=0) if mesh.dim > 1 else np.ones(len(cells))
        wide = np.flatnonzero(np.linalg.norm(gap, axis=0).max(axis=0) > TOLERANCE * size)
        if len(wide):
            at = ", ".join(f"{v:.6g}" for v in x[:, np.linalg.norm(gap[:, :, wide[0]], axis=0).argmax(), wide[0]])
            apart = np.linalg.norm(gap[:, :, wide[0]], axis=0).max()
            raise MeshError(f"{label(cells[wide[0]])} and {label(others[wide[0]])} have different geometry on the face that "
                            f"they share, at ({at}), {apart:.3g} apart; {remedy}")


def _alike(mesh):
    """Faces that are whole faces of two cells: (points there by the map of one cell, by that of the other, (dim, point, face);
    the cells, the other cells, whether a face is periodic, what a message advises), a list of faces at a time."""
    cell, face = np.nonzero(mesh.neighbour_face >= 0)
    other, other_face = mesh.neighbour_cell[cell, face], mesh.neighbour_face[cell, face]
    once = (cell < other) | (cell == other) & (face < other_face)
    cell, face, other, other_face = (rows[once] for rows in (cell, face, other, other_face))
    glued = np.zeros(mesh.neighbour_face.shape, dtype=bool)
    for rows in (mesh.glued[:, :2], mesh.glued[:, 2:]):
        glued[tuple(rows.T)] = True
    first, of_shape = mesh.first, mesh.of_shape
    of_block = of_shape[cell], of_shape[other]
    for (one, two, own_face, their_face, *match), pairs in _kinds(*of_block, face, other_face, mesh.orientation[cell, face]):
        left, right = mesh.blocks[one], mesh.blocks[two]
        corners, there = (list(block.cell_shape.faces[side]) for block, side in ((left, own_face), (right, their_face)))
        on_vertices = on_corners(mesh.dim, max(left.order, right.order), len(corners))
        x, y = (cell_maps.positions(block, on_vertices @ block.cell_shape.corners[at], cells[pairs] - first[number])
                for block, number, at, cells in (
                    (left, one, corners, cell), (right, two, np.array(there)[match[:len(there)]], other)))
        yield x, y, cell[pairs], other[pairs], glued[cell[pairs], face[pairs]], "give both cells the same nodes there"


def _of_half_the_size(mesh):
    """Faces that meet larger ones, of a mesh whose cells have one shape: lists as of `_alike`, the larger cells the others."""
    here = mesh.hanging
    if not len(here):
        return
    shape = mesh.cell_shape
    vertices = on_corners(mesh.dim, mesh.order, len(shape.faces[0]))
    for part, corners in enumerate(hanging.parts(mesh.dim)):
        small = here.small[:, part]
        for (own_face, their_face, *match), pairs in _kinds(small[:, 1], here.large[:, 1], here.orientation[:, part]):
            on_large = corner_weights(len(shape.faces[0]), vertices @ corners[match])
            x = cell_maps.positions(mesh, vertices @ shape.corners[list(shape.faces[own_face])], small[pairs, 0])
            y = cell_maps.positions(mesh, on_large @ shape.corners[list(shape.faces[their_face])], here.large[pairs, 0])
            yield (x, y, small[pairs, 0], here.large[pairs, 0], False,
                   "curve a mesh first, and then refine it, so that small cells follow the large ones that they meet")


def on_corners(dim, order, corners):
    """The geometry nodes of a face with so many corners as weights of them, (point, corner)."""
    return corner_weights(corners, face_points(dim, order, corners)) if dim > 1 else np.ones((1, 1))


def _kinds(*columns):
    """Rows of whole numbers that are alike, from columns (face,) or (face, number): (the row, numbers of its faces)."""
    kinds, kind = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    for number, which in enumerate(kinds):
        yield which.tolist(), np.flatnonzero(kind.ravel() == number)


def face_points(dim, order, corners):
    """The geometry nodes of a face with so many corners of cells in `dim` dimensions, in its coordinates (point, dim - 1)."""
    if corners > dim:
        return tensor_cell(dim - 1, order, "lobatto").nodes
    return simplex(dim, order).face_barycentric(0)[:, 1:] * 2 - 1
