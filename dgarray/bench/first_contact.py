"""The first hour on a machine with a GPU, where nothing has run before: `dgarray bench --first-contact OUT/`.

Every step is a process of its own with a time limit. At the limit it is killed with all processes that it has started, so a
kernel that hangs, or a CUDA context that an error has made unusable, costs that step alone. When a step ends, its result is
appended to OUT/first-contact.jsonl as one line; its output is in a file beside it. A call ends before a budget of seconds is
over; the next call with the same OUT goes on.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from ..backends import gpu
from .gpu_wheels import PACKAGES
from .machine import ROOT

BUDGET = 570                       # seconds of a call: on some machines a command may take ten minutes
FILE = "first-contact.jsonl"
RAN = "ok", "failed", "timed out", "skipped"
WORKERS = 12                       # processes of the GPU tests
LAST, LONG = 8, 2000               # of the log of a failed step these last lines, and characters, are kept
ANSWER = 40                        # seconds within which the driver must say whether there is a device
DEAD = 10                          # seconds to wait for a killed process to end; the driver may prevent that
PYTHON = (sys.executable, "-m")
PROBE, DGARRAY, PYTEST = (*PYTHON, "dgarray.bench.gpu_probes"), (*PYTHON, "dgarray"), (*PYTHON, "pytest")
CUPY, NUMBA, BOTH = ("cupy", "device"), ("numba_cuda", "device"), ("cupy", "numba_cuda", "device")
TESTS = ("tests", "pytest", *BOTH)
# {test file: words in the names of the tests that are run}. Fastest first: kernels in CUDA C, then those of numba.cuda.
SANITIZED = {"test_cuda_nodal": "stage_agrees and maxwell3", "test_cuda_hermite": "half_steps_agree and maxwell",
             "test_cuda_faces": "agrees_with_the_reference and maxwell3", "test_cuda_modal": "steps_as_graphs",
             "test_cuda_finite_volume": "both_ways or repairs"}


class Step(NamedTuple):
    """One step of `first_contact`.

    command   what is run; {out} stands for the folder
    limit     seconds that it may take
    needs     names in NEEDS of what must be there
    shows     pattern of what was found: the last match in the output counts; without a match a step that ends without an error
              has tested nothing, and its status is "skipped"
    optional  whether a missing need leaves the exit status as it is"""

    name: str
    command: tuple
    limit: float
    needs: tuple = ()
    shows: str = r"\S.*"
    optional: bool = False


def sanitized(tool, limit):
    """Steps that run a few tests of each file in SANITIZED under a tool of compute-sanitizer; limit: seconds of each.

    The tool does not report errors of API calls: libraries provoke some on purpose, and the others raise exceptions."""
    for file, words in SANITIZED.items():
        command = ("compute-sanitizer", "--tool", tool, "--error-exitcode", "9", "--report-api-errors", "no", *PROBE,
                   "first_tests", f"tests/{file}.py", words)
        needs = *TESTS, "compute-sanitizer"
        yield Step(f"{tool}, {file.removeprefix('test_cuda_')}", command, limit, needs, r"\d+ passed.*", True)


STEPS = (
    Step("versions", (*PROBE, "versions"), 40, (), r"\{.*"),
    Step("CUDA C kernel", (*PROBE, "cuda_c"), 60, CUPY),
    Step("numba.cuda kernel", (*PROBE, "numba_cuda"), 60, NUMBA),
    Step("device tests", (*PYTEST, "-q", "-m", "gpu", "tests/test_device.py"), 90, TESTS, r"\d+ passed.*"),
    *sanitized("memcheck", 36),
    *sanitized("racecheck", 36),
    # Each test has a limit of its own, a minute. A worker ends after a CUDA error or at that limit, and is replaced.
    Step("GPU tests", (*PYTEST, "-v", "-m", "gpu", "-n", str(min(WORKERS, os.cpu_count() or 1)), "--max-worker-restart", "1000",
                       "--tb", "short", "tests"), 390, ("xdist", *TESTS), r"\d+ passed.*"),
    *(Step(f"ceilings, {dtype}", (*PROBE, "ceilings", dtype), 40, CUPY, r"\{.*") for dtype in ("float32", "float64")),
    *(Step(f"tuning, order {order}", (*DGARRAY, "tune", "--law", "maxwell-3d", "--orders", str(order), "--dtype", "float32"),
           140, BOTH, r"kept in .*") for order in (3, 4)),
    *(Step(f"rows, order {order}", (*DGARRAY, "bench", "--backend", "cupy", "--orders", str(order), "--json",
                                    f"{{out}}/rows-{order}.json"), 95, BOTH, rf"Maxwell 3D N={order}, float32 .*%.*")
      for order in (3, 4)),
    Step("rows, cases", (*DGARRAY, "bench", "isentropic_vortex", "hermite_cavity", "orszag_tang", "--backend", "cupy", "--json",
                         "{out}/rows-cases.json"), 80, BOTH, r"isentropic_vortex, float32 .*%.*"),
)


def no_device():
    """Why there is no device, or None. A process of its own asks the driver, because a driver may hang."""
    text = f"import runpy; print(runpy.run_path({gpu.__file__!r})['driver']()[1] or '')"          # needs no library
    try:
        said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=ANSWER)
    except subprocess.TimeoutExpired:
        return f"the NVIDIA driver does not answer within {ANSWER} s"
    if said.returncode:
        return f"a process that asks the NVIDIA driver ends with status {said.returncode}: {last_lines(said.stderr)}"
    return said.stdout.strip() or None


def no_package(module):
    """Why a module cannot be imported, or None."""
    return None if find_spec(module) else f"{PACKAGES[module]} is not installed"


def no_tests():
    """Why there are no tests, or None."""
    there = (ROOT / "tests" / "test_device.py").is_file() and (ROOT / "pyproject.toml").is_file()
    return None if there else "the tests are in the source checkout, which this package was not installed from"


def sanitizer():
    """The path of compute-sanitizer, found on PATH, in the CUDA toolkit's usual folder or in its wheel; else None."""
    wheels = getattr(find_spec("nvidia"), "submodule_search_locations", None) or ()
    installed = (str(path) for folder in wheels for path in Path(folder).glob("*/bin"))
    folders = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", *installed]
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders))


