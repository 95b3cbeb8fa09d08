"""Scaled derivatives of a function that cannot be traced, from polynomials of high degree through its values."""
import numpy as np
from numpy.polynomial import chebyshev

from ...physics.trace import call

MORE = 8          # degree of the fit minus the order of the highest derivative
WIDTH = 0.5       # half the width of the fit, in cells


def fitted(f, x, h, order, t=0.0):
    """Scaled derivatives h^i D^i f / i! of the components of f(x, t) at the places x, as `dgarray.physics.taylor.expand`
    returns them: a list of arrays (order + 1, ..., *places). They are those of the polynomial of degree order + 8 in each
    direction that interpolates f at Chebyshev points around each place.

    x: coordinates of the places, arrays that broadcast;  h: cell length along each coordinate
    order: of the highest derivative in each direction
    The error of derivative i is about h^(order + 9 - i) times a derivative of f, plus rounding errors times 4^i i!. With smooth
    functions the method keeps its order of convergence for all `order` up to 6."""
    d, degree = len(x), order + MORE
    points = chebyshev.chebpts1(degree + 1)
    # Rows: the coefficient of s^i of the polynomial with given values at the points WIDTH s.
    to_chebyshev = np.linalg.inv(chebyshev.chebvander(points, degree))
    to_powers = np.array([np.pad(chebyshev.cheb2poly(row), (0, degree + 1 - len(chebyshev.cheb2poly(row))))
                          for row in np.eye(degree + 1)]).T
    matrix = (to_powers @ to_chebyshev)[:order + 1] / WIDTH ** np.arange(order + 1)[:, None]
    places = np.broadcast_shapes(*(np.shape(a) for a in x))
    offsets = np.meshgrid(*[WIDTH * points] * d, indexing="ij")[::-1]
    around = tuple(np.broadcast_to(a, places) + h[k] * offsets[k].reshape(*offsets[k].shape, *(1,) * len(places))
                   for k, a in enumerate(x))
    values = call(f, dict(x=around, t=t), "initial state")
    result = []
    for value in values if isinstance(values, (tuple, list)) else (values,):
        if np.iscomplexobj(value):
            raise ValueError("the initial state is complex; it must be real")
        c = np.broadcast_to(np.asarray(value, float), around[0].shape)
        for axis in range(d):
            c = np.moveaxis(np.tensordot(matrix, c, (1, axis)), 0, axis)
        result.append(c)
    return result
