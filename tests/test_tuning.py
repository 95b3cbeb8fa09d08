"""The tuner: the fastest right variant wins, the table keeps it whatever happens, every way out is a clear sentence."""
import json
import re
import subprocess
import sys
from itertools import product
from math import comb
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from nodal_problems import of_element

import dgarray as dg
from dgarray import backends
from dgarray.backends.cuda import CudaBackend
from dgarray.backends.cuda.dg import tuning, variant, variant_table, variant_trials
from dgarray.backends.cuda.dg.variant import Shape, Variant, candidates, default, shortlist
from dgarray.bench import tune as analysis
from dgarray.cli import main
from dgarray.methods.dg.set_operations import SetOperations
from dgarray.methods.problem import Problem

FEW = [Variant(rows=3, chunk=3), Variant(rows=6, chunk=2), Variant(rows=3, chunk=3, faces="once"),
       Variant(product="cublas", width=0)]
SHARED = 232448


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Every test has a cache folder, a private one and a shipped table of its own."""
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DGARRAY_TUNE", raising=False)
    monkeypatch.setattr(variant_table, "private_folder", lambda: tmp_path / "private")
    monkeypatch.setattr(variant_table, "SHIPPED", tmp_path / "shipped.json")
    return tmp_path


@pytest.fixture
def backend(device):
    return CudaBackend("float32", device)


def tables(cells=3, order=2, law=None):
    return dg.NodalDG(order).tables(Problem(dg.rectangle(cells=cells), law or dg.Maxwell(2), dg.wall if law else dg.pec))


@pytest.fixture
def clock(monkeypatch):
    """clock(device, {variant: seconds of a stage}): that is what the device measures from now on; gives the calls."""
    def fake(device, seconds):
        of, calls = {}, []

        class Trial(variant_trials.Trial):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                of[self.run] = self.variant

        def measure(function, repeats):
            function()
            calls.append((of[function], repeats))
            return [seconds[of[function]] * variant_trials.STAGES] * repeats
        monkeypatch.setattr(variant_trials, "Trial", Trial)
        monkeypatch.setattr(device, "seconds", measure)
        return calls
    return fake


def rising(variants, fastest):
    """{variant: seconds}, in their order but for one that is the fastest."""
    return {v: 1e-3 if v == fastest else (2 + i) * 1e-3 for i, v in enumerate(variants)}


# which variants


@pytest.mark.parametrize("variables, dim, itemsize", list(product((1, 3, 6, 8), (1, 2, 3), (4, 8))))
@pytest.mark.parametrize("shared", [SHARED, 101376, 49152])
def test_candidates_are_few_and_sound(variables, dim, itemsize, shared):
    for order in range(1, 11):
        shape = Shape(dim, variables, comb(order + dim, dim), dim + 1, comb(order + dim - 1, dim - 1), itemsize)
        try:
            first = default(shape, shared)
        except ValueError:
            continue                         # no kernel fits, and the error says so
        every, short = candidates(shape, shared), shortlist(shape, shared)
        assert 2 <= len(short) <= 12 and len(short) <= len(every) <= 60, (order, len(short), len(every))
        for found in (every, short):
            assert found[0] == first and len(set(found)) == len(found)
            assert all(shape.fits(v, shared) for v in found)
            assert {v.product for v in found} == {"kernel", "cublas"}
        assert set(short) <= set(every)


def test_candidates_differ_in_every_choice():
    shape = Shape(3, 6, 35, 4, 15, 4)
    for found in (candidates(shape, SHARED), shortlist(shape, SHARED)):
        for name in ("faces", "matrix", "lanes", "rows", "chunk", "width"):
            assert len({getattr(v, name) for v in found}) > 1, name
    assert any(v.per_face for v in candidates(shape, SHARED))
    assert any(v.field == "registers" for v in candidates(Shape(3, 6, 10, 4, 6, 4), SHARED))


def test_what_a_multiprocessor_holds():
    shape = Shape(3, 6, 35, 4, 15, 4)
    v = Variant(rows=7, chunk=5)                                     # 5 groups of 32 threads, 5 * 3 * 6 * 32 numbers shared
    assert variant.registers(shape, v) == 6 * 7 + 8 + 4 * variant.OTHER_REGISTERS == 90
    assert variant.resident(shape, v, SHARED) == 65536 // (90 * 160) * 160 / 32
    assert variant.resident(shape, Variant(rows=7, chunk=35), 100_000) == 5           # one block, by its shared memory


# the race


class Racer:
    def __init__(self, name):
        self.run = self.variant = name


def racers(count):
    return [Racer(number) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 60])
def test_the_fastest_wins_and_slow_ones_leave_early(count):
    trials, spent = racers(count), np.zeros(count)
    order = np.random.default_rng(count).permutation(count)

    def calls(number, repeats):
        seconds = variant_trials.STAGES * (1 + order[number]) * 1e-4
        spent[number] += repeats * seconds
        return [seconds * (1 + 0.1 * (i % 2)) for i in range(repeats)]
    best = variant_trials.race(trials, 10.0, calls)
    assert [best[t] for t in trials] == pytest.approx((1 + order) * 1e-4)
    if count > 3:
        fast, slow = order < count // 4, order >= count - count // 2
        assert spent[fast].min() > 1.5 * spent[slow].max()
    assert spent.sum() < 12.0


def test_trials_take_turns():
    seen = []

    def calls(number, repeats):
        seen.append(number)
        return [1.0 + number] * repeats
    variant_trials.race(racers(4), 0.0, calls)
    assert seen == [0, 1, 2, 3] * variant_trials.TURNS + [0, 1] * variant_trials.TURNS


def test_a_disturbed_measurement_does_not_decide():
    count = iter(range(100))

    def calls(number, repeats):
        return [(1.0 + number) * (5 if number == 0 and next(count) % 3 == 0 else 1)] * repeats
    best = variant_trials.race(trials := racers(3), 0.0, calls)
    assert min(trials, key=best.get).run == 0


# tuning on the device


@pytest.mark.parametrize("fastest", FEW, ids=lambda v: f"{v.faces}-{v.product}-{v.rows}")
def test_the_fastest_is_kept_and_chosen(fastest, backend, clock):
    calls, lines, t = clock(backend.device, rising(FEW, fastest)), [], tables()
    found, ranking = tuning.tune(backend, t, FEW, 0.1, lines.append)
    assert found == fastest == ranking[0][0] and {v for v, _ in ranking} == set(FEW)
    assert [s for _, s in ranking] == sorted(rising(FEW, fastest).values())
    assert {v for v, _ in calls} == set(FEW)
    entry = json.loads(variant_table.table_file().read_text())[backend.device.name][
        "Maxwell 2D, 3 variables, 0 coefficients, needs x: no"]["order 2, float32"]
    assert entry["variant"] == vars(fastest) and entry["seconds"] == 1e-3 and entry["elements"] == 18 and entry["of"] == 4
    assert entry["date"].count("-") == 2
    assert variant_table.lookup(backend.device, t, backend.dtype) == fastest == backend.operations(SetOperations, t).variant
    assert lines[0].endswith("4 variants on 18 elements") and str(variant_table.table_file()) in lines[-1]


def test_a_process_that_is_ended_early_leaves_the_fastest_so_far(backend, clock):
    """Each variant is told and kept as soon as it works; without `each` nothing is kept before the end."""
    calls, told, t = clock(backend.device, rising(FEW, FEW[1])), [], tables()

    def each(variant, seconds):
        told.append((variant, seconds))
        if len(told) == 3:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        tuning.tune(backend, t, FEW, 0.1, each=each)
    assert told == list(rising(FEW, FEW[1]).items())[:3] and len(calls) == 3
    file, entry = variant_table.entry(backend.device, t, backend.dtype)
    assert file == variant_table.table_file() and entry["variant"] == vars(FEW[1])
    assert (entry["seconds"], entry["of"], entry["elements"]) == (1e-3, 3, 18)


def test_variants_timed_one_by_one_are_all_checked(backend):
    """A variant's first time does not change the state from which the next one is checked."""
    told = []
    _, ranking = tuning.tune(backend, tables(), FEW, 0.0, each=lambda *found: told.append(found))
    assert [variant for variant, _ in told] == FEW and {variant for variant, _ in ranking} == set(FEW)


