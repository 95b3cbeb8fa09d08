"""Function spaces on meshes and grids: where the values of a field lie, and how to evaluate and integrate it."""
from .grid import GridSpace
from .mixed import MixedSpace
from .mixed_faces import MixedFacesSpace, polynomial_space
from .polynomial import PolynomialSpace
from .tensor import TensorSpace

__all__ = ["GridSpace", "MixedFacesSpace", "MixedSpace", "PolynomialSpace", "TensorSpace", "polynomial_space"]
