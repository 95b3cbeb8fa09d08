"""Checks of what a user gives to a simulation and to its run: each raises ValueError that says what is allowed."""
import warnings
from math import isfinite
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from ..analysis.probes import Recorder
from ..mesh import Grid, Mesh
from ..methods.method import Method
from ..output import GRID_RESERVED, RESERVED
from ..output.store.codecs import check_compress
from ..physics.declared import declared
from ..physics.laws import Law
from ..physics.laws.law import shown
from ..physics.pointwise import at_points, components, say_numbers_alone, written_at
from ..physics.trace import call
from .decayed import decayed

HELPERS = {"live": "an object with due and update, such as dgarray.output.Live(...)",
           "progress": "True, or an object with update(t, dt, steps)"}
SOME_CENTRES = 4          # cells at whose centres an initial state is tried
EXAMPLES = {"mesh": "dgarray.rectangle()", "law": "dgarray.Maxwell(dim=2)", "method": "dgarray.NodalDG(order=4)"}


# Of a simulation.

def check_problem(mesh, law, method):
    """Raise ValueError unless these are a whole mesh or a grid, a law, and a method that takes the law."""
    for name, value, kinds in (("mesh", mesh, (Mesh, Grid)), ("law", law, Law), ("method", method, Method)):
        if not isinstance(value, kinds):
            raise ValueError(f"{name}={value!r} is not allowed; give a {name}, e.g. {EXAMPLES[name]}")
    if getattr(mesh, "share", None) is not None:
        raise ValueError(f"{mesh.source} is a part of a mesh; give the whole mesh, which the ranks of a run cut")
    method.check_law(law)
    missing = [name for name in ("dim", "variables", "flux", "wave_speed") if not getattr(law, name, None)]
    if missing:
        raise ValueError(f"the law {type(law).__name__} has no {', '.join(missing)}; "
                         "a law needs dim, variables, flux, wave_speed")


def check_numbers(cfl, dt, until, every, steady):
    """Raise ValueError unless all are positive, or, but for cfl, None; and unless `steady` is below 1."""
    check_positive("cfl", cfl)
    check_positive_or_none(dt=dt, until=until, every=every, steady=steady)
    if steady is not None and steady >= 1:
        raise ValueError(f"steady={steady!r} is not allowed; it must be a fraction below 1")


def check_functions(fields, results, flux):
    """Raise ValueError unless all are functions or None; fields: {name: function of x and t}."""
    kinds = {**dict.fromkeys(fields, " of x and t"), "results": " of the dataset", "flux": " such as dgarray.upwind"}
    for name, value in {**fields, "results": results, "flux": flux}.items():
        if value is not None and not callable(value):
            hint = f"; for the same state everywhere write lambda x: {value!r}" * isinstance(value, tuple)
            raise ValueError(f"{name}={value!r} is not allowed; it must be a function{kinds[name]}{hint}")


def check_variables(law, fields):
    """Raise ValueError for fields {name: function} that say other variables than those of the law, as what `plane_wave` and
    `current` make for another law does."""
    for name, field in fields.items():
        variables = declared(field).variables or law.variables
        if tuple(variables) != tuple(law.variables):
            raise ValueError(f"{name}={shown(field)} was made for a law with {', '.join(variables)}, but the law is {law!r}, "
                             f"with {', '.join(law.variables)}; make it for that one")


def check_cfl(cfl, dt, method):
    """Raise ValueError for a cfl with which a run would be unstable, or warn at the line that makes the simulation, where the
    method is not strict."""
    if cfl > 1 and dt is None:
        if method.strict:
            raise ValueError(f"cfl={cfl} is above 1: the run would be unstable; "
                             f"{type(method).__name__}(..., force=True) allows it")
        warnings.warn(f"cfl={cfl} is above 1: the run will be unstable", stacklevel=3)


def check_ranks_given(ranks):
    """Raise ValueError unless the number of ranks is None or 1: a launcher starts several."""
    if ranks not in (None, 1) or isinstance(ranks, bool):
        raise ValueError(f"ranks={ranks!r} is not allowed; it must be None or 1; start several by mpiexec -n {ranks}, or "
                         f"dgarray run --ranks {ranks}")


