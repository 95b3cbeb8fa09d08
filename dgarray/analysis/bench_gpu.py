"""Speed of the package on a GPU, against what the device can do: `dgarray bench --backend cupy`.

Measured is what Kloeckner, Warburton, Bridge & Hesthaven 2009, J. Comput. Phys. 228, show in figures 8 to 11 and table 3:
nodal Maxwell on tetrahedra at orders 1 to 9.
"""
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from .. import backends
from ..backends.arrays import ArrayBackend
from ..backends.cuda import CudaBackend, tuning
from ..backends.cuda.ceilings import ceilings
from ..backends.cuda.layout import WARP
from ..backends.cuda.variant import FACES, PLACES, Shape, candidates, default
from ..boundary import pec
from ..laws import Maxwell
from ..mesh import box
from ..methods import NodalDG
from ..methods.nodal_dg import NodalOperator
from ..names import choose
from ..stepping import LSRK54, stages
from .bench import STAGES, Problem, machine, rounded, row
from .held import held
from .roofline import cost

__all__ = ["bench"]

ORDERS, DTYPES = tuple(range(1, 10)), ("float32", "float64")
# Cells of `box` by order: states of 50 to 140 MB in float32, beyond second-level caches, and hundreds of blocks at order 9.
SIZES = {1: 44, 2: 40, 3: 32, 4: 28, 5: 24, 6: 22, 7: 20, 8: 18, 9: 16, 10: 15}
QUICK = 5
SCALING = (2, 4, 7, 11, 17, 26)          # cells of meshes that show from which size on the device is busy
USUAL = 4                                # order of set-up, memory and scaling, and of more variants
CPU_ORDERS = (3, 4)                      # those whose speed-up over a CPU the paper's text gives
CPU_TARGET = 4, "float32", 2, 100.0      # order, dtype, threads; times the speed of that CPU
SECONDS = {"ceilings": 1.0, "row": 1.0, "part": 0.1, "variants": 2.0}         # how long to measure each
FEW = 3                                  # variants of a family that are timed at the usual order; one at others
WARM_UP = 4                              # steps until the CUDA graphs of a run are there


class Family(NamedTuple):
    """Variants that have one of the papers' techniques in common."""

    name: str
    source: str
    has: callable                        # (variant, shape) -> bool


K, F = "Kloeckner et al. 2009, section ", "Fuhry et al. 2014"
FAMILIES = [
    Family("microblocks of elements in memory", K + "4", lambda v, s: kernel(v) and v.width > 0),
    Family("coefficient by coefficient in memory", F, lambda v, s: kernel(v) and v.width == 0),
    Family("matrix in shared memory", K + "5.4", lambda v, s: kernel(v) and v.matrix == "shared"),
    Family("matrix through the cache", K + "5.2", lambda v, s: kernel(v) and v.matrix == "global"),
    Family("field in shared memory", K + "5.2", lambda v, s: kernel(v) and v.field == "shared"),
    Family("field in registers", "", lambda v, s: kernel(v) and v.field == "registers"),
    Family("one thread an element", F, lambda v, s: kernel(v) and v.rows >= s.nodes),
    Family("faces from both sides", "", lambda v, s: kernel(v) and v.faces == "both"),
    Family("pairs of faces once in a block of elements", K + "5.3", lambda v, s: v.faces == "block"),
    Family("each face once, one thread a face node", "", lambda v, s: v.faces == "once" and not v.per_face),
    Family("each face once, one thread a face", F, lambda v, s: v.faces == "once" and v.per_face),
    Family("batched product by cuBLAS", K + "5.2", lambda v, s: not kernel(v)),
]


def kernel(variant):
    return variant.product == "kernel"


