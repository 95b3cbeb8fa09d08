"""Partial waves of layered spheres and circular cylinders, without overflow at any order, size or absorption.

In each medium a radial function is u = c (J - A H).  On spheres J = psi_n(z) = z j_n(z), H = xi_n(z) = z h_n^(2)(z), on
cylinders J = J_n(z), H = H_n^(2)(z), z = k r.  At every face u and u' / p are continuous, p = mu or eps.  Both families obey

    f_n' = f_(n-1) - n / z f_n,     f_(n-1)' = (n - c) / z f_(n-1) - f_n,     c = 0 on spheres, 1 on cylinders.

Only logarithmic derivatives and ratios of functions at two radii are formed: those of J by downward recurrence, those of H by
upward recurrence.  Bohren & Huffman 1983, sections 4.4, 4.8 and 8.4; Wu & Wang 1991, Radio Sci. 26; Yang 2003, Appl. Opt. 42.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import hankel2e, jve

SPHERE, CYLINDER = 0.5, 0.0         # the order of the Bessel function at n = 0
LARGEST = 1e5                       # largest k a, and largest number of steps of a downward recurrence
TINY = 1e-300


def number_of_terms(size):
    """Order up to which partial waves of a body of the size k a are summed: all later ones are below rounding.

    Wiscombe's x + 4.05 x^(1/3) + 2 leaves 1e-7 of the field (Wiscombe 1980, Appl. Opt. 19).
    Raises ValueError for bodies of more than 1e5 / (2 pi) wavelengths."""
    size = float(np.max(size))
    if not size <= LARGEST:
        raise ValueError(f"the size k a = 2 pi f a sqrt(eps mu) is {size:.3g}; the largest is {LARGEST:g}. Frequencies and "
                         "radii are in units in which light travels at speed 1 where eps = mu = 1")
    return int(size + 12 * size ** (1 / 3)) + 15


class RadialWaves:
    """J and H at the arguments z (point,), orders 0 to `terms`.

    d_regular, d_outgoing   J' / J and H' / H, (n, point)
    regular_steps, outgoing_steps   f_n / f_(n-1) of J and H for n = 1 ... terms"""

    def __init__(self, z, terms, lowest):
        self.z = z = np.atleast_1d(np.asarray(z, complex))
        self.lowest, n, c = lowest, np.arange(1, terms + 1)[:, None], 1 - 2 * lowest
        # jve and hankel2e are J exp(-|Im z|) and H exp(i z).
        first, second = jve(lowest, z), jve(lowest + 1, z)
        self.d_outgoing = np.empty((terms + 1, len(z)), complex)
        self.first_outgoing = hankel2e(lowest, z)
        self.d_outgoing[0] = 2 * lowest / z - hankel2e(lowest + 1, z) / self.first_outgoing
        raise_order(self.d_outgoing, z, c)
        self.d_regular = regular_derivatives(z, terms, lowest, first, second)
        self.regular_steps = 1 / nonzero(self.d_regular[1:] + n / z)
        self.outgoing_steps = (n - c) / z - self.d_outgoing[:-1]
        # Near a zero of J_0 its value follows from J_1, whose relative error is small.
        self.first_regular = np.where(np.abs(second) > np.abs(first), second / self.regular_steps[0], first)

    def regular(self):
        """J_n(z) of cylinders, (n, point); z real."""
        return cumulative(self.first_regular, self.regular_steps)

    def outgoing_over(self, other):
        """H_n at these points over H_n at another's, (n, point)."""
        first = self.first_outgoing / other.first_outgoing * np.exp(1j * (other.z - self.z))
        return cumulative((self.z / other.z) ** self.lowest * first, self.outgoing_steps / other.outgoing_steps)

    def regular_over(self, other):
        """J_n at these points over J_n at another's, (n, point)."""
        first = self.first_regular / other.first_regular * np.exp(np.abs(self.z.imag) - np.abs(other.z.imag))
        return cumulative((self.z / other.z) ** self.lowest * first, self.regular_steps / other.regular_steps)

    def regular_over_outgoing(self):
        """J_n / H_n, (n, point); z real."""
        first = self.first_regular / self.first_outgoing * np.exp(1j * self.z)
        return cumulative(first, self.regular_steps / self.outgoing_steps)

    def exchanged(self, inner):
        """(J_n / H_n at the points of `inner`) / (J_n / H_n at these), bounded in layers that absorb and at high orders."""
        first = inner.first_regular / self.first_regular * (self.first_outgoing / inner.first_outgoing)
        first = first * np.exp(np.abs(inner.z.imag) - np.abs(self.z.imag) + 1j * (inner.z - self.z))
        return cumulative(first, inner.regular_steps / self.regular_steps * (self.outgoing_steps / inner.outgoing_steps))

    def flux(self):
        """-Im(H' / H) = (Wronskian of J and Y) / |H|^2, (n, point), for real z: exact where Im is far below Re."""
        return cumulative(-self.d_outgoing[0].imag, 1 / np.abs(self.outgoing_steps) ** 2)


