"""Exact references for scattering beside published values, limits, conservation laws and direct solutions."""
import numpy as np
import pytest
from numpy.testing import assert_allclose
from references import table_path
from scipy.special import hankel2, hankel2e, jv, jve, jvp

import dgarray as dg
from dgarray.analysis.farfield import mie_cross_section
from dgarray.analysis.layered_slabs import fresnel_coefficients
from dgarray.analysis.partial_waves import CYLINDER, SPHERE, RadialWaves
from dgarray.analysis.scattering_cylinders import cylinder_bistatic, cylinder_fields, cylinder_widths
from dgarray.analysis.scattering_spheres import sphere_bistatic, sphere_cross_sections
from dgarray.cases.dielectric_slab import amplitudes

POLARISATIONS = ("TM", "TE")


def efficiencies(size, *body, **options):
    """Q_ext, Q_sca, Q_abs of a sphere of radius 1 at the size k a."""
    result = sphere_cross_sections(size / (2 * np.pi), *body, **options)
    return [result[name].item() / np.pi for name in ("extinction", "scattering", "absorption")]


# Spheres

# Bohren & Huffman 1983, appendix A: radius 0.525 at the wavelength 0.6328.  Wiscombe 1979, NCAR/TN-140, table of test cases.
PUBLISHED = [(1.55, 2 * np.pi * 0.525 / 0.6328, 3.10543, 3.10543), (0.75, 0.099, 7.417859e-6, 7.417859e-6),
             (0.75, 10, 2.232265, 2.232265), (0.75, 1000, 1.997908, 1.997908), (1.33 - 1e-5j, 1, 0.093952, 0.093923),
             (1.33 - 1e-5j, 100, 2.101321, 2.096594), (1.5 - 1j, 0.055, 0.101491, 1.131687e-5),
             (1.5 - 1j, 1, 2.336321, 0.6634538), (1.5 - 1j, 100, 2.097502, 1.283697), (10 - 10j, 1, 2.532993, 2.049405),
             (10 - 10j, 100, 2.071124, 1.836785)]


@pytest.mark.parametrize("index, size, extinction, scattering", PUBLISHED)
def test_published_spheres(index, size, extinction, scattering):
    found = efficiencies(size, 1.0, index**2)
    # Digits of the tables.
    assert_allclose(found[:2], (extinction, scattering), rtol=6e-6)


def test_published_coated_sphere():
    """Bohren & Huffman 1983, appendix B: radii 0.171, 6.265 at the wavelength 3, core 1.59 - 0.66 i, coat 1.409 - 0.1747 i."""
    body = (0.171, 6.265), ((1.59 - 0.66j) ** 2, (1.409 - 0.1747j) ** 2)
    found, area = sphere_cross_sections(1 / 3, *body), np.pi * 6.265**2
    assert_allclose((found.extinction.item() / area, found.scattering.item() / area), (2.32803, 1.14341), rtol=4e-6)
    assert_allclose(sphere_bistatic(1 / 3, 180, *body) / area, np.full((1, 2, 1), 0.0285099), rtol=4e-6)


def test_conducting_spheres_meet_the_reference_table():
    angles, *columns = np.loadtxt(table_path("mie_pec_bistatic.csv"), delimiter=",", unpack=True)
    found = sphere_bistatic(np.array([1.0, 2.0]) / (2 * np.pi * 3), angles, 3.0, dg.pec)
    assert found.dims == ("frequency", "plane", "angle") and found.plane.values.tolist() == ["E", "H"]
    assert_allclose(found.values.reshape(4, -1) / 9, columns, rtol=1e-8)
    assert_allclose(mie_cross_section(2.0, angles), columns[2:], rtol=1e-8)


BODIES = [(1.0, 2.25), (1.0, dg.pec), ((0.5, 1.0), (dg.pec, 2 - 0.5j)),
          ((0.2, 0.7, 1.0), (4.0, -3 - 0.2j, 2.0), (1.0, 1.0, 1.5)), (1.0, -1.0, -1.0),
          ((0.8, 1.0), (3 - 8j, 4.0)), ((0.3, 1.0), (4.0, -3.0))]


