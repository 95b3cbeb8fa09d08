"""The problem that a method solves: a law on a mesh or grid, with boundary conditions, a numerical flux and a source."""
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..physics.boundary import Sponge
from ..physics.declared import declared, refuse_class
from ..physics.laws.law import Law, argument, check_bounds, shown
from ..physics.trace import call
from ..support.wording import choose


@dataclass(frozen=True, eq=False)
class Problem:
    """A law on a mesh or grid, with boundary conditions.

    boundary   {name: condition}, given so or as one condition for all boundaries; "default" stands for all boundaries without
               an entry
    flux       numerical flux, a function of the law such as `dgarray.upwind`; None: the method's default
    source     function of q, x, t that is added to the law's own source; None: none"""

    mesh: object
    law: Law
    boundary: Any = None
    flux: object = None
    source: object = None

    def __post_init__(self):
        given = by_name(self.boundary)
        mesh = self.mesh if self.mesh.structured else self.mesh.whole
        object.__setattr__(self, "boundary", {
            name: own(mesh, name, given) if (own := declared(condition).in_problem) else condition
            for name, condition in given.items()})

    @cached_property
    def numbers(self):
        """{name: number} of the law's parameters, None for those that vary in space."""
        return {name: None if callable(value) or isinstance(value, dict) else float(value)
                for name, value in self.law.parameters.items()}

    @property
    def inputs(self):
        """The arguments that a user's function may have: {"q": components, "x": components, "t": None, "m": parameters}."""
        return {"q": len(self.law.variables), "x": self.mesh.dim, "t": None, "m": self.numbers}

    def parameters(self, x):
        """{name: values} of the law's parameters that are functions of x, at the points x, a tuple of arrays.

        Raises ValueError for values that the law does not allow."""
        return parameters_at(self.law, x)

    def parameter(self, name, x):
        """One parameter of the law at the points x, a number if it is constant. Raises ValueError for an unknown name."""
        number = self.numbers[choose("parameter", name, self.numbers, f" of {self.law!r}; it has")]
        return self.parameters(x)[name] if number is None else number

    def needs(self, method, mesh, law=Law, dim=None, conditions=None):
        """Raise ValueError unless a method can solve this problem; for use in the method's `check`.

        mesh         class that the method works on, `dgarray.Mesh` or `dgarray.Grid`
        law          class of laws that it solves
        dim          1, 2 or 3; None: all
        conditions   boundary conditions that it knows, one of which every side of a grid must have; None: not checked
        A numerical flux and a source of the user are refused."""
        name = type(method).__name__
        if not isinstance(self.mesh, mesh):
            raise ValueError(f"{name} works on a {mesh.__name__}, not on {self.mesh!r}")
        if not isinstance(self.law, law):
            raise ValueError(f"{name} solves the law {law.__name__}, not {self.law!r}")
        if self.law.dim != self.mesh.dim:
            raise ValueError(f"the {mesh.__name__.lower()} has dimension {self.mesh.dim}, but the law has {self.law.dim}: "
                             f"{self.law!r}")
        if dim not in (None, self.mesh.dim):
            raise ValueError(f"{name} is for {dim}D; the problem is {self.mesh.dim}D")
        for role in ("flux", "source"):
            if getattr(self, role) is not None:
                raise ValueError(f"{role}={shown(getattr(self, role))} is not allowed for {name}; leave it out")
        if conditions is not None:
            allowed = ", ".join(shown(condition) for condition in conditions)
            for side, condition in side_conditions(self.mesh, self.boundary).items():
                if not any(condition is each for each in conditions):
                    raise ValueError(f"boundary {side!r}: {shown(condition)} is not allowed for {name}; it takes {allowed}")


def parameters_at(law, x):
    """{name: values} of the law's parameters that are functions of x, at the points x, a tuple of arrays.

    Raises ValueError for values out of the law's bounds."""
    values = {}
    for name, value in law.parameters.items():
        if callable(value):
            values[name] = np.asarray(call(value, dict(x=x), name), float)
            low, high = values[name].min(), values[name].max()
            check_bounds(law, name, values[name], f"{argument(law, name)} between {low:.6g} and {high:.6g}")
    return values


def refuse_regions(law):
    """Raise ValueError for a parameter of the law that is given by region: a grid has none."""
    for name, value in law.parameters.items():
        if isinstance(value, dict):
            raise ValueError(f"{argument(law, name)}={value!r} is by region, but a grid has no regions; give a number or a "
                             "function of x")


def by_name(boundary):
    """The conditions that a user gives, None, one or a dict, as {name: condition}. Raises ValueError for anything else."""
    if isinstance(boundary, dict):
        return {str(name): condition for name, condition in boundary.items()}
    if boundary is not None and not callable(boundary) and not isinstance(boundary, Sponge):
        raise ValueError(f"boundary={boundary!r} is not allowed; give one condition or a dict {{name: condition}}")
    return {} if boundary is None else {"default": boundary}


def side_conditions(grid, boundary):
    """{side: condition} of all sides of a grid that are not periodic; boundary: {name: condition}.

    Raises ValueError for names that do not exist, for values that are not a condition, and for sides without a condition."""
    for name, condition in boundary.items():
        if name != "default":
            choose("boundary", name, grid.boundaries, " on the grid; it has")
        refuse_class(name, condition)
        if not callable(condition) and not isinstance(condition, Sponge):
            raise ValueError(f"boundary {name!r}: {condition!r} is not a condition; give a function such as dgarray.pec, or "
                             "dgarray.Sponge(width)")
    missing = [repr(name) for name in grid.boundaries if name not in boundary and "default" not in boundary]
    if missing:
        sides = f"side {missing[0]} of the grid has" if len(missing) == 1 else f"sides {', '.join(missing)} of the grid have"
        raise ValueError(f"the {sides} no condition; give one by name, boundary={{'default': condition}}, or a periodic axis")
    return {name: boundary.get(name, boundary.get("default")) for name in grid.boundaries}
