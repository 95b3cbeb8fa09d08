"""The formulas of a law as lines of text, from the graphs of its functions."""
from .codegen import formulas
from .fluxes import upwind
from .pointwise import Pointwise

AXES = "xyz"


def inputs(law):
    """The arguments that the functions of a law may have, as `Pointwise` takes them."""
    fields = dict.fromkeys(law.parameters)
    return {"q": len(law.variables), "n": law.dim, "x": law.dim, "t": None, "m": fields}


def readable(law):
    """What to call the inputs of a graph: components by variable, n and x by axis, - and + for the sides of a face."""
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
    parts = [("flux in the direction n", law.flux, given, [f"F_{v}" for v in law.variables]),
             (f"numerical flux ({name}); - inside, + outside", flux(law), sides, [f"F*_{v}" for v in law.variables]),
             ("largest wave speed along n", law.wave_speed, given, ["speed"])]
    if law.capacity is not None:
        parts.append(("capacity: C dq/dt + div F = s", law.capacity, {"m": given["m"]}, [f"C_{v}" for v in law.variables]))
    if law.source is not None:
        parts.append(("source", law.source, given, [f"s_{v}" for v in law.variables]))
    if law.admissible is not None:
        parts.append(("admissible states", law.admissible, given, ["admissible"]))
    lines = [repr(law)]
    for title, function, arguments, outputs in parts:
        graph = Pointwise(function, arguments, title).graph
        lines += [f"{title} [{graph.flops} operations]", *(f"  {line}" for line in formulas(graph, outputs, readable(law)))]
    return lines
