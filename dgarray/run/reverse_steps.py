"""The steps of a run backwards: from the derivatives of a number by the state after a step those by the state before it, and by
the parameters of the law.

A stage is a program, and so is its adjoint, see `dgarray.program.transpose`. Steps keep the lengths that they had.
"""
import re
from contextlib import contextmanager

import numpy as np

from ..backends.arrays import ArrayBackend
from ..methods.stage_update import factors_of, kind_of
from ..program.transpose import NotDifferentiable, adjoint

PLACES = "volume", "faces", "mass"          # of the values of a medium that varies inside of elements, see `Media`


class ReverseSteps:
    """The adjoint of the steps of an operator of discontinuous Galerkin.

    States and their adjoints are {prefix: (variable, row, element)}, with the prefix of each element set's names in programs,
    "" where there is one set.

    operator   whose steps these are;  parameters: names of the law's parameters by which derivatives are asked for
    found      {parameter: (element,)} their derivatives so far, by the number that each element of the mesh has"""

    def __init__(self, operator, parameters):
        self.operator, self.parameters, self.sets = operator, parameters, sets_of(operator)
        check(operator.method, [each.tables for _, each, _ in self.sets.values()])
        self.backend = ArrayBackend(np, "float64", "numpy", operator.backend.threads)
        self.programs, self.constants = {}, {}
        self.found = {name: np.zeros(operator.mesh.cell_count) for name in parameters}

    def arrays(self, state):
        """A copy of a state of the operator."""
        parts = self.operator.by_set(state)
        return {prefix: np.array(each.operations.host(parts[name]), float) for prefix, (name, each, _) in self.sets.items()}

    def state(self, arrays):
        """The state of the operator with these arrays."""
        return self.operator.of_sets({name: each.operations.state(arrays[prefix])
                                      for prefix, (name, each, _) in self.sets.items()})

    def program(self, name, *options):
        """(the adjoint of a program, as an interpreter; {name of a constant: (parameter, the element of each entry)})."""
        if (name, *options) not in self.programs:
            program, owners = self.operator.program(name, *options), {}
            for parameter in self.parameters:
                owners |= self.owners(program, parameter)
            transposed = adjoint(program, {*program.inputs(), *owners})
            self.programs[name, *options] = self.backend.interpreter(transposed, self.constants), owners
        return self.programs[name, *options]

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

    def cells_of(self, tables):
        """Numbers of the elements of a set in the mesh."""
        return next(cells for _, each, cells in self.sets.values() if each.tables is tables)

    def step(self, arrays, t, dt, adjoints):
        """The adjoints of the state `arrays` before a step of the length dt from t, from those after it.

        With the adjoints b of the state and p of the register after a stage, see `dgarray.stepping`, those before it are

            p' = p + B b,  r' = dt (w p' + C b),  q' = beta b + v p' + (dr/dq)^T r',  k' = A p',  q0' = alpha b + u p'

        and of a parameter m (dr/dm)^T r' is added; the transposed program of the stage computes all of them."""
        rows, inputs = self.operator.stepper.stages, [arrays]
        inputs += [self.arrays(new) for _, new in self.operator.stages(self.state(arrays), t, dt)][:-1]
        if any(each.tables.filter is not None for _, each, _ in self.sets.values()):
            adjoints = self.pulled("q", inputs[-1], adjoints, {}, "filtered")["q"]
        at_start, k = dict.fromkeys(adjoints, 0.0), {}
        for row, q in zip(reversed(rows), reversed(inputs)):
            numbers = factors_of(row, dt) | {"t": t + row.c * dt}
            result = self.pulled("out", q, adjoints, numbers, "stage", kind_of(row), k=k)
            adjoints, more = result["q"], result.get("k", {})
            # A stage that leaves the register alone hands on what later ones ask of it.
            k = more if row.changes else {prefix: more.get(prefix, 0.0) + k.get(prefix, 0.0) for prefix in q}
            for prefix, more in result.get("q0", {}).items():
                at_start[prefix] = at_start[prefix] + more
        return {prefix: each + at_start[prefix] for prefix, each in adjoints.items()}

    def pulled(self, output, q, adjoints, numbers, name, *options, k=None):
        """{input of a program: adjoints}, of those of its output, and of its register k where it has one."""
        program, owners = self.program(name, *options)
        given, result, k = dict(numbers), {}, k or {}
        for prefix, values in q.items():
            given |= {f"{prefix}q": values, f"adjoint of {prefix}{output}": adjoints[prefix],
                      f"adjoint of {prefix}k": np.broadcast_to(k.get(prefix, 0.0), values.shape)}
            given |= dict.fromkeys((f"{prefix}k", f"{prefix}q0"), values)          # in which a stage is linear
        wanted = (*program.program.inputs(), *program.program.inputs("number"))
        found = program.run({each: given[each] for each in wanted})
        for each, (parameter, cells) in owners.items():
            self.found[parameter] += np.bincount(cells, found[f"adjoint of {each}"].ravel(), len(self.found[parameter]))
        for prefix in q:
            for what in ("q", "k", "q0"):
                if f"adjoint of {prefix}{what}" in found:
                    result.setdefault(what, {})[prefix] = found[f"adjoint of {prefix}{what}"]
        return result


def check(method, all_tables):
    """Raise NotDifferentiable for what a step does that has no derivative."""
    for tables in all_tables:
        options = [name for name in ("limiter", "positivity", "shock_capturing") if getattr(method, name, None)]
        if tables.limits is not None or options:
            raise NotDifferentiable(f"{options[0] if options else 'a limiter'} decides by the state what it changes, and has "
                                    f"no derivative: {method!r}; leave it out, on a mesh that resolves the solution")


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
