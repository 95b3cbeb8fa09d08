"""The run: initial state, time steps, checks, snapshots, and the report at the end."""
import json
import time
import warnings
from math import ceil, isfinite
from numbers import Real
from threading import Lock

import numpy as np

from . import backends
from .analysis.norms import l2_error
from .analysis.totals import totals
from .fluxes import upwind
from .laws.law import shown
from .names import choose
from .output import Layout, Store, check_path
from .stepping import STEPPERS, registers, step
from .trace import call

OPTIONS = ("mesh", "law", "method", "boundary", "initial", "flux", "source", "exact", "until", "every", "backend", "kernels",
           "dtype", "threads", "stepper", "cfl", "dt", "case", "results")

EXAMPLES = {"mesh": "dgarray.rectangle()", "law": "dgarray.Maxwell(dim=2)", "method": "dgarray.NodalDG(order=4)"}


class SolutionError(RuntimeError):
    """The solution went bad: a value is not finite.  Names time, step, variable, element (the file's number) and centre."""


class Simulation:
    """One problem: a law on a mesh by a method, with boundary conditions and an initial state.

    mesh, law, method     e.g. read_mesh("cavity.msh"), Maxwell(dim=3), NodalDG(order=4)
    boundary              {name: condition}, or one condition for every boundary face; "default" stands for all others
    initial               function f(x) or f(x, t) -> tuple of components at t = 0
    flux                  numerical flux, a function of the law: upwind (default), central, rusanov
    source                f(x, t) or f(q, x, t) -> tuple, added to the right-hand side of the law
    exact                 f(x, t) -> tuple, for errors
    until, every          end of the run and interval between snapshots, unless `run` gives them
    backend, kernels, dtype, threads   see `dgarray.backends.get`
    stepper               "lsrk54" (default), "rk4" or "ssp33"
    cfl, dt               time step as a share of the largest stable one, or fixed by hand
    case, results         the case's name, and a function (dataset) -> dict of numbers for the report

    Raises ValueError where something does not exist or does not fit.
    """

    def __init__(self, mesh, law, method, boundary=None, initial=None, *, flux=None, source=None, exact=None, until=None,
                 every=None, backend="auto", kernels=None, dtype="float64", threads=None, stepper="lsrk54", cfl=0.9, dt=None,
                 case=None, results=None):
        given = locals()
        self.options = {name: given[name] for name in OPTIONS}
        self.mesh, self.law, self.method = mesh, law, method
        self.initial = initial if initial is not None else zero_state(law)
        self.stepper = STEPPERS[choose("stepper", stepper, STEPPERS)]
        for name, value, attribute in (("mesh", mesh, "cells"), ("law", law, "variables"), ("method", method, "discretise")):
            if not hasattr(value, attribute) or isinstance(value, type):
                raise ValueError(f"{name}={value!r} is not allowed; give a {name}, e.g. {EXAMPLES[name]}")
        missing = [name for name in ("dim", "variables", "flux", "wave_speed") if not getattr(law, name, None)]
        if missing:
            raise ValueError(f"the law {type(law).__name__} has no {', '.join(missing)}; "
                             "a law needs dim, variables, flux, wave_speed")
        for name in ("cfl", "dt", "until", "every"):
            if given[name] is not None:
                positive(name, given[name])
        for name in ("initial", "source", "exact", "flux"):
            if given[name] is not None and not callable(given[name]):
                raise ValueError(f"{name}={given[name]!r} is not allowed; it must be a function"
                                 + (" such as dgarray.upwind" if name == "flux" else " of x and t"))
        if cfl > 1 and dt is None:
            warnings.warn(f"cfl={cfl} is above 1: the run will be unstable", stacklevel=2)
        method.check(mesh, law, boundary, flux, source)
        self.backend = backends.get(backend, kernels, dtype, threads)
        self.report = None
        self._operator, self._running = None, Lock()

    def __repr__(self):
        return (f"Simulation({self.options['case'] or self.law!r}\n  mesh     {self.mesh!r}\n  law      {self.law!r}\n"
                f"  method   {self.method!r}\n  backend  {self.backend!r}\n  stepper  {self.stepper.name}, "
                f"cfl {self.options['cfl']})")

    def replace(self, **changes):
        """A new simulation with some of the arguments changed."""
        for name in changes:
            choose("option", name, OPTIONS)
        return Simulation(**(self.options | changes))

    @property
    def operator(self):
        """The discretised problem on the backend, built on first use and anew by every run."""
        if self._operator is None:
            self._operator = self._discretised()
        return self._operator

    def _discretised(self):
        o = self.options
        return self.method.discretise(self.mesh, self.law, o["boundary"], self.backend, o["flux"], o["source"])

    def layout(self, until=None, every=None):
        """What the dataset holds besides times and values; every input of the run is an attribute."""
        defaults = {"initial": self.initial, "flux": self.options["flux"] or upwind}
        inputs = self.options | defaults | {"until": until, "every": every}
        attrs = {name: described(value) for name, value in inputs.items() if value is not None and name != "mesh"}
        attrs |= {"mesh": self.mesh.source, "mesh_notes": list(self.mesh.notes), "backend": self.backend.name,
                  "kernels": self.backend.kernels, "threads": self.backend.threads, "cell_type": self.mesh.cell_type}
        return Layout(self.mesh.dim, self.method.order, self.mesh.points, self.mesh.cells, self.mesh.numbers,
                      self.law.variables, dict(self.law.long_names), dict(self.law.units), attrs, self.mesh.regions,
                      self.mesh.boundaries)

    def run(self, until=None, every=None, out=None, overwrite=False, progress=None):
        """Run to the time `until` and return an xarray.Dataset of the snapshots, dims (time, element, node).

        every      interval between snapshots; by default the first and the last state are kept
                   The functions given are evaluated anew by every run.
        out        folder of a zarr store that snapshots are streamed to; overwrite: replace an existing one
        progress   object with update(t, dt, steps), called after every step
        Raises SolutionError where a value is not finite, the snapshots before stay in the store; ValueError for bad times and
        an output that exists; RuntimeError if this simulation is running already."""
        if not self._running.acquire(blocking=False):
            raise RuntimeError("this simulation is running already, in another thread; make another one with replace()")
        try:
            return self._run(until, every, out, overwrite, progress)
        finally:
            self._running.release()

    def _run(self, until, every, out, overwrite, progress):
        until = self.options["until"] if until is None else until
        every = self.options["every"] if every is None else every
        positive("until", until)
        if every is not None:
            positive("every", every)
        if out is not None:
            check_path(out, overwrite)
        began = time.perf_counter()
        operator = self._operator = self._discretised()
        states, k, begin = self._prepared(operator)
        setup, clock = time.perf_counter() - began, Clock()
        with Store(self.layout(until, every), out, self.backend.dtype, overwrite) as store:
            store.append(0.0, operator.host(states[0]))
            t, steps, dt, kept, usual = 0.0, 0, 0.0, 0.0, np.inf
            for target in snapshot_times(until, every):
                while t < target:
                    with clock("time step"):
                        largest = self._largest_step(operator, states[0], t, steps, kept)
                    usual = usual if isfinite(usual) else largest
                    if largest < 1e-6 * usual or t + largest == t:
                        raise SolutionError(f"the time step has fallen from {usual:.3g} to {largest:.3g} at t = {t:.6g} "
                                            f"(step {steps}): the wave speed grows without bound{last_snapshot(kept)}")
                    remaining = max(1, ceil((target - t) / largest * (1 - 1e-12)))
                    dt = (target - t) / remaining
                    with clock("stages"):
                        states = step(operator, self.stepper, states, k, t, dt)
                    t, steps = (t + dt if remaining > 1 else target), steps + 1
                    with clock("finite check"):
                        finite = operator.finite(states[0])
                    if not finite:
                        self._check(operator.host(states[0]), t, steps, kept)
                    if progress is not None:
                        progress.update(t, dt, steps)
                with clock("snapshots"):
                    last = operator.host(states[0])
                    store.append(t, last)
                    kept = t
            dataset = store.dataset()
        self.report = self._report(begin, last, t, dt, steps, setup, clock, dataset)
        return dataset

    def _prepared(self, operator):
        """The arrays of the run with the initial state in place and all kernels compiled, and the totals at t = 0."""
        first = operator.project(self.initial)
        if not np.isfinite(first).all():
            raise ValueError("the initial state is not finite")
        if self.options["exact"] is not None:
            some = tuple(self.mesh.centroids[:2].T)
            operator.tables.physics.checked(call(self.options["exact"], dict(x=some, t=0.0), "exact solution"),
                                            "the exact solution", self.options["exact"])
        arrays, with_k = registers(self.stepper)
        states = [operator.state(first), *(operator.zeros() for _ in range(arrays - 1))]
        k = operator.zeros() if with_k else None
        # A step of length zero and the checks compile the kernels; then the state is set again, for the step may round.
        states = step(operator, self.stepper, states, k, 0.0, 0.0)
        self._largest_step(operator, states[0], 0.0, 0, None)
        operator.finite(states[0])
        states[0][...] = operator.state(first)
        return states, k, totals(operator.tables, first)

    def _largest_step(self, operator, state, t, steps, kept):
        """The step to take at most; SolutionError where the wave speed is not finite."""
        if self.options["dt"] is not None and steps:
            return self.options["dt"]
        stable = operator.max_dt(state, t, self.stepper)
        if not stable > 0:
            raise SolutionError(f"the wave speed is not finite at t = {t:.6g} (step {steps}){last_snapshot(kept)}")
        if self.options["dt"] is None:
            return self.options["cfl"] * stable
        if kept is not None and self.options["dt"] > stable:
            warnings.warn(f"dt={self.options['dt']:.6g} is above the largest stable step, {stable:.6g}", stacklevel=4)
        return self.options["dt"]

    def _check(self, q, t, steps, kept):
        """Raise SolutionError naming the first value of q (variable, node, element) that is not finite."""
        bad = np.argwhere(~np.isfinite(q.transpose(2, 0, 1)))
        if len(bad):
            element, variable, _ = bad[0]
            centre = ", ".join(f"{c:.6g}" for c in self.mesh.centroids[element])
            raise SolutionError(
                f"{self.law.variables[variable]} is not finite at t = {t:.6g} (step {steps}) in element "
                f"{self.mesh.numbers[element]} with centre ({centre}); "
                f"{len(np.unique(bad[:, 0]))} elements are affected{last_snapshot(kept)}")

    def _report(self, begin, last, t, dt, steps, setup, clock, dataset):
        o, evaluations, wall = self.options, steps * len(self.stepper.stages), clock.total - clock.seconds.get("snapshots", 0.0)
        points, cells, order = self.mesh.points, self.mesh.cells, self.method.order
        errors = None
        if o["exact"] is not None:
            each = l2_error(last.astype(float), o["exact"], t, points, cells, order)
            errors = dict(zip(self.law.variables, map(float, each))) | {"total": float(np.sqrt(np.sum(each ** 2)))}
        end = totals(self.operator.tables, last)
        return {
            "case": o["case"], "method": repr(self.method), "law": repr(self.law), "order": order,
            "backend": self.backend.name, "kernels": self.backend.kernels, "dtype": str(self.backend.dtype),
            "threads": self.backend.threads, "elements": len(cells), "dofs": last.size, "steps": steps, "dt": dt,
            "time": t, "rhs_evaluations": evaluations, "wall_s": wall, "setup_s": setup,
            "dof_updates_per_s": last.size * evaluations / wall, "l2_error": errors,
            "conserved": {name: {"initial": begin[name], "final": end[name]} for name in begin},
            "results": numbers(o["results"](dataset)) if o["results"] else {},
            "shares": {name: seconds / clock.total for name, seconds in clock.seconds.items()}}


