"""Face fluxes of DG on the device: numba.cuda kernels generated from the traced physics, which visit every face once.

One launch serves the interior faces, and one more the boundary faces of each formula.  A thread reads the state of a face node
on both sides (at a boundary on the inner side), evaluates s (F.n - F*) and writes it to the slots of both sides.  So each flux
is computed once, where an element-wise kernel computes it twice, and no two threads write to one place.

Threads.  With one thread a face node, 32 consecutive threads take one node of 32 consecutive faces, and the next 32 threads the
next node of the same faces.  With one thread a face, each thread loops over its nodes.  Either way a warp works on one node of
32 faces.  It reads the data of a face (normal, scales, parameters) once, from consecutive addresses, and the state and the face
fluxes from rows in which neighbouring elements lie side by side.

Order of the faces.  Faces are sorted by runs of left elements, within a run by the face's number in the left element, then by
the left element.  A run has as many elements as a memory sector of 32 bytes holds, so the left sides of the faces with one
number share a sector in each row.  The runs are short, so the faces of the other numbers find their sectors in the cache; so do
the right sides, which the numbering of the mesh puts close by.  Sectors that a warp reaches per variable, counted in float32 at
order 4 on random Delaunay tetrahedra (16 is the least possible, 128 the most, a sector for each access of each thread):
    59         in this order
    61         by left element alone
    61 to 73   in longer runs, or along curves through pairs of elements
    65         by the face's number alone, which also reads every element from memory four times

Work of one call, with V variables, M face nodes, P varying parameters, d dimensions, reals of b bytes and integers of 4:
    operations a face    M flops(pair), at a boundary M flops(jump)
    bytes a face         4 V M b for state and fluxes on both sides, (d + 2 + 2 P) b + 20 for the data of the face;
                         at a boundary 2 V M b and (d + 1 + P) b + 12; d M b more if the physics needs positions
Inputs that the formulas do not need are neither stored nor read.

Modal DG reads the values at the face points in place of the state: N = F M rows of a variable.  A value is read only by the
thread that writes the flux to the same place, so the fluxes may overwrite the values.
"""
from textwrap import indent

import numpy as np

from ....physics.codegen import Python, scalar_source
from ....support.cached_modules import write_module
from ...arrays import moved
from .layout import WARP

SECTOR = 32         # bytes of a memory transaction


class Faces:
    """s (F.n - F*) at every face node of every element: `WeakForm.face_flux` on the device.

    device    `dgarray.backends.cuda.device.Device`
    dtype     of the run
    tables    the `dgarray.methods.dg.tables.Tables`
    layout    of the state and of the face fluxes, a `Layout`
    per_face  one thread a face, else one a face node
    block     threads of a block
    Hesthaven & Warburton 2008, section 6.2; Kloeckner et al. 2009, section 5.3."""

    def __init__(self, device, dtype, tables, layout, per_face=False, block=128):
        parts = [(tables.physics.functions.pair, "lr", ("ml", "mr"), faces._asdict()) for faces in tables.faces.lists().pairs]
        formulas = {}                          # boundary groups with one formula are one launch
        for group in tables.faces.groups:
            formulas.setdefault(repr((group.jump.graph.nodes, group.jump.graph.outputs)), []).append(group)
        for groups in formulas.values():
            cells, sides = np.concatenate([group.faces for group in groups]).T[:, None]
            nodes, slots = (np.concatenate(a, axis=1)[None] for a in zip(*((group.nodes, group.slots) for group in groups)))
            given = [getattr(group, "values", {}) for group in groups]
            values = {name: np.concatenate([own[name] for own in given]) for name in given[0]}
            parts.append((groups[0].jump, "q", ("m",), dict(cells=cells, sides=sides, codes=np.zeros_like(cells), nodes=nodes,
                                                            slots=slots, values=values)))
        self.parts = [Part(device, dtype, tables, layout, per_face, block, *part) for part in parts if part[-1]["cells"].size]

    @property
    def nbytes(self):
        """Bytes on the device."""
        return sum(array.nbytes for part in self.parts for array in part.arrays)

    def __call__(self, q, flux, clock, stage):
        """Compute the face fluxes of the state q at time clock[1 + stage] into flux.

        q:     flat, rows (variable, node), of modal DG (variable, face, face point), in `layout`
        flux:  flat, rows (variable, face, face node) in `layout`; all is written but the padding beyond the last element
        clock: dt and the times of the stages, reals on the device
        stage: number of the stage, from 0"""
        for part in self.parts:
            part(q, flux, clock, stage)


