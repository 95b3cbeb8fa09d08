"""The indicator that finds elements where a state is not smooth, written once."""
import numpy as np

from ....physics.trace import call
from .slope_shares import any_of, larger


class Kxrcf:
    """Whether an element is smooth, by the jumps at its faces; a base class of limiters.

    A subclass has `sensors`, variables that are no velocity or momentum, `unit`, by which kept averages are multiplied, and
    says where the averages of elements are: mean_of(e, v), and means_around(e), by variable those of the neighbours."""

    def troubled(self, e):
        """Whether the state is not smooth, 1 or 0: the average jump over a face is more than (h / L)^((order + 1) / 2) times
        the largest average of the element and its neighbours, or times what the law says that the variable can be, in one of
        the `sensors`.

        h is the distance from centroid to vertex, L the mesh's extent; jumps of smooth states are of order h^(order + 1).
        As Krivodonova, Xin, Remacle, Chevaugeon & Flaherty 2004, but over each face in place of those where something flows
        in, so that any law has it."""
        means = self.means_around(e)
        return e(self.is_rough, own=e.kept["averages"].all, beyond=e.take("beyond", "averages").all,
                 mean=[self.mean_of(e, v) for v in range(self.variables)],
                 around=[mean for v in range(self.variables) for mean in means[v]], threshold=e.rows("threshold"), m=e.m)

    def is_rough(self, own, beyond, mean, around, threshold, m):
        law, sensors, faces, means = self.limits.law, self.limits.sensors, len(around) // len(mean), {}
        for v, average in enumerate(mean):
            size = np.abs(average)
            for other in around[v * faces:v * faces + faces]:
                size = larger(np.abs(other), size)
            means[v] = self.unit * size
        sizes, found = call(law.sizes, dict(means=means, m=m)), []
        for s, v in enumerate(sensors):
            jump = 0.0
            for i in range(s * faces, s * faces + faces):
                jump = larger(np.abs(own[i] - beyond[i]), jump)
            found.append(jump > threshold[0] * sizes[v])
        return (np.where(any_of(found), 1.0, 0.0),)


def sensors(law):
    """Numbers of the variables that are no velocity or momentum."""
    momentum = range(len(law.variables))[law.momentum] if law.momentum else ()
    return [v for v in range(len(law.variables)) if v not in momentum]
