"""Element sets: the elements of a mesh that are alike, in shape, order and law.

Each set is a problem of its own, with kernels of its own, in which all that is alike is compiled in; sets meet at joins.
Helluy, Strub, Massaro & Roberts 2015, section 3.2, call them volume zones.
"""
from copy import copy
from typing import NamedTuple

import numpy as np

from ...mesh.cell_maps import STRAIGHT
from ...wording import choose, plural
from ..problem import Problem
from .boundary_setup import boundary_groups
from .joins import CUT, with_joins


class ElementSet(NamedTuple):
    """Elements that are alike.

    name       of the set;  zone: name of the output that it belongs to, None where there is one for all
    cells      numbers of its elements in the mesh
    method, problem   of its elements alone, whose faces to others are joins"""

    name: str
    zone: str | None
    cells: np.ndarray
    method: object
    problem: Problem


def sets_of(method, problem):
    """The `ElementSet`s of a problem: by shape, order and law, whose output is a zone each, and in it curved elements apart.

    Raises ValueError for regions that do not exist, and elements in none or several of them."""
    mesh, laws = problem.mesh, problem.law.laws
    orders = method.order if isinstance(method.order, dict) else None
    boundary_groups(mesh, problem.boundary)          # names that the mesh does not have, faces without a condition
    found, apart = {}, len(mesh.blocks) > 1 or orders is not None or laws is not None
    of_order, of_law = (None if given is None else by_region(mesh, given, what)
                        for given, what in ((orders, "order"), (laws, "law")))
    none = [None] * mesh.cell_count
    curved, counts = bent(mesh), [block.cell_count for block in mesh.blocks]
    shape = np.repeat([block.cell_type for block in mesh.blocks], counts)
    for cell, key in enumerate(zip(of_order or none, of_law or none, shape.tolist(), curved.tolist())):
        found.setdefault(key, []).append(cell)
    result = []
    for (order, law, shape, curved), cells in found.items():
        names = dict.fromkeys(name for name in (order, law, *[shape] * (len(mesh.blocks) > 1)) if name is not None)
        zone = "+".join(names) if apart else None
        part = mesh.part(np.array(cells), CUT)
        own_law = constant_in(problem.law if laws is None else laws[law], part)
        own = Problem(part, own_law, with_joins(part, problem.boundary), problem.flux, problem.source)
        name = "+".join([*names, *["curved"] * curved]) or "straight"
        own_method = method.of_set(part.cell_shape, method.order if orders is None else orders[order])
        result.append(ElementSet(name, zone, np.array(cells), own_method, own))
    return sorted(result, key=lambda each: each.name)


def bent(mesh):
    """Which elements have metrics at each point where others have one for all, (cell,): curved triangles and tetrahedra among
    straight ones, and prisms that are not affine."""
    return np.concatenate([~are_affine(block) if block.cell_shape.name == "prism" else
                           block.is_curved if block.cell_shape.simplex and block.order > 1 else
                           np.zeros(block.cell_count, bool) for block in mesh.blocks])


def are_affine(mesh):
    """Which prisms are translated triangles with straight edges to rounding, (cell,)."""
    x = mesh.points[mesh.cells]
    along = x[:, 3:] - x[:, :3]
    gap = np.linalg.norm(along - along.mean(axis=1, keepdims=True), axis=2).max(axis=1)
    size = np.linalg.norm(np.ptp(x, axis=1), axis=1)
    return (gap <= STRAIGHT * size + 16 * np.finfo(float).eps * np.abs(x).max(axis=(1, 2))) & ~mesh.is_curved


def by_region(mesh, given, what):
    """The region of each element among those of `given`, {region: value}; "default" stands for all others."""
    names = np.full(len(mesh.cells), None, object)
    for region in given:
        if region == "default" and "default" not in mesh.regions:
            continue
        cells = mesh.regions[choose("region", str(region), mesh.regions, " in the mesh; it has")]
        twice = [other for other in names[cells] if other is not None]
        if twice:
            raise ValueError(f"{what}={given!r} gives elements two values: the regions {twice[0]!r} and {region!r} overlap")
        names[cells] = region
    missing = names == None          # noqa: E711  an array of names
    if missing.any() and "default" in given:
        names[missing] = "default"
    elif missing.any():
        raise ValueError(f"{what}={given!r} leaves {plural(int(missing.sum()), 'element')} without a value; regions of the "
                         f"mesh: {', '.join(mesh.regions) or 'none'}; 'default' stands for all others")
    return names.tolist()


def constant_in(law, mesh):
    """The law with a number for each parameter by region that is the same in all elements of a mesh."""
    here = {region for region, cells in mesh.regions.items() if len(cells)}
    found = {}
    for name, value in law.parameters.items():
        values = {value[region] for region in here & set(value)} if isinstance(value, dict) else ()
        found[name] = values.pop() if len(values) == 1 else value
    if found == law.parameters:
        return law
    law = copy(law)
    law.parameters = found
    return law
