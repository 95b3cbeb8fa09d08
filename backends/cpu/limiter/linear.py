"""The limiter of elements of any shape on the CPU: kernels over tiles of `LinearLimiter`."""
import numpy as np

from ....methods.dg.limiters.linear import LinearLimiter
from ....methods.operation import Operation
from ..dg.kernel_source import Lane, indented
from ..simd.tiles import aligned, in_tiles
from .fused import LimiterFused
from .source import LimiterSource
from .tensor_positivity import TensorTile


class LinearTile(TensorTile):
    """A tile of elements, as `LinearLimiter` sees one."""

    def __init__(self, source, limiter):
        super().__init__(source, limiter)
        self.limits = limiter.limits
        self.same = self.limits.mean.shape[1] == 1          # weights are those of all elements
        self.flat = bool((self.limits.one == 1).all())      # each unknown of the function 1 is 1

    def count(self, name):
        return {"threshold": 1, "centre": self.limits.dim, "nodes": len(self.limits.basis.cell.nodes)}.get(
            name, len(self.limits.corners) if name in ("outer", "vertices") else self.limits.faces)

    def table(self, name, values):
        return self.define(name, f"np.array({np.ravel(values).tolist()}, np.{self.tile.dtype})")

    def mean_of(self, v):
        return Lane(self.mean[0].at, f" + v*{self.L}") if v == "v" else self.mean[v]

    def rows(self, name):
        if name != "centre" or not self.same:
            return super().rows(name)
        rows = self.temporary(self.limits.dim)
        values = [self.tile.dialect.literal(float(value)) for value in self.limits.centre[:, 0]]
        self.emit(*self.tile.lanes([f"{row} = {value}" for row, value in zip(rows, values)]))
        return rows

    def unknown(self, v):
        """Unknown i of variable v."""
        first = self.state[v][0]
        return Lane(first.at, f"{first.step} + i*{self.L}")

    def slopes(self, v):
        rows, N, L, d = self.temporary(self.limits.dim), self.N, self.L, self.limits.dim
        if self.same:
            weights = self.table("SLOPES", self.limits.slopes[:, :, 0])
            weight = [f"{weights}[{k * N} + i]" for k in range(d)]
        else:
            weights = self.name("of_slopes")
            weight = [f"{weights}[(tile*{d * N} + {k * N} + i)*{L} + lane]" for k in range(d)]
        self.emit(*self.tile.lanes([f"{row} = {self.tile.dialect.literal(0.0)}" for row in rows]), f"for i in range({N}):",
                  *indented(self.tile.lanes([f"{row} = fma({w}, {self.unknown(v)}, {row})" for row, w in zip(rows, weight)])))
        return rows

    def span(self, v):
        top, bottom = rows = self.temporary(2)
        value = self.unknown(v)
        if self.limits.basis.modal:
            first = self.product("to_nodes", self.state[v])[0]
            value = Lane(first.at, f" + i*{self.L}")
        start = value.replace(f" + i*{self.L}", "")
        self.emit(*self.tile.lanes([f"{row} = {start}" for row in rows]), f"for i in range(1, {self.count('nodes')}):",
                  *indented(self.tile.lanes([f"value = {value}", f"{top} = select(value > {top}, value, {top})",
                                             f"{bottom} = select(value < {bottom}, value, {bottom})"])))
        return rows

    def make_linear(self, v, share, where, slopes, centre):
        one, linear = self.table("ONE", self.limits.one), self.table("LINEAR", self.limits.linear)
        terms = " + ".join(f"{s}*({linear}[{k * self.N} + i] - {c}*{one}[i])" for k, (s, c) in enumerate(zip(slopes, centre)))
        q, zero = self.unknown(v), self.tile.dialect.literal(0.0)
        self.emit(f"for i in range({self.N}):", *indented(self.tile.lanes([
            f"value = {self.mean_of(v)}*{one}[i] + {share}*({terms})", f"{q} = select({where} > {zero}, value, {q})"])))
        self.note_change()

    def at_nodes(self, function, v, **rows):
        if self.flat:
            super().at_nodes(function, v, **rows)
            return
        mean, q = self.temporary(1)[0], self.unknown(v)
        function = self.limiter.function(function, q=1, mean=1, **dict.fromkeys(rows, 1))
        self.emit(f"for i in range({self.N}):", *indented([
            *self.tile.lanes([f"{mean} = {self.mean_of(v)}*{self.table('ONE', self.limits.one)}[i]"]),
            *self.over_lanes(function, [q], q=[q], mean=[mean], **rows)]))
        self.note_change()

    def least(self, function, start):
        by_products = self.limits.basis.interpolate is not None
        return (super(TensorTile, self) if by_products else super()).least(function, start)

    def array_of(self, source):
        array, stride, rows = super().array_of(source)
        return self.name(f"all_{source}") if source in self.limiter.kept else array, stride, rows


