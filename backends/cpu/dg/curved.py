"""DG on meshes with curved triangles or tetrahedra on the CPU: kernels for the straight elements, arrays for the curved ones.

The kernels go through all elements; in curved ones their metrics are zero, so that only sources remain of dq/dt there.  What
these elements lack is then added to the new state and to the register.
"""
from functools import cached_property

import numpy as np

from ....methods.dg.curved_form import CurvedForm
from ....methods.dg.weak_form import WeakForm
from ....methods.recipe import Recipe
from ....reference.columns import multiply
from ...arrays import ArrayBackend
from ..simd.tiles import aligned
from .fused import NodalFused


class CurvedFused(NodalFused):
    """As `NodalFused`; the tendency in curved elements is that of a `CurvedForm` on them and the elements around them."""

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        self.stage_geometry = aligned(self.geometry.size, backend.dtype)
        self.stage_geometry[:] = self.geometry
        (tile, lane), d, faces = np.divmod(tables.curved, self.lanes), tables.dim, tables.sides
        moving = np.r_[:d * d, d * d + d * faces:d * d + d * faces + faces]          # gradients, scale
        self.stage_geometry.reshape(self.tiles, -1, self.lanes)[tile[:, None], moving, lane[:, None]] = 0

    @classmethod
    def holds(cls, backend, tables):
        held = super().holds(backend, tables)
        curved = CurvedForm.holds(ArrayBackend(np, backend.dtype, "numpy"), tables)["curved elements"]
        return held | {"metrics": 2 * held["metrics"], "curved elements": curved}

    @cached_property
    def around(self):
        """Numbers of the curved elements and their neighbours."""
        mesh, curved = self.tables.mesh, self.tables.curved
        return np.union1d(curved, mesh.neighbour_cell[curved])

    @cached_property
    def arrays(self):
        """The array expressions on these elements."""
        backend = ArrayBackend(np, self.backend.dtype, "numpy", self.backend.threads)
        return CurvedForm(backend, self.tables.part(self.around).build())

    @cached_property
    def without_metrics(self):
        """The array expressions as the kernels have them in curved elements: on an affine map, without fluxes."""
        arrays, t = WeakForm(self.arrays.backend, self.arrays.tables), self.arrays.tables

        def affine(points):
            x = np.array([o + multiply(points, a) for o, a in zip(t.origin, t.tangents.swapaxes(0, 1))])
            return arrays.backend.array(x)
        arrays.gradients, arrays.x = np.zeros_like(self.arrays.gradients), affine(t.points)
        arrays.mass_x = affine(t.media.points)
        return arrays

    def lacking(self, q, t):
        """dq/dt in the curved elements, less what the kernels have there, (variable, row, curved element)."""
        arrays, inside = self.arrays, self.take(q, self.around)
        arrays.at_faces(inside)
        tendency, here = arrays.of_curved(inside, arrays.time(t)), np.searchsorted(self.around, self.tables.curved)
        if self.tables.finishes or self.tables.physics.sources:
            still = self.without_metrics
            tendency = tendency - still.finish(still.volume(inside, t), inside, t)[:, :, here]
        return tendency

    def add(self, state, values):
        """Add values (variable, row, curved element) to a state."""
        tile, lane = np.divmod(self.tables.curved, self.lanes)
        self._by_tile(state)[tile, :, :, lane] += values.transpose(2, 0, 1)

    def rhs(self, q, t):
        lacking, out = self.lacking(q, t), super().rhs(q, t)
        self.add(out, lacking)
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        lacking = self.lacking(q, t)
        super().stage(q, out, k, q0, t, dt, row)
        if k is not None and row.w:
            self.add(k, row.w * dt * lacking)
        self.add(out, (row.B * row.w + row.C) * dt * lacking)

    def step(self, stepper, states, k, t, dt, exponent=None):
        return Recipe.step(self, stepper, states, k, t, dt)
