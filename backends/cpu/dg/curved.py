"""Curved triangles, tetrahedra and prisms on the CPU."""
from .curved_source import CurvedSource
from .fused import NodalFused


class CurvedFused(NodalFused):
    """As `NodalFused`, with metrics at each point: the operations of `dgarray.methods.dg.curved_form`."""

    text = CurvedSource

    def _no_flux_beyond(self):
        last = self.geometry.reshape(self.tiles, -1, self.lanes)[-1, :, self.filled:]
        for name in ("gradients", "scale", "rate_scale"):
            first = self.source.first_of[name]
            last[first:first + self.tables.rows_of(name)] = 0
