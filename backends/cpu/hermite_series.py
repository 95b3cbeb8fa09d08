"""Text of the Taylor series in the fused kernels of Hermite's method: loops over rows of coefficients around compiled sums.

w holds a block for each variable, those with a series of their own first, and, where two stages are made at once, further
blocks for the odd stages of these.  A block has rows of 2N + 2 coefficients of x and as many zeros as a term reaches beyond;
after its rows comes one of zeros, which is what a term finds beyond the last row.
"""
from textwrap import indent

from .hermite_recursion import size


class SeriesSource:
    """Text for a `hermite_recursion.Recursion`, for groups of L lanes in so many vector registers."""

    def __init__(self, recursion, L, vectors):
        self.r, self.d, self.V, self.L, self.vectors = recursion, recursion.dim, recursion.variables, L, vectors
        self.n, self.m = recursion.order + 1, 2 * recursion.order + 2
        self.row = (self.m + recursion.stride) * L
        self.block = (self.m ** (self.d - 1) + 1) * self.row
        self.slots = {v: slot for slot, v in enumerate((*recursion.kept, *recursion.rest))}
        self.size = (self.V + (recursion.stride - 1) * len(recursion.kept)) * self.block
        self.node = self.n ** self.d * L
        self.sums = {"step": recursion.step, "add": {i: {((0,) * self.d, i): None} for i in recursion.kept}}
        if recursion.stride == 2:
            self.sums |= {"begin": recursion.begin, "gain": recursion.gain}

    def definitions(self):
        """Lines that define the compiled sums."""
        lines = [f"slots = {tuple(self.slots[v] for v in range(self.V))!r}"]
        return lines + [f"{name} = {self.linear(sums, name in ('add', 'gain'))}" for name, sums in self.sums.items()]

    def linear(self, sums, to_c):
        """Compiled sums: results go to the blocks of their variables in w, or are added to what is in c."""
        number, rows, outputs = 0, self.rows(sums), []
        for i, terms in sums.items():
            texts = []
            for (shift, m), a in terms.items():
                place = self.slots[m] * self.block + shift[0] * self.L
                texts.append((None if a is None else number, rows.index(shift[1:]), place))
                number += a is not None
            outputs.append((self.node * i if to_c else self.slots[i] * self.block, texts))
        return f"lanes.linear({outputs!r}, real, {self.vectors}, {to_c})"

    def rows(self, sums):
        """The rows (y, z) in which terms lie, as steps from that of the result."""
        return sorted({shift[1:] for terms in sums.values() for shift, _ in terms})

    def sweep(self, name, base, target="row", less=0):
        """Loops over rows and coefficients.  Rows that stage s finds: see `Recursion.rows`; of results `less` rows less.

        A row's first N + 1 coefficients, and its others where a later stage needs them and until they are zero, are found
        in one piece without a branch.  In ascending order a row can take the place of its last stage, because terms lie in
        the same row or in later ones."""
        n, m, result, rows = self.n, self.m, name in ("add", "gain"), self.rows(self.sums[name])
        left, total, loops = "needed - s", f"degree - s - {less}" if less else "degree - s", []
        for k in range(self.d - 1, 0, -1):
            most = f"min({n}, {total} + 1)" if result else f"min({m}, {n} + {left}, {total} + 1)"
            loops.append([f"for j{k} in range({most}):", f"left{k} = {left} - max(0, j{k} - {n - 1})",
                          f"total{k} = {total} - j{k}"])
            left, total = f"left{k}", f"total{k}"

        def number(length):
            return " + ".join(f"j{k} * {length ** (k - 1)}" for k in range(1, self.d)) or "0"
        body = [f"row = {base} + ({number(m)}) * {self.row}"]
        for i, shift in enumerate(rows):
            steps = sum(s * m ** k for k, s in enumerate(shift)) * self.row
            inside = " and ".join(f"j{k} < {m - s}" for k, s in enumerate(shift, 1) if s and not result)
            body.append(f"row{i} = row + {steps}" + f" if {inside} else {base} + {m ** (self.d - 1) * self.row}" * bool(inside))
        body.append(f"target = {f'({number(n)}) * {n * self.L}' if result else target}")
        places = " ".join(f"row{i} + lane," for i in range(len(rows)))
        call = f"{name}({'c' if result else 'w'}, target + lane, w, ({places}), factors)"
        body += [f"for j in range({n}):", f"    lane = j * {self.L}", f"    {call}"]
        if not result:
            body += [f"if {left} > 0 and {total} + {self.r.stride} >= {n}:", f"    for j in range({n}, {m}):",
                     f"        lane = j * {self.L}", f"        {call}"]
        for lines in loops[::-1]:
            body = [lines[0], *("    " + line for line in [*lines[1:], *body])]
        return body

    def text(self, jit):
        """The function: the Taylor series of the interpolants in w, summed up in c."""
        n, d, stride, odd = self.n, self.d, self.r.stride, self.V * self.block

        def factors(name, stage="s"):
            count = size(self.sums[name])
            return [f"factors = ({' '.join(f'{name}s[{stage} * {count} + {i}],' for i in range(count)) or 'one,'})"]
        rows = [" + ".join(f"j{k} * {length ** (k - 1) * row}" for k in range(1, d)) or "0"
                for length, row in ((self.m, self.row), (n, n * self.L))]
        lines = [f"scaled(w, {slot * self.block} + {rows[0]}, c, {v * self.node} + {rows[1]}, one, {n * self.vectors})"
                 for v, slot in self.slots.items()]
        for k in range(1, d):
            lines = [f"for j{k} in range({n}):", *("    " + line for line in lines)]
        if stride == 2:
            lines += ["s = 1", *factors("begin", 0), *self.sweep("begin", 0, f"row + {odd}")]
        lines += [f"for start in range({stride}):", f"    base = start * {odd}",
                  f"    for s in range(start, stages + 1, {stride}):"]
        stage = ["if s > start:", *("    " + line for line in [*factors("step"), *self.sweep("step", "base")]),
                 "if s > 0:", "    factors = (one,)", *("    " + line for line in self.sweep("add", "base"))]
        if stride == 2:
            stage += ["if s < stages:", *("    " + line for line in [*factors("gain"), *self.sweep("gain", "base", less=1)])]
        text = "\n".join([*lines, *(" " * 8 + line for line in stage)])
        return f"{jit}\ndef series(w, c, steps, begins, gains, stages, needed, degree):\n{indent(text, '    ')}"
