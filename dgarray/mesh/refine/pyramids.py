"""Uniform refinement of pyramids: a pyramid at each corner, one upside down under the apex's, and four tetrahedra between.

They fill a pyramid with straight edges exactly, although their maps are not that of the pyramid."""
import numpy as np

# The corners in whose middle each of the 14 points of a refined pyramid lies.
LATTICE = [(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4), (0, 1, 3, 2)]
PARTS = {"pyramid": np.array([(0, 5, 13, 8, 9), (5, 1, 6, 13, 10), (13, 6, 2, 7, 11), (8, 13, 7, 3, 12), (9, 10, 11, 12, 4),
                              (9, 12, 11, 10, 13)]),
         "tetra": np.array([(5, 9, 10, 13), (6, 10, 11, 13), (7, 11, 12, 13), (8, 12, 9, 13)])}
