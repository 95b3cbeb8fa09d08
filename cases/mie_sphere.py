"""Scattering of a pulse by a conducting, dielectric, coated or metal sphere, 3D Maxwell on curved hexahedra."""
import numpy as np
import xarray as xr

from dgarray.analysis.cross_sections import cross_sections
from dgarray.analysis.farfield import cross_section, near_to_far
from dgarray.analysis.scattering_spheres import sphere_bistatic, sphere_cross_sections

from .round_bodies import incident_pulse, incident_wave, numbers, round_body, round_scatterer, surface_fields


def mie_sphere(order=4, body="conducting", ka=None, eps=None, cells=4, layers=None, until=None, mesh=None, start="projection"):
    """A sphere of radius 1 scatters a plane wave; its cross-sections stand beside Mie's series.

    Method: TensorDG on hexahedra.

    Incident: the pulse Ex = Hy = u exp(-u^2), u = (t - z - t0) / w, w = sqrt(2) / (largest k).  Outside of the sphere the
    unknown is the scattered field, within it the total one.  The fields are Fourier-transformed on a sphere around it while
    they are computed, and a near-to-far transform gives the cross-sections: one run serves every frequency of the pulse.
    The mesh is a quarter, x > 0 and y > 0, with an electric mirror at x = 0 and a magnetic one at y = 0, and ends in a
    perfectly matched layer.

    body    "conducting": a perfect conductor
            "dielectric": of the permittivity eps, by default 4
            "coated":     a conductor of radius 0.6 in a coat of the permittivity eps, by default 2.25
            "drude":      a metal, by default eps = 1 + 2^2 / (i omega (i omega + 0.2))
    ka      wave number times radius, or several, (1.0, 2.0); by default 2, of the metal 33 from 0.6 to 1.4
    eps     the permittivity, a number, or in Python a `Dispersion` such as 1.0 + dgarray.Drude(3.0, 0.2)
    cells   hexahedra along a quarter of a great circle, even
    layers  how many cells the matched layer is deep, by default half of `cells` and at least 2
    until   end of the run; by default the pulse has passed and the fields have decayed
    mesh    a file of hexahedra with the regions "core" or "coat", "near" and "far" and the boundaries "outer", a sphere, and
            "hole" of a conductor; with "x=0" and "y=0" it is a quarter
    Mie 1908; Bohren & Huffman 1983, sections 4.4 and 8.1.
    results: `error`, the largest deviation of the bistatic cross-section over all angles in the planes of E and H, over its
    largest value, and of the cross-section of extinction, `extinction_error`; the cross-sections forward, backward, and of
    scattering, absorption and extinction, over a^2, and beside them the exact ones; of a metal over several ka instead the
    place and height of the largest extinction.  `bistatic` and `sections` give all of them.  Raises ValueError for other bodies
    and bad numbers."""
    scatterer = round_body(body, eps)
    return round_scatterer(scatterer, 3, None, ka, order, cells, layers, until, mesh, start, case="mie_sphere",
                           results=lambda ds: numbers(scatterer, bistatic(ds, scatterer), sections(ds, scatterer)))


def bistatic(dataset, scatterer, angles=tuple(range(181))):
    """Bistatic cross-sections of a run of `mie_sphere` in the planes of E and of H, beside Mie's series.

    scatterer: the body, a `RoundBody`;  angles: (angle,) degrees from the direction in which the wave travels, 180 is back
    Returns a Dataset of sigma and exact (ka, plane, angle), over a^2."""
    fields = surface_fields(dataset)
    k = 2 * np.pi * np.atleast_1d(fields["frequency"].values)
    sine, cosine, zero = np.sin(np.radians(angles)), np.cos(np.radians(angles)), np.zeros(len(angles))
    directions = [(sine, zero, cosine), (zero, sine, cosine)]
    _, _, transform = incident_pulse(k)
    far = [near_to_far(fields, np.column_stack(each)) for each in directions]
    sigma = np.stack([cross_section(each, transform).values for each in far], axis=1)
    exact = sphere_bistatic(fields["frequency"].values, angles, *scatterer.exact)
    return xr.Dataset({"sigma": (("ka", "plane", "angle"), sigma), "exact": (("ka", "plane", "angle"), exact.values)},
                      {"ka": k, "plane": exact.plane.values, "angle": exact.angle})


def sections(dataset, scatterer):
    """Cross-sections of scattering, absorption and extinction of a run of `mie_sphere`, over a^2, and the exact ones,
    `exact_scattering` ..., as a Dataset (frequency)."""
    fields = surface_fields(dataset)
    exact = sphere_cross_sections(fields["frequency"].values, *scatterer.exact)
    incident = incident_wave(2 * np.pi * np.atleast_1d(fields["frequency"].values), 3)
    return cross_sections(fields, incident).assign({f"exact_{name}": part for name, part in exact.items()})
