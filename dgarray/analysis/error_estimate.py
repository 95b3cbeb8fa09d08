"""What a run's error in time and in space are likely to be, estimated from its last state and last step."""
import numpy as np

from ..reference import simplex
from ..stepping import step
from .norms import degree_energies, jacobians

ROUNDING = 64          # local errors below so many rounding errors of the state tell nothing


def error_estimate(loop, order):
    """{"time": error, "space": error}, L2 norms over all variables at the end of a run, or None.

    loop    the run's `TimeLoop`, at its end; its copy of an earlier state is used up
    order   of the polynomials
    Time: the last step is taken once more as two half steps. The difference, over 1 - 2^-p for a stepper of order p, is the
    error of one step (Richardson's extrapolation; Hairer, Norsett & Wanner 1993, section II.4), and the errors of all steps are
    taken to add up, as those of a wave do.
    Space: the part of degree order + 1 that the polynomials lack, E_(N+1) = E_N sqrt(E_N / E_(N-2)), E_n being the squared norm
    of the part of degree n; where coefficients decay geometrically that is the error of the best approximation.
    There is no estimate below order 2 and after a run that ended early; "time" is None where only rounding is left."""
    if order < 2 or len(loop.since) != 1:
        return None
    operator, stepper, (t, dt), last = loop.operator, loop.stepper, loop.since[0], loop.states[0]
    # The last state stays where it is, and the half steps begin in the array that holds the state before it.
    states, k = [loop.copy, *loop.states[1:]], loop.k
    if k is not None:
        k[...] = 0
    for i in (0, 1):
        states = step(operator, stepper, states, k, t + i * dt / 2, dt / 2)
    difference = states[0]
    difference -= last
    rest, parts = (energies(operator, state, order) for state in (difference, last))
    one_step = np.sqrt(rest.sum()) / (1 - 2.0 ** -stepper.order)
    known = one_step > ROUNDING * np.finfo(operator.backend.dtype).eps * np.sqrt(parts.sum())
    decay = np.sqrt(parts[order] / parts[order - 2]) if parts[order] < parts[order - 2] else 1.0
    return {"time": float(loop.steps * one_step) if known else None, "space": float(np.sqrt(parts[order] * decay))}


def energies(operator, state, order):
    """Squared norms over all variables of the parts of each degree of a state of the backend, (degree,)."""
    mesh = operator.tables.mesh
    values = operator.nodal(operator.host(state))
    return degree_energies(values, simplex(mesh.dim, order), jacobians(mesh.points, mesh.cells)).sum(axis=0)
