"""Where a recorder looks at the fields of a run: points, named boundaries, the whole volume."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..mesh import Grid
from ..mesh.interpolant import interpolant
from ..mesh.locate import Locator
from ..wording import choose
from .record_layout import Fixed
from .surface import AXES, Surface

TAKEN = ("time", "frequency", "time_span", "bound")      # names that every record keeps for itself


@dataclass(frozen=True, eq=False)
class Place:
    """Where fields are looked at.

    dims     dim -> size;  coords: name -> Fixed;  attrs: of every field there
    read     function (state, numbers of variables) -> host array (variable, *sizes)"""

    dims: dict
    coords: dict
    attrs: dict
    read: Callable

    def variables(self, name, law, chosen, before=()):
        """The `variables` of a Series, {name: (dims, attributes)}, for the chosen variables of the law.

        Raises ValueError where one of them is called as a coordinate of the record `name`."""
        for v in chosen:
            if v in (*self.dims, *self.coords, *TAKEN):
                raise ValueError(f"record {name!r}: the variable {v!r} of the law is called as a coordinate of the record; "
                                 f"names not allowed: {', '.join(sorted({*self.dims, *self.coords, *TAKEN}))}")
        return {v: ((*before, *self.dims), {"long_name": law.long_names.get(v, v), "units": units(law, v)} | self.attrs)
                for v in chosen}


def at_points(name, operator, points):
    """The Place of points (point, dim). Raises ValueError for another shape and points outside the mesh."""
    law, mesh = operator.tables.law, operator.tables.mesh
    try:
        x = np.asarray(points, float)
    except (TypeError, ValueError):
        raise ValueError(f"record {name!r}: points={points!r} is not allowed; give numbers (point, {mesh.dim})") from None
    if x.ndim == 1 and (mesh.dim == 1 or len(x) == mesh.dim):
        x = x.reshape(-1, mesh.dim)
    if x.ndim != 2 or x.shape[1] != mesh.dim or not len(x):
        raise ValueError(f"record {name!r}: points have the shape {x.shape}; it must be (point, {mesh.dim})")
    coords = {axis: Fixed(("point",), column, {"long_name": f"{axis} of the points", "units": units(law, axis)})
              for axis, column in zip(AXES, x.T)}
    if isinstance(mesh, Grid):
        nodes, weights = interpolant(mesh, operator.tables.order, x)
        refuse_outside(name, x, np.isnan(weights[:, 0, 0]), mesh.lower, mesh.upper, "grid")
        take = taker(operator, nodes.ravel())

        def read(state, numbers):
            c = take(state)[numbers]
            return np.einsum("pvc,kcpv->kp", weights, c.reshape(*c.shape[:2], *nodes.shape))
        return Place({"point": len(x)}, coords, {}, read)
    element, r = Locator(mesh.points, mesh.cells).find(x)
    refuse_outside(name, x, element < 0, mesh.points.min(axis=0), mesh.points.max(axis=0), "mesh")
    matrix, take = operator.tables.cell.interpolation(r), taker(operator, element)

    def read(state, numbers):
        return np.einsum("pn,vnp->vp", matrix, take(state)[numbers])
    coords["cell_number"] = Fixed(("point",), mesh.numbers[element].astype("int64"),
                                  {"long_name": "position among the cells of the mesh file, from 0"})
    return Place({"point": len(x)}, coords, {}, read)


def refuse_outside(name, x, outside, lower, upper, of):
    """Raise ValueError for the first of the points x (point, dim) that is outside."""
    outside = np.flatnonzero(outside)
    if len(outside):
        where, low, high = (", ".join(f"{c:.6g}" for c in corner) for corner in (x[outside[0]], lower, upper))
        others = f" (and {len(outside) - 1} more)" if len(outside) > 1 else ""
        raise ValueError(f"record {name!r}: point {outside[0]} at ({where}) is outside the {of}{others}; "
                         f"the {of} lies between ({low}) and ({high})")


def on_boundary(name, operator, boundary):
    """The Place of the nodes of a named boundary, on a grid of one side. Raises ValueError for an unknown name."""
    if isinstance(operator.tables.mesh, Grid):
        return on_side(name, operator, boundary)
    surface = boundary_surface(name, operator, boundary)
    take = taker(operator, surface.rows[:, 0])

    def read(state, numbers):
        return surface.take(take(state)[numbers])
    coords = surface.coords(operator.tables.mesh.numbers, units(operator.tables.law, "x"))
    return Place(dict(zip(("face", "face_node"), surface.shape)), coords, {"boundary": title(boundary)}, read)


def on_side(name, operator, boundary):
    """The Place of the nodes of one side of a grid."""
    law, grid, chosen = operator.tables.law, operator.tables.mesh, grid_sides(name, operator.tables.mesh, boundary)
    if len(chosen) > 1:
        raise ValueError(f"record {name!r}: boundary={boundary!r} are several sides; on a grid give one, and a recorder for "
                         "each")
    (normal, side), = chosen
    rest, nodes = [k for k in reversed(range(grid.dim)) if k != normal], side_nodes(grid, normal, side)
    sizes = {AXES[k]: grid.nodes[k] for k in rest}

    def read(state, numbers):
        values = operator.take(state, nodes)[numbers, 0].astype(float)
        return values.reshape(len(values), *sizes.values())
    coords = {AXES[k]: Fixed((AXES[k],) if k in rest else (), grid.axes[k] if k in rest else (grid.lower, grid.upper)[side][k],
                             {"long_name": f"{AXES[k]} of the nodes", "units": units(law, AXES[k])}) for k in range(grid.dim)}
    return Place(sizes, coords, {"boundary": title(boundary)}, read)


def grid_sides(name, grid, boundary):
    """[(axis, side)] of a side of a grid by name, or of several in a tuple. Raises ValueError for an unknown name."""
    names = tuple(boundary) if isinstance(boundary, (tuple, list)) else (boundary,)
    return [grid.boundaries[choose(f"record {name!r}: boundary", each, grid.boundaries, " on the grid; it has")]
            for each in names]


def side_nodes(grid, axis, side):
    """Numbers of a grid's nodes on one side, counted with x fastest."""
    numbers = np.arange(int(np.prod(grid.shape))).reshape(grid.shape)
    return np.take(numbers, -side, axis=grid.dim - 1 - axis).ravel()


