"""The formulas of a law as lines of text, from the graphs of its functions."""
from .capacity import named, with_ones
from .codegen import formulas
from .fluxes import upwind
from .pointwise import Pointwise
from .trace import call

AXES = "xyz"


def inputs(law):
    """The arguments that the functions of a law may have, as `Pointwise` takes them."""
    fields = dict.fromkeys(law.parameters)
    return {"q": len(law.variables), "n": law.dim, "x": law.dim, "t": None, "m": fields}


def readable(law):
    """{input of a graph: readable name}: components by variable, n and x by axis, - and + for the sides of a face."""
    names = {f"n{i}": f"n{AXES[i]}" for i in range(law.dim)} | {f"x{i}": AXES[i] for i in range(law.dim)}
    for i, variable in enumerate(law.variables):
        names |= {f"q{i}": variable, f"l{i}": f"{variable}-", f"r{i}": f"{variable}+"}
    for field in law.parameters:
        names |= {f"m_{field}": field, f"ml_{field}": f"{field}-", f"mr_{field}": f"{field}+"}
    return names


def law_formulas(law, flux=upwind):
    """The call that makes the law, and the formulas of its functions, a list of lines."""
    given, name = inputs(law), "rusanov" if flux is upwind and law.upwind is None else flux.__name__
    sides = {"l": given["q"], "r": given["q"], "n": law.dim, "x": law.dim, "t": None, "ml": given["m"], "mr": given["m"]}
    star, divided = [f"F*_{v}" for v in law.variables], {"q": given["q"], "n": law.dim}
    count = 0 if law.products is None else len(Pointwise(law.product_flux, divided, "b").graph.outputs)
    if count and len(Pointwise(flux(law), sides, name).graph.outputs) > len(star):
        star += [f"b*{i}" for i in range(count)]
    parts = [("flux in the direction n", law.flux, given, [f"F_{v}" for v in law.variables]),
             (f"numerical flux ({name}); - inside, + outside", flux(law), sides, star),
             ("largest wave speed along n", law.wave_speed, given, ["speed"])]
    if count:
        parts += [("b, of which nonconservative products A div b take the divergence", law.product_flux, divided,
                   [f"b{i}" for i in range(count)]),
                  ("nonconservative products A b", law.products, {"q": given["q"], "b": count},
                   [f"A_{v}" for v in law.variables])]
    if law.capacity is not None:
        def entries(m):
            return tuple(named(call(law.capacity, dict(m=m)), law.variables).values())
        parts.append(("capacity: C dq/dt + div F = s", entries, {"m": given["m"]}, list(named(with_ones(law), law.variables))))
    if law.source is not None:
        parts.append(("source", law.source, given, [f"s_{v}" for v in law.variables]))
    if law.admissible is not None:
        parts.append(("admissible states", law.admissible, given, ["admissible"]))
    lines, names = [repr(law)], readable(law)
    for part in parts:
        lines += part_formulas(*part, names)
    for where, internal in internal_variables(law):
        of_internal = given | {"w": len(internal.names), "m": given["m"] | dict.fromkeys(internal.parameters)}
        here = names | {f"w{i}": name for i, name in enumerate(internal.names)} | {
            f"m_{name}": name for name in internal.parameters}
        lines += part_formulas(f"what internal variables add to the source{where}", internal.adds, of_internal,
                             [f"a_{v}" for v in law.variables], here)
        lines += part_formulas(f"internal variables{where}", internal.rate, of_internal,
                             [f"d{name}/dt" for name in internal.names], here)
    return lines


def part_formulas(title, function, arguments, outputs, names):
    """The title and the formulas of one function, a list of lines."""
    graph = Pointwise(function, arguments, title).graph
    return [f"{title} [{graph.flops} operations]", *(f"  {line}" for line in formulas(graph, outputs, names))]


def internal_variables(law):
    """(" in the region ...", " elsewhere" or "", and the `Internal` of elements there): the law's own, or of its media."""
    if not law.dispersive:
        return [("", law.internal)] if law.internal is not None else []
    everywhere = {name: value for name, value in law.dispersive.items() if not isinstance(value, dict)}
    by_region = {name: value for name, value in law.dispersive.items() if isinstance(value, dict)}
    places = {f" in the region {region!r}": everywhere | {name: value[region] for name, value in by_region.items()
                                                          if region in value}
              for region in dict.fromkeys(region for value in by_region.values() for region in value)}
    if everywhere:
        places[" elsewhere" if by_region else ""] = everywhere
    return [(place, law.response(media, None, False, None)) for place, media in places.items()]
