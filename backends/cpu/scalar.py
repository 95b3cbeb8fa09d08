"""Expression graphs as code of the compiler, without a text between: numba spends most of its time on reading text.

A graph with 300 operations is one call in a kernel's text, `evaluate_...(w, offsets, given)`, and its operations become
instructions in the place of the call, the same ones that numba makes of `dgarray.codegen.Python`'s text.
"""
import math
import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import typing
from numba.extending import intrinsic

from ...trace import is_boolean
from .vector import INDEX, data, scalar_type

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
        zero, one, minus = (ir.Constant(values[0].type, number) for number in (0.0, 1.0, -1.0))
        negative = builder.select(builder.fcmp_ordered("<", values[0], zero), minus, values[0])
        return builder.select(builder.fcmp_ordered(">", values[0], zero), one, negative)
    function = context.get_function(FUNCTIONS[op], typing.signature(real, *[real] * len(values)))
    return function(builder, values)


def function(nodes, outputs, targets, dtype):
    """Compiled call(w, offsets, given): evaluate a graph for one lane, from and to the flat array w.

    nodes:   of a `Graph`, with ("load", place, i) for the input w[place + offsets[i]] and ("given", i) for given[i]
    outputs: numbers of the nodes that are results
    targets: (place, i) of each result, which goes to w[place + offsets[i]]; None: the only result is returned"""
    dtype = np.dtype(dtype)
    real = types.float32 if dtype == np.float32 else types.float64

    def emit(context, builder, signature, args):
        w, results = data(context, builder, signature, args, 0), []

        def item(position, number):
            return builder.extract_value(args[position], number)

        def place(at, number):
            offset = item(1, number)
            offset = offset if offset.type == INDEX else builder.sext(offset, INDEX)
            return builder.gep(w, [builder.add(offset, ir.Constant(INDEX, at))])

        for op, *rest in nodes:
            if op == "load":
                results.append(builder.load(place(*rest)))
            elif op == "given":
                results.append(item(2, *rest))
            elif op == "const":
                constant = ir.Constant(ir.IntType(1), rest[0]) if isinstance(rest[0], bool) else ir.Constant(
                    scalar_type(dtype), float(dtype.type(rest[0])))
                results.append(constant)
            else:
                results.append(instruction(context, builder, real, op, [results[i] for i in rest]))
        if targets is None:
            return results[outputs[0]]
        for output, target in zip(outputs, targets):
            value = results[output]
            value = builder.uitofp(value, scalar_type(dtype)) if is_boolean(nodes[output]) else value
            builder.store(value, place(*target))
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, w, offsets, given):
        result = types.void if targets is not None else types.boolean if is_boolean(nodes[outputs[0]]) else real
        return result(w, offsets, given), emit

    return call
