"""What a result says of where it comes from: versions, date, call, source of functions, the mesh's digest."""
import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from burgers import Burgers

import dgarray as dg
from dgarray.cli import main
from dgarray.mesh.digest import digest

FAST = {"backend": "numpy", "kernels": "array", "threads": 1}
HEIGHT = 3.0
SCRIPT = '''
import numpy as np
import dgarray as dg

class Transport(dg.Law):
    dim, variables = 1, ("u",)

    def flux(self, q, n):
        return (q[0] * n[0],)

    def wave_speed(self, q, n):
        return abs(n[0]) + 0 * q[0]

def case(order=1):
    return dg.Simulation(dg.interval(cells=4), Transport(), dg.NodalDG(order), dg.outflow, until=0.1)
'''


def bump(s):
    return HEIGHT * np.exp(-s ** 2)


def eps(x):
    return 1 + 0 * x[0]


def maxwell(width=0.5, **options):
    def initial(x):
        return 0 * x[0], 0 * x[0], bump(x[0] / width)
    boundary = {"left": dg.incident(dg.plane_wave(dg.Maxwell(2), (1.0, 0.0), (0, 0, 1.0), bump)), "default": dg.absorbing}
    return dg.Simulation(dg.rectangle(cells=2), dg.Maxwell(2, eps=eps), dg.NodalDG(1), boundary, initial, until=0.1,
                         **FAST | options)


def test_a_dataset_says_where_it_comes_from(tmp_path):
    sim = maxwell()
    ds = sim.run(every=0.05)
    assert ds.attrs["version"] == dg.__version__ and json.loads(ds.attrs["versions"])["numpy"] == np.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ds.attrs["date"])
    assert ds.attrs["call"].startswith("Simulation(mesh=rectangle(2 x 2), law=Maxwell(dim=2, polarisation='TM', eps=eps")
    assert ds.attrs["call"].endswith("kernels='array', threads=1).run(until=0.1, every=0.05)")
    assert not {"source", "exact", "dt", "record"} & set(re.findall(r"(\w+)=", ds.attrs["call"]))          # as by default
    assert ds.attrs["history"] == f"{ds.attrs['date']} dgarray {dg.__version__}: {ds.attrs['call']}"
    functions = json.loads(ds.attrs["functions"])
    assert functions["law.eps"] == "def eps(x):\n    return 1 + 0 * x[0]"
    assert functions["initial"].endswith("bump(x[0] / width)\n# width = 0.5")          # and what it read
    assert functions["initial.bump"] == "def bump(s):\n    return HEIGHT * np.exp(-s ** 2)\n# HEIGHT = 3.0"
    assert "initial" in maxwell().dataset(maxwell().project()).attrs["functions"]
    assert {key: sim.report[key] for key in ("version", "date", "call", "mesh_digest")} == {
        key: ds.attrs[key] for key in ("version", "date", "call", "mesh_digest")}
    assert sim.report["functions"] == functions and json.dumps(sim.report)
    wall = json.loads(dg.Simulation(dg.rectangle(cells=1), dg.Maxwell(2), dg.NodalDG(1), maxwell().options["boundary"],
                                    **FAST).layout().attributes()["functions"])
    assert list(wall) == ["boundary.left.field.shape"]          # of the package's functions only what they were given


def test_a_law_of_the_user_is_there_with_its_source():
    sim = dg.Simulation(dg.interval(cells=4), Burgers(), dg.NodalDG(1), dg.outflow, lambda x: (x[0],), **FAST)
    assert sim.provenance["functions"]["law"].startswith("class Burgers(dg.Law):\n    ")
    made = {}
    exec("def initial(x):\n    return (x[0],)", made)
    assert sim.replace(initial=made["initial"]).provenance["functions"]["initial"].endswith("initial")


def test_digests_tell_meshes_apart():
    mesh = dg.rectangle(cells=2)
    found = digest(mesh)
    assert found == digest(dg.rectangle(cells=2)) and re.fullmatch("sha256:[0-9a-f]{64}", found)
    grid = dg.Grid((0, 0), (1, 1), (4, 4))
    others = [dg.rectangle(cells=3), dg.rectangle((0, 0), (1, 1.01), cells=2), dg.rectangle(cells=2, periodic=True),
              mesh.with_regions({"all": lambda x: x[0] > -1}), grid, dg.Grid((0, 0), (1, 1), (4, 5))]
    assert len({found, *map(digest, others)}) == len(others) + 1


def test_the_command_line_and_a_restart(tmp_path, monkeypatch):
    """The call is the command; a run that goes on adds its line, and is else what it was."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SCRIPT)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    options = ["--kernels", "array", "--threads", "1", "--quiet"]
    assert main(["run", "mine.py", "--out", "out.zarr", "--until", "0.05", "--json", "r.json", *options]) == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "60")
    assert main(["run", "mine.py", "--restart", "out.zarr", *options]) == 0
    attrs = xr.open_zarr("out.zarr").attrs
    first, second = attrs["history"].splitlines()
    assert first.startswith("1970-01-01T00:00:00Z dgarray") and ": dgarray run mine.py --out out.zarr --until" in first
    assert second.startswith(attrs["date"]) and attrs["date"] == "1970-01-01T00:01:00Z" and second.endswith(attrs["call"])
    assert json.loads(attrs["functions"])["law"].startswith("class Transport(dg.Law):")
    report = json.loads(Path("r.json").read_text())
    assert report["date"] == "1970-01-01T00:00:00Z" and report["call"] in first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH='soon' is not allowed"):
        maxwell().run()
