"""The operator of discontinuous Galerkin on several element sets that meet at joins."""
from functools import cached_property

import numpy as np

from ...backends.arrays import ArrayBackend
from ...physics.trace import call
from ...stepping import sequence
from ..check import Check
from ..operator import Operator
from ..recipe import Fetched
from .error_estimate import error_estimate
from .joins import joins
from .mortars import Mortars
from .spectrum import rounded_down, search_of_sets, stable_step


class SetsOperator(Operator):
    """The operator of several element sets; a state is {zone: q (variable, node, element)}.

    For recorders, norms and messages the elements have the numbers of the mesh, and all zones the highest order, whose
    polynomials hold those of lower order.

    zones      `Zone`s;  operators: {name: the operator of each}"""

    def __init__(self, problem, method, zones, backend, others=None):
        """others: the operators of the sets on another backend, with the same tables"""
        super().__init__(problem, backend)
        self.method, self.zones, self._steps = method, zones, {}
        self.operators = {zone.name: others[zone.name].on(backend) if others else
                          zone.method.operator_of_set(zone.problem, backend) for zone in zones}
        self.unknowns = {name: operator.shape for name, operator in self.operators.items()}
        self.zone = np.empty(len(problem.mesh.cells), int)          # of each element, and its number there
        self.number = np.empty(len(problem.mesh.cells), int)
        for i, zone in enumerate(zones):
            self.zone[zone.cells], self.number[zone.cells] = i, np.arange(len(zone.cells))
        self.mortars = Mortars([operator.operations for operator in self.operators.values()],
                               joins(problem.mesh, self.zone))

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
    def array_expressions(self):
        return list(dict.fromkeys(part for operator in self.operators.values() for part in operator.array_expressions))

    def kernel_texts(self):
        return {f"{name}: {what}": text for name, operator in self.operators.items()
                for what, text in operator.operations.kernel_texts(self.stepper).items()}

    def report(self):
        return {"zones": {zone.name: {"order": zone.method.order, "elements": len(zone.cells),
                                      "law": repr(zone.problem.law)} for zone in self.zones}}

    def parameters(self, part):
        """As `Operator.parameters`, of each zone's law."""
        numbers, found = self.problem.numbers, {}
        for name in (name for name, number in numbers.items() if number is None):
            values, zone = np.empty(part.shape), np.broadcast_to(part.spread(self.zone), part.shape)
            for i, operator in enumerate(self.operators.values()):
                given, inside = operator.law.parameters[name], zone == i
                if callable(given):
                    values[inside] = np.broadcast_to(call(given, dict(x=part.x), name), part.shape)[inside]
                elif isinstance(given, dict):
                    everywhere = np.zeros(len(self.zone))
                    everywhere[self.zones[i].cells] = operator.tables.parameters[name]
                    values[inside] = np.broadcast_to(part.spread(everywhere), part.shape)[inside]
                else:
                    values[inside] = given
            found[name] = values
        return found

    # The state.

    def _each(self, function, *states):
        """{zone: function(operator of the zone, its part of each state)}."""
        return {name: function(operator, *(state[name] for state in states)) for name, operator in self.operators.items()}

    def zeros(self):
        return self._each(lambda o: o.zeros())

    def state(self, arrays):
        return self._each(lambda o, q: o.state(q), arrays)

    def plain(self, state):
        return self._each(lambda o, q: o.plain(q), state)

    def host(self, state):
        return self._each(lambda o, q: o.host(q), state)

    def project(self, f, t=0.0):
        return self._each(lambda o: o.project(f, t))

    # A step.

    def largest_step(self, state, t, check=None):
        """The largest step that the eigenvalues of all sets together allow, where wave speeds do not change and the problem is
        not too large to find them; else the smallest of the sets' largest steps."""
        if self.search is not None:
            if self.stepper.name not in self._steps:
                self._steps[self.stepper.name] = self._step_of_spectrum()
            if self._steps[self.stepper.name] > 0:
                return self._steps[self.stepper.name]
        return float(np.min(list(self._each(lambda o, q: o.max_dt(q, t, self.stepper), state).values())))          # nan of any

    @cached_property
    def search(self):
        """The `Search` for the eigenvalues of all sets together; None where the largest step comes from the measured tables."""
        return search_of_sets([operator.tables for operator in self.operators.values()])

    def _step_of_spectrum(self):
        """The largest step by the operator's eigenvalues, by array expressions in float64; nan where there is none."""
        backend = ArrayBackend(np, "float64", "numpy", self.backend.threads)
        arrays = SetsOperator(self.problem, self.method, self.zones, backend, self.operators)
        still = arrays.flat(arrays.rhs(arrays.zeros(), 0.0))
        with np.errstate(all="ignore"):          # a user's source may be nan at a random state
            return rounded_down(stable_step(lambda q: arrays.flat(arrays.rhs(arrays.unflat(q), 0.0)) - still, len(still),
                                            self.stepper, self.search, self.search.share))

    def flat(self, state):
        """The values of a state (variable, node, element) of each set, as one vector."""
        return np.concatenate([values.ravel() for values in state.values()])

    def unflat(self, values):
        """The inverse of `flat`."""
        ends = np.cumsum([np.prod(shape) for shape in self.unknowns.values()])
        return {name: part.reshape(shape) for (name, shape), part in zip(self.unknowns.items(), np.split(values, ends[:-1]))}

    def exchange(self, state, t):
        """Compute the fluxes at all joints."""
        for name, operator in self.operators.items():
            if operator.tables.joint:
                operator.operations.fill_faces(state[name])
        self.mortars(t)

    def rhs(self, state, t):
        self.exchange(state, t)
        return self._each(lambda o, q: o.rhs(q, t), state)

    @property
    def stage_count(self):
        return len(self.stepper.stages)

    def stages(self, state, t, dt):
        operators = self.operators.values()
        own = self._each(lambda o, q: o.states(q), state)
        plans = [sequence(self.stepper, own[name][0], o.operations.in_place) for name, o in self.operators.items()]
        for rows in zip(*plans):
            row, time = rows[0][0], t + rows[0][0].c * dt
            self.exchange({name: q for name, (_, q, _, _) in zip(own, rows)}, time)
            for operator, (_, k), (_, q, out, q0) in zip(operators, own.values(), rows):
                operator.operations.stage(q, out, k, q0, time, dt, row)
            yield time, {name: out for name, (_, _, out, _) in zip(own, rows)}

    def advance(self, state, t, dt):
        arrays = self._each(lambda o, q: o.states(q)[0], state)
        *_, (_, new) = self.stages(state, t, dt)
        self._each(lambda o, states, q: o.hold(states, q), arrays, new)
        return new

    def forget(self):
        self._each(lambda o: o.forget())

    def error_estimate(self, loop):
        return error_estimate(self, loop)

    def in_zones(self, state):
        return [(operator, state[name]) for name, operator in self.operators.items()]

    # Checks of a state.

    def check(self, state, t):
        found = self._each(lambda o, q: o.check(q, t), state).values()
        return Check(all(each.finite for each in found), all(each.admissible for each in found))

    def not_finite(self, arrays):
        return self._in_mesh(lambda o, q: o.not_finite(q), arrays)

    def not_admissible(self, arrays, t):
        return self._in_mesh(lambda o, q: o.not_admissible(q, t), arrays)

    def _in_mesh(self, function, arrays):
        """Positions that a function finds in each zone, with the elements' numbers in the mesh."""
        found = self._each(function, arrays)
        return np.concatenate([np.column_stack([zone.cells[rows[:, 0]], rows[:, 1:]])
                               for zone, rows in zip(self.zones, found.values())])

    def change(self, state, before):
        return np.max(list(self._each(lambda o, q, p: o.change(q, p), state, before).values()), axis=0)

    # Values for output and recorders.

    @cached_property
    def to_highest(self):
        """From the nodes of each zone to those of the highest order, {zone: (node, node)}."""
        return {name: operator.tables.cell.interpolation(self.space.cell.nodes) for name, operator in self.operators.items()}

    def nodal(self, arrays):
        """Values at the nodes of the highest order, (variable, node, element of the mesh)."""
        values = np.empty((len(self.law.variables), len(self.space.cell.nodes), len(self.zone)), self.dtype)
        for zone in self.zones:
            values[:, :, zone.cells] = self.to_highest[zone.name] @ self.operators[zone.name].nodal(arrays[zone.name])
        return values

    def take(self, state, elements):
        elements = np.asarray(elements)
        values = np.empty((len(self.law.variables), len(self.space.cell.nodes), len(elements)), self.dtype)
        for i, (name, operator) in enumerate(self.operators.items()):
            inside = self.zone[elements] == i
            values[:, :, inside] = self.to_highest[name] @ operator.take(state[name], self.number[elements[inside]])
        return values

    def snapshot(self, arrays):
        return self._each(lambda o, q: o.nodal(q), arrays)

    def fetch_snapshot(self, state):
        return Fetched(self.snapshot(self.host(state)))
