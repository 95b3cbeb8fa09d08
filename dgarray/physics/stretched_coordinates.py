"""Stretched coordinates in an absorbing layer: what they multiply the fields of a wave with, as stages of `linear_response`.

Along each of three orthogonal directions dx_k -> s_k dx_k,  s_k = 1 + sigma_k / (alpha + s),  s = i omega.  Maxwell's equations
keep their form if the component i of E and H is multiplied by s_1 s_2 s_3 / s_i^2; those of acoustics if p is multiplied by
s_1 s_2 s_3 and the component i of v by s_i^2 / (s_1 s_2 s_3).  Gedney 1996; Teixeira & Chew 1998; Kuzuoglu & Mittra 1996.
"""
from dataclasses import dataclass
from functools import partial

from .linear_response import Chain, Loss, Term


def parameters_of(layer):
    """{name: function of x} of the stretches along the axes, which become parameters of the law in a layer: constant in each
    element, or at quadrature points."""
    if layer is None or not layer.straight:
        return {}
    return {f"stretch_{'xyz'[axis]}": lambda x, axis=axis: layer.stretch(x)[axis] + 0.0 * x[axis]
            for axis in range(len(layer.low))}


def stretches(layer, x, m):
    """The stretches at the points x, where the law has the parameters m."""
    return [getattr(m, name) for name in parameters_of(layer)] if layer.straight else layer.stretch(x)


@dataclass(frozen=True)
class Section(Term):
    """The term of the stage (alpha + s + b) / (alpha + s + d):  dz/dt = (b - d) y - (alpha + d) z.

    above, below   which of the layer's stretches add up to b and to d;  speed: that these are multiplied with"""

    layer: object
    speed: float
    above: tuple
    below: tuple
    states: int = 1

    def rates(self, x, m):
        """b and d at the points x."""
        s = stretches(self.layer, x, m)
        return (self.speed * sum((s[k] for k in which), 0.0) for which in (self.above, self.below))

    def rate(self, z, y, x, m):
        b, d = self.rates(x, m)
        return ((b - d) * y - (self.speed * self.layer.shift + d) * z[0],)

    @property
    def fastest(self):
        return self.speed * (self.layer.shift + (len(self.above) + len(self.below)) * self.layer.largest)

    def at_end(self):
        ends = self.layer.shift == 0 and not self.below
        return Loss(lambda x, m: next(self.rates(x, m)), self.fastest) if ends else self


def sections(layer, speed, several, factors):
    """The stages of a product of powers of a layer's stretches, pairs (number of the stretch, power).

    several: whether several stretches differ from 1 at one point; else one stage does for all.  None without a layer"""
    if layer is None:
        return []
    above, below = ([k for k, power in factors for _ in range(abs(power)) if power * sign > 0] for sign in (1, -1))
    if not several:
        return [[Section(layer, speed, tuple(above), tuple(below))]] if factors else []
    return [[Section(layer, speed, tuple(above[k:k + 1]), tuple(below[k:k + 1]))]
            for k in range(max(len(above), len(below)))]


def layer_chains(layer, speed, several, dim, fields):
    """The `Chain`s of the fields of a law in a layer, of which the equations of a wave become those in stretched coordinates:

    the component i of a vector is multiplied by (s_1 s_2 s_3 / s_i^2)^power, a scalar by s_1 s_2 s_3.

    layer       a `dgarray.mesh.absorbing.layers.BoxLayer` or `RoundLayer`, or None
    several     whether several of its stretches differ from 1 at one point
    fields      (numbers of a vector's variables along the axes, None for one that there is not, power, stages that come
                first), or of a scalar (number, None, stages)"""
    chains, straight = [], layer is None or layer.straight
    for variables, power, first in fields:
        if power is None:
            factors = [(k, 1) for k in range(dim)] if straight else [(0, 1), (1, len(layer.across) - 1)]
            chains.append(Chain((variables,), [*first, *sections(layer, speed, several or not straight, factors)]))
        elif straight:
            for i, v in enumerate(variables):
                factors = [(k, power if k != i else -power) for k in range(dim)]
                if v is not None:
                    chains.append(Chain((v,), [*first, *sections(layer, speed, several, factors)]))
        else:
            chains += round_chains(layer, speed, dim, variables, power, first)
    return chains


def radius(layer, x):
    """The components of the unit vector along the radius, without that along a cylinder's axis."""
    direction = layer.direction(x)
    return [direction[axis] for axis in layer.across]


def round_chains(layer, speed, dim, variables, power, first):
    """The `Chain`s of a vector in a round layer, with the stretches s_r (number 0) and s_t (1): components along the axis of a
    cylinder by themselves, the others as one vector."""
    across = layer.across
    axial = [v for i, v in enumerate(variables) if i not in across and v is not None]
    chains = [Chain((v,), [*first, *sections(layer, speed, True, [(0, power), (1, power)])]) for v in axial]
    plane = tuple(variables[i] for i in across)
    if any(v is not None for v in plane):
        transverse = [(0, power)] if len(across) == 3 else [(0, power), (1, -power)]
        chains.append(Chain(plane, [*first, *sections(layer, speed, True, transverse)],
                            sections(layer, speed, True, [(1, 2 * power), (0, -2 * power)]), partial(radius, layer)))
    return chains
