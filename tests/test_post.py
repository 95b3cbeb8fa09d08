"""Post-processing on ds.dg: points, lines, grids, slices, means, gradients and UGRID, exact for the run's polynomials."""
import itertools

import numpy as np
import pytest
import xarray as xr

from dgarray.mesh.generate import box, interval, rectangle
from dgarray.output import Layout, Store, evaluation as post_module
from dgarray.reference.simplex import simplex
from dgarray.spaces.norms import jacobians

ORDERS = range(1, 11)


def mesh(dim, count=2):
    """A mesh of [-1, 1] x [0, 1]^(dim - 1), its inner corners moved so that no two cells are alike."""
    made = {1: lambda: interval(-1, 1, 3 * count), 2: lambda: rectangle((-1, 0), (1, 1), cells=(count, count)),
            3: lambda: box((-1, 0, 0), (1, 1, 1), cells=(count, count, count))}[dim]()
    points = made.points.copy()
    lower, upper = points.min(axis=0), points.max(axis=0)
    inner = ((points > lower + 1e-9) & (points < upper - 1e-9)).all(axis=1)
    points[inner] += np.random.default_rng(dim).uniform(-0.1, 0.1, (inner.sum(), dim)) / count
    return points, made.cells


def powers(dim, degree):
    return [e for e in itertools.product(range(degree + 1), repeat=dim) if sum(e) <= degree]


def polynomial(degree, x, seed=1, derivative=None):
    """A polynomial of total degree `degree` with random coefficients at x (..., dim), or its derivative along an axis."""
    x = np.asarray(x, dtype="float64")
    tables = x[..., None] ** np.arange(degree + 1)
    if derivative is not None:
        below = tables[..., derivative, :-1] * np.arange(1, degree + 1)
        tables[..., derivative, :] = np.concatenate([np.zeros((*x.shape[:-1], 1)), below], axis=-1)
    coefficients = np.random.default_rng(seed).standard_normal(len(powers(x.shape[-1], degree)))
    return sum(coefficient * np.prod([tables[..., axis, power] for axis, power in enumerate(exponents)], axis=0)
               for coefficient, exponents in zip(coefficients, powers(x.shape[-1], degree)))


def store(dim, order, times=(0.0, 2.0), path=None, dtype="float64", made=None, **more):
    """u(x, t) = p(x) + t q(x) with random polynomials p and q of the degree `order`, and the constant v = t."""
    points, cells = made or mesh(dim)
    plan = Layout(dim, order, points, cells, np.arange(len(cells))[::-1], ("u", "v"), **more)
    x = np.stack(plan.coordinates(), axis=-1)
    out = Store(plan, path, dtype)
    for t in times:
        out.append(t, np.stack([field(order, x, t).T, np.full(x.shape[:2], t).T]))
    return out


def field(order, x, t, derivative=None):
    return polynomial(order, x, 1, derivative) + t * polynomial(order, x, 2, derivative)


def at_nodes(ds, axes="xyz"):
    """Coordinates of the nodes, (element, node, axis)."""
    return np.stack([ds[axis].values for axis in axes if axis in ds.coords], axis=-1)


def close(values, exact, scale, factor=1.0):
    return np.abs(np.asarray(values) - exact).max() <= factor * 1e-11 * scale


def total_measure(ds):
    return ds.dg.jacobians.sum() * ds.dg.reference.volume


# Exact for polynomials, every cell type and order


