"""Fused kernels of Hermite's method where coefficients vary: the same as the reference's products of series, and exact."""
from math import prod

import numpy as np
import pytest
from hermite_problems import LENGTHS, advanced, compare, grid

import dgarray as dg
from dgarray import Acoustics, Advection, Hermite, Maxwell, Sponge, backends, pec, wall
from dgarray.backends.cpu.hermite.product_series import ProductSeries
from dgarray.bench.flops_hermite import counts, products
from dgarray.bench.roofline import cost


def wave(x):
    """Depends on every coordinate, of the period of `test_hermite_kernels.grid`."""
    return 1 + 0.3 * prod(np.sin(2 * np.pi * a / length + k) for k, (a, length) in enumerate(zip(x, LENGTHS)))


def along(axis):
    return lambda x: 1.4 + 0.3 * np.cos(2 * np.pi * x[axis] / LENGTHS[axis])


class Streams(dg.Law):
    """Two fields that the velocities (f, 0.3, -0.5 f) carry, sources of each in the other: A_k and B vary."""

    variables = "a", "b"

    def __init__(self, dim, speed, rate):
        self.dim, self.speed, self.rate = dim, speed, rate

    def flux(self, q, n, x):
        f = self.speed(x)
        v = f * n[0] + sum(k * a for k, a in zip((0.3, -0.5 * f), n[1:]))
        return v * q[0], v * q[1] + 0.1 * n[0] * q[0]

    def wave_speed(self, q, n, x):
        return 2 * np.abs(n[0]) + sum(np.abs(a) for a in n[1:])

    def source(self, q, x):
        return self.rate(x) * q[1], -0.5 * q[0]


CASES = [
    (1, Acoustics(1, density=along(0), sound_speed=wave), 6, None, "float64", {}),
    (1, Acoustics(1, sound_speed=wave), 0, wall, "float32", {}),
    (1, Advection(lambda x: (along(0)(x),), dim=1), 3, None, "float32", {"variant": "two-kernel"}),
    (1, Maxwell(1, eps=wave, sigma=along(0)), 2, pec, "float64", {"pruned": False}),
    (2, Acoustics(2, sound_speed=wave), 3, None, "float64", {}),
    (2, Acoustics(2, sound_speed=along(1)), 4, Sponge(0.3), "float64", {}),
    (2, Acoustics(2, density=along(0), sound_speed=wave), 1, wall, "float32", {"pruned": False}),
    (2, Maxwell(2, eps=wave, mu=along(1), sigma=wave), 2, None, "float32", {"stages": 4}),
    (2, Streams(2, wave, along(0)), 2, None, "float64", {}),
    (2, Streams(2, along(1), lambda x: x[0] * x[1]), 1, Sponge(0.4), "float64", {"variant": "two-kernel", "pruned": False}),
    (2, Acoustics(2, sound_speed=wave), 6, None, "float32", {}),
    (2, Acoustics(2, density=lambda x: 2.0), 1, wall, "float64", {}),
    (3, Acoustics(3, sound_speed=wave), 2, wall, "float64", {"stages": 7}),
    (3, Acoustics(3, density=along(2)), 1, None, "float64", {}),
    (3, Maxwell(3, eps=wave), 1, pec, "float32", {}),
    (3, Maxwell(3, eps=along(0), mu=along(1), sigma=along(2)), 0, None, "float64", {"variant": "two-kernel"}),
    (3, Streams(3, wave, along(2)), 1, Sponge(0.3), "float64", {}),
    (3, Streams(3, along(0), along(1)), 2, None, "float32", {"stages": 5, "pruned": False}),
]


@pytest.mark.parametrize("dim, law, order, boundary, dtype, options", CASES,
                         ids=[f"{c[0]}D-{type(c[1]).__name__}-{c[2]}-{c[4]}" for c in CASES])
def test_fused_equals_the_reference(dim, law, order, boundary, dtype, options):
    assert compare(grid(dim, boundary is None), law, order, boundary, dtype, **options) == options.get("variant", "monolithic")


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_rows_of_any_length(dim):
    """Shorter than a register, as long, longer; series that depend on all coordinates, and on one in turns."""
    for cells in (1, 2, 7, 8, 9, 17, 35) if dim < 3 else (1, 9, 17):
        for periodic in (True, False) if dim < 3 else (cells != 9,):
            law = Acoustics(dim, density=along(cells % dim), sound_speed=wave)
            compare(grid(dim, periodic, (cells, 3, 2)), law, 1, None if periodic else wall, "float64")


@pytest.mark.thorough
def test_a_coefficient_that_is_zero_or_another_number_in_one_half():
    """At the nodes of the grid the rate is zero with the derivative that N = 0 takes; at the cells' centres it is not."""
    mesh = grid(1, True, (8,))
    law = Streams(1, along(0), lambda x: np.maximum(-np.cos(16 * np.pi * x[0]), 0) ** 3)
    tables = Hermite(0).discretise(mesh, law, None, backends.get("numpy", "array")).tables
    there = [(0, 1) in system.source for system in tables.systems]
    assert there == [True, False]
    compare(mesh, law, 0)
    law = Streams(1, along(0), lambda x: np.where(np.cos(16 * np.pi * x[0]) > 0, 1.0, 2.0))
    tables = Hermite(0).discretise(mesh, law, None, backends.get("numpy", "array")).tables
    assert [system.source[0, 1] for system in tables.systems] == [2.0, 1.0]
    compare(mesh, law, 0)


