"""CUDA C compiled without a GPU: its PTX, and what the assembler says of every kernel's registers and spills."""
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path

import pytest

from dgarray.backends.cuda.device import OPTIONS, cuda_source, first_error
from dgarray.support.cached_modules import cache_folder, write_file

ARCHITECTURES = ("sm_80", "sm_90")
# What CuPy adds to the options of every kernel.
ADDED = ("-ftz=true", "--device-as-default-execution-space")
FUNCTION = re.compile(r"Function properties for (\w+)\s+ptxas\s+\.?\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
                      r"(\d+) bytes spill loads\s+ptxas info\s*:\s*Used (\d+) registers")


@dataclass(frozen=True)
class Usage:
    """What one thread of a kernel takes: registers, and bytes of local memory."""

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int


@dataclass(frozen=True)
class Compiled:
    """ptx: text; kernels: {name: Usage}; log: of the compiler."""

    ptx: str
    kernels: dict
    log: str


@cache
def compiled(source, dtype="float64", arch="sm_90"):
    """The source as `dgarray.backends.cuda.device.Device.compile` would compile it for `arch`. What the compiler gave is kept.

    Skips the test where NVRTC is not installed; raises RuntimeError with the compiler's first error."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="CUDA C is compiled by NVRTC: pip install 'numba-cuda[cu13]'")
    options = (*OPTIONS, *ADDED, f"-arch={arch}", "--ptxas-options=-v")
    text = cuda_source(source, dtype)
    ptx, log = json.loads(kept("nvrtc", (text, options), lambda: json.dumps(compile_anew(nvrtc, text, options))))
    kernels = {name: Usage(int(registers), int(stores), int(loads), int(stack))
               for name, stack, stores, loads, registers in FUNCTION.findall(log)}
    missing = set(re.findall(r"\.entry (\w+)", ptx)) - set(kernels)
    assert not missing, f"the compiler's log says nothing of {missing}: {log}"
    return Compiled(ptx, kernels, log)


def kept(folder, given, make):
    """The text that make() makes of what is given; it is kept in a folder of the cache, under the hash of that."""
    file = cache_folder() / folder / sha256(repr((*given, compilers())).encode()).hexdigest()[:32]
    if not file.exists():
        write_file(file, make())
    return file.read_text()


@cache
def compilers():
    """Names and versions of what is installed of compilers for GPUs."""
    return sorted(f"{each.name} {each.version}" for each in distributions() if each.name.startswith(("nvidia-", "numba")))


def compile_anew(nvrtc, source, options):
    """(PTX, log) of the compiler."""
    def call(function, *arguments):
        code, *result = function(*arguments)
        if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"{function.__name__}: {code.name}")
        return result[0] if result else None

    def text(size, read):
        room = b" " * call(size, program)
        call(read, program, room)
        return room.decode().rstrip("\0 ")
    program = call(nvrtc.nvrtcCreateProgram, source.encode(), b"kernel.cu", 0, [], [])
    try:
        done, = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        log = text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if done != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"CUDA C does not compile: {first_error(log)}")
        return text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX), log
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def float64_instructions(ptx, trigonometric=False):
    """The lines of PTX that compute in float64; there is none in the code of a float32 run.

    trigonometric: leave out those of CUDA's own sinf, cosf and tanf, which reduce arguments beyond 1e5 by one product."""
    allowed = (".reg", "cvt.rn.f64.s64", "mul.f64", "cvt.rn.f32.f64", "cvt.rn.ftz.f32.f64") if trigonometric else ()
    return [line.strip() for line in ptx.splitlines() if ".f64" in line and not line.strip().startswith(allowed)]


def without_simulator(module):
    """What check_ptx() of a test module prints in a process of its own, where numba.cuda compiles."""
    pytest.importorskip("numba_cuda", reason="PTX is made by numba-cuda: pip install 'numba-cuda[cu13]'")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    text = f"import gc, {module}; gc.freeze(); gc.set_threshold(50_000, 20, 20); {module}.check_ptx()"
    done = subprocess.run([sys.executable, "-c", text], env=environment | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
