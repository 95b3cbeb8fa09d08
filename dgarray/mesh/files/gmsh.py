"""Gmsh's mesh files: the formats 1, 2, 4.0 and 4.1, as text and binary, whole or partitioned.

Gmsh's manual, "Gmsh file formats" and "Legacy formats". Format 4 keeps physical groups with the geometry's entities, each of
which may belong to several; formats 1 and 2 write a cell once for each of its groups."""
import re

import meshio
import numpy as np

from ..errors import MeshError
from .cells import block_of, places
from .numbers import Numbers

# Gmsh's numbers of the cells of order 1, 2, 3, ... with all of their nodes, by meshio's name.
COMPLETE = {
    "line": (1, 8, 26, 27, 28, 62, 63, 64, 65, 66), "triangle": (2, 9, 21, 23, 25, 42, 43, 44, 45, 46),
    "quad": (3, 10, 36, 37, 38, 47, 48, 49, 50, 51), "tetra": (4, 11, 29, 30, 31, 71, 72, 73, 74, 75),
    "hexahedron": (5, 12, 92, 93, 94, 95, 96, 97, 98), "wedge": (6, 13, 90, 91, 106, 107, 108, 109, 110),
    "pyramid": (7, 14, 118, 119, 120, 121, 122, 123, 124)}