def in_volume(operator):
    """The Place of all nodes of the mesh or grid; its coordinates are those of the run's dataset."""
    tables, grid = operator.tables, operator.tables.mesh

    def read(state, numbers):
        values = at_nodes(operator, state)[numbers]
        return values.reshape(len(values), *grid.shape) if isinstance(grid, Grid) else values.transpose(0, 2, 1)
    if isinstance(grid, Grid):
        coords = {axis: Fixed((axis,), nodes, {"long_name": f"{axis} of the nodes", "units": units(tables.law, axis)})
                  for axis, nodes in zip(AXES, grid.axes)}
        return Place(dict(zip(AXES[grid.dim - 1::-1], grid.shape)), coords, {}, read)
    return Place({"element": tables.elements, "node": len(tables.cell.nodes)}, {}, {}, read)


def at_nodes(operator, state):
    """The values at all nodes on the host: (variable, node, element), on a grid (variable, 1, node)."""
    if isinstance(operator.tables.mesh, Grid):
        return operator.host(state[:, :1])
    return operator.nodal(operator.host(state))


def boundary_surface(name, operator, boundary):
    """The Surface of a boundary name, or of several in a tuple. Raises ValueError for an unknown name."""
    mesh = operator.tables.mesh
    names = tuple(boundary) if isinstance(boundary, (tuple, list)) else (boundary,)
    for each in names:
        choose(f"record {name!r}: boundary", each, mesh.boundaries, " in the mesh; it has")
    rows = np.concatenate([np.empty((0, 2), np.int64), *(mesh.boundaries[each] for each in names)])
    if not len(rows):
        raise ValueError(f"record {name!r}: boundary={boundary!r} has no face; give names of the mesh: "
                         f"{', '.join(mesh.boundaries) or 'none'}")
    return Surface(mesh.points, mesh.cells, operator.tables.cell.order, np.unique(rows, axis=0))


def taker(operator, elements):
    """The function state -> q (variable, node, len(elements)) in float64 on the host; each element is copied once.

    On a grid these are nodes, and q is (variable, coefficient, len(nodes))."""
    unique, place = np.unique(elements, return_inverse=True)

    def take(state):
        return operator.take(state, unique)[:, :, place].astype(float)
    return take


def choice(name, law, variables):
    """{variable: its number in the law} of the names asked for, all if None. Raises ValueError for an unknown one."""
    names = tuple(law.variables) if variables is None else (variables,) if isinstance(variables, str) else tuple(variables)
    for variable in names:
        choose(f"record {name!r}: variable", variable, law.variables, " in the law; it has")
    if not names or len(set(names)) != len(names):
        raise ValueError(f"record {name!r}: variables={variables!r} is not allowed; give at least one, each once, of: "
                         f"{', '.join(law.variables)}")
    return {variable: list(law.variables).index(variable) for variable in names}


def title(boundary):
    """The name of a boundary, or the names of several, as text."""
    return ", ".join(boundary) if isinstance(boundary, (tuple, list)) else boundary


def units(law, name):
    """Units of a variable or coordinate."""
    return law.units.get(name, "normalised")
