"""A mesh cut into parts: the cells that each part owns, and copies of those that it needs of others.

A part is a `Mesh` of its own. Its cells come in three groups, each in the order of the whole mesh:

    independent   own cells that have only own cells for neighbours
    the rim       own cells with a neighbour in another part
    copies        cells of other parts that share a face with an own cell, one part after the other

A process can compute the first group while the values of the copies are on their way, and the rim when they have arrived.
After every stage of a step each part sends the new values of the cells in `Share.send` and receives those in `Share.receive`.
The faces of a part are faces of own cells. A copy has neighbours where it touches own cells; its other faces belong to nobody.
"""
from dataclasses import dataclass, replace

import numpy as np

from .errors import MeshError
from .faces import Neighbours

BEYOND = " beyond"          # boundary name of the copies' far faces while a part is made; no mesh file has names like it


@dataclass(frozen=True, eq=False, repr=False)
class Share:
    """What a part of a mesh has of the whole.

    whole         the `Mesh` that was cut
    part, parts   the number of this part, and how many there are
    cells         (cell,) numbers in the whole mesh of this part's cells, own ones and copies
    independent   the first so many cells have only own cells for neighbours
    owned         the first so many cells are the part's own; the others are copies
    send          {other part: numbers here of the own cells that it has copies of, in the order of its copies}
    receive       {other part: slice of the copies here of its cells}
    """

    whole: object
    part: int
    parts: int
    cells: np.ndarray
    independent: int
    owned: int
    send: dict
    receive: dict

    def own_faces(self, rows):
        """The faces `rows` (count, 2) of the whole mesh that are faces of own cells: which of them, and their rows here."""
        here = np.full(len(self.whole.cells), -1)
        here[self.cells[:self.owned]] = np.arange(self.owned)
        kept = np.flatnonzero(here[rows[:, 0]] >= 0)
        return kept, np.column_stack([here[rows[kept, 0]], rows[kept, 1]])


def split(mesh, parts):
    """The part of each cell, (cell,): consecutive cells in that many parts of nearly the same size.

    Consecutive cells are near each other, see `dgarray.mesh.locality`. Raises MeshError where a part would be empty."""
    count = len(mesh.cells)
    if not 1 <= parts <= count:
        raise MeshError(f"{mesh.source} cannot be cut into {parts!r} parts; allowed: 1 to {count}, its number of cells")
    return np.arange(count) * parts // count


def partition(mesh, owner):
    """The parts of a mesh, a list of meshes with a `Share`.

    owner: (cell,) the part of each cell, numbers from 0; `split` makes one.
    A mesh is refined and made periodic before it is cut.
    Raises MeshError for hanging nodes, parts of a part, another number of cells, parts without cells."""
    owner = np.asarray(owner)
    if len(mesh.hanging):
        raise MeshError(f"{mesh.source} cannot be cut into parts: it has hanging nodes")
    parts = int(owner.max(initial=0)) + 1
    if mesh.share is not None:
        raise MeshError(f"{mesh.source} is a part of a mesh already; cut the whole mesh")
    if owner.shape != (len(mesh.cells),) or owner.dtype.kind not in "iu" or owner.min(initial=0) < 0:
        raise MeshError(f"owner must be {len(mesh.cells)} whole numbers from 0, the part of each cell of {mesh.source}")
    if len(empty := np.flatnonzero(np.bincount(owner, minlength=parts) == 0)):
        raise MeshError(f"{mesh.source}: part {empty[0]} of {parts} has no cells")
    away = owner[mesh.neighbour_cell] != owner[:, None]
    groups = [_cells_of(mesh, owner, away, part) for part in range(parts)]
    place = np.empty(len(owner), np.int64)          # of each cell in the part that owns it
    for independent, rim, _ in groups:
        place[independent], place[rim] = np.arange(len(independent)), len(independent) + np.arange(len(rim))
    send = [{} for _ in groups]
    for part, (_, _, copies) in enumerate(groups):
        for other in np.unique(owner[copies]):
            send[other][part] = place[copies[owner[copies] == other]]
    return [_part(mesh, owner, part, parts, groups[part], send[part]) for part in range(parts)]


def _cells_of(mesh, owner, away, part):
    """Numbers of the cells of a part: the independent ones, the rim, the copies."""
    own = np.flatnonzero(owner == part)
    rim = own[away[own].any(axis=1)]
    copies = np.unique(mesh.neighbour_cell[rim][away[rim]])
    return own[~away[own].any(axis=1)], rim, copies[np.argsort(owner[copies], kind="stable")]


def _part(mesh, owner, part, parts, groups, send):
    cells = np.concatenate(groups)
    independent, owned = len(groups[0]), len(groups[0]) + len(groups[1])
    first = np.searchsorted(owner[groups[2]], np.arange(parts + 1)) + owned
    share = Share(mesh, part, parts, cells, independent, owned, send,
                  {other: slice(int(first[other]), int(first[other + 1])) for other in range(parts)
                   if first[other] < first[other + 1]})
    piece = mesh.part(cells, BEYOND)
    own, far = np.arange(len(cells))[:, None], (np.arange(len(cells)) >= owned)[:, None] & (piece.neighbour_cell >= owned)
    neighbours = Neighbours(np.where(far, own, piece.neighbour_cell), np.where(far, -1, piece.neighbour_face),
                            piece.orientation)
    boundaries = {name: rows[rows[:, 0] < owned] for name, rows in piece.boundaries.items() if name != BEYOND}
    interfaces = {name: rows[rows[:, 0] < owned] for name, rows in piece.interfaces.items()}
    glued = piece.glued[(piece.glued[:, ::2] < owned).any(axis=1)]
    return replace(piece, share=share, neighbours=neighbours, boundaries=boundaries, interfaces=interfaces, glued=glued,
                   source=f"{mesh.source}, part {part} of {parts}")
