"""Curved triangles, tetrahedra and prisms on the CPU."""
from .curved_source import CurvedSource
from .fused import NodalFused


class CurvedFused(NodalFused):
    """DG on curved elements by kernels, with metrics at each point: the operations of `dgarray.methods.dg.curved_form`."""

    text = CurvedSource
