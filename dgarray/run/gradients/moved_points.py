"""Derivatives by the positions of a mesh's points.

The map of an element is x(r) = sum_j N_j(r) X_j. What a run knows of its geometry are constants of programs, such as normals
and Jacobians, and the initial state: smooth functions of the X_j of one element each. Their derivatives are differences of
fourth order between moved meshes, in which each element has nodes of its own, so that one mesh moves the node j of all
elements. Of a field at a point that stays where it is, the derivative is -grad q . sum_j N_j dX_j.
"""
import re
from copy import copy
from dataclasses import replace

import numpy as np
import xarray as xr

from ...analysis.fourier import Fourier
from ...analysis.integrals import BoundaryIntegral
from ...analysis.probes import Points, SurfaceFields
from ...backends.arrays import ArrayBackend
from ...mesh.cell_nodes import at_faces, nodes_of, places, with_nodes
from ...mesh.curved import cell_maps
from ...mesh.locate import Locator
from ...methods.dg.boundary_setup import asking, on_part
from ...physics.declared import declared
from .program_adjoints import sets_of

STEP = 1e-3          # of differences, as a share of an element's inradius
DIFFERENCE = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}          # weights of a first derivative, of fourth order


class MovedPoints:
    """The derivatives of a number by the nodes X_j of each element.

    operator   of the run;  parameters: {name of a parameter that has derivatives, too: what is added to its numbers}
    project    function of an operator that returns the initial state
    adjoints   {(name of a program, *options): {name of a constant: the derivatives by it, so far}}
    found      (element, node, dim) the derivatives by what records read, so far"""

    def __init__(self, operator, parameters, project):
        self.operator, self.project, self.mesh = operator, project, operator.mesh
        law, boundary = copy(operator.problem.law), operator.problem.boundary
        law.parameters = law.parameters | {name: still(beside) for name, beside in parameters.items()}
        of_faces = on_part(asking(self.mesh, boundary), np.arange(self.mesh.cell_count))
        self.problem = replace(operator.problem, law=law, boundary=boundary | of_faces)
        self.backend = ArrayBackend(np, "float64", "numpy", operator.backend.threads)
        self.nodes, self.size = nodes_of(self.mesh), self.mesh.inradii
        self.found, self.adjoints, self.names = np.zeros(self.nodes.shape), {}, {}
        random = np.random.default_rng(0).uniform(-STEP, STEP, self.nodes.shape)
        self.start, self.elsewhere = self.moved(0.0), self.moved(random * self.size[:, None, None])

    def moved(self, shift):
        """An operator of the problem whose elements have moved nodes; shift (element, node, dim)."""
        mesh = with_nodes(self.mesh, self.nodes + shift)
        return self.operator.method.discretised(replace(self.problem, mesh=mesh), self.backend, self.operator.stepper)

    def constants(self, *program):
        """The names of the constants of a program that depend on the nodes."""
        if program not in self.names:
            here, there = (held(operator, program) for operator in (self.start, self.elsewhere))
            self.names[program] = [name for name, values in here.items() if not np.array_equal(values, there[name])]
        return self.names[program]

    def add(self, program, name, adjoint):
        """Add derivatives by a constant of a program, (name, *options)."""
        known = self.adjoints.setdefault(program, {})
        known[name] = known.get(name, 0.0) + adjoint

    def by_nodes(self, initial):
        """The derivatives by the nodes, (element, node, dim); initial: {prefix: derivatives by the initial state}."""
        owners = {program: self.owners(program) for program in self.adjoints}
        for node, axis in np.ndindex(self.nodes.shape[1:]):
            for steps, weight in DIFFERENCE.items():
                shift = np.zeros(self.nodes.shape)
                shift[:, node, axis] = steps * STEP * self.size
                operator, total = self.moved(shift), np.zeros(len(self.size))
                for program, adjoints in self.adjoints.items():
                    constants = held(operator, program, adjoints)
                    for name, adjoint in adjoints.items():
                        columns = (adjoint * constants[name]).reshape(-1, adjoint.shape[-1]).sum(axis=0)
                        total += np.bincount(owners[program][name], columns, len(total))
                state = operator.by_set(self.project(operator))
                for prefix, (name, _, cells) in sets_of(self.operator).items():
                    q = operator.operators[name].operations.host(state[name])
                    total[cells] += np.einsum("vne,vne->e", initial[prefix], q)
                self.found[:, node, axis] += weight * total / (STEP * self.size)
        return self.found

    def owners(self, program):
        """{name of a constant that depends on the nodes: the element of each of its columns}."""
        constants, found, sets = self.start.program(*program).inputs("constant"), {}, sets_of(self.start)
        for name in self.adjoints[program]:
            if at_join := re.fullmatch(r"(.*?)( \d)?, join (\d+)", name):
                mortars, side = self.start.operations.all_stages.lists[int(at_join[3])], int(at_join[2] or 0)
                own = next(cells for _, each, cells in sets.values() if each.tables is mortars.tables[side])
                found[name] = own[mortars.rows[side][:, 0]]
                continue
            prefix = max((each for each in sets if name.startswith(each)), key=len)
            _, each, found[name] = sets[prefix]
            if at_faces := re.fullmatch(r".*, ((faces|boundary) .*)", name[len(prefix):]):
                nodes = np.asarray(constants[f"{prefix}nodes, {at_faces[1]}"].held())
                found[name] = found[name][nodes[0] % each.tables.elements]
        return found

    def by_points(self, by_nodes, still):
        """The derivatives by the mesh's points, (point, dim), or of a curved mesh by each cell's geometry nodes; 0 at those
        of the faces `still`, rows (cell, local face)."""
        numbers = places(self.mesh)
        held = np.isin(numbers, at_faces(self.mesh, numbers, still))
        by_nodes = np.where(((numbers < 0) | held)[:, :, None], 0.0, by_nodes)
        if self.mesh.geometry_nodes is not None:
            return by_nodes
        found, there = np.zeros(self.mesh.points.shape), numbers >= 0
        np.add.at(found, numbers[there], by_nodes[there])
        return found


