"""One problem: a law on a mesh by a method; its run, and what can be asked of it."""
from __future__ import annotations

import gc
import time
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from .. import backends
from ..mesh import Grid, Mesh
from ..methods.distributed_grid import OnGridParts
from ..methods.distributed_mesh import OnMeshParts
from ..methods.method import Method
from ..methods.problem import Problem
from ..output import ZonedLayout, check_path, store_of
from ..output.layouts import layout_of
from ..output.pictures import problem_picture
from ..physics.fluxes import flux_used
from ..physics.laws import Law, law_of
from ..physics.laws.law import shown
from ..support.html_table import table
from ..support.keywords import Keywords
from ..support.wording import choose
from .arguments import (
    check_callback,
    check_cfl,
    check_compression,
    check_exact,
    check_functions,
    check_helpers,
    check_initial,
    check_numbers,
    check_out,
    check_positive_or_none,
    check_problem,
    check_ranks_given,
    check_records,
    check_until,
    check_variables,
)
from .decayed import decayed, end_of
from .failure import check_dump
from .gradients.gradient import Derivatives, Gradient
from .linear_operator import linear_operator
from .measured_memory import known, measured
from .memory import check as check_memory
from .provenance import provenance
from .rank_consistency import agree, of_problem
from .rank_part import backend_of_rank, check_ranks, own_part
from .ranks import ranks as started_ranks
from .report import report
from .restart import checkpoint_of, compression_of, described
from .run import Run, progress_of
from .steps import steps
from .time_loop import snapshot_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    import xarray as xr
    from scipy.sparse.linalg import LinearOperator

    from .memory import Plan
    from .steps import State

OPTIONS = ("mesh", "law", "method", "boundary", "initial", "flux", "source", "exact", "until", "every", "backend", "kernels",
           "dtype", "threads", "ranks", "stepper", "cfl", "dt", "steady", "record", "case", "results")
LARGE = 1 << 20          # bytes of a state that are worth the search for what nobody needs any more, a quarter of a second



