"""How much memory a run of nodal DG will take, from counts alone, before anything large is allocated.

Counted are all arrays that grow with the mesh: what stays from the set-up to the end of the run, and what each phase needs on
top of that.  The letters are those of the kernels: dim d, variables V, elements E, nodes N, faces F and nodes of a face M of
an element, parameters P that vary.
"""
from copy import copy
from dataclasses import dataclass, replace
from math import ceil, comb

from ..backends.arrays import BLOCK_BYTES, PIECE
from ..backends.cpu import matmul
from ..fluxes import upwind
from ..reference import quadrature
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
    uses_x = any(f.depends_on("x") for f in (*vars(physics.functions).values(), *jumps))
    c = Counts(mesh, law, method.order, uses_x, backend.dtype.itemsize)
    states = sum(registers(stepper)) + 1          # one more is kept to find the cause of a failure
    spectrum = of_spectrum(c, law, physics, backend.threads)
    at_nodes = physics.functions.wave_speed.depends_on("q") or uses_x or getattr(law, "admissible", None) is not None
    pointwise = c.pointwise(at_nodes) if not spectrum or getattr(law, "admissible", None) is not None else 0
    kind = on_device if backend.name == "cupy" else fused if backend.kernels == "fused" else on_arrays
    host, device, transient = kind(c, states, c.tables(mesh), c.projection(method.start), spectrum, pointwise, backend)
    snapshot, coordinates = c.V * c.N * c.E * c.b, 8 * c.E * (c.d * c.N + c.d + 2)
    transient |= {"report": (snapshot + c.totals + coordinates, 0)}
    host, device = ({what: size for what, size in kept.items() if size} for kept in (host, device))
    transient = {phase: tuple(max(0, int(size)) for size in row) for phase, row in transient.items()}
    return Plan(host, device, transient, snapshot, c.V, coordinates, backend.free_memory())


def physics_of(law, boundary, flux, source, mesh):
    """The law's pointwise functions, and the jumps of the boundary conditions that have faces."""
    varying = {name: callable(value) or isinstance(value, dict) for name, value in law.parameters.items()}
    physics = Physics(law, flux or upwind, source, {name: None if varies else float(law.parameters[name])
                                                    for name, varies in varying.items()})
    conditions = boundary if isinstance(boundary, dict) else {"default": boundary} if boundary else {}
    return physics, [physics.boundary_jump(name, condition) for name, condition in conditions.items()
                     if len(mesh.boundaries.get(name, mesh.boundary_faces))]


class Counts:
    """How many there are of what, and the bytes of what several backends keep."""

    def __init__(self, mesh, law, order, uses_x, itemsize):
        self.d, self.V, self.E, self.F = mesh.dim, len(law.variables), len(mesh.cells), mesh.dim + 1
        self.order, self.uses_x, self.b = order, uses_x, itemsize
        self.N, self.M = comb(order + self.d, self.d), comb(order + self.d - 1, self.d - 1)
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

    def array_text(self, copies):
        """What the array text keeps, on top of the tables; copies: bytes of a number of the tables that it has to copy."""
        d, P, at_faces = self.d, self.P, 2 * self.inner + self.outer
        return {"metrics": copies * self.E * self.geometry + self.b * (self.inner * (d + 2) + self.outer * (d + 1)),
                "parameters": copies * self.E * P + self.b * at_faces * P,
                "connectivity": self.inner * 32 * self.M, "positions": self.positions,
                "face fluxes": self.V * self.F * self.M * self.E * self.b}

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

    def projection(self, start):
        """The initial state, and coordinates and values at the points of a block while those of the one before are there."""
        d, V, points = self.d, self.V, self.N if start == "interpolation" else len(quadrature(self.d, 2 * self.order + 4)[1])
        first, second = min(self.E, PROJECTED), min(max(0, self.E - PROJECTED), PROJECTED)
        rows = first * V + max(first * (d + 1), first * d + second * (d + 1) if second else 0, second * (d + 1 + V))
        return self.in_float64 + 8 * points * rows


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
    inherited = {"metrics": copies * c.E * c.geometry, "parameters": copies * c.E * c.P, "positions": c.positions}
    tiled = {"metrics": numbers * padded * c.b, "parameters": max(1, c.P) * (c.E + padded) * c.b, "scratch": scratch}
    lists = {"connectivity": padded * (faces * index + 4 * c.F) + 12 * c.outer}
    kept = added({"state and registers": states * state}, tables, inherited, tiled, lists)
    total, own = sum(kept.values()), sum(added(tables, inherited).values())
    # The set-up does one thing after the other, and what comes later, the states at least, is not there yet.
    peaks = [c.set_up(tables), own + c.d * c.N * c.E * (8 if c.b == 8 else 12) * c.uses_x,
             own + sum(lists.values()) + faces * c.E * (16 + 2 * index),
             total - states * state + numbers * c.E * max(8, 2 * c.b)]
    stages, first = max(2 * state, state + pointwise) if pointwise else 0, c.in_float64
    return kept, {}, {"set-up": (max(peaks) - total, 0),
                      "initial state": (max(projection, first + max(c.totals, state)), 0),
                      "time step": (first + max(spectrum, stages), 0),
                      "stages": (stages, 0),
                      "snapshots": ((2 if padded > c.E else 1) * state, 0)}


def on_arrays(c, states, tables, projection, spectrum, pointwise, backend):
    """The array text on the CPU: in float64 the tables are the arrays."""
    state = c.V * c.N * c.E * c.b
    kept = added({"state and registers": states * state}, tables, c.array_text(c.b if c.b < 8 else 0))
    total = sum(kept.values())
    later = sum(c.array_text(0)[what] for what in ("connectivity", "face fluxes"))
    stages, first = c.temporaries(backend.threads), c.in_float64
    begin = max(c.totals, first + (state if c.b < 8 else 0), c.making_lists, stages)
    return kept, {}, {"set-up": (max(c.set_up(tables), total - later - states * state + 2 * c.positions) - total, 0),
                      "initial state": (max(projection - later, first + begin), 0),
                      "time step": (first + max(spectrum, pointwise), 0),
                      "stages": (max(stages, pointwise), 0),
                      "snapshots": (state, 0)}


def on_device(c, states, tables, projection, spectrum, pointwise, backend):
    """The array text on a GPU, in one block; set-up and snapshots on the host."""
    state, on_host = c.V * c.N * c.E * c.b, sum(tables.values())
    kept = added({"state and registers": states * state}, c.array_text(c.b), {"connectivity": c.outer * 16 * c.M})
    stages = max(c.volume_temporaries(c.E), c.face_temporaries(c.inner))
    first = c.in_float64
    begin = max(c.totals, first + (state if c.b < 8 else 0), 2 * c.making_lists)
    return tables, kept, {"set-up": (max(c.set_up(tables) - on_host, 16 * c.d * c.N * c.E * c.uses_x), 0),
                          "initial state": (max(projection, first + begin), max(state, stages)),
                          "time step": (first + spectrum, pointwise),
                          "stages": (0, max(stages, pointwise)),
                          "snapshots": (state, 0)}


def added(*parts):
    """The sums of dictionaries {what: bytes}."""
    return {what: sum(part.get(what, 0) for part in parts) for what in dict.fromkeys(what for part in parts for what in part)}
