"""Text of kernels that march over the rows of a grid with a few rows in the first-level cache, and sweep them on the way.

A row is a strip of cells along x. Each step of the march loads the next row; then every sweep of a chain does one row of its
own, as many rows behind as it needs to see ahead. So several sweeps, along x and along the rows, read and write the state once.
"""
from copy import copy
from hashlib import sha256
from inspect import getsource

import numpy as np

from ....methods.finite_volume.stencils import of_stencil, ranges
from ....physics.explain import formulas_of
from ....physics.pointwise import Pointwise
from ....physics.run_time_numbers import with_numbers
from .. import loop_arguments, threaded_loops
from ..dg.kernel_source import indented
from ..simd import boundary, expressions, vector
from ..threaded_loops import loop_text
from .cell_parts import parted
from .row_fields import RowFields
from .row_transfers import RowTransfers

KERNELS = sha256("".join(getsource(module) for module in (
    boundary, expressions, loop_arguments, threaded_loops, vector)).encode()).hexdigest()[:16]


def numbered(stencil):
    """The stencil with a function whose constants come at run time."""
    stencil = copy(stencil)
    stencil.function = with_numbers(stencil.function)
    return stencil


class MarchSource(RowFields, RowTransfers):
    """Text of one kernel, for the chain of sweeps of a pass.

    tables   `GridTables`;  rows: the axis along which rows are counted, 1 or 2; None in 1D
    chain    what is done to each row: "x" and "rows", sweeps along these;  "source": the sources alone;  empty: only a check
    strip    cells of a row at a time"""

    def __init__(self, tables, dtype, rows, chain, strip):
        super().__init__(tables, dtype, rows, chain, strip)
        self.sweeps, self.ahead = {}, 2 * self.ghosts - 1 if self.open_rows else 0

    # The march.

    def delays(self):
        """For each member of the chain, and before it for the load, how many rows behind the last loaded row it is; and by how
        many rows its result is needed on either side of the rows of a piece."""
        delay, behind = 0, [0]
        for kind in self.chain:
            delay += (self.ahead + self.ghosts) * (kind == "rows")
            behind.append(delay)
        around = [self.ghosts * self.chain[i:].count("rows") for i in range(len(self.chain) + 1)]
        return behind, around

    def text(self):
        chain = self.chain
        behind, around = self.delays()
        for name in ("x", "x_inside", "beyond"):
            self.field(name, 1)
        if self.t.varying:
            self.field("m", len(self.t.varying), behind[-1] + self.ghosts + 2)
        names = [f"q{i}" for i in range(len(chain) + 1)]
        self.make_state_fields(names)
        body = [*self.load_parameters(), "if low_0 <= N < high_0:", *indented(self.load())]
        for i, kind in enumerate(chain):
            after = chain[i + 1:].count("x") * self.ghosts
            columns = f"{self.halo - after}", f"{self.halo + after} + cells"
            step = {"x": self.sweep_x, "rows": self.sweep_rows, "source": self.source}[kind]
            body += [f"# {kind}", *step(i, behind, columns)]
        last = self.fields[names[-1]]
        body += [f"row = N - {behind[-1]}", "if first <= row < end:", f"    at = {last.slot('row')}",
                 *indented(self.checked(last) + (self.store(last) if chain else []))]
        return self.module(self.marched(behind, around, body))

    def marched(self, behind, around, body):
        """Lines that do the body for each row N that a piece needs."""
        bounds = []
        for i, extra in enumerate(around):
            clip = self.open_rows or self.rows is None
            low, high = f"first - {extra}", f"end + {extra}"
            bounds.append(f"low_{i}, high_{i} = " + (f"max(0, {low}), min(count, {high})" if clip else f"{low}, {high}"))
        beyond = indented(self.load_parameters()) if self.open_rows else []
        begin = [*bounds, *([f"for N in range(low_0 - {self.ghosts}, low_0):", *beyond] if beyond else []),
                 f"for i in range({2 * self.width}):", f"    w[{self.fields['check'].first} + i] = 0", *self.load_places()]
        end = ["rate = unsound = zero", f"for i in range({self.halo}, {self.halo} + cells):",
               f"    value = w[{self.fields['check'].place(0)} + i]",
               "    rate = value if (value >= rate) | (value != value) else rate",
               f"    unsound = max(unsound, w[{self.fields['check'].place(1)} + i])",
               "found[piece, 0], found[piece, 1] = rate, unsound"]
        return [*begin, f"for N in range(low_0, end + {behind[-1]}):", *indented(body), *end]

    def make_state_fields(self, names):
        """The rows of the state before each member of the chain and behind the last, and all fields between."""
        for i, kind in enumerate((*self.chain, None)):
            depth = 1
            if kind == "rows":
                stencils = self.stencils(self.rows)
                depth = self.ahead + self.depths(stencils).get("q", 1)
            self.field(names[i], self.V, depth)
        self.make_stencil_fields()
        self.field("check", 2)

    def make_stencil_fields(self):
        """The rows that stencils of the sweeps write and read."""
        for i, kind in enumerate(self.chain):
            stencils = [] if kind == "source" else self.stencils(0 if kind == "x" else self.rows)
            depths = self.depths(stencils)
            for stencil in stencils[:-1]:
                for name, count in stencil.writes.items():
                    if kind == "rows":
                        self.field(f"rows{i}_{name}", count, depths[name])
                    elif f"x_{name}" not in self.fields:          # all sweeps along x use the same row
                        self.field(f"x_{name}", count)

    base = "q"               # the field to which sweeps add their fluxes

    def stencils(self, axis):
        """The stencils of a sweep, which end with the new state."""
        if axis not in self.sweeps:
            *others, flux, update = map(numbered, (*self.t.sweeps[axis], self.t.update(self.base)))
            self.sweeps[axis] = [*others, *parted(flux, "cell"), update]
        return self.sweeps[axis]

    def states(self, i):
        """The fields that member i of the chain reads and writes."""
        return self.fields[f"q{i}"], self.fields[f"q{i + 1}"]

    def lags(self, stencils):
        """{field: rows by which its last row is behind the last one of q}, for a sweep along the rows."""
        lag = {"q": 0}
        for stencil in stencils:
            # Parameters come with q; a flux that is zero reads nothing.
            behind = max((lag.get(field, 0) + shift for field, shift in stencil.needed.values()), default=0)
            lag |= dict.fromkeys(stencil.writes, behind)
        return lag

    def depths(self, stencils):
        """{field: rows that are kept of it}."""
        lag, depth = self.lags(stencils), {}
        for stencil in stencils:
            own = lag[next(iter(stencil.writes))]
            for field, shift in stencil.needed.values():
                if field in lag:
                    depth[field] = max(depth.get(field, 1), own - shift - lag[field] + 1)
        return depth

    # Members of the chain.

    def sweep_x(self, i, behind, columns):
        """Lines of a sweep along x: of one row, all cells at once."""
        stencils, (before, after) = self.stencils(0), self.states(i)
        needed = ranges(stencils, {"out": (0, 0)})
        body = [f"at, to = {before.slot('row')}, {after.slot('row')}", *self.columns_beyond(i, before)]
        for stencil in stencils:
            low, high = of_stencil(stencil, needed)

            def read(argument, number, stencil=stencil):
                if argument in ("t", "k"):
                    return "given", {"t": f"t{i}", "k": "k_x"}[argument]
                name, shift = stencil.reads[argument]
                if name in ("q", "r"):
                    return "load", *((before.place(number, shift), "at + i") if name == "q" else (after.place(number), "i"))
                if name == "m":
                    return self.parameter(number, "row", shift)
                if name == "x":
                    return self.position(number, "row")
                return "load", self.fields[f"x_{name}"].place(number, shift), "i"
            places = [(after.place(v), "to + i") if name == "out" else (self.fields[f"x_{name}"].place(v), "i")
                      for name, count in stencil.writes.items() for v in range(count)]
            call = self.call(stencil.function, read, places)
            body += self.over_columns(f"{columns[0]} + {low}", f"{columns[1]} + {high}", call)
        return [f"row = N - {behind[i + 1]}", f"if low_{i + 1} <= row < high_{i + 1}:", *indented(body)]

    def sweep_rows(self, i, behind, columns):
        """Lines of a sweep along the rows: each stencil does the last row that it can."""
        stencils, (before, after) = self.stencils(self.rows), self.states(i)
        needed, lag = ranges(stencils, {"out": (0, 0)}), self.lags(stencils)
        body = [f"last = N - {behind[i]}", *self.rows_beyond(i, before, columns)]
        for stencil in stencils:
            low, high = of_stencil(stencil, needed)
            behind_last, slots, work = lag[next(iter(stencil.writes))] + self.ahead, {}, []

            def slot(field, shift, slots=slots):
                return slots.setdefault((field, shift), f"o{len(slots)}")

            def read(argument, number, stencil=stencil, slot=slot):
                if argument in ("t", "k"):
                    return "given", {"t": f"t{i}", "k": "k_rows"}[argument]
                name, shift = stencil.reads[argument]
                if name == "m":
                    return self.parameter(number, f"(row + {shift})")
                if name == "x":
                    return self.position(number, "row")
                if name == "r":
                    return "load", after.place(number), "i"
                field = before if name == "q" else self.fields[f"rows{i}_{name}"]
                return "load", field.place(number), f"{slot(field, shift)} + i"
            places = []
            for name, count in stencil.writes.items():
                field = after if name == "out" else self.fields[f"rows{i}_{name}"]
                places += [(field.place(v), f"{slot(field, 0)} + i") for v in range(count)]
            call = self.call(stencil.function, read, places)
            work = [f"{text} = {field.slot(f'row + {shift}')}" for (field, shift), text in slots.items()]
            body += [f"row = last - {behind_last}", f"if low_{i + 1} + {low} <= row < high_{i + 1} + {high}:",
                     *indented(work + self.over_columns(*columns, call))]
        return body

    def source(self, i, behind, columns):
        """Lines of the sources alone."""
        before, after = self.states(i)

        def read(argument, number):
            if argument == "q":
                return "load", before.place(number), "at + i"
            if argument == "m":
                return self.parameter(number, "row")
            if argument == "x":
                return self.position(number, "row", inside=True)
            return "given", {"t": f"t{i}", "dt": "dt_source"}[argument]
        call = self.call(self.physics.source_step.function, read, [(after.place(v), "to + i") for v in range(self.V)])
        return [f"row = N - {behind[i + 1]}", f"if low_{i + 1} <= row < high_{i + 1}:",
                f"    at, to = {before.slot('row')}, {after.slot('row')}",
                *indented(self.over_columns(0, f"{2 * self.halo} + cells", call))]

    # The check of a new row.

    def checked(self, field):
        """Lines that take the wave rates of a new row into account, and whether its states are sound."""
        found = self.fields["check"]

        def read(argument, number):
            if argument == "q":
                return "load", field.place(number), "at + i"
            if argument == "m":
                return self.parameter(number, "row")
            if argument == "x":
                return self.position(number, "row")
            return ("given", "t_look") if argument == "t" else ("load", found.place(["rate", "unsound"].index(argument)), "i")
        lines = []
        for flag, function, component in (("look_rate", self.largest_rate, 0), ("look_sound", self.any_unsound, 1)):
            call = self.call(function, read, [(found.place(component), "i")])
            lines += [f"if {flag}:", *indented(self.over_columns(self.halo, f"{self.halo} + cells", call))]
        return lines

    @property
    def largest_rate(self):
        """max(rate, wave rate of q)."""
        def largest(q, x, t, m, grid, rate):
            return np.maximum(rate, self.t.rate.function(q, x, t, m, grid))
        return Pointwise(largest, self.physics.state | {"grid": self.physics.grid, "rate": None}, "wave rate")

    @property
    def any_unsound(self):
        """1 where q is not sound, else what there was."""
        def unsound(q, x, t, m, unsound):
            return np.where(self.physics.sound.function(q, x, t, m), unsound, 1.0)
        return Pointwise(unsound, self.physics.state | {"unsound": None}, "whether a state is sound")

    def module(self, work):
        functions = []
        for name, (text, function) in sorted(self.functions.items()):
            formulas = formulas_of(function, self.t.law) if isinstance(function, Pointwise) else []
            functions += [*(f"# {line}" for line in formulas), f"{name} = expressions.function({text})"]
        law, chain = type(self.t.law).__name__, ", ".join(self.chain)
        return f'''"""Generated by dgarray {KERNELS}: {chain} of finite volumes for {law}."""
import numpy as np
from numba import njit
from numpy import inf, nan

from dgarray.backends.cpu.loop_arguments import unpacked
from dgarray.backends.cpu.simd import boundary, expressions, target, vector

assert target.lanes(np.{self.dtype}) == {self.L}
copy, prefetch, condition = vector.copy(np.{self.dtype}), vector.prefetch, boundary.condition(np.{self.dtype})
real = np.{self.dtype}
half, zero = real(0.5), real(0)
{chr(10).join(functions)}


@njit(nogil=True, cache=True, error_model="numpy", _nrt=False){loop_text(', '.join(ARGUMENTS), [
    "first, end, x0, cells, slab, slab_row = pieces[piece]", "slab_place = slab_places[piece]",
    f"{', '.join(NUMBERS)} = {', '.join(f'numbers[{i}]' for i in range(len(NUMBERS)))}", *work])}'''


