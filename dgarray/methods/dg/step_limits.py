"""Wave rates of a set's elements, and the largest stable step dt = factor / rate."""
import numpy as np

from ...physics.laws import Advection
from ...physics.pointwise import Pointwise
from .boundary_setup import parameters_on
from .media import inside
from .stability import limit_on, stability_limit


def rates(tables):
    """Sum over the faces of s J_face / J, 1 / time, (element,), with the wave speed s at the centroid; on quadrilaterals and
    hexahedra the largest sum over the axes of s(J a^k) / J at the nodes. For laws whose wave speed depends on neither state nor
    time."""
    law, geometry, speed = tables.law, tables.geometry, tables.physics.functions.wave_speed
    x = tuple(tables.mesh.centroids.T)
    if tables.basis.diagonal:
        at_nodes, m = tuple(geometry.coordinates()), tables.parameters | tables.media.volume
        total = sum(speed(n=tuple(a), x=at_nodes, t=0.0, m=m)[0] for a in geometry.gradients)
        check_speeds(law, total)
        total = total if geometry.affine else total / geometry.jacobian
        found = np.max(np.broadcast_to(total, (tables.rows, tables.elements)), axis=0)
    else:
        normals, scales = geometry.rate_metrics
        parts = [speed(n=tuple(n), x=x, t=0.0, m=tables.parameters)[0] * scale for n, scale in zip(normals, scales)]
        check_speeds(law, *parts)
        found = sum(parts)
    return found + internal_rates(tables, x)


def check_speeds(law, *values):
    """Raise ValueError where a wave speed of a law is negative."""
    if any(np.min(each) < 0 for each in values):
        raise ValueError(f"the wave_speed of {type(law).__name__} is negative; it must be an absolute value")


def internal_rates(tables, x):
    """How fast internal variables of about 1 change at the points x (dim) of each element, a number or (element,)."""
    physics, internal = tables.physics, tables.law.internal
    if internal is None or not internal.names:
        return 0.0
    rate = Pointwise(internal.rate, {**physics.state, "q": physics.moving, "w": len(internal.names)}, "rate")
    ones = dict(q=(1.0,) * physics.moving, w=(1.0,) * len(internal.names))
    with np.errstate(all="ignore"):
        return sum(np.abs(value) for value in rate(**ones, x=x, t=0.0, m=tables.parameters))


def damping(tables):
    """The law's largest damping rate, and how fast its internal variables change at most, 1 / time; 0 without either."""
    law, whole = tables.law, tables.mesh.whole
    of_internal = law.internal.fastest or 0.0 if law.internal else 0.0
    if law.damping is None:
        return of_internal
    rate = Pointwise(law.damping, {"m": tables.physics.parameters}, "damping")
    varying = {name: inside(whole, law.parameters[name], tables.basis.points) for name in tables.media.names}
    return float(np.max(rate(m=parameters_on(whole, law) | varying)[0])) + of_internal


def limit(tables, stepper):
    """(factor, exponent) of the largest stable step, dt = factor / rate: see `dgarray.methods.dg.stability`.

    In the weak form, but that of prisms and pyramids which are not affine, the rate has exponent 1, with the bound

    dt <= min over elements of h / s / (2 order + 1), h / s = 2 |T| / sum over faces of s |face|, s as in `WeakForm.rate`.

    Where s is the same on all faces, h is an interval's length, the radius of a triangle's inscribed circle, or two thirds
    of the radius of a tetrahedron's inscribed sphere.  At order 0, which the table lacks, this bound makes a forward Euler
    step an average of the element's value and its neighbours'.
    Fuhry, Giuliani & Krivodonova 2014; Cockburn & Shu 2001, section 2.2."""
    if tables.basis.diagonal:
        return limit_on_lines(tables, stepper), 1.0
    shape, order = tables.basis.shape, tables.order
    factor, exponent = limit_on(shape, tables.law, order, stepper) if order else (np.inf, 1.0)
    if tables.physics.weak and (tables.geometry.affine or not shape.mixed_faces):      # |face| / |T| = dim / 2 times J_face / J
        factor, exponent = min(factor, 4 / tables.dim / (2 * order + 1)), 1.0
    return factor, exponent


def limit_on_lines(tables, stepper):
    """The factor on quadrilaterals and hexahedra, of the rate of `TensorForm.rate`, the sum over the axes of the speeds in the
    reference cell. Along an axis the operator is that of the interval, whose measured limit holds for the sum.

    Finite volumes of first order stay positive up to factor = w_0, the smallest subcell; with the largest share alpha of
    them 1 / factor = (1 - alpha) / factor of DG + alpha / w_0."""
    order, sensor = tables.order, tables.sensor
    bound = 2 / (2 * order + 1)          # of an interval of length 2: h / s / (2 order + 1), see `limit`
    if not order:
        return bound
    factor, exponent = stability_limit(Advection(1.0), order, stepper)
    factor = min(bound, factor / 2 ** (1 / exponent))
    if sensor is not None:
        factor = 1 / ((1 - sensor.most) / factor + sensor.most / float(tables.basis.cell.w[0]))
    return factor
