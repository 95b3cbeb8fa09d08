"""Text of the kernels of tensor-product DG on tiles: fluxes and products one axis after the other, line by line.

A stage has two loops over the tiles.  The first puts the state's values at the points of the faces between two pieces of tiles
into the array `borders`; in most problems the stage before has done so.  The second computes for each piece the values at all
face points, by products along lines, into the array `faces` [tile, variable, face point, lane], which fits the second-level
cache, and copies to them those at the borders that the piece reads.  Then it evaluates the face fluxes of a tile, whose outside
values it gathers from that array; for each axis and each of its lines the fluxes at the line's nodes, and one product with them
and with the face fluxes at both ends; then sources, capacity and update; then the new state's values at the borders.
"""
from ....physics.pointwise import picked
from .kernel_source import indented
from .piece_borders import tiles_of_piece
from .shock_source import ShockText
from .split_source import SplitText
from .stage_source import CLOCK, TIMES, UPDATED, StageSource


class TensorSource(StageSource):
    """Text of the stage of tensor-product DG.

    FV   fluxes at the nodes of a line, (variable, node);   FL   face fluxes, (variable, face * face point)
    G    affine cells: as there;  else the metrics at one point: J a^k or normal and area, or 1 / J, and x

    split   the text of the volume term of the split form, a `SplitText`; None in weak form"""

    def __init__(self, tables, dtype):
        self.n, self.split = len(tables.basis.cell.x), None
        if tables.physics.volume_flux is not None:
            self.split = SplitText(self) if tables.sensor is None else ShockText(self)
        super().__init__(tables, dtype)
        self.affine, self.result_rows, self.piece = tables.geometry.affine, self.N, tiles_of_piece(tables, dtype)

    def row_counts(self):
        V, d = self.V, self.d
        counts = {"Q": V * self.N, "G": self.geometry_rows if self.t.geometry.affine else d * d + d + 1, "P": self.values_rows,
                  "MR": len(self.P), "X": d, "QL": V, "QR": V, "FV": V * self.n, "FL": V * self.F * self.M, "R": V * self.N,
                  "K": 4, "S": self.F}
        return counts | (self.split.row_counts() if self.split else {})

    def more(self):
        self.along = picked(self.t.physics.functions.along, range(self.flowing))
        return [self.along]

    def products(self):
        return {}

    def load_tile(self):
        geometry = self.load("geometry", self.geometry_rows, "G") if self.affine else []
        return [*self.load("state", self.V * self.N, "Q"), *geometry,
                *(self.load("tiled_values", self.values_rows, "P") if self.P else [])]

    # Metrics at a point: lines that bring them into the rows G, and where they are then.

    def metrics(self, function, names, point, count, table="POINTS", row=0):
        """(lines, places) of the metrics that a function reads at a point, texts.

        names   {argument: (name in the geometry, its row on affine cells and its step, its first row, how many)}
        count: points of each row;  row: the first of G for them"""
        L, lines, places = self.L, [], {}
        if self.affine:
            return self.positions(function, point, table), {
                argument: ("G", self.first_of[name] + row, step, 1)
                for argument, (name, row, step, _, _) in names.items()} | {"x": ("X", 0, "", 1)}
        x = {"x": ("face_x" if table == "FACE_POINTS" else "x", 0, "", 0, self.d)} if function.depends_on("x") else {}
        for argument, (name, _, _, first, rows) in (names | x).items():
            places[argument] = "G", row, "", 1
            for c in range(rows):
                place = f"tile*{self.geometry_rows} + {self.first_of[name] + (first + c) * count} + {point}"
                lines.append(f"copy(geometry, ({place})*{L}, w, {self.at['G'] + (row + c) * L})")
            row += rows
        return lines, {"x": ("G", 0, "", 1)} | places

    def at_face_point(self, function):
        d, L = self.d, self.L
        names = {"n": ("normals", 0, f" + f*{d * L}", 0, d), "s": ("scale", 0, f" + f*{L}", 0, 1)}
        return self.metrics(function, names, f"(f*{self.M} + j)", self.F * self.M, "FACE_POINTS")

    # The values at the faces.

    def ends(self, to, first, source, start):
        """Lines that put a variable's values at the face points into rows from `first` on; its nodes begin at `start`."""
        return [line for k in range(self.d) for line in self.ends_along(
            k, f"ends_{k}(ENDS", to, f"{first} + {2 * k * self.M * self.L}", source, start)]

    def ends_along(self, k, call, to, first, source, start):
        """Lines of `ends` for one axis; call: the beginning of the call."""
        L, n = self.L, self.n
        return [f"for o in range({n ** (self.d - 1 - k)}):",
                f"    {call}, {to}, {first} + o*{n ** k * L}, {n ** k}, {source}, {start} + o*{n ** (k + 1) * L})"]

    def at_borders(self, state, borders):
        """Lines that put the values of a tile of this state at the faces between two pieces, and at joins, into this array."""
        L, V, M, F, S, lines = self.L, self.V, self.M, self.F, self.F * self.M, []
        for f in range(F):
            k, side = divmod(f, 2)
            end = self.ends_along(k, f"end_{k}(ENDS[{side * self.n}:]", "w", f"{self.at['FL']} + v*{M * L}",
                                  state, f"(tile*{V} + v)*{self.N * L}")
            lines += [f"begin, end = border_start[tile*{F} + {f}], border_start[tile*{F} + {f + 1}]",
                      "if begin < end:", f"    for v in range({self.moving}):", *indented(end, 2),
                      "for border in range(begin, end):", "    at, to = moves[2*border], moves[2*border + 1]",
                      f"    for v in range({self.moving}):", f"        for j in range({M}):",
                      f"            {borders}[to + (v*{S} + j)*{L}] = w[{self.at['FL']} + at + (v*{M} + j)*{L}]"]
        return lines

    def trace_text(self):
        """The loop that does so."""
        return self.module("values at the faces", f"{self.scratch}, state, borders, border_start, moves",
                           ["for tile in range(first, last):", *indented(self.at_borders("state", "borders"))])

    def face_values(self):
        """Lines that fill `faces` with the values of a piece's own tiles, and with those at the borders that it reads."""
        L, V, S = self.L, self.V, self.F * self.M
        ends = self.ends("faces", f"((tile - first)*{V} + v)*{S * L}", "state", f"(tile*{V} + v)*{self.N * L}")
        return ["for tile in range(first, last):", f"    for v in range({self.moving}):", *indented(ends, 2),
                f"to, at = (last - first)*{V * S}, halo_start[piece]*{V * S}",
                f"for row in range((halo_start[piece + 1] - halo_start[piece])*{V * S}):",
                f"    copy(borders, (at + row)*{L}, faces, (to + row)*{L})"]

    # The loop of a stage.

    def stage_text(self):
        tile = [*self.load_tile(), *self.faces(), *self.boundaries(),
                *self.divergence(), *self.finish(), *self.update(),
                "if fills:", *indented(self.at_borders("out", "next_borders"))]
        inputs = "state, borders, next_borders, border_start, moves, fills" + ", shares, share_places" * bool(self.t.sensor)
        return self.module("a Runge-Kutta stage", f"""{self.scratch}, halo_start, {inputs}, out, register, start, geometry,
           tiled_values, values, elements, exterior, neighbour, patch_start, patches, outside, table,
           face_numbers, given, {CLOCK}""",
                           [*TIMES, *self.face_values(), "for tile in range(first, last):", *indented(tile)])

    def faces(self):
        M, S, L, function = self.M, self.F * self.M, self.L, self.left
        own = [f"copy(faces, (((tile - first)*{self.V} + {v})*{S} + f*{M} + j)*{L}, w, {self.at['QL'] + v * L})"
               for v in range(self.moving)]
        bring, places = self.at_face_point(function)
        body = self.over_lanes(function, self.face_targets(), l=("QL", 0, "", 1), r=("QR", 0, "", 1), **places,
                               ml=self.parameters("faces", f"(f*{M} + j)"),
                               mr=self.parameters("outside", f"(f*{M} + j)", beyond=True))
        outside = [f"gather_m(values, elements, neighbour, (tile*{self.F} + f)*{L}, w, {self.at['MR']})"] if self.P else []
        return [f"for f in range({self.F}):", *indented(outside), f"    for j in range({M}):",
                *indented([*own, f"gather_q(faces, {S * L}, exterior, (tile*{S} + f*{M} + j)*{L}, w, {self.at['QR']})",
                           *self.prefetch_at_faces(UPDATED), *bring, *body], 2)]

    def own_at_faces(self):
        S = self.F * self.M
        return "faces", f"(tile - first)*{self.V * S * self.L}", S * self.L

    def face_targets(self):
        return [self.lane("FL", v * self.F * self.M, f" + (f*{self.M} + j)*{self.L}") for v in range(self.flowing)]

    def divergence(self):
        """Lines that put the divergence into the rows R, and zeros into those of variables without a flux."""
        if self.split:
            return self.split.divergence()
        rest = [f"for row in range({self.flowing * self.N}, {self.V * self.N}):",
                *indented(self.lanes([f"w[{self.at['R']} + row*{self.L} + lane] = 0"]))] if self.flowing < self.V else []
        return [*rest, *(line for axis in range(self.d) for line in self.axis(axis))]

    def axis(self, k):
        """Lines that add one axis's part of the divergence to the rows R, one line of nodes after the other."""
        L, n, M, N, d = self.L, self.n, self.M, self.N, self.d
        function, step = self.along, self.n ** k
        bring, places = self.metrics(function, {"a": ("gradients", k * d, "", k * d, d)}, "point", N)
        body = self.over_lanes(function, [self.lane("FV", v * n, f" + j*{L}") for v in range(self.flowing)],
                               q=("Q", 0, f" + point*{L}", N), m=self.parameters("volume", "point"), **places)
        return [f"for o in range({n ** (d - 1 - k)}):", f"    for i in range({step}):", f"        for j in range({n}):",
                f"            point = (o*{n} + j)*{step} + i", *indented([*bring, *body], 3),
                *indented(self.prefetch_following(f"{k * n ** (d - 1)} + o*{step} + i"), 2),
                f"        line_{k}(LINE, w, {self.at['R']} + (o*{n * step} + i)*{L}, {self.flowing}, w, {self.at['FV']},",
                f"               w, {self.at['FL']} + ({2 * k * M} + o*{step} + i)*{L})"]

    def prefetch_following(self, turn):
        """Lines, once for each line of nodes, that ask for a share of the state of the next piece's tile."""
        return self.prefetch_part(["state"], "(tile + size)", turn, self.d * self.n ** (self.d - 1))

    def finish(self):
        function = self.t.physics.functions.finish if self.affine else self.t.physics.functions.collect
        if self.affine and not self.finishes:
            return []
        L, N = self.L, self.N
        names = {} if self.affine else {"s": ("inverse", 0, "", 0, 1)}
        bring, places = self.metrics(function, names, "i", N)
        body = self.over_lanes(function, [self.lane("R", v * N, f" + i*{L}") for v in range(self.V)],
                               r=("R", 0, f" + i*{L}", N), q=("Q", 0, f" + i*{L}", N), m=self.parameters("volume", "i"),
                               **places)
        return [f"for i in range({N}):", *indented([*bring, *body])]

    def check_text(self):
        """The loop that checks a state, as `check_text`; the rate is that of `TensorForm.rate`."""
        L, N, d = self.L, self.N, self.d
        functions = self.t.physics.functions
        names = ("K", 0), ("K", 1), ("QL", 0)
        finite, good, largest = (self.lane(*name) for name in names)
        metrics = {"g": ("gradients", 0, "", 0, d * d)} | ({} if self.affine else {"s": ("inverse", 0, "", 0, 1)})
        asking = [functions.rate, *([functions.admissible] if hasattr(functions, "admissible") else [])]
        needs_x = next((function for function in asking if function.depends_on("x")), functions.rate)
        bring, places = self.metrics(needs_x, metrics, "i", N)
        of_state = dict(q=("Q", 0, f" + i*{L}", N), m=self.parameters("volume", "i"), **places)
        zeros = " + ".join(f"w[{self.at['Q'] + v * N * L} + i*{L} + lane]*zero" for v in range(self.V))
        body = [*self.evaluate(functions.rate, ["rate"], **of_state),
                "rate = select(lane < filled, rate, zero)",          # metrics beyond the last element are zero
                f"{finite} = {finite} + ({zeros})",
                f"{largest} = select((rate <= {largest}) | ({largest} != {largest}), {largest}, rate)"]
        if len(asking) > 1:
            body += [*self.evaluate(functions.admissible, ["good"], **of_state), f"{good} = select(good, {good}, zero)"]
        repeat = [f"filled = owned - tile*{L}", f"if filled < {L}:", f"    for row in range({self.V * N}):",
                  f"        for lane in range(filled, {L}):",
                  f"            w[{self.at['Q']} + row*{L} + lane] = w[{self.at['Q']} + row*{L} + filled - 1]"]
        arguments = "state, owned, geometry, tiled_values, clock, number_of_stage, found"
        return self.module("the check of a state", f"{self.scratch}, {arguments}",
            ["t = clock[1 + number_of_stage]",
             f"zero, one, infinity = np.{self.dtype}(0), np.{self.dtype}(1), np.{self.dtype}(np.inf)",
             "top, sound, finite, admissible = zero, True, True, True",
             *self.lanes([f"{finite} = one", f"{good} = one", f"{largest} = zero"]),
             "for tile in range(first, last):",
             *indented([*self.load_tile(), *repeat, f"for i in range({N}):", *indented([*bring, *self.lanes(body)]),
                        *(self.admissible_at_faces(good) if len(asking) > 1 and self.t.basis.kind == "gauss" else [])]),
             *self.lanes([f"finite &= {finite} == one", f"admissible &= {good} == one", f"sound &= {largest} < infinity",
                          f"top = max(top, {largest})"]),
             f"found[3*piece] = top if sound else np.{self.dtype}(np.nan)",
             "found[3*piece + 1], found[3*piece + 2] = finite, admissible"])

    def admissible_at_faces(self, good):
        """Lines that put 0 into the row `good` where the state is not admissible at one of the face points, of Gauss nodes."""
        L, S, function = self.L, self.F * self.M, self.t.physics.functions.admissible
        bring, places = self.metrics(function, {}, "i", S, "FACE_POINTS")
        values = self.evaluate(function, ["good"], q=("FL", 0, f" + i*{L}", S), m=self.parameters("faces", "i"), **places)
        ends = self.ends("w", f"{self.at['FL']} + v*{S * L}", "w", f"{self.at['Q']} + v*{self.N * L}")
        return [f"for v in range({self.moving}):", *indented(ends), f"for i in range({S}):",
                *indented([*bring, *self.lanes([*values, f"{good} = select(good, {good}, zero)"])])]

    def definitions(self):
        """Lines of the module: matrices of a line, and products along lines."""
        cell, n, M, S, N = self.t.basis.cell, self.n, self.M, self.F * self.M, self.N
        both = [list(row) + list(end) for row, end in zip(cell.weak.tolist(), cell.lift.tolist())]
        lines = [*super().definitions(), f"ENDS = np.array({cell.ends.ravel().tolist()}, np.{self.dtype})",
                 f"LINE = np.array({sum(both, [])}, np.{self.dtype})"]
        for k in range(self.d):
            step = n ** k
            lines += [*(f"{name}_{k} = lines.along(np.{self.dtype}, {rows}, [({n}, {step}, 1)], ({M}, 1))"
                        for name, rows in (("ends", 2), ("end", 1))),
                      f"line_{k} = lines.along(np.{self.dtype}, {n}, [({n}, 1, {n}), (2, {M}, {S})], ({step}, {N}), "
                      f"add={k > 0})"]
        return lines + (self.split.definitions() if self.split else [])

    def share_text(self):
        """The loop that computes the own shares of finite volumes, with shock capturing."""
        return self.split.share_text()
