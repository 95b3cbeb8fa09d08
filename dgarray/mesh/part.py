"""Meshes of some of the cells of another one."""
from dataclasses import replace

import numpy as np

from .faces import Neighbours


def part(mesh, cells, cut, alone):
    """See `Mesh.part`."""
    place = np.full(len(mesh.cells), -1)
    place[cells] = np.arange(len(cells))
    kept = mesh.cells[cells]
    used = np.unique(kept[kept >= 0])
    corners = np.where(kept >= 0, np.searchsorted(used, kept), kept)
    cell, face = place[mesh.neighbour_cell[cells]], mesh.neighbour_face[cells]
    lost = (face >= 0) & (cell < 0)
    for sides, faces in (mesh.hanging.sides.T, mesh.join_faces.T):
        here = place[sides] >= 0
        lost[place[sides[here]], faces[here]] = True
    cell = np.where(lost | (face < 0), np.arange(len(cells))[:, None], cell)
    boundaries = {name: np.column_stack([place[rows[:, 0]], rows[:, 1]])[place[rows[:, 0]] >= 0]
                  for name, rows in mesh.boundaries.items()} | {cut: np.argwhere(lost)}
    interfaces = {name: np.column_stack([place[rows[:, 0]], rows[:, 1]])[place[rows[:, 0]] >= 0]
                  for name, rows in mesh.interfaces.items()}
    regions = {name: np.sort(place[numbers][place[numbers] >= 0]) for name, numbers in mesh.regions.items()}
    glued, nodes = mesh.glued.copy(), mesh.geometry_nodes
    glued[:, ::2] = place[glued[:, ::2]]
    neighbours = Neighbours(cell, np.where(lost, -1, face), mesh.orientation[cells])
    nodes = nodes[cells] if nodes is not None and mesh.is_curved[cells].any() else None
    found = replace(mesh, points=mesh.points[used], cells=corners, numbers=mesh.numbers[cells], neighbours=neighbours,
                    boundaries=boundaries, interfaces=interfaces, regions=regions, geometry_nodes=nodes, hanging=None,
                    glued=glued[(glued[:, ::2] >= 0).all(axis=1)], join_faces=None, notes=(), share=None, owner=None)
    return found.blocks[0] if alone and len(found.shapes) == 1 else found
