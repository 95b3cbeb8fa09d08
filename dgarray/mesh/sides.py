"""Named sides of cells, as Abaqus, Exodus and Gambit files have them: a cell's number and that of one of its sides."""
import re

import meshio
import numpy as np

from .errors import MeshError

# Corners, from 0, of the faces of cells, in the order in which Exodus numbers them.
FACES = {
    "triangle": ((0, 1), (1, 2), (2, 0)), "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tetra": ((0, 1, 3), (1, 2, 3), (0, 3, 2), (0, 2, 1)),
    "pyramid": ((0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 3, 2, 1)),
    "wedge": ((0, 1, 4, 3), (1, 2, 5, 4), (0, 3, 5, 2), (0, 2, 1), (3, 4, 5)),
    "hexahedron": ((0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 4, 7, 3), (0, 3, 2, 1), (4, 5, 6, 7))}


def corners_of(name):
    """The straight cell of a meshio type with numbers for its nodes: "tetra" of tetra10."""
    return re.sub(r"\d+$", "", name)


def with_sides(points, blocks, numbers, sets, sides, table):
    """The meshio mesh of cells with their groups and with the named sides as cells of their own, the last blocks.

    blocks    [(meshio type, nodes (cell, node))]
    numbers   for each block the cells' numbers in the file, (cell,)
    sets      name -> numbers of cells
    sides     name -> (numbers of cells, numbers of their sides, from 1)
    table     type of the straight cell -> the corners of each side
    Raises MeshError for numbers of cells and sides that do not exist."""
    every = np.concatenate([np.asarray(of_block, np.int64) for of_block in numbers]) if numbers else np.empty(0, np.int64)
    block = np.repeat(np.arange(len(numbers)), [len(of_block) for of_block in numbers])
    row = np.concatenate([np.arange(len(of_block)) for of_block in numbers]) if numbers else every
    order = np.argsort(every, kind="stable")

    def find(name, wanted):
        wanted = np.asarray(wanted, np.int64)
        place = order[np.minimum(np.searchsorted(every, wanted, sorter=order), len(every) - 1)] if len(every) else wanted
        lost = wanted[every[place] != wanted] if len(every) else wanted
        if len(lost):
            raise MeshError(f"{name!r} names the cell {lost[0]}, which the file does not have")
        return block[place], row[place]

    members = {}
    for name, wanted in sets.items():
        where, rows = find(name, wanted)
        members[name] = {k: np.unique(rows[where == k]) for k in np.unique(where).tolist()}
    cells = [meshio.CellBlock(*of_block) for of_block in blocks]
    for name, (wanted, side) in sides.items():
        where, rows = find(name, wanted)
        faces = {}
        for k, number in np.unique(np.column_stack([where, side]), axis=0).tolist():
            kind = corners_of(cells[k].type)
            if not 1 <= number <= len(table.get(kind, ())):
                raise MeshError(f"{name!r} names the side {number} of a {kind} cell; allowed: 1 to {len(table.get(kind, ()))}")
            corners = table[kind][number - 1]
            faces.setdefault(len(corners), []).append(cells[k].data[rows[(where == k) & (side == number)]][:, corners])
        for count, found in faces.items():
            members.setdefault(name, {})[len(cells)] = np.arange(sum(map(len, found)))
            cells.append(meshio.CellBlock({1: "vertex", 2: "line", 3: "triangle", 4: "quad"}[count], np.concatenate(found)))
    none = np.empty(0, np.int64)
    return meshio.Mesh(points, cells, cell_sets={name: [inside.get(k, none) for k in range(len(cells))]
                                                 for name, inside in members.items()})
