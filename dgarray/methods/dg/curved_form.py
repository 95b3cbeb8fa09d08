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


class CurvedForm(WeakForm):
    """As `WeakForm`; the tendency in curved elements is that of a `CurvedPart`.

    At faces between a curved and a straight element both take the numerical flux at the face nodes of straight elements, so
    that what leaves one enters the other."""

    @classmethod
    def holds(cls, backend, tables):
        numbers = CurvedTables.numbers(tables) * len(tables.curved)
        return added(super().holds(backend, tables), {"curved elements": 3 * backend.dtype.itemsize * numbers})

    @cached_property
    def part(self):
        return CurvedPart(self.backend, CurvedTables(self.tables).build())

    @cached_property
    def cells(self):
        return self.backend.integers(self.tables.curved)

    @cached_property
    def matrices(self):
        """(to_modes, from_modes) of the `CurvedTables`."""
        tables = self.part.tables
        return [None if matrix is None else self.backend.array(matrix) for matrix in (tables.to_modes, tables.from_modes)]

    @cached_property
    def joints(self):
        """The faces between a curved element and a straight one, in blocks as in `faces`, with their J_face."""
        host, part, blocks, first = self.tables, self.part.tables, [], 0
        rows = np.concatenate([np.empty((0, 2), int), *(g.faces for g in part.groups if g.jump is None)])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        cells, sides = host.curved[rows[:, 0]], rows[:, 1]
        mesh = host.mesh
        faces = between(mesh, host.reference, np.stack([cells, sides], 1),
                        np.stack([mesh.neighbour_cell[cells, sides], mesh.neighbour_face[cells, sides]], 1))
        areas, slots = host.face_areas[sides, cells], boundary_nodes(host.reference, part.elements, rows)[1]
        for block in self._in_blocks(faces):
            some = slice(first, first + block["nodes"][0].shape[1])
            blocks.append(block | {"areas": self.backend.array(areas[some]), "given": self.backend.integers(slots[:, some])})
            first = some.stop
        return blocks

    def face_flux(self, q, t):
        flux = super().face_flux(q, t)
        self.tendency = self.of_curved(q, t)
        return flux

    def finish(self, r, q, t, columns=ALL):
        r = super().finish(r, q, t, columns)
        begin, end, _ = columns.indices(self.tables.elements)
        first, last = np.searchsorted(self.tables.curved, (begin, end))
        r[:, :, self.cells[first:last] - begin] = self.tendency[:, :, first:last]
        return r

    def of_curved(self, q, t):
        """dq/dt in the curved elements, (variable, row, curved element)."""
        values = (q if self.trace is None else self.traces).reshape(len(q), -1)
        for block in self.joints:
            (left, right), (ml, mr) = block["nodes"], block["parameters"]
            inputs = {"x": self._points(left)} if self.needs_x else {}
            flux = self.part.tables.functions.left(
                l=tuple(row[left] for row in values), r=tuple(row[right] for row in values), n=tuple(block["normals"]),
                s=(block["areas"],), t=t, ml=ml, mr=mr, **inputs)
            for row, component in zip(self.part.given.reshape(len(q), -1), flux):
                row[block["given"]] = component
        (to_modes, from_modes), inside = self.matrices, q[:, :, self.cells]
        if to_modes is None:
            return self.part.rhs(inside, t)
        return self.backend.product(from_modes, self.part.rhs(self.backend.product(to_modes, inside), t))
