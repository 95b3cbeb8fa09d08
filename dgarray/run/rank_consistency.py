"""Whether all ranks were given the same problem. They execute the same script, and a random number without a seed in it, the
clock, or a file that has changed meanwhile make another problem of each."""
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType

import numpy as np

from ..mesh.digest import digest as digest_of_mesh
from ..physics.laws.law import Law, shown
from .function_sources import names_read
from .restart import SAMPLES, values_at

OF_PROBLEM = ("law", "method", "boundary", "initial", "exact", "source", "flux", "stepper", "dt", "cfl", "dtype", "kernels",
              "steady", "record")
LENGTH = 120          # characters of an input in a message
# Kinds of values, read by a function, that are compared: not whole numbers, one of which may be the number of the rank.
READ = float, complex, np.ndarray, list, tuple, dict, set, frozenset, partial, MethodType, FunctionType, Law


def agree(ranks, given):
    """Raise ValueError, on all ranks, where they were given different values: {name: value}, of any kind."""
    found = ranks.everyones({name: (digest(value), text_of(value)) for name, value in given.items()})
    for name, (first, text) in found[0].items():
        for rank, (other, there) in enumerate(each[name] for each in found):
            if other != first:
                how = f"{text} on rank 0, {there} on rank {rank}" if text != there else f"{text}, but with other values"
                raise ValueError(f"the ranks were given different problems; {name}: {how}. All must compute the same one: give "
                                 "random numbers a seed, and let one rank read or measure and send to the others")


def of_problem(sim):
    """{name: value} of what makes the problem of a simulation; of the initial state also its values at some places."""
    given, initial = {"mesh": sim.mesh} | {name: sim.options[name] for name in OF_PROBLEM}, sim.options["initial"]
    return given | {"initial": (initial, values_at(sim, initial, sim.mesh.samples(SAMPLES), (0.0,), "initial"))}


def text_of(value):
    """A value in a message, not too long."""
    text = shown(value[0] if isinstance(value, tuple) and value else value)
    return text if len(text) <= LENGTH else f"{text[:LENGTH]} ..."


def digest(value, seen=None):
    """Digits that tell values apart: numbers and arrays to the last bit; functions by their code and by the numbers and arrays,
    not the whole numbers, that they read from around them; meshes by all that they hold; others by their type and fields.

    Equal values have equal digits, whether they are one object or copies.
    seen   {id: (object, its digits, or "" while they are being made)}, of objects that hold others"""
    seen = {} if seen is None else seen
    found = sha256(f"{type(value).__qualname__};".encode())
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        found.update(f"{value!r};".encode())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        found.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif hasattr(value, "identity") and hasattr(value, "samples"):
        found.update(digest_of_mesh(value).encode())
    elif id(value) in seen:
        return seen[id(value)][1]
    else:
        seen[id(value)] = value, ""
        for name, part in _parts(value):
            found.update(f"{name}:{digest(part, seen)};".encode())
        seen[id(value)] = value, found.hexdigest()
    return found.hexdigest()


def _parts(value):
    """(name, part) of what a value is made of."""
    if isinstance(value, dict):
        return enumerate(value.items())          # a key may be an object, whose text may hold an address
    if isinstance(value, (set, frozenset)):
        return enumerate(sorted(map(digest, value)))
    if isinstance(value, (list, tuple)):
        return enumerate(value)
    if isinstance(value, np.ndarray):
        return [("shape", value.shape), ("objects", value.ravel().tolist())]
    if isinstance(value, partial):
        return [("function", value.func), ("arguments", value.args), ("keywords", value.keywords)]
    if isinstance(value, MethodType):
        return [("function", value.__func__), ("object", value.__self__)]
    if isinstance(value, FunctionType):
        reads = [(name, each) for name, each in names_read(value).items() if isinstance(each, READ)]
        return [("code", value.__code__), ("defaults", value.__defaults__), ("keywords", value.__kwdefaults__), *reads]
    if isinstance(value, CodeType):
        return [("text", value.co_code), ("names", value.co_names), ("constants", value.co_consts)]
    if isinstance(value, type):
        return [("name", value.__qualname__)]
    if isinstance(value, Law):
        return [("text", repr(value)), ("parameters", value.parameters), ("laws", value.laws), ("internal", value.internal)]
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    slots = [name for kind in type(value).__mro__ for name in np.atleast_1d(getattr(kind, "__slots__", ())).tolist()]
    there = {name: getattr(value, name) for name in slots if hasattr(value, name)} | getattr(value, "__dict__", {})
    return [(name, part) for name, part in there.items() if isinstance(part, (*READ, bool, int, str))]
