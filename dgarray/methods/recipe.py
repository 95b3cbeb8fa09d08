"""What every recipe of a method offers: the base of `WeakForm` and `HalfSteps`."""
from ..stepping import step


class Recipe:
    """The operations of a method on a backend, in array expressions; a backend overrides what it has kernels for.

    A recipe has stage(q, out, k, q0, t, dt, row), one row of a stepper's table from the state q to `out`: see
    `dgarray.stepping`.

    work          names of the parts that a step of this problem has
    fused         names of parts that are kernels here, whether the problem has them or not
    variant       which kernels compute, where there are several; else None
    check_every   steps between two checks of the state: more than one where a check waits for a device
    Not counted are reductions that look at a state, such as whether it is finite, and what recorders and output read."""

    work, fused, variant, check_every = (), frozenset(), None, 1

    @property
    def array_expressions(self):
        """The parts of a step that are the reference's array expressions here, not kernels."""
        return [part for part in self.work if part not in self.fused]

    def kernel_texts(self, stepper):
        """{name: text} of the generated kernels of a step, for people who want to read them."""
        return {}

    def step(self, stepper, states, k, t, dt, exponent=None):
        """A whole step: the states with the new one first, and a `Check` of it, or None where it was not looked at.

        exponent: of the rate that the next time step will be found from, of operations that look at a state while they make it;
        None: nobody asks.  Overridden where all stages together are faster than one after the other."""
        return step(self, stepper, states, k, t, dt), None

    # Memory: what the operations would hold and take on these tables, of which no array is there yet.

    @classmethod
    def state_size(cls, backend, tables):
        """Bytes of a state."""
        return tables.variables * tables.rows * tables.elements * backend.dtype.itemsize

    @classmethod
    def holds(cls, backend, tables):
        """{what: bytes} that the operations hold besides states, where the backend's arrays are."""
        return {}

    @classmethod
    def holds_on_host(cls, backend, tables):
        """{what: bytes} that they hold on the host where the backend's arrays are on a device."""
        return {}

    @classmethod
    def takes(cls, backend, tables):
        """{phase: (on the host, on the device)}, bytes that they take for a while:

        set-up          all that is there while they are made, tables included
        first step      and the checks before it, on top of what is held
        time step, stages, snapshots   the same of later ones"""
        return {}


class Fetched:
    """An array that has arrived on the host."""

    def __init__(self, values):
        self.values = values

    def ready(self):
        return True

    def result(self):
        return self.values
