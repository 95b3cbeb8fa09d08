"""Derivatives by the positions of a mesh's points: against runs on moved meshes."""
import numpy as np
import pytest
from support.pulses import POINTS, bent, bump, heard, light, seen, smooth, sound

import dgarray as dg

GAS = dg.Euler(2)


def in_space(x):
    return (np.exp(-5 * sum((y - 0.5) ** 2 for y in x)),) + (0 * x[0],) * 3


def gas(x):
    return GAS.conservative((1 + 0.2 * bump(x), 0.1 + 0 * x[0], 0.07 + 0 * x[0], 1 + 0.2 * bump(x)))


def hum(x, t, *, strength=2.0):
    return strength * np.sin(3 * t) * bump(x), 0 * x[0], 0 * x[0]


def wave(x, t):
    p = 0.5 * np.exp(-((x[0] + 1 - t) / 0.3) ** 2)
    return p, p, 0 * p


def thrown(ds):
    return ((ds.dg.record("mic")["rho"] - 1) ** 2).sum()


def at_end(ds):
    return (ds.p.isel(time=-1) ** 2).sum()


def spectrum(ds):
    return (np.abs(ds.dg.record("f").p) ** 2).sum()


def through_side(ds):
    record = ds.dg.record("f")
    return (np.abs(record.p) ** 2 * record.weight).sum()


def power(q, n):
    return q[0] * (q[1] * n[0] + q[2] * n[1])


def flown(ds):
    return ds.dg.record("P").power.integrate("time")


def square(shape="triangle"):
    return dg.rectangle((-1, -1), (1, 1), cells=3, shape=shape)


def halves(shape="triangle"):
    mesh = square(shape)
    west = mesh.centroids[:, 0] < 0
    return mesh.with_regions({"west": np.flatnonzero(west), "east": np.flatnonzero(~west)})


def cube(shape):
    return dg.box((0, 0, 0), (1, 1, 1), cells=1, shape=shape)


