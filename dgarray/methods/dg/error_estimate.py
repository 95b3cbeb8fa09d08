"""Estimates of the errors in time and in space at the end of a DG run."""
import numpy as np

ROUNDING = 64             # an error of one step below this many rounding errors of the state is noise


def error_estimate(operator, loop):
    """{"time": error, "space": error}, L2 norms over all variables at the end of a run, or None.

    operator: of the run, with `in_zones(arrays)`;  loop: its `dgarray.run.time_loop.TimeLoop`, whose copy of the state is
    overwritten
    Time: the last step is repeated as two half steps. The difference, divided by 1 - 2^-p for a stepper of order p, is the
    error of one step (Richardson extrapolation; Hairer, Norsett & Wanner 1993, section II.4). The errors of all steps are
    assumed to add up, as those of a wave do.
    Space: see `lacking`; the squares of all zones add up.
    There is no estimate where a zone has an order below 2, where limiters or finite volumes on subcells change what steps
    compute (a step and two halves then differ by their choices, not by the stepper's error), or after a run that ended early;
    "time" is None where only rounding is left."""
    arrays = operator.arrays(loop.state)
    refused = any(zone.tables.limits is not None or zone.tables.sensor is not None or zone.method.nodal_order < 2
                  for _, zone, _, _ in operator.in_zones(arrays))
    if len(loop.since) != 1 or operator.summed({"refused": refused})["refused"]:
        return None
    (t, dt), halved = loop.since[0], loop.copy
    operator.forget()
    for i in (0, 1):
        halved = operator.advance(halved, t + i * dt / 2, dt / 2)
    found = {}
    for (name, zone, given, own), (*_, other, _) in zip(operator.in_zones(arrays), operator.in_zones(operator.arrays(halved))):
        found[name] = np.stack([energies(zone, each if own is None else np.where(own, each, 0)) for each in (
            given, other - given)])
    parts = operator.summed(found).values()
    difference, size, beyond = (sum(each) for each in zip(*((b.sum(), a.sum(), lacking(a)) for a, b in parts)))
    one_step = np.sqrt(difference) / (1 - 2.0 ** -operator.stepper.order)
    known = one_step > ROUNDING * np.finfo(operator.dtype).eps * np.sqrt(size)
    return {"time": float(loop.steps * one_step) if known else None, "space": float(np.sqrt(beyond))}


def energies(operator, arrays):
    """Squared L2 norm of the part of each degree of the plain arrays of a state, summed over all variables, (degree,)."""
    return operator.space.energies(operator.nodal(arrays)).sum(axis=0)


def lacking(parts):
    """The squared norm E_(N+1) = E_N sqrt(E_N / E_(N-2)) of the part of degree N + 1 that polynomials of degree N lack; parts:
    those of the degrees up to N >= 2.

    Where coefficients decay geometrically, this is the squared error of the best approximation."""
    last, earlier = parts[-1], parts[-3]
    return last * np.sqrt(last / earlier) if last < earlier else last
