"""A vortex carried along by a gas over a warped mesh of quadrilaterals, exact."""
import numpy as np

from dgarray import Euler, Simulation, TensorDG, hllc, kennedy_gruber, ranocha, rectangle
from dgarray.support.wording import choose

from .advection_wave import SIDES
from .common import case_mesh, check_box, check_numbers
from .isentropic_vortex import vortex

VOLUME_FLUXES = {"none": None, "ranocha": ranocha, "kennedy_gruber": kennedy_gruber}


def vortex_curved(order=3, cells=12, size=7.0, strength=5.0, warp=0.06, nodes="gauss", volume_flux="none", until=1.0, mesh=None,
                  start="interpolation"):
    """The vortex of `isentropic_vortex` in a periodic square whose mesh is warped, by tensor-product DG on quadrilaterals.

    Method: TensorDG on quadrilaterals.

    With x' = pi x / size the corners move by warp size (sin x' cos y' / 2 + sin 2y' / 2, sin 2x' / 2 - cos x' sin y' / 2).
    A uniform gas stays uniform on such a mesh, whatever its cells.

    size: half the side; warp: 0 to 0.1; cells: quadrilaterals along a side; mesh: a file of quadrilaterals in a box with the
    sides left, right, bottom, top, which is not moved
    nodes, volume_flux: of TensorDG, the latter "none", "ranocha" or "kennedy_gruber" and then nodes="lobatto"
    Kopriva 2006 (free stream); Shu 1998."""
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(above=0, size=size)
    check_numbers(strength=strength)
    check_numbers(least=0, warp=warp)
    if warp > 0.1:
        raise ValueError(f"warp={warp!r} is not allowed; above 0.1 cells fold over")

    def moved(x):
        a, b = (np.pi * c / size for c in x)
        return (x[0] + warp * size / 2 * (np.sin(a) * np.cos(b) + np.sin(2 * b)),
                x[1] + warp * size / 2 * (np.sin(2 * a) - np.cos(a) * np.sin(b)))
    if mesh is None:
        box = rectangle((-size, -size), (size, size), cells, periodic=True, shape="quadrilateral")
        mesh = box.mapped(moved)
    else:
        box = case_mesh(mesh, None, 2)
        check_box(box)
        box = mesh = box.periodic(*SIDES[2]) if box.boundaries else box
    law = Euler(2)
    exact = vortex(law, box, strength)
    method = TensorDG(order, nodes=nodes, start=start,
                      volume_flux=VOLUME_FLUXES[choose("volume_flux", volume_flux, VOLUME_FLUXES)])
    return Simulation(mesh, law, method, initial=lambda x: exact(x, 0.0), exact=exact, flux=hllc, until=until,
                      case="vortex_curved")
