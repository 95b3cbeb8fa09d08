"""Linear advection of a scalar."""
from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .law import Law, counted, dot, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..annotations import Components


class Advection(Law):
    """Advection  du/dt + div(a u) = 0  with velocity a, constant or a function of x.

    velocity   a number (1D), a tuple of dim numbers, or a function x -> tuple of dim components; by default (1.0,)
    dim        1, 2 or 3, needed where the velocity is a function; else it follows from the velocity
    units      None (normalised) or {name: text}, such as {"u": "kg/m^3", "time": "s", "x": "m"}, for labels and attributes
    ValueError if the number of components is not dim, for components that are no numbers, and for other units.
    """

    variables = ("u",)
    long_names = {"u": "advected quantity"}

    def __init__(self, velocity: float | Sequence[float] | Callable = (1.0,), dim: int | None = None,
                 units: dict[str, str] | str | None = None):
        if callable(velocity):
            if dim not in (1, 2, 3):
                raise ValueError(f"dim={dim!r} is not allowed; a velocity that is a function of x needs dim=1, 2 or 3")
            self._velocity = velocity
        else:
            constant = np.atleast_1d(np.array(velocity, object))
            if not all(isinstance(a, Real) and isfinite(a) for a in constant):
                raise ValueError(f"velocity={shown(velocity)} is not allowed; it must be a number, a tuple of numbers, one "
                                 "along each axis, or a function of x that returns them")
            fixed = tuple(map(float, constant))
            if dim not in (None, len(fixed)) or not 1 <= len(fixed) <= 3:
                raise ValueError(f"velocity={velocity!r} has {len(fixed)} component{'s' * (len(fixed) != 1)}; "
                                 f"allowed: {dim or '1, 2 or 3'}")
            dim = len(fixed)
            self._velocity = lambda x: fixed
        self.velocity, self.dim = velocity, dim
        self.say_units(units)

    def __repr__(self):
        return f"Advection(velocity={shown(self.velocity)}, dim={self.dim}{self.units_shown})"

    def speed(self, n: Components, x: Components) -> Any:
        """a . n; ValueError if the velocity has not dim components."""
        a = tuple(self._velocity(x))
        if len(a) != self.dim:
            raise ValueError(f"the velocity returns {len(a)} component{'s' * (len(a) != 1)}; it must return {self.dim}")
        return dot(a, n)

    def flux(self, q: Components, n: Components, x: Components) -> tuple:
        """F . n = (a . n) u."""
        return (self.speed(n, x) * counted(q, Advection.variables, self)[0],)

    def wave_speed(self, n: Components, x: Components) -> Any:
        """|a . n|."""
        return np.abs(self.speed(n, x))

    def upwind(self, l: Components, r: Components, n: Components, x: Components, alpha: float) -> tuple:
        """(a . n) (u- + u+) / 2 - alpha |a . n| (u+ - u-) / 2."""
        speed, l, r = self.speed(n, x), counted(l, Advection.variables, self), counted(r, Advection.variables, self)
        return (speed * ((l[0] + r[0]) / 2) - alpha * np.abs(speed) * ((r[0] - l[0]) / 2),)

    def energy(self, q: Components) -> Any:
        """u^2 / 2."""
        return counted(q, Advection.variables, self)[0] ** 2 / 2
