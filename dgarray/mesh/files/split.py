"""Cells of any shape in files become conforming triangles or tetrahedra: `read_mesh(file, split=True)`.

The nodes of curved pieces are nodes of the cell that they are cut from: the lattice of nodes of degree k on a piece is part of
that of the cell. On a face both of its cells have the same nodes, so that the pieces agree there."""
import meshio
import numpy as np

from ...support.wording import plural
from .. import clean, geometry
from ..curved import geometry as curved_geometry
from ..errors import MeshError
from .split_nodes import LATTICE_TYPES, completed, kind_of, lattice, order_of_cells, piece_nodes
from .split_tables import cell_codes, codes, halves, tables

SIMPLICES = {2: "triangle", 3: "tetra"}
# The centre's table is taken where the smallest inradius of its pieces is so many times that of the best other table.
AROUND_CENTRE = 20
# Along this direction no two points of usual meshes have the same height.
DIRECTION = np.array([1.0, 0.7548776662466927, 0.5698402909980532])
TOLERANCE = 1e-6          # of inradii that count as equal
ROUNDING = 8 * np.finfo(float).eps
NAMED = 3          # cells that a message names


def simplices(data, dim, label):
    """A meshio mesh whose cells of the dimension `dim`, and of one less, are simplices, and for each of its blocks which cells
    of that block in `data` its cells are pieces of, in rising order.

    label(block, cell) names a cell. Cells that are simplices of one type, and lines, stay as they are.
    Raises MeshError for types of cells that cannot be cut, and for cells of several orders."""
    parents = [np.arange(len(block.data)) for block in data.cells]
    volume = [k for k, block in enumerate(data.cells) if block.dim == dim and len(block.data)]
    types = {(data.cells[k].type, np.shape(data.cells[k].data)[1]) for k in volume}
    if dim not in SIMPLICES or len(types) == 1 and kind_of(data.cells[volume[0]].type) == SIMPLICES[dim]:
        return data, parents
    points = np.asarray(data.points, dtype=np.float64)
    if points.shape[1] < dim:
        raise MeshError(f"cells in {dim}D need {dim} coordinates, the points have {points.shape[1]}")
    for name, count in sorted(types):
        order_of_cells(name, count)
    nodes = {k: np.asarray(data.cells[k].data, dtype=np.int64) for k in volume}
    for k, rows in nodes.items():
        clean.check_used(points, rows, lambda cell, k=k: label(k, cell))
    kinds = {k: lattice(data.cells[k].type, points[rows]) for k, rows in nodes.items()}
    order = one_order(data, kinds)
    used = np.unique(np.concatenate([rows.ravel() for rows in nodes.values()]))
    points, nodes = completed(points, nodes, kinds)
    rank = ranks(points)
    blocks = [(block.type, np.asarray(block.data)) for block in data.cells]
    for k in volume:
        points, rows, parents[k] = cut(points, nodes[k], *kinds[k], rank)
        blocks[k] = SIMPLICES[dim] if order == 1 else LATTICE_TYPES[SIMPLICES[dim]], rows
    for k, block in enumerate(data.cells):
        if dim == 3 and block.dim == 2 and kind_of(block.type) == "quad" and len(block.data):
            rows, parents[k] = cut_faces(np.asarray(block.data)[:, :4], rank)
            blocks[k] = "triangle", rows
    return meshio.Mesh(*without(points, blocks, len(data.points), used)), parents


def one_order(data, kinds):
    """The order of all cells. Raises MeshError where there are several."""
    found = {}
    for k, (_, order, _) in kinds.items():
        found.setdefault(order, set()).add(data.cells[k].type)
    if len(found) > 1:
        names = "; ".join(f"{', '.join(sorted(map(repr, found[order])))} of order {order}" for order in sorted(found))
        raise MeshError(f"cells of several orders in one mesh do not fit together: {names}; save all cells with one order")
    return order


def ranks(points):
    """The numbers (point,) by which diagonals are chosen: those of the points in the order of their heights along a direction,
    so that faces which a translation maps onto each other, as on periodic boundaries, are cut alike."""
    rank = np.empty(len(points), dtype=np.int64)
    rank[np.argsort(points @ DIRECTION[:points.shape[1]], kind="stable")] = np.arange(len(points))
    return rank


