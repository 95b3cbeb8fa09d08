"""Boundary conditions on the CPU: kernels that those of elements call by their addresses, and what they know of each face."""
import numpy as np

from ....support.cached_modules import write_module
from .boundary_source import BoundarySource


class BoundaryFaces:
    """The faces of a problem whose flux comes from a boundary condition or a join.

    groups     `dgarray.methods.dg.set_faces.Group`s in the order of the faces here; that of the join comes first
    faces      (face, 2) rows (element, local face)
    outside    of each face the number of its group, and where its numbers begin in `numbers`, or at a join its number there
    table      of each group the address of its condition and that of its constants, 0 at a join
    numbers    of each face [point, number], see `BoundarySource`"""

    def __init__(self, tables, dtype):
        self.groups = sorted(tables.faces.groups, key=lambda group: group.jump is not None)
        self.faces = np.concatenate([np.zeros((0, 2), int), *(group.faces for group in self.groups)])
        self.sources = [None if group.jump is None else BoundarySource(tables, group, dtype) for group in self.groups]
        self.constants = [np.array([0.0, *(source.numbers if source else ())], dtype)[1:] for source in self.sources]
        self.kernels = [None if source is None else write_module(source.text(), f"boundary_{tables.dim}d_{dtype}").run
                        for source in self.sources]
        self.table = np.array([(kernel.address, constants.ctypes.data) if kernel else (0, 0)
                               for kernel, constants in zip(self.kernels, self.constants)], np.int64).ravel()
        numbers = [numbers_of(tables, group, source) for group, source in zip(self.groups, self.sources)]
        self.numbers = np.concatenate([np.zeros(0), *(each.ravel() for each in numbers)]).astype(dtype)
        begin, outside = 0, []
        for i, (group, each) in enumerate(zip(self.groups, numbers)):
            count = len(group.faces)
            size = 1 if group.jump is None else each.size // max(count, 1)
            outside.append(np.column_stack([np.full(count, i), (begin if group.jump else 0) + size * np.arange(count)]))
            begin += each.size
        self.outside = np.concatenate([np.zeros((0, 2), int), *outside]).astype(np.int64).ravel()

    def texts(self):
        """{name: text} of the kernels."""
        return {source.function.name: source.text() for source in self.sources if source}


def numbers_of(tables, group, source):
    """The numbers of a condition's faces, (face, point, number); none at a join."""
    if source is None or not len(group.faces):
        return np.zeros(0)
    (cells, sides), d, nodes = group.faces.T, tables.dim, group.nodes
    numbers = np.empty((len(cells), len(nodes), source.per_point))
    normals, scale = tables.geometry.at_sides(sides, cells, nodes)
    numbers[..., :d] = np.broadcast_to(normals.reshape(d, -1, len(cells)), (d, *nodes.shape)).transpose(2, 1, 0)
    numbers[..., d] = np.broadcast_to(scale, nodes.shape).T
    if source.needs_x:
        numbers[..., d + 1:2 * d + 1] = positions(tables, cells, sides).transpose(2, 1, 0)
    inside = tables.media.faces
    values = [*(inside[name].reshape(-1)[nodes] if name in inside else tables.parameters[name][cells] for name in source.P),
              *group.values.values()]
    for i, value in enumerate(values):
        numbers[..., source.per_point - len(values) + i] = np.broadcast_to(value, nodes.shape).T
    return numbers


def positions(tables, cells, sides):
    """x at the points of faces, (dim, face point, face)."""
    x = np.empty((tables.dim, tables.basis.face_nodes.shape[1], len(cells)))
    for side in np.unique(sides):
        some = sides == side
        x[:, :, some] = tables.geometry.positions(tables.basis.face_points[tables.basis.face_nodes[side]], cells[some])
    return x