@pytest.mark.parametrize("dim, order", [(dim, order) for dim in (1, 2, 3) for order in ORDERS])
def test_all_of_it_is_exact_for_polynomials_of_the_degree(dim, order):
    # Six tetrahedra will do where each has hundreds of nodes.
    ds = store(dim, order, made=mesh(dim, 1 if dim == 3 and order > 4 else 2)).dataset()
    scale = float(np.abs(ds.u).max())
    rng = np.random.default_rng(order)
    lower, upper = np.array([-1.0, 0, 0][:dim]), np.ones(dim)

    points = np.vstack([lower + (upper - lower) * rng.random((60, dim)), ds.dg.points])
    assert close(ds.dg.sample(points, time=-1).u, field(order, points, 2.0), scale)

    line = ds.dg.line(lower, upper, 31)
    on_line = np.column_stack([line[axis] for axis in line.dg.axes])
    assert line.u.dims == ("time", "distance")
    assert close(line.u[1], field(order, on_line, 2.0), scale)
    assert close(line.distance, np.linalg.norm(on_line - lower, axis=1), 1)

    grid = ds.dg.grid((7, 4, 3)[:dim])
    assert grid.u.dims == ("time", "z", "y", "x")[:1] + ("z", "y", "x")[3 - dim:]
    on_grid = np.stack(np.meshgrid(*(grid[axis] for axis in "zyx"[3 - dim:]), indexing="ij")[::-1], axis=-1)
    assert close(grid.u[1], field(order, on_grid, 2.0), scale)

    gradient = ds.dg.gradient("u", time=-1)
    for number, axis in enumerate("xyz"[:dim]):
        exact = field(order, at_nodes(ds), 2.0, number)
        assert close(gradient[f"du_d{axis}"], exact, np.abs(exact).max(), 100)

    for plane in {1: (), 2: ("y=0.3", ((0.1, 0.4), (1, 3))), 3: ("z=0.3", ((0.1, 0.4, 0.5), (1, 3, -2)))}[dim]:
        cut = ds.dg.slice(plane)
        assert cut.dg.dim == dim - 1
        assert cut.dg.order == order
        assert cut.u.dims == ("time", "element", "node")
        assert close(cut.u[1], field(order, at_nodes(cut), 2.0), scale)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_keep_the_dtype(dtype):
    ds = store(2, 3, dtype=dtype).dataset()
    for result in (ds.dg.sample([(0, 0.5)]).u, ds.dg.line((0, 0), (1, 1)).u, ds.dg.grid(3).u, ds.dg.cell_mean("u"),
                   ds.dg.gradient("u").du_dx, ds.dg.slice("y=0.2").u, ds.dg.to_ugrid().u):
        assert result.dtype == dtype


def test_integers_and_fields_without_time_are_served():
    ds = store(2, 2).dataset()
    ds["number"] = ("element", "node"), np.broadcast_to(np.arange(ds.sizes["element"])[:, None], ds.u.shape[1:])
    found = ds.dg.sample([(0.1, 0.2), (5, 5)])
    assert found.number.dims == ("point",)
    assert found.number[0].item() == pytest.approx(found.element[0].item())
    assert np.isnan(found.number[1])
    assert np.allclose(ds.dg.cell_mean("number"), np.arange(ds.sizes["element"]))


def test_complex_fields_along_other_dims_are_served():
    """A Fourier transform has the dims (frequency, element, node)."""
    ds = store(2, 3).dataset()
    u, v = ds.u[0].drop_vars("time"), ds.u[1].drop_vars("time")
    both = ds.drop_vars(("u", "v")).drop_dims("time")
    both["f"] = xr.concat([u + 1j * v, v - 2j * u], dim="frequency").assign_coords(frequency=[1.0, 2.0])
    a, b = ds.dg.norm("u", 0), ds.dg.norm("u", 1)
    assert both.dg.norm("f").dims == ("frequency",)
    assert both.dg.norm("f").values == pytest.approx([np.hypot(a, b), np.hypot(b, 2 * a)])
    assert np.array_equal(both.dg.norm("f", time=None).frequency, [1, 2])
    a, b = ds.dg.integral("u", 0), ds.dg.integral("u", 1)
    assert both.dg.integral("f").values == pytest.approx([a + 1j * b, b - 2j * a])
    found, real = both.dg.sample([(0.1, 0.2), (5, 5)]).f, ds.dg.sample([(0.1, 0.2)]).u.values[:, 0]
    assert found.dims == ("frequency", "point")
    assert found.values[:, 0] == pytest.approx([real[0] + 1j * real[1], real[1] - 2j * real[0]])
    assert np.isnan(found.values[:, 1]).all()
    assert np.array_equal(found.frequency, [1, 2])
    a, b = ds.dg.slice("y=0.2").u.values
    assert both.dg.slice("y=0.2").f.values == pytest.approx(np.array([a + 1j * b, b - 2j * a]))


# Lines and grids


