"""Media that vary inside of elements: order, energy, kernels and parts; and functions that are one number on every element."""
from types import SimpleNamespace

import numpy as np
import pytest
from modal_problems import agree
from nodal_problems import box_of, of_element, random_state
from parts import Parts, advance, discretising, same
from strict import StrictNamespace

import dgarray as dg
from dgarray import backends
from dgarray.backends.arrays import ArrayBackend
from dgarray.backends.cuda import CudaBackend
from dgarray.bench import tune
from dgarray.mesh.partition import split
from dgarray.methods.dg.step_limits import damping
from dgarray.methods.dg.weak_form import WeakForm

ARRAYS = backends.get("numpy", "array")
TURN = 2 * np.pi


def smooth(x):
    return 1 + 0.3 * np.sin(TURN * x[0])


def beyond_half(x):
    return np.where(x[0] < 0.5, 1.0, 3.0)


class Layers(dg.Advection):
    """u_t + div(m.s a u) = 0: the flux itself has a parameter."""

    def __init__(self, speed):
        super().__init__((1.0, 0.5))
        self.parameters = {"s": speed}

    def flux(self, q, n, m):
        return (m.s * (n[0] + 0.5 * n[1]) * q[0],)

    def wave_speed(self, n, m):
        return abs(m.s * (n[0] + 0.5 * n[1]))

    def upwind(self, l, r, n, ml, mr, alpha):
        a = (ml.s + mr.s) / 2 * (n[0] + 0.5 * n[1])
        return (a * (l[0] + r[0]) / 2 - alpha * abs(a) * (r[0] - l[0]) / 2,)

    positive, arguments = ("s",), {"s": "speed"}


LAWS = {
    "acoustics1": lambda: dg.Acoustics(1, density=lambda x: 2 + x[0] ** 2, sound_speed=smooth),
    "acoustics2": lambda: dg.Acoustics(2, density=of_element(beyond_half), sound_speed=smooth),
    "acoustics3": lambda: dg.Acoustics(3, sound_speed=lambda x: smooth(x) + x[1] * x[2]),
    "maxwell1": lambda: dg.Maxwell(1, eps=smooth, mu=lambda x: 1 + x[0]),
    "maxwellTM": lambda: dg.Maxwell(2, "TM", eps=smooth, mu=beyond_half, sigma=lambda x: 0.3 * x[1]),
    "maxwellTE": lambda: dg.Maxwell(2, "TE", mu=smooth, sigma=0.2),
    "maxwell3": lambda: dg.Maxwell(3, eps=smooth, sigma=lambda x: 0.1 + x[0]),
    "layers": lambda: Layers(smooth)}
METHODS = {"nodal": dg.NodalDG, "by quadrature": lambda order: dg.NodalDG(order, quadrature=2 * order + 1),
           "edges": lambda order: dg.ModalDG(order, surface="edges"),
           "elements": lambda order: dg.ModalDG(order, surface="elements")}


def source_of(law):
    def source(x, t):
        return (np.sin(x[0] + t),) + (0.0,) * (len(law.variables) - 1)
    return source


def operator(method, law, mesh=None, backend=ARRAYS, flux=None, boundary=dg.absorbing):
    return method.discretise(mesh or box_of(law.dim), law, boundary, backend, flux, source_of(law))


@pytest.mark.thorough
@pytest.mark.parametrize("order, dtype", [(1, "float32"), (2, "float64"), (4, "float64")])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", LAWS)
def test_kernels_agree_with_arrays(law, method, order, dtype):
    array, fused = (operator(METHODS[method](order), LAWS[law](), backend=backends.get("numpy", kind, dtype))
                    for kind in ("array", "fused"))
    assert array.tables.media.names and bool(array.tables.media.weighted) == (law != "layers")
    q = random_state(array, 1)
    agree(*(o.host(o.rhs(o.state(q), 0.3)) for o in (fused, array)), order, dtype)
    rates = [o.operations.rate(o.state(q), 0.0, 1.0) for o in (array, fused)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-5 if dtype == "float32" else 1e-12)
    assert array.max_dt(q, 0.0, array.stepper) == fused.max_dt(fused.state(q), 0.0, fused.stepper)


