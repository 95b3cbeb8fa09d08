"""The cross-section of a waveguide: the faces of a named interface, as a mesh of their own in their plane."""
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..mesh.absorbing.extrude import AROUND, ends, face_positions, kinds
from ..mesh.curved.cell_maps import geometry_cell
from ..mesh.interfaces import must_be_even, other_side
from ..mesh.mesh import Mesh, build
from ..physics.boundary import pec
from ..physics.boundary_checks import face_places, parameter_at, shown_at
from ..physics.laws.law import argument
from ..reference import SHAPES
from ..support.wording import choose
from .record_origin import at_boundaries, faces_in_layers, named

WALLS = "pec", "pmc"
# Distance of points from the plane, and deviation of normals from its own, as a share of the section's size, that count as
# rounding: coordinates in files often have 7 digits.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Section:
    """A plane cross-section of a guide.

    name       of the interface
    mesh       the section's faces as a `Mesh` of one dimension less, with the boundaries "pec" and "pmc" as far as it has them
    origin     (dim,) where the coordinates in the plane are 0
    axes       (dim - 1, dim) unit vectors along these coordinates
    direction  (dim,) unit normal into the device, against that of the interface
    walls      {boundary at which it ends: "pec" or "pmc"}"""

    name: str
    mesh: Mesh
    origin: np.ndarray
    axes: np.ndarray
    direction: np.ndarray
    walls: dict

    @cached_property
    def size(self):
        """The largest extent of the section."""
        return float(np.ptp(self.mesh.points, axis=0).max())

    def inside(self, x):
        """Coordinates in the plane (point, dim - 1) of points x (dim, point). Raises ValueError for those off the plane."""
        away = x - self.origin[:, None]
        off = np.abs(self.direction @ away).max(initial=0)
        if off > TOLERANCE * self.size:
            raise ValueError(f"port {self.name!r}: a point is {off:.3g} away from the plane of the section")
        return (self.axes @ away).T


def section_of(mesh, name, walls=pec):
    """The `Section` that the interface `name` of a mesh makes.

    walls: what the guide's walls are, dgarray.pec, dgarray.pmc, or {name of a boundary: one of them}, where "default" stands
    for all others; by default pec.  The other conditions of a problem may be in it.
    Raises ValueError for a name that is no interface, faces that do not lie in one plane or of two shapes, or lie in an
    absorbing layer, and an edge that lies on no boundary, on one with another condition, or where both kinds of wall meet."""
    if name in mesh.boundaries:
        raise ValueError(f"port {name!r} is a boundary of the mesh; it must be an interface between the device and the guide "
                         "behind the port, mesh.with_interfaces({name: (region of the device, region of the feed)})")
    choose("port", name, mesh.interfaces, "; the mesh has the interfaces")
    must_be_even(mesh, name)
    rows = mesh.interfaces[name]
    if faces_in_layers(mesh, rows).any():
        raise ValueError(f"port {name!r} lies in an absorbing layer; put it before the layer")
    corners = mesh.face_points(rows)
    faces = list(kinds(corners))
    if len(faces) > 1:
        raise ValueError(f"port {name!r} has triangles and quadrilaterals; its faces must have one shape")
    normals = mesh.normals[tuple(rows.T)]
    normal = normals.mean(axis=0)
    normal /= np.linalg.norm(normal)
    corners, x = corners[:, :faces[0][1]], face_nodes(mesh, rows, faces[0][1])
    origin, size = x.mean(axis=(0, 1)), np.linalg.norm(np.ptp(x, axis=(0, 1))) or 1.0
    off = max(np.abs((x - origin) @ normal).max() / size, np.abs(normals - normal).max())
    if off > TOLERANCE:
        raise ValueError(f"port {name!r} is not plane: points or normals of its {len(rows)} faces deviate by {off:.2g} of its "
                         "size; it must be a plane cross-section of the guide")
    axes = axes_across(normal)
    rim, named_walls = rim_by_kind(mesh, name, corners, walls)
    numbers = np.unique(corners)

    def local(points):
        return np.searchsorted(numbers, points)
    around = corners[:, AROUND[corners.shape[1]]]
    with warnings.catch_warnings():          # of flat cells: the mesh itself has warned of them
        warnings.simplefilter("ignore")
        nodes = (x - origin) @ axes.T if mesh.order > 1 and mesh.dim == 3 else None
        plane = build((mesh.points[numbers] - origin) @ axes.T, local(around),
                      {kind: local(some) for kind, some in rim.items()}, geometry_nodes=nodes, source=f"port {name!r}")
    if len(plane.hanging):
        raise ValueError(f"port {name!r} has faces of two sizes, where hanging nodes are; it must have none")
    return Section(name, plane, origin, axes, -normal, named_walls)


