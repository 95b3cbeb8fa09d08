"""A 2D run's dataset in the UGRID conventions, for xugrid and other tools that know data on faces only."""
import numpy as np
import xarray as xr

from dgarray.output.post import at_time, by_snapshot, labelled, whole_number
from dgarray.output.triangles import lattice
from dgarray.reference import quadrature

STANDARD_NAMES = "projection_x_coordinate", "projection_y_coordinate"


def to_ugrid(ds, subdivide=1, time=None):
    """Means of the fields over the triangles or their parts, as UGRID faces; see Accessor.to_ugrid."""
    dg = ds.dg
    if dg.dim != 2:
        hint = "; take a slice first: ds.dg.slice('z=0.5').dg.to_ugrid()" if dg.dim == 3 else ""
        raise ValueError(f"the dataset is {dg.dim}D; UGRID faces need 2D{hint}")
    parts = whole_number("subdivide", subdivide, 1)
    corners, small = lattice(parts)
    points, faces = _conforming(dg.points, dg.cells, np.rint(corners * parts).astype("int64"), small)
    r, weights = quadrature(2, dg.order)
    # Mean over a part of a triangle, where the basis functions are polynomials of the same degree.
    inner = np.einsum("pc,tcv->tpv", dg.reference.barycentric(r), corners[small])
    matrices = dg.reference.interpolation(2 * inner.reshape(-1, 3)[:, 1:] - 1).reshape(len(small), len(r), -1)
    means = np.einsum("p,tpn->nt", weights / weights.sum(), matrices)
    ds = at_time(ds, time)
    data = {name: labelled(by_snapshot(ds[name], lambda nodal: (nodal @ means).ravel(), ("mesh2d_nFaces",), (len(faces),)),
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
            coords[name] = "mesh2d_nFaces", np.repeat(coord.values, len(small)), coord.attrs
    data["mesh2d_face_nodes"] = (("mesh2d_nFaces", "mesh2d_nMax_face_nodes"), faces,
                                 {"cf_role": "face_node_connectivity", "long_name": "corners of the faces", "start_index": 0})
    data["mesh2d"] = ((), np.int32(0), {
        "cf_role": "mesh_topology", "long_name": "triangles of the mesh", "topology_dimension": 2,
        "node_coordinates": "mesh2d_node_x mesh2d_node_y", "face_node_connectivity": "mesh2d_face_nodes",
        "face_dimension": "mesh2d_nFaces", "face_coordinates": "mesh2d_face_x mesh2d_face_y"})
    return xr.Dataset(data, coords, {**ds.attrs, "Conventions": "CF-1.11 UGRID-1.0"})


def _conforming(points, cells, shares, small):
    """Points of the lattice `shares` (point, 3), whole numbers, in all cells, each once, and the parts by their numbers.

    Triangles are counterclockwise, as UGRID asks."""
    corners = points[cells]
    clockwise = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0
    parts = shares[0].sum()
    # A lattice point is known by the corners that it depends on and its share of each: neighbours agree on shared edges.
    code = np.sort(np.where(shares > 0, cells[:, None, :] * (parts + 1) + shares, -1).reshape(-1, 3), axis=1)
    _, first, number = np.unique(code, axis=0, return_index=True, return_inverse=True)
    cell, point = np.divmod(first, len(shares))
    places = np.einsum("pc,pcd->pd", shares[point] / parts, corners[cell])
    faces = number.reshape(len(cells), len(shares))[:, small]
    faces[clockwise] = faces[clockwise][..., ::-1]
    return places, faces.reshape(-1, 3)
