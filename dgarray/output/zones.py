"""The output of several zones: a dataset each, as groups of one xarray.DataTree and of one zarr store."""
from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from dgarray.output.store.files import groups
from dgarray.output.store.snapshots import Arrivals, Store, make_room, open_store
from dgarray.support.atomic_write import OutputError

if TYPE_CHECKING:
    from os import PathLike


class ZonedLayout:
    """The layouts of the datasets of several zones.

    zones    {zone: Layout}; a state is {zone: q}
    whole    the layouts of all as one dataset of the highest order for each shape of cells"""

    def __init__(self, zones, whole):
        self.zones, self.whole = zones, whole

    def __repr__(self):
        return "ZonedLayout(" + ", ".join(f"{name}: {layout!r}" for name, layout in self.zones.items()) + ")"


def store_of(layout, path=None, dtype="float64", overwrite=False, series=(), resume=None, compress=None, ranks=None):
    """The `Store` of a run with this layout, or a `ZonedStore`; arguments as of `Store`."""
    kind = ZonedStore if isinstance(layout, ZonedLayout) else Store
    return kind(layout, path, dtype, overwrite, series, resume, compress, ranks)


def open_output(path: str | PathLike) -> xr.Dataset | Any:
    """The dataset of the store at `path`, lazily; of several zones the DataTree."""
    path = Path(path)
    folders = groups(path)
    if folders == [path]:
        return open_store(path)
    tree = xr.DataTree.from_dict({folder.name: open_store(folder) for folder in folders})
    tree.encoding["source"] = str(path.absolute())
    return tree


class ZonedStore(Arrivals):
    """As `Store`, for a state {zone: q}: a store for each zone, in a folder of that name. Records are those of the first zone.

    A zone's snapshot is visible when it is written; a run that goes on from a checkpoint goes on with all zones alike."""

    def __init__(self, layout, path=None, dtype="float64", overwrite=False, series=(), resume=None, compress=None, ranks=None):
        self.layout, self.path = layout, None if path is None else Path(path)
        if self.path is not None and resume is None:
            if ranks is None:
                self._create_root(overwrite)
            else:
                ranks.once(self._create_root, overwrite)
        self.stores = {}
        for name, zone in layout.zones.items():
            folder = None if self.path is None else self.path / name
            own = () if self.stores else series
            self.stores[name] = Store(zone, folder, dtype, False, own, resume and resume[name], compress, ranks)
        self._first = next(iter(self.stores.values()))

    def _create_root(self, overwrite):
        """The folder and its zarr.json, made beside it and renamed."""
        make_room(self.path, overwrite)
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        group = {"zarr_format": 3, "node_type": "group", "attributes": {"zones": list(self.layout.zones)}}
        try:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            (partial / "zarr.json").write_text(json.dumps(group))
            partial.rename(self.path)
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def __repr__(self):
        return f"ZonedStore({', '.join(map(repr, self.stores.values()))})"

    def __len__(self):
        return len(self._first) + (self._coming is not None)

    def append(self, t, q):
        self.settle()
        for name, store in self.stores.items():
            store.append(t, q[name])

    def extend(self, name, times, values):
        self.settle()
        self._first.extend(name, times, values)

    def put(self, name, values):
        self.settle()
        self._first.put(name, values)

    @property
    def shares(self):
        """{zone: as of `Store`}."""
        return {name: store.shares for name, store in self.stores.items()}

    @property
    def last(self):
        return self._first.last if self._coming is None else self._coming[0]

    @property
    def counts(self):
        self.settle()
        return {name: store.counts for name, store in self.stores.items()}

    def sync(self):
        self.settle()
        for store in self.stores.values():
            store.sync()

    def dataset(self):
        """The DataTree of all snapshots and records so far."""
        self.settle()
        if self.path is not None:
            return open_output(self.path)
        return xr.DataTree.from_dict({name: store.dataset() for name, store in self.stores.items()})

    def close(self):
        self.settle()
        for store in self.stores.values():
            store.close()
