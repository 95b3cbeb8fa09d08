"""Absorbing layers in which each derivative is divided by the stretch of its coordinate: those of cells of the same depth.

Where the coordinates along the axes are stretched, dx_k -> s_k dx_k, s_k = 1 + sigma_k / (alpha + s),  s = i omega, a law is

    s C q + sum_k (1 / s_k) d_k F_k = source,    1 / s_k = 1 - sigma_k / (alpha + sigma_k + s),

with its own fields, so that walls, media and sources are what they are elsewhere.  In the time domain, for each k,

    C dq/dt + div F = sum_k w_k + source,    dw_k/dt = sigma_k d_k F_k - (alpha + sigma_k) w_k :

w_k is carried along with a(n) = -sigma_k n_k e_k, see `dgarray.physics.auxiliary_variables`.  Its components that no flux along
e_k moves are 0 and left out: of E and H those along k, of v those across.  Which ones, traces of the law and of the numerical
flux show, whose dissipation may move more.  In DG d_k F_k has its share of the jumps at faces, too.  So in cells along the axes
the discrete equations are those of the inside, stretched: this keeps waves along edges of a layer from growing, where
dissipation that is not stretched alike would feed them.  On triangles and tetrahedra the derivatives along two axes do not
commute, and some states would grow: see `BoxLayer.by_derivatives`.
Roden & Gedney 2000; Komatitsch & Martin 2007.
"""
from functools import partial

from .auxiliary_variables import Internal
from .stretched_coordinates import parameters_of


def filtered(law, layer, several, speed, media=None):
    """The `Internal` of a law in a straight layer of constant stretches in each element.

    several   whether several stretches differ from 1 at one point; else the sum of all w_k is one variable
    speed     the fastest wave in the layer
    media     the `Internal` of dispersive media there, or None"""
    along = tuple(k for k in range(law.dim) if any(layer.thickness[k]))
    axes = [(k,) for k in along] if several else [along]
    first, V = len(axes) * len(law.variables), len(law.variables)
    names = [f"{variable}_{''.join('xyz'[k] for k in some)}" for some in axes for variable in law.variables]

    def rate(q, w, x, t, m):
        own = tuple(-(speed * layer.shift + sum(rates(m, some, speed))) * w[i * V + v]
                    for i, some in enumerate(axes) for v in range(V))
        return own if media is None else own + tuple(media.found("rate", dict(q=q, w=w[first:], x=x, t=t, m=m)))

    def adds(q, w, x, t, m):
        own = tuple(sum(w[i * V + v] for i in range(len(axes))) for v in range(V))
        return own if media is None else tuple(
            a + b for a, b in zip(own, media.found("adds", dict(q=q, w=w[first:], x=x, t=t, m=m))))

    def energy(q, w, x, m):
        return media.found("energy", dict(q=q, w=w[first:], x=x, m=m))
    fastest = speed * (layer.shift + layer.largest) + (0.0 if media is None else media.fastest)
    return Internal((*names, *(() if media is None else media.names)), rate, adds,
                    energy if media is not None and media.energy is not None else None, fastest,
                    media is not None and media.replaces_source,
                    parameters_of(layer) | ({} if media is None else media.parameters),
                    tuple(partial(stretched, axes=some, speed=speed) for some in axes))


def rates(m, axes, speed):
    """sigma_k along some axes, from the law's parameters m."""
    return [speed * getattr(m, f"stretch_{'xyz'[k]}") for k in axes]


def stretched(n, m, axes, speed):
    """a(n): the components of -sigma_k n_k along some axes, 0 along the others."""
    sigma = dict(zip(axes, rates(m, axes, speed)))
    return tuple(-sigma[k] * component if k in sigma else 0.0 * component for k, component in enumerate(n))
