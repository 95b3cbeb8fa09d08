"""Finite volumes, Hermite's method and a method of one's own on parts of a grid: bit for bit what the whole grid gives."""
from itertools import product

import numpy as np
import pytest
from parts import GridParts, discretising

import dgarray as dg
from dgarray.cases import mhd_blast
from dgarray.mesh.grid_part import row_share
from dgarray.methods.problem import Problem

VARIES = dg.Acoustics(2, sound_speed=lambda x: 1 + 0.2 * np.sin(2 * np.pi * x[1]) * np.cos(x[0]))
HARD, MC = dg.FiniteVolume("muscl"), dg.FiniteVolume("muscl", splitting=None, limiter="mc")
FIRST, WENO = dg.FiniteVolume("first-order"), dg.FiniteVolume("weno")


def grid(dim, periodic=False):
    return dg.Grid((0,) * dim, (1,) * dim, {2: (13, 18), 3: (9, 8, 18)}[dim], periodic)


def gas(dim, ratio=10.0):
    law = dg.Euler(dim)

    def initial(x, t=0.0):
        near, nothing = sum((c - 0.45) ** 2 for c in x) < 0.06, 0 * sum(x)
        return law.conservative((np.where(near, 1.0, 0.3), 0.3 + nothing, *[nothing - 0.2] * (dim - 1),
                                 np.where(near, 0.1 * ratio, 0.1)))
    return initial


def waves(law):
    return lambda x, t=0.0: tuple(np.sin(3 * sum(x) + i) for i in range(len(law.variables)))


def of_gas(method, dim=2, periodic=False, ratio=10.0, **options):
    return grid(dim, periodic), method, dg.Euler(dim), None if periodic else dg.wall, gas(dim, ratio), options


def of_waves(method, law, periodic=False, boundary=dg.wall):
    return grid(law.dim, periodic), method, law, None if periodic else boundary, waves(law), {}


def blast(method, flux):
    """MHD at a low plasma beta: fluxes of first order, and internal energy that cells lend to one another."""
    sim = mhd_blast(cells=16, pressure=1000, field=45)
    return sim.mesh, method, sim.law, None, sim.initial, {"flux": flux}


def damped(q, x, t):
    return tuple(-0.1 * v * (1 + x[1]) for v in q)


SPONGES = {"bottom": dg.Sponge(0.2), "top": dg.Sponge(0.3), "default": dg.wall}
PROBLEMS = {
    "first order": of_gas(FIRST), "first order, periodic, with a source": of_gas(FIRST, periodic=True, source=damped),
    "muscl": of_gas(HARD), "muscl, periodic, with a source": of_gas(HARD, periodic=True, source=damped),
    "muscl 3D": of_gas(HARD, 3), "muscl 3D, not safe": of_gas(dg.FiniteVolume("muscl", safe=False), 3, True, source=damped),
    "unsplit": of_gas(MC), "unsplit 3D": of_gas(MC, 3, True), "weno": of_gas(WENO, periodic=True), "weno, strong": of_gas(
        WENO, ratio=3000.0), "parameters": of_waves(HARD, VARIES, True), "parameters, weno": of_waves(WENO, VARIES),
    "blast": blast(HARD, dg.hlld), "blast, first order": blast(FIRST, dg.hlld), "blast, weno": blast(WENO, dg.rusanov),
    "hermite": of_waves(dg.Hermite(2), dg.Acoustics(2)), "hermite, periodic": of_waves(dg.Hermite(2), dg.Maxwell(2), True),
    "hermite, collapsed": of_waves(dg.Hermite(2), dg.Advection((1.0, 0.5)), True),
    "hermite, parameters": of_waves(dg.Hermite(2), VARIES), "hermite, sponges": of_waves(dg.Hermite(1), VARIES,
                                                                                         boundary=SPONGES),
    "hermite 3D": of_waves(dg.Hermite(1, variant="monolithic"), dg.Acoustics(3), True)}
WARMED = {"blast", "blast, first order"}          # problems in which cells get internal energy of others
BY_KERNELS = {"float64": ("first order, periodic, with a source", "muscl", "muscl 3D", "muscl 3D, not safe", "unsplit",
                          "unsplit 3D", "weno", "parameters", "blast", "hermite", "hermite, parameters", "hermite, sponges",
                          "hermite 3D"),
              "float32": ("unsplit", "blast", "hermite, periodic")}
ON_DEVICES = ("muscl, periodic, with a source", "unsplit", "weno", "parameters", "blast", "hermite, collapsed",
              "hermite, sponges")
RUNS = [*((name, "array", "float64") for name in PROBLEMS), *((name, "strict", "float64") for name in ON_DEVICES),
        *((name, "fused", dtype) for dtype, names in BY_KERNELS.items() for name in names)]


def steps(operator, initial, lengths=None):
    """All that a run sees of a few steps: states, the lengths of steps, values, the report."""
    q = operator.project(initial)
    state, t, found = operator.state(q), 0.0, []
    for number in range(3):
        found.append(0.9 * float(operator.largest_step(state, t)))
        dt = lengths[number] if lengths else found[-1]
        state, check = operator.advance_checked(state, t, dt)
        t += dt
    assert check is None or check.sound
    end = operator.host(state)
    places = np.arange(0, operator.space.count, 7)
    told = {name: value for name, value in operator.report().items() if name != "ranks"}
    return [q, end, operator.nodal(end), operator.take(state, places), operator.fetch(state).result(), np.array(found),
            operator.change(state, operator.state(q)), operator.unknowns, told, len(operator.not_finite(end))]


@pytest.mark.parametrize("name, kernels, dtype", RUNS)
def test_parts_give_the_whole(name, kernels, dtype):
    mesh, method, law, boundary, initial, options = PROBLEMS[name]
    discretise = discretising(method, law, boundary, kernels, dtype, 1, **options)
    problem = Problem(mesh, law, boundary, options.get("flux"), options.get("source"))
    expected = steps(discretise(mesh), initial)
    if name in WARMED:
        assert expected[-2]["warmed_cells"] > 0 and expected[-2]["first_order_faces"] > 0
    for count in (2, 3):
        parts = GridParts(problem, method, discretise, count)
        lengths = expected[5].tolist()
        for found in parts.together(lambda operator, lengths=lengths: steps(operator, initial, lengths)):
            for number, (value, given) in enumerate(zip(found, expected)):
                equal = np.array_equal(value, given) if isinstance(given, np.ndarray) else value == given
                assert equal, (count, number)


def test_rows_are_those_of_the_whole_grid():
    for along, periodic in product((False, True), repeat=2):
        whole = grid(2, (along, periodic))
        shares = [row_share(whole, part, 4, 2) for part in range(4)]
        assert [share.first for share in shares[1:]] == [share.end for share in shares[:-1]]
        assert shares[-1].end == whole.shape[0]
        for share in shares:
            assert np.array_equal(share.rows[share.own], np.arange(share.first, share.end))
            assert share.low == 2 * (periodic or share.part > 0) and share.high == 2 * (periodic or share.part < 3)
    with pytest.raises(ValueError, match="has 19 rows of nodes along its last axis, too few for 10 ranks: this method needs "
                                         "at least 2 on each; at most 9 ranks"):
        row_share(grid(2), 0, 10, 2)
    with pytest.raises(ValueError, match="at least 20 on each; at most 1 ranks"):
        row_share(grid(2), 0, 2, 20)
