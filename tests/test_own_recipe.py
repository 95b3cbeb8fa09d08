"""A recipe of one's own: one more term, found from gradients of the state. Nothing but the recipe knows it."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.methods.dg.set_operations import SetOperations
from dgarray.methods.dg.weak_form import WeakForm
from dgarray.physics.pointwise import Pointwise
from dgarray.program.arrays import apply, gather, product, put

DIFFUSIVITY = 0.05


class Viscous(WeakForm):
    """dq/dt = -div(F(q) - nu G), G = grad q, both with means at faces: Bassi & Rebay 1997."""

    def tendency(self, q, t, outside=()):
        V, d = len(q), self.tables.dim
        G = self.gradients_of(q)
        flux = Pointwise(lambda G, g: tuple(DIFFUSIVITY * dot(G[v * d:], g[k * d:], d) for v in range(V) for k in range(d)),
                         {"G": V * d, "g": d * d}, "viscous flux")
        F = apply(flux, "nu G.grad r", G=G, g=self.gradients).reshape(V, -1)
        jump = Pointwise(lambda l, r, n, s: [factor * DIFFUSIVITY * dot([a - b for a, b in zip(l[v * d:], r[v * d:])], n, d) / 2
                                             for factor in s for v in range(V)],
                         {"l": V * d, "r": V * d, "n": d, "s": 2}, "viscous jump")
        viscous = product(self.minus_D, F) + self.lift(self.at_pairs(jump, G, V))
        return super().tendency(q, t, outside) - viscous

    def gradients_of(self, q):
        """G = D q + L (q* - q) n, (variable and axis, node, element)."""
        V, d = len(q), self.tables.dim
        D = self.matrix("D", np.concatenate(self.tables.basis.differentiation))
        chain = Pointwise(lambda q, g: [dot(q[v * d:], g[i::d], d) for v in range(V) for i in range(d)],
                          {"q": V * d, "g": d * d}, "chain rule")
        jump = Pointwise(lambda l, r, n, s: [factor * (b - a) / 2 * k for factor in s for a, b in zip(l, r) for k in n],
                         {"l": V, "r": V, "n": d, "s": 2}, "jump")
        inside = apply(chain, "grad q", q=product(D, q).reshape(V * d, -1), g=self.gradients)
        return inside + self.lift(self.at_pairs(jump, q, V * d))

    def at_pairs(self, jump, values, count):
        """Jumps (component, face * face node, element) of values on both sides of each face."""
        parts = []
        for left, right in self.pairs:
            found = apply(jump, l=gather(values, left.nodes), r=gather(values, right.nodes), n=left.normals,
                          s=[left.scale, right.scale])
            parts += [(left.slots, found[:count], "set"), (right.slots, found[count:], "set")]
        return put(self.trace, (count, self.tables.basis.face_nodes.size), self.all, parts)


def dot(a, b, count):
    return sum(a[i] * b[i] for i in range(count))


class ViscousOperations(SetOperations):
    def recipe(self, trace, name=""):
        return Viscous(trace, self.tables, name)


class ViscousDG(dg.NodalDG):
    recipe = ViscousOperations


def exact(x, t):
    decay = np.exp(-8 * np.pi ** 2 * DIFFUSIVITY * t)
    return (decay * np.sin(2 * np.pi * (x[0] - t)) * np.sin(2 * np.pi * (x[1] - 0.5 * t)),)


def run(cells, order, **options):
    mesh = dg.rectangle((0, 0), (1, 1), (cells, cells), periodic=True)
    sim = dg.Simulation(mesh, dg.Advection((1.0, 0.5)), ViscousDG(order), {}, initial=lambda x: exact(x, 0.0), until=0.1,
                        dt=0.4 / (cells * (order + 1)) ** 2, **options)
    return sim, sim.run()


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_diffusion_converges(backend):
    """With the order p + 1; no kernel takes the recipe for the one that it knows."""
    if backend == "jax":
        pytest.importorskip("jax")
    errors = []
    for cells in (4, 8):
        sim, found = run(cells, 2, backend=backend)
        assert sim.report["kernels"] == "array"
        errors.append(float(found.dg.error("u", lambda x: exact(x, 0.1)[0], time=0.1)))
    assert np.log2(errors[0] / errors[1]) > 2.9
