"""A number of a run as a function of its parameters, with its gradient, for scipy.optimize."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .gradient import Derivatives

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    import xarray as xr

    from .gradient import Gradient


class objective:          # noqa: N801  users call it like a function
    """A number of a run as a function of some of its input, with its gradient, as scipy.optimize takes it:

        objective = dgarray.objective(sim, misfit, wrt="sound_speed")
        found = scipy.optimize.minimize(objective, objective.x0, jac=True, method="L-BFGS-B", bounds=...)
        objective.named(found.x)["sound_speed"]

    sim, misfit, wrt, until, every, memory, folder   as of `Simulation.gradient`; wrt: of parameters and points alone
    x0       the values with which the simulation was made: one number of a parameter, one for each region or each element;
             of a parameter that is a function of x what is added to it, 0; the coordinates of the mesh's points
    last     the `Gradient` of the last call"""

    def __init__(self, sim: Any, misfit: Callable, wrt: Any, until: Any = None, every: float | None = None,
                 memory: float | None = None, folder: str | PathLike | None = None):
        self._problem = problem = Derivatives(sim, misfit, wrt, until, every, memory, folder=folder)
        if "initial" in problem.wrt:
            raise ValueError("wrt='initial' is not allowed for an objective; give parameters, and take Simulation.gradient for "
                             "derivatives by the initial state")
        for name in problem.names:
            regions = problem.regions(name)
            inside = [sim.mesh.regions[each] for each in regions]
            if problem.wrt[name] == "region" and np.bincount(np.concatenate(inside)).max() > 1:
                raise ValueError(f"wrt={{{name!r}: 'region'}} is not allowed for an objective: elements are in two of the "
                                 f"regions {', '.join(regions)}; take 'element', or regions that do not overlap")
        self._start = {name: problem.at_places(name) for name in problem.wrt}
        self.x0 = np.concatenate([np.ravel(each) for each in self._start.values()])
        self.last: Gradient | None = None

    def named(self, x: Any) -> dict[str, xr.DataArray]:
        """{name: values} of a flat array of all parameters."""
        x = np.asarray(x, float)
        if x.shape != self.x0.shape:
            raise ValueError(f"x has the shape {x.shape}; it must be {self.x0.shape}, as objective.x0")
        parts = np.split(x, np.cumsum([np.size(each) for each in self._start.values()])[:-1])
        return {name: each.copy(data=part.reshape(each.shape)) for (name, each), part in zip(self._start.items(), parts)}

    def simulation(self, x: Any) -> Any:
        """The simulation with these values."""
        return self._problem.changed(self._more(x))

    def only(self, elements: Any) -> None:
        """Ask for derivatives by the parameters of the elements with these numbers alone: the others may come out as 0."""
        self._problem.elements = np.unique(elements)

    def _more(self, x):
        return {name: self._problem.spread(name, np.asarray(each - self._start[name])) for name, each in self.named(x).items()}

    def __call__(self, x: Any) -> tuple[float, np.ndarray]:
        """J and its gradient, (value, flat array as x)."""
        self.last = found = self._problem.gradient(self._more(x))
        return found.value, np.concatenate([np.ravel(found[name]) for name in self._start])
