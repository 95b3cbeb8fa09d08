"""A number of a run as a function of densities between two media, with its gradient, for scipy.optimize."""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from ...support.wording import choose
from .design_media import between_media, check_media
from .objective import objective

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

ROUNDING = 1e-12          # by which densities may miss 0 and 1


class design:          # noqa: N801  users call it like a function
    """A number of a run as a function of densities between two media, in each element of a region or at its nodes, with its
    gradient, as scipy.optimize takes it:

        design = dgarray.design(sim, misfit, between=({"sound_speed": 1.0}, {"sound_speed": 0.5}), where="lens", radius=0.1)
        found = scipy.optimize.minimize(design, design.x0, jac=True, method="L-BFGS-B", bounds=design.bounds)
        design.density(found.x), design.simulation(found.x)

    A cone filters the densities x, tanh projects them towards 0 and 1, and each parameter m is linear in the result:

        y_i = sum_j w_ij V_j x_j / sum_j w_ij V_j,   w_ij = max(0, radius - |c_i - c_j|)
        rho = (tanh(beta eta) + tanh(beta (y - eta))) / (tanh(beta eta) + tanh(beta (1 - eta)))
        m = m_0 + rho (m_1 - m_0)

    c, V are centres and measures of the region's elements, or nodes and equal shares of the measures.

    sim      the simulation, or several in a list, on one mesh
    misfit   as of `Simulation.gradient`; of several simulations one for all or one for each, which add up
    until, every, memory, folder   as of `Simulation.gradient`
    between  (m_0, m_1), the two media: {what the law's constructor calls a parameter: number}, both with the same names; eps
             and mu of Maxwell may be dispersive, too: at every frequency they are linear in rho, as the factors of their terms
    where    a region of the mesh, or several in a list, or a function of x that is true at the centres of its elements; None:
             all.  Elsewhere media are those of the simulation
    radius   of the cone; 0: no filter
    beta     sharpness of the projection; 0: none, rho = y
    eta      threshold of the projection, between 0 and 1
    at       "element" (default), or "node": a density at each node of each element, between which media are polynomials

    x0       densities whose projection gives the simulation's own value of the first parameter, as near as they can
    bounds   [(0, 1), ...] of x
    Bourdin 2001 (the filter); Wang, Lazarov & Sigmund 2011 (the projection)."""

    def __init__(self, sim: Any, misfit: Callable | Sequence[Callable], between: Sequence[dict[str, float]],
                 where: str | Sequence[str] | Callable | None = None, radius: float = 0.0, beta: float = 0.0, eta: float = 0.5,
                 until: Any = None, every: float | None = None, memory: float | None = None,
                 folder: str | PathLike | None = None, at: str = "element"):
        sims = list(sim) if isinstance(sim, list | tuple) else [sim]
        misfits: list[Any] = list(misfit) if isinstance(misfit, list | tuple) else [misfit] * len(sims)
        check_lists(sims, misfits)
        check_media(between)
        for name, value, high in (("radius", radius, np.inf), ("beta", beta, np.inf), ("eta", eta, 1.0)):
            if not isinstance(value, Real) or not (0 <= value <= high and np.isfinite(value)):
                raise ValueError(f"{name}={value!r} is not allowed; it must be a number from 0" + " to 1" * (name == "eta"))
        mesh = sims[0].mesh
        self.beta, self.eta = beta, eta
        self._inside = elements_of(mesh, where)
        with_both = [between_media(each, between, where, self._inside) for each in sims]
        self._change = with_both[0][1]
        at = choose("design: at", at, ("element", "node"))
        self._parts = [objective(each, own, dict.fromkeys(change, at), until, every, memory, folder)
                       for (each, change), own in zip(with_both, misfits)]
        for part in self._parts:
            part.only(self._inside)
        first, (low, change) = next((name, both) for name, both in self._change.items() if both[1])
        given = by_elements(self._parts[0].named(self._parts[0].x0)[first])
        count = given.size // mesh.cell_count          # of unknowns in an element
        self._places = (self._inside[:, None] * count + np.arange(count)).ravel()
        measures = np.broadcast_to(mesh.measures, mesh.cell_count)          # of a grid there is one
        self._volumes = np.repeat(measures[self._inside] / count, count)
        centres = np.stack([np.ravel(given[axis].values)[self._places] for axis in "xyz"[:mesh.dim]], axis=1)
        self._filter = cone_filter(centres, self._volumes, radius)
        self.x0 = unprojected(np.clip((np.ravel(given.values)[self._places] - low) / change, 0, 1), beta, eta)
        self.bounds = [(0.0, 1.0)] * len(self._places)

    def __call__(self, x: Any) -> tuple[float, np.ndarray]:
        """J and its gradient, (value, flat array as x)."""
        filtered = self._filtered(x)
        found = [part(given) for part, given in zip(self._parts, self._values(x))]
        by_media = np.sum([gradient for _, gradient in found], axis=0).reshape(len(self._change), -1)[:, self._places]
        by_density = np.array([change for _, change in self._change.values()]) @ by_media
        _, slope = projection(filtered, self.beta, self.eta)
        return sum(value for value, _ in found), self._filter.T @ (slope * by_density)

    def density(self, x: Any) -> xr.DataArray:
        """rho, filtered and projected, of the elements of the region, with their centres, or at their nodes."""
        rho, _ = projection(self._filtered(x), self.beta, self.eta)
        place = next(iter(self._parts[0].named(self._parts[0].x0).values()))
        place = by_elements(place).isel(element=self._inside)
        return place.copy(data=rho.reshape(place.shape)).rename("density").assign_attrs(long_name="density", units="1")

    def media(self, x: Any) -> dict[str, xr.DataArray]:
        """{name: values} of the parameters in all elements of the mesh."""
        return self._parts[0].named(self._values(x)[0])

    def simulation(self, x: Any) -> Any:
        """The simulation with these densities; of several a list."""
        found = [part.simulation(given) for part, given in zip(self._parts, self._values(x))]
        return found if len(found) > 1 else found[0]

    def grayness(self, x: Any) -> float:
        """The mean of 4 rho (1 - rho): 0 where each element has one of the two media, 1 where rho = 1/2."""
        rho = self.density(x).values.ravel()
        return float(np.average(4 * rho * (1 - rho), weights=self._volumes))

    def _filtered(self, x):
        x = np.asarray(x, float)
        if x.shape != self.x0.shape:
            raise ValueError(f"x has the shape {x.shape}; it must be {self.x0.shape}, as design.x0")
        return self._filter @ x

    def _values(self, x):
        """The parameters in all elements, flat, for each simulation."""
        rho, _ = projection(self._filtered(x), self.beta, self.eta)
        ends, found = np.clip(rho, 0, 1), []
        rho = np.where(np.abs(rho - ends) < ROUNDING, ends, rho)          # what is 0 or more must not be -1e-16
        for part in self._parts:
            values = part.x0.reshape(len(self._change), -1).copy()
            values[:, self._places] = [low + rho * change for low, change in self._change.values()]
            found.append(values.ravel())
        return found


