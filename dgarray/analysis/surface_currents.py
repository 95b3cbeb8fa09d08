"""Electric surface currents and charges on walls, from recorded fields."""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..physics.laws.law import dot
from ..physics.laws.maxwell import FIELDS, cross
from ..physics.pointwise import at_points
from .cross_sections import Transform
from .record_checks import UNITLESS, check_law, check_wave, medium_here, place, refuse_other_laws, refuse_windows
from .truncated_records import warn_of_rest

if TYPE_CHECKING:
    from collections.abc import Callable

AXES = "x", "y", "z"
KEPT = "dim", "order", "nodes", "boundary", "law", "mirrors", "images"          # attributes of the fields


def surface_currents(fields: xr.Dataset, incident: Callable | None = None, eps: float | None = None) -> xr.Dataset:
    """The electric current and charge on a wall, J = n x H per length and rho = eps n . E per area, at each node.

    n is the unit normal that points out of the wall into the cells whose fields the record has, the opposite of its normal_x,
    normal_y, normal_z.  On a perfect conductor these are the charges that it has; elsewhere they stand for what is behind.

    fields    Dataset of a record `SurfaceFields(boundary)` or `Fourier(frequencies, boundary=...)` of Maxwell's equations, or
              `ds.dg.surface(boundary)`: all components of H for J, all of E for rho, or of both
    incident  the incident field, a function (x, t) -> state, where the record has the scattered field alone, as with the
              boundary condition `scattered`; of transforms it is transformed as the record was
    eps       permittivity at the wall, by default that of the run; of fields that do not say it, and are normalised, 1
    Returns a Dataset of Jx, Jy, Jz and rho, those of them that the fields give (in 2D TM Jz; TE Jx, Jy and rho), with the dims
    and coordinates of the fields; nan at faces in an absorbing layer, whose fields are what it has left.  Where the run has no
    one number eps at the wall there is no rho beside J.
    ValueError where fields lack something or are of another law, for a permittivity that is not that of the run, for rho alone
    without one, for an incident field that is not that of the run or beside a record that has the total one, and for none
    beside one that has the scattered one, as its attribute `field` says.  Warns where a record of transforms ends while more
    than 2e-3 of its largest E or H is left.  Balanis 2012, section 1.5."""
    axes = [axis for axis in AXES if axis in fields.coords]
    names = variables_of(fields, len(axes))
    H, E = ([name for name in names if name[0] == letter] for letter in "HE")
    has_H, has_E = (all(name in fields for name in part) for part in (H, E))
    missing = [f"normal_{axis}" for axis in axes if f"normal_{axis}" not in fields.coords]
    if not has_H and not has_E:
        missing += [name for name in H if name not in fields]
    if missing or not axes:
        raise ValueError(f"the fields lack {', '.join(missing) or 'x'}; give a record of {', '.join(names)} on a boundary, "
                         "SurfaceFields(boundary) or Fourier(frequencies, boundary=...)")
    refuse_other_laws(fields)
    if eps is not None and not (isinstance(eps, Real) and eps > 0):
        raise ValueError(f"eps={eps!r} is not allowed; it must be a positive number")
    if incident is not None and not callable(incident):
        raise ValueError(f"incident={incident!r} is not allowed; give the incident field, a function of x and t such as "
                         "dgarray.plane_wave(...)")
    if incident is not None and fields.attrs.get("field") == "total":
        raise ValueError(f"the record at {fields.attrs.get('boundary')!r} holds the total field, as the boundary conditions of "
                         "its run say; leave the incident field out")
    if incident is None and fields.attrs.get("field") == "scattered":
        raise ValueError(f"{place(fields)} holds the scattered field, as the boundary conditions of its run say; give the "
                         "incident field, surface_currents(record, incident)")
    if incident is not None:
        refuse_windows(fields)
        check_wave(fields, incident)
        check_law(fields, incident, names)
    total = {name: fields[name] for name in names if name in fields}
    warn_of_rest(fields[list(total)], stacklevel=2)
    if incident is not None:
        of_incident = at_times if "time" in fields.coords else transformed
        added = of_incident(fields, incident, names, axes)
        total = {name: field + added[name] for name, field in total.items()}
    dims = next(iter(total.values())).dims
    n = [-fields[f"normal_{axis}"] for axis in axes] + [0.0] * (3 - len(axes))
    found = {}
    if has_H:
        units = fields[H[0]].attrs.get("units", UNITLESS)
        for axis, component in zip(AXES, cross(n, [total.get(f"H{axis}", 0.0) for axis in AXES])):
            if f"E{axis}" in E:          # a current is along a component of E that the law has
                found[f"J{axis}"] = component, f"surface current, {axis} component", units
    if has_E and any(name[1:] in axes for name in E):
        try:
            eps = medium_here(fields, {"eps": eps})["eps"]
        except ValueError:
            if eps is not None or not has_H:
                raise
        else:
            found["rho"] = (eps * dot(n, [total.get(f"E{axis}", 0.0) for axis in AXES]), "surface charge",
                            units_of_charge(fields[E[0]].attrs.get("units", UNITLESS), units_of_eps(fields)))
    if "in_layer" in fields.coords:
        found = {name: (field.where(fields["in_layer"] == 0), *rest) for name, (field, *rest) in found.items()}
    result = xr.Dataset({name: field.transpose(*dims) for name, (field, _, _) in found.items()},
                        attrs={key: fields.attrs[key] for key in KEPT if key in fields.attrs})
    for name, (_, text, units) in found.items():
        result[name].attrs = {"long_name": text, "units": units}
    return result


