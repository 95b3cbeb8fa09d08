"""Hexahedra of the air around an aircraft, made by NumPy and SciPy alone.

    from dgarray.cases.meshes.aircraft import aircraft_mesh
    mesh = pml(aircraft_mesh(size=0.3), thickness=1.0, cells=3)

The cells of a box are numbered along three axes. Fuselage, wing, tailplane and fin each take a block of them, so that the
surface of the rest is a closed manifold, in which the leading and trailing edges are lines of the mesh. Its points are placed
on the aircraft, and each of its faces becomes a hexahedron of a layer around it. All other points then move: cells become as
near to bricks of the wanted lengths as they can, and none stays turned over.
"""
from __future__ import annotations

from dataclasses import dataclass
from math import prod
from numbers import Real

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import cg

from dgarray.mesh import Mesh, MeshError, from_arrays
from dgarray.mesh.memory import check_room

from .untangle import MIRRORED, smooth

SIDES = ("left", "right"), ("front", "back"), ("bottom", "top")
VTK_ORDER = (0, 1, 1, 0, 0, 1, 1, 0), (0, 0, 1, 1, 0, 0, 1, 1), (0, 0, 0, 0, 1, 1, 1, 1)
CREST = 0.35          # where a section of a wing is thickest, as a share of its chord
EDGE = 0.5          # its thickness at the leading and trailing edges, which are blunt, relative to the crest's
ROUND = 0.25          # how round the ends' edges are, between a square (0) and a circle (0.5)
LAYER = 0.3          # height of the cells at the skin, relative to the size
TIE = 1e-9          # keeps what lies between two numbers of cells from depending on rounding
LEAST = 0.1          # scaled Jacobian that every cell must have


@dataclass(frozen=True)
class Wing:
    """A wing, a tailplane (of these one half), or a fin, with straight edges from the axis of the fuselage to the tip.

    leading    x of the leading edge at the axis and at the tip
    chord      length of the section there
    height     of its middle plane there
    span       distance of the tip from the axis
    thickness  of the section, relative to its chord"""

    leading: tuple = (3.3, 6.1)
    chord: tuple = (2.6, 1.25)
    height: tuple = (-0.2, 0.1)
    span: float = 4.5
    thickness: float = 0.13

    def at(self, name, along):
        """`leading`, `chord` or `height` at distances from the axis; beyond the tip, the tip's."""
        return np.interp(along, (0, self.span), getattr(self, name))

    def place(self, s, z, along):
        """(x, height) at the share s of the chord, z half thicknesses of the crest above the middle plane."""
        chord = self.at("chord", along)
        return self.at("leading", along) + s * chord, self.at("height", along) + z * self.thickness * chord / 2


@dataclass(frozen=True)
class Aircraft:
    """An aircraft along x, symmetric about y = 0, in any unit of length.

    The fuselage is a cylinder of the radius `radius` from x = nose to x = tail, between half an ellipsoid from x = 0 on and
    another one to x = length, whose axis rises by `rise`. Of the fin, span and height are along z and y."""

    length: float = 10.0
    radius: float = 0.6
    nose: float = 2.0
    tail: float = 6.0
    rise: float = 0.3
    wing: Wing = Wing()
    tailplane: Wing = Wing((7.6, 8.5), (1.3, 0.85), (0.2, 0.3), 1.8, 0.14)
    fin: Wing = Wing((6.9, 8.6), (1.75, 0.95), (0.0, 0.0), 2.2, 0.14)

    def depth(self, x):
        """How far x is into the nose or tail: from -1 at the foremost point to 1 at the rearmost, 0 in the cylinder."""
        return np.minimum(x / self.nose - 1, 0) + np.maximum((x - self.tail) / (self.length - self.tail), 0)

    def axis(self, x):
        """Height of the axis of the fuselage."""
        return self.rise * np.maximum(self.depth(x), 0) ** 2

    def level(self, x, y, z):
        """A function that is below 0 in the fuselage, 0 on its surface."""
        return (y**2 + (z - self.axis(x))**2) / self.radius**2 + self.depth(x)**2 - 1

    def ring(self, x, angle):
        """Points (..., 3) of the fuselage's surface at x, at angles from above."""
        r = self.radius * np.sqrt(1 - self.depth(x)**2)
        return np.stack([x, r * np.sin(angle), self.axis(x) + r * np.cos(angle)], axis=-1)


