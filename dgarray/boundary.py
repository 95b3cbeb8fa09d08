"""Boundary conditions as exterior states: a function of the interior state that asks for its arguments by name.

A condition may ask for q (interior state), n (outward unit normal), x, t, m (the element's parameters) and `law`; it returns
the state outside.  The numerical flux does the rest, so a user's own condition is one NumPy function.  A condition with the
attribute `flux` uses that numerical flux at its faces whatever the interior uses.
"""
from numbers import Real

import numpy as np

from .fluxes import upwind
from .laws.law import dot, shown
from .trace import call


def pec(q, law):
    """Perfect electric conductor, n x E = 0: E+ = -E-, H+ = H-."""
    E, H = need(law, "fields", "pec", "Maxwell")(q)
    return law.state(tuple(-c for c in E), H)


def pmc(q, law):
    """Perfect magnetic conductor, n x H = 0: E+ = E-, H+ = -H-."""
    E, H = need(law, "fields", "pmc", "Maxwell")(q)
    return law.state(E, tuple(-c for c in H))


def wall(q, n, law):
    """Rigid wall of acoustics, n . v = 0: p+ = p-, v+ = v- - 2 (n . v-) n."""
    acoustic(law, "wall")
    normal = dot(q[1:], n)
    return (q[0], *(v - 2 * normal * k for v, k in zip(q[1:], n)))


def open(q, law):
    """Pressure-release boundary of acoustics (an open end), p = 0: p+ = -p-, v+ = v-."""
    acoustic(law, "open")
    return (-q[0], *q[1:])


def absorbing(q):
    """Characteristic boundary, nothing comes in: q+ = 0 in the upwind flux, exact for waves along the normal."""
    return tuple(0.0 * c for c in q)


absorbing.flux = upwind


def outflow(q):
    """Free outflow: q+ = q-."""
    return q


def prescribed(g):
    """The exterior state is g(x, t), a tuple of components: a Dirichlet condition on what enters."""
    function_of_x(g, "prescribed")

    def prescribed_state(x, t):
        return call(g, dict(x=x, t=t), "prescribed state")
    prescribed_state.flux, prescribed_state.__qualname__ = upwind, f"prescribed({shown(g)})"
    return prescribed_state


def incident(field):
    """An incident field enters, everything else leaves: q+ = field(x, t) in the upwind flux (total-field formulation)."""
    function_of_x(field, "incident")

    def incident_state(x, t):
        return call(field, dict(x=x, t=t), "incident field")
    incident_state.flux, incident_state.__qualname__ = upwind, f"incident({shown(field)})"
    return incident_state


def scattered(condition, field):
    """Scattered-field formulation: the unknown is q - field, and `condition` holds for the sum.

    q+ = condition(q- + field) - field; with pec: E+ = -E- - 2 E_incident, H+ = H-.
    condition: any condition that is linear in q; field(x, t) -> tuple, a solution of the law without the scatterer.
    Kloeckner et al. 2009, section 6 (figure 12)."""
    def scattered_state(q, n, x, t, m, law):
        f = call(field, dict(x=x, t=t), "incident field")
        outside = call(condition, dict(q=tuple(a + b for a, b in zip(q, f)), n=n, x=x, t=t, m=m, law=law))
        return tuple(a - b for a, b in zip(outside, f))
    scattered_state.__qualname__ = f"scattered({shown(condition)}, {shown(field)})"
    if hasattr(condition, "flux"):
        scattered_state.flux = condition.flux
    return scattered_state


def plane_wave(law, direction, amplitude, shape):
    """A plane wave of the law as a field (x, t) -> state, in a uniform medium.

    direction  unit vector k (dim)
    amplitude  Maxwell: the vector E (three components, normal to k); acoustics: the pressure, a number
    shape      function s -> profile; the wave is shape(c t - k . x)
    Maxwell: H = k x E / Z.  Acoustics: v = p k / (rho c).
    ValueError if k is no unit vector, E is not normal to it, or the medium is not uniform."""
    k = tuple(float(c) for c in np.atleast_1d(direction))
    if len(k) != law.dim or abs(dot(k, k) - 1) > 1e-9:
        raise ValueError(f"direction={direction!r} is not allowed; it must be a unit vector with {law.dim} components")
    if not all(isinstance(v, Real) for v in law.parameters.values()) or law.parameters.get("sigma"):
        raise ValueError(f"a plane wave needs a uniform medium without losses, but the law is {law!r}")
    if hasattr(law, "fields"):
        from .laws.maxwell import cross
        eps, mu, k3 = law.parameters["eps"], law.parameters["mu"], law.direction(k)
        E = tuple(float(c) for c in amplitude)
        if len(E) != 3 or abs(dot(E, k3)) > 1e-9:
            raise ValueError(f"amplitude={amplitude!r} is not allowed; it must be three components of E, normal to {k}")
        H = tuple(c * (eps / mu) ** 0.5 for c in cross(k3, E))
        absent = [f + axis for f, vector in (("E", E), ("H", H)) for axis, c in zip("xyz", vector)
                  if abs(c) > 1e-12 and f + axis not in law.variables]
        if absent:
            raise ValueError(f"amplitude={amplitude!r} along {k} has {', '.join(absent)}; "
                             f"the law has {', '.join(law.variables)}")
        state, speed = law.state(E, H), (eps * mu) ** -0.5
    else:
        acoustic(law, "plane_wave")
        rho, speed = law.parameters["rho"], law.parameters["c"]
        state = (float(amplitude), *(amplitude * c / (rho * speed) for c in k))

    def field(x, t):
        profile = shape(speed * t - dot(k, x))
        return tuple(a * profile for a in state)
    field.__qualname__ = f"plane_wave({k}, {amplitude}, {shown(shape)})"
    return field


def function_of_x(f, condition):
    if not callable(f):
        raise ValueError(f"{condition}({f!r}) is not allowed; give a function of x and t that returns a tuple")


def need(law, attribute, condition, kind):
    if not hasattr(law, attribute):
        raise ValueError(f"boundary condition '{condition}' needs a law of {kind} type, not {law!r}")
    return getattr(law, attribute)


def acoustic(law, condition):
    if tuple(law.variables[:1]) != ("p",) or len(law.variables) != law.dim + 1:
        raise ValueError(f"boundary condition '{condition}' needs a law with variables p and v, such as Acoustics, not {law!r}")
