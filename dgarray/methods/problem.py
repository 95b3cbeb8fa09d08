"""What a method is given: a law on a mesh or grid, with boundary conditions, a numerical flux and a source."""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..physics.boundary import Sponge
from ..physics.laws.law import Law, argument, check_bounds, shown
from ..physics.trace import call
from ..wording import choose


@dataclass(frozen=True, eq=False)
class Problem:
    """A law on a mesh or grid.

    boundary   {name: condition}, or one condition for all boundaries; "default" stands for all others
    flux       numerical flux, a function of the law;  source: function of q, x, t, added to the law's own; None: none"""

    mesh: object
    law: Law
    boundary: object = None
    flux: object = None
    source: object = None

    @cached_property
    def numbers(self):
        """{name: number} of the law's parameters, None for those that vary in space."""
        return {name: None if callable(value) or isinstance(value, dict) else float(value)
                for name, value in self.law.parameters.items()}

    @property
    def inputs(self):
        """What a function of the user may ask for: {"q": components, "x": components, "t": None, "m": parameters}."""
        return {"q": len(self.law.variables), "x": self.mesh.dim, "t": None, "m": self.numbers}

    def parameters(self, x):
        """{name: values} at the places x, a tuple of arrays, of the parameters that are functions of x.

        Raises ValueError for values that the law does not allow."""
        return parameters_at(self.law, x)

    def parameter(self, name, x):
        """One parameter of the law at the places x: a number where it is one. Raises ValueError for an unknown name."""
        number = self.numbers[choose("parameter", name, self.numbers, f" of {self.law!r}; it has")]
        return self.parameters(x)[name] if number is None else number

    def needs(self, method, mesh, law=Law, dim=None, conditions=None):
        """Raise ValueError unless this problem is one that a method can solve, for the method's `check`.

        mesh         class, `dgarray.Mesh` or `dgarray.Grid`;  law: class;  dim: 1, 2 or 3, None for all
        conditions   the boundary conditions that the method knows; every side of a grid has one of them
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
    """{name: values} at the places x of the law's parameters that are functions of x.

    Raises ValueError for values out of bounds."""
    values = {}
    for name, value in law.parameters.items():
        if callable(value):
            values[name] = np.asarray(call(value, dict(x=x), name), float)
            low, high = values[name].min(), values[name].max()
            check_bounds(law, name, values[name], f"{argument(law, name)} between {low:.6g} and {high:.6g}")
    return values


def side_conditions(grid, boundary):
    """{side: condition} of all sides of a grid that are not periodic.

    Raises ValueError for names that do not exist, for what is no condition, and for sides without one."""
    if boundary is None:
        boundary = {}
    if not isinstance(boundary, dict):
        boundary = {"default": boundary}
    for name, condition in boundary.items():
        if name != "default":
            choose("boundary", str(name), grid.boundaries, " on the grid; it has")
        if not callable(condition) and not isinstance(condition, Sponge):
            raise ValueError(f"boundary {name!r}: {condition!r} is not a condition; give a function such as dgarray.pec, or "
                             "dgarray.Sponge(width)")
    missing = [repr(name) for name in grid.boundaries if name not in boundary and "default" not in boundary]
    if missing:
        sides = f"side {missing[0]} of the grid has" if len(missing) == 1 else f"sides {', '.join(missing)} of the grid have"
        raise ValueError(f"the {sides} no condition; give one by name, boundary={{'default': condition}}, or a periodic axis")
    return {name: boundary.get(name, boundary.get("default")) for name in grid.boundaries}