def face_nodes(mesh, rows, corners):
    """x (face, node, dim) at the geometry nodes of faces with so many corners, in the order of `geometry_cell`."""
    if mesh.dim == 2:
        return mesh.points[mesh.face_points(rows)]
    shape = SHAPES[2, corners]
    weights = shape.weights(geometry_cell(shape, mesh.order).nodes)
    return face_positions(mesh, rows, weights[:, np.argsort(AROUND[corners])])


def axes_across(normal):
    """Unit vectors (dim - 1, dim) normal to a unit vector; the first is as near as can be to the first axis of space across."""
    if len(normal) == 2:
        axis = np.array([[-normal[1], normal[0]]])
        return axis * np.sign(axis.sum() or 1)
    first = np.eye(3)[np.flatnonzero(np.abs(normal) < 0.9)[0]]
    first = first - normal * (first @ normal)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


def rim_by_kind(mesh, name, corners, walls):
    """{"pec" or "pmc": point numbers (edge, vertex) of the section's edges there}, in 2D its ends, and {boundary: kind}."""
    rim, walls = ends(corners), walls if isinstance(walls, dict) else {"default": walls}
    for given in walls:
        if given != "default":
            choose("walls: boundary", str(given), [*mesh.boundaries, *mesh.interfaces], " in the mesh; it has")
    found, of_boundary, free = {kind: np.zeros(len(rim), bool) for kind in WALLS}, {}, np.ones(len(rim), bool)
    for boundary, here in at_boundaries(mesh, rim):
        of_boundary[boundary] = kind = named(walls.get(boundary, walls.get("default", pec)))
        check_wall(name, boundary, kind)
        found[kind] |= here
        free &= ~here
    if (both := np.logical_and(*found.values())).any():
        place = mesh.points[rim[both][0]].mean(axis=0)
        raise ValueError(f"port {name!r} ends at ({', '.join(f'{c:.6g}' for c in place)}), where walls of pec and pmc meet; "
                         "put it where the guide has one wall on both sides")
    if free.any():
        place = mesh.points[rim[free][0]].mean(axis=0)
        raise ValueError(f"port {name!r} ends inside of the mesh, at ({', '.join(f'{c:.6g}' for c in place)}); it must reach "
                         "from wall to wall")
    return {kind: rim[here] for kind, here in found.items() if here.any()}, of_boundary


def check_wall(name, boundary, kind):
    """Raise ValueError for a condition, by its name, that is no wall of a guide."""
    if kind not in WALLS:
        raise ValueError(f"port {name!r} ends at the boundary {boundary!r}, whose condition is {kind}; a guide's walls must be "
                         "dgarray.pec or dgarray.pmc")


def medium_at(mesh, law, name):
    """{"eps": number, "mu": number} on both sides of the interface `name`.

    Raises ValueError where the medium varies, conducts or is dispersive there."""
    rows = mesh.interfaces[name]
    rows = np.concatenate([rows, other_side(mesh.neighbours, rows)])
    x, medium = face_places(mesh, rows, 1), {}
    for each, value in law.dispersive.items():
        regions = value if isinstance(value, dict) else {}
        if not isinstance(value, dict) or any(np.isin(rows[:, 0], mesh.regions[str(region)]).any() for region in regions):
            raise ValueError(f"port {name!r} lies in a dispersive medium, {argument(law, each)} of {law!r}; a port needs a "
                             "medium without dispersion")
    for each, value in law.parameters.items():
        values = parameter_at(mesh, rows, x, value)
        other = np.argwhere(~np.isclose(values, values[0, 0], rtol=1e-9, atol=0))
        if len(other):
            places = [f"{values[tuple(at)]:g} at {shown_at(x, at)}" for at in (np.zeros(2, int), other[0])]
            raise ValueError(f"port {name!r} lies in several media: {argument(law, each)} is {places[0]} and {places[1]}; the "
                             "section must be filled uniformly")
        medium[each] = float(values[0, 0])
    if medium.pop("sigma", 0.0):
        raise ValueError(f"port {name!r} lies in a medium that conducts; a port needs one without losses, sigma = 0")
    return dict(zip(("eps", "mu"), law.isotropic(medium, f"port {name!r}")))


def refuse_law(law):
    """Raise ValueError unless the law is Maxwell's in 2D or 3D."""
    if not law.fields or law.dim == 1:
        raise ValueError(f"ports are for Maxwell in 2D or 3D, not for {law!r}")
