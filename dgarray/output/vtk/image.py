"""Fields on a grid as VTK has them, an image.

The points of the image are the nodes; a periodic axis has its first nodes again at the end, so that the image fills the box.
Values of cells are those of the image's cells.
"""
import numpy as np

from dgarray.output.vtk.frame import Frame, at_step, field_data_of, fields_of
from dgarray.output.vtk.lagrange import real


class Image(Frame):
    """As `Frame`; axes that are missing have one point."""

    kind, what, suffix, version = "ImageData", "a grid", ".vti", "2.2"
    least_steps, step_axis = 2, True          # of an image with a single step VTK reads the arrays as if there were none

    def __init__(self, ds, variables=None):
        self.ds, self.grid = ds, ds.dg.lattice
        self.fields = fields_of(ds, variables, ds.dg.axes[::-1])
        self.field_data, self.cell_data = field_data_of(ds, list(self.fields)), {}
        missing, at_nodes = 3 - self.grid.dim, self.grid.location == "nodes"
        self.group = "PointData" if at_nodes else "CellData"
        self.extent = [bound for n in (*self.grid.cells, *(0,) * missing) for bound in (0, n)]
        self.shape = tuple(n + at_nodes for n in reversed(self.grid.cells))
        self.origin, self.spacing = (*self.grid.lower, *(0.0,) * missing), (*self.grid.spacing, *(1.0,) * missing)

    @property
    def attributes(self):
        numbers = {key: " ".join(repr(float(value)) for value in values)
                   for key, values in (("Origin", self.origin), ("Spacing", self.spacing))}
        return f' WholeExtent="{" ".join(map(str, self.extent))}"' + "".join(f' {k}="{v}"' for k, v in numbers.items())

    @property
    def piece(self):
        return f'Extent="{" ".join(map(str, self.extent))}"'

    def values(self, name, step):
        values = at_step(self.fields[name], step, self.ds.dg.axes[::-1])
        for axis, (n, nodes) in enumerate(zip(self.shape, self.grid.shape)):
            values = np.take(values, np.arange(n) % nodes, axis) if n > nodes else values
        return [values.astype(real(values.dtype), copy=False)]

    def geometry(self, root):
        root.attrs["WholeExtent"] = np.array(self.extent, "int64")
        for name, value in (("Origin", self.origin), ("Spacing", self.spacing), ("Direction", np.eye(3).ravel())):
            root.attrs[name] = np.array(value, "float64")

    def geometry_pyvista(self, module):
        return module.ImageData(dimensions=[bound + 1 for bound in self.extent[1::2]], spacing=self.spacing, origin=self.origin)
