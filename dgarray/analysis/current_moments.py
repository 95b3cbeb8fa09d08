"""Small currents on a mesh or grid: how much of its moment one has in the cells there."""
import warnings

import numpy as np

from ..mesh.curved import cell_maps
from ..physics.declared import declared
from ..physics.laws.law import shown
from ..spaces.parts import of_places
from .totals import summed

REACH = 3.0          # widths beyond which a current has 2e-4 of its moment
LOST = 0.01          # of the moment, which is said


def warn_of_narrow(problem, operator, arrays, stacklevel):
    """Warn of a `current` that is too narrow for the cells: its moment in the sums of the scheme is another one; and of one
    that has none there, as outside of the mesh.

    arrays: plain arrays of a state on the host;  stacklevel: as of `warnings.warn`, from here; None: no warning"""
    source, mesh = problem.source, getattr(problem.mesh, "whole", problem.mesh)
    profile = declared(source).profile
    if profile is None:
        return
    share, unknown = shares_of(profile, operator, arrays)
    if stacklevel is None:
        return
    if share < LOST:
        warnings.warn(f"{shown(source)} has {share:.2g} of its moment in the {'grid' if mesh.structured else 'mesh'}: "
                      f"{source.position} is outside of it, or the width is far below the cells there",
                      stacklevel=stacklevel + 1)
    elif abs(unknown) < LOST < abs(share - 1) and inside(mesh, source.position, REACH * source.width):
        warnings.warn(f"{shown(source)} is too narrow for the cells: in them it has {share:.3g} of its moment, and radiates "
                      f"{share ** 2:.3g} of its power; take cells of at most about order / 2 widths there, or a larger width",
                      stacklevel=stacklevel + 1)


def inside(mesh, position, reach):
    """Whether the ball with this radius lies inside of the domain for sure, away from boundaries and periodic sides."""
    low, high = (np.asarray(mesh.lower), np.asarray(mesh.upper)) if mesh.structured else (mesh.points.min(axis=0),
                                                                                         mesh.points.max(axis=0))
    if (np.subtract(position, low) < reach).any() or (np.subtract(high, position) < reach).any():
        return False
    if mesh.structured:
        return True
    corners, centres = mesh.face_points(mesh.boundary_faces), mesh.face_centres(mesh.boundary_faces)
    sizes = np.linalg.norm(mesh.points[corners] - centres[:, None], axis=2).max(axis=1)
    return bool((np.linalg.norm(centres - position, axis=1) - sizes > reach).all())


def shares_of(profile, operator, arrays):
    """The integral of a function of x as the scheme has it: at the nodes, or where a method takes sources at quadrature points
    at such, of all ranks; and what of it lies in curved cells, whose sums are others, as their mass matrix is."""
    found = []
    for _, zone, part, own in operator.in_zones(arrays):
        space, total = zone.space, 0.0
        at_nodes = not (space.structured or zone.tables.physics.weak)
        if at_nodes:
            q = np.zeros((1, *zone.nodal(part).shape[1:]))
            q[0] = profile(cell_maps.positions(space.mesh, space.cell.nodes))
        for each in of_places(space.parts(extra=0), own):
            values = each.values(q)[0] if at_nodes else profile(each.x)
            total += float(each.integrate(np.broadcast_to(values, each.shape)))
        found.append({"share": total, "curved": total if not space.structured and zone.tables.geometry.curved else 0.0})
    found = operator.summed(summed(found))
    return found["share"], found["curved"]
