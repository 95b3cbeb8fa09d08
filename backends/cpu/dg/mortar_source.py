"""Text of the kernel of mortars: values of both sides at a tile of mortars, the flux there, and what each side gets of it."""
from itertools import accumulate

from .kernel_source import KernelSource, indented

GIVEN = "GPCABOX"          # rows that are given of a mortar


class MortarSource(KernelSource):
    """Kernel text of a `dgarray.methods.dg.mortars.MortarList`; a tile is L mortars.

    VL, VR   values at the face points of the left and the right side, (face point, variable)
    ML, MR   the same at the mortar points;  FX: the flux there, or that for the left side and that for the right one
    RL, RR   what the face points of each side get
    G        normals, areas and positions, (row, mortar point);  P: the law's parameters that vary, of both sides there, and
             profiles of an interface's condition
    C        what the sides multiply their values with, and shares of these for variables that are carried along, of both sides
    A, O, X  of a side in split or in strong form: area vectors, parameters and positions at its face points
    B        of a side in split form: area vectors at the mortar points
    E, EM    its entropy variables at both;  EN: the mean of V over the face;  FP: a flux between two points, or at one

    The matrices of both sides are arguments, so one kernel serves all orientations of faces."""

    def __init__(self, mortars, dtype):
        left, right = mortars.tables
        self.function, self.same = mortars.function, mortars.same
        self.points = [matrix.shape[1] for matrix, _ in mortars.matrices]          # of each side's faces
        self.count = len(mortars.points)
        self.names = [list(values) for values in (*mortars.parameters, mortars.profiles)]
        self.splits, self.owns, self.adds = mortars.splits, mortars.owns, [side.adds for side in mortars.sides]
        self.carried = [len(shares) for shares in mortars.shares]
        self.moved = mortars.moved
        self.fluxes = len(mortars.function.graph.outputs) // left.physics.moving
        self.apart = self.fluxes > 1 or self.splits[0] is not None          # whether the right side has rows FX of its own
        super().__init__(left.law, dtype)
        self.d = left.dim
        more = [function for split in self.splits if split is not None
                for function in (split.function, split.to_entropy, split.from_entropy) if function is not None]
        more += [own.function for own in self.owns if own is not None]
        self.set_rows(self.row_counts(), dict.fromkeys((self.function, *more)))
        if self.same:
            self.at |= {f"M{side}": self.at[f"V{side}"] for side in "LR"}

    def row_counts(self):
        V, (left, right), m, d = self.V, self.points, self.count, self.d
        parameters, more = sum(map(len, self.names)), {}
        for side, points, names, split, own in zip("LR", self.points, self.names, self.splits, self.owns):
            if split is not None or own is not None:
                more |= {f"A{side}": d * points, **({} if split is None else {f"B{side}": d * m}),
                         f"O{side}": len(names) * points}
            if own is not None:
                more |= {"FP": 2 * V, **({} if own.x is None else {f"X{side}": d * points})}
            if split is not None:
                more |= {f"E{side}": V * points, f"EM{side}": V * m, f"EN{side}": V, "FP": 2 * V}
        at_mortar = {} if self.same else {"ML": V * m, "MR": V * m}
        return {"VL": V * left, "VR": V * right, **at_mortar, "FX": (1 + self.apart) * V * m, "RL": V * left,
                "RR": V * right, "G": m * (2 * d + 1), "P": m * parameters, "C": 2 + sum(self.carried),
                **dict(sorted(more.items(), key=lambda item: item[0][0] not in GIVEN))}

    @property
    def geometry_count(self):
        """Rows of what is given of a mortar."""
        return sum(count for name, count in self.row_counts().items() if name[0] in GIVEN)

    def text(self):
        """The kernel."""
        V, L, m, d = self.V, self.L, self.count, self.d
        rows, lines = self.geometry_count, []
        lines += [f"for row in range({rows}):",
                  f"    copy(geometry, (tile*{rows} + row)*{L}, w, {self.at['G']} + row*{L})"]
        for side, (name, faces) in enumerate((("L", "left"), ("R", "right"))):
            count = self.points[side]
            lines += [f"for j in range({count}):",
                      f"    gather_q({faces}, {faces}_stride, {faces}_places, (tile*{count} + j)*{L}, w, "
                      f"{self.at['V' + name]} + j*{V * L})"]
            if not self.same:
                lines += [f"to_{name}(TO_{name}, w, {self.at['M' + name]}, {V}, w, {self.at['V' + name]})",
                          *self.entropy(side, name)]
        step, starts = f" + j*{V * L}", accumulate(map(len, self.names), initial=0)
        parameters = [{name: self.lane("P", (i + start) * m, f" + j*{L}") for i, name in enumerate(names)}
                      for names, start in zip(self.names, starts)]
        targets = [self.lane("FX", side * V * m + v, step) for side in range(self.fluxes) for v in range(V)]
        body = self.over_lanes(self.function, targets, l=("ML", 0, step, 1),
                               r=("MR", 0, step, 1), n=("G", 0, f" + j*{L}", m), s=("G", d * m, f" + j*{L}", m),
                               x=("G", (d + 1) * m, f" + j*{L}", m), ml=parameters[0], mr=parameters[1], p=parameters[2])
        lines += [f"for j in range({m}):", *indented(body), f"filled = min(count - tile*{L}, {L})"]
        if self.apart and self.fluxes == 1:
            lines += [f"for row in range({V * m}):",
                      f"    copy(w, {self.at['FX']} + row*{L}, w, {self.at['FX']} + ({V * m} + row)*{L})"]
        for side, (name, given) in enumerate((("L", "given_left"), ("R", "given_right"))):
            M, flux, result = self.points[side], self.at["FX"] + side * self.apart * V * m * L, self.at["R" + name]
            if self.same and self.owns[side] is None:
                result = flux
            elif self.same:
                lines += [f"for row in range({V * m}):", f"    copy(w, {flux} + row*{L}, w, {result} + row*{L})"]
            else:
                lines += [*self.between(side, name, flux, parameters[side]),
                          f"back_{name}(BACK_{name}, w, {result}, {V}, w, {flux})"]
            lines += [*self.own(side, name, result),
                      f"for j in range({M}):", "    for lane in range(filled):",
                      f"        place = {given}_places[(tile*{M} + j)*{L} + lane]",
                      f"        factor = w[{self.at['C'] + side * L} + lane]",
                      f"        for v in range({V}):",
                      f"            {given}[place + v*{given}_stride] {'+' * self.adds[side]}= "
                      f"factor*w[{result} + (j*{V} + v)*{L} + lane]"]
            first = V          # of the rows of the variables that are carried along
            for k, moved in enumerate(self.moved[side]):
                row = 2 + side * self.carried[0] + k
                lines += [f"        share = factor*w[{self.at['C'] + row * L} + lane]"]
                lines += [f"        {given}[place + {first + i}*{given}_stride] {'+' * self.adds[side]}= "
                          f"share*w[{result} + (j*{V} + {v})*{L} + lane]" for i, v in enumerate(moved)]
                first += len(moved)
        return self.module("mortars", "w, left, left_stride, left_places, right, right_stride, right_places, geometry, "
                           "given_left, given_left_stride, given_left_places, given_right, given_right_stride, "
                           "given_right_places, TO_L, BACK_L, TO_R, BACK_R, count, clock, number_of_stage",
                           ["t = clock[1 + number_of_stage]", "for tile in range(first, last):", *indented(lines)])

    def own(self, side, name, result):
        """Lines that take the own flux of a side in strong form off what its face points get."""
        V, L, M, own = self.V, self.L, self.points[side], self.owns[side]
        if own is None:
            return []
        step = f" + j*{L}"
        m = {parameter: self.lane("O" + name, i * M, step) for i, parameter in enumerate(self.names[side])}
        x = {} if own.x is None else {"x": ("X" + name, 0, step, M)}
        body = self.over_lanes(own.function, [self.lane("FP", v) for v in range(V)], q=("V" + name, 0, f" + j*{V * L}", 1),
                               a=("A" + name, 0, step, M), m=m, **x)
        row = f"w[{result} + (j*{V} + v)*{L} + lane]"
        return [f"for j in range({M}):", *indented(body), f"    for v in range({V}):",
                *indented(self.lanes([f"{row} -= w[{self.at['FP']} + v*{L} + lane]"]), 2)]

    def entropy(self, side, name):
        """Lines that put the states with the interpolated entropy variables of a side in split form into its rows M."""
        V, L, split = self.V, self.L, self.splits[side]
        if split is None or split.from_entropy is None:
            return []
        step = f" + j*{V * L}"
        there, here = ([self.lane(row + name, v, step) for v in range(V)] for row in "EM")
        forth = self.over_lanes(split.to_entropy, there, q=("V" + name, 0, step, 1))
        back = self.over_lanes(split.from_entropy, here, w=("EM" + name, 0, step, 1), q=("M" + name, 0, step, 1),
                               near=("EN" + name, 0, "", 1))
        return [f"for j in range({self.points[side]}):", *indented(forth),
                f"to_{name}(TO_{name}, w, {self.at['EM' + name]}, {V}, w, {self.at['E' + name]})",
                f"mean_{name}(MEAN_{name}, w, {self.at['EN' + name]}, {V}, w, {self.at['V' + name]})",
                f"for j in range({self.count}):", *indented(back)]

    def between(self, side, name, flux, there):
        """Lines for a side in split form: the fluxes between its face points and the mortar points are added to its rows R and
        taken from the flux at the mortar points."""
        V, L, m, M, split = self.V, self.L, self.count, self.points[side], self.splits[side]
        if split is None:
            return []
        own = {parameter: self.lane("O" + name, i * M, f" + i*{L}") for i, parameter in enumerate(self.names[side])}
        count = len(split.function.graph.outputs) // V
        targets = [self.lane("FP", v * count + k) for k in range(count) for v in range(V)]
        body = self.over_lanes(split.function, targets, l=("V" + name, 0, f" + i*{V * L}", 1),
                               r=("M" + name, 0, f" + j*{V * L}", 1), a=("A" + name, 0, f" + i*{L}", M),
                               b=("B" + name, 0, f" + j*{L}", m), ml=own, mr=there)
        return [f"for row in range({V * M}):", *indented(self.lanes([f"w[{self.at['R' + name]} + row*{L} + lane] = 0"])),
                f"for row in range({V * m}):",
                *indented(self.lanes([f"w[{flux} + row*{L} + lane] *= {split.parts}"])),
                f"for j in range({m}):", f"    for i in range({M}):",
                f"        if abs(TO_{name}[j*{M} + i]) < 1e-14:          # the mortar point has a coordinate of other nodes",
                "            continue",
                *indented(body, 2),
                f"        between_{name}(w, {self.at['FP']}, {self.at['R' + name]} + i*{V * L}, {flux} + j*{V * L}, "
                f"BACK_{name}[i*{m} + j], -TO_{name}[j*{M} + i])"]

    def definitions(self):
        V, m, lines = self.V, self.count, []
        for name, M, split in zip("LR", self.points, self.splits):
            lines += [f"to_{name} = lines.along(np.{self.dtype}, {m}, [({M}, {V}, 1)], ({V}, 1))",
                      f"back_{name} = lines.along(np.{self.dtype}, {M}, [({m}, {V}, 1)], ({V}, 1), add={split is not None})"]
            if split is not None:
                count = len(split.function.graph.outputs) // V
                lines += [f"MEAN_{name} = np.array({split.mean.ravel().tolist()}, np.{self.dtype})",
                          f"mean_{name} = lines.along(np.{self.dtype}, 1, [({M}, {V}, 1)], ({V}, 1))"]
                lines.append(f"between_{name} = lines.accumulate(np.{self.dtype}, {V}, {count}, 1, {count - 1})")
        return lines
