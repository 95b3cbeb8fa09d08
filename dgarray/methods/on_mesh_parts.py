"""The operator of a problem whose mesh is cut into parts, one for each rank of a run over several processes."""
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..backends.arrays import ArrayBackend
from .on_ranks import OnRanks


class OnMeshParts(OnRanks):
    """As `OnRanks`, on the parts of a mesh."""

    def __init__(self, problem, method, inner, messages):
        super().__init__(problem, method, inner, messages)
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

    zones = property(lambda self: self._zones)

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

    def report(self):
        """What one process reports, and of each rank what `of_ranks` says."""
        own, copies = np.count_nonzero(self.own), self.inner.copies
        return self.of_ranks(own, len(self.own) - own, copies.bytes[0], copies) | (self.whole.report() if self._zones else {})

    def parameters(self, part):
        return self.whole.parameters(part) if self.varying else {}

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

    def cut_out(self, arrays):
        """Plain arrays of the own part, copies included, from those of the whole mesh."""
        if not isinstance(arrays, dict):
            return arrays[:, :, self.places[None]]
        return {zone: arrays[zone][:, :, places] for zone, places in self.places.items()}

    shown = gathered

    def over_elements(self, values):
        """Values (variable, node, element) of the whole mesh from those of the own part."""
        nodes = self.space.sizes["node"]
        filled = np.full((len(values), nodes, np.count_nonzero(self.own)), np.nan, values.dtype)
        filled[:, :values.shape[1]] = values[:, :, self.own]
        return self.assembled({None: (self.cells[self.own], filled)}, {None: self.space.count})[None]

    def variables_of(self, arrays):
        here = arrays if isinstance(arrays, dict) else {None: arrays}
        for name, (variables, *_) in self.unknowns.items():
            zone = name if self._zones else None
            for v in range(variables):
                found = self.assembled({zone: (self.places[zone][self.own_of[zone]], here[zone][v:v + 1, :, self.own_of[zone]])}
                                       if zone in here else {}, self.counts, everywhere=False)
                yield found and found[zone]

    @cached_property
    def own_order(self):
        own = np.flatnonzero(self.own)
        return own[np.argsort(self.cells[own])]

    @cached_property
    def own_space(self):
        return self.method.space(replace(self.problem, mesh=self.problem.mesh.part(self.cells[self.own_order], " cut")))

    def numbers_of(self, places):
        return self.cells[places]

    @cached_property
    def number(self):
        """The number here of each element of the whole mesh that is the part's own, else -1."""
        number = np.full(self.space.count, -1)
        number[self.cells[self.own]] = np.flatnonzero(self.own)
        return number

    def number_here(self, places):
        return self.number[places]
