"""Modal DG: free stream, conservation, exactness, the same scheme as nodal DG, orders, output and restart, errors."""
import numpy as np
import pytest
from burgers import Burgers
from meshes import PERIODIC, UNIFORM
from modal_problems import smooth_gas
from nodal_problems import box_of, of_element, random_state, step_of
from runs import StopAfter
from strict import StrictNamespace

import dgarray as dg
from dgarray import backends, stepping
from dgarray.analysis.totals import totals
from dgarray.backends.arrays import ArrayBackend
from dgarray.methods.dg.set_operations import SetOperations
from dgarray.physics.fluxes import hllc
from dgarray.reference import modal_simplex, simplex


class Loud(dg.Acoustics):
    """Acoustics whose wave speed depends on the state, so that its time step is not searched for."""

    def wave_speed(self, q, n, m):
        return m.c * np.sqrt(sum(k * k for k in n)) + 1e-9 * np.abs(q[0])


class Positive(Burgers):
    def admissible(self, q):
        return q[0] > 0


def reference(mesh, law, order, boundary=None, dtype="float64", quadrature=None, **options):
    return dg.ModalDG(order, quadrature).discretise(mesh, law, boundary, backends.get("numpy", "array", dtype), **options)


def rhs(operator, q, t=0.0):
    return operator.host(operator.rhs(operator.state(q), t))


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("order", range(7))
def test_reference_matrices(dim, order):
    """Orthonormal; integration by parts holds for polynomials; rows of traces that meet are the same points."""
    cell = modal_simplex(dim, order)
    assert np.abs(cell.project @ cell.interpolate - np.eye(len(cell.project))).max() < 1e-12
    assert len(cell.face_weights) == order + 1 or dim != 2
    # Face normals of the reference cell times J_face: n_k = - 1 but on the face that faces the origin, where it is 1.
    normals = {1: [[-1], [1]], 2: [[0, -1], [1, 1], [-1, 0]], 3: [[0, 0, -1], [0, -1, 0], [1, 1, 1], [-1, 0, 0]]}[dim]
    rows = np.repeat(np.array(normals, float), len(cell.face_weights), axis=0).T
    for normal, slopes in zip(rows, cell.differentiation):
        stiffness = slopes @ cell.interpolate
        assert np.abs(stiffness + stiffness.T + cell.lift * normal @ cell.trace).max() < 1e-11
    nodes = simplex(dim, max(order, 1)).nodes
    assert np.abs(cell.basis.evaluate_basis(nodes) - cell.nodal).max() < 1e-14


@pytest.mark.parametrize("dim", [2, 3])
def test_points_of_two_elements_meet(dim):
    for order, mesh in ((2, PERIODIC[dim]), (3, box_of(dim))):
        tables = reference(mesh, dg.Acoustics(dim), order, dg.wall).tables
        x, faces = tables.geometry.coordinates(tables.basis.face_points).reshape(dim, -1), tables.faces.lists().interior[0]
        gap = x[:, faces.nodes[0]] - x[:, faces.nodes[1]]
        assert np.abs(gap - np.round(gap)).max() < 1e-13
        own = np.flatnonzero(np.isin(np.arange(x.shape[1]), faces.nodes))
        assert np.array_equal(faces.nodes, faces.slots) and len(own) == faces.nodes.size
        there = tables.faces.exterior_nodes().ravel()
        assert np.array_equal(there[faces.nodes[0]], faces.nodes[1])
        assert np.array_equal(there[faces.nodes[1]], faces.nodes[0])


@pytest.mark.parametrize("law", [*UNIFORM, *map(Burgers, (1, 2, 3))], ids=lambda law: f"{type(law).__name__}{law.dim}")
@pytest.mark.parametrize("order", [0, 1, 4])
def test_free_stream(law, order):
    operator = reference(PERIODIC[law.dim], law, order)
    q = operator.project(lambda x: tuple(float(i + 1) for i in range(len(law.variables))))
    assert np.abs(operator.nodal(q) - np.arange(1, 1 + len(q))[:, None, None]).max() < 1e-12
    rate = operator.operations.rate(operator.state(q), 0.0, 1.0)
    assert np.abs(rhs(operator, q)).max() < 1e-13 * rate * (order + 1) ** 2