class MovedRecord:
    """What a record of fields at points that stay gives to the derivatives by the nodes: -grad q . sum_j N_j dX_j.

    variables   numbers of the recorded ones in the law"""

    def __init__(self, mesh, space, points, variables):
        self.variables, self.parts = variables, []
        element = space.evaluation(points).places
        for own, block, first in zip(space.spaces, mesh.blocks, mesh.first):
            here = np.flatnonzero((element >= first) & (element < first + block.cell_count))
            if not len(here):
                continue
            number, r = Locator(block.points, block.cells, block.geometry_nodes).find(points[here])
            inverse = np.linalg.inv(np.stack([cell_maps.jacobians(block, at[None], [k])[0, 0] for at, k in zip(r, number)]))
            slopes = np.einsum("kpn,pkd->pdn", own.cell.gradients(r), inverse)
            self.parts.append((here, number + first, slopes, shape_functions(block, r)))

    def add(self, found, q, given):
        """Add to derivatives by nodes (element, node, dim): q, function of elements that returns (variable, node, element);
        given: derivatives by the recorded variables (point,), None for 0."""
        for here, elements, slopes, N in self.parts:
            values, rows = q(elements), slopes.shape[2]
            for number, each in zip(self.variables, given):
                if each is not None:
                    along = -each[here, None] * np.einsum("pdn,np->pd", slopes, values[number, :rows])
                    np.add.at(found, elements, _padded(N[:, :, None] * along[:, None], found.shape[1]))


def _padded(values, nodes):
    """Values (point, node, dim) with zeros for the nodes that a cell does not have."""
    return np.pad(values, [(0, 0), (0, nodes - values.shape[1]), (0, 0)])


