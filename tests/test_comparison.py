"""The comparison of docs/comparison.md with Yee's scheme: its mesh, and that both methods converge to the series."""
import importlib
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def compare(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs"))
    return importlib.import_module("compare_with_yee")


def test_the_cylinder_is_round(compare):
    mesh = compare.cylinder(3, 4)
    glass, air = (mesh.measures[mesh.regions[name]].sum() for name in ("glass", "air"))
    side = 2 * compare.BOX + 2 * 0.8
    assert glass == pytest.approx(np.pi, rel=1e-5) and air == pytest.approx(side ** 2 - np.pi, rel=1e-5)


@pytest.mark.thorough
def test_yee_converges_to_the_series(compare):
    """At second order where the permittivity is averaged, else not."""
    def error(cells, averaged):
        return np.linalg.norm(compare.by_yee(cells, averaged)[0] / compare.EXACT - 1)
    coarse, fine = (error(cells, True) for cells in (16, 32))
    assert np.log2(coarse / fine) > 1.6 and error(32, False) > 1.5 * fine


@pytest.mark.thorough
def test_dg_converges_to_the_series(compare):
    found, nodes, _ = compare.by_dg(3)
    assert np.linalg.norm(found / compare.EXACT - 1) / len(found) ** 0.5 < 5e-4 and nodes < 3500
