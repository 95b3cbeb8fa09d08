"""Meshes cut into parts: what a part has, its faces by kind, and steps of the parts, bitwise those of the whole mesh."""
import numpy as np
import pytest
from meshes import disc
from modal_problems import SURFACES, gas_problem
from nodal_problems import SYSTEMS, box_of, problem
from parts import Parts, advance, discretising, same

import dgarray as dg
from dgarray import backends
from dgarray.mesh import MeshError
from dgarray.mesh.faces import by_kind
from dgarray.mesh.neighbourhood import Neighbourhood
from dgarray.mesh.partition import needed, partition, split

PERIODIC = {1: dg.interval(0, 1, 29, periodic=True, perturb=0.2), 2: dg.rectangle(cells=(6, 5), periodic=True, perturb=0.2),
            3: dg.box(cells=(3, 3, 2), periodic=(True, False, True), perturb=0.2)}
COUNTS = 2, 3, 7


def scattered(mesh, parts, seed=0):
    """A part of each cell at random, so that hardly a cell is independent."""
    return np.random.default_rng(seed).permutation(np.arange(len(mesh.cells)) % parts)


def cuts(mesh):
    yield from (split(mesh, parts) for parts in COUNTS)
    yield scattered(mesh, 3)


@pytest.mark.parametrize("mesh", [*PERIODIC.values(), *map(box_of, (1, 2, 3))], ids=repr)
def test_what_a_part_has(mesh):
    for owner in cuts(mesh):
        parts = partition(mesh, owner)
        for number, part in enumerate(parts):
            share, own = part.share, owner == number
            independent, rim, copies = np.split(share.cells, [np.count_nonzero(share.own & ~share.rim), part.owned])
            assert share.own[:part.owned].all() and not share.own[part.owned:].any()
            assert part.whole is mesh and (share.part, share.parts) == (number, len(parts))
            assert np.array_equal(np.sort(share.cells[share.own]), np.flatnonzero(own))
            assert all(np.array_equal(group, np.sort(group)) for group in (independent, rim))
            assert own[mesh.neighbour_cell[independent]].all() and not own[mesh.neighbour_cell[rim]].all(axis=1).any()
            around = np.unique(mesh.neighbour_cell[rim])
            assert np.array_equal(np.sort(copies), around[~own[around]])
            assert np.array_equal(part.points[part.cells], mesh.points[mesh.cells[share.cells]])
            assert np.array_equal(part.numbers, mesh.numbers[share.cells])
            for other, places in share.receive.items():
                sent = parts[other].share.send[number]
                assert np.array_equal(share.cells[places], parts[other].share.cells[sent]) and sent.max() < parts[other].owned
            assert sum(map(len, share.send.values())) == sum(
                len(there.share.receive[number]) for there in parts if number in there.share.receive)
            assert sum(map(len, share.receive.values())) == len(copies)


def in_whole(part, rows):
    """Rows (cell, local face) of a part as rows of the whole mesh."""
    return [(int(part.share.cells[cell]), int(face)) for cell, face in rows]


@pytest.mark.parametrize("mesh", [*PERIODIC.values(), *map(box_of, (1, 2, 3))], ids=repr)
def test_faces_by_kind(mesh):
    """The parts have the whole mesh's faces, with the same sides: cut ones twice, all others once."""
    whole = by_kind(mesh)
    assert not whole.halo
    [(left, right)] = whole.interior
    faces = set(zip(map(tuple, left.tolist()), map(tuple, right.tolist())))
    assert len(faces) == len(left) == np.count_nonzero(mesh.neighbour_face >= 0) // 2
    for owner in cuts(mesh):
        interior, halo, boundary = [], [], []
        for part in partition(mesh, owner):
            kinds = by_kind(part)
            for found, lists in ((interior, kinds.interior), (halo, kinds.halo)):
                found += [pair for left, right in lists for pair in zip(in_whole(part, left), in_whole(part, right))]
            assert all((np.minimum(left, right)[:, 0] < part.owned).all() for left, right in (*kinds.interior, *kinds.halo))
            boundary += in_whole(part, kinds.boundary)
            assert np.array_equal(np.sort(kinds.boundary, axis=0), np.sort(part.boundary_faces, axis=0))
            assert all(part.is_named(rows).all() for rows in part.boundaries.values())
        assert len(interior) == len(set(interior)) and len(halo) == 2 * len(set(halo)) and {*interior} | {*halo} == faces
        assert not {*interior} & {*halo}
        assert sorted(boundary) == sorted(map(tuple, mesh.boundary_faces.tolist()))


