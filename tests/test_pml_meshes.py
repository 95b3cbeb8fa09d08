"""Meshes with perfectly matched layers: new cells around them, regions that are layers, and how these stretch space."""
from dataclasses import replace
from math import log, pi

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dgarray as dg
from dgarray.mesh import MeshError, MeshWarning, describe, from_arrays, polygon
from dgarray.mesh.absorbing.layers import BoxLayer, RoundLayer
from dgarray.mesh.curved.checks import check_shared
from dgarray.mesh.digest import digest
from dgarray.mesh.mesh import build
from dgarray.mesh.partition import partition, split
from dgarray.physics.trace import trace

SIZE = 2.0, 1.0, 1.0
SHAPES = ["line", "triangle", "quadrilateral", "mixed 2D", "tetra", "hexahedron", "prism", "pyramid", "mixed 3D", "hybrid"]
SIDES = {1: ("left", "right"), 2: ("left", "right", "bottom", "top"), 3: ("left", "right", "front", "back", "bottom", "top")}


def brick(shape, **options):
    """A mesh of the box from 0 to SIZE."""
    if shape == "line":
        return dg.interval(0, 2, 4, **options)
    if shape in ("triangle", "quadrilateral", "mixed 2D"):
        return dg.rectangle((0, 0), SIZE[:2], (4, 2), shape=shape.split()[0], **options)
    return dg.box((0, 0, 0), SIZE, (4, 2, 2), shape=shape.split()[0], **options)


def disc(order=6):
    """Triangles of a circle of the radius 2."""
    angles = 2 * pi * np.arange(12) / 12
    flat = polygon(2 * np.column_stack([np.cos(angles), np.sin(angles)]), 1.0)
    return flat.curved(order, lambda x: tuple(2 * c / np.hypot(*x) for c in x))


def ring(shape="quadrilateral", order=6):
    """The ring between circles of the radii 1 and 2, with the boundaries inner and outer."""
    flat = dg.rectangle((1, 0), (2, 2 * pi), (2, 12), shape=shape)
    mesh = flat.mapped(lambda x: (x[0] * np.cos(x[1]), x[0] * np.sin(x[1])), order)
    _, first, place = np.unique(np.round(mesh.points, 9) + 0.0, axis=0, return_index=True, return_inverse=True)
    points, place = mesh.points[first], place.ravel()          # both ends of the angle are one
    facets = {"inner": place[mesh.face_points(mesh.boundaries["left"])],
              "outer": place[mesh.face_points(mesh.boundaries["right"])]}
    if shape == "mixed":
        return build(points, {block.cell_type: place[block.cells] for block in mesh.blocks}, facets,
                           geometry_nodes={block.cell_type: block.geometry_nodes for block in mesh.blocks})
    return from_arrays(points, place[mesh.cells], facets, geometry_nodes=mesh.geometry_nodes)


def shell(shape, order):
    """A sixth of the shell between spheres of the radii 1 and 2, with the spheres at its bottom and top."""
    flat = dg.box((-1, -1, 1), (1, 1, 2), (2, 2, 1), shape=shape)

    def onto(x):
        a, b = np.tan(pi / 4 * x[0]), np.tan(pi / 4 * x[1])
        r = x[2] / np.sqrt(1 + a**2 + b**2)
        return r * a, r * b, r
    return flat.mapped(onto, order)


def ball(order):
    """Tetrahedra of the unit ball, from an icosahedron."""
    golden = (1 + np.sqrt(5)) / 2
    corners = np.array([np.roll((0, a, b * golden), k) for k in range(3) for a in (-1, 1) for b in (-1, 1)])
    faces = ConvexHull(corners).simplices
    flat = from_arrays(np.vstack([corners, np.zeros(3)]), np.column_stack([faces, np.full(len(faces), 12)]), {"skin": faces})
    return flat.refined().curved(order, lambda x: tuple(c / np.sqrt(sum(d**2 for d in x)) for c in x))


def check_mesh(mesh):
    """Neighbours know each other, their faces have the same corners, cells are closed, and every outer face has a name."""
    assert np.all(mesh.measures > 0) and not len(mesh.unnamed) and len(np.unique(mesh.numbers)) == mesh.cell_count
    cell, face = np.nonzero(mesh.neighbour_face >= 0)
    other = mesh.neighbour_cell[cell, face], mesh.neighbour_face[cell, face]
    assert np.array_equal(mesh.neighbour_cell[other], cell) and np.array_equal(mesh.neighbour_face[other], face)
    assert np.allclose(mesh.normals[cell, face], -mesh.normals[other], atol=1e-8)
    inside = mesh.face_centres(np.column_stack([cell, face])) - mesh.face_centres(np.column_stack(other))
    assert len(mesh.glued) or np.allclose(inside, 0, atol=1e-9)
    assert mesh.order > 1 or np.allclose((mesh.normals * mesh.face_measures[:, :, None]).sum(axis=1), 0, atol=1e-9)
    check_shared(mesh, str)


