"""Speed of the package on this machine, against what the machine can do: `dgarray bench`."""
import os
import platform
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from .. import backends
from ..backends.workers import Workers
from ..boundary import pec, wall
from ..fluxes import rusanov
from ..laws import Acoustics, Advection, Euler, Maxwell
from ..mesh import Grid, box, rectangle
from ..methods import Hermite, ModalDG, NodalDG
from ..methods.hermite import VARIANTS
from ..names import choose
from ..output.rates import table
from ..stepping import LSRK54, RK4, Taylor, registers, step
from .held import held
from .roofline import Operation, bound, ceilings, cost, limit, of_the_paper

__all__ = ["bench", "held", "table"]

REFERENCE = {"multiply_add": 109e9, "bandwidth": 50e9}       # of the machine that the targets in ROWS are for
IN_TURNS = 1.5               # s at least for which two problems are stepped in turns; one of a few ms is disturbed by anything


class Row(NamedTuple):
    """A problem that is measured: the name of its mesh; threads None: all; target in DOF updates/s on the reference machine."""

    mesh: str
    law: object
    boundary: object
    order: int
    target: float | None = None
    dtype: str = "float64"
    kernels: str = "fused"
    threads: int | None = None
    method: type = NodalDG
    stepper: object = LSRK54
    flux: object = None
    options: dict = {}


def hermite(law, order, boundary=None, **options):
    """Hermite's method as in Vargas, Chan, Hagstrom & Warburton 2016; the aim is 40 % of the bound by the ceilings."""
    return Row("grid" if boundary is None else "grid with walls", law, boundary, order, None, method=Hermite, stepper=Taylor,
               options=options)


def gas(mesh, order, target, **options):
    """Euler by modal DG with RK4, as in Fuhry, Giuliani & Krivodonova 2014; the targets are measured rates of PyFR 3.1."""
    dim = 3 if "tetrahedra" in mesh else 2
    return Row(mesh, Euler(dim), None, order, target, method=ModalDG, stepper=RK4, flux=rusanov, **options)


ROWS = {
    "Maxwell 3D N=2": Row("tetrahedra", Maxwell(3), pec, 2, 210e6),
    "Maxwell 3D N=3": Row("tetrahedra", Maxwell(3), pec, 3, 190e6),
    "Maxwell 3D N=4": Row("tetrahedra", Maxwell(3), pec, 4, 165e6),
    "Maxwell 3D N=5": Row("tetrahedra", Maxwell(3), pec, 5, 115e6),
    "Maxwell 3D N=3, float32": Row("tetrahedra", Maxwell(3), pec, 3, 1.7 * 190e6, dtype="float32"),
    "Maxwell 3D N=3, 1 thread": Row("tetrahedra", Maxwell(3), pec, 3, threads=1),
    "acoustics 3D N=3": Row("tetrahedra", Acoustics(3), wall, 3, 190e6),
    "Maxwell 2D TM N=3": Row("triangles", Maxwell(2), pec, 3, 250e6),
    "Maxwell 3D N=3, array kernels": Row("tetrahedra", Maxwell(3), pec, 3, 20e6, kernels="array"),
    "Euler 2D p=1": gas("gas triangles", 1, 290e6),
    "Euler 2D p=2": gas("gas triangles", 2, 320e6),
    "Euler 2D p=3": gas("gas triangles", 3, 300e6),
    "Euler 2D p=4": gas("gas triangles", 4, 200e6),
    "Euler 2D p=3, float32": gas("gas triangles", 3, 1.7 * 300e6, dtype="float32"),
    "Euler 2D p=3, 49,928 triangles": gas("more gas triangles", 3, 173e6),
    "Euler 3D p=2": gas("gas tetrahedra", 2, 94e6),
    "Euler 3D p=3": gas("gas tetrahedra", 3, 80e6),
    **{f"Hermite advection, {variant}": hermite(Advection((1.0, 0.5, 0.25)), 3, variant=variant)
       for variant in VARIANTS},
    "Hermite advection, unpruned": hermite(Advection((1.0, 0.5, 0.25)), 3, variant="two-kernel", pruned=False),
    "Hermite acoustics N=3": hermite(Acoustics(3), 3),
    "Hermite acoustics N=3, unpruned": hermite(Acoustics(3), 3, pruned=False),
    "Hermite Maxwell N=2": hermite(Maxwell(3), 2, pec),
}
RATIOS = {
    "float32 / float64": ("Maxwell 3D N=3, float32", "Maxwell 3D N=3", 1.7),
    "2 threads / 1 thread": ("Maxwell 3D N=3", "Maxwell 3D N=3, 1 thread", 1.8),
    "float32 / float64, Euler": ("Euler 2D p=3, float32", "Euler 2D p=3", 1.7),
    "collapsed / two-kernel, Hermite": ("Hermite advection, collapsed", "Hermite advection, two-kernel", None),
    "collapsed / two-kernel as in the paper, Hermite": ("Hermite advection, collapsed", "Hermite advection, unpruned", 8.0),
    "pruned / not pruned, Hermite acoustics": ("Hermite acoustics N=3", "Hermite acoustics N=3, unpruned", 1 / (1 - 0.25)),
}
# Cells of `box` and `rectangle`; a gas fills periodic ones.
SIZES = {"tetrahedra": (20, 20, 21), "triangles": (158, 158), "setup": (25, 25, 27), "gas triangles": (100, 100),
         "more gas triangles": (158, 158), "gas tetrahedra": (15, 15, 15), "grid": (64, 64, 64),
         "grid with walls": (48, 48, 48)}
