"""The rest of a symmetric surface: fields recorded on a half or quarter of it, with their images in planes of symmetry."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..physics.laws.maxwell import FIELDS
from ..spaces.surface import AXES
from ..support.wording import choose
from .record_checks import known, place, refuse_other_laws
from .record_origin import MIRRORS, named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NO_MIRRORS = "absorbing", "impedance(", "incident(", "prescribed(", "scattered(", "outflow"          # how their names begin
MIRRORS_OF_MAXWELL, MIRRORS_OF_SOUND = ("pec", "pmc"), ("hard", "soft")          # mirrors of Maxwell's equations and of sound
OF_MAXWELL = {*(name for law in FIELDS.values() for name in law), *(f"J{axis}" for axis in AXES), "rho"}
OF_SOUND = {"p", *(f"v{axis}" for axis in AXES)}


def with_mirror_images(fields: xr.Dataset, planes: Mapping[str, str | Callable] | None = None) -> xr.Dataset:
    """The fields on a surface and its images in the planes through the origin across these axes.

    At an electric mirror, `pec`, E_t = 0 and the image has E_n and H_t as they are, E_t and H_n with the other sign; at a
    magnetic one, `pmc`, H_t = 0 and all signs are the other way.  The current J of `surface_currents` goes as E, and the charge
    rho has the other sign at `pec`.  Of sound, at a hard mirror, `wall`, n . v = 0 and the image has p and v_t as they are, v_n
    with the other sign; at a soft one, `pressure_release`, p = 0 and all signs are the other way.
    So a run on the part of a symmetric problem at positive coordinates, with these conditions on the planes, gives the fields
    on the whole surface, as `near_to_far` and `cross_sections` need them.
    A plane wave along z with E along x has {"x": "pec", "y": "pmc"}.

    fields   Dataset of a record on a boundary or interface, such as `Fourier(frequencies, boundary=...)`, at coordinates >= 0
    planes   {axis: "pec" or "pmc", of sound "hard" or "soft"}, or the conditions themselves, such as dgarray.pec; axis = "x",
             "y" or "z"; by default all mirrors of the run, which the record knows
    Returns a Dataset with twice the faces for each plane; those of the record come first.
    ValueError for another axis or condition, one that is not that of the run, fields without faces or of another law, and faces
    beyond a plane.
    Harrington 1961, section 3-3; Pierce 1989, section 5.1."""
    if "face" not in fields.dims:
        raise ValueError("the fields have no faces; give a record on a boundary or interface, such as "
                         "Fourier(frequencies, boundary=...)")
    axes, allowed = [axis for axis in AXES if axis in fields.coords], mirrors_for(fields)
    of_run, done = known(fields, "mirrors"), known(fields, "images") or {}
    if planes is None:
        planes = {axis: name for axis, name in (of_run or {}).items() if axis not in done and name in allowed}
        if not planes:
            raise ValueError(f"{place(fields)} knows no mirror of its run at a plane through the origin without images, "
                             f"where it has {of_run or 'no condition'}; if one of your own is a mirror, give planes, such as "
                             f"{{{axes[0]!r}: {allowed[0]!r}}}")
    for axis, given in planes.items():
        choose("planes: the axis", axis, axes)
        plane = choose(f"planes: the condition at {axis} = 0", named(given) if callable(given) else given, allowed)
        if of_run is not None and not can_be_mirror(of_run.get(axis), plane):
            raise ValueError(f"planes: {plane!r} at {axis} = 0 is not what the run has, {of_run.get(axis, 'no mirror')!r}; "
                             f"its mirrors are {of_run or 'none'}")
        if axis in done:
            raise ValueError(f"the fields have their images in {axis} = 0 already")
        fields = doubled(fields, axis, plane)
        done[axis] = plane
    return fields.assign_attrs(images=json.dumps(done))


def can_be_mirror(condition, plane):
    """Whether a run's condition at a plane, a name or None, can be the mirror `plane`: a user's own condition can."""
    if condition is None or condition.startswith(NO_MIRRORS):
        return False
    return condition not in MIRRORS or condition == plane


def mirrors_for(fields):
    """The names of the mirrors of these fields. Raises ValueError for fields whose images are not known."""
    refuse_other_laws(fields)
    names = [str(name) for name, field in fields.data_vars.items() if "face" in field.dims]
    names = [name for name in names if name not in ("area", "weight")]
    for known_names, mirrors in ((OF_MAXWELL, MIRRORS_OF_MAXWELL), (OF_SOUND, MIRRORS_OF_SOUND)):
        if names and set(names) <= known_names:
            return mirrors
    raise ValueError(f"the fields {', '.join(names) or 'that are none'} have no images that are known; give those of Maxwell's "
                     "equations or of acoustics")


def doubled(fields, axis, plane):
    """The fields and their images in one plane. Raises ValueError for faces beyond it."""
    x = fields[axis].values
    if x.min() < -1e-9 * np.abs(x).max():
        raise ValueError(f"the fields reach to {axis} = {x.min():.6g}, beyond the plane {axis} = 0; they must lie on one "
                         "side of it, at positive coordinates")
    signs = {str(name): sign_of(str(name), axis, plane) for name in fields.data_vars if str(name) in OF_MAXWELL | OF_SOUND}
    changed = {axis: -1, f"normal_{axis}": -1} | signs
    image = fields.assign({name: sign * fields[name] for name, sign in changed.items() if name in fields.data_vars})
    image = image.assign_coords({name: sign * fields[name] for name, sign in changed.items() if name in fields.coords})
    return xr.concat([fields, image], "face", data_vars="minimal", coords="minimal", compat="override", join="override",
                     combine_attrs="override")


def sign_of(name, axis, plane):
    """The sign of a component, such as "Ex" or "vx", or of "p" or "rho", in the image across an axis."""
    if name == "rho":
        return -1 if plane == "pec" else 1
    if plane in MIRRORS_OF_SOUND:
        return (1 if plane == "hard" else -1) * (-1 if name == f"v{axis}" else 1)
    normal = 1 if name[1] == axis else -1
    return normal * (-1 if name[0] == "H" else 1) * (1 if plane == "pec" else -1)
