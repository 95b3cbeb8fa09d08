"""Sums of products of two states on the CPU: faces or elements are lanes of vectors, values come by index lists."""
import numpy as np

from ....methods.dg.bilinear_sums import BilinearSums
from ....methods.operation import Operation
from ....support.cached_modules import write_module
from ..simd import target
from ..simd.tiles import aligned
from ..threaded_loops import ONE_THREAD, Loop, loop_text

FEWEST = 1 << 13          # values of a state that are read at least, where compiling is worth its time
SHARES = 4          # pieces of each thread at least


class FusedSums(BilinearSums):
    """The sums of `Places` by one loop; of few places by array expressions.

    Places are in blocks of L lanes of one kind each, the last one of a kind filled up with places whose u is 0."""

    def __init__(self, backend, places):
        super().__init__(backend, places)
        self.fused = places.count >= FEWEST and len(places.u) > 0
        if not self.fused:
            return
        self.lanes = L = target.lanes(backend.dtype)
        first = np.flatnonzero(np.diff(places.kind, prepend=-1))          # of each run of places of one kind
        counts = np.diff(first, append=len(places.kind))
        blocks = -(-counts // L)
        self.kind, run = np.repeat(places.kind[first], blocks), np.repeat(np.arange(len(first)), counts)
        self.slots = (np.cumsum(blocks) - blocks)[run] * L + np.arange(len(run)) - first[run]          # of each place
        self.number = np.maximum.accumulate(scattered(np.arange(len(run)), self.slots, blocks.sum() * L))
        filled = scattered(np.ones(len(run)), self.slots, blocks.sum() * L)
        size = max(each.max(initial=0) for each in (places.at, places.of)) + L
        kind = np.int32 if size < 2 ** 31 else np.int64
        self.at = self.of = self.by_block(places.at[None], kind)
        if not np.array_equal(places.at, places.of):
            self.of = self.by_block(places.of[None], kind)
        self.u, self.v = (self.by_block(each.transpose(3, 0, 1, 2, 4), float, factor) for each, factor in (
            (places.u, filled), (places.v, 1.0)))
        self.sums = aligned(len(self.kind) * len(places.u) * L, float)

    def by_block(self, values, dtype, factor=1.0):
        """Values (.., place) as [block, .., lane], flat."""
        rows = (values[..., self.number] * factor).reshape(*values.shape[:-1], -1, self.lanes)
        found = aligned(rows.size, dtype)
        found.reshape(rows.shape[-2], *values.shape[:-1], self.lanes)[...] = np.moveaxis(rows, -2, 0)
        return found

    def result(self):
        if not self.fused:
            return self.found
        sums = self.sums.reshape(len(self.kind), len(self.found), self.lanes).transpose(1, 0, 2)
        return sums.reshape(len(self.found), -1)[:, self.slots]

    def operation(self, factor, s, *states):
        if not self.fused:
            return super().operation(factor, s, *states)
        tables, L, threads = self.tables, self.lanes, self.backend.threads
        (T, S, V, P, _), W, n, count = tables.u.shape, tables.v.shape[2], tables.at.shape[1], len(states)
        ahead = [self.is_row(at, step, array) for at, step, arrays, V in (
            (self.at, tables.stride, [s], V), (self.of, tables.of_stride, [q for _, q in states], W))
            for array in [min(arrays, key=np.size)]]
        text = source_text(T, S, V, W, n, P > 1, tables.mass.ndim == 2, count, ahead, self.backend.dtype.name, L)
        size = max(1, len(self.kind) // (SHARES * threads))
        scratch = [(aligned((V + count * W) * S * n * L, self.backend.dtype), aligned(2 * T * n * L, float))
                   for _ in range(threads)]
        numbers = np.array([number for number, _ in states], float)
        arguments = (self.sums, factor, s.reshape(-1), *(q.reshape(-1) for _, q in states), np.ones(1), numbers, self.at, self.of,
                     int(tables.stride), int(tables.of_stride), self.u, self.v, np.ascontiguousarray(tables.mass).reshape(-1),
                     self.kind)
        most = 1 if tables.count < ONE_THREAD else -(-len(self.kind) // size)
        loop = Loop(write_module(text, f"sums_{self.backend.dtype}").run, size, len(self.kind), scratch, arguments, most)
        return Operation("sums of products", loop=loop)

    def is_row(self, at, stride, array):
        """Whether the lanes of each block follow each other, or would if the block were full."""
        rows = at.reshape(-1, self.lanes)
        ahead = rows[:, :1] + np.arange(self.lanes)
        full = np.where(np.arange(self.lanes) < 1, True, rows == ahead)
        return bool(full.all() and ahead.max() + stride * (self.tables.u.shape[2] - 1) < np.size(array))


def scattered(values, slots, count):
    found = np.zeros(count, np.asarray(values).dtype)
    found[slots] = values
    return found


def source_text(T, S, V, W, n, by_point, diagonal, count, ahead, dtype, L):
    """The module of the loop. Scratch: g, the values of s and then of the states, [array, side, point, variable, lane]; w, the
    sums x of s and then y of the states, [term, point, lane]."""
    def gathered(array, stride, index, variables, first, row):
        at = f"(block*{S * n} + i)*{L}"
        if row:
            return [f"for j in range({variables}):",
                    f"    copy({array}, {index}[{at}] + j*{stride}, g, ({first} + i*{variables} + j)*{L})"]
        return [f"gather_{variables}({array}, {stride}, {index}, {at}, g, ({first} + i*{variables})*{L})"]

    names, zone = [f"q{i}" for i in range(count)], S * n
    moves = gathered("s", "stride", "at", V, 0, ahead[0])
    for i, name in enumerate(names):
        moves += gathered(name, "of_stride", "of", W, zone * (V + i * W), ahead[1])

    def places(variables):
        return [(side * n * variables + v) * L for side in range(S) for v in range(variables)]
    place = f"(block*{n} + p)" if by_point else "block"
    work = ["for block in range(first, last):", f"    for i in range({zone}):", *indented(moves, 2), f"    for p in range({n}):",
            f"        of_s(u, {place}*{T * S * V * L}, one, g, p*{V * L}, w, p*{L}, {n * L})",
            f"        of_states(v, {place}*{T * S * W * L}, numbers, g, p*{W * L} + {zone * V * L}, w, (p + {T * n})*{L}, {n * L})",
            f"    for t in range({T}):",
            f"        form(mass, kind[block]*{n if diagonal else n * n}, w, t*{n * L}, (t + {T})*{n * L}, sums, (block*{T} + t)*{L}, "
            "factor[0])"]
    arguments = ", ".join(["g, w, sums, factor, s", *names, "one, numbers, at, of, stride, of_stride, u, v, mass, kind"])
    return f'''"""Generated by dgarray: sums of products of two states."""
import numpy as np
from numba import njit

from dgarray.backends.cpu.loop_arguments import unpacked
from dgarray.backends.cpu.simd import bilinear, target, vector

assert target.lanes(np.{dtype}) == {L}
copy = vector.copy(np.{dtype})
{chr(10).join(f"gather_{count} = vector.gather({count}, np.{dtype})" for count in sorted({V, W}))}
of_s = bilinear.weighted({T}, {places(V)}, [0], {L}, np.{dtype})
of_states = bilinear.weighted({T}, {places(W)}, {[i * zone * W * L for i in range(count)]}, {L}, np.{dtype})
form = bilinear.form({n}, {diagonal}, {L})


@njit(nogil=True, cache=True, error_model="numpy", _nrt=False){loop_text(arguments, work)}'''


def indented(lines, levels):
    return ["    " * levels + line for line in lines]
