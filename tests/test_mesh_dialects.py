"""Dialects of mesh files that other programs write: read right, or refused in one line that says what to do."""
import warnings

import mesh_files as files
import meshio
import numpy as np
import pytest

import dgarray as dg
from dgarray.mesh import MeshError, MeshWarning

NODES = [*((x, y, z) for z in (0, 1) for x, y in files.XY), (.5, 0, 0), (1, .5, 0), (.5, .5, 0), (0, 0, .5), (.5, 0, .5),
         (.5, .5, .5)]
GRIDS = "BEGIN BULK\n" + "".join(f"GRID    {n:<16}" + "".join(f"{c:<8.1f}" for c in x) + "\n" for n, x in enumerate(NODES, 1))
MEDIT = files.lines("MeshVersionFormatted 0", "Dimension", 2, "Vertices", 4, "0 0 1", "1 0 1", "1 1 1", "0 1 1", "Edges", 1,
                    "1 2 5", "{}", "Triangles", 2, "1 2 3 7", "1 3 4 7", "End")
VTK, FIELDS = files.vtk(), "CELL_DATA 2\n{}SCALARS material {}\n{}3\n4\n"


def card(*fields):
    """Lines of eight fields, whose continuations begin with blanks."""
    rows = [[fields[0], *fields[1:9]], *(["", *fields[k:k + 8]] for k in range(9, len(fields), 8))]
    return "".join("".join(f"{field!s:8}" for field in row) + "        \n" for row in rows)


def nastran(*fields):
    return GRIDS + card(*fields) + "ENDDATA\n"


def vtk5(content):
    head, types = content.split("CELLS")[0], content.split("CELL_TYPES")[1]
    cells = "CELLS 3 6\nOFFSETS vtktypeint64\n0 3 6\nCONNECTIVITY vtktypeint64\n0 1 2 0 2 3\nCELL_TYPES"
    return head.replace("3.0", "5.1") + cells + types


# Name of the file, content, measure, regions.
READ = {
    "Nastran, hexahedron, blanks": ("a.bdf", nastran("CHEXA", 1, 7, *range(1, 9)), 1, {"7": 1}),
    "Nastran, hexahedron, plus": (
        "a.bdf", nastran("CHEXA", 1, 7, *range(1, 9)).replace("        \n        ", "+       \n+       "), 1, {"7": 1}),
    "Nastran, tetrahedron of order 2": ("a.bdf", nastran("CTETRA", 1, 7, 1, 2, 3, 5, 9, 10, 11, 12, 13, 14), 1 / 6, {"7": 1}),
    "Nastran, THETA": ("a.bdf", nastran("CQUAD4", 1, 7, 1, 2, 3, 4, "45.0"), 1, {"7": 1}),
    "Nastran, MCID": ("a.bdf", nastran("CTRIA3", 1, 7, 1, 2, 3, 4), 0.5, {"7": 1}),
    "Nastran, corners of a CQUAD8": ("a.bdf", nastran("CQUAD8", 1, 7, 1, 2, 3, 4), 1, {"7": 1}),
    "Nastran in small letters": ("a.bdf", nastran("CQUAD4", 1, "", 1, 2, 3, 4).lower(), 1, {}),
    "Medit, required": ("a.mesh", MEDIT.format("RequiredEdges\n1\n1\nRequiredVertices 1\n1"), 1, {"7": 2}),
    "bamg": ("a.msh", MEDIT.format('Identifier\n"G=1; Date: 2026"\nSubDomainFromGeom\n1\n2 1 1 1'), 1, {"7": 2}),
    "Medit in one line": ("a.mesh", MEDIT.format("").replace("\n", " "), 1, {"7": 2}),
    "VTK, ids and int1": ("a.vtk", VTK + FIELDS.format("GLOBAL_IDS ids vtkIdType\n0 1\n", "int1", "LOOKUP_TABLE default\n"), 1,
                          {"3": 1, "4": 1}),
    "VTK, no table": ("a.vtk", VTK + FIELDS.format("", "vtktypeint64 1", ""), 1, {"3": 1, "4": 1}),
    "VTK 5.1, ids": ("a.vtk", vtk5(VTK) + FIELDS.format("GLOBAL_IDS ids vtkIdType\n0 1\n", "long", "LOOKUP_TABLE default\n"), 1,
                     {"3": 1, "4": 1}),
    "VTK, no title": ("a.vtk", VTK.replace("square\n", ""), 1, {}),
}


