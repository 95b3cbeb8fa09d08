"""Mortars on the CPU: one loop over tiles of mortars for each joint."""
import numpy as np

from ....methods.dg.mortars import MortarList
from ....methods.operation import Operation
from ....physics.codegen import write_module
from ..shared_loop import Loop
from ..simd.tiles import aligned, in_tiles
from .mortar_source import MortarSource

MANY = 8          # tiles of mortars from which a second thread helps


class FusedMortars(MortarList):
    """As `MortarList`, by one kernel for each pair of orders, kind of joint and law."""

    def __init__(self, left, right, joint):
        super().__init__(left, right, joint)
        dtype, lanes = self.backend.dtype, left.lanes
        self.source = MortarSource(self, dtype)
        mortars = self.areas.shape
        x = np.zeros((left.tables.dim, *mortars)) if self.x is None else self.x
        parameters = [np.broadcast_to(values, mortars) for side in self.parameters for values in side.values()]
        rows = [*self.normals, self.areas, *x, *parameters, -self.scales[0][None], self.scales[1][None],
                *(rows for split in self.splits if split is not None for rows in self.rows_of(split))]
        self.geometry = in_tiles(np.concatenate(rows).astype(dtype), lanes)
        self.indices = [in_tiles(places, lanes) for places in self.places]
        self.tiles, self.count = -(-mortars[1] // lanes), mortars[1]
        self.kernel = write_module(self.source.text(), f"mortars_{left.tables.dim}d_{dtype}").run
        self.scratch = [(aligned(self.source.size * lanes, dtype),) for _ in range(self.backend.threads)]
        for w, in self.scratch:
            self.source.put_numbers(w)

    @staticmethod
    def rows_of(split):
        """What a side in split form needs more: area vectors, and parameters at the face's nodes."""
        own = [np.broadcast_to(values, split.areas.shape[1:]) for values in split.own.values()]
        return [*split.areas, *split.vectors, *own]

    def loop(self, number):
        """The loop that computes these mortars, at a time of the clock."""
        left, right = self.sides
        strides = [side.tables.face_nodes.size * side.lanes for side in self.sides]
        return Loop(self.kernel, 1, self.tiles, self.scratch, (
            left.faces_values, strides[0], self.indices[0], right.faces_values, strides[1], self.indices[1], self.geometry,
            left.given_by_face.reshape(-1), self.columns[0], right.given_by_face.reshape(-1), self.columns[1], self.count,
            left.clock, number), 1 if self.tiles < MANY else self.tiles)

    def operation(self, number):
        return Operation("mortars", loop=self.loop(number), reads=("values at faces",), writes=self.writes)
