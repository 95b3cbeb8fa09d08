"""Walls and jumps of the medium with every numerical flux: cavities with WENO, static states, waves through an interface."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.analysis import manufactured
from dgarray.analysis.totals import totals

FLUXES = dg.upwind, dg.rusanov, dg.hll
WENO = dg.FiniteVolume("weno")


def observed(make, sizes):
    """The observed orders of the L2 error of the simulations make(size)."""
    errors = []
    for size in sizes:
        sim = make(size)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    return np.diff(np.log(errors)) / np.diff(np.log(1 / np.array(sizes, float)))


def parity(x, odd):
    """The product over the axes of sin(pi x_k) where `odd`, of cos(pi x_k) elsewhere."""
    result = 1.0
    for c, is_odd in zip(x, odd):
        result = result * (np.sin(np.pi * c) if is_odd else np.cos(np.pi * c))
    return result


def mirrored(law, wall):
    """A state of the unit box whose components are odd or even about each side, as the wall mirrors them."""
    def odd(variable, axis):
        vector = "E" if variable[0] == "E" else "H" if variable[0] == "H" else variable[0]
        along = len(variable) > 1 and variable[1] == "xyz"[axis]
        across_is_odd = {("E", dg.pec): True, ("H", dg.pec): False, ("E", dg.pmc): False, ("H", dg.pmc): True,
                         ("v", dg.wall): False, ("v", dg.pressure_release): True}
        if vector == "p":
            return wall is dg.pressure_release
        return across_is_odd[vector, wall] != along

    def q(x, t):
        return tuple(np.cos(t + v) * parity(x, [odd(name, axis) for axis in range(law.dim)])
                     for v, name in enumerate(law.variables))
    return q


CAVITIES = [(dg.Maxwell(2, "TM"), dg.pec), (dg.Maxwell(2, "TE"), dg.pec), (dg.Maxwell(2, "TM"), dg.pmc),
            (dg.Maxwell(2, "TE"), dg.pmc), (dg.Acoustics(2), dg.wall), (dg.Acoustics(2), dg.pressure_release)]


@pytest.mark.parametrize("law, wall", CAVITIES)
def test_cavities_have_the_order_of_weno(law, wall):
    problem = manufactured(law, mirrored(law, wall))

    def make(cells):
        return dg.Simulation(dg.Grid((0, 0), (1, 1), cells), law, WENO, **problem.options | {"boundary": wall}, until=0.2,
                             cfl=0.5, backend="numpy", kernels="array", threads=1)
    assert observed(make, (8, 16)).min() > 4.4


STATIC = {"interval": (dg.interval(0, 1, 4), dg.Maxwell(1, eps={"a": 1.0, "b": 4.0}), dg.NodalDG(2)),
          "triangles": (dg.rectangle(cells=2), dg.Maxwell(2, "TM", eps={"a": 1.0, "b": 4.0}, mu={"a": 1.0, "b": 2.0}),
                        dg.ModalDG(2)),
          "hexahedra": (dg.box(cells=2, shape="hexahedron"), dg.Maxwell(3, eps={"a": 1.0, "b": 4.0}), dg.TensorDG(1)),
          "acoustics": (dg.rectangle(cells=2), dg.Acoustics(2, density={"a": 1.0, "b": 4.0}), dg.NodalDG(1))}


@pytest.mark.parametrize("flux", [*FLUXES, dg.central], ids=lambda flux: flux.__name__)
@pytest.mark.parametrize("name", STATIC)
def test_a_state_that_does_not_jump_rests_where_the_medium_does(name, flux):
    mesh, law, method = STATIC[name]
    mesh = mesh.with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})

    def static(x):
        return tuple(1.0 + v + 0 * x[0] for v in range(len(law.variables)))
    sim = dg.Simulation(mesh, law, method, dg.prescribed(static), static, flux=flux, backend="numpy", kernels="array")
    assert np.abs(sim.rhs(sim.project())).max() < 1e-12


def eps(x):
    return np.where(x[0] < 0.5, 1.0, 4.0)


def pulse(s):
    return np.exp(-200 * s * s)


def through(x, t):
    """Ez and Hy of a pulse that meets at x = 1/2 a medium of half the impedance: reflected -1/3, transmitted 2/3."""
    x = x[0]
    there, back, beyond = pulse(x - 0.25 - t), -pulse(0.75 - x - t) / 3, 2 / 3 * pulse(2 * (x - 0.5) + 0.25 - t)
    return np.where(x < 0.5, there + back, beyond), np.where(x < 0.5, back - there, -2 * beyond)


@pytest.mark.parametrize("flux", FLUXES, ids=lambda flux: flux.__name__)
@pytest.mark.parametrize("method, sizes, least", [
    (dg.FiniteVolume("first-order"), (400, 800), 0.75), (dg.FiniteVolume("muscl"), (100, 200), 1.4),
    (dg.FiniteVolume("muscl", splitting=None), (100, 200), 1.4), (WENO, (100, 200), 1.7), (dg.NodalDG(3), (16, 32), 3.7),
    (dg.ModalDG(2), (32, 64), 2.8)], ids=["first-order", "muscl", "muscl unsplit", "weno", "nodal", "modal"])
def test_waves_through_an_interface(method, sizes, least, flux):
    """Across the jump finite volumes are of lower order, discontinuous Galerkin methods with faces there are not."""
    def make(cells):
        grid = isinstance(method, dg.FiniteVolume)
        mesh = dg.Grid((0,), (1,), cells) if grid else dg.interval(0, 1, cells)
        return dg.Simulation(mesh, dg.Maxwell(1, eps=eps), method, dg.prescribed(through), lambda x: through(x, 0.0), flux=flux,
                             exact=through, until=0.5, cfl=0.5, backend="numpy", kernels="array", threads=1)
    assert observed(make, sizes).min() > least


@pytest.mark.thorough
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_unsplit_and_split_kernels_where_parameters_vary(dim):
    """Parts of a line that read parameters alone have rows, too."""
    law, cells = dg.Maxwell(dim, eps=lambda x: 1.5 + 0.3 * np.sin(2 * np.pi * x[0])), (12, 6, 5)[:dim]

    def start(x):
        return tuple(np.sin(2 * np.pi * x[0] + v) + 0.3 * np.cos(2 * np.pi * x[-1]) for v in range(len(law.variables)))
    found, grid = [], dg.Grid((0,) * dim, (1,) * dim, cells, periodic=(False, True, True)[:dim])
    for kernels in ("array", "fused"):
        sim = dg.Simulation(grid, law, dg.FiniteVolume("muscl"), dg.pec, start, backend="numpy", kernels=kernels, threads=1,
                            until=0.05)
        found.append(np.array([sim.run()[name].values[-1] for name in law.variables]))
    assert np.abs(found[0] - found[1]).max() < 1e-14


def test_hll_of_mhd_does_not_feel_the_cleaning_speed():
    """Density and pressure that jump alone, in a gas at rest: the flux of the density is that of the magnetosonic waves."""
    n, found = (1.0, 0.0), []
    for speed in (0.5, 50.0):
        law = dg.MHD(2, cleaning_speed=speed)
        l, r = (tuple(map(float, law.conservative((rho, 0.0, 0.0, 0.0, p, 0.4, 0.3, 0.2))))
                for rho, p in ((1.0, 1.0), (0.5, 0.4)))
        found.append(dg.hll(law)(l, r, n, (0.0, 0.0), 0.0, None, None))
        slow, fast = law.signal_speeds(l, r, n)
        assert found[-1][0] == pytest.approx(fast * slow * (r[0] - l[0]) / (fast - slow))
    assert found[0][:8] == pytest.approx(found[1][:8])          # the last one is ch^2 Bn


def test_constant_states_at_a_boundary():
    law = dg.Euler(2)
    state = law.conservative((1.0, 0.3, 0.1, 1.0))
    for condition in (dg.prescribed, dg.far_field, dg.inflow):
        sims = [dg.Simulation(dg.rectangle(cells=2), law, dg.NodalDG(1), condition(given), lambda x: (1.2, 0.4, 0.1, 2.5),
                              backend="numpy", kernels="array") for given in (state, lambda x: state)]
        assert np.array_equal(*(sim.rhs(sim.project()) for sim in sims))
    with pytest.raises(ValueError, match="needs 4|must return 4"):
        dg.Simulation(dg.rectangle(cells=2), law, dg.NodalDG(1), dg.far_field((1.0, 0.0)))
    for wrong in (1.0, (1.0, "a"), (np.nan, 0.0, 0.0, 1.0), ()):
        with pytest.raises(ValueError, match="give a tuple of finite numbers, or a function"):
            dg.far_field(wrong)


@pytest.mark.parametrize("kernels", ["array", pytest.param("fused", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("velocity", [(1.0, 0.0), (0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)])
@pytest.mark.parametrize("scheme", ["first-order", "muscl", "weno"])
def test_advection_along_an_axis_by_finite_volumes(scheme, velocity, kernels):
    """Along the other axes the flux is zero: nothing is read there, and the solution is that in 1D."""
    dim, along, found = len(velocity), velocity.index(1.0), []

    def wave(x):
        return (np.sin(2 * np.pi * x[along if len(x) == dim else 0]),)
    for d, law in ((dim, dg.Advection(velocity)), (1, dg.Advection(1.0))):
        options = {"splitting": None} if scheme == "muscl" else {}
        sim = dg.Simulation(dg.Grid((0,) * d, (1,) * d, 8, periodic=True), law, dg.FiniteVolume(scheme, **options), None, wave,
                            until=0.1, dt=0.01, backend="numpy", kernels=kernels, threads=1)
        found.append(sim.run().u.values[-1])
    assert np.abs(np.moveaxis(found[0], dim - 1 - along, -1) - found[1]).max() < 1e-13


@pytest.mark.parametrize("method", [
    dg.FiniteVolume("first-order"), dg.FiniteVolume("muscl"), dg.FiniteVolume("muscl", splitting=None), WENO],
    ids=["first-order", "muscl", "muscl unsplit", "weno"])
@pytest.mark.parametrize("of", ["law", "user", "varying"])
def test_steps_of_finite_volumes_take_sources_of_ones_own_into_account(method, of):
    """A wave that decays at the rate 1000 grew to 1e91 and more."""
    class Decay(dg.Law):
        dim, variables, source = 2, ("u",), None

        def flux(self, q, n):
            return (q[0] * n[0],)

        def wave_speed(self, n):
            return np.abs(n[0])

    class OfLaw(Decay):
        def source(self, q):
            return (-1000 * q[0],)
    source = {"law": None, "user": OfLaw.source.__get__(OfLaw()), "varying": lambda q, x: (-1000 * x[1] * q[0],)}[of]
    law = OfLaw() if of == "law" else Decay()
    sim = dg.Simulation(dg.Grid((0, 0), (1, 1), 8, periodic=True), law, method, None, lambda x: (np.sin(2 * np.pi * x[0]),),
                        source=source, until=0.2, backend="numpy", kernels="array", threads=1)
    assert abs(sim.run().u.values[-1]).max() < 1e-3


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("given", [(1, 300.0, {}), (1, lambda x: 300 + 50 * np.sin(2 * np.pi * x[0]), {}), (2, 100.0, {}),
                                   (1, 300.0, {"stages": 2})], ids=["1D", "varying", "2D", "stages"])
def test_fields_decay_in_good_conductors_by_hermite(order, given):
    """The Taylor series of exp(-sigma t) is not exact: steps of h / c alone made fields grow to 1e74."""
    dim, sigma, options = given
    law, grid = dg.Maxwell(dim, sigma=sigma), dg.Grid((0,) * dim, (1,) * dim, 12 if dim == 1 else 6, periodic=True)
    sim = dg.Simulation(grid, law, dg.Hermite(order, **options), None, lambda x: (np.sin(2 * np.pi * x[0]),) * (dim + 1),
                        cfl=1.0, backend="numpy", kernels="array", threads=1)
    operator = sim.operator
    state, dt = operator.state(operator.project(sim.initial)), sim.max_dt(sim.project())
    start = np.abs(operator.host(state)).max()
    for step in range(200):
        state = operator.advance(state, step * dt, dt)
    assert np.abs(operator.host(state)).max() < start


def test_steps_of_hermite_without_losses_are_those_of_the_waves():
    grid = dg.Grid(0, 1, 10, periodic=True)
    for sigma in (0.0, 5.0):
        sim = dg.Simulation(grid, dg.Maxwell(1, sigma=sigma), dg.Hermite(2), None, backend="numpy", kernels="array")
        assert sim.max_dt(sim.project()) == pytest.approx(0.1, rel=1e-14)


@pytest.mark.parametrize("flux", [dg.central, dg.ranocha, dg.kennedy_gruber], ids=lambda flux: flux.__name__)
@pytest.mark.parametrize("scheme", ["first-order", "muscl"])
def test_finite_volumes_refuse_fluxes_without_dissipation(scheme, flux):
    """By the central flux a sine wave has the size 1e17 after two periods."""
    law = dg.Euler(1)
    for splitting in ("strang", None):
        with pytest.raises(ValueError, match=f"flux={flux.__name__} is not allowed for FiniteVolume: it has no dissipation"):
            dg.Simulation(dg.Grid(0, 1, 8), law, dg.FiniteVolume(scheme, splitting=splitting), dg.wall,
                          lambda x: law.conservative((1.0, 0.0, 1.0)), flux=flux)


def test_names_of_other_codes_lead_to_ours():
    with pytest.raises(AttributeError, match=r"pressure_release .* or absorbing"):
        _ = dg.open
    with pytest.raises(AttributeError, match="'dirichlet' does not exist; write prescribed"):
        _ = dg.dirichlet


@pytest.mark.parametrize("name, where", [
    ("polygon", "mesh"), ("from_arrays", "mesh"), ("s_parameters", "analysis.ports"), ("manufactured", "analysis"),
    ("open_store", "output"), ("tm_cavity", "cases")])
def test_names_of_parts_say_where_they_are(name, where):
    with pytest.raises(AttributeError, match=rf"'{name}' does not exist; did you mean dgarray\.{where}\.{name}\?$"):
        getattr(dg, name)


@pytest.mark.parametrize("mesh, method, error", [
    (dg.interval(0, 1, 32), dg.NodalDG(4), 1e-4), (dg.Grid(0, 1, 400), dg.FiniteVolume("muscl"), 1e-2)], ids=["mesh", "grid"])
def test_plane_waves_enter_where_the_medium_is_theirs(mesh, method, error):
    law, absorbing = dg.Maxwell(1, eps=eps), dg.absorbing
    wave = dg.plane_wave(law, 1.0, (0, 0, 1), lambda s: pulse(s - 0.25), medium={"eps": 1.0})

    def run(boundary, initial):
        sim = dg.Simulation(mesh, law, method, boundary, initial, exact=lambda x, t: through(x, t - 0.5), until=1.0,
                            kernels="array")
        sim.run()
        return sim.report["l2_error"]["total"]
    assert run({"left": dg.incident(wave), "right": absorbing}, lambda x: through(x, -0.5)) < error
    with pytest.raises(ValueError, match="eps=1, but at the faces of its condition, at \\(1\\), it is 4"):
        run({"left": absorbing, "right": dg.incident(wave)}, wave)


def test_plane_waves_of_regions():
    mesh = dg.rectangle((0, 0), (2, 1), (8, 4), shape="quadrilateral")
    mesh = mesh.with_regions({"air": lambda x: x[0] < 1, "glass": lambda x: x[0] > 1})
    law = dg.Maxwell(2, eps={"air": 1.0, "glass": 2.25}, mu={"air": 1.0, "glass": 1.0})
    wave = dg.plane_wave(law, (1, 0), (0, 0, 1), np.sin, medium="glass")
    assert wave((0.3, 0.0), 1.0)[1] == pytest.approx(-1.5 * np.sin(1 / 1.5 - 0.3))
    for condition in dg.incident(wave), dg.scattered(dg.pec, wave), dg.prescribed(wave):
        for laws in law, {"air": dg.Maxwell(2), "glass": dg.Maxwell(2, eps=2.25)}:
            def on(side, condition=condition, laws=laws):
                boundary = {"default": dg.pmc, side: condition}
                return dg.Simulation(mesh, laws, dg.TensorDG(2), boundary=boundary, kernels="array").run(until=0.01)
            on("right")
            with pytest.raises(ValueError, match="eps=2.25, but at the faces of its condition"):
                on("left")
            with pytest.raises(ValueError, match="eps=2.25, but at the faces of its condition"):
                on("top")


@pytest.mark.parametrize("medium, message", [
    (None, "give that of the wave, medium={'eps': ...} or a region's name"), ("glas", "did you mean 'glass'"),
    ({"epz": 1.0}, "those that vary"), ({"eps": -1.0}, "must be positive"), ({"eps": "1"}, "give a number")])
def test_media_of_plane_waves_that_are_refused(medium, message):
    with pytest.raises(ValueError, match=message):
        dg.plane_wave(dg.Maxwell(2, eps={"air": 1.0, "glass": 2.25}), (1, 0), (0, 0, 1), np.sin, medium)


TRIANGLES = dg.rectangle(cells=(5, 4))
BENT = TRIANGLES.mapped(lambda x: (x[0] + 0.08 * np.sin(np.pi * x[0]) * np.sin(np.pi * x[1]), x[1]), 3)
UNIFORM = dg.Acoustics(2)


def jump(x):
    return np.where(x[0] < 0.4, 1 + x[1], 3.0)


SMOOTH = dg.Acoustics(2, density=lambda x: 1 + 0.5 * np.sin(3 * x[0]), sound_speed=lambda x: 1 + 0.3 * np.cos(4 * x[1]))


@pytest.mark.parametrize("mesh, law", [
    (TRIANGLES, SMOOTH), (BENT, SMOOTH), (BENT, UNIFORM), (TRIANGLES, dg.Maxwell(2, eps=jump)),
    (dg.box(cells=2), dg.Maxwell(3, eps=lambda x: 1.5 + 0.5 * np.cos(3 * x[0])))],
    ids=["straight", "curved", "curved uniform", "jump", "tetrahedra"])
@pytest.mark.parametrize("method", [dg.NodalDG(3), dg.ModalDG(2)], ids=["nodal", "modal"])
def test_recorded_totals_are_those_that_the_scheme_conserves(mesh, law, method):
    """By the central flux the energy never rises, and falls by the time stepper's error alone."""
    def initial(x):
        bump = np.exp(-20 * sum((c - 0.45) ** 2 for c in x))
        return (bump, *(0.5 * bump for _ in law.variables[1:]))
    wall = dg.wall if law.variables[0] == "p" else dg.pec
    sim = dg.Simulation(mesh, law, method, wall, initial, flux=dg.central, until=2.0, backend="numpy", kernels="array",
                        record={"totals": dg.VolumeIntegral(every=10)})
    energy = sim.run().dg.record("totals")["energy"].values
    assert energy.max() <= energy[0] * (1 + 1e-13)
    assert energy.min() > energy[0] * (1 - 1e-2)
    total = sim.report["conserved"]["p" if law.variables[0] == "p" else "Hx"]
    assert total["final"] == pytest.approx(total["initial"], abs=1e-13)


@pytest.mark.parametrize("mesh", [TRIANGLES, BENT], ids=["straight", "curved"])
def test_recorded_totals_converge_to_the_integrals(mesh):
    def state(x):
        return np.cos(x[0]), np.sin(x[1]), 1.0 + x[0]
    g, w = np.polynomial.legendre.leggauss(30)
    x, weights = np.meshgrid((g + 1) / 2, (g + 1) / 2), np.outer(w, w) / 4
    m = {name: function(x) for name, function in SMOOTH.parameters.items()}
    m = type("Parameters", (), m)
    densities = [*(c * u for c, u in zip(SMOOTH.capacity(m), state(x))), SMOOTH.energy(state(x), m)]
    exact = [np.sum(weights * density) for density in densities]
    errors = []
    for some in (mesh, mesh.refined()):
        operator = dg.Simulation(some, SMOOTH, dg.NodalDG(3), dg.wall, state, backend="numpy", kernels="array").operator
        found = totals(operator, operator.nodal(operator.project(state)))
        errors.append(np.abs(np.subtract(list(found.values()), exact)).max())
    assert errors[0] < 1e-4 and errors[1] < errors[0] / 12
