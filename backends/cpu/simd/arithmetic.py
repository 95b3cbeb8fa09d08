"""Arithmetic on whole vector registers of lanes: what kernels whose innermost index is a cell of a row are made of.

Each function makes a compiled one; arrays are flat, places are numbers of their values.
"""
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .target import vector_bytes
from .vector import INDEX, data, scalar_type


def width(dtype):
    """Lanes in a vector register."""
    return vector_bytes() // np.dtype(dtype).itemsize


class Vectors:
    """Instructions on vectors of one dtype, put where the builder stands."""

    def __init__(self, builder, dtype):
        self.builder, self.size, self.width = builder, np.dtype(dtype).itemsize, width(dtype)
        self.scalar = scalar_type(dtype)
        self.type = ir.VectorType(self.scalar, self.width)
        self.fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(self.type, [self.type] * 3),
                                                  f"llvm.fmuladd.v{self.width}f{8 * self.size}")

    def at(self, pointer, place):
        return self.builder.bitcast(self.builder.gep(pointer, [place]), self.type.as_pointer())

    def load(self, pointer, place):
        return self.builder.load(self.at(pointer, place), align=self.size)

    def store(self, value, pointer, place, past=False):
        """past: by the caches, to memory; the place is then that of a whole register."""
        stored = self.builder.store(value, self.at(pointer, place), align=self.size * (self.width if past else 1))
        if past:
            stored.set_metadata("nontemporal", self.builder.module.add_metadata([ir.IntType(32)(1)]))

    def spread(self, number):
        """A vector of equal numbers."""
        undefined = ir.Constant(self.type, ir.Undefined)
        lane = self.builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(lane, undefined, ir.Constant(ir.VectorType(ir.IntType(32), self.width), None))

    def constant(self, number):
        return ir.Constant(self.type, [ir.Constant(self.scalar, float(number))] * self.width)

    def plus(self, place, *steps):
        """A place and numbers of values after it, of this language or of the compiler."""
        for step in steps:
            place = self.builder.add(place, ir.Constant(INDEX, step) if isinstance(step, int) else step)
        return place

    def dot(self, factors, values):
        """sum of factor * value; a factor None is one."""
        total = None
        for factor, value in sorted(zip(factors, values), key=lambda pair: pair[0] is not None):
            if total is None:
                total = value if factor is None else self.builder.fmul(factor, value)
            elif factor is None:
                total = self.builder.fadd(total, value)
            else:
                total = self.builder.call(self.fma, [factor, value, total])
        return total

    def scaled(self, value, factor, added):
        """factor value + added; None for a factor of one, and for nothing to add."""
        if added is None:
            return value if factor is None else self.builder.fmul(factor, value)
        return self.builder.fadd(added, value) if factor is None else self.builder.call(self.fma, [factor, value, added])


