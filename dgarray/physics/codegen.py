"""Expression graphs become source: straight-line scalar code for numba and CUDA C, and formulas for people.

Every operation is one assignment without branches (choices are selects), so that a loop over elements around it
vectorises, and every literal has the type of the run, so that float32 code holds no float64 instruction.
"""
import math
from collections import Counter
from dataclasses import dataclass, field

from .trace import is_boolean, operands

# Literals that an operation's template wants after its operands.
LITERALS = {"sign": (0.0, 1.0, -1.0)}
INFIX = {
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / {}", "negative": "-{}",
    "less": "{} < {}", "less_equal": "{} <= {}", "greater": "{} > {}", "greater_equal": "{} >= {}",
    "equal": "{} == {}", "not_equal": "{} != {}", "logical_and": "{} & {}", "logical_or": "{} | {}",
}
PYTHON = INFIX | {
    "logical_not": "not {}", "power": "{} ** {}", "absolute": "fabs({})", "arctan2": "atan2({}, {})",
    "where": "{1} if {0} else {2}", "sign": "{2} if {0} > {1} else ({3} if {0} < {1} else {0})",
    # The second comparison holds for a NaN only, which wins as in NumPy.
    "minimum": "{0} if ({0} <= {1}) | ({0} != {0}) else {1}", "maximum": "{0} if ({0} >= {1}) | ({0} != {0}) else {1}",
} | {name: name + "({})" for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh")}
CUDA = INFIX | {
    "logical_not": "!{}", "where": "{0} ? {1} : {2}", "sign": "{0} > {1} ? {2} : ({0} < {1} ? {3} : {0})",
    "minimum": "({0} <= {1}) | ({0} != {0}) ? {0} : {1}", "maximum": "({0} >= {1}) | ({0} != {0}) ? {0} : {1}",
}
CUDA_FUNCTIONS = {"power": "pow", "absolute": "fabs", "arctan2": "atan2"} | {
    name: name for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh")}


def _check(dtype):
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype {dtype!r} cannot be compiled; allowed: 'float32', 'float64'")


@dataclass(frozen=True)
class Python:
    """Python for numba, on the CPU and for numba.cuda, in `dtype` float32 or float64.

    A literal in the text would be a float64, so numbers are names of module-level constants: `constants` collects
    {name: number} over all calls; the module needs `import numpy as np`, `header` and `definitions`."""

    dtype: str = "float64"
    constants: dict = field(default_factory=dict)
    header = "from math import atan2, cos, exp, fabs, log, sin, sqrt, tan, tanh"
    operators = PYTHON

    def __post_init__(self):
        _check(self.dtype)

    def literal(self, value):
        """The name of the constant with this value, new or known; booleans are literals."""
        if isinstance(value, bool):
            return repr(value)
        for name, known in self.constants.items():
            if repr(known) == repr(value):
                return name
        name = f"c_{len(self.constants)}"
        self.constants[name] = value
        return name

    @property
    def definitions(self):
        """Lines that define the constants so far."""
        return [f"{name} = np.{self.dtype}({repr(value) if math.isfinite(value) else repr(str(value))})"
                for name, value in self.constants.items()]

    def assignment(self, name, expression, boolean):
        return f"{name} = {expression}"


@dataclass(frozen=True)
class Cuda:
    """CUDA C in `dtype` float32 or float64."""

    dtype: str = "float64"

    def __post_init__(self):
        _check(self.dtype)

    @property
    def real(self):
        """The C type of a number."""
        return "float" if self.dtype == "float32" else "double"

    @property
    def operators(self):
        suffix = "f" if self.dtype == "float32" else ""
        return CUDA | {op: f"{name}{suffix}({'{}, {}' if op in ('power', 'arctan2') else '{}'})"
                       for op, name in CUDA_FUNCTIONS.items()}

    def literal(self, value):
        if isinstance(value, bool):
            return "true" if value else "false"
        suffix = "f" if self.dtype == "float32" else ""
        if not math.isfinite(value):    # as quotients, because NVRTC has no INFINITY
            return f"({0.0 if math.isnan(value) else math.copysign(1, value)}{suffix} / 0.0{suffix})"
        return f"{value!r}{suffix}" if value >= 0 else f"({value!r}{suffix})"

    def assignment(self, name, expression, boolean):
        return f"const {'bool' if boolean else self.real} {name} = {expression};"


def scalar_source(graph, names, dialect, prefix="v"):
    """Source of one evaluation of a graph: (lines, outputs), assignments and the expressions of the results.

    names:   {input of the graph: name or index expression that reads it}
    dialect: Python(dtype) or Cuda(dtype)
    prefix:  of the names assigned to, followed by a number
    Raises KeyError for an input without a name."""
    missing = [name for name in graph.inputs if name not in names]
    if missing:
        raise KeyError(f"{graph.name} reads {', '.join(missing)}, but expressions are given for: {', '.join(names)}")
    lines, text = [], []
    for node in graph.nodes:
        op, first, *_ = node
        if op == "input":
            text.append(names[first])
        elif op == "const":
            text.append(dialect.literal(first))
        else:
            values = [text[i] for i in operands(node)] + [dialect.literal(value) for value in LITERALS.get(op, ())]
            text.append(f"{prefix}{len(lines)}")
            lines.append(dialect.assignment(text[-1], dialect.operators[op].format(*values), is_boolean(node)))
    return lines, [text[i] for i in graph.outputs]


# Templates for readers, how weakly the result binds and how weakly each operand may bind without parentheses.
ATOM, POWER, SIGNED, PRODUCT, NEGATED, SUM, COMPARED, NOT, AND, OR = range(10)
FORMULAS = {
    "add": ("{} + {}", SUM, SUM, SUM), "subtract": ("{} - {}", SUM, SUM, PRODUCT),
    "multiply": ("{}*{}", PRODUCT, NEGATED, PRODUCT), "divide": ("{}/{}", PRODUCT, NEGATED, SIGNED),
    "negative": ("-{}", NEGATED, PRODUCT), "power": ("{}**{}", POWER, ATOM, ATOM),
    "logical_and": ("{} and {}", AND, AND, AND), "logical_or": ("{} or {}", OR, OR, OR),
    "logical_not": ("not {}", NOT, NOT),
} | {op: (INFIX[op], COMPARED, SUM, SUM)
     for op in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")}
SHARED = 3    # a subexpression of this many operations that is used more than once gets its own line


def formulas(graph, output_names, names=None):
    """Readable formulas of a graph, one line per output, after lines `a1 = ...` for shared subexpressions.

    output_names: what to call the outputs, one name each, else ValueError
    names:        {input of the graph: what to call it}; others keep their name"""
    if len(output_names) != len(graph.outputs):
        raise ValueError(f"{graph.name} has {len(graph.outputs)} outputs and {len(output_names)} names for them")
    uses = Counter(i for node in graph.nodes for i in operands(node)) + Counter(graph.outputs)
    names, lines, terms = names or {}, [], []    # a term: (text, binding strength, operations in the text)
    for number, node in enumerate(graph.nodes):
        op, first, *_ = node
        if op == "input":
            terms.append((names.get(first, first), ATOM, 0))
        elif op == "const":
            text = str(first) if isinstance(first, bool) else f"{first:.12g}"
            terms.append((text, SIGNED if text.startswith("-") else ATOM, 0))
        else:
            term = _formula(op, operands(node), terms)
            if uses[number] > 1 and term[2] >= SHARED:
                lines.append(f"a{len(lines) + 1} = {term[0]}")
                term = (f"a{len(lines)}", ATOM, 0)
            terms.append(term)
    return lines + [f"{name} = {terms[i][0]}" for name, i in zip(output_names, graph.outputs)]


def _formula(op, nodes, terms):
    operations = 1 + sum(terms[i][2] for i in nodes)
    if op == "multiply" and nodes[0] == nodes[1]:
        text, strength, _ = terms[nodes[0]]
        return f"({text})**2" if strength > ATOM else f"{text}**2", POWER, operations
    if op == "multiply" and terms[nodes[1]][0].startswith("1/") and terms[nodes[1]][1] == PRODUCT:
        text, strength, _ = terms[nodes[0]]          # a * (1 / b)
        return f"{text if strength <= NEGATED else f'({text})'}{terms[nodes[1]][0][1:]}", PRODUCT, operations
    if op not in FORMULAS:
        name = {"absolute": "abs"}.get(op, op)
        return f"{name}({', '.join(terms[i][0] for i in nodes)})", ATOM, operations
    template, strength, *allowed = FORMULAS[op]
    texts = [terms[i][0] if terms[i][1] <= limit else f"({terms[i][0]})" for i, limit in zip(nodes, allowed)]
    return template.format(*texts), strength, operations
