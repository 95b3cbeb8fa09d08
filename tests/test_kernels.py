"""Fused kernels against the reference: every law, boundary, order, dimension and dtype."""
import numpy as np
import pytest
from nodal_problems import SYSTEMS, operators, random_state

import dgarray as dg
from dgarray import stepping


@pytest.mark.parametrize("system, order", [(system, order) for number, system in enumerate(SYSTEMS) for order in range(1, 11)
                                           if (number - order) % 5 == 4])
def test_fused_agrees_with_the_reference(system, order):
    """Every law and order, two orders of each law, the dtypes taking turns."""
    dtype, results = ("float64", "float32")[(order // 2 + list(SYSTEMS).index(system)) % 2], []
    for operator in operators(system, order, dtype):
        states = [operator.state(random_state(operator, 0)), operator.zeros()]
        k = operator.state(random_state(operator, 1))
        operator.stage(states[0], states[1], k, states[0], 0.3, 0.01, stepping.LSRK54.stages[2])
        results.append((operator.host(states[1]), operator.host(k)))
    for reference, fused in zip(*results):
        assert fused.shape == reference.shape == operator.shape
        assert np.abs(fused - reference).max() <= 40 * (order + 1) * np.finfo(dtype).eps * np.abs(reference).max()


@pytest.mark.parametrize("method, words", [
    (dg.NodalDG(2), ["# stages", "numerical_flux_p = ", "p+ - p-", "# check of the new state"]),
    (dg.ModalDG(1, limiter="vertex"), ["# limiter: limit", "# flux_p_0 = "])])
def test_kernels_show_their_formulas(method, words, capsys):
    """With the names of the law's variables."""
    sim = dg.Simulation(dg.rectangle(cells=2), dg.Acoustics(2), method, {"left": dg.pressure_release, "default": dg.wall},
                        backend="numpy", kernels="fused")
    dg.explain(sim, kernel=True)
    text = capsys.readouterr().out
    assert all(word in text for word in words), text
    assert "# boundary_flux_p = " in text
    dg.explain(sim.replace(kernels="array"), kernel=True)
    assert "computes by array expressions" in capsys.readouterr().out
    with pytest.raises(ValueError, match="makes no steps; give a Simulation"):
        dg.explain(dg.Acoustics(2), kernel=True)
