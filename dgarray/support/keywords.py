"""Keywords that a function or constructor does not have: the error names the nearest one, also by what others call it."""
from __future__ import annotations

import inspect
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .wording import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])

# {argument here: what it is called elsewhere}, small letters.
ALIASES = {
    "boundary": "bc bcs boundaries boundary_condition boundary_conditions",
    "initial": "ic q0 u0 initial_condition initial_state",
    "until": "t tend t_end tmax t_max tfinal t_final end end_time final_time stop_time",
    "every": "output_interval save_every interval", "dt": "timestep time_step delta_t step", "cfl": "courant courant_number",
    "stepper": "integrator time_integrator",
    "flux": "riemann riemann_solver numerical_flux solver", "source": "sources forcing", "exact": "exact_solution analytic",
    "record": "recorder recorders probe probes receivers monitors detectors", "out": "output file filename path",
    "backend": "device", "threads": "num_threads n_threads nthreads", "dtype": "precision", "method": "scheme discretization",
    "law": "equation equations physics model", "mesh": "grid domain",
    "order": "degree p n polynomial_degree polynomial_order", "indicator": "sensor troubled_cell", "scheme": "reconstruction",
    "cells": "n nx resolution elements num_cells shape", "lower": "low start min origin", "upper": "high end max",
    "density": "rho rho0", "sound_speed": "c c0 speed", "velocity": "c a u v speed", "eps": "epsilon eps_r permittivity",
    "mu": "mu_r permeability", "gamma": "g adiabatic_index heat_capacity_ratio", "sigma": "conductivity",
    "cleaning_speed": "ch c_h", "center": "centre", "centre": "center",
}


def alias(name, allowed):
    """The hint " (did you mean 'other'?)" of the allowed names for one that does not exist, "" where none is near."""
    meant = [other for other in allowed if name.casefold() in ALIASES.get(other, "").split()]
    return f" (did you mean {meant[0]!r}?)" if meant else nearest(name, allowed)


@cache
def keywords_of(function):
    """Names that a function takes as keywords, None where it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name != "self"]


def check_keywords(title, function, given):
    """Raise TypeError, with the nearest name, if one of the names given is not a keyword of the function."""
    allowed = keywords_of(function)
    for name in given if allowed is not None else ():
        if name not in allowed:
            raise TypeError(f"{title} has no argument {name!r}; it has: {', '.join(allowed) or 'none'}{alias(name, allowed)}")


def keywords(function: F) -> F:
    """The function, with `check_keywords` before each call; for functions that do not warn, as warnings name the line of the
    caller."""
    @wraps(function)
    def checked(*args, **kwargs):
        if kwargs:
            check_keywords(function.__name__, function, kwargs)
        return function(*args, **kwargs)
    return cast("F", checked)


class Keywords:
    """A class whose constructor is checked by `check_keywords`."""

    def __new__(cls, *args: Any, **kwargs: Any):
        if kwargs:
            check_keywords(cls.__name__, cls.__init__, kwargs)
        return super().__new__(cls)
