"""Boundary conditions as exterior states: a function of the interior state that asks for its arguments by name.

A condition may ask for q (interior state), n (outward unit normal), x, t, m (the element's parameters) and `law`; it returns
the state outside.  The numerical flux does the rest, so a user's own condition is one NumPy function.  `Declared` says which
attributes a condition may have besides.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..support.keywords import Keywords
from ..support.wording import choose
from .boundary_checks import check_normal, check_parts, check_state
from .declared import Formula, Named, declared
from .derivative import derivative
from .fluxes import upwind
from .laws.euler import Euler
from .laws.law import dot, shown
from .pointwise import components
from .splines import SplinePieces, normal as spline_normal
from .trace import call, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .annotations import Components
    from .laws.law import Law


class PEC(Named, name="pec"):
    """Perfect electric conductor, n x E = 0 and n . H = 0: E+ = -E- + 2 n (n . E-), H+ = H- - 2 n (n . H-)."""

    def __call__(self, q: Components, n: Components, law: Law) -> tuple:
        E, H = need(law, "fields", "pec", "Maxwell")(q)
        return law.state(turned(E, law.direction(n)), reflected(H, law.direction(n)))


class PMC(Named, name="pmc"):
    """Perfect magnetic conductor, n x H = 0 and n . E = 0: E+ = E- - 2 n (n . E-), H+ = -H- + 2 n (n . H-)."""

    def __call__(self, q: Components, n: Components, law: Law) -> tuple:
        E, H = need(law, "fields", "pmc", "Maxwell")(q)
        return law.state(reflected(E, law.direction(n)), turned(H, law.direction(n)))


def reflected(v, n):
    """The vector with its component along the unit normal n reversed, v - 2 n (n . v)."""
    normal = dot(v, n)
    return tuple(a - 2 * normal * k for a, k in zip(v, n))


def turned(v, n):
    """The vector with its components across the unit normal n reversed, -v + 2 n (n . v)."""
    normal = dot(v, n)
    return tuple(2 * normal * k - a for a, k in zip(v, n))


class Wall(Named, name="wall"):
    """Rigid wall that slips, n . v = 0: velocity or momentum mirrored, m+ = m- - 2 (n . m-) n, all else as inside.

    Of MHD it conducts perfectly, n . B = 0: the field is mirrored, too."""

    def __call__(self, q: Components, n: Components, law: Law) -> tuple:
        return mirrored(q, n, law, "wall")


@dataclass(frozen=True, repr=False)
class curved_wall(Formula):
    """Rigid wall that slips and is curved, under a mesh with straight edges: the velocity mirrored about the wall's own normal.

    m+ = m- - 2 (N . m-) N,  N = normal(x) / |normal(x)|,  all else as inside; the numerical flux takes the edge's normal.
    normal   function x -> tuple of components, normal to the wall near the point x, of any length and direction; of a circle
             around (a, b): lambda x: (x[0] - a, x[1] - b).  Or "spline", in 2D: cubic splines through the boundary's
             vertices; N is the normal where the curve is nearest to x, right to third order, as orders 1 and 2 need it
    corner   of "spline": degrees, by default 45; where the boundary turns by more there is a corner
    The mesh has its boundary vertices on the wall.  Gives DG its full order where `wall` gives the second at best.
    ValueError where N is zero or lies along the edges.  Krivodonova & Berger 2006."""

    normal: Callable | str
    corner: float = 45.0

    def __post_init__(self):
        corner = self.corner
        if not isinstance(self.normal, str):
            if not callable(self.normal):
                raise ValueError(f"curved_wall({self.normal!r}) is not allowed; give a function of x that returns a tuple")
        elif choose("curved_wall: the normal", self.normal, ("spline",), also=["or a function of x"]) and not (
                isinstance(corner, Real) and 0 < corner <= 180):
            raise ValueError(f"corner={corner!r} is not allowed; it must be an angle in degrees, above 0 and at most 180")

    def __repr__(self):
        return f"curved_wall({shown(self.normal)}{f', corner={self.corner:g}' if self.of_faces else ''})"

    @property
    def of_faces(self) -> Any:
        return SplinePieces(float(self.corner)) if isinstance(self.normal, str) else None

    def check(self, mesh: Any, faces: Any, law: Law) -> None:
        if not self.of_faces:
            check_normal(self.normal, mesh, faces, law)

    def __call__(self, q: Components, x: Components, law: Law, face: Any = None) -> tuple:
        if self.of_faces:
            if law.dim != 2:
                raise ValueError(f"boundary condition {self!r} is for 2D, but the law is {law!r}; give curved_wall a function")
            N = spline_normal(x, face)
        else:
            N = components(call(self.normal, dict(x=x), "normal"), law.dim, "the normal of curved_wall")
            if all(isinstance(k, Real) and k == 0 for k in N):
                raise ValueError("the normal of curved_wall is zero; it must point away from the wall")
        scale = (1 / dot(N, N)) ** 0.5
        return mirrored(q, tuple(scale * k for k in N), law, "curved_wall")


def mirrored(q, n, law, condition):
    """The state with the vectors that the law mirrors at a wall mirrored about the unit normal n, all else the same.

    A vector may have more components than n: those are along the wall in a law that does not depend on that direction."""
    momentum = need(law, "momentum", condition, "Acoustics, Euler or MHD")
    result = list(q)
    for vector in law.mirrored or (momentum,):
        first, end, _ = vector.indices(len(q))
        along = slice(first, min(end, first + len(n)))
        result[along] = reflected(q[along], n)
    return tuple(result)


class PressureRelease(Named, name="pressure_release"):
    """Pressure-release boundary of acoustics, p = 0, such as a water surface seen from below: it reflects everything.

    p+ = -p-,  v+ = -v- + 2 n (n . v-).  `absorbing` lets waves leave."""

    def __call__(self, q: Components, n: Components, law: Law) -> tuple:
        acoustic(law, "pressure_release")
        return (-q[0], *turned(q[1:], n))


class Absorbing(Named, name="absorbing"):
    """Characteristic boundary, nothing comes in: q+ = 0 in the upwind flux, exact for waves along the normal.

    For linear laws; a gas takes far_field."""

    flux = staticmethod(upwind)

    def __call__(self, q: Components, law: Law) -> tuple:
        linear(law, "absorbing")
        return tuple(0.0 * c for c in q)


class Outflow(Named, name="outflow"):
    """Free outflow: q+ = q-.  Right where everything leaves, such as a supersonic gas.

    Sound and electromagnetic waves go both ways: those that come in are fed by those that leave, and grow, so a run warns; take
    `absorbing`.  A shock that crosses such a side in a slower gas spoils the inside on every mesh that does not lie along it:
    give the states beside it by `far_field` or `prescribed`, or take a larger domain."""

    def __call__(self, q: Components) -> Components:
        return q

    def check(self, mesh: Any, faces: Any, law: Law) -> None:
        """Warn of a linear law of several variables, whose waves go both ways."""
        if law_is_linear(law) and len(law.variables) > 1:
            warnings.warn(f"'outflow' takes the whole state from inside: waves of {law!r} that come in there are fed by those "
                          "that leave, and grow; give dgarray.absorbing, or an absorbing layer by pml", stacklevel=2)


pec, pmc, wall, pressure_release, absorbing, outflow = PEC(), PMC(), Wall(), PressureRelease(), Absorbing(), Outflow()


@dataclass(frozen=True)
class Sponge(Keywords):
    """A layer in which waves are damped before they leave a grid: dq/dt = ... - sigma q within `width` of the side.

    sigma = s_0 (depth / width)^3, s_0 = 2 c log(1 / reflection) / width, so that a wave along the normal that goes through the
    layer and back is left with that share of its amplitude.
    width        a length in units of x, of at least some wavelengths for waves that meet it at an angle
    reflection   above 0, below 1, by default 1e-6
    Raises ValueError for other values.  Israeli & Orszag 1981."""

    width: float
    reflection: float = 1e-6

    def __post_init__(self):
        if not (isinstance(self.width, Real) and 0 < self.width < np.inf):
            raise ValueError(f"width={self.width!r} is not allowed for Sponge; it must be a positive length")
        if not (isinstance(self.reflection, Real) and 0 < self.reflection < 1):
            raise ValueError(f"reflection={self.reflection!r} is not allowed for Sponge; it must be above 0 and below 1")


class Constant(tuple):
    """A state that does not depend on x and t."""

    def __call__(self):
        return tuple(self)


def state_function(g, condition):
    """The state that a user gave, as a function of x and t: itself, or a constant one for a tuple of numbers.

    Raises ValueError for anything else."""
    if callable(g):
        return g
    if isinstance(g, tuple | list) and g and all(isinstance(c, Real) and np.isfinite(c) for c in g):
        return Constant(tuple(map(float, g)))
    raise ValueError(f"{condition}({g!r}) is not allowed; give a tuple of finite numbers, or a function of x and t that "
                     "returns a tuple")


def state_of(g, x, t, law, condition):
    """The state g(x, t), with all its components."""
    return components(call(g, dict(x=x, t=t), condition), len(law.variables), f"the state of {condition}", law.variables)


class OfState(Formula):
    """Base of conditions whose first parameter is a state: a tuple of numbers, or a function of x and t that returns one."""

    def __post_init__(self):
        name = fields(self)[0].name
        self.keep(**{name: state_function(getattr(self, name), type(self).__name__)})

    def check(self, mesh: Any, faces: Any, law: Law) -> None:
        check_state(getattr(self, fields(self)[0].name), type(self).__name__, mesh, faces, law)

    def state(self, x: Components, t: Any, law: Law) -> tuple:
        """The state at x and t."""
        return state_of(getattr(self, fields(self)[0].name), x, t, law, type(self).__name__)


@dataclass(frozen=True, repr=False)
class prescribed(OfState):
    """The exterior state is g: a Dirichlet condition on what enters.

    g: a tuple of numbers or a function of x and t that returns one."""

    g: Sequence[float] | Callable
    flux = staticmethod(upwind)
    __call__ = OfState.state


@dataclass(frozen=True, repr=False)
class incident(OfState):
    """An incident field enters, everything else leaves: q+ = field(x, t) in the upwind flux (total-field formulation).

    field: a function of x and t that returns a tuple, or a tuple of numbers."""

    field: Sequence[float] | Callable
    flux = staticmethod(upwind)
    unknown = "total"
    __call__ = OfState.state


@dataclass(frozen=True, repr=False)
class scattered(Formula):
    """Scattered-field formulation: the unknown is q - field, and `condition` holds for the sum.

    q+ = condition(q- + field) - field; with pec the tangential E+ = -E- - 2 E_incident.
    condition   any condition that is linear in q
    field       function (x, t) -> tuple, a solution of the law without the scatterer, such as a `plane_wave`
    Kloeckner et al. 2009, section 6 (figure 12)."""

    condition: Callable
    field: Callable
    unknown = "scattered"

    @property
    def flux(self) -> Callable | None:
        """The numerical flux that the condition asks for."""
        return declared(self.condition).flux

    @property
    def of_faces(self) -> Callable | None:
        """The numbers of each face that the condition asks for."""
        return declared(self.condition).of_faces

    def check(self, mesh: Any, faces: Any, law: Law) -> None:
        check_parts(self.condition, self.field, mesh=mesh, faces=faces, law=law)

    def __call__(self, q: Components, n: Components, x: Components, t: Any, m: Any, law: Law, face: Any = None) -> tuple:
        linear(law, "scattered")
        f = state_of(self.field, x, t, law, "scattered")
        given = dict(q=tuple(a + b for a, b in zip(q, f)), n=n, x=x, t=t, m=m, law=law)
        outside = call(self.condition, given if face is None else given | {"face": face})
        return tuple(a - b for a, b in zip(outside, f))


def need(law, attribute, condition, kind):
    if getattr(law, attribute, None) is None:
        raise ValueError(f"boundary condition '{condition}' needs a law of {kind} type, not {law!r}")
    return getattr(law, attribute)


def linear(law, condition):
    if not law_is_linear(law):
        other = ("far_field lets waves leave" if isinstance(law, Euler) or law.entering else "outflow takes the state from "
                 "inside")
        raise ValueError(f"boundary condition '{condition}' is for linear laws, not {law!r}; {other}")


LINEAR: WeakKeyDictionary = WeakKeyDictionary()          # {law: whether it is linear}: tracing takes longer than a condition


def law_is_linear(law):
    """`is_linear`, found once for each law."""
    if law not in LINEAR:
        LINEAR[law] = is_linear(law)
    return LINEAR[law]


def is_linear(law):
    """Whether the flux of a law is linear in its state: the derivative along a change d of the state does not depend on it."""
    inputs = {"q": len(law.variables), "n": law.dim, "x": law.dim, "t": None, "m": dict.fromkeys(law.parameters)}
    flux = trace(law.flux, inputs)

    def change(q, d, n, x, t, m):
        given = {f"{name}{i}": c for name, values in (("q", q), ("n", n), ("x", x)) for i, c in enumerate(values)}
        given |= {"t": t, **{f"m_{name}": value for name, value in m._asdict().items()}}
        return derivative(flux, given, {f"q{i}": c for i, c in enumerate(d)})
    return not trace(change, inputs | {"d": len(law.variables)}).depends_on("q")


def acoustic(law, condition):
    if tuple(law.variables[:1]) != ("p",) or len(law.variables) != law.dim + 1:
        raise ValueError(f"boundary condition '{condition}' needs a law with variables p and v, such as Acoustics, not {law!r}")
