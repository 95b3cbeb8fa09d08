"""The exponential filter of nodal DG, which damps the highest polynomial degrees of a state after every step."""
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real

import numpy as np

from ...support.keywords import Keywords


@dataclass(frozen=True)
class ExponentialFilter(Keywords):
    """Multiply the part of degree k of a state by sigma(k) after every step; N is the degree of the method.

    sigma(k) = exp(-strength ((k - cutoff) / (N - cutoff))^order) for k > cutoff, else 1
    strength   above 0: degree N is multiplied by exp(-strength), which at 36 (default) is below the rounding of float64
    order      whole number from 1, by default 16: the higher, the less the middle degrees are damped; usually even
    cutoff     whole number from 0 (default) to below N: degrees up to the cutoff do not change. Averages never change
    Raises ValueError for values that are not allowed.
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
        """Raise ValueError if a method of this degree has no degree above the cutoff."""
        if self.cutoff >= degree:
            raise ValueError(f"{self!r} changes nothing at order {degree}; its cutoff must be below the order")

    def matrix(self, cell):
        """The matrix V diag(sigma) V^-1, (node, node), which filters values at the nodes of `cell`, a
        `Simplex` or a `MixedFacesCell`."""
        degrees = cell.degrees
        share = np.maximum(degrees - self.cutoff, 0) / (cell.order - self.cutoff)
        V = cell.vandermonde
        return np.linalg.solve(V.T, (V * np.exp(-self.strength * share**self.order)).T).T
