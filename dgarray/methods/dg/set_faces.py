"""The faces of a set's elements: those between two of them, and those at the boundary by condition."""
from functools import cached_property

import numpy as np

from .boundary_setup import by_mortars, conditions
from .connectivity import boundary_nodes, exterior_nodes, face_lists


class SetFaces:
    """The faces of a mesh for the reference cell of a `Basis`.

    groups       a `Group` for each boundary condition
    side_shapes  shapes of what programs know of lists of faces, see `dgarray.methods.dg.set_constants.Side`"""

    def __init__(self, mesh, reference, boundary, physics):
        self.mesh, self.reference, self.side_shapes = mesh, reference, {}
        self.groups = [Group(mesh, reference, name, faces, values,
                             None if condition is by_mortars else physics.boundary_jump(name, condition))
                       for name, faces, condition, values in conditions(mesh, boundary)]

    def lists(self):
        """The faces by kind, a `dgarray.methods.dg.connectivity.FaceLists`."""
        return face_lists(self.mesh, self.reference)

    def exterior_nodes(self):
        """The neighbour's node at each face node, see `dgarray.methods.dg.connectivity.exterior_nodes`."""
        return exterior_nodes(self.mesh, self.reference)

    @property
    def at_joins(self):
        """The `Group` of the faces where mortars give the flux, see `dgarray.methods.dg.mortars`; None: there are none."""
        return next((group for group in self.groups if group.jump is None), None)

    def number_at_joins(self, rows):
        """The number of each of the faces `rows` (face, 2) among those of `at_joins`."""
        number = np.full(self.mesh.neighbour_face.shape, -1)
        number[tuple(self.at_joins.faces.T)] = np.arange(len(self.at_joins.faces))
        return number[tuple(rows.T)]


class Group:
    """The boundary faces with one condition.

    name           of the boundary, for messages
    faces          (count, 2) rows (element, local face)
    values         {name: (count,)} numbers of the faces that the condition asks for, see `boundary_setup.face_values`
    jump           the pointwise function of the face flux, see `Physics.boundary_jump`; None at joins, where mortars give it
    nodes, slots   (face node, count) indices, see `dgarray.methods.dg.connectivity.boundary_nodes`"""

    def __init__(self, mesh, reference, name, faces, values, jump):
        self.reference, self.elements = reference, len(mesh.cells)
        self.name, self.faces, self.values, self.jump = name, faces, values, jump

    @cached_property
    def _numbers(self):
        return boundary_nodes(self.reference, self.elements, self.faces)

    @property
    def nodes(self):
        return self._numbers[0]

    @property
    def slots(self):
        return self._numbers[1]
