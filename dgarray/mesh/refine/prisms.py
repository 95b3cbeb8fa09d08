"""Uniform refinement of prisms: the triangle into four, the line into two, 8 children a cell."""
import numpy as np

from .simplices import CHILDREN, EDGES
from .tensor import refined

# The corners in whose middle each of the 18 points of a refined prism lies: below, half way and above, six points each, the
# corners of the triangle and the middles of its edges.
BELOW = [(0,), (1,), (2,), *EDGES[2]]
LATTICE = [*BELOW, *((*part, *(corner + 3 for corner in part)) for part in BELOW),
           *(tuple(corner + 3 for corner in part) for part in BELOW)]
PARTS = {"prism": np.array([[*(6 * level + k for k in child), *(6 * level + 6 + k for k in child)]
                            for level in (0, 1) for child in CHILDREN[2]])}


def facets(middles, corners):
    """Children (face, child, vertex) of faces in 3D with these corners (face, vertex): triangles, which repeat their last
    corner, and quadrilaterals in tensor order."""
    three = corners[:, 3] == corners[:, 2]
    children = np.empty((len(corners), 4, 4), np.int64)
    children[~three] = refined(middles, corners[~three])
    if not three.any():
        return children
    local = np.stack([middles.numbers(corners[three][:, part]) for part in BELOW], axis=1)
    children[three, :, :3] = local[:, CHILDREN[2]]
    children[three, :, 3] = children[three, :, 2]
    return children
