"""Fresnel's coefficients: exact reflection and transmission of plane waves by a stack of layers.

Time dependence exp(i omega t) and units with c = 1 for eps = mu = 1, as everywhere in the package.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..physics.boundary import pec
from .layered_media import finite_numbers, one_per_layer, positive_values, stacked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .layered_media import Media, Medium


def fresnel_coefficients(frequency: ArrayLike, thickness: float | ArrayLike, eps: Media, mu: Media = 1.0, angle: float = 0.0,
                         polarisation: str = "s", eps_before: Medium = 1.0, mu_before: Medium = 1.0, eps_behind: Medium = 1.0,
                         mu_behind: Medium = 1.0) -> xr.Dataset:
    """Exact reflection and transmission of a plane wave by layers between two half-spaces; without layers, at one interface.

    With x across the layers, kx = sqrt(omega^2 eps mu - ky^2), Im kx <= 0, and Y = kx / mu (s) or kx / eps (p), the wave behind
    has u = 1, v = Y.  From the back of a layer of thickness d to its front u becomes u cos(kx d) + i v / Y sin(kx d), and v
    becomes v cos(kx d) + i Y u sin(kx d); their common growth, exp(i kx d), is kept apart.  In front of all layers
    r = (Y_before u - v) / (Y_before u + v),   t = 2 Y_before / (Y_before u + v)

    frequency   (frequency,) or a number
    thickness   of the layers in the order in which the wave meets them, (layer,), or a number; () for one interface
    eps, mu     of the layers: one value, or a sequence with one for each layer.  A value is a number, or a function of
                frequency, (frequency,) -> (frequency,); complex with Im <= 0 where the layer absorbs
    angle       of incidence, degrees from the normal, from 0 to below 90
    polarisation   "s": E normal to the plane of incidence, u = E (Ez of Maxwell in 2D TM);
                   "p": H normal to it, u = H (Hz of Maxwell in 2D TE)
    eps_before, mu_before   of the medium of the incident wave, real and positive
    eps_behind, mu_behind   of the medium behind, passive; eps_behind=dgarray.pec is a conductor behind the last layer
    Returns a Dataset over frequency: r and t, the complex amplitudes u of the reflected wave at the front and of the
    transmitted wave at the back, over that of the incident wave at the front, and the powers reflectance |r|^2, transmittance
    Re(Y_behind) / Y_before |t|^2 and absorptance, 1 minus both.
    ValueError for a frequency or thickness that is not positive, media that amplify (Im > 0), another number of media than
    layers, another angle or polarisation.
    Born & Wolf 1999, sections 1.5 and 1.6; Macleod 2010, Thin-Film Optical Filters, section 2.6."""
    frequencies = positive_values(frequency, "frequency")
    thickness = positive_values(thickness, "thickness") if np.size(thickness) else np.empty(0)
    degrees = finite_numbers(angle, "angle")
    if degrees.size != 1 or not 0 <= degrees[0] < 90:
        raise ValueError(f"angle={angle!r} is not allowed; it must be a number of degrees from 0 to below 90")
    if polarisation not in ("s", "p"):
        raise ValueError(f"polarisation={polarisation!r} is not allowed; allowed: s, E normal to the plane of incidence "
                         "(2D TM), and p, H normal to it (2D TE)")
    of_layers = [one_per_layer(values, len(thickness), name) for values, name in ((eps, "eps"), (mu, "mu"))]
    media = [(e, m, f" of layer {number}") for number, (e, m) in enumerate(zip(*of_layers))]
    media.append((eps_behind, mu_behind, "_behind"))
    e, m = stacked(media, (eps_before, mu_before, "_before"), frequencies, conductor=len(thickness))
    omega, p = 2 * np.pi * frequencies, m if polarisation == "s" else e
    ky = omega * (np.sqrt(e[-1]) * np.sqrt(m[-1])).real * np.sin(np.radians(degrees))
    kx = decaying(np.sqrt(omega**2 * e * m - ky**2), p)
    kx[-1] = omega * (np.sqrt(e[-1]) * np.sqrt(m[-1])).real * np.cos(np.radians(degrees))
    admittance = kx / p
    before, behind = admittance[-1].real, admittance[-2]
    u, v, log_t = np.ones(len(frequencies), complex), behind, np.zeros(len(frequencies), complex)
    if eps_behind is pec:
        u, v = (np.zeros_like(v), before.astype(complex)) if polarisation == "s" else (u, np.zeros_like(v))
    for d, k, Y, q in reversed(list(zip(thickness, kx, admittance, p))):
        # cos(kx d) and sin(kx d) times exp(-i kx d), and sin / kx: bounded, because Im kx <= 0.
        less = np.expm1(-2j * k * d)
        cosine, sine = 1 + less / 2, 0.5j * less
        sine_over_k = np.where(k == 0, d, sine / np.where(k == 0, 1, k))
        u, v = cosine * u + 1j * q * sine_over_k * v, 1j * Y * sine * u + cosine * v
        size = np.maximum(np.abs(u), np.abs(v) / before)
        u, v, log_t = u / size, v / size, log_t - 1j * k * d - np.log(size)
    r = (before * u - v) / (before * u + v)
    t = 0 * r if eps_behind is pec else np.exp(log_t) * 2 * before / (before * u + v)
    reflected, transmitted = np.abs(r) ** 2, behind.real / before * np.abs(t) ** 2
    data = {"r": (r, "amplitude of reflection"), "t": (t, "amplitude of transmission"),
            "reflectance": (reflected, "reflected power"), "transmittance": (transmitted, "transmitted power"),
            "absorptance": (1 - reflected - transmitted, "absorbed power")}
    return xr.Dataset({name: ("frequency", values, {"long_name": label}) for name, (values, label) in data.items()},
                      {"frequency": ("frequency", frequencies, {"long_name": "frequency"})},
                      {"angle": float(degrees[0]), "polarisation": polarisation})


def decaying(kx, p):
    """kx or -kx, (medium, frequency): the wave that decays, Im kx < 0, or else carries power along x, Re(kx / p) > 0."""
    along = np.abs(kx.imag) <= 1e-13 * np.abs(kx)
    wrong = np.where(along, (kx / p).real < 0, kx.imag > 0)
    return np.where(wrong, -kx, kx)
