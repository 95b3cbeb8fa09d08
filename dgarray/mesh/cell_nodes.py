"""The nodes X_j of each cell's map x(r) = sum_j N_j(r) X_j: corners of straight cells, geometry nodes of curved ones.

Arrays of nodes are (cell, node, ..), of meshes of several shapes with nan for the nodes that a cell does not have.
"""
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from .curved import cell_maps


def nodes_of(mesh):
    """The nodes X_j of each cell's map, (cell, node, dim): corners, or geometry nodes; nan where a cell has fewer."""
    if mesh.geometry_nodes is not None:
        return np.array(mesh.geometry_nodes)
    return np.where((mesh.cells >= 0)[:, :, None], mesh.points[mesh.cells], np.nan)


def with_nodes(mesh, nodes):
    """A mesh in which each cell has nodes of its own, (cell, node, dim)."""
    corners, there = nodes, mesh.cells >= 0
    if mesh.geometry_nodes is not None:
        corners = np.full((*mesh.cells.shape, mesh.dim), np.nan)
        for block, first in zip(mesh.blocks, mesh.first):
            some = slice(first, first + block.cell_count)
            numbers = list(cell_maps.corner_nodes(block.cell_shape, mesh.order))
            corners[some, :len(numbers)] = nodes[some][:, numbers]
    cells = np.full(mesh.cells.shape, -1)
    cells[there] = np.arange(np.count_nonzero(there))
    return replace(mesh, points=corners[there], cells=cells,
                   geometry_nodes=None if mesh.geometry_nodes is None else nodes)


def moved_mesh(mesh, shift):
    """A mesh whose points, of curved cells the geometry nodes, are moved by `shift`, shaped as `MovedPoints.by_points` says.

    Raises ValueError where that turns cells over."""
    curved = mesh.geometry_nodes is not None
    moved = with_nodes(mesh, mesh.geometry_nodes + shift) if curved else replace(mesh, points=mesh.points + shift)
    for block in moved.blocks:
        r = geometry_points(block)
        bad = np.flatnonzero((cell_maps.determinant(cell_maps.jacobians(block, r)) <= 0).any(axis=0))
        if len(bad):
            raise ValueError(f"the points are moved so far that cells turn over, first {block.named_place(bad[0])}; take "
                             "shorter steps or bounds, or a smaller `step` of check")
    return moved


def geometry_points(mesh):
    """Reference points at which a valid cell has det dx/dr > 0, (point, dim)."""
    if mesh.geometry_nodes is None:
        return mesh.cell_shape.corners[:1] if mesh.cell_shape.simplex else mesh.cell_shape.test_points
    return cell_maps.geometry_cell(mesh.cell_shape, mesh.order).nodes


def places(mesh, glued=False):
    """The number of the place of each node of `nodes_of`, (cell, node), -1 where a cell has none: of straight cells that of the
    point, of curved ones such that nodes at one place have the same; glued: also those on both sides of periodic pairs."""
    if mesh.geometry_nodes is None and not glued:
        return np.asarray(mesh.cells)
    nodes = nodes_of(mesh)
    there = ~np.isnan(nodes[:, :, 0])
    x, tree = nodes[there], cKDTree(nodes[there])
    near = cell_maps.STRAIGHT * np.ptp(x, axis=0).max()
    pairs = [tree.query_pairs(near, output_type="ndarray")]
    if glued:
        own, other = mesh.glued[:, :2], mesh.glued[:, 2:]
        row = np.cumsum(there.ravel()).reshape(there.shape) - 1          # of each node in x
        for cell, shift in zip(own[:, 0], mesh.face_centres(other) - mesh.face_centres(own)):
            rows = row[cell][there[cell]]
            gap, beyond = tree.query(x[rows] + shift)
            pairs.append(np.stack([rows, beyond], axis=1)[gap < near])
    found, (i, j) = np.full(there.shape, -1), np.concatenate(pairs).T
    found[there] = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(len(x),) * 2), directed=False)[1]
    return found


def at_faces(mesh, numbers, rows):
    """The places of the nodes on the faces `rows` (cell, local face); numbers: as of `places`."""
    found = [np.empty(0, int)]
    for block, first in zip(mesh.blocks, mesh.first):
        shape = block.cell_shape
        nodes = shape.corners if mesh.geometry_nodes is None else cell_maps.geometry_cell(shape, mesh.order).nodes
        for local, corners in enumerate(shape.faces):
            x = shape.corners[list(corners)]
            gap = nodes - x[0]
            along = (x[1:] - x[0]).T
            off = gap - gap @ np.linalg.pinv(along).T @ along.T
            on_face = np.flatnonzero(np.abs(off).max(axis=1) < cell_maps.STRAIGHT)
            cells = rows[(rows[:, 1] == local) & (rows[:, 0] >= first) & (rows[:, 0] < first + block.cell_count), 0]
            found.append(numbers[cells][:, on_face].ravel())
    return np.unique(np.concatenate(found))
