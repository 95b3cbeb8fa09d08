"""Uniform refinement of cells of several shapes, with common points."""
import numpy as np

from ...reference.shapes import NAMED_SHAPES
from ..curved import cell_maps, geometry as curved_geometry
from ..elements import Elements
from . import prisms as refine_prism, pyramids as refine_pyramid, simplices as refine, tensor as refine_tensor


def split(mesh):
    """Refine every cell of a `MixedMesh`: (arguments of `build_mixed`, function from faces (face, vertex) of the mesh to their
    children (face, child, vertex)).

    The children of the cell with number k have the numbers 2^dim k and following, with pyramids, which have ten, 10 k."""
    points, found, middles = children(mesh.points, [(block.cell_shape, block.cells) for block in mesh.blocks])
    count = max(sum(parts.shape[1] for parts, _ in of_block.values()) for of_block in found)
    cells, nodes, parents = {}, {}, {}
    for block, of_block, begin in zip(mesh.blocks, found, mesh.first):
        first = 0
        for name, (parts, places) in of_block.items():
            if mesh.order > 1:
                shape, degree = NAMED_SHAPES[name], cell_maps.map_order(block)
                given = Elements(mesh.points, block.cells, None, block.geometry_nodes)
                own = curved_geometry.children(given, places, shape)
                corners = list(cell_maps.corner_nodes(shape, degree))
                points[parts.reshape(-1)] = own[:, corners].reshape(-1, mesh.dim)
                nodes.setdefault(name, []).append(own)
            cells.setdefault(name, []).append(parts.reshape(-1, parts.shape[2]))
            own, number = begin + np.arange(len(parts)), first + np.arange(parts.shape[1])
            parents.setdefault(name, []).append((own.repeat(len(number)), np.tile(number, len(own))))
            first += len(number)
    parent, child = np.concatenate([rows for each in parents.values() for rows in each], axis=1)

    def of_faces(corners):
        return refine_prism.facets(middles, corners) if mesh.dim == 3 else refine_tensor.refined(middles, corners)
    return dict(points=points, cells={name: np.concatenate(rows) for name, rows in cells.items()}, source=mesh.source,
                geometry_nodes={name: np.concatenate(rows) for name, rows in nodes.items()} or None,
                facets={name: of_faces(mesh.face_points(rows)).reshape(-1, mesh.orientation.shape[2])
                        for name, rows in mesh.boundaries.items()},
                groups={name: np.flatnonzero(np.isin(parent, numbers)) for name, numbers in mesh.regions.items()},
                numbers=count * mesh.numbers[parent] + child), of_faces


def children(points, cells):
    """Refine cells [(shape, (cell, corner))] on the points (point, dim): the new points; for each shape the {shape: (children
    (cell, child, corner), coordinates of their corners in the reference cell of the old one (cell or 1, child, corner, dim))};
    and the `Middles`."""
    rows = {}
    for shape, own in cells:
        for part in lattice_of(shape):
            if len(part) > 1:
                rows.setdefault(len(part), []).append(own[:, part])
    middles = refine_tensor.Middles(points, {count: np.concatenate(rows[count]) for count in sorted(rows)})
    points, found = np.concatenate(middles.points), []
    for shape, own in cells:
        lattice = lattice_of(shape)
        local = np.stack([middles.numbers(own[:, part]) for part in lattice], axis=1)
        places = np.array([shape.corners[list(part)].mean(axis=0) for part in lattice])
        found.append({name: (local[np.arange(len(local))[:, None, None], parts], places[parts])
                      for name, parts in parts_of(shape, points, local).items()})
    return points, found, middles


def lattice_of(shape):
    """The corners in whose middle each point of a refined cell lies."""
    if shape.simplex:
        return [*((corner,) for corner in range(shape.dim + 1)), *refine.EDGES[shape.dim]]
    if shape.tensor:
        return [tuple(shape.tensor_order[corner] for corner in part) for part in refine_tensor.lattice(shape.dim)]
    return MIXED_FACES[shape.name].LATTICE


def parts_of(shape, points, local):
    """{shape: numbers of the children's corners among the points of a refined cell, (cell or 1, child, corner)}."""
    if shape.simplex:
        return {shape.name: refine.parts_of(points, local)}
    if shape.tensor:
        offsets = refine_tensor.offsets(shape.dim)
        return {shape.name: (offsets[:, None] + offsets)[None, :, np.argsort(shape.tensor_order)]}
    return {name: parts[None] for name, parts in MIXED_FACES[shape.name].PARTS.items()}


MIXED_FACES = {"prism": refine_prism, "pyramid": refine_pyramid}
