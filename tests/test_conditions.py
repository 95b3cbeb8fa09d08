"""Conditions, fields and sources as values: what they print, equality, copies, and the texts of earlier checkpoints."""
import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import dgarray as dg
from dgarray.run.restart import without_law

TM, LIGHT, GLASS = dg.Maxwell(2), dg.Maxwell(3), dg.Maxwell(2, eps=lambda x: 1 + x[0] ** 2)


def state(x, t):
    return 1.0, 0.0, np.sin(t)


def radial(x):
    return x


PULSE, WAVE = dg.pulse((0.5, 2)), dg.plane_wave(TM, (1, 0), (0, 0, 1), np.sin)
# Each with the text of earlier versions, which checkpoints have.
CONDITIONS = {
    dg.pec: "pec", dg.pmc: "pmc", dg.wall: "wall", dg.pressure_release: "pressure_release", dg.absorbing: "absorbing",
    dg.outflow: "outflow", dg.curved_wall(radial): "curved_wall(radial)",
    dg.curved_wall("spline"): "curved_wall('spline', corner=45)", dg.prescribed(state): "prescribed(state)",
    dg.prescribed([1, 2]): "prescribed((1.0, 2.0))", dg.incident(WAVE): "incident(plane_wave((1.0, 0.0), (0, 0, 1), sin))",
    dg.far_field(state): "far_field(state)", dg.inflow((1, 0, 0, 2)): "inflow((1.0, 0.0, 0.0, 2.0))",
    dg.pressure_outflow(0.9): "pressure_outflow(0.9)", dg.impedance(0.5): "impedance(0.5)",
    dg.scattered(dg.pec, WAVE): "scattered(pec, plane_wave((1.0, 0.0), (0, 0, 1), sin))",
    dg.total_field(state, "outside"): "total_field(state, side='outside')", dg.resistive_sheet(2.0): "resistive_sheet(2.0)",
    dg.plane_wave(GLASS, (0, 1), (0, 0, 1.5), np.sin, {"eps": 2.0}): "plane_wave((0.0, 1.0), (0.0, 0.0, 1.5), sin, eps=2)",
    dg.gaussian_beam(LIGHT, (0, 0, 1), (1, 0, 0), 1.0, 0.5, PULSE, count=3):
        "gaussian_beam((0.0, 0.0, 1.0), (1, 0, 0), pulse((0.5, 2)), waist=1, wavelength=0.5, focus=(0.0, 0.0, 0.0), count=3)",
    dg.dipole(LIGHT, (0, 0, 0), (0, 0, 1), PULSE): "dipole((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), pulse((0.5, 2)))",
    dg.current(TM, (0, 0), (0, 0, 1), 0.1, PULSE): "current((0.0, 0.0), (0.0, 0.0, 1.0), 0.1, pulse((0.5, 2)))",
    dg.pulse((1, 2.5), 3): "pulse((1, 2.5), start=3)"}


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: type(condition).__name__)
def test_what_prints_makes_the_same(condition):
    law = getattr(condition, "law", TM)
    names = vars(dg) | {name: getattr(dg, name) for name in dg.__all__} | {"state": state, "radial": radial, "sin": np.sin}
    text = repr(condition).replace(repr(law), "law")
    made = eval(text, names | {"law": law if "law" in vars(condition) else TM})
    assert made == condition and hash(made) == hash(condition)
    assert without_law(repr(condition), law) == CONDITIONS[condition]
    assert copy.copy(condition) == condition
    if "law" not in text:          # a law has no other one that is equal to it
        assert pickle.loads(pickle.dumps(condition)) == condition
    with pytest.raises(FrozenInstanceError):
        condition.law = law


def test_conditions_without_parameters_are_one_object():
    for one in (dg.pec, dg.outflow):
        assert pickle.loads(pickle.dumps(one)) is copy.deepcopy({"left": one})["left"] is one
    assert dg.prescribed((1, 2)) != dg.prescribed((1, 3)) and dg.prescribed((1, 2)) != dg.far_field((1, 2))
    with pytest.raises(TypeError, match="pec is a condition itself; give it without parentheses, boundary=dgarray.pec"):
        dg.pec()
