"""Gradients over several processes: those of one process, and what goes wrong is said by all."""
import pickle

import numpy as np
import pytest
from launched import LAUNCHED, finished, launcher  # noqa: F401  a fixture

pytestmark = LAUNCHED
SCRIPT = '''
import os, pickle, signal, sys
import numpy as np
import dgarray as dg


def bump(x):
    return np.exp(-20 * ((x[0] - 0.2) ** 2 + x[1] ** 2))


def sound(x):
    return bump(x), 0 * x[0], 0 * x[0]


def hum(x, t, strength=2.0):
    return strength * np.sin(3 * t) * bump(x), 0 * x[0], 0 * x[0]


def entering(x, t, amplitude=0.5):
    p = amplitude * np.exp(-((x[0] + 1 - t) / 0.3) ** 2)
    return p, p, 0 * p


def power(q, n, m):
    return m.c * q[0] * (q[1] * n[0] + q[2] * n[1])


def energy(q, m):
    return q[0] ** 2 / m.c


def gas(x):
    return dg.Euler(2).conservative((1 + 0.2 * bump(x), 0.1 + 0 * x[0], 0 * x[0], 1 + 0.2 * bump(x)))


def square(shape="triangle", cells=4):
    return dg.rectangle((-1, -1), (1, 1), cells=cells, shape=shape)


def parts(tree):
    return getattr(tree.dg, "zones", {"": tree}).values()


def heard(ds):
    record, at_end = ds.dg.record("mic"), sum((each[list(each.dg.variables)[0]].isel(time=-1) ** 2).sum() for each in parts(ds))
    return sum((record[name] ** 2).sum() for name in record.data_vars) + at_end


def all_records(ds):
    spectrum = ds.dg.record("f")
    return heard(ds) + (abs(spectrum.p) ** 2).sum() + ds.dg.record("P").power.integrate("time") + ds.dg.record("E").energy.max()


def problem(mesh, method=dg.NodalDG(2), law=None, boundary=dg.absorbing, initial=sound, **options):
    record = {"mic": dg.Points([(0.5, 0.3), (-0.4, -0.2)])} | options.pop("record", {})
    return dg.Simulation(mesh, law or dg.Acoustics(2), method, boundary, initial, record=record, until=0.2, backend="numpy",
                         threads=1, **{"kernels": "array"} | options)


every = {"f": dg.Fourier([0.3, 0.5], boundary="left"), "P": dg.BoundaryIntegral("left", power), "E": dg.VolumeIntegral(energy)}
both, bits = {"sound_speed": "element", "initial": True}, {}
PROBLEMS = {          # "bits": by the kernels of the run; the others by programs
    "bits: records": (problem(square(), boundary={"left": dg.incident(entering), "default": dg.absorbing}, source=hum,
                              record=every, kernels=None), all_records, ["source.strength", "left.amplitude", *both]),
    "shapes": (problem(square("mixed")), heard, both),
    "bits: modal, curved": (problem(square().mapped(lambda x: (x[0] + 0.1 * np.sin(x[1]), x[1]), 2), dg.ModalDG(2)), heard,
                            "initial"),
    "hanging": (problem(square("quadrilateral").refined([5, 6]), dg.TensorDG(2), boundary=dg.wall), heard, both),
    "layer": (problem(dg.pml(square("quadrilateral"), 0.5, 1), dg.TensorDG(2), boundary=dg.wall), heard, both),
    "gas": (problem(square("quadrilateral"), dg.TensorDG(2), dg.Euler(2), dg.wall, gas, flux=dg.rusanov), heard, "initial")}


def numbers(gradient):
    """{name: array} of all derivatives."""
    found = {}
    for name in gradient._found:
        each = gradient[name]
        if name != "initial":
            found[name] = each.values
            continue
        for zone, ds in (each.children.items() if hasattr(each, "children") else [("", each)]):
            found |= {(zone, name): ds[name].values for name in list(ds.dg.variables)}
    return found
'''
SAME = SCRIPT + '''
found = {name: numbers(sim.gradient(misfit, wrt)) for name, (sim, misfit, wrt) in PROBLEMS.items()}
sim = problem(square().with_regions({"body": np.arange(12)}))
objective = dg.objective(sim, heard, wrt="sound_speed", memory=20000)
design = dg.design(sim, heard, between=({"sound_speed": 1.0}, {"sound_speed": 2.0}), where="body", radius=0.8)
found["bits: objective"] = dict(enumerate(objective(objective.x0 * 1.1)))
found["bits: design"] = dict(enumerate(design(design.x0 + 0.2)))
sim.run(0.1, out=sys.argv[1] + ".zarr")
part = sim.gradient(heard, both, restart=sys.argv[1] + ".zarr", folder=".")
found["bits: restart"] = numbers(part)
found["order"] = {"order": part.check().order.values[1:] - 2}
rank = 0 if sim.ranks is None else sim.ranks.part
with open(f"{sys.argv[1]}.{rank}", "wb") as file:
    pickle.dump(found, file)
'''
WRONG = SCRIPT + '''
from dgarray.run.ranks import ranks
mine, here = np.full(2, float(ranks().part)), ranks().part


class Stop:
    """Ctrl-C at one rank, after so many steps of the run or of the way back."""

    def __init__(self, count):
        self.count = count

    def update(self, t, dt, steps):
        self.count -= 1
        if self.count == 0:
            os.kill(os.getpid(), signal.SIGINT)


sim, long = problem(square()), problem(square(cells=8), dt=0.005)
limited = sim.replace(method=dg.ModalDG(1, limiter="vertex"), law=dg.Euler(2), initial=gas, boundary=dg.wall)
cases = [(sim, lambda ds: heard(ds) * mine[0], {}), (limited, heard, {}), (sim, heard, {"folder": "nowhere"}),
         (sim, lambda ds: heard(ds) * np.inf, {}), (sim, heard, {"restart": "nowhere"}), (long, heard, {"progress": Stop(5)}),
         (long, heard, {"progress": Stop(45)})]
for each, misfit, options in cases:
    try:
        each.gradient(misfit, "initial" if each is limited else {"sound_speed": "element"}, **options)
    except (ValueError, dg.Interrupted) as error:
        steps = "" if getattr(error, "dataset", None) is None else f" {len(error.dataset.dg.record('mic').p)}"
        sys.stdout.write(f"{here} {error}{steps}\\n")
        sys.stdout.flush()
sys.stdout.write(f"{here} {sim.gradient(heard, 'initial').value > 0}\\n")
'''
WORDS = ("the ranks were given different problems; misfit", "limiter decides by the state", "folder='nowhere' is not allowed",
         "the misfit is inf", "nowhere: there is no output to continue", "stopped by Ctrl-C at t = 0.0",
         "stopped by Ctrl-C on the way back", "True")


