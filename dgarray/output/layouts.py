"""Which layout the dataset of a run has, and what it writes of a state that went bad."""
from pathlib import Path

import numpy as np

from ..physics.laws.units import all_axes
from .dataset import Layout
from .grid_layout import GridLayout

LAYERS = 3          # layers of elements around the first bad one in a dump
DUMPS = {False: (".vtu", ".png"), True: (".vti", ".png")}          # by whether the space is on a grid


def layout_of(space, law, attrs=None, derivatives=False):
    """The Layout or GridLayout of a run's dataset.

    space: of `dgarray.spaces`;  attrs: attributes of the dataset;  derivatives: whether it holds the scaled derivatives"""
    fields = law.variables, dict(law.long_names), all_axes(law.units), attrs or {}
    if space.structured:
        return GridLayout(space.grid, space.order, derivatives, *fields)
    mesh = space.mesh
    return Layout(mesh.dim, space.order, mesh.points, mesh.cells, mesh.numbers, *fields, mesh.regions, mesh.boundaries,
                  getattr(space.cell, "kind", None), mesh.geometry_nodes)


def dump_suffixes(space):
    """Of which kinds a dump of a state in this space can be."""
    return DUMPS[space.structured]


def dump(path, space, law, t, values, variable, first, bad):
    """Write a state, and which places are bad: on a mesh of the elements around the first bad one, .vtu; on a grid all of it,
    .vti; or a picture of one variable, .png.

    values (variable, row, place) of the space;  first, bad: numbers of places"""
    draw = _grid if space.structured else _elements
    draw(Path(path), space, law, t, values, variable, first, bad)


def _elements(path, space, law, t, values, variable, first, bad):
    around, found = neighbourhood(space.mesh, first, LAYERS), []
    mark = "bad" if "bad" not in law.variables else "bad_elements"
    for own, start in zip(space.spaces, space.mesh.first):
        some = around[(around >= start) & (around < start + own.count)]
        if not len(some):
            continue
        part = own.mesh.part(some - start)
        layout = Layout(part.dim, own.order, part.points, part.cells, part.numbers, law.variables, dict(law.long_names),
                        all_axes(law.units), nodes=getattr(own.cell, "kind", None), geometry_nodes=part.geometry_nodes)
        fields = {name: field.T[None] for name, field in zip(law.variables, values[:, :len(own.cell.nodes), some])}
        found.append(layout.dataset([t], fields).assign({mark: ("element", np.isin(some, bad).astype("int32"))}))
    if path.suffix == ".vtu":
        from .vtk.cells import Cells
        from .vtk.files import export
        export(Cells, found, path, overwrite=True)
    else:
        from .pictures.plot import plot
        plot(found, variable, -1, path, mesh=True)


def _grid(path, space, law, t, values, variable, first, bad):
    grid, layout = space.grid, GridLayout(space.grid, 0, False, law.variables, dict(law.long_names), all_axes(law.units))
    ds = layout.dataset([t], {name: field[None] for name, field in layout.fields(values[:, :1]).items()})
    if path.suffix == ".vti":
        marks = np.isin(grid.numbers, bad).reshape(grid.shape)
        name = "bad" if "bad" not in law.variables else "bad_nodes"
        ds.assign({name: (ds.dg.axes[::-1], marks.astype("int32"))}).dg.to_vtk(path, overwrite=True)
    else:
        from .pictures.plot import plot
        plot(ds, variable, -1, path)


def neighbourhood(mesh, element, layers):
    """Numbers of the elements that are at most so many faces away from one."""
    found = np.array([element])
    for _ in range(layers):
        found = np.unique(np.concatenate([found, mesh.neighbour_cell[found].ravel()]))
    return found