def aircraft_mesh(size: float = 0.3, margin: float = 1.5, aircraft: Aircraft = Aircraft()) -> Mesh:
    """The air between an aircraft and a box around it, in hexahedra; symmetric about y = 0.

    Boundaries: "skin", and those of the box as of `dgarray.box`: left (before the nose), right, front, back, bottom, top.
    size      length of the cells' edges near the aircraft; wings have at least one cell across their thickness, however large
    margin    distance of the box from the nose, tail and tips, and from the fuselage below
    aircraft  its shape, an `Aircraft`; by default one of the length 10 and the span 9
    Raises ValueError for sizes that are not positive, MeshError for a shape and size in which a cell would be too distorted.

    size    cells   on the skin   scaled Jacobian: least, median, below 0.5   shortest edge   seconds
    0.6      4555       416                  0.29   0.985     58 cells            0.059           2
    0.4     11626       652                  0.35   0.991     50 cells            0.059           4
    0.3     27108      1052                  0.33   0.993     46 cells            0.059           9
    0.25    44984      1386                  0.31   0.995     42 cells            0.057          12
    0.2     98970      2718                  0.21   0.994     60 cells            0.030          27

    Seconds are those of one core. The shortest edges are at the tip of the tailplane, across its blunt edges; from size 0.2 on
    they are two cells thick. The volume of the aircraft is too small by 3 % at size 0.3, by 1 % at 0.2."""
    for name, value in (("size", size), ("margin", margin)):
        if not (isinstance(value, Real) and not isinstance(value, bool) and 0 < value < np.inf):
            raise ValueError(f"{name}={value!r} is not allowed; it must be a positive number")
    source = f"aircraft_mesh({size:g}, {margin:g})"
    lattice = Lattice(aircraft, size, margin)
    faces, start = lattice.faces(), lattice.points()
    count = start[..., 0].size          # point k of the lattice's surface has its place on the skin as point count + k
    cells = np.concatenate([lattice.cells(), np.stack([count + faces, faces], axis=3)])
    skin = skin_points(lattice, faces).reshape(-1, 3)
    sides = [np.linalg.norm(np.diff(skin[faces], axis=axis), axis=3).mean(axis=(1, 2)) for axis in (1, 2)]
    lengths = np.concatenate([lattice.lengths(start), np.stack([*sides, np.full(len(faces), LAYER * size)], axis=1)])
    x = np.concatenate([first_places(start, skin, cells[:-len(faces)], faces, LAYER * size), skin])
    index = np.stack(np.unravel_index(np.arange(count), start.shape[:3]), axis=1)
    free = np.zeros(x.shape, dtype=bool)
    free[:count] = (index > 0) & (index < lattice.shape)
    free[:count, 1] &= 2 * index[:, 1] != lattice.shape[1]
    used = np.unique(cells)
    free[np.setdiff1d(np.arange(count), used)] = False
    number = np.arange(count).reshape(start.shape[:3])
    mirror = np.concatenate([number[:, ::-1].ravel(), count + number[:, ::-1].ravel()])
    smooth(x, free, cells, lengths, mirror, np.tile(2 * index[:, 1] - lattice.shape[1], 2))
    place = np.searchsorted(used, np.arange(2 * count))
    facets = {"skin": place[count + faces].reshape(-1, 4)}
    for axis, names in enumerate(SIDES):
        for end, name in zip((0, -1), names):
            facets[name] = place[sliding_window_view(np.take(number, end, axis), (2, 2)).reshape(-1, 4)]
    mesh = from_arrays(x[used], place[cells][(slice(None), *VTK_ORDER)], facets, source=source)
    if mesh.quality().min() < LEAST:
        raise MeshError(f"{source}: the scaled Jacobian of a cell is {mesh.quality().min():.2g}, below {LEAST}; take a smaller "
                        "size, or an aircraft whose wing, tailplane and fin are farther from each other and from the ends")
    return mesh


