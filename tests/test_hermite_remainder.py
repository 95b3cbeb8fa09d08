"""The last cells of several rows as one group: the same as row by row, in both halves, at walls and in periodic rows."""
import numpy as np
import pytest
from hermite_problems import compare, grid

from dgarray import Acoustics, Hermite, Maxwell, backends, pec, wall
from dgarray.backends.cpu.hermite.layout import LEAST_ROWS


@pytest.mark.thorough
@pytest.mark.parametrize("law, order, side, dtype", [(Acoustics(3), 2, wall, "float64"),
                                                      (Maxwell(3, sigma=0.4), 1, pec, "float32")])
def test_few_cells_are_left_of_rows(law, order, side, dtype):
    """One or two are left where rows begin at the first node, where they begin before it, and in both halves; of more rows than
    fit into a group, of one row, and of rows whose neighbours are images along y and z."""
    layout = Hermite(order).discretise(grid(3), law, None, backends.get("numpy", "fused", dtype)).operations.layout
    assert layout.remainder and LEAST_ROWS <= layout.L // 2
    for periodic, more, rows, layers in ((False, 0, 5, 2), (True, 1, 7, 3), (True, 2, layout.rows + 2, 1), (False, 1, 1, 2)):
        cells = 2 * layout.L + more, rows, layers
        compare(grid(3, periodic, cells), law, order, None if periodic else side, dtype)


@pytest.mark.thorough
@pytest.mark.parametrize("periodic, more", [(False, 0), (False, 1), (True, 1)])
def test_all_that_is_beside_them_is_as_before(periodic, more):
    """Their results are written, zero behind them where the dual grid has no node; one thread or several give the same bits."""
    def operator_of(cells, threads):
        return Hermite(2).discretise(grid(3, periodic, (cells, 9, 3)), Acoustics(3), None if periodic else wall,
                                     backends.get("numpy", "fused", threads=threads))
    found, cells = [], 2 * operator_of(16, 1).operations.layout.L + more
    for threads in (1, None):
        operator = operator_of(cells, threads)
        q = operator.state(np.random.default_rng(1).standard_normal(operator.shape))
        there, back = operator.zeros(), operator.zeros()
        there[..., -1] = 7.0
        operator.operations.half_step(q, there, 0, 1e-3)
        assert periodic or not there[:, :, :-1, :-1, -1].any() and there[:, 0, :-1, :-1, :-1].all()
        operator.operations.half_step(there, back, 1, 1e-3)
        found.append(operator.host(back))
    assert np.array_equal(*found)
