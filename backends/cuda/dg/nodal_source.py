"""CUDA C of nodal DG: sizes, constant tables and scalar code traced from the physics, before the texts nodal_*.cu."""
from importlib.resources import files

import numpy as np

from ....physics.codegen import Cuda, scalar_source
from . import update

STAGE, LIBRARY = (files(__package__).joinpath(f"nodal_{name}.cu").read_text() for name in ("stage", "library"))
POINTWISE = """
struct Stage {{ real dt, A, w, alpha, beta, B, C, v, u; }};

// The arrays that the physics reads.  Rows over elements lie as `Layout` says.
struct Problem {{
    const real *q, *geometry;
    const offset* exterior;
    const real* flux;
    offset pitch;

#if WIDTH
    __device__ __forceinline__ offset at(offset rows, offset row, offset e) const {{
        return e / WIDTH * (rows * WIDTH) + row * WIDTH + e % WIDTH;
    }}
    __device__ __forceinline__ offset element(offset at) const {{ return at / (V * N * WIDTH) * WIDTH + at % WIDTH; }}
    __device__ __forceinline__ offset stride() const {{ return WIDTH; }}
#else
    __device__ __forceinline__ offset at(offset rows, offset row, offset e) const {{ return row * pitch + e; }}
    __device__ __forceinline__ offset element(offset at) const {{ return at % pitch; }}
    __device__ __forceinline__ offset stride() const {{ return pitch; }}
#endif
    __device__ __forceinline__ real state(int v, int n, offset e) const {{ return q[at(V * N, v * N + n, e)]; }}
    __device__ __forceinline__ real of(int row, offset e) const {{ return geometry[at(GEOMETRY, row, e)]; }}
}};

// F(q) . grad r_k at node n, b[k * V + v].
__device__ __forceinline__ void volume(const Problem& p, offset e, int n, real t, real* b) {{
{volume}
}}

// s (F.n - F*) at a face node of element e: from the state beyond it, or from the condition at the boundary.
__device__ __forceinline__ void face(const Problem& p, offset e, int slot, real t, real* b) {{
    const int f = slot / M, n = FACE_NODES[slot];
    const offset outside = p.exterior[p.at(SLOTS, slot, e)];
    if (outside >= 0) {{
{left}
    }} else {{
        switch (-1 - outside) {{
{boundary}
        }}
    }}
}}

// The same of both sides of a face at once, b[side * V + v].
__device__ __forceinline__ void pair(const Problem& p, offset e, int slot, offset other, int other_slot, real t, real* b) {{
    const int f = slot / M, n = FACE_NODES[slot], other_f = other_slot / M, other_n = FACE_NODES[other_slot];
{pair}
}}

// The same, computed before by another kernel.
__device__ __forceinline__ void gathered(const Problem& p, offset e, int slot, real t, real* b) {{
    for (int v = 0; v < V; ++v) b[v] = p.flux[p.at(V * SLOTS, v * SLOTS + slot, e)];
}}

// (r + sources) / capacity at node n.
__device__ __forceinline__ void finish(const Problem& p, offset e, int n, real t, const real* r, real* b) {{
{finish}
}}
"""


