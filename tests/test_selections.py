"""What xarray does to the data of a run, on one dataset, a tree of zones, a mixed mesh and a grid: `.dg` works, or refuses."""
import io
import pickle
import re

import h5py
import numpy as np
import pytest
import xarray as xr

import dgarray as dg
from dgarray.analysis.farfield import near_to_far

POINT = [(0.3, 0.35)]
MESHES = {
    "dataset": (lambda: dg.rectangle(cells=4), dg.NodalDG(2)),
    "tree": (lambda: dg.rectangle(cells=4).with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5}),
             dg.NodalDG({"a": 1, "b": 2})),
    "mixed": (lambda: dg.rectangle(cells=4, shape="mixed"), dg.NodalDG(2)),
    "grid": (lambda: dg.Grid((0.0, 0.0), (1.0, 1.0), (4, 4)), dg.FiniteVolume("muscl")),
}


@pytest.fixture(scope="module")
def runs():
    found = {}
    for kind, (mesh, method) in MESHES.items():
        sim = dg.Simulation(mesh(), dg.Acoustics(2), method, dg.wall, lambda x: (np.sin(x[0] + 2 * x[1]), 0 * x[0], 0 * x[0]),
                            kernels="array")
        found[kind] = sim.run(until=0.02, every=0.01)
    return found


def each(function):
    """The function of all datasets of a tree, or of one."""
    def of(data):
        if not isinstance(data, xr.DataTree):
            return function(data)
        return xr.DataTree.from_dict({name: function(node.to_dataset()) for name, node in data.children.items()})
    return of


def on(mesh, grid):
    """Another function on meshes than on grids."""
    return each(lambda ds: (mesh if "node" in ds.dims else grid)(ds))


def stored(data, path):
    data.to_zarr(path / "a.zarr")
    return (xr.open_datatree if isinstance(data, xr.DataTree) else xr.open_dataset)(path / "a.zarr", engine="zarr")


def netcdf(ds):
    return xr.open_dataset(io.BytesIO(ds.to_netcdf(engine="scipy")))


BACK = slice(None, None, -1)
ALL = np.array([0, 1, 2])
# What is done: which snapshots the result has, or a number for one, or weights (result, snapshot) of them.
WORKS = {
    "one time": (lambda d: d.isel(time=0), 0), "one time by value": (lambda d: d.sel(time=0.01), 1),
    "the nearest time": (lambda d: d.sel(time=0.012, method="nearest"), 1),
    "a list of one time": (lambda d: d.isel(time=[1]), [1]),
    "a slice of times": (lambda d: d.isel(time=slice(1, None)), [1, 2]),
    "times by value": (lambda d: d.sel(time=slice(0, 0.012)), [0, 1]),
    "times turned round": (lambda d: d.isel(time=BACK), [2, 1, 0]), "drop=True": (each(lambda d: d.isel(time=0, drop=True)), 0),
    "sortby time": (each(lambda d: d.sortby("time", ascending=False)), [2, 1, 0]),
    "tail": (each(lambda d: d.tail(time=1)), [2]),
    "concat over time": (lambda d: xr.concat([d.isel(time=[0]), d.isel(time=[1, 2])], dim="time"), ALL),
    "transpose": (each(lambda d: d.transpose()), ALL), "reset_coords": (each(lambda d: d.reset_coords()), ALL),
    "astype": (each(lambda d: d.astype("float32")), ALL),
    "astype of a field": (each(lambda d: d.assign(p=d.p.astype("f4"))), ALL),
    "mean": (each(lambda d: d.mean("time")), np.ones(3) / 3),
    "coarsen": (each(lambda d: d.coarsen(time=3).mean()), np.ones((1, 3)) / 3),
    "interp": (each(lambda d: d.interp(time=[0.005])), [[0.5, 0.5, 0]]),
    "diff": (each(lambda d: d.diff("time")), [[-1, 1, 0], [0, -1, 1]]),
    "cumsum": (each(lambda d: d.cumsum("time")), np.tri(3)),
    "a field times 2": (each(lambda d: d.assign(p=2 * d.p)), 2 * np.eye(3)),
    "sortby": (on(lambda d: d.sortby(d.cell_number, ascending=False), lambda d: d.sortby("x")), ALL),
    "elements turned round": (on(lambda d: d.isel(element=BACK), lambda d: d), ALL),
    "drop x": (each(lambda d: d.drop_vars("x")), ALL),
    "another field": (each(lambda d: d.assign(twice=2 * d.p)), ALL), "fillna": (each(lambda d: d.fillna(0)), ALL),
    "copy": (lambda d: d.copy(deep=True), ALL), "pickle": (lambda d: pickle.loads(pickle.dumps(d)), ALL),
    "chunk": (lambda d: d.chunk(time=1), ALL), "drop time": (each(lambda d: d.drop_vars("time")), ALL),
    "swap_dims": (each(lambda d: d.assign_coords(step=("time", ALL)).swap_dims(time="step")), ALL),
    "rename time": (each(lambda d: d.rename(time="t")), ALL), "a store": (stored, ALL),
    "netCDF": (each(netcdf), ALL),
}