QUICK = {"tetrahedra": (6, 6, 6), "triangles": (20, 20), "setup": (8, 8, 8), "gas triangles": (14, 14),
         "more gas triangles": (20, 20), "gas tetrahedra": (4, 4, 4), "grid": (8, 8, 8), "grid with walls": (6, 6, 6)}
SECONDS = {"ceilings": 2.0, "row": 2.0}          # how long to measure each
STAGES = len(LSRK54.stages)          # of what the GPU's bench measures
DIGITS = 6


def bench(cases=None, quick=False, progress=None, rows=None, sizes=None):
    """Measure this machine's ceilings and the package's speed: a dict for JSON, all rates in 1/s, times in s, sizes in bytes.

    cases      names of cases to measure instead of the package's own list; all options of a case are its defaults
    quick      small meshes and few steps, to see that everything runs
    progress   function called with a line of text before each part
    rows       names of the rows of the package's own list to measure, all by default; ValueError for others
    sizes      {"tetrahedra": cells, "triangles": cells, ...} of `box` and `rectangle`, instead of those of SIZES or QUICK
    Every rate is that of whole steps (LSRK with five evaluations, of Euler RK4 with four, of Hermite two half-steps), DOF
    updates of all variables, compile excluded.
    Result: machine, ceilings, rows (see `row`) and, for the own list, ratios, memory and setup; numbers have six digits."""
    say = progress or (lambda line: None)
    rows = list(ROWS) if rows is None else [choose("row", name, ROWS) for name in rows]
    sizes = (QUICK if quick else SIZES) | {choose("size", name, SIZES): cells for name, cells in (sizes or {}).items()}
    threads = backends.get("numpy").threads
    say("ceilings")
    result = {"machine": machine(threads), "reference": REFERENCE,
              "ceilings": {ceiling(dtype, n): ceilings(dtype, n, 0.2 if quick else SECONDS["ceilings"])
                           for dtype in ("float64", "float32") for n in sorted({1, threads})}, "rows": []}
    limits = result["ceilings"]
    if cases:
        for name in cases:
            say(name)
            result["rows"].append(row(name, problem_of_case(name), limits, quick))
        return rounded(result)
    own = limits[ceiling("float64", threads)]
    scale = min(own[name] / REFERENCE[name] for name in REFERENCE)
    meshes = {name: mesh_of(name, sizes[name]) for name in dict.fromkeys(ROWS[row].mesh for row in rows)}
    for name in rows:
        say(name)
        target, problem = ROWS[name].target, problem_of_row(name, meshes)
        result["rows"].append(row(name, problem, limits, quick, target and target * scale))
        if name == "Maxwell 3D N=3":
            result["memory"] = memory(problem)
        del problem
    result["ratios"] = {}
    for name, (first, second, target) in RATIOS.items():
        if (threads == 1 and "thread" in name) or not {first, second} <= set(rows):
            continue
        say(name)
        result["ratios"][name] = ratio([problem_of_row(n, meshes) for n in (first, second)], quick) | {"target": target}
    say("set-up")
    result["setup"] = setup(sizes["setup"])
    return rounded(result)


def mesh_of(name, cells):
    """The mesh or grid of that name."""
    if "grid" in name:
        return Grid((0,) * 3, (1,) * 3, cells, periodic="walls" not in name)
    return (box if "tetrahedra" in name else rectangle)(cells=cells, periodic="gas" in name)


def ceiling(dtype, threads):
    """The name under which the ceilings for that dtype and so many threads are kept."""
    return f"{dtype}, {threads} threads"