class NodalSource:
    """The kernel text of one problem, and the table `geometry` that the kernels read.

    row       {input: its first row in the table}: gradients g, normals n, face scales s, origin, tangents, parameters m, and
              for each face the numbers that a boundary condition has of it
    rows      rows of the table
    per_face  the most numbers that a boundary condition has of a face"""

    def __init__(self, tables, dtype, needs_x):
        self.t, self.dtype, self.needs_x = tables, np.dtype(dtype), needs_x
        self.dialect = Cuda(str(self.dtype))
        d, F = tables.dim, len(tables.basis.face_nodes)
        self.per_face = max((len(group.values) for group in tables.faces.groups), default=0)
        self.parameters, self.row, count = list(tables.physics.varying), {}, 0
        for name, size in (("g", d * d), ("n", F * d), ("s", F), ("origin", d * needs_x), ("tangent", d * d * needs_x),
                           ("m", len(self.parameters)), ("face", F * self.per_face)):
            self.row[name], count = count, count + size
        self.rows = max(1, count)

    def geometry(self):
        """The table on the host, (row, element)."""
        t = self.t
        of_faces = np.zeros((len(t.basis.face_nodes), self.per_face, t.elements))
        for group in t.faces.groups:
            cells, sides = group.faces.T
            for number, values in enumerate(group.values.values()):
                of_faces[sides, number, cells] = values
        parts = [*(getattr(t.geometry, name) for name in t.geometry.read(t.needs_x)), *t.parameters.values(),
                 of_faces]
        return np.concatenate([part.reshape(-1, t.elements) for part in parts])

    def position(self, number):
        """Expression of one component of x at node n of element e."""
        d = self.t.dim
        terms = [f"p.of({self.row['origin'] + number}, e)"]
        terms += [f"NODES[n * DIM + {k}] * p.of({self.row['tangent'] + k * d + number}, e)" for k in range(d)]
        return " + ".join(terms)

    def read(self, argument, number):
        """Expression that reads one input of the physics, in the functions of POINTWISE."""
        d, m = self.t.dim, self.row["m"]
        at = m + self.parameters.index(number) if argument in ("m", "ml", "mr") else None
        return {"q": f"p.state({number}, n, e)", "l": f"p.state({number}, n, e)",
                "g": f"p.of({self.row['g']} + {number}, e)", "n": f"p.of({self.row['n']} + f * {d} + {number}, e)",
                "x": None if argument != "x" else self.position(number), "m": f"p.of({at}, e)", "ml": f"p.of({at}, e)",
                "r": f"p.q[outside + {number} * N * p.stride()]", "mr": f"p.of({at}, p.element(outside))",
                "s": f"p.of({self.row['s']} + f, e)"}[argument]

    def evaluate(self, function, indent, **other):
        """Lines that read a function's inputs and store its components in b; other: {argument: number -> expression}."""
        lines = []
        for name, (argument, number) in function.used.items():
            if argument != "t":
                expression = other[argument](number) if argument in other else self.read(argument, number)
                lines.append(f"const real {name} = {expression};")
        body, outputs = scalar_source(function.graph, {name: name for name in function.used}, self.dialect)
        lines += [*body, *(f"b[{i}] = {value};" for i, value in enumerate(outputs))]
        return "\n".join(" " * indent + line for line in lines)

    def of_face(self, group):
        """A function from the name of a number of the group's faces to the expression that reads it."""
        names = list(group.values)
        return lambda name: f"p.of({self.row['face']} + f * {self.per_face} + {names.index(name)}, e)"

    def pointwise(self):
        """POINTWISE with the code of the physics."""
        f, m, s = self.t.physics.functions, self.row["m"], self.row["s"]
        cases = [f"        case {number}: {{\n{self.evaluate(group.jump, 12, face=self.of_face(group))}\n"
                 "            break;\n        }" for number, group in enumerate(self.t.faces.groups)]
        pair = self.evaluate(f.pair, 4, r=lambda v: f"p.state({v}, other_n, other)",
                             mr=lambda name: f"p.of({m + self.parameters.index(name)}, other)",
                             s=lambda side: (f"p.of({s} + f, e)", f"p.of({s} + other_f, other)")[side])
        return POINTWISE.format(volume=self.evaluate(f.volume, 4), left=self.evaluate(f.left, 8), boundary="\n".join(cases),
                                pair=pair, finish=self.evaluate(f.finish, 4, r=lambda v: f"r[{v}]"))

    def text(self, shape, variant, wide):
        """The whole source; shape: `Shape`;  wide: offsets of 64 bits, else of 32."""
        flags = {"FIELD_SHARED": variant.field == "shared", "MATRIX_SHARED": variant.matrix == "shared",
                 "JOBS": variant.faces == "block"}
        sizes = {"DIM": shape.dim, "V": shape.variables, "N": shape.nodes, "F": shape.faces, "M": shape.face_nodes,
                 "SLOTS": shape.slots, "COLUMNS": shape.columns, "GEOMETRY": self.rows, "LANES": variant.lanes,
                 "ROWS": variant.rows, "GROUPS": shape.groups(variant), "PADDED_ROWS": shape.padded_rows(variant),
                 "CHUNK": variant.chunk, "FIELD_SIZE": shape.field_size(variant), "MATRIX_SIZE": shape.matrix_size(variant)}
        lines = [f"// Generated by dgarray: nodal DG for {type(self.t.law).__name__}: {variant}",
                 *(f"#define {name}" for name, is_on in flags.items() if is_on), f"#define WIDTH {variant.width}",
                 f"#define FACE {'gathered' if variant.faces == 'once' else 'face'}",
                 f"typedef {'long long' if wide else 'int'} offset;",
                 *(f"constexpr int {name} = {value};" for name, value in sizes.items()),
                 self.table("int", "FACE_NODES", self.t.basis.face_nodes.ravel())]
        if self.needs_x:
            lines.append(self.table("real", "NODES", self.t.basis.cell.nodes.ravel()))
        return "\n".join([*lines, self.pointwise(), update.C, LIBRARY if variant.product == "cublas" else STAGE])

    def table(self, kind, name, values):
        """Definition of an array in constant memory."""
        literals = (str(value) if kind == "int" else self.dialect.literal(float(value)) for value in values)
        return f"__constant__ const {kind} {name}[] = {{{', '.join(literals)}}};"
