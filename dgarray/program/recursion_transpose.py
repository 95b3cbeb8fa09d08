"""The transpose of a Taylor recursion. With w = R + tau / k L w, k = stages, ..., 1, and the adjoint b of the result, of the
first `kept` coefficients, with zeros behind them,

    b_1 = b,  b_(k+1) = tau / k L^T b_k,   and that of R is the sum of all b_k, k up to stages + 1;

that of a coefficient s in L is the sum over k of b_k . tau / k (dL / ds) w_(k+1), where w_(k+1) is what the stage with this k
reads. Goodrich, Hagstrom & Lorenz 2006; Griewank & Walther 2008, chapter 3.
"""
import numpy as np

from . import recursion


def transposed(backend, operation, b, tau, series):
    """The adjoint of R from that of the result, b (variable, *coefficients, column)."""
    total = backend.xp.zeros((len(b), *operation.read.shape[1:-1], b.shape[-1]), b.dtype)
    for b_k in adjoints(backend, operation, b, tau, series):
        for all_of_variable, more in zip(total, b_k):
            add(all_of_variable, more)
    return total


def slopes(backend, operation, R, b, tau, series, wanted):
    """The adjoints of the series with the numbers `wanted`, their coefficients one after the other: (coefficient, column)."""
    read, w = [], list(R)          # what the stages read, that with k = 1 last
    for k in range(operation.stages, 0, -1):
        read.append(w)
        w = recursion.stage(backend, operation, R, w, tau / k, series, operation.needed(k))
    found = {number: backend.xp.zeros_like(series[number]) for number in wanted}

    def correlated(number, v, values):
        """Add d/ds (v . s values) = the sum over c of v_c values_(c - i) to that of the coefficient i of a series."""
        axes = "zyx"[:v.ndim - 1]
        for i in np.ndindex(*map(min, found[number].shape[:-1], v.shape[:-1])):
            later = v[tuple(slice(n, None) for n in i)]
            found[number][i] += backend.xp.einsum(f"{axes}c,{axes}c->c", later, values[tuple(map(slice, later.shape[:-1]))])
    for k, b_k, w in zip(range(1, operation.stages + 1), adjoints(backend, operation, b, tau, series), read[::-1]):
        for i, b_i in enumerate(b_k):
            rates, g = [rate for rate in operation.rates if rate.to == i], tau / k * b_i
            if operation.over.get(i) in found:
                sum_of_rates = backend.xp.zeros_like(b_i)
                for rate in rates:
                    value = w[rate.of] if rate.series is None else backend.series_product(series[rate.series], w[rate.of])
                    sum_of_rates = backend.add_derivative(sum_of_rates, rate.factor, value, rate.axis)
                correlated(operation.over[i], g, sum_of_rates)
            if i in operation.over:
                g = by_transposed(backend, series[operation.over[i]], g)
            for rate in rates:
                if rate.series in found:
                    v = derivative_transposed(backend, rate.factor * g, rate.axis, w[rate.of].shape)
                    correlated(rate.series, v, w[rate.of])
    return backend.xp.concatenate([each.reshape(-1, each.shape[-1]) for each in found.values()])


def adjoints(backend, operation, b, tau, series):
    """Yield b_k of k = 1, 2, ..., stages + 1, lists of components; see above."""
    b = list(b)
    yield b
    for k in range(1, operation.stages + 1):
        size = operation.needed(k + 1)
        new = [backend.xp.zeros((*(size,) * (each.ndim - 1), each.shape[-1]), each.dtype) for each in b]
        for i, b_i in enumerate(b):
            g = by_transposed(backend, series[operation.over[i]], b_i) if i in operation.over else b_i
            for rate in operation.rates:
                if rate.to == i:
                    v = derivative_transposed(backend, tau / k * rate.factor * g, rate.axis, new[rate.of].shape)
                    v = v if rate.series is None else by_transposed(backend, series[rate.series], v)
                    add(new[rate.of], v)
        b = new
        yield b


def derivative_transposed(backend, b, axis, most):
    """Coefficients j b_(j - 1) along an axis of those of b, as far as there are so many; b where axis is None."""
    if axis is None:
        return b
    lead, count = (slice(None),) * axis, min(b.shape[axis] + 1, most[axis])
    new = backend.xp.zeros((*b.shape[:axis], count, *b.shape[axis + 1:]), b.dtype)
    factors = backend.xp.arange(1, count).astype(b.dtype).reshape(-1, *(1,) * (b.ndim - 1 - axis))
    new[(*lead, slice(1, None))] = factors * b[(*lead, slice(0, count - 1))]
    return new


def by_transposed(backend, s, b):
    """The transpose of a product with the series s: coefficients, the sum over i of s_i b_(j + i)."""
    return reversed_(backend.series_product(s[tuple(map(slice, b.shape[:-1]))], reversed_(b)))


def reversed_(values):
    """The coefficients in the opposite order along each axis."""
    return values[(slice(None, None, -1),) * (values.ndim - 1)]


def add(large, small):
    """Add coefficients to those of an array that has as many or more along each axis."""
    large[tuple(map(slice, small.shape[:-1]))] += small
