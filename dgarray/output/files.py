"""The files of a zarr group whose arrays grow along axes such as time, readable at every moment.

Values lie in chunk files, raw little-endian bytes without compression. Zarr format 3 lets the group's zarr.json hold the
metadata of all arrays (consolidated metadata), which xarray and zarr read by default: one atomic rename of that file, the
commit, makes new rows visible in all arrays at once, and what an interrupted write left before it stays invisible.
"""
import contextlib
import json
import os
import shutil
from math import ceil, prod

import numpy as np

CHUNK_BYTES = 16 * 2**20
TIME_CHUNK = 1024


class Files:
    """One group on disk.  `growing`: axis name -> names of the arrays whose first dim is that axis, all of one length."""

    def __init__(self, path, growing):
        self.path, self.growing = path, growing
        self.group = json.loads((path / "zarr.json").read_text())
        consolidated = self.group.pop("consolidated_metadata", None)
        names = sorted(entry.name for entry in path.iterdir() if (entry / "zarr.json").is_file())
        self.arrays = consolidated["metadata"] if consolidated else {
            name: json.loads((path / name / "zarr.json").read_text()) for name in names}
        for name in (name for members in growing.values() for name in members):
            if name not in self.arrays:
                raise ValueError(f"{path} holds no array {name!r}")
            codecs = [codec["name"] for codec in self.arrays[name]["codecs"]]
            if codecs != ["bytes"]:
                raise ValueError(f"array {name!r} in {path} has the codecs {codecs}; chunks are written as plain bytes")
        self.new = []           # files written since the last sync

    def count(self, axis):
        """Rows that are visible along an axis."""
        return self.arrays[self.growing[axis][0]]["shape"][0]

    def add(self, axis, values):
        """Write rows after the last of an axis, values {array: (row, ...)}; `commit` makes them visible."""
        start = self.count(axis)
        for name, rows in values.items():
            self._write(name, start, rows)
        for name in self.growing[axis]:
            self.arrays[name]["shape"][0] = start + len(next(iter(values.values())))

    def put(self, name, value):
        """Write the whole of an array that does not grow."""
        value = np.asarray(value)
        if value.ndim and self._chunk_shape(name)[0] == 1:
            for index, row in enumerate(value):
                self._chunk(name, (index, *[0] * (value.ndim - 1)), row[None])
        else:
            self._chunk(name, (0,) * value.ndim, value)

    def truncate(self, counts):
        """Let every axis end after `counts` rows, and forget what lies behind."""
        for axis, count in counts.items():
            if count > self.count(axis):
                raise ValueError(f"{self.path} is shorter along {axis} than at the checkpoint, "
                                 f"{self.count(axis)} instead of {count}")
            for name in self.growing[axis]:
                self.arrays[name]["shape"][0] = count

    def commit(self, axes=None):
        """Show what was written along the axes (all): the arrays' own metadata for readers that want it, then the group's."""
        for axis in self.growing if axes is None else axes:
            for name in self.growing[axis]:
                self._replace(self.path / name / "zarr.json", _json(self.arrays[name]))
        consolidated = {"kind": "inline", "must_understand": False, "metadata": self.arrays}
        self._replace(self.path / "zarr.json", _json({**self.group, "consolidated_metadata": consolidated}))

    def sync(self):
        """Force all that was written through the operating system's cache: then it survives a power failure too."""
        folders = {file.parent for file in self.new}
        for file in (*self.new, *folders):
            with contextlib.suppress(FileNotFoundError):
                sync(file)
        self.new = []

    def drop(self, axis, names):
        """Remove the chunks of rows that were not committed: they may fill the disk."""
        for name in names:
            shutil.rmtree(self.path / name / "c" / str(self.count(axis)), ignore_errors=True)

    def _chunk_shape(self, name):
        return self.arrays[name]["chunk_grid"]["configuration"]["chunk_shape"]

    def _dtype(self, name):
        return np.dtype(self.arrays[name]["data_type"]).newbyteorder("<")

    def _write(self, name, start, rows):
        """Write rows of a growing array: chunks hold several whole rows, or a part of the second dim of one row."""
        step, *rest = self._chunk_shape(name)
        if step == 1 and rest:
            for index, row in enumerate(rows, start):
                for number, first in enumerate(range(0, len(row), rest[0])):
                    self._chunk(name, (index, number, *[0] * (len(rest) - 1)), row[None, first:first + rest[0]])
            return
        stop = start + len(rows)
        for number in range(start // step, ceil(stop / step)):
            first = number * step
            some = rows[max(first - start, 0):first + step - start]
            if start > first:
                # Readers see the earlier rows of the chunk: it is replaced, never rewritten in place.
                some = np.concatenate([self._chunk_rows(name, number)[:start - first], some])
            self._chunk(name, (number, *[0] * len(rest)), some)

    def _chunk_rows(self, name, number):
        shape = self._chunk_shape(name)
        file = self._file(name, (number, *[0] * (len(shape) - 1)))
        return np.fromfile(file, self._dtype(name), prod(shape)).reshape(shape)

    def _file(self, name, index):
        return self.path.joinpath(name, "c", *map(str, index))

    def _chunk(self, name, index, values):
        """One chunk file, filled up with zeros."""
        chunk = np.zeros(self._chunk_shape(name), self._dtype(name))
        chunk[tuple(slice(size) for size in values.shape)] = values
        file = self._file(name, index)
        file.parent.mkdir(parents=True, exist_ok=True)
        self._replace(file, chunk.data)

    def _replace(self, file, content):
        """Write `content` aside and rename it to `file`: a reader finds the old bytes or the new ones, never a part."""
        aside = file.with_name(file.name + ".partial")
        try:
            aside.write_bytes(content)
            os.replace(aside, file)
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        self.new.append(file)


def sync(path):
    """Force a file or a folder through the operating system's cache."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _json(tree):
    """As one line: with line breaks Python writes JSON by slower code, at every commit again."""
    return json.dumps(tree).encode()
