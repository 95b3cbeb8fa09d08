"""Waveguide ports: modes of cross-sections, launched waves, scattering parameters against exact ones, errors."""
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import jn_zeros, jnp_zeros

import dgarray as dg
from dgarray.analysis.guide_modes import given_mode, modes
from dgarray.analysis.ports import s_parameters
from dgarray.mesh.interfaces import other_side

FEED = {"feed": lambda x: x[0] < 0.5, "device": lambda x: x[0] > 0.5}
ALONG_Z = {"feed": lambda x: x[2] < 0.5, "device": lambda x: x[2] > 0.5}


def with_port(mesh, regions=FEED):
    return mesh.with_regions(regions).with_interfaces({"one": ("device", "feed")})


def box(shape, height=0.8):
    return with_port(dg.box((0, 0, 0), (1, 1, height), (2, 2, 2), shape=shape))


# Modes.

@pytest.mark.parametrize("walls", [dg.pec, dg.pmc])
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_modes_of_two_plates(polarisation, walls):
    """Cutoffs n c / (2 a), from the mode without a cutoff on where the field along z may be constant."""
    mesh = with_port(dg.rectangle((0, 0), (1, 1.3), (2, 3)))
    found = modes(mesh, dg.Maxwell(2, polarisation, eps=4.0), "one", 4, walls)
    constant = (polarisation == "TM") == (walls is dg.pmc)
    np.testing.assert_allclose([mode.cutoff for mode in found], (np.arange(4) + (not constant)) / (2 * 1.3 * 2), rtol=1e-8)
    assert [mode.kind for mode in found] == ["TEM"] * constant + ["TE" if polarisation == "TM" else "TM"] * (4 - constant)
    y = np.linspace(0, 1.3, 20)
    e, h = found[constant].fields((np.full(20, 0.5), y))
    field = (e if polarisation == "TM" else h)[2]
    shape = np.sin if (polarisation == "TM") == (walls is dg.pec) else np.cos
    exact = np.sqrt(2 / 1.3) * shape(np.pi * y / 1.3)
    np.testing.assert_allclose(field * np.sign(field[3] * exact[3]), exact, atol=1e-6)


def rectangular(width, height, count):
    """Kinds and wave numbers of the first modes of a rectangle."""
    def k(m, n):
        return np.pi * np.hypot(m / width, n / height)
    some = [(m, n) for m in range(6) for n in range(6)]
    every = [("TE", k(m, n)) for m, n in some if m + n] + [("TM", k(m, n)) for m, n in some if m * n]
    return sorted(every, key=lambda each: (round(each[1], 9), each[0]))[:count]


@pytest.mark.parametrize("shape", ["hexahedron", "tetra", "prism"])
def test_modes_of_a_rectangle(shape):
    found = modes(box(shape), dg.Maxwell(3, eps=2.0, mu=0.5), "one", 8)
    exact = rectangular(1, 0.8, 8)
    assert [mode.kind for mode in found] == [kind for kind, _ in exact]
    np.testing.assert_allclose([2 * np.pi * mode.cutoff for mode in found], [k for _, k in exact], rtol=1e-7)
    y, z = np.random.default_rng(0).uniform((0, 0), (1, 0.8), (30, 2)).T
    e, h = found[0].fields((np.full(30, 0.5), y, z))
    exact = np.sqrt(2 / 0.8) * np.sin(np.pi * y)
    np.testing.assert_allclose(e, [0 * y, 0 * y, exact], atol=1e-5)
    np.testing.assert_allclose(h, [0 * y, -exact, 0 * y], atol=1e-5)          # waves along x


def disc(x):
    u, v, w = x
    return u * np.sqrt(1 - v * v / 2), v * np.sqrt(1 - u * u / 2), w


@pytest.mark.filterwarnings("ignore::dgarray.mesh.errors.MeshWarning")
@pytest.mark.parametrize("shape", ["hexahedron", "tetra"])
def test_modes_of_a_circle(shape):
    """Zeros of Bessel's functions and of their derivatives."""
    mesh = with_port(dg.box((-1, -1, 0), (1, 1, 1), (3, 3, 2), shape=shape).mapped(disc, 5), ALONG_Z)
    zeros = [(kind, z) for kind, of in (("TE", jnp_zeros), ("TM", jn_zeros)) for n in range(6) for z in of(n, 2)
             for _ in range(1 + (n > 0))]
    exact = sorted(zeros, key=lambda each: (round(each[1], 9), each[0]))[:9]
    found = modes(mesh, dg.Maxwell(3), "one", 9)
    assert [mode.kind for mode in found] == [kind for kind, _ in exact]
    np.testing.assert_allclose([2 * np.pi * mode.cutoff for mode in found], [z for _, z in exact], rtol=1e-7)
    centre = (np.zeros(1), np.zeros(1), np.full(1, 0.5))
    along = [mode.fields(centre)[0][:, 0] for mode in found[:2]]          # the two TE11, of one cutoff
    assert along[0][0] > 0.8 and along[1][1] > 0.8
    np.testing.assert_allclose([along[0][1:], along[1][::2]], 0, atol=1e-6)