def on_plane(mesh, name, axis, place):
    return np.allclose(mesh.points[mesh.face_points(mesh.boundaries[name])][..., axis], place, atol=1e-12)


# New cells around a box.

@pytest.mark.parametrize("shape", SHAPES)
def test_layer_on_all_sides_of_a_box(shape):
    mesh = brick(shape).with_regions({"low": lambda x: x[0] < 1, "high": lambda x: x[0] > 1})
    mesh = mesh.with_interfaces({"middle": ("low", "high")})
    grown = dg.pml(mesh, 0.5, 2)
    check_mesh(grown)
    dim = mesh.dim
    assert grown.measures.sum() == pytest.approx(np.prod([size + 1 for size in SIZE[:dim]]), rel=1e-12)
    old = np.flatnonzero(~np.isin(np.arange(grown.cell_count), grown.regions["pml"]))
    assert np.array_equal(np.sort(grown.numbers[old]), np.arange(mesh.cell_count))
    assert grown.measures[old].sum() == pytest.approx(np.prod(SIZE[:dim]))
    for number, name in enumerate(SIDES[dim]):
        axis, side = divmod(number, 2)
        assert on_plane(grown, name, axis, (SIZE[axis] + 0.5) if side else -0.5)
        area = grown.face_measures[tuple(grown.boundaries[name].T)].sum()
        assert area == pytest.approx(np.prod([SIZE[other] + 1 for other in range(dim) if other != axis]))
    x = grown.centroids[:, 0]
    for name, inside in (("low", x < 1), ("high", x > 1)):
        assert np.array_equal(grown.regions[name], np.flatnonzero(inside))
    assert on_plane(replace(grown, boundaries=grown.interfaces), "middle", 0, 1.0)
    assert len(grown.interfaces["middle"]) == len(mesh.interfaces["middle"])
    assert np.all(grown.normals[tuple(grown.interfaces["middle"].T)][:, 0] > 0.99)
    layer, = grown.layers
    assert layer.axes == dim and layer.thickness == ((0.5, 0.5),) * dim and layer.shift == 0.6
    assert layer.low == (0.0,) * dim and layer.high == SIZE[:dim]
    assert "layer 'pml'" in repr(grown) and "BoxLayer(region='pml'" in describe(grown)
    kinds = {"line": "line", "triangle": "triangle", "quadrilateral": "quadrilateral", "tetra": "tetra",
             "hexahedron": "hexahedron", "prism": "prism and hexahedron", "pyramid": "pyramid and hexahedron",
             "mixed 2D": "triangle and quadrilateral", "hybrid": "tetra and pyramid and prism and hexahedron"}
    assert grown.cell_type == kinds.get(shape, "tetra and prism and hexahedron")


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_are_as_deep_as_they_shall_be(shape):
    grown = dg.pml(brick(shape), 0.6, 3, boundary="right")
    depths = np.unique(np.round(grown.points[grown.points[:, 0] > 2.0 + 1e-9, 0] - 2, 12))
    assert depths == pytest.approx([0.2, 0.4, 0.6])
    assert grown.quality().min() > 0.1


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_layer_on_two_sides_keeps_the_others_where_they_are(shape):
    mesh = brick(shape)
    grown = dg.pml(mesh, 0.5, 2, ("left", "right"), name="ends")
    check_mesh(grown)
    assert grown.measures.sum() == pytest.approx(3 * np.prod(SIZE[1:mesh.dim]))
    for name in SIDES[mesh.dim][2:]:
        axis, side = divmod(SIDES[mesh.dim].index(name), 2)
        assert on_plane(grown, name, axis, SIZE[axis] * side)
        assert grown.face_measures[tuple(grown.boundaries[name].T)].sum() == pytest.approx(3)
    layer, = grown.layers
    assert layer.region == "ends" and layer.axes == 1 and layer.sides == {(0, 0), (0, 1)}
    more = dg.pml(replace(grown, layers=()), 0.25, 1, ("bottom", "top"), name="more")
    check_mesh(more)
    assert more.measures.sum() == pytest.approx(3 * 1.5)
    corner = np.flatnonzero(np.isin(more.regions["more"], more.regions["ends"]))
    assert more.measures[more.regions["more"][corner]].sum() == pytest.approx(0.5)
    assert more.layers[0].region == "more"


