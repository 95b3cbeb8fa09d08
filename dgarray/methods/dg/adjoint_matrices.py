"""The transposes of a set's products with the mass matrix, of which adjoints of fluxes are made.

Of dq/dt = C^-1 (-D F + L f) the state r' = W s, W = C J M, gives the adjoints J D^T M s of the fluxes F and J L^T M s of the
fluxes at faces f.
"""
from functools import cached_property

import numpy as np

from .set_constants import SortedFaces

SAME = 1e-11          # of the largest entry, by which rounding may tell matrices apart


class AdjointMatrices:
    """The matrices of a set whose mass matrix is M times a number for each element, or diagonal.

    mass (row, row), or (row,)       M
    jacobian (row or 1, element)     J
    trace (face, point, row)         values at the points of each face from the unknowns; nodal: None, they are the unknowns
    volume (k * point, row)          -D^T M
    at_faces (face, point, point)    the matrix m of each face for which L^T M is m times `trace` there; (face, point) where it
                                     is diagonal"""

    def __init__(self, tables):
        self.tables, self.basis = tables, tables.basis
        cell, geometry = self.basis.cell, tables.geometry
        if self.basis.diagonal:
            self.mass = cell.weights
            self.jacobian = (tables.mesh.measures / 2 ** tables.dim)[None] if geometry.affine else geometry.jacobian
        else:
            self.mass = np.ones(self.basis.rows) if self.basis.modal else np.linalg.inv(
                cell.vandermonde @ cell.vandermonde.T)
            self.jacobian = (tables.mesh.measures / tables.mesh.cell_shape.measure)[None]

    @property
    def of_fluxes(self):
        """J of the fluxes (1, element): metrics at nodes have it already."""
        return self.jacobian if self.tables.geometry.affine else np.ones((1, self.tables.elements))

    def times_mass(self, matrix):
        """A matrix (.., row) times M."""
        return matrix * self.mass if self.mass.ndim == 1 else matrix @ self.mass

    @cached_property
    def volume(self):
        if self.basis.diagonal:
            minus_D = np.concatenate([self.along(self.basis.cell.weak, k) for k in range(self.tables.dim)], axis=1)
        else:
            minus_D = -np.concatenate(self.basis.differentiation, axis=1)
        return self.times_mass(minus_D.T)

    def along(self, matrix, axis):
        """A matrix applied to the lines of a tensor-product element along an axis, as a matrix of all nodes."""
        n, d = len(self.basis.cell.w), self.tables.dim
        return np.kron(np.kron(np.eye(n ** (d - 1 - axis)), matrix), np.eye(n ** axis))

    @cached_property
    def trace(self):
        if self.basis.trace is None:
            return None
        if not self.basis.diagonal:
            return self.basis.trace[self.basis.face_nodes]
        return np.stack([self.along(self.basis.cell.ends[end:end + 1], k) for k in range(self.tables.dim) for end in (0, 1)])

    @property
    def values_at_faces(self):
        """`trace` of all faces, one after the other (face * point, row); None as there."""
        return None if self.trace is None else self.trace.reshape(-1, self.basis.rows)

    @cached_property
    def lift(self):
        """L^T M, (face, point, row)."""
        if self.basis.diagonal:
            L = [self.along(self.basis.cell.lift[:, end:end + 1], k).T for k in range(self.tables.dim) for end in (0, 1)]
        else:
            L = self.basis.lift.T.reshape(*self.basis.face_nodes.shape, -1)
        return self.times_mass(np.stack(L) if isinstance(L, list) else L)

    @cached_property
    def at_faces(self):
        trace = np.eye(self.basis.rows)[self.basis.face_nodes] if self.trace is None else self.trace
        found = self.lift @ np.linalg.pinv(trace)
        diagonal = np.einsum("fpp->fp", found)
        rest = found - diagonal[:, None] * np.eye(diagonal.shape[1])
        return diagonal.copy() if np.abs(rest).max() <= SAME * np.abs(found).max() else found

    def serve(self):
        """Whether the matrix m of a face exists, and is that of the other side of a face between two elements, too."""
        found, lift = self.at_faces, self.lift
        trace = np.eye(self.basis.rows)[self.basis.face_nodes] if self.trace is None else self.trace
        product = found[..., None] * trace if found.ndim == 2 else found @ trace
        if np.abs(product - lift).max() > SAME * np.abs(lift).max():
            return False
        for faces in SortedFaces(self.tables).found:
            count, kinds = self.basis.face_nodes.shape[1], np.vstack([faces.sides, faces.codes])
            _, first = np.unique(kinds, axis=1, return_index=True)
            for (left, right), slots in zip(faces.sides[:, first].T, faces.slots[1].T[first]):
                order = slots // self.tables.elements - right * count
                other = found[right][order] if found.ndim == 2 else found[right][np.ix_(order, order)]
                if np.abs(other - found[left]).max(initial=0) > SAME * np.abs(other).max(initial=0):
                    return False
        return True
