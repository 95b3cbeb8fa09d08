"""Nodal DG: free stream, conservation, energy, exactness, steppers, errors, and the array backend on strict arrays."""
import os
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from burgers import Burgers
from meshes import PERIODIC, UNIFORM
from nodal_problems import SYSTEMS, box_of, of_element, operators, random_state
from references import DATA, EXTERNAL
from strict import StrictNamespace

import dgarray as dg
from dgarray import backends, stepping
from dgarray.backends.arrays import ArrayBackend
from dgarray.methods.dg.stability import unstable
from dgarray.reference import simplex


def reference(mesh, law, order, boundary=None, **options):
    return dg.NodalDG(order).discretise(mesh, law, boundary, backends.get("numpy", "array"), **options)


@pytest.mark.parametrize("law", UNIFORM, ids=lambda law: f"{type(law).__name__}{law.dim}")
@pytest.mark.parametrize("order", [1, 3])
def test_free_stream(law, order):
    operator = reference(PERIODIC[law.dim], law, order)
    q = operator.project(lambda x: tuple(float(i + 1) for i in range(len(law.variables))))
    rate = operator.operations.rate(operator.state(q), 0.0, 1.0)
    assert np.abs(operator.host(operator.rhs(operator.state(q), 0.0))).max() < 1e-13 * rate * order ** 2


@pytest.mark.parametrize("flux", [dg.upwind, dg.central, dg.rusanov, partial(dg.upwind, alpha=0.5)])
@pytest.mark.parametrize("law", UNIFORM, ids=lambda law: f"{type(law).__name__}{law.dim}")
def test_totals_are_conserved(law, flux):
    operator = reference(PERIODIC[law.dim], law, 2, flux=flux)
    r = operator.host(operator.rhs(operator.state(random_state(operator, 3)), 0.0))
    weights = operator.tables.basis.cell.mass.sum(axis=0)
    measure = operator.tables.mesh.measures
    assert np.abs(np.einsum("i,vie,e->v", weights, r, measure)).max() < 1e-12 * np.abs(r).max() * measure.sum()


def energy_rate(operator, q):
    """d/dt of the energy C q^2 / 2 by the semi-discrete scheme."""
    tables = operator.tables
    r = operator.host(operator.rhs(operator.state(q), 0.0))
    c = np.stack([np.broadcast_to(value, (tables.elements,)) for value in
                  tables.physics.law.capacity(parameters(tables))])
    return np.einsum("vie,ij,vje,ve,e->", q, tables.basis.cell.mass, r, c, tables.mesh.measures / tables.basis.cell.volume)


def parameters(tables):
    from types import SimpleNamespace
    return SimpleNamespace(**{name: tables.parameters.get(name, value) for name, value in tables.physics.parameters.items()})


@pytest.mark.parametrize("law", [dg.Maxwell(2, "TM", eps=of_element(lambda x: 1 + x[0])),
                                 dg.Maxwell(3, mu=of_element(lambda x: 2 - x[1])),
                                 dg.Acoustics(2, density=of_element(lambda x: 1 + x[0] ** 2),
                                              sound_speed=of_element(lambda x: 2 + x[1]))],
                         ids=lambda law: f"{type(law).__name__}{law.dim}")
def test_central_flux_keeps_the_energy_and_upwind_takes_it(law):
    mesh = box_of(law.dim)
    wall = dg.wall if isinstance(law, dg.Acoustics) else dg.pec
    central, upwind = (reference(mesh, law, 3, wall, flux=flux) for flux in (dg.central, dg.upwind))
    q = random_state(central, 5)
    scale = np.sum(q ** 2)
    assert abs(energy_rate(central, q)) < 1e-11 * scale
    assert energy_rate(upwind, q) < -1e-3


