"""The meshio mesh in a file, whatever its format: by readers of this folder, or by meshio."""
import contextlib
import io
import re
import tempfile
from pathlib import Path

import meshio

from ..errors import MeshError
from . import abaqus, content as file_content, exodus, gambit, gmsh, rewritten, su2

# Formats whose reader in meshio 5.3.5 loops for ever on files that are cut off, and those of surfaces in space.
ENDLESS = {".dat", ".tec", ".mdpa"}
SURFACES = {".ply", ".off", ".obj"}
# What a file must contain, where meshio returns half of a mesh from one that is cut off.
MARKS = {"nastran": (b"BEGIN BULK", b"ENDDATA")}
# Suffix -> format, where meshio has none or another one.
SUFFIXES = {".msh": "gmsh", ".neu": "gambit", ".ucd": "avsucd", **dict.fromkeys((".exoii", ".g", ".gen"), "exodus")}
COMPRESSED = {".gz", ".bz2", ".xz"}
# What meshio says of VTK cells that it has no type for, and those of them that are no cells of a mesh.
UNKNOWN = "cells that meshio cannot handle"
OF_MANY = {"2": "several points", "4": "several lines"}
STRANGE = ("the file has VTK cells that are not read, such as pixels, voxels, polyhedra or Bezier cells, or in .vtk cells of "
           "order 3 and higher; write it as .vtu, or cut the cells into simplices (ParaView: Tetrahedralize)")
READABLE = ("Gmsh .msh, VTK .vtk and .vtu, XDMF .xdmf, MED .med, SU2 .su2, Abaqus .inp, Exodus .e and .exo, Nastran .bdf, "
            "Medit .mesh and .meshb, Gambit .neu, AVS-UCD .avs, Netgen .vol, TetGen .ele, UGRID .ugrid, DOLFIN .xml, FLAC3D "
            ".f3grid, Permas .post, H5M .h5m")


def load(path, zone=None):
    """The meshio mesh in `path`, and notes. zone: of an SU2 file.

    On files that it cannot parse, meshio ends the process or raises errors of any kind; here all are MeshError."""
    if not path.is_file():
        slashes = Path(str(path).replace("\\", "/"))
        hint = f"; there is {slashes}" if slashes.is_file() else ""
        raise MeshError(f"{path}: {'is a folder, not a mesh file' if path.is_dir() else 'no such file'}{hint}")
    said, name = io.StringIO(), None
    try:
        raw = path.read_bytes()
        content = file_content.unpacked(raw)
        name = file_content.file_format(content) or _by_suffix(path)
        if zone is not None and name != "su2":
            raise MeshError(f"zone={zone!r} is not allowed: only SU2 files have zones")
        if name in READERS:
            return READERS[name](content, path, zone)
        if name == "nastran":
            content = content.upper()          # capitals mean nothing there
            if b"BEGIN BULK" not in content and re.match(rb"(\$.*\n|\s)*GRID", content):
                content = b"BEGIN BULK\n" + content          # the bulk data alone, as Gmsh writes them
        _check_complete(path, name, content)
        content = rewritten.REWRITERS.get(name, bytes)(content)
        changed = content != raw
        del raw
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            mesh = _from_copy(content, path, name) if changed else meshio.read(path, name)
        return mesh, _left_out(said.getvalue())
    except MeshError as error:
        raise MeshError(f"{path}: {error}") from error.__cause__
    except (Exception, SystemExit) as error:
        raise MeshError(f"{path}: {_reason(name, error, said.getvalue())}") from error


def _left_out(said):
    """Notes on cells that meshio has left out of a VTK file, saying so. Raises MeshError but for points and lines of many."""
    found = set(re.findall(rf"{UNKNOWN} \(type (-?\d+)\)", " ".join(said.split())))
    if found - set(OF_MANY):
        raise MeshError(STRANGE)
    return [f"the file has VTK cells that are {OF_MANY[kind]} in one; they are left out, and their names" for kind in found]


def _text(content):
    return content.decode("utf-8", errors="replace")


READERS = {
    "gmsh": lambda content, path, zone: (gmsh.read(content), []),
    "su2": lambda content, path, zone: su2.read(_text(content), zone),
    "abaqus": lambda content, path, zone: abaqus.read(_text(content), path.parent),
    "exodus": lambda content, path, zone: exodus.read(content),
    "gambit": lambda content, path, zone: gambit.read(_text(content)),
}


def _from_copy(content, path, name):
    """Read, by meshio from a temporary file, this content instead of that of `path`."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / (path.stem if path.suffix.lower() in COMPRESSED else path.name)
        copy.write_bytes(content)
        return meshio.read(copy, name)


def _by_suffix(path):
    """The format that the suffix names. Raises MeshError where there is none, and for formats that are not read."""
    suffix = Path(path.stem if path.suffix.lower() in COMPRESSED else path.name).suffix.lower()
    if suffix in ENDLESS:
        raise MeshError(f"{suffix} is not read, because meshio's reader does not stop on damaged files; convert it to Gmsh or "
                        "VTU")
    if suffix in SURFACES:
        raise MeshError(f"{suffix} files hold surfaces, not volume meshes; mesh the inside first, e.g. with Gmsh")
    if suffix == ".cgns":
        raise MeshError("; ".join(file_content.CGNS))
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if suffix not in meshio.extension_to_filetypes:
        raise MeshError(f"no reader for {suffix or 'files without a suffix'}, and the content is of no known format; allowed: "
                        f"{READABLE}")
    return meshio.extension_to_filetypes[suffix][0]


def _check_complete(path, name, content):
    """Refuse damaged files on which meshio's reader would loop for ever or return half a mesh."""
    if name == "tetgen":
        for part in (path.with_suffix(".node"), path.with_suffix(".ele")):
            lines = part.read_text(errors="replace").splitlines() if part.is_file() else []
            if not any(line.strip() and line.strip()[0] != "#" for line in lines):
                raise MeshError(f"TetGen meshes need {part.name}, which is missing or empty")
    missing = [mark.decode() for mark in MARKS.get(name, ()) if mark not in content]
    if missing:
        raise MeshError(f"the file is cut off: {missing[0]} is missing; write it again")


def _reason(name, error, said):
    if isinstance(error, ImportError):
        return f"the reader needs a package that is not installed ({error})"
    if isinstance(error, OSError) and error.errno:
        return f"cannot be opened: {error.strerror}"
    details = f"{type(error).__name__}: {error}"
    if isinstance(error, SystemExit):
        details = said.replace("Error: ", "").partition("Couldn't read file")[0]
    details = " ".join(details.split())
    if "zero-size array" in details or "at least one array" in details:
        return "the file has no cells"
    if name in ("nastran", "avsucd") and re.fullmatch(r"KeyError: \S*?-?\d+\)?", details):
        return f"an element names the node {details.split()[1]}, which does not exist; mend the file or write it again"
    no_name = r"KeyError: ('(?!long)[A-Za-z_]+'|\S*-?\d+\)?)$|IndexError: index \d+"
    if name in ("vtk", "vtu") and (re.match(no_name, details) or "polyhedra" in details) or UNKNOWN in details:
        return STRANGE
    return f"not a readable {name} file: damaged, cut off, or another format ({details[:200] or 'meshio gives no details'})"
