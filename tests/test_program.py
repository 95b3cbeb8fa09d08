"""Programs: what the vocabulary of recipes records, how the interpreter performs it, what it costs, and how it reads."""
from importlib.util import find_spec
from math import prod

import numpy as np
import pytest
from grid_problems import EULER, FIRST, LAWS, MUSCL, WENO, advanced, blast, simulation

import dgarray as dg
from dgarray import backends
from dgarray.backends.arrays import ArrayBackend
from dgarray.methods.dg.stage_program import kind_of
from dgarray.physics.pointwise import Pointwise
from dgarray.program.arrays import Domain, Trace, apply, gather, product, put, recursion, reduce, stack, taken
from dgarray.program.costs import costs, divided, passes_of
from dgarray.program.interpreter import groups_of
from dgarray.program.listing import listing
from dgarray.program.operations import Put
from dgarray.stepping import RK4, STEPPERS

RANDOM = np.random.default_rng(0)
CELLS, FACES = Domain("cells", 50), Domain("faces", 30)
Q, MATRIX, PLACES = RANDOM.random((2, 4, 50)), RANDOM.random((3, 4)), RANDOM.permutation(200)[:60].reshape(2, 30)
TURNED = np.stack([np.arange(50)[::-1], 150 + np.arange(50)[::-1]])          # cells from the last one to the first
TURN = RANDOM.permutation(60)[:30]
TWICE = Pointwise(lambda q, s: (2 * q[0] + s, q[0] * q[1]), {"q": 2, "s": None}, "twice")


def recorded():
    trace = Trace()
    return trace, trace.input("q", Q.shape, CELLS), trace.constant("places", PLACES.shape, FACES, lambda: PLACES, "integer")


def run(trace, size=None, **outputs):
    """The outputs of a program, with pieces of so many columns."""
    backend = ArrayBackend(np, "float64", "numpy", 1)
    if size:
        backend.pieces = lambda count, rows: [slice(i, min(i + size, count)) for i in range(0, count, size)]
    program = trace.program("program", **outputs)
    given = {"q": Q, "s": 3.0}
    found = backend.interpreter(program, {}).run({name: given[name] for name in given
                                                 if name in program.inputs() | program.inputs("number")})
    return list(found.values())


@pytest.mark.parametrize("size", [None, 7])
def test_operations_are_those_of_numpy(size):
    """Whatever the pieces are: a gather waits for all columns of what it reads."""
    trace, q, places = recorded()
    s, D = trace.number("s"), trace.constant("D", MATRIX.shape, None, lambda: MATRIX)
    turn = trace.constant("turn", TURN.shape, FACES, lambda: TURN, "integer")
    both = apply(TWICE, q=q, s=s)
    found = gather(both, places)
    back = put(trace, (2, 4), CELLS, [(places, found, "set"), (places, found, "add")])
    along = product(trace.constant("E", (2, 2), None, lambda: MATRIX[:2, :2]), q.reshape(2, 2, 2), axis=-3)
    outputs = run(trace, size, a=both, b=found[1], c=back, d=product(D, both + q), e=along.moved(1, 0, 2)[0],
                  f=reduce("sum", q), g=reduce("max", q, axis=-3), h=stack([q[0], both[0]], 1), i=q[:, [0, 2]], j=q - both,
                  k=gather(both, taken(places, turn)) * gather(q, turn), l=taken(q, places))
    a = np.stack([2 * Q[0] + 3, Q[0] * Q[1]])
    b = a.reshape(2, -1)[:, PLACES]
    c = np.zeros((2, 200))
    c[:, PLACES] = 2 * b
    lines = np.einsum("ij,vjke->ivke", MATRIX[:2, :2], Q.reshape(2, 2, 2, 50))
    expected = [a, b[1], c.reshape(Q.shape), MATRIX @ (a + Q), lines[0], Q.sum(axis=1), Q.max(axis=0),
                np.stack([Q[0], a[0]], axis=1), Q[:, [0, 2]], Q - a,
                a.reshape(2, -1)[:, PLACES.ravel()[TURN]] * Q.reshape(2, -1)[:, TURN], Q.reshape(2, -1)[:, PLACES]]
    for found, right in zip(outputs, expected, strict=True):
        assert found.shape == right.shape and np.abs(found - right).max() < 1e-14


