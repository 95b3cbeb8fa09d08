"""The states of discontinuous Galerkin on one or several element sets: which values lie where, and values for output."""
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...physics.trace import call
from ...reference.columns import multiply
from ..array_operator import SteppedOperator


class SetsState(SteppedOperator):
    """A base class of `DGOperator`. A state is {set: q} in the layout of each set's operations, or q where there is one set.

    Plain arrays, as users see them, are {zone: q (variable, row, element)}, or one q where the whole mesh is one zone. Internal
    variables are arrays of their own, by the name of their set: "pml internal", and then the one zone has the name "q". For
    recorders, norms and messages the elements have the numbers of the mesh, and all zones the highest order, whose polynomials
    hold those of lower order.

    sets       `ElementSet`s;  operators: {name: the `SetOperator` of each}
    several    whether there are several;  alike: whether all elements are, which `ElementSet.name` tells
    zones      {name of a zone: numbers of its elements in the mesh}"""

    def __init__(self, problem, method, sets, operators, operations, backend):
        super().__init__(problem, method, operations, backend)
        self.sets, self.operators, self.several, self.alike = sets, operators, len(sets) > 1, sets[0].name is None
        self.internals = {f"{name} internal": name for name, each in operators.items()
                          if each.tables.variables > each.tables.physics.moving}
        self.one = list(self.zones) == [None] and not self.internals          # whether plain arrays are one
        first = {each.zone: operators[each.name].tables for each in reversed(sets)}
        self.unknowns = {key_of(zone): (first[zone].physics.moving, first[zone].rows, len(cells))
                         for zone, cells in self.zones.items()}
        for name, of_set in self.internals.items():
            tables = operators[of_set].tables
            self.unknowns[name] = (tables.variables - tables.physics.moving, *operators[of_set].shape[1:])
        if not self.several:
            self.shape = operators[sets[0].name].shape

    def by_set(self, state):
        """A state as {set: part}."""
        return state if self.several else {self.sets[0].name: state}

    def of_sets(self, parts):
        """The state of {set: part}: the inverse of `by_set`."""
        return parts if self.several else parts[self.sets[0].name]

    def _each(self, function, *given):
        """{name: function(operator of the set, its part of each given)}."""
        return {name: function(operator, *[parts[name] for parts in given]) for name, operator in self.operators.items()}

    @cached_property
    def zones(self):
        found = {}
        for each in self.sets:
            found.setdefault(each.zone, []).append(each.cells)
        return {zone: np.sort(np.concatenate(cells)) if cells[1:] else cells[0] for zone, cells in found.items()}

    @property
    def cells_of_arrays(self):
        cells = {each.name: each.cells for each in self.sets}
        return {key_of(zone): numbers for zone, numbers in self.zones.items()} | {
            name: cells[of_set] for name, of_set in self.internals.items()}

    @cached_property
    def numbers(self):
        """The number of the set of each element of the mesh, and the element's number there, (2, element)."""
        numbers = np.empty((2, self.mesh.cell_count), int)
        for i, each in enumerate(self.sets):
            numbers[0, each.cells], numbers[1, each.cells] = i, np.arange(len(each.cells))
        return numbers

    def parameters(self, part):
        """{name: values} of the parameters that vary in space, those of each set's law, at the points of a
        `dgarray.spaces.parts.Part`."""
        if self.alike:
            return self.operators[None].parameters(part)
        numbers, found = self.problem.numbers, {}
        for name in (name for name, number in numbers.items() if number is None):
            values, owner = np.empty(part.shape), np.broadcast_to(part.spread(self.numbers[0]), part.shape)
            for i, operator in enumerate(self.operators.values()):
                given, inside = operator.law.parameters[name], owner == i
                if callable(given):
                    values[inside] = np.broadcast_to(call(given, dict(x=part.x), name), part.shape)[inside]
                elif isinstance(given, dict):
                    everywhere = np.zeros(self.mesh.cell_count)
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
        counts = {name: operator.tables.physics.moving for name, operator in self.operators.items()}
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
        return self.of_sets(self._each(lambda o: o.operations.zeros()))

    def state(self, arrays):
        return self.of_sets(self._each(lambda o, q: o.operations.state(q), self.split(arrays)))

    def plain(self, state):
        return self.merged(self._each(lambda o, q: o.operations.plain(q), self.by_set(state)))

    def host(self, state):
        return self.merged(self._each(lambda o, q: o.operations.host(q), self.by_set(state)))

    def copy(self, state, target):
        for values, place in zip(self.by_set(state).values(), self.by_set(target).values()):
            place[...] = values

    def in_zones(self, arrays):
        parts = self.split(arrays)
        return [(name, operator, parts[name], None if operator.mesh.share is None else operator.mesh.share.own)
                for name, operator in self.operators.items()]

    # Values for output and recorders.

    @cached_property
    def to_highest(self):
        """From the nodes of each set to those of the highest order, {set: (node, node)}."""
        spaces = {space.mesh.cell_type: space for space in getattr(self.space, "spaces", [self.space])}
        return {each.name: self.operators[each.name].tables.basis.cell.interpolation(
            spaces[each.problem.mesh.cell_type].cell.nodes) for each in self.sets}

    def _together(self, values, places, count):
        """Values (variable, node of the highest order, place) at so many places from those at the nodes of each set, and which
        places these are; nan at nodes that the shape of an element does not have."""
        if self.alike:
            return values[None]
        found = np.full((len(self.law.variables), self.space.sizes["node"], count), np.nan, self.dtype)
        for name, matrix in self.to_highest.items():
            found[:, :len(matrix), places[name]] = multiply(matrix, values[name])
        return found

    def nodal(self, arrays):
        """Values at the nodes of the highest order, (variable, node, element of the mesh)."""
        values = self._each(lambda o, q: o.nodal(q), self.split(arrays))
        return self._together(values, {each.name: each.cells for each in self.sets}, self.mesh.cell_count)

    def take(self, state, elements):
        sets, numbers = self.numbers[:, np.asarray(elements)]
        inside = {name: sets == i for i, name in enumerate(self.operators)}
        values = self._each(lambda o, q, here: o.nodal(o.operations.take(q, numbers[here])), self.by_set(state), inside)
        return self._together(values, inside, len(sets))

    def snapshot(self, arrays):
        return self.by_zone(self._each(lambda o, q: o.nodal(q), self.split(arrays)))

    def fetch(self, state):
        return self._fetched(state, self.nodal)

    def fetch_snapshot(self, state):
        return self._fetched(state, self.snapshot)

    def _fetched(self, state, values):
        return Fetches(self._each(lambda o, q: o.operations.fetch(q), self.by_set(state)), values)


class Fetches(NamedTuple):
    """Copies of the states of several sets to the host.

    copies   {set: what `DGArrays.fetch` returns};  values: the function of {set: q} whose result is wanted"""

    copies: dict
    values: object

    def ready(self):
        return all(each.ready() for each in self.copies.values())

    def result(self):
        return self.values({name: each.result() for name, each in self.copies.items()})


def key_of(zone):
    """The name of a zone's array among plain arrays."""
    return "q" if zone is None else zone
