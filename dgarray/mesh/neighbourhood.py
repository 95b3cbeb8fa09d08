"""Which elements lie around each, across its faces and around its vertices: what limiters read of others."""
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .faces import Inner


class Neighbourhood:
    """The elements around each element of a mesh, whose cells may have several shapes and hanging nodes.

    mesh       the mesh;  cells: numbers of its cells in the order in which elements are counted, None: that of the mesh
    Where an element has fewer corners or faces than others, the lists repeat its first corner, and name the element itself.

    rows                            faces of an element, and where there are hanging nodes the parts of each face behind them
    neighbours (row, element)       the element there; the element itself at a boundary
    beyond (row, element)           the face or part on the other side as row * elements + element, at a boundary the same
    vertices (corner, element)      numbers of its vertices, those that a periodic boundary glues are one
    around (count, vertex)          elements around each, filled up with the first
    at_boundary (corner, element)   whether a vertex is at the boundary
    alone (corner, element)         whether no other element is around such a vertex
    size (element,)                 h / L, the distance from centroid to vertex over the extent of the mesh"""

    def __init__(self, mesh, cells=None):
        self.mesh = mesh
        self.cells = np.arange(mesh.cell_count) if cells is None else cells

    @classmethod
    def of(cls, mesh, cells=None):
        """The neighbourhood in a mesh, or in a part of one."""
        return (cls if mesh.share is None else PartOfNeighbourhood)(mesh, cells)

    @cached_property
    def number(self):
        """The number of the element of each cell."""
        number = np.empty(len(self.cells), int)
        number[self.cells] = np.arange(len(self.cells))
        return number

    @cached_property
    def corners(self):
        """(element, corner) points of the mesh."""
        cells = self.mesh.cells[self.cells]
        return np.where(cells < 0, cells[:, :1], cells)

    @property
    def parts(self):
        """Parts of a face that meet smaller faces, 0 without hanging nodes."""
        return self.mesh.hanging.small.shape[1] if len(self.mesh.hanging) else 0

    @property
    def rows(self):
        return self.mesh.neighbour_cell.shape[1] * (1 + self.parts)

    @property
    def neighbours(self):
        return self._across[0]

    @property
    def beyond(self):
        row, element = self._across[1], self._across[0]
        return row * len(self.cells) + element

    @cached_property
    def _across(self):
        """(element, row) across each row, both (row, element)."""
        mesh, parts, elements = self.mesh, self.parts, len(self.cells)
        faces = mesh.neighbour_cell.shape[1]
        row, element = np.indices((self.rows, elements))
        inside = mesh.neighbour_face[self.cells].T >= 0
        element[:faces] = self.number[mesh.neighbour_cell[self.cells]].T
        row[:faces][inside] = mesh.neighbour_face[self.cells].T[inside]
        for part in range(parts):
            (large, face), (small, own) = mesh.hanging.large.T, mesh.hanging.small[:, part].T
            large, small, there = self.number[large], self.number[small], faces + face * parts + part
            element[there, large], row[there, large] = small, own
            element[own, small], row[own, small] = large, there
        return element, row

    @cached_property
    def _glued(self):
        """One point for each point of the mesh, the same for those that a periodic boundary glues."""
        mesh, count = self.mesh, len(self.mesh.points)
        own, other = np.argwhere(mesh.neighbour_face >= 0), None
        if not len(own):
            return np.arange(count)
        other = np.stack([mesh.neighbour_cell[tuple(own.T)], mesh.neighbour_face[tuple(own.T)]], axis=1)
        theirs = np.take_along_axis(mesh.face_points(other), mesh.orientation[tuple(own.T)], axis=1)
        own = mesh.face_points(own)
        glued = own != theirs
        if own.shape[1] == 4:          # a triangle beside quadrilaterals has its last corner twice
            glued[own[:, 2] == own[:, 3], 3] = False
        graph = coo_array((np.ones(glued.sum()), (own[glued], theirs[glued])), (count, count))
        return connected_components(graph, directed=False)[1]

    @cached_property
    def _numbers(self):
        """The number of the vertex at each point of the mesh: those of elements beside each other beside each other."""
        joined = self._glued[self.corners]
        points, first = np.unique(joined, return_index=True)
        numbers = np.full(len(self.mesh.points), -1)
        numbers[points] = np.argsort(np.argsort(first))
        return numbers[self._glued]

    @cached_property
    def vertices(self):
        return np.ascontiguousarray(self._numbers[self.corners].T)

    @cached_property
    def around(self):
        corner, element = np.nonzero(self.mesh.cells[self.cells].T >= 0)
        vertex = self.vertices[corner, element]
        hanging = self.mesh.hanging
        if len(hanging):          # the large element is around the vertices on its face, too
            points = np.stack([self.mesh.face_points(part) for part in hanging.small.swapaxes(0, 1)], axis=1)
            vertex = np.concatenate([vertex, self._numbers[points].ravel()])
            element = np.concatenate([element, np.repeat(self.number[hanging.large[:, 0]], points[0].size)])
        vertex, element = np.unique(np.stack([vertex, element]), axis=1)
        counts = np.bincount(vertex)
        first = np.cumsum(counts) - counts
        result = np.tile(element[first], (counts.max(), 1))
        result[np.arange(len(vertex)) - first[vertex], vertex] = element
        return result

    @cached_property
    def at_boundary(self):
        outer = np.zeros(self.around.shape[1], bool)
        outer[self._numbers[self.mesh.face_points(self.mesh.boundary_faces)]] = True
        return outer[self.vertices]

    @cached_property
    def alone(self):
        return (self.around == self.around[0]).all(axis=0)[self.vertices] & self.at_boundary

    @cached_property
    def radius(self):
        """The largest distance from the centroid of each element to its vertices, (element,)."""
        return np.linalg.norm(self.mesh.points[self.corners] - self.mesh.centroids[self.cells][:, None], axis=2).max(axis=1)

    @property
    def size(self):
        return self.radius / np.ptp(self.mesh.points, axis=0).max()


