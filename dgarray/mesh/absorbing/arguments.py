"""Checks of the arguments of `dgarray.pml`."""
from math import isfinite
from numbers import Integral, Real

import numpy as np

from ...support.wording import choose, plural

SHIFT = 0.3          # complex frequency shift times the thickness, by default
HIGHEST = 6          # degree of the growth of s


def check_use(thickness, cells, boundary, region, name, split):
    """Raise ValueError unless there are thickness and cells, or a region alone, and names are names."""
    new = thickness is not None, cells is not None
    if region is None and not all(new) or region is not None and any(new):
        raise ValueError(f"pml takes thickness and cells, which add cells, or region, which names them; got {thickness=}, "
                         f"{cells=}, {region=}")
    if region is not None and boundary is not None:
        raise ValueError(f"pml: {boundary=} does not fit {region=}; it is for layers of new cells")
    for what, names in (("boundary", boundary), ("region", region)):
        given = (names,) if isinstance(names, str) else names
        several = isinstance(given, (tuple, list)) and len(given) and all(isinstance(each, str) for each in given)
        require(what, names, names is None or several, "a name, or several in a tuple")
    require("split", split, isinstance(split, (bool, np.bool_)), "True or False")
    require("name", name, isinstance(name, str) and name, "a name")
    if region is None:
        require("thickness", thickness, is_number(thickness) and thickness > 0, "a number above 0")
        require("cells", cells, is_whole(cells) and cells > 0, "a whole number from 1")


def check_profile(reflection, degree, shift):
    """The function of a thickness that returns degree, reflection and shift as plain numbers. Raises ValueError."""
    require("reflection", reflection, is_number(reflection) and 0 < reflection < 1, "a number between 0 and 1")
    require("degree", degree, is_whole(degree) and 1 <= degree <= HIGHEST, f"a whole number from 1 to {HIGHEST}")
    require("shift", shift, shift is None or is_number(shift) and shift >= 0, "a number from 0, or None")
    return lambda thickness: (int(degree), float(reflection), SHIFT / thickness if shift is None else float(shift))


def check_shape(mesh, shape, centre, axis):
    """(centre, number of the axis or None) of a sphere, circle or cylinder, () of a box. Raises ValueError."""
    choose("pml: shape", shape, ("box", "sphere", "cylinder"))
    if shape == "box":
        require("centre", centre, centre is None, "left out with shape='box'")
        require("axis", axis, axis is None, "left out with shape='box'")
        return ()
    if mesh.dim == 1:
        raise ValueError(f"pml: {shape=} is for 2D and 3D; in 1D take shape='box'")
    if mesh.dim == 3 and shape == "cylinder":
        require("axis", axis, axis in ("x", "y", "z"), "'x', 'y' or 'z', along which the cylinder lies")
    else:
        require("axis", axis, axis is None, "left out, as it is for cylinders in 3D")
    centre = (0.0,) * mesh.dim if centre is None else centre
    numbers = isinstance(centre, (tuple, list, np.ndarray)) and len(centre) == mesh.dim and all(map(is_number, centre))
    require("centre", centre, numbers, f"{plural(mesh.dim, 'number')}")
    return tuple(map(float, centre)), None if axis is None else "xyz".index(axis)


def require(name, value, allowed, what):
    """Raise ValueError unless the argument `name` is allowed; what: what it must be."""
    if not allowed:
        raise ValueError(f"pml: {name}={value!r} is not allowed; it must be {what}")


def is_number(value):
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and isfinite(value)


def is_whole(value):
    return isinstance(value, Integral) and not isinstance(value, bool)
