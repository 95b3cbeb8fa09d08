"""The shapes of cells: corners, edges and faces of lines, triangles, tetrahedra, quadrilaterals and hexahedra."""
from dataclasses import dataclass
from itertools import combinations
from math import factorial

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
    def faces_in_files(self):
        """The names of its faces in meshio, one for each shape that they have."""
        return tuple(dict.fromkeys({3: "triangle", 4: "quad"}.get(len(face), self.face_in_files) for face in self.faces))

    @property
    def corners(self):
        """Coordinates of the reference cell's corners as an array, (corner, dim)."""
        return np.array(self.vertices, dtype=float)

    @property
    def measure(self):
        """Measure of the reference cell."""
        if self.name == "prism":
            return 4.0
        return 2.0 ** self.dim / (factorial(self.dim) if self.simplex else 1)

    @property
    def face_measures(self):
        """Measure of the reference cell in the coordinates of each face, a biunit simplex or square, (face,)."""
        of_simplex = 2.0 ** (self.dim - 1) / factorial(self.dim - 1)
        return np.array([of_simplex if len(face) == self.dim else 4.0 for face in self.faces])

    def weights(self, r):
        """The functions of the corners that are 1 at one and 0 at the others, (point, corner), at points r (point, dim): linear
        on simplices, else bilinear or trilinear."""
        if self.simplex:
            tail = (np.asarray(r) + 1) / 2
            return np.column_stack([1 - tail.sum(axis=1), tail])
        if self.name == "prism":
            below, above = np.split(_of_triangle(r), 2, axis=1)
            return np.hstack([below * (1 - r[:, 2:]), above * (1 + r[:, 2:])]) / 2
        return weights(self.corners, r)

    def gradients(self, r):
        """Derivatives dN_c/dr_k of the functions of `weights`, (point, corner, dim), at points r (point, dim)."""
        if self.simplex:
            constant = np.vstack([-np.ones((1, self.dim)), np.eye(self.dim)]) / 2
            return np.broadcast_to(constant, (len(r), *constant.shape))
        if self.name == "prism":
            share, side = _of_triangle(r), self.corners[:, 2]
            slope = np.tile([(-0.5, -0.5), (0.5, 0), (0, 0.5)], (2, 1))
            inside = slope * (1 + side * r[:, 2:])[..., None] / 2
            return np.concatenate([inside, (share * side / 2)[..., None]], axis=2)
        return gradients(self.corners, r)

    @property
    def tensor_order(self):
        """Corners of a quadrilateral or hexahedron in tensor order: the first coordinate runs fastest."""
        return _tensor_order(self.vertices, range(len(self.vertices)))

    @property
    def test_points(self):
        """Reference points (point, dim) of a cell that is no simplex at which a valid cell has det dx/dr > 0.

        On a quadrilateral det dx/dr is linear, so its corners suffice. A hexahedron adds 27 Gauss points to them, a prism,
        where det dx/dr is linear in the triangle and quadratic along the line, three points on each edge along the line."""
        if self.name == "prism":
            return np.array([(*corner[:2], t) for corner in self.vertices[:3] for t in (-1, -0.5, 0, 0.5, 1)])
        return self.corners if self.dim == 2 else np.concatenate([self.corners, product(3, 4)[0]])


def _of_triangle(r):
    """The functions of the corners of the triangle, (point, 3), twice side by side, (point, 6)."""
    tail = (np.asarray(r)[:, :2] + 1) / 2
    return np.tile(np.column_stack([1 - tail.sum(axis=1), tail]), (1, 2))


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


def _prism():
    """The corners are those of VTK's wedge, i + 3 above i; the faces are the triangles t = -1 and t = 1, then in tensor order
    the quadrilaterals over the triangle's faces."""
    vertices = tuple((*corner, z) for z in (-1, 1) for corner in ((-1, -1), (1, -1), (-1, 1)))
    faces = (0, 1, 2), (3, 4, 5), (0, 1, 3, 4), (1, 2, 4, 5), (2, 0, 5, 3)
    edges = (0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)
    return Shape("prism", "wedge", "triangle", 3, False, vertices, edges, faces, (-1, 1, 1, 1, 1), (3, 4, 5, 0, 1, 2))


SQUARE = (-1, -1), (1, -1), (1, 1), (-1, 1)
_ALL = (_simplex("line", "vertex", 1), _simplex("triangle", "line", 2), _tensor("quadrilateral", "quad", "line", SQUARE),
        _simplex("tetra", "triangle", 3),
        _tensor("hexahedron", "hexahedron", "quad", tuple((*corner, z) for z in (-1, 1) for corner in SQUARE)), _prism())
# By dimension and number of corners, by name, and by name in meshio.
SHAPES = {(shape.dim, len(shape.vertices)): shape for shape in _ALL}
NAMED_SHAPES = {shape.name: shape for shape in _ALL}
FILE_SHAPES = {shape.in_files: shape for shape in _ALL}