def _taken(name):
    """A function that returns the array of this name, of those computed already for a part of a mesh."""
    return lambda self: self._found[name]


class PartOfNeighbourhood(Neighbourhood):
    """The neighbourhood in a part of a mesh: as in the whole mesh, of the elements that are here.

    What own cells need is; where copies need others the lists name an element that is."""

    @cached_property
    def _found(self):
        """{name: the property of that name}, from the neighbourhood in the mesh of the part's cells and those around them."""
        mesh, numbers = with_near(self.mesh.share.whole, self.mesh.share.cells)
        whole, there = Neighbourhood(mesh), np.searchsorted(numbers, self.mesh.share.cells[self.cells])
        here = np.full(mesh.cell_count, -1)
        here[there] = np.arange(len(there))
        across, row = (values[:, there] for values in whole._across)
        own, absent = np.indices(across.shape), here[across] < 0
        vertices, numbers = np.unique(whole.vertices[:, there], return_inverse=True)
        around = here[whole.around[:, vertices]]
        first = np.take_along_axis(around, (around >= 0).argmax(axis=0)[None], axis=0)
        return {"parts": whole.parts, "rows": whole.rows,
                "_across": (np.where(absent, own[1], here[across]), np.where(absent, own[0], row)),
                "vertices": numbers.reshape(-1, len(there)), "around": np.where(around < 0, first, around),
                "at_boundary": whole.at_boundary[:, there], "alone": whole.alone[:, there], "radius": whole.radius[there]}

    for _name in ("parts", "rows", "_across", "vertices", "around", "at_boundary", "alone", "radius"):
        locals()[_name] = property(_taken(_name))
    del _name

    @property
    def size(self):
        return self.radius / np.ptp(self.mesh.share.whole.points, axis=0).max()


def with_near(mesh, cells):
    """(A mesh of some cells and of all that share a vertex with them, the numbers of its cells in ascending order): all cells
    where faces meet smaller ones, or a periodic boundary makes vertices one."""
    if len(mesh.hanging) or len(mesh.glued):
        return mesh, np.arange(mesh.cell_count)
    touched = np.zeros(len(mesh.points) + 1, bool)          # the last one stands for corners that a cell does not have
    touched[mesh.cells[cells]] = True
    touched[-1] = False
    near = np.flatnonzero(touched[mesh.cells].any(axis=1))
    return (mesh, near) if len(near) == mesh.cell_count else (mesh.part(near, Inner.BEYOND, alone=False), near)
