"""Tensor-product DG on quadrilaterals and hexahedra: truth, free stream, conservation, orders, media, kernels, outputs."""
import numpy as np
import pytest
from references import table
from tensor_problems import laws, run

import dgarray as dg
from dgarray import backends, cases
from dgarray.mesh import from_arrays
from dgarray.methods.dg.tensor_geometry import are_affine
from dgarray.output.pictures.triangles import outlines
from dgarray.reference import NAMED_SHAPES
from dgarray.reference.tensor import tensor_cell


def wavy(x):
    """Opposite edges of the cells are not parallel; periodic sides stay translations of each other."""
    return tuple(c + 0.04 * np.prod([np.cos(2 * np.pi * a - 0.5 - i) for a in x], axis=0) for i, c in enumerate(x))


def mesh_of(dim, cells=3, warped=True, **options):
    """The unit square or cube in quadrilaterals or hexahedra of which no two are alike, or in squares or cubes."""
    mesh = (dg.rectangle if dim == 2 else dg.box)(cells=cells, shape={2: "quadrilateral", 3: "hexahedron"}[dim], **options)
    return mesh.mapped(wavy) if warped else mesh


def smooth(law, uniform):
    """Initial values that vary around a uniform state."""
    def initial(x):
        wave = 1 + 0.05 * np.sin(2 * np.pi * (x[0] + x[1]))
        return tuple(value * wave for value in uniform)
    return initial


# Truth.

@pytest.mark.parametrize("kind, nodes, start", [("gauss", "gauss", "projection"), ("lgl", "lobatto", "interpolation")])
@pytest.mark.parametrize("order, cells", [(1, 4), (2, 8), (3, 4), (4, 4)])
def test_reference_table_of_advection(kind, nodes, start, order, cells):
    [row] = [row for row in table("advection_tensor_dg.csv")[1:] if row[:4] == ["2", kind, str(order), str(cells)]]
    a = 0.2, -0.7

    def exact(x, t):
        return (1 + 0.5 * np.sin(np.pi * sum(c - v * t for c, v in zip(x, a))),)
    mesh = dg.rectangle((-1, -1), (1, 1), cells, periodic=True, shape="quadrilateral")
    sim = dg.Simulation(mesh, dg.Advection(a), dg.TensorDG(order, nodes, start), initial=lambda x: exact(x, 0.0), exact=exact,
                        backend="numpy", kernels="array", cfl=0.3)
    error = sim.run(1.0).dg.error("u", exact) / 2          # the domain measures 4
    assert error == pytest.approx(float(row[4]), rel=1e-3)


@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("name", ["advection", "acoustics", "maxwell", "euler", "mhd"])
def test_free_stream(name, dim, nodes):
    """A uniform state stays uniform on cells that are not parallelepipeds. Kopriva 2006."""
    law, uniform = laws(dim)[name]
    mesh = mesh_of(dim, periodic=True)
    kernels = "fused" if (name, nodes) == ("euler", "gauss") else "array"
    split = dg.central if (name, dim, nodes) == ("maxwell", 3, "lobatto") else None          # the weak form is refused
    operator = dg.Simulation(mesh, law, dg.TensorDG(3, nodes, volume_flux=split), initial=smooth(law, uniform),
                             backend="numpy", kernels=kernels).operator
    o, shape = operator.operations, operator.shape
    q = np.broadcast_to(np.array(uniform)[:, None, None], shape).copy()
    rough = q * (1 + 0.05 * np.random.default_rng(0).random(shape))
    scale = np.abs(o.host(o.rhs(o.state(rough), 0.0))).max()
    assert np.abs(o.host(o.rhs(o.state(q), 0.0))).max() < 1e-11 * scale


def test_meshes_of_these_tests_are_what_they_are_said_to_be():
    """Else kernels for cells that are no parallelepipeds would not run here."""
    for dim, cells in ((2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4)):
        assert not are_affine(mesh_of(dim, cells)) and are_affine(mesh_of(dim, cells, warped=False))


