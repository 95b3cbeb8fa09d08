"""Meshes of several shapes of cells: triangles with quadrilaterals; tetrahedra, pyramids, prisms and hexahedra."""
from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..reference.shapes import NAMED_SHAPES, SHAPES
from ..support.wording import plural
from . import checks, clean, interfaces as inner_faces, periodic
from .curved import cell_maps, checks as curve_checks, mapping
from .cuts import must_be_uncut
from .elements import Elements
from .errors import MeshError, MeshWarning
from .faces import Neighbours, connect, face_points, find_faces, pairs, together, widened
from .locality import hilbert_order
from .memory import check_room
from .mesh import Mesh
from .refine import several_shapes as refine_mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from ..reference.shapes import Shape

NONE = -1          # corner or node that a cell with fewer of them does not have


@dataclass(frozen=True, eq=False, repr=False)
class MixedMesh(Mesh):
    """A mesh of triangles and quadrilaterals, or of tetrahedra, pyramids, prisms and hexahedra; `read_mesh`,
    rectangle(shape="mixed"), box(shape="mixed") and box(shape="hybrid") make it.

    As a `Mesh`, with these differences. The cells of one shape follow each other, those with fewer corners first.

    cells        (cell, corner) -1 where a cell has fewer corners
    neighbours   the same for the faces of cells that have fewer, and for the corners of faces
    geometry_nodes  nan where a cell has fewer

    `blocks` are meshes of the cells of one shape each."""

    @cached_property
    def of_shape(self) -> np.ndarray:
        """Which of the `shapes` each cell has, (cell,)."""
        corners = np.count_nonzero(self.cells >= 0, axis=1)
        return np.unique(corners, return_inverse=True)[1].ravel()

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the cells."""
        return tuple(SHAPES[self.dim, int(count)] for count in np.unique(np.count_nonzero(self.cells >= 0, axis=1)))

    @property
    def cell_shape(self) -> Shape:
        """There is none: raises MeshError."""
        raise MeshError(f"{self.source} has cells of the shapes {self.cell_type}; take its blocks")

    @property
    def cell_type(self) -> str:
        """The cells' names."""
        return " and ".join(shape.name for shape in self.shapes)

    @cached_property
    def first(self) -> tuple[int, ...]:
        """Number of the first cell of each block."""
        return tuple(np.searchsorted(self.of_shape, np.arange(len(self.shapes))).tolist())

    @cached_property
    def blocks(self) -> tuple[Mesh, ...]:
        """A `Mesh` of the cells of each shape, on the points of all; faces to cells of other shapes are its `join_faces`."""
        return tuple(self._block(np.flatnonzero(self.of_shape == number), shape) for number, shape in enumerate(self.shapes))

    def _block(self, cells, shape):
        first, last, faces = cells[0], cells[-1] + 1, len(shape.faces)
        own = self.neighbours.cell[cells, :faces]
        inside, there = (own >= first) & (own < last), self.neighbours.face[cells, :faces]
        at_join = (there >= 0) & ~inside
        vertices = max(map(len, shape.faces))
        neighbours = Neighbours(np.where(at_join | (there < 0), np.arange(len(cells))[:, None], own - first),
                                np.where(at_join, -1, there), self.neighbours.orientation[cells, :faces, :vertices])

        def rows_here(rows):
            here = rows[(rows[:, 0] >= first) & (rows[:, 0] < last)]
            return here - [first, 0]
        nodes = None if self.geometry_nodes is None else self.geometry_nodes[cells]
        if nodes is not None:
            nodes = nodes[:, ~np.isnan(nodes).any(axis=(0, 2))]
        glued = self.glued[((self.glued[:, ::2] >= first) & (self.glued[:, ::2] < last)).all(axis=1)] - [first, 0, first, 0]
        return Mesh(self.points, self.cells[cells, :len(shape.vertices)],
                    {name: rows_here(rows) for name, rows in self.boundaries.items()},
                    {name: numbers[(numbers >= first) & (numbers < last)] - first for name, numbers in self.regions.items()},
                    self.numbers[cells], neighbours, (), self.source, glued, geometry_nodes=nodes,
                    interfaces={name: rows_here(rows) for name, rows in self.interfaces.items()},
                    join_faces=np.argwhere(at_join), layers=self.layers)

    def of_blocks(self, function: Callable) -> np.ndarray:
        """function(block) of all blocks, one behind the other; rows of faces that a cell does not have are 0."""
        found = [np.asarray(function(block)) for block in self.blocks]
        if found[0].ndim > 1:
            faces = max(values.shape[1] for values in found)
            found = [np.pad(values, [(0, 0), (0, faces - values.shape[1]), *[(0, 0)] * (values.ndim - 2)]) for values in found]
        return np.concatenate(found)

    order = property(lambda self: max(block.order for block in self.blocks), doc="The highest degree of the cells' maps.")
    is_curved = cached_property(lambda self: self.of_blocks(lambda block: block.is_curved))
    measures = cached_property(lambda self: self.of_blocks(lambda block: block.measures))
    face_measures = cached_property(lambda self: self.of_blocks(lambda block: block.face_measures))
    normals = cached_property(lambda self: self.of_blocks(lambda block: block.normals))
    centroids = cached_property(lambda self: np.concatenate([block.centroids for block in self.blocks]))
    inradii = cached_property(lambda self: self.of_blocks(lambda block: block.inradii))
    quality_measure = "radius ratio or scaled Jacobian"
    for _name in ("is_curved", "measures", "face_measures", "normals", "centroids", "inradii"):
        locals()[_name].__doc__ = f"As `Mesh.{_name}`, of all cells."
    del _name

    def quality(self) -> np.ndarray:
        """As `Mesh.quality`, by the measure of each shape."""
        return self.of_blocks(lambda block: block.quality())

    @cached_property
    def boundary_faces(self) -> np.ndarray:
        """(count, 2) rows (cell, local face) of all faces that meet nothing."""
        found = np.concatenate([block.boundary_faces + [first, 0] for block, first in zip(self.blocks, self.first)])
        return found if self.share is None else found[self.share.own[found[:, 0]]]

    def _by_block(self, rows, function):
        """function(block, rows there) of faces `rows` (count, 2), numbers or coordinates (count, ...)."""
        rows = np.asarray(rows).reshape(-1, 2)
        found = None
        for block, first in zip(self.blocks, self.first):
            some = np.flatnonzero((rows[:, 0] >= first) & (rows[:, 0] < first + len(block.cells)))
            values = function(block, rows[some] - [first, 0])
            found = np.empty((len(rows), *values.shape[1:]), values.dtype) if found is None else found
            found[some] = values
        return found

    def face_points(self, rows: np.ndarray) -> np.ndarray:
        """Point numbers (count, vertex) of the faces `rows` (count, 2), vertices in the order of `Shape.faces`."""
        vertices = self.orientation.shape[2]
        return self._by_block(rows, lambda block, own: widened(block.face_points(own), vertices))

    def find_faces(self, corners: ArrayLike) -> np.ndarray:
        """As `Mesh.find_faces`."""
        rows = np.full((np.shape(corners)[0], 2), -1)
        for block, first in zip(self.blocks, self.first):
            here = block.find_faces(corners)
            rows = np.where((rows[:, :1] < 0) & (here[:, :1] >= 0), here + [first, 0], rows)
        return rows

    def face_centres(self, rows: ArrayLike) -> np.ndarray:
        """Centres (count, dim) of the faces `rows` (count, 2)."""
        return self._by_block(rows, lambda block, own: block.face_centres(own))

    def near(self, element: int) -> list[str]:
        """Names of the boundaries that the element, or one that shares a corner with it, has a face on."""
        corners = self.cells[element]
        near = np.any(np.isin(self.cells, corners[corners >= 0]), axis=1)
        return [name for name, rows in self.boundaries.items() if near[rows[:, 0]].any()]

    def part(self, cells: ArrayLike, cut: str = "cut", alone: bool = True) -> Mesh:
        """As `Mesh.part`; a plain `Mesh` where all the cells have one shape."""
        whole: Any = super().part(np.asarray(cells, np.int64), cut)
        return whole if len(whole.shapes) > 1 or not alone else whole.blocks[0]

    def mapped(self, function: Callable, order: int | None = None) -> MixedMesh:
        """As `Mesh.mapped`."""
        self._must_have_no_layers()
        source = f"{self.source}, mapped"
        try:
            order = self.order if order is None else mapping.checked_order(order)
            points = mapping.moved_points(self, function, self.points, "the map")
            blocks = []
            for block in self.blocks:
                nodes = None
                if order > 1:
                    r = cell_maps.geometry_cell(block.cell_shape, order).nodes
                    nodes = cell_maps.positions(block, r).transpose(2, 1, 0)
                    nodes = mapping.moved_points(self, function, nodes.reshape(-1, self.dim), "the map").reshape(nodes.shape)
                blocks.append(mapping.replaced(block, points, nodes, source))
            copy = replace(self, points=points, geometry_nodes=all_nodes(blocks), source=source)
            copy = replace(copy, periods=mapping.periods_of(self, copy))
            copy = replace(copy, notes=checks.notes(copy, lambda cell: f"cell {self.numbers[cell]}"))
        except MeshError as error:
            raise MeshError(f"{source}: {error}") from None
        return mapping.warned(copy, 3)

    def curved(self, order: int, function: Callable, boundary: str | Sequence[str] | None = None) -> Mesh:
        """Refused: raises MeshError."""
        raise MeshError(f"{self.source}: curved() is for meshes of one shape; take mapped(function, order)")

    def refined(self, where: Any = None) -> Mesh:
        """As `Mesh.refined`, of all cells; raises MeshError where only some are chosen."""
        self._must_be_whole("refined")
        must_be_uncut(self, "refined")
        if where is not None:
            raise MeshError(f"{self.source}: refined(where) is for meshes of quadrilaterals or hexahedra alone; cells of "
                            "several shapes are all refined at once")
        check_room(f"{self.source}, refined,", 2 ** self.dim * self.cell_count, self.dim, simplex=False)
        arrays, children = refine_mixed.split(self)
        mesh = build_mixed(**arrays)
        mesh = replace(mesh, layers=self.layers, interfaces=inner_faces.of_children(mesh, {
            name: (children(self.face_points(rows)).reshape(-1, self.orientation.shape[2]),
                   np.repeat(self.normals[tuple(rows.T)], 2 ** (self.dim - 1), axis=0))
            for name, rows in self.interfaces.items()}))
        if not len(self.glued):
            return mesh
        sides = (children(corners).reshape(-1, corners.shape[1]) for corners in periodic.sides(self))
        return mesh._glued(periodic.pairs(mesh, *sides), self.periods)


