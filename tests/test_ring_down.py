"""Records that end before fields have left, waves that do not enter, pulses without a mean, ends of runs by decay."""
import json
import warnings

import numpy as np
import pytest
import xarray as xr
from runs import StopAfter

import dgarray as dg
from dgarray import cli
from dgarray.analysis.cross_sections import cross_sections, extinction_cross_section
from dgarray.analysis.envelope import STRETCHES, Envelope
from dgarray.analysis.farfield import near_to_far
from dgarray.analysis.incident_waves import passage, waves
from dgarray.analysis.mirror_images import with_mirror_images
from dgarray.analysis.ports import s_parameters
from dgarray.analysis.scattering_cylinders import cylinder_widths
from dgarray.analysis.surface_currents import surface_currents
from dgarray.cases.meshes.concentric import concentric_mesh

FREQUENCIES = (0.3, 0.45)


def gaussian(s):
    return np.exp(-9 * (s - 2.2) ** 2)


def without_mean(s):
    return 6 * (s - 2.2) * np.exp(-9 * (s - 2.2) ** 2)


def cylinder(shape):
    """A conducting cylinder of radius 0.3 (TM) in a pulse, with a record around it."""
    law = dg.Maxwell(2)
    wave = dg.plane_wave(law, (1, 0), (0, 0, 1), shape)
    mesh = concentric_mesh((("near", 0.7, 2), ("far", 1.1, 2)), 0.3, 3, 2, 3).with_interfaces({"around": ("near", "far")})
    return wave, dg.Simulation(dg.pml(mesh, 0.8, 3, boundary="outer", shape="cylinder"), law, dg.TensorDG(3),
                               {"hole": dg.scattered(dg.pec, wave), "default": dg.pec}, threads=1,
                               record={name: dg.Fourier(FREQUENCIES, boundary=name) for name in ("around", "hole")})


def guide():
    """A straight guide with two ports, and the ports."""
    mesh = dg.rectangle((-0.25, 0), (1.25, 1), cells=(6, 2), shape="quadrilateral").with_regions({
        "feed": lambda x: x[0] < 0, "device": lambda x: (x[0] > 0) & (x[0] < 1), "end": lambda x: x[0] > 1})
    mesh = mesh.with_interfaces({"one": ("device", "feed"), "two": ("device", "end")})
    mesh = dg.pml(mesh, 1.0, 3, boundary=("left", "right"))
    law = dg.Maxwell(2)
    ports = [dg.Port(mesh, law, name) for name in ("one", "two")]
    return ports, dg.Simulation(mesh, law, dg.TensorDG(2), {"one": ports[0].launch(dg.pulse((0.55, 1.4))), "default": dg.pec},
                                record={name: dg.Fourier(0.75, boundary=name) for name in ("one", "two")}, threads=1)


def said(function, *arguments):
    """The texts of the warnings of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*arguments)
    return [str(each.message) for each in found]


@pytest.fixture(scope="module")
def short():
    wave, sim = cylinder(without_mean)
    return wave, sim.run(until=4.0)


@pytest.fixture(scope="module")
def guided():
    ports, sim = guide()
    return ports, sim.run(until=12.0)


def test_all_that_is_made_of_transforms_is_warned_of_once(short, guided):
    """By the record's name and what is left; of records that have rung down nothing is said."""
    (wave, ds), (ports, through) = short, guided
    around, hole = ds.dg.record("around"), ds.dg.record("hole")
    one = through.dg.record("one")
    uses = [("around", cross_sections, around, wave), ("around", near_to_far, around, [(1, 0)]),
            ("hole", surface_currents, hole, wave), ("around", extinction_cross_section, around, wave),
            ("one", ports[0].waves, one),
            ("around", lambda f: near_to_far(with_mirror_images(f, {}), [(1, 0)]), around)]
    for name, function, fields, *others in uses:
        text, = (each for each in said(function, fields, *others) if "ends at t = " in each)
        assert text.startswith(f"the record {name!r} ends at t = ") and "is still there" in text
        assert "; run longer, or until=" in text
        down = fields.copy()
        for variable in down.data_vars:
            down[variable].attrs |= {"largest_at_end": 0.0, "area_after": 0.0}
        assert not [each for each in said(function, down, *others) if "ends at t" in each]
    assert len(said(s_parameters, {"one": through}, ports)) == 1