def test_what_cannot_be_cut():
    mesh = box_of(2)
    part = partition(mesh, split(mesh, 2))[1]
    for change in (lambda: part.refined(), lambda: part.periodic(("left", "right")), lambda: partition(part, split(part, 2))):
        with pytest.raises(MeshError, match="whole mesh"):
            change()
    with pytest.raises(MeshError, match="part 1 of 3 has no cells"):
        partition(mesh, 2 * split(mesh, 2))
    with pytest.raises(MeshError, match="owner must be 42 whole numbers"):
        partition(mesh, split(mesh, 2)[1:])
    with pytest.raises(MeshError, match="43 parts; allowed: 1 to 42"):
        split(mesh, 43)
    with pytest.raises(ValueError, match="no condition"):          # as on the whole mesh, whoever has the face
        dg.ModalDG(1).discretise(part, dg.Euler(2), {"right": dg.wall}, backends.get())


def same_steps(mesh, method, law, boundary, kernels, dtype, initial, owners=None, source=None, flux=None, stepper=None,
               threads=None):
    """Steps of the parts are those of the whole mesh, from the projection of the initial state to the third step."""
    discretise = discretising(method, law, boundary, kernels, dtype, threads, flux=flux, source=source, stepper=stepper)
    whole = discretise(mesh)
    q = whole.project(initial)
    dt = whole.largest_step(whole.state(q), 0.0)
    short = dt / 2          # at the largest step non-normal operators let rounding grow a thousandfold before it decays
    expected = advance(whole, q, [short] * 3)
    assert all(np.isfinite(values).all() for values in whole.as_list(expected)) and not same(q, expected)
    for number, owner in enumerate(cuts(mesh) if owners is None else owners):
        parts = Parts(mesh, owner, discretise, method.needs)
        states = parts.project(initial)
        assert same(parts.gather(whole, states), whole.host(whole.state(q)))
        if number == 0 or isinstance(law, dg.Euler):          # of linear laws every part looks for the whole mesh's eigenvalues
            assert parts.largest_step(states, 0.0) == dt
        assert same(parts.gather(whole, parts.advance(states, [short] * 3)), expected)


def field(law):
    """A smooth state of a linear law."""
    return lambda x, t: tuple(np.sin(3 * sum(x) + i) for i in range(len(law.variables)))


NUMBER = {system: number for number, system in enumerate(SYSTEMS)}


@pytest.mark.parametrize("kernels, dtype", [("array", "float64"), ("fused", "float64"), ("fused", "float32")])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("system", SYSTEMS)
def test_nodal(system, order, kernels, dtype):
    """Every law with its boundary conditions in turn, parameters that vary, a source."""
    mesh, law, boundary, source = problem(system, order, dtype)
    same_steps(mesh, dg.NodalDG(order), law, boundary, kernels, dtype, field(law), source=source)


@pytest.mark.parametrize("kernels, dtype", [("array", "float64"), ("fused", "float64"), ("fused", "float32")])
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("order", [0, 1, 2, 4])
@pytest.mark.parametrize("system", SYSTEMS)
def test_modal(system, order, surface, kernels, dtype):
    mesh, law, boundary, source = problem(system, order, dtype)
    same_steps(mesh, dg.ModalDG(order, surface=surface), law, boundary, kernels, dtype, field(law), source=source)


GAS = {"nodal": lambda: dg.NodalDG(2), "quadrature": lambda: dg.NodalDG(2, quadrature=6),
       "filter": lambda: dg.NodalDG(3, filter=dg.ExponentialFilter()), "edges": lambda: dg.ModalDG(2, surface="edges"),
       "elements": lambda: dg.ModalDG(1, surface="elements")}


