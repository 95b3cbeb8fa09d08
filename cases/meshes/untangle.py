"""Points of hexahedra move until no cell is turned over and all are as near to bricks of wanted lengths as they can.

Garanzha, Kaporin, Kudryavtseva, Protais, Ray & Sokolov 2021, Foldover-free maps in 50 lines of code.
"""
from itertools import product

import numpy as np

MIRRORED = np.array([1.0, -1.0, 1.0])          # factors of the coordinates in the mirror y = 0
STAGES, STEPS, MEMORY = 20, 100, 8          # of the descent: stages until all cells are valid, steps of one, steps remembered


def smooth(x, free, cells, lengths, mirror, side):
    """Move points x (point, 3) along the `free` coordinates, so that the `energy` of the cells becomes least.

    mirror, side: number of the mirrored point, and its place in the lattice, below 0 on the left; only half of the cells are
    looked at, those on the right and in the middle"""
    middle = side[cells].mean(axis=(1, 2, 3))
    weight = np.where(middle > 0, 1.0, 0.5)[middle >= 0]
    cells, lengths = cells[middle >= 0], lengths[middle >= 0]
    left = side < 0
    free = free & ~left[:, None]

    def moved(v):
        x[free] = v
        x[left] = x[mirror[left]] * MIRRORED
        return x
    v = x[free]
    for _ in range(STAGES):
        least = energy(moved(v), cells, lengths, weight, 1.0)[2]
        floor = 0.0 if least > 0 else np.sqrt(1e-6 + 0.04 * least**2)

        def function(v, floor=floor):
            total, gradient, _ = energy(moved(v), cells, lengths, weight, floor)
            gradient[mirror[left]] += gradient[left] * MIRRORED
            return total, gradient[free]
        v = descend(function, v)
        if floor == 0:
            break
    moved(v)


def energy(x, cells, lengths, weight, floor):
    """Energy of cells (cell, 2, 2, 2) at points x (point, 3), its gradient, and the least det J.

    Sum of |J|^2 / D^(2/3) + (1 + det^2 J) / (8 D) over the corners, J the edges there divided by the wanted `lengths` (cell, 3)
    and D = (det J + sqrt(det^2 J + floor^2)) / 2. With floor = 0 it is infinite unless all det J are positive.
    weight: (cell,) of the cells in the sum
    Garanzha, Kaporin, Kudryavtseva, Protais, Ray & Sokolov 2021, Foldover-free maps in 50 lines of code."""
    corners = x[cells.transpose(1, 2, 3, 0)]
    corners = np.ascontiguousarray(np.moveaxis(corners, -1, 3))          # (2, 2, 2, dim, cell)
    edges = [(np.take(corners, 1, axis) - np.take(corners, 0, axis)) / lengths[:, axis] for axis in range(3)]
    slopes = [np.zeros(edge.shape) for edge in edges]
    total, least = 0.0, np.inf
    for i, j, k in product((0, 1), repeat=3):
        a, b, c = edges[0][j, k], edges[1][i, k], edges[2][i, j]
        bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
        det = np.sum(a * bc, axis=0)
        least = min(least, float(det.min()))
        if floor == 0 and least <= 0:
            return np.inf, np.zeros(x.shape), least
        root = np.sqrt(det**2 + floor**2)
        D = (det + root) / 2          # its derivative is D / root
        power = np.cbrt(D) ** -2
        form, volume = np.sum(a * a + b * b + c * c, axis=0) * power, (1 + det**2) / (8 * D)
        total += np.sum(weight * (form + volume))
        by_square = 2 * weight * power
        by_det = weight * (det / (4 * D) - (2 / 3 * form + volume) / root)
        slopes[0][j, k] += by_square * a + by_det * bc
        slopes[1][i, k] += by_square * b + by_det * ca
        slopes[2][i, j] += by_square * c + by_det * ab
    by_corner = np.zeros(corners.shape)
    for axis, slope in enumerate(slopes):
        slope /= lengths[:, axis]
        low, high = np.moveaxis(by_corner, axis, 0)
        low -= slope
        high += slope
    number = cells.transpose(1, 2, 3, 0).ravel()
    gradient = [np.bincount(number, by_corner[:, :, :, axis].ravel(), len(x)) for axis in range(3)]
    return total, np.stack(gradient, axis=1), least


def cross(a, b):
    """Cross product of (3, cell) vectors."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def descend(function, v):
    """v where function(v), which returns a value and its gradient, is less: L-BFGS. Nocedal & Wright 2006, algorithm 7.4."""
    value, gradient = function(v)
    pairs = []
    for _ in range(STEPS):
        direction, shares = -gradient, []
        for s, y, sy in pairs[::-1]:
            shares.append(dot(s, direction) / sy)
            direction = direction - shares[-1] * y
        direction *= pairs[-1][2] / dot(pairs[-1][1], pairs[-1][1]) if pairs else 0.01 / np.abs(gradient).max()
        for (s, y, sy), share in zip(pairs, shares[::-1]):
            direction += (share - dot(y, direction) / sy) * s
        slope = dot(gradient, direction)
        step, (new, slopes) = 1.0, function(v + direction)
        while new > value + 1e-4 * step * slope:
            if step < 1e-6:
                return v
            step /= 2
            new, slopes = function(v + step * direction)
        s, y = step * direction, slopes - gradient
        v, value, gradient = v + s, new, slopes
        if dot(s, y) > 0:
            pairs = [*pairs, (s, y, dot(s, y))][-MEMORY:]
    return v


def dot(a, b):
    """The inner product, which rounds alike whatever the number of threads; BLAS does not."""
    return np.sum(a * b)
