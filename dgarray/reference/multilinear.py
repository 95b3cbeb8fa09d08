"""The bilinear and trilinear functions N_c(r) = product over d of (1 + v_cd r_d) / 2 of a cell [-1, 1]^dim with corners v_c."""
import numpy as np


def weights(vertices, r):
    """N_c(r), (..., corner), at reference points r (..., dim) of the cell with the corners `vertices` (corner, dim)."""
    return np.prod(_factors(vertices, r), axis=-1)


def gradients(vertices, r):
    """dN_c/dr_d, (..., corner, dim), at reference points r (..., dim) of the cell with the corners `vertices` (corner, dim)."""
    factors, dim = _factors(vertices, r), vertices.shape[1]
    others = [np.prod(np.delete(factors, axis, axis=-1), axis=-1) for axis in range(dim)]
    return np.stack(others, axis=-1) * (vertices / 2)


def _factors(vertices, r):
    return (1 + vertices * np.asarray(r, dtype=float)[..., None, :]) / 2
