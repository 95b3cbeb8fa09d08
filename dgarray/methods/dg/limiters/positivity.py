"""Density and pressure kept positive by scaling towards the mean, or by the mean itself, written once for modal and
tensor-product DG.

Zhang & Shu 2010; Zhang, Xia & Shu 2012; Wang, Zhang, Shu & Ning 2012.
"""
import numpy as np

from ....physics.pointwise import Pointwise, components
from ....physics.trace import call
from .slope_shares import smaller

SAME = 1e-9          # distance in the reference cell up to which two points are one


class Positivity:
    """Keep density and pressure of an element positive at all points: where fluxes are evaluated, in the volume, on the faces
    and at mortars, and at the nodes of the output (`points_beside`).

    A subclass says what the means are and how a variable is scaled: mean_density_of(e), mean_pressure_of(e), one row each, and
    scale(e, v, share).  The other arguments and the elements e are those of `dgarray.methods.dg.limiters.limiter.Limiter`."""

    def __init__(self, limits, law, parameters, dtype):
        self.limits, self.options, self.law, self.variables = limits, limits.options, law, len(law.variables)
        eps = float(np.finfo(dtype).eps)
        self.floor = eps ** 0.5          # share of the mean that is positive enough
        self.rounding = eps ** 0.6          # what differs by a smaller share is equal: rounding of steps before has made it
        self.parameters, self._functions = parameters, {}

    def keep_positive(self, e):
        """Scale the state towards its mean until density and pressure are positive at all points: first the density, then all
        variables.

        The share that is left is theta = (mean - floor) / (mean - least), floor a small share of the mean; the pressure is
        concave. With positivity="mean" it is 0, and that of the density is of all variables, too."""
        whole = self.options.positivity == "mean"
        share_left = self.mean_alone if whole else self.towards
        rho = self.mean_density_of(e)
        share, limited = e(share_left, mean=rho, least=e.least(self.lower_density, rho))
        with e.where(limited):
            for v in e.each() if whole else [0]:
                self.scale(e, v, share)
        p = self.mean_pressure_of(e)
        share, limited = e(share_left, mean=p, least=e.least(self.lower_pressure, p))
        with e.where(limited):
            for v in e.each():
                self.scale(e, v, share)

    @property
    def beside(self):
        """{name: matrix} of the points that are neither unknowns nor points of the volume and the faces; none: no entry."""
        return {"beside": self.limits.beside} if len(self.limits.beside) else {}

    @property
    def matrices(self):
        """{name: matrix of `product`}."""
        return self.beside

    def lower_density(self, q, least):
        return (smaller(q[0], least[0]),)

    def lower_pressure(self, q, least, m):
        return (smaller(self.pressure(q, m)[0], least[0]),)

    def pressure(self, q, m):
        return self.of_law(self.law.pressure, q=q, m=m)

    def towards(self, mean, least):
        """theta, 1 where all values are above the floor already, 0 where the mean is not positive: nothing helps there; and 1
        where theta is less than 1, else 0."""
        (mean,), (least,) = mean, least
        floor = self.floor * mean
        low = least < floor
        share = np.where(low, (mean - floor) / np.where(low & (least < mean), mean - least, 1.0), 1.0)
        return np.where(share < 0.0, 0.0, share), np.where(low, 1.0, 0.0)

    def mean_alone(self, mean, least):
        """0 where a value is not positive, else 1; and 1 where it is 0, else 0."""
        positive = least[0] > 0.0
        return np.where(positive, 1.0, 0.0), np.where(positive, 0.0, 1.0)

    def of_law(self, function, **given):
        """The components of a function of the law, a tuple."""
        return components(call(function, {name: value if name == "m" else tuple(value) for name, value in given.items()}))

    def function(self, function, **rows):
        """The `Pointwise` of a function of so many rows; m stands for the law's parameters."""
        key = function.__name__, *rows.items()
        if key not in self._functions:
            inputs = rows | {"m": self.parameters} if "m" in rows else rows
            self._functions[key] = Pointwise(function, inputs, function.__name__)
        return self._functions[key]


def points_beside(tables):
    """The points (point, dim) of the reference cell at which a state must be positive besides those where these tables have its
    values: points of mortars, and nodes of the output; none without positivity."""
    if not tables.limiting.positivity:
        return np.empty((0, tables.dim))
    basis = tables.basis
    known = np.concatenate([basis.cell.nodes if basis.interpolate is None else basis.points, basis.face_points])
    found = np.empty((0, tables.dim)) if tables.mortar_points is None else tables.mortar_points
    if basis.interpolate is not None and basis.order:
        found = np.concatenate([found, basis.cell.nodes])
    return found[[not len(known) or np.abs(known - point).max(axis=1).min() > SAME for point in found]]


class NodalPositivity(Positivity):
    """Positivity of values at the nodes, of tensor-product DG.  Of an element e it asks more than `Positivity`:

    e.mean                the mean state, weighted with the Jacobian: sum_i w_i J_i q_i / sum_i w_i J_i
    e.at_nodes(f, v, **rows)   give variable v at each node what f(q, mean, **rows) returns for its value and its mean"""

    kept, lists, around_vertices = {}, frozenset(), False

    def limit(self, e):
        """Limit the element in place; the means stay, up to rounding."""
        self.keep_positive(e)

    def mean_density_of(self, e):
        return e.mean[:1]

    def mean_pressure_of(self, e):
        return e(self.pressure, q=e.mean, m=e.m)

    def scale(self, e, v, share):
        e.at_nodes(self.nearer, v, share=[share])

    def nearer(self, q, mean, share):
        # Where nothing is done the value stays, bit for bit: other elements of the same tile must not decide about it.
        return [np.where(share[0] < 1.0, b + share[0] * (a - b), a) for a, b in zip(q, mean)]