def by_elements(values):
    """Values of a mesh's elements, or of a grid's cells (z, y, x) one after the other, as an array with the dim element."""
    return values if "element" in values.dims else values.stack(element=values.dims).reset_index("element")


def elements_of(mesh, where):
    """The numbers of the elements of regions, or of those where a function of x is true; None: of all. Raises ValueError where
    there are none."""
    if where is None:
        return np.arange(mesh.cell_count)
    if not isinstance(where, str | list | tuple) and not callable(where):
        raise ValueError(f"where={where!r} is not allowed; give the name of a region, several in a list, a function of x, or "
                         "None for all")
    inside = np.zeros(mesh.cell_count, bool)
    if callable(where):
        inside[...] = where(tuple(mesh.centroids.T))
    for name in [] if callable(where) else [where] if isinstance(where, str) else where:
        inside[mesh.regions[choose("region", name, mesh.regions, " in the mesh; it has")]] = True
    if not inside.any():
        raise ValueError(f"where={where!r} has no element; give at least one region that has")
    return np.flatnonzero(inside)


def cone_filter(centres, volumes, radius):
    """The matrix of the filter, whose rows have the sum 1; see `design`."""
    count, tree = len(centres), cKDTree(centres)
    nearest = tree.query(centres, 2)[0][:, 1].min() if count > 1 else 0.0
    if 0 < radius <= nearest * (1 + 1e-9):
        raise ValueError(f"radius={radius!r} is not allowed, since it filters nothing: the centres of elements are at least "
                         f"{nearest:.3g} apart; give more, or 0")
    pairs = tree.sparse_distance_matrix(tree, radius, output_type="coo_matrix")
    weights = (radius - pairs.data) * volumes[pairs.col] if radius else np.ones(count)
    matrix = csr_array((weights, (pairs.row, pairs.col)), shape=(count, count))
    return csr_array(matrix.multiply(1 / matrix.sum(axis=1)[:, None]))


def projection(y, beta, eta):
    """rho and its derivative by y; see `design`."""
    if not beta:
        return y, np.ones_like(y)
    low, size = ends(beta, eta)
    step = np.tanh(beta * (y - eta))
    return (low + step) / size, beta * (1 - step**2) / size


def unprojected(rho, beta, eta):
    """y from 0 to 1 whose projection is rho."""
    if not beta:
        return rho
    low, size = ends(beta, eta)
    with np.errstate(divide="ignore"):          # of a step so sharp that tanh is 1
        return np.clip(eta + np.arctanh(np.clip(rho * size - low, -1, 1)) / beta, 0, 1)


def ends(beta, eta):
    """What the step of the projection is below 0 at y = 0, and its height from there to y = 1."""
    low = np.tanh(beta * eta)
    return low, low + np.tanh(beta * (1 - eta))


def check_lists(sims, misfits):
    """Raise ValueError unless there is one misfit for each simulation, and all are on one mesh."""
    wrong = [each for each in sims if not hasattr(each, "gradient")]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not allowed; give a Simulation, or several in a list")
    if not sims or len(misfits) != len(sims):
        raise ValueError(f"{len(misfits)} misfits for {len(sims)} simulations are not allowed; give at least one simulation, "
                         "and one misfit or one for each")
    if not all(np.array_equal(each.mesh.centroids, sims[0].mesh.centroids) for each in sims):
        raise ValueError("the simulations are on several meshes; make them on one")
