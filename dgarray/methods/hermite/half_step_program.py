"""Hermite's half-step as array expressions, of which programs are made: see `dgarray.program.arrays`.

A node holds c[variable, j_z, j_y, j_x] = h^|j| D^j q / j!, j from 0 to N in each direction; a half-step interpolates to the
centres between nodes, where a polynomial of degree 2N + 1 in each direction results, and evolves it there by a Taylor series.
Goodrich, Hagstrom & Lorenz 2006; Vargas, Chan, Hagstrom & Warburton 2016, algorithms 1 to 4.
"""
from functools import cached_property, reduce
from math import prod
from operator import add, mul

import numpy as np

from ...physics.pointwise import Pointwise
from ...program.arrays import Trace, apply, gather, product, put, recursion, stack
from ...program.listing import listing
from ...program.operations import Domain

PLACES, AXES = ("centres of cells", "nodes"), "xyz"


class HalfStep:
    """The recipe of a half-step, on tables `dgarray.methods.hermite.tables.HermiteTables`.

    half     0 to the dual grid, 1 back
    rows     slice of the target nodes along the last axis
    A state is an array (variable, coefficient, node), the coefficients with j_x fastest. One on the dual grid lies in an array of
    the grid's shape, too, from index 0 along each axis."""

    def __init__(self, trace, tables, half, rows=slice(None)):
        self.trace, self.tables, self.half, self.dim = trace, tables, half, tables.dim
        self.neighbours = [axis.part(rows if k == tables.dim - 1 else slice(None))
                           for k, axis in enumerate(tables.neighbours[half])]
        self.rows, self.lengths = rows, [len(axis.low) for axis in self.neighbours][::-1]
        self.targets = Domain(PLACES[half], prod(self.lengths))
        self.source = Domain(PLACES[1 - half], tables.elements)
        self.q = trace.input("q", (tables.variables, tables.rows, tables.elements), self.source)

    def constant(self, name, shape, held, kind="real", domain=None):
        return self.trace.constant(name, shape, domain, held, kind)

    def places(self, name, shape, held):
        """An index list, {shape} numbers for every target."""
        return self.constant(name, (*shape, self.targets.count), lambda: held().reshape(*shape, -1).astype(np.int32), "integer",
                             self.targets)

    def corners(self):
        """The coefficients at the 2^d source nodes around every target, (variable, j_z, side_z, j_y, side_y, j_x, side_x,
        target), fewer axes in fewer dimensions. A node behind a wall is a mirror image, one behind a sponge is zero."""
        d, n, variables = self.dim, self.tables.order + 1, self.tables.variables
        places = self.places("corners", (2 ** d,), self.numbers_of_corners)
        c = gather(self.q.reshape(variables * self.tables.rows, 1), places).reshape(variables, *(n,) * d, *(2,) * d)
        c = c.moved(0, *(k for axis in range(d) for k in (1 + axis, 1 + d + axis)))
        mirrored = [axis for axis in range(d) if self.neighbours[axis].mirrors]
        if not mirrored:
            return c
        signs = {f"s{axis}": self.signs(axis) for axis in mirrored}
        return apply(mirror(variables, tuple(signs)), "mirror images", q=c, **signs).reshape(*c.lead)

    def numbers_of_corners(self):
        """Numbers of the source nodes, (side_z, side_y, side_x, z, y, x of the target)."""
        d, number = self.dim, 0
        for axis in reversed(range(d)):
            ends, shape = np.stack([self.neighbours[axis].low, self.neighbours[axis].high]), [1] * (2 * d)
            shape[d - 1 - axis], shape[2 * d - 1 - axis] = ends.shape
            number = number * self.tables.grid.nodes[axis] + ends.reshape(shape)
        return number

    def signs(self, axis):
        """The factors of the low and the high node along an axis, a tuple of arrays (j, side, .., target) that fit the corners;
        most targets have the same."""
        neighbours = self.neighbours[axis]
        both = np.stack([neighbours.low_signs, neighbours.high_signs], axis=2)
        kinds, which = np.unique(both.reshape(-1, both.shape[-1]), axis=1, return_inverse=True)
        shape, lengths = (*both.shape[:2], 2, kinds.shape[1]), [1] * self.dim
        lengths[self.dim - 1 - axis] = -1
        table = self.constant(f"signs along {AXES[axis]}", shape, lambda: kinds.reshape(shape), domain=Domain("kinds", shape[-1]))
        number = self.places(f"kinds along {AXES[axis]}", (), lambda: np.broadcast_to(which.reshape(lengths), self.lengths))
        found = gather(table.reshape(*shape[:2], 2, 1), number)
        return tuple(each.reshape(*shape[1:3], *(1,) * (2 * axis)) for each in found)

    def interpolant(self):
        """R, the Hermite interpolants of the corners, dimension by dimension, as coefficients about the targets: (variable, z, y,
        x, target), 2N + 2 along each axis."""
        m, c = 2 * self.tables.order + 2, self.corners()
        matrix = self.constant("interpolation", (m, m), lambda: ends(self.tables.interpolation))
        for axis in range(self.dim):
            c = product(matrix, c.reshape(-1, m, m ** axis), -3, "R" if axis == self.dim - 1 else f"along {AXES[:axis + 1]}")
        return c.reshape(self.tables.variables, *(m,) * self.dim)

    def evolved(self):
        """The solution at the targets after the time tau by algorithm 4: w = R + tau / k L w for k = stages, ..., 1."""
        tables, method = self.tables, self.tables.method
        rates, over = self.system() if tables.systems else self.terms()
        return recursion(self.interpolant(), self.trace.number("tau"), tables.stages, tables.order + 1, rates, over,
                         tables.law.variables, method.pruned)

    def terms(self):
        """The law with constant coefficients as the rates of a recursion, in units of the cell."""
        return [*((i, self.dim - 1 - k, j, a, None) for i, k, j, a in self.tables.terms),
                *((i, None, j, b, None) for i, j, b in self.tables.decay)], ()

    def system(self):
        """The law with coefficients that vary, and {variable: series of 1 / C}."""
        system, names, found = self.tables.systems[self.half], self.tables.law.variables, []
        over = {i: self.series(f"1 / C of {names[i]}", value) for i, value in enumerate(system.inverse) if np.ndim(value)}
        for k, entries in enumerate((*system.flux, system.source)):
            axis, scale = (self.dim - 1 - k, -1 / self.tables.grid.spacing[k]) if k < self.dim else (None, 1.0)
            for (i, j), value in entries.items():
                name = f"{'A_' + AXES[k] if k < self.dim else 'B'}[{names[i]}, {names[j]}]"
                scaled = scale if i in over else scale * system.inverse[i]
                found.append((i, axis, j, scaled, self.series(name, value)) if np.ndim(value)
                             else (i, axis, j, scaled * value, None))
        return found, over

    def series(self, name, value):
        """A coefficient's power series about the targets, (z, y, x, target), without coefficients that are zero all over; where
        it does not depend on all coordinates, read through an index list."""
        d = self.dim
        there = np.argwhere((value != 0).any(axis=tuple(range(d, 2 * d)))).max(axis=0) + 1
        value = value[tuple(slice(0, n) for n in there)]
        value = value[(slice(None),) * d + (self.rows,)] if value.shape[d] > 1 else value
        shape, given = value.shape[:d], value.shape[d:]
        places = Domain("places", prod(given))
        if list(given) == self.lengths:
            return self.constant(name, (*shape, self.targets.count), lambda: value.reshape(*shape, -1), domain=self.targets)
        some = self.constant(name, (*shape, places.count), lambda: value.reshape(*shape, -1), domain=places)
        along = "".join(AXES[d - 1 - k] for k in reversed(range(d)) if given[k] > 1)
        numbers = self.places(f"place along {along}", (), lambda: np.broadcast_to(
            np.arange(places.count).reshape(given), self.lengths))
        return gather(some.reshape(*shape, 1), numbers)

    def collapsed(self):
        """Interpolant and its evolution at once: one matrix along each axis, which depends on tau, for each variable."""
        n, found = self.tables.order + 1, []
        for name, c in zip(self.tables.law.variables, self.corners()):
            for axis in range(self.dim):
                map_ = self.trace.input(f"map of {name} along {AXES[axis]}", (n, 2 * n), None)
                c = product(map_, c.reshape(-1, 2 * n, n ** axis), -3, f"{name} along {AXES[:axis + 1]}")
            found.append(c.reshape(*(n,) * self.dim))
        return stack(found, term="variables")


