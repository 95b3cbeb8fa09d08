"""One snapshot of a dataset as an object of PyVista: the cells and arrays of the VTK files, without a file."""
import numpy as np


def need_pyvista():
    """The module pyvista. Raises ImportError, which says how to install it, where it is missing."""
    try:
        import pyvista
    except ImportError as error:
        raise ImportError("to_pyvista needs PyVista; install it with: pip install 'dgarray[volume]'") from error
    return pyvista


def to_pyvista(kind, data, variables=None, time=-1):
    """One snapshot as a pyvista.UnstructuredGrid or ImageData, see `Accessor.to_pyvista`; kind, data: as of `export`."""
    pyvista = need_pyvista()
    frame = kind(data, variables)
    (step,), _ = frame.snapshots(time, True)
    result = frame.geometry_pyvista(pyvista)
    arrays = result.point_data if frame.group == "PointData" else result.cell_data
    for name in frame.fields:
        arrays[name] = np.concatenate([values.ravel() for values in frame.values(name, step)])
    for name, values in frame.cell_data.items():
        result.cell_data[name] = values
    for name, values in frame.field_data.items():
        result.field_data[name] = values
    if frame.fields:          # the first one is drawn
        result.set_active_scalars(next(iter(frame.fields)))
    return result
