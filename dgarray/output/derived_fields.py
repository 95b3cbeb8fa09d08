"""Fields that follow from those of a run, such as the pressure of a gas, by the functions of its law."""
import ast
from itertools import chain

import numpy as np
import xarray as xr

from dgarray.output.evaluation import quotient
from dgarray.output.pictures.continuous import mean_gradient
from dgarray.physics import laws
from dgarray.support.wording import choose

FROM = "computed_from"          # attribute of a field: names of those that it is computed from, point by point
PRIMITIVE = {"p": "pressure", **{name: f"velocity, {axis} component" for name, axis in zip("uvw", "xyz")}}


def with_field(ds, name):
    """The dataset with the nodal field `name`, its own or one that the law gives: values at the nodes, lazy where it is.

    Raises ValueError for a name that neither has."""
    law, own = law_of(ds), ds.dg.variables
    derived, curls, slopes, components = given = fields_given(ds, law)
    choose("variable", name, dict.fromkeys([*own, *chain(*given)]), " in the dataset; it has")
    if name in own:
        return ds
    if name in curls:
        vector, text = curls[name]
        parts = [field for field in ds.dg.curl(vector).data_vars.items() if field[0].startswith(f"curl_{vector}")]
        strength = sum(field ** 2 for _, field in parts) ** 0.5
        return ds.assign({name: strength.assign_attrs(units=parts[0][1].attrs["units"], long_name=text)})
    if name in slopes:
        parts = slopes_of(ds, name, slopes)
        strength = sum(part ** 2 for part in parts) ** 0.5
        attrs = parts[0].attrs | {"long_name": slopes[name][1], "valid_min": 0.0, "colour_map": "schlieren"}
        return ds.assign({name: strength.assign_attrs(attrs)})
    q = tuple(ds[variable] for variable in law.variables)
    with np.errstate(all="ignore"):          # of a state that is not admissible
        field = getattr(law, name)(q) if name in derived else law.primitive(q)[components.index(name)]
    kept = {key: value for key, value in ds[law.variables[0]].attrs.items() if key in ("mesh", "location")}
    plain = "1" if law.si.get(name) == "1" else "normalised"          # a pure number has no unit in any system
    units, text = law.units.get(name, plain), derived.get(name) or PRIMITIVE.get(name, name)
    return ds.assign({name: field.assign_attrs(kept | {"units": units, "long_name": text})})


def fields_given(ds, law):
    """The fields that a dataset's law adds, by their names: derived ones, strengths of curls and of gradients, components."""
    if law is None:
        return {}, {}, {}, ()
    curls = law.curls if ds.attrs.get("cell_type") == "grid" else {}
    return dict(law.derived), curls, law.gradients, () if law.primitive is None else law.primitive_variables


def refuse_derived(ds, name):
    """Raise ValueError for a field that the dataset has not, but that its law gives."""
    if name not in ds.dg.variables and name in [*chain(*fields_given(ds, law_of(ds)))]:
        raise ValueError(f"variable {name!r} is not stored in the dataset, but its law gives it: take "
                         f"ds.dg.with_fields({name!r}).dg in place of ds.dg")


def slopes_of(ds, name, slopes):
    """The components, DataArrays, of the gradient whose strength the field `name` is: on cells the mean one, whose strength
    does not show the cells' edges."""
    of = slopes[name][0]
    if ds.attrs.get("cell_type") == "grid":
        gradient = ds.dg.gradient(of)
        return [gradient[part] for part in gradient.dg.variables]
    kept = {key: value for key, value in ds[of].attrs.items() if key in ("mesh", "location")}
    return [xr.DataArray(part, attrs=kept | {"units": quotient(ds.dg, of, axis)})
            for axis, part in zip(ds.dg.axes, mean_gradient(ds, of))]


def drawable(ds, name):
    """The dataset with the nodal field `name` to draw, as `with_field` gives it; one that follows from others has their names
    in the attribute FROM, by which `at_points` computes it where it is drawn: between the nodes a polynomial through its
    values may be far from it."""
    if name in ds.dg.variables or ds.attrs.get("cell_type") == "grid":
        return with_field(ds, name)
    law, found = law_of(ds), with_field(ds, name)
    parts = law.variables
    if name in law.gradients:
        parts = [f"{name}_{axis}" for axis in ds.dg.axes]
        found = found.assign(dict(zip(parts, slopes_of(ds, name, law.gradients))))
    return found.assign({name: found[name].assign_attrs({FROM: " ".join(parts)})})


def at_points(ds, name, at):
    """The field `name` of a `drawable` dataset at any points; at(name): a nodal field of the dataset at these points.

    NaN where the law has no value for it, as a Mach number where the pressure is negative."""
    field = ds[name]
    if FROM not in field.attrs:
        return within(field, at(name))
    q, law = tuple(at(part) for part in field.attrs[FROM].split()), law_of(ds)
    if name in law.gradients:
        return np.sqrt(sum(part ** 2 for part in q))
    with np.errstate(all="ignore"):
        own = law.derived if name in law.derived else law.primitive_variables
        u = getattr(law, name)(q) if own is law.derived else law.primitive(q)[own.index(name)]
        some = np.isfinite(u)
        if not {name, PRIMITIVE.get(name)} & {*law.positive_quantities(q)}:
            some &= law.admissible(q)
    return np.where(some, u, np.nan)


def missing(ds, share):
    """A sentence on the share of the points at which `at_points` found no value."""
    law = law_of(ds)
    needed = " or ".join(law.long_names.get(part, part) for part in law.positive_quantities([1.0] * len(law.variables)))
    return f"not drawn: {needed} is not positive ({100 * share:.2g} % of the area)"


def within(field, u):
    """The values u without those below the field's attribute `valid_min`, which a polynomial may have between its nodes."""
    return np.maximum(u, field.attrs["valid_min"]) if "valid_min" in field.attrs else u


def law_of(ds):
    """The law that the attribute `law` names, or None: for one that is not ours or not made of numbers, or misses fields."""
    try:
        made = ast.parse(str(ds.attrs.get("law")), mode="eval").body
        law = getattr(laws, made.func.id)(**{part.arg: ast.literal_eval(part.value) for part in made.keywords})
    except (AttributeError, SyntaxError, TypeError, ValueError):
        return None
    return law if not made.args and {*law.variables} <= {*ds.dg.variables} else None