class LinearSource(LimiterSource):
    """Source text of the kernels of the linear limiter, see `LimiterSource`. An array all_<name> holds what the limiters of all
    element sets keep under that name."""

    tile_of = staticmethod(LinearTile)


class LinearLimiterFused(LimiterFused):
    """Limits a state in tiles in place, in the kernels of the operations of one set; several share what they keep."""

    flow, text = LinearLimiter, LinearSource

    def __init__(self, operations):
        super().__init__(operations)
        self.shared = SharedTiles([self])

    def operations_on(self, q):
        found = self.by_name(q)
        names = {"keep": "averages", "limit": "limit"}
        if self.limiter.kept:
            found["keep"] = found["keep"]._replace(writes={"averages of elements": sum(
                array.nbytes for array in self.shared.arrays.values())})
            found["limit"] = found["limit"]._replace(reads=("new state", "averages of elements", "extremes"))
        before, after = ([found[name]._replace(name=f"limiter: {names[name]}")] if name in found else []
                         for name in ("keep", "limit"))
        return before, after

    def extremes_operation(self):
        kernel, arrays = self.kernels["extremes"]
        tiles = self.vertex_tiles
        loop = self.operations.loop_of(kernel, arrays[0], *arrays)._replace(scratch=self.scratch, tiles=tiles, size=max(
            1, self.operations.piece * tiles // max(1, self.tiles)))
        return Operation("limiter: extremes around vertices", loop=loop, reads=("averages of elements",),
                         writes={"extremes": self.array("extremes").nbytes})

    def _array(self, name):
        kind, _, rest = name.partition("_")
        if kind == "all":
            return self.shared.arrays[rest]
        if kind == "kept":
            return self.shared.of(self, rest)
        if name == "extremes":
            if self.shared.extremes is None:
                self.shared.extremes = super()._array(name)
            return self.shared.extremes
        if name == "around_in_means":
            places = self.places(self.limits.neighbourhood.around, "means")
            return in_tiles(places, self.lanes).reshape(self.vertex_tiles, -1, self.lanes)
        return super()._array(name)

    def places(self, numbers, source):
        if source == "extremes":
            return super().places(numbers, source)
        row, rows = 0, self.rows(source)
        if source == "averages":
            row, numbers = np.divmod(numbers, self.shared.count)
        tile, lane = self.shared.tile_and_lane(numbers)
        kind = np.int32 if (self.shared.tiles + 1) * rows * self.lanes < 2 ** 31 else np.int64
        return (tile * (rows * self.lanes) + row * self.lanes + lane).astype(kind)


def share(limiters):
    """Let the limiters of several sets see each other's elements, where they read of these."""
    shared = SharedTiles(limiters) if limiters[0].limiter.kept else None
    for limiter in limiters:
        limiter.shared = shared


class SharedTiles:
    """Arrays [tile, row, lane] that the limiters of all sets keep: the tiles of one set after those of the other."""

    def __init__(self, limiters):
        self.limiters = sorted(limiters, key=lambda each: each.limits.own.start)
        self.lanes, self.starts = limiters[0].lanes, np.array([each.limits.own.start for each in self.limiters])
        self.count = len(limiters[0].limits.neighbourhood.cells)
        self.first = np.concatenate([[0], np.cumsum([each.tiles for each in self.limiters])])
        self.tiles, self.extremes = int(self.first[-1]), None
        self.arrays = {name: aligned(self.tiles * limiters[0].rows(name) * self.lanes, limiters[0].dtype)
                       for name in limiters[0].limiter.kept}

    def of(self, limiter, name):
        number, size = self.limiters.index(limiter), limiter.rows(name) * self.lanes
        return self.arrays[name][self.first[number] * size:self.first[number + 1] * size]

    def tile_and_lane(self, elements):
        """Where elements of all sets lie."""
        number = np.searchsorted(self.starts, elements, side="right") - 1
        tile, lane = np.divmod(elements - self.starts[number], self.lanes)
        return tile + self.first[number], lane
