"""A mesh moved by a smooth map of its points."""
import warnings
from dataclasses import replace

import numpy as np

from ..wording import plural
from . import checks, clean, hanging
from .errors import MeshError, MeshWarning
from .periodic import TOLERANCE


def mapped(mesh, function):
    """A copy of the mesh with the points moved to function(x); see `Mesh.mapped`."""
    def label(cell):
        return f"cell {mesh.numbers[cell]}"

    source = f"{mesh.source}, mapped"
    try:
        points = hanging.settled(mesh, _moved(mesh, function))
        clean.check_input(points, mesh.cells, label)
        _, inverted = clean.orient(points, mesh.cells.copy(), label)
        if inverted:
            raise MeshError(f"the map turns {plural(inverted, 'cell')} of {len(mesh.cells)} over; give one that keeps the "
                            "orientation")
        copy = replace(mesh, points=points, source=source)
        copy = replace(copy, periods=_periods(mesh, copy))
        clean.check_folds(copy, label)
        copy = replace(copy, notes=checks.notes(copy, label))
    except MeshError as error:
        raise MeshError(f"{source}: {error}") from None
    for note in copy.notes:
        warnings.warn(f"{source}: {note}", MeshWarning, stacklevel=3)
    return copy


def _moved(mesh, function):
    """The points (point, dim) at function(x)."""
    values = function(tuple(mesh.points.T.copy()))
    if not isinstance(values, (tuple, list, np.ndarray)) or len(values) != mesh.dim:
        raise MeshError(f"the map must return {plural(mesh.dim, 'coordinate')} as a tuple of arrays")
    try:
        return np.stack([np.broadcast_to(np.asarray(value, dtype=float), len(mesh.points)) for value in values], axis=1)
    except (TypeError, ValueError):
        raise MeshError(f"the map must return {plural(mesh.dim, 'array')} of {len(mesh.points)} numbers, as long as its "
                        "arguments") from None


def _periods(mesh, copy):
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
