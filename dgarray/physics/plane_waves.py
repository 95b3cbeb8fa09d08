"""Plane waves as fields (x, t) -> state, and the uniform medium that such a field needs."""
from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.wording import choose, plural
from .boundary import acoustic
from .boundary_checks import check_medium
from .declared import Formula
from .laws.law import argument, check_bounds, cross, dot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .annotations import Components
    from .laws.law import Law


class Field(Formula):
    """Base of the fields (x, t) -> state of a law in a uniform medium; parameters: {name: number} of the law there."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the components of the field."""
        return tuple(self.law.variables)

    def check(self, mesh: Any, faces: Any, law: Law) -> None:
        check_medium(self, self.parameters, mesh, faces, law)

    @property
    def numbers(self) -> dict[str, float]:
        """{argument of the law: number} of the medium, eps and mu of Maxwell's equations."""
        if self.law.fields:
            return dict(zip(("eps", "mu"), self.law.isotropic(self.parameters, "a wave")))
        return {argument(self.law, name): value for name, value in self.parameters.items()}

    def in_medium(self, what: str) -> dict[str, float]:
        """Set and return `parameters`. ValueError, in which `what` names the field, for a medium that is not known, has losses
        or is dispersive."""
        numbers = medium_of(self.law, self.medium, what)
        if numbers.get("sigma"):
            raise ValueError(f"{what} needs a medium without losses, but the law is {self.law!r}")
        self.keep(parameters=numbers)
        return numbers


@dataclass(frozen=True, repr=False)
class plane_wave(Field):
    """A plane wave of the law as a field (x, t) -> state, in a uniform medium.

    law        Maxwell or Acoustics
    direction  unit vector k (dim)
    amplitude  Maxwell: the vector E (three components, normal to k); acoustics: the pressure, a number
    shape      function s -> profile; the wave is shape(c t - k . x)
    medium     of a law whose medium varies, that of the wave: the name of a region, or {parameter: number} such as
               {"eps": 1.0} for those that vary; a boundary that the field is given to must have it everywhere
    Maxwell: H = k x E / Z.  Acoustics: v = p k / (rho c).
    ValueError if k is no unit vector, E is not normal to it, the amplitude is 0 or not finite, or the wave's medium is not
    known, has losses or is dispersive."""

    law: Law
    direction: float | Sequence[float]
    amplitude: float | Sequence[float]
    shape: Callable
    medium: str | dict[str, float] | None = field(default=None, hash=False)

    def __post_init__(self):
        law, along = self.law, np.atleast_1d(self.direction)
        if not law.fields:
            acoustic(law, "plane_wave")
        strength = amplitude_of(law, self.amplitude)
        if along.shape != (law.dim,) or along.dtype.kind not in "fiu" or not abs(dot(along, along) - 1) <= 1e-9:
            raise ValueError(f"direction={self.direction!r} is not allowed; it must be a unit vector with "
                             f"{plural(law.dim, 'component')}")
        if not callable(self.shape):
            raise ValueError(f"shape={self.shape!r} is not allowed; give a function of c t - k . x that returns a number")
        k = tuple(map(float, along))
        numbers = self.in_medium("a plane wave")
        if law.fields:
            state, speed = maxwell_wave(law, k, self.amplitude, strength, numbers)
        else:
            rho, speed, p = numbers["rho"], numbers["c"], float(strength)
            state = (p, *(p * c / (rho * speed) for c in k))
        amplitude = tuple(strength.tolist()) if strength.ndim else strength.item()
        self.keep(direction=k, amplitude=amplitude, state=state, speed=speed)

    def with_number(self, name: str, value: Any) -> plane_wave:
        if name != "amplitude":
            return super().with_number(name, value)
        return self.changed(amplitude=value, state=tuple(value * (c / self.amplitude) for c in self.state))

    @property
    def plane(self) -> str:
        """The direction and amplitude as text that does not depend on how they were typed, nor on the shape."""
        return f"plane_wave({shown_vector(self.direction)}, {shown_vector(self.amplitude)})"

    def __call__(self, x: Components, t: Any) -> tuple:
        profile = self.shape(self.speed * t - dot(self.direction, x))
        return tuple(a * profile for a in self.state)


