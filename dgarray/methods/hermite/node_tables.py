"""Tables of Hermite's method: coefficients of the law, neighbours of every node, mirror images at walls, damping in sponges."""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...physics.boundary import Sponge
from ...physics.laws.law import shown
from ...physics.taylor import exp
from ...physics.trace import call, record
from ...reference import hermite
from ..problem import parameters_at, side_conditions
from .linear import LinearLaw


@dataclass(frozen=True)
class Neighbours:
    """The two source nodes around every target node along one axis.

    low, high               (target,) numbers of the source nodes below and above
    low_signs, high_signs   (variable, N + 1, target) factors of their coefficients: 1, except at a wall, where one source node
                            is the mirror image of the other, and at a sponge's outer side, where it is 0"""

    low: np.ndarray
    high: np.ndarray
    low_signs: np.ndarray
    high_signs: np.ndarray

    def part(self, some):
        """The neighbours of some targets, a slice."""
        return Neighbours(self.low[some], self.high[some], self.low_signs[..., some], self.high_signs[..., some])


class HermiteTables:
    """A linear law on a grid, for Hermite's method with derivatives 0 to `order` in each direction.

    neighbours   neighbours[half][axis] are the `Neighbours` of a half-step: half 0 goes from the grid's nodes to those of the
                 dual grid (the cells' centres), half 1 back
    targets      targets[half]: number of target nodes along x, y, z
    terms, decay (i, k, j, a) and (i, j, b) of dq_i/dt = sum a D_k q_j + sum b q_j for a law with constant coefficients, D_k the
                 derivative in units of the cell, so that a = -A_k[i, j] / C_i / h_k;  None where coefficients vary
    systems      the `LinearSystem` about the target nodes of each half, where coefficients vary;  else None
    speeds       largest wave speed along each axis;  source_rate: largest rate of the law's own source, 1 / time
    layers       [(axis, rates (N + 1, node))] of the sponges: series of the damping rate about the nodes, 1 / time
    Raises ValueError where law, grid and boundary do not fit."""

    unit = "node and half-step"          # to which the roofline model's counts belong

    def __init__(self, method, grid, law, boundary):
        self.method, self.law, self.grid, self.mesh = method, law, grid, grid
        self.dim, self.order, self.variables = grid.dim, method.order, len(law.variables)
        self.rows, self.elements = (self.order + 1) ** self.dim, int(np.prod(grid.nodes))
        self.stages = method.stages or self.dim * (2 * self.order + 1)
        self.linear = LinearLaw(law)
        conditions = side_conditions(grid, boundary)
        signs = {name: self.signs(name, condition) for name, condition in conditions.items()}
        sides = [[None, None] for _ in range(self.dim)]
        for name, (axis, side) in grid.boundaries.items():
            sides[axis][side] = signs[name]
        self.targets = grid.cells, grid.nodes
        self.neighbours = tuple(tuple(self.along(half, axis, *sides[axis]) for axis in range(self.dim)) for half in (0, 1))
        self.sponges = {name: condition for name, condition in conditions.items() if isinstance(condition, Sponge)}
        self.terms = self.decay = None
        if not self.linear.varies:
            system = self.linear.system((0.0,) * self.dim, grid.spacing, 0)
            terms, self.decay = system.terms()
            self.terms = tuple((i, k, j, a / grid.spacing[k]) for i, k, j, a in terms)

    def build(self):
        """Compute all arrays that grow with the grid, which are otherwise computed on first use; returns the tables."""
        for name in ("parameters", "speeds", "source_rate", "systems"):
            getattr(self, name)
        return self

    @cached_property
    def parameters(self):
        return parameters_at(self.law, self.grid.places())

    @cached_property
    def speeds(self):
        return self.linear.speeds(self.grid.places())

    @cached_property
    def speeds_in_layers(self):
        """The speeds for which sponges are made."""
        return self.speeds if self.law.of_layers is None else LinearLaw(self.law.of_layers).speeds(self.grid.places())

    @cached_property
    def source_rate(self):
        return self.linear.source_rate(self.grid.places())

    @cached_property
    def systems(self):
        if not self.linear.varies:
            return None
        return tuple(map(self.system, (0, 1)))

    def system(self, half, by=None):
        """The `LinearSystem` about the target nodes of a half-step, or of its derivatives by a parameter."""
        return self.linear.system(self.places(half), self.grid.spacing, 2 * self.order + 1, by)

    @cached_property
    def layers(self):
        return [self.layer(*self.grid.boundaries[name], sponge) for name, sponge in self.sponges.items()]

    @cached_property
    def near(self):
        """For each of the `layers`, the slice of nodes along its axis in it; empty where this part of the grid has none."""
        inside = [np.flatnonzero(rates.any(axis=0)) for _, rates in self.layers]
        return [slice(int(nodes[0]), int(nodes[-1]) + 1) if len(nodes) else slice(0, 0) for nodes in inside]

    def places(self, half):
        """Coordinates x, y, z of the target nodes of a half-step, arrays that broadcast to (z, y, x)."""
        axes = [axis[:n] + (0 if half else h / 2) for axis, n, h in zip(self.grid.axes, self.targets[half], self.grid.spacing)]
        return tuple(np.meshgrid(*axes[::-1], indexing="ij", sparse=True))[::-1]

    @cached_property
    def interpolation(self):
        """The matrices (left, right) of the interpolant, each (2N + 2, N + 1): see
        `dgarray.reference.hermite.interpolation`."""
        return hermite.interpolation(self.order)

    @property
    def collapsible(self):
        """Whether a half-step is a product of one matrix along each axis, see `Hermite.collapsible`."""
        return self.method.collapsible(self.linear)

    def collapsed(self, tau):
        """The matrices (left, right) along each axis of a half-step of length tau, each (variable, axis, N + 1, N + 1).

        They interpolate and evolve at once: see `dgarray.reference.hermite.evolved`."""
        shift = np.zeros((self.variables, self.dim))
        for i, k, _, a in self.terms:
            shift[i, k] += tau * a
        pairs = [[hermite.evolved(self.order, s) for s in row] for row in shift]
        return tuple(np.array([[pair[side] for pair in row] for row in pairs]) for side in (0, 1))

    def along(self, half, axis, low_sign, high_sign):
        """The `Neighbours` along an axis in a half-step.

        low_sign, high_sign: (variable, N + 1) factors at the lower and the upper side, see `signs`; None on a periodic axis,
        also of a part of the grid, whose copies at its ends are of no use then"""
        n, ones = self.grid.cells[axis], np.ones((self.variables, self.order + 1, 1))
        if self.grid.periodic[axis]:
            numbers = np.arange(n)
            low, high = (numbers - half) % n, (numbers + 1 - half) % n
            return Neighbours(low, high, np.repeat(ones, n, -1), np.repeat(ones, n, -1))
        if half == 0:
            return Neighbours(np.arange(n), np.arange(1, n + 1), np.repeat(ones, n, -1), np.repeat(ones, n, -1))
        numbers, low_signs, high_signs = np.arange(n + 1), np.repeat(ones, n + 1, -1), np.repeat(ones, n + 1, -1)
        if low_sign is not None:
            low_signs[..., 0], high_signs[..., n] = low_sign, high_sign
        return Neighbours(np.maximum(numbers - 1, 0), np.minimum(numbers, n - 1), low_signs, high_signs)

    def signs(self, name, condition):
        """Factors (variable, N + 1) that turn a node's coefficients into those of its mirror image behind the side `name`:
        S_v (-1)^j for derivative j along the axis, S from `mirror`; 0 behind a sponge."""
        if isinstance(condition, Sponge):
            return np.zeros((self.variables, self.order + 1))
        return mirror(self.linear, self.grid, name, condition)[:, None] * (-1.0) ** np.arange(self.order + 1)

    def layer(self, axis, side, sponge):
        """The damping of a sponge: (axis, rates (N + 1, node)), series about the nodes of sigma = s_0 (depth / width)^3, with
        the depth measured from the layer's inner end.

        s_0 = 2 c log(1 / reflection) / width reduces a wave that goes through the layer and back to the share `reflection`."""
        x, h = self.grid.axes[axis], self.grid.spacing[axis]
        end = (self.grid.lower, self.grid.upper)[side][axis]
        strength = 2 * self.speeds_in_layers[axis] * np.log(1 / sponge.reflection) / sponge.width
        depth = np.maximum(0.0, 1 - np.abs(x - end) / sponge.width)
        slope = (2 * side - 1) * h / sponge.width
        rates = np.zeros((self.order + 1, len(x)))
        for i, binomial in zip(range(self.order + 1), (1, 3, 3, 1)):
            rates[i] = strength * binomial * depth ** (3 - i) * slope ** i * (depth > 0)
        return axis, rates

    def damping(self, dt):
        """The damping over a step by each sponge, [(axis, factors (N + 1, node))]: series of exp(-sigma dt) about the nodes."""
        return [(axis, exp(-dt * rates, 1)) for axis, rates in self.layers]


