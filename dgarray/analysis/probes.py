"""Recorders: what a run keeps besides its snapshots, `Simulation(..., record={"name": recorder})`.

A recorder is a request; `attach` binds it to the discretised problem and gives a `Recording`, which the run asks to `sample`
at t = 0 and after every step.  Values are float64 whatever the dtype of the run.
"""
from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import cycle
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from ..spaces.parts import AXES
from ..support.keywords import Keywords
from ..support.wording import plural
from .record_layout import Series
from .sampling import at_nodes, at_points, choice, on_boundary, refuse_far_outside, units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from ..mesh import Grid, Mesh
    from ..methods.operator import Operator


class Recording:
    """A recorder at work in one run.

    series     `Series`: names, dims and coordinates of what is recorded
    every      steps between samples
    measure    function (state, t) -> arrays in the order of the series' variables"""

    def __init__(self, series, every, measure):
        self.series, self.every, self.measure = series, every, measure
        self._times, self._rows = [], {variable: [] for variable in series.variables}

    def __repr__(self):
        return f"<Recording {self.series.name}: {', '.join(self.series.variables)}, every {plural(self.every, 'step')}>"

    def sample(self, state, t, step):
        """Look at the backend's state at the time t after `step` steps, if it is the turn of this step."""
        if step % self.every == 0:
            self.keep(self.measure(state, t), float(t))

    def keep(self, values, t):
        self._times.append(t)
        for rows, value in zip(self._rows.values(), values, strict=True):
            rows.append(np.array(value, float))

    def rows(self):
        """Times (n,) and {variable: (n, ...)} of the samples since the last call."""
        times = np.array(self._times, float)
        values = {variable: np.array(rows, float).reshape(len(times), *self.series.shape(variable))
                  for variable, rows in self._rows.items()}
        self._times, self._rows = [], {variable: [] for variable in values}
        return times, values

    def result(self):
        """{variable: array} of what is known only at the end of the run: nothing."""
        return {}

    def state(self):
        """{key: array} that a restart needs besides the rows: nothing."""
        return {}

    def restore(self, state):
        """Go on from `state`. Raises ValueError if it is that of another recorder."""
        if state:
            raise ValueError(f"record {self.series.name!r} keeps no state, but was given {', '.join(state)}")


class Recorder(Keywords):
    """Base of all recorders: frozen dataclasses with a method `attach(name, operator) -> Recording`."""

    def check(self, name: str, mesh: Mesh | Grid) -> None:
        """Raise ValueError where this recorder, a record of that name, does not fit a mesh: as far as that is seen at once."""

    def __repr__(self):
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return f"{type(self).__name__}({', '.join(f'{k}={given_text(v)}' for k, v in given if v is not None)})"


@dataclass(frozen=True, eq=False, repr=False)
class Points(Recorder):
    """Point receivers: the polynomials at any points, exact to rounding; dims (time, point).  On a grid they are the Hermite
    interpolants between the nodes.

    points      (point, dim), in 1D also (point,); a point on a face gets the value of one of its elements
    every       steps between samples
    variables   names, all of the law by default
    Coordinates: x, y, z and, on a mesh, cell_number of the element (position in the mesh file).
    Raises ValueError for points outside the mesh, naming the first."""

    points: ArrayLike
    every: int = 1
    variables: Sequence[str] | None = None

    def __post_init__(self):
        whole("every", self.every)

    def check(self, name: str, mesh: Mesh | Grid) -> None:
        refuse_far_outside(f"record {name!r}", self.points, mesh)

    def attach(self, name: str, operator: Operator) -> Recording:
        """The `Recording` that keeps this recorder's data in one run. name: of the record;  operator: of the run."""
        return _fields(name, operator, at_points(f"record {name!r}", operator, self.points), self)


@dataclass(frozen=True, repr=False)
class SurfaceFields(Recorder):
    """The fields at the nodes of a named boundary, seen from inside; dims (time, face, face_node).  On a grid those at the
    nodes of one side, dims (time, two of z, y, x), with these coordinates.

    boundary    name of a boundary, or of an interface, seen from the side that its normal leaves; on a mesh several in a tuple
    every       steps between samples
    variables   names, all of the law by default
    Coordinates: x, y, z, normal_x ..., weight, area and cell_number, see `dgarray.spaces.surface.Surface`; the integral of f is
    sum(f weight).  On prisms and on meshes of several shapes the places are points of quadrature; faces that have fewer repeat
    the first one with the weight 0."""

    boundary: str | Sequence[str]
    every: int = 1
    variables: Sequence[str] | None = None

    def __post_init__(self):
        whole("every", self.every)

    def attach(self, name: str, operator: Operator) -> Recording:
        """The `Recording` that keeps this recorder's data in one run. name: of the record;  operator: of the run."""
        return _fields(name, operator, on_boundary(f"record {name!r}", operator, self.boundary), self)


@dataclass(frozen=True, repr=False)
class Extrema(Recorder):
    """Least and greatest nodal value of each variable and where: u_min, u_max, u_min_x, u_max_x, ...; dims (time,).

    These are values at the nodes: between them the polynomials may go a little beyond.

    every       steps between samples
    variables   names, all of the law by default"""

    every: int = 1
    variables: Sequence[str] | None = None

    def __post_init__(self):
        whole("every", self.every)

    def attach(self, name: str, operator: Operator) -> Recording:
        """The `Recording` that keeps this recorder's data in one run. name: of the record;  operator: of the run."""
        law, series = operator.law, {}
        chosen = choice(f"record {name!r}", law, self.variables)
        for v in chosen:
            for short, long in (("min", "least"), ("max", "greatest")):
                for suffix, before, of in (("", "", v), *((f"_{axis}", f"{axis} of the ", axis) for axis in AXES[:law.dim])):
                    series[f"{v}_{short}{suffix}"] = (), {"long_name": f"{before}{long} nodal value of {v}",
                                                          "units": units(law, of)}

        here, (own, places) = operator.here, everywhere(operator)

        def measure(state, t):
            q, found, result = here.space.filled(at_nodes(here, state))[:, :, own], [], []
            for values in (q[number] for number in chosen.values()):
                for sign in (1, -1):
                    node, element = np.unravel_index(np.argmin(sign * values), values.shape)
                    found.append((sign * values[node, element], node, places[element]))
            for sign, each in zip(cycle((1, -1)), zip(*operator.everyones(found))):          # the first of those that are least
                value, node, element = min(each)
                result += [sign * value, *operator.space.position(node, element)]
            return result
        return Recording(Series(name, {}, series), self.every, measure)


def everywhere(operator):
    """(which elements of an operator are its own, in the order of their numbers; these numbers)."""
    if operator.own is None:
        return slice(None), range(operator.space.count)
    own = np.flatnonzero(operator.own)
    own = own[np.argsort(operator.numbers_of(own))]
    return own, operator.numbers_of(own)


def whole(name, value):
    """Raise ValueError unless the option is a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}={value!r} is not allowed; it must be a whole number from 1"
                         + (", in steps" if name == "every" else ""))


def _fields(name, operator, place, recorder):
    law = operator.law
    chosen = choice(f"record {name!r}", law, recorder.variables)
    series = Series(name, place.dims, place.variables(name, law, chosen), True, place.coords)
    return Recording(series, recorder.every, lambda state, t: place.read(state, t, list(chosen.values())))


def given_text(value):
    """A parameter as text that is equal in every run: functions by name, long arrays by their number of rows."""
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, np.ndarray | list | tuple) and len(value) > 5:
        return f"<{len(value)}>"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)
