"""Shocks by tensor-product DG: density and pressure stay positive."""
import numpy as np
import pytest

import dgarray as dg


def mesh_of(dim, cells=4, warped=True, **options):
    """A periodic square or cube of which no two cells are alike, or of squares or cubes."""
    shape = {2: "quadrilateral", 3: "hexahedron"}[dim]
    mesh = (dg.rectangle if dim == 2 else dg.box)(cells=cells, shape=shape, **({"periodic": True} | options))

    def warp(x):
        return tuple(c + 0.04 * np.sin(2 * np.pi * x[(i + 1) % dim]) for i, c in enumerate(x))
    return mesh.mapped(warp) if warped else mesh


def law_of(name, dim):
    return dg.Euler(dim) if name == "euler" else dg.MHD(dim, cleaning_speed=1.0)


def state(law, rho, p, v=0.0, B=0.5):
    """Conserved variables of a density, a pressure, and the same number for all components of velocity and of field."""
    zero = 0 * rho
    of_law = law.dim if isinstance(law, dg.Euler) else 3
    field = () if isinstance(law, dg.Euler) else (B + zero, -B + zero, B / 2 + zero)
    return law.conservative((rho + zero, *(v + zero,) * of_law, p + zero, *field))


def operator_of(method, law, mesh, kernels="array", dtype="float64", **options):
    """The operator of a gas at rest."""
    sim = dg.Simulation(mesh, law, method, initial=lambda x: state(law, 1 + 0 * x[0], 1.0), backend="numpy", kernels=kernels,
                        dtype=dtype, threads=2, **options)
    return sim.operator


def rough(law, shape, dtype="float64", seed=0):
    """Values at nodes of which some have a negative density or pressure, while the means are well above."""
    random = np.random.default_rng(seed)
    rho, p = (1 + 0.5 * random.normal(size=shape[1:]) for _ in range(2))
    q = np.array(state(law, np.maximum(rho, 0.01), np.maximum(p, 0.02), 0.3 * random.normal(size=shape[1:])))
    q[0, 0, ::3], q[4 if len(q) == 9 else -1, -1, 1::3] = -0.05, 0.1
    return q.astype(dtype)


def limited(operator, q):
    held = operator.state(q)
    operator.operations.limit(held)
    return operator.host(held)


def integrals(operator, q):
    """Sums over nodes with the Jacobian of each variable, and of their sizes."""
    tables = operator.tables
    J = tables.mesh.measures[None] / 2 ** tables.dim if tables.affine else tables.jacobian
    weighted = q * (tables.cell.weights[:, None] * J)
    return weighted.sum(axis=1), np.abs(weighted).sum(axis=1)


# Positivity.

@pytest.mark.parametrize("dtype, most", [("float64", 1e-14), ("float32", 1e-6)])
@pytest.mark.parametrize("name, dim, order, nodes, warped", [
    ("euler", 2, 3, "gauss", True), ("euler", 2, 2, "lobatto", False), ("euler", 3, 2, "gauss", False),
    ("mhd", 2, 2, "gauss", True), ("mhd", 3, 1, "lobatto", True)])
def test_density_and_pressure_become_positive_and_means_stay(name, dim, order, nodes, warped, dtype, most):
    """At all nodes and points of the faces; what is positive stays as it is. Kernels and arrays differ by rounding, over the
    least density, which is that share of the mean."""
    law, mesh, method = law_of(name, dim), mesh_of(dim, 3, warped), dg.TensorDG(order, nodes, positivity=True)
    results = []
    for kernels in ("array", "fused"):
        operator = operator_of(method, law, mesh, kernels, dtype)
        q = rough(law, operator.shape, dtype)
        found = limited(operator, q)
        cell = operator.tables.cell
        points = np.concatenate([found, cell.interpolation(operator.tables.face_points).astype(dtype) @ found], axis=1)
        assert points[0].min() > 0 and law.pressure(tuple(points)).min() > 0
        (before, size), (after, _) = integrals(operator, q), integrals(operator, found)
        assert np.abs(after - before).max() < most * size.max()
        untouched = np.all(found == q, axis=(0, 1))
        assert not untouched.all()
        results.append(found)
    assert np.abs(results[0] - results[1]).max() < np.finfo(dtype).eps ** 0.5 * np.abs(results[0]).max()
    uniform = np.ones_like(found) * found[:, :1, :1]
    assert np.array_equal(limited(operator, uniform), uniform)


def test_a_blast_runs_with_positivity_alone():
    """A pressure ratio of 2000: without positivity the first steps end the run. Averages stay what they were."""
    law, mesh = dg.Euler(2), mesh_of(2, 8)

    def initial(x):
        near = (x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2 < 0.03
        return law.conservative((1 + 0 * x[0], 0 * x[0], 0 * x[0], np.where(near, 20.0, 0.01)))

    def run(positivity, kernels="array"):
        method = dg.TensorDG(2, "lobatto", positivity=positivity)
        sim = dg.Simulation(mesh, law, method, initial=initial, backend="numpy", threads=2, kernels=kernels, stepper="ssp33",
                            flux=dg.rusanov)
        return sim.run(0.02), sim
    with pytest.raises(dg.SolutionError, match="not admissible"):
        run(False)
    for kernels in ("array", "fused"):
        ds, sim = run(True, kernels)
        q = np.stack([ds[name].values[-1].T for name in law.variables])
        assert q[0].min() > 0 and law.pressure(tuple(q)).min() > 0
        first = np.stack([ds[name].values[0].T for name in law.variables])
        (before, size), (after, _) = (integrals(sim.operator, state) for state in (first, q))
        assert np.abs((after - before).sum(axis=1)).max() < 1e-13 * size.sum(axis=1).max()


def test_positivity_keeps_the_order_where_the_flow_is_smooth():
    """The density of a wave comes close to zero, so that it is limited on coarse meshes."""
    law, errors = dg.Euler(2), []

    def exact(x, t):
        return law.conservative((1 + 0.9999 * np.sin(2 * np.pi * (x[0] + x[1] - 2 * t)), 1 + 0 * x[0], 1 + 0 * x[0],
                                 1 + 0 * x[0]))
    for cells in (4, 8, 16):
        sim = dg.Simulation(mesh_of(2, cells, False), law, dg.TensorDG(2, positivity=True), initial=lambda x: exact(x, 0.0),
                            backend="numpy", kernels="array", threads=2, stepper="ssp33", flux=dg.hllc)
        ds = sim.run(0.05)
        errors.append(ds.dg.error("rho", exact))
    assert np.log2(errors[-2] / errors[-1]) > 2.7, errors


def test_what_positivity_is_not_for():
    with pytest.raises(ValueError, match="positivity='yes' is not allowed; it must be True or False"):
        dg.TensorDG(2, positivity="yes")
    with pytest.raises(ValueError, match="positivity=True needs a law with the density rho and a pressure"):
        dg.Simulation(mesh_of(2), dg.Acoustics(2), dg.TensorDG(2, positivity=True), initial=lambda x: (x[0],) * 3,
                      backend="numpy")
    assert repr(dg.TensorDG(2, positivity=True)) == "TensorDG(order=2, nodes='gauss', start='interpolation', positivity=True)"