def test_a_gather_waits_for_all_columns():
    """Also where it reads at the columns of what it reads: here the last cell first."""
    trace, q, _ = recorded()
    turned = trace.constant("turned", (2, 50), CELLS, lambda: TURNED, "integer")
    total = gather(q + q, turned)
    found, = run(trace, 7, a=total * total)
    assert np.abs(found - (2 * Q.reshape(2, -1)[:, TURNED]) ** 2).max() < 1e-14


def test_components_are_those_of_each_array():
    """Rows are taken once where all components are those of one array, and only there."""
    trace, q, _ = recorded()
    twice, s = q + q, trace.number("s")
    rows, others = q[:, [0, 2]], twice[:, [0, 2]]
    same, mixed = apply(TWICE, q=[rows[0], rows[1]], s=s), apply(TWICE, q=[rows[0], others[1]], s=s)
    found = run(trace, 7, a=same, b=mixed)
    for values, factor in zip(found, (1, 2)):
        a, b = Q[0, [0, 2]], factor * Q[1, [0, 2]]
        assert np.abs(values - np.stack([2 * a + 3, a * b])).max() < 1e-14


def test_the_first_columns_are_a_domain_of_their_own():
    trace, q, _ = recorded()
    own = q.first(Domain("own cells", 20))
    found, = run(trace, 7, a=own + own)
    assert np.array_equal(found, 2 * Q[..., :20])


def test_nothing_put_is_zero():
    """A part of a mesh may have no face of a set."""
    trace, q, _ = recorded()
    found, = run(trace, 7, a=put(trace, (2, 4), CELLS, []) + q)
    assert np.array_equal(found, Q)


def test_the_same_operation_is_recorded_once():
    trace, q, places = recorded()
    a, b = gather(q, places) * gather(q, places), gather(q, places) * gather(q, places)
    assert a is b and len(trace.program("squares", a=a, b=b).operations) == 1


def test_what_no_output_needs_is_left_out():
    trace, q, _ = recorded()
    q + q
    assert len(trace.program("product", a=q * q).operations) == 1


def test_neighbouring_operations_are_done_together():
    """A gather of a result begins a new group; what comes before it and after it on the same columns is one."""
    trace, q, places = recorded()
    total = q + q
    fluxes = gather(total, places) * gather(q, places)
    last = put(trace, (2, 4), CELLS, [(places, fluxes, "set")]) + total
    groups = groups_of(trace.program("three", a=last * last))
    assert [group.domain.name for group in groups] == ["cells", "faces", "cells"]
    assert [len(group.operations) for group in groups] == [1, 2, 2] and type(groups[1].operations[-1]) is Put


@pytest.mark.parametrize("wrong, message", [
    (lambda q, places: q[0, 1, 2], "columns are not taken apart"), (lambda q, places: q.reshape(3, 3), "leading axes"),
    (lambda q, places: product(q[0], q), "cannot be applied"),
    (lambda q, places: gather(gather(q, places), places), "already")])
def test_wrong_shapes_are_refused(wrong, message):
    _, q, places = recorded()
    with pytest.raises((ValueError, IndexError), match=message):
        wrong(q, places)


def test_costs_counted_by_hand():
    """A product of 3 x 4 with 2 variables on 50 cells; the sum of two arrays stays in cache on a CPU alone."""
    trace, q, _ = recorded()
    D = trace.constant("D", MATRIX.shape, None, lambda: MATRIX)
    program = trace.program("product", a=product(D, q + q))
    (on_cpu,), (on_gpu,) = (costs(program, passes_of(program, in_cache), 8) for in_cache in (True, False))
    assert on_cpu.flops == on_gpu.flops == 2 * 4 * 50 + 2 * 2 * 3 * 4 * 50
    assert on_cpu.bytes == 8 * (2 * 4 * 50 + 2 * 3 * 50) and on_gpu.bytes == on_cpu.bytes + 2 * 8 * 2 * 4 * 50


