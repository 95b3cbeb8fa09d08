"""Nodal DG's problems of every law, with boundaries, coefficients and sources, for kernels to agree on."""
import numpy as np

import dgarray as dg
from dgarray import backends


def box_of(dim):
    """A small mesh with named sides and more than one tile of elements, the last one not full; distorted."""
    if dim == 1:
        return dg.interval(0, 1, 37, perturb=0.2)
    if dim == 2:
        return dg.rectangle(cells=(7, 3), perturb=0.2)
    return dg.box(cells=(3, 2, 2), perturb=0.2)


def mirror(q, n, x, t, m):
    """A user's own condition: uses everything it may ask for."""
    inside = np.where(x[0] > 0.4, 1.0, -0.5) * np.exp(-t)
    return tuple(inside * c + np.sin(n[0]) for c in q)


def wave(components):
    def field(x, t):
        s = np.tanh(sum(x) - t)
        return tuple(s * (i + 1) for i in range(components))
    return field


def of_element(function):
    """The function of x at the centroid of points (point, element): one number on every element."""
    def values(x):
        return function(tuple(np.atleast_2d(component).mean(axis=0) for component in x))
    return values


@of_element
def step_of(x):
    return 1.0 + np.where(x[0] > 0.5, 1.5, 0.0)


def advection(dim):
    def velocity(x):
        return tuple(np.cos(x[i]) + 0.1 * i for i in range(dim))
    conditions = [dg.absorbing, dg.outflow, dg.prescribed(wave(1)), dg.incident(wave(1)), mirror]
    return dg.Advection(velocity, dim=dim), conditions


def acoustics(dim):
    return dg.Acoustics(dim, density=step_of, sound_speed=of_element(lambda x: 1 + x[-1] ** 2)), [
        dg.wall, dg.pressure_release, dg.absorbing, dg.prescribed(wave(dim + 1)), dg.scattered(dg.wall, wave(dim + 1)), mirror]


def maxwell(dim, polarisation=None):
    law = dg.Maxwell(dim, polarisation, eps=step_of, mu=of_element(lambda x: 2 - x[0]), sigma=0.3)
    field = wave(len(law.variables))
    return law, [dg.pec, dg.pmc, dg.absorbing, dg.incident(field), dg.scattered(dg.pec, field), mirror]

SYSTEMS = {
    **{f"advection{d}": (lambda d=d: advection(d)) for d in (1, 2, 3)},
    **{f"acoustics{d}": (lambda d=d: acoustics(d)) for d in (1, 2, 3)},
    "maxwell1": lambda: maxwell(1), "maxwellTM": lambda: maxwell(2, "TM"), "maxwellTE": lambda: maxwell(2, "TE"),
    "maxwell3": lambda: maxwell(3),
}


def problem(system, order, dtype, mesh=None):
    """(mesh, law, boundary, source).  Three conditions at a time, others for the next order or dtype."""
    law, conditions = SYSTEMS[system]()
    mesh, turn = mesh or box_of(law.dim), order + 3 * (dtype == "float32")
    chosen = [conditions[(turn + i % 3) % len(conditions)] for i in range(len(mesh.boundaries))]
    return (mesh, law, dict(zip(mesh.boundaries, chosen)),
            lambda x, t: (np.sin(x[0] + t),) + (0.0,) * (len(law.variables) - 1))


def operators(system, order, dtype, kernels=("array", "fused"), **options):
    """The problem with each kind of kernels."""
    mesh, law, boundary, source = problem(system, order, dtype)
    for kind in kernels:
        yield dg.NodalDG(order).discretise(mesh, law, boundary, backends.get("numpy", kind, dtype), source=source, **options)


def random_state(operator, seed):
    return np.random.default_rng(seed).standard_normal(operator.shape)
