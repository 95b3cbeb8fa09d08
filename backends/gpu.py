"""Whether a GPU can be used, `gpu_problem`, and whether it still can be after an error, `poisons_context`.

`gpu_problem` looks for the libraries, the NVIDIA driver and the device, in this order, then tries a kernel of each kind."""
import ctypes
import os
import re
import sys
import warnings
from importlib import import_module
from importlib.metadata import version as installed
from importlib.util import find_spec

DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
RELEASE = {12: "R525", 13: "R580"}            # the oldest driver for each CUDA version; it serves all minor versions
OLDEST = {12: (5, 0), 13: (7, 5)}             # the lowest compute capability of each CUDA version
INSTALL = "pip install 'dgarray[gpu]'"
THREADS = 32
SOURCE = 'extern "C" __global__ void add_thread(double* a) { a[threadIdx.x] += threadIdx.x; }'
# Errors after which no CUDA call of this process succeeds: those of which CUDA's driver_types.h says "the process must be
# terminated and relaunched", and uncorrectable memory errors. Names of the runtime and the driver, in lower case, without "_".
POISON = {"illegaladdress", "launchtimeout", "assert", "hardwarestackerror", "illegalinstruction", "misalignedaddress",
          "invalidaddressspace", "invalidpc", "launchfailure", "launchfailed", "tensormemoryleak", "contained",
          "mpsclientterminated", "externaldevice", "contextisdestroyed", "eccuncorrectable", "nvlinkuncorrectable"}
_working = set()              # kinds of kernels that have run in this process; they are not tried again


def gpu_problem(kernels=None, device=None):
    """Why no GPU can be used with `kernels`, in one line: what was found and what to install. None if one can be used.

    device: number of the GPU, counted again from 0 beyond the last one, which becomes the current one; None: the current one"""
    for module, package in {"cupy": "CuPy", "numba_cuda": "numba-cuda"}.items():
        if find_spec(module) is None and not (module == "numba_cuda" and kernels == "array"):
            return f"{package} is not installed ({INSTALL})"
    version, problem = driver()
    if problem:
        return problem
    try:
        import cupy
    except ImportError as error:
        return f"CuPy is installed, but cannot be imported: {one_line(error)}"
    if device is not None:
        cupy.cuda.Device(device % cupy.cuda.runtime.getDeviceCount()).use()
    return _unusable(version, cupy) or (None if kernels == "array" else _no_kernels(cupy))


def driver():
    """(CUDA version of the NVIDIA driver, 12040 for 12.4; why driver or device is missing, or None). Works without CuPy."""
    try:
        cuda = ctypes.CDLL(DRIVER)
    except OSError:
        return 0, f"there is no NVIDIA driver (looked for {DRIVER}); install driver {RELEASE[13]} or newer"
    version, count, name = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_char_p()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    failure = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if failure or not count.value:
        cuda.cuGetErrorName(failure, ctypes.byref(name))
        reason = name.value.decode() if failure and name.value else "it counts 0 devices"
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        hidden = "" if visible is None else f"; CUDA_VISIBLE_DEVICES={visible!r} may hide it"
        return version.value, f"the NVIDIA driver for CUDA {shown(version.value)} finds no GPU ({reason}){hidden}"
    return version.value, None


def _too_old(version, cupy):
    """Why the driver or the device is too old for this CuPy, or None."""
    needed = cupy.cuda.driver.get_build_version() // 1000
    if version // 1000 < needed:
        return (f"the NVIDIA driver is for CUDA {shown(version)}, but CuPy {cupy.__version__} needs CUDA {needed}; install "
                f"driver {RELEASE.get(needed, 'of that version')} or newer, or pip install "
                f"'cupy-cuda{version // 1000}x[ctk]' 'numba-cuda[cu{version // 1000}]'")
    found = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    capability, oldest = (found["major"], found["minor"]), OLDEST.get(needed, (0, 0))
    if capability < oldest:
        return (f"{found['name'].decode()} has compute capability {'.'.join(map(str, capability))}, but CUDA {needed} needs "
                f"{'.'.join(map(str, oldest))} or higher")
    return None