def test_costs_of_kernels_counted_by_hand():
    """Two passes hand over the sum; a matrix of rank 1 is a product of two, and zeros of a matrix cost nothing."""
    for matrix, entries in ((np.ones((5, 4)), 4 + 5), (np.eye(5, 4), 4)):
        trace, q, _ = recorded()
        program = trace.program("product", a=product(trace.constant("D", (5, 4), None, lambda matrix=matrix: matrix), q + q))
        first, second = costs(program, divided(program, [("before", ("sum",)), ("after", "")]), 4)
        assert (first.name, first.flops, first.bytes) == ("before", 2 * 4 * 50, 2 * 4 * 2 * 4 * 50)
        assert (second.name, second.flops, second.bytes) == ("after", 2 * 2 * entries * 50, 4 * 2 * (4 + 5) * 50)


def test_lists_of_kernels_are_those_that_they_read_through():
    """Places where neighbours are; a kernel knows where its results go."""
    trace, q, places = recorded()
    found = put(trace, (2, 4), q.domain, [(places, gather(q, places), "set")], "faces")
    program = trace.program("faces", a=found + q)
    (whole,) = costs(program, divided(program, [("all", "")]), 8, 4)
    faces, rest = costs(program, divided(program, [("faces", ("faces",)), ("rest", "")]), 8, 4)
    values, lists = 8 * 2 * 4 * 50, 4 * prod(places.shape)
    assert whole.bytes == 2 * values + lists                                # q and the result
    read = min(values, 2 * 8 * prod(places.shape))
    assert faces.bytes == read + 2 * 8 * prod(places.shape) + lists and rest.bytes == 3 * values


def test_parts_of_an_array_are_moved_once():
    trace, q, _ = recorded()
    program = trace.program("sums", a=q + q, b=q[:, :2] + q[:, 2:])
    assert sum(each.bytes for each in costs(program, passes_of(program), 8)) == 8 * 50 * (2 * 4 + 2 * 4 + 2 * 2)


def sound(method, mesh, **options):
    law = dg.Acoustics(mesh.dim)
    return dg.Simulation(mesh, law, method, dg.wall, lambda x: tuple(np.sin(2 * x[0] + i) for i in range(len(law.variables))),
                         until=0.05, dt=0.005, **options)


def test_a_listing_reads_as_the_weak_form():
    operator = sound(dg.NodalDG(2), dg.rectangle(cells=2), backend="numpy").operator
    text = "\n".join(listing(operator.program("stage", kind_of(RK4.stages[1]))))
    for line in ("faces 0 (8)", "F.n - F*            = numerical flux(l=q[nodes, faces 0 left], r=q[nodes, faces 0 right]",
                 "-div F              = -D @ F(q).grad r", "L (F.n - F*)        = L @ fluxes of faces"):
        assert line in text
    assert "fluxes, lift and update  kernel" in operator.step_text()


@pytest.mark.parametrize("name", STEPPERS)
def test_stages_are_those_of_the_table(name):
    """The program of each kind of stage and the kernels make the same steps."""
    ends = [sound(dg.NodalDG(1), dg.rectangle(cells=3), backend="numpy", kernels=kernels, stepper=name).run().p.values[-1]
            for kernels in ("array", "fused")]
    assert np.abs(ends[0] - ends[1]).max() < 1e-13 * np.abs(ends[0]).max()


LIMITERS = {
    "indicator": (dg.ModalDG(1, limiter="barth-jespersen", indicator="kxrcf", positivity=True), "triangle"),
    "waves": (dg.ModalDG(1, limiter="vertex", limiter_variables="characteristic"), "triangle"),
    "primitive": (dg.ModalDG(1, limiter="vertex", limiter_variables="primitive"), "triangle"),
    "degrees": (dg.ModalDG(2, limiter="vertex", positivity="mean"), "triangle"),
    "linear": (dg.TensorDG(2, limiter="vertex", positivity=True), "quadrilateral"),
    "sets": (dg.NodalDG(2, limiter="vertex", indicator="kxrcf", positivity=True), "mixed"),
    "positivity": (dg.TensorDG(2, "lobatto", positivity=True), "quadrilateral"),
    "filter": (dg.NodalDG(3, filter=dg.ExponentialFilter(1, 4)), "triangle")}


