"""The mesh: points, cells of one shape, names, and the neighbour across every face."""
from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..html_table import table
from ..reference.shapes import shape_of
from ..wording import nearest, plural
from . import (
    cell_maps,
    checks,
    clean,
    curve_checks,
    curved_geometry,
    curves,
    cuts,
    geometry,
    hanging,
    mapping,
    naming,
    periodic,
    picture,
    refinement,
)
from . import interfaces as inner_faces
from .describe import names as names_in
from .describe import sizes
from .errors import MeshError, MeshWarning
from .faces import Neighbours, centres, connect, face_points, find_faces
from .hanging import Hanging
from .locality import hilbert_order
from .partition import Share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from ..reference.shapes import Shape


@dataclass(frozen=True, eq=False, repr=False)
class Mesh:
    """A mesh of cells of one shape; `read_mesh`, `interval`, `rectangle` and `box` make it.

    Neighbouring cells share whole faces; a face of a quadrilateral or hexahedron may also meet 2 or 4 of half its size.

    points       (point, dim) float64
    cells        (cell, corner) int64, positively oriented, in an order that keeps neighbours near each other; corners in the
                 order of meshio and VTK
    boundaries   name -> (count, 2) rows (cell, local face); a face may carry several names
    interfaces   name -> (count, 2) rows (cell, local face) of named faces between two cells, each once, of the cell out of
                 which the normal points; recorders and integrals take them like boundaries
    regions      name -> numbers of its cells
    numbers      (cell,) position of each cell among the volume cells of its file, from 0; pieces of a cell that was cut have
                 the number of that cell
    neighbours   the neighbour across each face
    notes        repairs and suspected defects, one line each
    source       file name or generator call
    glued        (pair, 4) rows (cell, local face, other cell, its local face) of the periodic faces
    periods      (name, other name, translation) of each periodic pair
    share        of a part of a mesh: what it has of the whole, a `dgarray.mesh.partition.Share`; None for a whole mesh
    hanging      the faces that meet smaller ones, a `dgarray.mesh.hanging.Hanging`
    geometry_nodes  (cell, node, dim) points through which the polynomial maps of curved cells go, at the nodes of the reference
                 cell `dgarray.mesh.cell_maps.geometry_cell(cell_shape, order)`; None where all cells are straight
    owner        (cell,) the part of each cell of a mesh that `write_mesh` has cut; None
    layers       absorbing layers, each a `BoxLayer` or `RoundLayer` of `dgarray.mesh.layers`; `pml` makes them

    join_faces  of a block of a `MixedMesh`: rows (cell, local face) of the faces that meet cells of another shape

    All cells have the shape `cell_shape`: lines, triangles, quadrilaterals, tetrahedra, prisms or hexahedra, straight or
    curved; those of a `dgarray.mesh.mixed.MixedMesh` have several.
    """

    points: np.ndarray
    cells: np.ndarray
    boundaries: dict[str, np.ndarray]
    regions: dict[str, np.ndarray]
    numbers: np.ndarray
    neighbours: Neighbours
    notes: tuple[str, ...] = ()
    source: str = "mesh"
    glued: np.ndarray = None
    periods: tuple = ()
    share: Share | None = None
    hanging: Hanging = None
    geometry_nodes: np.ndarray | None = None
    join_faces: np.ndarray = None
    interfaces: dict[str, np.ndarray] = field(default_factory=dict)
    layers: tuple = ()
    owner: np.ndarray | None = None

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
        names = ", ".join(f"{name} {len(rows)}" for name, rows in self.boundaries.items() if not name.startswith(" "))
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
    def blocks(self) -> tuple[Mesh, ...]:
        """The meshes of the cells of each shape: here one."""
        return (self,)

    @property
    def cell_type(self) -> str:
        """The cells' name: line, triangle, quadrilateral, tetra, prism or hexahedron."""
        return self.cell_shape.name

    @property
    def cell_shape(self) -> Shape:
        """The `Shape` of the cells: their corners, edges and faces."""
        return shape_of(self.points, self.cells)

    @property
    def order(self) -> int:
        """Degree of the polynomial maps from the reference cell to the cells: 1 where all are straight."""
        return cell_maps.map_order(self)

    @cached_property
    def is_curved(self) -> np.ndarray:
        """Whether each cell differs from the straight one with its corners by more than rounding, (cell,)."""
        return cell_maps.are_curved(self)

    @property
    def whole(self) -> Mesh:
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
        near = np.isin(self.cells, self.cells[element]).any(axis=1)
        return [name for name, rows in self.boundaries.items() if near[rows[:, 0]].any()]

    @cached_property
    def boundary_faces(self) -> np.ndarray:
        """(count, 2) rows (cell, local face) of all faces of own cells that meet nothing."""
        alone = self.neighbour_face < 0
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

    @cached_property
    def measures(self) -> np.ndarray:
        """Length, area or volume of each cell, (cell,)."""
        return geometry.signed_measures(self.points, self.cells) if self.order == 1 else curved_geometry.measures(self)

    @cached_property
    def _curved_faces(self):
        return curved_geometry.faces(self)

    @cached_property
    def face_measures(self) -> np.ndarray:
        """Measure of each face, (cell, face): 1 in 1D, length in 2D, area in 3D; of a warped face with straight edges, the
        length of the integral of its normal."""
        if self.order > 1:
            return self._curved_faces[0]
        return np.linalg.norm(geometry.area_vectors(self.points, self.cells), axis=2)

    @cached_property
    def normals(self) -> np.ndarray:
        """Outward unit normals, (cell, face, dim); of a warped or curved face, the direction of the integral of its normal."""
        if self.order > 1:
            vectors = self._curved_faces[1]
            return vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
        return geometry.area_vectors(self.points, self.cells) / self.face_measures[:, :, None]

    @cached_property
    def centroids(self) -> np.ndarray:
        """The image of the reference cell's centre, (cell, dim): the mean of the corners where a cell is straight."""
        return cell_maps.centres(self).T

    @cached_property
    def inradii(self) -> np.ndarray:
        """dim * measure / measure of all faces, (cell,): the radius of the inscribed sphere, if one touches all faces."""
        return self.dim * self.measures / self.face_measures.sum(axis=1)

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
        return "normalised radius ratio" if self.cell_shape.simplex else "scaled Jacobian"

    def face_points(self, rows: np.ndarray) -> np.ndarray:
        """Point numbers (count, vertex) of the faces `rows` (count, 2), vertices in the order of `Shape.faces`; triangles
        beside quadrilaterals repeat their last one."""
        return face_points(self.cells, rows, self.cell_shape.faces)

    def find_faces(self, corners: ArrayLike) -> np.ndarray:
        """Rows (count, 2) of the faces with these point numbers (count, vertex), in any order; -1 where there is none, the
        first of the two cells where a face is interior."""
        return find_faces(self.cells, corners, self.cell_shape.faces)

    def face_centres(self, rows: ArrayLike) -> np.ndarray:
        """Centres (count, dim) of the faces `rows` (count, 2)."""
        if self.order > 1:
            return curved_geometry.face_centres(self, np.asarray(rows).reshape(-1, 2))
        return centres(self.points, self.face_points(np.asarray(rows).reshape(-1, 2)))

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

    def periodic(self, *pairs: Sequence[str]) -> Mesh:
        """A copy that is periodic across each pair of boundaries, ("left", "right"), which a translation maps onto each other.

        Their faces become interior and lose their names. Raises MeshError that names the faces without a match."""
        self._must_be_whole("made periodic")
        mesh = self
        for pair in pairs:
            if isinstance(pair, str) or len(pair) != 2:
                raise MeshError(f"periodic takes pairs of boundary names, ('left', 'right'); got {pair!r}")
            for name in pair:
                if name not in mesh.boundaries:
                    mesh.named(name)
                    raise MeshError(f"{name!r} is a region of {mesh.source}; only boundaries can be periodic")
            rows, others, orientation, translation = periodic.match(mesh, *pair)
            mesh = mesh._glued(rows, others, orientation, (*mesh.periods, (*pair, tuple(translation.tolist()))))
            if mesh.order > 1:
                try:
                    curve_checks.check_shared(mesh, lambda cell: f"cell {self.numbers[cell]}")
                except MeshError as error:
                    raise MeshError(f"{mesh.source}: boundaries {pair[0]!r} and {pair[1]!r} do not match: {error}") from None
        return mesh

    def refined(self, where: str | Sequence[str] | ArrayLike | None = None) -> Mesh:
        """A copy with cells split at the middles of their edges into 2, 4 or 8; names, regions and periods are kept.
        Curved cells are split in the reference cell: their children have the same map.

        where   None: every cell; else, of quadrilaterals and hexahedra, the name of a region, several names, or the numbers of
                cells in this mesh. Where split cells meet others, nodes hang in the middle of edges and faces
        The children of the cell with number k have the numbers 2^dim k and following, a cell that stays has 2^dim k.
        Raises MeshError for unknown names, and where cells of more than twice the size would meet."""
        self._must_be_whole("refined")
        cuts.must_be_uncut(self, "refined")
        arrays, sides, inner = refinement.split(self, where)
        mesh = build(**arrays)
        mesh = replace(mesh, layers=self.layers, interfaces=inner_faces.of_children(mesh, inner))
        if where is not None:
            checks.touching_faces(mesh, lambda k: f"cell {mesh.numbers[k]}")
        return mesh._glued(*periodic.pairs(mesh, *sides), self.periods) if len(self.glued) else mesh

    def with_regions(self, regions: dict[str, Any]) -> Mesh:
        """A copy with more regions, {name: function of x that says which cells' centres belong to it, or numbers of cells}.

        Raises MeshError for names that the mesh has, and for anything else."""
        self._must_be_whole("given regions")
        return replace(self, regions={**self.regions, **naming.regions(self, regions)})

    def with_interfaces(self, interfaces: dict[str, str | Sequence[str]]) -> Mesh:
        """A copy with more named faces inside, {name: (region, other region)}: the faces between cells of both, with
        normals out of the first region into the second; or {name: region}: those around a region, with normals out of it.
        One that reaches a side of the mesh goes on in layers that are there already: add layers first.

            mesh = mesh.with_regions({"in": lambda x: x[0] < 0.3, "out": lambda x: x[0] > 0.3})
            mesh = mesh.with_interfaces({"section": ("in", "out")})

        Raises MeshError for names that the mesh has, for unknown regions, and where no faces lie between them, or faces that
        meet smaller ones."""
        self._must_be_whole("given interfaces")
        if not isinstance(interfaces, dict):
            raise MeshError(f"with_interfaces({interfaces!r}) is not allowed; give {{name: (region, other region)}}")
        for name, regions in interfaces.items():
            self = replace(self, interfaces={**self.interfaces, str(name): inner_faces.between(self, str(name), regions)})
        return self

    def cut(self, name: str) -> Mesh:
        """A copy that is cut along the interface `name`: its faces become boundary faces, of the cells on both sides, with that
        name. A sheet without thickness that conducts is boundary={name: dgarray.pec}.

        Cut a mesh last, after it has been refined, and given periods and layers.
        Raises MeshError for a name that is no interface, and for one whose faces meet smaller ones."""
        self._must_be_whole("cut")
        return cuts.cut(self, name)

    def mapped(self, function: Callable, order: int | None = None) -> Mesh:
        """A copy with the points moved to function(x), x a tuple of coordinate arrays (point,); it returns such a tuple.

        order   None: the corners of straight cells are moved, which stay straight; those of curved cells with their geometry
                nodes. From 2 to 10: the cells are curved by a map of this degree, which interpolates the function; 1: the
                cells of a curved mesh become straight
        Numbers, names, regions and periods are kept; a periodic boundary must stay a translation of its partner. Cells that
        are all straight to rounding are stored so.
        Raises MeshError where the map turns cells over, makes them concave, folded or flat, or is not finite, and for a mesh
        with absorbing layers. Warns as `build` does."""
        self._must_be_whole("mapped")
        self._must_have_no_layers()
        return mapping.mapped(self, function, order)

    def curved(self, order: int, function: Callable, boundary: str | Sequence[str] | None = None) -> Mesh:
        """A copy whose boundary follows a curve or surface, by cells with maps of degree `order` (2 to 10; 1: corners alone).

        function   where points of the boundary go: takes x, a tuple of coordinate arrays (point,), and returns such a tuple
        boundary   the name of a boundary, or several in a tuple; by default all faces without a neighbour
        The move of the boundary's points is blended into the cells that touch it, see `dgarray.mesh.curves`; all others stay.

            disc = square.curved(3, lambda x: (x[0] / np.hypot(*x), x[1] / np.hypot(*x)))

        Names, regions and periods are kept; a periodic boundary must stay a translation of its partner.
        Raises MeshError for an order or a name that there is not, another shape of what the function returns, and where
        cells become folded or flat."""
        self._must_be_whole("curved")
        return curves.curved(self, order, function, boundary)

    def plot(self, path: str | PathLike | None = None, ax: Any = None, boundary: str | Sequence[str] | None = None,
             cells: bool = True) -> Any:
        """Draw the mesh by matplotlib: cells in outline, regions lightly shaded, boundaries in colours with a legend of their
        names, interfaces dashed, periodic faces dotted.

        In 3D the boundary faces are drawn; those that face the viewer are like glass, so that what lies behind them is seen.
        path       image file to write (PNG, PDF or SVG), without a window; None draws into `ax` or a new pyplot figure
        ax         matplotlib axes to draw into, in 3D with projection="3d"; a new figure by default
        boundary   name of a boundary or interface, or several in a tuple: only these are drawn; by default all
        cells      False leaves out the outlines of the cells
        Returns the axes, with a path the path. Raises MeshError for a name that does not exist, ValueError for a path that
        cannot be written to, or path and ax together, ImportError without matplotlib."""
        return picture.plot(self, path, ax, boundary, cells)

    def _must_be_whole(self, change):
        """Raise MeshError for a part of a mesh, which cannot be changed alone."""
        if self.share is not None:
            raise MeshError(f"{self.source} cannot be {change}; the whole mesh can, before it is cut")

    def _must_have_no_layers(self):
        """Raise MeshError for a mesh with layers, whose places a map does not know."""
        if self.layers:
            raise MeshError(f"{self.source} has the layer {self.layers[0].region!r}; map the mesh first, then add layers")

    def part(self, cells: ArrayLike, cut: str = "cut", alone: bool = True) -> Mesh:
        """A mesh of some of the cells, in the same order; faces to cells left out, and to smaller or larger ones, get the
        boundary name `cut`.

        Names, regions, the file's numbering and periodic faces are kept; boundaries without faces stay, empty.
        alone: whether cells of several shapes become a plain `Mesh` where those here have one"""
        cells = np.asarray(cells, np.int64)
        place = np.full(len(self.cells), -1)
        place[cells] = np.arange(len(cells))
        kept = self.cells[cells]
        used = np.unique(kept[kept >= 0])
        corners = np.where(kept >= 0, np.searchsorted(used, kept), kept)
        cell, face = place[self.neighbour_cell[cells]], self.neighbour_face[cells]
        lost = (face >= 0) & (cell < 0)
        for sides, faces in (self.hanging.sides.T, self.join_faces.T):
            here = place[sides] >= 0
            lost[place[sides[here]], faces[here]] = True
        cell = np.where(lost | (face < 0), np.arange(len(cells))[:, None], cell)
        boundaries = {name: np.column_stack([place[rows[:, 0]], rows[:, 1]])[place[rows[:, 0]] >= 0]
                      for name, rows in self.boundaries.items()} | {cut: np.argwhere(lost)}
        interfaces = {name: np.column_stack([place[rows[:, 0]], rows[:, 1]])[place[rows[:, 0]] >= 0]
                      for name, rows in self.interfaces.items()}
        regions = {name: np.sort(place[numbers][place[numbers] >= 0]) for name, numbers in self.regions.items()}
        glued = self.glued.copy()
        glued[:, ::2] = place[glued[:, ::2]]
        return type(self)(self.points[used], corners, boundaries, regions, self.numbers[cells],
                          Neighbours(cell, np.where(lost, -1, face), self.orientation[cells]), (), self.source,
                          glued[(glued[:, ::2] >= 0).all(axis=1)], self.periods, interfaces=interfaces, layers=self.layers,
                          geometry_nodes=self.geometry_nodes[cells] if self.is_curved[cells].any() else None)

    def _glued(self, rows, others, orientation, periods):
        """A copy in which the boundary faces `rows` meet `others`; faces that became interior lose their names."""
        neighbours = self.neighbours.joined(rows, others, orientation)
        boundaries = {name: faces[neighbours.face[faces[:, 0], faces[:, 1]] < 0]
                      for name, faces in self.boundaries.items()}
        return replace(self, neighbours=neighbours, periods=periods,
                       glued=np.concatenate([self.glued, np.column_stack([rows, others])]),
                       boundaries={name: faces for name, faces in boundaries.items() if len(faces)})


