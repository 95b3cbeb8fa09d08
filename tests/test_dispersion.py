"""Media that depend on frequency: formulas, passivity, energy, and fits of tables."""
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import dgarray as dg
from dgarray.analysis.layered_slabs import fresnel_coefficients
from dgarray.analysis.scattering_spheres import sphere_cross_sections
from dgarray.physics.dispersion import Dispersion, Relaxation, Resonance
from dgarray.physics.frequency_ranges import gains, loss_frequencies

EPS_0 = 8.8541878188e-12
OMEGA = np.array([-7.0, -0.3, 0.2, 1.0, 4.5])
MEDIA = [2.0 + dg.Debye(1.0, 0.3), 1 + dg.Drude(3.3, 0.1), dg.Lorentz(0.5, 2.0, 0.2) + 1.5, 1 + dg.Drude(3.0, 0.0),
         EPS_0 * (1 + dg.Drude(1.3e16, 1.1e14) + 3 * dg.Lorentz(0.7, 4e15, 0.0)),
         0.1 * (0.3 * (2 + dg.Poles([-1 + 2j, -3.0, -1 - 1j], [0.1 - 1j, 2, 0.3 + 0.2j]) + dg.Debye(7.0, 1 / 3)) + 1),
         1 + dg.Poles(0, 0.7) + dg.Poles(-1.0, 3.0)]
PASSIVE = MEDIA[:4] + MEDIA[5:]


def water():
    """Water at 25 C below 1 THz, times in ps: two relaxations.

    Liebe, Hufford & Manabe 1991, A model for the complex permittivity of water at frequencies below 1 THz, International
    Journal of Infrared and Millimeter Waves 12, 659."""
    theta = 1 - 300 / 298.15
    static = 77.66 - 103.3 * theta
    middle, high = 0.0671 * static, 3.52 + 7.52 * theta
    first = 20.20 + 146.4 * theta + 316 * theta**2          # GHz
    times = [1e3 / (2 * np.pi * f) for f in (first, 39.8 * first)]
    return high + dg.Debye(static - middle, times[0]) + dg.Debye(middle - high, times[1])


GOLD = ((1.27, 470.0, 1900.0), (1.1, 325.0, 1060.0))          # A, lambda and mu in nm, phi = -pi/4


def gold_table(wavelength):
    """Gold between 400 and 1000 nm, exp(-i omega t): Drude's term and two critical points, fitted to Johnson & Christy.

    Le Ru & Etchegoin 2009, Principles of surface-enhanced Raman spectroscopy, equation (E.2); the form is that of Etchegoin,
    Le Ru & Meyer 2006, J. Chem. Phys. 125, 164705."""
    eps = 1.54 * (1 - 1 / (177.5**2 * (1 / wavelength**2 + 1j / (14500 * wavelength))))
    for A, center, mu in GOLD:
        eps = eps + A / center * (np.exp(-0.25j * np.pi) / (1 / center - 1 / wavelength - 1j / mu)
                                  + np.exp(0.25j * np.pi) / (1 / center + 1 / wavelength + 1j / mu))
    return eps


def gold():
    """The same as poles, with omega = 2 pi / wavelength in 1 / nm."""
    k = 2 * np.pi
    return 1.54 * (1 + dg.Drude(k / 177.5, k / 14500)) + dg.Poles(
        [-k / mu + 1j * k / center for _, center, mu in GOLD],
        [-1j * A * k / center * np.exp(0.25j * np.pi) for A, center, _ in GOLD])


