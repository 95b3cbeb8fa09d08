"""Limiters as array expressions, of which programs are made: the flow of a limiter, such as `Limiter.limit`, called once for
all elements of a set."""
from contextlib import nullcontext
from functools import cached_property
from operator import mul

import numpy as np

from ....program.arrays import Domain, apply, by_components, gather, product, put, reduce, stack, taken
from .limiter import Block, Limiter
from .linear import LinearLimiter, LinearLimiterTables
from .positivity import NodalPositivity
from .slope_shares import dot
from .tables import LimiterTables, NodalLimiterTables

FLOWS = {LimiterTables: Limiter, LinearLimiterTables: LinearLimiter, NodalLimiterTables: NodalPositivity}


def elements_of(forms, states, dtype):
    """{name of a set: the `Elements` that it limits}; all sets know what elements of others keep.

    forms: {name of a set: its recipe};  states: {name: q (variable, row, element)};  dtype: of the run"""
    found = {name: Elements(form, states[name], dtype) for name, form in forms.items() if form.tables.limits is not None}
    for e in found.values():
        if e.flow.kept:
            e.flow.keep(e)
    every = list(found.values())
    known = {name: of_all_sets(name, every) for name in every[0].flow.kept} if every else {}
    for e in every:
        e.begin(known)
    return found


def of_all_sets(name, every):
    """The rows `name` that all elements keep, (variable, row, element), those of one set after those of the other."""
    kept = [e.of_variables(name) for e in every]
    if len(every) == 1:
        return kept[0]
    count, parts = len(every[0].limits.neighbourhood.cells), []
    for e, rows in zip(every, kept):
        places = np.arange(rows.shape[1])[:, None] * count + np.arange(count)[e.limits.own]
        parts.append((e.form.constant(f"places of {name}", places.shape, lambda places=places: places, e.form.all, "integer"),
                      rows, "set"))
    return put(rows.trace, kept[0].shape[:2], Domain("elements of all sets", count), parts, f"{name} of all sets")


