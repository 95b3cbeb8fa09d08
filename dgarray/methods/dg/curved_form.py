"""The operations of DG on meshes with curved triangles or tetrahedra: those of straight cells, replaced in curved elements."""
from functools import cached_property

import numpy as np

from ..memory import added
from .arrays import ALL
from .connectivity import between, boundary_nodes
from .curved_tables import CurvedTables
from .weak_form import WeakForm


class CurvedPart(WeakForm):
    """The weak form in the curved elements alone, with modes for unknowns: see `CurvedTables`."""

    @cached_property
    def inverse(self):
        return self.backend.array(self.tables.inverse)

    @cached_property
    def projection(self):
        return self.backend.array(self.tables.projection)

    @cached_property
    def joint_lift(self):
        return self.backend.array(self.tables.joint_lift)

    @cached_property
    def given(self):
        """- F* J_face at the face nodes of the base's tables, at faces to straight elements, (variable, face * face node,
        element)."""
        return self.backend.zeros((self.tables.variables, self.tables.joint_lift.shape[1], self.tables.elements))

    def _boundary_flux(self, flat, out, group, t):
        if group["jump"] is not None:
            super()._boundary_flux(flat, out, group, t)

    def lift(self, flux, columns=ALL):
        return super().lift(flux, columns) + self.backend.product(self.joint_lift, self.given[:, :, columns])

    def finish(self, r, q, t, columns=ALL):
        """The projection of (r / J + s) / C, see `dgarray.methods.dg.curved_tables`."""
        values = self.at_points(r) * self.inverse[:, columns]
        if self.tables.finishes:
            result = self.tables.functions.finish(r=tuple(values), q=tuple(self.at_points(q[:, :, columns])), t=t,
                                                  m=self.at(columns), **self.position(columns))
            for v, value in enumerate(result):
                values[v] = value
        return self.backend.product(self.projection, values)


class Curves:
    """What operations on a mesh with curved elements need of them; the other base class of such operations is a `WeakForm`.

    At faces between a curved and a straight element both take the numerical flux at the face nodes of straight elements, so
    that what leaves one enters the other."""

    @classmethod
    def holds(cls, backend, tables):
        numbers = CurvedTables.numbers(tables) * len(tables.curved)
        return added(super().holds(backend, tables), {"curved elements": 3 * backend.dtype.itemsize * numbers})

    @property
    def work(self):
        return [*super().work, "curved elements"]

    @cached_property
    def part(self):
        return CurvedPart(self.backend, CurvedTables(self.tables).build())

    @cached_property
    def rows(self):
        """Faces to straight elements, rows (curved element, local face)."""
        rows = [np.empty((0, 2), int), *(group.faces for group in self.part.tables.groups if group.jump is None)]
        return np.concatenate(rows)[np.argsort(np.concatenate(rows)[:, 0], kind="stable")]

    @cached_property
    def around(self):
        """Numbers of the curved elements, then of the straight ones next to them."""
        mesh, curved = self.tables.mesh, self.tables.curved
        return np.concatenate([curved, np.unique(mesh.neighbour_cell[curved[self.rows[:, 0]], self.rows[:, 1]])])

    @cached_property
    def matrices(self):
        """(to_modes, from_modes) of the `CurvedTables`."""
        tables = self.part.tables
        return [None if matrix is None else self.backend.array(matrix) for matrix in (tables.to_modes, tables.from_modes)]

    @cached_property
    def joints(self):
        """The faces between a curved element and a straight one, in blocks as in `faces`; nodes are numbered node * count +
        place in `around`."""
        host, mesh, blocks, first = self.tables, self.tables.mesh, [], 0
        cells, sides = host.curved[self.rows[:, 0]], self.rows[:, 1]
        faces = between(mesh, host.reference, np.stack([cells, sides], 1),
                        np.stack([mesh.neighbour_cell[cells, sides], mesh.neighbour_face[cells, sides]], 1))
        place = np.empty(host.elements, int)
        place[self.around] = np.arange(len(self.around))
        node, element = np.divmod(faces.nodes, host.elements)
        nodes = node * len(self.around) + place[element]
        areas, slots = host.face_areas[sides, cells], boundary_nodes(host.reference, self.part.tables.elements, self.rows)[1]
        x = host.positions(host.face_points, self.around).reshape(host.dim, -1)[:, nodes[0]] if host.needs_x else None
        for block in self._in_blocks(faces):
            some = slice(first, first + block["nodes"][0].shape[1])
            block["nodes"] = [self.backend.integers(numbers[:, some]) for numbers in nodes]
            block["slots"] = self.backend.integers(slots[:, some])
            block["scale"] = self.backend.array(areas[some])
            block["x"] = {} if x is None else {"x": tuple(self.backend.array(x[:, :, some]))}
            blocks.append(block)
            first = some.stop
        return blocks

    def of_curved(self, q, t):
        """dq/dt in the curved elements, (variable, row, curved element), from q (variable, row, element of `around`)."""
        values, inside = (q if self.trace is None else self.backend.product(self.trace, q)).reshape(len(q), -1), self.part
        for block in self.joints:
            (left, right), (ml, mr) = block["nodes"], block["parameters"]
            flux = inside.tables.functions.left(
                l=tuple(row[left] for row in values), r=tuple(row[right] for row in values), n=tuple(block["normals"]),
                s=(block["scale"],), t=self.time(t), ml=ml, mr=mr, **block["x"])
            for row, component in zip(inside.given.reshape(len(q), -1), flux):
                row[block["slots"]] = component
        (to_modes, from_modes), q = self.matrices, q[:, :, :len(self.tables.curved)]
        if to_modes is None:
            return inside.rhs(self.xp.ascontiguousarray(q), t)
        return self.backend.product(from_modes, inside.rhs(self.backend.product(to_modes, q), t))


class CurvedForm(Curves, WeakForm):
    """As `WeakForm`; the tendency in curved elements is that of a `CurvedPart`."""

    @cached_property
    def numbers(self):
        """The numbers of the curved elements, and `around`, on the backend."""
        return [self.backend.integers(numbers) for numbers in (self.tables.curved, self.around)]

    def face_flux(self, q, t):
        self.tendency = self.of_curved(q[:, :, self.numbers[1]], t)
        return super().face_flux(q, t)

    def finish(self, r, q, t, columns=ALL):
        r = super().finish(r, q, t, columns)
        begin, end, _ = columns.indices(self.tables.elements)
        first, last = np.searchsorted(self.tables.curved, (begin, end))
        r[:, :, self.numbers[0][first:last] - begin] = self.tendency[:, :, first:last]
        return r
