"""Cells as readers of mesh files hold them: blocks of a meshio type, their faces, and nodes by the numbers in the file."""
import re

import meshio
import numpy as np

# Corners, from 0, of the faces of cells, in the order in which Exodus numbers them.
FACES = {
    "triangle": ((0, 1), (1, 2), (2, 0)), "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tetra": ((0, 1, 3), (1, 2, 3), (0, 3, 2), (0, 2, 1)),
    "pyramid": ((0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 3, 2, 1)),
    "wedge": ((0, 1, 4, 3), (1, 2, 5, 4), (0, 3, 5, 2), (0, 2, 1), (3, 4, 5)),
    "hexahedron": ((0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 4, 7, 3), (0, 3, 2, 1), (4, 5, 6, 7))}


def straight(name):
    """The straight cell of a meshio type with a number of nodes in its name: "tetra" of tetra10."""
    return re.sub(r"\d+$", "", name)


def block_of(name, nodes):
    """A meshio block of cells (cell, node), also of the types whose dimension meshio 5.3.5 does not know, such as wedge15."""
    block = meshio.CellBlock(straight(name), nodes)
    block.type = name
    return block


def places(tags, wanted):
    """Places among the tags of the wanted ones, an array of any shape; -1 where a tag does not exist."""
    if not len(tags):
        return np.full(np.shape(wanted), -1)
    order = np.argsort(tags, kind="stable")
    place = order[np.minimum(np.searchsorted(tags, wanted, sorter=order), len(tags) - 1)]
    return np.where(tags[place] == wanted, place, -1)
