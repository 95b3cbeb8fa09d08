"""The nodes of cells of all kinds in files, and which of them are the nodes of a piece."""
import numpy as np

from ..errors import MeshError
from ..faces import keys
from .nodes import LAGRANGE, base_type, nodes_in_file, order_in_file
from .prism_nodes import find
from .split_tables import KINDS
from .vtk_nodes import node_order

# The types that meshio gives cells whose nodes have VTK's order at every order.
LATTICE_TYPES = {kind: name for name, kind in LAGRANGE.items()}


def kind_of(name):
    """The kind of cells of a meshio type that can be cut, "wedge" of wedge15; None for others."""
    kind = base_type(name)
    return kind if kind in KINDS else None


def order_of_cells(name, count):
    """The order of cells of a meshio type with so many nodes. Raises MeshError for those that cannot be cut."""
    kind = kind_of(name)
    if kind is None:
        raise MeshError(f"cells of type {name!r} cannot be cut into simplices; allowed: {', '.join(KINDS)}, also of higher "
                        "order")
    try:
        return order_in_file(name, count)
    except ValueError as error:
        raise MeshError(f"cells of type {name!r} cannot be cut into simplices: {error}") from None


def lattice(name, x):
    """(kind, order, places) of cells of a meshio type with nodes at x (cell, node, dim): places (node, dim) of the nodes, whole
    numbers, in units of 1 / order of the unit cell; those that serendipity cells lack come last.

    Raises MeshError for cells that cannot be cut."""
    order, kind = order_of_cells(name, x.shape[1]), kind_of(name)
    return KINDS[kind], order, nodes_in_file(name, order, x)


def piece_nodes(kind, order, places, pieces):
    """Numbers (piece, node) of the cell's nodes that pieces with the corners (piece, dim + 1) have, in VTK's order."""
    x = order * kind.corners[pieces]
    inside = node_order("triangle" if kind.dim == 2 else "tetra", order)
    return find(places, x[:, :1] + inside @ (x[:, 1:] - x[:, :1]) // order, order)


def completed(points, nodes, kinds):
    """Points and nodes {block: (cell, node)} with the nodes that serendipity cells of order 2 lack.

    The middle of a face is the node that another cell has there, else that of the face's serendipity functions, half the sum
    of the nodes of its edges less a quarter of that of its corners; the middle of a hexahedron is a quarter of either."""
    lacking = [k for k, rows in nodes.items() if rows.shape[1] < len(kinds[k][2])]
    if not lacking:
        return points, nodes
    nodes, faces, middles, x = dict(nodes), [], [], []
    for k, (kind, _, places) in kinds.items():
        around = kind.corners[kind.quads]
        at = find(places, around.sum(axis=1) // 2, 2)
        edges = find(places, around + np.roll(around, -1, axis=1), 2)
        rows = np.concatenate([nodes[k], np.full((len(nodes[k]), len(places) - nodes[k].shape[1]), -1)], axis=1)
        faces.append(rows[:, kind.quads].reshape(-1, 4))
        middles.append(rows[:, at].ravel())
        middle = points[rows[:, edges]].sum(axis=2) / 2 - points[rows[:, kind.quads]].sum(axis=2) / 4
        x.append(middle.reshape(-1, points.shape[1]))
        nodes[k] = rows
    face = np.unique(keys(np.concatenate(faces)), return_inverse=True)[1].ravel()
    middles, x = np.concatenate(middles), np.concatenate(x)
    known = np.full(face.max() + 1, -1)
    np.maximum.at(known, face, middles)
    first = np.full(len(known), -1)
    first[face[::-1]] = np.arange(len(face))[::-1]
    new = np.flatnonzero(known < 0)
    known[new] = len(points) + np.arange(len(new))
    points = np.concatenate([points, x[first[new]]])
    start = 0
    for k, (kind, _, places) in kinds.items():
        count = len(nodes[k]) * len(kind.quads)
        at = find(places, kind.corners[kind.quads].sum(axis=1) // 2, 2)
        nodes[k][:, at] = known[face[start:start + count]].reshape(len(nodes[k]), -1)
        start += count
        if kind.name == "hexahedron" and k in lacking:
            rows = nodes[k]
            centres = points[rows[:, 8:20]].sum(axis=1) / 4 - points[rows[:, :8]].sum(axis=1) / 4
            rows[:, -1] = len(points) + np.arange(len(rows))
            points = np.concatenate([points, centres])
    return points, nodes
