"""A pulse among scatterers, 2D TM Maxwell on a mesh file."""
import numpy as np

from dgarray import Maxwell, NodalDG, Simulation, absorbing, pec

from .common import case_mesh, check_numbers


def tm_obstacles(order=4, eps=3.0, x0=-1.3, y0=0.0, half_width=0.15, wavelength=0.25, until=2.4, every=0.1,
                 mesh=None, start="projection"):
    """A round pulse of Ez meets conducting cylinders and boxes and a dielectric lens.

    Method: NodalDG on triangles.

    Ez = exp(-a r^2) cos(2 pi r / wavelength), H = 0 at t = 0; r is the distance from (x0, y0), a = ln 2 / half_width^2.
    The obstacles are perfect conductors, the outer boundary is absorbing, the lens has the permittivity eps.

    mesh: a file with the boundaries "obstacles" and "outer" and the regions "vacuum" and "lens"
    The kind of problem that Kloeckner, Warburton & Hesthaven 2013 show for their TM solver; there are no published numbers.
    results: the fraction of the energy that is left, and the largest |Ez| in the lens and the time of it."""
    check_numbers(above=0, eps=eps, half_width=half_width, wavelength=wavelength)
    check_numbers(x0=x0, y0=y0)
    mesh = case_mesh(mesh, "obstacles.msh", 2)
    mesh.named("lens")
    a = np.log(2) / half_width**2

    def initial(x):
        r = np.hypot(x[0] - x0, x[1] - y0)
        return 0.0, 0.0, np.exp(-a * r**2) * np.cos(2 * np.pi * r / wavelength)

    def results(dataset):
        factor = np.ones(len(mesh.cells))
        factor[mesh.regions["lens"]] = eps
        dg, weight = dataset.dg, {"Ez": factor * dataset.dg.jacobians}
        energy = [sum(np.einsum("ei,ij,ej,e", u, dg.reference.mass, u, weight.get(name, dg.jacobians)) / 2
                      for name in dg.variables for u in [dg.values(name, time)]) for time in (0, -1)]
        inside = dataset.Ez.transpose("time", "element", "node").values[:, mesh.regions["lens"]]
        return {"energy_ratio": float(energy[1] / energy[0]), "largest_in_lens": float(np.abs(inside).max()),
                "largest_at_time": float(dataset.time[np.abs(inside).max(axis=(1, 2)).argmax()])}

    return Simulation(mesh, Maxwell(dim=2, eps={"vacuum": 1.0, "lens": float(eps)}), NodalDG(order, start),
                      boundary={"obstacles": pec, "outer": absorbing}, initial=initial, until=until, every=every,
                      case="tm_obstacles", results=results)
