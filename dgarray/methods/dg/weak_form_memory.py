"""The memory that the array expressions of DG need, in bytes, from sizes that are known before any array exists.

In the formulas: dimension d, number of variables V, elements E, unknowns N and quadrature points Q per variable and element,
faces F per element, points M per face, parameters P that vary, bytes b per number.
"""
from ..recipe import Recipe
from .blocks import columns_at_once
from .limiter_arrays import LimiterArrays
from .linear_limiter import LinearLimits


class WeakFormMemory(Recipe):
    """The base class of `DGArrays`: the memory that the arrays and the operations on them need."""

    limiter_of_arrays = LimiterArrays

    @classmethod
    def looks(cls, tables):
        """Whether array expressions evaluate wave speeds or admissibility of states; even with kernels, the initial state is
        checked for admissibility."""
        return "wave speeds" not in cls.fused and tables.search is None or tables.law.admissible is not None

    @classmethod
    def positions(cls, backend, tables):
        """Bytes of coordinates of the points in the volume, and of those on the faces if they are not among the former; 0 if
        nothing depends on x."""
        points = len(tables.points) + (0 if tables.trace is None else len(tables.face_points))
        return tables.needs_x * tables.dim * points * tables.elements * backend.dtype.itemsize

    @classmethod
    def holds(cls, backend, tables):
        d, V, E, b, P, (F, M) = (tables.dim, tables.variables, tables.elements, backend.dtype.itemsize, len(tables.varying),
                                 tables.face_nodes.shape)
        inner, outer, device = tables.inner, tables.outer, backend.name == "cupy"
        copied = b * E * (device or b < 8)          # in float64 on the host the arrays of the tables are used, not copies
        inside = len(tables.media.names)            # these are taken at each point of a face
        beside = b * (P - inside + M * inside) * (2 * inner + outer)
        face_values = V * F * M * E * b
        return {"metrics": copied * (d * d + F * (d + 1) * cls.looks(tables)) + b * (inner * (d + 2) + outer * (d + 1)),
                "parameters": copied * (P - inside + tables.media.rows) + beside,
                "connectivity": inner * 32 * M + device * outer * 16 * M, "positions": cls.positions(backend, tables),
                "face fluxes": face_values, "values at the faces": face_values * (tables.trace is not None)}

    @classmethod
    def later(cls, backend, tables):
        """Bytes of `holds` that are not allocated yet when the initial state is made."""
        held = WeakFormMemory.holds(backend, tables)
        return 0 if backend.name == "cupy" else held["connectivity"] + held["face fluxes"]

    @classmethod
    def takes(cls, backend, tables):
        there, device, state = sum(tables.holds().values()), backend.name == "cupy", cls.state_size(backend, tables)
        looking, stage = cls.looking(backend, tables), cls.temporaries(backend, tables)
        lists = tables.inner * (32 * tables.face_nodes.shape[1] + 32)          # of all faces, before they are cut into blocks
        positions = cls.positions(backend, tables)
        converted = state * (backend.dtype.itemsize < 8)
        if device:
            points = 16 * tables.dim * tables.rows * tables.elements * tables.needs_x
            return {"set-up": (there + points, 0), "first step": (max(converted, 2 * lists), max(state, stage)),
                    "time step": (0, looking), "stages": (0, max(stage, looking)), "snapshots": (state, 0)}
        held = sum(cls.holds(backend, tables).values()) - cls.later(backend, tables)
        return {"set-up": (there + held + 2 * positions, 0), "first step": (max(converted, lists, stage), 0),
                "time step": (looking, 0), "stages": (max(stage, looking), 0), "snapshots": (state, 0)}

    @classmethod
    def limiting(cls, backend, tables):
        """(bytes that the limiter holds, bytes that it takes for a while)."""
        return cls.limiting_arrays(backend, tables)

    @classmethod
    def limiting_arrays(cls, backend, tables):
        """The same by array expressions, which limit the initial state."""
        linear = isinstance(tables.limits, LinearLimits)
        return (0, 0) if tables.limits is None or linear else cls.limiter_of_arrays.needs(backend, tables)

    @classmethod
    def temporaries(cls, backend, tables):
        """Bytes of the temporaries of a right-hand side."""
        V, N, Q, b, E = tables.variables, tables.rows, len(tables.points), backend.dtype.itemsize, tables.elements
        d, (F, M) = tables.dim, tables.face_nodes.shape
        count = len(tables.media.weighted)
        weighted = (2 * count * len(tables.media.points) + N) * b if count else 0
        # Strong form: fluxes in d directions, their stacked copy, the matrix product and the tendency. Weak form: also values
        # at the quadrature points, and sources.
        volume = (2 * d + 2) * V * N * b
        if tables.weak:
            volume = ((2 * (d + tables.physics.sources_inside) + 1) * Q + 2 * N) * V * b
        # States and jumps of both sides, and terms of a numerical flux: measured as 7.3 V + 2.
        face = (7.3 * V + 2 + (d + 1) * tables.needs_x) * M * b
        traces = 2 * V * F * M * b * tables.weak
        volume = max(volume, (2 * V * N + len(tables.physics.sources) * V * N) * b + weighted)
        return max(volume * columns_at_once(backend, E, max(N, Q)), face * columns_at_once(backend, tables.inner, M),
                   traces * columns_at_once(backend, E, F * M))

    @classmethod
    def looking(cls, backend, tables):
        """Bytes of the temporaries of wave speeds and admissibility, where array expressions evaluate them."""
        if not cls.looks(tables):
            return 0
        d, V, N, Q, b, (F, M) = (tables.dim, tables.variables, tables.rows, len(tables.points), backend.dtype.itemsize,
                                 tables.face_nodes.shape)
        speeds, checks = "wave speeds" not in cls.fused and tables.search is None, tables.law.admissible is not None
        everywhere = tables.functions.wave_speed.depends_on("q")
        at_points = everywhere or checks or tables.needs_x
        if not tables.weak:          # speeds at all nodes, or one for each element
            return tables.elements * ((d + 4) * N * b * at_points + 8 * (d + F + 6))
        # Speeds normal to one face after the other: at the points of that face, or at those of all faces and of the volume,
        # with the state there. Admissibility: at all points at once.
        inside = Q * tables.speeds_inside
        points = max(inside, F * M) if everywhere else M
        of_speeds = speeds * (((d + 4) * points * at_points + V * inside) * b + 8 * (d + F + 6))
        of_checks = checks * max((V + max(V, d + 4)) * Q, (d + 4) * F * M) * b
        return tables.elements * max(of_speeds, of_checks)