@pytest.mark.parametrize("what", WORKS)
@pytest.mark.parametrize("kind", MESHES)
def test_what_works(kind, what, runs, tmp_path):
    """Snapshots of the result are those of the run, or sums of them: point values follow, and norms where there is one."""
    data, (function, rows) = runs[kind], WORKS[what]
    chosen = function(data, tmp_path) if what == "a store" else function(data)
    values, norms = data.dg.sample(POINT).p.values[:, 0], data.dg.norm("p", time=None).values
    rows = np.asarray(rows)
    weights = rows if rows.dtype.kind == "f" or rows.ndim > 1 else np.eye(3)[rows]
    assert np.allclose(chosen.dg.sample(POINT).p.values, (weights @ values)[..., None], rtol=1e-6, atol=1e-7)
    if (np.count_nonzero(weights, axis=-1) == 1).all():
        assert np.allclose(chosen.dg.norm("p", time=None), weights @ norms, rtol=1e-6)
        last = chosen.dg.norm("p")
        assert what in ("swap_dims", "rename time") or last == pytest.approx(np.atleast_2d(weights)[-1] @ norms, rel=1e-6)


@pytest.mark.parametrize("dim", ["m", xr.IndexVariable("m", [1, 2])])
@pytest.mark.parametrize("kind", MESHES)
def test_runs_side_by_side(kind, dim, runs):
    run = runs[kind]
    both = xr.concat([run, each(lambda d: d.assign(p=2 * d.p))(run)], dim=dim)
    assert np.allclose(both.dg.norm("p", time=None), np.outer([1, 2], run.dg.norm("p", time=None)))
    assert np.allclose(both.dg.sample(POINT, time=-1).p[:, 0], np.multiply([1, 2], run.dg.sample(POINT, time=-1).p[0].item()))


@pytest.mark.parametrize("kind", MESHES)
def test_times_after_a_selection(kind, runs):
    run = runs[kind]
    assert run.isel(time=BACK).dg.norm("p", time=0.01) == run.dg.norm("p", time=1) and run.dg.index(0.02) == 2
    for data in (run, run.isel(time=BACK)):
        with pytest.raises(ValueError, match="^time 77 is not in the dataset; it has t = 0 to 0.02$"):
            data.dg.norm("p", time=77.0)
    with pytest.raises(ValueError, match="^the dataset holds no snapshot yet$"):
        run.isel(time=[]).dg.norm("p")


