"""Reference cells: nodes, bases and matrices in float64 on the host."""
from .modal import ModalSimplex, modal_simplex
from .quadrature import quadrature
from .shapes import NAMED_SHAPES, SHAPES, Shape, shape_of
from .simplex import FACES, Simplex, simplex

__all__ = ["FACES", "NAMED_SHAPES", "SHAPES", "ModalSimplex", "Shape", "Simplex", "modal_simplex", "quadrature", "shape_of",
           "simplex"]