def ends(matrices):
    """Matrices (.., row, coefficient) for the low and the high end of a cell as one, whose columns are (coefficient, side)."""
    both = np.stack(matrices, axis=-1)
    return both.reshape(*both.shape[:-2], -1)


def mirror(variables, signs):
    """q times the signs along some axes, by components."""
    def images(q, s0=None, s1=None, s2=None):
        s = {"s0": s0, "s1": s1, "s2": s2}
        return tuple(reduce(mul, (s[name][v] for name in signs), q[v]) for v in range(variables))
    return Pointwise(images, dict.fromkeys(("q", *signs), variables), "mirror images")


def half_step(tables, half, collapsed=False, rows=slice(None)):
    """The program of a half-step, output "out"; with `rows`, of a part of the targets: only at these."""
    trace = Trace()
    form = HalfStep(trace, tables, half, rows)
    w = form.collapsed() if collapsed else form.evolved()
    if rows != slice(None) or form.targets.count == tables.elements:
        return trace.program("half-step", out=w.reshape(tables.variables, tables.rows))
    places = form.places("places", (), lambda: np.arange(tables.elements).reshape(tables.grid.shape)[
        tuple(slice(0, n) for n in form.lengths)])
    size = tables.variables * tables.rows
    out = put(trace, (size, 1), Domain("array", tables.elements), [(places, w.reshape(size), "set")], "out")
    return trace.program("half-step", out=out.reshape(tables.variables, tables.rows))


