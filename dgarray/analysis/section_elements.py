"""Continuous finite elements on the cross-section of a waveguide: the Laplacian's eigenproblem, and fields at any point."""
import numpy as np
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree

from ..mesh.curved import cell_maps
from ..reference import quadrature
from ..reference.quadrature import product
from ..spaces import TensorSpace, polynomial_space

DENSE = 200             # unknowns up to which the eigenproblem is solved with dense matrices
ZERO = 1e-3             # k_c times the size of the section below which it is 0


class SectionElements:
    """Continuous finite elements of a degree on the cross-section.

    space      the polynomials on its faces;  number (element, node) of the unknown at each node
    x, weights (dim - 1, point, element) and (point, element): quadrature;  matrix (point, node) to its points
    K, M       stiffness and mass, sparse"""

    def __init__(self, section, degree):
        mesh = section.mesh
        self.section = section
        self.space = polynomial_space(mesh, degree) if mesh.cell_shape.simplex else TensorSpace(mesh, degree, "lobatto")
        rule, cell = quadrature if mesh.cell_shape.simplex else product, self.space.cell
        points, weights = rule(mesh.dim, 2 * degree + 2 * (mesh.order - 1))
        self.x, J = cell_maps.positions(mesh, points), cell_maps.jacobians(mesh, points)
        self.weights = weights[:, None] * np.abs(np.linalg.det(J))
        self.matrix = cell.interpolation(points)
        slopes = np.einsum("pm,kmn->kpn", self.matrix, cell.differentiation)
        gradients = np.einsum("peki,kpn->ipen", np.linalg.inv(J), slopes)
        nodes = cell_maps.positions(mesh, cell.nodes)
        self.number = numbered(nodes.T.reshape(-1, mesh.dim), section.size).reshape(mesh.cell_count, -1)
        self.count = self.number.max() + 1
        self.K = self.assembled(np.einsum("ipem,ipen,pe->emn", gradients, gradients, self.weights, optimize=True))
        self.M = self.assembled(np.einsum("pm,pn,pe->emn", self.matrix, self.matrix, self.weights, optimize=True))

    def assembled(self, blocks):
        """The sparse matrix of the elements' matrices (element, node, node)."""
        rows, columns = (np.broadcast_to(index, blocks.shape).ravel()
                         for index in (self.number[:, :, None], self.number[:, None]))
        return csr_array(coo_array((blocks.ravel(), (rows, columns)), shape=(self.count, self.count)))

    def on_edge(self, kind):
        """Numbers of the unknowns on each edge of the walls "pec" or "pmc", a list of arrays."""
        mesh, found = self.section.mesh, []
        share = mesh.cell_shape.weights(self.space.cell.nodes)
        for cell, face in mesh.boundaries.get(kind, ()):
            others = np.delete(np.arange(share.shape[1]), mesh.cell_shape.faces[face])
            found.append(self.number[cell, np.abs(share[:, others]).max(axis=1) < 1e-9])
        return found

    def eigenpairs(self, count, fixed):
        """The first (k_c, u) of -laplace u = k_c^2 u with u = 0 on the walls `fixed`, ("pec" or "pmc"): a list."""
        free = np.setdiff1d(np.arange(self.count), np.concatenate([[], *self.on_edge(fixed)]).astype(int))
        K, M = (matrix[free][:, free] for matrix in (self.K, self.M))
        if not len(free):
            return []
        if len(free) <= max(DENSE, count + 1):
            squares, vectors = eigh(K.toarray(), M.toarray(), subset_by_index=(0, min(count, len(free)) - 1))
        else:
            shift = -1 / self.section.size**2          # below all of them, so that K - shift M is positive definite
            squares, vectors = eigsh(K, count, M, sigma=shift, v0=np.random.default_rng(0).uniform(size=len(free)))
        order = np.argsort(squares)
        u = np.zeros((len(order), self.count))
        u[:, free] = vectors.T[order]
        k = np.sqrt(np.maximum(squares[order], 0))
        return list(zip(np.where(k > ZERO / self.section.size, k, 0.0), u))

    def integral(self, values):
        """Integrals over the section of values (..., point, element)."""
        return np.sum(values * self.weights, axis=(-2, -1))

    def at_points(self, values):
        """Values (..., point, element) of those at the nodes, (..., node, element)."""
        return np.einsum("pn,...ne->...pe", self.matrix, values)

    def normalised(self, values):
        """Values (..., node, element) at the nodes, over the root of the integral of the sum of their squares."""
        return values / np.sqrt(self.integral(np.sum(self.at_points(values) ** 2, axis=0)))

    def scalar(self, u):
        """The normalised field u z, (3, node, element)."""
        values = u[self.number].T
        return self.normalised(np.array([0 * values, 0 * values, values]))

    def gradient(self, u):
        """The normalised gradient (3, node, element) of u (unknown,), in space."""
        D, drdx = self.space.derivatives
        values = u[self.number]
        slopes = [sum((values @ D[k].T) * drdx[:, k, i] for k in range(len(D))).T for i in range(len(D))]
        return self.normalised(np.einsum("id,ine->dne", self.section.axes, slopes))

    def across(self, e):
        """d x e of e (3, node, element)."""
        return np.cross(np.pad(self.section.direction, (0, 3 - len(self.section.direction)))[:, None, None], e, axis=0)

    def signed(self, e):
        """e, or -e, (3, node, element), by the sign of its moments; see `modes`."""
        values, size = self.at_points(e), self.section.size
        x = np.einsum("kd,kpe->dpe", self.section.axes, self.x)
        whole = self.integral(np.abs(values)).sum()
        moments = [self.integral(values), self.integral(values[:, None] * x).ravel() / size]
        for moment in moments:
            largest = moment[np.argmax(np.abs(moment) > (1 - 1e-6) * np.abs(moment).max())]
            if np.abs(largest) > 1e-6 * whole:
                return e * np.sign(largest)
        return e

    def function(self, e):
        """The function of x (dim, point) that evaluates e (3, node, element), the electric of a `Mode`."""
        def electric(x):
            found = self.space.evaluation(self.section.inside(x))
            if found.outside.any():
                at = ", ".join(f"{c:.6g}" for c in x[:, np.argmax(found.outside)])
                raise ValueError(f"port {self.section.name!r}: the point ({at}) lies outside of the section")
            return found.values(e[:, :, found.places])
        return electric


def numbered(x, size):
    """Numbers (point,) of the places of points x (point, dim), the same where they are the same but for rounding."""
    pairs = cKDTree(x).query_pairs(1e-7 * size, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(x), len(x)))
    return connected_components(graph, directed=False)[1]
