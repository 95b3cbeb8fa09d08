"""Meshes cut into parts, with several element sets, hanging nodes, curved cells and limiters: the same bits as whole meshes."""
import numpy as np
import pytest
from burgers import Burgers
from parts import Parts, discretising
from test_partition import same_steps, scattered

import dgarray as dg
from dgarray import backends
from dgarray.mesh.partition import partition, split
from dgarray.methods.exchange import Messages
from dgarray.methods.problem import Problem
from dgarray.physics.laws.by_region import law_of

TRIANGLES, QUADS = dg.rectangle(cells=(7, 6)), dg.rectangle(cells=(7, 6), shape="quadrilateral")
PERIODIC = dg.rectangle(cells=(7, 6), periodic=True)
MIXED, MIXED3 = dg.rectangle(cells=(6, 5), shape="mixed"), dg.box(cells=(4, 3, 3), shape="mixed")
LAYERED = dg.pml(TRIANGLES, 0.2, 2)
TETS, PRISMS, HYBRID = dg.box(cells=3), dg.box(cells=3, shape="prism"), dg.box(cells=(4, 2, 2), shape="hybrid")
EULER, WALLED = dg.Euler(2), dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha)
SHOCKS = dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha, shock_capturing=0.5, positivity=True)
LIMITED = dg.NodalDG(2, limiter="vertex")


def wavy(mesh):
    def f(x):
        return tuple(c + 0.04 * (-1) ** i * np.prod(np.sin(np.pi * np.array(x)), axis=0) for i, c in enumerate(x))
    return mesh.mapped(f, order=2)


def halves(mesh):
    return mesh.with_regions({"west": lambda x: x[0] < 0.5, "east": lambda x: x[0] >= 0.5})


def refined(mesh):
    """With cells of two sizes."""
    return mesh.refined(np.flatnonzero(np.linalg.norm(mesh.centroids - 0.5, axis=1) < 0.25))


def of_orders(method, west, east, **options):
    return method({"west": west, "east": east}, **options)


def inside(mesh):
    """With the interface "skin" around some cells in the middle."""
    mesh = mesh.with_regions({"core": lambda x: np.max([abs(c - 0.5) for c in x], axis=0) < 0.3})
    return mesh.with_interfaces({"skin": "core"})


def waves(law):
    return lambda x, t: tuple(np.sin(3 * sum(x) + i) for i in range(len(law.variables)))


def jump(law):
    """A denser ball of gas."""
    def state(x, t):
        near = (x[0] - 0.4) ** 2 + (x[-1] - 0.6) ** 2 < 0.05
        velocity = (0.3 + 0 * x[0], *(-0.2 + 0 * c for c in x[1:]))
        return law.conservative((np.where(near, 1.0, 0.5), *velocity, np.where(near, 1.0, 0.4)))
    return state


