"""All that finite volumes need on one grid: sizes, stencils of the sweeps, ghost layers, the law's parameters in the cells."""
from functools import cached_property

import numpy as np

from ...physics.derivative import derivative
from ...physics.fluxes import positive, upwind
from ...physics.pointwise import Pointwise
from ..problem import parameters_at
from .ghosts import sides_of
from .physics import GridPhysics
from .schemes import SCHEMES, FirstOrder
from .stencils import read_later

PIECE = 1 << 16          # cells in which sources are differentiated at once


class GridTables:
    """A `Problem` discretised by a `FiniteVolume` method.

    variables, rows, elements   number of variables, 1, number of cells
    shape        of a state, (variable, z, y, x);  ghosts: layers beyond the ends of an axis
    scheme       of `schemes.SCHEMES`;  split: whether a step sweeps axis by axis
    physics      `GridPhysics`;  sides: (lower, upper) `ghosts.Side` for each axis
    periodic     whether each axis is;  share: the `dgarray.mesh.grid_part.RowShare` of a part of a grid, else None
    cut, own     the axis along which the grid is cut, None if it is not, and the own rows along the last axis
    sweeps       for each axis the stencils that end with the fluxes, `flux`;  simple: for each axis that of the flux
                 `positive` of the averages, which keeps admissible states so, and speeds: that of its speed
    varying      names of the law's parameters that vary in space;  parameters: {name: (z, y, x)} of these
    damping      fastest rate at which sources damp, 1 / time: that of the law's `damping`, or of all sources near q = 0"""

    def __init__(self, method, problem):
        self.method, self.problem, self.grid, self.law = method, problem, method.space(problem).grid, problem.law
        self.scheme, self.split = SCHEMES[method.scheme], method.splitting == "strang"
        self.dim, self.variables, self.rows, self.ghosts = self.grid.dim, len(self.law.variables), 1, self.scheme.ghosts
        self.shape = (self.variables, *self.grid.shape)
        self.elements = int(np.prod(self.grid.shape))
        self.physics = physics = GridPhysics(self.law, problem.flux or upwind, problem.source, problem.numbers,
                                             self.grid.spacing)
        self.sides = sides_of(self.grid, problem.boundary, physics)
        self.periodic = tuple(low.outside is None for low, _ in self.sides)
        self.share = self.grid.share
        self.cut, self.own = (None, slice(0, self.grid.shape[0])) if self.share is None else (self.dim - 1, self.share.own)
        self.sweeps = [read_later(self.scheme.stencils(physics, axis, method, self.split)) for axis in range(self.dim)]
        self.simple = [physics.face_flux(axis, "q", "q", positive(self.law)) for axis in range(self.dim)]
        self.speeds = [physics.face_speed(axis) for axis in range(self.dim)]
        self.rate = physics.rates(np.maximum if self.split else np.add)
        self.varying = [name for name, number in problem.numbers.items() if number is None]

    @property
    def unit(self):
        """To which the roofline model's counts belong."""
        return f"cell and {'step' if self.split else 'stage'}"

    @property
    def mesh(self):
        """The grid."""
        return self.grid

    @property
    def order(self):
        """Order of the scheme."""
        return self.scheme.order

    @property
    def axes(self):
        """The sweeps of half a step, and then of the other half: x, y, z, and back."""
        forward = tuple(range(self.dim))
        return forward, forward[::-1]

    @property
    def sweep_times(self):
        """For the sweeps of half a step, and of the other half, the time at which conditions at the boundary are taken, in
        steps."""
        share = self.scheme.boundary_time
        return share / 2, (1 + share) / 2

    @property
    def inside(self):
        """The fields whose mean is the state in a cell of which nonconservative products are taken; none: the law has none."""
        return () if self.law.products is None else self.scheme.inside

    def update(self, base):
        """The stencil that ends a sweep: see `GridPhysics.update`."""
        return self.physics.update(base, self.inside)

    def cells(self, axis):
        """The cells along an axis at which something is computed: (first, end)."""
        return (self.own.start, self.own.stop) if axis == self.cut else (0, self.grid.cells[axis])

    def others(self, axis):
        """Number of own cells along the axes beside one, the last axis of the grid last; (1,) in 1D."""
        found = [self.grid.cells[k] if k != self.cut else self.own.stop - self.own.start for k in range(self.dim) if k != axis]
        return tuple(found) or (1,)

    def copies(self, axis, end):
        """Whether the cells beyond an end of an axis are copies of those of another part."""
        return axis == self.cut and (self.share.low, self.share.high)[end] > 0

    def around(self, axis):
        """Numbers of the cells along an axis from which ghost layers are made, (below, above), lowest layer first."""
        (first, end), g = self.cells(axis), self.ghosts
        copies = list(range(first - g, first)), list(range(end, end + g))
        return [copies[side.end] if self.copies(axis, side.end) else side.places(g, end) for side in self.sides[axis]]

    def line(self, axis):
        """Coordinates along an axis of a line of cells with its ghost layers, (cell,)."""
        grid, h, beyond = self.grid, self.grid.spacing[axis], np.arange(self.ghosts) + 0.5
        centres = grid.axes[axis] if axis != self.cut else grid.whole.axes[axis]
        whole = np.concatenate([grid.lower[axis] - h * beyond[::-1], centres, grid.upper[axis] + h * beyond])
        return whole if axis != self.cut else whole[self.share.first:self.share.end + 2 * self.ghosts]

    @cached_property
    def parameters(self):
        given = parameters_at(self.law, self.grid.places())
        return {name: np.broadcast_to(values, self.grid.shape) for name, values in given.items()}

    @cached_property
    def damping(self):
        sources = self.source_rate
        if self.law.damping is None:
            return sources
        damping = Pointwise(self.law.damping, {"m": self.problem.numbers}, "damping")
        return max(sources, float(np.max(damping(m=self.parameters)[0])))

    @property
    def source_rate(self):
        """The largest rate of all sources near q = 0, sum_j |ds_i/dq_j| / C_i of any variable i; 0 where that is not finite."""
        sources = Pointwise(self.physics.tendency, self.physics.state, "source")
        if not self.physics.sources or not sources.depends_on("q"):
            return 0.0
        largest, rows = 0.0, self.grid.shape[0]
        varies = sources.depends_on("x") or any(owner == "m" for owner, _ in sources.used.values())
        step = max(1, PIECE * rows // self.elements)
        for first in range(0, rows if varies else 1, step):
            some = slice(first, first + step)
            given = {f"x{k}": c for k, c in enumerate(self.grid.places(some))} | {"t": 0.0}
            given |= {f"m_{name}": values[some] for name, values in self.parameters.items()}
            given |= {f"q{v}": 0.0 for v in range(self.variables)}
            with np.errstate(all="ignore"):
                columns = [derivative(sources.graph, given, {f"q{v}": 1.0}) for v in range(self.variables)]
                largest = max(largest, *(float(np.max(sum(map(np.abs, row)))) for row in zip(*columns)))
        return largest if np.isfinite(largest) else 0.0

    @property
    def repairs(self):
        """Whether cells whose new state is not sound get fluxes that keep states admissible."""
        return self.method.safe and (self.scheme is not FirstOrder or self.law.admissible is not None)

    @property
    def lends(self):
        """Whether cells without internal energy get some of others."""
        return self.repairs and self.law.internal_energy is not None and "E" in self.law.variables
