"""VTK files, read back by VTK itself: node order, values, time steps, boundary names, and nothing half written."""
import io
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray as xr
from xarray.core import indexing

import dgarray as dg
from dgarray.cli import main
from dgarray.output import Layout, Store
from dgarray.output.vtk import files as output
from dgarray.output.vtk.lagrange import VTK_TYPES, Grid, node_order
from dgarray.reference.simplex import simplex

vtk = pytest.importorskip("vtk", exc_type=ImportError)
vtk_to_numpy = pytest.importorskip("vtk.util.numpy_support", exc_type=ImportError).vtk_to_numpy
CELLS = {"line": vtk.vtkLagrangeCurve, "triangle": vtk.vtkLagrangeTriangle, "tetra": vtk.vtkLagrangeTetra}
TENSOR_CELLS = {"quadrilateral": vtk.vtkLagrangeQuadrilateral, "hexahedron": vtk.vtkLagrangeHexahedron}
ORDERS = range(1, 11)


def mesh(dim):
    if dim == 1:
        return dg.interval(-1, 2, 3, perturb=0.3)
    return dg.rectangle((-1, 0), (2, 1), (2, 2), perturb=0.3) if dim == 2 else dg.box((-1, 0, 0), (2, 1, 1), (1, 1, 2))


def polynomial(order, x, t=0.0):
    """A polynomial of exactly that total degree, of size about 1, without any symmetry of a cell."""
    x = np.asarray(x)
    direction = np.array([0.3, 0.21, -0.17])[:x.shape[-1]]
    return (0.4 + t + x @ direction) ** order + 0.1 * x[..., -1] ** (order // 2)


def run(dim, order, times=(0.0,), path=None, dtype="float64", **more):
    """The dataset of a run whose field u is the polynomial at each time, and v its double."""
    m = mesh(dim)
    plan = Layout(dim, order, m.points, m.cells, m.numbers, ("u", "v"), {"u": "a field"}, {"u": "V/m"}, {"law": "none"},
                  {"inner part": np.array([0]), "rest": np.arange(1, len(m.cells))}, m.boundaries, **more)
    store, x = Store(plan, path, dtype), np.stack(plan.coordinates(), axis=-1)
    for t in times:
        u = polynomial(order, x, t).T
        store.append(t, np.stack([u, 2 * u]))
    return store.dataset()


def read(path, time=None):
    """The grid that VTK reads; `time` asks for a step."""
    reader = vtk.vtkHDFReader() if str(path).endswith(".vtkhdf") else vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    reader.Update() if time is None else reader.UpdateTimeStep(time)
    grid = vtk.vtkUnstructuredGrid()
    grid.DeepCopy(reader.GetOutputDataObject(0))
    return grid


def steps(path):
    reader, key = vtk.vtkHDFReader(), vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    information = reader.GetOutputInformation(0)
    return [information.Get(key, number) for number in range(information.Length(key))]


def points(grid):
    return vtk_to_numpy(grid.GetPoints().GetData())


def values(grid, name, where="Point"):
    return vtk_to_numpy(getattr(grid, f"Get{where}Data")().GetArray(name))


def field_data(grid, name):
    array = grid.GetFieldData().GetAbstractArray(name)
    return [array.GetValue(number) for number in range(array.GetNumberOfValues())]


# Node order


@pytest.mark.parametrize("cell_type", CELLS)
@pytest.mark.parametrize("order", ORDERS)
def test_node_order_is_that_of_vtk(cell_type, order):
    """VTK's own shape functions are 1 at their node of our order and 0 at all others."""
    nodes = node_order(cell_type, order)
    cell, count, dim = CELLS[cell_type](), len(nodes), nodes.shape[1]
    assert cell.GetCellType() == VTK_TYPES[cell_type] and count == len(simplex(dim, order).nodes)
    cell.GetPointIds().SetNumberOfIds(count)
    cell.GetPoints().SetNumberOfPoints(count)
    cell.Initialize()
    shape = np.empty((count, count))
    for row, node in zip(shape, nodes / order):
        weights = [0.0] * count
        cell.InterpolateFunctions([*node, *[0.0] * (3 - dim)], weights)
        row[:] = weights
    np.testing.assert_allclose(shape, np.eye(count), atol=1e-9)


@pytest.mark.parametrize("cell_type, corners", [("triangle", 3), ("tetra", 4)])
def test_node_order_is_that_of_vtks_barycentric_indices(cell_type, corners):
    for order in ORDERS:
        nodes, cell = node_order(cell_type, order), CELLS[cell_type]()
        cell.GetPointIds().SetNumberOfIds(len(nodes))
        cell.GetPoints().SetNumberOfPoints(len(nodes))
        cell.Initialize()
        for number, node in enumerate(nodes.tolist()):
            index = [0] * corners
            cell.ToBarycentricIndex(number, index)
            assert index == [*node, order - sum(node)]


@pytest.mark.parametrize("cell_type, dim", [("quadrilateral", 2), ("hexahedron", 3)])
@pytest.mark.parametrize("order", range(1, 9))
def test_node_order_of_tensor_products_is_that_of_vtk(cell_type, dim, order):
    """As above, with VTK's parametric coordinates of each of its nodes too."""
    nodes, cell = node_order(cell_type, order), TENSOR_CELLS[cell_type]()
    count = len(nodes)
    assert cell.GetCellType() == VTK_TYPES[cell_type] and count == (order + 1) ** dim
    cell.GetPointIds().SetNumberOfIds(count)
    cell.GetPoints().SetNumberOfPoints(count)
    cell.SetUniformOrderFromNumPoints(count)
    cell.Initialize()
    for number, node in enumerate(nodes):
        weights = [0.0] * count
        cell.InterpolateFunctions([*(node / order), *[0.0] * (3 - dim)], weights)
        np.testing.assert_allclose(weights, np.eye(count)[number], atol=1e-9)


def test_unknown_cell_type_is_named():
    with pytest.raises(ValueError, match="'tetras'.*allowed: vertex, line, triangle, quadrilateral, tetra, .*'tetra'"):
        node_order("tetras", 2)


# Values


@pytest.mark.parametrize("suffix", [".vtkhdf", ".vtu"])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("order", ORDERS)
def test_polynomials_of_the_degree_are_exact_at_nodes_and_inside(tmp_path, dim, order, suffix):
    ds = run(dim, order)
    grid = read(ds.dg.to_vtk(tmp_path / f"out{suffix}"))
    elements, per = ds.sizes["element"], ds.sizes["node"]
    x, u = points(grid), values(grid, "u")
    assert len(x) == elements * per and grid.GetNumberOfCells() == elements + ds.sizes["boundary_face"]
    assert np.all(x[:, dim:] == 0) and u.dtype == np.float64
    np.testing.assert_allclose(u, polynomial(order, x[:, :dim]), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(values(grid, "v"), 2 * u, rtol=1e-11, atol=1e-12)
    types = [grid.GetCellType(cell) for cell in range(grid.GetNumberOfCells())]
    side = 1 if dim == 1 else {2: 68, 3: 69}[dim]
    assert types == [{1: 68, 2: 69, 3: 71}[dim]] * elements + [side] * ds.sizes["boundary_face"]
    rng = np.random.default_rng(order)
    for number in range(grid.GetNumberOfCells()):
        cell = grid.GetCell(number)
        ids = [cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())]
        place, weights = [0.0] * 3, [0.0] * len(ids)
        inside = np.zeros(3)
        inside[:cell.GetCellDimension()] = rng.dirichlet(np.ones(cell.GetCellDimension() + 1))[1:]
        cell.EvaluateLocation(vtk.reference(0), inside, place, weights)
        # At order 10 VTK's equispaced interpolation multiplies the rounding of the nodes by some hundreds.
        assert np.dot(weights, u[ids]) == pytest.approx(polynomial(order, np.array(place[:dim])), abs=1e-9)


@pytest.mark.parametrize("dim, order", [(2, 5), (3, 4)])
def test_probing_the_file_agrees_with_sample(tmp_path, dim, order):
    ds = run(dim, order)
    rng = np.random.default_rng(0)
    where = np.column_stack([rng.uniform(-0.9, 1.9, 40), *rng.uniform(0.1, 0.9, (dim - 1, 40))])
    cloud, places = vtk.vtkPolyData(), vtk.vtkPoints()
    places.SetDataTypeToDouble()
    for x in where:
        places.InsertNextPoint([*x, *[0.0] * (3 - dim)])
    cloud.SetPoints(places)
    probe = vtk.vtkProbeFilter()
    probe.SetInputData(cloud)
    probe.SetSourceData(read(ds.dg.to_vtk(tmp_path / "out.vtkhdf")))
    probe.Update()
    found = probe.GetOutput()
    assert np.all(vtk_to_numpy(found.GetPointData().GetArray("vtkValidPointMask")) == 1)
    np.testing.assert_allclose(values(found, "u"), ds.dg.sample(where).u[0], atol=1e-9)


@pytest.mark.parametrize("suffix", [".vtkhdf", ".vtu"])
def test_float32_stays_float32(tmp_path, suffix):
    ds = run(2, 6, dtype="float32")
    grid = read(ds.dg.to_vtk(tmp_path / f"out{suffix}"))
    assert values(grid, "u").dtype == np.float32 and points(grid).dtype == np.float64
    np.testing.assert_allclose(values(grid, "u"), polynomial(6, points(grid)[:, :2]), rtol=3e-6, atol=1e-6)


# Time


def test_all_snapshots_are_in_one_file_on_one_mesh(tmp_path):
    times = (0.0, 0.1, 0.25, 0.7)
    ds = run(2, 3, times, tmp_path / "out.zarr").assign(still=lambda ds: ds.u[2].drop_vars("time"))
    path = ds.dg.to_vtk(tmp_path / "out.vtkhdf")
    assert steps(path) == list(times)
    for t in (0.7, *times):
        grid = read(path, t)
        x = points(grid)[:, :2]
        np.testing.assert_allclose(values(grid, "u"), polynomial(3, x, t), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(values(grid, "still"), polynomial(3, x, 0.25), rtol=1e-12, atol=1e-12)
        assert field_data(grid, "units") == ["V/m", "normalised", "V/m"]
        assert np.count_nonzero(values(grid, "boundary", "Cell") == 0) == ds.sizes["element"]
    with h5py.File(path) as file:
        count = ds.sizes["element"] * ds.sizes["node"]
        assert file["VTKHDF/Points"].shape == (count, 3) and file["VTKHDF/PointData/u"].shape == (4 * count,)
        assert file["VTKHDF/PointData/still"].shape == (count,) and not file["VTKHDF/Steps/PointOffsets"][:].any()


def test_one_snapshot_can_be_chosen(tmp_path):
    ds = run(1, 2, (0.0, 0.5, 1.0))
    for name, time, t in (("a.vtu", None, 1.0), ("b.vtu", 0.52, 0.5), ("c.vtu", 0, 0.0), ("d.vtkhdf", 1, 0.5)):
        grid = read(ds.dg.to_vtk(tmp_path / name, "v", time))
        np.testing.assert_allclose(values(grid, "v"), 2 * polynomial(2, points(grid)[:, :1], t), rtol=1e-12)
        assert field_data(grid, "TimeValue") == [t] and not grid.GetPointData().HasArray("u")
    grid = read(ds.isel(time=1).dg.to_vtk(tmp_path / "e.vtkhdf"))
    np.testing.assert_allclose(values(grid, "u"), polynomial(2, points(grid)[:, :1], 0.5), rtol=1e-12)


class Recorded(xr.backends.BackendArray):
    """An array that notes how much is read of it at once."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.read = array, array.shape, array.dtype, []

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._get)

    def _get(self, key):
        self.read.append(self.array[key].size)
        return self.array[key]


@pytest.mark.parametrize("suffix, reads", [(".vtkhdf", 3), (".vtu", 1)])
def test_a_lazy_field_is_read_one_snapshot_at_a_time(tmp_path, monkeypatch, suffix, reads):
    monkeypatch.setattr("dgarray.output.vtk.lagrange.BLOCK_VALUES", 25)
    ds = run(2, 3, (0.0, 0.5, 1.0))
    source = Recorded(ds.u.values)
    lazy = ds.assign(u=(ds.u.dims, indexing.LazilyIndexedArray(source)))
    grid = read(lazy.dg.to_vtk(tmp_path / f"out{suffix}", ["u"]), 1.0 if suffix == ".vtkhdf" else None)
    assert source.read == [ds.u[0].size] * reads
    np.testing.assert_allclose(values(grid, "u"), polynomial(3, points(grid)[:, :2], 1.0), rtol=1e-12, atol=1e-12)


# Names


SIDES = {"left": (0, -1.0), "right": (0, 2.0), "front": (1, 0.0), "back": (1, 1.0), "bottom": (-1, 0.0), "top": (-1, 1.0)}


@pytest.mark.parametrize("suffix", [".vtkhdf", ".vtu"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_boundary_faces_keep_their_names_and_places(tmp_path, dim, suffix):
    ds = run(dim, 4)
    grid = read(ds.dg.to_vtk(tmp_path / f"out{suffix}"))
    names, number, x = field_data(grid, "boundary_names"), values(grid, "boundary", "Cell"), points(grid)
    assert names[0] == "elements" and sorted(names[1:]) == sorted(mesh(dim).boundaries)
    for code, name in enumerate(names[1:], 1):
        faces = np.flatnonzero(number == code)
        assert len(faces) == len(mesh(dim).boundaries[name])
        axis, place = SIDES[name]
        for face in faces:
            cell = grid.GetCell(face)
            ids = [cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())]
            assert cell.GetCellDimension() == dim - 1
            np.testing.assert_allclose(x[ids, axis if axis >= 0 else dim - 1], place, atol=1e-14)
    rows = ds.boundary_faces.values[:, 0]
    for name in ("cell_number", "region"):
        np.testing.assert_array_equal(values(grid, name, "Cell"), np.concatenate([ds[name], ds[name].values[rows]]))
    assert field_data(grid, "region_names") == ds.region.attrs["flag_meanings"].split() == ["rest", "inner_part"]
    assert field_data(grid, "long_names") == ["a field", "v"] and field_data(grid, "law") == ["none"]
    assert field_data(grid, "order") == [4]


@pytest.mark.parametrize("suffix", [".vtkhdf", ".vtu"])
def test_texts_beyond_ascii_and_values_per_element(tmp_path, suffix):
    ds = run(2, 1).drop_vars(["boundary_faces", "boundary", "region"]).assign_attrs(law='Möbius <&"> law', empty="")
    ds["élan"] = ds.u * 0 + 3
    ds["eps"] = "element", np.linspace(1, 2, ds.sizes["element"]).astype("float32")
    ds["inside"] = "element", np.arange(ds.sizes["element"]) % 2 == 0
    grid = read(ds.dg.to_vtk(tmp_path / f"ört{suffix}"))
    assert field_data(grid, "law") == ['Möbius <&"> law'] and field_data(grid, "empty") == [""]
    assert np.allclose(values(grid, "élan"), 3, rtol=1e-14) and field_data(grid, "boundary_names") == ["elements"]
    np.testing.assert_array_equal(values(grid, "eps", "Cell"), ds.eps)
    np.testing.assert_array_equal(values(grid, "inside", "Cell"), ds.inside)


# Files and errors


@pytest.mark.parametrize("suffix", [".vtkhdf", ".vtu"])
def test_an_interrupted_export_leaves_the_old_file_or_none(tmp_path, monkeypatch, suffix):
    ds, path = run(1, 2, (0.0, 1.0)), tmp_path / f"out{suffix}"
    original, calls = Grid.values, []

    def stopped(self, nodal):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, nodal)

    for old in (None, b"old"):
        calls.clear()
        if old:
            path.write_bytes(old)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Grid, "values", stopped)
            ds.dg.to_vtk(path, overwrite=True)
        assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == ([(path.name, old)] if old else [])
    with pytest.raises(ValueError, match="exists; choose another path, or allow it to be replaced with --overwrite"):
        ds.dg.to_vtk(path)
    assert values(read(ds.dg.to_vtk(path, overwrite=True)), "u").size == 9


def test_hdf5_reads_back_what_could_not_be_written(tmp_path):
    class Full(io.FileIO):
        def write(self, data):
            if self.tell() + len(data) > 100:
                raise OSError("full")
            return super().write(data)
    with Full(tmp_path / "file", "w+") as file:
        kept = output._Kept(file)
        for place, data in ((0, b"a" * 60), (60, b"b" * 60), (50, b"c" * 20)):
            kept.seek(place)
            kept.write(data)
        kept.seek(0)
        assert kept.read(130) == b"a" * 50 + b"c" * 20 + b"b" * 50 + bytes(10) and kept.seek(0, 2) == 120
        with pytest.raises(OSError, match="full"):
            kept.check()


FULL = """
import resource, sys
import xarray, dgarray
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for name in sys.argv[1:]:
    try:
        xarray.open_zarr("out.zarr").dg.to_vtk(name)
    except OSError as error:
        print(error)
"""


@pytest.mark.thorough
def test_a_full_disk_is_one_clear_error(tmp_path):
    names = "out.vtkhdf", "out.vtu"
    run(3, 5, (0.0, 1.0), tmp_path / "out.zarr")
    done = subprocess.run([sys.executable, "-c", FULL, *names], cwd=tmp_path, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and not done.stderr and len(lines) == 2, done.stderr
    for name, line in zip(names, lines):
        assert line.startswith(f"{name} cannot be written: ") and "File too large" in line
    assert os.listdir(tmp_path) == ["out.zarr"]


@pytest.mark.parametrize("arguments, message", [
    (("out.vtk",), r"out.vtk: the suffix '.vtk' is not known for a mesh; allowed: .vtkhdf \(all snapshots\), .vtu \(one\)"),
    (("out.vtu", ["uu"]), "variable 'uu' does not exist in the dataset; it has: u, v"),
    (("out.vtkhdf", None, 7.0), "time 7 is not in the dataset"),
    (("none/out.vtu",), "none/out.vtu cannot be made, because .*none is not a folder that can be written to"),
    (("folder.vtu",), "folder.vtu is a folder"),
    (("out.vtkhdf", "wave"), "variable 'wave' has the dims .*complex128; a VTK file takes real numbers"),
    (("out.vtkhdf", "a/b"), "the name 'a/b' holds a '/'"),
])
def test_errors_name_what_came_and_what_is_allowed(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.vtu").mkdir()
    ds = run(1, 1).assign(wave=lambda ds: ds.u * 1j).assign({"a/b": lambda ds: ds.u})
    with pytest.raises(ValueError, match=message):
        ds.dg.to_vtk(*arguments)
    assert os.listdir(tmp_path) == ["folder.vtu"]


def test_export_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "tm_cavity", "--order", "3", "--until", "0.2", "--every", "0.1", "--out", "a.zarr", "--quiet",
                 "--set", "cells=2", "--kernels", "array", "--backend", "numpy"]) == 0
    capsys.readouterr()
    assert main(["export", "a.zarr"]) == 0
    assert capsys.readouterr().out == "a.vtkhdf\n" and steps("a.vtkhdf") == [0.0, 0.1, 0.2]
    assert main(["export", "a.zarr/"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dgarray export: a.vtkhdf exists") and "--overwrite" in error and error.count("\n") == 1
    assert main(["export", "a.zarr", "--overwrite", "--time", "0.1"]) == 0 and steps("a.vtkhdf") == []
    assert main(["export", "a.zarr", "-o", "b.vtu", "--time", "0.1"]) == 0
    ds, grid = xr.open_zarr("a.zarr"), read("b.vtu")
    reference = simplex(2, 3)
    expected = ds.dg.values("Ez", 1) @ reference.interpolation(2 * node_order("triangle", 3) / 3 - 1).T
    np.testing.assert_allclose(values(grid, "Ez"), expected.ravel(), atol=1e-14)
    assert main(["export", "a.zarr", "-o", "c.txt"]) == 2 and "'.txt' is not known" in capsys.readouterr().err
    assert main(["export", "none.zarr"]) == 2 and "there is no output of a run" in capsys.readouterr().err
