"""Fused CPU kernels of Hermite's method: the same as the reference's arrays, for laws, orders, dtypes, variants, boundaries."""
import importlib
from pathlib import Path

import numpy as np
import pytest
from hermite_problems import CELLS, LENGTHS, advanced, compare, grid

import dgarray as dg
from dgarray import Acoustics, Advection, Hermite, Maxwell, Sponge, backends, pec, wall
from dgarray.backends.cpu.hermite import layout as layouts
from dgarray.backends.cpu.hermite.recursion import Recursion, size
from dgarray.backends.cpu.hermite.series import Series
from dgarray.bench import roofline
from dgarray.bench.flops_hermite import of_the_paper
from dgarray.bench.roofline import cost
from dgarray.stepping import Taylor, step

# Laws, dimensions, orders, dtypes, variants and boundaries in turns: every value of each with several others.
CASES = [
    (1, Advection(1.0), 6, None, "float64", {}),
    (1, Advection(-0.7), 2, None, "float32", {"variant": "monolithic"}),
    (1, Acoustics(1), 4, wall, "float64", {}),
    (1, Maxwell(1), 0, pec, "float32", {"variant": "two-kernel", "pruned": False}),
    (2, Advection((0.6, -1.0)), 5, None, "float32", {}),
    (2, Advection((0.6, -1.0)), 3, None, "float64", {"variant": "two-kernel"}),
    (2, Acoustics(2), 1, wall, "float64", {"pruned": False}),
    (2, Acoustics(2), 2, {"default": wall, "left": Sponge(0.3), "top": Sponge(0.5)}, "float64", {}),
    (2, Maxwell(2), 6, pec, "float64", {}),
    (2, Maxwell(2, polarisation="TE", sigma=0.4), 2, pec, "float64", {}),
    (3, Advection((1.0, 0.3, -0.5)), 3, None, "float64", {}),
    (3, Advection((1.0, 0.3, -0.5)), 1, None, "float32", {"variant": "monolithic"}),
    (3, Advection((1.0, 0.3, -0.5)), 2, None, "float64", {"variant": "two-kernel", "stages": 6}),
    (3, Acoustics(3, density=1.4, sound_speed=0.8), 2, wall, "float32", {}),
    (3, Acoustics(3, density=1.4, sound_speed=0.8), 3, None, "float64", {"stages": 5}),
    (3, Acoustics(3), 1, wall, "float32", {"pruned": False}),
    (3, Maxwell(3, eps=2.0), 1, pec, "float64", {}),
    (3, Maxwell(3), 1, None, "float64", {"pruned": False}),
    (3, Maxwell(3, sigma=0.4), 0, None, "float64", {"variant": "two-kernel"}),
]


@pytest.mark.thorough
@pytest.mark.parametrize("dim, law, order, boundary, dtype, options", CASES,
                         ids=[f"{c[0]}D-{type(c[1]).__name__}-{c[2]}-{c[4]}" for c in CASES])
def test_fused_equals_the_reference(dim, law, order, boundary, dtype, options):
    variant = compare(grid(dim, boundary is None), law, order, boundary, dtype, **options)
    assert variant == options.get("variant", "collapsed" if isinstance(law, Advection) else "monolithic")


SHORT = [(1, Advection(1.0), 6, "float64", {}), (1, Maxwell(1), 0, "float32", {"variant": "two-kernel", "pruned": False}),
         (2, Advection((0.6, -1.0)), 5, "float32", {}), (2, Acoustics(2), 1, "float64", {"pruned": False}),
         (3, Advection((1.0, 0.3, -0.5)), 3, "float64", {}), (3, Maxwell(3, eps=2.0), 1, "float64", {})]


@pytest.mark.thorough
@pytest.mark.parametrize("dim, law, order, dtype, options", SHORT, ids=[f"{c[0]}D-{type(c[1]).__name__}" for c in SHORT])
def test_rows_of_any_length(dim, law, order, dtype, options):
    """Shorter than a register, as long as a group of cells, or a little longer, periodic and not."""
    side = {"Acoustics": wall, "Maxwell": pec, "Advection": Sponge(0.4)}[type(law).__name__]
    for cells in (1, 2, 3, 8, 15, 16, 17, 33) if dim < 3 else (1, 2, 3, 64, 66):
        for periodic in (True, False) if dim < 3 else (cells % 2 == 0,):
            compare(grid(dim, periodic, (cells, 2, 1)), law, order, None if periodic else side, dtype, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["collapsed", "monolithic"])
