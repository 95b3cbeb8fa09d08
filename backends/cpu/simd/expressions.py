"""Traced expressions as instructions of the compiler, for one lane or for whole vector registers.

Numba spends most of its time on reading text, so a graph of 300 operations is one call in a kernel's text, `flux_<hash>(w,
offsets, given)`, which becomes its instructions in place. They are those that numba makes of the text of
`dgarray.physics.codegen.Python`.

Which product and sum are one instruction is decided here. The compiler decides it otherwise from lane to lane, and an element's
numbers must not depend on its place among the others, as it has another one in a part of a mesh. A sum of two products is three
instructions: with one of the products exact and the other one rounded, a b + c d would not be c d + a b, and a flow that is its
own mirror image would not stay that.
"""
import math
import operator
from collections import Counter
from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, typing
from numba.extending import intrinsic

from ....physics.trace import BOOLEAN, is_boolean
from .arithmetic import Vectors
from .logarithm import logarithm
from .target import lanes
from .vector import INDEX, data, scalar_type

IN_VECTORS = frozenset(("const", "add", "subtract", "multiply", "divide", "negative", "where", "minimum", "maximum", "sqrt",
                        "absolute", "log", *BOOLEAN))
ORDERED = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "=="}
FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh")} | {
    "absolute": math.fabs, "arctan2": math.atan2, "power": operator.pow}


def instruction(context, builder, real, op, values):
    """The value of an operation, in the meaning of NumPy: a NaN wins a minimum or maximum."""
    if op in ("add", "subtract", "multiply", "divide"):
        return {"add": builder.fadd, "subtract": builder.fsub, "multiply": builder.fmul, "divide": builder.fdiv}[op](*values)
    if op == "negative":
        return builder.fneg(*values)
    if op in ORDERED:
        return builder.fcmp_ordered(ORDERED[op], *values)
    if op == "not_equal":
        return builder.fcmp_unordered("!=", *values)
    if op in ("logical_and", "logical_or", "logical_not"):
        return {"logical_and": builder.and_, "logical_or": builder.or_, "logical_not": builder.not_}[op](*values)
    if op == "where":
        return builder.select(*values)
    if op in ("minimum", "maximum"):
        a, b = values
        first = builder.fcmp_ordered("<=" if op == "minimum" else ">=", a, b)
        return builder.select(builder.or_(first, builder.fcmp_unordered("!=", a, a)), a, b)
    if op == "sign":
        zero, one, minus = (constant(values[0].type, number) for number in (0.0, 1.0, -1.0))
        negative = builder.select(builder.fcmp_ordered("<", values[0], zero), minus, values[0])
        return builder.select(builder.fcmp_ordered(">", values[0], zero), one, negative)
    if isinstance(values[0].type, ir.VectorType):
        if op in ("sqrt", "absolute"):
            return intrinsic_of(builder, {"sqrt": "sqrt", "absolute": "fabs"}[op], *values)
        if op == "log":
            return logarithm(builder, *values, partial(fused, context, builder))
        return by_lanes(context, builder, real, op, values)
    function = context.get_function(FUNCTIONS[op], typing.signature(real, *[real] * len(values)))
    return function(builder, values)


def by_lanes(context, builder, real, op, values):
    """The value of an operation for which there is no instruction on vectors: a call for each lane."""
    result = ir.Constant(values[0].type, ir.Undefined)
    for lane in range(values[0].type.count):
        place = ir.Constant(ir.IntType(32), lane)
        one = instruction(context, builder, real, op, [builder.extract_element(value, place) for value in values])
        result = builder.insert_element(result, one, place)
    return result


def fused(context, builder, first, second, added):
    """first * second + added in one instruction where the processor has it."""
    return intrinsic_of(builder, "fmuladd", first, second, added)


def intrinsic_of(builder, name, *values):
    """The compiler's own function of numbers or vectors of one type."""
    kind = values[0].type
    one, count = (kind.element, f"v{kind.count}") if isinstance(kind, ir.VectorType) else (kind, "")
    suffix = count + ("f32" if isinstance(one, ir.FloatType) else "f64")
    call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * len(values)), f"llvm.{name}.{suffix}")
    return builder.call(call, values)


@intrinsic
def fma(typingctx, first, second, added):
    """fma(first, second, added): first * second + added, of numbers of one dtype."""
    def emit(context, builder, signature, args):
        return fused(context, builder, *args)
    return added(added, added, added), emit


def sum_of_products(*pairs, to=None):
    """Text of a sum of products, of pairs of texts, added in this order, to a text if one is given; needs `fma`."""
    for first, second in pairs:
        to = f"{first}*{second}" if to is None else f"fma({first}, {second}, {to})"
    return to


