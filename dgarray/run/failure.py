"""A solution that goes bad: which step, stage, variable and element, and what it looked like around there."""
from pathlib import Path
from typing import Any

import numpy as np

from ..output.layouts import dump, dump_suffixes
from ..physics.inadmissible_states import place_text, wrong_quantity, wrong_state


class SolutionError(RuntimeError):
    """The solution went bad: a value is not finite or not admissible, or the time step has collapsed.

    time, step, stage      of the first bad value: the step's number from 1 and its stage from 1
    variable               its name; of a state that is not admissible, the quantity that should be positive, such as "pressure"
    element, centre        the element's number in the mesh file, and its centre
    boundaries             names of the boundaries that the element or a neighbour of it touches
    dataset                the run's dataset up to the last good state
    dump                   the file that shows the elements around it
    What is not known is None."""

    def __init__(self, message: str, time: float | None = None, step: int | None = None, stage: int | None = None,
                 variable: str | None = None, element: int | None = None, centre: Any = None, boundaries: Any = None):
        super().__init__(message)
        self.time, self.step, self.stage, self.variable = time, step, stage, variable
        self.element, self.centre, self.boundaries = element, centre, boundaries
        self.dataset: Any = None
        self.dump: Any = None


class Failure:
    """The first bad state of a run, found by taking the unchecked steps once more.

    step    number of the first step after which the state is not as it must be; dt its length
    good    state before that step, as `operator.host` gives it; t its time
    bad     the first state that is not as it must be, after that stage (None if the second time all went well)
    where   (value, 3) rows (place, variable, row) of its bad values
    advice  what the method can do at shocks, "" if nothing more
    state, x   of the first of these, where its state is not admissible: the variables' values, and its position"""

    def __init__(self, loop):
        """Go back to the loop's last copy of its state and take its steps again, the bad one stage by stage."""
        self.operator = operator = loop.operator
        self.advice = loop.sim.method.at_shocks if loop.sim.law.admissible is not None else ""
        failed = operator.host(loop.state)
        loop.from_copy()
        for t, dt in loop.since[:-loop.unchecked]:
            loop.state = operator.advance(loop.state, t, dt)
        for self.step, (self.t, self.dt) in enumerate(loop.since[-loop.unchecked:], loop.steps - loop.unchecked + 1):
            operator.copy(loop.state, loop.copy)
            loop.state = operator.advance(loop.state, self.t, self.dt)
            if not operator.check(loop.state, self.t + self.dt).sound:
                break
        loop.from_copy()
        self.good = operator.host(loop.state)
        self.bad, self.stage, self.time = failed, None, self.t + self.dt
        for number, (time, state) in enumerate(operator.stages(loop.state, self.t, self.dt), 1):
            if not operator.check(state, time).sound:
                self.bad, self.stage, self.time = operator.host(state), min(number, operator.stage_count), time
                break
        self.where = operator.not_finite(self.bad)
        self.word, self.state, self.x = "finite", None, None
        if not len(self.where):
            self.word, self.where = "admissible", operator.not_admissible(self.bad, self.time)
            if len(self.where):
                self.state, self.x = operator.state_at(self.bad, *self.where[0, [0, 2]])

    def error(self, law):
        """The SolutionError that says so."""
        if not len(self.where):          # kernels may round to the other side of it
            return SolutionError(f"the state is not {self.word} at t = {self.time:.6g} (step {self.step}), by so little that "
                                 f"no element can be named; the last good state is at t = {self.t:.6g}", self.time, self.step,
                                 self.stage)
        element, variable, _ = self.where[0]
        mesh = self.operator.space.mesh
        names = mesh.near(element)
        many = len(np.unique(self.where[:, 0]))
        count = self.operator.stage_count
        stage = "" if self.stage is None or count == 1 else f", stage {self.stage} of {count}"
        names_of = dict(enumerate(law.variables))
        what = names_of.get(variable, "an internal variable") if self.word == "finite" else "the state"
        where, wrong, which = mesh.named_place(element), "", names_of.get(variable) if self.word == "finite" else None
        if self.state is not None:
            found = wrong_quantity(law, self.state)
            which = found and found[0]
            wrong = f": {wrong_state(law, self.state)}"
            wrong += "" if np.allclose(self.x, mesh.centre(element)) else f" at {place_text(self.x)}"
        advice = f"; {self.advice}" if self.advice else ""
        message = (f"{what} is not {self.word} at t = {self.time:.6g} (step {self.step}{stage}) in {where}, {near(names)}"
                   f"{wrong}; {many} {where.split()[0]}{'s are' if many > 1 else ' is'} affected{advice}; the last good "
                   f"state is at t = {self.t:.6g}")
        return SolutionError(message, self.time, self.step, self.stage,
                             which, int(mesh.numbers[element]), mesh.centre(element), names)

    def dump(self, path, law):
        """Write the last good state around the first bad place, and which places are bad: see `dgarray.output.layouts.dump`."""
        first, variable = self.where[0, :2] if len(self.where) else (0, 0)
        values = self.operator.nodal(self.good)
        if self.operator.writes:
            named = law.variables[min(variable, len(law.variables) - 1)]
            dump(path, self.operator.space, law, self.t, values, named, first, self.where[:, 0])


def near(names):
    """Where an element is, for messages."""
    plural = "boundaries" if len(names) > 1 else "boundary"
    return f"near the {plural} {', '.join(names)}" if names else "away from boundaries"


def check_dump(path, space):
    """Raise ValueError if there can be no dump of that name for a run whose output lies in this space."""
    path, allowed = Path(path), dump_suffixes(space)
    if path.suffix not in allowed:
        raise ValueError(f"the dump {path} has the suffix {path.suffix!r}; allowed: {', '.join(allowed)}")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"the dump {path}: the folder {path.resolve().parent} does not exist")