def disc(name, **options):
    """A gas that a limiter changes; where densities and pressures are kept positive they jump by more."""
    law, (method, shape) = dg.Euler(2), LIMITERS[name]
    least = 0.05 if method.limiting.positivity else 0.6
    return dg.Simulation(dg.rectangle(cells=5, shape=shape, perturb=0.1), law, method, dg.wall, lambda x: law.conservative(
        (np.where((x[0] - 0.4) ** 2 + x[1] ** 2 < 0.2, 1.0, least), 0.2 * x[1], -0.2 * x[0], np.where(x[0] < 0.5, 1.0, least))),
        stepper="ssp33", **options)


LONG = {"primitive", "linear", "sets", "degrees"}          # to compile


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in LONG)) for name in LIMITERS])
def test_limiters_are_the_same_by_arrays_kernels_and_jax(name):
    """In two steps; sums are in another order."""
    ends = []
    for options in ({"backend": "numpy", "kernels": "array"}, {"backend": "numpy"}, {"backend": "jax"}):
        if options == {"backend": "jax"}:
            pytest.importorskip("jax")
        operator = disc(name, **options).operator
        states = [operator.state(operator.project(disc(name).initial))]
        for _ in range(2):
            states.append(operator.advance(states[-1], 0.0, 1e-3))
        found = operator.snapshot(operator.host(states[-1]))
        ends.append(np.concatenate([each.ravel() for each in (found.values() if isinstance(found, dict) else [found])]))
    assert all(np.nanmax(np.abs(end - ends[0])) < 1e-13 * np.nanmax(np.abs(ends[0])) for end in ends[1:])


def test_a_listing_has_the_limiter_of_the_paper():
    text = disc("degrees", backend="numpy").operator.step_text()
    for line in ("the program of the limiter", "around vertices      = means of derivatives[around]",
                 "extremes             = join(largest, least)", "extremes at vertices = extremes[vertices]",
                 "shares of degrees    = shares_of_degrees(blocks=derivatives, g=gradients, around=extremes at vertices",
                 "limited coefficients = join(q[:, 0:1], scaled)"):
        assert line in text


