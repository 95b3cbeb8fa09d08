"""Text of the lines that ask memory for values some time before they are used, so that nobody waits for them.

A processor fetches long streams by itself.  What a kernel reads are records of 0.5 to 2 kB, one after some hundred nanoseconds
of work, and values of neighbours anywhere; docs/performance-notes.md says what each of these lines is worth."""
from math import ceil


class Prefetch:
    """The lines for kernels whose text a `TileSource` makes."""

    def cache_lines(self, rows):
        """How many cache lines so many rows are."""
        return ceil(rows * self.L * self.dtype.itemsize / 64)

    def prefetch_part(self, arrays, tile, turn, turns):
        """Lines that ask for some cache lines of these arrays, from this tile on: after so many turns a tile for all of it.

        What a stage goes through comes while fluxes are evaluated only if it is asked for a few lines at a time; and `out` like
        what is read, because an ordinary store fetches its line first."""
        count = ceil(self.cache_lines(self.V * self.N) / turns)
        first = f"{tile}*{self.V * self.N * self.L} + ({turn})*{count * 64 // self.dtype.itemsize}"
        return [f"prefetch({array}, {first}, {count})" for array in arrays]

    def prefetch_at_faces(self, arrays):
        """Lines, in loops over a tile's faces and their points, that ask for its part of these arrays."""
        return self.prefetch_part(arrays, "tile", f"f*{self.M} + j", self.F * self.M)

    def prefetch_tile(self, array, tile):
        """Lines, in a loop over v, that ask memory for one variable of a tile while the products keep the processor busy."""
        size = self.N * self.L
        return [f"    prefetch({array}, (({tile})*{self.V} + v)*{size}, {size * self.dtype.itemsize // 64})"]

    def prefetch_neighbours(self):
        """Lines, in a loop over v, that ask memory for the outside face values of the next tile, as far as its neighbours lie
        beyond the tiles beside it."""
        F, M, L = self.F, self.M, self.L
        return ["    if tile + 1 < last:",
                f"        for f in range({F}):",
                f"            for lane in range({L}):",
                f"                other = neighbour[((tile + 1)*{F} + f)*{L} + lane] // {L}",
                "                if other < tile - 1 or other > tile + 1:",
                f"                    for j in range({M}):",
                f"                        at = exterior[((tile + 1)*{F * M} + f*{M} + j)*{L} + lane]",
                f"                        prefetch(state, at + v*{self.N * L}, 1)"] if not self.modal else []

    def around(self):
        """Lines that find the elements around a piece: `other` to `end` in the list, a share of them for each tile."""
        return [f"other, end = halo_start[piece]*{self.L}, halo_start[piece + 1]*{self.L}",
                "share = (end - other)//(last - first) + 1"]

    def prefetch_around(self):
        """Lines, after a loop over v, that ask for a tile's share of the elements around the piece."""
        return ["    for asked in range(other, min(other + share, end)):", f"        for i in range({self.N}):",
                f"            prefetch(state, halo[asked] + (v*{self.N} + i)*{self.L}, 1)", "other += share"]
