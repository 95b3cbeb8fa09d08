"""A pulse meets a slab of a dispersive medium: reflection and transmission over a band, 1D Maxwell."""
import numpy as np
import xarray as xr

from dgarray import Debye, Drude, Fourier, Lorentz, Maxwell, NodalDG, Simulation, absorbing, interval, pml
from dgarray.analysis.layered_slabs import fresnel_coefficients
from dgarray.analysis.truncated_records import warn_of_rest
from dgarray.physics.dispersion import Dispersion
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers

MEDIA = {"debye": 2.0 + Debye(3.0, 0.2), "drude": 1.0 + Drude(5.0, 0.5), "lorentz": 1.5 + Lorentz(1.0, 5.0, 1.0)}
IN_PYTHON = ("or in Python a Dispersion, such as 2.0 + dgarray.Debye(1.0, 0.5)",)
BAND = np.linspace(0.2, 1.4, 25)
WIDTH = 0.3             # of the pulse: in the band its transform is at least 0.4 of its largest value
HALF_PULSE = 3.5        # widths from the centre of the pulse to where it has fallen below 2e-5
THICKNESS = 0.5         # of the slab of the built-in mesh
GAP = 0.1               # between the slab and the points where the fields are recorded
LAYER = 0.5             # thickness of the matched layers


def slab_spectrum(order=4, medium="debye", cells=4, until=20.0, mesh=None, start="projection"):
    """A pulse meets a slab of a dispersive medium in vacuum, with perfectly matched layers at both ends.

    Method: NodalDG on intervals.

    At t = 0 the pulse Ez = -Hy = u exp(-u^2), u = (x - x0) / w, w = 0.3, runs towards the slab.  `Fourier` records both fields
    before and behind it at 25 frequencies from 0.2 to 1.4; forward and backward waves are (Ez -+ Hy) / 2.  So one run gives
    reflectance and transmittance over the band.

    medium  "debye":   eps = 2 + 3 / (1 + 0.2 i omega)
            "drude":   eps = 1 + 5^2 / (i omega (i omega + 0.5)), opaque below the frequency 0.8
            "lorentz": eps = 1.5 + 5^2 / (5^2 - omega^2 + i omega), resonant at the frequency 0.8
            or, in Python, a `Dispersion`, such as 2.0 + dgarray.Debye(1.0, 0.5)
    cells   intervals in the slab, whose thickness is 0.5; all others are as long
    mesh    a file in 1D with the boundaries "left" and "right" and the region "slab"; before the slab is room for the pulse
    Taflove & Hagness 2005, chapter 9; exact by Fresnel's coefficients, Born & Wolf 1999, section 1.6.
    results: the largest deviations of reflectance and transmittance over the band, and their largest exact values; `spectrum`
    gives them at each frequency.  Raises ValueError for another medium, and for a mesh without room."""
    eps = medium if isinstance(medium, Dispersion) else MEDIA[choose("medium", medium, MEDIA, also=IN_PYTHON)]
    check_numbers(least=1, whole=True, cells=cells)
    mesh = case_mesh(mesh, lambda: built_in(cells), 1)
    slab = mesh.points[mesh.cells[mesh.named("slab")], 0]
    front, back = float(slab.min()), float(slab.max())
    before, behind = front - GAP, back + GAP
    centre = before - HALF_PULSE * WIDTH
    (low,), (high,) = mesh.points.min(axis=0), mesh.points.max(axis=0)
    mesh.named("vacuum")
    if low > centre - HALF_PULSE * WIDTH + 1e-9 or high < behind + GAP - 1e-9:
        raise ValueError(f"{mesh.source} has no room for the pulse: its slab from {front:g} to {back:g} needs "
                         f"{2 * (HALF_PULSE * WIDTH) + GAP:g} before and {2 * GAP:g} behind it")
    mesh = pml(mesh, thickness=LAYER, cells=4, boundary=("left", "right"))

    def initial(x):
        u = (x[0] - centre) / WIDTH
        pulse = u * np.exp(-u * u)
        return pulse, -pulse

    def results(dataset):
        found, exact = spectrum(dataset), fresnel_coefficients(BAND, back - front, eps)
        values = {f"{name}_error": float(abs(found[name] - exact[name]).max()) for name in ("reflectance", "transmittance")}
        return values | {"largest_reflectance": float(exact.reflectance.max()),
                         "largest_transmittance": float(exact.transmittance.max())}

    return Simulation(mesh, Maxwell(dim=1, eps={"vacuum": 1.0, "slab": eps}), NodalDG(order, start), boundary=absorbing,
                      initial=initial, until=until, case="slab_spectrum", results=results,
                      record={"sides": Fourier(BAND, points=[(before,), (behind,)])})


def built_in(cells):
    """Intervals of the length THICKNESS / cells; the slab begins at x = 0."""
    size = THICKNESS / cells
    left, right = (int(np.ceil(length / size - 1e-9)) for length in (2 * HALF_PULSE * WIDTH + GAP, 2 * GAP))
    mesh = interval(-left * size, THICKNESS + right * size, left + cells + right)
    return mesh.with_regions({"slab": lambda x: (x[0] > 0) & (x[0] < THICKNESS),
                              "vacuum": lambda x: (x[0] < 0) | (x[0] > THICKNESS)})


def spectrum(dataset):
    """Reflectance and transmittance of a run of `slab_spectrum` over frequency, as a Dataset.

    Ez = f(t - x) + g(t + x) and Hy = g - f: the waves forward and backward are f = (Ez - Hy) / 2 and g = (Ez + Hy) / 2.
    Warns where the run ends before they have passed."""
    fields = dataset.dg.record("sides")
    warn_of_rest(fields, stacklevel=2)
    forward, backward = (fields["Ez"] - fields["Hy"]) / 2, (fields["Ez"] + fields["Hy"]) / 2
    incident = abs(forward.isel(point=0))
    return xr.Dataset({"reflectance": (abs(backward.isel(point=0)) / incident) ** 2,
                       "transmittance": (abs(forward.isel(point=1)) / incident) ** 2})
