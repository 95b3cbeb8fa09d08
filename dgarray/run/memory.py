"""The memory plan: how much memory a run needs, known before anything large is allocated."""
from dataclasses import dataclass, replace

EARLY = ("set-up", "initial state", "time step", "integrals")          # phases before the first snapshot
OUTPUT = ("snapshots", "error estimate", "dataset", "report")          # phases in which one snapshot is counted already

MOST = 20            # times the states and the mesh: more than any run takes that grows with the mesh
BESIDE = 1 << 30     # bytes: more than any run takes besides, such as the search for the largest step and what threads work in


@dataclass(frozen=True)
class Plan:
    """The memory plan of a run, in bytes.

    host, device   {what: bytes} of arrays that stay from the set-up to the end of the run; `device` is empty on a CPU
    transient      {phase: (host, device)} bytes in addition to `host` and `device` during one phase; phases do not overlap.
                   Negative in a phase before some of the lasting arrays are allocated
    snapshot       bytes of one snapshot on the host
    variables      number of variables in a snapshot
    free           (host, device) bytes that were free when the plan was made; None where unknown
    least          whether the plan has the states and the mesh alone, so that a run takes more
    """

    host: dict
    device: dict
    transient: dict
    snapshot: int = 0
    variables: int = 1
    free: tuple = (None, None)
    least: bool = False

    @property
    def peak_host(self):
        """The most that the run holds on the host at any moment."""
        return self.peak(0)

    @property
    def peak_device(self):
        """The most that the run holds on the device at any moment, 0 on a CPU."""
        return self.peak(1)

    def peak(self, place):
        """The most that the run holds at any moment on the host (place 0) or the device (1)."""
        return sum((self.host, self.device)[place].values()) + max([0, *(row[place] for row in self.transient.values())])

    def decides(self, free):
        """Whether a run, of which this plan has the least, surely fits (host, device) free bytes, or surely does not."""
        for place, room in enumerate(free):
            least, kept = self.peak(place), (1 - place) * self.host.get("snapshots", 0)
            if room is not None and least > room:
                return True
            if room is not None and MOST * (least - kept) + 2 * kept + BESIDE >= room:
                return False
        return True

    def beside(self, free):
        """The plan with (host, device) bytes that are free now."""
        return replace(self, free=free)

    def keeping(self, snapshots):
        """The plan of a run that keeps this many snapshots in memory. Its dataset copies one variable of all snapshots at a
        time."""
        if not snapshots:
            return self
        kept, more = snapshots * self.snapshot, (snapshots - 1) * self.snapshot // self.variables
        # The phases before the first snapshot are over when the snapshots need memory.
        less = dict.fromkeys(EARLY, kept) | dict.fromkeys(OUTPUT, self.snapshot)
        transient = {phase: (host - less.get(phase, 0) + (more if phase == "dataset" else 0), device)
                     for phase, (host, device) in self.transient.items()}
        return replace(self, host=self.host | {"snapshots": kept}, transient=transient)

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
                lines.append(f"{name}: {'at least ' * self.least}{shown(self.peak(place))} ({parts}){free}")
        return "; ".join(lines)


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
        need = plan.peak(place)
        if free is not None and need > free:
            most = ", ".join(f"{what} {shown(size)}" for what, size in plan.largest(place)[:3])
            single = "" if str(backend.dtype) == "float32" else " or dtype='float32'"
            stored = ", an output file for the snapshots" if "snapshots" in plan.host and place == 0 else ""
            raise ValueError(f"this run needs {'at least ' * plan.least}{shown(need)} {where}, but only {shown(free)} are "
                             f"free; most goes to {most}; take fewer elements, a lower order{stored}{single}")
