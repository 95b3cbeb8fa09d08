"""Sums of products of two states over points of faces or elements, which add up from stage to stage.

A function of a medium m that is linear in the state q gives to a number with the adjoint a of its results the derivative
a . (df/dm) q. Where m does not change in time, df/dm is a sum of few products u v^T of vectors, its terms; what a stage adds is
(u . a) (v . q) at some points, and no function is evaluated.
"""
from typing import NamedTuple

import numpy as np

from ..operation import Operation

SAME = 1e-13          # of the sizes that were added up, below which what is left is rounding


class Places(NamedTuple):
    """Faces or elements, and what is summed there of two flat arrays s, q for each term:

        sum over points a, b of (sum u s)_a mass_ab (sum v q)_b,

    the inner sums over sides and variables.

    at, of (side, point, place)   where s, and q, of variable 0 are
    stride, of_stride     from one variable to the next, in s and in q
    u, v (term, side, variable, point or 1, place)
    mass (kind, point, point), or (kind, point) where it is diagonal
    kind (place,)         of mass"""

    at: np.ndarray
    of: np.ndarray
    stride: int
    of_stride: int
    u: np.ndarray
    v: np.ndarray
    mass: np.ndarray
    kind: np.ndarray

    @property
    def count(self):
        """How many numbers of s are read, about as many as of q."""
        return self.at.size * self.u.shape[2]


class BilinearSums:
    """The sums of `Places`, by array expressions.

    found (term, place)   the sums so far"""

    def __init__(self, backend, places):
        self.backend, self.tables = backend, places
        self.found = np.zeros((len(places.u), places.at.shape[-1]))
        self.parts = [np.flatnonzero(places.kind == kind) for kind in range(len(places.mass))]

    def operation(self, factor, s, *states):
        """The `Operation` that adds factor[0], as it is then, times the sums of s and q, the sum of some states (number,
        array)."""
        return Operation("sums of products", lambda: self.add(factor[0], s, *states))

    def add(self, factor, s, *states):
        """Add factor times these sums."""
        tables = self.tables
        q = sum(number * taken(array, tables.of, tables.of_stride, tables.v.shape[2]) for number, array in states)
        left = summed(tables.u, taken(s, tables.at, tables.stride, tables.u.shape[2]))
        right = summed(tables.v, q)
        for mass, part in zip(tables.mass, self.parts):
            product = mass[:, None] * right[:, :, part] if mass.ndim == 1 else mass @ right[:, :, part]
            self.found[:, part] += factor * (left[:, :, part] * product).sum(axis=1)

    def result(self):
        """(term, place)"""
        return self.found


def taken(array, at, stride, variables):
    """Values (side, variable, point, place) of a flat array."""
    flat = array.reshape(-1)
    return np.stack([flat[at + v * stride] for v in range(variables)], axis=1).astype(float)


def summed(factors, values):
    """The sums over sides and variables of each term, (term, point, place)."""
    return (factors * values).sum(axis=(1, 2))


def terms_of(matrices):
    """Vectors u (term, row, place), v (term, column, place), whose products add up to matrices (row, column, place), as few as
    can be: by elimination with the largest entry as pivot.

    What is left of an entry is rounding where it is below SAME of all that was added up there: entries may have units."""
    rest, size, places = matrices.copy(), np.abs(matrices), np.arange(matrices.shape[2])
    u, v = ([np.zeros((0, count, len(places)))] for count in matrices.shape[:2])
    for _ in range(min(matrices.shape[:2])):
        row, column = np.divmod(np.abs(rest).reshape(-1, len(places)).argmax(axis=0), matrices.shape[1])
        pivot = rest[row, column, places]
        if not pivot.any():
            break
        u.append(rest[None, :, column, places] / np.where(pivot == 0, 1.0, pivot))
        v.append(rest[row, :, places].T[None])
        product = u[-1][0][:, None] * v[-1][0]
        rest, size = rest - product, size + np.abs(product)
        rest[np.abs(rest) <= SAME * size] = 0.0
    return np.concatenate(u), np.concatenate(v)
