"""What the elements of a set give to the derivatives of a linear run by the law's parameters: the functions that read these."""
from functools import cached_property

import numpy as np

from ...methods.dg.adjoint_matrices import AdjointMatrices
from ...methods.dg.element_values import ElementValues, Products
from ...methods.dg.set_constants import SortedFaces
from ...methods.operation import Operation
from ...physics.capacity import times
from ...physics.pointwise import Pointwise
from ...physics.trace import call
from .sampled_functions import Pulled, Sampled, sums_of

PIECE = 256          # elements whose faces are summed together, of which states fit the cache
SAME = 1e-13          # of the largest entry, by which rounding may tell matrices apart


def serves(tables, parameters):
    """Whether `SetDerivatives` has all that reads parameters in a set: not the fluxes of the split form."""
    split = tables.physics.volume_flux is not None and any(
        argument in ("ml", "mr") and name in parameters for argument, name in tables.physics.functions.two_point.used.values())
    return not split and AdjointMatrices(tables).serve()


class SetDerivatives:
    """Those of a set of elements.

    name     of the set in states;  of_set: the `SetOperator`;  cells: numbers of its elements in the mesh
    wanted   which elements of the mesh are asked for"""

    def __init__(self, name, of_set, cells, parameters, P, wanted):
        self.name, self.tables, self.cells, self.wanted = name, of_set.tables, cells, wanted
        self.backend, self.parameters, self.signs = of_set.backend, parameters, P[None, :, None, None]
        self.matrices, around = AdjointMatrices(self.tables), np.zeros(self.tables.elements, bool)
        mesh = self.tables.mesh
        around[:] = wanted[cells] | wanted[cells][mesh.neighbour_cell].any(axis=1)
        self.of_set, self.around = of_set.operations, np.flatnonzero(around)
        some = len(self.around) > 0          # a part of a mesh may have none of those that are asked for
        self.functions = self.listed([*self.pairs(), *self.boundaries(), *self.fluxes(), *self.sources()] if some else [])
        self.capacity = self.listed(self.capacities() if some else [])

    def listed(self, functions):
        """[(what a stage adds to, [(parameter, elements)] of its terms, the `ElementValues` that it reads of s, and of q; None:
        the unknowns)]; bilinear functions of the same values are one."""
        found, together = [], {}
        for sampled, *values in functions:
            owners = {name: each for name, each in sampled.owners.items() if each[2].any()}
            sampled = sampled._replace(owners=owners)
            if owners and sampled.is_bilinear():
                together.setdefault((*values, id(sampled.mass)), []).append(sampled)
            elif owners:
                found.append((Pulled(sampled, len(self.wanted)), None, *values))
        return found + [(*sums_of(some, self.backend), *values) for (*values, _), some in together.items()]

    def operations(self, clock, s, q):
        """The `Operation`s that add what a stage gives but by the capacity."""
        found, known = [], {}

        def values(of, which, state):
            if of is None:
                return state
            if (of, which) not in known:
                known[of, which] = of.array(which)
                found.append(of.operation(state, known[of, which]))
            return known[of, which]
        for sums, owners, of_s, of_q in self.functions:
            given = values(of_s, "s", s), values(of_q, "q", q)
            if owners is None:
                found.append(Operation("pull back", lambda sums=sums, given=given: sums.add(clock.factor[0], *given, clock.t)))
            else:
                found.append(sums.operation(clock.factor, given[0], (1.0, given[1])))
        return found

    def of_capacity(self, number, b, states):
        return [sums.operation(np.full(1, number), b, *states) for sums, *_ in self.capacity if states]

    def found(self, name):
        """The derivatives by a parameter in every element of the mesh."""
        total = np.zeros(len(self.wanted))
        for found, owners, *_ in (*self.functions, *self.capacity):
            if owners is None:
                total += found.found.get(name, 0.0)
                continue
            for sums, (parameter, elements) in zip(found.result(), owners):
                if parameter == name:
                    total += np.bincount(elements, sums, len(total))
        return total

    def values(self, matrix):
        """The `ElementValues` of a matrix, None without one."""
        if matrix is None:
            return None
        tables = self.tables
        return self.backend.operations(ElementValues, Products(matrix, self.around, tables.variables, self.of_set.layout(),
                                                               tables.elements))

    def places(self, values, rows, elements):
        """Where rows of elements are in the arrays of `ElementValues` or, None, in a state, and the step from one variable to
        the next."""
        if values is not None:
            return values.places(rows, elements)
        first, stride, step = self.of_set.layout()
        return first[elements] + step * rows, stride

    # The functions that read parameters, where they are evaluated.

    def owners(self, function, sides):
        """As of `Sampled`; sides: {argument: numbers of elements (place,)}."""
        found = {}
        for name, (argument, which) in function.used.items():
            if argument in sides and which in self.parameters:
                elements = self.cells[sides[argument]]
                found[name] = which, elements, self.wanted[elements].astype(float)
        return found

    def media(self, place, elements, nodes=None):
        """{parameter: values} at some elements: one for each, or at the points of a place of `Media`.

        nodes: numbers of face points, at which they are wanted"""
        tables = self.tables
        inside = getattr(tables.media, place)
        return {name: (inside[name][:, elements] if nodes is None else inside[name].reshape(-1)[nodes])
                if name in tables.media.names else tables.parameters[name][elements] for name in tables.physics.varying}

    def face_positions(self, nodes):
        """x at face points with these numbers, {component: values}; where nothing depends on it none."""
        if not self.tables.needs_x:
            return {}
        points = self.tables.basis.face_points
        x = self.tables.geometry.coordinates(points)
        return dict(enumerate(x.reshape(len(x), -1)[:, nodes]))

    def pairs(self):
        """The numerical flux at faces between two elements."""
        tables, function = self.tables, self.tables.physics.functions.pair
        for faces in SortedFaces(tables).found:
            order = self.sorted(faces.cells[0], faces.sides[0])
            order = order[self.wanted[self.cells[faces.cells[:, order]]].any(axis=0)]
            cells, sides, nodes = (each[..., order] for each in (faces.cells, faces.sides, faces.nodes))
            (normals, left), (_, right) = (tables.geometry.at_sides(sides[i], cells[i], nodes[i]) for i in (0, 1))
            given = {"n": dict(enumerate(normals)), "s": {0: left, 1: right}, "x": self.face_positions(nodes[0])}
            given |= {m: self.media("faces", cells[i], nodes[i]) for i, m in enumerate(("ml", "mr"))}
            yield self.at_sides(function, ("l", "r"), given, self.owners(function, dict(zip(("ml", "mr"), cells))),
                                cells, sides[0], nodes)

    def boundaries(self):
        """Boundary conditions."""
        tables = self.tables
        for group in tables.faces.groups:
            if group.jump is None or not len(group.faces):
                continue
            order = self.sorted(*group.faces.T)
            order = order[self.wanted[self.cells[group.faces[order, 0]]]]
            (cells, sides), nodes = group.faces[order].T, group.nodes[:, order]
            normals, scale = tables.geometry.at_sides(sides, cells, nodes)
            given = {"n": dict(enumerate(normals)), "s": {0: scale}, "x": self.face_positions(nodes),
                     "m": self.media("faces", cells, nodes),
                     "face": {name: values[..., order] for name, values in group.values.items()}}
            owners = self.owners(group.jump, {"m": cells})
            yield self.at_sides(group.jump, ("q",), given, owners, cells[None], sides, nodes[None])

    @cached_property
    def at_faces(self):
        return self.values(self.matrices.values_at_faces)

    def sorted(self, cells, sides):
        """The order of faces by pieces of elements, and in a piece by the kind of their mass."""
        return np.lexsort((cells, self.kinds[sides], cells // PIECE))

    @cached_property
    def kinds(self):
        """For each local face the first one with the same mass, (face,)."""
        masses = self.matrices.at_faces
        least = SAME * np.abs(masses).max()
        return np.array([next(i for i, each in enumerate(masses) if np.abs(each - mass).max() <= least) for mass in masses])

    def at_sides(self, function, states, given, owners, cells, sides, nodes):
        """A function at faces; cells (side, face), sides (face,): of the left one, nodes (side, face point, face)."""
        rows = nodes // self.tables.elements
        at, stride = self.places(self.at_faces, rows, cells[:, None])
        weight = self.signs * self.matrices.of_fluxes[0, cells][:, None, None]
        return Sampled(function, states, given, owners, at, at, stride, stride, weight, self.matrices.at_faces,
                       self.kinds[sides]), self.at_faces, self.at_faces

    def fluxes(self):
        """F(q) . grad r_k, and sources that are projected."""
        tables, physics = self.tables, self.tables.physics
        if physics.volume_flux is not None:
            return
        function, elements, basis = physics.functions.volume, self.own, tables.basis
        volume, at_points = self.values(self.matrices.volume), self.values(basis.interpolate)
        points, kinds = len(basis.points), len(self.matrices.volume) // len(basis.points)
        rows = np.arange(points)[None, :, None]
        at, stride = self.places(volume, np.arange(kinds)[:, None, None] * points + rows, elements)
        of, of_stride = self.places(at_points, rows, elements)
        gradients = tables.geometry.gradients[..., elements]
        given = {"g": dict(enumerate(gradients.reshape(-1, *gradients.shape[2:]))), "m": self.media("volume", elements),
                 "x": self.positions(basis.points)}
        weight = self.signs * self.matrices.of_fluxes[:, elements]
        weight, of = np.broadcast_to(weight, (kinds, *weight.shape[1:])), np.broadcast_to(of, at.shape)
        yield Sampled(function, ("q",), given, self.owners(function, {"m": elements}), at, of, stride, of_stride, weight,
                      np.ones((1, points)), np.zeros(len(elements), int)), volume, at_points

    def sources(self):
        """Sources at the unknowns' own points."""
        physics = self.tables.physics
        if not (physics.sources and physics.collocated):
            return

        def source(q, x, t, m):
            return physics.with_sources((0.0,) * physics.variables, q, x, t, m)
        yield self.at_unknowns(Pointwise(source, physics.state, "source"), "q")

    def capacities(self):
        """C r."""
        law, physics = self.tables.law, self.tables.physics
        if law.capacity is None:
            return

        def capacity(r, m):
            return times(call(law.capacity, dict(m=m), "capacity"), r)
        yield self.at_unknowns(Pointwise(capacity, {"r": physics.variables, "m": physics.parameters}, "capacity"), "r")

    def at_unknowns(self, function, state):
        """A function at the nodes; of modes, where it is the same in all of an element."""
        tables, elements, matrices = self.tables, self.own, self.matrices
        rows = np.arange(tables.rows)[None, :, None]
        at, stride = self.places(None, rows, elements)
        given = {"m": self.media("volume", elements), "x": self.positions(tables.basis.points)}
        weight = self.signs * matrices.jacobian[None, None, :, elements]
        return Sampled(function, (state,), given, self.owners(function, {"m": elements}), at, at, stride, stride, weight,
                       matrices.mass[None], np.zeros(len(elements), int)), None, None

    @property
    def own(self):
        """The elements that are asked for, by their numbers in the set."""
        return np.flatnonzero(self.wanted[self.cells])

    def positions(self, points):
        if not self.tables.needs_x:
            return {}
        return dict(enumerate(self.tables.geometry.coordinates(points)[..., self.own]))
