"""Checks of the functions given to boundary conditions, by their values on the boundary at the start.

The functions `check_...` raise ValueError; of a grid `faces` is one side, (axis, end).
"""
import numpy as np

from .declared import declared
from .laws.law import argument
from .pointwise import at_points
from .trace import arguments, call

PARTS = 4                   # of an edge, at whose ends the functions are looked at
LEAST_COSINE = 0.17         # of the angle between a curved wall's normal and the face's: 80 degrees


def check_normal(normal, mesh, faces, law):
    """That the normal of a curved wall is finite, not zero, and neither tangential nor nearly so."""
    x = face_places(mesh, faces, 0)
    N = values(normal, x, "the normal of curved_wall", "xyz"[:law.dim])
    with np.errstate(all="ignore"):
        cosine = np.abs(np.einsum("dfs,fd->fs", N, face_normals(mesh, faces))) / np.linalg.norm(N, axis=0)
    wrong = np.argwhere(~(cosine > LEAST_COSINE))
    if len(wrong):
        raise ValueError(f"the normal of curved_wall is {shown_at(N, wrong[0])} at {shown_at(x, wrong[0])}; "
                         "it must be finite, not zero, and neither tangential nor nearly so")


def check_state(g, condition, mesh, faces, law):
    """That the state g(x, t) is finite and admissible at t = 0."""
    check_parts(g, mesh=mesh, faces=faces, law=law)
    x, role = face_places(mesh, faces, 1), f"the state of {condition}"
    q = values(g, x, role, law.variables)
    finite = np.isfinite(q).all(axis=0)
    good = finite
    if law.admissible is not None and not {*arguments(law.admissible)} - {"q", "x", "t"}:
        with np.errstate(all="ignore"):
            good = finite & call(law.admissible, dict(q=tuple(q), x=tuple(x), t=0.0))
    wrong = np.argwhere(~good)
    if len(wrong):
        hint = f"; law.conservative computes it from {', '.join(law.primitive_variables)}" if law.conservative else ""
        raise ValueError(f"{role} is not {'admissible' if finite.all() else 'finite'} at {shown_at(x, wrong[0])}, t = 0: "
                         f"({', '.join(law.variables)}) = {shown_at(q, wrong[0])}{hint}")


def check_medium(wave, medium, mesh, faces, law):
    """That the law has the variables of a wave, and at all faces its medium, {parameter: number}."""
    x = face_places(mesh, faces, 1)
    beside = law.internal.parameters if law.internal is not None else ()
    if set(medium) != set(law.parameters) - {*beside, *law.added} or tuple(wave.variables) != tuple(law.variables):
        raise ValueError(f"{wave!r} is a wave of another law than {law!r}, with {', '.join(wave.variables)}; give plane_wave, "
                         "or what made it, that one")
    for name, value in law.dispersive.items():
        regions = value if isinstance(value, dict) else {}
        inside = [np.isin(faces[:, 0], mesh.regions[str(region)]).any() for region in regions]
        if not regions or any(inside):
            raise ValueError(f"{wave!r} is a wave in a medium without dispersion, but at the faces of its condition "
                             f"{argument(law, name)} of {law!r} is dispersive")
    for name, number in medium.items():
        values = parameter_at(mesh, faces, x, law.parameters.get(name, number))
        wrong = np.argwhere(~np.isclose(values, number, rtol=1e-9, atol=0))
        if len(wrong):
            raise ValueError(f"{wave!r} is a wave in a medium with {argument(law, name)}={number:g}, but at the faces of its "
                             f"condition, at {shown_at(x, wrong[0])}, it is {values[tuple(wrong[0])]:g}; it must be the "
                             "same there")


def parameter_at(mesh, faces, x, value):
    """The values (face, point) of a law's parameter, a number, {region: number} or function, at points x of faces, rows
    (element, local face); of a function a hair inside of the elements, as media may jump at faces."""
    if callable(value):
        x = x if mesh.structured else mesh.a_hair_inside(x, faces[:, :1])
        return np.broadcast_to(np.asarray(call(value, dict(x=tuple(x)), "parameter"), float), x.shape[1:])
    values = np.full(x.shape[1:], np.nan)
    for region, number in value.items() if isinstance(value, dict) else ():
        values[np.isin(faces[:, 0], mesh.regions[str(region)])] = number
    return values if isinstance(value, dict) else np.full_like(values, value)


def check_parts(*parts, mesh, faces, law):
    """The checks of those parts of a condition that have one."""
    for part in parts:
        if check := declared(part).check:
            check(mesh, faces, law)


def check_pressure(p, mesh, faces):
    """That the pressure, a number or a function of x and t, is positive at t = 0."""
    if callable(p):
        x = face_places(mesh, faces, 1)
        wrong = np.argwhere(~(values(p, x, "the pressure of pressure_outflow", ("p",))[0] > 0))
        if len(wrong):
            raise ValueError(f"the pressure of pressure_outflow is not positive at {shown_at(x, wrong[0])}, t = 0")


def face_places(mesh, faces, least):
    """Points (dim, face, point) of faces, rows (element, local face): their barycentric coordinates are multiples of 1 / PARTS,
    at least `least` of them, so that 0 takes corners too; on quadrilaterals, those along each edge; on a side of a grid, its
    centre."""
    if mesh.structured:
        return grid_places(mesh, *faces)
    corners = mesh.points[mesh.face_points(faces)]
    count = min(corners.shape[1], 3)
    shares = np.array([w for w in np.ndindex((PARTS + 1,) * count) if sum(w) == PARTS and min(w) >= least]) / PARTS
    if corners.shape[1] == 4:
        line = np.array([(PARTS - i, i) for i in range(least, PARTS + 1 - least)]) / PARTS
        shares = np.einsum("ia,jb->ijab", line, line).reshape(-1, 4)
    return np.einsum("sc,fcd->dfs", shares, corners)


def grid_places(grid, axis, end):
    """The centres of the faces on one side of a grid, (dim, face, 1)."""
    lines = [a + h * (np.arange(n) + 0.5) for a, h, n in zip(grid.lower, grid.spacing, grid.cells)]
    lines[axis] = [(grid.lower, grid.upper)[end][axis]]
    return np.stack([c.reshape(-1, 1) for c in np.meshgrid(*lines, indexing="ij")])


def face_normals(mesh, faces):
    """Outward unit normals (face, dim) of the faces of a mesh, or of one side of a grid."""
    if not mesh.structured:
        return mesh.normals[tuple(faces.T)]
    axis, end = faces
    return np.eye(mesh.dim)[[axis]] * (2 * end - 1)


def values(function, x, role, names):
    """The components of function(x, t) at t = 0 (component, face, point)."""
    with np.errstate(all="ignore"):
        found = at_points(function, tuple(x), 0.0, len(names), role, names)
    return np.array([np.broadcast_to(c, x.shape[1:]) for c in found], dtype=float)


def shown_at(values, index):
    """The components (component, ...) at one place as text."""
    return "(" + ", ".join(f"{value:.6g}" for value in values[(slice(None), *index)]) + ")"
