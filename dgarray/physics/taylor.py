"""Taylor arithmetic: the derivatives of a traced function, exact to rounding.

A series in d variables, of degree up to n in each, is the array of its coefficients c[i_1, ..., i_d, ...],
u = sum_i c_i xi_1^i_1 ... xi_d^i_d; further axes are places at which the same is done.  Every rule is one of series in the
first variable whose coefficients are series in the others.  Griewank & Walther 2008, chapter 13.
"""
import numpy as np

from .trace import BOOLEAN, LOGIC, trace


def expand(function, x, h, degree, parameters=(), name=None):
    """Coefficients h^i D^i f / i! of the components of f(x), a list of arrays (degree + 1, ..., *places): the first of these
    axes belongs to the last coordinate, so that with places (z, y, x) coefficients are (k_z, k_y, k_x).

    function: f(x), maybe f(x, t): of plain NumPy;  x: the coordinates of the places;  h: a length for each coordinate
    parameters: {argument: number} beside x
    Raises TraceError for what cannot be traced."""
    shape = (degree + 1,) * len(x) + np.broadcast_shapes(*(np.shape(a) for a in x))
    return [whole(value, len(x), shape) for value in series(function, x, h, degree, parameters, name)]


def series(function, x, h, degree, parameters=(), name=None):
    """Coefficients of the components as `expand` has them, but each at the places of those coordinates alone that it depends
    on; a component that depends on none is a number."""
    d, given = len(x), dict(parameters)
    graph = trace(function, {"x": d, **dict.fromkeys(given)}, name)
    return evaluate(graph, given | {f"x{k}": placed(x, h, degree, k) for k in range(d)}, d)


def placed(x, h, degree, k):
    """The coordinate x_k as a series about the places x: x_k + h_k xi_k, at those places where it differs."""
    d = len(x)
    series = np.zeros((degree + 1,) * d + np.shape(x[k]))
    series[(0,) * d] = x[k]
    if degree:
        series[tuple(int(axis == d - 1 - k) for axis in range(d))] = h[k]
    return series


def evaluate(graph, inputs, d):
    """The outputs of a graph for inputs {name: series in d variables, or a number}."""
    values = []
    for op, *rest in graph.nodes:
        if op == "input":
            values.append(inputs[rest[0]])
        elif op == "const":
            values.append(rest[0])
        else:
            values.append(apply(op, d, *(values[i] for i in rest)))
    return [values[i] for i in graph.outputs]


def whole(value, d, shape):
    """A number as a series; a series as it is."""
    if np.ndim(value) >= d and not np.isscalar(value):
        return np.broadcast_to(value, shape)
    series = np.zeros(shape)
    series[(0,) * d] = value
    return series


def apply(op, d, *operands):
    """One operation of the tracer on series in d variables, numbers, and truth at the places."""
    if op in LOGIC or all(np.ndim(value) == 0 for value in operands):
        return getattr(np, op)(*operands)
    if op in BOOLEAN:
        return getattr(np, op)(*(leading(value, d) for value in operands))
    if op == "where":
        return select(*operands, d)
    if op in ("add", "subtract", "multiply") and any(np.ndim(value) == 0 for value in operands):
        return with_number(op, d, *operands)
    if op == "power" and np.ndim(operands[1]):
        return exp(apply("multiply", d, operands[1], apply("log", d, operands[0])), d)
    if op in ("divide", "arctan2"):
        like = next(value for value in operands if np.ndim(value))
        operands = tuple(value if np.ndim(value) else whole(value, d, like.shape) for value in operands)
    return RULES[op](*operands, d)


def with_number(op, d, a, b):
    """A sum, difference or product of a series and a number."""
    if op == "multiply":
        return a * b
    sign = -1.0 if op == "subtract" else 1.0
    if np.ndim(a):
        result = np.array(a)
        result[(0,) * d] += sign * b
        return result
    result = sign * b
    result[(0,) * d] += a
    return result


def multiply(a, b, d):
    if d == 0:
        return a * b
    out = np.zeros_like(a, shape=np.broadcast_shapes(a.shape, b.shape))
    there = nonzero(b)
    for i in nonzero(a):
        for j in there:
            if i + j < len(out):
                out[i + j] += multiply(a[i], b[j], d - 1)
    return out


def nonzero(series):
    """Numbers of the coefficients in the first variable that are not zero all over; on a GPU nobody looks."""
    return [i for i, c in enumerate(series) if not isinstance(c, np.ndarray) or c.any()]


def divide(a, b, d):
    """c b = a."""
    if d == 0:
        return a / b
    c = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    for k in range(len(c)):
        c[k] = divide(a[k] - sum(multiply(c[i], b[k - i], d - 1) for i in range(k)), b[0], d - 1)
    return c