@pytest.mark.parametrize("condition", [dg.pec, dg.pmc, dg.absorbing])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_boundaries_do_not_make_energy(condition, alpha):
    operator = reference(box_of(3), dg.Maxwell(3), 2, condition, flux=partial(dg.upwind, alpha=alpha))
    for seed in range(3):
        assert energy_rate(operator, random_state(operator, seed)) < 1e-10


@pytest.mark.parametrize("dim, order", [(1, 10), (2, 1), (2, 6), (3, 4), (3, 10)])
def test_reference_matrices_are_exact_for_polynomials(dim, order):
    cell = simplex(dim, order)
    f = np.prod(cell.nodes ** np.array([order, 0, 0][:dim]), axis=1)
    embed, reduced = cell.reduced_differentiation
    slope = order * cell.nodes[:, 0] ** (order - 1)
    assert np.abs(cell.differentiation[0] @ f - slope).max() < 1e-10
    assert np.abs(embed @ reduced - cell.differentiation).max() < 1e-10
    # Divergence theorem: M D_k + D_k^T M is the boundary integral with the normal's component.
    constant = cell.mass @ cell.lift
    assert abs(constant.sum() - {1: 2, 2: 6, 3: 8}[dim]) < 1e-10


class Problem:
    """dq/dt = f(q, t), with the update of `dgarray.stepping` as it stands there."""

    def __init__(self, f):
        self.f = f

    def stage(self, q, out, k, q0, t, dt, row):
        r = self.f(q, t)
        if row.changes:
            k[...] = row.A * k + row.v * q + row.u * q0 + row.w * dt * r
        out[...] = row.alpha * q0 + row.beta * q + (row.B * k if k is not None else 0) + row.C * dt * r

    def solve(self, stepper, start, steps, dt):
        states, with_k = stepping.registers(stepper)
        states = [start.copy()] + [np.zeros_like(start) for _ in range(states - 1)]
        k = np.zeros_like(start) if with_k else None
        for i in range(steps):
            states = stepping.step(self, stepper, states, k, i * dt, dt)
        return states[0]


@pytest.mark.parametrize("stepper", stepping.STEPPERS.values(), ids=lambda s: s.name)
def test_stepper_order(stepper):
    """dq/dt = i q^2 cos(t) + t, not linear and with a time-dependent right-hand side."""
    def solve(steps):
        return Problem(lambda q, t: 1j * q * q * np.cos(t) + t).solve(stepper, np.full(1, 0.5 + 0j), steps, 2.0 / steps)[0]

    exact = solve(4000)
    errors = [abs(solve(n) - exact) for n in (40, 80)]
    assert abs(np.log2(errors[0] / errors[1]) - stepper.order) < 0.25


@pytest.mark.parametrize("stepper", stepping.STEPPERS.values(), ids=lambda s: s.name)
def test_order_conditions(stepper):
    """Of the Butcher tableau (A, b, c) that the rows amount to; c is that of the rows.  Hairer, Noersett & Wanner 1993."""
    count, rows = len(stepper.stages), []

    def f(q, t):
        rows.append((q[1:].copy(), t))
        return np.eye(count + 1)[len(rows)]
    one, *b = Problem(f).solve(stepper, np.eye(count + 1)[0], 1, 1.0)
    A, c = np.array([row for row, _ in rows]), np.array([t for _, t in rows])
    b = np.array(b)
    assert one == 1
    assert np.allclose(A.sum(axis=1), c, rtol=0, atol=2e-12)
    conditions = [(1, b.sum(), 1), (2, b @ c, 1 / 2), (3, b @ c**2, 1 / 3), (3, b @ A @ c, 1 / 6), (4, b @ c**3, 1 / 4),
                  (4, b @ (c * (A @ c)), 1 / 8), (4, b @ A @ c**2, 1 / 12), (4, b @ A @ A @ c, 1 / 24)]
    for order, found, needed in conditions:
        if order <= stepper.order:
            assert found == pytest.approx(needed, abs=2e-12)


