"""From what stands for a case at the command line to its function: a name of the package's cases, or a Python file."""
import importlib.util
import sys
from pathlib import Path

from ..support.wording import nearest
from .case_texts import files


def find_case(name):
    """The case function of that name, or the one that a Python file defines: `case`, or named like the file.

    Raises ValueError for what is neither, and says which of these it seems to be."""
    check_case(name)
    if not name.endswith(".py"):
        from .. import cases
        return getattr(cases, name)
    path = Path(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    called(spec.loader.exec_module, module)
    found = [function for function in (getattr(module, each, None) for each in functions_of(path)) if callable(function)]
    if not found:
        raise no_function(path)
    return found[0]


def functions_of(path):
    """The names that the function of a case may have in a Python file."""
    return tuple(dict.fromkeys(["case", path.stem]))


def no_function(path):
    """The ValueError for a Python file without a case."""
    names = " or ".join(f"{name}()" for name in functions_of(path))
    return ValueError(f"{path} defines no function {names} that returns a dgarray.Simulation")


def check_case(name):
    """Raise ValueError unless this is the name of a case, or of a Python file that exists."""
    path = Path(name)
    if name in files() or (path.suffix == ".py" and path.is_file()):
        return
    if path.is_dir():
        raise ValueError(f"{name} is the output of a run, not a case; run its case with --restart {name} to go on with it"
                         if (path / "zarr.json").is_file() else f"{name} is a folder, not a case")
    if path.is_file():
        from meshio import extension_to_filetypes
        if path.suffix.lower() not in extension_to_filetypes:
            raise ValueError(f"{name} is a file, but no case: give a name from 'dgarray list', or a Python file FILE.py")
        raise ValueError(f"{name} is a mesh file, not a case; run a case on it with --mesh {name}, or write a script that "
                         f"reads it with dgarray.read_mesh({name!r})")
    scripts = [str(path.with_name(each.name)) for each in sorted(path.parent.glob("*.py"))]
    if path.suffix or path.name != name:
        raise ValueError(f"{name}: there is no such file{nearest(name, scripts)}; a case is a name from 'dgarray list', or a "
                         "Python file FILE.py")
    raise ValueError(f"case {name!r} does not exist{nearest(name, [*files(), *scripts])}; 'dgarray list' shows all")


def called(function, *arguments, **keywords):
    """Call a user's function; one that ends the process is an error like any other."""
    try:
        return function(*arguments, **keywords)
    except SystemExit as stop:
        raise ValueError(f"the script ended the process with sys.exit({stop.code!r})") from stop
