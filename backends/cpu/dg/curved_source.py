"""Text of the kernels of curved elements: metrics at each point, and a weight-adjusted inverse of the mass matrix."""
from ..simd import matmul
from .kernel_source import indented
from .stage_source import StageSource


class CurvedSource(StageSource):
    """Text of the stage on curved elements, from `dgarray.methods.dg.curved_tables`.

    G   normals and scales of the faces for wave rates;  then, of one point: J a^k, normal, J_face
    W   dq/dt times 1 / J at the points of the volume"""

    def __init__(self, tables, dtype):
        super().__init__(tables, dtype)
        self.rate_rows, self.at_one_point = 0, tables.sides * (tables.dim + 1)

    def row_counts(self):
        d = self.d
        return super().row_counts() | {"G": self.F * (d + 1) + d * d + d + 1, "W": self.V * matmul.padded(self.B)}

    def places(self, media):
        return {place: count for place, count in super().places(media).items() if place != "mass"}

    def load_tile(self):
        return [*self.load("state", self.V * self.N, "Q"),
                *self.load("geometry", self.F * (self.d + 1), "G", self.geometry_rows),
                *(self.load("tiled_values", self.values_rows, "P") if self.P else [])]

    def copies(self, name, point, count, rows, target, row):
        """Lines that copy the rows of these metrics at a point, one of `count`, to the target's rows from `row` on."""
        L, first = self.L, self.first_of[name]
        return [f"copy(geometry, (tile*{self.geometry_rows} + {first + c * count} + {point})*{L}, w, "
                f"{self.at[target] + (row + c) * L})" for c in range(rows)]

    def positions(self, function, step, table="POINTS"):
        if not function.depends_on("x"):
            return []
        name, count = ("at_points", self.B) if table == "POINTS" else ("at_face_points", self.F * self.M)
        return self.copies(name, step, count, self.d, "X", 0)

    def metrics_at(self, point, table="POINTS"):
        d, first, S = self.d, self.at_one_point, self.F * self.M
        if table == "POINTS":
            return self.copies("gradients", point, self.B, d * d, "G", first)
        return [*self.copies("normals", point, S, d, "G", first + d * d),
                *self.copies("scale", point, S, 1, "G", first + d * d + d)]

    def at_point(self, point):
        return dict(g=("G", self.at_one_point, "", 1), x=("X", 0, "", 1))

    def at_face(self):
        d, first = self.d, self.at_one_point
        return dict(n=("G", first + d * d, "", 1), s=("G", first + d * d + d, "", 1), x=("X", 0, "", 1))

    def products(self):
        return super().products() | {"to_mass": (self.B, self.N), "from_mass": (self.N, self.B)}

    @property
    def mass_matrices(self):
        return self.t.interpolate, self.t.projection

    def finished(self):
        """Lines that put the projection of (r / J + s) / C into the rows of dq/dt."""
        L, B, V, rows, unknowns = self.L, self.B, self.V, matmul.padded(self.B), matmul.padded(self.N)
        inverse = self.lane("G", self.at_one_point)
        body = [*self.copies("inverse", "i", B, 1, "G", self.at_one_point),
                *self.lanes([f"{self.lane('W', v * rows, f' + i*{L}')} *= {inverse}" for v in range(V)])]
        if self.finishes:
            function, step = self.t.functions.finish, f" + i*{L}"
            source, stride = self.values
            body += [*self.positions(function, "i"), *self.over_lanes(
                function, [self.lane("W", v * rows, step) for v in range(V)], r=("W", 0, step, rows),
                q=(source, 0, step, stride), m=self.parameters("volume", "i"), x=("X", 0, "", 1))]
        return [f"for v in range({V}):",
                f"    to_mass(mass_I, 0, w, {self.at['R']} + v*{unknowns * L}, w, {self.at['W']} + v*{rows * L})",
                f"for i in range({B}):", *indented(body), f"for v in range({V}):",
                f"    from_mass(mass_P, 0, w, {self.at['W']} + v*{rows * L}, w, {self.at['R']} + v*{unknowns * L})"]
