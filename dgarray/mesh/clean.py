"""Turn raw points and cells into arrays that a mesh can be built on."""
import numpy as np

from ..reference.shapes import NAMED_SHAPES, SHAPES, shape_of
from ..support.wording import plural
from . import geometry, interfaces
from .errors import TO_SPLIT, MeshError


def check_given(dim, given, groups, numbers, geometry_nodes):
    """Raise MeshError for cells, groups, numbers and geometry nodes of `dgarray.mesh.mesh.build` that do not fit each other.

    dim   (columns of the points,)"""
    known = [name for name, shape in NAMED_SHAPES.items() if (shape.dim,) == dim]
    if not given:
        raise MeshError(f"there are no cells; give an array, or {{shape: array}} of: {', '.join(known)}")
    for name, rows in given.items():
        if np.size(rows) and np.asarray(rows).dtype.kind not in "iu":
            raise MeshError("the cells must be whole numbers, those of their points")
        if name and name not in known:
            raise MeshError(f"cells of the shape {name!r} do not exist on points (point, {', '.join(map(str, dim))}); allowed: "
                            f"{', '.join(known)}")
        if name and np.shape(rows)[1:] != (len(NAMED_SHAPES[name].vertices),):
            raise MeshError(f"cells of the shape {np.shape(rows)} are no {name!r} cells, (cell, corner)")
    count = sum(map(len, given.values()))
    for name, members in groups.items():
        members = np.asarray(members)
        if members.size and (members.dtype.kind not in "iu" or members.min() < 0 or members.max() >= count):
            raise MeshError(f"the group {name!r} must hold numbers of cells, whole ones from 0 to {count - 1}")
    if numbers is not None and len(numbers) != count:
        raise MeshError(f"numbers has the length {len(numbers)}; there are {count} cells")
    if geometry_nodes is not None and set(geometry_nodes) != set(given):
        raise MeshError("geometry_nodes must be given as the cells are: an array beside an array, else {shape: array} of the "
                        f"same shapes, {', '.join(map(str, given))}")


def check_input(points, cells, label):
    """Raise MeshError unless every cell has the corners of a `Shape`, different nodes that exist and lie somewhere."""
    if (points.shape[1:] + cells.shape[1:]) not in SHAPES:
        raise MeshError(f"points {points.shape} and cells {cells.shape} do not fit; allowed: (point, dim) and (cell, dim + 1), "
                        "for quadrilaterals and hexahedra (cell, 2^dim)")
    if not len(cells):
        raise MeshError("there are no cells")
    check_used(points, cells, label)
    corners = np.sort(cells, axis=1)
    repeated = np.flatnonzero((corners[:, 1:] == corners[:, :-1]).any(axis=1))
    if len(repeated):
        nodes = ", ".join(str(node + 1) for node in cells[repeated[0]])
        raise MeshError(f"{label(repeated[0])} has a node twice: {nodes} (counted from 1); "
                        "remove the cell or mend its nodes" + (f"; {TO_SPLIT}" if cells.shape[1] > points.shape[1] + 1 else ""))


def check_used(points, cells, label):
    """Raise MeshError unless the nodes of the cells exist and have finite coordinates."""
    outside = np.flatnonzero(((cells < 0) | (cells >= len(points))).any(axis=1))
    if len(outside):
        raise MeshError(f"{label(outside[0])} names a node that does not exist; the mesh has {len(points)} nodes")
    used = np.zeros(len(points), dtype=bool)
    used[cells] = True
    bad = np.flatnonzero(used & ~np.isfinite(points).all(axis=1))
    if len(bad):
        where = ", ".join(f"{value:g}" for value in points[bad[0]])
        raise MeshError(f"node {bad[0] + 1} (counted from 1) has the coordinates ({where}); they must be finite"
                        + (f"; {len(bad)} nodes in all" if len(bad) > 1 else ""))


def drop_unused(points, cells, facets):
    """Drop points without a cell; facets on such points, or on ones that do not exist, get the number -1.

    cells: those of each shape (cell, corner), in a list"""
    used = np.zeros(len(points), dtype=bool)
    for own in cells:
        used[own] = True
    number = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)

    def renumbered(rows):
        rows = np.asarray(rows)
        return number[np.where((rows >= 0) & (rows < len(points)), rows, -1)]
    return (points[used], [number[own] for own in cells], {name: renumbered(rows) for name, rows in facets.items()},
            int((~used).sum()))


def drop_apart(facets):
    """The facets without those on points that no cell uses, numbers -1, and notes on them."""
    kept, notes = {}, []
    for name, rows in facets.items():
        apart = (np.asarray(rows) < 0).any(axis=1)
        if not apart.any():
            kept[name] = rows
            continue
        count = f"all of its {plural(len(rows), 'face')}" if apart.all() else f"{np.count_nonzero(apart)} of {len(rows)} faces"
        notes.append(f"boundary {name!r} lies apart from the cells, {count} on nodes that no cell uses; they are left out")
        if not apart.all():
            kept[name] = np.asarray(rows)[~apart]
    return kept, notes