@pytest.mark.parametrize("body", BODIES)
def test_what_is_neither_scattered_nor_absorbed_goes_on(body):
    """Extinction is forward scattering, absorption what enters the body: two computations."""
    sizes = np.array([0.05, 1.0, 7.3, 60.0])
    spheres = sphere_cross_sections(sizes / (2 * np.pi), *body)
    assert_allclose(spheres.extinction, spheres.scattering + spheres.absorption, rtol=1e-10)
    lossless = all(eps is dg.pec or np.imag(eps) == 0 for eps in np.atleast_1d(np.array(body[1], object)))
    assert (np.abs(spheres.absorption) < 1e-10 * spheres.extinction).all() == lossless
    for polarisation in POLARISATIONS:
        cylinders = cylinder_widths(sizes / (2 * np.pi), *body, polarisation=polarisation)
        assert_allclose(cylinders.extinction, cylinders.scattering + cylinders.absorption, rtol=1e-10)
        assert (np.abs(cylinders.absorption) < 1e-10 * cylinders.extinction).all() == lossless


@pytest.mark.parametrize("body", BODIES)
def test_bistatic_patterns_integrate_to_scattering(body):
    cosines, weights = np.polynomial.legendre.leggauss(60)
    frequency = np.array([1.0, 9.0]) / (2 * np.pi)
    sigma = sphere_bistatic(frequency, np.degrees(np.arccos(cosines)), *body)
    # Over all planes the mean of the two patterns; sigma is 4 pi times the power per solid angle.
    assert_allclose(sigma.mean("plane").values @ weights / 2, sphere_cross_sections(frequency, *body).scattering, rtol=1e-11)
    angles = np.arange(0, 360, 5.0)
    for polarisation in POLARISATIONS:
        sigma = cylinder_bistatic(frequency, angles, *body, polarisation=polarisation)
        scattering = cylinder_widths(frequency, *body, polarisation=polarisation).scattering
        assert_allclose(sigma.mean("angle"), scattering, rtol=1e-11)


def test_small_spheres_scatter_as_dipoles():
    """Rayleigh, Bohren & Huffman 1983, section 5.1: Q_sca = 8/3 x^4 |p|^2, Q_abs = -4 x Im p, p = (eps - 1) / (eps + 2)."""
    eps, x = 4 - 0.3j, 1e-3
    p = (eps - 1) / (eps + 2)
    extinction, scattering, absorption = efficiencies(x, 1.0, eps)
    assert_allclose((scattering, absorption), (8 / 3 * x**4 * abs(p) ** 2, -4 * x * p.imag), rtol=1e-5)
    sigma = sphere_bistatic(x / (2 * np.pi), (0, 60, 90), 1.0, eps).values[0] / (4 * np.pi * x**4 * abs(p) ** 2)
    assert_allclose(sigma, [[1, 0.25, 0], [1, 1, 1]], rtol=1e-5, atol=1e-5)


def test_a_coated_small_sphere_can_be_invisible():
    """The dipole of a coated sphere, Bohren & Huffman 1983, equation 5.36, vanishes at a chosen ratio of radii."""
    core, coat = 4.0, 0.25
    ratio = ((coat - 1) * (core + 2 * coat) / ((core - coat) * (1 + 2 * coat))) * -1          # (r_1 / r_2)^3
    assert 0 < ratio < 1
    visible, hidden = (efficiencies(1e-2, *body)[1] for body in ((1.0, core), ((ratio ** (1 / 3), 1.0), (core, coat))))
    assert hidden < 1e-6 * visible


@pytest.mark.parametrize("body, same", [
    (((0.3, 0.6, 1.0), 2.25 - 0.1j), (1.0, 2.25 - 0.1j)), (((0.5, 1.0), (3.0, 1.0)), (0.5, 3.0)),
    (((0.5, 1.0), (dg.pec, 1.0)), (0.5, dg.pec)), (((1e-6, 1.0), (9.0, 2.0)), (1.0, 2.0)),
    (((1.0, 1 + 1e-11), (2.0, 7.0)), (1.0, 2.0)), (((0.6, 1.0), (5.0, 2 - 400j)), (1.0, 2 - 400j))])
def test_layers_that_make_no_difference(body, same):
    frequency, angles = np.array([0.2, 2.0, 9.0]), (0, 50, 180)
    assert_allclose(sphere_bistatic(frequency, angles, *body), sphere_bistatic(frequency, angles, *same), rtol=2e-6)
    for polarisation in POLARISATIONS:
        pair = (cylinder_bistatic(frequency, angles, *each, polarisation=polarisation) for each in (body, same))
        assert_allclose(*pair, rtol=2e-6)


def test_a_good_conductor_becomes_a_perfect_one():
    for size in (0.5, 5.0, 50.0):
        assert_allclose(efficiencies(size, 1.0, -1e13j)[1], efficiencies(size, 1.0, dg.pec)[1], rtol=2e-5)
        for polarisation in POLARISATIONS:
            good, perfect = (cylinder_widths(size, 1.0, eps, polarisation=polarisation) for eps in (-1e13j, dg.pec))
            assert_allclose(good.scattering, perfect.scattering, rtol=2e-5)


