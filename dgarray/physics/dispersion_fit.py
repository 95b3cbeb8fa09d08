"""Poles and residues of a medium from a table of its permittivity: vector fitting with passive residues."""
from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from ..support.keywords import keywords
from .dispersion import Dispersion, Drude, Lorentz, Poles, Relaxation, real
from .frequency_ranges import gains, loss_frequencies

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ITERATIONS = 50         # of the poles; most tables need 10
PASSES = 30             # of the frequencies at which the losses are bounded
ROUNDING = 1e-14        # a misfit of this part of the values is none
SMALL = 1e-8            # the least sigma at infinite frequency, whose mean is 1
FARTHEST = 100.0        # largest |pole|, in units of the table's largest frequency: faster ones would only shorten time steps
UNDAMPED = 1e-9         # poles with less damping, as a part of |pole|, have none
EXACT = 1e-13           # errors below this are rounding: of such fits the one with the fewest poles is taken
PAIRED = 1e-12          # a residue of this part of the largest one that is left of a pair is rounding
MARGIN = 1e-10          # the least loss at these frequencies, in units of the largest value; each pass doubles it
ROW_ROUNDING = 1e-9     # a row may have an imaginary part of this part of the largest value: tables have few digits


@keywords
def fit(frequency: ArrayLike, eps: ArrayLike, poles: int = 4, high: float | None = None, passive: bool = True) -> Dispersion:
    """A `Dispersion` from a table of a permittivity or permeability: eps(i omega) = high + sum_k r_k / (i omega - p_k).

    frequency  frequencies omega / (2 pi), in cycles per unit of time, not negative, (row,)
    eps        complex values with the time dependence exp(i omega t), Im eps <= 0, (row,); optical tables have n + i k: give
               np.conj of them
    poles      number of poles, where a conjugate pair counts as two: a relaxation needs 1, Drude's and Lorentz's terms 2 each;
               fewer are taken where they fit better, as passive poles can where a table is noisy
    high       the value at infinite frequency, positive; by default it is fitted
    passive    whether the residues are those of the best passive medium, by default; with False they fit best, a law may refuse
               the result, and rows with Im eps > 0 are allowed

    Real poles with a negative residue, such as those of Drude's term, are put together with slower ones into terms Drude and
    Lorentz where that can be done, so that the energy of the medium is known.

    The result has its largest |fit - eps| / largest |eps| as the attribute `error`; look at it.
    Raises ValueError for tables of other shapes, too many poles for the rows, a table of the other time dependence, a row that
    is not passive, and where the value at infinite frequency comes out negative.
    Poles: vector fitting, Gustavsen & Semlyen 1999; residues: least squares with Im eps <= 0 at all frequencies."""
    omega, values = table(frequency, eps, passive)
    high = None if high is None else real(high, "high", positive=True)
    if not isinstance(poles, Integral) or poles < 1:
        raise ValueError(f"poles={poles!r} is not allowed; it must be a whole number, 1 or more")
    known, asked = 2 * len(omega) - int(np.sum(omega == 0)), 2 * poles + (high is None)
    if asked > known:
        raise ValueError(f"poles={poles} is too many for {len(omega)} rows: {asked} unknowns of {known} numbers; at most "
                         f"{max(0, (known - (high is None)) // 2)}")
    found, refused = [], None
    for count in range(poles, 0, -1):
        try:
            found.append(fit_of(omega, values, count, high, passive))
        except ValueError as error:
            refused = refused or error
    if not found:
        raise refused
    least = max(min(medium.error for medium in found), EXACT)
    return [medium for medium in found if medium.error <= least][-1]


def fit_of(omega, values, count, high, passive):
    """The medium with this number of poles. Raises ValueError where no passive one is found."""
    unit = omega.max()
    poles = unit * vector_fit(1j * omega / unit, values, count, high)
    medium = with_residues(omega, values, poles[np.argsort(np.abs(poles), kind="stable")], high, passive)
    if not medium.high > 0:
        raise ValueError(f"the fit's value at infinite frequency is {medium.high:.6g}; it must be positive: give high=, for "
                         "instance the vacuum's value, or other poles=")
    if passive:
        medium.check_passive()
        medium = with_energy(medium)
    return replace(medium, error=float(np.abs(medium.at(1j * omega) - values).max() / np.abs(values).max()))


