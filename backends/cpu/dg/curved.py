"""DG on meshes with curved triangles or tetrahedra: kernels for straight elements, array expressions for the curved ones."""
import numpy as np

from ....methods.dg.curved_form import Curves
from ....stepping import first, sequence
from .fused import NodalFused


class CurvedFused(Curves, NodalFused):
    """As `NodalFused`; after its kernels, which take all elements for straight ones, curved elements get what theirs is."""

    def rhs(self, q, t):
        out = super().rhs(q, t)
        self.put(out, self.tables.curved, self.of_curved(self.take(q, self.around), t))
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        curved = self.tables.curved
        before = self.take(q, self.around)
        r, here = self.of_curved(before, t), before[:, :, :len(curved)]
        register, start = (None if state is None else self.take(state, curved) for state in (k, q0))
        super().stage(q, out, k, q0, t, dt, row)
        if register is not None:
            register = combined((row.A, register), (row.v, here), (row.w * dt, r))
            self.put(k, curved, register)
        self.put(out, curved, combined((row.alpha, start), (row.beta, here), (row.B, register), (row.C * dt, r)))

    def step(self, stepper, states, k, t, dt, exponent=None):
        new = states[0]
        for row, q, new, q0 in sequence(stepper, states, self.in_place):
            self.stage(q, new, k, q0, t + row.c * dt, dt, row)
        if exponent is None:
            return first(new, states), None
        return first(new, states), self.check(new, t + dt, exponent)


def combined(*terms):
    """The sum of factor * array over the terms (factor, array) whose factor is not 0; the last array is always there."""
    total = np.zeros_like(terms[-1][1])
    for factor, values in terms:
        if factor:
            total += float(factor) * values
    return total
