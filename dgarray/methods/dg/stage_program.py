"""The programs of a problem: a stage of a step, dq/dt, wave rates, and where the law admits a state.

`forms`: {name of a set: a function that makes its recipe, such as a `WeakForm`, for a `Trace`}; `joins`: the recipe of the
fluxes between sets, see `dgarray.methods.dg.join_fluxes`, or None."""
from functools import reduce
from operator import add

from ...physics.pointwise import Pointwise
from ...program.arrays import Trace, apply
from ...program.listing import listing
from ...stepping import REGISTER, STATE
from .limiter_program import elements_of

FACTORS = "A", "v", "u", "w", "alpha", "beta", "B", "C"          # of a stage, see `dgarray.stepping`


class Sets:
    """The recipes of all sets on one `Trace`, and their states."""

    def __init__(self, forms, joins=None):
        self.trace = Trace()
        self.forms = {name: form(self.trace) for name, form in forms.items()}
        self.q = {name: self.state("q", form) for name, form in self.forms.items()}
        self.joins = joins

    @property
    def t(self):
        return self.trace.number("t")

    def state(self, name, form):
        """An array of the size of a set's state."""
        tables = form.tables
        return self.trace.input(form.prefix + name, (tables.variables, tables.rows, tables.elements), form.all)

    def begin(self):
        """Find the shares of finite volumes of all sets."""
        own, beyond = self.joins.shares(self) if self.joins else ({}, {})
        for name, form in self.forms.items():
            form.begin(self.q[name], own.get(name), beyond.get(name, ()))

    def tendencies(self):
        """{name of a set: dq/dt}."""
        self.begin()
        outside = self.joins(self) if self.joins else {}
        return {name: form.tendency(self.q[name], self.t, outside.get(name, ())) for name, form in self.forms.items()}

    def program(self, name, found):
        """The program whose outputs are these, {name of a set: {what: array}}."""
        return self.trace.program(name, **{self.forms[of].prefix + what: array for of, arrays in found.items()
                                           for what, array in arrays.items()})


def rhs(forms, joins=None):
    """The program of dq/dt of all sets, outputs "r"."""
    sets = Sets(forms, joins)
    return sets.program("dq/dt", {name: {"r": r} for name, r in sets.tendencies().items()})


def stage(forms, row, joins=None):
    """The program of a Runge-Kutta stage: r = dq/dt, then k = A k + v q + u q0 + w r, out = alpha q0 + beta q + B k + C r.

    row   the `Stage`, of which counts which factors are 0 or 1; others are numbers of each run, those of r times dt, too
    Outputs "out" and, where a later stage needs it, the register "k"."""
    sets, used = Sets(forms, joins), {name for name in FACTORS if getattr(row, name)}
    factors = {name: sets.trace.number(name) for name in FACTORS if name in used and not is_one(row, name)}
    numbers = {name: None if name in factors else 1.0 for name in FACTORS if name in used}
    arrays = [name for name, needed in (("k", row.reads_k), ("q0", row.reads_q0)) if needed]
    found = {}
    for name, r in sets.tendencies().items():
        form = sets.forms[name]
        given = {"r": r, "q": sets.q[name]} | {each: sets.state(each, form) for each in arrays}
        inputs = dict.fromkeys(given, len(r)) | {"s": numbers}
        function = Pointwise(lambda r, q, s, k=None, q0=None: updated(row, r, q, s, k, q0), inputs, "update")
        values = apply(function, "update", s=factors, **{each: a.first(form.own) for each, a in given.items()})
        found[name] = {"k": values[:len(r)], "out": values[len(r):]} if row.keeps else {"out": values}
    return sets.program("stage", found)


def updated(row, r, q, s, k, q0):
    """The components of the register and of the state after a stage, or of the state alone where no later one needs the
    register; see `dgarray.stepping`."""
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


def rate(forms, exponent):
    """The program of the wave rate of each element, outputs "rate"; see `WeakForm.rate`."""
    sets = Sets(forms)
    return sets.program("rate", {name: {"rate": form.rate(sets.q[name], sets.t, exponent)}
                                 for name, form in sets.forms.items()})


def admissible(forms):
    """The program of where the law admits a state, outputs "inside" and "faces", 1 or 0 at each point."""
    sets = Sets(forms)
    return sets.program("admissible", {name: dict(zip(("inside", "faces"), form.admissible(sets.q[name], sets.t)))
                                       for name, form in sets.forms.items()})


def shares(forms, joins=None):
    """The program of the shares of finite volumes in each element, outputs "share"."""
    sets = Sets(forms, joins)
    sets.begin()
    return sets.program("shares", {name: {"share": form.share} for name, form in sets.forms.items()})


def face_flux(forms):
    """The program of the fluxes at faces alone, outputs "flux"; see `WeakForm.face_flux`."""
    sets = Sets(forms)
    return sets.program("face fluxes", {name: {"flux": form.face_flux(sets.q[name], sets.t)}
                                        for name, form in sets.forms.items()})


def limit(forms, dtype, joins=None):
    """The program of the limiters of all sets, outputs "q"; dtype: of the run."""
    sets = Sets(forms)
    found = elements_of(sets.forms, sets.q, dtype)
    return sets.program("limiter", {name: {"q": e.limited()} for name, e in found.items()})


def troubled(forms, dtype, joins=None):
    """The program of where the state is not smooth to the indicator, outputs "rough", 1 or 0 in each element."""
    sets = Sets(forms)
    found = elements_of(sets.forms, sets.q, dtype)
    return sets.program("indicator", {name: {"rough": e.flow.troubled(e)[0]} for name, e in found.items()})


def filtered(forms):
    """The program of the filter, outputs "q"."""
    sets = Sets(forms)
    return sets.program("filter", {name: {"q": form.filtered(sets.q[name].first(form.own))}
                                   for name, form in sets.forms.items()})


def step_text(stages, stepper, operations):
    """What one step does, as text: the programs of its last stage and of the limiter, then `operations`, the text of who
    computes what in which order."""
    lines = [f"the program of stage {len(stepper.stages)}", *listing(stages.program("stage", kind_of(stepper.stages[-1]))), ""]
    limiter = stages.program("limit", stages.backend.dtype)
    if limiter.operations:
        lines += ["the program of the limiter", *listing(limiter), ""]
    return "\n".join([*lines, operations])
