"""Backends: where arrays live and which kernels work on them.

backend    kernels   arrays   hot operations
"numpy"    "fused"   NumPy    numba, multi-threaded (the default)
"numpy"    "array"   NumPy    batched array expressions: the reference
"cupy"     "fused"   CuPy     CUDA C and numba.cuda (the default)
"cupy"     "array"   CuPy     the same expressions on the GPU
"jax"      "array"   NumPy    the same programs compiled by XLA for the CPU
"auto"               CuPy where a CUDA device is usable, else NumPy
"""
from __future__ import annotations

from importlib.util import find_spec
from numbers import Real
from typing import Any

from ..support.wording import choose
from .arrays import ArrayBackend
from .gpu import gpu_problem

__all__ = ["DTYPES", "KERNELS", "NAMES", "check", "get", "gpu_problem"]
NAMES, KERNELS, DTYPES = ("numpy", "cupy", "jax", "auto"), ("fused", "array"), ("float64", "float32")


def check(name="numpy", kernels=None, dtype="float64", threads=None):
    """Raise ValueError for a backend, kernels, dtype or number of threads that does not exist."""
    choose("backend", name, NAMES)
    choose("dtype", dtype_name(dtype), DTYPES)
    if kernels is not None:
        choose("kernels", kernels, KERNELS)
    if threads is not None and (not isinstance(threads, Real) or threads % 1 or threads < 1):
        raise ValueError(f"threads={threads!r} is not allowed; it must be a whole number from 1")
    if threads is not None and name == "cupy":
        raise ValueError(f"threads={threads} is for the CPU; backend 'cupy' takes none")
    if name == "jax" and (threads is not None or kernels == "fused"):
        given = f"threads={threads}" if threads is not None else "kernels='fused'"
        raise ValueError(f"{given} is not allowed for backend 'jax', whose programs XLA compiles and spreads over threads; "
                         "leave it out")


def dtype_name(dtype):
    return dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))


def get(name: str = "numpy", kernels: str | None = None, dtype: Any = "float64", threads: int | None = None,
        device: int | None = None) -> Any:
    """Return the backend called `name`, an `ArrayBackend` or a subclass with fused kernels.

    name      "numpy", "cupy", "jax", or "auto": CuPy if a GPU can be used, else NumPy; the backend's `note` then says why
    kernels   "fused" or "array"; None: fused
    dtype     of the arrays, "float64" or "float32", by name or as NumPy's type
    threads   CPU threads that compute; None: one for every processor that this process may use
    device    number of the GPU, counted again from 0 beyond the last one; None: the current one
    Raises ValueError as `check` does, RuntimeError if "cupy" is asked for and no GPU can be used, and ImportError if "jax" is
    and is not installed."""
    check(name, kernels, dtype, threads)
    dtype = dtype_name(dtype)
    if name == "auto":
        if threads is not None:
            backend = get("numpy", kernels, dtype, threads)
            backend.note = f"chosen because threads={threads} is given, which are threads of the CPU"
            return backend
        problem = gpu_problem(kernels)
        backend = get("numpy" if problem else "cupy", kernels, dtype)
        backend.note = f"no GPU is used: {problem}" if problem else ""
        return backend
    if name == "numpy" and kernels != "array":
        from .cpu import CpuBackend
        return CpuBackend(dtype, threads)
    if name == "numpy":
        import numpy
        return ArrayBackend(numpy, dtype, "numpy", threads)
    if name == "jax":
        if find_spec("jax") is None:
            raise ImportError("backend 'jax' needs jax: pip install 'dgarray[jax]'")
        from .jax import JaxBackend
        return JaxBackend(dtype)
    problem = gpu_problem(kernels) if device is None else gpu_problem(kernels, device)
    if problem:
        raise RuntimeError(f"backend 'cupy' cannot be used: {problem}; use backend 'numpy' or 'auto'")
    if kernels != "array":
        from .cuda import CudaBackend
        from .cuda.device import Device
        return CudaBackend(dtype, Device())
    import cupy
    return ArrayBackend(cupy, dtype, "cupy")
