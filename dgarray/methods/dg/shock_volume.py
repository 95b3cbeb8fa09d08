"""The volume term of the split form with a share of finite volumes on subcells where there are shocks.

    J_i dq_i/dt = (1 - alpha) (split form) - alpha sum_k (f_(i, i+1) - f_(i-1, i)) / w_i + face terms and sources,

f the run's numerical flux between neighbouring nodes i, j of a line along axis k, with the normal of their subcells,

    n_(i, i+1) = (J a^k)_0 + sum_(l <= i) sum_m w_l D_lm (J a^k)_m,

so that a uniform state stays uniform on curved cells.  At the ends of a line both parts have the same fluxes, hence what is
conserved stays.  Hennemann, Rueda-Ramirez, Hindenlang & Gassner 2021, equations (11), (16) and (B.1) to (B.3).
"""
from functools import cached_property, reduce
from operator import add

from ...physics.pointwise import Pointwise, Rows
from .split_volume import SplitVolume


class ShockVolume(SplitVolume):
    """As `SplitVolume`, with the `ShockSensor` of the tables."""

    @cached_property
    def sensor_arrays(self):
        """Modes of a line, neighbours (face, element)."""
        backend = self.backend
        return (backend.array(self.tables.sensor.modes(self.tables.cell)),
                backend.integers(self.tables.mesh.neighbour_cell.T.copy()))

    @cached_property
    def share_of_modes(self):
        """The function from the modes of an element to its own share."""
        kinds = self.tables.sensor.kinds(self.tables.cell)

        def share(modes):
            squares = [mode * mode for mode in modes]
            energy = ([squares[number] for number in (kinds == kind).nonzero()[0]] for kind in range(3))
            return self.functions.share.function(tuple(reduce(add, each) if each else 0.0 for each in energy))
        return Pointwise(share, {"modes": len(kinds)}, "share of finite volumes")

    @cached_property
    def subcell(self):
        """What the flux between neighbouring nodes j, j + 1 of a line adds to both, with w = (-w_j, w_(j + 1))."""
        variables, function = self.tables.variables, self.functions.subcell

        def added(l, r, n, share, x, t, ml, mr, w):
            flux = function.function(l, r, n, share, x, t, ml, mr)
            return (*(f / w[0] for f in flux[:variables]), *(g / w[1] for g in flux[-variables:]))
        return Pointwise(added, {**function.inputs, "w": 2}, function.name)

    @cached_property
    def subcells(self):
        return self.backend.array(self.tables.subcells)

    @cached_property
    def own(self):
        """The share of finite volumes in each element before it is compared with that of neighbours, (element,)."""
        return self.backend.zeros(self.tables.elements)

    @cached_property
    def beyond(self):
        """The largest of these in the elements beyond each face at joins, (face at joins,), which `Mortars` put there."""
        return self.backend.zeros(len(self.tables.join_faces.faces) if self.tables.join_faces else 0)

    @cached_property
    def at_joins(self):
        """Where these faces are, numbers of sides and of elements, (face at joins,) each."""
        return tuple(self.backend.integers(numbers) for numbers in self.tables.join_faces.faces.T[::-1])

    def begin(self, q):
        if not self.tables.join_faces:          # else the operations at joins have found them
            self.find_own(q)
        self.share = self.shares()

    def find_own(self, q):
        """Set `own` to the shares at a state q (variable, node, element)."""
        blocks = self.form.blocks(q.shape[2], q.shape[1])

        def task(piece, _):
            self.own[blocks[piece]] = self.own_shares(q[:, :, blocks[piece]], self.form.at(blocks[piece]))
        self.backend.workers.run(task, len(blocks))

    def shares(self):
        """The share of finite volumes in each element, (element,)."""
        around = self.own[self.sensor_arrays[1]]
        if self.tables.join_faces:
            around[self.at_joins] = self.beyond
        return self.backend.evaluate(self.functions.beside, own=(self.own,), around=Rows(around))[0]

    def own_shares(self, q, m):
        """The own shares of some elements."""
        values = self.backend.evaluate(self.functions.sensed, q=Rows(q), m=m)[0][None]
        for k in range(self.tables.dim):
            values = self.form.along(self.sensor_arrays[0], values, k).reshape(values.shape)
        return self.backend.evaluate(self.share_of_modes, modes=Rows(values[0]))[0]

    def __call__(self, q, t, columns):
        lines, total = self.lines_of(q, columns)
        share, d = self.share[columns], self.tables.dim
        for at in lines:
            self.add_pairs(at, t)
        total *= 1 - share
        for k, at in enumerate(lines):
            normals = [(self.form.gradients if self.tables.affine else self.subcells)[k, axis][..., columns]
                       for axis in range(d)]
            self.add_subcells(at, t, k, normals, share)
        for at in lines:
            self.add_ends(at, t)
        return total

    def add_subcells(self, at, t, k, normals, share):
        """Add the fluxes between neighbouring nodes of the lines along axis k, times the share."""
        w, n = self.tables.cell.w, len(self.tables.cell.w)
        for j in range(n - 1):
            (l, _, m_l, to_l), (r, _, m_r, to_r) = at(j), at(j + 1)
            normal = tuple(a if a.ndim == 1 else a.reshape(-1, n - 1, n ** k, a.shape[1])[:, j] for a in normals)
            into = [Rows(to, factor=1.0) for to in (to_l, to_r)]
            self.backend.evaluate(self.subcell, into, l=Rows(l), r=Rows(r), n=normal, share=(share,), t=t, ml=m_l, mr=m_r,
                                  w=(-float(w[j]), float(w[j + 1])))
