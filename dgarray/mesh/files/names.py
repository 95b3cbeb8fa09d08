"""Names of boundaries and regions, from all the places where file formats store them."""
import numpy as np

# Cell data of meshio that hold group numbers. In those of file formats, the first line, 0 means that there is no group.
OF_FORMATS = ("gmsh:physical", "medit:ref", "cell_tags", "su2:tag", "nastran:ref", "ugrid:ref", "netgen:index")
OF_CUSTOM = ("avsucd:material", "tetgen:ref", "material", "MaterialIDs", "CellEntityIds", "attribute", "region")


def find_groups(data, dim):
    """Groups of the cells of dimension `dim` in `data`, a meshio mesh.

    Returns name -> list of (block, indices in it), and notes on sets that could not be read. A group without a name,
    or with a blank one, goes by its number."""
    groups, notes = {}, []
    titles = _titles(data, dim)
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


def _titles(data, dim):
    """Group number -> its names, for groups of dimension `dim`."""
    titles = {}
    found = [(name, *value) for name, value in data.field_data.items()
             if np.shape(value) == (2,) and np.asarray(value).dtype.kind in "iu"]
    for name, number, of_dim in found:
        if of_dim == dim and name.strip():
            titles.setdefault(int(number), []).append(name)
    for number, names in getattr(data, "cell_tags", {}).items():
        titles[int(number)] = [name for name in names if name.strip()]
    return titles
