"""Mortars on the CPU: one loop over tiles of mortars for each `Join`."""
import numpy as np

from ....methods.dg.mortars import MortarList
from ....methods.operation import Operation
from ....support.cached_modules import write_module
from ..simd import target
from ..simd.tiles import aligned, in_tiles
from ..threaded_loops import Loop
from .mortar_source import MortarSource

MANY = 8          # tiles of mortars from which a second thread helps


class FusedMortars(MortarList):
    """A `MortarList` by one kernel for each pair of orders, kind of join and law.

    sides   the operations of both sides"""

    def __init__(self, sides, join):
        super().__init__([side.tables for side in sides], join, [side.several for side in sides])
        self.sides, self.backend = sides, sides[0].backend
        dtype = self.backend.dtype
        lanes = target.lanes(dtype)
        self.source = MortarSource(self, dtype)
        mortars = self.areas.shape
        x = np.zeros((self.tables[0].dim, *mortars)) if self.x is None else self.x
        parameters = [np.broadcast_to(values, mortars)
                      for given in (*self.parameters, self.profiles) for values in given.values()]
        rows = [*self.normals, self.areas, *x, *parameters, -self.scales[0][None], self.scales[1][None],
                *(share[None] for shares in self.shares for share in shares),
                *(rows for i in (0, 1) for rows in self.rows_of(i))]
        self.geometry = in_tiles(np.concatenate(rows).astype(dtype), lanes)
        self.columns = [side.faces.number_at_joins(faces) for side, faces in zip(self.tables, self.rows)]
        self.gathered = [in_tiles(side.face_places(faces, self.corners)[order], lanes)
                         for side, faces, order in zip(sides, self.rows, self.order)]
        self.put = [in_tiles(side.given_places(columns, positions)[0], lanes)
                    for side, columns, positions in zip(sides, self.columns, self.positions)]
        self.flat = [np.ascontiguousarray(matrix, dtype).ravel() for pair in self.matrices_of_kernel() for matrix in pair]
        self.tiles, self.count = -(-mortars[1] // lanes), mortars[1]
        self.kernel = write_module(self.source.text(), f"mortars_{self.tables[0].dim}d_{dtype}").run
        self.scratch = [(aligned(self.source.size * lanes, dtype),) for _ in range(self.backend.threads)]
        for w in self.scratch:
            self.source.put_numbers(*w)

    def matrices_of_kernel(self):
        """(to the mortar points, back) of both sides."""
        return [(to, back if split is None else split.back) for (to, back), split in zip(self.matrices, self.splits)]

    def rows_of(self, i):
        """More rows of a side in split or strong form: area vectors, parameters and positions at its face points."""
        split, own = self.splits[i], self.owns[i]
        if split is None and own is None:
            return []
        vectors, parameters = (own.vectors, own.parameters) if split is None else (split.areas, split.own)
        at_points = [np.broadcast_to(values, vectors.shape[1:]) for values in parameters.values()]
        return [*vectors, *(() if split is None else split.vectors), *at_points,
                *(() if own is None or own.x is None else own.x)]

    def operation(self, states, number):
        arrays, strides = zip(*(side.face_array(q) for side, q in zip(self.sides, states)))
        given = [side.given_by_face.reshape(-1) for side in self.sides]
        apart = [side.given_by_face.shape[2] for side in self.sides]
        loop = Loop(self.kernel, 1, self.tiles, self.scratch, (
            arrays[0], strides[0], self.gathered[0], arrays[1], strides[1], self.gathered[1], self.geometry,
            given[0], apart[0], self.put[0], given[1], apart[1], self.put[1], *self.flat, self.count,
            self.sides[0].clock, number), 1 if self.tiles < MANY else self.tiles)
        reads = dict.fromkeys(side.faces_read for side in self.sides)
        writes = {"fluxes at joins": sum(side.given_by_face.nbytes for side in dict.fromkeys(self.sides))}
        return Operation("mortars", loop=loop, reads=tuple(reads), writes=writes)

    def spread_shares(self):
        """Give the faces of both sides the share of finite volumes in the element beyond them, or the largest of several."""
        for i, side in enumerate(self.sides):
            found = self.sides[1 - i].own_share[self.rows[1 - i][:, 0]]
            side.share_beyond[self.columns[i]] = np.maximum(side.share_beyond[self.columns[i]], found)
