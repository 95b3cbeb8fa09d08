"""Where a record of a boundary or interface comes from: law, media, layer, mirrors and walls, as attributes of its fields.

The attributes are texts, so that a store keeps them:

    law       "Maxwell" or "Acoustics", else the class of the law
    medium    that of the cells whose fields the record has, JSON of {argument of the law: number}, or of a text that says why
              there is no such number
    eps_units units of eps, where the run has them
    outside   the same of all cells outside of a closed surface, where its normals, turned out of what it encloses, point; of a
              boundary of the mesh with no cells there, that of its own cells
    mirrors   the planes through the origin at which the cells outside end: JSON of {axis: name in MIRRORS or of the conditions}
    walls     of an interface, what the boundaries are at which it ends: JSON of {name: name in MIRRORS or of the condition}
    behind    "closed" where an interface's normal points to cells between walls alone, while waves may leave on the other side
"""
import ast
import json

import numpy as np

from ..mesh.absorbing.extrude import among, edges_of, ends, kinds as kinds_of_faces
from ..mesh.interfaces import other_side
from ..methods.dg.sets import numbers_by_region
from ..physics.boundary import pec, pmc, pressure_release, wall
from ..physics.boundary_checks import face_places, parameter_at
from ..physics.laws.acoustics import Acoustics
from ..physics.laws.law import argument, shown
from ..physics.laws.maxwell import Maxwell
from .scattered_fields import connected

ATTRIBUTES = "law", "medium", "eps_units", "outside", "mirrors", "walls", "behind"
MIRRORS = {"pec": pec, "pmc": pmc, "hard": wall, "soft": pressure_release}
ON_PLANE = 1e-9             # distance from a plane, as a part of the mesh's size, that counts as rounding
SAME = 1e-9                 # relative difference of a medium's numbers that counts as rounding


def origin_of(operator, names):
    """The attributes of a record at boundaries or interfaces, {name: text}; of a grid the law and the medium alone."""
    law, boundary = operator.law, operator.problem.boundary
    if operator.mesh.structured:
        numbers = all(isinstance(value, float | int) for value in law.parameters.values())
        return said_of(law) | ({"medium": json.dumps(medium_at(None, law, None, None))} if numbers else {})
    mesh = operator.mesh.whole
    rows = np.concatenate([mesh.named(name) for name in names])
    outside, places = outside_of(mesh, rows)
    law = law_at(mesh, law, np.concatenate([rows[:, 0], np.flatnonzero(outside)]))
    attrs = said_of(law)
    attrs["medium"] = json.dumps(medium_at(mesh, law, rows[:, :1], face_places(mesh, rows, 1)))
    attrs["outside"] = json.dumps(medium_at(mesh, law, *places))
    attrs["mirrors"] = json.dumps(mirrors_of(mesh, boundary, outside, rows))
    if len(names) == 1 and names[0] in mesh.interfaces and mesh.dim > 1:
        found = walls_of(mesh, rows, boundary)
        attrs |= {"walls": json.dumps({name: named(condition) for name, condition in found.items()})} if found else {}
        attrs |= {"behind": "closed"} if closed_behind(mesh, rows, boundary) else {}
    return attrs


def origin_of_text(text):
    """Attributes from the text of a law, which is its call: its kind, and where its parameters are numbers its medium."""
    try:
        call = ast.parse(text, mode="eval").body
        numbers = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
        name = call.func.id
    except (SyntaxError, AttributeError):          # of a law of the user's own
        return {}
    needed = {"Maxwell": ("eps", "mu", "sigma"), "Acoustics": ("density", "sound_speed")}.get(name)
    if needed is None:
        return {}
    varying = [each for each in needed if not isinstance(numbers.get(each), float | int)]
    medium = f"{' and '.join(varying)} is no one number" if varying else {each: float(numbers[each]) for each in needed}
    units = {"eps_units": Maxwell.si["eps"]} if numbers.get("units") == "SI" and name == "Maxwell" else {}
    return {"law": name, "medium": json.dumps(medium)} | units


def said_of(law):
    """The attributes of a law alone."""
    return {"law": kind_of(law)} | ({"eps_units": law.units["eps"]} if "eps" in law.units else {})


