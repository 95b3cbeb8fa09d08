"""VTK files of fields on grids, as images: `.vtkhdf` with all snapshots, `.vti` with one.

The points of the image are the nodes; a periodic axis has its first nodes again at the end, so that the image fills the box.
Values of cells are those of the image's cells.
VTKHDF: docs.vtk.org, "VTKHDF file format", ImageData; .vti: "VTK XML formats"."""
from pathlib import Path

import h5py
import numpy as np

from dgarray.output.vtk.files import (
    VTKHDF_VERSION,
    aside_of,
    field_data_of,
    fields_of,
    member,
    snapshots,
    steps_of_field_data,
    stored,
    write_hdf,
)
from dgarray.output.vtk.lagrange import real
from dgarray.output.vtk.xml import Appended

VTI_VERSION = "2.2"


def export(ds, path, variables=None, time=None, overwrite=False):
    """Write a dataset on a grid for ParaView, PyVista or VTK; returns the path.

    path       ends in .vtkhdf (all snapshots) or .vti (one snapshot)
    other arguments, field data and errors as of `output.vtk.export`"""
    path = Path(path)
    if path.suffix not in (".vtkhdf", ".vti"):
        raise ValueError(f"{path}: the suffix {path.suffix!r} is not known for a grid; allowed: .vtkhdf (all snapshots), "
                         ".vti (one)")
    fields = fields_of(ds, variables, ds.dg.axes[::-1])
    steps, times = snapshots(ds, time, path.suffix == ".vti")
    field_data = field_data_of(ds, list(fields))
    if times is not None and len(times) == 1:
        field_data["TimeValue"] = times
    image = Image(ds.dg.lattice)
    with aside_of(path, overwrite) as aside:
        if path.suffix == ".vti":
            _write_xml(aside, image, {name: (field, steps[0]) for name, field in fields.items()}, ds, field_data)
        else:
            # Of an image with a single step VTK reads the arrays as if there were none.
            write_hdf(aside, _fill_hdf, image, fields, ds, steps, times if len(steps) > 1 else None, field_data)
    return path


class Image:
    """A grid as VTK has it: three axes, of which those that are missing have one point."""

    def __init__(self, grid):
        self.grid, missing = grid, 3 - grid.dim
        self.extent = [bound for n in (*grid.cells, *(0,) * missing) for bound in (0, n)]
        self.cells = grid.location != "nodes"
        self.shape = tuple(n + (not self.cells) for n in reversed(grid.cells))
        self.origin, self.spacing = (*grid.lower, *(0.0,) * missing), (*grid.spacing, *(1.0,) * missing)

    @property
    def group(self):
        """Where the file has the values."""
        return "CellData" if self.cells else "PointData"

    def values(self, ds, name, step):
        """A field at the image's points at a step, (z, y, x), in its own precision."""
        field = ds[name].isel(time=step) if "time" in ds[name].dims else ds[name]
        values = field.transpose(*ds.dg.axes[::-1]).values
        for axis, (n, nodes) in enumerate(() if self.cells else zip(reversed(self.grid.cells), self.grid.shape)):
            values = np.take(values, np.arange(n + 1) % nodes, axis) if n == nodes else values
        return values.astype(real(values.dtype), copy=False)


def _fill_hdf(kept, image, fields, ds, steps, times, field_data):
    with h5py.File(kept, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Version"] = np.array(VTKHDF_VERSION, "int64")
        root.attrs["Type"] = np.bytes_("ImageData")
        root.attrs["WholeExtent"] = np.array(image.extent, "int64")
        for name, value in (("Origin", image.origin), ("Spacing", image.spacing), ("Direction", np.eye(3).ravel())):
            root.attrs[name] = np.array(value, "float64")
        for name, values in field_data.items():
            member(root, "FieldData", name, stored(values))
        moving = {name: times is not None and "time" in field.dims for name, field in fields.items()}
        if times is not None:
            group = root.create_group("Steps")
            group.attrs["NSteps"] = len(times)
            group["Values"] = times
            for name, moves in moving.items():
                member(group, f"{image.group}Offsets", name, np.arange(len(times)) * moves)
            steps_of_field_data(group, len(times), field_data)
        for name, field in fields.items():
            # A field that does not change is there once, for all steps.
            count = () if times is None else (len(steps) if moving[name] else 1,)
            member(root, image.group, name, shape=(*count, *image.shape), dtype=real(field.dtype))
            for position, step in enumerate(steps if moving[name] else steps[:1]):
                root[image.group][name][(position,) if count else ()] = image.values(ds, name, step)
                kept.check()


def _write_xml(path, image, fields, ds, field_data):
    extent = " ".join(map(str, image.extent))
    numbers = {key: " ".join(repr(float(value)) for value in values)
               for key, values in (("Origin", image.origin), ("Spacing", image.spacing))}
    file = Appended("ImageData", VTI_VERSION,
                    f' WholeExtent="{extent}"' + "".join(f' {key}="{value}"' for key, value in numbers.items()))
    file.field_data(field_data)
    file.tag(f'<Piece Extent="{extent}">', f"<{image.group}>")
    for name, (field, step) in fields.items():
        file.numbers(name, real(field.dtype), image.shape, lambda name=name, step=step: [image.values(ds, name, step)])
    file.tag(f"</{image.group}>", "</Piece>")
    file.write(path)