@pytest.mark.parametrize("kernels, dtype", [("array", "float64"), ("fused", "float64"), ("fused", "float32")])
@pytest.mark.parametrize("method", GAS)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_gas(dim, method, kernels, dtype):
    """The step depends on the state; the least over the parts is the whole mesh's."""
    for mesh in (None, PERIODIC[dim]):
        mesh, law, boundary, around = gas_problem(dim, mesh)
        same_steps(mesh, GAS[method](), law, boundary, kernels, dtype, around, [split(mesh, 3), scattered(mesh, 7)],
                   flux=dg.hllc)


@pytest.mark.parametrize("kernels, dtype", [("array", "float64"), ("fused", "float64"), ("fused", "float32")])
@pytest.mark.parametrize("warped", [True, False])
@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("system", ["acoustics2", "maxwell3", "advection2"])
def test_tensor(system, order, warped, kernels, dtype):
    """Quadrilaterals and hexahedra: at Gauss-Lobatto points too, but for Maxwell's equations on warped hexahedra."""
    nodes = "lobatto" if order == 1 and not (system == "maxwell3" and warped) else "gauss"
    mesh = (dg.rectangle(cells=(6, 5), shape="quadrilateral") if system[-1] == "2" else
            dg.box(cells=(3, 3, 4), shape="hexahedron"))
    if warped:
        mesh = mesh.mapped(lambda x: tuple(c + 0.05 * (-1) ** i * np.prod(np.sin(np.pi * np.array(x)), axis=0)
                                           for i, c in enumerate(x)))
    mesh, law, boundary, source = problem(system, order, dtype, mesh)
    same_steps(mesh, dg.TensorDG(order, nodes), law, boundary, kernels, dtype, field(law),
               source=source)


@pytest.mark.parametrize("kernels, dtype", [("array", "float64"), ("fused", "float64"), ("fused", "float32")])
def test_quadrilaterals_with_shocks(kernels, dtype):
    """Shares of finite volumes look at neighbours, which are copies of other parts' elements; positivity at none."""
    law = dg.Euler(2)
    mesh = dg.rectangle(cells=(7, 6), periodic=(True, False), shape="quadrilateral").mapped(
        lambda x: (x[0] + 0.03 * np.sin(2 * np.pi * x[1]), x[1] + 0.03 * np.sin(2 * np.pi * x[0]) * np.sin(np.pi * x[1])))
    method = dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha, shock_capturing=0.5, positivity=True)

    def jump(x, t):
        near = (x[0] - 0.4) ** 2 + (x[1] - 0.6) ** 2 < 0.05
        return law.conservative((np.where(near, 1.0, 0.1), 0.3 + 0 * x[0], -0.2 + 0 * x[0], np.where(near, 1.0, 0.01)))
    same_steps(mesh, method, law, dg.wall, kernels, dtype, jump, [split(mesh, 3), scattered(mesh, 7)], flux=dg.hllc,
               stepper="ssp33")


@pytest.mark.parametrize("kernels", ["array", "fused"])
@pytest.mark.parametrize("name", ["ssp54", "rk4", "ssp33"])
def test_steppers(name, kernels):
    mesh, law, boundary, source = problem("acoustics2", 2, "float64")
    same_steps(mesh, dg.NodalDG(2), law, boundary, kernels, "float64", field(law), source=source, stepper=name)


AROUND = [dg.rectangle(cells=(4, 3)), dg.rectangle(cells=(4, 3), shape="mixed", periodic=True),
          dg.box(cells=(4, 3, 3), shape="mixed"),
          dg.box(cells=4, shape="mixed", periodic=True), dg.box(cells=3, shape="prism"), dg.box(cells=2, shape="hybrid"),
          dg.rectangle(cells=4, shape="quadrilateral").refined([5, 6])]


@pytest.mark.parametrize("mesh", AROUND, ids=repr)
def test_cells_around_vertices(mesh):
    """Those that have it as a corner, or on a face that meets smaller ones: of the mesh, and of its parts, which agree."""
    points = np.round(mesh.points, 9) % 1 + 0.0 if mesh.periods else np.round(mesh.points, 9) + 0.0
    keys, around = list(map(tuple, points)), {}
    for cell, corners in enumerate(mesh.cells):
        for point in corners[corners >= 0]:
            around.setdefault(keys[point], set()).add(cell)
    for (large, _), small in zip(mesh.hanging.large, mesh.hanging.small):
        for corners in mesh.face_points(small):
            for point in corners:
                around[keys[point]].add(large)
    found = Neighbourhood(mesh)
    assert found.around.shape[1] == len(around)
    for cell, corners in enumerate(mesh.cells):
        for place, point in enumerate(corners[corners >= 0]):
            assert set(found.around[:, found.vertices[place, cell]]) == around[keys[point]]
    for owner in (split(mesh, 5), scattered(mesh, 3)):
        shares = [part.share for part in partition(mesh, owner, "vertices")]
        for share in shares:
            for other, copies in share.receive.items():
                assert np.array_equal(share.cells[copies], shares[other].cells[shares[other].send[share.part]])


