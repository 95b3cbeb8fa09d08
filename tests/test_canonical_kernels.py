"""The kernel of a stage depends on law, numerical flux, order and shape alone; all else comes at run time."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.mesh.generate import rectangle

STATES = {dg.Acoustics: lambda x: (np.sin(3 * x[0] + x[1]), np.cos(2 * x[0]), np.sin(x[1])),
          dg.Euler: lambda x: (2 + 0.3 * np.sin(3 * x[0] + x[1]), 0.1 * np.cos(2 * x[0]), 0.2 * np.sin(x[1]), 3 + 0.1 * x[0])}


def swinging(q, x, t):
    """A condition of a user's own that depends on position and time."""
    return ((1 + 0.1 * np.cos(x[0] + 2 * x[1]) * np.sin(3 * t)) * q[0], q[1], -q[2], *q[3:])


CONDITIONS = {"wall": dg.wall, "open": dg.outflow, "both": {"left": dg.wall, "default": dg.outflow},
              "own": {"left": dg.wall, "right": dg.outflow, "default": swinging}}
METHODS = {"nodal": (dg.NodalDG(2), "triangle"), "quadrature": (dg.NodalDG(2, quadrature=5), "triangle"),
           "elements": (dg.ModalDG(2, surface="elements"), "triangle"), "edges": (dg.ModalDG(2, surface="edges"), "triangle"),
           "tensor": (dg.TensorDG(2), "quadrilateral"),
           "split": (dg.TensorDG(2, nodes="lobatto", volume_flux=dg.ranocha), "quadrilateral"),
           "shocks": (dg.TensorDG(2, nodes="lobatto", volume_flux=dg.ranocha, shock_capturing=0.5), "quadrilateral")}


def problem(method, law=None, boundary=dg.wall, shape="triangle", stepper="lsrk54", kernels="fused", periodic=False, **options):
    law = law or dg.Acoustics(2)
    mesh = rectangle(cells=(6, 5), shape=shape, periodic=periodic)
    return dg.Simulation(mesh, law, method, boundary=None if periodic else boundary, initial=STATES[type(law)], stepper=stepper,
                         kernels=kernels, backend="numpy", threads=1, **options)


def law_of(name):
    return dg.Euler(2) if name in ("split", "shocks") else dg.Acoustics(2)


@pytest.mark.parametrize("name", METHODS)
def test_problems_that_differ_in_boundary_constants_and_stepper_have_one_kernel(name):
    method, shape = METHODS[name]
    law = law_of(name)
    other = dg.Euler(2, gamma=1.3) if name in ("split", "shocks") else dg.Acoustics(2, density=1.4)
    problems = [*(problem(method, law, condition, shape) for condition in CONDITIONS.values()),
                problem(method, law, shape=shape, periodic=True), problem(method, other, shape=shape),
                *(problem(method, law, shape=shape, stepper=stepper) for stepper in ("ssp33", "rk4", "ssp54"))]
    assert len({sim.operator.kernel_texts()["stages"] for sim in problems}) == 1


def test_the_kernel_of_a_condition_does_not_depend_on_order_or_shape():
    texts = {problem(method, boundary=dg.wall, shape=shape).operator.kernel_texts()["boundary 'default'"]
             for method, shape in ((dg.NodalDG(2), "triangle"), (dg.NodalDG(4), "triangle"))}
    assert len(texts) == 1
    weak = {problem(dg.TensorDG(order), shape="quadrilateral").operator.kernel_texts()["boundary 'default'"]
            for order in (2, 3)}
    assert len(weak) == 1


