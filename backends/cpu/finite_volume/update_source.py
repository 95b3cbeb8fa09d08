"""Text of the kernel of a Runge-Kutta stage of finite volumes: the fluxes along all axes, row by row, and the update."""
from functools import cache

from ....physics.pointwise import Pointwise
from ....stepping import REGISTER, STATE, updated
from ..dg.kernel_source import indented
from .march_source import MarchSource

# {factor of the update: its name in the text}; those of r = dq/dt have dt in them.
FACTORS = {"A": "A", "v": "v_", "u": "u_", "w": "w_", "alpha": "alpha", "beta": "beta", "B": "B", "C": "C"}


class UpdateSource(MarchSource):
    """Text of a stage, or in 3D of one of its two parts.

    chain    "rows", "x": the axes whose fluxes are added to the tendency r of a row
    adds     whether r begins with what the part before has found, else with zero
    ends     whether the part adds the sources and makes the new state, else r goes to memory"""

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
        across = [self.depths(self.stencils(self.rows)).get("q", 1) for kind in self.chain if kind == "rows"]
        depth = self.ahead + max([1, *across])
        self.field("q0", self.V, max(depth, behind + 1))
        self.field("r", self.V)
        for name in ("start", "register", "q1"):
            self.field(name, self.V)
        self.make_stencil_fields()
        self.field("check", 2)
        delays, around = [0, *(behind,) * len(self.chain)], [self.ghosts * ("rows" in self.chain), *(0,) * len(self.chain)]
        columns = str(self.halo), f"{self.halo} + cells"
        body = [*self.load_parameters(), "if low_0 <= N < high_0:", *indented(self.load())]
        body += [f"row = N - {behind}", "if first <= row < end:", *indented(self.begin())]
        for i, kind in enumerate(self.chain):
            step = {"x": self.sweep_x, "rows": self.sweep_rows}[kind]
            body += [f"# {kind}", *step(i, delays, columns)]
        body += [f"row = N - {behind}", "if first <= row < end:", *indented(self.finish(columns))]
        return self.module(self.marched(delays, around, body))

    def begin(self):
        """Lines that begin the tendency of a row."""
        r = self.fields["r"]
        if self.adds:
            return self.from_memory("tendency", r)
        return [f"for i in range({self.V * self.width}):", f"    w[{r.first} + i] = 0"]

    def sources(self, columns):
        """Lines that add the sources to the tendency of a row."""
        r, q = self.fields["r"], self.fields["q0"]

        def read(argument, number):
            if argument in ("q", "r"):
                return "load", *((q.place(number), f"{q.slot('row')} + i") if argument == "q" else (r.place(number), "i"))
            if argument == "m":
                return self.parameter(number, "row")
            return self.position(number, "row") if argument == "x" else ("given", "t0")
        call = self.call(self.physics.sources_stencil.function, read, [(r.place(v), "i") for v in range(self.V)])
        return self.over_columns(*columns, call)

    def finish(self, columns):
        """Lines that make the new state of a row, or keep its tendency for the next part."""
        if not self.ends:
            return ["at = 0", *self.store(self.fields["r"], "tendency")]
        new, register = self.fields["q1"], self.fields["register"]
        return [*(self.sources(columns) if self.physics.sources else []), "if with_register:", *indented(self.update(True)),
                "else:", *indented(self.update(False)), "at = 0", *self.checked(new), *self.store(new),
                "if with_register:", *indented(self.store(register, "register"))]

    def update(self, with_k):
        """Lines that make the new state of a row, and the register of the stepper if it has one."""
        fields = {"r": "r", "q": "q0", "q0": "start", "k": "register"}
        lines = [line for name in ("start", *["register"] * with_k) for line in self.from_memory(name, self.fields[name])]

        def read(argument, number):
            if argument == "s":
                return "given", FACTORS[number]
            field = self.fields[fields[argument]]
            return "load", field.place(number), f"{field.slot('row')} + i"
        targets = [(self.fields[name].place(v), "i") for name in ("q1", *["register"] * with_k) for v in range(self.V)]
        factors = tuple(FACTORS) if with_k else ("alpha", "beta", "C")
        return lines + self.over_columns(f"{self.halo}", f"{self.halo} + cells",
                                         self.call(update(factors, self.V), read, targets))

    def from_memory(self, array, field):
        return ["place = slab + (row + row_shift)*row_stride + x0", f"for v in range({self.V}):",
                f"    for c in range(0, cells, {self.L}):",
                f"        copy({array}, place + v*variable_stride + c, w, {field.first + self.halo} + v*{self.width} + c)"]


@cache
def update(factors, count):
    """`dgarray.stepping.updated` of so many numbers with these factors alone, traced: (the new states, the new registers).

    Its inputs are s, the factors, and, as far as these need them, r, q, k and q0."""
    arrays = {name: count for factor, name in (*REGISTER, *STATE) if factor in factors}

    def stage(s, r, q, k=(None,) * count, q0=(None,) * count):
        found = [updated(s, *each) for each in zip(r, q, k, q0)]
        return [state for _, state in found], [register for register, _ in found if register is not None]
    return Pointwise(stage, {"s": dict.fromkeys(factors), **arrays}, "stage")
