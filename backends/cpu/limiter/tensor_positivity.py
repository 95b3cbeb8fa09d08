"""Positivity of tensor-product DG on the CPU: a kernel over tiles of `NodalPositivity`."""
from functools import cached_property

from ....methods.dg.limiters.positivity import NodalPositivity
from ..dg.kernel_source import Lane, indented
from .fused import LimiterFused
from .source import LimiterSource, Tile


class TensorTile(Tile):
    """A tile of elements, as `NodalPositivity` sees one."""

    @cached_property
    def mean(self):
        rows, N, L = self.temporary(self.V), self.N, self.L
        if self.limiter.limits.weights.shape[1] == 1:
            weights = self.limiter.limits.weights[:, 0].tolist()
            weight = self.define("WEIGHTS", f"np.array({weights}, np.{self.tile.dtype})") + "[i]"
        else:
            weight = f"{self.name('of_weights')}[(tile*{N} + i)*{L} + lane]"
        mean, q = Lane(rows[0].at, f" + v*{L}"), Lane(self.tile.at["Q"], f" + (v*{N} + i)*{L}")
        self.emit(f"for v in range({self.V}):", *indented(self.tile.lanes([f"{mean} = {self.tile.dialect.literal(0.0)}"])),
                  f"    for i in range({N}):", *indented(self.tile.lanes([f"{mean} = fma({weight}, {q}, {mean})"]), 2))
        return rows

    def at_nodes(self, function, v, **rows):
        L = self.L
        (q, *_), mean = self.state[v], Lane(self.mean[0].at, f" + v*{L}") if v == "v" else self.mean[v]
        at_node = Lane(q.at, f"{q.step} + i*{L}")
        function = self.limiter.function(function, q=1, mean=1, **dict.fromkeys(rows, 1))
        lines = self.over_lanes(function, [at_node], q=[at_node], mean=[mean], **rows)
        self.emit(f"for i in range({self.N}):", *indented(lines))
        self.note_change()

    def least(self, function, start):
        s, L, V = self.tile, self.L, self.V
        function, least = self.limiter.function(function, q=V, least=1, m=None), self.temporary(1)
        used = sorted({number for argument, number in function.used.values() if argument == "q"})
        self.emit(f"copy(w, {start[0].at}, w, {least[0].at})")
        places = [("Q", self.N)]
        if not self.limiter.limits.faces_inside:
            places.append(("VALUES", s.F * s.M))
            s.at["VALUES"] = s.at.get("VALUES") or self.allocate(V * s.F * s.M)
            self.emit(*(line for v in used for line in s.ends("w", f"{s.at['VALUES'] + v * s.F * s.M * L}",
                                                              "w", f"{s.at['Q'] + v * self.N * L}")))
        for rows, count in places:
            lines = self.over_lanes(function, least, q=(rows, 0, f" + i*{L}", count), least=least, m=("P", 0, "", 1))
            self.emit(f"for i in range({count}):", *indented(lines))
        self.least_beside(function, used, least)
        return least


class TensorLimiterSource(LimiterSource):
    """Text of the kernel, as of `LimiterSource`."""

    @staticmethod
    def tile_of(source, limiter):
        return TensorTile(source, limiter)


class TensorLimiterFused(LimiterFused):
    """Limits a state in tiles in place, in the kernels of the operations `TensorFused`."""

    flow, text = NodalPositivity, TensorLimiterSource
