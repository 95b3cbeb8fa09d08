"""Reference cells: nodes, bases and matrices in float64 on the host."""
from .modal import ModalSimplex, modal_simplex
from .quadrature import quadrature
from .shapes import NAMED_SHAPES, SHAPES, Shape, shape_of
from .simplex import FACES, Simplex, simplex
from .tensor import tensor_cell


def reference_cell(shape, order, nodes=None):
    """The reference cell of polynomials on cells of a `Shape`: a `Simplex`, or a `TensorCell` with these nodes."""
    return simplex(shape.dim, order) if shape.simplex else tensor_cell(shape.dim, order, nodes)


__all__ = ["FACES", "NAMED_SHAPES", "SHAPES", "ModalSimplex", "Shape", "Simplex", "modal_simplex", "quadrature", "shape_of",
           "simplex", "tensor_cell"]
