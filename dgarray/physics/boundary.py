"""Boundary conditions as exterior states: a function of the interior state that asks for its arguments by name.

A condition may ask for q (interior state), n (outward unit normal), x, t, m (the element's parameters) and `law`; it returns
the state outside.  The numerical flux does the rest, so a user's own condition is one NumPy function.  `Declared` says which
attributes a condition may have besides.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..support.keywords import Keywords, keywords
from ..support.wording import choose
from .boundary_checks import all_checks, check_normal, check_state
from .declared import declared
from .derivative import derivative
from .fluxes import upwind
from .laws.euler import Euler
from .laws.law import dot, shown
from .pointwise import components
from .splines import SplinePieces, normal as spline_normal
from .trace import call, parameters, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .annotations import Components
    from .laws.law import Law


def maker(function):
    """Mark a function that makes a condition, or a field for one, so that it is not taken for a condition itself."""
    checked = keywords(function)
    checked.is_maker = True
    return checked


def marked(function, name, **attributes):
    """A condition, or a field for one, with its name in messages and these attributes."""
    function.__qualname__ = name
    for attribute, value in attributes.items():
        setattr(function, attribute, value)
    return function


def condition(function):
    """Let a condition say what it is where it is called without a state, instead of being given itself."""
    @wraps(function)
    def checked(*args, **kwargs):
        if not args and not kwargs:
            name = function.__name__
            raise TypeError(f"{name} is a condition itself; give it without parentheses, boundary=dgarray.{name}")
        return function(*args, **kwargs)
    return checked


@condition
def pec(q: Components, n: Components, law: Law) -> tuple:
    """Perfect electric conductor, n x E = 0 and n . H = 0: E+ = -E- + 2 n (n . E-), H+ = H- - 2 n (n . H-)."""
    E, H = need(law, "fields", "pec", "Maxwell")(q)
    return law.state(turned(E, law.direction(n)), reflected(H, law.direction(n)))


@condition
def pmc(q: Components, n: Components, law: Law) -> tuple:
    """Perfect magnetic conductor, n x H = 0 and n . E = 0: E+ = E- - 2 n (n . E-), H+ = -H- + 2 n (n . H-)."""
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


@condition
def wall(q: Components, n: Components, law: Law) -> tuple:
    """Rigid wall that slips, n . v = 0: velocity or momentum mirrored, m+ = m- - 2 (n . m-) n, all else as inside.

    Of MHD it conducts perfectly, n . B = 0: the field is mirrored, too."""
    return mirrored(q, n, law, "wall")


@maker
def curved_wall(normal: Callable | str, corner: float = 45.0) -> Callable:
    """Rigid wall that slips and is curved, under a mesh with straight edges: the velocity mirrored about the wall's own normal.

    m+ = m- - 2 (N . m-) N,  N = normal(x) / |normal(x)|,  all else as inside; the numerical flux takes the edge's normal.
    normal   function x -> tuple of components, normal to the wall near the point x, of any length and direction; of a circle
             around (a, b): lambda x: (x[0] - a, x[1] - b).  Or "spline", in 2D: cubic splines through the boundary's
             vertices; N is the normal where the curve is nearest to x, right to third order, as orders 1 and 2 need it
    corner   of "spline": degrees, by default 45; where the boundary turns by more there is a corner
    The mesh has its boundary vertices on the wall.  Gives DG its full order where `wall` gives the second at best.
    ValueError where N is zero or lies along the edges.  Krivodonova & Berger 2006."""
    if isinstance(normal, str):
        return spline_wall(choose("curved_wall: the normal", normal, ("spline",), also=["or a function of x"]), corner)
    function_of_x(normal, "curved_wall")

    def curved_wall_state(q, x, law):
        N = components(call(normal, dict(x=x), "normal"), law.dim, "the normal of curved_wall")
        if all(isinstance(k, Real) and k == 0 for k in N):
            raise ValueError("the normal of curved_wall is zero; it must point away from the wall")
        scale = (1 / dot(N, N)) ** 0.5
        return mirrored(q, tuple(scale * k for k in N), law, "curved_wall")
    return marked(curved_wall_state, f"curved_wall({shown(normal)})", check=check_normal(normal))


def spline_wall(name, corner):
    """The curved wall through splines."""
    if not (isinstance(corner, Real) and 0 < corner <= 180):
        raise ValueError(f"corner={corner!r} is not allowed; it must be an angle in degrees, above 0 and at most 180")

    def spline_wall_state(q, x, law, face):
        if law.dim != 2:
            raise ValueError(f"boundary condition {spline_wall_state.__qualname__} is for 2D, but the law is {law!r}; "
                             "give curved_wall a function")
        N = spline_normal(x, face)
        scale = (1 / dot(N, N)) ** 0.5
        return mirrored(q, tuple(scale * k for k in N), law, "curved_wall")
    return marked(spline_wall_state, f"curved_wall({name!r}, corner={corner:g})", of_faces=SplinePieces(float(corner)))


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


@condition
def pressure_release(q: Components, n: Components, law: Law) -> tuple:
    """Pressure-release boundary of acoustics, p = 0, such as a water surface seen from below: it reflects everything.

    p+ = -p-,  v+ = -v- + 2 n (n . v-).  `absorbing` lets waves leave."""
    acoustic(law, "pressure_release")
    return (-q[0], *turned(q[1:], n))


@condition
def absorbing(q: Components, law: Law) -> tuple:
    """Characteristic boundary, nothing comes in: q+ = 0 in the upwind flux, exact for waves along the normal.

    For linear laws; a gas takes far_field."""
    linear(law, "absorbing")
    return tuple(0.0 * c for c in q)


absorbing.flux = upwind


@condition
def outflow(q: Components) -> Components:
    """Free outflow: q+ = q-.  Right where everything leaves, such as a supersonic gas.

    Sound and electromagnetic waves go both ways: those that come in are fed by those that leave, and grow, so a run warns; take
    `absorbing`.  A shock that crosses such a side in a slower gas spoils the inside on every mesh that does not lie along it:
    give the states beside it by `far_field` or `prescribed`, or take a larger domain."""
    return q


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


@maker
def prescribed(g: Sequence[float] | Callable) -> Callable:
    """The exterior state is g: a Dirichlet condition on what enters.

    g: a tuple of numbers or a function of x and t that returns one."""
    g = state_function(g, "prescribed")

    def prescribed_state(x, t, law):
        return state_of(g, x, t, law, "prescribed")
    return marked(prescribed_state, f"prescribed({shown(g)})", flux=upwind, check=check_state(g, "prescribed"))


@maker
def incident(field: Sequence[float] | Callable) -> Callable:
    """An incident field enters, everything else leaves: q+ = field(x, t) in the upwind flux (total-field formulation).

    field: a function of x and t that returns a tuple, or a tuple of numbers."""
    field = state_function(field, "incident")

    def incident_state(x, t, law):
        return state_of(field, x, t, law, "incident")
    return marked(incident_state, f"incident({shown(field)})", flux=upwind, check=check_state(field, "incident"),
                  unknown="total", field=field)


@maker
def scattered(condition: Callable, field: Callable) -> Callable:
    """Scattered-field formulation: the unknown is q - field, and `condition` holds for the sum.

    q+ = condition(q- + field) - field; with pec the tangential E+ = -E- - 2 E_incident.
    condition   any condition that is linear in q
    field       function (x, t) -> tuple, a solution of the law without the scatterer, such as a `plane_wave`
    Kloeckner et al. 2009, section 6 (figure 12)."""
    def scattered_state(q, n, x, t, m, law, face=None):
        linear(law, "scattered")
        f = state_of(field, x, t, law, "scattered")
        given = dict(q=tuple(a + b for a, b in zip(q, f)), n=n, x=x, t=t, m=m, law=law)
        outside = call(condition, given if face is None else given | {"face": face})
        return tuple(a - b for a, b in zip(outside, f))
    inherited = {name: value for name in ("flux", "of_faces") if (value := getattr(declared(condition), name))}
    return marked(scattered_state, f"scattered({shown(condition)}, {shown(field)})", check=all_checks(condition, field),
                  unknown="scattered", field=field, **inherited)


def refuse_factory(name, condition):
    """Raise ValueError for a function that makes a condition, given as the condition of the boundary `name`."""
    if hasattr(condition, "is_maker"):
        needed = [argument for argument, p in parameters(condition).items() if p.default is p.empty]
        raise ValueError(f"boundary {name!r}: {condition.__name__} is not a condition but makes one; call it: "
                         f"dgarray.{condition.__name__}({', '.join(needed)})")


def state_of(g, x, t, law, condition):
    """The state g(x, t), with all its components."""
    return components(call(g, dict(x=x, t=t), condition), len(law.variables), f"the state of {condition}", law.variables)


def function_of_x(f, condition):
    if not callable(f):
        raise ValueError(f"{condition}({f!r}) is not allowed; give a function of x and t that returns a tuple")


def state_function(g, condition):
    """The state that a user gave, as a function of x and t: itself, or a constant one for a tuple of numbers.

    Raises ValueError for anything else."""
    if callable(g):
        return g
    if isinstance(g, tuple | list) and g and all(isinstance(c, Real) and np.isfinite(c) for c in g):
        state = tuple(map(float, g))

        def constant_state():
            return state
        constant_state.__qualname__ = repr(state)
        return constant_state
    raise ValueError(f"{condition}({g!r}) is not allowed; give a tuple of finite numbers, or a function of x and t that "
                     "returns a tuple")


def need(law, attribute, condition, kind):
    if getattr(law, attribute, None) is None:
        raise ValueError(f"boundary condition '{condition}' needs a law of {kind} type, not {law!r}")
    return getattr(law, attribute)


def linear(law, condition):
    if law not in LINEAR:
        LINEAR[law] = is_linear(law)
    if not LINEAR[law]:
        other = ("far_field lets waves leave" if isinstance(law, Euler) or law.entering else "outflow takes the state from "
                 "inside")
        raise ValueError(f"boundary condition '{condition}' is for linear laws, not {law!r}; {other}")


LINEAR: WeakKeyDictionary = WeakKeyDictionary()          # {law: whether it is linear}: tracing takes longer than a condition


def check_leaving(mesh, faces, law):
    """Warn of `outflow` for a linear law of several variables, whose waves go both ways."""
    if law not in LINEAR:
        LINEAR[law] = is_linear(law)
    if LINEAR[law] and len(law.variables) > 1:
        warnings.warn(f"'outflow' takes the whole state from inside: waves of {law!r} that come in there are fed by those that "
                      "leave, and grow; give dgarray.absorbing, or an absorbing layer by pml", stacklevel=2)


outflow.check = check_leaving


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
