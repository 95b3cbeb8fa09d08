"""The memory plan: how much memory a run needs, computed before anything large is allocated.

The plan counts all arrays that grow with the mesh: those that stay from the set-up to the end of the run, and those that each
phase needs in addition. Tables and operations report their own sizes: see `dgarray.methods.recipe.Recipe`.
"""
from dataclasses import dataclass, replace

EARLY = ("set-up", "initial state", "first step", "integrals", "time step")          # phases before the first snapshot


@dataclass(frozen=True)
class Plan:
    """What a run allocates, in bytes.

    host, device   {what: bytes} of arrays that stay from the set-up to the end of the run; `device` is empty on a CPU
    transient      {phase: (host, device)} bytes in addition to `host` and `device` during one phase; phases do not overlap.
                   Negative in a phase before some of the lasting arrays are allocated
    snapshot       bytes of one snapshot on the host
    variables      number of variables in a snapshot
    coordinates    bytes of the coordinates of its nodes
    free           (host, device) bytes that were free when the plan was made; None where unknown
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
        return sum((self.host, self.device)[place].values()) + max([0, *(row[place] for row in self.transient.values())])

    def with_one_state_more(self, states):
        """The plan with one more array of the state's size; states: how many such arrays this plan has."""
        place = "device" if self.device else "host"
        kept = getattr(self, place)
        size = kept["state and registers"] // states
        return replace(self, **{place: kept | {"state and registers": kept["state and registers"] + size}})

    def keeping(self, snapshots):
        """The plan of a run that keeps this many snapshots in memory. Its dataset copies one variable of all snapshots at a
        time."""
        kept = snapshots * self.snapshot
        # The phases before the first snapshot are over when the snapshots need memory.
        early = {phase: (row[0] - kept, row[1]) for phase, row in self.transient.items() if phase in EARLY}
        return replace(self, host=self.host | {"snapshots": kept},
                       transient=self.transient | early | {"dataset": (kept // self.variables + self.coordinates, 0)})

    def largest(self, place=0):
        """All that takes memory at the peak on the host (place 0) or the device (1), largest first: list of (what, bytes)."""
        phase, row = max(self.transient.items(), key=lambda item: item[1][place], default=("", (0, 0)))
        parts = {**(self.host, self.device)[place], f"temporary for the {phase}": row[place]}
        return sorted(((what, size) for what, size in parts.items() if size > 0), key=lambda part: -part[1])

    def __str__(self):
        lines = []
        for place, name in enumerate(("memory", "GPU memory")):
            if place == 0 or self.device:
                parts = ", ".join(f"{what} {shown(size)}" for what, size in self.largest(place))
                free = "" if self.free[place] is None else f", {shown(self.free[place])} free"
                lines.append(f"{name}: {shown(self._peak(place))} ({parts}){free}")
        return "; ".join(lines)


def plan(backend, host, device, transient, snapshot, variables, coordinates):
    """The `Plan` of these sizes, in whole bytes and without entries of zero bytes; arguments as the attributes of `Plan`."""
    host, device = ({what: int(size) for what, size in kept.items() if size} for kept in (host, device))
    transient = {phase: tuple(map(int, row)) for phase, row in transient.items()}
    return Plan(host, device, transient, snapshot, variables, coordinates, backend.free_memory())


def shown(size):
    """Bytes as text: "1.24 GiB"."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def check(plan, backend):
    """Raise ValueError if the plan needs more memory than is free now. The message names the memory needed, the memory free,
    the largest items and remedies."""
    for place, (free, where) in enumerate(zip(backend.free_memory(), ("of memory", "of the GPU's memory"))):
        need = plan._peak(place)
        if free is not None and need > free:
            most = ", ".join(f"{what} {shown(size)}" for what, size in plan.largest(place)[:3])
            single = "" if str(backend.dtype) == "float32" else " or dtype='float32'"
            stored = ", an output file for the snapshots" if "snapshots" in plan.host and place == 0 else ""
            raise ValueError(f"this run needs {shown(need)} {where}, but only {shown(free)} are free; most goes to {most}; "
                             f"take fewer elements, a lower order{stored}{single}")


def plan_of_arrays(operator):
    """The `Plan` of a run from an operator that exists already: its arrays and two states. The second state is the copy from
    which the cause of a failure is found."""
    backend = operator.backend
    state, device = operator.dofs * backend.dtype.itemsize, backend.name == "cupy"
    own = sum(value.nbytes for value in vars(operator).values() if hasattr(value, "nbytes"))
    kept = {what: size for what, size in (("state and registers", 2 * state), ("coefficients", own)) if size}
    output = len(operator.law.variables) * operator.space.count * backend.dtype.itemsize
    transient = {phase: (output if phase != "time step" else 0, 0) for phase in (*EARLY, "report")}
    return Plan({} if device else kept, kept if device else {}, transient, output, len(operator.law.variables),
                8 * operator.space.count, backend.free_memory())


def together(plans):
    """The `Plan` of a run that has several parts at once."""
    plans = list(plans)
    phases = dict.fromkeys(phase for each in plans for phase in each.transient)
    return Plan(added(*(each.host for each in plans)), added(*(each.device for each in plans)),
                {phase: tuple(sum(each.transient.get(phase, (0, 0))[place] for each in plans) for place in (0, 1))
                 for phase in phases}, sum(each.snapshot for each in plans), plans[0].variables,
                sum(each.coordinates for each in plans), plans[0].free)


def added(*parts):
    """The sum of dictionaries {what: bytes}, key by key."""
    return {what: sum(part.get(what, 0) for part in parts) for what in dict.fromkeys(what for part in parts for what in part)}
