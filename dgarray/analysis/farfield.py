"""Near-to-far transform in 2D and 3D: the far field and the cross-section of Fourier-transformed fields on a closed surface.

Time dependence exp(i omega t), as in NumPy's and the recorders' q^(f) = sum w q exp(-2 pi i f t); so an outgoing wave is
exp(-i k r) / r, in 2D exp(-i k r) / sqrt(r).  Balanis, Advanced Engineering Electromagnetics, 2012, sections 6.8, 11.5, 11.8;
Taflove & Hagness 2005, chapter 8.
"""
from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..physics.boundary import pec
from ..physics.laws.law import dot
from ..physics.laws.maxwell import FIELDS
from ..support.wording import choose
from .closed_surface import ClosedSurface, check_fields
from .record_checks import UNITLESS, check_surface, medium_outside, times_length
from .scattering_spheres import sphere_bistatic
from .truncated_records import warn_of_rest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

AXES = "x", "y", "z"
PLANES = "xy", "xz", "yz"
BLOCK_VALUES = 1 << 20      # phases exp(i k r.x) held at once


def directions(count: int = 360, plane: str | None = None) -> np.ndarray:
    """Unit vectors at equal angles all around, from the first axis to the second: in 2D (count, 2), in 3D (count, 3).

    count  whole number from 1
    plane  None for 2D; in 3D "xy", "xz" or "yz"
    ValueError for others."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"count={count!r} is not allowed; it must be a whole number from 1")
    angle = 2 * np.pi * np.arange(count) / count
    if plane is None:
        return np.column_stack([np.cos(angle), np.sin(angle)])
    first, second = (AXES.index(axis) for axis in choose("plane", plane, PLANES))
    u = np.zeros((count, 3))
    u[:, first], u[:, second] = np.cos(angle), np.sin(angle)
    return u


def near_to_far(fields: xr.Dataset, directions: ArrayLike, eps: float | None = None, mu: float | None = None,
                degree: int | None = None, density: float | None = None, sound_speed: float | None = None) -> xr.Dataset:
    """The far field of the fields on a closed surface: of Maxwell's equations the electric one, of acoustics the pressure.

    3D: E(r) -> E_far(r/|r|) exp(-i k |r|) / |r|,         A = 1 / (4 pi),
    2D: E(r) -> E_far(r/|r|) exp(-i k |r|) / sqrt(|r|),   A = exp(-i pi / 4) / sqrt(8 pi k),   and p_far of p likewise

    with exp(i omega t) and r from the origin, so that the field at r is E_far times what stands behind it, without a further
    phase; a source of strength 1 has the wave A exp(-i k |r|) / |r|, in 2D A exp(-i k |r|) / sqrt(|r|), of which A is a part
    of E_far.  In 2D that is the far end of Hankel's function, -i / 4 H_0^(2)(k |r|)

    Maxwell, by the currents J = n x H and M = -n x E:   E_far(u) = -i k A (Z N_u - u x L),
    N = integral of J exp(i k u . x) dS,   L = integral of M exp(i k u . x) dS,   N_u = N - u (u . N),
    k = 2 pi f sqrt(eps mu),   Z = sqrt(mu / eps)

    Acoustics, by the integral of Kirchhoff and Helmholtz:   p_far(u) = i k A integral of (p u . n + Z v . n) exp(i k u . x) dS,
    k = 2 pi f / c,   Z = rho c

    The normals n are turned so that they point out of the volume that the surface encloses; sources and scatterers lie
    inside, and around it the medium is uniform.  A field whose sources lie outside, such as the incident wave, adds nothing,
    so scattered and total fields give the same.  On a perfect conductor the total field has M = 0, at a rigid wall v . n = 0.

    fields      Dataset of a record `Fourier(frequencies, boundary=...)`: Ex ... Hz, in 2D Hx, Hy, Ez (TM) or Ex, Ey, Hz (TE);
                or p, vx, vy, vz; complex on (frequency, face, face_node), with x, y, z, normal_x, normal_y, normal_z, area, on
                quadrilaterals and hexahedra weight, and the attributes order and nodes; frequency may be one chosen value
    directions  (direction, dim) unit vectors u
    eps, mu     of the medium around the surface, by default those of the run; of normalised fields that do not say it, 1
    degree      of the quadrature on each face, 2 order + 4 by default
    density, sound_speed   of acoustics, rho and c, likewise
    Returns a Dataset of Ex, Ey, Ez, those of them that the fields have, or of p, (frequency, direction), complex, of the unit E
    or p times length, in 2D times its square root; coordinates frequency and direction_x, direction_y, direction_z.
    ValueError where fields lack something or the surface is not closed, lies in an absorbing layer, or beside mirrors of the
    run whose images are missing; where the medium around it is not uniform, has losses or dispersion, or is not known; for a
    medium that is not that of the run or not positive, fields of another law, and directions that are no unit vectors.
    Warns where the record ends while more than 2e-3 of its largest E or H, p or v is left.
    Balanis 2012, section 6.8; Pierce 1989, section 4.6."""
    variables = variables_of(fields)
    u = unit_vectors(directions, len(check_fields(fields, variables)))
    surface = ClosedSurface(fields, variables, degree)
    given = {"eps": eps, "mu": mu}, {"density": density, "sound_speed": sound_speed}
    own, other = given[::-1] if "p" in variables else given
    if foreign := [name for name, value in other.items() if value is not None]:
        raise ValueError(f"{foreign[0]}={other[foreign[0]]!r} is not allowed of the fields {', '.join(variables)}, whose "
                         f"medium has {' and '.join(own)}")
    check_surface(fields)
    warn_of_rest(fields[list(variables)], stacklevel=2)
    medium = medium_outside(fields, own)
    of_waves, q = pressures if "p" in variables else electric_fields, {name: surface.values(name) for name in variables}
    far = np.array([of_waves(surface, frequency, {name: values[number] for name, values in q.items()}, u, *medium.values())
                    for number, frequency in enumerate(surface.frequencies)])
    coords = {"frequency": surface.fields["frequency"].variable}
    coords |= {f"direction_{axis}": ("direction", u[:, i], {"long_name": f"{axis} component of the direction"})
               for i, axis in enumerate(surface.axes)}
    electric = {f"E{axis}": f"electric far field, {axis} component" for axis in AXES}
    names = {"p": "far pressure"} if "p" in variables else electric
    data = {name: (("frequency", "direction"), far[:, :, i], {"long_name": text} | units_far(fields, name, surface.dim))
            for i, (name, text) in enumerate(names.items()) if name in variables}
    return xr.Dataset(data, coords, medium | {f"sigma_{key}": text for key, text in times_length(
        "1", fields, surface.dim - 1).items()})


def units_far(fields, name, dim):
    """{"units": text} of a component of the far field: those of the field times length, in 2D times its square root."""
    return times_length(fields[name].attrs.get("units", UNITLESS), fields, 1 if dim == 3 else 0.5)


def electric_fields(surface, frequency, q, u, eps, mu):
    """E_far (direction, 3) along u (direction, dim) of the fields q, {variable: (face, point)}."""
    k = 2 * np.pi * frequency * np.sqrt(eps * mu)
    x, normals, direction = surface.three(surface.x), surface.three(surface.normals), np.pad(u, ((0, 0), (0, 3 - surface.dim)))
    E, H = (np.array([q.get(field + axis, 0 * surface.weights) for axis in AXES]) for field in "EH")
    N, L = (radiated(current * surface.weights, x, k, direction) for current in (cross(normals, H), -cross(normals, E)))
    N -= direction * np.sum(direction * N, axis=1, keepdims=True)
    return -1j * k * amplitude(surface.dim, k) * (np.sqrt(mu / eps) * N - np.cross(direction, L))


def pressures(surface, frequency, q, u, density, sound_speed):
    """p_far (direction, 1) along u (direction, dim) of the fields q, {variable: (face, point)}."""
    k = 2 * np.pi * frequency / sound_speed
    dipoles = surface.normals * (q["p"] * surface.weights)
    normal = dot(surface.normals, [q[f"v{axis}"] for axis in surface.axes])
    monopoles = density * sound_speed * normal * surface.weights
    found = radiated(np.stack([*dipoles, monopoles]), surface.x, k, u)
    return 1j * k * amplitude(surface.dim, k) * (np.sum(found[:, :-1] * u, axis=1) + found[:, -1])[:, None]


def amplitude(dim, k):
    """A of a source of strength 1: its wave is A exp(-i k r) / r, in 2D A exp(-i k r) / sqrt(r)."""
    return 1 / (4 * np.pi) if dim == 3 else np.exp(-0.25j * np.pi) / np.sqrt(8 * np.pi * k)


def cross_section(far: xr.Dataset, incident: ArrayLike = 1.0) -> xr.DataArray:
    """Bistatic cross-section, an area, sigma = 4 pi |E_far|^2 / |E_incident|^2, or in 2D bistatic width, a length,
    sigma = 2 pi |E_far|^2 / |E_incident|^2, (frequency, direction); of acoustics p stands for E.

    far: as `near_to_far` returns it; incident: amplitude of E or p of the incident plane wave at these frequencies, a number or
    (frequency,), transformed as the fields were.  ValueError if an amplitude is 0.
    Balanis 2012, sections 11.3 and 11.5."""
    strength = np.abs(np.asarray(incident)).reshape(-1, 1)
    if not np.all(strength > 0):
        raise ValueError(f"incident={incident!r} is not allowed; the incident wave must have an amplitude at every frequency")
    squares = sum(np.abs(component) ** 2 for component in far.data_vars.values())
    angle, name = (4 * np.pi, "cross-section") if "direction_z" in far.coords else (2 * np.pi, "width")
    result = (angle * squares / strength**2).rename("sigma")
    result.attrs = {"long_name": f"bistatic {name}"}
    if "sigma_units" in far.attrs:
        result.attrs["units"] = far.attrs["sigma_units"]
    return result


def enclosed_volume(fields):
    """Volume inside the surface on which `fields` are given, in 2D the area, the integral of x . n dS / dim; positive."""
    return ClosedSurface(fields, ()).volume


def mie_cross_section(ka: float, angles: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Exact bistatic cross-sections sigma / a^2 of a perfectly conducting sphere of radius a in the planes of E and of H.

    sigma_E / a^2 = 4 pi / (ka)^2 |sum_n c_n (a_n tau_n + b_n pi_n)|^2, in sigma_H pi and tau exchanged,
    c_n = (2n+1) / (n(n+1)), a_n = psi_n' / xi_n', b_n = psi_n / xi_n at ka, psi_n(x) = x j_n(x), xi_n(x) = x h_n^(2)(x);
    spheres of other media: `dgarray.analysis.scattering_spheres.sphere_bistatic`

    ka      wave number times radius
    angles  (angle,) degrees from the direction in which the wave travels: 0 forward, 180 back
    Returns two arrays (angle,).  ValueError unless ka is positive.
    Balanis 2012, section 11.8.2; Bohren & Huffman 1983, section 4.4, for an infinite conductivity."""
    if not (isinstance(ka, Real) and ka > 0):
        raise ValueError(f"ka={ka!r} is not allowed; it must be a positive number")
    angles = np.asarray(angles, float)
    in_E, in_H = sphere_bistatic(ka / (2 * np.pi), angles.ravel(), 1.0, pec).values[0]
    return in_E.reshape(angles.shape), in_H.reshape(angles.shape)


