"""Text of the kernel of a Runge-Kutta stage of finite volumes: the fluxes along all axes, row by row, and the update."""
from functools import cached_property

from ....physics.pointwise import Pointwise
from ..dg.kernel_source import indented
from .march_source import MarchSource


class StageSource(MarchSource):
    """Text of a stage, or in 3D of one of its two parts.

    chain    "rows", "x": the axes whose fluxes are added to the tendency r of a row
    adds     whether r begins with what the part before has found, else with the sources
    ends     whether the part makes the new state, else r goes to memory"""

    base = "r"

    def __init__(self, tables, dtype, rows, chain, strip, adds, ends):
        self.adds, self.ends = adds, ends
        super().__init__(tables, dtype, rows, chain, strip)

    def states(self, i):
        return self.fields["q0"], self.fields["r"]

    def text(self):
        for name in ("x", "x_inside", "beyond"):
            self.field(name, 1)
        behind = (self.ahead + self.ghosts) * ("rows" in self.chain)
        if self.t.varying:
            self.field("m", len(self.t.varying), behind + self.ghosts + 2)
        across = [self.depths(self.lines(self.rows)).get("q", 1) for kind in self.chain if kind == "rows"]
        depth = self.ahead + max([1, *across])
        self.field("q0", self.V, max(depth, behind + 1))
        self.field("r", self.V)
        for name in ("start", "register", "q1"):
            self.field(name, self.V)
        self.make_line_fields()
        self.field("look", 2)
        delays, around = [0, *(behind,) * len(self.chain)], [self.ghosts * ("rows" in self.chain), *(0,) * len(self.chain)]
        columns = str(self.halo), f"{self.halo} + cells"
        body = [*self.load_parameters(), "if low_0 <= N < high_0:", *indented(self.load())]
        body += [f"row = N - {behind}", "if first <= row < end:", *indented(self.begin(columns))]
        for i, kind in enumerate(self.chain):
            step = {"x": self.sweep_x, "rows": self.sweep_rows}[kind]
            body += [f"# {kind}", *step(i, delays, columns)]
        body += [f"row = N - {behind}", "if first <= row < end:", *indented(self.finish())]
        return self.module(self.marched(delays, around, body))

    def begin(self, columns):
        """Lines that begin the tendency of a row."""
        r, q = self.fields["r"], self.fields["q0"]
        if self.adds:
            return self.from_memory("tendency", r)
        if not self.physics.sources:
            return [f"for i in range({self.V * self.width}):", f"    w[{r.first} + i] = 0"]

        def read(argument, number):
            if argument == "q":
                return "load", q.place(number), f"{q.slot('row')} + i"
            if argument == "m":
                return self.parameter(number, "row")
            return self.position(number, "row") if argument == "x" else ("given", "t0")
        call = self.call(self.physics.sources_line.function, read, [(r.place(v), "i") for v in range(self.V)])
        return self.over_columns(*columns, call)

    def finish(self):
        """Lines that make the new state of a row, or keep its tendency for the next part."""
        if not self.ends:
            return ["at = 0", *self.store(self.fields["r"], "tendency")]
        new, register = self.fields["q1"], self.fields["register"]
        return ["if with_register:", *indented(self.update(True)), "else:", *indented(self.update(False)), "at = 0",
                *self.look(new), *self.store(new), "if with_register:", *indented(self.store(register, "register"))]

    def update(self, register):
        """Lines that make the new state of a row, and the register of the stepper if it has one."""
        names = ["start", "register"] if register else ["start"]
        lines = [line for name in names for line in self.from_memory(name, self.fields[name])]

        def read(argument, number):
            if argument in ("q", "r", "start", "register"):
                field = self.fields["q0" if argument == "q" else argument]
                return "load", field.place(number), f"{field.slot('row')} + i"
            return "given", argument
        targets = [(self.fields[name].place(v), "i") for name in ("q1", *names[1:]) for v in range(self.V)]
        call = self.call(self.stage_with_register if register else self.stage, read, targets)
        return lines + self.over_columns(f"{self.halo}", f"{self.halo} + cells", call)

    @cached_property
    def stage(self):
        """out = alpha q0 + beta q + C r."""
        def stage(q, r, start, alpha, beta, C):
            return tuple(alpha * a + (beta * b + C * c) for a, b, c in zip(start, q, r))
        numbers = dict.fromkeys(("alpha", "beta", "C"))
        return Pointwise(stage, dict.fromkeys(("q", "r", "start"), self.V) | numbers, "stage")

    @cached_property
    def stage_with_register(self):
        """k = A k + v q + w r,  out = alpha q0 + beta q + B k + C r: (out, k)."""
        def stage(q, r, start, register, A, v_, w_, alpha, beta, B, C):
            kept = tuple(A * k + v_ * a + w_ * b for k, a, b in zip(register, q, r))
            new = tuple(alpha * a + (beta * b + C * c) for a, b, c in zip(start, q, r))
            return (*(B * a + b for a, b in zip(kept, new)), *kept)
        numbers = dict.fromkeys(("A", "v_", "w_", "alpha", "beta", "B", "C"))
        return Pointwise(stage, dict.fromkeys(("q", "r", "start", "register"), self.V) | numbers, "stage")

    def from_memory(self, array, field):
        return ["place = slab + (row + row_shift)*row_stride + x0", f"for v in range({self.V}):",
                f"    for c in range(0, cells, {self.L}):",
                f"        copy({array}, place + v*variable_stride + c, w, {field.first + self.halo} + v*{self.width} + c)"]
