"""Speed of the package on the CPU, compared with what the machine can do: `dgarray bench`."""
from dataclasses import replace
from functools import partial
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from .. import backends
from ..mesh import Grid, box, pml, rectangle
from ..methods import FiniteVolume, Hermite, ModalDG, NodalDG, TensorDG
from ..methods.finite_volume.method import Strang
from ..methods.hermite.method import VARIANTS
from ..physics.boundary import pec, wall
from ..physics.fluxes import hllc, hlld, ranocha, rusanov
from ..physics.laws import MHD, Acoustics, Advection, Euler, Maxwell
from ..stepping import LSRK54, RK4, SSP54, Taylor
from ..support.array_memory import held
from ..support.wording import choose
from .attempts import Attempts, rounded
from .machine import machine
from .machine_load import load, remarks
from .problem import Problem, ceiling, of_case
from .roofline import Cost, bound, ceilings, limit, of_the_paper
from .tables import table

__all__ = ["Problem", "bench", "held", "rounded", "table"]

REFERENCE = {"multiply_add": 109e9, "bandwidth": 50e9}       # ceilings of the machine to which the targets in ROWS apply
IN_TURNS = 1.5               # s at least that two problems take steps in turns; a shorter time is disturbed by other programs


class Row(NamedTuple):
    """A problem that is measured.

    mesh      its name, a key of SIZES
    order     of the method; the scheme of finite volumes
    threads   CPU threads; None: all
    target    DOF updates/s on the machine with the ceilings REFERENCE; None: no target
    options   further arguments of the method"""

    mesh: str
    law: object
    boundary: object
    order: int | str
    target: float | None = None
    dtype: str = "float64"
    kernels: str = "fused"
    threads: int | None = None
    method: type = NodalDG
    stepper: object = LSRK54
    flux: object = None
    options: dict = {}


def hermite(law, order, boundary=None, **options):
    """A row of Hermite's method as in Vargas, Chan, Hagstrom & Warburton 2016; the aim is 40 % of the roofline bound."""
    return Row("grid" if boundary is None else "grid with walls", law, boundary, order, None, method=Hermite, stepper=Taylor,
               options=options)


def gas(mesh, order, target, **options):
    """A row of Euler by modal DG with RK4, as in Fuhry, Giuliani & Krivodonova 2014; targets are measured rates of PyFR 3.1."""
    dim = 3 if "tetrahedra" in mesh else 2
    return Row(mesh, Euler(dim), None, order, target, method=ModalDG, stepper=RK4, flux=rusanov, **options)


def tensor(mesh, law, order, target=None, **options):
    """A row of tensor-product DG; of a gas with RK4 and Rusanov's flux, as PyFR computes it."""
    given = {"stepper": RK4, "flux": rusanov} if isinstance(law, Euler) else {}
    return Row(mesh, law, None if "gas" in mesh else pec, order, target, method=TensorDG, **given, **options)


def one(x):
    """A parameter that is 1 everywhere, which kernels read for each element."""
    return np.ones_like(x[0])


