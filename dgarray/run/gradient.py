"""The derivatives of a number that a run gives by what it was given: `Simulation.gradient`."""
from __future__ import annotations

import copy
from dataclasses import replace
from math import prod
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.fourier import Fourier
from ..analysis.tracked_arrays import Tracked, adjoints
from ..mesh.cell_nodes import moved_mesh
from ..physics.dispersion import Dispersion
from ..physics.laws.law import argument
from ..support.wording import choose
from .kept_states import KeptStates
from .medium_numbers import MediumNumbers, of_medium
from .memory import check as check_memory
from .moved_points import MovedPoints, direction_of_points, labelled, points_of, refuse, still_faces
from .named_numbers import NamedNumbers
from .parameter_places import KINDS
from .reverse_methods import reverse_of
from .reverse_records import ReverseRecords
from .run import progress_of
from .tensor_components import check_definite, with_components

RUN = "initial", "points"          # derivatives that are not by a parameter
BESIDE = "time_span", "largest", "areas"          # of records of transforms, which have no derivatives


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
    wrt      {name: kind}, "initial" or what the law's constructor calls a parameter: True or one of `KINDS`
    memory   bytes of the states that may be kept; None: as `KeptStates` says;  progress: as of `Simulation.run`, first of the
             run and then of the way back
    elements   numbers of those whose parameters are asked for; None: of all
    states   the `KeptStates` of the run"""

    def __init__(self, sim, misfit, wrt, until, every, memory=None, progress=None):
        self.misfit, self.until, self.every, self.memory, self.progress = misfit, until, every, memory, progress
        self.elements = None
        check_run(sim)
        if memory is not None and not (isinstance(memory, Real) and bytes_of_state(sim) <= memory < np.inf):
            raise ValueError(f"memory={memory!r} is not allowed; give bytes, at least those of a state, {bytes_of_state(sim)}")
        if not callable(misfit):
            raise ValueError(f"misfit={misfit!r} is not allowed; give a function of the dataset")
        self.reverse = reverse_of(sim.method)
        sim = with_components(sim, [wrt] if isinstance(wrt, str) else wrt if isinstance(wrt, dict | list | tuple) else ())
        self.places = self.reverse.places(sim)
        self.given, self.wrt = sim, checked(sim, wrt, self.places)
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
        return self.given.replace(law=law, method=self.places.method, **self.numbers.changes(), **mesh)

    def gradient(self, more=None):
        """Run forwards and backwards, with parameters that are larger by {name: (place,)}."""
        self.sim = self.changed(more or {})
        self.check()
        dataset = self.forward()
        self.check()          # also of what the run has done
        value, given = self.by_data(dataset)
        return Gradient(self, value, dataset, self.backward(dataset, given))

    def check(self):
        """Raise NotDifferentiable for what has no derivative."""
        self.reverse.check(self.sim.operator, [own for name, own in self.names.items() if self.wrt[name] == "element"])

    def forward(self):
        """The dataset of a run of which some states are kept."""
        start, size = self.sim.project(), bytes_of_state(self.sim)
        self.states = states = KeptStates(size, None if self.memory is None else max(1, int(self.memory // size)))
        plan = self.sim.memory(self.until, self.every, quick=True)
        more = {"states for the way back": (states.most or states.least) * size}
        check_memory(replace(plan, host=plan.host | more), self.sim.backend)
        dataset = self.sim.run(self.until, self.every, progress=self.progress, callback=states.look)
        states.kept[0] = self.start = start
        return dataset

    def by_data(self, dataset):
        """(J, {zone: {name of a variable: derivatives by its values}}) of a dataset, or of a tree of zones."""
        pieces = zones_of(dataset)
        transforms = [name for name, recorder in self.sim.record.items() if isinstance(recorder, Fourier)]
        beside = {f"{name}_{what}" for name in transforms for what in BESIDE}
        leaves = {zone: {name: Tracked(np.asarray(data.values)) for name, data in ds.data_vars.items()
                         if data.dtype.kind in "fc" and name not in beside} for zone, ds in pieces.items()}
        pieces = {zone: ds.assign({name: (ds[name].dims, leaf, ds[name].attrs) for name, leaf in leaves[zone].items()})
                  for zone, ds in pieces.items()}
        followed = pieces[None] if None in pieces else xr.DataTree.from_dict({str(zone): ds for zone, ds in pieces.items()})
        found = self.misfit(followed)
        found = found.data if isinstance(found, xr.DataArray) else found
        if not isinstance(found, Tracked) or found.ndim or found.dtype.kind != "f":
            what = (f"has the shape {found.shape} and the type {found.dtype}" if isinstance(found, Tracked) else
                    f"is {found!r}, which does not depend on the run")
            raise ValueError(f"the misfit {what}; it must be one real number, made from the dataset by NumPy's functions")
        if not np.isfinite(found.value):
            raise ValueError(f"the misfit is {float(found.value)}; it must be finite")
        return float(found.value), {zone: dict(zip(own, adjoints(found, list(own.values())))) for zone, own in leaves.items()}

    def backward(self, dataset, given):
        """{name: derivatives}, from those by the data."""
        operator, times, parameters = self.sim.operator, self.states.times, tuple(self.names.values())
        points = None
        if "points" in self.wrt:
            points = MovedPoints(operator, {own: self.base[name].beside for name, own in self.names.items()},
                                 lambda moved: moved.state(moved.project(self.sim.initial, 0.0)))
        by_node = {own: operator.law.parameters[own] for name, own in self.names.items() if self.wrt[name] == "node"}
        steps = self.reverse.steps(operator, parameters, self.elements, points, by_node)
        last = len(times) - 1
        records = ReverseRecords(steps.views, self.sim.record, times, {
            name: each for own in given.values() for name, each in own.items()}, self.places, steps.found, points)
        times_kept = next(iter(zones_of(dataset).values()))["time"].values
        snapshots = {int(np.argmin(np.abs(np.array(times) - t))): i for i, t in enumerate(times_kept)}

        def look(step, state):
            records.add(step, state, steps)
            if step in snapshots:
                for cells, q in steps.views.of_snapshot(given, snapshots[step]):
                    records.sight.add(cells, q, steps, own=True)
        with_states = steps.needs_states or records.need_states
        visited = self.states.backwards(operator, steps.needs_states and steps.reads_stages) if with_states else (
            (n, None, None) for n in reversed(range(last + 1)))
        with progress_of(self.progress, times[-1], None) as progress:
            for step, state, inside in visited:
                if step < last:
                    steps.step(inside if steps.reads_stages else state, times[step], self.states.steps[step][1])
                    if progress is not None:
                        progress.update(times[-1] - times[step], self.states.steps[step][1], last - step)
                look(step, state)
        found, by_parameters = steps.adjoint, steps.by_parameters
        by_points = points and points.by_points(points.by_nodes(found), still_faces(self.sim))
        every = {"initial": [*found.values()], "points": [by_points]}
        every |= {name: [by_parameters[own]] for name, own in self.names.items()}
        for name in self.wrt:
            if not all(np.isfinite(each).all() for each in every[name]):
                raise ValueError(f"the derivatives by {name} are not finite: somewhere the misfit, the law or a condition has "
                                 "none, as the logarithm of 0")
        result = {name: self.of_parameter(name, by_parameters[own]) for name, own in self.names.items()}
        if "initial" in self.wrt:          # as plain arrays for the Taylor test, and as a dataset
            self.initial, result["initial"] = steps.views.initial(self.sim, found)
        if points:
            result["points"] = labelled(self.given.mesh, by_points, "derivative by the points of the mesh")
        return {name: result[name] for name in self.wrt}

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
                start = {key: size_of(q) * random.uniform(-1, 1, q.shape) for key, q in as_dict(self.start).items()}
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
            found = {key: q + start[key] for key, q in as_dict(sim.project()).items()}
            sim.start = found if isinstance(self.start, dict) else found["q"]
        return float(self.misfit(sim.run(self.until, self.every)))


def zones_of(dataset):
    """{zone: dataset} of a tree, {None: dataset} of a dataset."""
    if isinstance(dataset, xr.Dataset):
        return {None: dataset}
    return {name: node.to_dataset() for name, node in dataset.children.items()}


def check_run(sim):
    """Raise ValueError for a simulation that has no derivatives."""
    if sim.ranks is not None:
        raise ValueError("gradients are computed by one process; start one, or give ranks=1")
    if sim.backend.name != "numpy":
        raise ValueError(f"gradients are computed with backend='numpy', not with {sim.backend.name!r}")


def checked(sim, wrt, places):
    """What derivatives are asked for, {name: kind}. Raises ValueError where there are none; places: of parameters."""
    if not isinstance(wrt, str | dict | list | tuple):
        raise ValueError(f"wrt={wrt!r} is not allowed; give a name, several in a list, or {{name: kind}}")
    if not isinstance(wrt, str) and not all(isinstance(name, str) for name in wrt):
        raise ValueError(f"wrt={wrt!r} is not allowed; names are texts")
    wrt = {wrt: True} if isinstance(wrt, str) else dict(wrt) if isinstance(wrt, dict) else dict.fromkeys(wrt, True)
    allowed = (*RUN, *own_names(sim.law))
    if sim.law.laws is not None and wrt.keys() - {"initial"}:
        raise ValueError(f"wrt={', '.join(wrt)} is not allowed with laws by region, {', '.join(map(str, sim.law.laws))}, where "
                         "derivatives are by the initial state alone; give one law whose parameters are by region, "
                         "{region: number}")
    for name, kind in wrt.items():
        if "." in str(name):          # a number of a medium, see `MediumNumbers`, or of a source or condition, `NamedNumbers`
            if not places.numbers:
                raise ValueError(f"wrt={name!r} is not allowed with {sim.method!r}, which has mirrors and sponges at its sides "
                                 "and no source; give one of: " + ", ".join(allowed))
            kinds = KINDS if of_medium(sim.law, name) else ("number",)
        else:
            holders = *(argument(sim.law, each) for each in sim.law.dispersive), "source", "BOUNDARY"
            choose("wrt", name, allowed, f" for {sim.law!r}; derivatives are by", tuple(f"'{each}.NUMBER'" for each in holders))
            kinds = () if name in RUN else KINDS
        if kind in KINDS and kind in kinds and kind not in places.kinds:
            raise ValueError(f"wrt={{{name!r}: {kind!r}}} is not allowed with {sim.method!r}, which works on grids; give "
                             + ", ".join(map(repr, places.kinds)) + places.advice)
        if kind is not True and kind not in kinds:
            raise ValueError(f"wrt={{{name!r}: {kind!r}}} is not allowed; give " + ", ".join(["True", *map(repr, kinds)]))
        own = own_names(sim.law).get(name)
        if name == "points":
            refuse(sim)
        if kind == "region" and not regions_of(sim, own):
            raise ValueError(f"wrt={{{name!r}: 'region'}} is not allowed: {sim.mesh!r} has no regions; take 'number' or "
                             "'element', or mesh.with_regions(...)")
    if not wrt:
        raise ValueError(f"wrt={wrt!r} asks for nothing; give at least one of: {', '.join(allowed)}")
    return wrt


def own_names(law):
    """{what the law's constructor calls a parameter: its own name}."""
    return {argument(law, name): name for name in law.parameters}


def regions_of(sim, own):
    """The regions of a parameter that is given by region, else those of the mesh."""
    value = sim.law.parameters.get(own)
    return list(value) if isinstance(value, dict) else list(sim.mesh.regions)


def bytes_of_state(sim):
    """Of a state of a simulation."""
    return sum(map(prod, sim.operator.unknowns.values())) * sim.backend.dtype.itemsize


def as_dict(arrays):
    """Plain arrays of a state by their names."""
    return arrays if isinstance(arrays, dict) else {"q": arrays}


def size_of(values):
    """The largest absolute value; 1 where all are 0."""
    return float(np.abs(values).max()) or 1.0
