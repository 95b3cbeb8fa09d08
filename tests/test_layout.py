"""The shape of the package: imports go one way, and the wheel holds every folder."""
import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import dgarray as dg

ROOT = Path(__file__).parents[1]
FOLDERS = {"backends": "dgarray.backends", "cases": "dgarray.cases"}

# What each part may import of ours.  Parts are the modules and folders directly under dgarray.
ALLOWED = {
    "support": set(),
    "version": set(),
    "xarray_accessor": {"output", "analysis"},
    "physics": {"support"},
    "reference": set(),
    "mesh": {"support", "reference"},
    "spaces": {"support", "physics", "reference", "mesh"},
    "stepping": set(),
    "program": {"physics"},
    "methods": {"support", "physics", "program", "reference", "mesh", "spaces", "stepping", "backends"},
    "backends": {"support", "physics", "program", "reference", "methods", "stepping"},
    "output": {"support", "physics", "reference", "mesh", "spaces", "analysis"},
    "analysis": {"support", "physics", "reference", "mesh", "spaces", "methods", "backends", "stepping"},
    "bench": {"support", "physics", "program", "reference", "mesh", "methods", "backends", "stepping", "output", "run",
              "cases"},
    "run": {"support", "physics", "program", "version", "reference", "mesh", "spaces", "methods", "backends", "stepping",
            "output", "analysis"},
}
TOP = {"cli", "__init__", "__main__", "cases", "first_contact"}


def modules():
    for folder in ("dgarray", *FOLDERS):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name == "make_meshes.py":          # which needs Gmsh
                continue
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            name = ".".join((FOLDERS.get(folder, folder), *parts)).removesuffix(".__init__")
            yield path, name


def imported(path, name):
    """Full names of what a module imports of ours at any level of its text."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "dgarray")
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            target = ".".join([*base, *([node.module] if node.module else [])])
            if target.split(".")[0] == "dgarray":
                yield from (f"{target}.{alias.name}" for alias in node.names)


def part(full):
    """The part that a full name lies in: dgarray.physics.laws.maxwell -> laws."""
    parts = full.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("path, name", list(modules()), ids=lambda value: str(value) if isinstance(value, str) else "")
def test_imports_go_one_way(path, name):
    own = part(name)
    if own in TOP:
        return
    wrong = sorted({part(target) for target in imported(path, name)} - ALLOWED[own] - {own})
    assert not wrong, f"{name} imports {', '.join(wrong)}; allowed: {', '.join(sorted(ALLOWED[own])) or 'nothing of ours'}"


def test_methods_know_no_kernels():
    """A method takes a backend as an argument; of their text it knows arrays alone."""
    for path, name in modules():
        if part(name) == "methods":
            assert {full.split(".")[2] for full in imported(path, name) if part(full) == "backends"} <= {"arrays"}, name


def test_no_file_imports_itself_in_a_circle():
    """Imports inside functions count too: one that hides a circle is a defect."""
    files = {name: path for path, name in modules()}

    def file_of(full):
        while full not in files:
            full = full.rpartition(".")[0]
        return full
    graph = {name: {file_of(full) for full in imported(path, name)} - {name} for name, path in files.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(files)


@pytest.mark.parametrize("path, name", list(modules()), ids=lambda value: str(value) if isinstance(value, str) else "")
def test_nobody_guesses_what_an_operator_is(path, name):
    """What a run asks is declared: no method is told by its class, no mesh from a grid by its type."""
    for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
        asked = ast.unparse(call)
        assert not (asked.startswith("isinstance(") and "Grid" in asked) or name == "dgarray.run.simulation", asked
        assert not re.match(r"hasattr\((self\.)?(\w+\.)?(operator|operations|progress|tables)\b", asked), asked


def test_chains_of_base_classes_are_short():
    """A reader of a class has at most three others above it."""
    bases = {}
    for path, _ in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):          # classes of the same name in several files count as one
                above = {getattr(base, "id", getattr(base, "attr", None)) for base in node.bases}
                bases[node.name] = bases.get(node.name, set()) | above - {node.name}

    def longest(name):
        return [name, *max((longest(base) for base in bases[name] if base in bases), key=len, default=[])]
    assert max(map(longest, bases), key=len)[4:] == []


def test_every_part_has_a_rule():
    assert {part(name) for _, name in modules()} - TOP == set(ALLOWED)


def test_public_names():
    """Each is listed once, in the file that type checkers read, and there."""
    assert all(hasattr(dg, name) for name in dg.__all__) and {"Simulation", "read_mesh", "MHD"} < set(dg.__all__)
    text = (ROOT / "dgarray" / "__init__.pyi").read_text()
    assert all(text.count(f"{name} as {name}") == 1 for name in dg.__all__)


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_beside_the_package_are_parts_of_it(name):
    link = ROOT / "dgarray" / name
    assert link.is_symlink() and link.resolve() == ROOT / name


@pytest.mark.thorough
def test_type_checkers_find_the_package(tmp_path):
    """After pip install -e: of three mistakes in a script each is found."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "mypy", "script.py", "--cache-dir", str(tmp_path)], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.stdout.count(": error:") == 3, done.stdout
    for words in ('did you mean "until"', 'to "NodalDG" has incompatible type "str"', 'maybe "rectangle"?'):
        assert words in done.stdout


