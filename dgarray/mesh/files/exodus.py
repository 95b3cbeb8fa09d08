"""Exodus II files, as Cubit, Coreform and Sierra write them: element blocks become regions, side sets become boundaries.

The variables have the same names in files of NetCDF 3 and NetCDF 4. Exodus II: A Finite Element Data Model, Sandia 92-2137,
tables of nodes and sides."""
import io
import re
from contextlib import suppress

import h5py
import numpy as np
from scipy.io import netcdf_file

from ..errors import MeshError
from .cells import FACES
from .named_sides import with_sides

NAMES = {"TET": "tetra", "HEX": "hexahedron", "TRI": "triangle", "QUA": "quad", "SHE": "quad", "WED": "wedge", "PYR": "pyramid",
         "BEA": "line", "BAR": "line", "TRU": "line", "EDG": "line", "ROD": "line", "SPH": "vertex", "CIR": "vertex",
         "NOD": "vertex"}
CORNERS = {"vertex": 1, "line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8}
CURVED = {("line", 3), ("triangle", 6), ("quad", 8), ("quad", 9), ("tetra", 10), ("hexahedron", 20), ("hexahedron", 27),
          ("wedge", 15), ("pyramid", 13), ("pyramid", 14)}
# Exodus numbers the upright edges before those at the top, and the centre of a cell before its faces.
UPRIGHT = (*range(12), 16, 17, 18, 19, 12, 13, 14, 15)
VTK_ORDER = {"hexahedron20": UPRIGHT, "hexahedron27": (*UPRIGHT, 23, 24, 25, 26, 21, 22, 20),
             "wedge15": (*range(9), 12, 13, 14, 9, 10, 11)}


def read(content):
    """The meshio mesh in the bytes of a file, and notes on what is left out.

    A block or side set without a name goes by its number. Raises MeshError for damaged files and for unknown elements."""
    variables, types = _variables(content)
    rows = [variables[f"coord{axis}"] for axis in "xyz" if f"coord{axis}" in variables] or list(variables.get("coord", ()))
    connects = sorted((name for name in types), key=lambda name: int(name[7:]))
    if not rows or not connects:
        raise MeshError("the Exodus file has no nodes or no elements")
    blocks, numbers, sets, count = [], [], {}, 0
    titles = _titles(variables, "eb", [int(name[7:]) for name in connects])
    for name, title in zip(connects, titles):
        nodes = variables[name]
        kind = _type(types[name], nodes.shape[1])
        blocks.append((kind, np.asarray(nodes, np.int64)[:, VTK_ORDER.get(kind, slice(None))] - 1))
        numbers.append(count + 1 + np.arange(len(nodes)))
        count += len(nodes)
        sets[title] = np.concatenate([sets.get(title, numbers[-1][:0]), numbers[-1]])
    found = sorted(int(name[7:]) for name in variables if re.fullmatch(r"elem_ss\d+", name))
    sides = {}
    for number, title in zip(found, _titles(variables, "ss", found)):
        cells, side = variables[f"elem_ss{number}"].astype(np.int64), variables[f"side_ss{number}"].astype(np.int64)
        shell = np.isin(cells, [n for key, of_block in zip(connects, numbers) if types[key].upper().startswith(("SHE", "TRIS"))
                                for n in of_block])
        if shell.any():          # the sides 1 and 2 of a shell are the shell itself
            sets[title] = cells[shell & (side < 3)]
            cells, side = cells[~shell], side[~shell]
        if len(cells):
            sides[title] = (cells, side)
    return with_sides(np.stack(rows, axis=1).astype(np.float64), blocks, numbers, sets, sides, FACES)


def _type(name, count):
    base = NAMES.get(name.upper()[:3])
    if base is None or count != CORNERS[base] and (base, count) not in CURVED:
        raise MeshError(f"elements of Exodus' type {name!r} with {count} nodes are not supported; allowed: TRI, QUAD, TETRA, "
                        "WEDGE, PYRAMID and HEX of order 1 or 2")
    return base if count == CORNERS[base] else f"{base}{count}"


def _titles(variables, kind, numbers):
    """Names of the blocks (eb) or side sets (ss) with these numbers, from 1, in the names of the variables."""
    texts, identities = variables.get(f"{kind}_names"), variables.get(f"{kind}_prop1")
    titles = []
    for number in numbers:
        name = ""
        if texts is not None and number <= len(texts):
            name = b"".join(texts[number - 1]).split(b"\0")[0].decode(errors="replace").strip()
        titles.append(name or str(identities[number - 1] if identities is not None and number <= len(identities) else number))
    return titles


def _variables(content):
    """Arrays by name, and the type of the elements of each connect1, connect2, ..."""
    wanted = re.compile(r"coord[xyz]?|connect\d+|(eb|ss)_(names|prop1)|(elem|side)_ss\d+")
    try:
        if content.startswith(b"CDF"):
            if content[3] > 2:
                raise MeshError("the Exodus file is NetCDF with 64-bit data (CDF-5), which is not read; convert it to NetCDF 4 "
                                "(nccopy -k nc4)")
            with netcdf_file(io.BytesIO(content), mmap=False) as file:
                found = {name: np.array(value.data) for name, value in file.variables.items() if wanted.fullmatch(name)}
                types = {name: value.elem_type for name, value in file.variables.items() if re.fullmatch(r"connect\d+", name)}
        else:
            with h5py.File(io.BytesIO(content), "r") as file:
                found = {name: file[name][...] for name in file if wanted.fullmatch(name)}
                types = {name: file[name].attrs["elem_type"] for name in file if re.fullmatch(r"connect\d+", name)}
    except MeshError:
        raise
    except Exception as error:
        raise MeshError(f"the Exodus file is cut off or damaged ({type(error).__name__}: {error}); write it again") from error
    for name, value in types.items():
        value = value[0] if isinstance(value, np.ndarray) else value
        with suppress(AttributeError):
            value = value.decode(errors="replace")
        types[name] = str(value).strip("\0 ")
    return found, types
