"""Text of the volume term of tensor-product DG in split form: fluxes between the nodes of each line."""
from .kernel_source import indented


class SplitText:
    """Text of the split form in a `TensorSource`, whose names and rows it uses."""

    def __init__(self, source):
        self.source = source

    def row_counts(self):
        """Rows of the scratch array that it needs more, or more of."""
        return {}

    def divergence(self):
        """Lines that put the divergence into the rows R."""
        return [*self.zero(), *(line for k in range(self.source.d) for line in self.axis(k))]

    def zero(self):
        """Lines that put zeros into the rows R."""
        s = self.source
        return [f"for row in range({s.V * s.N}):", *indented(s.lanes([f"w[{s.at['R']} + row*{s.L} + lane] = 0"]))]

    def axis(self, k):
        return self.lines(k, self.pairs(k), self.single(k), self.prefetch(k), self.lifted(k))

    def lines(self, k, at_nodes=(), at_ends=(), *after):
        """Lines of a loop over the lines of an axis: what is done at each node, at both ends, and then once."""
        s = self.source
        n, step = s.n, s.n ** k
        nodes = range(0, n, n - 1) if not at_nodes else range(n)
        ends = [f"            if j == 0 or j == {n - 1}:", *indented(at_ends, 4)] if at_ends else []
        return [f"for o in range({n ** (s.d - 1 - k)}):", f"    for i in range({step}):",
                f"        for j in {nodes!r}:", f"            point = (o*{n} + j)*{step} + i",
                *indented(at_nodes, 3), *ends, *(line for lines in after for line in indented(lines, 2))]

    def prefetch(self, k):
        s = self.source
        return s.prefetch_following(f"{k * s.n ** (s.d - 1)} + o*{s.n ** k} + i")

    def lifted(self, k):
        """Lines that add the face fluxes at both ends of a line."""
        s = self.source
        n, step = s.n, s.n ** k
        return [f"lift_{k}(LIFT, w, {s.at['R']} + (o*{n * step} + i)*{s.L}, {s.V},",
                f"       w, {s.at['FL']} + ({2 * k * s.M} + o*{step} + i)*{s.L})"]

    def fluxes_at(self, sides=1):
        """Places of a flux, or of those for both nodes, one row behind the other."""
        s = self.source
        return [s.lane("FV", v * s.n + side) for side in range(sides) for v in range(s.V)]

    @property
    def sides(self):
        """How many fluxes there are between two nodes: one for each of them where the law has nonconservative products."""
        return 1 if self.source.t.law.products is None else 2

    def pairs(self, k):
        """Lines that add the fluxes between a node and those after it on its line to the rows R of both."""
        s = self.source
        L, n, N, d, function = s.L, s.n, s.N, s.d, s.t.physics.functions.two_point
        left, here = s.metrics(function, {"a": ("gradients", k * d, "", k * d, d)}, "point", N)
        right, there = s.metrics(function, {"b": ("gradients", k * d, "", k * d, d)}, "other", N, row=d)
        body = s.over_lanes(function, self.fluxes_at(self.sides), l=("Q", 0, f" + point*{L}", N),
                            r=("Q", 0, f" + other*{L}", N), a=here["a"], b=there["b"],
                            ml=s.parameters("volume", "point"), mr=s.parameters("volume", "other"))
        return [*left, f"for p in range(j + 1, {n}):", f"    other = (o*{n} + p)*{n ** k} + i", *indented([*right, *body]),
                f"    add_both(w, {s.at['FV']}, {s.at['R']} + point*{L}, {s.at['R']} + other*{L}, "
                f"SLOPES[j, p], SLOPES[p, j])"]

    def single(self, k):
        """Lines that add a node's own flux."""
        s = self.source
        L, N, d, function = s.L, s.N, s.d, s.t.physics.functions.along
        bring, places = s.metrics(function, {"a": ("gradients", k * d, "", k * d, d)}, "point", N)
        body = s.over_lanes(function, self.fluxes_at(), q=("Q", 0, f" + point*{L}", N), m=s.parameters("volume", "point"),
                            **places)
        return [*bring, *body, f"accumulate(w, {s.at['FV']}, {s.at['R']} + point*{L}, {s.at['R']} + point*{L}, "
                               "SLOPES[j, j], ZERO)"]

    def definitions(self):
        """Lines of the module that it needs."""
        s = self.source
        cell, n, M, S, N = s.t.basis.cell, s.n, s.M, s.F * s.M, s.N
        return [f"SLOPES = np.array({(-2 * cell.slopes).tolist()}, np.{s.dtype})",
                f"LIFT = np.array({cell.lift.ravel().tolist()}, np.{s.dtype})", f"ZERO = np.{s.dtype}(0)",
                f"accumulate = lines.accumulate(np.{s.dtype}, {s.V}, {n}, {N})",
                f"add_both = lines.accumulate(np.{s.dtype}, {s.V}, {n}, {N}, {self.sides - 1})",
                *(f"lift_{k} = lines.along(np.{s.dtype}, {n}, [(2, {M}, {S})], ({n ** k}, {N}), add=True)"
                  for k in range(s.d))]
