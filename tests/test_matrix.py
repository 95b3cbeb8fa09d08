"""Every yes of docs/combinations.md is a property: the runs of `matrix` converge at the order that the page states, and nothing
grows at the default step."""
from itertools import combinations

import numpy as np
import pytest
from matrix import (
    LAWS,
    METHODS,
    PARTS,
    RECORDS,
    SEVERAL,
    Run,
    boundary_of,
    candidates,
    cost,
    law_of,
    least_order,
    mesh_of,
    method_of,
    observed,
    runs,
    simulation,
    state_of,
)
from matrix_images import difference
from pairs import cover
from parts import GridParts, Parts, advance, advanced, discretising, same

import dgarray as dg
from dgarray.stepping import updated

RUNS = [run for law in LAWS for run in runs(law)]


@pytest.mark.thorough
@pytest.mark.parametrize("run", RUNS, ids=str)
def test_it_converges(run):
    order, errors = observed(run)
    assert order > least_order(run), f"errors {errors}, order {order}"


@pytest.mark.parametrize("run", [RUNS[0], RUNS[len(RUNS) // 2]], ids=str)
def test_runs_of_the_matrix_fall_at_their_order(run):
    test_it_converges(run)


@pytest.mark.parametrize("law", ["Maxwell", "Euler"])
def test_the_runs_hold_every_pair_of_values(law):
    """Of all runs of a law that are possible; by far fewer runs."""
    def pairs(some):
        return {pair for run in some for pair in combinations(enumerate(run), 2)}
    assert len(RUNS) < 600 and 20 * len(runs(law)) < len(candidates(law))
    assert pairs(runs(law)) == pairs(candidates(law))
    values = [set(column) for column in zip(*candidates(law))]
    assert all(len(each) > 1 for each in values[1:6]) and values[7] == set(PARTS)
    assert len(values[8]) == (3 if law == "Maxwell" else 1)


# Gradients, see docs/gradients.md.

def graded(run, *shapes):
    """Whether a run stands for those that have a gradient, without limiters and on cells of these shapes, by default on meshes;
    in 3D nothing of it is new."""
    whole = (run.parts, run.records) == (PARTS[0], RECORDS[0])
    wanted = run.shape in shapes if shapes else run.shape != "grid"
    return whole and wanted and run.method != "limited" and run.dim in ("1D", "2D", "2D TM")


GRADED = [run for law in ("Acoustics", "Maxwell") for run in cover([run for run in candidates(law) if graded(run)], cost)]


@pytest.mark.thorough
@pytest.mark.parametrize("run", GRADED, ids=str)
def test_gradients_pass_the_taylor_test(run):
    """By the initial state and a medium, of a smooth one at the nodes. Fluxes that take the larger of two speeds have a kink
    where these are equal, so there the whole medium changes; those of nonlinear laws have one in all smooth states."""
    cells = {"1D": 6, "2D": 3}[run.dim[:2]] * (1 + (run.boundary == "periodic"))
    sim = simulation(run, cells)
    at_nodes = run.medium == "smooth" and len(sim.method.space(sim.problem).spaces) == 1
    kind = "number" if run.flux not in ("upwind", "central") else "node" if at_nodes else "element"
    found = taylor_test(sim, run, sim.mesh.points, kind)
    assert np.all(np.abs(found.order[1:4] - 2) < 0.02) or found.remainder[4] < 1e-9 * found.difference[4]


def taylor_test(sim, run, corners, kind, step=1e-3):
    """Of three steps of a simulation, by the initial state and a medium."""
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    points = low + (high - low) * np.array([(0.3, 0.4), (0.62, 0.71)])[:, :sim.law.dim]
    dt = 0.5 * float(sim.operator.largest_step(sim.operator.state(sim.project()), 0.0))
    sim = sim.replace(record={"mic": dg.Points(points)}, until=3 * dt, dt=dt, exact=None)

    def misfit(ds):
        record = ds.dg.record("mic")
        return sum((record[name] ** 2).sum() for name in sim.law.variables)
    medium = {"Acoustics": "sound_speed", "Maxwell": "eps"}[run.law]
    return sim.gradient(misfit, {"initial": True, medium: kind}).check(step)


ON_GRIDS = {"first-order": METHODS["first-order"], "muscl": dg.FiniteVolume("muscl", limiter=None), "weno": METHODS["weno"],
            "muscl unsplit": dg.FiniteVolume("muscl", splitting=None, limiter=None)}
WALLS = {"Acoustics": ("wall", "pressure_release"), "Maxwell": ("pec", "pmc")}
HERMITE = [Run(law, dim, f"Hermite {N}", "grid", "none", boundary, medium) for law, walls in WALLS.items()
           for dim in LAWS[law][:2] for N in (1, 2) for boundary in ("periodic", "sponge", *walls)
           for medium in ("constant", "smooth")]
GRADED_ON_GRIDS = [run for law in ("Acoustics", "Maxwell") for run in cover(
    [run for run in candidates(law) if graded(run, "grid") and run.dim in LAWS[law][:2]], cost)]
GRADED_ON_GRIDS += cover(HERMITE, lambda run: int(run.dim[0]))


@pytest.mark.thorough
@pytest.mark.parametrize("run", GRADED_ON_GRIDS, ids=str)
def test_gradients_on_grids_pass_the_taylor_test(run):
    """The state differs in all cells, and steps are short, since weights of weno have no derivative where cells are equal."""
    law = law_of(run)
    q = state_of(run._replace(boundary="periodic") if run.boundary == "sponge" else run, law)

    def uneven(x):
        return tuple(np.sin(1.3 * x[0] + 0.9 * x[-1] + 0.7 * k) + 0.3 * np.cos(2 * sum(x) + k)
                     for k in range(len(law.variables)))
    boundary = dg.Sponge(0.4, 0.1) if run.boundary == "sponge" else boundary_of(run, law, q)
    method = ON_GRIDS.get(run.method) or dg.Hermite(int(run.method[-1]))
    flux = getattr(dg, run.flux) if run.method in ON_GRIDS and run.method != "weno" else None
    sim = dg.Simulation(mesh_of(run, 7), law, method, boundary, uneven, flux=flux, backend="numpy", kernels="array", threads=1)
    kind = "element" if run.flux == "upwind" and run.method != "weno" else "number"
    found = taylor_test(sim, run, (sim.mesh.lower, sim.mesh.upper), kind, 1e-5 if run.method == "weno" else 1e-3)
    assert np.all(np.abs(found.order[1:4] - 2) < 0.02) or found.remainder[4] < 1e-6 * found.difference[4]


# On parts of a mesh or grid, see docs/several-processes.md.

CUT = [run for run in RUNS if run.parts == PARTS[1]]


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


# The half of a symmetric problem beside the whole of it.

HALVED = [run for run in RUNS if run.records != RECORDS[0]]


@pytest.mark.parametrize("run", HALVED, ids=str)
def test_images_of_a_record_are_the_record_of_the_whole(run):
    """To rounding, at every point of the sides. So are the normals, and with them what is integrated, as far fields are."""
    assert difference(run) < 1e-12


# Stability: the matrix of one step of a linear problem, and the norms of its powers.

STEPS = 12          # doublings: up to 4096 steps
SMALL = [run for law in ("Advection", "Acoustics", "Maxwell") for run in candidates(law)
         if run[7:] == (PARTS[0], RECORDS[0]) and run.shape != "grid" and run.boundary != "layers"
         and not (run.dim == "3D" and (run.boundary in ("periodic", "resistive_sheet") or run.medium == "jump"
                                       or run.shape in SEVERAL))]
# Without those of many elements; layers have tests/test_layer_growth.py.
LINEAR = [run for law in LAWS if (same_law := [run for run in SMALL if run.law == law]) for run in cover(same_law, cost)]


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
    medium, up to the norm of the nodes: the stages, applied to the matrix of the right-hand side."""
    operator, linear = sim.operator, sim.linear_operator()
    dt, one = 0.9 * operator.largest_step(operator.zeros(), 0.0), np.eye(operator.dofs)
    rates = np.array([linear.matvec(unit) for unit in one]).T
    k, q = np.zeros_like(one), one
    for stage in sim.stepper.stages:
        k, q = updated(stage, dt * (rates @ q), q, k, one)

    def advanced(state):
        operator.forget()
        return flat(operator, operator.host(operator.advance(operator.state(unflat(operator, state)), 0.0, dt)))
    some = np.random.default_rng(0).standard_normal(operator.dofs)
    assert np.abs(advanced(some) - advanced(0 * some) - q @ some).max() < 1e-10
    return q


def largest_gain(matrix):
    """The 2-norm of a matrix, from below: after 30 steps of the power iteration, about a tenth at most."""
    v = np.random.default_rng(0).standard_normal(len(matrix))
    for _ in range(30):
        v = matrix.T @ (matrix @ (v / (np.linalg.norm(v) or 1.0)))
    return np.sqrt(np.linalg.norm(v))


@pytest.mark.thorough
@pytest.mark.parametrize("run", LINEAR, ids=str)
def test_nothing_grows_in_thousands_of_steps(run):
    """The largest norm of the powers of the matrix of a step: over all states, noise and smooth ones, for up to 4096 steps. In
    nodal values and unscaled fields a state may grow by the ratio of its norms, below 10 here; a mode that grows by a percent a
    step would reach 1e17."""
    cells = {"1D": 4, "2D": 2, "3D": 1}[run.dim[:2]] * (1 + (run.boundary == "periodic"))
    power = step_matrix(simulation(run, cells, source=None))
    for _ in range(STEPS + 1):
        assert largest_gain(power) < 10
        power = power @ power


# Of linear laws by discontinuous Galerkin methods, the matrix of a step says more.
NOISY = [Run(law, dim, method, shape, flux, boundary, "constant")
         for law, flux in (("Euler", "hllc"), ("MHD", "hlld"), ("a law of your own", "upwind"), ("Acoustics", "upwind"))
         for dim, methods in (("1D", ("NodalDG with quadrature", "ModalDG", "muscl", "muscl unsplit", "weno")),
                              ("2D", ("TensorDG gauss", "first-order", "muscl", "muscl unsplit")))
         for method in methods for boundary in ("periodic", "wall" if law != "a law of your own" else "prescribed")
         for shape in ["grid" if isinstance(METHODS[method], dg.FiniteVolume) else "straight"]
         if law != "Acoustics" or shape == "grid"]
NOISY += [run._replace(shape="orders") for run in NOISY if run.shape == "straight" and run.boundary != "periodic"]
NOISY += [run._replace(method="NodalDG", shape="mixed") for run in NOISY
          if run.dim == "2D" and run.method == "TensorDG gauss" and run.shape == "straight" and run.boundary != "periodic"]
NONLINEAR = cover(NOISY, cost)


@pytest.mark.thorough
@pytest.mark.parametrize("run", NONLINEAR, ids=str)
def test_noise_about_a_state_at_rest_stays(run):
    """125 default steps: the deviation from a uniform state never exceeds a small factor of its start."""
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
    for step in range(125):
        dt = 0.9 * operator.largest_step(state, t)
        state, t = operator.advance(state, t, dt), t + dt
        if step % 25 == 24:
            assert np.linalg.norm(flat(operator, operator.host(state)) - uniform) < 4 * start
