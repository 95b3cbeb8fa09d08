"""The derivatives of a number that a run gives by what it was given: `Simulation.gradient`."""
from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr

from ...mesh.cell_nodes import moved_mesh
from ...physics.dispersion import Dispersion
from ...support.wording import choose
from ..memory import check as check_memory
from ..rank_consistency import agree
from ..restart import begin_of
from ..run import progress_of
from ..signals import WORDS, Interrupted, Signals
from .arguments import RUN, check_run, checked, own_names, regions_of
from .kept_states import BESIDE, KeptStates
from .medium_numbers import MediumNumbers, of_medium
from .misfit import by_data, zones_of
from .moved_points import MovedPoints, direction_of_points, labelled, points_of, still_faces
from .named_numbers import NamedNumbers
from .reverse_methods import reverse_of
from .reverse_records import ReverseRecords
from .state_file import StateFile, check_folder, states_that_fit
from .tensor_components import check_definite, with_components

LOOK = 8          # steps between two looks of several processes for signals


class Gradient:
    """A number J of a run and its derivatives, with the lengths of the steps held as they were.

    value      J;  dataset: that of the run
    NAME       of each name that was asked for: of a parameter a DataArray with the dim region, element, element and node, or
               none; `initial`: a Dataset of those by the initial values of each variable at the nodes, (element, node)"""

    def __init__(self, problem: Derivatives, value: float, dataset: Any, found: dict[str, Any]):
        self.value, self.dataset, self._problem, self._found = value, dataset, problem, found

    def __repr__(self):
        return f"Gradient(value={self.value:.6g}, {', '.join(self._found)})"

    def __getattr__(self, name):
        found = self.__dict__.get("_found", {})
        if name not in found:
            raise AttributeError(f"this gradient has no {name!r}; it has: value, dataset, {', '.join(found)}", name=name,
                                 obj=self)
        return found[name]

    def __getitem__(self, name):
        """The derivatives by `name`, as of the attributes, and by numbers such as "source.strength"."""
        return self._found[choose("derivatives by", name, self._found, "; this gradient has those by")]

    def __dir__(self):
        return [*super().__dir__(), *self._found]

    def check(self, step: float = 1e-3, seed: int = 0) -> xr.Dataset:
        """A Taylor test along a random direction d of all that was asked for, relative to its size: for h = step, step / 2, ..,
        step / 16

            difference = |J(m + h d) - J(m)|,   remainder = |J(m + h d) - J(m) - h dJ/dm d|

        with the steps of the run. The first falls as h; the second as h^2 if the gradient is right: `order` is its slope.
        Returns a Dataset over h."""
        return self._problem.taylor_test(self, step, np.random.default_rng(seed))


