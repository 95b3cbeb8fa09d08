"""The kind of unknown in each cell of a run, the total or the scattered field, and its incident wave."""
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..mesh.interfaces import other_side
from ..physics.declared import declared
from ..physics.interface_conditions import total_field

KINDS = "total", "scattered"


def unknown_at(mesh, boundary, names):
    """Attributes of a record: the kind of unknown in the cells at some boundaries or interfaces, by the boundary conditions.

    `field` is "total" or "scattered": cells that are connected without a face of `total_field` between them have the same
    unknown, which these faces say, and boundaries with `incident` (total) or `scattered`.  `incident` is the wave that enters,
    where all conditions have the same `plane_wave`.  What the conditions leave open is left out.

    mesh       of the run, or a grid, whose cells are all connected
    boundary   its conditions;  names: of the boundaries or interfaces, whose cells are those that their normals leave"""
    entering = conditions(boundary)
    if not entering:
        return {}
    waves = {declared(condition.field).plane for _, condition in entering}
    attrs = {} if len(waves) > 1 or None in waves else {"incident": waves.pop()}
    kinds = on_grid(entering) if mesh.structured else on_mesh(mesh.whole, boundary, entering, names)
    return attrs | ({"field": KINDS[kinds.pop()]} if len(kinds) == 1 and kinds < {0, 1} else {})


def conditions(boundary):
    """(name, condition) of those through which an incident field enters."""
    return [(name, condition) for name, condition in boundary.items()
            if isinstance(condition, total_field) or declared(condition).unknown]


def on_grid(entering):
    """The numbers in KINDS of all that the sides say."""
    return {KINDS.index(condition.unknown) for _, condition in entering}


def on_mesh(mesh, boundary, entering, names):
    """The numbers in KINDS of the unknown in the cells, -1 where nothing says so, -2 where conditions contradict each other."""
    sides = [(mesh.interfaces[name], condition) for name, condition in entering if isinstance(condition, total_field)]
    sides = [(rows, other_side(mesh.neighbours, rows), condition) for rows, condition in sides]
    part = connected(mesh, [rows for left, right, _ in sides for rows in (left, right)])
    said = np.zeros((part.max() + 1, 2), bool)
    for left, right, condition in sides:
        inside, outside = (left, right)[::condition.sign]
        said[part[inside[:, 0]], 0] = said[part[outside[:, 0]], 1] = True
    for name, condition in entering:
        if not isinstance(condition, total_field):
            said[part[faces_of(mesh, boundary, name)[:, 0]], KINDS.index(condition.unknown)] = True
    kind = np.select([said.all(axis=1), said[:, 0], said[:, 1]], [-2, 0, 1], -1)
    cells = np.concatenate([mesh.named(str(name))[:, 0] for name in names])
    return set(kind[part[cells]].tolist())


def faces_of(mesh, boundary, name):
    """The faces, rows (cell, local face), of a boundary or interface; for "default" of all boundaries without a condition of
    their own."""
    if name in mesh.boundaries or name in mesh.interfaces:
        return mesh.named(name)
    left = np.zeros(mesh.neighbour_face.shape, bool)
    left[tuple(mesh.boundary_faces.T)] = True
    for other in boundary.keys() & mesh.boundaries.keys():
        left[tuple(mesh.boundaries[other].T)] = False
    return np.argwhere(left)


def connected(mesh, cut):
    """Numbers (cell,) of the parts into which faces, rows (cell, local face) of both sides, cut the mesh."""
    meet = mesh.neighbour_face >= 0
    for rows in cut:
        meet[tuple(rows.T)] = False
    large, small = mesh.hanging.large, mesh.hanging.small
    first = np.concatenate([np.nonzero(meet)[0], np.repeat(large[:, 0], small.shape[1])])
    second = np.concatenate([mesh.neighbour_cell[meet], small[..., 0].ravel()])
    pairs = coo_array((np.ones(len(first), bool), (first, second)), shape=(len(mesh.cells),) * 2)
    return connected_components(pairs, directed=False)[1]
