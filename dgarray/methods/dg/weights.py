"""The energy weight W of a set of elements, and where the operator of a linear law is its own adjoint.

The scheme conserves sum q . W q / 2 up to what fluxes and media take: W = C J M with the law's capacity C, J = det dx/dr, and
the mass matrix M of the reference cell. For laws whose flux couples two kinds of variables, such as pressure and velocity or E
and H, the operator of dq/dt = A q is symmetric but for their signs P:

    A^T W = W P A P

Then the adjoint of a step is a step, and the kernels of a run are those of its adjoint.
"""
from collections import deque

import numpy as np

from ...physics.capacity import over, times
from ...physics.trace import operands
from ...reference.columns import multiply
from .mass import WeightAdjustedMass, capacities, is_weight_adjusted


def weights_of(tables):
    """W of a set, a `Weights` or `AdjustedWeights`; None where internal variables take part."""
    if tables.variables > tables.physics.moving:
        return None
    return AdjustedWeights(tables) if is_weight_adjusted(tables) and not tables.basis.diagonal else Weights(tables)


class Weights:
    """W of a set where each element has a matrix of its own: of straight elements with one medium each, or of tensor-product
    elements, where it is diagonal.

    tables   of the set"""

    def __init__(self, tables):
        self.tables = tables
        cell, geometry = tables.basis.cell, tables.geometry
        if tables.basis.diagonal:
            jacobian = tables.mesh.measures / 2 ** tables.dim if geometry.affine else geometry.jacobian
            self.jacobian = cell.weights[:, None] * jacobian
            self.mass = self.inverse = None
        else:
            self.jacobian = tables.mesh.measures / tables.mesh.cell_shape.measure
            self.inverse = None if tables.basis.modal else cell.vandermonde @ cell.vandermonde.T
            self.mass = None if tables.basis.modal else np.linalg.inv(self.inverse)
        self.capacity = capacities(tables, tables.media.volume, slice(None))

    def times(self, q):
        """W q of values (variable, row, element) of all elements."""
        found = np.stack(np.broadcast_arrays(*times(self.capacity, self.jacobian * q)))
        return found if self.mass is None else multiply(self.mass, found)

    def over(self, values, cells):
        """W^-1 of values (variable, row, element of `cells`)."""
        values = (values if self.inverse is None else multiply(self.inverse, values)) / self.jacobian[..., cells]
        C = [tuple(each if np.ndim(each) == 0 else each[..., cells] for each in entry) if isinstance(entry, tuple) else
             entry if np.ndim(entry) == 0 else entry[..., cells] for entry in self.capacity]
        return np.stack(np.broadcast_arrays(*over(C, values)))


class AdjustedWeights:
    """W where the mass matrix is weight-adjusted, of curved triangles, tetrahedra, prisms and pyramids, and where media vary
    inside of elements: M p of q, see `dgarray.methods.dg.mass`."""

    def __init__(self, tables):
        self.mass, basis = WeightAdjustedMass(tables), tables.basis
        self.V = np.eye(basis.rows) if basis.modal else basis.cell.vandermonde          # values from modes

    def times(self, q):
        """W q of values (variable, row, element) of all elements."""
        found, to_modes = np.empty(q.shape), np.linalg.inv(self.V)
        for cells in self.mass.blocks:
            found[:, :, cells] = multiply(to_modes.T, np.stack(self.mass.times(multiply(to_modes, q[:, :, cells]), cells)))
        return found

    def over(self, values, cells):
        """W^-1 of values (variable, row, element of `cells`)."""
        return multiply(self.V, np.stack(self.mass.over(multiply(self.V.T, values), cells)))


def signs(law_flux):
    """A sign for each variable, so that the flux of each depends on variables of the other sign alone, (variable,); None where
    there are none, as for one variable that moves by itself.

    law_flux   the pointwise function F(q) . n"""
    graph = law_flux.graph
    reads = []
    for node in graph.nodes:
        own = {node[1]} if node[0] == "input" and node[2] == "q" else set()
        reads.append(own.union(*(reads[i] for i in operands(node))))
    couples = {v: {int(name[1:]) for name in reads[output]} for v, output in enumerate(graph.outputs)}
    for v in list(couples):
        for w in couples[v]:
            couples[w] = couples[w] | {v}
    found = {}
    for first in couples:
        waiting = deque([(first, 1.0)] if first not in found else [])
        while waiting:
            v, sign = waiting.popleft()
            if found.setdefault(v, sign) != sign:
                return None
            waiting.extend((w, -sign) for w in couples[v] if w not in found or found[w] == sign)
    return np.array([found[v] for v in range(len(graph.outputs))])
