"""Components of tensors by which a run has derivatives: those that are 0 in all regions too, and what they may become."""
from copy import copy
from itertools import combinations_with_replacement

import numpy as np

from ...methods.dg.boundary_setup import parameters_on


def with_components(sim, names):
    """The simulation whose law has as parameters also those components off the diagonal of its tensors, of these names such as
    "eps_xy", that are 0 everywhere. A component stands for both entries, xy and yx."""
    law, tensors = sim.law, dict(sim.law.tensors)
    more = {}
    for tensor, each in law.tensors.items():
        axes = [i for i, j in each.names if i == j]
        found = {f"{tensor}_{'xyz'[i]}{'xyz'[j]}": (i, j) for i, j in combinations_with_replacement(axes, 2)}
        missing = {found[name]: name for name in names if name in found and name not in law.parameters}
        if missing:
            tensors[tensor] = each._replace(names=each.names | missing)
            more |= dict.fromkeys(missing.values(), 0.0)
    if not more:
        return sim
    law = copy(law)
    law.tensors, law.parameters = tensors, law.parameters | more
    return sim.replace(law=law)


def check_definite(law, mesh):
    """Raise ValueError where a tensor of a law with components off the diagonal is not positive definite."""
    values = None
    for tensor, each in law.tensors.items():
        if not each.full:
            continue
        values = values or law.parameters | parameters_on(mesh, law)
        matrices = np.tile(np.eye(3), (mesh.cell_count, 1, 1))
        for (i, j), name in each.names.items():
            matrices[:, i, j] = matrices[:, j, i] = values[name]
        least = np.linalg.eigvalsh(matrices)[:, 0]
        if not least.min() > 0:
            cell = int(np.argmin(least))
            entries = ", ".join(f"{name} = {matrices[cell][place]:.6g}" for place, name in each.names.items())
            raise ValueError(f"{tensor} is not allowed; it must be positive definite, but in the element {cell} it has "
                             f"{entries}")
