"""The base class of a method's operations on a backend, `SetOperations` and `HalfSteps`."""
from functools import cached_property

from ..stepping import first, sequence
from .operation import Operation, OperationLists


class Recipe:
    """The operations of a method on a backend, as array expressions. A backend derives a class that replaces some of them by
    kernels.

    A recipe has stage(q, out, k, q0, t, dt, row), which computes one stage of a step, a row of the stepper's table, from the
    state q to `out`: see `dgarray.stepping`.

    work          names of the parts that a step of this problem has, that which takes longest first
    fused         names of the parts that this class computes by kernels, whether the problem has them or not
    variant       which kernels compute, where there are several; else None
    in_place      whether a stage may write the state that it reads
    check_every   steps between two checks of the state; more than one where a check waits for a device
    checks        whether `checking` gives a check, so that a step includes it
    dt, stage_times   the clock: the time step, and the times of a step's stages and of its end, which operations read
    `work` leaves out reductions of a state, such as whether it is finite, and what recorders and output read."""

    work, fused, variant, check_every, checks, in_place = (), frozenset(), None, 1, False, False
    dt, stage_times = 0.0, (0.0,)

    @cached_property
    def _lists(self):
        return OperationLists()

    @property
    def array_expressions(self):
        """The parts of this problem's step that run as array expressions, not as kernels."""
        return [part for part in self.work if part not in self.fused]

    def kernel_texts(self, stepper):
        """{name: source text} of the generated kernels of a step, for people who want to read them."""
        return {}

    def set_clock(self, dt, times):
        """Set the time step and the times that operations read: those of a step's stages, and of its end."""
        self.dt, self.stage_times = dt, times

    def stage_operations(self, q, out, k, q0, row, number=0):
        """The `Operation`s of one stage, at the clock's time step and its time with that number; other arguments as those of
        `stage`."""
        return [Operation("stage", lambda: self.stage(q, out, k, q0, self.stage_times[number], self.dt, row),
                          reads=("state",), writes={"new state": out.nbytes}, kernel=not self.array_expressions)]

    def step(self, stepper, states, k, t, dt, exponent=None):
        """A whole step: (the states with the new one first, the `Check` of the new state or None).

        states, k: the arrays and the register of `dgarray.stepping.stages`
        exponent: not None asks for the check, with the wave rate of this exponent, or 0 without a rate
        Kernels override this function where all stages together run faster than one after the other."""
        def make():
            found, new, number = [], states[0], len(stepper.stages)
            for i, (row, q, new, q0) in enumerate(sequence(stepper, states, self.in_place)):
                found += self.stage_operations(q, new, k, q0, row, i)
            checks, check = ([], lambda: None) if exponent is None else self.checking(new, number, exponent)
            return self.backend.prepared([*found, *checks]), first(new, states), check
        perform, after, check = self._lists.of((stepper.name, exponent), (*states, k), make)
        self.set_clock(dt, [*(t + row.c * dt for row in stepper.stages), t + dt])
        perform()
        return list(after), check()

    def checking(self, q, number, exponent):
        """(Operations that check a state at a time of the clock with the wave rate of this exponent, 0: without a rate; a
        function that then returns the `Check`); none, and None, where these operations do not."""
        return [], lambda: None

    def performed(self, key, arrays, make):
        """Perform operations on some arrays and return their result: make() gives (the operations, a function that returns it),
        kept by that key if the arrays are among those of a step."""
        def prepared():
            operations, result = make()
            return self.backend.prepared(operations), result
        perform, result = self._lists.held(key, arrays, prepared)
        perform()
        return result()


class Fetched:
    """The result of a copy to the host that is complete at once; see `dgarray.methods.operator.Operator.fetch`."""

    def __init__(self, values):
        self.values = values

    def ready(self):
        return True

    def result(self):
        return self.values
