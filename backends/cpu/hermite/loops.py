"""The loops of a half-step of Hermite's method.  `source` compiles these functions for each problem.

Cells that follow each other along x are a group: cell i of it is lane i of vector registers, and all arrays have the lane
last.  A kernel walks along the last axis, z (in 2D it is y).  The nodes on a face of a row of cells are mapped along x and, in
3D, y; two such faces are mapped along z to the cells between them.  So each face serves the cells on both sides.

    q      the state before, flat; `out`: the state after
    Y      (group, side, j_y, t_x)                       in 3D, of one variable and j_z: two rows of nodes, mapped along x
    F      (row, face, group, variable, j_z, t_y, t_x)   two faces of each row of cells, mapped along all axes but z
    w      (variable, t_z, t_y, t_x)                     the interpolants, then their Taylor series
    c      (variable, j_z, j_y, j_x)                     the result at the target nodes
    edges  (face, row, coefficient)                      of each row the number that the next group lacks
    R      (group of cells, ...)                         the interpolants of all cells, of the variant "two-kernel"

Names that are not defined here differ from problem to problem.  The compiled module defines them:

    d, V, n, m              dimension, variables, N + 1 coefficients of a node along an axis, 2 N + 2 of an interpolant
    W, L, VECTORS           lanes of a register and of a group, registers of a group
    LINE, LINES             numbers of a cache line; cache lines that a group reads of a row
    BOX, NODE               numbers of a variable's node, n^d, and of a node
    STEP, BLOCK, CELL       numbers from one t_z to the next, of a variable's interpolants in a group, and of all
    ACROSS, FACE, SLOT, BESIDE, EDGES, REMAINDER, LEAST_ROWS          see `layout.Layout`
    VARIANT, COLLAPSED      of `Hermite`, and whether it is "collapsed"
    SPREADS, AHEAD          whether `spread.Spread` makes the last map; cache lines for `ask_for_next`
    one, and compiled parts: scaled, ending, ghost, prefetch, interpolation, mapping, ..., series: see `source`
"""


def place(position):
    """The row in which the nodes at a position lie: an image of row i behind a wall has the position -1 - i."""
    return position if position >= 0 else -1 - position


def map_along(axis, v, factors, source, low, high, jump, target, t, step, registers):
    """The map along an axis from two nodes, `low` and `high`, to what lies between them."""
    if COLLAPSED:
        mapping(factors, (v * d + axis) * 2 * n * n, source, low, high, jump, target, t, step, registers)
    else:
        interpolation(source, low, high, jump, target, t, step, registers)


def map_all_along(axis, v, factors, source, low, high, jump, target, t, step, registers):
    """`map_along` for all t_x."""
    if COLLAPSED:
        for tx in range(0, m * L, L):
            map_along(axis, v, factors, source, low + tx, high + tx, jump, target, t + tx, step, registers)
    else:
        interpolation(source, low, high, jump, target, t, step, m * VECTORS)


def fill_row_ends(q, node, x, width, half, outermost, edge, edges, e):
    """Put what lies beyond the ends of a row of nodes beside it, as far as the targets of a group need it.

    This is done for all rows of a face before one is read, as a register waits for what has just been put into a part of it.
    Two threads that read the same row put the same numbers there.  What lies at `edge` goes straight to the list."""
    row, lacking = node * NODE * half.pitch, outermost
    for number in range(len(half.ghosts)):
        beyond, source, factors = half.ghosts[number, 0], half.ghosts[number, 1], number * NODE
        if x <= beyond <= x + width:
            if EDGES and beyond == edge:
                lacking = False
                for k in range(NODE * outermost):
                    edges[e + k] = half.ghost_factors[factors + k] * q[row + source + k * half.pitch]
            else:
                for k in range(NODE):
                    ghost(q, row + beyond + k * half.pitch, row + source + k * half.pitch, half.ghost_factors[factors + k])
    if EDGES and lacking:
        copied(q, row + edge, half.pitch, edges, e, NODE)


