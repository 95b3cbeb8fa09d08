"""Maxwell's equations in 1D, 2D (TM, TE) and 3D."""
from __future__ import annotations

import warnings
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

from ..capacity import times
from ..layer_filters import filtered
from ..linear_response import Conduction, internal_of, polarisation, stored_energy
from ..stretched_coordinates import layer_chains, parameters_of
from .law import Law, check_dim, check_parameters, counted, cross, dispersive_apart, dot
from .tensors import along_axes, applied, biaxial, fastest, inverse, riemann, tensors_apart

if TYPE_CHECKING:
    from ..annotations import Components, Parameter

FIELDS = {                     # components that are present, in the order of the papers
    (1, "TM"): ("Ez", "Hy"),
    (2, "TM"): ("Hx", "Hy", "Ez"),
    (2, "TE"): ("Ex", "Ey", "Hz"),
    (3, None): ("Ex", "Ey", "Ez", "Hx", "Hy", "Hz"),
}

MEDIUM = {"E": "eps", "H": "mu"}

MU_0 = 1.25663706127e-6                                # H/m, CODATA 2022
VACUUM = 1 / (MU_0 * 299792458.0 ** 2), MU_0          # eps_0 in F/m, and mu_0
RELATIVE = 5e5            # times that of vacuum from which eps or mu in SI units is taken for a relative one


def warn_of_relative(name, value, unit, of_vacuum):
    """Warn of numbers, one or those of regions, that in SI units are beyond every medium: relative ones, as a rule."""
    for number in value.values() if isinstance(value, dict) else [value]:
        if isinstance(number, Real) and number > RELATIVE * of_vacuum:
            warnings.warn(f"{name}={number!r} {unit} with units='SI' is {number / of_vacuum:.3g} times that of vacuum; a "
                          f"relative one is given as {name}={number!r} * {of_vacuum:.11g}", stacklevel=3)


