"""Element sets: the elements of a mesh that are alike, in shape, order and law.

Each set is a problem of its own, with kernels of its own, in which all that is alike is compiled in; sets meet at joins.
Helluy, Strub, Massaro & Roberts 2015, section 3.2, call them volume zones.
"""
from copy import copy
from typing import NamedTuple

import numpy as np

from ...wording import choose, plural
from ..problem import Problem
from .boundary_setup import boundary_groups
from .joins import CUT, with_joins


class ElementSet(NamedTuple):
    """name; cells: numbers of its elements in the mesh; problem and method: of its elements alone, with joints."""

    name: str
    cells: np.ndarray
    method: object
    problem: Problem


def sets_of(method, problem):
    """The `ElementSet`s of a problem whose method has orders by region, or whose law has laws by region.

    Raises ValueError for regions that do not exist, and elements in none or several of them."""
    mesh, laws = problem.mesh, problem.law.laws
    orders = method.order if isinstance(method.order, dict) else None
    of_order, of_law = (None if given is None else by_region(mesh, given, what)
                        for given, what in ((orders, "order"), (laws, "law")))
    boundary_groups(mesh, problem.boundary)          # names that the mesh does not have, faces without a condition
    names = {}
    for key in zip(of_order or [None] * len(mesh.cells), of_law or [None] * len(mesh.cells)):
        names.setdefault(key, "+".join(dict.fromkeys(name for name in key if name is not None)))
    result = []
    for (order, law), name in sorted(names.items(), key=lambda item: item[1]):
        inside = np.ones(len(mesh.cells), bool)
        for chosen, own in ((of_order, order), (of_law, law)):
            inside &= True if chosen is None else np.array(chosen) == own
        cells = np.flatnonzero(inside)
        part = mesh.part(cells, CUT)
        own_law = constant_in(problem.law if laws is None else laws[law], part)
        own = Problem(part, own_law, with_joins(part, problem.boundary), problem.flux, problem.source)
        result.append(ElementSet(name, cells, method.of_set(part.cell_shape, method.order if orders is None else orders[order]), own))
    return result


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
