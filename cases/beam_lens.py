"""A Gaussian beam is focused by a lens of glass, 2D TM Maxwell on curved quadrilaterals."""
import numpy as np
from scipy.special import hankel1

from dgarray import Fourier, Maxwell, Simulation, TensorDG, absorbing, gaussian_beam, pml, rectangle, total_field
from dgarray.analysis.truncated_records import warn_of_rest

from .common import case_mesh, check_numbers

INDEX = 1.5                     # of refraction of the glass
FOCAL_LENGTH = 4.0
WAIST = 1.2                     # of the beam, at the lens
WAVELENGTH = 0.4
LENGTH = 1.2                    # of the pulse: half its duration between the points at 1 / e
APERTURE, EDGE = 2.5, 0.5     # half the height of the lens, and its thickness there
LOW, HIGH, SIDE = -0.75, 7.25, 3.25        # where the mesh begins and ends along the beam, and half its width
LAYER = 0.75                    # thickness of the matched layer
BEHIND, POINTS = 0.5, 401       # where the points on the axis begin behind the vertex, and how many there are


def beam_lens(order=5, cells=4, until=14.0, every=1.0, mesh=None, start="projection"):
    """A Gaussian beam falls on the flat side of a lens of glass and is focused behind it.

    Method: TensorDG on quadrilaterals; those in and beside the lens are curved.

    The lens, n = 1.5, begins at x = 0; behind, it is the hyperbola y^2 = (n^2 - 1) s^2 + 2 (n - 1) F s, s the distance before
    its vertex, which gathers all rays along x in one point, F = 4 behind the vertex (Descartes).  The beam of the waist w = 1.2
    at the lens has the wavelength 0.4; it is a pulse, cos(2 pi (t - x) / 0.4) exp(-((t - x - 3) / 1.2)^2) on its axis.  In the
    box around the lens and its focus the unknown is the total field, outside the scattered one (`total_field`); a perfectly
    matched layer follows.  The transform at the frequency 1 / 0.4 is the field of a beam that lasts.

    cells   quadrilaterals to a length of 1, a multiple of 4; mesh: a file with the regions "lens", "air" and "inside", which is
            the box of the total field
    Born & Wolf 1999, sections 3.1 (rays and their energy) and 8.11 (Rayleigh's integral), see `diffracted`.
    results: distance from the vertex to the largest |Ez|^2 on the axis at that frequency (focus), where rays meet
    (focus_of_rays), and where they have their maximum if they are waves behind the lens (focus_by_diffraction); the largest
    |Ez|^2 over that of the incident beam (gain, gain_by_diffraction).  The latter two lack what is reflected to and fro."""
    check_numbers(above=0, until=until)
    mesh = case_mesh(mesh, lambda: built_in(cells, min(order, 4)), 2)
    lens = mesh.named("lens")
    mesh.named("air")
    vertex = float(mesh.points[mesh.cells[lens], 0].max())
    mesh = pml(mesh.with_interfaces({"around": "inside"}), LAYER, max(1, round(LAYER / np.sqrt(mesh.measures.mean()))))
    law = Maxwell(dim=2, eps={"lens": INDEX**2, "air": 1.0})
    beam = gaussian_beam(law, (1, 0), (0, 0, 1), WAIST, WAVELENGTH, pulse, medium="air")
    x = np.linspace(vertex + BEHIND, HIGH - 0.75, POINTS)

    def results(dataset):
        fields = dataset.dg.record("axis")
        warn_of_rest(fields, stacklevel=2)
        power = np.abs(fields["Ez"].values[0]) ** 2
        place, height = peak(x, power)
        # Of the pulse's transform, the part at the other sign of the frequency is less by exp(-(2 pi LENGTH / WAVELENGTH)^2).
        incident = (LENGTH * np.sqrt(np.pi) / 2) ** 2
        behind, exact = peak(x - vertex, diffracted(x - vertex))
        return {"focus": place - vertex, "focus_by_diffraction": behind, "focus_of_rays": FOCAL_LENGTH,
                "gain": height / incident, "gain_by_diffraction": exact}

    return Simulation(mesh, law, TensorDG(order, start=start), {"around": total_field(beam), "default": absorbing}, until=until,
                      every=every, case="beam_lens", results=results,
                      record={"axis": Fourier((1 / WAVELENGTH,), points=np.column_stack([x, 0 * x]))})


