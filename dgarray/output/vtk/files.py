"""VTK files: `.vtkhdf` with all snapshots on one stored mesh or grid, `.vtu` of a mesh and `.vti` of a grid with one snapshot.

VTKHDF: docs.vtk.org, "VTKHDF file format"; .vtu and .vti: "VTK XML formats".
"""
import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import h5py
import numpy as np

from dgarray.output.vtk.lagrange import real
from dgarray.output.vtk.xml import Appended
from dgarray.support.atomic_write import written

VTKHDF_VERSION = (2, 0)          # which brought steps


def export(kind, data, path, variables=None, time=None, overwrite=False):
    """Write a run's data for ParaView, PyVista or VTK; returns the path.

    kind, data   `Cells` and a list of datasets, one for each shape of cells, or `Image` and the dataset
    path       ends in .vtkhdf (all snapshots, on one stored geometry, read one at a time), .vtu or .vti (one snapshot)
    variables  names of fields; None takes all real ones with the dims of fields, with or without time
    time       index (int) or time (float) of one snapshot; None is all of them, in .vtu and .vti the last
    overwrite  replace an existing file
    Cell data, of a mesh: cell_number, region and whatever else the dataset holds per element, and boundary.
    Field data: variables, their long_names and units, region_names, boundary_names and the run's attributes.
    The file is written to a temporary name and renamed, so it is complete or absent.
    Raises ValueError for another suffix, an unknown variable or time, a path that exists or cannot be written to."""
    path = Path(path)
    if path.suffix not in (".vtkhdf", kind.suffix):
        raise ValueError(f"{path}: the suffix {path.suffix!r} is not known for {kind.what}; allowed: .vtkhdf (all snapshots), "
                         f"{kind.suffix} (one)")
    frame = kind(data, variables)
    steps, times = frame.snapshots(time, path.suffix == kind.suffix)
    with aside_of(path, overwrite) as aside:
        if path.suffix == kind.suffix:
            _write_xml(aside, frame, steps[0])
        else:
            _write_hdf(aside, frame, steps, times if len(steps) >= frame.least_steps else None)
    return path


@contextmanager
def aside_of(path, overwrite):
    """A name beside `path` to write to, synced and renamed to it at the end, removed after an error."""
    folder = path.absolute().parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise ValueError(f"{path} cannot be made, because {folder} is not a folder that can be written to")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists; choose another path, or allow it to be replaced with --overwrite (overwrite=True)")
    with written(path) as aside:
        yield aside


class _Kept:
    """A file for h5py that keeps the first error, or Ctrl-C, until `check`, and from then on what is written, in memory.

    HDF5 may crash the process after a write that failed, or where it reads back what is not there."""

    def __init__(self, file):
        self.file, self.error, self.place, self.end, self.late, self.flush = file, None, 0, 0, [], file.flush

    def seek(self, offset, whence=os.SEEK_SET):
        self.place = offset + (0, self.place, self.end)[whence]
        return self.place

    def tell(self):
        return self.place

    def read(self, count):
        data = bytearray(count)
        self.readinto(data)
        return bytes(data)

    def readinto(self, data):
        data, done = memoryview(data).cast("B"), 0
        data[:] = bytes(len(data))
        self.file.seek(self.place)
        while done < len(data) and (count := self.file.readinto(data[done:])):
            done += count
        for place, late in self.late:
            first, last = max(place, self.place), min(place + len(late), self.place + len(data))
            if first < last:
                data[first - self.place:last - self.place] = late[first - place:last - place]
        self.place += len(data)
        return len(data)

    def write(self, data):
        data, done = memoryview(data).cast("B"), 0
        try:
            if self.error is None:
                self.file.seek(self.place)
                while done < len(data):
                    done += self.file.write(data[done:])
        except BaseException as error:
            self.error = error
        if self.error is not None:
            self.late.append((self.place + done, bytes(data[done:])))
        self.place += len(data)
        self.end = max(self.end, self.place)
        return len(data)

    def truncate(self, size):
        self.end = size
        try:
            if self.error is None:
                self.file.truncate(size)
        except BaseException as error:
            self.error = error

    def check(self):
        """Raise the error that was kept."""
        if self.error is not None:
            raise self.error


def _write_hdf(path, frame, steps, times):
    with path.open("w+b", buffering=0) as raw:
        kept = _Kept(raw)
        try:
            _fill_hdf(kept, frame, steps, times)
        finally:
            kept.check()                             # the first error, not what HDF5 makes of it


def _fill_hdf(kept, frame, steps, times):
    with h5py.File(kept, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Version"] = np.array(VTKHDF_VERSION, "int64")
        root.attrs["Type"] = np.bytes_(frame.kind)
        frame.geometry(root)
        for name, values in frame.cell_data.items():
            member(root, "CellData", name, values)
        for name, values in frame.field_data.items():
            member(root, "FieldData", name, stored(values))
        # A field that does not change is there once, for all steps.
        counts = {name: len(steps) if "time" in field.dims else 1 for name, field in frame.fields.items()}
        rows, *shape = (1, *frame.shape) if frame.step_axis and times is not None else frame.shape
        if times is not None:
            _write_steps(root.create_group("Steps"), frame, times, {name: rows * (n > 1) for name, n in counts.items()})
        for name, field in frame.fields.items():
            array = member(root, frame.group, name, shape=(rows * counts[name], *shape), dtype=real(field.dtype))
            start = 0
            for step in steps[:counts[name]]:
                for values in frame.values(name, step):
                    block = values.reshape(-1, *shape)
                    array[start:start + len(block)] = block
                    start += len(block)
                kept.check()


def _write_steps(group, frame, times, rows):
    """Where each step's arrays begin: the geometry and all that does not change at 0. rows: {field: rows of a step}."""
    count = len(times)
    group.attrs["NSteps"] = count
    group["Values"] = times
    frame.geometry_steps(group, count)
    for name, each in rows.items():
        member(group, f"{frame.group}Offsets", name, np.arange(count) * each)
    for name, values in frame.field_data.items():
        member(group, "FieldDataOffsets", name, np.zeros(count, "int64"))
        member(group, "FieldDataSizes", name, np.tile([1, len(values)], (count, 1)))


def member(root, group, name, data=None, **options):
    """A new dataset of that name in a group of HDF5."""
    if "/" in name:
        raise ValueError(f"the name {name!r} holds a '/', which VTKHDF does not allow; rename it, or write .vtu")
    return root.require_group(group).create_dataset(name, data=data, **options)


def stored(values):
    """Field data for HDF5: an array as it is, texts as what VTK reads."""
    # VTK reads no texts of HDF5's character set UTF-8; it takes and shows UTF-8 bytes declared as ASCII.
    return np.array([text.encode() for text in values], h5py.string_dtype("ascii")) if isinstance(values, list) else values


def _write_xml(path, frame, step):
    file = Appended(frame.kind, frame.version, frame.attributes)
    file.field_data(frame.field_data)
    file.tag(f"<Piece {frame.piece}>", f"<{frame.group}>")
    for name, field in frame.fields.items():
        file.numbers(name, real(field.dtype), frame.shape, partial(frame.values, name, step))
    file.tag(f"</{frame.group}>")
    frame.geometry_xml(file)
    file.tag("</Piece>")
    file.write(path)
