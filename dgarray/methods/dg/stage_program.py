"""The programs of a problem: a stage of a step, dq/dt, wave rates, and where the law admits a state.

`forms`: {name of a set: a function that makes its recipe, such as a `WeakForm`, for a `Trace`}; `joins`: the recipe of the
fluxes between sets, see `dgarray.methods.dg.join_fluxes`, or None."""
from ...program.arrays import Trace, put
from ..stage_update import after_stage, arrays_of, kind_of
from .limiters.program import elements_of


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


def join_fluxes(forms, joins):
    """The fluxes at joins alone, outputs "flux" (variable, face * face point, element), 0 at all other faces."""
    sets, found = Sets(forms, joins), {}
    for name, parts in joins(sets).items():
        form = sets.forms[name]
        found[name] = {"flux": put(sets.trace, (form.tables.variables, form.basis.face_nodes.size), form.all, parts)}
    return sets.program("fluxes at joins", found)


def stage(forms, row, joins=None):
    """The program of a kind of Runge-Kutta stage: r = dq/dt, then `after_stage`, whose outputs it has."""
    sets, row, found = Sets(forms, joins), kind_of(row), {}
    for name, r in sets.tendencies().items():
        form = sets.forms[name]
        given = {"q": sets.q[name]} | {each: sets.state(each, form) for each in arrays_of(row)}
        found[name] = after_stage(sets.trace, row, r=r, **{each: a.first(form.own) for each, a in given.items()})
    return sets.program("stage", found)


def last_stage(operator, stepper):
    """{title: program} of the last stage of a step and of the limiter, for people who want to read them."""
    found = {f"stage {len(stepper.stages)}": operator.program("stage", kind_of(stepper.stages[-1]))}
    limiter = operator.program("limit", operator.backend.dtype)
    return found | ({"the limiter": limiter} if limiter.operations else {})


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


def filtered(forms, joins=None):
    """The program of the filter, outputs "q"."""
    sets = Sets(forms)
    return sets.program("filter", {name: {"q": form.filtered(sets.q[name].first(form.own))}
                                   for name, form in sets.forms.items()})
