"""What the function spaces on meshes have in common: dimensions of fields, values at points and on named boundaries."""
import numpy as np

from ..mesh.locate import Locator
from .parts import Evaluation, Trace, face_rows

PIECE = 1 << 18          # multiply-adds of one interpolation, so few that BLAS libraries use one thread for the product


class ElementSpace:
    """The base class of the spaces of functions on the elements of a mesh: values (variable, node, element).

    dims, sizes   names and lengths of a field's dimensions in a dataset
    word, place   what messages call the domain, and a place in it
    structured    whether the domain is a grid
    mesh, order, cell   the mesh, the degree, the reference cell with its `nodes`
    A derived class has `surface(rows)`, the faces `rows` (count, 2) with points on them."""

    dims, word, place, structured = ("element", "node"), "mesh", "element", False

    @property
    def spaces(self):
        """The spaces of the blocks of the mesh, one for each shape of cells."""
        return [self]

    @property
    def count(self):
        """Number of elements."""
        return len(self.mesh.cells)

    @property
    def sizes(self):
        return {"element": self.count, "node": len(self.cell.nodes)}

    def blocks(self, size):
        """Slices of elements that bound temporary memory, for a product with a matrix of this size."""
        step = max(16, PIECE // size)
        return [slice(first, min(first + step, self.count)) for first in range(0, self.count, step)]

    def arranged(self, values):
        """Values (variable, node, element) in the order of a dataset, (variable, element, node)."""
        return values.transpose(0, 2, 1)

    def filled(self, values):
        """Values (variable, node, element) with that of the element's first node in place of those that it does not have."""
        return values

    def coordinates(self, units):
        """Coordinates that a record of all nodes adds to those of the run's dataset: none."""
        return {}

    def evaluation(self, x):
        """The `Evaluation` of fields at points x (point, dim); on a face it takes the value in one of the face's elements."""
        element, r, quality = Locator(self.mesh.points, self.mesh.cells, self.mesh.geometry_nodes).held(x)
        matrix = self.cell.interpolation(r)
        coords = {"cell_number": (("point",), self.mesh.numbers[element].astype("int64"),
                                  {"long_name": "position among the cells of the mesh file, from 0"})}
        return Evaluation(element, lambda q: np.einsum("pn,vnp->vp", matrix, q), element < 0, coords, quality)

    def trace(self, boundary, role, units, beyond=False):
        """The `Trace` of a named boundary, or of several; beyond: of the cells on the other side of an interface.

        Raises ValueError for an unknown name."""
        surface = self.surface(face_rows(self.mesh, boundary, role, beyond))
        return Trace(surface.rows[:, 0], surface.take, dict(zip(("face", "face_node"), surface.shape)),
                     surface.coords(self.mesh.numbers, units("x")))
