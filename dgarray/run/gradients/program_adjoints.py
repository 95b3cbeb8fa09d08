"""The adjoints of an operator's programs, and derivatives by the law's parameters, which are constants of programs."""
import re
from contextlib import contextmanager
from copy import copy
from dataclasses import replace

import numpy as np

from ...backends.arrays import ArrayBackend
from ...program.transpose import adjoint
from ...spaces.by_node import PointNumbers

PLACES = "volume", "faces", "mass"          # of the values of a medium that varies inside of elements, see `Media`


class ProgramAdjoints:
    """The adjoints of programs of an operator of discontinuous Galerkin.

    operator   whose programs these are;  parameters: names of the law's parameters by which derivatives are asked for
    sets       as `sets_of` says
    points     the `MovedPoints` that gets derivatives by constants that know the mesh's points; None: they are not asked for
    by_node    {name of a parameter: its `ByNode`}, of those whose derivatives are by the numbers at nodes
    found      {parameter: (element,)} their derivatives so far, by the number that each element of the mesh has, or
               (element, node)"""

    def __init__(self, operator, parameters, points=None, by_node=None):
        self.operator, self.parameters, self.sets, self.points = operator, parameters, sets_of(operator), points
        self.by_node = by_node or {}
        self.numbered = numbered(operator, self.by_node)
        self.backend = arrays_like(operator)
        self.programs, self.constants = {}, {}
        self.found = {name: np.zeros(self.by_node[name].values.shape if name in self.by_node else operator.mesh.cell_count)
                      for name in parameters}

    def program(self, name, *options, inputs=None):
        """(The adjoint of a program, as an interpreter; {name of a constant: (parameter, the element of each entry)}).

        inputs   names, behind a set's prefix, of the inputs by which derivatives are wanted; None: all"""
        key = name, *options, inputs
        if key not in self.programs:
            program, owners = self.operator.program(name, *options), {}
            for parameter in self.parameters:
                owners |= (self.owners_at_nodes(name, options, parameter) if parameter in self.by_node else
                           self.owners(program, parameter))
            wanted = program.inputs() if inputs is None else [prefix + each for prefix in self.sets for each in inputs]
            moving = self.points.constants(name, *options) if self.points else ()
            transposed = adjoint(program, {*wanted, *owners, *moving})
            self.programs[key] = self.backend.interpreter(transposed, self.constants), owners
        return self.programs[key]

    def run(self, given, name, *options, inputs=None):
        """The outputs of the adjoint of a program, arguments as of `program`; what it says of parameters is added to `found`.

        given   {name: array or number}, which may have more names"""
        interpreter, owners = self.program(name, *options, inputs=inputs)
        wanted = (*interpreter.program.inputs(), *interpreter.program.inputs("number"))
        found = interpreter.run({each: given[each] for each in wanted})
        for each, (parameter, cells, *weights) in owners.items():
            values, total = found[f"adjoint of {each}"].ravel(), self.found[parameter]
            if weights:
                for node, weight in enumerate(weights[0]):
                    total[:, node] += np.bincount(cells, weight * values, len(total))
            else:
                total += np.bincount(cells, values, len(total))
        for each in self.points.constants(name, *options) if self.points else ():
            self.points.add((name, *options), each, found[f"adjoint of {each}"])
        return found

    def owners(self, program, parameter):
        """{name of a constant: (parameter, the element of the mesh whose parameter each of its entries is)}."""
        found = {}
        for prefix, (_, each, cells) in self.sets.items():
            with numbers_for(each.tables, parameter):
                for name, value in program.inputs("constant").items():
                    start = f"{prefix}m.{parameter}"
                    if name.startswith(start) and name[len(start):][:1] in ("", " ", ","):
                        found[name] = parameter, cells[np.asarray(value.held()).astype(int)].ravel()
        for name, value in program.inputs("constant").items():
            if at_join := re.fullmatch(rf"{re.escape(parameter)}, (left|right|own \d|there \d), join (\d+)", name):
                place, number = at_join.groups()
                mortars = self.operator.operations.all_stages.lists[int(number)]
                side = {"left": 0, "right": 1}.get(place, int(place[-1]) if place[-1].isdigit() else 0)
                side = 1 - side if place.startswith("there") else side
                cells = self.cells_of(mortars.tables[side])[mortars.rows[side][:, 0]]
                found[name] = parameter, np.broadcast_to(cells, value.shape).ravel()
        return found

    def owners_at_nodes(self, name, options, parameter):
        """The same of a parameter at nodes, {name: (parameter, elements, weights (node, entry))}."""
        (twin, numbers), found = self.numbered, {}
        constants = twin.program(name, *options).inputs("constant")
        starts = [f"{prefix}m.{parameter}" for prefix in self.sets]
        for each, value in constants.items():
            of_set = any(each.startswith(start) and each[len(start):][:1] in (" ", ",") for start in starts)
            if of_set or re.fullmatch(rf"{re.escape(parameter)}, .*, join \d+", each):
                points = numbers[parameter].at(np.asarray(value.held()).ravel())
                found[each] = parameter, *self.by_node[parameter].at(points)
        return found

    def cells_of(self, tables):
        """Numbers of the elements of a set in the mesh."""
        return next(cells for _, each, cells in self.sets.values() if each.tables is tables)


def numbered(operator, by_node):
    """(an operator whose parameters at nodes are the numbers of points, {name: these `PointNumbers`}); without such
    (None, {})."""
    if not by_node:
        return None, {}
    numbers, law = {name: PointNumbers() for name in by_node}, copy(operator.problem.law)
    law.parameters = law.parameters | numbers
    problem = replace(operator.problem, law=law)
    return operator.method.discretised(problem, arrays_like(operator)), numbers


def arrays_like(operator):
    """The backend of array expressions in float64 beside that of an operator."""
    backend = ArrayBackend(np, "float64", "numpy", operator.backend.threads)
    backend.messages = operator.backend.messages
    return backend


def host(operator, sets, state):
    """{prefix: a copy of the state of each set (variable, row, element)}, in float64 on the host; sets: as of `sets_of`."""
    parts = operator.by_set(state)
    return {prefix: np.array(each.operations.host(parts[name]), float) for prefix, (name, each, _) in sets.items()}


def sets_of(operator):
    """{prefix of its names in programs: (name, `SetOperator`, numbers of its elements in the mesh)} of each element set."""
    return {f"{each.name}: " if operator.several else "": (each.name, operator.operators[each.name], each.cells)
            for each in operator.sets}


@contextmanager
def numbers_for(tables, parameter):
    """While it is open the tables have the number of its element for each value of a parameter."""
    numbers = np.arange(tables.elements, dtype=float)
    places = [tables.parameters, *(getattr(tables.media, place) for place in PLACES)]
    kept = [dict(each) for each in places]
    for each in places:
        if parameter in each:
            each[parameter] = np.broadcast_to(numbers, np.shape(each[parameter])).copy()
    try:
        yield
    finally:
        for each, values in zip(places, kept):
            each.update(values)
