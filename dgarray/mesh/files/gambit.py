"""Gambit's neutral files (.neu): element groups become regions, boundary conditions become boundaries.

Gambit User's Guide, appendix C: fixed sections between a title and ENDOFSECTION."""
import numpy as np

from ..errors import MeshError
from .cells import places
from .named_sides import with_sides

# Gambit's number of a shape and its nodes -> type in meshio, order of the nodes.
TYPES = {(1, 2): ("line", (0, 1)), (2, 4): ("quad", (0, 1, 2, 3)), (3, 3): ("triangle", (0, 1, 2)),
         (6, 4): ("tetra", (0, 1, 2, 3)), (4, 8): ("hexahedron", (0, 1, 3, 2, 4, 5, 7, 6)), (5, 6): ("wedge", (0, 1, 2, 3, 4,
                                                                                                               5)),
         (7, 5): ("pyramid", (0, 1, 3, 2, 4))}
# Corners in the order of meshio, from 0, of the sides 1, 2, ...
SIDES = {
    "line": ((0,), (1,)), "triangle": ((0, 1), (1, 2), (2, 0)), "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tetra": ((1, 0, 2), (0, 1, 3), (1, 2, 3), (2, 0, 3)),
    "hexahedron": ((0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7), (1, 0, 3, 2), (4, 5, 6, 7)),
    "wedge": ((0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5), (0, 2, 1), (3, 4, 5)),
    "pyramid": ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))}


def read(text):
    """The meshio mesh in the text of a file, and notes on what is left out. Raises MeshError for files that are cut off."""
    sections = _sections(text)
    try:
        return _mesh(sections)
    except MeshError:
        raise
    except (ValueError, IndexError) as error:
        raise MeshError(f"the Gambit file is damaged ({error}); write it again") from None


def _sections(text):
    """[(title, lines)] of the sections."""
    found, lines = [], []
    for line in text.splitlines():
        if line.strip() == "ENDOFSECTION":
            found.append((lines[0].strip().upper(), lines[1:]) if lines else ("", []))
            lines = []
        elif line.strip():
            lines.append(line)
    for needed in ("NODAL COORDINATES", "ELEMENTS/CELLS"):
        if not any(title.startswith(needed) for title, _ in found):
            raise MeshError(f"the Gambit file is cut off or damaged: the section {needed} is missing or without ENDOFSECTION; "
                            "write it again")
    return found


def _mesh(sections):
    points, tags, blocks, numbers, sets, sides, notes = [], [], {}, {}, {}, {}, []
    for title, lines in sections:
        if title.startswith("NODAL"):
            rows = np.array([line.split() for line in lines], dtype=np.float64)
            tags, points = rows[:, 0].astype(np.int64), rows[:, 1:]
        elif title.startswith("ELEMENTS"):
            _elements([int(word) for line in lines for word in line.split()], blocks, numbers)
        elif title.startswith("ELEMENT GROUP"):
            name = lines[1].strip() or lines[0].split()[1]
            words = [int(word) for line in lines[2:] for word in line.split()]
            sets[name] = np.array([word for word in words[int(lines[0].split()[-1]):] if word > 0], dtype=np.int64)
        elif title.startswith("BOUNDARY"):
            name, kind = _boundary(lines)
            if kind != 1:
                notes.append(f"the boundary {name!r} consists of nodes, not of sides of elements; it is left out")
                continue
            rows = np.array([line.split()[:3] for line in lines[1:]], dtype=np.int64).reshape(-1, 3)
            before = sides.get(name, (rows[:0, 0], rows[:0, 2]))
            sides[name] = tuple(np.concatenate([old, rows[:, column]]) for old, column in zip(before, (0, 2)))
    notes += _missing(sections)
    cells = [(name, places(tags, np.array(rows, dtype=np.int64))) for name, rows in blocks.items()]
    mesh, more = with_sides(points, cells, list(numbers.values()), sets, sides, SIDES)
    return mesh, notes + more


def _elements(words, blocks, numbers):
    """Add the cells of each type and their numbers."""
    place = 0
    while place < len(words):
        number, shape, count = words[place:place + 3]
        nodes = words[place + 3:place + 3 + count]
        if (shape, count) not in TYPES or len(nodes) < count:
            raise MeshError(f"elements of Gambit's shape {shape} with {count} nodes are not supported; allowed: straight ones")
        name, order = TYPES[shape, count]
        blocks.setdefault(name, []).append([nodes[k] for k in order])
        numbers.setdefault(name, []).append(number)
        place += 3 + count


def _boundary(lines):
    """Name of a boundary, and 1 where it consists of sides of elements; the name may hold blanks and numbers."""
    words = lines[0].split()
    for place in range(1, len(words) - 1):
        if words[place] in ("0", "1") and words[place + 1] == str(len(lines) - 1):
            return " ".join(words[:place]), int(words[place])
    raise MeshError(f"the Gambit file is cut off or damaged: the boundary {words[0]!r} does not have as many entries as it "
                    "says; write it again")


def _missing(sections):
    """Notes on sections that the header counts and that are not there."""
    rows = map(str.split, sections[0][1])
    numbers = next((words for words in rows if len(words) >= 4 and all(map(str.isdigit, words))), None)
    for title, place in (("ELEMENT GROUP", 2), ("BOUNDARY CONDITIONS", 3)):
        count = sum(name.startswith(title) for name, _ in sections)
        if numbers and count < int(numbers[place]):
            yield f"{count} of {numbers[place]} sections {title} are there; the file may be cut off"
