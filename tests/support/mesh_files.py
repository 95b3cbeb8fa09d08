"""Mesh files as other programs write them, and files that are no mesh: the bytes of each, of the square of two triangles."""
import gzip
import io
import struct
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
from scipy.io import netcdf_file

# The unit square: (1) bottom left, (2) bottom right, (3), (4), cut along 1 - 3.
XY = ((0, 0), (1, 0), (1, 1), (0, 1))
TRIANGLES = ((1, 2, 3), (1, 3, 4))
SIDES = {"bottom": (1, 2), "right": (2, 3), "top": (3, 4), "left": (4, 1)}


def lines(*rows):
    return "\n".join(" ".join(map(str, row)) if isinstance(row, tuple) else str(row) for row in rows) + "\n"


def section(name, *rows):
    return lines(f"${name}", *rows, f"$End{name}")


NODES = [(n, x, y, 0) for n, (x, y) in enumerate(XY, 1)]
NAMES = section("PhysicalNames", 5, *((1, n, f'"{name}"') for n, name in enumerate(SIDES, 1)), (2, 9, '"inside"'))


def gmsh2(nodes=NODES, elements=None, names=NAMES, head="2.2 0 8"):
    if elements is None:
        elements = [(n, 1, 2, n, n, *ends) for n, ends in enumerate(SIDES.values(), 1)]
        elements += [(4 + n, 2, 2, 9, 1, *nodes) for n, nodes in enumerate(TRIANGLES, 1)]
    return (section("MeshFormat", head) + names + section("Nodes", len(nodes), *nodes)
            + section("Elements", len(elements), *elements))


def gmsh1():
    elements = [(n, 1, n, n, 2, *ends) for n, ends in enumerate(SIDES.values(), 1)]
    elements += [(4 + n, 2, 9, 1, 3, *nodes) for n, nodes in enumerate(TRIANGLES, 1)]
    return lines("$NOD", 4, *NODES, "$ENDNOD", "$ELM", 6, *elements, "$ENDELM")


def gmsh4(groups=((1,), (2,), (3,), (4,), (9,)), names=NAMES, partitioned="", shift=0, parametric=False, minor="4.1 0 8"):
    """Version 4.1: four curves and a surface, with the numbers of their groups."""
    points = [(n, *xyz, 0) for n, *xyz in NODES]
    curves = [(n, 0, 0, 0, 1, 1, 0, len(of), *of, 2, n, -(n % 4 + 1)) for n, of in enumerate(groups[:4], 1)]
    surface = (1, 0, 0, 0, 1, 1, 0, len(groups[4]), *groups[4], 4, 1, 2, 3, 4)
    nodes = [row for n, *xyz in NODES for row in ((0, n, 0, 1), (n + shift,), tuple(xyz))]
    if parametric:
        nodes = [(2, 1, 1, 4), *((n,) for n, *_ in NODES), *((*xyz, 0.5, 0.5) for _, *xyz in NODES)]
    cells = [row for n, ends in enumerate(SIDES.values(), 1) for row in ((1, n, 1, 1), (n, *(end + shift for end in ends)))]
    cells += [(2, 1, 2, 2), *((4 + n, *(node + shift for node in nodes)) for n, nodes in enumerate(TRIANGLES, 1))]
    return (section("MeshFormat", minor) + names + section("Entities", (4, 4, 1, 0), *points, *curves, surface) + partitioned
            + section("Nodes", (1 if parametric else 4, 4, 1 + shift, 4 + shift), *nodes)
            + section("Elements", (5, 6, 1, 6), *cells))


def gmsh40():
    """Version 4.0, whose files say 4."""
    points = [(n, *xyz, *xyz, 0) for n, *xyz in NODES]
    curves = [(n, 0, 0, 0, 1, 1, 0, 1, n, 2, n, -(n % 4 + 1)) for n in range(1, 5)]
    nodes = [row for node in NODES for row in ((node[0], 0, 0, 1), node)]
    cells = [row for n, ends in enumerate(SIDES.values(), 1) for row in ((n, 1, 1, 1), (n, *ends))]
    cells += [(1, 2, 2, 2), *((4 + n, *nodes) for n, nodes in enumerate(TRIANGLES, 1))]
    return (section("MeshFormat", "4 0 8") + NAMES
            + section("Entities", (4, 4, 1, 0), *points, *curves, (1, 0, 0, 0, 1, 1, 0, 1, 9, 4, 1, 2, 3, 4))
            + section("Nodes", (4, 4), *nodes) + section("Elements", (5, 6), *cells))


