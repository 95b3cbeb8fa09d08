"""Reflection and transmission of a plane wave at a dielectric slab, 2D Maxwell."""
from math import cos, radians, sin, sqrt

import numpy as np

from dgarray import Maxwell, NodalDG, Simulation, upwind

from .common import case_mesh, check_numbers


def dielectric_slab(order=4, eps=4.0, angle=30.0, frequency=1.0, polarisation="TM", until=1.0, every=None, mesh=None,
                    start="projection"):
    """A dielectric slab of permittivity eps in vacuum reflects and transmits a plane wave; mu = 1.

    Method: NodalDG on triangles.

    With w = 2 pi frequency, k = w (cos(angle), sin(angle)) in vacuum,
    kx_s^2 = eps w^2 - ky^2 in the slab, u = Ez (TM) or Hz (TE):
    u = Re f(x) exp(i (ky y - w t)),  f = exp(i kx x) + r exp(-i kx x)  |  A exp(i kx_s x) + B exp(-i kx_s x)  |
    s exp(i kx x) in front of, in and behind the slab; u and u_x / mu (TM) or u_x / eps (TE) are continuous, which is
    Fresnel's law at both faces (Born & Wolf 1999, section 1.6.4).

    angle: degrees from the normal; mesh: a file with the regions "vacuum" and "slab", faces of the slab at constant x
    The run starts from this solution, and the waves enter through the outer boundary. results: reflected and transmitted
    power, |r|^2 and |s|^2, fitted to the last snapshot in front of and behind the slab, beside the exact values.
    With the defaults and the built-in mesh (slab 0.75 thick): |r|^2 = 0.06502, |s|^2 = 0.93498; in TE 0.03182, 0.96818.
    Raises ValueError for another polarisation, and if the wave is evanescent in the slab."""
    if polarisation not in ("TM", "TE"):
        raise ValueError(f"polarisation={polarisation!r} is not allowed; allowed: TM, TE")
    check_numbers(above=0, eps=eps, frequency=frequency)
    check_numbers(angle=angle)
    w = 2 * np.pi * frequency
    kx, ky = w * cos(radians(angle)), w * sin(radians(angle))
    if not abs(angle) < 90 or eps * w**2 <= ky**2:
        raise ValueError(f"angle={angle!r}, eps={eps!r}: the wave does not enter the slab; angle must lie below 90 degrees, "
                         "eps above sin(angle)^2")
    mesh = case_mesh(mesh, "slab.msh", 2)
    mesh.named("slab"), mesh.named("vacuum")
    slab = mesh.points[mesh.cells[mesh.regions["slab"]], 0]
    front, back = float(slab.min()), float(slab.max())
    # Medium by medium: kx, and the factor p of the continuous u_x / p.
    kx_slab, (p_slab, sign) = sqrt(eps * w**2 - ky**2), (1.0, 1) if polarisation == "TM" else (eps, -1)
    r, inner, outer, s = amplitudes(kx, kx_slab, p_slab, front, back)

    def wave(x, t, inside):
        """(Hx, Hy, Ez) or (Ex, Ey, Hz): the sum of the waves forward and backward of the medium at x."""
        before, k, p = x[0] < (front + back) / 2, np.where(inside, kx_slab, kx), np.where(inside, p_slab, 1.0)
        state = 0.0, 0.0, 0.0
        for direction, parts in ((1, (1.0, inner, s)), (-1, (r, outer, 0.0))):
            real, imaginary = (np.where(inside, part[1], np.where(before, part[0], part[2]))
                               for part in (np.real(parts).tolist(), np.imag(parts).tolist()))
            phase = direction * k * x[0] + ky * x[1] - w * t
            u = real * np.cos(phase) - imaginary * np.sin(phase)
            state = tuple(a + b for a, b in zip(state, (sign * ky / (w * p) * u, -sign * direction * k / (w * p) * u, u)))
        return state

    def exact(x, t):
        return wave(x, t, (x[0] > front) & (x[0] < back))

    def around(x, t, m):
        # On a corner of the slab x does not tell which medium the element is made of; its permittivity does.
        return wave(x, t, m.eps > (1 + eps) / 2 if eps > 1 else m.eps < (1 + eps) / 2)
    around.flux = upwind

    def results(dataset):
        x, y, (_, v, u) = dataset.x.values, dataset.y.values, map(dataset.dg.values, dataset.dg.variables)
        t = float(dataset.time[-1])

        def power(direction, elements):
            # u and the other tangential component, v = -+ sign kx / w u, tell the waves forward and backward apart.
            part = (u - direction * sign * w / kx * v)[elements].ravel() / 2
            phase = (direction * kx * x + ky * y - w * t)[elements].ravel()
            return np.sum(np.linalg.lstsq(np.column_stack([np.cos(phase), np.sin(phase)]), part, rcond=None)[0] ** 2)

        before, behind = x.mean(axis=1) < front, x.mean(axis=1) > back
        forward, reflected, transmitted = power(1, before), power(-1, before), power(1, behind)
        return {"reflected": float(reflected / forward), "reflected_exact": float(abs(r) ** 2),
                "transmitted": float(transmitted / forward), "transmitted_exact": float(abs(s) ** 2)}

    law = Maxwell(dim=2, polarisation=polarisation, eps={"vacuum": 1.0, "slab": float(eps)})
    return Simulation(mesh, law, NodalDG(order, start), boundary=around, initial=exact, exact=exact, until=until, every=every,
                      case="dielectric_slab", results=results)


def amplitudes(kx, kx_slab, p_slab, front, back):
    """(r, A, B, s) of the waves of unit incidence: u and u_x / p are continuous at both faces of the slab."""
    def rows(x):
        forward, backward = np.exp(1j * kx * x), np.exp(-1j * kx * x)
        inside = np.array([np.exp(1j * kx_slab * x), np.exp(-1j * kx_slab * x)])
        return forward, backward, inside, kx_slab / p_slab / kx * inside * [1, -1]

    e, d, v, g = rows(front)
    f, _, u, h = rows(back)
    matrix = [[d, -v[0], -v[1], 0], [-d, -g[0], -g[1], 0], [0, u[0], u[1], -f], [0, h[0], h[1], -f]]
    return np.linalg.solve(matrix, [-e, -e, 0, 0])