@pytest.mark.parametrize("order, nodes", [(1, "lobatto"), (2, "gauss"), (2, "lobatto")])
@pytest.mark.parametrize("dim", [2, 3])
def test_conserved(dim, order, nodes):
    """What the report says of it, too, also where the nodes' quadrature is not exact for polynomials of the order."""
    law, uniform = laws(dim)["euler"]
    sim = dg.Simulation(mesh_of(dim, periodic=True), law, dg.TensorDG(order, nodes), flux=dg.rusanov,
                        initial=smooth(law, uniform), backend="numpy", kernels="fused" if order == dim else "array")
    ds = sim.run(0.1)
    weights = ds.dg.reference.weights[:, None] * ds.dg.space.determinants
    for name, total in sim.report["conserved"].items():
        first, last = (np.sum(ds.dg.values(name, time).T * weights) for time in (0, -1))
        assert total["initial"] == pytest.approx(first, rel=1e-12) and total["final"] == pytest.approx(last, rel=1e-12)
        assert last == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize("start", ["interpolation", "projection"])
@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
def test_initial_states_of_the_order_are_exact(nodes, start):
    mesh = mesh_of(2, warped=False)
    operator = dg.TensorDG(3, nodes, start).discretise(mesh, dg.Advection((1.0, 0.0)), dg.outflow, backends.get("numpy"))
    x = operator.tables.geometry.positions(operator.tables.basis.cell.nodes)
    assert np.allclose(operator.project(lambda x: (x[0] ** 3 * x[1] ** 2,))[0], x[0] ** 3 * x[1] ** 2, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["acoustics", "maxwell"])
