"""The loop over the groups of cells along x in the fused kernels of Hermite's method.

Where orders are low and faces small, several groups side by side are a block: first the faces of all, then the cells between.
Memory is then read and written in longer pieces, and each cache line of a row once, with its neighbours.
"""
import numpy as np

from . import hermite_thin


def text(source, edges, beside):
    """Lines that begin the loop over the blocks of at most `beside` groups, and lines for each group of a block.

    Of a block they find `x`, the place of its first target's lower neighbour in a row, `width`, its targets, and with `beside`
    above 1 `some`, its groups; of a group `wide`, its targets, `span`, up to where results are written, and `ahead`, the cache
    lines of these.  With edges, see `hermite_rows`, groups go from the right where x0 >= 0, else from the left:

    start: the place of a group's first register, edge: that of the number beside them, on the outermost group's other side."""
    L, line = source.L, 64 // np.dtype(source.dtype).itemsize
    count = f"count = (width + {source.W - 1}) // {source.W}" if source.collapsed else f"count = {source.vectors}"
    few = f"groups > 1 and {hermite_thin.LEAST} * (targets - (groups - 1) * {L}) <= {L}" if source.thin else "False"
    before = [f"groups = (targets + {L - 1}) // {L}", f"whole = groups - 1 if {few} else groups"]
    each = [f"wide = min({L}, targets - group * {L})", f"span = wide if group < groups - 1 else nodes - group * {L}",
            f"ahead = 1 + (wide + {line - 1}) // {line}"]
    if beside > 1:
        block, each = "block", ["group = block + g", *each]
        loop = ["for block in range(begin, end):"]
        lines = [f"if block < whole and block % {beside} != 0:", "    continue",
                 f"some = min({beside}, whole - block) if block < whole else 1",
                 f"x, width = x0 + block * {L}, min(some * {L}, targets - block * {L})"]
    else:
        block, loop = "group", ["for group in range(begin, end):"]
        lines, each = [*each, f"x, width = x0 + group * {L}, wide"], []
        if edges:
            loop = ["back = x0 >= 0", "for number in range(begin, end):",
                    "    group = begin + end - 1 - number if back else number",
                    f"    outermost, start = number == begin, x0 + group * {L} + 1 - back",
                    f"    edge = start + {L} if back else start - 1"]
    lines += [count, f"thin = {block} >= whole", f"together = {L} // width if thin else 1"]
    return [*before, *loop, *("    " + text for text in lines)], each
