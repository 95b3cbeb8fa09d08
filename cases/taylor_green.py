"""The Taylor-Green vortex without viscosity: smooth flow that breaks down into scales below any mesh."""
import numpy as np

from dgarray import Euler, Simulation, TensorDG, box, kennedy_gruber, ranocha, rusanov
from dgarray.support.wording import choose

from .advection_wave import SIDES
from .common import case_mesh, check_box, check_numbers

VOLUME_FLUXES = {"ranocha": ranocha, "kennedy_gruber": kennedy_gruber, "none": None}
FLUXES = {"rusanov": rusanov, "ranocha": ranocha}


def taylor_green(order=3, cells=4, mach=0.1, volume_flux="ranocha", flux="rusanov", until=20.0, every=1.0, mesh=None,
                 start="interpolation"):
    """The Taylor-Green vortex of a gas in a periodic box of side 2 pi, by tensor-product DG in split form on hexahedra.

    Method: TensorDG on hexahedra.

    rho = 1,  v = (sin x cos y cos z, -cos x sin y cos z, 0),  p = 1 / (gamma mach^2) + (cos 2x + cos 2y) (cos 2z + 2) / 16.
    Without viscosity the scales fall below the mesh from t = 4 or so; a method stays stable if it conserves the entropy
    rho s, s = log(p / rho^gamma), or lets it grow.
    results: kinetic energy over that of the first snapshot; entropy: growth of the integral of rho s, by the nodes' quadrature,
    and least_growth between two snapshots, both over the integral of rho.

    mesh: a file of hexahedra in a box with the sides left, right, bottom, top, front, back, as long as multiples of 2 pi
    volume_flux: between the nodes of a line, "ranocha" (conserves entropy), "kennedy_gruber" (kinetic energy) or "none" (weak
    form, which ends early);  flux: at the faces, "rusanov" (entropy grows) or "ranocha" (stays)
    Taylor & Green 1937; Gassner, Winters & Kopriva 2016, section 5."""
    check_numbers(above=0, mach=mach)
    law = Euler(3)
    p0 = 1 / (law.gamma * mach ** 2)

    def initial(x):
        x, y, z = x
        p = p0 + (np.cos(2 * x) + np.cos(2 * y)) * (np.cos(2 * z) + 2) / 16
        u, v = np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z)
        return law.conservative((np.ones_like(x), u, v, 0 * x, p))

    def results(dataset):
        dg = dataset.dg
        weights = dg.space.cell.weights * dg.space.determinants.T
        weights /= weights.sum()

        def mean(function, time):
            return float(np.sum(function([dg.values(name, time) for name in law.variables]) * weights))
        kinetic = [mean(lambda q: sum(m ** 2 for m in q[1:4]) / q[0], time) for time in (0, -1)]
        entropy = [mean(lambda q: q[0] * law.entropy(q), time) for time in range(dataset.sizes["time"])]
        return {"kinetic_energy": kinetic[1] / kinetic[0], "entropy": entropy[-1] - entropy[0],
                "least_growth": float(np.min(np.diff(entropy))) if len(entropy) > 1 else 0.0}

    mesh = case_mesh(mesh, lambda: box((0, 0, 0), (2 * np.pi,) * 3, cells=cells, periodic=True, shape="hexahedron"), 3)
    check_box(mesh)
    mesh = mesh.periodic(*SIDES[3]) if mesh.boundaries else mesh
    volume = VOLUME_FLUXES[choose("volume_flux", volume_flux, VOLUME_FLUXES)]
    return Simulation(mesh, law, TensorDG(order, nodes="lobatto", start=start, volume_flux=volume), initial=initial,
                      flux=FLUXES[choose("flux", flux, FLUXES)], until=until, every=every, case="taylor_green", results=results)
