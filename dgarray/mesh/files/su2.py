"""SU2's mesh files, https://su2code.github.io/docs_v7/Mesh-File: zones, markers, and the curved cells of SU2's FEM solver.

Cells go by VTK's numbers, those of the FEM solver by VTK's number + 100 (order - 1), with their nodes row by row. Its numbers
may also hold 10000 (order of the solution + 1)."""
import re

import meshio
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...reference.shapes import FILE_SHAPES
from ...support.wording import plural
from ..curved.cell_maps import HIGHEST
from ..errors import MeshError
from ..faces import keys
from .cells import FACES, block_of, straight
from .nodes import row_by_row
from .numbers import floats

# VTK's number -> (name in meshio, nodes).
TYPES = {1: ("vertex", 1), 3: ("line", 2), 5: ("triangle", 3), 9: ("quad", 4), 10: ("tetra", 4), 12: ("hexahedron", 8),
         13: ("wedge", 6), 14: ("pyramid", 5), 21: ("line3", 3), 22: ("triangle6", 6), 23: ("quad8", 8), 24: ("tetra10", 10),
         25: ("hexahedron20", 20), 26: ("wedge15", 15), 27: ("pyramid13", 13), 28: ("quad9", 9), 29: ("hexahedron27", 27)}
KEYWORD = re.compile(r"^[ \t]*([A-Za-z]\w*)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def read(text, zone=None):
    """The meshio mesh of a zone, with the markers as `cell_sets`, and notes on what is left out.

    zone    IZONE in the file, where there are several
    Points that SU2 receives from the other side of a period (SEND_TO below 0) are copies: the cells on them beyond a periodic
    boundary are left out. Raises MeshError for several zones without a choice, and for damaged files."""
    text = re.sub(r"%.*", "", text).replace("\r", "\n" if "\n" not in text else "")
    marks = list(KEYWORD.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = [(mark[1].upper(), mark[2], text[mark.end():end]) for mark, end in zip(marks, ends)]
    parts = _of_zone(parts, zone)
    named = {key: (value, body) for key, value, body in parts}
    for key in ("NDIME", "NELEM", "NPOIN"):
        if key not in named:
            raise MeshError(f"the SU2 file is cut off or damaged: {key}= is missing; write it again")
    dim = _whole("NDIME", named["NDIME"][0])
    points, copies = _points(*named["NPOIN"], dim)
    blocks, sets, notes = _cells("NELEM", *named["NELEM"]), {}, []
    marker, tags = None, []
    for key, value, body in parts:
        if key in ("MARKER_TAG", "MARKERTAG"):
            marker = value
            tags.append(value)
        elif key in ("MARKER_ELEMS", "MARKERELEMS"):
            count = value
            if marker is None:
                raise MeshError("an SU2 marker has no name; each needs MARKER_TAG= and MARKER_ELEMS=")
            if marker.upper() != "SEND_RECEIVE":
                start = len(blocks)
                blocks += _cells(f"marker {marker!r}", count, body)
                sets.setdefault(marker, []).extend(range(start, len(blocks)))
        elif key in ("SEND_TO", "SEND_RECV") and _is_whole(value) and int(value) < 0:
            lines = [line.split() for line in body.splitlines() if line.strip()]
            if not all(len(line) > 1 and _is_whole(line[1]) for line in lines):
                raise MeshError("the SU2 file is damaged in SEND_RECEIVE: lines are not a type and a point; write it again")
            copies = np.union1d(copies, [int(line[1]) for line in lines])
    if len(copies):
        blocks, lost, gone = _without_copies(blocks, copies.astype(np.int64), dim)
        notes += [f"{plural(gone, 'cell')} beyond periodic boundaries, which SU2 adds (SEND_RECEIVE), left out"] if gone else []
        if len(lost) and lost[0] == len(points) - len(lost):
            points = points[:lost[0]]
    empty = [tag for tag in tags if tag not in sets and tag.upper() != "SEND_RECEIVE"]
    if empty:
        raise MeshError(f"the SU2 marker {empty[0]!r} has no MARKER_ELEMS=; write the file again")
    if "NMARK" in named and len(tags) < _whole("NMARK", named["NMARK"][0]):
        raise MeshError(f"the SU2 file is cut off or damaged: {len(tags)} of {named['NMARK'][0]} markers are there; write it "
                        "again")
    return _mesh(points, blocks, sets, dim), notes


def _of_zone(parts, zone):
    """The keywords of a zone, and those before the first one."""
    starts = [place for place, (key, *_) in enumerate(parts) if key == "IZONE"]
    numbers = [_whole("IZONE", parts[place][1]) for place in starts]
    if zone is not None and zone not in (numbers or [1]):
        raise MeshError(f"zone={zone!r} is not in the file; it has: {', '.join(map(str, numbers or [1]))}")
    if len(numbers) < 2:
        return parts
    if zone is None:
        tags = [[value for key, value, _ in parts[a:b] if key == "MARKER_TAG" and value.upper() != "SEND_RECEIVE"]
                for a, b in zip(starts, [*starts[1:], len(parts)])]
        have = ", ".join(f"{number} (markers {', '.join(names[:4] + ['...'] * (len(names) > 4)) or 'none'})"
                         for number, names in zip(numbers, tags))
        raise MeshError(f"the file has {len(numbers)} zones, each a mesh of its own: {have}; choose one, for example with "
                        f"read_mesh(file, zone={numbers[0]})")
    place = numbers.index(zone)
    return parts[:starts[0]] + parts[starts[place]:[*starts[1:], len(parts)][place]]


def _points(value, body, dim):
    """Points (point, dim), and the numbers of those that are copies."""
    counts = [_whole("NPOIN", part) for part in value.split()] or [0]
    numbers = floats(body.encode(), "NPOIN")
    width, left = divmod(len(numbers), counts[0] or 1)
    if left or not dim <= width <= dim + 2:
        raise MeshError(f"the SU2 file is cut off or damaged in NPOIN: {counts[0]} points of {dim} coordinates do not fit "
                        f"{len(numbers)} numbers; write it again")
    return numbers.reshape(counts[0], width)[:, :dim], np.arange(min(counts[1:2] or counts[:1]), counts[0])


def _cells(what, value, body):
    """[(name in meshio, nodes (cell, node))] of cells, one for each type; lines may end with the cell's number."""
    rows, count = [line.split() for line in body.splitlines() if line.strip()], _whole(what, value)
    if len(rows) < count:
        raise MeshError(f"the SU2 file is cut off or damaged in {what}: {len(rows)} lines for {count} cells; write it again")
    by_type = {}
    for row in rows[:count]:
        by_type.setdefault(row[0], []).append(row)
    return [_block(what, kind, rows) for kind, rows in by_type.items()]


def _block(what, kind, rows):
    if not _is_whole(kind):
        raise MeshError(f"the SU2 file is damaged in {what}: {kind[:20]!r} is no type of a cell; write it again")
    order, number = int(kind) % 10000 // 100 + 1, int(kind) % 100
    name, count = TYPES.get(number, ("", 0))
    places = slice(None)
    if order > 1 and name in FILE_SHAPES and order <= HIGHEST:
        count, places = FILE_SHAPES[name].node_count(order), row_by_row(name, order)
        name = f"{name}{count}"
    elif order > 1 or not name:
        raise MeshError(f"{what} has cells of SU2's type {kind}, which are not supported; allowed: "
                        f"{', '.join(map(str, TYPES))}; of the orders 2 to {HIGHEST}: 3, 5, 9, 10, 12")
    try:
        nodes = np.array([row[1:count + 1] for row in rows], dtype=np.int64)
    except ValueError:
        raise MeshError(f"the SU2 file is damaged in {what}: a {name} cell needs {count} whole numbers, its points; write it "
                        "again") from None
    return name, nodes[:, places]


def _without_copies(blocks, copies, dim):
    """The blocks without cells and faces beyond a periodic boundary, and how many cells are gone.

    Beyond it are cells that a marker parts from the mesh, all of them on points that are copies."""
    cells = [block_of(name, nodes) for name, nodes in blocks]
    volume = [k for k, block in enumerate(cells) if block.dim == dim]
    part = _parts([cells[k] for k in volume], [block.data for block in cells if block.dim == dim - 1])
    on_copies = np.concatenate([np.isin(cells[k].data, copies).any(axis=1) for k in volume])
    beyond = np.bincount(part) == np.bincount(part, on_copies)
    beyond[np.bincount(part).argmax()] = False
    gone = np.split(beyond[part], np.cumsum([len(cells[k]) for k in volume])[:-1])
    for k, lost in zip(volume, gone):
        blocks[k] = blocks[k][0], blocks[k][1][~lost]
    used = np.unique(np.concatenate([blocks[k][1].ravel() for k in volume]))
    lost_points = np.setdiff1d(copies, used)
    kept = [(name, nodes if k in volume else nodes[~np.isin(nodes, lost_points).any(axis=1)])
            for k, (name, nodes) in enumerate(blocks)]
    return kept, lost_points, int(beyond[part].sum())


def _parts(cells, marked):
    """For each cell of the blocks the number of its part: parts share no face but those that are marked."""
    most = 1 + max(int(block.data.max(initial=0)) for block in cells)
    rows, owner, start = [], [], 0
    for block in cells:
        for corners in FACES[straight(block.type)]:
            rows.append(_padded(block.data[:, corners], most))
            owner.append(start + np.arange(len(block)))
        start += len(block)
    count, owner = sum(map(len, rows)), np.concatenate(owner)
    key = keys(np.concatenate(rows + [_padded(nodes[:, :4], most) for nodes in marked]))
    free = np.flatnonzero(~np.isin(key[:count], key[count:]))
    order = free[np.argsort(key[free], kind="stable")]
    same = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    pair = owner[order[same]], owner[order[same + 1]]
    return connected_components(coo_array((np.ones(len(same)), pair), shape=(start, start)), directed=False)[1]


def _padded(nodes, most):
    return np.pad(nodes, ((0, 0), (0, 4 - nodes.shape[1])), constant_values=most)


def _mesh(points, blocks, sets, dim):
    cells = [block_of(name, nodes) for name, nodes in blocks]
    none = np.empty(0, np.int64)
    return meshio.Mesh(points, cells, cell_sets={
        name: [np.arange(len(block)) if place in places else none for place, block in enumerate(cells)]
        for name, places in sets.items()})


def _is_whole(text):
    return re.fullmatch(r"[+-]?\d+", text.strip()) is not None


def _whole(what, text):
    first = (text.split() or [""])[0]
    if not _is_whole(first):
        raise MeshError(f"the SU2 file is damaged: {what} must have a whole number, not {text[:20]!r}; write it again")
    return int(first)
