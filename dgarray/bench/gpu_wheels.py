"""The wheels that a machine without a network needs for the GPU and its tests, and commands to fetch and install them."""
import platform
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from .machine import ROOT

# {module: name of its package}.
PACKAGES = {"cupy": "CuPy", "numba_cuda": "numba-cuda", "pytest": "pytest", "xdist": "pytest-xdist"}
TESTING = "pytest", "cuda-toolkit"          # first words of the requirements in the extra `test` that GPU tests need
# Platform tags of wheels that run on Linux with glibc 2.28 or newer: `pip download` takes only wheels with tags that are named.
PLATFORMS = *(f"manylinux_2_{minor}" for minor in (28, 27, 26, 25, 24, 17)), "manylinux2014"


def missing():
    """Names of the packages that are not installed."""
    return [name for module, name in PACKAGES.items() if find_spec(module) is None]


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


def commands(cuda=None):
    """(pip command that fetches the wheels on a machine with a network, pip command that installs them on this machine)."""
    wanted = " ".join(f"'{each}'" for each in requirements(cuda))
    machine, (major, minor, *_) = platform.machine(), sys.version_info
    platforms = " ".join(f"--platform {name}_{machine}" for name in PLATFORMS) if sys.platform == "linux" else ""
    return (f"pip download -d wheels --only-binary=:all: --python-version {major}.{minor} {platforms} {wanted}",
            f"pip install --no-index --find-links wheels {wanted}")
