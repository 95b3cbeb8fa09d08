"""Text of the kernel of mortars: values of both sides at a tile of mortars, the flux there, and what each side gets of it."""
from .tensor_source import TensorSource
from .tile_source import indented


class MortarSource(TensorSource):
    """As `TileSource` for a `dgarray.methods.dg.mortars.MortarList`; a tile is L mortars.

    VL, VR   values at the face points of the left and the right side, (face point, variable)
    ML, MR   the same at the mortar points;  FX: the flux there
    RL, RR   what the face points of each side get
    G        normals, areas and positions, (row, mortar point);  P: the law's parameters that vary, of both sides there
    C        what the sides multiply their values with"""

    def __init__(self, mortars, dtype):
        left, right = (side.tables for side in mortars.sides)
        self.matrices, self.function = mortars.matrices_on_host, mortars.function
        self.points = [side.face_nodes.shape[1] for side in (left, right)]
        self.count = len(mortars.points)
        self.names = [list(values) for values in mortars.parameters]
        super().__init__(left, dtype, False)

    def row_counts(self):
        V, (left, right), m, d = self.V, self.points, self.count, self.d
        parameters = sum(map(len, self.names))
        return {"VL": V * left, "VR": V * right, "ML": V * m, "MR": V * m, "FX": V * m, "RL": V * left, "RR": V * right,
                "G": m * (2 * d + 1), "P": m * parameters, "C": 2}

    def text(self):
        """The kernel."""
        V, L, m, d = self.V, self.L, self.count, self.d
        rows, lines = m * (2 * d + 1 + sum(map(len, self.names))) + 2, []
        lines += [f"for row in range({rows}):",
                  f"    copy(geometry, (tile*{rows} + row)*{L}, w, {self.at['G']} + row*{L})"]
        for side, (name, faces) in enumerate((("L", "left"), ("R", "right"))):
            count = self.points[side]
            lines += [f"for j in range({count}):",
                      f"    gather_q({faces}, {faces}_stride, {faces}_places, (tile*{count} + j)*{L}, w, "
                      f"{self.at['V' + name]} + j*{V * L})",
                      f"to_{name}(TO_{name}, w, {self.at['M' + name]}, {V}, w, {self.at['V' + name]})"]
        step, first = f" + j*{V * L}", len(self.names[0])
        parameters = [{name: self.lane("P", (i + start) * m, f" + j*{L}") for i, name in enumerate(names)}
                      for names, start in zip(self.names, (0, first))]
        body = self.over_lanes(self.function, [self.lane("FX", v, step) for v in range(V)], l=("ML", 0, step, 1),
                               r=("MR", 0, step, 1), n=("G", 0, f" + j*{L}", m), s=("G", d * m, f" + j*{L}", m),
                               x=("G", (d + 1) * m, f" + j*{L}", m), ml=parameters[0], mr=parameters[1])
        lines += [f"for j in range({m}):", *indented(body), f"filled = min(count - tile*{L}, {L})"]
        for side, (name, given) in enumerate((("L", "given_left"), ("R", "given_right"))):
            M = self.points[side]
            lines += [f"back_{name}(BACK_{name}, w, {self.at['R' + name]}, {V}, w, {self.at['FX']})",
                      "for lane in range(filled):",
                      f"    face = {given}_faces[tile*{L} + lane]*{V * M}",
                      f"    factor = w[{self.at['C'] + side * L} + lane]",
                      f"    for j in range({M}):", f"        for v in range({V}):",
                      f"            {given}[face + v*{M} + j] += factor*w[{self.at['R' + name]} + (j*{V} + v)*{L} + lane]"]
        return self.module("mortars", "w, left, left_stride, left_places, right, right_stride, right_places, geometry, "
                           "given_left, given_left_faces, given_right, given_right_faces, count, t",
                           ["for tile in range(first, last):", *indented(lines)])

    def definitions(self):
        V, m, lines = self.V, self.count, []
        for name, (to, back), M in zip("LR", self.matrices, self.points):
            lines += [f"TO_{name} = np.array({to.ravel().tolist()}, np.{self.dtype})",
                      f"BACK_{name} = np.array({back.ravel().tolist()}, np.{self.dtype})",
                      f"to_{name} = lines.along(np.{self.dtype}, {m}, [({M}, {V}, 1)], ({V}, 1))",
                      f"back_{name} = lines.along(np.{self.dtype}, {M}, [({m}, {V}, 1)], ({V}, 1))"]
        return lines
