"""Uniform refinement of prisms: the triangle into four, the line into two, 8 children a cell."""
import numpy as np

from ...reference.shapes import NAMED_SHAPES
from .simplices import CHILDREN, EDGES
from .tensor import Middles, refined

PRISM = NAMED_SHAPES["prism"]
# The corners in whose middle each of the 18 points of a refined prism lies: below, half way and above, six points each, the
# corners of the triangle and the middles of its edges.
BELOW = [(0,), (1,), (2,), *EDGES[2]]
LATTICE = [*BELOW, *((*part, *(corner + 3 for corner in part)) for part in BELOW),
           *(tuple(corner + 3 for corner in part) for part in BELOW)]
PARTS = {"prism": np.array([[*(6 * level + k for k in child), *(6 * level + 6 + k for k in child)]
                            for level in (0, 1) for child in CHILDREN[2]])}


def split(points, cells):
    """Refine every cell. Returns (points, children (cell, child, corner), children of facets, places) as
    `dgarray.mesh.refine.tensor.split`; facets that are triangles repeat their last corner."""
    middles = Middles(points, {count: np.concatenate([cells[:, part] for part in LATTICE if len(part) == count])
                               for count in (2, 4)})
    local = np.stack([middles.numbers(cells[:, part]) for part in LATTICE], axis=1)
    places = np.array([PRISM.corners[list(part)].mean(axis=0) for part in LATTICE])
    parts = PARTS["prism"]
    return np.concatenate(middles.points), local[:, parts], lambda corners: facets(middles, corners), places[parts][None]


def facets(middles, corners):
    """Children (face, child, vertex) of faces with these corners (face, vertex): triangles, which repeat their last corner, and
    quadrilaterals in tensor order."""
    three = corners[:, 3] == corners[:, 2]
    children = np.empty((len(corners), 4, 4), np.int64)
    children[~three] = refined(middles, corners[~three])
    local = np.stack([middles.numbers(corners[three][:, part]) for part in BELOW], axis=1)
    children[three, :, :3] = local[:, CHILDREN[2]]
    children[three, :, 3] = children[three, :, 2]
    return children