def test_real_times_order_the_variants(backend):
    found, ranking = tuning.tune(backend, tables(), FEW[:2], 0.02)
    assert found == ranking[0][0] and 0 < ranking[0][1] <= ranking[1][1]


def test_nothing_is_left_on_the_tables(backend, clock):
    t = tables()
    t.build()
    before = [set(vars(each)) for each in (t, t.faces, t.geometry)]
    clock(backend.device, rising(FEW, FEW[0]))
    tuning.tune(backend, t, FEW[:2], 0.0)
    left = [set(vars(each)) - known for each, known in zip((t, t.faces, t.geometry), before)]
    assert left[0] <= {"needs_x", "limits"} and not left[1] and not left[2]          # computed once for itself


def test_other_orders_dtypes_and_laws_have_entries_of_their_own(device, clock):
    clock(device, rising(FEW, FEW[1]))
    single, double = CudaBackend("float32", device), CudaBackend("float64", device)
    for backend, t in ((single, tables()), (double, tables()), (single, tables(law=dg.Acoustics(2)))):
        tuning.tune(backend, t, FEW[:1], 0.0)
    table = json.loads(variant_table.table_file().read_text())[device.name]
    assert {name: set(rows) for name, rows in table.items()} == {
        "Maxwell 2D, 3 variables, 0 coefficients, needs x: no": {"order 2, float32", "order 2, float64"},
        "Acoustics 2D, 3 variables, 0 coefficients, needs x: no": {"order 2, float32"}}
    assert variant_table.lookup(device, tables(order=3), "float32") is None
    assert variant_table.lookup(SimpleNamespace(name="another"), tables(), "float32") is None