@pytest.mark.parametrize("method", [dg.ModalDG(0), dg.ModalDG(1), dg.ModalDG(3), dg.NodalDG(2, quadrature=6), dg.NodalDG(3)])
@pytest.mark.parametrize("law", [Burgers(2), dg.Euler(2), dg.Advection(lambda x: (np.cos(3 * x[0]), x[1] ** 2), dim=2)],
                         ids=lambda law: type(law).__name__)
def test_the_rate_sees_the_fastest_wave_of_an_element(law, method):
    """Towards each face that of all points, those of the volume from order 2 on; of a linear law by quadrature that of the
    points of the face."""
    operator = method.discretise(dg.rectangle(cells=(3, 2), perturb=0.2), law, dg.outflow, backends.get("numpy", "array"))
    tables, gas, linear = operator.tables, len(law.variables) == 4, isinstance(law, dg.Advection)
    q = operator.project(lambda x: law.conservative((1.0, 0.3, 0.1, 1.0)) if gas else (1.0,))
    q += 0.05 * random_state(operator, 5)

    def speeds(points, face):
        """(point, element)"""
        values = np.einsum("pi,vie->vpe", tables.basis.cell.interpolation(points), operator.nodal(q))
        given = {"x": tuple(tables.geometry.coordinates(points))} if linear else {"q": tuple(values)}
        return law.wave_speed(n=tuple(tables.geometry.normals[face]), **given)
    total = 0
    for face, own in enumerate(np.split(tables.basis.face_points, 3) if tables.physics.weak else 3 * [tables.basis.points]):
        points = own if linear or not tables.physics.weak else tables.basis.face_points
        if tables.physics.weak and not linear and method.order > 1:
            points = np.concatenate([points, tables.basis.points])
        total = total + speeds(points, face).max(axis=0) * tables.geometry.scale[face]
    assert operator.operations.rate(q, 0.0, 1.0) == pytest.approx(total.max(), rel=1e-12)


@pytest.mark.parametrize("flux", [dg.upwind, dg.rusanov])
@pytest.mark.parametrize("law", [Burgers(1), Burgers(2), Burgers(3), dg.Maxwell(3), dg.Acoustics(2)], ids=repr)
def test_totals_are_conserved(law, flux):
    operator = reference(PERIODIC[law.dim], law, 3, flux=flux)
    r = rhs(operator, random_state(operator, 3))
    changes = totals(operator, operator.nodal(r))
    assert max(abs(changes[name]) for name in law.variables) < 1e-12 * np.abs(r).max()


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("law, condition", [
    (dg.Advection((0.7,)), dg.absorbing), (dg.Advection((0.7, -0.2)), dg.outflow), (dg.Advection((0.7, -0.2, 0.5)), dg.outflow),
    (dg.Acoustics(1, sound_speed=step_of), dg.wall), (dg.Acoustics(2, density=step_of), dg.wall),
    (dg.Acoustics(3), dg.pressure_release),
    (dg.Maxwell(2, "TE", mu=of_element(lambda x: 2 - x[0])), dg.absorbing), (dg.Maxwell(3, eps=step_of, sigma=0.3), dg.pec)],
    ids=["advection1", "advection2", "advection3", "acoustics1", "acoustics2", "acoustics3", "maxwellTE", "maxwell3"])
def test_the_same_scheme_as_nodal_dg(law, condition, order):
    """With constant coefficients on an element every integral of both is exact; sources linear in x and q."""
    def source(q, x, t):
        return tuple((x[0] + 1) * np.cos(t) - 0.5 * c for c in q)
    mesh, backend = box_of(law.dim), backends.get("numpy", "array")
    nodal = dg.NodalDG(order).discretise(mesh, law, condition, backend, source=source)
    modal = reference(mesh, law, order, condition, source=source)
    c = random_state(modal, 0)
    expected = rhs(nodal, modal.nodal(c), 0.3)
    assert np.abs(modal.nodal(rhs(modal, c, 0.3)) - expected).max() < 1e-12 * np.abs(expected).max()
    if law.dim == 1:          # where waves leave, the growth that bounds the step is measured in another norm in each basis
        assert modal.max_dt(modal.state(c), 0.0, stepping.RK4) == pytest.approx(nodal.max_dt(c, 0.0, stepping.RK4), rel=0.1)


