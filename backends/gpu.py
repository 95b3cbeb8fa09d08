"""Whether a GPU can be used: the libraries, the NVIDIA driver and the device are looked for, in this order."""
import ctypes
import os
import sys
from importlib.util import find_spec

DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
RELEASE = {12: "R525", 13: "R580"}            # the first driver of each CUDA version, which serves all its minor versions
OLDEST = {12: (5, 0), 13: (7, 5)}             # the lowest compute capability of each CUDA version
INSTALL = "pip install 'dgarray[gpu]'"


def gpu_problem(kernels=None):
    """Why no GPU can be used with these kernels, as one line: what was found, what to install; None where one can."""
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
    return _unusable(version, cupy)


def driver():
    """(CUDA version of the NVIDIA driver, 12040 for 12.4; why it or a device is missing, or None).  Needs no library."""
    try:
        cuda = ctypes.CDLL(DRIVER)
    except OSError:
        return 0, f"there is no NVIDIA driver ({DRIVER} was looked for); install driver {RELEASE[13]} or newer"
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
    """Why driver or device are too old for this CuPy, or None."""
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
    """Why the device cannot be used although it is there, or None: memory, compiler, headers, launches and cuBLAS are tried."""
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


def shown(version):
    """12040 as "12.4"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def one_line(error):
    return " ".join(str(error).split()) or type(error).__name__
