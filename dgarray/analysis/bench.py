"""Speed of the package on this machine, against what the machine can do: `dgarray bench`."""
import os
import platform
from statistics import median
from time import perf_counter

import numpy as np

from .. import backends
from ..backends.workers import Workers
from ..boundary import pec, wall
from ..laws import Acoustics, Maxwell
from ..mesh import box, rectangle
from ..methods import NodalDG
from ..stepping import LSRK54, registers, step
from .roofline import Operation, bound, ceilings, cost, limit

REFERENCE = {"multiply_add": 109e9, "bandwidth": 50e9}       # of the machine that the targets in ROWS are for

# name: mesh, law, boundary, order, dtype, kernels, threads (None: all), target in DOF updates/s on the reference machine
ROWS = {
    "Maxwell 3D N=2": ("tetrahedra", Maxwell(3), pec, 2, "float64", "fused", None, 210e6),
    "Maxwell 3D N=3": ("tetrahedra", Maxwell(3), pec, 3, "float64", "fused", None, 190e6),
    "Maxwell 3D N=4": ("tetrahedra", Maxwell(3), pec, 4, "float64", "fused", None, 165e6),
    "Maxwell 3D N=5": ("tetrahedra", Maxwell(3), pec, 5, "float64", "fused", None, 115e6),
    "Maxwell 3D N=3, float32": ("tetrahedra", Maxwell(3), pec, 3, "float32", "fused", None, 1.7 * 190e6),
    "Maxwell 3D N=3, 1 thread": ("tetrahedra", Maxwell(3), pec, 3, "float64", "fused", 1, None),
    "acoustics 3D N=3": ("tetrahedra", Acoustics(3), wall, 3, "float64", "fused", None, 190e6),
    "Maxwell 2D TM N=3": ("triangles", Maxwell(2), pec, 3, "float64", "fused", None, 250e6),
    "Maxwell 3D N=3, array kernels": ("tetrahedra", Maxwell(3), pec, 3, "float64", "array", None, 20e6),
}
RATIOS = {
    "float32 / float64": ("Maxwell 3D N=3, float32", "Maxwell 3D N=3", 1.7),
    "2 threads / 1 thread": ("Maxwell 3D N=3", "Maxwell 3D N=3, 1 thread", 1.8),
}
OPERATIONS = ("volume", "face_flux", "lift", "finish")


def bench(cases=None, quick=False, progress=None):
    """Measure this machine's ceilings and the package's speed: a dict for JSON, all rates in 1/s, times in s, sizes in bytes.

    cases      names of cases to measure instead of the package's own list; all options of a case are its defaults
    quick      small meshes and few steps, to see that everything runs
    progress   function called with a line of text before each part
    Every rate is that of whole LSRK steps, DOF updates of all variables and five evaluations a step, compile excluded."""
    say = progress or (lambda line: None)
    threads = backends.get("numpy").threads
    say("ceilings")
    result = {"machine": machine(threads), "reference": REFERENCE,
              "ceilings": {f"{dtype}, {n} threads": ceilings(dtype, n, 0.2 if quick else 2.0)
                           for dtype in ("float64", "float32") for n in sorted({1, threads})}, "rows": []}
    limits = result["ceilings"]
    own = limits[f"float64, {threads} threads"]
    scale = min(own[name] / REFERENCE[name] for name in REFERENCE)
    if cases:
        for name in cases:
            say(name)
            result["rows"].append(row(name, problem_of_case(name), limits, quick))
        return result
    meshes = {"tetrahedra": box(cells=(6, 6, 6) if quick else (20, 20, 21)),
              "triangles": rectangle(cells=(20, 20) if quick else (158, 158))}
    for name, (mesh, law, boundary, order, dtype, kernels, n, target) in ROWS.items():
        say(name)
        problem = Problem(NodalDG(order).discretise(meshes[mesh], law, boundary, backends.get(
            "numpy", kernels, dtype, n if kernels == "fused" else None)))
        result["rows"].append(row(name, problem, limits, quick, target and target * scale))
        if kernels == "array":
            say("shares of the array kernels")
            result["array_shares"] = shares(problem, quick)
        if name == "Maxwell 3D N=3":
            result["memory"] = memory(problem)
        del problem
    result["ratios"] = {}
    for name, (first, second, target) in RATIOS.items():
        if threads == 1 and "thread" in name:
            continue
        say(name)
        result["ratios"][name] = ratio(meshes, first, second, quick) | {"target": target}
    say("set-up")
    result["setup"] = setup((8, 8, 8) if quick else (25, 25, 27))
    return result


