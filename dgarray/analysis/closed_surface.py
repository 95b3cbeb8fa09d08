"""Quadrature on curves and surfaces, closed ones and others, on whose faces a recorder has kept transforms of fields."""
from functools import cached_property
from math import comb

import numpy as np

from ..reference import quadrature, simplex
from ..reference.tensor import KINDS as TENSOR_NODES, tensor_cell
from ..spaces.surface import AXES, Surface

ROUNDING = 0.02          # relative difference of areas of curved faces by several rules; of nodes in another order it is larger
ASKED = "a record of {} on a boundary or interface, Fourier(frequencies, boundary=...)"


class RecordedSurface:
    """The surface, in 2D curve, on which `fields` are given, a Dataset of a record `Fourier(..., boundary=...)`.

    dim, axes   2 or 3, and their names
    x           (dim, face, point) positions of the points of quadrature
    weights     (face, point) with the faces' measures
    normals     (dim, face, point), on straight faces of simplices (dim, face, 1); unit normals out of the faces' cells
    matrix      (point, face_node) that evaluates fields at the points

    variables   names that the fields must have besides positions, normals, areas and orders
    degree      of the quadrature on each face, 2 order + 4 by default
    Raises ValueError where the fields lack something."""

    def __init__(self, fields, variables, degree=None):
        self.axes = check_fields(fields, variables)
        self.dim = len(self.axes)
        self.fields = fields if "frequency" in fields.dims else fields.expand_dims("frequency")
        order, kind = int(fields.attrs["order"]), fields.attrs.get("nodes")
        degree = 2 * order + 4 if degree is None else degree
        own = "weight" in fields and (fields["weight"].attrs.get("points") == "quadrature" or kind not in TENSOR_NODES and
                                      fields.sizes["face_node"] > comb(order + self.dim - 1, order))          # of prisms
        of_faces = at_own_points if own else on_tensor_faces if kind in TENSOR_NODES else on_simplices
        self.x, self.weights, self.normals, self.matrix = of_faces(fields, self.axes, order, degree)

    @cached_property
    def frequencies(self):
        """(frequency,) in cycles per unit of time."""
        return self.fields["frequency"].values.astype(float)

    def values(self, name):
        """The values of a variable at the points, (frequency, face, point); 0.0 where the fields do not have it."""
        return nodal(self.fields, name) @ self.matrix.T if name in self.fields else 0.0

    def three(self, vectors):
        """Vectors (dim, face, n) as three-vectors (3, face, n)."""
        return np.concatenate([vectors, np.zeros((3 - self.dim, *vectors.shape[1:]))])


class ClosedSurface(RecordedSurface):
    """A `RecordedSurface` that is closed, with unit normals out of the enclosed volume.

    volume      that it encloses, in 2D the area
    Raises ValueError where the fields lack something and where the surface is not closed."""

    def __init__(self, fields, variables, degree=None):
        super().__init__(fields, variables, degree)
        gap = np.linalg.norm((self.normals * self.weights).sum(axis=(1, 2))) / self.weights.sum()
        if not gap < 1e-6:
            raise ValueError(f"the surface is not closed: the integral of its normals is {gap:.2g} times its area, but must be "
                             "0; give a boundary that encloses a volume")
        volume = float(np.sum(self.x * self.normals * self.weights)) / self.dim
        self.normals, self.volume = self.normals * np.sign(volume), abs(volume)


def check_fields(fields, variables):
    """Names of the axes of transforms of `variables` on faces. Raises ValueError where the fields lack something."""
    axes = AXES if "z" in fields.coords else AXES[:2]
    needed = [*axes, *(f"normal_{axis}" for axis in axes), "area", "frequency", *variables]
    if fields.attrs.get("nodes") in TENSOR_NODES:
        needed.append("weight")
    missing = [name for name in needed if name not in fields]
    if missing or not {"face", "face_node"} <= set(fields.dims) or "order" not in fields.attrs:
        lacking = ", ".join(missing) or "the dims face, face_node or the attribute order"
        raise ValueError(f"the fields lack {lacking}; give " + ASKED.format(", ".join(variables)))
    return axes


