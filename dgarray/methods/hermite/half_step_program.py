"""Hermite's half-step as array expressions, of which programs are made: see `dgarray.program.arrays`.

A node holds c[variable, j_z, j_y, j_x] = h^|j| D^j q / j!, j from 0 to N in each direction; a half-step interpolates to the
centres between nodes, where a polynomial of degree 2N + 1 in each direction results, and evolves it there by a Taylor series.
Goodrich, Hagstrom & Lorenz 2006; Vargas, Chan, Hagstrom & Warburton 2016, algorithms 1 to 4.
"""
from functools import reduce
from math import prod
from operator import add, mul

import numpy as np

from ...physics.pointwise import Pointwise
from ...program.arrays import Trace, apply, by_components, gather, product, put, recursion, stack
from ...program.operations import Domain

PLACES, AXES, SIDES = ("centres of cells", "nodes"), "xyz", ("left", "right")


class HalfStep:
    """The recipe of a half-step, on tables `dgarray.methods.hermite.node_tables.HermiteTables`.

    half     0 to the dual grid, 1 back
    rows     slice of the target nodes along the last axis
    by       names of the law's parameters, functions of x, by which there are derivatives: all coefficients that depend on them
             are series;  slopes: {name of a constant: {parameter: derivatives of its values}}
    A state is an array (variable, coefficient, node), the coefficients with j_x fastest. One on the dual grid lies in an array
    of the grid's shape, too, from index 0 along each axis."""

    def __init__(self, trace, tables, half, rows=slice(None), by=()):
        self.trace, self.tables, self.half, self.dim = trace, tables, half, tables.dim
        self.by, self.slopes = by, {}
        self.neighbours = [axis.part(rows if k == tables.dim - 1 else slice(None))
                           for k, axis in enumerate(tables.neighbours[half])]
        self.rows, self.lengths = rows, [len(axis.low) for axis in self.neighbours][::-1]
        self.targets = Domain(PLACES[half], prod(self.lengths))
        self.source = Domain(PLACES[1 - half], tables.elements)
        self.q = trace.input("q", (tables.variables, tables.rows, tables.elements), self.source)

    def places(self, name, shape, held):
        """An index list, numbers (*shape, target)."""
        return self.trace.constant(name, (*shape, self.targets.count), self.targets,
                                   lambda: held().reshape(*shape, -1).astype(np.int32), "integer")

    def interpolant(self):
        """R, the Hermite interpolants of the source nodes around each target, dimension by dimension, as coefficients about the
        target: (variable, z, y, x, target), 2N + 2 along each axis."""
        matrices = [self.trace.constant(name, matrix.shape, None, lambda matrix=matrix: matrix)
                    for name, matrix in zip(SIDES, self.tables.interpolation)]
        return self.by_axes(lambda axis: matrices, "R")

    def collapsed(self):
        """Interpolant and its evolution at once: one matrix for each neighbour along each axis, which depends on tau, for each
        variable."""
        n, names = self.tables.order + 1, self.tables.law.variables
        return self.by_axes(lambda axis: [[self.trace.input(map_name(name, axis, side), (n, n), None) for name in names]
                                          for side in SIDES], "w")

    def by_axes(self, matrices, term):
        """Along each axis in turn, apply one matrix to the coefficients of the low neighbour, another to those of the high one,
        and add.

        matrices: function of the axis that returns the two matrices (new coefficient, N + 1), or lists of one for each variable
        Arrays are (variable, j_z, j_y, j_x, .. side along z, along y, target): sides as long as both are there."""
        d, n, variables = self.dim, self.tables.order + 1, self.tables.variables
        q = self.q.reshape(variables, self.tables.rows, 1)
        ends = [gather(q, self.places(f"{side} corners", (2,) * (d - 1), lambda number=number: self.corners(number)))
                for number, side in enumerate(SIDES)]
        for axis in range(d):
            ends = [self.mirrored(end, (n ** (d - 1 - axis), n, -1), side, axis) for side, end in enumerate(ends)]
            c = applied(matrices(axis), ends, term if axis == d - 1 else f"{term} along {AXES[:axis + 1]}")
            left = d - 1 - axis          # axes along which there are both sides
            c = c.reshape(variables, *(n,) * left, *(c.lead[2],) * (axis + 1), *(2,) * left)
            ends = [c[(slice(None),) * (len(c.lead) - 1) + (side,)] for side in (0, 1) if left]
        return c

    def corners(self, side):
        """Numbers of the source nodes on one side along x, (side along z, along y, then z, y, x of the target)."""
        d, number = self.dim, 0
        for axis in reversed(range(d)):
            ends, shape = np.stack([self.neighbours[axis].low, self.neighbours[axis].high]), [1] * (2 * d)
            ends = ends if axis else ends[side:side + 1]
            shape[d - 1 - axis], shape[2 * d - 1 - axis] = ends.shape
            number = number * self.tables.grid.nodes[axis] + ends.reshape(shape)
        return number

    def mirrored(self, end, lead, side, axis):
        """The coefficients of the neighbours on one side along an axis, (variable, *lead, target), lead = (.., j, ..). A node
        behind a wall is a mirror image, one behind a sponge is zero."""
        neighbours = self.neighbours[axis]
        signs = (neighbours.low_signs, neighbours.high_signs)[side]
        if (signs == 1).all():
            return end.reshape(len(end), *lead)
        kinds, which = np.unique(signs.reshape(-1, signs.shape[-1]), axis=1, return_inverse=True)
        shape, lengths = (*signs.shape[:2], kinds.shape[1]), [1] * self.dim
        lengths[self.dim - 1 - axis] = -1
        name = f"{SIDES[side]} signs along {AXES[axis]}"
        table = self.trace.constant(name, shape, Domain("kinds", shape[-1]), lambda: kinds.reshape(shape))
        number = self.places(f"which {name}", (), lambda: np.broadcast_to(which.reshape(lengths), self.lengths))
        factors = gather(table.reshape(*shape[:2], 1), number)
        return apply(by_components(mul, len(end)), f"{SIDES[side]} images", a=tuple(each.reshape(*lead) for each in end),
                     b=tuple(each.reshape(-1, 1) for each in factors))

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
        slopes = [self.tables.system(self.half, parameter) for parameter in self.by]

        def varies(value, changes):
            return np.ndim(value) or any(map(np.any, changes))
        inverse = [(value, [each.inverse[i] for each in slopes]) for i, value in enumerate(system.inverse)]
        over = {i: self.series(f"1 / C of {names[i]}", *both) for i, both in enumerate(inverse) if varies(*both)}
        for k, entries in enumerate((*system.flux, system.source)):
            axis, scale = (self.dim - 1 - k, -1 / self.tables.grid.spacing[k]) if k < self.dim else (None, 1.0)
            by = [(*each.flux, each.source)[k] for each in slopes]
            for i, j in dict.fromkeys(key for each in (entries, *by) for key in each):
                value, changes = entries.get((i, j), 0.0), [each.get((i, j), 0.0) for each in by]
                name = f"{'A_' + AXES[k] if k < self.dim else 'B'}[{names[i]}, {names[j]}]"
                scaled = scale if i in over else scale * system.inverse[i]
                found.append((i, axis, j, scaled, self.series(name, value, changes)) if varies(value, changes)
                             else (i, axis, j, scaled * value, None))
        return found, over

    def series(self, name, value, changes=()):
        """A coefficient's power series about the targets, (z, y, x, target), without coefficients that are zero all over; where
        it does not depend on all coordinates, read through an index list. changes: its derivatives by the parameters `by`."""
        d = self.dim
        every = [each if np.ndim(each) else np.full((1,) * 2 * d, each) for each in (value, *changes)]
        there = np.max([np.argwhere((each != 0).any(axis=tuple(range(d, 2 * d)))).max(axis=0, initial=0) + 1 for each in every],
                       axis=0)
        given = np.broadcast_shapes(*(each.shape[d:] for each in every))
        value, *changes = (self.of_targets(each, there, given) for each in every)
        shape, given = value.shape[:d], value.shape[d:]
        places = Domain("places", prod(given))
        everywhere = list(given) == self.lengths
        slopes = {parameter: each.reshape(*shape, -1) for parameter, each in zip(self.by, changes) if each.any()}
        self.slopes |= {name: slopes} if slopes else {}
        found = self.trace.constant(name, (*shape, places.count), self.targets if everywhere else places,
                                    lambda: value.reshape(*shape, -1))
        if everywhere:
            return found
        along = "".join(AXES[d - 1 - k] for k in reversed(range(d)) if given[k] > 1)
        numbers = self.places(f"place along {along}", (), lambda: np.broadcast_to(
            np.arange(places.count).reshape(given), self.lengths))
        return gather(found.reshape(*shape, 1), numbers)

    def of_targets(self, value, there, given):
        """So many coefficients of a series, zeros behind those that it has, at the own rows of places of this shape."""
        d = self.dim
        value = value[tuple(map(slice, there))]
        if value.shape != (*there, *given):
            value = np.pad(value, [(0, n - m) for n, m in zip(there, value.shape)] + [(0, 0)] * d)
            value = np.broadcast_to(value, (*there, *given))
        return value[(slice(None),) * d + (self.rows,)] if given[0] > 1 else value

    def program(self, w):
        """The finished program of w (variable, z, y, x, target), output "out"."""
        tables = self.tables
        if self.rows != slice(None) or self.targets.count == tables.elements:
            return self.trace.program("half-step", out=w.reshape(tables.variables, tables.rows))
        places = self.places("places", (), lambda: np.arange(tables.elements).reshape(tables.grid.shape)[
            tuple(slice(0, n) for n in self.lengths)])
        size = tables.variables * tables.rows
        out = put(self.trace, (size, 1), Domain("array", tables.elements), [(places, w.reshape(size), "set")], "out")
        return self.trace.program("half-step", out=out.reshape(tables.variables, tables.rows))


