"""Symmetries of the equations that the methods keep to rounding, finite volumes to the last bit: mirror, turn, exchange of
axes, duality, extrusion, the sign of the magnetic field, motion along the direction on which a flow does not depend.

Some do not hold everywhere, with reason. Strang's sweeps begin and end with x, so they keep mirrors but not what exchanges
axes. Sums over three axes are (x + y) + z, so turns around z keep all bits, others do not. Where faces are oblique to the
motion, as on triangles, the gas crosses them, and its errors are others.
"""
import warnings

import numpy as np
import pytest

import dgarray as dg
from dgarray.mesh import from_arrays

MAPS = {"mirror": ((-1, 0), (0, 1)), "turn": ((0, -1), (1, 0)), "exchange": ((0, 1), (1, 0))}
SPLIT = dg.FiniteVolume("muscl")
LINEAR = {"nodal": dg.NodalDG(2), "modal": dg.ModalDG(2), "tensor": dg.TensorDG(3), "lobatto": dg.TensorDG(3, "lobatto")}
VOLUMES = {"split": SPLIT, "unsplit": dg.FiniteVolume("muscl", splitting=None), "weno": dg.FiniteVolume("weno")}
GASES = {"limited": dg.ModalDG(1, limiter="vertex"), "ranocha": dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha),
         "shocks": dg.TensorDG(3, "lobatto", volume_flux=dg.ranocha, shock_capturing=0.5)}
LAWS = {"Acoustics": dg.Acoustics(2), "Maxwell TM": dg.Maxwell(2, "TM"), "Maxwell TE": dg.Maxwell(2, "TE"),
        "Euler": dg.Euler(2), "MHD": dg.MHD(2, cleaning_speed=1.5)}
METHODS = {**LINEAR, **VOLUMES, **GASES}
FEW = {("Euler", "turn"), ("Maxwell TM", "turn")}
RUNS = [pytest.param(law, method, change, id=f"{law}, {method}, {change}",
                     marks=() if (law, change) in FEW else pytest.mark.thorough)
        for law in LAWS for method in LINEAR | GASES for change in MAPS
        if (law in ("Euler", "MHD") or method not in GASES) and (law, method) != ("MHD", "shocks")]


def moved(law, q, R):
    """The state seen after the map x -> R x: vectors turn with it, those of magnetism as axial vectors."""
    S = np.eye(3)
    S[:len(R), :len(R)] = R

    def polar(v):
        return tuple(sum(S[i, k] * v[k] for k in range(len(v))) for i in range(len(v)))

    def axial(v):
        return tuple(np.linalg.det(S) * c for c in polar(v))
    if isinstance(law, dg.Maxwell):
        E, H = law.fields(q)
        return law.state(polar(E), axial(H))
    if isinstance(law, dg.MHD):
        return (q[0], *polar(q[1:4]), q[4], *axial(q[5:8]), np.linalg.det(S) * q[8])
    return (q[0], *polar(q[1:1 + len(R)]), *q[1 + len(R):])


def state(law):
    """A state without any symmetry."""
    def wave(x, i):
        along, across = 2 * np.pi * (x[0] * (1 + i % 2) + 0.1 * i), 2 * np.pi * (x[1] + 0.07 * i * i)
        return np.sin(along) * np.cos(across) + 0.3 * np.cos(i + 6 * x[0])

    def q(x):
        waves = [wave(x, i) for i in range(len(law.variables))]
        if law.conservative is None:
            return tuple(waves)
        rest = [0.3 * w for w in waves]
        rest[0], at = 1 + 0.3 * waves[0], 4 if isinstance(law, dg.MHD) else len(waves) - 1
        rest[at] = 1 + 0.3 * waves[at]
        return law.conservative(tuple(rest))
    return q


