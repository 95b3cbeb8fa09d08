"""Units as text: what a law says of its variables, parameters, lengths and times."""
from ...support.wording import choose
from ..trace import parameters

AXES = ("x", "y", "z")
SWITCHES = ("self", "dim", "polarisation", "powell", "units")          # arguments of constructors that have no unit


def units_of(law, units):
    """{name: text} for the argument `units` of a law's constructor.

    units: None (normalised), "SI", or {name: text} with a name of a variable, of a parameter, of a function in `derived`, of a
    primitive variable, or time, x, y, z; y and z have the unit of x unless they are given.
    ValueError for other names, for texts that are none, and for "SI" where the law has no SI units."""
    axes = AXES[:law.dim]
    fields = [*law.variables, *(law.primitive_variables if law.primitive else ()), *law.derived]
    names = ["time", *axes, *fields, *(name for name in parameters(type(law).__init__) if name not in SWITCHES)]
    if units is None:
        return {}
    if isinstance(units, str) and units == "SI" and law.si:
        units = {"time": "s", **dict.fromkeys(axes, "m"), **law.si}
        return {name: units[name] for name in dict.fromkeys(names) if name in units}
    if not isinstance(units, dict):
        allowed = 'None, "SI" or {name: text}' if law.si else f'None or {{name: text}}, such as {{"{law.variables[0]}": "kg"}}'
        raise ValueError(f"units={units!r} is not allowed for {type(law).__name__}; give {allowed}")
    for name, text in units.items():
        choose(f"units of {type(law).__name__} in {law.dim}D: the name", name, dict.fromkeys(names))
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"units of {name!r}: {text!r} is not allowed; give a text such as 'V/m', for a plain number '1'")
    return all_axes(units, axes)


def all_axes(units, axes=AXES):
    """The units, where the axes that have none have that of x."""
    return {**dict.fromkeys(axes, units["x"]), **units} if "x" in units else dict(units)
