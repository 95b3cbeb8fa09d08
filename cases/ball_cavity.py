"""A mode of a cavity with a curved wall: 3D Maxwell in a ball."""
import numpy as np
from numpy.polynomial.legendre import Legendre
from scipy.optimize import brentq
from scipy.special import spherical_jn

from dgarray import Maxwell, NodalDG, Simulation, TensorDG, pec
from dgarray.mesh import from_arrays
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers, energy_ratio

SHAPES = "tetra", "hexahedron"
MODES = "TM", "TE"


def ball_cavity(order=3, level=2, shape="tetra", geometry=None, mode="TM", l=1, n=1, until=0.5, mesh=None,
                start="projection"):
    """Mode (l, 0, n) of the unit ball with a perfectly conducting wall, eps = mu = 1.

    Method: NodalDG on tetrahedra, or TensorDG on hexahedra.

    TM: Hphi = j_l(k r) dP_l/dtheta sin(k t),  Er = l (l + 1) j_l(k r) / (k r) P_l cos(k t),
        Etheta = (k r j_l(k r))' / (k r) dP_l/dtheta cos(k t);  k is the n-th positive zero of (z j_l(z))'
    TE: Ephi = j_l(k r) dP_l/dtheta cos(k t), and H as E above with sin(k t) for cos(k t);  k is the n-th positive zero of j_l
    with the spherical Bessel function j_l and the Legendre polynomial P_l of cos theta.

    level     8 tetrahedra or 7 hexahedra at level 0, eight times as many at each further level
    shape     "tetra" (nodal DG) or "hexahedron" (tensor-product DG)
    geometry  degree of the maps of the cells at the wall: by default order + 1 for tetrahedra, since normals are known one
              order less well than places, and order for hexahedra, where it can be no more;  1: straight cells
    mesh: a file of the unit ball, whose cells decide about the method
    Observed orders are order + 1 with curved cells. Harrington 1961, Time-Harmonic Electromagnetic Fields, section 6-2."""
    check_numbers(least=0, whole=True, level=level)
    check_numbers(least=1, whole=True, l=l, n=n)
    choose("shape", shape, SHAPES)
    choose("mode", mode, MODES)
    if geometry is None:
        geometry = order + 1 if shape == "tetra" else max(order, 1)
    mesh = case_mesh(mesh, lambda: ball(level, shape, geometry), 3)
    wall = mesh.points[mesh.face_points(mesh.boundary_faces)]
    if not np.allclose(np.linalg.norm(wall, axis=-1), 1, atol=1e-6):
        raise ValueError(f"{mesh.source} does not fill the unit ball around (0, 0, 0), as this case needs it")
    k, legendre = wave_number(mode, l, n), Legendre.basis(l)

    def exact(x, t):
        r = np.maximum(np.sqrt(sum(c * c for c in x)), 1e-12)
        cosine, sine, azimuth = x[2] / r, np.hypot(x[0], x[1]) / r, np.arctan2(x[1], x[0])
        z, slope = k * r, -sine * legendre.deriv()(cosine)          # dP_l/dtheta
        j = spherical_jn(l, z)
        radial = l * (l + 1) * j / z * legendre(cosine)
        polar = (j / z + spherical_jn(l, z, derivative=True)) * slope
        outwards = radial * sine + polar * cosine
        meridian = outwards * np.cos(azimuth), outwards * np.sin(azimuth), radial * cosine - polar * sine
        around = -j * slope * np.sin(azimuth), j * slope * np.cos(azimuth), 0 * r
        E, H = (meridian, around) if mode == "TM" else (around, meridian)
        return (*(c * np.cos(k * t) for c in E), *(c * np.sin(k * t) for c in H))

    method = NodalDG(order, start) if mesh.cell_shape.simplex else TensorDG(order, start=start)
    return Simulation(mesh, Maxwell(dim=3), method, boundary=pec, initial=lambda x: exact(x, 0.0), exact=exact, until=until,
                      case="ball_cavity", results=lambda dataset: {"wave_number": k, "energy_ratio": energy_ratio(dataset)})


def wave_number(mode, l, n):
    """The n-th positive zero of j_l(z) for TE, of (z j_l(z))' for TM."""
    def at_wall(z):
        return spherical_jn(l, z) if mode == "TE" else spherical_jn(l, z) + z * spherical_jn(l, z, derivative=True)
    z = np.linspace(0.5, l + 4 * (n + 1), 100 * (l + n))          # zeros lie about pi apart, the first one above l
    below = np.flatnonzero(np.diff(np.sign(at_wall(z))))[n - 1]
    return brentq(at_wall, z[below], z[below + 1], xtol=1e-14)


def ball(level, shape="tetra", geometry=1):
    """The unit ball in tetrahedra or hexahedra, those at the sphere with maps of the degree `geometry`."""
    mesh = {"tetra": octahedron, "hexahedron": cube_in_ball}[shape]()
    for _ in range(level):
        mesh = mesh.refined().curved(1, to_sphere)
    return mesh.curved(geometry, to_sphere)


def octahedron():
    """Eight tetrahedra around the centre."""
    points = np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
    sides = [(a, b, c) for a in (1, 4) for b in (2, 5) for c in (3, 6)]
    cells = [(0, *(side if sum(corner > 3 for corner in side) % 2 == 0 else side[::-1])) for side in sides]
    return from_arrays(points, np.array(cells))


def cube_in_ball():
    """Seven hexahedra: a cube and one towards each of its faces."""
    corners = np.array([(x, y, z) for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    faces = (0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)
    cells = [tuple(range(8)), *((*(a + 8 for a in face), *face) for face in faces)]
    return from_arrays(np.concatenate([corners * 0.4, corners / np.sqrt(3)]), np.array(cells))


def to_sphere(x):
    """The nearest point of the unit sphere."""
    radius = np.sqrt(sum(c * c for c in x))
    return tuple(c / radius for c in x)