def bench(cases=None, quick=False, progress=None, orders=ORDERS, dtypes=DTYPES, device=None, sizes=None):
    """Measure a GPU's ceilings and the package's speed on it: a dict for JSON, all rates in 1/s, times in s, sizes in bytes.

    cases      names of cases to measure instead of nodal Maxwell on a box of tetrahedra; all options are their defaults
    quick      small meshes and few steps, to see that everything runs
    progress   function called with a line of text before each part
    orders, dtypes   which of the package's own list to measure; for cases only the dtypes
    device     `dgarray.backends.cuda.device.Device` or one like it; by default the machine's (RuntimeError without one)
    sizes      {order: cells in each direction} of the box, and "scaling": a list of them, instead of SIZES and SCALING
    Every rate is that of whole LSRK steps, each one CUDA graph where the variant allows it; DOF updates of all variables and
    five evaluations a step. The bound is, for every variant and for the array kernels, that of one kernel that moves every
    array once and visits each face from both sides: see `roofline.cost`.
    Result: machine, ceilings, rows (see `bench.row`) with the variant used and the array kernels as a comparison, and for the
    own list cpu (the same problem on this machine's processor), ratios, families, variants, scaling, setup, memory."""
    say = progress or (lambda line: None)
    dtypes, _ = [choose("dtype", dtype, backends.DTYPES) for dtype in dtypes], [NodalDG(order) for order in orders]
    device = device or backends.get("cupy", "fused", dtypes[0]).device
    sizes = (dict.fromkeys(SIZES, QUICK) | {"scaling": SCALING[:2]} if quick else SIZES | {"scaling": SCALING}) | (sizes or {})
    say("ceilings")
    result = {"machine": machine_with(device),
              "ceilings": {ceiling(dtype): limits_of(device, dtype, quick) for dtype in dtypes}, "rows": []}
    measure = Measure(device, quick, say, result)
    for name in cases or ():
        from .. import cases as listed
        operator = getattr(listed, name)().operator
        for dtype in dtypes:
            measure.rows(f"{name}, {dtype}", operator.method, operator.tables, dtype)
    if not cases:
        result |= {"cpu": [], "ratios": {}, "families": [], "variants": []}
        for order in orders:
            measure.order(order, dtypes, sizes[order])
        measure.once(USUAL if USUAL in orders else orders[0], dtypes[0], sizes)
    return rounded(result)


def ceiling(dtype):
    """The name under which the ceilings for that dtype are kept."""
    return f"{dtype}, GPU"


def machine_with(device):
    """What the rates were measured on."""
    version = getattr(device.xp, "__version__", None)
    return machine(backends.get("numpy").threads) | {
        "device": device.name, "capability": ".".join(map(str, device.capability)), "multiprocessors": device.multiprocessors,
        "cupy": version if isinstance(version, str) else None}


def limits_of(device, dtype, quick):
    few = dict(seconds=0.0, size=1 << 20, turns=16, launches=4) if quick else dict(seconds=SECONDS["ceilings"])
    return ceilings(device, dtype, **few)


class DeviceProblem(Problem):
    """A discretised problem on a GPU with the arrays of an LSRK run; its times are those of the device's own clock."""

    threads = None

    def __init__(self, operator, device):
        self.device = device
        super().__init__(operator)
        for _ in range(WARM_UP):
            self.advance()

    def advance(self):
        """Take one step without waiting for it."""
        super().step()

    def step(self):
        """Take one step; returns the seconds it took, the host's work and the wait included."""
        start = perf_counter()
        self.advance()
        self.device.synchronize()
        return perf_counter() - start

    def times(self, quick, seconds=SECONDS["row"]):
        return measured(self.device, self.advance, quick, seconds)

    @property
    def variant(self):
        return getattr(self.operator.operations, "variant", None)

    def counts(self):
        backend = self.operator.backend
        return cost(self.operator.tables, backend.kernels, backend.dtype, backend="cupy", variant=self.variant)

    def least(self):
        return cost(self.operator.tables, "fused", self.operator.backend.dtype, backend="cupy")

    def ceilings(self, limits, threads):
        return limits[ceiling(self.operator.backend.dtype)]

    def seconds(self, names, stage, quick):
        """(None, {name: seconds of a stage}), mean over the stages of a step."""
        if len(names) == 1:
            return None, {names[0]: stage}
        seconds = dict.fromkeys(names, 0.0)
        for number in range(STAGES):
            parts = self.parts(number) if self.variant else self.array_parts(number)
            for name in names:
                # As in a run: kernels of ours in a graph, so that launches do not count; a library may allocate.
                ours = self.variant is not None and name != "product"
                run = self.device.capture(parts[name]).launch if ours else parts[name]
                seconds[name] += min(measured(self.device, run, quick, SECONDS["part"])) / STAGES
        return None, seconds

    def parts(self, number):
        """The launches of a stage by name."""
        q, out = self.states[:2]
        return self.operator.operations.parts(q, out, self.k, q, 0.0, 1e-9, repeatable(LSRK54.stages[number]))

    def array_parts(self, number):
        """The array kernels' parts of a stage by name, as `NodalArrays.stage` calls them."""
        operations, s, (q, out) = self.operator.operations, repeatable(LSRK54.stages[number]), self.states[:2]
        t, combine = operations.time(0.0), operations.backend.combine
        flux, r = operations.face_flux(q, t), operations.volume(q, t)

        def update():
            combine(self.k, (s.A, self.k), (s.w * 1e-9, r))
            combine(out, (s.beta, q), (s.B, self.k))
        return {"volume": lambda: operations.volume(q, t), "face_flux": lambda: operations.face_flux(q, t),
                "lift": lambda: r + operations.lift(flux), "finish": lambda: operations.finish(r, q, t), "update": update}


