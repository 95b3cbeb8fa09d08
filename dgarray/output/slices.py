"""Cuts of a run's dataset by a plane (3D) or a line (2D): again a dataset of nodal polynomials, one dimension lower.

A polynomial restricted to a plane is a polynomial of the same degree. A plane cuts a tetrahedron in a triangle or in a
quadrilateral, which is split into two triangles; the nodes of simplex(2, order) on each of them hold the restriction
exactly. In 2D the same holds for triangles and segments.

Hexahedra, prisms and pyramids are cut into tetrahedra first, quadrilaterals into triangles. The degree in each of two
coordinates adds up, so the polynomials on the slice have twice the order, up to HIGHEST; on oblique planes, where a cell's
edges are not parallel, and on pyramids, whose functions are rational, they interpolate. Curved cells are cut into small
straight ones first, whose shape the slice has; its values are those at its points.
"""
import numpy as np
import xarray as xr

from dgarray.mesh.curved.parts import parted
from dgarray.mesh.locate import Locator
from dgarray.output.dataset import LOCATIONS, SIMPLEX_NODES
from dgarray.output.evaluation import Evaluation, at_time, labelled
from dgarray.output.pieces import end_to_end
from dgarray.reference.shapes import shape_of
from dgarray.reference.simplex import simplex
from dgarray.support.wording import choose

# Share of the size of the coordinates that counts as rounding: a corner nearer to the plane than this lies in it.
TOLERANCE = 1e-12
HIGHEST = 10             # order on the slices of cells that are no simplices


def cut(datasets, plane, time=None):
    """The datasets, one for each shape of cells, on a plane, as one dataset of the highest of their orders there; see
    Accessor.slice.

    Where the plane contains faces between two shapes, the cells of the one that comes first are used."""
    dim, axes = datasets[0].dg.dim, datasets[0].dg.axes
    if dim == 1:
        raise ValueError("a 1D dataset has no slice; point values are ds.dg.sample(points)")
    origin, normal, text = parse(plane, axes)
    order = max(map(order_of, datasets))
    found = [flat for ds in datasets if (flat := _cut(ds, origin, normal, text, time, order)) is not None]
    if not found:
        bounds = [ds.dg.bounds for ds in datasets]
        low, high = np.min(bounds, axis=(0, 1)), np.max(bounds, axis=(0, 1))
        extent = ", ".join(f"{axis} from {a:g} to {b:g}" for axis, a, b in zip(axes, low, high))
        raise ValueError(f"the plane {text} misses the mesh, which has {extent}")
    return joined(_without_repeated(found))


