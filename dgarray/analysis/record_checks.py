"""Facts about the run of a record that its functions ask for, or refuse: law, medium, layers, mirrors."""
import json
from numbers import Real

import numpy as np

from ..physics.declared import declared
from .record_origin import MIRRORS

MAXWELL, SOUND = ("eps", "mu"), ("density", "sound_speed")          # the numbers of a medium
UNITLESS = "normalised"
SAME = 1e-6                 # relative difference at which two numbers for a medium are one


def known(fields, name):
    """An attribute of a record that is JSON; None of fields that do not say it."""
    return json.loads(fields.attrs[name]) if name in fields.attrs else None


def place(fields):
    """The record's boundary, for messages."""
    return f"the record at {fields.attrs['boundary']!r}" if "boundary" in fields.attrs else "the record"


def refuse_other_laws(fields):
    """Raise ValueError for fields of a law that is neither Maxwell's equations nor acoustics."""
    law = fields.attrs.get("law")
    if law not in (None, "Maxwell", "Acoustics"):
        raise ValueError(f"{place(fields)} has fields of the law {law}; they must be of Maxwell's equations or acoustics")


def refuse_layers(fields):
    """Raise ValueError where faces lie in an absorbing layer."""
    if "in_layer" in fields.coords and fields["in_layer"].values.any():
        count = int(fields["in_layer"].values.astype(bool).sum())
        raise ValueError(f"{place(fields)} has {count} of {fields.sizes['face']} faces in an absorbing layer or at its "
                         "outer end, where the fields are what the layer has left; record at an interface or boundary before "
                         "the layer")


def refuse_closed_part(fields):
    """Raise ValueError where images are missing, in mirrors that the run has outside of the surface."""
    mirrors, images = known(fields, "mirrors") or {}, known(fields, "images") or {}
    missing = [f"{axis} = 0 ({name!r})" for axis, name in mirrors.items() if name in MIRRORS and axis not in images]
    if missing:
        raise ValueError(f"the run ends at the mirror{'s' * (len(missing) > 1)} {' and '.join(missing)}, outside of "
                         f"{place(fields)}; what they reflect radiates too: give with_mirror_images(record) of "
                         "dgarray.analysis.mirror_images")


def check_surface(fields):
    """Raise ValueError for a record on a surface from which fields far away, or powers, cannot be found."""
    refuse_other_laws(fields)
    refuse_layers(fields)
    refuse_closed_part(fields)


def medium_outside(fields, given):
    """{name: number} of the medium around a surface, of the names in `given`, {name: number or None}.

    The numbers are those of the run, else those given, else 1 where the fields are normalised.  ValueError for numbers that are
    not positive or not those of the run, and where the medium is not uniform, has losses, or is not known."""
    return medium_of(fields, "outside", given, "around the surface of ")


def medium_here(fields, given):
    """{name: number} of the medium of the cells whose fields the record has, of the names in `given`; it may have losses, and
    where it varies the numbers given hold."""
    return medium_of(fields, "medium", given, "at ")


def medium_of(fields, where, given, words):
    found = known(fields, where)
    if isinstance(found, str) and (where == "outside" or None in given.values()):
        raise ValueError(f"the medium {words}{place(fields)} must be uniform and isotropic, without dispersion, but "
                         f"{found}")
    found = None if isinstance(found, str) else found
    if found and found.get("sigma") and where == "outside":
        raise ValueError(f"the medium {words}{place(fields)} must have no losses, but it conducts: sigma is "
                         f"{found['sigma']:.6g}")
    result = {}
    for name, value in given.items():
        if value is not None and not (isinstance(value, Real) and value > 0):
            raise ValueError(f"{name}={value!r} is not allowed; it must be a positive number")
        if found and value is not None and not np.isclose(value, found[name], rtol=SAME, atol=0):
            raise ValueError(f"{name}={value!r} is not allowed, because the run has {name}={found[name]:.6g} {words}"
                             f"{place(fields)}; leave it out")
        if not found and value is None and units_of(fields) != UNITLESS:
            raise ValueError(f"{place(fields)} does not say the medium {words}it, but has the units {units_of(fields)}; give "
                             f"{' and '.join(f'{each}=' for each in given)}")
        result[name] = float(found[name] if found else 1.0 if value is None else value)
    return result


def units_of(fields):
    """The units of the first of the fields."""
    return next((field.attrs["units"] for field in fields.data_vars.values() if "units" in field.attrs), UNITLESS)


def times_length(units, fields, power):
    """Units times a power of those of length, {"units": text}; {} where they are normalised."""
    length = fields["x"].attrs.get("units", UNITLESS) if "x" in fields.coords else UNITLESS
    if UNITLESS in (units, length):
        return {}
    return {"units": " ".join([units] * (units != "1") + [length if power == 1 else f"{length}^{power:g}"])}


# Incident fields.

def refuse_windows(fields):
    """Raise ValueError for a transform with a window, beside which an incident field has none."""
    if "window" in fields.attrs:
        raise ValueError(f"{place(fields)} is a transform with the window {fields.attrs['window']}, which the incident field "
                         "does not have; record without one")


def check_wave(fields, incident):
    """Raise ValueError for a plane wave that is not that of the run."""
    here, there = declared(incident).plane, fields.attrs.get("incident")
    if None not in (here, there) and here != there:
        raise ValueError(f"the incident field of the run is {there}, with this direction and amplitude, but the one given is "
                         f"{here}; give the same")


def check_law(fields, incident, names):
    """Raise ValueError for a wave of other variables than the `names` of the fields; a user's own function says none."""
    variables = declared(incident).variables or names
    if tuple(variables) != tuple(names):
        raise ValueError(f"the incident field is a wave of a law with {', '.join(variables)}, but {place(fields)} is one of "
                         f"{', '.join(names)}; give a wave of the run's law")


def check_wave_outside(fields, incident, names):
    """Raise ValueError for a wave of another law, or another medium than that around the surface, as far as both are known."""
    check_law(fields, incident, names)
    if "outside" not in fields.attrs:
        return
    found = medium_outside(fields, dict.fromkeys(SOUND if "p" in names else MAXWELL))
    for name, value in (declared(incident).numbers or {}).items():
        if not np.isclose(value, found[name], rtol=SAME, atol=0):
            raise ValueError(f"the incident field is a wave in a medium with {name}={value:.6g}, but around the surface of "
                             f"{place(fields)} the run has {found[name]:.6g}; give the wave of the run")
