"""Methods: each turns a problem, a law on a mesh with boundary conditions, into an operator that makes the steps of a run."""
from .dg.filter import ExponentialFilter
from .dg.modal import ModalDG
from .dg.nodal import NodalDG
from .dg.tensor import TensorDG
from .finite_volume.method import FiniteVolume
from .grid_operator import GridOperator
from .hermite.method import Hermite
from .method import Method
from .operator import Operator

__all__ = ["ExponentialFilter", "FiniteVolume", "GridOperator", "Hermite", "Method", "ModalDG", "NodalDG", "Operator",
           "TensorDG"]
