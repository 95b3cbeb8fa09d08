"""How much memory a run of Hermite's method will take, from counts alone."""
import numpy as np

from .linear import LinearLaw
from .memory import Plan


def hermite_plan(grid, law, method, backend):
    """The `Plan` of a run: state, dual state and the copy from which a failure is traced; interpolants where they are kept."""
    size, v, d = backend.dtype.itemsize, len(law.variables), grid.dim
    nodes, box, full = int(np.prod(grid.nodes)), (method.order + 1) ** d, (2 * method.order + 2) ** d
    state, fields = v * box * nodes * size, v * full * nodes * size
    linear = LinearLaw(law)
    variant = method.chosen(linear, backend)
    keeps_all = variant == "two-kernel"
    entries = 2 * len(linear.functions) * v if linear.varies else 0
    kept = {"state and registers": 3 * state, "coefficients": entries * full * nodes * size,
            "interpolants": fields if keeps_all and backend.kernels == "fused" else 0}
    row = nodes if keeps_all else nodes // grid.nodes[-1]
    work = 4 * v * (full if variant != "collapsed" else 2 * box) * row * size if backend.kernels == "array" else 0
    output = v * (box if method.derivatives else 1) * nodes * size
    device = backend.name == "cupy"
    host, on_device = ({"state and registers": 0}, kept) if device else (kept, {})
    transient = {"set-up": (entries * full * nodes * 8, 0), "initial state": (state * (2 if device else 1), 0),
                 "time step": (0, 0), "steps": (0, work) if device else (work, 0), "report": (state, 0)}
    host, on_device = ({what: int(n) for what, n in part.items() if n} for part in (host, on_device))
    return Plan(host, on_device, {phase: tuple(map(int, row)) for phase, row in transient.items()}, output, v,
                8 * sum(grid.nodes), backend.free_memory())
