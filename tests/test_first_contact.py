"""`dgarray bench --first-contact`: steps that fail, hang or crash, calls that go on, what is said without a device."""
import json
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import pytest
from emulated import EmulatedDevice, compiler
from numba import config

from dgarray import backends
from dgarray.bench import first_contact as contact, gpu_probes, gpu_wheels
from dgarray.bench.first_contact import FILE, exit_status, first_contact
from dgarray.bench.first_contact_steps import SANITIZED, STEPS, Step
from dgarray.bench.first_contact_table import table
from dgarray.cli import main

ROOT = Path(__file__).parents[1]
NEEDS = {"this": lambda: None, "that": lambda: "that is not installed"}


def shell(name, text, limit=30.0, needs=(), **more):
    return Step(name, ("sh", "-c", text), limit, needs, **more)


def lines(folder):
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def runs(process):
    """Whether a process still does something."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_whatever_a_step_does_the_others_run(tmp_path):
    steps = [
        shell("right", "echo first; echo 3 passed in 1 s; echo last", needs=("this",), shows=r"\d+ passed.*"),
        shell("JSON", "echo '{\"driver\": \"580.65\"}'"),
        shell("wrong", "echo the reason; exit 3"),
        shell("a crash", "kill -SEGV $$"),
        shell("hanging on", "sleep 60 & echo $!; wait", limit=0.4),
        shell("not there", "", needs=("this", "that")),
        Step("no such program", ("/no/such/program",), 30.0),
        shell("nothing tested", "echo 5 skipped", shows=r"\d+ passed.*"),
        shell("where", "echo {out}; test -n \"$DGARRAY_CACHE\" && test -z \"$NUMBA_ENABLE_CUDASIM\""),
    ]
    records, left = first_contact(tmp_path, steps=steps, needs=NEEDS)
    assert records == lines(tmp_path) and not left
    assert [(r["step"], r["status"]) for r in records] == [
        ("right", "ok"), ("JSON", "ok"), ("wrong", "failed"), ("a crash", "failed"), ("hanging on", "timed out"),
        ("not there", "missing"), ("no such program", "failed"), ("nothing tested", "skipped"), ("where", "ok")]
    found = {r["step"]: r["found"] for r in records}
    assert found["right"] == "3 passed in 1 s" and found["JSON"] == {"driver": "580.65"}
    assert found["wrong"] == "exit status 3\nthe reason" and found["a crash"].startswith("ended by SIGSEGV")
    assert found["not there"] == "that is not installed" and "No such file" in found["no such program"]
    assert found["nothing tested"] == "5 skipped" and found["where"] == str(tmp_path)
    limit, child = found["hanging on"].splitlines()
    assert limit == "over 0.4 s" and not runs(int(child))                   # it went with its parent
    for r in records:
        assert set(r) == {"step", "status", "seconds", "found", "log"}
        assert (r["log"] is None) == (r["status"] == "missing") and (r["log"] is None or (tmp_path / r["log"]).is_file())
    assert (tmp_path / "right.log").read_text() == "first\n3 passed in 1 s\nlast\n"
    shown = table(records, left).splitlines()
    assert shown[3].split() == ["wrong", "failed", f"{records[2]['seconds']:.1f}", "exit", "status", "3:", "the", "reason"]
    assert exit_status(records, steps) == 2 and exit_status(records[:5], steps) == 1 and exit_status(records[:2], steps) == 0


@pytest.mark.parametrize("given, made, shown", [
    ({}, "nvvm", "cuda-13.0"), ({"CUDA_HOME": ""}, "nvvm", "cuda-13.0"), ({}, "include", "none"),
    ({"CUDA_HOME": "/own"}, "nvvm", "/own"), ({"CUDA_PATH": "/own"}, "nvvm", "none")])
def test_steps_know_where_the_toolkit_is(tmp_path, monkeypatch, given, made, shown):
    """By the place of its compiler, if it has NVVM; what the user has set stays."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for name in ("bin", made):
        (tmp_path / "cuda-13.0" / name).mkdir(parents=True)
    (tmp_path / "cuda-13.0" / "bin" / "nvcc").touch(0o755)
    (tmp_path / "cuda").symlink_to("cuda-13.0")
    monkeypatch.setenv("PATH", str(tmp_path / "cuda" / "bin"), prepend=os.pathsep)
    records, _ = first_contact(tmp_path / "contact", steps=[shell("where", "echo ${CUDA_HOME:-none}")])
    assert records[0]["found"] == (str((tmp_path / shown).resolve()) if shown.startswith("cuda") else shown)


