"""Reverse mode on expression graphs: from the adjoints of a function's results those of its arguments, again as a graph.

For w = f(u) and an adjoint b of w, the derivative of any number J by w, the adjoint of u is b dw/du.
Griewank & Walther 2008, chapter 3.
"""
import inspect
from numbers import Real

import numpy as np

from .derivative import evaluated
from .pointwise import Pointwise
from .trace import BOOLEAN, operands

# {operation: (b, w, operands) -> the adjoints of the operands, None where there is none}. Where two branches meet, one counts;
# where a root of 0 has no derivative, 0 is taken: that of |v| at rest.
ADJOINTS = {
    "add": lambda b, w, u, v: (b, b),
    "subtract": lambda b, w, u, v: (b, -b),
    "multiply": lambda b, w, u, v: (b * v, b * u),
    "divide": lambda b, w, u, v: (b / v, -b * w / v),
    "negative": lambda b, w, u: (-b,),
    "sqrt": lambda b, w, u: (np.where(w == 0.0, 0.0, b / (2 * w)),),
    "exp": lambda b, w, u: (b * w,),
    "log": lambda b, w, u: (b / u,),
    "sin": lambda b, w, u: (b * np.cos(u),),
    "cos": lambda b, w, u: (-b * np.sin(u),),
    "tan": lambda b, w, u: (b * (1 + w * w),),
    "tanh": lambda b, w, u: (b * (1 - w * w),),
    "arctan2": lambda b, w, u, v: (b * v / (u * u + v * v), -b * u / (u * u + v * v)),
    "absolute": lambda b, w, u: (b * np.sign(u),),
    "sign": lambda b, w, u: (None,),
    "minimum": lambda b, w, u, v: (np.where(u <= v, b, 0.0), np.where(u <= v, 0.0, b)),
    "maximum": lambda b, w, u, v: (np.where(u >= v, b, 0.0), np.where(u >= v, 0.0, b)),
    "where": lambda b, w, c, u, v: (None, np.where(c, b, 0.0), np.where(c, 0.0, b)),
}


def of_power(b, w, u, exponent, varies):
    """The adjoints of the operands of w = u ** exponent; varies: whether that of the exponent is asked for, where u > 0."""
    with np.errstate(all="ignore"):
        of_base = b * exponent * u ** (exponent - 1)
        if not (isinstance(exponent, Real) and exponent >= 1):
            of_base = np.where((u == 0.0) & (exponent < 1.0), 0.0, of_base)
        return of_base, np.where(u == 0.0, 0.0, b * w * np.log(u)) if varies else None


def pullback(graph, given, adjoints, wanted):
    """The adjoints of the inputs `wanted`, in their order, from those of a graph's outputs.

    given   {name of an input: its value}; adjoints: a number or None for each output. All may be arrays or traced values."""
    values, active = [], []
    for node in graph.nodes:
        if node[0] == "input":
            values.append(given[node[1]])
            active.append(node[1] in wanted)
        elif node[0] == "const":
            values.append(node[1])
            active.append(False)
        else:
            values.append(getattr(np, node[0])(*(values[i] for i in operands(node))))
            active.append(node[0] not in BOOLEAN and any(active[i] for i in operands(node)))
    found, result = [None] * len(values), {}

    def add(i, adjoint):
        if active[i] and adjoint is not None:
            found[i] = adjoint if found[i] is None else found[i] + adjoint
    for i, adjoint in zip(graph.outputs, adjoints):
        add(i, adjoint)
    for i in reversed(range(len(values))):
        node, adjoint = graph.nodes[i], found[i]
        if adjoint is None or node[0] == "const":
            continue
        if node[0] == "input":
            result[node[1]] = adjoint
            continue
        terms = [values[k] for k in operands(node)]
        if node[0] == "power":
            each = of_power(adjoint, values[i], *terms, active[operands(node)[1]])
        else:
            each = ADJOINTS[node[0]](adjoint, values[i], *terms)
        for k, term in zip(operands(node), each):
            add(k, term)
    return tuple(result.get(name, 0.0) for name in wanted)


def transposed(function, wanted):
    """The `Pointwise` function of the adjoints of inputs, by their names in the graph, from those of all results, the argument
    `adjoint`, beside the function's own arguments."""
    graph, names = function.graph, {which: name for name, which in function.used.items()}
    inputs = function.inputs | {"adjoint": len(graph.outputs)}

    def adjoints(**given):
        values = {name: given[argument] if which is None else
                  getattr(given[argument], which) if isinstance(which, str) else given[argument][which]
                  for (argument, which), name in names.items()}
        return pullback(graph, values, given["adjoint"], wanted)
    adjoints.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in inputs])
    return ByGraph(adjoints, inputs, f"adjoint of {function.name}")


class ByGraph(Pointwise):
    """A function that is computed by its graph, which leaves out what its text makes for nothing."""

    def __call__(self, **arrays):
        return tuple(evaluated(self.graph, {name: arrays[argument] if which is None else arrays[argument][which]
                                            for name, (argument, which) in self.used.items()}))