def mesh_for(method, R=None):
    """A mesh of no symmetry in the unit square, or its image under x -> R (x - c) + c, its cells in the same order."""
    if isinstance(method, dg.FiniteVolume):
        return dg.Grid((0, 0), (1, 1), (8, 8))
    shape = "quadrilateral" if isinstance(method, dg.TensorDG) else "triangle"
    mesh = dg.rectangle(cells=3, shape=shape, perturb=0.15, seed=1)
    if R is None:
        return mesh
    facets = {name: mesh.face_points(rows) for name, rows in mesh.boundaries.items()}
    order = np.argsort(mesh.numbers)
    with warnings.catch_warnings(action="ignore"):          # a mirror inverts all cells
        return from_arrays(image(mesh.points.T, R).T, mesh.cells[order], facets)


def image(x, R):
    return np.array(R) @ (np.asarray(x) - 0.5) + 0.5


def run(mesh, law, method, initial, boundary, **options):
    fixed = {"backend": "numpy", "kernels": "array", "dt": 0.004, "until": 0.024}
    return dg.Simulation(mesh, law, method, boundary, initial, **fixed, **options).run()


def values(ds, points, law):
    found = ds.dg.sample(points.T)
    return np.array([found[v].isel(time=-1).values for v in law.variables])


def places(method):
    if isinstance(method, dg.FiniteVolume):
        return np.stack(np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(8) + 0.5) / 8)).reshape(2, -1)
    return np.random.default_rng(3).uniform(0.01, 0.99, (2, 60))


def wall_of(law):
    return dg.pec if isinstance(law, dg.Maxwell) else dg.wall


def cancels(a, b, scale=1.0):
    assert np.abs(a - b).max() < 2e-12 * scale * np.abs(a).max()


@pytest.mark.parametrize("name, kind, change", RUNS)
def test_maps_of_the_plane(name, kind, change):
    law, method, R = LAWS[name], METHODS[kind], MAPS[change]
    q = state(law)

    def seen(x):
        flat = np.stack([c.ravel() for c in np.broadcast_arrays(*x)])
        return moved(law, q(tuple(image(flat, np.transpose(R)).reshape(2, *np.broadcast(*x).shape))), R)
    points = places(method)
    one = values(run(mesh_for(method), law, method, q, wall_of(law)), points, law)
    other = values(run(mesh_for(method, R), law, method, seen, wall_of(law)), image(points, R), law)
    cancels(np.array(moved(law, tuple(one), R)), other, 10)


def on_grid(law, Q, R):
    """The values Q (variable, z, y, x) on a grid with as many cells along each axis, seen after the map x -> R x."""
    inverse, places = np.transpose(R), np.indices(Q.shape[1:])[::-1]
    source = [sum(int(s) * (place if s > 0 else place - Q.shape[-1] + 1) for s, place in zip(row, places)) for row in inverse]
    return np.array(moved(law, Q[(slice(None), *source[::-1])], R))


def rough(law):
    """Values of cells (variable, z, y, x) with jumps between any two, of no symmetry."""
    cells = (12, 12) if law.dim == 2 else (6, 6, 6)
    w = np.random.default_rng(1).uniform(-0.5, 0.5, (len(law.variables), *cells))
    if law.conservative is None:
        return w
    positive = [0, 4 if isinstance(law, dg.MHD) else -1]
    w[positive] = np.exp(2 * w[positive])
    return np.array(law.conservative(tuple(w)))


def after_step(law, Q, method, flux, boundary, kernels):
    grid = dg.Grid((0,) * law.dim, (1,) * law.dim, Q.shape[:0:-1], periodic=not boundary)
    sim = dg.Simulation(grid, law, method, boundary, lambda x: tuple(Q[:, *(0 * k for k in Q.shape[1:])]), flux=flux,
                        backend="numpy", kernels=kernels)
    state = sim.operator.state(Q)
    return sim.operator.host(sim.operator.advance(state, 0.0, sim.operator.largest_step(state, 0.0)))


