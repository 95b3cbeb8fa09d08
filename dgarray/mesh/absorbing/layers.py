"""Absorbing layers around a mesh: where they are, and how strongly they stretch space.

In a layer the coordinate along its depth becomes complex,

    dx -> (1 + sigma(x) / (alpha + i omega)) dx,  sigma = c s(x),  s(x) = s_0 depth^degree,  alpha = c shift,

with the depth from 0 at the inner face to 1 at the outer one, so that every wave decays and none is reflected (perfectly
matched layer).  s_0 = (degree + 1) log(1 / reflection) / (2 thickness): a wave along the normal that goes through the layer and
back is left with the share `reflection` of its amplitude.  alpha, the complex frequency shift, keeps waves that do not
propagate, and those along the layer, from staying.
Berenger 1994; Gedney 1996; Kuzuoglu & Mittra 1996; Teixeira & Chew 1998.

`depth`, `stretch` and `direction` take x, a tuple of coordinates, arrays or values that are traced.
"""
from dataclasses import dataclass
from functools import reduce
from math import log

import numpy as np

from ..errors import MeshError

TINY = 1e-12          # share of the radius below which a point counts as the centre


def largest_stretch(thickness, degree, reflection):
    """s_0 of a layer so thick, 1 / length."""
    return (degree + 1) * log(1 / reflection) / (2 * thickness)


def layer_of_cells(mesh):
    """The number from 1 of the layer of each cell, 0 for none. Raises MeshError for cells in two of them."""
    found = np.zeros(mesh.cell_count, int)
    for number, layer in enumerate(mesh.layers, 1):
        cells = mesh.regions[layer.region]
        if found[cells].any():
            other = mesh.layers[found[cells].max() - 1]
            instead = ("add the layers of sides that meet by one call, pml(mesh, thickness, cells, boundary=(...)), or "
                       "region=(...)" if layer.straight and other.straight else "a round layer may not meet another one")
            raise MeshError(f"{mesh.source} has cells in two absorbing layers, {other.region!r} and {layer.region!r}; "
                            f"{instead}")
        found[cells] = number
    return found


@dataclass(frozen=True)
class BoxLayer:
    """The layer around a box with edges along the axes.

    region      name of the region that is the layer
    low, high   (dim,) corners of the box within
    thickness   (dim, 2) below and above the box along each axis; 0 where there is none
    degree, reflection, shift   as above; shift in units of 1 / length
    slabs       number of layers of cells of the same depth, in each of which s is constant, its mean there: then the elements
                are all alike inside, which keeps them stable. 0: cells have other faces, and s is as above at each point
    by_derivatives   whether derivatives are divided by stretches, `dgarray.physics.layer_filters`, as is stable on cells that
                are a face of the box times a part of the depth; else fields are multiplied by them"""

    region: str
    low: tuple
    high: tuple
    thickness: tuple
    degree: int
    reflection: float
    shift: float
    slabs: int = 0
    by_derivatives: bool = False
    straight = True          # its stretches are those of the coordinates along the axes

    @property
    def sides(self):
        """(axis, 0 below or 1 above) of the sides of the box where the layer is, a set."""
        return {(axis, side) for axis, widths in enumerate(self.thickness) for side in (0, 1) if widths[side]}

    @property
    def largest(self):
        """The largest s along any axis."""
        least = min(width for widths in self.thickness for width in widths if width)
        return largest_stretch(least, self.degree, self.reflection)

    @property
    def axes(self):
        """Along how many axes there is a layer."""
        return len({axis for axis, _ in self.sides})

    def before(self, x, depth=0.0):
        """The places x (dim, place) of the layer moved along its depth to where it begins, or to this depth."""
        low, high, width = (np.array(each, float) for each in (self.low, self.high, self.thickness))
        return np.clip(x, (low - depth * width[:, 0])[:, None], (high + depth * width[:, 1])[:, None])

    def depth(self, x):
        """The depth along each axis, numbers from 0 to 1, at the points x."""
        return tuple(self._depth(axis, x[axis]) for axis in range(len(self.low)))

    def _depth(self, axis, x):
        gaps = (self.low[axis] - x, x - self.high[axis])
        depths = [gap / width for gap, width in zip(gaps, self.thickness[axis]) if width]
        return np.clip(reduce(np.maximum, depths), 0.0, 1.0) if depths else 0.0

    def stretch(self, x):
        """s along each axis at the points x, 1 / length."""
        return tuple(self._stretch(axis, x[axis], depth) for axis, depth in enumerate(self.depth(x)))

    def _stretch(self, axis, x, depth):
        found = [largest_stretch(width, self.degree, self.reflection) for width in self.thickness[axis] if width]
        if not found:
            return 0.0
        largest = found[0] if len(set(found)) == 1 else np.where(x < self.low[axis], *found)
        return largest * self._growth(depth)

    def _growth(self, depth):
        """depth^degree, in slabs its mean over each."""
        p, n = self.degree, self.slabs
        if not n:
            return depth ** p
        slab = np.minimum(np.floor(depth * n), n - 1)
        return np.where(depth > 0, ((slab + 1) ** (p + 1) - slab ** (p + 1)) / ((p + 1) * n ** p), 0.0)


