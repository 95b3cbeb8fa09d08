"""Expressions of a face's flux that belong to one cell, computed once for each cell instead of once for each of its faces.

In F*(l, r) many expressions belong to l alone, and the same ones to r, such as the pressure. `parted` makes two stencils of
such a stencil: one evaluates them at each cell, the other one takes them from both sides.
"""
from types import SimpleNamespace

from ....physics.trace import Graph, operands


class GraphStencil:
    """A stencil made of a graph; attributes as of `dgarray.methods.finite_volume.stencils.Stencil`."""

    def __init__(self, name, graph, reads, writes, used, values):
        self.name, self.reads, self.writes = name, reads, writes
        self.function = SimpleNamespace(graph=graph, used=used, name=name, values=values)

    @property
    def needed(self):
        return {key: self.reads[key[0]] for key in self.function.used.values() if key[0] in self.reads}


def parted(stencil, name):
    """The stencils (of the cells, of the faces) that together do what `stencil` does, the first with the new field `name`.

    stencil: its function is a `WithNumbers`
    Only [stencil] where it reads other shifts than 0 and 1, or nothing is to be had twice."""
    nodes, used = stencil.function.graph.nodes, stencil.function.used
    if {shift for _, shift in stencil.needed.values()} != {0, 1}:
        return [stencil]
    sides, keys, numbers = [], [], {}          # a key says what a node computes, whichever side it is of
    for node in nodes:
        if node[0] == "input":
            argument, number = used[node[1]]
            field, shift = stencil.reads.get(argument, (argument, None))
            sides.append(frozenset() if shift is None else frozenset([shift]))
            key = field, number
        else:
            sides.append(frozenset().union(*(sides[i] for i in operands(node))))
            key = (node[0], *(keys[i] for i in operands(node))) if operands(node) else repr(node)
        keys.append(numbers.setdefault(key, len(numbers)))
    at = [{key: i for i, (key, side) in enumerate(zip(keys, sides)) if side == frozenset([shift])} for shift in (0, 1)]
    twice = at[0].keys() & at[1].keys()
    inside = {i for shift in (0, 1) for key, i in at[shift].items() if key in twice and operands(nodes[i])}
    uses = {i for j, node in enumerate(nodes) if j not in inside for i in operands(node)} | set(stencil.function.graph.outputs)
    kept = sorted({keys[i] for i in inside & uses})
    if not kept:
        return [stencil]
    cell = part(stencil, [at[0][key] for key in kept])
    places = {at[shift][key]: (shift, number) for number, key in enumerate(kept) for shift in (0, 1)}
    new, order, inputs = [], {}, {}
    needed = needed_by(nodes, stencil.function.graph.outputs, places)
    for i in sorted(needed):
        if i in places:
            shift, number = places[i]
            inputs[f"{'ab'[shift]}{number}"] = "ab"[shift], number
            node = ("input", f"{'ab'[shift]}{number}", "ab"[shift])
        elif nodes[i][0] == "input":
            inputs[nodes[i][1]], node = used[nodes[i][1]], nodes[i]
        else:
            node = (nodes[i][0], *(order[j] for j in operands(nodes[i]))) if operands(nodes[i]) else nodes[i]
        order[i] = len(new)
        new.append(node)
    graph = Graph(tuple(new), tuple(order[i] for i in stencil.function.graph.outputs), stencil.name)
    values = stencil.function.values
    return [GraphStencil(f"{stencil.name} cell", cell[0], stencil.reads, {name: len(kept)}, cell[1], values),
            GraphStencil(stencil.name, graph, stencil.reads | {"a": (name, 0), "b": (name, 1)}, stencil.writes, inputs, values)]


def needed_by(nodes, outputs, given):
    """Numbers of the nodes that the outputs need, down to those that are given."""
    found, left = set(), list(outputs)
    while left:
        i = left.pop()
        if i not in found:
            found.add(i)
            left += [] if i in given else operands(nodes[i])
    return found


def part(stencil, outputs):
    """(graph, used inputs) of some nodes of a stencil's graph."""
    nodes, used = stencil.function.graph.nodes, stencil.function.used
    order = {old: new for new, old in enumerate(sorted(needed_by(nodes, outputs, ())))}
    new = tuple((nodes[i][0], *(order[j] for j in operands(nodes[i]))) if operands(nodes[i]) else nodes[i] for i in order)
    inputs = {node[1]: used[node[1]] for node in new if node[0] == "input"}
    return Graph(new, tuple(order[i] for i in outputs), f"{stencil.name} cell"), inputs