# w: working memory of a thread;  pieces (piece, 6): first row, row after the last, first cell and number of cells of the strip,
# where row 0 lies in memory and in the parameters;  slab_places: the coordinate along the third axis;  found (piece, 2):
# largest wave rate, and 1 where a state is not sound;  numbers: those of NUMBERS;  count, columns: rows, and cells of a row,
# in all;  row_shift: what is added to a row's number for its place in memory, wrap: rows there, fewer than all in a part of a
# grid;  lower, h: coordinates;  parameters with `margin` cells around;  sides: the table of `side_source.Sides`;
# with_register: whether the stepper has one
ARGUMENTS = ("w", "pieces", "slab_places", "found", "numbers", "state", "out", "tendency", "start", "register", "parameters",
             "sides", "count", "columns", "row_shift", "wrap", "row_stride", "variable_stride", "m_row_stride", "margin",
             "lower_x", "h_x", "lower_rows", "h_rows", "with_register")
# Numbers of a step.  k: dt/h;  t0, t1, t2: times of the members of the chain;  look_rate, look_sound: whether
# rates are found, and states that are not sound;  A to C: the row of the stepper's table
NUMBERS = ("k_x", "k_rows", "t0", "t1", "t2", "dt_source", "t_look", "look_rate", "look_sound", "A", "v_", "u_", "w_", "alpha",
           "beta", "B", "C")