def _cut(ds, origin, normal, text, time, order):
    """One dataset on a plane, None where it misses the cells. order: of the polynomials on it."""
    dg = ds.dg
    axes, tangents = plane_axes(normal, dg.axes)
    shape, some, whole = dg.cell_shape, np.arange(len(dg.cells)), (dg.points, dg.cells)
    if dg.geometry_nodes is not None:
        some = near_plane(dg, origin, normal)
        if not len(some):
            return None
        whole = parted(dg, some)
    parts = simplices(*whole, shape_of(*whole))
    parent, weights, points, corners = pieces(*parts, origin, normal)
    parent, weights, points, corners = tidy(parent, weights, points, corners, (points - origin) @ tangents.T)
    parent = some[parent // (len(parts[1]) // max(1, len(some)))]
    if not len(parent):
        return None
    # Coordinates along the axes stay what they are; others are lengths from the origin.
    flat = np.column_stack([points[:, dg.axes.index(axis)] if axis in dg.axes else (points - origin) @ tangent
                            for axis, tangent in zip(axes, tangents)])
    reference = simplex(dg.dim - 1, order)
    shares = reference.barycentric(reference.nodes)
    cell = np.repeat(parent[:, None], len(shares), axis=1)
    if shape.simplex and dg.geometry_nodes is None:
        r = 2 * np.einsum("nc,pcv->pnv", shares, weights)[..., 1:] - 1
    else:
        x = np.einsum("nc,pcd->pnd", shares, points[corners]).reshape(-1, dg.dim)
        r = reference_places(dg, cell.ravel(), x).reshape(*cell.shape, dg.dim)
    evaluation = Evaluation(dg.reference, cell, r)
    chosen = at_time(ds, time)
    coords = {name: coord.variable.isel(element=parent) for name, coord in chosen.coords.items()
              if coord.dims == ("element",) and name != "element_number"}          # its elements are pieces
    for name, coord in chosen.coords.items():
        if set(coord.dims) == {"element", "node"}:
            coords[name] = labelled(evaluation(coord.compute(), ("element", "node")), coord)
    data = topology(flat, corners, axes, shares, {axis: dg.units(axis if axis in dg.axes else dg.axes[0]) for axis in axes},
                    coords)
    attrs = {"dim": dg.dim - 1, "order": order, "nodes": SIMPLEX_NODES, "cell_type": ("line", "triangle")[dg.dim - 2],
             "axes": " ".join(axes), "plane": f"{ds.attrs['plane']}, {text}" if "plane" in ds.attrs else text}
    out = evaluation.dataset(chosen, ("element", "node"), coords, attrs)
    for name in dg.variables:
        out[name].attrs.update(mesh="mesh", location=LOCATIONS[dg.dim - 1])
    out.attrs.pop("records", None)
    return out.assign(data)


def order_of(ds):
    """Order of the polynomials on slices of a dataset."""
    return ds.dg.order if ds.dg.cell_shape.simplex else int(np.clip(2 * ds.dg.order, 1, HIGHEST))


def _without_repeated(slices):
    """The slices without the pieces that lie in those before them."""
    kept = []
    for ds in slices:
        centres = ds.dg.points[ds.dg.cells].mean(axis=1)
        repeated = np.zeros(len(centres), bool)
        for before in kept:
            repeated |= Locator(before.dg.points, before.dg.cells).find(centres)[0] >= 0
        if not repeated.all():
            kept.append(ds.isel(element=~repeated) if repeated.any() else ds)
    return kept


def joined(datasets):
    """One dataset of those of cells of one shape and order, without their named boundaries; points at one place are one."""
    if len(datasets) == 1:
        return datasets[0]
    first, axes = datasets[0], datasets[0].dg.axes
    connectivity, names = f"mesh_{LOCATIONS[first.dg.dim]}_nodes", [f"mesh_node_{axis}" for axis in axes]
    starts = np.cumsum([0, *(len(ds.dg.points) for ds in datasets)])
    points, number = np.unique(np.concatenate([ds.dg.points for ds in datasets]), axis=0, return_inverse=True)
    cells = number.ravel()[np.concatenate([ds.dg.cells + start for ds, start in zip(datasets, starts)])]
    result = end_to_end([ds.drop_vars([connectivity, *names]) for ds in datasets], "element")
    corners = {name: xr.Variable("mesh_node", points[:, column], first[name].attrs) for column, name in enumerate(names)}
    return result.assign_coords(corners).assign({connectivity: (first[connectivity].dims, cells, first[connectivity].attrs)})


def simplices(points, cells, shape):
    """Points and corners of simplices that fill the cells, as many for each and those of a cell together.

    A quadrilateral gives two triangles. A hexahedron gives twelve tetrahedra between its centre and the halves of its faces, a
    prism eight and a pyramid six, with their triangles; the diagonal of a face begins at the corner with the least coordinates,
    so that both cells of a face cut it alike."""
    if shape.simplex:
        return points, cells
    if shape.dim == 2:
        return points, cells[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
    rank = np.empty(len(points), "int64")
    rank[np.lexsort(points.T[::-1])] = np.arange(len(points))
    faces = cells[:, [face for face in shape.faces if len(face) == 4]]
    rising = np.isin(rank[faces].argmin(axis=2), (0, 3))[:, :, None, None]
    halves = np.where(rising, faces[:, :, [[0, 1, 3], [0, 3, 2]]], faces[:, :, [[0, 1, 2], [1, 3, 2]]])
    triangles = [face for face in shape.faces if len(face) == 3]
    whole = cells[:, triangles] if triangles else np.empty((len(cells), 0, 3), "int64")
    sides = np.concatenate([halves.reshape(len(cells), -1, 3), whole], axis=1)
    centre = np.broadcast_to(len(points) + np.arange(len(cells))[:, None, None], (*sides.shape[:2], 1))
    return np.vstack([points, points[cells].mean(axis=1)]), np.concatenate([centre, sides], axis=2).reshape(-1, 4)


def reference_places(dg, cells, x):
    """Reference coordinates (point, dim) of points x (point, dim) in these cells (point,), also a little outside of them: the
    halves of a face that is no plane lie on both sides of it."""
    inside, r = (found[:, 0] for found in dg.locator.maps.invert(cells[:, None], x))
    beyond = np.flatnonzero(inside < 0)
    r[beyond] = dg.locator.maps.extended(cells[beyond], x[beyond], r[beyond])
    return r


def near_plane(dg, origin, normal):
    """Numbers of the curved cells that the plane may meet: those whose boxes it does."""
    low, high = dg.locator.maps.low - origin, dg.locator.maps.high - origin
    middle, half = (high + low) @ normal / 2, (high - low) @ np.abs(normal) / 2
    return np.flatnonzero(np.abs(middle) <= half * (1 + 1e-9))


def parse(plane, axes):
    """(origin, normal, text) of a plane such as "z=0.5" or (origin, normal); the normal gets unit length."""
    form = f"it must be like '{axes[-1]}=0.5', or (origin, normal) with {len(axes)} numbers each"
    if isinstance(plane, str):
        name, _, number = plane.partition("=")
        position = axes.index(choose(f"plane {plane!r}: axis", name.strip(), axes, " in the dataset; it has"))
        try:
            value = float(number)
        except ValueError:
            raise ValueError(f"plane {plane!r} has no number after '='; {form}") from None
        origin, normal = np.zeros(len(axes)), np.zeros(len(axes))
        origin[position], normal[position] = value, 1
        text = f"{axes[position]}={value:g}"
    else:
        try:
            origin, normal = (np.asarray(part, dtype="float64") for part in plane)
        except (TypeError, ValueError):
            raise ValueError(f"plane {plane!r} is not understood; {form}") from None
        if origin.shape != (len(axes),) or normal.shape != (len(axes),):
            raise ValueError(f"plane has an origin of shape {origin.shape} and a normal of shape {normal.shape}; {form}")
        if not normal.any():
            raise ValueError("the normal of the plane is zero; it must have a direction")
        text = f"through {tuple(origin.tolist())} with normal {tuple(normal.tolist())}"
        normal = normal / np.linalg.norm(normal)
    if not (np.isfinite(origin).all() and np.isfinite(normal).all()):
        raise ValueError(f"plane {plane!r} is not finite; {form}")
    return origin, normal, text


def plane_axes(normal, axes):
    """Names of the coordinates on the plane and their unit directions (dim - 1, dim).

    A plane across an axis keeps the names of the others; else s (in 2D), or s1, horizontal if a plane has just one
    horizontal direction, and s2 = normal x s1."""
    dim = len(axes)
    across = np.flatnonzero(normal)
    if len(across) == 1:
        others = [number for number in range(dim) if number != across[0]]
        return tuple(axes[number] for number in others), np.eye(dim)[others]
    if dim == 2:
        tangent = np.array([normal[1], -normal[0]])
        return ("s",), tangent[None] * np.sign(tangent[0])
    up = np.array([0.0, 0.0, 1.0]) if normal[:2].any() else np.array([1.0, 0.0, 0.0])
    first = np.cross(up, normal)
    first /= np.linalg.norm(first)
    return ("s1", "s2"), np.stack([first, np.cross(normal, first)])


def pieces(points, cells, origin, normal):
    """Simplices in which the plane cuts the cells, some of them degenerate.

    Returns the cell of each (piece,), the barycentric coordinates of its corners in that cell (piece, dim, dim + 1), the
    points where the plane meets edges of the mesh (point, dim), and the corners by these numbers (piece, dim).
    Corners in the plane count as above it, so that a face in the plane belongs to the cell below; where there is
    none, at the boundary of the mesh, to the cell above."""
    dim = points.shape[1]
    height = (points - origin) @ normal
    height[np.abs(height) <= TOLERANCE * (np.abs(points).max() + np.abs(origin).max())] = 0
    code = (height[cells] >= 0) @ (1 << np.arange(dim + 1))
    parent, pairs = [], []
    for pattern in range(1, 2 ** (dim + 1) - 1):
        members = np.flatnonzero(code == pattern)
        above = [corner for corner in range(dim + 1) if pattern >> corner & 1]
        below = [corner for corner in range(dim + 1) if corner not in above]
        for simplex_pairs in _simplices(above, below):
            parent.append(members)
            pairs.append(np.broadcast_to(simplex_pairs, (len(members), dim, 2)))
    resting = (code == 2 ** (dim + 1) - 1) & ((height[cells] == 0).sum(axis=1) == dim)
    parent.append(np.flatnonzero(resting))
    pairs.append(np.repeat(np.nonzero(height[cells[resting]] == 0)[1].reshape(-1, dim, 1), 2, axis=2))
    parent, pairs = np.concatenate(parent), np.concatenate(pairs)
    upper, lower = np.moveaxis(np.take_along_axis(cells[parent][:, None], pairs, axis=2), 2, 0)
    fall = height[upper] - height[lower]
    share = np.where(fall > 0, -height[lower] / np.where(fall > 0, fall, 1), 1.0)
    weights = np.zeros((*share.shape, dim + 1))
    rows, columns = np.indices(share.shape)
    weights[rows, columns, pairs[..., 1]] = 1 - share
    weights[rows, columns, pairs[..., 0]] = share
    edges, first, corners = np.unique(np.stack([upper, np.where(height[upper] == 0, upper, lower)], axis=-1).reshape(-1, 2),
                                      axis=0, return_index=True, return_inverse=True)
    part = share.reshape(-1)[first][:, None]
    met = part * points[edges[:, 0]] + (1 - part) * points[edges[:, 1]]
    corners = corners.reshape(share.shape)
    kept = _once(corners, met, (edges[:, 0] == edges[:, 1])[corners].all(axis=1))
    return parent[kept], weights[kept], met, corners[kept]


def _simplices(above, below):
    """Corners (above, below) of the simplices of the cut: one, or for a quadrilateral two."""
    if len(above) == 1 or len(below) == 1:
        return [[(a, b) for a in above for b in below]]
    (a, b), (c, d) = above, below
    return [[(a, c), (a, d), (b, d)], [(a, c), (b, d), (b, c)]]


def _once(corners, points, in_face):
    """Positions of the pieces, in order, without the second of two that are the same face of two cells."""
    faces = np.flatnonzero(in_face)
    # By place, not by number: the two sides of a crack have corners of their own.
    _, place = np.unique(points[corners[faces]].reshape(-1, points.shape[1]), axis=0, return_inverse=True)
    _, first = np.unique(np.sort(place.reshape(-1, corners.shape[1]), axis=1), axis=0, return_index=True)
    return np.sort(np.concatenate([np.flatnonzero(~in_face), faces[first]]))


def tidy(parent, weights, points, corners, flat):
    """Pieces without those thinner than rounding, by cell, oriented as `flat` (point, dim - 1), with the points in use."""
    edges = flat[corners[:, 1:]] - flat[corners[:, :1]]
    measure = np.linalg.det(edges)
    sides = np.linalg.norm(flat[corners] - flat[np.roll(corners, 1, axis=1)], axis=-1)
    size = np.abs(points).max(initial=0)
    kept = np.abs(measure) > TOLERANCE * size * sides.max(axis=1, initial=0) ** (flat.shape[1] - 1)
    kept = np.flatnonzero(kept)[np.argsort(parent[kept], kind="stable")]
    turned = measure[kept] < 0
    parent, weights, corners = parent[kept], weights[kept], corners[kept]
    weights[turned] = weights[turned][:, ::-1]
    corners[turned] = corners[turned][:, ::-1]
    used, corners = np.unique(corners, return_inverse=True)
    return parent, weights, points[used], corners.reshape(-1, flat.shape[1] + 1)


def topology(points, cells, axes, shares, units, coords):
    """Variables of the mesh on the plane; adds its corners, and nodes of axes that are not coordinates yet, to `coords`."""
    location = LOCATIONS[len(axes)]
    connectivity = f"mesh_{location}_nodes"
    for number, axis in enumerate(axes):
        attrs = {"long_name": f"{axis} of the corners", "units": units[axis]}
        coords[f"mesh_node_{axis}"] = xr.Variable("mesh_node", points[:, number], attrs)
        if axis not in coords:
            attrs = {"long_name": f"{axis} of the nodes, a length in the plane", "units": units[axis]}
            coords[axis] = xr.Variable(("element", "node"), points[cells, number] @ shares.T, attrs)
    attrs = {"cf_role": "mesh_topology", "long_name": "corner topology of the slice", "topology_dimension": len(axes),
             "node_coordinates": " ".join(f"mesh_node_{axis}" for axis in axes),
             f"{location}_node_connectivity": connectivity, f"{location}_dimension": "element"}
    return {connectivity: xr.Variable(("element", "mesh_vertex"), cells,
                                      {"cf_role": f"{location}_node_connectivity", "start_index": 0,
                                       "long_name": "corners of the elements"}),
            "mesh": xr.Variable((), np.int32(0), attrs)}
