"""The rest of a symmetric surface: fields recorded on a half or quarter of it, with their images in planes of symmetry."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..physics.laws.maxwell import FIELDS
from ..spaces.surface import AXES
from ..wording import choose

if TYPE_CHECKING:
    from collections.abc import Mapping

PLANES = ("pec", "pmc")


def with_mirror_images(fields: xr.Dataset, planes: Mapping[str, str]) -> xr.Dataset:
    """The fields E and H on a surface and its images in the planes through the origin across these axes.

    At an electric mirror, `pec`, E_t = 0 and the image has E_n and H_t as they are, E_t and H_n with the other sign; at a
    magnetic one, `pmc`, H_t = 0 and all signs are the other way.  So a run on the part of a symmetric problem at positive
    coordinates, with these conditions on the planes, gives the fields on the whole surface, as `near_to_far` and
    `cross_sections` need them.
    A plane wave along z with E along x has {"x": "pec", "y": "pmc"}.

    fields   Dataset of a record on a boundary or interface, such as `Fourier(frequencies, boundary=...)`, at coordinates >= 0
    planes   {axis: "pec" or "pmc"}, axis = "x", "y" or "z"
    Returns a Dataset with twice the faces for each plane; those of the record come first.
    ValueError for another axis or condition, fields without faces, and faces beyond a plane.
    Harrington 1961, section 3-3."""
    if "face" not in fields.dims:
        raise ValueError("the fields have no faces; give a record on a boundary or interface, such as "
                         "Fourier(frequencies, boundary=...)")
    axes = [axis for axis in AXES if axis in fields.coords]
    names = {name for law in FIELDS.values() for name in law}
    for axis, plane in planes.items():
        choose("planes: the axis", axis, axes)
        choose(f"planes: the condition at {axis} = 0", plane, PLANES)
        x = fields[axis].values
        if x.min() < -1e-9 * np.abs(x).max():
            raise ValueError(f"the fields reach to {axis} = {x.min():.6g}, beyond the plane {axis} = 0; they must lie on one "
                             "side of it, at positive coordinates")
        changed = {axis: -1, f"normal_{axis}": -1} | {name: sign_of(name, axis, plane) for name in names}
        image = fields.assign({name: sign * fields[name] for name, sign in changed.items() if name in fields.data_vars})
        image = image.assign_coords({name: sign * fields[name] for name, sign in changed.items() if name in fields.coords})
        fields = xr.concat([fields, image], "face", data_vars="minimal", coords="minimal", compat="override",
                           join="override", combine_attrs="override")
    return fields


def sign_of(name, axis, plane):
    """The sign of a component, such as "Ex", in the image across an axis."""
    normal = 1 if name[1] == axis else -1
    return normal * (1 if name[0] == "E" else -1) * (1 if plane == "pec" else -1)