def no_sanitizer():
    """Why compute-sanitizer cannot be run, or None."""
    return None if sanitizer() else ("compute-sanitizer is not on PATH or in /usr/local/cuda/bin (the CUDA toolkit has it, "
                                     "and pip install 'cuda-toolkit[sanitizer]')")


NEEDS = {"device": no_device, **{module: lambda module=module: no_package(module) for module in PACKAGES}, "tests": no_tests,
         "compute-sanitizer": no_sanitizer}


def first_contact(out, budget=BUDGET, progress=None, steps=STEPS, needs=NEEDS):
    """Run the steps that earlier calls with this folder have not run: ([record], names of the steps left for another call).

    out       folder of the results, made if it does not exist
    budget    seconds of this call
    progress  function called with a line of text before each step
    steps     list of `Step`
    needs     {name: function that returns why it is missing, or None}
    A record is a dict with step, status, seconds, found (what the step shows, or the last lines of the error) and log (its file
    in `out`, None if nothing ran). Status: "ok", "failed", "timed out", "skipped" (it ended without an error, but tested
    nothing) or "missing" (a need is missing; the next call asks again).
    A step is begun if its whole limit fits into the rest of the budget, or if none has run in this call.
    Raises ValueError if `out` is a file or the system has no process groups, OSError if it cannot be written."""
    say, out, end = progress or (lambda line: None), folder(out), monotonic() + budget
    records, file, asked, left, ran = before(out / FILE), out / FILE, {}, [], False
    file.write_text("".join(json.dumps(record) + "\n" for record in records.values()))
    for step in steps:
        if step.name in records:
            continue
        asked |= {need: needs[need]() for need in step.needs if need not in asked}
        missing = [asked[need] for need in step.needs if asked[need]]
        if missing:
            record = {"step": step.name, "status": "missing", "seconds": 0.0, "found": "; ".join(missing), "log": None}
        elif ran and end - monotonic() < step.limit:
            left.append(step.name)
            continue
        else:
            say(f"{step.name}, at most {step.limit:g} s")
            record, ran = taken(step, min(step.limit, max(0.0, end - monotonic())), out), True
        records[step.name] = record
        with open(file, "a") as lines:
            lines.write(json.dumps(record) + "\n")
    return [records[step.name] for step in steps if step.name in records], left


