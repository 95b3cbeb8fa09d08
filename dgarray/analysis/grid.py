"""Errors and integrals of fields on grids, by the trapezoidal rule over the nodes."""
import numpy as np

from ..pointwise import Pointwise, components
from ..trace import call

PIECE = 1 << 20          # nodes at a time


def grid_error(grid, q, exact, t):
    """L2 norm of q - exact(x, t) for each variable, sqrt(sum w (q - exact)^2), (variable,).

    q (variable, node): values at the nodes of the `dgarray.Grid`"""
    total = np.zeros(len(q))
    for rows, x, weights in parts(grid):
        values = components(call(exact, dict(x=x, t=t), "exact solution"), len(q), "the exact solution")
        here = q.reshape(len(q), *grid.shape)[:, rows]
        total += [np.sum(weights * (u.astype(float) - v) ** 2) for u, v in zip(here, values)]
    return np.sqrt(total)


def grid_totals(tables, q):
    """{variable: integral of C q} and, where the law has one, {"energy": integral of its density}; q (variable, node)."""
    law, grid, numbers = tables.law, tables.grid, tables.linear.numbers
    names = [*law.variables, *(["energy"] if law.energy is not None else [])]
    capacity = Pointwise(law.capacity, {"m": numbers}, "capacity") if law.capacity else None
    energy = Pointwise(law.energy, {"q": len(q), "m": numbers}, "energy") if law.energy else None
    total = np.zeros(len(names))
    for rows, x, weights in parts(grid):
        here = tuple(q.reshape(len(q), *grid.shape)[:, rows].astype(float))
        m = tables.linear.parameters(x)
        factors = capacity(m=m) if capacity else (1.0,) * len(q)
        densities = [c * u for c, u in zip(factors, here)] + ([energy(q=here, m=m)[0]] if energy else [])
        total += [np.sum(weights * density) for density in densities]
    return dict(zip(names, map(float, total)))


def parts(grid):
    """Rows of nodes along the last axis, a part at a time: (slice, coordinates x, y, z, weights of the rule)."""
    rules, row = grid.weights(), int(np.prod(grid.shape[1:]))
    step = max(1, PIECE // row)
    for first in range(0, grid.shape[0], step):
        rows = slice(first, first + step)
        weights = 1.0
        for axis, rule in enumerate(rules):
            rule = rule[rows] if axis == grid.dim - 1 else rule
            weights = weights * rule.reshape(-1, *(1,) * axis)
        yield rows, grid.places(rows), weights