def held(operator, program, names=None):
    """{name: values} of real constants of a program that have columns."""
    return {name: np.asarray(value.held()) for name, value in operator.program(*program).inputs("constant").items()
            if value.kind == "real" and value.domain and (names is None or name in names)}


def still(beside):
    """A parameter as a function of x without the numbers that the elements have: those follow the elements."""
    def values(x):
        return (beside(x) if callable(beside) else beside) + 1.0 + 0.0 * x[0]
    return values


def shape_functions(mesh, r):
    """N_j at reference points, (point, node)."""
    if mesh.geometry_nodes is None:
        return mesh.cell_shape.weights(r)
    return cell_maps.interpolation(mesh.cell_shape, mesh.order, r)






def points_of(mesh):
    """The points of a mesh, of curved cells the geometry nodes."""
    return mesh.points if mesh.geometry_nodes is None else mesh.geometry_nodes


def labelled(mesh, values, what):
    """Numbers of the points, shaped as `MovedPoints.by_points` says, as an array of xarray; what: its text."""
    dims = ("point", "axis") if mesh.geometry_nodes is None else ("element", "geometry_node", "axis")
    axes, positions = list("xyz"[:mesh.dim]), points_of(mesh)
    coords = {axis: (dims[:-1], positions[..., k]) for k, axis in enumerate(axes)} | {"axis": axes}
    return xr.DataArray(values, coords, dims, "points", {"long_name": what})


def direction_of_points(mesh, still, random):
    """A random displacement of the points, shaped as `MovedPoints.by_points` says, of the size of the smallest cell around
    each; 0 at the points of the faces `still`, and the same on both sides of a periodic pair."""
    numbers = places(mesh)
    there, alike = numbers >= 0, places(mesh, glued=True)
    size = np.full(alike.max() + 1, np.inf)
    np.minimum.at(size, alike[there], np.broadcast_to(mesh.inradii[:, None], there.shape)[there])
    direction = size[:, None] * random.uniform(-1, 1, (len(size), mesh.dim))
    direction[at_faces(mesh, alike, still)] = 0.0
    by_nodes = np.where(there[:, :, None], direction[alike], 0.0)
    if mesh.geometry_nodes is not None:
        return by_nodes
    found = np.zeros(mesh.points.shape)
    found[numbers[there]] = by_nodes[there]
    return found




def still_faces(sim):
    """Rows (cell, local face) of the faces whose points are held: those of records of boundaries and interfaces, which keep
    weights and places of their own, and of conditions that know their faces."""
    mesh, names = sim.mesh, set()
    for recorder in sim.record.values():
        if isinstance(recorder, SurfaceFields | BoundaryIntegral | Fourier) and recorder.boundary is not None:
            names |= {recorder.boundary} if isinstance(recorder.boundary, str) else set(recorder.boundary)
    known = mesh.boundaries | mesh.interfaces
    for name, condition in sim.problem.boundary.items():
        what = declared(condition)
        if what.of_faces or what.between:
            names |= {name} if name in known else set(mesh.boundaries) - set(sim.problem.boundary)
    return np.concatenate([np.empty((0, 2), np.int64), *(known[name] for name in names)])


def refuse(sim):
    """Raise ValueError for a simulation without derivatives by the points of its mesh."""
    mesh = sim.mesh
    if mesh.layers:
        raise ValueError(f"wrt='points' is not allowed for a mesh with absorbing layers, {mesh!r}, which stay where they are; "
                         "take dgarray.absorbing")
    if sim.law.dispersive:
        raise ValueError(f"wrt='points' is not allowed for dispersive media: {', '.join(sim.law.dispersive)}")
    for name, recorder in sim.record.items():
        if not isinstance(recorder, Points | SurfaceFields | Fourier | BoundaryIntegral):
            raise ValueError(f"wrt='points' is not allowed with record {name!r}: {type(recorder).__name__} has no derivative "
                             "by the points; take Points, SurfaceFields, Fourier or BoundaryIntegral")
