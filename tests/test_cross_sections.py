"""Far fields and cross-sections over frequency from the pulse of one run, beside the series of cylinders and spheres."""
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import dgarray as dg
from dgarray import cases
from dgarray.analysis import cross_sections as module
from dgarray.analysis.cross_sections import (
    absorption_cross_section,
    cross_sections,
    extinction_cross_section,
    scattering_cross_section,
)
from dgarray.analysis.farfield import cross_section, enclosed_volume, near_to_far
from dgarray.analysis.scattering_cylinders import cylinder_bistatic, cylinder_fields, cylinder_widths
from dgarray.analysis.scattering_spheres import sphere_cross_sections
from dgarray.cases.common import MESHES
from dgarray.cases.maxwell_sphere import HALF_PULSE, pulse
from dgarray.mesh import from_arrays
from dgarray.reference.tensor import tensor_cell
from dgarray.spaces.curved_surface import simplex_surface
from dgarray.spaces.tensor_surface import TensorSurface

AROUND, FAR, RINGS = 16, 9.0, 14
NEAR = 1 + 2 * (FAR - 1) / RINGS          # two rings around the body
KA = np.array([1.0, 1.5, 2.0, 2.5, 3.0])
FREQUENCIES = KA / (2 * np.pi)
WIDTH, DELAY = 0.7, 3.7 * 0.7 + NEAR
DEGREES = np.arange(0, 360, 15.0)


