"""A step as a list of named operations, which a backend performs one after the other."""
from typing import Any, NamedTuple


class Operation(NamedTuple):
    """One operation of a stage.

    name      what it does
    run       a function of no arguments; None: a backend computes it by `loop`
    loop      the backend's own form of it, by which it fuses neighbouring operations; else None
    reads     names of the arrays that it reads
    writes    {name: bytes} of the arrays that it writes
    of        name of the element set that it works on; None: there is one set, or it joins several
    kernel    whether `run` runs kernels, not array expressions"""

    name: str
    run: Any = None
    loop: Any = None
    reads: tuple = ()
    writes: dict = {}
    of: str | None = None
    kernel: bool = False


class OperationLists:
    """Lists of operations on the arrays of a step, made once: steps use the same arrays in turns."""

    def __init__(self, arrays=()):
        self.arrays, self.lists = {}, {}
        self.hold(arrays)

    def of(self, key, arrays, make):
        """make() for a key and these arrays in this order. Lists for other arrays are let go, and so are those arrays."""
        self.hold(arrays)
        return self.held(key, arrays, make)

    def hold(self, arrays):
        """These are the arrays of a step from now on."""
        given = {id(array): array for array in arrays}
        if given.keys() != self.arrays.keys():
            self.arrays, self.lists = given, {}

    def held(self, key, arrays, make):
        """make() for a key and these arrays in this order, kept if they are all among those of a step."""
        key = key, *map(id, arrays)
        if key in self.lists:
            return self.lists[key]
        found = make()
        if self.arrays.keys() >= set(key[1:]):
            self.lists[key] = found
        return found


class KeptLists:
    """What is done with arrays that come again, prepared once for each of them."""

    def __init__(self):
        self.lists = {}

    def held(self, key, arrays, make):
        """make() for a key and these arrays in this order."""
        arrays = tuple(arrays)
        key = key, *map(id, arrays)
        if key not in self.lists:
            self.lists[key] = make(), arrays          # which live on, so that no other one gets its id
        return self.lists[key][0]


def of_sets(found):
    """{name of a set: operations} as one list, in which each operation says of which set it is."""
    return [operation if name is None else operation._replace(of=name) for name, operations in found.items()
            for operation in operations]


def listed(operations):
    """Lines of text that show a list of operations, in the order in which they run."""
    rows = [(operation.name if operation.of is None else f"{operation.of}: {operation.name}",
             "kernel" if operation.kernel or operation.loop is not None else "array expressions",
             ", ".join(operation.reads) or "-",
             ", ".join(f"{name} ({size / 1024:,.0f} KiB)" for name, size in operation.writes.items()) or "-")
            for operation in operations]
    titles = ("operation", "computed by", "reads", "writes")
    widths = [max(len(row[i]) for row in (titles, *rows)) for i in range(4)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in (titles, *rows)]
