"""Perfectly matched layers: new cells around a mesh, or a region of it, that absorb waves."""
from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...support.wording import plural
from .. import checks
from ..curved.boundary_curves import chosen_faces
from ..curved.cell_maps import extent
from ..curved.checks import on_corners
from ..cuts import must_be_uncut
from ..errors import MeshError, MeshWarning
from ..mesh import Mesh
from ..refine.refinement import region as cells_of
from .arguments import check_profile, check_shape, check_use
from .extrude import extruded, face_positions, is_split, kinds
from .layers import BoxLayer, RoundLayer, layer_of_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

# Distance, relative to the extent of the mesh, at which a point counts as on a plane or sphere, and share of a side of the box
# that its faces may leave free: coordinates in files often have 7 digits.
TOLERANCE = 1e-6
BELOW_OR_ABOVE = "low", "high"


def pml(mesh: Mesh, thickness: float | None = None, cells: int | None = None,
        boundary: str | Sequence[str] | None = None, region: str | Sequence[str] | None = None, shape: str = "box",
        centre: Sequence[float] | None = None, axis: str | None = None, name: str = "pml", reflection: float = 1e-12,
        degree: int = 3, shift: float | None = None, split: bool = True) -> Mesh:
    """A copy of the mesh with a perfectly matched layer, which absorbs waves: cells around the mesh, or a region of it.

        mesh = pml(mesh, thickness=0.5, cells=4)
        mesh = pml(mesh, thickness=0.5, cells=4, boundary=("left", "right"))
        mesh = pml(mesh, region="outer")

    In the layer the coordinate along its depth becomes complex, dx -> (1 + sigma / (alpha + i omega)) dx, with

        sigma = c s,  s = (degree + 1) log(1 / reflection) / (2 thickness) depth^degree,  alpha = c shift,

    c the speed of the waves and the depth from 0 at the inner face to 1 at the outer one.

    thickness   of new layers, in units of length, above 0
    cells       how many layers of cells it has, each thickness / cells deep
    boundary    name of the boundary that it lies at, or several in a tuple; by default all sides
    region      instead of thickness and cells: the name of the region of the mesh that is the layer, or several in a tuple,
                which then are the region `name` too
    shape       "box": on the sides of the box around the mesh, with its edges and corners; "sphere", or "cylinder": on the
                outermost sphere, in 2D circle, or cylinder
    centre      of the sphere, circle or cylinder, (dim,) numbers; the origin by default
    axis        "x", "y" or "z": along which a cylinder lies in 3D
    name        of the region of the new cells. They belong to each region of the cell that they grow out of, too
    reflection  share of the amplitude that returns from the layer along the normal, between 0 and 1, without discretisation
    degree      of the growth of s, from 1 to 6
    shift       complex frequency shift, 1 / length, from 0; 0.3 / thickness by default. With 0 static fields grow in long runs

    split       whether new cells of a mesh of triangles or tetrahedra alone are cut into such. If False, they are
                quadrilaterals, or prisms and hexahedra, for NodalDG: all that is the same along the depth goes on in them

    New cells over quadrilaterals are hexahedra, over triangles prisms, over edges quadrilaterals, unless they are split. In
    those around a box, unsplit, derivatives are divided by stretches, and fields are the law's own, see
    `dgarray.physics.layer_filters`; elsewhere fields are multiplied, see `dgarray.physics.stretched_coordinates`. Layers on a
    curved boundary are curved as it is. The outer faces have the names of the boundary; where it ends at another, the new faces
    there have the names of that one, and are periodic where it is. Names, regions, numbers of cells and periods are kept.
    `layers` of the mesh holds the layer. Map or curve a mesh first, then add layers.

    Raises MeshError for unknown names, a boundary that does not lie on a side of the box or on the sphere, a box that boundary
    faces do not fill, a region that is no layer, layers that meet, a part of a mesh, a grid; ValueError for other arguments
    that are not allowed. Warns of flat cells.
    Berenger 1994; Gedney 1996; Roden & Gedney 2000; Kuzuoglu & Mittra 1996; Teixeira & Chew 1998."""
    if not isinstance(mesh, Mesh):
        raise MeshError(f"pml(...) is for meshes such as dgarray.rectangle(), not for {mesh!r}; on grids, Hermite's method has "
                        "dgarray.Sponge")
    mesh._must_be_whole("given a layer")
    check_use(thickness, cells, boundary, region, name, split)
    boundary = (boundary,) if isinstance(boundary, str) else boundary
    profile = check_profile(reflection, degree, shift)
    geometry = check_shape(mesh, shape, centre, axis)
    if region is not None:
        mesh, name = named_region(mesh, region, name)
        make: Any = box_of_region if shape == "box" else round_of_region
        layer = make(mesh, name, *geometry, profile)
        return apart(replace(mesh, layers=(*mesh.layers, free(mesh, layer, "regions elsewhere, or all of them in one call"))))
    must_be_uncut(mesh, "given a layer")
    if name in (*mesh.boundaries, *mesh.interfaces, *mesh.regions):
        raise MeshError(f"{mesh.source} has the name {name!r} already; give another one")
    around: Any = box_around if shape == "box" else round_around
    return warned(mesh, apart(around(mesh, name, thickness, cells, boundary, *geometry, profile, is_split(mesh, split))))


