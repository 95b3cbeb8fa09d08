"""Fields that follow from those of a run, such as the pressure of a gas, by the functions of its law."""
import ast

from dgarray.physics import laws
from dgarray.wording import choose

PRIMITIVE = {"p": "pressure", **{name: f"velocity, {axis} component" for name, axis in zip("uvw", "xyz")}}


def with_field(ds, name):
    """The dataset with the nodal field `name`, its own or one that the law gives: values at the nodes, lazy where it is.

    Raises ValueError for a name that neither has."""
    law, own = law_of(ds), ds.dg.variables
    derived = {} if law is None else dict(law.derived)
    curls = {} if law is None or ds.attrs.get("cell_type") != "grid" else law.curls
    slopes = {} if law is None else law.gradients
    components = () if law is None or law.primitive is None else law.primitive_variables
    choose("variable", name, dict.fromkeys([*own, *derived, *curls, *slopes, *components]), " in the dataset; it has")
    if name in own:
        return ds
    if name in curls:
        vector, text = curls[name]
        parts = [field for field in ds.dg.curl(vector).data_vars.items() if field[0].startswith(f"curl_{vector}")]
        strength = sum(field ** 2 for _, field in parts) ** 0.5
        return ds.assign({name: strength.assign_attrs(units=parts[0][1].attrs["units"], long_name=text)})
    if name in slopes:
        of, text = slopes[name]
        gradient = ds.dg.gradient(of)
        strength = sum(gradient[part] ** 2 for part in gradient.dg.variables) ** 0.5
        attrs = gradient[gradient.dg.variables[0]].attrs | {"long_name": text, "valid_min": 0.0, "colour_map": "schlieren"}
        return ds.assign({name: strength.assign_attrs(attrs)})
    q = tuple(ds[variable] for variable in law.variables)
    field = getattr(law, name)(q) if name in derived else law.primitive(q)[components.index(name)]
    kept = {key: value for key, value in ds[law.variables[0]].attrs.items() if key in ("mesh", "location")}
    plain = "1" if law.si.get(name) == "1" else "normalised"          # a pure number has no unit in any system
    units, text = law.units.get(name, plain), derived.get(name) or PRIMITIVE.get(name, name)
    return ds.assign({name: field.assign_attrs(kept | {"units": units, "long_name": text})})


def law_of(ds):
    """The law that the attribute `law` names, or None: for one that is not ours or not made of numbers, or misses fields."""
    try:
        made = ast.parse(str(ds.attrs.get("law")), mode="eval").body
        law = getattr(laws, made.func.id)(**{part.arg: ast.literal_eval(part.value) for part in made.keywords})
    except (AttributeError, SyntaxError, TypeError, ValueError):
        return None
    return law if not made.args and {*law.variables} <= {*ds.dg.variables} else None
