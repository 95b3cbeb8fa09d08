"""The derivatives of a number that a run gives by what it was given: `Simulation.gradient`."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..analysis.tracked_arrays import Tracked, adjoints
from ..methods.dg.method import DG
from ..physics.laws.law import argument
from ..spaces.by_element import ByElement
from ..support.wording import choose
from .reverse_records import ReverseRecords
from .reverse_steps import ReverseSteps

if TYPE_CHECKING:
    pass

KINDS = ("number", "region", "element")          # of derivatives by a parameter
BESIDE = ("_time_span", "_largest", "_areas")          # of records of transforms, which have no derivatives
KEPT = 8          # states of a run that are kept at least, before every other one is let go


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
    steps    [(time after the step, its length)] of the run;  kept: {number of steps: plain arrays} of some of its states"""

    def __init__(self, sim, misfit, wrt, until, every):
        self.misfit, self.until, self.every, self.steps, self.kept = misfit, until, every, [], {}
        check_run(sim)
        if not callable(misfit):
            raise ValueError(f"misfit={misfit!r} is not allowed; give a function of the dataset")
        self.given, self.wrt = sim, checked(sim, wrt)
        self.names = {name: own_names(sim.law)[name] for name in self.wrt if name != "initial"}
        for name, own in self.names.items():
            if self.wrt[name] is True:
                value = sim.law.parameters[own]
                self.wrt[name] = "region" if isinstance(value, dict) else "element" if callable(value) else "number"
        known, space = {}, sim.method.space(sim.problem)
        self.base = {name: ByElement(space, *base_of(sim, own), known) for name, own in self.names.items()}

    def changed(self, more):
        """The simulation with parameters that are larger by {name: (element,)}, in the same absorbing layers."""
        law = copy.copy(self.given.law)
        law.of_layers = self.given.law
        law.parameters = law.parameters | {self.names[name]: base.plus(more[name]) if name in more else base
                                           for name, base in self.base.items()}
        return self.given.replace(law=law)

    def gradient(self, more=None):
        """Run forwards and backwards, with parameters that are larger by {name: (element,)}."""
        self.sim, self.steps, self.kept = self.changed(more or {}), [], {}
        dataset = self.forward()
        value, given = self.by_data(dataset)
        return Gradient(self, value, dataset, self.backward(dataset, given))

    def forward(self):
        """The dataset of a run of which some states are kept."""
        start, stride = self.sim.project(), 1

        def keep(state):
            nonlocal stride
            self.steps.append((state.t, state.dt))
            if state.step % stride == 0:
                self.kept[state.step] = state.q
                if len(self.kept) > max(KEPT, 2 * stride):
                    stride *= 2
                    self.kept = {step: q for step, q in self.kept.items() if step % stride == 0}
        dataset = self.sim.run(self.until, self.every, callback=keep)
        self.kept[0] = start
        return dataset

    def by_data(self, dataset):
        """(J, {zone: {name of a variable: derivatives by its values}}) of a dataset, or of a tree of zones."""
        pieces = zones_of(dataset)
        leaves = {zone: {name: Tracked(np.asarray(data.values)) for name, data in ds.data_vars.items()
                         if data.dtype.kind in "fc" and not str(name).endswith(BESIDE)} for zone, ds in pieces.items()}
        pieces = {zone: ds.assign({name: (ds[name].dims, leaf, ds[name].attrs) for name, leaf in leaves[zone].items()})
                  for zone, ds in pieces.items()}
        followed = pieces[None] if None in pieces else xr.DataTree.from_dict({str(zone): ds for zone, ds in pieces.items()})
        found = self.misfit(followed)
        found = found.data if isinstance(found, xr.DataArray) else found
        if not isinstance(found, Tracked) or found.ndim or found.dtype.kind != "f":
            what = (f"has the shape {found.shape} and the type {found.dtype}" if isinstance(found, Tracked) else
                    f"is {found!r}, which does not depend on the run")
            raise ValueError(f"the misfit {what}; it must be one real number, made from the dataset by NumPy's functions")
        return float(found.value), {zone: dict(zip(own, adjoints(found, list(own.values())))) for zone, own in leaves.items()}

    def backward(self, dataset, given):
        """{name: derivatives}, from those by the data."""
        operator, times = self.sim.operator, [0.0, *(t for t, _ in self.steps)]
        steps, last = ReverseSteps(operator, tuple(self.names.values())), len(self.steps)
        records = ReverseRecords(operator, self.sim.record, times, {
            name: each for own in given.values() for name, each in own.items()}, steps.found)
        found = {prefix: np.zeros(each.shape) for prefix, (_, each, _) in steps.sets.items()}
        times_kept = next(iter(zones_of(dataset).values()))["time"].values
        snapshots = {int(np.argmin(np.abs(np.array(times) - t))): i for i, t in enumerate(times_kept)}
        zones = operator.zones if None not in given else {None: np.arange(operator.mesh.cell_count)}

        def look(step, arrays):
            records.add(step, arrays, found)
            if step in snapshots:
                for zone, cells in zones.items():
                    own = given[None if zone is None else str(zone)]
                    q = np.stack([own[name][snapshots[step]].T for name in operator.law.variables])
                    records.sight.add(cells, q, found, own=True)
        look(last, self.ahead(operator, steps, last)[-1])
        for first in sorted(self.kept.keys() - {last}, reverse=True):
            states = self.ahead(operator, steps, last - 1, first)
            for step in reversed(range(first, last)):
                state = states.pop()
                for prefix, values in steps.step(state, times[step], self.steps[step][1], found).items():
                    found[prefix] = values
                look(step, state)
            last = first
        every = {"initial": [*found.values()]} | {name: [steps.found[own]] for name, own in self.names.items()}
        for name in self.wrt:
            if not all(np.isfinite(each).all() for each in every[name]):
                raise ValueError(f"the derivatives by {name} are not finite: somewhere the misfit, the law or a condition has "
                                 "none, as the logarithm of 0")
        return {name: self.of_initial(found, steps) if name == "initial" else
                self.of_parameter(name, steps.found[self.names[name]]) for name in self.wrt}

    def ahead(self, operator, steps, last, first=None):
        """The states after each step from `first` to `last`, as `ReverseSteps` has them, computed again from one that was
        kept; first: by default the nearest of these."""
        first = max(step for step in self.kept if step <= last) if first is None else first
        state, found = operator.state(self.kept[first]), []
        for step in range(first, last + 1):
            found.append(steps.arrays(state))
            if step < last:
                t = self.steps[step - 1][0] if step else 0.0
                state = operator.advance(state, t, self.steps[step][1])
        return found

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

    def of_initial(self, found, steps):
        """The derivatives by the initial values at the nodes."""
        operator, parts = self.sim.operator, {}
        for prefix, (name, each, _) in steps.sets.items():
            parts[name] = found[prefix]
            if each.tables.basis.modal:          # by the values at the nodes, N of modes
                matrix = np.linalg.pinv(each.tables.basis.reference.nodal)
                parts[name] = matrix @ (matrix.T @ found[prefix])
        # By the state itself.
        self.initial = operator.merged({name: found[prefix] for prefix, (name, _, _) in steps.sets.items()})
        dataset = self.sim.dataset(operator.merged(parts))
        return dataset.isel(time=0, drop=True)

    # Whether it is right.

    def taylor_test(self, gradient, step, random):
        """See `Gradient.check`."""
        slope, directions, start = 0.0, {}, None
        for name in self.wrt:
            found = getattr(gradient, name)
            if name == "initial":
                start = {key: size_of(q) * random.uniform(-1, 1, q.shape) for key, q in as_dict(self.kept[0]).items()}
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
        sim.lengths = [dt for _, dt in self.steps]
        if start:
            found = {key: q + start[key] for key, q in as_dict(self.kept[0]).items()}
            sim.start = found if isinstance(self.kept[0], dict) else found["q"]
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
    if not isinstance(sim.method, DG):
        raise ValueError(f"gradients are for discontinuous Galerkin, not for {sim.method!r}; take NodalDG, ModalDG or TensorDG")
    if sim.law.laws is not None:
        raise ValueError(f"gradients are for one law, not for laws by region, {', '.join(sim.law.laws)}; give one law whose "
                         "parameters are by region, {region: number}")


def checked(sim, wrt):
    """What derivatives are asked for, {name: kind}. Raises ValueError where there are none."""
    if not isinstance(wrt, str | dict | list | tuple):
        raise ValueError(f"wrt={wrt!r} is not allowed; give a name, several in a list, or {{name: kind}}")
    wrt = {wrt: True} if isinstance(wrt, str) else dict(wrt) if isinstance(wrt, dict) else dict.fromkeys(wrt, True)
    allowed = ("initial", *own_names(sim.law))
    for name, kind in wrt.items():
        choose("wrt", name, allowed, f" for {sim.law!r}; derivatives are by")
        if kind is not True and (name == "initial" or kind not in KINDS):
            raise ValueError(f"wrt={{{name!r}: {kind!r}}} is not allowed; give "
                             + ("True" if name == "initial" else f"True, {', '.join(map(repr, KINDS))}"))
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
    value = sim.law.parameters[own]
    return list(value) if isinstance(value, dict) else list(sim.mesh.regions)


def as_dict(arrays):
    """Plain arrays of a state by their names."""
    return arrays if isinstance(arrays, dict) else {"q": arrays}


def size_of(values):
    """The largest absolute value; 1 where all are 0."""
    return float(np.abs(values).max()) or 1.0
