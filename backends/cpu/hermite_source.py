"""Text of the fused kernels of Hermite's method.

A group of cells that follow each other along x is worked on at once, its cells being the lanes of vector registers.  A kernel
goes along the last axis (z in 3D): what is interpolated on a face of nodes, along the other axes, serves the cells on both
sides of it.  Nodes are read where they lie in the state: what a row's neighbours are beyond its ends, the nodes at the other
end or images, is put there, into the room between two rows, when the row is read, so that it is never older than the row.
Arrays of a thread, all with the lane last:

    Y  (group, side, j_y, t_x)           in 3D, of one variable and j_z, after the map along x: two rows
    F  (slot, group, variable, j_z, t_y, t_x)   after that along y: two faces for each row of cells
    w  (slot of variable, t_z, t_y, t_x) the interpolants, then their Taylor series: see `hermite_series`
    c  (variable, j_z, j_y, j_x)         the solution at the target nodes
    edges  (p, y, coefficient)           of each row one number that the next group lacks: see `hermite_rows`
"""
from hashlib import sha256
from inspect import getsource
from textwrap import indent

import numpy as np

from . import hermite_groups, hermite_products, hermite_rows, hermite_sums, hermite_thin, lanes, matmul, target, vector
from .hermite_products import ProductSeries
from .hermite_series import chosen

PARTS = lanes, hermite_products, hermite_rows, hermite_sums, matmul, vector
KERNELS = sha256("".join(map(getsource, PARTS)).encode()).hexdigest()[:16]
JIT = '@njit(nogil=True, cache=True, error_model="numpy")'
CACHED = 1 << 15             # bytes of the Taylor series of a group, or of a variable of a group in the collapsed variant
CACHED_KINDS = 5 << 13       # of a series that makes two stages at once
MOST, MOST_SYSTEM, MOST_MAPS = 4, 2, 8         # vector registers in a group: of one variable, of several; collapsed, where
                                               # whole rows save memory traffic
CACHED_FACES = 9 << 16       # bytes of the faces of several rows of cells that a thread takes together, which read
MOST_ROWS = 8                # the nodes between them once from memory
ALONG = 32                   # targets along the last axis that a thread takes at a time
EDGES = 2                    # N + 1 up to which groups read their neighbours' first numbers from the row: as quick there
BESIDE = 4                   # groups that in 3D are taken side by side up to then, for which faces are small enough
PAST = 1 << 24               # bytes of two states above which results go past the caches to memory