def volumes(scheme, flux, law=None, mesh="square grid", **options):
    """A row of finite volumes on a periodic grid, by default of MHD as in Helluy et al. 2015, section 2."""
    law = law or MHD(3 if "cube" in mesh else 2, cleaning_speed=1.0)
    stepper = SSP54 if scheme == "weno" else Strang
    return Row(mesh, law, None, scheme, method=FiniteVolume, stepper=stepper, flux=flux, **options)


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
    **{f"Maxwell 3D D={order}, hexahedra": tensor("hexahedra", Maxwell(3), order, 300e6) for order in (2, 3, 4)},
    "Maxwell 3D D=8, hexahedra": tensor("fewer hexahedra", Maxwell(3), 8),
    "Maxwell 3D D=3, hexahedra, float32": tensor("hexahedra", Maxwell(3), 3, 1.7 * 300e6, dtype="float32"),
    "Maxwell 3D D=3, warped hexahedra": tensor("warped hexahedra", Maxwell(3), 3),
    **{f"Maxwell 3D D={order}, hexahedra": tensor("hexahedra", Maxwell(3), order) for order in (0, 1)},
    **{f"Maxwell 3D D={order}, hexahedra, generic": tensor("warped hexahedra", Maxwell(3, eps=one, mu=one), order)
       for order in range(5)},
    **{f"Euler 3D p={order}, hexahedra": tensor("gas hexahedra", Euler(3), order) for order in (2, 3, 4)},
    "Euler 3D p=3, split form": tensor("gas hexahedra", Euler(3), 3, options={"nodes": "lobatto", "volume_flux": ranocha}),
    **{f"Euler 2D p={order}, quadrilaterals": tensor("gas quadrilaterals", Euler(2), order) for order in (3, 4)},
    **{f"Hermite advection, {variant}": hermite(Advection((1.0, 0.5, 0.25)), 3, variant=variant)
       for variant in VARIANTS},
    "Hermite advection, unpruned": hermite(Advection((1.0, 0.5, 0.25)), 3, variant="two-kernel", pruned=False),
    "Hermite acoustics N=3": hermite(Acoustics(3), 3),
    "Hermite acoustics N=3, unpruned": hermite(Acoustics(3), 3, pruned=False),
    "Hermite Maxwell N=2": hermite(Maxwell(3), 2, pec),
    "MHD 2D first order": volumes("first-order", rusanov),
    "MHD 2D first order, float32": volumes("first-order", rusanov, dtype="float32"),
    "MHD 2D first order, 1 thread": volumes("first-order", rusanov, threads=1),
    "MHD 2D first order, array kernels": volumes("first-order", rusanov, kernels="array"),
    "MHD 2D muscl": volumes("muscl", hlld),
    "MHD 2D muscl, float32": volumes("muscl", hlld, dtype="float32"),
    "MHD 2D weno": volumes("weno", None, mesh="small square grid"),
    "MHD 3D muscl": volumes("muscl", hlld, mesh="cube grid"),
    "Euler 2D muscl": volumes("muscl", hllc, Euler(2)),
}
# {paper: {name: row}}, what a paper measures and the list above lacks
PAPERS = {
    # rate of operations over the order in 2D, figure 4 (a)
    "kloeckner-2013": {f"Maxwell 2D TM N={order}, {dtype}": Row("triangles", Maxwell(2), pec, order, dtype=dtype)
                       for dtype in ("float32", "float64") for order in range(1, 10)},
    # two kernels over the number of stages, figure 3
    "vargas-2016": {f"Hermite advection N={order}, two-kernel, {stages} stages": hermite(
        Advection((-1.0, -1.0, -1.0)), order, variant="two-kernel", stages=stages)._replace(dtype="float32")
        for order in (1, 2, 3) for stages in range(2 * order + 1, 3 * (2 * order + 1) + 1, 2 * order + 1)},
    # absorbing layers of five and of ten cells on all sides, table 6, beside the same mesh without them
    "helluy-2015": {f"Maxwell 3D D={order}, hexahedra, {kind} {depth}": tensor(
        f"inner hexahedra, {kind} {depth}", Maxwell(3), order, dtype="float32")
        for order in range(5) for depth in (5, 10) for kind in ("plain", "layers of")},
}
ALL = ROWS | {name: row for rows in PAPERS.values() for name, row in rows.items()}
RATIOS = {
    "float32 / float64": ("Maxwell 3D N=3, float32", "Maxwell 3D N=3", 1.7),
    "2 threads / 1 thread": ("Maxwell 3D N=3", "Maxwell 3D N=3, 1 thread", 1.8),
    "float32 / float64, Euler": ("Euler 2D p=3, float32", "Euler 2D p=3", 1.7),
    "float32 / float64, hexahedra": ("Maxwell 3D D=3, hexahedra, float32", "Maxwell 3D D=3, hexahedra", 1.7),
    "order 8 / order 3, hexahedra": ("Maxwell 3D D=8, hexahedra", "Maxwell 3D D=3, hexahedra", 1 / 1.6),
    "warped / straight, hexahedra": ("Maxwell 3D D=3, warped hexahedra", "Maxwell 3D D=3, hexahedra", 1 / 1.5),
    **{f"specialised / generic, D={order}": (f"Maxwell 3D D={order}, hexahedra", f"Maxwell 3D D={order}, hexahedra, generic",
                                             None) for order in range(5)},
    "collapsed / two-kernel, Hermite": ("Hermite advection, collapsed", "Hermite advection, two-kernel", None),
    "collapsed / two-kernel as in the paper, Hermite": ("Hermite advection, collapsed", "Hermite advection, unpruned", 8.0),
    "float32 / float64, MHD first order": ("MHD 2D first order, float32", "MHD 2D first order", 1.7),
    "float32 / float64, MHD muscl": ("MHD 2D muscl, float32", "MHD 2D muscl", 1.7),
    "2 threads / 1 thread, MHD": ("MHD 2D first order", "MHD 2D first order, 1 thread", None),
    **{f"with layers of {depth} / without, D={order}": (*(f"Maxwell 3D D={order}, hexahedra, {kind} {depth}"
                                                          for kind in ("layers of", "plain")), None)
       for order in range(5) for depth in (5, 10)},
    "pruned / not pruned, Hermite acoustics": ("Hermite acoustics N=3", "Hermite acoustics N=3, unpruned", 1 / (1 - 0.25)),
}
# {mesh: cells of `box`, `rectangle` or `Grid`}; the meshes for a gas are periodic.
SIZES = {"tetrahedra": (20, 20, 21), "triangles": (158, 158), "setup": (25, 25, 27), "gas triangles": (100, 100),
         "more gas triangles": (158, 158), "gas tetrahedra": (15, 15, 15), "grid": (64, 64, 64),
         "grid with walls": (48, 48, 48), "square grid": (1024, 1024), "small square grid": (256, 256),
         "cube grid": (128, 128, 128), "hexahedra": (20, 20, 20), "fewer hexahedra": (8, 8, 8),
         "warped hexahedra": (20, 20, 20), "inner hexahedra": (20, 20, 20), "gas hexahedra": (20, 20, 20),
         "gas quadrilaterals": (100, 100)}