def test_faces_of_several_names_and_part_of_a_side():
    flat = dg.rectangle((0, 0), (2, 1), (4, 2))
    low = flat.face_centres(flat.boundaries["right"])[:, 1] < 0.5
    rows = flat.boundaries["right"]
    mesh = replace(flat, boundaries={**flat.boundaries, "right": rows[~low], "port": rows[low], "wall": rows})
    grown = dg.pml(mesh, 0.5, 1, "port")
    assert not len(grown.unnamed) and grown.measures.sum() == pytest.approx(2.25)
    assert {name: len(rows) for name, rows in grown.boundaries.items()} == {
        "left": 2, "right": 2, "bottom": 5, "top": 4, "port": 1, "wall": 3}
    every = from_arrays(flat.points, flat.cells, {"outer": flat.face_points(flat.boundary_faces)})
    grown = dg.pml(every, 0.5, 1, "outer")
    assert grown.measures.sum() == pytest.approx(6) and len(grown.boundaries["outer"]) == 20 and not len(grown.unnamed)
    bare = from_arrays(flat.points, flat.cells)
    grown = dg.pml(bare, 0.5, 1)
    assert grown.measures.sum() == pytest.approx(6) and len(grown.unnamed) == 20


def test_holes_stay():
    mesh = dg.rectangle((0, 0), (3, 3), (3, 3), shape="quadrilateral")
    mesh = mesh.part(np.flatnonzero(np.abs(mesh.centroids - 1.5).max(axis=1) > 0.1), "hole")
    grown = dg.pml(mesh, 1, 1)
    check_mesh(grown)
    assert grown.cell_count == 24 and len(grown.boundaries["hole"]) == 4
    assert np.abs(grown.face_centres(grown.boundaries["hole"]) - 1.5).max() == 0.5


@pytest.mark.parametrize("shape", ["triangle", "quadrilateral", "mixed 2D", "tetra", "hexahedron", "prism", "mixed 3D"])
@pytest.mark.parametrize("order", [2, 3])
def test_curved_cells(shape, order):
    """A box whose inner cells and sides are curved in themselves."""
    mesh = brick(shape).mapped(lambda x: tuple(c + 0.1 * np.prod([np.sin(pi * y) for y in x], axis=0) + 0.08 * np.sin(pi * c)
                                               * np.cos(sum(x)) for c in x), order)
    grown = dg.pml(mesh, 0.5, 2)
    check_mesh(grown)
    low, high = grown.points.min(axis=0), grown.points.max(axis=0)
    assert grown.order == order and grown.measures.sum() == pytest.approx(np.prod(high - low), rel=1e-12)
    assert grown.is_curved[grown.regions["pml"]].any()


def test_hanging_nodes_away_from_the_layer():
    mesh = dg.rectangle((0, 0), (4, 4), (4, 4), shape="quadrilateral")
    mesh = mesh.with_regions({"core": lambda x: np.hypot(x[0] - 2, x[1] - 2) < 1}).refined("core")
    grown = dg.pml(mesh, 1, 1)
    assert len(grown.hanging) == len(mesh.hanging) > 0 and grown.measures.sum() == pytest.approx(36)
    solid = dg.box(cells=4, shape="hexahedron").with_regions({"low": lambda x: x[0] < 0.5})
    assert dg.pml(solid.refined("low"), 0.5, 1, "left").measures.sum() == pytest.approx(1.5)
    with pytest.raises(MeshError, match="add the layer first, then refine"):
        dg.pml(solid.refined("low"), 0.5, 1)
    assert dg.pml(solid, 0.5, 1).refined("low").layers


def test_flat_cells_are_named():
    with pytest.warns(MeshWarning, match="of the layer 'pml'"):
        grown = dg.pml(dg.rectangle(cells=2), 1e-4, 1)
    assert any("slivers" in note for note in grown.notes)
    with pytest.warns(MeshWarning):
        flat = from_arrays([(0, 0), (1, 0), (1, 1e-3), (0, 1e-3)], [(0, 1, 2), (0, 2, 3)])
        assert set(flat.notes) < set(dg.pml(flat, 1e-3, 1).notes)


# Periodic meshes.

