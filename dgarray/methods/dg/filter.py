"""The exponential filter of nodal DG: what makes a state's highest degrees smaller after every step."""
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real

import numpy as np


@dataclass(frozen=True)
class ExponentialFilter:
    """After every step the part of degree k is multiplied by sigma(k), where the method has the degree N.

    sigma(k) = exp(-strength ((k - cutoff) / (N - cutoff))^order) for k > cutoff, else 1
    strength   what is left of degree N is exp(-strength): nothing in float64 at 36
    order      the higher, the less of the middle degrees is taken away; even as a rule
    cutoff     degree up to which nothing changes, less than N; averages never change
    Hesthaven & Warburton 2008, section 5.3."""

    strength: float = 36.0
    order: int = 16
    cutoff: int = 0

    def __post_init__(self):
        if not (isinstance(self.strength, Real) and self.strength > 0 and isfinite(self.strength)):
            raise ValueError(f"strength={self.strength!r} is not allowed for ExponentialFilter; it must be a positive number")
        for name, least in (("order", 1), ("cutoff", 0)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name}={value!r} is not allowed for ExponentialFilter; "
                                 f"it must be a whole number from {least}")

    def check(self, degree):
        """Raise ValueError where a method of this degree has nothing above the cutoff."""
        if self.cutoff >= degree:
            raise ValueError(f"{self!r} changes nothing at order {degree}; its cutoff must be below the order")

    def matrix(self, cell):
        """V diag(sigma) V^-1, (node, node), of a `dgarray.reference.Simplex`."""
        degrees = np.array([sum(mode) for mode in cell.basis.mode_ids])
        share = np.maximum(degrees - self.cutoff, 0) / (cell.order - self.cutoff)
        V = cell.vandermonde
        return np.linalg.solve(V.T, (V * np.exp(-self.strength * share**self.order)).T).T
