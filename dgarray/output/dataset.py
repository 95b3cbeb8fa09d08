"""Labelled datasets: what a run knows about its field, and the xarray.Dataset made of it.

The layout follows CF and UGRID: dims (time, element, node), nodes placed at x, y, z (element, node), and the corner
mesh as UGRID topology whose names are extended to edges (1D) and tetrahedra (3D).
"""
import json
import math
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr

from dgarray.mesh.curved import cell_maps
from dgarray.reference import SHAPES, reference_cell, shape_of

AXES = ("x", "y", "z")
# UGRID's name of the mesh entity that carries the data, by dimension.
LOCATIONS = {1: "edge", 2: "face", 3: "volume"}
RESERVED = frozenset((*AXES, "time", "element", "node", "mesh", "mesh_node", "mesh_vertex", "cell_number",
                      "element_number", "region",
                      "boundary", "boundary_face", "boundary_faces", "mesh_volume_types",
                      "geometry_node", *(f"mesh_node_{axis}" for axis in AXES), *(f"mesh_geometry_{axis}" for axis in AXES),
                      *(f"mesh_{location}_nodes" for location in LOCATIONS.values())))
VOLUMES = "tetra", "wedge", "hexahedron", "pyramid"          # names in mesh files of the shapes in 3D, by UGRID's flags
UNITLESS = "normalised"
SIMPLEX_NODES = "warp and blend, biunit simplex"


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """All that a run's dataset holds besides times and values.

    dim, order   of the nodal polynomials on `reference_cell(shape, order, nodes)`
    points       (point, dim) float64 corners; cells (element, corner); numbers (element,) the file's numbering
    variables    names in the order of the state; long_names and units by name ("time" and "x" may have units too)
    attrs        inputs of the run; strings, numbers, booleans and None stay, all else becomes a JSON string
    regions      name -> cells; boundaries: name -> (face, 2) rows (cell, local face)
    geometry_nodes  (element, geometry node, dim) of a mesh with curved cells, as those of a `Mesh`
    Raises ValueError for shapes that do not fit and names that are taken."""

    dim: int
    order: int
    points: np.ndarray
    cells: np.ndarray
    numbers: np.ndarray
    variables: tuple
    long_names: dict = field(default_factory=dict)
    units: dict = field(default_factory=dict)
    attrs: dict = field(default_factory=dict)
    regions: dict = field(default_factory=dict)
    boundaries: dict = field(default_factory=dict)
    nodes: str | None = None
    geometry_nodes: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "variables", tuple(self.variables))
        # The numbers of corners of the shapes that there are: those with nodes along each axis, or the others.
        corners = [count for (dim, count), shape in SHAPES.items() if dim == self.dim and shape.tensor == bool(self.nodes)]
        found = np.shape(self.cells)[-1] if np.shape(self.cells)[-1:] else 0
        shapes = {"points": (None, self.dim), "cells": (None, found if found in corners else corners[0]),
                  "numbers": (len(self.cells),)}
        for name, shape in shapes.items():
            array = np.asarray(getattr(self, name))
            if array.ndim != len(shape) or any(want not in (None, size) for want, size in zip(shape, array.shape)):
                raise ValueError(f"{name} has the shape {array.shape}; in {self.dim}D it must be "
                                 f"({', '.join('any' if want is None else str(want) for want in shape)})")
            object.__setattr__(self, name, array)
        self.reference          # noqa: B018  an order that there is not raises ValueError
        named(self.variables, RESERVED)

    state_dims = "variable, node, element"
    whole = property(lambda self: [self], doc="The layouts of all, one of each shape of cells.")

    def __repr__(self):
        return (f"Layout({', '.join(self.variables)} of order {self.order} on {len(self.cells)} "
                f"{self.cell_shape.name} cells)")

    @property
    def cell_shape(self):
        return shape_of(self.points, self.cells)

    @property
    def reference(self):
        return reference_cell(self.cell_shape, self.order, self.nodes)

    @property
    def shape(self):
        """(variable, node, element) of a state."""
        return len(self.variables), len(self.reference.nodes), len(self.cells)

    def coordinates(self):
        """Nodes of all elements, one (element, node) array per axis, by the map of the cells."""
        return [x.T for x in cell_maps.positions(self, self.reference.nodes)]

    @property
    def shapes(self):
        """{name: shape of one snapshot} of the arrays along time."""
        return dict.fromkeys(self.variables, self.shape[:0:-1])

    @property
    def shared_axes(self):
        """{name: the axis of one snapshot along which several processes share it}: that of the elements."""
        return dict.fromkeys(self.variables, 0)

    def fields(self, q):
        """{name: one snapshot} of the arrays along time, from a state (variable, node, element) or some elements of it."""
        return {name: values.T for name, values in zip(self.variables, q)}

    def only(self, variable):
        """The layout of one variable alone, for a picture."""
        return replace(self, variables=(variable,), boundaries={})

    def middle_height(self):
        """z in the middle between the lowest and the highest point, in 3D."""
        z = self.points[self.cells][..., 2]
        return float(z.min() + z.max()) / 2

    def at_plane(self, origin, normal):
        """The layout of the cells that touch a plane, and their numbers."""
        height = ((self.points - origin) @ normal)[self.cells]
        slack = 1e-9 * np.ptp(self.points)
        if self.geometry_nodes is not None:          # between the nodes a map may go a little farther
            height = np.hstack([height, (self.geometry_nodes - origin) @ normal])
            slack = slack + np.ptp(height, axis=1) / 10
        some = np.flatnonzero((height.min(axis=1) <= slack) & (height.max(axis=1) >= -slack))
        regions = {name: np.flatnonzero(np.isin(some, cells)) for name, cells in self.regions.items()}
        nodes = None if self.geometry_nodes is None else self.geometry_nodes[some]
        return replace(self, cells=self.cells[some], numbers=self.numbers[some], regions=regions, geometry_nodes=nodes), some

    def dataset(self, times, values):
        """The run's xarray.Dataset, see `dataset`."""
        return dataset(self, times, values)

    def attributes(self):
        """The attributes of the run's dataset."""
        return {**given(self.attrs), "Conventions": "CF-1.11 UGRID-1.0", "dim": int(self.dim), "order": int(self.order),
                "cell_type": self.cell_shape.name, **naming(self.variables), "nodes": self.nodes or SIMPLEX_NODES}


