"""The derivatives of the stages of a linear run by the parameters of the law, (dr/dm)^T W P s of r = dq/dt.

With C r = V q + L f(q) + S q of volume, faces and sources, a stage gives s . W P C^-1 (dV/dm q + L df/dm + dS/dm q) and, as the
capacity C has no derivatives in space, - s . W P C^-1 dC/dm r. The former are `dgarray.methods.dg.bilinear_sums` of s and q. In
the latter r comes by summation by parts from the states between the stages of a step, with the adjoints b of the state after a
stage and p' of the register, see `dgarray.run.gradients.reverse_steps`:

    sum s . r = sum over the stages of b . (q_(i+1) - alpha q0 - beta q_i) - p' . (v q_i + u q0)
"""
from types import SimpleNamespace

import numpy as np

from ...methods.operation import KeptLists, Operation
from .program_adjoints import ProgramAdjoints, sets_of
from .set_derivatives import SetDerivatives


class StageDerivatives:
    """The derivatives by parameters, which stages add to.

    elements   numbers in the whole mesh of those whose parameters are asked for; None: all. A part of the mesh computes those
               of its own elements, also by what its neighbours there compute: from copies of their states"""

    def __init__(self, operator, parameters, P, elements):
        mesh = operator.mesh
        cells, own = (np.arange(mesh.cell_count), True) if mesh.share is None else (mesh.share.cells, mesh.share.own)
        self.operator, wanted = operator, (np.ones(len(cells), bool) if elements is None else np.isin(cells, elements)) & own
        self.sets = {prefix: SetDerivatives(name, each, cells, parameters, P, wanted)
                     for prefix, (name, each, cells) in sets_of(operator).items()}
        self.joins = JoinDerivatives(operator, parameters, self.sets, wanted)
        self.clock, self.lists = SimpleNamespace(factor=np.zeros(1), t=0.0), KeptLists()

    def add(self, factor, s, q, t, *capacity):
        """Add what a stage gives.

        factor, s   whose product is s of the stage;  q: the state that it reads at t
        capacity    (number, b, ((number, state), ..)): number times b . dC/dm of the sum of the states
        Arrays are those that come again: what is done with them is prepared once."""
        self.clock.factor[0], self.clock.t = factor, t
        by_set, split = self.operator.by_set, [(number, b, combined(states)) for number, b, states in capacity]
        arrays = [each for state in (s, q, *(each for _, b, states in split for each in (b, *(q for _, q in states))))
                  for each in by_set(state).values()]

        def make():
            copies = self.operator.operations.copies_operations(s)          # stages have renewed those of q
            operations = [*copies, *self.joins.operations(self.clock, by_set(s), by_set(q))]
            for each in self.sets.values():
                operations += each.operations(self.clock, by_set(s)[each.name], by_set(q)[each.name])
                for number, b, states in split:
                    operations += each.of_capacity(number, by_set(b)[each.name], [
                        (number, by_set(q)[each.name]) for number, q in states])
            return self.operator.backend.prepared(operations)
        self.lists.held((), arrays, make)()

    def by_element(self, name):
        """The derivatives by a parameter in every element, 0 where they are not asked for."""
        return self.joins.found(name) + sum(each.found(name) for each in self.sets.values())


def combined(states):
    """States (number, state) of which those of the same state are one, and none has the number 0."""
    found = {}
    for number, state in states:
        found[id(state)] = found.get(id(state), (0.0, None))[0] + number, state
    return [each for each in found.values() if each[0]]


class JoinDerivatives:
    """Those of fluxes at joins, where mortars give them: by the adjoint of their program."""

    def __init__(self, operator, parameters, sets, wanted):
        self.sets, self.wanted, self.programs = sets, wanted, None
        groups = {prefix: each.tables.faces.at_joins for prefix, each in sets.items()}
        self.faces = {prefix: group.faces for prefix, group in groups.items() if group is not None}
        if any(wanted[sets[prefix].cells[rows[:, 0]]].any() for prefix, rows in self.faces.items()):
            self.programs = ProgramAdjoints(operator, parameters)

    def operations(self, clock, s, q):
        if self.programs is None:
            return []
        return [Operation("fluxes at joins", lambda: self.add(clock.factor[0], s, q, clock.t))]

    def add(self, factor, s, q, t):
        given = {"t": t}
        for prefix, each in self.sets.items():
            of_set = each.of_set
            given[f"{prefix}q"] = np.asarray(of_set.host(q[each.name]), float)
            adjoint = given[f"adjoint of {prefix}flux"] = np.zeros((len(each.signs[0]), each.tables.basis.face_nodes.size,
                                                                     each.tables.elements))
            by_face = adjoint.reshape(len(adjoint), len(each.tables.basis.face_nodes), -1, adjoint.shape[-1])
            for face in range(by_face.shape[1]):
                cells = self.faces[prefix][self.faces[prefix][:, 1] == face, 0] if prefix in self.faces else []
                if len(cells):
                    values = of_set.gather(s[each.name], of_set.places_of(cells)) * each.signs[0]
                    by_face[:, face, :, cells] = (factor * each.matrices.lift[face] @ (
                        values * each.matrices.of_fluxes[:, cells])).transpose(2, 0, 1)
        self.programs.run(given, "join_fluxes", inputs=())

    def found(self, name):
        return 0.0 if self.programs is None else self.programs.found[name] * self.wanted
