"""A mode of a cavity with a curved wall: 2D TM Maxwell in a disc."""
import numpy as np
from scipy.special import jn_zeros, jv, jvp

from dgarray import Maxwell, NodalDG, Simulation, TensorDG, pec
from dgarray.mesh import from_arrays
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers, energy_ratio

SHAPES = "triangle", "quadrilateral"


def disc_cavity(order=4, level=2, shape="triangle", geometry=None, m=1, n=1, until=1.0, mesh=None,
                start="projection"):
    """Mode (m, n) of the unit disc with a perfectly conducting wall, eps = mu = 1.

    Method: NodalDG on triangles, or TensorDG on quadrilaterals.

    Ez = J_m(k r) cos(m theta) cos(k t),  k the n-th positive zero of the Bessel function J_m,
    Hx = -1/k dEz/dy tan(k t),  Hy = 1/k dEz/dx tan(k t).

    level     6 triangles or 5 quadrilaterals at level 0, four times as many at each further level
    shape     "triangle" (nodal DG) or "quadrilateral" (tensor-product DG)
    geometry  degree of the maps of the cells at the wall: by default that of the method, of triangles at least 2; 1: straight
              cells, with which the error falls at second order only
    mesh: a file of the unit disc, whose cells decide about the method
    Observed orders are order + 1 with curved cells. Hesthaven & Warburton 2008, section 9.1; the weight-adjusted mass matrices
    of the triangles are those of Chan, Hewett & Warburton 2017."""
    check_numbers(least=0, whole=True, level=level, m=m)
    check_numbers(least=1, whole=True, n=n)
    choose("shape", shape, SHAPES)
    if geometry is None:
        geometry = max(order, 2) if shape == "triangle" else max(order, 1)
    mesh = case_mesh(mesh, lambda: disc(level, shape, geometry), 2)
    wall = mesh.points[mesh.face_points(mesh.boundary_faces)]
    if not np.allclose(np.hypot(*wall.T), 1, atol=1e-6):
        raise ValueError(f"{mesh.source} does not fill the unit disc around (0, 0), as this case needs it")
    k = float(jn_zeros(m, n)[-1])

    def exact(x, t):
        r, angle = np.hypot(*x), np.arctan2(x[1], x[0])
        cosine, sine = np.cos(angle), np.sin(angle)
        along_r = jvp(m, k * r) * np.cos(m * angle)                                      # dEz/dr / k, (1/r) dEz/dtheta / k
        around = -(jv(m - 1, k * r) + jv(m + 1, k * r)) / 2 * np.sin(m * angle)
        slope_x, slope_y = cosine * along_r - sine * around, sine * along_r + cosine * around
        return -slope_y * np.sin(k * t), slope_x * np.sin(k * t), jv(m, k * r) * np.cos(m * angle) * np.cos(k * t)

    method = NodalDG(order, start) if mesh.cell_shape.simplex else TensorDG(order, start=start)
    return Simulation(mesh, Maxwell(dim=2), method, boundary=pec, initial=exact, exact=exact, until=until, case="disc_cavity",
                      results=lambda dataset: {"frequency": k, "energy_ratio": energy_ratio(dataset)})


def disc(level, shape="triangle", geometry=1):
    """The unit disc in triangles or quadrilaterals, those at the circle with maps of the degree `geometry`."""
    angle = np.pi / 3 * np.arange(6) if shape == "triangle" else np.pi / 4 + np.pi / 2 * np.arange(4)
    circle, count = np.stack([np.cos(angle), np.sin(angle)], axis=1), len(angle)
    sides = [(i, (i + 1) % count) for i in range(count)]
    if shape == "triangle":
        points, cells = np.vstack([np.zeros(2), circle]), [(0, 1 + a, 1 + b) for a, b in sides]
    else:
        points, cells = np.vstack([0.55 * circle, circle]), [(0, 1, 2, 3), *((a + 4, b + 4, b, a) for a, b in sides)]
    mesh = from_arrays(points, np.array(cells))
    for _ in range(level):
        mesh = mesh.refined().curved(1, to_circle)
    return mesh.curved(geometry, to_circle)


def to_circle(x):
    """The nearest point of the unit circle."""
    radius = np.hypot(*x)
    return x[0] / radius, x[1] / radius