def coaxial(inner, outer, sides=8):
    """A coaxial line along z as hexahedra."""
    lines = [0, 0.5, 1], 2 * np.pi / sides * np.arange(sides), [inner, (inner + outer) / 2, outer]
    z, phi, r = np.meshgrid(*lines, indexing="ij")
    number = np.arange(z.size).reshape(z.shape)
    ahead = np.roll(number, -1, axis=1)
    cells = np.stack([level[i:i + 2, :, k:k + 2].ravel() for i in (0, 1) for level, k in (
        (number, 0), (number, 1), (ahead, 1), (ahead, 0))], axis=1)
    mesh = dg.mesh.from_arrays(np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=-1).reshape(-1, 3), cells)

    def rounded(x):
        from_middle = np.arctan2(x[1], x[0]) % (2 * np.pi / sides) - np.pi / sides
        scale = np.cos(from_middle) / np.cos(np.pi / sides)
        return x[0] * scale, x[1] * scale, x[2]
    return with_port(mesh.mapped(rounded, 5), ALONG_Z)


def test_the_tem_mode_of_a_coaxial_line():
    mode, other = modes(coaxial(1.0, 2.5), dg.Maxwell(3, eps=4.0), "one", 2)
    assert mode.kind == "TEM" and mode.cutoff == 0 and other.kind == "TE"
    np.testing.assert_allclose(mode.impedance([0.1, 3.0]), 0.5)
    phi, r = np.meshgrid(np.linspace(0, 6, 13), np.linspace(1.05, 2.45, 7))
    e, _ = mode.fields((r * np.cos(phi), r * np.sin(phi), np.full(r.shape, 0.5)))
    exact = 1 / (r * np.sqrt(2 * np.pi * np.log(2.5)))
    along = e[0] * np.cos(phi) + e[1] * np.sin(phi)
    np.testing.assert_allclose(along * np.sign(along[0, 0]), exact, rtol=1e-3)
    np.testing.assert_allclose(e[1] * np.cos(phi) - e[0] * np.sin(phi), 0, atol=1e-3)


@pytest.mark.parametrize("shape", ["hexahedron", "tetra"])
def test_modes_are_orthonormal(shape):
    """The integrals of e_i x h_j over the section, TE and TM with one cutoff included."""
    found = modes(box(shape, 1.0), dg.Maxwell(3), "one", 9)
    (points, weights), n = np.polynomial.legendre.leggauss(8), found[0].direction
    y, z = np.meshgrid(*2 * [np.concatenate([(points + 1) / 4, (points + 3) / 4])])
    fields = [mode.fields((np.full(y.shape, 0.5), y, z)) for mode in found]
    area = np.outer(*2 * [np.tile(weights / 4, 2)])
    gram = [[np.sum(area * np.tensordot(n, np.cross(e, h, axis=0), axes=1)) for _, h in fields] for e, _ in fields]
    np.testing.assert_allclose(gram, np.eye(9), atol=1e-5 if shape == "hexahedron" else 1e-3)


def test_impedances_and_wave_numbers():
    mode_TE, mode_TM = (modes(box("hexahedron"), dg.Maxwell(3, eps=2.0, mu=3.0), "one", kind=kind)[0] for kind in ("TE", "TM"))
    for mode in (mode_TE, mode_TM):
        f = mode.cutoff * np.array([0.5, 1.0, 2.0])
        beta, Z = mode.wave_number(f), mode.impedance(f)
        assert np.isnan([beta[:2], Z[:2]]).all()
        np.testing.assert_allclose(beta[2], 2 * np.pi * mode.cutoff * np.sqrt(3 * 6))
        ratio = np.sqrt(3) / 2          # beta / (omega sqrt(eps mu))
        np.testing.assert_allclose(Z[2], np.sqrt(1.5) * (1 / ratio if mode.kind == "TE" else ratio))


# Straight guides, 1 wide, of a whole number of cells.

BAND = np.linspace(1.2, 1.9, 8)          # in cutoffs


