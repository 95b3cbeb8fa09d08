"""Explicit Runge-Kutta methods as tables, and one loop.

Every method here is a row of numbers per stage, applied to the state q, a register k and the state q0 at the step's start:

    r = dq/dt at (q, t + c dt),   k = A k + v q + u q0 + w dt r,   q = alpha q0 + beta q + B k + C dt r

so a backend needs one kernel for all of them, and a method that has no use for k or q0 does not store it.
"""
from functools import cache, reduce
from operator import add
from typing import NamedTuple

import numpy as np

# The update of a stage as sums of products: (factor, what it multiplies). The register first, then the state, which reads it.
REGISTER = ("A", "k"), ("v", "q"), ("u", "q0"), ("w", "r")
STATE = ("alpha", "q0"), ("beta", "q"), ("B", "k"), ("C", "r")


def updated(s, r, q, k=None, q0=None):
    """(register, state) after a stage: k = A k + v q + u q0 + w r,  q = alpha q0 + beta q + B k + C r.

    s holds the factors; r, q, k, q0 are numbers, arrays or traced values. Where s has no such factor, or k or q0 is None, the
    term is not there; without k the register is None."""
    def total(terms):
        return reduce(add, [getattr(s, factor) * values[name] for factor, name in terms
                            if hasattr(s, factor) and values[name] is not None])
    values = {"r": r, "q": q, "k": k, "q0": q0}
    if k is not None:
        values["k"] = total(REGISTER)
    return values["k"], total(STATE)


class Stage(NamedTuple):
    """A row of a table.  last: whether a step ends with it."""

    c: float = 0.0
    A: float = 0.0
    w: float = 0.0
    alpha: float = 0.0
    beta: float = 0.0
    B: float = 0.0
    C: float = 0.0
    v: float = 0.0
    u: float = 0.0
    last: bool = False

    @property
    def changes(self):
        """Whether the register changes."""
        return bool(self.w or self.v or self.u)

    @property
    def keeps(self):
        """Whether it changes the register for a later stage of the step."""
        return self.changes and not self.last

    @property
    def reads_k(self):
        return bool(self.A if self.changes else self.B)

    @property
    def reads_q0(self):
        return bool(self.alpha or self.changes and self.u)

    def terms(self, which, dt=1.0):
        """[(number, name of what it multiplies)] of the terms in REGISTER or STATE that are not zero; that of r = dq/dt has dt
        in it. None of the register where that does not change."""
        found = [(getattr(self, factor) * (dt if name == "r" else 1), name) for factor, name in which if getattr(self, factor)]
        return found if which is STATE or self.changes else []


class LSRK54:
    """Five stages, fourth order, two registers.  Carpenter & Kennedy 1994, NASA TM 109112, solution 3."""

    name, order = "lsrk54", 4
    stages = tuple(Stage(c=c, A=A, w=1.0, beta=1.0, B=B, last=c > 0.9) for A, B, c in (
        (0.0, 1432997174477 / 9575080441755, 0.0),
        (-567301805773 / 1357537059087, 5161836677717 / 13612068292357, 1432997174477 / 9575080441755),
        (-2404267990393 / 2016746695238, 1720146321549 / 2090206949498, 2526269341429 / 6820363962896),
        (-3550918686646 / 2091501179385, 3134564353537 / 4481467310338, 2006345519317 / 3224310063776),
        (-1275806237668 / 842570457699, 2277821191437 / 14882151754819, 2802321613138 / 2924317926251)))


class RK4:
    """The classical method: stages at q0 + dt r / 2, q0 + dt r / 2, q0 + dt r, weights 1/6, 1/3, 1/3, 1/6.  Kutta 1901.

    dt r of a stage is the difference of the state after it and q0, so that k is written once and read once:
    q = q0 + (q_1 - q0) / 3 + 2 (q_2 - q0) / 3 + (q_3 - q0) / 3 + dt r_4 / 6.  Where a limiter changes these states, r counts as
    changed, too."""

    name, order = "rk4", 4
    stages = (Stage(c=0.0, alpha=1.0, C=0.5), Stage(c=0.5, v=1 / 3, u=-1 / 3, w=1 / 3, alpha=1.0, C=0.5),
              Stage(c=0.5, A=1.0, alpha=1.0, C=1.0),
              Stage(c=1.0, A=1.0, v=1 / 3, u=-1 / 3, alpha=1.0, B=1.0, C=1 / 6, last=True))


class SSP33:
    """Three stages, third order, strong stability preserving.  Shu & Osher 1988."""

    name, order = "ssp33", 3
    stages = (Stage(c=0.0, alpha=1.0, C=1.0), Stage(c=1.0, alpha=3 / 4, beta=1 / 4, C=1 / 4),
              Stage(c=0.5, alpha=1 / 3, beta=2 / 3, C=2 / 3, last=True))