class Lattice:
    """The cells of a box, numbered along x, y and z, of which the aircraft takes blocks.

    x, y, z    numbers of the cells at which blocks begin and end.  x: front, nose, leading and trailing edge of the wing, of
               tailplane and fin, tail, rear;  y: left, tips of wing and tailplane, sides of fuselage and fin, and the same on
               the right;  z: bottom, fuselage, wing, tailplane above it, its top, top of the fuselage, tip of the fin, top
    shape      number of cells along each axis
    solid      (x cell, y cell, z cell) whether the aircraft takes it"""

    def __init__(self, aircraft, size, margin):
        wing, tailplane, fin, r = aircraft.wing, aircraft.tailplane, aircraft.fin, aircraft.radius

        def ends(*lengths):
            return np.cumsum([0, *(max(1, int(length / size + 0.5 + TIE)) for length in lengths)])
        far = margin / 1.3
        half = far, wing.span - tailplane.span, tailplane.span - 0.75 * r, 0.6 * r
        between = tailplane.leading[0] - wing.leading[0] - wing.chord[0]
        self.x = ends(far, wing.at("leading", r) - 0.2 * aircraft.nose, 0.9 * wing.at("chord", r), between,
                      tailplane.at("chord", r), 0.07 * aircraft.length, far)
        self.y = ends(*half, r / 4, *half[::-1])
        self.z = ends(far, r / 2, r / 2, r / 2, r / 2, fin.span - 0.75 * r, far)
        self.aircraft, self.margin = aircraft, margin
        self.shape = tuple(int(ends[-1]) for ends in (self.x, self.y, self.z))
        check_room(f"the air around an aircraft at size={size:g}", prod(self.shape), 3)
        self.solid = np.zeros(self.shape, dtype=bool)
        for block in self.blocks():
            self.solid[block] = True
            self.solid[:, ::-1][block] = True

    def blocks(self, more=0):
        """Slices of the cells of the fuselage, the right halves of wing and tailplane, and the fin; with more=1 of points."""
        ranges = ((1, 6), (3, 6), (1, 5)), ((2, 3), (6, 8), (2, 3)), ((4, 5), (6, 7), (3, 4)), ((4, 5), (4, 5), (5, 6))
        return [tuple(slice(ends[low], ends[high] + more) for ends, (low, high) in zip((self.x, self.y, self.z), block))
                for block in ranges]

    def numbers(self):
        """(x, y, z point) numbers of the points."""
        shape = tuple(n + 1 for n in self.shape)
        return np.arange(prod(shape)).reshape(shape)

    def cells(self):
        """(cell, 2, 2, 2) points of the cells of the air."""
        return sliding_window_view(self.numbers(), (2, 2, 2))[~self.solid]

    def faces(self):
        """(face, 2, 2) points of the faces between aircraft and air; by the right hand, the normal points into the air."""
        found = []
        for axis in range(3):
            cyclic = axis, (axis + 1) % 3, (axis + 2) % 3
            solid, number = self.solid.transpose(cyclic), self.numbers().transpose(cyclic)[1:-1]
            windows = sliding_window_view(number, (2, 2), axis=(1, 2))
            found += [windows[solid[:-1] & ~solid[1:]], windows[~solid[:-1] & solid[1:]].transpose(0, 2, 1)]
        return np.concatenate(found)

    def points(self):
        """(x, y, z point, 3) places in a lattice that follows the sweep of wing and tailplane, with the aircraft's blocks."""
        plane, tail, r, margin = self.aircraft.wing, self.aircraft.tailplane, self.aircraft.radius, self.margin
        across = np.array([r / 6, 0.75 * r, tail.span, plane.span, plane.span + margin])
        upward = np.array([-r - margin, -0.8 * r, -0.5 * r, 0, 0.5 * r, 0.8 * r])
        tip = self.aircraft.fin.span
        y, z = (np.interp(np.arange(ends[-1] + 1), ends, lengths) for ends, lengths in (
            (self.y, [*-across[::-1], *across]), (self.z, [*upward, tip, tip + margin])))
        along, one = np.abs(y), np.ones(len(y))
        edges = [-margin * one, 0.2 * self.aircraft.nose + (plane.at("leading", along) - plane.leading[0]) / 3]
        for wing in (plane, tail):
            edges += [wing.at("leading", along), wing.at("leading", along) + wing.at("chord", along)]
        edges += [0.97 * self.aircraft.length * one, (self.aircraft.length + margin) * one]
        x = np.stack([np.interp(np.arange(self.x[-1] + 1), self.x, lengths) for lengths in np.transpose(edges)], axis=1)
        return np.stack(np.broadcast_arrays(x[..., None], y[:, None], z), axis=-1)

    def lengths(self, points):
        """(cell, 3) lengths of the edges of the cells of the air along each axis, without the sweep."""
        inside = tuple(slice(0, n) for n in self.shape)
        return np.stack([np.diff(points[..., axis], axis=axis)[inside][~self.solid] for axis in range(3)], axis=1)