def test_what_is_left_at_one_port_counts_by_the_largest_of_all(guided):
    """A port that nothing reaches has noise alone, which does not ring down."""
    ports, through = guided
    quiet = through.copy()
    quiet["two_largest"] = through.two_largest * 0 + 1e-9
    quiet["two_areas"] = through.two_areas * 0 + 1e-9
    for name in ("one_largest", "one_areas"):
        quiet[name] = through[name] * xr.DataArray([1.0, 0.0], dims=through[name].dims[1])
    assert not said(s_parameters, {"one": quiet}, ports)


def test_a_static_field_stays_where_the_pulse_has_a_mean():
    """Of a conductor in TM: however long, and the widths are wrong; without a mean they are those of the series."""
    exact = cylinder_widths(FREQUENCIES, 0.3, dg.pec, polarisation="TM").extinction
    wave, sim = cylinder(without_mean)
    good = sim.run(until=16.0).dg.record("around")
    assert not said(cross_sections, good, wave)
    np.testing.assert_allclose(cross_sections(good, wave).extinction, exact, rtol=1e-2)
    assert good.pulse_mean < 1e-6 and 2.2 < good.pulse_end < 4
    wave, sim = cylinder(gaussian)
    record = sim.run(until=16.0).dg.record("around")
    text = said(cross_sections, record, wave)[0]
    assert "the pulse of the run has a mean, 100 % of that of its absolute value" in text and "waiting does not help" in text
    assert record.pulse_mean == pytest.approx(1.0)
    with pytest.warns(UserWarning):
        assert np.abs(cross_sections(record, wave).extinction / exact - 1).max() > 0.05


def test_the_area_that_would_follow():
    """Of exp(-t / tau) to T it is exp(-T / tau) / (1 - exp(-T / tau)) of that before; of what does not fall, all of it."""
    for count in (500, 1280, 4096):
        envelope, end = Envelope(np.zeros((STRETCHES, 3))), 8.0
        t = np.arange(count) / count * end
        for values in np.stack([np.exp(-t), 1 + 0 * t, 0 * t], axis=1):
            envelope.add(values)
        (before, after), still, none = envelope.areas(end)
        assert after / before == pytest.approx(np.exp(-end) / (1 - np.exp(-end)), rel=0.5)
        assert still[1] == pytest.approx(end) and not none.any()


def line(shape=None, start=1.0, **options):
    """A wave enters an interval and leaves it."""
    law, mesh = dg.Maxwell(1), dg.interval(0, 4, 8).with_regions({"a": lambda x: x[0] < 1, "b": lambda x: x[0] > 1})
    wave = dg.plane_wave(law, (1,), (0, 0, 1), shape or dg.pulse((0.3, 1.0), start=start))
    given = {"boundary": {"in": dg.total_field(wave), "default": dg.absorbing}, "threads": 1, "backend": "numpy", "dt": 0.03,
             "record": {"there": dg.Points([(2.0,), (3.0,)])}} | options
    return dg.Simulation(mesh.with_interfaces({"in": ("b", "a")}), law, dg.NodalDG(3), **given)


@pytest.mark.parametrize("at", ["there", [(2.0,), (3.0,)]], ids=["record", "points"])
def test_a_run_ends_when_fields_have_left(at):
    """At the first step at which the last stretches of all steps so far hold so little, after the wave has passed."""
    sim = line()
    ds = sim.run(until=dg.decayed(1e-3, "Ez", at=at, limit=80.0))
    ended = sim.report["decayed"]
    assert ended == sim.report["time"] == ds.time[-1] == ds.dg.record("there").time[-1] < 20
    sizes = np.abs(ds.dg.record("there").Ez.values[1:]).max(axis=1)
    entered = passage(waves(sim.problem), 80.0)["pulse_end"]
    decayed = []
    for number, t in enumerate(ds.dg.record("there").time.values[1:], 1):
        stretch = 1
        while stretch * STRETCHES < number:
            stretch *= 2
        last = (number - 1) // stretch
        decayed.append(t >= entered and sizes[max(last - 1, 0) * stretch:number].max() <= 1e-3 * sizes[:number].max())
    assert decayed[-1] and not any(decayed[:-1])


def test_places_of_decay_are_boundaries_and_records_too():
    times = []
    for at in ("in", ("in",), "spectrum"):
        sim = line(record={"spectrum": dg.Fourier(0.5, boundary="in")})
        sim.run(until=dg.decayed(1e-3, ("Ez", "Hy"), at=at, limit=80.0, every=5))
        times.append(sim.report["decayed"])
        assert sim.report["steps"] % 5 == 0
    assert len(set(times)) == 1 and times[0] < 20
    later = line()
    later.run(until=dg.decayed(1e-3, "Ez", at="in", limit=80.0, after=25.0))
    assert 25 <= later.report["decayed"] < 25.1
    assert [state.t for state in line().steps(dg.decayed(1e-3, "Ez", at="there", limit=80.0))][-1] < 20