@pytest.mark.parametrize("dtype, most", [("float64", 1e-13), ("float32", 3e-5)])
@pytest.mark.parametrize("name", METHODS)
def test_fluxes_at_the_boundary_are_those_of_the_arrays(name, dtype, most):
    method, shape = METHODS[name]
    for stepper in ("lsrk54", "rk4", "ssp33", "ssp54"):
        fused, arrays = (problem(method, law_of(name), CONDITIONS["own"], shape, stepper, kernels, dtype=dtype)
                         for kernels in ("fused", "array"))
        ends = [sim.run(until=3 * fused.max_dt(fused.project())) for sim in (fused, arrays)]
        for variable in law_of(name).variables:
            a, b = (end[variable].values[-1] for end in ends)
            assert np.abs(a - b).max() <= most * max(1, np.abs(b).max())


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["first-order", "muscl", "weno"])
def test_one_kernel_for_all_grids_gases_and_sides_of_finite_volumes(scheme):
    """Those of a periodic axis and of one with sides differ."""
    def texts(cells=32, size=1.0, gamma=1.4, boundary=dg.wall, stepper=None):
        grid = dg.Grid((0, 0), (size, size), cells, periodic=boundary is None)
        sim = dg.Simulation(grid, dg.Euler(2, gamma=gamma), dg.FiniteVolume(scheme), boundary=boundary, stepper=stepper,
                            initial=STATES[dg.Euler], backend="numpy")
        return tuple(text for name, text in sim.operator.kernel_texts().items() if not name.startswith("boundary"))
    open_sides = {texts(), texts(48), texts(size=3.0), texts(gamma=1.6), texts(boundary=dg.outflow),
                  texts(boundary={"left": dg.wall, "default": swinging})}
    periodic = {texts(boundary=None), texts(48, boundary=None), texts(gamma=1.6, boundary=None)}
    assert len(open_sides) == len(periodic) == 1 and open_sides != periodic
    if scheme == "weno":
        assert len({texts(stepper=name) for name in ("ssp33", "rk4", "ssp54", "lsrk54")}) == 1


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("condition", [dg.wall, dg.outflow, dg.absorbing])
def test_all_sides_of_a_grid_have_one_kernel(condition, dim):
    law = dg.Acoustics(dim)
    sim = dg.Simulation(dg.Grid((0,) * dim, (1,) * dim, 16), law, dg.FiniteVolume(), boundary=condition,
                        initial=lambda x: (x[0],) * len(law.variables), backend="numpy")
    names = [name for name in sim.operator.kernel_texts() if name.startswith("boundary")]
    assert len(names) == 2 * dim and len({sim.operator.kernel_texts()[name] for name in names}) == 1


def test_the_kernel_that_checks_a_state_does_not_know_whether_a_grid_is_periodic():
    looks = set()
    for periodic in (True, False, (True, False), (False, True)):
        grid = dg.Grid((0, 0), (1, 1), 16, periodic=periodic)
        sim = dg.Simulation(grid, dg.Euler(2), dg.FiniteVolume(), boundary=None if periodic is True else dg.wall,
                            initial=STATES[dg.Euler], backend="numpy")
        looks.add(sim.operator.operations.check_pass.text)
    assert len(looks) == 1


LIMITERS = {
    "characteristic": (dg.ModalDG(1, limiter="vertex", limiter_variables="characteristic"), "triangle"),
    "primitive": (dg.ModalDG(1, limiter="barth-jespersen", limiter_variables="primitive", indicator="kxrcf"), "triangle"),
    "modal": (dg.ModalDG(2, limiter="vertex", positivity=True), "triangle"),
    "nodal": (dg.NodalDG(2, limiter="vertex", positivity=True), "triangle"),
    "tensor": (dg.TensorDG(2, positivity=True), "quadrilateral")}


@pytest.mark.parametrize("name", LIMITERS)
def test_limiters_of_all_gases_have_one_kernel(name):
    method, shape = LIMITERS[name]
    found = [problem(method, dg.Euler(2, gamma=gamma), boundary, shape).operator.kernel_texts()
             for gamma in (1.4, 1.3, 5 / 3) for boundary in (dg.wall, dg.outflow)]
    assert len({tuple(text for name, text in texts.items() if not name.startswith("boundary")) for texts in found}) == 1
    assert any("limit" in name for name in found[0])


