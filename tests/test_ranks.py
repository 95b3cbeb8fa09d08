"""Runs over several processes: the same results as by one, whoever starts them; what goes wrong is said once and ends all."""
import json
import os
import pickle
import re
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from launched import LAUNCHED, PATIENCE, ROOT, ended, finished, launcher, started  # noqa: F401  a fixture

import dgarray as dg
from dgarray.output import open_output

pytestmark = LAUNCHED

PROBLEMS = '''
import sys
import numpy as np
import dgarray as dg


def ball(x):
    return np.exp(-30 * sum((c - 0.45) ** 2 for c in x))


def halves(mesh):
    return mesh.with_regions({"west": lambda x: x[0] < 0.5, "east": lambda x: x[0] >= 0.5})


def gas(x):
    return dg.Euler(2).conservative((1 + 0.5 * (ball(x) > 0.5), 0.3 + 0 * x[0], 0 * x[0], 1 + ball(x)))


def wave(mesh, method, law=None, **options):
    law = law or dg.Acoustics(mesh.dim)
    zero = (0,) * (len(law.variables) - 1)
    return dg.Simulation(mesh, law, method, dg.wall, lambda x: (ball(x), *(0 * x[0] for _ in zero)), until=0.1, every=0.05,
                         **options)


def mixed():
    """Cells of two shapes, with all recorders, until the ball has left its place."""
    mesh = dg.rectangle(cells=(6, 5), shape="mixed")
    return wave(mesh, dg.NodalDG(2), record={
        "probes": dg.Points([(0.2, 0.3), (0.7, 0.8)]), "inside": dg.VolumeIntegral(lambda q, x, t, m: q[0] ** 2),
        "sides": dg.BoundaryIntegral("left", lambda q, x, t, m, n: q[0] * n[0]), "most": dg.Extrema(every=2),
        "tones": dg.Fourier([1.0, 2.0], points=[(0.5, 0.5)]), "wall": dg.SurfaceFields("right", every=3)}).replace(
        until=dg.decayed(0.8, "p", at=(0.45, 0.45), limit=0.5), cfl=0.3)


def shock():
    """A limiter, which needs what is around vertices, with the step from the state."""
    return dg.Simulation(dg.rectangle(cells=8), dg.Euler(2), dg.ModalDG(1, limiter="vertex", positivity=True), dg.wall, gas,
                         until=0.1, flux=dg.hllc, stepper="ssp33")


def medium():
    """A law whose parameters vary, orders by region, an exact solution to compare with."""
    law = dg.Acoustics(2, sound_speed=lambda x: 1 + 0.2 * x[0])
    return wave(halves(dg.rectangle(cells=6)), dg.NodalDG({"west": 2, "east": 3}), law,
                exact=lambda x, t: (ball(x), 0 * x[0], 0 * x[0]))


def hanging():
    """Cells of two sizes, shocks captured."""
    mesh = dg.rectangle(cells=6, shape="quadrilateral").refined([7, 8, 13])
    method = dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha, shock_capturing=0.5)
    return dg.Simulation(mesh, dg.Euler(2), method, dg.wall, gas, until=0.05, flux=dg.hllc, steady=1e-9)


def grid():
    """Finite volumes, with all recorders."""
    exact = lambda x, t=0.0: dg.Euler(2).conservative((1 + 0.5 * ball(x), 0.3 + 0 * x[0], 0 * x[0], 1 + ball(x)))
    return dg.Simulation(dg.Grid((0, 0), (1, 1), (20, 24)), dg.Euler(2), dg.FiniteVolume("muscl"), dg.wall, exact, until=0.1,
                         every=0.05, exact=exact, record={
        "probes": dg.Points([(0.2, 0.3), (0.7, 0.8)]), "inside": dg.VolumeIntegral(lambda q, x, t, m: q[0] ** 2),
        "sides": dg.BoundaryIntegral("left", lambda q, x, t, m, n: q[0] * n[0]), "most": dg.Extrema(every=2),
        "top": dg.BoundaryIntegral("top", lambda q, x, t, m, n: q[0] * n[1]), "wall": dg.SurfaceFields("top", every=3),
        "tones": dg.Fourier([1.0, 2.0], points=[(0.5, 0.5)])})


def derivatives():
    """Hermite's method, whose output has derivatives, in a medium, with a sponge."""
    law, sides = dg.Acoustics(2, sound_speed=lambda x: 1 + 0.2 * x[1]), {"bottom": dg.Sponge(0.2), "default": dg.wall}
    return wave(dg.Grid((0, 0), (1, 1), (12, 14)), dg.Hermite(2, derivatives=True), law, record={
        "probes": dg.Points([(0.2, 0.3)]), "tones": dg.Fourier([1.0, 2.0])}).replace(boundary=sides,
        initial=lambda x: (np.exp(-30 * ((x[0] - 0.45) ** 2 + (x[1] - 0.45) ** 2)), 0 * x[0], 0 * x[0]))


def stored():
    """A mesh that has been cut for two ranks, of tetrahedra, pyramids, prisms and hexahedra."""
    return wave(dg.read_mesh("mesh.zarr"), dg.NodalDG(2))


def own():
    """The method of one's own that the documentation shows."""
    import yee
    return yee.case(cells=12, until=0.3)


def device():
    """Let arrays that never turn into NumPy's by themselves stand for those of a GPU, which must be the one of this rank."""
    from types import SimpleNamespace
    from dgarray import backends
    from dgarray.run.ranks import ranks
    from strict import StrictArray, StrictNamespace

    def problem(kernels, device):
        return None if (kernels, device) == ("array", ranks().part) else f"{device} is another rank's"
    cupy = sys.modules["cupy"] = StrictNamespace()
    cupy.ndarray, cupy.__version__ = StrictArray, "14"          # which xarray asks for
    cupy.cuda = SimpleNamespace(runtime=SimpleNamespace(memGetInfo=lambda: (2 ** 33, 2 ** 34)))
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=int, total_bytes=int, free_all_blocks=int)
    backends.gpu_problem = problem


def run(name, kernels, dtype):
    """The dataset and the report of one problem."""
    sim = globals()[name]().replace(kernels="array" if kernels == "cupy" else kernels, dtype=dtype)
    if kernels == "cupy":
        device()
        sim = sim.replace(backend="cupy")
    ds = sim.run()
    tree = {zone: each.to_dataset() for zone, each in ds.children.items()} if hasattr(ds, "children") else {"": ds}
    report = {key: sim.report[key] for key in ("steps", "dt", "conserved", "l2_error", "error_estimate")}
    values = {(zone, key): value.values for zone, each in tree.items() for key, value in each.variables.items()}
    return sim, values, report
'''
SCRIPT = '''
from problems import run
import pickle, sys
path, *problems = sys.argv[1:]
found = {}
for problem in problems:
    sim, *found[problem] = run(*problem.split())
if sim.ranks is None or sim.ranks.part == 0:
    with open(path, "wb") as file:
        pickle.dump(found, file)
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "problems.py").write_text(PROBLEMS)
    (tmp_path / "script.py").write_text(SCRIPT)
    example = (ROOT / "docs" / "own-method.md").read_text().partition("```python\n")[2].partition("```")[0]
    (tmp_path / "yee.py").write_text(example)
    return tmp_path


def same(found, expected, problem):
    """All but integrals over the domain, which ranks add up, bit for bit."""
    (values, report), (given, told) = found, expected
    assert values.keys() == given.keys(), problem
    for key, value in given.items():
        assert equal(key[1], values[key], value), (problem, key)
    assert [report[key] for key in ("steps", "dt")] == [told[key] for key in ("steps", "dt")], problem
    for key in ("conserved", "l2_error", "error_estimate"):
        numbers, expected = (np.array(list(leaves(each[key])), float) for each in (report, told))
        assert np.allclose(numbers, expected, rtol=1e-9, atol=1e-13, equal_nan=True), (problem, key)


def equal(name, values, expected):
    """Whether values are the same bits; those of the recorder "inside", which ranks add up, to rounding."""
    compare = partial(np.allclose, rtol=1e-12, atol=1e-13) if name.startswith("inside") else np.array_equal
    return compare(values, expected, equal_nan=expected.dtype.kind in "fc")


def leaves(value):
    """The numbers in dicts of dicts; None stands alone."""
    return [leaf for each in value.values() for leaf in leaves(each)] if isinstance(value, dict) else [value]


def results(folder, *problems, ranks=None):
    """{problem: (values, report)} of problems "name kernels dtype" that one process or so many ranks compute one after the
    other: to start Python takes longer than they do."""
    status, _, err = finished("script.py", "found", *problems, folder=folder, ranks=ranks)
    assert status == 0, "\n".join(err)
    return pickle.loads((folder / "found").read_bytes())


def test_the_same_bits_as_one_process(folder):
    """Snapshots, records, steps, totals, errors and their estimates. Of the parts of a stored mesh two ranks take those that
    were made for two, three make their own."""
    dg.write_mesh(dg.box(cells=3, shape="hybrid"), folder / "mesh.zarr", parts=2)
    problems = ("mixed fused float64", "shock array float64", "medium fused float32", "hanging fused float64",
                "grid fused float64", "own array float32", "stored array float64")
    one, *several = (results(folder, *problems, ranks=ranks) for ranks in (None, 2, 3))
    for found in several:
        for problem in problems:
            same(found[problem], one[problem], problem)


@pytest.mark.thorough
def test_ranks_with_devices(folder):
    """Each rank takes the device of its number, here for array expressions; tests/test_cuda_parts.py has kernels."""
    names = "mixed", "derivatives"
    one, several = (results(folder, *(f"{name} {kernels} float64" for name in names), ranks=ranks)
                    for ranks, kernels in ((None, "array"), (2, "cupy")))
    for name in names:
        (expected, told), (values, report) = one[f"{name} array float64"], several[f"{name} cupy float64"]
        assert report["steps"] == told["steps"] and values.keys() == expected.keys(), name
        for key, value in expected.items():
            if value.dtype.kind in "fc":
                assert np.allclose(values[key], value, rtol=1e-9, atol=1e-11, equal_nan=True), (name, key)


def datasets(path):
    found = open_output(path)
    return {name: each.to_dataset() for name, each in found.children.items()} if isinstance(found, xr.DataTree) else {"": found}


CASE = '''
from dgarray.output import store
from problems import mixed as case
store.LEAST_CHUNK = 64          # bytes: so small shares of a snapshot have chunks of their own here
'''


@pytest.mark.thorough
def test_command_line_output_and_restart(folder):
    """A store is what one process writes, however many go on with it."""
    (folder / "case.py").write_text(CASE)
    options = "case.py", "--until", "0.08", "--every", "0.02", "--checkpoint-every", "0.04"
    status, out, err = finished("-m", "dgarray", "run", *options, "--out", "one.zarr", folder=folder)
    assert status == 0 and "on each of" not in out
    status, out, err = finished("-m", "dgarray", "run", *options, "--out", "several.zarr", "--json", "report.json",
                                folder=folder, ranks=3)
    assert status == 0 and out.count("thread on each of 3 ranks") == out.count("KiB sent a time") == 1, err
    ranks = json.loads((folder / "report.json").read_text())["ranks"]
    assert sum(ranks["elements"]) == 45 and all(len(each) == 3 and min(each) > 0 for each in ranks.values())
    longer = "-m", "dgarray", "run", "case.py", "--until", "0.12", "--every", "0.02", "--restart"
    for more in (["several.zarr", "--ranks", "2"], ["one.zarr"]):
        status, _, err = finished(*longer, *more, folder=folder)
        assert status == 0, err
    one, several = datasets(folder / "one.zarr"), datasets(folder / "several.zarr")
    for zone, ds in one.items():
        assert len(ds.time) == 7
        for name, value in ds.variables.items():
            assert equal(name, several[zone][name].values, value.values), name


@pytest.mark.thorough
def test_what_is_wrong_is_said_once(folder):
    (folder / "case.py").write_text(CASE)
    (folder / "bad.py").write_text("import dgarray as dg\ndg.Simulation(dg.rectangle(cells=4), dg.Acoustics(2), dg.NodalDG(2), "
                                   "{'lefft': dg.wall})\n")
    (folder / "many.py").write_text("from problems import mixed\nmixed().replace(ranks=2)\n")
    cases = [(("bad.py",), 1, r"ValueError: boundary 'lefft' does not exist"),
             (("many.py",), 1, r"ValueError: ranks=2 is not allowed; it must be None or 1"),
             (("-m", "dgarray", "run", "caze.py"), 2, r"dgarray run: .*caze.py"),
             (("-m", "dgarray", "run", "case.py", "--utnil", "1"), 2, r"the option --utnil does not exist"),
             (("-m", "dgarray", "run", "case.py", "--ranks", "3"), 2, r"--ranks 3: 2 ranks run already"),
             (("-m", "dgarray", "run", "sod_grid"), 2, r"Grid\(.*\) is in 1D, which runs in one process, not on 2 ranks"),
             (("-m", "dgarray", "run", "case.py", "--dt", "0.2", "--every", "50", "--until", "500"), 3,
              r"is not finite at t = .* in element")]
    running = [(started(*arguments, folder=folder, ranks=2), status, words) for arguments, status, words in cases]
    for process, status, words in running:
        found, _, err = ended(process)
        lines = [line for line in err if re.search(words, line)]
        assert (found, len(lines)) == (status, 1), "\n".join(err)


def test_wrong_numbers_of_ranks(folder):
    for number in ("0", "100000"):
        status, _, err = finished("-m", "dgarray", "run", "tm_cavity", "--ranks", number, folder=folder)
        assert status == 2 and len(err) == 1
        assert err[0].startswith(f"dgarray run: --ranks {number} is not allowed; it must be a whole number from 1 to ")


LONG = '''
from problems import *
case = lambda: wave(dg.rectangle(cells=12), dg.NodalDG(3)).replace(until=1e4, every=1e4)
'''


def running(folder):
    """A long run of two ranks that is under way, and the process numbers of the ranks."""
    (folder / "long.py").write_text(LONG.replace("case = lambda:", "def case():\n    return"))
    process = started("-m", "dgarray", "run", "long.py", "--out", "out.zarr", "--checkpoint-every", "0.1", folder=folder,
                      ranks=2)
    until = time.monotonic() + PATIENCE
    while not list(folder.glob("out.zarr/checkpoints/*")) and time.monotonic() < until and process.poll() is None:
        time.sleep(0.1)
    time.sleep(1.0)
    table = [(int(stat[1]), int(path.name), (path / "cmdline").read_bytes().decode().split("\0"))
             for path in Path("/proc").iterdir() if path.name.isdigit() and (path / "stat").exists()
             for stat in [(path / "stat").read_text().rpartition(")")[2].split()]]
    ranks = sorted(number for _, number, command in table if "out.zarr" in command and "mpiexec" not in command[0])
    return process, ranks


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.thorough)])
def test_one_rank_is_stopped(number, folder):
    """Killed, the others end within seconds; asked to stop, all save the state."""
    process, ranks = running(folder)
    assert len(ranks) == 2, ended(process)
    os.kill(ranks[1], number)
    begin = time.monotonic()
    status, _, err = ended(process)
    assert status != 0 and time.monotonic() - begin < 30
    if number == signal.SIGTERM:
        assert status == 128 + number and sum("saved in out.zarr" in line for line in err) == 1, err
    ds = dg.output.open_output(folder / "out.zarr")
    assert np.isfinite(ds.p.values).all()
    status, _, err = finished("-m", "dgarray", "run", "long.py", "--restart", "out.zarr", "--until", "0.001", "--quiet",
                              folder=folder)
    assert status == 0 and "nothing is left to do" in err[-1], err


@pytest.mark.thorough
def test_alone_among_several(folder):
    """With ranks=1 every process computes a problem of its own."""
    (folder / "study.py").write_text(
        "from problems import *\nfrom mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\n"
        "sim = wave(dg.rectangle(cells=3 + rank), dg.NodalDG(1), ranks=1, threads=1)\nds = sim.run()\n"
        "print(f'rank {rank}: {ds.sizes[\"element\"]} elements')\n")
    status, out, err = finished("study.py", folder=folder, ranks=2)
    assert status == 0 and sorted(out.split("\n")[:2]) == ["rank 0: 18 elements", "rank 1: 32 elements"], err


DISAGREE = '''
import json
from itertools import combinations
from pathlib import Path
import numpy as np
import dgarray as dg
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
other = 1.0 + rank
chance = np.random.default_rng(rank)
law, mesh = dg.Acoustics(2), dg.rectangle(cells=4)
sim = dg.Simulation(mesh, law, dg.NodalDG(1), dg.wall, lambda x: (np.cos(np.pi * x[0]), 0 * x[0], 0 * x[0]), until=0.02,
                    kernels="array", threads=1)