NODES, LOST = "^the nodes of this dataset are not those", "^this dataset has lost 'mesh"
ARITHMETIC = "^the mesh of this dataset has been changed by arithmetic"
GRID, PART, DIM = "^the cells of this dataset along x are not those", "need the whole grid$", "^this dataset has no dim"
# What is done, and the message on meshes and on grids; None where it works, or does not exist.
REFUSED = {
    "nodes turned round": (lambda d: d.isel(node=BACK), None, NODES, None),
    "x turned round": (None, lambda d: d.isel(x=BACK), None, GRID),
    "rolled": (lambda d: d.roll(element=1), lambda d: d.roll(x=1, roll_coords=True), NODES, GRID),
    "an element twice": (
        lambda d: d.isel(element=[0, 1, 0]), None, "holds 1 of its elements more than once, as number 0", None),
    "x moved": (lambda d: d.assign_coords(x=d.x + 1), lambda d: d.assign_coords(x=d.x + 1), NODES, GRID),
    "one node": (lambda d: d.isel(node=0), lambda d: d.isel(y=0), DIM, PART),
    "a reduction": (lambda d: d.max("element"), lambda d: d.max("x"), DIM, PART),
    "another name of a dim": (lambda d: d.rename(element="cell"), lambda d: d.rename(x="lon"), DIM, PART),
    "stack": (lambda d: d.stack(dof=("element", "node")), lambda d: d.stack(xy=("x", "y")), DIM, PART),
    "a choice of variables": (lambda d: d[["p"]], None, LOST, None),
    "where": (lambda d: d.where(d.x < 0.6), lambda d: d.where(d.x < 0.6, drop=True), ARITHMETIC, PART),
    "arithmetic": (lambda d: 2 * d, None, ARITHMETIC, None),
    "a difference": (lambda d: d - d, None, ARITHMETIC, None),
    "interp over elements": (lambda d: d.interp(element=[0.5]), lambda d: d.interp(x=[0.5]), ARITHMETIC, PART),
    "another name of a field": (
        lambda d: d.rename(p="q"), lambda d: d.rename(p="q"), *2 * ["'p' does not exist in the dataset"]),
    "no attributes": (lambda d: d.drop_attrs(), lambda d: d.drop_attrs(), *2 * ["is not one of dgarray"]),
}


@pytest.mark.parametrize("kind, what", [(kind, what) for kind in MESHES for what in REFUSED
                                        if REFUSED[what][kind == "grid"] is not None])
def test_what_is_refused(kind, what, runs):
    on_mesh, on_grid, *messages = REFUSED[what]
    function, words = (on_grid, messages[1]) if kind == "grid" else (on_mesh, messages[0])
    chosen = each(function)(runs[kind])
    with pytest.raises(ValueError) as caught:
        chosen.dg.norm("p")
    assert re.search(words, str(caught.value)) and "\n" not in str(caught.value)


def some(ds):
    """All with two nodes or more on the bottom but one, from the last to the first."""
    return ds.isel(element=np.flatnonzero((ds.y < 1e-9).sum("node") > 1)[:0:-1])


def rejoined(ds):
    return xr.concat([ds.isel(element=slice(1, None)), ds.isel(element=[0])], "element", data_vars="all")


ELEMENTS = {"turned round": lambda d: d.isel(element=BACK), "some": some,
            "rejoined": rejoined, "without x": lambda d: d.drop_vars("x"), "netCDF": netcdf}