class Problem:
    """A discretised problem with the arrays of an LSRK run: what is timed."""

    def __init__(self, operator, initial=None):
        self.operator = operator
        if initial is None:
            initial = np.random.default_rng(0).standard_normal(operator.shape)
        arrays, with_k = registers(LSRK54)
        self.dofs = initial.size
        self.states = [operator.state(initial), *(operator.zeros() for _ in range(arrays - 1))]
        self.k = operator.zeros() if with_k else None
        start = perf_counter()
        self.step()
        self.first_step = perf_counter() - start

    def step(self):
        """Take one step, so short that it is stable for every problem; returns the seconds it took."""
        start = perf_counter()
        self.states = step(self.operator, LSRK54, self.states, self.k, 0.0, 1e-9)
        return perf_counter() - start

    def times(self, quick, seconds=2.0):
        """Seconds of several steps: at least three, and as many as fit into `seconds`."""
        times = [self.step() for _ in range(3)]
        while not quick and sum(times) < seconds:
            times.append(self.step())
        return times


def problem_of_case(name):
    """The case of that name as a Problem."""
    from .. import cases
    simulation = getattr(cases, name)()
    return Problem(simulation.operator, simulation.operator.project(simulation.initial))


def row(name, problem, limits, quick, target=None):
    """Speed of one problem: best and median rate, what a stage costs per element, and the share of the bound reached."""
    operator = problem.operator
    backend, times = operator.backend, problem.times(quick)
    operations = cost(operator.tables, backend.kernels, backend.dtype)
    ceiling = limits.get(f"{backend.dtype}, {backend.threads} threads") or ceilings(str(backend.dtype), backend.threads)
    seconds = bound(operations, ceiling)
    updates = problem.dofs * len(LSRK54.stages)
    best = updates / min(times)
    at_bound = problem.dofs / operator.tables.elements / seconds
    flops, size = sum(o.flops for o in operations), sum(o.bytes for o in operations)
    return {"name": name, "law": repr(operator.tables.law), "order": operator.tables.order,
            "elements": operator.tables.elements, "dofs": problem.dofs, "dtype": str(backend.dtype),
            "kernels": backend.kernels, "threads": backend.threads, "steps": len(times), "best": best,
            "median": updates / median(times), "flops_per_element_stage": flops, "bytes_per_element_stage": size,
            "flop_rate": flops * best * operator.tables.elements / problem.dofs, "bound": at_bound,
            "bound_by": limit(Operation("stage", flops, size), ceiling), "share_of_bound": best / at_bound,
            "target": target, "first_step_s": problem.first_step}


def ratio(meshes, first, second, quick):
    """Speed of one row of ROWS over that of another, steps taken in turns: of the best times, and median of the pairs."""
    problems = []
    for name in (first, second):
        mesh, law, boundary, order, dtype, kernels, threads, _ = ROWS[name]
        problems.append(Problem(NodalDG(order).discretise(meshes[mesh], law, boundary,
                                                          backends.get("numpy", kernels, dtype, threads))))
    pairs = [[p.step() for p in problems] for _ in range(3 if quick else 16)]
    best = [min(times) for times in zip(*pairs)]
    each = [slow / fast for fast, slow in pairs]
    return {"best": best[1] / best[0], "median": median(each), "least": min(each), "pairs": len(pairs)}


