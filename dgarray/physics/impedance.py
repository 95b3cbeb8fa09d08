"""Surfaces of a given impedance as a boundary condition: lossy walls of acoustics, good conductors of Maxwell's equations."""
from __future__ import annotations

from dataclasses import dataclass
from numbers import Complex, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .boundary import linear, need
from .boundary_checks import face_places, shown_at, values
from .declared import Formula
from .dispersion import Dispersion
from .fluxes import upwind
from .pointwise import components
from .trace import call

if TYPE_CHECKING:
    from collections.abc import Callable

    from .annotations import Components


@dataclass(frozen=True, repr=False)
class impedance(Formula):
    """Wall of the surface impedance Z, which takes the power Z |v . n|^2 or Z |H_tangential|^2 per area.

    Acoustics: p = Z n . v.   Maxwell: E_tangential = Z H x n, of first order (Leontovich).   n is the outward unit normal.
    q+ = R q- but with the opposite sign for v or H, in the upwind flux:   R = (Z - Z0) / (Z + Z0),
    Acoustics: p+ = R p-,  v+ = -R v-,  Z0 = rho c.   Maxwell: E+ = R E-,  H+ = -R H-,  Z0 = sqrt(mu / eps)

    Z    at least 0, a number or a function of x: the ratio itself, in the units of rho c, or of sqrt(mu / eps); 0 is
         `pressure_release` or `pec`, rho c or sqrt(mu / eps) is `absorbing`
    A plane wave at the angle a from the normal comes back with the share of its p, or of E along the wall
    acoustics, Maxwell with H in the plane of incidence:  (Z cos a - Z0) / (Z cos a + Z0)
    Maxwell with E in the plane of incidence:             (Z - Z0 cos a) / (Z + Z0 cos a)
    The energy never grows.  Beside a tensor in 2D, Z0 is the impedance of waves along the normal.  Z does not depend on
    frequency; where it does, mesh the material and give it a `Dispersion`.
    ValueError for another Z; where it is infinite take `wall` or `pmc`; and for tensors in 3D.  Pierce 1989, section 3.3;
    Senior & Volakis 1995, section 2.2."""

    Z: float | Callable
    flux = staticmethod(upwind)

    def __post_init__(self):
        Z = self.Z
        if isinstance(Z, Dispersion) or isinstance(Z, Complex) and not isinstance(Z, Real):
            raise ValueError(f"impedance({Z!r}) is not allowed; " + (
                "an impedance must not depend on frequency, and be real:" if isinstance(Z, Dispersion) else "it must be real:")
                + " give a number from 0, its value at the frequency that matters, or a function of x; or mesh the material of "
                "the wall, with dispersive eps or mu in Maxwell")
        if not callable(Z) and not (isinstance(Z, Real) and not isinstance(Z, bool) and 0 <= Z < np.inf):
            infinite = isinstance(Z, Real) and Z > 0 and np.isinf(Z)
            raise ValueError(f"impedance({Z!r}) is not allowed; " + (
                "an infinite one is dgarray.wall of acoustics, dgarray.pmc of Maxwell" if infinite else
                "give a number from 0, or a function of x"))

        self.keep(Z=Z if callable(Z) else float(Z))

    def with_number(self, name: str, value: Any) -> impedance:
        return self.changed(**{name: value})

    def check(self, mesh: Any, faces: Any, law: Any) -> None:
        """Raise ValueError where an impedance that is a function of x is below 0 or infinite."""
        if callable(self.Z):
            x = face_places(mesh, faces, 1)
            found = values(lambda x: self.at(x), x, "the impedance", ("Z",))
            wrong = np.argwhere(~((found[0] >= 0) & np.isfinite(found[0])))
            if len(wrong):
                raise ValueError(f"the impedance is {found[0][tuple(wrong[0])]:g} at {shown_at(x, wrong[0])}; it must be at "
                                 "least 0 and finite")

    def at(self, x: Components) -> Any:
        """The impedance at x."""
        return components(call(self.Z, dict(x=x), "impedance"), 1, "the impedance")[0] if callable(self.Z) else self.Z

    def __call__(self, q: Components, n: Components, x: Components, m: Any, law: Any) -> tuple:
        linear(law, "impedance")
        Z = self.at(x)
        if law.fields:
            if law.anisotropic and law.dim == 3:
                raise ValueError(f"boundary condition 'impedance' is for isotropic media in 3D, not for {law!r}")
            Z0 = law.impedance(n, m)
        else:
            need(law, "momentum", "impedance", "Maxwell or Acoustics")
            Z0 = m.rho * m.c
        R = (Z - Z0) / (Z + Z0)
        return tuple(R * c if name[0] in "Ep" else -R * c for name, c in zip(law.variables, q))
