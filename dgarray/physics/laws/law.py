"""The base class of laws, which names the functions that a method may ask for."""
from numbers import Real
from typing import Any

import numpy as np

from ...support.html_table import table
from ...support.keywords import Keywords
from ..capacity import diagonal
from ..dispersion import Dispersion
from ..law_formulas import law_formulas
from ..trace import call, parameters
from .units import units_of

NONE: Any = None


class Law(Keywords):
    """A hyperbolic system  C(m) dq/dt + div F(q, x, m) + A(q) div b(q) = s(q, x, t, m); most have no b.

    A law states its physics as functions over tuples of components, in plain NumPy.  Each function asks for its arguments
    by name: `q` the state, `n` a direction (not necessarily a unit vector), `x` the position, `t` the time, `m` the law's
    parameters at this element (a named tuple).  A subclass gives

    dim          1, 2 or 3
    variables    names of the components of q
    flux         (q, n) -> F(q) . n, linear in n
    wave_speed   (q, n) -> largest absolute eigenvalue of C^-1 dF/dq . n

    and may give

    parameters   {name: value}; value: a number, {region name: number}, or a function of x
    arguments    {name of a parameter: what the constructor calls it}, where that is another name
    capacity     (m) -> C, for each variable one factor, or a row of the matrix C, symmetric and positive definite
    source       (q, x, t, m) -> s
    internal     a `dgarray.physics.auxiliary_variables.Internal`: unknowns with ordinary differential equations beside the
                 law's; for DG
    upwind       (l, r, n, ml, mr, alpha) -> numerical flux with dissipation alpha (0 central, 1 upwind)
    hllc, roe, hlld, ranocha, kennedy_gruber, and hllc_shock_stable, roe_shock_stable, hlld_shock_stable
                 (l, r, n, ml, mr) -> the numerical fluxes of these names
    product_flux (q, n) -> b(q) . n, linear in n, and products (q, b) -> A(q) b: nonconservative products, linear in b. Each
                 side of a face has its own A(q) times one b*, which numerical fluxes of the law may return behind the
                 components of F*; else it is the mean of both sides. For finite volumes and the split form of TensorDG
    entropy_variables (q) -> w = dS/dq of the law's convex entropy S;  from_entropy_variables (w, q) -> the state with these w;
                 variables on which S does not depend are those of q. Laws that have it have `internal_energy`, too
    speeds       (q, n) -> smallest and largest eigenvalue of C^-1 dF/dq . n; by default -wave_speed and wave_speed
    signal_speeds   (l, r, n, ml, mr) -> slowest and fastest signal between two states; by default the extremes of `speeds`
    decoupled    (l, r, n, ml, mr) -> both states, with those variables replaced by their values at the face whose own linear
                 Riemann problem stands apart from the other waves; `hll` is the flux between these states
    primitive    (q) -> primitive variables w, named by primitive_variables; conservative (w) -> q
    characteristic   (q, mean, n) -> waves w of a difference q of states, the left eigenvectors of dF/dq . n at the state `mean`
                 times q, n a unit normal; from_characteristic (w, mean, n) -> q
    entering     (q, given, n) -> the state at a boundary with the outward unit normal n, q inside, with the waves that enter
                 those of the state `given`: what `far_field` and `inflow` are
    derived      {name of a function of q that gives a number at every point: text}, fields that pictures may show
    curls        {name: (vector, text)}, fields |curl vector| that pictures on grids may show
    gradients    {name: (variable, text)}, fields |grad variable| that pictures may show in grey
    sizes        ({variable number: size}, m) -> the same, larger where a variable may vanish: what `indicator="kxrcf"` compares
                 jumps with; by default what the energy allows, see there
    momentum     slice of q that is a velocity or momentum, which a wall mirrors
    mirrored     slices of q that a wall mirrors, if there are others beside the momentum
    energy       (q, m) -> energy density
    admissible   (q, x, t, m) -> whether the state makes sense, e.g. density above zero; a run stops where it does not
    positive_quantities (q) -> {name: value}, numbers that are positive where a state is admissible: errors name them
    internal_energy (q, m) -> density of the internal energy: the variable E less other energies, positive in admissible states
    together     whether what is done to a state must be one linear thing for all variables: a limiter of each variable by
                 itself makes waves of pressure where two fluids meet
    positive_speed  (l, r, n, m) -> speed s of Rusanov's flux that keeps states admissible where dt/h s <= 1; by default the
                 larger wave speed
    fields, state, direction, isotropic   of the laws of Maxwell's type: (q) -> (E, H) and back, (n) -> n in 3D, and
                 (medium, what) -> eps, mu
    sweep_courant   largest Courant number of sweeps along one axis after the other, in 2D and 3D
    damping      (m) -> fastest rate at which the law's own source damps, 1 / time, for the time step
    long_names   {variable: text}
    units        {name: text} of variables, parameters, time and x (y and z as x): labels and the dataset's attributes `units`;
                 what has none is called normalised
    si           the units of `units="SI"`, {name: text} without time and lengths
    positive, not_negative   names of parameters that must be above, or not below, zero everywhere
    family       which measured time step applies: "scalar", "system" or "curl"; by default by the number of variables. A linear
                 law whose waves run both ways alike, as those of acoustics, may say "system": its step is found sooner
    dispersive   {name of a parameter: its `dgarray.physics.dispersion.Dispersion`, or {region: Dispersion}}
    may_be_dispersive   names of the parameters that may be
    tensors      {what the user calls it: its `dgarray.physics.laws.tensors.Tensor`} of parameters that are its components
    of_layers    the law as it was given, for whose waves absorbing layers and ports are made, where it is another one
    added        names of parameters that are numbers of sources and conditions, by which a run has derivatives
    laws         {region: law} if this law stands for several, see `dgarray.physics.laws.by_region`
    """

    dim: Any = None
    variables: tuple[str, ...] = ()
    flux: Any
    wave_speed: Any
    state: Any
    direction: Any
    isotropic: Any
    parameters: dict[str, Any] = {}
    arguments: dict[str, str] = {}
    long_names: dict[str, str] = {}
    units: dict[str, str] = {}
    si: dict[str, str] = {}
    derived: dict[str, str] = {}
    curls: dict[str, tuple[str, str]] = {}
    gradients: dict[str, tuple[str, str]] = {}
    dispersive: dict[str, Any] = {}
    tensors: dict[str, Any] = {}
    positive: tuple[str, ...] = ()
    not_negative: tuple[str, ...] = ()
    may_be_dispersive: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    together = False
    sweep_courant = 1.0
    capacity = source = internal = fields = given_units = family = laws = of_layers = NONE
    upwind = hllc = roe = hlld = hllc_shock_stable = roe_shock_stable = hlld_shock_stable = ranocha = kennedy_gruber = NONE
    products = product_flux = entropy_variables = from_entropy_variables = internal_energy = energy = damping = NONE
    speeds = signal_speeds = decoupled = positive_speed = momentum = mirrored = admissible = positive_quantities = NONE
    primitive = conservative = characteristic = from_characteristic = entering = NONE

    def response(self, media: dict[str, Any], layer: Any, several: bool, speed: float) -> Any:
        """The `Internal` that some elements need beside the law, or None.

        media     {name of a parameter: its `dgarray.physics.dispersion.Dispersion` there}
        layer     the absorbing layer that they are in, see `dgarray.mesh.absorbing`, or None;  several: whether several of its
                  stretches differ from 1 at one point;  speed: the fastest wave in it
        Raises ValueError for a layer, where the law does not know what it does in one."""
        if layer is not None:
            raise ValueError(f"perfectly matched layers, as {layer.region!r} of the mesh, are for Maxwell and Acoustics, not "
                             f"for {self!r}; take a mesh without, and a boundary condition such as dgarray.absorbing")
        return self.internal

    def sizes(self, means: dict, m: Any = None) -> dict:
        """How large each variable can be where the state is as given, so that rounding in one that vanishes looks small.

        means   {number of a variable: the largest |average| around}, all of them; m: the law's parameters
        Returns the same with what they can be. Waves turn the energy of one variable into that of another, so with a
        capacity C it is sqrt(sum_w C_w means_w^2 / C_v), with acoustics sqrt(p^2 + (rho c)^2 |v|^2) for p. Without one
        components of a vector can be as large as the vector is."""
        if self.capacity is not None:
            factors = diagonal(call(self.capacity, dict(m=m)))
            energy = sum(factor * means[v] ** 2 for v, factor in enumerate(factors))
            return {v: np.sqrt(energy / factors[v]) for v in means}
        found = dict(means)
        for vector in vectors(self):
            found |= dict.fromkeys(vector, np.sqrt(sum(means[v] ** 2 for v in vector)))
        return found

    def __repr__(self):
        given = "".join(f", {argument(self, name)}={shown(value)}" for name, value in self.given.items())
        return f"{type(self).__name__}(dim={self.dim}{given}{self.units_shown})"

    @property
    def given(self) -> dict[str, Any]:
        """{name: value} of the parameters as the user gave them, with those that are dispersive or tensors."""
        beside = () if self.internal is None else self.internal.parameters
        whole = {part: (name, tensor.given) for name, tensor in self.tensors.items() for part in tensor.names.values()}
        found = dict(whole.get(name, (name, value)) for name, value in self.parameters.items() if name not in beside)
        for name, value in self.dispersive.items():
            if name in whole:          # the tensor as it was given has them
                continue
            numbers = found[name] if isinstance(found[name], dict) else {}
            found[name] = numbers | value if isinstance(value, dict) else value
        return found

    @property
    def units_shown(self) -> str:
        """The constructor's argument `units` as text, for what prints."""
        return "" if self.given_units is None else f", units={self.given_units!r}"

    def say_units(self, units: dict[str, str] | str | None) -> None:
        """Keep the constructor's argument `units`; see `dgarray.physics.laws.units.units_of`."""
        self.given_units, self.units = units, units_of(self, units)

    def _repr_html_(self):
        """The law as a table for notebooks: what it is, its variables, and on demand its formulas."""
        rows = [("call", repr(self)), ("what", (type(self).__doc__ or "").strip().partition("\n")[0])]
        rows += [(variable, f"{self.long_names.get(variable, '')} {unit_text(self, variable)}") for variable in self.variables]
        if self.laws is not None:
            return table(type(self).__name__, [*rows, *((f"region {name}", law) for name, law in self.laws.items())])
        try:
            text = "\n".join(law_formulas(self)[1:])
        except (AttributeError, TypeError, ValueError) as error:          # a law that cannot be traced says why
            text = str(error)
        return table(type(self).__name__, rows, [("formulas", text)])


