"""Tensor-product DG on the CPU: two loops for a stage, for the values at the faces and for all else."""
from functools import cached_property

import numpy as np

from ....methods.dg.tensor_form import TensorForm
from ....methods.operation import Operation
from ..limiter.tensor import TensorLimiterFused
from ..simd.tiles import aligned
from .fused import NodalFused
from .tensor_source import TensorSource


class TensorFused(NodalFused, TensorForm):
    """As `NodalFused`, with values at the faces in an array of their own, [tile, variable, face point, lane].

    With shock capturing the share of finite volumes in each element is found in a loop before the stage's."""

    text = TensorSource
    check_text = staticmethod(TensorSource.check_text)
    limiter_of_tiles = TensorLimiterFused
    in_place = True          # a tile reads nothing of other tiles but values at the faces

    def connect(self):
        self.exterior, self.halo = self._exterior(self.tables.face_nodes.size), (np.zeros(1, int),)
        self.neighbour = self.tiled(self.own(self.tables.mesh.neighbour_cell.T.astype(np.int32)))
        self._no_flux_beyond()
        self.patches = self._patches()

    @cached_property
    def faces_values(self):
        return aligned(self.all_tiles * self.lanes * self.tables.variables * self.tables.face_nodes.size, self.backend.dtype)

    @staticmethod
    def scratch_sizes(source, piece, around):
        return source.size,

    def _matrices(self):
        return (np.zeros((1, 1)),) * 4

    @cached_property
    def own_share(self):
        return aligned(self.all_tiles * self.lanes, self.backend.dtype)

    def tile_operations(self, q, out, k, q0, row, number=0):
        shares = [] if self.tables.sensor is None else [self.shares_operation(q)]
        values = [] if self.tables.join_faces else [self.values_operation(q)]          # joins have them before
        return [*shares, *values, *super().tile_operations(q, out, k, q0, row, number)]

    @property
    def stage_reads(self):
        return "state", "values at faces", *["own shares of finite volumes"] * (self.tables.sensor is not None)

    def shares_operation(self, q):
        find = self._kernel("shares", self.source.share_text)
        loop = self.loop_of(find, q, self.tiled_values, self.own_share)._replace(tiles=self.all_tiles)
        return Operation("own shares of finite volumes", loop=loop, reads=("state",),
                         writes={"own shares of finite volumes": self.own_share.nbytes})

    def values_operation(self, q):
        trace = self._kernel("traces", self.source.trace_text)
        loop = self.loop_of(trace, q, self.faces_values)._replace(tiles=self.all_tiles)
        return Operation("values at faces", loop=loop, reads=("state",), writes={"values at faces": self.faces_values.nbytes})

    # At joins: see `dgarray.methods.dg.mortars`.

    def values_operations(self, q, copies=None):
        operation, whole = self.values_operation(q), self.tables.owned // (self.piece * self.lanes)
        some = {None: {}, False: {"tiles": self.tiles}, True: {"first": whole}}[copies]
        return [operation._replace(loop=operation.loop._replace(**some))]

    def face_places(self, rows, corners=None):
        return self.places_in_tiles(rows, self.tables.points_of(rows[:, 1], corners), self.tables.face_nodes.size)

    def values_at(self, places):
        step = self.tables.face_nodes.size * self.lanes
        return np.stack([self.faces_values[places + v * step] for v in range(self.tables.moving)])

    def face_array(self, q):
        return self.faces_values, self.tables.face_nodes.size * self.lanes

    def stage_loop(self, q, out, k, q0, row, number=0):
        return self.loop_of(self._kernel("tensor", self.source.stage_text), q, *self.before(), *self.updated(q, out, k, q0),
                          self.geometry, self.tiled_values, *self.others(), *self.numbers_of(k, row, number))

    def before(self):
        """The arrays that the loops before a stage's last one have filled."""
        return self.faces_values, *([] if self.tables.sensor is None else [self.own_share])

    def check_arguments(self, q, number, exponent):
        return q, self.tables.owned, self.geometry, self.tiled_values, self.clock, number

    def kernel_texts(self, stepper):
        shares = {} if self.tables.sensor is None else {"shares of finite volumes": self.source.share_text()}
        return shares | {"values at the faces": self.source.trace_text()} | super().kernel_texts(stepper)
