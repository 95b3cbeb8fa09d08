"""Tensors along the axes with dispersive components: exact oblique waves, energy, layers, kernels, restart, what is refused."""
import numpy as np
import pytest
from waves_in_media import advanced, internal_amplitudes

import dgarray as dg
from dgarray.physics.dispersion import Dispersion

DEBYE, LORENTZ, DRUDE = 2.0 + dg.Debye(1.0, 0.5), 1.5 + dg.Lorentz(0.8, 5.0, 0.6), 1.0 + dg.Drude(2.0, 0.4)
LAWS = {"TE": dg.Maxwell(2, "TE", eps=(DEBYE, LORENTZ, 7.0), mu=1.0 + dg.Debye(0.5, 0.3)),
        "TM": dg.Maxwell(2, "TM", eps=(7.0, 7.0, LORENTZ), mu=(1.3, DRUDE, 7.0)),
        "rows": dg.Maxwell(2, "TE", eps=((LORENTZ, 0, 0), (0, 3.0, 0), (0, 0, 7.0))),
        "1D": dg.Maxwell(1, eps=(7.0, 7.0, DEBYE), mu=(7.0, LORENTZ, 7.0)),
        "3D": dg.Maxwell(3, eps=(DEBYE, 2.0, LORENTZ), mu=(1.0, DRUDE, 1.0))}


def along(given):
    """The three components of a medium as functions of s."""
    given = given if isinstance(given, tuple) else (given,) * 3
    given = [row[i] if isinstance(row, tuple) else row for i, row in enumerate(given)]
    return [value.at if isinstance(value, Dispersion) else lambda s, value=value: value for value in given]


class Oblique:
    """The wave q exp(i k . x + s t) of Maxwell's equations,  s eps_i E_i = (i k x H)_i,  s mu_i H_i = -(i k x E)_i."""

    def __init__(self, law, k):
        self.law, self.k = law, np.array(k)
        given = law.given
        media = along(given["eps"]) + along(given["mu"])
        K = 1j * np.cross([*k, *(0.0,) * (3 - len(k))], np.eye(3)).T          # K v = i k x v
        curl = np.block([[np.zeros((3, 3)), K], [-K, np.zeros((3, 3))]])
        rows = ["EH".index(v[0]) * 3 + "xyz".index(v[1]) for v in law.variables]

        def matrix(s):
            return (np.diag([s * value(s) for value in media]) - curl)[np.ix_(rows, rows)]
        s, scale = 0.7j * np.linalg.norm(k) - 0.1, 1e-6
        for _ in range(100):          # Newton's method for the determinant
            value = np.linalg.det(matrix(s))
            slope = (np.linalg.det(matrix(s + scale)) - np.linalg.det(matrix(s - scale))) / (2 * scale)
            s -= value / slope
        _, singular, vectors = np.linalg.svd(matrix(s))
        assert singular[-1] < 1e-9 * singular[0] and s.real < 0 < s.imag
        self.s, self.q = s, vectors[-1].conj()

    def exact(self, x, t):
        phase = np.exp(1j * sum(a * b for a, b in zip(self.k, x)) + self.s * t)
        return tuple((amplitude * phase).real for amplitude in self.q)

    def start(self, sim):
        operator, state = sim.operator, sim.project(lambda x: self.exact(x, 0.0))
        for name, of_set in operator.internals.items():
            for row, w in enumerate(internal_amplitudes(operator.operators[of_set].law.internal, self.q, self.s)):
                shapes = sim.project(lambda x, w=w: (self.shape(x, w),) * len(self.law.variables))
                state[name][row] = operator.split(shapes)[of_set][0]
        return state

    def shape(self, x, w):
        return (w * np.exp(1j * sum(a * b for a, b in zip(self.k, x)))).real


def box(dim, n):
    if dim == 1:
        return dg.interval(0, 1, n, periodic=True)
    if dim == 2:
        return dg.rectangle(cells=(n, n), periodic=True, shape="quadrilateral")
    return dg.box(cells=(n, n, n), periodic=True, shape="hexahedron")


@pytest.mark.parametrize("name", LAWS)
def test_an_oblique_wave_converges(name):
    """Coupled by the curl, each component with its own states; the energy with that of the medium falls in every step."""
    law, errors = LAWS[name], []
    wave, order = Oblique(law, (2 * np.pi,) * law.dim), 2 if law.dim == 3 else 3
    for n in (3, 6) if law.dim == 3 else (4, 8):
        method = dg.NodalDG(order) if law.dim == 1 else dg.TensorDG(order)
        sim = dg.Simulation(box(law.dim, n), law, method, until=0.05, backend="numpy", kernels="array")
        end, energies = advanced(sim, wave.start(sim))
        errors.append(np.linalg.norm(sim.operator.error(sim.operator.state(end.q), wave.exact, end.t)))
        assert np.all(np.diff(energies) < 1e-14)
    assert np.log2(errors[0] / errors[1]) > order + 0.5, errors
