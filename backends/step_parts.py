"""The parts of a step by name, and which of them are kernels: what is not, a report and a line on the screen say."""


class StepParts:
    """What operations say of themselves.

    work    names of the parts that a step of this problem has
    fused   names of parts that are kernels here, whether the problem has them or not
    Not counted are reductions that look at a state, such as whether it is finite, and what recorders and output read."""

    work, fused = (), frozenset()

    @property
    def array_expressions(self):
        """The parts of a step that are the reference's array expressions here, not kernels."""
        return [part for part in self.work if part not in self.fused]
