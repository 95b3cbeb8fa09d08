"""Shared by `mie_sphere` and `scattering_cylinder`: round bodies and their meshes, the incident pulse, the run."""
from dataclasses import dataclass
from math import ceil, pi, sqrt

import numpy as np

from dgarray import Drude, Fourier, Maxwell, Simulation, TensorDG, absorbing, pec, plane_wave, pmc, pml, scattered, total_field
from dgarray.analysis.mirror_images import with_mirror_images
from dgarray.physics.dispersion import Dispersion
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers
from .maxwell_sphere import HALF_PULSE, pulse
from .meshes.concentric import CORE, concentric_mesh

COATED = 0.6           # radius of the conductor in a coat, over that of the coat
MEDIA = {"dielectric": 4.0, "coated": 2.25, "drude": 1.0 + Drude(2.0, 0.2)}
BAND = tuple(np.linspace(0.6, 1.4, 33).tolist())          # k a of a metal
SIZES = {"conducting": 2.0, "dielectric": 2.0, "coated": 2.0, "drude": BAND}
# Radii that waves travel after the pulse, until what is left of the fields hardly changes the default results.
DECAY = {"conducting": 12.0, "dielectric": 40.0, "coated": 30.0, "drude": 60.0}
SURFACE, END, LAYER = 1.4, 1.8, 1.2          # radii of the surface of the record and of the mesh, and thickness of the layer
SHIFT = 0.05           # of the layer; with its default waves much longer than the layer would decay slowly
WAVES = {None: ((0, 0, 1), (1, 0, 0)), "TM": ((1, 0), (0, 0, 1)), "TE": ((1, 0), (0, 1, 0))}          # directions of k and E
MIRRORS = {"x": ("pec", pec), "y": ("pmc", pmc)}
NAMES = {"conducting": ("hole",), "dielectric": ("core",), "coated": ("hole", "coat"), "drude": ("core",)}


@dataclass(frozen=True)
class RoundBody:
    """A sphere or cylinder with the radius 1: "conducting", "dielectric", "coated" (a conductor in a coat) or "drude".

    eps   of the dielectric, of the coat, or of the metal, a number or `Dispersion`; None of a conductor"""

    kind: str
    eps: object

    @property
    def exact(self):
        """Radii and permittivities of the layers from the centre outward, as the exact series take them."""
        if self.kind == "coated":
            return (COATED, 1.0), (pec, self.eps)
        return 1.0, pec if self.kind == "conducting" else self.eps

    @property
    def media(self):
        """The permittivity by region, or of the only medium."""
        if self.kind == "conducting":
            return 1.0
        return {"coat" if self.kind == "coated" else "core": self.eps, "near": 1.0, "far": 1.0}


def round_body(kind, eps=None):
    """The body. Raises ValueError for another kind, and for a permittivity that it cannot have."""
    choose("body", kind, SIZES)
    if eps is None:
        return RoundBody(kind, MEDIA.get(kind))
    if kind == "conducting":
        raise ValueError(f"eps={eps!r} is not allowed with body='conducting', which has no medium; give None")
    if isinstance(eps, str):
        raise ValueError(f"eps={eps!r} is not allowed; it must be a finite number above 0, or in Python a Dispersion such as "
                         "1.0 + dgarray.Drude(3.0, 0.2)")
    if not isinstance(eps, Dispersion):
        check_numbers(above=0, eps=eps)
    return RoundBody(kind, eps)


def wave_numbers(body, ka):
    """k (ka,) at the radius 1. Raises ValueError for what are not positive numbers."""
    k = np.atleast_1d(SIZES[body.kind] if ka is None else ka)
    if k.dtype.kind not in "fiu" or k.ndim != 1 or not k.size or not (np.isfinite(k) & (k > 0)).all():
        raise ValueError(f"ka={ka!r} is not allowed; it must be a positive number, or several")
    return k.astype(float)


def round_mesh(body, cells, dim, order):
    """The mesh of a body and the space around it, without a layer: regions "core" or "coat", "near" and "far"; of a sphere a
    quarter, x > 0 and y > 0.  The maps of cells have the degree of the elements."""
    def shells(low, high):
        return ceil((high - low) / (pi / 4 * (low + high) / cells))
    inside = {"conducting": (), "coated": (("coat", 1.0, shells(COATED, 1.0)),)}.get(
        body.kind, (("core", 1.0, shells(CORE, 1.0)),))
    outside = ("near", SURFACE, max(2, shells(1.0, SURFACE))), ("far", END, shells(SURFACE, END))
    hole = {"conducting": 1.0, "coated": COATED}.get(body.kind, 0.0)
    return concentric_mesh((*inside, *outside), hole, cells, dim, max(order, 1), "xy" if dim == 3 else "")


def prepared(mesh, body, layers):
    """The mesh with its interfaces, "surface" and "skin" of penetrable bodies, and with the layer around it.

    Raises ValueError where a name is missing or the body's radii are others."""
    for name in (*NAMES[body.kind], "near", "far", "outer"):
        mesh.named(name)
    inner = {"surface": ("near", "far")}
    if body.kind != "conducting":
        inner["skin"] = NAMES[body.kind][-1], "near"
    mesh = mesh.with_interfaces({name: pair for name, pair in inner.items() if name not in mesh.interfaces})
    radii = {"skin": 1.0} if body.kind != "conducting" else {"hole": 1.0}
    radii |= {"hole": COATED} if body.kind == "coated" else {}
    for name, radius in radii.items():
        found = np.linalg.norm(mesh.points[np.unique(mesh.face_points(mesh.named(name)))], axis=1)
        if np.abs(found - radius).max() > 1e-6:
            raise ValueError(f"{name!r} of {mesh.source} has points at distances from {found.min():.6g} to {found.max():.6g} "
                             f"from the origin; they must be at {radius:g}")
    return pml(mesh, LAYER, layers, "outer", shape="sphere", shift=SHIFT)


