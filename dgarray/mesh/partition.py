"""A mesh cut into parts: the cells that each part owns, and copies of those that it needs of others.

A part is a `Mesh` of its own. Its cells of one shape come in three groups, each in the order of the whole mesh:

    independent   own cells that need own cells alone
    the rim       own cells that need some of another part, or meet a face of several cells with some of another part among them
    copies        cells of other parts that own cells need, one part after the other

A cell needs those with which it shares a face or a part of one, or, where the method asks for it, a vertex.
A process can compute the first group while the values of the copies are on their way, and the rim when they have arrived.
Before every stage of a step each part sends the values of the cells in `Share.send` and receives those in `Share.receive`.
The faces of a part are faces of own cells. A copy has neighbours where it touches own cells; its other faces belong to nobody.
"""
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array

from .errors import MeshError
from .faces import Inner, Neighbours
from .neighbourhood import Neighbourhood, with_near
from .refine.hanging import Hanging

COSTS = 8           # METIS takes whole numbers: that of the cheapest cell
LARGEST = 1000      # how many times as much another cell costs at most


@dataclass(frozen=True, eq=False, repr=False)
class Share:
    """A part's place in the whole mesh: its cells there, and whose values it sends and receives.

    whole         the `Mesh` that was cut
    part, parts   the number of this part, and how many there are
    cells         (cell,) numbers in the whole mesh of this part's cells, own ones and copies
    own           (cell,) whether a cell is the part's own, not a copy
    rim           (cell,) whether it is an own one that needs copies, or meets a face of several cells with copies among them
    send          {other part: numbers here of the own cells that it has copies of, in the order of its copies}
    receive       {other part: numbers here of the copies of its cells}
    """

    whole: object
    part: int
    parts: int
    cells: np.ndarray
    own: np.ndarray
    rim: np.ndarray
    send: dict
    receive: dict

    def faces_here(self, rows, copies=False):
        """The faces `rows` (count, 2) of the whole mesh that are faces of own cells here, or of copies too: which of them, and
        their rows here."""
        here = np.full(self.whole.cell_count, -1)
        some = slice(None) if copies else self.own
        here[self.cells[some]] = np.arange(len(self.cells))[some]
        kept = np.flatnonzero(here[rows[:, 0]] >= 0)
        return kept, np.column_stack([here[rows[kept, 0]], rows[kept, 1]])


def split(mesh, parts):
    """The part of each cell, (cell,): consecutive cells in that many parts of nearly the same size.

    Consecutive cells are near each other, see `dgarray.mesh.locality`. Raises MeshError where a part would be empty."""
    count = mesh.cell_count
    if not 1 <= parts <= count:
        raise MeshError(f"{mesh.source} cannot be cut into {parts!r} parts; allowed: 1 to {count}, its number of cells")
    return np.arange(count) * parts // count


def balanced(mesh, parts, costs):
    """The part of each cell, (cell,): parts of about the same cost that have few faces between them, by METIS.

    costs: (cell,) positive numbers, what a cell costs beside others
    Raises MeshError where a part would be empty, ImportError without pymetis. Karypis & Kumar 1998."""
    import pymetis
    first = split(mesh, parts)
    weights = np.clip(np.round(COSTS * costs / np.min(costs)), 1, COSTS * LARGEST).astype(int)
    cell, other = pairs(*needed(mesh, "faces"), len(first))          # two cells may share several faces
    ends = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(first)))])
    owner = np.array(pymetis.part_graph(parts, pymetis.CSRAdjacency(ends, other), vweights=weights)[1])
    return owner if len(np.unique(owner)) == parts else first


def partition(mesh, owner, around="faces", only=None):
    """The parts of a mesh, a list of meshes with a `Share`.

    owner: (cell,) the part of each cell, numbers from 0; `split` and `balanced` make one
    around: what a cell needs: those that share "faces" with it, or "vertices" too
    only: the number of the only part that is asked for
    A mesh is refined and made periodic before it is cut.
    Raises MeshError for parts of a part, another number of cells, parts without cells."""
    owner = np.asarray(owner)
    parts = int(owner.max(initial=0)) + 1
    if mesh.share is not None:
        raise MeshError(f"{mesh.source} is a part of a mesh already; cut the whole mesh")
    if owner.shape != (mesh.cell_count,) or owner.dtype.kind not in "iu" or owner.min(initial=0) < 0:
        raise MeshError(f"owner must be {mesh.cell_count} whole numbers from 0, the part of each cell of {mesh.source}")
    if len(empty := np.flatnonzero(np.bincount(owner, minlength=parts) == 0)):
        raise MeshError(f"{mesh.source}: part {empty[0]} of {parts} has no cells")
    return [cut_out(share_of(mesh, owner, number, parts, around)) for number in (range(parts) if only is None else [only])]