def build(points: ArrayLike, cells: ArrayLike, facets: dict[str, ArrayLike] | None = None,
          groups: dict[str, ArrayLike] | None = None, *, numbers: ArrayLike | None = None, elements: ArrayLike | None = None,
          source: str = "mesh", found: Sequence[str] = (), inherited: Sequence[str] | None = None,
          geometry_nodes: ArrayLike | None = None) -> Mesh:
    """The mesh of `cells` (cell, corner) on `points` (point, dim): checked, oriented, ordered for locality, connected.

    The corners give the shape: dim + 1 of simplices, 2^dim of quadrilaterals and hexahedra, 6 of prisms, in the order of VTK.
    facets     boundary name -> point numbers (count, vertex) of its faces, in any order; doubles count once. A name whose
               faces all lie between two cells is that of an interface, of one that has both inner faces are left out
    groups     region name -> numbers of its cells
    numbers    (cell,) the file's numbering, by default 0, 1, ...; several cells may be pieces of one
    elements   (cell,) position of each cell among all elements of the file, from 1, for messages
    found      notes of whoever read the file
    inherited  notes of the mesh that this one refines, which has been checked
    geometry_nodes  (cell, node, dim) of curved cells, at the nodes of `dgarray.mesh.cell_maps.geometry_cell`; those at the
               corners are replaced by the points
    Raises MeshError on: coordinates that are not finite, a node twice in a cell, cells without volume, concave or twisted
    cells, curved cells where det dx/dr is not positive or which differ from a neighbour on the face between them, faces with
    three neighbours, folds, hanging nodes, names of facets that are not faces of a cell. Warns with each of the notes."""
    try:
        if np.size(cells) and np.asarray(cells).dtype.kind not in "iu":
            raise MeshError("the cells must be whole numbers, those of their points")
        mesh = _build(np.array(points, dtype=np.float64), np.array(cells, dtype=np.int64), facets or {}, groups or {},
                      numbers, elements, source, found, inherited, geometry_nodes)
    except MeshError as error:
        raise MeshError(f"{source}: {error}") from None
    if inherited is None:
        for note in mesh.notes:
            warnings.warn(f"{source}: {note}", MeshWarning, stacklevel=3)
    return mesh