def test_results_that_go_past_the_caches(variant, monkeypatch):
    monkeypatch.setattr(layouts, "PAST_CACHES", 0)
    compare(grid(2, True, (75, 4)), Advection((0.6, -1.0)), 1, variant=variant)
    compare(grid(2, False, (16, 3)), Advection((0.6, -1.0)), 1, Sponge(0.5), variant=variant)


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("law, order, options", [(Acoustics(2), 1, {"pruned": False}), (Advection((0.6, -1.0)), 5, {})])
def test_what_lies_beyond_rows_is_set_by_the_step_that_reads_it(periodic, law, order, options):
    """Whatever is there, and however the state came about, a step is the same to the last bit."""
    boundary = None if periodic else {"default": wall, "left": Sponge(0.3)} if law == Acoustics(2) else Sponge(0.3)
    backend = backends.get("numpy", "fused", "float32" if order == 5 else "float64")
    operator = Hermite(order, **options).discretise(grid(2, periodic), law, boundary, backend)
    q = np.random.default_rng(3).standard_normal(operator.shape).astype(backend.dtype)
    states, dt = [operator.state(q), operator.zeros()], 0.9 * operator.max_dt(None, 0.0, Taylor)

    def after(count):
        nonlocal states
        for _ in range(count):
            states = step(operator, Taylor, states, None, 0.0, dt)
        return operator.host(states[0])
    first, second = after(1), after(1)
    assert np.isfinite(second).all() and not np.array_equal(first, second)
    for number in (np.nan, 1e30):
        for state in states:
            flat = operator.operations.flat(state).reshape(-1, operator.operations.layout.pitch)
            flat[:, state.shape[-1]:] = number
        copy = operator.zeros()
        copy[...] = operator.state(first)
        states[0][...] = copy          # nodes alone
        assert operator.finite(states[0]) and np.array_equal(after(1), second)
        operator.put(states[0], np.full_like(q, number))
        after(3)
        assert not operator.finite(states[0]) or np.isfinite(number)
        operator.put(states[0], q)
        assert operator.finite(states[0]) and np.array_equal(after(2), second) and operator.finite(states[0])


def test_a_failure_between_walls_is_traced_to_where_it_is():
    """Both kernels name the same step, stage and nodes: what was beyond rows when the state went bad is not taken for one."""
    def failed(kernels):
        sim = dg.Simulation(grid(2, False), Acoustics(2), Hermite(1, pruned=False, force=True), boundary=wall, kernels=kernels,
                            initial=lambda x: (np.cos(np.pi * x[0] / LENGTHS[0]), 0.0, 0.0), dt=30.0)
        with pytest.warns(UserWarning, match="above the largest"), pytest.raises(dg.SolutionError) as error, \
                np.errstate(all="ignore"):
            sim.run(until=30.0 * 400)
        return error.value
    fused, array = failed("fused"), failed("array")
    assert (fused.step, fused.stage, fused.variable, fused.element) == (array.step, array.stage, array.variable, array.element)
    assert str(fused) == str(array)


def test_kernels_can_be_read():
    """The law's formulas with the names of its variables, then loops with their docstrings."""
    sim = dg.Simulation(grid(2, True, (10, 10)), Acoustics(2, sound_speed=0.5), Hermite(1),
                        initial=lambda x: (np.cos(2 * np.pi * x[0]), 0.0, 0.0))
    law, text = sim.operator.kernel_texts().values()
    assert law.splitlines()[1] == "L vx = -10 dp/dx" and "def half_step(" in text and '"""The map along an axis' in text


def test_states_are_what_was_put_in():
    operator = Hermite(1).discretise(grid(3), Acoustics(3), None, backends.get("numpy", "fused"))
    q = np.random.default_rng(0).standard_normal(operator.shape)
    state = operator.state(q)
    assert np.array_equal(operator.host(state), q) and operator.finite(state)
    assert np.array_equal(operator.operations.take(state, [3, 100]), q[:, :, [3, 100]])
    state[2, 1, 0, 3, 4] = np.nan
    assert not operator.finite(state)


