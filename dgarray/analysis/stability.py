"""The largest stable time step, measured: Bloch analysis of the semi-discrete operator on lattices of affine cells.

A lattice is made from translates of one cell (an interval, the 2 triangles of a square, the 6 Kuhn tetrahedra of a cube, the
6 pyramids of a cube) and an affine map; or of its mirror images in turn, which have the modes of closed boxes.  The modes are
q(x + T) = exp(i k.T) q(x), so one cell with that phase on its periodic faces gives the whole spectrum, and dt is stable if
|R(lambda dt)| <= 1 for all eigenvalues lambda of every k.
`python -m dgarray.analysis.stability [stepper ...]` measures every law family, dimension and order and writes
methods/stability.json; of steppers that are not named it keeps what is there.
Hesthaven & Warburton 2008, section 4.6; Hairer & Wanner 1996, section IV.2 (stability functions).
"""
import json
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from ..mesh import box, interval, rectangle
from ..mesh.generate import SIDES
from ..mesh.mesh import build
from ..methods.check import norm_over_faces
from ..methods.dg import stability
from ..methods.dg.nodal import NodalDG
from ..methods.dg.spectrum import hessenberg, largest_step
from ..methods.problem import Problem
from ..physics.fluxes import upwind
from ..physics.laws import Acoustics, Advection, Maxwell
from ..reference.simplex import FACES
from ..stepping import STEPPERS

KINDS = ("1", 1, None), ("2", 2, None), ("3", 3, None), ("pyramid", 3, "pyramid")          # name in the table, dim, shape
EXPONENTS = tuple(np.arange(1, 3.01, 0.125))
SYMMETRY_POINTS = (0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 2, 2), (0, 0, 1)
DENSE = 150                    # operators up to this size get all their eigenvalues, larger ones the outermost by Arnoldi
LOSS = 1e-5                   # exponents whose fit is worse by so little count as equal: rounding must not choose between them
MARGIN = 0.988                # of the smallest measured value; other lattices and wave numbers came out up to 1 % lower


def triangle(x, y):
    """Lattice vectors whose triangles have the corners (0, 0), (1, 0), (x, y)."""
    return np.array([[1, 0], [x - 1, y]])


LATTICES = {                   # the first is the uniform mesh; the rest are stretched, regular, sheared and obtuse
    1: [np.eye(1)],
    2: [triangle(1, 1), triangle(1, 0.5), triangle(1, 0.25), triangle(1, 0.1), triangle(0.5, 0.75 ** 0.5),
        triangle(0.5, 0.25), triangle(0.25, 0.25), triangle(-0.5, 0.5), triangle(-2, 0.1)],
    3: [np.eye(3), np.diag([2.0, 1, 1]), np.diag([4.0, 1, 1]), np.diag([4.0, 4, 1]),
        np.array([[-1.0, 1, 1], [1, -1, 1], [1, 1, -1]]) / 2, np.array([[1, 0, 0], [-0.3, 1, 0], [0.2, -0.4, 0.8]])],
}
DIRECTIONS = {                 # up to symmetry all that an affine map of the uniform lattice can make of a velocity
    1: [(1.0,)],
    2: [(-np.sin(a), np.cos(a)) for a in np.linspace(0, np.pi / 4, 7)],
    3: [(1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1), (1, 1, -1), (1, -1, 0), (1, 2, 3), (2, 1, 0), (2, 1, 1), (2, 2, 1),
        (2, 1, -1), (5, 4, 4), (3, 2, 2), (4, 4, 3), (5, 3, 1), (13, 9.5, -7)],
}


def lattice(vectors, shape=None):
    """One periodic cell of the lattice with these vectors (rows); shape: of its cells, by default simplices."""
    dim = len(vectors)
    mesh = (interval, rectangle, box)[dim - 1](cells=1, periodic=True, **{"shape": shape} if shape else {})
    return replace(mesh, points=mesh.points @ vectors)


def mirrored(vectors):
    """A periodic mesh of 2^dim cells, each the mirror image of its neighbours: its modes include those of closed boxes."""
    dim = len(vectors)
    cell, points, cells = (rectangle, box)[dim - 2](cells=1), [], []
    for signs in product((1, -1), repeat=dim):
        vertices = cell.cells if np.prod(signs) > 0 else cell.cells[:, [*range(dim - 1), dim, dim - 1]]
        cells.append(vertices + len(points) * len(cell.points))
        points.append(cell.points * signs)
    points, number = np.unique(np.concatenate(points) + 0.0, axis=0, return_inverse=True)
    cells = number.ravel()[np.concatenate(cells)]
    faces = cells[:, FACES[dim]].reshape(-1, dim)
    facets = {name: faces[np.all(points[faces, axis] == end, axis=1)]
              for axis, pair in enumerate(SIDES[dim - 2]) for name, end in zip(pair, (-1, 1))}
    mesh = build(points, cells, facets).periodic(*SIDES[dim - 2])
    return replace(mesh, points=mesh.points @ vectors)


