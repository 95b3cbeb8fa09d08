"""Meshes of intervals, rectangles and boxes, without a mesh program."""
from __future__ import annotations

from itertools import permutations
from math import factorial, prod
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ..reference.shapes import NAMED_SHAPES, SHAPES
from ..support.keywords import keywords
from ..support.wording import nearest, plural
from .errors import MeshError
from .faces import all_faces, together
from .geometry import are_valid
from .memory import check_room
from .mesh import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .mesh import Mesh

CENTRE = "centre"          # of a brick, where it is a corner of cells
SIDES = (("left", "right"), ("bottom", "top")), (("left", "right"), ("front", "back"), ("bottom", "top"))


@keywords
def interval(lower: float = 0.0, upper: float = 1.0, cells: int = 16, periodic: bool = False, perturb: float = 0.0,
             seed: int = 0) -> Mesh:
    """The interval [lower, upper] in `cells` lines; boundaries left and right.

    lower, upper   ends, numbers; 0 and 1 by default
    cells          number of cells, 16 by default
    periodic       True joins both ends, which then are no boundaries
    perturb        inner points move at random by up to this share of the cell width, from 0 (default) to below 0.5
    seed           of the random numbers; the same seed gives the same mesh
    Raises MeshError for invalid bounds, counts or perturbation."""
    for name, value in (("lower", lower), ("upper", upper)):
        if not isinstance(value, Real):
            raise MeshError(f"interval: {name}={value!r} is not allowed; it must be a number")
    return _lattice((lower,), (upper,), (cells,), (periodic,), perturb, seed, (("left", "right"),), _lines,
                    f"interval({lower:g}, {upper:g}, {cells})")


@keywords
def rectangle(lower: Sequence[float] = (0, 0), upper: Sequence[float] = (1, 1), cells: int | Sequence[int] = (8, 8),
              periodic: bool | Sequence[bool] = False, perturb: float = 0.0, seed: int = 0, diagonal: str = "right",
              shape: str = "triangle") -> Mesh:
    """A rectangle cut into cells[0] x cells[1] boxes of two triangles each; boundaries left, right, bottom, top.

    lower, upper   corners (x, y); (0, 0) and (1, 1) by default
    cells          number of boxes along x and y; one number for both, or one each; 8 by default
    periodic       True joins opposite sides, which then are no boundaries; one flag, or one for each of x and y
    perturb, seed  as for `interval`
    diagonal       "right" (from lower left to upper right), "left", or "alternate", both in turn like a chessboard
    shape          "triangle", or "quadrilateral": each box is one cell and has no diagonal, or "mixed": the boxes in the left
                   half are quadrilaterals, the others two triangles each
    Raises MeshError for invalid bounds, counts or perturbation."""
    diagonals = "right", "left", "alternate"
    if diagonal not in diagonals:
        raise MeshError(f"diagonal {diagonal!r} does not exist; allowed: {', '.join(diagonals)}{nearest(diagonal, diagonals)}")
    _check_shape(shape, ("triangle", "quadrilateral", "mixed"))
    if shape == "quadrilateral" and diagonal != "right":
        raise MeshError(f"diagonal {diagonal!r} does not fit shape='quadrilateral'; only triangles have diagonals")
    counted = per_axis(cells, 2, "cells")

    def split(corner, counts):
        triangles, bricks = _triangles(corner, counts, diagonal), _bricks(corner, counts)
        left = np.arange(counts[0]).repeat(counts[1]) < counts[0] // 2
        mixed = {"triangle": triangles[~left.repeat(2)], "quadrilateral": bricks[left]}
        return {"triangle": {shape: triangles}, "quadrilateral": {shape: bricks}}.get(shape, mixed)
    return _lattice(lower, upper, counted, per_axis(periodic, 2, "periodic"), perturb, seed, SIDES[0], split,
                    f"rectangle({counted[0]} x {counted[1]})", shape)


@keywords
def box(lower: Sequence[float] = (0, 0, 0), upper: Sequence[float] = (1, 1, 1), cells: int | Sequence[int] = (4, 4, 4),
        periodic: bool | Sequence[bool] = False, perturb: float = 0.0, seed: int = 0, shape: str = "tetra") -> Mesh:
    """A box cut into bricks of six tetrahedra each, in the same way in every brick (Kuhn 1960).

    Boundaries: left, right (x), front, back (y), bottom, top (z).
    lower, upper   corners (x, y, z); (0, 0, 0) and (1, 1, 1) by default
    cells          number of bricks along x, y and z; one number for all, or one each; 4 by default
    periodic       True joins opposite sides, which then are no boundaries; one flag, or one for each of x, y, z
    perturb, seed  as for `interval`
    shape          "tetra", or "hexahedron": each brick is one cell, or "prism": two, whose axes point along z, or "pyramid":
                   six, which meet in its centre, or of several shapes
                   "mixed": hexahedra at the lower left, prisms at the lower right and at the upper left, whose axes point along
                   z and x, tetrahedra at the upper right;
                   "hybrid": hexahedra at the lower left, prisms along x above them, and at the right tetrahedra, which meet the
                   hexahedra across pyramids
    Raises MeshError for invalid bounds, counts or perturbation."""
    _check_shape(shape, ("tetra", "hexahedron", "prism", "pyramid", "mixed", "hybrid"))
    counted = per_axis(cells, 3, "cells")
    several = {"mixed": _mixed_bricks, "hybrid": _hybrid_bricks}
    cuts = {"tetra": _tetrahedra, "hexahedron": _bricks, "prism": _prisms, "pyramid": _pyramids}

    def split(corner, counts):
        return several[shape](corner, counts) if shape in several else {shape: cuts[shape](corner, counts)}
    return _lattice(lower, upper, counted, per_axis(periodic, 3, "periodic"), perturb, seed, SIDES[1], split,
                    f"box({counted[0]} x {counted[1]} x {counted[2]})", shape)


