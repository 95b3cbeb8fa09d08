"""Arrays that remember how they were made: the derivatives of a number by what it was computed from, in reverse mode.

    p = Tracked(values)
    J = ((p - data) ** 2).sum()
    adjoints(J, [p])          # [dJ/dp]

NumPy's functions of them are NumPy's own, by its protocols (NEP 13, NEP 18), so xarray holds them, too. Adjoints b of complex
numbers z are such that dJ = Re(sum conj(b) dz).  Griewank & Walther 2008, chapter 3.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..physics.pullback import ADJOINTS, of_power
from .array_transposes import fitted, letters_of, of_einsum, of_fft, of_matmul, of_rfft, of_tensordot

SUPPORTED = ("+ - * / **, @, comparisons, sqrt, exp, log, sin, cos, tan, tanh, arctan2, abs, square, real, imag, conj, "
             "minimum, maximum, clip, where, sum, mean, max, min, var, std, trapezoid, cumsum, diff, dot, einsum, tensordot, "
             "concatenate, stack, reshape, transpose, indices, np.fft.fft, np.fft.rfft, np.linalg.norm")
EQUAL = {np.square: lambda x: x * x, np.reciprocal: lambda x: 1 / x, np.positive: lambda x: x,
         np.float_power: lambda x, k: x ** k, np.hypot: lambda x, y: (x * x + y * y) ** 0.5,
         np.expm1: lambda x: np.exp(x) - 1, np.log1p: lambda x: np.log(1 + x),
         np.log10: lambda x: np.log(x) / np.log(10), np.sinh: lambda x: (np.exp(x) - np.exp(-x)) / 2,
         np.cosh: lambda x: (np.exp(x) + np.exp(-x)) / 2}
PLAIN = {np.isnan, np.isfinite, np.isinf, np.sign, np.signbit, np.less, np.less_equal, np.greater, np.greater_equal, np.equal,
         np.not_equal, np.floor, np.ceil, np.rint, np.floor_divide, np.logical_not}          # without derivative, or it is 0


class Tracked(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose numbers somebody wants derivatives by, or that was computed from such arrays.

    value   the array;  parents: [(a `Tracked`, function from the adjoint of this array to that of the other one)]"""

    __array_priority__ = 100

    def __init__(self, value: Any, parents: Any = ()):
        self.value, self.parents = np.asarray(value), parents

    def __repr__(self):
        return f"Tracked({self.value!r})"

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    nbytes = property(lambda self: self.value.nbytes)
    T = property(lambda self: self.transpose())
    real = property(lambda self: np.real(self))
    imag = property(lambda self: np.imag(self))

    def __copy__(self, *_):          # it never changes, and a copy would be another array to the derivatives
        return self

    __deepcopy__ = __copy__

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __array__(self, *arguments, **options):
        raise TypeError("an array whose derivatives are asked for goes into a function that needs plain numbers, such as "
                        ".values, float() or ds.dg.norm; leave it out, and use NumPy's and xarray's own functions of records "
                        f"and fields: {SUPPORTED}")

    def __bool__(self):
        return bool(self.value)

    __float__ = __int__ = __complex__ = item = tolist = lambda self, *_: self.__array__()

    def __getitem__(self, index):
        index = tuple(map(plain, index)) if isinstance(index, tuple) else plain(index)

        def back(b):
            found = np.zeros(self.shape, b.dtype)
            np.add.at(found, index, b)
            return found
        return Tracked(self.value[index], [(self, back)])

    def astype(self, dtype, *arguments, **options):
        if np.dtype(dtype).kind not in "fc":
            self.__array__()
        return Tracked(self.value.astype(dtype), [(self, lambda b: b)])

    def copy(self, *arguments):
        return Tracked(self.value, [(self, lambda b: b)])

    def reshape(self, *shape, **options):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
        return Tracked(self.value.reshape(shape), [(self, lambda b: b.reshape(self.shape))])

    def ravel(self):
        return self.reshape(-1)

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        axes = tuple(range(self.ndim))[::-1] if not axes or axes[0] is None else tuple(axes)
        return Tracked(self.value.transpose(axes), [(self, lambda b: b.transpose(np.argsort(axes)))])

    def sum(self, axis=None, dtype=None, out=None, keepdims=False, **options):
        plain_options(options)
        return total(self, axis, keepdims)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False, **options):
        plain_options(options)
        found = total(self, axis, keepdims)
        return found * (max(found.size, 1) / self.size)

    def max(self, axis=None, out=None, keepdims=False, **options):
        return extreme(self, axis, keepdims, np.argmax, options)

    def min(self, axis=None, out=None, keepdims=False, **options):
        return extreme(self, axis, keepdims, np.argmin, options)

    def conj(self):
        return np.conj(self)

    conjugate = conj

    def __array_ufunc__(self, ufunc, method, *given, out=None, **options):
        if method == "reduce" and ufunc is np.add:
            plain_options({name: each for name, each in options.items() if name not in ("axis", "keepdims", "dtype")})
            return total(given[0], options.get("axis", 0), options.get("keepdims", False))
        if method != "__call__" or out is not None or options.keys() - {"casting", "dtype", "order", "subok"}:
            raise TypeError(f"np.{ufunc.__name__} as it is used here has no derivative; supported are {SUPPORTED}")
        if ufunc in PLAIN:
            return ufunc(*map(plain, given))
        if ufunc in EQUAL:
            return EQUAL[ufunc](*given)
        if ufunc is np.matmul:
            return einsum(of_matmul(*given), *given)
        return pointwise(ufunc, given)

    def __array_function__(self, function, types, given, options):
        if function not in FUNCTIONS:
            raise TypeError(f"{function.__module__}.{function.__name__} has no derivative here; supported are {SUPPORTED}")
        return FUNCTIONS[function](*given, **options)