def phases(dim, order):
    """Phases k.T across the cell, list of (dim,), one of k and -k: a fine grid at low order in 1D and 2D; else the multiples
    of pi / 2 and, in 2D, of pi / 3, which hold the symmetry points of the Brillouin zone; in 3D at high order those alone."""
    if dim == 1 or dim == 2 and order <= 3:
        return grid(dim, 64 if dim == 1 else 12)
    if dim == 2:
        return grid(dim, 4) + grid(dim, 6)
    return grid(dim, 4) if order <= 4 else [np.array(p) * np.pi / 2 for p in SYMMETRY_POINTS]


def grid(dim, count):
    """The phases that are multiples of 2 pi / count."""
    return [2 * np.pi / count * np.array(p) for p in product(range(count), repeat=dim)
            if p <= tuple(-i % count for i in p)]


class Bloch:
    """The operator dq/dt = A(k) q of a linear law with constant coefficients on one periodic cell."""

    def __init__(self, mesh, law, order, flux=upwind):
        self.tables = t = NodalDG(order).tables(Problem(mesh, law, {}, flux))
        self.shape = (t.variables, len(t.basis.cell.nodes), t.elements)
        self.size = int(np.prod(self.shape))
        self.D = np.concatenate(t.basis.differentiation, axis=1)
        self.fluxes = np.array([t.physics.functions.volume(q=q, g=tuple(t.geometry.gradients.reshape(-1, t.elements)))
                                for q in self.units(t.elements)]).reshape(t.variables, t.dim, t.variables, t.elements)
        self.jumps = self.face_jumps()

    def units(self, count):
        """The states with one component equal to one, each as a tuple of components of length `count`."""
        return [tuple(np.full(count, float(v == w)) for v in range(self.shape[0])) for w in range(self.shape[0])]

    def face_jumps(self):
        """The face fluxes as entries of a sparse matrix: (slot, node number, value, translation of the neighbour)."""
        t, (variables, nodes, elements) = self.tables, self.shape
        [faces] = t.faces.lists().pairs
        (left, right), sides = faces.cells, faces.sides
        centre = [t.mesh.face_centres(np.column_stack(rows)) for rows in zip((left, right), sides)]
        given = {"n": tuple(t.geometry.normals[sides[0], :, left].T),
                 "s": (t.geometry.scale[sides[0], left], t.geometry.scale[sides[1], right])}
        zero, slots, parts = (np.zeros(len(left)),) * variables, t.basis.lift.shape[1] * elements, []
        for (w, unit), source in product(enumerate(self.units(len(left))), (0, 1)):
            out = t.physics.functions.pair(l=unit if source == 0 else zero, r=unit if source == 1 else zero, **given)
            for target, v in product((0, 1), range(variables)):
                rows = v * slots + faces.slots[target]
                value = np.broadcast_to(out[target * variables + v], rows.shape)
                shift = np.broadcast_to((centre[target] - centre[source])[None], (*rows.shape, t.dim))
                columns = w * nodes * elements + faces.nodes[source]
                parts.append((rows.ravel(), columns.ravel(), value.ravel(), shift.reshape(-1, t.dim)))
        rows, columns, values, shift = (np.concatenate(p) for p in zip(*parts))
        used = values != 0
        return rows[used], columns[used], values[used], shift[used]

    def at(self, k):
        """The function q -> A(k) q on flat arrays, and its dtype."""
        t, (variables, _, elements) = self.tables, self.shape
        rows, columns, values, shift = self.jumps
        values = values * np.exp(1j * (shift @ k))
        values = values if np.abs(values.imag).max() > 1e-9 * np.abs(values).max() else values.real.copy()
        gather = sp.coo_matrix((values, (rows, columns)), (variables * t.basis.lift.shape[1] * elements, self.size)).tocsr()

        def apply(q):
            flux = np.einsum("wkve,wne->vkne", self.fluxes, q.reshape(self.shape)).reshape(variables, -1, elements)
            return (times(t.basis.lift, (gather @ q).reshape(variables, -1, elements)) - times(self.D, flux)).ravel()
        return apply, values.dtype

    def spectrum(self, k):
        """Eigenvalues of A(k), all of a small operator and the outermost of a large one."""
        apply, dtype = self.at(k)
        return outer_spectrum(apply, self.size, dtype)


def times(matrix, array):
    """Real matrix times an array whose last axis is contiguous, complex or real."""
    if array.dtype.kind == "c":
        return (matrix @ np.ascontiguousarray(array).view(float)).view(complex)
    return matrix @ array


