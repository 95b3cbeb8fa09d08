"""Recorders of a run and what the dataset gives back of them: exact for polynomials, transforms equal to the FFT."""
import json

import numpy as np
import pytest
import xarray as xr
from nodal_problems import of_element

import dgarray as dg
from dgarray.analysis import fourier
from dgarray.analysis.fourier import Fourier
from dgarray.analysis.integrals import BoundaryIntegral, VolumeIntegral
from dgarray.analysis.probes import Extrema, Points, SurfaceFields
from dgarray.analysis.totals import totals
from dgarray.output import Layout, Store
from dgarray.output.surface import boundaries
from dgarray.reference import simplex
from dgarray.spaces.surface import Surface

ORDER = 3
NAMES = {1: ("left", "right"), 2: ("left", "right", "bottom", "top"),
         3: ("left", "right", "front", "back", "bottom", "top")}
KERNELS = [("fused", "float64"), ("array", "float64"), ("fused", "float32"), ("array", "float32")]


def mesh(dim):
    """A mesh of [0, 2] x [0, 1]^(dim - 1)."""
    upper = (2.0, 1.0, 1.0)[:dim]
    return {1: lambda: dg.interval(0, 2, 5), 2: lambda: dg.rectangle((0, 0), upper, cells=(4, 3)),
            3: lambda: dg.box((0, 0, 0), upper, cells=(3, 2, 2))}[dim]()


def operator(dim, kernels="fused", dtype="float64", law=None, boundary=dg.pec, order=ORDER):
    return dg.Simulation(mesh(dim), law or dg.Maxwell(dim), dg.NodalDG(order), boundary, backend="numpy", kernels=kernels,
                         dtype=dtype).operator


def field(variable, x, t=0.0):
    """A polynomial of degree 3 with its own coefficients and its own time for every variable."""
    x = [*x, *(0 * x[0],) * (3 - len(x))]
    space = 1 + (variable + 1) * x[0] - x[1] ** 2 * x[0] + (variable - 1) * x[2] ** 3 + x[0] ** 3 / 3
    return space * np.cos((1 + variable / 3) * t) + (x[0] - x[1]) * t


def state(op, t=0.0, f=field):
    return op.state(op.project(lambda x: tuple(f(v, x, t) for v in range(op.shape[0]))))


def recorded(recorder, op, t=0.0):
    """Values of one sample at the time t, and the series."""
    recording = recorder.attach("r", op)
    recording.sample(state(op, t), t, 0)
    times, values = recording.rows()
    assert times.tolist() == [t]
    assert set(values) == set(recording.series.variables)
    for name, array in values.items():
        assert array.dtype == np.float64
        assert array.shape == (1, *recording.series.shape(name))
    return {name: array[0] for name, array in values.items()}, recording.series


def close(op, a, b):
    scale = 1e-5 if op.backend.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(a, b, rtol=scale, atol=10 * scale)


