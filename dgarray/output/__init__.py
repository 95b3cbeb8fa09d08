"""The result of a run: labelled datasets, zarr stores, the accessor `ds.dg` and pictures."""
from dgarray.output.accessor import Accessor
from dgarray.output.dataset import Layout, dataset
from dgarray.output.store import Store, check_path

__all__ = ["Accessor", "Layout", "Store", "check_path", "dataset"]