def test_a_step_that_is_cut_says_what_it_had(tmp_path):
    step = shell("tuning", "echo 1 variants; echo 2 variants; echo more; sleep 60", limit=0.4, shows=r"\d+ variants")
    records, _ = first_contact(tmp_path, steps=[step])
    assert records[0]["status"] == "timed out"
    assert records[0]["found"].splitlines() == ["over 0.4 s", "so far: 2 variants", "1 variants", "2 variants", "more"]


def test_the_file_is_whole_at_any_time(tmp_path, monkeypatch):
    """A process that is ended while it writes leaves the records before."""
    steps, replace = [shell("first", "echo 1"), shell("second", "echo 2")], os.replace
    kept = []

    def ended(source, target):
        if len(kept) == 1:
            raise KeyboardInterrupt
        kept.append(replace(source, target))
    monkeypatch.setattr(os, "replace", ended)
    with pytest.raises(KeyboardInterrupt):
        first_contact(tmp_path, steps=steps)
    assert [r["step"] for r in lines(tmp_path)] == ["first"] and {path.name for path in tmp_path.iterdir()} == {
        FILE, "first.log", "second.log"}


def test_what_is_worth_most_comes_first():
    """Kernels, speed, profile, tests, sanitizer, tuning, rows; and what needs no numba-cuda does not ask for it."""
    names = [step.name for step in STEPS]
    order = ["versions", "CUDA C kernel", "numba.cuda kernel", "speed, order 3", "speed, order 4", "profile, order 4",
             "GPU tests", "memcheck, nodal", "racecheck, nodal", "tuning, order 3", "rows, order 3", "rows, cases"]
    assert sorted(order, key=names.index) == order
    assert {step.name for step in STEPS if "numba_cuda" in step.needs} == {
        "numba.cuda kernel", "rows, modal DG", *(f"{tool}, {kind}" for tool in ("memcheck", "racecheck")
                                                 for kind in ("faces", "modal"))}
    for step in STEPS:
        if "dgarray.bench.gpu_probes" in step.command:
            name, *arguments = step.command[step.command.index("dgarray.bench.gpu_probes") + 1:]
            signature(gpu_probes.PROBES[name]).bind(*arguments)


def test_the_next_call_goes_on(tmp_path):
    """With what did not fit into the budget, with what was missing, and with a step whose line was cut off."""
    here, needs = {"missing": "no"}, {"this": lambda: here["missing"]}
    count = "echo x >> count; wc -l < count".replace("count", "{out}/count")
    steps = [shell("first", count), shell("needy", "echo yes", needs=("this",)), shell("long", count, limit=500.0),
             shell("short", count, limit=1.0)]
    records, left = first_contact(tmp_path, 100, steps=steps, needs=needs)
    assert [(r["step"], r["status"]) for r in records] == [("first", "ok"), ("needy", "missing"), ("short", "ok")]
    assert left == ["long"] and "left for another call with the same folder: long" in table(records, left)
    here["missing"] = None
    file = tmp_path / FILE
    file.write_text(file.read_text()[:-20])
    records, left = first_contact(tmp_path, 100, steps=steps, needs=needs)
    assert [(r["step"], r["status"]) for r in records] == [("first", "ok"), ("needy", "ok"), ("short", "ok")]
    assert left == ["long"] and [r["found"] for r in records if r["step"] != "needy"] == [1, 3]
    records, left = first_contact(tmp_path, 100, steps=steps, needs=needs)          # nothing else: it gets all that there is
    assert not left and len(lines(tmp_path)) == 4 and records[2]["found"] == 4
    before = file.read_text()
    assert first_contact(tmp_path, 100, steps=steps, needs=needs)[0] == records and file.read_text() == before