def vectors(law):
    """Numbers of the variables that are components of one vector, a list for each vector: momentum or velocity, and those with
    names that differ in x, y, z at the end alone, such as Ex and Ey."""
    momentum = set() if law.momentum is None else set(range(len(law.variables))[law.momentum])
    found = {}
    for number, name in enumerate(law.variables):
        if number in momentum:
            found.setdefault("momentum", []).append(number)
        elif name[-1] in "xyz" and len(name) > 1:
            found.setdefault(name[:-1], []).append(number)
    return list(found.values())


def unit_text(law, variable):
    """The units of a variable in parentheses, "" where the law does not say."""
    return f"({law.units[variable]})" if variable in law.units else ""


def argument(law, parameter):
    """The name of this parameter in the law's constructor, which messages and texts use."""
    return law.arguments.get(parameter, parameter)


def shown(value):
    """A parameter as text that is the same in every run: functions by name, also those on the diagonal of a tensor."""
    if isinstance(value, tuple) and any(map(callable, value)):
        return f"({', '.join(map(shown, value))})"
    return getattr(value, "__qualname__", None) or repr(value)


def dot(a, b):
    """Sum of a_i b_i over components, of which both must have as many, else ValueError."""
    if len(a) != len(b):
        raise ValueError(f"vectors of {len(a)} and {len(b)} components do not fit; both must have as many, the law's dim")
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    """a x b of two three-vectors."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def counted(values, names, law):
    """The components as they are; ValueError unless there is one for each name."""
    if len(values) != len(names):
        raise ValueError(f"a state of {len(values)} component{'s' * (len(values) != 1)} is not allowed; "
                         f"{law!r} needs {len(names)}: {', '.join(names)}")
    return values


def check_dim(dim):
    """Return dim if it is 1, 2 or 3, else raise ValueError."""
    if dim not in (1, 2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 1, 2 or 3")
    return int(dim)


def dispersive_apart(parameters, allowed):
    """({name: value}, {name: Dispersion or {region: Dispersion}}): the parameters of a law with the values at infinite
    frequency in place of dispersive ones, and these; allowed: {parameter that may be dispersive: argument of the law}.

    Raises ValueError for those of other parameters, and for media that are not passive."""
    numbers, dispersive = {}, {}
    for name, value in parameters.items():
        inside = value if isinstance(value, dict) else {None: value}
        found = {region: each for region, each in inside.items() if isinstance(each, Dispersion)}
        if found and name not in allowed:
            raise ValueError(f"{name}={value!r} is not allowed; {' and '.join(dict.fromkeys(allowed.values()))} alone "
                             "may be dispersive")
        for each in found.values():
            each.check_passive()
        high = {region: each.high if region in found else each for region, each in inside.items()}
        numbers[name] = high if isinstance(value, dict) else high[None]
        if found:
            dispersive[name] = found if isinstance(value, dict) else found[None]
    return numbers, dispersive


def check_parameters(law):
    """Raise ValueError for a parameter that is no number, dict or function of x, or a number out of the law's bounds."""
    for name, value in law.parameters.items():
        if any(isinstance(each, Dispersion) for each in (value.values() if isinstance(value, dict) else [value])):
            raise ValueError(f"{argument(law, name)}={value!r} is not allowed; it depends on frequency, which eps and mu of "
                             "Maxwell alone may")
        if callable(value):
            check_function(law, name, value)
        given = f"{argument(law, name)}={value!r}"
        for number in value.values() if isinstance(value, dict) else () if callable(value) else (value,):
            if not isinstance(number, Real):
                raise ValueError(f"{given} is not allowed; give a number, {{region: number}} or a function of x")
            check_bounds(law, name, number, given)


def check_function(law, name, function):
    """Raise ValueError unless all that a parameter's function must be given is x; other arguments keep their defaults."""
    missing = [asked for asked, p in parameters(function).items()
               if asked != "x" and p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if missing:
        raise ValueError(f"{argument(law, name)}: the function asks for {', '.join(missing)}; allowed: x")


def check_bounds(law, name, values, what):
    """Raise ValueError unless the values of a parameter are finite and within the law's bounds."""
    low = np.min(values)
    if not np.isfinite(values).all() or name in law.positive and low <= 0 or name in law.not_negative and low < 0:
        bound = "positive and " if name in law.positive else "not negative and " if name in law.not_negative else ""
        raise ValueError(f"{what} is not allowed; it must be {bound}finite")
