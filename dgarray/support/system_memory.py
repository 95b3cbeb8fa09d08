"""How much memory a process on this machine may still take."""
from pathlib import Path

CGROUPS = {"": ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
           "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")}


def host_free(root="/"):
    """Bytes that are free on the host, or None where nobody knows.

    On Linux MemAvailable, or what the control groups of this process (a container, a batch job) leave if that is less;
    elsewhere what psutil says, if it is installed.  root: where /proc and /sys lie."""
    root = Path(root)
    table = root / "proc/meminfo"
    if table.is_file():
        values = dict(line.split(":", 1) for line in table.read_text().splitlines() if ":" in line)
        if "MemAvailable" in values:
            return max(0, min([int(values["MemAvailable"].split()[0]) * 1024, *_left_by_groups(root)]))
    try:
        import psutil
    except ImportError:
        return None
    return int(psutil.virtual_memory().available)


def _left_by_groups(root):
    """Limit minus usage of every control group that this process is in, versions 1 and 2; what can be dropped is no usage."""
    groups = root / "proc/self/cgroup"
    for line in groups.read_text().splitlines() if groups.is_file() else ():
        _, controllers, path = line.split(":", 2)
        kind = "memory" if "memory" in controllers.split(",") else controllers
        if kind not in CGROUPS:
            continue
        top, limit, usage, cache = CGROUPS[kind]
        folder = Path(path.lstrip("/"))
        # Inside a container the path may be the host's, and only the top folder, which is the container's own, exists.
        for place in (root / top / p for p in (folder, *folder.parents)):
            bounds = [_number(place / name) for name in (limit, usage)]
            if None not in bounds:
                yield bounds[0] - bounds[1] + _statistic(place / "memory.stat", cache)


def _number(file):
    """The whole number in the file; None if there is no such file or it says "max"."""
    text = file.read_text().strip() if file.is_file() else ""
    return int(text) if text.isdigit() else None


def _statistic(file, name):
    """The bytes of that name in a memory.stat file, 0 without."""
    rows = dict(line.split() for line in file.read_text().splitlines()) if file.is_file() else {}
    return int(rows.get(name, 0))
