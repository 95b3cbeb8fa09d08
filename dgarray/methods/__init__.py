"""Methods: each turns (mesh, law, boundary, order) into operations on a state."""
from .nodal_dg import NodalDG

__all__ = ["NodalDG"]
