"""Barth-Jespersen's limiting of slopes as instructions on whole vector registers, a variable and half a tile at a time.

Counted for Euler in 2D and half a tile of 8 elements in float64: 96 numbers gathered for 24 vectors of averages, then for each
of four variables 9 operations on these, 22 at the points, 9 for its share and one division.  What puts the gathered vectors
together takes as many instructions as all of these."""
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..simd.arithmetic import Vectors
from ..simd.vector import INDEX, data, entry


def larger(v, a, b):
    """The larger of two vectors; b where one of them is no number."""
    return v.builder.select(v.builder.fcmp_ordered(">", a, b), a, b)


def smaller(v, a, b):
    """The smaller of two vectors; b where one of them is no number."""
    return v.builder.select(v.builder.fcmp_ordered("<", a, b), a, b)


def rooms(variables, faces, dtype, gathered):
    """Compiled call(values, stride, index, i, own, o, step, w, high, low): the largest and least changes, or zero, over faces,

        w[high + v L + lane] = max(0, change of all faces),   w[low + v L + lane] = min(0, change of all faces)

    with change = values[index[i + f L + lane] + v stride] - own[o + v step + lane] if gathered, else the change itself,
    values[i + f stride + v L + lane]."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        values, index, own, w = (data(context, builder, signature, args, n) for n in (0, 2, 4, 7))
        _, stride, _, i, _, o, step, _, high, low = args
        for half in (0, v.width):
            most, least = [v.constant(0)] * variables, [v.constant(0)] * variables
            steps = [builder.mul(step, ir.Constant(INDEX, n)) for n in range(variables)]
            means = [v.load(own, v.plus(o, at, half)) for at in steps] if gathered else None
            for face in range(faces):
                if gathered:
                    first = v.plus(i, 2 * face * v.width + half)
                    vectors = gather(v, values, stride, index, first, variables)
                    changes = [builder.fsub(*pair) for pair in zip(vectors, means)]
                else:
                    first = v.plus(i, builder.mul(stride, ir.Constant(INDEX, face)), half)
                    changes = [v.load(values, v.plus(first, 2 * n * v.width)) for n in range(variables)]
                most = [larger(v, change, room) for change, room in zip(changes, most)]
                least = [smaller(v, change, room) for change, room in zip(changes, least)]
            for n, pair in enumerate(zip(most, least)):
                for value, place in zip(pair, (high, low)):
                    v.store(value, w, v.plus(place, 2 * n * v.width + half))
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, values, stride, index, i, own, o, step, w, high, low):
        integer = types.int64
        return types.void(values, integer, index, integer, own, integer, integer, w, integer, integer), emit

    return call


def gather(v, values, stride, index, i, variables):
    """Vectors of values[index[i + lane] + n stride] for each variable n."""
    vectors = [ir.Constant(v.type, ir.Undefined)] * variables
    for lane in range(v.width):
        number = entry(v.builder, index, i, ir.Constant(INDEX, lane))
        for n in range(variables):
            one = v.builder.load(v.builder.gep(values, [number]))
            vectors[n] = v.builder.insert_element(vectors[n], one, ir.Constant(ir.IntType(32), lane))
            number = v.builder.add(number, stride)
    return vectors


def shares(variables, points, dtype, sensed):
    """Compiled call(w, high, low, sense, changed, slopes, s, step) that limits slopes c_i = slopes[s + v step + i L + lane]:

        c_i *= min(1, w[high + v L + lane] / max_p change_p, w[low + v L + lane] / min_p change_p),
        change_p = sum_i points[p, i] c_i

    by one division: which of both is the smaller is found from products, so where these underflow, below the square root of the
    smallest number, it may be the other.  If sensed, only in lanes with w[sense + lane] > 0.  Puts 1 into w[changed + lane]
    where something is limited, 0 elsewhere; returns whether there is a 1."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        w, slopes = (data(context, builder, signature, args, n) for n in (0, 5))
        _, high, low, sense, changed, _, s, step = args
        zero, one, touched = v.constant(0), v.constant(1), ir.Constant(ir.IntType(v.width), 0)
        for half in (0, v.width):
            rough = builder.fcmp_ordered(">", v.load(w, v.plus(sense, half)), zero) if sensed else None
            limited = ir.Constant(ir.VectorType(ir.IntType(1), v.width), None)
            for n in range(variables):
                first = v.plus(s, builder.mul(step, ir.Constant(INDEX, n)), half)
                places = [v.plus(first, 2 * i * v.width) for i in range(points.shape[1])]
                c = [v.load(slopes, place) for place in places]
                above, below = (v.load(w, v.plus(place, 2 * n * v.width + half)) for place in (high, low))
                changes = [v.dot([v.constant(x) for x in point], c) for point in points]
                top = bottom = changes[0]
                for change in changes[1:]:
                    top, bottom = larger(v, change, top), smaller(v, change, bottom)
                upper = builder.fcmp_ordered(">", builder.fmul(above, bottom), builder.fmul(below, top))
                share = builder.fdiv(builder.select(upper, above, below), builder.select(upper, top, bottom))
                small = builder.fcmp_ordered("<", share, one)
                small = builder.and_(small, rough) if sensed else small
                share = builder.select(small, share, one)          # one too where it is 0/0
                limited = builder.or_(limited, small)
                for value, place in zip(c, places):
                    v.store(builder.fmul(value, share), slopes, place)
            v.store(builder.select(limited, one, zero), w, v.plus(changed, half))
            touched = builder.or_(touched, builder.bitcast(limited, touched.type))
        return builder.icmp_unsigned("!=", touched, ir.Constant(touched.type, 0))

    @intrinsic
    def call(typingctx, w, high, low, sense, changed, slopes, s, step):
        integer = types.int64
        return types.boolean(w, integer, integer, integer, integer, slopes, integer, integer), emit

    return call
