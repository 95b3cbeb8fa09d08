"""The shapes of cells: corners, edges and faces of lines, triangles, tetrahedra, quadrilaterals and hexahedra."""
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .multilinear import gradients, weights
from .quadrature import product
from .simplex import FACES

# Sign that turns the normal of a face's vertex order in FACES outwards, for positively oriented simplices.
OUTWARD = {1: (-1, 1), 2: (1, 1, 1), 3: (-1, 1, 1, -1)}


@dataclass(frozen=True)
class Shape:
    """A shape of cells, by the numbers of its corners. The corners have the order of meshio and VTK.

    name       in messages, datasets and options
    in_files   its name in meshio, and `face_in_files` that of its faces
    dim        dimension
    simplex    whether its map from the reference cell is affine; else it is bilinear or trilinear
    vertices   coordinates of the corners of the reference cell in [-1, 1]^dim
    edges      pairs of corners
    faces      corners of each face. Simplices: in the order of FACES. Quadrilaterals and hexahedra: the faces -x, +x, -y, +y,
               -z, +z of the reference cell, the corners of each in tensor order, the coordinate of the lower axis fastest
    outward    sign that turns the normal of each face's vertex order outwards, for positively oriented cells
    mirrored   the corners in an order that turns the orientation
    """

    name: str
    in_files: str
    face_in_files: str
    dim: int
    simplex: bool
    vertices: tuple
    edges: tuple
    faces: tuple
    outward: tuple
    mirrored: tuple

    @property
    def corners(self):
        """Coordinates of the reference cell's corners as an array, (corner, dim)."""
        return np.array(self.vertices, dtype=float)

    def weights(self, r):
        """The functions of the corners that are 1 at one and 0 at the others, (point, corner), at points r (point, dim): linear
        on simplices, else bilinear or trilinear."""
        if self.simplex:
            tail = (np.asarray(r) + 1) / 2
            return np.column_stack([1 - tail.sum(axis=1), tail])
        return weights(self.corners, r)

    def gradients(self, r):
        """Derivatives dN_c/dr_k of the functions of `weights`, (point, corner, dim), at points r (point, dim)."""
        if self.simplex:
            constant = np.vstack([-np.ones((1, self.dim)), np.eye(self.dim)]) / 2
            return np.broadcast_to(constant, (len(r), *constant.shape))
        return gradients(self.corners, r)

    @property
    def tensor_order(self):
        """Corners of a quadrilateral or hexahedron in tensor order: the first coordinate runs fastest."""
        return _tensor_order(self.vertices, range(len(self.vertices)))

    @property
    def test_points(self):
        """Reference points (point, dim) of a quadrilateral or hexahedron at which a valid cell has det dx/dr > 0.

        On a quadrilateral det dx/dr is linear, so its corners suffice. A hexahedron adds 27 Gauss points to them."""
        return self.corners if self.dim == 2 else np.concatenate([self.corners, product(3, 4)[0]])


def shape_of(points, cells):
    """The `Shape` of the cells (cell, corner) on the points (point, dim)."""
    return SHAPES[points.shape[1], cells.shape[1]]


def _simplex(name, face_in_files, dim):
    vertices = tuple(tuple(1 if axis == corner - 1 else -1 for axis in range(dim)) for corner in range(dim + 1))
    numbers = tuple(range(dim + 1))
    return Shape(name, name, face_in_files, dim, True, vertices, tuple(combinations(numbers, 2)), FACES[dim], OUTWARD[dim],
                 (*numbers[:-2], numbers[-1], numbers[-2]))


def _tensor(name, in_files, face_in_files, vertices):
    numbers, dim = range(len(vertices)), len(vertices[0])
    sides = [(axis, side) for axis in range(dim) for side in (-1, 1)]
    edges = tuple((i, j) for i, j in combinations(numbers, 2) if sum(a != b for a, b in zip(vertices[i], vertices[j])) == 1)
    faces = tuple(_tensor_order(vertices, [c for c in numbers if vertices[c][axis] == side]) for axis, side in sides)
    return Shape(name, in_files, face_in_files, dim, False, vertices, edges, faces,
                 tuple(side * (-1) ** axis for axis, side in sides),
                 tuple(vertices.index((y, x, *rest)) for x, y, *rest in vertices))


def _tensor_order(vertices, corners):
    return tuple(sorted(corners, key=lambda corner: vertices[corner][::-1]))


SQUARE = (-1, -1), (1, -1), (1, 1), (-1, 1)
_ALL = (_simplex("line", "vertex", 1), _simplex("triangle", "line", 2), _tensor("quadrilateral", "quad", "line", SQUARE),
        _simplex("tetra", "triangle", 3),
        _tensor("hexahedron", "hexahedron", "quad", tuple((*corner, z) for z in (-1, 1) for corner in SQUARE)))
# By dimension and number of corners, by name, and by name in meshio.
SHAPES = {(shape.dim, len(shape.vertices)): shape for shape in _ALL}
NAMED_SHAPES = {shape.name: shape for shape in _ALL}
FILE_SHAPES = {shape.in_files: shape for shape in _ALL}
