"""Text of the volume term of the split form with finite volumes on subcells.

A loop before those of a stage puts each element's own share of finite volumes into the array `shares`, behind which are those
beyond faces at joins; `share_places` says where that beyond each face is.  The stage blends the fluxes between nodes where an
element of the tile or a neighbour has a share, and then adds the fluxes of the faces.
"""
import numpy as np

from .kernel_source import indented
from .split_source import SplitText


class ShockText(SplitText):
    """Text of the split form with a share of finite volumes.

    S    shares: the own one, those of the neighbours, that of the element
    M0, M1, EN   rho p at the nodes, its modes, their energies by kinds"""

    def row_counts(self):
        s = self.source
        return {"S": s.F + 2, "M0": s.N, "M1": s.N, "EN": 3}

    def share_text(self):
        """The loop that computes the own shares."""
        s = self.source
        L, N, n, d, functions = s.L, s.N, s.n, s.d, s.t.physics.functions
        lines = [*s.load("state", s.V * N, "Q"), *(s.load("tiled_values", s.values_rows, "P") if s.P else []),
                 f"for i in range({N}):", *indented(s.over_lanes(
                     functions.sensed, [s.lane("M0", 0, f" + i*{L}")], q=("Q", 0, f" + i*{L}", N),
                     m=s.parameters("volume", "i")))]
        rows = ["M0", "M1"]
        for k in range(d):
            step = n ** k
            source, target = rows[k % 2], rows[(k + 1) % 2]
            lines += [f"for o in range({n ** (d - 1 - k)}):",
                      f"    modes_{k}(MODES, w, {s.at[target]} + o*{n * step * L}, {step}, "
                      f"w, {s.at[source]} + o*{n * step * L})"]
        mode, energy = s.lane(rows[d % 2], 0, f" + i*{L}"), s.lane("EN", 0, f" + KINDS[i]*{L}")
        lines += ["for i in range(3):", *indented(s.lanes([f"{s.lane('EN', 0, f' + i*{L}')} = 0"])),
                  f"for i in range({N}):", *indented(s.lanes([f"{energy} = fma({mode}, {mode}, {energy})"])),
                  *s.over_lanes(functions.share, [s.lane("S", 0)], energy=("EN", 0, "", 1)),
                  f"copy(w, {s.at['S']}, shares, tile*{L})"]
        return s.module("the own shares of finite volumes", f"{s.scratch}, state, tiled_values, shares",
                           ["for tile in range(first, last):", *indented(lines)])

    def divergence(self):
        s = self.source
        L, F, axes = s.L, s.F, range(s.d)
        last, place = F + 1, s.lane("S", F + 1)
        pairs = [line for k in axes for line in self.lines(k, self.pairs(k), (), self.prefetch(k))]
        gather = [f"copy(shares, tile*{L}, w, {s.at['S']})", f"for f in range({F}):",
                  f"    gather_share(shares, 0, share_places, (tile*{F} + f)*{L}, w, {s.at['S'] + L} + f*{L})",
                  *s.over_lanes(s.t.physics.functions.beside, [place], own=("S", 0, "", 1), around=("S", 1, "", 1)),
                  "count = 0", *s.lanes([f"count += {place} > 0"])]
        row = s.lane("R", 0, f" + row*{L}")
        blend = [f"for row in range({s.V * s.N}):",
                 *indented(s.over_lanes(s.t.physics.functions.blend, [row], r=[row], share=("S", last, "", 1))),
                 *(line for k in axes for line in self.subcells(k))]
        ends = [line for k in axes for line in self.lines(k, (), self.single(k), self.lifted(k))]
        return [*self.zero(), *pairs, *gather, "if count > 0:", *indented(blend), *ends]

    def subcells(self, k):
        """Lines that add the fluxes between neighbouring nodes of the lines of an axis, times the share."""
        s = self.source
        L, n, N, d, function = s.L, s.n, s.N, s.d, s.t.physics.functions.subcell
        step = n ** k
        name = "gradients" if s.affine else "subcells"
        bring, places = s.metrics(function, {"n": (name, k * d, "", k * d, d)}, f"((o*{n - 1} + j)*{step} + i)",
                                  N // n * (n - 1))
        body = s.over_lanes(function, self.fluxes_at(self.sides), l=("Q", 0, f" + point*{L}", N),
                            r=("Q", 0, f" + other*{L}", N), n=places["n"], share=("S", s.F + 1, "", 1),
                            ml=s.parameters("volume", "point"), mr=s.parameters("volume", "other"))
        return [f"for o in range({n ** (d - 1 - k)}):", f"    for i in range({step}):", f"        for j in range({n - 1}):",
                f"            point = (o*{n} + j)*{step} + i", f"            other = point + {step}",
                *indented([*bring, *body], 3),
                f"            add_both(w, {s.at['FV']}, {s.at['R']} + point*{L}, {s.at['R']} + other*{L}, "
                "-PARTS[j], PARTS[j + 1])"]

    def definitions(self):
        s = self.source
        cell, n, sensor = s.t.basis.cell, s.n, s.t.sensor
        return [*super().definitions(), f"PARTS = np.array({(1 / cell.w).tolist()}, np.{s.dtype})",
                f"MODES = np.array({sensor.modes(cell).ravel().tolist()}, np.{s.dtype})",
                f"KINDS = np.array({np.asarray(sensor.kinds(cell)).tolist()})",
                f"gather_share = vector.gather(1, np.{s.dtype})",
                *(f"modes_{k} = lines.along(np.{s.dtype}, {n}, [({n}, {n ** k}, 1)], ({n ** k}, 1))" for k in range(s.d))]
