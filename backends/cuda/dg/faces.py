"""Face fluxes of DG on the device: numba.cuda kernels with the tracer's scalar code, every face visited once.

One kernel serves the interior faces and one each the boundary faces with one condition.  A face node reads the state on both
sides (at a boundary on its own side), evaluates s (F.n - F*) and writes it into the slots of both sides, so the flux is
computed once where an element-wise kernel computes it twice, and no two threads write to one place.

Which thread does what.  With one thread a face node, 32 consecutive threads take one node of 32 consecutive faces and the next
32 threads the next node of the same faces; with one thread a face, each goes through its nodes.  Either way a warp works on one
node of 32 faces, reads what a face has once (normal, scales, parameters) from consecutive places and reaches rows of the state
and of the face fluxes, in which neighbouring elements lie side by side.

Order of the faces.  By left element, in runs of as many elements as a memory sector of 32 bytes holds; within a run by the
face's number in the left element, then by element.  Faces of one number read and write one row on the left, so the left side
is one piece of a row per number; and the runs are so short that the other numbers, and the right sides, which the numbering of
the mesh puts close by, find their sectors in the cache.  Counted in sectors that a warp reaches per variable (float32, order 4,
random Delaunay tetrahedra; 16 were the least, 128 is every thread on its own): 59 in this order, 61 by left element alone, 61
to 73 in longer runs or along curves through pairs of elements, 65 by the face's number alone, where moreover every element
comes by four times, each time from memory.

Work of one call, with V variables, M face nodes, P varying parameters, d dimensions, reals of b bytes and integers of 4:
    operations a face    M flops(pair), at a boundary M flops(jump)
    bytes a face         4 V M b for the state and the fluxes of both sides, (d + 2 + 2 P) b + 20 for what the face has;
                         at a boundary 2 V M b and (d + 1 + P) b + 12; where the physics needs positions d M b more
Inputs that the formulas do not need are neither stored nor read.

Modal DG is the same with values at the points of the faces in the place of the state, N = F M rows of a variable.  Each is read
by the thread alone that writes the flux to its place, so the fluxes may take the values' own memory.
"""
from textwrap import indent

import numpy as np

from ....physics.codegen import Python, scalar_source, write_module
from ...arrays import moved
from .layout import WARP

SECTOR = 32         # bytes that the memory moves at once


class Faces:
    """s (F.n - F*) at every face node of every element: `WeakForm.face_flux` on the device.

    device    arrays and launches, see `Device`
    tables    `dgarray.methods.dg.nodal.NodalTables`
    layout    where the rows of state and face fluxes lie, see `Layout`
    per_face  one thread a face, else one a face node
    block     threads of a block"""

    def __init__(self, device, dtype, tables, layout, per_face=False, block=128):
        parts = [(tables.functions.pair, "lr", ("ml", "mr"), faces._asdict()) for faces in tables.face_lists().pairs]
        formulas = {}                          # boundary groups with one formula are one launch
        for group in tables.groups:
            formulas.setdefault(repr((group.jump.graph.nodes, group.jump.graph.outputs)), []).append(group)
        for groups in formulas.values():
            cells, sides = np.concatenate([group.faces for group in groups]).T[:, None]
            nodes, slots = (np.concatenate(a, axis=1)[None] for a in zip(*((group.nodes, group.slots) for group in groups)))
            given = [getattr(group, "values", {}) for group in groups]
            values = {name: np.concatenate([own[name] for own in given]) for name in given[0]}
            parts.append((groups[0].jump, "q", ("m",), dict(cells=cells, sides=sides, codes=np.zeros_like(cells), nodes=nodes,
                                                            slots=slots, values=values)))
        self.parts = [Part(device, dtype, tables, layout, per_face, block, *part) for part in parts if part[-1]["cells"].size]

    @staticmethod
    def holds(tables, dtype):
        """{what: bytes} on the device, about: of the boundary what its largest formula reads."""
        M, inner, outer = tables.face_nodes.shape[1], tables.inner, tables.outer
        of_inner, of_outer = read(tables.functions.pair, M), max((read(group.jump, M) for group in tables.groups), default=0)
        return {"metrics": np.dtype(dtype).itemsize * (inner * of_inner + outer * of_outer),
                "connectivity": 4 * (5 * inner + 3 * outer)}

    @property
    def nbytes(self):
        """Bytes on the device."""
        return sum(array.nbytes for part in self.parts for array in part.arrays)

    def __call__(self, q, flux, clock, stage):
        """Compute the face fluxes of the state q at time clock[1 + stage] into flux.

        q:     flat, rows (variable, node), of modal DG (variable, face, face point), in `layout`
        flux:  flat, rows (variable, face, face node) in `layout`; all is written but the room beyond the last element
        clock: step and times of the stages, reals on the device"""
        for part in self.parts:
            part(q, flux, clock, stage)


