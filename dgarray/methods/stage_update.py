"""The end of a Runge-Kutta stage in a program: the register and the new state from r = dq/dt, see `dgarray.stepping`."""
from functools import reduce
from operator import add

from ..physics.pointwise import Pointwise
from ..program.arrays import apply
from ..program.listing import listing
from ..stepping import REGISTER, STATE

FACTORS = "A", "v", "u", "w", "alpha", "beta", "B", "C"          # of a stage


def after_stage(trace, row, **arrays):
    """{"out": the state, "k": the register, where a later stage needs it} after a stage: k = A k + v q + u q0 + w r,
    out = alpha q0 + beta q + B k + C r.

    row      the `Stage`, of which counts which factors are 0 or 1; others are numbers of each run, see `factors_of`
    arrays   r, q and those of `arrays_of`"""
    numbers = {name: 1.0 if is_one(row, name) else None for name in FACTORS if getattr(row, name)}
    factors = {name: trace.number(name) for name, number in numbers.items() if number is None}
    count = len(arrays["r"])
    function = Pointwise(lambda r, q, s, k=None, q0=None: updated(row, r, q, s, k, q0),
                         dict.fromkeys(arrays, count) | {"s": numbers}, "update")
    values = apply(function, "update", s=factors, **arrays)
    return {"k": values[:count], "out": values[count:]} if row.keeps else {"out": values}


def arrays_of(row):
    """Names of the arrays of a stage beside the state q."""
    return [name for name, needed in (("k", row.reads_k), ("q0", row.reads_q0)) if needed]


def factors_of(row, dt):
    """{name: number} of the factors of a stage that are not zero; those of r have dt in them."""
    return {name: getattr(row, name) * (dt if name in ("w", "C") else 1) for name in FACTORS if getattr(row, name)}


def updated(row, r, q, s, k, q0):
    """The components of the register and of the state after a stage, or of the state alone where no later one needs the
    register."""
    values, results = {"r": r, "q": q, "k": k, "q0": q0}, []
    for name, terms in (("k", REGISTER), ("out", STATE)):
        found = [(getattr(s, factor), values[what]) for factor, what in terms if getattr(row, factor)]
        if name == "out" or row.changes:
            values[name] = [sum_of_products([(factor, components[v]) for factor, components in found]) for v in range(len(r))]
        if name == "out" or row.keeps:
            results += values[name]
    return tuple(results)


def sum_of_products(terms):
    """The sum of factor * value over the terms, in their order."""
    values = [value if isinstance(factor, float) and factor == 1 else factor * value for factor, value in terms]
    return reduce(add, values)


def is_one(row, name):
    """Whether a factor of a stage is 1 and multiplies no dt."""
    return name not in ("w", "C") and getattr(row, name) == 1


def kind_of(row):
    """A `Stage` with 2 for each factor that is neither 0 nor 1: stages of one kind have one program."""
    return type(row)(**{name: 1.0 if is_one(row, name) else 2.0 for name in FACTORS if getattr(row, name)}, last=row.last)


def step_text(programs, operations):
    """A step as text: the programs {title: program}, then `operations`, the text of who computes what in which order."""
    texts = ["\n".join([f"the program of {title}", *listing(program), ""]) for title, program in programs.items()]
    return "\n".join([*texts, operations])
