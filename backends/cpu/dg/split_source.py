"""Text of the kernels of tensor-product DG in split form: fluxes between the nodes of each line."""
from .tensor_source import TensorSource
from .tile_source import indented


class SplitSource(TensorSource):
    """As `TensorSource`, with another volume term."""

    def axis(self, k):
        L, n, M, N, V, d = self.L, self.n, self.M, self.N, self.V, self.d
        step, R = n ** k, self.at["R"]
        zero = [f"for row in range({V * N}):", *indented(self.lanes([f"w[{R} + row*{L} + lane] = 0"]))] if k == 0 else []
        return [*zero, f"for o in range({n ** (d - 1 - k)}):", f"    for i in range({step}):",
                f"        for j in range({n}):", f"            point = (o*{n} + j)*{step} + i",
                *indented(self.pairs(k), 3), f"            if j == 0 or j == {n - 1}:", *indented(self.single(k), 4),
                *indented(self.prefetch_following(f"{k * n ** (d - 1)} + o*{step} + i"), 2),
                f"        lift_{k}(LIFT, w, {R} + (o*{n * step} + i)*{L}, {V},",
                f"               w, {self.at['FL']} + ({2 * k * M} + o*{step} + i)*{L})"]

    def fluxes_at(self):
        return [self.lane("FV", v * self.n) for v in range(self.V)]

    def pairs(self, k):
        """Lines that add the fluxes between a node and those after it on its line to the rows R of both."""
        L, n, N, d, function = self.L, self.n, self.N, self.d, self.t.functions.two_point
        left, here = self.metrics(function, {"a": ("gradients", k * d, "", k * d, d)}, "point", N)
        right, there = self.metrics(function, {"b": ("gradients", k * d, "", k * d, d)}, "other", N, row=d)
        body = self.over_lanes(function, self.fluxes_at(), l=("Q", 0, f" + point*{L}", N), r=("Q", 0, f" + other*{L}", N),
                               a=here["a"], b=there["b"], ml=self.parameters("volume", "point"),
                               mr=self.parameters("volume", "other"))
        return [*left, f"for p in range(j + 1, {n}):", f"    other = (o*{n} + p)*{n ** k} + i", *indented([*right, *body]),
                f"    accumulate(w, {self.at['FV']}, {self.at['R']} + point*{L}, {self.at['R']} + other*{L}, "
                f"SLOPES[j, p], SLOPES[p, j])"]

    def single(self, k):
        """Lines that add a node's own flux."""
        L, N, d, function = self.L, self.N, self.d, self.t.functions.along
        bring, places = self.metrics(function, {"a": ("gradients", k * d, "", k * d, d)}, "point", N)
        body = self.over_lanes(function, self.fluxes_at(), q=("Q", 0, f" + point*{L}", N),
                               m=self.parameters("volume", "point"), **places)
        return [*bring, *body, f"accumulate(w, {self.at['FV']}, {self.at['R']} + point*{L}, {self.at['R']} + point*{L}, "
                               "SLOPES[j, j], ZERO)"]

    def definitions(self):
        cell, n, M, S, N = self.t.cell, self.n, self.M, self.F * self.M, self.N
        return [*super().definitions(), f"SLOPES = np.array({(-2 * cell.slopes).tolist()}, np.{self.dtype})",
                f"LIFT = np.array({cell.lift.ravel().tolist()}, np.{self.dtype})", f"ZERO = np.{self.dtype}(0)",
                f"accumulate = lines.accumulate(np.{self.dtype}, {self.V}, {n}, {N})",
                *(f"lift_{k} = lines.along(np.{self.dtype}, {n}, [(2, {M}, {S})], ({n ** k}, {N}), add=True)"
                  for k in range(self.d))]