class Maxwell(Law):
    """Maxwell's equations  eps E_t - curl H = -sigma E,  mu H_t + curl E = 0.

    dim           1 (fields Ez, Hy), 2, or 3 (default)
    polarisation  in 2D "TM" (Hx, Hy, Ez; default) or "TE" (Ex, Ey, Hz)
    eps, mu       permittivity and permeability, positive: a number, {region: number}, or a function of x; in place of a number
                  a dispersive one, such as 2.0 + dgarray.Debye(1.0, 0.5), for discontinuous Galerkin methods, or a tensor,
                  symmetric and positive definite: three rows of three numbers, or its diagonal, three numbers, functions or
                  dispersive ones; by default vacuum, eps = mu = 1, with units="SI" 8.854e-12 F/m and 1.257e-6 H/m
    sigma         conductivity, not negative, by default 0; as eps
    units         None (normalised), "SI" (V/m, A/m, F/m, H/m, S/m, m, s) or {name: text}: for labels, attributes and the
                  default of eps and mu; no number that is given is converted
    With eps = mu = 1 the speed of light and the impedance of the vacuum are 1.

    ValueError for another dim or polarisation, for parameters that are not positive (sigma: negative), for tensors that are not
    symmetric and positive definite or couple the fields of this law to others, and for other units.

    One text serves all dimensions: E and H are three-vectors whose absent components are zero.
    Kloeckner, Warburton, Bridge & Hesthaven 2009, section 6; Kloeckner, Warburton & Hesthaven 2013, equations (2) and (5).
    """

    family = "curl"
    si = {**{f"E{axis}": "V/m" for axis in "xyz"}, **{f"H{axis}": "A/m" for axis in "xyz"},
          "eps": "F/m", "mu": "H/m", "sigma": "S/m"}
    positive = ("eps", "mu", *(f"{name}_{2 * axis}" for name in ("eps", "mu") for axis in "xyz"))
    not_negative = ("sigma",)

    def __init__(self, dim: int = 3, polarisation: str | None = None, eps: Parameter | None = None, mu: Parameter | None = None,
                 sigma: Parameter = 0.0, units: dict[str, str] | str | None = None):
        self.dim = check_dim(dim)
        self.polarisation = polarisation or (None if dim == 3 else "TM")
        if (dim, self.polarisation) not in FIELDS:
            allowed = ", ".join(str(p) for d, p in FIELDS if d == dim)
            raise ValueError(f"polarisation={polarisation!r} is not allowed in {dim}D; allowed: {allowed}")
        self.variables = FIELDS[dim, self.polarisation]
        kinds = {"E": "electric", "H": "magnetic"}
        self.long_names = {v: f"{kinds[v[0]]} field, {v[1]} component" for v in self.variables}
        vacuum = VACUUM if units == "SI" else (1.0, 1.0)
        eps, mu = (default if given is None else given for given, default in zip((eps, mu), vacuum))
        if units == "SI":
            for name, value, unit, of_vacuum in (("eps", eps, "F/m", VACUUM[0]), ("mu", mu, "H/m", VACUUM[1])):
                warn_of_relative(name, value, unit, of_vacuum)
        axes = {name: tuple("xyz".index(v[1]) for v in self.variables if v[0] == field) for field, name in MEDIUM.items()}
        self.parameters, self.tensors = tensors_apart({"eps": eps, "mu": mu, "sigma": sigma}, axes)
        parts = {part: name for name in axes for part in (
            self.tensors[name].names.values() if name in self.tensors else (name,))}
        self.parameters, self.dispersive = dispersive_apart(self.parameters, parts)
        self.may_be_dispersive = tuple(parts)
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

    @property
    def anisotropic(self) -> bool:
        """Whether a medium is a tensor of several components."""
        return any(len(tensor.names) > 1 for tensor in self.tensors.values())

    def media(self, m: Any) -> Any:
        """eps and mu as matrices, with ones for components of the fields that this dimension does not have."""
        def rows(name):
            if name in self.tensors:
                return self.tensors[name].rows(m)
            return [tuple(getattr(m, name) if i == j else 0.0 for j in range(3)) for i in range(3)]
        return tuple(map(rows, MEDIUM.values()))

    def capacity(self, m: Any) -> tuple:
        """C = eps for E, mu for H."""
        if not self.anisotropic:
            return self.state((m.eps,) * 3, (m.mu,) * 3)
        full = {field: name in self.tensors and self.tensors[name].full for field, name in MEDIUM.items()}
        rows = {field + axis: row for field, M in zip(MEDIUM, self.media(m)) for axis, row in zip("xyz", M)}
        return tuple(tuple(rows[v]["xyz".index(w[1])] if w[0] == v[0] else 0.0 for w in self.variables) if full[v[0]] else
                     rows[v]["xyz".index(v[1])] for v in self.variables)

    def flux(self, q: Components, n: Components) -> tuple:
        """F . n = (-n x H, n x E)."""
        E, H = self.fields(q)
        n = self.direction(n)
        return self.state(tuple(-c for c in cross(n, H)), cross(n, E))

    def direction(self, n: Components) -> tuple:
        """A direction as a three-vector."""
        return (*n, *(0.0,) * (3 - self.dim))

    def wave_speed(self, n: Components, m: Any) -> Any:
        """|n| / sqrt(eps mu); with tensors the larger speed of the two waves along n times |n|."""
        if not self.anisotropic:
            return (dot(n, n) / (m.eps * m.mu)) ** 0.5
        if self.dim == 3:
            return fastest(*(*self.media(m), n))
        across, along = self.in_plane(n, m)
        return (across / along) ** 0.5

    def in_plane(self, n: Components, m: Any) -> tuple:
        """(t . M^-1 t, the other medium's component along z), with t = n x z and M the medium of the field in the plane, in 2D.

        A wave along a unit vector n feels of M what is 1 / (t . M^-1 t), as D . n or B . n is zero in it."""
        media, t = dict(zip("EH", self.media(m))), cross(self.direction(n), (0.0, 0.0, 1.0))
        plane, normal = "EH" if self.polarisation == "TE" else "HE"
        return dot(t, applied(inverse(media[plane]), t)), media[normal][2][2]

    def impedance(self, n: Components, m: Any) -> Any:
        """Z = sqrt(mu / eps) of waves along the unit vector n, in 1D and 2D and where media are numbers."""
        # Not np.sqrt: of Python numbers that is a float64 scalar, which would promote float32 arrays.
        if not self.anisotropic:
            return (m.mu / m.eps) ** 0.5
        across, along = self.in_plane(n, m)
        return (across * along) ** (0.5 if self.polarisation == "TE" else -0.5)

    def upwind(self, l: Components, r: Components, n: Components, ml: Any, mr: Any, alpha: float) -> tuple:
        """Riemann solution with the impedances Z = sqrt(mu/eps) = 1/Y of both sides; [q] = q+ - q-.

        n.F* = (-n x H*, n x E*),  H* = (Z- H- + Z+ H+ - alpha n x [E]) / (Z- + Z+),
                                   E* = (Y- E- + Y+ E+ + alpha n x [H]) / (Y- + Y+)
        Of tensors see `dgarray.physics.laws.tensors.riemann`.
        Hesthaven & Warburton 2002; Kloeckner et al. 2009, section 6."""
        (El, Hl), (Er, Hr), n = self.fields(l), self.fields(r), self.direction(n)
        if self.anisotropic and self.dim == 3:
            return self.flux(self.state(*riemann((El, Hl), (Er, Hr), n, self.media(ml), self.media(mr), alpha)), n)
        zl, zr = (self.impedance(n[:self.dim], m) for m in (ml, mr))
        yl, yr = 1 / zl, 1 / zr
        nxE = cross(n, tuple(b - a for a, b in zip(El, Er)))
        nxH = cross(n, tuple(b - a for a, b in zip(Hl, Hr)))
        H = tuple((zl * a + zr * b - alpha * d) / (zl + zr) for a, b, d in zip(Hl, Hr, nxE))
        E = tuple((yl * a + yr * b + alpha * d) / (yl + yr) for a, b, d in zip(El, Er, nxH))
        return self.flux(self.state(E, H), n[:self.dim])

    def source(self, q: Components, m: Any) -> tuple:
        """The current of conduction: -sigma E in the equation of E."""
        E, _ = self.fields(q)
        return self.state(tuple(-m.sigma * c for c in E), (0.0,) * 3)

    def damping(self, m: Any) -> Any:
        """sigma / eps; with a tensor a bound, sigma times the root of the sum of squares of the components of eps^-1."""
        if "eps" in self.parameters:
            return m.sigma / m.eps
        axes = {i for pair in self.tensors["eps"].names for i in pair}
        rows = inverse(self.media(m)[0])
        return m.sigma * sum(rows[i][j] * rows[i][j] for i in axes for j in axes) ** 0.5

    def response(self, media: dict[str, Any], layer: Any, several: bool, speed: float) -> Any:
        """The `Internal` of dispersive media and of an absorbing layer, or None; arguments and errors of `Law.response`."""
        self.check_response(media, layer)
        if layer is not None and layer.by_derivatives:
            return filtered(self, layer, several, speed, self.response(media, None, False, speed))
        number = {variable: v for v, variable in enumerate(self.variables)}
        conducts = layer is not None and self.parameters["sigma"] != 0 and type(self).source is Maxwell.source
        fields = []
        for field, name in MEDIUM.items():
            axes = [number.get(field + axis) for axis in "xyz"]
            present = [i for i, v in enumerate(axes) if v is not None]
            alike = name in self.parameters or layer is not None and not layer.straight
            for some in [present] if alike else [[i] for i in present]:
                part = self.tensors[name].names[some[0], some[0]] if name in self.tensors else name
                medium, high = media.get(part), part if callable(self.parameters[part]) else None
                terms = [] if medium is None else [polarisation(term, medium.high, high) for term in medium.terms]
                terms += [Conduction(partial(self.loss, some[0]))] if conducts and field == "E" else []
                fields.append((tuple(axes[i] if i in some else None for i in range(3)), 1, [terms] if terms else []))
        chains = layer_chains(layer, speed, several, self.dim, fields)
        return internal_of(self, chains, None if layer else stored_energy(chains), conducts, parameters_of(layer))

    def loss(self, axis: int, m: Any) -> Any:
        """sigma / eps along an axis, of a number or a diagonal eps."""
        return m.sigma / self.media(m)[0][axis][axis]

    def check_response(self, media: dict[str, Any], layer: Any) -> None:
        """Raise ValueError for tensors in a layer or a dispersive medium of which its equations know nothing: those off the
        axes; in round layers all, and in 3D biaxial ones, in which some waves run backward and would grow."""
        for name, tensor in self.tensors.items():
            off = [self.parameters[part] for (i, j), part in tensor.names.items() if i != j]
            if any(any(value.values()) if isinstance(value, dict) else value != 0 for value in off):
                where = "a dispersive medium" if layer is None else f"the absorbing layer {layer.region!r}"
                raise ValueError(f"{name} of {self!r} has components off the diagonal in elements of {where}; there it must be "
                                 "a number or a tensor along the axes, three numbers; if it is so there, and not in another "
                                 "region, give each region a law of its own, {region: law}")
            along = along_axes(self.tensors, self.parameters, media, name)
            along = [along[i] for i, j in tensor.names if i == j]
            if layer is not None and not layer.straight and any(value != along[0] for value in along):
                raise ValueError(f"{name} of {self!r} is a tensor in the round absorbing layer {layer.region!r}; there it must "
                                 "be a number, or take a straight layer")
        if layer is not None and self.anisotropic and self.dim == 3 and biaxial(self.tensors, self.parameters, media):
            raise ValueError(f"the medium of {self!r} in the absorbing layer {layer.region!r} is biaxial or varies with x; "
                             "there two of the three quotients eps_xx / mu_xx, eps_yy / mu_yy, eps_zz / mu_zz must be equal, "
                             "as near an optic axis waves run backward, which the layer makes grow; end the medium before it")

    def energy(self, q: Components, m: Any) -> Any:
        """(eps |E|^2 + mu |H|^2) / 2."""
        if self.anisotropic:
            return dot(q, times(self.capacity(m), q)) / 2
        E, H = self.fields(q)
        return (m.eps * dot(E, E) + m.mu * dot(H, H)) / 2

    def isotropic(self, medium: dict[str, float], field: str) -> tuple:
        """eps and mu of a medium {parameter: number}.

        Raises ValueError where they are tensors, which the field, for the message, does not know."""
        found = []
        for name in MEDIUM.values():
            numbers = {pair: medium[part] for pair, part in self.tensors[name].names.items()} if name in self.tensors else {
                (0, 0): medium[name]}
            first = next(value for (i, j), value in numbers.items() if i == j)
            if any(value != (first if i == j else 0) for (i, j), value in numbers.items()):
                raise ValueError(f"{field} needs an isotropic medium, but {name} is a tensor: the law is {self!r}")
            found.append(first)
        return tuple(found)