def round_scatterer(body, dim, polarisation, ka, order, cells, layers, until, mesh, start, **options):
    """The run of a case: a plane wave of one pulse meets the body; at "surface" the transforms of the fields at k are recorded.

    Outside of the body the unknown is the scattered field, inside the total one.  Arguments as of the cases."""
    k = wave_numbers(body, ka)
    check_numbers(least=1, whole=True, cells=cells)
    layers = max(2, cells // 2) if layers is None else layers
    check_numbers(least=1, whole=True, layers=layers)
    mesh = prepared(case_mesh(mesh, lambda: round_mesh(body, cells, dim, order), dim), body, layers)
    incident = incident_wave(k, dim, polarisation)
    boundary = {"conducting": {"hole": scattered(pec, incident)}, "coated": {"hole": pec}}.get(body.kind, {})
    boundary |= {"outer": absorbing} | ({} if body.kind == "conducting" else {"skin": total_field(incident)})
    boundary |= {f"{axis}=0": condition for axis, (_, condition) in MIRRORS.items() if f"{axis}=0" in mesh.boundaries}
    until = 2 * arrival(k) + DECAY[body.kind] if until is None else until
    record = {"surface": Fourier(tuple(k / (2 * pi)), boundary="surface")}
    return Simulation(mesh, Maxwell(dim, polarisation, eps=body.media), TensorDG(order, start=start), boundary=boundary,
                      until=until, record=record, **options)


def incident_pulse(k):
    """The pulse, its width sqrt(2) / max(k), and its transform at k, largest at the largest k; see `pulse`."""
    return pulse(k, sqrt(2) / float(np.max(k)))


def arrival(k):
    """When the middle of the pulse passes the origin; at t = 0 it is before the surface of the record."""
    return HALF_PULSE * incident_pulse(k)[1] + SURFACE


def incident_wave(k, dim, polarisation=None):
    """The wave of that pulse in the space around the body: in 3D along z with E along x, in 2D along x."""
    shape, delay = incident_pulse(k)[0], arrival(k)
    direction, amplitude = WAVES[polarisation]
    return plane_wave(Maxwell(dim, polarisation), direction, amplitude, lambda s: shape(s - delay))


def surface_fields(dataset):
    """The record at "surface", on the whole surface where the mesh is a quarter."""
    fields = dataset.dg.record("surface")
    x = [fields[axis].values for axis in "xyz" if axis in fields.coords]
    planes = {axis: name for (axis, (name, _)), values in zip(MIRRORS.items(), x) if len(x) == 3 and values.min() > -1e-9}
    return with_mirror_images(fields, planes)


def numbers(body, sigma, sections):
    """The results of a case: numbers at one ka, lists at several, and of a metal at several its resonance.

    sigma     bistatic cross-sections: a Dataset of sigma and exact (ka, angle), of spheres also along plane
    sections  scattering, absorption, extinction and the exact ones, `exact_scattering` ..., a Dataset (frequency)"""
    values = {"error": largest_deviation(sigma.sigma, sigma.exact, "ka"),
              "extinction_error": largest_deviation(sections.extinction, sections.exact_extinction)}
    if body.kind == "drude" and sigma.sizes["ka"] > 1:
        return values | resonance(sections)
    sides = sigma.isel(plane=0) if "plane" in sigma.dims else sigma
    each = {f"{prefix}_{name}": sides[prefix].sel(angle=angle) for name, angle in (("forward", 0), ("backward", 180))
            for prefix in ("sigma", "exact")}
    lists = {name: part.values.tolist() for name, part in (each | dict(sections.items())).items()}
    return values | {name: part if len(part) > 1 else part[0] for name, part in lists.items()}


def largest_deviation(found, exact, each=None):
    """The largest deviation over the largest exact value; of values along the dimension `each`, the largest of them."""
    others = [dim for dim in exact.dims if dim != each]
    return float((np.abs(found - exact).max(others) / exact.max(others)).max())


def resonance(sections):
    """Place, as k a, and height of the largest extinction by a parabola through its three largest neighbours, and the same of
    the exact one; where the largest value is the first or last, that.  sections: of at least two frequencies"""
    k, values = 2 * pi * sections.frequency.values, {}
    for name, prefix in (("extinction", ""), ("exact_extinction", "exact_")):
        height = sections[name].values
        top = int(np.argmax(height))
        place, largest = k[top], height[top]
        if 0 < top < len(k) - 1:
            parabola = np.poly1d(np.polyfit(k[top - 1:top + 2] - place, height[top - 1:top + 2], 2))
            place, largest = place - parabola[1] / (2 * parabola[2]), parabola(-parabola[1] / (2 * parabola[2]))
        values |= {f"{prefix}peak_at": float(place), f"{prefix}peak": float(largest)}
    return values
