"""The shapes of cells: corners, edges and faces, functions of the corners and rules of quadrature on the reference cells."""
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import ClassVar

import numpy as np

from .multilinear import gradients, weights
from .quadrature import on_prism, on_pyramid, product, quadrature
from .simplex import FACES

# Sign that turns the normal of a face's vertex order in FACES outwards, for positively oriented simplices.
OUTWARD = {1: (-1, 1), 2: (1, 1, 1), 3: (-1, 1, 1, -1)}


@dataclass(frozen=True)
class Shape:
    """A shape of cells, by the numbers of its corners. The corners have the order of meshio and VTK.

    name       in messages, datasets and options, and its `plural`
    in_files   its name in meshio, and `face_in_files` that of its faces
    dim        dimension
    vertices   coordinates of the corners of the reference cell in [-1, 1]^dim
    edges      pairs of corners
    faces      corners of each face. Simplices: in the order of FACES. Quadrilaterals and hexahedra: the faces -x, +x, -y, +y,
               -z, +z of the reference cell, the corners of each in tensor order, the coordinate of the lower axis fastest
    outward    sign that turns the normal of each face's vertex order outwards, for positively oriented cells
    mirrored   the corners in an order that turns the orientation

    simplex      whether its map from the reference cell is affine where it is straight
    tensor       whether it is [-1, 1]^dim, dim > 1, with nodes along each axis
    mixed_faces  whether it has triangles and quadrilaterals for faces
    factors      dimensions of the simplices of which it is a product, where the space is one of polynomials on each
    regular      the scaled Jacobian of the best cell, see `dgarray.mesh.geometry.scaled_jacobians`

    Each has `measure`, that of the reference cell, and
    weights(r)       the functions of the corners, 1 at one and 0 at the others, (point, corner), at points r (point, dim)
    gradients(r)     their derivatives dN_c/dr_k, (point, corner, dim)
    quadrature(degree)   points (point, dim) and weights (point,) on the reference cell
    node_count(order)    how many nodes polynomials of that order have
    kept_inside(r)   the points r (point, dim), moved into the reference cell
    and those that are no simplices
    test_points      reference points (point, dim) at which a valid cell has det dx/dr > 0
    """

    name: str
    plural: str
    in_files: str
    face_in_files: str
    dim: int
    vertices: tuple
    edges: tuple
    faces: tuple
    outward: tuple
    mirrored: tuple
    simplex = tensor = mixed_faces = False
    factors: ClassVar[tuple] = ()
    regular = 1.0

    @property
    def faces_in_files(self):
        """The names of its faces in meshio, one for each shape that they have."""
        return tuple(dict.fromkeys({3: "triangle", 4: "quad"}.get(len(face), self.face_in_files) for face in self.faces))

    @property
    def corners(self):
        """Coordinates of the reference cell's corners as an array, (corner, dim)."""
        return np.array(self.vertices, dtype=float)

    @property
    def face_measures(self):
        """Measure of the reference cell in the coordinates of each face, a biunit simplex or square, (face,)."""
        of_simplex = 2.0 ** (self.dim - 1) / factorial(self.dim - 1)
        return np.array([of_simplex if len(face) == self.dim else 4.0 for face in self.faces])

    @property
    def axes(self):
        """The corners beside corner 0 along the axes of the reference cell, (dim,)."""
        return self.angles[0, 1:]

    @property
    def angles(self):
        """A corner and as many of its neighbours along edges as there are dimensions, in positive orientation: rows (angle,
        1 + dim) of all choices."""
        found, x = [], self.corners
        for corner in range(len(x)):
            neighbours = [sum(edge) - corner for edge in self.edges if corner in edge]
            for chosen in combinations(neighbours, self.dim):
                turned = np.linalg.det(x[list(chosen)] - x[corner]) < 0
                found.append((corner, *(chosen[1::-1] if turned else chosen[:2]), *chosen[2:]))
        return np.array(found)