def test_any_number_of_threads_gives_the_same_bits():
    mesh, law = grid(2, False, (40, 70)), Acoustics(2)
    initial = np.random.default_rng(0).standard_normal((3, 4, 41 * 71))
    method = Hermite(1, pruned=False)
    one, two = (advanced(method, mesh, law, wall, backends.get("numpy", "fused", "float64", threads), initial)[0]
                for threads in (1, None))
    assert np.array_equal(one, two)


@pytest.mark.thorough
@pytest.mark.parametrize("dim, order", [(1, 3), (2, 2), (3, 1)])
def test_what_the_dual_grid_does_not_use_stays_zero(dim, order):
    operator = Hermite(order).discretise(grid(dim, False), Acoustics(dim), wall, backends.get("numpy", "fused"))
    q = operator.state(np.random.default_rng(0).standard_normal(operator.shape))
    out = operator.zeros()
    operator.stage(q, out, None, None, 0.0, 0.01, Taylor.stages[0])
    for axis in range(2, 2 + dim):
        assert not np.take(out, -1, axis).any()
    assert out[(slice(None), 0, *(slice(0, -1),) * dim)].all()


@pytest.mark.parametrize("cells", [CELLS[0], 16])
@pytest.mark.parametrize("law, order, side, options", [(Acoustics(2), 1, wall, {"pruned": False}),
                                                       (Advection((0.6, -1.0)), 5, Sponge(0.3), {})])
def test_what_the_dual_grid_does_not_use_is_zero_again(cells, law, order, side, options):
    """Images behind the end of a row lie there while it is read."""
    backend = backends.get("numpy", "fused", "float32" if order == 5 else "float64")
    operator = Hermite(order, **options).discretise(grid(2, False, (cells, 5)), law, side, backend)
    q = np.random.default_rng(0).standard_normal(operator.shape).astype(backend.dtype)
    states = [operator.zeros(), operator.zeros()]
    for initial in (np.full_like(q, np.nan), q):
        operator.put(states[0], initial)
        for i, row in enumerate(Taylor.stages):
            operator.stage(states[i], states[1 - i], None, None, 0.0, 0.01, row)
            assert i or not states[1][..., -1].any() and not states[1][:, :, -1].any()
    assert np.isfinite(operator.host(states[0])).all()


def test_two_kinds_of_variables_make_two_stages_at_once():
    tables = {law: Hermite(1).discretise(grid(law.dim), law, None, backends.get("numpy", "array")).tables
              for law in (Acoustics(3), Maxwell(3), Maxwell(3, sigma=0.1), Advection((1.0, 0.3, -0.5)))}
    acoustics, maxwell, lossy, advection = (Recursion(t) for t in tables.values())
    assert (acoustics.stride, acoustics.kept, acoustics.rest) == (2, (0,), (1, 2, 3))
    assert {shift for shift, _ in acoustics.step[0]} == {(2, 0, 0), (0, 2, 0), (0, 0, 2)}
    assert maxwell.stride == 2 and len(maxwell.kept) == 3 and size(maxwell.step) == 12
    assert (lossy.stride, len(lossy.kept)) == (1, 6) and advection.stride == 1


@pytest.mark.parametrize("law, order, stages", [
    (Acoustics(3), 1, None), (Acoustics(3), 2, 7), (Advection((1.0, 0.3, -0.5)), 2, None), (Maxwell(2), 3, 5),
    (Acoustics(1), 4, None), (Maxwell(3, sigma=0.1), 1, 4)])
def test_rows_of_the_series(law, order, stages):
    """Every stage finds just the coefficients that are not zero and that later stages or the nodes need, each once, and in
    ascending order: none takes the place of one that is still needed."""
    tables = Hermite(order, stages=stages).discretise(grid(law.dim), law, None, backends.get("numpy", "array")).tables
    r, m, degree, loses = Recursion(tables), 2 * order + 2, law.dim * (2 * order + 1), len(tables.decay) > 0
    source, whole = (Series(r, tables.stages, pruned) for pruned in (True, False))
    assert source.operations() < whole.operations()
    j = np.indices((m,) * law.dim)                          # z, y, x
    total, excess = j.sum(axis=0).ravel(), np.maximum(j - order, 0).sum(axis=0).ravel()
    places = np.tensordot(np.array([1, source.row, source.plane][:law.dim][::-1]), j, 1).ravel()
    found = {}
    for (part, stage), (begin, end, _) in zip(source.factored, source.stages):
        if part == "step":
            rows = [(place + row * source.row, count + row * more)
                    for _, number, count, more, place, *_ in source.program[begin:end] for row in range(number)]
            found[stage] = [(place + x) % source.odd for place, count in rows for x in range(count)]
    assert sorted(found) == list(range(1 + source.pairs, tables.stages + 1))          # b_1 of two at once comes from the maps
    for stage, some in found.items():
        assert some == sorted(places[(excess <= tables.stages - stage) & (loses | (total <= degree - stage))])


