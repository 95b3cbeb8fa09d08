"""Make the mesh files of the cases with Gmsh: python make_meshes.py (needs `pip install gmsh`; no run or test does)."""
from math import cos, pi, sin
from pathlib import Path

import gmsh

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
    size("0.25")


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
    size("0.085 - 0.035 * Exp(-((x - 0.05)^2 / 0.06 + y^2 / 0.35))")


def sphere():
    """The shell between the conducting unit sphere and the absorbing sphere of radius 3, about 4000 tetrahedra."""
    occ = gmsh.model.occ
    shell, _ = occ.cut([(3, occ.addSphere(0, 0, 0, 3))], [(3, occ.addSphere(0, 0, 0, 1))])
    occ.synchronize()
    name(3, {"vacuum": [tag for _, tag in shell]})
    name(2, {"sphere": in_box(2, -1, 1), "outer": in_box(2, -3, 3, inner=1.5)})
    size("0.31 + 0.175 * (Sqrt(x^2 + y^2 + z^2) - 1)")


def in_box(dim, x_low, x_high, y_low=-10, y_high=10, inner=None):
    """Tags of the entities within the bounds, in x and y; with `inner`, those that reach beyond it."""
    gap = 1e-3
    tags = [tag for _, tag in gmsh.model.getEntitiesInBoundingBox(
        x_low - gap, y_low - gap, -10, x_high + gap, y_high + gap, 10, dim)]
    return [tag for tag in tags if inner is None or gmsh.model.getBoundingBox(dim, tag)[3] > inner]


def name(dim, groups):
    for text, tags in groups.items():
        gmsh.model.addPhysicalGroup(dim, tags, name=text)


def size(formula):
    """Set the edge length, a formula of x, y and z."""
    field = gmsh.model.mesh.field.add("MathEval")
    gmsh.model.mesh.field.setString(field, "F", formula)
    gmsh.model.mesh.field.setAsBackgroundMesh(field)
    gmsh.option.setNumber("Mesh.MeshSizeExtendFromBoundary", 0)


def main():
    for build, dim in ((slab, 2), (obstacles, 2), (sphere, 3)):
        gmsh.initialize()
        for option, value in (("General.Verbosity", 2), ("Mesh.Binary", 1), ("Mesh.MshFileVersion", 4.1),
                              ("Mesh.Algorithm", 6), ("Mesh.RandomSeed", 3), ("General.NumThreads", 1)):
            gmsh.option.setNumber(option, value)
        build()
        gmsh.model.mesh.generate(2)
        if dim == 3:
            # One flat tetrahedron sets the time step of the whole mesh.
            gmsh.model.mesh.optimize("Relocate2D", niter=5)
            gmsh.model.mesh.generate(3)
            for method in ("Netgen", "Relocate3D", "Netgen"):
                gmsh.model.mesh.optimize(method, niter=5)
        gmsh.write(str(FOLDER / f"{build.__name__}.msh"))
        gmsh.finalize()


if __name__ == "__main__":
    main()
