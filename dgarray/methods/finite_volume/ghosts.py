"""Ghost layers: the cells beyond the ends of each axis, as lists of sides. A side is periodic, or has a condition.

A scheme reads `ghosts` layers beyond either end. Those of a periodic side are the cells at the other end. Those of a side with
a condition are the condition's state of the mirrored cells: layer k beyond the side is made from the k-th cell inside. So a
wall mirrors, an outflow continues, and a prescribed state is that at the centre of the ghost cell.
"""
from typing import NamedTuple

from ...physics.pointwise import Pointwise
from ..problem import side_conditions


class Side(NamedTuple):
    """One end of an axis: 0 the lower, 1 the upper one.

    name, outside   of the boundary, and its function `GridPhysics.outside`; None where the axis is periodic"""

    axis: int
    end: int
    name: str | None = None
    outside: Pointwise | None = None

    def places(self, layers, count):
        """Numbers of the cells inside from which the ghost layers are made, lowest layer first; count: cells of the axis."""
        if self.name is None:
            return [count - layers + k if self.end == 0 else k for k in range(layers)]
        return [layers - 1 - k if self.end == 0 else count - 1 - k for k in range(layers)]


def sides_of(grid, boundary, physics):
    """The `Side`s of a grid, (lower, upper) for each axis."""
    conditions, found = side_conditions(grid, boundary), [[None, None] for _ in range(grid.dim)]
    for name, (axis, end) in grid.boundaries.items():
        found[axis][end] = Side(axis, end, name, physics.outside(name, conditions[name], axis, end))
    return [tuple(side or Side(axis, end) for end, side in enumerate(pair)) for axis, pair in enumerate(found)]
