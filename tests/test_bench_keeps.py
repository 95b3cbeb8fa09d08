"""A benchmark keeps what it has: a part that fails is noted, the others go on, and what was measured is in the file."""
import json
from pathlib import Path

import pytest
from emulated import EmulatedDevice, compiler

from dgarray import Acoustics, NodalDG, backends, rectangle, wall
from dgarray.backends.cuda import CudaBackend
from dgarray.bench import cpu as bench, gpu as bench_gpu
from dgarray.bench.attempts import Attempts
from dgarray.bench.compare import read
from dgarray.bench.gpu_tables import table
from dgarray.bench.problem import Problem
from dgarray.cli import main

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")
ONE = {"bandwidth": 1e10, "multiply_add": 1e10}


class Broken(EmulatedDevice):
    """Its stage kernel of one dtype writes beyond an array; whether it is useful after that is `alive`."""

    def __init__(self, dtype, alive=True):
        super().__init__()
        self.dtype, self.alive, self.broke = dtype, alive, False

    def compile(self, source, dtype):
        if str(dtype) == self.dtype and ") stage(" in source:
            self.broke, (head, body) = True, source.split("DYNAMIC_SHARED(real, shared);", 1)
            source = f"{head}out[-1] += 1; DYNAMIC_SHARED(real, shared);{body}"
        return super().compile(source, dtype)

    def synchronize(self):
        super().synchronize()
        if self.broke and not self.alive:
            raise RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The GPU's benchmark in seconds, in a folder of its own."""
    for name, value in (("FAMILIES", bench_gpu.FAMILIES[:1]), ("CPU_ORDERS", ()), ("QUICK", 1), ("SCALING", (1,))):
        monkeypatch.setattr(bench_gpu, name, value)
    monkeypatch.setenv("DGARRAY_TUNE", "0")
    monkeypatch.chdir(tmp_path)


@needs_compiler
def test_a_kernel_that_fails_is_its_row_s_result(small, monkeypatch, capsys):
    device, whole = Broken("float64"), backends.get
    monkeypatch.setattr(backends, "get", lambda name="numpy", kernels=None, dtype="float64", threads=None: (
        CudaBackend(dtype, device) if name == "cupy" else whole(name, kernels, dtype, threads)))
    assert main(["bench", "--backend", "cupy", "--quick", "--orders", "1", "--json", "now.json"]) == 1
    result, shown = json.loads(Path("now.json").read_text()), capsys.readouterr()
    assert [r["name"] for r in result["rows"]] == [f"Maxwell 3D N=1, {end}" for end in (
        "float32", "float32, array kernels", "float64, array kernels")]
    failed, = result["failed"]
    assert failed["name"] == "Maxwell 3D N=1, float64" and failed["error"] == "stage: it writes beyond an array"
    assert "emulated.py" in failed["traceback"] and "Traceback" not in shown.err
    assert "setup" in result and len(result["scaling"]) == 1 and {f["dtype"] for f in result["families"]} == {"float32"}
    assert f"failed: {failed['name']}: {failed['error']}" in shown.out
    assert f"{failed['name']} failed: {failed['error']}" in shown.err
    assert shown.err.splitlines()[-1] == f"dgarray bench: failed: {failed['name']}: {failed['error']}"
    assert read("now.json")["rows"] == result["rows"]                  # a later bench can be compared with it


@needs_compiler
def test_a_lost_device_ends_the_benchmark(small):
    kept = []
    result = bench_gpu.bench(quick=True, orders=(1, 2), device=Broken("float64", alive=False),
                             keep=lambda so_far: kept.append(json.dumps(so_far)))
    assert [r["name"] for r in result["rows"]] == ["Maxwell 3D N=1, float32", "Maxwell 3D N=1, float32, array kernels"]
    assert len(result["failed"]) == 1 and "setup" not in result
    assert "nothing runs on the device" in result["stopped"] and "IllegalAddress" in result["stopped"]
    assert result["stopped"] in table(result) and json.loads(kept[-1])["failed"] == result["failed"]


@needs_compiler
@pytest.mark.parametrize("case, order", [("hermite_cavity", 3), ("sod", None)])
def test_cases_start_from_a_state_of_their_own(case, order):
    """Hermite's method; and a gas, for which random numbers are no state: its kernels raise where a density is negative."""
    result = bench_gpu.bench([case], True, dtypes=("float32",), device=EmulatedDevice())
    assert not result["failed"] and "stopped" not in result
    assert [(r["name"], r["kernels"]) for r in result["rows"]] == [
        (f"{case}, float32", "fused"), (f"{case}, float32, array kernels", "array")]
    for r in result["rows"]:
        assert order in (None, r["order"]) and r["best"] >= r["median"] > 0 and r["share_of_bound"] > 0
        assert all(o["seconds"] > 0 for o in r["operations"])
    parts = [o["name"] for o in result["rows"][0]["operations"]]
    assert parts == (["monolithic"] if order else ["trace", "face_flux", "stage"])
    assert (result["rows"][0]["variant"] or {}).get("kernel") == ("monolithic" if order else None)
    assert f"{case}, float32" in table(result)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """`dgarray bench CASE ...` on a tiny problem, whatever the case; without measuring ceilings."""
    operator = NodalDG(1).discretise(rectangle(cells=(2, 2)), Acoustics(2), wall, backends.get("numpy", "array"))

    def made(name):
        if isinstance(fates.get(name), BaseException):
            raise fates[name]
        return Problem(operator)
    fates = {}
    monkeypatch.setattr(bench, "problem_of_case", made)
    monkeypatch.setattr(bench, "ceilings", lambda *_: ONE)
    monkeypatch.chdir(tmp_path)
    return fates


def test_an_error_of_a_case_is_its_result(tiny, capsys):
    tiny["sod"] = ZeroDivisionError("division by zero")
    assert main(["bench", "tm_cavity", "sod", "maxwell_cavity", "--quick", "--json", "now.json"]) == 1
    result = json.loads(Path("now.json").read_text())
    assert [r["name"] for r in result["rows"]] == ["tm_cavity", "maxwell_cavity"]
    assert [(part["name"], part["error"]) for part in result["failed"]] == [("sod", "division by zero")]
    assert "failed: sod: division by zero" in capsys.readouterr().out
    assert main(["bench", "sod", "--quick", "--debug"]) == 1 and "Traceback" in capsys.readouterr().err


def test_an_interrupt_keeps_what_there_is(tiny, capsys):
    tiny["sod"] = KeyboardInterrupt()
    assert main(["bench", "tm_cavity", "sod", "maxwell_cavity", "--quick", "--json", "now.json"]) == 130
    assert [r["name"] for r in json.loads(Path("now.json").read_text())["rows"]] == ["tm_cavity"]
    shown = capsys.readouterr()
    assert "\ntm_cavity " in shown.out and "interrupted" in shown.err


def test_every_part_is_kept_when_it_is_done():
    result, kept = {"rows": []}, []
    attempt = Attempts(result, keep=lambda so_far: kept.append((list(so_far["rows"]), len(so_far["failed"]))))
    assert attempt("first", lambda: result["rows"].append(1.23456789) or "done") == "done"
    assert attempt("second", lambda: 1 / 0) is None
    attempt("third", result["rows"].append, 2)
    assert kept == [([1.23457], 0), ([1.23457], 1), ([1.23457, 2], 1)]
    with pytest.raises(SystemExit):
        attempt("fourth", exit)
    assert len(kept) == 4
