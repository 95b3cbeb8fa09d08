"""Grids and random states for the kernels of Hermite's method, and their comparison with the reference."""
import numpy as np

from dgarray import Grid, Hermite, backends
from dgarray.stepping import Taylor, step

LENGTHS = (1.0, 1.5, 0.8)

CELLS = (11, 5, 6)


def grid(dim, periodic=True, cells=CELLS):
    return Grid((0.0,) * dim, LENGTHS[:dim], cells[:dim], periodic)


def advanced(method, mesh, law, boundary, backend, initial, steps=2, cfl=0.9):
    """The state after some steps, and the operator."""
    operator = method.discretise(mesh, law, boundary, backend)
    states = [operator.state(initial.copy()), operator.zeros()]
    dt = cfl * operator.max_dt(None, 0.0, Taylor)
    for i in range(steps):
        states = step(operator, Taylor, states, None, i * dt, dt)
    return operator.host(states[0]), operator


def compare(mesh, law, order, boundary=None, dtype="float64", **options):
    """Both kernels from the same random state; the variant that ran.

    The interpolation's condition, and with it the rounding of either, grows by about 2.6 with every order."""
    reference = {key: value for key, value in options.items() if key == "stages"}
    rng = np.random.default_rng(order)
    shape = (len(law.variables), (order + 1) ** law.dim, int(np.prod(mesh.nodes)))
    # Derivative j is smaller by 4^-j: the last ones of rough data say nothing but rounding.
    sizes = 0.25 ** np.indices((order + 1,) * law.dim).sum(axis=0).reshape(1, -1, 1)
    initial = rng.standard_normal(shape) * sizes
    expected, _ = advanced(Hermite(order, **reference), mesh, law, boundary, backends.get("numpy", "array"), initial)
    found, operator = advanced(Hermite(order, **options), mesh, law, boundary, backends.get("numpy", "fused", dtype), initial)
    assert found.dtype == dtype and np.abs(found).max() > 0
    error = np.abs(found - expected).max() / np.abs(expected).max() / np.finfo(dtype).eps
    assert error < 20 * 2.6 ** order, f"{error:.0f} eps"
    return operator.operations.variant