@pytest.mark.parametrize("shape", SHAPES[1:])
def test_periodic_before_and_after(shape):
    plain = brick(shape)
    pairs = [("bottom", "top")] if plain.dim == 2 else [("front", "back"), ("bottom", "top")]
    before = dg.pml(plain.periodic(*pairs), 0.5, 2)
    after = dg.pml(plain, 0.5, 2, ("left", "right")).periodic(*pairs)
    for mesh in (before, after):
        check_mesh(mesh)
        assert set(mesh.boundaries) == {"left", "right"} and len(mesh.periods) == len(pairs) and mesh.layers[0].axes == 1
        assert mesh.measures.sum() == pytest.approx(3)
    assert len(before.glued) == len(after.glued)
    gap = [mesh.face_centres(mesh.glued[:, 2:]) - mesh.face_centres(mesh.glued[:, :2]) for mesh in (before, after)]
    assert np.allclose(np.sort(np.abs(gap[0]).sum(axis=1)), 1) and np.allclose(np.sort(np.abs(gap[1]).sum(axis=1)), 1)
    assert len(before.refined().glued) == 2 ** (plain.dim - 1) * len(before.glued)
    one = dg.pml(plain.periodic(pairs[0]), 0.5, 1, "right")
    assert one.measures.sum() == pytest.approx(2.5)


def test_periodic_boundaries_that_are_not_flat():
    mesh = dg.box(cells=(5, 4, 3), perturb=0.2).mapped(lambda x: (
        x[0], x[1] + 0.05 * np.sin(2 * pi * x[2]) * np.sin(6 * x[0]), x[2] + 0.04 * np.sin(2 * pi * x[1])))
    pairs = ("front", "back"), ("bottom", "top")
    for grown in (dg.pml(mesh.periodic(*pairs), 0.3, 3), dg.pml(mesh, 0.3, 3, ("left", "right")).periodic(*pairs)):
        check_mesh(grown)
        assert set(grown.boundaries) == {"left", "right"} and grown.measures.sum() == pytest.approx(1.6)


def test_periodic_where_the_layer_ends_on_one_side():
    mesh = dg.rectangle((0, 0), (2, 2), (2, 2))
    rows = mesh.boundaries["right"]
    low = mesh.face_centres(rows)[:, 1] < 1
    mesh = replace(mesh, boundaries={**mesh.boundaries, "right": rows[~low], "port": rows[low]}).periodic(("bottom", "top"))
    with pytest.raises(MeshError, match="make the mesh periodic after pml"):
        dg.pml(mesh, 1, 1, "port")


@pytest.mark.parametrize("shape", ["tetra", "hexahedron", "prism", "mixed"])
def test_cylinder_that_is_periodic_along_its_axis(shape):
    mesh = dg.box((1, 0, 0), (2, pi / 2, 1), (2, 2, 2), shape=shape)
    mesh = mesh.mapped(lambda x: (x[0] * np.cos(x[1]), x[0] * np.sin(x[1]), x[2]), 3).periodic(("bottom", "top"))
    grown = dg.pml(mesh, 0.5, 2, "right", shape="cylinder", axis="z")
    check_mesh(grown)
    assert set(grown.boundaries) == {"left", "right", "front", "back"} and len(grown.glued) > len(mesh.glued)
    assert grown.measures.sum() == pytest.approx(pi / 4 * (2.5**2 - 1), rel=1e-4)


# Round layers of new cells.

@pytest.mark.parametrize("mesh", [ring("triangle"), ring("quadrilateral"), ring("mixed"), disc()],
                         ids=["triangles", "quadrilaterals", "mixed", "disc"])
def test_layer_around_a_circle(mesh):
    grown = dg.pml(mesh, 0.5, 2, shape="cylinder")
    check_mesh(grown)
    assert mesh.measures.sum() == pytest.approx(3 * pi if "inner" in mesh.boundaries else 4 * pi, rel=1e-6)
    assert grown.measures.sum() == pytest.approx(mesh.measures.sum() + pi * (2.5**2 - 4), rel=1e-6)
    assert grown.order == mesh.order and {**grown.boundaries}.keys() == {**mesh.boundaries}.keys()
    layer, = grown.layers
    assert layer == RoundLayer("pml", (0.0, 0.0), None, pytest.approx(2), 0.5, 3, 1e-12, 0.6)
    outer = grown.points[grown.face_points(grown.boundaries.get("outer", grown.boundary_faces))]
    assert np.linalg.norm(outer, axis=2) == pytest.approx(2.5)


def test_layer_around_a_circle_is_as_exact_as_the_map():
    for shape in ("triangle", "quadrilateral"):
        grown = dg.pml(ring(shape, 9), 0.5, 2, shape="cylinder")
        assert grown.measures.sum() == pytest.approx(pi * (2.5**2 - 1), rel=1e-10)


