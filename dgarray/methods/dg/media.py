"""Parameters of a law that are functions of x, at the points of the elements, and the mass matrix that they make.

A function that is constant on every element is one number per element, and costs nothing more. Any other has values at points:
fluxes take them where the fluxes are evaluated, and the capacity C takes them at points of quadrature,

    dq/dt = P (r + s) / C,  r = -div F + L (F.n - F*),

with the projection P onto the polynomials. That is the weight-adjusted inverse M^-1 M_(1/C) M^-1 of the mass matrix M_C:
symmetric and positive, so that the energy of a wave cannot grow. (Dividing by C at the nodes is not symmetric: with the central
flux waves in a smooth medium grow.)  Chan, Hewett & Warburton 2017.
"""
from functools import cached_property

import numpy as np

from ...mesh.curved.cell_maps import positions
from ...mesh.geometry import INWARD
from ...physics.capacity import check_factors
from ...physics.laws.law import argument, check_bounds, check_function
from ...physics.pointwise import Pointwise
from ...physics.trace import call

PIECE = 1 << 18         # values of one block, where a function is only looked at


class Media:
    """The values inside elements of the parameters that vary there. Values of a place are {name: (point, element)}.

    mesh, basis, physics   of the elements, without which nothing grows with the mesh
    names      of the parameters that vary inside of an element, of the whole mesh where `mesh` is a part of it
    volume     values at the points of the volume;  faces: at those of the faces, in nodal DG the same nodes as the volume's
    mass       values at the points where r is divided by the capacity, if that needs them
    points     these points, (point, dim)
    to_points (point, row), back (row, point)   the matrices from the unknowns to these points, and back by projection"""

    def __init__(self, mesh, basis, physics):
        self.mesh, self.basis, self.physics, self.law = mesh, basis, physics, physics.law

    def build(self):
        """Compute the values of all places."""
        for place in ("volume", "faces", "mass"):
            getattr(self, place)

    @cached_property
    def names(self):
        return varying_inside(self.law, self.mesh.whole, self.basis.cell.nodes)

    def at(self, points):
        """The values at reference points (point, dim)."""
        return {name: inside(self.mesh, self.law.parameters[name], points) for name in self.names}

    @cached_property
    def volume(self):
        return self.at(self.basis.points)

    @cached_property
    def faces(self):
        return self.volume if self.basis.trace is None else self.at(self.basis.face_points)

    @cached_property
    def mass(self):
        if not self.weighted:
            return {}
        return self.volume if self.points is self.basis.points else self.at(self.points)

    @cached_property
    def weighted(self):
        """Numbers of the variables whose r is divided by the capacity at points of quadrature: those for which `finish` needs
        values inside of elements."""
        if self.basis.diagonal:
            return ()          # a diagonal mass matrix is divided by C at the nodes
        found = tuple(v for v in range(self.physics.variables) if self.names and any(
            owner == "m" and name in self.names for owner, name in self.finish_of((v,)).used.values()))
        if found:
            check_factors(self.law, "a medium that varies inside of elements")
        return found

    @cached_property
    def others(self):
        """Numbers of the other variables that `finish` changes."""
        graph = self.physics.functions.finish.graph
        return tuple(v for v, result in enumerate(graph.outputs)
                     if v not in self.weighted and graph.nodes[result][:2] != ("input", f"r{v}"))

    def finish_of(self, variables):
        """The function `finish` for some variables alone, see `Physics`."""
        physics = self.physics

        def some(r, q, x, t, m):
            result = physics.finish(r, q, x, t, m)
            return tuple(result[v] for v in variables)
        return Pointwise(some, physics.functions.finish.inputs, "source")

    @cached_property
    def _rule(self):
        basis, cell = self.basis, self.basis.cell
        if basis.interpolate is not None:
            return basis.points, basis.interpolate, basis.projection
        points, weights = basis.shape.quadrature(2 * basis.order)
        return points, cell.interpolation(points), cell.vandermonde @ (cell.evaluate_basis(points) * weights[:, None]).T

    @property
    def points(self):
        return self._rule[0]

    @property
    def to_points(self):
        return self._rule[1]

    @property
    def back(self):
        return self._rule[2]


def varying_inside(law, mesh, nodes):
    """Names of the parameters that vary inside of any element, between its nodes (node, dim).

    Raises ValueError for values that the law does not allow."""
    return tuple(name for name, value in law.parameters.items() if callable(value) and _varies(law, name, value, mesh, nodes))


def _varies(law, name, function, mesh, nodes):
    check_function(law, name, function)
    step, varies = max(1, PIECE // len(nodes)), False
    for first in range(0, len(mesh.cells), step):
        values = inside(mesh, function, nodes, slice(first, first + step))
        low, high = values.min(), values.max()
        check_bounds(law, name, values, f"{argument(law, name)} between {low:.6g} and {high:.6g}")
        varies |= bool((values != values[0]).any())
    return varies or getattr(function, "varies_inside", False)


def inside(mesh, function, points, cells=slice(None)):
    """Values (point, element) of a function of x at reference points (point, dim) of some cells, a hair inside of them."""
    x = tuple(positions(mesh, points + INWARD * (mesh.cell_shape.corners.mean(axis=0) - points), cells))
    return np.array(np.broadcast_to(np.asarray(call(function, dict(x=x), "parameter"), float), x[0].shape))