def outer_spectrum(apply, size, dtype=float, krylov=60):
    """Eigenvalues of the linear function `apply` on vectors of `size` entries: all of a small one, else those converged
    in a Krylov space (Arnoldi), which is doubled until the largest has; inner ones cannot limit the step."""
    if size <= max(DENSE, krylov):
        return np.linalg.eigvals(np.array([apply(unit) for unit in np.eye(size, dtype=dtype)]).T)
    H, rest = hessenberg(apply, size, krylov, dtype)
    values, vectors = np.linalg.eig(H)
    size_of = np.abs(values)
    converged = np.abs(rest * vectors[-1]) < 1e-4 * size_of
    if not converged[size_of > 0.98 * size_of.max()].all():
        return outer_spectrum(apply, size, dtype, 2 * krylov)
    return values[converged & (size_of > 0.3 * size_of.max())]


def rate(contributions, exponent):
    """Largest norm over the faces of s J_face / J, (face, element): 1 / time."""
    return float(norm_over_faces(contributions, exponent).max())


def measure(mesh, law, order, wave_numbers):
    """Largest stable step of each stepper, {name: dt}, and the face contributions s J_face / J (face, element)."""
    bloch = Bloch(mesh, law, order)
    t = bloch.tables
    spectra = [bloch.spectrum(k) for k in wave_numbers]
    speed = [np.broadcast_to(t.physics.functions.wave_speed(n=tuple(n))[0], t.elements) for n in t.geometry.normals]
    steps = {name: min(largest_step(s, stepper) for s in spectra) for name, stepper in STEPPERS.items()}
    return SimpleNamespace(steps=steps, contributions=np.array(speed) * t.geometry.scale)


def samples(family, dim, order, shape=None):
    """The measurements of one family, dimension and order, two lists: on every lattice, or for every direction of advection;
    and on the mirrored lattices. shape: of the cells, by default simplices; six pyramids in a brick are their mirror image."""
    vectors, laws, images = LATTICES[dim], [(Acoustics, Maxwell)[family == "curl"](dim)], []
    if family == "scalar":
        vectors, laws = vectors[:1], [Advection(direction) for direction in DIRECTIONS[dim]]
    found = [measure(lattice(v, shape), law, order, [np.linalg.solve(v, p) for p in phases(dim, order)])
             for v, law in product(vectors, laws)]
    if dim > 1 and shape is None:
        waves = grid(dim, 2) if dim == 2 else np.zeros((1, 3))
        images = [measure(mirrored(v), laws[0], order, [np.linalg.solve(2 * v, p) for p in waves])
                  for v in vectors if np.array_equal(v, np.diag(np.diag(v)))]
    return found, images


def fit(found, images, name):
    """(factor, exponent, spread, excess) of the measurements for the stepper of that name.

    factor    the smallest dt * rate of all
    exponent  that of the rate: the largest for which (largest + first dt * rate) / factor is within LOSS of the least
    spread    how far the largest dt * rate of `found` exceeds the factor, relative
    excess    how far that of the first does"""
    fits = []
    for exponent in EXPONENTS:
        values, others = ([s.steps[name] * rate(s.contributions, exponent) for s in some] for some in (found, images))
        low = min(values + others)
        fits.append(((max(values) + values[0]) / low, low, float(exponent), max(values) / low - 1, values[0] / low - 1))
    best = min(fits)[0] * (1 + LOSS)
    return [fit[1:] for fit in fits if fit[0] <= best][-1]


def main(names):
    """Measure these steppers, print it, write the table; a few minutes."""
    result = stability.table() if len(names) < len(STEPPERS) else {}
    for family, (kind, dim, shape) in product(stability.FAMILIES, KINDS):
        rows = {name: [] for name in names}
        for order in range(1, 11):
            measured = [name for name in names if not stability.unstable(order, STEPPERS[name])]
            found = samples(family, dim, order, shape) if measured else None
            for name in measured:
                factor, exponent, spread, first = fit(*found, name)
                rows[name].append([float(f"{MARGIN * factor:.5g}"), exponent])
                print(f"{family} {kind} order {order} {name}: factor {factor:.5f}, exponent {exponent}, "
                      f"spread {100 * spread:.1f} %, uniform mesh {100 * first:.1f} %", flush=True)
        result.setdefault(family, {}).setdefault(kind, {}).update(rows)
    path = Path(stability.__file__).with_suffix(".json")
    lines = json.dumps(result).replace('{"', '{\n"').replace(']], "', ']],\n"')
    path.write_text(lines + "\n")


if __name__ == "__main__":
    main(sys.argv[1:] or list(STEPPERS))