def wave(law):
    """A wave in a smooth medium, and the source that drives it: C q_t + div F(q) = s; (exact, source)."""
    def phase(x, t):
        return TURN * (x[0] + x[1]) - 3 * t

    def exact(x, t):
        a = phase(x, t)
        return np.sin(a), 0.5 * np.cos(a), np.sin(a)

    def acoustics(x, t):
        s, c = np.sin(phase(x, t)), np.cos(phase(x, t))
        return -3 * c / smooth(x) ** 2 + TURN * (c - 0.5 * s), 1.5 * s + TURN * c, (TURN - 3) * c

    def maxwell(x, t):
        s, c = np.sin(phase(x, t)), np.cos(phase(x, t))
        return (TURN - 3) * c, 1.5 * s - TURN * c, -3 * c / smooth(x) ** 2 + TURN * (0.5 * s + c)
    return exact, acoustics if isinstance(law, dg.Acoustics) else maxwell


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("method", [dg.NodalDG, dg.ModalDG])
@pytest.mark.parametrize("law", [dg.Acoustics(2, sound_speed=smooth), dg.Maxwell(2, eps=lambda x: smooth(x) ** -2)],
                         ids=["acoustics", "maxwell"])
def test_smooth_media_keep_the_order(law, method, order):
    (exact, source), errors = wave(law), []
    for cells in ((8, 16) if order < 4 else (4, 8)):
        sim = dg.Simulation(dg.rectangle(cells=cells, periodic=True), law, method(order), initial=lambda x: exact(x, 0.0),
                            exact=exact, source=source, until=0.3, cfl=0.5 if order < 5 else 0.3, kernels="array")
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) >= order + 0.8


@pytest.mark.parametrize("method", [dg.NodalDG(3), dg.NodalDG(3, quadrature=7), dg.ModalDG(3)], ids=str)
def test_energy_in_a_medium(method):
    """In the norm of the weight-adjusted mass matrix the central flux keeps the energy and the upwind flux takes it; the
    spectrum of the operator has no growing part."""
    law = dg.Acoustics(2, density=lambda x: np.exp(np.sin(TURN * x[0])),
                       sound_speed=lambda x: np.exp(0.7 * np.sin(TURN * (x[0] + 2 * x[1]))))
    mesh = dg.rectangle(cells=2, periodic=True, perturb=0.2)
    for flux in (dg.central, dg.upwind):
        found = method.discretise(mesh, law, None, ARRAYS, flux)
        media, size = found.tables.media, int(np.prod(found.shape))
        A = np.stack([found.rhs(e.reshape(found.shape), 0.0).ravel() for e in np.eye(size)], axis=1)
        capacity = law.capacity(SimpleNamespace(**media.mass))
        basis, weights = found.tables.basis, np.zeros((size, size))
        mass = np.eye(basis.rows) if basis.modal else basis.cell.mass
        for v, k in np.ndindex(found.shape[0], found.shape[2]):
            here = np.arange(size).reshape(found.shape)[v, :, k]
            inverse = media.back @ (media.to_points / capacity[v][:, k, None])
            weights[np.ix_(here, here)] = mesh.measures[k] * mass @ np.linalg.inv(inverse)
        assert np.abs(weights - weights.T).max() < 1e-12 * np.abs(weights).max()
        rate = np.linalg.eigvalsh(weights @ A + (weights @ A).T)
        scale = np.abs(weights @ A).max()
        # In nodal DG the two sides of a face take the medium 1e-10 apart, and the impedances with it.
        assert rate.max() < 1e-9 * scale
        assert (np.abs(rate).max() < 1e-9 * scale) == (flux is dg.central)


@pytest.mark.parametrize("kernels", ["array", "fused"])
@pytest.mark.parametrize("method", [dg.NodalDG(2), dg.ModalDG(2)], ids=str)
def test_a_jump_at_faces_is_one_number_per_element(method, kernels):
    """Elements on both sides of a jump have their own value, though their faces lie on it: as with regions, bit by bit."""
    mesh = dg.rectangle(cells=(6, 3))
    left = mesh.centroids[:, 0] < 0.5
    regions = {"left": np.flatnonzero(left), "right": np.flatnonzero(~left)}
    by_region = dg.Mesh(mesh.points, mesh.cells, mesh.boundaries, regions, mesh.numbers, mesh.neighbours)
    backend = backends.get("numpy", kernels)
    one = operator(method, dg.Maxwell(2, eps=beyond_half), mesh, backend)
    other = operator(method, dg.Maxwell(2, eps={"left": 1.0, "right": 3.0}), by_region, backend)
    assert one.tables.media.names == ()
    q = random_state(one, 2)
    assert np.array_equal(*(o.host(o.rhs(o.state(q), 0.0)) for o in (one, other)))


