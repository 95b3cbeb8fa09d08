"""Shared by several cases: mesh files, choice of a method, shock relations, results at the end of a run."""
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from dgarray import ModalDG, NodalDG, TensorDG, box, hll, hllc, ranocha, roe, rusanov
from dgarray.mesh import Mesh, read_mesh
from dgarray.methods.dg.limiters.tables import INDICATORS, LIMITERS
from dgarray.output.dataset import variables_of
from dgarray.reference import modal_simplex
from dgarray.support.wording import choose

MESHES = Path(__file__).parent / "meshes"
FLUXES = {flux.__name__: flux for flux in (rusanov, hll, hllc, roe)}


def case_mesh(mesh, built_in, dim=None):
    """The user's mesh (a path or a Mesh), or the case's own (a function, or the name of a file in `meshes`).

    Raises ValueError for a mesh of another dimension than the case has (None: any)."""
    if mesh is None:
        return built_in() if callable(built_in) else read_mesh(MESHES / built_in)
    mesh = mesh if isinstance(mesh, Mesh) else read_mesh(mesh)
    if dim is not None and mesh.dim != dim:
        raise ValueError(f"{mesh.source} is {mesh.dim}D ({mesh.cell_type} cells); this case is {dim}D")
    return mesh


def check_box(mesh, *sides):
    """Raise ValueError unless the mesh fills a box along the axes, with the extents (low, high), ... along the first of them.

    Without extents the box may have any size."""
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    size = float(np.prod(high - low))
    wrong = any(not np.allclose(ends, (a, b), atol=1e-6) for ends, a, b in zip(sides, low, high))
    if wrong or abs(mesh.measures.sum() - size) > 1e-6 * size:
        box = " x ".join(f"[{a:g}, {b:g}]" for a, b in sides) + " x ..." * (0 < len(sides) < mesh.dim)
        raise ValueError(f"{mesh.source} does not fill {box or 'a box along the axes'}, as this case needs it")


def check_numbers(above=None, least=None, whole=False, **keywords):
    """Raise ValueError unless each of these keywords is a finite number within its bounds, or a whole number."""
    for name, value in keywords.items():
        good = isinstance(value, Integral if whole else Real) and not isinstance(value, bool) and np.isfinite(value)
        if not good or (above is not None and value <= above) or (least is not None and value < least):
            bound = f" above {above:g}" if above is not None else f", {least:g} or more" if least is not None else ""
            raise ValueError(f"{name}={value!r} is not allowed; it must be a {'whole' if whole else 'finite'} number{bound}")


def dg_method(method, order, start, methods=("modal", "nodal")):
    """ModalDG, NodalDG or TensorDG of that order, by the names "modal", "nodal" and "tensor", as far as the case has them.

    Modal DG always starts from the projection."""
    if choose("method", method, methods) == "nodal":
        return NodalDG(order, start)
    if method == "tensor":
        return TensorDG(order, start=start)
    choose("start", start, ("projection",), " for modal DG; allowed")
    return ModalDG(order)


def energy_ratio(dataset):
    """Energy of the last snapshot over that of the first, for laws whose energy is half the sum of squares."""
    first, last = (sum(dataset.dg.norm(name, time) ** 2 for name in dataset.dg.variables) for time in (0, -1))
    return last / first


def limited_dg(order, start, limiter, limiter_variables, indicator, positivity):
    """ModalDG for flow with shocks; limiter "auto": barth-jespersen at order 1, vertex above, none at order 0.

    For the limiter and the indicator "none" means None, as the command line has no None."""
    choose("start", start, ("projection",), " for modal DG; allowed")
    choose("limiter", "none" if limiter is None else limiter, (*LIMITERS, "auto", "none"))
    choose("indicator", "none" if indicator is None else indicator, (*INDICATORS, "none"))
    if limiter == "auto":
        limiter = (None, "barth-jespersen")[order] if order < 2 else "vertex"
    names = {"limiter": limiter, "limiter_variables": limiter_variables, "indicator": indicator}
    return ModalDG(order, **{key: None if name == "none" else name for key, name in names.items()}, positivity=positivity)


