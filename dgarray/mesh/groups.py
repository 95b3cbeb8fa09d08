"""Names of boundaries and regions, from all the places where file formats store them."""
import re
from pathlib import Path

import numpy as np

from .errors import MeshError

# Cell data of meshio that hold group numbers. In those of file formats, the first line, 0 means that there is no group.
OF_FORMATS = ("gmsh:physical", "medit:ref", "cell_tags", "su2:tag", "nastran:ref", "ugrid:ref", "netgen:index")
OF_CUSTOM = ("avsucd:material", "tetgen:ref", "material", "MaterialIDs", "CellEntityIds", "attribute", "region")


def find_groups(path, data, dim):
    """Groups of the cells of dimension `dim` in `data`, the meshio mesh read from the file `path`.

    Returns name -> list of (block, indices in it), and notes on sets that could not be read. A group without a name,
    or with a blank one, goes by its number."""
    if Path(path).suffix.lower() == ".su2":
        return _su2_markers(path, data, dim), []
    groups, notes = {}, []
    titles = _titles(path, data, dim)
    blocks, no_group = _numbered(data, dim)
    for block, numbers in blocks:
        for value in np.unique(numbers[~np.isin(numbers, no_group)]).tolist():
            for name in titles.get(value, titles.get(abs(value), [str(abs(value))])):
                groups.setdefault(name, []).append((block, np.flatnonzero(numbers == value)))
    for name, members in data.cell_sets.items():
        if name.startswith("gmsh:") or not name.strip():
            continue
        if any(isinstance(member, list | tuple) for member in members):
            notes.append(f"the set {name!r} is made of other sets, which meshio does not resolve; it is left out")
            continue
        for block, member in enumerate(members):
            if member is not None and len(member) and data.cells[block].dim == dim:
                groups.setdefault(name, []).append((block, np.asarray(member, dtype=np.int64)))
    return groups, notes


def _numbered(data, dim):
    """(block, group number of each cell) of the blocks of dimension `dim`, and the numbers that stand for no group."""
    for key in OF_FORMATS + OF_CUSTOM:
        values = [np.asarray(value) for value in data.cell_data.get(key, [])]
        if values and all(len(value) == value.size and value.dtype.kind in "iuf" and np.all(value == np.round(value))
                          for value in values):
            blocks = [(block, values[block].ravel().astype(np.int64))
                      for block, cells in enumerate(data.cells) if cells.dim == dim]
            return blocks, [0] if key in OF_FORMATS else []
    return [], []


def _titles(path, data, dim):
    """Group number -> its names, for groups of dimension `dim`."""
    titles = {}
    if Path(path).suffix.lower() == ".msh":
        # meshio keeps one group for each name; files have the same name in two dimensions or for two groups.
        section = re.search(rb"\$PhysicalNames\s(.*?)\$EndPhysicalNames", Path(path).read_bytes(), re.DOTALL)
        text = section[1].decode("utf-8", errors="replace") if section else ""
        lines = re.findall(r'^\s*(\d)\s+(-?\d+)\s+"(.*)"\s*$', text, re.MULTILINE)
        found = [(name, int(number), int(of_dim)) for of_dim, number, name in lines]
    else:
        found = [(name, *value) for name, value in data.field_data.items()
                 if np.shape(value) == (2,) and np.asarray(value).dtype.kind in "iu"]
    for name, number, of_dim in found:
        if of_dim == dim and name.strip():
            titles.setdefault(int(number), []).append(name)
    for number, names in getattr(data, "cell_tags", {}).items():
        titles[int(number)] = [name for name in names if name.strip()]
    return titles


def _su2_markers(path, data, dim):
    """SU2 markers by name; meshio replaces names by numbers, but keeps the boundary cells in the order of the file."""
    if dim == max(block.dim for block in data.cells):
        return {}
    lines = [line.partition("%")[0].partition("=") for line in Path(path).read_text(errors="replace").splitlines()]
    names = [value.strip() for key, _, value in lines if key.strip() == "MARKER_TAG"]
    counts = [int(value) for key, _, value in lines if key.strip() == "MARKER_ELEMS"]
    blocks = [block for block, cells in enumerate(data.cells) if cells.dim == dim and len(cells)]
    if len(names) != len(counts) or sum(counts) != sum(len(data.cells[block]) for block in blocks) or len(blocks) > 1:
        raise MeshError("the SU2 markers do not fit the boundary cells; each needs MARKER_TAG and MARKER_ELEMS")
    groups, start = {}, 0
    for name, count in zip(names, counts):
        if count:
            groups.setdefault(name, []).append((blocks[0], np.arange(start, start + count)))
        start += count
    return groups
