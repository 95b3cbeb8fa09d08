"""Generated source as modules in a cache folder, so that compiled code is found again by later processes."""
import hashlib
import importlib.util
import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path


@cache
def write_module(source, stem):
    """The module of a generated source, imported from a file that is named by `stem` and the hash of the text.

    The file lies in the cache folder, so numba's `cache=True` finds compiled code again in the next process and never that
    of another text; of several processes that want it at a time one compiles. Where that folder cannot be written, the private
    one is used."""
    filename = f"{stem}_{hashlib.sha256(source.encode()).hexdigest()[:16]}.py"
    try:
        path = write_file(cache_folder() / filename, source)
    except OSError:
        path = write_file(private_folder() / filename, source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)    # where numba's cache looks it up
    spec.loader.exec_module(module)
    for function in vars(module).values():
        if type(function).__name__ == "CPUDispatcher" and function.py_func.__module__ == path.stem:
            function.compile = partial(compiled_alone, path, function.compile)
    return module


_alone: list = []          # files whose functions this process compiles


def compiled_alone(path, compile, signature):
    """compile(signature) of a numba function in the file `path`, while no other process compiles one of that file: who waits
    finds what the other has put into numba's cache."""
    from numba.core.compiler_lock import global_compiler_lock
    with global_compiler_lock:          # compiling one function may compile another one of the file
        if path in _alone:
            return compile(signature)
        _alone.append(path)
        try:
            with locked(path):
                return compile(signature)
        finally:
            _alone.remove(path)


@contextmanager
def locked(path):
    """Hold the lock of a file, where the system and the file system have such locks; it ends with the process, too."""
    with ExitStack() as held:
        with suppress(ImportError, OSError):
            from fcntl import LOCK_EX, flock
            flock(held.enter_context(open(path)), LOCK_EX)
        yield


def cache_folder():
    """Where generated code and what has been measured are kept: $DGARRAY_CACHE, else $XDG_CACHE_HOME/dgarray, else
    ~/.cache/dgarray."""
    if os.environ.get("DGARRAY_CACHE"):
        return Path(os.environ["DGARRAY_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dgarray"


def private_folder():
    """A folder that lives as long as the process."""
    return Path(_temporary().name)


@cache
def _temporary():
    return tempfile.TemporaryDirectory(prefix="dgarray-")


def write_file(path, text):
    """Write a file in one step, so that no other process ever reads half of it, and leave one that is right alone:
    numba compiles again what has a new date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_bytes() == text.encode():
        return path
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        file.write(text.encode())
    os.replace(file.name, path)
    return path
