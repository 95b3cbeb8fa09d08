"""The operator of a problem whose grid is cut into parts, one for each rank of a run over several processes."""
from dataclasses import replace
from functools import cached_property
from math import prod

import numpy as np

from ..mesh.grid_part import GridPart
from .distributed import OnRanks
from .row_exchange import Halo


class OnGridParts(OnRanks):
    """One rank's view of an operator on the parts of a grid, each some rows along its last axis.

    Where the operator on a part does not renew its copies itself, they are renewed after every step; so they are those of the
    state between steps."""

    def __init__(self, problem, method, inner, messages):
        super().__init__(problem, method, inner, messages)
        self.share, self.clock = inner.mesh.share, inner.halo or Halo(inner.backend, inner.mesh.share)
        self.unknowns = {name: self._whole_shape(shape) for name, shape in inner.unknowns.items()}
        self.counts = dict.fromkeys(self.unknowns, self.share.count)
        self.row = prod(inner.mesh.shape[1:])          # places in a row
        self.own = np.zeros(len(self.share.rows) * self.row, bool)
        self.own[self.own_order] = True

    # In an array (..., row and places of it, ...) the rows lie along `row_axis`, each with `_width` entries of it.

    def _width(self, size):
        """Entries of a row in an array of the own part; arrays of values between rows have one less than there are rows."""
        return -(-size // len(self.share.rows))

    def _whole_shape(self, shape):
        axis, rows = self.inner.row_axis + len(shape), len(self.share.rows)
        width, between = self._width(shape[axis]), shape[axis] < rows
        size = width * self.share.count - (between and not self.problem.mesh.periodic[-1])
        return (*shape[:axis], size, *shape[axis + 1:])

    def _own(self, array, axis):
        """The own rows of an array of the own part."""
        own, width = self.share.own, self._width(array.shape[axis])
        return array[(slice(None),) * (axis + array.ndim) + (slice(own.start * width, own.stop * width),)]

    def _assembled(self, own, axis, width, shares=None):
        """The own rows of all parts one after the other along an axis, for all ranks; or by `shares`, (rank + 1,) as of
        `OnRanks`, the rows that belong to this one. width: entries of a row along this axis."""
        if shares is None:
            return np.concatenate(self.messages.everyones(own), axis)
        ends = np.clip(np.asarray(shares) - self.share.first, 0, None) * width
        pieces = [own[(slice(None),) * (axis + own.ndim) + (slice(first, end),)] for first, end in zip(ends, ends[1:])]
        return np.concatenate(self.messages.exchanged(pieces), axis)

    def _wide(self, array, axis):
        """The own rows of an array of the own part, its axis, and how many entries of it a row has."""
        return self._own(array, axis), axis, self._width(array.shape[axis])

    # From parts to the whole, and back.

    def gathered(self, arrays, shares=None):
        axis, rows = self.inner.row_axis, shares and next(iter(shares.values()))
        return self.inner.from_list([self._assembled(*self._wide(array, axis), rows) for array in self.inner.as_list(arrays)])

    @cached_property
    def share_axes(self):
        axis = self.inner.row_axis
        return {name: (axis + len(shape), self._width(shape[axis])) for name, shape in self.inner.unknowns.items()}

    @property
    def entries_here(self):
        found = {}
        for name, shape in self.inner.unknowns.items():
            axis, width = self.share_axes[name]
            rows = self.share.rows[:shape[axis] // width] % (self.unknowns[name][axis] // width)
            found[name] = (rows[:, None] * width + np.arange(width)).ravel()
        return found

    def shown(self, values, shares=None):
        return self._assembled(*self._wide(values, -1), shares and next(iter(shares.values())))

    over_elements = shown

    def variables_of(self, arrays):
        axis = self.inner.row_axis
        for array in self.inner.as_list(arrays):
            for each in array if array.ndim + axis else [array]:
                yield self._assembled(*self._wide(each, axis), [0, *[self.share.count] * self.messages.parts])

    @cached_property
    def own_space(self):
        grid = GridPart(self.space.grid, replace(self.share, low=0, high=0))
        return self.method.space(replace(self.problem, mesh=grid))

    @property
    def own_order(self):
        own = self.share.own
        return slice(own.start * self.row, own.stop * self.row)

    def numbers_of(self, places):
        return places + (self.share.first - self.share.low) * self.row

    def number_here(self, places):
        own = (places >= self.share.first * self.row) & (places < self.share.end * self.row)
        return np.where(own, places - (self.share.first - self.share.low) * self.row, -1)

    # The problem.

    @property
    def coefficients(self):
        return list(self.method.tables(self.problem).parameters.values()) if self.inner.coefficients else []

    def report(self):
        """The reports of all ranks with their counts added up, and those of `of_ranks`."""
        own = self.share.end - self.share.first
        copies = len(self.share.rows) - own
        counts = self.messages.everyones(self.inner.report())
        return self.of_ranks(own * self.row, copies * self.row, self.clock.sent, self.clock) | {
            name: sum(each[name] for each in counts) for name in counts[0]}

    # A step.

    def _renewed(self, state):
        """The state with copies of neighbours' rows as they are there now."""
        if self.inner.halo is None:
            self.clock.renew(self._arrays(state), -self.problem.mesh.dim)
        return state

    @staticmethod
    def _arrays(state):
        return list(state.values()) if isinstance(state, dict) else [state]

    def largest_step(self, state, t, check=None):
        """The smallest of the largest stable steps of all parts; a check's rate is that of all already."""
        if check is not None and check.rate is not None:
            return super().largest_step(state, t, check)
        return float(-self.messages.largest([-super().largest_step(state, t, check)])[0])

    def advance(self, state, t, dt):
        return self._renewed(self.inner.advance(state, t, dt))

    def advance_checked(self, state, t, dt):
        new, check = super().advance_checked(state, t, dt)
        return self._renewed(new), check

    def stages(self, state, t, dt):
        for time, new in self.inner.stages(state, t, dt):
            yield time, new
        self._renewed(new)

    def step_operations(self, state):
        stages = self.inner.step_operations(state)
        messages = self.clock.operations(self._arrays(state), -self.problem.mesh.dim)
        if self.inner.halo is None:
            return [*stages[:-1], [*stages[-1], *messages]]
        return [[*messages, *stage] for stage in stages]
