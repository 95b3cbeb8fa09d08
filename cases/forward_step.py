"""A wind tunnel with a step at Mach 3."""
import numpy as np

from dgarray import Euler, Simulation, outflow, prescribed, wall
from dgarray.mesh import polygon
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers, euler_stepper, flux_named, least, limited_dg

MACH, WIDTH, HEIGHT, AT, STEP = 3.0, 3.0, 1.0, 0.6, 0.2
CORNERS = (0, 0), (AT, 0), (AT, STEP), (WIDTH, STEP), (WIDTH, HEIGHT), (0, HEIGHT)
SIDES = "wall", "wall", "wall", "outlet", "wall", "inlet"


def forward_step(order=1, elements=6000, limiter="auto", limiter_variables="conserved", indicator="none", positivity="scaling",
                 flux="rusanov", until=4.0, mesh=None, start="projection"):
    """A gas at Mach 3 meets a step in a wind tunnel: a bow shock, its reflections, and a Mach stem at the upper wall.

    Method: ModalDG on triangles.

    rho = 1.4, p = 1, v = (3, 0) at t = 0 and at the inlet; [0, 3] x [0, 1] without the step x > 0.6, y < 0.2; slip walls,
    outflow on the right.  The corner, where the flow is singular, has no special treatment.
    On the front face of the step the gas comes to rest behind a nearly normal shock; an exactly normal shock of Mach 3 and
    an isentropic compression give p = 12.06.

    elements: approximate number of unstructured triangles; positivity: as for ModalDG
    limiter: "auto" (barth-jespersen at order 1, vertex above), one of ModalDG, or "none"
    limiter_variables, indicator: as for ModalDG
    flux: rusanov, hll, hllc or roe; mesh: a file with the boundaries inlet, outlet, wall
    Emery 1968; Woodward & Colella 1984, section 4."""
    check_numbers(least=3, whole=True, elements=elements)
    mesh = case_mesh(mesh, lambda: tunnel(elements), 2)
    for name in ("inlet", "outlet", "wall"):
        choose("boundary", name, mesh.boundaries, f" in {mesh.source}, and this case needs it; the mesh has")
    law = Euler(2)

    def initial(x):
        return law.conservative(tuple(value + 0.0 * x[0] for value in (1.4, MACH, 0.0, 1.0)))

    def results(dataset):
        q = [dataset[name].isel(time=[-1]) for name in law.variables]
        at = dataset.assign(p=law.pressure(q)).dg.sample([(AT, 0.0)], time=-1)
        return {"stagnation_pressure": float(at.p[0]), "stagnation_pressure_of_normal_shock": stagnation(law.gamma),
                **least(dataset, law)}

    return Simulation(mesh, law, limited_dg(order, start, limiter, limiter_variables, indicator, positivity),
                      initial=initial, flux=flux_named(flux), until=until, stepper=euler_stepper(order),
                      boundary={"inlet": prescribed(initial), "outlet": outflow, "wall": wall}, case="forward_step",
                      results=results)


def stagnation(gamma):
    """Stagnation pressure behind a normal shock of Mach 3 in a gas of pressure 1, Rayleigh's formula.  NACA report 1135."""
    square, a = MACH**2, gamma / (gamma - 1)
    return float(((gamma + 1) / 2 * square) ** a * ((gamma + 1) / (2 * gamma * square - gamma + 1)) ** (a / gamma))


def tunnel(elements):
    """Triangles of the tunnel."""
    area = WIDTH * HEIGHT - (WIDTH - AT) * STEP
    return polygon(CORNERS, (4 * area / (np.sqrt(3) * elements)) ** 0.5, SIDES)
