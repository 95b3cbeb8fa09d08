"""The map along x that reads each line of a row once: the same as from both neighbours, in groups from either side."""
import numpy as np
import pytest
from numba import njit

from dgarray import Acoustics, Grid, Hermite, backends, wall
from dgarray.backends.cpu.hermite.row_interpolation import copied, row_interpolation
from dgarray.backends.cpu.simd.arithmetic import width as register
from dgarray.reference.hermite import interpolation


@pytest.mark.parametrize("backwards", [False, True])
def test_groups_of_a_row(backwards):
    """Three groups of two registers, from the side on which the list begins; j lies `jump` numbers after j - 1."""
    left, right = interpolation(2)
    width, vectors, n = register("float64"), 2, left.shape[1]
    L, jump = vectors * width, 3 * vectors * width + 5
    q = np.random.default_rng(0).standard_normal(n * jump)
    mapped = row_interpolation(left, np.float64, vectors, backwards)

    @njit
    def run(q, first, edge, edges, target):
        copied(q, edge, jump, edges, 1, n)
        for number in range(3):
            group = 2 - number if backwards else number
            mapped(q, first + group * L, jump, edges, 1, target, group * L, 3 * L)
    edges, target = np.full(n + 2, 7.0), np.zeros(2 * n * 3 * L)
    run(q, 0 if backwards else 1, 3 * L if backwards else 0, edges, target)
    rows = q.reshape(n, jump)
    expected = left @ rows[:, :3 * L] + right @ rows[:, 1:3 * L + 1]
    assert np.allclose(target.reshape(2 * n, 3 * L), expected, rtol=1e-13, atol=1e-13)
    assert edges[0] == edges[-1] == 7.0
    assert (edges[1:-1] == rows[:, 0 if backwards else 3 * L]).all()


@pytest.mark.parametrize("periodic", [True, False])
def test_rows_of_several_groups(periodic):
    """A half-step there and one back: in the first the number beside the outermost group is a node's where there are walls and
    groups are full, and the first node's in a periodic row; in the second what lies beyond the first node."""
    grid, law = Grid((0.0, 0.0), (1.0, 1.0), (64, 3), periodic), Acoustics(2)
    results = []
    for kernels in ("array", "fused"):
        operator = Hermite(2, variant="monolithic").discretise(grid, law, None if periodic else wall,
                                                               backends.get("numpy", kernels))
        shape = operator.shape
        sizes = 0.25 ** np.indices((3, 3)).sum(axis=0).reshape(1, -1, 1)
        q = operator.state(np.random.default_rng(3).standard_normal(shape) * sizes)
        there, back = operator.zeros(), operator.zeros()
        operator.operations.half_step(q, there, 0, 1e-3)
        operator.operations.half_step(there, back, 1, 1e-3)
        results.append(operator.host(back))
        if kernels == "fused":
            layout = operator.operations.layout
            assert layout.edges and 64 % layout.L == 0 and 64 // layout.L > 1
    expected, found = results
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
