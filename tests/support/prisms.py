"""Boxes of prisms, made by hand: periodic, with affine cells or with cells distorted by a periodic map."""
from functools import cached_property
from itertools import product

import numpy as np

from dgarray.mesh import cell_maps
from dgarray.mesh.faces import Neighbours
from dgarray.mesh.mesh import Mesh
from dgarray.reference import cell_quadrature, modal_cell, shape_of
from dgarray.spaces.simplex_metrics import face_metrics


class PrismMesh(Mesh):
    """A mesh of prisms with measures by quadrature."""

    @cached_property
    def measures(self):
        r, weights = cell_quadrature(self.cell_shape, 4)
        return weights @ cell_maps.determinant(cell_maps.jacobians(self, r))

    @cached_property
    def _vectors(self):
        cell = modal_cell(self.cell_shape, 2)
        normals, areas = face_metrics(self, cell.face_points)
        return np.einsum("dfpe,fpe,fp->efd", normals, areas, cell.face_weights)

    @cached_property
    def face_measures(self):
        return np.linalg.norm(self._vectors, axis=2)

    @cached_property
    def normals(self):
        return self._vectors / self.face_measures[:, :, None]


def prism_box(n, bend=0.0, shear=0.0, turn=True, lengths=(1.0, 1.0, 1.0)):
    """n^3 bricks of two prisms each, periodic in all directions; bend: of a periodic map of the corners, as a share of a box's
    length; shear: of an affine map that keeps cells affine; turn: the prisms' axes point along z in every second layer upwards,
    else downwards, and corners begin at different places."""
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
        places = [tuple(lattice[p] % n) for p in corners]
        # Periodic images of a face differ in places taken modulo the period, but for n = 1 or 2 these may be ambiguous.
        centre = tuple((2 * lattice[corners].sum(axis=0) // len(corners) % (2 * n)).tolist())
        key = centre, frozenset(places)
        if key in known:
            o, g, theirs = known.pop(key)
            match = [theirs.index(p) for p in places]
            cell[c, f], face[c, f], cell[o, g], face[o, g] = o, g, c, f
            orientation[c, f, :len(match)], orientation[o, g, :len(match)] = match, np.argsort(match)
        else:
            known[key] = c, f, places
    assert not known and n > 2
    return PrismMesh(points, cells, {}, {}, np.arange(count), Neighbours(cell, face, orientation), source="prisms")
