"""Named faces inside of a mesh: their sides, and integrals and fields on them."""
import meshio
import numpy as np
import pytest

import dgarray as dg
from dgarray.mesh import MeshError, MeshWarning, from_arrays
from dgarray.mesh.describe import describe

SHAPES = {"line": dg.interval(0, 1, 4), "triangle": dg.rectangle(cells=4), "tetra": dg.box(cells=4),
          "quadrilateral": dg.rectangle(cells=4, shape="quadrilateral"), "hexahedron": dg.box(cells=4, shape="hexahedron")}


def core(x):
    return np.all([abs(c - 0.5) < 0.25 for c in x], axis=0)


def with_core(mesh):
    """The mesh with the regions "core" and "around", and the closed interface "skin" between them."""
    mesh = mesh.with_regions({"core": core, "around": lambda x: ~core(x)})
    return mesh.with_interfaces({"skin": ("core", "around")})


def bent(x):
    return (x[0] + 0.2 * x[0] * (1 - x[0]) * x[-1], *x[1:])


def simulation(mesh, **record):
    """A state at rest in the method of the mesh: v = 2 x, so that div v = 2 dim."""
    method = dg.TensorDG(3) if mesh.cell_type in ("quadrilateral", "hexahedron") else dg.NodalDG(3)
    return dg.Simulation(mesh, dg.Acoustics(mesh.dim), method, dg.wall, lambda x: (0 * x[0], *(2 * c for c in x)),
                         backend="numpy", kernels="array", until=1e-9, record=record)


def through(q, n):
    return sum(v * k for v, k in zip(q[1:], n))


CHANGES = [lambda mesh: mesh, lambda mesh: mesh.refined(), lambda mesh: mesh.mapped(bent),
           lambda mesh: mesh.mapped(bent, 2).refined()]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("change", CHANGES, ids=["plain", "refined", "mapped", "curved"])
def test_divergence_theorem(shape, change):
    """The integral of v . n over a closed interface is that of div v inside; seen from outside it is the opposite."""
    mesh = change(with_core(SHAPES[shape]))
    mesh = mesh.with_interfaces({"from outside": ("around", "core")})
    sim = simulation(mesh, out=dg.BoundaryIntegral("skin", through), back=dg.BoundaryIntegral("from outside", through))
    ds = sim.run()
    inside = 2 * mesh.dim * mesh.measures[mesh.regions["core"]].sum()
    found = {name: float(ds.dg.record(name)["through"][0]) for name in ("out", "back")}
    assert found == pytest.approx({"out": inside, "back": -inside}, rel=1e-7)


def test_where_nodes_hang():
    mesh = with_core(SHAPES["quadrilateral"])
    for region in "core", "around":
        fine = mesh.refined(region)
        assert len(fine.hanging) == 8 and len(fine.interfaces["skin"]) == (16 if region == "core" else 8)
        ds = simulation(fine, out=dg.BoundaryIntegral("skin", through)).run()
        assert float(ds.dg.record("out")["through"][0]) == pytest.approx(4 * 0.25, rel=1e-7)


def test_fields_on_an_interface():
    ds = simulation(with_core(SHAPES["triangle"]), skin=dg.SurfaceFields("skin", every=1)).run()
    fields = ds.dg.record("skin")
    assert np.allclose(fields["vx"].isel(time=0), 2 * fields["x"])
    outward = (fields["x"] - 0.5) * fields["normal_x"] + (fields["y"] - 0.5) * fields["normal_y"]
    assert np.allclose(outward, 0.25) and float(fields["area"].sum()) == pytest.approx(2.0)


def test_energy_that_goes_through_a_section():
    """The Poynting vector through it, over time, is the energy beyond it."""
    mesh = dg.rectangle((0, 0), (2, 1), (16, 8)).with_regions({"a": lambda x: x[0] < 1, "b": lambda x: x[0] > 1})
    mesh = mesh.with_interfaces({"section": ("a", "b")})
    law = dg.Maxwell(2)

    def poynting(q, n):
        Hx, Hy, Ez = q
        return -Ez * Hy * n[0] + Ez * Hx * n[1]

    def energy(q, x):
        return np.where(x[0] > 1, sum(c * c for c in q) / 2, 0.0)

    def pulse(x):
        return 0 * x[0], 0 * x[0], np.exp(-40 * ((x[0] - 0.6) ** 2 + (x[1] - 0.5) ** 2))
    ds = dg.Simulation(mesh, law, dg.NodalDG(4), dg.pec, pulse, until=0.8, backend="numpy", kernels="array", record={
        "power": dg.BoundaryIntegral("section", poynting), "beyond": dg.VolumeIntegral(energy)}).run()
    power, energy = ds.dg.record("power")["poynting"], ds.dg.record("beyond")["energy"]
    assert float(energy[0]) < 1e-5 < 0.005 < float(energy[-1])
    assert float(power.integrate("time")) == pytest.approx(float(energy[-1] - energy[0]), rel=2e-3)


