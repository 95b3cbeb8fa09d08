"""The tuner of Hermite's kernels: which variants, the fastest right one wins, the table keeps it; and what the kernels cost."""
import json
import re
from itertools import product

import numpy as np
import pytest

import dgarray as dg
from dgarray import backends
from dgarray.backends.cuda import CudaBackend
from dgarray.backends.cuda.dg import tuning, variant_table, variant_trials
from dgarray.backends.cuda.hermite import cost as hermite_cost, tuning as hermite_tuning
from dgarray.backends.cuda.hermite.variant import KERNELS, HermiteShape, HermiteVariant, candidates, default, shortlist
from dgarray.bench import tune as analysis
from dgarray.bench.roofline import cost
from dgarray.cli import main
from dgarray.methods.hermite.half_steps import HalfSteps
from dgarray.methods.hermite.node_tables import HermiteTables

SHARED = 232448
FEW = [HermiteVariant("monolithic", 4, 2), HermiteVariant("two-kernel", 2), HermiteVariant("monolithic", 2, keep="shared")]


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Every test has a cache folder, a private one and a shipped table of its own."""
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DGARRAY_TUNE", raising=False)
    monkeypatch.setattr(variant_table, "private_folder", lambda: tmp_path / "private")
    monkeypatch.setattr(variant_table, "SHIPPED", tmp_path / "shipped.json")


@pytest.fixture
def backend(device):
    return CudaBackend("float64", device)


def tables(order=1, law=None, cells=(4, 5), **options):
    law = law or dg.Acoustics(2)
    return HermiteTables(dg.Hermite(order, **options), dg.Grid((0,) * law.dim, (1,) * law.dim, cells, False), law,
                         {"default": dg.Sponge(0.3) if isinstance(law, dg.Advection) else dg.wall})


def clock(monkeypatch, device, fastest):
    """The device measures one second a call, less for one variant."""
    of = {}

    class Trial(hermite_tuning.Trial):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            of[self.run] = self.variant

    def measure(function, repeats):
        function()
        return [0.5 if of[function] == fastest else 1.0] * repeats
    monkeypatch.setattr(hermite_tuning, "Trial", Trial)
    monkeypatch.setattr(device, "seconds", measure)


@pytest.mark.parametrize("variables, dim, itemsize", list(product((1, 3, 6), (1, 2, 3), (4, 8))))
@pytest.mark.parametrize("shared", [SHARED, 49152])
def test_candidates_are_few_and_sound(variables, dim, itemsize, shared):
    for order, kernel in product(range(7), (None, "monolithic", "two-kernel")):
        shape = HermiteShape(dim, order, variables, itemsize, collapsible=variables == 1)
        first = default(shape, shared, kernel)
        if first is None:
            continue                         # the array text is used
        every, short = candidates(shape, shared, kernel), shortlist(shape, shared, kernel)
        assert 2 <= len(short) <= 8 and len(short) <= len(every) <= 45
        assert set(short) <= set(every)
        for found in (every, short):
            assert found[0] == first and len(set(found)) == len(found)
            assert all(shape.fits(v, shared) for v in found)
            assert not kernel or {v.kernel for v in found} == {first.kernel}


def test_the_fastest_right_one_wins_and_is_kept(backend, monkeypatch):
    t, lines = tables(), []
    clock(monkeypatch, backend.device, FEW[1])
    found, ranking = hermite_tuning.tune(backend, t, FEW, 0.1, lines.append)
    assert found == FEW[1] and ranking[0] == (FEW[1], 0.5 / variant_trials.STAGES) and len(ranking) == 3
    table = json.loads(variant_table.table_file().read_text())
    entry = table[backend.device.name]["Hermite, Acoustics 2D, 3 variables, 4 + 0 terms"]["order 1, float64"]
    assert entry["variant"]["kernel"] == "two-kernel" and entry["of"] == 3 and entry["elements"] == 20
    assert "3 variants on 20 targets" in lines[0]
    operations = backend.operations(HalfSteps, t)
    assert operations.choice == FEW[1] and operations.variant == "two-kernel"


@pytest.mark.parametrize("law, cells", [(dg.Advection(0.7), (5,)), (dg.Advection((1.0, 0.5, -0.3)), (2, 2, 3))])
def test_every_dimension_is_tuned(backend, monkeypatch, law, cells):
    """Every kernel's result agrees, to rounding, with the array text's."""
    t = tables(1, law, cells)
    variants = [HermiteVariant(kernel, 2) for kernel in KERNELS]
    clock(monkeypatch, backend.device, variants[2])
    assert len(hermite_tuning.tune(backend, t, variants, 0.1)[1]) == 3


def test_a_wrong_variant_is_left_out(backend, monkeypatch):
    t = tables()
    clock(monkeypatch, backend.device, FEW[0])
    made = backend.operations

    def wrong(recipe, tables, variant=None):
        operations = made(recipe, tables, variant)
        if variant == FEW[0]:
            operations.signs = tuple(backend.array(np.full(signs.shape, 1.001)) for signs in operations.signs)
            operations.around = tuple(backend.integers(np.maximum(backend.host(a), 1)) for a in operations.around)
        return operations
    monkeypatch.setattr(backend, "operations", wrong)
    name = re.escape(backend.device.name)
    with pytest.warns(UserWarning, match=f"lanes=4, .* is left out on {name}: its results differ by"):
        found, ranking = hermite_tuning.tune(backend, t, FEW, 0.1)
    assert found != FEW[0] and len(ranking) == 2
    monkeypatch.setattr(backend, "operations", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match=f"no variant of the kernels of Hermite, .* works on {name}: division by zero"):
        hermite_tuning.tune(backend, t, FEW, 0.1)


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


def test_an_error_after_which_nothing_runs_ends_the_tuning(backend, monkeypatch):
    """Neither the next variant is tried nor the default taken."""
    t, made = tables(), backend.operations

    def dead(recipe, tables, variant=None):
        if variant == FEW[1]:
            raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")
        return made(recipe, tables, variant)
    monkeypatch.setattr(backend, "operations", dead)
    monkeypatch.setattr(backend.device, "tunes", True)
    monkeypatch.setattr(backend.device, "multiprocessors", 0)
    monkeypatch.setattr(hermite_tuning, "shortlist", lambda *_: FEW)
    for call in (lambda: hermite_tuning.tune(backend, t, FEW, 0.1), lambda: hermite_tuning.choose(backend, t)):
        with pytest.raises(RuntimeError, match="the variant kernel=two-kernel.* has made the GPU unusable .*cudaErrorIllegal"):
            call()
    assert not variant_table.table_file().exists()


@pytest.mark.parametrize("entry, words", [
    ({}, "there is no variant"), ({"variant": {"lane": 3}}, "choice 'lane' does not exist"),
    ({"variant": {"kernel": "collapsed"}}, "does not fit this device and problem"),
    ({"variant": {"lanes": 4096}}, "lanes=4096.* does not fit this device and problem")])
def test_a_broken_entry_is_named(backend, entry, words):
    t = tables()
    variant_table.keep_as(backend.device, hermite_tuning.problem(t), hermite_tuning.setting(t, "float64"), entry)
    with pytest.raises(ValueError, match=f"Hermite, Acoustics 2D, .*: order 1, float64: .*{words}.*; correct it or delete it"):
        backend.operations(HalfSteps, t)


def test_the_first_run(backend, monkeypatch):
    """Tuned once where the device asks for it and the grid fills it; not with DGARRAY_TUNE=0."""
    t, calls = tables(cells=(32, 16)), []
    monkeypatch.setattr(hermite_tuning, "tune", lambda *arguments: calls.append(arguments) or (FEW[2], []))
    monkeypatch.setattr(backend.device, "multiprocessors", 4)
    monkeypatch.setattr(backend.device, "tunes", False)
    standard = default(HermiteShape.of(t, backend.dtype), backend.device.shared_per_block)
    assert backend.operations(HalfSteps, t).choice == standard and not calls
    monkeypatch.setattr(backend.device, "tunes", True)
    monkeypatch.setenv("DGARRAY_TUNE", "0")
    backend.operations(HalfSteps, t)
    backend.operations(HalfSteps, tables())
    assert not calls
    monkeypatch.delenv("DGARRAY_TUNE")
    assert backend.operations(HalfSteps, t).choice == FEW[2] and len(calls) == 1
    backend.operations(HalfSteps, tables())                                  # 30 nodes fill nothing
    assert len(calls) == 1


def test_operations_are_those_of_the_recursion():
    """Coefficients that a stage computes, by hand: N = 0 in 2D, of 2 x 2 all with degree at most 2 - s."""
    t = tables(0)
    assert hermite_cost.coefficients(HermiteShape.of(t, np.dtype(float)), t) == [3, 1]
    whole = tables(0, pruned=False)
    assert hermite_cost.coefficients(HermiteShape.of(whole, np.dtype(float)), whole) == [4, 4]
    advection = tables(3, dg.Advection((1.0, 0.5, -0.3)), (2, 2, 2))
    shape = HermiteShape.of(advection, np.dtype("float32"))
    stages = hermite_cost.coefficients(shape, advection)
    assert len(stages) == 21 and stages[-1] == 1 and stages[0] == 8 ** 3 - 1
    assert sum(stages) == 21 * 8 ** 3 / 2                      # half of all, by symmetry
    assert hermite_cost.operations("collapsed", shape, advection) == 4 * 8 * 2 * (4 * 8 + 4 * 4 + 4 * 4)
    periodic = dg.Grid((0,) * 3, (1,) * 3, (3, 3, 3), True)
    advection = dg.Hermite(3).discretise(periodic, dg.Advection((1.0, 0.5, -0.3)), None, backends.get("numpy", "array")).tables
    for variant, size in (("monolithic", 2 * 64 * 4), ("two-kernel", 2 * (64 + 512) * 4)):
        assert cost(advection, "fused", "float32", backend="cupy", variant=variant)[0].bytes == size


@pytest.fixture
def gpu(device, monkeypatch):
    """The command line has this device; grids are small, ceilings known, and two variants are tried."""
    monkeypatch.setattr(backends, "get", lambda name, kernels=None, dtype="float64", threads=None: CudaBackend(dtype, device))
    monkeypatch.setattr(backends, "gpu_problem", lambda kernels=None: None)
    monkeypatch.setattr(hermite_tuning, "ENOUGH", 30)
    monkeypatch.setattr(tuning, "FIRST_RUN", 0.01)
    monkeypatch.setattr(analysis, "ceilings", lambda device, dtype: {"bandwidth": 1e12, "multiply_add": 1e13})
    monkeypatch.setattr(analysis.hermite_variant, "shortlist", lambda *_: [HermiteVariant("collapsed", 4),
                                                                           HermiteVariant("monolithic", 2)])
    return device


def test_the_whole_command(gpu, capsys):
    assert main(["tune", "--law", "hermite-advection-3d", "--orders", "1", "--dtype", "float32", "--quick"]) == 0
    out, lines = capsys.readouterr()
    assert "2 variants on 27 targets" in lines and "Hermite, Advection 3D, 1 variables, 3 + 0 terms, order 1, float32" in out
    assert len([line for line in out.splitlines() if "collapsed" in line or "monolithic" in line]) == 2
    assert out.endswith(f"kept in {variant_table.table_file()}\n")
    t = analysis.Own("hermite-advection-3d", 1).tables()
    ranking = [(HermiteVariant("collapsed"), 2.0), (HermiteVariant("monolithic"), 4.0)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hermite_tuning, "tune", lambda *_: (None, ranking))
        result = analysis.tune(CudaBackend("float32", gpu), t, quick=True)
    shape = HermiteShape.of(t, np.dtype("float32"))
    assert [share for *_, share in result["ranking"]] == [
        27 * max(2 * 8 * 4 / 1e12, hermite_cost.operations(kernel, shape, t) / 1e13) / seconds
        for kernel, seconds in (("collapsed", 2.0), ("monolithic", 4.0))]


def test_cases(gpu):
    grid = dg.Grid((0, 0), (1, 1), (4, 4), True)
    case = dg.Simulation(grid, dg.Acoustics(2), dg.Hermite(2), initial=lambda x: (0 * x[0],) * 3)
    assert analysis.tables_of(case).grid is grid
    varying = dg.Simulation(grid, dg.Acoustics(2, sound_speed=lambda x: 1 + 0.1 * np.sin(2 * np.pi * x[0])), dg.Hermite(2),
                            initial=lambda x: (0 * x[0],) * 3)
    analysis.check([case])
    with pytest.raises(ValueError, match="has coefficients that vary, which Hermite has no kernels for on the GPU"):
        analysis.check([case, varying])
