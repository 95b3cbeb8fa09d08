"""Permittivity and permeability that are tensors: how they are given, and the waves that run in such media.

A tensor is a symmetric positive definite matrix M, three rows of three components. Each of its components along axes that the
field has is a parameter of the law, eps_xx, eps_xy, ..., and those off the diagonal only where one differs from zero. Of a
tensor along the axes each component may be dispersive.
"""
from itertools import combinations_with_replacement
from numbers import Real
from typing import NamedTuple

import numpy as np

from ..dispersion import Dispersion
from .law import cross, dot

ROUNDING = 1e-12          # of the largest component: differences of this size are none


class Tensor(NamedTuple):
    """A tensor of a law.

    given    what the user gave: a tensor, or {region: tensor or number}
    names    {(row, column): name of the parameter}, row <= column, of the components that may differ from zero"""

    given: object
    names: dict

    @property
    def full(self):
        """Whether it has components off the diagonal."""
        return any(i != j for i, j in self.names)

    def rows(self, m):
        """The matrix M from the law's parameters m, with ones for axes that the field does not have."""
        return [tuple(getattr(m, self.names[i, j]) if (i, j) in self.names else float(i == j == k)
                      for k in range(3) for i, j in [sorted((row, k))]) for row in range(3)]


def tensors_apart(parameters, axes):
    """({name: value}, {name: `Tensor`}): the parameters of a law with the components in place of tensors, and these.

    axes: {name of a parameter that may be a tensor: axes that its field has, such as (0, 1)}
    Raises ValueError for what is no tensor, and for one that couples axes that the field has to others."""
    numbers, tensors = {}, {}
    for name, value in parameters.items():
        inside = value if isinstance(value, dict) else {None: value}
        if name not in axes or not any(is_tensor(each) for each in inside.values()):
            numbers[name] = value
            continue
        matrices = {region: matrix_of(each, f"{name}={value!r}") for region, each in inside.items()}
        for matrix in matrices.values():
            check_coupling(matrix, axes[name], f"{name}={value!r}")
        names = {}
        for i, j in combinations_with_replacement(axes[name], 2):
            entries = {region: matrix[i][j] for region, matrix in matrices.items()}
            if i == j or any(entry != 0 for entry in entries.values()):
                names[i, j] = f"{name}_{'xyz'[i]}{'xyz'[j]}" if len(axes[name]) > 1 else name
                numbers[names[i, j]] = entries if isinstance(value, dict) else entries[None]
        given = {region: plain(each) for region, each in inside.items()}
        tensors[name] = Tensor(given if isinstance(value, dict) else given[None], names)
    return numbers, tensors


def is_tensor(value):
    """Whether a value of a parameter is meant as a tensor."""
    return isinstance(value, tuple | list) or isinstance(value, np.ndarray) and value.ndim > 0