def test_only_the_contrast_counts():
    """A body in a medium: sizes by the wavelength there, eps and mu over those outside."""
    inside = sphere_cross_sections(1.0, (0.5, 1.0), (6.0, 8 - 2j), (1.0, 3.0), eps_outside=2.0, mu_outside=1.5)
    outside = sphere_cross_sections(np.sqrt(3.0), (0.5, 1.0), (3.0, 4 - 1j), (1 / 1.5, 2.0))
    for name in inside:
        assert_allclose(inside[name], outside[name], rtol=1e-12)


def test_spheres_with_eps_and_mu_alike_reflect_nothing_back():
    """Weston 1963: a body of eps = mu with axial symmetry has no backscattering."""
    sigma = sphere_bistatic((0.3, 2.0), (0, 180), (0.5, 1.0), (3 - 1j, 2.0), (3 - 1j, 2.0))
    assert sigma.sel(angle=180).max() < 1e-24 * sigma.sel(angle=0).min()


def drude(plasma, damping):
    """Drude's permittivity of metals, 1 - omega_p^2 / (omega (omega - i gamma)); arguments are angular frequencies."""
    return lambda f: 1 - plasma**2 / (2 * np.pi * f * (2 * np.pi * f - 1j * damping))


def test_dispersive_media_are_functions_of_frequency():
    """A small Drude sphere resonates at omega_p / sqrt(3), where Q_ext = 12 x omega_0 / gamma without radiation."""
    plasma, damping, radius = 1.0, 0.01, 1e-3
    frequency = plasma / (2 * np.pi * np.sqrt(3)) * np.linspace(0.9, 1.1, 2001)
    found = sphere_cross_sections(frequency, radius, drude(plasma, damping))
    peak = int(np.argmax(found.extinction.values))
    assert frequency[peak] == pytest.approx(plasma / (2 * np.pi * np.sqrt(3)), rel=2e-4)
    wanted = 12 * 2 * np.pi * frequency[peak] * radius * plasma / np.sqrt(3) / damping
    assert found.extinction[peak].item() / (np.pi * radius**2) == pytest.approx(wanted / 3, rel=1e-3)
    one = sphere_cross_sections(frequency[7], radius, complex(drude(plasma, damping)(frequency[7])))
    assert_allclose(found.absorption[7], one.absorption[0], rtol=1e-12)


@pytest.mark.parametrize("kind", [SPHERE, CYLINDER])
@pytest.mark.parametrize("z", [1000.0, 1000 - 900j, 300 - 2e4j, 1e-3, 0.1 - 40j, 317.3, -50 - 1j])
def test_radial_functions_by_their_recurrences(kind, z):
    """J'/J and H'/H at orders 0 to 30, beside SciPy's functions of each order."""
    waves, order = RadialWaves(np.array([z]), 30, kind), np.arange(31) + kind
    for found, f in ((waves.d_regular, jve), (waves.d_outgoing, hankel2e)):
        assert_allclose(found[:, 0], f(order - 1, complex(z)) / f(order, complex(z)) + (kind - order) / z, rtol=1e-9)


@pytest.mark.parametrize("size", [300.0, 1000.0])
def test_large_spheres(size):
    """Extinction tends to twice the cross-section as 2 + 1.99 x^(-2/3) (absorbing, Nussenzveig & Wiscombe 1980); a coat that
    absorbs everything hides the core."""
    extinction, scattering, absorption = efficiencies(size, 1.0, (1.5 - 1j) ** 2)
    assert extinction == pytest.approx(2 + 1.9924 * size ** (-2 / 3), abs=0.8 / size)
    coated = efficiencies(size, (0.5, 1.0), (dg.pec, (1.5 - 1j) ** 2))
    assert_allclose(coated, (extinction, scattering, absorption), rtol=1e-10)


# Cylinders

@pytest.mark.parametrize("polarisation", POLARISATIONS)
@pytest.mark.parametrize("size", [0.1, 1.0, 12.0])
def test_conducting_cylinders(polarisation, size):
    """a_n = J_n / H_n (TM), J_n' / H_n' (TE) at k a; Balanis 2012, section 11.5."""
    order = np.arange(-40, 41)
    J, H = (f(order, size) for f in (jv, hankel2))
    if polarisation == "TE":
        J, H = ((f(order - 1, size) - f(order + 1, size)) / 2 for f in (jv, hankel2))
    angles = np.array([0, 30.0, 180, 250])
    wanted = 4 / size * np.abs(np.exp(1j * np.outer(np.radians(angles), order)) @ (J / H)) ** 2
    assert_allclose(cylinder_bistatic(size / (2 * np.pi), angles, 1.0, dg.pec, polarisation=polarisation)[0], wanted, rtol=1e-9)


