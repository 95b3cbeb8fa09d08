"""Maxwell's equations in 1D, 2D (TM, TE) and 3D."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..linear_response import Conduction, internal_of, polarisation, stored_energy
from ..stretched_coordinates import layer_chains, parameters_of
from .law import Law, check_dim, check_parameters, counted, dispersive_apart, dot

if TYPE_CHECKING:
    from ..annotations import Components, Parameter

FIELDS = {                     # components that are present, in the order of the papers
    (1, "TM"): ("Ez", "Hy"),
    (2, "TM"): ("Hx", "Hy", "Ez"),
    (2, "TE"): ("Ex", "Ey", "Hz"),
    (3, None): ("Ex", "Ey", "Ez", "Hx", "Hy", "Hz"),
}

MU_0 = 1.25663706127e-6                                # H/m, CODATA 2022
VACUUM = 1 / (MU_0 * 299792458.0 ** 2), MU_0          # eps_0 in F/m, and mu_0


def cross(a, b):
    """a x b of two three-vectors."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


class Maxwell(Law):
    """Maxwell's equations  eps E_t - curl H = -sigma E,  mu H_t + curl E = 0.

    dim           1 (fields Ez, Hy), 2, or 3 (default)
    polarisation  in 2D "TM" (Hx, Hy, Ez; default) or "TE" (Ex, Ey, Hz)
    eps, mu       permittivity and permeability, positive: a number, {region: number}, or a function of x; in place of a number
                  a dispersive one, such as 2.0 + dgarray.Debye(1.0, 0.5), for discontinuous Galerkin methods;
                  by default vacuum, eps = mu = 1, with units="SI" 8.854e-12 F/m and 1.257e-6 H/m
    sigma         conductivity, not negative, by default 0; as eps
    units         None (normalised), "SI" (V/m, A/m, F/m, H/m, S/m, m, s) or {name: text}: for labels, attributes and the
                  default of eps and mu; no number that is given is converted
    With eps = mu = 1 the speed of light and the impedance of the vacuum are 1.

    ValueError for another dim or polarisation, for parameters that are not positive (sigma: negative), and for other units.

    One text serves all dimensions: E and H are three-vectors whose absent components are zero.
    Kloeckner, Warburton, Bridge & Hesthaven 2009, section 6; Kloeckner, Warburton & Hesthaven 2013, equations (2) and (5).
    """

    family = "curl"
    si = {**{f"E{axis}": "V/m" for axis in "xyz"}, **{f"H{axis}": "A/m" for axis in "xyz"},
          "eps": "F/m", "mu": "H/m", "sigma": "S/m"}
    positive, not_negative = ("eps", "mu"), ("sigma",)

    def __init__(self, dim: int = 3, polarisation: str | None = None, eps: Parameter | None = None, mu: Parameter | None = None,
                 sigma: Parameter = 0.0, units: dict[str, str] | str | None = None):
        self.dim = check_dim(dim)
        self.polarisation = polarisation or (None if dim == 3 else "TM")
        if (dim, self.polarisation) not in FIELDS:
            allowed = ", ".join(str(p) for d, p in FIELDS if d == dim)
            raise ValueError(f"polarisation={polarisation!r} is not allowed in {dim}D; allowed: {allowed}")
        self.variables = FIELDS[dim, self.polarisation]
        kind = {"E": "electric", "H": "magnetic"}
        self.long_names = {v: f"{kind[v[0]]} field, {v[1]} component" for v in self.variables}
        vacuum = VACUUM if units == "SI" else (1.0, 1.0)
        eps, mu = (default if given is None else given for given, default in zip((eps, mu), vacuum))
        self.parameters, self.dispersive = dispersive_apart({"eps": eps, "mu": mu, "sigma": sigma}, ("eps", "mu"))
        check_parameters(self)
        self.say_units(units)

    def __repr__(self):
        shown = f", polarisation={self.polarisation!r}" if self.dim == 2 else ""
        return super().__repr__().replace(f"dim={self.dim}", f"dim={self.dim}{shown}", 1)

    def fields(self, q: Components) -> tuple:
        """E and H as three-vectors; components that this dimension does not have are zero."""
        present = dict(zip(self.variables, counted(q, self.variables, self)))
        return tuple(tuple(present.get(field + axis, 0.0) for axis in "xyz") for field in "EH")

    def state(self, E: Components, H: Components) -> tuple:
        """The components of E and H that this dimension has, as the state q."""
        vectors = {"E": E, "H": H}
        return tuple(vectors[v[0]]["xyz".index(v[1])] for v in self.variables)

    def capacity(self, m):
        """C = eps for E, mu for H."""
        return self.state((m.eps,) * 3, (m.mu,) * 3)

    def flux(self, q, n):
        """F . n = (-n x H, n x E)."""
        E, H = self.fields(q)
        n = self.direction(n)
        return self.state(tuple(-c for c in cross(n, H)), cross(n, E))

    def direction(self, n):
        """A direction as a three-vector."""
        return (*n, *(0.0,) * (3 - self.dim))

    def wave_speed(self, n, m):
        """|n| / sqrt(eps mu)."""
        return (dot(n, n) / (m.eps * m.mu)) ** 0.5

    def upwind(self, l, r, n, ml, mr, alpha):
        """Riemann solution with the impedances Z = sqrt(mu/eps) = 1/Y of both sides; [q] = q+ - q-.

        n.F* = (-n x H*, n x E*),  H* = (Z- H- + Z+ H+ - alpha n x [E]) / (Z- + Z+),
                                   E* = (Y- E- + Y+ E+ + alpha n x [H]) / (Y- + Y+)
        Hesthaven & Warburton 2002; Kloeckner et al. 2009, section 6."""
        (El, Hl), (Er, Hr), n = self.fields(l), self.fields(r), self.direction(n)
        # Not np.sqrt: of Python numbers that is a float64 scalar, which would promote float32 arrays.
        zl, zr = (ml.mu / ml.eps) ** 0.5, (mr.mu / mr.eps) ** 0.5
        yl, yr = 1 / zl, 1 / zr
        nxE = cross(n, tuple(b - a for a, b in zip(El, Er)))
        nxH = cross(n, tuple(b - a for a, b in zip(Hl, Hr)))
        H = tuple((zl * a + zr * b - alpha * d) / (zl + zr) for a, b, d in zip(Hl, Hr, nxE))
        E = tuple((yl * a + yr * b + alpha * d) / (yl + yr) for a, b, d in zip(El, Er, nxH))
        return self.flux(self.state(E, H), n[:self.dim])

    def source(self, q, m):
        """The current of conduction: -sigma E in the equation of E."""
        E, _ = self.fields(q)
        return self.state(tuple(-m.sigma * c for c in E), (0.0,) * 3)

    def damping(self, m):
        """sigma / eps."""
        return m.sigma / m.eps

    def response(self, media, layer, several, speed):
        """See `Law.response`."""
        terms = {name: [polarisation(term, media[name].high) for term in media[name].terms] if name in media else []
                 for name in ("eps", "mu")}
        conducts = layer is not None and self.parameters["sigma"] != 0 and type(self).source is Maxwell.source
        terms["eps"] += [Conduction(self.damping)] * conducts
        number = {variable: v for v, variable in enumerate(self.variables)}
        fields = [(tuple(number.get(field + axis) for axis in "xyz"), 1, [terms[name]] if terms[name] else [])
                  for field, name in (("E", "eps"), ("H", "mu"))]
        chains = layer_chains(layer, speed, several, self.dim, fields)
        return internal_of(self, chains, None if layer else stored_energy(chains), conducts, parameters_of(layer))

    def energy(self, q, m):
        """(eps |E|^2 + mu |H|^2) / 2."""
        E, H = self.fields(q)
        return (m.eps * dot(E, E) + m.mu * dot(H, H)) / 2
