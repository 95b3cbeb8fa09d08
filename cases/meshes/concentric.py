"""Meshes of quadrilaterals and hexahedra around a centre: discs, balls and shells of curved cells."""
from collections.abc import Sequence
from math import pi
from numbers import Integral, Real
from typing import Any

import numpy as np

from dgarray.mesh import Mesh, from_arrays
from dgarray.mesh.memory import check_room
from dgarray.support.wording import choose

CORE = 0.5             # half a side of the square or cube in the middle, over the radius of the layer that it is in
ROUND = {2: 0.3, 3: 0.2}          # how far its sides bulge; at 1/2 and 1/3 corners are as far from the centre as sides
# Corners of a square and a cube in the order of VTK; the last half has the last coordinate 1.
CORNERS = {2: np.array([(0, 0), (1, 0), (1, 1), (0, 1)]),
           3: np.array([(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))])}


def concentric_mesh(layers: Sequence, hole: float = 0.0, cells: int = 4, dim: int = 3, degree: int = 3,
                    mirrors: str = "") -> Mesh:
    """A ball, disc or shell around the origin in layers, each a region: curved hexahedra, in 2D quadrilaterals.

    On a sphere the cells are those of a cube with `cells` x `cells` squares on each side, projected so that lines through the
    middle of a side are at equal angles, and on a circle as many on each of four arcs.

    layers     ((name, outer radius, cells along the radius), ...) from the centre outward
    hole       radius of the hole in the middle, whose surface is the boundary "hole"; 0: the first layer goes to the centre,
               where it has a rounded cube of cells^dim cells
    cells      along a side of the cube
    degree     of the maps of the cells, from 1
    mirrors    "", "x", "y", "z", or several, "xy": only the part at positive coordinates along these axes; the boundaries
               there are "x=0" ...
    The outermost surface is the boundary "outer".
    Raises ValueError for radii that do not increase, odd cells with mirrors, and arguments that are not allowed, MeshError
    for degrees that there are not.  Cubed sphere: Ronchi, Iacono & Paolucci 1996."""
    check_arguments(layers, hole, cells, dim, mirrors)
    shells = [count for _, _, count in layers]
    check_room(f"concentric_mesh of {cells} cells a side", 2 * dim * cells ** (dim - 1) * sum(shells) + cells ** dim, dim)
    levels = np.concatenate([[0], np.cumsum(shells)])
    # x = s d, d on the surface of the cube |d| = n, s = 1 at the hole or core, one more at each further shell: whole numbers.
    parts = [shell(cells, dim, s) for s in range(1, levels[-1] + 1)]
    numbers = np.repeat(np.arange(len(layers)), shells).tolist()
    if not hole:
        parts, numbers = [core(cells, dim), *parts], [0, *numbers]
    x, layer = np.concatenate(parts), np.repeat(numbers, [len(part) for part in parts])
    axes = ["xyz".index(axis) for axis in mirrors]
    kept = (x[..., axes] >= 0).all(axis=(1, 2))
    x, layer = x[kept], layer[kept]
    points, corners = np.unique(x.reshape(-1, dim), axis=0, return_inverse=True)
    corners = corners.reshape(x.shape[:2])
    reach = np.abs(x).max(axis=2)
    on = {"outer": reach == cells * (levels[-1] + 1)} | ({"hole": reach == cells} if hole else {})
    on |= {f"{'xyz'[axis]}=0": x[..., axis] == 0 for axis in axes}
    faces: dict[str, Any] = {name: corners[where & sides(where)[:, None]].reshape(-1, 2 ** (dim - 1))
                             for name, where in on.items()}
    groups: dict[str, Any] = {name: np.flatnonzero(layer == number) for number, (name, _, _) in enumerate(layers)}
    source = f"concentric_mesh({layers!r}, {hole:g}, {cells}, {dim}" + f", mirrors={mirrors!r}" * bool(mirrors) + ")"
    mesh = from_arrays(points / cells, corners, faces, groups, source=source)
    return mesh.mapped(Places(layers, hole, dim), degree)


def check_arguments(layers, hole, cells, dim, mirrors):
    """Raise ValueError unless the arguments of `concentric_mesh` are allowed."""
    if dim not in (2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 2 or 3")
    if not isinstance(cells, Integral) or cells < 1 or (mirrors and cells % 2):
        raise ValueError(f"cells={cells!r} is not allowed; it must be a whole number, 1 or more, with mirrors even")
    radii = [hole, *(radius for _, radius, _ in layers)]
    good = len(radii) > 1 and all(isinstance(r, Real) and np.isfinite(r) for r in radii)
    if not good or hole < 0 or min(np.diff(radii)) <= 0:
        raise ValueError(f"the radii {', '.join(map(str, radii))} of hole and layers are not allowed; they must increase")
    for name, _, count in layers:
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"layer {name!r}: {count!r} cells along the radius are not allowed; it must be a whole number, 1 "
                             "or more")
    for axis in mirrors:
        choose("mirrors: the axis", axis, "xyz"[:dim])


def core(cells, dim):
    """Corners (cell, corner, dim) of the cells of the cube from -cells to cells, whole numbers."""
    low = np.stack(np.meshgrid(*[np.arange(-cells, cells, 2)] * dim, indexing="ij"), axis=-1).reshape(-1, 1, dim)
    return low + 2 * CORNERS[dim]


def shell(cells, dim, s):
    """Corners (cell, corner, dim) of the cells between the cubes s and s + 1 times as large as the core."""
    low = np.stack(np.meshgrid(*[np.arange(-cells, cells, 2)] * (dim - 1), indexing="ij"), axis=-1).reshape(-1, 1, dim - 1)
    across = low + 2 * CORNERS[dim][:, :-1]
    along = s + CORNERS[dim][:, -1:]
    return np.concatenate([np.insert(across, axis, side * cells, axis=2) * along for axis in range(dim) for side in (-1, 1)])


def sides(where):
    """Whether a whole face of each cell is there, (cell,), of its corners (cell, corner)."""
    return np.count_nonzero(where, axis=1) == where.shape[1] // 2


class Places:
    """Where the points s d, d on the surface of the cube |d| = 1, go: s = 1 is the surface of the hole or of the core.

    Beyond the core they go to r(s) e, e of unit length along tan(pi d / 4); between the core and the end of the first layer
    the place is a mean of both."""

    def __init__(self, layers, hole, dim):
        self.hole, self.dim = hole, dim
        self.first, self.first_shells = layers[0][1], layers[0][2]
        self.levels = np.cumsum([1, *(count for _, _, count in layers)])
        self.radii = [hole or 1.0, *(radius for _, radius, _ in layers)]

    def __call__(self, x):
        x = np.array(x)
        s = np.abs(x).max(axis=0)
        d = x / np.maximum(s, 1e-300)
        e = np.tan(pi / 4 * d)
        e /= np.maximum(np.linalg.norm(e, axis=0), 1e-300)
        outside = np.interp(s, self.levels, self.radii) * e
        if self.hole:
            return tuple(outside)
        share = np.clip((s - 1) / self.first_shells, 0, 1)
        inside = self.core(np.where(s <= 1, x, d))
        return tuple(np.where(share < 1, (1 - share) * inside + share * self.first * e, outside))

    def core(self, x):
        """The places of points of the cube from -1 to 1."""
        squares = x**2
        return CORE * self.first * x * np.sqrt(1 - ROUND[self.dim] * (squares.sum(axis=0) - squares))
