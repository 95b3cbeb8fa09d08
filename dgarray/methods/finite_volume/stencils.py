"""A sweep along an axis as stencils: pointwise functions of some cells next to one another, one after the other.

A `Stencil` reads fields at some shifts along the axis and writes fields at shift 0. Programs evaluate it on pencils of cells,
kernels on what fits a cache; both take the cells on which a stencil is needed from `ranges`.
"""
from ...physics.pointwise import Pointwise


class Stencil:
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


def read_later(stencils):
    """The stencils without those that write no field which a later one reads: where the flux along an axis is zero, slopes
    are for nothing. The last stencil stays."""
    kept, read = [], set()
    for stencil in reversed(stencils):
        if not kept or read & set(stencil.writes):
            kept.insert(0, stencil)
            read |= {field for field, _ in stencil.needed.values()}
    return kept


def ranges(stencils, wanted):
    """The cells on which fields are needed, {field: (first, end)}, to have the fields `wanted` on theirs.

    wanted: {field: (first, end)}"""
    needed = dict(wanted)
    for stencil in reversed(stencils):
        first, end = of_stencil(stencil, needed)
        for field, shift in stencil.needed.values():
            low, high = needed.get(field, (first + shift, end + shift))
            needed[field] = min(low, first + shift), max(high, end + shift)
    return needed


def of_stencil(stencil, needed):
    """The cells (first, end) on which a stencil is evaluated, from `ranges`."""
    given = [needed[field] for field in stencil.writes if field in needed]
    return min(low for low, _ in given), max(high for _, high in given)