@pytest.mark.parametrize("name, coefficient", [("ssp22", 1.0), ("ssp33", 1.0), ("ssp54", 1.508)])
def test_strong_stability(name, coefficient):
    """Burgers' equation by the first-order upwind scheme: forward Euler keeps it between the extremes up to dt = h / max u, and
    the stepper up to `coefficient` times that, as each of its stages does where it starts from limited states."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        start = rng.random(64)
        end = Problem(lambda q, t: (np.roll(q, 1) ** 2 - q ** 2) / 2).solve(stepping.STEPPERS[name], start, 3, coefficient)
        assert start.min() - 1e-14 < end.min()
        assert end.max() < start.max() + 1e-14
    rows = stepping.STEPPERS[name].stages
    kept = 0.0                                    # shares of the states that k holds
    for row in rows:
        kept = row.A * kept + row.v
        assert row.alpha + row.beta + row.B * kept == 1
        assert min(row) >= 0


@pytest.mark.parametrize("stepper", stepping.STEPPERS.values(), ids=lambda s: s.name)
def test_fused_steps_agree_with_the_reference(stepper):
    results = []
    for operator in operators("acoustics1", 3, "float64"):
        count, with_k = stepping.registers(stepper)
        states = [operator.state(random_state(operator, 0)), *(operator.zeros() for _ in range(count - 1))]
        k = operator.zeros() if with_k else None
        for i in range(3):
            states = stepping.step(operator, stepper, states, k, 1e-3 * i, 1e-3)
        results.append(operator.host(states[0]))
        results.append(operator.host(operator.rhs(states[0], 0.1)))
    assert np.abs(results[2] - results[0]).max() < 1e-13 * np.abs(results[0]).max()
    assert np.abs(results[3] - results[1]).max() < 1e-12 * np.abs(results[1]).max()


def test_same_bits_twice_and_on_any_number_of_threads():
    mesh, law = dg.box(cells=(6, 6, 6)), dg.Maxwell(3)
    states = []
    for threads in (1, None, None):
        operator = dg.NodalDG(2).discretise(mesh, law, dg.pec, backends.get("numpy", "fused", threads=threads))
        q, out, k = operator.state(random_state(operator, 0)), operator.zeros(), operator.zeros()
        operator.stage(q, out, k, q, 0.0, 1e-2, stepping.LSRK54.stages[1])
        states.append(operator.host(out))
    assert np.array_equal(states[0], states[1]) and np.array_equal(states[1], states[2])


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_array_backend_on_strict_arrays(system, dtype):
    """No operation of the array backend converts to NumPy or meets a NumPy array: what CuPy would refuse is refused here."""
    plain = next(operators(system, 2, dtype, kernels=("array",)))
    law = plain.tables.law
    boundary = {g.name: g.jump for g in plain.tables.faces.groups}
    assert boundary
    strict = plain.on(ArrayBackend(StrictNamespace(), dtype, "strict"))
    host = random_state(plain, 1).astype(dtype)
    results = []
    for operator in (plain, strict):
        q, out, k = operator.state(host), operator.zeros(), operator.zeros()
        operator.stage(q, out, k, q, 0.2, 1e-3, stepping.RK4.stages[1])
        assert operator.backend.finite(out)
        results.append((operator.host(out), operator.max_dt(q, 0.0, stepping.LSRK54)))
    assert np.array_equal(results[0][0], results[1][0]), law
    assert results[0][1] == results[1][1]


@pytest.mark.thorough
def test_float32_kernels_hold_no_float64_instruction(tmp_path):
    """The LLVM IR of a float32 run; in a fresh process with a fresh cache, because a cached kernel has no IR to read."""
    script = r"""
