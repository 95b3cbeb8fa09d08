"""Mesh files as people have them: what is read of each format, names included, and messages that blame the right thing."""
import re
import warnings

import mesh_files as files
import meshio
import numpy as np
import pytest

import dgarray as dg
from dgarray.mesh import MeshError, MeshWarning

SIDES = {"bottom": 1, "right": 1, "top": 1, "left": 1}
NUMBERED = {"1": 1, "2": 1, "3": 1, "4": 1}
INSIDE = {"inside": 2}

# File name, content, faces of the boundaries, cells of the regions, words of the note. All are the unit square.
READ = {
    "Gmsh 1": ("a.msh", files.gmsh1(), NUMBERED, {"9": 2}, None),
    "Gmsh 2.2": ("a.msh", files.gmsh2(), SIDES, INSIDE, None),
    "Gmsh 2.2 in two groups": ("a.msh", files.gmsh2_twice(), SIDES, {"8": 2, "inside": 2}, None),
    "Gmsh 2.2 of two partitions": ("a.msh", files.gmsh2_in_parts(), SIDES, INSIDE, None),
    "Gmsh 2.2, binary, with gaps": ("a.msh", files.gmsh2_binary(), SIDES, INSIDE, None),
    "Gmsh 2.2 of a big-endian machine": ("a.msh", files.gmsh2_binary(">"), SIDES, INSIDE, None),
    "Gmsh 2.2 with an apostrophe": ("a.msh", files.gmsh2(names=files.NAMES.replace("inside", "d'eau")), SIDES, {"d'eau": 2},
                                    None),
    "Gmsh 4.0": ("a.msh", files.gmsh40(), SIDES, INSIDE, None),
    "Gmsh 4.1": ("a.msh", files.gmsh4(), SIDES, INSIDE, None),
    "Gmsh 4.1 with gaps": ("a.msh", files.gmsh4(shift=700), SIDES, INSIDE, None),
    "Gmsh 4.1 of two partitions": ("a.msh", files.gmsh41_in_parts(), SIDES, INSIDE, None),
    "Gmsh 4.1, groups that overlap, no names": (
        "a.msh", files.gmsh4(groups=((1, 5), (2, 5), (3,), (4,), (9, 8)), names=""), {**NUMBERED, "5": 2}, {"8": 2, "9": 2},
        None),
    "Gmsh 4.1, some without a group": ("a.msh", files.gmsh4(groups=((1,), (), (3,), (), ())), {"bottom": 1, "top": 1}, {},
                                       None),
    "Gmsh 4.1 with parameters of nodes": ("a.msh", files.gmsh4(parametric=True), SIDES, INSIDE, None),
    "Gmsh, clockwise": ("a.msh", files.gmsh2().replace("1 2 3\n", "3 2 1\n"), SIDES, INSIDE, None),
    "Gmsh, a line apart": ("a.msh", files.apart(), {"bottom": 1, "right": 1, "top": 1}, INSIDE,
                           "boundary 'left' lies apart from the cells, all of its 1 face"),
    "Gmsh, a blank line first": ("a.msh", "\n" + files.gmsh2(), SIDES, INSIDE, None),
    "Gmsh, a mark of byte order first": ("a.msh", "\ufeff" + files.gmsh2(), SIDES, INSIDE, None),
    "Gmsh in UTF-16": ("a.msh", ("\ufeff" + files.gmsh2()).encode("utf-16-le"), SIDES, INSIDE, None),
    "Gmsh from Windows": ("a.msh", files.gmsh4().replace("\n", "\r\n"), SIDES, INSIDE, None),
    "Gmsh, compressed": ("a.msh.gz", files.compressed(files.gmsh2()), SIDES, INSIDE, None),
    "Gmsh under another name": ("a.mesh", files.gmsh2(), SIDES, INSIDE, None),
    "SU2 with spaces and comments": ("a.su2", files.SU2_SPACED, SIDES, {}, None),
    "SU2 with copies beyond a period": ("a.su2", files.SU2_PERIODIC, SIDES, {},
                                        r"^1 cell beyond periodic boundaries, which SU2 adds \(SEND_RECEIVE"),
    "Abaqus surfaces": ("a.inp", files.ABAQUS_SURFACES, {"bottom": 1, "round": 3}, INSIDE, "1 faces of boundary .round. lie"),
    "AVS-UCD as .inp": ("a.inp", files.AVS_UCD, {}, {"3": 1, "4": 1}, None),
    "Gambit": ("a.neu", files.GAMBIT, {"In flow": 1, "Wall": 3}, {"fluid": 2}, None),
    "Gambit without a section": ("a.neu", files.GAMBIT.rsplit(" BOUNDARY", 1)[0], {"In flow": 1}, {"fluid": 2},
                                 "1 of 2 sections BOUNDARY CONDITIONS are there; the file may be cut off"),
    "VTK": ("a.vtk", files.vtk(), {}, {}, None),
    "VTK, a blank line first": ("a.vtk", "\n" + files.vtk(), {}, {}, None),
    "VTU": ("a.vtu", files.vtu(), {}, {}, None),
    "Nastran's bulk data alone": ("a.bdf", files.NASTRAN, {"1": 1}, {"9": 2}, None),
    "VTU called .vtk": ("a.vtk", files.vtu(), {}, {}, None),
    "VTU, compressed, a blank line first": ("a.vtu.gz", files.compressed("\n" + files.vtu()), {}, {}, None),
}


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("kind", READ)
def test_files_of_the_square_are_read(kind, tmp_path):
    name, content, boundaries, regions, note = READ[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        mesh = dg.read_mesh(write(tmp_path, name, content))
    assert mesh.dim == 2 and len(mesh.cells) == 2 and mesh.measures.sum() == pytest.approx(1)
    assert {name: len(rows) for name, rows in mesh.boundaries.items()} == boundaries
    assert {name: len(cells) for name, cells in mesh.regions.items()} == regions
    if "bottom" in boundaries:
        assert mesh.face_centres(mesh.named("bottom")) == pytest.approx(np.array([[0.5, 0]]))
    if note is None:
        assert not mesh.notes
    else:
        assert re.search(note, mesh.notes[0])
        assert len(mesh.notes) == 1 or kind == "Gmsh, a line apart"


REFUSED = {
    "Git LFS": ("a.msh", files.LFS, r"a.msh: this is a Git LFS pointer, not the file; get the file with: git lfs pull$"),
    "a web page": ("a.su2", "<!DOCTYPE html>\n<html>", "this is a web page, not a mesh"),
    "a link as text": ("a.su2", "../other/mesh.su2\n", r"the name of another one, \.\./other/mesh\.su2: it is a symbolic link"),
    "Fluent": ("a.msh", files.FLUENT, "this is a Fluent mesh .*CGNS"),
    "a geometry": ("a.msh", 'SetFactory("OpenCASCADE");\nBox(1) = {0,0,0, 1,1,1};\n', "a Gmsh geometry, not a mesh; .*gmsh -3"),
    "MFEM": ("a.mesh", "MFEM mesh v1.0\n\ndimension\n2\n", "this is an MFEM mesh"),
    "CGNS": ("a.cgns", files.hdf5(CGNSLibraryVersion=1, Base=1),
             "this is a CGNS file, which is not read; convert it with Gmsh"),
    "VTKHDF": ("a.vtkhdf", files.hdf5(VTKHDF=1), "this is a VTKHDF file"),
    "HDF5 cut off": ("a.med", files.hdf5(ENS_MAA=1)[:600], "the HDF5 file is cut off or damaged"),
    "an archive": ("a.msh", files.archive(), "this is an archive; unpack it"),
    "compressed and cut off": ("a.msh.gz", files.compressed(files.gmsh2())[:-30], "the compressed file is cut off or damaged"),
    "UNV": ("a.unv", "    -1\n  2411\n 1 1 1 11\n", "I-DEAS universal file"),
    "parallel VTK": ("a.pvtu", files.vtu("PUnstructuredGrid"), "parallel or a polygonal VTK file"),
    "polygons in VTK": ("a.vtk", files.vtk("POLYDATA"), "polygons of a surface"),
    "polygons": ("a.vtk", files.vtk(cells=((4, 0, 1, 2, 3),), types=(7,)), "cells of type 'polygon'"),
    "pixels": ("a.vtk", files.vtk(cells=((4, 0, 1, 3, 2),), types=(8,)), "pixels, voxels, polyhedra.*Tetrahedralize"),
    "blank": ("a.msh", "\n\n \n", "the file is blank"),
    "incomplete cells": ("a.msh", files.incomplete(), r"incomplete \(serendipity\) triangle cells .*SecondOrderIncomplete = 0"),
    "Gmsh cut off": ("a.msh", files.gmsh4()[:-20], r"cut off: \$EndElements is missing"),
    "Gmsh with too few numbers": ("a.msh", files.gmsh2().replace("$Elements\n6", "$Elements\n9"),
                                  r"cut off or damaged in \$Elements"),
    "Gmsh with a word": ("a.msh", files.gmsh2().replace("2 1 0 0", "2 one 0 0"),
                         r"damaged in \$Nodes: there is something else"),
    "two zones": ("a.su2", files.SU2_ZONES,
                  r"2 zones, .*: 1 \(markers bottom, .*\), 2 \(markers hull\); choose one, .* read_mesh\(file, zone=1\)$"),
    "SU2 cut off": ("a.su2", files.SU2_SPACED[:60], "NPOIN= is missing"),
    "SU2 without all cells": ("a.su2", files.SU2_SPACED.replace("=  2", "= 5"), "damaged in NELEM: 2 lines for 5 cells"),
    "two parts in Abaqus": ("a.inp", files.ABAQUS_PARTS,
                            r"2 parts with meshes of their own \(lid, box\); write the file without parts"),
    "an element of Abaqus": ("a.inp", files.ABAQUS_SURFACES.replace("CPE3", "XYZ3"), "Abaqus' type XYZ3"),
    "a set of Abaqus": ("a.inp", files.ABAQUS_SURFACES.replace("_low, S1", "low, S1"),
                        "the element set 'low', which it does not"),
    "a face of Abaqus": ("a.inp", files.ABAQUS_SURFACES.replace("_low, S1", "_low, S4"),
                         "the side 4 of a triangle cell; allowed: 1 to 3"),
    "Exodus cut off": ("a.e", files.exodus()[:500], "the Exodus file is cut off or damaged"),
    "SU2 without all markers": ("a.su2", files.SU2_SPACED.split("MARKER_TAG =\tleft")[0], "3 of 4 markers are there"),
    "Gambit cut off": ("a.neu", files.GAMBIT.split("      ELEMENTS/CELLS")[0], "the section ELEMENTS/CELLS is missing"),
    "Gambit without all entries": ("a.neu", files.GAMBIT.replace("       3       0       6", "       4       0       6"),
                                   "the boundary 'Wall' does not have as many entries as it says"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_messages_blame_the_right_thing(kind, tmp_path, capfd):
    name, content, words = REFUSED[kind]
    path = write(tmp_path, name, content)
    with pytest.raises(MeshError, match=words) as caught:
        dg.read_mesh(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_zones_are_chosen(tmp_path):
    path = write(tmp_path, "a.su2", files.SU2_ZONES)
    first, second = dg.read_mesh(path, zone=1), dg.read_mesh(path, zone=2)
    assert set(first.boundaries) == set(SIDES) and first.measures.sum() == pytest.approx(1)
    assert set(second.boundaries) == {"hull"} and second.centroids.tolist() == [[pytest.approx(17 / 3)] * 2]
    with pytest.raises(MeshError, match="zone=3 is not in the file; it has: 1, 2"):
        dg.read_mesh(path, zone=3)
    with pytest.raises(MeshError, match="only SU2 files have zones"):
        dg.read_mesh(write(tmp_path, "a.msh", files.gmsh2()), zone=1)
    with pytest.raises(MeshError, match=r"read_mesh\(zone='inner'\) is not allowed"):
        dg.read_mesh(path, zone="inner")


def test_curved_cells_of_su2(tmp_path):
    """SU2's FEM solver, row by row, and VTK's numbers, as Gmsh writes them."""
    mesh = dg.read_mesh(write(tmp_path, "a.su2", files.SU2_CURVED))
    assert mesh.order == 2 and {name: len(rows) for name, rows in mesh.boundaries.items()} == {"top": 1, "rest": 3}
    assert mesh.measures.sum() == pytest.approx(1 + 0.3 * 2 / 3)
    text = files.SU2_CURVED.replace("109 0 1 2 3 4 5 6 7 8", "28 0 2 8 6 1 5 7 3 4").replace("103 6 7 8", "21 6 8 7")
    again = dg.read_mesh(write(tmp_path, "b.su2", text))
    assert np.allclose(again.geometry_nodes, mesh.geometry_nodes)


@pytest.mark.parametrize("hdf5", [False, True])
def test_exodus_blocks_and_side_sets(tmp_path, hdf5):
    mesh = dg.read_mesh(write(tmp_path, "a.exo", files.exodus(hdf5)))
    assert mesh.measures.sum() == pytest.approx(1 / 6 + 1 / 3) and {name: len(of) for name,
                                                                    of in mesh.regions.items()} == {"5": 1, "6": 1}
    assert {name: len(rows) for name, rows in mesh.boundaries.items()} == {"base": 1, "20": 3}
    assert mesh.face_centres(mesh.named("base")) == pytest.approx(np.array([[1 / 3, 1 / 3, 0]]))


@pytest.mark.parametrize("kind, nodes", [("C3D4", 4), ("C3D10", 10), ("C3D8R", 8), ("C3D20", 20)])
def test_faces_of_solids_in_abaqus(kind, nodes, tmp_path):
    """Each face S1, S2, ... lies opposite to a corner or to another face; all together are the boundary."""
    simplex = nodes in (4, 10)
    corners = np.eye(4)[:, 1:] if simplex else np.array([(x, y, z) for z in (0, 1) for x, y in files.XY], float)
    edges = ([(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)] if simplex else
             [(k + s, (k + 1) % 4 + s) for s in (0, 4) for k in range(4)] + [(k, k + 4) for k in range(4)])
    points = np.concatenate([corners, [corners[list(edge)].mean(axis=0) for edge in edges]])[:nodes]
    text = files.lines("*NODE", *(f"{n}, {x}, {y}, {z}" for n, (x, y, z) in enumerate(points, 1)), f"*ELEMENT, TYPE={kind}",
                       ", ".join(map(str, [1, *range(1, nodes + 1)])), *(
                           f"*SURFACE, NAME=face {k}\n1, S{k}" for k in range(1, 5 if simplex else 7)))
    mesh = dg.read_mesh(write(tmp_path, "a.inp", text))
    centres = np.concatenate([mesh.face_centres(rows) for rows in mesh.boundaries.values()])
    expected = ([(1, 1, 0), (1, 0, 1), (1, 1, 1), (0, 1, 1)] if simplex else
                [(1, 1, 0), (1, 1, 2), (1, 0, 1), (2, 1, 1), (1, 2, 1), (0, 1, 1)])
    assert not len(mesh.unnamed) and np.allclose(centres, np.array(expected) / (3 if simplex else 2))


def test_linear_cells_with_quadratic_faces(tmp_path):
    path = tmp_path / "a.vtu"
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.5, 0, 0)], float)
    meshio.Mesh(points, [("line3", [[0, 1, 3]]), ("triangle", [[0, 1, 2]])], cell_data={"material": [[7], [8]]}).write(path)
    with pytest.warns(MeshWarning, match="1 node that no cell uses"):
        mesh = dg.read_mesh(path)
    assert list(mesh.boundaries) == ["7"] and list(mesh.regions) == ["8"]


def test_windows_separators_are_named(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", "a.msh", files.gmsh2())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MeshError, match=r"no such file; there is in/a\.msh"):
        dg.read_mesh("in\\a.msh")
