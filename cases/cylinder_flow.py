"""Subsonic flow of a gas around a circular cylinder, symmetric."""
import numpy as np

from dgarray import BoundaryIntegral, Euler, Simulation, curved_wall, far_field, wall
from dgarray.mesh import from_arrays
from dgarray.mesh.memory import check_room
from dgarray.reference import quadrature
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers, dg_method

RADIUS, FAR = 0.5, 20.0
AROUND, LAYERS = 16, 4         # boxes of two triangles at level 0
FINEST, GROWTH = 128, 1.1648336         # the source's finest mesh has 128 points around, and layers that grow so
WALLS = ("curved", "straight")


def cylinder_flow(order=2, level=1, mach=0.38, walls="curved", until=100.0, mesh=None, method="modal", start="projection"):
    """A gas flows at Mach 0.38 around a cylinder. The exact flow is smooth and symmetric, has no drag and constant entropy.

    Method: ModalDG or NodalDG on triangles.

    rho = 1.4, p = 1, v = (mach, 0) at the start and far away; radius 0.5, the outer circle 20.  The flow becomes steady.
    Any drag is then an error of the scheme, and so is entropy_error, the L2 norm of (p / p0) (rho0 / rho)^gamma - 1.

    level: 128 straight-sided triangles at level 0, four times as many at each further level; the points lie at the radii
    0.5 (1 + 2 pi / 128 (a^j - 1) / (a - 1)), a = 1.1648336, j = 0 .. 32
    walls: "curved" (Krivodonova & Berger) or "straight" (the polygon's own edges reflect); method: "modal" or "nodal"
    mesh: a file with the boundaries cylinder and far, the cylinder centred at the origin
    Bassi & Rebay 1997; Krivodonova & Berger 2006, section 4.2."""
    check_numbers(least=0, whole=True, level=level)
    check_numbers(mach=mach)
    mesh = case_mesh(mesh, lambda: rings(level), 2)
    for name in ("cylinder", "far"):
        choose("boundary", name, mesh.boundaries, f" in {mesh.source}, and this case needs it; the mesh has")
    law = Euler(2)
    if not 0 < mach < 1:
        raise ValueError(f"mach={mach!r} is not allowed; it must be above 0 and below 1")

    def free(x):
        return law.conservative(tuple(value + 0.0 * x[0] for value in (1.4, mach, 0.0, 1.0)))

    def force(q, n):
        return tuple(law.pressure(q) * k / (0.5 * 1.4 * mach**2 * 2 * RADIUS) for k in n)

    def results(dataset):
        forces = dataset.dg.record("coefficients")
        return {"entropy_error": entropy_error(dataset, law), "drag": float(forces.drag[-1]), "lift": float(forces.lift[-1])}

    side = {"curved": curved_wall(lambda x: x), "straight": wall}[choose("walls", walls, WALLS)]
    return Simulation(mesh, law, dg_method(method, order, start), {"cylinder": side, "far": far_field(free)}, free,
                      until=until, record={"coefficients": BoundaryIntegral("cylinder", force, 20, ("drag", "lift"))},
                      case="cylinder_flow", results=results)


def rings(level):
    """Triangles between the two circles, in rings that widen outwards, with corners on the circles."""
    around, layers = AROUND * 2**level, LAYERS * 2**level
    check_room(f"rings({level})", 2 * around * layers, 2)
    steps = np.linspace(0, FINEST / 4, layers + 1)
    radius = RADIUS * (1 + 2 * np.pi / FINEST * (GROWTH**steps - 1) / (GROWTH - 1))
    angle = 2 * np.pi / around * np.arange(around)
    points = np.stack([np.multiply.outer(radius, f(angle)) for f in (np.cos, np.sin)], axis=-1).reshape(-1, 2)
    inner = np.arange(layers * around).reshape(layers, around)
    outer = inner + around
    after, beyond = np.roll(inner, -1, axis=1), np.roll(outer, -1, axis=1)
    # Cut alike in mirror images about the x and y axes, so that the mesh is as symmetric as the flow.
    first = np.arange(around) // (around // 4) % 2 == 0
    cells = np.where(np.broadcast_to(first, inner.shape)[..., None, None],
                     np.stack([[inner, outer, beyond], [inner, beyond, after]]).transpose(2, 3, 0, 1),
                     np.stack([[inner, outer, after], [outer, beyond, after]]).transpose(2, 3, 0, 1)).reshape(-1, 3)
    rings = {"cylinder": np.stack([inner[0], after[0]], axis=1), "far": np.stack([outer[-1], beyond[-1]], axis=1)}
    return from_arrays(points, cells, rings, source=f"rings({level})")


def entropy_error(dataset, law):
    """L2 norm of (p / p0) (rho0 / rho)^gamma - 1 at the end."""
    dg = dataset.dg
    points, weights = quadrature(2, 2 * dg.order + 4)
    q = [dg.values(name) @ dg.reference.interpolation(points).T for name in law.variables]
    error = np.exp(law.entropy(q) + law.gamma * np.log(1.4)) - 1
    return float(np.sqrt(dg.jacobians @ (error**2 @ weights)))
