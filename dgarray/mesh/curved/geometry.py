"""Measures, faces and quality of curved cells, by quadrature of their maps.

n dS = cof(dx/dr) n_r dS_r, with the cofactors of dx/dr and the normal n_r and area dS_r of the reference cell's face."""
import numpy as np

from ...reference import quadrature
from ...reference.faces import corner_weights
from ...reference.quadrature import product
from .. import geometry
from . import cell_maps


def measures(mesh):
    """Integral of det dx/dr over each cell, (cell,), negative where it is turned over; exact to rounding."""
    shape, order = mesh.cell_shape, cell_maps.map_order(mesh)
    degree = shape.dim * (order - 1) if shape.simplex else shape.dim * order - 1
    r, weights = shape.quadrature(max(degree, 1))
    return np.concatenate([np.sum(cell_maps.determinant(cell_maps.jacobians(mesh, r, some)) * weights[:, None], axis=0)
                           for some in cell_maps.blocks(len(mesh.cells), len(r))])


def faces(mesh):
    """Measure of each face (cell, face), by quadrature, and the integral of its outward normal (cell, face, dim), exact."""
    shape = mesh.cell_shape
    areas, vectors = np.empty((len(mesh.cells), len(shape.faces))), np.empty((len(mesh.cells), len(shape.faces), shape.dim))
    of_reference = geometry.area_vectors(shape.corners, np.arange(len(shape.vertices))[None])[0]
    for face, normal in enumerate(of_reference):
        corners = list(shape.faces[face])
        s, weights = face_quadrature(len(corners), shape.dim - 1, 2 * cell_maps.map_order(mesh) + 4)
        r = s @ shape.corners[corners]
        for some in cell_maps.blocks(len(mesh.cells), len(r)):
            n = np.sum(cell_maps.cofactors(cell_maps.jacobians(mesh, r, some)) * normal, axis=-1) * weights[:, None, None]
            areas[some, face], vectors[some, face] = np.linalg.norm(n, axis=2).sum(axis=0), n.sum(axis=0)
    return areas, vectors


def face_centres(mesh, rows):
    """Images of the centres of the faces `rows` (count, 2: cell, local face), (count, dim)."""
    shape = mesh.cell_shape
    centres = np.array([shape.corners[list(face)].mean(axis=0) for face in shape.faces])
    result = np.empty((len(rows), shape.dim))
    for face in np.unique(rows[:, 1]):
        some = np.flatnonzero(rows[:, 1] == face)
        result[some] = cell_maps.positions(mesh, centres[face:face + 1], rows[some, 0])[:, 0].T
    return result


def children(mesh, places, shape=None):
    """Geometry nodes (cell * child, node, dim) of cells that are split in the reference cell, child after child.

    places: (cell or 1, child, corner, dim) reference coordinates of the children's corners
    shape: of the children, by default that of the cells"""
    shape = shape or mesh.cell_shape
    cell = cell_maps.geometry_cell(shape, cell_maps.map_order(mesh))
    weights = shape.weights(cell.nodes)
    result = np.empty((len(mesh.cells), places.shape[1], len(cell.nodes), shape.dim))
    kinds, kind = np.unique(places.reshape(len(places), -1), axis=0, return_inverse=True)
    kind = np.broadcast_to(kind.ravel(), len(mesh.cells))
    for number, corners in enumerate(kinds.reshape(-1, *places.shape[1:])):
        some = np.flatnonzero(kind == number)
        for child, vertices in enumerate(corners):
            result[some, child] = cell_maps.positions(mesh, weights @ vertices, some).transpose(2, 1, 0)
    return result.reshape(-1, *result.shape[2:])


def face_quadrature(corners, dim, degree):
    """Quadrature on a face of dimension `dim` with so many corners: their weights (point, corner) at the points, in the order
    of `Shape.faces`, and shares (point,) of its area."""
    if dim == 0:
        return np.ones((1, 1)), np.ones(1)
    r, weights = (quadrature if corners == dim + 1 else product)(dim, degree)
    return corner_weights(corners, r), weights / weights.sum()


def quality(mesh):
    """Least quality of the straight cells that dx/dr at a geometry node makes of the reference cell, (cell,): of simplices the
    normalised radius ratio, of others the scaled Jacobian, as `geometry.scaled_jacobians`; 0 where det dx/dr <= 0."""
    shape, found = mesh.cell_shape, []
    r = cell_maps.geometry_cell(shape, cell_maps.map_order(mesh)).nodes
    for some in cell_maps.blocks(len(mesh.cells), len(r)):
        J = cell_maps.jacobians(mesh, r, some)
        valid = cell_maps.determinant(J) > 0
        values = np.zeros(valid.shape)
        values[valid] = quality_of_image(shape, J[valid])
        found.append(values.min(axis=0))
    return np.concatenate(found)


def quality_of_image(shape, J):
    """Quality of each cell that J (n, dim, dim) makes of the reference cell."""
    if shape.tensor:          # all corners are alike
        return cell_maps.determinant(J) / np.prod(np.linalg.norm(J, axis=1), axis=1)
    points = np.einsum("nik,ck->nci", J, shape.corners).reshape(-1, shape.dim)
    cells = np.arange(len(points)).reshape(len(J), -1)
    if not shape.simplex:
        return geometry.scaled_jacobians(points, cells)
    area = np.linalg.norm(geometry.area_vectors(points, cells), axis=2).sum(axis=1)
    return geometry.radius_ratios(points, cells, shape.dim * geometry.signed_measures(points, cells) / area)


def check_points(shape, order):
    """Reference points (point, dim) at which det dx/dr of a valid curved cell is positive, a necessary condition: the geometry
    nodes, those of a map of degree order + 2, and on simplices the points of a quadrature that is exact for det dx/dr."""
    points = [cell_maps.geometry_cell(shape, degree).nodes for degree in (order, order + 2)]
    return np.concatenate([*points, quadrature(shape.dim, max(shape.dim * (order - 1), 1))[0]] if shape.simplex else points)
