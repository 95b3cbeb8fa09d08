"""A sweep along an axis as lines: pointwise functions of some cells next to one another, one after the other.

A `Line` reads fields at some shifts along the axis and writes fields at shift 0. Programs evaluate it on pencils of cells,
kernels on what fits a cache; both take the cells on which a line is needed from `ranges`.
"""
from ...physics.pointwise import Pointwise


class Line:
    """One pointwise function of neighbouring cells along an axis.

    name     role of the function, for messages and for generated text
    reads    {argument: (field, shift)}
    writes   {field: number of components}, in the order of the results
    specs    {field: spec}, as `Pointwise` takes it, of all fields, and "grid": numbers of the grid, which functions may take as
             an argument of this name, too;  numbers: names of the other arguments that are one number for all cells
    In fields of faces, entry i is the face between the cells i and i + 1."""

    def __init__(self, name, function, reads, writes, specs, numbers=()):
        self.name, self.reads, self.writes = name, reads, writes
        inputs = {argument: specs[field] for argument, (field, _) in reads.items()}
        self.function = Pointwise(function, inputs | dict.fromkeys(("t", *numbers)) | {"grid": specs["grid"]}, name)

    @property
    def needed(self):
        """{(argument, number of the component or field of it): (field, shift)} of what the function's graph reads."""
        return {(argument, number): self.reads[argument] for argument, number in self.function.used.values()
                if argument in self.reads}


def read_later(lines):
    """The lines without those that write no field which a later one reads: where the flux along an axis is zero, slopes are for
    nothing. The last line stays."""
    kept, read = [], set()
    for line in reversed(lines):
        if not kept or read & set(line.writes):
            kept.insert(0, line)
            read |= {field for field, _ in line.needed.values()}
    return kept


def ranges(lines, wanted):
    """The cells on which fields are needed, {field: (first, end)}, to have the fields `wanted` on theirs.

    wanted: {field: (first, end)}"""
    needed = dict(wanted)
    for line in reversed(lines):
        first, end = of_line(line, needed)
        for field, shift in line.needed.values():
            low, high = needed.get(field, (first + shift, end + shift))
            needed[field] = min(low, first + shift), max(high, end + shift)
    return needed


def of_line(line, needed):
    """The cells (first, end) on which a line is evaluated, from `ranges`."""
    given = [needed[field] for field in line.writes if field in needed]
    return min(low for low, _ in given), max(high for _, high in given)
