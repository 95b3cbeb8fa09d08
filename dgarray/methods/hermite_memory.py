"""How much memory a run of Hermite's method will take, from counts alone."""
from types import SimpleNamespace

import numpy as np

from ..backends.cpu.hermite_recursion import Recursion
from ..backends.cpu.hermite_source import row_pitch, vectors_of_series
from ..backends.cpu.lanes import width
from .linear import LinearLaw
from .memory import Plan

STRETCH = 1 << 29          # bytes of interpolants at a time on a device, at most


def hermite_plan(grid, law, method, backend):
    """The `Plan` of a run: state, dual state and the copy from which a failure is traced; interpolants where they are kept."""
    size, v, d = backend.dtype.itemsize, len(law.variables), grid.dim
    nodes, box, full = int(np.prod(grid.nodes)), (method.order + 1) ** d, (2 * method.order + 2) ** d
    state = given = v * box * nodes * size
    linear = LinearLaw(law)
    variant, kernels, device = method.chosen(linear, backend), method.kernels(backend, law), backend.name == "cupy"
    varies = linear.series()
    series = full * np.where(varies, grid.nodes, 1).prod(axis=1).sum()          # numbers in those of one half
    if kernels == "fused" and not device:          # rows of the state are filled up
        state = state // grid.nodes[0] * row_pitch(grid.nodes[0], backend.dtype)
    moved = series * (device or size < 8)
    if kernels == "fused" and len(varies):          # in lanes
        lanes = width(backend.dtype)
        places = -(-grid.nodes[0] // lanes) * lanes, *grid.nodes[1:]
        moved = full * np.where(varies, places, [lanes] + [1] * (d - 1)).prod(axis=1).sum()
    kept = {"state and registers": 3 * state, "coefficients": 2 * moved * size}
    plane = nodes // grid.nodes[-1]
    if variant == "two-kernel" and kernels == "fused":          # on a device in stretches of planes
        one = v * full * size
        kept["interpolants"] = (max(one * plane, min(one * nodes, STRETCH)) if device else
                                one * nodes // grid.nodes[0] * filled(grid, law, method, linear, backend.dtype))
    at_once = nodes if variant == "two-kernel" and not device else plane
    work = 4 * v * (full if variant != "collapsed" else 2 * box) * at_once * size if kernels == "array" else 0
    if device and kernels == "array":
        work = max(work, 4 * min(v * full * nodes * size, STRETCH))
    output = v * (box if method.derivatives else 1) * nodes * size
    host, on_device = ({}, kept) if device else (kept, {})
    host["coefficients"] = host.get("coefficients", 0) + 2 * series * 8
    steps = (0, work) if device else (work, 0)
    transient = {"set-up": (2 * series * 8, 0), "initial state": (given * (2 if device else 1) + steps[0], steps[1]),
                 "time step": (0, 0), "steps": steps, "report": (output, 0)}
    host, on_device = ({what: int(n) for what, n in part.items() if n} for part in (host, on_device))
    return Plan(host, on_device, {phase: tuple(map(int, row)) for phase, row in transient.items()}, output, v,
                8 * sum(grid.nodes), backend.free_memory())


def filled(grid, law, method, linear, dtype):
    """Places that the kernels of the CPU have for the cells of a row, whole groups of lanes."""
    if linear.varies:
        return -(-grid.nodes[0] // width(dtype)) * width(dtype)
    terms, decay = linear.system((0.0,) * grid.dim, grid.spacing, 0).terms()
    given = SimpleNamespace(dim=grid.dim, variables=len(law.variables), order=method.order, terms=terms, decay=decay)
    lanes = vectors_of_series(Recursion(given)) * width(dtype)
    return -(-grid.nodes[0] // lanes) * lanes