def law_at(mesh, law, cells):
    """The law of some cells: of laws by region the one that all of them have, else the one that stands for all."""
    if law.laws is None:
        return law
    numbers = np.unique(numbers_by_region(mesh, law.laws, "law")[cells])
    there = [list(law.laws.values())[number] for number in numbers]
    return there[0] if len({id(each) for each in there}) == 1 else law


def kind_of(law):
    """"Maxwell" or "Acoustics" of a law whose flux and capacity are theirs, else the name of its class."""
    if law.laws is not None and len(kinds := {kind_of(each) for each in law.laws.values()}) > 1:
        return " and ".join(sorted(kinds))
    for one in (Maxwell, Acoustics):
        if isinstance(law, one) and type(law).flux is one.flux and type(law).capacity is one.capacity:
            return one.__name__
    return type(law).__name__


def named(condition):
    """The name of a mirror, or of another condition as text."""
    return next((name for name, mirror in MIRRORS.items() if mirror is condition), None) or shown(condition)


def in_layers(mesh, cells):
    """Whether each of the cells lies in an absorbing layer."""
    regions = [mesh.regions[layer.region] for layer in mesh.layers]
    return np.isin(cells, np.concatenate(regions)) if regions else np.zeros(np.shape(cells), bool)


def faces_in_layers(mesh, rows):
    """Whether faces lie in an absorbing layer or at its outer end, (face,); those between it and cells before it do not."""
    beyond = other_side(mesh.neighbours, rows)[:, 0]          # at a boundary the own cell
    return in_layers(mesh, rows[:, 0]) & in_layers(mesh, beyond)


# Media.

def medium_at(mesh, law, cells, x):
    """{argument: number} of the medium of cells (cell, 1) at points x (dim, cell, point) in them, or why there is none, a text.

    Without a mesh: of a law whose parameters are numbers."""
    if law.laws is not None:
        return medium_of_laws(mesh, law, cells, x)
    for name, value in law.dispersive.items():
        regions = value if isinstance(value, dict) else ()
        if not regions or any(np.isin(cells[:, 0], mesh.regions[str(region)]).any() for region in regions):
            return f"{argument(law, name)} is dispersive there"
    medium, beside = {}, law.internal.parameters if law.internal is not None else ()
    for name, value in law.parameters.items():
        if name in beside or name in law.added:
            continue
        values = np.array([value], float) if mesh is None else parameter_at(mesh, cells, x, value).ravel()
        low, high = values.min(), values.max()
        if not high - low <= SAME * max(abs(low), abs(high)):
            return f"{argument(law, name)} lies between {low:.6g} and {high:.6g} there"
        medium[name] = float(values[0])
    if kind_of(law) != "Maxwell":
        return {argument(law, name): value for name, value in medium.items()}
    try:
        eps, mu = law.isotropic(medium, "it")
    except ValueError:
        return "it is a tensor there"
    return {"eps": eps, "mu": mu, "sigma": medium.get("sigma", 0.0)}


def medium_of_laws(mesh, law, cells, x):
    """The medium as `medium_at` gives it, where the law stands for others by region."""
    found, numbers = [], numbers_by_region(mesh, law.laws, "law")[cells[:, 0]]
    for number, each in enumerate(law.laws.values()):
        here = numbers == number
        if here.any():
            found.append(medium_at(mesh, each, cells[here], x[:, here]))
    for medium in found:
        if isinstance(medium, str):
            return medium
    first = found[0]
    for medium in found:
        for name, value in first.items():
            if name not in medium or not np.isclose(medium[name], value, rtol=SAME, atol=0):
                return f"{name} is {value:.6g} and {medium.get(name, np.nan):.6g} there"
    return first


def outside_of(mesh, rows):
    """The cells outside of a closed surface of faces `rows`, whether each of the mesh is one, those on its own side where there
    are none, and (cells, points) at which to look at the medium there: their centres, or where the mesh ends at some of the
    faces those faces alone."""
    beyond, inner = other_side(mesh.neighbours, rows), mesh.neighbour_face[tuple(rows.T)] >= 0
    normals, centres = mesh.normals[tuple(rows.T)], mesh.face_centres(rows)
    measures = mesh.face_measures[tuple(rows.T)]
    # By the origin, so that planes through it, where a part of a symmetric surface ends, add nothing.
    outward = np.sum(measures * np.sum(normals * centres, axis=1)) > 0
    part = connected(mesh, [rows[inner], beyond[inner]])
    chosen = beyond[inner, 0] if outward and inner.any() else rows[:, 0]
    cells = np.isin(part, part[chosen])
    if outward and not inner.all():
        own = rows[~inner]
        faces = np.concatenate([own, beyond[inner]])
        return cells, (faces[:, :1], face_places(mesh, faces, 1))
    numbers = np.flatnonzero(cells)
    return cells, (numbers[:, None], mesh.centroids[numbers].T[:, :, None])