@pytest.mark.parametrize("polarisation, c", [("TM", (0.4981, -0.0112)), ("TE", (-0.4321, -0.2137))])
def test_large_conducting_cylinders(polarisation, c):
    """Wu 1956, Phys. Rev. 104: the width is 4 a (1 + c_1 (ka)^(-2/3) + c_2 (ka)^(-4/3) + O((ka)^-2))."""
    for size in (20.0, 100.0, 1000.0):
        found = cylinder_widths(size / (2 * np.pi), 1.0, dg.pec, polarisation=polarisation).extinction.item()
        assert found / 4 == pytest.approx(1 + sum(a * size ** (-2 * m / 3) for m, a in enumerate(c, 1)),
                                         abs=0.2 / size**2 + 5e-5 * size ** (-2 / 3))


@pytest.mark.parametrize("polarisation, wanted", [("TM", lambda eps: abs(eps - 1) ** 2 / 8),
                                                  ("TE", lambda eps: abs((eps - 1) / (eps + 1)) ** 2 / 4)])
def test_thin_dielectric_cylinders(polarisation, wanted):
    """Q_sca = pi^2 x^3 times these numbers; van de Hulst 1957, section 15.51."""
    eps, x = 4 - 0.3j, 1e-3
    found = cylinder_widths(x / (2 * np.pi), 1.0, eps, polarisation=polarisation)
    assert found.scattering.item() / 2 == pytest.approx(np.pi**2 * x**3 * wanted(eps), rel=1e-4)


LAYERS = [((1.0,), (2.25,), 1.0), ((0.3, 0.7, 1.0), (4.0, -2 - 0.1j, 2.0), (1.0, 2.0, 1.5)),
          ((0.7, 1.0), (dg.pec, 3 - 1j), 1.0)]


def on_circle(radius, count=40):
    phi = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return radius * np.column_stack([np.cos(phi), np.sin(phi)]), np.cos(phi), np.sin(phi)


@pytest.mark.parametrize("polarisation", POLARISATIONS)
@pytest.mark.parametrize("body", LAYERS)
@pytest.mark.parametrize("frequency", [0.2, 3.0, 12.0])
def test_fields_of_cylinders_are_continuous_where_they_must_be(polarisation, body, frequency):
    along, *across = ("Ez", "Hx", "Hy") if polarisation == "TM" else ("Hz", "Ex", "Ey")
    for number, radius in enumerate(body[0]):
        points, cosine, sine = on_circle(radius)
        inside, outside = (cylinder_fields(frequency, points, *body, polarisation=polarisation, layer=layer)
                           for layer in (number, number + 1))
        tangential = [field[across[1]] * cosine - field[across[0]] * sine for field in (inside, outside)]
        if body[1][number] is dg.pec:
            assert np.abs(outside[along] if polarisation == "TM" else tangential[1]).max() < 1e-12
            continue
        assert_allclose(inside[along], outside[along], atol=1e-11)
        assert_allclose(*tangential, atol=1e-11)


@pytest.mark.parametrize("polarisation", POLARISATIONS)
@pytest.mark.parametrize("body", LAYERS)
def test_fields_of_cylinders_solve_maxwells_equations(polarisation, body):
    """i omega eps E = curl H and i omega mu H = -curl E, by differences of sixth order, in every layer."""
    frequency, h, radii = 0.6, 5e-3, (0.0, *body[0], 1.6)
    eps, mu = ((*np.broadcast_to(np.array(part, object), len(body[0])), 1.0) for part in body[1:])
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60 / h
    for layer in range(len(eps)):
        points, *_ = on_circle((radii[layer] + radii[layer + 1]) / 2, 12)
        if eps[layer] is dg.pec:
            continue

        def differences(name, axis, points=points):
            steps = np.arange(-3, 4)[:, None, None] * h * np.eye(2)[axis]
            fields = cylinder_fields(frequency, (points + steps).reshape(-1, 2), *body, polarisation=polarisation)
            return weights @ fields[name].values.reshape(7, -1)
        field = cylinder_fields(frequency, points, *body, polarisation=polarisation)
        u, x, y = ("Ez", "Hx", "Hy") if polarisation == "TM" else ("Hz", "Ex", "Ey")
        of_u, of_xy = (eps, mu) if polarisation == "TM" else (mu, eps)
        sign = 1j * 2 * np.pi * frequency * (1 if polarisation == "TM" else -1)
        assert_allclose(sign * of_u[layer] * field[u][0], differences(y, 0) - differences(x, 1), atol=1e-6)
        assert_allclose(sign * of_xy[layer] * field[x][0], -differences(u, 1), atol=1e-6)
        assert_allclose(sign * of_xy[layer] * field[y][0], differences(u, 0), atol=1e-6)


