"""All that a DG method needs of the elements of a set, in parts: basis, geometry, physics, faces, media."""
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...mesh.faces import Inner
from .basis import Basis
from .boundary_setup import parameters_on
from .geometry import Geometry
from .limiters.linear import LinearLimiterTables
from .limiters.tables import LimiterOptions, LimiterTables, NodalLimiterTables
from .media import Media
from .mortar_forms import mortar_form
from .physics import Physics
from .set_faces import SetFaces
from .shock_sensor import ShockSensor

NO_LIMITER = LimiterOptions()


@dataclass(eq=False, repr=False)
class Tables:
    """All that a DG method needs of the elements of a set, on the host in float64.

    mesh, boundary   of the problem
    basis            points and matrices on the reference cell
    geometry         metrics of the elements: an `AffineGeometry`, a `TensorGeometry` or a `CurvedGeometry`
    physics          the traced functions of law, numerical flux and source: a `Physics`, or a `TensorPhysics`
    limiting         what the method limits;  limits: the tables of the limiter applied after every stage; None: no limiter
    filter (node, node)   the matrix applied to the state after every step; None: no filter
    sensor           the `ShockSensor`, which says where elements take finite volumes on subcells; None: no shock capturing
    surface          the option of `ModalDG`

    elements, owned  number of all elements, and of the mesh's own, which come first; on a part of a mesh copies of other parts'
                     elements follow
    faces            the `SetFaces`: boundary conditions and index lists
    media            the `Media`: parameters of the law that vary inside of elements
    mortar_points (point, dim)   where mortars of elements of this kind evaluate states, see `points_at_mortars`; None: the
                     limiter need not know

    Arrays that grow with the mesh are computed on first use, or all at once by `build`."""

    mesh: Any
    boundary: Any
    physics: Physics
    basis: Basis
    geometry: Geometry
    limiting: LimiterOptions = NO_LIMITER
    filter: np.ndarray | None = None
    sensor: ShockSensor | None = None
    surface: str | None = None
    elements: int = field(init=False)
    owned: int = field(init=False)
    faces: SetFaces = field(init=False)
    media: Media = field(init=False)
    mortar_points: np.ndarray | None = field(init=False, default=None)

    unit: ClassVar = "element and stage"          # to which the roofline model's counts belong

    def __post_init__(self):
        self.elements, self.owned = len(self.mesh.cells), self.mesh.owned
        self.faces = SetFaces(self.mesh, self.basis.reference, self.boundary, self.physics)
        self.media = Media(self.mesh, self.basis, self.physics)

    law = property(lambda self: self.physics.law)
    variables = property(lambda self: self.physics.variables)
    order = property(lambda self: self.basis.order)
    rows = property(lambda self: self.basis.rows)
    dim = property(lambda self: self.mesh.dim)
    sets = property(lambda self: {"": self})          # those of all element sets

    def build(self):
        """Compute all arrays, in an order that keeps the peak memory low; returns the tables."""
        self.geometry.build()
        self.parameters          # noqa: B018
        self.media.build()
        for group in self.faces.groups:
            group.nodes          # noqa: B018
        return self

    def part(self, cells):
        """The tables of some of the elements alone, with a zero exterior state at the faces where they are cut out."""
        mesh = self.mesh.part(cells, Inner.CUT)
        return replace(self, mesh=mesh, geometry=self.geometry.on(mesh))

    @cached_property
    def parameters(self):
        """The law's parameters that vary in space, {name: (element,)}, at the centroids; the others are constants in the
        functions."""
        return parameters_on(self.mesh, self.law)

    @cached_property
    def limits(self):
        """`LimiterTables` of modes where elements have all neighbours in their own set and are straight."""
        if self.limiting == NO_LIMITER:
            return None
        if self.basis.diagonal and self.limiting.positivity and not self.limiting.limiter:
            return NodalLimiterTables(self.limiting, self)
        if self.basis.modal and self.geometry.affine and not self.faces.at_joins:
            return LimiterTables(self.limiting, self)
        return LinearLimiterTables(self.limiting, self)

    @cached_property
    def mortar_form(self):
        """How mortars give the flux to these elements, "projected", "linear" or "split": see `dgarray.methods.dg.mortars`."""
        return mortar_form(self.physics, self.basis.kind, self.physics.volume_flux)

    @cached_property
    def needs_x(self):
        """Whether any function of the physics depends on the position x, boundary conditions included."""
        return self.physics.needs_x or any(
            group.jump.depends_on("x") for group in self.faces.groups if group.jump is not None)

    @cached_property
    def speeds_inside(self):
        """Where wave speeds are maximised over all points, whether these include the points of the volume besides those of all
        faces; up to order 1 they do not, because a linear polynomial is largest on a face."""
        return self.physics.weak and self.physics.speeds_everywhere and self.order > 1
