"""Where a result comes from: versions, date, call, the source of the user's functions, the mesh's digest."""
import os
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from inspect import signature

from ..mesh.digest import digest
from ..physics.laws.law import shown
from ..version import __version__
from .function_sources import sources

LIBRARIES = "numpy", "numba", "scipy", "xarray", "cupy-cuda13x", "jax"
FUNCTIONS = "law", "method", "initial", "boundary", "source", "exact", "flux", "results", "record"
SHOWN_ELSEWHERE = "mesh", "until", "every", "case", "results"          # options that are not in the text of a call


def provenance(sim):
    """Attributes of a simulation's datasets: version, versions, mesh_digest, and functions, {where it is given: source}."""
    return {"version": __version__, "versions": versions(), "mesh_digest": digest(sim.mesh),
            "functions": sources({name: sim.options[name] for name in FUNCTIONS})}


def began(call):
    """Attributes of a run that begins now: date, call, and history as the CF conventions ask for it, a line for each run."""
    date = now()
    return {"date": date, "call": call, "history": f"{date} dgarray {__version__}: {call}"}


def now():
    """The date in UTC, such as 2026-05-17T12:30:05Z; the environment variable SOURCE_DATE_EPOCH sets another, so that two
    stores can be the same to the last bit. Raises ValueError where that is no number of seconds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        date = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"SOURCE_DATE_EPOCH={epoch!r} is not allowed; it must be a whole number of seconds since "
                         "1970") from None
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def versions():
    """{name: version} of Python and of the libraries that compute."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def call_of(sim, until, every, restart):
    """The call that makes and runs a simulation from Python, without options that are as by default."""
    defaults = {name: p.default for name, p in signature(type(sim)).parameters.items()}
    given = [f"mesh={sim.mesh.source}", *(f"{name}={text_of(value)}" for name, value in sim.options.items()
                                          if name not in SHOWN_ELSEWHERE and value != defaults[name])]
    when = [f"until={until!r}", *([f"every={every!r}"] if every is not None else []), *(["restart=True"] if restart else [])]
    return f"Simulation({', '.join(given)}).run({', '.join(when)})"


def text_of(value):
    """An option as in a call, functions by their names."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {text_of(each)}' for key, each in value.items())}}}"
    return shown(value)
