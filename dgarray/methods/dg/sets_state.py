"""The states of discontinuous Galerkin on several element sets: which values lie where, and values for output."""
from functools import cached_property

import numpy as np

from ...physics.trace import call
from ..operator import Operator
from ..step_operations import Fetched


class SetsState(Operator):
    """A base class of `SetsOperator`. A state is {set: q (variable, row, element)} in the layout of each set's backend.

    Plain arrays, as users see them, are {zone: q (variable, row, element)}, or one q where the whole mesh is one zone. Internal
    variables are arrays of their own, by the name of their set: "pml internal", and then the one zone has the name "q". For
    recorders, norms and messages the elements have the numbers of the mesh, and all zones the highest order, whose polynomials
    hold those of lower order.

    sets       `ElementSet`s;  operators: {name: the operator of each}
    zones      {name of a zone: numbers of its elements in the mesh}"""

    def __init__(self, problem, method, sets, backend, operators):
        super().__init__(problem, backend)
        self.method, self.sets, self.operators = method, sets, operators
        self.set_of, self.number = (np.empty(problem.mesh.cell_count, int) for _ in range(2))          # of each element, and
        for i, each in enumerate(sets):                                                                # its number there
            self.set_of[each.cells], self.number[each.cells] = i, np.arange(len(each.cells))
        self.internals = {f"{name} internal": name for name, operator in self.operators.items()
                          if operator.tables.variables > operator.tables.moving}
        self.one = list(self.zones) == [None] and not self.internals          # whether plain arrays are one
        first = {each.zone: self.operators[each.name].tables for each in reversed(sets)}
        self.unknowns = {key_of(zone): (first[zone].moving, first[zone].rows, len(cells)) for zone, cells in self.zones.items()}
        for name, of_set in self.internals.items():
            tables = self.operators[of_set].tables
            self.unknowns[name] = (tables.variables - tables.moving, *self.operators[of_set].shape[1:])

    def _each(self, function, *states):
        """{set: function(operator of the set, its part of each state)}."""
        return {name: function(operator, *[state[name] for state in states]) for name, operator in self.operators.items()}

    @cached_property
    def zones(self):
        return {zone: np.sort(np.concatenate([each.cells for each in self.sets if each.zone == zone]))
                for zone in dict.fromkeys(each.zone for each in self.sets)}

    @property
    def cells_of_arrays(self):
        cells = {each.name: each.cells for each in self.sets}
        return {key_of(zone): numbers for zone, numbers in self.zones.items()} | {
            name: cells[of_set] for name, of_set in self.internals.items()}

    def parameters(self, part):
        """As `Operator.parameters`, of each set's law."""
        numbers, found = self.problem.numbers, {}
        for name in (name for name, number in numbers.items() if number is None):
            values, owner = np.empty(part.shape), np.broadcast_to(part.spread(self.set_of), part.shape)
            for i, operator in enumerate(self.operators.values()):
                given, inside = operator.law.parameters[name], owner == i
                if callable(given):
                    values[inside] = np.broadcast_to(call(given, dict(x=part.x), name), part.shape)[inside]
                elif isinstance(given, dict):
                    everywhere = np.zeros(len(self.set_of))
                    everywhere[self.sets[i].cells] = operator.tables.parameters[name]
                    values[inside] = np.broadcast_to(part.spread(everywhere), part.shape)[inside]
                else:
                    values[inside] = given
            found[name] = values
        return found

    # Plain arrays from a state, and a state from them.

    def split(self, arrays):
        """Plain arrays as {set: q}; what is such a dict stays one."""
        if isinstance(arrays, dict) and set(arrays) == set(self.operators):
            return arrays
        zones, result = {"q": arrays} if self.one else arrays, {}
        for each in self.sets:
            cells = self.zones[each.zone]
            q = zones[key_of(each.zone)]
            alone = len(cells) == len(each.cells)
            result[each.name] = q if alone else q[:, :, self._integers(q, np.searchsorted(cells, each.cells))]
        for name, of_set in self.internals.items():
            parts = [result[of_set], zones[name]]
            result[of_set] = (np if isinstance(zones[name], np.ndarray) else self.backend.xp).concatenate(parts)
        return result

    def merged(self, parts):
        """Plain arrays from {set: q}: the inverse of `split`."""
        counts = {name: operator.tables.moving for name, operator in self.operators.items()}
        found = self.by_zone({name: q[:counts[name]] for name, q in parts.items()})
        if self.one:
            return found
        found = {"q": found} if list(self.zones) == [None] else found
        return found | {name: parts[of_set][counts[of_set]:] for name, of_set in self.internals.items()}

    def by_zone(self, parts):
        """{zone: values of the law's variables (variable, row, element)} from those of each set, one array where there is one
        zone for all."""
        zones = {}
        for each in self.sets:
            cells, q = self.zones[each.zone], parts[each.name]
            if len(cells) == len(each.cells):
                zones[each.zone] = q
                continue
            if each.zone not in zones:
                xp = np if isinstance(q, np.ndarray) else self.backend.xp
                zones[each.zone] = xp.empty((*q.shape[:2], len(cells)), q.dtype)
            zones[each.zone][:, :, self._integers(q, np.searchsorted(cells, each.cells))] = q
        return zones[None] if list(self.zones) == [None] else zones

    def _integers(self, q, numbers):
        """Numbers where the array q is."""
        return numbers if isinstance(q, np.ndarray) else self.backend.integers(numbers)

    def zeros(self):
        return self._each(lambda o: o.zeros())

    def state(self, arrays):
        return self._each(lambda o, q: o.state(q), self.split(arrays))

    def plain(self, state):
        return self.merged(self._each(lambda o, q: o.plain(q), state))

    def host(self, state):
        return self.merged(self._each(lambda o, q: o.host(q), state))

    def in_zones(self, arrays):
        parts = self.split(arrays)
        return [(name, operator, parts[name], None if operator.mesh.share is None else operator.mesh.share.own)
                for name, operator in self.operators.items()]

    def flat(self, state):
        """The values of a state (variable, node, element) of each set, as one vector."""
        return np.concatenate([values.ravel() for values in state.values()])

    def unflat(self, values):
        """The inverse of `flat`."""
        shapes = {name: operator.shape for name, operator in self.operators.items()}
        ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
        return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), np.split(values, ends[:-1]))}

    # Values for output and recorders.

    @cached_property
    def to_highest(self):
        """From the nodes of each set to those of the highest order, {set: (node, node)}."""
        spaces = {space.mesh.cell_type: space for space in getattr(self.space, "spaces", [self.space])}
        return {each.name: self.operators[each.name].tables.cell.interpolation(
            spaces[each.problem.mesh.cell_type].cell.nodes) for each in self.sets}

    def nodal(self, arrays):
        """Values at the nodes of the highest order, (variable, node, element of the mesh); nan at nodes that the shape of an
        element does not have."""
        parts = self.split(arrays)
        values = self._empty(len(self.set_of))
        for each in self.sets:
            matrix = self.to_highest[each.name]
            values[:, :len(matrix), each.cells] = matrix @ self.operators[each.name].nodal(parts[each.name])
        return values

    def take(self, state, elements):
        elements = np.asarray(elements)
        values = self._empty(len(elements))
        for i, (name, operator) in enumerate(self.operators.items()):
            inside, matrix = self.set_of[elements] == i, self.to_highest[name]
            values[:, :len(matrix), inside] = matrix @ operator.take(state[name], self.number[elements[inside]])
        return values

    def _empty(self, elements):
        """An array for values at the nodes of so many elements."""
        return np.full((len(self.law.variables), self.space.sizes["node"], elements), np.nan, self.dtype)

    def snapshot(self, arrays):
        return self.by_zone(self._each(lambda o, q: o.nodal(q), self.split(arrays)))

    def fetch(self, state):
        return Fetched(self.nodal(self.host(state)))

    def fetch_snapshot(self, state):
        return Fetched(self.snapshot(self.host(state)))


def key_of(zone):
    """The name of a zone's array among plain arrays."""
    return "q" if zone is None else zone