def ring_mesh(shape="quadrilateral", core=False):
    """Curved cells between the circles of the radii 1, boundary "body", and FAR, boundary "outer", or with a core, region
    "body".  The circle of the radius 1 then is the interface "surface", that of the radius NEAR is "around"."""
    angle = 2 * np.pi / AROUND * np.arange(AROUND) - 3 * np.pi / 4
    circle, radii = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.linspace(1, FAR, RINGS + 1)
    n = AROUND // 4
    line = np.linspace(-0.45, 0.45, n + 1)
    number = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    square = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.concatenate([square, *(r * circle for r in radii)])
    rings = [number[:-1, 0], number[-1, :-1], number[:0:-1, -1], number[0, :0:-1]]
    rings = [np.concatenate(rings), *(len(square) + AROUND * i + np.arange(AROUND) for i in range(RINGS + 1))]
    inside = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    cells = [np.stack([a, np.roll(a, -1), np.roll(b, -1), b], axis=-1) for a, b in zip(rings, rings[1:])]
    cells = np.concatenate([inside, *cells] if core else cells[1:])
    if shape == "triangle":
        cells = np.concatenate([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
    sides = {"outer": np.stack([rings[-1], np.roll(rings[-1], -1)], axis=1)}
    if not core:
        sides["body"] = np.stack([rings[1], np.roll(rings[1], -1)], axis=1)
        used, cells = np.unique(cells, return_inverse=True)
        place = np.zeros(len(points), int)
        place[used] = np.arange(len(used))
        points, cells = points[used], cells.reshape(-1, 4 - (shape == "triangle"))
        sides = {name: place[rows] for name, rows in sides.items()}
    mesh = from_arrays(points, cells, sides)

    def near(x):
        return (np.hypot(*x) < NEAR) & (np.hypot(*x) > 0.98)
    mesh = mesh.with_regions({"near": near, "far": lambda x: np.hypot(*x) > NEAR})
    mesh = mesh.with_interfaces({"around": ("near", "far")})
    if core:
        mesh = mesh.with_regions({"body": lambda x: np.hypot(*x) < 0.98, "air": lambda x: np.hypot(*x) > 0.98})
        mesh = mesh.with_interfaces({"surface": ("body", "near")})
    return mesh.mapped(rounded, order=4)


def rounded(x):
    """Moves the edges of the polygons of AROUND corners, from the radius 1 on, to the circles through their corners."""
    step = 2 * np.pi / AROUND
    angle = (np.arctan2(x[1], x[0]) + 3 * np.pi / 4) % step - step / 2
    edge = np.cos(step / 2) / np.cos(angle)
    share = np.clip((np.hypot(*x) / edge - 0.62) / 0.38, 0, 1)
    scale = 1 + share * (1 / edge - 1)
    return scale * x[0], scale * x[1]


def damping(q, x):
    """Damps the components of E and H along circles: a perfectly matched layer for waves along the radius."""
    r = np.sqrt(x[0] ** 2 + x[1] ** 2)
    rate = (np.maximum(r - 1, 0.0) / (FAR - 1)) ** 3
    normal = (q[0] * x[0] + q[1] * x[1]) / r**2
    return rate * (normal * x[0] - q[0]), rate * (normal * x[1] - q[1]), -rate * q[2]


def shape(s):
    return (s - DELAY) / WIDTH * np.exp(-((s - DELAY) / WIDTH) ** 2)


def slope(s):
    return (1 - 2 * ((s - DELAY) / WIDTH) ** 2) / WIDTH * np.exp(-((s - DELAY) / WIDTH) ** 2)


def spectrum():
    """Absolute value of the pulse's transform at FREQUENCIES."""
    half = KA * WIDTH / 2
    return WIDTH * np.sqrt(np.pi) * half * np.exp(-half**2)


def wave(law, profile=shape, **options):
    return dg.plane_wave(law, (1, 0), (0, 0, 1) if law.polarisation == "TM" else (0, 1, 0), profile, **options)


def conducting(polarisation, cells):
    """The records of a run with a conducting cylinder and the incident wave."""
    law = dg.Maxwell(2, polarisation)
    method = dg.NodalDG(4) if cells == "triangle" else dg.TensorDG(4)
    field = wave(law)
    sim = dg.Simulation(ring_mesh(cells), law, method, {"body": dg.scattered(dg.pec, field), "outer": dg.absorbing},
                        source=damping, until=38.0, backend="numpy",
                        record={name: dg.Fourier(FREQUENCIES, boundary=name) for name in ("body", "around")})
    ds = sim.run()
    return {name: ds.dg.record(name) for name in ("body", "around")}, field


@pytest.mark.thorough
@pytest.mark.parametrize("polarisation, cells", [
    ("TM", "triangle"), ("TE", "quadrilateral"), pytest.param("TM", "quadrilateral", marks=pytest.mark.thorough),
    pytest.param("TE", "triangle", marks=pytest.mark.thorough)])
def test_a_conducting_cylinder(polarisation, cells):
    """Bistatic widths within 0.5 % of the largest, widths of scattering and extinction within 0.5 %, from one pulse."""
    records, field = conducting(polarisation, cells)
    angle = np.radians(DEGREES)
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    bistatic = cylinder_bistatic(FREQUENCIES, DEGREES, 1.0, dg.pec, polarisation=polarisation).values
    exact = cylinder_widths(FREQUENCIES, 1.0, dg.pec, polarisation=polarisation)
    for name, record in records.items():
        far = near_to_far(record, directions)
        error = np.abs(cross_section(far, spectrum()) - bistatic).max("direction") / bistatic.max(axis=1)
        assert error.max() < 5e-3, (name, error.values)
        found = cross_sections(record, field)
        assert_allclose(found.scattering, exact.scattering, rtol=5e-3, err_msg=name)
        assert_allclose(found.extinction, exact.extinction, rtol=5e-3, err_msg=name)
        assert np.all(np.abs(found.absorption) < 8e-3 * exact.extinction), (name, found.absorption.values)
        assert_optical_theorem(far.isel(direction=0), field, found.extinction)


def assert_optical_theorem(forward, field, extinction):
    """C_ext = -sqrt(8 pi / k) Re(exp(-i pi / 4) f), f the far field forward over the incident one at the origin."""
    t = np.linspace(0, 30, 4001)
    history = np.array([np.broadcast_to(c, t.shape) for c in field((0.0, 0.0), t)])
    pulse = history @ np.exp(-2j * np.pi * np.multiply.outer(t, FREQUENCIES)) * (t[1] - t[0])
    amplitude, found = (pulse[2], forward.Ez) if "Ez" in forward else (pulse[1], forward.Ey)
    theorem = -np.sqrt(8 * np.pi / KA) * (np.exp(-0.25j * np.pi) * found.values / amplitude).real
    assert_allclose(theorem, extinction, rtol=3e-3)


EPS, SIGMA = 2.5, 0.5


@pytest.mark.parametrize("polarisation, formulation", [("TM", "scattered"), ("TE", "total")])
def test_an_absorbing_cylinder(polarisation, formulation):
    """Of eps = 2.5 and sigma = 0.5: within 1 % of the series around it; at its own surface, with the fields on the side of
    the shorter waves, within 1.5 %."""
    law = dg.Maxwell(2, polarisation, eps={"body": EPS, "air": 1.0}, sigma={"body": SIGMA, "air": 0.0})
    field, rate = (wave(law, profile, medium="air") for profile in (shape, slope))
    electric = [name[0] == "E" for name in law.variables]

    def scattered_source(q, x, t, m):
        """With eps E_t - curl H + sigma E = 0 of the sum, that of the scattered field."""
        currents = ((m.eps - 1) * b + m.sigma * a for a, b in zip(field(x, t), rate(x, t)))
        return tuple(s - j if e else s for s, j, e in zip(damping(q, x), currents, electric))

    def total_source(q, x, t):
        return damping(tuple(a - b for a, b in zip(q, field(x, t))), x)
    scattering = formulation == "scattered"
    sim = dg.Simulation(ring_mesh(core=True), law, dg.TensorDG(4), dg.absorbing if scattering else dg.incident(field),
                        initial=None if scattering else lambda x: field(x, 0.0), backend="numpy",
                        source=scattered_source if scattering else total_source, until=38.0,
                        record={name: dg.Fourier(FREQUENCIES, boundary=name) for name in ("surface", "around")})
    ds = sim.run()
    exact = cylinder_widths(FREQUENCIES, 1.0, lambda f: EPS - 1j * SIGMA / (2 * np.pi * f), polarisation=polarisation)
    for name, tolerance in (("surface", 1.5e-2), ("around", 1e-2)):
        found = cross_sections(ds.dg.record(name), field, formulation)
        for part in exact:
            assert_allclose(found[part], exact[part], rtol=tolerance, err_msg=f"{name}, {part}")
    assert found.attrs == {} and found.absorption.attrs["long_name"] == "absorption width"


@pytest.mark.thorough
def test_sound_at_a_rigid_cylinder():
    """It scatters as TE waves at a conductor: p stands for Hz."""
    law = dg.Acoustics(2)
    field = dg.plane_wave(law, (1, 0), 1.0, shape)

    def layer(q, x):
        """`damping` with p along the circles as well."""
        r = np.sqrt(x[0] ** 2 + x[1] ** 2)
        rate = (np.maximum(r - 1, 0.0) / (FAR - 1)) ** 3
        radial = (q[1] * x[0] + q[2] * x[1]) / r**2
        return -rate * q[0], -rate * radial * x[0], -rate * radial * x[1]
    record = {"body": dg.Fourier(FREQUENCIES, boundary="body")}
    ds = dg.Simulation(ring_mesh(), law, dg.TensorDG(4), {"body": dg.scattered(dg.wall, field), "outer": dg.absorbing},
                       source=layer, until=38.0, backend="numpy", record=record).run()
    exact = cylinder_widths(FREQUENCIES, 1.0, dg.pec, polarisation="TE")
    found = cross_sections(ds.dg.record("body"), field)
    assert_allclose(found.scattering, exact.scattering, rtol=5e-3)
    assert_allclose(found.extinction, exact.extinction, rtol=5e-3)
    angle = np.radians(DEGREES)
    far = near_to_far(ds.dg.record("body"), np.column_stack([np.cos(angle), np.sin(angle)]))
    bistatic = cylinder_bistatic(FREQUENCIES, DEGREES, 1.0, dg.pec, polarisation="TE").values
    error = np.abs(cross_section(far, spectrum()) - bistatic).max("direction") / bistatic.max(axis=1)
    assert error.max() < 5e-3, error.values


@pytest.mark.thorough
def test_a_conducting_sphere():
    """Within 1 % from ka = 1 to 2, from one pulse."""
    sim = cases.maxwell_sphere(order=3, ka=np.linspace(1, 2, 5), geometry=2, mesh=MESHES / "sphere_coarse.msh")
    fields = sim.replace(backend="numpy").run().dg.record("surface")
    radius, frequency = (3 * enclosed_volume(fields) / (4 * np.pi)) ** (1 / 3), fields.frequency.values
    profile, width, _ = pulse(2 * np.pi * frequency)
    field = dg.plane_wave(dg.Maxwell(3), (0, 0, 1), (1, 0, 0), lambda s: profile(s - HALF_PULSE * width - radius))
    found, exact = cross_sections(fields, field), sphere_cross_sections(frequency, radius, dg.pec)
    assert_allclose(found.scattering, exact.scattering, rtol=1e-2)
    assert_allclose(found.extinction, exact.extinction, rtol=1e-2)
    assert np.all(np.abs(found.absorption) < 1e-2 * exact.extinction)


# Without a run.

def exact_fields(polarisation="TM", part="scattered", cells="quadrilateral", eps=EPS - 0.4j):
    """A record as of a run, of the exact fields times the transform of the pulse, on the interface "around"."""
    mesh, order = ring_mesh(cells), 6
    if cells == "triangle":
        surface, nodes = simplex_surface(mesh, order, mesh.interfaces["around"]), {}
    else:
        surface, nodes = TensorSurface(mesh, tensor_cell(2, order, "gauss"), mesh.interfaces["around"]), {"nodes": "gauss"}
    coords = {name: fixed[:2] for name, fixed in surface.coords(mesh.numbers).items()}
    record = xr.Dataset(coords=coords | {"frequency": FREQUENCIES}, attrs={"order": order, **nodes})
    x = np.stack([record[axis].values.ravel() for axis in "xy"], axis=1)
    found = cylinder_fields(FREQUENCIES, x, 1.0, eps, polarisation=polarisation, part=part)
    t = np.linspace(0, 2 * DELAY, 4001)
    transform = np.exp(-2j * np.pi * np.multiply.outer(FREQUENCIES, t)) @ shape(t) * (t[1] - t[0])
    # The series' wave has u = 1; that of `wave` in TE has Ey = 1 = Hz.
    data = {name: (("frequency", *record.x.dims), (transform[:, None] * values.values).reshape(-1, *record.x.shape))
            for name, values in found.data_vars.items()}
    return record.assign(data).assign_attrs(time_span=[0.0, 2 * DELAY + 3.0]), wave(dg.Maxwell(2, polarisation))


@pytest.mark.parametrize("polarisation, cells", [("TM", "triangle"), ("TE", "quadrilateral")])
@pytest.mark.parametrize("formulation", ["scattered", "total"])
def test_exact_fields_give_exact_widths(polarisation, cells, formulation):
    fields, field = exact_fields(polarisation, formulation, cells)
    exact = cylinder_widths(FREQUENCIES, 1.0, EPS - 0.4j, polarisation=polarisation)
    found = cross_sections(fields, field, formulation)
    for name, function in (("scattering", scattering_cross_section), ("absorption", absorption_cross_section),
                           ("extinction", extinction_cross_section)):
        assert_allclose(found[name], exact[name], rtol=2e-5, err_msg=name)
        assert function(fields, field, formulation).identical(found[name])
    one = scattering_cross_section(fields.isel(frequency=2), field, formulation)
    assert_allclose(one, found.scattering[2:3], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:at t = ")
def test_what_does_not_do_is_named(monkeypatch):
    monkeypatch.setattr(module, "MOST_SAMPLES", 1 << 10)
    fields, field = exact_fields()

    def step(x, t):
        return 0.0, -1.0 * (t > 1.0), 1.0 * (t > 1.0)
    for change, arguments, message in (
            (lambda f: f.drop_vars("Hx"), (field,), "the fields lack Hx; give a record of Hx, Hy, Ez"),
            (lambda f: f.isel(face=slice(2, None)), (field,), "not closed"),
            (lambda f: f.assign_attrs(time_span=[]), (field,), "lack the attribute time_span"),
            (lambda f: f, (1.0,), "incident=1.0 is not allowed; give the incident field"),
            (lambda f: f, (field, "both"), "formulation 'both' does not exist; allowed: scattered, total"),
            (lambda f: f, (field, "total", (0, 0, 0)), "it must be a point with 2 coordinates"),
            (lambda f: f, (lambda x, t: (0.0, 0.0),), "the incident field returns 2 components; it must return 3"),
            (lambda f: f, (lambda x, t: (0.0, 0.0, 0.0),), "no power at the frequency 0.159155"),
            (lambda f: f.assign_coords(frequency=[0.1, 0.2, 0.3, 0.4, 9.0]), (field,), "no power at the frequency 9"),
            (lambda f: f, (lambda x, t: (0.0, -np.sin(1e6 * t * t), np.sin(1e6 * t * t)),), "do not resolve the incident"),
            (lambda f: f.assign_coords(frequency=[0.0, 0.2, 0.3, 0.4, 0.5]), (field,), "the frequency 0 is not allowed"),
            (lambda f: f.assign_attrs(field="total"), (field, "scattered"), "'scattered' is not allowed, .* holds the total"),
            (lambda f: f.assign_attrs(incident="plane_wave((0, 1), (0, 0, 1))"), (field,),
             r"of the run is plane_wave\(\(0, 1\), \(0, 0, 1\)\), with .* is plane_wave\(\(1, 0\), \(0, 0, 1\)\); give"),
            (lambda f: 0 * f, (field,), "the fields of the record are 0 everywhere: nothing has entered"),
            (lambda f: f.assign_coords(frequency=[0.1, 0.2, 0.3, 0.4, 1e9]), (field,), "no power at the frequency 1e\\+09"),
            (lambda f: f.assign_coords(frequency=[0.1, 0.2, 0.3, 0.4, 1e9]), (step,),
             "the frequency 1e\\+09 is too high for a record of the length")):
        with pytest.raises(ValueError, match=message):
            cross_sections(change(fields), *arguments)


@pytest.mark.filterwarnings("ignore:absorption is -")
def test_incident_fields_that_are_cut_off_are_warned_of():
    fields, field = exact_fields()
    with pytest.warns(UserWarning, match="incident field at the surface still has .* run until it has passed"):
        cross_sections(fields.assign_attrs(time_span=[0.0, DELAY]), field)
    with pytest.warns(UserWarning, match="incident field at the surface already has .* let it come later"):
        cross_sections(fields.assign_attrs(time_span=[DELAY, 2 * DELAY + 3.0]), field)


def test_what_the_run_knows_is_the_formulation():
    exact = cylinder_widths(FREQUENCIES, 1.0, EPS - 0.4j)
    for part in ("scattered", "total"):
        fields, field = exact_fields(part=part)
        known = fields.assign_attrs(field=part, incident="plane_wave((1, 0), (0, 0, 1))", boundary="around")
        assert_allclose(cross_sections(known, field).absorption, exact.absorption, rtol=2e-5)
        assert_allclose(absorption_cross_section(known, field, part), exact.absorption, rtol=2e-5)
    with pytest.raises(ValueError, match="formulation='scattered' is not allowed, because the record at 'around' holds the to"):
        absorption_cross_section(known, field, "scattered")


def test_widths_that_no_body_has_are_warned_of():
    """The total field taken for the scattered one, a field of another strength, a record that ends too early."""
    fields, field = exact_fields(part="total")
    with pytest.warns(UserWarning, match="scattering is -.* at the frequency .* % of the largest of the three below 0"):
        cross_sections(fields, field)
    fields, field = exact_fields(eps=EPS)
    with pytest.warns(UserWarning, match="absorption is -.* of the largest of the three below 0"):
        cross_sections(1.2 * fields, field)
    for name, end in (("Hx", 0.0), ("Hy", 2.3e-3), ("Ez", 1.9e-3)):
        fields[name].attrs |= {"largest": 1.0 if name != "Hx" else 1e-9, "largest_at_end": end}
    with pytest.warns(UserWarning, match=r"the record ends at t = .* while 0.23 % of its largest H is still there.*run lon"):
        cross_sections(fields, field)


def test_frequencies_of_which_the_pulse_has_little_are_warned_of(recwarn):
    """Its spectrum is k exp(-(k w / 2)^2), in units of its largest value, at k w = sqrt(2), 0.43."""
    fields, field = exact_fields()
    for number, share in ((4, 0.2), (4, 1.1e-3), (4, 0.9e-3), (4, 2e-6), (0, 1.1e-3), (0, 0.9e-3)):
        recwarn.clear()
        k = np.geomspace(1e-5, 20, 100_001)
        size = k * WIDTH / 2 * np.exp(0.5 - (k * WIDTH / 2) ** 2) * 2**0.5
        chosen = k[size >= share][-1 if number else 0] / (2 * np.pi)
        others = np.linspace(0.15, 0.4, 4).tolist()
        scattering_cross_section(fields.assign_coords(frequency=[*others, chosen] if number else [chosen, *others]), field)
        found = [str(w.message) for w in recwarn if "of its largest amplitude over frequency" in str(w.message)]
        assert len(found) == (share < 1e-3), (share, found)
        assert not found or f"at the frequency {chosen:g}, where errors" in found[0]


def test_short_pulses_in_long_records_are_found():
    """A pulse that falls between the first 512 samples of the spectrum, at the centre 0."""
    fields, _ = exact_fields()
    middle, half = 307.5 * 100 / 512, 0.09
    short = wave(dg.Maxwell(2), lambda s: np.where(abs(s - middle) < half, np.cos(np.pi / 2 * (s - middle) / half) ** 8, 0.0))
    found = scattering_cross_section(fields.assign_attrs(time_span=[0.0, 100.0]).isel(frequency=[0, 1]), short)
    t = np.linspace(-half, half, 1001)
    transform = np.exp(-2j * np.pi * np.multiply.outer(FREQUENCIES[:2], t)) @ short((0.0, 0.0), middle + t)[2] * (t[1] - t[0])
    exact = cylinder_widths(FREQUENCIES[:2], 1.0, EPS - 0.4j).scattering * spectrum()[:2] ** 2 / abs(transform) ** 2
    assert_allclose(found, exact, rtol=1e-4)
