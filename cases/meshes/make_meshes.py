"""Make the mesh files of the cases with Gmsh, the cubes with TetGen: python make_meshes.py (needs `pip install gmsh meshpy`; no
run or test does)."""
from functools import partial
from itertools import combinations
from math import cos, pi, sin
from pathlib import Path

import gmsh
import numpy as np
from meshpy.geometry import make_box
from meshpy.tet import MeshInfo, build

FOLDER = Path(__file__).parent


def slab():
    """A dielectric slab 0.625 < x < 1.375 in vacuum, 0 < x < 2, 0 < y < 1."""
    occ = gmsh.model.occ
    for x, width in ((0, 0.625), (0.625, 0.75), (1.375, 0.625)):
        occ.addRectangle(x, 0, 0, width, 1)
    occ.fragment(occ.getEntities(2), [])
    occ.synchronize()
    name(2, {"slab": in_box(2, 0.625, 1.375), "vacuum": in_box(2, 0, 0.625) + in_box(2, 1.375, 2)})
    name(1, {"left": in_box(1, 0, 0), "right": in_box(1, 2, 2),
             "sides": [tag for y in (0, 1) for tag in in_box(1, 0, 2, y, y)]})
    generate("0.25")


def obstacles():
    """Conducting cylinders and boxes and a lens in the rectangle 4 x 3 about the origin."""
    occ = gmsh.model.occ
    domain = occ.addRectangle(-2, -1.5, 0, 4, 3)
    conductors = [(2, occ.addDisk(x, y, 0, r, r)) for x, y, r in
                  ((-0.7, 0.8, 0.22), (-0.75, -0.72, 0.16), (0.05, 1.1, 0.12), (0.95, 0.85, 0.18), (0.45, -1.15, 0.12))]
    for x, y, side, angle in ((-0.15, -0.95, 0.34, 30), (1.0, -0.75, 0.3, 50)):
        box = (2, occ.addRectangle(x - side / 2, y - side / 2, 0, side, side))
        occ.rotate([box], x, y, 0, 0, 0, 1, angle * pi / 180)
        conductors.append(box)
    wedge = [occ.addPoint(1.5 + 0.2 * cos(a), 0.2 * sin(a), 0) for a in (pi, -pi / 3, pi / 3)]
    sides = [occ.addLine(wedge[i - 1], wedge[i]) for i in range(3)]
    conductors.append((2, occ.addPlaneSurface([occ.addCurveLoop(sides)])))
    lens, _ = occ.intersect([(2, occ.addDisk(-0.55, 0, 0, 0.8, 0.8))], [(2, occ.addDisk(0.65, 0, 0, 0.8, 0.8))])
    free, _ = occ.cut([(2, domain)], conductors)
    parts, origin = occ.fragment(free, lens)
    occ.synchronize()
    inside = [tag for _, tag in origin[-1]]
    name(2, {"lens": inside, "vacuum": [tag for _, tag in parts if tag not in inside]})
    edges = [tag for _, tag in gmsh.model.getBoundary(parts, oriented=False)]
    outer = [tag for x in (-2, 2) for tag in in_box(1, x, x, -1.5, 1.5)]
    outer += [tag for y in (-1.5, 1.5) for tag in in_box(1, -2, 2, y, y)]
    name(1, {"outer": outer, "obstacles": [tag for tag in edges if tag not in outer]})
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 14)
    generate("0.085 - 0.035 * Exp(-((x - 0.05)^2 / 0.06 + y^2 / 0.35))")


def sphere(parts=3, layers=5, outer=6.0):
    """The shell between the conducting unit sphere and the absorbing sphere of radius 6: 180 facets, 2700 tetrahedra.

    Layers of prisms, about as high as wide, stand on a geodesic sphere; each is cut into three tetrahedra.  Facets of nearly
    equal size in the symmetry of the icosahedron change the shape of the sphere little beside its volume; those that Gmsh
    makes are larger at the poles, which flattens the sphere: with 194 of them cross-sections were off by 6 %, with these 180
    by 2 %."""
    unit, triangles = geodesic(parts)
    points = (outer ** (np.arange(layers + 1) / layers)[:, None, None] * unit).reshape(-1, 3)
    # The vertices of each triangle in increasing order, so that neighbouring prisms cut their common side alike.
    low = np.concatenate([np.sort(triangles, axis=1) + layer * len(unit) for layer in range(layers)])
    (a, b, c), (d, e, f) = low.T, low.T + len(unit)
    cells = np.concatenate([np.stack(corners, axis=1) for corners in ((a, b, c, f), (a, b, e, f), (a, d, e, f))])
    tetrahedra(points, cells, {"sphere": triangles, "outer": triangles + layers * len(unit)})


