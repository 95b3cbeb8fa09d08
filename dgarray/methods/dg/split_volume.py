"""The volume term of the split form of tensor-product DG on Gauss-Lobatto nodes: fluxes between two nodes of a line.

    J_i C dq_i/dt = - sum_k sum_j 2 D_ij F#(q_i, q_j) . (J a^k_i + J a^k_j) / 2
                    + sum_ends l_i(end) / w_i J_face (F . n - F*)_end + J_i s_i

F# symmetric and consistent makes it conservative; F# that conserves entropy makes it conserve entropy, up to what F* takes.
Nonconservative products Phi(q_i, q_j, n) of the law are added to F# at node i, to F* and, as Phi(q_i, q_i, n), to F.
Fisher & Carpenter 2013; Gassner, Winters & Kopriva 2016; Bohm, Winters, Gassner, Derigs, Hindenlang & Saur 2020.
"""
from functools import cached_property, partial
from itertools import combinations

from ...physics.pointwise import Rows, picked


class SplitVolume:
    """The volume term on arrays of a `TensorForm`; the face term is that of the strong form."""

    def __init__(self, form):
        self.form, self.tables, self.functions, self.backend = form, form.tables, form.tables.functions, form.backend

    def begin(self, q):
        """Prepare the term for a state, q[variable, node, element]."""

    def __call__(self, q, t, columns):
        """The term at the nodes of these elements, (variable, node, element)."""
        lines, total = self.lines_of(q, columns)
        for at in lines:
            self.add_pairs(at, t)
            self.add_ends(at, t)
        return total

    def lines_of(self, q, columns):
        """For each axis a function at(i) of the nodes i of all its lines: state, metrics and parameters there, and the place
        for the result; and the array of the result, zeros."""
        q, m = q[:, :, columns], self.form.at(columns)
        n, d, total = len(self.tables.cell.slopes), self.tables.dim, self.form.xp.zeros(q.shape, q.dtype)

        def of_axis(k):
            a = [self.form.gradients[k, axis][..., columns] for axis in range(d)]

            def at(i):
                part = partial(node_of_lines, node=i, axis=k, nodes=n)
                return part(q), tuple(map(part, a)), {name: part(value) for name, value in m.items()}, part(total)
            return at
        return [of_axis(k) for k in range(d)], total

    @cached_property
    def two_point(self):
        """The flux between two nodes: that for the first one, then that for the second, see `tensor_tables.of_sides`."""
        variables = self.tables.variables
        return picked(self.functions.two_point, [*range(variables), *range(-variables, 0)])

    def add_pairs(self, at, t):
        """Add the fluxes between two nodes of a line."""
        slopes = self.tables.cell.slopes
        for i, j in combinations(range(len(slopes)), 2):
            (l, a_l, m_l, to_l), (r, a_r, m_r, to_r) = at(i), at(j)
            into = [Rows(to, factor=-2 * float(slope)) for to, slope in ((to_l, slopes[i, j]), (to_r, slopes[j, i]))]
            self.backend.evaluate(self.two_point, into, l=Rows(l), r=Rows(r), a=a_l, b=a_r, t=t, ml=m_l, mr=m_r)

    def add_ends(self, at, t):
        """Add the flux of the nodes at both ends of a line; at the others D_ii = 0."""
        slopes = self.tables.cell.slopes
        for i in (0, len(slopes) - 1):
            own, a_i, m_i, to = at(i)
            self.backend.evaluate(self.functions.along, [Rows(to, factor=-2 * float(slopes[i, i]))], q=Rows(own), a=a_i, t=t,
                                  m=m_i)


def node_of_lines(values, node, axis, nodes):
    """A view of the values (.., node, element) at one node of all lines of an axis, (.., after, before, element); values of
    elements alone as they are."""
    if values.ndim == 1:
        return values
    *more, count, elements = values.shape
    before = nodes ** axis
    return values.reshape(*more, count // (nodes * before), nodes, before, elements)[..., node, :, :]