@pytest.mark.parametrize("polarisation", POLARISATIONS)
def test_scattered_fields_of_cylinders(polarisation):
    """Far away their power is the bistatic width; with the incident wave they are the total field."""
    body, name = ((0.4, 1.0), (5.0, 2 - 1j)), "Ez" if polarisation == "TM" else "Hz"
    points, cosine, _ = on_circle(1e5)
    angles = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    scattered, total = (cylinder_fields(0.7, points, *body, polarisation=polarisation, part=part)
                        for part in ("scattered", "total"))
    assert_allclose(2 * np.pi * 1e5 * np.abs(scattered[name]) ** 2,
                    cylinder_bistatic(0.7, angles, *body, polarisation=polarisation), rtol=1e-3)
    assert_allclose(total[name] - scattered[name], np.exp(-2j * np.pi * 0.7 * 1e5 * cosine)[None], atol=1e-12)


def test_fields_of_a_dielectric_cylinder_by_a_direct_solution():
    """Bessel functions of SciPy at moderate arguments, on the axis, inside and outside."""
    k, m, n = 2 * np.pi * 0.5, 1.5, np.arange(-40, 41)
    J, dJ, H, dH = jv(n, k), jvp(n, k), hankel2(n, k), (hankel2(n - 1, k) - hankel2(n + 1, k)) / 2
    inner, d_inner = jv(n, m * k), m * jvp(n, m * k)
    a = (J * d_inner - dJ * inner) / (H * d_inner - dH * inner)
    c = (J - a * H) / inner
    points = np.array([(0.0, 0.0), (0.3, 0.4), (-0.2, 0.9), (1.2, -0.5), (-3.0, 0.1)])
    r, phi = np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0])
    inside = r[:, None] < 1
    z = k * np.where(inside, 1, r[:, None])
    radial = np.where(inside, c * jv(n, m * k * r[:, None]), jv(n, z) - a * hankel2(n, z))
    wanted = np.sum((-1j) ** (n % 4) * radial * np.exp(1j * n * phi[:, None]), axis=1)
    found = cylinder_fields(0.5, points, 1.0, m**2)
    assert found.Ez.dims == ("frequency", "point")
    assert_allclose(found.Ez[0], wanted, rtol=1e-10)


def test_inside_a_conductor_there_is_no_field():
    points = [(0.0, 0.0), (0.1, 0.2), (0.8, 0.0)]
    total, scattered = (cylinder_fields(0.5, points, (0.5, 1.0), (dg.pec, 2.0), part=part) for part in ("total", "scattered"))
    assert not total.Ez[0, :2].any() and abs(total.Ez[0, 2]) > 0.1
    assert_allclose(scattered.Ez[0, :2], -np.exp(-1j * np.pi * np.array([0, 0.1])), rtol=1e-12)


# Slabs

@pytest.mark.parametrize("polarisation, case", [("s", "TM"), ("p", "TE")])
@pytest.mark.parametrize("angle, eps", [(0.0, 4.0), (30.0, 4.0), (70.0, 0.95)])
def test_a_slab_as_in_the_case(polarisation, case, angle, eps):
    """The linear system of `dielectric_slab`, whose time dependence is exp(-i omega t) and whose phases refer to x = 0."""
    front, back, omega = 0.2, 0.95, 2 * np.pi * 1.3
    kx, ky = omega * np.cos(np.radians(angle)), omega * np.sin(np.radians(angle))
    r, _, _, s = amplitudes(kx, np.sqrt(eps * omega**2 - ky**2), 1.0 if case == "TM" else eps, front, back)
    found = fresnel_coefficients(1.3, back - front, eps, angle=angle, polarisation=polarisation)
    assert_allclose(found.r[0], np.conj(r * np.exp(-2j * kx * front)), rtol=1e-12)
    assert_allclose(found.t[0], np.conj(s * np.exp(1j * kx * (back - front))), rtol=1e-12)
    assert_allclose(found.absorptance, 0, atol=1e-14)