BOTTOM = TRIANGLES.curved(2, lambda x: (x[0], x[1] - 0.05 * np.sin(np.pi * x[0])), "bottom")
TWO_LAWS = law_of({"west": dg.Acoustics(2), "east": dg.Acoustics(2, sound_speed=lambda x: 1 + 0.2 * x[0])})
LINEAR = {
    "triangles and quadrilaterals": (dg.NodalDG(3), MIXED), "tetrahedra, prisms and hexahedra": (dg.NodalDG(2), MIXED3),
    "prisms": (dg.NodalDG(2), PRISMS), "curved mixed": (dg.NodalDG(3), wavy(MIXED)),
    "curved prisms": (dg.NodalDG(2), wavy(PRISMS)), "pyramids": (dg.NodalDG(2), dg.box(cells=2, shape="pyramid")),
    "curved pyramids and others": (dg.NodalDG(3), wavy(HYBRID)),
    "curved nodal": (dg.NodalDG(3), wavy(TRIANGLES)), "curved modal": (dg.ModalDG(2), wavy(TRIANGLES)),
    "curved quadrature": (dg.NodalDG(2, quadrature=5), wavy(TRIANGLES)), "one curved side": (dg.NodalDG(2), BOTTOM),
    "nodal orders": (of_orders(dg.NodalDG, 2, 4), halves(TRIANGLES)),
    "modal orders": (of_orders(dg.ModalDG, 1, 3), halves(TRIANGLES)),
    "tensor orders": (of_orders(dg.TensorDG, 2, 3), halves(QUADS)), "orders in 3D": (of_orders(dg.NodalDG, 1, 2), halves(TETS)),
    "laws": (dg.NodalDG(2), halves(TRIANGLES)), "two sizes, gauss": (dg.TensorDG(2), refined(QUADS)),
    "two sizes, lobatto": (dg.TensorDG(2, "lobatto"), refined(QUADS)), "two sizes, nodal": (dg.NodalDG(2), refined(QUADS)),
    "two sizes in 3D": (dg.TensorDG(2), refined(dg.box(cells=(4, 4, 3), shape="hexahedron"))),
    "two sizes, curved": (dg.TensorDG(2), refined(wavy(QUADS))),
    "two sizes, two orders": (of_orders(dg.TensorDG, 2, 3), halves(refined(QUADS))),
    "a layer": (dg.NodalDG(2), LAYERED), "a layer, tensor": (dg.TensorDG(2), dg.pml(QUADS, 0.2, 2)),
    "a layer, modal": (dg.ModalDG(1), LAYERED), "a layer in 3D": (dg.NodalDG(2), dg.pml(TETS, 0.3, 1, boundary="left")),
}
GAS = {
    "split": (WALLED, refined(QUADS)), "shocks": (SHOCKS, refined(QUADS)),
    "vertex": (dg.ModalDG(1, limiter="vertex"), TRIANGLES), "periodic": (dg.ModalDG(1, limiter="vertex"), PERIODIC),
    "vertex, positivity": (dg.ModalDG(2, limiter="vertex", positivity=True), TRIANGLES),
    "barth-jespersen": (dg.ModalDG(1, limiter="barth-jespersen"), TRIANGLES),
    "barth-jespersen-vertices": (dg.ModalDG(1, limiter="barth-jespersen-vertices"), TRIANGLES),
    "primitive": (dg.ModalDG(1, limiter="vertex", limiter_variables="primitive"), TRIANGLES),
    "characteristic": (dg.ModalDG(1, limiter="vertex", limiter_variables="characteristic"), TRIANGLES),
    "indicator": (dg.ModalDG(2, limiter="vertex", indicator="kxrcf"), TRIANGLES),
    "tetrahedra": (dg.ModalDG(1, limiter="vertex"), TETS), "nodal": (LIMITED, TRIANGLES), "mixed": (LIMITED, MIXED),
    "mixed, indicator": (dg.NodalDG(2, limiter="vertex", indicator="kxrcf"), MIXED),
    "mixed in 3D": (dg.NodalDG(1, limiter="vertex"), MIXED3), "curved": (dg.ModalDG(2, limiter="vertex"), wavy(TRIANGLES)),
    "curved mixed": (LIMITED, wavy(MIXED)),
    "orders": (of_orders(dg.ModalDG, 1, 2, limiter="vertex", positivity=True), halves(TRIANGLES)),
    "tensor": (dg.TensorDG(2, limiter="vertex", indicator="kxrcf"), QUADS),
    "two sizes": (dg.TensorDG(2, limiter="vertex", positivity=True), refined(QUADS)),
}
KINDS = "array", "fused", "strict"
MEDIA = {"west": 1.0, "east": 2.0 + dg.Debye(1.0, 0.3) + dg.Lorentz(0.5, 5.0, 2.0)}


def dtype_of(name, problems):
    """Every third problem in float32, by kernels."""
    return "float32" if list(problems).index(name) % 3 == 2 else "float64"


def owners_of(mesh):
    return [split(mesh, 7), scattered(mesh, 3)]


@pytest.mark.parametrize("kernels", KINDS)
@pytest.mark.parametrize("name", LINEAR)
def test_waves(name, kernels):
    method, mesh = LINEAR[name]
    law, dtype = TWO_LAWS if name == "laws" else dg.Acoustics(mesh.dim), "float64"
    if kernels == "fused":
        dtype = dtype_of(name, LINEAR)
    same_steps(mesh, method, law, dg.wall, kernels, dtype, waves(law), owners_of(mesh))


