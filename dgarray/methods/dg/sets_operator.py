"""The operator of discontinuous Galerkin on several element sets that meet at joins."""
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...backends.arrays import ArrayBackend
from ...mesh.faces import Inner
from ...mesh.neighbourhood import Neighbourhood
from ...stepping import sequence
from ..check import Check
from ..exchange import Copies
from ..operation import OperationLists, of_sets
from ..stage_update import step_text
from .error_estimate import error_estimate
from .joins import JOINS
from .limiters.linear import LinearLimiterTables
from .mortars import points_at_mortars
from .sets import set_joins, sets_of
from .sets_state import SetsState
from .spectrum import limiting_part, rounded_down, search_of_sets, searched, stable_step
from .stage_program import last_stage


class SetsTables(NamedTuple):
    """The sizes of several sets: {name: tables}, elements of all, and the order, or orders."""

    sets: dict
    law: Any
    elements: int
    order: Any
    unit = "element and stage"


class SetsOperator(SetsState):
    """The operator of several element sets: steps, in which all sets do each stage together, limiters and checks.

    `SetsState` says what a state is, and has the values that output and recorders read."""

    def __init__(self, problem, method, sets, backend, others=None):
        """others: the operators of the sets on another backend, with the same tables"""
        super().__init__(problem, method, sets, backend, {
            each.name: others[each.name].on(backend) if others else each.method.operator_of_set(each.problem, backend)
            for each in sets})
        self._steps, self._lists = {}, OperationLists()
        self._place_points()
        self._place_limits()
        operations = {name: operator.operations for name, operator in self.operators.items()}
        first = next(iter(operations.values()))
        self.all_stages = first.stages(operations, set_joins(problem, sets), {each.name: each.several for each in sets})
        self.messages = None if problem.mesh.share is None else backend.messages
        if self.messages is not None:
            self.all_stages.copies = Copies(self.messages, {
                each.name: (operations[each.name], each.problem.mesh.share) for each in sets})

    @property
    def copies(self):
        """The `Copies` of other parts' elements, on a part of a mesh."""
        return self.all_stages.copies

    def _place_points(self):
        """Tell the limiters that keep states positive where mortars evaluate them: on all parts of a mesh alike."""
        tables = {name: operator.tables for name, operator in self.operators.items()}
        if not next(iter(tables.values())).limiting.positivity:
            return
        problem = replace(self.problem, mesh=self.mesh.whole)
        whole = self.sets if self.mesh.share is None else sets_of(self.method, problem)
        every = [tables.get(each.name) or each.method.tables(each.problem) for each in whole]
        found = points_at_mortars(set_joins(problem, whole), every)
        for number, each in enumerate(whole):
            if each.name in tables:
                tables[each.name].mortar_points = found.get(number)

    def _place_limits(self):
        """Let the limiters of all sets see the elements of the others."""
        tables = [operator.tables for operator in self.operators.values()]
        if not tables[0].limiting.limiter:          # positivity needs nothing of other elements
            return
        if len(tables[0].limits.neighbourhood.cells) < len(self.set_of):          # not placed yet
            around, first = Neighbourhood.of(self.mesh, np.concatenate([each.cells for each in self.sets])), 0
            for each in tables:
                if not isinstance(each.limits, LinearLimiterTables):
                    each.limits = LinearLimiterTables(each.limiting, each)
                each.limits.place(around, slice(first, first + each.elements))
                first += each.elements

    def limit_operations(self, states):
        """The operations that limit a new state."""
        return self.all_stages.limit_operations(states)

    def on(self, backend):
        """The same problem on another backend, with the same tables."""
        operator = SetsOperator(self.problem, self.method, self.sets, backend, self.operators)
        operator.stepper = self.stepper
        return operator

    @property
    def stepper(self):
        return next(iter(self.operators.values())).stepper

    @stepper.setter
    def stepper(self, stepper):
        for operator in self.operators.values():
            operator.stepper = stepper

    @property
    def coefficients(self):
        return [values for operator in self.operators.values() for values in operator.coefficients]

    @property
    def kernels(self):
        return min(operator.kernels for operator in self.operators.values())          # "array" where one set has none

    @property
    def array_expressions(self):
        return list(dict.fromkeys(part for operator in self.operators.values() for part in operator.array_expressions))

    @property
    def work(self):
        return list(dict.fromkeys(part for operator in self.operators.values() for part in operator.work))

    def kernel_texts(self):
        return {f"{name}: {what}": text for name, operator in self.operators.items()
                for what, text in operator.operations.kernel_texts(self.stepper).items()}

    def report(self):
        if list(self.zones) == [None]:
            return {}
        return {"zones": {zone: {"order": first.method.order, "elements": len(cells), "law": repr(first.problem.law)}
                          for zone, cells in self.zones.items()
                          for first in [next(each for each in self.sets if each.zone == zone)]}}

    # The initial state.

    def project(self, f, t=0.0):
        state = self._each(lambda o: o.projected(f, t))
        if any(operator.tables.limits is not None for operator in self.operators.values()):
            arrays = self.on(ArrayBackend(np, "float64", "numpy"))
            arrays.backend.perform(arrays.limit_operations(state))
        return self.merged(state)

    # A step.

    def largest_step(self, state, t, check=None):
        """The largest step that the eigenvalues of all sets together allow, where wave speeds do not change and the problem is
        not too large to find them; else the smallest of the sets' largest steps."""
        if self.stepper.name not in self._steps and self.search is not None:
            self._steps[self.stepper.name] = (self._step_of_whole() if self.messages is None else
                                              self.messages.once(self._step_of_whole))
        if self._steps.get(self.stepper.name, 0) > 0:
            return self._steps[self.stepper.name]
        step = np.min(list(self._each(lambda o, q: o.max_dt(q, t, self.stepper), state).values()))          # nan of any
        return float(step if self.messages is None else -self.messages.largest(np.array([-step]))[0])

    def waves_step(self, state, t):
        found = list(self._each(lambda o, q: o.waves_step(q, t), state).values())
        return None if None in found else min(found)

    def _step_of_whole(self):
        return (self if self.mesh.share is None else self.of_whole).step_of_spectrum()

    @property
    def of_whole(self):
        """The operator on the whole mesh of which this one is on a part."""
        problem = replace(self.problem, mesh=self.mesh.whole)
        operator = SetsOperator(problem, self.method, sets_of(self.method, problem), ArrayBackend(np, "float64", "numpy"))
        operator.stepper = self.stepper
        return operator

    @cached_property
    def search(self):
        """The `Search` for the eigenvalues of all sets together and the number of elements that it is made on; None where the
        largest step comes from the measured tables."""
        return search_of_sets([operator.tables for operator in self.operators.values()])

    def searched(self, places):
        unknowns = max(int(np.prod(operator.shape[:2])) for operator in self.operators.values())
        return 0 if self.search is None else searched(self.search[0], unknowns, places)

    def holdings(self):
        return [(name, what, thing) for name, operator in self.operators.items() for _, what, thing in operator.holdings()] + [
            (JOINS, "joins", self.all_stages), (JOINS, "joins", self)]

    def step_of_spectrum(self):
        """The largest step by the operator's eigenvalues, by array expressions in float64; nan where there is none."""
        if self.search is None:
            return np.nan
        search, count = self.search
        whole, backend = count == len(self.set_of), ArrayBackend(np, "float64", "numpy", self.backend.threads)
        arrays = self.on(backend) if whole else self._limiting_part(count, backend)
        still = arrays.flat(arrays.rhs(arrays.zeros(), 0.0))
        with np.errstate(all="ignore"):          # a user's source may be nan at a random state
            return rounded_down(stable_step(lambda q: arrays.flat(arrays.rhs(arrays.unflat(q), 0.0)) - still, len(still),
                                            self.stepper, search, search.share_of(count, len(self.set_of), self.mesh.dim)))

    def _limiting_part(self, count, backend):
        """The operator on the elements alone that limit the step, with a zero exterior state where they are cut out."""
        rates = np.empty(len(self.set_of))
        for each, operator in zip(self.sets, self.operators.values()):
            rates[each.cells] = operator.tables.rates() / operator.limit(self.stepper)[0]
        mesh = self.mesh.part(limiting_part(self.mesh, rates, count, [each.cells for each in self.sets]), Inner.CUT)
        problem = replace(self.problem, mesh=mesh)
        return SetsOperator(problem, self.method, sets_of(self.method, problem), backend)

    def set_clock(self, dt, times):
        for operator in self.operators.values():
            operator.operations.set_clock(dt, times)

    def rhs(self, state, t):
        return self.all_stages.rhs(state, t)

    @property
    def stage_count(self):
        return len(self.stepper.stages)

    def stage_operations(self, state):
        """(operations, new state) of each stage of a step."""
        own = self._each(lambda o, q: o.states(q), state)
        plans = [sequence(self.stepper, own[name][0], o.operations.in_place) for name, o in self.operators.items()]
        for number, rows in enumerate(zip(*plans)):
            arrays = {name: (q, out, k, q0) for (name, (_, k)), (_, q, out, q0) in zip(own.items(), rows)}
            new = {name: out for name, (_, out, _, _) in arrays.items()}
            yield self.all_stages.update_operations(arrays, rows[0][0], number) + self.limit_operations(new), new

    def step_operations(self, state):
        return [found for found, _ in self.stage_operations(state)]

    def _begin(self, t, dt):
        """Set the clock; returns the times of the stages."""
        times = [t + row.c * dt for row in self.stepper.stages]
        self.set_clock(dt, [*times, t + dt])
        return times

    def stages(self, state, t, dt):
        times = self._begin(t, dt)
        for number, (found, new) in enumerate(self.stage_operations(state)):
            self.backend.perform(found)
            yield times[number], new if number + 1 < self.stage_count else self.filtered(new)

    def advance(self, state, t, dt):
        return self._step(state, t, dt, False)[0]

    def advance_checked(self, state, t, dt):
        return self._step(state, t, dt, self.messages is None and all(
            operator.check_on_the_way is not None for operator in self.operators.values()))

    def _step(self, state, t, dt, checked):
        """(the state one step later, its `Check` if it is asked for, else None)."""
        arrays = self._each(lambda o, q: o.states(q)[0], state)
        self._begin(t, dt)
        perform, new, check = self._lists.of((self.stepper.name, checked), [each for own in arrays.values() for each in own],
                                             lambda: self._of_step(state, checked))
        perform()
        found = check()
        new = self.filtered(dict(new))
        self._each(lambda o, states, q: o.hold(states, q), arrays, new)
        return new, found

    def filtered(self, state):
        """The state at the end of a step, filtered in place where the method has a filter, and then limited again."""
        found = {name: each for name, each in self.operators.items() if each.tables.filter is not None}
        for name, each in found.items():
            each.operations.filter(state[name])
        if found:
            self._lists.held("limiter", state.values(), lambda: self.backend.prepared(self.limit_operations(state)))()
        return state

    def _of_step(self, state, checked):
        """(a function that performs the operations of a step and of the check of its end, its new state, a function that then
        returns the check)."""
        stages = list(self.stage_operations(state))
        found, new = [operation for some, _ in stages for operation in some], stages[-1][1]
        checks, check = self.checking(new, self.stage_count) if checked else ([], lambda: None)
        return self.backend.prepared([*found, *checks]), new, check

    def checking(self, state, number):
        """(operations that check a state at a time of the clock, a function that then returns the `Check`)."""
        found = self._each(lambda o, q: o.operations.checking(q, number, 0), state)
        results = [result for _, result in found.values()]

        def check():
            checks = [result() for result in results]
            return None if None in checks else of_all(checks)
        return of_sets({name: operations for name, (operations, _) in found.items()}), check

    def program(self, name, *options):
        """A program of all sets, of a function of `stage_program`."""
        return self.all_stages.program(name, *options)

    @cached_property
    def tables(self):
        """The `SetsTables`."""
        orders = [each.method.order for each in self.sets]
        return SetsTables({name: operator.tables for name, operator in self.operators.items()}, self.law, self.mesh.cell_count,
                          orders[0] if len(set(orders)) == 1 else orders)

    def step_text(self):
        return step_text(last_stage(self, self.stepper), super().step_text())

    def forget(self):
        self._each(lambda o: o.forget())

    def error_estimate(self, loop):
        return error_estimate(self, loop)

    # Checks of a state.

    def check(self, state, t):
        return of_all(self._each(lambda o, q: o.check(q, t), state).values())

    def not_finite(self, arrays):
        return self._in_mesh(lambda o, q: o.not_finite(q), self.split(arrays))

    def not_admissible(self, arrays, t):
        return self._in_mesh(lambda o, q: o.not_admissible(q, t), self.split(arrays))

    def state_at(self, arrays, place, row):
        for each in self.sets:
            here = np.flatnonzero(each.cells == place)
            if len(here):
                return self.operators[each.name].state_at(self.split(arrays)[each.name], int(here[0]), row)
        raise IndexError(f"element {place} is in none of the sets")

    def not_admitted(self, f):
        return next(filter(None, (operator.not_admitted(f) for operator in self.operators.values())), "")

    def _in_mesh(self, function, parts):
        """Positions that a function finds in each set, with the elements' numbers in the mesh, in the order of these."""
        found = self._each(function, parts)
        rows = np.concatenate([np.column_stack([each.cells[rows[:, 0]], rows[:, 1:]])
                               for each, rows in zip(self.sets, found.values())])
        return rows[np.lexsort(rows.T[::-1])]

    def change(self, state, before):
        changes = self._each(lambda o, q, p: o.change(q, p), state, before).values()
        return np.max([change[:, :len(self.law.variables)] for change in changes], axis=0)


def of_all(checks):
    """The `Check` of several sets from those of each, without a rate."""
    return Check(all(each.finite for each in checks), all(each.admissible for each in checks))
