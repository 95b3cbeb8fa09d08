"""Function spaces on meshes and grids: where values lie, how to evaluate and integrate them, how a place is named."""
from .grid import GridSpace
from .polynomial import PolynomialSpace

__all__ = ["GridSpace", "PolynomialSpace"]
