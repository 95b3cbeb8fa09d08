"""Text of the kernels of curved elements: metrics at each point, and a weight-adjusted inverse of the mass matrix."""
from ..simd import matmul
from .kernel_source import indented
from .stage_source import StageSource


class CurvedSource(StageSource):
    """Text of the stage on curved elements, from `dgarray.methods.dg.curved_geometry`.

    G   normals and scales of the faces for wave rates;  then, of one point: J a^k, normal, J_face
    W   dq/dt times 1 / J at the points of the volume, on pyramids also that at the unknowns"""

    def __init__(self, tables, dtype):
        super().__init__(tables, dtype)
        self.rate_rows, self.at_one_point = 0, self.F * (self.d + 1)

    def row_counts(self):
        d = self.d
        rows = max(matmul.padded(self.B), matmul.padded(self.N))
        return super().row_counts() | {"G": self.F * (d + 1) + d * d + d + 1, "W": self.V * rows}

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
        name, count = ("x", self.B) if table == "POINTS" else ("face_x", self.F * self.M)
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

    @property
    def at_apex(self):
        """Whether elements are pyramids, see `dgarray.methods.dg.curved_geometry`."""
        return self.t.basis.weighted_modes is not None

    def products(self):
        modes = {"to_mass": (self.N, self.N)} if self.at_apex else {"to_mass": (self.B, self.N)}
        return super().products() | modes | {"from_mass": (self.N, self.B)}

    @property
    def mass_matrices(self):
        basis = self.t.basis
        if self.at_apex:
            return basis.weighted_modes[1], basis.weighted_projection
        return basis.interpolate, basis.projection

    def finished(self):
        """Lines that put the projection of (r / J + s) / C into the rows of dq/dt."""
        if not self.at_apex:
            return [*self.product_of_rows("to_mass", "mass_I", "R", "W"), *self.divided_at_points(),
                    *self.product_of_rows("from_mass", "mass_P", "W", "R")]
        if self.t.geometry.kappa_is_one and not self.finishes:
            return self.solved()
        return [*self.solved(), *self.product_of_rows("interpolate", "I", "R", "W"), *self.divided_at_points(),
                *self.product_of_rows("from_mass", "mass_P", "W", "R"), *self.solved()]

    def product_of_rows(self, name, matrix, source, target):
        """Lines of a product for each variable, from unknowns R to points W or back."""
        rows = {"R": matmul.padded(self.N) * self.L, "W": matmul.padded(self.B) * self.L}
        return [f"for v in range({self.V}):", f"    {name}({matrix}, 0, w, {self.at[source]} + v*{rows[source]}, "
                f"w, {self.at[target]} + v*{rows[target]})"]

    def solved(self):
        """Lines that multiply the rows of dq/dt by M_(J_0)^-1."""
        L, N, unknowns, points = self.L, self.N, matmul.padded(self.N), matmul.padded(self.B)
        scale = self.lane("G", self.at_one_point)
        return [f"for i in range({N}):", *indented([
            *self.copies("mode_inverse", "i", N, 1, "G", self.at_one_point),
            *self.lanes([f"{self.lane('R', v * unknowns, f' + i*{L}')} *= {scale}" for v in range(self.V)])]),
            *self.product_of_rows("to_mass", "mass_I", "R", "W"),
            f"for v in range({self.V}):", f"    for i in range({N}):",
            f"        copy(w, {self.at['W']} + (v*{points} + i)*{L}, w, {self.at['R']} + (v*{unknowns} + i)*{L})"]

    def divided_at_points(self):
        """Lines that make (r / J + s) / C of r at the points, on pyramids times J_0."""
        B, V, rows = self.B, self.V, matmul.padded(self.B)
        factor, step = self.lane("G", self.at_one_point), f" + i*{self.L}"

        def times(name):
            return [*self.copies(name, "i", B, 1, "G", self.at_one_point),
                    *self.lanes([f"{self.lane('W', v * rows, step)} *= {factor}" for v in range(V)])]
        body = times("inverse")
        if self.finishes:
            function, (source, stride) = self.t.physics.functions.finish, self.values
            body += [*self.positions(function, "i"), *self.over_lanes(
                function, [self.lane("W", v * rows, step) for v in range(V)], r=("W", 0, step, rows),
                q=(source, 0, step, stride), m=self.parameters("volume", "i"), x=("X", 0, "", 1))]
        return [f"for i in range({B}):", *indented([*body, *(times("weight") if self.at_apex else [])])]
