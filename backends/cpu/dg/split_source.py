"""Text of the kernels of tensor-product DG in split form: fluxes between the nodes of each line."""
from .kernel_source import indented
from .tensor_source import TensorSource


class SplitSource(TensorSource):
    """As `TensorSource`, with another volume term."""

    def divergence(self):
        return [*self.zero(), *super().divergence()]

    def zero(self):
        """Lines that put zeros into the rows R."""
        return [f"for row in range({self.V * self.N}):",
                *indented(self.lanes([f"w[{self.at['R']} + row*{self.L} + lane] = 0"]))]

    def axis(self, k):
        return self.lines(k, self.pairs(k), self.single(k), self.prefetch(k), self.lifted(k))

    def lines(self, k, at_nodes=(), at_ends=(), *after):
        """Lines of a loop over the lines of an axis: what is done at each node, at both ends, and then once."""
        n, step = self.n, self.n ** k
        nodes = range(0, n, n - 1) if not at_nodes else range(n)
        ends = [f"            if j == 0 or j == {n - 1}:", *indented(at_ends, 4)] if at_ends else []
        return [f"for o in range({n ** (self.d - 1 - k)}):", f"    for i in range({step}):",
                f"        for j in {nodes!r}:", f"            point = (o*{n} + j)*{step} + i",
                *indented(at_nodes, 3), *ends, *(line for lines in after for line in indented(lines, 2))]

    def prefetch(self, k):
        return self.prefetch_following(f"{k * self.n ** (self.d - 1)} + o*{self.n ** k} + i")

    def lifted(self, k):
        """Lines that add the face fluxes at both ends of a line."""
        n, step = self.n, self.n ** k
        return [f"lift_{k}(LIFT, w, {self.at['R']} + (o*{n * step} + i)*{self.L}, {self.V},",
                f"       w, {self.at['FL']} + ({2 * k * self.M} + o*{step} + i)*{self.L})"]

    def fluxes_at(self, sides=1):
        """Places of a flux, or of those for both nodes, one row behind the other."""
        return [self.lane("FV", v * self.n + side) for side in range(sides) for v in range(self.V)]

    @property
    def sides(self):
        """How many fluxes there are between two nodes: one for each of them where the law has nonconservative products."""
        return 1 if self.t.law.products is None else 2

    def pairs(self, k):
        """Lines that add the fluxes between a node and those after it on its line to the rows R of both."""
        L, n, N, d, function = self.L, self.n, self.N, self.d, self.t.functions.two_point
        left, here = self.metrics(function, {"a": ("gradients", k * d, "", k * d, d)}, "point", N)
        right, there = self.metrics(function, {"b": ("gradients", k * d, "", k * d, d)}, "other", N, row=d)
        body = self.over_lanes(function, self.fluxes_at(self.sides), l=("Q", 0, f" + point*{L}", N),
                               r=("Q", 0, f" + other*{L}", N), a=here["a"], b=there["b"],
                               ml=self.parameters("volume", "point"), mr=self.parameters("volume", "other"))
        return [*left, f"for p in range(j + 1, {n}):", f"    other = (o*{n} + p)*{n ** k} + i", *indented([*right, *body]),
                f"    add_both(w, {self.at['FV']}, {self.at['R']} + point*{L}, {self.at['R']} + other*{L}, "
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
                f"add_both = lines.accumulate(np.{self.dtype}, {self.V}, {n}, {N}, {self.sides - 1})",
                *(f"lift_{k} = lines.along(np.{self.dtype}, {n}, [(2, {M}, {S})], ({n ** k}, {N}), add=True)"
                  for k in range(self.d))]