COUNTS = {
    "line": lambda p: p + 1, "triangle": lambda p: (p + 1) * (p + 2) // 2, "quad": lambda p: (p + 1)**2,
    "tetra": lambda p: (p + 1) * (p + 2) * (p + 3) // 6, "hexahedron": lambda p: (p + 1)**3,
    "wedge": lambda p: (p + 1)**2 * (p + 2) // 2, "pyramid": lambda p: (p + 1) * (p + 2) * (2 * p + 3) // 6}
# Number -> (name in meshio, nodes); those of order 2 without the nodes inside of faces and cells last.
TYPES = {number: (name + (str(COUNTS[name](p)) if p > 1 else ""), COUNTS[name](p))
         for name, numbers in COMPLETE.items() for p, number in enumerate(numbers, 1)}
TYPES |= {15: ("vertex", 1), 16: ("quad8", 8), 17: ("hexahedron20", 20), 18: ("wedge15", 15), 19: ("pyramid13", 13)}
# Cells of the orders 3 and above without nodes inside of faces or of the cell.
INCOMPLETE = dict.fromkeys((20, 22, 24, *range(52, 57)), "triangle") | dict.fromkeys((39, 40, 41, *range(57, 62)), "quad")
INCOMPLETE |= dict.fromkeys((32, 33, *range(79, 84), 137), "tetra") | dict.fromkeys(range(99, 106), "hexahedron")
INCOMPLETE |= dict.fromkeys(range(111, 118), "wedge") | dict.fromkeys(range(125, 132), "pyramid")
# Where meshio's and VTK's order of the nodes differs from Gmsh's: the place of each node there.
VTK_ORDER = {
    "tetra10": (0, 1, 2, 3, 4, 5, 6, 7, 9, 8), "pyramid13": (0, 1, 2, 3, 4, 5, 8, 10, 6, 7, 9, 11, 12),
    "wedge15": (0, 1, 2, 3, 4, 5, 6, 9, 7, 12, 14, 13, 8, 10, 11),
    "hexahedron20": (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15),
    "hexahedron27": (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15, 22, 23, 21, 24, 20, 25, 26)}
NEEDED = "Nodes", "Elements"


def read(content):
    """The meshio mesh in the bytes of a file; groups are its `cell_sets`, by their names or else their numbers.

    Raises MeshError for a file that is cut off, an unknown version, and cells that there are no maps for."""
    sections = _sections(content)
    version, binary, size, order = _version(sections)
    sections = {name: Numbers(body, binary and name not in ("MeshFormat", "PhysicalNames"), size, order, f"${name}")
                for name, body in sections.items() if name in (*NEEDED, "Entities", "PartitionedEntities")} | {
                    "names": sections.get("PhysicalNames", b"")}
    if version[0] == "4":
        tags, points = _nodes_4(sections["Nodes"], version)
        groups, ghosts = {}, set()
        for name in ("Entities", "PartitionedEntities"):
            if name in sections:
                _entities(sections[name], version, name == "PartitionedEntities", groups, ghosts)
        pieces = _elements_4(sections["Elements"], version, groups, ghosts)
    else:
        tags, points = _nodes_2(sections["Nodes"])
        pieces = _elements_2(sections["Elements"], version, binary)
    return _mesh(tags, points, pieces, _titles(sections["names"]))


def _sections(content):
    """Name -> the bytes between $name and $Endname, with the names of format 2 for those of format 1."""
    found, place = {}, 0
    old = {"NOD": "Nodes", "ELM": "Elements"}
    while match := re.compile(rb"^[ \t]*\$(\w+)[ \t]*\r?\n", re.MULTILINE).search(content, place):
        name = match[1].decode()
        mark = f"${'END' if name in old else 'End'}{name}"
        end = content.find(mark.encode(), match.end())
        if end < 0:
            raise MeshError(f"the file is cut off: {mark} is missing; write it again")
        found[old.get(name, name)] = content[match.end():end]
        place = end + len(mark)
    if "ParametricNodes" in found:
        raise MeshError("the file has $ParametricNodes in place of $Nodes; write it with Mesh.SaveParametric = 0")
    if not found:
        raise MeshError("not a Gmsh file: $MeshFormat is missing")
    for name in NEEDED:
        if name not in found:
            raise MeshError(f"the file is cut off: $End{name} is missing; write it again")
    return found


def _version(sections):
    """Version, whether the data are binary, bytes of a size, byte order."""
    if "MeshFormat" not in sections:
        return "1", False, 8, "<"
    head, _, rest = sections["MeshFormat"].partition(b"\n")
    version, kind, size = (head.decode(errors="replace").split() + ["0", "8"])[:3]
    known = {"2": "2", "2.0": "2", "2.1": "2", "2.2": "2", "4.0": "4.0", "4.1": "4.1"}
    if version == "4":          # Gmsh's own files of format 4.0; other programs write it for 4.1
        known["4"] = "4.1" if kind == "0" and len(sections["Nodes"].split(b"\n")[0].split()) == 4 else "4.0"
    if version not in known or kind not in ("0", "1") or size not in ("4", "8"):
        raise MeshError(f"the format version is not known ({head.decode(errors='replace').strip()[:40]!r} in $MeshFormat); "
                        "allowed: Gmsh 1, 2, 4.0 and 4.1")
    return known[version], kind == "1", int(size), ">" if rest[:4] == b"\0\0\0\1" else "<"


def _titles(section):
    """(dimension, group number) -> its names; a file may give one name to several groups, and several to one."""
    titles = {}
    for dim, number, name in re.findall(r'^\s*(\d)\s+(-?\d+)\s+"(.*)"\s*$', section.decode(errors="replace"), re.MULTILINE):
        if name.strip():
            titles.setdefault((int(dim), abs(int(number))), []).append(name)
    return titles


def _nodes_2(numbers):
    count = numbers.line()
    tags, points = numbers.rows(count, "i", 1, 3)
    return tags[:, 0], points


def _nodes_4(numbers, version):
    blocks, count = numbers.take(2, "u")
    if version == "4.1":
        numbers.take(2, "u")
    tags, points = [np.empty(0, np.int64)], [np.empty((0, 3))]
    for _ in range(blocks):
        first, second, parametric = numbers.take(3, "i")
        dim = first if version == "4.1" else second
        count, width = numbers.one("u"), 3 + (dim if parametric else 0)
        if version == "4.1":
            tags.append(numbers.take(count, "u"))
            points.append(numbers.take(width * count, "d").reshape(count, width)[:, :3])
        else:
            tag, x = numbers.rows(count, "i", 1, width)
            tags.append(tag[:, 0])
            points.append(x[:, :3])
    return np.concatenate(tags), np.concatenate(points)


def _entities(numbers, version, partitioned, groups, ghosts):
    """Add to `groups`, (dimension, tag) of an entity -> numbers of its physical groups, and to the tags of `ghosts`."""
    if partitioned:
        numbers.take(1, "u")
        ghosts.update(numbers.take(2 * numbers.one("u"), "i")[::2].tolist())
    for dim, count in enumerate(numbers.take(4, "u")):
        for _ in range(count):
            tag = numbers.one("i")
            if partitioned:
                numbers.take(2, "i")          # the entity that it is a part of
                numbers.take(numbers.one("u"), "i")
            numbers.take(3 if dim == 0 and version == "4.1" else 6, "d")
            groups[dim, tag] = np.abs(numbers.take(numbers.one("u"), "i")).tolist()
            if dim:
                numbers.take(numbers.one("u"), "i")


def _elements_4(numbers, version, groups, ghosts):
    """Cells of one entity after the other, without copies of those of other parts of a partitioned mesh."""
    blocks, _ = numbers.take(2, "u")
    if version == "4.1":
        numbers.take(2, "u")
    for _ in range(blocks):
        first, second, kind = numbers.take(3, "i")
        name, nodes = _type(kind)
        count = numbers.one("u")
        rows = numbers.take(count * (nodes + 1), "u" if version == "4.1" else "i").reshape(count, nodes + 1)
        key = (first, second) if version == "4.1" else (second, first)
        if key in groups or key[1] not in ghosts:
            yield name, rows[:, 1:], [(number, np.arange(count)) for number in groups.get(key, ())]


def _elements_2(numbers, version, binary):
    """Cells of one type after the other. A cell that stands there once for each of its groups comes once."""
    left, last, pieces = numbers.line(), None, []
    while left > 0:
        if binary:
            kind, count, tags = numbers.take(3, "i")
            name, nodes = _type(kind)
            rows = numbers.take(count * (1 + tags + nodes), "i").reshape(count, -1)
            columns = (1, 2) if tags > 1 else (1, 1) if tags else ()
        else:
            _, kind, tags = numbers.ahead(3)
            name, nodes = _type(kind)
            width, same = (5 + nodes, 2) if version == "1" else (3 + tags + nodes, 3)
            rows = numbers.run(width, left, slice(1, 2 if version == "1" else same))
            columns = (2, 3) if version == "1" else (3, 4) if tags > 1 else (3, 3) if tags else ()
        left -= len(rows)
        labels = rows[:, columns] if columns else np.zeros((len(rows), 2), np.int64)
        if name != last:
            pieces.append((name, [], []))
        last = name
        pieces[-1][1].append(rows[:, rows.shape[1] - nodes:])
        pieces[-1][2].append(labels)
    for name, nodes, labels in pieces:
        yield (name, *_once(np.concatenate(nodes), np.concatenate(labels)))


def _once(nodes, labels):
    """Cells (cell, node) and their groups [(number, cells)], without the copies of one in other groups of its entity.

    labels: (cell, 2) group and entity, 0 for none."""
    group, entity = np.abs(labels).T
    number = np.arange(len(nodes))
    pairs = np.unique(np.column_stack([entity, group]), axis=0)
    if len(np.unique(pairs[:, 0])) < len(pairs):          # one of the entities has cells in two groups
        _, first, number = np.unique(np.column_stack([entity, nodes]), axis=0, return_index=True, return_inverse=True)
        number = first[number.ravel()]
        twice = np.unique(np.column_stack([number, group]), axis=0, return_counts=True)[1]
        if (twice > 1).any():          # a cell that is there twice in one group is a defect, which others report
            number = np.arange(len(nodes))
    kept, number = np.unique(number, return_inverse=True)
    found = [(value, np.unique(number[group == value])) for value in np.unique(group[group > 0]).tolist()]
    return nodes[kept], found


def _type(kind):
    """Name in meshio and number of nodes of a type of Gmsh."""
    if kind in INCOMPLETE:
        raise MeshError(f"incomplete (serendipity) {INCOMPLETE[kind]} cells (Gmsh's type {kind}), without nodes inside of "
                        "faces or cells, are read for order 2 only; write the mesh with Mesh.SecondOrderIncomplete = 0")
    if kind not in TYPES:
        raise MeshError(f"cells of Gmsh's type {kind} are not supported; allowed: lines, triangles, quadrilaterals, "
                        "tetrahedra, prisms, pyramids and hexahedra")
    return TYPES[kind]


def _mesh(tags, points, pieces, titles):
    """The meshio mesh: neighbouring pieces (type, tags of the nodes, groups) of one type become one block."""
    blocks = []
    for name, nodes, groups in pieces:
        if not blocks or blocks[-1][0] != name:
            blocks.append((name, [], []))
        start = sum(map(len, blocks[-1][1]))
        blocks[-1][1].append(nodes)
        blocks[-1][2].extend((number, start + cells) for number, cells in groups)
    rows = [np.concatenate(nodes) for _, nodes, _ in blocks]
    flat = places(tags, np.concatenate([of_block.ravel() for of_block in rows])) if rows else []
    nodes = np.split(flat, np.cumsum([of_block.size for of_block in rows])[:-1]) if rows else []
    cells = [block_of(name, found.reshape(of_block.shape)[:, VTK_ORDER.get(name, slice(None))])
             for (name, *_), of_block, found in zip(blocks, rows, nodes)]
    sets = {}
    for block, (_, _, groups) in enumerate(blocks):
        for number, inside in groups:
            for name in titles.get((cells[block].dim, number), [str(number)]):
                sets.setdefault(name, [[] for _ in blocks])[block].append(inside)
    none = np.empty(0, np.int64)
    return meshio.Mesh(points, cells, cell_sets={name: [np.unique(np.concatenate([none, *of_block])) for of_block in members]
                                                 for name, members in sets.items()})