class Clock:
    """Seconds spent by name: `with clock("stages"): ...`."""

    def __init__(self):
        self.seconds, self._name, self._start = {}, None, 0.0

    def __call__(self, name):
        self._name = name
        return self

    def __enter__(self):
        self._start = time.perf_counter()

    def __exit__(self, *error):
        self.seconds[self._name] = self.seconds.get(self._name, 0.0) + time.perf_counter() - self._start

    @property
    def total(self):
        return sum(self.seconds.values())


def positive(name, value):
    """Raise ValueError unless value is a positive finite number."""
    if not (isinstance(value, Real) and value > 0 and isfinite(value)):
        raise ValueError(f"{name}={value!r} is not allowed; it must be a positive number")


def numbers(results):
    """What a case reports, as plain numbers and lists; ValueError if it is no dict."""
    if not isinstance(results, dict):
        raise ValueError(f"the case's results are {results!r}; they must be a dict")
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in results.items()}


def last_snapshot(t):
    """Where to go on from, for messages."""
    return "" if t is None else f"; the last snapshot is of t = {t:.6g}"


def snapshot_times(until, every):
    """every, 2 every, ... up to `until`, and `until` itself."""
    if every is None:
        return [until]
    times = [i * every for i in range(1, ceil(until / every * (1 - 1e-12)))]
    return [*times, until]


def zero_state(law):
    """The initial state 0."""
    def zero(x):
        return (0.0,) * len(law.variables)
    return zero


def described(value):
    """A value of an input as an attribute: numbers and text as they are, functions by name, objects by their repr."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return json.dumps({str(k): described(v) for k, v in value.items()})
    return shown(value)
