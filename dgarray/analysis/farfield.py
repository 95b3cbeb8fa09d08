"""Near-to-far transform: the far field and the cross-section of Fourier-transformed fields on a closed surface.

Time dependence exp(i omega t), as in NumPy's and the recorders' q^(f) = sum w q exp(-2 pi i f t); so an outgoing wave is
exp(-i k r) / r.  Balanis, Advanced Engineering Electromagnetics, 2012, sections 6.8 and 11.8; Taflove & Hagness 2005,
chapter 8.
"""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..physics.boundary import pec
from ..reference import quadrature, simplex
from ..reference.tensor import KINDS as TENSOR_NODES
from ..reference.tensor import tensor_cell
from ..spaces.surface import AXES, Surface
from .scattering_spheres import sphere_bistatic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NEEDED = (*AXES, *(f"normal_{axis}" for axis in AXES), "area", "frequency", *(f + axis for f in "EH" for axis in AXES))
BLOCK_VALUES = 1 << 20      # phases exp(i k r.x) held at once


def near_to_far(fields: xr.Dataset, directions: ArrayLike, eps: float = 1.0, mu: float = 1.0,
                degree: int | None = None) -> xr.Dataset:
    """The electric far field of the fields E and H on a closed surface, by the currents J = n x H and M = -n x E.

    E(r) -> E_far(r/|r|) exp(-i k |r|) / |r|,   E_far(u) = -(i k / 4 pi) (Z N_u - u x L),   N_u = N - u (u . N),
    N = integral of J exp(i k u . x) dS,   L = integral of M exp(i k u . x) dS,   k = 2 pi f sqrt(eps mu),   Z = sqrt(mu / eps)

    The normals n are turned so that they point out of the volume that the surface encloses; sources and scatterers lie
    inside, and around it the medium is uniform.  A field whose sources lie outside, such as the incident wave, adds nothing,
    so scattered and total fields give the same.  On a perfect conductor the total field has M = 0.

    fields      Dataset of a record `Fourier(frequencies, boundary=...)`: Ex ... Hz complex on (frequency, face, face_node),
                with x, y, z, normal_x, normal_y, normal_z, area, on hexahedra weight, and the attributes order and nodes;
                frequency may be one chosen value
    directions  (direction, 3) unit vectors u
    eps, mu     of the medium around the surface
    degree      of the quadrature on each face, 2 order + 4 by default
    Returns a Dataset of Ex, Ey, Ez (frequency, direction), complex, of the unit E times length; coordinates frequency and
    direction_x, direction_y, direction_z.
    ValueError where fields lack something or the surface is not closed, for directions that are no unit vectors and for a
    medium that is not positive.
    Balanis 2012, section 6.8."""
    check_fields(fields)
    u = unit_vectors(directions)
    for name, value in (("eps", eps), ("mu", mu)):
        if not (isinstance(value, Real) and value > 0):
            raise ValueError(f"{name}={value!r} is not allowed; it must be a positive number")
    x, weights, normals, matrix = on_faces(fields, degree)
    normals = normals * np.sign(signed_volume(x, weights, normals))
    if "frequency" not in fields.dims:
        fields = fields.expand_dims("frequency")
    frequencies = fields["frequency"].values.astype(float)
    far = np.empty((len(frequencies), len(u), 3), complex)
    for number, k in enumerate(2 * np.pi * frequencies * np.sqrt(eps * mu)):
        E, H = ([nodal(fields, name + axis)[number] @ matrix.T for axis in AXES] for name in "EH")
        J, M = cross(normals, H), -cross(normals, E)
        N, L = (radiated(current * weights, x, k, u) for current in (J, M))
        N -= u * np.sum(u * N, axis=1, keepdims=True)
        far[number] = -1j * k / (4 * np.pi) * (np.sqrt(mu / eps) * N - np.cross(u, L))
    coords = {"frequency": fields["frequency"].variable}
    coords |= {f"direction_{axis}": ("direction", u[:, i], {"long_name": f"{axis} component of the direction"})
               for i, axis in enumerate(AXES)}
    data = {f"E{axis}": (("frequency", "direction"), far[:, :, i], {"long_name": f"electric far field, {axis} component"})
            for i, axis in enumerate(AXES)}
    return xr.Dataset(data, coords, {"eps": float(eps), "mu": float(mu)})


def cross_section(far: xr.Dataset, incident: ArrayLike = 1.0) -> xr.DataArray:
    """Bistatic cross-section sigma = 4 pi |E_far|^2 / |E_incident|^2, an area, (frequency, direction).

    far: as `near_to_far` returns it; incident: amplitude of the incident plane wave at these frequencies, a number or
    (frequency,), transformed as the fields were.  ValueError if an amplitude is 0.
    Balanis 2012, section 11.3."""
    amplitude = np.abs(np.asarray(incident)).reshape(-1, 1)
    if not np.all(amplitude > 0):
        raise ValueError(f"incident={incident!r} is not allowed; the incident wave must have an amplitude at every frequency")
    squares = sum(np.abs(far[f"E{axis}"]) ** 2 for axis in AXES)
    result = (4 * np.pi * squares / amplitude**2).rename("sigma")
    result.attrs = {"long_name": "bistatic cross-section"}
    return result


def enclosed_volume(fields):
    """Volume inside the surface on which `fields` are given, one third of the integral of x . n dS; positive."""
    check_fields(fields)
    x, weights, normals, _ = on_faces(fields, None)
    return abs(signed_volume(x, weights, normals))


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