def guide(dim, cells, length, layer=4, **regions):
    low, high = np.zeros(dim), np.ones(dim)
    low[0], high[0] = -1 / cells, length + 1 / cells
    high[2:] = 1 / cells
    count = [round((b - a) * cells) for a, b in zip(low, high)]
    mesh = dg.rectangle(low, high, count, shape="quadrilateral") if dim == 2 else dg.box(low, high, count, shape="hexahedron")
    mesh = mesh.with_regions({"feed": lambda x: x[0] < 0, "device": lambda x: (x[0] > 0) & (x[0] < length),
                              "end": lambda x: x[0] > length, **regions})
    mesh = mesh.with_interfaces({"one": ("device", "feed"), "two": ("device", "end")})
    return dg.pml(mesh, 1.25, layer, boundary=("left", "right"))


def pulse_around(frequency):
    width = 1.7 / frequency

    def pulse(t):
        s = t - 4 * width
        return np.exp(-(s / width) ** 2) * np.sin(2 * np.pi * frequency * s)
    return pulse, 8 * width


@lru_cache
def straight(dim, polarisation, number, order, cells, until, given=False):
    """(frequencies, ports, S, record at the first port, length) of a guide."""
    length = 4 / 3 if dim == 2 else 2 / 3
    mesh, law = guide(dim, cells, length), dg.Maxwell(dim, polarisation)
    ports = [dg.Port(mesh, law, name, number) for name in ("one", "two")]
    mode = ports[0].mode
    if given:
        exact = [given_mode(mesh, law, name, lambda x: (0, 0, np.sin(np.pi * x[1])), "TE", 0.5) for name in ("one", "two")]
        ports = [dg.Port(mesh, law, mode.section.name, mode) for mode in exact]
    lowest = mode.cutoff or 0.4
    f = lowest * BAND
    pulse, _ = pulse_around(1.55 * lowest)
    ds = dg.Simulation(mesh, law, dg.TensorDG(order), {"default": dg.pec, "one": ports[0].launch(pulse)}, until=until,
                       backend="numpy", record={name: dg.Fourier(f, boundary=name) for name in ("one", "two")}).run()
    return f, ports, s_parameters({"one": ds}, ports), ds.dg.record("one"), length