def results(folder, ranks):
    """{problem: {name: array}} of one process or so many, the same on each."""
    status, _, err = finished("same.py", f"found{ranks}", folder=folder, ranks=ranks)
    assert status == 0, "\n".join(err)
    first, *others = [(folder / f"found{ranks}.{rank}").read_bytes() for rank in range(ranks or 1)]
    first, *others = map(pickle.loads, (first, *others))
    for each in others:
        assert all(np.array_equal(each[problem][name], value, equal_nan=True)
                   for problem, found in first.items() for name, value in found.items())
    return first


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_gradients_of_several_processes_are_those_of_one(ranks, tmp_path):
    """To the last bit, where the way back is by the kernels of the run; by programs to rounding, as the adjoints of an element
    are summed up in another order."""
    (tmp_path / "same.py").write_text(SAME)
    one, several = results(tmp_path, None), results(tmp_path, ranks)
    assert all(np.all(np.abs(found.pop("order")["order"]) < 0.02) for found in (one, several))
    for problem, expected in one.items():
        assert several[problem].keys() == expected.keys()
        for name, value in expected.items():
            bits, size = problem.startswith("bits"), np.max(np.abs(value))
            assert np.abs(several[problem][name] - value).max() <= (0 if bits else 1e-12 * size), (problem, name)


def test_all_processes_say_what_is_wrong_and_go_on(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    status, out, err = finished("wrong.py", folder=tmp_path, ranks=2)
    assert status == 0, "\n".join(err)
    for rank in "01":
        said = [line[2:] for line in out.splitlines() if line.startswith(rank)]
        assert [words in line for words, line in zip(WORDS, said, strict=True)] == [True] * len(WORDS), said
        assert int(said[-3].split()[-1]) < 41 and said[-2].endswith(" 41")          # what had been recorded
