"""Continuous fields from discontinuous ones: at places that elements share, the mean of their values, weighted by volume.

Isolines and gradients of a discontinuous field show the elements' edges beside the field; those of the mean do not."""
import numpy as np

from dgarray.mesh.curved import cell_maps
from dgarray.output.evaluation import by_snapshot
from dgarray.spaces import TensorSpace, polynomial_space

# Distance of two places, as a share of the mesh's size, that counts as rounding; and a shift that keeps the coordinates of
# regular meshes from the borders between two such distances.
SAME, SHIFT = 1e-9, 0.3819660112501051


class Continuous:
    """Continuous polynomials on a mesh of elements, of degree max(order, 1), by their nodes, of which all faces have some.

    mesh    `Elements`;  order: of the discontinuous field
    region  (element,) numbers: no mean is taken between elements of two regions, where a field may jump; None: all are one
    cell    the reference cell of the nodes"""

    def __init__(self, mesh, order, region=None):
        degree, shape = max(order, 1), mesh.cell_shape
        self.space = (polynomial_space(mesh, degree) if not shape.tensor else
                      TensorSpace(mesh, degree, "lobatto"))
        self.cell = self.space.cell
        x = np.swapaxes(cell_maps.positions(mesh, self.cell.nodes), 1, 2)          # (dim, element, node)
        self.shape = x.shape[1:]
        number = np.zeros(self.shape, "int64") if region is None else np.repeat(region[:, None], self.shape[1], axis=1)
        number, size = number.ravel(), np.ptp(x.reshape(len(x), -1), axis=1).max()
        for along in x.reshape(len(x), -1):
            steps = np.floor((along - along.min()) / (SAME * size) + SHIFT).astype("int64")
            _, steps = np.unique(steps, return_inverse=True)
            _, number = np.unique(number * (steps.max() + 1) + steps, return_inverse=True)
        self.number = number
        self.volume = np.repeat(self.space.jacobians, self.shape[1])

    def mean(self, values):
        """The values (element, node), each the mean of all at its place; elements with a value that is not finite do not
        count, and what no other element has is NaN."""
        counts = np.repeat(np.isfinite(values).all(axis=1), self.shape[1])
        weight = np.where(counts, self.volume, 0.0)
        total = np.bincount(self.number, weight)
        sums = np.bincount(self.number, weight * np.where(counts, np.ravel(values), 0.0))
        found = np.divide(sums, total, out=np.full(len(total), np.nan), where=total > 0)
        return found[self.number].reshape(self.shape)

    def gradient(self, values):
        """The mean gradient [(element, node) for each axis] of the mean of the values (element, node)."""
        D, drdx = self.space.derivatives
        u = self.mean(values)
        return [self.mean(sum((u @ D[k].T) * drdx[:, k, axis] for k in range(len(D)))) for axis in range(len(D))]


def mean_gradient(ds, variable):
    """The components of the mean gradient of a nodal field, Variables (time, element, node), lazy where the field is."""
    dg, field = ds.dg, ds.dg.field(variable)
    made = Continuous(dg.space.mesh, dg.order)
    into, back = dg.reference.interpolation(made.cell.nodes).T, made.cell.interpolation(dg.reference.nodes).T

    def gradient(nodal):
        return np.stack(made.gradient(nodal @ into)) @ back

    found = by_snapshot(field, gradient, ("part", "element", "node"), (dg.dim, len(dg.cells), len(dg.reference.nodes)))
    return [found.isel(part=axis) for axis in range(dg.dim)]