def test_layer_around_part_of_a_circle_that_is_elsewhere():
    ring = dg.rectangle((1, 0), (2, pi / 2), (2, 6), shape="quadrilateral")
    mesh = ring.mapped(lambda x: (3 + x[0] * np.cos(x[1]), 4 + x[0] * np.sin(x[1])), 5)
    grown = dg.pml(mesh, 1, 2, "right", shape="cylinder", centre=(3, 4))
    check_mesh(grown)
    assert grown.measures.sum() == pytest.approx(pi / 4 * (9 - 1), rel=1e-8)
    assert on_plane(grown, "bottom", 1, 4) and on_plane(grown, "top", 0, 3) and len(grown.boundaries["top"]) == 4
    with pytest.raises(MeshError, match="6 of 6 faces of the boundary 'left' do not lie on the outermost circle"):
        dg.pml(mesh, 1, 2, "left", shape="cylinder", centre=(3, 4))


@pytest.mark.parametrize("order", [2, 3])
def test_layer_around_a_ball(order):
    mesh = ball(order)
    grown = dg.pml(mesh, 0.5, 2, shape="sphere")
    check_mesh(grown)
    assert grown.order == order and grown.layers[0].axis is None and len(grown.boundaries["skin"]) == 80
    assert mesh.measures.sum() == pytest.approx(4 / 3 * pi, rel=(3e-3, 2e-3)[order - 2])
    assert grown.measures.sum() == pytest.approx(mesh.measures.sum() * 1.5**3, rel=1e-12)          # a ball of the same form
    assert np.linalg.norm(grown.points[grown.face_points(grown.boundary_faces)], axis=2) == pytest.approx(1.5)


@pytest.mark.parametrize("shape", ["tetra", "hexahedron", "prism", "mixed"])
@pytest.mark.parametrize("order", [2, 3])
def test_layer_around_a_shell(shape, order):
    mesh = shell(shape, order)
    grown = dg.pml(mesh, 0.5, 2, "top", shape="sphere")
    check_mesh(grown)
    assert grown.layers[0].radius == pytest.approx(2) and set(grown.boundaries) == set(mesh.boundaries)
    tolerance = abs(mesh.measures.sum() / (7 / 6 * 4 / 3 * pi) - 1)
    assert 1e-9 < tolerance < 0.01
    assert grown.measures.sum() == pytest.approx((2.5**3 - 1) / 6 * 4 / 3 * pi, rel=2 * tolerance)


def test_layer_around_straight_polygons_and_a_cylinder_with_ends():
    mesh = dg.box((0.2, 0, 0), (1, pi / 2, 1), (2, 3, 2), shape="hexahedron")
    mesh = mesh.mapped(lambda x: (x[2], x[0] * np.cos(x[1]), x[0] * np.sin(x[1])))
    area = mesh.measures.sum() / (1 - 0.2**2)
    grown = dg.pml(mesh, 0.5, 1, "right", shape="cylinder", axis="x")
    check_mesh(grown)
    assert grown.measures.sum() == pytest.approx(area * (1.5**2 - 0.2**2)) and on_plane(grown, "bottom", 0, 0)
    both = dg.pml(replace(grown, layers=()), 0.25, 1, ("bottom", "top"), name="ends")
    check_mesh(both)
    assert both.measures.sum() == pytest.approx(1.5 * grown.measures.sum())
    with pytest.raises(MeshError, match="cells in two absorbing layers, 'pml' and 'ends'; a round layer may not meet another"):
        dg.pml(grown, 0.25, 1, ("bottom", "top"), name="ends")


# Regions that are layers.

def test_region_around_a_box():
    mesh = dg.rectangle((-1, 0), (4, 2), (10, 4)).with_regions(
        {"outer": lambda x: (x[0] < 0) | (x[0] > 3.5) | (x[1] > 1.5), "inner": lambda x: (x[0] > 0) & (x[1] < 0.5)})
    found = dg.pml(mesh, region="outer", degree=2, reflection=1e-4, shift=0)
    assert found.layers == (BoxLayer("outer", (0.0, 0.0), (3.5, 1.5), ((1.0, 0.5), (0.0, 0.5)), 2, 1e-4, 0.0),)
    assert found.cells is mesh.cells and found.regions is mesh.regions and not mesh.layers
    assert dg.pml(mesh, region=("outer",)).regions["pml"].tolist() == mesh.regions["outer"].tolist()
    assert dg.pml(mesh, region="outer").layers[0].shift == 0.3
    with pytest.raises(MeshError, match="the region 'inner' is no layer, as .* lie in the box from"):
        dg.pml(mesh, region="inner")
    with pytest.raises(MeshError, match="has the layer 'outer' already at low x, high x, high y"):
        dg.pml(found, 0.5, 1)
    grown = dg.pml(dg.rectangle(cells=2), 0.5, 2)
    with pytest.raises(MeshError, match="the region 'pml' is an absorbing layer already; a layer is made by one call"):
        dg.pml(grown, region="pml")
    same = dg.pml(replace(grown, layers=()), region="pml").layers[0]
    assert same == replace(grown.layers[0], slabs=0)


