"""A problem on the parts of a mesh, side by side in one process: what processes do with messages, done with plain copies."""
import numpy as np

from dgarray.mesh.partition import partition


class Parts:
    """Operators on the parts of a mesh that advance together.

    discretise(mesh): the operator of the problem on a mesh;  owner: (cell,) the part of each cell of the mesh"""

    def __init__(self, mesh, owner, discretise):
        self.meshes = partition(mesh, owner)
        self.operators = [discretise(part) for part in self.meshes]

    def scatter(self, q):
        """The states of the parts of a state q[variable, row, element] of the whole mesh on the host."""
        return [operator.state(q[:, :, part.share.cells]) for part, operator in zip(self.meshes, self.operators)]

    def gather(self, states):
        """The state of the whole mesh on the host, of the own elements of all parts."""
        pieces = [operator.host(state)[:, :, :part.owned] for part, operator, state in zip(self.meshes, self.operators, states)]
        cells = np.concatenate([part.share.cells[:part.owned] for part in self.meshes])
        return np.concatenate(pieces, axis=2)[:, :, np.argsort(cells)]

    def exchange(self, states):
        """Copy the state of every part's elements that others have copies of to these copies."""
        for number, (part, operator, state) in enumerate(zip(self.meshes, self.operators, states)):
            for other, places in part.share.receive.items():
                sent = self.operators[other].operations.take(states[other], self.meshes[other].share.send[number])
                operator.operations.put(state, np.arange(places.start, places.stop), sent)

    def largest_step(self, states, t):
        """The step of the whole mesh: the least over the parts."""
        peaks = [operator.peak(q, t) for operator, q in zip(self.operators, states)]
        peak = None if None in peaks else max(peaks)
        return min(operator.max_dt(q, t, operator.stepper, peak=peak) for operator, q in zip(self.operators, states))

    def advance(self, states, dts):
        """The state of the whole mesh after steps of these lengths; the copies are renewed after every stage."""
        t = 0.0
        for dt in dts:
            for stage in zip(*(o.stages(state, t, dt) for o, state in zip(self.operators, states)), strict=True):
                new = [state for _, state in stage]
                self.exchange(new)
            # Copies, because an operator goes through the same arrays in the next step.
            states, t = [operator.state(operator.host(q)) for operator, q in zip(self.operators, new)], t + dt
        return self.gather(states)


def advance(operator, q, dts):
    """The state q after steps of these lengths, of the whole mesh, as a run takes them."""
    state, t = operator.state(q), 0.0
    for dt in dts:
        state, t = operator.advance(state, t, dt), t + dt
    return operator.host(state)
