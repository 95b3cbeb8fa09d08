"""What a VTK file or an object of PyVista has at one snapshot: points and cells, fields on them, and words about these."""
import numpy as np

from dgarray.output.dataset import UNITLESS
from dgarray.output.joined_runs import check_one_run


class Frame:
    """The base class of `Cells`, of a run on a mesh, and of `Image`, of one on a grid; both are made of data and `variables`.

    kind, what      VTK's type of the data set, and what messages call it
    suffix, version, attributes, piece   of the XML file of one snapshot: its suffix, version, attributes of two of its tags
    group           "PointData" or "CellData", where files have the fields
    least_steps     how many snapshots a file with times has at least
    step_axis       whether the snapshots of a field have an axis of their own in such a file; else they follow each other
    ds              the dataset that has the times
    fields          {name: DataArray}
    field_data      {name: array, or list of texts}, of the whole
    cell_data       {name: array} of all cells, the same at all snapshots
    shape           of a field at one snapshot
    values(name, step)        the field in its own precision, in pieces one behind the other
    geometry(root)            writes points and cells to a group of HDF5
    geometry_steps(group, n)  writes where each of n steps finds them
    geometry_xml(file)        writes them, and the cell data, to an `Appended` file
    geometry_pyvista(module)  the object of PyVista that has them"""

    what, group, attributes, least_steps, step_axis = "a mesh", "PointData", "", 1, False

    def geometry_steps(self, group, count):
        """Nothing where a file has one geometry for all steps."""

    def geometry_xml(self, file):
        """Nothing where the tags' attributes say it all."""

    def snapshots(self, time, one):
        """Positions of the snapshots to write, all or one, by default the last, and their times; [0], None without times. A
        single time is the frame's field data, too."""
        ds = self.ds
        if "time" not in ds.coords:
            return [0], None
        last, times = ds.dg.index(-1), np.atleast_1d(ds["time"].values).astype("float64")
        steps = [last if time is None else ds.dg.index(time)] if one or time is not None else list(range(len(times)))
        if len(steps) == 1:
            self.field_data["TimeValue"] = times[steps]
        return steps, times[steps]


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


def at_step(field, step, dims):
    """A field over these dims at one step."""
    return (field.isel(time=step) if "time" in field.dims else field).transpose(*dims).values


def field_data_of(ds, names, **more):
    """What a file says besides values: names, long_names, units, and the run's attributes."""
    data = {"variables": names, "long_names": [str(ds[name].attrs.get("long_name", name)) for name in names],
            "units": [str(ds[name].attrs.get("units", UNITLESS)) for name in names], **more}
    for name, value in ds.attrs.items():
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        data.setdefault(str(name), np.array([value]) if number else [str(value)])
    return data