def test_energy(name):
    """With upwind fluxes it falls, with central ones on squares it stays."""
    law, uniform = laws(2)[name]
    boundary = dg.wall if name == "acoustics" else dg.pec

    def initial(x):
        return tuple(np.sin(np.pi * (i + 1) * x[0]) * np.sin(np.pi * x[1]) for i in range(len(uniform)))
    for flux, warped in ((dg.upwind, True), (dg.central, False)):
        method = dg.TensorDG(3, "lobatto" if warped else "gauss")
        _, ds = run(mesh_of(2, warped=warped), law, method, initial, until=0.5, flux=flux,
                    boundary=boundary, every=0.1, cfl=0.2)
        weights = ds.dg.reference.weights[:, None] * ds.dg.space.determinants
        energy = [sum(np.sum(ds.dg.values(v, time).T ** 2 * weights) for v in law.variables)
                  for time in range(ds.sizes["time"])]
        change = np.diff(energy) / energy[0]
        assert np.all(change < -1e-6) if flux is dg.upwind else np.all(np.abs(change) < 1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("kind", ["affine", "skewed", "warped", "curved", "perturbed"])
def test_observed_orders_of_a_cavity(kind, order):
    rows = dg.eoc(cases.hex_cavity, [order], levels=2 + (order == 1), run={"kernels": "array"}, kind=kind, until=0.3)
    assert rows[-1]["eoc"] > order + 0.7


@pytest.mark.parametrize("order", [1, 2, 3])
def test_observed_orders_on_random_hexahedra(order):
    """Each size has random corners of its own, so cells do not become parallelepipeds: at most half an order is lost."""
    rows = dg.eoc(lambda level: cases.hex_cavity(order, cells=4 * 2 ** level, kind="perturbed", until=0.3), levels=2,
                  run={"kernels": "array"})
    assert np.log2(rows[0]["l2_error"] / rows[1]["l2_error"]) > order + 0.5


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("law", ["maxwell", "acoustics"])
def test_smooth_media(law, order):
    rows = dg.eoc(lambda level: cases.graded_medium(order, cells=4 * 2 ** level, law=law, method="tensor", until=0.5), levels=3,
                  run={"kernels": "array"})
    assert rows[-1]["eoc"] > order + 0.8


# Kernels.

@pytest.mark.parametrize("dtype, most", [("float64", 1e-13), ("float32", 1e-5)])
@pytest.mark.parametrize("dim, order, nodes, warped", [
    (2, 0, "gauss", True), (2, 1, "lobatto", True), (2, 4, "gauss", False), (2, 8, "gauss", True), (3, 1, "gauss", True),
    (3, 3, "lobatto", False), (3, 5, "gauss", True)])
@pytest.mark.parametrize("name", ["advection", "acoustics", "maxwell", "euler", "mhd"])
def test_kernels_and_arrays_agree(name, dim, order, nodes, warped, dtype, most):
    law, uniform = laws(dim)[name]
    q = [run(mesh_of(dim, 2 if order > 3 else 3, warped, periodic=True), law, dg.TensorDG(order, nodes), smooth(law, uniform),
             dtype=dtype, kernels=kernels)[0] for kernels in ("fused", "array")]
    assert np.abs(q[0] - q[1]).max() < most * np.abs(q[1]).max()


@pytest.mark.parametrize("dim, order, cells, stepper, options", [
    (2, 2, (23, 19), "rk4", {}), (2, 1, (19, 17), "ssp33", {"positivity": True}), (3, 1, (7, 6, 5), "lsrk54", {})])
def test_elements_of_several_pieces(dim, order, cells, stepper, options):
    """Faces between the pieces of two threads: what a stage hands on to the next one, and what it does not with a limiter."""
    law, uniform = laws(dim)["euler"]
    mesh = mesh_of(dim, cells, warped=False, periodic=True)
    sims = [dg.Simulation(mesh, law, dg.TensorDG(order, **options), initial=smooth(law, uniform), until=1.0, stepper=stepper,
                          backend="numpy", kernels=kernels, threads=2, dt=1e-3) for kernels in ("fused", "array")]
    q = []
    for sim in sims:
        state = sim.operator.state(sim.operator.project(sim.initial))
        for step in range(3):
            state = sim.operator.advance(state, step * 1e-3, 1e-3)
        q.append(sim.operator.host(state))
    assert len(sims[0].operator.operations.borders.rows)
    assert np.abs(q[0] - q[1]).max() < 1e-13 * np.abs(q[1]).max()


def own(q, n, x, t):
    """A condition of one's own, which looks at all that it may ask for."""
    return tuple(0.5 * c + 0.1 * np.sin(4 * x[1] + x[0]) * n[0] + t for c in q)


# Conditions by law; functions take a state of x and t.
CONDITIONS = {
    "advection": [dg.absorbing, dg.outflow, dg.prescribed, dg.incident, own],
    "acoustics": [dg.wall, dg.pressure_release, dg.absorbing, dg.prescribed, lambda g: dg.scattered(dg.wall, g), own],
    "maxwell": [dg.pec, dg.pmc, dg.absorbing, dg.incident, lambda g: dg.scattered(dg.pec, g), own],
    "euler": [dg.wall, dg.outflow, dg.far_field, dg.inflow, dg.prescribed, lambda g: dg.pressure_outflow(0.9)],
    "mhd": [dg.wall, dg.outflow, dg.prescribed]}
TAKE_A_STATE = {dg.prescribed, dg.incident, dg.far_field, dg.inflow}


@pytest.mark.thorough
@pytest.mark.parametrize("name, number", [(name, number) for name, found in CONDITIONS.items() for number in range(len(found))])
@pytest.mark.parametrize("warped", [True, False])
def test_boundary_conditions(name, number, warped):
    """Kernels and arrays do the same at boundaries of every kind, where what comes in depends on place and time."""
    law, uniform = laws(2)[name]
    boundary = CONDITIONS[name][number]
    if boundary in TAKE_A_STATE or getattr(boundary, "__name__", "") == "<lambda>":
        boundary = boundary(lambda x, t: tuple(u * (1 + 0.05 * np.sin(5 * x[1] + 3 * x[0] - 40 * t)) for u in uniform))
    runs = [run(mesh_of(2, warped=warped), law, dg.TensorDG(2), smooth(law, uniform), kernels=kernels, boundary=boundary)
            for kernels in ("fused", "array")]
    (q, ds), (expected, _) = runs
    assert np.abs(q - expected).max() < 1e-12 * np.abs(expected).max()
    assert np.abs(q - np.stack([ds[name].values[0] for name in law.variables])).max() > 1e-6


@pytest.mark.thorough
def test_sources_and_media_that_vary():
    law = dg.Acoustics(2, density=lambda x: 1 + x[1] / 2, sound_speed=lambda x: np.where(x[0] < 0.5, 2.0, 1.0))
    mesh = mesh_of(2, 4)

    def source(q, x, t):
        return np.cos(t) * x[0] * q[0], 0 * q[0], -q[1]
    q = [run(mesh, law, dg.TensorDG(3), lambda x: (np.exp(-9 * x[0] ** 2), x[1], 0 * x[0]), until=0.1, kernels=kernels,
             boundary=dg.wall, source=source)[0] for kernels in ("fused", "array")]
    assert np.abs(q[0] - q[1]).max() < 1e-13


class Bounded(dg.Advection):
    """Advection of a state that must stay below 1 + x."""

    def admissible(self, q, x):
        return q[0] < 1 + x[0]


@pytest.mark.parametrize("warped", [True, False])
def test_admissible_states_may_depend_on_x(warped):
    for kernels in ("fused", "array"):
        operator = dg.Simulation(mesh_of(2, 6, warped, periodic=True), Bounded((1.0, 0.5)), dg.TensorDG(2),
                                 initial=lambda x: (x[0],), backend="numpy", kernels=kernels).operator
        x = operator.tables.geometry.coordinates()[0]
        good = [operator.check(operator.state((x + 1 + gap)[None]), 0.0).admissible for gap in (-1e-6, 1e-6)]
        assert good == [True, False]


def test_threads_give_the_same_numbers():
    law, uniform = laws(2)["euler"]
    a, b = (dg.Simulation(mesh_of(2, 8, periodic=True), law, dg.TensorDG(2), initial=smooth(law, uniform), backend="numpy",
                          threads=threads).run(0.05)["rho"].values for threads in (1, 2))
    assert np.array_equal(a, b)


def test_restart_gives_the_same_numbers(tmp_path):
    law, uniform = laws(2)["euler"]

    def simulation():
        return dg.Simulation(mesh_of(2, periodic=True), law, dg.TensorDG(3), initial=smooth(law, uniform), backend="numpy",
                             kernels="array", every=0.05)
    whole = simulation().run(0.2, out=tmp_path / "whole.zarr")
    simulation().run(0.1, out=tmp_path / "half.zarr")
    rest = simulation().run(0.2, out=tmp_path / "half.zarr", restart=True)
    assert np.array_equal(whole["E"].values[-1], rest["E"].values[-1])


# Outputs.

def quadratic(dim):
    """A run of no length whose solution every order from 2 on holds, and the function."""
    def f(x):
        return x[0] * x[1] + 2 * x[0] + (x[2] * x[1] if len(x) == 3 else 0.0)
    return f


@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
@pytest.mark.parametrize("dim", [2, 3])
def test_values_at_points_slices_integrals_and_gradients(dim, nodes):
    f, law = quadratic(dim), dg.Advection((0.0,) * dim)
    _, ds = run(mesh_of(dim, warped=False), law, dg.TensorDG(2, nodes), lambda x: (f(x),), until=1e-9, boundary=lambda q: q)
    points = np.random.default_rng(0).random((20, dim))
    assert np.allclose(ds.dg.sample(points, time=-1)["u"], f(points.T), atol=1e-13)
    assert ds.dg.integral("u") == pytest.approx(1.25 if dim == 2 else 1.5, abs=1e-13)
    x = [ds[axis].values for axis in "xyz"[:dim]]
    expected = (x[1] + 2, x[0] + (x[2] if dim == 3 else 0), *([x[1]] if dim == 3 else []))
    gradient = ds.dg.gradient("u", time=-1)
    for axis, values in zip("xyz", expected):
        assert np.allclose(gradient[f"du_d{axis}"], values, atol=1e-12)
    flat = ds.dg.slice("y=0.4")
    assert flat.dg.cell_shape.name == ("line" if dim == 2 else "triangle") and flat.attrs["order"] == 4
    inside = points[:, [0] if dim == 2 else [0, 2]]
    there = np.insert(inside, 1, 0.4, axis=1)
    assert np.allclose(flat.dg.sample(inside, time=-1)["u"], f(there.T), atol=1e-12)
    surface = ds.dg.surface("right", time=-1)
    at = [surface[axis].values for axis in "xyz"[:dim]]
    assert np.allclose(surface["u"], f(at), atol=1e-13)


def turned(cell, turns):
    """The corners of a hexahedron numbered from another one, turned about z by so many right angles."""
    vertices = NAMED_SHAPES["hexahedron"].vertices
    for _ in range(turns):
        cell = [cell[vertices.index((-y, x, z))] for x, y, z in vertices]
    return cell


def test_slices_of_hexahedra_numbered_each_in_its_own_way():
    """Both cells of a face cut it alike: nothing is cut twice, and edges inside of the mesh belong to two pieces."""
    cubes, rng = mesh_of(3, warped=False), np.random.default_rng(0)
    mesh = from_arrays(cubes.points, [turned(cell.tolist(), rng.integers(4)) for cell in cubes.cells])
    f = quadratic(3)
    _, ds = run(mesh, dg.Advection((0.0,) * 3), dg.TensorDG(2), lambda x: (f(x),), until=1e-9, boundary=lambda q: q)
    for plane, edges in (("z=0.4", 24), ("y=0.5", 24), (f"x={1 / 3!r}", 12), ("z=1", 12)):
        flat = ds.dg.slice(plane)
        assert 2 * flat.dg.jacobians.sum() == pytest.approx(1, rel=1e-12)
        assert len(outlines(flat)) <= edges
        assert np.allclose(flat["u"].values[-1], f([flat[axis].values for axis in "xyz"]), atol=1e-12)


def test_slices_of_cells_with_warped_faces():
    """Where a piece lies a little outside of its cell the polynomials go on: no error but theirs, which is 3e-5 here."""
    def f(x):
        return np.sin(2 * x[0] + 3 * x[1]) + x[2] ** 2
    _, ds = run(mesh_of(3, 4), dg.Advection((0.0,) * 3), dg.TensorDG(4), lambda x: (f(x),), until=1e-9, boundary=lambda q: q)
    flat = ds.dg.slice("z=0.4", time=-1)
    assert np.abs(flat["u"].values - f([flat[axis].values for axis in "xyz"])).max() < 1e-4


@pytest.mark.thorough
@pytest.mark.parametrize("dim, order, nodes", [(2, 0, "gauss"), (2, 3, "gauss"), (3, 2, "lobatto")])
def test_dumps_hold_the_last_good_state(dim, order, nodes, tmp_path):
    law = dg.Acoustics(dim)

    def source(q, x, t):
        return (np.where((x[0] > 0.7) & (x[1] > 0.7) & (t > 0.01), np.inf, 0.0), *(0 * c for c in q[1:]))
    with pytest.raises(dg.SolutionError) as error:
        dg.Simulation(mesh_of(dim, warped=False), law, dg.TensorDG(order, nodes), boundary=dg.wall, source=source,
                      initial=lambda x: (0.1 + x[0],) + (0 * x[0],) * dim, backend="numpy").run(
                          0.5, dump_on_error=tmp_path / "bad.vtu")
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(error.value.dump))
    reader.Update()
    grid = reader.GetOutput()
    if order:
        x = vtk_to_numpy(grid.GetPoints().GetData())[:, 0]
        assert np.allclose(vtk_to_numpy(grid.GetPointData().GetArray("p")), 0.1 + x, atol=1e-12)
    assert vtk_to_numpy(grid.GetCellData().GetArray("bad")).sum() >= 1


