"""Weighted sums of rows, and products of two lists of rows with a matrix between them, in all lanes of float64."""
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .arithmetic import Vectors
from .vector import INDEX, data, scalar_type


def weighted(rows, places, apart, lanes, dtype):
    """Compiled weighted(u, f, numbers, g, first, w, t, step): for each row r < rows, in all lanes,

        w[t + r step + lane] = sum over the columns k of u[f + (r K + k) lanes + lane]
                               * sum over c of numbers[c] g[first + places[k] + c apart + lane],

    of K places, with c < len(numbers), float64 arrays but g, which has the dtype.
    apart: a list of the places of each c"""
    K = len(places)

    def emit(context, builder, signature, args):
        v, given = Vectors(builder, "float64"), [data(context, builder, signature, args, i) for i in (0, 2, 3, 5)]
        u, numbers, g, w = given
        narrow = ir.VectorType(scalar_type(dtype), v.width)

        def value(place):
            pointer = builder.bitcast(builder.gep(g, [v.plus(args[4], place)]), narrow.as_pointer())
            found = builder.load(pointer, align=np.dtype(dtype).itemsize)
            return found if narrow == v.type else builder.fpext(found, v.type)
        factors = [v.spread(builder.load(builder.gep(numbers, [ir.Constant(INDEX, c)]))) for c in range(len(apart))]
        for h in range(0, lanes, v.width):
            values = [v.dot(factors, [value(place + more + h) for more in apart]) for place in places]
            for r in range(rows):
                own = [v.load(u, v.plus(args[1], (r * K + k) * lanes + h)) for k in range(K)]
                target = builder.add(v.plus(args[6], h), builder.mul(args[7], ir.Constant(INDEX, r)))
                v.store(v.dot(own, values), w, target)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, u, f, numbers, g, first, w, t, step):
        return types.void(u, types.int64, numbers, g, types.int64, w, types.int64, types.int64), emit

    return call


def form(count, diagonal, lanes):
    """Compiled form(mass, m, w, x, y, sums, s, factor): in all lanes

        sums[s + lane] += factor sum over a, b < count of w[x + a lanes + lane] mass[m + a count + b] w[y + b lanes + lane],

    or mass[m + a] with a = b alone, where it is diagonal; float64 arrays."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, "float64")
        mass, w, sums = (data(context, builder, signature, args, i) for i in (0, 2, 5))
        starts = range(0, lanes, v.width)
        totals = [cgutils.alloca_once_value(builder, v.constant(0)) for _ in starts]
        for total in totals:
            builder.store(v.constant(0), total)

        def number(*place):
            return v.spread(builder.load(builder.gep(mass, [v.plus(args[1], *place)])))

        def row(first, of, h):
            return v.load(w, v.plus(args[first], h, builder.mul(of, ir.Constant(INDEX, lanes))))
        with cgutils.for_range(builder, ir.Constant(INDEX, count)) as loop:
            a = loop.index
            if diagonal:
                factor = number(a)
                values = [builder.fmul(factor, row(4, a, h)) for h in starts]
            else:
                first = builder.mul(a, ir.Constant(INDEX, count))
                factors = [number(first, b) for b in range(count)]
                values = [v.dot(factors, [row(4, ir.Constant(INDEX, b), h) for b in range(count)]) for h in starts]
            for total, h, value in zip(totals, starts, values):
                builder.store(builder.call(v.fma, [row(3, a, h), value, builder.load(total)]), total)
        factor = v.spread(args[7])
        for total, h in zip(totals, starts):
            place = v.plus(args[6], h)
            v.store(builder.call(v.fma, [factor, builder.load(total), v.load(sums, place)]), sums, place)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, mass, m, w, x, y, sums, s, factor):
        return types.void(mass, types.int64, w, types.int64, types.int64, sums, types.int64, types.float64), emit

    return call