def plain(value):
    """A tensor as tuples of numbers, which show themselves in one line."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(plain, value)) if isinstance(value, tuple | list) else value


def matrix_of(value, given):
    """The rows of a tensor; three numbers, dispersive media or functions of x are its diagonal, one number all of it.

    Raises ValueError for other shapes, and unless it is symmetric and positive definite."""
    value = diagonal_of(plain(value), given)
    if is_tensor(value) and any(isinstance(entry, complex) for entry in np.ravel(np.array(value, object))):
        raise ValueError(f"{given} is not allowed; a tensor must be real: losses along the axes are sigma or dispersive "
                         "components; media that turn polarisation (gyrotropic ones) do not exist here")
    if isinstance(value, Real) or callable(value) or len(value) == 3 and all(isinstance(each, Real) or callable(each)
                                                                            for each in value):
        diagonal = value if is_tensor(value) else (value,) * 3
        return [[diagonal[i] if i == j else 0.0 for j in range(3)] for i in range(3)]
    try:
        matrix = np.array(value, float)
    except (TypeError, ValueError):
        matrix = None
    if matrix is None or matrix.shape != (3, 3):
        raise ValueError(f"{given} is not allowed; a tensor is three numbers or functions of x, its diagonal, or three rows of "
                         "three numbers, in every dimension")
    largest = np.abs(matrix).max()
    if not np.isfinite(matrix).all():
        raise ValueError(f"{given} is not allowed; a tensor must be finite")
    if np.abs(matrix - matrix.T).max() > ROUNDING * largest:
        raise ValueError(f"{given} is not allowed; a tensor must be symmetric")
    matrix = (matrix + matrix.T) / 2
    matrix[np.abs(matrix) <= ROUNDING * largest] = 0
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] <= 0:
        raise ValueError(f"{given} is not allowed; a tensor must be positive definite, but its eigenvalues are "
                         f"{', '.join(f'{each:.6g}' for each in eigenvalues)}")
    return matrix.tolist()


def diagonal_of(rows, given):
    """The diagonal of rows with dispersive components; all else as it is.

    Raises ValueError where the rows have components off the diagonal, too."""
    whole = isinstance(rows, tuple) and all(isinstance(row, tuple) for row in rows)
    if not whole or not any(isinstance(entry, Dispersion) for row in rows for entry in row):
        return rows
    size = [len(row) for row in rows]
    if size != [3, 3, 3] or any(isinstance(rows[i][j], Dispersion) or rows[i][j] != 0
                                for i in range(3) for j in range(3) if i != j):
        raise ValueError(f"{given} is not allowed; a tensor with dispersive components must lie along the axes: give its "
                         "diagonal, three numbers or dispersive media, and turn the mesh to the medium's axes")
    return tuple(rows[i][i] for i in range(3))


def check_coupling(matrix, axes, given):
    """Raise ValueError for a component between an axis that the field has and another."""
    others = [k for k in range(3) if k not in axes]
    for i in axes:
        for k in others:
            if matrix[i][k] != 0:
                raise ValueError(f"{given} is not allowed; its component {'xyz'[min(i, k)]}{'xyz'[max(i, k)]}={matrix[i][k]:g} "
                                 f"couples the field along {'xyz'[i]} to that along {'xyz'[k]}, which this law does not have; "
                                 "it must be zero, or take dim=3")


def along_axes(tensors, parameters, media, name):
    """The diagonal of a parameter that may be a tensor, three entries: numbers, {region: number}, functions of x, or the
    dispersive media of some elements, media = {name of a parameter: medium}."""
    parts = [tensors[name].names.get((i, i), name) if name in tensors else name for i in range(3)]
    return [media.get(part, parameters.get(part, 1.0)) for part in parts]


def biaxial(tensors, parameters, media):
    """Whether the three quotients eps_ii / mu_ii differ in any region, or are not known as a component is a function of x.

    Then the two waves have the same speed along two directions, the optic axes, and next to these the slower one carries energy
    against its wave vector along the middle axis. Becache, Fauqueux & Joly 2003; Born & Wolf 1999, section 15.3.

    Dispersive media are rational functions of s = i omega, which are equal if they are so at enough points."""
    found = [along_axes(tensors, parameters, media, name) for name in ("eps", "mu")]
    regions = {region for medium in found for value in medium if isinstance(value, dict) for region in value} or {None}
    for region in regions:
        both = [[value.get(region, np.nan) if isinstance(value, dict) else value for value in medium] for medium in found]
        terms = [term for value in (*both[0], *both[1]) if isinstance(value, Dispersion) for term in value.terms]
        if any(callable(value) and not isinstance(value, Dispersion) for medium in both for value in medium):
            return True
        scales = [scale for term in terms for scale in term.scales() if scale > 0] or [1.0]
        s = np.geomspace(min(scales), 2 * max(scales), 2 * sum(term.states for term in terms) + 1)
        eps, mu = ([value.at(s).real if isinstance(value, Dispersion) else value + 0 * s for value in medium]
                   for medium in both)
        a, b, c = (e / m for e, m in zip(eps, mu))
        if all(np.any(np.abs(u - v) > ROUNDING * np.abs(u)) for u, v in ((a, b), (b, c), (c, a))):
            return True
    return False


def applied(M, v):
    """M v."""
    return tuple(dot(row, v) for row in M)


def inverse(M):
    """M^-1."""
    a, b, c = M
    columns = cross(b, c), cross(c, a), cross(a, b)
    scale = 1 / dot(a, columns[0])
    return [tuple(scale * entry for entry in column) for column in columns]


def determinant(M):
    return dot(M[0], cross(M[1], M[2]))


def minors(M):
    """The product of the two eigenvalues that differ from zero, of a matrix with M n = 0: the sum of its principal minors."""
    return sum(M[i][i] * M[j][j] - M[i][j] * M[i][j] for i, j in ((0, 1), (0, 2), (1, 2)))


def across(M, n):
    """The tensor M - (M n) (M n)^T / (n . M n) of a wave along n, whose flux D . n does not change; it takes n to zero."""
    Mn = applied(M, n)
    scale = 1 / dot(n, Mn)
    return combined(M, 1.0, [tuple(a * b for b in Mn) for a in Mn], -scale)


def combined(A, a, B, b):
    """a A + b B."""
    return [tuple(a * x + b * y for x, y in zip(*rows)) for rows in zip(A, B)]


def solved(M, v, n):
    """The tangential u with M u = v, of a tangential v and a matrix with M n = 0; n a unit vector: -n x M (n x v) / minors."""
    scale = -1 / minors(M)
    return tuple(scale * c for c in cross(n, applied(M, cross(n, v))))


def impedance(eps, mu, n):
    """(Z, Y) of waves along the unit vector n: n x E = Z H and -n x H = Y E, matrices of tangential vectors.

    The matrix Z is the geometric mean of mu_n and N^T eps_n^-1 N, with eps_n, mu_n those `across` n and N = n x, since waves
    of every polarisation run along n at their own speeds: Z mu_n^-1 Z = N^T eps_n^-1 N.  Of matrices with two rows the mean of
    A and B is the sum of A / sqrt(det A) and B / sqrt(det B) but for a factor.  Bhatia 2007, section 4.1."""
    eps, mu = across(eps, n), across(mu, n)
    e, m = minors(eps) ** 0.5, minors(mu) ** 0.5
    mean = combined(mu, 1 / m, eps, 1 / e)
    square = m / e
    scale = (square / minors(mean)) ** 0.5
    Z = [tuple(scale * entry for entry in row) for row in mean]
    return Z, [tuple(entry / square for entry in row) for row in Z]


def riemann(left, right, n, media_left, media_right, alpha):
    """(E*, H*) of the Riemann problem between two states (E, H), with dissipation alpha, for the unit normal n:

    H* = (Z- + Z+)^-1 (Z- H- + Z+ H+ - alpha n x [E]),  E* = (Y- + Y+)^-1 (Y- E- + Y+ E+ + alpha n x [H])

    media_left, media_right: (eps, mu) of both sides. With one medium it is F . n = (F- + F+) . n / 2 - alpha C |A| [q] / 2 with
    the matrix A of the flux in that direction; between two it is exact for waves along n. For any Z and Y the energy does not
    grow, and with alpha = 0 it stays."""
    (El, Hl), (Er, Hr) = left, right
    (Zl, Yl), (Zr, Yr) = (impedance(*media, n) for media in (media_left, media_right))
    nxE, nxH = (cross(n, tuple(b - a for a, b in zip(*both))) for both in ((El, Er), (Hl, Hr)))
    E = tuple(a + b + alpha * d for a, b, d in zip(applied(Yl, El), applied(Yr, Er), nxH))
    H = tuple(a + b - alpha * d for a, b, d in zip(applied(Zl, Hl), applied(Zr, Hr), nxE))
    return solved(combined(Yl, 1.0, Yr, 1.0), E, n), solved(combined(Zl, 1.0, Zr, 1.0), H, n)


def fastest(eps, mu, n):
    """The larger speed of the waves along n, times |n|: c^2 is the larger of the two eigenvalues that differ from zero of
    Christoffel's matrix eps^-1 N^T mu^-1 N,  N = n x."""
    inside, outside = inverse(mu), inverse(eps)
    N = [cross(n, tuple(float(i == k) for i in range(3))) for k in range(3)]
    half = sum(outside[i][j] * dot(N[i], applied(inside, N[j])) for i in range(3) for j in range(3)) / 2
    product = dot(n, applied(eps, n)) * dot(n, applied(mu, n)) / (determinant(eps) * determinant(mu))
    return (half + abs(half * half - product) ** 0.5) ** 0.5          # rounding may leave a number below zero
