"""Plain NumPy functions become expression graphs.

`trace` calls a function once with stand-ins for numbers (`Value`) that speak NumPy's own protocols (NEP 13, NEP 18), so
`np.sqrt(q[0]) * n[1]` records two operations instead of computing them. The result, a `Graph`, is straight-line: equal
expressions are one node, constants are folded, what no output needs is gone. `codegen` writes source from it.
"""
import inspect
import linecache
import os
import re
import sys
import sysconfig
from collections import Counter, namedtuple
from dataclasses import dataclass
from functools import cache, cached_property
from numbers import Real
from types import FunctionType, MethodType
from weakref import WeakKeyDictionary

import numpy as np

FLOPS = ("add", "subtract", "multiply", "divide", "power", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "arctan2")
LOGIC = {"logical_and", "logical_or", "logical_not"}
BOOLEAN = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", *LOGIC}
COMMUTATIVE = {"add", "multiply", "minimum", "maximum", "equal", "not_equal", "logical_and", "logical_or"}
UFUNCS = {getattr(np, op): op for op in (
    *FLOPS, *BOOLEAN, "negative", "positive", "absolute", "sign", "minimum", "maximum", "square", "reciprocal")}
BITWISE = {np.bitwise_and: "logical_and", np.bitwise_or: "logical_or", np.invert: "logical_not"}
UNSUPPORTED = ("is not supported in traced code; supported: + - * / **, comparisons, & | ~, logical_and/or/not, sqrt, "
               "square, reciprocal, exp, log, sin, cos, tan, tanh, arctan2, abs, sign, minimum, maximum, clip, where")
# An identity of algebra can hold only where an operand is one of the first, or the operation one of the second.
SIMPLER, ALWAYS_SIMPLER = {"const", "negative", "logical_not"}, {"positive", "square", "reciprocal"}
NEVER_PLAIN = ALWAYS_SIMPLER | LOGIC
LARGEST_POWER = 8    # up to here x**k by multiplications is cheaper than pow and as exact


class TraceError(TypeError, AttributeError):
    """A function does what cannot be compiled. (An AttributeError too, so that `hasattr` of a traced value answers.)"""


def _fail(problem, advice=None):
    """Raise TraceError with the problem and the user's line: the innermost stack frame that is not a library's.

    advice: what to do, a function of that line"""
    frame = sys._getframe(1)
    while frame.f_back and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    filename, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(filename, line, frame.f_globals).strip()
    raise TraceError(f"{problem}{f'; {advice(text)}' if advice else ''}; at {filename}:{line}: {text}")


# {name in the math module: the same function in NumPy}, of those whose names differ.
MATH = {"pow": "power", "fabs": "abs", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}


def instead_of_math(text):
    """Advice which NumPy functions replace those of the math module in a line of code."""
    found = dict.fromkeys(re.findall(r"\bmath\.(\w+)", text)) or ["sqrt"]
    return f"use {', '.join(f'np.{MATH.get(name, name)}' for name in found)}, not {', '.join(f'math.{name}' for name in found)}"


def _is_library(filename):
    """Whether a stack frame belongs to this file, NumPy or the standard library (which may hold site-packages)."""
    standard = filename.startswith(sysconfig.get_path("stdlib") + os.sep) and f"-packages{os.sep}" not in filename
    return standard or filename == __file__ or filename.startswith(("<frozen", os.path.dirname(np.__file__) + os.sep))


@dataclass(frozen=True)
class Graph:
    """Straight-line expression graph of a function.

    nodes    ("input", its name, argument of the function it belongs to), ("const", number or bool), or NumPy's name of
             an operation and the numbers of earlier nodes, such as ("multiply", 0, 3)
    outputs  numbers of the result nodes; name: what was traced"""

    nodes: tuple
    outputs: tuple
    name: str

    @cached_property
    def inputs(self):
        """Names of the inputs that the outputs need."""
        return tuple(node[1] for node in self.nodes if node[0] == "input")

    def depends_on(self, argument):
        """Whether an output needs any component of the function's `argument`."""
        return any(node[0] == "input" and node[2] == argument for node in self.nodes)

    @property
    def operations(self):
        """{operation: count}."""
        return dict(Counter(node[0] for node in self.nodes if operands(node)))

    @property
    def flops(self):
        """Floating-point operations of one evaluation: + - * / and each sqrt, power and elementary function count 1;
        changes of sign, comparisons, logic, minimum, maximum and selects count 0. A fused multiply-add is 2."""
        return sum(count for op, count in self.operations.items() if op in FLOPS)

    @cached_property
    def done(self):
        """For each node the numbers of those that no later one needs, nor the outputs."""
        last = {i: number for number, node in enumerate(self.nodes) for i in operands(node)}
        found = [[] for _ in self.nodes]
        for i, number in last.items():
            if i not in self.outputs:
                found[number].append(i)
        return found

    @cached_property
    def width(self):
        """The most numbers that are there at once in one evaluation, besides inputs and constants."""
        last = {i: number for number, node in enumerate(self.nodes) for i in operands(node)}
        last |= dict.fromkeys(self.outputs, len(self.nodes))
        live, most = set(), 0
        for number, node in enumerate(self.nodes):
            live |= {number} if operands(node) else set()
            most = max(most, len(live))
            live -= {i for i in operands(node) if last[i] == number}
        return most

    def __repr__(self):
        return f"Graph({self.name}({', '.join(self.inputs)}): {len(self.outputs)} outputs, {self.flops} flops)"


