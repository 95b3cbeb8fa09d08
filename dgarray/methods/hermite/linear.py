"""A linear law as coefficients: C(x) dq/dt + sum_k d/dx_k (A_k(x) q) = B(x) q, read off its traced functions.

Each coefficient is a number or, where it depends on x, an array of Taylor series, one about each of a set of places (see
`dgarray.physics.taylor`).
"""
from dataclasses import dataclass

import numpy as np

from ...physics.derivative import derivative
from ...physics.pointwise import Pointwise
from ...physics.taylor import apply, evaluate, placed, series
from ...physics.trace import trace
from ..problem import parameters_at, refuse_regions


@dataclass(frozen=True)
class LinearSystem:
    """dq_i/dt = inverse[i] (- sum_k d/dx_k sum_j flux[k][i, j] q_j + sum_j source[i, j] q_j); absent entries are zero.

    flux      (dim) dicts {(i, j): coefficient};  source {(i, j): coefficient};  inverse (variables): 1 / C"""

    flux: tuple
    source: dict
    inverse: tuple

    def terms(self):
        """The system with constant coefficients as the terms (i, k, j, a) and (i, j, b) of
        dq_i/dt = sum a dq_j/dx_k + sum b q_j: two tuples."""
        return (tuple((i, k, j, -self.inverse[i] * a) for k, entries in enumerate(self.flux) for (i, j), a in entries.items()),
                tuple((i, j, self.inverse[i] * b) for (i, j), b in self.source.items()))


def simplest(value, d):
    """A number if the series `value` in d variables is constant and the same at all places, such as that of 0 x + 1; else the
    series."""
    first = value[(0,) * d] if np.ndim(value) else value
    if np.ndim(value) and (np.count_nonzero(value) > np.count_nonzero(first) or (first != first.flat[0]).any()):
        return value
    return float(first.flat[0] if np.ndim(value) else value)


def changes(function, by, given, d):
    """The derivatives of a `Pointwise` function's components by the parameter `by`, at inputs {name: series in d variables, or
    a number}."""
    names = list(function.used)

    def change(u):
        return derivative(function.graph, dict(zip(names, u)), {f"m_{by}": 1.0})
    graph = trace(change, {"u": len(names)}, function.name)
    return evaluate(graph, {f"u{i}": given[name] for i, name in enumerate(names)}, d)