def test_an_interrupted_step_is_killed_and_has_no_line(tmp_path, monkeypatch):
    steps, real = [shell("first", "echo 1"), shell("second", "echo $$; sleep 60")], subprocess.Popen.wait

    def wait(process, seconds=None):
        if "sleep" in process.args[-1] and seconds == 30.0:
            while not (tmp_path / "second.log").read_text():
                pass
            raise KeyboardInterrupt
        return real(process, seconds)
    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        first_contact(tmp_path, steps=steps)
    assert [r["step"] for r in lines(tmp_path)] == ["first"]
    assert not runs(int((tmp_path / "second.log").read_text()))


def test_three_calls_are_enough_if_every_step_takes_its_limit(tmp_path, monkeypatch):
    clock = [0.0]

    def taken(step, limit, out):
        clock[0] += limit
        return {"step": step.name, "status": "timed out", "seconds": limit, "found": "", "log": None}
    monkeypatch.setattr(contact, "monotonic", lambda: clock[0])
    monkeypatch.setattr(contact, "taken", taken)
    calls, left = 0, True
    while left:
        clock[0] = 0.0
        _, left = first_contact(tmp_path, needs=dict.fromkeys(contact.NEEDS, lambda: None))
        calls += 1
        assert clock[0] <= contact.BUDGET
    assert calls == 3 and [r["seconds"] for r in sorted(lines(tmp_path), key=lambda r: r["step"])] == [
        step.limit for step in sorted(STEPS)]


def test_steps_are_told_apart():
    assert len({step.name for step in STEPS}) == len(STEPS) and all(set(step.needs) <= set(contact.NEEDS) for step in STEPS)


@pytest.mark.skipif(backends.gpu_problem() is None, reason="there is a GPU")
def test_without_a_device(tmp_path, monkeypatch, capsys):
    """Every step has its line, says what is missing, and nothing waits."""
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "--first-contact", "contact"]) == 2
    records, shown = lines(tmp_path / "contact"), capsys.readouterr()
    assert [r["step"] for r in records] == [step.name for step in STEPS]
    assert {r["status"] for r in records} == {"ok", "missing"} and records[0]["status"] == "ok"
    for r in records[1:]:
        assert any(words in r["found"] for words in ("no NVIDIA driver", "finds no GPU", "is not installed")), r
    versions = records[0]["found"]
    assert {"revision", "device", "driver", "cuda", "runtime", "nvrtc", "numba_nvrtc", "wheels"} <= set(versions)
    assert versions["wheels"]["numba"] and (tmp_path / "contact" / "versions.log").is_file()
    assert len([line for line in shown.out.splitlines() if " missing " in line]) == len(STEPS) - 1
    if gpu_wheels.missing():
        assert "\npip download -d wheels " in shown.out and "'cupy-cuda13x[ctk]>=" in shown.out


def test_a_driver_that_hangs_is_no_device(tmp_path, monkeypatch):
    (tmp_path / "gpu.py").write_text("import time\ntime.sleep(60)")
    monkeypatch.setattr(contact, "ANSWER", 0.3)
    monkeypatch.setattr(contact.gpu, "__file__", str(tmp_path / "gpu.py"))
    assert "does not answer within 0.3 s" in contact.no_device()
    (tmp_path / "gpu.py").write_text("import os\nos.abort()")
    monkeypatch.setattr(contact, "ANSWER", 30)
    assert "ends with status -6" in contact.no_device()