@pytest.mark.parametrize("shape", ["triangle", "tetra", "quadrilateral", "hexahedron"])
def test_groups_of_a_file(tmp_path, shape):
    """Faces of a group that have been written in either direction point to one side, that of most of them."""
    mesh = with_core(SHAPES[shape])
    faces = mesh.face_points(mesh.interfaces["skin"])
    if shape == "hexahedron":
        faces = faces[:, [0, 1, 3, 2]]
    vectors = mesh.normals[tuple(mesh.interfaces["skin"].T)]
    edge = mesh.points[faces[:, 1]] - mesh.points[faces[:, 0]]
    own = np.stack([edge[:, 1], -edge[:, 0]], 1) if mesh.dim == 2 else np.cross(
        edge, mesh.points[faces[:, 2]] - mesh.points[faces[:, 0]])
    outward = np.sum(own * vectors, axis=1) > 0
    wanted = np.arange(len(faces)) % 3 > 0          # two of three out of the core
    faces = np.where((outward == wanted)[:, None], faces, faces[:, ::-1])
    name = {"triangle": "line", "quadrilateral": "line", "tetra": "triangle", "hexahedron": "quad"}[shape]
    cell = {"quadrilateral": "quad"}.get(shape, shape)
    groups = [np.ones(len(mesh.cells), int), np.full(len(faces), 7)]
    points = np.column_stack([mesh.points, np.zeros((len(mesh.points), 3 - mesh.dim))])
    data = meshio.Mesh(points, [(cell, mesh.cells), (name, faces)],
                       cell_data={"gmsh:physical": groups, "gmsh:geometrical": groups},
                       field_data={"skin": np.array([7, mesh.dim - 1]), "all": np.array([1, mesh.dim])})
    data.write(tmp_path / "skin.msh", file_format="gmsh22", binary=False)
    read = dg.read_mesh(tmp_path / "skin.msh")
    assert not read.boundaries and "skin" in read.interfaces
    rows = read.interfaces["skin"]
    assert len(rows) == len(faces) and core(tuple(read.centroids[rows[:, 0]].T)).all()
    assert "interfaces  'skin'" in describe(read)


def test_names_that_do_not_fit():
    mesh = with_core(SHAPES["triangle"])
    with pytest.raises(MeshError, match="has the name 'skin' already"):
        mesh.with_interfaces({"skin": ("core", "around")})
    with pytest.raises(MeshError, match="region 'cor' does not exist in the mesh; it has: core, around"):
        mesh.with_interfaces({"other": ("cor", "around")})
    with pytest.raises(MeshError, match="give one region, or two"):
        mesh.with_interfaces({"other": ("core", "around", "core")})
    with pytest.raises(MeshError, match="no face lies between"):
        mesh.with_interfaces({"other": ("core", "core")})
    mesh = mesh.with_regions({"nothing": lambda x: x[0] > 100, "all": lambda x: x[0] < 100})
    for regions in ("nothing", ("core", "nothing")):
        with pytest.raises(MeshError, match="interface 'other': the region 'nothing' has no cells"):
            mesh.with_interfaces({"other": regions})
    with pytest.raises(MeshError, match="interface 'other': the region 'all' is the whole mesh; no cell lies beyond it"):
        mesh.with_interfaces({"other": "all"})
    with pytest.raises(MeshError, match="interfaces: skin"):
        mesh.named("skn")
    with pytest.raises(ValueError, match="boundary 'skin': its faces lie between two cells"):
        dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(1), {"default": dg.wall, "skin": dg.wall})
    with pytest.raises(ValueError, match="boundary 'skn' does not exist in the mesh; it has: left, right, bottom, top, skin"):
        simulation(mesh, out=dg.BoundaryIntegral("skn")).run()


def test_a_name_that_has_faces_at_the_end_too_is_a_boundary():
    mesh = SHAPES["triangle"]
    inner = np.argwhere(mesh.neighbour_face >= 0)[:1]
    faces = np.concatenate([mesh.face_points(mesh.boundaries["left"]), mesh.face_points(inner)])
    with pytest.warns(MeshWarning, match="1 faces of boundary 'both' lie between two cells; only those at the end"):
        built = from_arrays(mesh.points, mesh.cells, {"both": faces, "inner": mesh.face_points(inner)})
    assert len(built.boundaries["both"]) == 4 and list(built.interfaces) == ["inner"]
