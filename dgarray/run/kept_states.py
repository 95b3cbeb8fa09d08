"""States of a run for the way back: some are kept, the others are computed again from these.

Forwards, when nobody knows how many steps there will be, states at equal distances are kept, and every other one goes where
they become too many. Backwards the states between two of them are computed again; where they are more than there is room for,
some on the way are kept by binomial placement, so that few steps are computed more than once.  Griewank & Walther 2000.
"""
from math import comb, isqrt

from .step_states import StepStates, copied

FEW, BYTES = 32, 1 << 28          # states that may be there in any case, where no budget says less, and what these may have


class KeptStates:
    """The states of a run's steps, for a pass from the last to the first.

    size     bytes of a state
    most     how many states there may be at once, besides those of a step; None: the root of the number of steps, but at least
             `least`: 32, or as many as have 256 MB
    steps    [(time after the step, its length)] of the run;  kept: {number of steps: plain arrays} of states"""

    def __init__(self, size, most=None):
        self.most, self.least = most, max(FEW, BYTES // size)
        self.steps, self.kept, self.stride = [], {}, 1

    def look(self, state):
        """Take the `State` after a step."""
        self.steps.append((state.t, state.dt))
        if state.step % self.stride == 0:
            self.kept[state.step] = state.q
            while len(self.kept) >= (max(self.least // 2, self.stride // 2) if self.most is None else max(1, self.most // 2)):
                self.stride *= 2
                self.kept = {step: q for step, q in self.kept.items() if step % self.stride == 0}

    @property
    def times(self):
        """Of all states, the first one's, too."""
        return [0.0, *(t for t, _ in self.steps)]

    def backwards(self, operator, inside=False):
        """(number of steps, the state after them on the backend, those of the next step) from the last to the first.

        inside   whether the states between the stages of each step are wanted, as `StepStates.computed` gives them; None of
                 the last state"""
        most, end = self.most or max(self.least, isqrt(len(self.steps))), len(self.steps)
        self.inside, per_step, last = StepStates(operator) if inside else None, operator.stage_count if inside else 1, True
        while self.kept:
            first = max(self.kept)
            state = operator.state(self.kept[first])
            room = most - len(self.kept) + 1
            yield from self.between(operator, state, first, end, max(1, room), per_step, last)
            self.kept.pop(first)
            last, end = False, first

    def between(self, operator, state, first, end, room, per_step, last):
        """The same of the steps from `first` to `end` - 1, of which the state before the first is there, and if `last` of the
        state after them; room: how many states there may be, this one included; per_step: how many a step has."""
        while end - first > max(1, (room - 1) // per_step):
            middle = end - 1 if room == 1 else first + share(end - first, room)
            ahead = self.advanced(operator, copied(operator, state), first, middle)
            yield from self.between(operator, ahead, middle, end, max(1, room - 1), per_step, last)
            last, end = False, middle
        steps = [(self.time_before(step), self.steps[step][1]) for step in range(first, end)]
        if self.inside is None:
            states = [state]
            for step in range(first, end):
                states.append(self.advanced(operator, copied(operator, states[-1]), step, step + 1))
            *before, after = [(each, None) for each in states]
        else:
            found, final = self.inside.computed(state, steps)
            before, after = [(each[0], each) for each in found], (final, None)
        if last:
            yield end, *after
        while before:
            yield first + len(before) - 1, *before.pop()

    def advanced(self, operator, state, first, last):
        """The state after `last` steps, from that after `first`, which is used up."""
        for step in range(first, last):
            state = operator.advance(state, self.time_before(step), self.steps[step][1])
        return state

    def time_before(self, step):
        """The time at which a step begins."""
        return self.steps[step - 1][0] if step else 0.0


def share(count, room):
    """After how many of so many states the next one is kept, with room for some: C(r + s - 1, s) with the fewest repetitions r
    for which C(r + s, s) states fit."""
    repeats = next(r for r in range(1, count + 1) if comb(r + room, room) >= count)
    return min(count - 1, max(1, comb(repeats + room - 1, room)))
