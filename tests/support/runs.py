"""Runs of cases, and runs that a signal ends."""
import os
import signal


def run(case, kernels="array", changes=None, **keywords):
    """The simulation of a case, run on the CPU, and its dataset."""
    sim = case(**keywords).replace(backend="numpy", kernels=kernels, **(changes or {}))
    return sim, sim.run()


class StopAfter:
    """Progress that sends this process a signal after so many steps."""

    def __init__(self, steps, number=signal.SIGTERM):
        self.steps, self.number = steps, number

    def update(self, t, dt, steps):
        if steps == self.steps:
            os.kill(os.getpid(), self.number)
