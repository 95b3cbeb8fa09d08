"""The limiter of modal DG on the device: its kernels and the arrays that they name, see `limiter_source`."""
import numpy as np

from ....methods.dg.limiters.limiter import Limiter
from .layout import Layout
from .limiter_source import LimiterSource


class DeviceLimiter:
    """The limiter of some operations on the device."""

    def __init__(self, operations):
        self.operations, self.backend, tables = operations, operations.backend, operations.tables
        self.limits, self.elements = tables.limits, tables.elements
        self.limiter = Limiter(tables.limits, tables.law, tables.physics.parameters, self.backend.dtype)
        self.texts = LimiterSource(operations.source, self.limiter).texts
        vertices = self.limits.around.shape[1] if self.limits.options.around else 1
        self.layouts = {"elements": operations.layout, "vertices": Layout(vertices)}
        self._arrays = {}

    def launches(self, q):
        """The launches that limit a state in place, by name."""
        return {name: lambda name=name: self.launch(name, q) for name in self.texts}

    def launch(self, name, q):
        over, others = ("vertices", "elements") if name == "extremes" else ("elements", "vertices")
        count, width = self.layouts[over].elements, self.layouts[over].width
        arrays = [self.array(array) for array in self.texts[name][1]]
        self.operations.launch(name, q, *arrays, np.int64(self.layouts[others].width), end=(np.int32(count), np.int64(width)))

    def array(self, name):
        """The array or number that a kernel's argument of this name stands for."""
        if name not in self._arrays:
            self._arrays[name] = self._array(name)
        return self._arrays[name]

    def _array(self, name):
        kind, _, rest = name.partition("_")
        elements, limiter = self.layouts["elements"], self.limiter
        if name in ("geometry", "matrix"):
            return getattr(self.operations, name)
        if name == "around_count":
            return np.int32(len(self.limits.around))
        if kind == "by":
            return self.backend.array(limiter.matrices[rest].reshape(-1))
        if kind == "of":
            return self.backend.array(elements.pack(getattr(self.limits, rest).reshape(-1, self.elements), self.backend.dtype))
        if kind == "kept":
            variables, rows = limiter.kept[rest]
            return self.backend.zeros(elements.size(variables * rows))
        if name == "extremes":
            rows = 2 * self.operations.tables.variables * limiter.rows_of_means
            return self.backend.zeros(self.layouts["vertices"].size(rows))
        numbers = getattr(self.limits, rest)
        if rest == "beyond":          # face * elements + element
            face, element = np.divmod(numbers, self.elements)
            numbers = face * elements.width + element
        layout = self.layouts["vertices" if rest == "around" else "elements"]
        return self.backend.integers(layout.pack(numbers.astype(np.int32 if numbers.max() < 2 ** 31 else np.int64)))