def operands(node):
    """Numbers of the nodes that a node reads."""
    return () if node[0] in ("input", "const") else node[1:]


def is_boolean(node):
    """Whether a node is true or false rather than a number."""
    return node[0] in BOOLEAN or (node[0] == "const" and isinstance(node[1], bool))


class _Recorder:
    """The nodes while a function runs; its methods take and return numbers of nodes.

    plain  for each node whether it is neither boolean nor one of which an identity of algebra could hold"""

    def __init__(self):
        self.nodes, self.numbers, self.plain = [], {}, []

    def insert(self, op, *rest):
        if op in COMMUTATIVE:
            key = (op, *rest) if rest[0] <= rest[1] else (op, *rest[::-1])
        else:          # constants by repr, because 1.0 == True, 0.0 == -0.0 and nan != nan
            key = op, repr(rest) if op == "const" else rest
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.nodes)
            self.nodes.append((op, *rest))
            self.plain.append(op not in SIMPLER and op not in BOOLEAN)
        return number

    def operand(self, value):
        """The node of a traced value or a plain number."""
        if type(value) is float:          # most often
            return self.insert("const", value)
        if isinstance(value, Value):
            return value._node if value._recorder is self else _fail("the function uses an argument kept from an earlier call")
        if isinstance(value, np.ndarray | np.generic):
            if value.size != 1:
                _fail(f"an array of shape {value.shape} is used as a number; use its entries one by one")
            value = value.item()
        if isinstance(value, Real):
            return self.insert("const", value if isinstance(value, bool) else float(value))
        return _fail(f"{value!r} ({type(value).__name__}) is used, which is neither a real number nor a traced value")

    def real(self, node):
        return self.where(node, self.operand(1), self.operand(0)) if is_boolean(self.nodes[node]) else node

    def boolean(self, node):
        return node if is_boolean(self.nodes[node]) else self.apply("not_equal", node, self.operand(0))

    def apply(self, op, *nodes):
        """The node of an operation: settle types, fold constants, simplify, else record."""
        if op not in NEVER_PLAIN and all(map(self.plain.__getitem__, nodes)):
            return self.insert(op, *nodes)
        given = [self.nodes[i] for i in nodes]
        logical = list(map(is_boolean, given))
        if any(logical) or op in LOGIC:
            if op not in BOOLEAN and all(logical):
                _fail(f"np.{op} has no number among its operands, only comparisons; use & | ~ or np.where")
            nodes = tuple(map(self.boolean if op in LOGIC else self.real, nodes))
            given = [self.nodes[i] for i in nodes]
        if op not in ALWAYS_SIMPLER and not any(node[0] in SIMPLER for node in given):
            return self.insert(op, *nodes)
        if all(node[0] == "const" for node in given):
            with np.errstate(all="ignore"):
                return self.operand(getattr(np, op)(*(node[1] for node in given)))
        return self.simplify(op, nodes, given)

    def where(self, condition, a, b):
        condition = self.boolean(condition)
        if self.nodes[condition][0] == "const":
            return a if self.nodes[condition][1] else b
        if is_boolean(self.nodes[a]) and is_boolean(self.nodes[b]):
            otherwise = self.apply("logical_and", self.apply("logical_not", condition), b)
            return self.apply("logical_or", self.apply("logical_and", condition, a), otherwise)
        a, b = self.real(a), self.real(b)
        return a if a == b else self.insert("where", condition, a, b)

    def simplify(self, op, nodes, given):
        """The node of an operation, by an identity of algebra if one applies. (0 * x is 0, also for an infinite x.)"""
        first, last = nodes[0], nodes[-1]
        match (op, *given):
            case ("add" | "subtract", _, ("const", 0)) | ("multiply" | "divide", _, ("const", 1)) | ("positive", _):
                return first
            case ("add", ("const", 0), _) | ("multiply", ("const", 1), _):
                return last
            case ("multiply", ("const", 0), _) | ("multiply", _, ("const", 0)):
                return self.operand(0)
            case ("multiply" | "divide", _, ("const", -1)):
                return self.apply("negative", first)
            case ("multiply", ("const", -1), _) | ("subtract", ("const", 0), _):
                return self.apply("negative", last)
            case ("negative", ("negative", x)) | ("logical_not", ("logical_not", x)):
                return x
            case ("add", _, ("negative", x)):
                return self.apply("subtract", first, x)
            case ("subtract", _, ("negative", x)):
                return self.apply("add", first, x)
            case ("square" | "reciprocal", _):
                return self.power(first, 2.0 if op == "square" else -1.0)
            case ("power", _, ("const", exponent)):
                return self.power(first, exponent)
        return self.insert(op, *nodes)

    def power(self, x, exponent):
        """x**k by multiplications for whole k up to LARGEST_POWER, x**0.5 by sqrt, x**-k as 1 / x**k."""
        if exponent < 0:
            return self.apply("divide", self.operand(1), self.power(x, -exponent))
        if exponent == 0.5:
            return self.apply("sqrt", x)
        if exponent not in range(LARGEST_POWER + 1):
            return self.insert("power", x, self.operand(exponent))
        if exponent < 2:
            return x if exponent else self.operand(1)
        half = self.power(x, exponent // 2)
        square = self.apply("multiply", half, half)
        return self.apply("multiply", square, x) if exponent % 2 else square

    def graph(self, outputs, name):
        """The finished graph: what the outputs need, renumbered."""
        needed = set(outputs)
        for i in reversed(range(len(self.nodes))):
            needed.update(operands(self.nodes[i]) if i in needed else ())
        number = {old: new for new, old in enumerate(sorted(needed))}
        nodes = (self.nodes[i] for i in number)
        nodes = tuple((node[0], *map(number.get, operands(node))) if operands(node) else node for node in nodes)
        return Graph(nodes, tuple(map(number.get, outputs)), name)


def _forbidden(problem):
    return lambda self, *_, **__: _fail(problem)


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """A number that is not known yet."""

    def __init__(self, recorder, node):
        self._recorder, self._node = recorder, node

    def __array_ufunc__(self, ufunc, method, *values, **options):
        if method != "__call__" or options:
            detail = f".{method}" if method != "__call__" else f" with {', '.join(options)}="
            _fail(f"np.{ufunc.__name__}{detail} {UNSUPPORTED}")
        nodes = [self._recorder.operand(value) for value in values]
        if ufunc in BITWISE and not all(is_boolean(self._recorder.nodes[i]) for i in nodes):
            _fail("& | ~ are for comparisons; write (a < b) & (c < d)")
        op = UFUNCS.get(ufunc) or BITWISE.get(ufunc) or _fail(f"np.{ufunc.__name__} {UNSUPPORTED}")
        return Value(self._recorder, self._recorder.apply(op, *nodes))

    def __array_function__(self, function, types, values, options):
        if function is np.clip and not {"out", "where", "dtype"} & options.keys():
            return _clip(*values, **options)
        if function is np.where and len(values) == 3:
            return Value(self._recorder, self._recorder.where(*map(self._recorder.operand, values)))
        name = f"{function.__module__}.{function.__name__}".replace("numpy.", "np.")
        return _fail(f"{name} {'with ' + ', '.join(options) + '= ' if options else ''}{UNSUPPORTED}")

    def __getattr__(self, name):
        _fail(f"'.{name}' of a value {UNSUPPORTED}")

    __bool__ = _forbidden("a value decides a branch; use np.where instead of if/and/or (and & | for logic), "
                          "np.maximum and np.minimum instead of max and min")
    __float__ = __int__ = __index__ = __complex__ = __round__ = lambda self, *_: _fail(
        "float(), int(), round() and the math module need a known number", instead_of_math)
    __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = _forbidden(
        "a component is one number, without length or entries; index the tuple of components instead")
    __array__ = _forbidden("a value cannot go into a NumPy array; use tuples of components")


def _operator(op):
    """The methods of an operator such as + and of its reflected form. They call the recorder directly; by way of NumPy and
    `__array_ufunc__` an operation takes a fifth longer."""
    def method(self, other):
        recorder = self._recorder
        return Value(recorder, recorder.apply(op, self._node, recorder.operand(other)))

    def reflected(self, other):
        recorder = self._recorder
        return Value(recorder, recorder.apply(op, recorder.operand(other), self._node))
    return method, reflected


for _name, _op in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide")):
    for _prefix, _method in zip(("__", "__r"), _operator(_op)):
        setattr(Value, f"{_prefix}{_name}__", _method)

# A value never changes, so x += y makes a new one, as it does for Python's numbers.
for _name in ("add", "sub", "mul", "truediv", "pow", "and", "or"):
    setattr(Value, f"__i{_name}__", getattr(Value, f"__{_name}__"))


def _clip(value, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    value = value if low is None else np.maximum(value, low)
    return value if high is None else np.minimum(value, high)


_SIGNATURES: dict[type, WeakKeyDictionary] = {FunctionType: WeakKeyDictionary(), MethodType: WeakKeyDictionary()}


def _signature(function):
    """({name: parameter}, names without *args and **kwargs) of a callable; those of functions and methods are kept, as Python
    takes long to find them."""
    if type(function) not in _SIGNATURES and type(type(function).__call__) is FunctionType:
        function = function.__call__
    kept, key = _SIGNATURES.get(type(function), {}), getattr(function, "__func__", function)
    if type(key) is not FunctionType or key not in kept:
        found = inspect.signature(function).parameters
        found = found, tuple(p.name for p in found.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
        if type(key) is not FunctionType:
            return found
        kept[key] = found
    return kept[key]


def parameters(function):
    """{name: parameter} of a callable."""
    return _signature(function)[0]


def arguments(function):
    """Names of the parameters of a function, bound method, partial or other callable, without *args and **kwargs."""
    return _signature(function)[1]


def call(function, available, role=None):
    """Call `function` with those of the `available` {name: value} that its parameters ask for by name.

    A parameter with a default is passed only if available. TypeError, which names the function and its `role` (such
    as "boundary 'walls'"), if it asks for anything else."""
    names = arguments(function)
    for name in names:
        if name not in available and parameters(function)[name].default is inspect.Parameter.empty:
            raise TypeError(f"{_title(function, role)} asks for '{name}'; allowed: {', '.join(sorted(available))}")
    try:
        return function(**{name: available[name] for name in names if name in available})
    except Exception as error:
        if role and not getattr(error, "__notes__", None):
            error.add_note(f"in {_title(function, role)}")
        raise


def _title(function, role):
    name = getattr(getattr(function, "func", function), "__name__", type(function).__name__)
    return f"{role}: function '{name}'" if role else f"function '{name}'"


@cache
def record(name, *fields):
    """The named tuple of these fields."""
    return namedtuple(name, fields)


def trace(function, inputs, name=None):
    """Record the expression graph of a NumPy function; `name` is the graph's and, in messages, the function's role.

    inputs: {argument: spec}; the function gets those of them that it asks for. A spec is a number k: a tuple of values
            argument0, argument1, ...; None: one value named as the argument; or a dict field -> None or number: a
            namedtuple in which None becomes a value argument_field and a number stays one, to enter as a constant
    Returns a Graph whose outputs are the numbers returned; nested tuples, lists and generators come in one row.
    Raises TraceError, with the user's line, for what cannot be compiled; TypeError for an argument not offered."""
    recorder = _Recorder()

    def values(argument, spec):
        def value(suffix=""):
            return Value(recorder, recorder.insert("input", f"{argument}{suffix}", argument))
        if isinstance(spec, dict):
            fields = (value(f"_{field}") if number is None else float(number) for field, number in spec.items())
            return record(argument, *spec)(*fields)
        return value() if spec is None else tuple(map(value, range(spec)))

    def flat(result):
        if isinstance(result, tuple | list) or inspect.isgenerator(result):
            return [node for part in result for node in flat(part)]
        if not isinstance(result, Value | Real | np.bool_ | np.ndarray):
            raise TraceError(f"{_title(function, name)} returns {result!r}; it must return numbers")
        return [recorder.operand(result)]

    result = call(function, {argument: values(argument, spec) for argument, spec in inputs.items()}, name)
    return recorder.graph(flat(result), name or getattr(function, "__name__", type(function).__name__))
