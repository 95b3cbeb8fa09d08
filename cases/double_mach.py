"""A strong shock that runs over a wedge: the double Mach reflection."""
from math import sin, tan

import numpy as np

from dgarray import Euler, Simulation, outflow, prescribed, rectangle, wall
from dgarray.mesh import from_arrays, polygon
from dgarray.support.wording import choose

from .common import behind_shock, case_mesh, check_box, check_numbers, euler_stepper, flux_named, least, shock_dg

MACH, FOOT, ANGLE = 10.0, 1 / 6, np.pi / 3
WIDTH, HEIGHT = 4.0, 1.0
SIDES = ("behind", "wedge", "right", "top", "left")
POINTS = 4001                # of a line along which the front is looked for
LOW = 0.1                    # of the stem, away from the jet that pushes its foot
STEM, SHOCK = (0.2, 0.35), (0.55, 0.8)          # parts of both in y that are taken as straight


def double_mach(order=1, elements=4000, limiter="auto", limiter_variables="conserved", indicator="none", positivity="scaling",
                flux="auto", until=0.2, mesh=None, jitter="auto", start="projection", method="modal", shock_capturing="auto"):
    """A shock of Mach 10 runs over a wedge of 30 degrees and is reflected twice: double Mach reflection.

    Method: ModalDG on triangles, or TensorDG on quadrilaterals.

    In front of the shock rho = 1.4, p = 1, v = 0; the wedge is the part x > 1/6 of y = 0, and the shock, at 60 degrees to it,
    meets it there at t = 0: it lies at x = 1/6 + (y + 20 t) / sqrt(3).  Behind it rho = 8, p = 116.5, |v| = 8.25.
    [0, 4] x [0, 1]: the state behind the shock on the left and in front of the wedge, that of the moving shock above,
    outflow on the right.

    elements: approximate number of unstructured triangles; the paper's meshes have 68622, 236964 and 964338
    jitter: irregularity of the mesh, 0 to 0.5, as for mesh.polygon; "auto" is 0 for Barth-Jespersen's limiters (nearly
    equilateral triangles in rows along the wedge) and 0.4 for the others, where rows along the stem may give a carbuncle
    limiter: "auto" (barth-jespersen at order 1, vertex above), one of ModalDG, or "none"
    limiter_variables, indicator: as for ModalDG
    method: "modal", or "tensor": split form on about as many squares, interpolated at the start
    shock_capturing: with method="tensor" the largest share of finite volumes, "auto" for 0.5, or "none"
    positivity: "scaling" or "mean" as for ModalDG, or False; it is needed here. The paper does not mention it; its authors'
    code takes "mean", with rusanov's flux
    flux: rusanov, hll, hllc or roe; "auto" is hllc, on squares rusanov, because there hllc gives the stem a kink (carbuncle)
    mesh: a file with the boundaries left, behind, wedge, right, top
    results: x of the Mach stem on the wedge (stem_foot) and at y = 0.1 (stem_x), and the triple point where it meets the
    shock. Fronts are where the density passes the mean of the two sides of the incident shock.
    Woodward & Colella 1984, section 4; Fuhry, Giuliani & Krivodonova 2014, section 5.2, table 4 and figure 10."""
    check_numbers(least=3, whole=True, elements=elements)
    of_method = shock_dg(method, order, start, positivity, shock_capturing, limiter=limiter,
                         limiter_variables=limiter_variables, indicator=indicator)
    if isinstance(jitter, str):
        choose("jitter", jitter, ("auto",), " for a mesh; allowed beside numbers from 0 to 0.5")
        jitter = 0.0 if str(of_method.limiting.limiter).startswith("barth-jespersen") else 0.4
    elif method == "tensor":
        raise ValueError(f"jitter={jitter!r} is not allowed with method='tensor', which takes squares; it must be 'auto'")
    mesh = case_mesh(mesh, lambda: squares(elements) if method == "tensor" else channel(elements, jitter), 2)
    for name in SIDES:
        choose("boundary", name, mesh.boundaries, f" in {mesh.source}, and this case needs it; the mesh has")
    check_box(mesh, (0, WIDTH), (0, HEIGHT))
    law, ahead = Euler(2), (1.4, 0.0, 0.0, 1.0)
    flux = flux_named(("rusanov" if method == "tensor" else "hllc") if flux == "auto" else flux)
    rho, speed, p = behind_shock(law.gamma, MACH, ahead[0], ahead[-1])
    behind = rho, float(speed * np.sin(ANGLE)), float(-speed * np.cos(ANGLE)), p

    def state(x, t):
        left = x[0] < shock(x[1], t)
        return law.conservative(tuple(np.where(left, a, b) for a, b in zip(behind, ahead)))

    def after(x):
        return law.conservative(tuple(a + 0.0 * x[0] for a in behind))

    def results(dataset):
        return {**places(dataset, (ahead[0] + rho) / 2), **least(dataset, law)}

    sides = {"left": prescribed(after), "behind": prescribed(after), "wedge": wall, "right": outflow, "top": prescribed(state)}
    return Simulation(mesh, law, of_method, initial=lambda x: state(x, 0.0), boundary=sides, flux=flux, until=until,
                      stepper="ssp33" if method == "tensor" else euler_stepper(order), case="double_mach", results=results)


def channel(elements, jitter):
    """Triangles of [0, 4] x [0, 1] with a corner where the wedge begins."""
    corners = [(0, 0), (FOOT, 0), (WIDTH, 0), (WIDTH, HEIGHT), (0, HEIGHT)]
    return polygon(corners, (4 * WIDTH * HEIGHT / (np.sqrt(3) * elements)) ** 0.5, SIDES, jitter=jitter)


def squares(elements):
    """Squares of [0, 4] x [0, 1], as many along a unit length that the wedge begins at a corner of one."""
    n = 6 * max(1, round((elements / (WIDTH * HEIGHT)) ** 0.5 / 6))
    mesh = rectangle((0, 0), (WIDTH, HEIGHT), (round(WIDTH * n), n), shape="quadrilateral")
    facets = {name: mesh.cells[cell[:, None], np.array(mesh.cell_shape.faces)[face]]
              for name, (cell, face) in ((name, rows.T) for name, rows in mesh.boundaries.items())}
    bottom = facets.pop("bottom")
    before = mesh.points[bottom, 0].mean(axis=1) < FOOT
    return from_arrays(mesh.points, mesh.cells, facets | {"behind": bottom[before], "wedge": bottom[~before]},
                       source=mesh.source)


def shock(y, t):
    """x of the incident shock; the gas in front of it has the speed of sound 1."""
    return FOOT + y / tan(ANGLE) + MACH * t / sin(ANGLE)


def places(dataset, rho):
    """Positions of the Mach stem and of the triple point; the front is where the density passes `rho`."""
    x = np.linspace(0, WIDTH, POINTS)

    def front(y):
        above = dataset.dg.sample(np.column_stack([x, np.full(POINTS, y)]), time=-1).rho.values > rho
        return float(x[np.flatnonzero(above)[-1]]) if above.any() else 0.0

    def line(part):
        y = np.linspace(*part, 11)
        return np.polyfit(y, [front(height) for height in y], 1)
    (slope, at), (other, above) = line(STEM), line(SHOCK)
    meet = (above - at) / (slope - other)
    triple = {"triple_point_x": float(at + slope * meet), "triple_point_y": float(meet)}
    return {"stem_foot": front(0.0), "stem_x": front(LOW), **triple}
