"""The end of a run where fields have left: a declared condition, given in place of the end time."""
from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.envelope import STRETCHES, Envelope
from ..analysis.incident_waves import passage, waves
from ..analysis.probes import given_text, whole
from ..analysis.sampling import at_points, choice, on_boundary
from ..physics.laws.law import vectors
from ..support.keywords import Keywords
from ..support.wording import choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class decayed(Keywords):
    """The end of a run where fields have left: `until=decayed(1e-4, "Ez", at=(0.5, 0.1), limit=200.0)`.

        max of |q| over the last part of the run  <=  ratio  max of |q| over the whole run so far,

    both over the places, of each variable.  A component of a vector, such as Ex, counts where its largest |q| is above `ratio`
    times that of the largest component given: one that is 0 by symmetry is rounding, which stays.  The last part is at most a
    sixteenth of the run, as in the attribute `largest_at_end` of a record of transforms.

    ratio      from 0 to 1: records of transforms are warned of above 2e-3
    variable   name of a variable of the law, or several
    at         a point (dim), several (point, dim); or names: of records, which say where, of boundaries and interfaces
    limit      end of the run at the latest, which is warned of
    after      end of the run at the earliest.  It does not end, too, before the waves have passed that `total_field`,
               `incident`, `scattered`, a port or a `current` let in
    every      steps between looks
    The run ends after the step of the look that finds it: the same one on any number of processes, and after a restart.
    ValueError for arguments that are not allowed, and, as the run begins, for names and points that do not exist.
    As Oskooi et al. 2010 end a run of Meep (stop_when_fields_decayed)."""

    ratio: float
    variable: str | Sequence[str]
    at: ArrayLike | str | Sequence[str]
    _: KW_ONLY
    limit: float
    after: float = 0.0
    every: int = 1

    def __post_init__(self):
        ratio = self.ratio
        if not isinstance(ratio, Real) or isinstance(ratio, bool) or not 0 < ratio < 1:
            raise ValueError(f"decayed: ratio={ratio!r} is not allowed; it must be a number between 0 and 1")
        for name, value, least in (("limit", self.limit, "above"), ("after", self.after, "from")):
            good = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(value)
            if not good or value < 0 or (value == 0 and name == "limit"):
                raise ValueError(f"decayed: {name}={value!r} is not allowed; it must be a time {least} 0")
        whole("every", self.every)
    def __repr__(self):
        given = f"{self.ratio!r}, {self.variable!r}, at={given_text(self.at)}, limit={self.limit!r}"
        given += f", after={self.after!r}" * bool(self.after) + f", every={self.every}" * (self.every > 1)
        return f"decayed({given})"

    @property
    def looks(self) -> str:
        """Text of the variable, places and interval that are looked at; equal in a run that is continued."""
        return f"{self.variable!r} {given_text(self.at)} {self.every}"


def end_of(until):
    """The time at which a run ends at the latest, of an end time or a `decayed`."""
    return until.limit if isinstance(until, decayed) else until


class Watch:
    """Finds whether the fields of a run have decayed.

    time      when they were found to be, None before
    left      what is left, over the largest value, at the last look, of the variable `slowest`"""

    def __init__(self, sim, operator, condition):
        self.condition, self.time, self.left = condition, None, 1.0
        chosen = choice("decayed", operator.law, condition.variable)
        self.names, self.numbers = list(chosen), list(chosen.values())
        self.slowest = " and ".join(self.names)
        self.together = [[self.numbers.index(number) for number in vector if number in self.numbers]
                         for vector in vectors(operator.law)]
        self.places = places_of(sim, operator, condition.at)
        self.envelope = Envelope(np.zeros((STRETCHES, len(self.numbers))))
        self.after = max(condition.after, passage(waves(sim.problem), condition.limit).get("pulse_end", 0.0))

    def look(self, loop):
        """Look at the state after a step, if it is the turn of this one."""
        if loop.steps % self.condition.every == 0:
            values = [np.abs(place.read(loop.state, loop.t, self.numbers)) for place in self.places]
            self.envelope.add(np.max([each.reshape(len(each), -1).max(axis=1) for each in values], axis=0))
            self.judge(loop.t)

    def judge(self, t):
        """Set `left`, and the time where that is little enough."""
        whole, end = self.envelope.whole, self.envelope.end
        largest = np.zeros(len(whole))
        for vector in self.together:
            largest[vector] = whole[vector].max(initial=0.0)
        counts = np.flatnonzero(whole > self.condition.ratio * largest)
        if len(counts):
            shares = end[counts] / whole[counts]
            self.left, self.slowest = float(shares.max()), self.names[counts[shares.argmax()]]
        if t >= self.after and self.left <= self.condition.ratio:
            self.time = t

    def facts(self):
        """Facts for a checkpoint, as `resume` takes them."""
        return {"looks": self.condition.looks, "largest": self.envelope.values.tolist(), "count": self.envelope.count}

    def resume(self, facts, t):
        """Go on from a checkpoint at the time t, if that run looked at the same."""
        if facts is not None and facts["looks"] == self.condition.looks:
            self.envelope = Envelope(np.array(facts["largest"]), facts["count"])
            self.judge(t)


def places_of(sim, operator, at):
    """The places that the condition looks at, a list."""
    names = (at,) if isinstance(at, str) else at
    if not (isinstance(names, tuple | list) and names and all(isinstance(name, str) for name in names)):
        return [at_points("decayed", operator, at)]
    found, boundaries = [], []
    for name in names:
        recorder = sim.record.get(name)
        if recorder is None:
            mesh = sim.mesh
            choose("decayed: at", name, (*sim.record, *mesh.boundaries, *getattr(mesh, "interfaces", ())))
            boundaries.append(name)
            continue
        points, boundary = (getattr(recorder, kind, None) for kind in ("points", "boundary"))
        if points is None and boundary is None:
            raise ValueError(f"decayed: at={name!r} is not allowed; the record {recorder!r} has no points and no boundary")
        place, of = (on_boundary, boundary) if points is None else (at_points, points)
        found.append(place(f"record {name!r}", operator, of))
    return found + ([on_boundary("decayed", operator, tuple(boundaries))] if boundaries else [])
