"""CUDA C of tensor-product DG: sizes, tables of a line and scalar code traced from the physics, before tensor_stage.cu."""
from importlib.resources import files

from . import update
from .nodal_source import NodalSource

STAGE = files(__package__).joinpath("tensor_stage.cu").read_text()
THREADS = 512             # most threads of a block
LANES = 32, 4             # most and least elements of a block, as far as its shared memory allows
POINTWISE = """
struct Stage {{ real dt, A, w, alpha, beta, B, C, v, u; }};

// The arrays that the physics reads, in rows over elements.
struct Problem {{
    const real *q, *values, *geometry;
    const offset* exterior;
    offset pitch;

    __device__ __forceinline__ real state(int v, int n, offset e) const {{ return q[(v * N + n) * pitch + e]; }}
    __device__ __forceinline__ real at_face(int v, int j, offset e) const {{ return values[(v * SLOTS + j) * pitch + e]; }}
    __device__ __forceinline__ real of(int row, offset e) const {{ return geometry[row * pitch + e]; }}
}};

// F(q) . J a^k at node n.
__device__ __forceinline__ void along(const Problem& p, offset e, int n, int k, real t, real* b) {{
{along}
}}

// - J_face F* at a face point of element e: from the values beyond it, or from the condition at the boundary.
__device__ __forceinline__ void face(const Problem& p, offset e, int slot, real t, real* b) {{
    const int f = slot / M;
    const offset outside = p.exterior[slot * p.pitch + e];
    if (outside >= 0) {{
{left}
    }} else {{
        switch (-1 - outside) {{
{boundary}
        }}
    }}
}}

// (r + J sources) / (J capacity) at node n.
__device__ __forceinline__ void finish(const Problem& p, offset e, int n, real t, const real* r, real* b) {{
{finish}
}}
"""


class TensorSource(NodalSource):
    """The kernel text of tensor-product DG; the table `geometry` has the metrics that `read` of the geometry names, by point or
    by element.

    lanes, groups, rows   elements of a block, groups of their nodes, nodes of a thread"""

    def __init__(self, tables, dtype, needs_x, shared):
        super().__init__(tables, dtype, needs_x)
        t, self.row, count = tables, {}, 0
        for name in t.geometry.read(t.needs_x):
            self.row[name], count = count, count + t.geometry.rows_of(name)
        self.row["m"], self.row["face"] = count, count + len(self.parameters)
        self.rows_in_table = max(1, self.row["face"] + len(t.basis.face_nodes) * self.per_face)
        N, self.slots = t.rows, t.basis.face_nodes.size
        self.lanes = LANES[0]
        while self.lanes > 1 and (self.lanes > LANES[1] and self.lanes * N > THREADS or self.shared_bytes > shared):
            self.lanes //= 2
        groups = max(1, min(N, THREADS // self.lanes))
        self.rows = -(-N // groups)
        self.groups = -(-N // self.rows)

    @property
    def shared_bytes(self):
        """Dynamic shared memory of a block: fluxes at the nodes, and at the face points of one axis."""
        t = self.t
        return t.variables * (t.rows + 2 * t.basis.face_nodes.shape[1]) * self.lanes * self.dtype.itemsize

    def read(self, argument, number):
        d, affine = self.t.dim, self.t.geometry.affine
        if argument in ("m", "ml", "mr"):
            where = "outside % p.pitch" if argument == "mr" else "e"
            return f"p.of({self.row['m'] + self.parameters.index(number)}, {where})"
        if argument == "a":
            first = self.row["gradients"]
            return f"p.of({first} + k * {d} + {number}, e)" if affine else (
                f"p.of({first} + (k * {d} + {number}) * N + n, e)")
        if argument == "n":
            first = self.row["normals"]
            return f"p.of({first} + f * {d} + {number}, e)" if affine else f"p.of({first} + {number} * SLOTS + slot, e)"
        return {"q": f"p.state({number}, n, e)", "l": f"p.at_face({number}, slot, e)",
                "r": f"p.values[outside + {number} * SLOTS * p.pitch]",
                "s": f"p.of({self.row['scale']} + {'f' if affine else 'slot'}, e)"}[argument]

    def place(self, number, at_face):
        """Expression of one component of x at node n, or at a face point."""
        t = self.t
        if not t.geometry.affine:
            name, rows, point = ("face_x", "SLOTS", "slot") if at_face else ("x", "N", "n")
            return f"p.of({self.row[name]} + {number} * {rows} + {point}, e)"
        table, point = ("FACE_POINTS", "slot") if at_face else ("NODES", "n")
        return " + ".join([f"p.of({self.row['origin'] + number}, e)"] + [
            f"{table}[{point} * DIM + {k}] * p.of({self.row['tangents'] + k * t.dim + number}, e)" for k in range(t.dim)])

    def pointwise(self):
        f = self.t.physics.functions

        def at_face(number):
            return self.place(number, True)
        cases = [f"        case {number}: {{\n"
                 + self.evaluate(group.jump, 12, q=lambda v: f"p.at_face({v}, slot, e)", x=at_face, face=self.of_face(group))
                 + "\n            break;\n        }" for number, group in enumerate(self.t.faces.groups)]

        def inside(function, indent, **other):
            return self.evaluate(function, indent, x=lambda number: self.place(number, False), **other)
        last = f.finish if self.t.geometry.affine else f.collect
        return POINTWISE.format(
            along=inside(f.along, 4), left=self.evaluate(f.left, 8, x=at_face), boundary="\n".join(cases),
            finish=inside(last, 4, r=lambda v: f"r[{v}]", s=lambda _: f"p.of({self.row.get('inverse', 0)} + n, e)"))

    def text(self, wide):
        """The whole source; wide: offsets of 64 bits, else of 32."""
        t, cell = self.t, self.t.basis.cell
        sizes = {"DIM": t.dim, "V": t.variables, "N": t.rows, "LINE": len(cell.x), "M": t.basis.face_nodes.shape[1],
                 "SLOTS": self.slots, "LANES": self.lanes, "GROUPS": self.groups, "ROWS": self.rows}
        lines = [f"// Generated by dgarray: tensor-product DG for {type(t.law).__name__}",
                 f"typedef {'long long' if wide else 'int'} offset;",
                 *(f"constexpr int {name} = {value};" for name, value in sizes.items()),
                 self.table("int", "STEPS", [len(cell.x) ** k for k in range(t.dim)]),
                 *(self.table("real", name, values.ravel()) for name, values in (
                     ("ENDS", cell.ends), ("WEAK", cell.weak), ("LIFT", cell.lift)))]
        if self.needs_x and t.geometry.affine:
            lines += [self.table("real", "NODES", cell.nodes.ravel()),
                      self.table("real", "FACE_POINTS", t.basis.face_points.ravel())]
        return "\n".join([*lines, self.pointwise(), update.C, STAGE])