QUICK = {"tetrahedra": (6, 6, 6), "triangles": (20, 20), "setup": (8, 8, 8), "gas triangles": (14, 14),
         "more gas triangles": (20, 20), "gas tetrahedra": (4, 4, 4), "grid": (8, 8, 8), "grid with walls": (6, 6, 6),
         "square grid": (24, 24), "small square grid": (16, 16), "cube grid": (8, 8, 8), "hexahedra": (4, 4, 4),
         "fewer hexahedra": (3, 3, 3), "warped hexahedra": (4, 4, 4), "inner hexahedra": (2, 2, 2), "gas hexahedra": (4, 4, 4),
         "gas quadrilaterals": (10, 10)}
SHAPES = {"hexahedra": "hexahedron", "quadrilaterals": "quadrilateral"}
SECONDS = 2.0                        # how long each ceiling is measured
OF_MEMORY = "Maxwell 3D N=3"         # the row whose arrays are counted


def bench(cases=None, quick=False, progress=None, rows=None, sizes=None, keep=None, paper=None):
    """Measure this machine's ceilings and the package's speed: a dict for JSON, all rates in 1/s, times in s, sizes in bytes.

    cases      names of cases to measure instead of the package's own list; all options of a case are its defaults
    quick      small meshes and few steps, to see that everything runs
    progress   function called with a line of text before each part and after each error
    rows       names of rows in ROWS, the package's own list, to measure; all by default
    paper      instead of the own list what this paper measures besides, a key of PAPERS
    sizes      {"tetrahedra": cells, "triangles": cells, ...} of `box` and `rectangle`, instead of those of SIZES or QUICK
    keep       function called with the result so far after each part, e.g. to write it to a file
    A rate is the number of DOF updates of all variables per second in whole steps, without compiling.  A step of nodal DG has
    five evaluations (LSRK54), of Euler four (RK4), of Hermite two half-steps; one of finite volumes with splitting sweeps twice
    along each axis.
    Result: machine, ceilings, rows (see `row`) and, for the own list, ratios, memory and setup, numbers with six digits;
    remarks: sentences on what disturbed the measurement, see `dgarray.bench.machine_load`;
    failed: name, error and traceback of each part that raised an error, in place of what it would have measured.
    Raises ValueError for names in `rows` and `sizes` that do not exist."""
    if paper is not None:
        rows = PAPERS[choose("paper", paper, PAPERS)]
    rows = list(ROWS) if rows is None else [choose("row", name, ALL) for name in rows]
    sizes = (QUICK if quick else SIZES) | {choose("size", name, SIZES): cells for name, cells in (sizes or {}).items()}
    threads = backends.get("numpy").threads
    result = {"machine": machine(threads) | {"load": load()}, "reference": REFERENCE, "ceilings": {}, "rows": []}
    attempt, limits = Attempts(result, progress, keep), result["ceilings"]
    attempt.say("ceilings")
    for dtype in ("float64", "float32"):
        for n in sorted({1, threads}):
            limits[ceiling(dtype, n)] = ceilings(dtype, n, 0.2 if quick else SECONDS)

    made = {}          # problems that ratios compare again: small ones are kept, large ones would not fit side by side

    def measure(name, make, target=None):
        problem = make(name)
        if quick:
            made[name] = problem
        result["rows"].append(row(name, problem, limits, quick, target))
        if name == OF_MEMORY:
            result["memory"] = memory(problem)

    if cases:
        for name in cases:
            attempt(name, measure, name, problem_of_case)
        return rounded(result | {"remarks": remarks(result, quick)})
    own = limits[ceiling("float64", threads)]
    scale = min(own[name] / REFERENCE[name] for name in REFERENCE)
    meshes = {name: mesh_of(name, sizes) for name in dict.fromkeys(ALL[row].mesh for row in rows)}
    for name in rows:
        target = ALL[name].target
        attempt(name, measure, name, partial(problem_of_row, meshes=meshes), target and target * scale)
    result["ratios"] = {}

    def compared(name, both, target):
        problems = [made.get(each) or problem_of_row(each, meshes) for each in both]
        result["ratios"][name] = ratio(problems, quick) | {"target": target}

    for name, (*both, target) in RATIOS.items():
        if not (threads == 1 and "thread" in name) and set(both) <= set(rows):
            attempt(name, compared, name, both, target)
    if paper is None:
        attempt("set-up", lambda: result.update(setup=setup(sizes["setup"])))
    return rounded(result | {"remarks": remarks(result, quick)})