def apart(mesh):
    """The mesh. Raises MeshError where cells belong to two of its layers."""
    layer_of_cells(mesh)
    return mesh


def warned(mesh, copy):
    """The copy with a layer, the last of its layers, after a warning of flat cells in it."""
    new = copy.part(np.flatnonzero(copy.numbers > mesh.numbers.max()))
    found = checks.slivers(new, lambda cell: f"cell {new.numbers[cell]} of the layer {copy.layers[-1].region!r}")
    for note in found:
        warnings.warn(f"{copy.source}: {note}", MeshWarning, stacklevel=3)
    return replace(copy, notes=(*copy.notes, *found))


ELSEWHERE = "boundaries elsewhere, or give all of the thickness at once"


def free(mesh, layer, instead=ELSEWHERE):
    """The layer. Raises MeshError where the mesh has one already; instead: what to name then."""
    for other in mesh.layers:
        if both := sorted(other.sides & layer.sides):
            sides = ", ".join(f"{BELOW_OR_ABOVE[side]} {'xyz'[axis]}" for axis, side in both)
            raise MeshError(f"{mesh.source} has the layer {other.region!r} already at {sides}; only one can lie there, so name "
                            f"{instead}")
    return layer


# Layers of new cells.

def box_around(mesh, name, thickness, cells, boundary, profile, split):
    """A copy of the mesh with a layer of new cells on sides of the box around it."""
    low, high = extent(mesh)
    sides = [(axis, side) for axis in range(mesh.dim) for side in (0, 1) if len(side_faces(mesh, boundary, axis, (side,)))]
    if boundary is None:
        check_filled(mesh, low, high)
    else:
        check_on_sides(mesh, boundary, low, high)
    if not sides:
        raise MeshError(f"{mesh.source} is periodic along each axis; no side is left for a layer")
    widths = tuple(tuple(float(thickness) if (axis, side) in sides else 0.0 for side in (0, 1)) for axis in range(mesh.dim))
    layer = free(mesh, BoxLayer(name, numbers(low), numbers(high), widths, *profile(thickness), cells, not split))
    for axis in sorted({axis for axis, _ in sides}):
        middle = (low[axis] + high[axis]) / 2

        def move(x, share, axis=axis, middle=middle):
            x = x.copy()
            x[..., axis] += thickness * share * np.where(x[..., axis] > middle, 1, -1)
            return x
        here = [side for side in (0, 1) if (axis, side) in sides]
        mesh = extruded(mesh, side_faces(mesh, boundary, axis, here), move, cells, name, split)
    return replace(mesh, layers=(*mesh.layers, layer))


