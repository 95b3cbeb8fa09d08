"""How much memory a run of nodal or modal DG will take, from counts alone, before anything large is allocated.

Counted are all arrays that grow with the mesh: what stays from the set-up to the end of the run, and what each phase needs on
top of that.  The letters are those of the kernels: dim d, variables V, elements E, nodes N, faces F and nodes of a face M of
an element, parameters P that vary.
"""
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, comb
from types import SimpleNamespace

from ..backends.arrays import BLOCK_BYTES, PIECE
from ..backends.cpu import matmul
from ..backends.cpu.nodal_source import CACHED
from ..fluxes import upwind
from ..reference import modal_simplex, quadrature, simplex
from ..stepping import registers
from .physics import Physics
from .spectrum import SEARCHES, UNKNOWNS
from .stability import family

PROJECTED = 4096          # elements that the projection of the initial state takes at a time
EARLY = ("set-up", "initial state", "time step")          # phases before the first snapshot


@dataclass(frozen=True)
class Plan:
    """What a run allocates, in bytes.

    host, device   {what: bytes} that stay from the set-up to the end of the run; the device is empty on a CPU
    transient      {phase: (on the host, on the device)} taken beside these for a while, one phase after the other
    snapshot       bytes of one snapshot on the host, of this many variables; coordinates of its nodes: bytes
    free           (on the host, on the device) that was free when the plan was made; None where nobody knows
    """

    host: dict
    device: dict
    transient: dict
    snapshot: int = 0
    variables: int = 1
    coordinates: int = 0
    free: tuple = (None, None)

    @property
    def peak_host(self):
        """The most that the run holds on the host at any moment."""
        return self._peak(0)

    @property
    def peak_device(self):
        """The most that the run holds on the device at any moment, 0 on a CPU."""
        return self._peak(1)

    def _peak(self, place):
        return sum((self.host, self.device)[place].values()) + max((row[place] for row in self.transient.values()), default=0)

    def keeping(self, snapshots):
        """The plan of a run that keeps this many snapshots in memory; its dataset copies one variable of all at a time."""
        kept = snapshots * self.snapshot
        # The host's largest moments before the first snapshot are not on top of the snapshots.
        early = {phase: (max(0, self.transient[phase][0] - kept), self.transient[phase][1]) for phase in EARLY}
        return replace(self, host=self.host | {"snapshots": kept},
                       transient=self.transient | early | {"dataset": (kept // self.variables + self.coordinates, 0)})

    def largest(self, place=0):
        """What takes the most on the host (0) or the device (1), largest first: list of (what, bytes)."""
        phase, row = max(self.transient.items(), key=lambda item: item[1][place], default=("", (0, 0)))
        parts = {**(self.host, self.device)[place], f"{phase} for a while": row[place]}
        return sorted(((what, size) for what, size in parts.items() if size), key=lambda part: -part[1])

    def __str__(self):
        lines = []
        for place, name in enumerate(("memory", "GPU memory")):
            if place == 0 or self.device:
                parts = ", ".join(f"{what} {shown(size)}" for what, size in self.largest(place))
                free = "" if self.free[place] is None else f", {shown(self.free[place])} free"
                lines.append(f"{name}: {shown(self._peak(place))} ({parts}){free}")
        return "; ".join(lines)


def shown(size):
    """Bytes as text: "1.24 GiB"."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def check(plan, backend):
    """Raise ValueError if the plan needs more than is free now: what is needed, what is free, what takes most, what to do."""
    for place, (free, where) in enumerate(zip(backend.free_memory(), ("of memory", "of the GPU's memory"))):
        need = plan._peak(place)
        if free is not None and need > free:
            most = ", ".join(f"{what} {shown(size)}" for what, size in plan.largest(place)[:3])
            single = "" if str(backend.dtype) == "float32" else " or dtype='float32'"
            stored = ", an output file for the snapshots" if "snapshots" in plan.host and place == 0 else ""
            raise ValueError(f"this run needs {shown(need)} {where}, but only {shown(free)} are free; most goes to {most}; "
                             f"take fewer elements, a lower order{stored}{single}")


def nodal_plan(mesh, law, method, backend, stepper, boundary=None, flux=None, source=None):
    """The `Plan` of a run by nodal DG: see `NodalDG.memory`."""
    physics, jumps = physics_of(law, boundary, flux, source, mesh)
    return plan_of(Counts, mesh, law, method, physics, jumps, backend, stepper)


def modal_plan(mesh, law, method, backend, stepper, boundary=None, flux=None, source=None):
    """The `Plan` of a run by modal DG: see `ModalDG.memory`."""
    physics, jumps = physics_of(law, boundary, flux, source, mesh, weak=True)
    return plan_of(ModalCounts, mesh, law, method, physics, jumps, backend, stepper)


def plan_of(counts, mesh, law, method, physics, jumps, backend, stepper):
    """The `Plan` of a run with these counts."""
    uses_x = any(f.depends_on("x") for f in (*vars(physics.functions).values(), *jumps))
    c = counts(mesh, law, method, uses_x, backend.dtype.itemsize)
    c.sources = bool(physics.sources)
    states = sum(registers(stepper)) + 1          # one more is kept to find the cause of a failure
    spectrum = of_spectrum(c, law, physics, backend.threads)
    at_nodes = physics.functions.wave_speed.depends_on("q") or uses_x or getattr(law, "admissible", None) is not None
    checks = getattr(law, "admissible", None) is not None
    # The CPU's kernels compute wave speeds; the array text says where the first state is not admissible.
    rates = not spectrum and (backend.name, method.kernels(backend)) != ("numpy", "fused")
    pointwise = c.pointwise(at_nodes) if rates or checks else 0
    kind = {("numpy", "array"): on_arrays, ("numpy", "fused"): fused, ("cupy", "array"): on_device,
            ("cupy", "fused"): partial(fused_on_device, law, physics, jumps)}[backend.name, method.kernels(backend)]
    host, device, transient = kind(c, states, c.tables(mesh), c.projection(method), spectrum, pointwise, backend)
    lists, taken = c.limiter(method, backend)
    place = device if backend.name == "cupy" else host
    place["limiter"] = place.get("limiter", 0) + lists
    transient["limiter"] = (0, taken) if backend.name == "cupy" else (taken, 0)
    snapshot, coordinates = c.V * c.nodes * c.E * c.b, 8 * c.E * (c.d * c.nodes + c.d + 2)
    transient |= {"report": (snapshot + c.totals + coordinates, 0)}
    host, device = ({what: size for what, size in kept.items() if size} for kept in (host, device))
    transient = {phase: tuple(max(0, int(size)) for size in row) for phase, row in transient.items()}
    return Plan(host, device, transient, snapshot, c.V, coordinates, backend.free_memory())


def physics_of(law, boundary, flux, source, mesh, weak=False):
    """The law's pointwise functions, and the jumps of the boundary conditions that have faces."""
    varying = {name: callable(value) or isinstance(value, dict) for name, value in law.parameters.items()}
    physics = Physics(law, flux or upwind, source, {name: None if varies else float(law.parameters[name])
                                                    for name, varies in varying.items()}, weak)
    conditions = boundary if isinstance(boundary, dict) else {"default": boundary} if boundary else {}
    return physics, [physics.boundary_jump(name, condition) for name, condition in conditions.items()
                     if len(mesh.boundaries.get(name, mesh.boundary_faces))]


class Counts:
    """How many there are of what, and the bytes of what several backends keep."""

    def __init__(self, mesh, law, method, uses_x, itemsize):
        self.d, self.V, self.E, self.F = mesh.dim, len(law.variables), len(mesh.cells), mesh.dim + 1
        self.order, self.uses_x, self.b = method.order, uses_x, itemsize
        self.N, self.M = comb(self.order + self.d, self.d), comb(self.order + self.d - 1, self.d - 1)
        self.nodes = self.N          # in the output
        self.P = sum(callable(value) or isinstance(value, dict) for value in law.parameters.values())
        self.outer = len(mesh.boundary_faces)
        self.inner = (self.E * self.F - self.outer) // 2
        self.geometry = self.d * self.d + self.F * self.d + self.F          # gradients, normals, face scales

    def part(self, elements):
        """The counts of so many of the elements alone, in float64."""
        part = copy(self)
        part.E, part.b, part.outer, part.inner = elements, 8, 0, elements * self.F // 2
        return part

    @property
    def in_float64(self):
        """The state on the host in float64."""
        return 8 * self.V * self.N * self.E

    @property
    def totals(self):
        """The integrals of what is conserved: the state in float64, and a block of it at points for the energy."""
        points = len(quadrature(self.d, 2 * self.order)[1])
        return self.in_float64 + 8 * points * min(self.E, max(16, PIECE // (points * self.N))) * (2 * self.V + 3)

    @property
    def metrics(self):
        """Gradients, normals, scales, origins and tangents in float64."""
        return 8 * self.E * (self.geometry + self.d + self.d * self.d)

    def tables(self, mesh):
        """What the set-up keeps on the host, and what the mesh computes for it if it has not yet."""
        derived = {"normals": self.F * self.d, "face_measures": self.F, "measures": 1, "centroids": self.d}
        new = sum(count for name, count in derived.items() if name not in vars(mesh))
        return {"metrics": self.metrics + 8 * self.E * new, "parameters": 8 * self.P * self.E,
                "connectivity": self.outer * (16 * self.M + 16)}

    def set_up(self, kept):
        """Peak of the tables' own set-up: corners, tangents, owners of the faces, and what the normals are made from."""
        d, F = self.d, self.F
        return sum(kept.values()) + 8 * self.E * (d * (d + 1) + d * d + 1 + F)

    def array_text(self, copies, rates=False):
        """What the array text keeps, on top of the tables; copies: bytes of a number of the tables that it has to copy; rates:
        whether it computes wave speeds at the faces too."""
        d, P, at_faces = self.d, self.P, 2 * self.inner + self.outer
        return {"metrics": (copies * self.E * (d * d + self.F * (d + 1) * rates)
                            + self.b * (self.inner * (d + 2) + self.outer * (d + 1))),
                "parameters": copies * self.E * P + self.b * at_faces * P,
                "connectivity": self.inner * 32 * self.M, "positions": self.positions,
                "face fluxes": self.V * self.F * self.M * self.E * self.b}

    def face_values(self, threads):
        """Values at the faces of a piece of the mesh that each thread keeps, where they are not among the unknowns."""
        return 0

    @property
    def positions(self):
        return self.d * self.N * self.E * self.b * self.uses_x

    @property
    def making_lists(self):
        """The index lists of all faces on the host, before they are cut into blocks."""
        return self.inner * (32 * self.M + 32)

    def volume_temporaries(self, columns):
        """Fluxes in all directions, the same stacked, their derivatives and the product before it is put there."""
        return (2 * self.d + 2) * self.V * self.N * self.b * columns

    def face_temporaries(self, columns):
        """States and jumps of both sides and the parts of a numerical flux: as measured, 7.3 V + 2."""
        return (7.3 * self.V + 2 + (self.d + 1) * self.uses_x) * self.M * self.b * columns

    def temporaries(self, threads):
        """The array text on a CPU: one block of elements or faces for every thread."""
        elements, faces = (min(count, threads * max(16, BLOCK_BYTES // (rows * self.b)))
                           for rows, count in ((self.N, self.E), (self.M, self.inner)))
        return max(self.volume_temporaries(elements), self.face_temporaries(faces))

    def pointwise(self, at_nodes):
        """Wave speeds and what is admissible, at all nodes or one for each element."""
        return (self.d + 4) * self.N * self.E * self.b * at_nodes + 8 * self.E * (self.d + self.F + 6)

    @property
    def fetched(self):
        """A copy of the state on its way into a snapshot."""
        return self.V * self.N * self.E * self.b

    def limiter(self, method, backend):
        """What a limiter keeps, and what it takes for a while."""
        return 0, 0

    def projection(self, method):
        """The initial state, and coordinates and values at the points of a block while those of the one before are there."""
        at_nodes = getattr(method, "start", None) == "interpolation"
        d, V, points = self.d, self.V, self.N if at_nodes else len(quadrature(self.d, 2 * self.order + 4)[1])
        first, second = min(self.E, PROJECTED), min(max(0, self.E - PROJECTED), PROJECTED)
        rows = first * V + max(first * (d + 1), first * d + second * (d + 1) if second else 0, second * (d + 1 + V))
        return self.in_float64 + 8 * points * rows


class ModalCounts(Counts):
    """The same for modal DG by the array text: modes N, points of the volume Q and of a face M."""

    def __init__(self, mesh, law, method, uses_x, itemsize):
        super().__init__(mesh, law, method, uses_x, itemsize)
        reference = modal_simplex(self.d, self.order, method.quadrature)
        self.M, self.Q = len(reference.face_weights), len(reference.weights)
        self.nodes = comb(max(self.order, 1) + self.d, self.d)
        self.checked = getattr(law, "admissible", None) is not None

    @property
    def totals(self):
        points = len(quadrature(self.d, 2 * max(self.order, 1))[1])
        some = min(self.E, max(16, PIECE // (points * self.nodes)))
        return 8 * self.V * self.nodes * self.E + 8 * points * some * (2 * self.V + 3)

    def face_values(self, threads):
        """As they come with the elements around a piece, at most as many again as it has."""
        return 2 * CACHED * threads

    def array_text(self, copies, rates=False):
        return super().array_text(copies, rates) | {"values at the faces": self.V * self.F * self.M * self.E * self.b}

    @property
    def positions(self):
        return self.d * (self.Q + self.F * self.M) * self.E * self.b * self.uses_x

    @property
    def fetched(self):
        return self.V * (self.N + self.nodes) * self.E * self.b

    def volume_temporaries(self, columns):
        """Values at the points, fluxes in all directions and sources, the same stacked, and the product as above."""
        return ((2 * (self.d + self.sources) + 1) * self.Q + 2 * self.N) * self.V * self.b * columns

    def temporaries(self, threads):
        sizes = ((max(self.N, self.Q), self.E, self.volume_temporaries), (self.M, self.inner, self.face_temporaries),
                 (self.F * self.M, self.E, lambda columns: 2 * self.V * self.F * self.M * self.b * columns))
        return max(of(min(count, threads * max(16, BLOCK_BYTES // (rows * self.b)))) for rows, count, of in sizes)

    def limiter(self, method, backend):
        """Index lists, which the limiter of the initial state needs too; linear parts of the state, and blocks of elements with
        5 values (as measured) for each variable and point where shares are looked for.  Fused kernels work in place."""
        options, E, F, d = method.limiting, self.E, self.F, self.d
        if not (options.limiter or options.positivity):
            return 0, 0
        state, by_host = self.V * self.N * E * self.b, (backend.name, method.kernels(backend)) == ("numpy", "fused")
        lists = {None: 0, "barth-jespersen": (8 * F + 1) * E, "vertex": (24 * F + 1) * E}[options.limiter]
        if by_host and options.simple:
            return lists + (8 + self.b) * F * E, 0
        taken = sensed = 2 * state * by_host
        if options.indicator:
            lists += (8 * F + 4 * F * self.M + 16) * E + self.V * F * self.M * E * self.b * by_host
            sensed += 4 * F * self.M * E * self.b
        if options.variables == "primitive":
            taken += 2 * state
        elif options.limiter == "vertex" and self.order > 1:
            parts = sum(comb(q + d - 2, d - 1) for q in range(1, self.order + 1))
            taken += parts * (d + 1) * self.V * E * self.b + 3 * state
        rows = max(F * self.M * (options.limiter == "barth-jespersen"), F * (options.limiter == "vertex"),
                   (self.Q + F * self.M) * options.positivity)
        columns = E if backend.name == "cupy" else min(E, backend.threads * max(16, BLOCK_BYTES // (rows * self.b)))
        return lists, max(sensed, taken + 5 * self.V * rows * columns * self.b)

    def pointwise(self, at_nodes):
        """Wave speeds at the points of one face after the other; what is admissible at all points at once."""
        speeds = (self.d + 4) * self.M * self.b * at_nodes + 8 * (self.d + self.F + 6)
        at_points = max((self.V + max(self.V, self.d + 4)) * self.Q, (self.d + 4) * self.F * self.M) * self.b * self.checked
        return self.E * max(speeds, at_points)


def of_spectrum(c, law, physics, threads):
    """Host bytes of the search for the operator's eigenvalues; 0 where the time step comes from the table."""
    speed, search = physics.functions.wave_speed, SEARCHES[family(law) if c.d > 1 else "scalar"]
    whole = UNKNOWNS // (search.products * c.V * c.N)
    if speed.depends_on("q") or speed.depends_on("t") or whole < c.E and not search.share_of_part:
        return 0
    part = c.part(min(c.E, whole))
    mesh = 0 if part.E == c.E else part.metrics + 8 * part.E * (c.F * (2 * c.d + 3) + c.d * (c.d + 3))
    vectors = search.products + 5          # the Krylov space and those that are worked on
    return vectors * part.in_float64 + mesh + sum(part.array_text(0).values()) + part.temporaries(threads)


def fused(c, states, tables, projection, spectrum, pointwise, backend):
    """Tiles on the CPU, see `dgarray.backends.cpu.nodal`."""
    lanes = matmul.lanes(backend.dtype)
    tiles = ceil(c.E / lanes)
    padded, state = tiles * lanes, tiles * lanes * c.V * c.N * c.b
    copies = c.b if c.b < 8 else 0
    faces, index = c.F * c.M, 4 if tiles * lanes * c.V * c.N < 2 ** 31 else 8
    numbers = c.geometry + (c.d + c.d * c.d) * c.uses_x
    scratch = c.V * ((3 + c.d) * c.N + faces) * lanes * c.b * backend.threads
    used = bool(pointwise)
    inherited = {"parameters": copies * c.E * c.P, "positions": c.positions * used}
    tiled = {"metrics": numbers * padded * c.b, "parameters": max(1, c.P) * (c.E + padded) * c.b,
             "scratch": scratch + c.face_values(backend.threads)}
    lists = {"connectivity": padded * (faces * index + 4 * c.F) + 12 * c.outer}
    kept = added({"state and registers": states * state}, tables, inherited, tiled, lists)
    total, own = sum(kept.values()), sum(added(tables, inherited).values())
    # The set-up does one thing after the other, and what comes later, the states at least, is not there yet.
    peaks = [c.set_up(tables), own + sum(lists.values()) + faces * c.E * (16 + 2 * index),
             total - states * state + numbers * c.E * max(8, 2 * c.b)]
    first = c.in_float64
    checked = state + pointwise + c.d * c.N * c.E * (8 if c.b == 8 else 12) * c.uses_x if used else 0
    return kept, {}, {"set-up": (max(peaks) - total, 0),
                      "initial state": (max(projection, first + max(c.totals, state, checked)), 0),
                      "time step": (first + spectrum, 0),
                      "snapshots": (max((2 if padded > c.E else 1) * state, c.fetched), 0)}


def on_arrays(c, states, tables, projection, spectrum, pointwise, backend):
    """The array text on the CPU: in float64 the tables are the arrays."""
    state = c.V * c.N * c.E * c.b
    kept = added({"state and registers": states * state}, tables, c.array_text(c.b if c.b < 8 else 0, bool(pointwise)))
    total = sum(kept.values())
    later = sum(c.array_text(0)[what] for what in ("connectivity", "face fluxes"))
    stages, first = c.temporaries(backend.threads), c.in_float64
    begin = max(c.totals, first + (state if c.b < 8 else 0), c.making_lists, stages)
    return kept, {}, {"set-up": (max(c.set_up(tables), total - later - states * state + 2 * c.positions) - total, 0),
                      "initial state": (max(projection - later, first + begin), 0),
                      "time step": (first + max(spectrum, pointwise), 0),
                      "stages": (max(stages, pointwise), 0),
                      "snapshots": (c.fetched, 0)}


def on_device(c, states, tables, projection, spectrum, pointwise, backend):
    """The array text on a GPU, in one block; set-up and snapshots on the host."""
    state, on_host = c.V * c.N * c.E * c.b, sum(tables.values())
    kept = added({"state and registers": states * state}, c.array_text(c.b, bool(pointwise)),
                 {"connectivity": c.outer * 16 * c.M})
    stages = max(c.volume_temporaries(c.E), c.face_temporaries(c.inner))
    first = c.in_float64
    begin = max(c.totals, first + (state if c.b < 8 else 0), 2 * c.making_lists)
    return tables, kept, {"set-up": (max(c.set_up(tables) - on_host, 16 * c.d * c.N * c.E * c.uses_x), 0),
                          "initial state": (max(projection, first + begin), max(state, stages)),
                          "time step": (first + spectrum, pointwise),
                          "stages": (0, max(stages, pointwise)),
                          "snapshots": (c.fetched, 0)}


def fused_on_device(law, physics, jumps, c, states, tables, projection, spectrum, pointwise, backend):
    """The fused kernels on a GPU, see `dgarray.backends.cuda.nodal`; of the variants that may be chosen, the largest."""
    kept, variant = max(((of_variant(variant, physics, jumps, c, states), variant) for variant in variants(law, c, backend)),
                        key=lambda plan: sum(plan[0].values()))
    if pointwise:          # wave speeds and what is admissible are computed by the array text
        kept = added(kept, {"metrics": c.b * c.E * c.F * (c.d + 1), "parameters": c.b * c.E * c.P, "positions": c.positions})
    padded = kept["state and registers"] // states          # what a state takes on the device
    state, on_host = c.V * c.N * c.E * c.b, sum(tables.values())
    rows, slots, first = c.geometry + (c.d + c.d * c.d) * c.uses_x + c.P, c.F * c.M, c.in_float64
    packed = padded // (c.V * c.N)          # a row on the device
    lists = max(24 * slots * c.E * (variant.faces != "once"), c.inner * (64 * c.M + 112) * (variant.faces != "both"))
    # The rows of a state that is kept in blocks are a copy; wave speeds and what is admissible are found from it.
    blocks, found = bool(variant.width), bool(pointwise)
    checked, pointwise = padded // c.b, found * (pointwise + blocks * padded)
    return (tables | {"snapshot on its way": padded}, kept | {"snapshot on its way": padded}, {
        "set-up": (max(c.set_up(tables) - on_host, 8 * rows * c.E + 2 * rows * packed, lists) - padded, 0),
        "initial state": (max(projection, first + max(c.totals, 2 * padded)), padded),
        "time step": (first + max(spectrum, 16 * c.d * c.N * c.E * c.uses_x * found), pointwise),
        "stages": (0, max(checked, pointwise)),
        "snapshots": ((1 + blocks) * padded + state, 0)})


def variants(law, c, backend):
    """The variants of the GPU's kernels that a run may come to use."""
    from ..backends.cuda import tuning
    cell = simplex(c.d, c.order)
    problem = SimpleNamespace(law=law, order=c.order, dim=c.d, variables=c.V, parameters=range(c.P), needs_x=c.uses_x,
                              nodes=cell.nodes, face_nodes=cell.face_nodes)
    shape, device = tuning.Shape.of(problem, backend.dtype), backend.device
    found = tuning.lookup(device, problem, backend.dtype)
    if found is not None:
        return [found]
    tunes = tuning.first_run() and getattr(device, "tunes", False)
    return tuning.shortlist(shape, device.shared_per_block) if tunes else [tuning.default(shape, device.shared_per_block)]


def of_variant(variant, physics, jumps, c, states):
    """What the fused kernels keep on the device in one variant: {what: bytes}."""
    from ..backends.cuda.layout import Layout
    padded, slots = Layout(c.E, variant.width).size(1), c.F * c.M
    most = max(c.V * max(c.N, slots, (c.d * c.N + slots) * (variant.product == "cublas")), c.geometry + c.P)
    index = 4 if padded * most < 2 ** 31 else 8
    own = {"metrics": c.b * padded * (c.geometry + (c.d + c.d * c.d) * c.uses_x), "parameters": c.b * padded * c.P}
    if variant.faces == "once":
        inner, outer = read(physics.functions.pair, c.M), max((read(jump, c.M) for jump in jumps), default=0)
        at_faces = {"metrics": c.b * (c.inner * inner + c.outer * outer), "connectivity": 4 * (5 * c.inner + 3 * c.outer),
                    "face fluxes": c.b * padded * c.V * slots}
    else:          # jobs of blocks: a face that two elements of a block share is there once, others twice
        at_faces = {"connectivity": index * padded * slots + 12 * c.F * c.E * (variant.faces == "block")}
    operands = c.b * padded * c.V * ((c.d + 1) * c.N + slots) * (variant.product == "cublas")
    return added({"state and registers": states * c.b * padded * c.V * c.N}, own, at_faces, {"operands": operands})


def read(function, nodes):
    """Numbers that a kernel over faces of so many nodes keeps of each for this function: positions for every node."""
    counts = {"x": nodes, "n": 1, "s": 1, "m": 1, "ml": 1, "mr": 1}
    return sum(counts.get(argument, 0) for argument, _ in function.used.values())


def added(*parts):
    """The sums of dictionaries {what: bytes}."""
    return {what: sum(part.get(what, 0) for part in parts) for what in dict.fromkeys(what for part in parts for what in part)}