def of_two_shapes():
    """Quadrilaterals beside triangles."""
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5), indexing="ij")
    corner = np.arange(25).reshape(5, 5)
    a, b, c, d = (corner[i:i + 4, j:j + 4] for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    quads = np.stack([each[:2].ravel() for each in (a, b, c, d)], axis=1)
    triangles = np.concatenate([np.stack([each[2:].ravel() for each in some], axis=1) for some in ((a, b, c), (a, c, d))])
    return dg.mesh.from_arrays(np.stack([x.ravel(), y.ravel()], axis=1), {"quadrilateral": quads, "triangle": triangles})


SOUND, NODAL = dg.Acoustics(2), dg.NodalDG(2)


def run(mesh, method=NODAL, boundary=dg.absorbing, initial=sound, law=SOUND, record=None, kernels="array", **options):
    record = {"mic": dg.Points(POINTS)} if record is None else record
    return dg.Simulation(mesh, law, method, boundary, initial, until=0.2, backend="numpy", kernels=kernels, record=record,
                         **options)


def run_in_space(shape, method):
    places = dg.Points([(0.42, 0.33, 0.61), (0.71, 0.23, 0.29)])
    return run(cube(shape), method, dg.wall, in_space, dg.Acoustics(3), {"mic": places})


IN_LINE = {"mic": dg.Points([(0.3,), (-0.4,)])}
SHORT = {
    "triangles": lambda: (run(square(), boundary=dg.wall, kernels="fused"), heard, "points"),
    "quadrilaterals": lambda: (run(square("quadrilateral"), dg.TensorDG(2)), heard, "points"),
    "curved": lambda: (run(square().mapped(bent, order=2)), heard, "points"),
    "medium": lambda: (run(halves(), law=dg.Acoustics(2, sound_speed={"west": 1.0, "east": 2.0})), heard,
                       ["points", "sound_speed", "initial"]),
    "fields at the end": lambda: (run(square().periodic(("left", "right")), boundary=dg.wall), at_end, "points"),
}
LONG = {
    "lines": lambda: (run(dg.interval(-1, 1, 5), dg.NodalDG(3), dg.wall, lambda x: (np.exp(-20 * x[0] ** 2), 0 * x[0]),
                          dg.Acoustics(1), IN_LINE), heard, "points"),
    "modes": lambda: (run(square().mapped(bent, order=3), dg.ModalDG(2)), heard, "points"),
    "tensor": lambda: (run(square("quadrilateral").mapped(bent, order=2), dg.TensorDG(3)), heard, "points"),
    "lobatto": lambda: (run(square("quadrilateral"), dg.TensorDG(2, nodes="lobatto")), heard, "points"),
    "light": lambda: (run(square(), boundary=dg.pec, initial=light, law=dg.Maxwell(2, eps=smooth)), seen, ["points", "eps"]),
    "source": lambda: (run(square(), initial=None, source=hum), heard, ["points", "source.strength"]),
    "incident": lambda: (run(square(), boundary={"left": dg.incident(wave), "default": dg.absorbing}, initial=None), heard,
                         "points"),
    "transform": lambda: (run(square(), record={"f": dg.Fourier([0.5, 1.0], points=POINTS)}), spectrum, "points"),
    "side": lambda: (run(square().mapped(bent, order=2), record={"f": dg.Fourier([0.5, 1.0], boundary="right")}), through_side,
                     "points"),
    "integral": lambda: (run(square(), record={"P": dg.BoundaryIntegral("right", power)}), flown, "points"),
    "gas": lambda: (run(square("quadrilateral"), dg.TensorDG(2), dg.wall, gas, GAS), thrown, "points"),
    "split form": lambda: (run(square("quadrilateral"), dg.TensorDG(2, nodes="lobatto", volume_flux=dg.ranocha), dg.wall, gas,
                               GAS, flux=dg.rusanov), thrown, "points"),
    "quadrature": lambda: (run(square(), dg.NodalDG(2, quadrature=5), dg.wall, gas, GAS), thrown, "points"),
    "orders": lambda: (run(halves("quadrilateral"), dg.TensorDG({"west": 2, "east": 3}), dg.wall), heard, "points"),
    "hanging": lambda: (run(square("quadrilateral").refined([0, 3]), dg.TensorDG(2), dg.wall), heard, "points"),
    "shapes": lambda: (run(of_two_shapes(), boundary=dg.wall), heard, "points"),
    "filter": lambda: (run(square(), dg.NodalDG(3, filter=dg.ExponentialFilter())), heard, "points"),
    "tetrahedra": lambda: (run_in_space("tetra", dg.NodalDG(2)), heard, "points"),
    "hexahedra": lambda: (run_in_space("hexahedron", dg.TensorDG(2)), heard, "points"),
    "prisms": lambda: (run_in_space("prism", dg.NodalDG(2)), heard, "points"),
    "pyramids": lambda: (run_in_space("pyramid", dg.NodalDG(1)), heard, "points"),
}


@pytest.mark.parametrize("case", [*SHORT, *(pytest.param(name, marks=pytest.mark.thorough) for name in LONG)])
def test_the_remainder_falls_as_the_square_of_the_step(case):
    sim, misfit, wrt = (SHORT | LONG)[case]()
    found = sim.gradient(misfit, wrt).check()
    assert np.all(np.abs(found.order[1:] - 2) < 0.02)


def test_each_point_beside_finite_differences():
    """Also of the points of a side whose record has weights of its own: they stay."""
    sim = run(square("quadrilateral"), dg.TensorDG(2), record={"P": dg.BoundaryIntegral("right", power)}, dt=0.02)
    found, h = sim.gradient(flown, "points").points, 1e-4
    right = np.unique(sim.mesh.face_points(sim.mesh.boundaries["right"]))
    assert np.all(found[right] == 0.0)
    sides = {name: sim.mesh.face_points(rows) for name, rows in sim.mesh.boundaries.items()}
    for point, axis in (1, 1), (6, 0):
        values = []
        for step in (h, -h):
            points = np.array(sim.mesh.points)
            points[point, axis] += step
            values.append(float(flown(sim.replace(mesh=dg.mesh.from_arrays(points, sim.mesh.cells, sides)).run())))
        difference = (values[0] - values[1]) / (2 * h)
        assert abs(float(found[point, axis]) - difference) < 1e-7 * float(np.abs(found).max())


def test_an_objective_takes_positions():
    """Down the gradient the misfit becomes smaller by what the gradient says."""
    sim = run(square("quadrilateral"), dg.TensorDG(1), dg.wall)
    objective = dg.objective(sim, heard, "points")
    value, slope = objective(objective.x0)
    length = 1e-3 * value / (slope @ slope)
    assert float(heard(objective.simulation(objective.x0 - length * slope).run())) == pytest.approx(0.999 * value, rel=1e-5)
    assert objective.named(slope)["points"].dims == ("point", "axis")
    with pytest.raises(ValueError, match="cells turn over"):
        objective.simulation(0.1 * objective.x0[::-1])


def test_what_has_no_derivative_by_points_is_refused():
    with pytest.raises(ValueError, match="with absorbing layers"):
        run(dg.pml(square("quadrilateral"), 0.5, 1), boundary=dg.wall).gradient(heard, "points")
    sim = run(square(), record={"E": dg.VolumeIntegral(lambda q: q[0] ** 2)})
    with pytest.raises(ValueError, match="VolumeIntegral has no derivative by the points"):
        sim.gradient(at_end, "points")
