"""Recorders of integrals over named boundaries and over the domain."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..backends.arrays import PIECE
from ..mesh import Grid
from ..pointwise import Pointwise, components
from ..reference import quadrature
from .grid import parts
from .probes import Recorder, Recording, whole
from .record_layout import Series
from .sampling import at_nodes, boundary_surface, grid_sides, side_nodes, taker, title
from .totals import totals


@dataclass(frozen=True, repr=False)
class BoundaryIntegral(Recorder):
    """Integral over a named boundary, sum over its faces of integral f dS; dims (time,).  On a grid by the trapezoidal rule.

    boundary    name, or several names in a tuple
    function    f(q, n, x, t, m) -> number or tuple, in plain NumPy, of the state inside, the outward unit normal, position,
                time and the law's parameters, as many of them as it asks for; by default F(q) . n, the flux of every
                variable of the law out of the domain, under the variable's name
    every       steps between samples
    names       of the components; by default the function's name, with _0, _1, ... where there are several
    degree      up to which polynomials f are integrated exactly, on meshes; 2 order + 4 by default"""

    boundary: str | tuple
    function: Callable = None
    every: int = 1
    names: tuple = None
    degree: int = None

    def __post_init__(self):
        _check(self)

    def attach(self, name, operator):
        """The Recording of this recorder in one run."""
        tables = operator.tables
        attrs = {"boundary": title(self.boundary), "long_name": f"integral over {title(self.boundary)}"}
        if isinstance(tables.mesh, Grid):
            names, measure = self._on_grid(name, operator)
            return Recording(Series(name, {}, dict.fromkeys(names, ((), attrs))), self.every, measure)
        surface = boundary_surface(name, operator, self.boundary)
        x, weights, matrix = surface.quadrature(self.degree or 2 * tables.cell.order + 4)
        cells, take = surface.rows[:, 0], taker(operator, surface.rows[:, 0])
        fixed = {"n": tuple(n[:, None] for n in surface.normals), "x": tuple(x),
                 "m": {key: values[cells, None] for key, values in tables.parameters.items()}}
        function, names = ((self.function, self.names) if self.function is not None
                           else (tables.physics.flux_along, tuple(tables.law.variables)))
        integrand = _Integrand(name, tables, function, names, weights.shape, fixed)

        def measure(state, t):
            q = surface.take(take(state)) @ matrix.T
            return [np.sum(value * weights) for value in integrand(weights.shape, q=tuple(q), t=t, **fixed)]
        return Recording(Series(name, {}, dict.fromkeys(integrand.names, ((), attrs))), self.every, measure)

    def _on_grid(self, name, operator):
        """Names of the components and the function (state, t) -> integrals over sides of a grid."""
        tables, grid = operator.tables, operator.tables.mesh
        refuse_degree(name, self.degree)
        function, names = ((self.function, self.names) if self.function is not None
                           else (tables.law.flux, tuple(tables.law.variables)))
        faces = []
        for axis, side in grid_sides(name, grid, self.boundary):
            nodes = side_nodes(grid, axis, side)
            places = np.unravel_index(nodes, grid.shape)[::-1]
            x = tuple(nodes_along[i] for nodes_along, i in zip(grid.axes, places))
            weights = np.prod([rule[i] for k, (rule, i) in enumerate(zip(grid.weights(), places)) if k != axis], axis=0)
            n = tuple(np.full(1, (2.0 * side - 1) * (k == axis)) for k in range(grid.dim))
            faces.append((nodes, np.broadcast_to(weights, nodes.shape), {"n": n, "x": x, "m": tables.linear.parameters(x)}))
        integrand = _Integrand(name, tables, function, names, faces[0][1].shape, faces[0][2])

        def measure(state, t):
            total = np.zeros(len(integrand.names))
            for nodes, weights, fixed in faces:
                q = tuple(operator.take(state, nodes)[:, 0].astype(float))
                total += [np.sum(value * weights) for value in integrand(weights.shape, q=q, t=t, **fixed)]
            return total
        return integrand.names, measure


@dataclass(frozen=True, repr=False)
class VolumeIntegral(Recorder):
    """Integral over the domain; dims (time,).  On a grid by the trapezoidal rule.

    function    f(q, x, t, m) -> number or tuple, in plain NumPy, of state, position, time and the law's parameters, as many
                of them as it asks for; by default the totals of the law: of C q for every variable, and of the energy
    every       steps between samples
    names       of the components; by default the function's name, with _0, _1, ... where there are several
    degree      up to which polynomials f are integrated exactly, on meshes; 2 order + 4 by default"""

    function: Callable = None
    every: int = 1
    names: tuple = None
    degree: int = None

    def __post_init__(self):
        _check(self)

    def attach(self, name, operator):
        """The Recording of this recorder in one run."""
        tables = operator.tables
        if isinstance(tables.mesh, Grid):
            refuse_degree(name, self.degree)
        if self.function is None:
            names = (*tables.law.variables, *(() if tables.law.energy is None else ("energy",)))

            def measure(state, t):
                return totals(tables, at_nodes(operator, state)).values()
        else:
            names, integral = (self._on_grid if isinstance(tables.mesh, Grid) else self._integral)(name, tables)

            def measure(state, t):
                return integral(at_nodes(operator, state), t)
        attrs = {"long_name": "integral over the domain"}
        return Recording(Series(name, {}, dict.fromkeys(names, ((), attrs))), self.every, measure)

    def _integral(self, name, tables):
        """Names of the components and the function (q, t) -> integrals, which works through blocks of elements."""
        points, weights = quadrature(tables.dim, self.degree or 2 * tables.cell.order + 4)
        matrix, jacobian = tables.cell.interpolation(points), tables.mesh.measures / tables.cell.volume
        step = max(16, PIECE // matrix.size)

        def inputs(some):
            x = tuple(tables.origin[d, some] + points @ tables.tangents[:, d, some] for d in range(tables.dim))
            return x[0].shape, {"x": x, "m": {key: values[some] for key, values in tables.parameters.items()}}
        integrand = _Integrand(name, tables, self.function, self.names, *inputs(slice(0, 1)))

        def integral(q, t):
            total = np.zeros(len(integrand.names))
            for first in range(0, tables.elements, step):
                some = slice(first, first + step)
                shape, fixed = inputs(some)
                values = tuple(matrix @ component[:, some].astype(float) for component in q)
                total += [weights @ value @ jacobian[some] for value in integrand(shape, q=values, t=t, **fixed)]
            return total
        return integrand.names, integral


    def _on_grid(self, name, tables):
        """The same on a grid; q (variable, 1, node)."""
        grid, some = tables.mesh, tables.mesh.examples
        integrand = _Integrand(name, tables, self.function, self.names, some[0].shape,
                               {"x": some, "m": tables.linear.parameters(some)})

        def integral(q, t):
            total, q = np.zeros(len(integrand.names)), q.reshape(len(q), *grid.shape)
            for rows, x, weights in parts(grid):
                here = tuple(q[:, rows].astype(float))
                values = integrand(here[0].shape, q=here, t=t, x=x, m=tables.linear.parameters(x))
                total += [np.sum(value * weights) for value in values]
            return total
        return integrand.names, integral


def refuse_degree(name, degree):
    """Raise ValueError for a degree on a grid."""
    if degree is not None:
        raise ValueError(f"record {name!r}: degree={degree!r} is for meshes; on a grid integrals are by the trapezoidal rule")


class _Integrand:
    """A function of the user at points of quadrature: its components by name.

    Called once with states of ones, at points (row, column) of `shape`, to learn how many components it has."""

    def __init__(self, name, tables, function, names, shape, fixed):
        self.role = f"record {name!r}"
        extra = {"n": tables.dim} if "n" in fixed else {}
        state = {"q": tables.variables, **tables.linear.given} if isinstance(tables.mesh, Grid) else tables.physics.state
        self.function = Pointwise(function, {**state, **extra}, self.role)
        with np.errstate(all="ignore"):
            count = len(components(self.function(q=(np.ones(shape),) * tables.variables, t=0.0, **fixed), None, self.role))
        if names is None:
            base = getattr(function, "__name__", "")
            base = base if base.isidentifier() and base != "time" else "integral"
            names = (base,) if count == 1 else tuple(f"{base}_{i}" for i in range(count))
        self.names = (names,) if isinstance(names, str) else tuple(names)
        if len(self.names) != count:
            raise ValueError(f"{self.role}: the function returns {count} component{'s' * (count != 1)}, "
                             f"but names has {len(self.names)}: {', '.join(map(str, self.names))}")
        with np.errstate(all="ignore"):
            list(self(shape, q=(np.ones(shape),) * tables.variables, t=0.0, **fixed))

    def __call__(self, shape, **inputs):
        """The components, each as an array of `shape`."""
        for name, value in zip(self.names, components(self.function(**inputs), len(self.names), self.role)):
            value = np.asarray(value)
            fits = all(own in (1, size) for own, size in zip(value.shape[::-1], shape[::-1])) and value.ndim <= len(shape)
            if value.dtype.kind not in "fiub" or not fits:
                raise ValueError(f"{self.role}: component {name} is an array of {value.dtype} with the shape {value.shape}; "
                                 f"it must be a real number at every point, {shape}")
            yield np.broadcast_to(value.astype(float), shape)


def _check(recorder):
    whole("every", recorder.every)
    if recorder.degree is not None:
        whole("degree", recorder.degree)
    if recorder.function is None:
        if recorder.names is not None:
            raise ValueError(f"names={recorder.names!r} is not allowed without a function; the names are those of the law")
    elif not callable(recorder.function):
        raise ValueError(f"function={recorder.function!r} is not allowed; it must be a function of q, x, t and m")
    if recorder.names is not None:
        names = (recorder.names,) if isinstance(recorder.names, str) else tuple(recorder.names)
        bad = [n for n in names if not (isinstance(n, str) and n.isidentifier()) or n == "time" or names.count(n) > 1]
        if bad:
            raise ValueError(f"name {bad[0]!r} is not allowed; names are letters, digits and _, each once, and not 'time'")
