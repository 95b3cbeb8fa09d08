"""Interpolants of variables without a series of their own, which go straight to b_1 and to the result.

Where two stages are made at once (`recursion`), interpolants of the other kind of variables are wanted for two things only:
b_1 = tau L b_0 of the kept kind, and, for j <= N, the result.  So the last map of the interpolation adds them to both while
they are in registers, and they are never written down.
"""
from .text import nested, tuple_of


class Spread:
    """Where the interpolants of the cells go, for a `series.Series` that makes two stages at once."""

    def __init__(self, series, layout):
        self.s, self.across, self.V = series, layout.across, layout.V
        d, n, L = series.d, series.n, series.L
        self.steps = {"w": series.m ** (d - 1) * L, "c": n ** (d - 1) * L}         # along the last axis

    def columns(self, v):
        """[(first, last, pieces)] of a variable: for first <= t_y < last (in 2D only 0) `pieces` as `arithmetic.spread` has
        them, those of t_x.  The first of all terms of a b_1 sets it, and to zero where it has none; the others are added."""
        s, found = self.s, []
        n, m, L, last = s.n, s.m, s.L, s.d - 1
        for y in range(m if s.d == 3 else 1):
            ends = {0, n, m}
            outputs = [("c", v * n ** s.d * L, None, False, 0, 0, n, 0, n)] if y < n or s.d == 2 else []
            for i, terms in s.r.begin.items():
                b_1 = s.odd + s.slots[i] * s.block
                for number, ((shift, k), a) in enumerate(sorted(terms.items(), key=lambda term: s.r.rest.index(term[0][1]))):
                    if k != v:
                        continue
                    x, along, across = shift[0], shift[last], shift[1] if s.d == 3 else 0
                    if y >= across:
                        outputs.append(("w", b_1 - across * s.row - x * L, 1 + s.values["begin"].index(a), number > 0,
                                        along, along, m, x, m))
                    if number == 0:
                        outputs += [("w", b_1, -1, False, 0, m - along, m, 0, m)] * (along > 0)
                        outputs += [("w", b_1, -1, False, 0, 0, m, 0, m)] * (0 <= m - across <= y)
                        outputs += [("w", b_1, -1, False, 0, 0, m, m - x, m)] * (x > 0)
                    ends |= {x, m - x}
            ends = sorted(ends)
            pieces = [(first, end, [result for *result, begin, stop in outputs if begin <= first < stop])
                      for first, end in zip(ends, ends[1:])]
            if found and found[-1][-1] == pieces:
                found[-1] = found[-1][0], y + 1, pieces
            else:
                found.append((y, y + 1, pieces))
        return found

    def definitions(self):
        """Lines that define the compiled parts."""
        return [f"spread{v}_{i} = lanes.spread(left, {pieces!r}, {self.steps!r}, real, {self.s.vectors})"
                for v in self.s.r.rest for i, (_, _, pieces) in enumerate(self.columns(v))]

    def text(self):
        """Lines of the function that maps two faces to the cells between them."""
        s, n, L, row = self.s, self.s.n, self.s.L, self.s.row
        lines = ["some = " + tuple_of(f"factors[{i}]" for i in range(1 + len(s.values["begin"])))]
        for v in range(self.V):
            faces = f"F, below + {v * n * self.across} + ty * {row}, above + {v * n * self.across} + ty * {row}, {self.across}"
            if v in s.r.kept:
                lines += nested([f"for ty in range({s.m if s.d == 3 else 1}):"], [
                    f"interpolation({faces}, w, {s.slots[v] * s.block} + ty * {row}, {self.steps['w']}, {s.m * s.vectors})"])
                continue
            for i, (first, last, _) in enumerate(self.columns(v)):
                lines += nested([f"for ty in range({first}, {last}):"], [
                    f"spread{v}_{i}({faces}, w, ty * {row}, c, ty * {n * L}, some)"])
        return nested(["def spread_cell(F, below, above, w, c, factors):"], lines)
