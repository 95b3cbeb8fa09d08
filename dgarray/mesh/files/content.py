"""The format of a mesh file by its first bytes, not by its name; of other files, an error that says what to do with them."""
import bz2
import gzip
import io
import lzma
import re
import zlib

import h5py

from ..errors import MeshError

HEAD = 20_000          # bytes that are looked at
WHITE = b" \t\r\n\f\v"
# Formats by names in meshio, and those that have a reader here: how a file starts.
NUMBER = rb"[-+.\dEe]+\s+"
REAL = rb"[-+.\deE]+[ \t]+"
FREEFEM = "this is a FreeFEM mesh (.msh), which is not read"
SAVEMESH = 'let FreeFEM write it as Medit: savemesh(Th, "FILE.mesh")'
STARTS = (
    ("gmsh", rb"\$(MeshFormat|NOD|ELM|Comments|PhysicalNames|Entities|Nodes|Elements)\b"),
    ("vtk", rb"# vtk DataFile(?!(.*\n){3}\s*DATASET\s+POLYDATA)"),
    ("su2", rb"(%[^\n]*\n|\s)*(NDIME|NZONE|NELEM|NPOIN|IZONE)\s*="),
    ("vtu", rb"(?s).{0,500}<VTKFile\b[^>]*type\s*=\s*[\"']UnstructuredGrid"),
    ("xdmf", rb"(?s).{0,500}<Xdmf\b"),
    ("dolfin-xml", rb"(?s).{0,500}<dolfin\b"),
    ("medit", rb"(#[^\n]*\n|\s)*MeshVersionFormatted"),
    ("gambit", rb"CONTROL INFO"),
    ("exodus", rb"CDF[\x01\x02\x05]"),
    ("nastran", rb"(?i)(\$[^\n]*\n|\s)*(BEGIN BULK|SOL |CEND|ID |GRID[* ,])"),
    ("netgen", rb"(#[^\n]*\n|\s)*mesh3d\b"),
    ("avsucd", rb"(#[^\n]*\n)*\s*(\d+[ \t]+){4}\d+\s*\n\s*\d+\s+" + 3 * NUMBER),
)
ABAQUS = rb"\*[*A-Za-z]"          # so do files of other programs, which come first
# What is not read: how a file starts, what it is, and what to do.
OTHERS = (
    (rb"version https://git-lfs\.github\.com/spec", "this is a Git LFS pointer, not the file",
     "get the file with: git lfs pull"),
    (rb"(?is)<!doctype html|<html|.{0,200}<html", "this is a web page, not a mesh", "download the file itself"),
    (rb"\(\d+\s", "this is a Fluent mesh (.msh of Ansys), which is not read",
     "export it as CGNS and convert that with Gmsh, or use OpenFOAM's fluentMeshToFoam and foamToVTK"),
    (rb"# vtk DataFile", "this is a VTK file of the polygons of a surface (POLYDATA), not of cells",
     "write an UNSTRUCTURED_GRID, in 2D e.g. by ParaView's filter Append Datasets"),
    (rb"MFEM (NC |INLINE )?mesh", "this is an MFEM mesh, which is not read", "let MFEM write it as VTK (Mesh::PrintVTK)"),
    (rb"PK\x03\x04|7z\xbc\xaf|Rar!", "this is an archive", "unpack it"),
    (rb"(?i)(#[^\n]*\n|\s)*MESH\b[^\n]*\b(dimension|elemtype)\b", "this is a GiD mesh, which is not read",
     "write it as Gmsh, VTU or Abaqus"),
    (rb"(?i)(%[^\n]*\n|\s)*(%\s*GETFEM|BEGIN POINTS LIST|BEGIN MESH STRUCTURE)", "this is a GetFEM mesh, which is not read",
     "let GetFEM write it as VTK (Mesh.export_to_vtk)"),
    (rb"\d+[ \t]+\d+[ \t]+\d+[ \t]*\n([ \t]*" + 2 * REAL + rb"\d+[ \t]*\n){2}", FREEFEM, SAVEMESH),
    (rb"\d+[ \t]+\d+[ \t]+\d+[ \t]*\n(?=[^\n]*\n?[^\n]*[.eE])([ \t]*" + 3 * REAL + rb"\d+[ \t]*\n){2}", FREEFEM, SAVEMESH),
    (rb"(?s).{0,2000}?(SetFactory\s*\(|\bPoint\s*\(\s*\w+\s*\)\s*=)", "this is a Gmsh geometry, not a mesh",
     "make the mesh with: gmsh -3 FILE.geo (-2 in 2D)"),
    (rb"ISO-10303-21|\s*(\S.{71}S\s+1\s*\n)", "this is a CAD geometry, not a mesh", "mesh it first, e.g. with Gmsh"),
    (rb"(?s).{0,500}<VTKFile\b[^>]*type\s*=\s*[\"']P", "this is a parallel or a polygonal VTK file, which is not read",
     "write one .vtu of cells (ParaView: Append Datasets, Merge Blocks)"),
    (rb"(?s).{0,500}<VTKFile\b", "this is a VTK file of another kind than UnstructuredGrid, which is not read",
     "write it as .vtu (ParaView: Append Datasets)"),
    (rb"\s*-1\s*\n\s*(151|164|2411|2420|781|15)\s*\n", "this is an I-DEAS universal file (.unv), which is not read",
     "convert it to Gmsh: gmsh FILE.unv -save -o FILE.msh"),
    (rb"\*KEYWORD", "this is an LS-DYNA file, which is not read", "convert it to Gmsh or Abaqus"),
)
HDF5 = b"\x89HDF\r\n\x1a\n"
# HDF5 files: what is in them, format in meshio or what to do.
CGNS = "this is a CGNS file, which is not read", "convert it with Gmsh: gmsh FILE.cgns -save -o FILE.msh"
INSIDE = (("ENS_MAA", "med"), ("tstt", "h5m"), ("connect1", "exodus"), ("CGNSLibraryVersion", CGNS),
          ("VTKHDF", ("this is a VTKHDF file, which is not read", "write it as .vtu (ParaView)")))


