"""Abaqus' input files: nodes, elements, and *ELSET and *SURFACE as names.

Abaqus Keywords Reference Guide; the faces of the elements from Abaqus' Elements Guide."""
import re
from pathlib import Path

import numpy as np

from ..errors import MeshError
from .cells import places
from .named_sides import with_sides

# What the name of an element starts with, then a digit or two: its nodes. Nodes -> type in meshio.
SOLID = {4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron", 10: "tetra10", 13: "pyramid13", 15: "wedge15",
         20: "hexahedron20"}
PLANE = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"}
ELEMENTS = (
    (r"(?:\w*C3D|F3D|CIN3D|SC|CSS|Q3D)(10|13|15|20|\d)", SOLID),
    (r"(?:CP[ES]|CPEG|CG?AX|DC2D|AC2D|DCAX|ACAX|EC2D|M3D|SFM3D|DS|S|STRI|R3D|CIN2D|CINPE|CINPS|CINAX)(\d)", PLANE),
    (r"(?:T[23]D|R2D|AC1D|DC1D|SAX|RAX|DSAX)([23])", {2: "line", 3: "line3"}),
    (r"(?:B[23]|PIPE[23])(\d)", {1: "line", 2: "line3", 3: "line"}),
)
WITHOUT_PARTS = ("write the file without parts (Abaqus/CAE: model attribute 'Do not use parts and assemblies in input "
                 "files')")
# Elements without an extent.
POINTS = re.compile("D$|MASS|ROTARYI|SPRING|DASHPOT|CONN|DCOUP|GAP|HEATCAP|INERTIA|ITT|ITS")
# Corners, from 0, of the faces S1, S2, ...
FACES = {
    "triangle": ((0, 1), (1, 2), (2, 0)), "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tetra": ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    "pyramid": ((0, 1, 2, 3), (0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0)),
    "wedge": ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    "hexahedron": ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))}


class Deck:
    """Contents of an Abaqus input file: nodes, elements, sets by their names in capitals, surfaces; titles: {name in capitals:
    name as written in the file}."""

    def __init__(self):
        self.tags, self.points, self.blocks, self.numbers = [], [], [], []
        self.sets, self.surfaces, self.titles, self.notes, self.parts = {}, {}, {}, [], []
        self.shift = np.zeros(3)


def read(text, folder="."):
    """The meshio mesh in the text of a file, and notes on what is left out; *INCLUDE takes files from the folder.

    Raises MeshError for several parts, unknown elements, and lines that are not as they must be."""
    deck = Deck()
    for keyword, options, lines in _blocks(text, Path(folder)):
        if keyword in READERS:
            READERS[keyword](deck, options, lines)
    if not deck.tags or not deck.blocks:
        raise MeshError(f"the Abaqus file has no {'nodes (*NODE)' if not deck.tags else 'elements (*ELEMENT)'}")
    holding = [name for name, nodes in deck.parts if nodes]
    if len(holding) > 1:
        raise MeshError(f"the Abaqus file has {len(holding)} parts with meshes of their own ({', '.join(holding)}); "
                        f"{WITHOUT_PARTS}")
    tags, points = np.concatenate(deck.tags), np.concatenate(deck.points) + deck.shift
    blocks = [(name, places(tags, nodes)) for name, nodes in deck.blocks]
    sides = _sides(deck)
    sets = {title: _cells(deck, key) for key, title in deck.titles.items() if title not in sides}
    mesh, notes = with_sides(points, blocks, deck.numbers, sets, sides, FACES)
    return mesh, deck.notes + notes


def _blocks(text, folder):
    """(keyword, options, lines) of each block. Comments and blank lines are left out, included files come in their places."""
    keyword, options, lines = "", {}, []
    unfinished = ""
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        if line.startswith("*") or unfinished:
            if not unfinished:
                yield keyword, options, lines
            head = unfinished + line
            unfinished = head if head.endswith(",") else ""
            if unfinished:
                continue
            first, *rest = head[1:].split(",")
            keyword, lines = " ".join(first.upper().split()), []
            options = {name.strip().upper(): value.strip().strip('"') for name, _, value in (o.partition("=") for o in rest)}
            if keyword == "INCLUDE":
                path = folder / options.get("INPUT", "").replace("\\", "/")
                if not path.is_file():
                    raise MeshError(f"*INCLUDE names the file {options.get('INPUT')!r}, which is not there")
                yield from _blocks(path.read_text(errors="replace"), folder)
        else:
            lines.append(line)
    yield keyword, options, lines


def _numbers(what, lines, kind=int):
    try:
        return [[kind(word) for word in line.split(",") if word.strip()] for line in lines]
    except ValueError:
        raise MeshError(f"the Abaqus file is damaged in {what}: there is something else than numbers; write it again") from None