def test_means_on_ugrid_faces():
    law, f = dg.Advection((0.0, 0.0)), quadratic(2)
    _, ds = run(mesh_of(2), law, dg.TensorDG(3), lambda x: (f(x),), until=1e-9, boundary=lambda q: q)
    for parts in (1, 3):
        out = ds.dg.to_ugrid(subdivide=parts, time=-1)
        corners = np.stack([out["mesh2d_node_x"], out["mesh2d_node_y"]], axis=-1)[out["mesh2d_face_nodes"].values]
        x, y = corners[..., 0], corners[..., 1]
        areas = ((x * np.roll(y, -1, axis=1)).sum(axis=1) - (y * np.roll(x, -1, axis=1)).sum(axis=1)) / 2
        assert np.all(areas > 0) and len(areas) == 9 * parts ** 2
        assert out["u"].values @ areas == pytest.approx(ds.dg.integral("u"), rel=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("dim", [2, 3])
def test_vtk_cells_hold_the_polynomials(dim, order, tmp_path):
    """VTK's own interpolation in its Lagrange cells gives the same values at the same places."""
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    law = dg.Advection((0.0,) * dim)
    _, ds = run(mesh_of(dim, 2), law, dg.TensorDG(order), lambda x: (np.sin(2 * x[0] + 3 * x[1]) + x[-1] ** 2,), until=1e-9,
                boundary=lambda q: q)
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(ds.dg.to_vtk(tmp_path / "cells.vtkhdf", time=-1)))
    reader.Update()
    grid = reader.GetOutputDataObject(0)
    values = vtk_to_numpy(grid.GetPointData().GetArray("u"))
    for number in range(2 ** dim):
        cell = grid.GetCell(number)
        for place in ((0.5, 0.5, 0.5), (0.2, 0.7, 0.9), (0.9, 0.1, 0.35)):
            x, weights = [0.0] * 3, [0.0] * cell.GetNumberOfPoints()
            cell.EvaluateLocation(vtk.mutable(0), place, x, weights)
            here = sum(w * values[cell.GetPointId(i)] for i, w in enumerate(weights))
            assert here == pytest.approx(float(ds.dg.sample([x[:dim]], time=-1)["u"].values.ravel()[0]), abs=1e-10)


