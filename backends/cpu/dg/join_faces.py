"""Faces at joins for the kernels of DG on the CPU: their values, where they lie, and an array for the flux that mortars give
them."""
from functools import cached_property

import numpy as np

from ....methods.dg.join_fluxes import own_part
from ....methods.operation import Operation
from ....reference.columns import multiply_by_rows
from .kernel_stages import KernelStages


class FusedJoinFaces:
    """A base class of `NodalFused`: the faces of `SetFaces.at_joins`, where mortars give the flux. Mortars read the tiles
    of the state where its nodes are the points of the faces; else `values_at_joins`, those of the elements at joins alone.

    several   whether some face at joins has several mortars
    Where elements have a share of finite volumes, which depends on those beyond joins, too, there are
    shares_operation(q, copies), and the arrays own_share (element,) and share_beyond (face at joins,)."""

    stages, several = KernelStages, False

    @cached_property
    def given_by_face(self):
        """s (F.n - F*), in the weak form - s F*, at the face points of each face at joins, (face, variable, face point), which
        mortars set before a stage's kernel."""
        tables = self.tables
        faces = len(tables.faces.at_joins.faces) if tables.faces.at_joins else 0
        return self.backend.zeros((faces, tables.variables, tables.basis.face_nodes.shape[1]))

    def given_places(self, faces, points, some=None):
        """Where in `given_by_face` these points (point, face) of the faces at joins with these numbers (face,) are, (variable,
        point, face); some: numbers of the variables, by default those of the law."""
        variables, count = self.tables.variables, self.tables.basis.face_nodes.shape[1]
        some = np.arange(self.tables.physics.moving) if some is None else np.asarray(some, int)
        return (faces * variables + some[:, None, None]) * count + points

    @property
    def given_names(self):
        """Names of the arrays of fluxes that are computed before a stage's kernel."""
        return ["fluxes at joins"] * bool(self.tables.faces.at_joins)

    @property
    def own_part(self):
        return own_part(self.tables, self.several)

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
        given = self.given_by_face.transpose(1, 2, 0)
        if not self.own_part:
            given[...] = 0
            return
        places, inputs = self.join_inputs
        with np.errstate(all="ignore"):          # of copies of other parts' elements, which may come later
            fluxes = self.tables.physics.functions.along(q=tuple(self.values_at(places)), t=self.time(t), **inputs)
        for v, flux in enumerate(fluxes):
            given[v] = flux

    @cached_property
    def join_inputs(self):
        """The places of the nodes of faces at joins, and what the flux there takes besides the state: vectors, parameters,
        x."""
        tables, group = self.tables, self.tables.faces.at_joins
        cells, sides = group.faces.T
        normals, scale = tables.geometry.at_sides(sides, cells, group.nodes)
        m = {name: self.backend.array(v[cells]) for name, v in tables.parameters.items()} | {
            name: self.backend.array(v.reshape(-1)[group.nodes]) for name, v in tables.media.faces.items()}
        inputs = {"a": tuple(self.backend.array(self.own_part * n * scale) for n in normals), "m": m}
        if self.needs_x:
            inputs["x"] = tuple(row[group.nodes] for row in self.face_x.reshape(tables.dim, -1))
        return self.face_places(group.faces), inputs

    def values_operations(self, q, copies=None):
        """The operations that compute the values at faces that mortars take; copies: those of copies of other parts' elements
        alone (True), or of own elements alone (False)."""
        if self.trace is None or copies and self.cells_at_joins.max(initial=0) < self.tables.owned:
            return []
        return [Operation("values at faces", lambda: self.fill_faces(q), reads=("state",),
                          writes={"values at faces": self.values_at_joins.nbytes})]

    @cached_property
    def cells_at_joins(self):
        """Numbers of the elements with faces at joins."""
        return np.unique(self.tables.faces.at_joins.faces[:, 0])

    @cached_property
    def values_at_joins(self):
        """Values at the points of all faces of these elements, (variable, face * face point, element)."""
        return np.empty((self.tables.variables, len(self.trace), len(self.cells_at_joins)), self.backend.dtype)

    @property
    def faces_read(self):
        return "state" if self.trace is None else "values at faces"

    def fill_faces(self, q):
        """Compute the values at faces that mortars take, `values_at_joins`."""
        product = self.backend.product if q.dtype == np.float64 else multiply_by_rows
        self.values_at_joins[...] = product(self.trace, self.take(q, self.cells_at_joins))

    def face_places(self, rows, corners=None):
        points = self.tables.basis.points_of(rows[:, 1], corners)
        if self.trace is None:
            return self.places_in_tiles(rows, points, self.tables.rows)
        return points.T * len(self.cells_at_joins) + np.searchsorted(self.cells_at_joins, rows[:, 0])

    def places_in_tiles(self, rows, numbers, count):
        """Where the rows of these numbers (face, point) lie, of `count` rows of each variable, of the elements of the faces
        `rows`: (point, face)."""
        tile, lane = np.divmod(rows[:, 0], self.lanes)
        return (tile * self.tables.variables * count + numbers.T) * self.lanes + lane

    def face_array(self, q):
        """Where kernels find the values at faces, and how far the variables are apart: in the state itself, where its nodes are
        the points of the faces."""
        return (q, self.tables.rows * self.lanes) if self.trace is None else (
            self.values_at_joins.reshape(-1), self.values_at_joins[0].size)
