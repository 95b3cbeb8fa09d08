"""Tensor-product DG on the CPU: two loops for a stage, for the values at the faces and for all else."""
from functools import cached_property

import numpy as np

from ....methods.dg.shock_form import ShockForm
from ....methods.dg.split_form import SplitForm
from ....methods.dg.tensor_form import TensorForm
from ....methods.operation import Operation
from ..limiter.tensor import TensorLimiterFused
from ..simd.tiles import aligned
from .fused import NodalFused
from .shock_source import ShockSource
from .split_source import SplitSource
from .tensor_source import TensorSource


class TensorFused(NodalFused, TensorForm):
    """As `NodalFused`, with values at the faces in an array of their own, [tile, variable, face point, lane]."""

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

    def tile_operations(self, q, out, k, q0, row, number=0):
        values = [] if self.tables.join_faces else [self.values_operation(q)]          # joins have them before
        return [*values, *super().tile_operations(q, out, k, q0, row, number)]

    stage_reads = ("state", "values at faces")

    def values_operation(self, q):
        trace = self._kernel("traces", self.source.trace_text)
        loop = self.loop_of(trace, q, self.faces_values)._replace(tiles=self.all_tiles)
        return Operation("values at faces", loop=loop, reads=("state",), writes={"values at faces": self.faces_values.nbytes})

    # At joins: see `dgarray.methods.dg.mortars`.

    def values_operations(self, q):
        return [self.values_operation(q)]

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
        return self.faces_values,

    def check_arguments(self, q, number, exponent):
        return q, self.tables.owned, self.geometry, self.tiled_values, self.clock, number

    def kernel_texts(self, stepper):
        return {"values at the faces": self.source.trace_text()} | super().kernel_texts(stepper)


class SplitFused(TensorFused, SplitForm):
    """As `TensorFused` for the split form."""

    text = SplitSource
    check_text = staticmethod(SplitSource.check_text)


class ShockFused(SplitFused, ShockForm):
    """As `SplitFused` with finite volumes, whose share in each element is found in a loop before the stage's."""

    text = ShockSource
    check_text = staticmethod(ShockSource.check_text)

    @cached_property
    def own_share(self):
        return aligned(self.all_tiles * self.lanes, self.backend.dtype)

    stage_reads = ("state", "values at faces", "own shares of finite volumes")

    def tile_operations(self, q, out, k, q0, row, number=0):
        find = self._kernel("shares", self.source.share_text)
        loop = self.loop_of(find, q, self.tiled_values, self.own_share)._replace(tiles=self.all_tiles)
        own = Operation("own shares of finite volumes", loop=loop, reads=("state",),
                        writes={"own shares of finite volumes": self.own_share.nbytes})
        return [own, *super().tile_operations(q, out, k, q0, row, number)]

    def before(self):
        return *super().before(), self.own_share

    def shares(self, q):
        return super().shares(self.host(q))

    def kernel_texts(self, stepper):
        return {"shares of finite volumes": self.source.share_text()} | super().kernel_texts(stepper)
