"""Exact waves in media with internal variables: all unknowns of a wave that goes as Re exp(i k x + s t)."""
import numpy as np
from scipy.optimize import newton

import dgarray as dg
from dgarray.analysis.totals import totals_of_state
from dgarray.physics.dispersion import Dispersion
from dgarray.physics.trace import call


def growth(eps, mu, k):
    """The root s of s^2 eps(s) mu(s) + k^2 = 0 near i k / sqrt(eps mu) at infinite frequency."""
    def f(s):
        return s * s * eps.at(s) * mu.at(s) / (eps.high * mu.high) + k * k / (eps.high * mu.high)
    start = 1j * k / np.sqrt(eps.high * mu.high)
    return complex(newton(f, 0.9 * start - 0.1 * k, maxiter=500, tol=1e-14))


def internal_amplitudes(internal, q, s, m=None):
    """The amplitudes w of internal variables where the law's are q exp(s t), by (s - A) w = B q of dw/dt = A w + B q."""
    count = len(internal.names)
    given = {"x": (0.0,) * 3, "t": 0.0, "m": m}

    def rate(q, w):
        return np.array(call(internal.rate, given | {"q": q, "w": w}))
    zero = np.zeros(count)
    A = np.array([rate((0.0,) * len(q), unit) for unit in np.eye(count)]).T.reshape(count, count)
    return np.linalg.solve(s * np.eye(count) - A, rate(tuple(q), zero))


class Wave:
    """A plane wave along x in a medium: `exact(x, t)`, and `start(sim)`, plain arrays of the state at t = 0 with the internal
    variables of the wave.

    law: Maxwell with eps and mu `Dispersion`s or numbers everywhere"""

    def __init__(self, law, k=2 * np.pi, amplitudes=None):
        self.law, self.k = law, k
        eps, mu = (law.dispersive.get(name, Dispersion(law.parameters[name])) for name in ("eps", "mu"))
        self.s = growth(eps, mu, k)
        z = 1j * k / (self.s * mu.at(self.s))          # E = (0, Ey, Ez), H = (0, Hy, Hz) with mu s H = -curl E
        E, H = (0, 1.0, 0.7), (0, 0.7 * z, -z)
        self.q = law.state(E, H)

    def exact(self, x, t):
        phase = np.exp(1j * self.k * x[0] + self.s * t)
        return tuple((amplitude * phase).real + 0 * x[0] for amplitude in self.q)

    def start(self, sim):
        operator, state = sim.operator, sim.project(lambda x: self.exact(x, 0.0))
        for name, of_set in getattr(operator, "internals", {}).items():
            for row, w in enumerate(internal_amplitudes(operator.operators[of_set].law.internal, self.q, self.s)):
                shapes = sim.project(lambda x, w=w: tuple((w * np.exp(1j * self.k * x[0])).real for _ in self.law.variables))
                state[name][row] = operator.split(shapes)[of_set][0]
        return state


def advanced(sim, state):
    """(arrays at the end, times and total energies of all steps) of a run from these plain arrays."""
    steps, energies = sim.steps(), []
    current = next(steps)
    current.q = state
    energies.append(totals_of_state(sim.operator, sim.operator.state(current.q))["energy"])
    for current in steps:
        energies.append(totals_of_state(sim.operator, sim.operator.state(current.q))["energy"])
    return current, np.array(energies)


MEDIA = {"debye": 2.0 + dg.Debye(1.0, 0.5), "drude": 1 + dg.Drude(3.0, 0.4), "lorentz": 1 + dg.Lorentz(0.8, 5.0, 0.6),
         "poles": 1.5 + dg.Poles([-0.5 + 4j, -1.0], [0.3 - 0.5j, 0.4]), "conductor": 1.0 + dg.Poles(0, 0.7),
         "sum": 1 + dg.Drude(2.0, 0.4) + dg.Lorentz(0.8, 5.0, 0.6) + dg.Debye(1.0, 0.5)}
