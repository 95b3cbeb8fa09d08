"""Messages of docs/errors/meshes.md."""
from pathlib import Path

import mesh_files
from mistakes.files import file, nasty, solid, triangle_file
from mistakes.kinds import Wrong, case
from mistakes.stores import stores

TITLE = "Meshes"
ABOUT = "mesh files, generated meshes, periodic boundaries"

SU2 = """NDIME= 2
NELEM= 1
5 0 1 2 0
NPOIN= 3
0.0 0.0 0
1.0 0.0 1
0.0 1.0 2
NMARK= 1
MARKER_TAG= wall
MARKER_ELEMS= 1
3 0 1
MARKER_TAG= lost
"""

GROUPS = {}

GROUPS["Meshes"] = [
    Wrong("A missing file", "info mine.msh", "no such file"),
    Wrong("A missing mesh file", "run tm_cavity --mesh mine.msh", "mine.msh: no such file"),
    Wrong("A folder", "run tm_cavity --mesh .", "is a folder"),
    Wrong("An empty file", "info mine.msh", "file is empty", prepare=nasty("empty_0_bytes", "mine.msh")),
    Wrong("Another suffix", "info mine.xyz", "no reader for .xyz, .* allowed: ", prepare=file("mine.xyz", "1")),
    Wrong("A format that is not read", "info mine.tec", "convert it to Gmsh", prepare=file("mine.tec", "VARIABLES")),
    Wrong("A format of surfaces", "info mine.obj", "mesh the inside first", prepare=file("mine.obj", "v 0 0 0")),
    Wrong("A Git LFS pointer", "info mine.msh", "git lfs pull", prepare=file("mine.msh", mesh_files.LFS)),
    Wrong("A web page in place of a mesh", "info mine.su2", "this is a web page", prepare=file("mine.su2", "<!DOCTYPE html>")),
    Wrong("A link that was copied as text", "info mine.su2", "a symbolic link", prepare=file("mine.su2", "../all/mine.su2")),
    Wrong("A Fluent mesh", "info mine.msh", "this is a Fluent mesh", prepare=file("mine.msh", mesh_files.FLUENT)),
    Wrong("A CGNS file", "info mine.cgns", "this is a CGNS file",
          prepare=lambda: Path("mine.cgns").write_bytes(mesh_files.hdf5(CGNSLibraryVersion=1))),
    Wrong("A Gmsh geometry", "info mine.msh", "gmsh -3", prepare=file("mine.msh", "Point(1) = {0, 0, 0};\n")),
    Wrong("An archive", "info mine.msh", "unpack it", prepare=lambda: Path("mine.msh").write_bytes(mesh_files.archive())),
    Wrong("Zones in an SU2 file", "info mine.su2", "2 zones", prepare=file("mine.su2", mesh_files.SU2_ZONES)),
    case("A zone that is not there", "mesh=dg.read_mesh('mine.su2', zone=3)", "it has: 1, 2",
         prepare=file("mine.su2", mesh_files.SU2_ZONES)),
    case("A zone of a Gmsh file", "mesh=dg.read_mesh('mine.msh', zone=1)", "only SU2 files have zones",
         prepare=nasty("good_tri_4x4", "mine.msh")),
    case("A zone by a name", "mesh=dg.read_mesh('mine.su2', zone='inner')", "the number of a zone",
         prepare=file("mine.su2", mesh_files.SU2_ZONES)),
    Wrong("Cells without their inner nodes", "info mine.msh", "SecondOrderIncomplete",
          prepare=file("mine.msh", mesh_files.incomplete())),
    Wrong("Parts in an Abaqus file", "info mine.inp", "write the file without parts",
          prepare=file("mine.inp", mesh_files.ABAQUS_PARTS)),
    Wrong("A set that an Abaqus file lacks", "info mine.inp", "does not define",
          prepare=file("mine.inp", mesh_files.ABAQUS_SURFACES.replace("_low, S1", "low, S1"))),
    Wrong("An element of Abaqus that is no cell", "info mine.inp", "are not supported",
          prepare=file("mine.inp", mesh_files.ABAQUS_SURFACES.replace("CPE3", "XYZ3"))),
    Wrong("A side that a cell does not have", "info mine.inp", "allowed: 1 to 3",
          prepare=file("mine.inp", mesh_files.ABAQUS_SURFACES.replace("_low, S1", "_low, S4"))),
    Wrong("An SU2 file that is cut off", "info mine.su2", "NPOIN= is missing",
          prepare=file("mine.su2", "NDIME= 2\nNELEM= 0\n")),
    Wrong("Half of a TetGen mesh", "info mine.node", "need mine.ele", prepare=file("mine.node", "1 3 0 0\n")),
    Wrong("A file that is not a Gmsh mesh", "info mine.msh", "MeshFormat is missing", prepare=nasty("not_a_mesh", "mine.msh")),
    Wrong("A damaged file", "info mine.vtu", "not a readable vtu file", prepare=file("mine.vtu", "<VTK")),
    Wrong("A Gmsh file of another version", "info mine.msh", "not known", prepare=nasty("version_99", "mine.msh")),
    Wrong("A file that is cut off", "info mine.msh", "cut off", prepare=nasty("truncated_mid_elements", "mine.msh")),
    Wrong("No cells", "info mine.msh", "no cells", prepare=nasty("empty_no_elements_v22", "mine.msh")),
    Wrong("Points only", "info mine.vtu", "points, but no cells", prepare=triangle_file("mine.vtu", cells=[("vertex", [[0]])])),
    Wrong("Tetrahedra against hexahedra", "info mine.msh", "nonconforming interface",
          prepare=nasty("hex_tet_quad_vs_tri_face", "mine.msh")),
    Wrong("Nothing to split", "run tm_cavity --split", "--split is given without --mesh; give both"),
    Wrong("A folder to split", "info flat.zarr --split", "--split is for mesh files", prepare=stores("flat")),
    Wrong("Cells that cannot be split", "info mine.vtu --split", "'polygon' cannot be cut into simplices; allowed: triangle",
          prepare=triangle_file("mine.vtu", cells=[("polygon", [[0, 1, 2]])])),
    Wrong("Cells of several orders to split", "info mine.vtu --split", "several orders in one mesh", prepare=triangle_file(
        "mine.vtu", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (1.5, 0, 0), (2, 0, 0), (1.5, 0.5, 0), (1, 0.5, 0)],
        [("quad", [[0, 1, 2, 3]]), ("triangle6", [[1, 5, 2, 4, 6, 7]])])),
    Wrong("A cell too warped to be split", "info mine.vtu --split", "cannot be split into tetrahedra .* less warped",
          prepare=solid("mine.vtu", (6, (0.1, 0.1, -0.5)), hexahedron=list(range(8)))),
    Wrong("Concave cells", "info mine.msh", "concave, twisted", prepare=nasty("quad_concave", "mine.msh")),
    Wrong("Folded curved cells", "info mine.vtu", "folded or degenerate", prepare=triangle_file("mine.vtu", [
        (0, 0, 0), (1, 0, 0), (0, 1, 0), (0.5, 0.6, 0), (0.5, 0.5, 0), (0, 0.5, 0)], [("triangle6", [[0, 1, 2, 3, 4, 5]])])),
    Wrong("A surface in space", "info mine.msh", "no volume cells", prepare=nasty("curved_surface_in_3d", "mine.msh")),
    Wrong("Coordinates that are not finite", "info mine.msh", "must be finite", prepare=nasty("nan_coordinate", "mine.msh")),
    Wrong("A node twice in a cell", "info mine.msh", "a node twice", prepare=nasty("repeated_node_in_element", "mine.msh")),
    Wrong("Flat cells", "info mine.msh", "have no area", prepare=nasty("degenerate_zero_area", "mine.msh")),
    Wrong("A cell twice", "info mine.msh", "three neighbours", prepare=nasty("duplicate_element", "mine.msh")),
    Wrong("Cells that overlap", "info mine.vtu", "overlap", prepare=triangle_file(
        "mine.vtu", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.2, 0.9, 0)], [("triangle", [[0, 1, 2], [0, 1, 3]])])),
    Wrong("Hanging nodes", "info mine.msh", "nonconforming interface", prepare=nasty("nonconforming_interface", "mine.msh")),
    Wrong("A boundary that is not part of the mesh", "info mine.msh", "boundary 'ghost'",
          prepare=nasty("boundary_line_not_on_mesh", "mine.msh")),
    Wrong("A node that does not exist", "info mine.vtu", "node that does not exist", prepare=triangle_file(
        "mine.vtu", cells=[("triangle", [[0, 1, 7]])])),
    case("Bounds in the wrong order", "mesh=dg.rectangle((0, 0), (1, -1))", "must be below"),
    case("A file name that is not text", "mesh=dg.read_mesh(3)",
         r"read_mesh\(3\) is not allowed; give the name of a mesh file"),
    case("Bounds that are not numbers", "mesh=dg.interval('a', 1)", "lower='a' is not allowed; it must be a number"),
    case("A side with zero cells", "mesh=dg.rectangle(cells=(0, 2))", "whole numbers from 1"),
    case("Too many counts", "mesh=dg.rectangle(cells=(1, 2, 3))", "one value or 2"),
    case("A misspelt diagonal", "mesh=dg.rectangle(diagonal='rigth')", "did you mean 'right'"),
    case("Points moved too far", "mesh=dg.interval(perturb=0.5)", r"\[0, 0.5\)"),
    case("A misspelt shape", "mesh=dg.rectangle(shape='quadrilatral')", "did you mean 'quadrilateral'"),
    case("A diagonal of quadrilaterals", "mesh=dg.rectangle(diagonal='left', shape='quadrilateral')", "only triangles"),
    case("A map that inverts cells", "mesh=dg.rectangle().mapped(lambda x: (-x[0], x[1]))", "keeps the orientation"),
    case("A map that separates periodic boundaries",
         "mesh=dg.rectangle(periodic=True).mapped(lambda x: (x[0], x[1] + x[0] * x[1]))", "do not match any more"),
    case("Points moved so far that cells are inverted", "mesh=dg.rectangle(perturb=0.49)", "inverts 3 cells"),
    case("A misspelt boundary to be periodic", "mesh=dg.rectangle().periodic(('left', 'rigth'))", "did you mean 'right'"),
    case("Two names that are not a pair", "mesh=dg.rectangle().periodic('left', 'right')", "takes pairs"),
    case("A boundary periodic with itself", "mesh=dg.rectangle().periodic(('left', 'left'))", "with itself"),
    case("Boundaries that do not match", "mesh=dg.rectangle(cells=(2, 3)).periodic(('left', 'top'))", "do not match"),
    case("Arrays without cells", "mesh=dg.mesh.from_arrays([(0, 0)], np.empty((0, 3)))", "there are no cells"),
    case("Arrays that do not fit", "mesh=dg.mesh.from_arrays([(0, 0)], [[0, 1]])", "do not fit"),
    Wrong("SU2 markers without cells", "info mine.su2", "marker 'lost' has no MARKER_ELEMS", prepare=file("mine.su2", SU2)),
    Wrong("A region to be periodic", "run case.py", "is a region",
          script="mesh=dg.read_mesh('mine.msh').periodic(('domain', '1'))",
          prepare=nasty("good_tri_4x4", "mine.msh")),
    Wrong("More parts than cells", "partition mine.msh -n 999", "allowed: 1 to 32, its number of cells",
          prepare=nasty("good_tri_4x4", "mine.msh")),
    Wrong("A mesh cut into a file", "partition mine.msh -n 2 -o parts.h5", "has the suffix .zarr",
          prepare=nasty("good_tri_4x4", "mine.msh")),
]
