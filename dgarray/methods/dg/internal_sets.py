"""Which elements have internal variables beside the law's: those in absorbing layers, and in dispersive media."""
from copy import copy
from typing import NamedTuple

import numpy as np

from ...physics.pointwise import Pointwise
from ...wording import choose
from .boundary_setup import parameters_on


class Kind(NamedTuple):
    """What elements are in: the region of each dispersive parameter, {name: region or None}, a layer or None, and whether
    several of the layer's stretches differ from 1 there."""

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
        columns.append(region_codes(mesh, name, given) if isinstance(given, dict) else np.ones(count, int))
    layer, several = layer_codes(mesh)
    keys, which = np.unique(np.stack([*columns, layer, several]), axis=1, return_inverse=True)
    kinds = []
    for *media, number, more in keys.T.tolist():
        pairs = [(name, regions[name][code] if isinstance(law.dispersive[name], dict) else None)
                 for name, code in zip(law.dispersive, media) if code]
        kinds.append(Kind(tuple(pairs), mesh.layers[number - 1] if number else None, bool(more)))
    return kinds, which.ravel()


def region_codes(mesh, name, given):
    """The number from 1 of the region of each element among those of `given`, 0 for none, (cell,)."""
    codes = np.zeros(mesh.cell_count, int)
    for number, region in enumerate(given, 1):
        cells = mesh.regions[choose("region", str(region), mesh.regions, " in the mesh; it has")]
        if codes[cells].any():
            raise ValueError(f"{name}={given!r} gives elements of the region {region!r} two values; its regions overlap")
        codes[cells] = number
    return codes


def layer_codes(mesh):
    """The number from 1 of the layer of each element, 0 for none, and whether several of its stretches differ from 1 there."""
    codes, several = np.zeros((2, mesh.cell_count), int)
    for number, layer in enumerate(mesh.layers, 1):
        cells = mesh.regions[layer.region]
        if codes[cells].any():
            other = mesh.layers[codes[cells].max() - 1].region
            raise ValueError(f"{mesh.source} has cells in two absorbing layers, {other!r} and {layer.region!r}; add the layers "
                             "of sides that meet by one call, pml(mesh, thickness, cells, boundary=(...))")
        codes[cells] = number
        if layer.straight:
            depth = layer.depth(tuple(mesh.centroids[cells].T))
            several[cells] = sum(np.asarray(each) > 0 for each in depth) > 1
    return codes, several


def with_internal(law, kind, mesh):
    """The law of the elements of a mesh that are of a `Kind`, with the attribute `internal`; itself where it has nothing to do
    with it."""
    media = {name: law.dispersive[name] if region is None else law.dispersive[name][region] for name, region in kind.media}
    if not media and kind.layer is None:
        return law
    speed = None if kind.layer is None else fastest(law, mesh, mesh.regions[kind.layer.region])
    found = copy(law)
    found.internal = law.response(media, kind.layer, kind.several, speed)
    found.parameters = law.parameters | (found.internal.parameters if found.internal else {})
    return found


def fastest(law, mesh, cells):
    """The largest wave speed along an axis in some elements; nan where it depends on the state."""
    numbers = {name: None if callable(value) or isinstance(value, dict) else float(value)
               for name, value in law.parameters.items()}
    inputs = {"q": len(law.variables), "n": law.dim, "x": law.dim, "t": None, "m": numbers}
    speed = Pointwise(law.wave_speed, inputs, "wave speed")
    if speed.depends_on("q"):
        return np.nan
    m = {name: values[cells] for name, values in parameters_on(mesh, law).items()}
    x = tuple(mesh.centroids[cells].T)
    return float(max(np.max(speed(n=tuple(np.eye(law.dim)[axis]), x=x, t=0.0, m=m)[0]) for axis in range(law.dim)))
