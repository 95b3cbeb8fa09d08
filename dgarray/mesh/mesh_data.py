"""The arrays of a mesh, and what follows from them alone: counts, names, measures, normals, faces."""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..reference.shapes import SHAPES
from ..support.html_table import table
from ..support.wording import nearest, plural
from . import blocks, geometry
from .blocks import by_block
from .curved import cell_maps, geometry as curved_geometry
from .describe import names as names_in, sizes
from .errors import MeshError
from .faces import Inner, Neighbours, centres, face_points, find_faces, widened
from .partition import Share
from .refine import hanging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from ..reference.shapes import Shape


@dataclass(frozen=True, eq=False, repr=False)
class MeshData:
    """The base class of `Mesh`, which describes the arguments. Nothing here makes another mesh."""

    points: np.ndarray
    cells: np.ndarray
    boundaries: dict[str, np.ndarray]
    regions: dict[str, np.ndarray]
    numbers: np.ndarray
    neighbours: Neighbours
    notes: tuple[str, ...] = ()
    source: str = "mesh"
    glued: Any = None
    periods: tuple = ()
    share: Share | None = None
    hanging: Any = None
    geometry_nodes: np.ndarray | None = None
    join_faces: Any = None
    interfaces: dict[str, np.ndarray] = field(default_factory=dict)
    layers: tuple = ()
    owner: np.ndarray | None = None
    movable: bool = False

    def __post_init__(self):
        if self.glued is None:
            object.__setattr__(self, "glued", np.empty((0, 4), dtype=np.int64))
        if self.hanging is None:
            object.__setattr__(self, "hanging", hanging.none(self.neighbours.orientation.shape[2]))
        if self.join_faces is None:
            object.__setattr__(self, "join_faces", np.empty((0, 2), dtype=np.int64))
        arrays = [self.points, self.cells, self.numbers, self.glued, self.neighbours.cell, self.neighbours.face,
                  self.neighbours.orientation, *self.boundaries.values(), *self.interfaces.values(), *self.regions.values()]
        arrays += [] if self.geometry_nodes is None else [self.geometry_nodes]
        for array in arrays:
            array.setflags(write=False)

    def __repr__(self):
        names = ", ".join(f"{name} {len(rows)}" for name, rows in self.boundaries.items() if not isinstance(name, Inner))
        unnamed = f"; {len(self.unnamed)} unnamed boundary faces" if len(self.unnamed) else ""
        curved = f", {np.count_nonzero(self.is_curved)} curved, of order {self.order}" if self.order > 1 else ""
        counts = " and ".join(plural(block.cell_count, f"{block.cell_type} cell") for block in self.blocks) + curved
        layers = "".join(f"; layer {layer.region!r}" for layer in self.layers)
        return f"<Mesh {self.source}: {counts}; {names or 'no boundary names'}{unnamed}{layers}>"

    def _repr_html_(self):
        """The mesh as a table for notebooks: counts, extent, names, notes."""
        return table("Mesh", [*sizes(self), *names_in(self)])

    @property
    def cell_count(self) -> int:
        """Number of cells."""
        return len(self.cells)

    @property
    def dim(self) -> int:
        """Dimension of space and of the cells: 1, 2 or 3."""
        return self.points.shape[1]

    structured = False          # a grid's cells lie in rows

    @property
    def _narrow(self):
        """Whether cells have all the corners that `cells` has room for. Those with the fewest come first."""
        return bool((self.cells[:1] >= 0).all())

    @property
    def blocks(self) -> tuple[Any, ...]:
        """The cells by shape: meshes of one shape each on the points of all, of which faces to cells of other shapes are the
        `join_faces`. A mesh of one shape is its own block."""
        return (self,) if self._narrow else self._cut

    @cached_property
    def _cut(self):
        return blocks.cut(self)

    @cached_property
    def first(self) -> tuple[int, ...]:
        """Number of the first cell of each block."""
        return tuple(np.cumsum([0, *(block.cell_count for block in self.blocks)])[:-1].tolist())

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The `Shape` of the cells of each block."""
        counts = self.cells.shape[1:] if self._narrow else np.unique(np.count_nonzero(self.cells >= 0, axis=1))
        return tuple(SHAPES[self.dim, int(count)] for count in counts)

    @property
    def of_shape(self) -> np.ndarray:
        """Which of the `shapes` each cell has, (cell,)."""
        return np.repeat(np.arange(len(self.blocks)), [block.cell_count for block in self.blocks])

    @property
    def cell_type(self) -> str:
        """The cells' name: line, triangle, quadrilateral, tetra, pyramid, prism or hexahedron; of several shapes all names."""
        return " and ".join(shape.name for shape in self.shapes)

    @property
    def cell_shape(self) -> Shape:
        """The `Shape` of the cells: their corners, edges and faces. Raises MeshError where they have several."""
        if len(self.shapes) > 1:
            raise MeshError(f"{self.source} has cells of the shapes {self.cell_type}; take its blocks")
        return self.shapes[0]

    def in_blocks(self, rows: np.ndarray) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """For each block: (the block, which of the faces `rows` (count, 2) are of its cells, these as rows of the block)."""
        for block, first in zip(self.blocks, self.first):
            some = np.flatnonzero((rows[:, 0] >= first) & (rows[:, 0] < first + block.cell_count))
            yield block, some, rows[some] - [first, 0]

    def at_faces(self, rows: ArrayLike, function: Callable[[Any, np.ndarray], np.ndarray]) -> np.ndarray:
        """function(block, rows there), numbers or coordinates (count, ...), of the faces `rows` (count, 2)."""
        rows = np.asarray(rows).reshape(-1, 2)
        if len(self.blocks) == 1:
            return function(self.blocks[0], rows)
        parts = [(some, function(block, own)) for block, some, own in self.in_blocks(rows)]
        return np.concatenate([values for _, values in parts])[np.argsort(np.concatenate([some for some, _ in parts]))]

    @property
    def order(self) -> int:
        """Degree of the polynomial maps from the reference cell to the cells, the highest one: 1 where all are straight."""
        return max(cell_maps.map_order(block) for block in self.blocks)

    @cached_property
    @by_block
    def is_curved(self) -> np.ndarray:
        """Whether each cell differs from the straight one with its corners by more than rounding, (cell,)."""
        return cell_maps.are_curved(self)

    @property
    def whole(self) -> Any:
        """The mesh that this one is a part of; the mesh itself where it is no part."""
        return self if self.share is None else self.share.whole

    @property
    def owned(self) -> int:
        """How many cells are the mesh's own, of one shape the first ones: all, but in a part of a mesh."""
        return len(self.cells) if self.share is None else int(np.count_nonzero(self.share.own))

    @property
    def numbers_in_whole(self) -> np.ndarray:
        """(cell,) numbers of the cells in the whole mesh."""
        return np.arange(len(self.cells)) if self.share is None else self.share.cells

    @property
    def neighbour_cell(self) -> np.ndarray:
        """(cell, face) number of the neighbour, the own cell at a boundary face."""
        return self.neighbours.cell

    @property
    def neighbour_face(self) -> np.ndarray:
        """(cell, face) local face of the neighbour, -1 at a boundary face."""
        return self.neighbours.face

    @property
    def orientation(self) -> np.ndarray:
        """(cell, face, vertex): own face vertex i is the neighbour's face vertex orientation[..., i], in the order of
        `Shape.faces`."""
        return self.neighbours.orientation

    @property
    def examples(self) -> tuple[np.ndarray, ...]:
        """Coordinates of one or two places in the mesh, a tuple of arrays."""
        return tuple(self.centroids[:2].T)

    def samples(self, count: int) -> tuple[np.ndarray, ...]:
        """Coordinates of at most `count` places all over the mesh, a tuple of arrays."""
        return tuple(self.centroids[::-(-len(self.centroids) // count)].T)

    @property
    def identity(self) -> tuple[np.ndarray, ...]:
        """The arrays that make it this mesh."""
        curves = () if self.geometry_nodes is None else (self.geometry_nodes,)
        return self.points, self.cells, self.neighbour_face, *curves

    def named_place(self, element: int) -> str:
        """Where an element is, for messages."""
        return f"element {self.numbers[element]} with centre ({', '.join(f'{c:.6g}' for c in self.centre(element))})"

    def centre(self, element: int) -> tuple[float, ...]:
        """Coordinates of an element's centre."""
        return tuple(map(float, self.centroids[element]))

    def near(self, element: int) -> list[str]:
        """Names of the boundaries that the element, or one that shares a corner with it, has a face on."""
        corners = self.cells[element]
        near = np.any(np.isin(self.cells, corners[corners >= 0]), axis=1)
        return [name for name, rows in self.boundaries.items() if near[rows[:, 0]].any()]

    @cached_property
    def boundary_faces(self) -> np.ndarray:
        """(count, 2) rows (cell, local face) of all faces of own cells that meet nothing."""
        alone = self.neighbour_face < 0
        for block, first in zip(self.blocks, self.first):
            alone[first:first + block.cell_count, len(block.cell_shape.faces):] = False
        if self.share is not None:
            alone[~self.share.own] = False
        for rows in (self.hanging.sides, self.join_faces):
            alone[tuple(rows.T)] = False
        return np.argwhere(alone)

    @cached_property
    def unnamed(self) -> np.ndarray:
        """The boundary faces that carry no name, (count, 2)."""
        return self.boundary_faces[~self.is_named(self.boundary_faces)]

    def is_named(self, rows: np.ndarray) -> np.ndarray:
        """Whether each of the faces `rows` (count, 2) carries a boundary name."""
        named = np.zeros(self.neighbour_face.shape, dtype=bool)
        for faces in self.boundaries.values():
            named[faces[:, 0], faces[:, 1]] = True
        return named[rows[:, 0], rows[:, 1]]

    def a_hair_inside(self, x: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Points x (dim, ...) of faces of cells, numbers that broadcast to (...), moved a little towards the centroids."""
        return x + geometry.INWARD * (np.moveaxis(self.centroids[cells], -1, 0) - x)

    @cached_property
    @by_block
    def measures(self) -> np.ndarray:
        """Length, area or volume of each cell, (cell,)."""
        return geometry.signed_measures(self.points, self.cells) if self.order == 1 else curved_geometry.measures(self)

    @cached_property
    def _curved_faces(self):
        return curved_geometry.faces(self)

    @cached_property
    @by_block
    def face_measures(self) -> np.ndarray:
        """Measure of each face, (cell, face): 1 in 1D, length in 2D, area in 3D; of a warped face with straight edges, the
        length of the integral of its normal."""
        if self.order > 1:
            return self._curved_faces[0]
        return np.linalg.norm(geometry.area_vectors(self.points, self.cells), axis=2)

    @cached_property
    @by_block
    def normals(self) -> np.ndarray:
        """Outward unit normals, (cell, face, dim); of a warped or curved face, the direction of the integral of its normal."""
        if self.order > 1:
            vectors = self._curved_faces[1]
            return vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
        return geometry.area_vectors(self.points, self.cells) / self.face_measures[:, :, None]

    @cached_property
    @by_block
    def centroids(self) -> np.ndarray:
        """The image of the reference cell's centre, (cell, dim): the mean of the corners where a cell is straight."""
        return cell_maps.centres(self).T

    @cached_property
    def inradii(self) -> np.ndarray:
        """dim * measure / measure of all faces, (cell,): the radius of the inscribed sphere, if one touches all faces."""
        return self.dim * self.measures / self.face_measures.sum(axis=1)

    @by_block
    def quality(self) -> np.ndarray:
        """Quality of each cell, (cell,): 1 for the best, 0 for flat ones.

        Simplices: the normalised radius ratio, 1 for regular ones. Others: the scaled Jacobian, 1 for rectangles and bricks.
        Of a curved cell, the least of the straight cells whose edges are the map's tangents at one of its points."""
        if self.order > 1:
            return curved_geometry.quality(self)
        if not self.cell_shape.simplex:
            return geometry.scaled_jacobians(self.points, self.cells)
        return geometry.radius_ratios(self.points, self.cells, self.inradii)

    @property
    def quality_measure(self) -> str:
        """What `quality` returns, for messages."""
        kinds = {shape.simplex: "normalised radius ratio" if shape.simplex else "scaled Jacobian" for shape in self.shapes}
        return " or ".join(kinds.values())

    def face_points(self, rows: np.ndarray) -> np.ndarray:
        """Point numbers (count, vertex) of the faces `rows` (count, 2), vertices in the order of `Shape.faces`; triangles
        beside quadrilaterals repeat their last one."""
        vertices = self.orientation.shape[2]
        return self.at_faces(rows, lambda block, own: widened(face_points(block.cells, own, block.cell_shape.faces), vertices))

    def find_faces(self, corners: ArrayLike) -> np.ndarray:
        """Rows (count, 2) of the faces with these point numbers (count, vertex), in any order; -1 where there is none, the
        first of the two cells where a face is interior."""
        rows = np.full((len(np.asarray(corners)), 2), -1)
        for block, first in zip(self.blocks, self.first):
            here = find_faces(block.cells, corners, block.cell_shape.faces)
            rows = np.where((rows[:, :1] < 0) & (here[:, :1] >= 0), here + [first, 0], rows)
        return rows

    def face_centres(self, rows: ArrayLike) -> np.ndarray:
        """Centres (count, dim) of the faces `rows` (count, 2)."""
        def of_block(block, own):
            if block.order > 1:
                return curved_geometry.face_centres(block, own)
            return centres(block.points, block.face_points(own))
        return self.at_faces(rows, of_block)

    def position(self, row: ArrayLike) -> str:
        """Centre of one face as text, for messages."""
        return "(" + ", ".join(f"{value:.6g}" for value in self.face_centres(row)[0]) + ")"

    def place(self, row: Sequence[int]) -> str:
        """One face as text: its cell in the file's numbering and its centre."""
        return f"cell {self.numbers[row[0]]} at {self.position(row)}"

    def named(self, name: str) -> np.ndarray:
        """Faces (count, 2) of the boundary or interface, or cells of the region, called `name`.

        Raises MeshError with the names that exist."""
        for names in (self.boundaries, self.interfaces, self.regions):
            if name in names:
                return names[name]
        allowed = [*self.boundaries, *self.interfaces, *self.regions]
        inner = f"; interfaces: {', '.join(self.interfaces)}" if self.interfaces else ""
        raise MeshError(f"{name!r} is not in the mesh {self.source}; it has the boundaries: "
                        f"{', '.join(self.boundaries) or 'none'}{inner}; regions: {', '.join(self.regions) or 'none'}"
                        + nearest(name, allowed))
