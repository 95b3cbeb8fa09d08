"""The last cells of several rows as one group, in the fused kernels of Hermite's method.

A row of 49 targets in groups of 8 leaves one: seven lanes would be of no use.  So those that are left of as many rows as fit
are a group together, of the rows that a thread takes at a time: lane r width + i is row r, cell i.  Their nodes are gathered,
their results put back one by one; what happens between is the same.
"""
from textwrap import indent

LEAST = 4                # rows that fit into a group; where cells of fewer do, gathering them costs more than it saves


def room(source):
    """Numbers of Y that the gathered nodes take: for both ends of a cell the coefficients of one variable and j_z."""
    return 2 * source.n ** 2 * source.L


def text(source, jit):
    """Two functions of a `hermite_source.HermiteSource`, in 3D:

    thin_faces   as `faces`, of the last `width` cells from place x on in each row, `together` rows to the slot of the first of
                 them in F; with `listed`, what the group before them in each row lacks is put on the list
    thin_store   as `store`, to so many rows"""
    n, L, node, step = source.n, source.L, source.node, source.m * source.L
    gathered, size = 2 * n * step, n * n * L
    mapped = source.map(0, "Y", f"{gathered} + j * {n * L}", f"{gathered + size} + j * {n * L}", L, "Y",
                        f"side * {n * step} + j * {step}", L, source.vectors)
    listed = f"""
    if listed:
        for y in range(bottom, top + 1):
            copied(q, (abs_(sz[p]) * ny + abs_(sy[y])) * {node} * X + x, X, edges, e + (y - bottom) * {node}, {node})"""
    return f'''
{jit}
def thin_faces(q, Y, F, p, bottom, top, x, width, together, ny, X, sy, sz, fy, fz, edges, e, listed):
    after = min(p + 1, len(sz) - 1)
    for v in range({source.V}):
        for jz in range({n}):
            begin, factor = (v * {n} + jz) * {n * n}, fz[(v * {n} + jz) * len(sz) + p]
            for first in range(bottom, top, together):
                for side in range(2):
                    for r in range(min(together, top - first)):
                        y = first + r + side
                        row = ((abs_(sz[p]) * ny + abs_(sy[y])) * {node} + begin) * X + x
                        later = ((abs_(sz[after]) * ny + abs_(sy[y])) * {node} + begin) * X + x
                        for k in range({n * n}):
                            sign = factor * fy[(v * {n} + k // {n}) * len(sy) + y]
                            prefetch(q, later + k * X, 1)
                            for i in range(width):
                                lane = {gathered} + k * {L} + r * width + i
                                Y[lane] = sign * q[row + k * X + i]
                                Y[lane + {size}] = sign * q[row + k * X + i + 1]
                    for j in range({n}):
                        {mapped}
                f = ((first - bottom) * 2 + p % 2) * {source.slot} + (v * {n} + jz) * {source.across}
{indent(source.along(1, "Y", "0", f"{n * step}", step, "F", "f", step), " " * 16)}{listed * source.edges}


{jit}
def thin_store(c, out, at, width, span, rows, scale, X):
    for r in range(rows):
        for k in range({node}):
            place, factor = at + (r * {node} + k) * X, scale[k % {n ** 3}]
            for i in range(width):
                out[place + i] = factor * c[k * {L} + r * width + i]
            for i in range(width, span):
                out[place + i] = 0
'''
