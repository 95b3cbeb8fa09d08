"""What derivatives of a run are asked for: names and kinds, checked."""
from ...physics.laws.law import argument
from ...support.wording import choose
from .medium_numbers import of_medium
from .moved_points import refuse
from .parameter_places import KINDS

RUN = "initial", "points"          # derivatives that are not by a parameter


def check_run(sim):
    """Raise ValueError for a simulation that has no derivatives."""
    if sim.ranks is not None and sim.mesh.structured:
        raise ValueError(f"gradients on several processes are for NodalDG, ModalDG and TensorDG, not for {sim.method!r}; "
                         "start one process, or give ranks=1")
    if sim.backend.name != "numpy":
        raise ValueError(f"gradients are computed with backend='numpy', not with {sim.backend.name!r}")


def checked(sim, wrt, places):
    """What derivatives are asked for, {name: kind}. Raises ValueError where there are none; places: of parameters."""
    if not isinstance(wrt, str | dict | list | tuple):
        raise ValueError(f"wrt={wrt!r} is not allowed; give a name, several in a list, or {{name: kind}}")
    if not isinstance(wrt, str) and not all(isinstance(name, str) for name in wrt):
        raise ValueError(f"wrt={wrt!r} is not allowed; names are texts")
    wrt = {wrt: True} if isinstance(wrt, str) else dict(wrt) if isinstance(wrt, dict) else dict.fromkeys(wrt, True)
    allowed = (*(RUN[:1] if sim.mesh.structured else RUN), *own_names(sim.law))
    if sim.law.laws is not None and wrt.keys() - {"initial"}:
        raise ValueError(f"wrt={', '.join(wrt)} is not allowed with laws by region, {', '.join(map(str, sim.law.laws))}, where "
                         "derivatives are by the initial state alone; give one law whose parameters are by region, "
                         "{region: number}")
    for name, kind in wrt.items():
        if "." in str(name):          # a number of a medium, see `MediumNumbers`, or of a source or condition, `NamedNumbers`
            if not places.numbers:
                raise ValueError(f"wrt={name!r} is not allowed with {sim.method!r}, which has mirrors and sponges at its sides "
                                 "and no source; give one of: " + ", ".join(allowed))
            kinds = KINDS if of_medium(sim.law, name) else ("number",)
            if name.partition(".")[0] in own_names(sim.law) and not of_medium(sim.law, name):
                raise ValueError(f"wrt={name!r} is not allowed: {name.partition('.')[0]} is not dispersive here, and has no "
                                 "numbers of terms")
        else:
            holders = *(argument(sim.law, each) for each in sim.law.dispersive), "source", "BOUNDARY"
            choose("wrt", name, allowed, f" for {sim.law!r}; derivatives are by", tuple(f"'{each}.NUMBER'" for each in holders))
            kinds = () if name in RUN else KINDS
        if kind in KINDS and kind in kinds and kind not in places.kinds:
            raise ValueError(f"wrt={{{name!r}: {kind!r}}} is not allowed with {sim.method!r}, which works on grids; give "
                             + ", ".join(map(repr, places.kinds)) + places.advice)
        if kind is not True and kind not in kinds:
            raise ValueError(f"wrt={{{name!r}: {kind!r}}} is not allowed; give " + ", ".join(["True", *map(repr, kinds)]))
        own = own_names(sim.law).get(name)
        if sim.ranks is not None and (name == "points" or kind == "node"):
            what = "by the points of a mesh" if name == "points" else "at nodes"
            raise ValueError(f"wrt={name!r} is not allowed on several processes: derivatives {what} are computed by one; start "
                             "one, or give ranks=1")
        if name == "points":
            refuse(sim)
        if kind == "region" and not regions_of(sim, own):
            raise ValueError(f"wrt={{{name!r}: 'region'}} is not allowed: {sim.mesh!r} has no regions; take 'number' or "
                             "'element', or mesh.with_regions(...)")
    if "points" in wrt and "node" in wrt.values():
        raise ValueError("wrt='points' is not allowed together with derivatives at nodes; ask for one after the other")
    if not wrt:
        raise ValueError(f"wrt={wrt!r} asks for nothing; give at least one of: {', '.join(allowed)}")
    return wrt


def own_names(law):
    """{what the law's constructor calls a parameter: its own name}."""
    return {argument(law, name): name for name in law.parameters}


def regions_of(sim, own):
    """The regions of a parameter that is given by region, else those of the mesh."""
    value = sim.law.parameters.get(own)
    return list(value) if isinstance(value, dict) else list(sim.mesh.regions)
