"""The operator of a problem whose mesh is cut into parts, one for each rank of a run over several processes."""
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..backends.arrays import ArrayBackend
from ..mesh.faces import Inner
from .distributed import OnRanks


class OnMeshParts(OnRanks):
    """One rank's view of an operator on the parts of a mesh."""

    def __init__(self, problem, method, inner, messages):
        super().__init__(problem, method, inner, messages)
        share = inner.mesh.share
        self.cells, self.own = share.cells, share.own
        self.one = all(messages.everyones(inner.one))
        here = inner.cells_of_arrays
        found = [each for rank in messages.everyones({name: self.cells[numbers[self.own[numbers]]]
                                                      for name, numbers in here.items()}) for each in rank.items()]
        cells = {name: np.sort(np.concatenate([numbers for other, numbers in found if other == name]))
                 for name in sorted({name for name, _ in found})}
        zones = [each for rank in messages.everyones(list(inner.zones)) for each in rank]
        self._zones = {zone: cells["q" if zone is None else zone] for zone in sorted(set(zones), key=str)}
        # Of each array here: its elements' places in that of the whole mesh, which of these are own.
        self.places = {name: np.searchsorted(cells[name], self.cells[numbers]) for name, numbers in here.items()}
        self.own_of = {name: self.own[numbers] for name, numbers in here.items()}
        shapes = {name: shape[:2] for rank in messages.everyones(inner.unknowns) for name, shape in rank.items()}
        self.counts = {name: len(numbers) for name, numbers in cells.items()}
        self.unknowns = {name: (*shapes[name], count) for name, count in self.counts.items()}

    zones = property(lambda self: self._zones)
    clock = property(lambda self: self.inner.copies)

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
        """The report of `of_ranks`, and of several zones that of the whole problem."""
        own, several = np.count_nonzero(self.own), set(self._zones) - {None}
        of_ranks = self.of_ranks(own, len(self.own) - own, self.clock.bytes[0], self.clock)
        return of_ranks | (self.whole.report() if several else {})

    def parameters(self, part):
        return self.whole.parameters(part) if self.varying else {}

    # From parts to the whole, and back.

    def assembled(self, pieces, counts, shares=None):
        """{array: (..., element)} from each rank's {array: (places, values (..., element))}: of the whole mesh, for all ranks;
        or by `shares`, {array: (rank + 1,)} as of `OnRanks`, what belongs to this one."""
        part, parts = self.messages.part, self.messages.parts
        if shares is None:
            found = self.messages.everyones(pieces)
        else:
            found = self.messages.exchanged([{name: between(*piece, *shares[name][other:other + 2])
                                              for name, piece in pieces.items()} for other in range(parts)])
            counts = {name: int(starts[part + 1] - starts[part]) for name, starts in shares.items()}
        result = {}
        for rank in found:
            for name, (places, values) in rank.items():
                if name not in result:
                    result[name] = np.full((*values.shape[:-1], counts[name]), np.nan, values.dtype)
                grown = result[name]
                grown[:, :values.shape[1]][..., places] = values
        return result

    def gathered(self, arrays, shares=None):
        found = self._together(arrays, shares)
        return found["q"] if self.one else found

    def _together(self, arrays, shares):
        here = arrays if isinstance(arrays, dict) else {"q": arrays}
        return self.assembled({name: (self.places[name][self.own_of[name]], values[..., self.own_of[name]])
                               for name, values in here.items()}, self.counts, shares)

    @cached_property
    def share_axes(self):
        return dict.fromkeys(self.counts, (2, 1))

    @property
    def entries_here(self):
        return self.places

    def shown(self, values, shares=None):
        found = self._together(values, shares)
        return found if isinstance(values, dict) else found["q"]

    def over_elements(self, values):
        """Values (variable, node, element) of the whole mesh from those of the own part."""
        nodes = self.space.sizes["node"]
        filled = np.full((len(values), nodes, np.count_nonzero(self.own)), np.nan, values.dtype)
        filled[:, :values.shape[1]] = values[:, :, self.own]
        return self.assembled({None: (self.cells[self.own], filled)}, {None: self.space.count})[None]

    def variables_of(self, arrays):
        here = arrays if isinstance(arrays, dict) else {"q": arrays}
        of_first = {name: np.array([0, *[count] * self.messages.parts]) for name, count in self.counts.items()}
        for name, (variables, *_) in self.unknowns.items():
            for v in range(variables):
                own = self.own_of.get(name)
                piece = {name: (self.places[name][own], here[name][v:v + 1, :, own])} if name in here else {}
                yield self.assembled(piece, self.counts, of_first).get(name)

    @cached_property
    def own_order(self):
        own = np.flatnonzero(self.own)
        return own[np.argsort(self.cells[own])]

    @cached_property
    def own_space(self):
        return self.method.space(replace(self.problem, mesh=self.problem.mesh.part(self.cells[self.own_order], Inner.CUT)))

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


def between(places, values, first, end):
    """The places from `first` to `end`, counted from `first`, and their values (..., place)."""
    some = (places >= first) & (places < end)
    return places[some] - first, values[..., some]
