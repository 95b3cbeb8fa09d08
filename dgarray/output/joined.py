"""Datasets of several runs that xarray has joined along a new dim, as of a parameter study."""
from dgarray.output.dataset import AXES, RESERVED

NEEDED = "dim", "order", "cell_type"
DIMS = "element", "node", "mesh_node", "mesh_vertex", "geometry_node", "boundary_face", "cell_and_face"          # of a mesh


def check_attributes(ds):
    """Raise ValueError for a dataset without the attributes that say what it is."""
    missing = [name for name in NEEDED if name not in ds.attrs]
    if missing:
        raise ValueError(f"this dataset is not one of dgarray: it has no attribute {missing[0]!r}; if it was one, keep its "
                         "attributes: combine_attrs='override' in xr.concat and xr.merge, xr.set_options(keep_attrs=True)")


def on_one_mesh(ds):
    """The dataset with its mesh once, where `xr.concat` has repeated it for each run.

    Raises ValueError if the runs have different meshes."""
    if ds.attrs["cell_type"] == "grid":
        return ds
    mesh = ds[[name for name in RESERVED if name in ds.variables and name != "time"]]
    for dim in [dim for dim in mesh.dims if dim not in DIMS]:
        repeated = mesh[[name for name in mesh.variables if dim in mesh[name].dims]]
        first = repeated.isel({dim: 0}, drop=True)
        if not all((repeated.variables[name] == variable).all() for name, variable in first.variables.items()):
            raise ValueError(f"this dataset holds runs on different meshes along {dim!r}; choose one, ds.isel({dim}=0).dg")
        mesh = mesh.drop_vars(list(first.variables)).assign(first.variables)
        ds = ds.drop_vars(list(first.variables)).assign(first.variables).set_coords(
            [name for name in first.variables if name in ds.coords])
    return ds


def check_cells(cells, points):
    """Raise ValueError if numbers of corners (element, corner) have become others, as by `run1 - run2`."""
    numbers = cells.size == 0 or cells.dtype.kind in "iu" and cells.min() >= 0 and cells.max() < points
    if not numbers or (cells[:, 0] == cells[:, 1]).any():
        raise ValueError("the mesh of this dataset has been changed by arithmetic with whole datasets; compute with fields "
                         "instead, as in run1.assign(Ez=run1.Ez - run2.Ez)")


def check_one_run(field, dims=()):
    """Raise ValueError if a field has other dims than those of one run: a picture or a file shows one."""
    dims = {"time", "element", "node", *AXES, *dims}
    more = [dim for dim in field.dims if dim not in dims]
    if more:
        raise ValueError(f"{field.name} has values for several runs, along {', '.join(map(repr, more))}; choose one, "
                         f"ds.isel({', '.join(f'{dim}=0' for dim in more)}).dg")
