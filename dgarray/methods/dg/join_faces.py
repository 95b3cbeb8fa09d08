"""What operations offer to the mortars at their joins: values at faces, and an array for the flux that these faces get."""
from functools import cached_property

import numpy as np

from ...physics.pointwise import Rows
from ..operation import Operation
from .mortars import MortarList


class JoinFaces:
    """A base class of `WeakForm`: the faces of `NodalTables.join_faces`, where mortars give the flux.

    mortar_list   the class of their mortars
    mortars       the `Mortars` of these operations alone, where all joins lie between their own elements
    several       whether some face at joins has several mortars
    copies        the `Copies` of these operations alone, on a part of a mesh
    overlaps      whether these operations can begin with elements that need no copies
    captures_shocks   whether elements have a share of finite volumes, which depends on those beyond joins, too: then there are
                  shares_operation(q, copies), the arrays own_share (element,) and share_beyond (face at joins,)"""

    mortar_list, mortars, several, copies, overlaps, captures_shocks = MortarList, None, True, None, False, False

    @cached_property
    def given_by_face(self):
        """s (F.n - F*), in the weak form - s F*, at the face points of each face at joins, (face, variable, face
        point), which mortars set before `face_flux`."""
        tables = self.tables
        faces = len(tables.join_faces.faces) if tables.join_faces else 0
        return self.backend.zeros((faces, tables.variables, tables.face_nodes.shape[1]))

    @property
    def given(self):
        """The same, (variable, face point, face)."""
        return self.given_by_face.transpose(1, 2, 0)

    def given_places(self, faces, points, some=None):
        """Where in `given_by_face` these points (point, face) of the faces at joins with these numbers (face,) are, (variable,
        point, face); some: numbers of the variables, by default those of the law."""
        variables, count = self.tables.variables, self.tables.face_nodes.shape[1]
        some = np.arange(self.tables.moving) if some is None else np.asarray(some, int)
        return (faces * variables + some[:, None, None]) * count + points

    def outside_operations(self, q, number=0):
        """The operations that bring what elements of these alone need besides each other, at a time of the clock: copies of
        other parts' elements, and fluxes at joins."""
        return [*self.copies_operations(q), *self.fluxes_at_joins(q, number)]

    def fluxes_at_joins(self, q, number, late=None):
        """The operations that compute the fluxes at joins between elements of these alone; late: as of `Mortars.operations`."""
        return [] if self.mortars is None else self.mortars.operations({None: q}, number, late)

    def copies_operations(self, q):
        """The operations that renew the copies of other parts' elements in a state."""
        return [] if self.copies is None else self.copies.operations({None: q})

    @property
    def given_names(self):
        """Names of the arrays of fluxes that are computed before `face_flux`."""
        return ["fluxes at joins"] * bool(self.tables.join_faces)

    def values_operations(self, q, copies=None):
        """The operations that compute the values at faces that mortars take; where these operations overlap with messages also
        those of copies of other parts' elements alone, or of own elements alone: copies True or False."""
        return [Operation("values at faces", lambda: self.fill_faces(q), reads=("state",),
                          writes={"values at faces": self.face_bytes})]

    faces_read = "values at faces"          # the name of the array that mortars read

    @property
    def face_bytes(self):
        """Bytes of the values at faces that mortars take."""
        tables = self.tables
        return tables.variables * tables.elements * self.backend.dtype.itemsize * (
            tables.rows if tables.trace is None else tables.face_nodes.size)

    def fill_faces(self, q):
        """Compute the values at faces that mortars take."""
        self.values_at_faces = self.at_faces(q)

    def face_places(self, rows, corners=None):
        """Where the values at the points of these faces (face, 2) are, for `values_at`: (point, face), in the order of the
        face's points or, where its number of corners is given, in that of `FacePolynomials`."""
        cells, sides = np.asarray(rows).T
        return self.backend.integers(self.tables.points_of(sides, corners).T * self.tables.elements + cells)

    def values_at(self, places):
        """Values at face points that `face_places` found, (variable of the law, point, face)."""
        return self.values_at_faces.reshape(self.tables.variables, -1)[:self.tables.moving, places]

    @property
    def own_part(self):
        """Which share of F.n elements take at their own face nodes besides what mortars give: in the form `linear`, and in the
        strong form where several mortars meet a face."""
        return -0.5 * (self.tables.mortar_form == "linear") + (not self.tables.weak and self.several)

    @property
    def adds(self):
        """Whether mortars add to what faces have got before, from `own_fluxes` or from other mortars."""
        return self.several or bool(self.own_part)

    def inside_operation(self, number):
        """The operation `own_fluxes`, at a time of the clock."""
        return Operation("own fluxes at joins", lambda: self.own_fluxes(self.stage_times[number]),
                         reads=("values at faces",) * bool(self.own_part),
                         writes={"fluxes at joins": self.given_by_face.nbytes})

    def own_fluxes(self, t):
        """Set the given flux to what elements take at their own face nodes."""
        if not self.own_part:
            self.given[...] = 0
            return
        group, places, x = self.join_inputs
        a = tuple(self.own_part * n * group["scale"] for n in group["normals"])
        with np.errstate(all="ignore"):          # of copies of other parts' elements, which may come later
            self.backend.evaluate(self.tables.functions.along, [Rows(self.given)], q=Rows(self.values_at(places)), a=a,
                                  t=self.time(t), m=group["parameters"], **x)

    @cached_property
    def join_inputs(self):
        """The entry of `groups` of the faces at joins, their places, and the argument x there."""
        group = self._group(self.tables.join_faces)
        x = {"x": self._points(group["nodes"])} if self.needs_x else {}
        return group, self.face_places(self.tables.join_faces.faces), x