@pytest.mark.parametrize("dim, order", [(1, 1), (1, 4), (2, 1), (2, 3), (2, 6), (3, 1), (3, 3), (3, 5)])
def test_surface_geometry(dim, order):
    m, cell = mesh(dim), simplex(dim, order)
    surface = Surface(m.points, m.cells, order, m.boundary_faces)
    corners = m.points[m.cells]
    nodes = np.einsum("nv,cvd->dnc", cell.barycentric(cell.nodes), corners)
    np.testing.assert_allclose(surface.take(nodes[:, :, surface.rows[:, 0]]), surface.x, atol=1e-13)
    for (_, face), own in zip(surface.rows, surface.nodes):
        assert set(own) == set(cell.face_nodes[face])
    x, weights, matrix = surface.quadrature(2 * order)
    assert x.shape == (dim, *weights.shape)

    def f(x):
        return np.sum([(i + 1) * c ** order for i, c in enumerate(x)], axis=0) + x[0]
    np.testing.assert_allclose(f(surface.x) @ matrix.T, f(x), rtol=1e-10, atol=1e-12)
    # Gauss: the integral of x . n is dim times the volume, and that of n is 0.
    np.testing.assert_allclose(np.einsum("dfp,df,fp", x, surface.normals, weights), dim * 2.0)
    np.testing.assert_allclose(surface.normals @ surface.areas, 0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=0), 1)
    np.testing.assert_allclose(weights.sum(axis=1), surface.areas)
    np.testing.assert_allclose(surface.areas.sum(), {1: 2.0, 2: 6.0, 3: 10.0}[dim])
    flat = m.boundaries["right"]
    right = Surface(m.points, m.cells, order, flat)
    np.testing.assert_allclose(right.x[0], 2.0)
    np.testing.assert_allclose(right.normals[0], 1.0)
    coords = right.coords(m.numbers)
    assert [n for n in coords if n.startswith("normal")] == [f"normal_{axis}" for axis in "xyz"[:dim]]
    np.testing.assert_array_equal(coords["cell_number"][1], m.numbers[flat[:, 0]])


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("kernels, dtype", KERNELS)
def test_points_and_surfaces_are_exact(dim, kernels, dtype):
    op = operator(dim, kernels, dtype)
    x = np.random.default_rng(dim).uniform(0, 1, (20, dim)) * (2.0, 1.0, 1.0)[:dim]
    x[0] = 0                                                       # a corner of the mesh
    values, series = recorded(Points(x), op, 0.7)
    assert list(values) == list(op.tables.law.variables)
    for number, value in enumerate(values.values()):
        close(op, value, field(number, x.T, 0.7))
    assert series.dims == {"point": 20}
    for axis, column in zip("xyz", x.T):
        assert series.coords[axis].values.tolist() == column.tolist()
    centres = dict(zip(op.tables.mesh.numbers, op.tables.mesh.centroids))
    near = np.array([centres[number] for number in series.coords["cell_number"].values])
    assert np.linalg.norm(near - x, axis=1).max() < 0.9
    values, series = recorded(SurfaceFields(("left", NAMES[dim][-1]), variables=op.tables.law.variables[1:]), op, 0.7)
    assert list(values) == list(op.tables.law.variables[1:])
    where = [series.coords[axis].values for axis in "xyz"[:dim]]
    for number, value in enumerate(values.values()):
        close(op, value, field(number + 1, where, 0.7))
    assert series.variables[op.tables.law.variables[1]][1]["boundary"] == f"left, {NAMES[dim][-1]}"


def test_points_in_one_dimension_and_one_point():
    op = operator(1)
    values, _ = recorded(Points([0.25, 1.5], variables="Hy"), op)
    close(op, values["Hy"], field(1, [np.array([0.25, 1.5])]))
    assert recorded(Points((1.0, 0.5)), operator(2))[0]["Ez"].shape == (1,)


