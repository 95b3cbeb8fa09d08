"""States of a run for the way back: some are kept, the others are computed again from these.

Forwards, when nobody knows how many steps there will be, states at equal distances are kept, and every other one goes where
they become too many. Backwards the states between two of them are computed again; where they are more than there is room for,
some on the way are kept by binomial placement, so that few steps are computed more than once.  Griewank & Walther 2000.
"""
from math import comb, isqrt

from .step_states import StepStates, copied

FEW, BYTES = 32, 1 << 28          # states that may be there in any case, where no budget says less, and what these may have
BESIDE = 8          # states in memory between two of those that are in a file


class KeptStates:
    """The states of a run's steps, for a pass from the last to the first.

    size     bytes of a state
    most     how many states there may be at once, besides those of a step; None: the root of the number of steps, but at least
             `least`: 32, or as many as have 256 MB
    began    time at which the run begins;  file: the `StateFile` in which they are, `most` of them; None: in memory
    steps    [(time after the step, its length)] of the run;  kept: {number of steps: what `Operator.arrays` gives}"""

    def __init__(self, size, most=None, began=0.0):
        self.most, self.began, self.file, self.least = most, began, None, max(FEW, BYTES // size)
        self.steps, self.stride, self.kept = [], 1, {}

    def keep_in(self, file):
        """Keep the states in a `StateFile`."""
        self.kept = self.file = file

    def look(self, state):
        """Take the `State` after a step."""
        self.steps.append((state.t, state.dt))
        step = len(self.steps)
        if step % self.stride == 0:
            self.kept[step] = state.here
            while len(self.kept) >= self.limit:
                self.stride *= 2
                for step in [step for step in self.kept if step % self.stride]:
                    del self.kept[step]

    @property
    def limit(self):
        """The number of states at which every other one goes: in memory there are others between them on the way back."""
        if self.most is None:
            return max(self.least // 2, self.stride // 2)
        return max(1, self.most // 2 if self.file is None else self.most)

    @property
    def at_once(self):
        """How many states may be in memory."""
        if self.file is not None:
            return BESIDE
        return max(self.least, isqrt(len(self.steps))) if self.most is None else self.most

    @property
    def times(self):
        """Of all states, the first one's, too."""
        return [self.began, *(t for t, _ in self.steps)]

    def backwards(self, operator, inside=False):
        """(number of steps, the state after them on the backend, those of the next step) from the last to the first.

        inside   whether the states between the stages of each step are wanted, as `StepStates.computed` gives them; None of
                 the last state"""
        end, per_step, last = len(self.steps), operator.stage_count if inside else 1, True
        self.inside = StepStates(operator.here) if inside else None
        while self.kept:
            first = max(self.kept)
            state = operator.state(self.kept[first])
            room = self.at_once - (len(self.kept) if self.file is None else 0) + 1
            yield from self.between(operator, state, first, end, max(1, room), per_step, last)
            del self.kept[first]
            last, end = False, first

    def close(self):
        """Let the states go."""
        self.kept.clear() if self.file is None else self.file.close()

    def between(self, operator, state, first, end, room, per_step, last):
        """The same of the steps from `first` to `end` - 1, of which the state before the first is there, and if `last` of the
        state after them; room: how many states there may be, this one included; per_step: how many a step has."""
        while end - first > max(1, (room - 1) // per_step):
            middle = end - 1 if room == 1 else first + share(end - first, room)
            ahead = self.advanced(operator, copied(operator.here, state), first, middle)
            yield from self.between(operator, ahead, middle, end, max(1, room - 1), per_step, last)
            last, end = False, middle
        steps = [(self.time_before(step), self.steps[step][1]) for step in range(first, end)]
        if self.inside is None:
            states = [state]
            for step in range(first, end):
                states.append(self.advanced(operator, copied(operator.here, states[-1]), step, step + 1))
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
        return self.steps[step - 1][0] if step else self.began


def share(count, room):
    """After how many of so many states the next one is kept, with room for some: C(r + s - 1, s) with the fewest repetitions r
    for which C(r + s, s) states fit."""
    repeats = next(r for r in range(1, count + 1) if comb(r + room, room) >= count)
    return min(count - 1, max(1, comb(repeats + room - 1, room)))
