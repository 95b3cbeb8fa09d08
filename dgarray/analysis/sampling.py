"""Where a recorder looks at the fields of a run: points, named boundaries, the whole volume."""
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..mesh.curved.cell_maps import extent
from ..physics.laws.units import all_axes
from ..spaces.parts import AXES, face_rows
from ..support.wording import choose
from .interface_states import flux_states
from .record_layout import Fixed
from .record_origin import faces_in_layers, origin_of
from .scattered_fields import unknown_at

TAKEN = ("time", "frequency", "time_span", "bound", "largest", "areas", "variable")  # names that every record keeps for itself


@dataclass(frozen=True, eq=False)
class Place:
    """Where fields are looked at.

    dims     dim -> size;  coords: name -> Fixed;  attrs: of every field there
    read     function (state, t, numbers of variables) -> host array (variable, *sizes)"""

    dims: dict
    coords: dict
    attrs: dict
    read: Callable

    def variables(self, name, law, chosen, before=()):
        """The `variables` of a Series, {name: (dims, attributes)}, for the chosen variables of the law.

        Raises ValueError where one of them has the name of a coordinate of the record `name`."""
        for v in chosen:
            if v in (*self.dims, *self.coords, *TAKEN):
                raise ValueError(f"record {name!r}: the variable {v!r} of the law has the name of a coordinate of the record; "
                                 f"names not allowed: {', '.join(sorted({*self.dims, *self.coords, *TAKEN}))}")
        return {v: ((*before, *self.dims), {"long_name": law.long_names.get(v, v), "units": units(law, v)} | self.attrs)
                for v in chosen}


def at_points(role, operator, points):
    """The Place of points (point, dim). Raises ValueError, which begins with `role`, for another shape and points outside the
    mesh."""
    law, space, x = operator.law, operator.space, as_points(role, points, operator.mesh.dim)
    found = space.evaluation(x)
    refuse_outside(role, x, found.outside, *space.bounds(), space.word)
    take = taker(operator, found.places)
    coords = {axis: Fixed(("point",), column, {"long_name": f"{axis} of the points", "units": units(law, axis)})
              for axis, column in zip(AXES, x.T)} | fixed(found.coords)
    return Place({"point": len(x)}, coords, {}, lambda state, t, numbers: found.values(take(state)[numbers]))


def as_points(role, points, dim):
    """Points as an array (point, dim). Raises ValueError, which begins with `role`, for another shape."""
    try:
        x = np.asarray(points, float)
    except (TypeError, ValueError):
        raise ValueError(f"{role}: points={points!r} is not allowed; give numbers (point, {dim})") from None
    if x.ndim == 1 and (dim == 1 or len(x) == dim):
        x = x.reshape(-1, dim)
    if x.ndim != 2 or x.shape[1] != dim or not len(x):
        raise ValueError(f"{role}: points have the shape {x.shape}; it must be (point, {dim})")
    return x


def refuse_far_outside(role, points, mesh):
    """Raise ValueError for points that are outside the box around a mesh or grid, before anything is computed."""
    x, word = as_points(role, points, mesh.dim), "grid" if mesh.structured else "mesh"
    lower, upper = (mesh.lower, mesh.upper) if mesh.structured else extent(mesh.whole)
    slack = 1e-6 * (np.asarray(upper) - lower)          # what is nearer is for the search in the cells
    refuse_outside(role, x, ~((x >= lower - slack) & (x <= upper + slack)).all(axis=1), lower, upper, word)


def refuse_outside(role, x, outside, lower, upper, of):
    """Raise ValueError for the first of the points x (point, dim) that is outside."""
    outside = np.flatnonzero(outside)
    if len(outside):
        where, low, high = (", ".join(f"{c:.6g}" for c in corner) for corner in (x[outside[0]], lower, upper))
        others = f" (and {len(outside) - 1} more)" if len(outside) > 1 else ""
        raise ValueError(f"{role}: point {outside[0]} at ({where}) is outside the {of}{others}; "
                         f"the {of} lies between ({low}) and ({high})")


