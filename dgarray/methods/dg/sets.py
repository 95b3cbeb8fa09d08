"""Element sets: the elements of a mesh that are alike, in shape, order and law.

Each set is a problem of its own, with kernels of its own, in which all that is alike is compiled in; sets meet at joins.
Helluy, Strub, Massaro & Roberts 2015, section 3.2, call them volume zones.
"""
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...mesh.curved.cell_maps import are_affine
from ...mesh.faces import Inner
from ...mesh.partition import within
from ...physics.declared import declared
from ...physics.fluxes import upwind
from ...support.wording import choose, plural
from ..problem import Problem
from .auxiliary_sets import internal_kinds, speeds_of_layers, with_internal
from .boundary_setup import asking, check_regions, on_part
from .interfaces import apart, conditions_inside
from .joins import joins


class ElementSet(NamedTuple):
    """Elements that are alike.

    name       of the set, None where all elements of the mesh are alike
    zone       name of the output that it belongs to, None where there is one for all
    cells      numbers of its elements in the mesh
    method, problem   of its elements alone, whose faces to others are joins
    several    whether a face of these elements may meet several smaller ones
    layer      the absorbing layer that they are in, or None"""

    name: str | None
    zone: str | None
    cells: np.ndarray
    method: object
    problem: Problem
    several: bool
    layer: object


def sets_of(method, problem):
    """The `ElementSet`s of a problem: by shape, order and law, whose output is a zone each, and in it elements apart that are
    curved, or have internal variables.

    A part of a mesh has those of the whole mesh that have elements here.
    Raises ValueError for regions that do not exist, and elements in none or several of them."""
    mesh, laws = problem.mesh, problem.law.laws
    if mesh.share is not None:
        whole = sets_of(method, replace(problem, mesh=mesh.whole))
        here = [(each, within(mesh, each.problem.mesh, each.cells)) for each in whole]
        return [each._replace(cells=found[0], problem=replace(each.problem, mesh=found[1])) for each, found in here if found]
    orders = method.order if isinstance(method.order, dict) else None
    of_faces, interfaces = asking(mesh, problem.boundary), conditions_inside(mesh, problem.boundary)
    several = len(mesh.blocks) > 1 or orders is not None or laws is not None
    by_order, by_law = (None if given is None else numbers_by_region(mesh, given, what)
                        for given, what in ((orders, "order"), (laws, "law")))
    shape, curved = mesh.of_shape, bent(mesh)
    all_laws = [problem.law] if laws is None else list(laws.values())
    for number, law in enumerate(all_laws):
        check_regions(mesh, law, slice(None) if by_law is None else by_law == number)
    of_kind, internal = by_internal(mesh, all_laws, by_law)
    fluxes = numerical_fluxes(problem, all_laws)
    speeds = dict(zip(mesh.layers, speeds_of_layers(mesh, all_laws, by_law)))
    keys = np.stack([*(np.zeros(len(shape), int) if codes is None else codes for codes in (by_order, by_law)), shape, curved,
                     of_kind])
    kinds, which = np.unique(keys, axis=1, return_inverse=True)
    result = []
    for number, (order, law, shape, curved, inside) in enumerate(kinds.T.tolist()):
        cells = np.flatnonzero(which.ravel() == number)
        order, law = (None if given is None else list(given)[code] for given, code in ((orders, order), (laws, law)))
        names = dict.fromkeys(name for name in (
            order, law, *[mesh.blocks[shape].cell_type] * (len(mesh.blocks) > 1)) if name is not None)
        zone = "+".join(names) if several else None
        part = apart(mesh, cells, interfaces)
        kind = internal[inside]
        own_law = with_internal(constant_in(problem.law if laws is None else laws[law], part), kind,
                                speeds.get(kind.layer), fluxes)
        boundary = problem.boundary | on_part(of_faces, cells)
        own = Problem(part, own_law, boundary, problem.flux, problem.source)
        name = "+".join([*map(str, names), *filter(None, [kind.name]), *["curved"] * curved]) or "straight"
        own_method = method.of_set(part.cell_shape, method.order if orders is None else orders[order])
        result.append(ElementSet(name, zone, cells, own_method, own, meet_several(mesh, cells), kind.layer))
    return sorted(result, key=lambda each: each.name)


