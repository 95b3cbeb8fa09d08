"""Conditions at named faces inside of a mesh: what each side sees beyond the face, as a function of the states on both.

The normal n of an interface points from its left side to its right one, see `dgarray.Mesh.interfaces`.  A condition has the
method

    between(l, r, n, x, t, ml, mr, p, law) -> (state that the left side sees, state that the right side sees)

which asks for its arguments by name: l, r the states on both sides, ml, mr the law's parameters there.  The left element gets
the numerical flux between l and the first state, the right element that between the second one and r.  What else it may have
says `dgarray.physics.declared.Declared`.
"""
from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.wording import choose
from .boundary import OfState, linear, need
from .boundary_checks import face_places, shown_at, values
from .declared import Formula
from .dispersion import Dispersion
from .fluxes import upwind
from .laws.law import dot
from .laws.maxwell import cross
from .pointwise import components
from .trace import call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .annotations import Components
    from .laws.law import Law

SIDES = ("inside", "outside")


@dataclass(frozen=True, repr=False)
class total_field(OfState):
    """An incident field enters through named faces inside of a mesh: on one side the unknown is the total field, on the other
    one the scattered field, the total one less the incident one.

    r + field is seen from inside,  l - field from outside,  with l, r the unknowns inside and outside

    field  a function of x and t that returns a tuple, a solution of the law without the scatterer on both sides or, where the
           faces are the surface of a body, outside of it; such as a `plane_wave`, `gaussian_beam` or `dipole`
    side   of the total field: "inside" (default), which the normal of the faces leaves, or "outside"
    Given as boundary={"name": total_field(field)}, where "name" is an interface, such as that around a region,
    mesh.with_interfaces({"name": "region"}).  For linear laws. ValueError for another side, and a field that is no function.
    Taflove & Hagness 2005, section 5.10; Alvarez, Angulo, Bretones & Garcia 2012."""

    field: Sequence[float] | Callable
    side: str = "inside"
    closed = True

    def __post_init__(self):
        super().__post_init__()
        choose("total_field: side", self.side, SIDES)

    @property
    def sign(self) -> int:
        """1 where the total field is inside, -1 where it is outside."""
        return 1 if self.side == "inside" else -1

    def check(self, mesh: Any, left: Any, right: Any, law: Law) -> None:          # type: ignore[override]
        super().check(mesh, right if self.sign > 0 else left, law)          # where it is a solution

    def between(self, l: Components, r: Components, x: Components, t: Any, law: Law) -> tuple[tuple, tuple]:
        linear(law, "total_field")
        field = [self.sign * c for c in self.state(x, t, law)]
        return tuple(a + b for a, b in zip(r, field)), tuple(a - b for a, b in zip(l, field))


@dataclass(frozen=True, repr=False)
class resistive_sheet(Formula):
    """A thin sheet that takes energy, at named faces inside of a mesh.

    Maxwell: E is continuous across it and drives a current in it, n x (H+ - H-) = E_tangential / R.
    Acoustics: the normal velocity is continuous and the pressure falls, p- - p+ = R n . v (a fabric, a wire mesh).

    resistance   R, of Maxwell that of a square (in the units of the impedance sqrt(mu / eps)), of acoustics pressure over
                 velocity (in the units of rho c); a positive number, or a function of x
    A wave along the normal of a sheet in a medium of the impedance Z is transmitted with the share 2 R / (2 R + Z) of its E; of
    acoustics 2 Z / (2 Z + R) of its pressure.  Given as boundary={"name": resistive_sheet(R)}.
    ValueError for another resistance, laws other than Maxwell and Acoustics, and media that are tensors.
    Senior & Volakis 1995, section 2.4; Morse & Ingard 1968, section 6.3."""

    resistance: float | Callable
    flux = staticmethod(upwind)

    def __post_init__(self):
        R = self.resistance
        if isinstance(R, Dispersion) or not callable(R) and not (
                isinstance(R, Real) and not isinstance(R, bool) and 0 < R < np.inf):
            raise ValueError(f"resistive_sheet({R!r}) is not allowed; give a positive number, or a function of x; a "
                             "sheet without resistance is a conductor: dgarray.pec on both sides of mesh.cut(name)")

        self.keep(resistance=R if callable(R) else float(R))

    def with_number(self, name: str, value: Any) -> resistive_sheet:
        return self.changed(**{name: value})

    def check(self, mesh: Any, left: Any, right: Any, law: Law) -> None:
        x = face_places(mesh, left, 0)
        found = values(lambda x: self.at(x), x, "the resistance of a sheet", ("R",))
        wrong = np.argwhere(~((found[0] > 0) & np.isfinite(found[0])))
        if len(wrong):
            raise ValueError(f"the resistance of a sheet is {found[0][tuple(wrong[0])]:g} at {shown_at(x, wrong[0])}; it must "
                             "be positive")

    def at(self, x: Components) -> Any:
        """The resistance at x."""
        if not callable(self.resistance):
            return self.resistance
        return components(call(self.resistance, dict(x=x), "resistance"), 1, "the resistance of a sheet")[0]

    def between(self, l: Components, r: Components, n: Components, x: Components, ml: Any, mr: Any,
                law: Any) -> tuple[tuple, tuple]:
        linear(law, "resistive_sheet")
        R = self.at(x)
        if law.fields:
            if law.anisotropic:
                raise ValueError(f"resistive_sheet needs media that are numbers, but those of {law!r} are tensors")
            return conducting(law, R, l, r, law.direction(n), (ml.eps / ml.mu) ** 0.5, (mr.eps / mr.mu) ** 0.5)
        need(law, "momentum", "resistive_sheet", "Maxwell or Acoustics")
        return porous(R, l, r, n, ml.rho * ml.c, mr.rho * mr.c)


def conducting(law, R, l, r, n, Yl, Yr):
    """The states on both sides of a sheet of resistance R in Maxwell's equations, with the admittances Y beside it."""
    (El, Hl), (Er, Hr) = law.fields(l), law.fields(r)
    El, Er = (across(n, E) for E in (El, Er))
    jump = cross(n, tuple(b - a for a, b in zip(Hl, Hr)))
    E = tuple((Yl * a + Yr * b + d) / (Yl + Yr + 1 / R) for a, b, d in zip(El, Er, jump))
    left, right = (cross(n, tuple(Y * (b - a) for a, b in zip(own, E))) for Y, own in ((Yl, El), (Yr, Er)))
    return law.state(E, tuple(a - b for a, b in zip(Hl, left))), law.state(E, tuple(a + b for a, b in zip(Hr, right)))


def across(n, v):
    """The part of a three-vector normal to the unit vector n."""
    along = dot(n, v)
    return tuple(c - along * k for c, k in zip(v, n))


def porous(R, l, r, n, Zl, Zr):
    """The states on both sides of a sheet of resistance R in acoustics, with the impedances Z beside it."""
    vl, vr = dot(l[1:], n), dot(r[1:], n)
    v = (l[0] - r[0] + Zl * vl + Zr * vr) / (Zl + Zr + R)
    velocity = tuple(v * k for k in n)
    return (l[0] + Zl * (vl - v), *velocity), (r[0] + Zr * (v - vr), *velocity)
