"""Uniform refinement of meshes of several shapes of cells: each as alone, with common points."""
import numpy as np

from ..curved import cell_maps, geometry as curved_geometry
from ..elements import Elements
from . import prisms as refine_prism, simplices as refine, tensor as refine_tensor


def split(mesh):
    """Refine every cell of a `MixedMesh`: (arguments of `build_mixed`, function from faces (face, vertex) of the mesh to their
    children (face, child, vertex))."""
    rows = {}
    for block in mesh.blocks:
        for part in lattice_of(block.cell_shape):
            if len(part) > 1:
                rows.setdefault(len(part), []).append(block.cells[:, part])
    middles = refine_tensor.Middles(mesh.points, {count: np.concatenate(rows[count]) for count in sorted(rows)})
    points, cells, nodes = np.concatenate(middles.points), {}, {}
    for block in mesh.blocks:
        shape = block.cell_shape
        lattice = lattice_of(shape)
        local = np.stack([middles.numbers(block.cells[:, part]) for part in lattice], axis=1)
        parts = parts_of(shape, points, local)
        children = local[np.arange(len(local))[:, None, None], parts]
        if mesh.order > 1:
            places = np.array([shape.corners[list(part)].mean(axis=0) for part in lattice])[parts]
            given = Elements(mesh.points, block.cells, None, block.geometry_nodes)
            nodes[shape.name] = curved_geometry.children(given, places)
            corners = list(cell_maps.corner_nodes(shape, mesh.order))
            points[children.reshape(-1)] = nodes[shape.name][:, corners].reshape(-1, mesh.dim)
        cells[shape.name] = children.reshape(-1, children.shape[2])

    def of_faces(corners):
        return refine_prism.facets(middles, corners) if mesh.dim == 3 else refine_tensor.refined(middles, corners)
    count = 2 ** mesh.dim
    return dict(points=points, cells=cells, geometry_nodes=nodes or None, source=mesh.source,
                facets={name: of_faces(mesh.face_points(rows)).reshape(-1, mesh.orientation.shape[2])
                        for name, rows in mesh.boundaries.items()},
                groups={name: family(numbers, count) for name, numbers in mesh.regions.items()},
                numbers=family(mesh.numbers, count)), of_faces


def family(numbers, count):
    """Numbers of all the children of cells with these numbers."""
    return (np.asarray(numbers)[:, None] * count + np.arange(count)).ravel()


def lattice_of(shape):
    """The corners in whose middle each point of a refined cell lies."""
    if shape.name == "prism":
        return refine_prism.LATTICE
    if shape.simplex:
        return [*((corner,) for corner in range(shape.dim + 1)), *refine.EDGES[shape.dim]]
    return [tuple(shape.tensor_order[corner] for corner in part) for part in refine_tensor.lattice(shape.dim)]


def parts_of(shape, points, local):
    """Numbers of the children's corners among the points of a refined cell, (cell or 1, child, corner)."""
    if shape.name == "prism":
        return refine_prism.PARTS[None]
    if shape.simplex:
        return refine.parts_of(points, local)
    offsets = refine_tensor.offsets(shape.dim)
    return (offsets[:, None] + offsets)[None, :, np.argsort(shape.tensor_order)]
