"""The mesh of the air around an aircraft: a closed surface on the aircraft, valid cells that are near to bricks, symmetry."""
from math import pi

import numpy as np
import pytest

from dgarray.cases.meshes import aircraft as module
from dgarray.cases.meshes.aircraft import SIDES, Aircraft, Lattice, Wing, aircraft_mesh, half_thickness, skin_points
from dgarray.mesh import MeshError
from dgarray.mesh.geometry import are_valid

BOX = (-1.5, -6.0, -2.1), (11.5, 6.0, 3.7)          # around the default aircraft with the default margin


@pytest.fixture(scope="module", params=[0.6, 0.45])
def mesh(request):
    return aircraft_mesh(request.param)


def test_cells_are_hexahedra_near_to_bricks(mesh):
    quality = mesh.quality()
    assert mesh.cell_type == "hexahedron" and mesh.order == 1
    assert not mesh.notes and not len(mesh.hanging)
    assert are_valid(mesh.points, mesh.cells).all()
    assert quality.min() > 0.25 and np.quantile(quality, 0.02) > 0.5 and np.median(quality) > 0.95
    assert mesh.inradii.min() > 0.05          # what bounds the time step


def test_boundaries_are_the_skin_and_the_sides_of_the_box(mesh):
    assert set(mesh.boundaries) == {"skin", *sum(SIDES, ())}
    assert not len(mesh.unnamed)
    for axis, names in enumerate(SIDES):
        for name, corner in zip(names, BOX):
            assert np.ptp(mesh.points[mesh.face_points(mesh.boundaries[name])][..., axis]) == 0
            assert mesh.points[mesh.face_points(mesh.boundaries[name])[0, 0], axis] == pytest.approx(corner[axis])