def test_region_around_a_circle_and_a_cylinder():
    mesh = disc().with_regions({"rim": lambda x: np.abs(x[0]) > 5})
    grown = dg.pml(replace(mesh, regions={}), 0.5, 1, shape="cylinder")
    again = dg.pml(replace(grown, layers=()), region="pml", shape="cylinder").layers[0]
    assert again.radius == pytest.approx(2, rel=1e-5) and again.thickness == pytest.approx(0.5, rel=1e-4)
    with pytest.raises(MeshError, match="the region 'rim' has none of the cells"):
        dg.pml(mesh, region="rim", shape="cylinder")
    inner = grown.with_regions({"inner": lambda x: np.hypot(*x) < 1})
    with pytest.raises(MeshError, match="the region 'inner' is no layer, as .* lie within the radius 2.5"):
        dg.pml(replace(inner, layers=()), region="inner", shape="cylinder")


# What becomes of a mesh with layers.

@pytest.mark.parametrize("shape", ["quadrilateral", "mixed 2D"])
def test_layers_survive(shape):
    mesh = dg.pml(brick(shape), 0.5, 2)
    layers = mesh.layers
    changed = [mesh.refined(), mesh.with_regions({"a": lambda x: x[0] < 1, "b": lambda x: x[0] > 1}), mesh.part(np.arange(9)),
               mesh.part(np.arange(mesh.cell_count)), mesh.periodic(("left", "right")), *partition(mesh, split(mesh, 2)),
               *mesh.blocks]
    changed.append(changed[1].with_interfaces({"c": ("a", "b")}))
    assert all(each.layers == layers for each in changed)
    assert mesh.refined().measures[mesh.refined().regions["pml"]].sum() == pytest.approx(4)
    with pytest.raises(MeshError, match="has the layer 'pml'; map the mesh first, then add layers"):
        mesh.mapped(lambda x: x)
    if shape == "quadrilateral":
        assert mesh.curved(2, lambda x: x).layers == layers
        with pytest.raises(MeshError, match="curved: .* cells to be moved lie in the layer 'pml', .* curve the mesh first"):
            mesh.curved(2, lambda x: (1.1 * x[0], x[1]))
    with pytest.raises(MeshError, match="cannot be given a layer; the whole mesh can, before it is cut"):
        dg.pml(partition(mesh, split(mesh, 2))[0], 1, 1)


def test_digest():
    mesh = dg.rectangle(cells=2)
    before = digest(mesh)
    found = {digest(dg.pml(mesh, 0.5, 1, reflection=r)) for r in (1e-3, 1e-4)}
    assert len(found) == 2 and digest(replace(dg.pml(mesh, 0.5, 1), layers=())) not in found
    assert digest(mesh) == before
    assert digest(dg.Grid((0, 0), (1, 1), (4, 4))).startswith("sha256:")


# How layers stretch space.

GAUSS = np.polynomial.legendre.leggauss(12)


def integral(function, low, high):
    r, weights = GAUSS
    return (high - low) / 2 * np.sum(weights * function((low + high) / 2 + (high - low) / 2 * r))


@pytest.mark.parametrize("degree", [1, 3, 6])
def test_stretch_of_a_box(degree):
    layer = BoxLayer("pml", (0.0, -1.0, 0.0), (2.0, 1.0, 1.0), ((0.5, 0.25), (0.0, 0.5), (0.0, 0.0)), degree, 1e-5, 1.0)
    x = np.linspace(-0.5, 2.25, 56)
    one = np.ones_like(x)
    assert layer.axes == 2
    s = layer.stretch((x, 0 * one, 0 * one))
    assert np.all(s[0][(x >= 0) & (x <= 2)] == 0) and np.all(s[0][(x < 0) | (x > 2)] > 0)
    assert np.all(s[1] == 0) and s[2] == 0.0
    for width, at, outwards in ((0.5, 0.0, -1), (0.25, 2.0, 1)):
        def along(t, at=at, outwards=outwards):
            return layer.stretch((at + outwards * t, 0 * t, 0 * t))[0]
        largest = (degree + 1) * log(1e5) / (2 * width)
        assert along(np.array([0.0, width]))[1] == pytest.approx(largest, rel=1e-14)
        assert integral(along, 0, width) == pytest.approx(log(1e5) / 2, rel=1e-12)
    corner = layer.depth((np.array([-0.25]), np.array([1.5]), np.array([0.5])))
    assert [float(np.squeeze(d)) for d in corner] == pytest.approx([0.5, 1, 0])
    assert all(type(number) is float for pair in dg.pml(dg.rectangle(), 1, 2).layers[0].thickness for number in pair)