def mirrors_of(mesh, boundary, cells, rows):
    """{axis: name of the mirror, or of the conditions} of the planes through the origin at which these cells end, without the
    faces `rows` of the record itself."""
    found, size = {}, np.ptp(mesh.points, axis=0).max()
    faces = mesh.boundary_faces
    own = np.zeros(mesh.neighbour_face.shape, bool)
    own[tuple(rows.T)] = True
    faces = faces[cells[faces[:, 0]] & ~in_layers(mesh, faces[:, 0]) & ~own[tuple(faces.T)]]
    for number, axis in enumerate("xyz"[:mesh.dim]):
        if abs(mesh.points[:, number].min()) > ON_PLANE * size:
            continue
        here = np.abs(mesh.points[mesh.face_points(faces)][:, :, number]).max(axis=1) <= ON_PLANE * size
        names = sorted({named(condition) for condition in conditions_at(mesh, boundary, faces[here])})
        if names:
            found[axis] = " and ".join(names)
    return found


# Boundaries.

def conditions_at(mesh, boundary, rows):
    """The boundary conditions of boundary faces, a list."""
    left, found = np.zeros(mesh.neighbour_face.shape, bool), []
    left[tuple(rows.T)] = True
    for name, condition in boundary.items():
        faces = mesh.boundaries.get(name)
        if faces is not None and left[tuple(faces.T)].any():
            found.append(condition)
            left[tuple(faces.T)] = False
    return found + ([boundary["default"]] if left.any() and "default" in boundary else [])


def walls_of(mesh, rows, boundary):
    """{name of a boundary, "default" of those without one: its condition} where faces inside of the mesh end; {} where they end
    inside of it, and without a condition."""
    corners, found = mesh.face_points(rows), {}
    if len(list(kinds_of_faces(corners))) > 1:
        return {}
    rim = ends(corners[:, :next(kinds_of_faces(corners))[1]])
    free = np.ones(len(rim), bool)
    for name, here in at_boundaries(mesh, rim):
        condition = condition_of(boundary, name)
        if condition is None:
            return {}
        found[name] = condition
        free &= ~here
    return {} if free.any() else found


def at_boundaries(mesh, rim):
    """Yield (name, whether each edge lies there) of the boundaries that edges (edge, end) lie on; "default": those unnamed."""
    for name, rows in [*mesh.boundaries.items(), ("default", mesh.unnamed)]:
        here = among(rim, edges_of(mesh.face_points(rows))) if len(rows) and len(rim) else np.zeros(len(rim), bool)
        if here.any():
            yield name, here


def condition_of(boundary, name):
    """The condition that a problem has at the boundary with that name; None without one."""
    return boundary.get(name, boundary.get("default")) if isinstance(boundary, dict) else boundary


def closed_behind(mesh, rows, boundary):
    """Whether an interface's normal points to cells between walls that reflect all, without a layer, while on its other side
    waves may leave."""
    beyond = other_side(mesh.neighbours, rows)
    if (mesh.neighbour_face[tuple(rows.T)] < 0).any():
        return False
    part = connected(mesh, [rows, beyond])
    own, behind = set(part[rows[:, 0]].tolist()), set(part[beyond[:, 0]].tolist())
    if own & behind:
        return False
    return not lets_out(mesh, part, behind, boundary) and lets_out(mesh, part, own, boundary)


def lets_out(mesh, part, chosen, boundary):
    """Whether cells of the chosen parts of a mesh have a layer, or a boundary that is no mirror."""
    cells = np.isin(part, list(chosen))
    if in_layers(mesh, np.flatnonzero(cells)).any():
        return True
    rows = mesh.boundary_faces
    return any(named(condition) not in MIRRORS for condition in conditions_at(mesh, boundary, rows[cells[rows[:, 0]]]))