def row_pitch(nodes, dtype):
    """Numbers from one row of the state to the next: a register more than nodes, whole cache lines, not eight times as many:
    the caches would hold few of such rows."""
    line = 64 // np.dtype(dtype).itemsize
    lines = -(-(nodes + lanes.width(dtype)) // line)
    return (lines + (lines % 8 == 0)) * line


def vectors(numbers, most, cached=CACHED):
    """Vector registers of lanes in a group that needs so many numbers a lane."""
    return max(1, min(most, cached // (numbers * target.vector_bytes())))


def vectors_of_series(recursion):
    """The same of a Taylor series: b_0, and b_1 where two stages are made at once."""
    numbers = (2 * recursion.order + 2) ** recursion.dim * len(recursion.kept)
    if recursion.stride == 2:
        return vectors(2 * numbers, MOST_SYSTEM, CACHED_KINDS)
    return vectors(numbers, MOST if recursion.variables == 1 else MOST_SYSTEM)


class HermiteSource:
    """Text of the kernels for one law's terms, order, dimension and dtype.

    variant     "collapsed", "monolithic" or "two-kernel"
    left        factors of the interpolation, (2N + 2, N + 1), weighted
    recursion   `hermite_recursion.Recursion`; None for "collapsed" and where coefficients vary"""

    def __init__(self, tables, dtype, variant, left, recursion):
        self.d, self.V, self.n, self.dtype = tables.dim, tables.variables, tables.order + 1, str(np.dtype(dtype))
        self.variant, self.left = variant, left
        self.collapsed = variant == "collapsed"
        d, n = self.d, self.n
        self.m = n if self.collapsed else 2 * n
        self.W = lanes.width(dtype)
        self.varies = tables.systems is not None
        self.vectors = vectors(n ** d, MOST_MAPS) if self.collapsed else 1 if self.varies else vectors_of_series(recursion)
        self.L = self.vectors * self.W
        state = self.V * n ** d * tables.elements * np.dtype(dtype).itemsize
        self.past = 2 * state > PAST
        self.direct = self.collapsed and d > 1          # whole rows of the result need no place of their own
        self.X = row_pitch(tables.grid.nodes[0], dtype)
        # A register more than the coefficients of a face with the same j of the last axis: no powers of two, see `row_pitch`.
        self.across = self.m ** (d - 1) * self.L + self.W
        self.face = self.V * n * self.across if d > 1 else 0
        low = d == 3 and not self.collapsed and n <= EDGES
        self.beside = min(BESIDE, -(-tables.grid.nodes[0] // self.L)) if low else 1
        self.slot = self.beside * self.face
        self.rows = max(1, min(MOST_ROWS, CACHED_FACES // (2 * self.slot * np.dtype(dtype).itemsize))) if d == 3 else 1
        self.cell = self.V * self.m ** d * self.L
        self.edges = not self.collapsed and d > 1 and n > EDGES
        self.lines = -(-self.L * np.dtype(dtype).itemsize // 64)
        self.series = self.asked = None
        self.node = self.V * n ** d                     # numbers of a node, and a cell's share of those of the next face
        self.share = -(-self.node * (self.rows + 1) // self.rows) if d == 3 else self.node
        if self.varies:
            self.series = ProductSeries(tables, tables.method.pruned, self.L)
        elif not self.collapsed:
            self.series = chosen(recursion, tables.stages, tables.method.pruned, variant == "monolithic", self.L,
                                 self.vectors)
            if variant == "two-kernel":
                self.asked = self.cell * np.dtype(dtype).itemsize // 64, 1
            elif self.edges:
                self.asked = self.share, self.lines
        self.thin = variant == "monolithic" and d == 3 and self.rows > 1 and not self.varies
        self.sizes = ((2 * n * self.m * self.L * self.beside + hermite_thin.room(self)) * (d == 3), 2 * self.rows * self.slot,
                      self.series.size if self.series else 0, self.node * self.L + self.W,
                      self.edges * (ALONG + 1) * (self.rows + (d == 3)) * self.node)

    def text(self):
        """The module: `kernel` of all, or of two kernels `interpolate` and `evolve`."""
        spreads = self.series is not None and self.series.spreads
        parts = [self.head(), hermite_rows.text(self, JIT), *[self.faces()] * (self.d > 1),
                 self.spread() if spreads else self.roll(), self.store()]
        store = "store(c, out, at, wide, span, scale, X)"
        if self.thin:
            parts.append(hermite_thin.text(self, JIT))
            store = f"if thin:\n    thin_{store.replace('span', 'span, min(together, top - y)')}\nelse:\n    {store}"
        roll = f"roll({'q, x, X' if self.d == 1 else 'F, below, above'}, maps, {{}}, {{}}, count)"
        if spreads:
            roll = "roll(F, below, above, w, c, factors)"
        evolve = "series(w, c, program, stages, factors, heads, entries)"
        if self.varies:
            evolve = f"series(w, c, maps, factors, heads, {'z' if self.d == 3 else 0}, {'y' if self.d > 1 else 0}, group)"
        if self.direct:
            to_out, to_c = (roll.format(*target) for target in (("out", "at, X"), ("c", f"0, {self.L}")))
            parts.append(self.kernel("kernel", f"if wide % {self.W} == 0 and span == wide:\n    "
                                     f"{to_out.replace('roll', 'roll_out')}\nelse:\n    {to_c}\n    {store}"))
        elif self.collapsed:
            parts.append(self.kernel("kernel", f"{roll.format('c', 0)}\n{store}"))
        else:
            if self.asked:
                line = 64 // np.dtype(self.dtype).itemsize
                more = f"R, coming, {line}" if self.variant == "two-kernel" else "q, coming, X"
                evolve = evolve.replace("entries", f"entries, {more}")
            parts.append(self.series.text(JIT, self.asked))
            if self.variant == "monolithic":
                parts.append(self.kernel("kernel", f"{roll.format('w', 0)}\n{evolve}\n{store}"))
            else:
                parts += [self.kernel("interpolate", roll.format("w", f"cell * {self.cell}")),
                          self.kernel("evolve", f"{self.load()}\n{evolve}\n{store}", faces=False)]
        return "\n\n\n".join(part.strip() for part in parts) + "\n"

    def head(self):
        """Imports, constants and compiled parts."""
        lines = [f'"""Generated by dgarray {KERNELS}: Hermite\'s method in {self.d}D, {self.variant}."""',
                 "import numpy as np", "from numba import njit", "",
                 "from dgarray.backends.cpu import lanes, vector", "", f"real = np.{self.dtype}", "one = real(1)",
                 "scaled, ending, ghost, prefetch = lanes.scaled(real), lanes.ending(real), lanes.ghost(real), vector.prefetch",
                 f"result_scaled = lanes.scaled(real, {self.past})", "", "",
                 JIT, "def ask(q, at, lines, X):", f"    for k in range({self.V * self.n ** self.d}):",
                 "        prefetch(q, at + k * X, lines)", "", "",
                 JIT, "def abs_(number):", "    return number if number >= 0 else -1 - number", "", ""]
        if self.collapsed:
            return "\n".join([*lines, f"mapping = lanes.mapping({self.n}, real)",
                              f"result_mapping = lanes.mapping({self.n}, real, {self.past})"])
        lines += [f"left = np.array({self.left.tolist()!r})", "interpolation = lanes.interpolation(left, real)"]
        if self.variant == "two-kernel" and self.d > 1:
            lines.append("past_interpolation = lanes.interpolation(left, real, past=True)")
        if self.edges:
            lines += ["from dgarray.backends.cpu.hermite_rows import copied, row_interpolation",
                      *(f"{name} = row_interpolation(left, real, {self.vectors}, {name == 'backwards'})"
                        for name in ("forwards", "backwards"))]
        compiled = "hermite_products import linear, product" if self.varies else "hermite_sums import sums"
        return "\n".join([*lines, f"from dgarray.backends.cpu.{compiled}", *self.series.definitions(self.asked)])

    def map(self, axis, source, low, high, jump, target, t, step, count="count", name="mapping"):
        """A call of the map along an axis."""
        name = f"{name}(maps, (v * {self.d} + {axis}) * {2 * self.n ** 2}, " if self.collapsed else "interpolation("
        return f"{name}{source}, {low}, {high}, {jump}, {target}, {t}, {step}, {count})"

    def along(self, axis, source, low, high, jump, target, t, step):
        """The same for all t_x, lanes after lanes."""
        if not self.collapsed:
            return self.map(axis, source, low, high, jump, target, t, step, self.m * self.vectors)
        lane = f" + tx * {self.L}"
        return nested([f"for tx in range({self.m}):"], [self.map(axis, source, low + lane, high + lane, jump, target, t + lane,
                                                                 step)])

    def faces(self):
        """The nodes of the faces of all rows, at position p along the last axis, mapped along the other axes."""
        n, d, step, across = self.n, self.d, self.m * self.L, self.across
        given = ", back, asked, edges, e" * self.edges
        lined = "line(q, {}, {}, {begin}, v, {}, {}, x, count, maps, X" + f"{given} + {{}} + {{begin}}" * self.edges + ")"
        if d == 2:
            lines = ["after = min(p + 1, len(sy) - 1)", nested([f"for v in range({self.V}):"], [
                f"f = p % 2 * {self.face} + v * {n * across}",
                lined.format("abs_(sy[p])", "abs_(sy[after])", "F, f", across, 0, begin=f"v * {n * n}"),
                "if sy[p] < 0:", f"    image(F, f, {across}, one, v, p, sy, fy)"])]
        else:
            side, group, loops = f"{n * step}", "", []
            if self.beside > 1:
                side, group, loops = f"{n * step} + g * {2 * n * step}", f" + g * {self.face}", ["for g in range(some):"]
                given = ", some"
                lined = lined.replace(", x,", f", x + g * {self.L},")
            loops = [f"for v in range({self.V}):", f"for jz in range({n}):", "for y in range(bottom, top + 1):", *loops]
            lines = ["after = min(p + 1, len(sz) - 1)",
                     nested(loops, [
                         f"low, high = (1 - y % 2) * {side}, y % 2 * {side}",
                         lined.format("abs_(sz[p]) * ny + abs_(sy[y])", "abs_(sz[after]) * ny + abs_(sy[y])",
                                      "Y, high", step, f"(y - bottom) * {self.node}", begin=f"(v * {n} + jz) * {n * n}"),
                         "if sz[p] < 0 or sy[y] < 0:",
                         f"    image(Y, high, {step}, fz[(v * {n} + jz) * len(sz) + p], v, y, sy, fy)",
                         "if y > bottom:",
                         f"    f = ((y - 1 - bottom) * 2 + p % 2) * {self.slot}{group} + (v * {n} + jz) * {across}",
                         indent(self.along(1, "Y", "low", "high", step, "F", "f", step), "    ")])]
        return (f"{JIT}\ndef faces(q, Y, F, p, bottom, top, x, count, maps, ny, X, sy, sz, fy, fz{given}):\n"
                + indent("\n".join(lines), "    "))

    def roll(self):
        """The map along the last axis, from two faces to the cells between them; in 1D from the nodes at q[x] and q[x + 1]."""
        n, m, d, L = self.n, self.m, self.d, self.L
        loops, ty = ([f"for ty in range({m}):"], f" + ty * {m * L}") if d == 3 else ([], "")
        low, across = f"v * {n * self.across}{ty}", self.across
        if self.direct:
            target = f"t + (v * {n ** d} + {'ty * ' + str(n) + ' + ' if d == 3 else ''}tx) * step"
            return "\n\n\n".join(
                f"{JIT}\ndef {name}(F, below, above, maps, w, t, step, count):\n"
                + indent(nested([f"for v in range({self.V}):", *loops, f"for tx in range({m}):"], [self.map(
                    d - 1, "F", f"below + {low} + tx * {L}", f"above + {low} + tx * {L}", across, "w", target,
                    f"{n ** (d - 1)} * step", name=mapping)]), "    ")
                for name, mapping in (("roll", "mapping"), ("roll_out", "result_mapping")))
        if self.series is None or self.variant == "two-kernel":
            row, step, blocks = m * L, m ** (d - 1) * L, [v * m ** d * L for v in range(self.V)]
        else:
            row, step = self.series.row, self.series.plane if d == 3 else self.series.row
            blocks = [self.series.slots[v] * self.series.block for v in range(self.V)]
        if d == 1:
            names = "q, x, X"
            lines = f"line(q, 0, 0, v * {n}, v, w, t + blocks[v], 0, x, count, maps, X)"
        else:
            names, lines = "F, below, above", nested(loops, ["past_" * (self.variant == "two-kernel") + self.along(
                d - 1, "F", f"below + {low}", f"above + {low}", across, "w",
                "t + blocks[v]" + f" + ty * {row}" * (d == 3), step)])
        return (f"blocks = {tuple(blocks)!r}\n\n\n{JIT}\ndef roll({names}, maps, w, t, count):\n"
                + indent(nested([f"for v in range({self.V}):"], [lines]), "    "))

    def spread(self):
        """The map along the last axis for a series that spreads the interpolants of some variables."""
        m, s, L, three, lines = self.m, self.series, self.L, self.d == 3, []
        for v in range(self.V):
            for number, (first, last, _) in enumerate([(0, m, None)] if v in s.r.kept else s.spread(v)):
                row = f" + ty * {m * L}" * three
                source = "F, " + ", ".join(f"{face} + {v * self.n * self.across}{row}" for face in ("below", "above"))
                w, c = (f"{name}, {start}" + f" + ty * {step}" * three for name, start, step in
                        (("w", s.slots[v] * s.block if v in s.r.kept else 0, s.row), ("c", 0, self.n * L)))
                call = (f"interpolation({source}, {self.across}, {w}, {s.along['w']}, {m * self.vectors})" if v in s.r.kept else
                        f"spread{v}_{number}({source}, {self.across}, {w}, {c}, some)")
                lines.append(nested([f"for ty in range({first}, {last}):"] * three, [call]))
        f = s.factor_of("begin")
        some = "".join(f"factors[{f + i}], " for i in range(1 + len(s.values["begin"])))
        head = f"{JIT}\ndef roll(F, below, above, w, c, factors):\n    some = ({some.strip()})\n"
        return head + indent("\n".join(lines), "    ")

    def load(self):
        """The interpolants of a cell, from where the first kernel has left them, and where those of the next cell are."""
        m, d = self.m, self.d
        planes, rows = (m, m) if d == 3 else (1, m ** (d - 1))
        after = {1: "group + 1", 2: "cell + groups",
                 3: "cell + groups if y + 1 < top else ((z + 1) * (len(sy) - 1) + bottom) * groups + group"}[d]
        return nested([f"for v in range({self.V}):", f"for tz in range({planes}):", f"for ty in range({rows}):"], [
            f"scaled(R, cell * {self.cell} + ((v * {planes} + tz) * {rows} + ty) * {m * self.L}, w, "
            f"slots[v] * {self.series.block} + tz * {self.series.plane} + ty * {self.series.row}, one, {m * self.vectors})"
        ]) + f"\ncoming = ({after}) * {self.cell}"

    def store(self):
        """The solution at the target nodes, weights taken off; zero behind the last of them, up to `span`."""
        return f'''
{JIT}
def store(c, out, at, width, span, scale, X):
    whole = width // {self.W}
    for k in range({self.V * self.n ** self.d}):
        result_scaled(c, k * {self.L}, out, k * X + at, scale[k % {self.n ** self.d}], whole)
    if span > whole * {self.W}:
        for k in range({self.V * self.n ** self.d}):
            ending(c, k * {self.L} + whole * {self.W}, out, k * X + at + whole * {self.W}, scale[k % {self.n ** self.d}],
                   width - whole * {self.W})'''

    def kernel(self, name, body, faces=True):
        """All groups of a part of the targets: from first to last along the last axis, in 3D in rows from `bottom` to `top`."""
        d, last, rows, L, edges = self.d, "xyz"[self.d - 1], self.node, self.L, self.edges and faces
        node = {1: "0", 2: "abs_(sy[p])", 3: "abs_(sz[p]) * ny + abs_(sy[y])"}[d]
        after = node.replace("[p]", f"[min(p + 1, len(s{last}) - 1)]")
        given, listed, beside = ", some" * (self.beside > 1), "", self.beside if faces else 1
        if edges:
            given, listed = ", back, asked, edges, e", ", outermost, edge, edges, e" + f" + (y - bottom) * {rows}" * (d == 3)
        ends = nested(["for y in range(bottom, top + 1):"] * (d == 3),
                      [f"ends(q, {node}, {after}, x, width, X, ghosts, fx{listed})"])
        asking = self.asked and self.variant == "monolithic"
        known = ["asked = " + ("p == first" if asking else "True"),
                 f"e = (p - first) * {rows}" + " * (top + 1 - bottom)" * (d == 3)] * edges
        faced = f"faces(q, Y, F, p, bottom, top, {'start' if edges else 'x'}, count, maps, ny, X, sy, sz, fy, fz{given})"
        if self.thin:
            more = "edges, e, back" if edges else "edges, 0, False"
            faced = (f"if thin:\n    thin_faces(q, Y, F, p, bottom, top, x, width, together, ny, X, sy, sz, fy, fz, {more})\n"
                     f"else:\n    {faced}")
        face = "\n".join(["p = {}", *known, ends, faced])
        slot = "((y - bottom) * 2 + {} % 2) * " + str(self.slot) if d == 3 else "{} % 2 * " + str(self.face)
        slot += f" + g * {self.face}" * (beside > 1)
        before, each = hermite_groups.text(self, edges, beside)
        row, number = {1: ("0", "0"), 2: ("y", "y"), 3: ("z * ny + y", "z * (len(sy) - 1) + y")}[d]
        inner = [*each, f"cell = ({number}) * groups + group", f"at = ({row}) * {rows} * X + group * {L}"]
        if d > 1:
            inner += ["ask(out, at, ahead, X)"] * (name != "interpolate" and not self.past)
            inner += [f"below, above = {slot.format(last)}, {slot.format(f'({last} + 1)')}"] * faces
        over = []
        if asking:
            over = [f"after, later = {last} + 2, start", "if after > last:",
                    f"    after, later = first, start + (-{L} if back else {L})"]
            coming = "abs_(sy[after])" if d == 2 else "(abs_(sz[after]) * ny + abs_(sy[bottom]))"
            inner.append(f"coming = ({coming} * {rows}{f' + (y - bottom) * {self.share}' * (d == 3)}) * X + later")
        inner += [ends] * (d == 1) + [body]
        if d == 3:
            inner = [nested(["for y in range(bottom, top" + ", together" * self.thin + "):",
                             *["for g in range(some):"] * (beside > 1)], inner)]
        if d > 1:
            over = [face.format(f"{last} + 1"), *over] * faces
            inner = [face.format("first")] * faces + [nested([f"for {last} in range(first, last):"], [*over, *inner])]
        return (f"{JIT}\ndef {name}(bottom, top, first, last, begin, end, Y, F, w, c, edges, q, out, R, ny, X, x0, "
                "targets, nodes, ghosts, fx, sy, sz, fy, fz, scale, maps, program, stages, factors, heads, entries):\n"
                + indent("\n".join([*before, indent("\n".join(inner), "    ")]), "    "))


def nested(loops, lines):
    """Text of loops around lines."""
    text = "\n".join(lines)
    for loop in loops[::-1]:
        text = f"{loop}\n{indent(text, '    ')}"
    return text
