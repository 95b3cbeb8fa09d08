"""A checkout that is not installed, on a machine without a network: what is missing is said, and the GPU tests are found."""
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from dgarray.bench import gpu_wheels, machine

ROOT = Path(__file__).parents[1]
# Which a usual image for GPU programs lacks.
WHEELS = ("modepy", "pymbolic", "pytools", "platformdirs", "siphash24", "constantdict", "meshio", "zarr", "donfig", "msgspec",
          "numcodecs", "google-crc32c")
# Packages for pictures and other programs' files, which such an image lacks too.
OTHERS = ("vtk", "vtkmodules", "pyvista", "imageio", "imageio_ffmpeg", "matplotlib", "xugrid", "dask", "array_api_compat",
          "cupy", "numba_cuda")
# Of the package's installation, if there is one, nothing is left; a name in BLOCKED is as if it were not installed.
START = """
import os, runpy, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
sys.modules.update(dict.fromkeys(os.environ["BLOCKED"].split()))
"""
SCRIPT = START + "sys.argv[0] = 'dgarray/first_contact.py'; runpy.run_path('dgarray/first_contact.py', run_name='__main__')"
TESTS = START + "import pytest; sys.exit(pytest.main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the files of a checkout, without its history."""
    folder = tmp_path_factory.mktemp("bare")
    for name in ("backends", "cases", "dgarray", "tests"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def python(folder, text, *arguments, blocked=()):
    """(exit status, standard output, standard error) of a text in a process of its own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHONPATH", "NUMBA"))}
    done = subprocess.run([sys.executable, "-c", text, *arguments], cwd=folder, capture_output=True, text=True,
                          env=own | {"BLOCKED": " ".join(blocked), "COLUMNS": "200"})
    return done.returncode, done.stdout, done.stderr


def modules(names):
    return [name.replace("-", "_") for name in names]


def test_first_contact_names_what_is_missing(checkout):
    """Before anything imports it: no traceback, and commands for these packages alone."""
    status, out, error = python(checkout, SCRIPT, "contact", blocked=modules(WHEELS))
    assert status == 2 and not out and "Traceback" not in error and "Nothing has run: 12 packages" in error, error
    fetch, install = (next(line for line in error.splitlines() if words in line) for words in ("pip download", "pip install"))
    for command in (fetch, install):
        assert "--no-deps" in command and sorted(re.findall(r"'([\w-]+)", command)) == sorted(WHEELS), command
    assert os.path.samefile(install.split()[0], sys.executable) and "--no-index --find-links wheels" in install
    assert not (checkout / "contact").exists()


def test_first_contact_names_what_dependencies_need(checkout):
    status, _, error = python(checkout, SCRIPT, "contact", blocked=["pytools"])
    assert status == 2 and "Nothing has run" in error and "'pytools'" in error and "Traceback" not in error, error


def test_packages_that_lie_beside_the_package_are_found(checkout):
    text = START + "import dgarray.backends.cuda, dgarray.cases; print(dgarray.backends.__file__, dgarray.cases.__file__)"
    status, out, error = python(checkout, text)
    assert status == 0, error
    assert out.split() == [str(checkout / "dgarray" / name / "__init__.py") for name in ("backends", "cases")]


def test_the_commit_of_an_archive_is_known(tmp_path, monkeypatch):
    """`git archive` writes it into a file, which in a checkout by git has nothing."""
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    elsewhere = machine.revision()
    (tmp_path / machine.ARCHIVED).write_text("node: $Format:%H$\nnode-date: $Format:%cI$\n")
    assert machine.revision() == elsewhere and f"{machine.ARCHIVED} export-subst" in (ROOT / ".gitattributes").read_text()
    (tmp_path / machine.ARCHIVED).write_text("node: 6c1f8f7\nnode-date: 2026-11-29T12:00:00+00:00\n")
    assert machine.revision() == "6c1f8f7"


def test_dependencies_are_known():
    """What the dependencies need in turn, as far as a usual machine for GPU programs lacks it, is in the list."""
    def needed(name):
        stated = [each for each in requires(name) or () if "extra ==" not in each and "python_version" not in each]
        return {re.match(r"[\w.-]+", each)[0].lower().replace("_", "-") for each in stated}
    direct = {re.match(r"[\w.-]+", each)[0] for each in gpu_wheels.dependencies()}
    usual = {"numpy", "numba", "llvmlite", "scipy", "h5py", "xarray", "pandas", "rich", "packaging", "setuptools"}
    assert usual - {"llvmlite", "pandas", "packaging", "setuptools"} < direct
    for name in direct - usual:
        assert needed(name) - direct - usual <= set(WHEELS) | set(gpu_wheels.NEEDED_BY.get(name, ())) | {"typing-extensions"}
    listed = {each for some in gpu_wheels.NEEDED_BY.values() for each in some}
    assert set(WHEELS) <= direct | listed


@pytest.mark.thorough
def test_first_contact_says_that_cupy_is_missing(checkout):
    status, out, error = python(checkout, SCRIPT, "contact", blocked=OTHERS)
    assert status == 2 and "Traceback" not in error + out, error
    assert error.startswith("CuPy, numba-cuda: not installed; steps that need one of these are left out")
    assert "\nmissing: CuPy, numba-cuda" in out and out.count("CuPy is not installed") > 10
    assert [line.split()[1] for line in out.splitlines() if line.startswith("versions")] == ["ok"]


@pytest.mark.thorough
def test_all_gpu_tests_are_collected(checkout):
    """By a package that is not installed."""
    command = "-q", "-m", "gpu", "--all-combinations", "--collect-only", "-p", "no:cacheprovider", "-p", "no:xdist"
    status, out, error = python(checkout, TESTS, *command, blocked=OTHERS)
    assert status == 0, out[-2000:] + error
    assert int(re.search(r"(\d+)/\d+ tests collected", out)[1]) > 400