def share_of(mesh, owner, number, parts, around):
    """The `Share` of the part of that number; other arguments as of `partition`. It looks at the cells of the part and at those
    around it."""
    own = np.flatnonzero(owner == number)
    cell, other = needed(mesh, around, own)
    there = owner[other]
    cut = there != number
    copies = np.unique(other[cut])
    hanging = mesh.hanging
    at_face = np.column_stack([hanging.large[:, 0], hanging.small[..., 0]])
    mixed = at_face[(owner[at_face] != owner[at_face[:, :1]]).any(axis=1)]
    needy = np.union1d(cell[cut], mixed[owner[mixed] == number])          # own cells of the rim
    shape = mesh.of_shape

    def by_shape(cells):
        return cells[np.argsort(shape[cells], kind="stable")]
    cells = by_shape(np.concatenate([np.setdiff1d(own, needy, True), needy, copies[np.argsort(owner[copies], kind="stable")]]))
    of = owner[cells]
    order = np.argsort(cells)

    def here(numbers):
        return order[np.searchsorted(cells, numbers, sorter=order)]
    receive = {int(each): np.flatnonzero(of == each) for each in np.unique(of[of != number])}
    send = {int(each): here(by_shape(np.unique(cell[there == each]))) for each in np.unique(there[cut])}
    return Share(mesh, number, parts, cells, of == number, np.isin(cells, needy), send, receive)


def pairs(first, second, count):
    """The different ones among pairs of whole numbers, in their order; count: more than any second number."""
    return np.divmod(np.unique(first * np.int64(count) + second), count)


def needed(mesh, around, cells=None):
    """Pairs of cells (cell,), (other,) of which the first needs the second: each both ways, or those alone whose first is one
    of some `cells`, in ascending order."""
    if around == "faces":
        return across_faces(mesh, np.arange(mesh.cell_count) if cells is None else cells)
    cells = np.arange(mesh.cell_count) if cells is None else cells
    here, numbers = with_near(mesh, cells)
    near = Neighbourhood(here)
    place, vertex = np.nonzero(near.around >= 0)
    touches = coo_array((np.ones(len(place), np.int32), (near.around[place, vertex], vertex))).tocsr() > 0
    first = touches[np.searchsorted(numbers, cells)]
    pairs = (first.astype(np.int32) @ touches.T.astype(np.int32)).tocoo()
    return cells[pairs.row], numbers[pairs.col]


def across_faces(mesh, cells):
    """The pairs of `needed` that share a face or a part of one."""
    other = mesh.neighbour_cell[cells]
    cell = np.broadcast_to(cells[:, None], other.shape)
    apart = other != cell
    large, small = np.broadcast_arrays(mesh.hanging.large[:, :1], mesh.hanging.small[..., 0])
    behind = np.concatenate([np.stack(pair, axis=-1).reshape(-1, 2) for pair in ((large, small), (small, large))])
    behind = behind[np.isin(behind[:, 0], cells)]
    return np.concatenate([cell[apart], behind[:, 0]]), np.concatenate([other[apart], behind[:, 1]])


def cut_out(share):
    """The `Mesh` that a `Share` describes."""
    mesh, own = share.whole, share.own
    piece = mesh.part(share.cells, Inner.BEYOND, alone=False)
    number = np.arange(len(share.cells))[:, None]
    far = ~own[:, None] & ~own[piece.neighbour_cell]
    neighbours = Neighbours(np.where(far, number, piece.neighbour_cell), np.where(far, -1, piece.neighbour_face),
                            piece.orientation)
    boundaries, interfaces = ({name: rows[own[rows[:, 0]]] for name, rows in given.items() if name != Inner.BEYOND}
                              for given in (piece.boundaries, piece.interfaces))
    nodes = mesh.geometry_nodes
    return replace(piece, share=share, neighbours=neighbours, boundaries=boundaries, interfaces=interfaces,
                   glued=piece.glued[own[piece.glued[:, ::2]].any(axis=1)], hanging=hanging_here(share),
                   geometry_nodes=None if nodes is None else nodes[share.cells],
                   source=f"{mesh.source}, part {share.part} of {share.parts}")


def hanging_here(share):
    """The `Hanging` faces of a part: those with an own cell on either side. -1 for small cells that are not here."""
    hanging = share.whole.hanging
    if not len(hanging):
        return hanging
    here = np.full(share.whole.cell_count, -1)
    here[share.cells] = np.arange(len(share.cells))
    own = np.append(share.own, False)          # the last one stands for those that are not here
    large, small = hanging.large.copy(), hanging.small.copy()
    large[:, 0], small[..., 0] = here[large[:, 0]], here[small[..., 0]]
    small[~own[large[:, 0]][:, None] & ~own[small[..., 0]], 0] = -1
    kept = (large[:, 0] >= 0) & (small[..., 0] >= 0).any(axis=1)
    return Hanging(large[kept], small[kept], hanging.orientation[kept])


def within(part, mesh, cells):
    """The part of `mesh`, the `cells` (cell,) of a whole mesh alone in their order, that has of these what `part` has.

    part: a `Mesh` with a `Share` of that whole mesh; returns (numbers of the cells in `part`, the part of `mesh`); None where
    it has none of them"""
    share = part.share
    number = np.full(share.whole.cell_count, -1)
    number[cells] = np.arange(len(cells))
    here = np.flatnonzero(number[share.cells] >= 0)
    if not len(here):
        return None
    place = np.full(len(share.cells), -1)
    place[here] = np.arange(len(here))
    send, receive = ({other: place[numbers][place[numbers] >= 0] for other, numbers in given.items()}
                     for given in (share.send, share.receive))
    return here, cut_out(replace(share, whole=mesh, cells=number[share.cells[here]], own=share.own[here], rim=share.rim[here],
                                 send=send, receive=receive))