def _build(points, cells, facets, groups, numbers, elements, source, found, inherited, nodes):
    file_numbers = np.arange(len(cells)) if numbers is None else np.asarray(numbers)

    def label(k):
        piece = "a piece of " if np.count_nonzero(file_numbers == file_numbers[k]) > 1 else ""
        return f"{piece}cell {file_numbers[k]}" + ("" if elements is None else f" (element {elements[k]} in the file)")

    clean.check_input(points, cells, label)
    points, cells, facets, unused = clean.drop_unused(points, cells, facets)
    facets, apart = clean.drop_apart(facets)
    notes = [*found, *apart]
    notes += [f"{plural(unused, 'node')} that no cell uses {'is' if unused == 1 else 'are'} left out"] if unused else []
    nodes = None if nodes is None else curve_checks.checked(points, cells, nodes, label)
    if nodes is None:
        cells, _ = clean.orient(points, cells, label)
    else:
        cells, nodes, _ = curve_checks.orient(points, cells, nodes, label)
    order = hilbert_order(points[cells].mean(axis=1))
    rank = np.argsort(order)
    cells, file_numbers = cells[order], file_numbers[order]
    elements = None if elements is None else np.asarray(elements)[order]
    neighbours = connect(cells, shape_of(points, cells).faces, label)
    boundaries, interfaces, more = clean.name_faces(points, cells, neighbours, facets)
    mesh = Mesh(points, cells, boundaries, {name: np.sort(rank[np.asarray(group)]) for name, group in groups.items()},
                file_numbers, neighbours, source=source, geometry_nodes=None if nodes is None else nodes[order],
                interfaces=interfaces)
    clean.check_folds(mesh, label)
    mesh = replace(mesh, hanging=hanging.find(mesh, mesh.unnamed))
    if nodes is not None:
        curve_checks.check_shared(mesh, label)
    notes += more
    notes = tuple(inherited) if inherited is not None else (*notes, *checks.notes(mesh, label))
    object.__setattr__(mesh, "notes", notes)
    return mesh