def plain(value):
    """The numbers of an array, tracked or not."""
    return value.value if isinstance(value, Tracked) else value


def plain_options(options):
    """Raise TypeError for options of a sum that change it; those that do not are NumPy's own defaults."""
    for name, value in options.items():
        usual = value is None or value is np._NoValue or name == "where" and value is True
        if not usual and not (name == "initial" and np.ndim(value) == 0 and value == 0):
            raise TypeError(f"{name}= has no derivative here; take np.where before")


def tracked(given):
    """[(number, array)] of those arrays that are tracked."""
    return [(i, each) for i, each in enumerate(given) if isinstance(each, Tracked)]


def pointwise(ufunc, given):
    """A function at each point, by the adjoints of `dgarray.physics.pullback`."""
    values = [plain(each) for each in given]
    name = {"conjugate": "conj"}.get(ufunc.__name__, ufunc.__name__)
    if name not in (*ADJOINTS, "power", "conj"):
        raise TypeError(f"np.{ufunc.__name__} has no derivative here; supported are {SUPPORTED}")
    result = ufunc(*values)

    def back(i, b):
        if name == "conj":
            return np.conj(b)
        if name == "absolute":
            return b * np.sign(values[0])
        if name == "power":
            found = of_power(np.conj(b), result, *values, i == 1)[i]
        else:
            found = ADJOINTS[name](np.conj(b), result, *values)[i]
        return np.conj(np.zeros(np.shape(result)) if found is None else found)
    return Tracked(result, [(each, lambda b, i=i, each=each: fitted(back(i, b), each.value)) for i, each in tracked(given)])


def total(a, axis=None, keepdims=False):
    """The sum over axes."""
    def back(b):
        if axis is not None and not keepdims:
            axes = axis if isinstance(axis, tuple) else (axis,)
            b = np.expand_dims(b, tuple(i % a.ndim for i in axes))
        return np.broadcast_to(b, a.shape)
    return Tracked(a.value.sum(axis=axis, keepdims=bool(keepdims)), [(a, back)])


def mean(a, axis=None, dtype=None, out=None, keepdims=False, **options):
    return a.mean(axis, keepdims=keepdims, **options)


def extreme(a, axis, keepdims, place, options):
    """The largest or least entry along an axis, or of all; of several that are equal the first."""
    plain_options({name: True if name == "initial" and value is not np._NoValue else value for name, value in options.items()})
    if axis is None or isinstance(axis, tuple) and len(axis) == a.ndim:
        found = a.ravel()[int(place(a.value))]
        return found.reshape((1,) * a.ndim) if keepdims else found
    if isinstance(axis, tuple) and len(axis) > 1:          # one after the other, the last ones first
        for each in sorted((i % a.ndim for i in axis), reverse=True):
            a = extreme(a, each, keepdims, place, options)
        return a
    axis, = axis if isinstance(axis, tuple) else (axis,)
    at = np.expand_dims(place(a.value, axis), axis)
    index = list(np.ogrid[tuple(slice(n) for n in at.shape)])
    index[axis] = at
    found = a[tuple(index)]
    return found if keepdims else found.reshape(tuple(n for i, n in enumerate(found.shape) if i != axis % a.ndim))


