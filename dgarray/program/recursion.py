"""The Taylor recursion of a `Recursion`, on the arrays of a backend. Goodrich, Hagstrom & Lorenz 2006; Vargas, Chan, Hagstrom &
Warburton 2016, algorithms 3 and 4."""


def evolved(backend, operation, R, tau, series):
    """The components of w after w = R + tau / k L w, k = stages, ..., 1, from R (variable, *coefficients, column) and the
    series of L."""
    w = list(R)
    for k in range(operation.stages, 0, -1):
        w = stage(backend, operation, R, w, tau / k, series, operation.needed(k))
    return first(operation, w)


def stage(backend, operation, R, w, tau, series, needed):
    """The components of R + tau L w, of which so many coefficients along each axis are `needed`."""
    new = list(backend.xp.array(R[(slice(None), *[slice(0, needed)] * (R.ndim - 2))]))
    for i, R_i in enumerate(new):
        out, factor = (backend.xp.zeros_like(R_i), 1.0) if i in operation.over else (R_i, tau)
        for rate in operation.rates:
            if rate.to == i:
                value = w[rate.of] if rate.series is None else backend.series_product(series[rate.series], w[rate.of])
                out = backend.add_derivative(out, factor * rate.factor, value, rate.axis)
        if i in operation.over:
            out = backend.add_derivative(R_i, tau, backend.series_product(series[operation.over[i]], out), None)
        new[i] = out
    return new


def first(operation, w):
    """The coefficients of w that are the result."""
    return [each[(slice(0, operation.kept),) * (each.ndim - 1)] for each in w]


def flops(operation):
    """Floating-point operations for a column."""
    total, d, whole = 0, len(operation.read.shape) - 2, operation.read.shape[1]
    for k in range(1, operation.stages + 1):
        needed, there = operation.needed(k), min(whole, operation.needed(k + 1)) if k < operation.stages else whole
        for rate in operation.rates:
            lines = needed if rate.axis is None else min(needed, there - 1)
            total += 2 * lines * needed ** (d - 1) + (0 if rate.series is None else product(operation, rate.series, there))
        total += sum(2 * needed ** d + product(operation, number, needed) for number in operation.over.values())
    return total


def moved(operation):
    """Numbers that the stages read and write for a column, each array once a stage: R, the old w, and the new one twice."""
    variables, *axes, _ = operation.read.shape
    return sum(4 * variables * operation.needed(k) ** len(axes) for k in range(1, operation.stages + 1))


def product(operation, number, count):
    """Those of a product of a series with one of so many coefficients along each axis."""
    total = 2
    for extent in operation.series[number].shape[:-1]:
        total *= sum(max(0, count - i) for i in range(extent))
    return total