def named(variables, reserved):
    """Raise ValueError unless these are names of variables: at least one, each once, none of the dataset's own."""
    if not variables or len(set(variables)) != len(variables):
        raise ValueError(f"variables {variables} must be at least one name, each once")
    taken = sorted(set(variables) & reserved)
    if taken:
        raise ValueError(f"variable name {taken[0]!r} is taken by the dataset; names not allowed: "
                         f"{', '.join(sorted(reserved))}")


def dataset(layout, times, values):
    """The run's xarray.Dataset.

    times: (time,); values: dict variable -> (time, element, node)"""
    units = {**dict.fromkeys((*layout.variables, "time", *AXES), UNITLESS), **layout.units}
    location = LOCATIONS[layout.dim]
    data = {name: (("time", "element", "node"), values[name],
                   {"long_name": layout.long_names.get(name, name), "units": units[name],
                    "mesh": "mesh", "location": location})
            for name in layout.variables}
    coords = {"time": ("time", np.asarray(times, dtype="float64"), {"long_name": "time", "units": units["time"]})}
    for axis, nodes in zip(AXES, layout.coordinates()):
        coords[axis] = (("element", "node"), nodes, {"long_name": f"{axis} of the nodes", "units": units[axis]})
    coords["cell_number"] = ("element", layout.numbers.astype("int64"),
                             {"long_name": "position among the cells of the mesh file, from 0"})
    coords["element_number"] = ("element", np.arange(len(layout.numbers)),
                                {"long_name": "number of the element, which boundary_faces holds"})
    if layout.regions:
        coords["region"] = ("element", *_region_flags(layout))
    _add_topology(layout, units, data, coords)
    return xr.Dataset(data, coords, layout.attributes())


