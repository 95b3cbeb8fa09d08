"""Chosen states of the unit box for manufactured solutions, smooth, and such that they fulfil a kind of boundary condition.

    waves     sines through the box; periodic, or with half as many wave lengths; in a flow that leaves through all upper sides
    mirrored  every component even or odd about each side, as a wall mirrors it
    beam      of acoustics and Maxwell: a plane wave along x
    images    of acoustics and Maxwell: made of another state, and of the symmetry of a mirror at x = 0
"""
import numpy as np
from burgers import Burgers

import dgarray as dg


def waves(law, periodic=False, speed=0.0):
    """A state that moves, of every law; speed: of a flow along all axes that is added to that of a gas."""
    k = (2 if periodic else 1) * np.pi

    def wave(x, t, v):
        return np.sin(k * (sum((-1) ** (v * i % 2) * c for i, c in enumerate(x)) - t) + 0.7 * v)

    def q(x, t):
        if law.conservative is not None:
            velocity = [0.3 + (speed if i < law.dim else 0.0) + 0.1 * wave(x, t, 1 + i) for i in range(3)]
            return gas(law, 1 + 0.1 * wave(x, t, 0), velocity, 1 + 0.1 * wave(x, t, 4), solenoidal(x, t, wave))
        if isinstance(law, Burgers):
            return (1 + 0.2 * wave(x, t, 0),)
        return tuple(wave(x, t, v) for v in range(len(law.variables)))
    return q


def solenoidal(x, t, wave):
    """A field without divergence: no component depends on its own coordinate."""
    others = [tuple(c for i, c in enumerate(x) if i != axis) for axis in range(3)]
    return [0.5 - 0.1 * axis + (0.1 * wave(other, t, 5 + axis) if other else 0.0) for axis, other in enumerate(others)]


def gas(law, rho, velocity, p, field):
    """The state of a gas, or of a plasma with a field."""
    if isinstance(law, dg.Euler):
        return law.conservative((rho, *velocity[:law.dim], p))
    return law.conservative((rho, *velocity, p, *field))


def mirrored(law, wall):
    """A state of the symmetry with which `wall`, a condition of the walls, mirrors."""
    dim = law.dim

    def shape(x, odd):
        """sin(pi x_k) along the odd axes, cos(pi x_k) along the others."""
        result = 1.0
        for axis, c in enumerate(x):
            result = result * (np.sin(np.pi * c) if axis in odd else np.cos(np.pi * c))
        return result

    def q(x, t):
        turn = [np.cos(t + 0.7 * v) for v in range(8)]
        if law.conservative is not None:
            vectors = [[0.2 * turn[v + i] * shape(x, [i] if i < dim else []) for i in range(3)] for v in (1, 4)]
            return gas(law, 1 + 0.1 * turn[0] * shape(x, []), vectors[0], 1 + 0.1 * turn[7] * shape(x, []), vectors[1])
        return tuple(turn[v] * shape(x, odd_axes(name, wall, dim)) for v, name in enumerate(law.variables))
    return q


def odd_axes(name, wall, dim):
    """Across which axes a variable of acoustics or Maxwell's equations changes its sign, as `wall` mirrors it."""
    axis = "xyz".find(name[-1]) if len(name) > 1 else None
    if axis is None:          # the pressure of acoustics
        return range(dim) if wall is dg.pressure_release else []
    if (name[0], wall) in (("E", dg.pec), ("H", dg.pmc), ("v", dg.pressure_release)):
        return [k for k in range(dim) if k != axis]
    return [axis] if axis < dim else []


def images(law, state, wall):
    """That state at positive x; what `wall` makes odd is multiplied by x, so that it is zero at the mirror."""
    odd = [0 in odd_axes(name, wall, law.dim) for name in law.variables]

    def q(x, t=0.0):
        return tuple(x[0] * c if turns else c for c, turns in zip(state((abs(x[0]), *x[1:]), t), odd))
    return q


def beam(law):
    def q(x, t):
        f = np.sin(np.pi * (x[0] - t) + 0.4)
        if not law.fields:
            return (f, f, *(0.0 * f,) * (law.dim - 1))
        if law.variables[-1] == "Ez" or law.dim == 1:
            return law.state((0.0 * f, 0.0 * f, f), (0.0 * f, -f, 0.0 * f))
        return law.state((0.0 * f, f, 0.0 * f), (0.0 * f, 0.0 * f, f))
    return q
