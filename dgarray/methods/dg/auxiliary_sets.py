"""Which elements have internal variables beside the law's: those in absorbing layers, and in dispersive media."""
from copy import copy
from itertools import product
from typing import NamedTuple

import numpy as np

from ...mesh.absorbing.layers import layer_of_cells
from ...physics.auxiliary_variables import Internal
from ...physics.frequency_ranges import said
from ...physics.pointwise import Pointwise
from ...support.wording import choose
from .boundary_setup import parameters_on
from .physics import Physics


class Kind(NamedTuple):
    """The medium of some elements: ((parameter, region or None), ...) of those that are dispersive, the layer or None, and
    whether several of the layer's stretches differ from 1 there."""

    media: tuple
    layer: object
    several: bool

    @property
    def name(self):
        """The name of the set of these elements; None where there is nothing."""
        words = [str(region) for _, region in self.media if region is not None]
        words += [] if self.layer is None else [f"{self.layer.region}{' edges' * self.several}"]
        words += ["dispersive"] * (not words and bool(self.media))
        return "+".join(dict.fromkeys(words)) or None


def has_internal(mesh, law):
    """Whether any elements have internal variables."""
    laws = [law] if law.laws is None else law.laws.values()
    return bool(mesh.whole.layers) or any(each.internal is not None or each.dispersive for each in laws)


def internal_kinds(mesh, law):
    """(the `Kind`s of the elements of a mesh, which of them each is of, (cell,)), for one law.

    Raises ValueError for regions that do not exist or overlap."""
    count, columns = mesh.cell_count, []
    regions = {}
    for name, given in law.dispersive.items():
        regions[name] = [None, *(given if isinstance(given, dict) else ())]
        columns.append(region_codes(mesh, name, given, law.parameters[name]) if isinstance(given, dict) else
                       np.ones(count, int))
    layer, several = layer_codes(mesh)
    keys, which = np.unique(np.stack([*columns, layer, several]), axis=1, return_inverse=True)
    kinds = []
    for *media, number, more in keys.T.tolist():
        pairs = [(name, regions[name][code] if isinstance(law.dispersive[name], dict) else None)
                 for name, code in zip(law.dispersive, media) if code]
        kinds.append(Kind(tuple(pairs), mesh.layers[number - 1] if number else None, bool(more)))
    return kinds, which.ravel()


def region_codes(mesh, name, given, numbers):
    """The number from 1 of the region of each element among those of `given`, 0 for none, (cell,); numbers: regions whose
    elements have a number instead."""
    codes = np.zeros(mesh.cell_count, int)
    others = [region for region in numbers if region not in given] if isinstance(numbers, dict) else []
    for number, region in enumerate([*given, *others], 1):
        cells = mesh.regions[choose("region", str(region), mesh.regions, " in the mesh; it has")]
        if codes[cells].any():
            raise ValueError(f"{name}: elements of the region {region!r} get two values, one of them dispersive; its regions "
                             "overlap")
        codes[cells] = number if number <= len(given) else 0
    return codes


def layer_codes(mesh):
    """The number from 1 of the layer of each element, 0 for none, and whether several of its stretches differ from 1 there."""
    codes, several = layer_of_cells(mesh), np.zeros(mesh.cell_count, int)
    for layer in mesh.layers:
        if layer.straight:
            cells = mesh.regions[layer.region]
            depth = layer.depth(tuple(mesh.centroids[cells].T))
            several[cells] = sum(np.asarray(each) > 0 for each in depth) > 1
    return codes, several


