"""Recorders backwards: from the derivatives of a number by what was recorded those by the states that were looked at."""
import numpy as np

from ..analysis.fourier import Fourier, Transform, window_value
from ..analysis.integrals import VolumeIntegral
from ..analysis.probes import Extrema, Points, SurfaceFields
from ..analysis.tracked_arrays import Tracked, adjoints
from ..program.transpose import NotDifferentiable
from ..reference.columns import multiply
from .program_adjoints import sets_of

LINEAR = Points, SurfaceFields, Fourier          # recorders that keep values of the state, or sums of them


class ReverseRecords:
    """The adjoint of the recorders of a run.

    operator   of the run;  record: {name: recorder};  times: of the states of the run, the first one's, too
    given      {name of a variable of the dataset: derivatives by it} of records
    by_element {name of a parameter: (element,)} derivatives, to which those of what recorders read of it are added"""

    def __init__(self, operator, record, times, given, by_element):
        self.sight, self.times = Sight(operator, by_element), np.array(times)
        self.recordings, self.transposes = {}, {}
        for name, recorder in record.items():
            if not any(np.any(each) for variable, each in given.items() if variable.startswith(f"{name}_")):
                continue
            check(name, recorder, operator.mesh)
            recording = recorder.attach(name, self.sight)
            own = [given.get(f"{name}_{variable}") for variable in recording.series.variables]
            if any(each is not None and np.any(each) for each in own):
                self.recordings[name] = recording, recorder, self.rows(recording, own)
                if isinstance(recorder, LINEAR):
                    few = len(self.times) // recording.every // 4          # of numbers, or this takes longer than it saves
                    self.transposes[name] = transpose(recording.measure(None, 0.0), self.sight, few)

    def rows(self, recording, given):
        """A function from the number of a sample to the derivatives by its variables, one for each, None for 0."""
        if not isinstance(recording, Transform):
            return lambda number: [None if each is None else each[number] for each in given]
        taken = np.flatnonzero(np.arange(len(self.times)) % recording.every == 0)
        t = self.times[taken]
        used = np.flatnonzero(t >= recording.recorder.start)
        around = np.concatenate([t[used][:1], t[used], t[used][-1:]])
        weights = np.zeros(len(t))
        weights[used] = (around[2:] - around[:-2]) / 2
        if recording.recorder.window is not None:
            weights[used] *= [window_value(recording.recorder.window, time) for time in t[used]]
        phases = weights[:, None] * np.exp(2j * np.pi * t[:, None] * recording.frequencies)
        fields = given[:recording.shape[0]]          # without time_span and sizes, which are no numbers of the state
        return lambda number: [None if each is None or not weights[number] else
                               np.real(np.tensordot(phases[number], each, 1)) for each in fields]

    @property
    def need_states(self):
        """Whether what a record gives depends on the state: all but samples of the state itself."""
        return any(not isinstance(recorder, LINEAR) for _, recorder, _ in self.recordings.values())

    def add(self, step, state, steps):
        """Add what the records of the state after so many steps give to its adjoint, by `steps.add`."""
        for name, (recording, _, rows) in self.recordings.items():
            if step % recording.every:
                continue
            given = rows(step // recording.every)
            if all(each is None or not np.any(each) for each in given):
                continue
            if self.transposes.get(name) is not None and not any(each is None for each in given):
                flat = np.concatenate([np.ravel(each) for each in given])
                for prefix, numbers, derivatives in self.transposes[name]:
                    steps.add(prefix, numbers, np.tensordot(flat, derivatives, 1))
                continue
            values = recording.measure(state, float(self.times[step]))
            total = sum(((value * each).sum() for value, each in zip(values, given) if each is not None), Tracked(0.0))
            self.sight.give_back(total, steps)


def transpose(values, sight, most):
    """[(prefix, numbers of elements in their set, derivatives (number, variable, row, element))] of all numbers of a sample
    that is linear in the state; None of more than `most`.

    values   of the sample, arrays that remember what `sight` looked at"""
    looked = [*sight.looked]
    sight.looked.clear()
    if sum(each.size for each in values) > most or sight.read:
        return None
    found = []
    for value in values:
        for unit in np.eye(value.size).reshape(-1, *value.shape):
            given = Collected()
            for (elements, _), each in zip(looked, adjoints(value, [array for _, array in looked], unit)):
                sight.add(elements, each, given)
            found.append(given.parts)
    return [(*parts[0][:2], np.stack([part[2] for part in parts])) for parts in zip(*found)]


class Collected:
    """What `Sight.add` gives to steps, in a list."""

    def __init__(self):
        self.parts = []

    def add(self, *part):
        self.parts.append(part)


def check(name, recorder, mesh):
    """Raise NotDifferentiable for a recorder whose values have no derivative here."""
    boundaries = (recorder.boundary,) if isinstance(getattr(recorder, "boundary", None), str) else (
        getattr(recorder, "boundary", None) or ())
    if isinstance(recorder, Extrema) or isinstance(recorder, VolumeIntegral) and recorder.function is None:
        raise NotDifferentiable(f"record {name!r}: {type(recorder).__name__} has no derivative here; take Points, "
                                "SurfaceFields, Fourier, BoundaryIntegral, or VolumeIntegral with a function")
    if isinstance(recorder, Fourier) and any(each in mesh.interfaces for each in boundaries):
        raise NotDifferentiable(f"record {name!r}: a transform on the interface {boundaries[0]!r} has no derivative here; take "
                                "points or a boundary")


class Sight:
    """An operator as recorders see it. It remembers what was looked at, and the parameters that were read, so that derivatives
    find back. None stands for a state that does not matter.

    Of several processes each gives back to its own elements alone.
    by_element   as of `ReverseRecords`;  here: the sight of `Operator.here`
    looked       [(numbers here of the elements, values)];  read: [(name, numbers here of the elements, values)]"""

    def __init__(self, operator, by_element, of=None):
        self.operator, self.by_element = operator, by_element
        self.looked, self.read = ([], []) if of is None else (of.looked, of.read)
        self.here = self if operator.here is operator else Sight(operator.here, by_element, self)
        here, count = operator.here, operator.here.mesh.cell_count
        self.set_of, self.number = np.empty(count, int), np.empty(count, int)
        self.parts = []
        for i, (prefix, (name, each, cells)) in enumerate(sets_of(here).items()):
            self.set_of[cells], self.number[cells] = i, np.arange(len(cells))
            nodal = each.tables.basis.reference.nodal if each.tables.basis.modal else np.eye(each.shape[1])
            self.parts.append((prefix, here.to_highest[name] @ nodal, nodal))

    def __getattr__(self, name):
        return getattr(self.operator, name)

    def summed(self, found):
        """Of what the processes find each differentiates its own."""
        return found

    def parameters(self, part):
        """As `Operator.parameters`."""
        found = self.operator.parameters(part)
        for name in self.by_element.keys() & found.keys():
            cells = np.broadcast_to(part.spread(np.arange(self.operator.mesh.cell_count, dtype=float)), part.shape)
            found[name] = Tracked(np.broadcast_to(found[name], part.shape))
            self.read.append((name, self.operator.number_here(np.rint(cells).astype(int).ravel()), found[name]))
        return found

    def take(self, state, elements):
        """Values at the nodes of some elements, as `Operator.take`."""
        elements, shape = np.asarray(elements), (len(self.operator.law.variables), self.operator.space.sizes["node"])
        values = np.zeros((*shape, len(elements))) if state is None else self.operator.take(state, elements).astype(float)
        self.looked.append((self.operator.number_here(elements), Tracked(values)))
        return self.looked[-1][1]

    def fetch(self, state):
        return Ready(self.take(state, np.arange(self.operator.mesh.cell_count)))

    def give_back(self, total, steps):
        """Add the derivatives of a number by what was looked at, by `steps.add`."""
        arrays = [values for *_, values in (*self.looked, *self.read)]
        given = adjoints(total, arrays)
        for (numbers, _), each in zip(self.looked, given):
            self.add(numbers, each, steps)
        for (name, numbers, _), each in zip(self.read, given[len(self.looked):]):
            here = numbers >= 0
            self.by_element[name] += np.bincount(numbers[here], each.ravel()[here], len(self.by_element[name]))
        self.looked.clear()

    def add(self, numbers, given, steps, own=False):
        """Add derivatives (variable, node, element) by values at nodes, as `take` gives them, by `steps.add`.

        numbers   here of the elements, -1 of those of others;  own: at the nodes of each set's own order"""
        for i, (prefix, *matrices) in enumerate(self.parts):
            matrix = matrices[own]
            inside = (numbers >= 0) & (self.set_of[numbers] == i)
            if inside.any():
                steps.add(prefix, self.number[numbers[inside]], multiply(matrix.T, given[:, :len(matrix), inside]))


class Ready:
    """A result that is there already."""

    def __init__(self, value):
        self.value = value

    def result(self):
        return self.value