def rounded(value):
    """The same dicts and lists with floats of so many digits as a person can use."""
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


class Problem:
    """A discretised problem with the arrays of a run: what is timed."""

    def __init__(self, operator, initial=None, stepper=LSRK54):
        self.operator, self.stepper = operator, stepper
        if initial is None:
            initial = np.random.default_rng(0).standard_normal(operator.shape)
        arrays, with_k = registers(stepper)
        self.dofs = initial.size
        self.states = [operator.state(initial), *(operator.zeros() for _ in range(arrays - 1))]
        self.k = operator.zeros() if with_k else None
        start = perf_counter()
        self.step()
        self.first_step = perf_counter() - start

    def step(self):
        """Take one step, so short that it is stable for every problem; returns the seconds it took."""
        start = perf_counter()
        self.states = step(self.operator, self.stepper, self.states, self.k, 0.0, 1e-9)
        return perf_counter() - start

    def times(self, quick, seconds=SECONDS["row"]):
        """Seconds of several steps: at least three, and as many as fit into `seconds`."""
        times = [self.step() for _ in range(3)]
        while not quick and sum(times) < seconds:
            times.append(self.step())
        return times

    @property
    def threads(self):
        return self.operator.backend.threads

    @property
    def stages(self):
        """Evaluations a step."""
        return len(self.stepper.stages)

    def counts(self):
        """What the operations of a stage cost, a list of `roofline.Operation`."""
        backend = self.operator.backend
        return cost(self.operator.tables, backend.kernels, backend.dtype, self.stepper)

    def least(self):
        """The costs that the bound follows from."""
        return self.counts()

    def ceilings(self, limits, threads):
        """The ceilings for so many threads; measured and added to `limits` where they are not there yet."""
        dtype = str(self.operator.backend.dtype)
        if ceiling(dtype, threads) not in limits:
            limits[ceiling(dtype, threads)] = ceilings(dtype, threads)
        return limits[ceiling(dtype, threads)]

    def seconds(self, names, stage, quick):
        """(threads, {name: seconds of a stage}) of the operations.

        Fused kernels have one operation, which takes the `stage` measured; those of the array kernels are timed on one
        thread."""
        if len(names) == 1:
            return self.threads, {names[0]: stage}
        if "interpolation" in names:
            return self.threads, timed_kernels(self.operator.operations, self.states, quick)
        return 1, timed(self, names, quick)


def problem_of_case(name):
    """The case of that name as a Problem."""
    from .. import cases
    simulation = getattr(cases, name)()
    return Problem(simulation.operator, simulation.operator.project(simulation.initial), simulation.stepper)


def problem_of_row(name, meshes):
    """The row of ROWS of that name as a Problem on one of the meshes."""
    row = ROWS[name]
    backend = backends.get("numpy", row.kernels, row.dtype, row.threads if row.kernels == "fused" else None)
    operator = row.method(row.order, **row.options).discretise(meshes[row.mesh], row.law, row.boundary, backend, row.flux)
    return Problem(operator, operator.project(breeze(row.law)) if row.law.admissible else None, row.stepper)


def breeze(law):
    """An initial state of a gas that fits a periodic unit box."""
    def initial(x):
        rho = 1 + 0.2 * np.sin(2 * np.pi * x[0])
        return law.conservative((rho, *(0.3 + 0 * rho,) * law.dim, 1 + 0 * rho))
    return initial


def row(name, problem, limits, quick, target=None):
    """Speed of one problem: best and median rate, what a stage costs per element, the share of the bound that it reached, and
    the same for each of its operations.  Of Hermite's method also "paper": operations of the paper's algorithm and the share
    of the bound that these would have to reach, see `roofline.of_the_paper`."""
    operator = problem.operator
    backend, tables, times = operator.backend, operator.tables, problem.times(quick)
    counts, least, most = problem.counts(), problem.least(), problem.ceilings(limits, problem.threads)
    updates = problem.dofs * problem.stages
    best, at_bound = updates / min(times), problem.dofs / tables.elements / bound(least, most)
    flops, size = sum(o.flops for o in counts), sum(o.bytes for o in counts)
    whole = Operation("stage", sum(o.flops for o in least), sum(o.bytes for o in least))
    paper, stage = of_the_paper(tables, counts), min(times) / problem.stages
    share = {"paper": {"flops_per_element_stage": sum(o.flops for o in paper),
                       "share_of_bound": bound(paper, most) * tables.elements / stage}} if paper else {}
    return {"name": name, "law": repr(tables.law), "order": tables.order, "elements": tables.elements, "dofs": problem.dofs,
            "dtype": str(backend.dtype), "kernels": backend.kernels, "threads": problem.threads, "steps": len(times),
            "best": best, "median": updates / median(times), "flops_per_element_stage": flops,
            "bytes_per_element_stage": size, "flop_rate": flops * best * tables.elements / problem.dofs, "bound": at_bound,
            "bound_by": limit(whole, most), "share_of_bound": best / at_bound,
            "target": target, "first_step_s": problem.first_step,
            "operations": operations(problem, counts, limits, stage, quick)} | share


