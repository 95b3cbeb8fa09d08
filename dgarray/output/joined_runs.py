"""Datasets of several runs that xarray has joined along a new dim, as of a parameter study."""
import numpy as np

from dgarray.mesh.curved import cell_maps
from dgarray.mesh.elements import Elements
from dgarray.output.dataset import AXES, LOCATIONS, RESERVED

NEEDED = "dim", "order", "cell_type"
DATA = "mesh", "_nodes", "_faces", "_types"          # ends of the names of a mesh's arrays that are no coordinates
DIMS = "element", "node", "mesh_node", "mesh_vertex", "geometry_node", "boundary_face", "cell_and_face"          # of a mesh


def check_attributes(ds):
    """Raise ValueError for a dataset without the attributes that say what it is."""
    missing = [name for name in NEEDED if name not in ds.attrs]
    if missing:
        raise ValueError(f"this dataset is not one of dgarray: it has no attribute {missing[0]!r}; if it was one, keep its "
                         "attributes: combine_attrs='override' in xr.concat and xr.merge, xr.set_options(keep_attrs=True)")


def on_one_mesh(ds):
    """The dataset with its mesh once, where `xr.concat` has repeated it for each run, its arrays in the order of their dims.

    Raises ValueError if the runs have different meshes. A dataset without cells, as of points, stays as it is."""
    coords = [name for name in RESERVED if name in ds.data_vars and not name.endswith(DATA)]
    ds = ds.set_coords(coords) if coords else ds
    if ds.attrs["cell_type"] == "grid":
        return ds
    connectivity = f"mesh_{LOCATIONS[int(ds.attrs['dim'])]}_nodes"
    if connectivity not in ds.variables or not {"element", "node"} <= set(ds.dims):
        return ds
    if ds[connectivity].dims[-2:] != ("element", "mesh_vertex"):
        ds = ds.transpose(..., *(dim for dim in DIMS if dim in ds.dims))
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


def check_mesh(ds):
    """Raise ValueError for a dataset without its mesh, or without its dims."""
    lost = [dim for dim in ("element", "node") if dim not in ds.dims]
    if lost:
        raise ValueError(f"this dataset has no dim {lost[0]!r}, so that its values are no polynomials on cells; keep the dims "
                         "and their names, and choose cells by a list, ds.isel(element=[0])")
    dim = int(ds.attrs["dim"])
    axes = ds.attrs["axes"].split() if "axes" in ds.attrs else AXES[:dim]
    connectivity = f"mesh_{LOCATIONS[dim]}_nodes"
    lost = [name for name in (*(f"mesh_node_{axis}" for axis in axes), connectivity) if name not in ds.variables]
    if lost:
        raise ValueError(f"this dataset has lost {lost[0]!r}, a part of its mesh; drop what is not wanted, "
                         "ds.drop_vars([...]), rather than choose, ds[[...]]")


def check_cells(cells, points):
    """Corner numbers of the elements, (element, corner). Raises ValueError where they are no longer valid, as after arithmetic
    on whole datasets such as `run1 - run2`."""
    if cells.dtype.kind == "f" and points < 2 ** np.finfo(cells.dtype).nmant and (cells == np.rint(cells)).all():
        cells = cells.astype(np.int64)          # of ds.astype
    numbers = cells.size == 0 or cells.dtype.kind in "iu" and cells.min() >= 0 and cells.max() < points
    if not numbers or (cells[:, 0] == cells[:, 1]).any():
        raise ValueError("the mesh of this dataset has been changed by arithmetic with whole datasets, or by ds.where; compute "
                         "with fields instead, as in run1.assign(Ez=run1.Ez - run2.Ez)")
    return cells


def check_once(ds):
    """Raise ValueError for a dataset that holds an element twice, whose sums would count it twice."""
    numbers = ds["element_number"].values if "element_number" in ds.variables else np.arange(0)
    found, counts = np.unique(numbers, return_counts=True)
    if len(found) < len(numbers):
        raise ValueError(f"this dataset holds {len(numbers) - len(found)} of its elements more than once, as number "
                         f"{found[counts.argmax()]:g}; choose each once")


def check_nodes(ds, elements, nodes, axes):
    """Raise ValueError unless the nodes of some elements lie where the maps of `elements` have `nodes`, those of the reference
    cell: where they do not, they have another order, or have been moved.

    A slice through curved cells (`ds.dg.slice`) has flat pieces, and x, y, z on the curved cells: there a node need only be
    nearest to its own place of all nodes of the element."""
    count = ds.sizes["element"]
    if not count or any(axis not in ds.coords for axis in axes):
        return
    some = np.unique([0, count // 2, count - 1])
    of_maps = None if elements.geometry_nodes is None else elements.geometry_nodes[some]
    part = Elements(elements.points, elements.cells[some], elements.numbers[some], of_maps)
    x = np.stack([ds[axis].isel(element=some).transpose("element", "node").values for axis in axes])
    there = np.swapaxes(cell_maps.positions(part, nodes), 1, 2)
    close = 1e-3 * (np.ptp(there, axis=2).max(axis=0)[:, None] + 1e-2 * np.abs(there).max())          # they may be float32
    right = x.shape == there.shape
    if right and "plane" in ds.attrs:
        distances = np.linalg.norm(x[..., None] - there[:, :, None], axis=0)
        right = (np.diagonal(distances, axis1=1, axis2=2) <= distances.min(axis=2) + close).all()
    elif right:
        right = (np.abs(x - there) <= close).all()
    if not right:
        raise ValueError("the nodes of this dataset are not those of its mesh in their order, so that its values belong to "
                         "other places; keep the dim 'node' whole and in its order, and x, y, z as they are")


def check_one_run(field, dims=()):
    """Raise ValueError if a field has other dims than those of one run: a picture or a file shows one."""
    dims = {"time", "element", "node", *AXES, *dims}
    more = [dim for dim in field.dims if dim not in dims]
    if more:
        raise ValueError(f"{field.name} has values for several runs, along {', '.join(map(repr, more))}; choose one, "
                         f"ds.isel({', '.join(f'{dim}=0' for dim in more)}).dg")
