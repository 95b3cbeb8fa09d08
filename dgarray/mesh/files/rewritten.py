"""Texts that meshio's readers choke on or misread, as texts that they read: Nastran, Medit and legacy VTK."""
import re

from ..errors import MeshError

# Nastran's elements: corners, nodes in all, and the name of the one with corners alone. What follows the nodes is no node.
CARDS = {**dict.fromkeys(("CBAR", "CBEAM", "CBUSH", "CBUSH1D", "CGAP", "CROD"), (2, 2, "CROD")),
         **dict.fromkeys(("CTRIA3", "CTRIAR"), (3, 3, "CTRIA3")), "CTRIA6": (3, 6, "CTRIA3"),
         **dict.fromkeys(("CQUAD4", "CQUADR", "CSHEAR"), (4, 4, "CQUAD4")), "CQUAD8": (4, 8, "CQUAD4"),
         "CQUAD9": (4, 9, "CQUAD4"), "CTETRA": (4, 10, "CTETRA"), "CPYRA": (5, 13, "CPYRA"), "CPYRAM": (5, 13, "CPYRA"),
         "CPENTA": (6, 15, "CPENTA"), "CHEXA": (8, 20, "CHEXA")}
# Elements in a plane through the axis, and what says where nodes are or which mesh it is in another file.
NOT_READ = {**dict.fromkeys(("CTRIAX6", "CTRAX6", "CTRAX3", "CTRIAX", "CQUADX", "CQUADX4", "CQUADX8"),
                            "elements of bodies of revolution are not read; write plane ones, CTRIA3 or CQUAD4"),
            "CQUAD": "it is not read; write CQUAD4 or CQUAD8",
            "INCLUDE": "other files are not followed; write one file",
            "GRDSET": "default fields of nodes are not read; write them with each GRID"}
# Medit's sections of cells, and cells of higher order.
MEDIT = "Vertices", "Edges", "Triangles", "Quadrilaterals", "Tetrahedra", "Prisms", "Pyramids", "Hexahedra", "Hexaedra"
# VTK's names of types that meshio lacks or takes for others, up to version 4, whose ids have four bytes, and from version 5.
VTK_TYPES = {b"vtkidtype": b"int", b"vtktypeint32": b"int", b"vtktypeint64": b"long", b"int1": b"int 1"}
VTK_TYPES_5 = {b"vtkidtype": b"vtktypeint64", b"long": b"vtktypeint64", b"unsigned_long": b"vtktypeuint64",
               b"int": b"vtktypeint32", b"unsigned_int": b"vtktypeuint32", b"short": b"vtktypeint16",
               b"unsigned_short": b"vtktypeuint16",
               b"char": b"vtktypeint8", b"unsigned_char": b"vtktypeuint8", b"int1": b"vtktypeint32 1"}


def nastran(content):
    """Bulk data with one form of all cards: nodes, and elements with their nodes alone, separated by commas."""
    rows = ["BEGIN BULK"]
    for name, fields in _cards(content.decode(errors="replace")):
        if name in NOT_READ:
            raise MeshError(f"the file has {name}: {NOT_READ[name]}")
        if name == "GRID":
            number, system, *x = _padded(fields, 5)[:5]
            if system not in ("", "0"):
                raise MeshError(f"the node {number} has its coordinates in the system {system}; write them in the basic one "
                                "(field 3 of GRID blank)")
            rows.append(",".join(["GRID", number, "", *(value or "0.0" for value in x)]))
        elif name in CARDS:
            rows += _element(name, fields)
    return "\n".join([*rows, "ENDDATA", ""]).encode()


def _element(name, fields):
    corners, count, straight = CARDS[name]
    number, part, *nodes = _padded(fields, 2 + count)[:2 + count]
    given = [node != "" for node in nodes]
    if not any(given[corners:]):
        name, nodes, given = straight, nodes[:corners], given[:corners]
    if not all(given):
        raise MeshError(f"the element {number} ({name}) has {sum(given)} of {len(nodes)} nodes; write all, or the corners "
                        "alone")
    fields = [number, part or "0", *nodes]
    return [",".join([name if not start else "+", *fields[start:start + 8]]) for start in range(0, len(fields), 8)]


