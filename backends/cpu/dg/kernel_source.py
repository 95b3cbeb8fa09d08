"""Text of kernels that work on many elements or faces side by side, one in each lane: how formulas are evaluated there.

Formulas are traced expressions, compiled without a text between; loops run over the lanes."""
import re
from hashlib import sha256
from inspect import getsource

import numpy as np

from ....physics.codegen import Python
from ....physics.explain import formulas_of
from ....physics.run_time_numbers import NUMBER, with_numbers
from .. import loop_arguments, threaded_loops
from ..simd import arithmetic as lanes, boundary, expressions, lines, logarithm, matmul, target, vector
from ..threaded_loops import loop_text

# Part of every generated text, so that a kernel on disk is not used with other products or moves than it was made with.
KERNELS = sha256("".join(getsource(module) for module in (
    boundary, expressions, lanes, lines, logarithm, loop_arguments, matmul, threaded_loops, vector)).encode()).hexdigest()[:16]


class Lane(str):
    """Text of one lane of a row of the scratch array, w[at + step + lane]."""

    def __new__(cls, at, step=""):
        lane = super().__new__(cls, f"w[{at}{step} + lane]")
        lane.at, lane.step = at, step
        return lane


class KernelSource:
    """Text of a kernel with V variables whose values lie in a scratch array w, in rows of L lanes at offsets that are literals.

    moving   number of the law's variables, which come first;  flowing: of the first ones, which have a flux
    at     where the rows of a name begin in w;  C0: the constants of the functions
    P      names of the law's parameters that vary"""

    added = ()               # products that are added to what is in their rows
    scratch = "w"            # arrays of each thread

    def __init__(self, law, dtype, variables=None, flowing=None):
        """variables, flowing: how many, by default those of the law"""
        self.law, self.dtype, self.L = law, np.dtype(dtype), target.lanes(dtype)
        self.moving = len(law.variables)
        self.V, self.flowing = variables or self.moving, flowing or self.moving
        self.gathered = self.moving          # of how many variables `gather_q` brings values together
        self.dialect = Python(str(self.dtype))
        self.functions = {}                                                      # {name: what it evaluates, as text}

    def set_rows(self, counts, functions):
        """Find `at` and the size of the scratch array.

        counts: {name: how many rows};  functions: those that the kernel evaluates"""
        self.at, self.size = {}, 0
        for name, count in counts.items():
            self.at[name], self.size = self.size * self.L, self.size + count
        self.with_numbers, self.numbers = {}, []         # {function: (as evaluated, first row of its constants)}; their values
        for function in functions:
            evaluated = with_numbers(function)
            self.with_numbers[function] = evaluated, len(self.numbers)
            self.numbers += evaluated.values
        self.at["C0"], self.size = self.size * self.L, self.size + len(self.numbers)

    def put_numbers(self, w):
        """Put the constants of the functions into their rows of a scratch array; no kernel changes them."""
        rows = w[self.at["C0"]:][:len(self.numbers) * self.L].reshape(-1, self.L)
        rows[...] = np.reshape(self.numbers, (-1, 1))

    def lane(self, name, row, step=""):
        """Text of one lane of a row of the scratch array."""
        return Lane(self.at[name] + row * self.L, step)

    def lanes(self, lines):
        return [f"for lane in range({self.L}):", *(f"    {line}" for line in lines)]

    def over_lanes(self, function, targets, **places):
        """Lines that evaluate a function in all lanes, as whole vectors where all its operations have instructions."""
        evaluated, _ = self.with_numbers.get(function, (function, 0))
        if all(node[0] == "input" or node[0] in expressions.IN_VECTORS for node in evaluated.graph.nodes):
            return self.evaluate(function, targets, vectors=True, **places)
        return self.lanes(self.evaluate(function, targets, **places))

    def evaluate(self, function, targets, vectors=False, first="lane", **places):
        """Lines that evaluate a function in one lane and give its components to the targets, rows or one name.

        places:  {argument: (scratch rows, first row, step, stride)}, where the lane's inputs lie, or their rows or texts of
                 their values, by number or name
        vectors: in all lanes at once;  first: text of the lane"""
        function, first_number = self.with_numbers.get(function, (function, 0))
        places = {NUMBER: ("C0", first_number, "", 1)} | places
        steps, given, nodes = {}, {}, []

        def place(lane):
            return lane.at, steps.setdefault(lane.step, len(steps))
        for node in function.graph.nodes:
            if node[0] == "input":
                argument, number = function.used[node[1]]
                if argument == "t":
                    found = "t"
                elif isinstance(places[argument], (list, dict)):
                    found = places[argument][number]
                else:
                    scratch, row, step, stride = places[argument]
                    number = number if isinstance(number, int) else self.P.index(number)
                    found = self.lane(scratch, row + number * stride, step)
                node = ("load", *place(found)) if isinstance(found, Lane) else ("given", given.setdefault(found, len(given)))
            nodes.append(node)
        stored = isinstance(targets[0], Lane)
        result = [place(target) for target in targets] if stored else None
        text = f"{tuple(nodes)}, {function.graph.outputs}, {result}, np.{self.dtype}{', vectors=True' * vectors}"
        formulas = formulas_of(function, self.law)
        role = function.name.partition(" '")[0]
        name = f"{re.sub('[^a-zA-Z]+', '_', role)}_{sha256(text.encode()).hexdigest()[:8]}"
        self.functions[name] = text, formulas
        lane = "0" if vectors else first
        call = f"{name}(w, ({''.join(f'{lane}{step}, ' for step in steps)}), ({''.join(f'{value}, ' for value in given)}))"
        return [call if stored else f"{targets[0]} = {call}"]

    def products(self):
        """{name of a product of the kernels: (rows, operands)}."""
        return {}

    def definitions(self):
        """Lines of the module before its functions: tables and moves."""
        return []

    def module(self, what, arguments, work, extra=(), before=""):
        """The text of a module whose loop does this work, lines for the tiles from `first` to `last` and for arguments of these
        names; extra: lines before its functions; before: functions that the work calls."""
        products = [f"{name} = matmul.multiply({rows}, {inner}, np.{self.dtype}{', add=True' * (name in self.added)})"
                    for name, (rows, inner) in self.products().items() if rows]
        return self.text_of(what, f"{before}\n\n@njit(**OPTIONS, _nrt=False){loop_text(arguments, work)}", [
            *products, "prefetch, select, fma = vector.prefetch, vector.select, expressions.fma",
            f"copy = vector.copy(np.{self.dtype})", f"gather_q = vector.gather({self.gathered}, np.{self.dtype})",
            f"condition = boundary.condition(np.{self.dtype})", *self.definitions(), *extra])

    def text_of(self, what, body, definitions):
        """The text of a module: the functions that its body calls, definitions, and this body."""
        functions = ["\n".join([*(f"# {line}" for line in formulas), f"{name} = expressions.function({text})"])
                     for name, (text, formulas) in sorted(self.functions.items()) if name in body]
        return f'''"""Generated by dgarray {KERNELS}: {what} for {type(self.law).__name__}."""
{self.dialect.header}

import numpy as np
from numba import carray, cfunc, njit, types
from numpy import inf, nan

from dgarray.backends.cpu.loop_arguments import unpacked
from dgarray.backends.cpu.simd import boundary, expressions, lines, matmul, target, vector

assert target.lanes(np.{self.dtype}) == {self.L}
{chr(10).join(self.dialect.definitions)}
{chr(10).join(functions)}
{chr(10).join(definitions)}
OPTIONS = dict(nogil=True, cache=True, error_model="numpy")

{body}'''


def indented(lines, levels=1):
    return ["    " * levels + line for line in lines]
