"""Reference cells: nodes, bases and matrices in float64 on the host."""
from .modal import ModalSimplex, modal_simplex
from .modal_prism import modal_prism, prism_quadrature
from .prism import prism
from .quadrature import quadrature
from .shapes import NAMED_SHAPES, SHAPES, Shape, shape_of
from .simplex import FACES, Simplex, simplex
from .tensor import tensor_cell


def reference_cell(shape, order, nodes=None):
    """The reference cell of polynomials on cells of a `Shape`: a `Simplex`, `PrismCell`, or `TensorCell` with these nodes."""
    if shape.name == "prism":
        return prism(order)
    return simplex(shape.dim, order) if shape.simplex else tensor_cell(shape.dim, order, nodes)


def modal_cell(shape, order, degree=None):
    """The modal reference cell of a `Shape`: a `ModalSimplex`, or a `ModalPrism`."""
    return modal_prism(order, degree) if shape.name == "prism" else modal_simplex(shape.dim, order, degree)


def cell_quadrature(shape, degree):
    """Points (point, dim) and weights (point,) on the reference simplex or prism of a `Shape`, exact up to `degree`."""
    return prism_quadrature(degree) if shape.name == "prism" else quadrature(shape.dim, degree)


__all__ = ["FACES", "NAMED_SHAPES", "SHAPES", "ModalSimplex", "Shape", "Simplex", "cell_quadrature", "modal_cell",
           "modal_simplex", "prism", "quadrature", "reference_cell", "shape_of", "simplex", "tensor_cell"]