@pytest.mark.parametrize("centre, axis", [((0.5, -0.5), None), ((0.1, 0.2, 0.3), None), ((0.1, 0.2, 0.3), 1)])
def test_stretch_of_a_round_layer(centre, axis):
    layer = RoundLayer("pml", centre, axis, 1.5, 0.5, 3, 1e-6, 1.0)
    unit = np.array([0.0 if n == axis else 1.0 for n in range(len(centre))])
    unit /= np.linalg.norm(unit)

    def at(r):
        along = 0.7 * (np.arange(len(centre)) == axis)          # anywhere along the axis
        return tuple(c + u * r + a for c, u, a in zip(centre, unit, along))
    for r in (1.6, 1.85, 2.0):
        s, mean = layer.stretch(at(np.array([r])))
        exact = integral(lambda t: layer.stretch(at(t))[0], 1.5, r) / r
        assert mean == pytest.approx(exact, rel=1e-12) and s > mean > 0
        assert [float(np.squeeze(n)) for n in layer.direction(at(np.array([r])))] == pytest.approx(unit.tolist())
    assert integral(lambda t: layer.stretch(at(t))[0], 1.5, 2) == pytest.approx(log(1e6) / 2, rel=1e-12)
    s, mean = layer.stretch(at(np.array([0.0, 0.5, 1.4999])))
    assert np.all(s == 0) and np.all(mean == 0)
    assert np.all(np.isfinite(layer.direction(at(np.array([0.0])))[0]))


def test_slabs_have_the_mean_of_the_profile():
    layer = dg.pml(dg.rectangle(), 1.0, 4).layers[0]
    depth = np.linspace(0, 1, 4001)[1:] - 1 / 8000
    exact, slabs = (each.stretch((1 + depth, 0 * depth + 0.5))[0].reshape(4, -1) for each in (replace(layer, slabs=0), layer))
    assert (slabs == slabs[:, :1]).all() and np.allclose(slabs[:, 0], exact.mean(axis=1), rtol=1e-6)
    assert layer.stretch((np.array([0.5]), np.array([0.5])))[0] == 0


def test_layers_can_be_traced():
    """Where s varies inside of cells."""
    box, circle = (mesh.layers[0] for mesh in (dg.pml(dg.rectangle(), 1, 2), dg.pml(disc(), 1, 2, shape="cylinder")))
    box = replace(box, slabs=0)
    uneven = replace(box, thickness=((1.0, 0.5), (0.0, 2.0)))
    for function in (box.stretch, uneven.stretch, circle.stretch, circle.direction):
        assert trace(lambda x, function=function: function(x), {"x": 2})


# Errors.

MESH = dg.rectangle(cells=2).with_regions({"left half": lambda x: x[0] < 0.5})


@pytest.mark.parametrize("options, message", [
    ({}, "pml takes thickness and cells, which add cells, or region, which names them; got thickness=None"),
    ({"thickness": 1}, "pml takes thickness and cells"),
    ({"thickness": 1, "cells": 2, "region": "left half"}, "pml takes thickness and cells"),
    ({"region": "left half", "boundary": "top"}, "boundary='top' does not fit region='left half'"),
    ({"thickness": 0, "cells": 2}, "pml: thickness=0 is not allowed; it must be a number above 0"),
    ({"thickness": "1", "cells": 2}, "pml: thickness='1' is not allowed"),
    ({"thickness": np.inf, "cells": 2}, "pml: thickness=inf is not allowed"),
    ({"thickness": 1, "cells": 0}, "pml: cells=0 is not allowed; it must be a whole number from 1"),
    ({"thickness": 1, "cells": 1.5}, "pml: cells=1.5 is not allowed"),
    ({"thickness": 1, "cells": 2, "reflection": 1}, "pml: reflection=1 is not allowed; it must be a number between 0 and 1"),
    ({"thickness": 1, "cells": 2, "reflection": 0}, "pml: reflection=0 is not allowed"),
    ({"thickness": 1, "cells": 2, "degree": 7}, "pml: degree=7 is not allowed; it must be a whole number from 1 to 6"),
    ({"thickness": 1, "cells": 2, "degree": 2.5}, "pml: degree=2.5 is not allowed"),
    ({"thickness": 1, "cells": 2, "shift": -1}, "pml: shift=-1 is not allowed; it must be a number from 0, or None"),
    ({"thickness": 1, "cells": 2, "shape": "bx"}, r"pml: shape 'bx' does not exist; allowed: box, sphere, cylinder"),
    ({"thickness": 1, "cells": 2, "centre": (0, 0)}, "it must be left out with shape='box'"),
    ({"thickness": 1, "cells": 2, "axis": "z"}, "it must be left out with shape='box'"),
    ({"thickness": 1, "cells": 2, "shape": "cylinder", "axis": "z"}, "left out, as it is for cylinders in 3D"),
    ({"thickness": 1, "cells": 2, "shape": "cylinder", "centre": (0, 0, 0)}, "it must be 2 numbers"),
    ({"thickness": 1, "cells": 2, "boundary": 3}, "pml: boundary=3 is not allowed; it must be a name, or several in a tuple"),
    ({"thickness": 1, "cells": 2, "boundary": ()}, "a name, or several in a tuple"),
    ({"thickness": 1, "cells": 2, "name": ""}, "pml: name='' is not allowed; it must be a name"),
    ({"region": ()}, r"pml: region=\(\) is not allowed"),
])
def test_arguments_that_are_not_allowed(options, message):
    with pytest.raises(ValueError, match=message) as found:
        dg.pml(MESH, **options)
    assert not isinstance(found.value, MeshError)


