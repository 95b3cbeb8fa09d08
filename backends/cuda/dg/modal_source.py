"""Texts of the numba.cuda kernels of DG by quadrature: scalar code traced from the physics, and sums over an element's modes.

The state is q[variable, mode, element], row by row, so that neighbouring threads, which have neighbouring elements, read
neighbouring numbers.  Sizes: d dimensions, V variables, N modes, F faces, M points of a face, S = F M face points of an
element, B volume points.
"""
from textwrap import indent

import numpy as np

from ....methods.check import norm_over_faces
from ....physics.codegen import Python, scalar_source
from ....physics.pointwise import Pointwise
from ....support.cached_modules import write_module
from .layout import WARP
from .update import python_lines

POINTS = 4                # face points whose values one thread of `trace` sums
SUMS = 24                 # sums that one thread of `stage` keeps in registers; more if that takes more than GROUPS groups
GROUPS = 8                # most groups of modes in a block: in a block of 256 threads each may have all 255 registers
OPERANDS = 16 * 1024      # bytes of shared memory for the fluxes at the volume points of a block of elements


class ModalSource:
    """The texts of all kernels for one problem, and the arrays that they read.

    row      {input: its first row in `geometry`}: gradients g, normals n, face scales s, origin, tangents, parameters m
    Sizes of the kernel `stage`:
    rows     modes that one thread sums, for every variable
    groups   threads that share an element
    lanes    elements of a block
    chunk    volume points whose fluxes are in shared memory at a time"""

    def __init__(self, tables, dtype, needs_x):
        self.t, self.dtype, self.needs_x = tables, np.dtype(dtype), needs_x
        self.d, self.V, self.N, self.B = tables.dim, tables.variables, tables.rows, len(tables.basis.points)
        self.F, self.M = tables.basis.face_nodes.shape
        self.S, self.D = self.F * self.M, len(tables.basis.differentiation)
        self.parameters, self.row, count = list(tables.physics.varying), {}, 0
        for name, size in (("g", self.d ** 2), ("n", self.F * self.d), ("s", self.F), ("origin", self.d * needs_x),
                           ("tangent", self.d ** 2 * needs_x), ("m", len(self.parameters))):
            self.row[name], count = count, count + size
        self.groups = min(GROUPS, -(-self.N * self.V // SUMS))
        self.rows = -(-self.N // self.groups)
        self.groups = -(-self.N // self.rows)
        self.lanes = WARP * max(1, 2 // self.groups)
        self.chunk = max(1, min(self.B, OPERANDS // (self.D * self.V * self.lanes * self.dtype.itemsize)))

    # Numbers on the host.

    def geometry(self):
        """Metrics and parameters of the elements, (row, element); `row` says where each begins."""
        t = self.t
        parts = [*(getattr(t.geometry, name) for name in t.geometry.read(t.needs_x)), *t.parameters.values()]
        return np.concatenate([part.reshape(-1, t.elements) for part in parts])

    def matrix(self):
        """Matrix from the modes to the values at the volume points and the face points, (point, mode), with rows of zeros up
        to a multiple of POINTS face points."""
        beyond = np.zeros((-self.S % POINTS, self.N))
        return np.concatenate([self.t.basis.interpolate, self.t.basis.trace, beyond])

    def operator(self):
        """[-D_1 .. -D_d L] transposed, (point, mode), with zeros up to whole groups of modes."""
        columns = np.hstack([-np.concatenate(self.t.basis.differentiation, axis=1), self.t.basis.lift]).T
        return np.pad(columns, ((0, 0), (0, self.groups * self.rows - self.N)))

    def points(self):
        """Reference coordinates of the volume points and the face points, (point, dim)."""
        return np.concatenate([self.t.basis.points, self.t.basis.face_points])

    # Pieces of text.

    def number(self, name):
        """Expression that reads a row of `geometry` at the thread's element; name: the row's number or its text."""
        return f"geometry[np.uint64({name})*width + e]"

    def reads(self, function, point=None, face=None):
        """Lines that read a function's inputs besides state and time; point, face: texts of the numbers of point and face."""
        lines = []
        for name, (argument, number) in function.used.items():
            if argument == "g":
                lines.append(f"{name} = {self.number(self.row['g'] + number)}")
            elif argument == "n":
                first = self.row["n"] + number
                lines.append(f"{name} = {self.number(f'{first} + {self.d}*{face}')}")
            elif argument == "x":
                terms = [self.number(self.row["origin"] + number)]
                terms += [f"points[{self.d}*{point} + {k}]*{self.number(self.row['tangent'] + k * self.d + number)}"
                          for k in range(self.d)]
                lines.append(f"{name} = {' + '.join(terms)}")
            elif argument == "m":
                lines.append(f"{name} = {self.number(self.row['m'] + self.parameters.index(number))}")
        return lines

    def variables(self, function):
        """Numbers of the variables that a function reads."""
        return [number for argument, number in function.used.values() if argument == "q"]

    def values(self, variables, point):
        """Lines that sum q<v>, the values of these variables at a point of the thread's element; point: text of its number."""
        sums = [f"q{v} += coefficient*state[at + np.uint64({v * self.N})*width]" for v in variables]
        return [*(f"q{v} = zero" for v in variables), f"at, entry = e, np.uint64({point})*np.uint64({self.N})",
                f"for _ in range({self.N}):", "    coefficient = matrix[entry]", *(f"    {line}" for line in sums),
                "    at += width", "    entry += one_place"] if variables else []

    def compute(self, function, dialect):
        """(lines that evaluate a function, expressions of its results); its inputs have the function's own names for them."""
        return scalar_source(function.graph, {name: name for name in function.used}, dialect)

    element = ["i = cuda.grid(1)", "if i >= elements:", "    return", "e, width = np.uint64(i), np.uint64(width)"]

    def module(self, what, arguments, body, dialect):
        """The text of a module with one kernel; its last arguments are the number of elements and the length of a row."""
        zero = f"zero, one = np.{self.dtype}(0), np.{self.dtype}(1)"
        return f'''"""Generated by dgarray: {what} of DG by quadrature for {type(self.t.law).__name__}."""
{dialect.header}

import numpy as np
from numba import cuda, {self.dtype} as real

{zero}
one_place = np.uint64(1)
{chr(10).join(dialect.definitions)}


@cuda.jit(cache=True)
def kernel({arguments}, elements, width):
{indent(chr(10).join(body), "    ")}
'''

    # The kernels.

    def trace(self):
        """The values at the face points. A thread sums POINTS points of one element; blockIdx.y counts such groups."""
        V, N, P = range(self.V), self.N, range(POINTS)
        body = [*self.element, f"first = np.uint64(cuda.blockIdx.y)*np.uint64({POINTS})",
                *(f"s{p}_{v} = zero" for p in P for v in V),
                f"at, entry = e, (first + np.uint64({self.B}))*np.uint64({N})", f"for _ in range({N}):",
                *(f"    a{p} = matrix[entry + np.uint64({p * N})]" for p in P),
                *(f"    b{v} = state[at + np.uint64({v * N})*width]" for v in V),
                *(f"    s{p}_{v} += a{p}*b{v}" for p in P for v in V), "    at += width", "    entry += one_place",
                "to = first*width + e"]
        for p in P:
            body += [f"if first + np.uint64({p}) < np.uint64({self.S}):",
                     *(f"    values[to + np.uint64({v * self.S})*width] = s{p}_{v}" for v in V), "to += width"]
        return self.module("values at the points of the faces", "state, values, matrix", body, Python(str(self.dtype)))

    def stage(self):
        """Volume integrals, the face fluxes' integrals and the Runge-Kutta update."""
        f, V, B, D, lanes, rows = self.t.physics.functions, range(self.V), self.B, self.D, self.lanes, range(self.rows)
        operands, dialect = self.V * lanes, Python(str(self.dtype))
        volume, fluxes = self.compute(f.volume, dialect)
        sums = [f"a{i} = operator[column + np.uint64({i})]" for i in rows] + [f"r{v}_{i} += a{i}*b{v}" for v in V for i in rows]
        advance = f"column += np.uint64({self.groups * self.rows})"
        point = [*self.values(self.variables(f.volume), "(first + point)"), *self.reads(f.volume, "(first + point)"), *volume,
                 f"place = np.uint64(point*{operands} + lane)",
                 *(f"operands[place + np.uint64({k * self.chunk * operands + v * lanes})] = {fluxes[k * self.V + v]}"
                   for k in range(D) for v in V)]
        body = [f"operands = cuda.shared.array({D * self.chunk * operands}, real)",
                "lane, group = cuda.threadIdx.x, cuda.threadIdx.y", f"i = cuda.blockIdx.x*{lanes} + lane",
                "e, width = np.uint64(i), np.uint64(width)",
                "dt, t = clock[0], clock[1 + number]", *(f"r{v}_{i} = zero" for v in V for i in rows),
                f"for first in range(0, {B}, {self.chunk}):", f"    count = min({self.chunk}, {B} - first)",
                f"    for point in range(group, count if i < elements else 0, {self.groups}):", *indented(point, 2),
                "    cuda.syncthreads()",
                f"    for k in range({D} if i < elements else 0):",
                f"        place = np.uint64(k*{self.chunk * operands} + lane)",
                f"        column = np.uint64((k*{B} + first)*{self.groups * self.rows} + group*{self.rows})",
                "        for _ in range(count):",
                *indented([*(f"b{v} = operands[place + np.uint64({v * lanes})]" for v in V), *sums,
                           f"place += np.uint64({operands})", advance], 3),
                "    cuda.syncthreads()",
                "if i >= elements:", "    return",
                f"at, column = e, np.uint64({D * B * self.groups * self.rows} + group*{self.rows})",
                f"for _ in range({self.S}):",
                *indented([*(f"b{v} = flux[at + np.uint64({v * self.S})*width]" for v in V), *sums, "at += width", advance]),
                f"mode, changes = group*{self.rows}, (w != zero) | (v != zero) | (u != zero)"]
        changes, results = [], [f"r{v}" for v in V]
        if self.t.physics.finishes:
            changes, results = self.compute(f.finish, dialect)
            changes = self.reads(f.finish) + changes
        for i in rows:
            work = [f"at = np.uint64(mode + {i})*width + e", *(f"r{v} = r{v}_{i}" for v in V), *changes,
                    *(line for v in V for line in python_lines(f"at + np.uint64({v * self.N})*width", results[v]))]
            body += [f"if mode + {i} < {self.N}:", *indented(work)]
        arguments = ("state, out, register, start, flux, operator, matrix, points, geometry, clock, "
                     "number, A, w, alpha, beta, B, C, v, u")
        return self.module("a Runge-Kutta stage", arguments, body, dialect)

    def rate(self):
        """For each element the norm over its faces of s J_face / J, see `WeakForm.rate`; NaN if it is not finite."""
        function, dialect, F = self.t.physics.functions.wave_speed, Python(str(self.dtype)), range(self.F)
        body = [*self.element, *(f"fastest{f} = zero" for f in F)]
        if self.t.speeds_inside:
            inside = [*self.values(self.variables(function), "point"), *self.speeds(function, "point", F, dialect)]
            body += [f"for point in range({self.B}):", *indented(inside)]
        own = [(f * self.M, (f + 1) * self.M, [f]) for f in F]
        for first, last, faces in [(0, self.S, F)] if self.t.physics.speeds_everywhere else own:
            body += [f"for m in range({first}, {last}):", *indented(self.speeds_at_faces(function, "m", faces, dialect))]
        norm = Pointwise(norm_over_faces, {"rates": self.F, "exponent": None}, "wave rate")
        lines, (rate,) = self.compute(norm, dialect)
        body += [*(f"rates{f} = fastest{f}*" + self.number(self.row["s"] + f) for f in F), *lines, f"rate = {rate}",
                 f"found[i] = rate if rate < {dialect.literal(np.inf)} else {dialect.literal(np.nan)}"]
        return self.module("rates", "state, values, found, matrix, points, geometry, t, exponent", body, dialect)

    def speeds_at_faces(self, function, point, faces, dialect):
        """Lines of `speeds` at a face point, with the state from the array `values`; point: text of the face point's number."""
        reads = [f"q{v} = values[at + np.uint64({v * self.S})*width]" for v in self.variables(function)]
        return [f"at = np.uint64({point})*width + e", *reads, *self.speeds(function, f"({self.B} + {point})", faces, dialect)]

    def speeds(self, function, point, faces, dialect):
        """Lines that evaluate the wave speed normal to each of these faces for the state q<v> at a point, and keep the largest
        of face f, or NaN, in fastest<f>."""
        lines, (speed,) = self.compute(function, dialect)
        return [line for f in faces for line in (
            *self.reads(function, point, f), *lines,
            f"fastest{f} = fastest{f} if ({speed} <= fastest{f}) | (fastest{f} != fastest{f}) else {speed}")]

    def admissible(self):
        """For each element 1 if its state is not admissible at some point, else 0."""
        function, dialect = self.t.physics.functions.admissible, Python(str(self.dtype))
        lines, (good,) = self.compute(function, dialect)
        body = [*self.element, "bad = zero", f"for point in range({self.B + self.S}):",
                *indented([*self.values(self.variables(function), "point"), *self.reads(function, "point"), *lines,
                           f"bad = bad if {good} else one"]), "found[i] = bad"]
        return self.module("whether a state is admissible", "state, found, matrix, points, geometry, t", body, dialect)

    def clock(self, times):
        """Write dt and the times of the stages to the array from which the kernels of a stage read them."""
        arguments = [f"t{i}" for i in range(times)]
        return f'''"""Generated by dgarray: the clock."""
from numba import cuda


@cuda.jit(cache=True)
def kernel(clock, dt, {", ".join(arguments)}):
    clock[0] = dt
{indent(chr(10).join(f"clock[{1 + i}] = {name}" for i, name in enumerate(arguments)), "    ")}
'''


def indented(lines, levels=1):
    return ["    " * levels + line for line in lines]


def kernel(text, name, dtype):
    """Write the text of a module to the cache and import its kernel."""
    return write_module(text, f"modal_{name}_{dtype}").kernel
