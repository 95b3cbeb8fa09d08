"""A field on cells of several shapes in 2D, in one picture with one range of colours."""
import numpy as np

from dgarray.mesh.curved.parts import edge_lines
from dgarray.output.pictures.colour_range import spread
from dgarray.output.pictures.picture import TRIANGLES, Picture, box_of, cells_in
from dgarray.output.pictures.triangles import outlines


class JoinedPicture:
    """As `Picture`, of datasets that have one shape of cells each: a picture of each in the same axes. Lines between two of the
    datasets are drawn where they are lines between regions only."""

    def __init__(self, datasets, variable, ax, zoom=None, colorbar=True, triangles=TRIANGLES, **options):
        bounds, lines = [ds.dg.bounds for ds in datasets], rims(datasets)
        bounds = np.array([np.min(bounds, axis=(0, 1)), np.max(bounds, axis=(0, 1))])
        shown, counts = range(len(datasets)), [len(ds.dg.cells) for ds in datasets]
        if zoom is not None:
            shown, counts = in_box(datasets, box_of(zoom, bounds, datasets[0].dg.axes))
        self.pictures, self.shown = [], shown
        for number, count in zip(shown, counts):
            share = max(1, triangles * count // sum(counts))
            self.pictures.append(_Part(bounds, lines[number], datasets[number], variable, ax, zoom=zoom,
                                       colorbar=colorbar and not self.pictures, triangles=share, **options))
        self.ax, self.first = ax, self.pictures[0]
        if zoom is None:
            ax.set(xlim=bounds[:, 0], ylim=bounds[:, 1])
        self.weights = np.concatenate([picture.weights.ravel() for picture in self.pictures])

    def evaluate(self, values):
        """The field at the points of the picture, (point,), from nodal values (element, node) of each dataset."""
        return np.concatenate([picture.evaluate(values[number]).ravel() for number, picture in zip(self.shown, self.pictures)])

    def read(self, time):
        """The field at the points of the picture at one time, (point,): those of one dataset after those of another."""
        return np.concatenate([picture.read(time).ravel() for picture in self.pictures])

    def spread(self, u):
        """As `Picture.spread`."""
        return spread(u, self.weights, self.first.log)

    def range(self, spreads):
        """As `Picture.range`."""
        return self.first.range(spreads)

    def show(self, u, t=None, limits=None):
        """Draw the values u of `read` at the time t; limits: the `Limits` of all states if there are several."""
        limits, start = limits or self.range([self.spread(u)]), 0
        for picture in self.pictures:
            end = start + picture.weights.size
            picture.show(u[start:end].reshape(picture.shape), t, limits)
            start = end
        self.first.name(t, self.first.notes(u, self.weights, limits))

    def save(self, path, dpi=150):
        self.first.save(path, dpi)

    def resolution(self, dpi):
        self.first.resolution(dpi)

    def palette(self, limits):
        return self.first.palette(limits)

    def image(self):
        return self.first.image()


def in_box(datasets, box):
    """(Which of the datasets have cells in the box, how many). Raises ValueError where none has."""
    counts = {}
    for number, ds in enumerate(datasets):
        try:
            counts[number] = len(cells_in(ds.dg, box))
        except ValueError as error:
            none = error
    if not counts:
        raise none
    return list(counts), list(counts.values())


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
