"""Tensor-product DG on the CPU: two loops for a stage, for the values at the faces and for all else."""
from functools import cached_property

import numpy as np

from ....methods.dg.shock_form import ShockForm
from ....methods.dg.split_form import SplitForm
from ....methods.dg.tensor_form import TensorForm
from ....methods.recipe import Recipe
from ..limiter.tensor import TensorLimiterFused
from ..shared_loop import Loop, run_loops
from ..simd.tiles import aligned
from .fused import NodalFused
from .mortars import FusedMortars
from .shock_source import ShockSource
from .split_source import SplitSource
from .tensor_source import TensorSource

MANY = 8          # tiles of mortars from which a second thread helps


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
        self.patches, self.patch_values = self._patches()

    @cached_property
    def faces_values(self):
        return aligned(self.face_size(self.backend, self.tables) // self.backend.dtype.itemsize, self.backend.dtype)

    @classmethod
    def face_size(cls, backend, tables):
        """Bytes of the values at the faces."""
        return cls.padded(backend, tables) * tables.variables * tables.face_nodes.size * backend.dtype.itemsize

    @classmethod
    def holds(cls, backend, tables):
        return super().holds(backend, tables) | {"values at the faces": cls.face_size(backend, tables)}

    @staticmethod
    def scratch_sizes(source, piece, around):
        return source.size,

    def _matrices(self):
        return (np.zeros((1, 1)),) * 4

    def _no_flux_beyond(self):
        last = self.geometry.reshape(self.tiles, -1, self.lanes)[-1, :, self.filled:]
        for name in {"gradients", "scale", "subcells"}.intersection(self.source.first_of):
            first = self.source.first_of[name]
            last[first:first + self.tables.rows_of(name)] = 0

    def stage_loops(self, q, out, k, q0, t, factors):
        traces = [] if self.tables.joint else [self._trace_loop(q)]          # joints have them before
        return [*traces, self.stage_loop(q, out, k, q0, t, factors)]

    def _trace_loop(self, q):
        trace = self._kernel("traces", self.source.trace_text)
        return Loop(trace, self.piece, self.all_tiles, self.scratch, (q, self.faces_values))

    # At joints: see `dgarray.methods.dg.mortars`.

    mortar_list = FusedMortars

    def run_loops(self, loops, pieces):
        """Run loops of so many pieces each."""
        run_loops(loops, self.backend.workers, 1 if pieces < MANY else pieces)

    def fill_faces(self, q):
        self._run([self._trace_loop(q)])

    def face_places(self, rows, corners=None):
        cells, sides = np.asarray(rows).T
        tile, lane = np.divmod(cells, self.lanes)
        points = self.tables.face_nodes[sides].T
        return (tile * self.tables.variables * self.tables.face_nodes.size + points) * self.lanes + lane

    def values_at(self, places):
        step = self.tables.face_nodes.size * self.lanes
        return np.stack([self.faces_values[places + v * step] for v in range(self.tables.variables)])

    def rhs(self, q, t):
        self._exchange(q, t)
        return super().rhs(q, t)

    def stage(self, q, out, k, q0, t, dt, row):
        self._exchange(q, t)
        super().stage(q, out, k, q0, t, dt, row)

    def _exchange(self, q, t):
        if self.mortars is not None:
            self.fill_faces(q)
            self.mortars(t)

    def step(self, stepper, states, k, t, dt, exponent=None):
        if self.mortars is None:
            return super().step(stepper, states, k, t, dt, exponent)
        return Recipe.step(self, stepper, states, k, t, dt)

    def stage_loop(self, q, out, k, q0, t, factors):
        real, uses = self.backend.dtype.type, self.uses(k, factors)
        kernel, unused = self._kernel("tensor", lambda: self.source.stage_text(*uses), uses), q[:0]
        return self._loop(kernel, q, *self.before(), out, unused if k is None else k, q0 if uses[1] else unused,
                          self.geometry, self.tiled_values, *self.others(), real(t),
                          *map(real, factors))

    def before(self):
        """The arrays that the loops before a stage's last one have filled."""
        return self.faces_values,

    def _check_loop(self, q, t, exponent):
        found = np.zeros((-(-self.tiles // self.piece), 3))
        kernel = self._kernel("check", self.source.check_text)
        return self._loop(kernel, q, self.tables.owned, self.geometry, self.tiled_values, self.backend.dtype.type(t),
                          found.reshape(-1)), found

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

    @classmethod
    def holds(cls, backend, tables):
        return super().holds(backend, tables) | {"shock capturing": cls.padded(backend, tables) * backend.dtype.itemsize}

    def stage_loops(self, q, out, k, q0, t, factors):
        find = self._kernel("shares", self.source.share_text)
        own = Loop(find, self.piece, self.all_tiles, self.scratch, (q, self.tiled_values, self.own_share))
        return [own, *super().stage_loops(q, out, k, q0, t, factors)]

    def before(self):
        return *super().before(), self.own_share

    def shares(self, q):
        return super().shares(self.host(q))

    def kernel_texts(self, stepper):
        return {"shares of finite volumes": self.source.share_text()} | super().kernel_texts(stepper)
