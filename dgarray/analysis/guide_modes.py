"""Modes of a uniformly filled waveguide: fields across it, cutoffs and impedances, by finite elements on its cross-section.

A potential u solves the eigenproblem of the Laplacian on the cross-section, -laplace u = k_c^2 u.  With the unit vector d along
the guide, and waves exp(i omega t - i beta d . x), the fields across the guide are those of

    TE   H along d is u:   e = d x grad u,  du/dn = 0 at pec, u = 0 at pmc,   Z = omega mu / beta
    TM   E along d is u:   e = grad u,      u = 0 at pec, du/dn = 0 at pmc,   Z = beta / (omega eps)
    TEM  k_c = 0:          e = grad u,      u constant on each conductor,     Z = sqrt(mu / eps)
    beta = sqrt(omega^2 eps mu - k_c^2),    h = d x e

In 2D the field normal to the plane of the mesh is u: e = u z of the law TM (modes TE of the guide), h = u z of the law TE
(modes TM), and TEM where u is constant.  Pozar 2012, chapter 3.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve

from ..physics.boundary import pec
from ..physics.pointwise import components
from ..physics.trace import call
from ..support.wording import choose, plural
from .guide_sections import Section, medium_at, refuse_law, section_of
from .section_elements import SectionElements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mesh import Mesh
    from ..physics.laws import Law

DEGREE = 8              # of the finite elements
KINDS = "TEM", "TE", "TM"
SAME = 1e-6             # relative distance of cutoffs that count as one
MORE = 3                # modes found beyond those asked for, so that all with one cutoff are there


@dataclass(frozen=True, eq=False, repr=False)
class Mode:
    """A mode of a guide; `modes` makes them.

    name      of the kind with a number among this kind, by cutoff, such as "TE1"
    kind      "TEM", "TE" or "TM", of the guide
    cutoff    frequency, 0 of TEM
    eps, mu   of the medium in the guide
    section   the `dgarray.analysis.guide_sections.Section`
    electric  function of x (dim, point) that returns e (3, point): the field E across the guide, with integral |e|^2 dS = 1"""

    name: str
    kind: str
    cutoff: float
    eps: float
    mu: float
    section: Section
    electric: Callable

    def __repr__(self):
        return f"<Mode {self.name} of port {self.section.name!r}: cutoff {self.cutoff:.6g}>"

    @property
    def direction(self) -> np.ndarray:
        """The unit vector d into the device, with three components."""
        return np.pad(self.section.direction, (0, 3 - len(self.section.direction)))

    def fields(self, x: Sequence) -> tuple[np.ndarray, np.ndarray]:
        """e and h = d x e, (3, ...) each, at points x of the section, a tuple of `dim` arrays: integral of e x h . d dS = 1."""
        points = np.array(np.broadcast_arrays(*x), float)
        e = self.electric(points.reshape(len(points), -1))
        h = np.cross(self.direction[:, None], e, axis=0)
        return e.reshape(3, *points.shape[1:]), h.reshape(3, *points.shape[1:])

    def wave_number(self, frequency: Sequence[float]) -> np.ndarray:
        """beta = 2 pi sqrt((f^2 - cutoff^2) eps mu), nan at frequencies that are not above the cutoff."""
        f = np.asarray(frequency, float)
        square = np.where(f > self.cutoff, f**2 - self.cutoff**2, np.nan)
        return 2 * np.pi * np.sqrt(square * (self.eps * self.mu))

    def impedance(self, frequency: Sequence[float]) -> np.ndarray:
        """Z, the ratio of E to H across the guide of a wave along d, nan at frequencies that are not above the cutoff."""
        omega, beta = 2 * np.pi * np.asarray(frequency, float), self.wave_number(frequency)
        if self.kind == "TE":
            return omega * self.mu / beta
        return beta / (omega * self.eps)          # of TEM as well: there beta = omega sqrt(eps mu)


def modes(mesh: Mesh, law: Law, name: str, count: int = 1, walls: object = pec, kind: str | None = None,
          degree: int = DEGREE) -> list[Mode]:
    """The first modes of the guide whose cross-section is an interface of the mesh, by cutoff.

    law      Maxwell, in 2D TM or TE, or in 3D, with one medium without losses and dispersion at the section
    name     of the interface, a plane cross-section from wall to wall, whose normal points out of the device
    count    how many modes; in 3D those of the two kinds are counted together
    walls    dgarray.pec, dgarray.pmc, or {name of a boundary: one of them, "default": of all others}, such as the boundary
             conditions of a `Simulation`; by default pec
    kind     "TEM", "TE" or "TM": modes of this kind alone
    degree   of the finite elements on the section's faces
    Of modes with the same cutoff TE come before TM, and those with E along the first axis of space before others.  The sign is
    such that the integral of e, or, where it is 0, of e times a coordinate, is positive in its largest component.
    ValueError for other laws and names, a section that is not plane, not filled uniformly or does not end at walls, and where
    the section has fewer modes than `count`."""
    refuse_law(law)
    for what, value, least in (("count", count, 1), ("degree", degree, 2)):
        if not (isinstance(value, Integral) and value >= least):
            raise ValueError(f"{what}={value!r} is not allowed; it must be a whole number from {least}")
    kinds = KINDS if kind is None else (choose("kind", kind, KINDS),)
    section = section_of(mesh, name, walls)
    medium = medium_at(mesh, law, name)
    elements = SectionElements(section, degree)
    find = in_a_plane if law.dim == 2 else in_space
    # The shares of SAME put TE before TM where their cutoffs differ by rounding.
    found = sorted((each for each in find(elements, law, count + MORE) if each[0] in kinds),
                   key=lambda each: each[1] * (1 + SAME * KINDS.index(each[0])))
    if len(found) < count:
        raise ValueError(f"port {name!r}: mode {count} does not exist{'' if kind is None else f' of the kind {kind}'}; its "
                         f"section has {plural(len(found), 'mode')} with degree={degree}")
    speed, numbers, result = (medium["eps"] * medium["mu"]) ** -0.5, dict.fromkeys(KINDS, 0), []
    for kind, k, values in found[:count]:
        numbers[kind] += 1
        result.append(Mode(f"{kind}{numbers[kind]}", kind, float(k * speed / (2 * np.pi)), **medium, section=section,
                           electric=elements.function(elements.signed(values))))
    return result


def given_mode(mesh: Mesh, law: Law, name: str, field: Callable, kind: str, cutoff: float, walls: object = pec) -> Mode:
    """The mode with the field E across the guide that a function gives, such as an exact one, at any scale.

    field    function of x that returns the three components of E, numbers or arrays, without one along the guide
    kind     "TEM", "TE" or "TM";  cutoff: its frequency, 0 of TEM;  mesh, law, name, walls: as of `modes`
    ValueError as of `modes`, for a field that is 0, has a component along the guide or components that the law lacks, and for a
    cutoff that is negative, or not 0 of TEM."""
    refuse_law(law)
    choose("kind", kind, KINDS)
    if not (isinstance(cutoff, Real) and np.isfinite(cutoff) and cutoff >= 0 and (cutoff == 0) == (kind == "TEM")):
        allowed = "0" if kind == "TEM" else "positive"
        raise ValueError(f"cutoff={cutoff!r} is not allowed of a mode {kind}; it must be {allowed}")
    section = section_of(mesh, name, walls)
    medium = medium_at(mesh, law, name)
    elements = SectionElements(section, DEGREE)

    def electric(x):
        found = components(call(field, {"x": tuple(x)}, "field"), 3, "the field of a mode")
        return np.array([np.broadcast_to(np.asarray(c, float), x.shape[1:]) for c in found])
    x = section.origin[:, None, None] + np.einsum("kd,kpe->dpe", section.axes, elements.x)
    e = electric(x.reshape(len(x), -1)).reshape(3, *x.shape[1:])
    scale, rounding = np.sqrt(elements.integral(np.sum(e**2, axis=0))), 1e-9 * np.abs(e).max()
    along = np.abs(np.tensordot(np.pad(section.direction, (0, 3 - law.dim)), e, axes=1)).max()
    absent = [f"E{axis}" for axis, c in zip("xyz", e) if f"E{axis}" not in law.variables and np.abs(c).max() > rounding]
    wrong = ("is 0" if not scale > 0 else f"has {', '.join(absent)}, which {law!r} lacks" if absent else
             "has a component along the guide" if along > rounding else "")
    if wrong:
        raise ValueError(f"port {name!r}: the field of the mode {wrong}; give the three components of E across the guide")
    return Mode(kind, kind, float(cutoff), **medium, section=section, electric=lambda x: electric(x) / scale)


def in_a_plane(elements, law, count):
    """Modes [(kind, k_c, e (3, node, element))] in 2D: u is E or H along z."""
    electric = "Ez" in law.variables
    found = []
    for k, u in elements.eigenpairs(count, "pec" if electric else "pmc"):
        field = elements.scalar(u)
        # e = h x d of h = u z.
        found.append(("TEM" if k == 0 else "TE" if electric else "TM", k, field if electric else -elements.across(field)))
    return found


def in_space(elements, law, count):
    """Modes [(kind, k_c, e (3, node, element))] in 3D."""
    found = [("TEM", 0.0, elements.gradient(u)) for u in static_potentials(elements)]
    for kind, fixed in (("TE", "pmc"), ("TM", "pec")):
        pairs = [(k, elements.gradient(u)) for k, u in elements.eigenpairs(count + 1, fixed) if k > 0]
        pairs = [(k, elements.across(e)) for k, e in pairs] if kind == "TE" else pairs
        found += [(kind, k, e) for k, e in along_axes(elements, pairs)]
    return found


def static_potentials(elements):
    """Potentials u of the modes TEM, one fewer than there are conductors: u = 1 on one of them and 0 on the others."""
    edges = elements.on_edge("pec")
    if not edges:
        return []
    pairs = np.concatenate([np.stack([edge, np.roll(edge, 1)], axis=1) for edge in edges])
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(elements.count, elements.count))
    label = connected_components(graph, directed=False)[1]
    on_walls = np.unique(np.concatenate(edges))
    free, found = np.setdiff1d(np.arange(elements.count), on_walls), []
    for conductor in np.unique(label[on_walls])[1:]:
        u = np.zeros(elements.count)
        u[on_walls] = label[on_walls] == conductor
        u[free] = spsolve(elements.K[free][:, free].tocsc(), -(elements.K @ u)[free])
        for other in found:
            u = u - (other @ (elements.K @ u)) / (other @ (elements.K @ other)) * other
        found.append(u)
    return found


def along_axes(elements, pairs):
    """The pairs (k_c, e), those with the same k_c turned so that the first have most of E along the first axis of space."""
    found, axes = [], np.array([3.0, 2.0, 1.0])
    while pairs:
        group = [e for k, e in pairs if k - pairs[0][0] <= SAME * pairs[0][0]]
        k, pairs = pairs[0][0], pairs[len(group):]
        at_points = elements.at_points(np.array(group))
        shares = elements.integral(np.einsum("c,icpe,jcpe->ijpe", axes, at_points, at_points))
        found += [(k, np.tensordot(turn, group, axes=1)) for turn in np.linalg.eigh(shares)[1].T[::-1]]
    return found