@pytest.mark.parametrize("kernels, dtype", KERNELS)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_integrals_are_exact(dim, kernels, dtype):
    law = dg.Maxwell(dim, eps=of_element(lambda x: np.where(x[0] < 1, 1.0, 3.0)), mu=2.0)
    op = operator(dim, kernels, dtype, law)
    faces, eps = op.tables.mesh.boundaries["right"], op.tables.parameters["eps"]

    def weighted(q, n, x, t, m):
        return m.eps * m.mu * q[0] * n[0] * x[0] + t, q[1] * q[1]
    values, _ = recorded(BoundaryIntegral("right", weighted, names=("a", "b")), op, 0.4)
    surface = Surface(op.tables.mesh.points, op.tables.mesh.cells, 1, faces)
    x, weights, _ = surface.quadrature(12)
    close(op, values["a"], np.sum(weights * (6.0 * field(0, x, 0.4) * 2.0 + 0.4)))
    close(op, values["b"], np.sum(weights * field(1, x, 0.4) ** 2))

    def squared(q, x, t, m):
        return m.eps * q[0] ** 2 * x[0] + t
    values, _ = recorded(VolumeIntegral(squared, degree=8), op, 0.4)
    assert list(values) == ["squared"]
    r, w = dg.reference.quadrature(dim, 10)
    x = np.array([op.tables.geometry.origin[d] + r @ op.tables.geometry.tangents[:, d] for d in range(dim)])
    density = eps * field(0, x, 0.4) ** 2 * x[0] + 0.4
    close(op, values["squared"], w @ density @ (op.tables.mesh.measures / op.tables.basis.cell.volume))
    values, _ = recorded(VolumeIntegral(), op, 0.4)
    assert list(values) == [*law.variables, "energy"]
    close(op, list(values.values()), list(totals(op, op.host(state(op, 0.4))).values()))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_default_of_a_boundary_integral_is_the_flux_out(dim):
    law = dg.Acoustics(dim)
    op = operator(dim, law=law, boundary=dg.wall)
    values, _ = recorded(BoundaryIntegral(NAMES[dim]), op)
    assert list(values) == list(law.variables)
    # Gauss: p changes by the integral of div v, and each v by that of dp/dx; here on the reference quadrature.
    t = op.tables
    r, w = dg.reference.quadrature(dim, 8)
    matrix = t.basis.cell.interpolation(r)
    q, jacobian = op.project(lambda x: tuple(field(v, x) for v in range(dim + 1))), t.mesh.measures / t.basis.cell.volume

    def derivative(u, axis):
        return sum(t.geometry.gradients[k, axis] * (t.basis.differentiation[k] @ u) for k in range(dim))

    def integral(u):
        return w @ (matrix @ u) @ jacobian
    close(op, values["p"], sum(integral(derivative(q[1 + d], d)) for d in range(dim)))
    for d in range(dim):
        close(op, values["v" + "xyz"[d]], integral(derivative(q[0], d)))


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("kernels, dtype", KERNELS[1:3])
def test_extrema(dim, kernels, dtype):
    op = operator(dim, kernels, dtype)
    recording = Extrema(variables=op.tables.law.variables[1]).attach("r", op)
    q = np.zeros(op.shape)
    q[1, 0, 3], q[1, 2, 1] = -2.5, 7.0
    q[0] = 100.0
    recording.sample(op.state(q), 0.0, 0)
    values = {name: value[0] for name, value in recording.rows()[1].items()}
    name, x = op.tables.law.variables[1], op.tables.geometry.coordinates()
    for short, extremum, where in (("min", -2.5, x[:, 0, 3]), ("max", 7.0, x[:, 2, 1])):
        assert values.pop(f"{name}_{short}") == extremum
        np.testing.assert_allclose([values.pop(f"{name}_{short}_{axis}") for axis in "xyz"[:dim]], where, atol=1e-15)
    assert not values


def test_samples_every_few_steps_and_rows_are_given_once():
    op = operator(2)
    recording = Points([(0.5, 0.5)], every=3, variables=("Ez",)).attach("r", op)
    seen = []
    for step in range(11):
        recording.sample(state(op, 0.1 * step), 0.1 * step, step)
        if step == 7:
            seen.append(recording.rows())
    seen += [recording.rows(), recording.rows()]
    assert [times.tolist() for times, _ in seen] == [[0.0, 0.1 * 3, 0.1 * 6], [0.1 * 9], []]
    for times, values in seen:
        close(op, values["Ez"], [field(2, np.full((2, 1), 0.5), t) for t in times] or np.empty((0, 1)))
    assert recording.result() == {}
    assert recording.state() == {}
    recording.restore({})
    with pytest.raises(ValueError, match="'r' keeps no state, but was given sums"):
        recording.restore({"sums": np.zeros(1)})


def history(recorder, op, times):
    recording = recorder.attach("r", op)
    for step, t in enumerate(times):
        recording.sample(state(op, t), t, step)
    return recording


def spectrum(values, dt, numbers):
    """The FFT of the full history (time, ...), both ends with half the weight, at some of its frequencies."""
    values = values.copy()
    values[[0, -1]] *= 0.5
    return dt * np.fft.fft(values, axis=0)[numbers]


