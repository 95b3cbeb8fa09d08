"""The split form of tensor-product DG on Gauss-Lobatto nodes: the divergence as a sum of fluxes between two nodes of a line.

    J_i C dq_i/dt = - sum_k sum_j 2 D_ij F#(q_i, q_j) . (J a^k_i + J a^k_j) / 2
                    + sum_ends l_i(end) / w_i J_face (F . n - F*)_end + J_i s_i

F# symmetric and consistent makes it conservative; F# that conserves entropy makes it conserve entropy, up to what F* takes.
Fisher & Carpenter 2013; Gassner, Winters & Kopriva 2016.
"""
from functools import partial
from itertools import combinations

from .arrays import ALL
from .tensor_form import TensorForm


class SplitForm(TensorForm):
    """As `TensorForm`, with another volume term; the face term is that of the strong form."""

    def volume(self, q, t, columns=ALL):
        q, m = q[:, :, columns], self.at(columns)
        slopes, functions = self.tables.cell.slopes, self.tables.functions
        n, d, total = len(slopes), self.tables.dim, self.xp.zeros(q.shape, q.dtype)
        for k in range(d):
            a = [self.gradients[k, axis][..., columns] for axis in range(d)]

            def at(i, k=k, a=a):
                """State, metrics and parameters at node i of all lines, and the place for the result."""
                part = partial(node_of_lines, node=i, axis=k, nodes=n)
                return part(q), tuple(map(part, a)), {name: part(value) for name, value in m.items()}, part(total)
            for i, j in combinations(range(n), 2):
                (l, a_l, m_l, to_l), (r, a_r, m_r, to_r) = at(i), at(j)
                flux = functions.two_point(l=tuple(l), r=tuple(r), a=a_l, b=a_r, t=t, ml=m_l, mr=m_r)
                for v, f in enumerate(flux):
                    to_l[v] -= 2 * float(slopes[i, j]) * f
                    to_r[v] -= 2 * float(slopes[j, i]) * f
            for i in (0, n - 1):          # at the others D_ii = 0
                own, a_i, m_i, to = at(i)
                for v, f in enumerate(functions.along(q=tuple(own), a=a_i, t=t, m=m_i)):
                    to[v] -= 2 * float(slopes[i, i]) * f
        return total


def node_of_lines(values, node, axis, nodes):
    """A view of the values (.., node, element) at one node of all lines of an axis, (.., after, before, element); values of
    elements alone as they are."""
    if values.ndim == 1:
        return values
    *more, count, elements = values.shape
    before = nodes ** axis
    return values.reshape(*more, count // (nodes * before), nodes, before, elements)[..., node, :, :]