class Elements:
    """The elements of a set as a limiter's flow sees one, see `Limiter` and `LinearLimiter`: rows are arrays over all of them.

    form, limits, flow   the recipe of the set, its limiter's tables and the limiter
    domain               which elements
    parts, whole         their state now, by variable, (row, element), and as one array, None: of the parts"""

    def __init__(self, form, q, dtype):
        self.form, self.limits, self.domain = form, form.tables.limits, q.domain
        self.set(slice(None), q)
        self.flow = FLOWS[type(self.limits)](self.limits, form.tables.law, form.tables.physics.parameters, dtype)
        self.stored, self.kept, self.known = {}, {}, {"state": q[:, :1]}

    def begin(self, known):
        """Go on with the own elements alone, which know what all elements of all sets keep."""
        own = self.form.own
        self.kept = {name: block_of(self.of_variables(name).first(own)) for name in self.flow.kept}
        self.known |= known
        if "mean" in vars(self):
            self.mean = self.mean.first(own)
        self.domain = own
        self.set(slice(None), self.q.first(own))
        if self.flow.around_vertices:
            self.known["extremes"] = self.extremes_at_vertices(self.known[self.flow.means])

    def limited(self):
        """The limited state."""
        self.flow.limit(self)
        return self.q

    # Arrays.

    def table(self, name):
        """Rows of the limiter's tables; those that are the same in all elements have one column."""
        values, form = np.atleast_2d(getattr(self.limits, name)), self.form
        domain = None if values.shape[-1] == 1 else form.all
        return form.constant(name, values.shape, lambda: values, domain).first(self.domain)

    def places(self, name):
        """An index list of the limiter's tables."""
        places = getattr(self.limits, name)
        return self.form.constant(name, places.shape, lambda: places, self.form.all, "integer").first(self.domain)

    @property
    def around(self):
        """The elements around each vertex of the mesh, (count, vertex)."""
        around = self.limits.neighbourhood.around
        return self.form.trace.constant("around", around.shape, Domain("vertices", around.shape[1]), lambda: around, "integer")

    def extremes_at_vertices(self, means):
        """The largest and the least of these around each vertex of the mesh, (variable, 2 row, vertex)."""
        values = taken(means.reshape(*means.lead, 1), self.around, "around vertices")
        pair = [reduce(how, values, term=term) for how, term in (("max", "largest"), ("min", "least"))]
        return stack(pair, 2, "extremes").reshape(len(means), -1)

    def of_variables(self, name):
        """The stored rows (variable, row, element)."""
        (v, rows), *_ = stored = self.stored[name]
        if v is None:
            return rows.reshape(*self.flow.kept[name])
        return by_variable(rows) if isinstance(v, slice) else stack([rows for _, rows in stored], term=name)

    @property
    def q(self):
        """The state now, (variable, row, element)."""
        if self.whole is None:
            self.whole = stack(self.parts, term="state")
        return self.whole

    def set(self, v, values):
        """The state with other values (variable, row, element), or (row, element) of variable v alone."""
        if isinstance(v, slice):
            self.whole, self.parts = values, list(values)
        else:
            self.whole, self.parts[v] = None, values

    # What the flow asks for.

    @property
    def state(self):
        return block_of(self.q)

    def keep(self, name, rows, v=None):
        self.stored.setdefault(name, []).append((v, rows))

    def change(self, function, v=None, **rows):
        found, q = self(function, **rows), self.q
        if v is None:
            found, v = found.reshape(len(q), -1).moved(1, 0), slice(None)
        values = stack([q[v, 0], *found], int(isinstance(v, slice)), "limited coefficients")
        self.set(v, values)

    @property
    def g(self):
        found = self.form.all_metric("gradients").first(self.domain)
        return found.reshape(-1, *found.lead[2:])

    @property
    def m(self):
        return {name: values.first(self.domain) for name, values in self.form.all_parameters().items()}

    def rows(self, name):
        return self.table(name)

    def each(self):
        yield slice(None)

    def __call__(self, function, term=None, **rows):
        counts = {name: None if name == "m" else len(value) for name, value in rows.items()}
        return apply(self.flow.function(function, **counts), term or function.__name__.replace("_", " "), **rows)

    def product(self, name, rows):
        matrix = self.form.matrix(name, self.flow.matrices[name])
        if len(rows.lead) == 1:
            return product(matrix, rows, term=name)
        return by_variable(product(matrix, by_variable(rows), term=name))

    def take(self, name, source):
        values, places = self.known[source], self.places(name)
        if source in ("state", "averages"):          # the list has places of rows, too
            return block_of(taken(values, places, f"{'means' if source == 'state' else source} at {name}"))
        found = taken(values.reshape(*values.lead, 1), places, f"{source} at {name}")
        return Block(len(values), lambda v: [found[v, row, i] for i in range(len(places)) for row in range(values.shape[1])])

    def where(self, row):
        return nullcontext()

    def values_at_points(self, used):
        """Values of the first variables at all points of the volume and the faces, and beside, a list of (variable, point,
        element)."""
        basis, more, nodes = self.form.basis, list(self.flow.beside.values()), [self.parts]
        if basis.interpolate is not None:
            more, nodes = [basis.interpolate, basis.trace, *more], []
        elif basis.kind == "gauss":
            more = [basis.cell.interpolation(basis.face_points), *more]
        if not more:
            return nodes
        return [*nodes, product(self.form.matrix("values at points", np.concatenate(more)), self.q[:used], term="q at points")]

    def least(self, function, start):
        variables, found = range(len(self.parts)), start
        read = self.flow.function(function, q=len(variables), least=1, m=None).used.values()
        last = max(number for argument, number in read if argument == "q")
        for values in self.values_at_points(last + 1):
            q = [values[min(v, last)] for v in variables]
            found = [reduce("min", self(function, q=q, least=found, m=self.m)[0], term="least")]
        return found

    def extremes(self, function, **rows):
        vertices, state, high = self.places("vertices"), self.known["state"], None
        for around in self.around:
            values = self(function, q=gather(state, taken(around, vertices, "an element around")), **rows)
            if high is None:
                high = low = values
                continue
            found = self(extremes_with, a=values, high=high, low=low)
            high, low = found[:len(values)], found[len(values):]
        return [each[v, i] for v in range(len(high)) for i in range(len(vertices)) for each in (high, low)]

    # What the flow asks for besides, of elements of any shape.

    @cached_property
    def mean(self):
        return self.sums(self.table("weights"), self.q, "mean")[0]

    def mean_of(self, v):
        return self.mean[v]

    def slopes(self, v):
        weights = self.table("slopes")
        return self.sums(weights.reshape(-1), self.q[v], "slopes")

    def sums(self, weights, q, term):
        """Sums over the rows of q (.., row, element) with weights (sum * row, element)."""
        return self(sums, term, q=by_variable(q) if len(q.lead) > 1 else q, w=weights)

    def span(self, v):
        q = self.q[v]
        if self.form.basis.modal:
            q = product(self.form.matrix("to_nodes", self.flow.matrices["to_nodes"]), q, term="q at nodes")
        return [reduce(how, q, term=f"{term} at nodes") for how, term in (("max", "largest"), ("min", "least"))]

    def column(self, name):
        """The unknowns of known functions, (.., row, 1)."""
        values = getattr(self.limits, name)[..., None]
        return self.form.constant(name, values.shape, lambda: values)

    def make_linear(self, v, share, where, slopes, centre):
        given = {"mean": [self.mean[v]], "share": [share], "where": [where], "slopes": slopes}
        given = {name: [row.reshape(*row.lead, 1) for row in rows] for name, rows in given.items()} | {
            "q": [self.q[v]], "one": [self.column("one")], "linear": self.column("linear"), "centre": centre}
        self.set(v, self(linear, "linear function", **given)[0])

    def at_nodes(self, function, v, **rows):
        some = range(len(self.parts)) if isinstance(v, slice) else [v]
        mean = self.mean.reshape(len(self.parts), 1)
        if self.form.basis.modal:          # the unknowns of a constant
            mean = apply(by_components(mul, len(mean)), "mean functions", a=mean, b=[self.column("one")] * len(mean))
        found = self(function, q=[self.parts[i] for i in some], mean=[mean[i] for i in some], **rows)
        self.set(v, found if isinstance(v, slice) else found[0])


def block_of(values):
    """The `Block` of an array (variable, row, element); for all variables at once the rows are arrays (variable, element)."""
    return Block(len(values), lambda v: by_variable(values) if isinstance(v, slice) else values[v])


def by_variable(values):
    """(row, variable, element) of (variable, row, element), and the other way round."""
    return values.moved(1, 0)


# Functions of numbers.

def sums(q, w):
    return tuple(dot(w[i:i + len(q)], q) for i in range(0, len(w), len(q)))


def extremes_with(a, high, low):
    """The largest and the least so far, and a."""
    return *map(np.maximum, high, a), *map(np.minimum, low, a)


def linear(q, mean, share, where, slopes, one, linear, centre):
    """mean + share * sum_k s_k (r_k - centre_k) where `where` is 1, else q."""
    found = mean[0] * one[0]
    for s, r, c in zip(slopes, linear, centre):
        found = found + share[0] * s * (r - c * one[0])
    return [np.where(where[0] > 0.0, found, q[0])]
