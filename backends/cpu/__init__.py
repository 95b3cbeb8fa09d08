"""The CPU backend: NumPy arrays, and numba kernels generated for the law, order and dtype of the run."""
import os

import numpy as np

from ..arrays import ArrayBackend
from .nodal import NodalFused
from .reduce import all_finite
from .workers import Workers

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
        self.workers = Workers(self.threads)

    def finite(self, q):
        return all_finite(q.reshape(-1), self.workers)

    def nodal(self, tables):
        return NodalFused(self, tables)
