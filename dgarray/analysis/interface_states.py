"""The state of the numerical flux on a plane interface: more accurate than the traces of the cells beside it.

A cell's own trace of a wave that enters it converges at the order of the polynomials, the wave that leaves it at about twice
that.  The flux takes each wave from the side that it leaves, so its state has both at the higher order.
Adjerid, Devine, Flaherty & Krivodonova 2002.
"""
import numpy as np

from ..methods.physics import numerical_flux
from ..physics.declared import declared
from ..physics.fluxes import upwind
from ..physics.laws.law import cross, dot
from ..physics.pointwise import components
from ..physics.trace import call, record
from ..spaces.parts import face_rows
from .record_origin import kind_of, law_at

PLANE = 1e-6                # deviation of normals from their mean that counts as rounding
SAME = 1e-9                 # distance of nodes on both sides, as a part of the mesh's size, that counts as rounding


def flux_states(operator, boundary, trace, read, read_beyond):
    """The function (state, t) -> q (variable, face, node) of the numerical flux on an interface, seen by the cells which its
    normal leaves: their own q, but in Maxwell's equations with the E and H along the faces, in acoustics the p and n . v, whose
    flux F(q) . n it is.

    boundary           name of the interface;  trace: the `Trace` of these cells
    read, read_beyond  functions state -> q on both sides;  read_beyond takes the nodes in the order of the other cells
    None where that is not known: for other laws, where the interface is not plane, and where nodes of both sides differ."""
    mesh = operator.mesh.whole
    left, right = (face_rows(mesh, boundary, "", beyond) for beyond in (False, True))
    law = law_at(mesh, operator.law, np.concatenate([left[:, 0], right[:, 0]]))
    normals = np.array([trace.coords[f"normal_{axis}"][1] for axis in "xyz"[:mesh.dim]])
    normals = normals[..., None] if normals.ndim == 2 else normals
    if kind_of(law) not in ("Maxwell", "Acoustics") or np.ptp(normals, axis=(1, 2)).max() > PLANE:
        return None
    other, read_other = read_beyond
    x, there = (np.array([each.coords[axis][1] for axis in "xyz"[:mesh.dim]]) for each in (trace, other))
    order = matched(x, there, np.ptp(mesh.points, axis=0).max()) if x.shape == there.shape else None
    if order is None:
        return None
    condition = operator.problem.boundary.get(boundary)
    condition = condition if declared(condition).between else None
    flux = numerical_flux(declared(condition).flux or operator.problem.flux or upwind, law)
    ml, mr = (record("m", *law.parameters)(**operator.parameters_beside(law, rows, x)) for rows in (left, right))
    at = tuple(x)
    n = tuple(np.broadcast_to(c, x.shape[1:]) for c in normals)
    profiles = call(condition.profiles, dict(x=at), "profiles") if declared(condition).profiles else {}
    p = record("p", *profiles)(*profiles.values())
    faces = np.arange(len(order))[:, None]

    def read_flux(state, t):
        l, r = tuple(read(state)), tuple(read_other(state)[:, faces, order])
        mine = mr
        if condition is not None:
            given = dict(l=l, r=r, n=n, x=at, t=t, ml=ml, mr=mr, p=p, law=law)
            r, mine = components(call(condition.between, given, "condition")[0], len(l)), ml
        star = components(call(flux, dict(l=l, r=r, n=n, x=at, t=t, ml=ml, mr=mine), "numerical flux"), len(l))
        return np.stack([c + np.zeros(x.shape[1:]) for c in state_of_flux(law, l, star, n)])
    return read_flux


def matched(x, there, size):
    """Numbers (face, node) of the nodes at `there` (dim, face, node) that lie at x; None where some do not."""
    distance = np.linalg.norm(x[:, :, :, None] - there[:, :, None, :], axis=0)
    found = distance.argmin(axis=2)
    off = np.take_along_axis(distance, found[..., None], axis=2).max(initial=0)
    return found if off <= SAME * size else None


def state_of_flux(law, q, star, n):
    """The state q with what the flux F* along the unit normal n says in place of its own: F* = (-n x H, n x E) of Maxwell's
    equations, (n . v, p n) of acoustics."""
    if not law.fields:
        more = star[0] - dot(q[1:], n)
        return (dot(star[1:], n), *(v + more * k for v, k in zip(q[1:], n)))
    (E, H), (turned_H, turned_E), n = law.fields(q), law.fields(star), law.direction(n)
    along_E, along_H = (tuple(sign * c for c in cross(n, field)) for sign, field in ((-1, turned_E), (1, turned_H)))
    return law.state(*(tuple(dot(field, n) * k + c for k, c in zip(n, along))
                       for field, along in ((E, along_E), (H, along_H))))
