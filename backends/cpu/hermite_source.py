"""Text of the fused kernels of Hermite's method.

A group of cells that follow each other along x is worked on at once, its cells being the lanes of vector registers.  A kernel
goes along the last axis (z in 3D): what is interpolated on a face of nodes, along the other axes, serves the cells on both
sides of it.  Arrays of a thread, all with the lane last:

    G  (side, j_z, j_y, j_x)             the nodes of one variable, with the signs of images
    Y  (j_z, t_y, j_x)                   in 3D, after the map along y
    F  (slot, variable, j_z, t_y, t_x)   after that along x: two faces
    w  (slot of variable, t_z, t_y, t_x) the interpolants, then their Taylor series: see `hermite_series`
    c  (variable, j_z, j_y, j_x)         the solution at the target nodes
"""
from hashlib import sha256
from inspect import getsource
from textwrap import indent

import numpy as np

from . import lanes, matmul, vector
from .hermite_series import SeriesSource

KERNELS = sha256("".join(getsource(module) for module in (lanes, matmul, vector)).encode()).hexdigest()[:16]
JIT = '@njit(nogil=True, cache=True, error_model="numpy")'
CACHED = 1 << 15             # bytes of the Taylor series of a group, or of a variable of a group in the collapsed variant
MOST, MOST_MAPS = 4, 8       # vector registers in a group; of the collapsed variant, where whole rows save memory traffic
CACHED_FACES = 1 << 18       # bytes of the faces of several rows of cells that a thread takes together, which read
MOST_ROWS = 4                # the nodes between them once from memory