def test_recorders(tmp_path):
    law, uniform = laws(2)["euler"]
    record = {"points": dg.Points([(0.3, 0.4)]), "extrema": dg.Extrema(), "totals": dg.VolumeIntegral(),
              "length": dg.BoundaryIntegral("left", lambda q: 1 + 0 * q[0], names=("length",)),
              "surface": dg.SurfaceFields("left")}
    mesh = mesh_of(2)
    _, ds = run(mesh, law, dg.TensorDG(3), smooth(law, uniform), boundary=dg.wall, record=record)
    assert np.allclose(ds.dg.record("points")["rho"].values[-1], ds.dg.sample([(0.3, 0.4)], time=-1)["rho"], atol=1e-12)
    assert ds.dg.record("totals")["rho"].values[-1] == pytest.approx(ds.dg.integral("rho"), rel=1e-12)
    cells, faces = mesh.boundaries["left"].T
    length = mesh.face_measures[cells, faces].sum()
    assert ds.dg.record("length")["length"].values[-1] == pytest.approx(length, rel=1e-13)
    assert ds.dg.record("surface")["E"].shape[1:] == (3, 4)


@pytest.mark.thorough
def test_pictures(tmp_path):
    for dim in (2, 3):
        law, uniform = laws(dim)["acoustics"]
        _, ds = run(mesh_of(dim, 2), law, dg.TensorDG(2), smooth(law, uniform), boundary=dg.wall)
        for number, options in enumerate([{}, {"mesh": True}] if dim == 2 else [{"slice": "z=0.5"}]):
            path = tmp_path / f"{number}{dim}.png"
            ds.dg.plot("p", path=path, **options)
            assert path.stat().st_size > 5000


