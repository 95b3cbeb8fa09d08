"""Near-to-far transform and cross-sections beside dipoles, plane waves and Mie's series."""
import dataclasses

import numpy as np
import pytest
import xarray as xr
from references import table_path
from scipy.special import hankel2

from dgarray import (
    Acoustics,
    Fourier,
    Maxwell,
    NodalDG,
    Simulation,
    TensorDG,
    absorbing,
    box,
    cases,
    dipole as dipole_field,
    plane_wave,
    rectangle,
)
from dgarray.analysis.farfield import cross_section, enclosed_volume, mie_cross_section, near_to_far
from dgarray.cases.common import MESHES
from dgarray.cases.maxwell_sphere import HALF_PULSE, bistatic, corner_radii, damping, equal_radius, pulse, refined_sphere
from dgarray.reference import reference_cell
from dgarray.reference.tensor import tensor_cell
from dgarray.spaces.curved_surface import simplex_surface
from dgarray.spaces.mixed_faces_surface import MixedFacesSurface
from dgarray.spaces.surface import Surface
from dgarray.spaces.tensor_surface import TensorSurface

K, EPS, MU = 3.0, 2.0, 0.5
Z = np.sqrt(MU / EPS)
FREQUENCY = K / (2 * np.pi * np.sqrt(EPS * MU))
MOMENT = np.array([0.3, -1.0, 0.6])
PLACE = np.array([0.15, -0.1, 0.2])
u = np.random.default_rng(5).normal(size=(40, 3))
DIRECTIONS = u / np.linalg.norm(u, axis=1, keepdims=True)


def surface_of(order=4, cells=2, turned=False):
    """The boundary of the cube -1 < x, y, z < 1, its normals pointing outward, or inward if `turned`."""
    mesh = box((-1, -1, -1), (1, 1, 1), (cells,) * 3)
    surface = Surface(mesh.points, mesh.cells, order, mesh.boundary_faces)
    coords = {name: fixed[:2] for name, fixed in surface.coords(mesh.numbers).items()}
    if turned:
        coords |= {f"normal_{axis}": ("face", -coords[f"normal_{axis}"][1]) for axis in "xyz"}
    return xr.Dataset(coords=coords, attrs={"dim": 3, "order": order, "boundary": "all"})


def bulged(x):
    return [a * (1 + 0.2 * (1 - b**2) * (1 - c**2)) for a, b, c in zip(x, (x[1], x[2], x[0]), (x[2], x[0], x[1]))]


def hexahedral_surface(order=4, nodes="gauss"):
    """The boundary of that cube with bulging sides, of hexahedra with maps of degree 3."""
    mesh = box((-1, -1, -1), (1, 1, 1), cells=4, shape="hexahedron").mapped(bulged, order=3)
    surface = TensorSurface(mesh, tensor_cell(3, order, nodes), mesh.boundary_faces)
    coords = {name: fixed[:2] for name, fixed in surface.coords(mesh.numbers).items()}
    return xr.Dataset(coords=coords, attrs={"dim": 3, "order": order, "nodes": nodes, "boundary": "all"})


def prismatic_surface(order=4):
    """The boundary of the cube, of prisms, at whose points of quadrature a record keeps the fields."""
    mesh = box((-1, -1, -1), (1, 1, 1), 4, shape="prism")
    surface = MixedFacesSurface(mesh, reference_cell(mesh.cell_shape, order), mesh.boundary_faces)
    coords = {name: fixed[:2] for name, fixed in surface.coords(mesh.numbers).items()}
    return xr.Dataset(coords=coords, attrs={"dim": 3, "order": order, "nodes": "warp and blend", "boundary": "all"})


def mixed_surface(order=4):
    """The boundary of the cube, of tetrahedra, pyramids, prisms and hexahedra, with faces of both kinds."""
    mesh = box((-1, -1, -1), (1, 1, 1), 4, shape="hybrid")
    sim = Simulation(mesh, Maxwell(dim=3), NodalDG(order), absorbing)
    trace = sim.method.space(sim.problem).trace(tuple(mesh.boundaries), "record 'walls'", lambda name: "m")
    coords = {name: (dims, values, attrs) for name, (dims, values, attrs) in trace.coords.items()}
    return xr.Dataset(coords=coords, attrs={"dim": 3, "order": order, "nodes": "gauss", "boundary": "all"})