def interpolants(tables, half):
    """The program of the interpolants alone, output "R" (variable, z, y, x, target)."""
    form = HalfStep(Trace(), tables, half)
    return form.trace.program("interpolants", R=form.interpolant())


def sponge(tables, number):
    """The program of a sponge's damping, q times exp(-sigma dt), as a product of series about the nodes in the layer `number`:
    inputs "q" (variable, coefficient, node there) and "exp(-sigma dt)" (N + 1, 1, place across), output "out"."""
    trace, d, n, (axis, rates) = Trace(), tables.dim, tables.order + 1, tables.layers[number]
    shape, across = list(tables.grid.shape), tables.near[number]
    shape[d - 1 - axis] = across.stop - across.start
    nodes, places = Domain("nodes in the layer", prod(shape)), Domain("places across", shape[d - 1 - axis])
    q = trace.input("q", (tables.variables, tables.rows, nodes.count), nodes).reshape(tables.variables, *(n,) * d)
    lengths = [-1 if k == d - 1 - axis else 1 for k in range(d)]
    where = trace.constant("places across", (nodes.count,), nodes, lambda: np.broadcast_to(
        np.arange(places.count).reshape(lengths), shape).reshape(-1).astype(np.int32), "integer")
    factors = gather(trace.input("exp(-sigma dt)", (n, 1, places.count), places), where)
    order = (d - axis, *(k for k in range(1 + d) if k != d - axis))
    damped = apply(series_product(n), "damped q", q=q.moved(*order), f=factors)
    back = damped.reshape(*(q.lead[k] for k in order)).moved(*np.argsort(order).tolist())
    return trace.program("sponge", out=back.reshape(tables.variables, tables.rows))


def series_product(count):
    """The product of two series of so many coefficients."""
    return Pointwise(lambda q, f: tuple(reduce(add, (f[i - j] * q[j] for j in range(i + 1))) for i in range(count)),
                     {"q": count, "f": count}, "product of series")


def step_text(tables, collapsed, operations):
    """What one step does, as text: the programs of both half-steps and of the sponges, then `operations`, the text of who
    computes what in which order."""
    programs = [(f"half-step {half + 1}, to the {PLACES[half]}", half_step(tables, half, collapsed)) for half in (0, 1)]
    programs += [(f"sponge {number + 1}", sponge(tables, number)) for number in range(len(tables.layers))]
    return "\n".join(line for name, program in programs for line in (f"the program of {name}", *listing(program), "")) + operations