def with_internal(law, kind, speed, fluxes):
    """The law of the elements of a `Kind`, with the attribute `internal` and its parameters.

    speed: the fastest wave in the kind's layer;  fluxes: the numerical fluxes at faces, functions of a law, or None
    Raises ValueError where a layer or medium does not fit the law."""
    own = law.internal
    if own is not None and not isinstance(own, Internal):
        raise ValueError(f"internal={own!r} of {law!r} is not allowed; give a dgarray.physics.auxiliary_variables.Internal")
    media = {name: law.dispersive[name] if region is None else law.dispersive[name][region] for name, region in kind.media}
    if not media and kind.layer is None:
        found = own
    elif own is not None:
        raise ValueError(f"{law!r} has internal variables of its own, which do not go together with those of a dispersive "
                         f"medium or of an absorbing layer, as {kind.name!r}")
    else:
        check_media(kind, media)
        found = law.response(media, kind.layer, kind.several, speed)
    if found is None:
        return law
    taken = [name for name in found.names if name in law.variables]
    if taken:
        raise ValueError(f"names={found.names!r} of internal variables: {taken[0]!r} is a variable of {law!r}")
    law = copy(law)
    law.internal, law.parameters = found, law.parameters | found.parameters
    if kind.layer is not None and found.carried and fluxes:
        law.internal = found.carrying(moved_along_axes(law, fluxes), len(law.variables))
    return law


def moved_along_axes(law, fluxes):
    """Of which of the law's variables each vector of `carried` takes fluxes, numbers: those that the law and these numerical
    fluxes move, as their traces show, inside of elements along all directions and at faces along the axes, as a layer has."""
    d, v, numbers = law.dim, len(law.variables), constants(law)
    sides = [Physics(law, flux, None, numbers) for flux in fluxes]
    state = {"q": sides[0].variables, "x": d, "t": None, "m": numbers}
    functions = [(sides[0].flux_along, state | {"n": d})]
    for physics, n in product(sides, np.concatenate([np.eye(d), -np.eye(d)]).tolist()):
        def at_face(l, r, x, t, ml, mr, physics=physics, n=tuple(n)):
            return physics.of_side(physics.star(physics.numerical, l, r, n, x, t, ml, mr), l, r, n, x, t, ml)
        functions.append((at_face, {"l": state["q"], "r": state["q"], "x": d, "t": None, "ml": numbers, "mr": numbers}))
    graphs = [Pointwise(function, inputs, "flux").graph for function, inputs in functions]
    moves = [any(graph.nodes[graph.outputs[i]] != ("const", 0.0) for graph in graphs) for i in range(sides[0].flowing)]
    return [tuple(i for i in range(v) if moves[(k + 1) * v + i]) for k in range(len(law.internal.carried))]


def check_media(kind, media):
    """Raise ValueError for a medium in a layer in which waves may run backward: then the layer makes them grow.

    Becache, Joly & Vinoles 2018."""
    for name, medium in media.items():
        if kind.layer is not None and (ranges := medium.negative_ranges()):
            raise ValueError(f"{name}={medium!r} goes on in the absorbing layer {kind.layer.region!r}, where waves would grow: "
                             f"its real part is negative at frequencies {said(ranges)}; end it before the layer, or take a "
                             "medium whose real part is positive")


def speeds_of_layers(mesh, laws, of_law):
    """The fastest wave in each layer of a mesh, of all laws that elements there have; of_law: as of `by_internal`."""
    found = []
    for layer in mesh.layers:
        cells = mesh.regions[layer.region]
        inside = [cells if of_law is None else cells[of_law[cells] == number] for number in range(len(laws))]
        found.append(max((fastest(law, mesh, some) for law, some in zip(laws, inside) if len(some)), default=np.nan))
    return found


def fastest(law, mesh, cells):
    """The largest wave speed along an axis in some elements; nan where it depends on the state."""
    law = law.of_layers or law
    numbers = constants(law)
    inputs = {"q": len(law.variables), "n": law.dim, "x": law.dim, "t": None, "m": numbers}
    speed = Pointwise(law.wave_speed, inputs, "wave speed")
    if speed.depends_on("q"):
        return np.nan
    m = {name: values[cells] for name, values in parameters_on(mesh, law).items()}
    x = tuple(mesh.centroids[cells].T)
    return float(max(np.max(speed(n=tuple(np.eye(law.dim)[axis]), x=x, t=0.0, m=m)[0]) for axis in range(law.dim)))


def constants(law):
    """{name: number} of a law's parameters, None for one that varies in space."""
    return {name: None if callable(value) or isinstance(value, dict) else float(value)
            for name, value in law.parameters.items()}