def gmsh41_in_parts():
    """Two partitions, each of one triangle; the elements belong to the parts of the entities alone, the diagonal to none."""
    parts = [(11, 2, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 9, 0), (12, 2, 1, 1, 2, 0, 0, 0, 1, 1, 0, 1, 9, 0)]
    curves = [(10 + n, 1, n, 1, 1 if n < 3 else 2, 0, 0, 0, 1, 1, 0, 1, n, 0) for n in range(1, 5)]
    diagonal = (15, 2, 1, 2, 1, 2, 0, 0, 0, 1, 1, 0, 0, 0)
    cut = section("PartitionedEntities", 2, 2, (21, 1), (22, 2), (0, 5, 2, 0), *curves, diagonal, *parts)
    cells = [row for n, ends in enumerate(SIDES.values(), 1) for row in ((1, 10 + n, 1, 1), (n, *ends))]
    cells += [(1, 15, 1, 1), (5, 1, 3), (2, 11, 2, 1), (6, *TRIANGLES[0]), (2, 12, 2, 1), (7, *TRIANGLES[1])]
    whole = gmsh4(partitioned=cut)
    return (whole[:whole.index("$Elements")] + section("Elements", (7, 7, 1, 7), *cells)
            + section("GhostElements", 2, (6, 1, 1, 2), (7, 2, 1, 1)))


def gmsh2_in_parts():
    """As Gmsh writes it with ghost cells: number of partitions, own one, copies."""
    elements = [(n, 1, 4, n, n, 1, 1 if n < 3 else 2, *ends) for n, ends in enumerate(SIDES.values(), 1)]
    elements += [(5, 2, 5, 9, 1, 2, 1, -2, *TRIANGLES[0]), (6, 2, 5, 9, 1, 2, 2, -1, *TRIANGLES[1])]
    return gmsh2(elements=elements)


def gmsh2_twice():
    """Cells in two groups: Gmsh writes each of them twice."""
    elements = [(n, 1, 2, n, n, *ends) for n, ends in enumerate(SIDES.values(), 1)]
    for nodes in TRIANGLES:
        elements += [(len(elements) + 1, 2, 2, group, 1, *nodes) for group in (9, 8)]
    return gmsh2(elements=elements)


def gmsh2_binary(order="<"):
    """Node numbers 2, 4, 6, 8, in little- or big-endian order."""
    out = b"$MeshFormat\n2.2 1 8\n" + struct.pack(f"{order}i", 1) + b"\n$EndMeshFormat\n" + NAMES.encode() + b"$Nodes\n4\n"
    out += b"".join(struct.pack(f"{order}i3d", 2 * n, *xyz) for n, *xyz in NODES) + b"\n$EndNodes\n$Elements\n6\n"
    out += struct.pack(f"{order}3i", 1, 4, 2)
    out += b"".join(struct.pack(f"{order}5i", n, n, n, 2 * a, 2 * b) for n, (a, b) in enumerate(SIDES.values(), 1))
    out += struct.pack(f"{order}3i", 2, 2, 2)
    out += b"".join(struct.pack(f"{order}6i", 4 + n, 9, 1, *(2 * k for k in nodes)) for n, nodes in enumerate(TRIANGLES, 1))
    return out + b"\n$EndElements\n"


def incomplete():
    """A cubic triangle without its inner node."""
    return section("MeshFormat", "2.2 0 8") + section("Nodes", 9, *((n, n, 0, 0) for n in range(1, 10))) + section(
        "Elements", 1, (1, 20, 2, 9, 1, *range(1, 10)))


def apart():
    """A named line away from the cells."""
    elements = [(n, 1, 2, n, n, *ends) for n, ends in enumerate(list(SIDES.values())[:3], 1)]
    elements += [(4, 1, 2, 4, 4, 5, 6)] + [(4 + n, 2, 2, 9, 1, *nodes) for n, nodes in enumerate(TRIANGLES, 1)]
    return gmsh2([*NODES, (5, 5, 5, 0), (6, 6, 5, 0)], elements)


SU2_SQUARE = """\
NDIME= 2
NELEM= 2
5 0 1 2 0
5 0 2 3 1
NPOIN= 4
0 0 0
1 0 1
1 1 2
0 1 3
NMARK= 4
MARKER_TAG= bottom
MARKER_ELEMS= 1
3 0 1
MARKER_TAG= right
MARKER_ELEMS= 1
3 1 2
MARKER_TAG= top
MARKER_ELEMS= 1
3 2 3
MARKER_TAG= left
MARKER_ELEMS= 1
3 3 0
"""

