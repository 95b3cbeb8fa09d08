"""Recorders of integrals over named boundaries and over the domain."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..physics.pointwise import Pointwise, components
from ..spaces.parts import of_places
from .probes import Recorder, Recording, whole
from .record_layout import Series
from .sampling import at_nodes, taker, title
from .totals import totals_of, totals_of_state

if TYPE_CHECKING:
    from ..methods.operator import Operator


@dataclass(frozen=True, repr=False)
class BoundaryIntegral(Recorder):
    """Integral over a named boundary, sum over its faces of integral f dS; dims (time,).  On a grid by the trapezoidal rule.

    boundary    name of a boundary or an interface, see `Mesh`, or several names in a tuple
    function    f(q, n, x, t, m) -> number or tuple, in plain NumPy, of the state inside, the outward unit normal, position,
                time and the law's parameters, as many of them as it asks for; by default F(q) . n, the flux of every
                variable of the law out of the domain, under the variable's name
    every       steps between samples
    names       of the components; by default the function's name, with _0, _1, ... where there are several
    degree      up to which polynomials f are integrated exactly, on meshes; 2 order + 4 by default"""

    boundary: str | Sequence[str]
    function: Callable | None = None
    every: int = 1
    names: str | Sequence[str] | None = None
    degree: int | None = None

    def __post_init__(self):
        _check(self)

    def attach(self, name: str, operator: Operator) -> Recording:
        """The `Recording` that keeps this recorder's data in one run. name: of the record;  operator: of the run."""
        law, role = operator.law, f"record {name!r}"
        attrs = {"boundary": title(self.boundary), "long_name": f"integral over {title(self.boundary)}"}
        faces = operator.space.boundary_parts(self.boundary, role, self.degree)
        function, names = (self.function, self.names) if self.function is not None else (law.flux, tuple(law.variables))
        integrand = _Integrand(role, operator, function, names, faces[0])
        inputs = [(part, taker(operator, part.places), integrand.inputs(part)) for part in faces]

        def measure(state, t):
            total = [0.0] * len(integrand.names)
            for part, take, fixed in inputs:
                values = integrand(part.shape, q=part.values(take(state)), t=t, **fixed)
                total = [sum_so_far + part.integrate(value) for sum_so_far, value in zip(total, values)]
            return total
        return Recording(Series(name, {}, dict.fromkeys(integrand.names, ((), attrs))), self.every, measure)


@dataclass(frozen=True, repr=False)
class VolumeIntegral(Recorder):
    """Integral over the domain; dims (time,).  On a grid by the trapezoidal rule.

    function    f(q, x, t, m) -> number or tuple, in plain NumPy, of state, position, time and the law's parameters, as many
                of them as it asks for; by default the totals of the law: of C q for every variable, and of the energy
    every       steps between samples
    names       of the components; by default the function's name, with _0, _1, ... where there are several
    degree      up to which polynomials f are integrated exactly, on meshes; 2 order + 4 by default"""

    function: Callable | None = None
    every: int = 1
    names: str | Sequence[str] | None = None
    degree: int | None = None

    def __post_init__(self):
        _check(self)

    def attach(self, name: str, operator: Operator) -> Recording:
        """The `Recording` that keeps this recorder's data in one run. name: of the record;  operator: of the run."""
        role, here = f"record {name!r}", operator.here
        first = next(here.space.parts(role, self.degree))
        if self.function is None:
            names = totals_of(operator.law)

            def measure(state, t):
                return totals_of_state(operator, state).values()
        else:
            integrand = _Integrand(role, here, self.function, self.names, first)
            names = integrand.names

            def measure(state, t):
                total, q = [0.0] * len(names), at_nodes(here, state)
                for part in of_places(here.space.parts(role, self.degree), operator.own):
                    values = integrand(part.shape, q=part.values(q), t=t, **integrand.inputs(part))
                    total = [sum_so_far + part.integrate(value) for sum_so_far, value in zip(total, values)]
                return operator.summed(dict(zip(names, total, strict=True))).values()
        attrs = {"long_name": "integral over the domain"}
        return Recording(Series(name, {}, dict.fromkeys(names, ((), attrs))), self.every, measure)


def inside(part, mesh):
    """A `Part` of faces with its points a hair inside of their cells, where media may jump at the faces."""
    if mesh.structured:
        return part
    return part._replace(x=tuple(mesh.a_hair_inside(np.stack(part.x), part.places[:, None])))


class _Integrand:
    """A function of the user at points of quadrature: its components by name.

    Called once with states of ones, at the points of a `Part`, to learn how many components it has."""

    def __init__(self, role, operator, function, names, part):
        self.role, self.operator = role, operator
        extra = {} if part.n is None else {"n": operator.law.dim}
        self.function = Pointwise(function, {**operator.problem.inputs, **extra}, role)
        given = dict(q=(np.ones(part.shape),) * len(operator.law.variables), t=0.0, **self.inputs(part))
        with np.errstate(all="ignore"):
            count = len(components(self.function(**given), None, role))
        if names is None:
            base = getattr(function, "__name__", "")
            base = base if base.isidentifier() and base != "time" else "integral"
            names = (base,) if count == 1 else tuple(f"{base}_{i}" for i in range(count))
        self.names = (names,) if isinstance(names, str) else tuple(names)
        if len(self.names) != count:
            raise ValueError(f"{self.role}: the function returns {count} component{'s' * (count != 1)}, "
                             f"but names has {len(self.names)}: {', '.join(map(str, self.names))}")
        with np.errstate(all="ignore"):
            list(self(part.shape, **given))

    def inputs(self, part):
        """Positions, normals and the law's parameters at the points of a `Part`."""
        if part.n is None:
            return {"x": part.x, "m": self.operator.parameters(part)}
        return {"x": part.x, "m": self.operator.parameters(inside(part, self.operator.mesh)), "n": part.n}

    def __call__(self, shape, **inputs):
        """The components, each as an array of `shape`."""
        for name, value in zip(self.names, components(self.function(**inputs), len(self.names), self.role)):
            value = value if hasattr(value, "dtype") else np.asarray(value)
            fits = all(own in (1, size) for own, size in zip(value.shape[::-1], shape[::-1])) and value.ndim <= len(shape)
            if value.dtype.kind not in "fiub" or not fits:
                raise ValueError(f"{self.role}: component {name} is an array of {value.dtype} with the shape {value.shape}; "
                                 f"it must be a real number at every point, {shape}")
            yield np.broadcast_to(value.astype(float), shape)


def _check(recorder):
    whole("every", recorder.every)
    if recorder.degree is not None:
        whole("degree", recorder.degree)
    if recorder.function is None:
        if recorder.names is not None:
            raise ValueError(f"names={recorder.names!r} is not allowed without a function; the names are those of the law")
    elif not callable(recorder.function):
        raise ValueError(f"function={recorder.function!r} is not allowed; it must be a function of q, x, t and m")
    if recorder.names is not None:
        names = (recorder.names,) if isinstance(recorder.names, str) else tuple(recorder.names)
        bad = [n for n in names if not (isinstance(n, str) and n.isidentifier()) or n == "time" or names.count(n) > 1]
        if bad:
            raise ValueError(f"name {bad[0]!r} is not allowed; names are letters, digits and _, each once, and not 'time'")
