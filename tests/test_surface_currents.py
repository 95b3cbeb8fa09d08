"""Surface currents and charges from records, beside exact ones of cavities and of waves at a conductor."""
import numpy as np
import pytest
import xarray as xr

import dgarray as dg
from dgarray.analysis.surface_currents import surface_currents
from dgarray.cases import maxwell_cavity, tm_cavity

NUMPY = {"backend": "numpy", "kernels": "array"}


def shape(s):
    return np.exp(-((s - 2.5) / 0.6) ** 2)


@pytest.mark.parametrize("case, J", [(tm_cavity, ["Jz"]), (maxwell_cavity, ["Jx", "Jy", "Jz"])])
def test_currents_and_charges_of_a_cavity(case, J):
    """n x H and n . E of the exact mode, n into the cavity."""
    sim = case(order=4, until=0.5) if case is tm_cavity else case(order=4, cells=3, m=1, n=1, p=0, until=0.3)
    sides = tuple(sim.mesh.boundaries)
    ds = sim.replace(record={"walls": dg.SurfaceFields(sides, 10)}, **NUMPY).run()
    record = ds.dg.record("walls")
    found = surface_currents(record)
    assert [*found] == (J if case is tm_cavity else [*J, "rho"]) and found[J[0]].dims == record.Ez.dims
    axes, exact = "xyz"[:sim.law.dim], sim.options["exact"]
    x = tuple(record[axis].values for axis in axes)
    for i, t in enumerate(record.time.values):
        E, H = sim.law.fields(exact(x, t))
        n = [np.broadcast_to(-record[f"normal_{axis}"].values[:, None], x[0].shape) for axis in axes] + [0.0] * (3 - len(axes))
        wanted = {"Jx": n[1] * H[2] - n[2] * H[1], "Jy": n[2] * H[0] - n[0] * H[2], "Jz": n[0] * H[1] - n[1] * H[0],
                  "rho": sum(a * b for a, b in zip(n, E))}
        for name in found:
            assert np.allclose(found[name][i], wanted[name], rtol=0, atol=0.02), (name, t)
    assert max(float(abs(found[name]).max()) for name in J) > 0.3
    assert np.allclose(surface_currents(ds.dg.surface(sides[0], time=-1)).Jz, surface_currents(ds.dg.surface(sides[0])).Jz[-1])


@pytest.mark.thorough
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_a_conductor_doubles_h_and_the_normal_e(polarisation):
    """At normal and oblique incidence on the wall x = 1: J = 2 n x H of the incident wave, rho = 2 eps n . E, in time and in
    frequency, from a run of the scattered field."""
    law = dg.Maxwell(2, polarisation, eps=2.0, mu=0.5)
    for degrees in (0, 40):
        a = np.radians(degrees)
        amplitude = (0.0, 0.0, 1.0) if polarisation == "TM" else (-np.sin(a), np.cos(a), 0.0)
        field = dg.plane_wave(law, (np.cos(a), np.sin(a)), amplitude, shape)
        back = dg.plane_wave(law, (-np.cos(a), np.sin(a)), tuple(-c for c in amplitude) if polarisation == "TM" else
                             (-np.sin(a), -np.cos(a), 0.0), lambda s, a=a: shape(s - 2 * np.cos(a)))
        sim = dg.Simulation(dg.rectangle(cells=4, shape="quadrilateral"), law, dg.TensorDG(4),
                            {"right": dg.scattered(dg.pec, field), "default": dg.incident(back)}, until=6.0,
                            record={"wall": dg.SurfaceFields("right", 10), "spectrum": dg.Fourier((0.2, 0.4), "right")},
                            **NUMPY)
        ds = sim.run()
        record, spectrum = ds.dg.record("wall"), ds.dg.record("spectrum")
        y, t = record.y, record.time
        wave = shape(t - np.cos(a) - np.sin(a) * y)
        Z = 0.5
        found = surface_currents(record, field, eps=2.0)
        if polarisation == "TM":
            assert [*found] == ["Jz"]
            wanted = {"Jz": 2 * np.cos(a) * wave / Z}
        else:
            assert [*found] == ["Jx", "Jy", "rho"]
            wanted = {"Jx": 0 * wave, "Jy": 2 * wave / Z, "rho": 4 * np.sin(a) * wave}
        for name, exact in wanted.items():
            assert float(abs(found[name] - exact).max()) < 0.02, (name, degrees)
        transforms = surface_currents(spectrum, field, eps=2.0)
        name = "Jz" if polarisation == "TM" else "Jy"
        f, y = spectrum.frequency, spectrum.y
        pulse = 0.6 * np.sqrt(np.pi) * np.exp(-(np.pi * f * 0.6) ** 2 - 2j * np.pi * f * (2.5 + np.cos(a) + np.sin(a) * y))
        exact = 2 / Z * pulse * (np.cos(a) if polarisation == "TM" else 1.0)
        assert float(abs(transforms[name] - exact).max()) < 0.02 * float(abs(exact).max())
        one = surface_currents(spectrum.isel(frequency=1), field, eps=2.0)
        assert np.allclose(one[name], transforms[name][1], rtol=1e-4, atol=1e-4)


def test_what_the_record_has_decides():
    """H alone gives the current, E alone the charge; labels and units."""
    law = dg.Maxwell(3, eps=2.0)
    mesh, record = dg.box(cells=1), {"H": dg.SurfaceFields("left", variables=("Hx", "Hy", "Hz")),
                                     "E": dg.SurfaceFields("left", variables=("Ex", "Ey", "Ez"))}
    ds = dg.Simulation(mesh, law, dg.NodalDG(1), dg.pec, lambda x: (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), until=1e-3, record=record,
                       **NUMPY).run()
    J, rho = (surface_currents(ds.dg.record(name), eps=2.0).isel(time=0) for name in "HE")
    assert [*J] == ["Jx", "Jy", "Jz"] and [*rho] == ["rho"]
    assert np.allclose(J.Jx, 0) and np.allclose(J.Jy, -6) and np.allclose(J.Jz, 5) and np.allclose(rho.rho, 2)
    assert J.Jy.attrs == {"long_name": "surface current, y component", "units": "normalised"}
    assert J.attrs["boundary"] == "left" and {"x", "normal_x", "area"} <= {*J.coords}
    plain = ds.dg.record("H").drop_attrs()
    for fields, arguments, message in (
            (plain.drop_vars("Hz"), (), "the fields lack Hz; give a record of Ex, Ey, Ez, Hx, Hy, Hz on a boundary"),
            (plain.drop_vars("normal_y"), (), "the fields lack normal_y"), (xr.Dataset(), (), "the fields lack"),
            (plain, (1.0,), "incident=1.0 is not allowed; give the incident field"), (plain, (None, 0), "eps=0 is not allowed"),
            (plain.assign_attrs(field="total", boundary="skin"), (lambda x, t: x,), "at 'skin' holds the total field"),
            (plain.rename(time="frequency"), (lambda x, t: x,), "lack the attribute time_span"),
            (plain, (lambda x, t: (0.0, 1.0),), "the incident field returns 2 components; it must return 6")):
        with pytest.raises(ValueError, match=message):
            surface_currents(fields, *arguments)
