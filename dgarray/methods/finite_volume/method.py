"""Finite volumes on grids: first order, MUSCL-Hancock and WENO-Z, axis by axis or unsplit."""
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...physics.boundary import absorbing
from ...physics.declared import declared
from ...physics.fluxes import central, kennedy_gruber, ranocha
from ...physics.laws.law import shown
from ...spaces import GridSpace
from ...stepping import STEPPERS, Stage
from ...support.wording import choose, plural
from ..method import Method
from ..problem import Problem, refuse_regions, side_conditions
from .courant import courant_limit
from .operator import FiniteVolumeOperator
from .reconstruction import LIMITERS
from .schemes import SCHEMES, Weno
from .tables import GridTables

VARIABLES = ("conserved", "primitive", "characteristic")
LEAST_COURANT = 0.2          # of a stepper; others are refused
UNDAMPED = central, ranocha, kennedy_gruber          # fluxes without dissipation, with which waves grow


class Strang:
    """The stepper of a step that sweeps along the axes, forth and back: no stages that one could choose."""

    name, order, stages = "strang", 2, (Stage(),)


@dataclass(frozen=True)
class FiniteVolume(Method):
    """Finite volumes for every law on a `Grid` in 1D, 2D and 3D, with the numerical flux of the simulation.

    scheme      "first-order": averages;  "muscl": MUSCL-Hancock, second order, with limited slopes;  "weno": fifth order, by
                finite differences of split fluxes (then the values are those at the cells' centres, and the numerical flux is
                that of Lax and Friedrichs)
    splitting   "strang": sweeps along x, y, z, and back, each half a step long, of second order at most;  None: all axes at
                once, advanced by a Runge-Kutta method;  "auto": None for weno, else "strang"
    limiter     of muscl: "minmod", "van-leer" or "mc";  None: no limit, for smooth solutions, whose gradients exist then
    variables   whose slopes are limited, or which weno reconstructs: "conserved", "primitive" (muscl), "characteristic";
                "auto": of muscl primitive, of weno characteristic, each where the law has them, else conserved
    safe        whether the faces of a cell whose new state is not finite or not admissible get the flux of first order; the
                report counts them
    Raises ValueError for values that are not allowed.
    Helluy, Strub, Massaro & Roberts 2015, section 2; van Leer 1984; Jiang & Shu 1996; Borges et al. 2008."""

    scheme: str = "muscl"
    splitting: str | None = "auto"
    limiter: str | None = "van-leer"
    variables: str = "auto"
    safe: bool = True
    has_flux, order_gain, programs = True, 0, True

    def __post_init__(self):
        choose("scheme", self.scheme, SCHEMES)
        if self.limiter is not None:
            choose("limiter", self.limiter, LIMITERS, also=["None"])
        choose("variables", self.variables, ("auto", *VARIABLES))
        if self.splitting is not None:
            choose("splitting", self.splitting, ("auto", "strang"), also=["None"])
        if not isinstance(self.safe, (bool, np.bool_)):
            raise ValueError(f"safe={self.safe!r} is not allowed for FiniteVolume; it must be True or False")
        weno = self.scheme == "weno"
        if self.splitting == "auto":
            object.__setattr__(self, "splitting", None if weno else "strang")
        if weno and self.splitting == "strang":
            raise ValueError("splitting='strang' is not allowed with scheme='weno': splitting is of second order; give None")
        if weno and self.variables == "primitive":
            raise ValueError("variables='primitive' is not allowed with scheme='weno', which reconstructs fluxes; allowed: "
                             "conserved, characteristic")

    @property
    def has_products(self) -> bool:
        """Whether laws may have nonconservative products: with weno, whose fluxes are finite differences, not."""
        return self.scheme != "weno"

    @property
    def order(self) -> int:
        """Order of accuracy in space: 1, 2 or 5."""
        return SCHEMES[self.scheme].order

    def halo(self, problem: Problem) -> int:
        """Rows of neighbours that a part of a grid has: those that a sweep reads, or in 3D two of them at once, where no sweep
        is repaired before the next."""
        apart = self.safe and self.scheme != "first-order"
        return SCHEMES[self.scheme].ghosts * (2 if self.splitting and problem.mesh.dim == 3 and not apart else 1)

    def chosen_variables(self, law: Any) -> str:
        """The variables that are reconstructed for a law. Raises ValueError where the law does not have them."""
        has = {"conserved": not law.together, "primitive": law.primitive is not None and law.conservative is not None,
               "characteristic": law.characteristic is not None and law.from_characteristic is not None}
        wanted = "characteristic" if self.scheme == "weno" else "primitive"
        if self.variables == "auto":
            return wanted if has[wanted] else "conserved"
        if self.variables == "conserved" and law.together:
            raise ValueError(f"variables='conserved' is not allowed for {law!r}: slopes that are limited one by one make waves "
                             "of pressure where the fluids meet; give 'primitive'")
        if not has[self.variables]:
            raise ValueError(f"variables={self.variables!r} is not possible for {law!r}, which has no {self.variables} "
                             f"variables; it has {', '.join(name for name in VARIABLES if has[name])}")
        return self.variables

    def check(self, problem: Problem) -> None:
        """Raise ValueError or TypeError where grid, law, boundary, flux and source do not fit the method or one another."""
        grid, law = problem.mesh, problem.law
        if not grid.structured:
            raise ValueError(f"FiniteVolume works on grids, not on {grid!r}; give e.g. dgarray.Grid(lower=(0, 0), "
                             "upper=(1, 1), cells=(64, 64))")
        if law.dim != grid.dim:
            raise ValueError(f"the grid has dimension {grid.dim}, but the law has {law.dim}: {law!r}")
        refuse_regions(law)
        least = SCHEMES[self.scheme].ghosts
        for axis, n in zip("xyz", grid.cells):
            if n < least:
                raise ValueError(f"the grid has {plural(n, 'cell')} along {axis}; scheme={self.scheme!r} needs at least "
                                 f"{least}")
        if self.scheme != "first-order":
            self.chosen_variables(law)
        if self.scheme != "weno" and problem.flux in UNDAMPED:
            raise ValueError(f"flux={problem.flux.__name__} is not allowed for FiniteVolume: it has no dissipation, and waves "
                             "grow at every step length; leave it out, or give one such as dgarray.rusanov")
        for name, condition in side_conditions(grid, problem.boundary).items():
            if not callable(condition) or declared(condition).of_faces:
                raise ValueError(f"boundary {name!r}: {shown(condition)} is not for finite volumes; give a function such as "
                                 "dgarray.outflow, dgarray.wall or dgarray.prescribed(g)")
            if condition is absorbing and self.scheme == "weno":
                raise ValueError(f"boundary {name!r}: absorbing is not allowed with scheme='weno', whose stencils reach beyond "
                                 "the side into a state of zeros; it needs scheme='muscl', or outflow where everything leaves")
            if check := declared(condition).check:
                check(grid, grid.boundaries[name], law)
        tables = self.tables(problem)
        functions = [tables.rate, tables.physics.sound, *(s.outside for pair in tables.sides for s in pair if s.outside),
                     *(stencil.function for axis in (*tables.sweeps, tables.simple) for stencil in axis),
                     *([tables.physics.source_step.function] if tables.physics.sources else [])]
        for function in functions:
            function.graph                                    # noqa: B018  tracing is the check

    def space(self, problem: Problem) -> Any:
        """Values that belong to the cells."""
        return GridSpace(problem.mesh.with_values("cell centres" if SCHEMES[self.scheme] is Weno else "cell averages"))

    def stepper(self, name: str | None) -> Any:
        """The time stepper with that name: with splitting the method's own; else one of `dgarray.stepping`, by default ssp54
        for weno and ssp22 for the others. Raises ValueError for one that does not fit."""
        if self.splitting == "strang":
            if name not in (None, Strang.name):
                raise ValueError(f"stepper={name!r} is not allowed for FiniteVolume with splitting='strang', which has its own "
                                 "step; leave it out, or give splitting=None")
            return Strang
        scheme = SCHEMES[self.scheme]
        stepper = STEPPERS[choose("stepper", name or ("ssp54" if scheme is Weno else "ssp22"), STEPPERS)]
        if courant_limit(scheme, stepper) < LEAST_COURANT:
            raise ValueError(f"stepper={stepper.name!r} has no useful stable step with scheme={self.scheme!r}; take another")
        return stepper

    def tables(self, problem: Problem) -> Any:
        """The `GridTables` of a problem."""
        return GridTables(self, problem)

    def operator(self, problem: Problem, backend: Any) -> Any:
        """The `FiniteVolumeOperator` of a problem on a backend."""
        return FiniteVolumeOperator(problem, self, self.tables(problem), backend)