def mesh_of(name, sizes):
    """The mesh or grid of that name, with cells from `sizes`; "NAME, layers of 5" has absorbing layers of five cells around it,
    "NAME, plain 5" the same elements without layers."""
    cells = sizes[name.split(",")[0]]
    if "grid" in name:
        return Grid((0,) * len(cells), (1,) * len(cells), cells, periodic="walls" not in name)
    shape = next((shape for word, shape in SHAPES.items() if word in name), None)
    mesh = (box if len(cells) == 3 else rectangle)(cells=cells, periodic="gas" in name, **{"shape": shape} if shape else {})
    if "," in name:
        mesh = pml(mesh, (depth := int(name.split()[-1])) / cells[0], depth)
        return replace(mesh, layers=()) if "plain" in name else mesh
    return mesh.mapped(lambda x: (x[0] + 0.05 * np.sin(6 * x[1]) * np.sin(6 * x[2]), *x[1:])) if "warped" in name else mesh


def problem_of_case(name):
    """The case of that name as a Problem."""
    simulation = of_case(name)
    operator = simulation.operator
    return Problem(operator, operator.project(simulation.initial), simulation.stepper)


def problem_of_row(name, meshes):
    """The row of ROWS of that name as a Problem on one of the meshes."""
    row = ALL[name]
    backend = backends.get("numpy", row.kernels, row.dtype, row.threads if row.kernels == "fused" else None)
    return Problem(discretised(row, meshes[row.mesh], backend), None, row.stepper)


