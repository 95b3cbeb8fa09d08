"""Text of the kernels of the split form with finite volumes on subcells.

A loop before those of a stage puts each element's own share of finite volumes into the array `shares` (element,).  The stage
blends the fluxes between nodes where an element of the tile or a neighbour has a share, and then adds the fluxes of the faces.
"""
import numpy as np

from .kernel_source import indented
from .split_source import SplitSource


class ShockSource(SplitSource):
    """As `SplitSource`.

    S    shares: the own one, those of the neighbours, that of the element
    M0, M1, EN   rho p at the nodes, its modes, their energies by kinds"""

    inputs = "state, faces, shares"

    def row_counts(self):
        return super().row_counts() | {"S": self.F + 2, "M0": self.N, "M1": self.N, "EN": 3}

    def share_text(self):
        """The loop that computes the own shares."""
        L, N, n, d, functions = self.L, self.N, self.n, self.d, self.t.functions
        lines = [*self.load("state", self.V * N, "Q"), *(self.load("tiled_values", self.values_rows, "P") if self.P else []),
                 f"for i in range({N}):", *indented(self.over_lanes(functions.sensed, [self.lane("M0", 0, f" + i*{L}")],
                                                                    q=("Q", 0, f" + i*{L}", N),
                                                                    m=self.parameters("volume", "i")))]
        rows = ["M0", "M1"]
        for k in range(d):
            step = n ** k
            source, target = rows[k % 2], rows[(k + 1) % 2]
            lines += [f"for o in range({n ** (d - 1 - k)}):",
                      f"    modes_{k}(MODES, w, {self.at[target]} + o*{n * step * L}, {step}, "
                      f"w, {self.at[source]} + o*{n * step * L})"]
        mode, energy = self.lane(rows[d % 2], 0, f" + i*{L}"), self.lane("EN", 0, f" + KINDS[i]*{L}")
        lines += ["for i in range(3):", *indented(self.lanes([f"{self.lane('EN', 0, f' + i*{L}')} = 0"])),
                  f"for i in range({N}):", *indented(self.lanes([f"{energy} = fma({mode}, {mode}, {energy})"])),
                  *self.over_lanes(functions.share, [self.lane("S", 0)], energy=("EN", 0, "", 1)),
                  f"copy(w, {self.at['S']}, shares, tile*{L})"]
        return self.module("the own shares of finite volumes", f"{self.scratch}, state, tiled_values, shares",
                           ["for tile in range(first, last):", *indented(lines)])

    def divergence(self):
        L, F, axes = self.L, self.F, range(self.d)
        last, place = F + 1, self.lane("S", F + 1)
        pairs = [line for k in axes for line in self.lines(k, self.pairs(k), (), self.prefetch(k))]
        gather = [f"copy(shares, tile*{L}, w, {self.at['S']})", f"for f in range({F}):",
                  f"    gather_share(shares, 0, neighbour, (tile*{F} + f)*{L}, w, {self.at['S'] + L} + f*{L})",
                  *self.over_lanes(self.t.functions.beside, [place], own=("S", 0, "", 1), around=("S", 1, "", 1)),
                  "count = 0", *self.lanes([f"count += {place} > 0"])]
        row = self.lane("R", 0, f" + row*{L}")
        blend = [f"for row in range({self.V * self.N}):",
                 *indented(self.over_lanes(self.t.functions.blend, [row], r=[row], share=("S", last, "", 1))),
                 *(line for k in axes for line in self.subcells(k))]
        ends = [line for k in axes for line in self.lines(k, (), self.single(k), self.lifted(k))]
        return [*self.zero(), *pairs, *gather, "if count > 0:", *indented(blend), *ends]

    def subcells(self, k):
        """Lines that add the fluxes between neighbouring nodes of the lines of an axis, times the share."""
        L, n, N, d, function = self.L, self.n, self.N, self.d, self.t.functions.subcell
        step = n ** k
        name = "gradients" if self.affine else "subcells"
        bring, places = self.metrics(function, {"n": (name, k * d, "", k * d, d)}, f"((o*{n - 1} + j)*{step} + i)",
                                     N // n * (n - 1))
        body = self.over_lanes(function, self.fluxes_at(self.sides), l=("Q", 0, f" + point*{L}", N),
                               r=("Q", 0, f" + other*{L}", N), n=places["n"], share=("S", self.F + 1, "", 1),
                               ml=self.parameters("volume", "point"), mr=self.parameters("volume", "other"))
        return [f"for o in range({n ** (d - 1 - k)}):", f"    for i in range({step}):", f"        for j in range({n - 1}):",
                f"            point = (o*{n} + j)*{step} + i", f"            other = point + {step}",
                *indented([*bring, *body], 3),
                f"            add_both(w, {self.at['FV']}, {self.at['R']} + point*{L}, {self.at['R']} + other*{L}, "
                "-PARTS[j], PARTS[j + 1])"]

    def definitions(self):
        cell, n, sensor = self.t.cell, self.n, self.t.sensor
        return [*super().definitions(), f"PARTS = np.array({(1 / cell.w).tolist()}, np.{self.dtype})",
                f"MODES = np.array({sensor.modes(cell).ravel().tolist()}, np.{self.dtype})",
                f"KINDS = np.array({np.asarray(sensor.kinds(cell)).tolist()})",
                f"gather_share = vector.gather(1, np.{self.dtype})",
                *(f"modes_{k} = lines.along(np.{self.dtype}, {n}, [({n}, {n ** k}, 1)], ({n ** k}, 1))" for k in range(self.d))]