def _check_shape(shape, allowed):
    if shape not in allowed:
        raise MeshError(f"shape {shape!r} does not exist; allowed: {', '.join(allowed)}{nearest(shape, allowed)}")


def per_axis(value, dim, name):
    """One value for each axis, from one for all or a sequence. Raises MeshError for another number of them."""
    values = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value,) * dim
    if len(values) != dim:
        raise MeshError(f"{name} {value!r} does not fit; allowed: one value or {dim}")
    return values


def _lattice(lower, upper, counts, periodic, perturb, seed, sides, split, source, shape="line"):
    """Mesh of the box [lower, upper] with counts[axis] bricks along each axis, cut into cells {shape: (cell, corner)} by
    `split`."""
    dim = len(counts)
    lower, upper = _numbers(source, "lower", lower), _numbers(source, "upper", upper)
    if lower.shape != (dim,) or upper.shape != (dim,) or not np.all(np.isfinite([lower, upper]) & (lower < upper)):
        raise MeshError(f"{source}: lower {lower.tolist()} must be below upper {upper.tolist()} in {dim} coordinates")
    if not all(isinstance(count, Real) and count >= 1 and count % 1 == 0 for count in counts):
        raise MeshError(f"{source}: cells must be whole numbers from 1; got {tuple(counts)}")
    counts = tuple(int(count) for count in counts)
    simplex = shape in NAMED_SHAPES and NAMED_SHAPES[shape].simplex
    check_room(source, prod(counts) * (factorial(dim) if simplex or shape == "pyramid" else 1), dim, simplex)
    place = np.stack(np.meshgrid(*[np.arange(n + 1) for n in counts], indexing="ij"), axis=-1).reshape(-1, dim)
    number = np.arange(len(place)).reshape([n + 1 for n in counts])
    cells = split(_corners(number) | {CENTRE: len(place) + np.arange(prod(counts))}, counts)
    cells = {name: rows for name, rows in cells.items() if len(rows)}
    place = _with_centres(place, counts, cells)
    points = lower + (upper - lower) * place / counts
    points = _perturbed(points, place, counts, (upper - lower) / counts, perturb, seed)
    inverted = sum(np.count_nonzero(~are_valid(points, rows)) for rows in cells.values())
    if inverted:
        how = "inverts" if simplex else "inverts or makes concave"
        raise MeshError(f"{source}: perturb {perturb} {how} {plural(inverted, 'cell')}; take a smaller one")
    faces = together([all_faces(rows, NAMED_SHAPES[name].faces) for name, rows in cells.items()])
    facets = {name: faces[np.all(place[faces, axis] == end, axis=1)]
              for axis, pair in enumerate(sides) for name, end in zip(pair, (0, counts[axis]))}
    mesh = build(points, cells, facets, source=source)
    return mesh.periodic(*[pair for pair, glue in zip(sides, periodic) if glue])


def _with_centres(place, counts, cells):
    """The places of the lattice, and those of the centres of bricks that are corners of `cells`, whose numbers change."""
    numbers = np.unique(np.concatenate([rows.ravel() for rows in cells.values()]))
    numbers = numbers[numbers >= len(place)]
    for name, rows in cells.items():
        centre = rows >= len(place)
        cells[name] = np.where(centre, len(place) + np.searchsorted(numbers, rows), rows)
    centres = np.stack(np.unravel_index(numbers - len(place), counts), axis=1) + 0.5
    return np.concatenate([place, centres]) if len(centres) else place


