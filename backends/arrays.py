"""Arrays on NumPy or CuPy, and what every method needs of them: products in pieces, reductions, moves to and from the host."""
import numpy as np

from ..reference.columns import multiply
from ..system_memory import host_free
from .workers import Workers

PIECE = 1 << 18                # multiply-adds of a product that BLAS libraries leave to one thread


class ArrayBackend:
    """Arrays of one library `xp` in one dtype, and the operations on them.

    note   why "auto" has chosen this backend, where there is a reason to tell"""

    kernels, note = "array", ""
    hermite_variant = "two-kernel"          # the fastest of Hermite's variants for systems
    hermite_varying = "array"               # its kernels where coefficients vary

    def __init__(self, xp, dtype, name, threads=1):
        self.xp, self.dtype, self.name = xp, np.dtype(dtype), name
        self.workers = Workers(threads)
        self.threads = self.workers.threads

    def __repr__(self):
        return f"{self.name} ({self.kernels} kernels, {self.dtype})"

    def array(self, values):
        """Move real numbers to the backend in the run's dtype."""
        return moved(self.xp, np.ascontiguousarray(values, self.dtype))

    def copied(self, values):
        """A copy in the run's dtype of an array of the host, or of one that is on the backend already."""
        if self.xp is np or not hasattr(values, "get"):
            return self.array(np.array(values))
        return self.xp.array(values, self.dtype)

    def integers(self, values):
        return moved(self.xp, np.ascontiguousarray(values))

    def zeros(self, shape):
        return self.xp.zeros(shape, self.dtype)

    def host(self, array):
        """The array as a NumPy array, copied."""
        return array.get() if hasattr(array, "get") else np.array(array)

    def finite(self, q):
        """Whether every value is finite."""
        return bool(self.xp.all(self.xp.isfinite(q)))

    def largest(self, values):
        return float(self.xp.max(values))

    def product(self, matrix, values):
        """matrix @ values for every variable of values (variable, row, element), in pieces of elements on a CPU.

        A piece is so small that a BLAS library computes it on the calling thread: a share of such a product is worth less
        than the wait for another thread, which takes milliseconds where the processors have other work."""
        variables, _, count = values.shape
        size = count if self.name == "cupy" else max(16, PIECE // matrix.size // 8 * 8)
        out = self.xp.empty((variables, len(matrix), count), values.dtype)
        even = count // size * size
        for part, width in ((slice(0, even), size), (slice(even, count), count - even)):
            if part.stop > part.start:
                source, target = (a[:, :, part].reshape(variables, a.shape[1], -1, width).swapaxes(1, 2) for a in (values, out))
                on_host = self.name != "cupy"
                target[...] = multiply(matrix, source, self.xp) if on_host else self.xp.matmul(matrix, source)
        return out

    def combine(self, out, *terms):
        """out = sum of factor * array over the terms (factor, array)."""
        (factor, array), *others = terms
        total = float(factor) * array
        for factor, array in others:
            total += float(factor) * array
        out[...] = total

    def free_memory(self):
        """Bytes that are free: (on the host, on the device); None for what nobody knows, and for a device on the CPU."""
        if self.name != "cupy":
            return host_free(), None
        # What the pool has kept of arrays that are gone will be used again.
        return host_free(), self.xp.cuda.runtime.memGetInfo()[0] + self.xp.get_default_memory_pool().free_bytes()

    def kind(self, recipe, tables):
        """The class that computes a method on these tables: its recipe, or one of kernels that overrides it.

        recipe: class of a method, such as `dgarray.methods.dg.weak_form.WeakForm`; tables: what it works on, whose arrays need
        not be there yet"""
        return recipe

    def operations(self, recipe, tables):
        """What computes a method on these tables, an object of that class."""
        return self.kind(recipe, tables)(self, tables)


def moved(xp, values):
    """A contiguous array of the host as one of the library xp.  CuPy's own `asarray` goes through page-locked memory, which it
    keeps, in powers of two."""
    if xp is np:
        return values
    array = xp.empty(values.shape, values.dtype)
    array.set(values)
    return array