@pytest.mark.parametrize("velocity", [lambda x: (along(0)(x), 0.5), lambda x: (0.5, along(1)(x))])
def test_the_reference_in_planes(velocity):
    """Array kernels, a plane at a time: where a series depends on one coordinate only, too."""
    mesh, law, initial = grid(2), Advection(velocity, dim=2), np.random.default_rng(0).standard_normal((1, 4, 55))
    one, other = (advanced(Hermite(1, variant=variant), mesh, law, None, backends.get("numpy", "array"), initial)[0]
                  for variant in ("two-kernel", "monolithic"))
    assert np.allclose(one, other, rtol=0, atol=1e-13)


@pytest.mark.thorough
def test_threads_change_nothing():
    mesh, law, found = grid(2, True, (33, 20)), Maxwell(2, eps=wave), []
    for threads in (1, None):
        backend = backends.get("numpy", "fused", threads=threads)
        initial = np.random.default_rng(0).standard_normal((3, 4, 660))
        found.append(advanced(Hermite(1), mesh, law, None, backend, initial)[0])
    assert np.array_equal(*found)


def test_what_does_not_vary_is_not_multiplied():
    """Extents of series, and numbers instead of series where a coefficient does not depend on x."""
    def of(law, **options):
        tables = Hermite(1, **options).discretise(grid(law.dim), law, None, backends.get("numpy", "array")).tables
        moved = cost(tables)[0].bytes - 2 * 8 * tables.variables * tables.rows          # besides the state, per target
        return ProductSeries(tables, tables.method.pruned), moved / 8
    series, coefficients = of(Acoustics(3, sound_speed=along(1)))
    assert series.extents == [(1, 4, 1)] and series.inverse == [0, None, None, None] and series.products == [[]] * 4
    assert coefficients == pytest.approx(4 * 5 / (11 * 5 * 6))
    series, coefficients = of(Advection(lambda x: (wave(x), 0.5), dim=2))
    assert series.extents == [(1, 4, 4)] and series.products == [[(0, 0, 0, 1)]] and len(series.linear[0]) == 1
    assert coefficients == pytest.approx(16)
    series, coefficients = of(Acoustics(2, density=lambda x: 2.0, sound_speed=lambda x: 3.0 + 0 * x[0]))
    assert coefficients == 0 and series.given == [] and sorted(series.numbers) == pytest.approx([-198, -60, -5.5, -5 / 3])
    assert of(Streams(2, along(0), lambda x: 2 + x[1]))[0].extents[-1] == (1, 2, 1)


def test_counts_of_operations():
    """1D acoustics, N = 0, a sound speed c(x): one stage, two coefficients of p and v, interpolants of both."""
    law = Acoustics(1, sound_speed=wave)
    tables = Hermite(0).discretise(grid(1), law, None, backends.get("numpy", "array")).tables
    # Pruned, coefficient 0 alone: p's derivative of v, a product with one coefficient of the series, v's derivative of p; the
    # sum of both with b_0.  All: no derivative of the last coefficient, 3 products of coefficients instead of one.
    assert products(ProductSeries(tables, True)) == 2 + 2 + 2 + 2
    assert products(ProductSeries(tables, False)) == 2 + 6 + 2 + 2
    (name, flops), = counts(tables, "monolithic").items()
    interpolation = flops - products(ProductSeries(tables, True)) - 2
    assert name == "monolithic" and interpolation > 0
    done, = cost(tables)
    assert done.name == "monolithic" and done.bytes == pytest.approx(2 * 2 * 8 + 2 * 8)
    for options in ({"backend": "cupy"}, {"kernels": "array"}):
        arrays, = cost(tables, **options)
        assert arrays.name == "R, w" and arrays.flops > done.flops and arrays.bytes > done.bytes


@pytest.mark.thorough
def test_a_wave_around_a_bend_of_the_coordinates():
    """2D, rho c = 1 and slowness s(x): p = v_x = f(travel time - t) is exact, along x only; order 2N + 1 by fused kernels."""
    def slowness(x):
        return 1 + 0.4 * np.cos(2 * np.pi * x[0])

    def exact(x, t):
        p = np.sin(2 * np.pi * (x[0] + 0.4 / (2 * np.pi) * np.sin(2 * np.pi * x[0]) - t)) + 0 * x[1]
        return p, p, 0 * p
    law = Acoustics(2, density=slowness, sound_speed=lambda x: 1 / slowness(x))
    errors = []
    for n in (16, 32):
        sim = dg.Simulation(dg.Grid((0, 0), (1, 1), (n, 4), True), law, Hermite(2), initial=lambda x: exact(x, 0.0),
                            exact=exact, backend="numpy")
        sim.run(until=0.5)
        assert sim.report["kernels"] == "fused"
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) > 4.5