ways = {"mesh": dict(mesh=dg.rectangle(cells=4, perturb=0.2, seed=rank)), "law": dict(law=dg.Acoustics(2, density=other)),
        "medium": dict(law=dg.Acoustics(2, sound_speed=lambda x: other + 0 * x[0])),
        "method": dict(method=dg.NodalDG(1 + rank)), "boundary": dict(boundary=dg.prescribed(lambda x, t: (other, 0.0, 0.0))),
        "source": dict(source=lambda q, x, t: (other, 0.0, 0.0)), "flux": dict(flux=[dg.upwind, dg.rusanov][rank]),
        "initial": dict(initial=lambda x: (chance.standard_normal(x[0].shape), 0 * x[0], 0 * x[0])),
        "dt": dict(dt=0.001 * other), "record": dict(record={"probe": dg.Points([(0.1 * other, 0.5)])})}
ways = {name: sim.replace(**changes).run for name, changes in ways.items()}
ways |= {"until": lambda: sim.run(0.1 * other), "every": lambda: sim.run(every=0.01 * other),
         "out": lambda: sim.run(out=f"{rank}.zarr"), "callback": lambda: sim.run(callback=None if rank else print)}
said = {}
for name, run in ways.items():
    try:
        run()
    except ValueError as error:
        said[name] = str(error)


