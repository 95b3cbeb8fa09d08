"""The GPU's nodal kernels: against the reference in every variant, and whole runs, on the CPU's emulation or a GPU."""
from dataclasses import replace

import numpy as np
import pytest
from cuda_variants import FAMILIES
from modal_problems import gas
from nodal_problems import SYSTEMS, box_of, operators, random_state

import dgarray as dg
from dgarray import backends, stepping
from dgarray.backends.cuda import CudaBackend
from dgarray.backends.cuda.dg.layout import Layout
from dgarray.backends.cuda.dg.nodal import NodalCuda
from dgarray.backends.cuda.dg.variant import Shape, Variant, candidates, default, from_dict

QUICK = [name for name in FAMILIES if "once" not in name]          # Python takes seconds


def cuda_operations(device, tables, dtype, **changes):
    """The operations in the default variant with changes; where it needs too much of a block, with fewer elements in it."""
    backend = CudaBackend(dtype, device)
    shape = Shape.of(tables, backend.dtype)
    variant = replace(default(shape, device.shared_per_block), **changes)
    while not shape.fits(variant, device.shared_per_block) and variant.lanes > 1:
        variant = replace(variant, lanes=variant.lanes // 2)
    if not shape.fits(variant, device.shared_per_block):
        variant = replace(variant, matrix="global")
    return NodalCuda(backend, tables, variant)


def stage_of(operations, seeds, shape, row=stepping.LSRK54.stages[2]):
    """State and register after one stage from random ones, on the host."""
    q, k, out = *(operations.state(np.random.default_rng(seed).standard_normal(shape)) for seed in seeds), operations.zeros()
    operations.stage(q, out, k, q, 0.3, 0.01, row)
    return operations.host(out), operations.host(k)


def agrees(found, reference, order, dtype):
    assert found.shape == reference.shape and found.dtype == reference.dtype == dtype
    assert np.isfinite(found).all()
    assert np.abs(found - reference).max() <= 40 * (order + 1) * np.finfo(dtype).eps * np.abs(reference).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("system", SYSTEMS)
def test_stage_agrees_with_the_reference(device, system, order, dtype):
    """Every law, order and dtype, the variants taking turns."""
    reference, = operators(system, order, dtype, ("array",))
    name = QUICK[(order + 5 * (dtype == "float32") + list(SYSTEMS).index(system)) % len(QUICK)]
    operations = cuda_operations(device, reference.tables, dtype, **FAMILIES[name])
    for found, expected in zip(*(stage_of(o, (0, 1), reference.shape) for o in (operations, reference.operations))):
        agrees(found, expected, order, dtype)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("system, order", [("maxwell3", 2), ("acoustics2", 3), ("advection1", 4)])
def test_every_variant_agrees_with_the_reference(device, name, system, order):
    reference, = operators(system, order, "float64", ("array",))
    operations = cuda_operations(device, reference.tables, "float64", **FAMILIES[name])
    for row in (stepping.RK4.stages[0], stepping.SSP33.stages[1]):
        for found, expected in zip(*(stage_of(o, (2, 3), reference.shape, row) for o in (operations, reference.operations))):
            agrees(found, expected, order, "float64")
    q = random_state(reference, 4)
    agrees(operations.host(operations.rhs(operations.state(q), 0.7)), reference.operations.rhs(q, 0.7), order, "float64")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dim, order, flux, name", [
    (1, 4, dg.hll, "default"), (2, 3, dg.hllc, "pairs in blocks"), (2, 2, dg.roe, "library"), (3, 2, dg.rusanov, "registers"),
    (3, 1, dg.hllc, "each face once")])
def test_a_gas_agrees_with_the_reference(device, dim, order, flux, name, dtype):
    (reference, q), _ = gas(dim, order, dtype, flux, method=dg.NodalDG)
    operations = cuda_operations(device, reference.tables, dtype, **FAMILIES[name])
    found, expected = (o.host(o.rhs(o.state(q), 0.2)) for o in (operations, reference.operations))
    agrees(found, expected, 3 * order, dtype)


@pytest.mark.parametrize("stepper", ["lsrk54", "rk4", "ssp33", "ssp54"])
@pytest.mark.parametrize("name", ["default", "library", "each face once"])
def test_steps_as_graphs_are_the_steps(device, stepper, name):
    """Whole steps, captured and launched again with other times and lengths, are bitwise the stages one by one."""
    reference, = operators("maxwellTM", 2, "float64", ("array",))
    operations = cuda_operations(device, reference.tables, "float64", **FAMILIES[name])
    table, q = stepping.STEPPERS[stepper], random_state(reference, 0)
    arrays, with_k = stepping.registers(table)
    results = []
    for whole in (True, False):
        states = [operations.state(q), *(operations.zeros() for _ in range(arrays - 1))]
        k = operations.zeros() if with_k else None
        for t, dt in ((0.0, 0.01), (0.01, 0.01), (0.02, 0.01), (0.03, 0.005), (0.035, 0.01)):
            if whole:
                states = operations.step(table, states, k, t, dt)[0]
            else:
                *_, last = stepping.stages(operations, table, states, k, t, dt)
                states = [last] + [s for s in states if s is not last]
        results.append(operations.host(states[0]))
    assert np.array_equal(*results)
    states, k = [reference.operations.state(q), *(reference.operations.zeros() for _ in range(arrays - 1))], None
    k = reference.operations.zeros() if with_k else None
    for t, dt in ((0.0, 0.01), (0.01, 0.01), (0.02, 0.01), (0.03, 0.005), (0.035, 0.01)):
        states = stepping.step(reference.operations, table, states, k, t, dt)
    agrees(results[0], states[0], 20, "float64")


