"""The files of a zarr group whose arrays grow along axes such as time, readable at every moment.

Values lie in chunk files, encoded as `dgarray.output.store.codecs` says. Zarr format 3 lets the group's zarr.json hold the
metadata of all arrays (consolidated metadata), which xarray and zarr read by default: one atomic rename of that file, the
commit, makes new rows visible in all arrays at once, and what an interrupted write left before it stays invisible.
A chunk that holds several rows is written anew, with its checksum, when rows are added, and replaces the one before.
"""
import contextlib
import json
import os
import shutil
from itertools import product
from math import ceil

import numpy as np

from dgarray.output.store.checksums import DamagedError, others, sealed, unsealed
from dgarray.output.store.codecs import Codecs
from dgarray.support.atomic_write import sync

CHUNK_BYTES = 16 * 2**20
TIME_CHUNK = 1024


class Files:
    """One group on disk.

    growing    axis name -> names of the arrays whose first dim is that axis, all of one length
    whole      names of the arrays that `put` writes
    Raises ValueError where there is no such array or it has other codecs, DamagedError where zarr.json is not as written."""

    def __init__(self, path, growing, whole=()):
        self.path, self.growing = path, growing
        self.group, self.arrays = read_metadata(path)
        written = [*(name for members in growing.values() for name in members), *whole]
        missing = [name for name in written if name not in self.arrays]
        if missing:
            raise ValueError(f"{path} holds no array {missing[0]!r}")
        self.codecs = {name: Codecs(self.arrays[name], f"array {name!r} in {path}") for name in written}
        self.new = []           # files written since the last sync

    def count(self, axis):
        """Rows that are visible along an axis."""
        return self.arrays[self.growing[axis][0]]["shape"][0]

    def rows(self, name):
        """All values of a growing array of one dim."""
        step, count = self.chunk_shape(name)[0], self.arrays[name]["shape"][0]
        chunks = [self._chunk_rows(name, number) for number in range(ceil(count / step))]
        return np.concatenate([np.empty(0), *chunks])[:count]

    def check_last_chunks(self):
        """Raise DamagedError unless the chunks to which rows will be added are as they were written."""
        for axis, members in self.growing.items():
            for name in members:
                number, rows = divmod(self.count(axis), self.chunk_shape(name)[0])
                if rows:
                    self._chunk_rows(name, number)

    def add(self, axis, values, corner=None):
        """Write rows after the last of an axis, values {array: (row, ...)}; `commit` makes them visible.

        corner: {array: index in a row where these values begin, at a chunk}, of arrays that several processes write"""
        start = self.count(axis)
        for name, rows in values.items():
            self._write(name, start, rows, (corner or {}).get(name))
        for name in self.growing[axis]:
            self.arrays[name]["shape"][0] = start + len(next(iter(values.values())))

    def put(self, name, value):
        """Write the whole of an array that does not grow."""
        value = np.asarray(value)
        if value.ndim and self.chunk_shape(name)[0] == 1:
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
                self._replace(self.path / name / "zarr.json", [json.dumps(self.arrays[name]).encode()])
        self._replace(self.path / "zarr.json", [sealed(self.group, self.arrays)])

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

    def chunk_shape(self, name):
        """The shape of the chunks of an array."""
        return self.arrays[name]["chunk_grid"]["configuration"]["chunk_shape"]

    def _write(self, name, start, rows, corner=None):
        """Write rows of a growing array: chunks hold several whole rows, or a part of one row."""
        step, *rest = self.chunk_shape(name)
        if step == 1 and rest:
            first = [at // size for at, size in zip(corner or [0] * len(rest), rest)]
            for index, row in enumerate(rows, start):
                for place in product(*(range(ceil(length / size)) for length, size in zip(row.shape, rest))):
                    some = tuple(slice(at * size, (at + 1) * size) for at, size in zip(place, rest))
                    self._chunk(name, (index, *map(sum, zip(first, place))), row[some][None])
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
        shape = self.chunk_shape(name)
        index = number, *[0] * (len(shape) - 1)
        named, advice = self.path / chunk_key(name, index), others(self.path)
        try:
            content = named.read_bytes()
        except FileNotFoundError as error:
            raise DamagedError(named, "it is missing", advice) from error
        return self.codecs[name].decode(content, named, advice).reshape(shape)

    def _chunk(self, name, index, values):
        """One chunk file, filled up with zeros."""
        codecs = self.codecs[name]
        chunk = np.zeros(self.chunk_shape(name), codecs.dtype)
        chunk[tuple(slice(size) for size in values.shape)] = values
        file = self.path / chunk_key(name, index)
        file.parent.mkdir(parents=True, exist_ok=True)
        self._replace(file, codecs.encode(chunk))

    def _replace(self, file, pieces):
        """Write the pieces aside and rename them to `file`: a reader finds the old bytes or the new ones, never a part."""
        aside = file.with_name(file.name + ".partial")
        try:
            write(aside, pieces)
            os.replace(aside, file)
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        self.new.append(file)


def read_metadata(path):
    """The metadata of the group at `path` and of its arrays, (group, {name: array}). Raises DamagedError as `unsealed`."""
    file = path / "zarr.json"
    group, arrays = unsealed(file.read_bytes(), file)
    if arrays is None:
        names = sorted(entry.name for entry in path.iterdir() if (entry / "zarr.json").is_file())
        arrays = {name: json.loads((path / name / "zarr.json").read_text()) for name in names}
    return group, arrays


def groups(path):
    """The folders of the groups that hold the arrays of the store at `path`: this one, or one for each zone."""
    zones = read_metadata(path)[0].get("attributes", {}).get("zones")
    return [path] if zones is None else [path / name for name in zones]


def chunk_key(name, index):
    """Where a chunk lies in its group."""
    return "/".join((name, "c", *map(str, index)))


def write(file, pieces):
    """Write a file of these pieces."""
    with file.open("wb") as stream:
        stream.writelines(pieces)
