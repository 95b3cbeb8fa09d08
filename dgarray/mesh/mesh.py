"""The mesh as users see it: changed copies of it, and how it is built from points and cells."""
from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.wording import plural
from . import blocks, checks, clean, cuts, interfaces as inner_faces, part, periodic, picture, regions as naming
from .curved import boundary_curves as curves, checks as curve_checks, mapping
from .elements import Elements
from .errors import MeshError, MeshWarning
from .faces import connect
from .locality import hilbert_order
from .mesh_data import MeshData
from .refine import hanging, refinement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(MeshData):
    """A mesh of cells; `read_mesh`, `interval`, `rectangle` and `box` make it.

    The cells are lines, triangles, quadrilaterals, tetrahedra, pyramids, prisms or hexahedra, straight or curved, of one shape
    or of several; `blocks` are meshes of the cells of each. Neighbouring cells share whole faces; where all are quadrilaterals
    or hexahedra, a face may also meet 2 or 4 of half its size. Functions that change a mesh return a copy.

    points       (point, dim) float64
    cells        (cell, corner) int64, positively oriented, in an order that keeps neighbours near each other; corners in the
                 order of meshio and VTK. In a mesh of several shapes those of one shape follow each other, those with fewer
                 corners first, and have -1 for corners that they lack; `neighbours` have so for faces, nan `geometry_nodes`
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
    hanging      the faces that meet smaller ones, a `dgarray.mesh.refine.hanging.Hanging`
    geometry_nodes  (cell, node, dim) points through which the polynomial maps of curved cells go, at the nodes of the reference
                 cell `dgarray.mesh.curved.cell_maps.geometry_cell(cell_shape, order)`; None where all cells are straight
    owner        (cell,) the part of each cell of a mesh that `write_mesh` has cut; None
    layers       absorbing layers, each a `BoxLayer` or `RoundLayer` of `dgarray.mesh.absorbing.layers`; `pml` makes them
    join_faces   of a block of a mesh of several shapes: rows (cell, local face) of the faces that meet cells of another shape
    movable      whether methods take no cell for affine that another position of its points would bend, as derivatives by the
                 points need
    """

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
            mesh = mesh._glued((rows, others, orientation), (*mesh.periods, (*pair, tuple(translation.tolist()))))
            if mesh.order > 1:
                try:
                    curve_checks.check_shared(mesh, lambda cell: f"cell {self.numbers[cell]}")
                except MeshError as error:
                    raise MeshError(f"{mesh.source}: boundaries {pair[0]!r} and {pair[1]!r} do not match: {error}") from None
        return mesh

    def refined(self, where: str | Sequence[str] | ArrayLike | None = None) -> Mesh:
        """A copy with cells split at the middles of their edges into 2, 4 or 8, pyramids into six pyramids and four tetrahedra;
        names, regions and periods are kept. Curved cells are split in the reference cell: their children have the same map.

        where   None: every cell; else, where all are quadrilaterals or hexahedra, the name of a region, several names, or the
                numbers of cells in this mesh. Where split cells meet others, nodes hang in the middle of edges and faces
        The children of the cell with number k have the numbers 2^dim k and following, 10 k in a mesh with pyramids; a cell that
        stays has 2^dim k.
        Raises MeshError for unknown names, and where cells of more than twice the size would meet."""
        self._must_be_whole("refined")
        cuts.must_be_uncut(self, "refined")
        arrays, sides, inner = refinement.split(self, where)
        mesh = build(**arrays)
        mesh = replace(mesh, layers=self.layers, interfaces=inner_faces.of_children(mesh, inner))
        if where is not None:
            checks.touching_faces(mesh, lambda k: f"cell {mesh.numbers[k]}")
        return mesh._glued(periodic.pairs(mesh, *sides), self.periods) if len(self.glued) else mesh

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
        The move of the boundary's points is blended into the cells that touch it, see
        `dgarray.mesh.curved.boundary_curves`; all others stay.

            disc = square.curved(3, lambda x: (x[0] / np.hypot(*x), x[1] / np.hypot(*x)))

        Names, regions and periods are kept; a periodic boundary must stay a translation of its partner.
        Raises MeshError for an order or a name that there is not, another shape of what the function returns, where cells
        become folded or flat, and where cells in absorbing layers would be moved."""
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
        alone: whether the arrays lose the room for other shapes where the cells here have one shape of several
        Raises MeshError for cells that do not exist, and for one twice."""
        cells = np.asarray(cells, np.int64)
        if len(cells) and (cells.min() < 0 or cells.max() >= len(self.cells) or np.bincount(cells).max() > 1):
            raise MeshError(f"{self.source}: a part must hold numbers of cells, each once, from 0 to {len(self.cells) - 1}")
        return part.part(self, cells, cut, alone)

    def _glued(self, pairs, periods):
        """A copy in which boundary faces meet others, pairs (rows, others, orientation); those that became interior lose their
        names."""
        rows, others, orientation = pairs
        neighbours = self.neighbours.glued(rows, others, orientation)
        boundaries = {name: faces[neighbours.face[faces[:, 0], faces[:, 1]] < 0]
                      for name, faces in self.boundaries.items()}
        return replace(self, neighbours=neighbours, periods=periods,
                       glued=np.concatenate([self.glued, np.column_stack([rows, others])]),
                       boundaries={name: faces for name, faces in boundaries.items() if len(faces)})


