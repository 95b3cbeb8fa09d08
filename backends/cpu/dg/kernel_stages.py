"""The stages of several element sets that meet at joins, or of one, by kernels."""
from functools import cached_property

from ....methods.dg.array_stages import ArrayStages
from ....methods.operation import Operation, OperationLists, of_sets
from ....stepping import Stage
from ..limiter.linear import share
from .mortars import FusedMortars


class KernelStages(ArrayStages):
    """The stages of all sets together: fluxes at joins, then each set's own kernels; elements that need no copies of other
    parts' elements while these are on their way."""

    def __init__(self, operations, joins=(), several=None):
        for name, each in operations.items():
            each.several = bool(several and several[name])
        super().__init__(operations, joins, several)

    def mortars(self, join):
        every = list(self.operations.values())
        return FusedMortars([every[number] for number in join.sets], join)

    def rhs(self, states, t):
        for each in self.operations.values():
            each.set_clock(1.0, [t])
        states = {name: self.operations[name].buffered(q) for name, q in states.items()}
        found = {name: each.buffers[1] if each.buffers else each.zeros() for name, each in self.operations.items()}

        def make():
            own = {name: each.tile_operations(states[name], found[name], None, None, Stage(C=1.0, last=True))
                   for name, each in self.operations.items()}
            return self.backend.prepared([*self.copies_operations(states), *self.mortar_operations(states, 0), *of_sets(own)])
        self._lists.held("rhs", (*states.values(), *found.values()), make)()
        return {name: r.copy() if self.operations[name].buffers else r for name, r in found.items()}

    @cached_property
    def _lists(self):
        return OperationLists([array for each in self.operations.values() for array in each.buffers])

    def update_operations(self, states, row, number):
        updates = {name: self.operations[name].tile_operations(*each, row, number) for name, each in states.items()}
        states = {name: each[0] for name, each in states.items()}
        if self.copies is None:
            return [*self.mortar_operations(states, number), *of_sets(updates)]
        early, late = ({name: self.operations[name].around_messages(found)[i] for name, found in updates.items()}
                       for i in (0, 1))
        send, receive = self.copies_operations(states)
        return [send, *self.mortar_operations(states, number, False), *of_sets(early),
                receive, *self.mortar_operations(states, number, True), *of_sets(late)]

    def limit_operations(self, states):
        """As of `ArrayStages`; what elements of other sets read is kept by all sets before any is limited."""
        limiting, limiters = next(iter(self.operations.values())).tables.limiting, self.limiters
        found = {name: limiter.operations_on(states[name]) for name, limiter in limiters.items()}
        before, after = (of_sets({name: pair[i] for name, pair in found.items()}) for i in (0, 1))
        between = [next(iter(limiters.values())).extremes_operation()] if before else []
        copies = self.copies_operations(states) if found and limiting.limiter else []
        return [*copies, *before, *between, *after]

    @cached_property
    def limiters(self):
        """{name of a set: its limiter}; several see each other's elements."""
        found = {name: each.limiter for name, each in self.operations.items() if each.limiter is not None}
        if len(found) > 1:
            share(list(found.values()))
        return found

    def mortar_operations(self, states, number, late=None):
        """The `Operation`s that compute the fluxes at joins of these states at a time of the clock.

        late: True for those alone that need copies of other parts' elements, False for the others, None for all
        What needs no values at faces comes first, so that those that do follow each other."""
        own, values, shares = ([], []), [], []
        for name, each in self.operations.items():
            if each.tables.faces.at_joins:
                values += of_sets({name: each.values_operations(states[name], late)})
                if each.captures_shocks:
                    shares += of_sets({name: [each.shares_operation(states[name], late)]})
                if each.adds and not late:
                    own[bool(each.own_part)].append(each.inside_operation(number))
        found, arrays = [], list(states.values())
        for mortars in self.lists:
            if late in (None, mortars.join.late):
                found.append(mortars.operation([arrays[side] for side in mortars.join.sets], number))
        if shares:
            shares.append(Operation("shares across joins", lambda: self.spread_shares(late),
                                    reads=("own shares of finite volumes",),
                                    writes={"shares beyond joins": sum(each.share_beyond.nbytes for each in self.at_joins)}))
        return [*own[0], *values, *shares, *own[1], *found]

    @property
    def at_joins(self):
        """The operations of the sets that have faces at joins."""
        return [each for each in self.operations.values() if each.tables.faces.at_joins]

    def spread_shares(self, late):
        """Set the share of finite volumes beyond each face at joins; late: as of `mortar_operations`."""
        for each in [] if late else self.at_joins:
            each.share_beyond[...] = 0
        for mortars in self.lists:
            if late in (None, mortars.join.late):
                mortars.spread_shares()
