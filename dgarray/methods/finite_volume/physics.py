"""A law, a numerical flux and a source as the pointwise functions that a sweep along an axis evaluates."""
from functools import cached_property

import numpy as np

from ...physics.fluxes import positive_speed, wave_speed
from ...physics.pointwise import Pointwise, components
from ...physics.trace import call
from ..physics import Physics
from .stencils import Stencil


class GridPhysics(Physics):
    """The functions of a finite-volume method on a grid.

    spacing: h along each axis; functions take it of the argument `grid`, its fields h0, h1, h2
    The other arguments are those of `dgarray.methods.physics.Physics`.
    specs    {field: spec} of the fields that stencils read and write, see `stencils.Stencil`: q the state, m parameters, x the
             cells' centres, w other variables, low and high the states at both faces of a cell, flux those through faces, F
             and s flux and wave speed of a cell, r the tendency"""

    def __init__(self, law, flux, source, parameters, spacing):
        super().__init__(law, flux, source, parameters)
        self.grid, self.count = {f"h{axis}": float(h) for axis, h in enumerate(spacing)}, len(law.variables)
        self.specs = {"x": law.dim, "m": parameters, "s": 1, "grid": self.grid} | dict.fromkeys(
            ("q", "w", "low", "high", "F", "r", "out"), self.count)
        self.specs["flux"] = self.count + self.product_count

    def stencil(self, name, function, reads, writes, numbers=()):
        """A `Stencil`; reads: {argument: field or (field, shift)}; it may also ask for the numbers t and `numbers`."""
        reads = {argument: read if isinstance(read, tuple) else (read, 0) for argument, read in reads.items()}
        return Stencil(name, function, reads, {field: self.specs[field] for field in writes}, self.specs, numbers)

    def normal(self, axis):
        """The unit vector along an axis."""
        return tuple(float(k == axis) for k in range(self.law.dim))

    def face_flux(self, axis, low, high, numerical=None):
        """The stencil flux = F*(l, r, n), l from the field `high` of the cell below the face, r from `low` of that above.

        numerical: F*; None: that of the simulation"""
        n = self.normal(axis)

        def flux(l, r, x, t, ml, mr, grid):
            face = tuple(a + grid[axis] / 2 if k == axis else a for k, a in enumerate(x))
            return self.with_product_flux(self.star(numerical or self.numerical, l, r, n, face, t, ml, mr), l, r, n)
        return self.stencil("numerical flux", flux, {"l": high, "r": (low, 1), "x": "x", "ml": "m", "mr": ("m", 1)}, ["flux"])

    def face_speed(self, axis):
        """The stencil s: the speed of the flux `positive` at a face, as `face_flux` has its arguments."""
        n = self.normal(axis)

        def speed(l, r, x, t, ml, mr):
            return positive_speed(self.law, l, r, n, x, t, ml, mr)
        return self.stencil("positive speed", speed, {"l": "q", "r": ("q", 1), "x": "x", "ml": "m", "mr": ("m", 1)}, ["s"])

    def update(self, base, inside):
        """The stencil out = base - (k flux - k flux of the face below) / C; k: dt / h for a step, 1 / h for a tendency.

        With nonconservative products A(q) b the difference of b*, behind the fluxes, times A(q) comes to that of the fluxes, q
        the mean of the fields `inside`: the state in the cell. Where a numerical flux carries something along at b* = u*, what
        is the same in all cells stays so, however the flow is pressed together.

        A kernel makes one instruction of a sum with one product, so k (flux - flux below) of the axis that comes last would
        be exact where that of the first one is rounded, and a flow that is turned would be another one."""
        def update(q, above, below, m, k, low=None, high=None):
            change = tuple(k * a - k * b for a, b in zip(above, below))
            state = low if high is None else tuple((a + b) / 2 for a, b in zip(low, high))
            change = self.plus_products(change[:self.count], state, change[self.count:])
            return tuple(a - b for a, b in zip(q, self.over_capacity(change, m)))
        reads = {"q": base, "above": "flux", "below": ("flux", -1), "m": "m"}
        return self.stencil("update", update, reads | dict(zip(("low", "high"), inside)), ["out"], ["k"])

    def tendency(self, q, x, t, m):
        """s(q, x, t) / C, with the sum s of all sources."""
        return self.over_capacity(self.with_sources((0.0,) * self.count, q, x, t, m), m)

    @cached_property
    def source_step(self):
        """The stencil out = q + dt s(q + dt/2 s(q)) / C: the midpoint rule for the sources alone."""
        def step(q, x, t, m, dt):
            half = tuple(a + dt / 2 * b for a, b in zip(q, self.tendency(q, x, t, m)))
            return tuple(a + dt * b for a, b in zip(q, self.tendency(half, x, t + dt / 2, m)))
        return self.stencil("source", step, {"q": "q", "x": "x", "m": "m"}, ["out"], ["dt"])

    @cached_property
    def sources_stencil(self):
        """The stencil that adds s(q, x, t) / C to r."""
        def added(r, q, x, t, m):
            return tuple(a + b for a, b in zip(r, self.tendency(q, x, t, m)))
        return self.stencil("source", added, {"r": "r", "q": "q", "x": "x", "m": "m"}, ["r"])

    def rates(self, joined):
        """The function of (q, x, t, m) that joins s_k / h_k of all axes k, s_k the wave speed along that axis, by `joined`:
        its maximum, or the sum."""
        def rate(q, x, t, m, grid):
            each = [wave_speed(self.law, q, self.normal(axis), x, t, m) / h for axis, h in enumerate(grid)]
            total = each[0]
            for other in each[1:]:
                total = joined(total, other)
            return total
        return Pointwise(rate, self.state | {"grid": self.grid}, "wave speed")

    @cached_property
    def sound(self):
        """The function of (q, x, t, m): whether a state is finite and, if the law says, admissible."""
        def sound(q, x, t, m):
            good = sum(np.abs(a) for a in q) < np.inf
            return good & self.admissible(q, x, t, m)[0] if self.law.admissible else good
        return Pointwise(sound, self.state, "admissibility")

    def heat(self, q, m):
        """The density of the internal energy."""
        return components(call(self.law.internal_energy, dict(q=q, m=m)), 1, "the law's internal_energy")[0]

    @cached_property
    def internal_energy(self):
        """The function of (q, m) that gives the density of the internal energy."""
        return Pointwise(self.heat, {"q": self.count, "m": self.state["m"]}, "internal energy")

    def outside(self, name, condition, axis, side):
        """The function of (q, x, t, m) that gives the state beyond a side of the grid from that of the mirrored cell inside;
        x: centre of the cell beyond.  The normal is an argument whose numbers are known, as parameters of the law are."""
        normal = {f"n{k}": (2.0 * side - 1) * component for k, component in enumerate(self.normal(axis))}

        def outside(q, x, t, m, n):
            state = call(condition, dict(q=q, n=tuple(n), x=x, t=t, m=m, law=self.law), f"boundary {name!r}")
            return self.checked(state, f"boundary {name!r}", condition)
        return Pointwise(outside, self.state | {"n": normal}, f"boundary {name!r}")