class SSP54:
    """Five stages, fourth order, strong stability preserving up to 1.508 steps of forward Euler.  Spiteri & Ruuth 2002.

    The last stage, and so the end of the step, is a convex combination of the second, third and fourth states, each of them
    limited where there is a limiter: k keeps the first two, for which it needs v."""

    name, order = "ssp54", 4
    stages = (Stage(c=0.0, alpha=1.0, C=0.391752226571890),
              Stage(c=0.391752226571890, alpha=0.444370493651235, beta=0.555629506348765, C=0.368410593050371),
              Stage(c=0.586079689311540, alpha=0.620101851488403, beta=0.379898148511597, C=0.251891774271694,
                    v=0.517231671970585),
              Stage(c=0.474542363121400, alpha=0.178079954393132, beta=0.821920045606868, C=0.544974750228521,
                    A=1.0, v=0.096059710526147, w=0.063692468666290),
              # 1e-15 less than in the paper, where the three shares add up to that much more than one.
              Stage(c=0.935010630967653, beta=0.386708617503268, C=0.226007483236906, A=1.0, B=1.0, last=True))


class SSP22:
    """Two stages, second order, strong stability preserving: Heun's method.  Shu & Osher 1988."""

    name, order = "ssp22", 2
    stages = Stage(c=0.0, alpha=1.0, C=1.0), Stage(c=1.0, alpha=1 / 2, beta=1 / 2, C=1 / 2, last=True)


class RK2:
    """The midpoint rule: a stage at q0 + dt r / 2, whose r makes the step.  Runge 1895.

    It is the second-order method in the code of Fuhry, Giuliani & Krivodonova 2014 (the paper calls it classical)."""

    name, order = "rk2", 2
    stages = Stage(c=0.0, alpha=1.0, C=0.5), Stage(c=0.5, alpha=1.0, C=1.0, last=True)


class Taylor:
    """The Taylor series in time of Hermite's method, from the grid to the dual grid and back: two halves of a step."""

    name, order = "taylor", np.inf
    stages = Stage(c=0.0), Stage(c=0.5)


STEPPERS = {stepper.name: stepper for stepper in (LSRK54, RK4, SSP33, RK2, SSP22, SSP54)}


def registers(stepper, in_place=False):
    """How many arrays of the state's size a step needs, the state included: (states, k registers); in_place: see `sequence`."""
    return 2 + (not in_place and any(s.alpha for s in stepper.stages)), int(any(s.changes for s in stepper.stages))


def sequence(stepper, states, in_place=False):
    """The stages of one step, one after the other: (row, q, out, q0), q is read and `out` is the new state.

    states: arrays of the state's size, the current one first, as many as `registers` says
    in_place: `out` is q wherever q is not the state at the beginning of the step"""
    q0 = q = states[0]
    for row in stepper.stages:
        others = (s for s in states[1:] + states[:1] if s is not q and not (s is q0 and len(states) > 2))
        out = q if in_place and q is not q0 else next(others)
        yield row, q, out, q0
        q = out


def stages(operations, stepper, states, k, t, dt):
    """The states after each stage of one step, one after the other.

    operations: offer stage(q, out, k, q0, t, dt, row), one row of the table
    states: as for `sequence`;  k: the register or None"""
    for row, q, out, q0 in sequence(stepper, states, getattr(operations, "in_place", False)):
        operations.stage(q, out, k, q0, t + row.c * dt, dt, row)
        yield out


def step(operations, stepper, states, k, t, dt):
    """Advance by dt, stage after stage; returns the states with the new one first."""
    *_, new = stages(operations, stepper, states, k, t, dt)
    return first(new, states)


def first(new, states):
    """The states with the new one first."""
    return [new, *(state for state in states if state is not new)]


@cache
def real_limit(stepper):
    """Largest z for which the method is stable for dq/dt = -q with steps of length z."""
    z = np.linspace(0.0, 20.0, 20001)
    return float(z[np.argmax(np.abs(amplification(stepper, -z)) > 1 + 1e-12)])


def amplification(stepper, z, one=1.0, product=np.multiply):
    """Growth factor R(z) of the method for dq/dt = lambda q, z = lambda dt; |R| <= 1 is stable.  Array in, array out.

    With one = the unit matrix and product = np.matmul, R(dt A) of a matrix."""
    q0 = q = z * 0 + one
    k = z * 0
    for s in stepper.stages:
        k, q = updated(s, product(z, q), q, k, q0)
    return q


@cache
def monotonicity_radius(stepper):
    """The largest factor r for which a step of length r dt is an average of steps of forward Euler of at most the length dt; 0
    for a method that is none.

    With the Butcher matrix K, the weights its last row: K (I + r K)^-1 >= 0 and r K (I + r K)^-1 e <= e.
    Kraaijevanger 1991."""
    count = len(stepper.stages)
    q0 = q = np.eye(1, count + 1)[0]          # coefficients of q0, dt r_1, dt r_2, ...
    k, rows = 0 * q, []
    for number, s in enumerate(stepper.stages):
        rows.append(q)
        k, q = updated(s, np.eye(1, count + 1, number + 1)[0], q, k, q0)
    K = np.zeros((count + 1, count + 1))
    K[:, :count] = np.array([*rows, q])[:, 1:]

    def holds(r):
        product = np.linalg.solve((np.eye(count + 1) + r * K).T, K.T).T
        return product.min() >= -1e-12 and (r * product.sum(axis=1)).max() <= 1 + 1e-12
    low, high = 0.0, 1.0 * count
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return round(low, 6)
