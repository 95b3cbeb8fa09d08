"""Differences of states of ideal MHD as waves: its eigenvectors, written as two reflections."""
import numpy as np

from .euler import tangents
from .law import counted, dot

# Tangential field in units of sqrt(gamma p) below which its direction counts as rounding, also that of float32: what is limited
# jumps with this direction, so it must not follow noise.  There slow and Alfven waves, or the fast ones, have the same speed up
# to about this share, so any direction gives waves.
FAINT = 1e-6


class Waves:
    """The waves along the unit normal n in a gas of the state `mean`.

    Differences are measured by the gas: drho by rho, dp by gamma p, dv and the wave speeds c by the speed of sound, dB by
    sqrt(gamma p).  t is the direction of the tangential field, t' is orthogonal to n and t, and S = -1 where Bn >= 0, else 1.
    A wave to the right is (even + odd) / 2, one to the left (even - odd) / 2, with

                even                              odd
        fast    alpha_f dp + alpha_s dB . t       alpha_f cf dv . n + alpha_s cs S dv . t
        slow    alpha_s dp - alpha_f dB . t       alpha_s cs dv . n - alpha_f cf S dv . t
        Alfven  dB . t'                           S dv . t'

    and the entropy wave is drho - dp.  As alpha_f^2 + alpha_s^2 = 1 and (alpha_f cf)^2 + (alpha_s cs)^2 = 1, the two columns
    are reflections of (dp, dB . t) and of (dv . n, S dv . t): each is its own inverse and has no entry above one.
    Brio & Wu 1988, J. Comput. Phys. 75; Roe & Balsara 1996, SIAM J. Appl. Math. 56: theirs in this form.

    frame   n, t, t', three components each; t is the first of `tangents` where the tangential field is below `FAINT`, which
            then counts as zero
    even    alpha_f, alpha_s;  odd: alpha_f cf, alpha_s cs
    """

    def __init__(self, law, mean, n):
        self.law, self.rho, self.v, self.B = law, mean[0], law.velocity(mean), mean[law.field]
        self.p = law.gamma * law.pressure(mean)
        self.strength, self.push = np.sqrt(self.p), np.sqrt(self.rho * self.p)          # units of B and of rho v
        normal, first, second = axes(n)
        Bn, x, y = (dot(self.B, e) * (1 / self.strength) for e in (normal, first, second))
        across = np.sqrt(x * x + y * y)
        none = across < FAINT
        k = 1 / np.where(none, 1.0, across)
        x, y = np.where(none, 1.0, x * k), np.where(none, 0.0, y * k)
        self.frame = normal, combined((first, second), (x, y)), combined((first, second), (-y, x))
        self.turned = np.where(Bn < 0, self.push, -self.push)
        self.even, self.odd = weights(np.abs(Bn), np.where(none, 0.0, across))

    def of(self, q):
        """The waves of a difference q of conserved states: left eigenvectors times q."""
        law, (n, *across) = self.law, self.frame
        rho, m, energy, B, psi = counted(q, law.variables, law)[0], q[law.momentum], q[4], q[law.field], q[8]
        push = tuple(a - v * rho for a, v in zip(m, self.v))          # rho dv
        p = (law.gamma - 1) * (energy - dot(self.v, m) + dot(self.v, self.v) / 2 * rho - dot(self.B, B)) * (1 / self.p)
        b, b2 = (dot(B, t) * (1 / self.strength) for t in across)
        u = dot(push, n) * (1 / self.push)
        v, v2 = (dot(push, t) * (1 / self.turned) for t in across)
        even, odd = (*reflected(self.even, p, b), b2), (*reflected(self.odd, u, v), v2)
        (fast, slow, alfven), (fast2, slow2, alfven2) = (tuple((e + s * o) / 2 for e, o in zip(even, odd)) for s in (-1, 1))
        return fast, alfven, slow, rho * (1 / self.rho) - p, slow2, alfven2, fast2, *self.cleaning(dot(B, n), psi)

    def difference(self, w):
        """The difference of conserved states that these waves make: right eigenvectors times w."""
        law, (fast, alfven, slow, entropy, slow2, alfven2, fast2, *cleaning) = self.law, w
        p, b = reflected(self.even, fast + fast2, slow + slow2)
        u, v = reflected(self.odd, fast2 - fast, slow2 - slow)
        Bn, psi = self.cleaned(*cleaning)
        rho = (entropy + p) * self.rho
        push = combined(self.frame, (u * self.push, v * self.turned, (alfven2 - alfven) * self.turned))
        B = combined(self.frame, (Bn, b * self.strength, (alfven + alfven2) * self.strength))
        energy = p * self.p * (1 / (law.gamma - 1)) + dot(self.v, push) + dot(self.v, self.v) / 2 * rho + dot(self.B, B)
        return (rho, *(a + v * rho for a, v in zip(push, self.v)), energy, *B, psi)

    def cleaning(self, Bn, psi):
        """(dBn - dpsi / ch) / 2 and (dBn + dpsi / ch) / 2, to the left and to the right; dBn and dpsi where ch = 0."""
        ch = self.law.cleaning_speed
        return ((Bn - psi * (1 / ch)) / 2, (Bn + psi * (1 / ch)) / 2) if ch else (Bn, psi)

    def cleaned(self, left, right):
        """dBn and dpsi of the waves of `cleaning`."""
        ch = self.law.cleaning_speed
        return (left + right, (right - left) * ch) if ch else (left, right)


def weights(Bn, Bt):
    """(alpha_f, alpha_s) and (alpha_f cf, alpha_s cs) of a field with the components Bn and Bt, not negative, in units of
    sqrt(gamma p), and speeds in units of that of sound.

        alpha_f^2 = (1 - cs^2) / (cf^2 - cs^2),  alpha_s^2 = (cf^2 - 1) / (cf^2 - cs^2)

    are cos^2 and sin^2 of half the angle whose cosine and sine are (1 - Bn^2 - Bt^2) / (cf^2 - cs^2) and 2 Bt / (cf^2 - cs^2):
    so they are without cancellation.  cf^2 - cs^2 is at least 1e-15: where the three speeds are one, alpha_f = 1."""
    strength = Bn * Bn + Bt * Bt
    distance = np.maximum(np.abs(1 - strength), 1e-15)
    gap = np.sqrt(distance * distance + 4 * (Bt * Bt))
    larger = np.sqrt((1 + distance / gap) / 2)
    smaller = Bt / (gap * larger)
    f, s = np.where(strength > 1, smaller, larger), np.where(strength > 1, larger, smaller)
    cf = np.sqrt((1 + strength + gap) / 2)
    return (f, s), (f * cf, s * (Bn / cf))


def reflected(weights, x, y):
    """(c x + s y, s x - c y), c and s the weights."""
    c, s = weights
    return c * x + s * y, s * x - c * y


def axes(n):
    """The unit vector n and two that are orthogonal to it and to each other, three components each."""
    pad = (0.0,) * (3 - len(n))
    return (*n, *pad), *((*t, *pad) for t in tangents(n)), *((0.0, 1.0, 0.0), (0.0, 0.0, 1.0))[len(n) - 1:]


def combined(vectors, shares):
    """The sum of vectors, each times its share."""
    return tuple(dot(components, shares) for components in zip(*vectors))
