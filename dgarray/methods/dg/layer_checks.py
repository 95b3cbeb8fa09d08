"""Checks of absorbing layers: conditions at their faces, sources and media, through which waves in them must go on.

In a layer that filters derivatives, `dgarray.physics.layer_filters`, fields are the law's own.  A wall or source goes on in it
if it does not change along the depth, as media do not; what enters at its outer end is absorbed at once.  In other layers the
fields are multiplied by stretches: there walls that set components to zero hold, and nothing else does."""
import warnings

import numpy as np

from ...physics import boundary as conditions
from ...physics.declared import declared
from ...physics.laws.law import argument, shown
from ...physics.pointwise import at_points, components
from ...physics.trace import call, record
from .auxiliary_sets import speeds_of_layers
from .boundary_setup import boundary_groups, face_values, parameters_on
from .interfaces import conditions_inside
from .sets import numbers_by_region

ZERO = conditions.pec, conditions.pmc, conditions.wall, conditions.pressure_release          # set components to zero
SMALL = 1e-4          # of the largest value of a source or field: what is smaller counts as none
END, ALONG = 0.99, 0.7          # depth of the outer end's corners, and cosine between its normal and the depth, at least
# Relative change of a medium along the depth that is said. A pulse along the normal reflects a twentieth of a linear change,
# here -86 dB, as layers do themselves.
CHANGE = 1e-3
FIRST = 1e-3          # depth at which a medium counts as that where the layer begins: at its face functions may jump
CROSSINGS, TIMES = 20.0, 41          # times at which functions are looked at, and how often waves cross the mesh until then


def check_layers(problem):
    """Raise ValueError for a condition or source that waves in an absorbing layer of the mesh do not go on through; warn of
    media in which they reflect there."""
    mesh, laws = problem.mesh.whole, problem.law.laws
    of_law = None if laws is None else numbers_by_region(mesh, laws, "law")
    laws = [problem.law] if laws is None else list(laws.values())
    for layer, speed in zip(mesh.layers, speeds_of_layers(mesh, laws, of_law)):
        inside = np.isin(np.arange(mesh.cell_count), mesh.regions[layer.region])
        law = laws[0 if of_law is None else of_law[inside][0]]
        places = Places(mesh, layer, law, times(mesh, speed))
        for number, each in enumerate(laws):
            check_media(mesh, layer, each, np.flatnonzero(inside if of_law is None else inside & (of_law == number)))
        for name, faces, condition in boundary_groups(mesh, problem.boundary):
            here = faces[inside[faces[:, 0]]]
            if len(here):
                places.check_boundary(name, here, condition, face_values(mesh, here, condition))
        for left, right, condition in conditions_inside(mesh, problem.boundary):
            here = inside[left[:, 0]] & inside[right[:, 0]]
            if here.any():
                places.check_interface(left[here], condition)
        if problem.source is not None:
            places.check_source(problem.source, np.flatnonzero(inside))


def check_media(mesh, layer, law, cells):
    """Warn of functions of x for the law's parameters that change along the depth of a layer, in its cells with this law."""
    x = mesh.centroids[cells].T
    for name, value in law.parameters.items():
        if not callable(value) or not len(cells):
            continue
        here, first = (np.broadcast_to(np.asarray(call(value, dict(x=tuple(places)), name), float), len(cells))
                       for places in (x, layer.before(x, FIRST)))
        change = np.abs(here - first)
        if change.max() > CHANGE * np.abs(here).max():
            worst = change.argmax()
            warnings.warn(f"{argument(law, name)} changes along the depth of the absorbing layer {layer.region!r}, from "
                          f"{first[worst]:.3g} where it begins to {here[worst]:.3g} at "
                          f"({', '.join(f'{c:.3g}' for c in x[:, worst])}): waves reflect there; let the function go on in the "
                          "layer as it is where the layer begins, as by np.clip of x", stacklevel=2)


def times(mesh, speed):
    """Times (time, 1) from 0 in which waves cross the mesh some times."""
    size = np.ptp(mesh.points, axis=0).max()
    return (np.linspace(0, CROSSINGS, TIMES) * size / (speed if speed > 0 else 1.0))[:, None]


def instead(layer):
    """The layer to take in place of one whose fields are stretched."""
    return ("NodalDG and a layer of other cells, pml(..., split=False)" if layer.slabs else
            "a layer of new cells around a box, pml(mesh, thickness, cells)")


