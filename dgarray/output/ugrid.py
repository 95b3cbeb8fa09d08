"""A 2D run's dataset in the UGRID conventions, for xugrid and other tools that know data on faces only."""
import numpy as np
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from dgarray.mesh.curved import cell_maps
from dgarray.mesh.curved.parts import unique_places
from dgarray.output.cf_flags import joined_flags
from dgarray.output.evaluation import at_time, by_snapshot, labelled, whole_number
from dgarray.output.pictures.triangles import lattice
from dgarray.reference import quadrature
from dgarray.reference.tensor import tensor_cell

STANDARD_NAMES = "projection_x_coordinate", "projection_y_coordinate"


def to_ugrid(datasets, subdivide=1, time=None):
    """Means of the fields over the cells or their parts, as UGRID faces; see Accessor.to_ugrid.

    datasets: one for each shape of cells"""
    dg = datasets[0].dg
    if dg.dim != 2:
        hint = "; take a slice first: ds.dg.slice('z=0.5').dg.to_ugrid()" if dg.dim == 3 else ""
        raise ValueError(f"the dataset is {dg.dim}D; UGRID faces need 2D{hint}")
    parts = whole_number("subdivide", subdivide, 1)
    return joined([_faces(ds, parts, time) for ds in joined_flags(datasets, "region")])


def _faces(ds, parts, time):
    """Means of the fields of one dataset, with cells of one shape, as UGRID faces."""
    dg = ds.dg
    points, faces, means = (of_triangles if dg.cell_shape.simplex else of_quadrilaterals)(dg, parts)
    ds = at_time(ds, time)
    data = {name: labelled(by_snapshot(ds[name], lambda nodal: means(nodal).ravel(), ("mesh2d_nFaces",), (len(faces),)),
                           ds[name], mesh="mesh2d", location="face") for name in dg.variables}
    lead = {dim for variable in data.values() for dim in variable.dims} - {"mesh2d_nFaces"}
    coords = {name: coord.variable for name, coord in ds.coords.items() if set(coord.dims) <= lead}
    for number, (axis, standard) in enumerate(zip(dg.axes, STANDARD_NAMES)):
        attrs, letter = {"standard_name": standard, "units": dg.units(axis)}, "xy"[number]
        coords[f"mesh2d_node_{letter}"] = ("mesh2d_nNodes", points[:, number], {**attrs, "long_name": f"{axis} of the nodes"})
        coords[f"mesh2d_face_{letter}"] = ("mesh2d_nFaces", points[faces, number].mean(axis=1),
                                           {**attrs, "long_name": f"{axis} of the face's centre"})
    for name, coord in ds.coords.items():
        if coord.dims == ("element",):
            coords[name] = "mesh2d_nFaces", np.repeat(coord.values, parts ** 2), coord.attrs
    data["mesh2d_face_nodes"] = (("mesh2d_nFaces", "mesh2d_nMax_face_nodes"), faces,
                                 {"cf_role": "face_node_connectivity", "long_name": "corners of the faces", "start_index": 0})
    data["mesh2d"] = ((), np.int32(0), {
        "cf_role": "mesh_topology", "long_name": "cells of the mesh", "topology_dimension": 2,
        "node_coordinates": "mesh2d_node_x mesh2d_node_y", "face_node_connectivity": "mesh2d_face_nodes",
        "face_dimension": "mesh2d_nFaces", "face_coordinates": "mesh2d_face_x mesh2d_face_y"})
    return xr.Dataset(data, coords, {**ds.attrs, "Conventions": "CF-1.11 UGRID-1.0"})


def joined(datasets):
    """One UGRID dataset from those of triangles and of quadrilaterals; points at one place, up to rounding, are one."""
    if len(datasets) == 1:
        return datasets[0]
    nodes = np.cumsum([0, *(ds.sizes["mesh2d_nNodes"] for ds in datasets)])
    places = np.concatenate([np.column_stack([ds["mesh2d_node_x"], ds["mesh2d_node_y"]]) for ds in datasets])
    number, kept = places_once(places)
    corners, parts = max(ds.sizes["mesh2d_nMax_face_nodes"] for ds in datasets), []
    for ds, first in zip(datasets, nodes):
        faces = number[ds["mesh2d_face_nodes"].values + first]
        faces = np.pad(faces, [(0, 0), (0, corners - faces.shape[1])], constant_values=-1)
        attrs = ds["mesh2d_face_nodes"].attrs | {"_FillValue": -1}
        parts.append(ds.drop_vars(["mesh2d_face_nodes", "mesh2d"]).assign(
            mesh2d_face_nodes=(("mesh2d_nFaces", "mesh2d_nMax_face_nodes"), faces, attrs)))
    of_nodes = ["mesh2d_node_x", "mesh2d_node_y"]
    result = xr.concat([ds.drop_vars(of_nodes) for ds in parts], "mesh2d_nFaces", data_vars="minimal", coords="minimal",
                       compat="override", join="override", combine_attrs="override")
    at_nodes = {name: xr.Variable("mesh2d_nNodes", places[kept, column], datasets[0][name].attrs)
                for column, name in enumerate(of_nodes)}
    return result.assign_coords(at_nodes).assign(mesh2d=datasets[0]["mesh2d"])


