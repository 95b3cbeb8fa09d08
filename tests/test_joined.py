"""Runs that xarray has joined, changed or stored: `ds.dg` works, or says in a line what to do."""
import numpy as np
import pytest
import xarray as xr

import dgarray as dg

FAST = {"backend": "numpy", "kernels": "array", "threads": 1}


def run(eps, mesh=None):
    return dg.Simulation(mesh or dg.rectangle(cells=2), dg.Maxwell(2, eps=eps), dg.NodalDG(2), dg.pec, until=0.1,
                         initial=lambda x: (0 * x[0], 0 * x[0], np.exp(-eps * x[0] ** 2)),
                         record={"ears": dg.Points([(0.2, 0.3)])}, **FAST).run(every=0.05)


@pytest.fixture(scope="module")
def runs():
    return run(1.0), run(2.0)


@pytest.fixture(scope="module")
def study(runs):
    return xr.concat(runs, dim=xr.IndexVariable("eps", [1.0, 2.0]))


def same(ds, alone):
    """Whether `dg` finds in this dataset what it finds in the run alone."""
    assert ds.dg.norm("Ez") == alone.dg.norm("Ez")
    np.testing.assert_array_equal(ds.dg.sample([(0.1, 0.2)]).Ez, alone.dg.sample([(0.1, 0.2)]).Ez)
    np.testing.assert_array_equal(ds.dg.record("ears").Ez, alone.dg.record("ears").Ez)


def test_one_run_of_a_study(runs, study, tmp_path):
    one = study.sel(eps=2.0)
    same(one, runs[1])
    assert one.dg.plot("Ez", path=tmp_path / "Ez.png").exists() and one.dg.to_vtk(tmp_path / "one.vtkhdf").exists()
    with xr.set_options(use_new_combine_kwarg_defaults=True):
        same(xr.concat(runs, dim="case").isel(case=0), runs[0])
    study.to_zarr(tmp_path / "study.zarr")
    same(xr.open_zarr(tmp_path / "study.zarr").sel(eps=1.0), runs[0])
    study.to_netcdf(tmp_path / "study.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "study.nc", engine="scipy") as ds:
        same(ds.isel(eps=1), runs[1])


def test_numbers_of_all_runs_of_a_study(runs, study):
    assert study.dg.norm("Ez").values.tolist() == [ds.dg.norm("Ez") for ds in runs]
    assert study.dg.norm("Ez", time=None).dims == ("eps", "time") and study.dg.surface("left").Ez.dims[0] == "eps"
    np.testing.assert_array_equal(study.dg.sample([(0.1, 0.2)], time=-1).Ez[1], runs[1].dg.sample([(0.1, 0.2)], time=-1).Ez)
    assert study.assign(square=study.Ez ** 2).dg.norm("square").shape == (2,)


def test_what_shows_one_run_asks_for_one(study, tmp_path):
    for show in (lambda ds: ds.dg.plot("Ez"), lambda ds: ds.dg.animate("Ez", tmp_path / "a.gif"),
                 lambda ds: ds.dg.to_vtk(tmp_path / "a.vtkhdf"), lambda ds: ds.dg.error(lambda x, t: (0, 0, 0))):
        with pytest.raises(ValueError, match=r"values for several runs, along 'eps'; choose one, ds\.isel\(eps=0\)\.dg"):
            show(study)


def test_runs_on_grids(tmp_path):
    def on_grid(height):
        return dg.Simulation(dg.Grid((0, 0), (1, 1), (4, 4)), dg.Acoustics(2), dg.Hermite(1, derivatives=True), dg.wall,
                             lambda x: (height + 0 * x[0], 0 * x[0], 0 * x[0]), until=0.1, **FAST).run()
    both = xr.concat([on_grid(1.0), on_grid(2.0)], dim="case")
    assert both.dg.norm("p").values == pytest.approx([1, 2]) and both.isel(case=1).dg.norm("p") == pytest.approx(2)
    assert both.isel(case=0).dg.plot("p", path=tmp_path / "p.png").exists()
    with pytest.raises(ValueError, match="several runs"):
        both.dg.plot("p")


def test_runs_on_different_meshes(runs):
    both = xr.concat([run(1.0, dg.rectangle(cells=2, perturb=0.1, seed=seed)) for seed in (1, 2)], dim="case")
    assert both.isel(case=1).dg.norm("Ez") > 0
    with pytest.raises(ValueError, match="runs on different meshes along 'case'; choose one"):
        both.dg.norm("Ez")


def test_copies_selections_and_merged_fields(runs):
    ds, other = runs
    assert ds.copy(deep=True).dg.norm("Ez") == ds.sel(time=0.1, method="nearest").dg.norm("Ez") == ds.dg.norm("Ez")
    more = xr.merge([ds, other.Ez.rename("Ez2").to_dataset()], compat="override")
    assert more.dg.norm("Ez2") == other.dg.norm("Ez")
    assert ds.assign(change=ds.Ez - other.Ez).dg.norm("change") > 0.01


def test_what_has_lost_its_mesh_or_its_attributes_says_so(runs):
    for changed in (runs[0] - runs[1], 2 * runs[0], runs[0] / 2):
        with pytest.raises(ValueError, match="mesh of this dataset has been changed by arithmetic"):
            changed.dg.norm("Ez")
    with pytest.raises(ValueError, match="keep its attributes: combine_attrs='override'"):
        xr.concat(runs, dim="case", combine_attrs="drop").dg.norm("Ez")
