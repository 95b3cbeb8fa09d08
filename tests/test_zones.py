"""Zones and mortars: orders and laws by region, elements of two sizes, and the output of several zones."""
import numpy as np
import pytest
import xarray as xr
from test_tensor_dg import laws, smooth, wavy

import dgarray as dg
from dgarray import cases
from dgarray.cli import main
from dgarray.mesh import MeshError
from dgarray.output import open_output, verify


def middle(x):
    """The middle cell of three in each direction."""
    return np.max([abs(c - 0.5) for c in x], axis=0) < 0.2


def mesh_of(dim, kind="both", warped=True, curved=1, **options):
    """Three cells in each direction, with the zones "core" and "around"; the core is refined unless kind is "order".

    curved: degree of the cells' maps"""
    mesh = (dg.rectangle if dim == 2 else dg.box)(cells=3, shape={2: "quadrilateral", 3: "hexahedron"}[dim], **options)
    mesh = mesh.with_regions({"core": middle, "around": lambda x: ~middle(x)})
    mesh = mesh.mapped(wavy, curved) if curved > 1 else mesh
    mesh = mesh if kind == "order" else mesh.refined("core")
    return mesh.mapped(wavy) if warped and curved == 1 else mesh


def orders(order, kind):
    return order if kind == "size" else {"core": order, "around": order + 1}


def operator_of(mesh, law, method, initial, kernels="array", **options):
    return dg.Simulation(mesh, law, method, initial=initial, backend="numpy", kernels=kernels, **options).operator


def rates(operator, f):
    """dq/dt at the nodes of the highest order."""
    state = operator.state(operator.project(f))
    return operator.nodal(operator.host(operator.rhs(state, 0.0)))


# Truth.