def _unusable(version, cupy):
    """Why a device that is there cannot be used, or None. Tries memory, compiler, headers, a launch and cuBLAS."""
    runtime = cupy.cuda.runtime
    try:
        old = _too_old(version, cupy)
        if old:
            return old
        float((cupy.zeros(1) + 1).sum())
        cupy.cuda.Device().cublas_handle          # noqa: B018
    except (MemoryError, RuntimeError, OSError, ImportError) as error:
        if isinstance(error, MemoryError) or "MemoryAllocation" in str(error):
            name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
            return f"the memory of {name} is full ({one_line(error)}); nvidia-smi lists the programs that have it"
        return f"CuPy {cupy.__version__} is installed, but does not work ({one_line(error)}); {INSTALL} has all that it needs"
    return None


def _no_kernels(cupy):
    """Why kernels do not run on the device, or None. Compiles and launches a small kernel of each kind, once in a process."""
    for name, version, run in (("CuPy", lambda: cupy.__version__, by_cupy),
                               ("numba-cuda", lambda: installed("numba-cuda"), by_numba)):
        if name in _working:
            continue
        try:
            if name == "numba-cuda" and simulated():
                return "NUMBA_ENABLE_CUDASIM is set, so numba.cuda's kernels run in its simulator on the CPU; unset it"
            a = cupy.zeros(THREADS)
            run(cupy, a)
            right = a.get().tolist() == list(range(THREADS))
        except Exception as error:          # compilers and drivers have exceptions of their own
            return (f"{name} {version()} is installed, but its kernels do not run ({first_error(str(error) or repr(error))}); "
                    f"{INSTALL} has all that it needs")
        if not right:
            return f"a kernel of {name} {version()} runs, but gives wrong results"
        _working.add(name)
    return None


def simulated():
    """Whether numba.cuda runs kernels in numba's simulator, on the CPU."""
    from numba import cuda
    return bool(cuda.config.ENABLE_CUDASIM)


def by_cupy(cupy, a):
    """a[i] += i by a kernel in CUDA C."""
    cupy.RawModule(code=SOURCE, options=("-std=c++17",)).get_function("add_thread")((1,), (THREADS,), (a,))


def numba_cuda():
    """The module numba.cuda, able to compile kernels.

    Before it compiles its first kernel numba-cuda registers functions of NumPy, with `row_stack` among them, which NumPy 2.5 no
    longer has; its developers will not change that (NVIDIA/numba-cuda, issue 907).  So NumPy has one meanwhile."""
    import numpy as np
    from numba import cuda
    names = vars(np)
    if not cuda.config.ENABLE_CUDASIM and "row_stack" not in names:
        names["row_stack"] = lambda arrays: np.vstack(arrays)
        try:
            import_module("numba.cuda.np.arrayobj")
        finally:
            del names["row_stack"]
    return cuda


def by_numba(cupy, a):
    """a[i] += i by a kernel of numba.cuda."""
    cuda = numba_cuda()

    @cuda.jit
    def add_thread(a):
        a[cuda.threadIdx.x] += cuda.threadIdx.x
    interface = dict(a.__cuda_array_interface__)
    interface.pop("stream", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")              # numba warns of small grids
        add_thread[1, THREADS](cuda.from_cuda_array_interface(interface, sync=False))


def first_error(log):
    """The first line of a compiler's log that names an error, else its first line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["the compiler does not say why"]
    return next((line for line in lines if re.search(r"\berror\b", line)), lines[0])


def poisons_context(error):
    """Whether every CUDA call of this process fails after `error`, or after an exception that caused it.

    error: an exception of CuPy (CUDARuntimeError, CUDADriverError), numba-cuda (CudaAPIError) or CUDA's Python (CUDAError)"""
    while error is not None:
        if type(error).__name__.lower().startswith("cuda"):
            names = re.findall(r"\b(?:cudaError|CUDA_ERROR_)(\w+)", str(error))
            if POISON.intersection(name.replace("_", "").lower() for name in names):
                return True
        error = error.__cause__ or error.__context__
    return False


def shown(version):
    """12040 as "12.4"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def one_line(error):
    return " ".join(str(error).split()) or type(error).__name__