@dataclass(frozen=True)
class RoundLayer:
    """The layer around a sphere, a circle, or a cylinder along an axis.

    region      name of the region that is the layer
    centre      (dim,) a point: the centre, or one on the cylinder's axis
    axis        of a cylinder in 3D 0, 1 or 2, the axis along it; None of a sphere, and of a circle in 2D
    radius      of the sphere, circle or cylinder within
    thickness   of the layer
    degree, reflection, shift   as above; shift in units of 1 / length

    Along the radius space is stretched by s, across it by the mean (1 / r) integral_radius^r s dr'. Teixeira & Chew 1998."""

    region: str
    centre: tuple
    axis: int | None
    radius: float
    thickness: float
    degree: int
    reflection: float
    shift: float
    straight = False
    slabs = 0                # its cells have no faces of one depth alone
    by_derivatives = False

    @property
    def across(self):
        """The axes along which the distance is measured."""
        return tuple(axis for axis in range(len(self.centre)) if axis != self.axis)

    @property
    def sides(self):
        """(axis, 0 below or 1 above) of the directions in which the layer is, a set."""
        return {(axis, side) for axis in self.across for side in (0, 1)}

    def distance(self, x):
        """The distance r from the centre, or from the cylinder's axis."""
        return np.sqrt(sum((x[axis] - self.centre[axis]) ** 2 for axis in self.across))

    def before(self, x, depth=0.0):
        """The places x (dim, place) of the layer moved along its depth to where it begins, or to this depth."""
        nearer = np.minimum(1.0, (self.radius + depth * self.thickness) / np.maximum(self.distance(x), TINY * self.radius))
        return np.stack([c + (each - c) * (nearer if axis in self.across else 1.0)
                         for axis, (each, c) in enumerate(zip(x, self.centre))])

    def depth(self, x):
        """The depth along the radius, from 0 to 1, at the points x."""
        return np.clip((self.distance(x) - self.radius) / self.thickness, 0.0, 1.0)

    def stretch(self, x):
        """s along the radius at the points x, and its mean over the radius, 1 / length."""
        depth = self.depth(x)
        along = self.largest * depth ** self.degree
        mean = self.largest * self.thickness / (self.degree + 1) * depth ** (self.degree + 1)
        return along, mean / np.maximum(self.distance(x), self.radius)

    @property
    def largest(self):
        """The largest s along the radius."""
        return largest_stretch(self.thickness, self.degree, self.reflection)

    def direction(self, x):
        """The unit vector along the radius at the points x, a tuple; 0 along the axis of a cylinder."""
        r = np.maximum(self.distance(x), TINY * self.radius)
        return tuple((x[axis] - self.centre[axis]) / r if axis in self.across else 0.0 for axis in range(len(self.centre)))