def exit_status(records, steps=STEPS):
    """2 if a need of a step that is not optional is missing, else 1 if a step failed or timed out, else 0."""
    optional = {step.name for step in steps if step.optional}
    if any(r["status"] == "missing" and r["step"] not in optional for r in records):
        return 2
    return int(any(r["status"] in ("failed", "timed out") for r in records))


def folder(out):
    """The folder as an absolute path, made if it is not there; ValueError for a file, and without process groups."""
    if Path(out).exists() and not Path(out).is_dir():
        raise ValueError(f"--first-contact {out}: this is a file; give a folder")
    if not hasattr(os, "killpg"):
        raise ValueError("--first-contact ends its steps by process groups, which this system does not have")
    Path(out).mkdir(parents=True, exist_ok=True)
    return Path(out).resolve()


def before(file):
    """{step: record} of the steps that have run in earlier calls; an incomplete line is skipped."""
    found = {}
    for line in file.read_text().splitlines() if file.is_file() else ():
        with suppress(ValueError):
            record = json.loads(line)
            if record["status"] in RAN:
                found[record["step"]] = record
    return found


def taken(step, limit, out):
    """Run a step for at most `limit` seconds; returns its record."""
    log = out / f"{re.sub(r'[^a-z0-9]+', '-', step.name.lower())}.log"
    command = [part.replace("{out}", str(out)) for part in step.command]
    command[0] = sanitizer() or command[0] if command[0] == "compute-sanitizer" else command[0]
    begin = monotonic()
    code = run(command, limit, log, out)
    seconds, text = monotonic() - begin, log.read_text(errors="replace")
    shown = re.findall(step.shows, text)
    if code == 0:
        status, found = ("ok", shown[-1].strip()) if shown else ("skipped", last_lines(text))
    else:
        how = (f"over {limit:.3g} s" if code is None else f"ended by {signal.Signals(-code).name}" if code < 0
               else f"exit status {code}")
        status, found = "timed out" if code is None else "failed", f"{how}\n{last_lines(text)}".strip()
    with suppress(ValueError):          # a step may show one line of JSON
        found = json.loads(found)
    return {"step": step.name, "status": status, "seconds": round(seconds, 1), "found": found, "log": log.name}


def run(command, limit, log, out):
    """Run the command with its output in the file `log`; returns its exit status, None if it was killed at the limit.

    All processes of its group are killed in the end, even if this process is interrupted."""
    own = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}          # a log that is complete, with a traceback at a signal
    environment = {"DGARRAY_CACHE": str(out / "cache")} | os.environ | own
    environment.pop("NUMBA_ENABLE_CUDASIM", None)          # kernels must run on the device, not in numba's simulator
    with open(log, "wb") as output:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT,
                                       env=environment, process_group=0)
        except OSError as error:
            output.write(f"{command[0]}: {error.strerror}\n".encode())
            return 127
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):          # a process that waits for the device cannot be killed
                process.wait(DEAD)


def last_lines(text):
    """The last LAST lines of a log that are not empty, at most LONG characters."""
    return "\n".join([line.rstrip() for line in text.splitlines() if line.strip()][-LAST:])[-LONG:]
