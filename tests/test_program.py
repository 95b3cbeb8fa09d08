"""Programs: what the vocabulary of recipes records, how the interpreter performs it, what it costs, and how it reads."""
from math import prod

import numpy as np
import pytest
from dgarray.backends.arrays import ArrayBackend

import dgarray as dg
from dgarray import backends
from dgarray.methods.dg.stage_program import kind_of
from dgarray.physics.pointwise import Pointwise
from dgarray.program.arrays import Domain, Trace, apply, gather, product, put, recursion, reduce, stack
from dgarray.program.costs import costs, divided, passes_of
from dgarray.program.interpreter import groups_of
from dgarray.program.listing import listing
from dgarray.program.operations import Put
from dgarray.stepping import RK4, STEPPERS

RANDOM = np.random.default_rng(0)
CELLS, FACES = Domain("cells", 50), Domain("faces", 30)
Q, MATRIX, PLACES = RANDOM.random((2, 4, 50)), RANDOM.random((3, 4)), RANDOM.permutation(200)[:60].reshape(2, 30)
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
    both = apply(TWICE, q=q, s=s)
    found = gather(both, places)
    back = put(trace, (2, 4), CELLS, [(places, found, "set"), (places, found, "add")])
    along = product(trace.constant("E", (2, 2), None, lambda: MATRIX[:2, :2]), q.reshape(2, 2, 2), axis=-3)
    outputs = run(trace, size, a=both, b=found[1], c=back, d=product(D, both + q), e=along.moved(1, 0, 2)[0],
                  f=reduce("sum", q), g=reduce("max", q, axis=-3), h=stack([q[0], both[0]], 1), i=q[:, [0, 2]], j=q - both)
    a = np.stack([2 * Q[0] + 3, Q[0] * Q[1]])
    b = a.reshape(2, -1)[:, PLACES]
    c = np.zeros((2, 200))
    c[:, PLACES] = 2 * b
    lines = np.einsum("ij,vjke->ivke", MATRIX[:2, :2], Q.reshape(2, 2, 2, 50))
    expected = [a, b[1], c.reshape(Q.shape), MATRIX @ (a + Q), lines[0], Q.sum(axis=1), Q.max(axis=0),
                np.stack([Q[0], a[0]], axis=1), Q[:, [0, 2]], Q - a]
    for found, right in zip(outputs, expected, strict=True):
        assert found.shape == right.shape and np.abs(found - right).max() < 1e-14


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


def sound(method, mesh, **options):
    law = dg.Acoustics(mesh.dim)
    return dg.Simulation(mesh, law, method, dg.wall, lambda x: tuple(np.sin(2 * x[0] + i) for i in range(len(law.variables))),
                         until=0.05, dt=0.005, **options)


def test_a_listing_reads_as_the_weak_form():
    operator = sound(dg.NodalDG(2), dg.rectangle(cells=2), backend="numpy").operator
    text = "\n".join(listing(operator.operations.alone.program("stage", kind_of(RK4.stages[1]))))
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
    """With what NumPy's arrays do beside it, a limiter, in float32."""
    pytest.importorskip("jax")
    law = dg.Euler(1)
    sod = dg.Simulation(dg.interval(0, 1, 20), law, dg.ModalDG(1, limiter="vertex"), dg.wall, lambda x: law.conservative(
        (np.where(x[0] < 0.5, 1.0, 0.125), 0 * x[0], np.where(x[0] < 0.5, 1.0, 0.1))), until=0.05, dtype="float32",
        backend="jax", stepper="ssp33")
    found, expected = sod.run(), sod.replace(backend="numpy", kernels="array").run()
    assert found.rho.dtype == np.float32 and sod.report["backend"] == "jax" and sod.report["kernels"] == "array"
    assert np.abs(found.rho - expected.rho).max() < 1e-5


@pytest.mark.parametrize("options, message", [
    ({"kernels": "fused"}, "kernels='fused' is not allowed for backend 'jax'"), ({"threads": 2}, "threads=2 is not allowed")])
def test_what_jax_does_not_take(options, message):
    with pytest.raises(ValueError, match=message):
        backends.check("jax", **options)


class Own(dg.Method):
    """A method without programs."""


def test_jax_is_for_methods_with_programs():
    grid, law = dg.Grid(0, 1, 8, True), dg.Acoustics(1)
    with pytest.raises(ValueError, match="backend='jax' runs NodalDG, ModalDG, TensorDG and Hermite, not"):
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


def test_several_shapes_on_a_gpu_run_by_array_expressions():
    from dgarray.backends.cuda import CudaBackend
    from emulated import IdleDevice
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
