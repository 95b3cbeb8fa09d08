"""Blasts at low plasma beta, strong blasts and near-vacuum of a gas: positive density and pressure, nothing lost."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.cases import mhd_blast
from dgarray.methods.finite_volume.heat import heated
from dgarray.physics.fluxes import positive

MUSCL, WENO, FIRST = dg.FiniteVolume("muscl"), dg.FiniteVolume("weno"), dg.FiniteVolume("first-order")
UNSPLIT = dg.FiniteVolume("muscl", splitting=None, limiter="mc")


def check(sim, least=0):
    ds = sim.run()
    assert sim.law.admissible(tuple(ds[name][-1].values for name in sim.law.variables)).all()
    scale = max(abs(pair["initial"]) for pair in sim.report["conserved"].values())
    for name, pair in sim.report["conserved"].items():
        assert abs(pair["final"] - pair["initial"]) < 1e-12 * scale, name
    assert sim.report["warmed_cells"] >= least


def magnetic(method, flux, kernels, cells=16, until=0.01, **options):
    return mhd_blast(cells=cells, **options).replace(method=method, flux=flux, kernels=kernels, until=until, threads=1)


@pytest.mark.parametrize("method, flux, kernels", [(MUSCL, dg.hlld, "array"), (UNSPLIT, dg.rusanov, "array"),
                                                   (FIRST, dg.hlld, "array"), (FIRST, dg.hlld, "fused")])
def test_blasts_at_low_beta_stay_positive(method, flux, kernels):
    check(magnetic(method, flux, kernels, pressure=1000, field=45), least=1)


@pytest.mark.thorough
@pytest.mark.parametrize("method", [FIRST, MUSCL, UNSPLIT, WENO, dg.FiniteVolume("muscl", limiter="minmod")], ids=str)
@pytest.mark.parametrize("flux", [dg.rusanov, dg.hll, dg.hlld])
@pytest.mark.parametrize("pressure, field", [(100, 10), (1000, 10), (1e4, 45)])
def test_all_schemes_and_fluxes_in_blasts(method, flux, pressure, field):
    check(magnetic(method, flux, "fused", 32, pressure=pressure, field=field))


@pytest.mark.parametrize("method", [FIRST, MUSCL, UNSPLIT], ids=["first", "muscl", "unsplit"])
@pytest.mark.parametrize("flux", [dg.hllc, dg.roe])
def test_a_strong_blast_of_a_gas(method, flux):
    law = dg.Euler(2)

    def initial(x):
        inside = (abs(x[0] - 0.5) < 0.02) & (abs(x[1] - 0.5) < 0.02)
        return law.conservative((1 + 0 * x[0], 0 * x[0], 0 * x[0], np.where(inside, 1e3, 1e-5)))
    check(dg.Simulation(dg.Grid((0, 0), (1, 1), (33, 33), periodic=True), law, method, initial=initial, flux=flux, until=0.01,
                        kernels="array"))


def test_energy_is_lent_and_none_is_lost():
    heat = np.full((6, 7), 1.0)
    heat[2, 3], heat[4, 0] = -30.0, -0.5
    for periodic in ((True, True), (False, False)):
        new = heated(np, heat, 50 + heat, periodic)
        assert (new > 0).all() and abs(new.sum() - heat.sum()) < 1e-13 * 40 if heat.sum() > 0 else np.array_equal(new, heat)
    alone = np.where(np.arange(9.0) == 4, -0.5, 1.0)[None]
    new = heated(np, alone, 50 + alone, (False, False))
    assert (new > 0).all() and new[0, 0] == 1 and abs(new.sum() - alone.sum()) < 1e-13


def test_the_positive_flux_keeps_random_states_of_mhd_positive_in_1d():
    """Three states with one normal field, dt/h s = 1.  Wu 2018."""
    law, random = dg.MHD(1), np.random.default_rng(0)
    w = random.standard_normal((3, 9, 20000))
    w[:, (0, 4)] = 10 ** random.uniform(-3, 1, (3, 2, 20000))
    w[:, 5], w[:, 8] = w[0, 5], 0
    a, b, c = (law.conservative(tuple(one)) for one in w)
    star = positive(law)
    pairs = [(a, b), (b, c)]
    k = 1 / np.maximum(*(np.maximum(law.positive_speed(*pair, (1.0,)), 0) for pair in pairs))
    low, high = (star(*pair, (1.0,), None, 0.0, None, None) for pair in pairs)
    new = tuple(v - k * (f - g) for v, f, g in zip(b, high, low))
    assert law.admissible(new).all()
