"""The derivatives of a number that a run gives by what it was given: `Simulation.gradient`."""
from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..methods.dg.method import DG
from ..physics.laws.law import argument
from ..reference.columns import multiply
from ..spaces.by_element import ByElement, ElementsAt
from ..support.wording import choose
from .kept_states import BESIDE, KeptStates
from .memory import check as check_memory
from .misfit import by_data, zones_of
from .named_numbers import NamedNumbers
from .rank_consistency import agree
from .reciprocal_steps import reciprocal_steps
from .restart import begin_of
from .reverse_records import ReverseRecords
from .reverse_steps import ReverseSteps, check_method
from .run import progress_of
from .signals import WORDS, Interrupted, Signals
from .state_file import StateFile, check_folder, states_that_fit

if TYPE_CHECKING:
    pass

LOOK = 8          # steps between two looks of several processes for signals
KINDS = ("number", "region", "element")          # of derivatives by a parameter


class Gradient:
    """A number J of a run and its derivatives, with the lengths of the steps held as they were.

    value      J;  dataset: that of the run
    NAME       of each name that was asked for: of a parameter a DataArray with the dim region or element, or none; `initial`: a
               Dataset of the derivatives by the initial values of each variable at the nodes, (element, node)"""

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
    wrt      {name: kind}, "initial" or what the law's constructor calls a parameter: True or one of `KINDS`
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
        self.given, self.wrt = sim, checked(sim, wrt)
        self.begin = (0.0, None) if restart is None else begin_of(sim, restart, until)
        self.numbers = NamedNumbers(sim, [name for name in self.wrt if "." in name])
        self.names = self.numbers.own | {name: own_names(sim.law)[name] for name in self.wrt
                                         if name != "initial" and name not in self.numbers.own}
        for name, own in self.names.items():
            if self.wrt[name] is True:
                value = sim.law.parameters.get(own)
                self.wrt[name] = "region" if isinstance(value, dict) else "element" if callable(value) else "number"
        elements = ElementsAt(sim.method.space(sim.problem))
        bases = {name: self.numbers.base(name) if name in self.numbers.own else base_of(sim, own)
                 for name, own in self.names.items()}
        self.base = {name: ByElement(elements, *base) for name, base in bases.items()}

    def changed(self, more):
        """The simulation with parameters that are larger by {name: (element,)}, in the same absorbing layers."""
        law = copy.copy(self.given.law)
        law.of_layers, law.added = self.given.law, tuple(self.numbers.own.values())
        law.parameters = law.parameters | {self.names[name]: base.plus(more[name]) if name in more else base
                                           for name, base in self.base.items()}
        sim = self.given.replace(law=law, **self.numbers.changes())
        sim.began, sim.start = self.begin
        return sim

    def gradient(self, more=None):
        """Run forwards and backwards, with parameters that are larger by {name: (element,)}.

        Raises Interrupted, or KeyboardInterrupt in the misfit, whose `dataset` is that of the run as far as it came."""
        self.sim = self.changed(more or {})
        self.states = self.room_for_states()
        try:
            dataset = self.forward()
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
            if name == "initial":
                self.initial, found[name] = self.of_initial(steps)
                values = as_dict(self.initial).values()
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
        here = operator.here
        check_method(here)
        steps = reciprocal_steps(here, parameters, self.elements) or ReverseSteps(here, parameters)
        last = len(times) - 1
        records = ReverseRecords(operator, self.sim.record, times, {
            name: each for own in given.values() for name, each in own.items()}, steps.found)
        times_kept = next(iter(zones_of(dataset).values()))["time"].values
        snapshots = {int(np.argmin(np.abs(np.array(times) - t))): i for i, t in enumerate(times_kept)}
        zones = operator.zones if None not in given else {None: np.arange(operator.mesh.cell_count)}

        def look(step, state):
            records.add(step, state, steps)
            if step in snapshots:
                for zone, cells in zones.items():
                    own = given[None if zone is None else str(zone)]
                    q = np.stack([own[name][snapshots[step]].T for name in operator.law.variables])
                    records.sight.add(operator.number_here(cells), q, steps, own=True)
        with_states = steps.needs_states or records.need_states
        visited = self.states.backwards(operator, steps.needs_states) if with_states else (
            (n, None, None) for n in reversed(range(last + 1)))
        with progress_of(self.progress if operator.writes else None, times[-1] - times[0], None) as progress:
            for step, state, inside in visited:
                received = signals.received or 0
                if here.messages is not None:
                    received = here.most(received) if step % LOOK == 0 else 0
                if received:
                    done = max(0, last - step - 1)
                    raise Interrupted(received, f"stopped by {WORDS[received]} on the way back, after {done} of {last} steps; "
                                                "the dataset of the run is that of this error")
                if step < last:
                    steps.step(inside, times[step], self.states.steps[step][1])
                    if progress is not None:
                        progress.update(times[-1] - times[step], self.states.steps[step][1], last - step)
                look(step, state)
        return steps

    def of_parameter(self, name, values):
        """The derivatives by a parameter, from those by each element's number."""
        mesh = self.given.mesh
        attrs = {"long_name": f"derivative by {name}"}
        if self.wrt[name] == "number":
            return xr.DataArray(values.sum(), attrs=attrs, name=name)
        if self.wrt[name] == "region":
            regions = regions_of(self.given, self.names[name])
            return xr.DataArray([values[mesh.regions[region]].sum() for region in regions], {"region": list(regions)}, "region",
                                name, attrs)
        places = {axis: ("element", x) for axis, x in zip("xyz", mesh.centroids.T)}
        return xr.DataArray(values, places | {"cell_number": ("element", mesh.numbers)}, "element", name, attrs)

    def of_initial(self, steps):
        """(The derivatives by the initial state, as plain arrays, the dataset of those by the initial values at the nodes)."""
        operator, by_state, by_values = self.sim.operator, {}, {}
        for prefix, found in steps.adjoint.items():
            name, each, _ = steps.sets[prefix]
            by_state[name] = by_values[name] = found
            if each.tables.basis.modal:          # by the values at the nodes, N of modes
                matrix = np.linalg.pinv(each.tables.basis.reference.nodal)
                by_values[name] = multiply(matrix, multiply(matrix.T, found))
        of_state, of_values = (operator.gathered(operator.here.merged(each)) for each in (by_state, by_values))
        return of_state, self.sim.dataset(of_values).isel(time=0, drop=True)

    # Whether it is right.

    def taylor_test(self, gradient, step, random):
        """See `Gradient.check`."""
        slope, directions, start = 0.0, {}, None
        for name in self.wrt:
            found = gradient[name]
            if name == "initial":
                start = {key: size_of(q) * random.uniform(-1, 1, q.shape) for key, q in as_dict(self.start).items()}
                slope += sum(float(np.sum(as_dict(self.initial)[key] * d)) for key, d in start.items())
                continue
            base, own = self.base[name].values, self.names[name]
            direction = size_of(base) * random.uniform(-1, 1, found.shape)
            if own in self.given.law.not_negative and (base <= 0).any():
                direction = np.abs(direction)          # into what is allowed
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

    def at_places(self, name, values):
        """The numbers of a parameter, as of its derivatives, of which each is that of all its elements: their mean."""
        counts = self.of_parameter(name, np.ones(self.given.mesh.cell_count))
        return (self.of_parameter(name, values) / counts.where(counts > 0, 1)).assign_attrs(long_name=name)

    def spread(self, name, values):
        """Numbers of a parameter, as of its derivatives, on the elements."""
        if self.wrt[name] == "region":
            found = np.zeros(self.given.mesh.cell_count)
            for region, value in zip(regions_of(self.given, self.names[name]), values):
                found[self.given.mesh.regions[region]] += value
            return found
        return np.broadcast_to(values, self.given.mesh.cell_count)

    def value(self, parameters, start):
        """J of a run with the same steps, parameters larger by {name: (element,)}, and an initial state by {name: array}."""
        sim = self.changed(parameters)
        sim.lengths = [dt for _, dt in self.states.steps]
        if start:
            found = {key: q + start[key] for key, q in as_dict(self.start).items()}
            sim.start = found if isinstance(self.start, dict) else found["q"]
        return float(self.misfit(sim.run(self.until, self.every)))


