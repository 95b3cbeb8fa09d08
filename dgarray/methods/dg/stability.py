"""The largest stable time step of nodal DG, as measured by `python -m dgarray.analysis.stability`.

    dt = factor / max over elements of (sum over faces of (s J_face / J)^exponent)^(1 / exponent)

with s the wave speed normal to the face.  Factor and exponent depend on dimension, order, stepper and family of the law:
scalar (one variable: the speed normal to a face depends on the flow direction), curl (Maxwell) and system (all others,
measured on acoustics).  docs/time-step.md says how they were measured and how far other meshes deviate.
"""
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...support.wording import choose

FAMILIES = ("scalar", "system", "curl")


class StepLimit(NamedTuple):
    """The largest stable step dt = factor / rate, with rate = max over elements of
    (sum over faces of (s J_face / J)^exponent)^(1 / exponent), 1 / time."""

    factor: float
    exponent: float


@cache
def table():
    """{family: {dim of simplices, or "pyramid": {stepper: [[factor, exponent] for order 1, 2, ...]}}}, all keys text.

    The orders are 1 to 10; for second-order steppers only order 1."""
    return json.loads(Path(__file__).with_suffix(".json").read_text())


def family(law):
    """The family of a law: its attribute `family` if it has one, else scalar for one variable and system for more.

    Raises ValueError for a family that has not been measured."""
    name = getattr(law, "family", None) or ("scalar" if len(law.variables) == 1 else "system")
    return choose(f"{type(law).__name__}: family", name, FAMILIES)


def unstable(order, stepper):
    """Whether a stepper has no stable time step at this order: true for second-order steppers above order 1.  They amplify long
    waves by (c k dt)^4 / 8 per step, more than the upwind flux damps them.  Cockburn & Shu 2001, section 2.2."""
    return order > 1 and stepper.order < 3


def check_stepper(order, stepper):
    """Raise ValueError if the stepper has no stable time step at this order."""
    if unstable(order, stepper):
        raise ValueError(f"stepper {stepper.name!r} has no stable time step at order {order}: long waves grow; "
                         "it is for orders 0 and 1")


def limit_on(shape, law, order, stepper):
    """The `StepLimit` on cells of a `Shape`; of products, as prisms are of triangles and lines, from those of the factors:

        1 / dt = rate of the quadrilaterals / factor in 2D + rate of the triangles / factor in 1D.

    On straight prisms the operator is a Kronecker sum of one on triangles and one on lines, whose eigenvalues add: dt times
    their sum is a mean of dt_2D and dt_1D times the two, and stability regions are nearly convex. The smaller factor with the
    exponent 1, a sum over all faces, is a bound."""
    if shape.factors:
        return StepLimit(min(stability_limit(law, order, stepper, dim).factor for dim in shape.factors), 1.0)
    return stability_limit(law, order, stepper, shape.dim if shape.simplex else shape.name)


def stability_limit(law, order, stepper, kind=None):
    """Factor and exponent of the largest stable step for this law, order (1 to 10) and stepper, a `StepLimit`.

    kind: of the cells in the table, the dimension of simplices or a shape, by default simplices of the law's dimension
    Raises ValueError for an order or a stepper that has not been measured."""
    check_stepper(order, stepper)
    steppers = table()[family(law)][str(kind or law.dim)]
    if stepper.name not in steppers:
        raise ValueError(f"no stability factor for stepper {stepper.name!r}; measured: {', '.join(steppers)}")
    orders = steppers[stepper.name]
    if order not in range(1, len(orders) + 1):
        raise ValueError(f"no stability factor for order {order!r}; measured: 1 to {len(orders)}")
    return StepLimit(*orders[order - 1])
