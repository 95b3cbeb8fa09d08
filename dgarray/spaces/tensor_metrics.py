"""Metrics of quadrilaterals and hexahedra at the nodes and face points of a tensor-product cell.

    J a^k = J grad r_k,   sum_k d(J a^k)/dr_k = 0

hold for the polynomials too if J a^k is a curl: then a uniform state stays uniform on any mesh (free stream).  In 3D
(J a^i)_n = -1/2 e_i . curl(X_l grad X_m - X_m grad X_l), (n, m, l) cyclic; in 2D the tangents turned by a right angle.
The map is interpolated at Gauss-Lobatto points, which neighbours share on their faces; of curved cells it has at most the
degree of the cell's polynomials.  Kopriva 2006, equation (36).
"""
import numpy as np

from ..mesh.curved.cell_maps import determinant, positions
from ..mesh.curved.checks import refuse
from ..reference.tensor import tensor_cell


def along(matrix, values, axis):
    """A matrix (row, n) applied along the axis of values [..., z, y, x, element] (0 for x)."""
    place = values.ndim - 2 - axis
    return np.moveaxis(np.tensordot(matrix, values, (1, place)), 0, place)


def everywhere(matrix, values, dim):
    """A matrix (row, n) applied along all axes of values [..., z, y, x, element]."""
    for axis in range(dim):
        values = along(matrix, values, axis)
    return values


def degree(cell):
    """Of the polynomials in each coordinate that hold the metrics.

    A uniform state stays uniform where the weak form integrates J a^k . grad l exactly: Gauss points do so for metrics of one
    degree more than the cell's, which 3D needs to keep the order on curved cells, where J a^k has twice their degree."""
    return cell.order + 1 if (cell.dim, cell.kind) == (3, "gauss") else max(cell.order, 1)


class Metrics:
    """The metrics of a mesh for a `TensorCell`.

    x (dim, node, element)                  positions of the nodes;  face_x (dim, face * face point, element)
    gradients (dim, dim, node, element)     J a^k: J dr_k/dx_d at the nodes
    jacobian (node, element)                det dx/dr
    normals (dim, face * face point, element), areas (face * face point, element)   outward unit normals, and what a point's
                                            weight is multiplied by: |J a^k| on the faces k
    Raises MeshError where det dx/dr of a curved cell is not positive at a node."""

    def __init__(self, mesh, cell):
        d, E = mesh.dim, len(mesh.cells)
        self.dim, self.cell = d, cell
        fine = tensor_cell(d, degree(cell), "lobatto")
        X = positions(mesh, fine.nodes).reshape(d, *(len(fine.x),) * d, E)
        slopes = np.stack([along(fine.slopes, X, axis) for axis in range(d)])          # (axis, d, ...): dX_d/dr_axis
        Ja = self.contravariant(X, slopes, fine)
        to_nodes, to_ends = fine.values(cell.x), fine.values([-1.0, 1.0])

        def at_nodes(values):
            return everywhere(to_nodes, values, d).reshape(*values.shape[:-d - 1], -1, E)

        def at_faces(values, axis):
            """(..., end, face point, element)."""
            for other in range(d):
                values = along(to_ends if other == axis else to_nodes, values, other)
            return np.moveaxis(values, values.ndim - 2 - axis, -d - 1)
        self.x, self.gradients = at_nodes(X), at_nodes(Ja)
        tangents = at_nodes(slopes)          # (axis, d, node, element)
        self.jacobian = determinant(np.moveaxis(tangents, (1, 0), (-2, -1)))
        if mesh.geometry_nodes is not None and self.jacobian.min() <= 0:
            bad = np.flatnonzero((self.jacobian <= 0).any(axis=0))
            numbers = bad if mesh.numbers is None else mesh.numbers
            refuse(mesh, lambda k: f"cell {numbers[k]}", bad.tolist(), cell.nodes[self.jacobian[:, bad].argmin(axis=0)])
        faces, places = [], []
        for axis in range(d):
            n = at_faces(Ja[axis], axis).reshape(d, 2, -1, E)
            faces += [-n[:, 0], n[:, 1]]
            x = at_faces(X, axis).reshape(d, 2, -1, E)
            places += [x[:, 0], x[:, 1]]
        vectors, self.face_x = np.concatenate(faces, axis=1), np.concatenate(places, axis=1)
        self.areas = np.linalg.norm(vectors, axis=0)
        self.normals = vectors / self.areas

    def contravariant(self, X, slopes, fine):
        """J a^k (k, d, ...) at the Gauss-Lobatto points."""
        if self.dim == 2:
            (x_r, y_r), (x_s, y_s) = slopes
            return np.stack([np.stack([y_s, -x_s]), np.stack([-y_r, x_r])])
        Ja = np.empty_like(slopes)
        for n in range(3):
            m, l = (n + 1) % 3, (n + 2) % 3
            field = [(X[l] * slopes[axis, m] - X[m] * slopes[axis, l]) / 2 for axis in range(3)]
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                Ja[i, n] = along(fine.slopes, field[j], k) - along(fine.slopes, field[k], j)
        return Ja
