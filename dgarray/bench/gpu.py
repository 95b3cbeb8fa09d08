"""Speed of the package on a GPU, compared with what the device can do: `dgarray bench --backend cupy`.

The problem is that of figures 8 to 11 and table 3 in Kloeckner, Warburton, Bridge & Hesthaven 2009, J. Comput. Phys. 228: nodal
DG for Maxwell's equations on tetrahedra at orders 1 to 9.
"""
from contextlib import suppress
from time import perf_counter

import numpy as np

from .. import backends
from ..backends.arrays import ArrayBackend
from ..backends.cuda import CudaBackend
from ..backends.cuda.ceilings import ceilings
from ..backends.cuda.dg import tuning, variant_trials
from ..backends.cuda.dg.variant import Shape
from ..mesh import box
from ..methods import NodalDG
from ..physics.boundary import pec
from ..physics.laws import Maxwell
from ..stepping import LSRK54, stages
from ..support.array_memory import held
from ..support.wording import choose
from . import cpu as host_rows
from .attempts import Attempts, DeviceLost, rounded
from .cpu import row
from .device_problem import DeviceProblem, ceiling, measured
from .machine import machine_with
from .problem import Problem, of_case, usual
from .variant_families import FAMILIES, like

__all__ = ["bench"]

ORDERS, DTYPES = tuple(range(1, 10)), ("float32", "float64")
# {order: cells of `box` per direction}: states of 50 to 140 MB in float32, larger than second-level caches; at order 9 there
# are still hundreds of blocks.
SIZES = {1: 44, 2: 40, 3: 32, 4: 28, 5: 24, 6: 22, 7: 20, 8: 18, 9: 16, 10: 15}
QUICK = 5
SCALING = (2, 4, 7, 11, 17, 26)          # cells per direction of meshes that show from which size on the device is busy
USUAL = 4                                # order of set-up, memory and scaling, and of FEW variants a family
CPU_ORDERS = (3, 4)                      # orders at which the paper's text states a speed-up over a CPU
CPU_TARGET = 4, "float32", 2, 100.0      # order, dtype, threads of the CPU; target of the speed-up
SECONDS = {"ceilings": 1.0, "variants": 2.0}          # how long to measure each
FEW = 3                                  # variants of a family that are timed at the usual order; one at others


def bench(cases=None, quick=False, progress=None, orders=ORDERS, dtypes=DTYPES, device=None, sizes=None, keep=None,
          cpu=True, paper=None):
    """Measure a GPU's ceilings and the package's speed on it: a dict for JSON, all rates in 1/s, times in s, sizes in bytes.

    cases      names of cases to measure instead of nodal Maxwell on a box of tetrahedra; all options are their defaults
    quick      small meshes and few steps, to see that everything runs
    progress   function called with a line of text before each part and after each error
    orders, dtypes   which of the package's own list to measure; for cases only the dtypes
    device     `dgarray.backends.cuda.device.Device` or one like it; by default the machine's (RuntimeError without one)
    sizes      {order: cells in each direction} of the box, and "scaling": a list of them, instead of SIZES and SCALING
    keep       function called with the result so far after each part, e.g. to write it to a file
    paper      instead of the own list what this paper measures besides, a key of `cpu.PAPERS`
    cpu        whether to measure the same problems on this machine's processor too
    A rate is the number of DOF updates of all variables per second in whole steps: LSRK54 with five evaluations, or the stepper
    of a case; a step is one CUDA graph if the variant allows it. For every variant and for the array kernels the bound is that
    of one kernel that moves every array once: see `roofline.cost`.
    Result: machine, ceilings, rows (see `cpu.row`) with the variant used, and with the array kernels for comparison; for the
    own list also cpu (the same problem on this machine's processor), ratios, families, variants, scaling, setup, memory;
    failed: name, error and traceback of each part that raised an error, in place of what it would have measured. The rows of
    a dtype whose ceilings fail are not measured.
    After an error that makes the device unusable for this process, the result ends, and "stopped" says so; further calls with
    `orders` and `dtypes` measure the rest. (Rows in processes of their own would go on, but each would compile and set up
    everything anew.)
    Raises ValueError for orders and dtypes that do not exist, RuntimeError without a device."""
    dtypes, _ = [choose("dtype", dtype, backends.DTYPES) for dtype in dtypes], [NodalDG(order) for order in orders]
    device = device or backends.get("cupy", "fused", dtypes[0]).device
    sizes = (dict.fromkeys(SIZES, QUICK) | {"scaling": SCALING[:2]} if quick else SIZES | {"scaling": SCALING}) | (sizes or {})
    result = {"machine": machine_with(device, backends.get("numpy").threads), "ceilings": {}, "rows": []}
    attempt = Attempts(result, progress, keep, device.synchronize)
    measure = Measure(device, quick, result, attempt)
    with suppress(DeviceLost):                       # "stopped" of the result says so
        for dtype in dtypes:
            attempt(f"ceilings in {dtype}", measure.limits, dtype)
        measured_dtypes = [dtype for dtype in dtypes if ceiling(dtype) in result["ceilings"]]
        for name in cases or ():
            attempt(name, measure.case, name, measured_dtypes)
        for name, given in host_rows.PAPERS[choose("paper", paper, host_rows.PAPERS)].items() if paper else ():
            if given.dtype in measured_dtypes:
                attempt(name, measure.of_paper, name, given)
        if not (cases or paper) and measured_dtypes:
            result |= {"cpu": [], "ratios": {}, "families": [], "variants": [], "scaling": []}
            for order in orders:
                attempt(f"Maxwell 3D N={order}", measure.order, order, measured_dtypes, sizes[order], cpu)
            order, dtype = USUAL if USUAL in orders else orders[0], measured_dtypes[0]
            attempt("set-up", measure.once, order, dtype, sizes[order])
            for cells in sizes["scaling"]:
                attempt(f"{6 * cells ** 3} elements at order {order}", measure.scaling, order, dtype, cells)
    return rounded(result)


