"""Curved cells: meshes of files and of maps, location, and tensor-product DG on them with all of its output."""
import warnings
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from meshes import ball
from references import mesh_path, parameters
from scipy.special import j0, j1, jn_zeros
from strict import StrictNamespace
from tensor_problems import laws, run

import dgarray as dg
from dgarray import backends, cases
from dgarray.analysis import farfield
from dgarray.backends.arrays import ArrayBackend
from dgarray.cases.ball_cavity import to_sphere, wave_number
from dgarray.mesh import MeshError, from_arrays, read_mesh
from dgarray.mesh.curved import cell_maps
from dgarray.mesh.curved.parts import edge_lines
from dgarray.mesh.locate import Locator
from dgarray.mesh.partition import partition
from dgarray.methods.dg.tensor_geometry import are_affine
from dgarray.output.pictures.triangles import outlines

TENSOR = {2: "quadrilateral", 3: "hexahedron"}
MEASURE = {2: np.pi, 3: 4 * np.pi / 3}


def bent(x):
    """Moves points inside of the unit square or cube, and along its boundary."""
    wave = np.prod([np.sin(np.pi * c) for c in x], axis=0)
    return tuple(c + 0.06 * (i + 1) * wave * np.cos(2 * x[i - 1]) for i, c in enumerate(x))


def bent_mesh(dim, cells=2, order=3, shape=None, **options):
    """The unit square or cube in curved cells."""
    mesh = (dg.rectangle if dim == 2 else dg.box)(cells=cells, shape=shape or TENSOR[dim], **options)
    return mesh.mapped(bent, order=order)


def cubic(x):
    return 1 + x[0] - x[1] ** 2 + x[0] ** 2 * x[-1]


# Meshes.

FILES = {
    "gmsh_sv_o2_v22.msh": (0.7189975316, 2, 38), "gmsh_sv_o2_v41.msh": (0.7189975316, 2, 38),
    "gmsh_sv_o3_v22.msh": (0.7189974506, 3, 38), "gmsh_sv_quad_o2_v22.msh": (0.7189975316, 2, 38),
    "gmsh_hexdemo_o2_v41.msh": (3, 1, 0), "meshmode_blob2d-order4-h8e-2.msh": (0.2303376714, 4, 24),
    "mfem_fichera-q2.vtk": (6.762848046, 2, 7), "mfem_periodic-annulus-sector.msh": (1.570795188, 3, 8),
    "mfem_square-disc-p2.vtk": (0.8757701227, 2, 154), "mfem_star-q2.vtk": (4.755276696, 2, 20),
}