def polynomial(order):
    """u = (1 + sum x)^order."""
    return lambda x: ((1 + sum(x)) ** order,)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_quadrature_decides_what_is_exact(dim, order):
    """dc/dt of a polynomial, by exact integrals, is the projection of - div F(u), F = u^2 / 2."""
    mesh = box_of(dim)
    boundary = dg.prescribed(polynomial(order))

    def errors(quadrature):
        operator = reference(mesh, Burgers(dim), order, boundary, quadrature=quadrature)
        # - div F = - dim order s^(2 order - 1), projected.
        expected = operator.project(lambda x: (-dim * order * (1 + sum(x)) ** (2 * order - 1),))
        return np.abs(rhs(operator, operator.project(polynomial(order))) - expected).max() / np.abs(expected).max()
    assert errors(3 * order) < 1e-11
    if order == 3 and dim > 1:          # integrals of degree 3 order - 1 inside, 3 order on the faces
        assert errors(None) > 1e-6


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_order_0_is_the_finite_volume_method(dim):
    """d/dt of the averages is - sum over faces of |face| F* / |T|."""
    mesh, law = PERIODIC[dim], Burgers(dim)
    operator = reference(mesh, law, 0, flux=dg.rusanov)
    averages = np.random.default_rng(0).uniform(-1, 2, len(mesh.cells))
    expected = np.zeros(len(averages))
    for face in range(dim + 1):
        speed, outside = mesh.normals[:, face].sum(axis=1), averages[mesh.neighbour_cell[:, face]]
        s = np.maximum(np.abs(speed * averages), np.abs(speed * outside))
        flux = speed * (averages ** 2 + outside ** 2) / 4 - s * (outside - averages) / 2
        expected -= mesh.face_measures[:, face] * flux / mesh.measures
    got = operator.nodal(rhs(operator, averages[None, None] / operator.tables.basis.reference.nodal[0, 0]))
    assert np.abs(got - expected).max() < 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize("dim, order, cells", [
    (1, 0, 100), (1, 1, 20), (1, 2, 12), (1, 4, 6), (1, 6, 4), (2, 0, 40), (2, 1, 16), (2, 2, 8), (2, 3, 6), (2, 5, 3),
    (3, 1, 8), (3, 2, 4), (3, 3, 3)])
def test_observed_order(dim, order, cells):
    """Smooth advection, on a mesh and its refinement."""
    def exact(x, t):
        return (np.sin(2 * np.pi * (x[0] - velocity[0] * t)) + np.cos(2 * np.pi * (x[-1] - velocity[-1] * t)),)
    velocity = (1.0, 0.5, 0.25)[:dim]

    def case(order):
        mesh = (dg.interval, dg.rectangle, dg.box)[dim - 1](cells=cells, periodic=True)
        return dg.Simulation(mesh, dg.Advection(velocity), dg.ModalDG(order), initial=exact, exact=exact, until=0.1, cfl=0.5,
                             backend="numpy", kernels="array")
    assert dg.eoc(case, [order], 2)[1]["eoc"] > order + 0.8


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("flux", [dg.rusanov, hllc])
def test_gas_dynamics_keeps_a_uniform_flow_and_its_totals(dim, flux):
    law, state = smooth_gas(dim)
    operator = reference(PERIODIC[dim], law, 2, flux=flux)
    uniform = operator.project(lambda x: state((0.1,) * dim))
    assert np.abs(rhs(operator, uniform)).max() < 1e-12 * operator.operations.rate(operator.state(uniform), 0.0, 1.0)
    r = rhs(operator, operator.project(state))
    changes = totals(operator, operator.nodal(r))
    assert np.abs(r).max() > 1 and max(abs(changes[name]) for name in law.variables) < 1e-12 * np.abs(r).max()


@pytest.mark.parametrize("stepper", stepping.STEPPERS.values(), ids=lambda stepper: stepper.name)
@pytest.mark.parametrize("mesh", [dg.interval(cells=20, periodic=True), dg.interval(cells=20, periodic=True, perturb=0.3),
                                  dg.rectangle(cells=6, periodic=True), dg.rectangle(cells=5, periodic=True, perturb=0.2),
                                  dg.box(cells=3, periodic=True)], ids=repr)