def check_initial(initial, mesh, law):
    """Raise ValueError or TypeError where the initial state at the centres of some cells is not one component per variable, or
    the function ends in an error; not where it wants other shapes, as one that holds values at all points does."""
    count = min(SOME_CENTRES, np.prod(mesh.shape) if mesh.structured else mesh.cell_count)
    centres = np.array([mesh.centre(number) for number in range(count)])
    role = f"the initial state{written_at(initial)}"
    try:
        with np.errstate(all="ignore"):          # what is not finite is said where it is projected
            result = call(initial, dict(x=tuple(centres.T), t=0.0), role)
    except ValueError as error:
        if "broadcast" in str(error) or "truth value" in str(error):          # the projection says these at its own points
            return
        raise
    except TypeError as error:
        say_numbers_alone(error, role)
        raise
    components(result, len(law.variables), role, law.variables, ", one for each variable")


def check_records(record, law, mesh):
    """The records as {name: recorder}, or ValueError for what is no recorder, and names that the dataset has already."""
    if not isinstance(record or {}, dict):
        raise ValueError(f"record={record!r} is not allowed; give a dict {{name: recorder}}")
    for name, recorder in (record or {}).items():
        if not isinstance(recorder, Recorder):
            raise ValueError(f"record {name!r}: {recorder!r} is not a recorder; give one such as dgarray.Points([...])")
        recorder.check(name, mesh)
        names = *RESERVED, *GRID_RESERVED, *law.variables
        taken = sorted(other for other in names if other.startswith(f"{name}_"))
        if not str(name).isidentifier() or taken:
            why = f"the dataset has a {taken[0]!r}" if taken else "it must be a word of letters, digits and _"
            raise ValueError(f"the name {name!r} of a record is not allowed; {why}")
    return dict(record or {})


# Of a run.

def check_positive(name, value):
    """Raise ValueError unless value is a positive finite number."""
    if not (isinstance(value, Real) and value > 0 and isfinite(value)) or isinstance(value, bool):
        raise ValueError(f"{name}={value!r} is not allowed; it must be a positive number")


def check_positive_or_none(**values):
    """Raise ValueError unless all values are positive finite numbers or None."""
    for name, value in values.items():
        if value is not None:
            check_positive(name, value)


def check_until(until):
    """Raise ValueError unless the end of a run is a positive finite number, or a `decayed`."""
    if until is None:
        raise ValueError("the run has no end; give run(until=...) or Simulation(until=...)")
    if not isinstance(until, decayed):
        check_positive("until", until)


def check_out(out):
    """Raise ValueError unless `out` is None or the name of a folder."""
    if out is not None and (not isinstance(out, (str, Path)) or not str(out)):
        raise ValueError(f"out={out!r} is not allowed; give the name of a folder")


def check_helpers(live, progress):
    """Raise ValueError unless the objects that follow a run have the functions that it calls."""
    for name, value, needed in (("live", live, ("due", "update")),
                                ("progress", None if isinstance(progress, bool) else progress, ("update",))):
        if value is not None and not all(callable(getattr(value, method, None)) for method in needed):
            raise ValueError(f"{name}={value!r} is not allowed; give {HELPERS[name]}")


def check_callback(callback, callback_every):
    """Raise ValueError unless the callback is a function or None, called after a whole number of steps."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r} is not allowed; it must be a function of the state")
    if not isinstance(callback_every, Integral) or callback_every < 1:
        raise ValueError(f"callback_every={callback_every!r} is not allowed; it must be a whole number of steps from 1")


def check_compression(compress, out):
    """Raise ValueError for a compression that there is not, and for one without a store."""
    check_compress(compress)
    if compress is not None and out is None:
        raise ValueError(f"--compress {compress} (compress={compress!r}) is for a store; give --out (out=)")


def check_exact(exact, mesh, law):
    """Raise ValueError before a run if its exact solution could not be compared after it."""
    if exact is not None:
        names = law.variables
        at_points(exact, mesh.examples, 0.0, len(names), f"the exact solution{written_at(exact)}", names)
