"""Nodal elements as VTK's Lagrange cells: node order, points, values and topology.

VTK's Lagrange cells interpolate at equispaced points, so our polynomials are evaluated there. VTK has no Lagrange pyramids:
those of order 1 are its pyramids, whose functions are ours, and those of higher orders hexahedra whose top is the apex. In
the coordinates a and b of the base and the height h, see `dgarray.reference.shapes.PyramidShape`, our functions are
polynomials of the order in each, so that these hexahedra hold them exactly.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgarray.mesh.curved import cell_maps
from dgarray.mesh.files.vtk_nodes import node_order
from dgarray.reference import NAMED_SHAPES, reference_cell, shape_of

VTK_TYPES = {"vertex": 1, "line": 68, "triangle": 69, "quadrilateral": 70, "tetra": 71, "hexahedron": 72,
             "prism": 73}
VTK_PYRAMID = 14
FACE_TYPES = {1: "vertex", 2: "line", 3: "triangle", 4: "quadrilateral"}          # by the number of corners
OF_PYRAMID = 4, 2, 1, 3, 0          # the faces of a hexahedron that those of a pyramid become
BLOCK_VALUES = 2**20
XML_TYPES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """Elements and named faces as VTK's points and cells: the elements first, then the faces.

    points (point, dim) corners; cells (element, corner); order of the polynomials on `reference_cell(shape, order, nodes)`
    faces  (face, 2) rows (element, local face); geometry_nodes (element, node, dim) of curved cells"""

    points: np.ndarray
    cells: np.ndarray
    order: int
    faces: np.ndarray
    nodes: str | None = None
    geometry_nodes: np.ndarray | None = None

    def __repr__(self):
        return f"Grid({len(self.cells)} {self.cell_type} cells of order {self.order}, {len(self.faces)} faces)"

    @property
    def dim(self):
        return self.points.shape[1]

    @property
    def shape(self):
        return shape_of(self.points, self.cells)

    @property
    def cell_type(self):
        return self.shape.name

    @property
    def vtk_order(self):
        """Order of VTK's cells, which have none of order 0 and hold the map of curved cells."""
        return max(self.order, cell_maps.map_order(self))

    @property
    def collapsed(self):
        """Whether the cells are hexahedra whose top is a point, since VTK has no Lagrange cells of their shape."""
        return self.cell_type not in VTK_TYPES

    @property
    def vtk_shape(self):
        """The `Shape` of VTK's cells, by which their nodes and faces are numbered: of pyramids the hexahedron."""
        return NAMED_SHAPES["hexahedron"] if self.collapsed else self.shape

    @cached_property
    def lattice(self):
        """VTK's nodes (VTK node, dim) in whole numbers; of pyramids of order 1 those of the hexahedron but for its top."""
        found = node_order(self.vtk_shape.name, self.vtk_order)
        return found[:5] if self.collapsed and self.vtk_order == 1 else found

    @property
    def r(self):
        """VTK's nodes in the reference cell, (VTK node, dim)."""
        r = 2 * self.lattice / self.vtk_order - 1
        if self.collapsed:          # the hexahedron shrinks towards its top
            r[:, :2] = (1 + r[:, :2]) * (1 - r[:, 2:]) / 2 - 1
        return r

    @cached_property
    def interpolation(self):
        """Matrix (VTK node, node) from our nodes to VTK's."""
        return reference_cell(self.shape, self.order, self.nodes).interpolation(self.r)

    @property
    def size(self):
        """Number of points."""
        return len(self.cells) * len(self.lattice)

    def blocks(self):
        """Slices of elements that bound the temporary memory."""
        step = max(1, BLOCK_VALUES // len(self.lattice))
        return [slice(start, min(start + step, len(self.cells))) for start in range(0, len(self.cells), step)]

    def coordinates(self):
        """Blocks (point, 3) of x, with zeros for the missing axes."""
        r = self.r
        for block in self.blocks():
            x = np.zeros(((block.stop - block.start) * len(r), 3))
            x[:, :self.dim] = cell_maps.positions(self, r, block).transpose(2, 1, 0).reshape(-1, self.dim)
            yield x

    def values(self, nodal):
        """Blocks (point,) of the field nodal (element, node) at VTK's nodes, in its own precision."""
        for block in self.blocks():
            # A state that went bad is exported, too: its values that are not finite stay so, without a warning.
            with np.errstate(invalid="ignore", over="ignore"):
                yield (nodal[block].astype("float64") @ self.interpolation.T).astype(real(nodal.dtype)).reshape(-1)

    def cell_values(self, each):
        """Values of all cells from those of the elements: a face has its element's."""
        each = np.asarray(each)
        each = each.astype("uint8") if each.dtype == bool else each
        if each.dtype.str[1:] not in XML_TYPES:
            each = each.astype("int64" if each.dtype.kind in "iu" else "float64")
        return np.concatenate([each, each[self.faces[:, 0]]])

    def topology(self):
        """connectivity (int64), offsets (cell + 1,) into it, and VTK's types (cell,)."""
        count, shape, linear = len(self.lattice), self.vtk_shape, self.collapsed and self.vtk_order == 1
        numbered = self.shape.faces if linear or not self.collapsed else [shape.faces[face] for face in OF_PYRAMID]
        kinds = [FACE_TYPES[len(face)] for face in numbered]
        number = {tuple(node): position for position, node in enumerate(self.lattice.tolist())}
        unit = ((shape.corners + 1) / 2).astype("int64")
        local = []
        for kind, (first, *others) in zip(kinds, numbered):
            along = unit[others[:self.dim - 1]] - unit[first]
            nodes = self.vtk_order * unit[first] + node_order(kind, self.vtk_order) @ along
            local.append(np.array([number[tuple(node)] for node in nodes.tolist()]))
        faces = [cell * count + local[face] for cell, face in self.faces.tolist()]
        sizes = np.concatenate([np.full(len(self.cells), count), [len(face) for face in faces]]).astype("int64")
        types = np.concatenate([np.full(len(self.cells), VTK_PYRAMID if linear else VTK_TYPES[shape.name]),
                                np.array([VTK_TYPES[kind] for kind in kinds])[self.faces[:, 1]]])
        return (np.concatenate([np.arange(self.size), *faces]), np.concatenate([[0], np.cumsum(sizes)]), types.astype("uint8"))


class Grids:
    """Grids of cells of one shape each, one behind the other: the size, coordinates, values and topology of all."""

    def __init__(self, grids):
        self.grids = grids

    @property
    def size(self):
        return sum(grid.size for grid in self.grids)

    def coordinates(self):
        for grid in self.grids:
            yield from grid.coordinates()

    def values(self, nodal):
        """nodal: the field of each grid."""
        for grid, own in zip(self.grids, nodal):
            yield from grid.values(own)

    def topology(self):
        found, points = [grid.topology() for grid in self.grids], np.cumsum([0, *(grid.size for grid in self.grids)])
        ends = np.cumsum([0, *(offsets[-1] for _, offsets, _ in found)])
        return (np.concatenate([numbers + first for (numbers, _, _), first in zip(found, points)]),
                np.concatenate([[0], *(offsets[1:] + end for (_, offsets, _), end in zip(found, ends))]),
                np.concatenate([types for _, _, types in found]))


def real(dtype):
    """The type in which a field is written: float32 stays, all else becomes float64."""
    return np.dtype("float32" if dtype == np.float32 else "float64")