def repeatable(stage):
    """The stage with a register that does not grow when it is done again and again."""
    return stage._replace(A=max(-0.5, stage.A))


def measured(device, function, quick, seconds):
    """Seconds of calls by the device's clock: at least three, and as many as fit into `seconds`, up to a thousand."""
    times = device.seconds(function, 3)
    if quick:
        return times
    return times + device.seconds(function, max(1, min(1000, int(seconds / max(1e-6, min(times))))))


class Measure:
    """Rows of the result, one problem after the other."""

    def __init__(self, device, quick, say, result):
        self.device, self.quick, self.say, self.result = device, quick, say, result

    def rows(self, name, method, tables, dtype):
        """The rows of a problem: fused kernels in the variant that is chosen for it, and array kernels; gives the variant."""
        variant = self.row(name, method, tables, CudaBackend(dtype, self.device))
        self.row(f"{name}, array kernels", method, tables, ArrayBackend(self.device.xp, dtype, "cupy"))
        return variant

    def row(self, name, method, tables, backend):
        """One row, with rates of bytes and shares of both ceilings; gives the variant of fused kernels."""
        self.say(name)
        problem = DeviceProblem(NodalOperator(method, tables, backend), self.device)
        found = row(name, problem, self.result["ceilings"], self.quick)
        most, elements = problem.ceilings(self.result["ceilings"], None), found["elements"]
        for o in found["operations"]:
            o |= {"share_of_bandwidth": o["bytes"] * elements / o["seconds"] / most["bandwidth"],
                  "share_of_multiply_add": o["flops"] * elements / o["seconds"] / most["multiply_add"]}
        rate = found["bytes_per_element_stage"] * found["best"] * elements / found["dofs"]
        self.result["rows"].append(found | {"byte_rate": rate, "variant": as_dict(problem.variant)})
        return problem.variant

    def order(self, order, dtypes, cells):
        """Rows of Maxwell at one order, the families of variants against the one chosen, and the CPU."""
        method, tables = problem(order, cells)
        for dtype in dtypes:
            name = f"Maxwell 3D N={order}, {dtype}"
            self.families(order, dtype, tables, self.rows(name, method, tables, dtype))
            if order in CPU_ORDERS:
                self.cpu(name, method, tables, dtype)

    def families(self, order, dtype, tables, base):
        """Times of variants around the chosen one, and the best of each family."""
        backend = CudaBackend(dtype, self.device)
        shape = Shape.of(tables, backend.dtype)
        few, found = FEW if order == USUAL and not self.quick else 1, like(base, shape, self.device.shared_per_block)
        members = {family: [v for v in found if family.has(v, shape)][:few] for family in FAMILIES}
        variants = list(dict.fromkeys([base, *(v for some in members.values() for v in some)]))
        self.say(f"{len(variants)} variants at order {order} in {dtype}")
        part = tuning.middle(tables, tuning.elements_that_fit(self.device, shape, variants), self.device)
        trials, why = tuning.prepared(backend, part, variants, self.say)
        if not trials:
            raise RuntimeError(f"no variant of the kernels at order {order} in {dtype} works on {self.device.name}: {why}")
        times = tuning.race(trials, 0.0 if self.quick else SECONDS["variants"], self.device.seconds)
        times = {trial.variant: seconds for trial, seconds in times.items()}
        here = {"order": order, "dtype": dtype, "elements": part.elements}
        self.result["variants"] += [here | {"variant": as_dict(v), "seconds": times[v]} for v in sorted(times, key=times.get)]
        for family, some in members.items():
            best = min((v for v in some if v in times), key=times.get, default=None)
            self.result["families"].append(here | {
                "name": family.name, "source": family.source, "kept": bool(family.has(base, shape)),
                "seconds": times.get(best), "ratio": times[best] / times[base] if best and base in times else None,
                "variant": as_dict(best)})

    def cpu(self, name, method, tables, dtype):
        """The same problem on this machine's processor, and the ratios of the speeds."""
        device = next(r for r in self.result["rows"] if r["name"] == name)
        most = backends.get("numpy").threads
        for threads in sorted({1, min(2, most), most}):
            title = f"{name}, CPU with {threads} thread{'s' * (threads > 1)}"
            self.say(title)
            host = Problem(NodalOperator(method, tables, backends.get("numpy", "fused", dtype, threads)))
            found = row(title, host, self.result["ceilings"], True)
            self.result["cpu"].append(found)
            self.result["ratios"][f"GPU / {title}"] = {
                "best": device["best"] / found["best"], "median": device["median"] / found["median"],
                "target": CPU_TARGET[3] if (found["order"], dtype, threads) == CPU_TARGET[:3] else None}

    def once(self, order, dtype, sizes):
        """Set-up and memory of one problem, and how its speed grows with the mesh."""
        self.say("set-up")
        backend, device = CudaBackend(dtype, self.device), self.device
        times = [perf_counter()]
        mesh = box(cells=(sizes[order],) * 3)
        times.append(perf_counter())
        tables = NodalDG(order).discretise(mesh, Maxwell(3), pec, backends.get("numpy", "array", dtype)).tables
        times.append(perf_counter())
        operator = NodalOperator(NodalDG(order), tables, backend)
        device.synchronize()
        times.append(perf_counter())
        found = DeviceProblem(operator, device)
        parts = dict(zip(("mesh", "discretise", "device"), np.diff(times).tolist())) | {"first_step": found.first_step}
        here = {"order": order, "dtype": dtype}
        self.result["setup"] = here | {"elements": len(mesh.cells)} | parts | {"total": sum(parts.values())}
        self.result["memory"] = here | memory(found)
        self.result["scaling"] = [self.scaling(order, dtype, cells) for cells in sizes["scaling"]]

    def scaling(self, order, dtype, cells):
        """Speed on a box of so many cells in each direction: a step as one CUDA graph, and launch by launch."""
        self.say(f"{6 * cells ** 3} elements at order {order}")
        method, tables = problem(order, cells)
        found = DeviceProblem(NodalOperator(method, tables, CudaBackend(dtype, self.device)), self.device)

        def launches():
            for _ in stages(found.operator, LSRK54, found.states, found.k, 0.0, 1e-9):
                pass
        updates = found.dofs * STAGES
        graph, single = found.times(self.quick, 0.2), measured(self.device, launches, self.quick, 0.2)
        return {"order": order, "dtype": dtype, "elements": tables.elements, "graph": updates / min(graph),
                "launches": updates / min(single)}


