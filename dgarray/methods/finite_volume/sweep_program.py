"""The programs of finite volumes: a sweep along an axis, the parts of a stage, and what is computed in each cell alone.

They see a grid as pencils of cells along an axis: arrays are (component, cell, .., pencil), with ghost layers at both ends of
the cells where a scheme reads them. Entry i of a field of faces lies between the cells i and i + 1."""
from functools import cached_property

import numpy as np

from ...physics.pointwise import Pointwise
from ...program.arrays import Domain, Trace, apply, join
from ..stage_update import after_stage, arrays_of
from .stencils import of_stencil, ranges

TERMS = {"flux": "F*", "F": "F(q)"}          # fields that programs do not call by their names
WEIGHT = 2               # a sweep needs the results of most of its stencils at once


class Pencils:
    """The recipe of a program on pencils along an axis.

    tables   `GridTables`;  others: shape of the other axes, of which the last one is cut into pieces;  step: what k is
    Inputs are the state "q" with copies of other parts' cells, m.H of a parameter H that varies, and x0, x1, x2, coordinates
    along the other axes."""

    def __init__(self, tables, axis, step="dt / h", others=None):
        self.tables, self.axis, self.step, self.others = tables, axis, step, others or tables.others(axis)
        self.trace = Trace()
        self.pencils = Domain(f"pencils along {'xyz'[axis]}", self.others[-1], WEIGHT)
        self.cells = slice(*tables.cells(axis))
        self.count = self.cells.stop - self.cells.start
        self.numbers = {"t": self.trace.number("t"), "k": self.trace.number(step), "dt": self.trace.number("dt")}
        self.all = self.input("q", tables.variables, cells=tables.grid.cells[axis])
        self.q = self.all[:, self.cells]

    def input(self, name, *lead, cells=None):
        """An array (*lead, cell, .., pencil), of the own cells."""
        return self.trace.input(name, (*lead, cells or self.count, *self.others), self.pencils)

    def state(self, name):
        return self.input(name, self.tables.variables)

    def program(self, name, **outputs):
        return self.trace.program(f"{name} along {'xyz'[self.axis]}", **outputs)

    @cached_property
    def m(self):
        """{name: values} of the varying parameters, with copies of other parts' cells."""
        return {name: self.input(f"m.{name}", cells=self.all.shape[1]) for name in self.tables.varying}

    @cached_property
    def x(self):
        """The coordinates, along the axis (cell, 1, ..) with ghost layers."""
        line = self.tables.line(self.axis)
        shape = len(line), *(1,) * len(self.others)
        along = self.trace.constant(f"x along {'xyz'[self.axis]}", shape, None, lambda: line.reshape(shape))
        return [along if k == self.axis else self.trace.input(f"x{k}", self.others, self.pencils)
                for k in range(self.tables.dim)]

    def part_of_x(self, cells):
        """The coordinates of some cells, counted with ghost layers."""
        return [x[cells] if k == self.axis else x for k, x in enumerate(self.x)]

    @cached_property
    def fields(self):
        """{field: (first cell, components)} of what stencils read, with ghost layers."""
        layers, sides = self.tables.ghosts, self.tables.sides[self.axis]
        low, high = (slice(rows[0], rows[-1] + 1) if (np.diff(rows) == 1).all() else rows
                     for rows in self.tables.around(self.axis))
        beyond = self.beyond(sides[0], low, slice(None, layers)), self.beyond(sides[1], high, slice(-layers, None))
        return {"q": (-layers, join([beyond[0], self.q, beyond[1]], 1, "q with ghosts")), "x": (-layers, self.x),
                "m": (-layers, {name: join([values[low], values[self.cells], values[high]], 0, f"m.{name} with ghosts")
                                for name, values in self.m.items()})}

    def beyond(self, side, rows, ghosts):
        """The state in the ghost layers at a side: that of the cells at the other end, of copies of another part's cells, or
        what the boundary condition makes of the mirrored cells inside."""
        inside = self.all[:, rows]
        if side.outside is None or self.tables.copies(self.axis, side.end):
            return inside
        m = {name: values[rows] for name, values in self.m.items()}
        return self.apply(side.outside, f"q beyond {side.name}", q=inside, x=self.part_of_x(ghosts), m=m)

    def in_cells(self, function, term, **more):
        """A pointwise function of the state in the own cells, and what else it asks for."""
        x = self.part_of_x(slice(self.tables.ghosts, self.tables.ghosts + self.count))
        m = {name: values[self.cells] for name, values in self.m.items()}
        return self.apply(function, term, q=self.q, x=x, m=m, **more)

    def apply(self, function, term, q, **given):
        given |= {"q": q} | self.numbers
        return apply(function, term, at=q, **{name: given[name] for name in function.inputs if name in given})

    def evaluate(self, stencils, wanted, known=None, term=None):
        """The fields that are known after some stencils, {field: (first cell, components)}.

        wanted   {field: (first, end)} of what is asked for;  known: of what is known before, by default `fields`
        term     of what the last stencil makes"""
        needed, known = ranges(stencils, wanted), dict(known or self.fields)

        def part(field, first, end):
            start, values = known[field]
            cells = slice(first - start, end - start)
            if isinstance(values, dict):
                return {name: value[cells] for name, value in values.items()}
            return [value[cells] if len(value.shape) > len(self.others) else value for value in values]
        for stencil in stencils:
            first, end = of_stencil(stencil, needed)
            used = {argument for argument, _ in stencil.needed}
            given = {argument: part(field, first + shift, end + shift)
                     for argument, (field, shift) in stencil.reads.items() if argument in used}
            given |= {name: self.numbers[name] for name in stencil.function.inputs if name in self.numbers}
            name = term if term and stencil is stencils[-1] else ", ".join(TERMS.get(field, field) for field in stencil.writes)
            found = apply(stencil.function, name, at=part("q", first, end), **given)
            for field, count in stencil.writes.items():
                known[field], found = (first, found[:count]), found[count:]
        return known

    def changed(self, base="q", known=None):
        """base - k (F* - F* of the face below) / C, with the fluxes F* of the state q."""
        stencils = [*self.tables.sweeps[self.axis], self.tables.update(base)]
        term = f"{base} - {self.step} (F* - F* below) / C"
        return self.evaluate(stencils, {"out": (0, self.count)}, known, term)["out"][1]

    def tendency(self):
        """r = -sum over the axes up to this one of dF/dx / C, and with that along the last one + s / C."""
        tables = self.tables
        r = self.state("r") if self.axis else [self.trace.constant("0", (1,), None, lambda: np.zeros(1))] * tables.variables
        r = self.changed("r", self.fields | {"r": (0, r)})
        if self.axis == tables.dim - 1 and tables.physics.sources:          # last: the sum of the fluxes along x and y does
            r = self.in_cells(tables.physics.sources_stencil.function, "r + s / C", r=r)          # not depend on their order
        return r