def side_faces(mesh, boundary, axis, sides):
    """Rows (count, 2) of the boundary faces on sides, 0 below and 1 above, of the box around the mesh; boundary: of which
    names, None for all."""
    rows = np.unique(chosen_faces(mesh, boundary, "have layers"), axis=0)
    ends = extent(mesh)
    return rows[np.any([on_plane(mesh, rows, axis, ends[side][axis]) for side in sides], axis=0)]


def on_plane(mesh, rows, axis, place):
    """Whether the faces `rows` (count, 2) lie on the plane x[axis] = place, (count,)."""
    tolerance = TOLERANCE * np.ptp(extent(mesh), axis=0).max()
    corners, found = mesh.face_points(rows), np.zeros(len(rows), bool)
    for some, count in kinds(corners):
        x = mesh.points[corners[some]]
        if mesh.order > 1:
            x = face_positions(mesh, rows[some], on_corners(mesh.dim, mesh.order, count))
        found[some] = np.abs(x[..., axis] - place).max(axis=1) <= tolerance
    return found


def check_on_sides(mesh, boundary, low, high):
    """Raise MeshError unless all faces of each of the named boundaries lie on sides of the box around the mesh."""
    for name in boundary:
        rows = mesh.boundaries[name]
        planes = [on_plane(mesh, rows, axis, end[axis]) for axis in range(mesh.dim) for end in (low, high)]
        refuse_off(mesh, name, rows[~np.any(planes, axis=0)], "a side of the box around the mesh; give boundaries that do, or "
                                                              "shape='sphere' or 'cylinder'")


def refuse_off(mesh, name, rows, where):
    """Raise MeshError if there are faces `rows` (count, 2) of a named boundary, which are not where they shall be."""
    if len(rows):
        raise MeshError(f"{mesh.source}: {len(rows)} of {plural(len(mesh.boundaries[name]), 'face')} of the boundary {name!r} "
                        f"do not lie on {where}; first {mesh.place(rows[0])}")


def check_filled(mesh, low, high):
    """Raise MeshError unless boundary faces fill each side of the box around the mesh; where it is periodic there are none."""
    lengths = np.abs([np.zeros(mesh.dim), *(shift for *_, shift in mesh.periods)]).max(axis=0)
    periodic = lengths > TOLERANCE * (high - low)
    lengths = np.where(periodic, lengths, high - low)
    for axis in range(mesh.dim):
        across = np.prod(np.delete(lengths, axis))
        for side, end in ((0, low), (1, high)):
            covered = mesh.face_measures[tuple(side_faces(mesh, None, axis, (side,)).T)].sum()
            if abs(covered - across) > TOLERANCE * across and not (periodic[axis] and covered == 0):
                raise MeshError(f"{mesh.source}: boundary faces cover {covered:.6g} of {across:.6g} of the side "
                                f"{'xyz'[axis]} = {end[axis]:.6g} of the box around the mesh; name the boundaries that get a "
                                "layer, pml(..., boundary=...), or take shape='sphere' or 'cylinder'")


def round_around(mesh, name, thickness, cells, boundary, centre, axis, profile, split):
    """A copy of the mesh with a layer of new cells on its outermost sphere, circle or cylinder."""
    layer = RoundLayer(name, centre, axis, 1.0, float(thickness), *profile(thickness))
    distance = layer.distance(mesh.points.T)
    radius = float(distance.max())
    layer = free(mesh, replace(layer, radius=radius))

    def outermost(rows):
        return (distance[mesh.face_points(rows)] > radius * (1 - TOLERANCE)).all(axis=1)
    what = "cylinder" if axis is not None else "circle" if mesh.dim == 2 else "sphere"
    place = f"the outermost {what}, of the radius {radius:.6g} around ({', '.join(f'{c:g}' for c in centre)})"
    for each in boundary or ():
        rows = chosen_faces(mesh, each, "have layers")
        refuse_off(mesh, each, rows[~outermost(rows)], f"{place}; give its centre, or boundaries that do")
    rows = np.unique(chosen_faces(mesh, boundary, "have layers"), axis=0)
    rows = rows[outermost(rows)]
    if not len(rows):
        raise MeshError(f"{mesh.source}: no boundary faces lie on {place}; give its centre, or shape='box'")
    middle, across = np.array(centre), np.isin(np.arange(mesh.dim), layer.across)

    def move(x, share):
        return x + across * (x - middle) * (np.asarray(share)[..., None] * thickness / radius)
    return replace(extruded(mesh, rows, move, cells, name, split), layers=(*mesh.layers, layer))