class Derivatives:
    """A simulation, a number of its runs, and the derivatives that are asked for.

    misfit   function of the dataset, the number J
    wrt      {name: kind}, "initial", "points" or what the law's constructor calls a parameter: True or one of `KINDS`
    memory   bytes of the states that may be kept; None: as `KeptStates` says;  progress: as of `Simulation.run`, first of the
             run and then of the way back
    folder   where these are kept in files, or None;  restart: a store at whose last checkpoint the run begins, or None
    elements   numbers of those whose parameters are asked for; None: of all
    begin    (the time at which the run begins, its state there, as plain arrays, None: the simulation's initial state)
    states   the `KeptStates` of the run;  start: its first state, as plain arrays"""

    def __init__(self, sim, misfit, wrt, until, every, memory=None, progress=None, folder=None, restart=None):
        self.misfit, self.until, self.every, self.memory, self.progress = misfit, until, every, memory, progress
        self.folder, self.elements = folder, None
        check_run(sim)
        if sim.ranks is not None:
            agree(sim.ranks, {"misfit": misfit, "wrt": wrt, "until": until, "every": every, "memory": memory,
                              "folder": folder and str(folder), "restart": restart and str(restart)})
        check_folder(folder)
        if memory is not None and not (isinstance(memory, Real) and bytes_of_state(sim) <= memory < np.inf):
            raise ValueError(f"memory={memory!r} is not allowed; give bytes, at least those of a state, {bytes_of_state(sim)}")
        if not callable(misfit):
            raise ValueError(f"misfit={misfit!r} is not allowed; give a function of the dataset")
        self.reverse = reverse_of(sim.method)
        sim = with_components(sim, [wrt] if isinstance(wrt, str) else wrt if isinstance(wrt, dict | list | tuple) else ())
        self.places = self.reverse.places(sim)
        self.given, self.wrt = sim, checked(sim, wrt, self.places)
        self.begin = (0.0, None) if restart is None else begin_of(sim, restart, until)
        self.media = MediumNumbers(sim, [name for name in self.wrt if of_medium(sim.law, name) and "." in name])
        self.numbers = NamedNumbers(sim, [name for name in self.wrt if "." in name and name not in self.media.own])
        own = own_names(sim.law) | self.media.own | self.numbers.own
        self.names = {name: own[name] for name in self.wrt if name not in RUN}
        for name, own in self.names.items():
            if self.wrt[name] is True:
                value = (sim.law.dispersive[self.media.part[name]] if name in self.media.own else
                         sim.law.parameters.get(own))
                kind = ("region" if isinstance(value, dict) else
                        "element" if callable(value) and not isinstance(value, Dispersion) else "number")
                self.wrt[name] = kind if kind in self.places.kinds else "number"
        self.base = {name: self.places.function(*self.media.base(name)) if name in self.media.own else
                     self.places.function(np.full(self.places.count, self.numbers.values[name]))
                     if name in self.numbers.own else self.places.parameter(own) for name, own in self.names.items()}
        self.base |= {name: self.places.at_nodes(name, self.base[name]) for name in self.names if self.wrt[name] == "node"}

    def changed(self, more):
        """The simulation with parameters that are larger by {name: (place,)}, in the same absorbing layers, and points that are
        moved by more["points"]."""
        law, base, mesh = copy.copy(self.given.law), self.base, {}
        if "points" in self.wrt:
            mesh["mesh"] = replace(moved_mesh(self.given.mesh, more.get("points", 0.0)), movable=True)
            places = self.reverse.places(self.given.replace(**mesh))
            base = {name: places.function(each.values, each.beside) for name, each in base.items()}
        values = {name: each.plus(more[name]) if name in more else each for name, each in base.items()}
        for each in (self.media, self.numbers):
            each.check_values({name: value.values for name, value in values.items()})
        law.of_layers, law.dispersive = self.given.law, self.media.dispersive()
        law.added = tuple(self.names[name] for name in (*self.media.own, *self.numbers.own))
        law.parameters = law.parameters | {self.names[name]: each for name, each in values.items()}
        check_definite(law, self.given.mesh)
        sim = self.given.replace(law=law, method=self.places.method, **self.numbers.changes(), **mesh)
        sim.began, sim.start = self.begin
        return sim

    def gradient(self, more=None):
        """Run forwards and backwards, with parameters that are larger by {name: (place,)}.

        Raises Interrupted, or KeyboardInterrupt in the misfit, whose `dataset` is that of the run as far as it came."""
        self.sim = self.changed(more or {})
        self.check()
        self.states = self.room_for_states()
        try:
            dataset = self.forward()
            self.check()          # also of what the run has done
            try:
                value, given = from_first(self.sim.ranks, by_data(self.misfit, dataset, self.sim.record))
                return Gradient(self, value, dataset, self.backward(dataset, given))
            except KeyboardInterrupt as error:
                error.dataset = dataset
                raise
        finally:
            self.states.close()

    def room_for_states(self):
        """The `KeptStates`, still empty. Raises MemoryError or ValueError where there is no room for them."""
        size, most = bytes_of_state(self.sim), None
        if self.folder is not None:
            most = states_that_fit(self.folder, self.memory, size, self.sim.operator)
        elif self.memory is not None:
            most = int(self.memory // size)
        states = KeptStates(size, most, self.sim.began)
        if self.sim.ranks is None:          # as of runs, of which there is a plan for one process
            plan = self.sim.memory(self.until, self.every, quick=True)
            more = {"states for the way back": (BESIDE if self.folder is not None else most or states.least) * size}
            check_memory(replace(plan, host=plan.host | more), self.sim.backend)
        if self.folder is not None:
            states.keep_in(StateFile(self.folder, self.sim.operator))
        return states

    def check(self):
        """Raise NotDifferentiable for what has no derivative."""
        self.reverse.check(self.sim.operator.here, [own for name, own in self.names.items() if self.wrt[name] == "element"])

    def forward(self):
        """The dataset of a run of which some states are kept."""
        sim, states = self.sim, self.states
        self.start = sim.project() if sim.start is None else sim.start
        dataset = sim.run(self.until, self.every, progress=self.progress, callback=states.look)
        states.kept[0] = sim.operator.arrays(sim.operator.state(self.start))
        return dataset

    def backward(self, dataset, given):
        """{name: derivatives}, from those by the data."""
        with Signals() as signals:
            steps = self.way_back(dataset, given, signals)
        by_parameters, found = steps.by_parameters, {}
        for name in self.wrt:
            if name == "initial":          # as plain arrays for the Taylor test, and as a dataset
                self.initial, found[name] = steps.views.initial(self.sim, steps.adjoint)
                values = as_dict(self.initial).values()
            elif name == "points":
                values = [self.points.by_points(self.points.by_nodes(steps.adjoint), still_faces(self.sim))]
                found[name] = labelled(self.given.mesh, *values, "derivative by the points of the mesh")
            else:
                values = [over_mesh(self.sim.operator, by_parameters[self.names[name]])]
                found[name] = self.of_parameter(name, *values)
            if not all(np.isfinite(each).all() for each in values):
                raise ValueError(f"the derivatives by {name} are not finite: somewhere the misfit, the law or a condition has "
                                 "none, as the logarithm of 0")
        return found

    def way_back(self, dataset, given, signals):
        """The `ReciprocalSteps` or `ReverseSteps` after all steps; arguments as of `backward`, and the `Signals` meanwhile."""
        operator, times, parameters = self.sim.operator, self.states.times, tuple(self.names.values())
        self.points = points = None
        if "points" in self.wrt:
            def project(moved):
                return moved.zeros() if self.begin[1] is not None else moved.state(moved.project(self.sim.initial, 0.0))
            beside = {own: self.base[name].beside for name, own in self.names.items()}
            self.points = points = MovedPoints(operator, beside, project)
        by_node = {own: operator.law.parameters[own] for name, own in self.names.items() if self.wrt[name] == "node"}
        here = operator.here
        steps = self.reverse.steps(here, parameters, self.elements, points, by_node)
        last = len(times) - 1
        records = ReverseRecords(operator, steps.views, self.sim.record, times, {
            name: each for own in given.values() for name, each in own.items()}, self.places, steps.found, points)
        times_kept = next(iter(zones_of(dataset).values()))["time"].values
        snapshots = {int(np.argmin(np.abs(np.array(times) - t))): i for i, t in enumerate(times_kept)}

        def look(step, state):
            records.add(step, state, steps)
            if step in snapshots:
                for cells, q in steps.views.of_snapshot(operator, given, snapshots[step]):
                    records.sight.add(operator.number_here(cells), q, steps, own=True)
        with_states = steps.needs_states or records.need_states
        visited = self.states.backwards(operator, steps.needs_states and steps.reads_stages) if with_states else (
            (n, None, None) for n in reversed(range(last + 1)))
        with progress_of(self.progress if operator.writes else None, times[-1] - times[0], None) as progress:
            for step, state, inside in visited:
                received = signals.received or 0
                if self.sim.ranks is not None:
                    received = here.most(received) if step % LOOK == 0 else 0
                if received:
                    done = max(0, last - step - 1)
                    raise Interrupted(received, f"stopped by {WORDS[received]} on the way back, after {done} of {last} steps; "
                                                "the dataset of the run is that of this error")
                if step < last:
                    steps.step(inside if steps.reads_stages else state, times[step], self.states.steps[step][1])
                    if progress is not None:
                        progress.update(times[-1] - times[step], self.states.steps[step][1], last - step)
                look(step, state)
        return steps

    def of_parameter(self, name, values):
        """The derivatives by a parameter, from those by the number of each place."""
        attrs = {"long_name": f"derivative by {name}"}
        if self.wrt[name] == "number":
            return xr.DataArray(values.sum(), attrs=attrs, name=name)
        if self.wrt[name] == "region":
            regions = self.regions(name)
            return xr.DataArray([values[self.given.mesh.regions[region]].sum() for region in regions],
                                {"region": list(regions)}, "region", name, attrs)
        return self.places.labelled(values, name, attrs)

    def regions(self, name):
        """The regions of a parameter that is given by region, else those of the mesh."""
        return self.media.regions(name) if name in self.media.own else regions_of(self.given, self.names[name])

    # Whether it is right.

    def taylor_test(self, gradient, step, random):
        """See `Gradient.check`."""
        slope, directions, start = 0.0, {}, None
        for name in self.wrt:
            found = gradient[name]
            if name == "initial":
                start = {key: np.stack([size_of(each) * random.uniform(-1, 1, each.shape) for each in q])
                         for key, q in as_dict(self.start).items()}
                slope += sum(float(np.sum(as_dict(self.initial)[key] * d)) for key, d in start.items())
                continue
            if name == "points":
                direction = direction_of_points(self.given.mesh, still_faces(self.sim), random)
            else:
                base, own = self.base[name].values, self.names[name]
                direction = size_of(base) * random.uniform(-1, 1, found.shape)
                sign = (dict.fromkeys(self.given.law.not_negative, 1) | self.media.signs).get(own, 0)
                if sign and (sign * base <= 0).any():
                    direction = sign * np.abs(direction)          # into what is allowed
            slope += float(np.sum(found.values * direction))
            directions[name] = self.spread(name, direction)
        lengths = step / 2.0 ** np.arange(5)
        values = np.array([self.value({name: h * d for name, d in directions.items()},
                                      {} if start is None else {key: h * d for key, d in start.items()}) for h in lengths])
        difference, remainder = np.abs(values - gradient.value), np.abs(values - gradient.value - lengths * slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.append(np.nan, np.log2(remainder[:-1] / remainder[1:]))
        found = {"difference": difference, "remainder": remainder, "order": order}
        return xr.Dataset({name: ("h", each) for name, each in found.items()}, {"h": lengths})

    def at_places(self, name):
        """The numbers of a parameter, as of its derivatives, of which each is that of all its places: their mean; or the
        points of the mesh."""
        if name == "points":
            return labelled(self.given.mesh, points_of(self.given.mesh), "points of the mesh")
        values = self.base[name].values
        counts = self.of_parameter(name, np.ones(values.shape))
        return (self.of_parameter(name, values) / counts.where(counts > 0, 1)).assign_attrs(long_name=name)

    def spread(self, name, values):
        """Numbers of a parameter, as of its derivatives, at all places; of points themselves."""
        if name == "points":
            return values
        if self.wrt[name] == "region":
            found = np.zeros(self.places.count)
            for region, value in zip(self.regions(name), values):
                found[self.given.mesh.regions[region]] += value
            return found
        shape = self.base[name].values.shape
        return np.broadcast_to(np.reshape(values, shape) if np.size(values) > 1 else np.ravel(values), shape)

    def value(self, parameters, start):
        """J of a run with the same steps, parameters larger by {name: (place,)}, and an initial state by {name: array}."""
        sim = self.changed(parameters)
        sim.lengths = [dt for _, dt in self.states.steps]
        if start:
            first = sim.project() if sim.start is None else sim.start
            found = {key: q + start[key] for key, q in as_dict(first).items()}
            sim.start = found if isinstance(first, dict) else found["q"]
        return float(self.misfit(sim.run(self.until, self.every)))


def bytes_of_state(sim):
    """Of a state of a simulation, on several processes of the largest part."""
    parts = sim.operator.everyones(sim.operator.here.dofs)
    return max(parts) * sim.backend.dtype.itemsize


def from_first(ranks, found):
    """What the first process has found, on all."""
    return found if ranks is None else ranks.from_first(found)


def over_mesh(operator, values):
    """Numbers (element,) of the whole mesh, sums of those that the processes have found for elements of theirs."""
    if operator.here is operator:
        return values
    total = np.zeros(operator.mesh.cell_count)
    for numbers, found in operator.everyones((operator.numbers_of(np.arange(len(values))), values)):
        total[numbers] += found
    return total


def as_dict(arrays):
    """Plain arrays of a state by their names."""
    return arrays if isinstance(arrays, dict) else {"q": arrays}


def size_of(values):
    """The largest absolute value; 1 where all are 0."""
    return float(np.abs(values).max()) or 1.0