def shares(problem, quick):
    """Share of a step on one thread that each operation of the array kernels takes; `update` is what remains of the stage."""
    operations, seconds = problem.operator.operations, dict.fromkeys(OPERATIONS, 0.0)
    workers, operations.backend.workers = operations.backend.workers, Workers(1)

    def timed(name, function):
        def call(*arguments):
            start = perf_counter()
            try:
                return function(*arguments)
            finally:
                seconds[name] += perf_counter() - start
        return call
    for name in OPERATIONS:
        setattr(operations, name, timed(name, getattr(operations, name)))
    total = sum(problem.step() for _ in range(2 if quick else 4))
    for name in OPERATIONS:
        delattr(operations, name)
    operations.backend.workers = workers
    return {name: value / total for name, value in seconds.items()} | {"update": 1 - sum(seconds.values()) / total}


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


def held(root):
    """{name: bytes} of every array that can be reached from an object through attributes, dicts and sequences.

    Views count as the array that owns their memory, and each of those once, under the first name that leads to it."""
    found, seen, todo = {}, set(), [("", root)]
    while todo:
        name, value = todo.pop(0)
        if isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):
                value = value.base
            if id(value) not in seen:
                found[name] = value.nbytes
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            todo += [(f"{name}.{key}", v) for key, v in value.items()]
        elif isinstance(value, (list, tuple)):
            todo += [(f"{name}[{i}]", v) for i, v in enumerate(value) if not isinstance(v, (int, float, str))]
        elif type(value).__module__.split(".")[0] in ("dgarray", "types") and hasattr(value, "__dict__"):
            todo += [(f"{name}.{key}".lstrip("."), v) for key, v in vars(value).items()]
    return found


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


def table(results):
    """The results of `bench` as text."""
    from rich.table import Table

    from ..output.report import rendered
    m = results["machine"]
    parts = [f"{m['processor']}, {m['cores']} cores, Python {m['python']}, NumPy {m['numpy']}, numba {m['numba']}"]
    parts += [f"{name}: copy {c['bandwidth'] / 1e9:.3g} GB/s, product {c['multiply_add'] / 1e9:.4g} GFLOP/s"
              for name, c in results["ceilings"].items()]
    rates = Table(title="DOF updates per second, in millions; flop and bytes per element and stage", title_justify="left",
                  box=None, pad_edge=False)
    for heading in ("", "best", "median", "target", "GFLOP/s", "flop", "bytes", "bound", "by", "share"):
        rates.add_column(heading, justify="left" if heading in ("", "by") else "right", no_wrap=True)
    for r in results["rows"]:
        rates.add_row(r["name"], f"{r['best'] / 1e6:.1f}", f"{r['median'] / 1e6:.1f}",
                      f"{r['target'] / 1e6:.0f}" if r["target"] else "", f"{r['flop_rate'] / 1e9:.1f}",
                      f"{r['flops_per_element_stage']:.0f}", f"{r['bytes_per_element_stage']:.0f}", f"{r['bound'] / 1e6:.0f}",
                      r["bound_by"], f"{r['share_of_bound']:.0%}")
    parts += ["", rendered(rates), ""]
    for name, r in results.get("ratios", {}).items():
        parts.append(f"{name}: {r['best']:.2f} of the best, {r['median']:.2f} median, {r['least']:.2f} least of {r['pairs']} "
                     f"pairs (target {r['target']})")
    if "array_shares" in results:
        parts.append("array kernels: " + ", ".join(f"{name} {share:.0%}" for name, share in results["array_shares"].items()))
    if "setup" in results:
        s = results["setup"]
        parts.append(f"set-up of {s['elements']} tetrahedra at order 3: {s['total']:.2f} s (mesh {s['mesh']:.2f}, "
                     f"discretisation {s['discretise']:.2f}, projection {s['project']:.2f})")
    if "memory" in results:
        s = results["memory"]
        largest = ", ".join(f"{name} {size:.2f}" for name, size in list(s["largest"].items())[:6])
        parts.append(f"memory of a fused run at order 3: {s['ratio']:.2f} times the state; {largest}")
    return "\n".join(parts)
