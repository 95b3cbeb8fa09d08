"""How many numbers a run of nodal or modal DG has of what, and the bytes of what several backends keep.

The letters are those of the kernels: dim d, variables V, elements E, nodes N, faces F and nodes of a face M of an element,
parameters P that vary.
"""
from copy import copy
from math import comb

from ..backends.arrays import PIECE
from ..backends.cpu.edges import surface_of
from ..backends.cpu.nodal_source import CACHED
from ..backends.dg_arrays import BLOCK_BYTES
from ..reference import modal_simplex, quadrature

PROJECTED = 4096          # elements that the projection of the initial state takes at a time


class Counts:
    """How many there are of what, and the bytes of what several backends keep."""

    def __init__(self, mesh, law, method, uses_x, itemsize):
        self.d, self.V, self.E, self.F = mesh.dim, len(law.variables), len(mesh.cells), mesh.dim + 1
        self.order, self.uses_x, self.b = method.order, uses_x, itemsize
        self.N, self.M = comb(self.order + self.d, self.d), comb(self.order + self.d - 1, self.d - 1)
        self.nodes = self.N          # in the output
        self.P = sum(callable(value) or isinstance(value, dict) for value in law.parameters.values())
        self.outer = len(mesh.boundary_faces)
        self.inner = (self.E * self.F - self.outer) // 2
        self.geometry = self.d * self.d + self.F * self.d + self.F          # gradients, normals, face scales

    def part(self, elements):
        """The counts of so many of the elements alone, in float64."""
        part = copy(self)
        part.E, part.b, part.outer, part.inner = elements, 8, 0, elements * self.F // 2
        return part

    @property
    def in_float64(self):
        """The state on the host in float64."""
        return 8 * self.V * self.N * self.E

    @property
    def totals(self):
        """The integrals of what is conserved: the state in float64, and a block of it at points for the energy."""
        points = len(quadrature(self.d, 2 * self.order)[1])
        return self.in_float64 + 8 * points * min(self.E, max(16, PIECE // (points * self.N))) * (2 * self.V + 3)

    @property
    def metrics(self):
        """Gradients, normals, scales, origins and tangents in float64."""
        return 8 * self.E * (self.geometry + self.d + self.d * self.d)

    def tables(self, mesh):
        """What the set-up keeps on the host, and what the mesh computes for it if it has not yet."""
        derived = {"normals": self.F * self.d, "face_measures": self.F, "measures": 1, "centroids": self.d}
        new = sum(count for name, count in derived.items() if name not in vars(mesh))
        return {"metrics": self.metrics + 8 * self.E * new, "parameters": 8 * self.P * self.E,
                "connectivity": self.outer * (16 * self.M + 16)}

    def set_up(self, kept):
        """Peak of the tables' own set-up: corners, tangents, owners of the faces, and what the normals are made from."""
        d, F = self.d, self.F
        return sum(kept.values()) + 8 * self.E * (d * (d + 1) + d * d + 1 + F)

    def array_text(self, copies, rates=False):
        """What the array text keeps, on top of the tables; copies: bytes of a number of the tables that it has to copy; rates:
        whether it computes wave speeds at the faces too."""
        d, P, at_faces = self.d, self.P, 2 * self.inner + self.outer
        return {"metrics": (copies * self.E * (d * d + self.F * (d + 1) * rates)
                            + self.b * (self.inner * (d + 2) + self.outer * (d + 1))),
                "parameters": copies * self.E * P + self.b * at_faces * P,
                "connectivity": self.inner * 32 * self.M, "positions": self.positions,
                "face fluxes": self.V * self.F * self.M * self.E * self.b}

    def face_values(self, threads):
        """Values at the faces of a piece of the mesh that each thread keeps, where they are not among the unknowns."""
        return 0

    def by_edges(self, dtype):
        """Whether the fused kernels of a CPU visit each face once."""
        return False

    @property
    def positions(self):
        return self.d * self.N * self.E * self.b * self.uses_x

    @property
    def making_lists(self):
        """The index lists of all faces on the host, before they are cut into blocks."""
        return self.inner * (32 * self.M + 32)

    def volume_temporaries(self, columns):
        """Fluxes in all directions, the same stacked, their derivatives and the product before it is put there."""
        return (2 * self.d + 2) * self.V * self.N * self.b * columns

    def face_temporaries(self, columns):
        """States and jumps of both sides and the parts of a numerical flux: as measured, 7.3 V + 2."""
        return (7.3 * self.V + 2 + (self.d + 1) * self.uses_x) * self.M * self.b * columns

    def temporaries(self, threads):
        """The array text on a CPU: one block of elements or faces for every thread."""
        elements, faces = (min(count, threads * max(16, BLOCK_BYTES // (rows * self.b)))
                           for rows, count in ((self.N, self.E), (self.M, self.inner)))
        return max(self.volume_temporaries(elements), self.face_temporaries(faces))

    def pointwise(self, at_nodes, rates):
        """Wave speeds, if the array text computes the rates, and what is admissible, at all nodes or one for each element."""
        return (self.d + 4) * self.N * self.E * self.b * at_nodes + 8 * self.E * (self.d + self.F + 6)

    @property
    def fetched(self):
        """A copy of the state on its way into a snapshot."""
        return self.V * self.N * self.E * self.b

    def limiter(self, method, backend):
        """What a limiter keeps, and what it takes for a while."""
        return 0, 0

    def projection(self, method):
        """The initial state, and coordinates and values at the points of a block while those of the one before are there."""
        at_nodes = getattr(method, "start", None) == "interpolation"
        d, V, points = self.d, self.V, self.N if at_nodes else len(quadrature(self.d, 2 * self.order + 4)[1])
        first, second = min(self.E, PROJECTED), min(max(0, self.E - PROJECTED), PROJECTED)
        rows = first * V + max(first * (d + 1), first * d + second * (d + 1) if second else 0, second * (d + 1 + V))
        return self.in_float64 + 8 * points * rows


class ModalCounts(Counts):
    """The same for modal DG by the array text: modes N, points of the volume Q and of a face M."""

    def __init__(self, mesh, law, method, uses_x, itemsize):
        super().__init__(mesh, law, method, uses_x, itemsize)
        reference = modal_simplex(self.d, self.order, method.quadrature)
        self.M, self.Q = len(reference.face_weights), len(reference.weights)
        self.nodes = comb(max(self.order, 1) + self.d, self.d)
        self.checked = getattr(law, "admissible", None) is not None
        self.surface = getattr(method, "surface", None)
        self.points, self.sensors = len(mesh.points), self.V - len(range(self.V)[law.momentum] if law.momentum else ())

    @property
    def totals(self):
        points = len(quadrature(self.d, 2 * max(self.order, 1))[1])
        some = min(self.E, max(16, PIECE // (points * self.nodes)))
        return 8 * self.V * self.nodes * self.E + 8 * points * some * (2 * self.V + 3)

    def by_edges(self, dtype):
        return surface_of(self.surface, self.d, self.order, dtype) == "edges"

    def face_values(self, threads):
        """As they come with the elements around a piece, at most as many again as it has."""
        return 2 * CACHED * threads

    def array_text(self, copies, rates=False):
        return super().array_text(copies, rates) | {"values at the faces": self.V * self.F * self.M * self.E * self.b}

    @property
    def positions(self):
        return self.d * (self.Q + self.F * self.M) * self.E * self.b * self.uses_x

    @property
    def fetched(self):
        return self.V * (self.N + self.nodes) * self.E * self.b

    def volume_temporaries(self, columns):
        """Values at the points, fluxes in all directions and sources, the same stacked, and the product as above."""
        return ((2 * (self.d + self.sources) + 1) * self.Q + 2 * self.N) * self.V * self.b * columns

    def temporaries(self, threads):
        sizes = ((max(self.N, self.Q), self.E, self.volume_temporaries), (self.M, self.inner, self.face_temporaries),
                 (self.F * self.M, self.E, lambda columns: 2 * self.V * self.F * self.M * self.b * columns))
        return max(of(min(count, threads * max(16, BLOCK_BYTES // (rows * self.b)))) for rows, count, of in sizes)

    def limiter(self, method, backend):
        """Index lists, which the limiter of the initial state needs too; linear parts of the state, and blocks of elements with
        5 values (as measured) for each variable and point where shares are looked for.  Fused kernels work in place."""
        options, E, F, d = method.limiting, self.E, self.F, self.d
        if not (options.limiter or options.positivity):
            return 0, 0
        if (backend.name, method.kernels(backend)) == ("cupy", "fused") and self.limited_on_device(options):
            return 4 * F * E * bool(options.limiter), 0
        state, by_host = self.V * self.N * E * self.b, (backend.name, method.kernels(backend)) == ("numpy", "fused")
        lists = ((24 if options.around else 8) * F + 1) * E * bool(options.limiter)
        if by_host:
            return self.limiter_in_tiles(options)
        taken = sensed = 0
        if options.indicator:
            lists += (16 * F + 16) * E
            sensed = 4 * F * E * self.b
        if options.variables == "primitive":
            taken += 2 * state
        elif options.variables == "characteristic":
            taken += (3 if options.around else 1) * state
        elif options.limiter == "vertex" and self.order > 1:
            parts = sum(comb(q + d - 2, d - 1) for q in range(1, self.order + 1))
            taken += parts * (d + 1) * self.V * E * self.b + 3 * state
        rows = max(F * self.M * options.at_faces, F * (options.limiter == "vertex"),
                   (self.Q + F * self.M) * options.positivity)
        columns = E if backend.name == "cupy" else min(E, backend.threads * max(16, BLOCK_BYTES // (rows * self.b)))
        return lists, max(sensed, taken + 5 * self.V * rows * columns * self.b)

    def limiter_in_tiles(self, options):
        """What the kernels on tiles keep, see `dgarray.backends.cpu.limiter`, with the index lists of the host that they need;
        and what the initial state takes, by the array text: 4 values (as measured) for each variable and point of the faces."""
        K, V, E, b, parts = self.F, self.V, self.E, self.b, comb(self.order - 1 + self.d, self.d)
        means = V * parts if self.order > 1 and options.limiter else V * (options.variables == "primitive")
        size = b * E * means + bool(options.indicator) * E * (b * K * self.sensors + 8 * K + 8 + b)
        if options.around:
            size += (24 * K + 1) * E + (12 + b) * K * E + 2 * b * max(means, V) * self.points
        elif options.limiter:
            size += (1 + 4) * K * E
        slopes = options.at_faces or options.variables == "characteristic"
        return size, 4 * 8 * V * K * self.M * min(E, max(16, BLOCK_BYTES // (8 * K * self.M))) * slopes

    @staticmethod
    def limited_on_device(options):
        """Whether the GPU has kernels for these limiters."""
        from ..backends.cuda.modal_limiter import fused
        return fused(options)

    def pointwise(self, at_nodes, rates):
        """Wave speeds normal to one face after the other, at its points, or at those of all faces and, beside the state there,
        of the volume (see `NodalTables.speeds_inside`); what is admissible at all points at once."""
        inside = self.Q * (self.everywhere and self.order > 1)
        points = max(inside, self.F * self.M) if self.everywhere else self.M
        speeds = rates * (((self.d + 4) * points * at_nodes + self.V * inside) * self.b + 8 * (self.d + self.F + 6))
        at_points = max((self.V + max(self.V, self.d + 4)) * self.Q, (self.d + 4) * self.F * self.M) * self.b * self.checked
        return self.E * max(speeds, at_points)