def regular_derivatives(z, terms, lowest, first, second):
    """J' / J at z (point,), orders 0 to `terms`: downward from an order above |z|; upward where |z| is far above all orders."""
    c = 1 - 2 * lowest
    d = np.empty((terms + 1, len(z)), complex)
    large = terms**2 < np.abs(z)
    if large.any():
        upward = np.empty((terms + 1, int(large.sum())), complex)
        upward[0] = 2 * lowest / z[large] - second[large] / nonzero(first[large])
        raise_order(upward, z[large], c)
        d[:, large] = upward
    small = z[~large]
    if small.size:
        size = float(np.abs(small).max())
        if not size <= 10 * LARGEST:
            raise ValueError(f"|k r| is {size:.3g} in a layer, with {terms} orders; the largest is {10 * LARGEST:g}")
        now = np.zeros(len(small), complex)
        for n in range(int(max(terms, size) + 12 * size ** (1 / 3)) + 30, 0, -1):
            if n <= terms:
                d[n, ~large] = now
            now = (n - c) / small - 1 / nonzero(now + n / small)
        d[0, ~large] = now
    return d


def raise_order(d, z, c):
    """Fill f_n' / f_n for n = 1 ... from that of n = 0, in place."""
    for n in range(1, len(d)):
        d[n] = 1 / nonzero((n - c) / z - d[n - 1]) - n / z


def nonzero(values):
    return np.where(values == 0, TINY, values)


def cumulative(first, steps):
    """(n, point): first, first steps_1, first steps_1 steps_2, ..."""
    return np.cumprod(np.concatenate([first[None], steps]), axis=0)


class Layer(NamedTuple):
    """A layer's radial functions c (J - A H) up to the factor c; z is k r.

    k            wave number (frequency,)
    outer        `RadialWaves` at its outer face, of the outside medium None
    inner        at its inner face, of the core None
    value, slope u and u' on its inner face, derivatives by k r"""
    k: np.ndarray
    outer: RadialWaves | None
    inner: RadialWaves | None
    value: np.ndarray | None
    slope: np.ndarray | None

    def reflected(self, waves):
        """A H / J at other points of the layer, (n, point)."""
        if self.inner is None:
            return np.zeros_like(waves.d_regular)
        part = (self.inner.d_regular * self.value - self.slope) / (self.inner.d_outgoing * self.value - self.slope)
        return waves.exchanged(self.inner) * part


def layers_of(k, p, radii, core, terms, lowest):
    """The layers of a body from the centre outward, and the outside medium, as a list of `Layer`.

    k, p   (layer + 1, frequency), outside medium last; radii (layer,)
    core   (u, u') on a conducting innermost layer, (0, 1) or (1, 0), whose entry is then None; None for one that waves enter"""
    inner, value, slope, layers = None, None, None, []
    for number, radius in enumerate(radii):
        if core and number == 0:
            layers.append(None)
            shape = (terms + 1, k.shape[1])
            value, slope = np.full(shape, core[0], complex), np.full(shape, core[1], complex)
        else:
            outer = RadialWaves(k[number] * radius, terms, lowest)
            layers.append(Layer(k[number], outer, inner, value, slope))
            reflected = layers[-1].reflected(outer)
            value, slope = 1 - reflected, outer.d_regular - reflected * outer.d_outgoing
            slope = slope * (k[number] * p[number + 1] / (p[number] * k[number + 1]))
        inner = RadialWaves(k[number + 1] * radius, terms, lowest)
    return [*layers, Layer(k[-1], None, inner, value, slope)]


def scattered_waves(k, p, radii, core, terms, lowest):
    """Coefficients a_n of the scattered wave -a_n H for an incident wave J, and the powers Re a_n - |a_n|^2 that the body
    absorbs, both (n, frequency). Arguments as for `layers_of`.

    a_n = (J / H) (h - J' / J) / (h - H' / H),   h = u' / u on the body,
    Re a_n - |a_n|^2 = Im(h) (-Im H' / H) / |h - H' / H|^2"""
    outside = layers_of(k, p, radii, core, terms, lowest)[-1]
    face, value, slope = outside.inner, outside.value, outside.slope
    below = slope - value * face.d_outgoing
    scattered = face.regular_over_outgoing() * (slope - value * face.d_regular) / below
    return scattered, (slope * value.conj()).imag * face.flux() / np.abs(below) ** 2
