"""The images of a record on the half of a problem beside the record on the whole of it, of the runs of `matrix`."""
import numpy as np
from matrix import SIDES, boundary_of, flux_of, law_of, mesh_of, method_of, state_of
from matrix_states import images, waves
from scipy.spatial import cKDTree

import dgarray as dg
from dgarray.analysis.mirror_images import with_mirror_images
from dgarray.mesh.faces import all_faces, together
from dgarray.mesh.mesh import build

CELLS, STEPS, DT, FREQUENCIES = 2, 5, 0.01, (0.0, 0.1)


def with_image(mesh):
    """The straight mesh of a box whose lower side is at x = 0, and its image in x = 0, as one mesh of both."""
    points, shapes = mesh.points, {block.cell_type: block.cell_shape for block in mesh.blocks}
    away = points[:, 0] > 0
    number = np.where(away, len(points) + np.cumsum(away) - 1, np.arange(len(points)))
    points = np.concatenate([points, points[away] * [-1.0, *(1.0,) * (points.shape[1] - 1)]])
    cells = {block.cell_type: np.concatenate([block.cells, number[block.cells][:, block.cell_shape.mirrored]])
             for block in mesh.blocks}
    faces = together([all_faces(rows, shapes[name].faces) for name, rows in cells.items()])
    facets = {name: faces[np.all(points[faces, axis] == end, axis=1)]
              for axis, pair in enumerate(SIDES[points.shape[1]]) for name, end in zip(pair, (0.0 if axis else -1.0, 1.0))}
    return build(points, cells, facets)


def wall_of(run):
    return getattr(dg, run.records.removeprefix("images at "))


def record(run, whole):
    """The transform at the sides, of a run whose side x = 0 is the mirror, or of that with its image in it."""
    law, wall = law_of(run), wall_of(run)
    q, field = images(law, state_of(run, law), wall), images(law, waves(law), wall)
    given = boundary_of(run, law, q, field)
    given = given if isinstance(given, dict) else {"default": given}
    given = given | {"left": given.get("right", given.get("default")) if whole else wall}
    mesh = mesh_of(run, CELLS, *[with_image] * whole)
    names = [side for pair in SIDES[law.dim] for side in pair if whole or side != "left"]
    ds = dg.Simulation(mesh, law, method_of(run), given, q, flux=flux_of(run), until=STEPS * DT, dt=DT, backend="numpy",
                       kernels="array", threads=1, record={"r": dg.Fourier(FREQUENCIES, boundary=tuple(names))}).run()
    return ds.dg.record("r")


def places(fields):
    """(point, 2 dim): where the middle of each point's face is, and where the point."""
    x = np.stack([fields[axis].transpose("face", "face_node").values for axis in "xyz"[:fields.attrs["dim"]]])
    return np.concatenate([np.broadcast_to(x.mean(axis=2, keepdims=True), x.shape), x]).reshape(2 * len(x), -1).T


def difference(run):
    """The largest difference of the images from the whole, by the largest value."""
    plane = {"wall": "hard", "pressure_release": "soft"}.get(wall_of(run).__name__, wall_of(run).__name__)
    found, expected = with_mirror_images(record(run, False), {"x": plane}), record(run, True)
    away, order = cKDTree(places(found)).query(places(expected))
    assert away.max() < 1e-9 and sorted(order) == list(range(found.sizes["face"] * found.sizes["face_node"]))
    names = [f"normal_{axis}" for axis in "xyz"[:expected.attrs["dim"]]] + list(expected.data_vars)

    def values(fields, name):
        each = fields[name].broadcast_like(fields["x"]).transpose(..., "face", "face_node").values
        return each.reshape(*each.shape[:-2], -1)
    return max(np.abs(values(found, name)[..., order] - values(expected, name)).max() / np.abs(values(expected, name)).max()
               for name in names)