def test_failures_name_cell_place_and_variable():
    law = dg.Acoustics(2)

    def source(q, x, t):
        return (np.where((x[0] > 0.7) & (x[1] > 0.7) & (t > 0.01), np.inf, 0.0), 0 * q[1], 0 * q[2])
    with pytest.raises(dg.SolutionError, match=r"p is .* at t = .* in element 8 with centre"):
        run(mesh_of(2, warped=False), law, dg.TensorDG(2), lambda x: (x[0], x[1], x[0]), 0.5, boundary=dg.wall, source=source)


# Cells, and bad input.

@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
@pytest.mark.parametrize("order", [1, 3, 8])
def test_lines_of_nodes(order, nodes):
    """Interpolation, derivatives and quadrature of polynomials of the order are exact."""
    cell, p = tensor_cell(2, order, nodes), np.polynomial.Polynomial(np.random.default_rng(0).random(order + 1))
    assert np.allclose(cell.slopes @ p(cell.x), p.deriv()(cell.x), atol=1e-11)
    assert np.allclose(cell.ends @ p(cell.x), p(np.array([-1.0, 1.0])), atol=1e-12)
    degree = 2 * order + (1 if nodes == "gauss" else -1)
    for k in range(degree + 1):
        assert cell.w @ cell.x ** k == pytest.approx(2 / (k + 1) * (k % 2 == 0), abs=1e-13)
    r = np.random.default_rng(1).uniform(-1, 1, (5, 2))
    assert np.allclose(cell.interpolation(r) @ (p(cell.nodes[:, 0]) * cell.nodes[:, 1]), p(r[:, 0]) * r[:, 1], atol=1e-12)
    both = np.einsum("kij,j->ki", cell.differentiation, p(cell.nodes[:, 0]) + cell.nodes[:, 1])
    assert np.allclose(both, [p.deriv()(cell.nodes[:, 0]), np.ones(len(cell.nodes))], atol=1e-11)


