"""Recorders backwards: from the derivatives of a number by what was recorded those by the states that were looked at."""
from functools import partial

import numpy as np

from ...analysis.fourier import Fourier, Transform, window_value
from ...analysis.integrals import VolumeIntegral
from ...analysis.probes import Extrema, Points, SurfaceFields
from ...analysis.sampling import as_points, choice
from ...analysis.totals import energy_inside, summed, totals
from ...analysis.tracked_arrays import Tracked, adjoints
from ...methods.dg.mass import is_weight_adjusted
from ...program.transpose import NotDifferentiable
from ...reference.columns import multiply
from .moved_points import MovedRecord
from .state_views import View

LINEAR = Points, SurfaceFields, Fourier          # recorders that keep values of the state, or sums of them


class ReverseRecords:
    """The adjoint of the recorders of a run.

    operator   of the run;  views: of `Operator.here`, see `dgarray.run.gradients.state_views`;  record: {name: recorder}
    times      of the states of the run, the first one's, too
    given      {name of a variable of the dataset: derivatives by it} of records
    places     of the parameters, see `dgarray.run.gradients.parameter_places`
    by_place   {name of a parameter: (place,)} derivatives, to which those of what recorders read of it are added
    points     the `MovedPoints` that gets what fields at points give; None: derivatives by points are not asked for"""

    def __init__(self, operator, views, record, times, given, places, by_place, points=None):
        self.sight, self.times, self.points = Sight(operator, views, places, by_place), np.array(times), points
        self.recordings, self.nonlinear, self.transposes, self.moved = {}, set(), {}, {}
        for name, recorder in record.items():
            if not any(np.any(each) for variable, each in given.items() if variable.startswith(f"{name}_")):
                continue
            check(name, recorder)
            read = len(self.sight.read)
            recording = recorder.attach(name, self.sight)
            if isinstance(recorder, VolumeIntegral) and recorder.function is None:
                check_totals(name, operator)
                recording.measure = partial(totals_of_sets, self.sight, views.sets)
            if len(self.sight.read) > read or not isinstance(recorder, LINEAR):
                self.nonlinear.add(name)
            own = [given.get(f"{name}_{variable}") for variable in recording.series.variables]
            if any(each is not None and np.any(each) for each in own):
                self.recordings[name] = recording, recorder, self.rows(recording, own)
                if points and getattr(recorder, "points", None) is not None:
                    x = as_points(name, recorder.points, operator.mesh.dim)
                    chosen = choice(name, operator.law, recorder.variables).values()
                    self.moved[name] = MovedRecord(operator.mesh, operator.space, x, [*chosen])
                if isinstance(recorder, LINEAR):
                    few = len(self.times) // recording.every // 4          # of numbers, or this takes longer than it saves
                    self.transposes[name] = transpose(recording.measure(None, 0.0), self.sight, few)
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
        those by parameters that it reads, and by points."""
        return bool(self.moved) or not self.nonlinear.isdisjoint(self.recordings)

    def add(self, step, state, steps):
        """Add what the records of the state after so many steps give to its adjoint, by `steps.add`."""
        for name, (recording, _, rows) in self.recordings.items():
            if step % recording.every:
                continue
            given = rows(step // recording.every)
            if all(each is None or not np.any(each) for each in given):
                continue
            if name in self.moved:
                self.moved[name].add(self.points.found, partial(self.sight.operator.take, state), given)
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


def check(name, recorder):
    """Raise NotDifferentiable for a recorder whose values have no derivative here."""
    if isinstance(recorder, Extrema):
        raise NotDifferentiable(f"record {name!r}: Extrema has no derivative here; take Points, SurfaceFields, Fourier, "
                                "BoundaryIntegral or VolumeIntegral")


def check_totals(name, operator):
    """Raise NotDifferentiable where the totals of a law are no integrals of a function of the state."""
    if operator.mesh.structured or operator.here is not operator:
        raise NotDifferentiable(f"record {name!r}: VolumeIntegral without a function has no derivative on grids and on several "
                                "processes; give it a function")
    if any(is_weight_adjusted(each.tables) for each in operator.operators.values()):
        raise NotDifferentiable(f"record {name!r}: VolumeIntegral without a function has no derivative beside media that vary "
                                "inside of elements, and in curved ones; give it a function")


class Sight:
    """An operator as recorders see it. It remembers what was looked at, and the parameters that were read, so that derivatives
    find back. None stands for a state that does not matter.

    Of several processes each gives back to its own elements alone.
    operator     of the run, or `Operator.here`;  views, places, by_place: as of `ReverseRecords`
    looked       [(numbers here of the elements, or the `View` of a set, values)]
    read         [(name, numbers here of the places, values)];  lasting: how many of them recorders have read once for all"""

    def __init__(self, operator, views, places, by_place, of=None):
        self.operator, self.views, self.places, self.by_place, self.lasting = operator, views.views, places, by_place, 0
        self.looked, self.read = ([], []) if of is None else (of.looked, of.read)
        self.here = self if operator.here is operator else Sight(operator.here, views, places, by_place, self)
        self.view_of, self.number = np.empty(views.count, int), np.empty(views.count, int)
        for i, view in enumerate(self.views):
            self.view_of[view.cells], self.number[view.cells] = i, np.arange(len(view.cells))

    def __getattr__(self, name):
        return getattr(self.operator, name)

    def summed(self, found):
        """Of what the processes find each differentiates its own."""
        return found

    def parameters(self, part):
        """As `Operator.parameters`."""
        return self.followed(self.operator.parameters(part), part, self.places.of_part(part, self.operator.space.count))

    def followed(self, found, part, places):
        """Parameters {name: values} at the points of a `Part`, in which those that are asked for remember that they were read;
        places: of the points."""
        for name in self.by_place.keys() & found.keys():
            self.check_element(name)
            found[name] = Tracked(np.broadcast_to(found[name], part.shape))
            self.read.append((name, self.operator.number_here(places.ravel()), found[name]))
        return found

    def check_element(self, name):
        """Raise NotDifferentiable for a parameter whose derivatives are by numbers at nodes."""
        if self.by_place[name].ndim > 1:
            raise NotDifferentiable("a record reads a parameter of which derivatives at nodes are asked for; take those by "
                                    "'element', or a function of the state alone")

    def parameters_beside(self, law, rows, x):
        """As `Operator.parameters_beside`."""
        found = self.operator.parameters_beside(law, rows, x)
        for name in self.by_place.keys() & found.keys():
            self.check_element(name)
            found[name] = Tracked(found[name])
            self.read.append((name, self.operator.number_here(np.repeat(rows[:, 0], x.shape[2])), found[name]))
        return found

    def take(self, state, elements):
        """Values at the nodes of some elements, as `Operator.take`."""
        elements, space = np.asarray(elements), self.operator.space
        rows = len(self.views[0].matrix) if space.structured else space.sizes["node"]
        values = np.zeros((len(self.operator.law.variables), rows, len(elements))) if state is None else (
            self.operator.take(state, elements).astype(float))
        self.looked.append((self.operator.number_here(elements), Tracked(values)))
        return self.looked[-1][1]

    def of_set(self, view, name, each, state):
        """All variables of a set at its nodes, (variable, node, element), those of the law and the internal ones."""
        q = view.own @ np.array(each.operations.host(self.operator.by_set(state)[name]), float)
        self.looked.append((view, Tracked(q)))
        return self.looked[-1][1]

    def fetch(self, state):
        return Ready(self.take(state, np.arange(self.operator.space.count)))

    def give_back(self, total, steps):
        """Add the derivatives of a number by what was looked at, by `steps.add`."""
        arrays = [values for *_, values in (*self.looked, *self.read)]
        given = adjoints(total, arrays)
        for (numbers, _), each in zip(self.looked, given):
            self.add(numbers, each, steps)
        for (name, numbers, _), each in zip(self.read, given[len(self.looked):]):
            here = numbers >= 0
            self.by_place[name] += np.bincount(numbers[here], each.ravel()[here], len(self.by_place[name]))
        self.looked.clear()
        del self.read[self.lasting:]

    def add(self, numbers, given, steps, own=False):
        """Add derivatives (variable, node, element) by values at nodes, as `take` gives them, by `steps.add`.

        numbers   here of the elements, -1 of those of others, or the `View` of a set of `of_set`;  own: at the nodes of each
                  set's own order"""
        if isinstance(numbers, View):
            steps.add(numbers.prefix, np.arange(given.shape[-1]), numbers.own.T @ given)
            return
        for i, view in enumerate(self.views):
            matrix, inside = view.own if own else view.matrix, (numbers >= 0) & (self.view_of[numbers] == i)
            if inside.any():
                steps.add(view.prefix, self.number[numbers[inside]], multiply(matrix.T, given[:, :len(matrix), inside]))


class SetSight:
    """A set of elements as `totals` sees it, with the parameters of a `Sight`."""

    def __init__(self, sight, of_set, cells):
        self.sight, self.of_set, self.cells = sight, of_set, cells

    def __getattr__(self, name):
        return getattr(self.of_set, name)

    def parameters(self, part):
        places = np.broadcast_to(part.spread(self.cells.astype(float)), part.shape)
        return self.sight.followed(self.of_set.parameters(part), part, np.rint(places).astype(int))


def totals_of_sets(sight, sets, state, t):
    """The totals of `dgarray.analysis.totals`, of arrays that remember what was looked at; sets: as of `sets_of`."""
    found = []
    for view, (name, each, cells) in zip(sight.views, sets.values()):
        of_set, moving = SetSight(sight, each, cells), each.tables.physics.moving
        q = sight.of_set(view, name, each, state)
        found += [totals(of_set, q[:moving]), energy_inside(of_set, q[:moving], q[moving:])]
    return summed(found).values()


class Ready:
    """A result that is there already."""

    def __init__(self, value):
        self.value = value

    def result(self):
        return self.value
