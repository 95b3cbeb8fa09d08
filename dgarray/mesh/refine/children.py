"""Uniform refinement of cells of any shapes, with common points."""
import numpy as np

from . import prisms, pyramids, simplices, tensor


def children(points, cells):
    """Refine cells [(shape, (cell, corner))] on the points (point, dim): the new points; for each shape the {shape: (children
    (cell, child, corner), coordinates of their corners in the reference cell of the old one (cell or 1, child, corner, dim))};
    and a function of faces (face, vertex) that returns (face, child, vertex) in an order that the vertices' order gives."""
    rows = {}
    for shape, own in cells:
        for part in lattice_of(shape):
            if len(part) > 1:
                rows.setdefault(len(part), []).append(own[:, part])
    middles = tensor.Middles(points, {count: np.concatenate(rows[count]) for count in sorted(rows)})
    points, found = np.concatenate(middles.points), []
    for shape, own in cells:
        lattice = lattice_of(shape)
        local = np.stack([middles.numbers(own[:, part]) for part in lattice], axis=1)
        places = np.array([shape.corners[list(part)].mean(axis=0) for part in lattice])
        found.append({name: (local[np.arange(len(local))[:, None, None], parts], places[parts])
                      for name, parts in parts_of(shape, points, local).items()})
    return points, found, lambda corners: (prisms.facets if points.shape[1] == 3 else tensor.refined)(middles, corners)


def lattice_of(shape):
    """The corners in whose middle each point of a refined cell lies."""
    if shape.simplex:
        return [*((corner,) for corner in range(shape.dim + 1)), *simplices.EDGES[shape.dim]]
    if shape.tensor:
        return [tuple(shape.tensor_order[corner] for corner in part) for part in tensor.lattice(shape.dim)]
    return MIXED_FACES[shape.name].LATTICE


def parts_of(shape, points, local):
    """{shape: numbers of the children's corners among the points of a refined cell, (cell or 1, child, corner)}."""
    if shape.simplex:
        return {shape.name: simplices.parts_of(points, local)}
    if shape.tensor:
        offsets = tensor.offsets(shape.dim)
        return {shape.name: (offsets[:, None] + offsets)[None, :, np.argsort(shape.tensor_order)]}
    return {name: parts[None] for name, parts in MIXED_FACES[shape.name].PARTS.items()}


MIXED_FACES = {"prism": prisms, "pyramid": pyramids}
