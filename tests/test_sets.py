"""Element sets: orders and laws by region on intervals, triangles and tetrahedra, cells of several shapes, and their joins."""
import h5py
import numpy as np
import pytest
import xarray as xr

import dgarray as dg
from dgarray import cases
from dgarray.analysis.totals import totals_of_state
from dgarray.cli import main
from dgarray.mesh import MeshError, describe
from dgarray.mesh.curved import cell_maps
from dgarray.mesh.files.nodes import lattice
from dgarray.methods.dg import spectrum
from dgarray.output import open_output

HALVES = {"a": lambda x: x[0] < 0.4, "b": lambda x: x[0] >= 0.4}
METHODS = [lambda order: dg.NodalDG(order), lambda order: dg.ModalDG(order), lambda order: dg.NodalDG(order, quadrature=8)]
GAS = {1: (1.0, 0.3, 2.5), 2: (1.0, 0.3, 0.2, 2.5), 3: (1.0, 0.3, 0.2, 0.1, 2.5)}


def halves(dim, cells=3, **options):
    """A mesh of simplices with the regions "a" and "b"."""
    make = {1: lambda: dg.interval(cells=2 * cells, **options), 2: lambda: dg.rectangle(cells=cells, **options),
            3: lambda: dg.box(cells=cells, **options)}[dim]
    return make().with_regions(HALVES)


def wavy(x):
    """A periodic map of the unit square."""
    bump = 0.05 * np.sin(2 * np.pi * x[0]) * np.sin(2 * np.pi * x[1])
    return x[0] + bump, x[1] + bump


def mixed(cells=4, degree=1):
    """A periodic mesh of quadrilaterals and triangles, curved by maps of this degree."""
    return dg.rectangle(cells=cells, shape="mixed", periodic=True).mapped(wavy, degree)


def simulation(mesh, law, method, initial, kernels="array", **options):
    return dg.Simulation(mesh, law, method, initial=initial, backend="numpy", kernels=kernels, **options)


def rates(operator, f):
    """dq/dt at the nodes of the highest order, nan where an element has no such node."""
    return operator.nodal(operator.host(operator.rhs(operator.state(operator.project(f)), 0.0)))


def smooth(law, u):
    return lambda x: tuple(value * (1 + 0.1 * np.sin(2 * np.pi * sum(x))) for value in u)


def uniform(u):
    return lambda x: tuple(value + 0 * x[0] for value in u)


# Truth.

@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", [dg.Euler, dg.Acoustics])
def test_free_stream_and_conservation_where_orders_differ(law, method, dim):
    law = law(dim)
    u = GAS[dim] if isinstance(law, dg.Euler) else (1.0,) * (dim + 1)
    operator = simulation(halves(dim, periodic=True), law, method({"a": 2, "b": 3}), uniform(u)).operator
    rough = rates(operator, smooth(law, u))
    assert np.abs(rates(operator, uniform(u))).max() < 1e-11 * np.abs(rough).max()
    totals = sum(np.array([part.integrate(v) for v in part.values(rough)]) for part in operator.space.parts(extra=0))
    assert np.abs(totals).max() < 1e-13 * np.abs(rough).max()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_sets_of_one_order_are_one_set(method, dim):
    """Two regions with the same order have the fluxes of a mesh without regions."""
    law, mesh = dg.Euler(dim), halves(dim)
    one, two = (rates(simulation(mesh, law, method(order), uniform(GAS[dim]), boundary=dg.wall).operator, smooth(law, GAS[dim]))
                for order in (3, {"a": 3, "b": 3}))
    assert np.abs(one - two).max() < 1e-12 * np.abs(one).max()


def test_laws_by_region_are_parameters_by_region_on_triangles():
    mesh, media = halves(2), {"a": 4.0, "b": 1.0}

    def initial(x):
        return np.sin(3 * x[0]), np.cos(2 * x[1]), x[0] * x[1]
    one, two = (rates(simulation(mesh, law, dg.NodalDG(2), initial, boundary=dg.pec).operator, initial) for law in (
        dg.Maxwell(2, eps=media), {name: dg.Maxwell(2, eps=eps) for name, eps in media.items()}))
    assert np.allclose(one, two, rtol=0, atol=1e-12)


