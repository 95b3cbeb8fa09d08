"""A part of a grid: some rows along its last axis, with copies of the next rows of both neighbours."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .grid import Grid


@dataclass(frozen=True)
class RowShare:
    """Which rows along the last axis of a grid a part has. A row holds the nodes, or the cells, with the same last coordinate.

    part, parts    the number of this part, and how many there are
    first, end     its own rows, from `first` to the one before `end`
    low, high      rows of neighbours below and above them, copies
    count          rows of the whole grid"""

    part: int
    parts: int
    first: int
    end: int
    low: int
    high: int
    count: int

    @property
    def own(self) -> slice:
        """The own rows among those here."""
        return slice(self.low, self.low + self.end - self.first)

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the rows here in the whole grid."""
        return np.arange(self.first - self.low, self.end + self.high) % self.count

    @property
    def below(self) -> int:
        """The number of the part below; there is one where `low` is not 0."""
        return (self.part - 1) % self.parts

    @property
    def above(self) -> int:
        """The number of the part above; there is one where `high` is not 0."""
        return (self.part + 1) % self.parts


def row_share(grid: Grid, part: int, parts: int, layers: int) -> RowShare:
    """The `RowShare` of one of several parts with about the same number of rows, each with `layers` rows of both neighbours.

    Raises ValueError where parts would have fewer rows than that."""
    count = grid.shape[0]
    if count // parts < layers:
        raise ValueError(f"{grid!r} has {count} rows of {grid.place}s along its last axis, too few for {parts} ranks: this "
                         f"method needs at least {layers} on each; at most {max(1, count // layers)} ranks")
    first, end = (count * number // parts for number in (part, part + 1))
    around = grid.periodic[-1]
    low, high = (layers if inside or around else 0 for inside in (part > 0, part + 1 < parts))
    return RowShare(part, parts, first, end, low, high, count)


class GridPart(Grid):
    """Some rows of a grid, with the same spacing, corners, sides and coordinates as in the whole grid, bit for bit.

    Along the last axis there is nothing beyond its rows. So what is computed in copies next to an end is of no use, and is
    replaced by the values of the part whose rows they are."""

    def __init__(self, whole: Grid, share: RowShare):
        rows = len(share.rows)
        here = {"lower": whole.lower, "upper": whole.upper, "periodic": (*whole.periodic[:-1], False),
                "cells": (*whole.cells[:-1], rows - (whole.location == "nodes")), "whole": whole, "share": share}
        for name, value in here.items():
            object.__setattr__(self, name, value)

    place = property(lambda self: self.whole.place)
    location = property(lambda self: self.whole.location)
    places_word = property(lambda self: self.whole.places_word)
    spacing = property(lambda self: self.whole.spacing)
    boundaries = property(lambda self: self.whole.boundaries)

    @property
    def nodes(self):
        return (*self.whole.nodes[:-1], len(self.share.rows))

    @cached_property
    def axes(self):
        return (*self.whole.axes[:-1], self.whole.axes[-1][self.share.rows])

    def weights(self):
        *others, last = self.whole.weights()
        return (*others, last[self.share.rows])

    def staggered(self, shift):
        *others, last = self.whole.staggered(shift)
        if shift[-1]:          # one in every cell between the rows here
            last = np.take(last, self.share.rows[:-1] % len(last), axis=0)
        else:
            last = np.take(last, self.share.rows, axis=0)
        return (*others, last)

    def with_values(self, location):
        return self if location == self.location else GridPart(self.whole.with_values(location), self.share)
