"""States of a run for the way back: some are kept, the others are computed again from these.

Forwards, when nobody knows how many steps there will be, states at equal distances are kept, and every other one goes where
they become too many. Backwards the states between two of them are computed again; where they are more than there is room for,
some on the way are kept by binomial placement, so that few steps are computed more than once.  Griewank & Walther 2000.
"""
from math import comb, isqrt

FEW = 32          # states that may be there in any case, where no budget says less
BESIDE = 8          # states in memory between two of those that are in a file


class KeptStates:
    """The states of a run's steps, for a pass from the last to the first.

    most     how many states there may be at once, besides those of a step; None: the root of the number of steps, or 32
    began    time at which the run begins;  file: the `StateFile` in which they are, `most` of them; None: in memory
    steps    [(time after the step, its length)] of the run;  kept: {number of steps: what `Operator.arrays` gives}"""

    def __init__(self, most=None, began=0.0, file=None):
        self.most, self.began, self.file = most, began, file
        self.steps, self.stride, self.kept = [], 1, {} if file is None else file

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
            return max(FEW // 2, self.stride // 2)
        return max(1, self.most // 2 if self.file is None else self.most)

    @property
    def at_once(self):
        """How many states may be in memory."""
        return BESIDE if self.file is not None else self.most or max(FEW, isqrt(len(self.steps)))

    @property
    def times(self):
        """Of all states, the first one's, too."""
        return [self.began, *(t for t, _ in self.steps)]

    def backwards(self, operator):
        """(number of steps, the state after them, on the backend) from the last to the first. The caller may change it."""
        last = len(self.steps)
        while self.kept:
            first = max(self.kept)
            state = operator.state(self.kept[first])
            room = self.at_once - (len(self.kept) if self.file is None else 0) + 1
            yield from self.between(operator, state, first, last, max(1, room))
            del self.kept[first]
            last = first - 1

    def close(self):
        """Let the states go."""
        self.kept.clear() if self.file is None else self.file.close()

    def between(self, operator, state, first, last, room):
        """The same from `last` to `first`, of which `state` is there; room: how many states there may be, this one included."""
        while last - first >= room:
            middle = last if room == 1 else first + share(last - first + 1, room)
            ahead = self.advanced(operator, copied(operator, state), first, middle)
            yield from [(last, ahead)] if room == 1 else self.between(operator, ahead, middle, last, room - 1)
            last = middle - 1
        states = [state]
        for step in range(first, last):
            states.append(self.advanced(operator, copied(operator, states[-1]), step, step + 1))
        while states:
            yield first + len(states) - 1, states.pop()

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


def copied(operator, state):
    """A copy of a state on the backend."""
    here = operator.here
    return here.of_sets({name: part.copy() for name, part in here.by_set(state).items()})
