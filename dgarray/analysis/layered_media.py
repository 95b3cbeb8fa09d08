"""Permittivities and permeabilities of layers at given frequencies: numbers or functions, checked.

Time dependence exp(i omega t): in a passive medium Im eps <= 0 and Im mu <= 0, and waves decay along their way as
exp(-i k r) with Im k <= 0.
"""
from __future__ import annotations

from numbers import Complex
from typing import TYPE_CHECKING

import numpy as np

from ..physics.boundary import pec
from ..support.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    Medium = complex | Callable[[np.ndarray], ArrayLike]
    Media = Medium | Sequence[Medium]

ROUNDING = 1e-13        # an imaginary part that is smaller than this part of the value counts as zero


def positive_values(values, name):
    """A number or numbers as an array (n,). Raises ValueError unless all are finite and positive, in one dimension."""
    found = np.atleast_1d(np.asarray(values))
    if found.ndim != 1 or not found.size or found.dtype.kind not in "fiu" or not np.all(np.isfinite(found) & (found > 0)):
        raise ValueError(f"{name}={values!r} is not allowed; it must be a positive number, or several in one dimension")
    return found.astype(float)


def increasing_radii(radius):
    """Outer radii of the layers from the centre outward, (layer,). Raises ValueError unless they are positive and increase."""
    radii = positive_values(radius, "radius")
    if not np.all(np.diff(radii) > 0):
        raise ValueError(f"radius={radius!r} is not allowed; radii must increase from the centre outward")
    return radii


def finite_numbers(values, name):
    """A number or numbers as an array (n,). Raises ValueError unless all are finite and real, in one dimension."""
    found = np.atleast_1d(np.asarray(values))
    if found.ndim != 1 or found.dtype.kind not in "fiu" or not np.all(np.isfinite(found)):
        raise ValueError(f"{name}={values!r} is not allowed; it must be a finite number, or several in one dimension")
    return found.astype(float)


def one_per_layer(values, layers, name):
    """The media of the layers as a list; one value holds for all. Raises ValueError for another number of them."""
    if not isinstance(values, (list, tuple, np.ndarray)):
        return [values] * layers
    if isinstance(values, np.ndarray) and values.ndim == 0:
        return [values[()]] * layers
    if len(values) != layers:
        raise ValueError(f"{name} has {plural(len(values), 'value')} for {plural(layers, 'layer')}; "
                         "give one for each layer, or one for all")
    return list(values)


def medium_values(value, frequencies, name):
    """eps or mu of one medium, (frequency,), complex, with Im <= 0 (-0.0 where it is real).

    Raises ValueError for what is no number or function of frequency, for 0, and for a medium that amplifies."""
    if value is pec:
        raise ValueError(f"{name}=pec is not allowed; a conductor can be the innermost layer of a sphere or "
                         "cylinder, by eps, and the medium behind a slab, by eps_behind")
    if not (callable(value) or isinstance(value, Complex)):
        raise ValueError(f"{name}={value!r} is not allowed; it must be a number or a function of frequency")
    found = np.asarray(value(frequencies) if callable(value) else value)
    if found.shape not in ((), frequencies.shape) or found.dtype.kind not in "fiuc":
        raise ValueError(f"{name} returned the shape {found.shape} and type {found.dtype} for frequencies of the shape "
                         f"{frequencies.shape}; it must return one number for each")
    found = np.broadcast_to(found, frequencies.shape).astype(complex)
    for wrong, why in ((~np.isfinite(found) | (found == 0), "it must be finite and not 0"),
                       (found.imag > ROUNDING * np.abs(found), "such a medium amplifies; with exp(i omega t) a passive medium "
                        "has an imaginary part of 0 or less")):
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ValueError(f"{name} = {found[first]:.6g} at the frequency {frequencies[first]:.6g} is not allowed; {why}")
    # The sign of zero chooses the branch of square roots: sqrt(-1 - 0i) = -i, a wave that decays.
    found.imag = -np.abs(found.imag)
    return found


def lossless_values(value, frequencies, name):
    """eps or mu of the medium of the incident wave, (frequency,). Raises ValueError unless it is real and positive."""
    found = medium_values(value, frequencies, name)
    wrong = (found.real <= 0) | (np.abs(found.imag) > ROUNDING * np.abs(found))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"{name} = {found[first]:.6g} at the frequency {frequencies[first]:.6g} is not allowed; the medium "
                         "of the incident wave must be real and positive")
    found.imag = -0.0
    return found


def layered_body(frequency, radius, eps, mu, eps_outside, mu_outside):
    """Checked frequencies and radii (layer,) of a sphere or cylinder; eps, mu and wave numbers k (layer + 1, frequency), the
    medium outside last, and whether the innermost layer is a conductor."""
    frequencies, radii = positive_values(frequency, "frequency"), increasing_radii(radius)
    eps, mu = (one_per_layer(values, len(radii), name) for values, name in ((eps, "eps"), (mu, "mu")))
    conducting = eps[0] is pec
    layers = [(e, m, f" of layer {number}") for number, (e, m) in enumerate(zip(eps, mu))]
    eps, mu = stacked(layers, (eps_outside, mu_outside, "_outside"), frequencies, conductor=0)
    return frequencies, radii, eps, mu, 2 * np.pi * frequencies * np.sqrt(eps) * np.sqrt(mu), conducting


def stacked(media, incident, frequencies, conductor):
    """eps and mu (medium, frequency) of passive media and then of the lossless one that the incident wave travels in.

    media, incident   (eps, mu, ending of their names in messages)
    conductor         number of the medium that may be `pec`; it gets 1"""
    both = []
    for part, name in enumerate(("eps", "mu")):
        rows = [np.ones(len(frequencies), complex) if medium[0] is pec and number == conductor else
                medium_values(medium[part], frequencies, name + medium[2]) for number, medium in enumerate(media)]
        both.append(np.array([*rows, lossless_values(incident[part], frequencies, name + incident[2])]))
    return both[0], both[1]
