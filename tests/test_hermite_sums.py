"""The Taylor series of Hermite's method summed at once: the same as stage after stage, for the variables that have a series."""
import numpy as np
import pytest
from numba import njit

from dgarray import Acoustics, Advection, Grid, Hermite, Maxwell, backends
from dgarray.backends.cpu.hermite.recursion import Recursion, scalar
from dgarray.backends.cpu.hermite.series import Series, chosen
from dgarray.backends.cpu.hermite.sums import sums
from dgarray.backends.cpu.simd.arithmetic import width


def recursion(law, order, **options):
    grid = Grid((0.0,) * law.dim, (1.0, 1.5, 0.8)[:law.dim], (4,) * law.dim, True)
    tables = Hermite(order, **options).discretise(grid, law, None, backends.get("numpy", "array")).tables
    return Recursion(tables), tables.stages


def applied(sums, b):
    """Sums of shifted coefficients of b (variable, x, y, z, lane); what lies beyond is zero."""
    found = {i: np.zeros_like(b[i]) for i in sums}
    for i, terms in sums.items():
        for (shift, m), a in terms.items():
            part = a * b[m][tuple(slice(step, None) for step in shift[:b[m].ndim - 1])]
            found[i][tuple(slice(0, n) for n in part.shape)] += part
    return found


def test_scalars():
    """The curl of the curl applied twice is minus the Laplacian of it; a law whose waves differ in speed has no such scalar."""
    r, _ = recursion(Maxwell(3, eps=2.0), 1)
    found = {shift: a for shift, a in scalar(r.step).items() if abs(a) > 1e-9}
    lengths = np.array([1.0, 1.5, 0.8])
    squares = (1 / 0.25 / (lengths / 4)) ** 2 / 2             # weights, cells, speed squared
    assert sorted(found) == [(0, 0, 2), (0, 2, 0), (2, 0, 0)]
    assert [found[tuple(2 * int(k == axis) for k in range(3))] for axis in range(3)] == pytest.approx(squares)
    for number, change in enumerate((1e-6, -2e-3)):
        step = {i: dict(terms) for i, terms in r.step.items()}
        key = list(step[r.kept[0]])[number]
        step[r.kept[0]][key] *= 1 + change
        assert scalar(step) is None
    assert scalar({0: {((0, 0, 2), 1): 1.0, ((2, 0, 0), 0): 3.0}, 1: {((0, 0, 2), 0): 1.0}}) is None


CASES = [(Acoustics(3), 2, False, {}), (Acoustics(3), 1, False, {"stages": 4}), (Maxwell(3), 1, False, {}),
         (Maxwell(3), 1, True, {}), (Maxwell(3, sigma=0.3), 1, False, {}), (Advection((0.7, -1.0)), 2, False, {}),
         (Acoustics(1), 3, False, {"stages": 1})]


@pytest.mark.parametrize("law, order, by_scalar, options", CASES)
def test_sums_are_those_of_all_stages(law, order, by_scalar, options):
    """Compiled, from random b_0 and b_1 of the variables that have a series; c, and U where derivatives of it are wanted."""
    r, stages = recursion(law, order, **options)
    vectors, tau, n, m, d = 2, 0.03, order + 1, 2 * order + 2, law.dim
    L = vectors * width("float64")
    s = Series(r, stages, True, L, vectors, True, scalar(r.step) if by_scalar else None)
    rng = np.random.default_rng(1)
    names = {"AHEAD": 0, "sums": sums, "real": np.float64, "np": np}
    exec("\n".join([*s.sums.definitions(), "def run(w, c, heads, entries, factors, R, coming):",
                    *(f"    {line}" for line in s.sums.text(s.steps_factors))]), names)

    # Stage after stage; of those by a scalar, b_0 and b_1 are no part of the sums, which go from b_2 and b_3.
    starts = [{i: rng.standard_normal((*(m,) * d, L)) for i in r.kept} for _ in range(r.stride)]
    expected, weighted = ({i: np.zeros((*(m,) * d, L)) for i in r.kept} for _ in range(2))
    w, c = np.zeros(s.size), np.zeros(r.variables * n ** d * L)
    for first, b in enumerate(starts):
        b = {i: part.copy() for i, part in b.items()}
        for stage in range(first, stages + 1, r.stride):
            if stage > first:
                b = {i: r.factor(tau, stage) * part for i, part in applied(r.step, b).items()}
            base = first + 2 * by_scalar
            if stage == base:
                for i in r.kept:
                    put(s, w, first * s.odd + s.slots[i] * s.block, b[i])
            for i in r.kept if stage >= base else ():
                expected[i] += b[i]
                weighted[i] += b[i] / (stage + 1) * (stage < stages)
    njit(names["run"])(w, c, s.sums.heads, s.sums.entries, s.factors(tau), w, 0)
    box = (slice(0, n),) * d
    for i in r.kept:
        found = c.reshape(-1, *(n,) * d, L)[i]
        assert np.allclose(found, expected[i][box].transpose(*range(d)[::-1], d), rtol=1e-12, atol=1e-12)
        U = w[s.U + s.slots[i] * s.box:][:s.box].reshape(*(n + 1,) * d, L) if s.box else None
        for shift in s.reach.get(i, ()):
            wanted = tuple(slice(step, n + step) for step in shift[:d])
            assert np.allclose(U[wanted[::-1]], weighted[i][wanted].transpose(*range(d)[::-1], d), rtol=1e-12, atol=1e-12)


def put(s, w, place, b):
    """Coefficients (x, y, z, lane) where a series has them in w."""
    for j in np.ndindex(b.shape[:-1]):
        at = place + sum(k * size for k, size in zip(j, (s.L, s.row, s.plane)))
        w[at:at + s.L] = b[j]


def test_the_quicker_way_is_taken():
    """At once at low orders and for few variables, in stages at high ones, as in the paper when nothing is left out."""
    def once(law, order, pruned=True):
        return chosen(*recursion(law, order), pruned).sums is not None
    assert once(Acoustics(3), 3) and once(Maxwell(3), 2) and once(Advection((1.0, 0.3, -0.5)), 3)
    assert not once(Acoustics(3), 6) and not once(Acoustics(3), 1, False)


def test_operations_of_several_axes():
    """Counted by hand: 2D, N = 0, two stages.  b_1 has two terms at one place, one at two and none at the last; p is the sum of
    b_0 and b_1 at one place, U at three; each velocity gains a derivative."""
    r, stages = recursion(Acoustics(2), 0)
    assert Series(r, stages, True, at_once=True).operations() == (3 + 1 + 1) + 3 + 3 * 3 + 2 * 2