def map_name(variable, axis, side):
    return f"{side} map of {variable} along {AXES[axis]}"


def applied(matrices, ends, term):
    """left @ low + right @ high along the axis of coefficients of two arrays (variable, .., j, .., target).

    matrices: (left, right), or two lists of them for each variable"""
    left, right = matrices
    if isinstance(left, list):
        return stack([applied(pair, both, term) for pair, *both in zip(zip(*matrices), *ends)], term=term)
    return product(left, ends[0], -3, term, [(right, ends[1])])


def half_step(tables, half, collapsed=False, rows=slice(None)):
    """The program of a half-step, output "out"; with `rows`, of a part of the targets: only at these."""
    form = HalfStep(Trace(), tables, half, rows)
    return form.program(form.collapsed() if collapsed else form.evolved())


def differentiated(tables, half, by):
    """(The program of a half-step in which all coefficients that depend on these parameters of the law are constants of it,
    {name of a constant: {parameter: derivatives of its values}})."""
    form = HalfStep(Trace(), tables, half, by=by)
    return form.program(form.evolved()), form.slopes


def interpolants(tables, half):
    """The program of the interpolants alone, output "R" (variable, z, y, x, target)."""
    form = HalfStep(Trace(), tables, half)
    return form.trace.program("interpolants", R=form.interpolant())


def sponge(tables, number):
    """The program of a sponge's damping, q times exp(-sigma dt), as a product of series about the nodes in the layer `number`:
    inputs "q" (variable, coefficient, node there) and "exp(-sigma dt)" (N + 1, 1, place across), output "out"."""
    trace, d, n, axis = Trace(), tables.dim, tables.order + 1, tables.layers[number][0]
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


def programs_of(tables, collapsed):
    """{title: program} of both half-steps and of the sponges, for people who want to read them."""
    found = {f"half-step {half + 1}, to the {PLACES[half]}": half_step(tables, half, collapsed) for half in (0, 1)}
    return found | {f"sponge {number + 1}": sponge(tables, number) for number in range(len(tables.layers))}
