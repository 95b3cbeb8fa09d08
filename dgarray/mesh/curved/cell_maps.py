"""The map from the reference cell to each cell of a mesh: affine, multilinear, or polynomial through geometry nodes.

x(r) = sum_j l_j(r) X_j. Straight cells have their corners for X_j and the linear, bilinear or trilinear functions for l_j. In a
curved mesh, X_j are the `geometry_nodes` (cell, node, dim) of the mesh, and l_j the Lagrange functions of degree g of the nodes
of `reference_cell(shape, g, "lobatto")`.

A mesh is here all that has `points`, `cells` and `geometry_nodes`: a `Mesh`, or its `Elements`."""
from functools import lru_cache

import numpy as np

from ...reference import reference_cell, shape_of
from ...reference.columns import multiply

# Numbers of one temporary array.
BLOCK = 1 << 20
HIGHEST = 10          # degree of a curved cell's map
# Distance of a cell's geometry nodes from those of a straight cell, as a share of its size, that counts as rounding.
STRAIGHT = 1e-9


def geometry_cell(shape, order):
    """The reference cell whose `nodes` are the geometry nodes of cells of a `Shape`, of the degree `order` of their map."""
    return reference_cell(shape, order, None if shape.simplex else "lobatto")


@lru_cache(maxsize=64)
def order_of(shape, count):
    """The degree of the map through so many geometry nodes. Raises ValueError where there is none."""
    for order in range(1, HIGHEST + 1):
        if shape.node_count(order) == count:
            return order
    allowed = ", ".join(str(shape.node_count(order)) for order in range(2, HIGHEST + 1))
    raise ValueError(f"{count} geometry nodes of a {shape.name} cell are not allowed; there are {allowed} for the orders 2 to "
                     f"{HIGHEST}")


@lru_cache(maxsize=64)
def corner_nodes(shape, order):
    """Numbers of the geometry nodes at the corners, in the corners' order."""
    return tuple(nearest_nodes(geometry_cell(shape, order).nodes, shape.corners).tolist())


def nearest_nodes(nodes, r):
    """Number of the node nearest to each reference point r (point, dim)."""
    return np.abs(nodes[None] - np.asarray(r)[:, None]).max(axis=2).argmin(axis=1)


def interpolation(shape, order, r):
    """The matrix (point, node) that evaluates at the reference points r (point, dim) what the geometry nodes have."""
    r = np.ascontiguousarray(r, dtype=float)
    return _at_points("interpolation", shape, order, len(r), r.tobytes())


def slopes(shape, order, r):
    """The matrices (dim, point, node) that evaluate its derivatives with respect to r."""
    r = np.ascontiguousarray(r, dtype=float)
    return _at_points("gradients", shape, order, len(r), r.tobytes())


@lru_cache(maxsize=64)
def _at_points(what, shape, order, count, r):
    matrix = getattr(geometry_cell(shape, order), what)(np.frombuffer(r).reshape(count, shape.dim))
    matrix.flags.writeable = False
    return matrix


def map_order(mesh):
    """The degree of the map of a mesh's cells, 1 where they are straight."""
    return 1 if mesh.geometry_nodes is None else order_of(shape_of(mesh.points, mesh.cells), mesh.geometry_nodes.shape[1])


def positions(mesh, r, cells=slice(None)):
    """x (dim, point, element) at the reference points r (point, dim) of some cells."""
    shape, nodes = shape_of(mesh.points, mesh.cells), _nodes(mesh, cells)
    if mesh.geometry_nodes is None:
        matrix = shape.weights(r)
    else:
        matrix = interpolation(shape, map_order(mesh), r)
    return np.stack([multiply(matrix, component) for component in nodes.transpose(2, 1, 0)])


def centres(mesh):
    """Images of the reference cell's centre, (dim, element): the mean of the corners where a cell is straight."""
    shape = shape_of(mesh.points, mesh.cells)
    if mesh.geometry_nodes is None:
        return mesh.points[mesh.cells].mean(axis=1).T
    return positions(mesh, shape.corners.mean(axis=0)[None])[:, 0]