def single_products(nodes, outputs):
    """Numbers of the products that are used once: a sum or difference is one instruction with them.

    A product times -1, or a number divided by a power of two, is one, too, because that is exact."""
    used = Counter(i for op, *rest in nodes if op not in ("load", "given", "const") for i in rest)
    used.update(outputs)
    single = set()
    for i, (op, *rest) in enumerate(nodes):
        if used[i] == 1 and (op == "multiply" or op == "negative" and rest[0] in single
                             or op == "divide" and is_power_of_two(nodes[rest[1]])):
            single.add(i)
    return single


def is_power_of_two(node):
    """Whether a node is a constant that divides numbers exactly."""
    return node[0] == "const" and abs(math.frexp(node[1])[0]) == 0.5


def product_of(builder, node, nodes, values, products):
    """The two factors of a product of `single_products`."""
    op, first, *_ = node
    if op == "negative":
        return builder.fneg(products[first][0]), products[first][1]
    if op == "divide":
        return values[0], constant(values[0].type, 1 / float(nodes[node[2]][1]))
    return values


def fusable(nodes, rest, products):
    """Which operand of a sum is a product that is one instruction with it, 0 or 1, else None: of two products a division by a
    power of two, which is exact, so that it does not matter which one of them it is."""
    found = [position for position in (0, 1) if rest[position] in products]
    if len(found) == 2:
        found = [position for position in found if nodes[rest[position]][0] == "divide"]
    return found[0] if found else None


def sum_with_product(context, builder, op, position, products, values, rest):
    """The sum or difference of two values in one instruction with the product at a position."""
    first, second = products[rest[position]]
    other = values[1 - position]
    if op == "subtract":
        first, other = (first, builder.fneg(other)) if position == 0 else (builder.fneg(first), other)
    return fused(context, builder, first, second, other)


def constant(kind, value):
    """A constant of a type of numbers or vectors."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def function(nodes, outputs, targets, dtype, vectors=False):
    """Compiled call(w, offsets, given): evaluate a graph for one lane, from and to the flat array w.

    nodes:   of a `Graph`, with ("load", place, i) for the input w[place + offsets[i]] and ("given", i) for given[i]
    outputs: numbers of the nodes that are results
    targets: (place, i) of each result, which goes to w[place + offsets[i]]; None: the only result is returned
    vectors: for all lanes of a tile, offsets being those of the first; `nodes` have operations of IN_VECTORS only. Short
             functions need it: the compiler unrolls their loop over lanes before it makes vectors of it"""
    dtype = np.dtype(dtype)
    real = types.float32 if dtype == np.float32 else types.float64
    width = lanes(dtype) // 2
    number = ir.VectorType(scalar_type(dtype), width) if vectors else scalar_type(dtype)
    truth = ir.VectorType(ir.IntType(1), width) if vectors else ir.IntType(1)
    single = single_products(nodes, outputs)

    def evaluate(context, builder, signature, args, first):
        w, results, products = data(context, builder, signature, args, 0), [], {}

        def place(at, i):
            offset = builder.extract_value(args[1], i)
            offset = offset if offset.type == INDEX else builder.sext(offset, INDEX)
            pointer = builder.gep(w, [builder.add(builder.add(offset, first), ir.Constant(INDEX, at))])
            return builder.bitcast(pointer, number.as_pointer()) if vectors else pointer

        for op, *rest in nodes:
            if op == "load":
                results.append(builder.load(place(*rest), align=dtype.itemsize))
            elif op == "given":
                value = builder.extract_value(args[2], *rest)
                results.append(Vectors(builder, dtype).spread(value) if vectors else value)
            elif op == "const":
                boolean = isinstance(rest[0], bool)
                results.append(constant(truth, rest[0]) if boolean else constant(number, float(dtype.type(rest[0]))))
            elif op in ("add", "subtract") and (position := fusable(nodes, rest, products)) is not None:
                values = [results[i] for i in rest]
                results.append(sum_with_product(context, builder, op, position, products, values, rest))
            else:
                values = [results[i] for i in rest]
                if len(results) in single:
                    products[len(results)] = product_of(builder, (op, *rest), nodes, values, products)
                results.append(instruction(context, builder, real, op, values))
        if targets is None:
            return results[outputs[0]]
        for output, target in zip(outputs, targets):
            value = results[output]
            value = builder.uitofp(value, number) if is_boolean(nodes[output]) else value
            builder.store(value, place(*target), align=dtype.itemsize)
        return context.get_dummy_value()

    def emit(context, builder, signature, args):
        if not vectors:
            return evaluate(context, builder, signature, args, ir.Constant(INDEX, 0))
        with cgutils.for_range(builder, ir.Constant(INDEX, 2)) as half:
            evaluate(context, builder, signature, args, builder.mul(half.index, ir.Constant(INDEX, width)))
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, w, offsets, given):
        result = types.void if targets is not None else types.boolean if is_boolean(nodes[outputs[0]]) else real
        return result(w, offsets, given), emit

    return call
