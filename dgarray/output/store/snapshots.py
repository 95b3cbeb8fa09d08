"""Snapshots and records of a run: in memory, or streamed to a zarr store that is readable at every moment.

On disk, one snapshot is one chunk file (or a few) per variable; `dgarray.output.store.files` says why a killed process leaves
a store that reads up to its last snapshot.

Several processes, the ranks of a run, write the chunks of a snapshot side by side, each some of them; when all are on disk,
the first one shows the snapshot.
"""
from __future__ import annotations

import os
import shutil
from functools import cached_property
from math import ceil, prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from dgarray.output.store import files
from dgarray.output.store.codecs import check_compress, compressors
from dgarray.output.store.files import Files
from dgarray.support.atomic_write import OutputError
from dgarray.support.wording import plural

if TYPE_CHECKING:
    from os import PathLike

LEAST_CHUNK = 2**16          # bytes; smaller shares are not worth a file of their own


class Arrivals:
    """Snapshots that are on their way: the base class of what appends them."""

    _coming = None          # (time, fetch) of the snapshot that is on its way

    def expect(self, t, fetch):
        """Append the snapshot of the time t that `fetch` brings, with ready() -> bool and result() -> q: now if it is there,
        else when `settle` finds it, at the latest before anything else is done with the store."""
        self.settle()
        self._coming = float(t), fetch
        self.settle(wait=False)

    def settle(self, wait=True):
        """Append the snapshot that is on its way, if there is one, where it has arrived or `wait`."""
        if self._coming is not None and (wait or self._coming[1].ready()):
            (t, fetch), self._coming = self._coming, None
            self.append(t, fetch.result())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Store(Arrivals):
    """Snapshots q(t) and records of one run.

    layout     Layout of the dataset, or GridLayout
    path       folder of the zarr store, or None to keep everything in memory
    dtype      "float64" or "float32", the run's
    overwrite  replace an existing store at `path`
    series     `Series` of each record
    resume     {axis: rows} to go on in the store at `path` after so many rows; axes: "time" and NAME_time of each record
    compress   "zstd" to compress the chunks of a new store; one that is gone on with stays as it is
    ranks      the `Messages` of the processes that write the store together, each with the same arguments; they call
               functions together. Records are those of the first one
    Raises ValueError if `path` exists and may not be replaced, or is not the store of such a run; DamagedError, a ValueError,
    if files of it that are gone on with are damaged; OutputError if it cannot be written."""

    def __init__(self, layout, path=None, dtype="float64", overwrite=False, series=(), resume=None, compress=None, ranks=None):
        self.layout, self.ranks = layout, ranks
        self.part, self.parts = (0, 1) if ranks is None else (ranks.part, ranks.parts)
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype("float64"), np.dtype("float32")):
            raise ValueError(f"dtype {dtype!r} is not allowed; allowed: float64, float32")
        check_compress(compress)
        self.compress = compress
        self.path = None if path is None else Path(path)
        self.series = {s.name: s for s in series}
        self._times, self._snapshots = [], {name: [] for name in layout.shapes}
        self._rows = {s.name: [] for s in series}
        self._results = {}
        self._closed, self._growing = False, growing(layout, series)
        if self.path is None:
            return
        if resume is None:
            self._once(self._create, overwrite)
        self._files = self._opened()
        if resume is not None:
            self._files.truncate(resume)
            self._times = [float(t) for t in self._files.rows("time")]
            self._once(self._files.check_last_chunks)
            # "coordinates", which is xarray's own, stays.
            self._files.group["attributes"] |= with_history(layout.attributes(), self._files.group["attributes"])
            self._once(self._files.commit)

    def _once(self, function, *arguments):
        """Call a function by one process for all; what it raises all raise."""
        return function(*arguments) if self.ranks is None else self.ranks.once(function, *arguments)

    @staticmethod
    def _by_this(function, *arguments):
        function(*arguments)

    def _by_each(self, function, *arguments):
        """Call a function by each process; where one of them meets an OSError all raise it."""
        failed = None
        try:
            function(*arguments)
        except OSError as error:
            failed = error
        if self.ranks is not None:
            failed = next(filter(None, self.ranks.everyones(failed)), None)
        if failed is not None:
            raise failed

    @cached_property
    def shares(self):
        """Where the share of a snapshot that each process writes begins along the shared axis of its arrays, and where the last
        one ends, (process + 1,): whole chunks."""
        axes, first = self.layout.shared_axes, self.layout.variables[0]
        length = self.layout.shapes[first][axes[first]]
        steps = {self._files.chunk_shape(name)[1 + axis] for name, axis in axes.items()}
        step = steps.pop() if len(steps) == 1 else length          # earlier versions cut derivatives along another axis
        chunks = -(-ceil(length / max(step, 1)) * np.arange(self.parts + 1) // self.parts)          # few go to the first
        return np.minimum(chunks * step, length)

    @property
    def shape(self):
        """Shape (variable, row, place) of the snapshots that this process gives."""
        variables, rows, places = self.layout.shape
        if self.ranks is not None:
            first, end = self.shares[self.part:self.part + 2]
            places = places // max(self.shares[-1], 1) * (end - first)
        return variables, rows, int(places)

    @property
    def _corners(self):
        """{array: index where the share of this process begins in a snapshot}."""
        first = 0 if self.ranks is None else int(self.shares[self.part])
        return {name: tuple(first * (at == axis) for at in range(len(self.layout.shapes[name])))
                for name, axis in self.layout.shared_axes.items()}

    def __repr__(self):
        return f"Store({plural(len(self._times), 'snapshot')} of {self.layout}, {self.path or 'in memory'})"

    def __len__(self):
        return len(self._times) + (self._coming is not None)

    def append(self, t, q):
        """Add the snapshot q, a state of the layout's shape, at the time t, later than all before.

        With a path it is on disk on return. Of several processes each gives its share, see `shares`. Raises ValueError for
        another shape or a time that does not increase, OutputError if it cannot be written."""
        self.settle()
        q, t = np.asarray(q), float(t)
        if self._closed:
            raise ValueError("the store is closed; append before close()")
        if q.shape != self.shape:
            raise ValueError(f"snapshot has the shape {q.shape}; "
                             f"it must be ({self.layout.state_dims}) = {self.shape}")
        if not np.isfinite(t) or (self._times and t <= self._times[-1]):
            last = f"later than the last snapshot, t = {self._times[-1]!r}" if self._times else "finite"
            raise ValueError(f"snapshot time {t!r} is not allowed; it must be {last}")
        fields = self.layout.fields(q)
        if self.path is None:
            for name, values in fields.items():
                self._snapshots[name].append(np.array(values, dtype=self.dtype, order="C"))
        else:
            values = {name: each[None] for name, each in fields.items()}
            if self.part == 0:
                values["time"] = np.array([t])
            self._write("time", values, f"the snapshot of t = {t:.6g}", self._corners)
        self._times.append(t)

    def extend(self, name, times, values):
        """Add rows to a record over time: times (n,), values {variable: (n, ...)}."""
        self.settle()
        if self.part or not len(times):
            return
        if self.path is None:
            self._rows[name].append((times, values))
        else:
            rows = {f"{name}_{variable}": array for variable, array in values.items()}
            self._write(f"{name}_time", {f"{name}_time": times} | rows, f"the record {name!r}")

    def put(self, name, values):
        """Set a record that is known at the end only: {variable: array}."""
        self.settle()
        if self.part:
            return
        if self.path is None:
            self._results[name] = values
            return
        try:
            for variable, array in values.items():
                self._files.put(f"{name}_{variable}", array)
        except OSError as error:
            raise self._failed(f"the record {name!r}", error) from error

    def _write(self, axis, values, what, corners=None):
        counts = {axis: self._files.count(axis) for axis in self._growing}
        write = self._by_each if corners else self._by_this
        try:
            write(self._files.add, axis, values, corners)
            write(self._show, [axis])
        except OSError as error:
            self._files.truncate(counts)
            self._files.drop(axis, [name for name in values if name in self.layout.shapes])
            raise self._failed(what, error) from error
        except BaseException:
            self._files.truncate(counts)
            raise

    def _show(self, axes):
        """Make what is written along these axes visible, when all have written."""
        if self.part == 0:
            self._files.commit(axes)

    def _failed(self, what, error):
        kept = "nothing is kept"
        if self._times:
            kept = f"what was kept before, up to the snapshot of t = {self._times[-1]:.6g}, is intact"
        return OutputError(f"{self.path}: {what} cannot be written: {error.strerror or error}; {kept}")

    @property
    def last(self):
        """Time of the last snapshot, also of one on its way; -inf without one."""
        if self._coming is not None:
            return self._coming[0]
        return self._times[-1] if self._times else -np.inf

    @property
    def counts(self):
        """{axis: rows} on disk."""
        self.settle()
        return {axis: self._files.count(axis) for axis in self._growing}

    def sync(self):
        """Let all that is on disk survive a power failure."""
        self.settle()
        self._by_each(self._files.sync)

    def dataset(self):
        """All snapshots and records so far: in memory, or lazily as `open_store(path)` reads them."""
        self.settle()
        if self.path is not None:
            return open_store(self.path)
        values = {}
        for name, snapshots in self._snapshots.items():
            values[name] = np.stack(snapshots) if snapshots else np.empty((0, *self.layout.shapes[name]), self.dtype)
            # The list goes on as views, so that the field is not held twice.
            self._snapshots[name] = list(values[name])
        return with_records(self.layout.dataset(self._times, values), self.series.values(), self._rows, self._results)

    def close(self):
        """Refuse further snapshots; the store on disk is complete after every append."""
        self.settle()
        self._closed = True

    def _opened(self):
        whole = [f"{s.name}_{v}" for s in self.series.values() if not s.over_time for v in s.variables]
        return Files(self.path, self._growing, whole)

    def _create(self, overwrite):
        """An empty store at `path`, made beside it and renamed, so that it appears complete or not at all."""
        make_room(self.path, overwrite)
        try:
            self._make()
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _make(self):
        shapes, axes = self.layout.shapes, self.layout.shared_axes
        empty = self.layout.dataset([], {name: np.empty((0, *shape), self.dtype) for name, shape in shapes.items()})
        empty = with_records(empty, self.series.values())
        encoding = {name: {"_FillValue": None, "compressors": compressors(self.compress)} for name in empty.variables}
        largest = max(prod(shape) for shape in shapes.values()) * self.dtype.itemsize
        pieces = max(1, ceil(largest / files.CHUNK_BYTES), min(self.parts, largest // LEAST_CHUNK))
        for name, shape in shapes.items():
            axis = axes[name]
            chunks = (1, *shape[:axis], ceil(shape[axis] / pieces), *shape[axis + 1:])
            encoding[name].update(chunks=chunks, fill_value=np.nan)
        for members in self._growing.values():
            for name in set(members) - set(shapes):
                row = int(np.prod(empty[name].shape[1:])) * empty[name].dtype.itemsize
                rows = int(np.clip(files.CHUNK_BYTES // 16 // max(row, 1), 1, files.TIME_CHUNK))
                encoding[name]["chunks"] = (rows, *(max(size, 1) for size in empty[name].shape[1:]))
        for series in self.series.values():
            for variable in () if series.over_time else series.variables:
                shape = series.shape(variable)
                encoding[f"{series.name}_{variable}"].update(chunks=(1, *shape[1:]) if len(shape) > 1 else shape)
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            # Chunks of zeros are written, too: then one that is not there is an error.
            empty.to_zarr(partial, mode="w", zarr_format=3, consolidated=False, encoding=encoding, write_empty_chunks=True)
            made = Files(partial, self._growing)
            made.arrays = {name: made.arrays[name] for name in empty.variables}
            made.commit()
            partial.rename(self.path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def open_store(path: str | PathLike) -> xr.Dataset:
    """The dataset of the store at `path`, lazily, as `xarray.open_zarr(path)` gives it.

    What reads a damaged file, now or later, as in `ds.Ez.values`, raises DamagedError, which names the file."""
    # With zarr, which takes a second to load.
    from dgarray.output.store.damage import CheckedStore

    store = CheckedStore(path)
    ds = xr.open_zarr(store)
    ds.encoding["source"] = str(store.root)
    return ds


def with_history(attributes, before):
    """Attributes of a run that goes on, whose history has that of the run before."""
    lines = [each["history"] for each in (before, attributes) if "history" in each]
    return attributes | ({"history": "\n".join(lines)} if lines else {})


def growing(layout, series):
    """{axis: names of the arrays along it}: snapshots along "time", and each record over time along its own."""
    records = {f"{s.name}_time": (f"{s.name}_time", *(f"{s.name}_{v}" for v in s.variables)) for s in series if s.over_time}
    return {"time": ("time", *layout.shapes), **records}


def with_records(ds, series, rows=None, results=None):
    """The dataset with the arrays of the records; without values they are empty, or zero where they do not grow.

    rows: {name: [(times, {variable: (n, ...)}), ...]}; results: {name: {variable: array}}"""
    rows, results, data, coords = rows or {}, results or {}, {}, {}
    for s in series:
        time = f"{s.name}_time"
        pieces = [(np.empty(0), {v: np.empty((0, *s.shape(v)), s.dtype_of(v)) for v in s.variables}), *rows.get(s.name, [])]
        if s.over_time:
            coords[time] = (time, np.concatenate([t for t, _ in pieces]), dict(ds["time"].attrs))
        for variable, (dims, attrs) in s.variables.items():
            names = tuple(f"{s.name}_{dim}" for dim in dims)
            if s.over_time:
                values = np.concatenate([v[variable] for _, v in pieces])
                data[f"{s.name}_{variable}"] = ((time, *names), values, attrs)
            else:
                zero = np.zeros(s.shape(variable), s.dtype_of(variable))
                data[f"{s.name}_{variable}"] = (names, results.get(s.name, {}).get(variable, zero), attrs)
        for coord, (dims, values, attrs) in s.coords.items():
            coords[f"{s.name}_{coord}"] = (tuple(f"{s.name}_{dim}" for dim in dims), values, attrs)
    return ds.assign(data).assign_coords(coords)


def check_path(path, overwrite=False):
    """Raise ValueError if a store cannot be made at `path`: it exists and may not be replaced, or no folder is there for it."""
    path = Path(path)
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be made, because the folder {folder} "
                         + ("cannot be written to" if folder.exists() else "does not exist"))
    if not path.exists():
        return
    if not overwrite:
        raise ValueError(f"{path} exists; choose another path, continue it with --restart (restart=True), or allow it to be "
                         "replaced with --overwrite (overwrite=True)")
    if not any((path / name).is_file() for name in ("zarr.json", ".zgroup", ".zmetadata")):
        raise ValueError(f"{path} exists and is not a zarr store; it is not replaced, choose another path")


def make_room(path, overwrite):
    """Remove an existing store, which is gone at once: killed half way, a store that reads and is wrong must not stay."""
    check_path(path, overwrite)
    aside = path.with_name(f".{path.name}.replaced")
    shutil.rmtree(aside, ignore_errors=True)
    if path.exists():
        path.rename(aside)
        shutil.rmtree(aside)
