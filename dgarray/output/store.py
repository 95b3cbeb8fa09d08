"""Snapshots of a run: kept in memory or streamed to a zarr store that is readable at every moment.

On disk, one snapshot is one chunk file (or a few) per variable, raw little-endian bytes without compression. Zarr
format 3 lets the group's zarr.json hold the metadata of all arrays (consolidated metadata), which xarray and zarr
read by default. So one atomic rename of that file makes a snapshot visible in all variables at once; what an
interrupted append left before it is invisible. This holds when the process is killed; no data is forced through the
operating system's cache, so a power failure may lose the last snapshots.
"""
import json
import os
import shutil
from math import ceil
from pathlib import Path

import numpy as np
import xarray as xr

from dgarray.output.dataset import dataset

CHUNK_BYTES = 16 * 2**20
TIME_CHUNK = 1024


class Store:
    """Snapshots q(t) of one run.

    layout     Layout of the dataset
    path       folder of the zarr store, or None to keep all snapshots in memory
    dtype      "float64" or "float32", the run's
    overwrite  replace an existing store at `path`
    Raises ValueError if `path` exists and may not be replaced."""

    def __init__(self, layout, path=None, dtype="float64", overwrite=False):
        self.layout = layout
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype("float64"), np.dtype("float32")):
            raise ValueError(f"dtype {dtype!r} is not allowed; allowed: float64, float32")
        self.path = None if path is None else Path(path)
        self._times, self._snapshots = [], {name: [] for name in layout.variables}
        self._closed = False
        if self.path is not None:
            _make_room(self.path, overwrite)
            self._files = _create(self.path, layout, self.dtype)

    def __repr__(self):
        return f"Store({len(self._times)} snapshots of {self.layout}, {self.path or 'in memory'})"

    def __len__(self):
        return len(self._times)

    def append(self, t, q):
        """Add the snapshot q (variable, node, element) at the time t, later than all before.

        With a path it is on disk on return. Raises ValueError for another shape or a time that does not increase."""
        q, t = np.asarray(q), float(t)
        if self._closed:
            raise ValueError("the store is closed; append before close()")
        if q.shape != self.layout.shape:
            raise ValueError(f"snapshot has the shape {q.shape}; "
                             f"it must be (variable, node, element) = {self.layout.shape}")
        if not np.isfinite(t) or (self._times and t <= self._times[-1]):
            last = f"later than the last snapshot, t = {self._times[-1]!r}" if self._times else "finite"
            raise ValueError(f"snapshot time {t!r} is not allowed; it must be {last}")
        if self.path is None:
            for name, values in zip(self.layout.variables, q):
                self._snapshots[name].append(np.array(values.T, dtype=self.dtype, order="C"))
        else:
            self._files.append([*self._times, t], dict(zip(self.layout.variables, q)))
        self._times.append(t)

    def dataset(self):
        """All snapshots so far: in memory, or lazily as `xarray.open_zarr(path)` reads them."""
        if self.path is not None:
            return xr.open_zarr(self.path)
        _, nodes, elements = self.layout.shape
        values = {}
        for name, snapshots in self._snapshots.items():
            values[name] = np.stack(snapshots) if snapshots else np.empty((0, elements, nodes), self.dtype)
            # The list goes on as views, so that the field is not held twice.
            self._snapshots[name] = list(values[name])
        return dataset(self.layout, self._times, values)

    def close(self):
        """Refuse further snapshots; the store on disk is complete after every append."""
        self._closed = True

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class _Files:
    """The files of a zarr group whose arrays along time grow by one index per append."""

    def __init__(self, path, names, growing):
        self.path = path
        self.growing = growing
        self.group = json.loads((path / "zarr.json").read_text())
        self.arrays = {name: json.loads((path / name / "zarr.json").read_text()) for name in names}
        for name in growing:
            codecs = [codec["name"] for codec in self.arrays[name]["codecs"]]
            if codecs != ["bytes"]:
                raise ValueError(f"array {name!r} in {path} has the codecs {codecs}; chunks are written as plain bytes")

    def append(self, times, values):
        """Write the chunks of the last of `times`, then the arrays' lengths, then the group's metadata: the commit."""
        index = len(times) - 1
        for name, snapshot in values.items():
            self._write_snapshot(name, index, snapshot)
        self._write_times(times)
        for name in self.growing:
            self.arrays[name]["shape"][0] = len(times)
            _replace(self.path / name / "zarr.json", _json(self.arrays[name]))
        self.commit()

    def commit(self):
        consolidated = {"kind": "inline", "must_understand": False, "metadata": self.arrays}
        _replace(self.path / "zarr.json", _json({**self.group, "consolidated_metadata": consolidated}))

    def _chunk_shape(self, name):
        return self.arrays[name]["chunk_grid"]["configuration"]["chunk_shape"]

    def _little_endian(self, name):
        return np.dtype(self.arrays[name]["data_type"]).newbyteorder("<")

    def _write_snapshot(self, name, index, snapshot):
        _, step, nodes = self._chunk_shape(name)
        elements = snapshot.shape[1]
        for number, start in enumerate(range(0, elements, step)):
            values = snapshot[:, start:start + step].T
            chunk = np.zeros((step, nodes), self._little_endian(name))
            chunk[:len(values)] = values
            file = self.path / name / "c" / str(index) / str(number) / "0"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(chunk.data)

    def _write_times(self, times):
        (step,) = self._chunk_shape("time")
        number = (len(times) - 1) // step
        chunk = np.zeros(step, self._little_endian("time"))
        recent = times[number * step:]
        chunk[:len(recent)] = recent
        file = self.path / "time" / "c" / str(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        # Readers see earlier times in the same chunk: it is replaced, never rewritten in place.
        _replace(file, chunk.data)


def _create(path, layout, dtype):
    """An empty store at `path`, made beside it and renamed, so that it appears complete or not at all."""
    _, nodes, elements = layout.shape
    pieces = max(1, ceil(elements * nodes * dtype.itemsize / CHUNK_BYTES))
    step = ceil(elements / pieces)
    empty = dataset(layout, [], {name: np.empty((0, elements, nodes), dtype) for name in layout.variables})
    encoding = {name: {"_FillValue": None, "compressors": None} for name in empty.variables}
    for name in layout.variables:
        encoding[name].update(chunks=(1, step, nodes), fill_value=np.nan)
    encoding["time"]["chunks"] = (TIME_CHUNK,)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    empty.to_zarr(partial, mode="w", zarr_format=3, consolidated=False, encoding=encoding)
    files = _Files(partial, list(empty.variables), (*layout.variables, "time"))
    files.commit()
    partial.rename(path)
    files.path = path
    return files


def check_path(path, overwrite=False):
    """Raise ValueError if a store cannot be made at `path`: it exists and may not be replaced, or no folder is there for it."""
    path = Path(path)
    folder = next(p for p in path.absolute().parents if p.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be made, because {folder} cannot be written to")
    if not path.exists():
        return
    if not overwrite:
        raise ValueError(f"{path} exists; choose another path, or allow it to be replaced with --overwrite (overwrite=True)")
    if not any((path / name).is_file() for name in ("zarr.json", ".zgroup", ".zmetadata")):
        raise ValueError(f"{path} exists and is not a zarr store; it is not replaced, choose another path")


def _make_room(path, overwrite):
    check_path(path, overwrite)
    if path.exists():
        shutil.rmtree(path)


def _replace(file, content):
    """Write `content` aside and rename it to `file`: a reader finds the old bytes or the new ones, never a part."""
    aside = file.with_name(file.name + ".partial")
    aside.write_bytes(content)
    os.replace(aside, file)


def _json(tree):
    return json.dumps(tree, indent=1).encode()