def pulse(s):
    """The pulse as a function of t - x."""
    return np.cos(2 * np.pi * s / WAVELENGTH) * np.exp(-(((s - 2.5 * LENGTH) / LENGTH) ** 2))


def peak(x, power):
    """Place and height of the largest of the values, of the parabola through it and its neighbours."""
    i = int(np.clip(np.argmax(power), 1, len(x) - 2))
    a, b, c = np.polyfit(x[i - 1:i + 2] - x[i], power[i - 1:i + 2], 2)
    return float(x[i] - b / (2 * a)), float(c - b**2 / (4 * a))


def diffracted(x):
    """|Ez|^2 on the axis at the distances x behind the vertex, over that of the incident beam, by rays as far as the plane
    through the vertex and Rayleigh's integral from there.

    A ray at the height y leaves the lens at the angle a to the axis and meets the plane at h = F tan a, with the amplitude b;
    b^2 dh cos a = T b_0^2 dy, T the transmittance of both faces, b_0 = exp(-(y / w)^2);
    Ez(x) = -i k / 2 integral of b exp(-i k sqrt(F^2 + h^2)) H1(k r) x / r dh,   r^2 = x^2 + h^2"""
    y, step = np.linspace(-APERTURE, APERTURE, 4001, retstep=True)
    k = 2 * np.pi / WAVELENGTH
    h = y * FOCAL_LENGTH / (FOCAL_LENGTH + sag(y))
    cosine, sine = (part / np.hypot(FOCAL_LENGTH, h) for part in (FOCAL_LENGTH, np.abs(h)))
    inner = np.arctan2(sine, INDEX - cosine)          # between the ray in the glass and the normal
    inside, outside = INDEX * np.cos(inner), np.cos(inner + np.arctan2(sine, cosine))
    transmittance = 4 * INDEX / (INDEX + 1) ** 2 * (1 - ((inside - outside) / (inside + outside)) ** 2)
    strength = np.exp(-((y / WAIST) ** 2)) * np.sqrt(transmittance / (np.gradient(h, y) * cosine))
    r = np.hypot(x[:, None], h)
    waves = hankel1(1, k * r) * (x[:, None] / r) * np.exp(-1j * k * np.hypot(FOCAL_LENGTH, h))
    return np.abs(k / 2 * waves @ (strength * np.gradient(h, y) * step)) ** 2


def built_in(cells, degree):
    """Quadrilaterals around the lens and its focus, with maps of this degree."""
    if cells % 4:
        raise ValueError(f"cells={cells!r} is not allowed; it must be a multiple of 4")
    thickness = EDGE + sag(APERTURE)
    mesh = rectangle((LOW, -SIDE), (HIGH, SIDE), cells=(round((HIGH - LOW) * cells), round(2 * SIDE * cells)),
                     shape="quadrilateral")
    back = np.ceil(thickness * cells) / cells          # the column of edges that becomes the hyperbola
    mesh = mesh.with_regions({
        "lens": lambda x: (x[0] > 0) & (x[0] < back) & (np.abs(x[1]) < APERTURE),
        "air": lambda x: (x[0] < 0) | (x[0] > back) | (np.abs(x[1]) > APERTURE),
        "inside": lambda x: (x[0] > LOW + 0.25) & (x[0] < HIGH - 0.25) & (np.abs(x[1]) < SIDE - 0.25)})
    end = 2 * back

    def bent(x):
        surface = thickness - sag(np.minimum(np.abs(x[1]), APERTURE))
        share = np.clip(np.minimum(x[0] / back, (end - x[0]) / (end - back)), 0, 1)
        return x[0] + share * (surface - back), x[1]
    return mesh.mapped(bent, order=max(degree, 1))


def sag(y):
    """The distance s of the hyperbola before its vertex at the height y, see `beam_lens`."""
    a, b = INDEX**2 - 1, (INDEX - 1) * FOCAL_LENGTH
    return (np.sqrt(b * b + a * y * y) - b) / a