@pytest.mark.parametrize("law, others", [
    (dg.Acoustics(2), (dg.Acoustics(2, density=1.4), dg.Acoustics(2, density=0.3, sound_speed=1.7))),
    (dg.Maxwell(3), (dg.Maxwell(3, eps=2.3), dg.Maxwell(3, eps=0.3, mu=1.7)))])
def test_one_kernel_for_all_media_and_walls_of_hermite(law, others):
    """Where spacings differ it is another one than where they are equal: these share factors."""
    def text(law=law, upper=1.0, cells=12, cfl=0.9, periodic=True):
        grid = dg.Grid((0,) * law.dim, np.broadcast_to(upper, law.dim), cells, periodic=periodic)
        sim = dg.Simulation(grid, law, dg.Hermite(2), initial=lambda x: (x[0],) * len(law.variables), backend="numpy",
                            boundary=None if periodic else dg.wall if isinstance(law, dg.Acoustics) else dg.pec, cfl=cfl)
        return sim.operator.kernel_texts()["half-step"]
    assert len({text(), text(upper=3.0), text(cells=14), text(cfl=0.5), text(periodic=False), *map(text, others)}) == 1
    assert len({text(upper=[(1, 2, 3)[i] for i in order[:law.dim]]) for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0))}) == 1


def rows(text):
    """The operations that `explain(sim, steps=True)` prints: {name: (computed by, reads, writes)} of the first stage."""
    lines = next(block for block in text.split("\n\n") if "computed by" in block).splitlines()
    starts = [lines[1].index(title) for title in ("operation", "computed by", "reads", "writes")]
    found = [[line[a:b].strip() for a, b in zip(starts, [*starts[1:], None])] for line in lines[2:]]
    return lines[0], {name: tuple(rest) for name, *rest in found}


def test_a_step_explains_itself(capsys):
    mesh = rectangle(cells=(6, 6), shape="quadrilateral").with_regions({"core": lambda x: x[0] < 0.5}).refined("core")
    sim = dg.Simulation(mesh, dg.Acoustics(2), dg.TensorDG(2), boundary=dg.wall, initial=STATES[dg.Acoustics], backend="numpy")
    for kernels, by in (("fused", "kernel"), ("array", "array expressions")):
        dg.explain(sim.replace(kernels=kernels), steps=True)
        title, found = rows(capsys.readouterr().out)
        last, mortars = list(found)[-1], next(name for name in found if "mortars" in name)
        assert title.startswith("stage") and found[mortars][0] == found[last][0] == by
        assert "at faces" in found[mortars][1]
        for written in ("new state", "register") if by == "kernel" else ("out", "k"):
            assert f"{written} (" in found[last][2]
    dg.explain(problem(dg.ModalDG(1, limiter="vertex"), stepper="ssp33"), steps=True)
    title, found = rows(capsys.readouterr().out)
    assert title == "stages 1 to 3 of 3" and list(found)[-1] == "limiter: limit" and "register" not in str(found)
    grid = dg.Simulation(dg.Grid((0, 0), (1, 1), (8, 8), True), dg.Euler(2), dg.FiniteVolume(), initial=STATES[dg.Euler])
    dg.explain(grid, steps=True)
    title, found = rows(capsys.readouterr().out)
    assert title == "stage 1 of 1" and found["stage"][:2] == ("kernel", "state")
    with pytest.raises(ValueError, match="makes no steps; give a Simulation"):
        dg.explain(dg.Euler(2), steps=True)


def test_lists_of_operations_are_made_once_and_let_other_states_go():
    sim = problem(dg.NodalDG(2))
    operator = sim.operator
    lists = operator.operations._lists
    state = operator.state(operator.project(sim.initial))
    for _ in range(6):
        state = operator.advance(state, 0.0, 1e-3)
    assert len(lists.lists) == 2 and len(lists.arrays) == 3          # two states in turns, and the register
    other = operator.advance(operator.state(operator.project(sim.initial)), 0.0, 1e-3)
    assert len(lists.lists) == 1 and id(other) in lists.arrays
