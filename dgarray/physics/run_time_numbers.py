"""Pointwise functions whose constants come at run time, so that the text of a kernel does not depend on them."""
from math import frexp, isfinite
from weakref import WeakKeyDictionary

import numpy as np

from .pointwise import Pointwise
from .trace import Graph, TraceError, operands, trace

NUMBER = "number"        # the argument whose components are these constants
_MADE: WeakKeyDictionary = WeakKeyDictionary()


class WithNumbers(Pointwise):
    """A `Pointwise` function as a kernel evaluates it: its constants are components of the argument `number`.

    These are the law's parameters where they are numbers, other constants of the formulas such as gamma - 1, and whatever is
    computed of constants alone, which is done here once. Constants that belong to the formula stay in it: 0, and powers of two
    with either sign, with which products and quotients are exact. A quotient by such a component is a product with its
    reciprocal, which differs from it by rounding.

    Where a parameter decides which inputs are read or how often (an `if`, a power, a factor 0) the parameters stay, too.

    values: of the components of `number`, in the order of the formula"""

    def __init__(self, function):
        inputs = {argument: dict.fromkeys(spec) if isinstance(spec, dict) else spec
                  for argument, spec in function.inputs.items()}
        super().__init__(function.function, inputs, function.name)
        known = {f"{argument}_{field}": number for argument, spec in function.inputs.items() if isinstance(spec, dict)
                 for field, number in spec.items() if number is not None}
        graph, self.values = separated(function.graph, {})
        try:
            general, values = separated(trace(self.function, inputs, self.name), known)
        except TraceError:          # it does with a parameter what needs a known number, such as an `if`
            general = graph
        if asked(general) == asked(graph) and powers(general) == powers(graph) and general is not graph:
            graph, self.values = general, values
        self.graph = graph
        self.inputs = inputs | {NUMBER: len(self.values)}


def asked(graph):
    """The arguments that a graph asks for. With a parameter that is 0 it may ask for fewer."""
    return {node[2] for node in graph.nodes if node[0] == "input"} - {NUMBER}


def powers(graph):
    """How many powers there are. One by a parameter is a few products if it is known to be a small whole number."""
    return graph.operations.get("power", 0)


def with_numbers(function):
    """The `WithNumbers` of a `Pointwise` function, made once."""
    if function not in _MADE:
        _MADE[function] = WithNumbers(function)
    return _MADE[function]


@np.errstate(all="ignore")
def separated(graph, known):
    """The graph with its constants as inputs, and the values of these; known: {name of an input: its number}."""
    results, nodes, places, values = [], [], {}, []

    def add(*node):
        nodes.append(node)
        return len(nodes) - 1

    def number(value):
        """A new component: of its own, though another may have its value by chance."""
        values.append(float(value))
        return add("input", f"{NUMBER}{len(values) - 1}", NUMBER)

    def place(i):
        """Where a node is among the new ones."""
        if i not in places:
            places[i] = add("const", results[i]) if in_text(graph.nodes[i], results[i]) else number(results[i])
        return places[i]

    def reciprocal(i):
        if ("1 /", i) not in places:
            places["1 /", i] = number(np.divide(1.0, results[i]))
        return places["1 /", i]

    for i, node in enumerate(graph.nodes):
        op, *rest = node
        given = [results[k] for k in operands(node)]
        if op in ("const", "input"):
            results.append(rest[0] if op == "const" else known.get(rest[0]))
        else:
            known_too = all(value is not None for value in given)
            results.append(getattr(np, op)(*given).item() if known_too else None)
        if results[i] is None:
            if op == "divide" and given[1] is not None and not in_text(graph.nodes[rest[1]], given[1]):
                places[i] = add("multiply", place(rest[0]), reciprocal(rest[1]))
            else:
                places[i] = add(op, *(rest if op == "input" else map(place, rest)))
    outputs = tuple(map(place, graph.outputs))
    return Graph(tuple(nodes), outputs, graph.name), tuple(values)


def in_text(node, value):
    """Whether a constant stays in the text: true or false, and of the formula's own constants 0, powers of two, and what is not
    finite."""
    return isinstance(value, bool) or node[0] == "const" and (
        value == 0 or not isfinite(value) or abs(frexp(value)[0]) == 0.5)