GUIDES = {"TM": (2, "TM", 1, 5, 3, 40.0), "TE, without a cutoff": (2, "TE", 1, 5, 3, 34.0), "TE": (2, "TE", 2, 5, 3, 40.0),
          "3D": (3, None, 1, 4, 3, 36.0)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", GUIDES)
def test_a_straight_guide_transmits_all(name):
    f, (one, _), S, record, length = straight(*GUIDES[name])
    assert S.dims == ("frequency", "out", "into")
    assert 20 * np.log10(abs(S.sel(out="one", into="one"))).max() < -60
    passed = S.sel(out="two", into="one").values
    exact = np.exp(-1j * length * one.mode.wave_number(f))
    assert abs(abs(passed) - 1).max() < 1e-3
    assert abs(passed - exact).max() < 2e-3


@pytest.mark.thorough
@pytest.mark.parametrize("name", GUIDES)
def test_the_launched_wave_is_that_of_the_pulse(name):
    """V = f^ / 2 of modes TE, Z f^ / 2 of others."""
    f, (one, _), _, record, _ = straight(*GUIDES[name])
    pulse, end = pulse_around(1.55 * (one.mode.cutoff or 0.4))
    t = np.linspace(0, end, 20001)
    spectrum = np.trapezoid(pulse(t)[:, None] * np.exp(-2j * np.pi * t[:, None] * f), t, axis=0)
    Z = one.mode.impedance(f)
    V = one.waves(record).a.values * np.sqrt(Z)
    exact = spectrum / 2 if one.mode.kind == "TE" else Z * spectrum / 2
    assert abs(V - exact).max() < 2e-3 * abs(exact).max()


@pytest.mark.thorough
def test_a_given_mode_is_the_computed_one():
    (*_, S, _, _), (*_, same, _, _) = straight(*GUIDES["TM"]), straight(*GUIDES["TM"], given=True)
    np.testing.assert_allclose(same, S, atol=1e-7)


@pytest.mark.thorough
def test_a_slab_in_a_guide_reflects_as_layers_do():
    """Magnitudes and phases: the impedances of the mode in the slab and beside it take the place of those of plane waves."""
    eps, front, back, length = 2.25, 0.75, 1.25, 2.0
    mesh = guide(2, 4, length, slab=lambda x: (x[0] > front) & (x[0] < back), air=lambda x: (x[0] < front) | (x[0] > back))
    law = dg.Maxwell(2, eps={"slab": eps, "air": 1.0})
    ports = [dg.Port(mesh, law, name) for name in ("one", "two")]
    f, pulse = 0.5 * BAND, pulse_around(0.775)[0]
    ds = dg.Simulation(mesh, law, dg.TensorDG(4), {"default": dg.pec, "one": ports[0].launch(pulse)}, until=60.0,
                       backend="numpy", record={name: dg.Fourier(f, boundary=name) for name in ("one", "two")}).run()
    S = s_parameters({"one": ds}, ports)
    outside, inside = (2 * np.pi * np.sqrt(e * f**2 - 0.25) for e in (1.0, eps))
    r, phase = (outside - inside) / (outside + inside), np.exp(-1j * inside * (back - front))
    reflected = r * (1 - phase**2) / (1 - r**2 * phase**2) * np.exp(-2j * outside * front)
    passed = (1 - r**2) * phase / (1 - r**2 * phase**2) * np.exp(-1j * outside * (length - (back - front)))
    assert abs(reflected).max() > 0.4
    assert abs(S.sel(out="one", into="one") - reflected).max() < 2e-3
    assert abs(S.sel(out="two", into="one") - passed).max() < 2e-3


def test_modes_do_not_mix():
    """In a band where both propagate; at frequencies below its cutoff the second one has no parameters."""
    mesh, law = guide(2, 3, 1.0), dg.Maxwell(2)
    ports = [dg.Port(mesh, law, name, number, label=f"{name} {number}") for name in ("one", "two") for number in (1, 2)]
    f = np.array([0.7, 1.2, 1.4])
    launch = ports[1].launch(pulse_around(1.3)[0])
    ds = dg.Simulation(mesh, law, dg.TensorDG(4), {"default": dg.pec, "one": launch}, until=30.0, backend="numpy",
                       record={name: dg.Fourier(f, boundary=name) for name in ("one", "two")}).run()
    S = abs(s_parameters({"one 2": ds}, ports)).sel(into="one 2")
    assert np.isnan(S.sel(frequency=0.7)).all()
    above = S.sel(frequency=[1.2, 1.4])
    np.testing.assert_allclose(above.sel(out="two 2"), 1, atol=2e-3)
    assert above.sel(out=["one 1", "two 1", "one 2"]).max() < 2e-3


# Errors.

def refused(message, mesh=None, law=None, name="one", mode=1, **options):
    with pytest.raises(ValueError, match=message):
        dg.Port(box("hexahedron") if mesh is None else mesh, law or dg.Maxwell(3), name, mode, **options)


def test_names_and_numbers_that_do_not_exist():
    refused(r"port 'onne' does not exist; the mesh has the interfaces: one \(did you mean 'one'", name="onne")
    refused("port 'left' is a boundary of the mesh; it must be an interface", name="left")
    refused("mode=0 is not allowed; give its number, from 1, or a Mode", mode=0)
    plates = with_port(dg.rectangle((0, 0), (1, 1), (2, 1), shape="quadrilateral"))
    refused(r"port 'one': mode 9 does not exist; its section has 7 modes with degree=8", plates, dg.Maxwell(2), mode=9)
    with pytest.raises(ValueError, match="mode 1 does not exist of the kind TEM; its section has 0 modes"):
        modes(box("tetra"), dg.Maxwell(3), "one", kind="TEM")
    with pytest.raises(ValueError, match="kind 'TEE' does not exist; allowed: TEM, TE, TM"):
        modes(box("tetra"), dg.Maxwell(3), "one", kind="TEE")
    refused("ports are for Maxwell in 2D or 3D, not for Acoustics", plates, dg.Acoustics(2))
    other = modes(box("hexahedron"), dg.Maxwell(3), "one")[0]
    two = box("hexahedron").with_interfaces({"two": ("feed", "device")})
    refused("port 'two': the mode is one of the interface 'one'", two, name="two", mode=other)


def test_sections_that_are_none():
    law = dg.Maxwell(2)
    corner = {"feed": lambda x: np.maximum(*x) < 0.5, "device": lambda x: np.maximum(*x) > 0.5}
    squares = dg.rectangle((0, 0), (1, 1), (4, 4), shape="quadrilateral")
    refused("port 'one' is not plane: points or normals of its 4 faces deviate by", with_port(squares, corner), law)
    part = {"feed": lambda x: (x[0] < 0.5) & (x[1] < 0.5), "device": lambda x: x[0] > 0.5}
    refused(r"port 'one' ends inside of the mesh, at \(0.5, 0.5\); it must reach from wall to wall",
            with_port(squares, part), law)
    refused("port 'one' ends at the boundary 'top', whose condition is absorbing; a guide's walls must be dgarray.pec or",
            with_port(dg.rectangle((0, 0), (1, 1), 2)), law, walls={"top": dg.absorbing, "default": dg.pec})
    refused("port 'one' has triangles and quadrilaterals; its faces must have one shape", box("mixed"))


def test_media_at_ports():
    plates = with_port(dg.rectangle((0, 0), (1, 1), (4, 4)))
    plates = plates.with_regions({"low": lambda x: x[1] < 0.5, "high": lambda x: x[1] > 0.5})
    refused(r"port 'one' lies in several media: eps is .* at \(0.5, .*\) and .* at \(0.5, .*\); the section must be filled",
            plates, dg.Maxwell(2, eps={"low": 1.0, "high": 4.0}))
    refused("lies in several media", plates, dg.Maxwell(2, eps={"feed": 1.0, "device": 4.0}))
    refused("port 'one' lies in a dispersive medium", plates, dg.Maxwell(2, eps={"low": 1.0, "high": 1 + dg.Debye(1.0, 0.1)}))
    refused("port 'one' lies in a medium that conducts", plates, dg.Maxwell(2, sigma=0.1))
    port = dg.Port(plates, dg.Maxwell(2), "one")
    with pytest.raises(ValueError, match="is one of the law Maxwell.*, but the problem has Maxwell"):
        dg.Simulation(plates, dg.Maxwell(2, eps=2.0), dg.NodalDG(1), {"one": port.launch(np.sin), "default": dg.pec})


def test_fields_that_are_no_modes():
    plates, law = with_port(dg.rectangle((0, 0), (1, 1), 2)), dg.Maxwell(2)
    for field, kind, cutoff, message in (
            (lambda x: (0, 0, 0 * x[1]), "TE", 0.5, "the field of the mode is 0"),
            (lambda x: (0, np.cos(x[1]), 0), "TM", 0.5, "has Ey, which Maxwell.* lacks"),
            (lambda x: (0, 0, 1), "TEM", 0.5, "cutoff=0.5 is not allowed of a mode TEM; it must be 0"),
            (lambda x: (0, 0, 1), "TE", 0, "cutoff=0 is not allowed of a mode TE; it must be positive")):
        with pytest.raises(ValueError, match=message):
            given_mode(plates, law, "one", field, kind, cutoff)
    with pytest.raises(ValueError, match="has a component along the guide"):
        given_mode(plates, dg.Maxwell(2, "TE"), "one", lambda x: (1, 0, 0), "TM", 0.5)


@lru_cache
def short_run():
    """(dataset, ports) of a short run."""
    mesh, law = guide(2, 3, 1.0, 2), dg.Maxwell(2)
    ports = [dg.Port(mesh, law, name) for name in ("one", "two")]
    record = {name: dg.Fourier((0.3, 0.4) if name == "low" else (0.7, 0.8), boundary=place)
              for name, place in (("one", "one"), ("two", "two"), ("low", "one"))}
    launch = ports[0].launch(pulse_around(0.75)[0])
    ds = dg.Simulation(mesh, law, dg.TensorDG(5), {"default": dg.pec, "one": launch}, until=24.0, backend="numpy",
                       record=record).run()
    return ds, ports


def test_what_runs_must_have():
    ds, (one, two) = short_run()
    with pytest.raises(ValueError, match="runs: port 'onne' does not exist; allowed: one, two"):
        s_parameters({"onne": ds}, [one, two])
    with pytest.raises(ValueError, match="ports have the labels one, one; each must have its own"):
        s_parameters({"one": ds}, [one, one])
    with pytest.raises(ValueError, match="port 'two': no wave enters the device there; its run must"):
        s_parameters({"two": ds}, [one, two])
    with pytest.raises(ValueError, match="runs must be {label of the excited port"):
        s_parameters(ds, [one, two])
    with pytest.raises(ValueError, match="the frequencies from 0.3 to 0.4 are not above the cutoff 0.5 of the mode TE1"):
        one.waves(ds.dg.record("low"))
    with pytest.raises(ValueError, match="pulse=3 is not allowed"):
        one.launch(3)


@pytest.mark.parametrize("turned", ["one", "two"])
def test_normals_point_out_of_the_device(turned):
    mesh, (ds, _) = guide(2, 3, 1.0, 2), short_run()
    other = {"one": "two", "two": "one"}[turned]
    rows = {turned: other_side(mesh.neighbours, mesh.interfaces[turned]), other: mesh.interfaces[other]}
    ports = [dg.Port(replace(mesh, interfaces=rows), dg.Maxwell(2), name) for name in ("one", "two")]
    with pytest.raises(ValueError, match=f"port {turned!r}: the normal of the interface points to the port {other!r}; it must"):
        s_parameters({"one": ds}, ports)
