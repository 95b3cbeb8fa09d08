"""Units: what a law says of them reaches datasets, records and labels; numbers are not converted."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.output.derived_fields import with_field
from dgarray.output.pictures.picture import label

LIGHT = 299792458.0


def cavity(law, impedance=1.0, **more):
    """A standing wave between conducting walls, 1 wide; H is over the impedance."""
    def mode(x):
        s, c = np.sin(np.pi * x[0]), np.cos(np.pi * x[0])
        return 0.0 * s / impedance, c * np.sin(np.pi * x[1]) / impedance, s * np.sin(np.pi * x[1])
    return dg.Simulation(dg.rectangle(cells=3), law, dg.NodalDG(2), dg.pec, mode, kernels="array", **more)


@pytest.mark.parametrize("law", [
    dg.Maxwell(1, units="SI"), dg.Maxwell(2, eps={"a": 1.0, "b": 2.0}, units={"Ez": "V/m", "time": "ns"}), dg.Maxwell(3),
    dg.Acoustics(2, 1.2, 343.0, units="SI"), dg.Euler(3, units="SI"), dg.MHD(1, units="SI"),
    dg.Advection((1.0, 0.5), units={"u": "K", "x": "km"})], ids=lambda law: type(law).__name__ + str(law.dim))
def test_what_prints_can_be_pasted(law):
    again = eval(repr(law), vars(dg).copy())
    assert repr(again) == repr(law) and again.units == law.units
    fields = {*law.variables, "time", *"xyz"[:law.dim]}
    assert law.given_units != "SI" or fields <= {*law.units} and not {*law.units} & {*"xyz"[law.dim:]}


def test_si_is_the_normalised_run_in_other_numbers():
    law = dg.Maxwell(2, units="SI")
    impedance = np.sqrt(law.parameters["mu"] / law.parameters["eps"])
    si, plain = cavity(law, impedance), cavity(dg.Maxwell(2))
    a, b = si.run(until=1 / LIGHT, every=0.5 / LIGHT), plain.run(until=1.0, every=0.5)
    assert si.report["dt"] * LIGHT == pytest.approx(plain.report["dt"], rel=1e-6)
    assert np.allclose(a.Ez, b.Ez, atol=1e-9) and np.allclose(a.Hy * impedance, b.Hy, atol=1e-9)
    assert [a[name].attrs["units"] for name in ("Ez", "Hy", "time", "x", "y")] == ["V/m", "A/m", "s", "m", "m"]
    assert [b[name].attrs["units"] for name in ("Ez", "Hy", "time", "x", "y")] == ["normalised"] * 5
    assert (label(a, "Ez"), label(a, "x"), label(b, "Ez"), label(b, "x")) == (
        "electric field, z component (V/m)", "x (m)", "electric field, z component (normalised)", "x")


def test_records_have_units():
    record = {"probe": dg.Points([(0.2, 0.3)]), "spectrum": dg.Fourier((1e8,), points=[(0.2, 0.3)]),
              "energy": dg.VolumeIntegral()}
    ds = cavity(dg.Maxwell(2, units="SI"), 376.73, record=record).run(until=0.2 / LIGHT)
    probe, spectrum = ds.dg.record("probe"), ds.dg.record("spectrum")
    assert (probe.Ez.attrs["units"], probe.time.attrs["units"], probe.y.attrs["units"]) == ("V/m", "s", "m")
    assert (spectrum.Ez.attrs["units"], spectrum.frequency.attrs["units"]) == ("V/m s", "1/s")
    pytest.importorskip("matplotlib")
    assert ds.dg.plot("energy", record="energy").get_ylabel() == "integral over the domain", "nothing is said of its unit"


def test_fields_of_a_gas_have_units_of_their_own():
    law = dg.Euler(1, units="SI")
    sim = dg.Simulation(dg.interval(0, 1, 4), law, dg.NodalDG(1), dg.wall,
                        lambda x: law.conservative((1.2, 10.0 + 0 * x[0], 1e5)), kernels="array")
    ds = sim.run(until=1e-5)
    found = {name: label(with_field(ds, name), name) for name in ("pressure", "mach", "sound_speed", "u", "E")}
    assert found == {"pressure": "pressure (Pa)", "mach": "Mach number", "sound_speed": "speed of sound (m/s)",
                     "u": "velocity, x component (m/s)", "E": "total energy density (J/m^3)"}
    assert with_field(ds, "pressure").pressure[0].values == pytest.approx(1e5)
    without = sim.replace(law=dg.Euler(1)).run(until=1e-5)
    assert label(with_field(without, "mach"), "mach") == "Mach number", "a pure number has no unit in any system"
    assert label(with_field(without, "pressure"), "pressure") == "pressure (normalised)"


def test_a_law_of_ones_own():
    class Heights(dg.Law):
        dim, variables, units = 2, ("h",), {"h": "m", "time": "s", "x": "km"}

        def flux(self, q, n):
            return (q[0] * n[0],)

        def wave_speed(self, n):
            return np.abs(n[0])
    ds = dg.Simulation(dg.rectangle(cells=2, periodic=True), Heights(), dg.NodalDG(1), initial=lambda x: (0 * x[0],),
                       kernels="array").run(until=0.1)
    assert [ds[name].attrs["units"] for name in ("h", "time", "x", "y")] == ["m", "s", "km", "km"]


@pytest.mark.parametrize("make, message", [
    (lambda: dg.Advection((1.0,), units="SI"), "units='SI' is not allowed for Advection; give None or {name: text}"),
    (lambda: dg.Maxwell(2, units="cgs"), "units='cgs' is not allowed for Maxwell; give None, \"SI\" or {name: text}"),
    (lambda: dg.Maxwell(2, units={"Ey": "V/m"}), "units of Maxwell in 2D: the name 'Ey' does not exist; allowed: time, x, y"),
    (lambda: dg.Euler(2, units={"z": "m"}), "the name 'z' does not exist"),
    (lambda: dg.Maxwell(2, units={"Ez": 3}), "units of 'Ez': 3 is not allowed; give a text such as 'V/m'"),
    (lambda: cavity({"a": dg.Maxwell(2, units="SI"), "b": dg.Maxwell(2)}), "have other units")])
def test_refused(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize("given, said", [
    ({"eps": 2.25}, "a relative one is given as eps=2.25 * 8.8541878"), ({"mu": {"a": 1.0}}, "mu=1.0 H/m"),
    ({"eps": {"a": 80 * 8.854e-12}, "mu": 5000 * 1.2566e-6}, None)])
def test_relative_constants_in_si_units_are_noticed(given, said, recwarn):
    dg.Maxwell(2, units="SI", **given)
    assert [said in str(each.message) for each in recwarn] == ([True] if said else [])