def build(points: ArrayLike, cells: ArrayLike | dict[str, ArrayLike], facets: dict[str, ArrayLike] | None = None,
          groups: dict[str, ArrayLike] | None = None, *, numbers: ArrayLike | None = None, elements: ArrayLike | None = None,
          source: str = "mesh", found: Sequence[str] = (), inherited: Sequence[str] | None = None,
          geometry_nodes: ArrayLike | dict[str, ArrayLike] | None = None) -> Mesh:
    """The mesh of `cells` (cell, corner) on `points` (point, dim): checked, oriented, ordered for locality, connected.

    The corners give the shape: dim + 1 of simplices, 2^dim of quadrilaterals and hexahedra, 5 of pyramids, 6 of prisms, in
    the order of VTK. Of several shapes: {name of the shape: (cell, corner)}; cells are counted through all of them.
    facets     boundary name -> point numbers (count, vertex) of its faces, in any order; doubles count once. A name whose
               faces all lie between two cells is that of an interface, of one that has both inner faces are left out
    groups     region name -> numbers of its cells
    numbers    (cell,) the file's numbering, by default 0, 1, ...; several cells may be pieces of one
    elements   (cell,) position of each cell among all elements of the file, from 1, for messages
    found      notes of whoever read the file
    inherited  notes of the mesh that this one refines, which has been checked
    geometry_nodes  (cell, node, dim) of curved cells, at nodes of `dgarray.mesh.curved.cell_maps.geometry_cell`; those at the
               corners are replaced by the points; of several shapes a dict as `cells`, for all of them or none
    Raises MeshError on: coordinates that are not finite, a node twice in a cell, cells without volume, concave or twisted
    cells, curved cells where det dx/dr is not positive or which differ from a neighbour on the face between them, faces with
    three neighbours, folds, hanging nodes, names of facets that are not faces of a cell. Warns with each of the notes."""
    given = cells if isinstance(cells, dict) else {"": cells}
    nodes = geometry_nodes if isinstance(geometry_nodes, dict) or geometry_nodes is None else {"": geometry_nodes}
    try:
        clean.check_given(np.shape(points)[-1:], given, groups or {}, numbers, nodes)
        mesh = _build(np.asarray(points, dtype=np.float64), {name: np.asarray(rows, np.int64) for name, rows in given.items()},
                      facets or {}, groups or {}, numbers, elements, source, found, inherited, nodes)
    except MeshError as error:
        raise MeshError(f"{source}: {error}") from None
    if inherited is None:
        for note in mesh.notes:
            warnings.warn(f"{source}: {note}", MeshWarning, stacklevel=3)
    return mesh


def _build(points, given, facets, groups, numbers, elements, source, found, inherited, geometry_nodes):
    numbers = np.arange(sum(map(len, given.values()))) if numbers is None else np.asarray(numbers)

    def label(k):
        piece = "a piece of " if np.count_nonzero(numbers == numbers[k]) > 1 else ""
        return f"{piece}cell {numbers[k]}" + ("" if elements is None else f" (element {elements[k]} in the file)")

    starts = dict(zip(given, np.cumsum([0, *map(len, given.values())])))
    labels = {name: lambda k, start=start: label(start + k) for name, start in starts.items()}
    for name, own in given.items():
        clean.check_input(points, own, labels[name])
    names = sorted(given, key=lambda name: given[name].shape[1])
    points, parts, facets, unused = clean.drop_unused(points, [given[name] for name in names], facets)
    facets, apart = clean.drop_apart(facets)
    notes = [*found, *apart]
    notes += [f"{plural(unused, 'node')} that no cell uses {'is' if unused == 1 else 'are'} left out"] if unused else []
    order = []
    for place, name in enumerate(names):
        parts[place], own = _ordered(points, parts[place], geometry_nodes and geometry_nodes[name], labels[name])
        order.append(starts[name] + own)
    order = np.concatenate(order)
    rank = np.argsort(order)

    def label_here(k):
        return label(order[k])

    mesh = Mesh(points, blocks.padded([part.cells for part in parts], blocks.NONE), {},
                {name: np.sort(rank[np.asarray(group)]) for name, group in groups.items()}, numbers[order],
                connect([(part.cells, part.cell_shape.faces) for part in parts], label_here), source=source,
                geometry_nodes=blocks.all_nodes(parts))
    boundaries, interfaces, more = clean.name_faces(mesh, facets)
    mesh = replace(mesh, boundaries=boundaries, interfaces=interfaces)
    clean.check_folds(mesh, label_here)
    if len(parts) == 1:          # cells of several shapes share whole faces
        mesh = replace(mesh, hanging=hanging.find(mesh, mesh.unnamed))
    if mesh.order > 1:
        curve_checks.check_shared(mesh, label_here)
    notes += more
    notes = tuple(inherited) if inherited is not None else (*notes, *checks.notes(mesh, label_here))
    object.__setattr__(mesh, "notes", notes)
    return mesh


def _ordered(points, cells, nodes, label):
    """(the `Elements` of cells of one shape, oriented, in an order that keeps neighbours near each other; this order)."""
    nodes = None if nodes is None else curve_checks.checked(points, cells, nodes, label)
    if nodes is None:
        cells, _ = clean.orient(points, cells, label)
    else:
        cells, nodes, _ = curve_checks.orient(points, cells, nodes, label)
    order = hilbert_order(points[cells].mean(axis=1))
    return Elements(points, cells[order], None, None if nodes is None else nodes[order]), order
