"""Manufactured solutions: the source that makes a chosen state the exact solution of a law.

The law  C dq/dt + div F(q, x, m) = s  with the chosen q needs the source  s_q = C dq/dt + div F(q, x, m) - s(q, x, t, m).
The law's own functions are traced at q(x, t) and differentiated, so a law of a user's own is tested as ours are.
Roache 2002, J. Fluids Eng. 124.
"""
from __future__ import annotations

from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

from ..physics.boundary import prescribed
from ..physics.capacity import times
from ..physics.derivative import derivative, evaluated
from ..physics.laws.law import Law, shown
from ..physics.pointwise import components
from ..physics.trace import call, parameters, record, trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..physics.annotations import Components


def manufactured(law: Law, q: Callable) -> Manufactured:
    """The problem whose exact solution is q, a `Manufactured`: source, boundary values and exact solution from the law itself.

    law  any law: of this package or of your own
    q    function (x, t) -> tuple of components, in plain NumPy

        problem = dgarray.analysis.manufactured(law, q)
        dgarray.Simulation(mesh, law, dgarray.NodalDG(3), **problem.options).run(until=0.1)

    Raises ValueError for what is no law or no function of x and t, and for another number of components; TraceError where q or
    a function of the law cannot be traced."""
    if not isinstance(law, Law):
        raise ValueError(f"law={law!r} is not allowed; give a law, e.g. dgarray.Euler(dim=2)")
    if law.laws is not None:
        raise ValueError("manufactured takes one law; give laws by region one by one")
    if not callable(q):
        raise ValueError(f"q={q!r} is not allowed; it must be a function of x and t that returns a tuple")
    needed = [name for name, p in parameters(q).items() if p.default is p.empty and name not in ("x", "t")]
    if needed:
        raise ValueError(f"q={shown(q)} asks for {', '.join(needed)}; it may ask for x and t")
    problem = Manufactured(law, q)
    _ = problem.graph
    return problem


class Manufactured:
    """A manufactured solution: the chosen state, and the source and boundary condition that make it exact.

    exact(x, t)       the chosen state q
    source(x, t, m)   s_q = C dq/dt + div F(q, x, m) - s(q, x, t, m), one component per variable
    boundary          the condition `prescribed(exact)`"""

    def __init__(self, law: Law, q: Callable):
        self.law, self.q = law, q
        self.boundary = prescribed(self.exact)

    def __repr__(self):
        return f"manufactured({self.law!r}, {shown(self.q)})"

    def exact(self, x: Components, t: Any) -> tuple:
        """The chosen state q(x, t), a tuple."""
        names = self.law.variables
        return components(call(self.q, dict(x=x, t=t), "q"), len(names), "the chosen state", names)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a `Simulation`: initial, exact, source, boundary."""
        return dict(initial=self.exact, exact=self.exact, source=self.source, boundary=self.boundary)

    def medium(self, x, m):
        """The law's parameters as functions of x where they are, else those of the element."""
        values = self.law.parameters
        return record("m", *values)(*(call(value, dict(x=x), name) if callable(value) else getattr(m, name)
                                      for name, value in values.items()))

    @cached_property
    def graph(self):
        """The source as a graph of x, t and m: its parts have much in common."""
        law, dim = self.law, self.law.dim
        numbers = {name: float(value) if isinstance(value, Real) else None for name, value in law.parameters.items()}
        inputs, axes = {"x": dim, "t": None, "m": numbers}, [tuple(float(k == axis) for k in range(dim)) for axis in range(dim)]

        def flux(n):
            def along(x, t, m):
                given = dict(q=self.exact(x, t), n=n, x=x, t=t, m=self.medium(x, m))
                return components(call(law.flux, given, "flux"), len(law.variables), "the law's flux", law.variables)
            return along

        def products(n):          # of the state l beside q
            return lambda l, x, t: call(law.products, dict(q=l, b=call(law.product_flux, dict(q=self.exact(x, t), n=n))))
        state = trace(lambda x, t: self.exact(x, t), inputs, "q")
        parts = [[trace(flux(n), inputs, "flux") for n in axes]]
        if law.products is not None:
            parts.append([trace(products(n), inputs | {"l": len(law.variables)}, "products") for n in axes])

        def residual(x, t, m):
            q, medium = self.exact(x, t), self.medium(x, m)
            given = self.given(x, t, m) | {f"l{v}": c for v, c in enumerate(q)}
            total = derivative(state, given, {"t": 1.0})
            if law.capacity is not None:
                total = list(times(call(law.capacity, dict(m=medium), "capacity"), total))
            for graphs in parts:
                for k, graph in enumerate(graphs):
                    total = [a + b for a, b in zip(total, derivative(graph, given, {f"x{k}": 1.0}))]
            if law.source is not None:
                total = [a - b for a, b in zip(total, call(law.source, dict(q=q, x=x, t=t, m=medium), "source"))]
            return tuple(total)
        return trace(residual, inputs, "source")

    def given(self, x, t, m):
        """{name of an input of the graph: its value}"""
        medium = {f"m_{name}": getattr(m, name) for name in self.law.parameters}
        return {"t": t} | {f"x{k}": c for k, c in enumerate(x)} | medium

    def source(self, x: Components, t: Any, m: Any) -> tuple:
        """s_q, to be given as `source` of a simulation; traced, it becomes part of the kernels."""
        return tuple(evaluated(self.graph, self.given(x, t, m)))