def test_names_of_problems():
    law = dg.Maxwell(2, eps=of_element(lambda x: 1 + x[0] ** 2))
    t = dg.NodalDG(3).tables(Problem(dg.rectangle(cells=2), law, dg.pec, source=lambda x, t: (x[0], 0.0, 0.0)))
    assert variant_table.problem(t) == "Maxwell 2D, 3 variables, 1 coefficients, needs x: yes"
    assert variant_table.setting(t, np.float64) == "order 3, float64"


class Spoiled:
    """The backend with operations of one variant that are wrong by a little, or that raise."""

    def __init__(self, backend, wrong, error=None, share=1e-3):
        self.backend, self.wrong, self.error, self.share = backend, wrong, error, share

    def __getattr__(self, name):
        return getattr(self.backend, name)

    def operations(self, recipe, tables, variant=None):
        operations = self.backend.operations(recipe, tables, variant)
        if variant in self.wrong:
            if self.error:
                raise self.error
            right = operations.stage

            def stage(q, out, *arguments):
                right(q, out, *arguments)
                out[-operations.layout.width * 2:] *= 1 + self.share       # two rows of the last block
            operations.stage = stage
        return operations


def test_a_wrong_variant_is_left_out(backend, clock):
    clock(backend.device, rising(FEW, FEW[1]))
    lines = []
    with pytest.warns(UserWarning, match="rows=6.*left out .*differ by .*array kernels"):
        found, ranking = tuning.tune(Spoiled(backend, FEW[1:2]), tables(), FEW, 0.0, lines.append)
    assert found == FEW[0] and FEW[1] not in dict(ranking) and len(ranking) == 3
    assert sum("left out" in line for line in lines) == 1
    assert variant_table.lookup(backend.device, tables(), "float32") == FEW[0]


def test_the_first_variant_may_be_the_wrong_one(backend, clock):
    clock(backend.device, rising(FEW, FEW[0]))
    with pytest.warns(UserWarning, match="left out"):
        assert tuning.tune(Spoiled(backend, FEW[:1]), tables(), FEW[:3], 0.0)[0] == FEW[1]


