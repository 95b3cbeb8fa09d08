"""Several groups of cells side by side: any number of them in a row, whole or not, in both halves, with walls and without."""
import numpy as np
import pytest
from hermite_problems import compare, grid

from dgarray import Acoustics, Advection, Hermite, Maxwell, backends, pec, wall
from dgarray.backends.cpu.hermite import layout as layouts


@pytest.mark.thorough
@pytest.mark.parametrize("law, order, side, dtype, variant", [
    (Acoustics(3), 1, wall, "float64", "monolithic"), (Maxwell(3), 1, pec, "float32", "monolithic"),
    (Maxwell(3, sigma=0.4), 0, pec, "float64", "monolithic"), (Advection((1.0, 0.3, -0.5)), 1, None, "float64", "monolithic"),
    (Acoustics(3), 1, None, "float32", "two-kernel")])
def test_blocks_of_groups(law, order, side, dtype, variant):
    """A row less than a block, a block and less than a group, more than a block with a few cells and with most of a group left;
    more rows than a thread takes together, and one."""
    fused = backends.get("numpy", "fused", dtype)
    layout = Hermite(order, variant=variant).discretise(grid(3, True, (512, 1, 1)), law, None, fused).operations.layout
    L, block = layout.L, layout.L * layout.beside
    assert layout.beside == layouts.BESIDE > 1
    for periodic, cells, rows in ((False, 2 * L, 2), (True, block, layout.rows + 1), (False, block + 1, 1),
                                  (True, block + L + 1, 3), (False, block + 2 * L - 2, 2)):
        if periodic or side:
            compare(grid(3, periodic, (cells, rows, 2)), law, order, None if periodic else side, dtype, variant=variant)


@pytest.mark.thorough
def test_threads_and_caches_change_nothing(monkeypatch):
    """One thread or several, and results through the caches or past them, give the same bits."""
    found = []
    for threads, past in ((1, 0), (None, 0), (None, 1 << 40)):
        monkeypatch.setattr(layouts, "PAST_CACHES", past)
        operator = Hermite(1).discretise(grid(3, False, (83, 9, 3)), Acoustics(3), wall,
                                         backends.get("numpy", "fused", threads=threads))
        q = operator.state(np.random.default_rng(1).standard_normal(operator.shape))
        there, back = operator.zeros(), operator.zeros()
        operator.operations.half_step(q, there, 0, 1e-3)
        operator.operations.half_step(there, back, 1, 1e-3)
        found.append(operator.host(back))
    assert np.isfinite(found[0]).all() and np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
