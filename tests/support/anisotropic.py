"""Anisotropic media for tests: rotated tensors, and their exact plane waves."""
import numpy as np


def rotation(a, b=0.0, c=0.0):
    """The rotation by the Euler angles a, b, c about z, x, z."""
    def about(axis, angle):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        R = np.eye(3)
        R[i, i], R[i, j], R[j, i], R[j, j] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        return R
    return about(2, a) @ about(0, b) @ about(2, c)


def turned(diagonal, *angles):
    """The tensor with these values along axes turned by `rotation`."""
    R = rotation(*angles)
    return R @ np.diag(diagonal) @ R.T


def matrices(law, eps, mu, k):
    """(A, C) of  C dq/dt + A q = 0  for a wave of the wave vector k, with the matrices eps and mu (3, 3)."""
    k = np.array(law.direction(tuple(k)), float)
    turn = np.cross(k, np.eye(3)).T          # turn v = k x v
    A, C = np.zeros((2, 6, 6))
    A[:3, 3:], A[3:, :3], C[:3, :3], C[3:, 3:] = -turn, turn, eps, mu
    here = [("Ex", "Ey", "Ez", "Hx", "Hy", "Hz").index(v) for v in law.variables]
    return A[np.ix_(here, here)], C[np.ix_(here, here)]


def plane_waves(law, eps, mu, k):
    """The waves q sin(k . x - omega t) with omega > 0, a list of (omega, q), slow ones first, q . C q = 1."""
    A, C = matrices(law, eps, mu, k)
    L = np.linalg.cholesky(C)
    omega, modes = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, A).T))
    return [(w, q) for w, q in zip(omega, np.linalg.solve(L.T, modes).T) if w > 1e-9 * omega[-1]]


def exact(k, omega, q):
    """The field (x, t) -> state of such a wave."""
    return lambda x, t: tuple(a * np.sin(sum(c * y for c, y in zip(k, x)) - omega * t) for a in q)
