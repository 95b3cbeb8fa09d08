"""Text of the kernel of a Runge-Kutta stage, an element after the other: each evaluates the fluxes of its own faces."""
from functools import reduce
from hashlib import sha256

from ....stepping import REGISTER, STATE
from ..simd import matmul
from .kernel_source import indented
from .prefetch import Prefetch
from .tile_source import TileSource

# The numbers of a stage, and what a kernel makes of them.
CLOCK = "clock, number_of_stage, reads_k, keeps_k, reads_q0, A, w_, alpha, beta, B, C_, v_, u_"
TIMES = "t = clock[1 + number_of_stage]", "wdt, C = w_*clock[0], C_*clock[0]"
CALLED = {"v": "v_", "u": "u_", "w": "wdt"}    # where a factor has another name there; both of r have dt in them
UPDATED = "out", "register", "start"          # the arrays that the update goes through


class StageSource(TileSource, Prefetch):
    """Text of the stage.

    Where face values are not among the unknowns (modal DG) they are computed for a piece of tiles, and the elements around it,
    before anything else, into memory that fits the second-level cache."""

    def stage_text(self):
        """The kernel of a stage."""
        tile = [*self.load_tile(), *self.own_face_values(), *self.volume(), *self.faces(), *self.boundaries(),
                *self.finish(), *self.update()]
        return self.module("a Runge-Kutta stage", f"""{self.scratch}, halo_start, halo, state, out, register, start, R, EL, I,
           T, mass_I, mass_P, geometry, tiled_values, values, elements, exterior, neighbour, patch_start, patches,
           outside, table, face_numbers, given, {CLOCK}""",
                           [*TIMES, *self.face_values(), "for tile in range(first, last):", *indented(tile)])

    def face_values(self):
        """Lines that fill `faces`, [tile, variable, face point, lane], of a piece's own tiles and of those around it."""
        L, V, N, count, height = self.L, self.V, self.N, self.F * self.M, matmul.padded(self.F * self.M)
        keep = [f"for v in range({self.moving}):", f"    for i in range({count}):",
                f"        copy(w, {self.at['T']} + (v*{height} + i)*{L}, faces, ((place*{V} + v)*{count} + i)*{L})"]
        gather = [f"for i in range({V * N}):", f"    for lane in range({L}):",
                  f"        w[{self.at['Q']} + i*{L} + lane] = state[halo[around*{L} + lane] + i*{L}]"]
        return [*self.around(), "place = 0", "for tile in range(first, last):",
                *indented([*self.load("state", V * N, "Q"), *self.trace(), *self.prefetch_around(), *keep, "place += 1"]),
                "for around in range(halo_start[piece], halo_start[piece + 1]):",
                *indented([*gather, *self.trace(), *keep, "place += 1"])] if self.modal else []

    def own_face_values(self):
        """Lines that read them back."""
        L, V, count, height = self.L, self.V, self.F * self.M, matmul.padded(self.F * self.M)
        return [f"for v in range({self.moving}):", f"    for i in range({count}):",
                f"        copy(faces, (((tile - first)*{V} + v)*{count} + i)*{L}, w, {self.at['T']} + (v*{height} + i)*{L})"
                ] if self.modal else []

    def volume(self):
        L = self.L
        reduce = [f"    reduce_(R, 0, w, {self.at['RHS']} + v*{self.column * L}, w, "
                  f"{self.at['RHS'] + self.W * L} + v*{self.column * L})"] * bool(self.low)
        return [*self.at_points(), *self.fluxes(), *([f"for v in range({self.within}):", *reduce] if reduce else [])]

    def fluxes(self):
        """Lines that put F(q) . grad r_k at the points, and sources of modal DG, into their rows."""
        B, L = self.B, self.L
        function = self.volume_function
        targets = [self.lane("RHS", v * self.column + k * B, f" + i*{L}")
                   for k in range(self.W // B) for v in range(self.within)]
        rows, stride = self.values
        body = self.over_lanes(function, targets, q=(rows, 0, f" + i*{L}", stride), m=self.parameters("volume", "i"),
                               **self.at_point("i"))
        return [f"for i in range({B}):", *indented([*self.metrics_at("i"), *self.positions(function, "i"), *body])]

    def faces(self):
        """Lines that put the jumps into their rows; they ask for what the update of this tile goes through."""
        M, L, V, function = self.M, self.L, self.moving, self.left
        body = self.over_lanes(function, self.face_targets(), l=("QL", 0, "", 1), r=("QR", 0, "", 1), **self.at_face(),
                               ml=self.parameters("faces", "node"),
                               mr=self.parameters("outside", f"(f*{M} + j)", beyond=True))
        outside = [f"gather_m(values, elements, neighbour, (tile*{self.F} + f)*{L}, w, {self.at['MR']})"] if self.P else []
        rows, height = self.at_faces
        own = [f"copy(w, {self.at[rows]} + ({v * height} + node)*{L}, w, {self.at['QL'] + v * L})" for v in range(V)]
        values, stride = ("faces", self.F * M * L) if self.modal else ("state", self.N * L)
        return [f"for f in range({self.F}):", *indented(outside),
                f"    for j in range({M}):",
                "        node = FACE_NODES[f, j]",
                *indented([*self.metrics_at("node", "FACE_POINTS"), *self.positions(function, "node", "FACE_POINTS")], 2),
                *indented(own, 2),
                f"        gather_q({values}, {stride}, exterior, (tile*{self.F * M} + f*{M} + j)*{L}, w, {self.at['QR']})",
                *indented([*self.prefetch_at_faces(UPDATED), *body], 2)]

    def flux_row(self, v):
        return v * self.column + self.W + self.reduced

    def boundaries(self):
        """Lines that overwrite the jumps of this tile's boundary faces, by their conditions, and at joins by what is given."""
        V, M, targets = self.V, self.M, self.face_targets()
        (q, q_at, q_stride), stride = self.own_at_faces(), targets[-1].at - targets[-2].at if len(targets) > 1 else 0
        return ["for p in range(patch_start[tile], patch_start[tile + 1]):",
                "    lane, f, row = patches[3*p], patches[3*p + 1], patches[3*p + 2]",
                "    group, at = outside[2*row], outside[2*row + 1]",
                "    if table[2*group] == 0:", f"        for j in range({M}):",
                *(f"            {target} = given[(at*{V} + {v})*{M} + j]" for v, target in enumerate(targets)),
                "    else:",
                f"        condition(table, group, {q}, {q_at} + lane, {q_stride},",
                f"                  w, {targets[0].at} + f*{M * self.L} + lane, {stride}, FACE_NODES, f*{M},",
                f"                  face_numbers, at, {M}, t)"]

    def own_at_faces(self):
        """Where the state at the face points lies: array, first place, and the distance from one variable to the next."""
        rows, height = self.at_faces
        return "w", self.at[rows], height * self.L

    def face_targets(self):
        """Where the flux at point j of face f lies, of every variable that has one."""
        return [self.lane("RHS", self.flux_row(v), f" + (f*{self.M} + j)*{self.L}") for v in range(self.flowing)]

    def finish(self):
        L, V, padded = self.L, self.V, matmul.padded(self.N)
        zero = [f"for row in range({self.within * padded}, {V * padded}):",
                *indented(self.lanes([f"w[{self.at['R']} + row*{L} + lane] = 0"]))] if self.within < V else []
        lines = [*zero, f"for v in range({self.within}):",
                 f"    lift(EL, 0, w, {self.at['RHS'] + self.first * L} + v*{self.column * L}, w, "
                 f"{self.at['R']} + v*{padded * L})",
                 *self.prefetch_tile("state", "tile + size" if self.modal else "tile + 1"), *self.prefetch_neighbours()]
        return [*lines, *self.finished()]

    def finished(self):
        """Lines that take sources and capacity into the rows of dq/dt, if there are any."""
        if not self.finishes:
            return []
        N, L, padded, media = self.N, self.L, matmul.padded(self.N), self.t.media
        if self.mass and not media.others:
            return self.divided()
        function, which = (media.finish_of(media.others), media.others) if self.mass else (
            self.t.physics.functions.finish, range(self.V))
        targets = [self.lane("R", v * padded, f" + i*{L}") for v in which]
        body = self.over_lanes(function, targets, r=("R", 0, f" + i*{L}", padded), q=("Q", 0, f" + i*{L}", N),
                               m=self.parameters("volume", "i"), x=("X", 0, "", 1))
        lines = [f"for i in range({N}):", *indented([*self.positions(function, "i"), *body])]
        return [*lines, *self.divided()] if self.mass else lines

    def divided(self):
        """Lines that divide by a capacity which varies inside of elements, at points: see `dgarray.methods.dg.media`."""
        N, L, B, padded, function = self.N, self.L, matmul.padded(self.mass), matmul.padded(self.N), self.weighted_finish
        row = {v: self.lane("W", i * B, f" + i*{L}") for i, v in enumerate(self.weighted)}
        body = self.over_lanes(function, list(row.values()), r=row, q=("WQ", 0, f" + i*{L}", B),
                               m=self.parameters("mass", "i"), x=("X", 0, "", 1))

        def product(name, matrix, source, first, target, to):
            return f"{name}({matrix}, 0, w, {self.at[source] + first * L}, w, {self.at[target] + to * L})"
        of_state = [product("to_mass", "mass_I", "Q", v * N, "WQ", v * B) for v in range(self.V)]
        pairs = [(v * padded, i * B) for i, v in enumerate(self.weighted)]
        return [*(of_state if function.depends_on("q") else []),
                *(product("to_mass", "mass_I", "R", of_r, "W", of_w) for of_r, of_w in pairs),
                f"for i in range({self.mass}):", *indented([*self.positions(function, "i", "MASS_POINTS"), *body]),
                *(product("from_mass", "mass_P", "W", of_w, "R", of_r) for of_r, of_w in pairs)]

    def update(self):
        """Lines of the update, see `dgarray.stepping.updated`."""
        return ["if reads_q0:", *indented(self.update_from("k", "q0")), "else:", *indented(self.update_from("k"))]

    def update_from(self, *arrays):
        """Lines of the update from these arrays, beside r and q; zero stands for k where a stage does not read it."""
        L, N, (k, q0, kept, new) = self.L, self.N, (self.at["K"] + i * self.L for i in range(4))
        places = {"r": self.lane("R", 0, f" + (v*{self.result_rows} + i)*{L}"), "q": self.lane("Q", 0, f" + (v*{N} + i)*{L}"),
                  **{name: self.lane("K", row) for row, name in enumerate(arrays)}}
        return [*self.lanes([f"w[{k} + lane] = 0"]), f"for v in range({self.V}):",
                f"    for i in range({N}):", f"        at = tile*{self.V * N * L} + (v*{N} + i)*{L}",
                "        if reads_k:", f"            copy(register, at, w, {k})",
                *[f"        copy(start, at, w, {q0})"] * ("q0" in arrays),
                f"        {self.combined(places)}",
                "        if keeps_k:", f"            copy(w, {kept}, register, at)",
                f"        copy(w, {new}, out, at)"]

    def combined(self, places):
        """The line that combines what lies at these places, and leaves register and new state in K."""
        nodes, steps, given = [], [places["r"].step, places["q"].step, ""], []

        def node(*what):
            nodes.append(what)
            return len(nodes) - 1

        def total(terms):
            products = []
            for factor, name in terms:
                if name not in values:
                    continue
                given.append(CALLED.get(factor, factor))
                products.append(node("multiply", node("given", len(given) - 1), values[name]))
            return reduce(lambda a, b: node("add", a, b), products)
        values = {name: node("load", place.at, steps.index(place.step)) for name, place in places.items()}
        values["k"] = total(REGISTER)
        outputs = [values["k"], total(STATE)]
        targets = [(self.lane("K", row).at, 2) for row in (2, 3)]
        text = f"{tuple(nodes)}, {outputs}, {targets}, np.{self.dtype}, vectors=True"
        name = f"update_{sha256(text.encode()).hexdigest()[:8]}"
        self.functions[name] = text, ["the update of a Runge-Kutta stage"]
        return f"{name}(w, ({''.join(f'0{step}, ' for step in steps)}), ({''.join(f'{factor}, ' for factor in given)}))"
