"""Recorders backwards: from the derivatives of a number by what was recorded those by the states that were looked at."""
from functools import partial

import numpy as np

from ..analysis.fourier import Fourier, Transform, window_value
from ..analysis.integrals import VolumeIntegral
from ..analysis.probes import Extrema, Points, SurfaceFields
from ..analysis.totals import energy_inside, summed, totals
from ..analysis.tracked_arrays import Tracked, adjoints
from ..methods.dg.mass import is_weight_adjusted
from ..program.transpose import NotDifferentiable
from .program_adjoints import sets_of

LINEAR = Points, SurfaceFields, Fourier          # recorders that keep values of the state, or sums of them


class ReverseRecords:
    """The adjoint of the recorders of a run.

    operator   of the run;  record: {name: recorder};  times: of the states of the run, the first one's, too
    given      {name of a variable of the dataset: derivatives by it} of records
    by_element {name of a parameter: (element,)} derivatives, to which those of what recorders read of it are added"""

    def __init__(self, operator, record, times, given, by_element):
        self.sight, self.times = Sight(operator, by_element), np.array(times)
        self.recordings, self.nonlinear = {}, set()
        for name, recorder in record.items():
            if not any(np.any(each) for variable, each in given.items() if variable.startswith(f"{name}_")):
                continue
            check(name, recorder)
            read = len(self.sight.read)
            recording = recorder.attach(name, self.sight)
            if isinstance(recorder, VolumeIntegral) and recorder.function is None:
                check_totals(name, operator)
                recording.measure = partial(totals_of_sets, self.sight)
            if len(self.sight.read) > read or not isinstance(recorder, LINEAR):
                self.nonlinear.add(name)
            own = [given.get(f"{name}_{variable}") for variable in recording.series.variables]
            if any(each is not None and np.any(each) for each in own):
                self.recordings[name] = recording, recorder, self.rows(recording, own)
        self.sight.lasting = len(self.sight.read)

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
        """Whether the derivatives of what a record gives depend on the state: not those of samples of the state itself, but
        those by parameters that it reads."""
        return not self.nonlinear.isdisjoint(self.recordings)

    def add(self, step, state, steps):
        """Add what the records of the state after so many steps give to its adjoint, by `steps.add`."""
        for recording, _, rows in self.recordings.values():
            if step % recording.every:
                continue
            given = rows(step // recording.every)
            if all(each is None or not np.any(each) for each in given):
                continue
            values = recording.measure(state, float(self.times[step]))
            total = sum(((value * each).sum() for value, each in zip(values, given) if each is not None), Tracked(0.0))
            self.sight.give_back(total, steps)


def check(name, recorder):
    """Raise NotDifferentiable for a recorder whose values have no derivative here."""
    if isinstance(recorder, Extrema):
        raise NotDifferentiable(f"record {name!r}: Extrema has no derivative here; take Points, SurfaceFields, Fourier, "
                                "BoundaryIntegral or VolumeIntegral")


def check_totals(name, operator):
    """Raise NotDifferentiable where the totals of a law are no integrals of a function of the state."""
    if any(is_weight_adjusted(each.tables) for each in operator.operators.values()):
        raise NotDifferentiable(f"record {name!r}: VolumeIntegral without a function has no derivative beside media that vary "
                                "inside of elements, and in curved ones; give it a function")


class Sight:
    """An operator as recorders see it. It remembers what was looked at, and the parameters that were read, so that derivatives
    find back. None stands for a state that does not matter.

    by_element   as of `ReverseRecords`"""

    def __init__(self, operator, by_element):
        self.operator, self.looked, count = operator, [], operator.mesh.cell_count
        self.by_element, self.read, self.lasting = by_element, [], 0          # the first ones last for all samples
        self.set_of, self.number = np.empty(count, int), np.empty(count, int)
        self.parts = []
        for i, (prefix, (name, each, cells)) in enumerate(sets_of(operator).items()):
            self.set_of[cells], self.number[cells] = i, np.arange(len(cells))
            matrix = operator.to_highest[name]
            nodal = each.tables.basis.reference.nodal if each.tables.basis.modal else np.eye(each.shape[1])
            self.parts.append((prefix, name, each, matrix @ nodal, nodal))

    def __getattr__(self, name):
        return getattr(self.operator, name)

    @property
    def here(self):
        return self

    def parameters(self, part):
        """As `Operator.parameters`."""
        return self.followed(self.operator.parameters(part), part, np.arange(len(self.set_of)))

    def followed(self, found, part, cells):
        """Parameters {name: values} at the points of a `Part`, in which those that are asked for remember that they were read;
        cells: numbers in the mesh of the elements of the part's space."""
        for name in self.by_element.keys() & found.keys():
            self.check_element(name)
            at = np.broadcast_to(part.spread(cells.astype(float)), part.shape)
            found[name] = Tracked(np.broadcast_to(found[name], part.shape))
            self.read.append((name, np.rint(at).astype(int).ravel(), found[name]))
        return found

    def check_element(self, name):
        """Raise NotDifferentiable for a parameter whose derivatives are by numbers at nodes."""
        if self.by_element[name].ndim > 1:
            raise NotDifferentiable("a record reads a parameter of which derivatives at nodes are asked for; take those by "
                                    "'element', or a function of the state alone")

    def cells_of(self, number):
        """The numbers in the mesh of the elements of a set, in their order there."""
        cells = np.flatnonzero(self.set_of == number)
        return cells[np.argsort(self.number[cells])]

    def parameters_beside(self, law, rows, x):
        """As `Operator.parameters_beside`."""
        found = self.operator.parameters_beside(law, rows, x)
        for name in self.by_element.keys() & found.keys():
            self.check_element(name)
            found[name] = Tracked(found[name])
            self.read.append((name, np.repeat(rows[:, 0], x.shape[2]), found[name]))
        return found

    def take(self, state, elements):
        """Values at the nodes of some elements, as `Operator.take`."""
        elements, rows = np.asarray(elements), max(len(matrix) for *_, matrix, _ in self.parts)
        values = np.full((len(self.operator.law.variables), rows, len(elements)), np.nan)
        parts = None if state is None else self.operator.by_set(state)
        for i, (_, name, each, matrix, _) in enumerate(self.parts):
            inside = self.set_of[elements] == i
            q = 0.0 if parts is None else matrix @ each.operations.take(
                parts[name], self.number[elements[inside]])[:each.tables.physics.moving].astype(float)
            values[:, :len(matrix), inside] = q
        self.looked.append((elements, Tracked(values)))
        return self.looked[-1][1]

    def of_set(self, number, state):
        """All variables of a set at its nodes, (variable, node, element), those of the law and the internal ones."""
        prefix, name, each, _, nodal = self.parts[number]
        q = nodal @ np.array(each.operations.host(self.operator.by_set(state)[name]), float)
        self.looked.append((prefix, Tracked(q)))
        return self.looked[-1][1]

    def fetch(self, state):
        return Ready(self.take(state, np.arange(len(self.set_of))))

    def give_back(self, total, steps):
        """Add the derivatives of a number by what was looked at, by `steps.add`."""
        arrays = [values for _, values in self.looked], [values for *_, values in self.read]
        given = adjoints(total, [*arrays[0], *arrays[1]])
        for (elements, _), each in zip(self.looked, given):
            self.add(elements, each, steps)
        for (name, cells, _), each in zip(self.read, given[len(self.looked):]):
            self.by_element[name] += np.bincount(cells, each.ravel(), len(self.by_element[name]))
        self.looked.clear()
        del self.read[self.lasting:]

    def add(self, elements, given, steps, own=False):
        """Add derivatives (variable, node, element of `elements`) by values at nodes, as `take` gives them, by `steps.add`;
        own: at the nodes of each set's own order.  elements: their numbers, or the prefix of a set of `of_set`."""
        if isinstance(elements, str):
            nodal = next(nodal for prefix, *_, nodal in self.parts if prefix == elements)
            steps.add(elements, np.arange(given.shape[-1]), nodal.T @ given)
            return
        for i, (prefix, _, _, *matrices) in enumerate(self.parts):
            matrix = matrices[own]
            inside = self.set_of[elements] == i
            if inside.any():
                steps.add(prefix, self.number[elements[inside]], matrix.T @ given[:, :len(matrix), inside])


class SetSight:
    """A set of elements as `totals` sees it, with the parameters of a `Sight`."""

    def __init__(self, sight, of_set, cells):
        self.sight, self.of_set, self.cells = sight, of_set, cells

    def __getattr__(self, name):
        return getattr(self.of_set, name)

    def parameters(self, part):
        return self.sight.followed(self.of_set.parameters(part), part, self.cells)


def totals_of_sets(sight, state, t):
    """The totals of `dgarray.analysis.totals`, of arrays that remember what was looked at."""
    found = []
    for number, (_, _, each, *_) in enumerate(sight.parts):
        view, q, moving = SetSight(sight, each, sight.cells_of(number)), sight.of_set(number, state), each.tables.physics.moving
        found += [totals(view, q[:moving]), energy_inside(view, q[:moving], q[moving:])]
    return summed(found).values()


class Ready:
    """A result that is there already."""

    def __init__(self, value):
        self.value = value

    def result(self):
        return self.value