def problem(order, cells):
    """Nodal Maxwell in a conducting box of so many cells in each direction, six tetrahedra each: (method, tables)."""
    method = NodalDG(order)
    host = backends.get("numpy", "array")
    return method, method.discretise(box(cells=(cells,) * 3), Maxwell(3), pec, host).tables


def as_dict(variant):
    """A variant as JSON has it; None for none."""
    return None if variant is None else vars(variant).copy()


def like(base, shape, shared_per_block):
    """Variants that a device can run, those first that have most choices in common with `base`: it, every technique put into
    it, with fewer elements in a block and fewer nodes at a time where it must be, and the tuner's candidates."""
    kernel = base if base.product == "kernel" else default(shape, shared_per_block)
    one = {"faces": "both" if kernel.faces == "block" else kernel.faces, "field": "registers"}
    changes = [{"width": 0}, {"width": WARP}, *({"matrix": place} for place in PLACES), {"field": "shared"}, one,
               *({"faces": faces, "per_face": False, "field": "shared"} for faces in FACES),
               {"faces": "once", "per_face": True}, {"rows": shape.nodes}, {"rows": shape.nodes} | one]
    found = [base, *(replace(kernel, **change, lanes=max(1, kernel.lanes // lanes), chunk=max(1, kernel.chunk // chunk))
                     for change in changes for lanes in (1, 2, 4, 8) for chunk in (1, 4, 16))]
    found += candidates(shape, shared_per_block)

    def distance(variant):
        return sum(getattr(variant, name) != value for name, value in vars(base).items())
    return sorted((v for v in dict.fromkeys(found) if shape.fits(v, shared_per_block)), key=distance)


def memory(problem):
    """Bytes of a run's arrays on the device, over those of one state; the largest by name."""
    state = problem.states[0].nbytes
    found = held({"states": problem.states, "k": problem.k, "operations": problem.operator.operations}, type(problem.k))
    largest = sorted(found.items(), key=lambda item: -item[1])[:12]
    return {"state": state, "total": sum(found.values()), "ratio": sum(found.values()) / state,
            "largest": {name.lstrip("."): size / state for name, size in largest}}
