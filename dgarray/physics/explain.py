"""Formulas of a law or a boundary condition, as the generated kernels compute them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import boundary as conditions
from .codegen import formulas
from .declared import declared
from .fluxes import upwind
from .law_formulas import AXES, inputs, law_formulas, readable
from .laws import Acoustics, Law, Maxwell
from .pointwise import Pointwise
from .trace import call

if TYPE_CHECKING:
    from collections.abc import Callable


def explain(what: Any, law: Law | None = None, flux: Callable | None = None, kernel: bool = False,
            steps: bool = False) -> None:
    """Print the formulas of a law (flux, numerical flux, source) or of a boundary condition (exterior state), or what a
    simulation does.

    what     a law, or a condition such as dgarray.pec or a user's own function; with kernel=True or steps=True a Simulation
    law      for a condition: the law it is used with (Maxwell(3) for pec and pmc, Acoustics(2) for wall and open)
    flux     for a law: the numerical flux, upwind by default
    kernel   print the generated kernels of a simulation's step, with their formulas, instead
    steps    print the operations of a simulation's step in their order, with the arrays that they read and write, instead
    Raises ValueError for what cannot be explained."""
    if kernel:
        print(kernel_texts(what))
    elif steps:
        print(operator_of(what).step_text())
    elif isinstance(what, Law):
        print("\n".join(law_formulas(what, flux or upwind)))
    elif callable(what):
        usual = {conditions.pec: Maxwell(3), conditions.pmc: Maxwell(3),
                 conditions.wall: Acoustics(2), conditions.pressure_release: Acoustics(2)}
        law = law or usual.get(what)
        if law is None:
            raise ValueError("a boundary condition is explained for a law; give one, e.g. explain(condition, law=Maxwell(3))")
        print("\n".join(condition_formulas(what, law)))
    else:
        raise ValueError(f"{what!r} cannot be explained; give a law or a boundary condition")


def kernel_texts(sim):
    """The texts of the kernels that make a step of a simulation."""
    texts = operator_of(sim).kernel_texts()
    if not texts:
        return f"{sim.method!r} computes by array expressions on {sim.backend!r}; there are no kernels"
    return "\n\n".join(f"# {name}\n{text}" for name, text in texts.items())


def operator_of(sim):
    """The operator of a simulation. Raises ValueError for what is none."""
    operator = getattr(sim, "operator", None)
    if operator is None:
        raise ValueError(f"{sim!r} makes no steps; give a Simulation")
    return operator


def formulas_of(function, law):
    """The formulas of a `Pointwise` function of a law, named after it and the law's variables, a list of lines.

    The names of boundaries are left out: kernels of meshes that name them in another way are the same."""
    count, names = len(law.variables), list(law.variables)
    title = "boundary_flux" if function.name.startswith("boundary") else "_".join(function.name.split())
    outputs = len(function.graph.outputs)
    if outputs == 1:
        results = [title]
    elif outputs == count:
        results = [f"{title}_{v}" for v in names]
    else:
        results = [f"{title}_{names[i % count]}_{i // count}" for i in range(outputs)]
    axes = AXES[:law.dim]
    called = readable(law) | {f"g{i}": f"dr{i // law.dim}/d{axes[i % law.dim]}" for i in range(law.dim ** 2)}
    return formulas(function.graph, results, called | {"s0": "s", "s1": "s+"})


def condition_formulas(condition, law):
    of_faces = declared(condition).of_faces
    given = {"face": dict.fromkeys(of_faces.names)} if of_faces else {}

    def outside(q, n, x, t, m, face=None):
        return call(condition, dict(q=q, n=n, x=x, t=t, m=m, law=law, **dict.fromkeys(given, face)), "boundary condition")
    graph = Pointwise(outside, inputs(law) | given, "exterior state").graph
    names = readable(law) | {f"q{i}": f"{v}-" for i, v in enumerate(law.variables)}
    return [f"exterior state of {getattr(condition, '__name__', condition)} with {law!r}",
            *(f"  {line}" for line in formulas(graph, [f"{v}+" for v in law.variables], names))]
