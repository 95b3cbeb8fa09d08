"""Walls through splines: the curves, the condition on every kind of kernels, its order, its errors."""
from types import SimpleNamespace

import numpy as np
import pytest
from emulated import EmulatedDevice, compiler
from meshes import disc
from modal_problems import agree, stage

import dgarray as dg
from dgarray import backends, cases
from dgarray.backends.cuda import CudaBackend
from dgarray.physics.splines import SplinePieces, normal


def pieces(mesh, corner=45.0, name=None):
    """Points (2, point, face) on the edges of a boundary, and the spline's normals there, of length one."""
    faces = mesh.boundary_faces if name is None else mesh.boundaries[name]
    face = SimpleNamespace(**SplinePieces(corner)(mesh, faces))
    a, b = mesh.points[mesh.face_points(faces)].transpose(1, 2, 0)[:, :, None]
    x = a + np.linspace(0.05, 0.95, 7)[:, None] * (b - a)
    N = np.array(normal(x, face))
    return x, N / np.linalg.norm(N, axis=0)


def test_closed_curve():
    """The normals of a circle, which the spline finds with order 3 at least, the same all around."""
    errors = []
    for count in (12, 24, 48):
        x, N = pieces(disc(count))
        radial = x - np.array([2, 1])[:, None, None]
        turned = np.abs(radial[0] * N[1] - radial[1] * N[0]) / np.linalg.norm(radial, axis=0)
        errors.append(turned.max())
        assert np.ptp(turned.max(axis=0)) <= 1e-12
    assert np.all(np.log2(np.divide(errors[:-1], errors[1:])) > 2.9) and errors[0] < 3e-3


@pytest.mark.parametrize("corner, exact", [(45.0, True), (120.0, False)])
def test_corners(corner, exact):
    """Straight sides stay straight where their corners are corners, and only there."""
    mesh = dg.rectangle(cells=(4, 3))
    _, N = pieces(mesh, corner)
    straight = np.minimum(*np.abs(N)).max()
    assert straight <= 1e-14 if exact else straight > 0.1


def test_open_curve():
    """Arcs with ends; they are the same where they are a part of the whole boundary, with corners at their ends."""
    mesh = cases.supersonic_vortex(level=1).mesh
    whole, everywhere = pieces(mesh)[1], mesh.boundary_faces.tolist()
    for name in ("inner", "outer"):
        x, N = pieces(mesh, name=name)
        assert np.abs(x[0] * N[1] - x[1] * N[0]).max() < 2e-4
        here = [everywhere.index(face) for face in mesh.boundaries[name].tolist()]
        assert np.abs(np.abs(N) - np.abs(whole[:, :, here])).max() <= 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("dtype, method", [("float64", dg.ModalDG(2)), ("float32", dg.NodalDG(3))])
def test_fused_kernels(dtype, method):
    """Sound in a disc with more tiles of elements than one; another condition beside the splines."""
    mesh, law, results = disc(41), dg.Acoustics(2), []
    for kind in ("array", "fused"):
        operator = method.discretise(mesh, law, dg.curved_wall("spline"), backends.get("numpy", kind, dtype))
        q = np.random.default_rng(0).standard_normal(operator.shape)
        results.append(stage(operator, q, 0 * q))
    for reference, fused in zip(*results):
        agree(fused, reference, method.order, dtype)


@pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")
@pytest.mark.parametrize("method", [dg.NodalDG(1), dg.ModalDG(1)])
def test_fused_kernels_of_a_gpu(method):
    """In CUDA C and in numba.cuda kernels."""
    mesh, law = disc(9), dg.Acoustics(2)
    arrays, gpu = (method.discretise(mesh, law, dg.curved_wall("spline"), backend)
                   for backend in (backends.get("numpy", "array"), CudaBackend("float64", EmulatedDevice())))
    q = np.random.default_rng(0).standard_normal(arrays.shape)
    agree(gpu.host(gpu.rhs(gpu.state(q), 0.0)), arrays.rhs(q, 0.0), 1, "float64")


def test_scattered_fields_at_a_spline():
    """Without an incident field it is the wall itself."""
    mesh, law, found = disc(8), dg.Acoustics(2), []
    spline = dg.curved_wall("spline")
    for condition in (spline, dg.scattered(spline, lambda x, t: (0.0, 0.0, 0.0))):
        operator = dg.NodalDG(2).discretise(mesh, law, condition, backends.get("numpy", "array"))
        found.append(operator.rhs(np.random.default_rng(0).standard_normal(operator.shape), 0.0))
    assert np.abs(found[1] - found[0]).max() <= 1e-13 * np.abs(found[0]).max()


@pytest.mark.thorough
@pytest.mark.parametrize("order", [1, 2])
def test_full_order_as_with_the_known_normal(order):
    run = {"backend": "numpy", "kernels": "array", "threads": 1}
    rows = {walls: dg.eoc(cases.supersonic_vortex, [order], 2, run=run, walls=walls, until=0.2)
            for walls in ("spline", "curved", "straight")[:4 - order]}
    error = {walls: row[-1]["l2_error"] for walls, row in rows.items()}
    assert rows["spline"][-1]["eoc"] > order + 0.85
    assert error["spline"] < 1.05 * error["curved"] < 0.5 * error.get("straight", np.inf)


def test_explained(capsys):
    dg.explain(dg.curved_wall("spline"), law=dg.Acoustics(2))
    assert "p+ = p-" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:mesh. 2 components")
def test_errors():
    with pytest.raises(ValueError, match="curved_wall: the normal 'splin' does not exist; allowed: spline"):
        dg.curved_wall("splin")
    with pytest.raises(ValueError, match="corner=0 is not allowed; it must be an angle in degrees, above 0 and at most 180"):
        dg.curved_wall("spline", corner=0)
    with pytest.raises(ValueError, match=r"curved_wall\('spline', corner=45\) is for 2D, but the law is Acoustics\(dim=3"):
        dg.Simulation(dg.box(cells=(1, 1, 1)), dg.Acoustics(3), dg.NodalDG(1), dg.curved_wall("spline"))
    with pytest.raises(ValueError, match="needs a law of Acoustics, Euler or MHD type"):
        dg.Simulation(disc(5), dg.Advection((1, 0), dim=2), dg.NodalDG(1), dg.curved_wall("spline"))
    points = np.array([[0, 0], [-1, -1], [1, -1], [1, 1], [-1, 1.0]])
    fork = dg.mesh.from_arrays(points, np.array([(0, 1, 2), (0, 3, 4)]))
    with pytest.raises(ValueError, match=r"forks at \(0, 0\), where 4 of its faces meet; give each curve a name"):
        dg.Simulation(fork, dg.Acoustics(2), dg.NodalDG(1), dg.curved_wall("spline"))
