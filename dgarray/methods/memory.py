"""How much memory a run of nodal or modal DG will take, from counts alone, before anything large is allocated.

Counted are all arrays that grow with the mesh: what stays from the set-up to the end of the run, and what each phase needs on
top of that.
"""
from dataclasses import dataclass, replace
from functools import partial

from ..fluxes import upwind
from ..stepping import registers
from .memory_counts import Counts, ModalCounts
from .memory_kinds import fused, fused_on_device, modal_on_device, of_spectrum, on_arrays, on_device
from .physics import Physics

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

    def with_one_state_more(self, states):
        """The plan of a run that keeps one array more of the state's size, where it has so many."""
        place = "device" if self.device else "host"
        kept = getattr(self, place)
        size = kept["state and registers"] // states
        return replace(self, **{place: kept | {"state and registers": kept["state and registers"] + size}})

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
        parts = {**(self.host, self.device)[place], f"temporary for the {phase}": row[place]}
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
    c.everywhere = physics.functions.wave_speed.depends_on("q")
    at_nodes = c.everywhere or uses_x or getattr(law, "admissible", None) is not None
    checks = getattr(law, "admissible", None) is not None
    # The kernels of the CPU, and those by quadrature, compute wave speeds; the array text says where the first state is not
    # admissible.
    modal = counts is ModalCounts
    rates = not spectrum and not (method.kernels(backend) == "fused" and (backend.name == "numpy" or modal))
    pointwise = c.pointwise(at_nodes, rates) if rates or checks else 0
    kind = {("numpy", "array"): on_arrays, ("numpy", "fused"): fused, ("cupy", "array"): on_device,
            ("cupy", "fused"): partial(modal_on_device, physics, jumps) if modal else
            partial(fused_on_device, law, physics, jumps)}[backend.name, method.kernels(backend)]
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
