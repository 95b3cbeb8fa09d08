"""Every yes of docs/combinations.md is a property: the runs of `matrix` converge at the order that the page states, and nothing
grows at the default step."""
import numpy as np
import pytest
from matrix import LAWS, METHODS, SEVERAL, Run, law_of, least_order, mesh_of, method_of, observed, possible, runs, simulation
from parts import GridParts, Parts, advance, advanced, discretising, same

import dgarray as dg

RUNS = [run for law in LAWS for run in runs(law)]


@pytest.mark.thorough
@pytest.mark.parametrize("run", RUNS, ids=str)
def test_it_converges(run):
    errors = observed(run)
    order = np.log2(errors[0] / errors[1])
    assert order > least_order(run), f"errors {errors}, order {order}"


@pytest.mark.parametrize("run", [RUNS[0], RUNS[len(RUNS) // 2]], ids=str)
def test_runs_of_the_matrix_fall_at_their_order(run):
    test_it_converges(run)


def test_the_runs_hold_every_pair_of_values():
    """Of a law; and all are possible."""
    run = Run("Maxwell", "2D TE", "TensorDG gauss", "curved", "hll", "pmc", "smooth")
    assert possible(run) and all(map(possible, RUNS)) and len(RUNS) < 600
    kept = [set(zip(range(7), each)) for each in RUNS if each.law == "Maxwell"]
    for i in range(1, 7):
        for j in range(i):
            assert any({(i, run[i]), (j, run[j])} <= each for each in kept), (run[i], run[j])


# On parts of a mesh or grid, see docs/several-processes.md.

CUT = [run for run in RUNS if (run.shape, run.dim) != ("grid", "1D")]          # grids in 1D are for one process


@pytest.mark.one_in(3)
@pytest.mark.usually(lambda run: run in CUT[::97])
@pytest.mark.parametrize("run", CUT, ids=str)
def test_three_parts_give_the_same_bits(run):
    """Of two steps."""
    grid = run.shape == "grid"
    cells = 12 if grid else {"1D": 12, "2D": 4, "3D": 2}[run.dim[:2]] * (1 + (run.boundary == "periodic"))
    sim = simulation(run, cells)
    discretise = discretising(sim.method, sim.law, sim.problem.boundary, "array", "float64", 1, flux=sim.problem.flux,
                              source=sim.problem.source)
    whole = discretise(sim.mesh)
    q = whole.project(sim.initial)
    dts = [0.45 * float(whole.largest_step(whole.state(q), 0.0))] * 2
    expected = advance(whole, q, dts)
    assert not same(q, expected)
    if grid:
        parts = GridParts(sim.problem, sim.method, discretise, 3)
        found = parts.together(lambda operator: operator.host(advanced(operator, operator.state(q), dts)))
        assert all(same(each, expected) for each in found)
    else:
        parts = Parts(sim.mesh, np.arange(sim.mesh.cell_count) % 3, discretise, sim.method.needs)
        assert same(parts.gather(whole, parts.advance(parts.project(sim.initial), dts)), expected)


# Stability: the matrix of one step of a linear problem, and the norms of its powers.

STEPS = 12          # doublings: up to 4096 steps
LINEAR = [run for run in RUNS if run.law in ("Advection", "Acoustics", "Maxwell") and run.shape != "grid"
          and run.boundary != "layers" and not (run.dim == "3D" and (
              run.boundary in ("periodic", "resistive_sheet") or run.medium == "jump" or run.shape in SEVERAL))]
# Without those of many elements; layers have tests/test_layer_growth.py.


def flat(operator, arrays):
    """Plain arrays of an operator as one vector."""
    return np.concatenate([part.ravel() for part in operator.as_list(arrays)])


def unflat(operator, q):
    """The inverse of `flat`."""
    shapes = list(operator.unknowns.values())
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    return operator.from_list([part.reshape(shape) for part, shape in zip(np.split(q, ends), shapes)])


def step_matrix(sim):
    """The matrix (unknown, unknown) of one default step, in coordinates in which the sum of squares is the energy of a uniform
    medium, up to the norm of the nodes."""
    operator = sim.operator
    dt = 0.9 * operator.largest_step(operator.zeros(), 0.0)

    def advanced(q):
        operator.forget()
        return flat(operator, operator.host(operator.advance(operator.state(unflat(operator, q)), 0.0, dt)))
    rest = advanced(np.zeros(operator.dofs))
    return np.array([advanced(unit) - rest for unit in np.eye(operator.dofs)]).T


@pytest.mark.thorough
@pytest.mark.parametrize("run", LINEAR, ids=str)
def test_nothing_grows_in_thousands_of_steps(run):
    """The largest norm of the powers of the matrix of a step: over all states, noise and smooth ones, for up to 4096 steps. In
    nodal values and unscaled fields a state may grow by the ratio of its norms, below 10 here; a mode that grows by a percent a
    step would reach 1e17."""
    power = step_matrix(simulation(run, {"1D": 4, "2D": 2, "3D": 1}[run.dim[:2]] * (1 + (run.boundary == "periodic"))))
    for _ in range(STEPS + 1):
        assert np.linalg.norm(power, 2) < 10
        power = power @ power


NONLINEAR = [Run(law, dim, method, shape, flux, boundary, "constant")
             for law, flux in (("Euler", "hllc"), ("MHD", "hlld"), ("a law of your own", "upwind"), ("Acoustics", "upwind"))
             for dim, methods in (("1D", ("NodalDG with quadrature", "ModalDG", "muscl", "muscl unsplit", "weno")),
                                  ("2D", ("TensorDG gauss", "first-order", "muscl", "muscl unsplit")))
             for method in methods for boundary in ("periodic", "wall" if law != "a law of your own" else "prescribed")
             for shape in ["grid" if isinstance(METHODS[method], dg.FiniteVolume) else "straight"]]
NONLINEAR += [run._replace(shape="orders") for run in NONLINEAR if run.shape == "straight" and run.boundary != "periodic"]
NONLINEAR += [run._replace(method="NodalDG", shape="mixed") for run in NONLINEAR
              if run.dim == "2D" and run.method == "TensorDG gauss" and run.shape == "straight" and run.boundary != "periodic"]


@pytest.mark.thorough
@pytest.mark.parametrize("run", NONLINEAR, ids=str)
def test_noise_about_a_state_at_rest_stays(run):
    """500 default steps: the deviation from a uniform state never exceeds a small factor of its start."""
    law = law_of(run)
    rest = np.array({"Euler": lambda: law.conservative((1.0, *(0.0,) * law.dim, 1.0)),
                     "MHD": lambda: law.conservative((1.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.3, 0.2) if run.boundary == "periodic" else
                                                     (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)),
                     "a law of your own": lambda: (1.0,), "Acoustics": lambda: (0.0,) * len(law.variables)}[run.law]())
    cells = 8 if run.shape == "grid" else 4
    boundary = {"periodic": None, "wall": dg.wall, "prescribed": dg.prescribed(tuple(rest))}[run.boundary]
    flux = None if run.method == "weno" or run.flux == "upwind" else getattr(dg, run.flux)
    sim = dg.Simulation(mesh_of(run, cells), law, method_of(run), boundary, lambda x: tuple(c + 0 * x[0] for c in rest),
                        flux=flux, backend="numpy", kernels="array", threads=1)
    operator = sim.operator
    uniform = flat(operator, operator.project(sim.initial))
    noisy = uniform + 1e-3 * np.random.default_rng(0).standard_normal(len(uniform))
    state, start, t = operator.state(unflat(operator, noisy)), np.linalg.norm(noisy - uniform), 0.0
    for step in range(500):
        dt = 0.9 * operator.largest_step(state, t)
        state, t = operator.advance(state, t, dt), t + dt
        if step % 50 == 49:
            assert np.linalg.norm(flat(operator, operator.host(state)) - uniform) < 4 * start
