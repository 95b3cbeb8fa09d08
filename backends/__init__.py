"""Backends: where arrays live and which kernels work on them.

backend    kernels   arrays   hot operations
"numpy"    "fused"   NumPy    numba, multi-threaded (the default)
"numpy"    "array"   NumPy    batched array expressions: the reference
"cupy"     "array"   CuPy     the same text on the GPU
"auto"               CuPy where a CUDA device is usable, else NumPy
"""
from ..names import choose
from .arrays import ArrayBackend

NAMES, KERNELS, DTYPES = ("numpy", "cupy", "auto"), ("fused", "array"), ("float64", "float32")


def get(name="numpy", kernels=None, dtype="float64", threads=None):
    """The backend of that name with arrays of `dtype`, computing on `threads` CPU threads (all by default).

    Raises ValueError for a name, kernels or dtype that does not exist, and RuntimeError where no GPU can be used."""
    choose("backend", name, NAMES)
    dtype = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    choose("dtype", dtype, DTYPES)
    if kernels is not None:
        choose("kernels", kernels, KERNELS)
    if threads is not None and (threads != int(threads) or threads < 1):
        raise ValueError(f"threads={threads!r} is not allowed; it must be a whole number from 1")
    if name == "auto":
        name = "cupy" if gpu_problem() is None else "numpy"
    if threads is not None and name == "cupy":
        raise ValueError(f"threads={threads} is for the CPU; backend 'cupy' takes none")
    if name == "numpy" and kernels != "array":
        from .cpu import CpuBackend
        return CpuBackend(dtype, threads)
    if name == "numpy":
        import numpy
        return ArrayBackend(numpy, dtype, "numpy", threads)
    if kernels == "fused":
        raise ValueError("kernels='fused' is not available for backend 'cupy'; allowed: array")
    problem = gpu_problem()
    if problem:
        raise RuntimeError(f"backend 'cupy' cannot be used: {problem}; use backend 'numpy' or 'auto'")
    import cupy
    return ArrayBackend(cupy, dtype, "cupy")


def gpu_problem():
    """Why no GPU can be used, as one line, or None where one can."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed (pip install 'dgarray[gpu]')"
    try:
        cupy.cuda.runtime.getDeviceCount()
        cupy.zeros(1).sum().item()
    except (cupy.cuda.runtime.CUDARuntimeError, RuntimeError, OSError) as error:
        return f"CuPy {cupy.__version__} is installed, but no CUDA device answers ({' '.join(str(error).split())})"
    return None

