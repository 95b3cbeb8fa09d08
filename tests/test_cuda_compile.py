"""The CUDA C of nodal DG compiles for real architectures: no spills, no float64 in float32 code."""
import re
from dataclasses import replace

import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions
from cuda_variants import FAMILIES
from modal_problems import gas
from nodal_problems import SYSTEMS, box_of, operators

import dgarray as dg
from dgarray import backends
from dgarray.backends.cuda.dg.nodal_source import NodalSource
from dgarray.backends.cuda.dg.variant import Shape, candidates, default

# Bytes of spills a thread that are allowed: an address kept in memory beside a stage's work on some kB; more where a condition
# calls exp, sin and the like, over which values are kept.
ADDRESS, CALLS = 8, 48
SHARED = {"sm_80": 163 * 1024, "sm_90": 227 * 1024}          # bytes that a block may have


def source_of(tables, dtype, variant, wide=False):
    return NodalSource(tables, dtype, tables.needs_x).text(Shape.of(tables, np.dtype(dtype)), variant, wide)


def check(text, dtype, arch, threads, spills=CALLS):
    """Compiled, without float64 instructions, with so few bytes of spills (None: any), and registers for so many threads."""
    result = compiled(text, dtype, arch)
    if dtype == "float32":
        assert not float64_instructions(result.ptx, re.search(r"\b(sin|cos|tan)f\(", text))
    for name, usage in result.kernels.items():
        assert spills is None or max(usage.spill_stores, usage.spill_loads) <= spills, f"{name}: {usage}"
        assert usage.registers * (threads if name == "stage" else 128) <= 65536, f"{name}: {usage}, {threads} threads"
    return result


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_law_compiles(system, dtype):
    reference, = operators(system, 3, dtype, ("array",))
    shape = Shape.of(reference.tables, np.dtype(dtype))
    for arch in ARCHITECTURES:
        variant = default(shape, SHARED[arch])
        found = check(source_of(reference.tables, dtype, variant), dtype, arch, shape.threads(variant))
        assert set(found.kernels) == {"stage", "set_clock"}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", range(1, 11))
def test_every_order_compiles(order, dtype):
    reference, = operators("maxwell3", order, dtype, ("array",))
    shape = Shape.of(reference.tables, np.dtype(dtype))
    variant = default(shape, SHARED["sm_90"])
    check(source_of(reference.tables, dtype, variant, wide=True), dtype, "sm_90", shape.threads(variant))


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("law, boundary", [
    (dg.Maxwell(3), dg.pec), (dg.Acoustics(3), dg.wall), (dg.Maxwell(2), dg.absorbing)])
def test_laws_as_they_come(law, boundary, dtype):
    for order in (1, 2, 4, 7, 9):
        tables = dg.NodalDG(order).discretise(box_of(law.dim), law, boundary, backends.get("numpy", "array", dtype)).tables
        shape = Shape.of(tables, np.dtype(dtype))
        variant = default(shape, SHARED["sm_90"])
        check(source_of(tables, dtype, variant), dtype, "sm_90", shape.threads(variant), ADDRESS)


@pytest.mark.parametrize("dtype, arch", [("float64", "sm_80"), ("float32", "sm_90")])
@pytest.mark.parametrize("dim, flux", [(1, dg.hll), (2, dg.hllc), (2, dg.roe), (3, dg.hllc), (3, dg.rusanov)])
def test_a_gas_compiles(dim, flux, dtype, arch):
    (reference, _), _ = gas(dim, 3, dtype, flux, method=dg.NodalDG)
    shape = Shape.of(reference.tables, np.dtype(dtype))
    variant = default(shape, SHARED[arch])
    check(source_of(reference.tables, dtype, variant), dtype, arch, shape.threads(variant))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_variant_compiles(name, arch, dtype):
    reference, = operators("maxwell3", 4, dtype, ("array",))
    shape = Shape.of(reference.tables, np.dtype(dtype))
    variant = replace(default(shape, SHARED[arch]), **FAMILIES[name])
    kernels = check(source_of(reference.tables, dtype, variant), dtype, arch, shape.threads(variant)).kernels
    assert set(kernels) == {"set_clock", *(["operands", "finish_stage"] if name == "library" else ["stage"])}


@pytest.mark.thorough
def test_candidates_compile(dtype="float32"):
    """What the tuner would time at order 4, of candidates that differ in the text every fourth.

    They may spill: whether fewer loads or more warps are worth that is for the tuner's clock."""
    reference, = operators("maxwell3", 4, dtype, ("array",))
    shape = Shape.of(reference.tables, np.dtype(dtype))
    texts = {source_of(reference.tables, dtype, v).partition("\n")[2]: v for v in candidates(shape, SHARED["sm_90"])}
    for text, variant in list(texts.items())[::4]:
        check(text, dtype, "sm_90", shape.threads(variant), None)
