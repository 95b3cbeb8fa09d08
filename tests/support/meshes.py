"""Meshes and laws that several tests take."""
from dataclasses import replace

import numpy as np
from dgarray.cases.disc_cavity import disc as unit_disc

import dgarray as dg
from dgarray.mesh.faces import connect

PERIODIC = {1: dg.interval(0, 1, 6, periodic=True, perturb=0.1), 2: dg.rectangle(cells=(4, 3), periodic=True, perturb=0.2),
            3: dg.box(cells=(3, 3, 2), periodic=True, perturb=0.2)}

UNIFORM = [dg.Advection((0.7,)), dg.Advection((0.7, -0.4)), dg.Advection((0.7, -0.4, 0.2)),
           *(dg.Acoustics(d) for d in (1, 2, 3)), dg.Maxwell(1), dg.Maxwell(2, "TM"), dg.Maxwell(2, "TE"), dg.Maxwell(3)]


def disc(count):
    """A disc of as many triangles, corners on the unit circle around (2, 1)."""
    angle = 2 * np.pi * np.arange(count) / count
    points = np.concatenate([[[0, 0]], np.stack([np.cos(angle), np.sin(angle)], axis=1)]) + (2, 1)
    cells = [(0, 1 + i, 1 + (i + 1) % count) for i in range(count)]
    return dg.mesh.from_arrays(points, np.array(cells))


def anywhere(mesh):
    """The mesh with its elements in any order: each unit of tiles reads nearly all others."""
    cells = mesh.cells[np.random.default_rng(0).permutation(len(mesh.cells))]
    return replace(mesh, cells=cells, neighbours=connect(cells, mesh.cell_shape.faces, str), boundaries={}, regions={})


def to_sphere(x):
    """The nearest place on the unit circle or sphere."""
    radius = np.sqrt(sum(c * c for c in x))
    return tuple(c / radius for c in x)


def ball(shape, levels=0, order=1):
    """The unit disc or ball in cells of a shape, refined so often, with a curved boundary for an order from 2."""
    if shape in ("triangle", "quadrilateral"):
        return unit_disc(levels, shape, order)
    mesh = SEEDS[shape]()
    for _ in range(levels):
        mesh = mesh.refined().curved(1, to_sphere)
    return mesh.curved(order, to_sphere)


def _cube_ball():
    """Seven hexahedra: a cube and one towards each of its faces."""
    corners = np.array([(x, y, z) for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    faces = (0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)
    cells = [tuple(range(8)), *((*(a + 8 for a in face), *face) for face in faces)]
    return dg.mesh.from_arrays(np.concatenate([corners * 0.4, corners / np.sqrt(3)]), np.array(cells))


def _octahedron():
    """Eight tetrahedra around the centre."""
    points = np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
    sides = [(a, b, c) for a in (1, 4) for b in (2, 5) for c in (3, 6)]
    cells = [(0, *(side if sum(corner > 3 for corner in side) % 2 == 0 else side[::-1])) for side in sides]
    return dg.mesh.from_arrays(points, np.array(cells))


SEEDS = {"tetra": _octahedron, "hexahedron": _cube_ball}