def units_of_eps(fields):
    """Units of the permittivity, by default of SI; normalised where the run says that it has none."""
    return fields.attrs.get("eps_units", UNITLESS if "law" in fields.attrs else "F/m")


def units_of_charge(units, eps):
    """Units of eps E from those of E, such as "V/m" and a time, of transforms, and of eps: of SI C/m^2 and this time."""
    if UNITLESS in (units, eps):
        return units
    return "C/m^2" + units.removeprefix("V/m") if eps == "F/m" and units.split(" ")[0] == "V/m" else f"{eps} {units}"


def variables_of(fields, dim):
    """Names of the fields of Maxwell's equations of which the record has some."""
    if dim == 2:
        return FIELDS[2, "TE" if {"Ex", "Ey", "Hz"} & {*fields.data_vars} else "TM"]
    return FIELDS[1, "TM"] if dim == 1 else FIELDS[3, None]


def positions(fields, axes):
    """(dim, ...) of the nodes, and their dims."""
    x = fields[axes[0]]
    return np.array([fields[axis].transpose(*x.dims).values for axis in axes]), x.dims


def at_times(fields, incident, names, axes):
    """{variable: DataArray (time, ...)} of the incident field at the nodes of a record over time."""
    x, dims = positions(fields, axes)
    times = np.atleast_1d(fields["time"].values)
    values = np.array([[np.broadcast_to(c, x.shape[1:]) for c in at_points(
        incident, tuple(x), float(t), len(names), "the incident field", names)] for t in times])
    if not fields["time"].dims:
        return {name: xr.DataArray(values[0, i], dims=dims) for i, name in enumerate(names)}
    return {name: xr.DataArray(values[:, i], dims=("time", *dims)) for i, name in enumerate(names)}


def transformed(fields, incident, names, axes):
    """{variable: DataArray (frequency, ...)} of the incident field's transform at the nodes of a record over frequency."""
    x, dims = positions(fields, axes)
    if len(np.ravel(fields.attrs.get("time_span", ()))) != 2:
        raise ValueError("the fields lack the attribute time_span, the first and last time of the transform, as "
                         "ds.dg.record(...) gives it")
    frequencies = np.atleast_1d(fields["frequency"].values).astype(float)
    transform = Transform(incident, names, fields.attrs["time_span"], frequencies)
    points = x.reshape(len(axes), -1)
    transform.resolve(points[:, ::max(1, points.shape[1] // 8)])
    values = transform(points).reshape(len(names), len(frequencies), *x.shape[1:])
    if not fields["frequency"].dims:
        return {name: xr.DataArray(part[0], dims=dims) for name, part in zip(names, values)}
    return {name: xr.DataArray(part, dims=("frequency", *dims)) for name, part in zip(names, values)}