def read(folder, name, content):
    path = folder / name
    path.write_text(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return dg.read_mesh(path)


@pytest.mark.parametrize("kind", READ)
def test_dialects_are_read(kind, tmp_path):
    name, content, measure, regions = READ[kind]
    mesh = read(tmp_path, name, content)
    assert mesh.measures.sum() == pytest.approx(measure)
    assert {name: len(cells) for name, cells in mesh.regions.items()} == regions


def polyhedron():
    faces = "4 3 0 1 2 3 0 1 3 3 1 2 3 3 0 2 3"
    more = '<DataArray type="Int64" Name="{}" format="ascii">{}</DataArray>'.format
    text = files.vtu().replace("</Cells>", more("faces", faces) + more("faceoffsets", 17) + "</Cells>")
    return (text.replace("0 1 2 0 2 3<", "0 1 2 3<").replace(">3 6<", ">4<").replace(">5 5<", ">42<")
            .replace('NumberOfCells="2"', 'NumberOfCells="1"'))


REFUSED = {
    "Nastran, another system": ("a.bdf", nastran("CQUAD4", 1, 7, 1, 2, 3, 4).replace(f"{1:<16}", f"{1:<8}{3:<8}", 1),
                                "the node 1 has its coordinates in the system 3"),
    "Nastran, some middles": ("a.bdf", nastran("CQUAD8", 1, 7, 1, 2, 3, 4, 9), r"\(CQUAD8\) has 5 of 8 nodes; write all, or"),
    "Nastran, a node": ("a.bdf", nastran("CQUAD4", 1, 7, 1, 2, 3, 99), "an element names the node 99, which does not exist"),
    "Medit of order 2": ("a.mesh", MEDIT.format("TrianglesP2\n0"), r"higher order \(TrianglesP2\)"),
    "polyhedra": ("a.vtu", polyhedron(), "'polyhedron4' are not supported; .*Tetrahedralize"),
    "polyhedra beside others": ("a.vtu", files.vtu().replace(">5 5<", ">5 42<"), "polyhedra.*Tetrahedralize"),
    "Bezier cells": ("a.vtu", files.vtu().replace(">5 5<", ">5 76<"), "Bezier cells.*Tetrahedralize"),
    "a type of no name": ("a.vtu", files.vtu().replace(">5 5<", ">5 99<"), "VTK cells that are not read.*Tetrahedralize"),
    "a type of no name in VTK": ("a.vtk", files.vtk(types=(5, 99)), "VTK cells that are not read.*Tetrahedralize"),
    "strips in VTK 5.1": ("a.vtk", vtk5(files.vtk(types=(5, 6))), "VTK cells that are not read.*Tetrahedralize"),
    "FreeFEM": ("a.msh", "4 2 4\n0 0 1\n1 0 1\n1 1 2\n0 1 2\n1 2 3 0\n1 3 4 0\n", r"this is a FreeFEM mesh .*savemesh\(Th"),
    "FreeFEM in 3D": ("a.mesh", "4 1 0\n0. 0 0 1\n1 0 0 1\n1 1 0 2\n0 1 1 2\n1 2 3 4 0\n", "this is a FreeFEM mesh"),
    "GiD": ("a.msh", '# by GiD\nMESH "x" dimension 2 ElemType Triangle Nnode 3\n', "this is a GiD mesh"),
    "GetFEM": ("a.mesh", "% GETFEM MESH FILE \n% GETFEM VERSION 5.4\n\nBEGIN POINTS LIST\n",
               "this is a GetFEM mesh.*export_to_vtk"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_dialects_are_named(kind, tmp_path, capfd):
    name, content, words = REFUSED[kind]
    with pytest.raises(MeshError, match=words) as caught:
        read(tmp_path, name, content)
    assert "\n" not in str(caught.value) and capfd.readouterr() == ("", "")


# A boundary face on a node that is not there, in the ways that formats count.
WRITTEN = (".vtk", ".vtu", ".xdmf", ".inp", ".mesh", ".avs", ".med", ".bdf", ".vol")
TEXTS = {"Gmsh 1": ("a.msh", files.gmsh1(), "2 1 2 2 2 2 3", "2 1 2 2 2 2 {}"),
         "Gmsh 2.2": ("a.msh", files.gmsh2(), "2 1 2 2 2 2 3", "2 1 2 2 2 2 {}"),
         "Gmsh 4.0": ("a.msh", files.gmsh40(), "\n2 2 3\n", "\n2 2 {}\n"),
         "Gmsh 4.1": ("a.msh", files.gmsh4(), "\n2 2 3\n", "\n2 2 {}\n"),
         "SU2": ("a.su2", files.SU2_SQUARE, "\n3 1 2\n", "\n3 1 {}\n")}


@pytest.mark.parametrize("node", [99, -1])
@pytest.mark.parametrize("kind", [*TEXTS, *WRITTEN])
def test_faces_on_nodes_that_are_not_there(kind, node, tmp_path):
    if kind in TEXTS:
        name, content, old, new = TEXTS[kind]
        assert old in content
        with pytest.raises(MeshError, match="names a node that does not exist"):
            read(tmp_path, name, content.replace(old, new.format(node)))
        return
    path = tmp_path / f"a{kind}"
    points = np.array([(*x, 0.0) for x in files.XY] + [(0, 0, 1.0)])
    if kind == ".vol":
        cells = [("triangle", np.array([[0, 1, node]])), ("tetra", np.array([[0, 1, 2, 4], [0, 2, 3, 4]]))]
    else:
        cells = [("line", np.array([[0, node]])), ("triangle", np.array([[0, 1, 2], [0, 2, 3]]))]
    meshio.Mesh(points, cells).write(path)
    with pytest.raises(MeshError, match=r"names a node that does not exist|names the node -?\d+, which does not exist"):
        dg.read_mesh(path)