SU2_SPACED = """\
% made by hand

  NDIME =2   % dimension
NELEM\t=  2

% cells
\t5\t0 1 2 0\x20
5 0  2 3 1
NPOIN=4 % points
""" + SU2_SQUARE[SU2_SQUARE.index("0 0 0"):].replace("MARKER_TAG= ", "MARKER_TAG =\t").replace("= 1\n", "= 1 % one\n\n")

# Periodic from bottom to top: SU2 takes the points 0 and 1 for copies of 3 and 2, and adds the cell 2 on the copies 4 and 5.
SU2_PERIODIC = SU2_SQUARE.replace("NELEM= 2\n", "NELEM= 3\n9 3 2 4 5 2\n").replace(
    "NPOIN= 4\n", "NPOIN= 6\n").replace("0 1 3\n", "0 1 3\n1 2 4\n0 2 5\n").replace("NMARK= 4", "NMARK= 6").replace(
    "1\n3 3 0\n", "2\n3 3 0\n3 5 3\n") + """\
MARKER_TAG= SEND_RECEIVE
MARKER_ELEMS= 2
SEND_TO= 1
1 3 1
1 2 1
MARKER_TAG= SEND_RECEIVE
MARKER_ELEMS= 4
SEND_TO= -1
1 0 1
1 1 1
1 4 1
1 5 1
NPERIODIC= 1
PERIODIC_INDEX= 0
0 0 0
0 0 0
0 0 0
"""

# The second zone is one triangle elsewhere.
SU2_ZONES = f"NZONE= 2\nIZONE= 1\n{SU2_SQUARE}" + """\
IZONE= 2
NDIME= 2
NELEM= 1
5 0 1 2
NPOIN= 3
5 5
7 5
5 7
NMARK= 1
MARKER_TAG= hull
MARKER_ELEMS= 3
3 0 1
3 1 2
3 2 0
"""

# One quadrilateral of order 2 for SU2's FEM solver, row by row; its top bulges to y = 1.3.
SU2_CURVED = """\
NDIME= 2
NELEM= 1
109 0 1 2 3 4 5 6 7 8 0
NPOIN= 9
0 0
0.5 0
1 0
0 0.5
0.5 0.5
1 0.5
0 1
0.5 1.3
1 1
NMARK= 2
MARKER_TAG= top
MARKER_ELEMS= 1
103 6 7 8
MARKER_TAG= rest
MARKER_ELEMS= 3
103 0 1 2
103 2 5 8
103 0 3 6
"""

ABAQUS_NODES = """\
*NODE
10, 0., 0.
20, 1., 0.
30, 1., 1.
40, 0., 1.
"""

# Sides as *SURFACE over element sets and single elements; comments, continued and blank lines.
ABAQUS_SURFACES = f"""
** made by hand
*Heading
square
{ABAQUS_NODES}*ELEMENT, TYPE=CPE3,
ELSET=inside
7, 10, 20, 30

9,
10, 30, 40
*ELSET, ELSET=_low, INTERNAL, GENERATE
7, 7, 1
*Surface, type=ELEMENT, name=bottom
_low, S1
*SURFACE, NAME=round
7, S2
INSIDE, S3
9, S2
*NSET, NSET=corner
10
*STEP
*END STEP
"""

ABAQUS_PART = f"{ABAQUS_NODES}*ELEMENT, TYPE=CPS3\n1, 10, 20, 30\n*END PART\n"
ABAQUS_PARTS = f"""\
*HEADING
*PART, NAME=lid
{ABAQUS_PART}*PART, NAME=box
{ABAQUS_PART}*ASSEMBLY, NAME=all
*INSTANCE, NAME=a, PART=lid
*END INSTANCE
*END ASSEMBLY
"""

AVS_UCD = """\
# made by hand
4 2 0 0 0
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
1 3 tri 1 2 3
2 4 tri 1 3 4
"""

