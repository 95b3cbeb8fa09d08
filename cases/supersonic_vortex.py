"""Supersonic flow of a gas through a quarter of a ring, steady and exact."""
from dataclasses import replace

import numpy as np

from dgarray import Euler, Simulation, curved_wall, inflow, outflow, prescribed, rectangle, wall
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers, dg_method

INNER, OUTER, MACH = 1.0, 1.384, 2.25
NAMES = {"left": "inner", "right": "outer", "top": "inlet", "bottom": "outlet"}
RADIAL, AROUND = 5, 18         # boxes of two triangles at level 0
WALLS = ("curved", "straight", "exact", "spline", "cells")


def supersonic_vortex(order=1, level=0, walls="curved", until=3.0, steady=1e-14, mesh=None, method="modal",
                      start="projection"):
    """A gas enters a quarter of a ring at Mach 2.25 and turns between walls of radius 1 and 1.384; the flow is steady.

    Method: ModalDG or NodalDG on triangles.

    rho = (1 + (gamma - 1) / 2 M^2 (1 - 1 / r^2))^(1 / (gamma - 1)),  p = rho^gamma / gamma,  |v| = M / r along the circles,
    M = 2.25, gamma = 1.4.  The run starts from this flow; the difference at t = 3 is the error of the scheme.  With
    until=30 it ends when it is steady by criterion (22) of the source, at t = 4 to 7.

    level: 180 straight-sided triangles at level 0, four times as many at each further level, all with corners on the circles
    walls: "curved" (Krivodonova & Berger), "spline" (the same, by splines through the corners instead of circles),
    "straight" (the polygon's own edges reflect), "exact" (the exact state outside) or "cells" (curved cells with maps of
    degree order + 1, whose edges reflect); at the inlet the exact state, at the outlet outflow; method: "modal" or "nodal"
    mesh: a file with the boundaries inlet, outlet, inner, outer
    Fuhry, Giuliani & Krivodonova 2014, section 5.1; Krivodonova & Berger 2006; Aftosmis, Gaitonde & Tavares 1994."""
    check_numbers(least=0, whole=True, level=level)
    mesh = case_mesh(mesh, lambda: ring(level, order + 1 if walls == "cells" else 1), 2)
    law = Euler(2)

    def exact(x):
        square = x[0] ** 2 + x[1] ** 2
        rho = (1 + (law.gamma - 1) / 2 * MACH**2 * (1 - INNER / square)) ** (1 / (law.gamma - 1))
        return law.conservative((rho, MACH * x[1] / square, -MACH * x[0] / square, rho**law.gamma / law.gamma))

    side = {"curved": curved_wall(lambda x: x), "straight": wall, "exact": prescribed(exact),
            "spline": curved_wall("spline"), "cells": wall}[choose("walls", walls, WALLS)]

    def results(dataset):
        q = [dataset[name][-1].values for name in law.variables]
        return {"entropy_error": float(np.abs(law.entropy(q) + np.log(law.gamma)).max())}

    return Simulation(mesh, law, dg_method(method, order, start), initial=exact, exact=exact, until=until, steady=steady,
                      boundary={"inlet": inflow(exact), "outlet": outflow, "inner": side, "outer": side},
                      case="supersonic_vortex", results=results)


def ring(level, geometry=1):
    """The quarter of the ring in triangles, corners on the circles; those at the walls have maps of the degree `geometry`."""
    flat = rectangle((INNER, 0), (OUTER, np.pi / 2), (RADIAL * 2**level, AROUND * 2**level))
    r, angle = flat.points.T
    straight = replace(flat, points=np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1),
                   boundaries={NAMES[name]: faces for name, faces in flat.boundaries.items()}, source=f"ring({level})")

    def to_walls(x):
        radius = np.hypot(*x)
        factor = np.where(radius < (INNER + OUTER) / 2, INNER, OUTER) / radius
        return x[0] * factor, x[1] * factor
    return straight if geometry == 1 else straight.curved(geometry, to_walls, ("inner", "outer"))