@pytest.mark.parametrize("kind", ["order", "size", "both"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("name", ["advection", "acoustics", "maxwell", "euler", "mhd"])
def test_free_stream_and_conservation(name, dim, kind):
    law, uniform = laws(dim)[name]
    operator = operator_of(mesh_of(dim, kind, periodic=True), law, dg.TensorDG(orders(2, kind)), smooth(law, uniform))
    rough = rates(operator, smooth(law, uniform))
    still = rates(operator, lambda x: tuple(value + 0 * x[0] for value in uniform))
    assert np.abs(still).max() < 1e-11 * np.abs(rough).max()
    for part in operator.space.parts(extra=0):
        for values in part.values(rough):
            assert abs(part.integrate(values)) < 1e-12 * max(part.integrate(abs(values)), 1e-3 * np.abs(rough).max())


@pytest.mark.parametrize("dim, curved, order, nodes", [
    (2, 2, 2, "gauss"), (2, 3, 3, "lobatto"), (2, 4, 4, "gauss"), (3, 2, 3, "gauss"), (3, 2, 4, "lobatto"), (3, 3, 5, "gauss")])
@pytest.mark.parametrize("kind", ["order", "size", "both"])
@pytest.mark.parametrize("name", ["advection", "maxwell", "euler", "mhd"])
def test_free_stream_and_conservation_on_curved_cells(name, dim, curved, order, nodes, kind):
    law, uniform = laws(dim)[name]
    mesh = mesh_of(dim, kind, curved=curved, periodic=True)
    assert mesh.order == curved and (len(mesh.hanging) > 0) == (kind != "order")
    split = dg.central if (name, dim, nodes) == ("maxwell", 3, "lobatto") else None          # the weak form is refused
    operator = operator_of(mesh, law, dg.TensorDG(orders(order, kind), nodes, volume_flux=split), smooth(law, uniform))
    rough = rates(operator, smooth(law, uniform))
    still = rates(operator, lambda x: tuple(value + 0 * x[0] for value in uniform))
    assert np.abs(still).max() < 2e-10 * np.abs(rough).max()          # of rounding there is more than in straight cells
    if kind == "size":          # one order, whose own nodes are those in which it conserves
        blocks = [[(part.integrate(v), part.integrate(abs(v))) for v in part.values(rough)]
                  for part in operator.space.parts(extra=0)]
        for total, size in np.sum(blocks, axis=0):
            assert abs(total) < 1e-12 * max(size, 1e-3 * np.abs(rough).max())


@pytest.mark.parametrize("order, nodes", [(0, "gauss"), (1, "gauss"), (2, "lobatto")])
@pytest.mark.parametrize("kind", ["order", "size"])
def test_free_stream_at_low_orders_and_lumped_masses(kind, order, nodes):
    """In 3D, where normals of warped faces are no constants."""
    law, uniform = laws(3)["euler"]
    operator = operator_of(mesh_of(3, kind, periodic=True), law, dg.TensorDG(orders(order, kind), nodes), smooth(law, uniform))
    still = rates(operator, lambda x: tuple(value + 0 * x[0] for value in uniform))
    assert np.abs(still).max() < 1e-11 * np.abs(rates(operator, smooth(law, uniform))).max()


@pytest.mark.parametrize("joint", ["order", "size", "both"])
@pytest.mark.parametrize("order", [1, 2])
def test_observed_orders(joint, order):
    rows = dg.eoc(lambda level: cases.hex_zones(order, cells=4 * 2 ** level, joint=joint, kind="warped", until=0.1), levels=2,
                  run={"kernels": "array"})
    assert rows[-1]["eoc"] > order + 0.5
    sim = cases.hex_zones(order, joint=joint)
    assert sim.method.order == (order if joint == "size" else {"core": order, "around": order + 1})
    assert sim.mesh.cell_count == (64 if joint == "order" else 64 - 8 + 64)


def test_polynomials_of_the_order_are_exact_at_joins():
    """Where one polynomial lies on both sides no error enters."""
    mesh = mesh_of(2, warped=False).mapped(lambda x: (x[0] + 0.5 * x[1], x[1] - 0.2 * x[0]))

    def f(x):
        return (x[0] ** 2 - x[0] * x[1],)
    operator = operator_of(mesh, dg.Advection((1.0, 0.5)), dg.TensorDG({"core": 2, "around": 3}), f,
                           boundary=dg.prescribed(lambda x, t: f(x)))
    corners, cell = mesh.points[mesh.cells], operator.space.cell
    x, y = (mesh.cell_shape.weights(cell.nodes) @ corners[:, :, d].T for d in (0, 1))
    assert np.allclose(rates(operator, f)[0], y - 2 * x + 0.5 * x, rtol=0, atol=1e-11)


def test_laws_by_region_are_parameters_by_region():
    """Two media at a joint of two zones and at faces of one: the same fluxes."""
    mesh, method = mesh_of(2, "order"), dg.TensorDG(2)

    def initial(x):
        return np.sin(3 * x[0]), np.cos(2 * x[1]), x[0] * x[1]
    media = {"core": 4.0, "around": 1.0}
    one = operator_of(mesh, dg.Maxwell(2, eps=media), method, initial, boundary=dg.pec)
    two = operator_of(mesh, {name: dg.Maxwell(2, eps=eps) for name, eps in media.items()}, method, initial, boundary=dg.pec)
    assert np.allclose(rates(one, initial), rates(two, initial), rtol=0, atol=1e-12)
    assert [zone.problem.law.parameters["eps"] for zone in two.sets] == [1.0, 4.0]          # compiled in
    assert dg.Simulation(mesh, dg.Maxwell(2, eps=media), dg.TensorDG({"core": 2, "around": 2}), boundary=dg.pec,
                         backend="numpy").operator.sets[1].problem.law.parameters["eps"] == 4.0


@pytest.mark.parametrize("dim, order", [(2, 2), (3, 3)])
def test_zones_of_curved_cells(dim, order):
    """A uniform state stays uniform, and all zones together have the cells of the mesh, curved or straight."""
    mesh = mesh_of(dim, "order", warped=False, periodic=True).mapped(wavy, order=2)
    law, uniform = laws(dim)["euler"]

    def rough(x):
        return tuple(value * (1 + 0.5 * np.sin(2 * np.pi * (x[0] + x[1]))) for value in uniform)
    sim = dg.Simulation(mesh, law, dg.TensorDG({"core": order, "around": order + 1}), initial=rough, backend="numpy",
                        kernels="array")
    still = rates(sim.operator, lambda x: tuple(value + 0 * x[0] for value in uniform))
    assert np.abs(still).max() < 1e-11 * np.abs(rates(sim.operator, rough)).max()
    tree = sim.dataset(sim.project())
    assert tree.dg.geometry_nodes.shape == mesh.geometry_nodes.shape
    assert tree.dg.whole().dg.space.jacobians.sum() == pytest.approx(mesh.measures.sum() / 2 ** dim, rel=1e-12)
    if dim == 3:
        with pytest.raises(ValueError, match="order=2 with nodes='gauss' does not keep uniform states"):
            sim.replace(method=dg.TensorDG({"core": 2, "around": 3}))


def test_curved_and_straight_zones():
    """A zone whose cells are straight has kernels for them, and output that says so."""
    mesh = mesh_of(2, "order", warped=False).curved(2, lambda x: (x[0], x[1] + 0.1 * np.sin(np.pi * x[0])), "top")
    sim = dg.Simulation(mesh, dg.Advection((1.0, 0.5)), dg.TensorDG({"core": 2, "around": 3}), dg.outflow,
                        lambda x: (x[0] * x[1],), backend="numpy", kernels="array")
    assert [each.problem.mesh.order for each in sim.operator.sets] == [2, 1]
    tree = sim.dataset(sim.project())
    assert tree.dg.integral("u") == pytest.approx(sum(ds.dg.integral("u") for ds in tree.dg.zones.values()), rel=1e-12)
    assert tree.dg.sample([(0.5, 1.05)], time=0)["u"].item() == pytest.approx(0.525, rel=1e-12)


class Named(dg.Advection):
    """Advection by another name."""


def test_laws_of_two_classes():
    """With Rusanov's flux between them, which for advection is the upwind flux."""
    mesh, law = mesh_of(2), dg.Advection((1.0, 0.5))

    def initial(x):
        return (np.sin(3 * x[0] + x[1]),)
    one, two = (operator_of(mesh, given, dg.TensorDG(2), initial, boundary=dg.outflow)
                for given in (law, {"core": Named((1.0, 0.5)), "around": law}))
    assert np.allclose(rates(one, initial), rates(two, initial), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dim, volume_flux, curved", [(2, None, 1), (2, None, 2), (2, dg.ranocha, 1), (2, dg.ranocha, 2),
                                                      (3, None, 1), (3, dg.ranocha, 1)])
def test_kernels_and_arrays_agree(dim, volume_flux, curved):
    law, uniform = laws(dim)["euler"]
    method = dg.TensorDG({"core": 2, "around": 3}, "lobatto" if volume_flux else "gauss",
                         volume_flux=volume_flux)
    states = []
    for kernels in ("fused", "array"):
        sim = dg.Simulation(mesh_of(dim, curved=curved, periodic=True), law, method, initial=smooth(law, uniform),
                            flux=dg.rusanov, backend="numpy", kernels=kernels, threads=2)
        states.append(sim.run(0.02))
    for name in ("core", "around"):
        a, b = (np.stack([tree[name][v].values for v in law.variables]) for tree in states)
        assert np.abs(a - b).max() < (1e-13 if curved == 1 else 1e-12)


# Output.

@pytest.fixture(scope="module")
def case():
    """A simulation with two zones, a record, and an exact solution."""
    def exact(x, t):
        return (np.sin(2 * np.pi * (x[0] - t)) * np.cos(2 * np.pi * x[1]),)
    return dg.Simulation(mesh_of(2), dg.Advection((1.0, 0.0)), dg.TensorDG({"core": 2, "around": 3}), dg.prescribed(exact),
                         lambda x: exact(x, 0.0), exact=exact, until=0.1, every=0.05, backend="numpy", kernels="array",
                         record={"probes": dg.Points([(0.5, 0.5), (0.1, 0.2)])})


def test_a_dataset_for_each_zone(case):
    tree = case.run()
    assert {name: tree[name].attrs["order"] for name in tree.children} == {"core": 2, "around": 3}
    assert tree["core"].to_dataset()["u"].shape == (3, 4, 9) and tree["around"].to_dataset()["u"].shape == (3, 8, 16)
    points, exact = [(0.5, 0.5), (0.1, 0.2)], case.options["exact"]
    values = tree.dg.sample(points)["u"].values
    assert values.shape == (3, 2) and np.allclose(values[-1], exact(np.array(points).T, 0.1)[0], atol=0.05)
    assert np.allclose(tree.dg.record("probes")["u"].values[[0, -1]], values[[0, -1]], atol=1e-12)
    assert tree.dg.error(exact)["u"] == pytest.approx(case.report["l2_error"]["u"], rel=1e-12)
    assert tree.dg.norm("u", 0) ** 2 == pytest.approx(sum(ds.dg.norm("u", 0) ** 2 for ds in tree.dg.zones.values()), rel=1e-12)
    assert tree.dg.norm("u", None).shape == (3,) and tree.dg.integral("u", 0.05) == pytest.approx(
        sum(ds.dg.integral("u", 1) for ds in tree.dg.zones.values()), abs=1e-14)
    assert set(case.report["zones"]) == {"core", "around"}
    assert len(tree.dg.surface("left").face) == 3
    assert tree["core"].dg.norm("u") == tree.dg.zones["core"].dg.norm("u")
    with pytest.raises(AttributeError, match="'Accessor' object has no attribute 'smaple'"):
        tree.dg.smaple([(0, 0)])


def test_transforms_of_the_volume_have_the_elements_of_the_datasets():
    """At frequency 0 the transform is the mean of the fields times the time."""
    mesh = dg.rectangle(cells=4, shape="quadrilateral").with_regions(
        {"sides": lambda x: abs(x[0] - 0.5) > 0.25, "centre": lambda x: abs(x[0] - 0.5) < 0.25})
    tree = dg.Simulation(mesh, dg.Acoustics(2), dg.TensorDG({"sides": 2, "centre": 3}), dg.wall,
                         lambda x: (x[0] + 3 * x[1], 0 * x[0], 0 * x[0]), until=1e-6, dt=1e-6, backend="numpy", kernels="array",
                         record={"volume": dg.Fourier(0.0, variables="p")}).run()
    mean, p = tree.dg.record("volume")["p"].isel(frequency=0).values / 1e-6, tree.dg.whole()["p"].values
    assert np.abs(mean - p.mean(axis=0)).max() < 1e-5


def test_stores_of_several_zones(case, tmp_path):
    there = case.run(out=tmp_path / "run.zarr")
    inside = case.run()
    by_xarray = xr.open_datatree(tmp_path / "run.zarr", engine="zarr", consolidated=False)
    for tree in (there, open_output(tmp_path / "run.zarr"), by_xarray):
        for name in ("core", "around"):
            assert np.array_equal(tree[name]["u"].values, inside[name]["u"].values)
        assert np.array_equal(tree.dg.record("probes")["u"].values, inside.dg.record("probes")["u"].values)
    assert not verify(tmp_path / "run.zarr").damaged
    broken = next((tmp_path / "run.zarr" / "around" / "u" / "c").rglob("0"))
    while broken.is_dir():
        broken = next(broken.iterdir())
    broken.write_bytes(broken.read_bytes()[:-1] + b"!")
    assert len(verify(tmp_path / "run.zarr").damaged) == 1


def test_runs_go_on_bit_for_bit(case, tmp_path):
    whole = case.run()

    def stop(state):
        if state.step == 1:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        case.run(out=tmp_path / "run.zarr", checkpoint_every=0.01, callback=stop)
    tree = case.run(out=tmp_path / "run.zarr", restart=True)
    for name in ("core", "around"):
        assert np.array_equal(tree[name]["u"].values, whole[name]["u"].values)
    assert np.array_equal(tree.dg.record("probes")["u"].values, whole.dg.record("probes")["u"].values)


@pytest.mark.thorough
def test_pictures_and_files(case, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    tree = case.run(out=tmp_path / "run.zarr")
    assert tree.dg.plot("u", path=tmp_path / "u.png").stat().st_size > 1000
    assert tree.dg.to_vtk(tmp_path / "u.vtkhdf").stat().st_size > 1000
    assert len(tree.dg.slice("x=0.5", time=-1)["u"]) > 0
    for arguments in (["info", "run.zarr"], ["plot", "run.zarr", "u", "--mesh"], ["export", "run.zarr"]):
        assert main(arguments) == 0, capsys.readouterr().err
    live = dg.output.Live(case.layout(), "u", tmp_path / "live.png")
    case.run(live=live)
    assert (tmp_path / "live.png").stat().st_size > 1000


def test_failures_name_the_element(tmp_path):
    def source(q, x, t):
        return (np.where((x[0] > 0.9) & (x[1] > 0.9) & (t > 0.01), np.inf, 0.0),)
    mesh = mesh_of(2)
    sim = dg.Simulation(mesh, dg.Advection((1.0, 0.0)), dg.TensorDG({"core": 2, "around": 1}), dg.outflow, source=source,
                        initial=lambda x: (x[0],), backend="numpy", kernels="array")
    with pytest.raises(dg.SolutionError, match="near the boundaries") as error:
        sim.run(0.5, dump_on_error=tmp_path / "bad.vtu")
    assert error.value.element in mesh.numbers[np.all(mesh.centroids > 0.6, axis=1)] and error.value.dump.exists()
    assert set(error.value.dataset.children) == {"core", "around"}


def test_states_of_several_zones(case):
    state = case.project()
    assert {name: q.shape for name, q in state.items()} == {"around": (1, 16, 8), "core": (1, 9, 4)}
    assert set(case.rhs(state)) == set(state) and case.max_dt(state) > 0
    assert set(case.dataset(state).children) == set(state)
    steps = list(case.steps(0.05))
    assert steps[-1].t == 0.05 and set(steps[-1].q) == set(state)
    assert str(case.memory(0.1)).startswith("memory: ")


# What is refused.

@pytest.mark.parametrize("order, message", [
    ({"core": 2, "arond": 3}, "region 'arond' .*did you mean 'around'"), ({"core": 2}, "leaves 8 elements without a value"),
    ({"core": 2, "around": 3, "all": 1}, "'all' overlap|overlap"), ({}, "or {region: number}"),
    ({"core": 2, "around": 9}, "whole number from 0 to 8, or"), ({"core": 2, "around": "3"}, "whole number from 0 to 8, or")])
def test_orders_that_are_refused(order, message):
    mesh = mesh_of(2, "order").with_regions({"all": lambda x: x[0] > -1})
    with pytest.raises(ValueError, match=message):
        dg.Simulation(mesh, dg.Advection((1.0, 0.0)), dg.TensorDG(order), dg.outflow)


def test_problems_that_are_refused():
    mesh, law = mesh_of(2), dg.Advection((1.0, 0.0))
    for given, method, message in (
            ({"core": law, "around": dg.Acoustics(2)}, dg.TensorDG(2), "'core' and 'around' do not go together"),
            ({"core": law}, dg.TensorDG(2), "leaves 8 elements without"), ({}, dg.TensorDG(2), "give a law, or"),
            ({"core": law, "around": law}, dg.ModalDG(2), "ModalDG|works on")):
        with pytest.raises(ValueError, match=message):
            dg.Simulation(mesh, given, method, dg.outflow)
    with pytest.raises(ValueError, match="boundary 'lft' .*did you mean 'left'"):
        dg.Simulation(mesh, law, dg.TensorDG({"core": 1, "around": 2}), {"lft": dg.outflow})
    with pytest.raises(ValueError, match="no condition"):
        dg.Simulation(mesh, law, dg.TensorDG({"core": 1, "around": 2}), {"left": dg.outflow})
    with pytest.raises(ValueError, match="does not keep uniform states"):
        dg.Simulation(mesh_of(3), dg.Advection((1.0, 0.0, 0.0)), dg.TensorDG(1, "lobatto"), dg.outflow)


def test_meshes_that_are_refused():
    mesh = mesh_of(2, "order")
    for where, message in (("cor", "did you mean 'core'"), ("left", "'left' is a boundary"), ([99], "from 0 to 8"),
                           ([], "from 0 to 8"), (3.5, "from 0 to 8")):
        with pytest.raises(MeshError, match=message):
            mesh.refined(where)
    with pytest.raises(MeshError, match=r"hanging nodes .* or meet 2 faces of half their size"):
        mesh_of(2).refined([int(np.argmin(np.linalg.norm(mesh_of(2).centroids - 0.42, axis=1)))])
    with pytest.raises(MeshError, match="quadrilaterals and hexahedra"):
        dg.rectangle(cells=2).refined([0])
    with pytest.raises(MeshError, match="refined on both sides"):
        dg.rectangle(cells=3, shape="quadrilateral", periodic=True).refined([0])
    for regions, message in (({"core": middle}, "already"), ({"new": lambda x: x[0]}, "True or False"),
                             ({"new": [9]}, "0 to 8"), (3, "give {name")):
        with pytest.raises(MeshError, match=message):
            mesh.with_regions(regions)


def test_totals_of_zones_on_curved_cells_and_the_operator_of_all_zones():
    """Each zone conserves by its own quadrature; the operator of a linear law has one vector for all zones."""
    def bent(x):
        push = np.sin(np.pi * x[0]) * np.sin(np.pi * x[1])
        return x[0] + 0.08 * push, x[1] + 0.06 * push
    mesh = dg.rectangle(cells=4, shape="quadrilateral").with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    sim = dg.Simulation(mesh.mapped(bent, 2), dg.Acoustics(2), dg.TensorDG({"a": 2, "b": 3}), dg.wall,
                        lambda x: (1 + np.exp(-20 * ((x[0] - 0.4) ** 2 + (x[1] - 0.5) ** 2)), 0 * x[0], 0 * x[0]),
                        backend="numpy", kernels="array", record={"all": dg.VolumeIntegral()})
    run = sim.run(until=0.2)
    pressure = sim.report["conserved"]["p"]
    assert abs(pressure["final"] - pressure["initial"]) < 1e-12
    recorded = run.dg.record("all")["p"].values
    assert np.abs(recorded - pressure["initial"]).max() < 1e-12
    A, q = sim.linear_operator(), np.random.default_rng(0).standard_normal(sim.operator.dofs)
    parts = np.split(q, [int(np.prod(sim.operator.unknowns["a"]))])
    rate = sim.rhs({name: part.reshape(shape) for (name, shape), part in zip(sim.operator.unknowns.items(), parts)})
    assert np.abs(A @ q - np.concatenate([rate[name].ravel() for name in sim.operator.unknowns])).max() < 1e-10
    assert np.linalg.eigvals(A @ np.eye(len(q))).real.max() < 1e-10


def test_a_step_that_is_not_a_number_in_any_zone_is_found():
    mesh = dg.rectangle(cells=2, shape="quadrilateral").with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    sim = dg.Simulation(mesh, dg.Euler(2), dg.TensorDG({"a": 1, "b": 2}), dg.wall, lambda x: (1 + 0 * x[0], 0, 0, 2.5),
                        backend="numpy", kernels="array")
    q = sim.project()
    for name in q:
        bad = {zone: array.copy() for zone, array in q.items()}
        bad[name][...] = np.nan
        assert np.isnan(sim.max_dt(bad))


def bent(x):
    push = np.sin(np.pi * x[0]) * np.sin(np.pi * x[1])
    return x[0] + 0.08 * push, x[1] - 0.06 * push


SQUARES = dg.rectangle(cells=3, shape="quadrilateral")
CORNER = {"corner": lambda x: (x[0] < 0.34) & (x[1] < 0.34)}
HALVES = {"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5}


@pytest.mark.parametrize("mesh, order, law, where", [
    (SQUARES.mapped(bent), 2, dg.Acoustics(2), "on cells that are no parallelograms"),
    (SQUARES.mapped(bent, 2).with_regions(HALVES), {"a": 2, "b": 3}, dg.Acoustics(2), "on cells that are no parallelograms"),
    (SQUARES.with_regions(CORNER).refined("corner"), 2, dg.Advection(lambda x: (1 + x[1], 1 - x[0]), dim=2),
     "for Advection.* where two orders or sizes meet: its flux is not linear with constant coefficients"),
    (SQUARES.with_regions(HALVES), {"a": 2, "b": 3}, dg.Euler(2), "for Euler.* its flux is not linear with constant")])
def test_energy_that_would_grow_is_refused(mesh, order, law, where):
    """With Gauss-Lobatto points and the central flux in weak form; what the message says to take does not grow."""
    def problem(nodes, flux, **options):
        sides = dg.wall if law.momentum else dg.outflow
        method = dg.TensorDG(order, nodes, **options)
        return dg.Simulation(mesh, law, method, sides, flux=flux, backend="numpy", kernels="array")
    with pytest.raises(ValueError, match=f"flux=central with nodes='lobatto' in weak form is not allowed {where}"):
        problem("lobatto", dg.central)
    assert problem("gauss", dg.central) and problem("lobatto", dg.rusanov)
    if isinstance(law, dg.Acoustics):
        for sim in (problem("gauss", dg.central), problem("lobatto", dg.central, volume_flux=dg.central)):
            A = sim.linear_operator()
            assert np.linalg.eigvals(A @ np.eye(A.shape[0])).real.max() < 1e-12