class SimplexShape(Shape):
    """Lines, triangles and tetrahedra; the functions of the corners are linear, the quadrature is exact up to a degree."""

    simplex = True

    @property
    def measure(self):
        return 2.0 ** self.dim / factorial(self.dim)

    def weights(self, r):
        return barycentric(r)

    def gradients(self, r):
        constant = np.vstack([-np.ones((1, self.dim)), np.eye(self.dim)]) / 2
        return np.broadcast_to(constant, (len(r), *constant.shape))

    def quadrature(self, degree):
        return quadrature(self.dim, degree)

    def node_count(self, order):
        return comb(order + self.dim, self.dim)

    def kept_inside(self, r):
        return into_simplex(r)


class TensorShape(Shape):
    """Quadrilaterals and hexahedra; the functions of the corners are bilinear or trilinear, the quadrature is exact up to a
    degree in each coordinate."""

    tensor = True

    @property
    def measure(self):
        return 2.0 ** self.dim

    def weights(self, r):
        return weights(self.corners, r)

    def gradients(self, r):
        return gradients(self.corners, r)

    def quadrature(self, degree):
        return product(self.dim, degree)

    def node_count(self, order):
        return (order + 1) ** self.dim

    def kept_inside(self, r):
        return np.clip(r, -1, 1)

    @property
    def tensor_order(self):
        """The corners in tensor order: the first coordinate runs fastest."""
        return _tensor_order(self.vertices, range(len(self.vertices)))

    @property
    def test_points(self):
        """On a quadrilateral det dx/dr is linear, so its corners suffice. A hexahedron adds 27 Gauss points to them."""
        return self.corners if self.dim == 2 else np.concatenate([self.corners, product(3, 4)[0]])


class PrismShape(Shape):
    """The triangle times the line [-1, 1], coordinates (r, s, t): linear times linear functions of the corners; the quadrature
    is exact up to a degree in the triangle and along the line."""

    mixed_faces = True
    factors = 2, 1
    regular = np.sqrt(3) / 2
    measure = 4.0

    def weights(self, r):
        below, above = np.split(np.tile(barycentric(r[:, :2]), (1, 2)), 2, axis=1)
        return np.hstack([below * (1 - r[:, 2:]), above * (1 + r[:, 2:])]) / 2

    def gradients(self, r):
        share, side = np.tile(barycentric(r[:, :2]), (1, 2)), self.corners[:, 2]
        slope = np.tile([(-0.5, -0.5), (0.5, 0), (0, 0.5)], (2, 1))
        inside = slope * (1 + side * r[:, 2:])[..., None] / 2
        return np.concatenate([inside, (share * side / 2)[..., None]], axis=2)

    def quadrature(self, degree):
        return on_prism(degree)

    def node_count(self, order):
        return comb(order + 2, 2) * (order + 1)

    def kept_inside(self, r):
        return np.column_stack([into_simplex(r[:, :2]), np.clip(r[:, 2], -1, 1)])

    @property
    def test_points(self):
        """det dx/dr is linear in the triangle and quadratic along the line: three points on each edge along the line."""
        return np.array([(*corner[:2], t) for corner in self.vertices[:3] for t in (-1, -0.5, 0, 0.5, 1)])


class PyramidShape(Shape):
    """The square [-1, 1]^2 at t = -1 and the apex (-1, -1, 1), which is the square shrunk to a point: with the height
    h = (1 - t) / 2, a = (1 + r) / 2h and b = (1 + s) / 2h in [0, 1], the functions of the corners are h times the bilinear ones
    of (a, b), and 1 - h. Their derivatives are polynomials in a and b; at the apex those of the axis a = b = 1/2 are taken.

    The quadrature is exact up to a degree in a, b and h each. Bergot, Cohen & Durufle 2010."""

    mixed_faces = True
    regular = np.sqrt(0.5)
    measure = 8 / 3

    def weights(self, r):
        a, b, h = collapsed(r)
        return np.stack([h * (1 - a) * (1 - b), h * a * (1 - b), h * a * b, h * (1 - a) * b, 1 - h], axis=1)

    def gradients(self, r):
        a, b, _ = collapsed(r)
        one = np.ones_like(a)
        along = [(b - 1, 1 - b, b, -b, 0 * a), (a - 1, -a, a, 1 - a, 0 * a), (a * b - 1, -a * b, a * b, -a * b, one)]
        return np.moveaxis(np.array(along), 2, 0).swapaxes(1, 2) / 2

    def quadrature(self, degree):
        return on_pyramid(degree)

    def node_count(self, order):
        return (order + 1) * (order + 2) * (2 * order + 3) // 6

    def kept_inside(self, r):
        t = np.clip(r[:, 2:], -1, 1)
        return np.hstack([np.clip(r[:, :2], -1, -t), t])

    @property
    def test_points(self):
        """det dx/dr is bilinear in a and b and does not depend on h: the corners of the base suffice."""
        return self.corners[:4]