@pytest.mark.parametrize("what", ELEMENTS)
@pytest.mark.parametrize("kind", ["dataset", "tree", "mixed"])
def test_boundaries_follow_their_elements(kind, what, runs, tmp_path):
    """The faces of a boundary are those of the elements that are left, with their values, also in files."""
    def rows(data):
        found = data.dg.surface("bottom", time=1)
        places = [found[name].values for name in ("x", "y", "p", "normal_x", "normal_y")]
        return {tuple(row) for row in np.round(np.stack(np.broadcast_arrays(*[
            each if each.ndim == 2 else each[:, None] for each in places])), 9).reshape(5, -1).T.tolist()}
    chosen = each(ELEMENTS[what])(runs[kind])
    whole, part = rows(runs[kind]), rows(chosen)
    assert 0 < len(part) < len(whole) and part < whole if what == "some" else part == whole
    means = [data.dg.cell_mean("p", time=1) for data in (runs[kind], chosen)]
    assert set(np.round(means[1].values, 9)) <= set(np.round(means[0].values, 9))
    assert what == "some" or chosen.dg.to_ugrid().p.sum() == pytest.approx(runs[kind].dg.to_ugrid().p.sum().item())
    path = chosen.dg.to_vtk(tmp_path / "a.vtkhdf")
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        number = [name.decode() for name in root["FieldData/boundary_names"][:]].index("bottom")
        ends, faces = root["Offsets"][:], np.flatnonzero(root["CellData/boundary"][:] == number)
        assert len(faces) == chosen.dg.surface("bottom").sizes["face"]
        for face in faces:
            assert np.allclose(root["Points"][:][root["Connectivity"][ends[face]:ends[face + 1]], 1], 0)


def test_stores_without_numbers_of_elements_say_what_they_cannot():
    """Those of earlier versions."""
    run = dg.Simulation(dg.rectangle(cells=2), dg.Acoustics(2), dg.NodalDG(1), dg.wall, lambda x: (x[0], 0 * x[0], 0 * x[0]),
                        kernels="array").run(until=0.001)
    old = run.drop_vars("element_number")
    assert old.dg.surface("right").equals(run.dg.surface("right"))
    with pytest.raises(ValueError, match="^boundary_faces names the element 7 of 2; this selection of elements goes on"):
        old.isel(element=[0, 1]).dg.surface("right")


@pytest.mark.parametrize("shape, method", [("triangle", dg.NodalDG(2)), ("quadrilateral", dg.TensorDG(2))])
def test_far_fields_of_records_in_another_order(shape, method):
    """Faces may be in any order, and the nodes of all faces turned round; in another order they are refused."""
    mesh = dg.rectangle((-1, -1), (1, 1), 2, shape=shape)
    sim = dg.Simulation(mesh, dg.Acoustics(2), method, dg.absorbing, lambda x: (np.exp(-x[0] ** 2 - x[1]), 0 * x[0], 0 * x[0]),
                        kernels="array", record={"around": dg.Fourier([0.2], boundary=tuple(mesh.boundaries))})
    record, u = sim.run(until=0.1).dg.record("around"), [(1.0, 0.0), (0.6, 0.8)]
    expected = near_to_far(record, u).p.values
    assert np.abs(expected).min() > 0
    for turned in (record.isel(face=BACK), record.isel(face_node=BACK)):
        assert np.allclose(near_to_far(turned, u).p.values, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="^the nodes of the faces of this record are not in their order"):
        near_to_far(record.isel(face_node=[1, 0, 2]), u)


def test_records_may_have_the_names_of_fields():
    sim = dg.Simulation(dg.rectangle(cells=2), dg.Acoustics(2), dg.NodalDG(1), dg.wall,
                        lambda x: (1 + 0 * x[0], 0 * x[0], 0 * x[0]), kernels="array",
                        record={"p": dg.Points(POINT), "x": dg.Points(POINT)})
    ds = sim.run(until=0.01)
    assert np.allclose(ds.dg.record("p").p, 1) and np.allclose(ds.dg.record("x").p, 1) and np.allclose(ds.p, 1)


def test_slices_through_curved_cells_know_the_order_of_their_nodes():
    mesh = dg.rectangle(cells=3).mapped(lambda x: (x[0] + 0.1 * x[1] ** 2, x[1]), 2)
    sim = dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(3), dg.wall, lambda x: (1 + x[0], 0 * x[0], 0 * x[0]),
                        kernels="array")
    cut = sim.run(until=1e-9).dg.slice("y=0.3")
    assert np.isclose(cut.dg.integral("p"), 1.509, rtol=1e-3)          # of 1 + x from 0.009 to 1.009
    with pytest.raises(ValueError, match="not those of its mesh in their order"):
        cut.isel(node=slice(None, None, -1)).dg.norm("p")