def tetrahedra(points, cells, boundaries):
    """A mesh of tetrahedra that Gmsh writes; boundaries: {name: triangles}."""
    inverted = np.linalg.det(points[cells[:, 1:]] - points[cells[:, :1]]) < 0
    cells[inverted] = cells[inverted][:, [1, 0, 2, 3]]
    triangle, tetrahedron = 2, 4            # Gmsh's numbers of cell types
    tags, inner, first = {each: tag for tag, each in enumerate(boundaries, 1)}, len(boundaries) + 1, 1
    for tag in tags.values():
        gmsh.model.addDiscreteEntity(2, tag)
    gmsh.model.addDiscreteEntity(3, inner, list(tags.values()))
    gmsh.model.mesh.addNodes(3, inner, np.arange(len(points)) + 1, points.ravel())
    parts = [*((tags[each], triangle, corners) for each, corners in boundaries.items()), (inner, tetrahedron, cells)]
    for tag, kind, corners in parts:
        gmsh.model.mesh.addElementsByType(tag, kind, np.arange(first, first + len(corners)), corners.ravel() + 1)
        first += len(corners)
    name(3, {"vacuum": [inner]})
    name(2, {each: [tag] for each, tag in tags.items()})


def sphere_coarse():
    """The ball of `sphere` with 80 facets, 960 tetrahedra."""
    sphere(parts=2, layers=4)


def cube(h, share):
    """The unit cube by TetGen: tetrahedra of at most h^3 / 6 times `share`.

    The four meshes are those of table 2 of Kloeckner, Warburton, Bridge & Hesthaven 2009, h = 0.3 * 0.85^k, in the same way as
    in its authors' code hedge. TetGen has changed since: the shares were chosen so that 476, 729, 1187 and 1834 tetrahedra come
    out beside their 475, 728, 1187 and 1844; with a share of 1 it is 443, 591, 1037 and 1706."""
    corners, facets, *_ = make_box((0, 0, 0), (1, 1, 1))
    given = MeshInfo()
    given.set_points(corners)
    given.set_facets(facets)
    made = build(given, max_volume=share * h**3 / 6)
    points, cells = np.array(made.points), np.array(made.elements)
    faces = np.sort(cells[:, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]].reshape(-1, 3), axis=1)
    triangles, times = np.unique(faces, axis=0, return_counts=True)
    tetrahedra(points, cells, {"walls": triangles[times == 1]})


def geodesic(parts):
    """The icosahedron with each edge cut into `parts`, on the unit sphere: points (point, 3), triangles (triangle, 3)."""
    golden = (1 + 5 ** 0.5) / 2
    corners = np.array([np.roll((i, j * golden, 0), axis) for axis in range(3) for i in (-1, 1) for j in (-1, 1)])
    near = np.linalg.norm(corners[:, None] - corners, axis=2) < 2.1
    points, triangles = [], []
    for face in combinations(range(12), 3):
        if not near[np.ix_(face, face)].all():
            continue
        steps = [(i, j) for i in range(parts + 1) for j in range(parts + 1 - i)]
        number = {step: len(points) + k for k, step in enumerate(steps)}
        points += [np.array((i, j, parts - i - j)) @ corners[list(face)] for i, j in steps]
        for i, j in steps:
            if i + j < parts:
                triangles.append((number[i, j], number[i + 1, j], number[i, j + 1]))
            if i + j < parts - 1:
                triangles.append((number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]))
    points, place = np.unique(np.round(points, 12), axis=0, return_inverse=True)
    return points / np.linalg.norm(points, axis=1, keepdims=True), place.reshape(-1)[np.array(triangles)]


def in_box(dim, x_low, x_high, y_low=-10, y_high=10):
    """Tags of the entities within the bounds, in x and y."""
    gap = 1e-3
    return [tag for _, tag in gmsh.model.getEntitiesInBoundingBox(
        x_low - gap, y_low - gap, -10, x_high + gap, y_high + gap, 10, dim)]


def name(dim, groups):
    for text, tags in groups.items():
        gmsh.model.addPhysicalGroup(dim, tags, name=text)


def generate(size):
    """Mesh the surfaces with the edge length `size`, a formula of x, y and z."""
    field = gmsh.model.mesh.field.add("MathEval")
    gmsh.model.mesh.field.setString(field, "F", size)
    gmsh.model.mesh.field.setAsBackgroundMesh(field)
    gmsh.option.setNumber("Mesh.MeshSizeExtendFromBoundary", 0)
    gmsh.model.mesh.generate(2)


def main():
    cubes = {f"cube_{level}": partial(cube, 0.3 * 0.85**level, share) for level, share in enumerate((0.83, 0.9, 0.845, 0.94))}
    for file, make in ({each.__name__: each for each in (slab, obstacles, sphere, sphere_coarse)} | cubes).items():
        gmsh.initialize()
        for option, value in (("General.Verbosity", 2), ("Mesh.Binary", 1), ("Mesh.MshFileVersion", 4.1),
                              ("Mesh.Algorithm", 6), ("Mesh.RandomSeed", 3), ("General.NumThreads", 1)):
            gmsh.option.setNumber(option, value)
        make()
        gmsh.write(str(FOLDER / f"{file}.msh"))
        gmsh.finalize()


if __name__ == "__main__":
    main()
