"""An array type that, like CuPy's, never turns into a NumPy array by itself: the array backend is tested on it without a GPU.

Only `get` reaches the numbers.  NumPy functions and operators work among strict arrays and Python numbers (NEP 13, NEP 18);
a NumPy array or an array scalar beside a strict one is refused, and so is an implicit conversion.

While a graph is captured (`capturing`), work with a place for its result is kept for later, as a stream in capture does;
copies to or from the host and new arrays are refused, which a CUDA graph cannot hold.
"""
import threading
from collections import Counter
from contextlib import contextmanager

import numpy as np


class Capture(threading.local):
    """What a thread captures: the list of calls that the graph being captured holds."""

    calls = None


_captured = Capture()


@contextmanager
def capturing():
    """Keep the work of the block instead of doing it; gives the list of calls that do it."""
    if _captured.calls is not None:
        raise RuntimeError("a graph is captured within the capture of another")
    _captured.calls = calls = []
    try:
        yield calls
    finally:
        _captured.calls = None


_counters = []


@contextmanager
def counting():
    """Count what the block launches on the device: gives a Counter {name of a function of arrays or of a kernel: launches}.

    Views, arrays without values and an assignment of an array to itself launch nothing."""
    _counters.append(Counter())
    try:
        yield _counters[-1]
    finally:
        _counters.pop()


def count(name):
    for counter in _counters:
        counter[name] += 1


def enqueue(call):
    """Do what has been asked of the device, or keep it for the graph that is captured."""
    if _captured.calls is None:
        call()
    else:
        _captured.calls.append(call)


def refuse_in_graph(what):
    if _captured.calls is not None:
        raise RuntimeError(f"{what} while a graph is captured")


class StrictArray(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, values):
        self.values = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    nbytes = property(lambda self: self.values.nbytes)
    strides = property(lambda self: self.values.strides)
    flags = property(lambda self: self.values.flags)
    T = property(lambda self: StrictArray(self.values.T))

    def get(self):
        refuse_in_graph("a copy to the host")
        return np.array(self.values)

    def set(self, values):
        """The explicit transfer from the host."""
        refuse_in_graph("a copy from the host")
        assert isinstance(values, np.ndarray) and (values.shape, values.dtype) == (self.shape, self.dtype)
        self.values[...] = values

    def item(self):
        return self.get().item()

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion of a device array to NumPy")

    def __float__(self):
        return float(self.get())               # CuPy allows it for one value: an explicit transfer

    def __bool__(self):
        return bool(self.get())

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return (wrap(row) for row in self.values)

    def __getitem__(self, key):
        key = unwrap(key)
        key = key if isinstance(key, tuple) else (key,)
        return device(np.ndarray.__getitem__, (self.values, key if any(k is ... for k in key) else (*key, ...)))

    def __setitem__(self, key, value):
        key, value = unwrap(key), unwrap(value)
        if not (isinstance(value, np.ndarray) and same(value, self.values[key])):
            count("copy")
        enqueue(lambda: self.values.__setitem__(key, value))

    def fill(self, value):
        self[...] = value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return device(ufunc if method == "__call__" else getattr(ufunc, method), unwrap(inputs), unwrap(kwargs))

    def __array_function__(self, function, types, args, kwargs):
        return device(function, unwrap(args), unwrap(kwargs))

    def __getattr__(self, name):
        method = getattr(self.values, name)
        if not callable(method):
            return wrap(method)

        def call(*args, **kwargs):
            return device(method, unwrap(args), unwrap(kwargs), of=self.values)
        return call


def device(function, args, kwargs=None, of=None):
    """function(*args, **kwargs) on the device: at once, or with the graph that is captured."""
    kwargs = kwargs or {}
    out = kwargs.get("out")
    name = getattr(function, "__name__", str(function))
    if out is not None:
        count(name)
    if _captured.calls is not None and out is not None:
        enqueue(lambda: function(*args, **kwargs))
        return wrap(out[0] if isinstance(out, tuple) and len(out) == 1 else out)
    result = function(*args, **kwargs)
    known = [a for a in (of, *args) if isinstance(a, np.ndarray)]
    new = [array for array in (result if isinstance(result, (tuple, list)) else [result])
           if isinstance(array, (np.ndarray, np.generic)) and not any(np.may_share_memory(array, a) for a in known)]
    if new and out is None:
        refuse_in_graph(f"a new array of {name}()")
        if not name.startswith("empty"):
            count(name)
    return wrap(result)


def same(a, b):
    """Whether two arrays are the same memory in the same order."""
    return (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)


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
        if isinstance(values, StrictArray):
            return values
        refuse_in_graph("a copy from the host")
        return StrictArray(np.array(values, dtype))

    def ElementwiseKernel(self, *arguments, **options):
        from emulated_elementwise import ElementwiseKernel
        return ElementwiseKernel(*arguments, **options)

    def __getattr__(self, name):
        function = getattr(np, name)

        def call(*args, **kwargs):
            return device(function, unwrap(args), unwrap(kwargs))
        return call