def rows(pieces, dtype, vectors):
    """Compiled call(w, c, places, count, factors): sums along a row of coefficients, of which j < count are found, each
    `vectors` registers of neighbouring lanes.

    pieces: [(first, last, sums)] for first <= j < last, sums: [(terms, results)], a sum being

        value = sum over terms (factor, shift) of factors[factor] w[places[0] + shift + j L]
        w or c [places[place] + shift + j L] = (or +=) factors[factor] value    for results (name, place, shift, factor, add)

    where a factor None is one.  Of a j everything is read before anything is written."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        arrays = {name: data(context, builder, signature, args, i) for i, name in enumerate("wc")}
        places = [builder.extract_value(args[2], i) for i in range(signature.args[2].count)]
        sums = [each for _, _, some in pieces for each in some]
        used = {factor for terms, _ in sums for factor, _ in terms} | {result[3] for _, some in sums for result in some}
        factors = {number: v.spread(builder.extract_value(args[4], number)) for number in used - {None}} | {None: None}

        def body(j, sums):
            j = builder.mul(j, ir.Constant(INDEX, vectors * v.width))
            starts = [builder.add(place, j) for place in places]
            for lane in range(0, vectors * v.width, v.width):
                values = [v.dot([factors[factor] for factor, _ in terms],
                                [v.load(arrays["w"], v.plus(starts[0], shift + lane)) for _, shift in terms])
                          if terms else v.constant(0) for terms, _ in sums]
                for value, (_, results) in zip(values, sums):
                    for name, place, shift, factor, add in results:
                        at = v.plus(starts[place], shift + lane)
                        v.store(v.scaled(value, factors[factor], v.load(arrays[name], at) if add else None), arrays[name], at)
        for first, last, some in pieces:
            first, last = (ir.Constant(INDEX, number) for number in (first, last))
            stop = builder.select(builder.icmp_signed("<", args[3], last), args[3], last)
            with cgutils.for_range(builder, stop, first) as loop:
                body(loop.index, some)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, w, c, places, count, factors):
        return types.void(w, c, places, types.int64, factors), emit

    return call


def between(v, n, source, low, high, jump):
    """(low_j, high_j) for each j < n: the registers at source[low + j jump] and source[high + j jump]."""
    for j in range(n):
        shift = v.builder.mul(jump, ir.Constant(INDEX, j))
        yield tuple(v.load(source, v.plus(place, shift)) for place in (low, high))


def interpolated(v, left, pairs):
    """The vectors sum_j left[i, j] (low_j + (-1)^(i + j) high_j) of pairs (low_j, high_j), one for each i."""
    sums = [], []
    for j, pair in enumerate(pairs):
        both = v.builder.fadd(*pair), v.builder.fsub(*pair)
        sums[0].append(both[j % 2])
        sums[1].append(both[1 - j % 2])
    for i, row in enumerate(left):
        some = np.flatnonzero(row)
        yield v.dot([v.constant(row[j]) for j in some], [sums[i % 2][j] for j in some])


def spread(left, pieces, steps, dtype, vectors):
    """Compiled call(source, low, high, jump, w, w_at, c, c_at, factors): what `interpolation` finds, of some columns x, each
    `vectors` registers of neighbouring lanes, put to several places.

    pieces: [(first, last, results)] for first <= x < last, a result (name, shift, factor, add, below, begin, end) being

        w or c [w_at or c_at + shift + x L + (i - below) steps[name]] = (or +=) factors[factor] value[i],  begin <= i < end

    where a factor None is one, and -1 is zero."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        source, w, c = (data(context, builder, signature, args, i) for i in (0, 4, 6))
        arrays, places = {"w": w, "c": c}, {"w": args[5], "c": args[7]}
        used = {result[2] for *_, results in pieces for result in results} - {None, -1}
        factors = {number: v.spread(builder.extract_value(args[8], number)) for number in used} | {None: None}
        for first, last, results in pieces:
            with cgutils.for_range(builder, *(ir.Constant(INDEX, vectors * end) for end in (last, first))) as loop:
                lane = builder.mul(loop.index, ir.Constant(INDEX, v.width))
                pairs = between(v, left.shape[1], source, *(v.plus(place, lane) for place in args[1:3]), args[3])
                values = list(interpolated(v, left, pairs))
                for i, value in enumerate(values):
                    for name, shift, factor, add, below, begin, end in results:
                        if begin <= i < end:
                            at = v.plus(places[name], lane, shift + (i - below) * steps[name])
                            old = v.load(arrays[name], at) if add else None
                            v.store(v.constant(0) if factor == -1 else v.scaled(value, factors[factor], old), arrays[name], at)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, source, low, high, jump, w, w_at, c, c_at, factors):
        integer = types.int64
        return types.void(source, integer, integer, integer, w, integer, c, integer, factors), emit

    return call


def interpolation(left, dtype, past=False):
    """Compiled call(source, low, high, jump, target, t, step, count) for `count` registers of lanes:
    target[t + i step] = sum_j left[i, j] (source[low + j jump] + (-1)^(i + j) source[high + j jump]).

    Even i need the sums, odd i the differences: half as many products as with two matrices.
    past: the target goes past the caches, see `Vectors.store`."""
    def body(v, source, low, high, jump, target, t, step):
        for i, value in enumerate(interpolated(v, left, between(v, left.shape[1], source, low, high, jump))):
            v.store(value, target, v.plus(t, v.builder.mul(step, ir.Constant(INDEX, i))), past)

    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        source, target = (data(context, builder, signature, args, i) for i in (0, 4))
        _, low, high, jump, _, t, step, count = args
        with cgutils.for_range(builder, count) as loop:
            lane = builder.mul(loop.index, ir.Constant(INDEX, v.width))
            body(v, source, v.plus(low, lane), v.plus(high, lane), jump, target, v.plus(t, lane), step)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, source, low, high, jump, target, t, step, count):
        integer = types.int64
        return types.void(source, integer, integer, integer, target, integer, integer, integer), emit

    return call