def test_the_skin_is_a_closed_manifold_like_a_sphere(mesh):
    faces = mesh.face_points(mesh.boundaries["skin"])
    ring = faces[:, [0, 1, 3, 2]]
    edges = np.sort(np.stack([ring, np.roll(ring, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    edges, uses = np.unique(edges, axis=0, return_counts=True)
    assert (uses == 2).all()
    assert len(np.unique(faces)) - len(edges) + len(faces) == 2
    for point in np.unique(faces):          # the faces at each point are one fan
        fan = {tuple(face) for face in ring[(ring == point).any(axis=1)].tolist()}
        found = {fan.pop()}
        while more := {face for face in fan if any(len(set(face) & set(other)) == 2 for other in found)}:
            found |= more
            fan -= more
        assert not fan


def test_points_of_the_skin_lie_on_the_aircraft(mesh):
    shape = Aircraft()
    x, y, z = mesh.points[np.unique(mesh.face_points(mesh.boundaries["skin"]))].T
    distances = [np.abs(shape.level(x, y, z))]
    for wing, along, across in ((shape.wing, np.abs(y), z), (shape.tailplane, np.abs(y), z), (shape.fin, z, y)):
        chord = wing.at("chord", along)
        s = np.clip((x - wing.at("leading", along)) / chord, 0, 1)
        height = 2 * np.abs(across - wing.at("height", along)) / (wing.thickness * chord)
        on = np.minimum.reduce([np.abs(height - half_thickness(s)), s, 1 - s, np.abs(along - wing.span)])
        within = (height < half_thickness(s) + 1e-9) & (along < wing.span + 1e-9) & (shape.level(x, y, z) > -1e-9)
        distances.append(np.where(within, on, np.inf))
    assert np.min(distances, axis=0).max() < 1e-9


def test_the_mesh_is_symmetric(mesh):
    def ordered(x):
        return x[np.lexsort(np.round(x, 9).T)]
    mirrored = (1, -1, 1)
    assert np.array_equal(ordered(mesh.points), ordered(mesh.points * mirrored))
    assert np.allclose(ordered(mesh.centroids), ordered(mesh.centroids * mirrored), rtol=0, atol=1e-12)


def exact_volume(shape, count=60):
    """Of an aircraft: of the fuselage, and by the midpoint rule of what the wings have outside of it."""
    volume = pi * shape.radius**2 * (shape.tail - shape.nose + 2 / 3 * (shape.nose + shape.length - shape.tail))
    share = (np.arange(count) + 0.5) / count
    s, z = share[:, None], (2 * share - 1) * half_thickness(share[:, None])
    for wing, halves, is_fin in ((shape.wing, 2, False), (shape.tailplane, 2, False), (shape.fin, 1, True)):
        along = np.repeat((share * wing.span)[:, None, None], count, axis=1) + 0 * z
        x, height = wing.place(s, z, along)
        outside = shape.level(x, height, along) > 0 if is_fin else shape.level(x, along, height) > 0
        section = wing.at("chord", along)**2 * wing.thickness * half_thickness(s)
        volume += halves * wing.span * np.mean(section * outside)
    return volume


def enclosed(points, faces):
    """Volume in faces (face, 2, 2) between straight lines, the mean of both ways to cut each of them into triangles."""
    a, b, c, d = points[faces[:, 0, 0]], points[faces[:, 1, 0]], points[faces[:, 1, 1]], points[faces[:, 0, 1]]
    return sum(np.sum(p * np.cross(q, r)) for p, q, r in ((a, b, c), (a, c, d), (a, b, d), (b, c, d))) / 12


def test_the_volume_is_that_of_the_box_without_the_aircraft(mesh):
    lattice = Lattice(Aircraft(), float(mesh.source.split("(")[1].split(",")[0]), 1.5)
    faces = lattice.faces()
    aircraft = enclosed(skin_points(lattice, faces).reshape(-1, 3), faces)
    assert mesh.measures.sum() == pytest.approx(np.prod(np.subtract(*BOX[::-1])) - aircraft, rel=1e-9)
    assert aircraft == pytest.approx(exact_volume(Aircraft()), rel=0.06)


def test_the_volume_of_finer_skins_converges():
    errors = []
    for size in (0.4, 0.2, 0.1):
        lattice = Lattice(Aircraft(), size, 1.5)
        faces = lattice.faces()
        errors.append(1 - enclosed(skin_points(lattice, faces).reshape(-1, 3), faces) / exact_volume(Aircraft()))
    assert 0 < errors[-1] < 0.006
    assert np.log2(errors[0] / errors[-1]) / 2 > 1.5          # numbers of cells are whole, so the order is 2 on average alone


def test_the_mesh_is_always_the_same():
    first, second = aircraft_mesh(1.0), aircraft_mesh(1.0)
    assert np.array_equal(first.points, second.points) and np.array_equal(first.cells, second.cells)


def test_another_aircraft():
    """With a wing that is swept forward, in another unit of length."""
    wing = Wing((0.43, 0.33), (0.26, 0.125), (-0.02, 0.01), 0.45, 0.1)
    tailplane, fin = Wing((0.76, 0.85), (0.13, 0.085), (0.02, 0.03), 0.18, 0.14), Wing(
        (0.69, 0.86), (0.175, 0.095), (0.0, 0.0), 0.22, 0.14)
    mesh = aircraft_mesh(0.06, 0.1, Aircraft(1.0, 0.06, 0.2, 0.6, 0.03, wing, tailplane, fin))
    assert mesh.quality().min() > 0.2


@pytest.mark.parametrize("keywords, message", [
    ({"size": 0}, "size=0 is not allowed; it must be a positive number"), ({"size": "fine"}, "size='fine'"),
    ({"size": True}, "size=True"), ({"size": np.inf}, "size=inf"), ({"margin": -1.0}, r"margin=-1\.0")])
def test_sizes_are_positive_numbers(keywords, message):
    with pytest.raises(ValueError, match=message):
        aircraft_mesh(**keywords)


def test_distorted_cells_and_too_many_are_refused(monkeypatch):
    monkeypatch.setattr(module, "LEAST", 0.9)
    with pytest.raises(MeshError, match=r"the scaled Jacobian of a cell is 0\.\d+, below 0\.9; take a smaller size"):
        aircraft_mesh(1.0)
    with pytest.raises(MeshError, match=r"around an aircraft at size=0\.001 would have .* cells"):
        aircraft_mesh(0.001)