def places_once(x):
    """The number of the place of each of the points x (point, dim), and of each place one of its points; points nearer than
    1e-9 of the size of the coordinates are one place."""
    near = np.array(sorted(cKDTree(x).query_pairs(1e-9 * np.abs(x).max(initial=0)))).reshape(-1, 2)
    pairs = coo_array((np.ones(len(near)), near.T), (len(x), len(x)))
    _, number = connected_components(pairs, directed=False)
    return number, np.unique(number, return_index=True)[1]


def of_triangles(dg, parts):
    """Points, faces and the function from nodal values (element, node) to means (element, face) of triangles cut in parts^2."""
    corners, small = lattice(parts)
    points, faces = _conforming(dg, 2 * corners[:, 1:] - 1, np.rint(corners * parts).astype("int64"), small)
    r, weights = quadrature(2, dg.order + 2 * cell_maps.map_order(dg) - 2)
    # Mean over a part of a triangle, where the basis functions are polynomials of the same degree.
    inner = np.einsum("pc,tcv->tpv", dg.reference.barycentric(r), corners[small]).reshape(-1, 3)[:, 1:] * 2 - 1
    if dg.geometry_nodes is not None:
        return points, faces, weighted_means(dg, inner, weights)
    matrices = dg.reference.interpolation(inner).reshape(len(small), len(r), -1)
    means = np.einsum("p,tpn->nt", weights / weights.sum(), matrices)
    return points, faces, lambda nodal: nodal @ means


def of_quadrilaterals(dg, parts):
    """Points, faces and the function from nodal values (element, node) to means (element, face), which weigh points with
    det dx/dr, of quadrilaterals cut in parts^2."""
    count, shape = parts + 1, dg.cell_shape
    i, j = np.tile(np.arange(count), count), np.repeat(np.arange(count), count)
    lattice_points = 2 * np.column_stack([i, j]) / parts - 1
    shares = np.rint(shape.weights(lattice_points) * parts ** 2).astype("int64")
    first = (np.arange(parts)[:, None] * count + np.arange(parts)).reshape(-1, 1)
    points, faces = _conforming(dg, lattice_points, shares, first + [0, 1, count + 1, count])
    fine = tensor_cell(2, dg.order + 1)
    centres = (2 * np.column_stack([np.tile(np.arange(parts), parts), np.repeat(np.arange(parts), parts)]) + 1) / parts - 1
    inner = (centres[:, None] + fine.nodes / parts).reshape(-1, 2)
    return points, faces, weighted_means(dg, inner, fine.weights)


def weighted_means(dg, inner, weights):
    """The function from nodal values (element, node) to means (element, face), from the points inner (face * point, 2) of the
    reference cell and the weights (point,) of a quadrature, times det dx/dr."""
    J = cell_maps.determinant(cell_maps.jacobians(dg, inner)).T
    shares = J.reshape(len(J), -1, len(weights)) * weights
    shares /= shares.sum(axis=2, keepdims=True)
    matrix = dg.reference.interpolation(inner)
    return lambda nodal: np.sum((nodal @ matrix.T).reshape(shares.shape) * shares, axis=2)


def _conforming(dg, r, shares, small):
    """Points at the reference points r (point, dim) of all cells, each once, and the parts `small` by their numbers.

    shares (point, corner): weights of the corners in whole numbers. Parts are counterclockwise, as UGRID asks."""
    corners = dg.points[dg.cells]
    clockwise = np.linalg.det(corners[:, [1, -1]] - corners[:, :1]) < 0
    first, number = unique_places(dg.cells, shares)
    cell, point = np.divmod(first, len(r))
    faces = number.reshape(len(corners), len(r))[:, small]
    faces[clockwise] = faces[clockwise][..., ::-1]
    return cell_maps.positions(dg, r)[:, point, cell].T, faces.reshape(-1, small.shape[1])
