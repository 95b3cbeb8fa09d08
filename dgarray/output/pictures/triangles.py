"""Small triangles that show polynomials on large ones, and the lines around them."""
import numpy as np

from dgarray.mesh.refine import hanging

# Small triangles that one picture may have; beyond it they are below the size of its pixels.
TRIANGLES = 400_000
# Divisions of an element's edge, for each order, that show its polynomial in a picture of the whole.
FINEST = 6


def outlines(ds):
    """Rows (edge, 2: element, local edge) of the edges of one element only, and of those between two regions; none that meet
    edges of half their size in the same region."""
    region = ds["region"].values if "region" in ds else np.zeros(len(ds.dg.cells))
    rows = edges_between(ds, region)
    here = hanging.find(ds.dg.space.mesh, rows)
    alike = region[here.large[:, 0]] == region[here.small[:, 0, 0]]
    inner = {tuple(row) for row in np.concatenate([here.large[alike], here.small[alike].reshape(-1, 2)]).tolist()}
    return rows[[tuple(row) not in inner for row in rows.tolist()]]


def sides(ds):
    """Rows (edge, 2: element, local edge) of all edges of the cells of the mesh, each once; on a slice not those between the
    pieces of a cell of the mesh file."""
    return edges_between(ds, ds["cell_number"].values if "plane" in ds.attrs else np.arange(len(ds.dg.cells)))


def edges_between(ds, group):
    """Rows (edge, 2: element, local edge) of the edges of one element only, and of those between elements of two groups
    (element,)."""
    cells, shape = ds.dg.cells, ds.dg.cell_shape
    edges = np.sort(cells[:, shape.faces].reshape(-1, 2), axis=1)
    _, first, inverse, count = np.unique(edges, axis=0, return_index=True, return_inverse=True, return_counts=True)
    group = np.repeat(group, len(shape.faces))
    low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(low, inverse.ravel(), group)
    np.maximum.at(high, inverse.ravel(), group)
    return np.column_stack(np.divmod(first[(count == 1) | (low < high)], len(shape.faces)))


def lattice(divisions):
    """Equispaced barycentric lattice of a triangle: points (point, 3), and its divisions^2 triangles (triangle, 3)."""
    n = divisions
    rows = [(i, j) for j in range(n + 1) for i in range(n + 1 - j)]
    number = {row: index for index, row in enumerate(rows)}
    upward = [(number[i, j], number[i + 1, j], number[i, j + 1]) for i, j in rows if i + j < n]
    downward = [(number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]) for i, j in rows if i + j < n - 1]
    tail = np.array(rows) / n
    return np.column_stack([1 - tail.sum(axis=1), tail]), np.array(upward + downward)


def divided(shape, divisions):
    """Equispaced reference points (point, 2) of a triangle or quadrilateral, and the small triangles (triangle, 3) between
    them."""
    if shape.simplex:
        corners, small = lattice(divisions)
        return 2 * corners[:, 1:] - 1, small
    n = divisions + 1
    line = np.linspace(-1, 1, n)
    first = (np.arange(divisions)[:, None] * n + np.arange(divisions)).reshape(-1, 1)
    small = np.concatenate([first + [0, 1, n + 1], first + [0, n + 1, n]])
    return np.stack([np.tile(line, n), np.repeat(line, n)], axis=1), small


def subdivision(elements, order, most=TRIANGLES, finest=FINEST):
    """Divisions of a triangle's edge that show its polynomial, with at most so many small triangles where that is possible.

    finest: divisions that suffice for each order"""
    if order == 1 and elements > most:
        return 1
    return int(np.clip(np.sqrt(most / elements), 2, finest * order))


def lines_between(pyvista, points, pairs):
    """PolyData of the lines between pairs (line, 2) of the points."""
    return pyvista.PolyData(points, lines=np.insert(np.asarray(pairs), 0, 2, axis=1).ravel())
