"""Text of kernels over tiles of elements: where a tile's values lie, and how they are moved."""
import numpy as np

from ....physics.pointwise import picked
from ..simd import expressions, matmul, target
from .kernel_source import KernelSource

PIECE = 32               # tiles that a thread takes at a time, at most
CACHED = 1 << 19         # bytes of unknowns and face values of a piece


def bytes_of_tile(tables, dtype):
    """Bytes of a tile's unknowns and values at the faces."""
    return tables.variables * (tables.rows + tables.basis.face_nodes.size) * target.lanes(dtype) * np.dtype(dtype).itemsize


class TileSource(KernelSource):
    """Kernel text for tiles of L elements; all of a tile lies in the scratch array.

    The first variables have fluxes, so many as `moving`; others are internal ones and have sources alone.
    A variable has N unknowns, B values at points of the volume, and W operands there for the product with [-D_1 .. -D_d], of
    which another product first makes few (nodal DG: D_k = E R_k).  F faces have M points each.

    at: where the rows of a name begin in w.
    Q        unknowns, (variable, unknown)
    BQ, T    where these are not values: values at the points of the volume and at those of all faces, (variable, point)
    G        dr_k/dx, normals and scales of the faces; origin and tangents where the physics asks for x
    P, MR    the law's parameters, of the element and of the one beyond a face; after the former those that vary inside of
             elements, at the points of each of the places `inside`;  X: x at a point
    QL, QR   the state on both sides of a face at a point
    RHS      operands of the products, (variable, operand): fluxes at the points, what these are reduced to, jumps at the faces
    W, WQ    dq/dt and the state at the points where the capacity divides, if it varies inside of elements
    R        dq/dt, (variable, unknown);  S: wave speed normal to each face
    K        register and q0 at one unknown, then register and state after the stage"""

    scratch = "w, faces"

    def __init__(self, tables, dtype):
        super().__init__(tables.law, dtype, tables.variables, tables.physics.flowing)
        self.t, self.needs_x, self.geometry_names = tables, tables.physics.needs_x, tables.geometry.read(tables.physics.needs_x)
        self.first_of, self.geometry_rows = {}, 0          # where the rows of each of the metrics begin, and rows in all
        for name in self.geometry_names:
            self.first_of[name] = self.geometry_rows
            self.geometry_rows += tables.geometry.rows_of(name)
        self.d, self.N, self.B = tables.dim, tables.rows, len(tables.basis.points)
        self.F, self.M = tables.basis.face_nodes.shape
        self.modal = tables.basis.trace is not None
        self.W = len(tables.basis.differentiation) * self.B
        self.low = 0 if self.modal else tables.basis.cell.reduced_differentiation[0].shape[1]
        self.P, media = list(tables.physics.varying), tables.media
        self.smooth = media.names
        self.inside, self.values_rows = {}, len(self.P)      # {place: (first row, rows of a parameter)}; rows in all
        for place, count in self.places(media).items():
            self.inside[place] = self.values_rows, count
            self.values_rows += count * len(self.smooth)
        self.mass, self.weighted = len(media.points) if media.weighted else 0, media.weighted
        self.weighted_finish = media.finish_of(media.weighted) if media.weighted else None
        padded = matmul.padded
        self.reduced = padded(self.low) if self.low else 0
        self.column = self.W + self.reduced + self.F * self.M                    # rows of one variable's right-hand sides
        self.first = 0 if self.modal else self.W                                 # of the operands of the last product
        self.rate_rows = self.d * self.d                 # of G, where the faces' normals and scales for wave rates begin
        self.within = self.V if tables.physics.sources_inside else self.flowing          # that have volume integrals
        self.left = picked(tables.physics.functions.left, range(self.flowing))
        blocks = len(tables.physics.functions.volume.graph.outputs) // self.V
        self.volume_function = picked(tables.physics.functions.volume, [k * self.V + v for k in range(blocks)
                                                                for v in range(self.within)])
        functions = [*vars(tables.physics.functions).values(), self.left, self.volume_function, *self.more()]
        self.set_rows(self.row_counts(), dict.fromkeys(functions))
        self.at = dict.fromkeys(("BQ", "T"), 0) | self.at
        # The state at the points, and rows of a variable.
        self.values = ("BQ", padded(self.B)) if tables.basis.interpolate is not None else ("Q", self.N)
        self.at_faces = ("T", padded(self.F * self.M)) if self.modal else ("Q", self.N)
        self.piece = max(2, min(PIECE, CACHED // bytes_of_tile(tables, dtype))) if self.modal else PIECE
        self.height = self.F * self.M                    # rows of a variable's face values of a piece
        self.result_rows = padded(self.N)                # rows of a variable's dq/dt

    def more(self):
        """Other functions that the kernels evaluate."""
        return []

    def row_counts(self):
        """How many rows of the scratch array each name has."""
        padded, points = matmul.padded, self.F * self.M
        of_variable = padded(self.mass) if self.mass else 0
        of_state = self.V * of_variable if self.mass and self.weighted_finish.depends_on("q") else 0
        modal = {"T": self.V * padded(points)} if self.modal else {}
        own_points = {"BQ": self.V * padded(self.B)} if self.t.basis.interpolate is not None else {}
        return {"Q": self.V * self.N, "G": self.geometry_rows, "P": self.values_rows, "MR": len(self.P), "X": self.d,
                "QL": self.V, "QR": self.V, "RHS": self.column * self.V, "R": padded(self.N) * self.V, "K": 4, "S": self.F,
                "W": len(self.weighted) * of_variable, "WQ": of_state, **own_points, **modal}

    def places(self, media):
        """Points of the places where parameters that vary inside of elements are wanted: of the volume, of the own faces where
        these are other points, on the other side of the faces, and where the capacity divides."""
        counts = {"volume": self.B, "faces": self.F * self.M * self.modal, "outside": self.F * self.M,
                  "mass": len(media.points) if media.weighted and media.points is not self.t.basis.points else 0}
        return {place: count for place, count in counts.items() if count and media.names}

    def parameters(self, place, point, beyond=False):
        """{name: row} of the parameters at a point, its number a text; beyond: of the element beyond a face."""
        first, count = self.inside.get(place) or self.inside.get("volume", (0, 0))
        return {name: self.lane("MR" if beyond else "P", i) for i, name in enumerate(self.P)} | {
            name: self.lane("P", first + i * count, f" + {point}*{self.L}") for i, name in enumerate(self.smooth)}

    @property
    def mass_matrices(self):
        """The matrices from the unknowns to the points where the capacity divides, and back by projection."""
        media = self.t.media
        return (media.to_points, media.back) if self.mass else (np.zeros((1, 1)),) * 2

    @property
    def finishes(self):
        """Whether `finish` does anything, for any numbers: see `Physics.finishes`."""
        graph = self.with_numbers[self.t.physics.functions.finish][0].graph
        return [graph.nodes[i][:2] for i in graph.outputs] != [("input", f"r{v}") for v in range(self.V)]

    def positions(self, function, step, table="POINTS"):
        """Lines that put x at this point into the rows X for all lanes, if the function needs x."""
        if not function.depends_on("x"):
            return []
        first = self.d * self.d + self.F * (self.d + 1)
        sums = []
        for c in range(self.d):
            terms = [(f"node{k}", self.lane("G", first + self.d + k * self.d + c)) for k in range(self.d)]
            sums.append(f"{self.lane('X', c)} = {expressions.sum_of_products(*terms, to=self.lane('G', first + c))}")
        return [*(f"node{k} = {table}[{step}, {k}]" for k in range(self.d)), *self.lanes(sums)]

    def load(self, source, rows, name, of=None):
        """Lines that copy this tile's rows of an array into the scratch array, all or the first ones of so many."""
        return [f"for row in range({rows}):",
                f"    copy({source}, (tile*{of or rows} + row)*{self.L}, w, {self.at[name]} + row*{self.L})"]

    def load_tile(self):
        """Lines that copy a tile and all that belongs to it into the scratch array."""
        geometry = (self.at["P"] - self.at["G"]) // self.L
        return [*self.load("state", self.V * self.N, "Q"), *self.load("geometry", geometry, "G"),
                *(self.load("tiled_values", self.values_rows, "P") if self.P else [])]

    def metrics_at(self, point, table="POINTS"):
        """Lines that put the metrics at a point into their rows, where they vary inside of elements."""
        return []

    def at_point(self, point):
        """Where dr_k/dx and x of a point of the volume lie."""
        return dict(g=("G", 0, "", 1), x=("X", 0, "", 1))

    def at_face(self):
        """Where normal, scale and x of point j of face f lie, whose number among a face's nodes is `node`."""
        d, L = self.d, self.L
        return dict(n=("G", d * d, f" + f*{d * L}", 1), s=("G", d * d + self.F * d, f" + f*{L}", 1), x=("X", 0, "", 1))

    def at_points(self):
        """Lines that put the state at the points into its rows, where they are not those of the unknowns."""
        return [f"for v in range({self.V}):", f"    interpolate(I, 0, w, {self.at['Q']} + v*{self.N * self.L}, "
                f"w, {self.at['BQ']} + v*{matmul.padded(self.B) * self.L})"] if self.values[0] == "BQ" else []

    def trace(self):
        """Lines that put the values at the face points, where these are not among the unknowns, into their rows."""
        return [f"for v in range({self.moving}):", f"    trace(T, 0, w, {self.at['Q']} + v*{self.N * self.L}, "
                f"w, {self.at['T']} + v*{matmul.padded(self.F * self.M) * self.L})"] if self.modal else []

    def products(self):
        """{name of a product of the kernels: (rows, operands)}."""
        return {"reduce_": (self.low, self.W), "lift": (self.N, self.column - self.first),
                "interpolate": (self.B * self.modal, self.N), "trace": (self.F * self.M * self.modal, self.N),
                "to_mass": (self.mass, self.N), "from_mass": (self.N * bool(self.mass), self.mass)}

    def definitions(self):
        tables = self.t.basis.points, self.t.basis.face_points, self.t.media.points if self.mass else self.t.basis.points[:1]
        points, at_faces, at_mass = (table.tolist() if self.needs_x else [[0.0]] for table in tables)
        return [f"FACE_NODES = np.array({self.t.basis.face_nodes.tolist()})", f"POINTS = np.array({points}, np.{self.dtype})",
                f"FACE_POINTS = np.array({at_faces}, np.{self.dtype})", f"MASS_POINTS = np.array({at_mass}, np.{self.dtype})",
                *([f"gather_m = vector.gather({len(self.P)}, np.{self.dtype})"] if self.P else [])]