@pytest.mark.parametrize("dim, dtype", [(1, "float64"), (2, "float64"), (2, "float32"), (3, "float64")])
def test_transforms_agree_with_the_fft_of_the_history(dim, dtype):
    op, dt, count, numbers = operator(dim, dtype=dtype, order=2), 0.05, 53, [0, 1, 4, 20]
    times, frequencies = dt * np.arange(count), np.array(numbers) / (count * dt)
    points = np.random.default_rng(0).uniform(0.1, 0.9, (5, dim))
    for plain, transform in ((Points(points), Fourier(frequencies, points=points)),
                             (SurfaceFields("right"), Fourier(frequencies, "right"))):
        _, full = history(plain, op, times).rows()
        recording = history(transform, op, times)
        result, series = recording.result(), recording.series
        assert not recording.rows()[0].size
        np.testing.assert_array_equal(result.pop("time_span"), [times[0], times[-1]])
        largest = np.array([np.abs(full[name]).max() for name in full])
        np.testing.assert_array_equal(result.pop("largest")[:, 0], largest)
        assert (result.pop("areas")[:, 0] <= largest * times[-1] * (1 + 1e-12)).all()
        assert list(result) == list(op.tables.law.variables)
        for name, values in result.items():
            expected = spectrum(full[name], dt, numbers)
            assert values.dtype == np.complex128
            assert values.shape == series.shape(name) == expected.shape
            assert np.abs(values - expected).max() < 1e-10 * np.abs(expected).max()
        assert series.coords["frequency"].values.tolist() == frequencies.tolist()
        assert not series.over_time
        assert [series.dtype_of(name) for name in ("Ez", "time_span")] == ["complex128", "float64"]


@pytest.mark.parametrize("kernels", ["fused", "array"])
def test_transform_of_the_volume(kernels):
    op, dt, count = operator(2, kernels), 0.05, 40
    times = dt * np.arange(count)
    result = history(Fourier([0.5, 1.0], variables="Hy"), op, times).result()
    full = np.array([op.host(state(op, t))[1].T for t in times])
    assert result["Hy"].shape == (2, *full.shape[1:])
    expected = spectrum(full, dt, [1, 2])
    assert np.abs(result["Hy"] - expected).max() < 1e-10 * np.abs(expected).max()


def test_transform_with_uneven_steps_window_and_start():
    op, rng = operator(1), np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.02, 0.2, 60))

    def hann(t):
        return np.sin(np.pi * (t - 1.0) / 4.0) ** 2
    result = history(Fourier(0.7, every=2, start=1.0, window=hann, points=[0.3]), op, times).result()
    used = times[::2][times[::2] >= 1.0]
    values = field(0, [np.array(0.3)], used) * hann(used) * np.exp(-2j * np.pi * 0.7 * used)
    np.testing.assert_allclose(result["Ez"], [[np.trapezoid(values, used)]], rtol=1e-11)
    np.testing.assert_array_equal(result["time_span"], used[[0, -1]])


@pytest.mark.parametrize("room", [1 << 24, 0])
def test_transform_goes_on_bitwise(room, monkeypatch):
    monkeypatch.setattr(fourier, "WAITING_BYTES", room)
    op, rng = operator(2), np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.02, 0.2, 40))
    states = [state(op, t) for t in times]
    recorder = Fourier(np.linspace(0.1, 3, 7), "top", every=1, start=0.3)

    def run(recording, first, last):
        for step in range(first, last):
            recording.sample(states[step], times[step], step)
        return recording
    whole = run(recorder.attach("r", op), 0, 40).result()
    for stop in (0, 1, 2, 3, 16, 17, 18, 19, 33, 39):
        kept = {key: array.copy() for key, array in run(recorder.attach("r", op), 0, stop).state().items()}
        other = recorder.attach("r", op)
        other.restore(kept)
        result = run(other, stop, 40).result()
        assert all(result[name].tobytes() == whole[name].tobytes() for name in whole)


