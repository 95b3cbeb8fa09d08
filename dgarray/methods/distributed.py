"""The operator of a problem that is cut into parts, one for each rank of a run over several processes."""
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .operator import Operator, digest
from .step_operations import Fetched

SELDOM = 8          # steps


class OwnPart(NamedTuple):
    """Plain arrays of the own part, which stand for those of the whole problem."""

    arrays: object


class OnRanks(Operator):
    """One rank's view of an operator on the parts of a mesh or grid: it computes on its own part, and shows the whole.

    A state is that of the own part. Plain arrays, values at places and what is said about them are those of the whole problem,
    the same on all ranks, as one process has them; all ranks call these functions together. A derived class has

    gathered(arrays, shares)       plain arrays of the whole problem, or this rank's share of them, from those of the own part
    own                            which places of the own part are own ones, (place,)
    share_axes                     {name of a plain array of the whole problem: (axis of its elements or rows, entries of each)}
    counts                         {name: how many elements or rows a plain array of the whole problem has}
    entries_here                   {name: which entries along that axis the own part has, copies included}
    shown(values, shares)          what `snapshot` returns, of the whole problem or this rank's share, from that of the own part
    over_elements(values)          values (variable, row, place) of the whole problem from those of the own part
    numbers_of(places)             numbers in the whole problem of these places of the own part
    number_here(places)            numbers of these places of the whole problem in the own part, -1 for those of others
    variables_of(arrays)           each variable of plain arrays of the own part, one after the other, of the whole problem;
                                   empty but for rank 0
    clock                          has the seconds `packing` and `waiting` that messages have taken
    own_space                      the function space of the own places, and `own_order` the places in its order

    inner        the operator on the own part, which renews its copies of others' values by `messages`
    shares       {name of a zone, or "q": where each rank's share of a snapshot begins, and where the last one ends, in elements
                 or rows of a grid, (rank + 1,)}, where ranks write the snapshots side by side; None: all ranks get all"""

    shares, own = None, None
    word, heard = (), ()          # numbers of this rank that all shall know, and the largest of all ranks' when they agreed

    def __init__(self, problem, method, inner, messages):
        super().__init__(problem, inner.backend)
        self.method, self.inner, self.messages, self.one, self.stepper = method, inner, messages, inner.one, inner.stepper

    for _name in ("tables", "program", "operations", "kernels", "array_expressions", "work", "variant", "stage_count", "search",
                  "kernel_texts", "zeros", "copy", "advance", "stages", "step_operations", "forget", "rhs"):
        locals()[_name] = property(lambda self, name=_name: getattr(self.inner, name))
    del _name
    writes = property(lambda self: self.messages.part == 0)

    @property
    def check_every(self):
        """Of a law that admits every state, so many steps that agreeing on its checks costs nothing."""
        return max(self.inner.check_every, SELDOM if self.law.admissible is None else 1)

    def of_ranks(self, own, copies, sent, clock):
        """{"ranks": {name: of each rank}} for a report: elements, copies of others' elements, bytes that it sends each time,
        seconds for putting messages together and apart and for waiting for others.

        clock: has these seconds as `packing` and `waiting`"""
        row = {"elements": int(own), "copies": int(copies), "bytes": int(sent), "packing_s": clock.packing,
               "waiting_s": clock.waiting}
        rows = self.messages.everyones(row)
        return {"ranks": {name: [each[name] for each in rows] for name in row}}

    # The state.

    @cached_property
    def even_shares(self):
        """{name: where the share of each rank begins, in elements or rows, and where the last one ends, (rank + 1,)}, nearly
        the same for all."""
        parts = self.messages.parts
        return {name: count * np.arange(parts + 1) // parts for name, count in self.counts.items()}

    def state(self, arrays):
        return self.inner.state(self.restricted(arrays))

    def host(self, state):
        return self.gathered(self.inner.host(state))

    plain = host

    def saved(self, state):
        found = self.as_list(self.gathered(self.inner.host(state), self.even_shares))
        return {self.saved_as(name): array for name, array in zip(self.unknowns, found)}

    @property
    def saved_from(self):
        return {self.saved_as(name): (axis, int(self.even_shares[name][self.messages.part]) * width)
                for name, (axis, width) in self.share_axes.items()}

    @property
    def wanted(self):
        return {self.saved_as(name): (self.share_axes[name][0], entries) for name, entries in self.entries_here.items()}

    def restored(self, arrays):
        return OwnPart(self.inner.from_list([arrays[self.saved_as(name)] for name in self.inner.unknowns]))

    def put(self, state, arrays):
        self.inner.put(state, self.restricted(arrays))

    def project(self, f, t=0.0):
        return self.gathered(self.inner.project(f, t))

    def restricted(self, arrays):
        """Plain arrays of the own part, copies included, from those of the whole problem, or from what stands for them."""
        return arrays.arrays if isinstance(arrays, OwnPart) else self.cut_out(arrays)

    def cut_out(self, arrays):
        """Plain arrays of the own part, copies included, from those of the whole problem."""
        whole = {name: arrays if self.one else arrays[name] for name in self.inner.unknowns}
        return self.inner.from_list([np.take(array, self.entries_here[name], self.share_axes[name][0])
                                     for name, array in whole.items()])

    # What is asked of all places.

    here = property(lambda self: self.inner)

    def in_zones(self, arrays):
        return [(name, operator, part, self.own if own is None else own)
                for name, operator, part, own in self.inner.in_zones(self.restricted(arrays))]

    def everyones(self, found):
        return self.messages.everyones(found)

    def summed(self, found):
        result = {}
        for each in self.messages.everyones(found):
            for name, value in each.items():
                result[name] = result[name] + value if name in result else value
        return result

    def of_here(self, arrays):
        return OwnPart(arrays)

    def initial(self, f):
        return OwnPart(self.inner.project(f))

    def arrays(self, state):
        return OwnPart(self.inner.host(state))

    def digest(self, arrays):
        found = digest(values for values in self.variables_of(self.restricted(arrays)) if values is not None)
        return self.messages.from_first(found)

    def error(self, state, exact, t):
        values = self.inner.nodal(self.inner.host(state))[:, :, self.own_order]
        if not self.own_space.structured:          # copies may have more nodes
            values = values[:, :self.own_space.sizes["node"]]
        found = self.own_space.error(values, exact, t)
        return np.sqrt(sum(np.square(each) for each in self.messages.everyones(found)))

    # A step.

    def largest_step(self, state, t, check=None):
        return self.inner.largest_step(state, t, **({} if check is None else {"check": check}))

    def waves_step(self, state, t):
        found = self.messages.everyones(self.inner.waves_step(state, t))
        return None if None in found else min(found)

    def advance_checked(self, state, t, dt):
        new, check = self.inner.advance_checked(state, t, dt)
        return new, check and self.agreed(check)

    def agreed(self, check):
        """The `Check` of the whole state."""
        found = self.messages.largest([not check.finite, not check.admissible, check.rate or 0.0, *self.word])
        bad, unsound, rate, *heard = found
        self.heard = tuple(map(max, heard, self.heard)) if self.heard else tuple(heard)
        return check._replace(finite=not bad, admissible=not unsound, rate=None if check.rate is None else rate)

    def told(self, *numbers):
        """The largest of each of some numbers over all ranks, as it was when they agreed on a check last, and 0 after that; all
        ranks call it."""
        heard, self.heard = self.heard or (0,) * len(numbers), ()
        self.word = (0,) * len(numbers) if any(heard) else numbers
        return heard

    def forget_waiting(self):
        self.clock.packing = self.clock.waiting = 0.0

    # Checks of a state.

    def check(self, state, t):
        return self.agreed(self.inner.check(state, t))

    def not_finite(self, arrays):
        return self._rows(self.inner.not_finite(self.restricted(arrays)))

    def not_admissible(self, arrays, t):
        return self._rows(self.inner.not_admissible(self.restricted(arrays), t))

    def state_at(self, arrays, place, row):
        here = int(self.number_here(np.array([place]))[0])
        found = self.inner.state_at(self.restricted(arrays), here, row) if here >= 0 else None
        return next(each for each in self.messages.everyones(found) if each is not None)

    def not_admitted(self, f):
        return next(filter(None, self.messages.everyones(self.inner.not_admitted(f))), "")

    def _rows(self, rows):
        """Rows (place, variable, row) of the own part as those of the whole problem."""
        rows = rows[self.own[rows[:, 0]]]
        found = np.concatenate(self.messages.everyones(np.column_stack([self.numbers_of(rows[:, 0]), rows[:, 1:]])))
        return found[np.lexsort(found.T[::-1])]

    def change(self, state, before):
        return self.messages.largest(self.inner.change(state, before))

    def error_estimate(self, loop):
        return type(self.inner).error_estimate(self, loop)

    # Values for output and recorders.

    def nodal(self, arrays):
        return self.over_elements(self.inner.nodal(self.restricted(arrays)))

    def fetch(self, state):
        return Fetched(self.over_elements(self.inner.nodal(self.inner.host(state))))

    def snapshot(self, arrays):
        return self.shown(self.inner.snapshot(self.restricted(arrays)))

    def fetch_snapshot(self, state):
        return Fetched(self.shown(self.inner.snapshot(self.inner.host(state)), self.shares))

    def take(self, state, places):
        numbers = self.number_here(np.asarray(places))
        here = np.flatnonzero(numbers >= 0)
        values = self.inner.take(state, numbers[here])
        result = np.full((len(values), max(self.messages.everyones(values.shape[1])), len(places)), np.nan, values.dtype)
        for some, found in self.messages.everyones((here, values)):
            result[:, :found.shape[1], some] = found
        return result
