"""Modal DG on the CPU edge by edge: one flux evaluation for each edge and point, in three kernels.

Fuhry, Giuliani & Krivodonova 2014, section 4.3: volume, edges, right-hand side, the boundary's edges first and sorted by kind.
There each kernel goes over the whole mesh, and what an edge contributes to its two elements is stored in memory of its own.
Here the three follow each other on a piece of the mesh in the second-level cache, and the contributions take the places of the
face values that they were computed from: each of these belongs to one edge, so nothing is added up and no thread waits for
another.  Edges between two pieces are evaluated in both, with the same two states in the same order: both find the same flux.

Counted per element of Euler in 2D at order p = 3, with 10 modes, 12 face points, and 6 points of 1.5 edges of its own:
  flux evaluations     6, instead of 12 where each element evaluates its own faces: half of 12 x 70 operations
  moves of values      48 gathered and 48 put back, one by one, instead of 48 gathered; the element's own come as whole vectors
  memory               nothing more: what is moved between the kernels, 8 x 4 (2 x 12 + 10) bytes, stays in cache

Bytes of memory for each unknown and stage of RK4, at p = 1 (3):
  q read and written; q0 read but in the first stage, where it is q; k written in the second, read in the last     26
  the line of the new q, and in the second stage of k, fetched before it is written (write-allocate)               10
  gradients of an element, numbers of an edge and where its values lie                                              8.7 (3.2)
  q of the elements around a piece: 85 for 512, in lines of 8 elements of which few are wanted                      5.1
Of these 50 (44) few are waited for, because they are asked for in time, some lines after the other: by the volume's kernel the
elements around the piece, by that of the edges all that the update goes through, by the update the next piece's state.
"""

import numpy as np

from ..simd import matmul
from ..simd.tiles import aligned
from .edges_source import EdgeSource
from .fused import NodalFused

IN_VECTORS = 1.06        # edges in vectors over edges, about
BEST = 4                 # the highest order at which this is faster on triangles in float64


def surface_of(given, dim, order, dtype):
    """How surface integrals are computed, "edges" or "elements": as given, or with None as is faster; measured on a CPU with
    AVX-512, see docs/modal-dg.md."""
    return given or ("edges" if dim == 2 and order <= BEST and np.dtype(dtype) == np.float64 else "elements")


