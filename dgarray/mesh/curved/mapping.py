"""A mesh moved by a smooth map of its points, and of the geometry nodes of curved cells."""
import warnings
from dataclasses import replace
from numbers import Integral

import numpy as np

from ...support.wording import plural
from .. import checks, clean
from ..blocks import all_nodes
from ..elements import Elements
from ..errors import MeshError, MeshWarning
from ..periodic import TOLERANCE
from ..refine import hanging
from . import cell_maps, checks as curve_checks


def mapped(mesh, function, order=None):
    """A copy of the mesh with the points moved to function(x); see `Mesh.mapped`."""
    source = f"{mesh.source}, mapped"
    try:
        order, nodes = mesh.order if order is None else checked_order(order), []
        if order > 1:
            nodes = [cell_maps.positions(block, cell_maps.geometry_cell(block.cell_shape, order).nodes).transpose(2, 1, 0)
                     for block in mesh.blocks]
        given = [mesh.points, *(own.reshape(-1, mesh.dim) for own in nodes)]
        moved = moved_points(mesh, function, np.concatenate(given), "the map")
        points, *moved = np.split(moved, np.cumsum([len(part) for part in given])[:-1])
        points = hanging.settled(mesh, points) if order == 1 else points
        copy = replaced(mesh, points, [own.reshape(old.shape) for own, old in zip(moved, nodes)], source)
    except MeshError as error:
        raise MeshError(f"{source}: {error}") from None
    return warned(copy, 4)


def checked_order(order):
    """The degree of a map. Raises MeshError unless it is a whole number from 1 to the highest."""
    if not isinstance(order, Integral) or not 1 <= order <= cell_maps.HIGHEST:
        raise MeshError(f"order={order!r} is not allowed; it must be a whole number from 1 to {cell_maps.HIGHEST}")
    return int(order)


def moved_points(mesh, function, points, what):
    """The points (point, dim) at function(x)."""
    if not callable(function):
        raise MeshError(f"{what} is {function!r}; it must be a function of x that returns {plural(mesh.dim, 'coordinate')}")
    values = function(tuple(points.T.copy()))
    if not isinstance(values, (tuple, list, np.ndarray)) or len(values) != mesh.dim:
        raise MeshError(f"{what} must return {plural(mesh.dim, 'coordinate')} as a tuple of arrays")
    try:
        return np.stack([np.broadcast_to(np.asarray(value, dtype=float), len(points)) for value in values], axis=1)
    except (TypeError, ValueError):
        raise MeshError(f"{what} must return {plural(mesh.dim, 'array')} of {len(points)} numbers, as long as its "
                        "arguments") from None


def replaced(mesh, points, nodes, source):
    """A copy of the mesh with other points and geometry nodes, checked. Nodes that are straight to rounding are left out.

    nodes: those of each block of the mesh, or an empty list"""
    parts, inverted = [], 0
    for block, own in zip(mesh.blocks, nodes or [None] * len(mesh.blocks)):
        def of_block(cell, block=block):
            return f"cell {block.numbers[cell]}"

        clean.check_input(points, block.cells, of_block)
        own = None if own is None else curve_checks.checked(points, block.cells, own, of_block)
        if own is None:
            _, turned = clean.orient(points, block.cells.copy(), of_block)
        else:
            _, _, turned = curve_checks.orient(points, block.cells, own, of_block)
        parts.append(Elements(points, block.cells, None, own))
        inverted += turned
    if inverted:
        raise MeshError(f"the map inverts {inverted} of {plural(len(mesh.cells), 'cell')}; give one that keeps the "
                        "orientation")
    copy = replace(mesh, points=points, geometry_nodes=all_nodes(parts), source=source)
    copy = replace(copy, periods=periods_of(mesh, copy))

    def label(cell):
        return f"cell {mesh.numbers[cell]}"
    clean.check_folds(copy, label)
    if copy.geometry_nodes is not None:
        curve_checks.check_shared(copy, label)
    return replace(copy, notes=checks.notes(copy, label))


def warned(mesh, level):
    """The mesh, after a warning with each of its notes."""
    for note in mesh.notes:
        warnings.warn(f"{mesh.source}: {note}", MeshWarning, stacklevel=level)
    return mesh


def periods_of(mesh, copy):
    """The periods of the moved copy. Raises MeshError where glued faces are no longer translations of each other."""
    own, other = mesh.glued[:, :2], mesh.glued[:, 2:]
    match = mesh.orientation[own[:, 0], own[:, 1]]
    mine, theirs = mesh.face_points(own), np.take_along_axis(mesh.face_points(other), match, axis=1)
    before, after = ((m.points[theirs] - m.points[mine]).mean(axis=1) for m in (mesh, copy))
    periods = []
    for first, second, shift in mesh.periods:
        # Pairs of boundaries that nearly the same translation joins are not told apart, and must keep one translation.
        size = np.minimum(mesh.inradii[own[:, 0]], mesh.inradii[other[:, 0]])
        of_pair = np.linalg.norm(before - shift, axis=1) < size
        moved = after[of_pair].mean(axis=0)
        gaps = np.abs(copy.points[theirs[of_pair]] - copy.points[mine[of_pair]] - moved).max(axis=(1, 2))
        wide = np.flatnonzero(gaps > TOLERANCE * copy.inradii[own[of_pair, 0]])
        if len(wide):
            raise MeshError(f"the periodic boundaries {first!r} and {second!r} do not match any more: {len(wide)} of "
                            f"{len(gaps)} faces, first {copy.place(own[of_pair][wide[0]])}; give a map that moves both "
                            "sides alike")
        periods.append((first, second, tuple(moved.tolist())))
    return tuple(periods)
