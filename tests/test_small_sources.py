"""Currents that are narrower than the cells: what a run says of their moment is what they have in it."""
import re
import warnings

import numpy as np
import pytest

import dgarray as dg

SQUARE = dg.rectangle((-1, -1), (1, 1), 8)
QUADS, MIXED = (dg.rectangle((-1, -1), (1, 1), 8, shape=shape) for shape in ("quadrilateral", "mixed"))
CURVED = SQUARE.mapped(lambda x: (x[0] + 0.1 * x[1] ** 2, x[1]), 2)
HALVES = SQUARE.with_regions({"a": lambda x: x[0] < 0, "b": lambda x: x[0] > 0})
GRID = dg.Grid((-1, -1), (1, 1), (16, 16))
T = 0.01


def found(mesh, method, width, place=(0.1, 0.07)):
    """(The volume that has flowed in at time T, as a share of that of the current, its warnings)."""
    law = dg.Acoustics(2, density=2.0, sound_speed=1.5)
    sim = dg.Simulation(mesh, law, method, dg.wall, source=dg.current(law, place, 3.0, width, lambda t: t), kernels="array")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim.run(until=T)
    return sim.report["conserved"]["p"]["final"] / (3.0 * T), [str(each.message) for each in caught]


@pytest.mark.parametrize("mesh, method", [
    (SQUARE, dg.NodalDG(2)), (MIXED, dg.NodalDG(2)), (QUADS, dg.TensorDG(3)), (SQUARE, dg.ModalDG(2)),
    (GRID, dg.FiniteVolume("muscl")), (HALVES, dg.NodalDG({"a": 2, "b": 3}))],
    ids=["triangles", "mixed", "tensor", "modal", "grid", "sets"])
def test_the_share_of_the_moment_that_is_said_is_that_of_the_run(mesh, method):
    moment, (said,) = found(mesh, method, 0.05)
    words = r"too narrow for the cells: in them it has (\S+) of its moment, and radiates (\S+) of its power; take cells"
    share, power = map(float, re.search(words, said).groups())
    assert share == pytest.approx(moment, abs=0.006) and power == pytest.approx(moment ** 2, rel=0.02)
    moment, said = found(mesh, method, 0.2)
    assert moment == pytest.approx(1, abs=0.01) and not said


@pytest.mark.parametrize("mesh, method", [(SQUARE, dg.NodalDG(1)), (CURVED, dg.NodalDG(2)), (GRID, dg.FiniteVolume("muscl"))],
                         ids=["mesh", "curved", "grid"])
def test_outside_of_the_mesh(mesh, method):
    moment, (said,) = found(mesh, method, 0.05, (1.5, 0.0))
    assert abs(moment) < 1e-9 and re.search(r"of its moment in the (mesh|grid): \(1\.5, 0\.0\) is outside", said)


def test_at_walls_and_in_curved_cells_nothing_is_said():
    """Half of a current on a plane of symmetry is inside. In curved cells sums are others."""
    assert found(CURVED, dg.NodalDG(2), 0.05)[1] == []
    assert found(QUADS, dg.TensorDG(3), 0.05, (1.0, 0.07))[1] == []
    hole = dg.rectangle((-1, -1), (1, 1), 12)
    hole = hole.part(np.flatnonzero(np.abs(hole.centroids).max(axis=1) > 0.2))
    assert hole.boundaries and found(hole, dg.NodalDG(1), 0.05, (0.25, 0.0))[1] == []
