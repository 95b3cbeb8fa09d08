"""The command line, from a user's side: status, output, and one clear line for every mistake."""
import inspect
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

import dgarray as dg
from dgarray.cli import build_parser, main

ROOT = Path(__file__).parents[1]
FAST = ("--kernels", "array", "--backend", "numpy")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fails(capsys, *arguments, status=2):
    """The one line that a wrong call prints."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err.strip()
    lines = [line for line in error.splitlines() if "warning:" not in line]
    assert code == status and len(lines) == 1 and "Traceback" not in error, error
    return lines[0]


def test_run_writes_what_it_returns(here, capsys):
    assert main(["run", "tm_cavity", "--order", "3", "--until", "0.4", "--every", "0.1", "--out", "out.zarr",
                 "--json", "r.json", "--set", "cells=4", *FAST]) == 0
    text = capsys.readouterr().out
    assert "L2 error" in text and "DOF updates/s" in text and "roofline" in text
    ds = xarray.open_zarr("out.zarr")
    assert ds.sizes["time"] == 5 and set(ds.Ez.dims) == {"time", "element", "node"}
    report = json.loads(Path("r.json").read_text())
    wanted = {"case", "method", "law", "order", "backend", "kernels", "dtype", "threads", "elements", "dofs", "steps", "dt",
              "time", "rhs_evaluations", "wall_s", "setup_s", "dof_updates_per_s", "l2_error", "conserved", "results"}
    assert wanted <= set(report)
    assert report["rhs_evaluations"] == 5 * report["steps"] and report["time"] == 0.4
    assert report["dofs"] == ds.Ez[0].size * 3 and report["l2_error"]["total"] < 1e-2
    assert report["conserved"]["energy"]["final"] <= report["conserved"]["energy"]["initial"]


def test_returned_dataset_equals_the_store(here, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000")
    from dgarray.cases import tm_cavity
    sim = tm_cavity(order=2).replace(backend="numpy", kernels="array")
    memory, disk = sim.run(until=0.2, every=0.1), sim.run(until=0.2, every=0.1, out="out.zarr")
    xarray.testing.assert_identical(memory, disk.load())
    xarray.testing.assert_identical(disk, xarray.open_zarr("out.zarr").load())


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_option_of_run_does_something(here, dtype):
    def run(*more):
        assert main(["run", "advection_wave", "--set", "dim=1", "--order", "2", "--until", "0.2", "--json", "r.json",
                     "--quiet", *more]) == 0
        return json.loads(Path("r.json").read_text())
    base = run("--dtype", dtype, *FAST)
    assert base["dtype"] == dtype and base["kernels"] == "array"
    assert run("--dtype", dtype, "--stepper", "rk4", *FAST)["rhs_evaluations"] % 4 == 0
    assert run("--dtype", dtype, "--cfl", "0.3", *FAST)["steps"] > base["steps"]
    assert run("--dtype", dtype, "--dt", "0.001", *FAST)["steps"] == 200
    fused = run("--dtype", dtype, "--kernels", "fused", "--threads", "1")
    assert fused["kernels"] == "fused" and fused["threads"] == 1
    assert fused["l2_error"]["total"] == pytest.approx(base["l2_error"]["total"], rel=1e-3 if dtype == "float32" else 1e-9)


def test_eoc(here, capsys):
    assert main(["eoc", "advection_wave", "--orders", "1-2", "--levels", "2", "--set", "dim=1", "--json", "e.json", *FAST]) == 0
    rows = json.loads(Path("e.json").read_text())
    assert [(r["order"], r["level"]) for r in rows] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert all(r["eoc"] is None or r["eoc"] > r["order"] + 0.7 for r in rows)
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_eoc_of_a_method_without_orders_runs_once(here, capsys):
    Path("own.py").write_text("from dgarray import cases\ndef case(order=1):\n    return cases.alfven_wave(cells=8)\n")
    for case in ("own.py", "alfven_wave"):
        assert main(["eoc", case, "--levels", "2", "--json", "e.json", *FAST]) == 0
        rows = json.loads(Path("e.json").read_text())
        assert [(row["order"], row["level"]) for row in rows] == [(2, 0), (2, 1)] and rows[1]["eoc"] > 1.5
        assert len(capsys.readouterr().out.splitlines()) == 3


def test_log_has_what_is_said_with_times_also_when_quiet(here, capsys):
    run = ["run", "tm_cavity", "--order", "2", "--until", "0.2", "--log", "run.log", *FAST]
    assert main([*run, "--quiet"]) == 0 and capsys.readouterr().out == ""
    lines = Path("run.log").read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} .*\S", line) for line in lines)
    said = [line[24:] for line in lines]
    assert said[0] == shlex.join(["dgarray", *run, "--quiet"]) and any("t = 0.2 of 0.2 (100%)" in line for line in said)
    assert any(line.startswith("tm_cavity: NodalDG(order=2") for line in said)
    bad = ["run", "sod", "--set", "cells=20", "--dt", "1", "--log", "run.log", *FAST]
    assert main(bad) == 3
    more = [line[24:] for line in Path("run.log").read_text().splitlines()[len(lines):]]
    assert more[0] == shlex.join(["dgarray", *bad]) and more[-1] == capsys.readouterr().err.splitlines()[-1]
    assert any(line.startswith("dgarray: warning: dt=1 is above") for line in more)
    assert main(["eoc", "advection_wave", "--set", "dim=1", "--orders", "1", "--levels", "2", "--log", "e.log", "--quiet",
                 *FAST]) == 0
    assert len(re.findall(r"  1     [01]  ", Path("e.log").read_text())) == 2
    assert "this is a folder" in fails(capsys, *run[:-4], "--log", str(here))


def test_completion_knows_commands_options_and_cases(capsys, monkeypatch):
    pytest.importorskip("shtab", exc_type=ImportError)
    from dgarray import cases

    for shell in ("bash", "zsh"):
        with pytest.raises(SystemExit) as stop:
            main(["--print-completion", shell])
        assert stop.value.code == 0
        script = capsys.readouterr().out
        words = "partition", "--print-completion", "--isolines", "--checkpoint-every", *cases.__all__
        assert all(word in script for word in words)
        if shell == "bash":
            asked = ("COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _shtab_dgarray; echo ${{COMPREPLY[@]}}; "
                     "COMPREPLY=(); ")
            done = subprocess.run(["bash", "-c", script + "\n" + "".join(map(asked.format, (
                "dgarray pa", "dgarray run tm_", "dgarray run tm_cavity --ord", "dgarray plot out.zarr Ez --iso")))],
                capture_output=True, text=True, check=True)
            assert done.stdout.splitlines() == ["partition", "tm_cavity tm_obstacles", "--order", "--isolines"]
    assert "shell 'fish' does not exist; allowed: bash, zsh" in fails(capsys, "--print-completion", "fish")
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert "pip install 'dgarray[completion]'" in fails(capsys, "--print-completion", "bash")


def test_list_info_and_plot(here, capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    from dgarray import cases
    assert [line.split()[0] for line in listed.splitlines()] == sorted(cases.__all__)
    assert main(["info", str(ROOT / "cases" / "meshes" / "obstacles.msh")]) == 0
    text = capsys.readouterr().out
    assert "obstacles" in text and "lens" in text
    assert main(["run", "tm_cavity", "--order", "2", "--until", "0.1", "--out", "out.zarr", "--quiet", *FAST]) == 0
    assert main(["info", "out.zarr"]) == 0 and "Ez" in capsys.readouterr().out
    assert main(["plot", "out.zarr", "Ez", "-o", "ez.png"]) == 0
    assert Path("ez.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", ["acoustic_pulse", "ball_cavity", "graded_medium", "ryu_jones", "sod", "hermite_lens"])
def test_list_describes_a_case_truly(name, here, capsys):
    """The docstring, each keyword with its default, the method and the cells; and the example can be parsed."""
    from dgarray import cases
    function = getattr(cases, name)
    assert main(["list", name]) == 0
    text = capsys.readouterr().out
    assert all(line in text for line in inspect.getdoc(function).splitlines())
    typed = dict(re.findall(r"^  --(?:set )?(\w+)[= ](\S+)", text, re.M))
    expected = {key: p.default for key, p in inspect.signature(function).parameters.items()}
    assert list(typed) == list(expected) and all(typed[key] == str(value) for key, value in expected.items() if key != "mesh")
    sim = function()
    wanted = {"interval": "intervals", "line": "intervals", "triangle": "triangles", "tetra": "tetrahedra", "grid": "a grid"}
    method = re.search(r"^Method: (.*)\.$", text, re.M)[1]
    assert type(sim.method).__name__ in method and wanted[sim.mesh.cell_type] in method
    example = shlex.split(text.splitlines()[-1])
    options = build_parser().parse_args(example[1:])
    assert options.case == name and options.out == f"{name}.zarr"


def test_list_reads_a_script_without_running_it(here, capsys):
    Path("mine.py").write_text("raise RuntimeError\ndef mine(n, a=(1, 2), *, b='x y', c=min(1, 2)):\n    'A problem.'\n")
    assert main(["list", "mine.py"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("mine.py: A problem.\n") and "  --set n=VALUE (needed)\n  --set a='(1, 2)'\n" in text
    assert "--set b='x y'\n  --set c=VALUE (default: min(1, 2))" in text
    assert text.endswith("dgarray run mine.py --set a='(1, 2)' --out mine.zarr\n")


@pytest.mark.parametrize("arguments, words", [
    (["help"], "COMMAND"), (["help", "run"], "--restart"), (["run", "--help"], "--restart")])
def test_help(arguments, words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0 and words in capsys.readouterr().out


def test_what_only_shows_text_imports_no_library():
    code = """import sys, dgarray.cli