def padded(arrays, value):
    """Arrays (cell, column, ...) one behind the other, filled up with a value to the largest number of columns."""
    columns = max(array.shape[1] for array in arrays)
    return np.concatenate([np.pad(array, [(0, 0), (0, columns - array.shape[1]), *[(0, 0)] * (array.ndim - 2)],
                                  constant_values=value) for array in arrays])


def all_nodes(blocks):
    """The `geometry_nodes` of several shapes from those of each block; None where all are straight."""
    order = max(block.order for block in blocks)
    if order == 1:
        return None
    found = []
    for block in blocks:
        straight = block.geometry_nodes is None
        r = cell_maps.geometry_cell(block.cell_shape, order).nodes
        found.append(cell_maps.positions(block, r).transpose(2, 1, 0) if straight else block.geometry_nodes)
    return padded(found, np.nan)


def build_mixed(points: ArrayLike, cells: dict[str, ArrayLike], facets: dict[str, ArrayLike] | None = None,
                groups: dict[str, ArrayLike] | None = None, *, numbers: ArrayLike | None = None,
                elements: ArrayLike | None = None, source: str = "mesh", found: Sequence[str] = (),
                inherited: Sequence[str] | None = None, geometry_nodes: dict[str, ArrayLike] | None = None) -> Mesh:
    """The mesh of cells of several shapes, {name of the shape: (cell, corner)}, as `build` makes one of cells of one shape.

    Cells are counted through all shapes, in the order of `cells`, by `groups`, `numbers` and `elements`. geometry_nodes: {name
    of the shape: (cell, node, dim)}, for all shapes or none. inherited: as for `build`.
    Raises MeshError as `build`, and for named faces between two cells. Warns with each of the notes."""
    try:
        mesh = _build(np.array(points, dtype=np.float64), {name: np.array(rows, np.int64) for name, rows in cells.items()},
                      facets or {}, groups or {}, numbers, elements, source, found, inherited, geometry_nodes)
    except MeshError as error:
        raise MeshError(f"{source}: {error}") from None
    if inherited is None:
        for note in mesh.notes:
            warnings.warn(f"{source}: {note}", MeshWarning, stacklevel=3)
    return mesh