def row_pitch(nodes, dtype):
    """Numbers from one row of the state to the next: a register more than nodes, whole cache lines, not eight times as many:
    the caches would hold few of such rows."""
    line = 64 // np.dtype(dtype).itemsize
    lines = -(-(nodes + lanes.width(dtype)) // line)
    return (lines + (lines % 8 == 0)) * line


def vectors(numbers, most=MOST):
    """Vector registers of lanes in a group that needs so many numbers a lane."""
    return max(1, min(most, CACHED // (numbers * matmul.vector_bytes())))


class HermiteSource:
    """Text of the kernels for one law's terms, order, dimension and dtype.

    variant     "collapsed", "monolithic" or "two-kernel"
    left        factors of the interpolation, (2N + 2, N + 1), weighted; recursion: `hermite_recursion.Recursion`"""

    def __init__(self, tables, dtype, variant, left, recursion):
        self.d, self.V, self.n, self.dtype = tables.dim, tables.variables, tables.order + 1, str(np.dtype(dtype))
        self.variant, self.left = variant, left
        self.collapsed = variant == "collapsed"
        d, n = self.d, self.n
        self.m = n if self.collapsed else 2 * n
        self.W = lanes.width(dtype)
        numbers = self.m ** d * (1 if self.collapsed else len(recursion.kept))
        self.vectors = vectors(numbers, MOST_MAPS if self.collapsed else MOST)
        self.L = self.vectors * self.W
        self.GL = self.L + self.W
        self.X = row_pitch(tables.grid.nodes[0], dtype)
        # A register more than the coefficients of a face with the same j of the last axis: no powers of two, see `row_pitch`.
        self.across = self.m ** (d - 1) * self.L + self.W
        self.face = self.V * (n * self.across if d > 1 else self.m * self.L)
        self.rows = max(1, min(MOST_ROWS, CACHED_FACES // (2 * self.face * np.dtype(dtype).itemsize))) if d == 3 else 1
        self.cell = self.V * self.m ** d * self.L
        self.series = None
        if not self.collapsed:
            self.series = SeriesSource(recursion, tables.stages, tables.method.pruned, self.L, self.vectors)
        self.sizes = ((2 if d == 3 else 1) * n ** d * self.GL, n * n * self.m * self.GL if d == 3 else 0,
                      2 * self.rows * self.face, self.series.size if self.series else 0, self.V * n ** d * self.L)

    def text(self):
        """The module: `kernel` of all, or of two kernels `interpolate` and `evolve`."""
        parts = [self.head(), self.fill(), self.faces(), self.roll(), self.store()]
        store, roll = "store(c, out, at, width, scale, X)", "roll(F, below, above, maps, {}, {}, count)"
        evolve = "series(w, c, program, stages, factors)"
        if self.collapsed:
            parts.append(self.kernel("kernel", f"{roll.format('c', 0)}\n{store}"))
        elif self.variant == "monolithic":
            parts += [self.series.text(JIT), self.kernel("kernel", f"{roll.format('w', 0)}\n{evolve}\n{store}")]
        else:
            line = 64 // np.dtype(self.dtype).itemsize
            evolve = evolve.replace("factors", "factors, R, coming")
            parts += [self.series.text(JIT, self.cell // line, line),
                      self.kernel("interpolate", roll.format("w", f"cell * {self.cell}")),
                      self.kernel("evolve", f"{self.load()}\n{evolve}\n{store}", faces=False)]
        return "\n\n\n".join(part.strip() for part in parts) + "\n"

    def head(self):
        """Imports, constants and compiled parts."""
        lines = [f'"""Generated by dgarray {KERNELS}: Hermite\'s method in {self.d}D, {self.variant}."""',
                 "import numpy as np", "from numba import njit", "",
                 "from dgarray.backends.cpu import lanes, vector", "", f"real = np.{self.dtype}", "one = real(1)",
                 "scaled, prefetch = lanes.scaled(real), vector.prefetch", "", "",
                 JIT, "def ask(q, at, lines, X):", f"    for k in range({self.V * self.n ** self.d}):",
                 "        prefetch(q, at + k * X, lines)", "", "",
                 JIT, "def abs_(number):", "    return number if number >= 0 else -1 - number", "", ""]
        if self.collapsed:
            return "\n".join([*lines, f"mapping = lanes.mapping({self.n}, real)"])
        lines += [f"left = np.array({self.left.tolist()!r})", "interpolation = lanes.interpolation(left, real)"]
        if self.variant == "two-kernel" and self.d > 1:
            lines.append("past_interpolation = lanes.interpolation(left, real, past=True)")
        return "\n".join([*lines, *self.series.definitions()])

    def fill(self):
        """A row of nodes, with one more than there are lanes: those from lo to hi follow each other in the state."""
        return f'''
{JIT}
def ghost(q, at, factor, fx, f, sx, position, G, to):
    G[to] = factor * fx[f + position] * q[at + sx[position]]


{JIT}
def fill(q, at, factor, fx, f, sx, x, lo, hi, G, to):
    last = min({self.L} + 1, len(sx) - x)
    scaled(q, at + sx[min(x + lo, len(sx) - 1)], G, to + lo, factor, min({self.vectors}, (hi - lo + {self.W - 1}) // {self.W}))
    if hi == {self.L} + 1:
        G[to + {self.L}] = factor * q[at + sx[x + {self.L}]]
    if lo == 1:                  # mostly there is one at the end of a row, too few for the compiler's loops
        ghost(q, at, factor, fx, f, sx, x, G, to)
    elif lo > 1:
        for lane in range(lo):
            ghost(q, at, factor, fx, f, sx, x + lane, G, to + lane)
    if hi + 1 == last:
        ghost(q, at, factor, fx, f, sx, x + hi, G, to + hi)
    elif hi < last:
        for lane in range(hi, last):
            ghost(q, at, factor, fx, f, sx, x + lane, G, to + lane)'''

    def map(self, axis, source, low, high, jump, target, t, step, count="count"):
        """A call of the map along an axis."""
        name = f"mapping(maps, (v * {self.d} + {axis}) * {2 * self.n ** 2}, " if self.collapsed else "interpolation("
        return f"{name}{source}, {low}, {high}, {jump}, {target}, {t}, {step}, {count})"

    def faces(self):
        """The nodes of a face, at position p along the last axis, mapped along the others; in 1D those of a row.

        They are read from the state where they follow each other there and are no images, else put together in G."""
        n, m, GL, L, d = self.n, self.m, self.GL, self.L, self.d
        rows = n ** d
        image = " or ".join({1: [], 2: ["sy[p] < 0"], 3: ["sz[p] < 0", "sy[y] < 0", "sy[y + 1] < 0"]}[d])
        plain = f"whole = lo[group] == 0 and hi[group] > {L}" + f" and not ({image})" * bool(image)
        if d == 1:
            places, loops, k = ["v"], [f"for jx in range({n}):"], "jx"
            factor = "one"
        elif d == 2:
            places, k = [f"abs_(sy[p]) * {self.V} + v"], f"jy * {n} + jx"
            loops = [f"for jy in range({n}):", f"for jx in range({n}):"]
            factor = f"fy[(v * {n} + jy) * len(sy) + p]"
        else:
            places = [f"(abs_(sz[p]) * ny + abs_(sy[y + {side}])) * {self.V} + v" for side in (0, 1)]
            loops = [f"for {j} in range({n}):" for j in ("jz", "jy", "jx")]
            k = f"(jz * {n} + jy) * {n} + jx"
            factor = f"fz[(v * {n} + jz) * len(sz) + p] * fy[(v * {n} + jy) * len(sy) + y + {{side}}]"
        lines = [f"low = ({places[0]}) * {rows} * X", f"high = ({places[-1]}) * {rows} * X"]
        fills = [f"fill(q, {place} + k * X, {factor.format(side=side)}, fx, (v * {n} + jx) * len(sx), sx, x, lo[group], "
                 f"hi[group], G, k * {GL}{' + ' + str(rows * GL) if side else ''})"
                 for side, place in zip((0, 1), ("low", "high")[:len(places)])]
        lines += ["if whole:", "    nodes, pitch = q, X", "    low, high = low + sx[x], high + sx[x]", "else:",
                  indent(nested(loops, [f"k = {k}", *fills]), "    "),
                  f"    nodes, pitch, low, high = G, {GL}, 0, {rows * GL}"]
        if d == 1:
            lines.append(self.map(0, "nodes", "low", "low + 1", "pitch", "F", f"f + v * {m * L}", L))
        elif d == 2:
            lines.append(nested(loops[:1], [f"at = low + jy * {n} * pitch", self.map(
                0, "nodes", "at", "at + 1", "pitch", "F", f"f + (v * {n} + jy) * {self.across}", L)]))
        else:
            lines.append(nested([loops[0], loops[2]], [f"at = (jz * {n * n} + jx) * pitch", self.map(
                1, "nodes", "low + at", "high + at", f"{n} * pitch", "Y", f"(jz * {m * n} + jx) * {GL}", n * GL, "count + 1")]))
            lines.append(nested([loops[0], f"for ty in range({m}):"], [f"at = (jz * {m} + ty) * {n * GL}", self.map(
                0, "Y", "at", "at + 1", GL, "F", f"f + (v * {n} + jz) * {self.across} + ty * {m * L}", L)]))
        return (f"{JIT}\ndef face(q, G, Y, F, f, p, y, group, count, maps, ny, X, sx, sy, sz, fx, fy, fz, lo, hi):\n"
                f"    x = group * {L}\n    {plain}\n    for v in range({self.V}):\n" + indent("\n".join(lines), "        "))

    def roll(self):
        """The map along the last axis, from two faces to the cells between them; in 1D a copy.

        Coefficients of x follow each other in the faces and in what is found."""
        n, m, d, L = self.n, self.m, self.d, self.L
        if self.collapsed or self.variant == "two-kernel":
            row, step, blocks = m * L, m ** (d - 1) * L, [v * m ** d * L for v in range(self.V)]
        else:
            row, step = self.series.row, self.series.plane if d == 3 else self.series.row
            blocks = [self.series.slots[v] * self.series.block for v in range(self.V)]
        target, low = (f" + ty * {number}" * (d == 3) for number in (row, m * L))
        lines = [f"target = t + blocks[v]{target}", f"low = v * {n * self.across}{low}"]
        if d == 1:
            lines = [f"scaled(F, v * {m * L}, w, t + blocks[v], one, {m * self.vectors})"]
        elif self.collapsed:
            lines = [nested([f"for tx in range({m}):"], [*lines, f"x = tx * {L}", self.map(
                d - 1, "F", "below + low + x", "above + low + x", self.across, "w", "target + x", step)])]
        else:
            call = self.map(d - 1, "F", "below + low", "above + low", self.across, "w", "target", step, str(m * self.vectors))
            lines.append("past_" * (self.variant == "two-kernel") + call)
        return (f"blocks = {tuple(blocks)!r}\n\n\n{JIT}\ndef roll(F, below, above, maps, w, t, count):\n"
                + indent(nested([f"for v in range({self.V}):", *[f"for ty in range({m}):"] * (d == 3)], lines), "    "))

    def load(self):
        """The interpolants of a cell, from where the first kernel has left them, and where those of the next cell are."""
        m, d = self.m, self.d
        planes, rows = (m, m) if d == 3 else (1, m ** (d - 1))
        after = {1: "group + 1", 2: "cell + len(lo)",
                 3: "cell + len(lo) if y + 1 < top else ((z + 1) * (len(sy) - 1) + bottom) * len(lo) + group"}[d]
        return nested([f"for v in range({self.V}):", f"for tz in range({planes}):", f"for ty in range({rows}):"], [
            f"scaled(R, cell * {self.cell} + ((v * {planes} + tz) * {rows} + ty) * {m * self.L}, w, "
            f"slots[v] * {self.series.block} + tz * {self.series.plane} + ty * {self.series.row}, one, {m * self.vectors})"
        ]) + f"\ncoming = ({after}) * {self.cell}"

    def store(self):
        """The solution at the target nodes, weights taken off."""
        return f'''
{JIT}
def store(c, out, at, width, scale, X):
    whole = width // {self.W}
    for v in range({self.V}):
        for j in range({self.n ** self.d}):
            k = v * {self.n ** self.d} + j
            scaled(c, k * {self.L}, out, k * X + at, scale[j], whole)
            for lane in range(whole * {self.W}, width):
                out[k * X + at + lane] = scale[j] * c[k * {self.L} + lane]'''

    def kernel(self, name, body, faces=True):
        """All groups of a part of the targets: from first to last along the last axis, in 3D in rows from `bottom` to `top`."""
        d, last = self.d, "xyz"[self.d - 1]
        face = "face(q, G, Y, F, {}, {}, y, group, count, maps, ny, X, sx, sy, sz, fx, fy, fz, lo, hi)"
        slot = "((y - bottom) * 2 + {} % 2) * " + str(self.face) if d == 3 else "{} % 2 * " + str(self.face)
        rows = ["for y in range(bottom, top):"] * (d == 3)
        lines = [f"width = min({self.L}, len(sx) - 1 - group * {self.L})",
                 f"count = (width + {self.W - 1}) // {self.W}" if self.collapsed else f"count = {self.vectors}"]
        row, number = {1: ("0", "0"), 2: ("y", "y"), 3: ("z * ny + y", "z * (len(sy) - 1) + y")}[d]
        inner = [f"cell = ({number}) * len(lo) + group",
                 f"at = ({row}) * {self.V * self.n ** d} * X + group * {self.L}", body]
        if d == 1:
            lines += ["y = below = above = 0", face.format(0, 0), *inner] if faces else inner
        else:
            node = {2: "abs_(sy[min(y + 2, len(sy) - 1)])",
                    3: "abs_(sz[min(z + 2, len(sz) - 1)]) * ny + abs_(sy[y + 1])"}[d]
            size = f"{self.V * self.n ** d} * X"
            ahead = f"1 + width // {64 // np.dtype(self.dtype).itemsize}"
            # What a group needs next is asked for; groups that are no whole rows also have their ghosts far away.
            x, bottom = f"group * {self.L}", node.replace("y + 1", "y")
            ghosts = [] if self.collapsed else [
                "if lo[group] > 0:", f"    ask(q, coming + sx[{x}], 1, X)",
                f"if hi[group] < min({self.L} + 1, len(sx) - {x}):", f"    ask(q, coming + sx[{x} + hi[group]], 1, X)"]
            asked = [f"ask(q, coming + {x}, {ahead}, X)", *ghosts]
            step = [f"coming = ({node}) * {size}", *asked] * faces
            if d == 3 and faces and not self.collapsed:
                step.append(nested(["if y == bottom:"], [f"coming = ({bottom}) * {size}", *asked]))
            step += [f"ask(out, ({row}) * {size} + {x}, {ahead}, X)"] * (name != "interpolate")
            step += [f"below, above = {slot.format(last)}, {slot.format(f'({last} + 1)')}",
                     face.format("above", f"{last} + 1")] * faces
            before = ["y = 0"] * (d == 2 and faces)
            lines += before + [nested(rows, [face.format(slot.format("first"), "first")])] * faces
            lines += [nested([f"for {last} in range(first, last):", *rows], step + inner)]
        return (f"{JIT}\ndef {name}(bottom, top, first, last, begin, end, G, Y, F, w, c, q, out, R, ny, X, sx, sy, sz, fx, "
                f"fy, fz, lo, hi, scale, maps, program, stages, factors):\n"
                + indent("\n".join(["for group in range(begin, end):", indent("\n".join(lines), "    ")]), "    "))


def nested(loops, lines):
    """Text of loops around lines."""
    text = "\n".join(lines)
    for loop in loops[::-1]:
        text = f"{loop}\n{indent(text, '    ')}"
    return text
