"""Two streams of gas roll up where they meet: the Kelvin-Helmholtz instability."""
import numpy as np

from dgarray import Euler, Simulation, hllc, rectangle
from dgarray.reference import quadrature

from .advection_wave import SIDES
from .common import case_mesh, check_box, check_numbers, dg_method, least


def kelvin_helmholtz(order=3, cells=32, thickness=0.025, push=0.01, until=1.5, every=0.5, mesh=None, method="modal",
                     start="projection"):
    """Two streams of gas with densities 1 and 2 flow in opposite directions, and a small wave grows where they meet.

    Method: ModalDG or NodalDG on triangles.

    gamma = 5/3, p = 2.5, v = push sin(4 pi x); across y = 1/4 and y = 3/4, d = distance to the nearer, on both sides
    rho = (1 | 2) +- exp(-d / thickness) / 2,  u = (1/2 | -1/2) -+ exp(-d / thickness) / 2,
    with the first value outside and the second inside 1/4 < y < 3/4; so both are smooth. The unit box is periodic.
    results: the amplitude of the wave of v around y = 1/4, by the integral of the source.

    cells: squares of two triangles along a side; mesh: a file of a box with the sides left, right, bottom, top
    method: "modal" or "nodal".  There is no limiter. Later the gas mixes on scales below any mesh.
    McNally, Lyra & Passy 2012, section 2 and equations (7) to (10)."""
    check_numbers(above=0, thickness=thickness, push=push)
    if mesh is None:
        mesh = rectangle(cells=cells, periodic=True)
    else:
        mesh = case_mesh(mesh, None, 2)
        mesh = mesh.periodic(*SIDES[2]) if mesh.boundaries else mesh
        check_box(mesh, (0, 1), (0, 1))
    law = Euler(2, 5 / 3)

    def initial(x):
        y = x[1] % 1
        inside, distance = np.abs(y - 0.5) < 0.25, np.minimum(np.abs(y - 0.25), np.abs(y - 0.75))
        share = np.where(inside, 1 - np.exp(-distance / thickness) / 2, np.exp(-distance / thickness) / 2)
        return law.conservative((1 + share, 0.5 - share, push * np.sin(4 * np.pi * x[0]), 2.5))

    def results(dataset):
        begin, end = (amplitude(dataset, time) for time in (0, -1))
        return {"amplitude": end, "growth": end / begin, **least(dataset, law)}

    return Simulation(mesh, law, dg_method(method, order, start), initial=initial, flux=hllc, until=until, every=every,
                      case="kelvin_helmholtz", results=results)


def amplitude(dataset, time):
    """2 |sum of v exp(4 pi i x) w| / sum of w,  w = exp(-4 pi |y' - 1/4|), y' = y or 1 - y, below 1/2."""
    dg = dataset.dg
    points, weights = quadrature(2, 2 * dg.order + 6)
    interpolation, corners = dg.reference.interpolation(points), dg.reference.barycentric(points)
    x, y = (dg.points[dg.cells, axis] @ corners.T for axis in (0, 1))
    rho, m = (dg.values(name, time) @ interpolation.T for name in ("rho", "rho_v"))
    near = np.exp(-4 * np.pi * np.abs(np.minimum(y, 1 - y) - 0.25)) * weights * dg.jacobians[:, None]
    return float(2 * np.abs(np.sum(m / rho * np.exp(4j * np.pi * x) * near)) / near.sum())