# Regions that are layers.

def named_region(mesh, region, name):
    """(mesh, name of the region) of one region, or of several, which get the name.

    Raises MeshError where one of them is a layer already."""
    given = (region,) if isinstance(region, str) else region
    for each in given:
        cells_of(mesh, each, "pml")
        if each in {layer.region for layer in mesh.layers}:
            raise MeshError(f"{mesh.source}: the region {each!r} is an absorbing layer already; a layer is made by one call")
    if isinstance(region, str):
        return mesh, region
    return mesh.with_regions({name: np.concatenate([cells_of(mesh, each, "pml") for each in region])}), name


def others(mesh, name):
    """Numbers of the cells outside of a region. Raises MeshError where there are none on one side."""
    inside = np.isin(np.arange(mesh.cell_count), mesh.regions[name])
    if inside.all() or not inside.any():
        raise MeshError(f"{mesh.source}: the region {name!r} has {'all' if inside.all() else 'none'} of the cells; a layer "
                        "lies around other cells")
    return np.flatnonzero(~inside)


def places(mesh, cells):
    """x (point, dim) of the corners and geometry nodes of cells."""
    corners = mesh.cells[cells]
    x = mesh.points[corners[corners >= 0]]
    if mesh.geometry_nodes is None:
        return x
    nodes = mesh.geometry_nodes[cells].reshape(-1, mesh.dim)
    return np.concatenate([x, nodes[~np.isnan(nodes).any(axis=1)]])


def box_of_region(mesh, name, profile):
    """The layer that a region around a box is."""
    low, high = (end(places(mesh, others(mesh, name)), axis=0) for end in (np.min, np.max))
    x = places(mesh, mesh.regions[name])
    widths = np.stack([low - x.min(axis=0), x.max(axis=0) - high], axis=1)
    widths[widths < TOLERANCE * (high - low).max()] = 0
    centres = mesh.centroids[mesh.regions[name]]
    inside = np.flatnonzero(((centres > low) & (centres < high)).all(axis=1))
    if len(inside):
        refuse_region(mesh, name, inside, f"in the box from {numbers(low)} to {numbers(high)} around all other cells")
    return BoxLayer(name, numbers(low), numbers(high), tuple(map(numbers, widths)), *profile(float(widths.max())))


def round_of_region(mesh, name, centre, axis, profile):
    """The layer that a region around a sphere, circle or cylinder is."""
    layer = RoundLayer(name, centre, axis, 1.0, 1.0, *profile(1.0))
    radius = float(layer.distance(places(mesh, others(mesh, name)).T).max())
    thickness = float(layer.distance(places(mesh, mesh.regions[name]).T).max()) - radius
    reach = np.append(layer.distance(mesh.points.T), 0)[mesh.cells[mesh.regions[name]]].max(axis=1)
    inside = np.flatnonzero(reach < radius * (1 + TOLERANCE))
    if len(inside):
        refuse_region(mesh, name, inside, f"within the radius {radius:.6g} around {centre} that all other cells need")
    return RoundLayer(name, centre, axis, radius, thickness, *profile(thickness))


def refuse_region(mesh, name, inside, where):
    """Raise MeshError for cells `inside`, numbers among those of a region."""
    cells = mesh.regions[name]
    raise MeshError(f"{mesh.source}: the region {name!r} is no layer, as {len(inside)} of {plural(len(cells), 'cell')} lie "
                    f"{where}: first {mesh.named_place(cells[inside[0]])}; a layer lies around the others")


def numbers(values):
    """Plain numbers in a tuple."""
    return tuple(map(float, values))