def _build(points, given, facets, groups, numbers, elements, source, found, inherited, geometry_nodes):
    names = sorted(given, key=lambda name: len(NAMED_SHAPES[name].vertices))
    starts = dict(zip(given, np.cumsum([0] + [len(rows) for rows in given.values()])))
    count = sum(map(len, given.values()))
    numbers = np.arange(count) if numbers is None else np.asarray(numbers)

    def label(k):
        return f"cell {numbers[k]}" + ("" if elements is None else f" (element {elements[k]} in the file)")
    corners = max(given[name].shape[1] for name in names)
    for name in names:
        clean.check_input(points, given[name], lambda k, first=starts[name]: label(first + k))
    everything = np.concatenate([np.pad(given[name], [(0, 0), (0, corners - given[name].shape[1])], constant_values=NONE)
                                 for name in names])
    used = np.zeros(len(points), bool)
    used[everything[everything >= 0]] = True
    number = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)
    facets = {name: number[np.where((rows >= 0) & (rows < len(points)), rows, -1)]
              for name, rows in ((name, np.asarray(rows)) for name, rows in facets.items())}
    points, everything, unused = points[used], number[everything], int((~used).sum())
    facets, apart = clean.drop_apart(facets)
    notes = [*found, *apart]
    notes += [f"{plural(unused, 'node')} that no cell uses {'is' if unused == 1 else 'are'} left out"] if unused else []
    cells, order, nodes, first = [], [], [], 0
    for name in names:
        shape, size = NAMED_SHAPES[name], len(given[name])
        own = everything[first:first + size, :len(shape.vertices)]

        def named(k, start=starts[name]):
            return label(start + k)
        own_nodes = None
        if geometry_nodes is not None:
            own_nodes = curve_checks.checked(points, own, np.asarray(geometry_nodes[name], float), named)
        if own_nodes is None:
            own, _ = clean.orient(points, own, named)
        else:
            own, own_nodes, _ = curve_checks.orient(points, own, own_nodes, named)
        sorted_ = hilbert_order(points[own].mean(axis=1))
        cells.append(own[sorted_])
        order.append(starts[name] + sorted_)
        nodes.append(None if own_nodes is None else own_nodes[sorted_])
        first += size
    order = np.concatenate(order)
    rank = np.argsort(order)

    def labelled(k):
        return label(order[k])
    neighbours = _connected(cells, [NAMED_SHAPES[name] for name in names], labelled)
    boundaries, more = _named_faces(points, cells, [NAMED_SHAPES[name] for name in names], neighbours, facets)
    blocks = [Elements(points, own, None, each) for own, each in zip(cells, nodes)]
    mesh = MixedMesh(points, padded(cells, NONE), boundaries,
                     {name: np.sort(rank[np.asarray(group)]) for name, group in groups.items()}, numbers[order], neighbours,
                     source=source, geometry_nodes=all_nodes(blocks))
    clean.check_folds(mesh, labelled)
    if mesh.order > 1:
        curve_checks.check_shared(mesh, labelled)
    notes = tuple(inherited) if inherited is not None else (*notes, *more, *checks.notes(mesh, labelled))
    object.__setattr__(mesh, "notes", notes)
    return mesh


