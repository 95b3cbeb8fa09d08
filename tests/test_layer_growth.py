"""No state grows in layers of new cells: eigenvalues of small operators.  On every shape, where layers meet by two and by
three, of unequal thickness, with media, walls, fluxes and methods of all kinds."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.methods.dg import auxiliary_sets as internal_sets

SHAPES = {"triangle": dg.NodalDG, "quadrilateral": dg.TensorDG, "tetra": dg.NodalDG, "prism": dg.NodalDG,
          "hexahedron": dg.TensorDG}
SIDES = {2: ("left", "bottom", "right"), 3: ("left", "front", "bottom")}
LAWS = {"sound": dg.Acoustics, "Maxwell": dg.Maxwell}
WALLS = {"sound": (dg.wall, dg.pressure_release, dg.absorbing, dg.impedance(2.0)),
         "Maxwell": (dg.pec, dg.pmc, dg.absorbing, dg.impedance(0.5))}


def cells(shape):
    """One cell, or few."""
    dim = 2 if shape in ("triangle", "quadrilateral") else 3
    return dg.rectangle(cells=1, shape=shape) if dim == 2 else dg.box(cells=1, shape=shape)


def growth(mesh, law, method, boundary, flux=dg.upwind):
    """The largest growth rate of any state, in the units of 1 / time."""
    sim = dg.Simulation(mesh, law, method, boundary, flux=flux, backend="numpy", kernels="array")
    linear = sim.linear_operator()
    matrix = np.array([linear.matvec(unit) for unit in np.eye(linear.shape[0])]).T
    return np.linalg.eigvals(matrix).real.max()


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("law", LAWS)
def test_layers_on_some_sides(law, shape, count):
    """On one side, where two meet, where three do (in 2D: on three sides)."""
    mesh = cells(shape)
    order = 2 if mesh.dim == 2 else 1
    mesh = dg.pml(mesh, 0.5, 1, boundary=SIDES[mesh.dim][:count], split=law != "sound")
    assert growth(mesh, LAWS[law](mesh.dim), SHAPES[shape](order), WALLS[law][0]) < 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("shape, order, split", [("triangle", 3, True), ("triangle", 3, False), ("quadrilateral", 3, False),
                                                 ("prism", 1, False), ("hexahedron", 1, False)])
@pytest.mark.parametrize("law", LAWS)
def test_slabs_of_unlike_damping(law, shape, order, split):
    """On triangles, divided derivatives would grow by 0.4 in a unit of time; their layers multiply fields."""
    mesh = dg.pml(cells(shape), 0.5, 3, boundary="right" if shape != "prism" else "top", split=split)
    assert growth(mesh, LAWS[law](mesh.dim), SHAPES[shape](order), WALLS[law][0]) < 1e-9


@pytest.mark.parametrize("number", range(1, 4))
@pytest.mark.parametrize("shape", ["triangle", "quadrilateral", "hexahedron"])
@pytest.mark.parametrize("law", LAWS)
def test_walls_go_on(law, shape, number):
    """Walls that take energy take it in a layer, too."""
    mesh = cells(shape)
    mesh = dg.pml(mesh, 0.5, 1, boundary=SIDES[mesh.dim][:2], split=False)
    assert growth(mesh, LAWS[law](mesh.dim), SHAPES[shape](2 if mesh.dim == 2 else 1), WALLS[law][number]) < 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("shape, flux", [("triangle", "central"), *((shape, flux) for shape in ("triangle", "hexahedron")
                                                                    for flux in ("rusanov", "hll"))])
@pytest.mark.parametrize("law", LAWS)
def test_fluxes(law, shape, flux):
    mesh = cells(shape)
    mesh = dg.pml(mesh, 0.5, 1, boundary=SIDES[mesh.dim][:2])
    assert growth(mesh, LAWS[law](mesh.dim), SHAPES[shape](1), WALLS[law][0], getattr(dg, flux)) < 1e-9


METHODS = {"modal": ("triangle", dg.ModalDG(2)),
           "nodal 3": ("triangle", dg.NodalDG(3)), "lobatto": ("quadrilateral", dg.TensorDG(3, "lobatto")),
           "lobatto 3D": ("hexahedron", dg.TensorDG(1, "lobatto"))}


@pytest.mark.thorough
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("law", LAWS)
def test_methods(law, name):
    shape, method = METHODS[name]
    mesh = cells(shape)
    mesh = dg.pml(mesh, 0.5, 1, boundary=SIDES[mesh.dim][:2])
    assert growth(mesh, LAWS[law](mesh.dim), method, WALLS[law][0]) < 1e-9


MEDIA = {"jump": {"eps": {"low": 4.0, "high": 1.0}}, "conducting": {"sigma": 2.0},
         "dispersive": {"eps": 2.0 + dg.Debye(1.0, 0.5), "mu": 1.0 + dg.Lorentz(0.2, 3.0, 1.0)},
         "tensor": {"eps": (2.0, 3.0, 4.0)}}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MEDIA)
def test_media_go_on(name):
    mesh = dg.rectangle(cells=(1, 2), shape="quadrilateral").with_regions({"low": lambda x: x[1] < 0.5,
                                                                         "high": lambda x: x[1] > 0.5})
    mesh = dg.pml(mesh, 0.5, 1, boundary=("left", "bottom"))
    assert growth(mesh, dg.Maxwell(2, "TE", **MEDIA[name]), dg.TensorDG(2), dg.pec) < 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("law, density", [("low", 5.0), ("high", 0.2)])
def test_sound_in_several_media_along_an_edge(law, density):
    mesh = dg.box(cells=(1, 1, 2), shape="hexahedron").with_regions({"low": lambda x: x[2] < 0.5, "high": lambda x: x[2] > 0.5})
    mesh = dg.pml(mesh, 0.5, 1, boundary=("left", "front"))
    other = "high" if law == "low" else "low"
    assert growth(mesh, dg.Acoustics(3, density={law: density, other: 1.0}), dg.TensorDG(1), dg.wall) < 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"reflection": 1e-3}, {"reflection": 1e-16}, {"shift": 0.1}, {"shift": 6.0},
                                     {"degree": 1}], ids=str)
def test_profiles(options):
    mesh = dg.pml(dg.box(cells=1, shape="hexahedron"), 0.5, 2, boundary=("left", "front"), **options)
    assert growth(mesh, dg.Acoustics(3), dg.TensorDG(1), dg.wall) < 1e-9


@pytest.mark.thorough
def test_unequal_cells():
    """Cells of other sizes, and a layer that is thin against them."""
    mesh = dg.pml(dg.box((0, 0, 0), (1, 3, 0.4), cells=(1, 2, 1), shape="hexahedron"), 0.2, 1, boundary=("left", "front"))
    assert growth(mesh, dg.Acoustics(3, sound_speed=3.0), dg.TensorDG(1), dg.wall) < 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["tetra", "prism", "hexahedron"])
def test_sound_leaves_by_edges(shape):
    """By kernels, at the default step, 20,000 of them: noise of all fields does not grow."""
    mesh = dg.pml(dg.box(cells=1, shape=shape), 0.5, 1, boundary=("left", "front"), split=False)
    sim = dg.Simulation(mesh, dg.Acoustics(3), SHAPES[shape](2), dg.wall, backend="numpy", kernels="fused")
    operator, arrays = sim.operator, sim.project()
    random = np.random.default_rng(1)
    arrays |= {name: random.standard_normal(q.shape) for name, q in arrays.items() if "internal" not in name}
    state, dt, sizes = operator.state(arrays), sim.max_dt(arrays), []
    for step in range(20001):
        if step % 5000 == 0:
            sizes.append(max(np.abs(values).max() for values in operator.host(state).values()))
        state = operator.advance(state, 0.0, dt)
    assert max(sizes[1:]) < 10 * sizes[0] and sizes[-1] < 1.1 * sizes[1]


# Carried variables that no flux moves are left out.

def every_one(law, fluxes):
    """What `moved_along_axes` would return if all fluxes moved all variables."""
    return [tuple(range(len(law.variables)))] * len(law.internal.carried)


def after_steps(law, flux, wall):
    """The state after some steps in a brick of one cell and its layer on three sides, {name: values}."""
    mesh = dg.pml(dg.box((0, 0, 0), (1, 0.7, 0.4), cells=1, shape="hexahedron"), 0.5, 1, boundary=SIDES[3])
    random = np.random.default_rng(3).standard_normal((len(law.variables), 3))
    sim = dg.Simulation(mesh, law, dg.TensorDG(1), wall, lambda x: tuple(np.cos(a * x[0] + b * x[1] + c * x[2])
                        for a, b, c in random), flux=flux, backend="numpy", kernels="array")
    state = sim.operator.state(sim.project())
    for _ in range(10):
        state = sim.operator.advance(state, 0.0, 0.02)
    return sim.operator.host(state)


@pytest.mark.parametrize("law, flux, wall, carried", [
    ("Maxwell", dg.upwind, dg.pec, 12), ("sound", dg.upwind, dg.wall, 6), ("sound", dg.upwind, dg.impedance(2.0), 6),
    ("Maxwell", dg.hll, dg.pec, 18), ("sound", dg.rusanov, dg.wall, 12), ("sound", dg.upwind, "still", 12)])
def test_variables_that_no_flux_moves_are_left_out(law, flux, wall, carried, monkeypatch):
    """Which ones depends on the dissipation of all numerical fluxes; the fields are the same, the variables left out were 0."""
    if wall == "still":
        def wall(q):
            return tuple(0.0 * c for c in q)
        wall.flux = dg.rusanov
    found = after_steps(LAWS[law](3), flux, wall)
    monkeypatch.setattr(internal_sets, "moved_along_axes", every_one)
    expected = after_steps(LAWS[law](3), flux, wall)
    assert len(expected["pml edges internal"]) == 3 * len(expected["q"])
    np.testing.assert_allclose(found["q"], expected["q"], rtol=0, atol=1e-13)
    moving = np.abs(expected["pml edges internal"]).max(axis=(1, 2)) > 1e-6
    assert moving.sum() == carried
    np.testing.assert_allclose(found["pml edges internal"], expected["pml edges internal"][moving], rtol=0, atol=1e-13)
