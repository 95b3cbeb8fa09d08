"""Text of the Taylor series in the fused kernels of Hermite's method: loops over coefficients around compiled sums.

w holds a block for each variable, those with a series of their own first, and, where two stages are made at once, blocks for the
odd stages of these.  A block has rows of 2N + 2 coefficients of x and so many zeros as a term reaches beyond; after its rows
comes one of zeros, which is what rows beyond the last one are.
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
        self.itself = {i: {((0,) * self.d, i): None} for i in recursion.kept}         # sums of one term, the stage itself

    def definitions(self):
        """Lines that define the compiled sums."""
        lines = [f"slots = {tuple(self.slots[v] for v in range(self.V))!r}", f"step = {self.linear(self.r.step)}"]
        if self.r.stride == 2:
            lines.append(f"begin = {self.linear(self.r.begin)}")
            lines.append(f"gain = {self.linear(self.r.gain, True)}")
        return [*lines, f"total = {self.linear(self.itself, True)}"]

    def linear(self, sums, add=False):
        """Compiled sums: their results go to blocks of w, or are added to what is in c."""
        number, rows, outputs = 0, self.rows(sums), []
        for i, terms in sums.items():
            texts = []
            for (shift, m), a in terms.items():
                texts.append((None if a is None else number, rows.index(shift[1:]), self.slots[m] * self.block + shift[0] * self.L))
                number += a is not None
            outputs.append((self.node * i if add else self.slots[i] * self.block, texts))
        return f"lanes.linear({outputs!r}, real, {self.vectors}, add={add})"

    def rows(self, sums):
        """The rows (y, z) in which terms lie, as steps from that of the result."""
        return sorted({shift[1:] for terms in sums.values() for shift, _ in terms} | {(0,) * (self.d - 1)})

    def places(self, sums, inside):
        """Text of the places of these rows."""
        for shift in self.rows(sums):
            steps = sum(s * self.m ** k for k, s in enumerate(shift)) * self.row
            conditions = " and ".join(f"j{k} < {self.m - s}" for k, s in enumerate(shift, 1) if s)
            yield f"row + {steps}" + f" if {conditions} else beyond" * (bool(conditions) and not inside)

    def sweep(self, name, sums, base, target, factors, box=False, degree="degree - s"):
        """Loops over the coefficients that stage s finds (see `Recursion.bounds`), or those of them that are results."""
        left, total, loops = "needed - s", f"{degree} + 1", []
        for k in range(self.d - 1, -1, -1):
            most = f"min({self.n}, {total})" if box else f"min({self.m}, {self.n} + {left}, {total})"
            loops.append([f"for j{k} in range({most}):"] + [f"left{k} = {left} - max(0, j{k} - {self.n - 1})"] * (k > 0 and not box))
            left, total = f"left{k}", f"{total} - j{k}"

        def number(length):
            return " + ".join(f"j{k} * {length ** (k - 1)}" for k in range(1, self.d)) or "0"
        places = list(self.places(sums, box))
        before = [f"row = {base} + ({number(self.m)}) * {self.row}",
                  *(f"row{i} = {place}" for i, place in enumerate(places)),
                  f"target = {f'({number(self.n)}) * {self.n * self.L}' if box else target}"]
        call = (f"{name}({'c' if box else 'w'}, target + j0 * {self.L}, w, "
                f"({' '.join(f'row{i} + j0 * {self.L},' for i in range(len(places)))}), {factors})")
        text = f"{loops[-1][0]}\n    {call}"
        text = "\n".join([*before, text])
        for lines in loops[-2::-1]:
            text = f"{lines[0]}\n" + indent("\n".join([*lines[1:], text]), "    ")
        return text

    def text(self, jit):
        """The function: the Taylor series of the interpolants in w, summed up in c."""
        r, d = self.r, self.d
        odd, beyond = self.V * self.block, self.m ** (d - 1) * self.row

        def factors(array, sums, stage):
            return f"({' '.join(f'{array}[{stage} * {size(sums)} + {i}],' for i in range(size(sums))) or 'one,'})"

        def rows(length, row):
            return " + ".join(f"j{k} * {length ** (k - 1) * row}" for k in range(1, d)) or "0"
        start = [f"scaled(w, {self.slots[v] * self.block} + {rows(self.m, self.row)}, c, {v * self.node} + {rows(self.n, self.n * self.L)}, "
                 f"one, {self.n * self.vectors})" for v in range(self.V)]
        text = "\n".join(start)
        for k in range(1, d):
            text = f"for j{k} in range({self.n}):\n{indent(text, '    ')}"
        text += f"\nfor start in range({r.stride}):\n"
        if r.stride == 2:
            text += (f"    if start == 1:\n        s, beyond = 1, {beyond}\n        factors = {factors('begins', r.begin, 0)}\n"
                     + indent(self.sweep("begin", r.begin, 0, f"row + {odd}", "factors"), " " * 8) + "\n")
        text += (f"    base = start * {odd}\n    beyond = base + {beyond}\n    for s in range(start, stages + 1, {r.stride}):\n"
                 f"        if s > start:\n            factors = {factors('steps', r.step, 's')}\n"
                 + indent(self.sweep("step", r.step, "base", "row", "factors"), " " * 12)
                 + "\n        if s > 0:\n" + indent(self.sweep("total", self.itself, "base", "", "(one,)", box=True), " " * 12))
        if r.stride == 2:
            text += (f"\n        if s < stages:\n            found = {factors('gains', r.gain, 's')}\n"
                     + indent(self.sweep("gain", r.gain, "base", "", "found", box=True, degree="degree - s - 1"), " " * 12))
        return f"{jit}\ndef series(w, c, steps, gains, begins, stages, needed, degree):\n{indent(text, '    ')}"