def check_fields(fields):
    """Raise ValueError unless `fields` are all of E and H on a surface in 3D."""
    needed = (*NEEDED, "weight") if fields.attrs.get("nodes") in TENSOR_NODES else NEEDED
    missing = [name for name in needed if name not in fields]
    if missing or not {"face", "face_node"} <= set(fields.dims) or "order" not in fields.attrs:
        lacking = ", ".join(missing) or "the dims face, face_node or the attribute order"
        raise ValueError(f"the fields lack {lacking}; a far field needs a record of all of Ex ... Hz on a boundary in 3D, "
                         "Fourier(frequencies, boundary=...)")


def unit_vectors(directions):
    """The directions as an array (direction, 3). Raises ValueError for another shape and for other lengths than 1."""
    u = np.asarray(directions, float)
    if u.ndim != 2 or u.shape[1] != 3:
        raise ValueError(f"directions have the shape {u.shape}; it must be (direction, 3)")
    lengths = np.linalg.norm(u, axis=1)
    if not np.all(np.abs(lengths - 1) < 1e-9):
        worst = int(np.argmax(np.abs(lengths - 1)))
        raise ValueError(f"direction {worst} has the length {lengths[worst]:.6g}; directions must be unit vectors")
    return u


def on_faces(fields, degree):
    """Quadrature on the faces: x (3, face, point), weights (face, point) with the areas, normals (3, face, 1), on curved faces
    (3, face, point), and the matrix (point, face_node) that evaluates fields there. Raises ValueError if the surface is not
    closed."""
    order, kind = int(fields.attrs["order"]), fields.attrs.get("nodes")
    degree = 2 * order + 4 if degree is None else degree
    of_faces = on_squares if kind in TENSOR_NODES else on_triangles
    x, weights, normals, matrix = of_faces(fields, order, degree)
    gap = np.linalg.norm((normals * weights).sum(axis=(1, 2))) / weights.sum()
    if not gap < 1e-6:
        raise ValueError(f"the surface is not closed: the integral of its normals is {gap:.2g} times its area, but must be 0; "
                         "give a boundary that encloses a volume")
    return x, weights, normals, matrix


def on_triangles(fields, order, degree):
    """The same on the faces of tetrahedra, whether they are closed or not."""
    r, weights = quadrature(2, degree)
    # A surface without faces: the interpolation is the same on all of them.
    surface = Surface(np.empty((0, 3)), np.empty((0, 4), np.int64), order, ())
    matrix, at_nodes = surface.interpolation(r), vector(fields, "")
    normals = np.array([fields[f"normal_{axis}"].values for axis in AXES])
    if normals.ndim == 3:
        normals, weights = curved_normals(surface, at_nodes, normals, r, weights)
    else:
        normals, weights = normals[:, :, None], fields["area"].values[:, None] * (weights / weights.sum())
    return at_nodes @ matrix.T, weights, normals, matrix


def on_squares(fields, order, degree):
    """The same on the faces of hexahedra: n dS is interpolated from the nodes, which keeps its integral by their weights."""
    face, fine = tensor_cell(2, order, fields.attrs["nodes"]), tensor_cell(2, degree // 2)
    matrix = face.interpolation(fine.nodes)
    vectors = (vector(fields, "normal_") * (nodal(fields, "weight") / face.weights)) @ matrix.T
    areas = np.linalg.norm(vectors, axis=0)
    return vector(fields, "") @ matrix.T, areas * fine.weights, vectors / areas, matrix


def curved_normals(surface, x, outward, r, weights):
    """Unit normals (3, face, point) and weights (face, point) of curved faces through x (3, face, face_node), whose normals at
    the nodes are `outward`: n dS = dx/dr_1 x dx/dr_2 dr."""
    face = simplex(2, surface.order)
    slopes = [x @ (face.interpolation(r) @ D @ surface.interpolation(face.nodes)).T for D in face.differentiation]
    vectors = np.cross(*slopes, axis=0)
    areas = np.linalg.norm(vectors, axis=0)
    turned = np.sign(np.sum(vectors.sum(axis=2) * outward.sum(axis=2), axis=0))
    return vectors / areas * turned[:, None], areas * weights


def nodal(fields, name):
    """The values (..., face, face_node) of a variable."""
    return fields[name].transpose(..., "face", "face_node").values


def vector(fields, name):
    """The three components (3, face, face_node) of a vector, such as "normal_", or "" of the positions."""
    return np.array([nodal(fields, name + axis) for axis in AXES])


def signed_volume(x, weights, normals):
    """One third of the integral of x . n dS: negative where the normals point into the enclosed volume."""
    return float(np.sum(x * normals * weights)) / 3


def cross(normals, field):
    """n x F of normals (3, face, 1) and the three components (face, point), (3, face, point)."""
    return np.cross(np.broadcast_to(normals, np.shape(field)), np.array(field), axis=0)


def radiated(current, x, k, u):
    """sum of current exp(i k u . x) over all points, (direction, 3); current and x (3, face, point), weights included."""
    current, x = current.reshape(3, -1), x.reshape(3, -1)
    rows = max(1, BLOCK_VALUES // x.shape[1])
    return np.concatenate([np.exp(1j * k * (u[first:first + rows] @ x)) @ current.T for first in range(0, len(u), rows)])
