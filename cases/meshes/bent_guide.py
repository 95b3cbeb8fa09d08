"""Quadrilaterals of a waveguide that turns by 90 degrees around a circle, with a round post in the middle of the bend.

    from dgarray.cases.meshes.bent_guide import bent_guide
    mesh = pml(bent_guide(cells=4, post=0.12), thickness=1.25, cells=5, boundary=("left", "right"))

A straight guide along s, of the width 1, is bent.  The square of the length 1 in its middle has four blocks of cells, from its
sides to those of a smaller square inside, which becomes the post.
"""
import numpy as np

from dgarray.mesh import Mesh, from_arrays

from ..common import check_numbers

ARM = 1.0                             # length of each straight part
RADIUS = 4 / np.pi                    # of the bend's axis, whose arc has the length 2
HOLE = 0.25                           # half the side of the smaller square
GROWTH = 4                            # of the cells from the post to the walls


def bent_guide(cells: int = 4, post: float = 0.1, along: float = 0.1, across: float = -0.2,
               degree: int = 4) -> Mesh:
    """The guide with `cells` across it; one end on the left, the other one at the top.

    cells: an even number from 4;  degree: of the curved cells, from 1
    post: its radius;  along, across: where its centre is, from the middle of the bend along the axis, and to the left of it
    Boundaries "left" and "right" (the ends), "walls" and "post"; the interfaces "one" and "two", a cell away from the ends,
    have their normals to these.
    Raises ValueError for another number of cells, and a post that is nearer than 0.1 to a wall or to where the bend ends."""
    check_numbers(least=4, whole=True, cells=cells)
    check_numbers(least=1, whole=True, degree=degree)
    check_numbers(above=0, post=post)
    check_numbers(along=along, across=across)
    if cells % 2 or max(abs(along), abs(across)) + post > 0.4:
        raise ValueError(f"cells={cells}, post={post:g}, along={along:g} and across={across:g} are not allowed together; cells "
                         "must be even, and |along| + post and |across| + post at most 0.4")
    half = round((ARM + 1) * cells)
    lines = np.arange(-half, half + 1) / cells, np.arange(cells + 1) / cells - 0.5
    lattice = np.stack(np.meshgrid(*lines, indexing="ij"), axis=2)
    corners = np.stack([lattice[:-1, :-1], lattice[1:, :-1], lattice[1:, 1:], lattice[:-1, 1:]], axis=2).reshape(-1, 4, 2)
    outside = corners[np.abs(corners.mean(axis=1)).max(axis=1) > 0.5]
    places = np.round(np.concatenate([outside, around_the_square(cells)]), 12).reshape(-1, 2)
    x, numbers = np.unique(places, axis=0, return_inverse=True)
    quads = numbers.reshape(-1, 4)
    sides = np.sort(np.stack([quads, np.roll(quads, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    edges, count = np.unique(sides, axis=0, return_counts=True)
    edges = edges[count == 1]
    s, t = x[edges].mean(axis=1).T
    end = ARM + 1
    names = {"left": s < -end + 1e-9, "right": s > end - 1e-9, "walls": np.abs(t) > 0.5 - 1e-9,
             "post": np.maximum(np.abs(s), np.abs(t)) < HOLE + 1e-9}
    mesh = from_arrays(x, quads, {name: edges[here] for name, here in names.items()},
                       source=f"bent_guide(cells={cells}, post={post:g})")
    port = end - 1 / cells
    mesh = mesh.with_regions({"feed_one": lambda x: x[0] < -port, "bend": lambda x: np.abs(x[0]) < port,
                              "feed_two": lambda x: x[0] > port})
    mesh = mesh.with_interfaces({"one": ("bend", "feed_one"), "two": ("bend", "feed_two")})
    return mesh.mapped(lambda x: placed(x[0], x[1], post, bent(along, across)), degree)


def around_the_square(cells):
    """Corners (cell, 4, 2) of the cells between the square of the length 1 and the smaller one."""
    side = np.arange(cells) / cells - 0.5
    low, high = np.full(cells, -0.5), np.full(cells, 0.5)
    square = np.concatenate([np.column_stack(pair) for pair in ((side, low), (high, side), (-side, high), (low, -side))])
    rings = np.linspace(2 * HOLE, 1, cells // 2 + 1)[:, None, None] * square
    ahead = np.roll(rings, -1, axis=1)
    return np.stack([rings[:-1], rings[1:], ahead[1:], ahead[:-1]], axis=2).reshape(-1, 4, 2)


def placed(s, t, post, centre):
    """Where the point (s, t) of the straight guide goes."""
    away = np.maximum(np.abs(s), np.abs(t))
    share = (GROWTH ** ((away - HOLE) / (0.5 - HOLE)) - 1) / (GROWTH - 1)
    scale, angle = 0.5 / np.maximum(away, HOLE), np.arctan2(t, s) + np.pi / 4
    on_post = (c + post * k for c, k in zip(centre, (np.cos(angle), np.sin(angle))))
    on_square = bent(s * scale, t * scale)
    return tuple(np.where(away < 0.5, (1 - share) * a + share * b, c) for a, b, c in zip(on_post, on_square, bent(s, t)))


def bent(s, t):
    """The point at the distance t to the left of the axis, s along it from the middle of the bend."""
    angle, ahead, behind = np.pi / 4 * (1 + np.clip(s, -1, 1)), np.maximum(s - 1, 0), np.minimum(s + 1, 0)
    return (RADIUS - t) * np.sin(angle) + behind, RADIUS - (RADIUS - t) * np.cos(angle) + ahead
