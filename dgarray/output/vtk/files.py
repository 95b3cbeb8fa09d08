"""VTK files of nodal fields: `.vtkhdf` with all snapshots on one stored mesh, `.vtu` with one snapshot.

Every element becomes one Lagrange cell of the run's order with points of its own, so that jumps between elements stay
visible. VTK interpolates at equispaced points: the polynomials are evaluated there, in VTK's node order. Named boundary
faces become cells of one dimension less on the points of their elements; the cell array `boundary` numbers the names of
the field array `boundary_names`, 0 for the elements. (A collection of blocks would name them more directly, but readers
of VTK 9.6 and 9.7 show the first step of a collection at all times.)
VTKHDF: docs.vtk.org, "VTKHDF file format"; .vtu: "VTK XML formats"; Lagrange cells: vtkHigherOrderTetra and relatives.
"""
import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import h5py
import numpy as np

from dgarray.output.cf_flags import joined_flags
from dgarray.output.dataset import UNITLESS
from dgarray.output.joined_runs import check_one_run
from dgarray.output.surface import faces_here
from dgarray.output.vtk.lagrange import Grid, Grids, real
from dgarray.output.vtk.xml import Appended
from dgarray.support.atomic_write import written

# The versions that brought what is used here: steps in VTKHDF, and today's node order of hexahedra in .vtu.
VTKHDF_VERSION, VTU_VERSION = (2, 0), "2.1"


def export(datasets, path, variables=None, time=None, overwrite=False):
    """Write a run's dataset for ParaView, PyVista or VTK; returns the path.

    datasets   one for each shape of cells
    path       ends in .vtkhdf (all snapshots, on one stored mesh, read one at a time) or .vtu (one snapshot)
    variables  names of nodal fields; None takes all real ones with the dims (time, element, node) or (element, node)
    time       index (int) or time (float) of one snapshot; None is all of them, in .vtu the last
    overwrite  replace an existing file
    Point data: the fields. Cell data: cell_number, region and whatever else the dataset holds per element, and boundary.
    Field data: variables, their long_names and units, region_names, boundary_names and the run's attributes.
    The file is written to a temporary name and renamed, so it is complete or absent.
    Raises ValueError for another suffix, an unknown variable or time, a path that exists or cannot be written to."""
    path = Path(path)
    if path.suffix not in (".vtkhdf", ".vtu"):
        raise ValueError(f"{path}: the suffix {path.suffix!r} is not known; allowed: .vtkhdf (all snapshots), .vtu (one)")
    datasets = joined_flags(datasets, "region")
    all_fields = [fields_of(ds, variables, ("element", "node")) for ds in datasets]
    fields = all_fields[0]
    steps, times = snapshots(datasets[0], time, path.suffix == ".vtu")
    grid, cell_data, field_data = joined([grid_of(ds, list(fields)) for ds in datasets])

    def snapshot(name, step):
        return [nodal(each[name], step) for each in all_fields]

    if times is not None and len(times) == 1:
        field_data["TimeValue"] = times
    with aside_of(path, overwrite) as aside:
        if path.suffix == ".vtu":
            readers = {name: (field.dtype, partial(snapshot, name, steps[0])) for name, field in fields.items()}
            _write_xml(aside, grid, readers, cell_data, field_data)
        else:
            write_hdf(aside, _fill_hdf, grid, fields, snapshot, steps, times, cell_data, field_data)
    return path


def fields_of(ds, variables, dims):
    """The DataArrays to write by name, checked to be real numbers over time and these dims."""
    def fits(field):
        return set(field.dims) <= {"time", *dims} and field.dtype.kind in "fiub"

    if variables is None:
        for name in ds.dg.variables[:1]:
            check_one_run(ds[name], dims)
        return {name: ds[name] for name in ds.dg.variables if fits(ds[name])}
    chosen = {name: ds.dg.field(name) for name in ([variables] if isinstance(variables, str) else variables)}
    for name, field in chosen.items():
        if not fits(field):
            raise ValueError(f"variable {name!r} has the dims {field.dims} and the type {field.dtype}; "
                             f"a VTK file takes real numbers over (time, {', '.join(dims)})")
    return chosen


def nodal(field, step):
    """A field (element, node) at one step."""
    return (field.isel(time=step) if "time" in field.dims else field).transpose("element", "node").values


def snapshots(ds, time, one):
    """Positions of the snapshots to write, all or one, by default the last, and their times; [0], None without times."""
    if "time" not in ds.coords:
        return [0], None
    last, times = ds.dg.index(-1), np.atleast_1d(ds["time"].values).astype("float64")
    steps = [last if time is None else ds.dg.index(time)] if one or time is not None else list(range(len(times)))
    return steps, times[steps]


def field_data_of(ds, names, **more):
    """The field data of a file, {name: values}: names, long_names and units of the fields, and the run's attributes."""
    data = {"variables": names, "long_names": [str(ds[name].attrs.get("long_name", name)) for name in names],
            "units": [str(ds[name].attrs.get("units", UNITLESS)) for name in names], **more}
    for name, value in ds.attrs.items():
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        data.setdefault(str(name), np.array([value]) if number else [str(value)])
    return data


