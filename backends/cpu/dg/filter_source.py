"""Text of the kernel that filters a state at the end of a step: one product for every variable of a tile, in place."""
from ..simd import matmul
from .kernel_source import indented


def filter_text(source):
    """The kernel that filters tiles from `first` to `last`; source: the `TileSource`; F: the matrix."""
    L, N, V, at = source.L, source.N, source.V, source.at
    tile = [*source.load("state", V * N, "Q"), f"for v in range({V}):",
            f"    smooth(F, 0, w, {at['Q']} + v*{N * L}, w, {at['R']} + v*{matmul.padded(N) * L})", f"    for i in range({N}):",
            *indented([f"copy(w, {at['R']} + (v*{matmul.padded(N)} + i)*{L}, state, ((tile*{V} + v)*{N} + i)*{L})"], 2)]
    return source.module("the filter", f"{source.scratch}, state, F", ["for tile in range(first, last):", *indented(tile)],
                         [f"smooth = matmul.multiply({N}, {N}, np.{source.dtype})"])