@pytest.mark.parametrize("polarisation", "sp")
def test_one_interface(polarisation):
    """Fresnel's formulas, Born & Wolf 1999, section 1.5.2; of H for p, so that t is n times that of E."""
    n, angle = 1.5, np.radians(40)
    refracted = np.arcsin(np.sin(angle) / n)
    a, b = (np.cos(angle), n * np.cos(refracted)) if polarisation == "s" else (n * np.cos(angle), np.cos(refracted))
    found = fresnel_coefficients((0.3, 1.0), (), (), angle=40, polarisation=polarisation, eps_behind=n**2)
    assert_allclose(found.r, np.full(2, (a - b) / (a + b)), rtol=1e-12)
    assert_allclose(found.t, np.full(2, 2 * a / (a + b)), rtol=1e-12)
    assert_allclose(found.reflectance + found.transmittance, 1, rtol=1e-12)


def test_a_quarter_wave_layer_lets_everything_through():
    frequency = np.array([0.5, 1.0, 3.0])
    found = fresnel_coefficients(frequency, 1 / (4 * 1.5), 1.5**2, eps_behind=1.5**4)
    # At one and three quarters of a wavelength; at an eighth it reflects.
    assert_allclose(found.reflectance[1:], 0, atol=1e-28)
    assert found.reflectance[0] > 0.01
    stack = fresnel_coefficients(1.0, [1 / 6, 1 / 8] * 10, [1.5**2, 2.0**2] * 10, eps_behind=1.5**2)
    # Ten double layers, from 1 - (n_1 / n_2)^(2 N); Born & Wolf 1999, section 1.6.5.
    admittance = 1.5 * (1.5 / 2.0) ** 20
    assert_allclose(stack.reflectance, ((1 - admittance) / (1 + admittance)) ** 2, rtol=1e-12)
    # The field of this one falls by 1e374.
    mirror = fresnel_coefficients(1.0, [1 / 6, 1 / 8] * 3000, [1.5**2, 2.0**2] * 3000)
    assert mirror.reflectance.item() == pytest.approx(1, rel=1e-12) and mirror.t.item() == 0


def test_brewsters_angle():
    brewster = np.degrees(np.arctan(1.5))
    for thickness, eps, behind in (((), (), 2.25), (0.37, 2.25, 1.0)):
        p, s = (fresnel_coefficients(1.0, thickness, eps, angle=brewster, polarisation=each, eps_behind=behind)
                for each in "ps")
        assert p.reflectance.item() < 1e-28 and s.reflectance.item() > 0.04
    # The duality of E and H.
    p = fresnel_coefficients(1.0, (), (), angle=20, polarisation="p", eps_behind=2.0, mu_behind=3.0)
    s = fresnel_coefficients(1.0, (), (), angle=20, polarisation="s", eps_behind=3.0, mu_behind=2.0)
    assert_allclose(p.r, s.r, rtol=1e-14)


@pytest.mark.parametrize("polarisation", "sp")
def test_total_reflection_and_tunnelling(polarisation):
    options = dict(angle=50.0, polarisation=polarisation, eps_before=2.25)
    half = fresnel_coefficients(1.0, (), (), **options)
    assert half.reflectance.item() == pytest.approx(1, rel=1e-14) and half.transmittance.item() == 0
    # exp(-2 kappa d) between two prisms; thick gaps are the half-space.
    d = np.array([0.5, 1.0, 1.5])
    gaps = [fresnel_coefficients(1.0, each, 1.0, eps_behind=2.25, **options) for each in d]
    kappa = 2 * np.pi * np.sqrt(2.25 * np.sin(np.radians(50)) ** 2 - 1)
    powers = np.array([gap.transmittance.item() for gap in gaps])
    assert_allclose(np.log(powers[2] / powers[1]), -2 * kappa * 0.5, rtol=1e-2)
    thick = fresnel_coefficients(1.0, (0.1, 1e6, 0.2), (2.25, 1.0, 4.0), eps_behind=2.25, **options)
    assert thick.t.item() == 0 and thick.reflectance.item() == pytest.approx(1, rel=1e-13)
    assert_allclose(fresnel_coefficients(1.0, 1e3, 1.0, eps_behind=2.25, **options).r, half.r, rtol=1e-13)


@pytest.mark.parametrize("polarisation", "sp")
def test_at_the_critical_angle_the_field_in_the_gap_is_linear(polarisation):
    """kx = 0 in the gap: t = 1 / (1 + i Y p d / 2) with Y = kx / p before, from u' = const."""
    d, omega, eps = 0.4, 2 * np.pi, 4.0
    kx = omega * np.sqrt(eps) * np.cos(np.radians(30))
    Y = kx / (1.0 if polarisation == "s" else eps)
    options = dict(polarisation=polarisation, eps_before=eps, eps_behind=eps)
    found, near = (fresnel_coefficients(1.0, d, 1.0, angle=angle, **options).t.item() for angle in (30.0, 30 + 1e-7))
    assert found == pytest.approx(1 / (1 + 0.5j * Y * d), rel=1e-12)
    assert near == pytest.approx(found, rel=1e-6)
    # The same where kx is 0 to the last bit.
    Y, sine = np.cos(np.radians(45)), np.sin(np.radians(45))
    found = fresnel_coefficients(1 / (2 * np.pi), d, sine**2, angle=45, polarisation=polarisation).t.item()
    assert found == pytest.approx(1 / (1 + 0.5j * Y * d * (1 if polarisation == "s" else sine**2)), rel=1e-12)


