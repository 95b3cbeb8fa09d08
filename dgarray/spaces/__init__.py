"""Function spaces on meshes and grids: where the values of a field lie, and how to evaluate and integrate it."""
from .curved import polynomial_space
from .grid import GridSpace
from .mixed import MixedSpace
from .polynomial import PolynomialSpace
from .tensor import TensorSpace

__all__ = ["GridSpace", "MixedSpace", "PolynomialSpace", "TensorSpace", "polynomial_space"]
