"""The probes of a first contact, on what stands for a device and without numba-cuda: speed, tuning, rows, what is kept."""
import json
import os
import sys

import numba
import pytest
from emulated import EmulatedDevice, IdleDevice, compiler

from dgarray.backends.cuda import device as cuda_device
from dgarray.backends.cuda.dg import tuning
from dgarray.bench import device_problem, gpu as bench_gpu, gpu_probes, tune
from dgarray.bench.compare import read

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")


def no_launch(*_):
    """Also of kernels that an earlier test of this process has imported."""
    raise ImportError("No module named 'numba.cuda'")


class Idle(IdleDevice):
    numba_launch = no_launch


LIMITS = {"bandwidth": 1e12, "multiply_add": 1e13, "launch": 1e-5, "graph": 1e-6}


@pytest.fixture
def device(monkeypatch, tmp_path):
    """An emulated device without numba.cuda, and small meshes."""
    found = EmulatedDevice()
    for module in (bench_gpu, tune):
        monkeypatch.setattr(module, "ceilings", lambda device, dtype, **_: LIMITS)
    for owner, name, value in ((cuda_device, "Device", lambda: found), (bench_gpu, "SIZES", {1: 1}),
                               (bench_gpu, "SCALING", (1,)), (bench_gpu, "FAMILIES", bench_gpu.FAMILIES[:1]),
                               (gpu_probes, "SMALL", 1), (tuning, "enough", lambda values: 40), (found, "multiprocessors", 1),
                               (found, "numba_launch", no_launch),
                               (bench_gpu, "SECONDS", {"variants": 0.0, "ceilings": 0.0}), (tuning, "SECONDS", 0.0),
                               (device_problem, "measured", lambda device, function, quick, _: device.seconds(function, 3)),
                               (device_problem, "SECONDS", {"row": 0.0, "part": 0.0})):
        monkeypatch.setattr(owner, name, value)
    for name, value in (("DGARRAY_CACHE", str(tmp_path)), ("DGARRAY_TUNE", "0")):
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    monkeypatch.delattr(numba, "cuda", raising=False)
    return found


def test_numba_cuda_is_not_there(device):
    with pytest.raises(ImportError):
        from numba import cuda  # noqa: F401


def test_speed_comes_after_a_check(device, tmp_path, capsys):
    gpu_probes.speed("1", tmp_path / "speed.json")
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("after 5 steps the largest difference") and float(first.split()[-1]) < 1e-5
    assert set(json.loads(last)) == {"DOF/s", "of bound", "by", "GFLOP/s", "GB/s"}
    row, = read(tmp_path / "speed.json")["rows"]
    assert row["name"] == "Maxwell 3D N=1, float32" and row["elements"] == 6 and row["variant"]["faces"] == "both"
    assert os.environ["DGARRAY_TUNE"] == "0"


def test_no_speed_of_a_wrong_kernel(device, tmp_path, monkeypatch):
    compiled = device.compile
    monkeypatch.setattr(device, "compile", lambda source, dtype: compiled(source.replace("clock[0]", "2 * clock[0]"), dtype))
    with pytest.raises(RuntimeError, match="the kernels of order 1 are wrong"):
        gpu_probes.speed("1", tmp_path / "speed.json")
    assert not (tmp_path / "speed.json").exists()


def test_stages_are_launched_one_by_one(device, monkeypatch):
    compiled, launched = device.compile, []

    def counted(source, dtype):
        def named(name):
            kernel = compiled(source, dtype)(name)
            return lambda *arguments, **more: (launched.append(name), kernel(*arguments, **more))
        return named
    monkeypatch.setattr(device, "compile", counted)
    gpu_probes.stages("1")
    assert launched.count("stage") == gpu_probes.LAUNCHES > 3


def test_tuning_keeps_every_variant(device, tmp_path, monkeypatch, capsys):
    """Variants that need numba.cuda are left out; a process that is ended leaves those before."""
    monkeypatch.setattr(tuning, "candidates", lambda shape, shared: tuning.shortlist(shape, shared))
    seen, write = [], gpu_probes.write_json

    def written(file, value):
        write(file, value)
        seen.append(json.loads(file.read_text()))
    monkeypatch.setattr(gpu_probes, "write_json", written)
    gpu_probes.tune("1", tmp_path / "tuning-1.json")
    out = capsys.readouterr().out
    assert [len(found) for found in seen] == [*range(1, len(seen)), len(seen) - 1] and len(seen) > 4
    for found in seen:
        assert [one["seconds"] for one in found] == sorted(one["seconds"] for one in found)
        assert not any(one["variant"]["faces"] == "once" for one in found)
    assert "is left out (faces=once" in out and out.splitlines()[-1].startswith(f"{len(seen[-1])} variants, fastest ")


@pytest.mark.thorough
def test_rows_without_the_processor(device, tmp_path, capsys):
    assert gpu_probes.rows("1", tmp_path / "rows.json") == 0
    found = read(tmp_path / "rows.json")
    assert found["cpu"] == [] and found["ratios"] == {} and found["failed"] == []
    assert len(found["rows"]) == 4 and "Maxwell 3D N=1, float32 " in capsys.readouterr().out


def test_rows_of_cases(device, tmp_path, monkeypatch):
    """What needs numba.cuda fails as a part of its own."""
    monkeypatch.setattr(cuda_device, "Device", Idle)
    assert gpu_probes.cases("sod_grid,sod", tmp_path / "rows.json") == 1
    found = read(tmp_path / "rows.json")
    assert [row["name"] for row in found["rows"] if "sod_grid" in row["name"]] == [
        "sod_grid, float32", "sod_grid, float32, array kernels", "sod_grid, float64", "sod_grid, float64, array kernels"]
    assert {part["name"] for part in found["failed"]} >= {"sod, float32"}