@pytest.mark.parametrize("options, message", [
    ({"order": 9}, "order=9 is not allowed for TensorDG with nodes='gauss'; it must be a whole number from 0 to 8"),
    ({"order": 0, "nodes": "lobatto"}, "it must be a whole number from 1 to 8"),
    ({"nodes": "gaus"}, r"nodes.* 'gaus' does not exist; allowed: gauss, lobatto \(did you mean 'gauss'\?\)"),
    ({"start": "projected"}, "'projected' does not exist; allowed: interpolation, projection")])
def test_options(options, message):
    with pytest.raises(ValueError, match=message):
        dg.TensorDG(**options)


def test_cells_that_do_not_fit():
    law = dg.Advection((1.0, 0.0))
    for method, mesh, other in ((dg.TensorDG(2), dg.rectangle(cells=2, periodic=True), "NodalDG or ModalDG"),
                                (dg.TensorDG(2), dg.box(cells=1, shape="pyramid"), "NodalDG, or another mesh"),
                                (dg.ModalDG(2), dg.box(cells=1, shape="pyramid"), "take NodalDG; or cut"),
                                (dg.ModalDG(2), mesh_of(2, periodic=True), "TensorDG")):
        with pytest.raises(ValueError, match=other):
            run(mesh, law if mesh.dim == 2 else dg.Advection((1.0, 0.0, 0.0)), method, lambda x: (x[0],))
