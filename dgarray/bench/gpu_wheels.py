"""The wheels that a machine without a network needs, and commands to fetch and install them.

It imports nothing of ours and nothing that may be missing: `dgarray/first_contact.py` runs it before anything else."""
import platform
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]           # of a source checkout: the folder of pyproject.toml, tests and .git
# {dependency of the package: its own requirements, beyond what a machine for GPU programs usually has}.
NEEDED_BY = {"modepy": ("pymbolic", "pytools", "platformdirs", "siphash24", "constantdict", "typing-extensions"),
             "zarr": ("donfig", "msgspec", "packaging", "pyyaml")}
MODULES = {"pyyaml": "yaml"}               # of packages whose module has another name
# {module: name of its package} of what is for GPUs and their tests.
PACKAGES = {"cupy": "CuPy", "numba_cuda": "numba-cuda", "pytest": "pytest", "xdist": "pytest-xdist"}
TESTING = "pytest", "cuda-toolkit"          # first words of the requirements in the extra `test` that GPU tests need
# Platform tags of wheels that run on Linux with glibc 2.28 or newer: `pip download` takes only wheels with tags that are named.
PLATFORMS = *(f"manylinux_2_{minor}" for minor in (28, 27, 26, 25, 24, 17)), "manylinux2014"


def missing():
    """Names of the packages for GPUs and tests that are not installed."""
    return [name for module, name in PACKAGES.items() if find_spec(module) is None]


def missing_dependencies():
    """The requirements of the package itself that are not installed, as pip takes them, and what these need in turn."""
    wanted = [each for each in dependencies() if absent(re.match(r"[\w.-]+", each)[0])]
    names = [re.match(r"[\w.-]+", each)[0] for each in wanted]
    return wanted + [each for name in names for each in NEEDED_BY.get(name, ()) if absent(each)]


def absent(name):
    """Whether a package is not installed."""
    return find_spec(MODULES.get(name, name.replace("-", "_"))) is None


def dependencies():
    """The requirements without which the package cannot be imported."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["dependencies"]


def no_imports(names):
    """Text that says which packages are missing before anything can run, and how to bring them.

    names: of the packages, as pip takes them"""
    fetch, install = commands(names, alone=True)
    return "\n".join([f"Nothing has run: {len(names)} packages are missing that dgarray imports:", f"  {', '.join(names)}",
                      "Fetch their wheels where there is a network:", f"  {fetch}",
                      "carry the folder `wheels` to this one, and install them:", f"  {install}"])


def requirements(cuda=None):
    """The requirements for pip: the extra `gpu`, and of the extra `test` pytest, its plugins and the CUDA toolkit with its
    sanitizer.

    cuda: 12 for drivers of CUDA 12; None: those that the package names"""
    testing = (each for each in extra("test") if each.startswith(TESTING))
    wanted = [*extra("gpu"), *(each.replace("cuda-toolkit", "cuda-toolkit[sanitizer]") for each in testing)]
    return [each.replace("cuda13x", f"cuda{cuda}x").replace("cu13", f"cu{cuda}") for each in wanted] if cuda else wanted


def extra(name):
    """The requirements of an extra of the package, as pip takes them."""
    try:
        stated = [each.partition(";") for each in requires("dgarray")]
        return [each.strip() for each, _, when in stated if f'extra == "{name}"' in when]
    except PackageNotFoundError:          # a checkout on Python's path
        with open(ROOT / "pyproject.toml", "rb") as file:
            return tomllib.load(file)["project"]["optional-dependencies"][name]


def commands(wanted, alone=False):
    """(pip command that fetches the wheels on a machine with a network, pip command that installs them on this machine).

    wanted: requirements;  alone: without what they need in turn"""
    wanted = " ".join([*["--no-deps"] * alone, *(f"'{each}'" for each in wanted)])
    machine, (major, minor, *_) = platform.machine(), sys.version_info
    platforms = " ".join(f"--platform {name}_{machine}" for name in PLATFORMS) if sys.platform == "linux" else ""
    return (f"pip download -d wheels --only-binary=:all: --python-version {major}.{minor} {platforms} {wanted}",
            f"{sys.executable} -m pip install --no-index --find-links wheels {wanted}")