GAMBIT = """\
        CONTROL INFO 2.4.6
** GAMBIT NEUTRAL FILE
square
PROGRAM:                Gambit     VERSION:  2.4.6
     NUMNP     NELEM     NGRPS    NBSETS     NDFCD     NDFVL
         4         2         1         2         2         2
ENDOFSECTION
   NODAL COORDINATES 2.4.6
         1   0.0   0.0
         2   1.0   0.0
         3   1.0   1.0
         4   0.0   1.0
ENDOFSECTION
      ELEMENTS/CELLS 2.4.6
       1  3  3        1       2       3
       2  3  3        1       3       4
ENDOFSECTION
       ELEMENT GROUP 2.4.6
GROUP:          1 ELEMENTS:          2 MATERIAL:          2 NFLAGS:          1
                           fluid
       0
       1       2
ENDOFSECTION
 BOUNDARY CONDITIONS 2.4.6
                         In flow       1       1       0       6
         1    3    1
ENDOFSECTION
 BOUNDARY CONDITIONS 2.4.6
                            Wall       1       3       0       6
         1    3    2
         2    3    2
         2    3    3
ENDOFSECTION
"""


def exodus(hdf5=False):
    """Two blocks of one tetrahedron each on both sides of x + y + z = 1, side sets "base" and, without a name, 20."""
    text = np.zeros((2, 33), "S1")
    text[0, :4] = list("base")
    variables = {
        "coordx": np.array([0, 1, 0, 0, 1.]), "coordy": np.array([0, 0, 1, 0, 1.]), "coordz": np.array([0, 0, 0, 1, 1.]),
        "connect1": np.array([[1, 2, 3, 4]], "i4"), "connect2": np.array([[2, 5, 3, 4]], "i4"),
        "eb_prop1": np.array([5, 6], "i4"), "ss_prop1": np.array([10, 20], "i4"), "ss_names": text,
        "elem_ss1": np.array([1], "i4"), "side_ss1": np.array([4], "i4"),
        "elem_ss2": np.array([1, 2, 2], "i4"), "side_ss2": np.array([1, 1, 2], "i4")}
    out = io.BytesIO()
    if hdf5:
        with h5py.File(out, "w") as file:
            for name, value in variables.items():
                file[name] = value
                if name.startswith("connect"):
                    file[name].attrs["elem_type"] = np.bytes_("TETRA4")
        return out.getvalue()
    with TemporaryDirectory() as folder:
        with netcdf_file(Path(folder) / "mesh", "w") as file:
            for name, value in variables.items():
                for axis, size in enumerate(value.shape):
                    file.createDimension(f"{name}_{axis}", size)
                variable = file.createVariable(name, value.dtype.str[1:].replace("S1", "c"),
                                               tuple(f"{name}_{axis}" for axis in range(value.ndim)))
                variable[:] = value
                if name.startswith("connect"):
                    variable.elem_type = "TETRA4"
        return (Path(folder) / "mesh").read_bytes()


def hdf5(**groups):
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        for name in groups:
            file.create_group(name)
    return out.getvalue()


def archive():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("mesh.msh", gmsh2())
    return out.getvalue()


def vtk(kind="UNSTRUCTURED_GRID", cells=((3, 0, 1, 2), (3, 0, 2, 3)), types=(5, 5)):
    size = sum(map(len, cells))
    head = lines("# vtk DataFile Version 3.0", "square", "ASCII", f"DATASET {kind}", "POINTS 4 double",
                 *(node[1:] for node in NODES))
    if kind == "POLYDATA":
        return head + lines(f"POLYGONS {len(cells)} {size}", *cells)
    return head + lines(f"CELLS {len(cells)} {size}", *cells, f"CELL_TYPES {len(types)}", *types)


def vtu(kind="UnstructuredGrid"):
    array = '<DataArray type="{}" Name="{}" format="ascii"{}>{}</DataArray>'.format
    points = array("Float64", "Points", ' NumberOfComponents="3"', " ".join(f"{x} {y} 0" for x, y in XY))
    cells = array("Int64", "connectivity", "", "0 1 2 0 2 3") + array("Int64", "offsets", "", "3 6")
    cells += array("UInt8", "types", "", "5 5")
    return (f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
            f'<{kind}><Piece NumberOfPoints="4" NumberOfCells="2">\n<Points>{points}</Points><Cells>{cells}</Cells>\n'
            f'</Piece></{kind}></VTKFile>')


NASTRAN = """\
$ made by hand
GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
GRID,3,,1.,1.,0.
GRID,4,,0.,1.,0.
CBAR,1,1,1,2
CTRIA3,2,9,1,2,3
CTRIA3,3,9,1,3,4
ENDDATA
"""
FLUENT = '(0 "made by hand")\n(2 2)\n(10 (0 1 4 0 2))\n(12 (0 1 2 0))\n(13 (0 1 5 0))\n(10 (1 1 4 1 2)(\n0 0\n1 0\n1 1\n'
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def compressed(text):
    return gzip.compress(text.encode())
