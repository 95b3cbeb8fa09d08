"""Interfaces of a mesh with a condition: the faces are cut out of the sets' own lists, and are joins of their own.

What such a condition is, see `dgarray.physics.interface_conditions`.
"""
from dataclasses import replace

import numpy as np

from ...mesh.absorbing.extrude import among as among_edges, edges_of, ends
from ...mesh.cuts import among, without
from ...mesh.faces import Inner
from ...mesh.interfaces import must_be_even, other_side
from ...physics.declared import declared
from ...physics.fluxes import upwind
from ...physics.laws.law import shown
from ...physics.trace import call
from .mortars import flux_between
from .physics import Physics


def conditions_inside(mesh, boundary):
    """The interfaces of a mesh with a condition: list of (left, right, condition), left and right rows (face, 2).

    boundary: {name: condition}, of interfaces and boundaries; `boundary_groups` refuses names that do not
    exist. A part of a mesh has the faces between cells that are here."""
    named = [(name, condition) for name, condition in boundary.items() if declared(condition).between]
    found = []
    for name, condition in named:
        if name not in mesh.whole.interfaces:
            continue
        rows = mesh.whole.interfaces[name]
        left = rows if mesh.share is None else mesh.share.faces_here(rows, copies=True)[1]
        left = left[mesh.neighbour_face[tuple(left.T)] >= 0]
        found.append((left, other_side(mesh.neighbours, left), condition))
    return found


def apart(mesh, cells, interfaces):
    """The part of a mesh of some cells, in their order, in which the faces of these interfaces with a condition have the name
    `Inner.JOIN`, too."""
    part, place = mesh.part(cells, Inner.JOIN), np.full(mesh.cell_count, -1)
    place[cells] = np.arange(len(cells))
    rows = np.concatenate([np.empty((0, 2), int), *(side for left, right, _ in interfaces for side in (left, right))])
    rows = np.column_stack([place[rows[:, 0]], rows[:, 1]])[place[rows[:, 0]] >= 0]
    if not len(rows):
        return part
    faces = np.unique(np.concatenate([part.boundaries[Inner.JOIN], rows]), axis=0)
    return replace(part, neighbours=without(part.neighbours, rows), boundaries={**part.boundaries, Inner.JOIN: faces})


def check_interfaces(method, problem):
    """Raise ValueError or TypeError where the conditions of interfaces do not fit the method and the problem."""
    mesh, given = problem.mesh.whole, conditions_inside(problem.mesh.whole, problem.boundary)
    for name, condition in problem.boundary.items():
        if declared(condition).between and name in mesh.interfaces:
            must_be_even(mesh, name)
    for number, (left, right, condition) in enumerate(given):
        if declared(condition).closed:
            check_closed(mesh, left, right, condition)
        options = [name for name in ("limiter", "positivity", "volume_flux", "shock_capturing") if getattr(method, name, None)]
        if options:
            raise ValueError(f"{options[0]}={shown(getattr(method, options[0]))} is not allowed beside {condition!r} at faces "
                             "inside of the mesh; leave it out")
        for other, _, another in given[:number]:
            if among(np.concatenate([left, right]), other).any():
                raise ValueError(f"{condition!r} and {another!r} have common faces; give one condition to each")
        laws = [problem.law] if problem.law.laws is None else list(problem.law.laws.values())
        if len({type(law) for law in laws}) > 1:
            raise ValueError(f"{condition!r} needs one kind of law on both sides, but the laws are "
                             f"{', '.join(map(repr, laws))}")
        own = declared(condition)
        profiles = call(own.profiles, dict(x=tuple(mesh.face_centres(left).T)), "profiles") if own.profiles else {}
        for law in laws:
            physics = Physics(law, problem.flux or upwind, None, dict.fromkeys(law.parameters))
            flux_between(physics, physics, ("projected",) * 2, condition, profiles).graph          # noqa: B018  tracing is the check
            if own.check:
                own.check(mesh, left, right, law)


def check_closed(mesh, left, right, condition):
    """Raise ValueError where the faces of an interface, rows of both sides, end inside of the mesh, or lie in an absorbing
    layer."""
    for layer in mesh.layers:
        inside = np.isin(left[:, 0], mesh.regions[layer.region]) & np.isin(right[:, 0], mesh.regions[layer.region])
        if inside.any():
            raise ValueError(f"{condition!r}: the face at {mesh.position(left[inside][:1])} lies in the absorbing layer "
                             f"{layer.region!r}, whose waves the field does not know; end the interface before it")
    if mesh.dim == 1 or mesh.periods or len(mesh.hanging):
        return
    rim = ends(mesh.face_points(left))
    free = ~among_edges(rim, edges_of(mesh.face_points(mesh.boundary_faces))) if len(rim) else np.zeros(0, bool)
    if free.any():
        where = ", ".join(f"{c:.6g}" for c in mesh.points[rim[free][0]].mean(axis=0))
        raise ValueError(f"{condition!r}: its faces end inside of the mesh, at ({where}); they must be closed, or end at a "
                         "boundary")
