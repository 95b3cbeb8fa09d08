"""Limiters of DG: their names, what they may be combined with, and what they need of the mesh, on the host.

`dgarray.methods.dg.limiters.limiter` and `dgarray.methods.dg.limiters.positivity` are what they do.
"""
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

from ....mesh.neighbourhood import Neighbourhood
from ....reference import simplex
from ....support.wording import choose
from .indicator import sensors
from .positivity import points_beside

POSITIVITY = "scaling", "mean"
LIMITERS = "barth-jespersen", "barth-jespersen-vertices", "vertex"
VARIABLES, INDICATORS = ("conserved", "primitive", "characteristic"), ("kxrcf",)


class LimiterOptions(NamedTuple):
    """The options of limiting: see `dgarray.ModalDG`."""

    limiter: str | None = None
    variables: str = "conserved"
    indicator: str | None = None
    positivity: bool | str = False

    @property
    def at_faces(self):
        """Whether new extremes are looked for at the points of the faces, and not at the vertices; at order 1 only."""
        return self.limiter in LIMITERS[:2]

    @property
    def around(self):
        """Whether they are new beside the averages around the vertices, and not beside those across the faces."""
        return self.limiter in LIMITERS[1:]

    def check(self, order):
        """Raise ValueError for names that do not exist and options that do not go together."""
        if self.limiter is not None:
            choose("limiter", self.limiter, LIMITERS, also=["None"])
            linear = self.at_faces or self.variables != "conserved"
            allowed = "order 1" if linear else "order 1 and above"
            if order < 1 or linear and order > 1:
                of = f" of {self.variables} variables" if self.variables != "conserved" else ""
                raise ValueError(f"limiter={self.limiter!r}{of} is not allowed at order {order}; it is for {allowed}"
                                 + ("; take limiter='vertex' of conserved variables" if order > 1 else ""))
        choose("limiter_variables", self.variables, VARIABLES)
        if self.indicator is not None:
            choose("indicator", self.indicator, INDICATORS, also=["None"])
        for name, given, default in (("limiter_variables", self.variables, "conserved"), ("indicator", self.indicator, None)):
            if given != default and self.limiter is None:
                raise ValueError(f"{name}={given!r} needs a limiter; give limiter={LIMITERS[-1]!r}")
        if not isinstance(self.positivity, (bool, np.bool_)):
            choose("positivity", self.positivity, POSITIVITY, also=["True", "False"])

    def check_linear(self, where):
        """Raise ValueError for a limiter that `LinearLimiter` does not have; where: what needs that one."""
        if self.limiter not in (None, "vertex") or self.variables != "conserved":
            raise ValueError(f"limiter={self.limiter!r} of {self.variables} variables is not allowed for {where}; take "
                             "limiter='vertex' of conserved variables")

    def check_law(self, law):
        """Raise ValueError where the law does not have what is limited."""
        if self.variables == "primitive" and not (law.primitive and law.conservative):
            raise ValueError(f"limiter_variables='primitive' needs a law with primitive and conservative; {law!r} has none")
        if self.variables == "characteristic" and not (law.characteristic and law.from_characteristic):
            raise ValueError("limiter_variables='characteristic' needs a law with characteristic and from_characteristic; "
                             f"{law!r} has none")
        if self.positivity:
            needs_pressure(law, f"positivity={self.positivity!r}")
        if law.together and (self.positivity or self.limiter):
            given = f"limiter={self.limiter!r}" if self.limiter else f"positivity={self.positivity!r}"
            raise ValueError(f"{given} is not allowed for {law!r}: it limits variables one by one, which makes waves of "
                             "pressure where the fluids meet; give shock_capturing=1.0 alone")


def needs_pressure(law, option):
    """Raise ValueError, which names the option, where the law has no density and pressure."""
    if not (getattr(law, "pressure", None) and law.variables[0] == "rho"):
        raise ValueError(f"{option} needs a law with the density rho and a pressure, such as Euler, not {law!r}")


