"""All that tensor-product DG needs on one mesh of quadrilaterals or hexahedra, on the host in float64."""
from functools import cached_property

import numpy as np

from ...mesh.curved.cell_maps import positions
from ...physics.laws import Advection
from ...physics.pointwise import Pointwise
from ...reference.tensor import tensor_cell
from ...spaces.tensor_metrics import Metrics
from ..physics import numerical_flux
from .limiters.slope_shares import direction
from .limiters.tables import NodalLimiterTables
from .mortar_forms import entropy_functions, mortar_form
from .shock_sensor import ShockSensor
from .stability import stability_limit
from .tables import NO_LIMITER, NodalTables


class TensorTables(NodalTables):
    """As `NodalTables`, for tensor-product DG in weak form, collocated at the nodes: metrics at each node and face point.

    cell, reference   the `dgarray.reference.tensor.TensorCell`
    trace             stands for the values at the face points, which are computed along lines
    gradients (dim, dim, node, element)              J a^k
    inverse (node, element)                          1 / J
    normals (dim, face * face point, element), scale (face * face point, element)    with J_face
    sensor                                           the `ShockSensor`; None: no shock capturing
    subcells (dim, dim, (order / (order + 1)) node, element)   with a sensor, where cells are not affine: the normals n of
                                                     `ShockVolume` between the nodes of the lines along each axis
    """

    collocated, diagonal, affine = True, True, False

    def __init__(self, mesh, order, law, boundary, flux, source, nodes="gauss", volume_flux=None, limiting=NO_LIMITER,
                 shock_capturing=None):
        self.kind, self.volume_flux, self.weak, self.limiting = nodes, volume_flux, volume_flux is None, limiting
        self.shock_capturing = shock_capturing
        self.sensor = None if shock_capturing is None else ShockSensor(law, order, float(shock_capturing))
        super().__init__(mesh, order, law, boundary, flux, source)

    def set_reference(self):
        self.cell = self.reference = cell = tensor_cell(self.dim, self.order, self.kind)
        self.nodes = self.points = cell.nodes
        self.face_points = cell.face_points.reshape(-1, self.dim)
        self.rows, self.face_nodes = len(cell.nodes), cell.face_nodes
        self.differentiation, self.lift, self.interpolate = [cell.weak] * self.dim, cell.lift, None
        self.trace = np.zeros((cell.face_nodes.size, 0))

        physics, given, d = self.physics, self.physics.functions, self.dim

        def collect(r, q, s, x, t, m):
            return physics.finish(tuple(component * s[0] for component in r), q, x, t, m)

        def rate(q, g, s, x, t, m):
            return (s[0] * sum(physics.wave_speed(q, g[k * d:(k + 1) * d], x, t, m)[0] for k in range(d)),)

        given.collect = Pointwise(collect, {**given.finish.inputs, "s": 1}, "source")
        given.rate = Pointwise(rate, {**physics.state, "g": d * d, "s": 1}, "wave speed")
        if self.volume_flux is not None:
            given.two_point = Pointwise(*two_point(physics, self.volume_flux), "volume flux")
        if self.sensor is not None:
            vars(given).update(of_shocks(physics, self.sensor))
        if self.affine:
            given.rate = Pointwise(lambda q, g, x, t, m: rate(q, g, (1.0,), x, t, m), {**physics.state, "g": d * d},
                                   "wave speed")

    @property
    def shapes(self):
        d, N, S, E = self.dim, self.rows, self.face_nodes.size, self.elements
        return {"gradients": (d, d, N, E), "normals": (d, S, E), "scale": (S, E), "inverse": (N, E), "x": (d, N, E),
                "face_x": (d, S, E), **({"subcells": (d, d, N // (self.order + 1) * self.order, E)} if self.sensor else {})}

    def metrics_read(self, needs_x):
        return ["gradients", "normals", "scale", "inverse", *["x", "face_x"] * needs_x, *["subcells"] * bool(self.sensor)]

    inverse = cached_property(lambda self: 1 / self.metrics.jacobian)
    x = property(lambda self: self.metrics.x)
    face_x = property(lambda self: self.metrics.face_x)

    @cached_property
    def metrics(self):
        return Metrics(self.mesh, self.cell)

    @cached_property
    def mortar_form(self):
        """How mortars give the flux to these elements, "projected", "linear" or "split": see `dgarray.methods.dg.mortars`."""
        return mortar_form(self.physics, self.kind, self.volume_flux)

    @cached_property
    def entropy_functions(self):
        """The pointwise functions of `entropy_functions` of the law; (None, None) of a law without entropy variables."""
        return entropy_functions(self.law)

    def per_area(self, cells):
        """What `scale` is for J_face = 1 in these cells."""
        return np.ones(len(cells))

    gradients = property(lambda self: self.metrics.gradients)
    jacobian = property(lambda self: self.metrics.jacobian)
    normals = property(lambda self: self.metrics.normals)
    scale = property(lambda self: self.metrics.areas)

    @cached_property
    def subcells(self):
        w, slopes = self.cell.w, self.cell.slopes
        sums = np.cumsum(w[:, None] * slopes, axis=0)[:-1] + (np.arange(len(w)) == 0)
        n, d, E = len(w), self.dim, self.elements
        return np.stack([np.einsum("ij,dajbe->daibe", sums, a.reshape(d, -1, n, n ** k, E)).reshape(d, -1, E)
                         for k, a in enumerate(self.gradients)])

    def at_sides(self, sides, cells, nodes):
        return self.normals.reshape(self.dim, -1)[:, nodes], self.scale.reshape(-1)[nodes]

    def positions(self, points, some=slice(None)):
        return positions(self.mesh, points, some)

    def on(self, mesh, boundary):
        return type(self)(mesh, self.order, self.law, boundary, self.physics.flux, self.physics.source, self.kind,
                          self.volume_flux, self.limiting, self.shock_capturing)

    @cached_property
    def limits(self):
        positivity_alone = self.limiting.positivity and not self.limiting.limiter
        return NodalLimiterTables(self.limiting, self) if positivity_alone else super().limits

    def rates(self):
        """As `NodalTables.rates`: the largest sum over the axes of s(J a^k) / J at the nodes of an element."""
        x, m = tuple(self.coordinates()), self.parameters | self.media.volume
        speed = self.functions.wave_speed
        total = sum(speed(n=tuple(a), x=x, t=0.0, m=m)[0] for a in self.gradients)
        if np.min(total) < 0:
            raise ValueError(f"the wave_speed of {type(self.law).__name__} is negative; it must be an absolute value")
        total = total if self.affine else total / self.jacobian
        largest = np.max(np.broadcast_to(total, (self.rows, self.elements)), axis=0)
        return largest + self.internal_rates(tuple(self.mesh.centroids.T))

    def limit(self, stepper):
        """(factor, 1): dt = factor / rate, with the rate of `TensorForm.rate`, the sum over the axes of the speeds in the
        reference cell. Along an axis the operator is that of the interval, whose measured limit holds for the sum.

        Finite volumes of first order stay positive up to factor = w_0, the smallest subcell; with the largest share alpha of
        them 1 / factor = (1 - alpha) / factor of DG + alpha / w_0."""
        bound = 2 / (2 * self.order + 1)          # of an interval of length 2: h / s / (2 order + 1), see `NodalTables`
        if not self.order:
            return bound, 1.0
        factor, exponent = stability_limit(Advection(1.0), self.order, stepper)
        factor = min(bound, factor / 2 ** (1 / exponent))
        if self.sensor is not None:
            factor = 1 / ((1 - self.sensor.most) / factor + self.sensor.most / float(self.cell.w[0]))
        return factor, 1.0


def two_point(physics, volume_flux):
    """(function, inputs) of the flux between two nodes of a line with the metrics J a^k of both, a and b: with nonconservative
    products first that for the node l, then that for r.

    Raises ValueError where it depends on x: it has two places."""
    law, numerical = physics.law, numerical_flux(volume_flux, physics.law)
    d, v, m = law.dim, len(law.variables), physics.parameters

    def function(l, r, a, b, x, t, ml, mr):
        n = tuple((c + e) / 2 for c, e in zip(a, b))
        return of_sides(physics, physics.star(numerical, l, r, n, x, t, ml, mr), l, r, n)
    inputs = {"l": v, "r": v, "a": d, "b": d, "x": d, "t": None, "ml": m, "mr": m}
    if Pointwise(function, inputs, "volume flux").depends_on("x"):
        raise ValueError(f"volume_flux={volume_flux.__name__} of {law!r} depends on x; the split form has fluxes between two "
                         "places: give what varies as a parameter of the law, or volume_flux=None")
    return function, inputs


def of_sides(physics, flux, l, r, n):
    """The flux, of `Physics.star`, for both sides; with nonconservative products that for l and that for r."""
    if physics.law.products is None:
        return flux
    return (*physics.with_products(flux, l, r, n), *physics.with_products(flux, r, l, n))


def of_shocks(physics, sensor):
    """{name: `Pointwise`} of shock capturing: the functions of the sensor, and the flux between neighbouring nodes of a line,
    times the share, with the normal n of their subcells.

    x does not come: a flux that depends on it has no split form."""
    d, v, m = physics.law.dim, len(physics.law.variables), physics.parameters

    def subcell(l, r, n, share, x, t, ml, mr):
        unit, size = direction(n), share[0] * np.sqrt(sum(a * a for a in n))
        flux = of_sides(physics, physics.star(physics.numerical, l, r, unit, x, t, ml, mr), l, r, unit)
        return tuple(size * f for f in flux)
    inputs = {"l": v, "r": v, "n": d, "share": 1, "x": d, "t": None, "ml": m, "mr": m}
    return {"sensed": Pointwise(sensor.sensed, {"q": v, "m": m}, "shock sensor"),
            "share": Pointwise(sensor.share, {"energy": 3}, "share of finite volumes"),
            "beside": Pointwise(sensor.beside, {"own": 1, "around": 2 * d}, "share of finite volumes"),
            "blend": Pointwise(lambda r, share: ((1 - share[0]) * r[0],), {"r": 1, "share": 1}, "split form"),
            "subcell": Pointwise(subcell, inputs, "numerical flux")}


class AffineTensorTables(TensorTables):
    """As `TensorTables` on parallelograms and parallelepipeds: metrics as in `NodalTables`, one for an element."""

    affine = True
    shapes, metrics_read = NodalTables.shapes, NodalTables.metrics_read
    at_sides, positions, gradients, normals = (getattr(NodalTables, name) for name in (
        "at_sides", "positions", "gradients", "normals"))

    @cached_property
    def tangents(self):
        mesh = self.mesh
        slopes = mesh.cell_shape.gradients(np.zeros((1, self.dim)))[0]          # (corner, axis)
        return np.ascontiguousarray(np.einsum("ecd,ck->kde", mesh.points[mesh.cells], slopes))

    @cached_property
    def origin(self):
        return np.ascontiguousarray(self.mesh.points[self.mesh.cells].mean(axis=1).T)

    def per_area(self, cells):
        return 2 ** self.dim / self.mesh.measures[cells]

    @cached_property
    def scale(self):
        d = self.dim
        return np.ascontiguousarray((self.mesh.face_measures / 2 ** (d - 1)).T / (self.mesh.measures / 2 ** d))


def are_affine(mesh):
    """Whether all cells are parallelograms or parallelepipeds, up to 1e-10 of their size; curved ones are not."""
    if mesh.whole.order > 1:
        return False
    corners, shape = mesh.whole.points[mesh.whole.cells], mesh.cell_shape
    slopes = np.einsum("ecd,ck->ekd", corners, shape.gradients(np.zeros((1, mesh.dim)))[0])
    gaps = corners - corners.mean(axis=1, keepdims=True) - np.einsum("ck,ekd->ecd", shape.corners, slopes)
    return bool(np.all(np.abs(gaps).max(axis=(1, 2)) <= 1e-10 * np.abs(slopes).max(axis=(1, 2))))