def skin_points(lattice, faces):
    """(x, y, z point, 3) places on the aircraft of the points of the faces (face, 2, 2), nan elsewhere or of no meaning."""
    aircraft, (fuselage, *wings) = lattice.aircraft, lattice.blocks(1)
    place = np.full((*lattice.numbers().shape, 3), np.nan)
    for block, wing, axes in zip(wings, (aircraft.wing, aircraft.tailplane, aircraft.fin), ((1, 0, 2), (1, 0, 2), (2, 0, 1))):
        place[block] = wing_points(aircraft, wing, place[block].shape[:3], axes)
    left = place.shape[1] // 2
    place[:, :left] = (place[:, ::-1] * MIRRORED)[:, :left]
    angles = [np.linspace(-np.pi / 4, np.pi / 4, count) for count in place[fuselage].shape[1:3]]
    ends = (0, 0.7, aircraft.nose, -aircraft.nose), (-1, 0.4, aircraft.tail, aircraft.length - aircraft.tail)
    for end, width, centre, length in ends:          # a face of a cube on a sphere, which is stretched to the ellipsoid
        u, v = np.meshgrid(*(np.tan(angle) for angle in angles), indexing="ij")
        u, v = u * np.sqrt(1 - ROUND * v**2), v * np.sqrt(1 - ROUND * u**2)
        d = np.stack([np.ones(u.shape), width * u, width * v], axis=-1)
        x, y, z = np.moveaxis(d / np.linalg.norm(d, axis=-1, keepdims=True) * (length, aircraft.radius, aircraft.radius), -1, 0)
        place[fuselage][end] = np.stack([x + centre, y, z + aircraft.axis(x + centre)], axis=-1)
    around_fuselage(aircraft, place, fuselage, faces, angles)
    return (place + place[:, ::-1] * MIRRORED) / 2


def wing_points(aircraft, wing, shape, axes):
    """(x, y, z point, 3) places of the points of a block of a wing, from the surface of the fuselage to the tip.

    axes: of the block along the span, along the chord, and through the wing"""
    span, chord, through = (shape[axis] for axis in axes)
    s = np.repeat(np.linspace(0, 1, chord)[:, None], through, axis=1)
    z = half_thickness(s) * np.linspace(-1, 1, through)

    def places(along):
        x, height = wing.place(s, z, along)
        return (x, along, height) if axes[0] == 1 else (x, height, along)
    inside, outside = np.zeros(s.shape), np.full(s.shape, wing.span)
    for _ in range(50):
        middle = (inside + outside) / 2
        within = aircraft.level(*places(middle)) < 0
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    along = outside + (wing.span - outside) * np.linspace(0, 1, span)[:, None, None]
    return np.moveaxis(np.stack(places(along), axis=-1), (0, 1, 2), axes)