import re
import sys
sys.path.insert(0, "tests/support")
from nodal_problems import SYSTEMS, operators, random_state
from dgarray import stepping
for system in SYSTEMS:
    operator = next(operators(system, 3, "float32", kernels=("fused",)))
    q, out, k = operator.state(random_state(operator, 0)), operator.zeros(), operator.zeros()
    operator.stage(q, out, k, q, 0.2, 1e-3, stepping.RK4.stages[1])
    (kernel,) = operator.operations._kernels.values()
    text = "\n".join(kernel.inspect_llvm().values())
    # numba's wrapper, which turns Python numbers into the kernel's arguments, is another function.
    parts = [(re.match("[^@]*@[^(]*", part)[0], part) for part in text.split("\ndefine ")[1:]]
    bodies = [part for name, part in parts if "run" in name and "cpython" not in name and "cfunc" not in name]
    wrong = [line for part in bodies for line in part.splitlines() if "double" in line]
    assert bodies and "float" in bodies[0] and not wrong, (system, wrong[:3])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[1],
                          env={**os.environ, "DGARRAY_CACHE": str(tmp_path)})
    assert done.returncode == 0, done.stderr


def test_a_user_law_runs_like_ours():
    """Burgers' equation in the user's own words: steepening of a sine, against the characteristics."""
    def exact(x, t):
        u = np.sin(2 * np.pi * x[0])
        for _ in range(60):                        # u = sin(2 pi (x - u t)), before the shock
            u = u - (u - np.sin(2 * np.pi * (x[0] - u * t))) / (1 + 2 * np.pi * t * np.cos(2 * np.pi * (x[0] - u * t)))
        return (u,)

    errors = []
    for cells in (20, 40):
        sim = dg.Simulation(dg.interval(0, 1, cells, periodic=True), Burgers(), dg.NodalDG(2), initial=exact, exact=exact,
                            until=0.05, kernels="array", backend="numpy")
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) > 2.5


