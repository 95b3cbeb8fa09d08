"""The constants of an element set's program: all that is known when it is made."""
from functools import cached_property, partial

import numpy as np

from ...mesh.faces import by_kind
from ...program.arrays import Domain, gather
from .connectivity import between


class SetConstants:
    """The constants of a set: matrices, metrics, parameters, index lists of faces, from its tables.

    A parameter H of the law is called m.H, so that users may give it any name.

    trace    the `dgarray.program.arrays.Trace` of the program;  name: of the set, "" where there is one
    all, own   the `Domain`s of all its elements, and of those that are not copies of other parts' elements, which come first"""

    def __init__(self, trace, tables, name=""):
        self.trace, self.tables, self.functions = trace, tables, tables.physics.functions
        self.basis, self.geometry = tables.basis, tables.geometry
        self.prefix = f"{name}: " if name else ""
        self.all = Domain(f"{self.prefix}elements", tables.elements)
        self.own = self.all if tables.owned == tables.elements else Domain(f"{self.prefix}own elements", tables.owned)

    def constant(self, name, shape, held, domain=None, kind="real"):
        return self.trace.constant(self.prefix + name, shape, domain, held, kind)

    def matrix(self, name, values):
        return self.constant(name, values.shape, lambda: values)

    def metric(self, name):
        """Metrics of the own elements, by the name in `Geometry.shapes`."""
        return self.all_metric(name).first(self.own)

    def all_metric(self, name):
        """The same of all elements."""
        return self.constant(name, self.geometry.shapes[name], lambda: getattr(self.geometry, name), self.all)

    @property
    def gradients(self):
        """dr_k / dx_d as the components k d."""
        found = self.metric("gradients")
        return found.reshape(-1, *found.lead[2:])

    @property
    def inverse(self):
        return self.metric("inverse")

    @cached_property
    def needs_x(self):
        return self.tables.needs_x

    def positions(self, name, points):
        """x at reference points (point, dim) of all elements; None where nothing depends on it."""
        if not self.needs_x:
            return None
        shape = self.tables.dim, len(points), self.tables.elements
        return self.constant(name, shape, lambda: self.geometry.coordinates(points), self.all)

    @property
    def x(self):
        found = self.positions("x", self.basis.points)
        return found and found.first(self.own)

    @property
    def face_x(self):
        """x at the face points, or where the face nodes are nodes, at the nodes."""
        if self.basis.trace is None:
            return self.positions("x", self.basis.points)
        return self.positions("x at faces", self.basis.face_points)

    def parameters(self, place="volume"):
        """{name: values} of the law's parameters that vary in the own elements: one for an element, or those at the points of a
        place of `Media`."""
        return {name: values.first(self.own) for name, values in self.all_parameters(place).items()}

    def all_parameters(self, place="volume"):
        """{name: values} as of `parameters`, in all elements, copies of other parts' included."""
        tables, found = self.tables, {}
        for name in tables.physics.varying:
            if name in tables.media.names:
                points = {"volume": self.basis.points, "faces": self.basis.face_points}.get(place)
                count = len(tables.media.points if points is None else points)
                found[name] = self.constant(f"m.{name} at {place}", (count, tables.elements),
                                            lambda name=name: getattr(tables.media, place)[name], self.all)
            else:
                found[name] = self.constant(f"m.{name}", (tables.elements,),
                                            lambda name=name: tables.parameters[name], self.all)
        return found

    # Faces.

    @property
    def pairs(self):
        """The `Side`s (left, right) of the faces between two elements of the set, in lists."""
        lists, known = SortedFaces(self.tables), self.tables.faces.side_shapes
        if "counts" not in known:
            known["counts"] = [faces.cells.shape[1] for faces in lists.found]
        for number, count in enumerate(known["counts"]):
            if count:
                yield [Side(self, f"faces {number}", count, partial(lists.side, number, i), side)
                       for i, side in enumerate((" left", " right"))]

    @property
    def groups(self):
        """(`Group`, its `Side`) of the boundary faces with each condition; those at joins are left out."""
        for group in self.tables.faces.groups:
            if len(group.faces) and group.jump is not None:
                yield group, self.side_of(group)

    def side_of(self, group):
        """The `Side` of a `Group`."""
        return Side(self, f"boundary {group.name}", len(group.faces), lambda: (*group.faces.T, group.nodes, group.slots))


class SortedFaces:
    """The faces between two elements, sorted by element, so that neighbouring faces read neighbouring elements; found when
    first asked for."""

    def __init__(self, tables):
        self.tables = tables

    @cached_property
    def found(self):
        """The `FaceList`s, as of `connectivity.face_lists` but for the order."""
        mesh, lists = self.tables.mesh, []
        kinds = by_kind(mesh)
        for left, right in kinds.interior + kinds.halo:
            order = np.argsort(left[:, 0], kind="stable")
            lists.append(between(mesh, self.tables.basis.reference, left[order], right[order]))
        return lists

    def side(self, number, i):
        """(cells, sides, nodes, slots) of the left (0) or right (1) side of a list."""
        faces = self.found[number]
        return [values[i] for values in (faces.cells, faces.sides, faces.nodes, faces.slots)]


class Side:
    """One side of a list of faces: normals, scale, parameters, the places of nodes and of face fluxes, as constants.

    faces   name of the list;  side: which one it is, where the list has two;  count: of the faces
    found   a function that returns cells, local faces (face,), nodes and slots (face point, face)
    Arrays are made when a constant is asked for: shapes are known from the program before, so that the second program of a set
    costs none."""

    def __init__(self, constants, faces, count, found, side=""):
        self.constants, self.name, self.count, self.found = constants, faces + side, count, found
        self.tables, self.faces = constants.tables, Domain(constants.prefix + faces, count)

    @cached_property
    def arrays(self):
        return dict(zip(("cells", "sides", "nodes", "slots"), self.found()))

    def constant(self, name, held, kind="real"):
        """An array (.., face), which held() returns."""
        known = self.tables.faces.side_shapes
        if (self.name, name) not in known:
            known[self.name, name] = held().shape[:-1]
        shape = *known[self.name, name], self.count
        return self.constants.constant(f"{name}, {self.name}", shape, held, self.faces, kind)

    @property
    def nodes(self):
        """The places of the face nodes of this side among the values at faces."""
        return self.constant("nodes", lambda: self.arrays["nodes"], "integer")

    @property
    def slots(self):
        return self.constant("slots", lambda: self.arrays["slots"], "integer")

    @cached_property
    def metrics(self):
        return self.tables.geometry.at_sides(self.arrays["sides"], self.arrays["cells"], self.arrays["nodes"])

    @property
    def normals(self):
        return self.constant("normals", lambda: self.metrics[0])

    @property
    def scale(self):
        return self.constant("J_face / J", lambda: self.metrics[1])

    @property
    def parameters(self):
        tables, names = self.tables, self.tables.media.names
        of_faces = {name: self.constant(f"m.{name}", lambda name=name: tables.parameters[name][self.arrays["cells"]])
                    for name in tables.physics.varying if name not in names}
        return of_faces | {name: self.constant(f"m.{name}", lambda name=name: tables.media.faces[name].reshape(-1)[
            self.arrays["nodes"]]) for name in names}

    @property
    def x(self):
        found = self.constants.face_x
        return found and gather(found, self.nodes)


def given(**arguments):
    """Arguments without those that are None: functions that do not depend on x have none."""
    return {name: value for name, value in arguments.items() if value is not None}
