"""Finite volumes on the GPU: a sweep along an axis is a kernel that reads and writes the state once, a step a CUDA graph."""
from functools import cached_property
from itertools import chain, cycle, pairwise

import numpy as np

from ....methods.check import Check
from ....methods.finite_volume.sweeps import Sweeps
from ..dg.operations import Arriving
from .launches import LARGEST, SOUND, Launches
from .tuning import choose
from .variant import suited


class SweepsCuda(Sweeps):
    """`Sweeps` with sweeps, stages and sources by kernels; repairs are the inherited array expressions on the device.

    A step runs to its end before the host asks whether all states on the way were sound. If one was not, the step is done
    again, sweep by sweep with repairs, for which the state before it is kept: so there is one more state.
    choice: `SweepVariant`; None: the one that `tuning.choose` returns"""

    fused, check_every = frozenset({"sweeps"}), 16

    def __init__(self, backend, tables, choice=None):
        super().__init__(backend, tables)
        self.choice = suited(choice or choose(backend, tables), tables)
        self.variant, self.launches = str(self.choice), Launches(backend, tables, self.choice)
        self.spare, self.constant_rate = None, None
        self.graphs, self.began = {}, False
        self.checks_for, self.final = (SOUND if tables.repairs else 0), None

    def kernel_texts(self, stepper):
        return self.launches.texts(stepper)

    def fetch(self, q):
        return Arriving(self.backend.device.fetch(q), lambda values: values.reshape(len(values), 1, -1))

    # A step.

    def step(self, stepper, states, k, t, dt, exponent=None):
        checked = exponent is not None and self.checks
        if self.tables.split:
            states, check = self.split_step(stepper, states, t, dt, checked)
        else:
            self.final = stepper.stages[-1] if checked else None
            (states, _), check = super().step(stepper, states, k, t, dt), None
        return states, (check or self.found_check(states[0], t + dt)) if checked else None

    def split_step(self, stepper, states, t, dt, checked):
        """(the states with the new one first, their `Check` if it is known already)."""
        q, out = states
        repairs = self.tables.repairs
        if repairs and self.spare is None:
            self.spare = self.zeros()
        self.launches.set_clock(dt, [t + time * dt for time in self.times], t + dt)
        self.launch((q, out, self.spare if repairs else q), checked)
        if not repairs:
            return states, None
        if self.all_sound():
            self.spare, states = q, [self.spare, out]
            return states, None
        states, _ = super().step(stepper, states, None, t, dt)
        return states, self.check(states[0], t + dt)

    @cached_property
    def checks(self):
        """Whether each new state is checked: its wave rate limits the next step, or the law does not admit every state."""
        return self.rate_varies or self.tables.law.admissible is not None

    @cached_property
    def rate_varies(self):
        """Whether wave rates change in a run."""
        return any(self.tables.rate.depends_on(argument) for argument in ("q", "t"))

    @property
    def times(self):
        """The times of the members of a step, in steps."""
        sweeps = [time for time in self.tables.sweep_times for _ in range(self.tables.dim)]
        return [0.0, *sweeps, 0.5] if self.tables.physics.sources else sweeps

    def moves(self, checked):
        """The launches of a step, functions of (q, out); an even number, so that two states can take turns."""
        make, found, order = self.launches, [], self.launches.plain
        members = [("sweep", axis, 0.5) for axes in self.tables.axes for axis in axes]
        if self.tables.physics.sources:
            members = [("source_step", 0, 0.5), *members, ("source_step", 0, 0.5)]
        for number, (kernel, axis, share) in enumerate(members):
            if make.order(axis) != order:
                found.append(make.turn(order, make.order(axis)))
                order = make.order(axis)
            check = LARGEST if checked and number == len(members) - 1 else self.checks_for
            found.append(make.member(kernel, axis, order, number, share, check))
        return found

    def launch(self, path, checked):
        """Launch a step: the state path[0] to path[1], that to path[2], that back to path[1], and so on; the last is path[2].

        It is a CUDA graph from the second time on; the first time compiles the kernels."""
        def run():
            for move, (q, out) in zip(self.moves(checked), pairwise(chain(path[:1], cycle(path[1:])))):
                move(q, out)
        if not self.began:
            self.began = True
            run()
            return
        key = checked, *map(id, path)
        if key not in self.graphs:
            self.graphs[key] = self.backend.device.capture(run), path          # kept alive, for no other object to get its id
        self.graphs[key][0].launch()

    def all_sound(self):
        """Whether all states that were checked are sound; waits for the device."""
        return not np.isnan(self.backend.largest(self.launches.found))

    def found_check(self, q, t):
        """The `Check` of the new state of a step, from what its kernels have found."""
        rate = self.backend.largest(self.launches.found)
        return self.check(q, t) if np.isnan(rate) else Check(True, True, rate, 1.0)

    def sweep(self, axis, q, out, t, dt):
        make = self.launches
        make.set_clock(dt, [t], t + dt)
        make.found[...] = 0
        make.member("sweep", axis, make.plain, 0, 1.0, SOUND)(q, out)
        if self.tables.repairs and not self.all_sound():
            self.repair([axis], q, t, [(out, dt)])
        make.found[...] = 0

    def stage(self, q, out, k, q0, t, dt, row):
        if self.tendency is None:
            self.tendency = self.zeros() if self.tables.dim > 1 else q
        self.launches.set_clock(dt, [t], t + dt)
        check = LARGEST if row is self.final else self.checks_for
        # A kernel gets q in place of a start that it does not need, which may have the memory of `out`.
        self.launches.stage(q, out, q0 if row.reads_q0 else q, k, self.tendency, row, check)
        if self.tables.repairs and not self.all_sound():
            self.repair_stage(q, out, k, t, dt, row)

    def rate(self, q, t):
        if self.rate_varies:
            return super().rate(q, t)
        if self.constant_rate is None:
            self.constant_rate = super().rate(q, t)
        return self.constant_rate
