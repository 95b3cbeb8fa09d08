"""The operator of a problem whose mesh is cut into parts, one for each rank of a run over several processes."""
from functools import cached_property

import numpy as np

from ..backends.arrays import ArrayBackend
from .operator import ArrayOperator, Operator
from .recipe import Fetched


class OnRanks(Operator):
    """One rank's view of an operator on the parts of a mesh: it computes on its own part, and shows the whole.

    A state is that of the own part. Plain arrays, values at elements and what is said about them are those of the whole mesh,
    the same on all ranks, as one process has them; all ranks call these functions together.

    inner        the operator on the own part, which renews its copies of others' elements by `messages`
    everywhere   whether all ranks get snapshots and what checkpoints hold, or rank 0 alone, which writes them"""

    everywhere = True

    def __init__(self, problem, method, inner, messages):
        super().__init__(problem, inner.backend)
        self.method, self.inner, self.messages, self.one, self.stepper = method, inner, messages, inner.one, inner.stepper
        share = inner.mesh.share
        self.cells, self.own = share.cells, share.own
        here = inner.zones or {None: np.arange(len(self.cells))}
        found = [each for rank in messages.everyones({zone: self.cells[numbers[self.own[numbers]]]
                                                      for zone, numbers in here.items()}) for each in rank.items()]
        cells = {zone: np.sort(np.concatenate([numbers for name, numbers in found if name == zone]))
                 for zone in sorted({zone for zone, _ in found}, key=str)}
        self._zones = cells if inner.zones else {}
        # Of each zone here: its elements' places in the arrays of the whole mesh, which of these are own, their numbers there.
        self.places = {zone: np.searchsorted(cells[zone], self.cells[numbers]) for zone, numbers in here.items()}
        self.own_of = {zone: self.own[numbers] for zone, numbers in here.items()}
        shapes = {name: shape[:2] for rank in messages.everyones(inner.unknowns) for name, shape in rank.items()}
        self.counts = {zone: len(numbers) for zone, numbers in cells.items()}
        self.unknowns = {"q" if zone is None else zone: (*shapes["q" if zone is None else zone], count)
                         for zone, count in self.counts.items()}

    for _name in ("tables", "check_every", "operations", "array_expressions", "work", "variant", "stage_count", "search"):
        locals()[_name] = property(lambda self, name=_name: getattr(self.inner, name))
    del _name
    zones = property(lambda self: self._zones)
    writes = property(lambda self: self.messages.part == 0)

    @cached_property
    def whole(self):
        """The operator of the whole problem on arrays, for what is asked of the whole mesh seldom."""
        problem = self.problem
        return self.method.discretise(problem.mesh, problem.law, problem.boundary, ArrayBackend(np, self.dtype, "numpy"),
                                      problem.flux, problem.source, self.stepper)

    @property
    def varying(self):
        """Whether parameters of the law vary in space."""
        return any(value is None for value in self.problem.numbers.values())

    @property
    def coefficients(self):
        return self.whole.coefficients if self.varying else []

    def kernel_texts(self):
        return self.inner.kernel_texts()

    def report(self):
        """What one process reports, and under "ranks" lists with a number of each rank: its elements, its copies of others'
        elements, bytes that it sends each time, seconds for putting messages together and apart and for waiting for others."""
        copies = self.inner.copies
        own = {"elements": int(np.count_nonzero(self.own)), "copies": int(np.count_nonzero(~self.own)),
               "bytes": copies.bytes[0], "packing_s": copies.packing, "waiting_s": copies.waiting}
        rows = self.messages.everyones(own)
        return {"ranks": {name: [row[name] for row in rows] for name in own}} | (self.whole.report() if self._zones else {})

    def parameters(self, part):
        return self.whole.parameters(part) if self.varying else {}

    def conserved(self, values):
        tables = self.inner.tables
        return self.whole.conserved(values) if tables.curved or tables.media.weighted else None

    # From parts to the whole, and back.

    def assembled(self, pieces, counts, everywhere=True):
        """{zone: (..., element)} of the whole mesh from each rank's {zone: (places, values (..., element))}; None where it is
        for rank 0 alone and this is another one."""
        found = self.messages.everyones(pieces) if everywhere else self.messages.at_first(pieces)
        if found is None:
            return None
        result = {}
        for rank in found:
            for zone, (places, values) in rank.items():
                if zone not in result:
                    result[zone] = np.full((*values.shape[:-1], counts[zone]), np.nan, values.dtype)
                grown = result[zone]
                grown[:, :values.shape[1]][..., places] = values
        return result

    def gathered(self, arrays, everywhere=True):
        """Plain arrays of the whole mesh from those of the own part, or None as of `assembled`."""
        here = {None: arrays} if not isinstance(arrays, dict) else arrays
        found = self.assembled({zone: (self.places[zone][self.own_of[zone]], values[..., self.own_of[zone]])
                                for zone, values in here.items()}, self.counts, everywhere)
        return found if isinstance(arrays, dict) or found is None else found[None]

    def restricted(self, arrays):
        """Plain arrays of the own part, copies included, from those of the whole mesh."""
        if not isinstance(arrays, dict):
            return arrays[:, :, self.places[None]]
        return {zone: arrays[zone][:, :, places] for zone, places in self.places.items()}

    def over_elements(self, values):
        """Values (variable, node, element) of the whole mesh from those of the own part."""
        nodes = self.space.sizes["node"]
        filled = np.full((len(values), nodes, np.count_nonzero(self.own)), np.nan, values.dtype)
        filled[:, :values.shape[1]] = values[:, :, self.own]
        return self.assembled({None: (self.cells[self.own], filled)}, {None: self.space.count})[None]

    # The state.

    def zeros(self):
        return self.inner.zeros()

    def state(self, arrays):
        return self.inner.state(self.restricted(arrays))

    def host(self, state):
        return self.gathered(self.inner.host(state))

    plain = host

    def copy(self, state, target):
        self.inner.copy(state, target)

    def saved(self, state):
        arrays = self.gathered(self.inner.host(state), self.everywhere)
        return {} if arrays is None else self.named(arrays)

    def put(self, state, arrays):
        self.inner.put(state, self.restricted(arrays))

    def project(self, f, t=0.0):
        return self.gathered(self.inner.project(f, t))

    def in_zones(self, arrays):
        return [(self, arrays)] if isinstance(self.inner, ArrayOperator) else self.whole.in_zones(arrays)

    # A step.

    def largest_step(self, state, t, check=None):
        return self.inner.largest_step(state, t, check)

    def advance(self, state, t, dt):
        return self.inner.advance(state, t, dt)

    def advance_checked(self, state, t, dt):
        new, check = self.inner.advance_checked(state, t, dt)
        return new, check and self.agreed(check)

    def agreed(self, check):
        """The `Check` of the whole state; its rate is that of the own part."""
        bad = self.messages.largest([not check.finite, not check.admissible])
        return check._replace(finite=not bad[0], admissible=not bad[1])

    def stages(self, state, t, dt):
        return self.inner.stages(state, t, dt)

    def step_operations(self, state):
        return self.inner.step_operations(state)

    def forget(self):
        self.inner.forget()

    def rhs(self, state, t):
        return self.inner.rhs(state, t)

    # Checks of a state.

    def check(self, state, t):
        return self.agreed(self.inner.check(state, t))

    def not_finite(self, arrays):
        return self._rows(self.inner.not_finite(self.restricted(arrays)))

    def not_admissible(self, arrays, t):
        return self._rows(self.inner.not_admissible(self.restricted(arrays), t))

    def _rows(self, rows):
        """Rows (element, variable, row) of the own part as those of the whole mesh."""
        rows = rows[self.own[rows[:, 0]]]
        found = np.concatenate(self.messages.everyones(np.column_stack([self.cells[rows[:, 0]], rows[:, 1:]])))
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
        return self.gathered(self.inner.snapshot(self.restricted(arrays)))

    def fetch_snapshot(self, state):
        return Fetched(self.gathered(self.inner.snapshot(self.inner.host(state)), self.everywhere))

    @cached_property
    def number(self):
        """The number here of each element of the whole mesh that is the part's own, else -1."""
        number = np.full(self.space.count, -1)
        number[self.cells[self.own]] = np.flatnonzero(self.own)
        return number

    def take(self, state, places):
        places = np.asarray(places)
        here = np.flatnonzero(self.number[places] >= 0)
        values = self.inner.take(state, self.number[places[here]])
        filled = np.full((len(values), self.space.sizes["node"], len(here)), np.nan, values.dtype)
        filled[:, :values.shape[1]] = values
        return self.assembled({None: (here, filled)}, {None: len(places)})[None]
