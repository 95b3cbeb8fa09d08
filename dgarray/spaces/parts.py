"""`Part`s of the domain with quadrature, `Evaluation`s at points and boundary `Trace`s: results of spaces on meshes and grids.

A place is an element of a mesh or a node of a grid. Its rows are the element's nodes, or the value and the scaled derivatives
at the grid's node. Fields are arrays q (variable, row, place).
"""
from collections.abc import Callable
from functools import partial, wraps
from typing import NamedTuple

import numpy as np

from ..mesh.interfaces import other_side
from ..support.wording import choose

AXES = ("x", "y", "z")
FEW = 1 << 15          # nodes of a space so small that its parts are kept: at most a few megabytes


class Part(NamedTuple):
    """A part of the domain, or of a boundary, with quadrature points.

    places      numbers or slice of the places whose values are needed
    x, shape    positions of the quadrature points, a tuple of arrays that broadcast to `shape`
    n           outward unit normal, a tuple of arrays like x; None in the volume
    values      function from q (variable, row, place of `places`) to the components at the points, a tuple
    spread      function from an array with one number for each place of the space to an array that broadcasts to the points
    integrate   function from values f at the points to their integral over the part
    weights     (face, point) of the quadrature on the boundary of a mesh, with the measure of the faces; else None"""

    places: object
    x: tuple
    shape: tuple
    n: tuple | None
    values: Callable
    spread: Callable
    integrate: Callable
    weights: np.ndarray | None = None


def kept(parts):
    """Let a space on a mesh keep its `Part`s where it is small: a recorder asks for the same ones after every step."""
    @wraps(parts)
    def function(self, role="", degree=None, extra=4):
        if self.count * len(self.cell.nodes) > FEW:
            return parts(self, role, degree, extra)
        found = vars(self).setdefault("_kept_parts", {})
        if (degree, extra) not in found:
            found[degree, extra] = list(parts(self, role, degree, extra))
            for part in found[degree, extra]:
                for coordinate in part.x:          # which a function of the user's must not change
                    coordinate.flags.writeable = False
        return iter(found[degree, extra])
    return function


def of_places(parts, own):
    """`Part`s of the volume whose integrals are those over the places where `own` (place,) is true; None: over all."""
    for part in parts:
        yield part if own is None else part._replace(integrate=partial(_integral_of, part, own))


def _integral_of(part, own, f):
    return part.integrate(np.where(part.spread(own), f, 0))


class Evaluation(NamedTuple):
    """How to evaluate fields at points.

    places    (n,) numbers of the places whose values are needed; a place may occur more than once
    values    function from q (variable, row, place of `places`) to values (variable, point), NaN outside the domain
    outside   (point,) whether a point lies outside the domain
    coords    {name: (dims, values, attributes)} of coordinates that a record of the points holds besides their positions
    quality   (point,) how well the places hold the points, see `Locator.held`; None where that is not asked for"""

    places: np.ndarray
    values: Callable
    outside: np.ndarray
    coords: dict
    quality: np.ndarray | None = None


class Trace(NamedTuple):
    """How to take the interior values of fields at the nodes of a boundary.

    places   (n,) numbers of the places whose values are needed
    values   function from q (variable, row, place of `places`) to values (variable, *sizes)
    sizes    {dimension: size} of the values
    coords   {name: (dims, values, attributes)} of their coordinates"""

    places: np.ndarray
    values: Callable
    sizes: dict
    coords: dict


def names_of(boundary):
    """Names of boundaries as a tuple, from one name or from several in a tuple or list."""
    return tuple(boundary) if isinstance(boundary, (tuple, list)) else (boundary,)


def face_rows(mesh, boundary, role, beyond=False):
    """Rows (face, 2) of a named boundary or interface of a mesh, or of several, each face once; beyond: those of the cells on
    the other side, in the same order.

    Raises ValueError for an unknown name, and where there is no face; role: start of the message."""
    known = mesh.boundaries | mesh.interfaces
    rows = np.concatenate([np.empty((0, 2), np.int64), *(known[name] for name in check_names(
        boundary, known, role, " in the mesh; it has"))])
    if not len(rows):
        raise ValueError(f"{role}: boundary={boundary!r} has no face; give names of the mesh: {', '.join(known) or 'none'}")
    rows = np.unique(rows, axis=0)
    return other_side(mesh.neighbours, rows) if beyond else rows


def check_names(boundary, known, role, where):
    """The names of boundaries, checked. Raises ValueError for a name that is not `known`; role: start of the message."""
    return [choose(f"{role}: boundary", name, known, where) for name in names_of(boundary)]
