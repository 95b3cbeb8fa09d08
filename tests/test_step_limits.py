"""A line says which term sets the step where waves do not, where it is, and what to do; it says nothing where waves set it."""
import warnings

import numpy as np
import pytest

import dgarray as dg

REGIONS = {"air": lambda x: x[0] < 0.5, "metal": lambda x: x[0] > 0.5}
QUADS = dg.rectangle(cells=(2, 2), shape="quadrilateral").with_regions(REGIONS)
GRID = dg.Grid((0, 0), (1, 1), (4, 4))


def said(law, mesh=QUADS, method=None, **options):
    """The warnings of a run of one step."""
    sim = dg.Simulation(mesh, law, method or dg.TensorDG(2), dg.pec, backend="numpy", kernels="array", threads=1, **options)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sim.run(until=0.1 * sim.max_dt(sim.project()))
    return [str(each.message) for each in found]


METAL, FUNCTION = {"air": 0.0, "metal": 1e4}, lambda x: np.where(x[0] > 0.5, 1e4, 0.0)


@pytest.mark.parametrize("law, options, expected", [
    (dg.Maxwell(2, sigma={"air": 0.0, "metal": 1.4e6}, units="SI"), {},
     "sigma / eps in the region 'metal', with the rate 1.58e+17,"),
    (dg.Maxwell(2, sigma=FUNCTION), {}, "sigma / eps in the region 'metal', with the rate 1e+04,"),
    (dg.Maxwell(2, sigma=1e4), {"mesh": dg.rectangle(cells=1), "method": dg.NodalDG(1)}, "sigma / eps, with the rate 1e+04,"),
    ({"air": dg.Maxwell(2), "metal": dg.Maxwell(2, sigma=1e4)}, {}, "sigma / eps in the region 'metal', with the rate 1e+04,"),
    (dg.Maxwell(2, "TE", eps={"air": 1.0, "metal": (2.0, 1 + dg.Debye(1.0, 1e-4), 2.0)}), {},
     "eps_yy = 1.0 + Debye(1.0, 0.0001) in the region 'metal', whose fastest term has the rate 1e+04,"),
    (dg.Maxwell(2, eps=1 + dg.Drude(400.0, 1.0)), {}, "eps = 1.0 + Drude(400.0, 1.0), whose fastest term has the rate 400,"),
    (dg.Maxwell(2), {"source": lambda q, x, t: (0.0, 0.0, -3e3 * q[2])}, "the source,"),
    (dg.Maxwell(2, sigma=FUNCTION), {"mesh": GRID, "method": dg.FiniteVolume()}, "sigma / eps at (0.625, 0.125), with"),
    (dg.Maxwell(2, sigma=1e4), {"mesh": GRID, "method": dg.Hermite(1)}, "sigma / eps, with the rate 1e+04,"),
])
def test_the_term_that_sets_the_step_is_named(law, options, expected):
    line, = said(law, **options)
    assert f"is set by {expected}" in line and "not by waves, which allow" in line
    assert ("dgarray.pec" in line and "dgarray.impedance" in line) == ("source" not in line.split("not by")[0])


@pytest.mark.parametrize("law, options", [
    (dg.Maxwell(2), {}), (dg.Maxwell(2, sigma=5.0), {}), (dg.Maxwell(2, eps=2 + dg.Debye(1.0, 0.1)), {}),
    (dg.Maxwell(2), {"mesh": dg.pml(QUADS, 0.5, 1)}), (dg.Maxwell(2), {"mesh": GRID, "method": dg.FiniteVolume()}),
    (dg.Maxwell(2, sigma=METAL), {"dt": 1e-6})])
def test_nothing_is_said_where_waves_set_it(law, options):
    """Nor where the user gives the step."""
    assert not said(law, **options)
