"""The largest stable time step from the semi-discrete operator itself: its outermost eigenvalues, and the growth of its steps.

An explicit Runge-Kutta method multiplies the state of dq/dt = A q by R(dt A) in a step. Powers of R(dt A) stay bounded if
|R(lambda dt)| <= 1 for every eigenvalue lambda of A. Only the outermost eigenvalues limit the step, and Arnoldi's method finds
these first. But where waves leave through a boundary, A is far from normal: its powers may grow by many orders of magnitude
before they decay. So the norms of powers of R(dt H) are bounded, too, H being Arnoldi's matrix, by those of a small step.
Hairer & Wanner 1996, section IV.2; Saad 2011, chapter 6; Trefethen & Embree 2005, chapters 14 and 31.
"""
from functools import cache
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from ...stepping import STEPPERS, amplification
from .stability import family

UNKNOWNS = 12_000_000          # most numbers in the basis of the Krylov space, unknowns times products: 96 MB
COVERED = 200                  # up to so many unknowns the Krylov space is that of all of them, and H is A
SMALL_STEP = 8                 # by how much the step is smaller with which the growth of others is compared
DOUBLINGS = 8                  # growth is followed over 2^DOUBLINGS steps
SHARE_OF_GROWTH = 0.9          # fraction of the step that growth allows in a Krylov space that is not that of all unknowns
ENDLESS = 1e60                 # growth that is taken for infinite
HALVINGS = 9                   # of the interval in which that step is searched for, on a logarithmic scale
REMEMBERED = 64                # steps that are kept
CORE = 0.1                     # fraction of a part's elements chosen by their rates; layers of their neighbours are the rest


class Search(NamedTuple):
    """How the outermost eigenvalues are searched for, for a family of laws.

    products        number of products with A, the dimension of the Krylov space
    share           fraction of the step found that is used, after a search on the whole mesh
    share_of_part   the same after a search on a large part of a large mesh; None: a part does not have the right eigenvalues
    growth          a stable step lets no state grow by more than this factor beyond what a small step does. On irregular meshes
                    with walls, steps just below the eigenvalues' limit have factors up to 3.3

    Where waves run in both directions and nothing leaves, the operator is nearly normal: 60 products give the step to within
    1.2 %, and the elements that limit the step, with layers of their neighbours, have the same outermost eigenvalues as the
    whole mesh. The operator of advection is far from normal: a part of the mesh cuts its cycles open and loses the eigenvalues
    that limit the step. Laws that name no family may carry waves one way, too, and are searched like advection."""

    products: int
    share: float
    share_of_part: float | None
    growth: float

    def share_of(self, count, elements, dim):
        """The share of the step found that is used after a search on `count` of so many elements in dim dimensions.

        On a part of m elements along each axis the shortest waves vanish where it is cut out: the largest wave number of a
        chain of m is less than that of an endless one by the factor cos(pi / (m + 1)), about 1 - (pi / (m + 1))^2 / 2."""
        if count == elements:
            return self.share
        return self.share_of_part / (1 + (np.pi / (count ** (1 / dim) + 1)) ** 2 / 2)


SEARCHES = {"scalar": Search(100, 0.98, None, 1.25), "system": Search(60, 0.985, 0.97, 4.0),
            "curl": Search(60, 0.985, 0.97, 4.0)}


def search_of(tables):
    """(`Search`, number of elements to search on) for the largest stable step of an operator on sets of elements with these
    tables.

    None where the measured table of `dgarray.methods.dg.stability` is used instead: a wave speed depends on state or time, or
    the mesh is too large and the family of the laws allows no part of it."""
    names = [family(each.law) for each in tables]          # refuses a name that is not a family
    if any(each.physics.functions.wave_speed.depends_on(what) for each in tables for what in "qt"):
        return None
    # In 1D each wave is advection.
    families = {name if each.law.family and each.dim > 1 else "scalar" for name, each in zip(names, tables)}
    search = SEARCHES[families.pop() if len(families) == 1 else "scalar"]
    count = searched(search, max(each.variables * each.rows for each in tables), sum(each.elements for each in tables))
    return (search, count) if count else None


def searched(search, unknowns, elements):
    """The number of elements that a `Search` works on, of so many with so many unknowns each; 0: the measured table is used."""
    count = UNKNOWNS // (search.products * unknowns)
    return min(count, elements) if count >= elements or search.share_of_part else 0


def first_vector(size):
    """The random vector from which Arnoldi's method starts, of length 1."""
    vector = np.random.default_rng(0).standard_normal(size)
    return vector / np.linalg.norm(vector)


