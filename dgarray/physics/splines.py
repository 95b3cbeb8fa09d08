"""Curves through the vertices of a boundary, for walls that are curved under edges that are straight: cubic splines.

A face's piece of its curve is C(u) = a + b u + c u^2 + d u^3, from one vertex at u = 0 to the other at u = 1.
"""
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

STEPS = 2         # of Newton's method: the first guess is off by O(h^2), then by O(h^4), O(h^8)


@dataclass(frozen=True)
class SplinePieces:
    """The piece of each boundary face: what `of_faces` of a boundary condition is.

    corner: a vertex where the boundary turns by more degrees is a corner, at which one curve ends and another begins; a curve
    without a corner and without ends closes smoothly.  The parameter along a curve is the sum of the lengths of its edges."""

    corner: float
    names = ("ax", "ay", "bx", "by", "cx", "cy", "dx", "dy")

    def __call__(self, mesh, faces):
        """{name: (face,)} for the boundary faces (count, 2) of the mesh, which all belong to the condition.

        Raises ValueError where three of them or more meet."""
        ends, pieces = mesh.face_points(faces), np.empty((len(faces), 4, 2))
        around = edges_around(ends, mesh.points)
        corners = {vertex for vertex, edges in around.items() if self.turns(vertex, ends[edges], mesh.points)}
        for edges, vertices in curves(ends, around, corners):
            points = mesh.points[vertices]
            s = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
            closed = vertices[0] == vertices[-1] and vertices[0] not in corners
            spline = CubicSpline(s, points, bc_type="periodic" if closed else "not-a-knot")
            lengths = np.diff(s)[:, None]
            pieces[edges] = np.stack([spline.c[3 - k] * lengths**k for k in range(4)], axis=1)
        return dict(zip(self.names, pieces.reshape(len(faces), -1).T.copy()))

    def turns(self, vertex, ends, points):
        """Whether the two edges at a vertex make a corner; one edge alone does not."""
        if len(ends) == 1:
            return False
        one, other = points[ends.sum(axis=1) - vertex] - points[vertex]
        cosine = -one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        return np.degrees(np.arccos(np.clip(cosine, -1, 1))) > self.corner


def edges_around(ends, points):
    """{vertex: numbers of its edges} of edges (edge, 2).  Raises ValueError where there are more than two."""
    around = {}
    for edge, pair in enumerate(ends.tolist()):
        for vertex in pair:
            around.setdefault(vertex, []).append(edge)
    forks = [vertex for vertex, edges in around.items() if len(edges) > 2]
    if forks:
        where = ", ".join(f"{c:.6g}" for c in points[forks[0]])
        raise ValueError(f"a wall through splines forks at ({where}), where {len(around[forks[0]])} of its faces meet; "
                         "give each curve a name and a condition of its own")
    return around


def curves(ends, around, corners):
    """Edges in rows from corner to corner, from end to end or around: (their numbers, their vertices, one more)."""
    left = set(range(len(ends)))
    starts = [vertex for vertex, edges in around.items() if vertex in corners or len(edges) == 1]
    for start in (*starts, *around):          # what the starts leave is closed
        for first in around[start]:
            edges, vertices, following = [], [start], [first] if first in left else []
            while following:
                edges.append(following[0])
                left.discard(following[0])
                vertices.append(int(ends[following[0]].sum()) - vertices[-1])
                following = [] if vertices[-1] in corners else [edge for edge in around[vertices[-1]] if edge in left]
            if edges:
                yield edges, vertices


def normal(x, face):
    """Normal, of any length, of the curve where it is nearest to the point x: (C(u) - x) . C'(u) = 0."""
    a, b, c, d = (face.ax, face.ay), (face.bx, face.by), (face.cx, face.cy), (face.dx, face.dy)
    chord = [k + m + n for k, m, n in zip(b, c, d)]
    u = sum((p - k) * e for p, k, e in zip(x, a, chord)) / sum(e * e for e in chord)
    for _ in range(STEPS):
        gap = [k + u * (m + u * (n + u * o)) - p for k, m, n, o, p in zip(a, b, c, d, x)]
        slope = slopes(u, b, c, d)
        bend = [2 * n + 6 * u * o for n, o in zip(c, d)]
        u = u - (sum(g * s for g, s in zip(gap, slope)) / sum(s * s + g * k for s, g, k in zip(slope, gap, bend)))
    slope = slopes(u, b, c, d)
    return slope[1], -slope[0]


def slopes(u, b, c, d):
    """C'(u)."""
    return [m + u * (2 * n + 3 * u * o) for m, n, o in zip(b, c, d)]
