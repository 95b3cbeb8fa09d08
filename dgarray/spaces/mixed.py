"""Piecewise polynomials on a mesh of several shapes: the spaces of its blocks, one behind the other."""
import numpy as np

from .elements import ElementSpace
from .parts import AXES, Evaluation, Part, Trace, face_rows


class MixedSpace(ElementSpace):
    """Polynomials on every element of a mesh of several shapes: values (variable, node, element), nan at nodes that an element
    does not have.

    spaces   the space of each block of the mesh"""

    spaces = ()

    def __init__(self, mesh, spaces):
        self.mesh, self.spaces, self.dim = mesh, spaces, mesh.dim
        self.order, self.rows = max(space.order for space in spaces), [len(space.cell.nodes) for space in spaces]

    @property
    def sizes(self):
        return {"element": self.count, "node": max(self.rows)}

    def of_shapes(self):
        """(space, number of its first element, number of nodes) of each block."""
        return zip(self.spaces, self.mesh.first, self.rows)

    def of_block(self, values, first, space):
        """The values (..., node, element) at the nodes of the elements of a block."""
        return values[..., :len(space.cell.nodes), first:first + space.count]

    def filled(self, values):
        result = values.copy()
        for space, first, rows in self.of_shapes():
            some = slice(first, first + space.count)
            result[:, rows:, some] = values[:, :1, some]
        return result

    def position(self, node, element):
        """Coordinates of a node of an element."""
        block = int(np.searchsorted(self.mesh.first, element, side="right")) - 1
        return self.spaces[block].position(node, element - self.mesh.first[block])

    def bounds(self):
        """Lowest and highest coordinates."""
        found = [space.bounds() for space in self.spaces]
        return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)

    def evaluation(self, x):
        """The `Evaluation` of fields at points x (point, dim); on a face it takes the value in one of the face's elements."""
        quality, places, block = np.full(len(x), -np.inf), np.full(len(x), -1), np.full(len(x), -1)
        parts, numbers, blocks = [], np.zeros(len(x), np.int64), list(self.of_shapes())
        for number, (space, first, _) in enumerate(blocks):
            asked = np.flatnonzero(quality < 1)          # as of `Locator.held`
            found = space.evaluation(x[asked])
            better = found.quality > quality[asked]
            here = asked[better]
            quality[here], block[here], places[here] = found.quality[better], number, found.places[better] + first
        for number, (space, _, _) in enumerate(blocks):
            here = np.flatnonzero(block == number)
            if len(here):
                parts.append((here, len(space.cell.nodes), space.evaluation(x[here]).values))
                numbers[here] = self.mesh.numbers[places[here]]
        left = np.flatnonzero(block < 0)
        back = np.argsort(np.concatenate([*(here for here, _, _ in parts), left]))

        def values(q):
            nothing = np.full((len(q), len(left)), np.nan)
            return np.concatenate([*(at(q[:, :rows, here]) for here, rows, at in parts), nothing], axis=1)[:, back]
        coords = {"cell_number": (("point",), numbers, {"long_name": "position among the cells of the mesh file, from 0"})}
        return Evaluation(places, values, block < 0, coords, quality)

    def _with_faces(self, boundary, role):
        """The blocks that have faces of a boundary, with the names that they have faces of."""
        face_rows(self.mesh, boundary, role)
        names = (boundary,) if isinstance(boundary, str) else tuple(boundary)
        for space, first, rows in self.of_shapes():
            known = space.mesh.boundaries | space.mesh.interfaces
            here = tuple(name for name in names if len(known[name]))
            if here:
                yield space, first, rows, here

    def trace(self, boundary, role, units):
        """The `Trace` of a named boundary, or of several, at points of quadrature that is exact for squares of the fields: as
        many on each face as on that with the most, the first one again with the weight 0.

        Raises ValueError for an unknown name."""
        parts = self.boundary_parts(boundary, role, 2 * self.order)
        ends, points = np.cumsum([0, *(len(part.places) for part in parts)]), max(part.shape[1] for part in parts)

        def filled(values, more=None):
            """Values (..., face, point) with columns of the first point, or of a number, up to `points`."""
            first = values[..., :1] if more is None else np.full_like(values[..., :1], more)
            return np.concatenate([values, np.repeat(first, points - values.shape[-1], axis=-1)], axis=-1)

        def values(q):
            return np.concatenate([filled(np.stack(part.values(q[:, :, begin:end])))
                                   for part, begin, end in zip(parts, ends, ends[1:])], axis=1)

        at_points = ("face", "face_node")
        coords = {}
        for d, axis in enumerate(AXES[:self.dim]):
            x, n = (np.concatenate([filled(np.broadcast_to(vectors[d], part.shape)) for part, vectors in zip(parts, each)])
                    for each in ([part.x for part in parts], [part.n for part in parts]))
            coords[axis] = at_points, x, {"long_name": f"{axis} of the points", "units": units("x")}
            coords[f"normal_{axis}"] = at_points, n, {"long_name": f"{axis} component of the outward unit normal"}
        weights = np.concatenate([filled(part.weights, 0.0) for part in parts])
        places = np.concatenate([part.places for part in parts])
        coords["weight"] = at_points, weights, {"long_name": "weight of quadrature, with the face's measure",
                                                "points": "quadrature"}
        coords["area"] = ("face",), weights.sum(axis=1), {"long_name": "measure of the face"}
        coords["cell_number"] = ("face",), np.asarray(self.mesh.numbers, "int64")[places], {
            "long_name": "position among the cells of the mesh file, from 0"}
        return Trace(places, values, dict(zip(at_points, weights.shape)), coords)

    def boundary_parts(self, boundary, role, degree=None):
        """The `Part`s of a named boundary, or of several. Raises ValueError for an unknown name."""
        return [Part(part.places + first, part.x, part.shape, part.n,
                     lambda q, part=part, rows=rows: part.values(q[:, :rows]),
                     lambda v, part=part, first=first, space=space: part.spread(v[first:first + space.count]), part.integrate,
                     part.weights)
                for space, first, rows, names in self._with_faces(boundary, role)
                for part in space.boundary_parts(names, role, degree)]

    def parts(self, role="", degree=None, extra=4):
        """Yield the domain as `Part`s, block by block, as the spaces of the blocks do."""
        for space, first, _ in self.of_shapes():
            for part in space.parts(role, degree, extra):
                def values(q, part=part, first=first, space=space):
                    return part.values(self.of_block(q, first, space))

                def spread(v, part=part, first=first, space=space):
                    return part.spread(v[first:first + space.count])
                places = slice(part.places.start + first, min(part.places.stop, space.count) + first)
                yield Part(places, part.x, part.shape, None, values, spread, part.integrate)

    def mean(self, values):
        """Means over the elements of a field (element, node)."""
        return np.concatenate([space.mean(values[first:first + space.count, :rows]) for space, first, rows in self.of_shapes()])

    def integral(self, values):
        """Integral of fields (..., node, element)."""
        return sum(space.integral(self.of_block(values, first, space)) for space, first, _ in self.of_shapes())

    def norm(self, values):
        """L2 norm of fields (..., node, element)."""
        return np.sqrt(sum(space.norm(self.of_block(values, first, space)) ** 2 for space, first, _ in self.of_shapes()))

    def error(self, values, exact, t):
        """L2 norm of u - exact(x, t) per variable, (variable,)."""
        return np.sqrt(sum(space.error(self.of_block(values, first, space), exact, t) ** 2
                           for space, first, _ in self.of_shapes()))