def test_absorbing_layers():
    """Beer's law in thick layers: a length d more takes exp(2 omega Im n d); halves of a layer are the layer."""
    index, f = 2 - 0.05j, 1.0
    thin, thick = (fresnel_coefficients(f, d, index**2) for d in (8.0, 9.0))
    assert_allclose(thick.transmittance / thin.transmittance, np.exp(2 * 2 * np.pi * index.imag), rtol=1e-2)
    assert_allclose(thick.reflectance, abs((1 - index) / (1 + index)) ** 2, rtol=1e-2)
    halves = fresnel_coefficients(f, (4.5, 4.5), index**2, angle=0.0)
    assert_allclose(halves.t, thick.t, rtol=1e-12)
    opaque = fresnel_coefficients((1.0, 50.0), (0.1, 100.0), (2.0, drude(30.0, 5.0)), angle=60, polarisation="p")
    assert np.isfinite(opaque.to_array()).all() and (opaque.absorptance > 0).all() and opaque.transmittance[0] == 0


def test_the_same_from_both_sides():
    """Reciprocity: the transmittance of a stack does not change when it is turned, though its reflectance does."""
    d, eps, f = (0.1, 0.3, 0.2), (2 - 1j, drude(4.0, 1.0), 5.0), np.linspace(0.2, 3, 5)
    for polarisation in "sp":
        there = fresnel_coefficients(f, d, eps, angle=35, polarisation=polarisation)
        back = fresnel_coefficients(f, d[::-1], eps[::-1], angle=35, polarisation=polarisation)
        assert_allclose(there.t, back.t, rtol=1e-12)
        assert np.abs(there.reflectance - back.reflectance).max() > 0.01


def test_a_stack_before_a_conductor():
    for polarisation, sign in (("s", -1), ("p", 1)):
        wall = fresnel_coefficients(1.0, 0.3, 1.0, angle=40, polarisation=polarisation, eps_behind=dg.pec)
        phase = np.exp(-2j * 2 * np.pi * np.cos(np.radians(40)) * 0.3)
        assert_allclose(wall.r, [sign * phase], rtol=1e-12)
        assert wall.t.item() == 0
    # Salisbury's screen: a thin sheet of 377 ohms a quarter of a wavelength before a conductor.
    sheet = 1e-6
    screen = fresnel_coefficients(1.0, (sheet, 0.25), (1 - 1j / (2 * np.pi * sheet), 1.0), eps_behind=dg.pec)
    assert screen.reflectance.item() < 1e-10 and screen.absorptance.item() == pytest.approx(1)


def test_negative_refraction_keeps_its_amplitude():
    """eps = mu = -1 matches vacuum, and turns the phase back."""
    slab = fresnel_coefficients(1.0, 0.3, -1.0, -1.0, angle=30)
    kx = 2 * np.pi * np.cos(np.radians(30))
    assert_allclose((slab.r.item(), slab.t.item()), (0, np.exp(1j * kx * 0.3)), atol=1e-14)
    half = fresnel_coefficients(1.0, (), (), angle=30, eps_behind=-1 - 1e-9j, mu_behind=-1.0)
    assert half.transmittance.item() == pytest.approx(1, abs=1e-8)


def test_a_run_through_a_slab():
    """A pulse in 1D through a lossy slab, whose eps is 3 - i sigma / omega: transforms at its front and behind it."""
    def inside(x):
        return (x[0] > 0) & (x[0] < 0.5)

    def pulse(x):
        Ez = np.exp(-40 * (x[0] + 0.8) ** 2)
        return Ez, -Ez
    f, sigma = np.array([0.3, 0.6, 0.9]), 4.0
    law = dg.Maxwell(dim=1, eps=lambda x: np.where(inside(x), 3.0, 1.0), sigma=lambda x: np.where(inside(x), sigma, 0.0))
    ds = dg.Simulation(dg.interval(-1.5, 1, 10), law, dg.NodalDG(5), boundary=dg.absorbing, initial=pulse, until=6.0, dt=0.03,
                       backend="numpy", kernels="array", record={"ends": dg.Fourier(tuple(f), points=[(0.0,), (0.75,)])}).run()
    incident = np.sqrt(np.pi / 40) * np.exp(-((np.pi * f) ** 2) / 40 - 2j * np.pi * f * 0.8)
    front, behind = ds.dg.record("ends").Ez.values.T / incident
    exact = fresnel_coefficients(f, 0.5, lambda f: 3 - 1j * sigma / (2 * np.pi * f))
    assert_allclose(front - 1, exact.r, atol=1e-3)
    assert_allclose(behind * np.exp(2j * np.pi * f * 0.25), exact.t, atol=1e-3)


