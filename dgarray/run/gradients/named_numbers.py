"""Numbers of a source or boundary condition, by which a run has derivatives: they become parameters of the law.

A number is what a function of the user has as an argument with a number as its default, `def source(x, t, strength=1.0)`, or a
field of a dataclass, or that of what these hold: the field of `incident(field)` has its own.
"""
import inspect
from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import count
from numbers import Real

import numpy as np

from ...methods.problem import by_name
from ...physics.declared import Declared, Formula, declared
from ...physics.trace import arguments, call, parameters
from ...support.wording import choose

OFFERED = {"q", "x", "t", "m"}          # arguments of a source that are not numbers; and of a condition
OFFERED_AT_SIDES = OFFERED | {"n", "law", "face"}


class NamedNumbers:
    """The numbers of a simulation's source and conditions that are asked for.

    sim      the simulation;  names: such as "source.strength" or "left.strength"
    paths    {name: (name of the boundary, or None of the source, path as of `numbers_of`)}
    values   {name: its value};  own: {name: that of the law's parameter}"""

    def __init__(self, sim, names):
        self.sim, self.paths, self.values = sim, {}, {}
        free = (name for name in map("number_{}".format, count()) if name not in sim.law.parameters)
        self.own = dict(zip(names, free))
        holders, source = dict(by_name(sim.options["boundary"])), sim.options["source"]
        if source is not None and "source" in holders and any(name.startswith("source.") for name in names):
            raise ValueError("wrt='source...' is not allowed where a boundary has the name 'source', too; rename the boundary")
        if source is not None:
            holders["source"] = source
        for name in names:
            holder, _, number = name.rpartition(".")
            holder = choose("wrt", holder, holders, "; numbers are those of")
            found = numbers_of(holders[holder], OFFERED if holders[holder] is source else OFFERED_AT_SIDES)
            path = found[choose(f"wrt={name!r}: number", number, found, f" of {holder!r}, as an argument with a number as its "
                                                                        "default; it has")]
            if path is None:
                raise ValueError(f"wrt={name!r} is not allowed: {holder!r} has several numbers of this name; rename one")
            self.paths[name] = None if holders[holder] is source else holder, path
            self.values[name] = self.check(name, holders[holder], self.paths[name][1])

    def check(self, name, holder, path):
        """The value of a number. Raises ValueError where arrays cannot take its place."""
        value = value_at(holder, path)
        if declared(holder).in_problem:
            raise ValueError(f"wrt={name!r} is not allowed: no derivatives by the numbers of {holder!r}")
        try:
            with_number(holder, path, np.array([value, value]))
        except (TypeError, ValueError) as error:
            raise ValueError(f"wrt={name!r} is not allowed: {holder!r} looks at its value when it is made ({error}); give a "
                             "plain function with an argument of this name") from None
        return value

    def check_values(self, values):
        """Raise ValueError for numbers {name: (element,)} that a source or condition must not have."""
        for name, (holder, path) in self.paths.items():
            own = self.sim.options["source"] if holder is None else by_name(self.sim.options["boundary"])[holder]
            with_number(own, path, float(values[name][0]), built=True)

    def changes(self):
        """{option of the simulation: source or boundary whose numbers are the law's parameters}."""
        options, found = {name: self.sim.options[name] for name in ("source", "boundary")}, {}
        for name, (holder, path) in self.paths.items():
            found.setdefault(holder, {})[path] = self.own[name]
        conditions, source = dict(by_name(options["boundary"])), options["source"]
        for holder, paths in found.items():
            if holder is None:
                source = from_parameters(source, paths)
            else:
                conditions[holder] = from_parameters(conditions[holder], paths)
        return {"source": source, "boundary": conditions or None}


def numbers_of(holder, offered):
    """{name: path} of the numbers of a function or dataclass and what it holds; the path is a tuple of names, None where
    several numbers have the name.

    offered   names of arguments that are none"""
    found = {}
    if is_dataclass(holder):
        for field in fields(holder):
            value = getattr(holder, field.name)
            if is_number(value):
                found[field.name] = None if field.name in found else (field.name,)
            elif callable(value) and not isinstance(value, type):
                for name, path in numbers_of(value, offered).items():
                    found[name] = None if path is None or name in found else (field.name, *path)
    elif callable(holder):
        for name, each in parameters(holder).items():
            if is_number(each.default) and name not in offered:
                found[name] = (name,)
    return found


def is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def value_at(holder, path):
    """The number at a path."""
    for name in path:
        holder = getattr(holder, name) if is_dataclass(holder) else parameters(holder)[name].default
    return float(holder)


def with_number(holder, path, value, built=False):
    """A function or dataclass with another value of the number at a path; built: as its constructor makes it, which checks."""
    name, *rest = path
    if not is_dataclass(holder):
        return partial(holder, **{name: value})
    inner = with_number(getattr(holder, name), rest, value, built) if rest else value
    if built or rest or not isinstance(holder, Formula):
        return replace(holder, **{name: inner})
    return holder.with_number(name, value)


def from_parameters(function, paths):
    """A source or condition whose numbers are the law's parameters, {path: name of the parameter}.

    At faces inside of the mesh, where both sides have these parameters, they are those of the left side."""
    between = declared(function).between

    def own(m):
        found = function
        for path, name in sorted(paths.items(), key=lambda each: -len(each[0])):          # constructors before the numbers
            found = with_number(found, path, getattr(m, name))
        return found
    if between:
        made = asking(between, (), "ml", lambda given: call(own(given["ml"]).between, given))
    else:
        taken = {path[0] for path in paths if not is_dataclass(function)}
        made = asking(function, taken, "m", lambda given: call(own(given["m"]), given))
    if isinstance(function, Formula):
        return like(function, made)
    made.__name__ = getattr(function, "__name__", type(function).__name__)
    for name in Declared._fields:
        if getattr(function, name, None) is not None:
            setattr(made, name, getattr(function, name))
    return made


def like(function, made):
    """A copy of a source or condition of the package, with a function in place of its formula."""
    def formula(self, **given):
        return made(**given)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    formula.__signature__ = inspect.Signature([own, *made.__signature__.parameters.values()])
    between = declared(function).between
    kind = type(type(function).__name__, (type(function),), {} if between else {"__call__": formula})
    found = object.__new__(kind)
    found.keep(**vars(function), **{"between": made} if between else {})
    return found


def asking(function, taken, parameter, value):
    """A function that asks for what another one does, but for the arguments `taken`, and for the law's parameters by the name
    `parameter`; value: of {name: argument}."""
    asked = {name: parameters(function)[name] for name in arguments(function) if name not in taken}

    def with_parameters(**given):
        return value({name: each for name, each in given.items() if name in asked or name == parameter})
    everything = asked | {parameter: inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY)}
    with_parameters.__signature__ = inspect.Signature(
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in everything.values()])
    return with_parameters