def grid_of(ds, names):
    """The Grid of a dataset, its cell data, and its field data."""
    dg = ds.dg
    faces, boundary, meanings = np.zeros((0, 2), "int64"), np.zeros(0, "int32"), []
    if "boundary_faces" in ds:
        faces, here = faces_here(ds)
        boundary = ds["boundary"].values[here].astype("int32") + 1
        meanings = ds["boundary"].attrs["flag_meanings"].split()
    grid = Grid(dg.points, dg.cells, dg.order, faces, getattr(dg.reference, "kind", None), dg.geometry_nodes)
    cell_data = {name: grid.cell_values(array.values) for name, array in ds.variables.items()
                 if array.dims == ("element",) and array.dtype.kind in "fiub" and name != "mesh_volume_types"}
    cell_data["boundary"] = np.concatenate([np.zeros(len(grid.cells), "int32"), boundary])
    more = {"region_names": ds["region"].attrs["flag_meanings"].split()} if "region" in ds else {}
    return grid, cell_data, field_data_of(ds, names, boundary_names=["elements", *meanings], **more)


def joined(parts):
    """`Grids`, their cell data and field data, from those of each shape of cells."""
    grids, cell_data, field_data = zip(*parts)
    names = list(dict.fromkeys(name for data in field_data for name in data["boundary_names"]))
    for cells, data in zip(cell_data, field_data):          # the numbers of the names in the joined list
        number = np.array([names.index(name) for name in data["boundary_names"]], "int32")
        cells["boundary"] = number[cells["boundary"]]
    shared = [name for name in cell_data[0] if all(name in cells for cells in cell_data)]
    return (Grids(grids), {name: np.concatenate([cells[name] for cells in cell_data]) for name in shared},
            field_data[0] | {"boundary_names": names})


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


def write_hdf(path, fill, *arguments):
    """A new HDF5 file, filled by fill(kept, *arguments)."""
    with path.open("w+b", buffering=0) as raw:
        kept = _Kept(raw)
        try:
            fill(kept, *arguments)
        finally:
            kept.check()                             # the first error, not what HDF5 makes of it


def _fill_hdf(kept, grid, fields, snapshot, steps, times, cell_data, field_data):
    with h5py.File(kept, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Version"] = np.array(VTKHDF_VERSION, "int64")
        root.attrs["Type"] = np.bytes_("UnstructuredGrid")
        connectivity, offsets, types = grid.topology()
        for name, value in (("NumberOfPoints", grid.size), ("NumberOfCells", len(types)),
                            ("NumberOfConnectivityIds", len(connectivity))):
            root[name] = np.array([value], "int64")
        root["Connectivity"], root["Offsets"], root["Types"] = connectivity, offsets, types
        _fill(root.create_dataset("Points", (grid.size, 3), "float64"), 0, grid.coordinates())
        for name, values in cell_data.items():
            member(root, "CellData", name, values)
        for name, values in field_data.items():
            member(root, "FieldData", name, stored(values))
        moving = {name: "time" in field.dims for name, field in fields.items()}
        if times is not None:
            _write_steps(root.create_group("Steps"), grid, times, moving, cell_data, field_data)
        for position, step in enumerate(steps):
            for name, field in fields.items():
                if position == 0:
                    member(root, "PointData", name, shape=(grid.size * (len(steps) if moving[name] else 1),),
                            dtype=real(field.dtype))
                if position == 0 or moving[name]:
                    _fill(root["PointData"][name], position * grid.size, grid.values(snapshot(name, step)))
                    kept.check()


def _write_steps(group, grid, times, moving, cell_data, field_data):
    """Where each step's arrays begin: the mesh and all that does not change at 0."""
    count, static = len(times), np.zeros(len(times), "int64")
    group.attrs["NSteps"] = count
    group["Values"], group["NumberOfParts"] = times, static + 1
    for name in ("PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"):
        group[name] = static
    for name, moves in moving.items():
        member(group, "PointDataOffsets", name, np.arange(count) * grid.size if moves else static)
    for name in cell_data:
        member(group, "CellDataOffsets", name, static)
    steps_of_field_data(group, count, field_data)


def steps_of_field_data(group, count, field_data):
    """Where each of `count` steps finds the field data: at 0."""
    for name, values in field_data.items():
        member(group, "FieldDataOffsets", name, np.zeros(count, "int64"))
        member(group, "FieldDataSizes", name, np.tile([1, len(values)], (count, 1)))


def member(root, group, name, data=None, **options):
    if "/" in name:
        raise ValueError(f"the name {name!r} holds a '/', which VTKHDF does not allow; rename it, or write .vtu")
    root.require_group(group).create_dataset(name, data=data, **options)


def stored(values):
    """Field data for HDF5: an array as it is, texts as what VTK reads."""
    # VTK reads no texts of HDF5's character set UTF-8; it takes and shows UTF-8 bytes declared as ASCII.
    return np.array([text.encode() for text in values], h5py.string_dtype("ascii")) if isinstance(values, list) else values


def _fill(dataset, start, blocks):
    for block in blocks:
        dataset[start:start + len(block)] = block
        start += len(block)


def _write_xml(path, grid, fields, cell_data, field_data):
    connectivity, offsets, types = grid.topology()
    file = Appended("UnstructuredGrid", VTU_VERSION)
    file.field_data(field_data)
    file.tag(f'<Piece NumberOfPoints="{grid.size}" NumberOfCells="{len(types)}">', "<PointData>")
    for name, (dtype, read) in fields.items():
        file.numbers(name, real(dtype), (grid.size,), lambda read=read: grid.values(read()))
    file.tag("</PointData>", "<CellData>")
    for name, values in cell_data.items():
        file.numbers(name, values.dtype, values.shape, lambda values=values: [values])
    file.tag("</CellData>", "<Points>")
    file.numbers("Points", "float64", (grid.size, 3), grid.coordinates, ' NumberOfComponents="3"')
    file.tag("</Points>", "<Cells>")
    for name, values in (("connectivity", connectivity), ("offsets", offsets[1:]), ("types", types)):
        file.numbers(name, values.dtype, values.shape, lambda values=values: [values])
    file.tag("</Cells>", "</Piece>")
    file.write(path)
