"""Named sides of cells, as Abaqus, Exodus and Gambit files have them: a cell's number and that of one of its sides."""
import meshio
import numpy as np

from ...support.wording import plural
from ..errors import MeshError
from .cells import block_of, places, straight


def with_sides(points, blocks, numbers, sets, sides, table):
    """The meshio mesh of cells with their groups and with the named sides as cells of their own, the last blocks.

    blocks    [(meshio type, nodes (cell, node))]
    numbers   for each block the cells' numbers in the file, (cell,)
    sets      name -> numbers of cells
    sides     name -> (numbers of cells, numbers of their sides, from 1)
    table     type of the straight cell -> the corners of each side
    Sides of cells whose type is not in the table name nothing. Returns notes on numbers of cells that do not exist, too.
    Raises MeshError for sides that do not exist."""
    every = np.concatenate([np.asarray(of_block, np.int64) for of_block in numbers]) if numbers else np.empty(0, np.int64)
    block = np.repeat(np.arange(len(numbers)), [len(of_block) for of_block in numbers])
    row = np.concatenate([np.arange(len(of_block)) for of_block in numbers]) if numbers else every

    members, notes = {}, []

    def find(name, wanted):
        """Place of each of the cells, or -1, and block and row of the others."""
        place = places(every, np.asarray(wanted, np.int64))
        if (place < 0).any():
            lost = np.asarray(wanted)[place < 0]
            notes.append(f"{name!r} names {plural(len(lost), 'cell')} that the file does not have, first {lost[0]}")
        return place >= 0, block[place[place >= 0]], row[place[place >= 0]]

    for name, wanted in sets.items():
        _, where, rows = find(name, wanted)
        members[name] = {k: np.unique(rows[where == k]) for k in np.unique(where).tolist()}
    cells = [block_of(*of_block) for of_block in blocks]
    for name, (wanted, side) in sides.items():
        there, where, rows = find(name, wanted)
        side, faces = np.asarray(side)[there], {}
        for k, number in np.unique(np.column_stack([where, side]), axis=0).tolist():
            kind = straight(cells[k].type)
            if kind not in table:
                continue
            if not 1 <= number <= len(table[kind]):
                raise MeshError(f"{name!r} names the side {number} of a {kind} cell; allowed: 1 to {len(table[kind])}")
            corners = table[kind][number - 1]
            faces.setdefault(len(corners), []).append(cells[k].data[rows[(where == k) & (side == number)]][:, corners])
        for count, found in faces.items():
            members.setdefault(name, {})[len(cells)] = np.arange(sum(map(len, found)))
            cells.append(block_of({1: "vertex", 2: "line", 3: "triangle", 4: "quad"}[count], np.concatenate(found)))
    none = np.empty(0, np.int64)
    return meshio.Mesh(points, cells, cell_sets={name: [inside.get(k, none) for k in range(len(cells))]
                                                 for name, inside in members.items()}), notes