@pytest.mark.parametrize("width", [0, 32])
def test_state_goes_to_the_device_and_back(device, width):
    operator, = operators("acoustics2", 2, "float32", ("array",))
    operations = cuda_operations(device, operator.tables, "float32", width=width)
    q = random_state(operator, 0).astype("float32")
    state = operations.state(q)
    assert np.array_equal(operations.host(state), q)
    assert np.array_equal(operations.take(state, [3, 0, 41]), q[:, :, [3, 0, 41]])
    arriving = operations.fetch(state)
    state[...] = operations.zeros()
    while not arriving.ready():
        pass
    assert np.array_equal(arriving.result(), q)


def test_wave_speeds_and_finite_values_are_the_reference_s(device):
    operator, = operators("advection2", 3, "float64", ("array",))
    operations, q = cuda_operations(device, operator.tables, "float64"), random_state(operator, 0)
    assert operations.rate(operations.state(q), 0.2, 3.0) == pytest.approx(operator.operations.rate(q, 0.2, 3.0), rel=1e-14)
    assert operations.finite(operations.state(q))
    q[0, 1, 40] = np.inf
    assert not operations.finite(operations.state(q))


@pytest.mark.parametrize("elements, width", [(1, 0), (32, 0), (33, 0), (1, 32), (64, 32), (65, 32), (70, 64)])
def test_layout(elements, width):
    layout, values = Layout(elements, width), np.arange(5.0 * elements).reshape(5, elements)
    flat = layout.pack(values)
    assert flat.shape == (layout.size(5),) and layout.size(5) % 32 == 0
    assert np.array_equal(layout.unpack(flat, 5), values)
    row, element = np.indices(values.shape)
    assert np.array_equal(flat[layout.at(5, row, element)], values)
    with pytest.raises(ValueError, match="width=20 is not allowed"):
        Layout(elements, 20)


@pytest.mark.parametrize("order", [1, 4, 10])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_candidates_fit_and_the_default_is_one(order, dtype):
    tables = dg.NodalDG(order).discretise(box_of(3), dg.Maxwell(3), dg.pec, backends.get("numpy", "array", dtype)).tables
    shape = Shape.of(tables, np.dtype(dtype))
    for limit in (48 * 1024, 232448):
        found = candidates(shape, limit)
        assert found[0] == default(shape, limit) and len(set(found)) == len(found)
        assert all(shape.fits(variant, limit) for variant in found)
        assert {v.product for v in found} == {"kernel", "cublas"} and {v.faces for v in found} >= {"once", "both"}
        # Beyond two groups of nodes too many threads would compute the same operands.
        assert all(v.field == "shared" or shape.groups(v) <= 2 for v in found)


@pytest.mark.parametrize("itemsize", [4, 8])
def test_the_matrix_in_shared_memory_is_read_by_whole_loads(itemsize):
    for lanes, chunk, rows in ((1, 1, 7), (3, 5, 2), (8, 3, 5)):
        size = Shape(3, 6, 35, 4, 15, itemsize).field_size(Variant(rows=rows, lanes=lanes, chunk=chunk, matrix="shared"))
        assert size * itemsize % 16 == 0


@pytest.mark.parametrize("product, elements", [("kernel", 2 ** 31 // (6 * 60)), ("cublas", 2 ** 31 // (6 * 165))])
def test_large_meshes_have_long_offsets(product, elements):
    """As many elements as are just too many for offsets of 32 bits into the largest array."""
    shape = Shape(3, 6, 35, 4, 15, 4)
    variant = Variant(product=product, width=0 if product == "cublas" else 32)
    for count, is_long in ((elements - 64, False), (elements + 64, True)):
        assert (Layout(count, variant.width).size(shape.most_rows(variant)) >= 2 ** 31) == is_long


@pytest.mark.parametrize("wrong, message", [
    ({"faces": "twice"}, "faces 'twice' does not exist"), ({"lanes": 0}, "lanes=0 is not allowed"),
    ({"chunk": 2.5}, "chunk=2.5 is not allowed"),
    ({"faces": "block", "field": "registers"}, "'registers' is not allowed with it"),
    ({"product": "cublas"}, "takes faces='both' and width=0 only"), ({"rovs": 3}, "choice 'rovs' does not exist")])
def test_wrong_variants_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        from_dict(wrong)


def test_a_variant_that_does_not_fit_is_refused(device):
    operator, = operators("maxwell3", 4, "float64", ("array",))
    with pytest.raises(ValueError, match="does not fit .*: 2240 threads"):
        NodalCuda(CudaBackend("float64", device), operator.tables, Variant(lanes=64, rows=1))
