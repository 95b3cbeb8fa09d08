"""Linear acoustics: pressure and velocity."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..layer_filters import filtered
from ..linear_response import internal_of
from ..stretched_coordinates import layer_chains, parameters_of
from .law import Law, check_dim, check_parameters, counted, dot

if TYPE_CHECKING:
    from ..annotations import Components, Parameter

VARIABLES = ("p", "vx", "vy", "vz")


class Acoustics(Law):
    """Acoustics  p_t / (rho c^2) + div v = 0,  rho v_t + grad p = 0.

    dim           1, 2 or 3; q = (p, vx, vy, vz), the velocity with the components of dim
    density       rho, positive, by default 1: a number, {region: number}, or a function of x
    sound_speed   c, as density
    Any consistent units: pressure in those of rho c^2, velocity in those of c.
    units         None (normalised), "SI" (Pa, m/s, kg/m^3, m, s) or {name: text}, for labels and attributes; no number is
                  converted
    ValueError for another dim, for parameters that are not positive, and for other units.  LeVeque 2002, chapter 2.
    """

    positive = ("rho", "c")
    arguments = {"rho": "density", "c": "sound_speed"}
    family = "system"
    momentum = slice(1, None)          # the velocity
    si = {"p": "Pa", **dict.fromkeys(VARIABLES[1:], "m/s"), "density": "kg/m^3", "sound_speed": "m/s"}

    def __init__(self, dim: int = 2, density: Parameter = 1.0, sound_speed: Parameter = 1.0,
                 units: dict[str, str] | str | None = None):
        self.dim = check_dim(dim)
        self.variables = VARIABLES[:1 + self.dim]
        self.long_names = {"p": "acoustic pressure", **{v: f"velocity, {v[1]} component" for v in self.variables[1:]}}
        self.parameters = {"rho": density, "c": sound_speed}
        check_parameters(self)
        self.say_units(units)

    def capacity(self, m: Any) -> tuple:
        """C = 1 / (rho c^2) for p, rho for v."""
        return (1 / (m.rho * m.c ** 2), *(m.rho,) * self.dim)

    def flux(self, q: Components, n: Components) -> tuple:
        """F . n = (v . n, p n)."""
        return (dot(counted(q, VARIABLES[:1 + self.dim], self)[1:], n), *(q[0] * k for k in n))

    def wave_speed(self, n: Components, m: Any) -> Any:
        """c |n|."""
        return m.c * dot(n, n) ** 0.5

    def upwind(self, l: Components, r: Components, n: Components, ml: Any, mr: Any, alpha: float) -> tuple:
        """Riemann solution with the impedances Z = rho c of both sides; [q] = q+ - q-.

        v* = (Z- v- + Z+ v+ - alpha [p] n) / (Z- + Z+),  p* = (Z+ p- + Z- p+ - alpha Z- Z+ n.[v]) / (Z- + Z+)
        LeVeque 2002, section 9.9."""
        zl, zr = ml.rho * ml.c, mr.rho * mr.c
        vl, vr = (dot(counted(q, VARIABLES[:1 + self.dim], self)[1:], n) for q in (l, r))
        v = (zl * vl + zr * vr - alpha * (r[0] - l[0])) / (zl + zr)
        p = (zr * l[0] + zl * r[0] - alpha * (zl * zr) * (vr - vl)) / (zl + zr)
        return (v, *(p * k for k in n))

    def response(self, media: dict[str, Any], layer: Any, several: bool, speed: float) -> Any:
        """The `Internal` of an absorbing layer, None outside of one; arguments and errors of `Law.response`."""
        if layer is not None and layer.by_derivatives:
            return filtered(self, layer, several, speed)
        if layer is not None and self.dim == 3 and (several or not layer.straight and len(layer.across) == 2):
            kind, where = ("layer", " where sides meet") if layer.straight else ("cylinder", "")
            way = ("NodalDG and a layer of other cells, pml(..., split=False)" if layer.slabs else
                   "a layer of new cells around a box, pml(mesh, thickness, cells), or shape='sphere'")
            raise ValueError(f"sound in 3D grows in the {kind} {layer.region!r}{where}; take {way}")
        fields: Any = [(0, None, []), (tuple(range(1, 1 + self.dim)), -1, [])]
        chains = layer_chains(layer, speed, several, self.dim, fields)
        return internal_of(self, chains, parameters=parameters_of(layer))

    def energy(self, q: Components, m: Any) -> Any:
        """(p^2 / (rho c^2) + rho |v|^2) / 2."""
        counted(q, VARIABLES[:1 + self.dim], self)
        return (q[0] ** 2 / (m.rho * m.c ** 2) + m.rho * dot(q[1:], q[1:])) / 2