def hessenberg(apply, size, krylov, dtype=float, product=None):
    """Arnoldi's Hessenberg matrix (krylov, krylov) of the linear function `apply` on vectors of `size` entries, from a random
    vector, and the norm of the residual, that is of the next vector before it is normalised.

    product: what `apply` makes of that random vector, if it is known

    The matrix is smaller, and the residual 0, if the Krylov space is invariant before it has `krylov` dimensions."""
    Q, H = np.zeros((krylov + 1, size), dtype), np.zeros((krylov + 1, krylov), dtype)
    Q[0] = first_vector(size)
    for j in range(krylov):
        vector = apply(Q[j]) if j or product is None else product
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
    """The stability region of the stepper `name`: angles from pi/2 to pi, and at each the largest radius r with
    |R(s e^(i angle))| <= 1 for all s <= r."""
    angles = np.linspace(np.pi / 2, np.pi, count)
    # Near the imaginary axis the radius of a method of second order grows as the third root of the angle.
    angles = np.union1d(angles, np.pi / 2 + (angles[1] - angles[0]) * np.linspace(0, 1, 100) ** 3)
    radii = np.linspace(0, 10, 2001)[1:]
    high, stable = np.full(len(angles), radii[0]), np.arange(len(angles))
    for some in radii.reshape(-1, 50):          # larger radii only at the angles where all smaller ones are stable
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
    """Largest dt with |R(lambda dt)| <= 1 for all eigenvalues lambda, (count,); inf if there are none but 0.

    Eigenvalues below 1e-9 of the largest count as 0. A positive real part counts as rounding: such an eigenvalue is taken for
    an imaginary one of the same size."""
    values = values[np.abs(values) > 1e-9 * np.abs(values).max()]
    if not len(values):
        return np.inf
    return float(np.min(np.interp(np.abs(np.angle(values)), *region(stepper.name)) / np.abs(values)))


def limiting_part(mesh, rates, count, sets=None):
    """Numbers of `count` cells that limit the step: those with the largest rates (cell,), as many of each set, and layers of
    their neighbours.

    sets: cells of each element set, since rates of different sets do not compare well; None: all cells are one set"""
    chosen = np.zeros(len(mesh.cells), bool)
    sets = [np.arange(len(chosen))] if sets is None else sets
    for cells in sets:
        chosen[cells[np.argsort(-rates[cells], kind="stable")[:max(1, int(CORE * count / len(sets)))]]] = True
    while chosen.sum() < count:
        layer = np.unique(mesh.neighbour_cell[chosen])
        layer = layer[~chosen[layer]]
        if not len(layer):
            break
        chosen[layer[np.argsort(-rates[layer], kind="stable")][:count - chosen.sum()]] = True
    return np.flatnonzero(chosen)


def dimension(size, search):
    """Dimension of the Krylov space of an operator with `size` unknowns."""
    return size if size <= COVERED else search.products


def stable_step(apply, size, stepper, search, share):
    """Largest stable step for dq/dt = apply(q), q (size,), by a `Search`; nan if a product is not finite.

    share: fraction of the step that the eigenvalues allow, from which on the growth is looked at

    A step that was found before for the same A is taken again: one that makes the same of a random vector, to the last bit."""
    product = apply(first_vector(size))
    key = sha256(product.tobytes()).digest(), stepper.name, search, share
    if key not in _steps:
        step = _found_step(apply, size, stepper, search, share, product)
        while len(_steps) >= REMEMBERED:
            _steps.pop(next(iter(_steps)), None)
        _steps[key] = step
    return _steps[key]


_steps = {}          # {product and options: stable step}, the newest last


def forget_steps():
    """Search anew for steps that were found before: for what measures the search."""
    _steps.clear()


def _found_step(apply, size, stepper, search, share, product):
    H, _ = hessenberg(apply, size, dimension(size, search), product=product)
    if not np.isfinite(H).all():
        return np.nan
    step = share * largest_step(np.linalg.eigvals(H), stepper)
    bounded = bounded_step(H, stepper, step, search.growth)
    return bounded if bounded == step or len(H) == size else SHARE_OF_GROWTH * bounded


def bounded_step(H, stepper, step, factor):
    """The largest step up to `step` whose powers grow by at most `factor` times as much as those of a small one.

    H: (krylov, krylov).  The norm depends on the scales of the variables, the ratio of two of them hardly."""
    if not 0 < step < np.inf:
        return step
    least = step / SMALL_STEP
    most = factor * growth(H, stepper, least, DOUBLINGS + round(np.log2(SMALL_STEP)))
    if growth(H, stepper, step, DOUBLINGS) <= most:
        return step
    for _ in range(HALVINGS):
        middle = (least * step) ** 0.5
        least, step = (middle, step) if growth(H, stepper, middle, DOUBLINGS) <= most else (least, middle)
    return least


def growth(H, stepper, dt, doublings):
    """The largest norm of the powers 1, 2, 4, ..., 2^doublings of R(dt H), at least 1."""
    power, largest = amplification(stepper, dt * H, np.eye(len(H)), np.matmul), 1.0
    for _ in range(doublings + 1):
        if not np.abs(power).max() < ENDLESS:          # also where it is not a number
            return np.inf
        largest, power = max(largest, norm(power)), power @ power
    return largest


def norm(matrix, steps=12, vectors=4):
    """The spectral norm of a matrix, from below: simultaneous iteration of matrix^T matrix with a few vectors."""
    start = np.random.default_rng(1).standard_normal((len(matrix), min(vectors, len(matrix))))
    basis = np.linalg.qr(start)[0]
    for _ in range(steps):
        basis = np.linalg.qr(matrix.T @ (matrix @ basis))[0]
    return float(np.linalg.norm(matrix @ basis, 2))


def rounded_down(step):
    """The step rounded down to four digits, so that it does not depend on the machine, which the last digits do."""
    if not 0 < step < np.inf:
        return step
    digit = 10.0 ** (np.floor(np.log10(step)) - 3)
    return float(np.floor(step / digit) * digit)