def extreme_without_nan(a, given, options, place, least):
    """The same of the numbers that are not nan; nan where all are."""
    axis = given[0] if given else options.get("axis")
    keepdims = options.get("keepdims") is True
    there = ~np.isnan(a.value)
    found = extreme(where(there, a, least), axis, keepdims, place, {})
    return where(there.any(axis=axis, keepdims=keepdims), found, np.nan)


def variance(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **options):
    plain_options(options)
    around = a - a.mean(axis, keepdims=True)
    squares = total(np.real(around * np.conj(around)), axis, keepdims)
    return squares / (a.size / max(squares.size, 1) - ddof)


def nanvariance(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **options):
    """The variance of the numbers that are not nan."""
    there = ~np.isnan(a.value)
    around = where(there, a - nanmean(a, axis, keepdims=True, **options), 0.0)
    squares = total(np.real(around * np.conj(around)), axis, keepdims)
    return squares / (there.sum(axis=axis, keepdims=bool(keepdims)) - ddof)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    x = x if np.ndim(x) < 2 else np.moveaxis(x, axis, -1)
    y = np.moveaxis(y, axis, -1)
    return total((y[..., 1:] + y[..., :-1]) / 2 * (dx if x is None else np.diff(x)), -1)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, **options):
    plain_options(options)
    there = ~np.isnan(a.value)
    return total(where(there, a, 0.0), axis, keepdims) / there.sum(axis=axis, keepdims=bool(keepdims))


def linear(function, back):
    """A linear function of the first argument, with its transpose: a function of the array, the adjoint, and the arguments."""
    def found(a, *given, **options):
        return Tracked(function(a.value, *given, **options), [
            (a, lambda b: fitted(back(a.value, b, *given, **options), a.value))])
    return found


def einsum(subscripts, *given, **options):
    values = [plain(each) for each in given]
    inputs, result = letters_of(subscripts, values)
    return Tracked(np.einsum(f"{','.join(inputs)}->{result}", *values), [
        (each, lambda b, i=i, each=each: fitted(of_einsum(inputs, result, values, i, b), each.value))
        for i, each in tracked(given)])


def tensordot(a, b, axes=2):
    return einsum(of_tensordot(a, b, axes), a, b)