def test_counts_of_operations():
    """Small enough to count by hand: N = 0 in 1D, coefficients 0 and 1 between two nodes, one stage."""
    def of(law, variant, **options):
        tables = Hermite(0, **options).discretise(grid(1), law, None, backends.get("numpy", "array")).tables
        return {o.name: (o.flops, o.bytes) for o in cost(tables, variant=variant)}
    # Map: a sum, a difference, two products.  Series at once: of coefficients 0 and 1 two products and a sum; the weight.
    assert of(Advection(1.0), "two-kernel") == {"interpolation": (4, 24), "evolution": (4, 24)}
    assert of(Advection(1.0), "monolithic") == {"monolithic": (8, 16)}
    # In stages: the first piece of one coefficient, (b_1 = c b_0), the sum, the weight.
    assert of(Advection(1.0), "two-kernel", pruned=False) == {"interpolation": (4, 24), "evolution": (3, 24)}
    assert of(Advection(1.0), "monolithic", pruned=False) == {"monolithic": (7, 16)}
    assert of(Advection(1.0), "collapsed") == {"collapsed": (3, 16)}          # two products and a sum
    # Two maps, two weights; of each variable in stages a product and a sum, at once two products and a sum.
    whole, pruned = (of(Acoustics(1), "monolithic", pruned=p) for p in (False, True))
    assert whole == {"monolithic": (14, 32)} and pruned == {"monolithic": (16, 32)}
    tables = Hermite(1).discretise(grid(1), Acoustics(1), None, backends.get("numpy", "array")).tables
    whole, pruned = (Series(Recursion(tables), tables.stages, p).operations() for p in (False, True))
    # N = 1, coefficients 0 to 3, three stages, of each variable.  Pruned: b_1[0..2], b_2[0, 1], b_3[0] with a product each,
    # and 5 sums.  All: of each stage 0 to 2, as 3 has no derivative, and 6 sums.
    assert pruned == 2 * (6 + 5) and whole == 2 * (9 + 6)
    # At once: p[0] of p[0], v[1], p[2], v[3] and p[1] of p[1], v[2], p[3], all sums but the first.
    once = Series(Recursion(tables), tables.stages, True, at_once=True)
    assert once.operations() == 2 * (2 * 7 - 2)


def test_operations_of_the_papers_algorithm():
    """Dense, with nothing left out: 3D advection at N = 3 and a system by hand; the same whether pruned or not."""
    def of(law, order, **options):
        return Hermite(order, **options).discretise(grid(law.dim), law, None, backends.get("numpy", "array")).tables
    # Matrices of 8 x 8 on 4^2 columns along x, 4 * 8 along y, 8^2 along z; 21 stages, three derivatives and a sum of 8^3 each.
    for options in ({}, {"pruned": False}, {"variant": "two-kernel"}):
        assert of_the_paper(of(Advection((1.0, 0.3, -0.5)), 3, **options)) == (128 * (16 + 32 + 64), 21 * 2 * (3 + 1) * 512)
    # p_t = -u_x - v_y, u_t = -p_x, v_t = -p_y at N = 1: matrices of 4 x 4 on 2 + 4 columns; 6 stages of 4 terms and 3 sums.
    assert of_the_paper(of(Acoustics(2), 1)) == (3 * 32 * (2 + 4), 6 * 2 * (4 + 3) * 16)
    assert of_the_paper(of(Acoustics(2), 1, stages=2))[1] == 2 * 2 * (4 + 3) * 16
    # With a conductivity each of three electric fields has one more term beside two of the curl.
    assert of_the_paper(of(Maxwell(3, sigma=0.4), 0))[1] == 3 * 2 * (12 + 3 + 6) * 8
    lens = Acoustics(2, density=lambda x: 1 + 0.1 * x[0])
    for tables, names in ((of(Advection(1.0), 0, variant="two-kernel"), 2), (of(Advection(1.0), 0), 1), (of(lens, 1), 0)):
        done = cost(tables)
        paper = roofline.of_the_paper(tables, done)
        assert len(paper) == names and sum(o.flops for o in paper) == (sum(of_the_paper(tables)) if names else 0)
        assert [o.bytes for o in paper] == [o.bytes for o in done][:names]