def test_values_that_are_not_numbers_are_a_difference(backend, clock):
    clock(backend.device, rising(FEW, FEW[0]))
    with pytest.warns(UserWarning, match="differ by inf"):
        tuning.tune(Spoiled(backend, FEW[:1], share=np.nan), tables(), FEW[:2], 0.0)


@pytest.mark.parametrize("error", [RuntimeError("CUDA C does not\n compile: x"), MemoryError(), ValueError("too many threads")])
def test_a_variant_that_does_not_run_is_left_out(error, backend, clock, recwarn):
    clock(backend.device, rising(FEW, FEW[0]))
    lines = []
    assert tuning.tune(Spoiled(backend, FEW[:1], error), tables(), FEW[:2], 0.0, lines.append)[0] == FEW[1]
    assert not [w for w in recwarn if "left out" in str(w.message)]
    said = " ".join(str(error).split()) or "MemoryError"
    assert any(line.startswith("variant 1 of 2 is left out") and line.endswith(said) for line in lines), lines


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


DEAD = CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")


def test_an_error_after_which_nothing_runs_ends_the_tuning(backend, monkeypatch):
    """It is no reason to leave out a variant and to go on: neither to the next one nor with the default."""
    words = r"the variant faces=once.* has made the GPU unusable for this process \(cudaErrorIllegalAddress: .*\); DGARRAY_TUNE"
    spoiled, lines, t = Spoiled(backend, FEW[2:3], DEAD), [], tables()
    with pytest.raises(RuntimeError, match=words):
        tuning.tune(spoiled, t, FEW, 0.0, lines.append)
    assert len(lines) == 1 and not variant_table.table_file().exists()
    monkeypatch.setattr(backend.device, "tunes", True)
    monkeypatch.setattr(backend.device, "multiprocessors", 0)
    monkeypatch.setattr(tuning, "shortlist", lambda *_: FEW)
    with pytest.raises(RuntimeError, match=words):
        tuning.choose(spoiled, t)
    monkeypatch.setattr(variant_trials, "race", mock.Mock(side_effect=DEAD))
    with pytest.raises(CUDARuntimeError):
        tuning.choose(backend, t)


def test_no_variant_that_works_is_an_error(backend):
    with pytest.raises(RuntimeError, match="no variant of the kernels of Maxwell 2D.* works on .*: broken driver"):
        tuning.tune(Spoiled(backend, FEW, RuntimeError("broken driver")), tables(), FEW, 0.0)
    assert not variant_table.table_file().exists()


# memory, and which elements


def test_a_part_around_the_middle_is_timed(backend, clock, monkeypatch):
    monkeypatch.setattr(tuning, "ELEMENTS", (200, 200))
    monkeypatch.setattr(backend.device, "multiprocessors", 4)
    clock(backend.device, rising(FEW, FEW[0]))
    lines = []
    tuning.tune(backend, tables(cells=12), FEW[:2], 0.0, lines.append)
    assert "on 200 elements" in lines[0]
    part = tuning.middle(tables(cells=12), 50, SimpleNamespace(multiprocessors=1))
    x = part.mesh.centroids
    assert part.elements == 50 and np.abs(x - x.mean(axis=0)).max() < 0.5 * np.sqrt(50 / 288) + 2 / 12
    whole = tables()
    assert tuning.middle(whole, 18, backend.device) is whole


def test_numbers_of_elements():
    assert tuning.enough(6 * 35) == 60_000 and tuning.enough(9) == 250_000 and 60_000 < tuning.enough(80) < 250_000


class Small(SimpleNamespace):
    def free_memory(self):
        return self.free


def test_elements_fit_the_memory():
    shape = Shape(3, 6, 35, 4, 15, 4)
    several = candidates(shape, SHARED)
    assert tuning.elements_that_fit(Small(free=2 ** 40), shape, several) == 60_000
    few, more = (tuning.elements_that_fit(Small(free=2 ** 30), shape, variants) for variants in (several, several[:4]))
    assert 1000 < few < more < 60_000
    assert tuning.elements_that_fit(Small(free=2 ** 29), shape, several) == pytest.approx(few / 2, abs=1)