def _numbers(source, name, values):
    """The coordinates as an array of floats. Raises MeshError for what is none."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise MeshError(f"{source}: {name} {values!r} is not allowed; it must be numbers") from None


def _perturbed(points, place, counts, width, perturb, seed):
    if not (isinstance(perturb, Real) and 0 <= perturb < 0.5):
        raise MeshError(f"perturb {perturb!r} is not allowed; it must lie in [0, 0.5)")
    inner = np.all((place > 0) & (place < counts), axis=1)
    shift = np.random.default_rng(seed).uniform(-1, 1, points.shape)
    return points + perturb * width * shift * inner[:, None]


def _corners(number):
    """Corner (0 or 1 along each axis) -> its point number in every brick, (brick,)."""
    ends = slice(None, -1), slice(1, None)
    return {bits: number[tuple(ends[bit] for bit in bits)].ravel() for bits in np.ndindex((2,) * number.ndim)}


def _cells(corner, *vertices):
    """Cells (brick * cell, corner) given by their corners, the cells of a brick in turn."""
    cells = np.array([[corner[bits] for bits in cell] for cell in vertices])
    return cells.transpose(2, 0, 1).reshape(-1, cells.shape[1])


def _bricks(corner, counts):
    shape = SHAPES[len(counts), 2 ** len(counts)]
    return _cells(corner, [tuple((1 + side) // 2 for side in vertex) for vertex in shape.vertices])


def _lines(corner, _):
    return {"line": _cells(corner, ((0,), (1,)))}


def _triangles(corner, counts, diagonal):
    right = _cells(corner, ((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1)))
    left = _cells(corner, ((0, 0), (1, 0), (0, 1)), ((1, 0), (1, 1), (0, 1)))
    odd = np.add.outer(np.arange(counts[0]), np.arange(counts[1])).repeat(2) % 2 == 1
    leaning = {"right": np.zeros_like(odd), "left": np.ones_like(odd), "alternate": odd}[diagonal]
    return np.where(leaning[:, None], left, right)


def _tetrahedra(corner, _):
    paths = []
    for axes in permutations(range(3)):
        steps = np.cumsum(np.vstack([np.zeros(3, dtype=int), np.eye(3, dtype=int)[list(axes)]]), axis=0)
        turn = slice(None) if np.linalg.det(np.eye(3)[list(axes)]) > 0 else [0, 1, 3, 2]
        paths.append([tuple(step) for step in steps[turn].tolist()])
    return _cells(corner, *paths)


def _prisms(corner, _, axis=2):
    """Prisms along z, or along x: over the triangles that the faces of `_tetrahedra` are."""
    triangles = ((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1))
    return _cells(corner, *[[(*xy, end) if axis == 2 else (end, *xy) for end in (0, 1) for xy in triangle]
                            for triangle in triangles])


def _pyramids(corner, _):
    """Six in each brick."""
    return np.stack([_cells(corner, (*base, CENTRE)) for base in _faces()], axis=1).reshape(-1, 5)


def _faces():
    """The corners of each face of a brick, -x, +x, -y, ..., anticlockwise as its centre sees them; the first and the third are
    the ends of the diagonal that `_tetrahedra` have."""
    for axis, side in np.ndindex(3, 2):
        around = ((0, 0), (0, 1), (1, 1), (1, 0)) if side else ((0, 0), (1, 0), (1, 1), (0, 1))
        yield [tuple({axis: side, (axis + 1) % 3: u, (axis + 2) % 3: v}[k] for k in range(3)) for u, v in around]


def _hybrid_bricks(corner, counts):
    """Bricks of tetrahedra beside hexahedra, also across joined sides, are cut from their centre: the faces of hexahedra are
    bases of pyramids, the others those of two tetrahedra each."""
    x, _, z = np.unravel_index(np.arange(prod(counts)), counts)
    left, low, middle = x < counts[0] // 2, z < counts[2] // 2, counts[0] // 2
    bases = [~left & low & (x == where) & (middle > 0) for where in (middle, counts[0] - 1)]
    cut = bases[0] | bases[1]

    def inside(which):
        return {key: numbers[which] for key, numbers in corner.items()}
    pyramids, tetrahedra = [], [_tetrahedra(inside(~left & ~cut), counts)]
    for number, face in enumerate(_faces()):
        here = bases[number] if number < 2 else np.zeros_like(cut)
        pyramids.append(_cells(inside(here), (*face, CENTRE)))
        tetrahedra.append(_cells(inside(cut & ~here), (*face[:3], CENTRE), (face[0], *face[2:], CENTRE)))
    return {"tetra": np.concatenate(tetrahedra), "pyramid": np.concatenate(pyramids),
            "prism": _prisms(inside(left & ~low), counts, axis=0), "hexahedron": _bricks(inside(left & low), counts)}


def _mixed_bricks(corner, counts):
    """Quadrilateral faces lie between hexahedra and prisms, triangles between prisms and tetrahedra, also where opposite sides
    are joined."""
    x, _, z = np.unravel_index(np.arange(prod(counts)), counts)
    left, low = x < counts[0] // 2, z < counts[2] // 2

    def inside(which):
        return {bits: numbers[which] for bits, numbers in corner.items()}
    return {"tetra": _tetrahedra(inside(~left & ~low), counts),
            "prism": np.concatenate([_prisms(inside(~left & low), counts), _prisms(inside(left & ~low), counts, axis=0)]),
            "hexahedron": _bricks(inside(left & low), counts)}