@pytest.mark.parametrize("kernels", KINDS)
@pytest.mark.parametrize("method, mesh", [(dg.NodalDG(2), halves(LAYERED)), (dg.TensorDG(2), halves(QUADS))],
                         ids=["a layer", "no layer"])
def test_dispersive_media(method, mesh, kernels):
    """Also in a layer, where both kinds of internal variables meet."""
    law = dg.Maxwell(2, eps=MEDIA)
    same_steps(mesh, method, law, dg.pec, kernels, "float64", waves(law), owners_of(mesh))


def wave(x, t):
    return np.sin(5 * x[0] - 4 * t), np.cos(3 * x[0] + t), 0.1


@pytest.mark.parametrize("kernels", KINDS)
@pytest.mark.parametrize("condition", ["field", "sheet", "cut"])
@pytest.mark.parametrize("method, mesh", [(dg.NodalDG(2), MIXED), (dg.ModalDG(1), TRIANGLES), (dg.TensorDG(2), refined(QUADS))],
                         ids=["mixed", "modal", "two sizes"])
def test_interfaces(method, mesh, condition, kernels):
    """Conditions at faces inside, between own elements, and between them and copies."""
    mesh = inside(mesh)
    given = {"field": dg.total_field(wave), "sheet": dg.resistive_sheet(lambda x: 1 + x[0]), "cut": dg.wall}[condition]
    mesh = mesh.cut("skin") if condition == "cut" else mesh
    law = dg.Acoustics(2)
    same_steps(mesh, method, law, {"skin": given, "default": dg.wall}, kernels, "float64", waves(law), owners_of(mesh))


@pytest.mark.parametrize("kernels", KINDS)
@pytest.mark.parametrize("name", GAS)
def test_gas_with_limiters(name, kernels):
    """Limiting an element needs those around its vertices, before they are limited themselves."""
    method, mesh = GAS[name]
    law, dtype = dg.Euler(mesh.dim), dtype_of(name, GAS) if kernels == "fused" else "float64"
    same_steps(mesh, method, law, None if mesh.periods else dg.wall, kernels, dtype, jump(law), owners_of(mesh), flux=dg.hllc,
               stepper="ssp33")


SQUARES, CUBES = dg.rectangle(cells=24, shape="quadrilateral"), dg.box(cells=8, shape="hexahedron")
LARGE = {
    "shapes": (dg.NodalDG(2), dg.rectangle(cells=24, shape="mixed"), dg.Acoustics(2)),
    "orders": (of_orders(dg.ModalDG, 1, 2), halves(dg.rectangle(cells=24)), dg.Acoustics(2)),
    "a layer": (dg.NodalDG(2), dg.pml(dg.rectangle(cells=20), 0.2, 3), dg.Maxwell(2)),
    "sizes": (dg.TensorDG(2), refined(SQUARES), dg.Acoustics(2)),
    "sizes, split": (SHOCKS, refined(SQUARES), dg.Euler(2)),
    "sizes in 3D": (dg.TensorDG(1), refined(CUBES), dg.Acoustics(3)),
    "sizes and orders": (of_orders(dg.TensorDG, 1, 2), halves(refined(SQUARES)), dg.Acoustics(2)),
}


@pytest.mark.parametrize("name", LARGE)
def test_elements_that_need_no_copies_go_first(name):
    """While messages travel: in each set, after the fluxes at those of its joins that need no copies."""
    method, mesh, law = LARGE[name]
    initial, options = (jump(law), {"flux": dg.hllc, "stepper": "ssp33"}) if isinstance(law, dg.Euler) else (waves(law), {})
    boundary = dg.pec if isinstance(law, dg.Maxwell) else dg.wall
    owner = np.digitize(mesh.centroids[:, 1] + 0.6 * mesh.centroids[:, 0], [0.7, 1.2])
    first = partition(mesh, owner, method.needs)[0]
    part = discretising(method, law, boundary, "fused", threads=1, **options)(first, Messages())
    names = [operation.name for operation in part.step_operations(part.zeros())[0]]
    received = names.index("receive copies")
    early, late = names[:received], names[received + 1:]
    assert sum("of independent elements" in each for each in early) == len(getattr(part, "sets", "1"))
    assert early.count("mortars") and late.count("mortars")
    same_steps(mesh, method, law, boundary, "fused", "float64", initial, [owner, scattered(mesh, 3)], threads=1, **options)