@pytest.mark.parametrize("name", parameters(FILES, mesh_path))
def test_curved_cells_of_files(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mesh = read_mesh(mesh_path(name))
        again, straight = mesh.mapped(lambda x: x), mesh.mapped(lambda x: x, order=1)
    measure, order, curved = FILES[name]
    assert mesh.measures.sum() == pytest.approx(measure, rel=2e-9)
    assert (mesh.order, np.count_nonzero(mesh.is_curved)) == (order, curved)
    finer = mesh.refined()
    assert finer.measures.sum() == pytest.approx(measure, rel=2e-9)
    assert np.allclose(again.measures, mesh.measures, rtol=1e-12) and again.order == order
    assert straight.order == 1


@pytest.mark.parametrize("shape", ["triangle", "quadrilateral", "tetra", "hexahedron"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_area_and_volume_of_the_ball(shape, order):
    """The error falls with the order g + 1 at least, and g + 2 for even g."""
    dim = 2 if shape in ("triangle", "quadrilateral") else 3
    errors = []
    for level in (2, 3) if shape == "tetra" else (1, 2):
        mesh = ball(shape, level, order)
        errors.append(abs(mesh.measures.sum() / MEASURE[dim] - 1))
        rows = mesh.boundary_faces
        assert np.allclose(np.linalg.norm(mesh.points[mesh.face_points(rows)], axis=2), 1, atol=1e-14)
        assert mesh.is_curved.any() == (order > 1)
        assert mesh.refined().measures.sum() == pytest.approx(mesh.measures.sum(), rel=1e-12)          # the same shape
    assert np.log2(errors[0] / errors[1]) > order + 0.8 + (order == 2)


@pytest.mark.parametrize("shape", ["triangle", "quadrilateral", "tetra", "hexahedron"])
def test_points_are_found_in_curved_cells(shape):
    dim = 2 if shape in ("triangle", "quadrilateral") else 3
    mesh = ball(shape, 2 if shape == "tetra" else 1, 3)
    x = np.random.default_rng(0).uniform(-1, 1, (2000, dim))
    x = x[np.linalg.norm(x, axis=1) < 0.99]
    element, r = Locator(mesh.points, mesh.cells, mesh.geometry_nodes).find(x)
    assert (element >= 0).all()
    back = np.array([cell_maps.positions(mesh, place[None], [cell])[:, 0, 0] for place, cell in zip(r, element)])
    assert np.allclose(back, x, atol=1e-12)
    outside = 1.01 * x / np.linalg.norm(x, axis=1, keepdims=True)
    assert (Locator(mesh.points, mesh.cells, mesh.geometry_nodes).find(outside)[0] < 0).all()


@pytest.mark.parametrize("dim, order", [(2, 2), (2, 5), (3, 2), (3, 3)])
def test_curved_cells_meet_those_of_half_their_size(dim, order):
    """A cell that is split keeps its place, and the faces that hang are those of straight cells."""
    mesh, straight = bent_mesh(dim, 3, order), bent_mesh(dim, 3, 1)
    refined, without = (each.refined([0, 1, 5]) for each in (mesh, straight))
    assert len(refined.hanging) == len(without.hanging) > 0 and refined.order == order
    assert np.isclose(refined.measures.sum(), mesh.measures.sum(), rtol=1e-13)
    for cell in (0, 1, 5):
        family = refined.numbers // 2 ** dim == mesh.numbers[cell]
        assert family.sum() == 2 ** dim and np.isclose(refined.measures[family].sum(), mesh.measures[cell], rtol=1e-12)
    moved = refined.mapped(lambda x: [2 * c + 0.1 for c in x])
    assert len(moved.hanging) == len(refined.hanging) and moved.order == order
    assert len(refined.mapped(lambda x: x, order=1).hanging) == len(refined.hanging)
    assert len(refined.refined().hanging) == 2 ** (dim - 1) * len(refined.hanging)
    with pytest.raises(MeshError, match="different geometry on the face that they share"):
        refined.mapped(bent)


@pytest.mark.parametrize("order", [1, 3])
def test_outlines_are_those_of_the_mesh_and_of_regions_not_of_hanging_nodes(order):
    mesh = bent_mesh(2, 3, order).with_regions({"low": lambda x: x[1] < 0.4})
    corner, middle = (np.linalg.norm(mesh.centroids - place, axis=1).argmin() for place in (0.1, (0.5, 0.5)))
    for cells, more in (([corner], 2 + 2), ([middle], 2)):          # halves of edges of the boundary, and of the line between
        sim = dg.Simulation(mesh.refined(cells), dg.Advection((1.0, 0.5)), dg.TensorDG(3), dg.outflow, backend="numpy",
                            kernels="array")
        assert len(outlines(sim.run(until=1e-3))) == 12 + 3 + more


def test_bad_curves_are_refused():
    square = dg.rectangle(cells=2, shape="quadrilateral")
    wrong = [(lambda: square.curved(11, to_sphere), "order=11 .* from 1 to 10"),
             (lambda: square.curved(2.5, to_sphere), "order=2.5"),
             (lambda: square.curved(2, to_sphere, "lid"), "'lid' is not in the mesh"),
             (lambda: square.curved(2, lambda x: x[0]), "must return 2 coordinates"),
             (lambda: square.curved(2, 0.1), "the map of the boundary is 0.1; it must be a function of x"),
             (lambda: square.curved(2, lambda x: (x[0] / 0, x[1]), "left"), "is not finite at"),
             (lambda: square.curved(2, lambda x: (x[0] + 4 * x[1] * (1 - x[1]), x[1]), "left"), "folded or degenerate"),
             (lambda: square.refined([0]).mapped(bent, order=2), "curve a mesh first, and then refine it"),
             (lambda: from_arrays(square.points, square.cells, geometry_nodes=np.zeros((4, 8, 2))), "8 geometry nodes")]
    with np.errstate(all="ignore"):
        for make, message in wrong:
            with pytest.raises((MeshError, TypeError), match=message):
                make()


def test_neighbours_with_different_geometry_are_refused():
    mesh = bent_mesh(2)
    nodes = mesh.geometry_nodes.copy()
    inner = np.flatnonzero((nodes[0] > 0.05).all(axis=1) & (nodes[0] < 0.45).all(axis=1))
    nodes[0, inner] += 0.01          # inside of the cell: allowed
    from_arrays(mesh.points, mesh.cells, geometry_nodes=nodes)
    nodes = mesh.geometry_nodes.copy()
    nodes[0] += 0.01 * np.sin(np.pi * nodes[0, :, :1])
    with pytest.raises(MeshError, match="have different geometry on the face that they share"):
        from_arrays(mesh.points, mesh.cells, geometry_nodes=nodes)


def test_periodic_faces_keep_one_shape():
    mesh = dg.rectangle(cells=(3, 2), shape="quadrilateral").mapped(
        lambda x: (x[0], x[1] + 0.1 * np.sin(2 * np.pi * x[0])), order=3)
    around = mesh.periodic(("bottom", "top"), ("left", "right"))
    assert not len(around.boundary_faces) and around.is_curved.all()
    lid = mesh.curved(3, lambda x: (x[0], x[1] + 0.2 * x[0] * (1 - x[0])), "top")
    with pytest.raises(MeshError, match="'bottom' and 'top' do not match"):
        lid.periodic(("bottom", "top"))


# TensorDG.

@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("name", ["advection", "acoustics", "maxwell", "euler", "mhd"])
def test_free_stream(name, dim, nodes):
    """A uniform state stays uniform. Kopriva 2006."""
    law, uniform = laws(dim)[name]
    mesh = bent_mesh(dim)
    assert not are_affine(mesh)
    split = dg.central if (name, dim, nodes) == ("maxwell", 3, "lobatto") else None          # the weak form is refused
    operator = dg.Simulation(mesh, law, dg.TensorDG(3, nodes, volume_flux=split), boundary=lambda q: q,
                             initial=lambda x: uniform, backend="numpy", kernels="array").operator
    o, shape = operator.operations, operator.shape
    q = np.broadcast_to(np.array(uniform)[:, None, None], shape).copy()
    rough = q * (1 + 0.05 * np.random.default_rng(0).random(shape))
    scale = np.abs(o.host(o.rhs(o.state(rough), 0.0))).max()
    assert np.abs(o.host(o.rhs(o.state(q), 0.0))).max() < 1e-11 * scale


@pytest.mark.parametrize("dim", [2, 3])
def test_conservation(dim):
    law, _ = laws(dim)["euler"]
    walls = bent_mesh(dim, order=2)
    sim = dg.Simulation(walls, law, dg.TensorDG(4), boundary=dg.wall, backend="numpy", kernels="array",
                        initial=lambda x: law.conservative((1 + 0.1 * np.sin(3 * x[0]), *(0 * c for c in x), 1 + 0.1 * x[1])))
    ds = sim.run(0.05)
    for name in ("rho", "E"):
        before, after = (ds.dg.integral(name, time) for time in (0, -1))
        assert after == pytest.approx(before, rel=1e-12)


def test_observed_order():
    """Sound in a disc with a wall: modes J_0(k r) cos(k t). The orders of TensorDG on curved cells."""
    k = jn_zeros(1, 1)[0]

    def exact(x, t):
        r = np.sqrt(x[0] ** 2 + x[1] ** 2) + 1e-300
        v = j1(k * r) * np.sin(k * t)
        return j0(k * r) * np.cos(k * t), v * x[0] / r, v * x[1] / r
    for order in (2, 3):
        errors = []
        for level in (2, 3):
            _, ds = run(ball("quadrilateral", level, order), dg.Acoustics(2), dg.TensorDG(order), lambda x: exact(x, 0.0),
                        until=0.3, boundary=dg.wall)
            errors.append(ds.dg.error(exact)["total"])
        assert np.log2(errors[0] / errors[1]) > order + 0.7
        _, ds = run(ball("quadrilateral", 3), dg.Acoustics(2), dg.TensorDG(order), lambda x: exact(x, 0.0), until=0.3,
                    boundary=dg.wall)
        assert ds.dg.error(exact)["total"] > 3 * errors[1]          # straight cells


@pytest.mark.parametrize("dim", [2, 3])
def test_parts_of_a_mesh(dim):
    mesh = bent_mesh(dim)
    for part in partition(mesh, np.arange(len(mesh.cells)) % 2):
        assert np.allclose(part.geometry_nodes, mesh.geometry_nodes[part.share.cells])
        assert np.allclose(part.measures, mesh.measures[part.share.cells], rtol=1e-14)


def test_maps_of_a_higher_degree_than_the_method_are_refused():
    for order in (0, 1, 2):
        message = rf"order={order} needs quadrilaterals with maps of at most that degree, .*; take order=3 or more, or mesh"
        with pytest.raises(ValueError, match=message):
            run(bent_mesh(2), dg.Acoustics(2), dg.TensorDG(order), lambda x: (0, 0, 0), boundary=dg.wall)


# Curved triangles and tetrahedra.

def partly_bent(dim, **options):
    """The unit square or cube in triangles or tetrahedra, of which those at x > 0.5 are curved."""
    def function(x):
        inside = (np.clip(2 * x[0] - 1, 0, 1), *x[1:])
        return tuple(c + b - a for c, a, b in zip(x, inside, bent(inside)))
    return (dg.rectangle if dim == 2 else dg.box)(cells=(4, 2, 1)[:dim], **options).mapped(function, order=3)


METHODS = [dg.NodalDG(3), dg.NodalDG(2, quadrature=5), dg.ModalDG(0), dg.ModalDG(3)]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("dim", [2, 3])
def test_free_stream_on_simplices(dim, method):
    mesh = partly_bent(dim)
    assert 0 < np.count_nonzero(mesh.is_curved) < len(mesh.cells)
    for law, uniform in laws(dim).values():
        operator = dg.Simulation(mesh, law, method, boundary=lambda q: q, initial=lambda x, u=uniform: u,
                                 backend="numpy", kernels="array").operator
        o, q = operator, operator.project(lambda x, u=uniform: u)
        rough = q * (1 + 0.05 * np.random.default_rng(0).random(q.shape))
        scale = np.abs(o.host(o.rhs(o.state(rough), 0.0))).max()
        assert np.abs(o.host(o.rhs(o.state(q), 0.0))).max() < 1e-11 * scale


@pytest.mark.parametrize("method", METHODS[:2] + METHODS[3:], ids=repr)
@pytest.mark.parametrize("dim", [2, 3])
def test_nothing_is_lost_on_simplices(dim, method):
    law, _ = laws(dim)["euler"]
    sim = dg.Simulation(partly_bent(dim), law, method, boundary=dg.wall, backend="numpy", kernels="array",
                        initial=lambda x: law.conservative((1 + 0.1 * np.sin(3 * x[0]), *(0.2 * c for c in x), 1 + 0.1 * x[1])))
    ds = sim.run(0.05)
    for name in ("rho", "E"):
        assert ds.dg.integral(name, -1) == pytest.approx(ds.dg.integral(name, 0), rel=1e-13)


@pytest.mark.thorough
@pytest.mark.parametrize("flux", [dg.upwind, dg.central])
def test_energy_does_not_grow_on_simplices(flux):
    """Waves in a smooth medium, with the weight-adjusted inverse of the mass matrix."""
    def eps(x):
        return 1 + 0.5 * x[0] ** 2
    _, ds = run(ball("triangle", 1, 3), dg.Maxwell(2, eps=eps), dg.NodalDG(3), until=10.0, flux=flux, boundary=dg.pec,
                initial=lambda x: (0, 0, np.exp(-8 * ((x[0] - 0.2) ** 2 + x[1] ** 2))))
    energy = []
    for time in (0, -1):
        q, energy_now = np.stack([ds.dg.values(name, time).T for name in ("Hx", "Hy", "Ez")]), 0.0
        for part in ds.dg.space.parts():
            hx, hy, ez = part.values(q)
            energy_now += part.integrate(eps(part.x) * ez ** 2 + hx ** 2 + hy ** 2)
        energy.append(energy_now)
    assert 0.5 * energy[0] < energy[1] < 1.01 * energy[0]


@pytest.mark.thorough
@pytest.mark.parametrize("method", [dg.NodalDG(3), dg.NodalDG(2, quadrature=5), dg.ModalDG(3)], ids=repr)
@pytest.mark.parametrize("name", ["euler", "acoustics"])
def test_kernels_and_arrays_agree_on_simplices(name, method):
    """Also with sources, media and boundary conditions in curved and straight elements, and on several threads."""
    law, uniform = laws(2)[name]
    if name == "acoustics":
        law = dg.Acoustics(2, density=lambda x: 1 + 0.3 * x[0])

    def source(q, x, t):
        return (np.sin(3 * x[0] + t), *(0.1 * c for c in q[1:]))
    states = []
    for kernels in ("fused", "array"):
        sim = dg.Simulation(partly_bent(2), law, method, boundary=dg.wall, source=source, backend="numpy", threads=2,
                            kernels=kernels, initial=lambda x: tuple(u * (1 + 0.1 * np.sin(4 * x[0] + x[1])) for u in uniform))
        ds = sim.run(0.05)
        states.append(np.stack([ds[variable].values[-1] for variable in law.variables]))
        assert sim.report["kernels"] == kernels
    assert np.abs(states[0] - states[1]).max() < 1e-12


def bessel_mode(x, t):
    """The second radial TM mode of the disc with a conducting wall."""
    k, r = jn_zeros(0, 2)[1], np.sqrt(x[0] ** 2 + x[1] ** 2) + 1e-300
    h = -j1(k * r) * np.sin(k * t)
    return -h * x[1] / r, h * x[0] / r, j0(k * r) * np.cos(k * t)


@pytest.mark.parametrize("method", [dg.NodalDG, dg.ModalDG])
def test_observed_order_on_triangles(method):
    """Above the order of straight cells, 2."""
    for order in (1, 2, 3, 4):
        errors = []
        for level in (2, 3):
            _, ds = run(ball("triangle", level, max(order, 2)), dg.Maxwell(2), method(order), lambda x: bessel_mode(x, 0.0),
                        until=0.3, boundary=dg.pec)
            errors.append(ds.dg.error(bessel_mode)["total"])
        assert np.log2(errors[0] / errors[1]) > order + 0.8
    _, ds = run(ball("triangle", 2), dg.Maxwell(2), method(4), lambda x: bessel_mode(x, 0.0), until=0.3, boundary=dg.pec)
    assert ds.dg.error(bessel_mode)["total"] > 100 * errors[0]          # straight cells


@pytest.mark.thorough
@pytest.mark.parametrize("order, level, mode", [(1, 2, "TM"), (2, 1, "TM"), (3, 1, "TM"), (3, 2, "TE"), (4, 1, "TM")])
def test_observed_order_in_a_ball(order, level, mode):
    sims = [cases.ball_cavity(order, each, mode=mode).replace(backend="numpy") for each in (level, level + 1)]
    for sim in sims:
        sim.run()
    coarse, fine = (sim.report["l2_error"]["total"] for sim in sims)
    assert np.log2(coarse / fine) > order + 0.7


@pytest.mark.parametrize("mode, known", [("TE", (4.493409458, 7.725251837)), ("TM", (2.743707270, 6.116764264))])
def test_wave_numbers_of_a_ball(mode, known):
    assert [wave_number(mode, 1, n) for n in (1, 2)] == pytest.approx(known, rel=1e-9)
    assert wave_number("TE", 2, 3) == pytest.approx(12.322940971, rel=1e-9)
    assert wave_number("TM", 7, 1) == pytest.approx(9.275463486, rel=1e-9)


def test_observed_order_on_curved_lines():
    def exact(x, t):
        return (np.sin(2 * np.pi * (x[0] - t)),)
    errors = []
    for cells in (6, 12):
        mesh = dg.interval(0, 1, cells, periodic=True).mapped(lambda x: (x[0] + 0.1 * np.sin(2 * np.pi * x[0]),), order=3)
        _, ds = run(mesh, dg.Advection((1.0,)), dg.NodalDG(3), lambda x: exact(x, 0.0), until=0.5)
        errors.append(ds.dg.error("u", exact))
    assert np.log2(errors[0] / errors[1]) > 3.8


@pytest.mark.thorough
def test_the_time_step_of_a_nonlinear_law_is_stable_on_curved_triangles():
    law, _ = laws(2)["euler"]
    q, ds = run(ball("triangle", 1, 3), law, dg.ModalDG(3), lambda x: law.conservative(
        (1 + 0.1 * np.exp(-8 * x[0] ** 2), 0 * x[0], 0 * x[0], 1 + 0.1 * np.exp(-8 * x[0] ** 2))), until=3.0, boundary=dg.wall)
    assert np.isfinite(q).all() and ds.dg.norm("rho", -1) < 1.001 * ds.dg.norm("rho", 0)


@pytest.mark.thorough
@pytest.mark.parametrize("method, name, stepper", [
    (dg.NodalDG(3), "maxwell", "lsrk54"), (dg.ModalDG(2), "euler", "ssp33")], ids=["nodal", "modal"])
def test_kernels_for_straight_cells_beside_curved_ones(method, name, stepper):
    law, uniform = laws(2)[name]
    states = []
    for kernels in ("array", "fused"):
        q, _ = run(partly_bent(2), law, method, lambda x: tuple(u * (1 + 0.1 * np.sin(3 * x[0] + x[1])) for u in uniform),
                   kernels=kernels, stepper=stepper, boundary=lambda q: q)
        states.append(q)
    assert np.allclose(*states, rtol=0, atol=1e-13 * np.abs(states[0]).max())


def test_curved_elements_on_strict_arrays():
    """Arrays of a device are not converted to NumPy on the way."""
    law, uniform = laws(2)["euler"]
    for method in (dg.NodalDG(2), dg.ModalDG(2)):
        plain = method.discretise(partly_bent(2), law, dg.wall, backends.get("numpy", "array", "float64"))
        strict = plain.on(ArrayBackend(StrictNamespace(), "float64", "strict"))
        q = plain.project(lambda x: tuple(u * (1 + 0.1 * np.sin(3 * x[0] + x[1])) for u in uniform))
        results = [operator.host(operator.rhs(operator.state(q), 0.0)) for operator in (plain, strict)]
        assert np.allclose(*results, rtol=0, atol=1e-13 * np.abs(results[0]).max())


def test_the_far_field_integrates_over_curved_faces():
    mesh = ball("tetra", 1, 3)
    mesh = replace(mesh, boundaries={"sphere": mesh.boundary_faces})
    _, ds = run(mesh, dg.Maxwell(3), dg.NodalDG(3), lambda x: (0, 0, np.exp(-4 * x[0] ** 2), 0, 0, 0), boundary=dg.pec,
                record={"surface": dg.Fourier([1.0], boundary="sphere")})
    assert farfield.enclosed_volume(ds.dg.record("surface")) == pytest.approx(mesh.measures.sum(), rel=1e-6)


def test_what_curved_simplices_do_not_run_with():
    mesh = ball("triangle", 0, 2)
    with pytest.raises(ValueError, match="on the curved cells of mesh, curved; take limiter='vertex'"):
        run(mesh, dg.Euler(2), dg.ModalDG(1, limiter="barth-jespersen"), lambda x: (1, 0, 0, 1), boundary=dg.wall)
    part = partition(mesh, np.arange(6) % 2)[0]
    with pytest.raises(ValueError, match="part 0 of 2 is a part of a mesh; give the whole mesh"):
        run(part, dg.Acoustics(2), dg.NodalDG(2), lambda x: (0, 0, 0), boundary=dg.wall)


# Output.

CELLS = {2: 2, 3: (2, 1, 1)}


@pytest.fixture(scope="module", params=["quadrilateral", "hexahedron", "triangle", "tetra"])
def result(request, tmp_path_factory):
    """(dimension, dataset from memory, the same from a store) of a polynomial on curved cells."""
    dim = 2 if request.param in ("triangle", "quadrilateral") else 3
    path = tmp_path_factory.mktemp("curves") / f"{dim}.zarr"
    method = dg.NodalDG(6, "interpolation") if request.param in ("triangle", "tetra") else dg.TensorDG(6)
    sim = dg.Simulation(bent_mesh(dim, CELLS[dim], 2, request.param), dg.Advection((0.0,) * dim), method, boundary=lambda q: q,
                        initial=lambda x: (cubic(x),), backend="numpy", kernels="array")
    ds = sim.run(1e-9, out=path)
    return dim, ds, xr.open_zarr(path)


def test_fields_norms_and_points(result):
    dim, ds, again = result
    for data in (ds, again):
        assert data.dg.geometry_nodes is not None
        x = np.random.default_rng(1).uniform(0, 1, (300, dim))
        assert np.allclose(data.dg.sample(x, time=-1)["u"], cubic(x.T), atol=1e-12)
        assert data.dg.integral("u") == pytest.approx(1 + 1 / 2 - 1 / 3 + 1 / 6, rel=1e-12)
        assert data.dg.error("u", lambda x, t: (cubic(x),)) < 1e-12
        slope = data.dg.gradient("u", time=-1)
        assert np.allclose(slope["du_dx"], 1 + 2 * data["x"] * data["xyz"[dim - 1]], atol=1e-9)
        assert np.allclose(data.dg.bounds, [[0] * dim, [1] * dim])
    assert np.array_equal(ds["u"], again["u"]) and np.array_equal(ds.dg.cell_mean("u"), again.dg.cell_mean("u"))
    shape = ds.dg.cell_shape.name
    whole = ds.dg.cell_mean("u", -1).values @ bent_mesh(dim, CELLS[dim], 2, shape).measures
    assert whole == pytest.approx(ds.dg.integral("u"), rel=1e-10)


def test_slices(result):
    dim, _, ds = result
    for plane in ("x=0.3", "y=0.5", "x=0", ((0.2,) * dim, (1.0, 0.5, 0.3)[:dim])):
        flat = ds.dg.slice(plane, time=-1)
        assert np.allclose(flat["u"], cubic([flat[axis].values for axis in "xyz"[:dim]]), atol=1e-8)
        if isinstance(plane, str):
            assert flat.dg.jacobians.sum() * 2 == pytest.approx(1)          # the square or line is covered once


def test_surfaces(result):
    dim, _, ds = result
    face = ds.dg.surface("right", time=-1)
    assert np.allclose(face["x"], 1) and np.allclose(face["normal_x"], 1) and face["area"].sum() == pytest.approx(1)
    assert np.allclose(face["u"], cubic([face[axis].values for axis in "xyz"[:dim]]), atol=1e-12)


def test_vtk_cells(result, tmp_path):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    dim, _, ds = result
    path = ds.dg.to_vtk(tmp_path / "out.vtu")
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    grid = reader.GetOutput()
    x = vtk_to_numpy(grid.GetPoints().GetData())
    assert np.allclose(vtk_to_numpy(grid.GetPointData().GetArray("u")), cubic(x.T[:dim]), atol=1e-11)
    sizes = vtk.vtkCellSizeFilter()
    sizes.SetInputData(grid)
    sizes.Update()
    name = {2: "Area", 3: "Volume"}[dim]
    found = vtk_to_numpy(sizes.GetOutput().GetCellData().GetArray(name))[:grid.GetNumberOfCells()]
    assert found[found > 0].sum() == pytest.approx(1, rel=0.02)          # VTK measures pieces of the cells


def test_ugrid_and_pictures(result, tmp_path):
    dim, _, ds = result
    flat = ds if dim == 2 else ds.dg.slice("z=0.4")
    faces = flat.dg.to_ugrid(4, time=-1)
    assert np.allclose(faces["u"], cubic([faces["mesh2d_face_x"], faces["mesh2d_face_y"], 0.4][:dim]), atol=0.05)
    if dim == 2:
        assert np.allclose(ds.dg.to_ugrid(time=-1)["u"], ds.dg.cell_mean("u", -1), rtol=1e-12)
    for mesh in (False, True)[dim - 2:]:
        ds.dg.plot("u", path=tmp_path / f"{mesh}.png", mesh=mesh, **({} if dim == 2 else {"slice": "z=0.4"}))
        assert (tmp_path / f"{mesh}.png").stat().st_size > 1000


def test_the_outline_of_a_picture_is_curved():
    _, ds = run(ball("quadrilateral", 1, 4), dg.Advection((0.0, 0.0)), dg.TensorDG(4), lambda x: (x[0],), until=1e-9,
                boundary=lambda q: q)
    lines = edge_lines(ds.dg, outlines(ds))
    assert np.allclose(np.linalg.norm(lines, axis=2), 1, atol=1e-4) and lines.shape[1] > 2


def test_restart_gives_the_same_numbers(tmp_path):
    def simulation():
        return dg.Simulation(ball("quadrilateral", 0, 3), dg.Acoustics(2), dg.TensorDG(3), boundary=dg.wall,
                             initial=lambda x: (np.exp(-4 * x[0] ** 2), 0, 0), backend="numpy", kernels="array")
    whole = simulation().run(0.2, 0.1)
    simulation().run(0.1, 0.1, tmp_path / "half.zarr")
    rest = simulation().run(0.2, 0.1, tmp_path / "half.zarr", restart=True)
    assert np.array_equal(rest["p"][-1], whole["p"][-1])
