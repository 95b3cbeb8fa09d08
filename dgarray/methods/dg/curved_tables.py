"""Curved triangles and tetrahedra: the weak form with metrics at points of quadrature and orthonormal modes phi.

    dc_i/dt = integral of phi_i r dr,  r = (sum_j phi_j b_j / J + s) / C,
    b_j = integral of sum_k (F . J a^k) dphi_j/dr_k dr - sum_faces integral of phi_j F* J_face ds

The quadrature is exact for the metrics, polynomials whose sum of derivatives d(J a^k)/dr_k is 0: a uniform state stays uniform.
M^-1 M_(1/J) M^-1 is the weight-adjusted inverse of the mass matrix M_J, symmetric and positive; M is the identity here.
J stands for its projection onto the polynomials: they see no difference in integrals of J q, of which none is lost then.
Chan, Hewett & Warburton 2017; Chan & Wilcox 2019.
"""
from functools import cached_property

import numpy as np

from ...mesh.errors import MeshError
from ...reference import modal_simplex
from ...spaces.simplex_metrics import face_metrics, metrics
from .joins import CUT, with_joins
from .tables import ModalTables
from .tensor_tables import TensorTables


class CurvedTables(ModalTables):
    """As `ModalTables`, for the curved elements of other tables: metrics at each point.

    base    the tables of the mesh;  their faces to straight elements are those of the boundary `CUT`
    gradients (dim, dim, point, element)   J a^k;  inverse (point, element)   1 / J
    normals (dim, face * face point, element), scale (face * face point, element)   with J_face
    to_modes (mode, row), from_modes (row, mode)   between the unknowns of `base` and modes; None: they are the modes
    joint_lift (mode, face * face node)            integral of phi_i l_j over the faces, for the fluxes at the points of `base`
    """

    collocated = True
    at_sides, positions = TensorTables.at_sides, TensorTables.positions

    def __init__(self, base):
        self.base = base
        mesh = base.mesh.part(base.curved, CUT)
        super().__init__(mesh, base.order, base.law, with_joins(mesh, base.boundary), base.physics.flux, base.physics.source,
                         degree_for(base))
        self.to_modes = None if base.modal else np.linalg.inv(base.cell.vandermonde)
        self.from_modes = None if base.modal else base.cell.vandermonde
        self.joint_lift = base.lift if base.modal else self.to_modes @ base.lift

    @staticmethod
    def numbers(base):
        """How many numbers the metrics of a curved element, and its values at faces, have, before they are made."""
        reference = modal_simplex(base.dim, base.order, degree_for(base))
        d, P, S = base.dim, len(reference.points), reference.face_nodes.size
        return (d * d + 1) * P + (d + 1 + 2 * base.variables) * S + base.lift.shape[1] * base.variables

    @property
    def shapes(self):
        d, P, S, E = self.dim, len(self.points), len(self.trace), self.elements
        return {"gradients": (d, d, P, E), "inverse": (P, E), "normals": (d, S, E), "scale": (S, E)}

    @cached_property
    def _metrics(self):
        return metrics(self.mesh, self.points)

    @cached_property
    def _at_faces(self):
        normals, areas = face_metrics(self.mesh, self.reference.face_points)
        return normals.reshape(self.dim, -1, self.elements), areas.reshape(-1, self.elements)

    gradients = property(lambda self: self._metrics[0])
    normals = property(lambda self: self._at_faces[0])
    scale = property(lambda self: self._at_faces[1])

    @cached_property
    def inverse(self):
        J = self.interpolate @ (self.projection @ self._metrics[1])
        bad = np.flatnonzero((J <= 0).any(axis=0))
        if len(bad):
            raise MeshError(f"{self.mesh.source}: {self.mesh.named_place(bad[0])} is bent too strongly for order={self.order}: "
                            "the projection of det dx/dr is not positive; take a higher order, smaller cells or a map of lower "
                            "degree")
        return 1 / J


def degree_for(base):
    """The degree of the quadrature in curved elements: exact for J a^k times two polynomials, and for the projection of J."""
    d, bend = base.dim, base.mesh.order - 1
    return max(max(2 * base.order, base.degree or 0) + (d - 1) * bend, base.order + d * bend)