@pytest.mark.parametrize("mesh", [MIXED, MIXED3, refined(QUADS), PERIODIC], ids=repr)
def test_what_is_around_own_cells_is_there(mesh):
    """By vertices: every cell that shares one with an own cell, over periodic boundaries and hanging nodes too."""
    points = np.round(mesh.points, 9) % 1 if mesh.periods else mesh.points
    for part in partition(mesh, scattered(mesh, 3), "vertices"):
        present = np.zeros(mesh.cell_count, bool)
        present[part.share.cells] = True
        for cell in part.share.cells[part.share.own]:
            corners = points[mesh.cells[cell][mesh.cells[cell] >= 0]]
            touching = [other for other, row in enumerate(mesh.cells)
                        if (np.abs(points[row[row >= 0]][:, None] - corners).max(axis=2) < 1e-9).any()]
            assert present[touching].all()


@pytest.mark.thorough
@pytest.mark.parametrize("orders", [{"west": 1, "east": 2}, {"west": 2, "east": 2}], ids=str)
def test_modes_of_curved_and_straight_cells_in_float32(orders):
    """Values at joins are computed without a BLAS library, which rounds by place."""
    law = dg.Euler(2)
    mesh = halves(BOTTOM)
    owner = np.digitize(mesh.centroids[:, 1], [0.3, 0.7])
    same_steps(mesh, dg.ModalDG(orders), law, dg.wall, "fused", "float32", jump(law), [owner, split(mesh, 3)], stepper="ssp33")


def test_costs():
    """What METIS weighs elements with: their unknowns, those of a layer included, and curves."""
    costs = dg.NodalDG(2).costs(Problem(LAYERED, dg.Maxwell(2), dg.pec))
    layer = LAYERED.regions["pml"]
    assert set(np.delete(costs, layer)) == {3 * 6} and costs[layer].min() > 1.3 * 3 * 6
    curved = dg.NodalDG(2).costs(Problem(BOTTOM, dg.Maxwell(2), dg.pec))
    assert set(curved[BOTTOM.is_curved]) == {4 * 18} and set(curved[~BOTTOM.is_curved]) == {18}


def test_operations_of_a_part():
    """Copies are renewed before each stage, and again before a limiter looks at them."""
    part = partition(TRIANGLES, split(TRIANGLES, 2), "vertices")[0]
    backend = backends.get("numpy", "array")
    backend.messages = Messages()
    operator = dg.ModalDG(1, limiter="vertex").discretise(part, EULER, dg.wall, backend, dg.hllc, None, "ssp33")
    names = [operation.name for operation in operator.step_operations(operator.zeros())[0]]
    copies = ["send to other parts", "receive copies"]
    limiter = ["limiter: around vertices to extremes", "limiter: extremes at vertices to limited coefficients"]
    assert names[:2] == copies and names[-4:] == [*copies, *limiter] and len(names) > 6


def test_parts_with_other_laws_decide_alike():
    """In one part no wave speed depends on the state: all take the step of the whole mesh, and what a step finds of its end is
    one over the next step."""
    mesh, law = halves(dg.rectangle(cells=(9, 4))), law_of({"west": Burgers(2), "east": dg.Advection((1.0, 0.5))})
    discretise = discretising(dg.NodalDG(2), law, dg.outflow, "fused")
    whole, parts = discretise(mesh), Parts(mesh, (3 * mesh.centroids[:, 0]).astype(int), discretise)
    assert [len(each.sets) for each in parts.operators] == [1, 2, 1]

    def initial(x, t):
        return (1.5 + np.sin(3 * x[0] + x[1]),)
    state, states = whole.state(whole.project(initial)), parts.project(initial)
    dt = whole.largest_step(state, 0.0)
    assert parts.largest_step(states, 0.0) == dt
    new, check = whole.advance_checked(state, 0.0, dt / 2)
    assert whole.largest_step(new, dt / 2, check) == whole.max_dt(new, dt / 2, whole.stepper) != dt
    found = parts.together(lambda operator, state: operator.advance_checked(state, 0.0, dt / 2)[1], states)
    assert max(each.rate for each in found) == check.rate
