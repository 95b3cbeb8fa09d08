"""Scattering of a pulse by a conducting, dielectric, coated or metal cylinder, 2D Maxwell on curved quadrilaterals."""
import numpy as np
import xarray as xr

from dgarray.analysis.cross_sections import cross_sections
from dgarray.analysis.farfield import cross_section, near_to_far
from dgarray.analysis.scattering_cylinders import cylinder_bistatic, cylinder_widths
from dgarray.support.wording import choose

from .round_bodies import incident_pulse, incident_wave, numbers, round_body, round_scatterer, surface_fields


def scattering_cylinder(order=4, body="conducting", polarisation="TM", ka=None, eps=None, cells=4, layers=None, until=None,
                        mesh=None, start="projection"):
    """A circular cylinder of radius 1 scatters a plane wave; its widths stand beside the exact series.

    Method: TensorDG on quadrilaterals.

    Incident: a pulse along x with Ez (TM) or Hz (TE) = u exp(-u^2), u = (t - x - t0) / w, w = sqrt(2) / (largest k).  Outside
    of the cylinder the unknown is the scattered field, within it the total one.  The fields are Fourier-transformed on a
    circle around it while they are computed, and a near-to-far transform gives the widths: one run serves every frequency of
    the pulse.  The mesh ends in a perfectly matched layer.

    body    "conducting": a perfect conductor
            "dielectric": of the permittivity eps, by default 4
            "coated":     a conductor of radius 0.6 in a coat of the permittivity eps, by default 2.25
            "drude":      a metal, by default eps = 1 + 2^2 / (i omega (i omega + 0.2))
    polarisation   "TM", E along the axis, or "TE", H along the axis
    ka      wave number times radius, or several, (1.0, 2.0); by default 2, of the metal 33 from 0.6 to 1.4
    eps     the permittivity, a number, or in Python a `Dispersion` such as 1.0 + dgarray.Drude(3.0, 0.2)
    cells   quadrilaterals along a quarter of the circle
    layers  how many cells the matched layer is deep, by default half of `cells` and at least 2
    until   end of the run; by default the pulse has passed and the fields have decayed
    mesh    a file of quadrilaterals with the regions "core" or "coat", "near" and "far" and the boundaries "outer", a circle,
            and "hole" of a conductor
    Bohren & Huffman 1983, section 8.4; Balanis 2012, section 11.5.
    results: `error`, the largest deviation of the bistatic width over all angles, over its largest value, and of the width of
    extinction, `extinction_error`; the widths forward, backward, and of scattering, absorption and extinction, over a, and
    beside them the exact ones; of a metal over several ka instead the place and height of the largest extinction.  `bistatic`
    and `sections` give all of them.  Raises ValueError for other bodies and bad numbers."""
    scatterer = round_body(body, eps)
    choose("polarisation", polarisation, ("TM", "TE"))
    return round_scatterer(scatterer, 2, polarisation, ka, order, cells, layers, until, mesh, start, case="scattering_cylinder",
                           results=lambda ds: numbers(scatterer, bistatic(ds, scatterer), sections(ds, scatterer)))


def bistatic(dataset, scatterer, angles=tuple(range(181))):
    """Bistatic widths of a run of `scattering_cylinder` beside the exact series.

    scatterer: the body, a `RoundBody`;  angles: (angle,) degrees from the direction in which the wave travels, 180 is back
    Returns a Dataset of sigma and exact (ka, angle), over a."""
    fields = surface_fields(dataset)
    k = 2 * np.pi * np.atleast_1d(fields["frequency"].values)
    _, _, transform = incident_pulse(k)
    directions = np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])
    sigma = cross_section(near_to_far(fields, directions), transform)
    exact = cylinder_bistatic(fields["frequency"].values, angles, *scatterer.exact, polarisation=polarisation_of(fields))
    return xr.Dataset({"sigma": (("ka", "angle"), sigma.values), "exact": (("ka", "angle"), exact.values)},
                      {"ka": k, "angle": exact.angle})


def sections(dataset, scatterer):
    """Widths of scattering, absorption and extinction of a run of `scattering_cylinder`, over a, and the exact ones,
    `exact_scattering` ..., as a Dataset (frequency)."""
    fields = surface_fields(dataset)
    polarisation = polarisation_of(fields)
    exact = cylinder_widths(fields["frequency"].values, *scatterer.exact, polarisation=polarisation)
    incident = incident_wave(2 * np.pi * np.atleast_1d(fields["frequency"].values), 2, polarisation)
    return cross_sections(fields, incident).assign({f"exact_{name}": part for name, part in exact.items()})


def polarisation_of(fields):
    """"TM" or "TE", whose fields these are."""
    return "TE" if "Hz" in fields else "TM"