def half_thickness(s):
    """Half the thickness of a section at the share s of its chord: two parabolas, 1 at the crest."""
    return 1 - (1 - EDGE) * ((s - CREST) / np.where(s < CREST, CREST, 1 - CREST))**2


def around_fuselage(aircraft, place, fuselage, faces, angles):
    """Place the points of the fuselage between its ends, wings and fin: x and the angle there are means of the neighbours'.

    angles: from -pi / 4 to pi / 4, of the lines along a top and along a side without wings"""
    a, b = angles
    side, angle = np.zeros(place.shape[:3], dtype=bool), np.zeros(place.shape[:3])
    side[fuselage][:, [0, -1]] = side[fuselage][:, :, [0, -1]] = True
    regular = angle[fuselage]
    regular[:, :, 0], regular[:, :, -1], regular[:, 0], regular[:, -1] = np.pi - a, a, b - np.pi / 2, np.pi / 2 - b
    x, y, z = np.moveaxis(place, -1, 0)
    turn = np.arctan2(y, z - aircraft.axis(x)) - angle
    turn = np.mod(turn + np.pi, 2 * np.pi) - np.pi          # from where it would be on a fuselage without wings
    edges = edges_of(faces[side.ravel()[faces].all(axis=(1, 2))])
    points = np.unique(edges)
    unknown = points[np.isnan(x.ravel()[points])]
    x, turn = means(edges, unknown, np.stack([x.ravel(), turn.ravel()], axis=1)).T
    place.reshape(-1, 3)[unknown] = aircraft.ring(x, turn + angle.ravel()[unknown])


def edges_of(cells):
    """(edge, 2) points of the edges of cells or faces (cell, 2, ..., 2), each once."""
    edges = [np.moveaxis(cells, axis, -1).reshape(-1, 2) for axis in range(1, cells.ndim)]
    return np.unique(np.sort(np.concatenate(edges), axis=1), axis=0)


def means(edges, unknown, values):
    """Values (unknown, column) at points that are the means of those at the other ends of their edges, given all others."""
    ends = np.concatenate([edges, edges[:, ::-1]]).T
    graph = coo_array((np.ones(ends.shape[1]), ends), shape=(len(values),) * 2).tocsr()[unknown]
    given = np.nan_to_num(values)
    given[unknown] = 0
    matrix = diags_array(graph.sum(axis=1)).tocsr() - graph[:, unknown]
    return np.stack([cg(matrix, column, rtol=1e-10)[0] for column in (graph @ given).T], axis=1)


def first_places(start, skin, cells, faces, height):
    """Places (point, 3) of the lattice's points: those of its surface lie outside the skin, and the others move from `start`
    by the mean of their neighbours' moves.

    start: (x, y, z point, 3);  height: of the layer on the faces"""
    x = start.reshape(-1, 3)
    corners = skin[faces]
    normal = np.cross(corners[:, 1, 1] - corners[:, 0, 0], corners[:, 0, 1] - corners[:, 1, 0])
    normal /= -np.linalg.norm(normal, axis=1, keepdims=True)
    outward = np.stack([np.bincount(faces.ravel(), np.repeat(c, 4), len(x)) for c in normal.T], axis=1)
    surface, on_face = np.unique(faces, return_counts=True)
    move = np.zeros(x.shape)
    move[surface] = skin[surface] + outward[surface] * height / on_face[:, None] - x[surface]
    inner = np.arange(len(x)).reshape(start.shape[:3])[1:-1, 1:-1, 1:-1]
    unknown = np.setdiff1d(np.intersect1d(inner, cells), surface)
    move[unknown] = means(edges_of(cells), unknown, move)
    return x + move
