"""An array type that, like CuPy's, never turns into a NumPy array by itself: the array backend is tested on it without a GPU.

Only `get` reaches the numbers.  NumPy functions and operators work among strict arrays and Python numbers (NEP 13, NEP 18);
a NumPy array or an array scalar beside a strict one is refused, and so is an implicit conversion.
"""
import numpy as np


class StrictArray(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, values):
        self.values = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    nbytes = property(lambda self: self.values.nbytes)

    def get(self):
        return np.array(self.values)

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion of a device array to NumPy")

    def __float__(self):
        return float(self.values)              # CuPy allows it for one value: an explicit transfer

    def __bool__(self):
        return bool(self.values)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return (wrap(row) for row in self.values)

    def __getitem__(self, key):
        return wrap(self.values[unwrap(key)])

    def __setitem__(self, key, value):
        self.values[unwrap(key)] = unwrap(value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return wrap(getattr(ufunc, method)(*unwrap(inputs), **unwrap(kwargs)))

    def __array_function__(self, function, types, args, kwargs):
        return wrap(function(*unwrap(args), **unwrap(kwargs)))

    def __getattr__(self, name):
        method = getattr(self.values, name)

        def call(*args, **kwargs):
            return wrap(method(*unwrap(args), **unwrap(kwargs)))
        return call


def wrap(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return StrictArray(np.asarray(value))
    return type(value)(wrap(v) for v in value) if isinstance(value, (tuple, list)) else value


def unwrap(value):
    if isinstance(value, StrictArray):
        return value.values
    if isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(f"NumPy {type(value).__name__} beside a device array")
    if isinstance(value, (tuple, list)):
        return type(value)(unwrap(v) for v in value)
    return {k: unwrap(v) for k, v in value.items()} if isinstance(value, dict) else value


class StrictNamespace:
    """What `cupy` is to CuPy arrays: functions that make strict arrays, NumPy's functions on them."""

    def asarray(self, values, dtype=None):
        return values if isinstance(values, StrictArray) else StrictArray(np.array(values, dtype))

    def __getattr__(self, name):
        function = getattr(np, name)

        def call(*args, **kwargs):
            return wrap(function(*unwrap(args), **unwrap(kwargs)))
        return call