# Input

@pytest.mark.parametrize("call, message", [
    (lambda: sphere_cross_sections(0, 1.0, 2.0), "frequency=0 is not allowed; it must be a positive number, or several"),
    (lambda: sphere_cross_sections(1.0, (1.0, 0.5), 2.0), r"radius=\(1.0, 0.5\) is not allowed; radii must increase"),
    (lambda: sphere_cross_sections(1.0, -1.0, 2.0), "radius=-1.0 is not allowed; it must be a positive number"),
    (lambda: sphere_cross_sections(1.0, (0.5, 1.0, 2.0), (2.0, 3.0)), "eps has 2 values for 3 layers; give one for each layer"),
    (lambda: sphere_cross_sections(1.0, 1.0, 2.0, (1.0, 1.0)), "mu has 2 values for 1 layer; give one"),
    (lambda: sphere_cross_sections(1.0, (1.0, 2.0), (2.0, 2 + 0.1j)),
     r"eps of layer 1 = 2\+0.1j at the frequency 1 is not allowed; such a medium amplifies; with exp\(i omega t\) a passive"),
    (lambda: sphere_cross_sections((1.0, 2.0), 1.0, lambda f: 2 + 1j * (f - 1.5)), "at the frequency 2 is not allowed; such a"),
    (lambda: sphere_cross_sections((1.0, 2.0), 1.0, lambda f: f[:1]), r"returned the shape \(1,\).*one number for each"),
    (lambda: sphere_cross_sections(1.0, 1.0, "gold"), "eps of layer 0='gold' is not allowed; it must be a number or"),
    (lambda: sphere_cross_sections(1.0, 1.0, 0.0), "eps of layer 0 = 0.*it must be finite and not 0"),
    (lambda: sphere_cross_sections(1.0, (1.0, 2.0), (2.0, dg.pec)), "eps of layer 1=pec is not allowed; a conductor can be"),
    (lambda: sphere_cross_sections(1.0, 1.0, 2.0, eps_outside=2 - 1j), "eps_outside = 2-1j at the frequency 1 is not allowed"),
    (lambda: sphere_cross_sections(1.0, 1.0, 2.0, mu_outside=-1.0), "mu_outside = -1.* must be real and positive"),
    (lambda: sphere_cross_sections(5e14, 1e-7, 2.0), "size k a = 2 pi f a sqrt.eps mu. is 3.14e.08; the largest is 100000"),
    (lambda: sphere_bistatic(1.0, "all", 1.0, 2.0), "angles='all' is not allowed; it must be a finite number"),
    (lambda: cylinder_widths(1.0, 1.0, 2.0, polarisation="p"), "polarisation 'p' does not exist; allowed: TM, TE"),
    (lambda: cylinder_fields(1.0, (0.0, 1.0), 1.0, 2.0), r"points have the shape \(2,\)"),
    (lambda: cylinder_fields(1.0, [(0.0, 1.0)], 1.0, 2.0, part="incident"), "part 'incident' does not exist; allowed: total"),
    (lambda: cylinder_fields(1.0, [(0.0, 1.0)], 1.0, 2.0, layer=2), "layer=2 is not allowed; it must be a whole number from 0"),
    (lambda: fresnel_coefficients(1.0, -0.1, 2.0), "thickness=-0.1 is not allowed; it must be a positive number"),
    (lambda: fresnel_coefficients(1.0, (0.1, 0.2), (2.0,)), "eps has 1 value for 2 layers"),
    (lambda: fresnel_coefficients(1.0, 0.1, 2.0, angle=90), "angle=90 is not allowed; it must be a number of degrees from 0"),
    (lambda: fresnel_coefficients(1.0, 0.1, 2.0, polarisation="TM"), r"polarisation='TM' is not allowed; allowed: s, E normal"),
    (lambda: fresnel_coefficients(1.0, 0.1, 2.0, eps_before=dg.pec), "eps_before=pec is not allowed"),
    (lambda: fresnel_coefficients(1.0, 0.1, dg.pec), "eps of layer 0=pec is not allowed")])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