def _node(deck, options, lines):
    rows = [(row[:4] + [0.0] * 3)[:4] for row in _numbers("*NODE", lines, float) if row]
    if rows:
        table = np.array(rows)
        deck.tags.append(table[:, 0].astype(np.int64))
        deck.points.append(table[:, 1:])
        if deck.parts:
            deck.parts[-1][1] += len(rows)


def _element(deck, options, lines):
    kind = options.get("TYPE", "").upper()
    name = next((types[int(found[1])] for pattern, types in ELEMENTS
                 if (found := re.match(pattern, kind)) and int(found[1]) in types), None)
    if name is None:
        if POINTS.match(kind):
            return
        raise MeshError(f"elements of Abaqus' type {kind or 'without TYPE='} are not supported; allowed: solids, shells and "
                        "plane elements such as C3D4, C3D10, C3D8, C3D20, S3, S4, CPS3, CPE4, CAX6")
    digits = re.search(r"\d+$", name)
    width = 1 + (int(digits[0]) if digits else {"line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6,
                                                 "hexahedron": 8}[name])
    flat = np.array([number for row in _numbers("*ELEMENT", lines) for number in row], dtype=np.int64)
    if len(flat) % width:
        raise MeshError(f"the Abaqus file is cut off or damaged in *ELEMENT: {len(flat)} numbers are no whole {kind} elements "
                        f"of {width - 1} nodes; write it again")
    table = flat.reshape(-1, width)
    nodes = table[:, 1:]
    deck.blocks.append((name, nodes[:, [0, 2, 1]] if name == "line3" else nodes))          # the middle is the second one
    deck.numbers.append(table[:, 0])
    if options.get("ELSET"):
        _add(deck, options["ELSET"], table[:, 0])


def _elset(deck, options, lines):
    if "GENERATE" in options:
        found = [np.arange(first, last + 1, *step[:1]) for first, last, *step in _numbers("*ELSET", lines)]
    else:
        found = [word.strip() for line in lines for word in line.split(",") if word.strip()]
    _add(deck, options.get("ELSET", ""), *found, shown="INTERNAL" not in options)


def _add(deck, name, *members, shown=True):
    """Add to a set: arrays of cells' numbers, and words, each a number or the name of a set that may come later."""
    deck.sets.setdefault(name.upper(), []).extend(members)
    if shown:
        deck.titles.setdefault(name.upper(), name)


def _cells(deck, word, above=()):
    """Numbers of the cells of a set by its name, or the one that is given as a number."""
    key = word.strip('"').upper()
    key = key if key in deck.sets else key.rpartition(".")[2]          # instance.set
    if key not in deck.sets and key.isdigit():
        return np.array([int(key)])
    if key not in deck.sets or key in above:
        raise MeshError(f"the Abaqus file uses the element set {word!r}, which it does not define")
    members = [member if isinstance(member, np.ndarray) else _cells(deck, member, (*above, key)) for member in deck.sets[key]]
    return np.concatenate([np.empty(0, np.int64), *members])


def _surface(deck, options, lines):
    name = options.get("NAME", "")
    if options.get("TYPE", "ELEMENT").upper() == "ELEMENT":
        deck.surfaces.setdefault(name, []).extend(lines)
    else:
        deck.notes.append(f"the surface {name!r} consists of nodes, not of faces of elements; it is left out")


def _sides(deck):
    """Surfaces: name -> (numbers of cells, of their sides). Those of shells, SPOS and SNEG, become sets of the shells."""
    sides = {}
    for name, lines in deck.surfaces.items():
        for line in lines:
            word, side = ([part.strip() for part in line.split(",")] + [""])[:2]
            numbers = _cells(deck, word)
            if side.upper() in ("SPOS", "SNEG"):
                _add(deck, name, numbers)
            elif re.fullmatch(r"[SE]\d", side.upper()):
                sides.setdefault(name, []).append((numbers, np.full(len(numbers), int(side[1]))))
            else:
                deck.notes.append(f"the surface {name!r} names elements, but not which of their faces ({line!r}); it is left "
                                  "out")
    return {name: tuple(np.concatenate(column) for column in zip(*rows)) for name, rows in sides.items()}


def _part(deck, options, lines):
    deck.parts.append([options.get("NAME", "?"), 0])


def _instance(deck, options, lines):
    """A place for a part: it may be moved, but not turned."""
    rows = _numbers("*INSTANCE", lines, float)
    if len(rows) > 1:
        raise MeshError(f"the instance {options.get('NAME', '?')!r} of a part is turned, which is not supported; "
                        f"{WITHOUT_PARTS}")
    deck.parts.append([options.get("NAME", "?"), 0])
    deck.shift = np.array((rows[0] + [0.0] * 3)[:3] if rows else [0.0] * 3)


READERS = {"NODE": _node, "ELEMENT": _element, "ELSET": _elset, "SURFACE": _surface, "PART": _part, "INSTANCE": _instance}
