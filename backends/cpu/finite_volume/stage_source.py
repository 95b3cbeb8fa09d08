"""Text of the kernel of a Runge-Kutta stage of finite volumes: the fluxes along all axes, row by row, and the update."""
from ....physics.pointwise import Pointwise
from ..dg.kernel_source import indented
from .march_source import MarchSource


class StageSource(MarchSource):
    """Text of a stage, or in 3D of one of its two parts.

    chain    "rows", "x": the axes whose fluxes are added to the tendency r of a row
    adds     whether r begins with what the part before has found, else with the sources
    ends     whether the part makes the new state, else r goes to memory
    register whether the stepper has one"""

    base = "r"

    def __init__(self, tables, dtype, rows, chain, strip, adds, ends, register):
        self.adds, self.ends, self.register = adds, ends, register
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
        body += [f"row = N - {behind}", "if first <= row < end:", *indented(self.finish(columns))]
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

    def finish(self, columns):
        """Lines that make the new state of a row, or keep its tendency for the next part."""
        if not self.ends:
            return ["at = 0", *self.store(self.fields["r"], "tendency")]
        lines = []
        for name in ("start", "register")[:1 + self.register]:
            lines += self.from_memory(name, self.fields[name])

        def read(argument, number):
            if argument in ("q", "r", "start", "register"):
                field = self.fields["q0" if argument == "q" else argument]
                return "load", field.place(number), f"{field.slot('row')} + i"
            return "given", argument
        targets = [(self.fields["q1"].place(v), "i") for v in range(self.V)]
        targets += [(self.fields["register"].place(v), "i") for v in range(self.V)] * self.register
        lines += [*self.over_columns(*columns, self.call(self.stage, read, targets)), "at = 0",
                  *self.look(self.fields["q1"]), *self.store(self.fields["q1"])]
        return lines + (self.store(self.fields["register"], "register") if self.register else [])

    @property
    def stage(self):
        """k = A k + v q + w r,  out = alpha q0 + beta q + B k + C r: (out, k)."""
        def stage(q, r, start, register, A, v_, w_, alpha, beta, B, C):
            kept = tuple(A * k + v_ * a + w_ * b for k, a, b in zip(register, q, r)) if self.register else ()
            new = tuple(alpha * a + (beta * b + C * c) for a, b, c in zip(start, q, r))
            return (*(tuple(B * a + b for a, b in zip(kept, new)) if self.register else new), *kept)
        numbers = dict.fromkeys(("A", "v_", "w_", "alpha", "beta", "B", "C"))
        return Pointwise(stage, dict.fromkeys(("q", "r", "start", "register"), self.V) | numbers, "stage")

    def from_memory(self, array, field):
        return ["place = slab + row*row_stride + x0", f"for v in range({self.V}):", f"    for c in range(0, cells, {self.L}):",
                f"        copy({array}, place + v*variable_stride + c, w, {field.first + self.halo} + v*{self.width} + c)"]
