"""What operations say of themselves: which parts of a step are array expressions. Whole runs show whether it is so."""
from functools import partial

import numpy as np
import pytest

import dgarray as dg
from dgarray.backends.cuda.dg.operations import DeviceOperations
from dgarray.methods.dg.array_stages import ArrayStages
from dgarray.methods.dg.set_operations import SetOperations
from dgarray.methods.hermite.half_steps import HalfSteps
from dgarray.run.progress import Progress

# The array expressions of each part.
REFERENCE = [("right-hand side", ArrayStages, "update_operations"), ("limiter", ArrayStages, "limit_operations"),
             ("filter", SetOperations, "filter"), ("filter", DeviceOperations, "filter"),
             ("wave speeds", SetOperations, "rate"),
             ("admissible states", SetOperations, "all_admissible"), ("half-steps", HalfSteps, "half_step_operations"),
             ("sponges", HalfSteps, "damp")]
FILTER = dg.ExponentialFilter(1, 4)


def gas(method, backend):
    law = dg.Euler(1)
    return dg.Simulation(dg.interval(0, 1, 4, periodic=True), law, method, backend=backend, stepper="ssp33",
                         initial=lambda x: law.conservative((1 + 0.1 * np.sin(2 * np.pi * x[0]), 0.1, 1.0)))


def sound(speed, boundary, backend):
    return dg.Simulation(dg.Grid(0, 1, 4, periodic=False), dg.Acoustics(1, sound_speed=speed), dg.Hermite(1), boundary,
                         lambda x: (np.sin(x[0]), 0.0), backend=backend)


@pytest.fixture
def ran(monkeypatch):
    """[(part, operations)] of the array expressions that were computed."""
    found = []

    def recorded(part, original):
        def call(self, *arguments):
            operations = getattr(self, "operations", self)
            found.append((part, next(iter(operations.values())) if isinstance(operations, dict) else operations))
            return original(self, *arguments)
        return call
    for part, owner, name in REFERENCE:
        monkeypatch.setattr(owner, name, recorded(part, getattr(owner, name)))
    return found


def check(sim, ran, expected, capsys):
    """A few steps compute these parts by array expressions, and the report and a line on the screen say so."""
    ran.clear()
    with Progress(0.3, sim) as progress:
        sim.run(until=0.3, progress=progress)
    own = sim.operator.operations
    assert sim.report["steps"] > 1 and sim.report["array_expressions"] == own.array_expressions == expected
    assert {part for part, operations in ran if operations is own and part in own.work} == set(expected)
    line = f"backend {sim.backend.name}: array expressions, because it has no kernels for them: {', '.join(expected)}\n"
    assert capsys.readouterr().out == (line if expected else "")
    assert (sim.kernels == "array") == bool({"right-hand side", "half-steps"}.intersection(expected))


MAKE = {"nodal": (partial(gas, dg.NodalDG(2, filter=FILTER)), ["filter", "wave speeds", "admissible states"]),
        "nodal by quadrature": (partial(gas, dg.NodalDG(1, quadrature=3, filter=FILTER)), ["filter"]),
        "limiter": (partial(gas, dg.ModalDG(1, limiter="vertex", indicator="kxrcf", positivity=True)), []),
        "grid": (partial(sound, 1.0, dg.wall), []),
        "sponge": (partial(sound, 1.0, dg.Sponge(0.5)), ["sponges"]),
        "varying": (partial(sound, lambda x: 1 + x[0], dg.Sponge(0.5)), ["half-steps", "sponges"])}


@pytest.mark.parametrize("name", MAKE)
def test_on_a_device(name, cupy, ran, capsys):
    make, expected = MAKE[name]
    check(make("cupy"), ran, expected, capsys)


@pytest.mark.parametrize("name, expected", [("nodal", []), ("sponge", ["sponges"])])
def test_on_a_cpu(name, expected, ran, capsys):
    check(MAKE[name][0]("numpy"), ran, expected, capsys)


def test_array_kernels_are_what_was_asked_for(ran, capsys):
    """All of it is array expressions, in the report; nobody needs a line."""
    sim = MAKE["nodal"][0]("numpy").replace(kernels="array")
    with Progress(0.3, sim) as progress:
        sim.run(until=0.3, progress=progress)
    assert sim.report["array_expressions"] == ["right-hand side", "filter", "wave speeds", "admissible states"]
    assert {part for part, operations in ran} == set(sim.report["array_expressions"]) and not capsys.readouterr().out