def sweep(tables, axis):
    """The program of a sweep, dq/dt + dF/dx = 0 along an axis for the time dt, output "out"."""
    cells = Pencils(tables, axis)
    return cells.program("a sweep", out=cells.changed())


def tendency(tables, axis):
    """The program of `Pencils.tendency`, output "r", from that along the axes before."""
    cells = Pencils(tables, axis, "1 / h")
    return cells.program("dq/dt", r=cells.tendency())


def stage(tables, row):
    """The program of the end of a kind of Runge-Kutta stage: r along the last axis, then `after_stage`."""
    cells = Pencils(tables, tables.dim - 1, "1 / h")
    given = {"r": cells.tendency(), "q": cells.q} | {name: cells.state(name) for name in arrays_of(row)}
    return cells.program("a stage", **after_stage(cells.trace, row, **given))


def sources(tables):
    """The program of the sources alone for the time dt, output "out"."""
    cells = Pencils(tables, 0)
    return cells.program("sources", out=cells.in_cells(tables.physics.source_step.function, "q + dt s / C"))


def rate(tables):
    """The program of s_k / h_k in each cell, joined over the axes k, output "rate"."""
    cells = Pencils(tables, 0)
    return cells.program("wave rates", rate=cells.in_cells(tables.rate, "s / h")[0])


def sound(tables):
    """The program of whether the state of each cell is finite and admissible, output "sound"."""
    cells = Pencils(tables, 0)
    return cells.program("sound", sound=cells.in_cells(tables.physics.sound, "sound")[0])


def speed(tables, axis):
    """The program of the speed of the flux `positive` at each face, output "s"."""
    cells = Pencils(tables, axis)
    return cells.program("speeds of faces", s=cells.evaluate([tables.speeds[axis]], {"s": (-1, cells.count)})["s"][1])


def repair(tables, axis, pencils, targets):
    """The program that changes fluxes F* to those of the flux `positive` at some faces of some pencils.

    pencils   their number;  targets: how many states, "out 0" and so on, have the fluxes times "dt / h" and so on in them"""
    cells = Pencils(tables, axis, others=(pencils,))
    faces = {"flux": (-1, cells.count)}
    found = cells.evaluate(tables.sweeps[axis], faces | dict.fromkeys(tables.inside, (0, cells.count)))
    low = cells.evaluate([tables.simple[axis]], faces, term="positive F*")["flux"][1]
    chosen = cells.trace.input("faces", (cells.count + 1, pencils), cells.pencils)
    change = Pointwise(lambda a, b, s: tuple(np.where(s > 0, x - y, 0.0) for x, y in zip(a, b)),
                       {"a": len(low), "b": len(low), "s": None}, "change")
    found["flux"] = -1, apply(change, "change of F*", a=low, b=found["flux"][1], s=chosen)
    outputs = {}
    for number in range(targets):
        name, cells.numbers["k"] = f"out {number}", cells.trace.number("dt / h" if number == 0 else f"dt / h of {number}")
        outputs[name] = cells.evaluate([tables.update("out")], {"out": (0, cells.count)},
                                       found | {"out": (0, cells.state(name))})["out"][1]
    return cells.program("repaired fluxes", **outputs)


def of_step(tables, row):
    """{title: program} of what a step does: the sweeps, or all parts of a stage of this kind."""
    if tables.split:
        found = [sweep(tables, axis) for axis in range(tables.dim)] + [sources(tables)] * bool(tables.physics.sources)
    else:
        found = [*(tendency(tables, axis) for axis in range(tables.dim - 1)), stage(tables, row)]
    return {program.name: program for program in found}
