"""Series of circular cylinders at normal incidence: exact widths and fields of conducting, dielectric and coated ones.

Time dependence exp(i omega t) and units with c = 1 for eps = mu = 1, as everywhere in the package.  The wave travels along +x,
the axis is the z axis.  TM has E along the axis, u = Ez; TE has H along it, u = Hz.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..support.wording import choose
from .layered_media import finite_numbers, layered_body
from .partial_waves import CYLINDER, RadialWaves, layers_of, number_of_terms, scattered_waves

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .layered_media import Media, Medium

# u, then the components of the other field.
VARIABLES = {"TM": ("Ez", "Hx", "Hy"), "TE": ("Hz", "Ex", "Ey")}
BLOCK_VALUES = 1 << 18      # values (n, point) held at once
NEAREST = 1e-16             # least distance from the axis, in radii, at which series are evaluated


def cylinder_widths(frequency: ArrayLike, radius: float | ArrayLike, eps: Media, mu: Media = 1.0, eps_outside: Medium = 1.0,
                    mu_outside: Medium = 1.0, polarisation: str = "TM") -> xr.Dataset:
    """Exact widths (2D cross-sections) of scattering, absorption and extinction of a circular cylinder of any number of layers.

    W_sca = 4 / k sum_n |a_n|^2,   W_ext = 4 / k sum_n Re a_n,   n = -infinity ... infinity,   k = 2 pi f sqrt(eps mu) outside;
    W_abs from the power that enters the cylinder, W_ext = W_sca + W_abs.  Over 2 a they are the efficiencies.

    frequency   (frequency,) or a number
    radius      outer radii of the layers from the axis outward, (layer,), or a number
    eps, mu     of the layers: one value, or a sequence with one for each layer.  A value is a number, or a function of
                frequency, (frequency,) -> (frequency,); complex with Im <= 0 where the layer absorbs.  eps=dgarray.pec makes
                the innermost layer a perfect conductor
    eps_outside, mu_outside   of the medium around, real and positive, numbers or functions
    polarisation   "TM", E along the axis, or "TE", H along the axis
    Returns a Dataset of scattering, absorption, extinction (frequency), lengths.
    ValueError for a frequency or radius that is not positive, radii that do not increase, media that amplify (Im > 0), another
    number of media than layers, a medium outside that absorbs, another polarisation, and k a above 1e5.
    Bohren & Huffman 1983, section 8.4; Kerker 1969, chapter 6; Balanis 2012, section 11.5."""
    body = Cylinder(frequency, radius, eps, mu, eps_outside, mu_outside, polarisation)
    a, lost = scattered_waves(*body.waves)
    weights = 4 / body.k[-1].real * np.where(np.arange(len(a)) == 0, 1, 2)[:, None]
    data = {name: ("frequency", np.sum(weights * part, axis=0), {"long_name": f"{name} width"})
            for name, part in (("scattering", np.abs(a) ** 2), ("absorption", lost), ("extinction", a.real))}
    return xr.Dataset(data, {"frequency": ("frequency", body.frequencies, {"long_name": "frequency"})}, body.attrs)


def cylinder_bistatic(frequency: ArrayLike, angles: ArrayLike, radius: float | ArrayLike, eps: Media, mu: Media = 1.0,
                      eps_outside: Medium = 1.0, mu_outside: Medium = 1.0, polarisation: str = "TM") -> xr.DataArray:
    """Exact bistatic width sigma = 2 pi r |u_scattered|^2 / |u_incident|^2 of a layered circular cylinder, u = Ez or Hz.

    sigma = 4 / k |sum_n a_n exp(i n angle)|^2, n = -infinity ... infinity; its mean over all angles is the width of scattering

    angles      (angle,) degrees from the direction in which the wave travels: 0 forward, 180 back
    frequency, radius, eps, mu, eps_outside, mu_outside, polarisation   as for `cylinder_widths`
    Returns sigma (frequency, angle), a length.  ValueError as `cylinder_widths`, and for angles that are not finite numbers.
    Bohren & Huffman 1983, section 8.4; Balanis 2012, section 11.5."""
    angles = finite_numbers(angles, "angles")
    body = Cylinder(frequency, radius, eps, mu, eps_outside, mu_outside, polarisation)
    a, _ = scattered_waves(*body.waves)
    n = np.arange(len(a))[:, None]
    amplitude = (np.where(n == 0, 1, 2) * a).T @ np.cos(n * np.radians(angles))
    coords = {"frequency": ("frequency", body.frequencies, {"long_name": "frequency"}),
              "angle": ("angle", angles, {"long_name": "scattering angle", "units": "degree"})}
    return xr.DataArray(4 / body.k[-1].real[:, None] * np.abs(amplitude) ** 2, coords, ("frequency", "angle"), "sigma",
                        {"long_name": "bistatic width"} | body.attrs)


def cylinder_fields(frequency: ArrayLike, points: ArrayLike, radius: float | ArrayLike, eps: Media, mu: Media = 1.0,
                    eps_outside: Medium = 1.0, mu_outside: Medium = 1.0, polarisation: str = "TM", part: str = "total",
                    layer: ArrayLike | None = None) -> xr.Dataset:
    """The exact fields in and around a layered circular cylinder on the z axis, complex, for the incident wave u = exp(-i k x).

    u = sum_n (-i)^n (J_n(k r) - a_n H_n^(2)(k r)) exp(i n phi) outside,
    u = sum_n (-i)^n c_n (J_n(k r) - A_n H_n^(2)(k r)) exp(i n phi) in a layer, n = -infinity ... infinity;
    TM: u = Ez, H = i / (omega mu) (dEz/dy, -dEz/dx);  TE: u = Hz, E = -i / (omega eps) (dHz/dy, -dHz/dx)

    points      (point, 2) positions x, y
    part        "total", or "scattered": the total field minus the incident wave, inside of the cylinder too
    layer       number of the layer, 0 the innermost and len(radius) the medium outside, whose fields are meant at the points: a
                whole number or (point,).  By default that in which a point lies.  Give it at nodes on faces, where components
                across the face jump, and on curved cells, whose nodes may lie slightly off the circle
    frequency, radius, eps, mu, eps_outside, mu_outside, polarisation   as for `cylinder_widths`
    Returns a Dataset of Ez, Hx, Hy or of Hz, Ex, Ey (frequency, point) with the coordinates x, y.  The total field in a
    conductor is 0.
    ValueError as `cylinder_widths`, and for points of another shape, another part, and layers that do not exist.
    Balanis 2012, section 11.5; Bohren & Huffman 1983, section 8.4."""
    choose("part", part, ("total", "scattered"))
    x = np.asarray(points)
    if x.ndim != 2 or x.shape[1] != 2 or x.dtype.kind not in "fiu" or not np.isfinite(x).all():
        raise ValueError(f"points have the shape {x.shape} and type {x.dtype}; they must be finite numbers (point, 2)")
    x = x.T.astype(float)
    body = Cylinder(frequency, radius, eps, mu, eps_outside, mu_outside, polarisation)
    layer = layer_numbers(layer, np.hypot(*x), body)
    fields = np.zeros((3, len(body.frequencies), x.shape[1]), complex)
    for number in range(len(body.frequencies)):
        body.add_fields(fields[:, number], number, x, layer)
        if part == "scattered":
            fields[:, number] -= body.incident(number, x)
    attrs = {"Ez": "electric field", "Hz": "magnetic field"}
    data = {name: (("frequency", "point"), values, {"long_name": f"{attrs[name[0] + 'z']}, {name[1]} component"})
            for name, values in zip(VARIABLES[polarisation], fields)}
    coords = {"frequency": ("frequency", body.frequencies, {"long_name": "frequency"}),
              "x": ("point", x[0]), "y": ("point", x[1])}
    return xr.Dataset(data, coords, body.attrs | {"part": part})


def layer_numbers(layer, r, body):
    """The layer of each point, (point,). Raises ValueError for layers that do not exist."""
    if layer is None:
        return np.searchsorted(body.radii, r * (1 - 1e-12), side="right" if body.core else "left")
    found = np.asarray(layer)
    if found.shape not in ((), r.shape) or found.dtype.kind not in "iu" or np.any((found < 0) | (found > len(body.radii))):
        raise ValueError(f"layer={layer!r} is not allowed; it must be a whole number from 0 to {len(body.radii)}, or one for "
                         "each point")
    return np.broadcast_to(found, r.shape)


class Cylinder:
    """The checked arguments of the functions above.

    frequencies (frequency,), radii (layer,)
    k, p   (layer + 1, frequency), outside medium last; p = mu for TM, eps for TE: u and u' / p are continuous
    core   (u, u') on a conductor; None without one"""

    def __init__(self, frequency, radius, eps, mu, eps_outside, mu_outside, polarisation):
        choose("polarisation", polarisation, VARIABLES)
        body = layered_body(frequency, radius, eps, mu, eps_outside, mu_outside)
        self.frequencies, self.radii, eps, mu, self.k, conducting = body
        self.sign, self.p, core = (1, mu, (0, 1)) if polarisation == "TM" else (-1, eps, (1, 0))
        self.core = core if conducting else None
        self.terms = number_of_terms(self.k[-1].real * self.radii[-1])
        self.attrs = {"polarisation": polarisation, "radius": self.radii.tolist()}

    @property
    def waves(self):
        """Arguments of `scattered_waves` and `layers_of`."""
        return self.k, self.p, self.radii, self.core, self.terms, CYLINDER

    def incident(self, number, x):
        """u and the two components of the incident wave at x (2, point)."""
        k, p = self.k[-1, number], self.p[-1, number]
        u = np.exp(-1j * k.real * x[0])
        return np.array([u, 0 * u, -self.sign * k / (2 * np.pi * self.frequencies[number] * p) * u])

    def add_fields(self, fields, number, x, layer):
        """Add the total fields (3, point) of one frequency to `fields`, layer by layer from outside inward."""
        one = slice(number, number + 1)
        k, p, radii, core, terms, lowest = self.waves
        layers = layers_of(k[:, one], p[:, one], radii, core, terms, lowest)
        outside = layers[-1]
        r, phi = np.maximum(np.hypot(*x), NEAREST * radii[0]), np.arctan2(x[1], x[0])
        n = np.arange(terms + 1)[:, None]
        amplitude = (-1j) ** (n % 4) * np.where(n == 0, 1, 2)
        # c J on the face from which the layer is entered; (J' / J - H' / H) / (u' / u - H' / H) goes through it.
        entering = amplitude * outside.inner.regular()
        for index in range(len(radii), -1, -1):
            medium, chosen = layers[index], np.flatnonzero(layer == index)
            if medium is None:
                break
            rows = max(1, BLOCK_VALUES // (terms + 1))
            for block in (chosen[first:first + rows] for first in range(0, len(chosen), rows)):
                waves = RadialWaves(medium.k * r[block], terms, lowest)
                if medium is outside:
                    fields[:, block] += self.incident(number, x[:, block])
                    face = medium.inner
                    scale = -(medium.slope - medium.value * face.d_regular) / (medium.slope - medium.value * face.d_outgoing)
                    u = entering * scale * waves.outgoing_over(face)
                    slope = u * waves.d_outgoing
                else:
                    reflected, scale = medium.reflected(waves), entering * waves.regular_over(medium.outer)
                    u, slope = scale * (1 - reflected), scale * (waves.d_regular - reflected * waves.d_outgoing)
                fields[:, block] += self.components(u, medium.k * slope, index, number, r[block], phi[block])
            if index:
                face, below = medium.inner, medium.slope - medium.value * medium.inner.d_outgoing
                entering = entering * (face.d_regular - face.d_outgoing) / below
                if medium is not outside:
                    entering = entering * face.regular_over(medium.outer)

    def components(self, u, slope, index, number, r, phi):
        """u and the two components (3, point) of partial waves u, du/dr (n, point)."""
        n = np.arange(len(u))[:, None]
        cosine = np.cos(n * phi)
        along, around = np.sum(slope * cosine, axis=0), -np.sum(n * u * np.sin(n * phi), axis=0) / r
        dx, dy = along * np.cos(phi) - around * np.sin(phi), along * np.sin(phi) + around * np.cos(phi)
        factor = self.sign * 1j / (2 * np.pi * self.frequencies[number] * self.p[index, number])
        return np.array([np.sum(u * cosine, axis=0), factor * dy, -factor * dx])