def late(state):
    if rank and state.step == 3:
        state.stop()


sim.run(until=1.0, callback=late)
steps = 0
for state in sim.steps(1.0):
    steps += 1
    late(state)
said["stop"] = sim.report["steps"], steps
ranks = sim.ranks
together = {"everyones": lambda: ranks.everyones(1), "exchanged": lambda: ranks.exchanged([1, 1]),
            "first": lambda: ranks.from_first(1), "largest": lambda: ranks.largest([1.0]),
            "more": lambda: ranks.largest(np.ones(40))}
said["apart"] = []
for pair in combinations(together.values(), 2):
    try:
        pair[rank]()
    except RuntimeError as error:
        said["apart"].append(str(error))
numbers = np.arange(40.0) + 10 * rank
numbers[3] = np.nan if rank else 0.0
said["largest"] = np.nan_to_num(ranks.largest(numbers), nan=-1.0).tolist()
Path(f"said-{rank}").write_text(json.dumps(said))
'''


@pytest.mark.thorough
def test_ranks_that_disagree_say_so_and_stop_together(folder):
    (folder / "disagree.py").write_text(DISAGREE)
    status, out, err = finished("disagree.py", folder=folder, ranks=2)
    assert status == 0 and not list(folder.glob("*.zarr")), "\n".join(err)
    said, there = (json.loads((folder / f"said-{rank}").read_text()) for rank in (0, 1))
    assert said == there and len(said) == 17 and said.pop("stop") == [3, 4]
    assert said.pop("largest") == [10, 11, 12, -1, *range(14, 50)]
    apart = said.pop("apart")
    words = r"the ranks have called different functions together: Ranks.\w+ \(.*\) on rank 0, Ranks.\w+ \(.*\) on rank 1; all"
    assert len(apart) == 10 and all(re.match(words, text) for text in apart), apart
    said["law"] += said.pop("medium")
    assert all(f"the ranks were given different problems; {name}: " in text for name, text in said.items()), said


@pytest.mark.thorough
@pytest.mark.parametrize("act, words", [
    ("abs(state.q).max()", r"called different functions together: Simulation.run \(way.py:8\) on rank 0, State.q "
                           r"\(way.py:7\) on rank 1, Simulation.run"),
    ("sim.ranks.send(0, np.zeros(1000000)); sys.exit(3)",          # more than MPI sends to one who does not receive
     r"none can go on: rank 0 waits in Simulation.run \(.*\), rank 1 has ended, rank 2 waits in Simulation.run")])
def test_no_rank_waits_for_ever(act, words, folder):
    (folder / "way.py").write_text("import sys\nfrom problems import *\nfrom mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\n"
                                   "def look(state):\n    if rank == 1 and state.step == 2:\n        " + act +
                                   "\nsim = wave(dg.rectangle(cells=4), dg.NodalDG(1)); sim.run(callback=look, until=5.0)\n")
    status, _, err = finished("way.py", folder=folder, ranks=3)
    assert status == 1 and sum(bool(re.search(words, line)) for line in err) == 1, "\n".join(err)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_rank_that_waits(number, folder):
    """Once, for all, with its status, while another rank is busy for long."""
    (folder / "way.py").write_text(f"""import os, sys, threading, time
from problems import *
from dgarray.run import ranks
from mpi4py import MPI
ranks.LONG = 0.5
def busy(state):
    if state.step == 2 and MPI.COMM_WORLD.rank == 1:
        time.sleep({PATIENCE})
        print("awake")
    elif state.step == 2:
        threading.Timer(1.0, os.kill, (os.getpid(), {number})).start()
wave(dg.rectangle(cells=4), dg.NodalDG(1)).run(callback=busy, until=5.0)
""")
    status, out, err = finished("way.py", folder=folder, ranks=2)
    assert status == 128 + number and not out, "\n".join(err)
    words = r"^dgarray.*Interrupted: stopped while other ranks did not answer: the last step is not saved$"
    assert sum(bool(re.search(words, line)) for line in err) == 1 and err[0].startswith("rank 0 of 2: "), "\n".join(err)