def test_walls_through_splines_are_those_of_the_whole_mesh():
    """The curve through a boundary is the same where its faces belong to two sets."""
    def round_(x):
        return x[0] * np.sqrt(1 - x[1] ** 2 / 2), x[1] * np.sqrt(1 - x[0] ** 2 / 2)
    mesh = dg.rectangle((-0.9, -0.9), (0.9, 0.9), cells=6).mapped(round_).with_regions(HALVES)
    law = dg.Euler(2)
    one, two = (rates(simulation(mesh, law, dg.NodalDG(order), uniform(GAS[2]), boundary=dg.curved_wall("spline")).operator,
                      smooth(law, GAS[2])) for order in (2, {"a": 2, "b": 2}))
    assert np.abs(one - two).max() < 1e-12 * np.abs(one).max()


def plane_wave(x, t):
    """A sound wave along x in a periodic square."""
    p = np.sin(2 * np.pi * (x[0] - t))
    return p, p, *(0 * x[0] for _ in x[1:])


def observed_order(mesh, method, levels, until=0.2):
    """Over these numbers of cells, with half the largest step."""
    errors = [simulation(mesh(cells), dg.Acoustics(mesh(cells).dim), method, lambda x: plane_wave(x, 0.0), cfl=0.5).run(until)
              .dg.error(plane_wave)["total"] for cells in levels]
    return np.log(errors[0] / errors[1]) / np.log(levels[1] / levels[0])


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS[:2])
def test_observed_orders_where_orders_differ(method, order):
    def mesh(cells):
        return halves(2, cells, periodic=True)
    assert observed_order(mesh, method({"a": order, "b": order + 1}), (6, 12)) > order + 0.7


@pytest.mark.thorough
@pytest.mark.parametrize("order", [1, 2])
def test_observed_orders_where_orders_differ_on_tetrahedra(order):
    def mesh(cells):
        return halves(3, cells, periodic=True)
    assert observed_order(mesh, dg.NodalDG({"a": order, "b": order + 1}), (4, 8)) > order + 0.7


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_observed_orders_on_cells_of_two_shapes(order, degree):
    if degree > max(order, 1):
        pytest.skip("cells need maps of at most the method's degree")
    assert observed_order(lambda cells: mixed(cells, degree), dg.NodalDG(order), (6, 12)) > order + 0.7


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("law, u", [(dg.Euler(2), GAS[2]), (dg.Maxwell(2), (1.0, 1.0, 1.0))], ids=["euler", "maxwell"])
def test_free_stream_and_conservation_on_cells_of_two_shapes(law, u, degree):
    sim = simulation(mixed(degree=degree), law, dg.NodalDG(3), smooth(law, u))
    rough = rates(sim.operator, smooth(law, u))
    assert np.nanmax(np.abs(rates(sim.operator, uniform(u)))) < 1e-11 * np.nanmax(np.abs(rough))
    assert np.abs(conserved(sim)).max() < 1e-13


def conserved(sim):
    """Relative changes of what the scheme conserves over a few steps."""
    operator = sim.operator
    state = operator.state(operator.project(sim.initial))
    before = totals_of_state(operator, state)
    for _ in range(5):
        state = operator.advance(state, 0.0, operator.largest_step(state, 0.0) / 2)
    after = totals_of_state(operator, state)
    names = [name for name in sim.law.variables if abs(before[name]) > 1e-3]
    return np.array([(after[name] - before[name]) / abs(before[name]) for name in names])