@pytest.mark.parametrize("one", FEW, ids=lambda v: f"{v.faces}-{v.product}-{v.rows}")
def test_memory_that_is_counted_is_what_is_taken(one, backend, monkeypatch):
    monkeypatch.setattr(tuning, "enough", lambda values: 10 ** 12)
    t = tables(cells=40)
    operations = backend.operations(SetOperations, t, one)
    arrays = [a for a in (*vars(operations).values(), *operations.jobs) if hasattr(a, "nbytes") and hasattr(a, "shape")]
    faces = operations.faces.nbytes if operations.faces else 0
    taken = (sum({id(a): a.nbytes for a in arrays}.values()) + faces) / t.elements

    def counted(times):
        return tuning.MEMORY * 2 ** 40 / tuning.elements_that_fit(Small(free=2 ** 40), operations.shape, [one] * times)
    assert taken < (counted(120) - counted(100)) / 20 < 2 * taken
    assert counted(100) - 100 * (counted(120) - counted(100)) / 20 == pytest.approx(3 * operations.zeros().nbytes / t.elements,
                                                                                   rel=0.1)


def test_little_memory_is_a_clear_error(backend, monkeypatch):
    monkeypatch.setattr(backend.device, "free_memory", lambda: 2 ** 14)
    monkeypatch.setattr(backend.device, "multiprocessors", 4)
    with pytest.raises(MemoryError, match="needs room for 128 elements on .*, which has 0.01562 MiB free, enough for"):
        tuning.tune(backend, tables(cells=10), FEW, 0.0)


# the table


def kept(text):
    path = variant_table.table_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def table_with(entry, device="a GPU"):
    return {device: {"Maxwell 2D, 3 variables, 0 coefficients, needs x: no": {"order 2, float32": entry}}}


def find(device="a GPU", shared=SHARED):
    return variant_table.lookup(SimpleNamespace(name=device, shared_per_block=shared), tables(), "float32")


def test_own_entries_come_before_shipped_ones(folders):
    assert find() is None
    variant_table.SHIPPED.write_text(json.dumps(table_with({"variant": vars(FEW[0])})))
    assert find() == FEW[0]
    kept(table_with({"variant": vars(FEW[1])}))
    assert find() == FEW[1]
    kept(table_with({"variant": vars(FEW[1])}, "another GPU"))
    assert find() == FEW[0]
    kept(table_with({"variant": {"rows": 2, "chunk": 3}}))            # written by hand: the rest are defaults
    assert find() == Variant(rows=2, chunk=3)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a GPU": 3}', '{"a GPU": {"a problem": []}}', "\x00"])
def test_a_broken_table_names_its_file(text, backend):
    path = kept(text)
    for call in (find, lambda: variant_table.keep(backend.device, tables(), "float32", {}),
                 lambda: tuning.tune(backend, tables(), FEW), lambda: backend.operations(SetOperations, tables())):
        with pytest.raises(ValueError, match=f"{path}.* tuning table.*correct it or delete it"):
            call()
    assert path.read_text() == text


@pytest.mark.parametrize("entry, words", [
    ("fast", "there is no variant"), ({}, "there is no variant"), ({"variant": 4}, "there is no variant"),
    ({"variant": {"row": 3}}, "choice 'row' does not exist.*did you mean 'rows'"),
    ({"variant": {"rows": "many"}}, "rows='many' is not allowed"),
    ({"variant": {"faces": "twice"}}, "faces 'twice' does not exist; allowed: once, both, block"),
    ({"variant": {"rows": 1, "lanes": 1024}}, "lanes=1024.* does not fit this device")])
def test_a_broken_entry_is_named(entry, words):
    path = kept(table_with(entry))
    with pytest.raises(ValueError, match=rf"{path}: a GPU: Maxwell 2D.*: order 2, float32: .*{words}.*; correct it"):
        find()


def test_the_shipped_table_is_a_table():
    shipped = Path(variant_table.__file__).with_name("tuning.json")
    for rows in variant_table.read(shipped).values():
        for settings in rows.values():
            assert all(variant.from_dict(entry["variant"]) for entry in settings.values())