for arguments in (["list"], ["list", "sod"], ["help"]):
    try:
        dgarray.cli.main(arguments)
    except SystemExit:
        pass
assert not {"numpy", "numba", "scipy", "rich", "xarray", "meshio"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


SCRIPT = '''
import numpy as np
import dgarray as dg

def case(order=2, wrong=False):
    """A user's own problem."""
    def initial(x):
        return 0.0, 0.0, (np.arcsinh(x[0]) if wrong else np.exp(-x[0] ** 2))
    def mirror(q, n):
        return tuple(np.arcsinh(c) for c in q) if wrong else q
    return dg.Simulation(dg.rectangle(cells=(3, 3)), dg.Maxwell(2), dg.NodalDG(order), mirror, initial, until=0.1)
'''


def test_a_script_of_the_user(here, capsys):
    Path("mine.py").write_text(SCRIPT)
    assert main(["run", "mine.py", "--quiet", "--json", "r.json", *FAST]) == 0
    assert json.loads(Path("r.json").read_text())["case"] == "case"
    line = fails(capsys, "run", "mine.py", "--set", "wrong=True")
    assert "arcsinh" in line and "mine.py:10" in line
    assert "mine.py" in fails(capsys, "run", "nothing/mine.py")
    Path("stops.py").write_text("import sys\ndef case():\n    sys.exit('bye')\n")
    assert "sys.exit('bye')" in fails(capsys, "run", "stops.py")
    Path("syntax.py").write_text("def case(:\n")
    assert "syntax.py:1" in fails(capsys, "run", "syntax.py")
    Path("empty.py").write_text("x = 1\n")
    assert "no function case()" in fails(capsys, "run", "empty.py")
    Path("raises.py").write_text("def case():\n    return [][1]\n")
    line = fails(capsys, "run", "raises.py")
    assert "IndexError" in line and "raises.py:2" in line


@pytest.mark.parametrize("arguments, words", [
    (["run", "tm_cavty"], ["did you mean 'tm_cavity'"]),
    (["run", "tm_cavity", "--set", "cels=3"], ["did you mean 'cells'"]),
    (["run", "tm_cavity", "--set", "cells"], ["NAME=VALUE"]),
    (["run", "tm_cavity", "--backend", "nunpy"], ["did you mean 'numpy'"]),
    (["run", "tm_cavity", "--kernels", "fast"], ["allowed: fused, array"]),
    (["run", "tm_cavity", "--dtype", "float16"], ["allowed: float64, float32"]),
    (["run", "tm_cavity", "--stepper", "rk44"], ["did you mean 'rk4'"]),
    (["run", "tm_cavity", "--order", "11"], ["1 to 10"]),
    (["run", "tm_cavity", "--order", "two"], ["--order: 'two' is not a whole number"]),
    (["run", "tm_cavity", "--until", "-1"], ["positive number"]),
    (["run", "tm_cavity", "--threads", "0"], ["threads=0"]),
    (["run", "tm_cavity", "--mesh", "nowhere.msh"], ["nowhere.msh"]),
    (["run", "tm_cavity", "--colour", "red"], ["--colour"]),
    (["rum", "tm_cavity"], ["rum"]),
    (["run", "tm_cavity", "--order", "2", "--set", "order=3"], ["both"]),
    (["run", "tm_cavity", "--json", "nowhere/r.json"], ["nowhere", "cannot be written"]),
    (["run", "tm_cavity", "--json", "."], ["folder"]),
    (["run", "maxwell_cavity", "--mesh", str(ROOT / "tests" / "data" / "gmsh_t1_v41.msh")], ["2D", "3D"]),
    (["run", "tm_cavity", "--mesh", str(ROOT / "tests" / "data" / "gmsh_t1_v41.msh")], ["does not fill"]),
    (["eoc", "tm_cavity", "--set", "order=3"], ["--orders"]),
    (["eoc", "tm_obstacles"], ["no exact solution"]),
    (["eoc", "tm_cavity", "--orders", "a"], ["--orders a"]),
    (["eoc", "tm_cavity", "--levels", "1"], ["levels=1"]),
    (["bench", "nothing"], ["allowed: "]),
    (["info", "nothing.msh"], ["no such file"]),
    (["plot", "nothing.zarr", "Ez"], ["no output of a run"]),
])
def test_mistakes_get_one_line_and_status_2(arguments, words, here, capsys):
    line = fails(capsys, *arguments)
    assert all(word in line for word in words), line


def test_bad_meshes_plots_and_outputs(here, capsys):
    (here / "bad.msh").write_text("not a mesh\n")
    assert "bad.msh" in fails(capsys, "info", "bad.msh")
    assert main(["run", "tm_cavity", "--order", "2", "--until", "0.05", "--out", "out.zarr", "--quiet", *FAST]) == 0
    capsys.readouterr()
    assert "did you mean 'Ez'" in fails(capsys, "plot", "out.zarr", "Ezz")
    assert "overwrite" in fails(capsys, "run", "tm_cavity", "--out", "out.zarr", *FAST)
    assert "cannot be written" in fails(capsys, "run", "tm_cavity", "--out", "bad.msh/out.zarr", *FAST)
    assert "not a zarr store" in fails(capsys, "run", "tm_cavity", "--out", ".", "--overwrite", *FAST)


def test_a_solution_that_goes_bad_has_status_3(here, capsys):
    with np.errstate(all="ignore"):
        line = fails(capsys, "run", "tm_cavity", "--order", "6", "--dt", "0.05", "--until", "60", "--quiet", *FAST, status=3)
    assert "not finite" in line and "element" in line


def test_dt_above_the_limit_warns(here, capsys):
    sim = dg.cases.tm_cavity(order=2).replace(backend="numpy", kernels="array", dt=0.2)
    with pytest.warns(UserWarning, match="above the largest stable step"):
        sim.run(until=0.2)


def test_module_entry_and_gpu_message(here):
    done = subprocess.run([sys.executable, "-m", "dgarray", "run", "tm_cavity", "--backend", "cupy"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "cupy" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_explain(capsys):
    dg.explain(dg.Maxwell(2, "TM"))
    text = capsys.readouterr().out
    assert "F_Ez = -(nx*Hy - ny*Hx)" in text and "F*_Ez" in text and "capacity" in text
    dg.explain(dg.pec)
    assert "Ex+ = a1*nx - Ex-" in capsys.readouterr().out
    dg.explain(dg.wall, law=dg.Acoustics(1))
    assert "p+ = p-" in capsys.readouterr().out
    with pytest.raises(ValueError, match="law="):
        dg.explain(lambda q: q)


def test_explain_a_dispersive_law(capsys):
    """What media add, by region: dP/dt of Debye's, 1 / (1 + 0.1 s), and of Lorentz's medium."""
    dg.explain(dg.Maxwell(1, eps=2.0 + dg.Debye(1.0, 0.1)))
    text = capsys.readouterr().out
    assert "a_Ez = -eps*(5*Ez - 10*Ez_0)" in text and "dEz_0/dt = 5*Ez - 10*Ez_0" in text
    dg.explain(dg.Maxwell(1, eps={"glass": 2.0 + dg.Debye(1.0, 0.1), "air": 1.0}, mu=1 + dg.Lorentz(0.2, 3.0, 0.1)))
    _, glass, elsewhere = capsys.readouterr().out.split("what internal variables add to the source ")
    assert glass.startswith("in the region 'glass'") and "dEz_0/dt = 5*Ez - 10*Ez_0" in glass and "dHy_1/dt" in glass
    assert elsewhere.startswith("elsewhere") and "a_Ez = 0" in elsewhere and "dHy_1/dt = 3*Hy - 3*Hy_0 - 0.1*Hy_1" in elsewhere


@pytest.mark.parametrize("case, options", [("isentropic_vortex", ["--set", "cells=4"]), ("supersonic_vortex", []),
                                           ("isentropic_vortex", ["--set", "cells=4", "--kernels", "array"])])
def test_modal_cases_run_to_their_summary(case, options, capsys):
    assert main(["run", case, "--order", "1", "--until", "0.02", "--backend", "numpy", *options]) == 0
    assert "ModalDG(order=1" in (text := capsys.readouterr().out) and "roofline" in text
