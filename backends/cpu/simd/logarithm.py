"""The natural logarithm of vectors: there is no instruction for it, and a call for each lane costs ten times as much.

x = 2^e m with 1/sqrt(2) <= m < sqrt(2), so log x = e log 2 + 2 artanh f with f = (m - 1) / (m + 1) and
artanh f = f + f^3/3 + f^5/5 + ..
"""
import math

import numpy as np
from llvmlite import ir

TERMS = {8: 11, 4: 5}          # of the series, by bytes of a number: f^2 < 0.03


def logarithm(builder, x, fma):
    """log x of a vector of numbers; nan for negative ones, -inf for 0.  fma(a, b, c): a b + c."""
    kind, count = x.type, x.type.count
    double = isinstance(kind.element, ir.DoubleType)
    bits, mantissa, bias = (64, 52, 1023) if double else (32, 23, 127)
    integers = ir.VectorType(ir.IntType(bits), count)

    def number(value):
        return ir.Constant(kind, [ir.Constant(kind.element, float(value))] * count)

    def integer(value):
        return ir.Constant(integers, [value] * count)
    of_x = builder.bitcast(x, integers)
    # Adding the distance of sqrt(2) from 2 makes the exponent that of the power of two nearest to x.
    root = np.array(math.sqrt(2), np.float64 if double else np.float32).view(f"uint{bits}").item() & ((1 << mantissa) - 1)
    raised = builder.add(of_x, integer((1 << mantissa) - root))
    exponent = builder.sub(builder.ashr(raised, integer(mantissa)), integer(bias))
    m = builder.bitcast(builder.sub(of_x, builder.shl(exponent, integer(mantissa))), kind)
    f = builder.fdiv(builder.fsub(m, number(1)), builder.fadd(m, number(1)))
    square = builder.fmul(f, f)
    terms = TERMS[bits // 8]
    total = number(2 / (2 * terms - 1))
    for k in reversed(range(1, terms - 1)):
        total = fma(total, square, number(2 / (2 * k + 1)))
    e = builder.sitofp(exponent, kind)
    high = float(np.float32(math.log(2))) if double else math.floor(math.log(2) * 4096) / 4096       # e high is exact
    rest = fma(e, number(math.log(2) - high), builder.fmul(builder.fmul(f, square), total))
    result = fma(e, number(high), fma(f, number(2), rest))
    positive = builder.fcmp_ordered(">", x, number(0))
    finite = builder.fcmp_ordered("<", x, number(math.inf))
    of_none = builder.select(builder.fcmp_ordered("==", x, number(0)), number(-math.inf), number(math.nan))
    return builder.select(positive, builder.select(finite, result, x), of_none)
