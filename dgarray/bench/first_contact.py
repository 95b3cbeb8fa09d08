"""The first hour on a machine with a GPU, where nothing has run before: `dgarray bench --first-contact OUT/`.

What is worth most comes first: whether kernels run, how fast the main one is, and why; then whether all of them are right,
then which variants are faster. Every step is a process of its own with a time limit. At the limit it is killed with all
processes that it has started, so a kernel that hangs, or a CUDA context that an error has made unusable, costs that step alone.
When a step ends, its line is in OUT/first-contact.jsonl; its output, and the files that it writes as it goes on, are beside
it. A call ends before a budget of seconds is over; the next call with the same OUT goes on.
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

from ..backends import gpu
from ..support.atomic_write import written
from .first_contact_steps import ANY, STEPS, TOOLS
from .gpu_wheels import PACKAGES, ROOT, missing

BUDGET = 570                       # seconds of a call: on some machines a command may take ten minutes
FILE = "first-contact.jsonl"
RAN = "ok", "failed", "timed out", "skipped"
LAST, LONG = 8, 2000               # of the log of a failed step these last lines, and characters, are kept
ANSWER = 40                        # seconds within which the driver must say whether there is a device
DEAD = 10                          # seconds to wait for a killed process to end; the driver may prevent that


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


def tool(name):
    """The path of a program of CUDA, found on PATH, in the usual folders of CUDA or in its wheel; else None."""
    wheels = getattr(find_spec("nvidia"), "submodule_search_locations", None) or ()
    installed = (str(path) for folder in wheels for path in Path(folder).glob("*/bin"))
    nsight = map(str, sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True))
    folders = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", *nsight, *installed]
    return shutil.which(name, path=os.pathsep.join(folders))


def toolkit():
    """{"CUDA_HOME": folder of the CUDA toolkit} where no variable names it, else {}.

    Where NVRTC comes in a wheel, numba-cuda finds a toolkit's NVVM only by this variable or the system's linker."""
    if os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"):
        return {}
    compiler = tool("nvcc")
    found = compiler and Path(compiler).resolve().parents[1]
    return {"CUDA_HOME": str(found)} if found and (found / "nvvm").is_dir() else {}


def no_tool(name):
    """Why one of TOOLS cannot be run, or None."""
    return None if tool(name) else f"{name} is not on PATH or in /usr/local/cuda/bin {TOOLS[name]}"


NEEDS = {"device": no_device, **{module: lambda module=module: no_package(module) for module in PACKAGES}, "tests": no_tests,
         **{name: lambda name=name: no_tool(name) for name in TOOLS}}


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
    records, asked, left, ran = before(out / FILE), {}, [], False
    if missing():
        say(f"{', '.join(missing())}: not installed; steps that need one of these are left out, and the commands that bring "
            "them follow the table")
    for step in steps:
        if step.name in records:
            continue
        asked |= {need: needs[need]() for need in step.needs if need not in asked}
        lacking = [asked[need] for need in step.needs if asked[need]]
        if lacking:
            record = {"step": step.name, "status": "missing", "seconds": 0.0, "found": "; ".join(lacking), "log": None}
        elif ran and end - monotonic() < step.limit:
            left.append(step.name)
            continue
        else:
            say(f"{step.name}, at most {step.limit:g} s")
            record, ran = taken(step, min(step.limit, max(0.0, end - monotonic())), out), True
        records[step.name] = record
        keep(out / FILE, records)
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
    """{step: record} of the steps that have run in earlier calls; a line that is no record is skipped."""
    found = {}
    for line in file.read_text().splitlines() if file.is_file() else ():
        with suppress(ValueError):
            record = json.loads(line)
            if record["status"] in RAN:
                found[record["step"]] = record
    return found


def keep(file, records):
    """Write a line for each record; the file is whole at any time."""
    with written(file) as aside:
        aside.write_text("".join(json.dumps(record) + "\n" for record in records.values()))


def taken(step, limit, out):
    """Run a step for at most `limit` seconds; returns its record."""
    log = out / f"{re.sub(r'[^a-z0-9]+', '-', step.name.lower())}.log"
    command = [part.replace("{out}", str(out)) for part in step.command]
    command[0] = tool(command[0]) or command[0] if command[0] in TOOLS else command[0]
    begin = monotonic()
    code = run(command, limit, log, out)
    seconds, text = monotonic() - begin, log.read_text(errors="replace")
    shown = re.findall(step.shows, text)
    if code == 0:
        status, found = ("ok", shown[-1].strip()) if shown else ("skipped", last_lines(text))
    else:
        how = (f"over {limit:.3g} s" if code is None else f"ended by {signal.Signals(-code).name}" if code < 0
               else f"exit status {code}")
        so_far = [f"so far: {shown[-1].strip()}"] if shown and code is None and step.shows != ANY else []
        status, found = "timed out" if code is None else "failed", "\n".join([how, *so_far, last_lines(text)]).strip()
    with suppress(ValueError):          # a step may show one line of JSON
        found = json.loads(found)
    return {"step": step.name, "status": status, "seconds": round(seconds, 1), "found": found, "log": log.name}


def run(command, limit, log, out):
    """Run the command with its output in the file `log`; returns its exit status, None if it was killed at the limit.

    All processes of its group are killed in the end, even if this process is interrupted."""
    own = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}          # a log that is complete, with a traceback at a signal
    own["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"DGARRAY_CACHE": str(out / "cache")} | os.environ | toolkit() | own
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
