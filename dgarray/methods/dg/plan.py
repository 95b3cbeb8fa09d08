"""The memory plan of a DG method: the bytes that tables, operations and stepper hold, and that each phase of a run takes."""
from math import prod

import numpy as np

from ...backends.arrays import PIECE, ArrayBackend
from ...reference import cell_quadrature
from ...stepping import registers
from ..memory import added, plan
from .operator import PROJECTED
from .spectrum import dimension
from .weak_form import WeakForm

MATRICES = 8          # of the Krylov space's dimension, while the growth of a step is computed


def plan_of(method, tables, backend, stepper):
    """The memory `Plan` of a run with these tables, whose arrays need not exist yet."""
    operations, device = backend.kind(method.operations(tables), tables), backend.name == "cupy"
    states = sum(registers(stepper)) + 1          # one more is kept to find the cause of a failure
    limiter, limiting = operations.limiting(backend, tables)
    state = operations.state_size(backend, tables)
    own = {"state and registers": states * state, "limiter": limiter}
    own = added(own, operations.holds(backend, tables))
    host = added(tables.holds(), operations.holds_on_host(backend, tables), {} if device else own)
    phases = operations.takes(backend, tables)
    setting_up, starting, looking, stage, snapshot = (
        phases[phase] for phase in ("set-up", "first step", "time step", "stages", "snapshots"))
    first, sums = in_float64(tables), integrals(tables)
    output = tables.variables * len(tables.cell.nodes) * tables.elements * backend.dtype.itemsize
    coordinates = 8 * tables.elements * (tables.dim * len(tables.cell.nodes) + tables.dim + 2)
    later = operations.later(backend, tables) + (states - 2) * state          # not allocated before the first step
    missing = (0, -later) if device else (-later, 0)
    transient = {
        "set-up": (max(tables.building(), setting_up[0]) - sum(host.values()), setting_up[1]),
        "initial state": (max(projection(tables, method), limited(operations, tables)) + missing[0], missing[1]),
        "first step": (first + starting[0], starting[1]),
        "integrals": (first + 8 * output // backend.dtype.itemsize * tables.modal + sums, 0),
        "time step": (first + max(search(tables, backend.threads), looking[0]), looking[1]),
        "stages": stage,
        "snapshots": (snapshot[0] + output * tables.modal, snapshot[1]),          # coefficients become values at the nodes
        "limiter": (0, limiting) if device else (limiting, 0),
        "report": (output + sums + coordinates, 0)}
    return plan(backend, host, own if device else {}, transient, output, tables.variables, coordinates)


def in_float64(tables):
    """Bytes of the initial state on the host, in float64."""
    return 8 * tables.variables * tables.rows * tables.elements


def projection(tables, method):
    """Bytes of the projection of the initial state: the state, and coordinates and values at the points of a block of elements,
    while those of the previous block still exist."""
    d, V, E = tables.dim, tables.variables, tables.elements
    points = tables.rows
    if method.start != "interpolation":
        points = len(cell_quadrature(tables.mesh.cell_shape, 2 * tables.order + 4)[1])
    first, second = min(E, PROJECTED), min(max(0, E - PROJECTED), PROJECTED)
    rows = first * V + max(first * (d + 1), first * d + second * (d + 1) if second else 0, second * (d + 1 + V))
    return in_float64(tables) + 8 * points * rows


def limited(operations, tables):
    """Bytes of limiting the initial state by array expressions on the host, the state included; 0 without a limiter."""
    if tables.limits is None:
        return 0
    return in_float64(tables) + sum(operations.limiting_arrays(ArrayBackend(np, "float64", "numpy"), tables))


def integrals(tables):
    """Bytes of integrating the conserved quantities over a block of elements: its vertices, values at the nodes, and values,
    positions and the energy at quadrature points."""
    V, d, nodes = tables.variables, tables.dim, len(tables.cell.nodes)
    general = not tables.mesh.cell_shape.simplex          # dx/dr at each point, and a copy for its determinant
    points = nodes if tables.diagonal else len(cell_quadrature(tables.mesh.cell_shape, 2 * tables.cell.order)[1])
    block = min(tables.elements, max(16, PIECE // (points * nodes)))
    return 8 * block * (points * (2 * V + d + 3 + general * 2 * d * d) + nodes + d * (d + 1))


def search(tables, threads):
    """Bytes of the search for the operator's eigenvalues, in float64; 0 where the time step comes from a table.

    See `dgarray.methods.dg.spectrum`."""
    if tables.search is None:
        return 0
    method, elements = tables.search
    part, backend, d, F = tables.like(elements), ArrayBackend(np, "float64", "numpy", threads), tables.dim, tables.dim + 1
    cut_out = part.elements < tables.elements
    mesh = cut_out * 8 * (sum(map(prod, part.shapes.values())) + part.elements * (F * (2 * d + 3) + d * (d + 3)))
    krylov = dimension(in_float64(part) // 8, method)
    vectors, matrices = krylov + 5, MATRICES * 8 * krylov ** 2          # the basis of the Krylov space, and temporaries
    return (vectors * in_float64(part) + matrices + mesh + sum(WeakForm.holds(backend, part).values())
            + WeakForm.temporaries(backend, part))