def _add_topology(layout, units, data, coords):
    location, axes = LOCATIONS[layout.dim], AXES[:layout.dim]
    connectivity = f"mesh_{location}_nodes"
    topology = {"cf_role": "mesh_topology", "long_name": "corner topology", "topology_dimension": layout.dim,
                "node_coordinates": " ".join(f"mesh_node_{axis}" for axis in axes),
                f"{location}_node_connectivity": connectivity, f"{location}_dimension": "element"}
    for number, axis in enumerate(axes):
        coords[f"mesh_node_{axis}"] = ("mesh_node", layout.points[:, number].astype("float64"),
                                       {"long_name": f"{axis} of the corners", "units": units[axis]})
        if layout.geometry_nodes is not None:
            nodes, attrs = layout.geometry_nodes[:, :, number], {"long_name": f"{axis} of the nodes of the cells' maps"}
            coords[f"mesh_geometry_{axis}"] = (("element", "geometry_node"), nodes.astype("float64"),
                                               attrs | {"units": units[axis]})
    data[connectivity] = (("element", "mesh_vertex"), layout.cells.astype("int64"),
                          {"cf_role": f"{location}_node_connectivity", "start_index": 0,
                           "long_name": "corners of the elements"})
    if layout.dim == 3:
        topology["volume_shape_type"] = "mesh_volume_types"
        kind = VOLUMES.index(layout.cell_shape.in_files)
        data["mesh_volume_types"] = ("element", np.full(len(layout.cells), kind, dtype="int8"),
                                     {"cf_role": "volume_shape_type", "flag_values": list(range(len(VOLUMES))),
                                      "flag_meanings": " ".join(VOLUMES).replace("tetra", "tetrahedron")})
    data["mesh"] = ((), np.int32(0), topology)
    if layout.boundaries:
        faces, flags, attrs = _boundary_flags(layout)
        data["boundary_faces"] = (("boundary_face", "cell_and_face"), faces,
                                  {"long_name": "element and local face of the named faces", "start_index": 0})
        coords["boundary"] = ("boundary_face", flags, attrs)


def _region_flags(layout):
    members = np.zeros((len(layout.cells), len(layout.regions)), dtype=bool)
    for column, cells in enumerate(layout.regions.values()):
        members[cells, column] = True
    return _flags("region of the elements", list(layout.regions), members)


def _boundary_flags(layout):
    faces = len(layout.cell_shape.faces)
    codes = [np.asarray(rows, dtype="int64").reshape(-1, 2) @ [faces, 1] for rows in layout.boundaries.values()]
    every = np.unique(np.concatenate(codes))
    members = np.column_stack([np.isin(every, code) for code in codes])
    return (np.column_stack(np.divmod(every, faces)),
            *_flags("name of the boundary faces", list(layout.boundaries), members))


def _flags(title, names, members):
    """CF flag values and attributes of `members` (row, name); a row in two groups gets the meaning 'one+two'."""
    words = ["_".join(str(name).split()) for name in names]
    groups, values = np.unique(members, axis=0, return_inverse=True)
    meanings = ["+".join(np.array(words)[group]) or "none" for group in groups]
    return values.reshape(-1).astype("int32"), {"long_name": title, "flag_values": list(range(len(meanings))),
                                                "flag_meanings": " ".join(meanings)}


def given(attrs):
    """Inputs of a run as attributes of its dataset."""
    return {str(name): plain(value) for name, value in attrs.items()}


def naming(variables):
    """The attribute that names the law's variables. (SciPy's netCDF files cannot have one called `variables`.)"""
    return {"fields": json.dumps(list(variables))}


def variables_of(ds):
    """The names of the law's variables, in its order, also of a store that calls this attribute `variables`."""
    return tuple(json.loads(ds.attrs.get("fields", ds.attrs.get("variables", "[]"))))


def plain(value):
    """`value` as a JSON scalar: strings, finite numbers, booleans and None as they are, all else as a (JSON) string."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (dict, list, tuple, set, frozenset, np.ndarray)):
        return json.dumps(_nested(value))
    return _text(value)


def _nested(value):
    if isinstance(value, dict):
        return {str(key): _nested(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _nested(value.tolist())
    if isinstance(value, (set, frozenset)):
        return sorted((_nested(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [_nested(item) for item in value]
    return plain(value)


def _text(value):
    # A function's repr holds an address that changes from run to run.
    return getattr(value, "__name__", None) or str(value)
