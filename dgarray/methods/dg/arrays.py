"""The arrays that the weak form works on, on the backend, and copies of a state between backend and host."""
from functools import cached_property

import numpy as np

from ...physics.pointwise import Rows
from ..recipe import Fetched
from .blocks import block_size

ALL = slice(None)


class DGArrays:
    """Arrays of a discontinuous Galerkin method on a backend, copies of those of `NodalTables`; a state is q[variable, node,
    element]. A base class of `WeakForm`.

    Each array is copied on first use, because kernels that replace an operation have arrays of their own instead."""

    def __init__(self, backend, tables):
        self.backend, self.xp, self.tables, self.needs_x = backend, backend.xp, tables, tables.needs_x

    @cached_property
    def minus_D(self):
        return self.backend.array(-np.concatenate(self.tables.differentiation, axis=1))

    @cached_property
    def lift_matrix(self):
        return self.backend.array(self.tables.lift)

    @cached_property
    def gradients(self):
        return self.backend.array(self.tables.gradients)

    @cached_property
    def normals(self):
        return self.backend.array(self.tables.normals)

    @cached_property
    def scale(self):
        return self.backend.array(self.tables.scale)

    @cached_property
    def rate_metrics(self):
        """See `NodalTables.rate_metrics`."""
        if not self.tables.curved:
            return self.normals, self.scale
        return [self.backend.array(values) for values in self.tables.rate_metrics]

    @cached_property
    def parameters(self):
        return {name: self.backend.array(values) for name, values in self.tables.parameters.items()
                if name not in self.tables.media.names}

    @cached_property
    def media(self):
        """The parameters that vary inside of elements, {place: {name: (point, element)}}: see `Media`."""
        media = self.tables.media
        return {place: {name: self.backend.array(values) for name, values in getattr(media, place).items()}
                for place in ("volume", "faces", "mass")}

    @cached_property
    def interpolate(self):
        return None if self.tables.interpolate is None else self.backend.array(self.tables.interpolate)

    @cached_property
    def trace(self):
        return None if self.tables.trace is None else self.backend.array(self.tables.trace)

    @cached_property
    def x(self):
        return self.backend.array(self.tables.coordinates())

    @cached_property
    def face_x(self):
        return self.x if self.trace is None else self.backend.array(self.tables.coordinates(self.tables.face_points))

    @cached_property
    def groups(self):
        return [self._group(g) for g in self.tables.groups if len(g.faces)]

    def _group(self, group):
        host = self.tables
        cells, sides = group.faces.T
        faces = {name: self.backend.array(v.reshape(-1)[group.nodes]) for name, v in host.media.faces.items()}
        normals, scale = host.at_sides(sides, cells, group.nodes)
        return dict(jump=group.jump, nodes=self.backend.integers(group.nodes), slots=self.backend.integers(group.slots),
                    normals=self.backend.array(normals), scale=self.backend.array(scale),
                    face={name: self.backend.array(values) for name, values in group.values.items()},
                    parameters={name: self.backend.array(v[cells]) for name, v in host.parameters.items()} | faces)

    @cached_property
    def faces(self):
        """The faces between two elements, each once, in blocks; all faces of a block come from one `FaceList`.

        Built on first use, because fused kernels do not need them."""
        return [block for faces in self.tables.face_lists().pairs for block in self._in_blocks(faces)]

    def _in_blocks(self, faces):
        """Cut a `FaceList`, sorted by element, into blocks, so that each reads and writes within a small part of the arrays."""
        host, backend, order = self.tables, self.backend, np.argsort(faces.cells[0], kind="stable")
        for columns in self.blocks(len(order), faces.nodes.shape[1]):
            some = order[columns]
            cells, sides = faces.cells[:, some], faces.sides[:, some]
            left, right = (host.at_sides(side, cell, nodes[:, some]) for side, cell, nodes in zip(sides, cells, faces.nodes))
            yield dict(
                nodes=[backend.integers(a[:, some]) for a in faces.nodes],
                slots=[backend.integers(a[:, some]) for a in faces.slots],
                normals=backend.array(left[0]), scales=[backend.array(scale) for _, scale in (left, right)],
                parameters=[{name: backend.array(v[cell]) for name, v in host.parameters.items()}
                            | {name: backend.array(v.reshape(-1)[nodes[:, some]]) for name, v in host.media.faces.items()}
                            for cell, nodes in zip(cells, faces.nodes)])

    @cached_property
    def filter_matrix(self):
        return self.backend.array(self.tables.filter)

    @cached_property
    def face_values(self):
        """The array for the result of `face_flux`, (variable, face * face node * element)."""
        return self.backend.zeros((self.tables.variables, self.tables.face_nodes.size * self.tables.elements))

    @cached_property
    def traces(self):
        """The array for the result of `at_faces`, (variable, face * face point, element)."""
        return self.backend.zeros((self.tables.variables, len(self.trace), self.tables.elements))

    def state(self, q):
        """A copy of q[variable, node, element], of the host or the backend, in the layout that the operations use."""
        return self.backend.copied(q)

    def plain(self, state):
        """A copy of the state as q[variable, node, element] on the backend."""
        return state.copy()

    def as_array(self, state):
        """The state as q[variable, node, element]: a view where it is one, else a copy."""
        return state

    def set_array(self, state, q):
        """Set the state to what `as_array` returned, changed since."""

    def host(self, state):
        """The state as q[variable, node, element] on the host."""
        return self.backend.host(state)

    def fetch(self, state):
        """Start copying the state to the host; the caller may change the state at once.

        The object returned has ready(), whether the copy is complete, and result(), which waits for it and returns the same as
        `host`. Here the copy is complete on return."""
        return Fetched(self.host(state))

    def take(self, state, elements):
        """The state of some elements on the host, q[variable, node, element of `elements`]; only these are copied."""
        values = self.gather(state, self.places_of(elements))
        return values.get() if hasattr(values, "get") else values

    def places_of(self, elements):
        """Where these elements are in a state, as `gather` and `scatter` take it."""
        return self.backend.integers(elements)

    def gather(self, state, places):
        """The values of some elements, a new array q[variable, node, element] on the backend."""
        return state[:, :, places]

    def scatter(self, state, places, values):
        """Set some elements to these values, q[variable, node, element]."""
        state[:, :, places] = values

    def zeros(self):
        """A state of zeros."""
        return self.backend.zeros((self.tables.variables, self.tables.rows, self.tables.elements))

    def own(self, values):
        """The values (..., element) at the mesh's own elements, without those at copies of other parts' elements."""
        return values[..., :self.tables.owned]

    def blocks(self, count, rows):
        """Slices that cut `count` columns into blocks of which one temporary with `rows` rows fits the cache; one on a GPU."""
        size = block_size(self.backend, count, rows)
        return [slice(i, min(i + size, count)) for i in range(0, count, size)]

    def at(self, columns, place="volume", rows=ALL):
        """The law's parameters that vary, at these elements: {name: (element,) or (point, element)}.

        place, rows: where in the elements, "volume", "faces" or "mass", and which of the points there"""
        return {name: values[columns] for name, values in self.parameters.items()} | {
            name: values[rows, columns] for name, values in self.media[place].items()}

    def position(self, columns):
        """The argument x of the physics at these elements, {"x": `Rows` (node, element)}; {} if nothing depends on x."""
        return {"x": Rows(self.x[:, :, columns])} if self.needs_x else {}

    @cached_property
    def mass_x(self):
        return self.x if self.tables.media.points is self.tables.points else self.backend.array(
            self.tables.coordinates(self.tables.media.points))

    def now(self, number):
        """A time of the clock, as `time` returns it."""
        return self.time(self.stage_times[number])

    def time(self, t):
        """The time as pointwise functions take it."""
        return self.backend.number(t)