def discretised(row, mesh, backend):
    """The row's method, law and boundary condition on a mesh and a backend."""
    return row.method(row.order, **row.options).discretise(mesh, row.law, row.boundary, backend, row.flux)


def row(name, problem, limits, quick, target=None):
    """Measure one problem: best and median rate, costs of a stage per element, share of the bound, and its operations.

    name      of the row
    problem   `Problem` or `DeviceProblem`
    limits    {name: ceilings} measured so far; missing ones are added
    quick     few steps
    target    rate to compare with, DOF updates/s, or None
    For Hermite's method "paper" has the operations of the paper's algorithm, and the share of the bound that it would have to
    reach to be as fast: see `roofline.of_the_paper`."""
    operator = problem.operator
    backend, tables, times = operator.backend, problem.tables, problem.times(quick)
    counts, least, most = problem.counts(), problem.least(), problem.ceilings(limits, problem.threads)
    updates = problem.dofs * problem.stages
    best, at_bound = updates / min(times), problem.dofs / tables.elements / bound(least, most)
    flops, size = sum(o.flops for o in counts), sum(o.bytes for o in counts)
    whole = Cost("stage", sum(o.flops for o in least), sum(o.bytes for o in least))
    paper, stage = of_the_paper(tables, counts), min(times) / problem.stages
    share = {"paper": {"flops_per_element_stage": sum(o.flops for o in paper),
                       "share_of_bound": bound(paper, most) * tables.elements / stage}} if paper else {}
    return {"name": name, "law": repr(tables.law), "order": tables.order, "elements": tables.elements, "dofs": problem.dofs,
            "dtype": str(backend.dtype), "kernels": problem.kernels, "threads": problem.threads, "steps": len(times),
            "best": best, "median": updates / median(times), "flops_per_element_stage": flops,
            "bytes_per_element_stage": size, "flop_rate": flops * best * tables.elements / problem.dofs, "bound": at_bound,
            "bound_by": limit(whole, most), "share_of_bound": best / at_bound,
            "target": target, "first_step_s": problem.first_step,
            "operations": operations(problem, counts, limits, stage, quick)} | share


def operations(problem, counts, limits, stage, quick):
    """[dict for each operation of a stage]: its seconds on all elements, operations and bytes per element, and the seconds that
    the ceilings allow at least.

    counts: list of `Cost`;  stage: seconds of a whole stage"""
    elements, found = problem.tables.elements, []
    threads, seconds = problem.seconds([o.name for o in counts], stage, quick)
    most = problem.ceilings(limits, threads)
    for o in counts:
        least = bound([o], most) * elements
        if least:                       # an operation without work, such as a source that the problem lacks, is not called
            found.append({"name": o.name, "threads": threads, "seconds": seconds[o.name], "flops": o.flops, "bytes": o.bytes,
                          "bound_seconds": least, "bound_by": limit(o, most), "share_of_bound": least / seconds[o.name]})
    return found


def ratio(problems, quick):
    """Speed of the first of two problems over that of the second, by steps in turns: of the best times, median of the pairs.

    Elements of one order count alike, though some may have unknowns of a layer besides; else degrees of freedom count."""
    pairs, end = [], perf_counter() + (0 if quick else IN_TURNS)
    while len(pairs) < (3 if quick else 16) or perf_counter() < end:
        pairs.append([p.step() for p in problems])
    alike = len({p.tables.order for p in problems}) == 1
    updates = [(p.tables.elements if alike else p.dofs) * p.stages for p in problems]
    best = [count / min(times) for count, times in zip(updates, zip(*pairs))]
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
    """Bytes of all arrays of a run, host tables and mesh included, and their ratio to one state; the twelve largest arrays."""
    found = held(problem)
    state = problem.states[0].nbytes
    largest = sorted(found.items(), key=lambda item: -item[1])[:12]
    return {"state": state, "total": sum(found.values()), "ratio": sum(found.values()) / state,
            "largest": {name: size / state for name, size in largest}}
