"""Curved cells at a boundary: its points are moved, and the displacement is blended into the cells that touch it.

The displacement u is known at the corners, edges and faces of a cell that lie on the boundary. From there it is carried into
the cell by polynomials of the degree of the map, corners first, then edges, then faces, so that neighbours agree on what they
share:

- Quadrilaterals and hexahedra: along unknown edges linearly, on faces by Coons's patch, and in the cell by its like in 3D, the
  Boolean sum of the linear interpolations along the axes. Gordon & Hall 1973.
- Simplices: what the corners, and then the edges, leave over on an edge or face is b p, b the product of the barycentric
  coordinates of its corners and p a polynomial in them. The same formula holds in the cell. Its terms of degree k are of the
  size h^k, so the derivatives of the map are as small as optimal orders need. Lenoir 1986; Szabo & Babuska 1991.
"""
from functools import lru_cache
from itertools import combinations, product

import numpy as np

from ..errors import MeshError
from ..faces import keys
from . import cell_maps
from .mapping import checked_order, moved_points, replaced, warned


def curved(mesh, order, function, boundary=None):
    """A copy of the mesh with a curved boundary; see `Mesh.curved`."""
    source = f"{mesh.source}, curved"
    try:
        order, shape = checked_order(order), mesh.shapes[0]
        if len(mesh.shapes) > 1 or shape.mixed_faces:
            raise MeshError(f"curved() is not for {' and '.join(each.plural for each in mesh.shapes)}"
                            f"{' together' * (len(mesh.shapes) > 1)}; take mapped(function, order), which moves all cells")
        nodes = cell_maps.positions(mesh, cell_maps.geometry_cell(shape, order).nodes).transpose(2, 1, 0).copy()
        known = known_nodes(mesh, chosen_faces(mesh, boundary), order)
        u, x = np.zeros(nodes.shape), nodes[known]
        u[known] = moved_points(mesh, function, x, "the map of the boundary") - x
        bad = np.flatnonzero(~np.isfinite(u[known]).all(axis=1))
        if len(bad):
            raise MeshError(f"the map of the boundary is not finite at ({', '.join(f'{v:.6g}' for v in x[bad[0]])})")
        some = np.flatnonzero((np.abs(u) > 1e-10 * np.abs(nodes).max()).any(axis=(1, 2)))
        must_be_before_layers(mesh, some)
        some = np.flatnonzero(known.any(axis=1))
        nodes[some] += (blended_in_simplices if shape.simplex else blended_in_tensor_cells)(shape, order, u[some], known[some])
        points = mesh.points.copy()
        points[mesh.cells[some]] = nodes[some][:, list(cell_maps.corner_nodes(shape, order))]
        copy = replaced(mesh, points, [] if order == 1 else [nodes], source)
    except MeshError as error:
        raise MeshError(f"{source}: {error}") from None
    return warned(copy, 4)


def must_be_before_layers(mesh, cells):
    """Raise MeshError for cells to be moved that lie in an absorbing layer, which knows its places by their coordinates."""
    for layer in mesh.layers:
        inside = np.intersect1d(cells, mesh.regions[layer.region])
        if len(inside):
            raise MeshError(f"{len(inside)} cells to be moved lie in the layer {layer.region!r}, the first is "
                            f"{mesh.numbers[inside[0]]}; curve the mesh first, then add layers, or curve boundaries elsewhere")


def chosen_faces(mesh, boundary, can="be curved"):
    """Rows (count, 2) of the faces of a named boundary, of several in a tuple, or of all. Raises MeshError for other names;
    can: what boundaries alone can."""
    if boundary is None:
        return mesh.boundary_faces
    names = boundary if isinstance(boundary, (tuple, list)) else (boundary,)
    for name in names:
        if name not in mesh.boundaries:
            mesh.named(name)
            raise MeshError(f"{name!r} is a region of {mesh.source}; only boundaries can {can}")
    return np.concatenate([mesh.boundaries[name] for name in names])


