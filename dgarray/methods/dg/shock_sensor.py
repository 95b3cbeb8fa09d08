"""Where tensor-product DG takes finite volumes on subcells: the share of them in each element, from its highest modes.

Persson & Peraire 2006; Hennemann, Rueda-Ramirez, Hindenlang & Gassner 2021, sections 3.3 and 3.4.
"""
import numpy as np

from ...physics.pointwise import components
from ...physics.trace import call
from .limiters.slope_shares import larger

SHARPNESS = 9.21024          # log((1 - 0.0001) / 0.0001): the share is 0.0001 where nothing is in the highest modes
LEAST = 0.001                # shares below are 0, those above 1 - LEAST are 1


class ShockSensor:
    """The share alpha of finite volumes in each element, by functions of numbers.

    With the modes m of rho p in products of orthonormal Legendre polynomials, by the largest degree along an axis,
    E = max(|m_N|^2 / |m_<=N|^2, |m_(N-1)|^2 / |m_<N|^2), up to order 2 the first of both alone, because the other one would
    take every slope for a shock, and

        alpha = 1 / (1 + exp(-s (E - T) / T)),   T = 0.5 10^(-1.8 (N + 1)^(1/4)),

    0 below `LEAST`, at most `most`; then at least half the share of each neighbour.

    law, order: with density rho and a pressure;  most: the largest share"""

    def __init__(self, law, order, most):
        self.law, self.order, self.most = law, order, most
        self.threshold = 0.5 * 10 ** (-1.8 * (order + 1) ** 0.25)

    def modes(self, cell):
        """Matrix (mode, node) of a line of the cell: coefficients of orthonormal Legendre polynomials."""
        n = self.order + 1
        return np.linalg.inv(np.polynomial.legendre.legvander(cell.x, self.order) * np.sqrt(np.arange(n) + 0.5))

    def kinds(self, cell):
        """0 for each mode of the highest degree, 1 of the next, 2 of the others, (mode,)."""
        return np.minimum(self.order - cell.degrees, 2)

    def sensed(self, q, m):
        """rho p."""
        return (q[0] * components(call(self.law.pressure, dict(q=q, m=m)))[0],)

    def share(self, energy):
        """alpha before it is compared with that of neighbours, of the sums of squares of each of the `kinds` of modes."""
        highest, following, rest = energy
        below = following + rest
        ratio = highest / (highest + below)
        if self.order > 2:
            ratio = larger(following / below, ratio)
        alpha = 1 / (1 + np.exp(SHARPNESS - SHARPNESS / self.threshold * ratio))
        alpha = np.where(alpha > LEAST, np.where(alpha < 1 - LEAST, alpha, 1.0), 0.0)
        return (np.minimum(alpha, self.most),)

    def beside(self, own, around):
        """The share where neighbours, one beyond each face, have these."""
        result = own[0]
        for other in around:
            result = larger(other / 2, result)
        return (result,)
