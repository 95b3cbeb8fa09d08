"""A shock that runs into waves of density."""
import numpy as np

from dgarray import Euler, Simulation

from .common import behind_shock, check_numbers, flux_named, least, limited_dg
from .sod import tube_ends, tube_mesh

MACH, AT, HALF = 3.0, -4.0, 5.0


def shu_osher(order=1, dim=1, cells=400, waves=5.0, strength=0.2, limiter="auto", limiter_variables="conserved",
              indicator="none", positivity="scaling", flux="hllc", until=1.8, mesh=None, start="projection"):
    """A shock of Mach 3 runs into a gas at rest with a sinusoidal density and compresses the waves.

    Method: ModalDG on intervals or triangles.

    On [-5, 5]: behind the shock, x < -4, rho = 27 / 7 = 3.857143, u = 4 sqrt(35) / 9 = 2.629369, p = 31 / 3; in front of it
    rho = 1 + strength sin(waves x), u = 0, p = 1, gamma = 1.4.  There is no exact solution; compare with a fine run.

    dim: 1, or 2 for a channel of triangles between two walls; it is a tenth as high as long, in length and in cells
    limiter: "auto" (barth-jespersen at order 1, vertex above), one of ModalDG, or "none"
    limiter_variables, indicator: as for ModalDG
    flux: rusanov, hll, hllc or roe; mesh: a file of [-5, 5] (times a height) with the boundaries left, right (bottom, top)
    Shu & Osher 1989, example 8."""
    check_numbers(waves=waves, strength=strength)
    mesh = tube_mesh(mesh, dim, -HALF, HALF, cells)
    law = Euler(mesh.dim)
    behind, still = behind_shock(law.gamma, MACH, 1.0, 1.0), (0.0,) * (mesh.dim - 1)

    def initial(x):
        ahead = 1 + strength * np.sin(waves * x[0]), 0.0, 1.0
        rho, u, p = (np.where(x[0] < AT, a, b) for a, b in zip(behind, ahead))
        return law.conservative((rho, u, *still, p))

    def results(dataset):
        return {"greatest_density": float(dataset.rho[-1].max()), **least(dataset, law)}

    return Simulation(mesh, law, limited_dg(order, start, limiter, limiter_variables, indicator, positivity), tube_ends(mesh),
                      initial, flux=flux_named(flux), until=until, stepper="ssp33", case="shu_osher", results=results)
