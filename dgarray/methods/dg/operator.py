"""The operator of discontinuous Galerkin: one law or several on one mesh, on a backend."""
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...backends.arrays import ArrayBackend
from ...mesh.neighbourhood import Neighbourhood
from ...stepping import real_limit
from ..check import Check
from ..exchange import Copies
from ..stage_update import step_text
from .error_estimate import error_estimate
from .joins import JOINS
from .limiters.linear import LinearLimiterTables
from .mortars import points_at_mortars
from .set_operations import SeveralSets
from .set_operator import SetOperator
from .sets import cut_out, set_joins, sets_of
from .sets_state import SetsState
from .spectrum import limiting_part, rounded_down, search_of, searched, stable_step
from .stability import check_stepper
from .stage_program import last_stage
from .step_limits import damping, limit, rates as wave_rates


class SetsTables(NamedTuple):
    """The sizes of several sets: {name: tables}, elements of all, and the order, or orders."""

    sets: dict
    law: Any
    elements: int
    order: Any
    unit = "element and stage"


class DGOperator(SetsState):
    """The operator of discontinuous Galerkin: dq/dt, time steps, checks. Most problems have one set of elements; several do
    each stage together.

    `SetsState` says what a state is, and has the values that output and recorders read; `SetOperator` has what belongs to one
    set.

    messages   the `Messages` by which a part of a mesh is connected with the others; else None"""

    def __init__(self, problem, method, sets, backend, tables=None):
        """tables: {name of a set: its tables}, of the same problem on another backend"""
        operators = {each.name: SetOperator(each, backend, tables and tables[each.name]) for each in sets}
        # As kernels have them: what is alone has no name.
        named = {each.name if len(sets) > 1 else None: each for each in sets}
        operations = {name: operators[each.name].operations for name, each in named.items()}
        first, meet = next(iter(operations.values())), sets[0].several or sets[0].name is not None          # others at joins
        joins = set_joins(problem, sets) if meet else []
        stages = first.stages(operations, joins, {name: each.several for name, each in named.items()})
        if len(sets) == 1:
            first.all_stages = stages
        super().__init__(problem, method, sets, operators, SeveralSets(stages) if len(sets) > 1 else first, backend)
        self.set_tables = {name: each.tables for name, each in operators.items()}
        if tables is None and meet:
            self._place_points()
            self._place_limits()
        self.messages = None if problem.mesh.share is None else backend.messages
        if self.messages is not None:
            stages.copies = Copies(self.messages, {name: (operations[name], each.problem.mesh.share)
                                                   for name, each in named.items()})
        # A value that is not finite stays so, and can be found some steps later. A state that is not admissible may become
        # admissible again, so it is looked for after every step.
        if not self.alike or self.law.admissible is not None:
            self.check_every = 1
        self.filters = any(each.filter is not None for each in self.set_tables.values())
        self._decisive = None       # what `decisive` says; a cached property would let threads wait for one another
        self._limits = {}           # {stepper: what `limits` says}
        self._steps = {}            # {stepper: largest stable step}, where wave speeds do not change
        self._checks = {}           # {stepper: what `check_on_the_way` says}

    def _place_points(self):
        """Tell the limiters that keep states positive where mortars evaluate them: on all parts of a mesh alike."""
        tables = self.set_tables
        if not next(iter(tables.values())).limiting.positivity:
            return
        problem = replace(self.problem, mesh=self.mesh.whole)
        whole = self.sets if self.mesh.share is None else self.method.sets(problem)
        every = [tables.get(each.name) or each.method.tables(each.problem) for each in whole]
        found = points_at_mortars(set_joins(problem, whole), every)
        for number, each in enumerate(whole):
            if each.name in tables:
                tables[each.name].mortar_points = found.get(number)

    def _place_limits(self):
        """Let the limiters of all sets see the elements of the others, and elements of another size."""
        tables = list(self.set_tables.values())
        if not tables[0].limiting.limiter or not (self.several or len(self.mesh.whole.hanging)):
            return          # positivity needs nothing of other elements
        around, first = Neighbourhood.of(self.mesh, np.concatenate([each.cells for each in self.sets])), 0
        for each in tables:
            if not isinstance(each.limits, LinearLimiterTables):
                each.limits = LinearLimiterTables(each.limiting, each)
            each.limits.place(around, slice(first, first + each.elements))
            first += each.elements

    def on(self, backend):
        """This operator on another backend, with its tables."""
        operator = DGOperator(self.problem, self.method, self.sets, backend, self.set_tables)
        operator.stepper = self.stepper
        return operator

    @cached_property
    def tables(self):
        """The tables of the set, or the `SetsTables` of several."""
        if not self.several:
            return self.operators[self.sets[0].name].tables
        orders = [each.method.order for each in self.sets]
        return SetsTables(self.set_tables, self.law, self.mesh.cell_count, orders[0] if len(set(orders)) == 1 else orders)

    @property
    def copies(self):
        """The `Copies` of other parts' elements, on a part of a mesh."""
        return self.operations.copies

    @property
    def coefficients(self):
        return [values for tables in self.set_tables.values() for values in tables.parameters.values()]

    @property
    def kernels(self):
        every = [each.operations for each in self.operators.values()]
        return "fused" if all(each.work[0] in each.fused for each in every) else "array"

    def report(self):
        if list(self.zones) == [None]:
            return {}
        return {"zones": {zone: {"order": first.method.order, "elements": len(cells), "law": repr(first.problem.law)}
                          for zone, cells in self.zones.items()
                          for first in [next(each for each in self.sets if each.zone == zone)]}}

    def holdings(self):
        others, found = [*(self._others or ()), *([] if self._k is None else [self._k])], []
        for name, each in self.operators.items():
            found += [(name or "", "state and registers", [self.by_set(state)[name] for state in others]),
                      (name or "", "geometry and parameters", [each.mesh, each.tables]),
                      (name or "", "working arrays", [each.operations, each])]
        part, what = ("", "working arrays") if self.alike else (JOINS, "joins")
        return [*found, (part, what, self.operations.all_stages), (part, what, self)]

    # The initial state.

    def project(self, f, t=0.0):
        """The state that represents f(x, t), limited as after a stage, if the method has a limiter."""
        state = self.projected(f, t)
        if any(each.limits is not None for each in self.set_tables.values()):
            self.on(ArrayBackend(np, "float64", "numpy")).operations.limit(state)
        return self.merged(self.by_set(state))

    def projected(self, f, t=0.0):
        """The state that represents f(x, t) before it is limited, in float64 on the host."""
        return self.of_sets(self._each(lambda o: o.projected(f, t)))

    def not_admitted(self, f):
        return next(filter(None, (each.not_admitted(f) for each in self.operators.values())), "")

    # A step.

    def rhs(self, state, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C at (q, t).

        The state and the result are states in the backend's layout; `state` and `host` convert from and to plain arrays."""
        return self.operations.rhs(state, t)

    def advance(self, state, t, dt):
        return self.filtered(super().advance(state, t, dt))

    def advance_checked(self, state, t, dt):
        """(New state, its `Check`, of which the rate is one over the largest step that wave speeds allow; None if the step does
        not compute it)."""
        new, check = self._step(state, t, dt, self.check_on_the_way)
        if check is not None and check.rate is not None:
            check = Check(check.finite, check.admissible, self._rate_of_step(check.rate, self.stepper))
        return self.filtered(new), check

    def stages(self, state, t, dt):
        for number, (time, new) in enumerate(super().stages(state, t, dt), 1):
            yield time, self.filtered(new) if number == self.stage_count else new

    def filtered(self, state):
        """The state at the end of a step, filtered in place if the method has a filter, and then limited again."""
        if self.filters:
            self.operations.filter(state)
            self.operations.limit(state)
        return state

    @property
    def decisive(self):
        """(Whether wave speeds depend on the state, and on time; whether a law does not admit every state; whether a step
        cannot include the check of its end), of any set, on all parts of a mesh, which so decide alike.

        It cannot where kernels have none, admissibility depends on time, or a filter changes the state after the last stage."""
        if self._decisive is None:
            found = []
            for each in self.operators.values():
                tables, functions = each.tables, each.tables.physics.functions
                admits, speed = tables.law.admissible is not None, functions.wave_speed
                late = tables.filter is not None or admits and functions.admissible.depends_on("t")
                found.append((speed.depends_on("q"), speed.depends_on("t"), admits, late or not each.operations.checks))
            found = np.any(found, axis=0)
            self._decisive = (found if self.messages is None else self.messages.largest(found)).tolist()
        return self._decisive

    @property
    def check_on_the_way(self):
        """Which check a step includes: the exponent of the wave rate in it, or those of each set, 0 without a rate, None for no
        check.

        The rate is not asked for where wave speeds do not depend on the state, or depend on time."""
        if self.stepper.name not in self._checks:
            by_state, by_time, admits, never = self.decisive
            exponents = tuple(exponent for _, exponent, _ in self.limits(self.stepper)) if by_state and not by_time else 0
            # On several ranks each look is a message.
            never = never or self.messages is not None and not admits and not exponents
            self._checks[self.stepper.name] = None if never else exponents if self.several or not exponents else exponents[0]
        return self._checks[self.stepper.name]

    def renewed(self, state):
        """The state with copies of other parts' elements as they are there now; on a part of a mesh."""
        if self.messages is not None:
            self.backend.perform(self.operations.copies_operations(state))
        return state

    def everywhere(self, fact):
        """Whether something holds on all parts of the mesh."""
        return not self.most(not fact)

    def most(self, count):
        """The largest of the whole numbers of all parts of the mesh."""
        return int(count if self.messages is None else self.messages.largest([count])[0])

    def summed_up(self, number):
        """The sum of the numbers of all parts of the mesh, the same on each."""
        return number if self.messages is None else sum(self.messages.everyones(number))

    def program(self, name, *options):
        """A program of all sets, of a function of `stage_program`."""
        return self.operations.all_stages.program(name, *options)

    def step_text(self):
        return step_text(last_stage(self, self.stepper), super().step_text())

    def error_estimate(self, loop):
        return error_estimate(self, loop)

    # The largest step.

    def largest_step(self, state, t, check=None):
        """Largest stable time step at the state; check: its `Check` from `advance_checked`, or None."""
        if check is not None and check.rate is not None:
            return step_of(check.rate)
        return self.max_dt(state, t, self.stepper)

    def max_dt(self, state, t, stepper):
        """Largest stable time step at the state with a stepper.

        If the wave speeds depend on neither state nor time, the step comes from the eigenvalues of this operator, which are
        found once: see `dgarray.methods.dg.spectrum`. Else it comes from wave speeds and sizes of the elements, by a measured
        table: see `dgarray.methods.dg.stability`.

        Raises ValueError for a stepper that has no stable step at this order."""
        by_state, by_time, *_ = self.decisive
        if by_state or by_time:
            return self._step_of_table(state, t, stepper)
        if stepper.name not in self._steps:
            for each in self.sets:
                check_stepper(each.method.order, stepper)
            search = self._step_of_spectrum
            step = search(stepper) if self.messages is None else self.messages.once(search, stepper)
            self._steps[stepper.name] = step if step > 0 else self._step_of_table(state, t, stepper)
        return self._steps[stepper.name]

    def limits(self, stepper):
        """(factor, exponent, rate of what is damped) of each set, see `_rate_of_step`."""
        if stepper.name not in self._limits:
            self._limits[stepper.name] = [(*limit(each, stepper), damping(each) / real_limit(stepper))
                                          for each in self.set_tables.values()]
        return self._limits[stepper.name]

    def _rate_of_step(self, rates, stepper):
        """One over the largest step that these wave rates allow, of the set or a tuple of those of each,

        1 / dt = largest of rate / factor + damping / z,

        with factor of `dgarray.methods.dg.step_limits.limit`, the law's damping rate, and z the stepper's stability limit on
        the negative real axis."""
        if not self.several:
            (factor, _, damped), = self.limits(stepper)
            return rates / factor + damped
        return float(np.max([rate / factor + damped for rate, (factor, _, damped) in zip(rates, self.limits(stepper))]))

    def _step_of_table(self, state, t, stepper):
        """The step from the measured table."""
        rates = tuple(each.operations.rate(q, t, exponent) for each, q, (_, exponent, _) in zip(
            self.operators.values(), self.by_set(state).values(), self.limits(stepper)))
        rate = self._rate_of_step(rates if self.several else rates[0], stepper)
        return step_of(rate if self.messages is None else self.messages.largest(np.array([rate]))[0])

    def waves_step(self, state, t):
        if any(each.physics.functions.wave_speed.depends_on(what) for each in self.set_tables.values() for what in "qt"):
            return None
        return min(each.waves_step(self.stepper) for each in self.operators.values())

    @cached_property
    def search(self):
        """The `Search` for the eigenvalues of all sets together and the number of elements that it is made on; None where the
        largest step comes from the measured table, as it does where elements of two sizes are alike otherwise."""
        return self._search(self.set_tables.values())

    def _search(self, tables):
        return None if self.alike and next(iter(tables)).faces.at_joins else search_of(list(tables))

    def searched(self, places):
        unknowns = max(int(np.prod(each.shape[:2])) for each in self.operators.values())
        return 0 if self.search is None else searched(self.search[0], unknowns, places)

    def _step_of_spectrum(self, stepper):
        """The step from the operator's eigenvalues, by array expressions in float64, so that it is the same on every backend;
        nan where the table must be used instead. On a part of a mesh it is that of the whole."""
        problem, sets, tables, search = replace(self.problem, mesh=self.mesh.whole), self.sets, self.set_tables, self.search
        if self.mesh.share is not None:
            sets = self.method.sets(problem)
            tables = {each.name: each.method.tables(each.problem) for each in sets}
            search = self._search(tables.values())
        if search is None:
            return np.nan
        (search, count), rates = search, np.empty(problem.mesh.cell_count)
        for each, own in zip(sets, tables.values()):          # rates of different sets do not compare well
            rates[each.cells] = wave_rates(own) / (limit(own, stepper)[0] if len(sets) > 1 else 1)
        if not np.isfinite(rates).all():
            return np.nan
        backend = ArrayBackend(np, "float64", "numpy", self.backend.threads)
        if count < len(rates):          # only elements that limit the step, with a zero exterior state where they are cut out
            problem = cut_out(problem, limiting_part(problem.mesh, rates, count, [each.cells for each in sets]))
            sets, tables = sets_of(self.method, problem), None
        arrays = DGOperator(problem, self.method, sets, backend, tables)
        share = search.share_of(count, len(rates), self.mesh.dim)
        with np.errstate(all="ignore"):          # a user's source may be nan at a random state; then the table is used
            still = arrays.flat(arrays.rhs(arrays.zeros(), 0.0))

            def linear(q):
                return arrays.flat(arrays.rhs(arrays.unflat(q), 0.0)) - still
            return rounded_down(stable_step(linear, len(still), stepper, search, share))

    def flat(self, state):
        """The values of a state (variable, node, element) of each set, as one vector."""
        return np.concatenate([values.ravel() for values in self.by_set(state).values()])

    def unflat(self, values):
        """The inverse of `flat`."""
        shapes = {name: each.shape for name, each in self.operators.items()}
        ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
        return self.of_sets({name: part.reshape(shape) for (name, shape), part in zip(
            shapes.items(), np.split(values, ends[:-1]))})

    # Checks of a state.

    def check(self, state, t):
        found = self._each(lambda o, q: o.check(q, t), self.by_set(state)).values()
        return Check(all(each.finite for each in found), all(each.admissible for each in found))

    def not_finite(self, arrays):
        return self._in_mesh(lambda o, q: o.not_finite(q), self.split(arrays))

    def not_admissible(self, arrays, t):
        return self._in_mesh(lambda o, q: o.not_admissible(q, t), self.split(arrays))

    def _in_mesh(self, function, parts):
        """Positions that a function finds in each set, with the elements' numbers in the mesh, in the order of these."""
        found = self._each(function, parts)
        rows = np.concatenate([np.column_stack([each.cells[rows[:, 0]], rows[:, 1:]])
                               for each, rows in zip(self.sets, found.values())])
        return rows[np.lexsort(rows.T[::-1])]

    def state_at(self, arrays, place, row):
        number, own = self.numbers[:, place]
        name = self.sets[number].name
        return self.operators[name].state_at(self.split(arrays)[name], int(own), row)

    def change(self, state, before):
        changes = self._each(lambda o, q, p: o.operations.change(q, p), self.by_set(state), self.by_set(before)).values()
        return np.max([change[:, :len(self.law.variables)] for change in changes], axis=0)


def step_of(rate):
    """The step of a rate, 1 / time; there is no largest one where nothing moves."""
    return 1 / rate if rate != 0 else np.inf