def mirror(linear, grid, name, condition):
    """Signs S (variable,), +1 or -1, that turn a solution into its mirror image at the side `name`: the image S q solves the
    law too, and together they meet the boundary condition.

    S A_n S = -A_n, S A_t S = A_t for directions t along the wall, and A_n S q = A_n q+ with the condition's exterior state q+;
    A_n, A_t are the law's flux matrices.
    linear: the `LinearLaw`
    Raises ValueError where no signs do so."""
    law, d, v = linear.law, grid.dim, len(linear.law.variables)
    axis, side = grid.boundaries[name]
    m = {key: 1.0 if number is None else number for key, number in linear.numbers.items()}
    given = dict(x=tuple(np.full(d, 0.5)), t=0.0, m=record("m", *m)(**m), law=law)

    def matrix(function, role, n):
        columns = [tuple(call(function, given | dict(q=tuple(q), n=tuple(n)), role)) for q in np.eye(v)]
        return np.array(columns, float).T
    try:
        outside = matrix(condition, f"boundary {name!r}", (2 * side - 1) * np.eye(d)[axis])
    except TypeError as error:
        raise ValueError(f"boundary {name!r}: {error}") from None
    along = [matrix(law.flux, "flux", n) for n in np.eye(d)]
    for S in np.array(np.meshgrid(*[(1.0, -1.0)] * v, indexing="ij")).reshape(v, -1).T:
        turned = [S[:, None] * A * S for A in along]
        right = [np.allclose(turn, -A if k == axis else A) for k, (turn, A) in enumerate(zip(turned, along))]
        if all(right) and np.allclose(along[axis] * S, along[axis] @ outside):
            return S
    raise ValueError(f"boundary {name!r}: {shown(condition)} does not mirror waves of "
                     f"{law!r}; Hermite takes pec, pmc, wall and pressure_release where they fit the law, Sponge(width) to let "
                     "waves out, and periodic axes")