def map_row(q, row, later, v, factors, target, t, step, registers, pitch, from_right, edges, e):
    """Map the coefficients of one variable and, in 3D, one j_z along x, and ask for those of the next face, `later`."""
    for j in range(n):
        at, to = row + j * n * pitch, t + j * step
        if not EDGES:
            map_along(0, v, factors, q, at, at + 1, pitch, target, to, L, registers)
        elif from_right:
            map_from_right(q, at, pitch, edges, e + j * n, target, to, L)
        else:
            map_from_left(q, at, pitch, edges, e + j * n, target, to, L)
        for k in range(j * n, (j + 1) * n):
            prefetch(q, later + k * pitch, LINES)


def mirror(target, t, step, factor, axis_factors, v, p):
    """Make of a row that has been mapped along x what it is as an image at position p."""
    positions = len(axis_factors) // (V * n)
    for j in range(n):
        scaled(target, t + j * step, target, t + j * step, factor * axis_factors[(v * n + j) * positions + p], m * VECTORS)


def map_face_2d(q, F, p, x, half, factors, registers, from_right, edges, e):
    """The nodes at position p of the last axis, mapped along x."""
    row, later = place(half.z[p]), place(half.z[min(p + 1, len(half.z) - 1)])
    for v in range(V):
        f, first = p % 2 * FACE + v * n * ACROSS, v * n * n
        map_row(q, (row * NODE + first) * half.pitch + x, (later * NODE + first) * half.pitch + x, v, factors, F, f, ACROSS,
                registers, half.pitch, from_right, edges, e + first)
        if half.z[p] < 0:
            mirror(F, f, ACROSS, one, half.z_factors, v, p)


def map_face_3d(q, Y, F, p, bottom, top, x, some, half, factors, registers, from_right, edges, e):
    """The nodes at position p of the last axis, in rows y from `bottom` to `top`, of `some` groups, mapped along x and y."""
    plane, coming = place(half.z[p]) * half.rows, place(half.z[min(p + 1, len(half.z) - 1)]) * half.rows
    side, step = n * m * L, m * L
    for v in range(V):
        for jz in range(n):
            first = (v * n + jz) * n * n
            for y in range(bottom, top + 1):
                row = ((plane + place(half.y[y])) * NODE + first) * half.pitch + x
                later = ((coming + place(half.y[y])) * NODE + first) * half.pitch + x
                for g in range(some):
                    low, high = (2 * g + 1 - y % 2) * side, (2 * g + y % 2) * side
                    map_row(q, row + g * L, later + g * L, v, factors, Y, high, step, registers, half.pitch, from_right, edges,
                            e + (y - bottom) * NODE + first)
                    if half.z[p] < 0 or half.y[y] < 0:
                        mirror(Y, high, step, half.z_factors[(v * n + jz) * len(half.z) + p], half.y_factors, v, y)
                    if y > bottom:
                        f = ((y - 1 - bottom) * 2 + p % 2) * SLOT + g * FACE + (v * n + jz) * ACROSS
                        map_all_along(1, v, factors, Y, low, high, step, F, f, step, registers)


