"""The operations of a set of elements on a backend: its recipe's programs by the interpreter, its limiter, its checks.

Kernels derive a class from one of these and override what they compute; a state then has their layout."""
from functools import cached_property

import numpy as np

from ..check import Check
from ..operation import of_sets
from ..step_operations import Recipe
from .array_stages import ArrayStages
from .arrays import DGArrays
from .curved_form import CurvedForm
from .tensor_form import TensorForm
from .weak_form import WeakForm


class StagesOfSets:
    """Base of the operations of one set and of several: stages of all of them.

    all_stages   makes the operations of these, such as `ArrayStages`
    by_set(given), whole(found)   {set: part} of a state, a register or None, and back"""

    @property
    def copies(self):
        """The `Copies` of other parts' elements, on a part of a mesh."""
        return self.all_stages.copies

    def copies_operations(self, q):
        """The operations that renew the copies of other parts' elements in a state."""
        return self.all_stages.copies_operations(self.by_set(q))

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C; 0 at copies of other parts' elements."""
        return self.whole(self.all_stages.rhs(self.by_set(q), t))

    def stage(self, q, out, k, q0, t, dt, row):
        self.set_clock(dt, [t])
        self.backend.perform(self.stage_operations(q, out, k, q0, row))

    def stage_operations(self, q, out, k, q0, row, number=0):
        """The operations of one Runge-Kutta stage: `update_operations`, then `out` is limited.  `out` may not be `q`."""
        return [*self.update_operations(q, out, k, q0, row, number), *self.limit_operations(out)]

    def update_operations(self, q, out, k, q0, row, number=0):
        """The operations that compute r = dq/dt at (q, t), then k = A k + v q + u q0 + w dt r and
        out = alpha q0 + beta q + B k + C dt r, see `dgarray.stepping.Stage`."""
        given = [self.by_set(each) for each in (q, out, k, q0)]
        return self.all_stages.update_operations({name: tuple(each[name] for each in given) for name in given[0]}, row, number)

    def limit_operations(self, out):
        """The operations that limit a new state; where the limiter looks at neighbours, copies of some are renewed before."""
        limits = [each.tables.limits for each in self.all_stages.operations.values()]
        return [] if limits.count(None) == len(limits) else self.all_stages.limit_operations(self.by_set(out))

    def limit(self, q):
        """Limit the state q in place, if the method has a limiter."""
        self.performed("limit", (q,), lambda: (self.limit_operations(q), lambda: None))


class SeveralSets(StagesOfSets, Recipe):
    """The operations of several sets that make each stage together; a state is {set: state}."""

    def __init__(self, all_stages):
        self.all_stages, self.backend, self.sets = all_stages, all_stages.backend, all_stages.operations
        self.in_place = all(each.in_place for each in self.sets.values())
        self.checks = all(each.checks for each in self.sets.values())

    def by_set(self, given):
        return dict.fromkeys(self.sets) if given is None else given

    def whole(self, found):
        return found

    @property
    def work(self):
        return list(dict.fromkeys(part for each in self.sets.values() for part in each.work))

    @property
    def array_expressions(self):
        return list(dict.fromkeys(part for each in self.sets.values() for part in each.array_expressions))

    def kernel_texts(self, stepper):
        return {f"{name}: {what}": text for name, each in self.sets.items()
                for what, text in each.kernel_texts(stepper).items()}

    def set_clock(self, dt, times):
        for each in self.sets.values():
            each.set_clock(dt, times)

    def checking(self, q, number, exponent):
        """(Operations that check the states of all sets, the function that joins the results), see `Recipe.checking`; exponents
        and rates are tuples, one for each set."""
        found = [each.checking(q[name], number, one) for (name, each), one in zip(
            self.sets.items(), exponent or (0,) * len(self.sets))]

        def check():
            checks = [result() for _, result in found]
            return Check(all(each.finite for each in checks), all(each.admissible for each in checks),
                         *((tuple(each.rate for each in checks), exponent) if exponent else ()))
        return of_sets({name: operations for name, (operations, _) in zip(self.sets, found)}), check

    def filter(self, q):
        """Filter the states of the sets whose method has a filter, in place."""
        for name, each in self.sets.items():
            if each.tables.filter is not None:
                each.filter(q[name])


