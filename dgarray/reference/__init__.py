"""Reference cells: nodes, bases and matrices in float64 on the host."""
from .modal import ModalSimplex, modal_simplex
from .quadrature import quadrature
from .simplex import FACES, Simplex, simplex

__all__ = ["FACES", "ModalSimplex", "Simplex", "modal_simplex", "quadrature", "simplex"]