def barycentric(r):
    """The functions of the corners of the biunit simplex, (point, dim + 1), at points r (point, dim)."""
    tail = (np.asarray(r) + 1) / 2
    return np.column_stack([1 - tail.sum(axis=1), tail])


def into_simplex(r):
    """The points r (point, dim), moved into the biunit simplex."""
    tail = np.maximum((r + 1) / 2, 0)
    return 2 * tail / np.maximum(tail.sum(axis=1, keepdims=True), 1) - 1


def collapsed(r):
    """The coordinates a, b, h (point,) of the points r (point, 3) of the reference pyramid, see `PyramidShape`."""
    r = np.asarray(r, dtype=float)
    h = (1 - r[:, 2]) / 2
    apex = np.abs(h) < 1e-14
    a, b = ((1 + r[:, :2]) / 2 / np.where(apex, 1.0, h)[:, None]).T
    return np.where(apex, 0.5, a), np.where(apex, 0.5, b), h


def shape_of(points, cells):
    """The `Shape` of the cells (cell, corner) on the points (point, dim)."""
    return SHAPES[points.shape[1], cells.shape[1]]


def _simplex(name, plural, face_in_files, dim):
    vertices = tuple(tuple(1 if axis == corner - 1 else -1 for axis in range(dim)) for corner in range(dim + 1))
    numbers = tuple(range(dim + 1))
    return SimplexShape(name, plural, name, face_in_files, dim, vertices, tuple(combinations(numbers, 2)), FACES[dim],
                        OUTWARD[dim], (*numbers[:-2], numbers[-1], numbers[-2]))


def _tensor(name, plural, in_files, face_in_files, vertices):
    numbers, dim = range(len(vertices)), len(vertices[0])
    sides = [(axis, side) for axis in range(dim) for side in (-1, 1)]
    edges = tuple((i, j) for i, j in combinations(numbers, 2) if sum(a != b for a, b in zip(vertices[i], vertices[j])) == 1)
    faces = tuple(_tensor_order(vertices, [c for c in numbers if vertices[c][axis] == side]) for axis, side in sides)
    return TensorShape(name, plural, in_files, face_in_files, dim, vertices, edges, faces,
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
    return PrismShape("prism", "prisms", "wedge", "triangle", 3, vertices, edges, faces, (-1, 1, 1, 1, 1), (3, 4, 5, 0, 1, 2))


def _pyramid():
    """The corners are those of VTK: around the base, then the apex; the faces are the base in tensor order, then the triangles
    over its edges."""
    vertices = *((*corner, -1) for corner in SQUARE), (-1, -1, 1)
    faces = (0, 1, 3, 2), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)
    edges = (0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)
    return PyramidShape("pyramid", "pyramids", "pyramid", "triangle", 3, vertices, edges, faces, (-1, 1, 1, 1, 1),
                        (0, 3, 2, 1, 4))


SQUARE = (-1, -1), (1, -1), (1, 1), (-1, 1)
_ALL = (_simplex("line", "lines", "vertex", 1), _simplex("triangle", "triangles", "line", 2),
        _tensor("quadrilateral", "quadrilaterals", "quad", "line", SQUARE), _simplex("tetra", "tetrahedra", "triangle", 3),
        _tensor("hexahedron", "hexahedra", "hexahedron", "quad", tuple((*corner, z) for z in (-1, 1) for corner in SQUARE)),
        _prism(), _pyramid())
# By dimension and number of corners, by name, and by name in meshio.
SHAPES = {(shape.dim, len(shape.vertices)): shape for shape in _ALL}
NAMED_SHAPES = {shape.name: shape for shape in _ALL}
FILE_SHAPES = {shape.in_files: shape for shape in _ALL}