def test_the_largest_values_of_a_transform_are_those_of_the_record_and_of_its_end():
    """Of samples that fall as exp(-t); the end is between a 64th and a 16th of the record."""
    for blocks in (1, 3, 64, 65, 129, 500):
        sizes = np.exp(-np.arange(blocks) / 50)[:, None] * [1.0, 5.0]
        envelope = fourier.Envelope(np.zeros((fourier.STRETCHES, 2)))
        for row in sizes:
            envelope.add(row)
        assert envelope.whole.tolist() == [1.0, 5.0]
        first = blocks - 1 - np.searchsorted(sizes[::-1, 0], envelope.end[0] * (1 - 1e-12))
        assert envelope.end.tolist() == sizes[first].tolist()
        assert min(blocks, max(2, blocks / 64)) <= blocks - first <= max(2, blocks / 16 + 1), (blocks, first)
    op, times = operator(1), np.linspace(0, 4, 41)
    full = history(Points([0.3]), op, times).rows()[1]["Ez"]
    result = history(Fourier(0.7, window=lambda t: 1.0 * (t < 0.5), points=[0.3], variables="Ez"), op, times).result()
    np.testing.assert_array_equal(result["largest"][:, 0], np.abs(full[times < 0.5]).max())


def test_frequencies_with_less_than_two_samples_in_a_period_are_refused():
    op, times = operator(1), 0.1 * np.arange(5)
    history(Fourier([4.9]), op, times)
    with pytest.raises(ValueError, match="record 'r': the frequency 5.1 is not allowed; .* it must be at most 5, so that two"):
        history(Fourier([1.0, 5.1]), op, times)
    with pytest.raises(ValueError, match="with a sample every 2 steps, after 0.2 each, it must be at most 2.5"):
        history(Fourier([1.0, 4.9], every=2), op, times)


def test_a_result_does_not_change_what_follows():
    op, times = operator(1), np.linspace(0, 3, 50)
    once = history(Fourier([1.0]), op, times)
    again = Fourier([1.0]).attach("r", op)
    for step, t in enumerate(times):
        again.sample(state(op, t), t, step)
        again.result()
    assert again.result()["Ez"].tobytes() == once.result()["Ez"].tobytes()


def test_transform_without_a_sample():
    with pytest.warns(UserWarning, match="no sample at or after start = 5; its transform is 0"):
        result = history(Fourier(1.0, start=5), operator(1), [0.0, 1.0]).result()
    assert not result["Ez"].any()
    assert np.isnan(result["time_span"]).all()


def test_transforms_refuse_what_another_one_kept():
    op = operator(1)
    kept = Fourier([1.0, 2.0], "left").attach("r", op).state()
    with pytest.raises(ValueError, match="'r' was at the frequencies 1, 2, now it has 1, 3; they must be the same"):
        Fourier([1.0, 3.0], "left").attach("r", op).restore(kept)
    with pytest.raises(ValueError, match="'r' had 2 values at every frequency, now it has 40; its place"):
        Fourier([1.0, 2.0]).attach("r", op).restore(kept)
    with pytest.raises(ValueError, match="cannot go on from a state with nothing; it needs blocks, frequencies, kept, largest"):
        Fourier([1.0, 2.0]).attach("r", op).restore({})


