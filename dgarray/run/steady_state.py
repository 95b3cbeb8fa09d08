"""The end of a run that has come to rest: steps that no longer change the state."""
import numpy as np

from ..physics.laws.law import vectors

EVERY = 10        # steps of which one is compared, counted from the run's first, so that a restart compares the same ones


class SteadyState:
    """Finds whether one step changes any variable by no more than the tolerance:

    max over variables v of  max |q_v^(n+1) - q_v^n| / max |q_v^(n+1)|  <=  tolerance

    where the components of a vector have the largest of them all in the denominator, and a variable that is zero everywhere
    does not count.  Fuhry, Giuliani & Krivodonova 2014, equation (22), there without the denominator.

    tolerance   None: the run does not end early
    change      the left side at the last comparison
    time        when it was found to be steady, None before"""

    def __init__(self, operator, tolerance):
        self.operator, self.tolerance, self.change, self.time = operator, tolerance, None, None
        self.before = operator.zeros() if tolerance is not None else None

    def keep(self, loop):
        """Keep the state before a step that will be compared."""
        if self._compares(loop.steps + 1):
            self.operator.copy(loop.state, self.before)

    def compare(self, loop):
        """Compare the states before and after the step that has been taken, if it is one of those."""
        if self._compares(loop.steps):
            changes, sizes = self.operator.change(loop.state, self.before)
            for vector in vectors(self.operator.law):
                sizes[vector] = np.max(sizes[vector])
            self.resume(float(np.max(np.where(sizes == 0, 0.0, changes / np.where(sizes == 0, 1.0, sizes)))), loop.t)

    def resume(self, change, t):
        """Set the change at the last comparison, at time t, which a checkpoint has kept."""
        self.change = change
        if self.tolerance is not None and change is not None and change <= self.tolerance:
            self.time = t

    def _compares(self, step):
        return self.tolerance is not None and step % EVERY == 0
