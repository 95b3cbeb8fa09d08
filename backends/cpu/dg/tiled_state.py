"""The state of DG in tiles: where its values lie, and copies between it and other arrays."""
import numpy as np

from ....methods.dg.arrays import DGArrays
from ..simd import target
from ..simd.tiles import aligned, in_tiles


class TiledState(DGArrays):
    """A base class of `NodalFused`. Its state is kept in tiles, [tile, variable, node, lane], so that a tile is one contiguous
    piece of memory; the last tile is filled up with copies of the last element that no flux reaches.  `state` and `host`
    translate.

    lanes              elements of a tile
    tiles, all_tiles   those that kernels work on, and those of the state: on a part of a mesh, those with own elements, and
                       those with copies of other parts' elements too. The last one that is worked on may hold some copies"""

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        self.lanes = target.lanes(backend.dtype)
        self.tiles, self.all_tiles = (-(-count // self.lanes) for count in (tables.owned, tables.elements))

    def tiled(self, rows, dtype=None):
        """Rows (row, element) as [tile, row, lane], one flat aligned array; the last tile is filled with the last element."""
        return in_tiles(rows, self.lanes, dtype)

    def _by_tile(self, state):
        """The state as [tile, variable, row, lane]."""
        return state.reshape(self.all_tiles, self.tables.variables, self.tables.rows, self.lanes)

    @property
    def filled(self):
        """Lanes of the last tile worked on with own elements."""
        return self.tables.owned - (self.tiles - 1) * self.lanes

    def zeros(self):
        return aligned(self.all_tiles * self.lanes * self.tables.variables * self.tables.rows, self.backend.dtype)

    def state(self, q):
        """The state q[variable, row, element] of the host, in tiles."""
        return self.tiled(q.reshape(-1, q.shape[2]), self.backend.dtype)

    def host(self, state):
        shape = self.tables.variables, self.tables.rows
        values, tiles = np.empty((*shape, self.tables.elements), self.backend.dtype), self._by_tile(state)
        whole = self.tables.elements // self.lanes
        end = whole * self.lanes
        values[:, :, :end].reshape(*shape, whole, self.lanes)[...] = tiles[:whole].transpose(1, 2, 0, 3)
        if whole < self.all_tiles:
            values[:, :, end:] = tiles[-1, :, :, :self.tables.elements - end]
        return values

    plain = host

    def as_array(self, state):
        return self.host(state)

    def places_of(self, elements):
        return np.divmod(np.asarray(elements), self.lanes)

    def layout(self):
        tile, lane = self.places_of(np.arange(self.tables.elements))
        step = self.tables.rows * self.lanes
        return tile * (self.tables.variables * step) + lane, step, self.lanes

    def gather(self, state, places):
        tile, lane = places
        return np.ascontiguousarray(self._by_tile(state)[tile, :, :, lane].transpose(1, 2, 0))

    def scatter(self, state, places, values):
        tile, lane = places
        self._by_tile(state)[tile, :, :, lane] = values.transpose(2, 0, 1)

    def change(self, q, p):
        """As the reference; the lanes beyond the last element do not count."""
        pair = [self._by_tile(a)[:self.tiles] for a in (q, p)]
        whole = range(0, self.tiles - 1, self.piece)
        parts = [[a[first:min(first + self.piece, self.tiles - 1)] for a in pair] for first in whole]
        last = [[a[-1:, :, :, :self.filled] for a in pair]] if self.tiles else []
        return self._largest([*parts, *last], axes=(0, 2, 3))