SOLID = {"Euler in 3D": dg.Euler(3), "MHD in 3D": dg.MHD(3, cleaning_speed=1.5)}
EXCHANGE = {2: MAPS["exchange"], 3: ((0, 1, 0), (1, 0, 0), (0, 0, 1))}          # of x and y: a turn is that and a mirror
OWN = {"Euler": (dg.hllc, dg.roe, dg.hll, dg.rusanov), "MHD": (dg.hlld, dg.hll, dg.rusanov)}
BITS = [pytest.param(name, dg.FiniteVolume(scheme, splitting, variables=variables), flux, kernels,
                     id=f"{name}, {scheme}, {splitting}, {variables}, {getattr(flux, '__name__', None)}, {kernels}",
                     marks=() if kernels == "array" and (law.dim == 2 or flux in (dg.hllc, dg.hlld)) else pytest.mark.thorough)
        for name, law in (LAWS | SOLID).items()
        for scheme, splitting, variables, flux, kernels in [
            *((*which, "auto", flux, "array") for which in (("first-order", None), ("muscl", "strang"), ("muscl", None))
              for flux in OWN.get(name.partition(" ")[0], (None,))),
            ("weno", None, "auto", None, "array"), ("weno", None, "conserved", None, "array"),
            *([("muscl", None, "characteristic", None, "array")] if law.characteristic else []),
            *([("muscl", None, "auto", OWN[name][0], "fused"), ("weno", None, "auto", None, "fused")] if name in OWN else [])]]


@pytest.mark.parametrize("name, method, flux, kernels", BITS)
def test_finite_volumes_keep_mirrors_and_turns_to_the_last_bit(name, method, flux, kernels):
    """A step of a mirrored state is the mirrored step, without splitting that of a turned one the turned step.

    Fleischmann, Adami & Adams 2019, J. Comput. Phys. 397."""
    law = (LAWS | SOLID)[name]
    boundary = wall_of(law) if method.scheme != "weno" else None
    Q = rough(law)
    end = after_step(law, Q, method, flux, boundary, kernels)
    mirrors = [np.diag(np.where(np.arange(law.dim) == axis, -1, 1)) for axis in range(law.dim)]
    for R in mirrors + [EXCHANGE[law.dim]] * (method.splitting is None):
        np.testing.assert_array_equal(after_step(law, on_grid(law, Q, R), method, flux, boundary, kernels),
                                      on_grid(law, end, R), f"{R}")


@pytest.mark.parametrize("dim", (1, 2, 3))
def test_averages_of_a_start_that_is_its_own_image_are_so_to_the_last_bit(dim):
    """Mirrored along each axis and turned around z, also where values differ much inside of a cell."""
    law, half = dg.Advection((1.0,) * dim), (0.5,) * dim
    grid = dg.Grid(tuple(-h for h in half), half, 8, periodic=True)

    def start(x):
        x, y, z = (*x, 0, 0)[:3]
        r = x * x + y * y
        return (np.where(r < 0.09, 100.0, 0.01) + np.cos(7 * r + 3 * np.abs(z)) / 3,)
    q = dg.Simulation(grid, law, dg.FiniteVolume("muscl"), None, start, kernels="array").operator.project(start)[0]
    images = [np.flip(q, axis) for axis in range(dim)] + ([np.swapaxes(q, -1, -2)] if dim > 1 else [])
    for image in images:
        np.testing.assert_array_equal(image, q)


@pytest.mark.parametrize("kind", [*LINEAR, *VOLUMES])
def test_duality_of_maxwell(kind):
    """(E, H, eps, mu) -> (H, -E, mu, eps) turns TM between perfect electric conductors into TE between magnetic ones."""
    method, TM, TE = METHODS[kind], dg.Maxwell(2, "TM", eps=2.0, mu=1.5), dg.Maxwell(2, "TE", eps=1.5, mu=2.0)
    q = state(TM)

    def dual(q):
        E, H = TM.fields(q)
        return TE.state(H, tuple(-c for c in E))
    points = places(method)
    one = values(run(mesh_for(method), TM, method, q, dg.pec), points, TM)
    other = values(run(mesh_for(method), TE, method, lambda x: dual(q(x)), dg.pmc), points, TE)
    cancels(np.array(dual(tuple(one))), other, 100)


