"""A field on cells of several shapes in 2D, in one picture with one range of colours."""
import numpy as np

from dgarray.mesh.curved_parts import edge_lines
from dgarray.output.picture import TRIANGLES, Picture, extent, limits_of
from dgarray.output.triangles import outlines


class JoinedPicture:
    """As `Picture`, of datasets that have one shape of cells each: a picture of each in the same axes. Lines between two of the
    datasets are drawn where they are lines between regions only."""

    def __init__(self, datasets, variable, ax, limits=None, colorbar=True, triangles=TRIANGLES, **options):
        bounds, count = [ds.dg.bounds for ds in datasets], sum(len(ds.dg.cells) for ds in datasets)
        bounds, lines = np.array([np.min(bounds, axis=(0, 1)), np.max(bounds, axis=(0, 1))]), rims(datasets)
        self.pictures = []
        for number, (ds, own) in enumerate(zip(datasets, lines)):
            share = max(1, triangles * len(ds.dg.cells) // count)
            self.pictures.append(_Part(bounds, own, ds, variable, ax, limits, colorbar=colorbar and not number,
                                       triangles=share, **options))
        self.ax, self.limits = ax, self.pictures[0].limits
        ax.set(xlim=bounds[:, 0], ylim=bounds[:, 1])

    def evaluate(self, values):
        """The field at the points of the picture, (point,), from nodal values (element, node) of each dataset."""
        return np.concatenate([picture.evaluate(own).ravel() for picture, own in zip(self.pictures, values)])

    def read(self, time):
        """The field at the points of the picture at one time, (point,): those of one dataset after those of another."""
        return np.concatenate([picture.read(time).ravel() for picture in self.pictures])

    def show(self, u, t=None, limits=None):
        """Draw the values u of `read` at the time t; limits (low, high) if none were fixed."""
        limits, start = self.limits or limits or limits_of(*extent(u)), 0
        for picture in self.pictures:
            shape = len(picture.ds.dg.cells), picture.count
            picture.show(u[start:start + shape[0] * shape[1]].reshape(shape), t, limits)
            start += shape[0] * shape[1]

    def save(self, path, dpi=150):
        self.pictures[0].save(path, dpi)

    def resolution(self, dpi):
        self.pictures[0].resolution(dpi)

    def palette(self, limits):
        return self.pictures[0].palette(limits)

    def image(self):
        return self.pictures[0].image()


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