SCRIPT = """
import dgarray as dg
from dgarray.cases import tm_cavity
sim = dg.Simulation(dg.rectangle(cells=4), dg.Maxwell(2), dg.NodalDG("3"), untill=1.0)
print(sim.run().dg.norm("Ez"), dg.rectangl(cells=4))
"""

# CuPy and numba.cuda: in these files only, and never when a module is imported, so that a CPU run does without them.
GPU_FILES = {"backends/__init__.py", "backends/gpu.py", "backends/cuda/device.py", "dgarray/bench/gpu_probes.py"}


def gpu_imports(tree):
    """Names of GPU libraries that are imported anywhere in this tree."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name for name in names
                    if name.split(".")[0] in ("cupy", "cupyx", "numba_cuda", "cuda") or f"{name}.".startswith("numba.cuda."))


@pytest.mark.parametrize("path, name", list(modules()), ids=lambda value: str(value) if isinstance(value, str) else "")
def test_gpu_libraries_are_imported_when_a_gpu_is_used(path, name):
    tree = ast.parse(path.read_text())
    if path.relative_to(ROOT).as_posix() not in GPU_FILES:
        assert not list(gpu_imports(tree))
    outside = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    methods = [node for outer in tree.body if isinstance(outer, ast.ClassDef) for node in outer.body
               if not isinstance(node, ast.FunctionDef)]
    assert not [found for node in outside + methods for found in gpu_imports(node)]


@pytest.mark.parametrize("value", [
    dg.Acoustics(2), dg.Acoustics(3, density={"a": 2.0}, sound_speed=1.5), dg.Maxwell(2, "TE", eps=2.0),
    dg.Maxwell(3, sigma=0.1), dg.Advection((1.0, 0.5)), dg.Euler(3, gamma=1.3), dg.Hermite(2),
    dg.NodalDG(3, filter=dg.ExponentialFilter()), dg.ModalDG(2, limiter="vertex", positivity=True),
    dg.Grid((0, 0), (2, 1), (8, 4), (True, False)), dg.Sponge(0.3), dg.Points([(0.0, 0.5)]), dg.Fourier([1.0, 2.0])],
    ids=lambda value: type(value).__name__)
def test_what_prints_is_the_call_that_makes_it(value):
    again = eval(repr(value), vars(dg))
    assert type(again) is type(value) and repr(again) == repr(value)


def test_the_package_alone_imports_no_library():
    """And yet xarray's datasets have `dg` when xarray is imported later, also where somebody has looked for it before."""
    code = """import sys, importlib.util, dgarray
assert not {'numpy', 'numba', 'scipy', 'rich', 'xarray'} & set(sys.modules)
importlib.util.find_spec('xarray')
import xarray
assert 'dgarray.output' not in sys.modules
xarray.Dataset.dg, xarray.DataTree.dg"""
    subprocess.run([sys.executable, "-c", code], check=True)