@pytest.mark.parametrize("kind", [*LINEAR, *VOLUMES, *GASES])
@pytest.mark.parametrize("flux", [None, dg.hlld, dg.rusanov], ids=["default", "hlld", "rusanov"])
def test_the_sign_of_the_magnetic_field(kind, flux):
    law, method = LAWS["MHD"], METHODS[kind]
    if kind in ("weno", "shocks", "ranocha") and flux is not None:
        pytest.skip("its flux is its own")
    q, sign = state(law), np.array([1, 1, 1, 1, 1, -1, -1, -1, -1])
    points = places(method)
    one, other = (values(run(mesh_for(method), law, method, lambda x, s=s: tuple(a * c for a, c in zip(s, q(x))), dg.wall,
                             flux=flux), points, law) for s in (np.ones(9), sign))
    cancels(sign[:, None] * one, other, 1e4 if kind == "weno" else 10)


@pytest.mark.parametrize("name", ["Acoustics", "Euler", "MHD"])
@pytest.mark.parametrize("kind", ["tensor", "lobatto", "split", "unsplit", "weno"])
def test_extrusion(name, kind):
    """A plane solution in 3D, of one layer of cells along z or several, is that of 2D."""
    method, plane = METHODS[kind], LAWS[name]
    law = type(plane)(3, **({"cleaning_speed": 1.5} if name == "MHD" else {}))
    q, layers = state(plane), 6 if kind == "weno" else 4

    def extruded(x):
        flat = q(x[:2])
        return flat if name == "MHD" else (*flat[:3], 0.0 * x[0], *flat[3:])
    if isinstance(method, dg.FiniteVolume):
        solid = dg.Grid((0, 0, 0), (1, 1, 1), (8, 8, layers), periodic=(False, False, True))
    else:
        flat = mesh_for(method)
        points = np.concatenate([np.column_stack([flat.points, np.full(len(flat.points), z)]) for z in (0.0, 0.5, 1.0)])
        count, cells = len(flat.points), flat.cells[np.argsort(flat.numbers)]
        bricks = np.concatenate([np.hstack([cells + k * count, cells + (k + 1) * count]) for k in range(2)])
        solid = from_arrays(points, bricks, {"lower": cells, "upper": cells + 2 * count}).periodic(("lower", "upper"))
    points = places(method)
    one = values(run(mesh_for(method), plane, method, q, dg.wall), points, plane)
    z = np.full((1, points.shape[1]), 0.5 / layers if isinstance(method, dg.FiniteVolume) else 0.3)
    other = values(run(solid, law, method, extruded, {"default": dg.wall}), np.concatenate([points, z]), law)
    if name != "MHD":
        assert np.abs(other[3]).max() < 1e-12
        other = np.delete(other, 3, axis=0)
    cancels(one, other, 1e4 if kind == "weno" else 100)


@pytest.mark.parametrize("kind", [*VOLUMES, "tensor", "lobatto", "ranocha"])
@pytest.mark.parametrize("flux", [None, dg.rusanov, dg.hllc, dg.roe], ids=["default", "rusanov", "hllc", "roe"])
def test_motion_along_the_invariant_direction(kind, flux):
    """A gas that depends on x alone does not feel that it moves along y."""
    method, law = METHODS[kind], dg.Euler(2)
    if kind in ("weno", "ranocha") and flux is not None:
        pytest.skip("its flux is its own")
    grid = isinstance(method, dg.FiniteVolume)
    shape = "quadrilateral" if isinstance(method, dg.TensorDG) else "triangle"
    mesh = dg.Grid((0, 0), (1, 1), (16, 8), periodic=True) if grid else dg.rectangle(cells=(6, 3), shape=shape, periodic=True)

    def gas(w):
        def q(x):
            angle = 2 * np.pi * x[0]
            u, p = 0.4 + 0.2 * np.cos(angle), 1 + 0.2 * np.sin(angle + 1)
            return law.conservative((1 + 0.3 * np.sin(angle), u, w + 0 * angle, p))
        return q
    points = np.stack([(np.arange(16) + 0.5) / 16, np.full(16, 1.5 / 8)]) if grid else places(method)
    rest, moving = (values(run(mesh, law, method, gas(w), None, flux=flux), points, law) for w in (0.0, 0.7))
    back = moving.copy()
    back[2] = moving[2] - 0.7 * moving[0]
    back[3] = moving[3] - 0.7 * moving[2] + 0.7 ** 2 / 2 * moving[0]
    cancels(rest, back, 1e4 if kind == "weno" else 100)