def _connected(cells, shapes, label):
    """The `Neighbours` of cells of several shapes, [(cell, corner)], counted one shape after the other."""
    first = np.cumsum([0, *map(len, cells)])
    faces, vertices = max(len(shape.faces) for shape in shapes), max(len(face) for shape in shapes for face in shape.faces)
    cell = np.repeat(np.arange(first[-1])[:, None], faces, axis=1)
    face, orientation = np.full(cell.shape, -1), np.tile(np.arange(vertices), (*cell.shape, 1))
    open_rows, open_points = [], []
    for begin, own, shape in zip(first, cells, shapes):
        found = connect(own, shape.faces, lambda k, begin=begin: label(begin + k))
        some, count = slice(begin, begin + len(own)), len(shape.faces)
        cell[some, :count], face[some, :count] = found.cell + begin, found.face
        orientation[some, :count, :found.orientation.shape[2]] = found.orientation
        rows = np.argwhere(found.face < 0)
        open_points.append(face_points(own, rows, shape.faces))
        open_rows.append(rows + [begin, 0])
    rows = np.concatenate(open_rows)
    one, other, match = pairs(together(open_points), lambda k: label(rows[k, 0]))
    return Neighbours(cell, face, orientation).glued(rows[one], rows[other], match)


def _named_faces(points, cells, shapes, neighbours, facets):
    """(boundaries, notes): name -> rows (count, 2: cell, local face) of the `facets`, name -> point numbers (count, vertex)."""
    first, boundaries, notes = np.cumsum([0, *map(len, cells)]), {}, []
    for name, corners in facets.items():
        rows = np.full((np.shape(corners)[0], 2), -1)
        clean.check_corners(name, corners, shapes)
        for begin, own, shape in zip(first, cells, shapes):
            here = find_faces(own, corners, shape.faces)
            rows = np.where((rows[:, :1] < 0) & (here[:, :1] >= 0), here + [begin, 0], rows)
        lost = np.flatnonzero(rows[:, 0] < 0)
        if len(lost):
            at = " to ".join(f"({', '.join(f'{v:.6g}' for v in points[p])})" for p in corners[lost[0]])
            raise MeshError(f"boundary {name!r}: {len(lost)} of {len(corners)} faces belong to no cell, "
                            f"first the one with the nodes {at}; mesh cells and boundary together, or remove it")
        inner = neighbours.face[rows[:, 0], rows[:, 1]] >= 0
        if inner.any():
            notes.append(f"{np.count_nonzero(inner)} faces of boundary {name!r} lie between two cells; in a mesh of several "
                         "shapes only those at the end of the mesh keep the name: see Mesh.with_interfaces")
        if not inner.all():
            boundaries[name] = np.unique(rows[~inner], axis=0)
    return boundaries, notes
