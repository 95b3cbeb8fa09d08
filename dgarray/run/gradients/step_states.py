"""The states between the stages of some steps that follow each other, for the way back."""
from ...stepping import registers


class StepStates:
    """Computes steps of an operator into arrays of their own, which are used again.

    steps   [(the states before a step and after each of its stages, a function that computes these from the first)]"""

    def __init__(self, operator):
        self.operator, self.steps = operator, []
        self.register = operator.zeros() if registers(operator.stepper)[1] else None

    def computed(self, state, steps):
        """([the states of each step: before it and after each of its stages, not filtered], the state at the end).

        state   before the first step, which stays as it is;  steps: [(time before it, length)] of each"""
        operator, found = self.operator, []
        for number, (t, dt) in enumerate(steps):
            if number == len(self.steps):
                self.steps.append(self.prepared())
            states, compute = self.steps[number]
            if states[0] is not state:
                operator.copy(state, states[0])
            operator.operations.set_clock(dt, [*(t + row.c * dt for row in operator.stepper.stages), t + dt])
            compute()
            found.append(states)
            state = states[-1]
            if operator.filters:
                state = operator.filtered(copied(operator, state))
        return found, state

    def prepared(self):
        operator, rows = self.operator, self.operator.stepper.stages
        first = self.steps[-1][0][-1] if self.steps and not operator.filters else operator.zeros()
        states = [first, *(operator.zeros() for _ in rows)]
        operations = [each for number, row in enumerate(rows) for each in operator.operations.stage_operations(
            states[number], states[number + 1], self.register, states[0], row, number)]
        return states, operator.backend.prepared(operations)


def copied(operator, state):
    """A copy of a state on the backend."""
    found = operator.zeros()
    operator.copy(state, found)
    return found
