"""The stages of several element sets that meet at joins, or of one, by array expressions: one program for all of them."""
from functools import cached_property

from ...program.costs import title
from ..operation import Operation
from ..stage_update import factors_of, kind_of
from . import stage_program
from .join_fluxes import JoinFluxes
from .mortars import MortarList


class ArrayStages:
    """The stages of all sets together, by the interpreter.

    operations   {name of a set: its `SetOperations`}
    joins        `Join`s between them, or between elements of one
    several      {name: whether a face of that set may have several mortars}
    copies       the `Copies` of other parts' elements, on a part of a mesh"""

    copies = None

    def __init__(self, operations, joins=(), several=None):
        self.operations, self.several = operations, several or dict.fromkeys(operations, False)
        self.backend = next(iter(operations.values())).backend
        self.lists, self.interpreters = [self.mortars(join) for join in joins], {}

    def mortars(self, join):
        """The `MortarList` of a join."""
        tables, several = [each.tables for each in self.operations.values()], list(self.several.values())
        return MortarList([tables[number] for number in join.sets], join, [several[number] for number in join.sets])

    @cached_property
    def forms(self):
        """{name of a set: a function that makes its recipe for a `Trace`}."""
        return {name: lambda trace, name=name, each=each: each.recipe(trace, name or "")
                for name, each in self.operations.items()}

    @cached_property
    def constants(self):
        """{name: array} of the constants of all programs."""
        return next(iter(self.operations.values())).constants

    def interpreter(self, name, *options):
        """The `Interpreter` of a program of all sets."""
        if (name, *options) not in self.interpreters:
            self.interpreters[name, *options] = self.backend.interpreter(self.program(name, *options), self.constants)
        return self.interpreters[name, *options]

    def program(self, name, *options):
        """A program of all sets, of a function of `stage_program`."""
        joins = [JoinFluxes(self.lists, self.several)] if self.lists else []
        return getattr(stage_program, name)(self.forms, *options, *joins)

    def copies_operations(self, states):
        """The operations that renew the copies of other parts' elements in these states."""
        return [] if self.copies is None else self.copies.operations(states)

    def named(self, what, arrays):
        """{name of an input or output of the programs: array}, of {name of a set: array}."""
        return {f"{name}: {what}" if name else what: array for name, array in arrays.items() if array is not None}

    def rhs(self, states, t):
        """{name of a set: dq/dt}; 0 at copies of other parts' elements."""
        self.backend.perform(self.copies_operations(states))
        targets = {name: self.backend.zeros(q.shape) for name, q in states.items()}
        self.interpreter("rhs").run({"t": t} | self.named("q", states), self.named("r", targets))
        return targets

    def limit_operations(self, states):
        """The operations that limit new states, {name of a set: q}, in place; where a limiter looks at neighbours, copies of
        some are renewed before."""
        tables, arrays = [each.tables for each in self.operations.values()], self.named("q", states)
        tasks = self.interpreter("limit", self.backend.dtype).tasks(arrays, arrays, dict)
        copies = self.copies_operations(states) if tables[0].limiting.limiter else []
        return [*copies, *self.named_tasks(tasks, "limiter: ")]

    def named_tasks(self, tasks, kind=""):
        """The `Operation`s of `Interpreter.tasks`."""
        return [Operation(kind + title(operations), run, None, reads, writes) for operations, run, reads, writes in tasks]

    def update_operations(self, states, row, number):
        """The operations of a stage, {name of a set: (q, out, k, q0)}; see `SetOperations.update_operations`."""
        arrays = {what: self.named(what, {name: each[i] for name, each in states.items()})
                  for i, what in enumerate(("q", "out", "k", "q0"))}
        interpreter, first = self.interpreter("stage", kind_of(row)), next(iter(self.operations.values()))
        given, targets = arrays["q"] | arrays["k"] | arrays["q0"], arrays["out"] | arrays["k"]

        def numbers():
            return factors_of(row, first.dt) | {"t": first.stage_times[number]}
        tasks = interpreter.tasks(given, targets, numbers)
        return [*self.copies_operations({name: each[0] for name, each in states.items()}), *self.named_tasks(tasks)]