class Measure:
    """The parts of a benchmark; each method measures one and adds it to `result`.

    device: `Device`;  quick: few steps;  result: the dict of `bench`;  attempt: `Attempts`"""

    def __init__(self, device, quick, result, attempt):
        self.device, self.quick, self.result, self.attempt = device, quick, result, attempt

    def limits(self, dtype):
        """The ceilings of the device in a dtype."""
        few = dict(seconds=0.0, size=1 << 20, turns=16, launches=4) if self.quick else dict(seconds=SECONDS["ceilings"])
        self.result["ceilings"][ceiling(dtype)] = ceilings(self.device, dtype, **few)

    def case(self, name, dtypes):
        """Rows of a case, from its own initial state, since random numbers may not be admissible."""
        simulation = of_case(name, backend="numpy", kernels="array")
        host = simulation.operator
        if not getattr(host, "alike", True):
            sets = ", ".join(each.name for each in host.sets)
            raise ValueError(f"case '{name}' has several sets of elements ({sets}), whose parts of a step cannot be timed on a "
                             f"device; `dgarray bench {name}` measures it on the CPU")
        initial = host.project(simulation.initial)
        for dtype in dtypes:
            self.rows(f"{name}, {dtype}", dtype, lambda backend: DeviceProblem(
                host.on(backend), self.device, initial, simulation.stepper))

    def of_paper(self, name, given):
        """The rows of one of a paper's."""
        mesh = host_rows.mesh_of(given.mesh, host_rows.QUICK if self.quick else host_rows.SIZES)
        host = host_rows.discretised(given, mesh, backends.get("numpy", "array", given.dtype))
        if not getattr(host, "alike", True):
            raise ValueError("parts of a step of several sets of elements cannot be timed on a device; leave out --backend")
        initial = usual(host)
        self.rows(name, given.dtype, lambda backend: DeviceProblem(host.on(backend), self.device, initial, given.stepper))

    def rows(self, name, dtype, make):
        """The rows of a problem: fused kernels in the variant that is chosen for it, and array kernels.

        make(backend) makes the `DeviceProblem`.  Returns the variant, None if there is none or its row fails."""
        kernels, variant = self.attempt(name, self.row, name, make, CudaBackend(dtype, self.device)) or ("fused", None)
        if kernels == "fused":
            title = f"{name}, array kernels"
            self.attempt(title, self.row, title, make, ArrayBackend(self.device.xp, dtype, "cupy"))
        return variant

    def row(self, name, make, backend):
        """One row, with its rate of bytes and shares of both ceilings; returns (kernels, variant)."""
        problem = make(backend)
        found = row(name, problem, self.result["ceilings"], self.quick)
        most, elements = problem.ceilings(self.result["ceilings"], None), found["elements"]
        for o in found["operations"]:
            o |= {"share_of_bandwidth": o["bytes"] * elements / o["seconds"] / most["bandwidth"],
                  "share_of_multiply_add": o["flops"] * elements / o["seconds"] / most["multiply_add"]}
        rate = found["bytes_per_element_stage"] * found["best"] * elements / found["dofs"]
        self.result["rows"].append(found | {"byte_rate": rate, "variant": as_dict(problem.variant)})
        return problem.kernels, problem.variant

    def order(self, order, dtypes, cells, cpu):
        """Rows of Maxwell at one order, the families of variants compared with the variant chosen, and the CPU."""
        host = problem(order, cells)
        for dtype in dtypes:
            name = f"Maxwell 3D N={order}, {dtype}"
            base = self.rows(name, dtype, lambda backend: DeviceProblem(host.on(backend), self.device))
            if base is not None:
                self.attempt(f"variants at order {order} in {dtype}", self.families, order, dtype, host.tables, base)
                if cpu and order in CPU_ORDERS:
                    self.attempt(f"{name} on the CPU", self.cpu, name, host, dtype)

    def families(self, order, dtype, tables, base):
        """Times of variants similar to the chosen one, `base`, and the best of each family."""
        backend = CudaBackend(dtype, self.device)
        shape = Shape.of(tables, backend.dtype)
        few, found = FEW if order == USUAL and not self.quick else 1, like(base, shape, self.device.shared_per_block)
        members = {family: [v for v in found if family.has(v, shape)][:few] for family in FAMILIES}
        variants = list(dict.fromkeys([base, *(v for some in members.values() for v in some)]))
        self.attempt.say(f"{len(variants)} variants")
        part = tuning.middle(tables, tuning.elements_that_fit(self.device, shape, variants), self.device)
        trials, why = variant_trials.prepared(backend, part, variants, self.attempt.say)
        if not trials:
            raise RuntimeError(f"no variant of the kernels at order {order} in {dtype} works on {self.device.name}: {why}")
        times = variant_trials.race(trials, 0.0 if self.quick else SECONDS["variants"], self.device.seconds)
        times = {trial.variant: seconds for trial, seconds in times.items()}
        here = {"order": order, "dtype": dtype, "elements": part.elements}
        self.result["variants"] += [here | {"variant": as_dict(v), "seconds": times[v]} for v in sorted(times, key=times.get)]
        for family, some in members.items():
            best = min((v for v in some if v in times), key=times.get, default=None)
            self.result["families"].append(here | {
                "name": family.name, "source": family.source, "kept": bool(family.has(base, shape)),
                "seconds": times.get(best), "ratio": times[best] / times[base] if best and base in times else None,
                "variant": as_dict(best)})

    def cpu(self, name, operator, dtype):
        """Time the problem of row `name` on this machine's processor, and keep the ratios of the speeds."""
        device = next(r for r in self.result["rows"] if r["name"] == name)
        most = backends.get("numpy").threads
        for threads in sorted({1, min(2, most), most}):
            title = f"{name}, CPU with {threads} thread{'s' * (threads > 1)}"
            self.attempt.say(title)
            host = Problem(operator.on(backends.get("numpy", "fused", dtype, threads)))
            found = row(title, host, self.result["ceilings"], True)
            self.result["cpu"].append(found)
            self.result["ratios"][f"GPU / {title}"] = {
                "best": device["best"] / found["best"], "median": device["median"] / found["median"],
                "target": CPU_TARGET[3] if (found["order"], dtype, threads) == CPU_TARGET[:3] else None}

    def once(self, order, dtype, cells):
        """Seconds of set-up and bytes of memory of one problem."""
        backend, device = CudaBackend(dtype, self.device), self.device
        times = [perf_counter()]
        mesh = box(cells=(cells,) * 3)
        times.append(perf_counter())
        host = NodalDG(order).discretise(mesh, Maxwell(3), pec, backends.get("numpy", "array", dtype))
        times.append(perf_counter())
        operator = host.on(backend)
        device.synchronize()
        times.append(perf_counter())
        found = DeviceProblem(operator, device)
        parts = dict(zip(("mesh", "discretise", "device"), np.diff(times).tolist())) | {"first_step": found.first_step}
        here = {"order": order, "dtype": dtype}
        self.result["setup"] = here | {"elements": len(mesh.cells)} | parts | {"total": sum(parts.values())}
        self.result["memory"] = here | memory(found)

    def scaling(self, order, dtype, cells):
        """Speed on a box of so many cells in each direction, with a step as one CUDA graph and with single launches."""
        host = problem(order, cells)
        found = DeviceProblem(host.on(CudaBackend(dtype, self.device)), self.device)

        def launches():
            for _ in stages(found.operator.operations, LSRK54, found.states, found.k, 0.0, 1e-9):
                pass
        updates = found.dofs * found.stages
        graph, single = found.times(self.quick, 0.2), measured(self.device, launches, self.quick, 0.2)
        self.result["scaling"].append({"order": order, "dtype": dtype, "elements": host.space.count,
                                       "graph": updates / min(graph), "launches": updates / min(single)})


def problem(order, cells):
    """The operator, on the host, of nodal Maxwell in a conducting box: `cells` in each direction, six tetrahedra each."""
    return NodalDG(order).discretise(box(cells=(cells,) * 3), Maxwell(3), pec, backends.get("numpy", "array"))


def as_dict(variant):
    """A variant as a dict for JSON; None for None."""
    return None if variant is None else vars(variant).copy()


def memory(problem):
    """Bytes of a run's arrays on the device, and their ratio to one state; the twelve largest arrays."""
    state = problem.states[0].nbytes
    found = held({"states": problem.states, "k": problem.k, "operations": problem.operator.operations}, type(problem.k))
    largest = sorted(found.items(), key=lambda item: -item[1])[:12]
    return {"state": state, "total": sum(found.values()), "ratio": sum(found.values()) / state,
            "largest": {name.lstrip("."): size / state for name, size in largest}}