def with_fields(surface, *pairs, frequencies=(FREQUENCY,)):
    """A dataset on the surface of E and H, one pair of functions of x (3, ...) for each frequency."""
    x = np.array([surface[axis].values for axis in "xyz"])
    values = np.array([[part for field in pair(x) for part in field] for pair in pairs], complex)
    names = [f + axis for f in "EH" for axis in "xyz"]
    return surface.assign({name: (("frequency", "face", "face_node"), values[:, i]) for i, name in enumerate(names)}
                          ).assign_coords(frequency=("frequency", np.array(frequencies, float)))


def dipole(x, place=PLACE, k=K):
    """E / Z and H of an electric Hertz dipole MOMENT = I l at `place`.  Balanis 2012, section 6.6."""
    R = x - place[:, None, None]
    r = np.sqrt(np.sum(R**2, axis=0))
    R, p = R / r, np.broadcast_to(MOMENT[:, None, None], x.shape)
    wave, a = np.exp(-1j * k * r) / (4 * np.pi * r), 1 / (1j * k * r)
    E = -1j * k * wave * ((1 + a + a**2) * p - (1 + 3 * a + 3 * a**2) * R * np.sum(R * p, axis=0))
    return E, 1j * k * (1 + a) * wave * np.cross(p, R, axis=0)


def electric(x):
    E, H = dipole(x)
    return Z * E, H


def magnetic(x):
    """By duality: (E, H, J, Z) -> (H, -E, M, 1 / Z)."""
    E, H = dipole(x)
    return -H, E / Z


def plane(x):
    wave = np.exp(-1j * K * x[2])
    return np.array([wave, 0 * wave, 0 * wave]), np.array([0 * wave, wave / Z, 0 * wave])


def exact(kind):
    """Far field (direction, 3) of the dipole: -i k Z / 4 pi (p - u u.p) exp(i k u.place), or i k / 4 pi u x m exp(...)."""
    phase = np.exp(1j * K * DIRECTIONS @ PLACE)[:, None]
    if kind == "electric":
        return -1j * K * Z / (4 * np.pi) * (MOMENT - DIRECTIONS * (DIRECTIONS @ MOMENT)[:, None]) * phase
    return 1j * K / (4 * np.pi) * np.cross(DIRECTIONS, MOMENT) * phase


def far(fields, **options):
    result = near_to_far(fields, DIRECTIONS, **({"eps": EPS, "mu": MU} | options))
    return np.stack([result[f"E{axis}"].values for axis in "xyz"], axis=-1)


