"""What waves lose over a wavelength, and the warning of frequencies that the mesh does not carry."""
import warnings

import numpy as np
import pytest

import dgarray as dg
from dgarray.analysis.resolution import loss


@pytest.mark.parametrize("order, cells", [(1, 8), (2, 4), (3, 3)])
def test_the_loss_is_that_of_a_run(order, cells):
    """A wave of the length 1 in 1D, over 4 wavelengths: within a fifth of the formula, the first term of a series."""
    law, until, mesh = dg.Advection((1.0,)), 4.0, dg.interval(0, 1, cells, periodic=True)
    x = np.linspace(0, 1, 64, endpoint=False)
    sim = dg.Simulation(mesh, law, dg.NodalDG(order), initial=lambda x: (np.sin(2 * np.pi * x[0]),), until=until,
                        backend="numpy", kernels="array", dt=0.02)
    before, after = (abs(np.fft.fft(sim.run().dg.sample(x[:, None], time=t).u.values)[1]) for t in (0.0, until))
    expected = loss(mesh, law, order, 1.0)
    assert expected.shape == (cells,) and 5e-4 < expected[0] < 0.1
    np.testing.assert_allclose(-np.log(after / before) / until, expected[0], rtol=0.2)


def test_of_media_shapes_and_orders():
    """(k h)^(2p + 1): in eps = 4 waves are half as long; two triangles, and six tetrahedra, are as large as a box."""
    mesh = dg.rectangle(cells=4, shape="quadrilateral").with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    a, b = (mesh.regions[name] for name in "ab")
    plain = loss(mesh, dg.Maxwell(2), 2, 0.5)
    assert np.allclose(plain, np.pi / 3600 * (np.pi / 4) ** 5)
    of_media = loss(mesh, dg.Maxwell(2, eps={"a": 4.0, "b": 1.0 + dg.Debye(1.0, 0.1)}), 2, 0.5)
    assert np.allclose(of_media[a], 32 * plain[a]) and np.allclose(of_media[b], plain[b])
    graded = loss(mesh, dg.Maxwell(2, eps=lambda x: np.where(x[0] < 0.5, 4.0, 1.0)), 2, 0.5)
    assert np.allclose(graded, of_media)
    tensor = loss(mesh, dg.Maxwell(2, "TE", eps={"a": (1.0, 4.0, 1.0), "b": 1.0}), 2, 0.5)          # the slower of two waves
    assert np.allclose(tensor, of_media)
    orders = loss(mesh, dg.Maxwell(2), {"a": 2, "b": 1}, 0.5)
    assert np.allclose(orders[a], plain[a]) and np.allclose(orders[b], np.pi / 36 * (np.pi / 4) ** 3)
    for other in (dg.rectangle(cells=4), dg.rectangle(cells=4, shape="mixed"), dg.box(cells=4), dg.box(cells=4, shape="prism")):
        expected = np.pi / 3600 * (np.pi / 4 * (1.0 if other.dim == 2 or other.cell_type != "prism" else 0.5 ** (1 / 3))) ** 5
        assert np.allclose(loss(other, dg.Maxwell(other.dim), 2, 0.5), expected)
    assert loss(mesh, dg.Maxwell(2), 2, 50.0).max() == 1.0


def test_frequencies_that_the_mesh_does_not_carry_are_warned_of():
    def warned(law, frequency, mesh=None, method=None):
        mesh = dg.rectangle(cells=4, shape="quadrilateral") if mesh is None else mesh
        method = dg.TensorDG(2) if method is None else method
        sim = dg.Simulation(mesh, law, method, dg.wall if not law.fields else dg.pec, until=1e-3, backend="numpy",
                            kernels="array", record={"f": dg.Fourier((0.1, frequency), points=[(0.3, 0.3)])})
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            sim.run()
        return [str(w.message) for w in found]
    assert warned(dg.Maxwell(2), 1.0) == []
    text, = warned(dg.Maxwell(2), 1.4)
    assert text.startswith("record 'f': waves of the frequency 1.4 lose 4.49 % of their amplitude over a wavelength, or more,")
    assert warned(dg.Maxwell(2), 1.4, method=dg.TensorDG(3)) == []
    # Layers do not count, and of nonlinear laws nothing is known.
    coarse = dg.pml(dg.rectangle(cells=4, shape="quadrilateral"), 4.0, 2)
    assert warned(dg.Maxwell(2), 1.0, coarse) == []
    gas = dg.Simulation(dg.rectangle(cells=2, shape="quadrilateral"), dg.Euler(2), dg.TensorDG(1), dg.wall,
                        lambda x: (1.0, 0.0, 0.0, 2.5), until=1e-3, backend="numpy", kernels="array",
                        record={"f": dg.Fourier(9.0, points=[(0.3, 0.3)])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gas.run()


@pytest.mark.thorough
def test_of_the_law_in_each_region_nothing_is_said():
    mesh = dg.rectangle(cells=2, shape="quadrilateral").with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    laws = {"a": dg.Acoustics(2), "b": dg.Acoustics(2, sound_speed=2.0)}
    sim = dg.Simulation(mesh, laws, dg.TensorDG(1), dg.wall, until=1e-3, backend="numpy",
                        record={"f": dg.Fourier(9.0, points=[(0.3, 0.3)])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.run()
