"""One snapshot of a dataset as an object of PyVista: the cells and arrays of the VTK files, without a file."""
import numpy as np

from dgarray.output.cf_flags import joined_flags
from dgarray.output.vtk.files import field_data_of, fields_of, grid_of, joined, nodal, snapshots
from dgarray.output.vtk.grids import Image


def need_pyvista():
    """The module pyvista. Raises ImportError, which says how to install it, where it is missing."""
    try:
        import pyvista
    except ImportError as error:
        raise ImportError("to_pyvista needs PyVista; install it with: pip install 'dgarray[volume]'") from error
    return pyvista


def cells(datasets, variables=None, time=-1):
    """Datasets on meshes, one for each shape of cells, as a pyvista.UnstructuredGrid, see `Accessor.to_pyvista`."""
    pyvista, datasets = need_pyvista(), joined_flags(datasets, "region")
    fields = [fields_of(one, variables, ("element", "node")) for one in datasets]
    (step,), times = snapshots(datasets[0], time, True)
    grid, cell_data, field_data = joined([grid_of(one, list(fields[0])) for one in datasets])
    if times is not None:
        field_data["TimeValue"] = times
    connectivity, offsets, types = grid.topology()
    result = pyvista.UnstructuredGrid(np.insert(connectivity, offsets[:-1], np.diff(offsets)), types,
                                      np.concatenate(list(grid.coordinates())))
    for name in fields[0]:
        result.point_data[name] = np.concatenate(list(grid.values([nodal(own[name], step) for own in fields])))
    for name, values in cell_data.items():
        result.cell_data[name] = values
    return _with(result, field_data, fields[0])


def image(ds, variables=None, time=-1):
    """A dataset on a grid as a pyvista.ImageData, see `GridAccessor.to_pyvista`."""
    pyvista = need_pyvista()
    fields = fields_of(ds, variables, ds.dg.axes[::-1])
    (step,), times = snapshots(ds, time, True)
    field_data = field_data_of(ds, list(fields))
    if times is not None:
        field_data["TimeValue"] = times
    image = Image(ds.dg.lattice)
    result = pyvista.ImageData(dimensions=[bound + 1 for bound in image.extent[1::2]], spacing=image.spacing,
                               origin=image.origin)
    arrays = result.cell_data if image.cells else result.point_data
    for name in fields:
        arrays[name] = image.values(ds, name, step).ravel()
    return _with(result, field_data, fields)


def _with(result, field_data, fields):
    """The object with its field data, and the first field as the one that is drawn."""
    for name, values in field_data.items():
        result.field_data[name] = values
    if fields:
        result.set_active_scalars(next(iter(fields)))
    return result