WRITER = """import sys
from types import SimpleNamespace
from dgarray.backends.cuda.dg import variant_table
device, law = SimpleNamespace(name="a GPU"), type(sys.argv[1], (), {})()
for order in range(60):
    tables = SimpleNamespace(law=law, dim=3, variables=6, physics=SimpleNamespace(varying=[]), needs_x=False,
                             order=order)
    variant_table.keep(device, tables, "float32", {"variant": {}, "seconds": order})
"""


@pytest.mark.thorough
def test_processes_that_write_at_once_lose_nothing():
    names = ["First", "Second"]
    running = [subprocess.Popen([sys.executable, "-c", WRITER, name]) for name in names]
    assert [process.wait() for process in running] == [0, 0]
    table = json.loads(variant_table.table_file().read_text())["a GPU"]
    assert set(table) == {f"{name} 3D, 6 variables, 0 coefficients, needs x: no" for name in names}
    assert all(len(settings) == 60 for settings in table.values())
    assert {path.suffix for path in variant_table.table_file().parent.iterdir()} <= {".json", ".lock"}


def test_a_folder_that_cannot_be_written(folders, monkeypatch):
    (folders / "file").write_text("")
    monkeypatch.setenv("DGARRAY_CACHE", str(folders / "file" / "cache"))
    device = SimpleNamespace(name="a GPU", shared_per_block=SHARED)
    with pytest.warns(UserWarning, match="cannot be kept in .*cache.*lost with this process"):
        path = variant_table.keep(device, tables(), "float32", {"variant": vars(FEW[0])})
    assert path.parent == folders / "private" and find() == FEW[0]


# the first run


@pytest.fixture
def asked(monkeypatch):
    """The calls of `tune`, which answers with the last of the variants."""
    calls = []

    def answer(backend, tables, variants=None, seconds=None, progress=None):
        calls.append((variants, seconds))
        return variants[-1], []
    monkeypatch.setattr(tuning, "tune", answer)
    return calls


@pytest.fixture
def tunes(backend, monkeypatch):
    monkeypatch.setattr(backend.device, "tunes", True)
    monkeypatch.setattr(backend.device, "multiprocessors", 4)


def standard(backend, t):
    return default(Shape.of(t, backend.dtype), backend.device.shared_per_block)


