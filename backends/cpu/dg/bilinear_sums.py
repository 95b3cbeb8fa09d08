"""Sums of products of two states on the CPU: faces or elements are lanes of vectors, values come by index lists."""
from functools import cache

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

    Places are in blocks of L lanes of one kind each, the last one of a run of a kind filled up with places whose u is 0.

    slots, filled   the lane of each place among those of all blocks, and whether a lane has a place
    number          of the place of each lane"""

    def __init__(self, backend, places):
        super().__init__(backend, places)
        self.fused = places.count >= FEWEST and len(places.u) > 0
        if not self.fused:
            return
        self.lanes, self.scratch = target.lanes(backend.dtype), {}
        first = np.flatnonzero(np.diff(places.kind, prepend=-1))
        counts = np.diff(first, append=len(places.kind))
        blocks, run = -(-counts // self.lanes), np.repeat(np.arange(len(first)), counts)
        self.kind = np.repeat(places.kind[first], blocks)
        self.slots = (np.cumsum(blocks) - blocks)[run] * self.lanes + np.arange(len(run)) - first[run]
        self.filled, self.number = np.zeros(len(self.kind) * self.lanes, bool), np.zeros(len(self.kind) * self.lanes, int)
        self.filled[self.slots], self.number[self.slots] = True, np.arange(len(run))
        self.number = np.maximum.accumulate(self.number)
        largest = max(each.max(initial=0) for each in (places.at, places.of)) + self.lanes
        kind = np.int32 if largest < 2 ** 31 else np.int64
        self.at = self.of = self.by_block(places.at[None], kind)
        if not np.array_equal(places.at, places.of):
            self.of = self.by_block(places.of[None], kind)
        self.u, self.v = (self.by_block(each.transpose(3, 0, 1, 2, 4), float, factor) for each, factor in (
            (places.u, self.filled), (places.v, 1.0)))
        self.mass = np.ascontiguousarray(places.mass).reshape(-1)
        self.sums = aligned(len(self.kind) * len(places.u) * self.lanes, float)

    def by_block(self, values, dtype, factor=1):
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
        places, threads, arrays = self.tables, self.backend.threads, [q.reshape(-1) for _, q in states]
        (T, S, V, P, _), W, n = places.u.shape, places.v.shape[2], places.at.shape[1]
        rows = self.are_rows(self.at, (V - 1) * places.stride, s.size), self.are_rows(
            self.of, (W - 1) * places.of_stride, min(each.size for each in arrays))
        text = source_text(T, S, V, W, n, P > 1, places.mass.ndim == 2, len(states), rows, self.backend.dtype.name, self.lanes)
        if len(states) not in self.scratch:
            sizes = (V + len(states) * W) * S * n * self.lanes, 2 * T * n * self.lanes
            self.scratch[len(states)] = [(aligned(sizes[0], self.backend.dtype), aligned(sizes[1], float))
                                         for _ in range(threads)]
        numbers = np.array([number for number, _ in states], float)
        arguments = (self.sums, factor, s.reshape(-1), *arrays, np.ones(1), numbers, self.at, self.of, int(places.stride),
                     int(places.of_stride), self.u, self.v, self.mass, self.kind)
        size = max(1, len(self.kind) // (SHARES * threads))
        most = 1 if places.count < ONE_THREAD else -(-len(self.kind) // size)
        loop = Loop(write_module(text, f"sums_{self.backend.dtype}").run, size, len(self.kind), self.scratch[len(states)],
                    arguments, most)
        return Operation("sums of products", loop=loop)

    def are_rows(self, at, last, size):
        """Whether the lanes of each block follow each other, or may do so where they have no place, in an array of this size
        which has values `last` places behind them."""
        lanes = at.reshape(len(self.kind), -1, self.lanes)
        ahead = lanes[..., :1] + np.arange(self.lanes)
        same = (lanes == ahead) | ~self.filled.reshape(len(self.kind), 1, self.lanes)
        return bool(same.all()) and ahead.max() + last < size


@cache
def source_text(T, S, V, W, n, by_point, diagonal, count, rows, dtype, L):
    """The module of the loop, of T terms, S sides, V and W variables, n points, and so many states. rows: as of `are_rows`, for
    s and the states. Scratch: g, the values of s and then of the states, [array, side, point, variable, lane]; w, the sums of s
    and then of the states, [term, point, lane]."""
    def gathered(array, index, stride, variables, first, row):
        at = f"(block*{zone} + i)*{L}"
        if row:
            return [f"for j in range({variables}):",
                    f"    copy({array}, {index}[{at}] + j*{stride}, g, ({first} + i*{variables} + j)*{L})"]
        return [f"gather_{variables}({array}, {stride}, {index}, {at}, g, ({first} + i*{variables})*{L})"]

    def columns(variables):
        return [(side * n * variables + v) * L for side in range(S) for v in range(variables)]
    zone, names = S * n, [f"q{i}" for i in range(count)]
    moves = gathered("s", "at", "stride", V, 0, rows[0])
    for i, name in enumerate(names):
        moves += gathered(name, "of", "of_stride", W, zone * (V + i * W), rows[1])
    place, kind = f"(block*{n} + p)" if by_point else "block", f"kind[block]*{n if diagonal else n * n}"
    work = ["for block in range(first, last):",
            f"    for i in range({zone}):", *(f"        {line}" for line in moves),
            f"    for p in range({n}):",
            f"        of_s(u, {place}*{T * S * V * L}, one, g, p*{V * L}, w, p*{L}, {n * L})",
            f"        of_states(v, {place}*{T * S * W * L}, numbers, g, p*{W * L} + {zone * V * L}, w, (p + {T * n})*{L}, "
            f"{n * L})",
            f"    for t in range({T}):",
            f"        form(mass, {kind}, w, t*{n * L}, (t + {T})*{n * L}, sums, (block*{T} + t)*{L}, factor[0])"]
    arguments = ", ".join(["g, w, sums, factor, s", *names, "one, numbers, at, of, stride, of_stride, u, v, mass, kind"])
    apart = [i * zone * W * L for i in range(count)]
    return f'''"""Generated by dgarray: sums of products of two states."""
import numpy as np
from numba import njit

from dgarray.backends.cpu.loop_arguments import unpacked
from dgarray.backends.cpu.simd import bilinear, target, vector

assert target.lanes(np.{dtype}) == {L}
copy = vector.copy(np.{dtype})
{chr(10).join(f"gather_{each} = vector.gather({each}, np.{dtype})" for each in sorted({V, W}))}
of_s = bilinear.weighted({T}, {columns(V)}, [0], {L}, np.{dtype})
of_states = bilinear.weighted({T}, {columns(W)}, {apart}, {L}, np.{dtype})
form = bilinear.form({n}, {diagonal}, {L})


@njit(nogil=True, cache=True, error_model="numpy", _nrt=False){loop_text(arguments, work)}'''
