"""The right-hand side of a linear problem as an operator of SciPy, for eigenvalues and linear solvers."""
import numpy as np
import scipy.sparse.linalg

LINEAR = 1e4          # rounding errors by which the sum of two right-hand sides may differ from that of the sum


def linear_operator(operator, law, t):
    """q -> rhs(q, t) - rhs(0, t), see `Simulation.linear_operator`.

    operator: the discretised problem;  law: for messages
    Raises ValueError where there is no right-hand side, or it is not linear in q."""
    operator.rhs(operator.zeros(), t)          # where there is none, its error says so
    size, shapes, dtype = operator.dofs, list(operator.unknowns.values()), operator.dtype
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def rhs(q):
        parts = np.split(np.asarray(q, dtype).ravel(), ends)
        arrays = operator.from_list([part.reshape(shape) for part, shape in zip(parts, shapes)])
        result = operator.as_list(operator.host(operator.rhs(operator.state(arrays), t)))
        return np.concatenate([part.ravel() for part in result])
    still = rhs(np.zeros(size))
    a, b = np.random.default_rng(0).standard_normal((2, size))
    with np.errstate(all="ignore"):
        both, each = rhs(a + b) - still, rhs(a) + rhs(b) - 2 * still
        gaps, sizes = (np.concatenate([np.abs(part).reshape(shape[0], -1).max(axis=1) for part, shape in zip(
            np.split(values, ends), shapes)]) for values in (both - each, each))          # of each variable: they have units
    if not (gaps <= np.finfo(dtype).eps * (LINEAR * sizes + sizes.max())).all():
        raise ValueError(f"the right-hand side of {law!r} with these boundary conditions and sources is not linear")
    return scipy.sparse.linalg.LinearOperator((size, size), matvec=lambda q: rhs(q) - still, dtype=dtype)
