"""The values of a traced function, and its derivative along a direction, as plain NumPy: of arrays arrays, of traced values
traced values.

Forward mode: every node of the graph carries its value u and the derivative u' along the direction.
Griewank & Walther 2008, section 3.1.
"""
import numpy as np

from .trace import BOOLEAN


def evaluated(graph, inputs):
    """The values of a graph's outputs, a list.  inputs: {name of an input: value}"""
    values = []
    for (op, *rest), done in zip(graph.nodes, graph.done):
        values.append(inputs[rest[0]] if op == "input" else rest[0] if op == "const" else
                      getattr(np, op)(*[values[i] for i in rest]))
        for i in done:          # their memory is for those that follow
            values[i] = None
    return [values[i] for i in graph.outputs]


def derivative(graph, inputs, direction):
    """The derivatives of a graph's outputs along a direction, a list; an output that does not change has the number 0.

    inputs     {name of an input: value}
    direction  {name of an input: its derivative}; the other inputs are constant
    At a jump or a corner (sign, absolute, minimum, maximum, where) it is that of the branch which the value takes."""
    values, slopes = [], []
    for op, *rest in graph.nodes:
        if op == "input":
            value, slope = inputs[rest[0]], direction.get(rest[0])
        elif op == "const":
            value, slope = rest[0], None
        else:
            u, du = [values[i] for i in rest], [slopes[i] for i in rest]
            value = getattr(np, op)(*u)
            changes = op not in BOOLEAN and any(slope is not None for slope in du)
            slope = RULES[op](value, *u, *(0.0 if slope is None else slope for slope in du)) if changes else None
        values.append(value)
        slopes.append(slope)
    return [0.0 if slopes[i] is None else slopes[i] for i in graph.outputs]


def power(w, u, k, du, dk):
    """k u^(k - 1) u', and log(u) u^k k' where the exponent is no number."""
    slope = k * u ** (k - 1) * du
    return slope if isinstance(dk, float) and dk == 0 else slope + np.log(u) * w * dk


# {operation: (its value w, operands u, v, their derivatives du, dv) -> w'}
RULES = {
    "add": lambda w, u, v, du, dv: du + dv,
    "subtract": lambda w, u, v, du, dv: du - dv,
    "multiply": lambda w, u, v, du, dv: du * v + u * dv,
    "divide": lambda w, u, v, du, dv: (du - w * dv) / v,
    "power": power,
    "negative": lambda w, u, du: -du,
    "sqrt": lambda w, u, du: du / (2 * w),
    "exp": lambda w, u, du: w * du,
    "log": lambda w, u, du: du / u,
    "sin": lambda w, u, du: np.cos(u) * du,
    "cos": lambda w, u, du: -np.sin(u) * du,
    "tan": lambda w, u, du: (1 + w * w) * du,
    "tanh": lambda w, u, du: (1 - w * w) * du,
    "arctan2": lambda w, u, v, du, dv: (v * du - u * dv) / (u * u + v * v),
    "absolute": lambda w, u, du: np.sign(u) * du,
    "sign": lambda w, u, du: 0.0 * du,
    "minimum": lambda w, u, v, du, dv: np.where(u <= v, du, dv),
    "maximum": lambda w, u, v, du, dv: np.where(u >= v, du, dv),
    "where": lambda w, c, u, v, dc, du, dv: np.where(c, du, dv),
}
