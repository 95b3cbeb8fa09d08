"""Numerical fluxes have no preferred side or axis, to the last bit: what is lost and what is gained are one number, and states
that are mirror images keep being so."""
from itertools import permutations

import numpy as np
import pytest

import dgarray as dg

FLUXES = (dg.rusanov, dg.hll, dg.hllc, dg.hllc_shock_stable, dg.roe, dg.roe_shock_stable, dg.hlld, dg.hlld_shock_stable,
          dg.central, dg.ranocha, dg.kennedy_gruber)
LAWS = [dg.Euler(dim) for dim in (1, 2, 3)] + [dg.MHD(dim, cleaning_speed=1.5) for dim in (1, 2, 3)]
CASES = [pytest.param(law, flux, id=f"{type(law).__name__} {law.dim}D {flux.__name__}") for law in LAWS for flux in FLUXES
         if flux.__name__ in ("rusanov", "hll", "central") or getattr(law, flux.__name__) is not None]


def random_state(law, random, count):
    """Admissible states, of which many are faster than their waves."""
    positive, vector = random.uniform(0.05, 2, (2, count)), random.normal(size=(7, count))
    inner = (positive[0], *vector[:law.dim], positive[1])
    return law.conservative(inner if isinstance(law, dg.Euler) else (positive[0], *vector[:3], positive[1], *vector[3:]))


def mapped(q, law, order, signs):
    """Components of q with the axes in another order, then with these signs; the field is a vector as the velocity is."""
    q = list(q)
    for part in law.mirrored or (law.momentum,):
        vector = list(q[part])
        q[part] = [s * vector[i] for i, s in zip(order, signs)] + vector[law.dim:]
    return tuple(q)


@pytest.mark.parametrize("law, flux", CASES)
def test_mirrored_and_exchanged_states_have_mirrored_and_exchanged_fluxes_to_the_last_bit(law, flux):
    """F(l, r, n) = -F(r, l, -n), F(M l, M r, M n) = M F(l, r, n); so no mass goes through the face between mirror images."""
    random, count, axes = np.random.default_rng(5), 2000, range(law.dim)
    across = np.eye(law.dim)[0][:, None] * np.ones(count)
    l, r = random_state(law, random, count), random_state(law, random, count)
    image = mapped(l, law, axes, (-1, 1, 1))
    oblique = random.normal(size=(law.dim, count))

    def F(a, b, n):
        return np.array(flux(law)(l=a, r=b, n=n, x=None, t=None, ml=None, mr=None))

    for n in (tuple(across), tuple(oblique / np.linalg.norm(oblique, axis=0))):
        found, back = F(l, r, n), tuple(-k for k in n)
        assert np.array_equal(found, -F(r, l, back))
        for order in permutations(axes):
            if order[2:] in ((), (2,)):          # the sum of three squares has an order
                there = [mapped(q, law, order, (-1, 1, -1)) for q in (l, r)]
                turned = tuple(s * n[i] for i, s in zip(order, (-1, 1, -1)))
                assert np.array_equal(F(*there, turned), mapped(tuple(found), law, order, (-1, 1, -1)))
    assert not F(l, image, tuple(across))[0].any()