def jacobians(mesh, r, cells=slice(None)):
    """dx_i/dr_k (point, element, i, k) at the reference points r (point, dim) of some cells."""
    shape, nodes = shape_of(mesh.points, mesh.cells), _nodes(mesh, cells)
    if mesh.geometry_nodes is None:
        matrices = np.moveaxis(shape.gradients(r), -1, 0)
    else:
        matrices = slopes(shape, map_order(mesh), r)
    columns = np.ascontiguousarray(nodes.transpose(1, 2, 0))
    J = np.stack([multiply(matrix, columns.reshape(len(columns), -1)) for matrix in matrices])
    return J.reshape(*J.shape[:2], *columns.shape[1:]).transpose(1, 3, 2, 0)


def _nodes(mesh, cells):
    """Corners, or geometry nodes, of some cells, (cell, node, dim)."""
    return mesh.points[mesh.cells[cells]] if mesh.geometry_nodes is None else mesh.geometry_nodes[cells]


def determinant(J):
    """det J (...) of matrices (..., dim, dim), summed in a fixed order."""
    if J.shape[-1] == 1:
        return J[..., 0, 0]
    if J.shape[-1] == 2:
        return J[..., 0, 0] * J[..., 1, 1] - J[..., 0, 1] * J[..., 1, 0]
    return np.sum(J[..., 0] * np.cross(J[..., 1], J[..., 2]), axis=-1)


def cofactors(J):
    """det J times the transposed inverse of J (..., dim, dim): what turns n dS of the reference cell into n dS."""
    if J.shape[-1] == 1:
        return np.ones_like(J)
    if J.shape[-1] == 2:
        return np.stack([np.stack([J[..., 1, 1], -J[..., 1, 0]], -1), np.stack([-J[..., 0, 1], J[..., 0, 0]], -1)], -2)
    return np.stack([np.cross(J[..., (k + 1) % 3], J[..., (k + 2) % 3]) for k in range(3)], axis=-1)


def blocks(count, points):
    """Slices of so many cells, small enough to bound the memory for Jacobians at this many points of each."""
    size = max(8, BLOCK // (9 * points) // 8 * 8)
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


def bends(mesh):
    """Largest distance of each cell's geometry nodes from where a straight cell with the same corners has them, (cell,)."""
    shape = shape_of(mesh.points, mesh.cells)
    if mesh.geometry_nodes is None:
        return np.zeros(len(mesh.cells))
    weights = shape.weights(geometry_cell(shape, map_order(mesh)).nodes)
    some = blocks(len(mesh.cells), len(weights))
    gaps = (mesh.geometry_nodes[each] - weights @ mesh.points[mesh.cells[each]] for each in some)
    return np.concatenate([np.linalg.norm(gap, axis=2).max(axis=1) for gap in gaps])


def are_affine(mesh):
    """Whether each cell is an affine image of the reference cell to rounding, (cell,)."""
    shape, x = shape_of(mesh.points, mesh.cells), mesh.points[mesh.cells]
    linear = np.column_stack([np.ones(len(shape.vertices)), shape.corners])
    gap = np.linalg.norm(x - linear @ np.linalg.pinv(linear) @ x, axis=2).max(axis=1)
    return (gap <= _rounding(x)) & ~are_curved(mesh)


def _rounding(x):
    """Distances that count as rounding in cells with the points x (cell, point, dim), (cell,)."""
    return STRAIGHT * np.linalg.norm(np.ptp(x, axis=1), axis=1) + 16 * np.finfo(float).eps * np.abs(x).max(axis=(1, 2))


def are_curved(mesh):
    """Whether each cell's map differs from that of a straight cell with the same corners by more than rounding, (cell,)."""
    if mesh.geometry_nodes is None:
        return np.zeros(len(mesh.cells), dtype=bool)
    return bends(mesh) > _rounding(mesh.geometry_nodes)


def extent(mesh):
    """Lowest and highest coordinates of the points and geometry nodes, (dim,) each."""
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    if mesh.geometry_nodes is None:
        return low, high
    nodes = mesh.geometry_nodes
    return np.minimum(low, np.nanmin(nodes, axis=(0, 1))), np.maximum(high, np.nanmax(nodes, axis=(0, 1)))