@pytest.mark.parametrize("options, message", [
    ({"thickness": 1, "cells": 2, "boundary": "lfet"}, r"'lfet' is not in the mesh .*\(did you mean 'left'\?\)"),
    ({"thickness": 1, "cells": 2, "boundary": "left half"}, "only boundaries can have layers"),
    ({"thickness": 1, "cells": 2, "name": "left"}, "has the name 'left' already; give another one"),
    ({"region": "left haf"}, r"'left haf' is not in the mesh .*\(did you mean 'left half'\?\)"),
    ({"region": "lfet"}, r"'lfet' is not in the mesh [^;]*; pml takes regions: left half[^(]*$"),          # no hint at 'left'
    ({"region": "left"}, "'left' is a boundary of .*; pml takes regions: left half"),
    ({"thickness": 1, "cells": 2, "shape": "cylinder"}, r"no boundary faces lie on the outermost circle, of the radius 1.41421 "
                                                        r"around \(0, 0\); give its centre, or shape='box'"),
])
def test_meshes_that_do_not_fit(options, message):
    with pytest.raises(MeshError, match=message):
        dg.pml(MESH, **options)


@pytest.mark.parametrize("mesh, options, message", [
    (dg.Grid((0, 0), (1, 1), (4, 4)), {}, r"is for meshes such as dgarray.rectangle\(\), not for Grid"),
    (ring(), {}, "boundary faces cover 0 of 4 of the side x = -2 of the box around the mesh; name the boundaries"),
    (ring(), {"boundary": "outer"}, "12 of 12 faces of the boundary 'outer' do not lie on a side of the box around the mesh"),
    (dg.rectangle(cells=4).part(np.arange(20)), {}, "boundary faces cover 0.* of 1 of the side"),
    (dg.rectangle(cells=3, periodic=True), {}, "is periodic along each axis; no side is left for a layer"),
    (dg.pml(MESH, 1, 1), {"name": "more"}, "has the layer 'pml' already at low x, high x, low y, high y"),
    (dg.pml(MESH, 1, 1, "top"), {"name": "more"}, "has the layer 'pml' already at high y"),
    (dg.pml(MESH, 1, 1, "top"), {"name": "more", "boundary": "left"},
     "has cells in two absorbing layers, 'pml' and 'more'; add the layers of sides that meet by one call"),
    (dg.pml(MESH, 1, 1, "top"), {"boundary": "left"}, "has the name 'pml' already"),
    (dg.pml(disc(), 1, 1, shape="cylinder"), {"shape": "cylinder", "name": "more"}, "has the layer 'pml' already"),
])
def test_meshes_that_have_no_room_for_a_layer(mesh, options, message):
    with pytest.raises(MeshError, match=message):
        dg.pml(mesh, 0.5, 2, **options)


def test_axis_of_a_cylinder():
    for axis in (None, 2, "w"):
        with pytest.raises(ValueError, match="it must be 'x', 'y' or 'z', along which the cylinder lies"):
            dg.pml(dg.box(cells=1), 1, 1, shape="cylinder", axis=axis)
    with pytest.raises(ValueError, match="is for 2D and 3D"):
        dg.pml(dg.interval(), 1, 1, shape="sphere")
