"""Function spaces on meshes and grids: where the values of a field lie, and how to evaluate and integrate it."""
from .grid import GridSpace
from .mixed import MixedSpace
from .polynomial import PolynomialSpace
from .prism import PrismSpace, polynomial_space
from .tensor import TensorSpace

__all__ = ["GridSpace", "MixedSpace", "PolynomialSpace", "PrismSpace", "TensorSpace", "polynomial_space"]
