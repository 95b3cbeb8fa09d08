"""Storage of arrays (row, element) in the device's memory: coefficient by coefficient, or in microblocks of elements.

An array (row, element) becomes [block, row, lane]: `width` neighbouring elements form a block and lie side by side in every
row, so that the threads of a warp, one element each, read whole cache lines.  One block for all elements is the plain
row-by-row storage of Fuhry et al. 2014.  A width of 32 is the microblock of Kloeckner et al. 2009, section 4, which keeps
all numbers of an element close together.  Rows begin at multiples of 32 numbers either way.
"""
import numpy as np

WARP = 32


class Layout:
    """Storage of rows over `elements` elements.

    width: elements of a block, a multiple of 32 (else ValueError), or 0 for one block with all elements"""

    def __init__(self, elements, width=0):
        if width % WARP:
            raise ValueError(f"width={width} is not allowed; it must be a multiple of {WARP}, or 0 for one block")
        self.elements, self.width = elements, width or -(-elements // WARP) * WARP
        self.blocks = -(-elements // self.width)

    def size(self, rows):
        """Length of the flat array for so many rows, with the padding beyond the last element."""
        return self.blocks * rows * self.width

    def at(self, rows, row, element):
        """Index of (row, element) in the flat array of `rows` rows; row and element: numbers, or arrays that broadcast."""
        return element // self.width * (rows * self.width) + row * self.width + element % self.width

    def pack(self, values, dtype=None, xp=np):
        """An array (row, element) of the library xp as a flat array; the padding beyond the last element holds zeros."""
        rows = len(values)
        padded = xp.zeros((rows, self.blocks * self.width), dtype or values.dtype)
        padded[:, :self.elements] = values
        return xp.ascontiguousarray(padded.reshape(rows, self.blocks, self.width).swapaxes(0, 1)).reshape(-1)

    def unpack(self, flat, rows):
        """A flat array of any library as (row, element): a view if all elements are in one block, else a copy."""
        return flat.reshape(self.blocks, rows, self.width).swapaxes(0, 1).reshape(rows, -1)[:, :self.elements]