@pytest.mark.parametrize("method", [dg.NodalDG(2), dg.ModalDG(2)], ids=str)
@pytest.mark.parametrize("kernels", ["array", "fused"])
def test_parts_advance_as_the_whole(method, kernels):
    mesh, law = dg.rectangle(cells=(5, 4), perturb=0.2), LAWS["maxwellTM"]()
    discretise = discretising(method, law, dg.absorbing, kernels, source=source_of(law))
    whole, parts = discretise(mesh), Parts(mesh, split(mesh, 3), discretise)

    def initial(x):
        return tuple(np.sin(3 * sum(x) + i) for i in range(len(law.variables)))
    q, states = whole.project(initial), parts.project(initial)
    dt = whole.largest_step(whole.state(q), 0.0)
    assert parts.largest_step(states, 0.0) == dt
    assert same(parts.gather(whole, parts.advance(states, [dt, dt])), advance(whole, q, [dt, dt]))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_on_strict_arrays(dtype):
    """On a GPU such media are array expressions: they run on arrays that turn into NumPy's nowhere."""
    plain = operator(dg.ModalDG(2), LAWS["maxwellTM"](), backend=backends.get("numpy", "array", dtype))
    strict = plain.on(ArrayBackend(StrictNamespace(), dtype, "strict"))
    q = random_state(plain, 0)
    results = [(o.host(o.rhs(o.state(q), 0.2)), o.operations.rate(o.state(q), 0.2, 1.0)) for o in (plain, strict)]
    assert results[0][0].dtype == results[1][0].dtype == dtype
    agree(results[1][0], results[0][0], 2, dtype)
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-5)


def test_on_a_gpu_arrays_compute():
    tables = operator(dg.NodalDG(2), LAWS["maxwellTM"]()).tables
    assert CudaBackend.kind(None, WeakForm, tables) is WeakForm
    sim = dg.Simulation(dg.rectangle(), LAWS["maxwellTM"](), dg.NodalDG(2), dg.pec, case="mine")
    with pytest.raises(ValueError, match="case 'mine' has coefficients that vary inside of elements"):
        tune.check([sim])


def test_damping_inside_of_elements():
    """The step is short enough for the largest sigma / eps, which no centroid has."""
    law = dg.Maxwell(2, sigma=lambda x: 1e4 * x[0] ** 8)
    o = operator(dg.NodalDG(2), law, dg.rectangle(cells=2))
    assert damping(o.tables) == pytest.approx(1e4, rel=1e-6)


ORDERS = {"west": 2, "east": 3}


@pytest.mark.parametrize("method, shape", [(dg.NodalDG(ORDERS), "triangle"), (dg.NodalDG(2), "mixed"),
                                           (dg.TensorDG(ORDERS), "quadrilateral")])
def test_a_jump_at_joins_is_seen_from_both_sides(method, shape):
    """Where orders or shapes meet, a function that varies inside of elements, too, has the values of each side, as regions."""
    mesh = dg.rectangle((-1, -1), (1, 1), cells=4, shape=shape)
    mesh = mesh.with_regions({"west": lambda x: x[0] < 0, "east": lambda x: x[0] > 0})

    def wave(x):
        return np.sin(x[0] + x[1]), np.cos(x[0]), x[1] ** 2
    rates = []
    for c in {"west": 1.0, "east": 3.0}, lambda x: np.where(x[0] < 0, 1.0, 3.0) * (1 + 1e-13 * x[1]):
        operator = dg.Simulation(mesh, dg.Acoustics(2, sound_speed=c), method, dg.wall, wave, backend="numpy").operator
        rates.append(operator.nodal(operator.host(operator.rhs(operator.state(operator.project(wave)), 0.0))))
    assert np.nanmax(np.abs(rates[0] - rates[1])) < 1e-7


@pytest.mark.parametrize("c", [{"west": 1.0, "east": 1.7}, lambda x: np.where(x[0] > 0, 1.7, 1.0)])
@pytest.mark.parametrize("method, shape", [(dg.NodalDG(2), "triangle"), (dg.NodalDG(ORDERS), "triangle"),
                                           (dg.NodalDG(2), "mixed")])
