"""Mie's series: exact cross-sections of conducting, dielectric, coated and dispersive spheres.

Time dependence exp(i omega t) and units with c = 1 for eps = mu = 1, as everywhere in the package.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from .layered_media import finite_numbers, layered_body
from .partial_waves import SPHERE, number_of_terms, scattered_waves

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .layered_media import Media, Medium

PLANES = ("E", "H")


def sphere_cross_sections(frequency: ArrayLike, radius: float | ArrayLike, eps: Media, mu: Media = 1.0,
                          eps_outside: Medium = 1.0, mu_outside: Medium = 1.0) -> xr.Dataset:
    """Exact cross-sections of scattering, absorption and extinction of a sphere of any number of concentric layers.

    C_sca = 2 pi / k^2 sum_n (2n+1) (|a_n|^2 + |b_n|^2),   C_ext = 2 pi / k^2 sum_n (2n+1) Re(a_n + b_n),   C_abs by the power
    that enters the sphere, so that C_ext = C_sca + C_abs;   k = 2 pi f sqrt(eps mu) outside.  Efficiencies are C / (pi a^2).

    frequency   (frequency,) or a number
    radius      outer radii of the layers from the centre outward, (layer,), or a number
    eps, mu     of the layers: one value, or a sequence with one for each layer.  A value is a number, or a function of
                frequency, (frequency,) -> (frequency,); complex with Im <= 0 where the layer absorbs.  eps=dgarray.pec makes
                the innermost layer a perfect conductor
    eps_outside, mu_outside   of the medium around, real and positive, numbers or functions
    Returns a Dataset of scattering, absorption, extinction (frequency), areas.
    ValueError for a frequency or radius that is not positive, radii that do not increase, media that amplify (Im > 0), another
    number of media than layers, a medium outside that absorbs, and k a above 1e5.
    Bohren & Huffman 1983, sections 4.4 and 8.1; layers: Wu & Wang 1991, Radio Sci. 26; Yang 2003, Appl. Opt. 42."""
    frequencies, radii, k, (a, b), (lost_a, lost_b) = mie(frequency, radius, eps, mu, eps_outside, mu_outside)
    weights = 2 * np.pi / k**2 * (2 * np.arange(1, len(a) + 1)[:, None] + 1)
    values = {"scattering": np.abs(a) ** 2 + np.abs(b) ** 2, "absorption": lost_a + lost_b, "extinction": (a + b).real}
    data = {name: ("frequency", np.sum(weights * part, axis=0), {"long_name": f"{name} cross-section"})
            for name, part in values.items()}
    return xr.Dataset(data, {"frequency": ("frequency", frequencies, {"long_name": "frequency"})}, {"radius": radii.tolist()})


def sphere_bistatic(frequency: ArrayLike, angles: ArrayLike, radius: float | ArrayLike, eps: Media, mu: Media = 1.0,
                    eps_outside: Medium = 1.0, mu_outside: Medium = 1.0) -> xr.DataArray:
    """Exact bistatic cross-sections of a layered sphere in the planes of E and of H.

    sigma = 4 pi r^2 |E_scattered|^2 / |E_incident|^2 far away;
    sigma_E = 4 pi / k^2 |sum_n c_n (a_n tau_n + b_n pi_n)|^2, in sigma_H pi and tau exchanged, c_n = (2n+1) / (n(n+1)),
    pi_n = P_n^1(cos angle) / sin angle, tau_n = dP_n^1(cos angle) / d angle

    angles      (angle,) degrees from the direction in which the wave travels: 0 forward, 180 back
    frequency, radius, eps, mu, eps_outside, mu_outside   as for `sphere_cross_sections`
    Returns sigma (frequency, plane, angle), an area, plane = "E", "H".  On any other plane, at the angle phi from that of E,
    sigma = cos^2(phi) sigma_E + sin^2(phi) sigma_H.
    ValueError as `sphere_cross_sections`, and for angles that are not finite numbers.
    Bohren & Huffman 1983, section 4.4; Balanis 2012, section 11.8."""
    angles = finite_numbers(angles, "angles")
    frequencies, radii, k, (a, b), _ = mie(frequency, radius, eps, mu, eps_outside, mu_outside)
    pi, tau = angular_functions(np.cos(np.radians(angles)), len(a))
    n = np.arange(1, len(a) + 1)[:, None]
    a, b = ((2 * n + 1) / (n * (n + 1)) * part for part in (a, b))
    amplitudes = np.array([a.T @ tau + b.T @ pi, a.T @ pi + b.T @ tau])
    sigma = 4 * np.pi / k[:, None, None] ** 2 * np.abs(amplitudes.transpose(1, 0, 2)) ** 2
    coords = {"frequency": ("frequency", frequencies, {"long_name": "frequency"}), "plane": list(PLANES),
              "angle": ("angle", angles, {"long_name": "scattering angle", "units": "degree"})}
    return xr.DataArray(sigma, coords, ("frequency", "plane", "angle"), "sigma",
                        {"long_name": "bistatic cross-section", "radius": radii.tolist()})


def mie(frequency, radius, eps, mu, eps_outside, mu_outside):
    """Checked frequencies and radii, k outside (frequency,), the coefficients (a_n, b_n) from n = 1 on, (n, frequency), and the
    powers that these partial waves lose."""
    frequencies, radii, eps, mu, k, conducting = layered_body(frequency, radius, eps, mu, eps_outside, mu_outside)
    terms = number_of_terms(k[-1].real * radii[-1])
    # In a the radial function is that of H, with u' / eps continuous, in b that of E, with u' / mu.
    waves = [scattered_waves(k, p, radii, core if conducting else None, terms, SPHERE)
             for p, core in ((eps, (1, 0)), (mu, (0, 1)))]
    return (frequencies, radii, k[-1].real, *([part[1:] for part in parts] for parts in zip(*waves)))


def angular_functions(cosine, terms):
    """pi_n and tau_n, n = 1 ... terms, at these cosines, (n, angle)."""
    pi, tau = np.zeros((terms + 1, len(cosine))), np.zeros((terms + 1, len(cosine)))
    pi[1] = 1.0
    for n in range(1, terms + 1):
        tau[n] = n * cosine * pi[n] - (n + 1) * pi[n - 1]
        if n < terms:
            pi[n + 1] = ((2 * n + 1) * cosine * pi[n] - (n + 1) * pi[n - 1]) / n
    return pi[1:], tau[1:]