def test_the_first_run_tunes_over_the_short_list(backend, asked, tunes, capsys):
    t = tables(cells=8)
    short = shortlist(Shape.of(t, backend.dtype), backend.device.shared_per_block)
    assert tuning.choose(backend, t) == short[-1]
    assert asked == [(short, tuning.FIRST_RUN)]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_told(backend, asked, tunes, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tuning.choose(backend, tables(cells=8))
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    for words in ("tuning the kernels of Maxwell 2D", "order 2, float32", backend.device.name, " s; kept in ",
                  str(variant_table.table_file()), "DGARRAY_TUNE=0"):
        assert words in err


def test_what_is_not_tuned_takes_the_default(backend, asked, tunes, monkeypatch):
    small, large = tables(cells=3), tables(cells=8)
    assert tuning.choose(backend, small) == standard(backend, small)          # the device would be half empty
    with monkeypatch.context() as patch:
        patch.setenv("DGARRAY_TUNE", "0")
        assert tuning.choose(backend, large) == standard(backend, large)
    with monkeypatch.context() as patch:
        patch.setattr(backend.device, "free_memory", lambda: 2 ** 14)
        assert tuning.choose(backend, large) == standard(backend, large)
    with monkeypatch.context() as patch:
        patch.setattr(backend.device, "tunes", False)
        assert tuning.choose(backend, large) == standard(backend, large)
    assert not asked
    monkeypatch.setenv("DGARRAY_TUNE", "")
    assert tuning.choose(backend, large) and len(asked) == 1


def test_no_other_value_of_the_variable(backend, monkeypatch):
    monkeypatch.setenv("DGARRAY_TUNE", "off")
    with pytest.raises(ValueError, match="DGARRAY_TUNE 'off' does not exist; allowed: 0, 1"):
        tuning.choose(backend, tables())


def test_a_table_is_used_with_tuning_turned_off(backend, asked, monkeypatch):
    monkeypatch.setenv("DGARRAY_TUNE", "0")
    kept(table_with({"variant": vars(FEW[1])}, backend.device.name))
    assert tuning.choose(backend, tables()) == FEW[1] and not asked


def test_the_second_run_does_not_tune(backend, clock, tunes, monkeypatch):
    monkeypatch.setattr(tuning, "shortlist", lambda shape, shared: FEW[:2])
    calls = clock(backend.device, rising(FEW, FEW[1]))
    assert backend.operations(SetOperations, tables(cells=8)).variant == FEW[1]
    count = len(calls)
    assert count and backend.operations(SetOperations, tables(cells=8)).variant == FEW[1] and len(calls) == count


# the command line


def said(capsys, *arguments, status=0):
    """Standard output and the lines of standard error of a command."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == status and "Traceback" not in err, err
    return out, [line for line in err.splitlines() if "warning:" not in line]


def test_without_a_gpu(capsys):
    with mock.patch.dict(sys.modules, {"cupy": None}):
        out, lines = said(capsys, "tune", status=2)
    assert out == "" and len(lines) == 1 and lines[0].startswith("dgarray tune: there is no GPU to tune for: ")


@pytest.mark.parametrize("arguments, words", [
    (["tm_cavty"], "did you mean 'tm_cavity'"), (["--law", "maxwel-3d"], "law 'maxwel-3d'.*did you mean 'maxwell-3d'"),
    (["--dtype", "float16"], "allowed: float64, float32"), (["--orders", "a"], "--orders a: give a range"),
    (["--orders", "0-2"], "--orders 0-2"), (["--orders", "11"], "order=11.*1 to 10"),
    (["tm_cavity", "--law", "maxwell-3d"], "--law is for the package's own list"),
    (["tm_cavity", "--set", "cels=3"], "did you mean 'cells'"), (["tm_cavity", "--orders", "11"], "1 to 10"),
    (["--quik"], "did you mean '--quick'"), (["nothing.py"], "nothing.py: there is no such file")])
def test_mistakes_are_seen_before_anything_is_tuned(arguments, words, capsys):
    _, lines = said(capsys, "tune", *arguments, status=2)
    assert len(lines) == 1
    assert re.search(words, lines[0]), lines[0]


def test_methods_without_kernels_to_choose_are_not_tuned():
    other = SimpleNamespace(method=object(), options={"case": "mine"})
    with pytest.raises(ValueError, match="case 'mine' is by object; only NodalDG, FiniteVolume and Hermite are tuned"):
        analysis.check([analysis.Own("maxwell-2d", 3), other])


def test_a_broken_table_is_seen_before_anything_is_tuned(capsys):
    path = kept("{")
    _, lines = said(capsys, "tune", status=2)
    assert len(lines) == 1 and lines[0].startswith(f"dgarray tune: {path} cannot be read as a tuning table")


@pytest.fixture
def gpu(device, monkeypatch):
    """The command line has this device; meshes are small, and ceilings known."""
    real = backends.get

    def get(name="numpy", kernels=None, dtype="float64", threads=None):
        return CudaBackend(dtype, device) if name == "cupy" else real("numpy", kernels, dtype, threads)
    monkeypatch.setattr(backends, "get", get)
    monkeypatch.setattr(backends, "gpu_problem", lambda kernels=None: None)
    monkeypatch.setattr(tuning, "enough", lambda values: 40)
    monkeypatch.setattr(device, "multiprocessors", 1)
    monkeypatch.setattr(analysis, "ENOUGH", 30)
    monkeypatch.setattr(analysis, "ceilings", lambda device, dtype: {"bandwidth": 1e12, "multiply_add": 1e13})
    monkeypatch.setattr(analysis, "shortlist", lambda shape, shared: [default(shape, shared), *FEW[2:]])
    return device


@pytest.fixture
def timed(monkeypatch, gpu):
    """Nothing is compiled: seconds are the variant's rows in milliseconds, or 10."""
    def prepared(backend, part, variants, say, each):
        return [Racer(v) for v in variants], None
    monkeypatch.setattr(tuning, "prepared", prepared)
    monkeypatch.setattr(gpu, "seconds", lambda v, repeats: [
        1e-3 * variant_trials.STAGES * (v.rows + 10 * (v.product != "kernel"))] * repeats)


def test_the_own_list(timed, gpu, capsys):
    out, lines = said(capsys, "tune", "--orders", "1-2", "--dtype", "float32")
    table = json.loads(variant_table.table_file().read_text())[gpu.name]
    assert set(table) == {f"{law} {dim}D, {count} variables, 0 coefficients, needs x: no" for law, dim, count in (
        ("Maxwell", 3, 6), ("Maxwell", 2, 3), ("Acoustics", 3, 4), ("Acoustics", 2, 3))}
    assert all(set(settings) == {"order 1, float32", "order 2, float32"} for settings in table.values())
    assert lines[0] == "8 problems, a minute or two each"
    assert out.count("Maxwell 3D, 6 variables") == 2 and "ms of bound faces" in " ".join(out.split())
    assert out.endswith(f"kept in {variant_table.table_file()}\n")
    assert "default" in out and "Traceback" not in out


def test_a_law_of_the_list_in_both_dtypes(timed, gpu, capsys):
    said(capsys, "tune", "--law", "acoustics-2d", "--orders", "3")
    table = json.loads(variant_table.table_file().read_text())[gpu.name]
    assert {name: set(rows) for name, rows in table.items()} == {
        "Acoustics 2D, 3 variables, 0 coefficients, needs x: no": {"order 3, float32", "order 3, float64"}}


def test_cases_and_scripts(timed, gpu, capsys, folders):
    script = folders / "mine.py"
    script.write_text("import dgarray as dg\n\ndef case(order=3, cells=2):\n    mesh = dg.rectangle(cells=cells)\n"
                      "    law = dg.Maxwell(2, eps=lambda x: 1 + (x[0] > 5))\n"
                      "    return dg.Simulation(mesh, law, dg.NodalDG(order), dg.pec)\n")
    said(capsys, "tune", str(script), "tm_cavity", "--orders", "1,4", "--dtype", "float64")
    table = json.loads(variant_table.table_file().read_text())[gpu.name]
    for count in (0, 1):
        name = f"Maxwell 2D, 3 variables, {count} coefficients, needs x: no"
        assert set(table[name]) == {"order 1, float64", "order 4, float64"}
    assert table["Maxwell 2D, 3 variables, 1 coefficients, needs x: no"]["order 1, float64"]["elements"] == 32     # refined
    said(capsys, "tune", str(script), "--set", "cells=1", "--dtype", "float32")
    assert "order 3, float32" in json.loads(variant_table.table_file().read_text())[gpu.name][
        "Maxwell 2D, 3 variables, 1 coefficients, needs x: no"]


def test_the_whole_command_on_a_device(gpu, capsys, monkeypatch):
    monkeypatch.setattr(tuning, "FIRST_RUN", 0.05)
    out, lines = said(capsys, "tune", "tm_cavity", "--quick", "--orders", "2", "--dtype", "float32")
    assert lines[0] == "1 problems, some seconds each" and "3 variants on 40 elements" in lines[1]
    assert len([line for line in out.splitlines() if "both" in line or "once" in line]) == 3
    assert variant_table.lookup(gpu, tables(), "float32") in [standard(CudaBackend("float32", gpu), tables()), *FEW[2:]]


def test_numbers_of_the_result(timed, gpu):
    t = tables(cells=4)
    result = analysis.tune(CudaBackend("float32", gpu), t, quick=True)
    assert result["elements"] == 32 and result["file"] == str(variant_table.table_file())
    from dgarray.bench.roofline import bound, cost
    least = bound(cost(t, "fused", "float32", backend="cupy"), analysis.ceilings(None, None)) * 32
    for _, seconds, share in result["ranking"]:
        assert share == pytest.approx(least / seconds)
