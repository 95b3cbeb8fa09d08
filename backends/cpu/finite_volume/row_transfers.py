"""Text that brings rows of a grid from memory into the scratch array and back, with ghost cells beyond the sides."""
from ..dg.kernel_source import indented

SOON = 4                 # rows ahead that are asked for


class RowTransfers:
    """A base class of `MarchSource`, beside `RowFields`: loads rows of the state and of the parameters, makes ghost cells, and
    stores rows."""

    # To and from memory.

    def load(self):
        """Lines that load the next row of the state, and of the parameters."""
        first, halo, V = self.fields["q0"], self.halo, self.V
        lines_of_strip = -(-self.strip * self.dtype.itemsize // 64)
        soon = [f"soon = slab + (min(N + {SOON}, count - 1) + row_shift)*row_stride + x0", f"for v in range({V}):",
                *(f"    prefetch({array}, soon + v*variable_stride, {lines_of_strip})" for array in ("state", "out"))]
        lines = [*(soon if self.rows is not None else []), f"at = {first.first} + {first.slot('N')}",
                 f"place = slab + {'(N + row_shift)' if self.open_rows else '((N + row_shift) % wrap)'}*row_stride",
                 f"left, right = max(x0 - {halo}, 0), min(x0 + cells + {halo}, columns)", f"shift = {halo} - x0",
                 f"for v in range({V}):", f"    for c in range(left, right, {self.L}):",
                 f"        copy(state, place + v*variable_stride + c, w, at + v*{self.width} + c + shift)"]
        if halo and self.periodic_columns:
            for ends in (f"x0 - {halo}, 0", f"columns, x0 + cells + {halo}"):
                lines += [f"    for c in range({ends}):",
                          f"        w[at + v*{self.width} + c + shift] = state[place + v*variable_stride + c % columns]"]
        return lines

    def load_parameters(self):
        """Lines that load the parameters in row N."""
        if not self.t.varying:
            return []
        field = self.fields["m"]
        return [f"if N < high_0 + {self.ghosts}:", f"    at = {field.first} + {field.slot('N')}",
                "    place = slab_row + (N + row_shift + margin)*m_row_stride + x0 + margin",
                f"    for v in range({field.components}):",
                f"        for c in range({2 * self.halo} + cells):",
                f"            w[at + v*{self.width} + c] = parameters[v, place + c - {self.halo}]"]

    def load_places(self):
        """Lines that put the coordinates of the cells along x into their row, those beyond the sides too."""
        first, inside = self.fields["x"].first, self.fields["x_inside"].first
        wrapped = " % columns" if self.periodic_columns else ""
        return [f"for c in range(2*{self.halo} + cells):", f"    column = x0 + c - {self.halo}",
                f"    w[{first} + c] = lower_x + (real(column) + half)*h_x",
                f"    w[{inside} + c] = lower_x + (real(column{wrapped}) + half)*h_x"]

    def store(self, field, array="out"):
        """Lines that put a row from the place `at` on into an array in memory."""
        at = f"at + {field.first} + v*{self.width} + {self.halo}"
        return ["place = slab + (row + row_shift)*row_stride + x0", f"for v in range({self.V}):",
                f"    whole = cells // {self.L} * {self.L}", f"    for c in range(0, whole, {self.L}):",
                f"        copy(w, {at} + c, {array}, place + v*variable_stride + c)", "    for c in range(whole, cells):",
                f"        {array}[place + v*variable_stride + c] = w[{at} + c]"]

    # Beyond the sides.

    def columns_beyond(self, i, field):
        """Lines that make the ghost cells at both ends of a row, where the axis is not periodic."""
        if self.periodic_columns:
            return []
        g, lines = self.ghosts, []
        for side, test in zip(self.t.sides[0], ("x0 == 0", "x0 + cells == columns")):
            own, inside = (f"{self.halo - 1} - c", f"{self.halo} + c") if side.end == 0 else (
                f"{self.halo} + cells + c", f"{self.halo - 1} + cells - c")
            body = [f"own, inside = {own}, {inside}", *self.outside(i, side, field, "at + own", "at + inside")]
            lines += [f"if {test}:", f"    for c in range({g}):", *indented(body, 2)]
        return lines

    def rows_beyond(self, i, field, columns):
        """Lines that make the ghost rows, where the axis of the rows is not periodic."""
        if not self.open_rows:
            return []
        lower, upper = self.t.sides[self.rows]
        body = []
        for side, head, own, inside in ((lower, f"if (last == {self.ghosts - 1}) & (low_{i} == 0):", "-1 - c", "c"),
                                        (upper, f"if count <= last < count + {self.ghosts}:", "last", "2*count - 1 - last")):
            work = [f"row, mirror = {own}, {inside}", f"to, at = {field.slot('row')}, {field.slot('mirror')}",
                    f"for own in range({columns[0]}, {columns[1]}):",
                    *indented(self.outside(i, side, field, "to + own", "at + own"))]
            body += [head, *indented([f"for c in range({self.ghosts}):", *indented(work)] if side.end == 0 else work)]
        return body

    def outside(self, i, side, field, to, at):
        """Lines that put the state beyond a side into the cell `own` of the row `row`."""
        def read(argument, number):
            if argument == "x":
                kind, *where = self.position(number, "row")
                return ("load", where[0], "own") if kind == "load" else (kind, *where)
            kind, place, offset = self.parameter(number, "row")
            return kind, place, offset.replace("+ i", "+ own")
        numbers = self.fields["beyond"].first
        known = [read("x", k) for k in range(self.t.dim)] + [read("m", name) for name in self.t.varying]
        texts = [f"w[{where[0]} + {where[1]}]" if kind == "load" else where[0] for kind, *where in known]
        return [*(f"w[{numbers + k}] = {text}" for k, text in enumerate(texts)),
                f"condition(sides, {2 * side.axis + side.end}, w, {field.first} + {at}, {self.width}, w, {field.first} + {to}, "
                f"{self.width}, sides, 0, w, {numbers}, 1, t{i})"]
