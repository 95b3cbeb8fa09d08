"""Face connectivity of nodal elements as index lists (the vmapM and vmapP of Hesthaven & Warburton 2008, section 6.3).

Nodes are numbered node * elements + element, the flat index into one variable of q[variable, node, element].  With the points
of a `ModalSimplex` in the place of nodes they are indices into the values at the faces, [variable, face * face point, element].
"""
import numpy as np


def exterior_nodes(mesh, cell):
    """Numbers (face * face node, element) of the nodes that face each face node from outside; its own at the boundary."""
    elements = len(mesh.cells)
    kind = np.int32 if (cell.face_nodes.max() + 1) * elements < 2 ** 31 else np.int64
    numbers, _ = cell.match_positions
    result = np.empty((len(cell.face_nodes), cell.face_nodes.shape[1], elements), kind)
    own = np.arange(elements)
    for face, nodes in enumerate(cell.face_nodes):
        other, inside = mesh.neighbour_face[:, face], mesh.neighbour_face[:, face] >= 0
        outside = np.where(inside[:, None], numbers[face, other, codes(mesh, face)], nodes)
        result[face] = (outside * elements + np.where(inside, mesh.neighbour_cell[:, face], own)[:, None]).T
    return result.reshape(-1, elements)


def codes(mesh, face):
    """Code of the vertex permutation between each cell's face and its neighbour's, sum_i p[i] dim^i."""
    return (mesh.orientation[:, face] * mesh.dim ** np.arange(mesh.dim)).sum(axis=1) * (mesh.neighbour_face[:, face] >= 0)


def interior_faces(mesh, cell):
    """Every interior face once: dict of arrays over faces.

    cells (2, face)                 left and right element
    sides (2, face)                 the face's number in each
    codes (1, face)                 code of the vertex permutation between the two, see `codes`
    nodes (2, face node, face)      node numbers on both sides, in the order of the left face
    slots (2, face node, face)      where each side keeps its face flux: (face * face node) * elements + element
    """
    elements, (numbers, positions) = len(mesh.cells), cell.match_positions
    count = cell.face_nodes.shape[1]
    parts = []
    for face, nodes in enumerate(cell.face_nodes):
        left = np.arange(elements)
        right, other = mesh.neighbour_cell[:, face], mesh.neighbour_face[:, face]
        once = (other >= 0) & ((left < right) | (left == right) & (face < other))
        left, right, other, code = left[once], right[once], other[once], codes(mesh, face)[once]
        own = np.broadcast_to(np.arange(count)[:, None], (count, len(left)))
        theirs = positions[face, other, code].T
        parts.append((np.array([left, right]), np.array([np.full_like(other, face), other]), code[None],
                      np.array([nodes[own] * elements + left, numbers[face, other, code].T * elements + right]),
                      np.array([(face * count + own) * elements + left, (other * count + theirs) * elements + right])))
    return dict(zip(("cells", "sides", "codes", "nodes", "slots"), (np.concatenate(p, axis=-1) for p in zip(*parts))))


def boundary_nodes(cell, elements, faces):
    """Node numbers and face-flux slots, both (face node, boundary face), of the boundary faces (count, 2)."""
    cells, sides = faces.T
    count = cell.face_nodes.shape[1]
    slots = (sides * count + np.arange(count)[:, None]) * elements + cells
    return cell.face_nodes[sides].T * elements + cells, slots