def _padded(fields, count):
    return fields + [""] * max(0, count - len(fields))


def _cards(text):
    """(name, fields) of the cards, with their continuations, which begin with blanks, + or *."""
    cards = []
    for line in text.partition("BEGIN BULK")[2].splitlines()[1:]:
        line = line.partition("$")[0].rstrip().expandtabs(8)
        if not line.strip() or line.startswith(("//", "#")):
            continue
        if line.startswith("ENDDATA"):
            break
        large = "*" in line[:8].partition(",")[0]
        if "," in line:
            first, *data = (field.strip() for field in line.split(","))
            data = data[:4 if large else 8]
            if data and data[-1][:1] in ("+", "*") and not re.match(r"\+[\d.]", data[-1]):
                data.pop()
        else:
            width, first = (16, 8)[not large], line[:8].strip()
            data = [line[start:start + width].strip() for start in range(8, 72, width)]
        if first[:1] not in ("", "+", "*"):
            cards.append((first.rstrip("* ").split()[0], [*_padded(data, 4 if large else 8)]))
        elif cards:
            cards[-1][1].extend(_padded(data, 4 if large else 8))
    return cards


def medit(content):
    """A text of the sections of vertices and cells alone, in the form that meshio expects."""
    if b"MeshVersionFormatted" not in content[:4096]:
        return content          # binary
    lines = (line.partition("#")[0].strip() for line in content.decode(errors="replace").splitlines())
    parts = re.split(r"(?<!\S)(?=[A-Za-z])", "\n".join(lines))
    rows = ["MeshVersionFormatted 2"]          # as text, all numbers have double precision
    for part in parts:
        keyword, data = [*part.split(None, 1), "", ""][:2]
        if re.fullmatch(rf"({'|'.join(MEDIT)})[PQ]\d+.*", keyword):
            raise MeshError(f"the file has cells of higher order ({keyword}), which are not read from Medit; write it as Gmsh "
                            "or VTU")
        if keyword == "Dimension":
            rows.append(f"Dimension {data.strip()}")
        elif keyword in MEDIT:
            count, *values = [*data.split(None, 1)] or ["0"]
            if count != "0":
                rows += [keyword, count, *values]
    return "\n".join([*rows, "End", ""]).encode()


def vtk(content):
    """A legacy file with a title, whose ids and scalars are scalars of known types with a table."""
    first, second, rest = [*content.split(b"\n", 2), b"", b""][:3]
    if second.strip().upper() in (b"ASCII", b"BINARY") and rest.lstrip()[:7].upper() == b"DATASET":
        content = b"\n".join([first, b"no title", second, rest])
    content = re.sub(rb"(?mi)^(?:GLOBAL_IDS|PEDIGREE_IDS)[ \t]+(\S+)[ \t]+(\w+)[ \t]*\r?$",
                     rb"SCALARS \1 \2 1\nLOOKUP_TABLE default", content)
    content = re.sub(rb"(?mi)^NORMALS(?=[ \t]+\S+[ \t]+\w+[ \t]*\r?$)", b"VECTORS", content)
    content = re.sub(rb"(?mi)^TEXTURE_COORDINATES[ \t]+(\S+)[ \t]+(\d)[ \t]+(\w+)[ \t]*\r?$",
                     rb"SCALARS \1 \3 \2\nLOOKUP_TABLE default", content)
    content = re.sub(rb"(?mi)^(SCALARS[ \t]+\S+[ \t]+\w+(?:[ \t]+\d)?)[ \t]*\r?\n(?!\s*LOOKUP_TABLE)",
                     rb"\1\nLOOKUP_TABLE default\n", content)
    types = VTK_TYPES_5 if re.match(rb"# vtk DataFile Version [5-9]", first) else VTK_TYPES
    names = b"|".join(types)

    def known(found):
        return found[1] + types[found[2].lower()]
    return re.sub(rb"(?mi)^((?:SCALARS|VECTORS|TENSORS)[ \t]+\S+[ \t]+|\S+[ \t]+\d+[ \t]+\d+[ \t]+)(" + names + rb")\b", known,
                  content)


REWRITERS = {"nastran": nastran, "medit": medit, "vtk": vtk}