def test_a_line_knows_its_length_and_its_time():
    ds = store(2, 2).dataset()
    line = ds.dg.line((-2, 0.5), (1, 0.5), n=7, time=2.0)
    assert line.u.dims == ("distance",)
    assert np.array_equal(line.distance, [0, 0.5, 1, 1.5, 2, 2.5, 3])
    assert np.array_equal(np.isnan(line.u), [True, True, False, False, False, False, False])
    assert np.array_equal(line.element < 0, np.isnan(line.u))
    assert line.x[0] == -2
    assert line.x[-1] == 1
    assert float(line.time) == 2


def test_a_line_in_1d_takes_numbers():
    ds = store(1, 2).dataset()
    assert np.array_equal(ds.dg.line(-0.5, 0.5, 3).x, [-0.5, 0, 0.5])
    assert np.array_equal(ds.dg.grid(3).x, [-1, 0, 1])


def test_a_grid_by_spacing_holds_the_far_side():
    ds = store(2, 2).dataset()
    grid = ds.dg.grid(spacing=0.1)
    assert dict(grid.sizes) == {"time": 2, "y": 11, "x": 21}
    assert grid.x[-1] == pytest.approx(1)
    assert not np.isnan(grid.u).any()
    other = ds.dg.grid(spacing=(0.5, 0.3), lower=(-2, 0.1), upper=(1, 0.9), time=0)
    assert np.allclose(other.x, [-2, -1.5, -1, -0.5, 0, 0.5, 1])
    assert np.allclose(other.y, [0.1, 0.4, 0.7])
    assert np.array_equal(np.isnan(other.u).all("y"), other.x < -1)
    plane = store(3, 1).dataset().dg.grid((4, 3, 1), lower=(-1, 0, 0.5), upper=(1, 1, 0.5))
    assert plane.u.shape == (2, 1, 3, 4)
    assert plane.u.sel(x=1, y=0.5, z=0.5, time=2).item() == pytest.approx(field(1, [1, 0.5, 0.5], 2.0))


def test_many_points_are_evaluated_in_blocks(monkeypatch):
    ds = store(2, 3).dataset()
    whole = ds.dg.grid(20)
    monkeypatch.setattr(post_module, "KEPT_VALUES", 130)
    xr.testing.assert_allclose(ds.dg.grid(20), whole, rtol=1e-13)


@pytest.mark.parametrize("call, message", [
    (lambda dg: dg.line((0, 0), (0, 0)), "a line needs two different points"),
    (lambda dg: dg.line((0, 0, 0), (1, 1)), "a is .* must have 2 finite coordinates: x, y"),
    (lambda dg: dg.line((0, 0), (1, np.nan)), "b is .* must have 2 finite coordinates"),
    (lambda dg: dg.line((0, 0), (1, 1), 1), "n 1 is not allowed; it must be a whole number from 2"),
    (lambda dg: dg.grid(0.1), "shape 0.1 is not allowed; .* spacing="),
    (lambda dg: dg.grid((3, 4, 5)), "has 3 entries; it must be one number or 2"),
    (lambda dg: dg.grid(), "give one of them"),
    (lambda dg: dg.grid(4, spacing=0.1), "give one of them"),
    (lambda dg: dg.grid(spacing=-0.1), "must be positive"),
    (lambda dg: dg.grid(spacing=1e-9), "grid would have 2e.18 points"),
    (lambda dg: dg.grid(4, lower=(0, 0), upper=(1, -1)), "upper .* is below lower"),
    (lambda dg: dg.cell_mean("w"), "variable 'w' does not exist in the dataset; it has: u, v"),
    (lambda dg: dg.gradient("w"), "variable 'w' does not exist in the dataset; it has: u, v"),
    (lambda dg: dg.to_ugrid(0), "subdivide 0 is not allowed; it must be a whole number from 1"),
    (lambda dg: dg.slice("z=0"), "plane 'z=0': axis 'z' does not exist in the dataset; it has: x, y"),
    (lambda dg: dg.slice("y"), "has no number after '='; it must be like 'y=0.5'"),
    (lambda dg: dg.slice("y=nan"), "is not finite"),
    (lambda dg: dg.slice(0.5), "is not understood; it must be like 'y=0.5'"),
    (lambda dg: dg.slice(((0, 0, 0), (0, 0, 1))), "origin of shape .3,.* with 2 numbers each"),
    (lambda dg: dg.slice(((0, 0), (0, 0))), "the normal of the plane is zero"),
    (lambda dg: dg.slice("y=1.5"), "y=1.5 misses the mesh, which has x from -1 to 1, y from 0 to 1"),
])
def test_bad_input_is_answered(call, message):
    ds = store(2, 1).dataset()
    with pytest.raises(ValueError, match=message):
        call(ds.dg)


