"""High-order solvers for wave and conservation-law problems, from array-style Python."""
import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from . import xarray_accessor
from .support.mpi_processes import processes
from .support.wording import choose
from .version import __version__ as __version__

# {name: module} of the public names, and the parts of the package that are reached as `dgarray.mesh` is.
_lists = [node for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
          if isinstance(node, ast.ImportFrom)]
HOMES = {alias.name: node.module for node in _lists if node.module for alias in node.names}
PARTS = {alias.name for node in _lists if not node.module for alias in node.names}
__all__ = sorted(HOMES)          # noqa: PLE0605  type checkers read the other file

# What a boundary condition is called in other codes: what to write here.
ELSEWHERE = {
    "open": "pressure_release (p = 0, reflects everything) or absorbing (lets waves leave)",
    "free_surface": "pressure_release", "sound_soft": "pressure_release", "sound_hard": "wall", "rigid": "wall",
    "slip_wall": "wall", "reflecting": "wall", "symmetry": "wall", "reflective": "wall", "dirichlet": "prescribed",
    "neumann": "outflow (q+ = q-) or wall", "extrapolation": "outflow", "supersonic_outflow": "outflow",
    "leontovich": "impedance", "surface_impedance": "impedance",
    "silver_mueller": "absorbing", "radiation": "absorbing", "non_reflecting": "absorbing, of a gas far_field",
    "farfield": "far_field", "characteristic": "far_field, of linear laws absorbing",
    "huygens": "total_field", "tfsf": "total_field", "scattered_field": "scattered",
    "periodic": "mesh.periodic(...), a property of the mesh",
}


def deeper(name):
    """Where a name that is not one of dgarray itself is to be found: "dgarray.mesh.polygon", or None."""
    for part in ("mesh", "analysis", "output", "cases"):
        if callable(getattr(import_module(f".{part}", __name__), name, None)):
            return f"dgarray.{part}.{name}"
    defined = re.compile(rf"^(?:def|class) {re.escape(name)}\b", re.MULTILINE)
    modules = (Path(__file__).parent / "analysis").glob("*.py")
    return next((f"dgarray.analysis.{path.stem}.{name}" for path in modules
                 if defined.search(path.read_text(encoding="utf-8"))), None)


def __dir__():
    """The public names, for completion and `dir(dgarray)`."""
    return sorted([*__all__, "__version__", "__doc__"])


def __getattr__(name):
    """A public name or a part of the package, imported when first used; of a name that does not exist, the nearest."""
    if name in PARTS:
        return import_module(f".{name}", __name__)
    if name in HOMES:
        globals()[name] = found = getattr(import_module(f".{HOMES[name]}", __name__), name)
        return found
    if name.startswith("__") or find_spec(f".{name}", __name__):          # Python asks, then imports the module itself
        raise AttributeError(name)
    if found := deeper(name):
        raise AttributeError(f"dgarray: the name {name!r} does not exist; did you mean {found}?")
    if name in ELSEWHERE:
        raise AttributeError(f"dgarray: the name {name!r} does not exist; write {ELSEWHERE[name]}")
    try:
        choose("dgarray: the name", name, __all__)
    except ValueError as error:
        raise AttributeError(str(error)) from None


xarray_accessor.register()
if processes() > 1:          # what goes wrong in all of them is said once
    import_module(".run.ranks", __name__).handle_errors()
