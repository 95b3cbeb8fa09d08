"""Transposes of NumPy's linear functions of arrays: for an adjoint b of the result the adjoint of an argument.

Adjoints b of complex numbers z are such that dJ = Re(sum conj(b) dz), so that of y = A z is A^H b.
"""
import string

import numpy as np


def fitted(b, value):
    """An adjoint summed over the axes along which its array was repeated, and real where that is."""
    extra = b.ndim - value.ndim
    b = b.sum(axis=tuple(range(extra))) if extra else b
    axes = tuple(i for i, n in enumerate(value.shape) if n == 1 != b.shape[i])
    b = b.sum(axis=axes, keepdims=True) if axes else b
    return b if value.dtype.kind == "c" else np.real(b)


def letters_of(subscripts, values):
    """The axes of the arguments of np.einsum and of its result, as letters, without "..." and without "->"."""
    inside, arrow, result = subscripts.replace(" ", "").partition("->")
    inputs = inside.split(",")
    if "..." in subscripts:          # stands for the same letters everywhere, the last ones of them
        free = [letter for letter in string.ascii_letters if letter not in subscripts]
        counts = [np.ndim(value) - len(each.replace("...", "")) for each, value in zip(inputs, values)]
        most = "".join(free[:max(count for each, count in zip(inputs, counts) if "..." in each)])
        inputs = [each.replace("...", most[len(most) - count:]) for each, count in zip(inputs, counts)]
        result = result.replace("...", most) if arrow else result
    if not arrow:
        letters = "".join(inputs)
        named = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
        result = (most + "".join(letter for letter in named if letter not in most)) if "..." in subscripts else named
    return inputs, result


def of_einsum(inputs, result, values, i, b):
    """The adjoint of argument i of np.einsum, by the letters of `letters_of`. Raises TypeError where it takes a diagonal."""
    sizes = dict(zip(inputs[i], values[i].shape))
    if len(set(inputs[i])) < len(inputs[i]):
        raise TypeError(f"np.einsum of the axes {inputs[i]!r} takes a diagonal, and has no derivative here")
    others = [inputs[k] for k in range(len(inputs)) if k != i]
    known = set("".join(others) + result)
    kept = "".join(letter for letter in inputs[i] if letter in known)
    found = np.einsum(",".join([*others, result]) + "->" + kept, *(np.conj(v) for k, v in enumerate(values) if k != i), b)
    shape = [sizes[letter] if letter in known else 1 for letter in inputs[i]]
    return np.broadcast_to(found.reshape(shape), values[i].shape)


def of_matmul(a, b):
    """The subscripts of a @ b for np.einsum; leading axes of one of them alone are repeated."""
    lead = string.ascii_letters[:max(np.ndim(a), np.ndim(b), 2) - 2]
    of_a = (lead[len(lead) - np.ndim(a) + 2:] + "Y" if np.ndim(a) > 1 else "") + "Z"
    of_b = (lead[len(lead) - np.ndim(b) + 2:] if np.ndim(b) > 1 else "") + "Z" + ("X" if np.ndim(b) > 1 else "")
    return f"{of_a},{of_b}->{lead}{'Y' * (np.ndim(a) > 1)}{'X' * (np.ndim(b) > 1)}"


def of_tensordot(a, b, axes):
    """The subscripts of np.tensordot(a, b, axes) for np.einsum."""
    axes = (list(range(np.ndim(a) - axes, np.ndim(a))), list(range(axes))) if isinstance(axes, int) else axes
    over = [[each] if isinstance(each, int) else list(each) for each in axes]
    of_a, of_b = (list(string.ascii_letters[first:first + np.ndim(each)]) for first, each in ((0, a), (26, b)))
    for i, k in zip(*over):
        of_b[k % np.ndim(b)] = of_a[i % np.ndim(a)]
    summed = {of_a[i % np.ndim(a)] for i in over[0]}
    return f"{''.join(of_a)},{''.join(of_b)}->{''.join(letter for letter in of_a + of_b if letter not in summed)}"


def of_rfft(a, b, n=None, axis=-1, norm=None):
    """The transpose of np.fft.rfft."""
    count = a.shape[axis] if n is None else n
    full = np.zeros((*np.moveaxis(b, axis, -1).shape[:-1], count), complex)
    full[..., :b.shape[axis]] = np.moveaxis(b, axis, -1)
    found = np.moveaxis(np.conj(np.fft.fft(np.conj(full), axis=-1, norm=norm)), -1, axis).real
    return cut_or_padded(found, a.shape[axis], axis)


def of_fft(a, b, n=None, axis=-1, norm=None):
    """The transpose of np.fft.fft."""
    return cut_or_padded(np.conj(np.fft.fft(np.conj(b), axis=axis, norm=norm)), a.shape[axis], axis)


def cut_or_padded(found, count, axis):
    """The first entries along an axis, with zeros behind them where there are too few."""
    found = np.moveaxis(found, axis, -1)[..., :count]
    pad = [(0, 0)] * (found.ndim - 1) + [(0, count - found.shape[-1])]
    return np.moveaxis(np.pad(found, pad), -1, axis)