class Places:
    """Faces and elements in one layer, with the law there, at times (time, 1)."""

    def __init__(self, mesh, layer, law, times):
        self.mesh, self.layer, self.law, self.times = mesh, layer, law, times
        random = np.random.default_rng(0)
        self.states = [tuple(row) for row in random.uniform(0.5, 1.5, (2, len(law.variables)))]

    def ends(self, faces):
        """Which faces (face, 2) lie at the layer's outer end, across its depth."""
        mesh, layer, n = self.mesh, self.layer, self.mesh.normals[tuple(faces.T)].T
        x = mesh.points[mesh.face_points(faces)].transpose(2, 0, 1)
        if not layer.straight:
            along = sum(a * b for a, b in zip(layer.direction(mesh.face_centres(faces).T), n))
            return (layer.depth(x).min(axis=1) > END) & (np.abs(along) > ALONG)
        depths = [np.broadcast_to(depth, x.shape[1:]).min(axis=1) for depth in layer.depth(x)]
        return np.any([(depth > END) & (np.abs(n[k]) > ALONG) for k, depth in enumerate(depths)], axis=0)

    def given(self, faces, x, q, extra):
        """Arguments of a condition at faces with a state q that is the same everywhere; x (dim, face)."""
        parameters = {name: values[faces[:, 0]] for name, values in parameters_on(self.mesh, self.law).items()}
        numbers = {name: value for name, value in self.law.parameters.items()
                   if not callable(value) and not isinstance(value, dict)}
        m = record("m", *self.law.parameters)(**numbers | parameters)
        return dict(q=q, n=tuple(self.mesh.normals[tuple(faces.T)].T), x=tuple(x), t=self.times, m=m, law=self.law,
                    **({"face": record("face", *extra)(**extra)} if extra else {}))

    def outside(self, condition, faces, x, q, extra):
        """The exterior states (variable, time, face)."""
        with np.errstate(all="ignore"):
            found = components(call(condition, self.given(faces, x, q, extra), "boundary"), len(self.law.variables))
        return np.stack([np.broadcast_to(c, (len(self.times), len(faces))) for c in found])

    def check_boundary(self, name, faces, condition, extra):
        """Raise ValueError for a boundary condition that does not fit at faces in the layer."""
        layer, x, end = self.layer, self.mesh.face_centres(faces).T, self.ends(faces)
        what = f"boundary {name!r}: {shown(condition)}"
        zeros = self.outside(condition, faces, x, (0.0,) * len(self.law.variables), extra)
        where = f"the absorbing layer {layer.region!r}"
        if np.abs(zeros[..., end]).max(initial=0) > 0:
            raise ValueError(f"{what} is at the outer end of {where}, which absorbs what enters there; give "
                             "dgarray.total_field at an interface before the layer, or end the layer at other sides")
        if condition in ZERO or end.all():
            return
        if not layer.by_derivatives:
            raise ValueError(f"{what} goes on in {where}, whose fields are stretched, so that it would be another one there; "
                             f"allowed: {', '.join(shown(each) for each in ZERO)}, or {instead(layer)}")
        for q in [(0.0,) * len(self.law.variables), *self.states]:
            here, before = (self.outside(condition, faces[~end], places[:, ~end], q, extra if not extra else {
                key: values[~end] for key, values in extra.items()}) for places in (x, layer.before(x)))
            if np.abs(here - before).max() > SMALL * max(np.abs(here).max(), np.abs(before).max()):
                raise ValueError(f"{what} goes on in {where}, and changes along its depth there; it must be the same along the "
                                 "depth, as a wave along the layer is, or end before: give dgarray.total_field at an interface "
                                 "before the layer, or layers on all sides")

    def check_interface(self, faces, condition):
        """Raise ValueError for the condition of an interface that does not fit at faces in the layer."""
        layer, x = self.layer, self.mesh.face_centres(faces).T
        where = f"{condition!r} goes on in the absorbing layer {layer.region!r}"
        if not layer.by_derivatives:
            raise ValueError(f"{where}, whose fields are stretched, so that it would be another one there; end it before, or "
                             f"take {instead(layer)}")
        found = []
        for places in (x, layer.before(x)):
            given = self.given(faces, places, self.states[0], {})
            given |= dict(l=self.states[0], r=self.states[1], ml=given["m"], mr=given["m"])
            if declared(condition).profiles:
                profiles = call(condition.profiles, dict(x=tuple(places)), "profiles")
                given["p"] = record("p", *profiles)(**profiles)
            seen = [c for state in call(condition.between, given, "condition") for c in state]
            found.append(np.stack([np.broadcast_to(c, (len(self.times), len(faces))) for c in seen]))
        if np.abs(found[0] - found[1]).max() > SMALL * np.abs(found).max():
            raise ValueError(f"{where}, and changes along its depth there; it must be the same along the depth, or end before")

    def check_source(self, source, cells):
        """Raise ValueError for a source that does not fit in the layer's elements."""
        layer, x = self.layer, self.mesh.centroids[cells].T
        numbers = {name: None if callable(value) or isinstance(value, dict) else float(value)
                   for name, value in self.law.parameters.items()}
        varying = parameters_on(self.mesh, self.law)

        def at(places, some, q):
            m = record("m", *numbers)(**numbers | {name: values[some] for name, values in varying.items()})

            def function(x, t):
                return call(source, dict(q=q, x=x, t=t, m=m), "source")
            with np.errstate(all="ignore"):
                found = [at_points(function, tuple(places), float(t), len(self.law.variables), "source",
                                   self.law.variables) for t in self.times[:, 0]]
            return np.array([[np.broadcast_to(c, places.shape[1:]) for c in each] for each in found])
        for q in [(0.0,) * len(self.law.variables), self.states[0]]:
            largest = np.abs(at(self.mesh.centroids.T, np.arange(self.mesh.cell_count), q)).max()
            here = at(x, cells, q)
            rest = here - at(layer.before(x), cells, q) if layer.by_derivatives else here
            if np.abs(rest).max() > SMALL * largest:
                worst = cells[np.abs(rest).max(axis=(0, 1)).argmax()]
                how, way = (("changes along the depth of", "be the same along the depth") if layer.by_derivatives else
                            ("is not zero in", f"take {instead(layer)}"))
                raise ValueError(f"source={shown(source)} {how} the absorbing layer {layer.region!r}, at "
                                 f"{self.mesh.position(np.array([[worst, 0]]))} by {np.abs(rest).max():.3g} of at most "
                                 f"{largest:.3g}; waves in the layer do not know it: it must end before the layer, "
                                 f"or {way}")
