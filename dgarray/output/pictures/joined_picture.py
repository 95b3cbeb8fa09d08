"""A field on cells of several shapes in 2D, in one picture with one range of colours."""
import numpy as np

from dgarray.mesh.curved.parts import edge_lines
from dgarray.output.pictures.picture import Picture, cells_in
from dgarray.output.pictures.triangles import outlines


class JoinedPicture(Picture):
    """A picture of datasets that have one shape of cells each, all in the same axes. Lines between two of the datasets are
    drawn where they are lines between regions only."""

    def __init__(self, datasets, variable, ax, **options):
        self.datasets, self.options = datasets, options
        super().__init__(datasets[0], variable, ax, **options)

    def _bounds(self):
        bounds = [ds.dg.bounds for ds in self.datasets]
        return np.array([np.min(bounds, axis=(0, 1)), np.max(bounds, axis=(0, 1))])

    def _make(self, mesh, triangles, line):
        bounds, lines = self._bounds(), rims(self.datasets)
        counts = {number: len(ds.dg.cells) for number, ds in enumerate(self.datasets)}
        if self.zoom is not None:
            counts = in_box(self.datasets, self.zoom)
        self.parts = {}
        for number, count in counts.items():
            own = {"triangles": max(1, triangles * count // sum(counts.values())), "colorbar": self.with_bar and not self.parts}
            ds = self.datasets[number]
            self.parts[number] = _Part(bounds, lines[number], ds, self.variable, self.ax, **self.options | own)
        if self.zoom is None:
            self.ax.set(xlim=bounds[:, 0], ylim=bounds[:, 1])
        self.weights = np.concatenate([part.weights.ravel() for part in self.parts.values()])

    def evaluate(self, values):
        """The field at the points of the picture, (point,), from nodal values (element, node) of each dataset."""
        return np.concatenate([part.evaluate([values[number]]).ravel() for number, part in self.parts.items()])

    def read(self, time):
        """The field at the points of the picture at one time, (point,): those of one dataset after those of another."""
        return np.concatenate([part.read(time).ravel() for part in self.parts.values()])

    def show(self, u, t=None, limits=None):
        limits, start = limits or self.range([self.spread(u)]), 0
        for part in self.parts.values():
            end = start + part.weights.size
            part.show(u[start:end].reshape(part.shape), t, limits)
            start = end
        self.name(t, self.notes(u, self.weights, limits))


def in_box(datasets, box):
    """{number of a dataset: how many of its cells are in the box}. Raises ValueError where none has any."""
    counts = {}
    for number, ds in enumerate(datasets):
        try:
            counts[number] = len(cells_in(ds.dg, box))
        except ValueError as error:
            none = error
    if not counts:
        raise none
    return counts


class _Part(Picture):
    """The picture of one of the datasets, in a frame of all."""

    def __init__(self, bounds, lines, *arguments, **options):
        self.frame, self.rim = bounds, lines
        super().__init__(*arguments, **options)

    def _bounds(self):
        return self.frame

    def _outlines(self):
        return self.rim


def rims(datasets):
    """Points (line, point, 2) of the outlines of each dataset that are outlines of all: none that two have in one region."""
    found, keys = [], []
    for ds in datasets:
        rows = outlines(ds)
        elements, edges = rows.T
        corners = np.array(ds.dg.cell_shape.faces)[edges]
        ends = ds.dg.points[ds.dg.cells[elements[:, None], corners]].tolist()          # the same numbers in every dataset
        keys.append([(frozenset(map(tuple, pair)), name) for pair, name in zip(ends, region_names(ds, elements))])
        found.append(edge_lines(ds.dg, rows))
    return [lines[[all(key not in other for other in keys if other is not own) for key in own]] if len(lines) else lines
            for lines, own in zip(found, keys)]


def region_names(ds, elements):
    """Names of the regions of these elements."""
    if "region" not in ds.coords:
        return ["none"] * len(elements)
    flags = ds["region"].attrs
    names = dict(zip(np.atleast_1d(flags["flag_values"]).tolist(), flags["flag_meanings"].split()))
    return [names[flag] for flag in ds["region"].values[elements].tolist()]
