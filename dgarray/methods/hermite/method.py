"""Hermite's method on grids: a polynomial of degree 2N + 1 between nodes that hold N derivatives, evolved by its Taylor series.

Goodrich, Hagstrom & Lorenz 2006; Vargas, Chan, Hagstrom & Warburton 2016.
"""
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

import numpy as np

from ...physics.boundary import Sponge
from ...spaces import GridSpace
from ...stepping import Taylor
from ...support.wording import choose
from ..method import Method
from ..problem import Problem
from .linear import LinearLaw
from .node_tables import HermiteTables, mirror, side_conditions
from .operator import HermiteOperator

VARIANTS = ("two-kernel", "monolithic", "collapsed")


@dataclass(frozen=True)
class Hermite(Method):
    """Hermite's method of order 2N + 1, N = `order` from 0 to 6, for linear laws on a `Grid`. Its largest stable time step, h
    over the wave speed, does not depend on N.

    order        whole number from 0 to 6, by default 3
    stages       number of terms of the Taylor series in time. The default dim (2N + 1) is exact for constant coefficients;
                 fewer are cheaper, of lower order in time, and may need a smaller cfl
    variant      "two-kernel": interpolate at all nodes, then evolve all; "monolithic": both in one pass; "collapsed": one
                 matrix along each axis does both, for laws with constant coefficients whose variables do not depend on one
                 another; None: the fastest. All agree to rounding
    pruned       leave out coefficients that no later stage needs
    derivatives  whether the output keeps all scaled derivatives besides the values
    force        whether to run with a cfl above 1, or with a dt above the largest stable one; else that is an error
    Raises ValueError for values that are not allowed.
    Goodrich, Hagstrom & Lorenz 2006; Vargas, Chan, Hagstrom & Warburton 2016."""

    programs = True
    order: int = 3
    stages: int | None = None
    variant: str | None = None
    pruned: bool = True
    derivatives: bool = False
    force: bool = False

    def __post_init__(self):
        if not isinstance(self.order, Integral) or isinstance(self.order, bool) or self.order not in range(7):
            raise ValueError(f"order={self.order!r} is not allowed for Hermite; it must be a whole number from 0 to 6")
        if self.stages is not None and (not isinstance(self.stages, Integral) or isinstance(self.stages, bool)
                                        or not 1 <= self.stages <= 100):
            raise ValueError(f"stages={self.stages!r} is not allowed for Hermite; it must be None or a whole number from 1 to "
                             "100")
        if self.variant is not None:
            choose("variant", self.variant, VARIANTS)
        for name in ("pruned", "derivatives", "force"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name}={getattr(self, name)!r} is not allowed for Hermite; it must be True or False")

    def __repr__(self):
        more = "".join(f", {f.name}={value!r}" for f in fields(self)[1:] if (value := getattr(self, f.name)) != f.default)
        return f"Hermite(order={self.order!r}{more})"

    def check(self, problem: Problem) -> None:
        """Raise ValueError where grid, law, boundary, flux and source do not fit the method or one another."""
        grid, law, flux = problem.mesh, problem.law, problem.flux
        if not grid.structured:
            raise ValueError(f"Hermite works on grids, not on {grid!r}; give e.g. dgarray.Grid(lower=(0, 0), upper=(1, 1), "
                             "cells=(64, 64))")
        if law.dim != grid.dim:
            raise ValueError(f"the grid has dimension {grid.dim}, but the law has {law.dim}: {law!r}")
        if flux is not None:
            raise ValueError(f"Hermite has no numerical flux, but got flux={getattr(flux, '__name__', flux)}; leave it out")
        if problem.source is not None:
            raise ValueError("Hermite takes no source=; a source of the law itself, such as a conductivity, is allowed")
        linear = LinearLaw(law)
        if self.variant == "collapsed":
            self.chosen(linear, None)
        for name, condition in side_conditions(grid, problem.boundary).items():
            if not isinstance(condition, Sponge):
                mirror(linear, grid, name, condition)

    @property
    def strict(self) -> bool:
        """Whether a step above the largest stable one is refused."""
        return not self.force

    def space(self, problem: Problem) -> Any:
        return GridSpace(problem.mesh, self.order)

    def stepper(self, name: str | None) -> Any:
        """The Taylor series in time. Raises ValueError for the name of any other stepper."""
        if name not in (None, Taylor.name):
            raise ValueError(f"stepper={name!r} is not allowed for Hermite, which steps by a Taylor series in time; leave it "
                             "out")
        return Taylor

    def chosen(self, linear: Any, backend: Any) -> Any:
        """The variant that runs for a law (`LinearLaw`) on a backend.

        Raises ValueError for "collapsed" where a half-step is not a product of one matrix along each axis."""
        collapsible = self.collapsible(linear)
        if self.variant == "collapsed" and not collapsible:
            raise ValueError(f"variant='collapsed' is not possible for {linear.law!r}"
                             + (f" with stages={self.stages}" if self.stages else "") + "; it needs constant coefficients, "
                             "variables that do not depend on one another, and all stages")
        if self.variant or collapsible:
            return self.variant or "collapsed"
        return backend.hermite_variant(linear.varies)

    def collapsible(self, linear: Any) -> bool:
        """Whether a half-step is a product of one matrix along each of x, y and z: constant coefficients, no variable depends
        on another, and the Taylor series has all stages."""
        if linear.varies or (self.stages or np.inf) < linear.law.dim * (2 * self.order + 1):
            return False
        system = linear.system((0.0,) * linear.law.dim, (1.0,) * linear.law.dim, 0)
        terms, decay = system.terms()
        return not decay and all(i == j for i, _, j, _ in terms)

    def halo(self, problem: Problem) -> int:
        """One row: half a step reads the nodes half a cell away, on either side."""
        return 1

    def unknowns_of_place(self, problem: Problem) -> tuple[int, int]:
        return ((self.order + 1) ** problem.mesh.dim,) * 2

    def tables(self, problem: Problem) -> Any:
        """The `HermiteTables` of a problem."""
        return HermiteTables(self, problem.mesh, problem.law, problem.boundary)

    def operator(self, problem: Problem, backend: Any) -> Any:
        """The `HermiteOperator` of a problem on a backend."""
        return HermiteOperator(problem, self, self.tables(problem), backend)