HALVES = {"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] >= 0.5}


@pytest.mark.parametrize("problem", [
    lambda **o: sound(dg.NodalDG(2), dg.rectangle(cells=3), **o),
    lambda **o: sound(dg.TensorDG(2), dg.rectangle(cells=4, shape="quadrilateral").with_regions(HALVES).refined("a"), **o),
    lambda **o: sound(dg.ModalDG({"a": 1, "b": 2}), dg.rectangle(cells=4).with_regions(HALVES), **o)],
    ids=["nodal", "hanging", "orders"])
def test_jax_makes_the_same_steps(problem):
    pytest.importorskip("jax")
    ends = []
    for options in ({"backend": "numpy", "kernels": "array"}, {"backend": "jax"}):
        sim = problem(**options)
        state = sim.operator.state(sim.operator.project(sim.initial))
        ends.append(sim.operator.snapshot(sim.operator.host(sim.operator.advance(state, 0.0, 0.005))))
    a, b = (list(end.values()) if isinstance(end, dict) else [end] for end in ends)
    assert all(np.abs(x - y).max() < 1e-14 * np.abs(x).max() for x, y in zip(a, b, strict=True))


def test_a_run_with_jax():
    """With a limiter, in float32."""
    pytest.importorskip("jax")
    law = dg.Euler(1)
    sod = dg.Simulation(dg.interval(0, 1, 20), law, dg.ModalDG(1, limiter="vertex"), dg.wall, lambda x: law.conservative(
        (np.where(x[0] < 0.5, 1.0, 0.125), 0 * x[0], np.where(x[0] < 0.5, 1.0, 0.1))), until=0.05, dtype="float32",
        backend="jax", stepper="ssp33")
    found, expected = sod.run(), sod.replace(backend="numpy", kernels="array").run()
    assert found.rho.dtype == np.float32 and sod.report["backend"] == "jax" and sod.report["kernels"] == "array"
    assert np.abs(found.rho - expected.rho).max() < 1e-5


def test_a_contact_that_stands_still_has_one_side():
    """The contact in gas at rest has the speed 0, up to rounding: all values are taken from one side of it."""
    pytest.importorskip("jax")
    law = dg.Euler(1)
    sim = dg.Simulation(dg.interval(0, 1, 4), law, dg.ModalDG(0), dg.wall, lambda x: law.conservative((1.0, 0 * x[0], 1.0)),
                        flux=dg.hllc, backend="jax")
    assert np.abs(sim.run(until=0.05).rho_u.values).max() < 1e-14


@pytest.mark.parametrize("options, message", [
    ({"kernels": "fused"}, "kernels='fused' is not allowed for backend 'jax'"), ({"threads": 2}, "threads=2 is not allowed")])
def test_what_jax_does_not_take(options, message):
    with pytest.raises(ValueError, match=message):
        backends.check("jax", **options)


class Own(dg.Method):
    """A method without programs."""


def test_jax_is_for_methods_with_programs():
    grid, law = dg.Grid(0, 1, 8, True), dg.Acoustics(1)
    with pytest.raises(ValueError, match="backend='jax' runs methods with programs"):
        dg.Simulation(grid, law, Own(), initial=lambda x: (0 * x[0], 0 * x[0]), backend="jax")


LOSSY, LENS = dg.Maxwell(2, sigma=0.3), dg.Acoustics(2, sound_speed=lambda x: 1 + 0.3 * np.sin(x[0]) * np.cos(x[1]))
LAYERS = dg.Acoustics(2, sound_speed=lambda x: 2 + np.sin(2 * np.pi * x[0]))


@pytest.mark.parametrize("law, boundary", [
    (LOSSY, {"left": dg.Sponge(0.3), "default": dg.pec}), (LENS, dg.wall), (LAYERS, None), (dg.Advection((1.0, 0.5)), None)],
    ids=["lossy", "lens", "along x", "collapsed"])
def test_programs_of_hermite_are_its_kernels(law, boundary):
    """Array expressions, XLA and kernels make the same steps, of a grid whose rows differ."""
    def end(**options):
        sim = dg.Simulation(dg.Grid((0, 0), (1, 1), (7, 6), boundary is None), law, dg.Hermite(2), boundary, lambda x: tuple(
            np.sin(2 * np.pi * (x[0] + x[1]) + i) for i in range(len(law.variables))), until=0.1, dt=0.02, **options)
        state = sim.operator.state(sim.operator.project(sim.initial))
        for number in range(3):
            state = sim.operator.advance(state, 0.02 * number, 0.02)
        return sim.operator.host(state)
    expected = end(backend="numpy", kernels="array")
    assert np.abs(end(backend="numpy") - expected).max() < 1e-12 * np.abs(expected).max()
    pytest.importorskip("jax")
    assert np.abs(end(backend="jax") - expected).max() < 1e-13 * np.abs(expected).max()


def test_a_listing_reads_as_algorithm_4():
    sim = dg.Simulation(dg.Grid((0, 0), (1, 1), 4), LENS, dg.Hermite(1), dg.wall, lambda x: (np.cos(x[0]), 0 * x[0], 0 * x[0]),
                        backend="numpy", kernels="array")
    text = sim.operator.step_text()
    for line in ("R along x = left @ q[left corners] + right @ q[right corners]", "for k = 6, ..., 1",
                 "L p = (1 / C of p) (-4 dvx/dx -4 dvy/dy)", "half-step 2, to the nodes\nnodes (25)"):
        assert line in text


def test_costs_of_a_recursion_counted_by_hand():
    """du/dt = -2 du/dx, cubics whose first two coefficients are kept, on 50 cells, three stages: the last one needs two
    coefficients, that before it three, the first one four, of which the derivative has three."""
    for pruned, count in ((True, 2 + 3 + 3), (False, 3 + 3 + 3)):
        trace = Trace()
        R, tau = trace.input("R", (1, 4, 50), CELLS), trace.number("tau")
        program = trace.program("series", w=recursion(R, tau, 3, 2, [(0, 0, 0, -2.0, None)], pruned=pruned))
        assert costs(program, passes_of(program), 8)[0].flops == 2 * count * 50


def damped(q, t):
    return tuple(-0.3 * (1 + t) * a for a in q)


@pytest.mark.parametrize("law, method, cells, options", [
    pytest.param(EULER[1], FIRST, (12,), {"boundary": dg.wall, "source": damped}, id="first order"),
    pytest.param(EULER[3], MUSCL, (5, 4, 6), {"boundary": dg.wall}, id="muscl", marks=pytest.mark.thorough),
    pytest.param(LAWS["varying"](2), dg.FiniteVolume("muscl", None), (7, 9), {"boundary": dg.wall}, id="stages",
                 marks=pytest.mark.thorough),
    pytest.param(LAWS["burgers"](2), WENO, (6, 8), {"source": damped}, id="weno", marks=pytest.mark.thorough),
    pytest.param(EULER[2], MUSCL, (20, 20), {"initial": blast, "boundary": dg.wall, "flux": dg.hllc}, id="repairs")])
def test_finite_volumes_by_programs_kernels_and_jax(law, method, cells, options):
    ends, kinds = [], [{}, {"kernels": "fused"}] + [{"backend": "jax", "kernels": None}] * bool(find_spec("jax"))
    for kind in kinds:
        operator, state, t, _ = advanced(simulation(law, method, cells, **options | kind))
        ends.append((np.array(operator.host(state)), operator.operations.rate(state, t)))
        assert bool(operator.report().get("first_order_faces")) == ("initial" in options)
    for (q, rate), bound in zip(ends[1:], (1e-9, 1e-9) if "initial" in options else (1e-13, 1e-14)):
        assert np.abs(q - ends[0][0]).max() < bound * np.abs(q).max() and abs(rate / ends[0][1] - 1) < bound


def test_a_listing_reads_as_a_sweep():
    text = simulation(EULER[2], MUSCL, (9, 7), dg.wall).operator.step_text()
    for line in ("pencils along x (7)", "low, high                      = slopes(a=w[:, 0:11], b=w[:, 1:12], c=w[:, 2:13]",
                 "F*                             = numerical flux(l=(low, high)[4:8, 0:10], r=(low, high)[0:4, 1:11])",
                 "q - dt / h (F* - F* below) / C = update(q=q with ghosts[:, 2:11], above=F*[:, 1:10], below=F*[:, 0:9], k="):
        assert line in text
    assert text.index("a sweep along y") < text.index("computed by")


def test_several_shapes_on_a_gpu_run_by_array_expressions():
    from emulated import IdleDevice

    from dgarray.backends.cuda import CudaBackend
    mesh, law = dg.rectangle(cells=2, shape="mixed"), dg.Acoustics(2)
    operator = dg.NodalDG(1).discretise(mesh, law, dg.wall, CudaBackend("float64", IdleDevice()))
    assert operator.kernels == "array"


class Waves(dg.Law):
    """Advection with a speed by region, a parameter of any name."""

    dim, variables = 1, ("p",)

    def __init__(self, name):
        self.name, self.parameters = name, {name: {"slow": 1.0, "fast": 1.5}}

    def flux(self, q, n, m):
        return (getattr(m, self.name) * q[0] * n[0],)

    def wave_speed(self, n, m):
        return np.abs(getattr(m, self.name) * n[0])


@pytest.mark.parametrize("name", ["k", "t", "C", "q", "nodes", "normals"])
def test_parameters_may_have_any_name(name):
    """Also those of the program's own arrays, and of what a boundary condition asks for at its faces."""
    def steps(name):
        def inlet(q, face):
            return (getattr(face, name) - q[0],)
        inlet.of_faces = lambda mesh, faces: {name: np.full(len(faces), 3.0)}
        inlet.of_faces.names = (name,)
        mesh = dg.interval(cells=4).with_regions({"slow": lambda x: x[0] < 0.5, "fast": lambda x: x[0] > 0.5})
        sim = dg.Simulation(mesh, Waves(name), dg.NodalDG(1), inlet, lambda x: np.sin(x[0]), backend="numpy", kernels="array",
                            stepper="rk4", dt=0.01)
        return [state.q for state in sim.steps(until=0.02)]
    assert np.array_equal(steps(name), steps("c"))