def test_formulas():
    w = OMEGA
    assert_allclose((2 + dg.Debye(1.5, 0.3)).at(1j * w), 2 + 1.5 / (1 + 0.3j * w), rtol=1e-14)
    assert_allclose((1 + dg.Drude(3.3, 0.1)).at(1j * w), 1 - 3.3**2 / (w**2 - 0.1j * w), rtol=1e-14)
    assert_allclose((1 + dg.Lorentz(0.5, 2.0, 0.2)).at(1j * w), 1 + 0.5 * 4 / (4 + 0.2j * w - w**2), rtol=1e-14)
    p, r, s = -1 + 2j, 0.1 - 1j, 1j * w
    for pole, residue in ((p, r), (p.conjugate(), r.conjugate())):
        both = r / (s - p) + r.conjugate() / (s - p.conjugate())
        assert_allclose((1 + dg.Poles(pole, residue)).at(1j * w), 1 + both, rtol=1e-14)
    assert_allclose((1 + dg.Poles([-2, 0], [3, 0.5])).at(1j * w), 1 + 3 / (s + 2) + 0.5 / s, rtol=1e-14)


@pytest.mark.parametrize("medium", MEDIA, ids=repr)
def test_values(medium):
    scale = 1e16 if medium.high < 1e-9 else 1.0
    w = scale * OMEGA
    assert_allclose(medium.at(1j * -w), np.conj(medium.at(1j * w)), rtol=1e-14)
    assert_allclose(medium(w / (2 * np.pi)), medium.at(1j * w), rtol=1e-12)
    assert_allclose(medium(1e9 * scale), medium.high, rtol=1e-6)
    assert medium.at(1j * w.reshape(5, 1)).shape == (5, 1) and isinstance(medium.at(1j * w[0]), complex)
    assert_allclose(medium.at(1j * w[1]), medium.at(1j * w)[1], rtol=0)
    assert_allclose(EPS_0 * medium.at(1j * w), (EPS_0 * medium).at(1j * w), rtol=1e-14)


@pytest.mark.parametrize("medium", [*MEDIA, dg.Debye(1.0, 0.5), dg.Debye(1.0, 0.5) + (-1)], ids=repr)
def test_what_prints_is_the_sum(medium):
    again = eval(repr(medium), vars(dg))
    assert again == medium and hash(again) == hash(medium) and repr(again) == repr(medium)
    assert medium != 2 * medium and medium != medium + 1


def test_printed():
    assert repr(2 + dg.Debye(1, 0.5)) == "2.0 + Debye(1.0, 0.5)"
    assert repr(2 * (1 + dg.Drude(3, 0)) + dg.Poles([-1 + 2j, -1], [1j, 2])) == (
        "2.0 + 2.0 * Drude(3.0, 0.0) + Poles([(-1+2j), -1.0], [1j, 2.0])")


