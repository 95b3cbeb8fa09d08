"""A nonlinear law for tests."""
import numpy as np

import dgarray as dg


class Burgers(dg.Law):
    """u_t + div(u^2 / 2 (1, ..., 1)) = 0; the step depends on the state."""

    variables = ("u",)

    def __init__(self, dim=1):
        self.dim = dim

    def flux(self, q, n):
        return (q[0] ** 2 / 2 * sum(n),)

    def wave_speed(self, q, n):
        return np.abs(q[0] * sum(n))
