"""Metrics of curved triangles and tetrahedra, and of prisms and pyramids, at points of the reference cell.

J a^k = J grad r_k are the columns of cof(dx/dr), and n dS = sum_k n_k J a^k dS_r on a face of the reference cell with the
normal n_k. All are polynomials in r, of the degree (dim - 1)(g - 1) for maps of degree g; det dx/dr has the degree dim (g - 1).
"""
import numpy as np

from ..mesh.curved import cell_maps
from ..mesh.geometry import area_vectors


def metrics(mesh, r, cells=slice(None)):
    """J a^k (k, dim, point, element) and det dx/dr (point, element) at reference points r (point, dim) of some cells."""
    J = cell_maps.jacobians(mesh, r, cells)
    return np.moveaxis(cell_maps.cofactors(J), (-1, -2), (0, 1)), cell_maps.determinant(J)


def face_metrics(mesh, points, cells=slice(None)):
    """Unit normals (dim, face, point, element) and J_face (face, point, element) at points (face, point, dim) on the faces of
    the reference cell; the integral over a face is that over the reference simplex of one dimension less, times J_face."""
    of_reference = reference_vectors(mesh.cell_shape)
    vectors = np.stack([np.einsum("peik,k->ipe", cell_maps.cofactors(cell_maps.jacobians(mesh, r, cells)), normal)
                        for r, normal in zip(points, of_reference)], axis=1)
    areas = np.linalg.norm(vectors, axis=0)
    return vectors / areas, areas


def reference_vectors(shape):
    """Outward normals of the reference cell's faces, of the length J_face with respect to the biunit simplex or square, (face,
    dim)."""
    return area_vectors(shape.corners, np.arange(len(shape.vertices))[None])[0] / shape.face_measures[:, None]
