"""What spaces on meshes and on grids have in common: parts of the domain with a rule of quadrature, traces on boundaries."""
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..wording import choose

AXES = ("x", "y", "z")


class Part(NamedTuple):
    """A part of the domain, or of a boundary, with points of quadrature.

    places      which of the space's places (elements, nodes) it takes values of
    x, shape    positions, a tuple of arrays that broadcast to the points' shape
    n           outward unit normal, as x; None in the volume
    values      function q (variable, row, place of `places`) -> components at the points, a tuple
    spread      function of numbers of all places, one each -> those of this part, as they broadcast to the points
    integrate   function f at the points -> its integral over the part"""

    places: object
    x: tuple
    shape: tuple
    n: tuple | None
    values: Callable
    spread: Callable
    integrate: Callable


class Evaluation(NamedTuple):
    """The fields at points.

    places    (n,) which of the space's places are needed, some maybe twice
    values    function q (variable, row, place of `places`) -> (variable, point), NaN outside
    outside   (point,) whether a point lies outside
    coords    {name: (dims, values, attributes)} that a record of the points keeps beside their positions"""

    places: np.ndarray
    values: Callable
    outside: np.ndarray
    coords: dict


class Trace(NamedTuple):
    """The fields at the nodes of a boundary, seen from inside.

    places   (n,) which of the space's places are needed
    values   function q (variable, row, place of `places`) -> (variable, *sizes)
    sizes    {dim: size};  coords: {name: (dims, values, attributes)}"""

    places: np.ndarray
    values: Callable
    sizes: dict
    coords: dict


def names_of(boundary):
    """The names of a boundary, given as one or as several in a tuple."""
    return tuple(boundary) if isinstance(boundary, (tuple, list)) else (boundary,)


def check_names(boundary, known, role, where):
    """The names of a boundary that exists. Raises ValueError for others; role: what the message begins with."""
    return [choose(f"{role}: boundary", name, known, where) for name in names_of(boundary)]
