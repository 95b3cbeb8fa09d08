"""The cells of a mesh by their shapes: a block for each, and arrays of blocks one behind the other."""
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from .curved import cell_maps
from .faces import Neighbours

NONE = -1          # corner that a cell with fewer of them does not have


def by_block(function: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    """A method that computes `function` of each block of a mesh: values (cell, ...), or (cell, face, ...) that are 0 at faces
    that a cell does not have."""
    @wraps(function)
    def of_mesh(mesh):
        found = [function(block) for block in mesh.blocks]
        return found[0] if len(found) == 1 else padded(found, 0) if found[0].ndim > 1 else np.concatenate(found)
    return of_mesh


def cut(mesh):
    """The blocks of a mesh of several shapes: a mesh of the cells of each, on the points of all."""
    corners = np.count_nonzero(mesh.cells >= 0, axis=1)
    ends = [*np.searchsorted(corners, [len(shape.vertices) for shape in mesh.shapes]), len(corners)]
    return tuple(_block(mesh, *some) for some in zip(mesh.shapes, ends, ends[1:]))


def _block(mesh, shape, first, last):
    some, faces, vertices = slice(first, last), len(shape.faces), max(map(len, shape.faces))
    number, there = mesh.neighbour_cell[some, :faces], mesh.neighbour_face[some, :faces]
    inside = (number >= first) & (number < last)
    at_join = (there >= 0) & ~inside
    neighbours = Neighbours(np.where(at_join | (there < 0), np.arange(last - first)[:, None], number - first),
                            np.where(at_join, -1, there), mesh.orientation[some, :faces, :vertices])

    def rows_here(rows):
        return rows[(rows[:, 0] >= first) & (rows[:, 0] < last)] - [first, 0]
    nodes = None if mesh.geometry_nodes is None else mesh.geometry_nodes[some]
    if nodes is not None:
        nodes = nodes[:, ~np.isnan(nodes).any(axis=(0, 2))]
    glued = mesh.glued[((mesh.glued[:, ::2] >= first) & (mesh.glued[:, ::2] < last)).all(axis=1)] - [first, 0, first, 0]
    return replace(mesh, cells=mesh.cells[some, :len(shape.vertices)], numbers=mesh.numbers[some], neighbours=neighbours,
                   boundaries={name: rows_here(rows) for name, rows in mesh.boundaries.items()},
                   interfaces={name: rows_here(rows) for name, rows in mesh.interfaces.items()},
                   regions={name: numbers[(numbers >= first) & (numbers < last)] - first
                            for name, numbers in mesh.regions.items()},
                   notes=(), glued=glued, share=None, owner=None, hanging=None, geometry_nodes=nodes,
                   join_faces=np.argwhere(at_join))


def padded(arrays, value):
    """Arrays (cell, column, ...) one behind the other, filled up with a value to the largest number of columns."""
    if len(arrays) == 1:
        return arrays[0]
    columns = max(array.shape[1] for array in arrays)
    return np.concatenate([np.pad(array, [(0, 0), (0, columns - array.shape[1]), *[(0, 0)] * (array.ndim - 2)],
                                  constant_values=value) for array in arrays])


def all_nodes(blocks):
    """The `geometry_nodes` of a mesh from those of each block; None where all are straight."""
    order = max(block.order for block in blocks)
    if order == 1:
        return None
    found = []
    for block in blocks:
        r = cell_maps.geometry_cell(block.cell_shape, order).nodes
        straight = block.geometry_nodes is None
        found.append(cell_maps.positions(block, r).transpose(2, 1, 0) if straight else block.geometry_nodes)
    return padded(found, np.nan)