def cut_out(problem, cells):
    """The problem on some cells of its mesh alone, with a zero exterior state where they are cut out."""
    boundary = problem.boundary | on_part(asking(problem.mesh, problem.boundary), cells)
    return replace(problem, mesh=problem.mesh.part(cells, Inner.CUT), boundary=boundary)


def numerical_fluxes(problem, laws):
    """The numerical fluxes at faces in a problem with these laws, each a function of a law; None where laws of other kinds meet
    by another one."""
    if len({(type(law), frozenset(law.parameters)) for law in laws}) > 1:
        return None
    given = problem.boundary.values()
    found = [problem.flux or upwind, *(flux for condition in given if (flux := declared(condition).flux))]
    return list({id(flux): flux for flux in found}.values())


def by_internal(mesh, laws, of_law):
    """(the number of the `Kind` of each element, (cell,); these `Kind`s).

    of_law: which of the laws each element has, (cell,); None with one law"""
    codes, found = np.zeros(mesh.cell_count, int), []
    for number, law in enumerate(laws):
        kinds, which = internal_kinds(mesh, law)
        here = slice(None) if of_law is None else of_law == number
        codes[here] = which[here] + len(found)
        found += kinds
    return codes, found


def meet_several(mesh, cells):
    """Whether a face of these cells meets several smaller ones."""
    return bool(np.isin(mesh.hanging.large[:, 0], cells).any())


def set_joins(problem, sets):
    """The `Join`s of a problem with these `ElementSet`s."""
    of_set = np.empty(problem.mesh.cell_count, int)
    for number, each in enumerate(sets):
        of_set[each.cells] = number
    return joins(problem.mesh, of_set, conditions_inside(problem.mesh, problem.boundary))


def uneven_sets(problem, sets):
    """Whether elements of each of these `ElementSet`s meet others at faces with other points: of another shape, order or
    size."""
    found = [False] * len(sets)
    for join in set_joins(problem, sets):
        left, right = (sets[number] for number in join.sets)
        alike = left.problem.mesh.cell_type == right.problem.mesh.cell_type and left.method == right.method
        if join.part is not None or not alike:
            for number in join.sets:
                found[number] = True
    return found


def bent(mesh):
    """Which elements have metrics at each point where others have one for all, (cell,): those that are not affine, or would not
    be when their points move. On quadrilaterals and hexahedra all have the same."""
    def of_block(block):
        if block.cell_shape.tensor:
            return np.zeros(block.cell_count, bool)
        if mesh.movable:
            return np.full(block.cell_count, not block.cell_shape.simplex or block.geometry_nodes is not None)
        return ~are_affine(block)
    return np.concatenate([of_block(block) for block in mesh.blocks])


def numbers_by_region(mesh, given, what):
    """Which of the regions of `given`, {region: value}, each element is in, (element,); "default" stands for all others."""
    codes, regions = np.full(mesh.cell_count, -1), list(given)
    for code, region in enumerate(regions):
        if region == "default" and "default" not in mesh.regions:
            continue
        cells = mesh.regions[choose("region", str(region), mesh.regions, " in the mesh; it has")]
        twice = codes[cells].max(initial=-1)
        if twice >= 0:
            raise ValueError(f"{what}={given!r} gives elements two values: the regions {regions[twice]!r} and {region!r} "
                             "overlap")
        codes[cells] = code
    missing = codes < 0
    if missing.any() and "default" in given:
        codes[missing] = regions.index("default")
    elif missing.any():
        raise ValueError(f"{what}={given!r} leaves {plural(int(missing.sum()), 'element')} without a value; regions of the "
                         f"mesh: {', '.join(mesh.regions) or 'none'}; 'default' stands for all others")
    return codes


def constant_in(law, mesh):
    """The law with a number for each parameter by region that is the same in all elements of a mesh; components of tensors that
    differ lose the regions that have no elements there, as a layer asks for those that it has."""
    here = {region for region, cells in mesh.regions.items() if len(cells)}
    parts = {part for tensor in law.tensors.values() for part in tensor.names.values()}
    found = {}
    for name, value in law.parameters.items():
        values = {value[region] for region in here & set(value)} if isinstance(value, dict) else ()
        if name in parts and len(values) > 1:
            value = {region: number for region, number in value.items() if region in here or region not in mesh.regions}
        found[name] = values.pop() if len(values) == 1 else value
    if found == law.parameters:
        return law
    law = copy(law)
    law.parameters = found
    return law
