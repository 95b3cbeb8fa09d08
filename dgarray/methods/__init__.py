"""Methods: each turns (mesh, law, boundary, order) into operations on a state."""
from .filter import ExponentialFilter
from .hermite import Hermite
from .modal_dg import ModalDG
from .nodal_dg import NodalDG

__all__ = ["ExponentialFilter", "Hermite", "ModalDG", "NodalDG"]
