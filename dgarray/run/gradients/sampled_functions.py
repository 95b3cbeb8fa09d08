"""A pointwise function of a program where it is evaluated, and what a stage adds to its derivatives by the law's parameters."""
from typing import NamedTuple

import numpy as np

from ...methods.dg.bilinear_sums import BilinearSums, Places, taken, terms_of
from ...physics.derivative import derivative
from ...physics.pullback import pullback
from ...physics.trace import trace

AT_ONCE = 1 << 21          # numbers of the derivatives that are computed together


class Sampled(NamedTuple):
    """A pointwise function at places, which are faces or elements, with points.

    function    whose outputs are those of sides, each with all variables
    states      its arguments that are states, one for each side, or one alone
    given       {argument: {component or field: array (place,) or (point, place)}} of all others but the time
    owners      {name of an input: (parameter, numbers of its elements in the mesh (place,), where they are wanted (place,))}
    at, of      (side, point, place), where in flat arrays adjoints s and states q of variable 0 are
    stride, of_stride     from one variable to the next
    weight (side, variable, point or 1, place)    of s
    mass, kind  as of `Places`: with the sums over points of mass times weight times s are the adjoints of the outputs"""

    function: object
    states: tuple
    given: dict
    owners: dict
    at: np.ndarray
    of: np.ndarray
    stride: int
    of_stride: int
    weight: np.ndarray
    mass: np.ndarray
    kind: np.ndarray

    @property
    def variables(self):
        return self.weight.shape[1]

    def inputs(self, states, t=0.0, part=slice(None)):
        """{name of an input of the graph: value} for states {argument: components}."""
        found = {}
        for name, (argument, which) in self.function.used.items():
            if argument in states:
                found[name] = states[argument][which]
            else:
                found[name] = t if argument == "t" else self.given[argument][which][..., part]
        return found

    def slopes(self, name, states, part=slice(None)):
        """The derivatives of all outputs by an input, of an input of the graph."""
        with np.errstate(all="ignore"):
            return derivative(self.function.graph, self.inputs(states, part=part), {name: 1.0})

    def is_bilinear(self):
        """Whether derivatives by the parameters are linear in the states, and constant; the function is linear in states."""
        names, wanted = list(self.function.used), list(self.owners)
        graph = trace(lambda u: [each for name in wanted for each in derivative(
            self.function.graph, dict(zip(names, u)), {name: 1.0})], {"u": len(names)})
        if any(self.function.used[name][0] == "t" for i, name in enumerate(names) if f"u{i}" in graph.inputs):
            return False
        still = dict.fromkeys(self.states, (0.0,) * self.variables)
        return not any(np.any(each) for name in wanted for each in self.slopes(name, still))

    def matrices(self, name, part):
        """The derivative of the matrix of the function by an input at some places, (output, state, point or 1, place)."""
        V, count = self.variables, self.at[0, 0, part].size
        unit = np.eye(V * len(self.states))[:, :, None, None]
        states = {state: unit[i * V:(i + 1) * V] for i, state in enumerate(self.states)}
        found = self.slopes(name, states, part)
        shape = np.broadcast_shapes(*(np.shape(each) for each in found), (len(unit), 1, count))
        return np.stack([np.broadcast_to(each, shape) for each in found])


    def terms(self):
        """{parameter: [(u (side, variable, point or 1, place), v, numbers of the elements (place,))]}: the derivative by the
        parameters of each place is the sum of the terms u v^T."""
        S, V, count, found = self.at.shape[0], self.variables, self.at.shape[-1], {}
        for name, (parameter, elements, wanted) in self.owners.items():
            step, parts = max(1, AT_ONCE // (S * V) ** 2 // self.at.shape[1]), []
            for first in range(0, count, step):
                part = slice(first, first + step)
                matrices = self.matrices(name, part) * wanted[part]
                parts.append([each.reshape(*each.shape[:2], *matrices.shape[2:]) for each in terms_of(
                    matrices.reshape(*matrices.shape[:2], -1))])
            most = max(len(left) for left, _ in parts)
            u, v = (np.concatenate([np.pad(each[i], [(0, most - len(each[i]))] + [(0, 0)] * 3) for each in parts], axis=3)
                    for i in (0, 1))
            u = u.reshape(most, S, V, *u.shape[2:]) * self.weight
            v = v.reshape(most, len(self.states), V, *v.shape[2:])
            v = np.concatenate([v, *[np.zeros_like(v[:, :1])] * (S - len(self.states))], axis=1)
            found.setdefault(parameter, []).extend((*each, elements) for each in zip(u, v))
        return found


def sums_of(functions, backend):
    """(`BilinearSums` of bilinear functions whose places are in the same arrays, [(parameter, elements)] of its terms)."""
    terms, sides = [each.terms() for each in functions], max(each.at.shape[0] for each in functions)
    slots = [(name, i) for name in dict.fromkeys(name for each in terms for name in each)
             for i in range(max(len(each.get(name, ())) for each in terms))]
    points = max([1, *(array.shape[2] for each in terms for own in each.values() for *pair, _ in own for array in pair)])
    u, v, owners, first = [], [], [(name, []) for name, _ in slots], functions[0]
    for function, own in zip(functions, terms):
        count, none = function.at.shape[-1], np.zeros((sides, function.variables, points, function.at.shape[-1]))
        found = [own[name][i] if i < len(own.get(name, ())) else (none, none, np.zeros(count, int)) for name, i in slots]
        for place, which in ((u, 0), (v, 1)):
            place.append(np.stack([filled(each[which], none) for each in found]) if found else none[None][:0])
        for (_, elements), each in zip(owners, found):
            elements.append(each[2])
    u, v = (np.concatenate(each, axis=-1) for each in (u, v))
    (at_u, u), (at_v, v) = (read(each) for each in (u, v))
    at, of = (np.concatenate([np.concatenate([each, *[each[:1]] * (sides - len(each))]) for each in every], axis=-1)
              for every in ([each.at for each in functions], [each.of for each in functions]))
    places = Places(at + at_u * first.stride, of + at_v * first.of_stride, first.stride, first.of_stride, u, v, first.mass,
                    np.concatenate([each.kind for each in functions]))
    return backend.operations(BilinearSums, places), [(name, np.concatenate(elements)) for name, elements in owners]


def filled(values, like):
    """Values (side, variable, point or 1, place) in the shape of an array, with 0 for the sides that they do not have."""
    found = like.copy()
    found[:len(values)] = values
    return found


def read(factors):
    """(The first variable that has factors (term, side, variable, point, place), the factors up to the last one)."""
    numbers = np.flatnonzero(factors.any(axis=(0, 1, 3, 4)))
    first, end = (numbers[0], numbers[-1] + 1) if len(numbers) else (0, 1)
    return first, factors[:, :, first:end]


class Pulled:
    """What stages add where the function is not bilinear: by its transposed function at the values of each stage.

    found {parameter: (element of the mesh,)}"""

    def __init__(self, sampled, count):
        self.sampled = sampled
        self.found = {parameter: np.zeros(count) for parameter, *_ in sampled.owners.values()}

    def add(self, factor, s, q, t):
        """Add what flat arrays of adjoints and states give."""
        sampled = self.sampled
        adjoint = factor * sampled.weight * taken(s, sampled.at, sampled.stride, sampled.variables)
        for kind, mass in enumerate(sampled.mass):
            part = sampled.kind == kind
            adjoint[..., part] = mass[:, None] * adjoint[..., part] if mass.ndim == 1 else mass @ adjoint[..., part]
        states = dict(zip(sampled.states, taken(q, sampled.of, sampled.of_stride, sampled.variables)))
        with np.errstate(all="ignore"):
            found = pullback(sampled.function.graph, sampled.inputs(states, t), adjoint.reshape(-1, *adjoint.shape[2:]),
                             tuple(sampled.owners))
        for values, (parameter, elements, wanted) in zip(found, sampled.owners.values()):
            total = np.broadcast_to(values, adjoint.shape[2:]).sum(axis=0) * wanted
            self.found[parameter] += np.bincount(elements, total, len(self.found[parameter]))