@lru_cache(maxsize=64)
def parts_of(shape, order):
    """The corners, edges, faces and the inside of a cell, the smallest first: tuples (corners, geometry nodes inside of it)."""
    numbers = range(len(shape.vertices))
    if shape.simplex:
        parts = [corners for count in numbers for corners in combinations(numbers, count + 1)]
    else:
        fixed = sorted(product((None, -1, 1), repeat=shape.dim), key=lambda sides: -sum(side is not None for side in sides))
        parts = [tuple(n for n in numbers if all(s in (None, v) for s, v in zip(sides, shape.vertices[n]))) for sides in fixed]
    weights = shape.weights(cell_maps.geometry_cell(shape, order).nodes) > 1e-10
    return tuple((part, np.flatnonzero((weights == np.isin(numbers, part)).all(axis=1))) for part in parts)


def known_nodes(mesh, rows, order):
    """Whether each geometry node (cell, node) lies on one of the faces `rows` (count, 2)."""
    shape = mesh.cell_shape
    parts = parts_of(shape, order)
    known = np.zeros((len(mesh.cells), shape.node_count(order)), dtype=bool)
    for count in sorted({len(corners) for corners, _ in parts[:-1]}):
        same = [(corners, inside) for corners, inside in parts[:-1] if len(corners) == count]
        of_cells = mesh.cells[:, [corners for corners, _ in same]]
        on_face = [[set(corners) <= set(face) for corners, _ in same] for face in shape.faces]
        of_faces = of_cells[rows[:, 0]][np.array(on_face)[rows[:, 1]]]
        key = keys(np.concatenate([of_cells.reshape(-1, count), of_faces]))
        found = np.isin(key[:of_cells.shape[0] * len(same)], key[of_cells.shape[0] * len(same):]).reshape(-1, len(same))
        for column, (_, inside) in enumerate(same):
            known[:, inside] = found[:, column, None]
    return known


def blended_in_tensor_cells(shape, order, u, known):
    """u (cell, node, dim) in all of the cells, from that at the `known` nodes (cell, node); corners that are not known stay."""
    u = u.copy()
    cell = cell_maps.geometry_cell(shape, order)
    for corners, inside in parts_of(shape, order):
        free = np.ptp(shape.corners[list(corners)], axis=0) > 0
        if len(corners) == 1 or not len(inside):
            continue
        unknown = np.flatnonzero(~known[:, inside[0]])
        u[np.ix_(unknown, inside)] = np.einsum("ij,cjd->cid", coons(cell, free)[inside], u[unknown], optimize=True)
    return u


def coons(cell, free):
    """Matrix (node, node) of the Boolean sum 1 - product over the free axes of (1 - L_k), L_k the linear interpolation between
    the ends of axis k."""
    one = np.eye(len(cell.x))
    linear = np.zeros_like(one)
    linear[:, 0], linear[:, -1] = (1 - cell.x) / 2, (1 + cell.x) / 2
    rest = np.ones((1, 1))
    for is_free in free:
        rest = np.kron(one - linear if is_free else one, rest)
    return np.eye(len(rest)) - rest


def blended_in_simplices(shape, order, u, known):
    """u (cell, node, dim) in all of the cells, from that at the `known` nodes (cell, node); corners that are not known stay."""
    barycentric = shape.weights(cell_maps.geometry_cell(shape, order).nodes)
    result = np.zeros_like(u)
    for corners, inside in parts_of(shape, order)[:-1]:
        if not len(inside):
            continue
        where = np.flatnonzero(known[:, inside[0]])
        left = u[np.ix_(where, inside)] - result[np.ix_(where, inside)]
        functions = bubbles(barycentric[:, list(corners)], order)
        result[where] += np.einsum("ij,cjd->cid", functions @ np.linalg.inv(functions[inside]), left, optimize=True)
    result[known] = u[known]
    return result


def bubbles(barycentric, order):
    """Polynomials (point, function) of a degree that vanish on all faces of a cell that do not hold the corners whose
    barycentric coordinates (point, corner) are given: their product times the monomials of their differences."""
    count = barycentric.shape[1]
    differences = barycentric[:, :-1] - barycentric[:, -1:]
    powers = [p for p in product(range(order - count + 1), repeat=count - 1) if sum(p) <= order - count]
    monomials = [np.prod(differences ** np.array(p, dtype=int), axis=1) for p in powers]
    return np.prod(barycentric, axis=1)[:, None] * np.stack(monomials, axis=1)