@pytest.mark.parametrize("make, message", [
    (lambda: dg.NodalDG(11), "order=11"),
    (lambda: dg.NodalDG(0), "order=0"),
    (lambda: dg.Maxwell(2, "TN"), "allowed: TM, TE"),
    (lambda: dg.Maxwell(3, eps=-1), "must be positive"),
    (lambda: dg.Acoustics(4), "dim=4"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(3), dg.NodalDG(1), dg.pec), "dimension 2"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(2), dg.NodalDG(1), {"lefd": dg.pec}), "did you mean 'left'"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(2), dg.NodalDG(1), {"left": dg.pec}), "no condition"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(2), dg.NodalDG(1), {"default": "pec"}), "not a condition"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(2), dg.NodalDG(1), dg.pec, backend="nunpy"), "did you mean 'numpy'"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(2), dg.NodalDG(1), dg.pec, dtype="float16"), "allowed: float64, float32"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(2), dg.NodalDG(1), dg.pec, stepper="rk5"),
     "allowed: lsrk54, rk4, ssp33, rk2, ssp22, ssp54"),
    (lambda: dg.Simulation(box_of(2), dg.Maxwell(2), dg.NodalDG(1), dg.pec, cfl=-1), "cfl=-1"),
    (lambda: reference(box_of(2), dg.Maxwell(2, eps={"glas": 2}), 1, dg.pec), "region 'glas'"),
    (lambda: reference(box_of(2), dg.Acoustics(2), 1, dg.pec), "needs a law of Maxwell type"),
    (lambda: reference(box_of(2), dg.Maxwell(2), 1, lambda q, z: q).rhs(np.zeros((3, 3, 42)), 0.0), "asks for 'z'"),
    (lambda: reference(box_of(2), dg.Maxwell(2), 1, lambda q: q[:2]).rhs(np.zeros((3, 3, 42)), 0.0), "returns 2 components"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert message in str(caught.value)


def test_a_value_that_is_not_finite_stops_the_run(tmp_path):
    def source(x, t):
        return (np.where((t > 0.2) & (x[0] > 0.9), np.exp(1e4 * t), 0.0), 0.0, 0.0)
    sim = dg.Simulation(box_of(2), dg.Acoustics(2), dg.NodalDG(2), dg.wall, source=source, backend="numpy", kernels="array")
    with np.errstate(all="ignore"), pytest.raises(dg.SolutionError) as caught:
        sim.run(until=1.0, every=0.1, out=tmp_path / "out.zarr")
    assert all(word in str(caught.value) for word in ("not finite", "t = 0.2", "element", "centre", "step"))
    import xarray
    kept = xarray.open_zarr(tmp_path / "out.zarr")
    assert kept.sizes["time"] == 3 and np.isfinite(kept.p.values).all()


@pytest.mark.parametrize("kernels", ["array", "fused"])
def test_the_finite_check_sees_every_value_but_the_filled_up_lanes(kernels):
    operator = dg.NodalDG(2).discretise(box_of(2), dg.Maxwell(2), dg.pec, backends.get("numpy", kernels))
    q = np.zeros(operator.shape)
    assert operator.operations.finite(operator.state(q))
    for place in ((0, 0, 0), (2, 5, operator.shape[2] - 1), (1, 3, 20)):
        for value in (np.nan, np.inf):
            bad = q.copy()
            bad[place] = value
            assert not operator.operations.finite(operator.state(bad))
    if kernels == "fused":
        state = operator.state(q)
        state[-1] = np.nan                          # a lane beyond the last element
        assert operator.operations.finite(state)


class TwoWay(dg.Law):
    """A law of two variables that returns one component where `wrong` says so."""

    dim, variables = 1, ("a", "b")

    def __init__(self, wrong):
        self.wrong = wrong
        if wrong == "capacity":
            self.capacity = lambda m: (2.0,)

    def flux(self, q, n):
        return (q[0] * n[0],) if self.wrong == "flux" else (q[0] * n[0], q[1] * n[0])

    def wave_speed(self, n):
        return np.abs(n[0])


@pytest.mark.parametrize("make, message", [
    (lambda line: dg.Simulation(line, TwoWay("flux"), dg.NodalDG(1)), "the law's flux returns 1 component; it must return 2"),
    (lambda line: dg.Simulation(line, TwoWay("capacity"), dg.NodalDG(1)), "the capacity returns 1 component;"),
    (lambda line: dg.Simulation(line, dg.Advection(lambda x: (1.0, 0.0), dim=1), dg.NodalDG(1)), "the velocity returns 2"),
    (lambda line: dg.Simulation(line, dg.Advection((1.0,)), dg.NodalDG(1), flux="upwind"), "such as dgarray.upwind"),
    (lambda line: dg.Simulation(line, dg.Advection((1.0,)), 4), "dgarray.NodalDG"),
    (lambda line: dg.Simulation(line, dg.Advection((1.0,)), dg.NodalDG(3.0)), "order=3.0"),
    (lambda line: dg.Simulation(line, dg.Acoustics(1, density=lambda x: x[0] - 1), dg.NodalDG(1)).run(until=1), "positive"),
    (lambda line: dg.Simulation(dg.rectangle(), dg.Advection((1.0, 0.0)), dg.NodalDG(1), dg.pec), "Maxwell type"),
    (lambda line: dg.plane_wave(dg.Maxwell(1, sigma=2.0), 1.0, (0, 0, 1), np.sin), "without losses"),
])
def test_misfits_are_refused_at_construction_or_before_the_first_step(make, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        make(dg.interval(0, 1, 4, periodic=True))


def test_functions_are_evaluated_anew_by_every_run():
    amplitude = [0.0]
    sim = dg.Simulation(dg.interval(0, 1, 8), dg.Advection((1.0,)), dg.NodalDG(2), {
        "left": dg.prescribed(lambda x, t: amplitude[0] * np.sin(20 * t)), "right": dg.outflow})
    assert abs(sim.run(until=0.3).u).max() == 0
    amplitude[0] = 1.0
    assert abs(sim.run(until=0.3).u).max() > 0.5


def test_a_wave_speed_that_is_not_a_number_stops_the_run():
    class Root(TwoWay):
        def wave_speed(self, q, n):
            return np.sqrt(q[0]) * np.abs(n[0])
    sim = dg.Simulation(dg.interval(0, 1, 4, periodic=True), Root(None), dg.NodalDG(1), initial=lambda x: (-1.0, 0.0),
                        kernels="array", backend="numpy")
    with np.errstate(invalid="ignore"), pytest.raises(dg.SolutionError, match="wave speed is not finite"):
        sim.run(until=1.0)


@pytest.mark.thorough
def test_small_units_in_float32():
    """A micrometre in SI units: rates near 1e15, whose powers do not fit into float32."""
    law = dg.Maxwell(2, eps=8.8541878128e-12, mu=1.25663706212e-6)
    sim = dg.Simulation(dg.rectangle(upper=(1e-6, 1e-6), cells=(8, 8)), law, dg.NodalDG(1), dg.pec, lambda x: (0.0, 0.0, 1.0),
                        dtype="float32")
    sim.run(until=1e-15)
    assert 3 < sim.report["steps"] < 100


@pytest.mark.thorough
def test_conductivity_is_in_the_time_step():
    """A good conductor: the source is far stiffer than the waves, and the energy still only falls."""
    law = dg.Maxwell(2, sigma=300.0)
    sim = dg.Simulation(dg.rectangle(cells=(4, 4)), law, dg.NodalDG(1), dg.pec, lambda x: (0.0, 0.0, np.sin(np.pi * x[0])),
                        kernels="array", backend="numpy")
    for name, stepper in stepping.STEPPERS.items():
        sim = sim.replace(stepper=name, method=dg.NodalDG(1 if unstable(2, stepper) else 2))
        ds = sim.run(until=0.3, every=0.05)
        norms = ds.dg.norm("Ez", time=None)
        assert (np.diff(norms) <= 0).all() and norms[-1] < 1e-2 * norms[0]


def test_a_time_step_that_collapses_stops_the_run():
    class Burgers(dg.Law):
        dim, variables = 1, ("u",)

        def flux(self, q, n):
            return q[0] ** 2 / 2 * n[0]

        def wave_speed(self, q, n):
            return np.abs(q[0] * n[0])
    sim = dg.Simulation(dg.interval(0, 1, 10, periodic=True), Burgers(), dg.NodalDG(2),
                        initial=lambda x: np.sin(2 * np.pi * x[0]), kernels="array", backend="numpy")
    with np.errstate(all="ignore"), pytest.raises(dg.SolutionError, match="time step has fallen|not finite"):
        sim.run(until=1.0)


@pytest.mark.parametrize("make, message", [
    (lambda: dg.plane_wave(dg.Maxwell(2), (1.0, 0.0), (0, 1, 0), np.sin), "Ey, Hz"),
    (lambda: dg.prescribed((0, 0, None)), "function of x and t"),
    (lambda: dg.Simulation(box_of(1), dg.Maxwell, dg.NodalDG(1)), "dgarray.Maxwell"),
    (lambda: dg.Simulation(box_of(1), dg.Advection((1.0,)), dg.NodalDG(1), dg.outflow, lambda x: 1j * x[0]).run(until=1),
     "complex"),
    (lambda: dg.Simulation(box_of(1), dg.Advection((1.0,)), dg.NodalDG(1), dg.outflow, lambda x: x[0] * np.nan).run(until=1),
     "initial state is not finite"),
    (lambda: dg.Simulation(box_of(1), dg.Advection((1.0,)), dg.NodalDG(1), dg.outflow,
                           exact=lambda x, t: (x[0], 1)).run(until=1), "exact solution"),
    (lambda: dg.Simulation(box_of(1), dg.Advection((1.0,)), dg.NodalDG(1), lambda q: None), "returns None"),
    (lambda: dg.PEC, "pec"),
])
def test_more_mistakes_are_named(make, message):
    with pytest.raises((ValueError, AttributeError)) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.thorough
@pytest.mark.parametrize("folders, least", [
    ((DATA, DATA / "nasty"), 15),
    pytest.param((EXTERNAL / "meshes", EXTERNAL / "nasty_meshes"), 20, marks=pytest.mark.external)], ids=["own", "external"])
def test_a_constant_state_stays_constant_on_every_reference_mesh(folders, least):
    checked = 0
    for path in sorted(path for folder in folders for path in folder.iterdir() if path.suffix in (".msh", ".vtk")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                mesh = dg.read_mesh(path)
            except ValueError:
                continue                                # refused: what is refused, and how, is test_mesh's matter
        if not mesh.blocks[0].cell_shape.simplex:
            continue                                    # for other methods
        operator = reference(mesh, dg.Acoustics(mesh.dim), 2, dg.outflow)
        state = operator.state(operator.project(lambda x: tuple(float(i + 1) for i in range(len(x) + 1))))
        rate = (mesh.face_measures.sum(axis=1) / mesh.measures).max()          # of a wave of the speed 1
        still = operator.nodal(operator.host(operator.rhs(state, 0.0)))
        assert np.nanmax(np.abs(still)) < 1e-12 * rate, path.name
        checked += 1
    assert checked > least


@pytest.mark.parametrize("kernels", ["fused", "array"])
def test_what_the_host_gets_is_a_copy(kernels):
    """On a mesh of just one tile too."""
    operator = dg.Simulation(dg.rectangle(cells=4), dg.Acoustics(2), dg.NodalDG(2), dg.wall, kernels=kernels,
                             dtype="float32").operator
    state = operator.state(np.ones(operator.shape))
    host, some = operator.host(state), operator.take(state, [0, 3])
    state[...] = 2
    assert (host == 1).all() and (some == 1).all()


@pytest.mark.parametrize("law", [dg.Maxwell(2), dg.Maxwell(3), dg.Acoustics(2), dg.Advection((1.0, 0.2))], ids=repr)
def test_array_kernels_stay_in_float32(law, monkeypatch):
    """With parameters that are numbers too: no array of float64 appears on the way."""
    found, called = set(), dg.physics.pointwise.Pointwise.__call__

    def spy(self, **arrays):
        result = called(self, **arrays)
        found.update(str(value.dtype) for value in result if hasattr(value, "dtype"))
        return result
    monkeypatch.setattr(dg.physics.pointwise.Pointwise, "__call__", spy)
    mesh = dg.box(cells=1) if law.dim == 3 else dg.rectangle(cells=2)
    operator = dg.Simulation(mesh, law, dg.NodalDG(2), dg.absorbing, dtype="float32", kernels="array").operator
    found.clear()
    operator.rhs(operator.state(np.ones(operator.shape)), 0.0)
    assert found == {"float32"}


@pytest.mark.parametrize("law", [dg.Acoustics(2), dg.Maxwell(2)])
def test_outflow_of_waves_is_noticed(law, recwarn):
    """It feeds waves that come in by those that leave: their energy grows, where `absorbing` lets them out."""
    energies = []
    for condition in (dg.absorbing, dg.outflow):
        assert not recwarn.list
        def initial(x):
            return tuple(np.exp(-10 * (x[0] ** 2 + x[1] ** 2)) * (name in ("p", "Ez")) for name in law.variables)
        sim = dg.Simulation(dg.rectangle((-1, -1), (1, 1), cells=4), law, dg.NodalDG(2), condition, initial, until=4.0)
        ds = sim.replace(backend="numpy", kernels="array").run()
        first, last = (sum(ds.dg.norm(name, i) ** 2 for name in law.variables) for i in (0, -1))
        energies.append(last / first)
    assert energies[0] < 0.1 and energies[1] > 1
    assert "'outflow' takes the whole state" in str(recwarn[0].message)
