"""How rows of numbers over elements lie in the device's memory: coefficient by coefficient, or in microblocks.

Rows (row, element) become [block, row, lane]: `width` neighbouring elements form a block and lie side by side in every row, so
that the threads of a warp, one element each, read whole cache lines.  With one block for all elements this is the plain
row-by-row storage of Fuhry et al. 2014; a width of 32 is the microblock of Kloeckner et al. 2009, section 4, which keeps
all of an element's numbers close together.  Rows begin at multiples of 32 numbers either way.
"""
import numpy as np

WARP = 32


class Layout:
    """Storage of rows over `elements` elements; width: elements in a block, a multiple of 32, or 0 for all in one."""

    def __init__(self, elements, width=0):
        if width % WARP:
            raise ValueError(f"width={width} is not allowed; it must be a multiple of {WARP}, or 0 for one block")
        self.elements, self.width = elements, width or -(-elements // WARP) * WARP
        self.blocks = -(-elements // self.width)

    def size(self, rows):
        """How many numbers so many rows take, the room beyond the last element included."""
        return self.blocks * rows * self.width

    def at(self, rows, row, element):
        """Where element `element` of row `row` of `rows` lies; arrays of numbers or expressions of them."""
        return element // self.width * (rows * self.width) + row * self.width + element % self.width

    def pack(self, values, dtype=None, xp=np):
        """Rows (row, element) of the library xp as a flat array; the room beyond the last element holds zeros."""
        rows = len(values)
        padded = xp.zeros((rows, self.blocks * self.width), dtype or values.dtype)
        padded[:, :self.elements] = values
        return xp.ascontiguousarray(padded.reshape(rows, self.blocks, self.width).swapaxes(0, 1)).reshape(-1)

    def unpack(self, flat, rows):
        """The rows (row, element) of a flat array of any library: a view where all elements are in one block."""
        return flat.reshape(self.blocks, rows, self.width).swapaxes(0, 1).reshape(rows, -1)[:, :self.elements]
