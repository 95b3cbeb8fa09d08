"""A circularly polarised Alfven wave, exact at any amplitude."""
import numpy as np

from dgarray import FiniteVolume, Simulation

from .common import check_numbers
from .grids import l1_errors, mhd_flux, mhd_law, oblique_frame, oblique_grid


def alfven_wave(dim=1, cells=32, scheme="muscl", travelling=True, amplitude=0.1, flux="hlld", limiter="van-leer",
                variables="auto", cleaning_speed="auto", until=1.0):
    """A circularly polarised Alfven wave of any amplitude travels along a magnetic field, or stands still in a gas that flows.

    Method: FiniteVolume on a grid.

    MHD, gamma = 5/3;  rho = 1, p = 0.1, and with s = e1 . x in the frame e1, e2, e3 of the wave
    B = (1, a sin f, a cos f),  v = (v1, a sin f, a cos f),  f = 2 pi (s + (1 - v1) t),  a = amplitude;
    v1 = 0: it travels towards -e1 at the speed 1;  v1 = 1: it stands.  The wave is 1 long.  Periodic boxes:
    1D [0, 1];  2D sqrt(5) x sqrt(5) / 2, e1 = (1, 2) / sqrt(5);  3D 3 x 1.5 x 1.5, e1 = (1, 2, 2) / 3.

    dim: 1, 2 or 3; cells: along the shorter sides, along x twice as many in 2D and 3D
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    travelling: whether v1 = 0; amplitude: 0.1 in the sources
    cleaning_speed: "auto" is the fastest wave along an axis at the start, 0 switches the cleaning off
    results: the mean error (the root of the sum of squares over variables), and the amplitude that is left over the given one
    Toth 2000, section 6.3.1 (to t = 5); Gardiner & Stone 2005, 2008; Stone et al. 2008."""
    grid = oblique_grid(dim, cells)
    check_numbers(above=0, amplitude=amplitude)
    frame, state = oblique_frame(dim)[1], oblique_wave(dim, amplitude, travelling)
    law = mhd_law(grid, 5 / 3, lambda x, law: state(x, 0.0, law), cleaning_speed)

    def exact(x, t):
        return state(x, t, law)

    def results(dataset):
        errors = l1_errors(dataset, exact)
        B = np.stack([dataset.dg.values(name).ravel() for name in ("Bx", "By", "Bz")])
        across = np.sqrt(np.mean(np.sum((frame[1:] @ B) ** 2, axis=0)))
        return {"l1_error": float(np.linalg.norm(list(errors.values()))), "amplitude_left": float(across / amplitude)}

    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), initial=lambda x: exact(x, 0.0),
                      exact=exact, flux=mhd_flux(flux), until=until, case="alfven_wave", results=results)


def oblique_wave(dim, amplitude, travelling):
    """The function state(x, t, law) of the wave in the box of that dimension: see `alfven_wave`."""
    if travelling not in (True, False):
        raise ValueError(f"travelling={travelling!r} is not allowed; it must be True or False")
    direction, frame = oblique_frame(dim)
    v1 = 0.0 if travelling else 1.0

    def state(x, t, law):
        phase = 2 * np.pi * (sum(k * a for k, a in zip(direction, x)) + (1 - v1) * t)
        one, second, third = 1.0 + 0.0 * phase, amplitude * np.sin(phase), amplitude * np.cos(phase)
        v, B = (tuple(first * a + second * b + third * c for a, b, c in zip(*frame)) for first in (v1, 1.0))
        return law.conservative((one, *v, 0.1 * one, *B))
    return state
