"""Quadrature on the reference cells, from modepy."""
from functools import lru_cache

import modepy
import numpy as np


@lru_cache(maxsize=64)
def quadrature(dim, degree):
    """Points (point, dim) and weights (point,) on the biunit simplex, exact for polynomials up to `degree`.

    Gauss-Legendre on the interval; on triangles and tetrahedra the rules of Xiao & Gimbutas 2010 where tabulated, beyond
    them on tetrahedra those of Jaskowiec & Sukumar 2020, and then Gauss-Jacobi rules collapsed onto the simplex."""
    if dim == 1:
        rule = modepy.LegendreGaussQuadrature(degree // 2, force_dim_axis=True)          # N + 1 points
        return rule.nodes.reshape(-1, 1), rule.weights
    rules = [lambda: modepy.XiaoGimbutasSimplexQuadrature(degree, dim)]
    if dim == 3:
        rules.append(lambda: modepy.JaskowiecSukumarQuadrature(degree - 1, dim))          # exact up to `degree`
    for tabulated in rules:
        try:
            rule = tabulated()
        except modepy.QuadratureRuleUnavailable:
            continue
        return np.ascontiguousarray(rule.nodes.T), rule.weights
    return collapsed(dim, degree)


def collapsed(dim, degree):
    """Tensor product of Gauss-Jacobi rules on the simplex in collapsed coordinates (Duffy)."""
    count = degree // 2 + 1
    rules = [modepy.JacobiGaussQuadrature(i, 0, count - 1, force_dim_axis=True) for i in range(dim)]
    grids = np.meshgrid(*((rule.nodes[0] + 1) / 2 for rule in rules), indexing="ij")
    weights = np.prod(np.meshgrid(*(rule.weights for rule in rules), indexing="ij"), axis=0)
    points, rest = np.empty((dim, grids[0].size)), 1.0
    for i in reversed(range(dim)):
        points[i] = (grids[i] * rest).ravel()
        rest = rest * (1 - grids[i])
    volume = 2.0 ** dim / np.prod(range(1, dim + 1))
    return 2 * points.T - 1, weights.ravel() * (volume / weights.sum())


def product(dim, degree):
    """Points (point, dim) and weights (point,) on [-1, 1]^dim, exact for polynomials up to `degree` in each coordinate."""
    x, w = quadrature(1, degree)
    points = np.stack(np.meshgrid(*dim * [x[:, 0]], indexing="ij"), axis=-1).reshape(-1, dim)
    return points, np.prod(np.meshgrid(*dim * [w], indexing="ij"), axis=0).ravel()


@lru_cache(maxsize=64)
def on_prism(degree):
    """Points (point, 3) and weights (point,) on the reference prism, exact up to `degree` in the triangle and the line."""
    (r, of_triangle), (t, of_line) = quadrature(2, degree), quadrature(1, degree)
    return (np.column_stack([np.tile(r, (len(t), 1)), np.repeat(t[:, 0], len(r))]),
            np.outer(of_line, of_triangle).ravel())


@lru_cache(maxsize=64)
def on_pyramid(degree):
    """Points (point, 3) and weights (point,) on the reference pyramid, exact up to `degree` in each of the coordinates a, b, h
    of `dgarray.reference.shapes.PyramidShape`: Gauss-Legendre rules in a and b, that of Gauss and Jacobi for h^2 in h."""
    ab, of_square = product(2, degree)
    rule = modepy.JacobiGaussQuadrature(2, 0, degree // 2, force_dim_axis=True)
    t = np.repeat(rule.nodes[0], len(ab))
    r = np.tile(1 + ab, (len(rule.weights), 1)) * ((1 - t) / 2)[:, None] - 1
    return np.column_stack([r, t]), np.outer(rule.weights / 4, of_square).ravel()
