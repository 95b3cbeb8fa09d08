"""Boxes of prisms, made by hand: periodic, with affine cells or with cells distorted by a periodic map."""
from functools import cached_property
from itertools import product

import numpy as np

from dgarray.mesh.curved import cell_maps, geometry as curved_geometry
from dgarray.mesh.faces import Neighbours
from dgarray.mesh.mesh import Mesh
from dgarray.reference import modal_cell, shape_of
from dgarray.spaces.simplex_metrics import face_metrics


class PrismMesh(Mesh):
    """A mesh of prisms with measures by quadrature."""

    @cached_property
    def measures(self):
        r, weights = self.cell_shape.quadrature(4)
        return weights @ cell_maps.determinant(cell_maps.jacobians(self, r))

    @cached_property
    def _vectors(self):
        cell = modal_cell(self.cell_shape, 2)
        normals, areas = face_metrics(self, cell.face_points)
        return np.einsum("dfpe,fpe,fp->efd", normals, areas, cell.face_weights)

    @cached_property
    def face_measures(self):
        return np.linalg.norm(self._vectors, axis=2)

    def face_points(self, rows):
        corners = np.array([(*face, face[0])[:4] for face in self.cell_shape.faces])          # triangles end as they begin
        return self.cells[rows[:, :1], corners[rows[:, 1]]]

    def face_centres(self, rows):
        return curved_geometry.face_centres(self, np.asarray(rows).reshape(-1, 2))

    @cached_property
    def normals(self):
        return self._vectors / self.face_measures[:, :, None]


def prism_box(n, bend=0.0, shear=0.0, turn=True, lengths=(1.0, 1.0, 1.0), periodic=True):
    """n^3 bricks of two prisms each, periodic in all directions or in none.

    bend    of a periodic map of the corners, as a share of the box;  shear: of an affine map, which keeps cells affine
    turn    the prisms' axes point up or down, and their corners begin at different places"""
    lattice = np.array(list(product(range(n + 1), repeat=3)))
    number = np.arange((n + 1) ** 3).reshape(3 * [n + 1])
    cells = []
    for i, j, k in product(range(n), repeat=3):
        square = [(0, 0), (1, 0), (1, 1), (0, 1)]
        for m, triangle in enumerate(((0, 1, 2), (0, 2, 3))):
            triangle = np.roll(triangle, (i + j + k + m) % 3 if turn else 0)
            if turn and (i + k) % 2:          # upside down
                triangle = triangle[::-1]
                layers = (1, 0)
            else:
                layers = (0, 1)
            cells.append([number[i + square[c][0], j + square[c][1], k + z] for z in layers for c in triangle])
    cells = np.array(cells)
    x = lattice / n
    wave, other = (f(2 * np.pi * (x + [0.03, 0.07, 0.11])) for f in (np.sin, np.cos))
    moved = x + bend * np.column_stack([wave[:, 1] * other[:, 2], wave[:, 2] + wave[:, 0],
                                        wave[:, 0] * other[:, 1]])
    points = (moved + shear * moved[:, [1, 2, 0]]) * lengths
    shape = shape_of(points, cells)
    known, count = {}, len(cells)
    cell = np.repeat(np.arange(count)[:, None], 5, axis=1)
    face, orientation = np.full((count, 5), -1), np.tile(np.arange(4), (count, 5, 1))
    for c, f in product(range(count), range(5)):
        corners = cells[c, list(shape.faces[f])]
        places = [tuple(lattice[p] % n if periodic else lattice[p]) for p in corners]
        key = frozenset(places)          # names a face of a box of 3^3 bricks or more
        if key in known:
            o, g, theirs = known.pop(key)
            match = [theirs.index(p) for p in places]
            cell[c, f], face[c, f], cell[o, g], face[o, g] = o, g, c, f
            orientation[c, f, :len(match)], orientation[o, g, :len(match)] = match, np.argsort(match)
        else:
            known[key] = c, f, places
    assert n > 2 and not (known and periodic)
    return PrismMesh(points, cells, {}, {}, np.arange(count), Neighbours(cell, face, orientation), source="prisms")