def energy_rate(sim):
    """The rate of the energy q.q of a random state of a law with the capacity 1, times the largest step over the energy."""
    operator, random = sim.operator, np.random.default_rng(0)
    state = operator.state(operator.project(lambda x: tuple(random.standard_normal(x[0].shape) for _ in sim.law.variables)))
    change = energy = 0.0
    states = state, operator.rhs(state, 0.0)
    for (_, each, q, _), (_, _, r, _) in zip(*(operator.in_zones(operator.host(values)) for values in states)):
        q, r = each.nodal(q), each.nodal(r)
        for part in each.space.parts(extra=0):
            for u, v in zip(part.values(q), part.values(r)):
                change, energy = change + part.integrate(u * v), energy + part.integrate(u * u)
    return change / energy * operator.largest_step(state, 0.0)


@pytest.mark.parametrize("mesh, method", [
    (halves(1, periodic=True), dg.NodalDG({"a": 1, "b": 3})), (halves(2, periodic=True), dg.NodalDG({"a": 2, "b": 4})),
    (halves(2, periodic=True), dg.ModalDG({"a": 1, "b": 3})), (halves(3, periodic=True), dg.NodalDG({"a": 1, "b": 2})),
    (mixed(), dg.NodalDG(3))], ids=["1D", "2D", "modal", "3D", "two shapes"])
def test_no_flux_but_upwind_takes_energy_at_joins(mesh, method):
    law = dg.Acoustics(mesh.dim)
    central, upwind = (energy_rate(simulation(mesh, law, method, uniform((0.0,) * (mesh.dim + 1)), flux=flux))
                       for flux in (dg.central, dg.upwind))
    assert abs(central) < 1e-14 and upwind < -0.1


@pytest.mark.thorough
def test_a_shock_crosses_from_quadrilaterals_to_triangles():
    """Sod's tube along both shapes, at order 1: what a mesh of triangles alone gives, to the size of the scheme's errors."""
    law, found = dg.Euler(2), []
    for shape in ("mixed", "triangle"):
        mesh = dg.rectangle((0, 0), (1, 0.1), cells=(80, 8), shape=shape)
        sim = simulation(mesh, law, dg.NodalDG(1), lambda x: law.conservative(
            (np.where(x[0] < 0.4, 1.0, 0.5), 0 * x[0], 0 * x[0], np.where(x[0] < 0.4, 1.0, 0.5))), boundary=dg.wall,
            flux=dg.hllc)
        found.append(sim.run(0.2).dg.line((0.1, 0.05), (0.9, 0.05), 41, time=-1)["rho"].values)
    assert np.abs(found[0] - found[1]).mean() < 5e-3


# Kernels against arrays.

@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mesh, method", [
    (halves(2), dg.NodalDG({"a": 2, "b": 3})), (halves(2), dg.ModalDG({"a": 1, "b": 2})),
    (halves(3), dg.NodalDG({"a": 1, "b": 2})), (dg.rectangle(cells=4, shape="mixed"), dg.NodalDG(2)),
    (dg.rectangle(cells=4, shape="mixed").mapped(lambda x: (x[0] + 0.1 * x[1] ** 2, x[1]), 2), dg.NodalDG(2))],
    ids=["nodal", "modal", "tetrahedra", "two shapes", "curved"])
def test_kernels_do_what_arrays_do(mesh, method, dtype):
    law, ends = dg.Euler(mesh.dim), []
    for kernels in ("array", "fused"):
        operator = simulation(mesh, law, method, smooth(law, GAS[mesh.dim]), kernels, boundary=dg.wall, dtype=dtype).operator
        assert operator.kernels == kernels
        state = operator.state(operator.project(smooth(law, GAS[mesh.dim])))
        for _ in range(3):
            state = operator.advance(state, 0.0, 1e-3)
        ends.append(operator.nodal(operator.host(state)))
    assert np.nanmax(np.abs(ends[0] - ends[1])) < (1e-13 if dtype == "float64" else 2e-6) * np.nanmax(np.abs(ends[0]))


# The largest step.

@pytest.mark.parametrize("law", [dg.Acoustics(2), dg.Advection((1.0, 0.3))], ids=["acoustics", "advection"])
@pytest.mark.parametrize("mesh, method", [
    (halves(2), dg.NodalDG({"a": 2, "b": 4})), (halves(2), dg.ModalDG({"a": 1, "b": 3})),
    (dg.rectangle(cells=4, shape="mixed"), dg.NodalDG(3))], ids=["nodal", "modal", "two shapes"])
