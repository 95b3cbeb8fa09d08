"""A number that a run's dataset gives, a function of the user, and its derivatives by the values of the dataset."""
import numpy as np
import xarray as xr

from ...analysis.fourier import Fourier
from ...analysis.tracked_arrays import Tracked, adjoints

BESIDE = "time_span", "largest", "areas"          # of records of transforms, which have no derivatives


def by_data(misfit, dataset, record):
    """(J, {zone: {name of a variable: derivatives by its values}}) of a dataset, or of a tree of zones.

    misfit   function of the dataset;  record: {name: recorder}
    Raises ValueError unless J is one finite real number that depends on the run."""
    pieces = zones_of(dataset)
    transforms = [name for name, recorder in record.items() if isinstance(recorder, Fourier)]
    beside = {f"{name}_{what}" for name in transforms for what in BESIDE}
    leaves = {zone: {name: Tracked(np.asarray(data.values)) for name, data in ds.data_vars.items()
                     if data.dtype.kind in "fc" and name not in beside} for zone, ds in pieces.items()}
    pieces = {zone: ds.assign({name: (ds[name].dims, leaf, ds[name].attrs) for name, leaf in leaves[zone].items()})
              for zone, ds in pieces.items()}
    followed = pieces[None] if None in pieces else xr.DataTree.from_dict({str(zone): ds for zone, ds in pieces.items()})
    found = misfit(followed)
    found = found.data if isinstance(found, xr.DataArray) else found
    if not isinstance(found, Tracked) or found.ndim or found.dtype.kind != "f":
        what = (f"has the shape {found.shape} and the type {found.dtype}" if isinstance(found, Tracked) else
                f"is {found!r}, which does not depend on the run")
        raise ValueError(f"the misfit {what}; it must be one real number, made from the dataset by NumPy's functions")
    if not np.isfinite(found.value):
        raise ValueError(f"the misfit is {float(found.value)}; it must be finite")
    return float(found.value), {zone: dict(zip(own, adjoints(found, list(own.values())))) for zone, own in leaves.items()}


def zones_of(dataset):
    """{zone: dataset} of a tree, {None: dataset} of a dataset."""
    if isinstance(dataset, xr.Dataset):
        return {None: dataset}
    return {name: node.to_dataset() for name, node in dataset.children.items()}