def test_tables_of_the_benchmarks(tmp_path, monkeypatch):
    """docs/make_hermite_benchmarks.py puts what was measured between the page's comments."""
    docs = Path(__file__).parents[1] / "docs"
    monkeypatch.syspath_prepend(str(docs))
    make = importlib.import_module("make_hermite_benchmarks")
    machine = {"processor": "a processor", "threads": 2}
    kernel = {"order": 3, "kernel": "monolithic", "flops": 4e9, "bytes": 1e9, "seconds": 0.1, "bound": 0.05}
    table1 = [{"order": N, "variant": "monolithic", "taken": 3, "best": 2.0 * N, "median": 3.0 * N} for N in (1, 2, 3)]
    results = {"machine": machine, "ceilings": {"multiply_add": 2e11, "bandwidth": 5e10}, "steps": 200, "points": 150,
               "cells": 64, "table1": table1,
               "figure4": [{"order": 1, "stages": 9, "updates": 2e8, "median": 1e8, "flops": 3e10}],
               "figure5": [kernel, kernel | {"law": "Acoustics", "paper flops": 6e9, "paper bound": 0.075},
                           kernel | {"pruned": False}],
               "pruning": [{"order": 3, "variant": "two-kernel", "pruned": 0.07, "not pruned": 0.1, "saved": 0.3,
                            "median": 0.25}]}
    page = make.made(f"before\n{make.BEGIN}old\n{make.END}\nafter", results)
    assert page.startswith("before") and page.endswith("after") and "old" not in page
    assert "| monolithic | 2 (3) | 4 (6) | 6 (9) | 2.09 | 13.77 | 36.17 |" in page and "| 1 | 9: 200 | 30 |" in page
    assert "| 3 | advection | monolithic | 4.0 | 40 | 80 | 50% |  |  |" in page
    assert "| 3 | acoustics | monolithic | 4.0 | 40 | 80 | 50% | 1.5 | 75% |" in page and page.count("monolithic | 4.0") == 2
    assert "| 3 | evolution | 100 | 70 | 30% | 25% |" in page


@pytest.mark.thorough
def test_variants_agree_after_fifty_steps():
    mesh, law, rng = grid(2), Advection((0.6, -1.0)), np.random.default_rng(2)
    initial = rng.standard_normal((1, 4, int(np.prod(mesh.nodes))))
    found = [advanced(Hermite(1, variant=variant), mesh, law, None, backends.get("numpy", "fused"), initial, 50)[0]
             for variant in ("two-kernel", "monolithic", "collapsed")]
    for other in found[1:]:
        assert np.abs(other - found[0]).max() <= 1e-13 * np.abs(initial).max()


def test_costs_are_the_mean_of_both_half_steps():
    """Between walls 2 x 3 x 4 cells are targets one way, 3 x 4 x 5 nodes the other; in a periodic box as many both ways. A
    state has the shape of the grid on both."""
    def of(periodic, **options):
        method, boundary = Hermite(1, **options), None if periodic else wall
        mesh, backend = grid(3, periodic, (2, 3, 4)), backends.get("numpy", "array")
        tables = method.discretise(mesh, Acoustics(3), boundary, backend).tables
        done = cost(tables)
        size = 1 if len(done) > 1 else done[0].bytes
        return size, np.array([o.flops for o in done + roofline.of_the_paper(tables, done)])
    for options in ({}, {"variant": "two-kernel"}):
        (size, inside), (walled_size, walled) = of(True, **options), of(False, **options)
        assert size == pytest.approx(walled_size, rel=0.02)          # besides the signs of images
        assert inside.all() and np.allclose(walled, inside * (24 + 60) / (2 * 60), rtol=0, atol=0.5)
