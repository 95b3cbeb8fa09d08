"""The basis of a set's elements: points and matrices on the reference cell, which know no mesh and no law."""
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...reference import modal_cell, reference_cell, tensor_cell


@dataclass(frozen=True, eq=False, repr=False)
class Basis:
    """Points and matrices on the reference cell.

    shape, order                    the `Shape` of the cells, and the degree of the polynomials
    cell                            the reference cell, such as `dgarray.reference.Simplex`, on whose nodes the output holds
                                    values
    reference                       the reference cell whose face nodes `dgarray.methods.dg.connectivity` numbers
    points (point, dim), face_points (face * face point, dim)   where fluxes are evaluated
    differentiation (dim, row, point), lift (row, face * face point)   from fluxes there to the unknowns, see
                                    `dgarray.reference.Simplex`. Where `physics.sources_inside`, one more matrix behind the
                                    others, - projection, is applied to the sources
    interpolate (point, row), trace (face * face point, row)   from the unknowns to values at the points; None: these are
                                    the unknowns
    projection (row, point)         from values at points of quadrature to the unknowns; None: there are no such points
    modal                           whether the unknowns are coefficients of modes, not values at the nodes of `cell`
    diagonal                        whether the mass matrix is, on quadrilaterals and hexahedra: then matrices are those of a
                                    line, and `trace` stands for the values at the face points, which are computed along lines
    weighted_modes                  of curved pyramids, see `dgarray.reference.PyramidCell`: then `differentiation` and `lift`
                                    give b of `dgarray.methods.dg.curved_geometry`; of others None"""

    shape: Any
    order: int
    cell: Any
    reference: Any
    points: np.ndarray
    face_points: np.ndarray
    differentiation: Any
    lift: np.ndarray
    interpolate: np.ndarray | None = None
    trace: np.ndarray | None = None
    projection: np.ndarray | None = None
    modal: bool = False
    diagonal: bool = False
    weighted_modes: Any = None

    @property
    def rows(self):
        """The number of unknowns of a variable on an element."""
        return len(self.lift) if self.modal else len(self.cell.nodes)

    @property
    def face_nodes(self):
        """Which of the nodes, or rows of `trace`, are those of each face, (face, face node)."""
        return self.reference.face_nodes

    @property
    def kind(self):
        """Of the nodes on quadrilaterals and hexahedra, "gauss" or "lobatto"; else None."""
        return self.cell.kind if self.diagonal else None

    @property
    def weighted_projection(self):
        """The matrix from values at the points to the coefficients of the weighted modes."""
        return np.linalg.solve(self.weighted_modes[1], self.projection)

    def values(self, points):
        """The matrix from the unknowns to values at reference points (point, dim)."""
        return self.reference.basis.evaluate_basis(points) if self.modal else self.cell.interpolation(points)

    def nearest(self, degree=0):
        """Points (point, dim), and the matrix (row, point) from the values of a function there to the polynomial that is
        nearest to it in L2; degree: up to which the quadrature is exact at least, not on quadrilaterals and hexahedra."""
        cell, least = self.cell, 2 * self.order + 4
        if self.diagonal:
            exact, fine = tensor_cell(cell.dim, cell.order), tensor_cell(cell.dim, cell.order + 2)
            to_exact = exact.interpolation(fine.nodes).T * fine.weights / exact.weights[:, None]
            return fine.nodes, exact.interpolation(cell.nodes) @ to_exact
        if self.modal:
            points, weights = self.shape.quadrature(max(least, self.reference.degree))
            return points, (self.reference.basis.evaluate_basis(points) * weights[:, None]).T
        points, weights = self.shape.quadrature(max(least, degree))
        return points, cell.vandermonde @ (cell.evaluate_basis(points) * weights[:, None]).T

    # At joins, see `dgarray.methods.dg.mortars`.

    def points_of(self, sides, corners=None):
        """The points of the local faces `sides`, numbers as in `face_nodes`, (face, point): in the order of the face's points
        or, where the number of corners of these faces is given, in that of `FacePolynomials`."""
        points = self.face_nodes[sides]
        return points if corners is None else np.take_along_axis(points, self.positions_on_faces(sides, corners), axis=1)

    def positions_on_faces(self, sides, corners):
        """Which of the points of each of the local faces `sides` those of `FacePolynomials` are, (face, point)."""
        return self.reference.face_polynomials(corners).positions[sides]


def nodal_basis(shape, order):
    """Values at nodes, where fluxes are evaluated, too."""
    cell = reference_cell(shape, order)
    return Basis(shape, order, cell, cell, cell.nodes, cell.nodes, cell.differentiation, cell.lift)


def modal_basis(shape, order, degree=None, sources=False):
    """Orthonormal modes, see `dgarray.reference.ModalSimplex`: the nodal cell of the output has the degree max(order, 1).

    degree: of the quadrature;  sources: whether `differentiation` takes sources, too"""
    reference = modal_cell(shape, order, degree)
    differentiation = reference.differentiation
    if sources:
        differentiation = np.concatenate([differentiation, -reference.project[None]])
    return Basis(shape, order, reference_cell(shape, max(order, 1)), reference, reference.points,
                 reference.face_points.reshape(-1, shape.dim), differentiation, reference.lift, reference.interpolate,
                 reference.trace, reference.project, modal=True)


def at_nodes(basis):
    """The basis of values u = V c at the nodes of the cell instead of modes c: matrices that act on the unknowns are multiplied
    by V^-1 from the right, matrices that return unknowns by V from the left."""
    V = basis.cell.vandermonde
    interpolate, trace = (np.linalg.solve(V.T, values.T).T for values in (basis.interpolate, basis.trace))
    return replace(basis, differentiation=V @ basis.differentiation, lift=V @ basis.lift, projection=V @ basis.projection,
                   interpolate=interpolate, trace=trace, modal=False)


def in_weighted_modes(basis):
    """The basis with the `weighted_modes` of its cell, if that has them."""
    modes = basis.cell.weighted_modes
    if modes is None:
        return basis
    to_modes = np.linalg.inv(modes[1])
    return replace(basis, differentiation=to_modes @ basis.differentiation, lift=to_modes @ basis.lift, weighted_modes=modes)


def tensor_basis(shape, order, kind):
    """Values at products of Gauss or Gauss-Lobatto nodes, kind "gauss" or "lobatto", see `dgarray.reference.tensor`."""
    cell = tensor_cell(shape.dim, order, kind)
    return Basis(shape, order, cell, cell, cell.nodes, cell.face_points.reshape(-1, shape.dim), [cell.weak] * shape.dim,
                 cell.lift, trace=np.zeros((cell.face_nodes.size, 0)), diagonal=True)
