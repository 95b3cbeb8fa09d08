"""Shock tubes: two constant states of a gas that meet, exact."""
from dgarray import Euler, Simulation, interval, outflow, rectangle, riemann, wall
from dgarray.support.wording import choose

from .common import case_mesh, check_box, check_numbers, flux_named, l1_error, least, shock_dg

# Primitive variables (rho, u, p) on the left and on the right, where they meet, the time at which they are compared.
TESTS = {
    "sod": ((1.0, 0.0, 1.0), (0.125, 0.0, 0.1), 0.5, 0.2),
    "lax": ((0.445, 0.698, 3.528), (0.5, 0.0, 0.571), 0.5, 0.13),
    "toro1": ((1.0, 0.75, 1.0), (0.125, 0.0, 0.1), 0.3, 0.2),
    "toro2": ((1.0, -2.0, 0.4), (1.0, 2.0, 0.4), 0.5, 0.15),
    "toro3": ((1.0, 0.0, 1000.0), (1.0, 0.0, 0.01), 0.5, 0.012),
    "toro4": ((5.99924, 19.5975, 460.894), (5.99242, -6.19633, 46.0950), 0.4, 0.035),
    "toro5": ((1.0, -19.59745, 1000.0), (1.0, -19.59745, 0.01), 0.8, 0.012),
}


def sod(order=1, test="sod", dim=1, cells=100, limiter="auto", limiter_variables="conserved", indicator="none",
        positivity="scaling", flux="hllc", until=None, mesh=None, start="projection", method="modal", shock_capturing="auto"):
    """Sod's shock tube and others: two constant states of a gas meet; two waves and a contact run apart.

    Method: ModalDG on intervals or triangles, or TensorDG on quadrilaterals.

    On [0, 1], gamma = 1.4, (rho, u, p) = left for x < x0, right for x > x0; exact by the Riemann problem:
    sod (1, 0, 1 | 0.125, 0, 0.1), x0 = 0.5, t = 0.2;  lax (0.445, 0.698, 3.528 | 0.5, 0, 0.571), x0 = 0.5, t = 0.13;
    toro1 sod with u = 0.75 on the left, a sonic point;  toro2 two rarefactions, nearly a vacuum;
    toro3 a pressure ratio of 10^5;  toro4 two strong shocks that meet;  toro5 as toro3, the contact at rest.

    dim: 1, or 2 for a channel of triangles between two walls; it is a tenth as high as long, in length and in cells
    limiter: "auto" (barth-jespersen at order 1, vertex above), one of ModalDG, or "none"
    limiter_variables, indicator: as for ModalDG
    method: "modal", or with dim=2 "tensor": split form on quadrilaterals of the same size, interpolated at the start
    shock_capturing: with method="tensor" the largest share of finite volumes, "auto" for 0.5, or "none"
    flux: rusanov, hll, hllc or roe; until: by default the time of the test
    mesh: a file of [0, 1] (times a height) with the boundaries left, right (bottom, top)
    Sod 1978; Lax 1954; Toro 2009, table 6.2 (tests 1 to 5)."""
    left, right, at, end = TESTS[choose("test", test, TESTS)]
    of_method = shock_dg(method, order, start, positivity, shock_capturing, limiter=limiter,
                         limiter_variables=limiter_variables, indicator=indicator)
    mesh = tube_mesh(mesh, dim, 0.0, 1.0, cells, quadrilaterals=method == "tensor")
    law = Euler(mesh.dim)
    exact = riemann(law, *((rho, u, *(0.0,) * (mesh.dim - 1), p) for rho, u, p in (left, right)), at=at)

    def results(dataset):
        errors = l1_error(dataset, exact, ("rho", "E"))
        return {**{f"l1_{name}": error for name, error in errors.items()}, **least(dataset, law)}

    return Simulation(mesh, law, of_method, tube_ends(mesh), exact, flux=flux_named(flux), exact=exact,
                      until=end if until is None else until, stepper="ssp33", case="sod", results=results)


def tube_mesh(mesh, dim, lower, upper, cells, quadrilaterals=False):
    """The user's mesh, checked to be such a tube, or else `tube`."""
    mesh = case_mesh(mesh, lambda: tube(dim, lower, upper, cells, quadrilaterals))
    check_box(mesh, (lower, upper))
    for name in mesh.boundaries:
        choose(f"{mesh.source}: the boundary", name, ("left", "right", "bottom", "top"), " in this case; allowed")
    return mesh


def tube(dim, lower, upper, cells, quadrilaterals=False):
    """An interval, or a channel of triangles or quadrilaterals of a tenth of its length."""
    check_numbers(least=1, whole=True, cells=cells)
    if dim not in (1, 2):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 1 or 2")
    if quadrilaterals and dim == 1:
        raise ValueError("dim=1 is not allowed with method='tensor', which is for quadrilaterals; give dim=2")
    if dim == 1:
        return interval(lower, upper, cells)
    kind = {"shape": "quadrilateral"} if quadrilaterals else {"diagonal": "alternate"}
    return rectangle((lower, 0), (upper, (upper - lower) / 10), (cells, max(1, cells // 10)), **kind)


def tube_ends(mesh):
    """Boundary conditions: walls along the tube, outflow at its ends."""
    return {name: wall if name in ("bottom", "top") else outflow for name in mesh.boundaries}
