"""Reference cells: nodes, bases and matrices in float64 on the host."""
from .quadrature import quadrature
from .simplex import FACES, Simplex, simplex

__all__ = ["FACES", "Simplex", "quadrature", "simplex"]