def test_many_cells_around_a_vertex():
    """More than a byte counts."""
    angles = np.linspace(0, 2 * np.pi, 140, endpoint=False)
    points = np.concatenate([[(0, 0)], *(r * np.stack([np.cos(angles), np.sin(angles)], axis=1) for r in (1, 2))])
    one, next_ = 1 + np.arange(140), 1 + (np.arange(140) + 1) % 140
    cells = np.concatenate([np.stack(each, axis=1) for each in (
        (0 * one, one, next_), (one, one + 140, next_), (next_, one + 140, next_ + 140))])
    mesh = dg.mesh.from_arrays(points, cells)
    cell, other = needed(mesh, "vertices")
    touching = (mesh.cells[:, None, :, None] == mesh.cells[None, :, None, :]).any(axis=(2, 3))
    assert len(cell) == touching.sum() and touching[cell, other].all()


MANY = {"elements": lambda: dg.ModalDG(2, surface="elements"), "edges": lambda: dg.ModalDG(2, surface="edges"),
        "nodal": lambda: dg.NodalDG(3), "tensor": lambda: dg.TensorDG(2),
        "split": lambda: dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha, shock_capturing=0.5)}


@pytest.mark.thorough
@pytest.mark.parametrize("method", MANY)
def test_many_pieces(method):
    """Parts of several pieces of tiles, whatever the number of threads: those that need no other part are computed while
    messages are on their way."""
    shape = "triangle" if method in ("elements", "edges", "nodal") else "quadrilateral"
    mesh, law, boundary, around = gas_problem(2, dg.rectangle(cells=(40, 40), shape=shape))
    part = discretising(MANY[method](), law, boundary, "fused", threads=2)(partition(mesh, split(mesh, 2))[0])
    assert part.operations.independent_pieces > 1
    method = MANY[method]()
    for threads in (1, 2):
        same_steps(mesh, method, law, boundary, "fused", "float64", around, [split(mesh, 2), scattered(mesh, 3)], flux=dg.hllc,
                   threads=threads)


@pytest.mark.parametrize("kernels", ["array", pytest.param("fused", marks=pytest.mark.thorough)])
def test_conditions_that_look_at_all_their_faces(kernels):
    """A wall through splines is one curve, whoever has its faces."""
    mesh, law = disc(24), dg.Euler(2)
    boundary = dg.curved_wall("spline")
    initial = law.conservative((1.0, 0.3, 0.1, 1.0))

    discretise = discretising(dg.ModalDG(1), law, boundary, kernels)
    whole, parts = discretise(mesh), Parts(mesh, split(mesh, 3), discretise)
    found = parts.advance(parts.project(lambda x: initial), [1e-4] * 2)
    assert same(parts.gather(whole, found), advance(whole, whole.project(lambda x: initial), [1e-4] * 2))


def test_the_step_of_parts():
    """A part alone could take longer steps where waves are slow in it."""
    mesh, law = dg.interval(0, 1, 40), dg.Euler(1)

    def initial(x):
        return law.conservative((1.0 + 0 * x[0], 0 * x[0], np.where(x[0] > 0.5, 4.0, 1.0)))

    discretise = discretising(dg.NodalDG(2), law, dg.wall)
    alone = [discretise(part) for part in partition(mesh, split(mesh, 2))]
    slow, fast = (operator.largest_step(operator.state(operator.project(initial)), 0.0) for operator in alone)
    assert slow > 1.5 * fast
    parts = Parts(mesh, split(mesh, 2), discretise)
    assert parts.largest_step(parts.project(initial), 0.0) == fast