def on_simplices(fields, axes, order, degree):
    """Positions, weights, normals and matrix as of `ClosedSurface` on the faces of triangles or tetrahedra; the normals are
    those of the record."""
    dim = len(axes)
    r, weights = quadrature(dim - 1, degree)
    # A surface without faces: the interpolation is the same on all of them.
    surface = Surface(np.empty((0, dim)), np.empty((0, dim + 1), np.int64), order, ())
    matrix, at_nodes = surface.interpolation(r), vector(fields, axes, "")
    normals, face = np.array([fields[f"normal_{axis}"].values for axis in axes]), simplex(dim - 1, order)
    vectors = [at_nodes @ (face.interpolation(r) @ D @ surface.interpolation(face.nodes)).T for D in face.differentiation]
    vectors = across(vectors)
    check_order(fields, vectors, weights)
    if normals.ndim == 3:
        normals, weights = curved_normals(vectors, normals, weights)
    else:
        normals, weights = normals[:, :, None], fields["area"].values[:, None] * (weights / weights.sum())
    return at_nodes @ matrix.T, weights, normals, matrix


def on_tensor_faces(fields, axes, order, degree):
    """Positions, weights, normals and matrix on the faces of quadrilaterals or hexahedra: n dS is interpolated from the nodes,
    which keeps its integral by their weights."""
    dim = len(axes) - 1
    face, fine = tensor_cell(dim, order, fields.attrs["nodes"]), tensor_cell(dim, degree // 2)
    matrix = face.interpolation(fine.nodes)
    check_order(fields, across([vector(fields, axes, "") @ (matrix @ D).T for D in face.differentiation]), fine.weights)
    vectors = (vector(fields, axes, "normal_") * (nodal(fields, "weight") / face.weights)) @ matrix.T
    areas = np.linalg.norm(vectors, axis=0)
    return vector(fields, axes, "") @ matrix.T, areas * fine.weights, vectors / areas, matrix


def at_own_points(fields, axes, order, degree):
    """Positions, weights, normals and matrix at the record's own points of quadrature, as on the faces of prisms and of cells
    of several shapes."""
    return vector(fields, axes, ""), nodal(fields, "weight"), vector(fields, axes, "normal_"), np.eye(fields.sizes["face_node"])


def across(slopes):
    """dx/dr_1 x dx/dr_2, in 2D (dy/dr, -dx/dr), of slopes dx/dr (dim, face, point)."""
    return np.cross(*slopes, axis=0) if len(slopes) == 2 else np.stack([slopes[0][1], -slopes[0][0]])


def check_order(fields, vectors, weights):
    """Raise ValueError where the faces' nodes are not in their order: then the polynomials through their positions, with n dS =
    vectors dr, have other areas than the faces."""
    areas = np.linalg.norm(vectors, axis=0) @ weights
    if not np.allclose(areas, fields["area"].values, rtol=ROUNDING):
        raise ValueError("the nodes of the faces of this record are not in their order, so that its values belong to other "
                         "places; keep the dim 'face_node' whole and in its order, and x, y, z as they are")


def curved_normals(vectors, outward, weights):
    """Unit normals (dim, face, point) and weights (face, point) of curved faces with n dS = vectors dr (dim, face, point) up to
    the sign, whose normals at the nodes are `outward`."""
    areas = np.linalg.norm(vectors, axis=0)
    turned = np.sign(np.sum(vectors.sum(axis=2) * outward.sum(axis=2), axis=0))
    return vectors / areas * turned[:, None], areas * weights


def nodal(fields, name):
    """The values (..., face, face_node) of a variable."""
    return fields[name].transpose(..., "face", "face_node").values


def vector(fields, axes, name):
    """The components (dim, face, face_node) of a vector, such as "normal_", or "" of the positions."""
    return np.array([nodal(fields, name + axis) for axis in axes])
