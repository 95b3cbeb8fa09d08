"""The limiters of modal DG, the indicator and positivity, written once.

`Limiter.limit` says what happens to one element. Called with all elements of a set at once it gives a program
(`limiter_program`); the backends make kernels of the same lines. Coefficients of mode 0 never change: averages, and so
conserved quantities, stay bit for bit.
"""
from contextlib import nullcontext
from functools import cached_property

import numpy as np

from .indicator import Kxrcf
from .positivity import Positivity
from .slope_shares import (
    direction,
    dot,
    larger,
    largest_of,
    least_share,
    room_across,
    room_around,
    room_at_vertices,
    share_of_extremes,
    smaller,
    used,
    where_limited,
)

EQUAL = 0.99          # share of squares of heights above which they count as equal, far from the rounding of float32


class Limiter(Kxrcf, Positivity):
    """Limit the slopes of an element, then keep its density and pressure positive, as the options say.

    limits: the `LimiterTables` of the mesh;  parameters: of the law, as `Pointwise` takes them;  dtype: of the state

    Slopes.  u is its mean and parts u_q of the degrees q.  The limiter replaces u_q by alpha_q u_q.
    Barth-Jespersen (order 1): alpha_1 in [0, 1] is the largest for which u at the points of the faces lies between the least
    and the largest average of the element and its neighbours across faces; with "barth-jespersen-vertices", of all elements
    that share a vertex with it.  Barth & Jespersen 1989; Fuhry, Giuliani & Krivodonova 2014, equations (17) to (19).
    Vertex: u at each vertex lies between the least and the largest average around this vertex.  Above order 1 the partial
    derivatives of order q - 1 of the projection on degree q, which are linear, are limited in the same way, q from the order
    down; alpha_q is the least of their shares, but at least alpha_(q+1).  Kuzmin 2010.

    Boundaries.  There is no average beyond a boundary, and with the others alone linear states would become flat there.  So
    the averages that there are get mirror images, u+ + u- = 2 mean.  Across faces: that of the nearest average, where all are
    above the element's own, or all below.  At a vertex of the boundary: that of the average farthest from the element's own
    around any of its vertices.  For Barth-Jespersen with vertices: those of the extremes around the vertex of the boundary
    whose extremes are nearest to the element's own average.

    Variables.  Primitive ones are limited as the linear functions through their values at the vertices, about their value of
    the mean state.  Characteristic ones are the waves L (u - mean), L the left eigenvectors of the mean state along one
    direction: the normal of the face over which the element is highest, as waves differ most over the longest distance.  The
    mesh alone decides about it.  A direction of the flow, such as a gradient, would jump with rounding where the gradient
    vanishes, and what is limited with it.  It turns with the mesh, so results do not depend on the axes in one and two
    dimensions.  Cockburn & Shu 1998, section 3.2.4, where each side of a triangle has a fixed direction, too.

    The methods `keep` and `limit` are the flow.  Their argument e is an element, and a row is one number of it:
    e.state[v], e.state.all   the coefficients of variable v, and of all variables one after the other
    e.keep(name, rows, v)     store rows for other elements, of variable v; without v those of all variables
    e.kept[name]              the stored rows, by variable as e.state
    e.change(f, v, **rows)    the coefficients of variable v from mode 1 on become the rows that f returns; without v those of
                              all variables
    e.g, e.m                  dr_k/dx_d, and the law's parameters
    e.rows(name)              rows of the `LimiterTables`, "outer" or "threshold"
    e.each()                  all variables in turn: `for v in e.each()`
    e(f, **rows)              the rows that a function of numbers returns
    e.product(name, rows)     the product of one of the `matrices` with these rows
    e.take(list, name)        rows that the elements or vertices in a list of the `LimiterTables` have, by variable as e.state
    e.where(row)              `with e.where(row):` may leave out what changes no element whose row is not positive
    e.least(f, start)         (least,), where least = f(q, least, m) for the state q at each point of the volume and the faces
    e.extremes(f, **rows)     the largest and the least f(q, **rows) over the mean states q around each vertex, as of `take`"""

    def __init__(self, limits, law, parameters, dtype):
        super().__init__(limits, law, parameters, dtype)
        self.order, self.dim, self.unit = limits.order, limits.dim, limits.unit
        self.waves = self.options.variables == "characteristic"
        self.primitive = self.options.variables == "primitive"
        self.by_degrees = bool(self.options.limiter) and self.order > 1

    # What happens to an element e.

    def keep(self, e):
        """Store the rows that other elements read, where they read more than averages."""
        if self.options.indicator:
            for number, v in enumerate(self.limits.sensors):
                e.keep("averages", e.product("averages", e.state[v]), number)
        if self.by_degrees:
            for v in e.each():
                e.keep("means", e(self.means_of_derivatives, blocks=e.product("means", e.state[v]), g=e.g), v)
        elif self.primitive:
            e.keep("means", e(self.primitive_means, c=self.means_of(e), m=e.m))

    def limit(self, e):
        """Limit the element in place."""
        if self.options.limiter:
            rough = {"rough": self.troubled(e)} if self.options.indicator else {}
            with e.where(*rough["rough"]) if rough else nullcontext():
                if self.waves:
                    self.limit_waves(e, **rough)
                elif self.primitive:
                    self.limit_primitive(e, **rough)
                else:
                    self.limit_conserved(e, **rough)
        if self.options.positivity:
            self.keep_positive(e)

    def means_around(self, e):
        return e.take("neighbours", "state")

    def mean_of(self, e, v):
        return e.state[v][0]

    def limit_conserved(self, e, **rough):
        around, outer = self.around(e), e.rows("outer")
        for v in e.each():
            c = e.state[v]
            if self.order == 1:
                *shares, limited = e(self.shares, u=c, around=around[v], outer=outer, **rough)
            else:
                blocks = e.product("derivatives", c)
                *shares, limited = e(self.shares_of_degrees, blocks=blocks, g=e.g, around=around[v], outer=outer, **rough)
            with e.where(limited):
                e.change(self.scaled, v, c=c[1:], shares=shares)

    def limit_primitive(self, e, **rough):
        w = e(self.primitive_functions, c=e.state.all, m=e.m)
        *shares, limited = e(self.shares, u=w, around=self.around(e).all, outer=e.rows("outer"), **rough)
        with e.where(limited):
            e.change(self.of_primitive, w=w, shares=shares, c=self.slopes_of(e), m=e.m)

    def limit_waves(self, e, **rough):
        c, V = e.state.all, self.variables
        frame = e(self.frame, c=self.means_of(e), g=e.g)
        at = dict(mean=frame[:V], n=frame[V:], m=e.m)
        waves, own = e(self.waves_of, c=c, **at), self.means_of(e)
        if self.options.around:
            around = e.extremes(self.waves_beside, own=own, **at)
        else:
            around = e(self.waves_across, others=e.take("neighbours", "state").all, own=own, **at)
        *shares, limited = e(self.shares, u=waves, around=around, outer=e.rows("outer"), **rough)
        with e.where(limited):
            e.change(self.of_waves, w=waves, shares=shares, c=self.slopes_of(e), **at)

    def mean_density_of(self, e):
        return e(self.mean_density, c=e.state[0][:1])

    def mean_pressure_of(self, e):
        return e(self.mean_pressure, c=self.means_of(e), m=e.m)

    def scale(self, e, v, share):
        e.change(self.scaled, v, c=e.state[v][1:], shares=[share])

    def around(self, e):
        """The averages across the faces of an element, or the extremes around its vertices."""
        return e.take("vertices", "extremes") if self.options.around else e.take("neighbours", self.means)

    def means_of(self, e):
        return [e.state[v][0] for v in range(self.variables)]

    def slopes_of(self, e):
        return [row for v in range(self.variables) for row in e.state[v][1:]]

    # Functions of numbers.

    def shares(self, u, around, outer, rough=None):
        """The share of the slopes of each of these linear functions, coefficients of mode 0 and the linear modes of one after
        the other, and 1 where one is less than 1, else 0."""
        rows, count = self.dim + 1, len(outer) * (1 + self.options.around)
        result = [self.share(u[i * rows], u[i * rows + 1:i * rows + rows], around[i * count:i * count + count], outer)
                  for i in range(len(u) // rows)]
        return used(result, rough)

    def share(self, mean, slopes, around, outer, scale=0.0):
        """The largest share in [0, 1] of the slopes with which a linear function is within what is allowed.

        scale: of the numbers that its coefficients are differences of"""
        changes = [dot(point / self.unit, slopes) for point in self.limits.check]
        tiny = self.rounding * larger(largest_of(changes), scale)
        if self.options.around:
            high, low = [a - mean for a in around[::2]], [a - mean for a in around[1::2]]
            if not self.options.at_faces:
                return least_share(*room_at_vertices(high, low, outer), changes, tiny)
            high, low = room_around(high, low, outer)
        else:
            high, low = room_across([a - mean for a in around], outer)
        return share_of_extremes(high, low, changes, tiny)

    def shares_of_degrees(self, blocks, g, around, outer, rough=None):
        """The share of each degree from the highest on, and 1 where one is less than 1, else 0."""
        K, parts, shares = self.dim + 1, self.derivatives(blocks, g), {}
        steepest, size = largest_of(g), largest_of(blocks[-len(blocks) // len(self.indices):])          # the last block is u
        scales = {1: 0.0}
        for q in range(2, self.order + 1):
            scales[q] = size * steepest if q == 2 else scales[q - 1] * steepest
        for number, ((q, _), (mean, *slopes)) in enumerate(zip(self.indices, parts)):
            here = [around[i * 2 * len(parts) + 2 * number + j] for i in range(K) for j in (0, 1)]
            share = self.share(mean, slopes, here, outer, scales[q])
            shares[q] = smaller(share, shares[q]) if q in shares else share
        result = []
        for share in shares.values():
            result.append(larger(share, result[-1]) if result else share)
        return used(result, rough)

    def means_of_derivatives(self, blocks, g):
        return [mean for mean, in self.derivatives(blocks, g)]

    def derivatives(self, blocks, g):
        """The partial derivatives along x of all `indices` from those along r, blocks of the same number of coefficients:
        du/dx_d = sum_k dr_k/dx_d du/dr_k, one direction after the other."""
        size, axes = len(blocks) // len(self.indices), range(self.dim)
        known = {(q, (), index): blocks[i * size:i * size + size] for i, (q, index) in enumerate(self.indices)}
        for q in range(2, self.order + 1):
            for count in range(1, q):
                for *others, d in self.limits.indices[count + 1]:
                    for along_r in self.limits.indices[q - count]:
                        terms = [known[q, tuple(others), tuple(sorted((*along_r, k)))] for k in axes]
                        factors = [g[k * self.dim + d] for k in axes]
                        known[q, (*others, d), along_r] = [dot(factors, rows) for rows in zip(*terms)]
        return [known[q, index, ()] for q, index in self.indices]

    def scaled(self, c, shares):
        """Coefficients of the modes from 1 on, times the share of their degree, or the only one there is."""
        if len(shares) == 1:
            return [a * shares[0] for a in c]
        return [a * shares[self.order - q] for a, q in zip(c, self.limits.degrees[1:].tolist())]

    def primitive_means(self, c, m):
        """Primitive variables of the mean state, as coefficients of mode 0."""
        return [a * (1 / self.unit) for a in self.of_law(self.law.primitive, q=[a * self.unit for a in c], m=m)]

    def primitive_functions(self, c, m):
        """The primitive variables of an element as linear functions: their modal coefficients, variable after variable.

        c: those of the conserved variables, as the result;  m: the law's parameters there"""
        rows, (to_nodes, to_modes) = self.dim + 1, (self.limits.reference.nodal, self.limits.inverse_nodal)
        c = [c[i:i + rows] for i in range(0, len(c), rows)]
        values = [self.of_law(self.law.primitive, q=[dot(node, a) for a in c], m=m) for node in to_nodes]
        means = self.primitive_means([a[0] for a in c], m)
        return [value for mean, nodes in zip(means, zip(*values))
                for value in (mean, *(dot(mode, nodes) for mode in to_modes[1:]))]

    def of_primitive(self, w, shares, c, m):
        """Slopes of the conserved variables from limited primitive ones, where something is limited."""
        rows, (to_nodes, to_modes) = self.dim + 1, (self.limits.reference.nodal, self.limits.inverse_nodal)
        w = [[w[i], *(a * share for a in w[i + 1:i + rows])] for i, share in zip(range(0, len(w), rows), shares)]
        values = [self.of_law(self.law.conservative, w=[dot(node, a) for a in w], m=m) for node in to_nodes]
        found = [dot(mode, nodes) for nodes in zip(*values) for mode in to_modes[1:]]
        return where_limited(shares, found, c)

    def frame(self, c, g):
        """The mean state, of coefficients of mode 0, and the normal of the face over which the element is highest."""
        axes = range(self.dim)
        normals = [[g[k * self.dim + d] for d in axes] for k in axes]          # of length 2 / height
        normals.append([-sum(normal[d] for normal in normals) for d in axes])
        found, *others = normals
        least = dot(found, found)
        for normal in others:
            square = dot(normal, normal)
            higher = square < EQUAL * least
            found = [np.where(higher, a, b) for a, b in zip(normal, found)]
            least = np.where(higher, square, least)
        return [a * self.unit for a in c] + list(direction(found))

    def waves_of(self, c, mean, n, m):
        """The waves as linear functions, coefficients of one after the other; their means are zero."""
        rows = self.dim + 1
        slopes = [self.of_law(self.law.characteristic, q=c[j::rows], mean=mean, n=n, m=m) for j in range(1, rows)]
        return [value for wave in zip(*slopes) for value in (0.0, *wave)]

    def waves_beside(self, q, own, mean, n, m):
        """The waves from the mean state to another one."""
        return self.of_law(self.law.characteristic, q=[a - b for a, b in zip(q, own)], mean=mean, n=n, m=m)

    def waves_across(self, others, own, mean, n, m):
        """The waves from the mean state to those of all neighbours, (wave, face)."""
        K = self.dim + 1
        return [a for wave in zip(*(self.waves_beside(others[f::K], own, mean, n, m) for f in range(K))) for a in wave]

    def of_waves(self, w, shares, c, mean, n, m):
        """Slopes of the state from limited waves, where something is limited."""
        rows = self.dim + 1
        found = zip(*(self.of_law(self.law.from_characteristic, w=[a * share for a, share in zip(w[j::rows], shares)],
                                  mean=mean, n=n, m=m) for j in range(1, rows)))
        return where_limited(shares, [a for variable in found for a in variable], c)

    def mean_density(self, c):
        return [c[0] * self.unit]

    def mean_pressure(self, c, m):
        return self.pressure([a * self.unit for a in c], m)

    # What is stored and read, for those who run the flow.

    @cached_property
    def indices(self):
        """(degree q, directions of a partial derivative of order q - 1), from the highest degree on."""
        return [(q, index) for q in range(self.order, 0, -1) for index in self.limits.indices[q]]

    @property
    def kept(self):
        """{name: (number of variables, rows of each)} that `keep` stores."""
        result = {}
        if self.options.indicator:
            result["averages"] = len(self.limits.sensors), self.dim + 1
        if self.by_degrees or self.primitive:
            result["means"] = self.variables, len(self.indices)
        return result

    @property
    def means(self):
        """Where averages are read: in "means" if they are stored, else in the coefficients of mode 0 of the "state"."""
        return "means" if "means" in self.kept else "state"

    @property
    def around_vertices(self):
        """Whether extremes around vertices are found before elements are limited."""
        return self.options.around and not self.waves

    @property
    def rows_of_means(self):
        return len(self.indices) if self.means == "means" else 1

    @property
    def lists(self):
        """{(list, array that is read)} of `take`; waves around vertices need the lists `vertices` and `around` alone."""
        found = set()
        if self.options.indicator:
            found |= {("neighbours", "state"), ("beyond", "averages")}
        if self.options.limiter and not self.options.around:
            found.add(("neighbours", self.means))
        if self.around_vertices:
            found |= {("vertices", "extremes"), ("around", self.means)}
        elif self.options.around:
            found |= {("vertices", None), ("around", "state")}
        return found

    @cached_property
    def matrices(self):
        """{name: matrix of `product`}."""
        result, limits = dict(self.beside), self.limits
        if self.options.indicator:
            result["averages"] = limits.averages
        if self.by_degrees:
            blocks = []
            for q, index in self.indices:
                matrix = np.diag((limits.degrees <= q).astype(float))
                for k in index:
                    matrix = limits.derivatives[k] @ matrix
                blocks.append(matrix[[0, *limits.linear]])
            result |= {"means": np.array([block[0] for block in blocks]), "derivatives": np.concatenate(blocks)}
        return result


class Block:
    """Rows of every variable: block[v] are those of one, block.all those of all, one variable after the other.

    rows: rows(v), the sequence of a variable"""

    def __init__(self, variables, rows):
        self.variables, self.rows = variables, rows

    def __getitem__(self, v):
        return self.rows(v)

    @property
    def all(self):
        return [row for v in range(self.variables) for row in self.rows(v)]
