"""How the kernels of Hermite's method take the cells, and how large their arrays are."""
from typing import NamedTuple

import numpy as np

from ..simd import target
from ..simd.arithmetic import width

CACHED = 1 << 15             # bytes of the Taylor series of a group, or of a variable of a group in the collapsed variant
CACHED_PAIRS = 5 << 13       # of a series that makes two stages at once
MOST, MOST_SYSTEM, MOST_MAPS = 4, 2, 8         # registers of a group: of one variable, of several; collapsed
CACHED_FACES = 9 << 16       # bytes of the faces of the rows of cells that a thread takes together
MOST_ROWS = 8                # of these rows
ALONG = 32                   # targets along the last axis that a thread takes at a time
LOW = 2                      # N + 1 up to which faces are so small that groups are taken side by side
BESIDE = 4                   # of these groups
PAST_CACHES = 1 << 24        # bytes of two states above which results go past the caches to memory
LEAST_ROWS = 4               # rows whose left-over cells must fit into a group; of fewer, gathering costs more than it saves


class Half(NamedTuple):
    """The grid and the neighbours in one of the two halves of a step, for the kernels.

    pitch          numbers from one row of nodes to the next
    rows, target_rows      rows of nodes and of targets along y, one in 1D and 2D
    start          where the lower neighbour of the first target of a row lies in the row
    targets, nodes of a row
    ghosts         (ghost, 2): a place beyond the ends of a row, and the node whose values are put there
    ghost_factors  (ghost, variable and coefficient) flat, which these are multiplied with
    y, z           of each position along y and along the last axis the row of nodes, of an image of row i -1 - i
    y_factors, z_factors   (variable, coefficient, position) flat, of images; one elsewhere"""

    pitch: int
    rows: int
    target_rows: int
    start: int
    targets: int
    nodes: int
    ghosts: np.ndarray
    ghost_factors: np.ndarray
    y: np.ndarray
    z: np.ndarray
    y_factors: np.ndarray
    z_factors: np.ndarray


def row_pitch(nodes, dtype):
    """Numbers from one row of the state to the next: whole cache lines, with room for a register behind the nodes.

    Rows that were a multiple of eight lines apart would compete for few places in the caches."""
    line = 64 // np.dtype(dtype).itemsize
    lines = -(-(nodes + width(dtype)) // line)
    return (lines + (lines % 8 == 0)) * line


def vectors(numbers, most, cached=CACHED):
    """Registers of a group that needs so many numbers for each cell."""
    return max(1, min(most, cached // (numbers * target.vector_bytes())))


def vectors_of_series(recursion):
    """Registers of a group for a Taylor series, which needs b_0, and b_1 where two stages are made at once."""
    numbers = (2 * recursion.order + 2) ** recursion.dim * len(recursion.kept)
    if recursion.stride == 2:
        return vectors(2 * numbers, MOST_SYSTEM, CACHED_PAIRS)
    return vectors(numbers, MOST if recursion.variables == 1 else MOST_SYSTEM)


class Layout:
    """Sizes for tables, a dtype, a variant and its `recursion.Recursion`, None for "collapsed" and where coefficients vary.

    d, V, n, m     dimension, variables, coefficients of a node and of an interpolant along an axis
    W, L, vectors  lanes of a register and of a group, registers of a group.  A group of several registers shares the work of
                   finding what to read; it has so many that its series stays in the first-level cache.
    pitch          see `row_pitch`
    past_caches    Whether results go past the caches.  Where two states do not fit there, a line that is written would have to
                   be read first, and would push out what is needed.
    beside         Groups side by side: first the faces of all, then the cells between.  At low orders faces are small, and
                   memory is so read and written in longer pieces, each cache line of a row once.
    rows           Rows of cells that a thread takes together.  The nodes between two of them belong to both, and are read and
                   mapped along x once.
    edges          Whether each cache line of a row is read once, see `row_interpolation`: of higher orders, whose faces are
                   too large for groups side by side.  Each group hands on the one number that it shares with the next.
    remainder      Whether the last cells of several rows are a group together, see `loops.gather_face`.  Else most lanes of a
                   row's last group may have nothing to do: 49 nodes take 56 or 64 lanes.
    node, cell     numbers of a node, and of the interpolants of a group
    across, face, slot   numbers of a face with the same j_z, of a face, and of the faces of all groups beside each other
    sizes          numbers of a thread's arrays Y, F, c and edges; the series knows that of w"""

    def __init__(self, tables, dtype, variant, recursion):
        d, n, V = self.d, self.n, self.V = tables.dim, tables.order + 1, tables.variables
        collapsed, size, nodes = variant == "collapsed", np.dtype(dtype).itemsize, tables.grid.nodes[0]
        self.m, self.W = n if collapsed else 2 * n, width(dtype)
        if recursion is not None:
            self.vectors = vectors_of_series(recursion)
        else:
            self.vectors = vectors(n ** d, MOST_MAPS) if collapsed else 1
        self.L, self.pitch, self.line = self.vectors * self.W, row_pitch(nodes, dtype), 64 // size
        self.node, self.cell = V * n ** d, V * self.m ** d * self.L
        self.past_caches = 2 * self.node * tables.elements * size > PAST_CACHES
        self.beside = min(BESIDE, -(-nodes // self.L)) if d == 3 and not collapsed and n <= LOW else 1
        self.across = self.m ** (d - 1) * self.L
        self.face = V * n * self.across if d > 1 else 0
        self.slot = self.beside * self.face
        self.rows = max(1, min(MOST_ROWS, CACHED_FACES // (2 * self.slot * size))) if d == 3 else 1
        self.edges = not collapsed and d > 1 and n > LOW
        self.remainder = variant == "monolithic" and d == 3 and self.rows > 1 and not tables.systems
        two_rows = 2 * n * self.m * self.L * self.beside + self.remainder * 2 * n ** 2 * self.L
        self.sizes = (two_rows * (d == 3), 2 * self.rows * self.slot, self.node * self.L + self.W,
                      self.edges * (ALONG + 1) * (self.rows + (d == 3)) * self.node)