def maxwell_wave(law, k, amplitude, strength, numbers):
    """The state and speed of a plane wave along k, E = strength, H = k x E / Z. ValueError where the law has no such wave."""
    (eps, mu), k3 = law.isotropic(numbers, "a plane wave"), law.direction(k)
    E = tuple(map(float, strength))
    if abs(dot(E, k3)) > 1e-9:
        raise ValueError(f"amplitude={amplitude!r} is not allowed; E must be normal to {k}")
    H = tuple(c * (eps / mu) ** 0.5 for c in cross(k3, E))
    absent = [f + axis for f, vector in (("E", E), ("H", H)) for axis, c in zip("xyz", vector)
              if abs(c) > 1e-12 and f + axis not in law.variables]
    if absent:
        raise ValueError(f"amplitude={amplitude!r} along {k} has {', '.join(absent)}; "
                         f"the law has {', '.join(law.variables)}")
    return law.state(E, H), (eps * mu) ** -0.5


def amplitude_of(law, amplitude):
    """The amplitude as an array: three components of E, of acoustics one number. Raises ValueError for others."""
    found = np.asarray(amplitude)
    shape, what = (((3,), "the three components (Ex, Ey, Ez) of E, such as (0, 0, 1)") if law.fields else
                   ((), "one number, the pressure"))
    if found.shape != shape:
        raise ValueError(f"amplitude={amplitude!r} has {plural(found.size, 'component')}; "
                         f"of {type(law).__name__} it must be {what}")
    if found.dtype.kind not in "fiu" or not np.isfinite(found).all() or not found.any():
        raise ValueError(f"amplitude={amplitude!r} is not allowed; it must be {what}; it must be finite, and not 0")
    return found


def shown_vector(values):
    """A vector, or a number, as text that does not depend on how it was typed."""
    numbers = [f"{float(value) + 0.0:.9g}" for value in np.ravel(values)]
    return f"({', '.join(numbers)})" if len(numbers) > 1 else numbers[0]


def medium_of(law, medium, field):
    """The parameters {name: number} of the medium of a field.

    medium: None, the name of a region, or {argument of the law: number}. ValueError where it does not say a number of each
    parameter that varies, and where it is dispersive."""
    for value in law.dispersive.values():
        if not isinstance(value, dict) or (isinstance(medium, str) and medium in value):
            raise ValueError(f"{field} needs a medium without dispersion, but the law is {law!r}")
    varies = [name for name, value in law.parameters.items() if not isinstance(value, Real)]
    names = {argument(law, name): {name: 1} for name in varies}
    for name, tensor in law.tensors.items():          # of a tensor that varies, the medium of a field is a number
        parts = {part: int(i == j) for (i, j), part in tensor.names.items()}
        if not parts.keys().isdisjoint(varies):
            names = {name: parts} | {key: value for key, value in names.items() if value.keys().isdisjoint(parts)}
    if isinstance(medium, dict):
        where = f"; those that vary in {law!r}"
        given = {part: value if share else 0.0 for name, value in medium.items()
                 for part, share in names[choose("medium: parameter", str(name), names, where)].items()}
    elif medium is None:
        given = {}
    else:
        regions = {str(region) for name in varies if isinstance(law.parameters[name], dict) for region in law.parameters[name]}
        region = choose("medium: region", str(medium), regions, f"; {law!r} has")
        given = {name: number for name in varies if isinstance(law.parameters[name], dict)
                 for other, number in law.parameters[name].items() if str(other) == region}
    missing = [name for name, parts in names.items() if not given.keys() >= parts.keys() & set(varies)]
    if missing:
        values = ", ".join(f"{name!r}: ..." for name in missing)
        raise ValueError(f"{field} needs a uniform medium, but {' and '.join(missing)} of {law!r} "
                         f"{'varies' if len(missing) == 1 else 'vary'}; give that of the wave, medium={{{values}}}"
                         + " or a region's name" * any(isinstance(law.parameters[name], dict) for name in varies))
    for name, value in given.items():
        if not isinstance(value, Real):
            raise ValueError(f"medium: {argument(law, name)}={value!r} is not allowed; give a number")
        check_bounds(law, name, value, f"medium: {argument(law, name)}={value!r}")
    return {name: float(value) for name, value in (law.parameters | given).items()}