class Simulation(Keywords):
    """One problem: a law on a mesh by a method, with boundary conditions and an initial state.

    mesh, law, method     e.g. read_mesh("cavity.msh"), Maxwell(dim=3), NodalDG(order=4); a Grid for Hermite(order=3)
                          TensorDG also takes laws by region, {region: law}
    boundary              {name: condition}, or one condition for every boundary face; "default" stands for all others
    initial               function f(x) or f(x, t) -> tuple of components at t = 0; by default zero
    flux                  numerical flux, a function of the law: upwind (default), central, rusanov, hll, hllc, roe, hlld, or
                          one of the last three with _shock_stable after its name
    source                f(x, t) or f(q, x, t) -> tuple, added to the right-hand side of the law; by default none
    exact                 f(x, t) -> tuple, for errors; by default none
    until, every          end of the run, a time or `decayed(...)`, and interval between snapshots, in units of time, unless
                          `run` gives them
    backend               "numpy", "cupy" (a GPU), "jax" (programs compiled by XLA for the CPU), or
                          "auto" (default): the GPU if there is one
    kernels               "fused": generated kernels; "array": array expressions; by default fused where the method has them
    dtype                 "float64" (default) or "float32"
    threads               number of threads of a CPU, by default all processors; of each rank its share of them
    ranks                 None (default): all processes that an MPI launcher has started compute together, each on a part of the
                          mesh; 1: this one computes alone
    stepper               of DG "lsrk54" (default), "rk4", "ssp33", "ssp54"; for orders 0 and 1 also "rk2", "ssp22"
    cfl                   time step as a share of the largest stable one, above 0, by default 0.9; above 1 it warns
    dt                    time step in units of time, fixed by hand instead
    steady                end before `until` where a step changes every variable by at most this share of its largest value
    record                {name: recorder}: what is kept besides snapshots, e.g. {"receivers": dgarray.Points([(0, 0)])}
    case, results         the case's name, and a function (dataset) -> dict of numbers for the report

    Raises ValueError where something does not exist or does not fit.
    """

    def __init__(self, mesh: Mesh | Grid, law: Law | dict[str, Any], method: Method, boundary: Any = None,
                 initial: Callable | None = None, *, flux: Callable | None = None, source: Callable | None = None,
                 exact: Callable | None = None, until: float | decayed | None = None, every: float | None = None,
                 backend: str = "auto",
                 kernels: str | None = None, dtype: Any = "float64", threads: int | None = None, ranks: int | None = None,
                 stepper: str | None = None,
                 cfl: float = 0.9, dt: float | None = None, steady: float | None = None,
                 record: dict[str, Any] | None = None, case: str | None = None, results: Callable | None = None):
        given = locals()
        self.options = {name: given[name] for name in OPTIONS}
        self.mesh, self.law, self.method = mesh, law_of(law), method
        self.initial = initial if initial is not None else zero_state(self.law)
        check_problem(mesh, self.law, method)
        check_numbers(cfl, dt=dt, until=end_of(until), every=every, steady=steady)
        fields = {"initial": initial, "source": source, "exact": exact}
        check_functions(fields, results, flux)
        check_variables(self.law, fields)
        self.stepper = method.stepper(stepper)
        check_cfl(cfl, dt, method)
        self.problem = Problem(mesh, self.law, boundary, flux, source)
        method.check(self.problem)
        check_ranks_given(ranks)
        self.ranks = None if ranks == 1 else started_ranks()
        if self.ranks is not None:
            check_ranks(self.ranks, method, mesh)
        self.record = check_records(record, self.law, mesh)
        check_initial(self.initial, mesh, self.law)
        backends.check(backend, kernels, dtype, threads)
        if backend == "jax" and not method.programs:
            raise ValueError(f"backend='jax' runs methods with programs, as dgarray's own have, not {method!r}; take "
                             "backend='numpy'")
        # "auto" looks for a GPU when the backend is first needed: until then `replace` may give another.
        chosen = backend != "auto" or threads is not None or self.ranks is not None
        self._backend = self._chosen_backend() if chosen else None
        self.report: Any = None
        self.call = None          # the command line that runs it, None from Python
        self._operator, self._running = None, Lock()
        # Where given: the lengths of the steps, the first state as plain arrays and the time at which the run begins from it.
        self.lengths, self.start, self.began = None, None, 0.0

    def __repr__(self):
        laws = "".join(f"  {name:<8} {text}\n" for name, text in self._laws())
        return (f"Simulation({self.options['case'] or repr(self.options['law'])}\n  mesh     {self.mesh!r}\n{laws}"
                f"  method   {self.method!r}\n  backend  {self.backend!r}\n  stepper  {self.stepper.name}, "
                f"cfl {self.options['cfl']})")

    def _laws(self):
        """The law, or one of each region: pairs of a name and a text."""
        law = self.options["law"]
        return [(f"law of {region}", repr(each)) for region, each in law.items()] if isinstance(law, dict) else [
            ("law", repr(law))]

    def _repr_html_(self):
        """The simulation as a table for notebooks, with those of its parts inside."""
        o = self.options
        by_region = isinstance(o["law"], dict)
        rows = [("mesh", self.mesh), *(self._laws() if by_region else [("law", self.law)]), ("method", self.method),
                ("backend", repr(self.backend)), ("stepper", f"{self.stepper.name}, cfl {o['cfl']}")]
        rows += [(f"boundary {name or 'without a name'}", text) for name, text in self._conditions().items()]
        rows += [(name, shown(o[name])) for name in ("initial", "flux", "source", "exact", "until", "every", "dt", "steady")
                 if o[name] is not None]
        rows += [(f"record {name}", repr(recorder)) for name, recorder in self.record.items()]
        return table(f"Simulation {o['case'] or ''}", rows)

    def replace(self, **changes: Any) -> Simulation:
        """A new simulation with some of the arguments changed."""
        for name in changes:
            choose("option", name, OPTIONS)
        return Simulation(**(self.options | changes))

    @property
    def backend(self) -> Any:
        """Where arrays live and which kernels work on them, see `dgarray.backends.get`."""
        if self._backend is None:
            self._backend = self._chosen_backend()
        return self._backend

    def _chosen_backend(self):
        name, kernels, dtype, threads = (self.options[name] for name in ("backend", "kernels", "dtype", "threads"))
        if self.ranks is None:
            return backends.get(name, kernels, dtype, threads)
        return backend_of_rank(self.ranks, name, kernels, dtype, threads)

    @property
    def kernels(self) -> str:
        """The kernels in use: the backend's, or "array" expressions where it has none for the problem."""
        return self.operator.kernels

    @property
    def operator(self) -> Any:
        """The discretised problem on the backend, built on first use and anew by every run."""
        if self._operator is None:
            self._operator = self._discretised()
        return self._operator

    def _discretised(self):
        if self.ranks is None:
            return self.method.discretised(self.problem, self.backend, self.stepper)
        agree(self.ranks, of_problem(self))
        o, mesh = self.options, own_part(self.ranks, self.problem, self.method)
        operator = self.method.discretise(mesh, self.law, o["boundary"], self.backend, o["flux"], o["source"], self.stepper)
        return (OnGridParts if mesh.structured else OnMeshParts)(self.problem, self.method, operator, self.ranks)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """{attribute: value}: versions of the package and the libraries, the mesh's digest, source of the functions given."""
        return provenance(self)

    def layout(self, until: float | decayed | None = None, every: float | None = None, began: Any = None) -> Any:
        """The layout of the dataset, without times and values; every input of the run is an attribute.

        began: more attributes, of when and by which call the run began"""
        defaults = {"initial": self.initial, "stepper": self.stepper.name}
        if self.method.has_flux:
            defaults["flux"] = flux_used(self.options["flux"], self.law)
        inputs = self.options | defaults | {"until": until, "every": every, "record": None}
        attrs = {name: described(value) for name, value in inputs.items() if value is not None and name != "mesh"}
        if layers := getattr(self.mesh, "layers", ()):
            attrs["absorbing_layers"] = [repr(layer) for layer in layers]
        attrs |= {"mesh": self.mesh.source, "mesh_notes": list(self.mesh.notes), "backend": self.backend.name,
                  "kernels": self.kernels, "threads": self.backend.threads, "cell_type": self.mesh.cell_type,
                  "records": {name: type(recorder).__name__ for name, recorder in self.record.items()},
                  **self.provenance, **(began or {})}
        zones = {name: layout_of(method.space(problem), problem.law, attrs)
                 for name, (method, problem) in self.method.zones(self.problem).items()}
        whole = [layout_of(space, self.law, attrs, self.method.derivatives)
                 for space in self.method.space(self.problem).spaces]
        return ZonedLayout(zones, whole) if zones else whole[0]

    def run(self, until: float | decayed | None = None, every: float | None = None, out: str | PathLike | None = None,
            overwrite: bool = False, progress: Any = None, *, restart: bool = False, checkpoint: float | None = 600.0,
            checkpoint_every: float | None = None, live: Any = None, dump_on_error: str | PathLike | None = None,
            compress: str | None = None, callback: Callable | None = None, callback_every: int = 1) -> xr.Dataset | Any:
        """Run to the time `until` and return an xarray.Dataset of the snapshots and records, dims (time, element, node), on a
        grid (time, z, y, x).

        until        end of the run, a time, or `dgarray.decayed(...)`: when fields have left
        every        interval between snapshots; by default the first and the last state are kept
        out          folder of a zarr store that snapshots are streamed to, in a folder that exists; overwrite: replace one
        restart      go on in the store `out` from its last good checkpoint: bit for bit as if the run had not been
                     interrupted, on the same backend, dtype and thread count
        checkpoint   seconds of wall clock between checkpoints (None: none by the clock); checkpoint_every: time of the model
                     between them. Also at the start, at the end, on Ctrl-C, on SIGTERM, and of the last good state
        progress     True to show step, time and time left: a bar on a terminal and in a notebook, elsewhere a line now and
                     then, on stderr; or an object with update(t, dt, steps), called after every step
        live         object with due() and update(q, t), such as `dgarray.output.Live`
        compress     "zstd" to compress the store; by default it is not. One that is gone on with stays as it is
        dump_on_error   .vtu or .png file to write where a value goes bad: the elements around it; on a grid .vti or .png
        callback     function of the `State` after every `callback_every` steps: it may look at state.t and state.q, set
                     state.q, or end the run by state.stop(). What it keeps itself is not in a checkpoint
        The functions given are evaluated anew by every run.
        Raises SolutionError where a value is not finite or not admissible, the last good state is kept; ValueError for bad
        times, an output that exists, a checkpoint of another problem, damaged files that a restart needs, or too little
        memory; OutputError where the output cannot be written; Interrupted (a KeyboardInterrupt) when stopped; RuntimeError
        if this simulation is running already."""
        if not self._running.acquire(blocking=False):
            raise RuntimeError("this simulation is running already, in another thread; make another one with replace()")
        try:
            until = self.options["until"] if until is None else until
            every = self.options["every"] if every is None else every
            check_until(until)
            check_positive_or_none(every=every, checkpoint=checkpoint, checkpoint_every=checkpoint_every)
            if dump_on_error is not None:
                check_dump(dump_on_error, self.mesh)
            check_out(out)
            check_helpers(live, progress)
            check_callback(callback, callback_every)
            check_compression(compress, out)
            if self.ranks is not None:
                agree(self.ranks, {"until": until, "every": every, "out": out and str(out), "overwrite": overwrite,
                                   "restart": restart, "checkpoint_every": checkpoint_every, "compress": compress,
                                   "callback": (callback is None, callback_every)})
            if restart:
                self._operator = None
                compress = compression_of(out, compress)
            resumed = checkpoint_of(self, out, end_of(until)) if restart else None
            if out is not None and resumed is None:
                overwrite = overwrite or restart
                self.once(check_path, out, overwrite)
            if self._operator is not None:          # the arrays of the last run are given back first
                large, self._operator = self._operator.dofs * self.backend.dtype.itemsize > LARGE, None
                if large:
                    gc.collect()
            self._check_memory(until, every, out)
            began = time.perf_counter()
            first = self.ranks is None or self.ranks.part == 0          # the rank that shows what goes on
            with progress_of(progress if first else None, end_of(until), self) as progress:
                operator = self._operator = self._discretised()
                check_exact(self.options["exact"], self.mesh, self.law)
                run = Run(self, operator, until, every, out, checkpoint, checkpoint_every, progress, live, dump_on_error,
                          compress, (callback, callback_every))
                result = run(overwrite, resumed)
            self.report = report(self, run, run.ready - began, result)
            return result
        finally:
            self._running.release()

    def gradient(self, misfit: Callable, wrt: Any, until: Any = None, every: float | None = None,
                 memory: float | None = None, progress: Any = None, folder: str | PathLike | None = None,
                 restart: str | PathLike | None = None) -> Gradient:
        """Run, and return a number J that its dataset gives, with its derivatives: a `Gradient` of `dgarray.run.gradients`.

            found = sim.gradient(lambda ds: ((ds.dg.record("mic").p - data) ** 2).sum(), {"sound_speed": "region"})
            found.value, found.sound_speed

        misfit   function of the dataset that returns J, made from records and snapshots by NumPy's and xarray's functions
        wrt      {name: kind}, a name alone or several: "initial", "points" (positions of the mesh's points), or what the law's
                 constructor calls a parameter. The kinds of a parameter: "number" (by one number that is added everywhere),
                 "region" (in each region), "element" (in each element), "node" (at each node of each element); True: as the
                 parameter is given. Also numbers of dispersive media, "eps.strength", and those of a source or condition,
                 "source.strength", "left.amplitude"
        until, every   as of `run`
        memory   bytes for states that are kept for the way back, of each process; by default those of about the root of the
                 number of steps, or 256 MB of them, in a folder as many as three quarters of its disk have room for
        progress as of `run`: first of the run, then of the way back
        folder   where these states are kept in files, which are removed at the end; None: in memory
        restart  store of an earlier run: this one begins at its last checkpoint; "initial" is then the state there, which stays
                 as it is in derivatives by all else
        The derivatives are those of the run's own arithmetic, exact to rounding, with the lengths of its steps held: a discrete
        adjoint, computed backwards in time by the kernels of the run where these are their own transpose, else by transposed
        programs. Between states that are kept, states are computed again. Raises ValueError for what does not exist, and
        NotDifferentiable, a ValueError, where a method has no derivative: limiters, positivity, shock capturing; OutputError
        where states cannot be kept in the folder; Interrupted when stopped, with the run's `dataset`."""
        return Derivatives(self, misfit, wrt, until, every, memory, progress, folder, restart).gradient()

    def _check_memory(self, until, every, out):
        """Raise MemoryError where a run in one process does not fit."""
        if self.ranks is None:
            check_memory(self.memory(until, every, out, quick=True), self.backend)

    def once(self, function: Callable, *arguments: Any) -> Any:
        """Call a function by one process for all ranks; what it raises all raise."""
        if self.ranks is None:
            return function(*arguments)
        return self.ranks.once(function, *arguments)

    def steps(self, until: float | decayed | None = None, every: float | None = None) -> Iterator[State]:
        """The states of a run one by one, the first at t = 0: `State` with t, step, q, dataset() and stop().

        After every step, or where `every` is given at its multiples and at the end; the steps are those of `run`.
        Raises ValueError for bad times and too little memory; while it runs, SolutionError where the state goes bad."""
        until = self.options["until"] if until is None else until
        every = self.options["every"] if every is None else every
        check_until(until)
        check_positive_or_none(every=every)
        if self.ranks is not None:
            agree(self.ranks, {"until": until, "every": every})
        self._check_memory(until, every, True)
        return steps(self, self.operator, until, every)

    # The problem as arrays q[variable, node, element] (modal: mode for node) of the backend's library, in the run's dtype.

    def project(self, f: Callable | None = None, t: float = 0.0) -> Any:
        """The state f(x) or f(x, t) -> tuple on the elements, by default the initial one: q[variable, node, element]."""
        operator = self.operator
        return operator.plain(operator.state(operator.project(self.initial if f is None else f, t)))

    def rhs(self, q: Any, t: float = 0.0) -> Any:
        """dq/dt at the state q and the time t, as an array of the shape of q.

        Raises ValueError for a state of another shape, and for Hermite's method, which has no right-hand side."""
        operator = self.operator
        return operator.plain(operator.rhs(operator.state(operator.checked(q)), t))

    def max_dt(self, q: Any, t: float = 0.0) -> float:
        """The largest stable step at the state q for this simulation's stepper, as `cfl=1` takes it."""
        operator = self.operator
        return operator.largest_step(operator.state(operator.checked(q)), t)

    def dataset(self, q: Any, t: float = 0.0) -> xr.Dataset | Any:
        """The xarray.Dataset of one state: dims (time, element, node), on a grid (time, z, y, x)."""
        operator = self.operator
        store = store_of(self.layout(), dtype=self.backend.dtype)
        store.append(t, operator.snapshot(operator.host(operator.state(operator.checked(q)))))
        return store.dataset()

    def linear_operator(self, t: float = 0.0) -> LinearOperator:
        """q -> rhs(q, t) - rhs(0, t) as a scipy.sparse.linalg.LinearOperator on flat arrays of the host; for linear laws.

        In several zones q holds their arrays one after the other, in the order of `project`.

        Raises ValueError where the right-hand side is not linear in q."""
        return linear_operator(self.operator, self.law, t)

    def plot(self, variable: str | None = None, path: str | PathLike | None = None, ax: Any = None, **options: Any) -> Any:
        """Draw the problem by matplotlib before it runs: the initial state, and the boundaries by name, with their conditions
        in the legend; in 3D the boundary faces and a slice side by side.

        variable   name of a field, or of one that follows from them, such as "mach"; by default the first that varies in space
        path       image file to write (PNG, PDF or SVG), without a window; None draws into `ax` or a new pyplot figure
        ax         matplotlib axes to draw into, in 1D and 2D; a new figure by default
        options    limits=(low, high), mesh=True, cmap=, zoom=, log=, slice="z=0.5" and more: see `output.plot.draw`
        Returns the axes, with a path the path. Raises ValueError for an unknown variable or plane, and a path that cannot be
        written to, ImportError without matplotlib."""
        output = self.dataset(self.project()).dg
        return problem_picture.plot(output, self.mesh, self._conditions(), variable, path, ax, **options)

    def _conditions(self):
        """{name of a boundary, of an interface with a condition, None for faces without a name: text of its condition}."""
        given = self.problem.boundary
        names = [*self.mesh.boundaries, *([] if self.mesh.structured else [None] * bool(len(self.mesh.unnamed)))]
        names += [name for name in getattr(self.mesh, "interfaces", ()) if name in given]
        return {name: shown(given.get(name, given.get("default"))) for name in names}

    def memory(self, until: float | decayed | None = None, every: float | None = None, out: Any = None,
               quick: bool = False) -> Plan:
        """The memory that a run takes, a `dgarray.run.memory.Plan`; snapshots that no output takes are in it.

        It is measured on small parts of the problem: in seconds, and with kernels that are not compiled yet in half a minute.
        On several ranks it is the plan of one process that computes alone.
        quick   measure only if the states and the mesh, which are known, do not tell already whether the run fits; else the
                plan has these alone"""
        if self.ranks is not None:
            return self.replace(ranks=1).memory(until, every, out, quick)
        o = self.options
        until, every = end_of(o["until"] if until is None else until), o["every"] if every is None else every
        check_positive_or_none(until=until, every=every)
        snapshots = 1 + snapshot_count(until, every) if out is None and until else 0
        least, free = self._known_memory.keeping(snapshots), self.backend.free_memory()
        plan = least if quick and least.decides(free) else self._measured_memory.keeping(snapshots)
        return plan.beside(free)

    @cached_property
    def _known_memory(self):
        return known(self)

    @cached_property
    def _measured_memory(self):
        return measured(self)


def zero_state(law):
    """The initial state 0."""
    def zero(x):
        return (0.0,) * len(law.variables)
    return zero