def test_arithmetic():
    debye = dg.Debye(2.0, 0.5)
    assert 1 + debye == debye + 1 == np.float64(1) + debye == debye + np.float32(1)
    assert 2 * (1 + debye) == (1 + debye) * 2 == np.int64(2) * (1 + debye) == 2 + dg.Debye(4.0, 0.5)
    assert 3 * (2 * debye) == 6 * debye and len({1 + debye, 1 + debye, 2 + debye}) == 2
    assert (1 + debye) + (2 + debye) == Dispersion(3.0, debye.terms * 2)
    assert (3 + debye) / 2 == 0.5 * (3 + debye) and (3 + debye) - 1 == (3 + debye) - np.float64(1) == 2 + debye
    assert ((3 + debye) / np.float32(2) - 0.5)(0.3) == pytest.approx(((3 + debye)(0.3) - 1) / 2)
    for wrong in (lambda: debye + "1", lambda: debye / "2", lambda: 2 / debye, lambda: debye - debye, lambda: 1 - debye,
                  lambda: debye * debye, lambda: (1 + 1j) + debye):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("make, message", [
    (lambda: dg.Debye(-1.0, 0.5), "strength=-1.0 is not allowed; it must be positive: a pole with the wrong sign"),
    (lambda: dg.Lorentz(-1.0, 0.5, 0.1), "strength=-1.0 is not allowed; it must be positive: a pole with the wrong sign"),
    (lambda: dg.Debye(0, 0.5), "strength=0 is not allowed; it must be a number, positive and finite"),
    (lambda: dg.Debye(1.0, 0.0), "tau=0.0 is not allowed; it must be a number, positive and finite"),
    (lambda: dg.Debye("1", 0.5), "strength='1' is not allowed"),
    (lambda: dg.Drude(1.0, -0.1), "damping=-0.1 is not allowed; it must be a number, not negative and finite"),
    (lambda: dg.Drude(np.nan, 0.1), "plasma=nan is not allowed"),
    (lambda: dg.Lorentz(1.0, 0.0, 0.1), "resonance=0.0 is not allowed"),
    (lambda: dg.Lorentz(1.0, 1j, 0.1), "resonance=1j is not allowed"),
    (lambda: dg.Poles([0.1 + 2j], [1.0]), r"the pole \(0.1\+2j\) is unstable: its field grows as exp\(0.1 t\)"),
    (lambda: dg.Poles(-2, 1j), "the real pole -2.0 has the residue 1j; it must be real"),
    (lambda: dg.Poles([-1 + 1j, -1 - 1j], [1, 1]), "and its conjugate are both given"),
    (lambda: dg.Poles([-1, -2], [1]), "2 poles with 1 residues are not allowed"),
    (lambda: dg.Poles([], []), "0 poles"),
    (lambda: dg.Poles([None], [1]), "poles: None is not allowed"),
    (lambda: np.inf + dg.Debye(1, 1), "the number that is added=inf is not allowed"),
    (lambda: dg.Debye(1, 1) / 0, "the divisor=0 is not allowed; it must be a number, positive"),
    (lambda: dg.Debye(1, 1) - np.inf, "the number that is subtracted=inf is not allowed"),
    (lambda: -dg.Debye(1.0, 1.0), r"-\(Debye\(1.0, 1.0\)\) is not allowed; it would amplify waves"),
    (lambda: -1 * dg.Debye(1, 1), "the factor=-1 is not allowed; it must be a number, positive"),
])
def test_wrong_numbers(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("medium, exact", [
    (1 + dg.Drude(5.0, 0.1), [(0, 24.99 ** 0.5)]), (1 + dg.Drude(1.0, 2.0), []),
    (2 + dg.Lorentz(1e-6, 3.0, 0.0), [(3, 3 * (1 + 0.5e-6) ** 0.5)]), (2 + dg.Debye(1.0, 0.1), []),
    (EPS_0 * (1 + dg.Drude(1.3e16, 1.1e14)), [(0, (1.69e32 - 1.21e28) ** 0.5)])])
def test_frequencies_at_which_a_medium_is_negative(medium, exact):
    """From a zero or pole to the next, also where they are near each other; in SI units too."""
    assert_allclose(np.reshape(medium.negative_ranges(), (-1, 2)) * 2 * np.pi, np.reshape(exact, (-1, 2)), rtol=1e-9)


@pytest.mark.parametrize("medium, message", [
    (dg.Debye(1.0, 0.5), r"at infinite frequency is 0, and it must be positive: write 1 \+ Debye"),
    (-1 + dg.Debye(1.0, 0.5), "at infinite frequency is -1"),
    (1 + dg.Poles(-2.0, -1.0), "not passive; where omega is any number it has Im eps > 0.*a pole has the wrong sign"),
    (1 + dg.Poles(-1.0 + 5j, 0.5 + 1j), r"not passive; where omega is below 6\.633 it"),          # x = 44
    (1 + dg.Poles(2j, 1j), "a pole with the wrong sign at omega = 2 is not passive"),
    (1 + dg.Poles(2j, 1.0), "a pole with the wrong sign at omega = 2 is not passive"),
    (1 + dg.Poles(0.0, -1e-9), "not passive"),
    (1 + dg.Debye(1.0, 1.0) + dg.Poles(-0.01 + 3j, 0.01 + 0.01j), r"not passive; where omega is between 2\.961 and 3\.0"),
])
def test_media_that_amplify(medium, message):
    with pytest.raises(ValueError, match=message):
        medium.check_passive()


@pytest.mark.parametrize("medium", [*PASSIVE, MEDIA[4], water(), gold(), 2.0 + dg.Poles(5j, -3j)], ids=lambda m: repr(m)[:40])
def test_passive_media(medium):
    medium.check_passive()


def test_passivity_agrees_with_many_frequencies():
    rng, omega, seen = np.random.default_rng(0), np.geomspace(1e-6, 1e7, 20001), set()
    for _ in range(150):
        medium = 1 + dg.Lorentz(rng.uniform(0.1, 3), 10**rng.uniform(-2, 3), 10**rng.uniform(-3, 2))
        for scale in 10**rng.uniform(-2, 3, rng.integers(1, 4)):
            pole, residue = complex(-10**rng.uniform(-3, 0), 1), 0.3 * complex(*rng.normal(size=2))
            medium = medium + dg.Poles(scale * pole, scale * residue)
        found = gains(medium.terms, loss_frequencies(medium.terms))[1].any()
        assert found or not gains(medium.terms, omega)[1].any(), medium
        seen.add(bool(found))
    assert seen == {True, False}


@pytest.mark.parametrize("medium", PASSIVE, ids=repr)
def test_states_give_the_polarisation(medium):
    """In a field exp(i omega t) the states of each term are a constant times it, and P = chi E."""
    for term in medium.terms:
        s = 1.3j
        A = np.array([term.rate(tuple(column), 0.0) for column in np.eye(term.states)]).T
        b = np.array(term.rate((0.0,) * term.states, 1.0))
        z = tuple(np.linalg.solve(s * np.eye(term.states) - A, b))
        assert_allclose(term.polarisation(z), term.at(s), rtol=1e-13)
        assert_allclose(term.current(z, term.rate(z, 1.0)), s * term.at(s), rtol=1e-13)
        assert_allclose(term.fastest, np.abs(np.linalg.eigvals(A)).max(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("medium", [PASSIVE[0], PASSIVE[1], PASSIVE[2], PASSIVE[3], MEDIA[6],
                                    2 + dg.Debye(1.0, 0.5) + dg.Lorentz(2.0, 3.0, 7.0)], ids=repr)
def test_energy_is_stored_or_lost(medium):
    """d(high E^2 / 2 + W)/dt = E dD/dt - losses, and the losses are not negative: Poynting's theorem."""
    def field(t):
        return np.sin(1.7 * t) + 0.5 * np.cos(0.4 * t) - 0.5, 1.7 * np.cos(1.7 * t) - 0.2 * np.sin(0.4 * t)

    starts = np.cumsum([0, *(term.states for term in medium.terms)])

    def states(z):
        return [tuple(z[start:start + term.states]) for term, start in zip(medium.terms, starts)]

    def rates(t, z):
        return np.concatenate([term.rate(each, field(t)[0]) for term, each in zip(medium.terms, states(z))])

    t = np.linspace(0, 10, 2001)
    z = solve_ivp(rates, (0, 10), np.zeros(starts[-1]), t_eval=t, rtol=1e-11, atol=1e-12).y
    E, dE = field(t)
    dz = np.array([rates(time, state) for time, state in zip(t, z.T)]).T
    work = sum(E * term.current(each, change) for term, each, change in zip(medium.terms, states(z), states(dz)))
    stored = sum(term.energy(each) for term, each in zip(medium.terms, states(z))) + 0 * t
    losses = (medium.high * E * dE + work - np.gradient(medium.high * E**2 / 2 + stored, t, edge_order=2))[2:-2]
    assert losses.min() > -2e-4 * np.abs(work).max() and np.all(stored >= 0)
    if all(term.losses(np.ones(1))[0] == 0 for term in medium.terms):
        assert np.abs(losses).max() < 2e-4 * np.abs(work).max()


def test_terms_without_an_energy():
    for term in (*dg.Poles([-1 + 2j, -3], [0.1 - 1j, -2]).terms, Resonance(-1.0, 0.0, 1.0, 0.1), Relaxation(-1.0, 2.0)):
        assert not term.stores
    assert dg.Poles(0, 2.0).terms[0].energy((3.0,)) == 0


def test_published_water():
    """Static value 78.3 and the maximum of the losses near 19 GHz, as measured."""
    f = np.linspace(1, 100, 991)
    eps = water()(1e-3 * f)
    assert abs(water()(0).real - 78.3) < 0.1 and abs(f[np.argmin(eps.imag)] - 19.3) < 0.5


def test_published_gold():
    wavelength = np.linspace(400, 1000, 121)
    assert_allclose(gold()(1 / wavelength), np.conj(gold_table(wavelength)), rtol=1e-12)


def test_media_of_the_references():
    """A medium's call is what the exact solutions ask for: their functions take cycles per unit of time."""
    medium, f = 2 + dg.Debye(1.0, 0.05) + dg.Lorentz(0.5, 8.0, 0.3), np.array([0.5, 1.0, 2.0])
    omega = 2 * np.pi * f
    eps = 2 + 1 / (1 + 0.05j * omega) + 0.5 * 64 / (64 + 0.3j * omega - omega**2)
    for reference in (lambda eps, f: fresnel_coefficients(f, 0.5, eps), lambda eps, f: sphere_cross_sections(f, 0.3, eps)):
        together = reference(medium, f)
        for k in range(3):
            alone = reference(eps[k], f[k])
            for name in together.data_vars:
                assert_allclose(together[name].values[..., k], alone[name].values[..., 0], rtol=1e-10)


TABLES = {
    "metal": (1.5 + dg.Drude(3.0, 0.1) + dg.Lorentz(1.0, 2.0, 0.2), np.linspace(0.1, 5, 60), 4),
    "metal in SI": (EPS_0 * (1.5 + dg.Drude(9e15, 3e14) + dg.Lorentz(1.0, 6e15, 6e14)), 3e15 * np.linspace(0.1, 5, 60), 4),
    "relaxations": (2 + dg.Debye(3.0, 1.0) + dg.Debye(1.0, 0.1), np.geomspace(0.01, 100, 40), 2),
    "glass": (1 + dg.Lorentz(0.6, 10.0, 0.0) + dg.Lorentz(0.4, 16.0, 0.0), np.linspace(0.1, 5, 60), 4),
    "conductor": (3 + dg.Poles(0, 0.5) + dg.Debye(1.0, 1.0), np.geomspace(0.01, 100, 40), 2),
    "water": (water(), 2 * np.pi * np.geomspace(1e-3, 1, 40), 2),
    "gold": (gold(), 2 * np.pi / np.linspace(400, 1000, 61), 6),
}


@pytest.mark.parametrize("name", TABLES)
def test_fits_recover_sums(name):
    medium, omega, poles = TABLES[name]
    for high in (None, medium.high):
        found = dg.fit(omega / (2 * np.pi), medium.at(1j * omega), poles=poles, high=high)
        found.check_passive()
        assert found.error < 1e-8 and eval(repr(found), vars(dg)) == found
        assert_allclose(found.at(1j * omega), medium.at(1j * omega), rtol=1e-7, atol=1e-8 * np.abs(medium.at(1j * omega)).max())
        assert_allclose(found.high, medium.high, rtol=1e-5)


@pytest.mark.parametrize("medium, poles", [(1 + dg.Drude(5.0, 0.3), 2), (1 + dg.Lorentz(2.0, 3.0, 8.0), 2),
                                           (2 + dg.Drude(5.0, 0.3) + dg.Debye(1.0, 2.0), 3),
                                           (1 + dg.Drude(5.0, 0.3) + dg.Lorentz(1.0, 9.0, 0.4), 4)])
def test_fits_of_real_poles_have_the_energy_of_the_medium(medium, poles):
    """Drude's term and large dampings are pairs of real poles, one with a negative residue."""
    f = np.linspace(0.1, 3, 40)
    found = dg.fit(f, medium(f), poles=poles)
    assert found.error < 1e-9

    def energies(eps):
        sim = dg.Simulation(dg.interval(0, 1, 3), dg.Maxwell(1, eps=eps), dg.NodalDG(4), dg.pec, backend="numpy",
                            kernels="array", initial=lambda x: (np.sin(np.pi * x[0]) ** 2, 0 * x[0]), until=0.5, dt=1 / 256)
        sim.run()
        return sim.report["conserved"]["energy"]["final"]
    assert_allclose(energies(found), energies(medium), rtol=1e-6)


def test_more_poles_fit_better():
    omega = 2 * np.pi / np.linspace(400, 1000, 61)
    errors = [dg.fit(omega / (2 * np.pi), gold().at(1j * omega), poles=poles, high=1.54).error for poles in (1, 2, 3, 4, 5, 6)]
    assert all(b <= a for a, b in zip(errors, errors[1:])) and errors[0] > 10 * errors[3] > 1e6 * errors[5], errors


def test_noisy_tables_fit_as_well_as_their_noise():
    rng, (medium, omega, _) = np.random.default_rng(1), TABLES["metal"]
    eps = medium.at(1j * omega) * (1 + 0.01 * rng.normal(size=omega.size))
    for poles in (4, 7):
        found = dg.fit(omega / (2 * np.pi), eps, poles=poles)
        found.check_passive()
        assert found.error < 0.03


def test_fits_that_amplify_are_for_those_who_ask():
    medium, omega = 2 + dg.Debye(1.0, 1.0) + dg.Poles(-0.2 + 2j, 0.3j), np.linspace(0.1, 5, 60)
    eps = medium.at(1j * omega)
    with pytest.raises(ValueError, match=r"the table is not passive: Im eps = .* at the frequency 0\.3.*passive=False"):
        dg.fit(omega / (2 * np.pi), eps)
    found = dg.fit(omega / (2 * np.pi), eps, poles=3, passive=False)
    assert found.error < 1e-8
    with pytest.raises(ValueError, match="not passive; where omega is "):
        found.check_passive()


EPS = TABLES["metal"][0].at(1j * np.linspace(0.1, 5, 60))


@pytest.mark.parametrize("arguments, message", [
    ((np.linspace(0.1, 5, 60), np.conj(EPS)), r"all Im eps are positive: .*give np.conj\(eps\)"),
    ((np.linspace(0.1, 5, 60), EPS, 60), r"poles=60 is too many for 60 rows: 121 unknowns of 120 numbers; at most 59"),
    ((np.linspace(0.1, 5, 60), EPS, 0), "poles=0 is not allowed; it must be a whole number, 1 or more"),
    ((np.linspace(0.1, 5, 60), EPS, 2.5), "poles=2.5 is not allowed"),
    ((np.linspace(0.1, 5, 60), EPS, 4, -1.0), "high=-1.0 is not allowed; it must be a number, positive and finite"),
    ((np.linspace(0.1, 5, 59), EPS), r"frequency of the shape \(59,\) and eps of the shape \(60,\) are not allowed"),
    ((np.linspace(-1, 5, 60), EPS), "row 0 with the frequency -1 and eps = .* is not allowed"),
    ((np.linspace(0.1, 5, 60), np.where(np.arange(60) == 7, np.nan, EPS)), "row 7 with the frequency .* is not allowed"),
    (([1.0, 2.0], [0.0, 0.0]), "no eps that is not 0"),
    (([], []), "no frequency above 0"),
    ((np.linspace(0.1, 5, 60) / (2 * np.pi), EPS, 1), "value at infinite frequency is -.*; it must be positive: give high="),
])
def test_wrong_tables(arguments, message):
    with pytest.raises(ValueError, match=message):
        dg.fit(*arguments)
