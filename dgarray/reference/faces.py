"""Polynomials on a face of a reference cell, known by their values at the points that a method has there."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class FacePolynomials:
    """The polynomials on those faces of a cell that have one shape, with an orthonormal basis phi.

    points      (point, dim of the face)   the method's points, in the coordinates of the face
    positions   (face, point)              which of the points of each face of the cell these are; -1 on faces of another shape
    values      (point, mode)              phi_j at the points
    to_modes    (mode, point)              the coefficients of the polynomial with given values at the points
    evaluate    function from points r (point, dim of the face) to phi_j(r), (point, mode)"""

    points: np.ndarray
    positions: np.ndarray
    values: np.ndarray
    to_modes: np.ndarray
    evaluate: Callable

    def at(self, r):
        """The matrix (point of r, point) from values at the points to values at r."""
        return self.evaluate(r) @ self.to_modes

    def projection(self, r, weights):
        """The matrix (point, point of r) from values at the points r of a rule to the L2 projection, at the points."""
        return self.values @ (self.evaluate(r) * weights[:, None]).T


def face_corners(corners, dim):
    """Coordinates (corner, dim) of the corners of a face of dimension `dim`, in the order of `Shape.faces`: of a simplex the
    vertices of the biunit one, of a quadrilateral in tensor order."""
    if corners == dim + 1:
        return np.vstack([np.zeros(dim), np.eye(dim)]) * 2 - 1
    return np.array([(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)])


def corner_weights(corners, r):
    """The functions (point, corner) that are 1 at one corner of a face and 0 at the others, at points r (point, dim): linear on
    simplices, bilinear on quadrilaterals."""
    dim = r.shape[1]
    if corners == dim + 1:
        tail = (r + 1) / 2
        return np.column_stack([1 - tail.sum(axis=1), tail])
    return np.prod((1 + face_corners(corners, dim) * r[:, None]) / 2, axis=2)