def test_integrals_over_an_interface_have_the_medium_of_its_side(method, shape, c):
    mesh = dg.rectangle((-1, -1), (1, 1), cells=4, shape=shape)
    mesh = mesh.with_regions({"west": lambda x: x[0] < 0, "east": lambda x: x[0] > 0})
    mesh = mesh.with_interfaces({"out of west": ("west", "east"), "out of east": ("east", "west")})
    record = {name[-4:]: dg.BoundaryIntegral(name, lambda m: m.c, names="c") for name in ("out of west", "out of east")}
    ds = dg.Simulation(mesh, dg.Acoustics(2, sound_speed=c), method, dg.wall, record=record, until=0.01, dt=0.01).run()
    assert float(ds.dg.record("west").c[-1]) == pytest.approx(2.0) and float(ds.dg.record("east").c[-1]) == pytest.approx(3.4)


def test_transforms_on_an_interface_have_the_medium_of_its_side():
    """The state of its flux, and the medium that the record knows."""
    mesh = dg.rectangle((-1, -1), (1, 1), cells=4).with_regions({"west": lambda x: x[0] < 0, "east": lambda x: x[0] > 0})
    mesh, found = mesh.with_interfaces({"out of east": ("east", "west")}), []
    for c in {"west": 1.0, "east": 1.7}, lambda x: np.where(x[0] > 0, 1.7, 1.0):
        sim = dg.Simulation(mesh, dg.Acoustics(2, sound_speed=c), dg.NodalDG(ORDERS), dg.wall, until=0.1, dt=0.02,
                            initial=lambda x: (np.exp(-9 * (x[0] + 0.2) ** 2), 0 * x[0], 0 * x[0]),
                            record={"f": dg.Fourier([0.5], boundary="out of east")})
        found.append(sim.run().dg.record("f"))
    assert np.abs(found[0].p - found[1].p).max() < 1e-12 * np.abs(found[0].p).max()
    assert found[0].attrs["medium"] == found[1].attrs["medium"] and "1.7" in str(found[0].attrs["medium"])


@pytest.mark.parametrize("method", [dg.NodalDG(2), dg.ModalDG(1)], ids=str)
def test_values_that_are_not_allowed(method):
    """Positive at all centroids, negative at a corner."""
    with pytest.raises(ValueError, match=r"sound_speed between -0\.1 and .* is not allowed; it must be positive and finite"):
        operator(method, dg.Acoustics(2, sound_speed=lambda x: x[0] + x[1] - 0.1), dg.rectangle(cells=2))


def test_energy_that_a_recorder_integrates():
    """Integrals take the medium at their points: exact for polynomials."""
    law = dg.Acoustics(2, density=lambda x: 1 + x[0], sound_speed=1.0)
    sim = dg.Simulation(dg.rectangle(cells=2), law, dg.NodalDG(2), dg.wall, lambda x: (0 * x[0], 1 + 0 * x[0], 0 * x[0]),
                        backend="numpy", kernels="array")
    sim.run(until=1e-6)
    assert sim.report["conserved"]["energy"]["initial"] == pytest.approx(0.75, rel=1e-12)


@pytest.mark.parametrize("mesh, method", [
    (dg.interval(0, 1, 4), dg.NodalDG(2)), (dg.interval(0, 1, 4), dg.ModalDG(1)), (dg.Grid((0,), (1,), 8), dg.FiniteVolume()),
    (dg.Grid((0,), (1,), 8), dg.Hermite(1)), (dg.rectangle(cells=2, shape="quadrilateral"), dg.TensorDG(1))])
def test_functions_may_have_default_arguments(mesh, method):
    """In a sweep every run has the value of its own: that of the law with the number."""
    for given in (1.0, 2.0):
        found = []
        for eps in (lambda x, e=given: e + 0 * x[0], given):
            law = dg.Maxwell(mesh.dim, eps=eps)
            count = len(law.variables)
            sim = dg.Simulation(mesh, law, method, dg.pec, lambda x, a=given, count=count: (a * np.sin(np.pi * x[0]),) * count,
                                backend="numpy", kernels="array", until=0.1)
            found.append(np.array([sim.run()[name].values[-1] for name in law.variables]))
        assert np.abs(found[0] - found[1]).max() < 1e-12


def test_functions_that_ask_for_more_are_refused_by_the_constructor():
    for wrong, asked in ((lambda x, y: 1.0, "y"), (lambda t: 1.0, "t")):
        with pytest.raises(ValueError, match=f"eps: the function asks for {asked}; allowed: x"):
            dg.Maxwell(1, eps=wrong)
        with pytest.raises(ValueError, match=f"sound_speed: the function asks for {asked}; allowed: x"):
            dg.Acoustics(2, sound_speed=wrong)
