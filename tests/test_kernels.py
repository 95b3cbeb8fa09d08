"""Fused kernels against the reference: every law, boundary, order, dimension and dtype."""
import numpy as np
import pytest
from nodal_problems import SYSTEMS, operators, random_state

from dgarray import stepping


@pytest.mark.usually(lambda system, order: order == 1 + list(SYSTEMS).index(system))
@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("system", SYSTEMS)
def test_fused_agrees_with_the_reference(system, order):
    """Every law and order, the dtypes taking turns."""
    dtype, results = ("float64", "float32")[(order // 2 + list(SYSTEMS).index(system)) % 2], []
    for operator in operators(system, order, dtype):
        states = [operator.state(random_state(operator, 0)), operator.zeros()]
        k = operator.state(random_state(operator, 1))
        operator.stage(states[0], states[1], k, states[0], 0.3, 0.01, stepping.LSRK54.stages[2])
        results.append((operator.host(states[1]), operator.host(k)))
    for reference, fused in zip(*results):
        assert fused.shape == reference.shape == operator.shape
        assert np.abs(fused - reference).max() <= 40 * (order + 1) * np.finfo(dtype).eps * np.abs(reference).max()