class LinearLaw:
    """The traced functions of a law, checked to be linear in q and independent of time.

    Raises ValueError where they are not, and for parameters given by region, because a grid has no regions."""

    def __init__(self, law):
        self.law, v, d = law, len(law.variables), law.dim
        refuse_regions(law)
        self.numbers = {name: None if callable(value) else float(value) for name, value in law.parameters.items()}
        self.given = {"x": d, "t": None, "m": self.numbers}
        functions = {"flux": (law.flux, {"q": v, "n": d}), "source": (law.source, {"q": v}), "capacity": (law.capacity, {}),
                     "wave_speed": (law.wave_speed, {"q": v, "n": d})}
        self.functions = {name: Pointwise(function, self.given | inputs, name.replace("_", " "))
                          for name, (function, inputs) in functions.items() if function is not None}
        for name, function in self.functions.items():
            if function.depends_on("t") or name != "flux" and name != "source" and function.depends_on("q"):
                of = "time" if function.depends_on("t") else "the state"
                raise ValueError(f"Hermite needs a linear law whose coefficients do not depend on time; the {function.name} of "
                                 f"{law!r} depends on {of}")
        self.check_linear()

    @property
    def varies(self):
        """Whether a coefficient depends on x."""
        return any(f.depends_on("x") or f.depends_on("m") for f in self.functions.values())

    def check_linear(self):
        """Raise ValueError unless flux and source are linear in q: f(a - 2 b) = f(a) - 2 f(b) at random states a, b."""
        d, v = self.law.dim, len(self.law.variables)
        rng = np.random.default_rng(0)
        a, b = rng.uniform(0.5, 2.0, (2, v))
        x = tuple(rng.uniform(-1, 1, d))
        place = {"x": x, "t": 0.0, "m": {name: 1.3 for name, number in self.numbers.items() if number is None},
                 "n": tuple(rng.uniform(-1, 1, d))}

        for name in ("flux", "source"):
            if name in self.functions:
                f = self.functions[name]

                def at(q, f=f):
                    asked = {key: value for key, value in place.items() if key in f.inputs}
                    return np.array([float(c) for c in f(q=tuple(q), **asked)])
                with np.errstate(all="ignore"):
                    whole, parts = at(a - 2 * b), at(a) - 2 * at(b)
                if not np.allclose(whole, parts, rtol=1e-10, atol=1e-10 * np.abs(at(a)).max(initial=1e-300)):
                    raise ValueError(f"Hermite needs a linear law; the {name} of {self.law!r} is not linear in "
                                     f"{', '.join(self.law.variables)}")

    def system(self, x, h, degree, by=None):
        """The `LinearSystem` with its coefficients as series about the places x.

        x: arrays that broadcast to (z, y, x);  h: cell lengths;  degree: of the series in each coordinate
        by: name of a parameter that is a function of x: then those of the derivatives of A_k, B and 1 / C by it
        A series (degree + 1, ..., *places) has length 1 along those axes of the places on which it does not depend."""
        d, law = self.law.dim, self.law
        at = {f"x{k}": placed(x, h, degree, k) for k in range(d)} if self.varies else {}
        at |= {f"m_{name}": series(value, x, h, degree, name=name)[0]
               for name, value in law.parameters.items() if callable(value)}
        unit = np.eye(max(d, len(law.variables)))

        def entries(name, n=None):
            found, function = {}, self.functions[name]
            for j in range(len(law.variables)):
                given = at | {f"q{i}": unit[j, i] for i in range(len(law.variables))}
                given |= {f"n{i}": unit[n, i] for i in range(d)} if n is not None else {}
                values = evaluate(function.graph, given, d) if by is None else changes(function, by, given, d)
                for i, value in enumerate(values):
                    if np.any(value):
                        found[i, j] = simplest(value, d)
            return found
        capacity = self.functions.get("capacity")
        factors = evaluate(capacity.graph, at, d) if capacity else [1.0] * len(law.variables)
        source = entries("source") if "source" in self.functions else {}
        inverse = [apply("divide", d, 1.0, c) for c in factors]
        if by is not None:          # (1 / C)' = -C' / C^2
            slopes = changes(capacity, by, at, d) if capacity else [0.0] * len(factors)
            inverse = [apply("multiply", d, apply("multiply", d, c, c), apply("negative", d, change))
                       for c, change in zip(inverse, slopes)]
        # Python's numbers, because NumPy's would turn arrays of float32 into float64.
        return LinearSystem(tuple(entries("flux", k) for k in range(d)), source,
                            tuple(simplest(c, d) for c in inverse))

    def speeds(self, x):
        """Largest wave speed along each axis over the places x, a tuple (dim,)."""
        d, m = self.law.dim, parameters_at(self.law, x)
        return tuple(float(np.max(self.functions["wave_speed"](n=tuple(np.eye(d)[k]), x=x, m=m)[0])) for k in range(d))

    def source_rate(self, x):
        """The largest rate of the law's own source at the places x, 1 / time: sum_j |source[i, j]| / C_i of any variable i."""
        if "source" not in self.functions:
            return 0.0
        m, v = parameters_at(self.law, x), len(self.law.variables)
        columns = [self.functions["source"](q=tuple(unit), x=x, m=m) for unit in np.eye(v)]
        factors = self.functions["capacity"](m=m) if "capacity" in self.functions else (1.0,) * v
        return max(float(np.max(sum(np.abs(column[i]) for column in columns) / factors[i])) for i in range(v))
