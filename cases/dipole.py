"""A small current radiates through a perfectly matched layer, beside the exact field of a dipole, 3D Maxwell."""
import numpy as np

from dgarray import BoundaryIntegral, Maxwell, Points, Simulation, current, dipole as dipole_field, pec, pml
from dgarray.physics.laws.law import dot
from dgarray.physics.laws.maxwell import cross

from .common import check_numbers, cube, on_cube

WIDTH, TAU = 0.25, 0.4          # of the current, and of its pulse
START = 4.0                     # of the pulse's centre, in units of the effective width: before it is 1e-7
DISTANCE = 0.8                  # of the receivers, in half sides of the cube


def dipole(order=3, cells=6, layers=2, shape="hexahedron", until=5.0, every=0.25, mesh=None, start="projection"):
    """A small current along z radiates; its field is that of an exact dipole, and leaves through a perfectly matched layer.

    Method: TensorDG on hexahedra, NodalDG on tetrahedra.

    J = p f'(t) g(x) in the middle of the cube [-1, 1]^3, p along z with |p| = 1, g = exp(-r^2 / w^2) / (sqrt(pi) w)^3,
    f = exp(-((t - t0) / tau)^2), w = 0.25, tau = 0.4.  Some w away, waves of the wave number k are those of a point times
    exp(-(k w / 2)^2), which makes of f another Gaussian: f = tau / T exp(-((t - t0) / T)^2), T^2 = tau^2 + w^2 (c = 1).
    So the field of `dgarray.dipole` with this f is exact.  Outside of the layer is a conductor.

    cells, layers, shape: as of `hex_pml`; mesh: a file of a box of hexahedra or of tetrahedra around the origin
    Jackson 1999, section 9.2; Taflove & Hagness 2005, section 5.1.
    results: error of the field at 24 receivers at the distance 0.8, root mean square over them and over time, relative to the
    exact field; the energy that has gone into the layer (radiated), and that which the dipole radiates (radiated_exact),
    integral of f''^2 dt / (6 pi) = (tau / T)^2 sqrt(pi / 2) / (2 pi T^3)."""
    check_numbers(least=1, whole=True, layers=layers)
    check_numbers(above=0, until=until)
    inner, size = cube(cells, shape, mesh)
    half = float(np.abs(inner.points).min(axis=1).max())
    layered = pml(inner.with_regions({"cube": np.arange(inner.cell_count)}), layers * size, layers)
    layered = layered.with_interfaces({"around": ("cube", "pml")})
    law, T = Maxwell(dim=3), float(np.hypot(TAU, WIDTH))
    t0 = START * T
    source = current(law, (0, 0, 0), (0, 0, 1), WIDTH, lambda t: np.exp(-(((t - t0) / TAU) ** 2)))
    exact = dipole_field(law, (0, 0, 0), (0, 0, 1), lambda t: TAU / T * np.exp(-(((t - t0) / T) ** 2)))

    def poynting(q, n):
        E, H = q[:3], q[3:]
        return dot(n, cross(E, H))

    def results(dataset):
        record = dataset.dg.record("receivers")
        x = tuple(record[axis].values for axis in "xyz")
        found = np.array([record[name].values for name in law.variables])
        wanted = np.array([exact(x, t) for t in record.time.values]).swapaxes(0, 1)
        power = dataset.dg.record("power")["poynting"]
        return {"error": float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)),
                "radiated": float(power.integrate("time")),
                "radiated_exact": float((TAU / T) ** 2 * np.sqrt(np.pi / 2) / (2 * np.pi * T**3))}

    method = on_cube(inner, order, start)
    return Simulation(layered, law, method, boundary=pec, source=source, until=until, every=every, case="dipole",
                      results=results, record={"receivers": Points(DISTANCE * half * spread(24), 2),
                                               "power": BoundaryIntegral("around", poynting)})


def spread(count):
    """Unit vectors (count, 3) spread evenly over the sphere, on a spiral."""
    z = 1 - 2 * (np.arange(count) + 0.5) / count
    angle = np.pi * (1 + 5**0.5) * np.arange(count)
    return np.column_stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z])