class LimiterTables:
    """Arrays of `Limiter` on one mesh of simplices, on the host.

    options                        the `LimiterOptions`
    unit                           value of mode 0: averages are unit * c_0
    degrees (mode,)                of the basis functions; linear: the modes of degree 1
    check (point, dim)             values of these where shares are looked for: Barth-Jespersen the corners of the convex hull
                                   of the faces' points, where linear functions have their extremes; vertex the vertices, in
                                   the order of the mesh's cells
    derivatives (dim, mode, mode)  coefficients of du/dr_k from those of u
    inverse_nodal (mode, node)     of the reference's `nodal`
    indices                        {degree q: partial derivatives of order q - 1, as tuples of directions}
    neighbourhood                  the `Neighbourhood`, whose lists this class has, too
    outer (dim + 1, element)       1 where a face, or of limiters around vertices a vertex, is at the boundary, 2 where no other
                                   element is around such a vertex, else 0
    averages (face, mode)          averages over the faces
    threshold (element,)           of the indicator, (h / L)^((order + 1) / 2)
    beside (point, mode)           values at `dgarray.methods.dg.limiters.positivity.points_beside`
    """

    def __init__(self, options, tables):
        self.options, self.order, self.dim, self.mesh = options, tables.order, tables.dim, tables.mesh
        self.neighbourhood = Neighbourhood.of(tables.mesh)
        self.reference = tables.basis.reference
        self.unit = float(self.reference.interpolate[0, 0])
        self.degrees = np.array([sum(mode) for mode in self.reference.basis.basis.mode_ids])
        self.linear = np.flatnonzero(self.degrees == 1)
        self.law, self.sensors = tables.law, sensors(tables.law)
        self.beside = self.reference.basis.evaluate_basis(points_beside(tables))

    @cached_property
    def check(self):
        at_faces = self.options.at_faces
        points = self.reference.face_points.reshape(-1, self.dim) if at_faces else simplex(self.dim, 1).vertices
        if at_faces and self.dim > 1:
            points = points[ConvexHull(points).vertices]
        return self.reference.basis.evaluate_basis(points)[:, self.linear]

    @cached_property
    def derivatives(self):
        slopes = -self.reference.differentiation / self.reference.weights
        return np.array([self.reference.project @ slope.T for slope in slopes])

    @cached_property
    def inverse_nodal(self):
        return np.linalg.inv(self.reference.nodal)

    @cached_property
    def indices(self):
        return {q: list(combinations_with_replacement(range(self.dim), q - 1)) for q in range(1, self.order + 1)}

    neighbours = property(lambda self: self.neighbourhood.neighbours)
    beyond = property(lambda self: self.neighbourhood.beyond)
    vertices = property(lambda self: self.neighbourhood.vertices)
    around = property(lambda self: self.neighbourhood.around)

    @cached_property
    def outer(self):
        if self.options.around:
            return self.neighbourhood.at_boundary + self.neighbourhood.alone.astype(np.int8)
        return np.ascontiguousarray(self.mesh.neighbour_face.T < 0)

    @cached_property
    def averages(self):
        reference = self.reference
        weights = reference.face_weights / reference.face_weights.sum()
        return np.einsum("j,fji->fi", weights, reference.trace.reshape(self.dim + 1, len(weights), -1))

    @cached_property
    def threshold(self):
        return self.neighbourhood.size ** ((self.order + 1) / 2)


class NodalLimiterTables:
    """Arrays of `NodalPositivity`, the limiting of tensor-product DG, on the host.

    weights (node, element)   w_i J_i / sum_j w_j J_j; on affine cells (node, 1)
    faces_inside              whether the points of the faces are among the nodes
    beside (point, node)      values at `points_beside`"""

    def __init__(self, options, tables):
        self.options, self.dim, self.faces_inside = options, tables.dim, tables.basis.kind == "lobatto"
        geometry = tables.geometry
        weights = tables.basis.cell.weights[:, None] * (1.0 if geometry.affine else geometry.jacobian)
        self.tables, self.weights = tables, weights / weights.sum(axis=0)

    @cached_property
    def beside(self):
        return self.tables.basis.cell.interpolation(points_beside(self.tables))
