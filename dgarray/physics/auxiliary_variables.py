"""Internal variables: unknowns of some elements beside the law's, with ordinary differential equations at each point.

Absorbing layers and dispersive media have such, and a law of one's own may."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from .trace import call, parameters

if TYPE_CHECKING:
    from collections.abc import Callable

ALLOWED = "q", "w", "x", "t", "m"


@dataclass(frozen=True)
class Internal:
    """Internal variables w beside the variables q of a law, as the attribute `internal` of a law:

        C dq/dt + div F(q) = s + adds(q, w),   dw/dt = rate(q, w)

    names     of the internal variables
    rate      function that asks for its arguments by name, of q, w, x, t and m -> dw/dt, one component for each name
    adds      the same -> what joins the source of the law, one component for each variable of the law
    energy    None, or a function of q, w, x and m -> density of the energy that the internal variables hold; it joins the law's
    fastest   None, or a number: how fast they change at most, 1 / time, where the time step comes from wave speeds (a law whose
              waves depend on the state); steps of other laws come from the eigenvalues of all equations together
    replaces_source   whether `adds` has the law's own source in it
    carried   functions (n, m) -> vector a, linear in n. For each, in turn, as many internal variables as the law has variables
              take a share of the law's fluxes:  dw/dt + sum_k d_k (F(q) . a(e_k)) = rate(q, w)
    moved     of which of the law's variables each of these takes the fluxes, numbers; (): of all
    parameters   {name: number or function of x}: parameters beside the law's, which rate and adds find in m
    They are zero at the start. ValueError for functions that ask for anything else, and names that are no words."""

    names: tuple[str, ...]
    rate: Callable
    adds: Callable
    energy: Callable | None = None
    fastest: float | None = None
    replaces_source: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)
    carried: tuple[Callable, ...] = ()
    moved: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self):
        names = self.names if isinstance(self.names, (tuple, list)) else None
        good = names is not None and all(isinstance(name, str) and name.isidentifier() for name in names)
        if not good or len(set(names)) < len(names):
            raise ValueError(f"names={self.names!r} of internal variables is not allowed; give different words in a tuple")
        object.__setattr__(self, "names", tuple(names))
        if self.fastest is not None and not (isinstance(self.fastest, Real) and 0 <= self.fastest < float("inf")):
            raise ValueError(f"fastest={self.fastest!r} of internal variables is not allowed; it must be a number from 0")
        if not isinstance(self.parameters, dict):
            raise ValueError(f"parameters={self.parameters!r} of internal variables is not allowed; give {{name: value}}")
        for role in ("rate", "adds", "energy"):
            function = getattr(self, role)
            if function is None and role == "energy":
                continue
            if not callable(function):
                raise ValueError(f"{role}={function!r} is not allowed; it must be a function of some of {', '.join(ALLOWED)}")
            allowed = [name for name in ALLOWED if role != "energy" or name != "t"]
            strange = [name for name, p in parameters(function).items() if name not in allowed and p.default is p.empty]
            if strange:
                raise ValueError(f"{role} of internal variables asks for {', '.join(strange)}; allowed: {', '.join(allowed)}")

    def found(self, role, given):
        """The result of the function of that role, such as "rate", for the arguments {name: value}. Raises ValueError where it
        takes a component that does not exist."""
        try:
            return call(getattr(self, role), given, role)
        except IndexError as error:
            raise ValueError(f"{role} of internal variables takes a component that does not exist; q has {len(given['q'])}, w "
                             f"has {len(given['w'])} ({', '.join(self.names)}), both counted from 0") from error

    def carrying(self, moved, count):
        """A copy without those carried variables that no flux moves. They stay zero: their rates must be those of decay.

        moved: as above, of a law with so many variables, where each of `carried` takes all fluxes before"""
        first = count * len(self.carried)
        kept = [k * count + v for k, some in enumerate(moved) for v in some] + list(range(first, len(self.names)))
        if len(kept) == len(self.names):
            return self
        place = {number: i for i, number in enumerate(kept)}

        def all_of(w):
            return tuple(w[place[number]] if number in place else 0.0 for number in range(len(self.names)))

        def rate(q, w, x, t, m):
            found = self.found("rate", dict(q=q, w=all_of(w), x=x, t=t, m=m))
            return tuple(found[number] for number in kept)

        def adds(q, w, x, t, m):
            return self.found("adds", dict(q=q, w=all_of(w), x=x, t=t, m=m))

        def energy(q, w, x, m):
            return self.found("energy", dict(q=q, w=all_of(w), x=x, m=m))
        return replace(self, names=tuple(self.names[number] for number in kept), rate=rate, adds=adds,
                       energy=None if self.energy is None else energy, moved=tuple(map(tuple, moved)))