class EdgesFused(NodalFused):
    """Nodal DG by kernels that evaluate each face once.

    edge_start    where the edges of a piece begin, in vectors of L edges of one kind, the last filled with the last edge
    kinds         of each vector: how many edges it has at the boundary, 0 inside the mesh
    rows          of each edge, its number in `boundary`; 0 inside the mesh
    numbers       of each vector, in rows of L: the E numbers of `EdgeSource`
    left, right   where the face values of both sides lie in a piece, [vector, point, lane]; at the boundary right is left"""

    text = EdgeSource

    def connect(self):
        t, lanes = self.tables, self.lanes
        cells, sides, rows, kind = self._edges()
        self.edge_start, self.kinds, pieces, own = self._in_vectors(cells, kind)
        (l, r), (a, b), rows = cells[:, own], sides[:, own], rows[:, :, own]
        at, self.halo = self.in_pieces(pieces, rows, np.stack([l, r])[:, None])
        self.left, self.right = (by_vector(side, lanes) for side in at)
        values = [t.geometry.normals[a, :, l].T, t.geometry.scale[a, l][None], t.geometry.scale[b, r][None],
                  *(v[cell][None] for cell in (l, r) for v in t.parameters.values())]
        if self.source.needs_x:
            values.append(self._positions(rows[0], l))
        values += [v[rows[side], cell] for side, cell in enumerate((l, r)) for v in t.media.faces.values()]
        self.rows = own * (kind[own] == 0)          # those of the boundary come first in `_edges`, in the order of `boundary`
        self.numbers = by_vector(np.concatenate(values).astype(self.backend.dtype), lanes)

    def _edges(self):
        """Every face once, the boundary's first: elements (2, face), sides (2, face), rows of `trace` (2, point, face), kinds
        (face,)."""
        t, pairs = self.tables, self.tables.faces.lists().pairs
        faces = [(g.faces.T, g.nodes) for g in self.boundary.groups]
        cells, sides = (np.concatenate([*(np.stack([f[i], f[i]]) for f, _ in faces), *(pair[i] for pair in pairs)], axis=1)
                        for i in (0, 1))
        nodes = np.concatenate([*(np.stack([n, n]) for _, n in faces), *(p.nodes for p in pairs)], axis=2)
        counts = sum(n.shape[1] for _, n in faces), sum(p.nodes.shape[2] for p in pairs)
        return cells, sides, nodes // t.elements, np.repeat((0, 1), counts)

    def _in_vectors(self, cells, kind):
        """The edges of every piece in vectors of one kind: where each piece's begin, kinds, and in each lane piece and edge.

        An edge belongs to the pieces of the own elements that it has."""
        left, right = np.where(cells < self.tables.owned, cells // (self.piece * self.lanes), -1)
        of_left, of_right = np.flatnonzero(left >= 0), np.flatnonzero((right >= 0) & (left != right))
        edge, piece = np.concatenate([of_left, of_right]), np.concatenate([left[of_left], right[of_right]])
        own = np.where(piece == left[edge], cells[0, edge], cells[1, edge])
        order = np.lexsort((own, kind[edge], piece))
        edge, piece = edge[order], piece[order]
        run = 2 * piece + kind[edge]
        first = np.flatnonzero(np.diff(run, prepend=-1))
        counts = np.diff(first, append=len(run))
        vectors = -(-counts // self.lanes)
        lane = np.arange(vectors.sum() * self.lanes) - np.repeat((np.cumsum(vectors) - vectors) * self.lanes,
                                                                 vectors * self.lanes)
        chosen = np.repeat(first, vectors * self.lanes) + np.minimum(lane, np.repeat(counts, vectors * self.lanes) - 1)
        of_piece = np.bincount(piece[first], vectors, -(-self.tiles // self.piece)).astype(int)
        start = np.concatenate([[0], np.cumsum(of_piece)])
        filled = np.repeat(counts, vectors) - lane[::self.lanes]
        kinds = np.where(np.repeat(kind[edge[first]], vectors), 0, np.minimum(filled, self.lanes))
        return start, kinds, piece[chosen], edge[chosen]

    def _positions(self, rows, cells):
        """x at these rows of `trace` (point, face) of the elements (face,), (point * dim, face)."""
        t = self.tables
        x = t.geometry.origin[:, cells] + np.einsum("pfk,kdf->pdf", t.basis.face_points[rows], t.geometry.tangents[:, :, cells])
        return x.reshape(-1, len(cells))

    @staticmethod
    def scratch_sizes(source, piece, around):
        """And the integrals over the volume of a piece."""
        return (source.size, (piece + around) * source.V * source.height, piece * source.V * matmul.padded(source.N))

    @staticmethod
    def serves(tables, dtype):
        """Whether these operations are the choice for a problem."""
        return (tables.physics.weak and not tables.faces.at_joins
                and surface_of(tables.surface, tables.dim, tables.order, dtype) == "edges")

    def _matrices(self):
        basis = self.tables.basis
        return -np.concatenate(basis.differentiation, axis=1), basis.lift, basis.interpolate, basis.trace

    def others(self):
        return (self.edge_start, self.kinds, self.numbers, self.left, self.right, self.rows, self.boundary.outside,
                self.boundary.table, self.boundary.numbers, self.tables.owned)


def by_vector(rows, lanes):
    """Rows of edges (row, edge) as [vector, row, lane], one flat aligned array."""
    result = aligned(rows.size, rows.dtype)
    result.reshape(-1, len(rows), lanes)[...] = rows.reshape(len(rows), -1, lanes).swapaxes(0, 1)
    return result
