"""The operations of tensor-product DG on quadrilaterals and hexahedra: products along lines of nodes.

Weak form, collocated at the nodes (J a^k: the metrics, w: weights, l: Lagrange polynomials of a line):

    J_i C dq_i/dt = sum_k sum_j (w_j / w_i) l'_i(x_j) (F . J a^k)_j - sum_ends l_i(end) / w_i (J_face F*)_end + J_i s_i

Helluy, Strub, Massaro & Roberts 2015, equation (9); Kopriva 2009, chapter 5.
"""
from functools import cached_property

from ...physics.pointwise import Rows
from ..operation import Operation
from .arrays import ALL
from .shock_volume import ShockVolume
from .split_volume import SplitVolume
from .tensor_limiter_arrays import TensorLimiterArrays
from .weak_form import WeakForm


class TensorForm(WeakForm):
    """As `WeakForm`, with a product along each axis in place of one with all nodes; also with the volume term of the split
    form.

    Nodes are numbered with x fastest, so that values [variable, node, element] are also [variable * after, n, before * element]
    with the nodes of one axis in the middle."""

    limiter_of_arrays = TensorLimiterArrays

    @cached_property
    def lines(self):
        cell = self.tables.cell
        return {name: self.backend.array(getattr(cell, name)) for name in ("weak", "ends", "lift")}

    @cached_property
    def inverse(self):
        return self.backend.array(self.tables.inverse)

    def along(self, matrix, values, axis):
        """A matrix (row, n) applied along an axis of values (variable, node, element);
        (variable * after, row, before * element)."""
        n, (variables, nodes, count) = matrix.shape[1], values.shape
        before = n ** axis
        return self.backend.product(matrix, values.reshape(variables * (nodes // (n * before)), n, before * count))

    @cached_property
    def split_volume(self):
        """The volume term of the split form, where the tables have one; else None."""
        if self.tables.volume_flux is None:
            return None
        return SplitVolume(self) if self.tables.sensor is None else ShockVolume(self)

    def tendencies(self, q, t, use):
        if self.split_volume is not None:
            self.split_volume.begin(q)
        super().tendencies(q, t, use)

    # With shock capturing, the shares of finite volumes.

    @property
    def captures_shocks(self):
        return self.tables.sensor is not None

    def shares(self, q):
        """The share of finite volumes in each element, (element,), at a state; beyond joins as the last stage found it."""
        self.split_volume.find_own(self.as_array(q))
        return self.split_volume.shares()

    def shares_operation(self, q, copies=None):
        return Operation("own shares of finite volumes", lambda: self.split_volume.find_own(q), reads=("state",),
                         writes={"own shares of finite volumes": self.own_share.nbytes})

    @property
    def own_share(self):
        return self.split_volume.own

    @property
    def share_beyond(self):
        return self.split_volume.beyond

    def volume(self, q, t, columns=ALL):
        if self.split_volume is not None:
            return self.split_volume(q, t, columns)
        q = q[:, :, columns]
        fluxes = self.xp.empty((self.tables.dim, *q.shape), q.dtype)
        self.backend.evaluate(
            self.tables.functions.volume, [Rows(each) for each in fluxes], q=Rows(q), t=t, m=self.at(columns),
            g=tuple(self.gradients[k, d][..., columns] for k, d in _pairs(self.tables.dim)), **self.position(columns))
        return sum(self.along(self.lines["weak"], flux, k).reshape(q.shape) for k, flux in enumerate(fluxes))

    def at_faces(self, q):
        return self.ends_of(q, self.traces)

    def ends_of(self, q, out=None):
        """The values of q (variable, node, element) at the points of all faces, (variable, face * face point, element)."""
        (variables, nodes, count), n = q.shape, len(self.lines["weak"])
        out = self.xp.empty((variables, self.tables.face_nodes.size, count), q.dtype) if out is None else out
        faces = out.reshape(variables, self.tables.dim, 2, nodes // n, count)
        for k in range(self.tables.dim):
            ends = self.along(self.lines["ends"], q, k).reshape(variables, nodes // n ** (k + 1), 2, n ** k, count)
            faces[:, k] = ends.swapaxes(1, 2).reshape(variables, 2, nodes // n, count)
        return out

    def lift(self, flux, columns=ALL):
        flux = flux[:, :, columns]
        variables, _, count = flux.shape
        d, n = self.tables.dim, len(self.lines["weak"])
        nodes, total = n ** d, 0.0
        faces = flux.reshape(variables, d, 2, nodes // n, count)
        for k in range(d):
            ends = faces[:, k].reshape(variables, 2, nodes // n ** (k + 1), n ** k, count).swapaxes(1, 2)
            values = ends.reshape(variables * (nodes // n ** (k + 1)), 2, n ** k * count)
            total = total + self.backend.product(self.lines["lift"], values).reshape(variables, nodes, count)
        return total

    def finish(self, r, q, t, columns=ALL):
        if self.tables.affine:
            return super().finish(r, q, t, columns)
        self.backend.evaluate(self.tables.functions.collect, [Rows(r)], r=Rows(r), q=Rows(q[:, :, columns]),
                              s=(self.inverse[:, columns],), t=t, m=self.at(columns), **self.position(columns))
        return r

    def rate(self, q, t, exponent=1.0):
        """The largest wave rate, max over all nodes of sum_k s(J a^k) / J, 1 / time: the speeds in the reference cell.

        nan if a rate is not finite."""
        own = slice(self.tables.owned)
        scale = {} if self.tables.affine else {"s": (self.own(self.inverse),)}
        rates, = self.backend.evaluate(
            self.tables.functions.rate, q=Rows(self.own(q)), t=self.time(t), m=self.at(own), **scale, **self.position(own),
            g=tuple(self.gradients[k, d][..., own] for k, d in _pairs(self.tables.dim)))
        rate = self.backend.largest(rates)
        return rate if 0 <= rate < float("inf") else float("nan")


def _pairs(dim):
    return [(k, d) for k in range(dim) for d in range(dim)]
