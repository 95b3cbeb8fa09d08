"""Linear waves of gas dynamics and magnetohydrodynamics: small disturbances by eigenvectors of the flux, exact."""
import numpy as np

from dgarray import MHD, Euler, FiniteVolume, Simulation
from dgarray.support.wording import choose

from .common import check_numbers, flux_named
from .grids import l1_errors, mhd_flux, mhd_law, oblique_frame, oblique_grid

GAMMA, PRESSURE, FIELD = 5 / 3, 3 / 5, (1.0, 2 ** 0.5, 0.5)
# Number of the wave among those that the gas at rest has, from the one that runs fastest to the left.
WAVES = {"mhd": {"fast": 6, "alfven": 5, "slow": 4, "entropy": 3}, "euler": {"sound": 2, "entropy": 1}}


def linear_waves(wave="fast", law="mhd", dim=1, cells=32, scheme="muscl", amplitude=1e-6, flux="auto", limiter="van-leer",
                 variables="auto", cleaning_speed="auto", until=None):
    """A small wave of one kind runs through a uniform gas and is back where it was after one period.

    Method: FiniteVolume on a grid.

    gamma = 5/3, rho = 1, p = 3/5, and in MHD B = (1, sqrt(2), 1/2) in the frame e1, e2, e3 of the wave; v = 0, for the entropy
    wave v = e1.   q = q0 + amplitude r cos(2 pi (e1 . x - c t)),  A r = c r, |r| = 1,  A the Jacobian of the flux along e1.
    MHD: fast c = 2, alfven 1, slow 1/2, entropy 1;  Euler: sound 1, entropy 1.  The wave is 1 long, periodic boxes:
    1D [0, 1];  2D sqrt(5) x sqrt(5) / 2, e1 = (1, 2) / sqrt(5);  3D 3 x 1.5 x 1.5, e1 = (1, 2, 2) / 3.

    wave: fast, alfven, slow or entropy; with law="euler" sound or entropy; law: "mhd" or "euler"
    dim: 1, 2 or 3; cells: along the shorter sides, along x twice as many in 2D and 3D
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll, hllc or roe (Euler), hlld (MHD); "auto": hllc or hlld
    amplitude: small, because squares of it are left out; cleaning_speed: "auto" is the fastest wave along an axis, 0 is none
    until: by default one period, 1 / c
    results: the speed c, and the mean error (the root of the sum of squares over variables) over the amplitude
    Gardiner & Stone 2005, 2008; Stone et al. 2008, section 8.1 (with errors per amplitude)."""
    number = WAVES[choose("law", law, WAVES)][choose("wave", wave, WAVES[law], f" in law {law!r}; allowed")]
    grid = oblique_grid(dim, cells)
    check_numbers(above=0, amplitude=amplitude)
    direction, frame = oblique_frame(dim)
    q0, r, speed = (mhd_wave if law == "mhd" else gas_wave)(number, 1.0 if wave == "entropy" else 0.0, frame, dim)

    def exact(x, t):
        shape = amplitude * np.cos(2 * np.pi * (sum(k * a for k, a in zip(direction, x)) - speed * t))
        return tuple(a + b * shape for a, b in zip(q0, r))

    if law == "mhd":
        flux = mhd_flux("hlld" if flux == "auto" else flux)
        law = mhd_law(grid, GAMMA, lambda x, law: exact(x, 0.0), cleaning_speed)
    else:
        flux, law = flux_named("hllc" if flux == "auto" else flux), Euler(dim, GAMMA)

    def results(dataset):
        errors = l1_errors(dataset, exact)
        return {"speed": speed, "error_per_amplitude": float(np.linalg.norm(list(errors.values())) / amplitude)}

    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), initial=lambda x: exact(x, 0.0),
                      exact=exact, flux=flux, until=1 / speed if until is None else until, case="linear_waves", results=results)


def eigenvector(law, q, kept, number):
    """The speed and the vector, of length 1, of one of the waves along x in the variables `kept`, from the slowest one on."""
    step = 1e-30 * np.eye(len(q))          # along the imaginary axis, where differences lose no digits
    jacobian = np.stack([np.imag(law.flux(tuple(q + 1j * step[k]), (1.0,))) / 1e-30 for k in kept], axis=1)
    speeds, vectors = np.linalg.eig(jacobian[kept])
    place = np.argsort(speeds.real)[number]
    vector = np.zeros(len(q))
    vector[kept] = vectors[:, place].real
    return float(speeds[place].real), vector * np.sign(vector[np.abs(vector).argmax()])


def mhd_wave(number, v1, frame, dim):
    """(q0, r, speed): state, vector and speed of a wave of MHD along e1; its variables are all but B . e1 and psi."""
    law = MHD(1, GAMMA)
    q = np.array(law.conservative((1.0, v1, 0.0, 0.0, PRESSURE, *FIELD)))
    speed, r = eigenvector(law, q, [0, 1, 2, 3, 4, 6, 7], number)
    return *([v[0], *(v[1:4] @ frame), v[4], *(v[5:8] @ frame), v[8]] for v in (q, r)), speed


def gas_wave(number, v1, frame, dim):
    """(q0, r, speed): state, vector and speed of a wave of the Euler equations along e1."""
    law = Euler(1, GAMMA)
    q = np.array(law.conservative((1.0, v1, PRESSURE)))
    speed, r = eigenvector(law, q, [0, 1, 2], number)
    return *([v[0], *(v[1] * frame[0][:dim]), v[2]] for v in (q, r)), speed