class SetOperations(DGArrays, StagesOfSets, Recipe):
    """The operations of a set of elements that are alike.

    stages   the class that makes the stages of several sets, or of one, from their operations
    captures_shocks   whether elements have a share of finite volumes
    all_stages   the stages of this set alone, with the joins between its own elements"""

    stages, captures_shocks = ArrayStages, False

    def recipe(self, trace, name=""):
        """The recipe of this set, whose name is given, for a `Trace`."""
        return form_of(self.tables)(trace, self.tables, name)

    @cached_property
    def all_stages(self):
        return self.stages({None: self})

    def by_set(self, given):
        return {None: given}

    def whole(self, found):
        return found[None]

    @cached_property
    def constants(self):
        """{name: array} of the constants of all programs of this set."""
        return {}

    @cached_property
    def own_programs(self):
        """`ArrayStages` of this set without joins."""
        return ArrayStages({None: self})

    def troubled(self, q):
        """Where the state is not smooth to the limiter's indicator, truth values (own element,)."""
        return self.own_programs.interpreter("troubled", self.backend.dtype).run({"q": self.as_array(q)})["rough"] > 0

    def filter(self, q):
        """Filter the state q (variable, node, element) in place; only for a method that has a filter."""
        self.own_programs.interpreter("filtered").run({"q": q}, {"q": q})

    def rate(self, q, t, exponent=1.0):
        """The largest wave rate, 1 / time, see `WeakForm.rate`; nan if a rate is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            rates = self.own_programs.interpreter("rate", exponent).run({"q": self.as_array(q), "t": t})["rate"]
        rate = self.backend.largest(rates)
        return rate if 0 <= rate < np.inf else np.nan

    def finite(self, q):
        """Whether every value of the state is finite."""
        return self.backend.finite(self.own(q))

    def admissible(self, q, t):
        """Where the law admits the state: truth values (node, own element), for modal DG at the points of volume and faces."""
        found = self.own_programs.interpreter("admissible").run({"q": self.as_array(q), "t": t})
        values = [found[name] for name in ("inside", "faces") if name in found]
        return self.xp.concatenate(values) > 0

    def all_admissible(self, q, t):
        """Whether the state is admissible everywhere."""
        return bool(self.admissible(q, t).all())

    def change(self, q, p):
        """Largest |q - p| and largest |q| of every variable, (2, variable), on the host."""
        return self._largest((q[:, :, part], p[:, :, part]) for part in self.backend.pieces(self.tables.owned, q.shape[1]))

    def _largest(self, parts, axes=(1, 2)):
        """Largest |q - p| and largest |q| over `axes`, from pairs (q, p) of parts of two states; see `change`."""
        found = [[self.backend.host(self.xp.max(self.xp.abs(a), axis=axes)) for a in (q - p, q)] for q, p in parts]
        return np.max([np.zeros((2, self.tables.variables)), *found], axis=0)

    @property
    def work(self):
        tables, speed = self.tables, self.tables.physics.functions.wave_speed
        there = {"right-hand side": True, "limiter": tables.limits is not None, "filter": tables.filter is not None,
                 "wave speeds": speed.depends_on("q") or speed.depends_on("t"),
                 "admissible states": tables.law.admissible is not None}
        return [part for part in there if there[part]]


def form_of(tables):
    """The class of the recipe for these tables."""
    return TensorForm if tables.basis.diagonal else CurvedForm if tables.geometry.curved else WeakForm


class CurvedOperations(SetOperations):
    """Operations of a set of curved triangles or tetrahedra, or of prisms or pyramids that are not affine."""

    work = ("curved elements",)


class TensorOperations(SetOperations):
    """Operations of a set of quadrilaterals or hexahedra, by products along lines of nodes."""

    @property
    def captures_shocks(self):
        return self.tables.sensor is not None

    def shares(self, q):
        """The share of finite volumes in each element, (element,), at a state, by array expressions."""
        return self.all_stages.interpreter("shares").run({"q": self.as_array(q), "t": 0.0})["share"]
