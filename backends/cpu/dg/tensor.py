"""Tensor-product DG on the CPU: two loops for a stage, for values at some faces and for all else."""
from functools import cached_property

import numpy as np

from ....methods.dg.set_operations import TensorOperations
from ....methods.operation import Operation
from ..limiter.tensor_positivity import TensorLimiterFused
from ..simd.tiles import aligned
from .fused import NodalFused
from .piece_borders import PieceBorders
from .tensor_source import TensorSource


class TensorFused(NodalFused, TensorOperations):
    """Tensor-product DG by kernels, with values at the faces in an array of their own, [tile, variable, face point, lane]: in
    the cache of a thread those of a piece, in memory, `border_values`, those of the faces between two pieces.

    With shock capturing the share of finite volumes in each element is found in a loop before the stage's."""

    text = TensorSource
    check_text = staticmethod(TensorSource.check_text)
    limiter_of_tiles = TensorLimiterFused
    in_place = True          # a tile reads nothing of other tiles but values at the faces

    def connect(self):
        self.exterior, self.halo = self.tiled(self.borders.exterior()), (self.borders.start[:-1],)
        self.neighbour = self.share_places = self.tiled(self.own(self.tables.mesh.neighbour_cell.T.astype(np.int32)))
        if self.captures_shocks and self.tables.faces.at_joins:
            places, rows = self.tables.mesh.neighbour_cell.astype(np.int32), self.tables.faces.at_joins.faces
            places[tuple(rows.T)] = self.all_tiles * self.lanes + np.arange(len(rows))
            self.share_places = self.tiled(self.own(places.T))
        self._no_flux_beyond()
        self.patches = self._patches()

    @cached_property
    def borders(self):
        return PieceBorders(self)

    @cached_property
    def border_values(self):
        """Two arrays, which stages read in turns."""
        return [aligned(self.borders.start[-1] * self.borders.size, self.backend.dtype) for _ in range(2)]

    @property
    def hands_on(self):
        """Whether a stage fills one of them for the next stage: where nothing changes the new state before, and nobody but
        elements reads them."""
        return self.tables.limits is None and not self.tables.faces.at_joins and self.copies is None

    @staticmethod
    def scratch_sizes(source, piece, around):
        return source.size, (piece + around) * source.V * source.height

    def _matrices(self):
        return (np.zeros((1, 1)),) * 4

    @cached_property
    def share_array(self):
        """The shares of finite volumes, those of all elements in tiles and then those beyond the faces at joins."""
        faces = len(self.tables.faces.at_joins.faces) if self.tables.faces.at_joins else 0
        return aligned(self.all_tiles * self.lanes + faces, self.backend.dtype)

    @property
    def own_share(self):
        return self.share_array[:self.all_tiles * self.lanes]

    @property
    def share_beyond(self):
        return self.share_array[self.all_tiles * self.lanes:]

    def tile_operations(self, q, out, k, q0, row, number=0):
        before = []
        if not self.tables.faces.at_joins:          # joins have them before
            before = [*([self.shares_operation(q)] if self.captures_shocks else []),
                      *([] if number and self.hands_on else [self.values_operation(q)])]
        return [*before, *super().tile_operations(q, out, k, q0, row, number)]

    @property
    def stage_reads(self):
        return "state", "values at faces", *["own shares of finite volumes"] * self.captures_shocks

    def shares_operation(self, q, copies=None):
        find = self._kernel("shares", self.source.share_text)
        loop = self.over_all_tiles(self.loop_of(find, q, self.tiled_values, self.own_share), copies)
        return Operation("own shares of finite volumes", loop=loop, reads=("state",),
                         writes={"own shares of finite volumes": self.own_share.nbytes})

    def values_operation(self, q, copies=None):
        trace = self._kernel("traces", self.source.trace_text)
        loop = self.over_all_tiles(self.loop_of(trace, q, self.border_values[0], *self.borders.moves), copies)
        return Operation("values at faces", loop=loop, reads=("state",), writes={"values at faces": self.face_bytes})

    @property
    def face_bytes(self):
        return self.border_values[0].nbytes

    def over_all_tiles(self, loop, copies):
        """The loop over the tiles of copies of other parts' elements, too; copies True: over these alone, False: not over
        them."""
        loop, whole = loop._replace(tiles=self.all_tiles), self.tables.owned // (self.piece * self.lanes)
        return loop._replace(**{None: {}, False: {"tiles": self.tiles}, True: {"first": whole}}[copies])

    # At joins: see `dgarray.methods.dg.mortars`.

    def values_operations(self, q, copies=None):
        return [self.values_operation(q, copies)]

    def face_places(self, rows, corners=None):
        return self.borders.at_joins(rows, corners)

    def values_at(self, places):
        step = self.tables.basis.face_nodes.size * self.lanes
        return np.stack([self.border_values[0][places + v * step] for v in range(self.tables.physics.moving)])

    def face_array(self, q):
        return self.border_values[0], self.tables.basis.face_nodes.size * self.lanes

    def stage_loop(self, q, out, k, q0, row, number=0):
        here, there = self.border_values[::-1 if number % 2 and self.hands_on else 1]
        shares = [self.share_array, self.share_places] if self.captures_shocks else []
        return self.loop_of(self._kernel("tensor", self.source.stage_text), *self.halo, q, here, there, *self.borders.moves,
                          self.hands_on and not row.last, *shares, *self.updated(q, out, k, q0, row),
                          self.geometry, self.tiled_values, *self.others(), *self.numbers_of(row, number))

    def check_arguments(self, q, number, exponent):
        return q, self.tables.owned, self.geometry, self.tiled_values, self.clock, number

    def kernel_texts(self, stepper):
        shares = {} if not self.captures_shocks else {"shares of finite volumes": self.source.share_text()}
        return shares | {"values at the faces": self.source.trace_text()} | super().kernel_texts(stepper)