def operations(problem, counts, limits, stage, quick):
    """Each operation of a stage: seconds of a stage that it takes on all elements, operations and bytes per element, and the
    seconds that the ceilings allow; stage: seconds of a whole stage."""
    elements, found = problem.operator.tables.elements, []
    threads, seconds = problem.seconds([o.name for o in counts], stage, quick)
    most = problem.ceilings(limits, threads)
    for o in counts:
        least = bound([o], most) * elements
        if least:                       # an operation without any work, such as a source that there is not, is not called
            found.append({"name": o.name, "threads": threads, "seconds": seconds[o.name], "flops": o.flops, "bytes": o.bytes,
                          "bound_seconds": least, "bound_by": limit(o, most), "share_of_bound": least / seconds[o.name]})
    return found


def timed(problem, names, quick):
    """{name: seconds of a stage} of the operations of the array kernels on one thread; `update` is what the others leave."""
    operations, seconds = problem.operator.operations, dict.fromkeys(names, 0.0)
    workers, operations.backend.workers = operations.backend.workers, Workers(1)
    parts = [name for name in names if name != "update"]

    def counted(name, function):
        def call(*arguments):
            start = perf_counter()
            try:
                return function(*arguments)
            finally:
                seconds[name] += perf_counter() - start
        return call
    for name in parts:
        setattr(operations, name, counted(name, getattr(operations, name)))
    steps = 2 if quick else 4
    total = sum(problem.step() for _ in range(steps))
    for name in parts:
        delattr(operations, name)
    operations.backend.workers = workers
    seconds["update"] = total - sum(seconds.values())
    return {name: value / steps / problem.stages for name, value in seconds.items()}


def timed_kernels(operations, states, quick):
    """{name: seconds of a half-step} of Hermite's two kernels."""
    times = {"interpolate": [], "evolve": []}
    for _ in range(2 if quick else 8):
        for name, taken in times.items():
            start = perf_counter()
            operations.run(name, *states, 0, 1e-9)
            taken.append(perf_counter() - start)
    return {"interpolation": min(times["interpolate"]), "evolution": min(times["evolve"])}


def ratio(problems, quick):
    """Speed of the first problem over that of the second, steps taken in turns: of the best times, and median of the pairs."""
    pairs, end = [], perf_counter() + (0 if quick else IN_TURNS)
    while len(pairs) < (3 if quick else 16) or perf_counter() < end:
        pairs.append([p.step() for p in problems])
    updates = [p.dofs * p.stages for p in problems]
    best = [dofs / min(times) for dofs, times in zip(updates, zip(*pairs))]
    each = [updates[0] / first / (updates[1] / second) for first, second in pairs]
    return {"best": best[0] / best[1], "median": median(each), "least": min(each), "pairs": len(pairs)}


def setup(cells):
    """Seconds to set up Maxwell at order 3 on a box of tetrahedra: mesh, discretisation, projection, state on the backend."""
    start = perf_counter()
    mesh = box(cells=cells)
    meshed = perf_counter()
    operator = NodalDG(3).discretise(mesh, Maxwell(3), pec, backends.get("numpy", "fused"))
    discretised = perf_counter()
    operator.state(operator.project(lambda x: tuple(np.sin(np.pi * x[i % 3]) for i in range(6))))
    end = perf_counter()
    return {"elements": len(mesh.cells), "mesh": meshed - start, "discretise": discretised - meshed,
            "project": end - discretised, "total": end - start}


def memory(problem):
    """Bytes of all arrays that a run holds, its host tables and mesh included, over those of one state; the largest by name."""
    found = held(problem)
    state = problem.states[0].nbytes
    largest = sorted(found.items(), key=lambda item: -item[1])[:12]
    return {"state": state, "total": sum(found.values()), "ratio": sum(found.values()) / state,
            "largest": {name: size / state for name, size in largest}}


def machine(threads):
    """What the rates were measured on."""
    import numba
    return {"processor": processor(), "cores": os.cpu_count(), "threads": threads, "system": platform.platform(),
            "python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}


def processor():
    """The processor's name as the system gives it."""
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