def dot(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return tensordot(a, b, ([np.ndim(a) - 1], [max(np.ndim(b) - 2, 0)]))


def norm(a, ord=None, axis=None, keepdims=False):
    """The root of the sum of squares."""
    if ord is not None:
        raise TypeError(f"np.linalg.norm with ord={ord!r} has no derivative here; leave it out")
    return total(np.real(a * np.conj(a)), axis, keepdims) ** 0.5


def concatenate(arrays, axis=0, **options):
    arrays = list(arrays)
    ends = np.cumsum([each.shape[axis] for each in arrays])

    def back(i, b):
        return np.take(b, np.arange(ends[i] - arrays[i].shape[axis], ends[i]), axis)
    return Tracked(np.concatenate([plain(each) for each in arrays], axis), [
        (each, lambda b, i=i, each=each: fitted(back(i, b), each.value)) for i, each in tracked(arrays)])


def stack(arrays, axis=0, **options):
    arrays = list(arrays)
    return Tracked(np.stack([plain(each) for each in arrays], axis), [
        (each, lambda b, i=i, each=each: fitted(np.take(b, i, axis), each.value)) for i, each in tracked(arrays)])


def where(condition, a, b):
    condition, given = plain(condition), (a, b)

    def back(i, adjoint):
        return np.where(condition, adjoint, 0) if i == 0 else np.where(condition, 0, adjoint)
    return Tracked(np.where(condition, plain(a), plain(b)), [
        (each, lambda adjoint, i=i, each=each: fitted(back(i, adjoint), each.value)) for i, each in tracked(given)])


summed_up = linear(np.cumsum, lambda a, b, axis: np.flip(np.cumsum(np.flip(b, axis), axis), axis))
FUNCTIONS: dict[Any, Any] = {
    np.sum: lambda a, *given, **options: a.sum(*given, **options), np.mean: mean, np.nanmean: nanmean,
    np.nansum: lambda a, *given, **options: np.nan_to_num(a).sum(*given, **options),
    np.max: lambda a, *given, **options: a.max(*given, **options),
    np.min: lambda a, *given, **options: a.min(*given, **options),
    np.nanmax: lambda a, *given, **options: extreme_without_nan(a, given, options, np.argmax, -np.inf),
    np.nanmin: lambda a, *given, **options: extreme_without_nan(a, given, options, np.argmin, np.inf),
    np.var: variance, np.nanvar: nanvariance,
    np.std: lambda a, *given, **options: variance(a, *given, **options) ** 0.5,
    np.nanstd: lambda a, *given, **options: nanvariance(a, *given, **options) ** 0.5,
    np.trapezoid: trapezoid, np.clip: lambda a, low=None, high=None, **options: clipped(a, low, high, options),
    np.linalg.norm: norm,
    np.reshape: lambda a, *shape, **options: a.reshape(*shape, *options.values()),
    np.ravel: lambda a, *_, **__: a.ravel(), np.transpose: lambda a, axes=None: a.transpose(*([] if axes is None else [axes])),
    np.moveaxis: linear(np.moveaxis, lambda a, b, source, destination: np.moveaxis(b, destination, source)),
    np.squeeze: linear(np.squeeze, lambda a, b, axis=None: b.reshape(a.shape)),
    np.expand_dims: linear(np.expand_dims, lambda a, b, axis: b.reshape(a.shape)),
    np.broadcast_to: linear(np.broadcast_to, lambda a, b, *_, **__: b),
    np.cumsum: lambda a, axis=None, **options: summed_up(a.ravel() if axis is None else a, 0 if axis is None else axis),
    np.nancumsum: lambda a, axis=None, **options: np.cumsum(where(np.isnan(a.value), 0.0, a), axis),
    np.diff: lambda a, n=1, axis=-1: differences(a, axis) if n == 1 else np.diff(differences(a, axis), n - 1, axis),
    np.real: linear(np.real, lambda a, b: b), np.imag: linear(np.imag, lambda a, b: 1j * b), np.einsum: einsum,
    np.tensordot: tensordot, np.dot: dot, np.concatenate: concatenate, np.stack: stack, np.where: where,
    np.fft.rfft: linear(np.fft.rfft, of_rfft), np.fft.fft: linear(np.fft.fft, of_fft),
    np.take: lambda a, indices, axis=None: (a.ravel() if axis is None else a)[
        (slice(None),) * (0 if axis is None else axis % a.ndim) + (indices,)],
    np.repeat: lambda a, repeats, axis=None: repeated(a, repeats, axis),
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a, axis=None: np.size(a.value, axis),
    np.iscomplexobj: lambda a: np.iscomplexobj(a.value), np.result_type: lambda *given: np.result_type(*map(plain, given)),
    np.nan_to_num: lambda a, **options: where(np.isfinite(a.value), a, np.nan_to_num(a.value, **options)),
    np.zeros_like: lambda a, *given, **options: np.zeros_like(a.value, *given, **options),
    np.ones_like: lambda a, *given, **options: np.ones_like(a.value, *given, **options),
    np.copy: lambda a, *_, **__: a.copy(), np.any: lambda a, *given, **options: np.any(plain(a), *given, **options),
    np.all: lambda a, *given, **options: np.all(plain(a), *given, **options),
}


def clipped(a, low, high, options):
    low, high = (next((options[name] for name in names if options.get(name) is not None), given)
                 for names, given in ((("min", "a_min"), low), (("max", "a_max"), high)))
    if unknown := options.keys() - {"min", "max", "a_min", "a_max"}:
        raise TypeError(f"np.clip with {', '.join(sorted(unknown))}= has no derivative here; leave it out")
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def repeated(a, repeats, axis):
    a = a.ravel() if axis is None else a
    axis = 0 if axis is None else axis % a.ndim
    return a[(slice(None),) * axis + (np.repeat(np.arange(a.shape[axis]), repeats),)]


def differences(a, axis):
    """The differences of neighbours along an axis."""
    last, first = [slice(None)] * a.ndim, [slice(None)] * a.ndim
    last[axis], first[axis] = slice(1, None), slice(None, -1)
    return a[tuple(last)] - a[tuple(first)]


def adjoints(number: Tracked, of: list[Tracked], adjoint: Any = 1.0) -> list[np.ndarray]:
    """The derivatives of a number by each of these arrays, of their shapes; or the adjoints that an adjoint of an array gives
    to them."""
    order, seen, found = [], set(), {}
    work = [(number, False)]
    while work:
        each, done = work.pop()
        if done:
            order.append(each)
        elif id(each) not in seen:
            seen.add(id(each))
            work.append((each, True))
            work += [(parent, False) for parent, _ in each.parents]
    found[id(number)] = np.broadcast_to(np.asarray(adjoint, number.dtype), number.shape)
    for each in reversed(order):
        own = found.get(id(each))
        if own is None:
            continue
        for parent, back in each.parents:
            more = back(own)
            found[id(parent)] = more if id(parent) not in found else found[id(parent)] + more
    return [found.get(id(each), np.zeros(each.shape)) for each in of]