def strip(left, **options):
    """A wave of TE along x between plates: Ex is 0, so rounding."""
    law, mesh = dg.Maxwell(2, "TE"), dg.rectangle((0, 0), (2, 1), (4, 2), shape="quadrilateral")
    field = dg.plane_wave(law, (1, 0), (0, 1, 0), left)
    boundary = {"left": dg.incident(field), "right": dg.absorbing, "default": dg.pec}
    return dg.Simulation(mesh, law, dg.TensorDG(3), boundary, threads=1, **options)


def test_a_component_that_is_0_by_symmetry_is_not_waited_for():
    times = []
    for variables in (("Ey", "Hz"), ("Ex", "Ey", "Hz")):
        sim = strip(dg.pulse((0.3, 0.8)))
        sim.run(until=dg.decayed(1e-3, variables, at="right", limit=200.0))
        times.append(sim.report["decayed"])
    assert times[0] == times[1] < 40
    rising = strip(lambda s: 1 - np.exp(-np.maximum(s, 0) ** 2), steady=1e-10)
    rising.run(until=100.0)
    assert rising.report["steady"] < 50


def test_several_records_are_places_of_decay_together():
    """The last of the places counts, whether points or boundaries; their names are those of records, not of the mesh."""
    times = {}
    record = {"near": dg.Points([(1.0,)]), "far": dg.Fourier(0.5, boundary="right"), "middle": dg.Fourier(0.5, points=[(2.0,)])}
    for at in ("near", "far", ("near", "far"), ("right", "near"), ("far", "in", "middle")):
        sim = line(record=record)
        sim.run(until=dg.decayed(1e-3, "Ez", at=at, limit=80.0))
        times[at] = sim.report["decayed"]
    assert times["near"] < times["far"] == times["near", "far"] == times["right", "near"] == times["far", "in", "middle"] < 20


def test_a_run_that_goes_on_ends_at_the_same_step(tmp_path):
    until, out = dg.decayed(1e-3, "Ez", at=(2.0,), limit=80.0), tmp_path / "a.zarr"
    whole = line()
    expected = whole.run(until, every=5.0)
    with pytest.raises(dg.Interrupted):
        line().run(until, every=5.0, out=out, progress=StopAfter(whole.report["steps"] - 20))
    for _ in range(2):          # the second time there is nothing left to do
        sim = line()
        found = sim.run(until, every=5.0, out=out, restart=True)
        xr.testing.assert_identical(found.load().drop_attrs(deep=False), expected.load().drop_attrs(deep=False))
        assert sim.report["decayed"] == whole.report["decayed"]


def test_the_limit_ends_a_run_whose_fields_stay():
    closed = dg.Simulation(dg.interval(0, 1, 4), dg.Maxwell(1), dg.NodalDG(2), dg.pec,
                           lambda x: (0 * x[0], np.sin(np.pi * x[0])), threads=1)
    with pytest.warns(UserWarning, match=r"the run ends at its limit, t = 3, while .* % of the largest Ez is left at \(0.3,\)"):
        closed.run(until=dg.decayed(0.1, "Ez", at=(0.3,), limit=3.0))
    assert closed.report["decayed"] is None and closed.report["time"] == 3.0


def test_a_run_waits_for_the_wave():
    """Before it has passed there is noise and its foot at the place."""
    sim = line(start=20.0)
    sim.run(until=dg.decayed(0.5, "Ez", at=(2.0,), limit=80.0))
    assert sim.report["decayed"] > 25


@pytest.mark.parametrize("arguments, message", [
    ((2.0, "Ez", (2.0,)), "decayed: ratio=2.0 is not allowed"), ((1e-3, "Ey", (2.0,)), "variable 'Ey' does not exist"),
    ((1e-3, "Ez", (9.0,)), "point 0 at .* is outside"), ((1e-3, "Ez", "here"), "decayed: at 'here' does not exist.*there"),
    ((1e-3, "Ez", "energy"), "has no points and no boundary"),
    ((1e-3, "Ez", ("there", "energy")), "at='energy' is not allowed; the record .* has no points and no boundary")])
def test_conditions_that_do_not_exist_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        line(record={"there": dg.Points([(2.0,)]), "energy": dg.VolumeIntegral()}).run(dg.decayed(*arguments, limit=1.0))
    for changes in ({"limit": 0.0}, {"limit": np.inf}, {"limit": 1.0, "after": -1.0}, {"limit": 1.0, "every": 0}):
        with pytest.raises(ValueError, match="is not allowed"):
            dg.decayed(1e-3, "Ez", (2.0,), **changes)


