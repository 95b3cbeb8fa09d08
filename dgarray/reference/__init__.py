"""Reference cells: nodes, bases and matrices in float64 on the host."""
from functools import lru_cache

from .modal import ModalSimplex, modal_simplex
from .modal_mixed_faces import ModalMixedFacesCell
from .prism import PrismCell
from .pyramid import PyramidCell
from .quadrature import quadrature
from .shapes import NAMED_SHAPES, SHAPES, Shape, shape_of
from .simplex import FACES, Simplex, simplex
from .tensor import tensor_cell

MIXED_FACES = {cell.shape: cell for cell in (PrismCell, PyramidCell)}


def reference_cell(shape, order, nodes=None):
    """The reference cell of functions of an order on cells of a `Shape`: a `Simplex`, a `MixedFacesCell`, or a `TensorCell`
    with these nodes."""
    if shape.mixed_faces:
        return _mixed_faces(shape, order)
    return simplex(shape.dim, order) if shape.simplex else tensor_cell(shape.dim, order, nodes)


def modal_cell(shape, order, degree=None):
    """The modal reference cell of a `Shape`, of an order from 0: a `ModalSimplex`, or a `ModalMixedFacesCell`.

    degree: up to which the quadrature is exact, 2 order by default; on faces up to 2 order + 1 at least"""
    return _modal_mixed_faces(shape, order, degree) if shape.mixed_faces else modal_simplex(shape.dim, order, degree)


@lru_cache(maxsize=64)
def _mixed_faces(shape, order):
    if order != int(order) or order < 1:
        raise ValueError(f"order {order!r} is not allowed; it must be a whole number from 1")
    return MIXED_FACES[shape](int(order))


@lru_cache(maxsize=64)
def _modal_mixed_faces(shape, order, degree):
    return ModalMixedFacesCell(MIXED_FACES[shape](order), _mixed_faces(shape, max(order, 1)),
                               2 * order if degree is None else degree)


__all__ = ["FACES", "NAMED_SHAPES", "SHAPES", "ModalSimplex", "Shape", "Simplex", "modal_cell", "modal_simplex", "quadrature",
           "reference_cell", "shape_of", "simplex", "tensor_cell"]
