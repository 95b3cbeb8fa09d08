"""Linear advection of a scalar."""
import numpy as np

from .law import Law, dot


class Advection(Law):
    """Advection  du/dt + div(a u) = 0  with velocity a, constant or a function of x.

    velocity: a number (1D), a tuple of dim numbers, or a function x -> tuple of dim components.
    ValueError if the number of components is not dim.
    """

    variables = ("u",)
    long_names = {"u": "advected quantity"}

    def __init__(self, velocity=(1.0,), dim=None):
        if callable(velocity):
            if dim not in (1, 2, 3):
                raise ValueError(f"dim={dim!r} is not allowed; a velocity that is a function of x needs dim=1, 2 or 3")
            self._velocity = velocity
        else:
            constant = tuple(float(a) for a in np.atleast_1d(velocity))
            if dim not in (None, len(constant)) or len(constant) > 3:
                raise ValueError(f"velocity={velocity!r} has {len(constant)} components; allowed: {dim or '1, 2 or 3'}")
            dim = len(constant)
            self._velocity = lambda x: constant
        self.velocity, self.dim = velocity, dim

    def __repr__(self):
        return f"Advection(velocity={self.velocity!r}, dim={self.dim})"

    def flux(self, q, n, x):
        return (dot(self._velocity(x), n) * q[0],)

    def wave_speed(self, n, x):
        return np.abs(dot(self._velocity(x), n))

    def upwind(self, l, r, n, x, alpha):
        speed = dot(self._velocity(x), n)
        return (speed * ((l[0] + r[0]) / 2) - alpha * np.abs(speed) * ((r[0] - l[0]) / 2),)

    def energy(self, q):
        return q[0] ** 2 / 2
