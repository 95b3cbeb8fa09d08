"""A pulse is scattered by an aircraft, 3D Maxwell on hexahedra."""
import numpy as np

from dgarray import Fourier, Maxwell, Simulation, SurfaceFields, TensorDG, VolumeIntegral, absorbing, pec, pml, scattered
from dgarray.analysis.cross_sections import cross_sections
from dgarray.analysis.surface_currents import surface_currents

from .common import case_mesh, check_numbers
from .meshes.aircraft import aircraft_mesh

WIDTH = 1.0            # of the pulse
HALF_PULSE = 4.0       # widths from the centre of the pulse to where it has fallen below 2e-6
FREQUENCIES = 0.1, 0.2, 0.3
EVERY = 20             # steps between samples of the fields on the skin
DECAYED = 0.01         # energy left, relative to the largest, below which transforms over the run give cross-sections


def aircraft(order=2, size=0.4, layers=2, until=24.0, every=None, mesh=None, start="interpolation"):
    """A conducting aircraft scatters a pulse, the derivative of a Gaussian; the unknown is the scattered field.

    Method: TensorDG on hexahedra.

    Incident: Ey = Hz = sqrt(2 e) u exp(-u^2), u = (t - x - t0) / w, w = 1, which is at most 1 and has no mean, from the front,
    E along the wings; at t = 0 it is before the nose.
    n x (E + E_incident) = 0 on the skin.  Around the box is a perfectly matched layer.  The aircraft is 10 long and 9 wide.

    size    length of the cells' edges near the aircraft, see `dgarray.cases.meshes.aircraft`
    layers  how many cells the matched layer is deep, each 1.5 size
    until   end of the run; the pulse has left the tail at 18
    mesh    a file of hexahedra, a box with the boundary "skin" around the aircraft inside, from x = 0 on
    Helluy, Strub, Massaro & Roberts 2015, section 3.5 (another aircraft, without numbers).
    results: the largest surface current |n x H| over |H| of the incident wave, and when; energy of the scattered field at the
    end, over its largest (the wings ring at long waves); in runs that end when it is below 0.01, such as until=60,
    cross-sections of scattering and extinction at the frequencies 0.1, 0.2, 0.3.  Metal absorbs nothing, so the difference of
    both is an error.
    `surface_current` gives the current at each time."""
    check_numbers(above=0, size=size, until=until)
    check_numbers(least=1, whole=True, layers=layers)
    mesh = case_mesh(mesh, lambda: aircraft_mesh(size), 3)
    nose = float(mesh.points[np.unique(mesh.face_points(mesh.named("skin"))), 0].min())
    if nose < -1e-6:
        raise ValueError(f"the boundary 'skin' of {mesh.source} begins at x = {nose:g}; it must lie at x >= 0, where the pulse "
                         "has not arrived at t = 0")
    mesh = pml(mesh, 1.5 * size * layers, layers)

    def results(dataset):
        J, energy = surface_current(dataset), dataset.dg.record("energy")["energy"].values
        strength = np.sqrt((J**2).sum("component")).max(("face", "face_node")).values
        values = {"largest_current": float(strength.max()), "largest_at_time": float(J.time[int(strength.argmax())]),
                  "energy_left": float(energy[-1] / energy.max())}
        passed = float(J.time[-1]) > float(J.x.max()) + 2 * HALF_PULSE * WIDTH
        if passed and values["energy_left"] < DECAYED:
            sections = cross_sections(dataset.dg.record("spectrum"), incident)
            values |= {name: sections[name].values for name in ("scattering", "extinction")}
        return values

    return Simulation(mesh, Maxwell(dim=3), TensorDG(order, start=start),
                      boundary={"skin": scattered(pec, incident), "default": absorbing}, until=until, every=every,
                      case="aircraft", results=results,
                      record={"skin": SurfaceFields("skin", EVERY), "spectrum": Fourier(FREQUENCIES, "skin"),
                              "energy": VolumeIntegral(every=EVERY)})


def incident(x, t):
    """The wave that comes from the front."""
    u = (t - x[0]) / WIDTH - HALF_PULSE
    Ey = np.sqrt(2 * np.e) * u * np.exp(-u * u)
    return 0 * Ey, Ey, 0 * Ey, 0 * Ey, 0 * Ey, Ey


def surface_current(dataset):
    """J = n x H of the total field on the skin, n out of the aircraft, as a DataArray (component, time, face, face_node)."""
    J = surface_currents(dataset.dg.record("skin"), incident)[["Jx", "Jy", "Jz"]]
    return J.to_array("component").transpose("component", "time", "face", "face_node")