@pytest.mark.parametrize("make, message", [
    (lambda: Points([(0.5, 0.5)], every=0), "every=0 is not allowed; it must be a whole number from 1, in steps"),
    (lambda: SurfaceFields("left", every=1.5), "every=1.5 is not allowed"),
    (lambda: Extrema(every=True), "every=True is not allowed"),
    (lambda: Fourier([1.0], every=-2), "every=-2 is not allowed"),
    (lambda: BoundaryIntegral("left", every=0), "every=0 is not allowed"),
    (lambda: VolumeIntegral(degree=0, function=abs), "degree=0 is not allowed; it must be a whole number from 1"),
    (lambda: VolumeIntegral(names=("a",)), "is not allowed without a function"),
    (lambda: VolumeIntegral(3), "function=3 is not allowed; it must be a function"),
    (lambda: VolumeIntegral(lambda q: (1, 2), names=("a", "a")), "name 'a' is not allowed; names are letters"),
    (lambda: VolumeIntegral(lambda q: 1, names="time"), "name 'time' is not allowed"),
    (lambda: Fourier([]), "frequencies=\\[\\] is not allowed; it must be finite numbers, at least one"),
    (lambda: Fourier([np.nan]), "is not allowed; it must be finite numbers"),
    (lambda: Fourier([0.0, -0.4]), "the frequency -0.4 is not allowed; frequencies are numbers from 0"),
    (lambda: Fourier("1 GHz"), "frequencies='1 GHz' is not allowed"),
    (lambda: Fourier([1.0], start="now"), "start='now' is not allowed; it must be a finite number"),
    (lambda: Fourier([1.0], "left", points=[(0.0, 0.0)]), "boundary and points are both given"),
    (lambda: Fourier([1.0], window="hann"), "window='hann' is not allowed; it must be a function of t"),
    (lambda: Fourier([1.0], window=lambda t: np.nan), "the window gives nan at t = 0; it must be a finite number"),
])
def test_bad_recorders(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("recorder, message", [
    (Points([(0.5, 0.5), (3.0, 0.5), (9.0, 0.0)]),
     r"record 'r': point 1 at \(3, 0.5\) is outside the mesh \(and 1 more\); the mesh lies between \(0, 0\) and \(2, 1\)"),
    (Points([0.1, 0.2, 0.3]), r"points have the shape \(3,\); it must be \(point, 2\)"),
    (Points("here"), "points='here' is not allowed; give numbers"),
    (Points([(0.5, 0.5)], variables="Ex"), "record 'r': variable 'Ex' does not exist in the law; it has: Hx, Hy, Ez"),
    (Points([(0.5, 0.5)], variables=()), "variables=\\(\\) is not allowed; give at least one"),
    (SurfaceFields("lefd"), r"boundary 'lefd' does not exist in the mesh; it has: .* \(did you mean 'left'\?\)"),
    (SurfaceFields(7), "boundary 7 does not exist"),
    (SurfaceFields(()), r"boundary=\(\) has no face"),
    (BoundaryIntegral("wall"), "boundary 'wall' does not exist"),
    (Fourier([1.0], ("left", "rigt")), "boundary 'rigt' does not exist"),
    (BoundaryIntegral("left", lambda q: (q[0], q[1]), names=("a",)), "returns 2 components, but names has 1: a"),
    (BoundaryIntegral("left", lambda q: q[0] * 1j), "component integral is an array of complex128"),
    (VolumeIntegral(lambda q: q[0][:2, :1].ravel()), "with the shape \\(2,\\); it must be a real number at every point"),
    (VolumeIntegral(lambda q: None), "returns None"),
])
def test_what_does_not_fit_the_problem(recorder, message):
    with pytest.raises(ValueError, match=message):
        recorder.attach("r", operator(2))


def test_a_function_that_asks_for_something_else():
    with pytest.raises(TypeError, match="record 'r': function 'power' asks for 'n'; allowed: m, q, t, x"):
        def power(q, n):
            return q[0]
        VolumeIntegral(power).attach("r", operator(2))


def snapshots(dim, path=None, times=(0.0, 0.5, 1.0)):
    """A dataset of the fields at some times."""
    op, m = operator(dim), mesh(dim)
    store = Store(Layout(dim, ORDER, m.points, m.cells, m.numbers, op.tables.law.variables, boundaries=m.boundaries,
                         regions=m.regions), path)
    for t in times:
        store.append(t, op.host(state(op, t)))
    return op, store.dataset()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("lazy", [False, True])
def test_surface_of_a_dataset(dim, lazy, tmp_path):
    if lazy:
        pytest.importorskip("dask", reason="needs dask")
    op, ds = snapshots(dim, tmp_path / "out.zarr" if lazy else None)
    part = ds.dg.surface("right")
    name = op.tables.law.variables[0]
    assert part[name].dims == ("time", "face", "face_node")
    assert (part[name].chunks is not None) is lazy
    for number, variable in enumerate(op.tables.law.variables):
        for index, t in enumerate(ds.time.values):
            close(op, part[variable].values[index], field(number, [part[axis].values for axis in "xyz"[:dim]], t))
    np.testing.assert_allclose(part.x, 2.0)
    np.testing.assert_allclose(part.normal_x, 1.0)
    np.testing.assert_allclose(part.area.sum(), 1.0)
    np.testing.assert_allclose(part.weight.sum("face_node"), part.area)
    across = sum(part[axis] ** 3 for axis in "yz"[:dim - 1])          # on a unit side
    np.testing.assert_allclose((across * part.weight).sum(), (dim - 1) / 4, rtol=1e-12, atol=1e-15)
    assert {key: part.attrs[key] for key in ("dim", "order", "boundary")} == {"dim": dim, "order": 3, "boundary": "right"}
    recording = SurfaceFields("right").attach("r", op)
    recording.sample(state(op, 0.5), 0.5, 0)
    one = ds.dg.surface("right", time=0.5)
    np.testing.assert_array_equal(one[name].values, recording.rows()[1][name][0])
    assert float(one.time) == 0.5
    for coordinate, fixed in recording.series.coords.items():
        np.testing.assert_array_equal(one[coordinate], fixed.values)
    with pytest.raises(ValueError, match=r"boundary 'rihgt' does not exist in the dataset; it has: .*'right'\?"):
        ds.dg.surface("rihgt")


def test_boundaries_of_a_dataset_with_shared_faces_and_spaces():
    m = mesh(2)
    named = {"lower wall": m.boundaries["bottom"], "all": m.boundary_faces}
    ds = Store(Layout(2, 1, m.points, m.cells, m.numbers, ("u",), boundaries=named)).dataset()
    found = boundaries(ds)
    assert set(found) == {"lower_wall", "all"}
    np.testing.assert_array_equal(np.unique(found["lower_wall"], axis=0), np.unique(named["lower wall"], axis=0))
    assert len(found["all"]) == len(m.boundary_faces)
    assert ds.dg.surface("lower wall").sizes["face"] == 4
    bare = Store(Layout(2, 1, m.points, m.cells, m.numbers, ("u",))).dataset()
    with pytest.raises(ValueError, match="boundary 'left' does not exist in the dataset; it has: none"):
        bare.dg.surface("left")


def with_records(ds, recordings):
    """The dataset with what recordings kept, named as in a run's store: every name has the prefix `record_`."""
    classes = {}
    for recording, cls in recordings:
        series = recording.series
        prefix, (times, values) = f"{series.name}_", recording.rows()
        time = (f"{prefix}time",) if series.over_time else ()
        ds = ds.assign_coords({prefix + name: ([prefix + d for d in fixed.dims], fixed.values, fixed.attrs)
                               for name, fixed in series.coords.items()})
        arrays = values if time else recording.result()
        ds = ds.assign({prefix + name: ((*time, *(prefix + d for d in dims)), arrays[name], attrs)
                        for name, (dims, attrs) in series.variables.items()})
        if time:
            ds = ds.assign_coords({time[0]: (time, times)})
        classes[series.name] = cls
    return ds.assign_attrs(records=json.dumps(classes))


def test_records_come_back_under_plain_names(tmp_path):
    op, ds = snapshots(2)
    times = 0.1 * np.arange(9)
    made = {"mesh": Points([(0.5, 0.5)]), "cell": Points([(1.0, 0.5)]), "probe": Points([(0.5, 0.5), (1.5, 0.25)]),
            "probe_wall": SurfaceFields("top"), "energy": VolumeIntegral(), "wall": Fourier([0.5, 1.0], "top"),
            "volume": Fourier([0.5, 1.0])}
    recordings = []
    for name, recorder in made.items():
        recording = recorder.attach(name, op)
        for step, t in enumerate(times):
            recording.sample(state(op, t), t, step)
        recordings.append((recording, type(recorder).__name__))
    results = {name: recording.result() for name, (recording, _) in zip(made, recordings)}
    with_records(ds, recordings).to_zarr(tmp_path / "out.zarr", zarr_format=3, consolidated=False)
    ds = xr.open_zarr(tmp_path / "out.zarr", consolidated=False)
    probe = ds.dg.record("probe")
    assert set(probe.variables) == {"Hx", "Hy", "Ez", "time", "x", "y", "cell_number"}
    assert probe.Ez.dims == ("time", "point")
    np.testing.assert_allclose(probe.time, times)
    close(op, probe.Ez.values, [field(2, np.array([[0.5, 1.5], [0.5, 0.25]]), t) for t in times])
    assert probe.attrs == {"dim": 2, "order": 3, "nodes": ds.attrs["nodes"], "record": "Points"}
    assert set(ds.dg.record("mesh").variables) == set(ds.dg.record("cell").variables) == set(probe.variables)
    top = ds.dg.record("probe_wall")
    assert top.Ez.dims == ("time", "face", "face_node")
    assert top.attrs["boundary"] == "top"
    close(op, top.Ez.isel(time=-1).values, field(2, [top.x.values, top.y.values], times[-1]))
    assert ds.dg.record("energy").energy.dims == ("time",)
    wall = ds.dg.record("wall")
    assert wall.Ez.dims == ("frequency", "face", "face_node")
    assert wall.attrs["time_span"] == [0.0, times[-1]]
    assert wall.normal_y.values.tolist() == [1.0] * 4
    np.testing.assert_array_equal(wall.Ez.values, results["wall"]["Ez"])
    np.testing.assert_array_equal(wall.frequency, [0.5, 1.0])
    volume = ds.dg.record("volume")
    assert volume.Ez.dims == ("frequency", "element", "node")
    # It stands on the mesh, so that `.dg` serves it.
    parts = volume.isel(frequency=0).assign(real=lambda d: d.Ez.real)
    assert parts.dg.norm("real") == pytest.approx(np.sqrt(np.sum([
        u @ parts.dg.reference.mass @ u * j for u, j in zip(results["volume"]["Ez"][0].real, parts.dg.jacobians)])))
    assert volume.dg.surface("top").Ez.dims == ("frequency", "face", "face_node")
    with pytest.raises(ValueError, match=r"record 'prob' does not exist in the dataset; it has: mesh, cell, .*'probe'\?"):
        ds.dg.record("prob")


def test_names_of_a_mesh_without_boundaries():
    with pytest.raises(ValueError, match="boundary 'left' does not exist in the mesh; it has: none"):
        SurfaceFields("left").attach("r", dg.Simulation(dg.interval(0, 1, 4, periodic=True), dg.Advection((1.0,)),
                                                        dg.NodalDG(1), backend="numpy").operator)


def test_a_variable_called_as_a_coordinate():
    class Pipe(dg.Law):
        dim, variables = 1, ("u", "area")

        def flux(self, q, n):
            return q[1] * n[0], q[0] * n[0]

        def wave_speed(self, n):
            return np.abs(n[0])
    op = operator(1, law=Pipe(), boundary=dg.outflow)
    assert list(recorded(Points([0.5]), op)[0]) == ["u", "area"]
    with pytest.raises(ValueError, match="record 'r': the variable 'area' of the law has the name of a coordinate"):
        SurfaceFields("left").attach("r", op)


def test_recorders_show_themselves_the_same_in_every_run():
    def power(q, n):
        return q[0] * n[0]
    assert repr(BoundaryIntegral("left", power, names=("a",))).endswith("power, every=1, names=('a',))")
    assert repr(BoundaryIntegral("left", every=2)) == "BoundaryIntegral(boundary='left', every=2)"
    assert repr(Points(np.zeros((8, 2)))) == "Points(points=<8>, every=1)"
    assert repr(Fourier(np.array([0.5, 1.0]), ("a", "b"))) == (
        "Fourier(frequencies=[0.5, 1.0], boundary=('a', 'b'), every=1, start=0.0)")