def cut(points, nodes, kind, order, places, rank):
    """(points, nodes of the pieces (piece, node), number of the cell of each piece (piece,)) of cells of a kind with the nodes
    (cell, node). The centres of straight cells that are cut around them join the points."""
    corners, centre = nodes[:, :len(kind.corners)], len(kind.corners)
    bits = cell_codes(kind, rank, corners)
    found, cells = [], []
    for code in np.unique(bits):
        members = np.flatnonzero(bits == code)
        options = tables(kind.name, int(code))
        if order > 1:          # the centre is no node of curved cells
            options = [pieces for pieces in options if centre not in pieces]
        chosen = best(points[:, :kind.dim], corners[members], options)
        for option, pieces in enumerate(options):
            some = members[chosen == option]
            if centre in pieces:
                rows = np.column_stack([corners[some], len(points) + np.arange(len(some))])[:, pieces]
                points = np.concatenate([points, points[corners[some]].mean(axis=1)])
            else:
                rows = nodes[some][:, piece_nodes(kind, order, places, pieces)]
            found.append(rows.reshape(-1, rows.shape[2]))
            cells.append(np.repeat(some, len(pieces)))
    rows, cells = np.concatenate(found), np.concatenate(cells)
    rows = rows[np.argsort(cells, kind="stable")]
    kept = ~repeated(rows[:, :kind.dim + 1])          # a hexahedron in which corners are one point has fewer pieces
    return points, rows[kept], np.sort(cells)[kept]


def cut_faces(corners, rank):
    """(corners of triangles (triangle, 3), number of the face of each (triangle,)) of quadrilateral faces (face, 4)."""
    places = np.array([halves(code) for code in (0, 1)])[codes(rank, corners)]
    rows = np.take_along_axis(corners[:, None], places, axis=2).reshape(-1, 3)
    kept = ~repeated(rows)
    return rows[kept], np.repeat(np.arange(len(corners)), 2)[kept]


def repeated(rows):
    """Whether each row (..., number) has a number twice, (...)."""
    ordered = np.sort(rows, axis=-1)
    return (ordered[..., 1:] == ordered[..., :-1]).any(axis=-1)


def best(points, corners, options):
    """The number of the table (cell,) by which each cell is cut: the first of those whose smallest piece is largest."""
    if len(options) == 1:
        return np.zeros(len(corners), dtype=np.int64)
    x = points[corners]
    x, numbers = np.concatenate([x, x.mean(axis=1, keepdims=True)], axis=1), np.insert(corners, corners.shape[1], -1, axis=1)
    scores = np.stack([smallest_inradii(x, numbers, pieces) / (AROUND_CENTRE if corners.shape[1] in pieces else 1)
                       for pieces in options])
    return np.argmax(scores >= scores.max(axis=0) - TOLERANCE * np.abs(scores.max(axis=0)), axis=0)


def smallest_inradii(x, numbers, pieces):
    """The smallest inradius of the pieces of each cell, (cell,), negative where one is turned over; pieces with a point twice
    do not count. x (cell, corner, dim), numbers (cell, corner) of the points."""
    dim, own = x.shape[2], x[:, pieces].reshape(-1, x.shape[2])
    cells = np.arange(len(own)).reshape(-1, dim + 1)
    measure = geometry.signed_measures(own, cells).reshape(len(x), -1)
    area = np.linalg.norm(geometry.area_vectors(own, cells), axis=2).sum(axis=1).reshape(len(x), -1)
    radius = dim * measure / np.where(area > 0, area, 1) * np.where(measure.sum(axis=1) < 0, -1, 1)[:, None]
    return np.where(repeated(numbers[:, pieces]), np.inf, radius).min(axis=1)


def without(points, blocks, count, used):
    """Points and blocks without the points that cells had and pieces do not have, and without added ones that none has.

    count: of the points in the file;  used: numbers of those that cells have"""
    kept = np.arange(len(points)) < count
    kept[used] = False
    for _, rows in blocks:
        kept[rows[(rows >= 0) & (rows < len(points))]] = True
    if kept.all():
        return points, blocks
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    inside = [(rows >= 0) & (rows < len(points)) for _, rows in blocks]
    return points[kept], [(name, np.where(ok, np.take(number, rows, mode="clip"), -1))
                          for (name, rows), ok in zip(blocks, inside)]


def check_pieces(elements, label):
    """Raise MeshError where a piece is turned over or flat, as the pieces of a valid cell can be where its faces are warped.

    elements: the `Elements` with the numbers of the cells that they are pieces of;  label(piece) names such a cell"""
    points, cells, numbers, nodes = elements
    _, first, parent, count = np.unique(numbers, return_index=True, return_inverse=True, return_counts=True)
    parent = parent.ravel()
    measures = geometry.signed_measures(points, cells) if nodes is None else curved_geometry.measures(elements)
    size = np.abs(points[cells]).max(axis=(1, 2)) * geometry.longest_edges(points, cells) ** (elements.dim - 1)
    sign = np.where(np.bincount(parent, measures) < 0, -1, 1)[parent]
    bad = np.unique(parent[(measures * sign <= ROUNDING * size) & (count[parent] > 1)])
    if len(bad):
        names = ", ".join(label(k) for k in first[bad[:NAMED]]) + ", ..." * (len(bad) > NAMED)
        shapes = "triangles" if elements.dim == 2 else "tetrahedra"
        raise MeshError(f"{plural(len(bad), 'cell')} cannot be split into {shapes} that fit the neighbours: {names}; a piece "
                        "would be flat or turned over; move the nodes of the cell until its faces are less warped, or remesh")