def mapping(rows, dtype, past=False):
    """Compiled call(matrix, a, source, low, high, jump, target, t, step, count) for `count` registers of lanes: with the
    matrices A = matrix[a:], B after it, (rows, rows),
    target[t + i step] = sum_j A[i, j] source[low + j jump] + B[i, j] source[high + j jump].
    past: the target goes past the caches, see `Vectors.store`."""
    def body(v, matrix, a, source, places, jump, target, t, step, vectors):
        def shifted(place, count, number, lane=0):
            return v.plus(place, v.builder.mul(count, ir.Constant(INDEX, number)), lane * v.width)
        ends = [[[v.load(source, shifted(place, jump, j, lane)) for place in places for j in range(rows)]]
                for lane in range(vectors)]
        for i in range(rows):
            numbers = [v.plus(a, side * rows * rows + i * rows + j) for side in (0, 1) for j in range(rows)]
            factors = [v.spread(v.builder.load(v.builder.gep(matrix, [number]))) for number in numbers]
            for lane in range(vectors):
                v.store(v.dot(factors, ends[lane][0]), target, shifted(t, step, i, lane), past)

    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        matrix, source, target = (data(context, builder, signature, args, i) for i in (0, 2, 6))
        _, a, _, low, high, jump, _, t, step, count = args
        two = ir.Constant(INDEX, 2)
        with cgutils.for_range(builder, builder.sdiv(count, two)) as loop:       # two at a time share the matrix's numbers
            lane = builder.mul(loop.index, ir.Constant(INDEX, 2 * v.width))
            body(v, matrix, a, source, (v.plus(low, lane), v.plus(high, lane)), jump, target, v.plus(t, lane), step, 2)
        with builder.if_then(builder.icmp_signed("==", builder.srem(count, two), ir.Constant(INDEX, 1))):
            lane = builder.mul(builder.sub(count, ir.Constant(INDEX, 1)), ir.Constant(INDEX, v.width))
            body(v, matrix, a, source, (v.plus(low, lane), v.plus(high, lane)), jump, target, v.plus(t, lane), step, 1)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, matrix, a, source, low, high, jump, target, t, step, count):
        integer = types.int64
        return types.void(matrix, integer, source, integer, integer, integer, target, integer, integer, integer), emit

    return call


def scaled(dtype, past=False):
    """Compiled call(source, s, target, t, factor, count): target[t:] = factor source[s:] for `count` registers of lanes."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        source, target = (data(context, builder, signature, args, i) for i in (0, 2))
        _, s, _, t, factor, count = args
        factor = v.spread(factor)
        with cgutils.for_range(builder, count) as loop:
            lane = builder.mul(loop.index, ir.Constant(INDEX, v.width))
            v.store(builder.fmul(factor, v.load(source, v.plus(s, lane))), target, v.plus(t, lane), past)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, source, s, target, t, factor, count):
        real = types.float32 if np.dtype(dtype) == np.float32 else types.float64
        return types.void(source, types.int64, target, types.int64, real, types.int64), emit

    return call


def ending(dtype):
    """Compiled call(source, s, target, t, factor, rest): target[t:] = factor source[s:] for the first `rest` lanes of one
    register, zero for the others."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        source, target = (data(context, builder, signature, args, i) for i in (0, 2))
        _, s, _, t, factor, rest = args
        numbers = ir.Constant(ir.VectorType(INDEX, v.width), list(range(v.width)))
        undefined = ir.Constant(numbers.type, ir.Undefined)
        rest = builder.shuffle_vector(builder.insert_element(undefined, rest, ir.Constant(ir.IntType(32), 0)), undefined,
                                      ir.Constant(ir.VectorType(ir.IntType(32), v.width), None))
        value = builder.fmul(v.spread(factor), v.load(source, s))
        v.store(builder.select(builder.icmp_signed("<", numbers, rest), value, v.constant(0)), target, t)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, source, s, target, t, factor, rest):
        real = types.float32 if np.dtype(dtype) == np.float32 else types.float64
        return types.void(source, types.int64, target, types.int64, real, types.int64), emit

    return call


def ghost(dtype):
    """Compiled call(q, place, source, factor): q[place] = factor q[source], where a place may be -1: that before the first."""
    def emit(context, builder, signature, args):
        pointer = data(context, builder, signature, args, 0)
        value = builder.fmul(args[3], builder.load(builder.gep(pointer, [args[2]])))
        builder.store(value, builder.gep(pointer, [args[1]]))
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, q, place, source, factor):
        real = types.float32 if np.dtype(dtype) == np.float32 else types.float64
        return types.void(q, types.int64, types.int64, real), emit

    return call