def test_what_a_dimension_lacks_is_said():
    line, solid = store(1, 1).dataset(), store(3, 1).dataset()
    with pytest.raises(ValueError, match="a 1D dataset has no slice"):
        line.dg.slice("x=0")
    with pytest.raises(ValueError, match="is 1D; UGRID faces need 2D"):
        line.dg.to_ugrid()
    with pytest.raises(ValueError, match="is 3D; UGRID faces need 2D; take a slice first"):
        solid.dg.to_ugrid()


# Slices


@pytest.mark.parametrize("plane, width, height", [
    ("z=0.3", 2, 1), ("z=0", 2, 1), ("z=1", 2, 1), ("x=-1", 1, 1), ("x=0.123", 1, 1), ("y=1", 2, 1), ("z=0.5", 2, 1),
    ("z=1e-13", 2, 1), ("z=0.50000001", 2, 1), (((0, 0.5, 0), (0, 3, 0)), 2, 1), (((0, 0, 0.5), (0, 0, -1)), 2, 1),
    (((0, 0, 0), (1, 0, 1)), np.sqrt(2), 1), (((0.2, 0.5, 0.5), (0, 1, 1)), 2, np.sqrt(2)),
    (((0, 0.5, 0.5), (0, 1, -1)), 2, np.sqrt(2)),
])
@pytest.mark.parametrize("moved", [False, True])
def test_slices_of_a_box_have_its_area_once(plane, width, height, moved):
    """Also where the plane holds faces of cells inside or at the boundary, or passes through their edges and corners."""
    made = None if moved else (lambda m: (m.points, m.cells))(box((-1, 0, 0), (1, 1, 1), cells=(4, 2, 2)))
    ds = store(3, 2, made=made).dataset()
    cut = ds.dg.slice(plane)
    assert total_measure(cut) == pytest.approx(width * height, rel=1e-11)
    assert cut.dg.norm("v") == pytest.approx(2 * np.sqrt(width * height), rel=1e-11)
    assert (cut.u.sizes["time"], cut.dg.variables) == (2, ("u", "v"))
    corners = cut.dg.points[cut.dg.cells]
    assert (np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0).all()
    # Cells are joined to neighbours by corners of the same number: the rim of the slice is all that is open.
    edges = np.sort(cut.dg.cells[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    _, count = np.unique(edges, axis=0, return_counts=True)
    assert count.max() == 2
    rim = np.unique(edges, axis=0)[count == 1]
    length = np.linalg.norm(np.diff(cut.dg.points[rim], axis=1), axis=-1).sum()
    assert length == pytest.approx(2 * (width + height), rel=1e-11)


@pytest.mark.parametrize("plane, measure", [
    ("y=0.3", 2), ("y=0", 2), ("y=1", 2), ("x=0", 1), ("x=-1", 1), (((0, 0), (1, -1)), np.sqrt(2)),
    (((0, 0), (1, 1)), np.sqrt(2)),
])
@pytest.mark.parametrize("moved", [False, True])
def test_slices_of_a_rectangle_have_its_length_once(plane, measure, moved):
    made = None if moved else (lambda m: (m.points, m.cells))(rectangle((-1, 0), (1, 1), cells=(4, 2)))
    cut = store(2, 3, made=made).dataset().dg.slice(plane)
    assert cut.dg.dim == 1
    assert total_measure(cut) == pytest.approx(measure, rel=1e-11)
    assert (np.unique(cut.dg.cells, return_counts=True)[1] <= 2).all()


def test_faces_in_the_plane_belong_to_the_cells_below():
    made = box((-1, 0, 0), (1, 1, 1), cells=(2, 2, 2))
    ds = store(3, 1, made=(made.points, made.cells)).dataset()
    height = made.points[made.cells][..., 2].mean(axis=1)
    for plane, below in (("z=0.5", True), (((0, 0, 0.5), (0, 0, -1)), False), ("z=0", True), ("z=1", False)):
        numbers = len(made.cells) - 1 - ds.dg.slice(plane).cell_number.values
        assert ((height[numbers] < 0.5) == below).all()


def test_a_slice_is_a_dataset_of_its_own():
    points, cells = mesh(3)
    ds = store(3, 4, regions={"low": np.arange(5)}, units={"x": "m", "z": "m", "u": "V"}, attrs={"case": "box"},
               made=(points, cells)).dataset()
    cut = ds.dg.slice("y=0.4")
    assert cut.dg.axes == ("x", "z")
    assert cut.attrs["plane"] == "y=0.4"
    assert cut.attrs["case"] == "box"
    assert np.abs(cut.y - 0.4).max() < 1e-14
    assert (cut.x.attrs["units"], cut.u.attrs["units"], cut.u.attrs["location"]) == ("m", "V", "face")
    numbers = cut.cell_number.values
    assert np.array_equal(cut.region, ds.region.values[len(cells) - 1 - numbers])
    # What works on a run's dataset works on it.
    found = cut.dg.sample([(0.3, 0.7)], time=-1)
    assert found.u.item() == pytest.approx(ds.dg.sample([(0.3, 0.4, 0.7)], time=-1).u.item(), rel=1e-11)
    assert (found.x.item(), found.z.item()) == (0.3, 0.7)
    grid = cut.dg.grid((5, 4))
    assert grid.u.dims == ("time", "z", "x")
    same = ds.dg.grid((5, 1, 4), lower=(-1, 0.4, 0), upper=(1, 0.4, 1)).squeeze("y", drop=True)
    assert np.allclose(grid.u, same.u, rtol=1e-10)
    gradient, whole = cut.dg.gradient("u", time=-1), ds.dg.gradient("u").dg.slice("y=0.4", time=-1)
    assert gradient.dg.variables == ("du_dx", "du_dz")
    assert np.allclose(gradient.du_dz, whole.du_dz, atol=1e-10 * np.abs(whole.du_dz).max().item())
    again = cut.dg.slice("z=0.7")
    assert again.dg.axes == ("x",)
    assert again.attrs["plane"] == "y=0.4, z=0.7"
    assert np.allclose(again.y, 0.4)
    assert np.allclose(again.z, 0.7)
    assert close(again.u[1], field(4, at_nodes(again), 2.0), np.abs(ds.u).max().item())


def test_an_oblique_slice_has_lengths_as_coordinates():
    ds = store(3, 2).dataset()
    origin, normal = np.array([0.1, 0.4, 0.5]), np.array([1, 3, -2])
    cut = ds.dg.slice((origin, normal))
    assert cut.dg.axes == ("s1", "s2")
    x = at_nodes(cut)
    assert np.abs((x - origin) @ normal).max() < 1e-13
    flat = at_nodes(cut, ("s1", "s2"))
    assert np.allclose(np.linalg.norm(flat, axis=-1), np.linalg.norm(x - origin, axis=-1))
    first = np.cross((0, 0, 1), normal) / np.linalg.norm(np.cross((0, 0, 1), normal))
    assert np.allclose(cut.s1, (x - origin) @ first)
    assert cut.dg.sample(np.zeros((1, 2)), time=-1).u.item() == pytest.approx(field(2, origin, 2.0), rel=1e-11)
    assert np.allclose(cut.mesh_node_s2.values[cut.dg.cells], cut.s2.values @ simplex(2, 2).interpolation(
        simplex(2, 2).vertices).T)


def test_a_cracked_mesh_is_cut_once():
    """The two sides of a crack have corners of their own at the same places."""
    made = box((-1, 0, 0), (1, 1, 1), cells=(2, 2, 2))
    upper = made.points[made.cells][..., 2].mean(axis=1) > 0.5
    cells = made.cells + len(made.points) * upper[:, None]
    ds = store(3, 1, made=(np.vstack([made.points, made.points]), cells)).dataset()
    for plane, measure in (("z=0.5", 2), ("x=0", 1), ("x=0.1", 1)):
        assert total_measure(ds.dg.slice(plane)) == pytest.approx(measure)


# Means, gradients


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_cell_means_are_integrals_over_measures(dim):
    ds = store(dim, 3, regions={"a": [0]}).dataset()
    means = ds.dg.cell_mean()
    assert means.u.dims == ("time", "element")
    measures = jacobians(*mesh(dim)) * simplex(dim, 1).volume
    for time in (0, 1):
        assert means.u[time].values @ measures == pytest.approx(ds.dg.integral("u", time), rel=1e-12)
    part = ds.isel(element=[1])
    assert part.dg.cell_mean("u", time=-1).item() == pytest.approx(part.dg.integral("u") / measures[1], rel=1e-12)
    assert means.x.values == pytest.approx(ds.dg.points[ds.dg.cells, 0].mean(axis=1))
    assert {"region", "cell_number", "time"} <= set(means.coords)
    xr.testing.assert_identical(ds.dg.cell_mean("u"), means.u)


def test_a_gradient_is_a_dataset_of_its_own():
    ds = store(2, 3, units={"u": "V", "x": "m", "y": "m"}).dataset()
    gradient = ds.dg.gradient("u")
    assert gradient.dg.variables == ("du_dx", "du_dy")
    assert gradient.du_dx.attrs["units"] == "V/m"
    assert gradient.du_dx.attrs["mesh"] == "mesh"
    assert "u" not in gradient
    assert ds.dg.gradient("v").dg.norm("dv_dx", time=None).values == pytest.approx([0, 0], abs=1e-12)
    # Gauss: the integral of du/dx over the rectangle is the difference of u over its sides.
    ends = [field(3, np.stack([np.full(40, x), np.polynomial.legendre.leggauss(40)[0] / 2 + 0.5], axis=-1), 2.0)
            @ np.polynomial.legendre.leggauss(40)[1] / 2 for x in (-1.0, 1.0)]
    assert gradient.dg.integral("du_dx") == pytest.approx(ends[1] - ends[0], rel=1e-11)
    xr.testing.assert_identical(gradient.x, ds.x)
    assert gradient.dg.gradient("du_dx").dg.variables == ("ddu_dx_dx", "ddu_dx_dy")


# UGRID


@pytest.mark.parametrize("parts", [1, 3])
def test_ugrid_faces_tile_the_mesh_with_exact_means(parts):
    points, cells = mesh(2)
    # Some cells are clockwise.
    ds = store(2, 4, made=(points, np.where(np.arange(len(cells))[:, None] % 3 == 0, cells[:, ::-1], cells))).dataset()
    grid = ds.dg.to_ugrid(subdivide=parts)
    assert grid.u.dims == ("time", "mesh2d_nFaces")
    faces, nodes = grid.mesh2d_face_nodes.values, np.column_stack([grid.mesh2d_node_x, grid.mesh2d_node_y])
    assert len(faces) == ds.sizes["element"] * parts**2
    edges = nodes[faces[:, 1:]] - nodes[faces[:, :1]]
    areas = np.linalg.det(edges) / 2
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(2)
    assert grid.u[1].values @ areas == pytest.approx(ds.dg.integral("u"), rel=1e-11)
    # Euler's formula for a disc: neighbours share their nodes.
    sides = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    assert len(nodes) - len(sides) + len(faces) == 1
    own = Layout(2, 4, nodes, faces, np.arange(len(faces)), ("u",))
    values = field(4, np.stack(own.coordinates(), axis=-1), 2.0)
    means = values @ simplex(2, 4).mass.sum(axis=0) / simplex(2, 4).volume
    assert close(grid.u[1], means, np.abs(means).max())
    assert np.array_equal(grid.cell_number, np.repeat(ds.cell_number, parts**2))


def test_xugrid_reads_it():
    xugrid = pytest.importorskip("xugrid", reason="needs xugrid")
    ds = store(2, 2).dataset()
    for source, parts in ((ds, 1), (ds, 2), (store(3, 2).dataset().dg.slice("y=0.4"), 2)):
        made = source.dg.to_ugrid(subdivide=parts)
        read = xugrid.UgridDataset(made)
        assert read.grid.n_face == source.sizes["element"] * parts**2
        assert np.isclose(read.grid.area.sum(), 2)
        assert np.allclose(read.grid.centroids, np.column_stack([made.mesh2d_face_x, made.mesh2d_face_y]), atol=1e-14)
        means = read["u"].isel(time=-1).values
        assert means @ read.grid.area == pytest.approx(source.dg.integral("u"), rel=1e-11)
        centres = source.dg.sample(read.grid.centroids, time=-1).u.values
        assert np.abs(means - centres).max() < 0.2 * np.ptp(means)


# Stores larger than memory


def results(ds):
    yield ds.dg.sample([(0.1, 0.2), (0.5, 0.9), (5, 5)]).u
    yield ds.dg.line((-1, 0), (1, 1)).u
    yield ds.dg.grid((9, 5)).u
    yield ds.dg.slice("y=0.3").u
    yield ds.dg.cell_mean("u")
    yield ds.dg.gradient("u").du_dx
    yield ds.dg.gradient("u").dg.slice("x=0.2").du_dy
    yield ds.dg.to_ugrid(2).u
    yield ds.dg.norm("u", time=None)
    yield ds.dg.integral("u", time=None)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    path = tmp_path_factory.mktemp("post") / "run.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgarray.output.store.files.CHUNK_BYTES", 600)
        store(2, 3, times=(0.0, 1.0, 2.0), path=path)
    return path


def test_chunked_datasets_give_the_same_lazily(on_disk):
    dask = pytest.importorskip("dask", reason="needs dask")
    ds = xr.open_zarr(on_disk, chunks={})
    assert max(map(len, ds.u.chunks)) > 2
    with dask.config.set(scheduler="synchronous"):
        for lazy, eager in zip(results(ds), results(ds.load().copy()), strict=True):
            assert lazy.chunks is not None or ds.u.chunks is None
            xr.testing.assert_allclose(lazy.compute(), eager, rtol=1e-13)


def test_laziness_touches_the_chunks_of_the_points_only(on_disk, monkeypatch):
    dask = pytest.importorskip("dask", reason="needs dask")
    ds = xr.open_zarr(on_disk, chunks={})
    made = list(results(ds))
    assert all(lazy.chunks is not None for lazy in made)
    assert all(lazy.chunks[0] == (1, 1, 1) for lazy in made)
    element = ds.dg.locator.find(np.array([[0.1, 0.2]]))[0][0]
    edges = np.cumsum((0, *ds.u.chunks[1]))
    wanted = np.searchsorted(edges, element, side="right") - 1
    read = []
    opened = xr.backends.zarr.ZarrArrayWrapper.__getitem__

    def noted(wrapper, key):
        if len(wrapper.shape) == 3:
            read.append(key.tuple)
        return opened(wrapper, key)

    monkeypatch.setattr(xr.backends.zarr.ZarrArrayWrapper, "__getitem__", noted)
    with dask.config.set(scheduler="synchronous"):
        ds.dg.sample([(0.1, 0.2)]).u.compute()
    assert len(read) == 3
    assert {key[1].start for key in read} == {edges[wanted]}


def test_without_chunks_one_snapshot_at_a_time_is_read(on_disk, monkeypatch):
    expected = list(results(xr.open_zarr(on_disk).load()))
    opened = xr.backends.zarr.ZarrArrayWrapper.__getitem__
    sizes = []

    def noted(wrapper, key):
        array = opened(wrapper, key)
        if len(wrapper.shape) == 3:
            sizes.append(np.size(array))
        return array

    monkeypatch.setattr(xr.backends.zarr.ZarrArrayWrapper, "__getitem__", noted)
    ds = xr.open_zarr(on_disk, chunks=None)
    for found, eager in zip(results(ds), expected, strict=True):
        xr.testing.assert_allclose(found, eager, rtol=1e-13)
    assert len(sizes) >= 3 * len(expected)
    assert max(sizes) <= ds.sizes["element"] * ds.sizes["node"]


@pytest.mark.parametrize("chunks", [None, {}])
def test_a_store_without_snapshots_gives_empty_results(chunks, tmp_path):
    if chunks is not None:
        pytest.importorskip("dask", reason="needs dask")
    store(2, 2, times=(), path=tmp_path / "run.zarr")
    for result in results(xr.open_zarr(tmp_path / "run.zarr", chunks=chunks)):
        assert result.sizes["time"] == 0
        assert result.compute().shape == result.shape


@pytest.mark.parametrize("chunks", [None, {}])
def test_points_all_outside_are_nan(chunks, on_disk):
    if chunks is not None:
        pytest.importorskip("dask", reason="needs dask")
    found = xr.open_zarr(on_disk, chunks=chunks).dg.sample([(5, 5), (-3, 0)])
    assert np.isnan(found.u.values).all()
    assert found.u.shape == (3, 2)
