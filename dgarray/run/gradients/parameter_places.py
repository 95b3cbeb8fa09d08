"""Where a law's parameter changes for derivatives by it: one number in each element, in each cell of a grid, or everywhere."""
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from ...analysis.sampling import units
from ...mesh.curved.cell_maps import positions
from ...spaces.by_element import ByElement, ElementsAt
from ...spaces.by_node import ByNode

KINDS = "number", "region", "element", "node"          # of derivatives by a parameter


class OfElements:
    """One number in each element of a mesh.

    sim      the simulation;  count: number of places
    kinds    of derivatives that there are, some of `KINDS`;  advice: what to say of others
    numbers  whether there are sources and conditions with numbers of their own
    method   that of the runs"""

    kinds: tuple[str, ...]
    kinds, advice, numbers = KINDS, "", True

    def __init__(self, sim):
        self.sim, self.mesh, self.count = sim, sim.mesh, sim.mesh.cell_count
        self.space, self.method = sim.method.space(sim.problem), sim.method
        self.elements = ElementsAt(self.space)

    def parameter(self, own):
        """A parameter of the law as a function of x that has `values` and can be had `plus` others."""
        value = self.sim.law.parameters[own]
        values = np.zeros(self.count)
        if callable(value):
            return self.function(values, value)
        for region, number in value.items() if isinstance(value, dict) else [(None, value)]:
            values[slice(None) if region is None else self.mesh.regions[region]] = number
        return self.function(values)

    def function(self, values, beside=0.0):
        """The same with these values, plus another function or number."""
        return ByElement(self.elements, values, beside)

    def at_nodes(self, name, given):
        """The same as polynomials through numbers at the nodes of each element. Raises ValueError where elements have other
        nodes than others; name: for messages."""
        if len(self.space.spaces) > 1:
            raise ValueError(f"wrt={{{name!r}: 'node'}} is not allowed: elements have several shapes or orders; take 'element'")
        return ByNode(self.elements, np.repeat(given.values[:, None], len(self.space.cell.nodes), axis=1), given.beside)

    def of_part(self, part, count):
        """The places of the points of a `dgarray.spaces.parts.Part` of a space with so many places."""
        return np.rint(np.broadcast_to(part.spread(np.arange(count, dtype=float)), part.shape)).astype(int)

    def labelled(self, values, name, attrs):
        """Numbers of the places as an array of xarray."""
        if np.ndim(values) > 1:
            x = np.array(positions(self.mesh, self.space.cell.nodes)).transpose(0, 2, 1)
            at = {axis: (("element", "node"), each) for axis, each in zip("xyz", x)}
            return xr.DataArray(values, at | {"cell_number": ("element", self.mesh.numbers)}, ("element", "node"), name, attrs)
        at = {axis: ("element", x) for axis, x in zip("xyz", self.mesh.centroids.T)}
        return xr.DataArray(values, at | {"cell_number": ("element", self.mesh.numbers)}, "element", name, attrs)


class OfCells(OfElements):
    """One number in each cell of a grid."""

    kinds = "number", "element"

    def labelled(self, values, name, attrs):
        axes = self.space.coordinates(partial(units, self.sim.law))
        return xr.DataArray(values.reshape(self.space.grid.shape), axes, self.space.dims, name, attrs)


class Everywhere:
    """One number everywhere, for laws whose coefficients are power series about the nodes of a grid."""

    kinds, count, numbers = ("number",), 1, False
    advice = ("; a law's coefficients are power series about the nodes here, and a medium that jumps from cell to cell has "
              "none: FiniteVolume has derivatives by each cell")

    def __init__(self, sim):
        self.sim, self.method = sim, sim.method
        if sim.method.variant == "collapsed":          # of numbers alone; all variants agree to rounding
            self.method = replace(sim.method, variant=None)

    def parameter(self, own):
        value = self.sim.law.parameters[own]
        return Shifted(*(np.zeros(1), value) if callable(value) else (np.full(1, value), 0.0))

    def of_part(self, part, count):
        return np.zeros(part.shape, int)


class Shifted:
    """A function of x that is a number, plus another function.

    values   (1,);  beside: function of x, or 0"""

    def __init__(self, values, beside):
        self.values, self.beside = np.asarray(values, float), beside

    def __repr__(self):
        number, name = float(self.values[0]), getattr(self.beside, "__name__", self.beside)
        return f"<{name} + {number!r}>" if callable(self.beside) else repr(number + self.beside)

    def __call__(self, x):
        return float(self.values[0]) + (self.beside(x) if callable(self.beside) else self.beside)

    def plus(self, values):
        return Shifted(self.values + values, self.beside)
