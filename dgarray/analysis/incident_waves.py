"""The waves that enter a problem, and when: whether one comes at all during a run, has passed at its end, and has a mean."""
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..physics.boundary_checks import grid_places
from ..physics.declared import declared
from ..physics.laws.law import shown
from ..physics.pointwise import at_points
from .scattered_fields import conditions, faces_of

PLACES = 24                 # of the faces of a condition, at which its wave is looked at
SAMPLES = 1 << 12           # in time over a run; where its mean asks for more, at most
MOST_SAMPLES = 1 << 14
ACCURACY = 1e-3             # of the mean
PASSED = 1e-3               # share of its largest value below which a wave has passed
NOTHING = 1e-6              # share of what it has at another time, below which a wave does not enter during a run
AROUND = 10, 100            # lengths of the run before and after it in which another time is looked for


@dataclass(frozen=True)
class Wave:
    """A wave that enters, its text, and its values (time, number) at times (time,)."""

    text: str
    values: Any


def waves(problem):
    """The waves of a problem whose course in time is known: of `total_field`, `incident` and `scattered`, of ports, and of
    `current`."""
    mesh, boundary, found = problem.mesh, problem.boundary, []
    for name, condition in conditions(boundary):
        x = places(mesh, boundary, name)
        if len(x):
            found.append(Wave(f"{shown(condition.field)} at {name!r}", of_field(condition.field, x, problem.law)))
    launched = [(f"{shown(course)} of the port {name!r}", course) for name, condition in boundary.items()
                if (course := declared(condition).course)]
    if course := declared(problem.source).course:
        launched.append((shown(problem.source), course))
    return found + [Wave(text, of_time(course)) for text, course in launched]


def places(mesh, boundary, name):
    """Some points (place, dim) of the faces that have the condition `name`, "default" for all without another one."""
    if mesh.structured:
        others = [side for side in mesh.boundaries if side not in boundary]
        sides = [name] if name in mesh.boundaries else others
        x = np.concatenate([np.empty((0, mesh.dim)), *(grid_places(mesh, *mesh.boundaries[side])[:, :, 0].T for side in sides)])
    else:
        x = mesh.face_centres(faces_of(mesh, boundary, name))
    return x[np.unique(np.linspace(0, len(x) - 1, PLACES).round().astype(int))] if len(x) else x


def of_field(field, x, law):
    """Values of a field (x, t) -> state at points x (place, dim), as of `Wave`."""
    names, role = law.variables, "the incident field"

    def at(times, x):
        t = np.repeat(times, len(x))
        points = tuple(np.tile(axis, len(times)) for axis in x.T)
        found = at_points(field, points, t if len(times) > 1 else float(times[0]), len(names), role, names)
        each = [np.broadcast_to(c, t.shape).reshape(len(times), len(x)) for c in found]
        return np.concatenate(each, axis=1).astype(float)
    return finite(lambda times: at(times, x))


def of_time(pulse):
    """Values of a function of time, as of `Wave`."""
    return finite(lambda times: np.reshape(pulse(times) if len(times) > 1 else pulse(float(times[0])), (len(times), -1)))


def finite(values):
    """`values` at times (time,), (time, number): one time after the other for a function that takes no array, 0 where it has no
    value."""
    def at(times):
        with np.errstate(all="ignore"):
            try:
                found = np.asarray(values(times), float)
                found = np.broadcast_to(found, (len(times), found.shape[1]))
            except (TypeError, ValueError):
                found = np.concatenate([values(times[n:n + 1]) for n in range(len(times))])
        return np.nan_to_num(np.asarray(found, float), nan=0.0)          # what is infinite becomes the largest number
    return at


def passage(found, until):
    """Attributes for transforms over a run to `until`: {"pulse_end": the time from which all waves are below 1e-3 of their
    largest value, `until` where one is not, "pulse_mean": largest |integral f dt| / integral |f| dt of those that pass}.

    {} without waves, or where nothing enters."""
    ends, means = [], []
    for wave in found:
        times = np.linspace(0.0, until, SAMPLES + 1)
        values = np.abs(wave.values(times))
        if values.max() > 0:
            there = np.flatnonzero(values.max(axis=1) > PASSED * values.max())
            ends.append(float(times[min(there[-1] + 1, SAMPLES)]))
            if ends[-1] < until:
                means.append(mean(wave, until, int(values.max(axis=0).argmax())))
    return ({"pulse_end": max(ends)} if ends else {}) | ({"pulse_mean": max(means)} if means else {})


def mean(wave, until, number):
    """|integral f dt| / integral |f| dt of one of a wave's values, by the trapezoidal rule."""
    count, before = SAMPLES, np.inf
    while True:
        f = wave.values(np.linspace(0.0, until, count + 1))[:, number]
        share = float(abs(np.trapezoid(f)) / np.trapezoid(np.abs(f)))
        if abs(share - before) < ACCURACY or count >= MOST_SAMPLES:
            return share
        count, before = 2 * count, share


def entering(found, until, stacklevel):
    """The waves that enter during a run to `until`, after a warning of each that does not but would at another time: at the
    faces where it should it stays below 1e-6 of what it has then.  stacklevel: as of `warnings.warn`, from here; None: no
    warning"""
    absent = []
    for wave in found:
        inside = np.abs(wave.values(np.linspace(0.0, until, SAMPLES + 1))).max()
        time, largest = at_another_time(wave, until)
        if inside < NOTHING * largest:
            absent.append(wave)
            when = f"has passed at t = {time:.3g}" if time < 0 else f"comes at t = {time:.3g}"
            if stacklevel is not None:
                warnings.warn(f"the wave {wave.text} does not enter in the run from t = 0 to {until:g}: there it {when}, and "
                              f"stays below {max(inside / largest, 1e-300):.1g} of its largest value in the run; see to its "
                              "start, direction and sign: a plane wave is shape(c t - k . x)", stacklevel=stacklevel + 1)
    return [wave for wave in found if wave not in absent]


def at_another_time(wave, until):
    """When a wave is largest long before and after a run to `until`, and its largest absolute value; 0 of one that is no pulse
    in that time, but lasts, grows or falls."""
    for lengths in AROUND:
        times = np.linspace(-lengths * until, (lengths + 1) * until, 4 * SAMPLES + 1)
        try:
            sizes = np.abs(wave.values(times)).max(axis=1)
        except Exception:          # a user's function need have no value at times that no run asks for
            break
        top = int(sizes.argmax())
        if max(sizes[0], sizes[-1]) < PASSED * sizes[top]:
            return float(times[top]), float(sizes[top])
    return 0.0, 0.0
