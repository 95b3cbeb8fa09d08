"""Meshes and laws that several tests take."""
from dataclasses import replace

import numpy as np

import dgarray as dg
from dgarray.cases.ball_cavity import ball as unit_ball
from dgarray.cases.disc_cavity import disc as unit_disc
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
    return replace(mesh, cells=cells, neighbours=connect([(cells, mesh.cell_shape.faces)], str), boundaries={}, regions={})


def ball(shape, levels=0, order=1):
    """The unit disc or ball in cells of a shape, refined so often, with a curved boundary for an order from 2."""
    return (unit_disc if shape in ("triangle", "quadrilateral") else unit_ball)(levels, shape, order)