def gather_face(q, Y, F, p, bottom, top, x, width, together, half, from_right, edges, e):
    """`map_face_3d` of the last `width` cells of `together` rows as one group: lane r width + i is row r, cell i.

    A row of 49 targets in groups of 8 leaves one, and seven lanes would be of no use.  So the cells that are left of several
    rows are a group together, whose faces lie where those of the first row would."""
    plane, coming = place(half.z[p]) * half.rows, place(half.z[min(p + 1, len(half.z) - 1)]) * half.rows
    side, step, nodes = n * m * L, m * L, n * n * L
    for v in range(V):
        for jz in range(n):
            first, factor = (v * n + jz) * n * n, half.z_factors[(v * n + jz) * len(half.z) + p]
            for y in range(bottom, top, together):
                for beside in range(2):
                    for r in range(min(together, top - y)):
                        at = y + r + beside
                        row = ((plane + place(half.y[at])) * NODE + first) * half.pitch + x
                        later = ((coming + place(half.y[at])) * NODE + first) * half.pitch + x
                        for k in range(n * n):
                            sign = factor * half.y_factors[(v * n + k // n) * len(half.y) + at]
                            prefetch(q, later + k * half.pitch, 1)
                            for i in range(width):
                                lane = 2 * side + k * L + r * width + i
                                Y[lane] = sign * q[row + k * half.pitch + i]
                                Y[lane + nodes] = sign * q[row + k * half.pitch + i + 1]
                    for j in range(n):
                        low = 2 * side + j * n * L
                        interpolation(Y, low, low + nodes, L, Y, beside * side + j * step, L, VECTORS)
                f = ((y - bottom) * 2 + p % 2) * SLOT + (v * n + jz) * ACROSS
                interpolation(Y, 0, side, step, F, f, step, m * VECTORS)
    if EDGES and from_right:
        for y in range(bottom, top + 1):
            copied(q, (plane + place(half.y[y])) * NODE * half.pitch + x, half.pitch, edges, e + (y - bottom) * NODE, NODE)


def map_cell(source, below, above, jump, target, t, factors, registers):
    """The map along the last axis, from two faces, in 1D from two nodes, to the cells between them."""
    for v in range(V):
        for ty in range(m if d == 3 else 1):
            shift, to = v * n * jump + ty * m * L, t + v * BLOCK + ty * m * L
            if d == 1:
                map_along(0, v, factors, source, below + shift, above + shift, jump, target, to, STEP, registers)
            elif VARIANT == "two-kernel":
                past_interpolation(source, below + shift, above + shift, jump, target, to, STEP, m * VECTORS)
            else:
                map_all_along(d - 1, v, factors, source, below + shift, above + shift, jump, target, to, STEP, registers)


def map_cell_to_state(F, below, above, out, at, pitch, factors, registers):
    """`map_cell` of the variant "collapsed", whose last map ends in the state."""
    for v in range(V):
        for ty in range(n if d == 3 else 1):
            for tx in range(n):
                shift, k = v * n * ACROSS + (ty * n + tx) * L, v * BOX + ty * n + tx
                result_mapping(factors, (v * d + d - 1) * 2 * n * n, F, below + shift, above + shift, ACROSS, out,
                               at + k * pitch, BOX // n * pitch, registers)


def store(c, out, at, width, span, scale, pitch):
    """Write the result at `width` target nodes, zero behind them up to `span`; `scale` takes the weights off."""
    whole = width // W
    for k in range(NODE):
        result_scaled(c, k * L, out, at + k * pitch, scale[k % BOX], whole)
    if span > whole * W:
        for k in range(NODE):
            ending(c, k * L + whole * W, out, at + k * pitch + whole * W, scale[k % BOX], width - whole * W)


def scatter(c, out, at, width, span, rows, scale, pitch):
    """Write the result of a group that `gather_face` has put together to `rows` rows, as `store` does to one."""
    for r in range(rows):
        for k in range(NODE):
            to, factor = at + (r * NODE + k) * pitch, scale[k % BOX]
            for i in range(width):
                out[to + i] = factor * c[k * L + r * width + i]
            for i in range(width, span):
                out[to + i] = 0


def advance(below, above, z, y, group, rows, scratch, q, out, R, half, scale, law):
    """One group of cells between two faces: the last map, the Taylor series, and the result to the state.

    rows: of a group that `gather_face` has put together, else 0.  Of the variant "two-kernel" the last map alone, to R."""
    (_, F, w, c, _), groups = scratch, (half.targets + L - 1) // L
    cells = min(L, half.targets - group * L)
    span = cells if group < groups - 1 else half.nodes - group * L
    registers, x = (cells + W - 1) // W if COLLAPSED else VECTORS, half.start + group * L
    at = (z * half.rows + y) * NODE * half.pitch + group * L
    if VARIANT == "two-kernel":
        cell = (z * half.target_rows + y) * groups + group
        if d == 1:
            map_cell(q, x, x + 1, half.pitch, R, cell * CELL, law[0], registers)
        else:
            map_cell(F, below, above, ACROSS, R, cell * CELL, law[0], registers)
        return
    if COLLAPSED and d > 1 and cells % W == 0 and span == cells:
        map_cell_to_state(F, below, above, out, at, half.pitch, law[0], registers)
        return
    if SPREADS:
        spread_cell(F, below, above, w, c, law[0])
    elif d == 1:
        map_cell(q, x, x + 1, half.pitch, c if COLLAPSED else w, 0, law[0], registers)
    else:
        map_cell(F, below, above, ACROSS, c if COLLAPSED else w, 0, law[0], registers)
    if not COLLAPSED:
        series(w, c, law, z, y, group, R, 0)
    if REMAINDER and rows:
        scatter(c, out, at, cells, span, rows, scale, half.pitch)
    else:
        store(c, out, at, cells, span, scale, half.pitch)


def over_part(part, scratch, q, out, R, half, scale, law):
    """A half-step of the targets of a part: groups from `begin` to `end` along x, rows from `bottom` to `top` along y, and from
    `first` to `last` along the last axis."""
    (bottom, top, first, last, begin, end), (Y, F, _, _, edges), half = part, scratch, Half(*half)
    groups = (half.targets + L - 1) // L
    left_over = half.targets - (groups - 1) * L
    whole = groups - 1 if REMAINDER and groups > 1 and LEAST_ROWS * left_over <= L else groups
    from_right = half.start >= 0
    for number in range(begin, end):
        block = begin + end - 1 - number if EDGES and from_right else number
        if block < whole and block % BESIDE:
            continue
        some = min(BESIDE, whole - block) if BESIDE > 1 and block < whole else 1
        x, width = half.start + block * L, min(some * L, half.targets - block * L)
        registers = (width + W - 1) // W if COLLAPSED else VECTORS
        remainder, outermost = block >= whole, number == begin
        together = L // width if remainder else 1
        begins = x + 1 - from_right if EDGES else x              # where registers lie in cache lines, and
        edge = begins + L if from_right else begins - 1          # the number beside them
        for p in range(first, last + 1):
            e = (p - first) * NODE * (top - bottom + (d == 3))
            for y in range(bottom, top + (d == 3)):
                row = place(half.z[p]) * half.rows + place(half.y[y])
                fill_row_ends(q, row, x, width, half, outermost, edge, edges, e + (y - bottom) * NODE)
            if d == 3:
                if REMAINDER and remainder:
                    gather_face(q, Y, F, p, bottom, top, x, width, together, half, from_right, edges, e)
                else:
                    map_face_3d(q, Y, F, p, bottom, top, begins, some, half, law[0], registers, from_right, edges, e)
            elif d == 2:
                map_face_2d(q, F, p, begins, half, law[0], registers, from_right, edges, e)
            if p > first:
                for y in range(bottom, top, together):
                    rows = min(together, top - y) if remainder else 0
                    for g in range(some):
                        slot = (y - bottom) * 2 * SLOT + g * FACE
                        below, above = slot + (p - 1) % 2 * SLOT, slot + p % 2 * SLOT
                        advance(below, above, p - 1, y, block + g, rows, scratch, q, out, R, half, scale, law)


def ask_for_next(R, coming):
    """Ask for some of the next cell's interpolants, which come from memory, while the series of this one is computed."""
    prefetch(R, coming, AHEAD)
    return coming + AHEAD * LINE


def evolve_part(part, scratch, q, out, R, half, scale, law):
    """Of the variant "two-kernel" the Taylor series of the interpolants of a part, which lie in R."""
    (bottom, top, first, last, begin, end), (_, _, w, c, _), half = part, scratch, Half(*half)
    groups = (half.targets + L - 1) // L
    for group in range(begin, end):
        cells = min(L, half.targets - group * L)
        span = cells if group < groups - 1 else half.nodes - group * L
        for z in range(first, last):
            for y in range(bottom, top):
                cell = (z * half.target_rows + y) * groups + group
                coming = cell + groups if y + 1 < top else ((z + 1) * half.target_rows + bottom) * groups + group
                at = (z * half.rows + y) * NODE * half.pitch + group * L
                scaled(R, cell * CELL, w, 0, one, CELL // W)
                series(w, c, law, z, y, group, R, coming * CELL)
                store(c, out, at, cells, span, scale, half.pitch)