def orient(points, cells, label):
    """Cells with positive orientation, and how many were inverted.

    Raises MeshError for measures that rounding cannot tell from 0, and for concave or twisted cells."""
    shape, dim = shape_of(points, cells), points.shape[1]
    measures = geometry.signed_measures(points, cells)
    inverted = measures < 0
    scale = np.abs(points[cells]).max(axis=(1, 2)) * geometry.longest_edges(points, cells) ** (dim - 1)
    rounding = 8 * np.finfo(float).eps * scale
    sizes = np.abs(measures)
    if not shape.simplex:
        densities = 2**dim * geometry.determinants(points, cells, shape.test_points) * np.where(inverted, -1, 1)[:, None]
        sizes = np.abs(densities).max(axis=1)
    flat = np.flatnonzero(sizes <= rounding)
    if len(flat):
        what = ("length", "area", "volume")[dim - 1]
        names = ", ".join(label(k) for k in flat[:5]) + (", ..." if len(flat) > 5 else "")
        have = "have" if len(flat) > 1 else "has"
        raise MeshError(f"{plural(len(flat), 'cell')} {have} no {what}: {names}; remesh or merge their nodes")
    if not shape.simplex:
        _check_densities(points, cells, densities, rounding, shape, label)
    cells[inverted] = cells[inverted][:, shape.mirrored]
    return cells, int(inverted.sum())


def _check_densities(points, cells, densities, rounding, shape, label):
    """Raise MeshError unless 2^dim det dx/dr, (cell, test point), is positive beyond rounding."""
    bad = np.flatnonzero((densities <= rounding[:, None]).any(axis=1))
    if not len(bad):
        return
    places = shape.weights(shape.test_points[densities[bad[:3]].argmin(axis=1)])
    at = np.einsum("kc,kcd->kd", places, points[cells[bad[:3]]])
    names = ", ".join(f"{label(k)} at ({', '.join(f'{v:.6g}' for v in x)})" for k, x in zip(bad, at))
    are = "are" if len(bad) > 1 else "is"
    raise MeshError(f"{plural(len(bad), shape.name + ' cell')} {are} concave, twisted or degenerate, where the Jacobian "
                    f"determinant is not positive: {names}{', ...' if len(bad) > 3 else ''}; remesh, or mend "
                    "the order of the nodes")


def check_corners(name, corners, shapes):
    """Raise MeshError unless named faces (face, vertex) have as many corners as the faces of cells of one of the shapes."""
    allowed = sorted({len(face) for shape in shapes for face in shape.faces})
    if np.ndim(corners) != 2 or np.shape(corners)[1] not in allowed:
        raise MeshError(f"boundary {name!r}: faces of the shape {np.shape(corners)} do not fit "
                        f"{' and '.join(shape.name for shape in shapes)} cells; "
                        f"allowed: {' or '.join(f'(face, {count})' for count in allowed)}")


def name_faces(mesh, facets):
    """(boundaries, interfaces, notes): name -> rows (count, 2: cell, local face) of the `facets`, name -> point numbers
    (count, vertex). Interfaces are those whose faces all lie between two cells.

    The notes are on facets that are left out. Raises MeshError if a facet is not a face of a cell."""
    boundaries, surfaces, notes = {}, {}, []
    for name, corners in facets.items():
        check_corners(name, corners, mesh.shapes)
        rows = mesh.find_faces(corners)
        lost = np.flatnonzero(rows[:, 0] < 0)
        if len(lost):
            corner = corners[lost[0]]
            at = " to ".join(f"({', '.join(f'{v:.6g}' for v in mesh.points[p])})" for p in corner)
            raise MeshError(f"boundary {name!r}: {len(lost)} of {len(corners)} faces belong to no cell, "
                            f"first the one with the nodes {at}; mesh cells and boundary together, or remove it")
        inner = mesh.neighbour_face[tuple(rows.T)] >= 0
        first = np.sort(np.unique(rows @ (mesh.neighbour_face.shape[1], 1), return_index=True)[1])
        if inner.any() and inner.all():
            surfaces[name] = interfaces.oriented(mesh, rows[first], np.asarray(corners)[first])
        elif inner.any():
            notes.append(f"{np.count_nonzero(inner)} faces of boundary {name!r} lie between two cells; "
                         "only those at the end of the mesh keep the name")
        if not inner.all():
            boundaries[name] = rows[first][~inner[first]]
    return boundaries, surfaces, notes


def check_folds(mesh, label):
    """Raise MeshError if two cells lie on the same side of the face that they share."""
    own, face = np.nonzero(mesh.neighbour_face >= 0)
    other = mesh.neighbour_cell[own, face], mesh.neighbour_face[own, face]
    folded = np.flatnonzero(np.sum(mesh.normals[own, face] * mesh.normals[other], axis=1) > 0)
    if len(folded):
        one, two = label(own[folded[0]]), label(other[0][folded[0]])
        more = len(folded) // 2 - 1
        others = f" (and {more} more such pair{'s' * (more > 1)})" if more else ""
        raise MeshError(f"{one} and {two} overlap: they lie on the same side of their common face{others}; untangle or remesh")
