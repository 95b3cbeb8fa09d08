"""Nodal fields on a mesh as VTK has them.

Every element becomes one Lagrange cell of the run's order with points of its own, so that jumps between elements stay
visible. VTK interpolates at equispaced points: the polynomials are evaluated there, in VTK's node order. Named boundary
faces become cells of one dimension less on the points of their elements; the cell array `boundary` numbers the names of
the field array `boundary_names`, 0 for the elements. (A collection of blocks would name them more directly, but readers
of VTK 9.6 and 9.7 show the first step of a collection at all times.)
Lagrange cells: vtkHigherOrderTetra and relatives.
"""
from functools import cached_property

import numpy as np

from dgarray.output.cf_flags import joined_flags
from dgarray.output.surface import faces_here
from dgarray.output.vtk.frame import Frame, at_step, field_data_of, fields_of
from dgarray.output.vtk.lagrange import Grid, Grids

NODAL = "element", "node"


class Cells(Frame):
    """As `Frame`; datasets: one for each shape of cells."""

    # The version that brought today's node order of hexahedra in .vtu.
    kind, suffix, version = "UnstructuredGrid", ".vtu", "2.1"

    def __init__(self, datasets, variables=None):
        datasets = joined_flags(datasets, "region")
        self._fields = [fields_of(ds, variables, NODAL) for ds in datasets]
        self.ds, self.fields = datasets[0], self._fields[0]
        self.grid, self.cell_data, self.field_data = joined([grid_of(ds, list(self.fields)) for ds in datasets])
        self.shape = (self.grid.size,)

    @cached_property
    def topology(self):
        """connectivity, offsets into it and types of VTK's cells."""
        return self.grid.topology()

    @property
    def piece(self):
        return f'NumberOfPoints="{self.grid.size}" NumberOfCells="{len(self.topology[2])}"'

    def values(self, name, step):
        return self.grid.values([at_step(fields[name], step, NODAL) for fields in self._fields])

    def geometry(self, root):
        connectivity, offsets, types = self.topology
        for name, value in (("NumberOfPoints", self.grid.size), ("NumberOfCells", len(types)),
                            ("NumberOfConnectivityIds", len(connectivity))):
            root[name] = np.array([value], "int64")
        root["Connectivity"], root["Offsets"], root["Types"] = connectivity, offsets, types
        points, start = root.create_dataset("Points", (self.grid.size, 3), "float64"), 0
        for block in self.grid.coordinates():
            points[start:start + len(block)] = block
            start += len(block)

    def geometry_steps(self, group, count):
        static = np.zeros(count, "int64")
        group["NumberOfParts"] = static + 1
        for name in ("PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"):
            group[name] = static
        for name in self.cell_data:
            group.require_group("CellDataOffsets").create_dataset(name, data=static)

    def geometry_xml(self, file):
        connectivity, offsets, types = self.topology
        file.tag("<CellData>")
        for name, values in self.cell_data.items():
            file.numbers(name, values.dtype, values.shape, lambda values=values: [values])
        file.tag("</CellData>", "<Points>")
        file.numbers("Points", "float64", (self.grid.size, 3), self.grid.coordinates, ' NumberOfComponents="3"')
        file.tag("</Points>", "<Cells>")
        for name, values in (("connectivity", connectivity), ("offsets", offsets[1:]), ("types", types)):
            file.numbers(name, values.dtype, values.shape, lambda values=values: [values])
        file.tag("</Cells>")

    def geometry_pyvista(self, module):
        connectivity, offsets, types = self.topology
        return module.UnstructuredGrid(np.insert(connectivity, offsets[:-1], np.diff(offsets)), types,
                                       np.concatenate(list(self.grid.coordinates())))


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