def on_boundary(role, operator, boundary, of_flux=False):
    """The Place of the nodes of a named boundary, on a grid of one side, with what `unknown_at` and `origin_of` know of the
    fields there, and the coordinate in_layer, 1 of faces in an absorbing layer, where there are any.

    of_flux: on a plane interface the fields are those of the numerical flux, see `flux_states`, where it knows them.
    Raises ValueError, which begins with `role`, for an unknown name."""
    space, label = operator.space, partial(units, operator.law)
    trace = space.trace(boundary, role, label)
    take = taker(operator, trace.places)
    names = boundary if isinstance(boundary, tuple | list) else (boundary,)
    attrs = {"boundary": title(boundary)} | unknown_at(operator.mesh, operator.problem.boundary, names)
    attrs |= origin_of(operator, names)
    coords = trace.coords
    if not space.structured:
        inside = faces_in_layers(operator.mesh.whole, face_rows(operator.mesh.whole, boundary, role))
        if inside.any():
            coords = coords | {"in_layer": (("face",), inside.astype("int64"), {
                "long_name": "whether the face lies in an absorbing layer"})}

    def read(state, t, numbers):
        return trace.values(take(state)[numbers])
    of_one_shape = not space.structured and len(space.spaces) == 1
    if of_flux and len(names) == 1 and of_one_shape and names[0] in operator.mesh.whole.interfaces:
        beyond = space.trace(boundary, role, label, beyond=True)
        take_beyond = taker(operator, beyond.places)
        states = flux_states(operator, names[0], trace, lambda state: trace.values(take(state)),
                             (beyond, lambda state: beyond.values(take_beyond(state))))
        if states is not None:
            def read(state, t, numbers):
                return states(state, t)[numbers]
    return Place(trace.sizes, fixed(coords), attrs, read)


def in_volume(name, operator):
    """The Place of all nodes of the mesh or grid; its coordinates are those of the run's dataset; name: of the record.

    Raises ValueError for cells of several shapes, whose nodes are in several datasets."""
    space = operator.space
    if len(space.spaces) > 1:
        raise ValueError(f"record {name!r}: a transform of the whole volume is for cells of one shape; "
                         "give points= or boundary=")

    zones = list(operator.zones.values())          # the datasets of zones hold one zone after the other, and so does a record
    order = np.concatenate(zones) if zones else slice(None)

    def read(state, t, numbers):
        return space.arranged(at_nodes(operator, state)[numbers])[:, order]
    return Place(space.sizes, fixed(space.coordinates(partial(units, operator.law))), {}, read)


def at_nodes(operator, state):
    """The values at all nodes on the host: (variable, node, element), on a grid (variable, 1, node)."""
    values = operator.fetch(state).result()
    return values[:, :1] if operator.space.structured else values


def fixed(coords):
    """Coordinates of a space as those of a record."""
    return {name: Fixed(*each) for name, each in coords.items()}


def taker(operator, places):
    """The function state -> q (variable, row, len(places)) in float64 on the host; each place is copied once."""
    unique, position = np.unique(places, return_inverse=True)

    def take(state):
        return operator.take(state, unique)[:, :, position].astype(float)
    return take


def choice(role, law, variables):
    """{variable: its number in the law} of the names asked for, all if None. Raises ValueError for an unknown one."""
    names = tuple(law.variables) if variables is None else (variables,) if isinstance(variables, str) else tuple(variables)
    for variable in names:
        choose(f"{role}: variable", variable, law.variables, " in the law; it has")
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{role}: variables={variables!r} is not allowed; give at least one, each once, of: "
                         f"{', '.join(law.variables)}")
    return {variable: list(law.variables).index(variable) for variable in names}


def title(boundary):
    """The name of a boundary, or the names of several, as text."""
    return ", ".join(boundary) if isinstance(boundary, (tuple, list)) else boundary


def units(law, name):
    """Units of a variable or coordinate."""
    return all_axes(law.units).get(name, "normalised")
