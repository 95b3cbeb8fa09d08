"""The CPU backend: NumPy arrays, and numba kernels generated for the law, order and dtype of the run."""
from itertools import groupby

import numpy as np

from ...methods.dg.bilinear_sums import BilinearSums
from ...methods.dg.element_values import ElementValues
from ...methods.dg.set_operations import CurvedOperations, SetOperations, TensorOperations
from ...methods.finite_volume.sweeps import Sweeps
from ...methods.hermite.half_steps import HalfSteps
from ..arrays import ArrayBackend
from .dg.bilinear_sums import FusedSums
from .dg.curved import CurvedFused
from .dg.edges import EdgesFused
from .dg.element_values import FusedValues
from .dg.fused import NodalFused
from .dg.tensor import TensorFused
from .finite_volume.fused import SweepsFused
from .hermite.fused import HermiteFused
from .simd import subnormals
from .simd.reduce import all_finite
from .threaded_loops import LoopList

__all__ = ["CpuBackend"]


class CpuBackend(ArrayBackend):
    """Fused, multi-threaded kernels where measurement shows a gain; everything else is the reference's."""

    kernels = "fused"
    new_workers = staticmethod(subnormals.workers)

    def __init__(self, dtype, threads=None):
        super().__init__(np, dtype, "numpy", threads)

    def functions_of(self, operations):
        """As the reference; operations by loops that follow each other are one run of the threads."""
        found = []
        for fused, group in groupby(operations, lambda operation: operation.loop is not None):
            if fused:
                found.append(LoopList([operation.loop for operation in group], self.workers))
            else:
                found += super().functions_of(group)
        return found

    def hermite_variant(self, varies):
        return "monolithic"

    def finite(self, q):
        return all_finite(q.reshape(-1), self.workers)

    def kind(self, recipe, tables):
        if recipe is SetOperations:
            return EdgesFused if EdgesFused.serves(tables, self.dtype) else NodalFused
        return {BilinearSums: FusedSums, CurvedOperations: CurvedFused, ElementValues: FusedValues, HalfSteps: HermiteFused,
                Sweeps: SweepsFused, TensorOperations: TensorFused}.get(recipe, recipe)