def test_the_step_of_nonlinear_laws_is_stable(mesh, stepper):
    """h / s / (2 order + 1) against the largest stable step, from the eigenvalues."""
    for order in range(2 if stepper.order == 2 else 7 if mesh.dim == 1 else 4):
        steps = []
        for law in (Loud, dg.Acoustics):
            operator = reference(mesh, law(mesh.dim), order)
            steps.append(operator.max_dt(operator.zeros(), 0.0, stepper))
        of_rule, of_spectrum = steps
        # Of what the spectrum allows 0.98 is taken; at order 0 the rule takes all that a second-order method allows.
        assert 0.98 * of_rule < of_spectrum < 6 * of_rule
    if mesh.dim == 2:          # the paper's h is the radius of the inscribed circle
        operator = reference(mesh, Loud(2), 0)
        radius = 2 * mesh.measures / mesh.face_measures.sum(axis=1)
        assert operator.max_dt(operator.zeros(), 0.0, stepper) == pytest.approx(radius.min())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", [0, 2])
def test_on_strict_arrays(dtype, order):
    """No operation converts to NumPy or meets a NumPy array; and none is in float64 in a float32 run."""
    mesh = box_of(2)
    boundary = dict(zip(mesh.boundaries, (dg.outflow, dg.prescribed(lambda x, t: (2 + np.sin(x[0] - t),)), lambda q, x: q,
                                          lambda q, n: (q[0] + 0.1 * n[0],))))
    plain = reference(mesh, Positive(2), order, boundary, dtype, source=lambda q, x, t: (x[1] - q[0] * t,))
    strict = plain.on(ArrayBackend(StrictNamespace(), dtype, "strict"))
    host = (plain.project(lambda x: (3 + x[0],)) + 0.1 * random_state(plain, 1)).astype(dtype)
    results = []
    for operator in (plain, strict):
        q, out, k = operator.state(host), operator.zeros(), operator.zeros()
        operator.stage(q, out, k, q, 0.2, 1e-3, stepping.RK4.stages[1])
        assert operator.check(out, 0.2).sound and str(out.dtype) == dtype
        results.append((operator.host(out), operator.max_dt(q, 0.0, stepping.LSRK54), operator.take(q, np.array([1, 4])),
                        operator.fetch(out).result()))
    for one, other in zip(*results):
        assert np.array_equal(one, other)
    assert str(results[0][3].dtype) == dtype


def test_what_is_admissible_is_asked_where_fluxes_are():
    operator = reference(box_of(2), Positive(2), 1, dg.outflow)
    c = operator.project(lambda x: (1.0,))
    assert operator.check(operator.state(c), 0.0).sound
    c[0, 1, 5] = 1.2 * c[0, 0, 5]          # negative near an edge
    assert not operator.check(operator.state(c), 0.0).sound
    assert set(operator.not_admissible(c, 0.0)[:, 0]) == {5}


def simulation(order=2, **changes):
    given = dict(mesh=dg.rectangle(cells=4, periodic=True, perturb=0.1), law=Burgers(2), method=dg.ModalDG(order),
                 initial=lambda x: 1.5 + np.sin(2 * np.pi * x[0]) * np.cos(2 * np.pi * x[1]), stepper="ssp33", backend="numpy",
                 kernels="array",
                 record={"points": dg.Points([(0.2, 0.3)], every=2), "totals": dg.VolumeIntegral(),
                         "squares": dg.VolumeIntegral(lambda q: q[0] ** 2), "extremes": dg.Extrema(),
                         "spectrum": dg.Fourier([1.0])})
    return dg.Simulation(**given | changes)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_output_holds_values_at_nodes(order):
    """What dataset and recorders say of a polynomial, the start."""
    def start(x):
        return ((1 + x[0] - 2 * x[1]) ** order,)
    sim = simulation(order, mesh=dg.rectangle(cells=3), boundary=dg.outflow, initial=start)
    ds = sim.run(until=1e-3)
    first = ds.isel(time=0)
    assert first.sizes["node"] == len(simplex(2, max(order, 1)).nodes)
    assert np.abs(first.u - start((first.x, first.y))[0]).max() < 1e-12
    assert np.abs(ds.dg.sample([(0.31, 0.77)], time=0).u - start((0.31, 0.77))[0]).max() < 1e-12
    assert ds.points_u[0] == pytest.approx(start((0.2, 0.3))[0])
    x = np.linspace(0, 1, 2001)
    mean = np.trapezoid(np.trapezoid(start(np.meshgrid(x, x))[0] ** 2, x), x) if order else 1.0
    assert float(ds.squares_integral[0]) == pytest.approx(mean, rel=1e-5)
    assert float(ds.totals_u[0]) == pytest.approx(float(ds.dg.integral("u", time=0)))
    assert float(ds.extremes_u_max[0]) == pytest.approx(float(first.u.max()))
    assert sim.report["dofs"] == 18 * (order + 1) * (order + 2) // 2 and sim.report["kernels"] == "array"


@pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"stepper": "rk4", "method": dg.ModalDG(0)}], ids=repr)
def test_an_interrupted_run_goes_on_bitwise(options, tmp_path):
    whole = simulation(**options)
    expected = whole.run(0.06, 0.02)
    stop = whole.report["steps"] // 2
    with pytest.raises(dg.Interrupted):
        simulation(**options).run(0.06, 0.02, out=tmp_path / "out", progress=StopAfter(stop))
    got = simulation(**options).run(0.06, 0.02, out=tmp_path / "out", restart=True).load()
    for name in expected:
        assert np.array_equal(got[name], expected[name]), name


def test_a_state_that_is_not_admissible_is_named_and_dumped(tmp_path):
    sim = simulation(1, law=Positive(2), record={}, source=lambda x, t: np.where((x[0] > 0.7) & (x[1] > 0.7), -40.0, 0.0))
    with pytest.raises(dg.SolutionError, match="the state is not admissible at t = ") as caught:
        sim.run(until=1.0, dump_on_error=tmp_path / "bad.vtu")
    assert caught.value.centre[0] > 0.5 and (tmp_path / "bad.vtu").is_file()
    assert float(caught.value.dataset.u[-1].min()) > -0.5


def test_a_linear_run_ends_where_nodal_dg_does():
    law, mesh = dg.Maxwell(2, eps=step_of), dg.rectangle(cells=4, perturb=0.1)

    def initial(x):          # of degree 3, so that both start the same
        return 0.0, 0.0, x[0] ** 2 * x[1]
    sim = dg.Simulation(mesh, law, dg.NodalDG(3), dg.pec, initial, dt=0.01, until=0.3, backend="numpy", kernels="array")
    fields = [sim.replace(method=method).run().Ez[-1].values for method in (dg.NodalDG(3), dg.ModalDG(3))]
    assert np.abs(fields[0] - fields[1]).max() < 1e-12


@pytest.mark.parametrize("make, message", [
    (lambda: dg.ModalDG(7), "order=7 is not allowed for ModalDG; it must be a whole number from 0 to 6"),
    (lambda: dg.ModalDG(-1), "order=-1"), (lambda: dg.ModalDG(2.0), "order=2.0"),
    (lambda: dg.ModalDG(3, quadrature=5), "quadrature=5 is not allowed for ModalDG; at order 3 it must be None or a whole"),
    (lambda: dg.ModalDG(3, quadrature=6.5), "quadrature=6.5"), (lambda: dg.ModalDG(0, quadrature=51), "quadrature=51"),
    (lambda: dg.ModalDG(1, limiter="barth"),
     "limiter 'barth' does not exist; allowed: barth-jespersen, barth-jespersen-vertices, vertex"),
    (lambda: simulation(mesh=dg.interval(cells=3)), "the mesh has dimension 1 (line cells), but the law has 2"),
    (lambda: simulation(mesh=dg.rectangle(cells=3)), "boundary faces have no condition"),
    (lambda: simulation(source=lambda x: (1.0, 2.0)), "the source (<lambda>"),
    (lambda: simulation(flux=lambda law: lambda l, r: l[:0]), "the numerical flux returns 0 components"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_bad_input_is_named_in_one_line(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_part_of_the_tables():
    """What the search for the time step looks at on a large mesh: the same elements, and nothing that comes in."""
    tables = reference(box_of(2), dg.Acoustics(2, density=step_of), 2, dg.wall, quadrature=6).tables
    cells = np.array([3, 4, 5, 11, 20])
    part = tables.part(cells)
    assert part.basis.reference is tables.basis.reference and part.elements == 5
    assert np.array_equal(part.geometry.gradients, tables.geometry.gradients[..., cells])
    operations = SetOperations(backends.get("numpy", "array"), part)
    assert np.abs(operations.rhs(np.zeros((3, part.rows, 5)), 0.0)).max() == 0