def sqrt(a, d):
    """c c = a."""
    if d == 0:
        return np.sqrt(a)
    c = np.zeros(a.shape)
    c[0] = sqrt(a[0], d - 1)
    for k in range(1, len(c)):
        rest = a[k] - sum(multiply(c[i], c[k - i], d - 1) for i in range(1, k))
        c[k] = divide(rest, 2 * c[0], d - 1)
    return c


def exp(a, d):
    """c' = a' c."""
    if d == 0:
        return np.exp(a)
    c = np.zeros(a.shape)
    c[0] = exp(a[0], d - 1)
    for k in range(1, len(c)):
        c[k] = sum(i / k * multiply(a[i], c[k - i], d - 1) for i in range(1, k + 1))
    return c


def log(a, d):
    """a c' = a'."""
    if d == 0:
        return np.log(a)
    c = np.zeros(a.shape)
    c[0] = log(a[0], d - 1)
    for k in range(1, len(c)):
        rest = a[k] - sum(i / k * multiply(c[i], a[k - i], d - 1) for i in range(1, k))
        c[k] = divide(rest, a[0], d - 1)
    return c


def sin_cos(a, d):
    """s' = a' c,  c' = - a' s."""
    if d == 0:
        return np.sin(a), np.cos(a)
    s, c = np.zeros(a.shape), np.zeros(a.shape)
    s[0], c[0] = sin_cos(a[0], d - 1)
    for k in range(1, len(s)):
        s[k] = sum(i / k * multiply(a[i], c[k - i], d - 1) for i in range(1, k + 1))
        c[k] = sum(-i / k * multiply(a[i], s[k - i], d - 1) for i in range(1, k + 1))
    return s, c


def tanh(a, d):
    """c' = a' (1 - c c)."""
    if d == 0:
        return np.tanh(a)
    c, w = np.zeros(a.shape), np.zeros(a.shape)
    c[0] = tanh(a[0], d - 1)
    w[0] = apply("subtract", d - 1, 1.0, multiply(c[0], c[0], d - 1))
    for k in range(1, len(c)):
        c[k] = sum(i / k * multiply(a[i], w[k - i], d - 1) for i in range(1, k + 1))
        w[k] = -sum(multiply(c[i], c[k - i], d - 1) for i in range(k + 1))
    return c


def arctan2(y, x, d):
    """(x x + y y) c' = x y' - y x'."""
    if d == 0:
        return np.arctan2(y, x)
    square = multiply(x, x, d) + multiply(y, y, d)
    c = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    c[0] = arctan2(y[0], x[0], d - 1)
    for k in range(1, len(c)):
        turn = sum(i / k * (multiply(x[k - i], y[i], d - 1) - multiply(y[k - i], x[i], d - 1)) for i in range(1, k + 1))
        rest = turn - sum(i / k * multiply(c[i], square[k - i], d - 1) for i in range(1, k))
        c[k] = divide(rest, square[0], d - 1)
    return c


def power(a, r, d):
    """c = a^r: by products where r is a whole number, else a c' = r a' c."""
    if d == 0:
        return a ** r
    if r == int(r) and r > 0:
        half = power(a, r // 2, d) if r > 1 else None
        square = multiply(half, half, d) if r > 1 else None
        return a if r == 1 else multiply(square, a, d) if r % 2 else square
    c = np.zeros(a.shape)
    c[0] = power(a[0], r, d - 1)
    for k in range(1, len(c)):
        rest = sum((r * i - (k - i)) / k * multiply(a[i], c[k - i], d - 1) for i in range(1, k + 1))
        c[k] = divide(rest, a[0], d - 1)
    return c


def leading(value, d):
    """The value itself, without derivatives."""
    return value[(0,) * d] if np.ndim(value) else value


def select(condition, a, b, d):
    """The series a at places where the condition holds, b elsewhere."""
    like = np.broadcast_shapes(*(value.shape for value in (a, b) if np.ndim(value)), (1,) * d + np.shape(condition))
    return np.where(condition, whole(a, d, like), whole(b, d, like))


def tan(a, d):
    s, c = sin_cos(a, d)
    return divide(s, c, d)


RULES = {
    "add": lambda a, b, d: a + b, "subtract": lambda a, b, d: a - b, "negative": lambda a, d: -a, "multiply": multiply,
    "divide": divide, "sqrt": sqrt, "exp": exp, "log": log, "tanh": tanh, "arctan2": arctan2, "power": power,
    "sin": lambda a, d: sin_cos(a, d)[0], "cos": lambda a, d: sin_cos(a, d)[1], "tan": tan,
    "absolute": lambda a, d: select(leading(a, d) < 0, -a, a, d),
    "sign": lambda a, d: whole(np.sign(leading(a, d)), d, a.shape),
    "minimum": lambda a, b, d: select(leading(a, d) <= leading(b, d), a, b, d),
    "maximum": lambda a, b, d: select(leading(a, d) >= leading(b, d), a, b, d)}