def unpacked(content):
    """The bytes without compression, byte-order marks and white space at the start."""
    if not content.strip(WHITE + b"\0"):
        raise MeshError("the file is empty" if not content else "the file is blank")
    for start, library in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
        if content.startswith(start):
            try:
                return unpacked(library.decompress(content))
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise MeshError(f"the compressed file is cut off or damaged ({error})") from None
    if content[257:262] == b"ustar":
        raise MeshError("this is an archive; unpack it")
    for mark, coding in ((b"\xef\xbb\xbf", None), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if content.startswith(mark):
            content = content[len(mark):] if coding is None else content.decode(coding, errors="replace").encode()
    return content.lstrip(WHITE) if content[:1] in (b" ", b"\t", b"\r", b"\n") else content


def file_format(content):
    """The format's name in meshio, "gambit" or None where it is not known. Raises MeshError for what is no mesh or not read."""
    head = content[:HEAD].replace(b"\r\n", b"\n")
    if content.startswith(HDF5):
        return _in_hdf5(content)
    for name, pattern in STARTS:
        if re.match(pattern, head):
            return name
    for pattern, what, remedy in OTHERS:
        if re.match(pattern, head):
            raise MeshError(f"{what}; {remedy}")
    if len(content) < 300 and re.fullmatch(rb"[^\s<>|]*[./\\][^\s<>|]*\.\w+", content.strip()):
        raise MeshError(f"the file holds the name of another one, {content.strip().decode(errors='replace')}: it is a symbolic "
                        "link that was copied as text; read that file")
    return "abaqus" if re.match(ABAQUS, head) else None


def _in_hdf5(content):
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            inside = set(file)
    except Exception as error:
        raise MeshError(f"the HDF5 file is cut off or damaged ({error}); write it again") from None
    for name, found in INSIDE:
        if name in inside:
            if isinstance(found, tuple):
                raise MeshError("; ".join(found))
            return found
    if any("GridCoordinates" in part or part.startswith(" ") for part in inside):
        raise MeshError("; ".join(CGNS))
    return None
