"""The CPU backend: NumPy arrays, and numba kernels generated for the law, order and dtype of the run."""
import os

import numpy as np

from ..arrays import ArrayBackend

__all__ = ["CpuBackend"]


class CpuBackend(ArrayBackend):
    """Fused, multi-threaded kernels where measurement shows a gain; everything else is the reference's."""

    kernels = "fused"

    def __init__(self, dtype, threads=None):
        super().__init__(np, dtype, "numpy")
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.threads = available if threads is None else int(threads)
        if self.threads > available:
            raise ValueError(f"threads={threads} is not allowed; this process may use {available}")

    def finite(self, q):
        from .reduce import total
        return bool(np.isfinite(total(q.reshape(-1), self.threads)))

    def nodal(self, tables):
        from .nodal import NodalFused
        return NodalFused(self, tables)
