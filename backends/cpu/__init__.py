"""The CPU backend: NumPy arrays, and numba kernels generated for the law, order and dtype of the run."""
import numpy as np

from ..arrays import ArrayBackend
from .edges import EdgesFused, surface_of
from .hermite import HermiteFused
from .nodal import NodalFused
from .reduce import all_finite

__all__ = ["CpuBackend"]


class CpuBackend(ArrayBackend):
    """Fused, multi-threaded kernels where measurement shows a gain; everything else is the reference's."""

    kernels, hermite_variant, hermite_varying = "fused", "monolithic", "fused"

    def __init__(self, dtype, threads=None):
        super().__init__(np, dtype, "numpy", threads)

    def finite(self, q):
        return all_finite(q.reshape(-1), self.workers)

    def nodal(self, tables):
        return NodalFused(self, tables)

    def modal(self, tables):
        surface = surface_of(tables.surface, tables.dim, tables.order, self.dtype)
        return (EdgesFused if surface == "edges" else NodalFused)(self, tables)

    def hermite(self, tables):
        return HermiteFused(self, tables)
