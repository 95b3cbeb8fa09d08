"""Products of power series on arrays of CuPy, by one launch: see `dgarray.physics.taylor`."""
from functools import cache

from ..physics.codegen import Cuda


def multiply(xp, d, a, b):
    """The product of two series in d variables, arrays (coefficient, ..., *places) of one dtype: c_k = sum_i a_i b_(k - i), of
    which there are as many as of b; a may have fewer, and one place for all along an axis."""
    c = xp.empty(b.shape, b.dtype)
    kernel(xp, b.dtype.name, a.shape[:d], b.ndim)(xp.broadcast_to(a, (*a.shape[:d], *b.shape[d:])), b, c)
    return c


@cache
def kernel(xp, dtype, counts, axes):
    """The `cupy.ElementwiseKernel` of series with so many axes, the first ones of coefficients, of which a has these counts."""
    body = [f"ptrdiff_t first[{axes}], second[{axes}];", f"{Cuda(dtype).real} sum = 0;",
            f"for (int axis = 0; axis < {axes}; ++axis) first[axis] = second[axis] = _ind.get()[axis];",
            *(f"for (first[{k}] = 0; first[{k}] <= _ind.get()[{k}] && first[{k}] < {count}; ++first[{k}]) {{ "
              f"second[{k}] = _ind.get()[{k}] - first[{k}];" for k, count in enumerate(counts)),
            "sum += a[first] * b[second];", "}" * len(counts), "c = sum;"]
    return xp.ElementwiseKernel(f"raw {dtype} a, raw {dtype} b", f"{dtype} c", "\n".join(body), "multiply_series",
                                reduce_dims=False, no_return=True)
