"""What meshes with prisms refuse, and say: curved prisms and their refinement. What looks curved but is straight is allowed."""
import numpy as np
import pytest

from dgarray.mesh import MeshError, box


def bend(x):
    return x[0] + 0.05 * np.sin(3 * x[1]) * x[2], x[1], x[2]


def stretch(x):
    return x[0] + 0.2 * x[1], 2 * x[1], x[2]


@pytest.mark.parametrize("shape", ["prism", "mixed"])
def test_prisms_stay_straight(shape):
    mesh = box(cells=2, shape=shape)
    with pytest.raises(MeshError, match="prism cells are not supported; allowed: straight ones, .* split=True"):
        mesh.mapped(bend, 2)
    for order in (None, 2):          # to straight cells
        moved = mesh.mapped(stretch, order)
        assert moved.order == 1 and moved.measures.sum() == pytest.approx(2, rel=1e-13)
    bent = mesh.mapped(bend)          # of corners: the map keeps the volume of columns along x
    closed = (bent.normals * bent.face_measures[:, :, None]).sum(axis=1)
    assert np.abs(closed).max() < 1e-15 * 8 and bent.order == 1


def test_prisms_are_not_refined_or_curved_at_a_boundary():
    mesh = box(cells=2, shape="prism")
    with pytest.raises(MeshError, match="curved boundaries of prism cells are not supported; .* split=True"):
        mesh.curved(2, bend)
    with pytest.raises(MeshError, match="not for prism cells; make or read a finer mesh"):
        mesh.refined()