class Part:
    """The faces that one function serves, and the kernel that visits them.

    function    `pair` or a boundary's `jump`, see `dgarray.methods.dg.physics.Physics`
    states      names of its arguments for the state, one for each side
    parameters  names of its arguments for the law's parameters, one for each side
    faces       dict with the entries of a `dgarray.methods.dg.connectivity.FaceList`; at a boundary they have one side"""

    def __init__(self, device, dtype, tables, layout, per_face, block, function, states, parameters, faces):
        self.device, self.block, self.count = device, block, faces["cells"].shape[1]
        self.source = FaceSource(np.dtype(dtype), tables, layout, function, states, parameters)
        run = faces["cells"][0] // (SECTOR // np.dtype(dtype).itemsize)
        order = np.lexsort((faces["cells"][0], faces["sides"][0], run))
        arrays = self.source.numbers(tables, order, faces), *places(tables, layout, order, faces)
        self.arrays = [moved(device.xp, np.ascontiguousarray(array)) for array in arrays]
        self.kernel = self.source.kernel(per_face)
        self.threads = self.count if per_face else -(-self.count // WARP) * WARP * tables.basis.face_nodes.shape[1]

    def __call__(self, q, flux, clock, stage):
        grid = -(-self.threads // self.block)
        self.device.numba_launch(self.kernel, (grid,), (self.block,), (q, flux, clock, np.int32(stage), *self.arrays))


def places(tables, layout, order, faces):
    """Where the faces read the state and write the face fluxes, as two small arrays of offsets (starts, rows).

    starts (2 * sides + 1, face)           offset of the element in the state, for every side; offset of the element in the
                                           fluxes, for every side; the face's pattern
    rows (2 * sides, face node, pattern)   offset of the face node's row for variable 0, to be added to each of the first
                                           2 * sides starts
    A pattern is a combination of the face's number on each side with the vertex permutation between the sides; it decides
    which nodes face each other.  Offsets are unsigned, because numba checks the sign of signed indices, and of 32 bits where
    they fit."""
    V, N, E, (F, M) = tables.variables, len(tables.basis.face_points), tables.elements, tables.basis.face_nodes.shape
    cells, sides, codes, nodes, slots = (faces[name] for name in ("cells", "sides", "codes", "nodes", "slots"))
    keys = F ** np.arange(len(sides) + 1) @ np.concatenate([sides, codes])
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    starts = np.array([*layout.at(V * N, 0, cells), *layout.at(V * F * M, 0, cells), pattern])
    rows = np.concatenate([numbers[:, :, first] // E * layout.width for numbers in (nodes, slots)])
    kind = np.uint32 if layout.size(V * max(N, F * M)) < 2 ** 32 else np.uint64
    return np.ascontiguousarray(starts[:, order], kind), np.ascontiguousarray(rows, kind)


class FaceSource:
    """The text of a kernel, and the table of real numbers that it reads for each face."""

    def __init__(self, dtype, tables, layout, function, states, parameters):
        self.dtype, self.function, self.layout = dtype, function, layout
        self.states, self.parameters = states, parameters
        self.law, self.V, self.N = type(tables.law).__name__, tables.variables, len(tables.basis.face_points)
        self.F, self.M = tables.basis.face_nodes.shape

    def numbers(self, tables, order, faces):
        """The function's inputs besides states and time, (row, face), in the order in which the function names them: one row
        for an input, for a coordinate one row for every face node."""
        cells, sides, rows = faces["cells"][:, order], faces["sides"][:, order], []
        geometry, x = tables.geometry, None
        if self.function.depends_on("x"):
            x = geometry.coordinates(tables.basis.face_points).reshape(tables.dim, -1)
        for argument, number in self.function.used.values():
            if argument == "n":
                rows.append(geometry.normals[sides[0], number, cells[0]])
            elif argument == "s":
                rows.append(geometry.scale[sides[number], cells[number]])
            elif argument == "x":
                rows.extend(x[number, faces["nodes"][0][:, order]])
            elif argument == "face":
                rows.append(faces["values"][number][order])
            elif argument in self.parameters:
                rows.append(tables.parameters[number][cells[self.parameters.index(argument)]])
        return np.array(rows or [np.zeros(len(order))], self.dtype)

    def reads(self):
        """Lines of the kernel that read the inputs: (once for a face, once for every face node)."""
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
        # With all elements in one block the width is found at run time, so one compiled kernel serves meshes of any size.
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
