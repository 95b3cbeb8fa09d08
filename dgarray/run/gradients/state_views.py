"""How records and datasets see the states of an operator, as matrices, so that derivatives by what was seen find back."""
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...reference.columns import multiply
from .program_adjoints import sets_of


class View(NamedTuple):
    """A part of the state, as it is seen.

    prefix    of its name in programs;  cells: numbers of its elements, or places of a grid, (element,)
    matrix    from the rows of the state to those that records see;  own: to those of the part's own snapshots"""

    prefix: str
    cells: np.ndarray
    matrix: np.ndarray
    own: np.ndarray


class ViewsOfSets:
    """The views of an operator of discontinuous Galerkin: one of each element set."""

    def __init__(self, operator):
        self.operator, self.sets, self.count = operator, sets_of(operator), operator.mesh.cell_count
        self.views = []
        for prefix, (name, each, cells) in self.sets.items():
            basis = each.tables.basis
            nodal = basis.reference.nodal if basis.modal else np.eye(each.shape[1])
            self.views.append(View(prefix, cells, operator.to_highest[name] @ nodal, nodal))

    def of_snapshot(self, operator, given, number):
        """[(numbers of elements, derivatives (variable, row, element) by their values in a snapshot)], from those by a dataset,
        {zone: {name: (time, element, node)}}; operator: of the run."""
        zones = operator.zones if None not in given else {None: np.arange(operator.mesh.cell_count)}
        return [(cells, np.stack([given[None if zone is None else str(zone)][name][number].T
                                  for name in operator.law.variables])) for zone, cells in zones.items()]

    def initial(self, sim, found):
        """(Derivatives by the initial state, as plain arrays; a dataset of those by its values at the nodes), from
        {prefix: derivatives}."""
        by_state, by_values = {}, {}
        for prefix, (name, each, _) in self.sets.items():
            by_state[name] = by_values[name] = found[prefix]
            if each.tables.basis.modal:          # by the values at the nodes, N of modes
                matrix = np.linalg.pinv(each.tables.basis.reference.nodal)
                by_values[name] = multiply(matrix, multiply(matrix.T, found[prefix]))
        of_state, of_values = (sim.operator.gathered(self.operator.merged(each)) for each in (by_state, by_values))
        return of_state, sim.dataset(of_values).isel(time=0, drop=True)


class ViewOfGrid:
    """The view of an operator on a grid, whose state is one array with one place after the other."""

    def __init__(self, operator):
        self.operator, self.count = operator, operator.space.count
        self.rows = operator.shape[1] if operator.space.order else 1
        every = np.eye(self.rows)
        self.views = [View("", np.arange(self.count), every, every)]

    def of_snapshot(self, operator, given, number):
        """As of `ViewsOfSets`; a dataset has the values {name: (time, z, y, x)}, and may have all scaled derivatives."""
        names, found = self.operator.law.variables, given[None]
        values = np.zeros((len(names), self.rows, self.count))
        for v, name in enumerate(names):
            values[v, 0] = found[name][number].ravel()
            if f"{name}_derivatives" in found:
                values[v] += found[f"{name}_derivatives"][number].reshape(self.rows, -1)
        return [(np.arange(self.count), values)]

    def initial(self, sim, found):
        """As of `ViewsOfSets`, with the derivatives by all scaled derivatives at the nodes, where the state has them."""
        whole = sim.replace(method=replace(sim.method, derivatives=True)) if self.rows > 1 else sim
        arrays = found[""].reshape(self.operator.shape)
        return arrays, whole.dataset(arrays).isel(time=0, drop=True)