def read(function, nodes):
    """Numbers that a kernel over faces of so many nodes keeps of each for this function: positions for every node."""
    counts = {"x": nodes, "n": 1, "s": 1, "m": 1, "ml": 1, "mr": 1, "face": 1}
    return sum(counts.get(argument, 0) for argument, _ in function.used.values())


class Part:
    """Faces that one function serves, and its kernel.

    function  pair or jump, see `dgarray.methods.dg.physics.Physics`
    states    its arguments for the states of the sides, parameters: those for the law's parameters
    faces     a dict as a `dgarray.methods.dg.connectivity.FaceList`; at a boundary of one side"""

    def __init__(self, device, dtype, tables, layout, per_face, block, function, states, parameters, faces):
        self.device, self.block, self.count = device, block, faces["cells"].shape[1]
        self.source = Source(np.dtype(dtype), tables, layout, function, states, parameters)
        run = faces["cells"][0] // (SECTOR // np.dtype(dtype).itemsize)
        order = np.lexsort((faces["cells"][0], faces["sides"][0], run))
        arrays = self.source.numbers(tables, order, faces), *places(tables, layout, order, faces)
        self.arrays = [moved(device.xp, np.ascontiguousarray(array)) for array in arrays]
        self.kernel = self.source.kernel(per_face)
        self.threads = self.count if per_face else -(-self.count // WARP) * WARP * tables.face_nodes.shape[1]

    def __call__(self, q, flux, clock, stage):
        grid = -(-self.threads // self.block)
        self.device.numba_launch(self.kernel, (grid,), (self.block,), (q, flux, clock, np.int32(stage), *self.arrays))


def places(tables, layout, order, faces):
    """Where faces reach the state and the face fluxes, in few numbers: as unsigned integers, which index without a check of
    their sign, of 32 bits where they fit.

    starts (2 * side + 1, face)            element's place in the state, of every side; its place in the fluxes, of every side;
                                           the face's pattern
    rows (2 * side, face node, pattern)    what the row of variable 0 adds to them: all that depends on the face node
    A pattern is how the nodes of the sides lie to each other: the faces' numbers and the vertex permutation."""
    V, N, E, (F, M) = tables.variables, len(tables.face_points), tables.elements, tables.face_nodes.shape
    cells, sides, codes, nodes, slots = (faces[name] for name in ("cells", "sides", "codes", "nodes", "slots"))
    keys = F ** np.arange(len(sides) + 1) @ np.concatenate([sides, codes])
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    starts = np.array([*layout.at(V * N, 0, cells), *layout.at(V * F * M, 0, cells), pattern])
    rows = np.concatenate([numbers[:, :, first] // E * layout.width for numbers in (nodes, slots)])
    kind = np.uint32 if layout.size(V * max(N, F * M)) < 2 ** 32 else np.uint64
    return np.ascontiguousarray(starts[:, order], kind), np.ascontiguousarray(rows, kind)


class Source:
    """Text of a kernel, and the real numbers of each face that it reads."""

    def __init__(self, dtype, tables, layout, function, states, parameters):
        self.dtype, self.function, self.layout = dtype, function, layout
        self.states, self.parameters = states, parameters
        self.law, self.V, self.N = type(tables.law).__name__, tables.variables, len(tables.face_points)
        self.F, self.M = tables.face_nodes.shape

    def numbers(self, tables, order, faces):
        """What the function reads of a face besides states and time, (row, face), in the order in which it names them: one row
        each, for a coordinate one for every face node."""
        cells, sides, rows = faces["cells"][:, order], faces["sides"][:, order], []
        x = tables.coordinates(tables.face_points).reshape(tables.dim, -1) if self.function.depends_on("x") else None
        for argument, number in self.function.used.values():
            if argument == "n":
                rows.append(tables.normals[sides[0], number, cells[0]])
            elif argument == "s":
                rows.append(tables.scale[sides[number], cells[number]])
            elif argument == "x":
                rows.extend(x[number, faces["nodes"][0][:, order]])
            elif argument == "face":
                rows.append(faces["values"][number][order])
            elif argument in self.parameters:
                rows.append(tables.parameters[number][cells[self.parameters.index(argument)]])
        return np.array(rows or [np.zeros(len(order))], self.dtype)

    def reads(self):
        """Lines that read the inputs: (those of the face, those of the face node)."""
        face, node, row = [], [], 0
        for name, (argument, number) in self.function.used.items():
            if argument in self.states:
                node.append(f"{name} = q[a{self.states.index(argument)} + Q{number}]")
            elif argument == "t":
                face.append("t = clock[1 + stage]")
            elif argument == "x":
                node.append(f"{name} = numbers[{row} + m, f]")
                row += self.M
            else:
                face.append(f"{name} = numbers[{row}, f]")
                row += 1
        return face, node

    def text(self, per_face):
        S, V, M = len(self.states), self.V, self.M
        dialect = Python(str(self.dtype))
        body, outputs = scalar_source(self.function.graph, {name: name for name in self.function.used}, dialect)
        face, node = self.reads()
        indices = [f"{name}{side}" for name in "ab" for side in range(S)]
        face += [f"{index.upper()} = starts[{k}, f]" for k, index in enumerate(indices)]
        at = [f"{index} = {index.upper()} + rows[{k}, m, p]" for k, index in enumerate(indices)]
        writes = [f"flux[b{i // V} + F{i % V}] = {value}" for i, value in enumerate(outputs)]
        work = "\n".join([*at, *node, *body, *writes])
        if per_face:
            own, work = ["f = cuda.grid(1)"], f"for m in range({M}):\n{indent(work, '    ')}"
        else:
            own = ["i = cuda.grid(1)", f"m, f = i // {WARP} % {M}, i // {WARP * M} * {WARP} + i % {WARP}"]
        head = [*own, "if f >= starts.shape[1]:", "    return", f"p = starts[{2 * S}, f]", *face]
        # Where all elements are in one block their number is no part of the text: no mesh needs kernels of its own.
        all_in_one = f"np.uint64(q.shape[0]) // np.uint64({V * self.N})"
        head.append(f"width = {all_in_one if self.layout.blocks == 1 else f'np.uint64({self.layout.width})'}")
        for name, rows in (("Q", self.N), ("F", self.F * M)):
            head += [f"{name}{v} = np.uint64({v * rows}) * width" for v in range(V)]
        return f'''"""Generated by dgarray: s (F.n - F*) of {self.law} at the nodes of faces with {S} side{"s" * (S > 1)}."""
{dialect.header}

import numpy as np
from numba import cuda

{chr(10).join(dialect.definitions)}


@cuda.jit(cache=True)
def kernel(q, flux, clock, stage, numbers, starts, rows):
{indent(chr(10).join(head), "    ")}
{indent(work, "    ")}
'''

    def kernel(self, per_face):
        return write_module(self.text(per_face), f"faces_{self.dtype}").kernel
