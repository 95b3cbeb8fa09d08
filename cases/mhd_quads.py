"""Plasmas on quadrilaterals whose corners move: an Alfven wave, exact at any amplitude, and Orszag and Tang's vortex."""
import numpy as np

from dgarray import MHD, Simulation, TensorDG, ranocha, rectangle
from dgarray.support.wording import choose

from .alfven_wave import oblique_wave
from .common import case_mesh, check_numbers
from .grids import OBLIQUE, fastest_along_axes, mhd_flux, rounded_up
from .orszag_tang import vortices

FLOWS = {"alfven_wave": (OBLIQUE[2], "hlld", 1.0), "orszag_tang": ((1.0, 1.0), "rusanov", 0.5)}          # box, flux, end


def mhd_quads(order=3, cells=4, flow="alfven_wave", warp=0.3, nodes="gauss", travelling=True, amplitude=0.1, flux="auto",
              cleaning_speed="auto", until="auto", mesh=None, start="interpolation"):
    """An Alfven wave or Orszag and Tang's vortex in a periodic box, by tensor-product DG on quadrilaterals whose corners move.

    Method: TensorDG on quadrilaterals.

    In the box a x b the corners move by warp b / (2 pi) sin(2 pi x / a) sin(2 pi y / b) (1, -1).

    flow    "alfven_wave": the wave of that case, a x b = sqrt(5) x sqrt(5) / 2, in weak form to t = 1;
            "orszag_tang": the vortex of that case, 1 x 1, in split form with shock capturing and positivity to t = 0.5
    cells: along y, along x a / b times as many; warp: 0 (rectangles) to 0.5; mesh: another periodic mesh of this box, a `Mesh`
    nodes, travelling, amplitude: of the wave
    flux: rusanov, hll or hlld, "auto" is hlld for the wave and rusanov for the vortex; cleaning_speed: as for both cases
    Toth 2000, section 6.3.1; Orszag & Tang 1979; Kopriva 2006 (free stream); Hennemann et al. 2021 (shocks)."""
    box, usual_flux, end = FLOWS[choose("flow", flow, FLOWS)]
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(above=0, amplitude=amplitude)
    check_numbers(least=0, warp=warp)
    if warp > 0.5:
        raise ValueError(f"warp={warp!r} is not allowed; above 0.5 cells fold over")
    a, b = box

    def moved(x):
        along = warp * b / (2 * np.pi) * np.sin(2 * np.pi * x[0] / a) * np.sin(2 * np.pi * x[1] / b)
        return x[0] + along, x[1] - along
    mesh = case_mesh(mesh, lambda: rectangle((0, 0), box, (round(a / b) * cells, cells), periodic=True,
                                             shape="quadrilateral").mapped(moved), 2)
    wave = oblique_wave(2, amplitude, travelling)

    def state(x, t, law):
        return wave(x, t, law) if flow == "alfven_wave" else vortices(x, law)
    law = MHD(2, 5 / 3, 0.0)
    if cleaning_speed == "auto":
        cleaning_speed = rounded_up(fastest_along_axes(law, state(tuple(mesh.centroids.T), 0.0, law)))
    law = MHD(2, 5 / 3, cleaning_speed)
    given = dict(initial=lambda x: state(x, 0.0, law), flux=mhd_flux(usual_flux if flux == "auto" else flux),
                 until=end if until == "auto" else until, case="mhd_quads")
    if flow == "alfven_wave":
        return Simulation(mesh, law, TensorDG(order, nodes, start), exact=lambda x, t: state(x, t, law), **given)
    method = TensorDG(order, "lobatto", start, volume_flux=ranocha, shock_capturing=0.5, positivity=True)
    return Simulation(mesh, law, method, stepper="ssp33", **given)
