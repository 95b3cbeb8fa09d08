"""The result of a run: labelled datasets, zarr stores, checkpoints, the accessor `ds.dg` and pictures."""
from dgarray.output.accessor import Accessor
from dgarray.output.dataset import RESERVED, Layout, dataset
from dgarray.output.grid_accessor import GridAccessor
from dgarray.output.grid_layout import GRID_RESERVED, GridLayout
from dgarray.output.live import Live
from dgarray.output.store import OutputError, Store, check_path

__all__ = ["GRID_RESERVED", "RESERVED", "Accessor", "GridAccessor", "GridLayout", "Layout", "Live",
           "OutputError", "Store", "check_path", "dataset"]
