"""The steps of a first contact with a GPU, in the order of what they are worth: see `first_contact`.

Whether kernels run, how fast the main one is, and what a profiler says of it; then whether all kernels are right; then which
variants of them are faster, and the rows of the benchmark.  What needs numba-cuda says so; all else runs without."""
import os
import sys
from typing import NamedTuple

WORKERS = 12                       # processes of the GPU tests
ANY = r"\S.*"                      # a line of output
PYTHON = (sys.executable, "-m")
PYTEST = (*PYTHON, "pytest", "-m", "gpu")
CUPY, NUMBA, BOTH = ("cupy", "device"), ("numba_cuda", "device"), ("cupy", "numba_cuda", "device")
TESTS = ("tests", "pytest", *CUPY)
# {test file: words in the names of the tests that are run}. Fastest first: kernels in CUDA C, then those of numba.cuda.
SANITIZED = {"test_cuda_nodal": "stage_agrees and maxwell3", "test_cuda_hermite": "half_steps_agree and maxwell",
             "test_cuda_finite_volume": "both_ways or repairs", "test_cuda_faces": "agrees_with_the_reference and maxwell3",
             "test_cuda_modal": "steps_as_graphs"}
OF_NUMBA = "test_cuda_faces", "test_cuda_modal"
# {tool of CUDA: who has it}.
TOOLS = {"compute-sanitizer": "(the CUDA toolkit has it, and pip install 'cuda-toolkit[sanitizer]')",
         "ncu": "(Nsight Compute, which the CUDA toolkit has)"}
# One launch, the fourth, with the clock rate that the device has in a run.
PROFILE = ("ncu", "--clock-control", "none", "--set", "full", "--kernel-name", "stage", "--launch-skip", "3",
           "--launch-count", "1")
PASSED, TUNED = r"\d+ passed.*", r"\d+ variants, fastest .*"
MAXWELL, CASE = r"Maxwell 3D N=\d, float32 .*%.*", r"\w+, float32 .*%.*"          # rows of a table


class Step(NamedTuple):
    """One step of `first_contact`.

    command   what is run; {out} stands for the folder
    limit     seconds that it may take
    needs     names in `first_contact.NEEDS` of what must be there
    shows     pattern of what was found: the last match in the output counts; without a match a step that ends without an error
              has tested nothing, and its status is "skipped"
    optional  whether a missing need leaves the exit status as it is"""

    name: str
    command: tuple
    limit: float
    needs: tuple = ()
    shows: str = ANY
    optional: bool = False


def probe(name, *arguments):
    """The command of a function in `gpu_probes`."""
    return (*PYTHON, "dgarray.bench.gpu_probes", name, *arguments)


def sanitized(tool, limit):
    """Steps that run a few tests of each file in SANITIZED under a tool of compute-sanitizer; limit: seconds of each.

    The tool does not report errors of API calls: libraries provoke some on purpose, and the others raise exceptions."""
    for file, words in SANITIZED.items():
        command = ("compute-sanitizer", "--tool", tool, "--error-exitcode", "9", "--report-api-errors", "no",
                   *probe("first_tests", f"tests/{file}.py", words))
        needs = *TESTS, *["numba_cuda"] * (file in OF_NUMBA), "compute-sanitizer"
        yield Step(f"{tool}, {file.removeprefix('test_cuda_')}", command, limit, needs, PASSED, True)


STEPS = (
    Step("versions", probe("versions"), 30, (), r"\{.*"),
    Step("CUDA C kernel", probe("cuda_c"), 30, CUPY),
    Step("numba.cuda kernel", probe("numba_cuda"), 40, NUMBA),
    Step("speed, order 3", probe("speed", "3", "{out}/speed-3.json"), 60, CUPY, r"\{.*"),
    Step("speed, order 4", probe("speed", "4", "{out}/speed-4.json"), 60, CUPY, r"\{.*"),
    Step("profile, order 4", (*PROFILE, *probe("stages", "4")), 50, ("ncu", *CUPY), r"Duration .*", True),
    Step("profile, order 3", (*PROFILE, *probe("stages", "3")), 50, ("ncu", *CUPY), r"Duration .*", True),
    Step("device tests", (*PYTEST, "-q", "tests/test_device.py"), 60, TESTS, PASSED),
    # Each test has a limit of its own, a minute. A worker ends after a CUDA error or at that limit, and is replaced.
    Step("GPU tests", (*PYTEST, "-v", "-n", str(min(WORKERS, os.cpu_count() or 1)), "--max-worker-restart", "1000",
                       "--tb", "short", "tests"), 330, ("xdist", *TESTS), PASSED),
    *sanitized("memcheck", 30),
    *sanitized("racecheck", 30),
    Step("tuning, order 3", probe("tune", "3", "{out}/tuning-3.json"), 120, CUPY, TUNED),
    Step("tuning, order 4", probe("tune", "4", "{out}/tuning-4.json"), 120, CUPY, TUNED),
    Step("rows, order 3", probe("rows", "3", "{out}/rows-3.json"), 80, CUPY, MAXWELL),
    Step("rows, order 4", probe("rows", "4", "{out}/rows-4.json"), 100, CUPY, MAXWELL),
    Step("rows, cases", probe("cases", "hex_cavity,hermite_cavity,orszag_tang", "{out}/rows-cases.json"), 70, CUPY, CASE),
    Step("rows, modal DG", probe("cases", "isentropic_vortex", "{out}/rows-modal.json"), 40, BOTH, CASE),
    Step("rows, other orders", probe("rows", "1,2,5", "{out}/rows-others.json"), 110, CUPY, MAXWELL),
)
