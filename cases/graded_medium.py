"""A wave in a medium that varies smoothly and does not reflect."""
import numpy as np

from dgarray import Acoustics, Maxwell, Simulation, box, interval, rectangle
from dgarray.support.wording import choose

from .advection_wave import SIDES
from .common import case_mesh, check_box, check_numbers, dg_method

METHODS = "nodal", "modal", "tensor"


def graded_medium(order=4, dim=2, cells=4, law="maxwell", contrast=0.3, waves=1, until=1.0, mesh=None, method="nodal",
                  start="projection"):
    """A plane wave along x in the periodic unit box, in a medium with the refractive index n(x) and the impedance 1.

    Method: NodalDG or ModalDG on intervals, triangles or tetrahedra, or TensorDG on quadrilaterals or hexahedra.

    n = 1 + contrast sin(2 pi x);  the time to x is T(x) = x - contrast / (2 pi) (cos(2 pi x) - 1), the integral of n.
    maxwell: eps = mu = n,  Ez = -Hy = sin(2 pi waves (T(x) - t)).   acoustics: rho = n, c = 1 / n,  p = vx = the same.
    Nothing is reflected where the impedance does not change, so the wave is exact; at t = 1 it is back where it started.

    dim: 1, 2 or 3; cells: boxes along a side; law: "maxwell" or "acoustics"; contrast: between -1 and 1
    mesh: a file of a box with sides left, right, bottom, top, front, back; method: "modal", "nodal" or "tensor"
    (on quadrilaterals or hexahedra)
    The medium is taken at points inside of the elements: observed orders are order + 1. With one value per element they are at
    most 2. LeVeque 2002, section 9.9; Chan, Hewett & Warburton 2017."""
    choose("law", law, ("maxwell", "acoustics"))
    choose("method", method, METHODS)
    check_numbers(least=1, whole=True, waves=waves, cells=cells)
    check_numbers(contrast=contrast)
    if abs(contrast) >= 1:
        raise ValueError(f"contrast={contrast!r} is not allowed; it must lie between -1 and 1")
    if mesh is None and dim not in (1, 2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 1, 2 or 3")
    if mesh is None:
        if dim == 1 and method == "tensor":
            raise ValueError("dim=1 is not allowed with method='tensor', which is for quadrilaterals and hexahedra: dim=2 or 3")
        shape = {"shape": {2: "quadrilateral", 3: "hexahedron"}[dim]} if method == "tensor" else {}
        mesh = {1: interval, 2: rectangle, 3: box}[dim](cells=cells, periodic=True, **shape)
    else:
        mesh = case_mesh(mesh, None)
        mesh = mesh.periodic(*SIDES[mesh.dim]) if mesh.boundaries else mesh
        check_box(mesh)
        if not np.isclose(np.ptp(mesh.points[:, 0]) % 1, 0, atol=1e-6):
            raise ValueError(f"{mesh.source} is {np.ptp(mesh.points[:, 0]):g} long; the medium has the period 1")

    def index(x):
        return 1 + contrast * np.sin(2 * np.pi * x[0])

    def exact(x, t):
        travelled = x[0] - contrast / (2 * np.pi) * (np.cos(2 * np.pi * x[0]) - 1)
        f, zero = np.sin(2 * np.pi * waves * (travelled - t)), 0 * x[0]
        if law == "maxwell":
            return medium.state((zero, zero, f), (zero, -f, zero))
        return (f, f, *(zero,) * (mesh.dim - 1))

    medium = (Maxwell(mesh.dim, eps=index, mu=index) if law == "maxwell" else
              Acoustics(mesh.dim, density=index, sound_speed=lambda x: 1 / index(x)))
    return Simulation(mesh, medium, dg_method(method, order, start, METHODS), initial=lambda x: exact(x, 0.0), exact=exact,
                      until=until, case="graded_medium")
