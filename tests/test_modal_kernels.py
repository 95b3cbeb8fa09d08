"""Fused kernels of modal DG against the reference: every law, boundary, order, dimension and dtype."""
import numpy as np
import pytest
from modal_problems import SURFACES, agree, gas, operators, stage
from nodal_problems import SYSTEMS

import dgarray as dg
from dgarray import backends


@pytest.mark.parametrize("system, order", [(system, order) for number, system in enumerate(SYSTEMS) for order in range(7)
                                           if (number + order) % 7 in (3, 6)])
def test_fused_agrees_with_the_reference(system, order):
    """Every law and order, two orders of each law, the dtypes taking turns; rates of every law."""
    dtype, results = ("float64", "float32")[(order + list(SYSTEMS).index(system)) % 2], []
    for operator in operators(system, order, dtype):
        q, k = (np.random.default_rng(seed).standard_normal(operator.shape) for seed in (0, 1))
        state = operator.state(q)
        results.append(stage(operator, q, k))
        if order == (6 - list(SYSTEMS).index(system)) % 7:
            results[-1] += np.array(operator.operations.rate(state, 0.3, 1.7)),
        assert np.array_equal(operator.host(state), q.astype(dtype))
    for reference, fused in zip(*results):
        agree(fused, reference, order, dtype)


@pytest.mark.thorough
@pytest.mark.parametrize("dim, order, flux, dtype", [
    (1, 3, dg.hllc, "float32"), (2, 1, dg.rusanov, "float64"), (2, 2, dg.roe, "float64"), (2, 2, dg.roe, "float32"),
    (2, 4, dg.hll, "float32"), (3, 2, dg.hllc, "float64"), (3, 2, dg.hllc, "float32")])
def test_gas(dim, order, flux, dtype):
    def method(order):
        return dg.ModalDG(order, surface=SURFACES[(order + (dtype == "float32")) % 2])
    results = []
    for operator, q in gas(dim, order, dtype, flux, method=method):
        out, k = stage(operator, q, 0 * q)
        results.append((out, k, np.array(operator.operations.rate(operator.state(q), 0.0, 1.0))))
        assert operator.operations.all_admissible(operator.state(q), 0.0)
        q[0, 0, 20] = -1.0
        assert not operator.operations.all_admissible(operator.state(q), 0.0)
    for reference, fused in zip(*results):
        agree(fused, reference, order, dtype, 100)


@pytest.mark.thorough
@pytest.mark.parametrize("order", range(7))
@pytest.mark.parametrize("quadrature", [False, True])
def test_rates_of_rough_states(order, quadrature):
    """Where the fastest wave may be at any point of an element; dimensions and dtypes take turns."""
    dim, dtype, results = 1 + (order + quadrature) % 3, ("float64", "float32")[order // 2 % 2], []
    method = (lambda order: dg.NodalDG(max(order, 1), quadrature=2 * order + 3)) if quadrature else dg.ModalDG
    for operator, q in gas(dim, order, dtype, dg.rusanov, method=method):
        q += 0.02 / (order + 1) * np.random.default_rng(order).standard_normal(q.shape)
        results.append(np.array([operator.operations.rate(operator.state(q), 0.0, exponent) for exponent in (1.0, 1.7)]))
    agree(results[1], results[0], order, dtype)


@pytest.mark.parametrize("dim, cells, surface", [(2, (40, 40), "elements"), (2, (40, 40), "edges"), (3, (7, 7, 7), "elements")])
def test_many_pieces_of_tiles(dim, cells, surface):
    """Face values of elements in other pieces are computed again; the result does not depend on who takes which piece."""
    mesh = (dg.rectangle if dim == 2 else dg.box)(cells=cells, periodic=True)
    (reference, q), (fused, _) = gas(dim, 2, "float64", dg.hllc, mesh, lambda order: dg.ModalDG(order, surface=surface))
    assert fused.operations.tiles > 2 * fused.operations.piece
    noise = 0.01 * np.random.default_rng(0).standard_normal(q.shape)
    found, expected = stage(fused, q + noise, q), stage(reference, q + noise, q)
    for a, b in zip(found, expected):
        agree(a, b, 2, "float64")
    assert all(np.array_equal(a, b) for a, b in zip(found, stage(fused, q + noise, q)))


@pytest.mark.parametrize("method", [dg.NodalDG(2), dg.ModalDG(2)])
def test_rates_and_admissible_states_that_are_not_numbers(method):
    law = dg.Euler(2)
    operator = method.discretise(dg.rectangle(cells=(6, 6), periodic=True), law, None, backends.get("numpy", "fused"))
    q = operator.project(lambda x: law.conservative((1.0, 0.1, 0.2, 1.0)))
    assert operator.check(operator.state(q), 0.0).sound and operator.operations.rate(operator.state(q), 0.0, 1.0) > 0
    q[3, :, 30] = np.nan
    assert not operator.check(operator.state(q), 0.0).sound and np.isnan(operator.operations.rate(operator.state(q), 0.0, 1.0))


@pytest.mark.thorough
@pytest.mark.parametrize("dim, cells, dtype, order, variables", [
    (1, 20, "float64", 1, "characteristic"), (2, (10, 5), "float32", 2, "conserved")])
def test_lanes_beyond_the_last_element_do_not_count(dim, cells, dtype, order, variables):
    """They keep the state of the start, which is not admissible between averages that have moved on."""
    law, mesh = dg.Euler(dim), (dg.interval, dg.rectangle)[dim - 1](cells=cells, periodic=True)
    method = dg.ModalDG(order, limiter="vertex", limiter_variables=variables, surface="elements")

    def wave(x):
        return law.conservative((1 + 0.9 * np.sin(2 * np.pi * x[0]), 1.0, *(0.0,) * (dim - 1), 0.1))
    fused, array = (dg.Simulation(mesh, law, method, None, wave, backend="numpy", kernels=kernels, dtype=dtype, threads=1,
                                  stepper="ssp33").run(0.5) for kernels in ("fused", "array"))
    assert len(mesh.cells) % 16 and np.abs(fused.rho[-1] - array.rho[-1]).max() < 1e-9 * np.finfo(dtype).eps / 2.2e-16


@pytest.mark.thorough
def test_sources_beyond_the_last_element_do_not_count():
    """A gas that is cooled where it leaves: without what flows in, it would have no pressure left."""
    law = dg.Euler(1)

    def gas(x):
        return law.conservative((1.0, 3.0, 1.0))

    def sink(x):
        return 0.0, 0.0, -3.0 * np.exp(-((x[0] - 1) / 0.05) ** 2)
    energies = [dg.Simulation(dg.interval(cells=20), law, dg.NodalDG(2), {"left": dg.prescribed(gas), "right": dg.outflow}, gas,
                              source=sink, backend="numpy", kernels=kernels, threads=1).run(2.0).E[-1].values
                for kernels in ("fused", "array")]
    assert np.abs(energies[0] - energies[1]).max() < 1e-10
