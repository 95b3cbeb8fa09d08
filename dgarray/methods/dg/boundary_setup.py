"""The user's boundary conditions assigned to boundary faces, and the law's parameters assigned to elements.

On a part of a mesh both are computed on the whole mesh first, because a condition may need all its faces at once."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...mesh.faces import Inner
from ...physics.declared import Formula, declared, refuse_class
from ...physics.laws.law import argument, check_bounds, check_function, shown
from ...physics.trace import call
from ...support.wording import choose, plural


def nothing(q):
    """The condition at `Inner.CUT`: the exterior state 0."""
    return tuple(0.0 * component for component in q)


def by_mortars(q):
    """The condition at `Inner.JOIN`: none, because mortars give the flux."""
    raise TypeError("mortars give the flux at a join")


INNER = {Inner.CUT: nothing, Inner.JOIN: by_mortars}


def conditions(mesh, boundary):
    """The boundary conditions with their faces: list of (name, faces (count, 2), condition, values).

    faces: rows (element, local face);  values: {name: (face,)}, see `face_values`
    A part of a mesh has all conditions of the whole mesh, even those without a face here, so that all parts have the same
    kernels."""
    groups = [(*group, face_values(mesh.whole, *group[1:])) for group in boundary_groups(mesh.whole, boundary)]
    if mesh.share is None:
        return groups
    kept = [mesh.share.faces_here(faces, copies=condition is by_mortars) for _, faces, condition, _ in groups]
    return [(name, rows, condition, {key: numbers[which] for key, numbers in values.items()})
            for (which, rows), (name, _, condition, values) in zip(kept, groups)]


def parameters_on(mesh, law):
    """The law's parameters that vary, {name: (element,)}, see `element_values`."""
    values = {name: element_values(mesh.whole, law, name, value) for name, value in law.parameters.items()}
    here = slice(None) if mesh.share is None else mesh.share.cells
    return {name: numbers[here] for name, numbers in values.items() if numbers is not None}


def boundary_groups(mesh, boundary):
    """The boundary conditions with their faces: list of (name, faces (count, 2), condition).

    faces: rows (element, local face)
    boundary: {name: condition}; the name "default" stands for all other faces
    Conditions of interfaces, see `dgarray.physics.interface_conditions`, are left out.
    Raises ValueError for a name that the mesh does not have, a value that is not a condition, and a face with no condition or
    with two different ones."""
    for name, condition in boundary.items():
        if declared(condition).between:
            choose(f"{condition!r} is for faces inside of the mesh: interface", name, mesh.interfaces, "; it has")
            continue
        if name in mesh.interfaces:
            raise ValueError(f"boundary {name!r}: its faces lie between two cells, where {shown(condition)} is not allowed; "
                             "give dgarray.total_field(field) or dgarray.resistive_sheet(R), make both sides boundaries by "
                             f"mesh.cut({name!r}), or leave it out")
        if name != "default" or "default" in mesh.boundaries:
            choose("boundary", name, mesh.boundaries, " in the mesh; it has")
        refuse_class(name, condition)
        if not callable(condition):
            raise ValueError(f"boundary {name!r}: {condition!r} is not a condition; give a function such as dgarray.pec")
    boundary = {name: condition for name, condition in boundary.items() if not declared(condition).between}
    owner = np.full(mesh.neighbour_face.shape, -1)
    named = [(name, condition) for name, condition in boundary.items() if name in mesh.boundaries]
    named += [(name, INNER[name]) for name in mesh.boundaries if name in INNER]
    for number, (name, condition) in enumerate(named):
        cells, sides = mesh.boundaries[name].T
        for other in set(owner[cells, sides]) - {-1}:
            if named[other][1] is not condition:
                raise ValueError(f"boundaries {named[other][0]!r} and {name!r} share faces, but have different conditions")
        owner[cells, sides] = number
    faces = mesh.boundary_faces
    owners = owner[faces[:, 0], faces[:, 1]]
    groups = [(name, faces[owners == number], condition) for number, (name, condition) in enumerate(named)]
    left = faces[owners < 0]
    if len(left) and "default" in boundary:
        groups.append(("default", left, boundary["default"]))
    elif len(left):
        missing = [repr(name) for name, rows in mesh.boundaries.items() if (owner[rows[:, 0], rows[:, 1]] < 0).any()]
        kinds = [f"of {', '.join(missing)}"] * bool(missing) + [f"{len(mesh.unnamed)} without a name"] * bool(len(mesh.unnamed))
        where = ", ".join(f"{c:.6g}" for c in mesh.face_centres(left[-1:])[0])
        have = "have" if len(left) > 1 else "has"
        raise ValueError(f"{plural(len(left), 'boundary face')} {have} no condition ({' and '.join(kinds)}), e.g. the face at "
                         f"({where}); give one by name, or boundary={{'default': condition}}")
    return [group for group in groups if len(group[1])]