def variables_of(fields):
    """Names of the components of E and H, or of p and v, that the fields have, or should have."""
    axes = AXES if "z" in fields.coords else AXES[:2]
    if "p" in fields or "vx" in fields:
        return ("p", *(f"v{axis}" for axis in axes))
    if len(axes) == 3:
        return FIELDS[3, None]
    return FIELDS[2, "TE" if "Hz" in fields else "TM"]


def unit_vectors(directions, dim):
    """The directions as an array (direction, dim). Raises ValueError for another shape and for other lengths than 1."""
    u = np.asarray(directions, float)
    if u.ndim != 2 or u.shape[1] != dim:
        raise ValueError(f"directions have the shape {u.shape}; it must be (direction, {dim})")
    lengths = np.linalg.norm(u, axis=1)
    if not np.all(np.abs(lengths - 1) < 1e-9):
        worst = int(np.argmax(np.abs(lengths - 1)))
        raise ValueError(f"direction {worst} has the length {lengths[worst]:.6g}; directions must be unit vectors")
    return u


def cross(normals, field):
    """n x F of normals (3, face, 1) and the three components (3, face, point)."""
    return np.cross(np.broadcast_to(normals, field.shape), field, axis=0)


def radiated(current, x, k, u):
    """Radiation integral: the sum of current exp(i k u . x) over all points, (direction, component).

    current   (component, face, point), times the weights of the quadrature;  x: (dim, face, point)
    k         wave number;  u: unit vectors of the directions, (direction, dim)"""
    current, x = current.reshape(len(current), -1), x.reshape(len(x), -1)
    rows = max(1, BLOCK_VALUES // x.shape[1])
    return np.concatenate([np.exp(1j * k * (u[first:first + rows] @ x)) @ current.T for first in range(0, len(u), rows)])
