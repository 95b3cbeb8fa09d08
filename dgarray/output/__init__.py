"""The result of a run: labelled datasets, zarr stores, checkpoints, the accessor `dg` and pictures."""
from dgarray.output.accessor import Accessor
from dgarray.output.dataset import RESERVED, Layout, dataset
from dgarray.output.grid_accessor import GridAccessor, accessor_of
from dgarray.output.grid_layout import GRID_RESERVED, GridLayout
from dgarray.output.pictures.live import Live
from dgarray.output.store.checksums import DamagedError
from dgarray.output.store.snapshots import Store, check_path, open_store
from dgarray.output.store.verify import verify
from dgarray.output.zones import ZonedLayout, open_output, store_of
from dgarray.support.atomic_write import OutputError

__all__ = ["GRID_RESERVED", "RESERVED", "Accessor", "DamagedError", "GridAccessor", "GridLayout", "Layout", "Live",
           "OutputError", "Store", "ZonedLayout", "accessor_of", "check_path", "dataset", "open_output", "open_store",
           "store_of", "verify"]