def test_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import dgarray as dg\n\n\ndef case():\n    law = dg.Acoustics(1)\n"
        "    wave = dg.plane_wave(law, (1.0,), 1.0, dg.pulse((0.5, 2.0), start=0.5))\n"
        "    return dg.Simulation(dg.interval(-1, 1, 6), law, dg.NodalDG(3), {'left': dg.incident(wave), 'right': dg.absorbing}"
        ",\n                         threads=1, dt=0.02, until=50.0)\n")
    for place in ("-0.5", "right"):
        assert cli.main(["run", "mine.py", "--decayed", "1e-3", "p", place, "--json", "r.json"]) == 0
        report = json.loads((tmp_path / "r.json").read_text())
        assert 2 < report["decayed"] == report["time"] < 10 and ", decayed" in capsys.readouterr().out
    assert cli.main(["run", "mine.py", "--decayed", "much", "p", "0.5"]) == 2
    assert "--decayed much: give a number between 0 and 1" in capsys.readouterr().err


def test_waves_that_do_not_enter_are_warned_of():
    """Of all kinds, where they come before the run or after it; others, and those that last, grow or fall, are not."""
    match = "does not enter in the run from t = 0 to 1: there it"
    for start, when in ((-20.0, "has passed at t = -"), (8.0, "comes at t = ")):
        with pytest.warns(UserWarning, match=f"the wave plane_wave.* at 'in' {match} {when}"):
            line(start=start).run(until=1.0)
    ports, sim = guide()
    with pytest.warns(UserWarning, match=f"the wave pulse.* of the port 'one' {match} has passed"):
        sim.replace(boundary={"one": ports[0].launch(dg.pulse((0.6, 0.9), start=-45.0)), "default": dg.pec}).run(until=1.0)
    law, mesh = dg.Acoustics(1), dg.interval(0, 1, 3)
    source = dg.current(law, (0.5,), 1.0, 0.2, lambda t: np.exp(-9 * (t + 5) ** 2))
    with pytest.warns(UserWarning, match=f"the wave current.* {match} has passed"):
        dg.Simulation(mesh, law, dg.NodalDG(2), dg.absorbing, source=source, threads=1).run(until=1.0)
    late = dg.plane_wave(law, (1.0,), 1.0, lambda s: np.exp(-9 * (s - 9) ** 2))
    with pytest.warns(UserWarning, match=f"the wave plane_wave.* at 'left' {match} comes"):
        grid, sides = dg.Grid((0,), (1,), (8,)), {"left": dg.incident(late), "right": dg.absorbing}
        dg.Simulation(grid, law, dg.FiniteVolume("muscl"), sides, threads=1).run(until=1.0)
    for shape in (dg.pulse((0.3, 1.0), start=-5.0), lambda s: np.exp(-9 * s), lambda s: np.exp(9 * s),
                  lambda s: np.sin(9 * s), lambda s: 0 * s):
        assert not said(line(shape).run, 3.0)


def test_a_wave_that_lasts_to_the_end_is_said_to():
    sim = line(lambda s: np.sin(np.pi * s), record={"there": dg.Fourier(0.5, boundary="in")})
    record = sim.run(until=6.0).dg.record("there")
    assert record.pulse_end == 6.0 and "pulse_mean" not in record.attrs
    text, = said(surface_currents, record)
    assert "the incident wave still enters then" in text


@pytest.mark.parametrize("band, start", [((0.3, 1.0), 0.0), ((0.0, 2.0), -3.0), ((9.0, 10.0), 5.0)])
def test_a_pulse_has_its_band_and_no_mean(band, start):
    """At both ends of the band a tenth of the largest amplitude; it begins and ends with nothing."""
    pulse = dg.pulse(band, start)
    s = np.linspace(start, pulse.end, 20001)
    values = pulse(s)
    assert abs(values.sum()) < 1e-9 * np.abs(values).sum() and np.abs(values[[0, -1]]).max() < 1e-8
    low, middle, high = (abs(values @ np.exp(-2j * np.pi * f * s)) for f in (band[0], sum(band) / 2, band[1]))
    if band[0] > 0:
        assert low / middle == pytest.approx(0.1, rel=0.02)
    assert high / middle == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize("arguments", [((1.0, 0.3),), (1.0,), ((-1.0, 1.0),), ((0.1, np.inf),), ((0.1, 1.0), "now"),
                                       ((0.1, 1.0), np.nan)])
def test_pulses_that_are_none_are_refused(arguments):
    with pytest.raises(ValueError, match="is not allowed; it must be"):
        dg.pulse(*arguments)