def error(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


@pytest.mark.parametrize("kind, source", [("electric", electric), ("magnetic", magnetic)])
def test_dipoles_off_the_centre(kind, source):
    errors = [error(far(with_fields(surface_of(order, 4), source))[0], exact(kind)) for order in (2, 4, 6)]
    assert errors[0] < 5e-2
    assert errors[1] < errors[0] / 10
    assert errors[2] < 1e-4
    assert errors[2] < errors[1] / 10


@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
def test_dipoles_inside_of_curved_hexahedra(nodes):
    errors = [error(far(with_fields(hexahedral_surface(order, nodes), electric))[0], exact("electric")) for order in (2, 4, 6)]
    assert errors[0] < 5e-2
    assert errors[1] < errors[0] / 10
    assert errors[2] < 1e-4
    assert errors[2] < errors[1] / 10


@pytest.mark.parametrize("surface", [prismatic_surface, mixed_surface])
def test_dipoles_inside_of_prisms_and_of_several_shapes(surface):
    assert enclosed_volume(with_fields(surface(), electric)) == pytest.approx(8.0, rel=1e-12)
    errors = [error(far(with_fields(surface(order), electric))[0], exact("electric")) for order in (2, 4)]
    assert errors[1] < 1e-4 and errors[1] < errors[0] / 10


@pytest.mark.thorough
@pytest.mark.parametrize("orders", [3, {"low": 2, "high": 3}])
def test_sound_through_cells_of_several_shapes(orders):
    """A pulse inside, in 2D: the same far field as on triangles of a higher order; with orders by region, too."""
    def run(shape, method):
        mesh = rectangle((-1, -1), (1, 1), 8, shape=shape)
        mesh = mesh.with_regions({"low": lambda x: x[0] < 0, "high": lambda x: x[0] > 0})
        recorder = Fourier((0.5, 1.0), boundary=tuple(mesh.boundaries))
        return Simulation(mesh, Acoustics(2), method, absorbing, lambda x: (np.exp(-9 * (x[0]**2 + x[1]**2)), 0.0, 0.0),
                          record={"walls": recorder}).run(until=3.0).dg.record("walls")
    found, fine = (near_to_far(record, u[:5, :2] / np.linalg.norm(u[:5, :2], axis=1, keepdims=True)) for record in (
        run("mixed", NodalDG(orders)), run("triangle", NodalDG(5))))
    assert error(found.p.values, fine.p.values) < 3e-3


@pytest.mark.thorough
@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
def test_transforms_of_a_run_on_hexahedra(nodes):
    """Of a pulse inside: far field, and field in the volume, as with tetrahedra."""
    def pulse(x):
        swirl = np.exp(-4 * sum(c * c for c in x))
        return 0.0, 0.0, 0.0, x[1] * swirl, -x[0] * swirl, 0.0

    def run(mesh, method):
        recorders = {"walls": Fourier(0.4, boundary=tuple(mesh.boundaries)), "inside": Fourier(0.4)}
        ds = Simulation(mesh, Maxwell(dim=3), method, absorbing, pulse, record=recorders).run(until=2.0)
        inside = ds.dg.record("inside").isel(frequency=0)
        real = inside.assign({name: inside[name].real for name in inside.dg.variables})
        return far(ds.dg.record("walls"), eps=1.0, mu=1.0), np.array([real.dg.norm(name) for name in ("Ey", "Hx")])
    of_hexahedra = run(box((-1, -1, -1), (1, 1, 1), 4, shape="hexahedron"), TensorDG(4, nodes))
    of_tetrahedra = run(box((-1, -1, -1), (1, 1, 1), 4), NodalDG(3))
    assert error(of_hexahedra[0], of_tetrahedra[0]) < 0.005
    assert error(of_hexahedra[1], of_tetrahedra[1]) < 0.005


def test_refinement_converges():
    errors = [error(far(with_fields(surface_of(3, cells), electric))[0], exact("electric")) for cells in (2, 4, 8)]
    assert np.log2(errors[0] / errors[1]) > 2
    assert np.log2(errors[1] / errors[2]) > 3.5


def test_the_side_of_the_normals_does_not_matter():
    out, into = (far(with_fields(surface_of(3, 2, turned), electric)) for turned in (False, True))
    assert np.allclose(out, into, rtol=1e-12, atol=1e-14)


def test_what_comes_from_outside_adds_nothing():
    fields = with_fields(surface_of(6, 4), plane)
    strength = K / (4 * np.pi) * fields["area"].values.sum()
    assert np.abs(far(fields)).max() < 1e-5 * strength
    assert np.abs(far(with_fields(surface_of(2, 4), plane))).max() > 1e-5 * strength
    both = with_fields(surface_of(6, 4), lambda x: [a + b for a, b in zip(electric(x), plane(x))])
    assert error(far(both)[0], exact("electric")) < 1e-3


def test_the_currents_j_and_m_are_both_needed():
    fields = with_fields(surface_of(6, 4), electric)
    assert error(far(fields.assign({f"E{axis}": 0 * fields["Ex"] for axis in "xyz"}))[0], exact("electric")) > 0.1
    assert error(far(fields.assign({f"H{axis}": 0 * fields["Ex"] for axis in "xyz"}))[0], exact("electric")) > 0.1


def test_frequencies_keep_their_place_and_the_order_of_dims_does_not_matter():
    fields = with_fields(surface_of(5, 3), electric, magnetic, frequencies=(FREQUENCY, FREQUENCY))
    result = near_to_far(fields.transpose("face_node", "frequency", "face"), DIRECTIONS, EPS, MU)
    assert result["Ex"].dims == ("frequency", "direction")
    assert np.array_equal(result["direction_y"], DIRECTIONS[:, 1])
    assert np.allclose(far(fields)[1], far(with_fields(surface_of(5, 3), magnetic))[0])
    one = near_to_far(fields.isel(frequency=0), DIRECTIONS, EPS, MU)
    assert one.sizes == {"frequency": 1, "direction": 40}
    assert np.allclose(one["Ez"], result["Ez"].isel(frequency=[0]))


def test_the_far_field_depends_on_frequency_and_medium_as_k_says():
    fields = with_fields(surface_of(6, 4), electric)
    slow = fields.assign_coords(frequency=2 * fields["frequency"])
    assert np.allclose(far(slow, eps=EPS / 2, mu=MU / 2), far(fields), rtol=1e-12)
    assert not np.allclose(far(slow), far(fields), rtol=0.1)


def test_cross_section_of_a_dipole():
    fields = with_fields(surface_of(6, 4), electric, electric, frequencies=(FREQUENCY, FREQUENCY))
    sigma = cross_section(near_to_far(fields, DIRECTIONS, EPS, MU), (2.0, 4j))
    wanted = 4 * np.pi * np.sum(np.abs(exact("electric")) ** 2, axis=1) / 4
    assert sigma.dims == ("frequency", "direction")
    assert np.allclose(sigma, [wanted, wanted / 4], rtol=1e-3, atol=1e-3 * wanted.max())


def test_enclosed_volume():
    assert enclosed_volume(with_fields(surface_of(2, 2, turned=True), plane)) == pytest.approx(8.0, rel=1e-12)
    # Of the bulge: 6 sides, whose points x = 1 move by 0.2 (1 - y^2) (1 - z^2).
    for order in (3, 5):
        volume = enclosed_volume(with_fields(hexahedral_surface(order), plane))
        assert volume == pytest.approx(8 + 6 * 0.2 * (4 / 3) ** 2, rel=1e-12), order


def test_mie_meets_the_reference_table():
    angles, *columns = np.loadtxt(table_path("mie_pec_bistatic.csv"), delimiter=",", unpack=True)
    for ka, wanted in ((1.0, columns[:2]), (2.0, columns[2:])):
        assert np.allclose(mie_cross_section(ka, angles), wanted, rtol=1e-8)


def test_mie_has_the_limits_of_rayleigh_and_of_optics():
    forward, side, backward = np.array(mie_cross_section(0.01, (0, 90, 180))).T / (np.pi * 0.01**4)
    assert forward == pytest.approx((1, 1), rel=1e-3)
    assert side == pytest.approx((1, 4), rel=1e-3)
    assert backward == pytest.approx((9, 9), rel=1e-3)
    ka = 40.0
    assert mie_cross_section(ka, [0])[0][0] == pytest.approx(np.pi * ka**2, rel=0.1)
    assert mie_cross_section(ka, [180])[0][0] == pytest.approx(np.pi, rel=0.05)


# In 2D.

PLANAR = np.array([[np.cos(a), np.sin(a)] for a in np.arange(0, 2 * np.pi, 0.3)])


def curve_of(kind, order=4, cells=4):
    """The boundary of the square -1 < x, y < 1, straight or with bulging sides, in edges of triangles or quadrilaterals."""
    shape = "quadrilateral" if kind in ("gauss", "lobatto") else "triangle"
    mesh = rectangle((-1, -1), (1, 1), cells=cells, shape=shape)
    if kind != "straight":
        mesh = mesh.mapped(lambda x: (x[0] * (1.2 - 0.2 * x[1] ** 2), x[1] * (1.2 - 0.2 * x[0] ** 2)), order=3)
    surface = (TensorSurface(mesh, tensor_cell(2, order, kind), mesh.boundary_faces) if shape == "quadrilateral" else
               simplex_surface(mesh, order, mesh.boundary_faces))
    coords = {name: fixed[:2] for name, fixed in surface.coords(mesh.numbers).items()}
    nodes = {"nodes": kind} if shape == "quadrilateral" else {}
    return xr.Dataset(coords=coords, attrs={"dim": 2, "order": order, "boundary": "all", **nodes})


def with_wave(curve, polarisation, u):
    """A dataset on the curve of u(x) -> (u, du/dx, du/dy): u = Ez and H = i / (omega mu) (dEz/dy, -dEz/dx), or u = Hz and
    E = -i / (omega eps) (dHz/dy, -dHz/dx)."""
    value, dx, dy = u(np.array([curve[axis].values for axis in "xy"]))
    tm = polarisation == "TM"
    scale = 1j / (2 * np.pi * FREQUENCY * (MU if tm else -EPS))
    names = ("Ez", "Hx", "Hy") if tm else ("Hz", "Ex", "Ey")
    data = {name: (("frequency", "face", "face_node"), np.array([part], complex))
            for name, part in zip(names, (value, scale * dy, -scale * dx))}
    return curve.assign(data).assign_coords(frequency=("frequency", [FREQUENCY]))


def line_source(x):
    R = x - PLACE[:2, None, None]
    r = np.hypot(*R)
    slope = -K * hankel2(1, K * r) / r
    return hankel2(0, K * r), slope * R[0], slope * R[1]


def oblique(x):
    wave = np.exp(-1j * K * (0.6 * x[0] + 0.8 * x[1]))
    return wave, -0.6j * K * wave, -0.8j * K * wave


def far_in_plane(fields, **options):
    """(component, direction) of the far field."""
    result = near_to_far(fields, PLANAR, EPS, MU, **options)
    return np.array([component.values[0] for component in result.data_vars.values()])


def exact_in_plane(polarisation):
    """H0(k rho) = sqrt(2 i / (pi k rho)) exp(-i k rho); of Hz the field E = Z Hz z x u."""
    wave = np.sqrt(2j / (np.pi * K)) * np.exp(1j * K * PLANAR @ PLACE[:2])
    return wave[None] if polarisation == "TM" else Z * wave * np.array([-PLANAR[:, 1], PLANAR[:, 0]])


@pytest.mark.parametrize("polarisation", ["TM", "TE"])
@pytest.mark.parametrize("kind", ["straight", "curved", "gauss", "lobatto"])
def test_line_sources_in_2d(kind, polarisation):
    errors = [error(far_in_plane(with_wave(curve_of(kind, order), polarisation, line_source)), exact_in_plane(polarisation))
              for order in (3, 5, 7)]
    assert errors[0] < 2e-2
    assert errors[1] < errors[0] / 10
    assert errors[2] < 2e-6


@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_what_comes_from_outside_adds_nothing_in_2d(polarisation):
    fields = with_wave(curve_of("straight", 8), polarisation, oblique)
    assert np.abs(far_in_plane(fields)).max() < 1e-7 * np.abs(exact_in_plane(polarisation)).max()


@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_widths_of_a_line_source(polarisation):
    """sigma = 2 pi |u|^2 / |u_incident|^2 = 4 / k of u = H0; of Hz with E = Z Hz."""
    fields = with_wave(curve_of("curved", 8), polarisation, line_source)
    far = near_to_far(fields, PLANAR, EPS, MU)
    assert list(far.data_vars) == (["Ez"] if polarisation == "TM" else ["Ex", "Ey"])
    assert far.sizes == {"frequency": 1, "direction": len(PLANAR)} and "direction_z" not in far
    sigma = cross_section(far, 1.0 if polarisation == "TM" else Z)
    assert np.allclose(sigma, 4 / K, rtol=1e-6) and sigma.attrs["long_name"] == "bistatic width"


def test_enclosed_areas():
    for kind in ("curved", "gauss"):
        assert enclosed_volume(with_wave(curve_of(kind), "TM", oblique)) == pytest.approx(4 + 4 * 0.2 * 4 / 3, rel=1e-12)


def test_lengths_of_a_curved_side():
    mesh = rectangle((-1, -1), (1, 1), cells=1).mapped(lambda x: (x[0], x[1] + 0.4 * x[0] ** 2), order=2)
    slope = 0.8          # of the parabola y = 0.4 x^2 at its ends
    length = np.sqrt(1 + slope**2) + np.arcsinh(slope) / slope
    assert np.allclose(simplex_surface(mesh, 3, mesh.boundaries["top"]).areas, length, rtol=1e-3)


def test_weights_at_nodes_of_curved_faces():
    """The integral of n over the arc y = 0.4 x^2 is that over its chord; of 1 it is its area."""
    mesh = rectangle((-1, -1), (1, 1), cells=1).mapped(lambda x: (x[0], x[1] + 0.4 * x[0] ** 2), order=2)
    curve = simplex_surface(mesh, 6, mesh.boundaries["top"])
    assert np.allclose((curve.normals * curve.weights).sum(axis=(1, 2)), (0, 2), atol=1e-3)
    assert np.allclose(curve.weights.sum(axis=1), curve.areas, rtol=1e-14)


@pytest.mark.parametrize("change, directions, message", [
    (lambda f: f.drop_vars("Hy"), PLANAR, "the fields lack Hy; give a record of Hx, Hy, Ez on a boundary or interface"),
    (lambda f: f, DIRECTIONS, r"shape \(40, 3\); it must be \(direction, 2\)"),
    (lambda f: f.isel(face=slice(1, None)), PLANAR, "not closed: the integral of its normals is")])
def test_fields_in_2d_that_do_not_do_are_named(change, directions, message):
    with pytest.raises(ValueError, match=message):
        near_to_far(change(with_wave(curve_of("straight"), "TM", oblique)), directions)


# Of sound.

RHO, C = 1.7, 0.8
SOUND = K * C / (2 * np.pi)          # the frequency
POLES = (1.0, PLACE), (-0.7 + 0.2j, np.array([-0.2, 0.25, 0.1]))          # strengths and places


def with_sound(surface, wave):
    """A dataset on the surface of p and v = -grad p / (i omega rho), of wave(R) -> (p, dp/dr) around each of POLES, r = |R|."""
    axes = "xyz" if "z" in surface.coords else "xy"
    x = np.array([surface[axis].values for axis in axes])
    p, v = 0.0, 0.0
    for strength, place in POLES:
        R = x - place[:len(axes), None, None]
        r = np.sqrt(np.sum(R**2, axis=0))
        value, slope = wave(r)
        p, v = p + strength * value, v - strength * slope * R / r / (2j * np.pi * SOUND * RHO)
    names = ["p", *(f"v{axis}" for axis in axes)]
    data = {name: (("frequency", "face", "face_node"), part[None]) for name, part in zip(names, (p, *v))}
    return surface.assign(data).assign_coords(frequency=("frequency", [SOUND]))


def spherical(r):
    wave = np.exp(-1j * K * r) / r
    return wave, -(1j * K + 1 / r) * wave


def circular(r):
    return hankel2(0, K * r), -K * hankel2(1, K * r)


def sum_of_poles(u):
    return sum(strength * np.exp(1j * K * u @ place[:u.shape[1]]) for strength, place in POLES)


@pytest.mark.parametrize("kind", ["tetra", "gauss", "lobatto"])
def test_two_monopoles_that_nearly_cancel(kind):
    def surface(order):
        return surface_of(order, 4) if kind == "tetra" else hexahedral_surface(order, kind)
    fields = [with_sound(surface(order), spherical) for order in (2, 4, 6)]
    far = [near_to_far(each, DIRECTIONS, density=RHO, sound_speed=C) for each in fields]
    errors = [error(each.p.values[0], sum_of_poles(DIRECTIONS)) for each in far]
    assert errors[0] < 5e-2 and errors[1] < errors[0] / 10 and errors[2] < min(1e-4, errors[1] / 10), errors
    assert list(far[0].data_vars) == ["p"] and far[0].attrs == {"density": RHO, "sound_speed": C}
    assert np.allclose(cross_section(far[2], 2j), np.pi * np.abs(sum_of_poles(DIRECTIONS)) ** 2, rtol=1e-3, atol=1e-3)
    # Pressure and velocity are both needed.
    for name, others in (("p", ["vx", "vy", "vz"]), ("v", ["p"])):
        part = fields[2].assign({other: 0 * fields[2][other] for other in others})
        found = near_to_far(part, DIRECTIONS, density=RHO, sound_speed=C).p.values[0]
        assert error(found, sum_of_poles(DIRECTIONS)) > 0.1, name


@pytest.mark.parametrize("kind", ["straight", "curved", "gauss", "lobatto"])
def test_line_sources_of_sound(kind):
    """H0(k r) = sqrt(2 i / (pi k r)) exp(-i k r)."""
    exact = np.sqrt(2j / (np.pi * K)) * sum_of_poles(PLANAR)
    far = [near_to_far(with_sound(curve_of(kind, order), circular), PLANAR, density=RHO, sound_speed=C) for order in (3, 5, 7)]
    errors = [error(each.p.values[0], exact) for each in far]
    assert errors[0] < 2e-2 and errors[1] < errors[0] / 10 and errors[2] < 2e-6, errors
    sigma = cross_section(far[2])
    assert np.allclose(sigma, 2 * np.pi * np.abs(exact) ** 2, rtol=1e-4) and sigma.attrs["long_name"] == "bistatic width"


def test_a_pulse_of_a_monopole_of_sound():
    """The transforms of `dgarray.dipole`, whose pressure is rho V f''(t - r / c) / (4 pi r); a plane wave adds nothing."""
    law, volume, width, t = Acoustics(3, RHO, C), 0.3, 0.5, np.linspace(0, 12, 481)
    field = dipole_field(law, tuple(PLACE), volume, lambda s: np.exp(-((s - 3) / width) ** 2))
    wave = plane_wave(law, (0.6, 0.0, 0.8), 2.0, lambda s: np.exp(-((s - 4) / width) ** 2))
    surface, frequencies = surface_of(6, 3), np.array([0.3, 0.5])
    x = tuple(surface[axis].values for axis in "xyz")
    kernel = np.exp(-2j * np.pi * np.multiply.outer(frequencies, t)) * (t[1] - t[0])
    q = np.array([[a + b for a, b in zip(field(x, s), wave(x, s))] for s in t])          # (time, variable, face, face_node)
    data = {name: (("frequency", "face", "face_node"), np.tensordot(kernel, q[:, i], 1))
            for i, name in enumerate(law.variables)}
    fields = surface.assign(data).assign_coords(frequency=("frequency", frequencies))
    omega = 2 * np.pi * frequencies
    strength = -RHO * volume * omega**2 * width * np.sqrt(np.pi) * np.exp(-(omega * width / 2) ** 2 - 3j * omega) / (4 * np.pi)
    exact = strength[:, None] * np.exp(1j * np.multiply.outer(omega / C, DIRECTIONS @ PLACE))
    assert error(near_to_far(fields, DIRECTIONS, density=RHO, sound_speed=C).p.values, exact) < 1e-3


# What does not do.

@pytest.mark.parametrize("change, message", [
    (lambda f: f.drop_vars("Hy"), "lack Hy"),
    (lambda f: f.drop_vars("frequency"), "lack frequency"),
    (lambda f: f.rename(face="boundary_face"), "lack the dims face"),
    (lambda f: f.isel(face=slice(1, None)), "not closed: the integral of its normals is")])
def test_fields_that_do_not_do_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        near_to_far(change(with_fields(surface_of(2, 2), plane)), DIRECTIONS)


@pytest.mark.parametrize("call, message", [
    (lambda f: near_to_far(f, [0, 0, 1]), r"shape \(3,\); it must be \(direction, 3\)"),
    (lambda f: near_to_far(f, [[0, 0, 1], [0, 1, 1]]), "direction 1 has the length 1.41421"),
    (lambda f: near_to_far(f, DIRECTIONS, eps=-1), "eps=-1 is not allowed; it must be a positive number"),
    (lambda f: cross_section(near_to_far(f, DIRECTIONS), 0), "incident=0 is not allowed"),
    (lambda f: near_to_far(with_sound(surface_of(2, 2), spherical), DIRECTIONS, density=0), "density=0 is not allowed"),
    (lambda f: near_to_far(with_sound(surface_of(2, 2), spherical).drop_vars("p"), DIRECTIONS), "lack p; give a record of p"),
    (lambda f: mie_cross_section(0, [0]), "ka=0 is not allowed; it must be a positive number")])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(with_fields(surface_of(2, 2), plane))


def test_refinement_of_the_sphere_follows_the_sphere():
    mesh = cases.maxwell_sphere().mesh
    fine = refined_sphere(mesh)
    assert fine.boundaries.keys() == mesh.boundaries.keys()
    assert len(fine.boundaries["sphere"]) == 4 * len(mesh.boundaries["sphere"])
    assert np.array_equal(np.sort(fine.regions["vacuum"]), np.arange(8 * len(mesh.cells)))
    assert fine.measures.min() > 0
    for name, radius in (("sphere", 1.0), ("outer", 6.0)):
        assert np.allclose(corner_radii(fine, name), radius, rtol=1e-12)
    # Flat facets: the volume of the sphere is missed by O(h^2).
    assert (1 - equal_radius(mesh)) / (1 - equal_radius(fine)) == pytest.approx(4, rel=0.1)
    # Curved facets: by O(h^4).
    mesh = cases.maxwell_sphere(geometry=2).mesh
    fine = refined_sphere(mesh)
    assert fine.order == mesh.order == 2 and (1 - equal_radius(mesh)) / (1 - equal_radius(fine)) == pytest.approx(16, rel=0.2)


def test_transform_of_the_pulse():
    k = np.array([2.0, 1.3, 3.1])
    shape, width, transform = pulse(k)
    assert width == 1 / 1.3
    s = np.linspace(-8 * width, 8 * width, 2001)
    assert np.allclose(transform, np.abs(np.exp(-1j * np.outer(k, s)) @ shape(s)) * (s[1] - s[0]), rtol=1e-10)
    assert np.abs(shape(np.array([-HALF_PULSE, HALF_PULSE]) * width)).max() < 2e-5


def test_the_layer_damps_what_is_tangential():
    x = np.array([0.0, 3.0, 4.0])
    layer = damping(1.0, 6.0)
    radial, tangential = layer((0.0, 0.6, 0.8, 0.0, 3.0, 4.0), x), layer((1.0, 0.8, -0.6, 2.0, 0.0, 0.0), x)
    assert np.allclose(radial, 0, atol=1e-15)
    assert np.allclose(tangential, -(0.8**3) * np.array([1.0, 0.8, -0.6, 2.0, 0.0, 0.0]))
    assert not np.any(layer((1.0, 0.8, -0.6, 2.0, 0.0, 0.0), x / 5))


@pytest.mark.parametrize("keywords, message", [
    ({"ka": -1.0}, "ka=-1.0 is not allowed; it must be a positive number, or several"),
    ({"ka": "one"}, "ka='one' is not allowed"),
    ({"level": -1}, "level=-1 is not allowed; it must be a whole number, 0 or more"),
    ({"level": 0.5}, "level=0.5 is not allowed")])
def test_bad_keywords_of_the_case_are_named(keywords, message):
    with pytest.raises(ValueError, match=message):
        cases.maxwell_sphere(**keywords)


def test_a_boundary_that_is_no_sphere_is_named():
    mesh = box((-1, -1, -1), (1, 1, 1), (2, 2, 2))
    sides = np.concatenate(list(mesh.boundaries.values()))
    words = "not a closed sphere around the origin: its corners lie at distances from 1 to 1.73205"
    with pytest.raises(ValueError, match=words):
        equal_radius(dataclasses.replace(mesh, boundaries={"sphere": sides}))
    half = cases.maxwell_sphere().mesh
    with pytest.raises(ValueError, match="not a closed sphere around the origin.* the integral of its normals is 0"):
        equal_radius(dataclasses.replace(half, boundaries={"sphere": half.boundaries["sphere"][:90]}))


@pytest.mark.thorough
def test_the_sphere_scatters_as_mie_says_and_better_on_a_finer_mesh():
    errors = []
    for name in ("sphere_coarse", "sphere"):
        sim = cases.maxwell_sphere(order=2, ka=(1.0, 2.0), mesh=MESHES / f"{name}.msh").replace(backend="numpy")
        sigma = bistatic(sim.run(), (0, 79, 180))
        found, wanted = (np.stack([sigma[f"{kind}_{plane}"] for plane in "EH"]) for kind in ("sigma", "exact"))
        errors.append(np.abs(found / wanted - 1).max(axis=(0, 2)))
        assert sim.report["results"]["sigma_forward"] == pytest.approx(found[0, :, 0].tolist(), rel=1e-12)
    assert np.allclose(sigma["ka"], (1, 2), rtol=1e-12)
    assert np.all(errors[1] < 0.015)
    assert np.all(errors[1] < errors[0] / 2)


@pytest.mark.thorough
def test_a_curved_sphere_scatters_better_than_its_facets():
    errors = []
    for geometry in (1, 2):
        sim = cases.maxwell_sphere(order=2, ka=2.0, geometry=geometry, mesh=MESHES / "sphere_coarse.msh")
        sigma = bistatic(sim.replace(backend="numpy").run(), (0, 79, 180))
        errors.append(max(float(np.abs(sigma[f"sigma_{plane}"] / sigma[f"exact_{plane}"] - 1).max()) for plane in "EH"))
    assert errors[1] < 0.7 * errors[0], errors