def check_run(sim):
    """Raise ValueError for a simulation that has no derivatives."""
    if sim.backend.name != "numpy":
        raise ValueError(f"gradients are computed with backend='numpy', not with {sim.backend.name!r}")
    if not isinstance(sim.method, DG):
        raise ValueError(f"gradients are for discontinuous Galerkin, not for {sim.method!r}; take NodalDG, ModalDG or TensorDG")
    if sim.law.laws is not None:
        raise ValueError(f"gradients are for one law, not for laws by region, {', '.join(sim.law.laws)}; give one law whose "
                         "parameters are by region, {region: number}")


def checked(sim, wrt):
    """What derivatives are asked for, {name: kind}. Raises ValueError where there are none."""
    if not isinstance(wrt, str | dict | list | tuple):
        raise ValueError(f"wrt={wrt!r} is not allowed; give a name, several in a list, or {{name: kind}}")
    if not isinstance(wrt, str) and not all(isinstance(name, str) for name in wrt):
        raise ValueError(f"wrt={wrt!r} is not allowed; names are texts")
    wrt = {wrt: True} if isinstance(wrt, str) else dict(wrt) if isinstance(wrt, dict) else dict.fromkeys(wrt, True)
    allowed = ("initial", *own_names(sim.law))
    for name, kind in wrt.items():
        if "." in str(name):          # a number of a source or condition, see `NamedNumbers`
            kinds = ("number",)
        else:
            choose("wrt", name, allowed, f" for {sim.law!r}; derivatives are by", ("'source.NUMBER'", "'BOUNDARY.NUMBER'"))
            kinds = () if name == "initial" else KINDS
        if kind is not True and kind not in kinds:
            raise ValueError(f"wrt={{{name!r}: {kind!r}}} is not allowed; give " + ", ".join(["True", *map(repr, kinds)]))
        own = own_names(sim.law).get(name)
        if own in sim.law.dispersive:
            raise ValueError(f"wrt={name!r} is not allowed: it is dispersive here, and has no derivatives yet")
        if kind == "region" and not regions_of(sim, own):
            raise ValueError(f"wrt={{{name!r}: 'region'}} is not allowed: {sim.mesh!r} has no regions; take 'number' or "
                             "'element', or mesh.with_regions(...)")
    if not wrt:
        raise ValueError(f"wrt={wrt!r} asks for nothing; give at least one of: {', '.join(allowed)}")
    return wrt


def own_names(law):
    """{what the law's constructor calls a parameter: its own name}."""
    return {argument(law, name): name for name in law.parameters}


def base_of(sim, own):
    """(numbers of the elements, what is added to them) of a parameter."""
    value, count = sim.law.parameters[own], sim.mesh.cell_count
    if callable(value):
        return np.zeros(count), value
    values = np.zeros(count)
    for region, number in value.items() if isinstance(value, dict) else [(None, value)]:
        values[slice(None) if region is None else sim.mesh.regions[region]] = number
    return values, 0.0


def regions_of(sim, own):
    """The regions of a parameter that is given by region, else those of the mesh."""
    value = sim.law.parameters.get(own)
    return list(value) if isinstance(value, dict) else list(sim.mesh.regions)


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