def table(frequency, eps, passive):
    """The rows as arrays, checked: omega and complex values (row,)."""
    f, values = np.asarray(frequency), np.asarray(eps)
    if f.ndim != 1 or f.shape != values.shape or f.dtype.kind not in "fiu" or values.dtype.kind not in "fiuc":
        raise ValueError(f"frequency of the shape {f.shape} and eps of the shape {values.shape} are not allowed; both must "
                         "be numbers in one dimension, as many of each")
    f, values = f.astype(float), values.astype(complex)
    wrong = ~(np.isfinite(f) & np.isfinite(values) & (f >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"row {row} with the frequency {f[row]:.6g} and eps = {values[row]:.6g} is not allowed; both must "
                         "be finite, and frequencies not negative")
    if not np.any(f > 0) or not np.any(values):
        raise ValueError("the table has no frequency above 0, or no eps that is not 0")
    gain = values.imag > ROW_ROUNDING * np.abs(values).max()
    if gain.any() and np.all(values.imag >= 0):
        raise ValueError("all Im eps are positive: the table has the time dependence exp(-i omega t); give np.conj(eps)")
    if passive and gain.any():
        row = int(np.argmax(np.where(gain, values.imag, -np.inf)))
        raise ValueError(f"the table is not passive: Im eps = {values[row].imag:.6g} at the frequency {f[row]:.6g}; with "
                         "exp(i omega t) it must be 0 or less. passive=False fits it as it is")
    return 2 * np.pi * f, values


def first_poles(omega, count):
    """Poles with little damping at quantiles of the frequencies, and a real one where the number is odd."""
    centers = np.quantile(omega[omega > 0], (np.arange(count // 2) + 0.5) / max(1, count // 2))
    return np.array([*(-0.01 * centers + 1j * centers), *[-np.median(omega[omega > 0])] * (count % 2)], complex)


def vector_fit(s, values, count, high):
    """Stable poles, one of each conjugate pair, (pole,), of a rational fit to values at s: of all iterations the best ones.

    sigma(s) = d + sum c_k / (s - p_k) with sigma eps rational on the same poles, and its mean on the rows is 1; the zeros of
    sigma are the next poles.  The free d is of Gustavsen 2006: poles that start far away come nearer."""
    poles, found, least = first_poles(s.imag, count), None, np.inf
    constant = np.ones((len(s), 1)) if high is None else np.empty((len(s), 0))
    target = values - (high or 0.0)
    weight = np.linalg.norm(target) / len(s)
    for _ in range(ITERATIONS):
        basis = partial_fractions(s, poles)
        misfit = as_real(np.hstack([basis, constant])) @ least_squares(np.hstack([basis, constant]), target) - as_real(target)
        if np.linalg.norm(misfit) < least:
            found, least = poles, np.linalg.norm(misfit)
        sigma = np.hstack([basis, np.ones((len(s), 1))])
        matrix = np.hstack([basis, constant, -target[:, None] * sigma])
        mean = np.concatenate([np.zeros(matrix.shape[1] - sigma.shape[1]), sigma.sum(axis=0).real])
        *_, d = x = least_squares(np.vstack([matrix, weight * mean]), np.append(np.zeros(len(s)), weight * len(s)))
        before, poles = poles, zeros_of_sigma(poles, x[-sigma.shape[1]:-1] / (d if abs(d) > SMALL else SMALL))
        settled = len(before) == len(poles) and np.allclose(*map(np.sort_complex, (before, poles)), rtol=1e-13, atol=1e-14)
        if settled or least < ROUNDING * np.linalg.norm(target):
            break
    return found


def partial_fractions(s, poles):
    """Functions of s whose real multiples are the fractions of the poles: (row, real unknown)."""
    columns = []
    for p in poles:
        one, other = 1 / (s - p), 1 / (s - p.conjugate())
        columns += [one] if p.imag == 0 else [one + other, 1j * (one - other)]
    return np.stack(columns, axis=1)


def least_squares(matrix, target):
    """Real x that minimises |matrix x - target|, complex; columns are scaled to one size."""
    matrix, target = as_real(matrix), as_real(target)
    size = np.linalg.norm(matrix, axis=0)
    return np.linalg.lstsq(matrix / size, target, rcond=None)[0] / size


def as_real(values):
    """Complex rows as twice as many real ones."""
    return np.concatenate([values.real, values.imag])


def zeros_of_sigma(poles, c):
    """Zeros of 1 + sum c_k / (s - p_k), one of each conjugate pair, unstable ones mirrored: eigenvalues of A - b c."""
    size = len(c)
    A, b, k = np.zeros((size, size)), np.zeros(size), 0
    for p in poles:
        if p.imag == 0:
            A[k, k], b[k], k = p.real, 1, k + 1
        else:
            A[k:k + 2, k:k + 2], b[k], k = [[p.real, p.imag], [-p.imag, p.real]], 2, k + 2
    zeros = np.linalg.eigvals(A - np.outer(b, c))
    zeros = zeros[zeros.imag >= 0].astype(complex)
    zeros *= FARTHEST / np.maximum(FARTHEST, np.abs(zeros))
    damping = np.where(np.abs(zeros.real) > UNDAMPED * np.where(zeros.imag > 0, np.abs(zeros), 1), np.abs(zeros.real), 0)
    return -damping + 1j * zeros.imag


def with_residues(omega, values, poles, high, passive):
    """The medium with these poles whose residues fit best, among passive ones if `passive`."""
    units = [(k, r) for k, p in enumerate(poles) for r in ((1.0,) if p.imag == 0 else (-1j,) if p.real == 0 else (1.0, -1j))]
    columns = [Poles(poles[k], r).at(1j * omega) for k, r in units] + [np.ones(len(omega))] * (high is None)
    matrix, target = as_real(np.stack(columns, axis=1)), as_real(values - (high or 0.0))
    size = np.linalg.norm(matrix, axis=0)
    matrix /= size
    undamped = np.array([[float(unit == column) for column in range(len(size))] for unit, (k, r) in enumerate(units)
                         if poles[k].real == 0]).reshape(-1, len(size))

    def best(bounds, margin):
        rows = np.vstack([undamped, bounds]) if passive else bounds
        least = np.concatenate([np.zeros(len(rows) - len(bounds)), np.full(len(bounds), margin * np.abs(target).max())])
        x = bounded_least_squares(matrix, target, rows, least) / size
        residues = [sum((x[unit] * r for unit, (k, r) in enumerate(units) if k == number), 0.0) for number in range(len(poles))]
        return float(x[-1] if high is None else high) + Poles(poles.tolist(), residues)

    medium, bounded = best(np.empty((0, len(size))), 0.0), np.empty(0)
    for number in range(PASSES if passive else 0):
        points = loss_frequencies(medium.terms)
        _, wrong = gains(medium.terms, points)
        if not wrong.any():
            break
        bounded = np.union1d(bounded, points[wrong])
        losses = [sum(Poles(poles[k], r).terms[0].losses(bounded)) for k, r in units]
        bounds = np.stack(losses + [np.zeros(len(bounded))] * (high is None), axis=1) / size
        medium = best(bounds / np.abs(bounds).max(axis=1, keepdims=True), MARGIN * 2**number)
    return medium


def with_energy(medium):
    """The medium in terms that all have an energy, where real poles with negative residues can be put together with slower
    ones, and other residues are imaginary but for rounding; else the medium itself.

    r / (s + a) - r / (s + b) = r (b - a) / (s^2 + (a + b) s + a b),  0 <= a < b: Drude's term, or Lorentz's of large damping"""
    real = sorted((term for term in medium.terms if isinstance(term, Relaxation)), key=lambda term: term.decay)
    left, least = [term.residue for term in real], PAIRED * max((abs(term.residue) for term in real), default=0.0)
    pairs = Dispersion(medium.high)
    for term in medium.terms:
        if not isinstance(term, Relaxation):
            lorentz = term.b0 > 0 and term.a0 > 0 and abs(term.b1) * term.a0 ** 0.5 <= PAIRED * term.b0
            pairs += Lorentz(term.b0 / term.a0, term.a0 ** 0.5, term.a1) if lorentz else Dispersion(0.0, (term,))
    for k, fast in enumerate(real):
        for j in range(k - 1, -1, -1):
            share = min(left[j], -left[k])
            if share > least:
                left[j], left[k] = left[j] - share, left[k] + share
                slow = real[j].decay
                product, total, strength = slow * fast.decay, slow + fast.decay, share * (fast.decay - slow)
                pairs += Drude(strength ** 0.5, total) if product == 0 else Lorentz(strength / product, product ** 0.5, total)
    for term, residue in zip(real, left):
        if abs(residue) > least:
            pairs += Poles(-term.decay, residue)
    return pairs if all(term.stores for term in pairs.terms) else medium


def bounded_least_squares(A, b, G, h):
    """x that minimises |A x - b| where G x >= h, by least distance. Lawson & Hanson 1974, chapter 23."""
    U, s, V = np.linalg.svd(A, full_matrices=False)
    keep = s > 1e-14 * s[0]
    back = V[keep].T / s[keep]
    x = back @ (U[:, keep].T @ b)
    if not len(h):
        return x
    E = np.vstack([(G @ back).T, h - G @ x])
    E = E / np.linalg.norm(E, axis=0)
    try:
        weights, _ = nnls(E, np.eye(len(E))[-1], maxiter=100 * E.shape[1])
    except RuntimeError as error:
        raise ValueError("the residues of a passive medium were not found; try other poles=, or passive=False") from error
    r = E @ weights - np.eye(len(E))[-1]
    return x - back @ (r[:-1] / r[-1]) if np.any(weights) else x