def test_tests_are_in_the_checkout_only(tmp_path, monkeypatch):
    assert contact.no_tests() is None
    monkeypatch.setattr(contact, "ROOT", tmp_path)
    assert "the tests are in the source checkout" in contact.no_tests()


def test_wheels_are_those_of_the_extras(monkeypatch):
    wanted = gpu_wheels.requirements()
    for start in ("cupy-cuda13x[ctk]>=", "numba-cuda[cu13]>=", "pytest>=", "pytest-xdist>=", "cuda-toolkit[sanitizer]<"):
        assert len([each for each in wanted if each.startswith(start)]) == 1, (start, wanted)
    older = gpu_wheels.requirements(12)
    assert any(each.startswith("cupy-cuda12x[ctk]") for each in older) and any("[cu12]" in each for each in older)

    def absent(name):
        raise gpu_wheels.PackageNotFoundError(name)
    monkeypatch.setattr(gpu_wheels, "requires", absent)
    assert gpu_wheels.requirements() == wanted                                # from pyproject.toml
    monkeypatch.setattr(gpu_wheels, "find_spec", lambda name: None if name in ("cupy", "xdist") else "found")
    assert gpu_wheels.missing() == ["CuPy", "pytest-xdist"]
    shown = table([{"step": "versions", "status": "ok", "seconds": 1.0, "found": {"cuda": "12.4"}, "log": ""}], [])
    assert "missing: CuPy, pytest-xdist" in shown and "cupy-cuda12x" in shown


# The first kernels, on what stands for a device.

def fake_cupy(device):
    xp = device.xp
    return SimpleNamespace(asarray=xp.asarray, zeros=xp.zeros,
                           RawKernel=lambda code, name: device.compile(code, "float32")(name))


@pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")
@pytest.mark.parametrize("source, right", [(gpu_probes.TWICE, True), (gpu_probes.TWICE.replace("2 * ", "3 * "), False)])
def test_the_first_kernel_in_cuda_c(monkeypatch, capsys, source, right):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(EmulatedDevice()))
    monkeypatch.setattr(gpu_probes, "TWICE", source)
    if right:
        gpu_probes.cuda_c()
        assert capsys.readouterr().out == "1000 results are right\n"
    else:
        with pytest.raises(RuntimeError, match="999 of 1000 results are wrong, the first is number 1: 3.0"):
            gpu_probes.cuda_c()


@pytest.mark.skipif(not config.ENABLE_CUDASIM, reason="numba's simulator is there where there is no GPU")
def test_the_first_kernel_by_numba(capsys):
    gpu_probes.numba_cuda()
    assert capsys.readouterr().out == "1000 results are right\n"


def test_what_a_question_raises_is_its_answer():
    assert gpu_probes.asked(lambda: 1 / 0) == "ZeroDivisionError: division by zero"
    assert gpu_probes.asked(lambda: "13.4") == "13.4"


SANITIZED_HERE = """from types import SimpleNamespace
from dgarray.bench import first_contact_steps, gpu_probes
calls = []
gpu_probes.cupy = lambda: SimpleNamespace(cuda=SimpleNamespace(set_allocator=calls.append))
for file, words in first_contact_steps.SANITIZED.items():
    print(file, int(gpu_probes.first_tests(f"tests/{file}.py", words)))
print(calls)"""


@pytest.mark.thorough
@pytest.mark.skipif(backends.gpu_problem() is None, reason="there is a GPU")
def test_two_tests_of_each_file_are_for_the_sanitizer():
    """With the words in their names; without a device they are skipped."""
    said = subprocess.run([sys.executable, "-c", SANITIZED_HERE], cwd=ROOT, capture_output=True, text=True).stdout
    for file in SANITIZED:
        before = said.partition(f"\n{file} 0\n")[0]
        assert before.splitlines()[-1].startswith("2 skipped, "), said
    assert said.splitlines()[-1] == str([None] * len(SANITIZED))          # CuPy's pool is turned off
