"""Modal DG's problems of every law, and what its kernels and the reference must agree on."""
import numpy as np
from nodal_problems import box_of, problem

import dgarray as dg
from dgarray import backends, stepping

SURFACES = "edges", "elements"


def operators(system, order, dtype, mesh=None):
    """The problem with each kind of kernels; boundary conditions and the way over the faces take turns."""
    mesh, law, boundary, source = problem(system, order, dtype, mesh)
    for kind in ("array", "fused"):
        yield dg.ModalDG(order, surface=SURFACES[order // 2 % 2]).discretise(
            mesh, law, boundary, backends.get("numpy", kind, dtype), source=source)


def gas_problem(dim, mesh=None):
    """Euler with walls, far field and an inflow, and an admissible state: (mesh, law, boundary, state)."""
    law, mesh = dg.Euler(dim), mesh or box_of(dim)

    def around(x):
        u = (0.3,) + (0.1,) * (dim - 1)
        return law.conservative((1 + 0.2 * np.sin(3 * x[0]), *u, 1 + 0.1 * np.cos(2 * x[-1])))
    chosen = {name: (dg.wall, dg.prescribed(around), dg.outflow)[i % 3] for i, name in enumerate(mesh.boundaries)}
    return mesh, law, chosen or None, around


def gas(dim, order, dtype, flux, mesh=None, method=dg.ModalDG):
    """The same with each kind of kernels."""
    mesh, law, boundary, around = gas_problem(dim, mesh)
    for kind in ("array", "fused"):
        operator = method(order).discretise(mesh, law, boundary, backends.get("numpy", kind, dtype), flux)
        yield operator, operator.project(around)


def smooth_gas(dim):
    """Euler's equations, and a smooth state (x, t) of them in the unit cell."""
    law = dg.Euler(dim)

    def state(x, t=0.0):
        wave = 0.2 * np.sin(2 * np.pi * sum(x))
        return law.conservative((1 + wave, *(0.5 * k + wave for k in range(1, dim + 1)), 1 - wave))
    return law, state


def agree(found, reference, order, dtype, factor=40):
    assert found.shape == reference.shape
    assert np.isfinite(found).all()
    assert np.abs(found - reference).max() <= factor * (order + 1) * np.finfo(dtype).eps * np.abs(reference).max()


def stage(operator, q, k):
    states, register = [operator.state(q), operator.zeros()], operator.state(k)
    operator.stage(states[0], states[1], register, states[0], 0.3, 0.01, stepping.LSRK54.stages[2])
    return operator.host(states[1]), operator.host(register)
