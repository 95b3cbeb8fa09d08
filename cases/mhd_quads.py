"""A circularly polarised Alfven wave on quadrilaterals, exact at any amplitude."""
import numpy as np

from dgarray import MHD, Simulation, TensorDG, rectangle

from .alfven_wave import oblique_wave
from .common import case_mesh, check_numbers
from .grids import OBLIQUE, fastest_along_axes, mhd_flux, rounded_up


def mhd_quads(order=3, cells=4, warp=0.3, nodes="gauss", travelling=True, amplitude=0.1, flux="hlld", cleaning_speed="auto",
              until=1.0, mesh=None, start="interpolation"):
    """The wave of `alfven_wave` in its periodic box in 2D, by tensor-product DG on quadrilaterals whose corners move.

    The box is sqrt(5) x sqrt(5) / 2 = a x b.  The corners move by warp b / (2 pi) sin(2 pi x / a) sin(2 pi y / b) (1, -1).

    cells: along the shorter side, along x twice as many; warp: 0 (rectangles) to 0.5; nodes: of TensorDG
    mesh: another periodic mesh of this box, a `Mesh`
    travelling, amplitude, cleaning_speed: as for `alfven_wave`; flux: rusanov, hll or hlld
    Toth 2000, section 6.3.1; Kopriva 2006 (free stream)."""
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(above=0, amplitude=amplitude)
    check_numbers(least=0, warp=warp)
    if warp > 0.5:
        raise ValueError(f"warp={warp!r} is not allowed; above 0.5 cells fold over")
    a, b = OBLIQUE[2]

    def moved(x):
        along = warp * b / (2 * np.pi) * np.sin(2 * np.pi * x[0] / a) * np.sin(2 * np.pi * x[1] / b)
        return x[0] + along, x[1] - along
    mesh = case_mesh(mesh, lambda: rectangle((0, 0), (a, b), (2 * cells, cells), periodic=True,
                                             shape="quadrilateral").mapped(moved), 2)
    state = oblique_wave(2, amplitude, travelling)
    law = MHD(2, 5 / 3, 0.0)
    if cleaning_speed == "auto":
        cleaning_speed = rounded_up(fastest_along_axes(law, state(tuple(mesh.centroids.T), 0.0, law)))
    law = MHD(2, 5 / 3, cleaning_speed)

    def exact(x, t):
        return state(x, t, law)
    return Simulation(mesh, law, TensorDG(order, nodes, start), initial=lambda x: exact(x, 0.0), exact=exact,
                      flux=mhd_flux(flux), until=until, case="mhd_quads")
