"""Cells cut into equal parts in the reference cell, and curved edges as short lines: curves shown by straight pieces."""
from functools import lru_cache

import numpy as np

from ...reference.shapes import NAMED_SHAPES
from ..refine.children import children
from . import cell_maps

LEVELS = 2          # how often curved cells are halved
LINES = 8          # short lines of a curved edge


@lru_cache(maxsize=16)
def parts_of(shape, levels=LEVELS):
    """Reference points (point, dim) of a cell whose edges are halved so often, and its parts (part, corner), of its shape;
    those of a pyramid are tetrahedra, two in the place of each small pyramid."""
    points, cells = shape.corners, {shape.name: np.arange(len(shape.vertices))[None]}
    for _ in range(levels):
        points, found, _ = children(points, [(NAMED_SHAPES[name], own) for name, own in cells.items()])
        cells = {name: np.concatenate([of_one[name][0].reshape(-1, len(NAMED_SHAPES[name].vertices))
                                       for of_one in found if name in of_one]) for name in found[0]}
    if len(cells) == 1:
        return points, cells[shape.name]
    halves = cells["pyramid"][:, [(0, 1, 2, 4), (0, 2, 3, 4)]].reshape(-1, 4)
    return points, np.concatenate([cells["tetra"], halves])


def parted(mesh, some, levels=LEVELS):
    """Points (point, dim) and straight parts (cell * part, corner) of some cells, see `parts_of`; neighbours share the points
    between them."""
    shape, cells = mesh.cell_shape, mesh.cells[some]
    r, parts = parts_of(shape, levels)
    shares = np.rint(shape.weights(r) * 2 ** (levels * shape.dim)).astype("int64")
    first, number = unique_places(cells, shares)
    cell, point = np.divmod(first, len(r))
    x = cell_maps.positions(mesh, r, some)[:, point, cell].T
    return x, number.reshape(len(cells), len(r))[:, parts].reshape(-1, parts.shape[1])


def unique_places(cells, shares):
    """Places in cells (cell, corner), given by shares (place, corner) of their corners in whole numbers, each once: where the
    first of each is, a number of cell * place, and the number of each (cell * place,).

    A place is known by the corners that it depends on and its share of each: neighbours agree on shared edges and faces."""
    code = np.where(shares > 0, cells[:, None, :] * (shares.sum(axis=1).max() + 1) + shares, -1)
    code = np.sort(code.reshape(-1, cells.shape[1]), axis=1)
    _, first, number = np.unique(code, axis=0, return_index=True, return_inverse=True)
    return first, number.ravel()


def edge_lines(mesh, rows):
    """Points (edge, point, 2) of the edges `rows` (edge, 2: cell, local edge) of a mesh in 2D: two of straight ones."""
    shape = mesh.cell_shape
    share = np.linspace(0, 1, 2 if mesh.geometry_nodes is None else LINES + 1)[:, None]
    lines = np.empty((len(rows), len(share), shape.dim))
    for edge, ends in enumerate(shape.corners[np.array(shape.faces)]):
        some = np.flatnonzero(rows[:, 1] == edge)
        lines[some] = cell_maps.positions(mesh, (1 - share) * ends[0] + share * ends[1], rows[some, 0]).transpose(2, 1, 0)
    return lines
