"""The largest stable time step from the outermost eigenvalues of the semi-discrete operator itself.

An explicit Runge-Kutta method is stable for dq/dt = A q with steps dt if |R(lambda dt)| <= 1 for every eigenvalue lambda of A.
Only the outermost limit the step, and these are what Arnoldi's method finds first.
Hairer & Wanner 1996, section IV.2; Saad 2011, chapter 6.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from ...stepping import STEPPERS, amplification
from .stability import family

UNKNOWNS = 12_000_000          # numbers in the Krylov space, unknowns times products: 96 MB at most
CORE = 0.1                     # share of a part's elements that are taken for their rates, the rest for being neighbours


class Search(NamedTuple):
    """How the eigenvalues of a family of laws are looked for: products with A that are spent, share of the step found that is
    taken (on all of a mesh, on a part), and whether a part of a large mesh will do.

    Waves that run both ways make an operator that is nearly normal: 40 products come within 1 %, and elements that limit the
    step do so together with their neighbours alone. Advection is far from normal: with its cycles cut open it has none of the
    eigenvalues that limit it, so it is all of the mesh or none."""

    products: int
    share: float
    share_of_part: float | None


SEARCHES = {"scalar": Search(100, 0.98, None), "system": Search(40, 0.985, 0.97), "curl": Search(40, 0.985, 0.97)}


def search_of(tables):
    """(Search, elements that it takes) for the largest stable step of an operator on these tables; None where a measured table
    serves: the speed of waves depends on state or time, or a part of the mesh would not do."""
    speed, search = tables.functions.wave_speed, SEARCHES[family(tables.law) if tables.dim > 1 else "scalar"]
    count = UNKNOWNS // (search.products * tables.variables * tables.rows)         # in 1D every wave is advected
    if speed.depends_on("q") or speed.depends_on("t") or count < tables.elements and not search.share_of_part:
        return None
    return search, min(count, tables.elements)


def hessenberg(apply, size, krylov, dtype=float):
    """Arnoldi's matrix (krylov, krylov) of the linear function `apply` on vectors of `size` entries, from a random vector;
    and what is left over, the size of the next vector.  Smaller where the space is exhausted."""
    Q, H = np.zeros((krylov + 1, size), dtype), np.zeros((krylov + 1, krylov), dtype)
    Q[0] = np.random.default_rng(0).standard_normal(size)
    Q[0] /= np.linalg.norm(Q[0])
    for j in range(krylov):
        vector = apply(Q[j])
        for _ in range(2):
            part = Q[:j + 1].conj() @ vector
            vector = vector - part @ Q[:j + 1]
            H[:j + 1, j] += part
        H[j + 1, j] = np.linalg.norm(vector)
        if not abs(H[j + 1, j]) > 1e-12 * np.abs(H).max():
            return H[:j + 1, :j + 1], 0.0
        Q[j + 1] = vector / H[j + 1, j]
    return H[:-1], H[-1, -1]


@cache
def region(name, count=2001):
    """Angles from pi/2 to pi and the largest radius r with |R(s e^(i angle))| <= 1 for all s <= r of that stepper."""
    angles = np.linspace(np.pi / 2, np.pi, count)
    # Near the imaginary axis the radius of a method of second order grows as the third root of the angle.
    angles = np.union1d(angles, np.pi / 2 + (angles[1] - angles[0]) * np.linspace(0, 1, 100) ** 3)
    radii = np.linspace(0, 10, 2001)[1:]
    high, stable = np.full(len(angles), radii[0]), np.arange(len(angles))
    for some in radii.reshape(-1, 50):          # the next ones only where all before are stable
        unstable = np.abs(amplification(STEPPERS[name], np.exp(1j * angles[stable]) * some[:, None])) > 1 + 1e-9
        found = unstable.any(axis=0)
        high[stable[found]] = some[unstable.argmax(axis=0)[found]]
        stable = stable[~found]
    low = high - radii[0]
    for _ in range(40):
        middle = (low + high) / 2
        bad = np.abs(amplification(STEPPERS[name], np.exp(1j * angles) * middle)) > 1 + 1e-9
        low, high = np.where(bad, low, middle), np.where(bad, middle, high)
    return angles, low


def largest_step(values, stepper):
    """Largest dt with |R(lambda dt)| <= 1 for all eigenvalues lambda; growth by rounding counts as none."""
    values = values[np.abs(values) > 1e-9 * np.abs(values).max()]
    if not len(values):
        return np.inf
    return float(np.min(np.interp(np.abs(np.angle(values)), *region(stepper.name)) / np.abs(values)))


def limiting_part(mesh, rates, count):
    """Numbers of `count` cells that limit the step: those of the largest rates (cell,), and layers of their neighbours."""
    chosen = np.zeros(len(mesh.cells), bool)
    chosen[np.argsort(-rates, kind="stable")[:max(1, int(CORE * count))]] = True
    while chosen.sum() < count:
        layer = np.unique(mesh.neighbour_cell[chosen])
        layer = layer[~chosen[layer]]
        if not len(layer):
            break
        chosen[layer[np.argsort(-rates[layer], kind="stable")][:count - chosen.sum()]] = True
    return np.flatnonzero(chosen)


def stable_step(apply, size, stepper, products):
    """Largest stable step for dq/dt = apply(q), by that many products; nan if there is none."""
    H, _ = hessenberg(apply, size, min(products, size))
    return largest_step(np.linalg.eigvals(H), stepper) if np.isfinite(H).all() else np.nan


def rounded_down(step):
    """To four digits, so that the last ones, which depend on the machine, do not matter."""
    if not 0 < step < np.inf:
        return step
    digit = 10.0 ** (np.floor(np.log10(step)) - 3)
    return float(np.floor(step / digit) * digit)