def test_the_largest_step_is_stable(mesh, method, law):
    count, random = len(law.variables), np.random.default_rng(0)
    operator = simulation(mesh, law, method, uniform((0.0,) * count), boundary=dg.prescribed(uniform((0.0,) * count))).operator
    state = operator.state(operator.project(lambda x: tuple(random.standard_normal(x[0].shape) for _ in range(count))))
    before, dt = np.nanmax(np.abs(operator.nodal(operator.host(state)))), operator.largest_step(state, 0.0)
    for _ in range(300):
        state = operator.advance(state, 0.0, dt)
    assert np.nanmax(np.abs(operator.nodal(operator.host(state)))) < before


def test_the_largest_step_of_many_elements_is_that_of_those_that_limit_it(monkeypatch):
    operator = simulation(halves(2, 16), dg.Maxwell(2), dg.NodalDG({"a": 1, "b": 3}), uniform((0.0,) * 3),
                          boundary=dg.pec).operator
    step = operator.largest_step(operator.zeros(), 0.0)
    monkeypatch.setattr(spectrum, "UNKNOWNS", spectrum.UNKNOWNS // 80)
    operator = simulation(halves(2, 16), dg.Maxwell(2), dg.NodalDG({"a": 1, "b": 3}), uniform((0.0,) * 3),
                          boundary=dg.pec).operator
    assert operator.search[1] < operator.mesh.cell_count
    assert operator.largest_step(operator.zeros(), 0.0) == pytest.approx(step, rel=0.05)


def test_the_step_on_part_of_a_ball_is_that_of_the_whole(monkeypatch):
    """The straight cells inside limit the step, though the rates of the curved cells at the wall are larger."""
    operator = cases.ball_cavity(1, 2, mode="TE").replace(backend="numpy").operator
    (search, whole), state = operator.search, operator.zeros()
    step = operator.largest_step(state, 0.0) / search.share
    monkeypatch.setattr(spectrum, "UNKNOWNS", spectrum.UNKNOWNS // 65)
    operator = cases.ball_cavity(1, 2, mode="TE").replace(backend="numpy").operator
    assert operator.search[1] < 0.6 * whole
    share = search.share_of(operator.search[1], whole, operator.mesh.dim)
    assert operator.largest_step(state, 0.0) / share == pytest.approx(step, rel=0.03)


# A run and its output.

@pytest.fixture(scope="module")
def pulse():
    mesh = dg.rectangle(cells=6, shape="mixed").mapped(lambda x: (x[0] + 0.05 * np.sin(3 * x[1]), x[1] + 0.05 * x[0] ** 2))
    return simulation(mesh, dg.Acoustics(2), dg.NodalDG(3), lambda x: (
        np.exp(-40 * ((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2)), 0 * x[0], 0 * x[0]), boundary=dg.wall, until=0.2, every=0.05,
        record={"points": dg.Points([(0.3, 0.4), (0.8, 0.6)]), "mass": dg.VolumeIntegral(), "top": dg.SurfaceFields("top")})


@pytest.fixture(scope="module")
def tree(pulse, tmp_path_factory):
    return pulse.run(out=tmp_path_factory.mktemp("mixed") / "run.zarr")


def test_what_a_run_on_two_shapes_returns(pulse, tree):
    assert isinstance(tree, xr.DataTree) and set(tree.children) == {"triangle", "quadrilateral"}
    assert {name: node.sizes["element"] for name, node in tree.children.items()} == {"triangle": 36, "quadrilateral": 18}
    zones = pulse.operator.report()["zones"]
    assert {name: zone["elements"] for name, zone in zones.items()} == {"triangle": 36, "quadrilateral": 18}
    assert tree.dg.integral("p", -1) == pytest.approx(tree.dg.integral("p", 0), rel=1e-12)
    assert np.allclose(tree.dg.integral("p", None), tree.dg.record("mass")["p"].sel(time=tree.triangle.time), rtol=1e-12)
    probes = tree.dg.record("points")
    assert np.allclose(tree.dg.sample([(0.3, 0.4), (0.8, 0.6)], -1)["p"], probes["p"].isel(time=-1), rtol=0, atol=1e-14)


def test_polynomials_are_evaluated_exactly_in_both_shapes():
    """A polynomial of the order on a mesh of straight cells whose maps are affine: values, norm, integral, error."""
    def f(x, t=0.0):
        return x[0] ** 2 - x[0] * x[1], x[1] ** 2, 1 + x[0]
    sim = simulation(dg.rectangle(cells=4, shape="mixed"), dg.Acoustics(2), dg.NodalDG(2), f, boundary=dg.wall)
    tree = sim.dataset(sim.project())
    points = np.random.default_rng(0).uniform(0, 1, (50, 2))
    sampled = tree.dg.sample(points, 0)
    assert np.allclose(sampled["p"], f(points.T)[0], rtol=0, atol=1e-14)
    assert np.isnan(tree.dg.sample([(2.0, 2.0)], 0)["p"]).all() and (tree.dg.sample([(2.0, 2.0)], 0).element == -1).all()
    assert tree.dg.integral("p", 0) == pytest.approx(1 / 3 - 1 / 4, rel=1e-13)
    assert tree.dg.norm("vy", 0) ** 2 == pytest.approx(7 / 3, rel=1e-13)
    assert tree.dg.error(f, time=0)["total"] < 1e-14
    grid = tree.dg.grid(5, time=0)
    assert np.allclose(grid["p"], f(np.meshgrid(grid.x, grid.y))[0], rtol=0, atol=1e-14)
    line = tree.dg.line((0.1, 0.2), (0.9, 0.8), 7, time=0)
    assert np.allclose(line["p"], f((line.x, line.y))[0], rtol=0, atol=1e-14)


def test_runs_on_two_shapes_go_on_bit_for_bit(pulse, tmp_path):
    def stop(state):
        if state.step == 4:
            raise KeyboardInterrupt
    whole = pulse.run()
    with pytest.raises(KeyboardInterrupt):
        pulse.run(out=tmp_path / "run.zarr", checkpoint_every=0.01, callback=stop)
    again = pulse.run(out=tmp_path / "run.zarr", restart=True)
    for name in whole.children:
        assert np.array_equal(again[name]["p"].values, whole[name]["p"].values)


def test_files_and_pictures_of_two_shapes(pulse, tree, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert tree.dg.plot("p", path=tmp_path / "p.png", mesh=True).stat().st_size > 5000
    assert tree.dg.to_vtk(tmp_path / "p.vtu").stat().st_size > 5000
    with h5py.File(tree.dg.to_vtk(tmp_path / "p.vtkhdf")) as file:
        root, points = file["VTKHDF"], 36 * 10 + 18 * 16
        types = root["Types"][:]
        assert [np.count_nonzero(types == kind) for kind in (69, 70, 68)] == [36, 18, 24]          # 24 edges have names
        assert root["Points"].shape == (points, 3) and root["PointData/p"].shape == (5 * points,)
        assert root["Offsets"][-1] == len(root["Connectivity"]) and root["Connectivity"][:].max() == points - 1
        x, p = root["Points"][:, :2], root["PointData/p"][-points:]
    inside = 0.5 + 0.999 * (x - 0.5)
    assert np.allclose(tree.dg.sample(inside, -1)["p"], p, rtol=0, atol=0.02)
    faces = tree.dg.to_ugrid(2)
    assert faces.sizes["mesh2d_nFaces"] == 4 * 54 and (faces["mesh2d_face_nodes"].values[-1] == -1).sum() == 1
    assert faces["p"].shape == (5, 216)
    assert tree.dg.surface("top", -1).sizes == {"face": 6, "face_node": 4}
    with pytest.raises(AttributeError, match="cells of several shapes, .* ask a zone: tree.dg.zones"):
        tree.dg.space  # noqa: B018
    path = tree.encoding["source"]
    assert main(["info", path]) == 0 and "quadrilateral" in capsys.readouterr().out
    assert open_output(path).dg.norm("p") == tree.dg.norm("p")


def test_cells_of_two_shapes_run_in_zones_of_orders():
    mesh = dg.rectangle(cells=6, shape="mixed").with_regions({"low": lambda x: x[1] < 0.5, "high": lambda x: x[1] >= 0.5})
    sim = simulation(mesh, dg.Advection((1.0, 0.5)), dg.NodalDG({"low": 2, "high": 3}), lambda x: (x[0] + x[1],),
                     boundary=dg.prescribed(lambda x, t: (x[0] + x[1] - 1.5 * t,)))
    tree = sim.run(0.1)
    assert set(tree.children) == {"low+triangle", "low+quadrilateral", "high+triangle", "high+quadrilateral"}
    assert tree.dg.error(lambda x, t: (x[0] + x[1] - 1.5 * t,))["total"] < 1e-13


# What is refused.

@pytest.mark.parametrize("method, mesh, message", [
    (dg.ModalDG(1), dg.rectangle(shape="mixed"), "works on lines, triangles and tetrahedra, not on quadrilateral cells"),
    (dg.TensorDG(1), dg.rectangle(shape="mixed"), "works on quadrilaterals and hexahedra, not on triangle cells"),
    (dg.NodalDG(2, quadrature=4), dg.rectangle(shape="mixed"), "quadrature=4 is for triangles and tetrahedra"),
    (dg.NodalDG({"a": 2}), halves(2), "leaves .* without a value"),
    (dg.NodalDG({"a": 2, "bb": 3}), halves(2), "region 'bb'"),
    (dg.ModalDG({"a": 1, "b": 1}, limiter="barth-jespersen"), halves(2), "take limiter='vertex'")])
def test_problems_that_are_refused(method, mesh, message):
    with pytest.raises(ValueError, match=message):
        simulation(mesh, dg.Euler(2), method, uniform(GAS[2]), boundary=dg.wall)


def test_orders_that_are_refused():
    for method, message in ((dg.NodalDG, "from 1 to 10, or {region"), (dg.ModalDG, "from 0 to 6, or {region")):
        for order in ({}, {"a": 11}, {"a": 1.5}, "2"):
            with pytest.raises(ValueError, match=message):
                method(order)


# The mesh.

def test_a_mesh_of_two_shapes():
    mesh = dg.rectangle(cells=4, shape="mixed")
    assert [block.cell_type for block in mesh.blocks] == ["triangle", "quadrilateral"]
    assert mesh.cell_count == 16 + 8 and mesh.measures.sum() == pytest.approx(1.0, rel=1e-14)
    assert np.abs((mesh.normals * mesh.face_measures[:, :, None]).sum(axis=1)).max() < 1e-14
    assert len(mesh.boundary_faces) == 16 and not len(mesh.unnamed)
    assert [len(block.join_faces) for block in mesh.blocks] == [4, 4]
    for name, axis, value in (("left", 0, 0.0), ("right", 0, 1.0), ("bottom", 1, 0.0), ("top", 1, 1.0)):
        assert np.allclose(mesh.face_centres(mesh.boundaries[name])[:, axis], value)
    cell, face = np.nonzero(mesh.neighbour_face >= 0)
    other, there = mesh.neighbour_cell[cell, face], mesh.neighbour_face[cell, face]
    assert np.array_equal(mesh.neighbour_cell[other, there], cell)
    rows, others = np.stack([cell, face], 1), np.stack([other, there], 1)
    match = np.take_along_axis(mesh.face_points(others), mesh.orientation[cell, face], axis=1)
    assert np.array_equal(mesh.face_points(rows), match)
    assert "16 triangle, 8 quadrilateral, 2D" in describe(mesh)
    part = mesh.part(np.arange(12, 20))
    assert [block.cell_count for block in part.blocks] == [4, 4]
    assert part.measures.sum() == pytest.approx(mesh.measures[12:20].sum())
    assert dg.rectangle(cells=4, shape="mixed", periodic=True).periods[0][2] == (1.0, 0.0)
    with pytest.raises(MeshError, match="take mapped"):
        mesh.curved(2, lambda x: x)


@pytest.mark.parametrize("degree", [2, 3])
def test_curved_cells_of_two_shapes_share_their_edges(degree):
    mesh = dg.rectangle(cells=4, shape="mixed").mapped(wavy, degree)
    assert mesh.order == degree and mesh.is_curved.all()
    assert mesh.measures.sum() == pytest.approx(1.0, rel=1e-13)          # the boundary stays straight


def test_files_with_two_shapes(tmp_path):
    """Order 1 to 3 by Gmsh's own cells: names, conformity and area."""
    meshio = pytest.importorskip("meshio")
    for order in (1, 2, 3):
        mesh = dg.rectangle(cells=4, shape="mixed").mapped(lambda x: (x[0] + 0.1 * x[1] ** 2, x[1]), max(order, 1))
        points, cells = [], []
        for block, name in zip(mesh.blocks, ("triangle", "quad")):
            x = cell_maps.positions(block, 2 * lattice(name, order) / order - 1)
            count = x.shape[1]
            first = sum(len(p) for p in points)
            points.append(x.transpose(2, 1, 0).reshape(-1, 2))
            kind = name if order == 1 else f"{name}{count}"
            cells.append((kind, first + np.arange(block.cell_count * count).reshape(-1, count)))
        points = np.concatenate(points)
        unique, number = np.unique(points.round(12), axis=0, return_inverse=True)
        path = tmp_path / f"order{order}.msh"
        meshio.write(path, meshio.Mesh(np.column_stack([unique, 0 * unique[:, 0]]), [(n, number.ravel()[c]) for n, c in cells]),
                     file_format="gmsh22", binary=False)
        read = dg.read_mesh(path)
        assert [block.cell_count for block in read.blocks] == [16, 8] and read.order == order
        assert read.measures.sum() == pytest.approx(mesh.measures.sum(), rel=1e-12)
        assert [len(block.join_faces) for block in read.blocks] == [4, 4]


@pytest.mark.parametrize("speed, message", [
    ({"a": 1.0, "c": 2.0}, "region 'c' does not exist in the mesh; it has: a, b"),
    ({"b": 2.0}, "leaves .* elements without a value"), ({"a": 1.0, "b": 2.0, "x": 3.0}, "region 'x' does not exist")])
@pytest.mark.parametrize("mesh, method", [
    (dg.rectangle(cells=4, shape="mixed").with_regions(HALVES), dg.NodalDG(1)), (halves(2), dg.NodalDG({"a": 1, "b": 2})),
    (halves(2, 4).mapped(lambda x: (x[0], x[1] + 0.1 * np.maximum(0, x[0] - 0.5)), 2), dg.NodalDG(2)),
    (dg.rectangle(cells=4, shape="quadrilateral").with_regions(HALVES), dg.TensorDG(1))],
    ids=["two shapes", "two orders", "some curved", "one set"])
def test_parameters_by_region_hold_for_every_element(mesh, method, speed, message):
    """A misspelt region and elements without a value are refused, whatever sets there are."""
    with pytest.raises(ValueError, match=message):
        _ = dg.Simulation(mesh, dg.Acoustics(2, sound_speed=speed), method, dg.wall, backend="numpy").operator


def test_parameters_of_laws_by_region_hold_in_their_region():
    def sets(region):
        laws = {"a": dg.Acoustics(2, density={region: 2.0}), "b": dg.Acoustics(2)}
        return dg.Simulation(halves(2), laws, dg.NodalDG(1), dg.wall, backend="numpy").operator.sets
    assert len(sets("a")) == 2
    with pytest.raises(ValueError, match=r"density=\{'b': 2.0\} leaves .* elements without a value"):
        sets("b")