def face_values(mesh, faces, condition):
    """The numbers that a condition with the attribute `of_faces` needs of each of its faces (count, 2): {name: (face,)}; empty
    for any other condition. See `dgarray.physics.boundary`."""
    of_faces = declared(condition).of_faces
    return of_faces(mesh, faces) if of_faces else {}


def asking(mesh, boundary):
    """The boundary conditions that ask for numbers of their faces: {name: (faces, condition, numbers)}, see `face_values`."""
    return {name: (faces, condition, face_values(mesh, faces, condition))
            for name, faces, condition in boundary_groups(mesh, boundary) if declared(condition).of_faces}


def on_part(groups, cells):
    """{name: condition} on a mesh of some cells alone, for what `asking` returns: there they have the numbers of their faces in
    the whole mesh."""
    return {name: OnPart(condition, NumbersOnPart(condition.of_faces.names, cells, rows, numbers))
            for name, (rows, condition, numbers) in groups.items()}


@dataclass(frozen=True, eq=False)
class NumbersOnPart:
    """The numbers of a condition's faces on a part of a mesh; rows: the faces (count, 2) with `numbers`, cells: of the part,
    both as the whole mesh counts."""

    names: tuple
    cells: np.ndarray
    rows: np.ndarray
    numbers: dict

    def __call__(self, mesh, faces):
        places = {tuple(row): place for place, row in enumerate(self.rows.tolist())}
        which = [places[int(self.cells[cell]), face] for cell, face in np.asarray(faces).tolist()]
        return {key: values[which] for key, values in self.numbers.items()}


@dataclass(frozen=True, eq=False, repr=False)
class OnPart(Formula):
    """A condition that asks for numbers of its faces, on a part of a mesh."""

    condition: Callable
    of_faces: NumbersOnPart
    flux = property(lambda self: declared(self.condition).flux)
    check = property(lambda self: declared(self.condition).check)

    def __repr__(self):
        return shown(self.condition)

    def __call__(self, q, n, x, t, m, law, face):
        return call(self.condition, dict(q=q, n=n, x=x, t=t, m=m, law=law, face=face))


def by_region(mesh, given, value, cells=slice(None)):
    """The number of each of these elements by {region: number}, (element,); given: what the user calls it.

    Raises ValueError for a region that does not exist, and elements with no value or two."""
    values = np.full(mesh.cell_count, np.nan)
    for region, number in value.items():
        inside = mesh.regions[choose("region", str(region), mesh.regions, " in the mesh; it has")]
        if not (np.isnan(values[inside]) | (values[inside] == number)).all():
            raise ValueError(f"{given}={value!r} gives elements of region {region!r} two values; its regions overlap")
        values[inside] = number
    values = values[cells]
    if np.isnan(values).any():
        raise ValueError(f"{given}={value!r} leaves {plural(int(np.isnan(values).sum()), 'element')} without a value; "
                         f"regions of the mesh: {', '.join(mesh.regions) or 'none'}")
    return values


def check_regions(mesh, law, cells=slice(None)):
    """Raise ValueError unless each of the law's parameters by region has one value in each of these elements."""
    for name, value in law.parameters.items():
        if isinstance(value, dict):
            by_region(mesh, argument(law, name), value, cells)


def element_values(mesh, law, name, value):
    """A law's parameter on every element: None for a plain number, else an array (element,).

    value: a number; {region: number}, where every element must get exactly one number; or a function of x, evaluated at the
    elements' centroids
    Raises ValueError for a region that does not exist, an element with no value or two, and values out of the law's bounds."""
    given = argument(law, name)
    if callable(value):
        check_function(law, name, value)
        values = np.broadcast_to(np.asarray(call(value, dict(x=tuple(mesh.centroids.T)), name), float), len(mesh.cells)).copy()
    elif isinstance(value, dict):
        values = by_region(mesh, given, value)
    else:
        return None
    check_bounds(law, name, values, f"{given} between {np.min(values):.6g} and {np.max(values):.6g}")
    return values