def shock_dg(method, order, start, positivity, shock_capturing, **limiting):
    """`limited_dg` with these options of the limiter, or TensorDG for flow with shocks, in split form with finite volumes.

    method: "modal" or "tensor";  shock_capturing: of the latter, a number, "none", or "auto" for 0.5
    Raises ValueError for options that the method does not have."""
    if choose("method", method, ("modal", "tensor")) == "modal":
        if shock_capturing != "auto":
            raise ValueError(f"shock_capturing={shock_capturing!r} is not allowed with method='modal'; it must be 'auto'")
        return limited_dg(order, start, positivity=positivity, **limiting)
    for name, default in {"limiter": "auto", "limiter_variables": "conserved", "indicator": "none"}.items():
        if limiting[name] != default:
            raise ValueError(f"{name}={limiting[name]!r} is not allowed with method='tensor'; it must be {default!r}")
    share = {"auto": 0.5, "none": None}.get(shock_capturing, shock_capturing)
    start = "interpolation" if start == "projection" else start
    return TensorDG(order, "lobatto", start, ranocha, share, positivity)


def flux_named(name):
    """The numerical flux of that name."""
    return FLUXES[choose("flux", name, FLUXES)]


def euler_stepper(order):
    """RK2 up to order 1, as in the paper's runs with a limiter; SSP(3,3) above."""
    return "rk2" if order < 2 else "ssp33"


def behind_shock(gamma, mach, rho, p):
    """(rho, v, p) behind a shock that runs at this Mach number into a gas at rest; v points along its motion.

    Rankine & Hugoniot; Toro 2009, section 3.1.3."""
    square = mach * mach
    ratio = (gamma + 1) * square / ((gamma - 1) * square + 2)
    speed = mach * (gamma * p / rho) ** 0.5
    return rho * ratio, speed * (1 - 1 / ratio), p * (1 + 2 * gamma / (gamma + 1) * (square - 1))


def l1_error(dataset, exact, names, time=-1, degree=12):
    """Integral of |u - exact(x, t)| over the domain, divided by its measure, for each of these variables.

    By quadrature in each element; a jump inside an element gives an error proportional to its size."""
    dg, t, sums, measure = dataset.dg, float(dataset.time[time]), np.zeros(len(names)), 0.0
    q = [dg.values(name, time).T for name in names]
    for part in dg.space.parts(degree=degree):
        expected = dict(zip(variables_of(dataset), exact(part.x, t)))
        found = part.values([component[:, part.places] for component in q])
        sums += [float(part.integrate(np.abs(u - expected[name]))) for name, u in zip(names, found)]
        measure += float(part.integrate(1.0))
    return dict(zip(names, (sums / measure).tolist()))


def least(dataset, law):
    """Least density and pressure of the last snapshot, at the points where modal or tensor-product DG computes fluxes."""
    dg = dataset.dg
    rule = modal_simplex(dg.dim, dg.order) if dg.cell_shape.simplex else dg.reference
    points = rule.points if dg.cell_shape.simplex else rule.nodes
    interpolation = dg.reference.interpolation(np.concatenate([points, rule.face_points.reshape(-1, dg.dim)]))
    q = [dg.values(name) @ interpolation.T for name in law.variables]
    return {"least_density": float(q[0].min()), "least_pressure": float(law.pressure(q).min())}


def cube(cells, shape, mesh=None):
    """(mesh, size of a cell) of the cube [-1, 1]^3, or of a box in a file, of hexahedra or tetrahedra.

    cells: hexahedra along a side, or bricks of six tetrahedra, which then are the cells;  shape: "hexahedron" or "tetra"
    Raises ValueError for other arguments, and files of other cells or of no box."""
    choose("shape", shape, ("hexahedron", "tetra"))
    check_numbers(least=1, whole=True, cells=cells)
    inner = case_mesh(mesh, lambda: box((-1, -1, -1), (1, 1, 1), cells, shape=shape), 3)
    check_box(inner)
    kind = choose("the mesh's cell type", inner.cell_type, ("hexahedron", "tetra"))
    return inner, float((inner.measures.mean() * (6 if kind == "tetra" else 1)) ** (1 / 3))


def on_cube(mesh, order, start):
    """The method for the cells of `cube`."""
    return NodalDG(order, start) if mesh.cell_type == "tetra" else TensorDG(order, start=start)
