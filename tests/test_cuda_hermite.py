"""Hermite's kernels of the GPU: against the array text in every variant, whole runs, and what the compilers say of them."""
import copy
from dataclasses import replace

import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions
from dgarray.backends.cuda import CudaBackend, hermite, hermite_variant
from dgarray.backends.cuda.hermite import HermiteCuda
from dgarray.backends.cuda.hermite_source import source
from dgarray.backends.cuda.hermite_variant import KERNELS, HermiteShape, HermiteVariant, default, from_dict, sized
from dgarray.backends.hermite_arrays import HermiteArrays
from dgarray.methods.hermite_tables import HermiteTables
from dgarray.stepping import Taylor

import dgarray as dg
from dgarray import backends

SHARED = {"sm_80": 163 * 1024, "sm_90": 227 * 1024}          # bytes that a block may have
SPILLS = 8                                                   # bytes a thread: an address beside a stage's work
WALLS = {2: (False, True), 3: (True, False, False)}


def grid_of(dim, cells, periodic=True):
    """Cells of different lengths along the axes."""
    return dg.Grid((0.0,) * dim, (1.0, 0.8, 1.3)[:dim], cells, periodic)


# name: (law, grid, boundary), small enough for a thread of the CPU to be one of the device
SYSTEMS = {
    "advection 1D": (dg.Advection(-1.3), grid_of(1, (7,)), None),
    "advection 2D": (dg.Advection((1.0, -0.4)), grid_of(2, (5, 3)), None),
    "advection 3D": (dg.Advection((1.0, -0.4, 0.7)), grid_of(3, (3, 2, 3)), None),
    "acoustics 1D": (dg.Acoustics(1, density=1.3), grid_of(1, (6,), False), {"left": dg.wall, "right": dg.open}),
    "acoustics 2D": (dg.Acoustics(2, sound_speed=0.7), grid_of(2, (5, 4), WALLS[2]),
                     {"left": dg.wall, "right": dg.Sponge(0.4)}),
    "acoustics 3D": (dg.Acoustics(3), grid_of(3, (2, 2, 3), WALLS[3]), {"front": dg.wall, "default": dg.open}),
    "maxwell 1D": (dg.Maxwell(1, sigma=0.8), grid_of(1, (5,), False), dg.pec),
    "maxwell TM": (dg.Maxwell(2, eps=2.0), grid_of(2, (4, 3), False), {"left": dg.pmc, "default": dg.pec}),
    "maxwell TE": (dg.Maxwell(2, "TE", sigma=0.6), grid_of(2, (3, 5), WALLS[2]), dg.pec),
    "maxwell 3D": (dg.Maxwell(3, mu=1.5), grid_of(3, (2, 1, 2), WALLS[3]), {"front": dg.pmc, "default": dg.pec}),
    "lossy 3D": (dg.Maxwell(3, sigma=0.5), grid_of(3, (2, 2, 1)), None),
}
CHOICES = [("monolithic", "registers"), ("two-kernel", "shared"), ("monolithic", "shared"), ("two-kernel", "registers")]


def tables_of(system, order, **options):
    law, grid, boundary = SYSTEMS[system]
    return HermiteTables(dg.Hermite(order, **options), grid, law, boundary)


def arrays(tables, dtype="float64"):
    """The array text, by two operations whatever variant is asked for."""
    operations = HermiteArrays(backends.get("numpy", "array", dtype), tables)
    operations.variant = "two-kernel"
    return operations


def cuda(device, tables, dtype="float64", **changes):
    """The kernels in the default variant with changes; where that is too much for a block, with fewer targets in it."""
    backend = CudaBackend(dtype, device)
    shape = HermiteShape.of(tables, backend.dtype)
    kernel = changes.pop("kernel", None)
    variant = replace(sized(shape, kernel, device.shared_per_block) or HermiteVariant() if kernel
                      else default(shape, device.shared_per_block), **changes)
    while not shape.fits(variant, device.shared_per_block) and variant.lanes > 1:
        variant = replace(variant, lanes=variant.lanes // 2)
    return HermiteCuda(backend, tables, variant)


def magnitudes(tables, q, half, tau):
    """What the array text makes of absolute values: |q'| <= this, of which rounding is a share."""
    tables = copy.copy(tables)
    tables.terms = [(*term, abs(a)) for *term, a in tables.terms]
    tables.decay = [(*term, abs(b)) for *term, b in tables.decay]
    operations = arrays(tables)
    operations.left, operations.right = np.abs(operations.left), np.abs(operations.right)
    operations.neighbours = [[tuple(np.abs(part) if part is not None else None for part in axis) for axis in axes]
                             for axes in operations.neighbours]
    out = operations.zeros()
    operations.half_step(operations.state(np.abs(q)), out, half, tau)
    return operations.host(out)


def state_of(tables, seed=0, dtype="float64"):
    q = np.random.default_rng(seed).standard_normal((tables.variables, tables.rows, tables.elements))
    return q.astype(dtype)


def check_halves(operations, tables, dtype="float64", tau=None, factor=4):
    """Both half-steps from random states are the array text's to rounding, and what lies beyond the dual grid stays zero."""
    reference = arrays(tables, dtype)
    tau = tau or 0.45 * min(h / s for h, s in zip(tables.grid.spacing, tables.speeds) if s)
    for half in (0, 1):
        q, results = state_of(tables, half, dtype), []
        for o in (operations, reference):
            out = o.zeros()
            o.half_step(o.state(q.copy()), out, half, tau)
            results.append(o.host(out))
        found, expected = results
        assert found.dtype == expected.dtype == dtype and np.isfinite(found).all()
        largest = magnitudes(tables, q.astype(float), half, tau).max(axis=(1, 2), keepdims=True)
        worst = (np.abs(found - expected) / largest).max()
        assert worst <= factor * np.finfo(dtype).eps, (half, worst / np.finfo(dtype).eps)
        assert np.abs(expected).max() > 1e-6 * largest.max()


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("system", SYSTEMS)
def test_half_steps_agree_with_the_array_text(device, system, number):
    """Every law, the orders 0 to 6, dtypes and variants taking turns."""
    place = list(SYSTEMS).index(system)
    order, (kernel, keep) = (2 * number + place) % 7, CHOICES[(number + place) % 4]
    dtype = ("float64", "float32")[(number + place // 4) % 2]
    tables = tables_of(system, order)
    check_halves(cuda(device, tables, dtype, kernel=kernel, keep=keep), tables, dtype)
